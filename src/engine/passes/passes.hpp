// A program as passes over images: programs that have windows, one after the other, between which numbers and images
// lie. What reduces a whole image is cut there (ir/totals.hpp), loops with a test are those of the host program. A
// program that has windows as it is, is one pass. Whoever runs them has the images where they have room: in files, on
// several machines. See docs/design/beyond.md.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/program_impl.hpp"
#include "ir/host/program.hpp"
#include "ir/totals.hpp"

namespace tessera::engine {

struct Pass {
  Program program;
  std::vector<std::size_t> inputs;  // arrays
  // Arrays; of an output that is reduced alone nothing: nobody wants the image. All outputs have the same extents.
  std::vector<std::optional<std::size_t>> outputs;
  std::vector<ir::Reduction> reductions;  // `place`: an array, of one element
};

class Passes {
 public:
  // Of a program, which outlives this. `parts`: a row of steps without a loop that is too long to be made of pieces at
  // once, since each piece reads as much around it as all of its steps do, becomes so many passes.
  explicit Passes(const Program&, std::size_t parts = 1);

  // Why results are not made in parts: "stage 'm' reads at places that it computes"; "" where they are.
  const std::string& why_not() const { return why_not_; }
  // All but those that write the outputs, which are `last`: one for outputs of the same extents. RunPart and Reduction
  // name passes and arrays.
  const std::vector<ir::host::Array>& arrays() const { return arrays_; }
  const std::vector<ir::host::Statement>& body() const { return body_; }
  const std::vector<Pass>& passes() const { return passes_; }
  const std::vector<std::size_t>& last() const { return last_; }  // passes

  std::vector<i64> parameters(const std::vector<Shape>& inputs) const;
  Shape shape_of(std::size_t array, const std::vector<i64>& parameters) const;

 private:
  using ArrayId = ir::host::ArrayId;

  void of_graph(const ir::Graph&);
  void of_host_program(const ir::host::Program&);
  // The passes that a part of a program becomes; what they are in the list.
  std::vector<std::size_t> add(const ir::Graph&, const std::vector<ArrayId>& inputs,
                               const std::vector<ArrayId>& outputs, ir::OutputsAre,
                               const std::vector<ir::StageId>& stored = {});
  std::vector<ir::host::Statement> replaced(const std::vector<ir::host::Statement>&);
  bool end_with_outputs();
  void release();
  void add_copy();
  void check();

  const Program::Impl& impl_;
  std::string why_not_;
  std::vector<ir::host::Array> arrays_;
  std::vector<ir::host::Statement> body_;
  std::vector<Pass> passes_;
  std::vector<std::size_t> last_;
};

}  // namespace tessera::engine
