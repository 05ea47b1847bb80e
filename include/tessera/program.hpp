// Programs: compile Forma text, bind arrays, run.
//
//   auto program = tessera::Program::from_file("canny.forma");
//   tessera::Array edges = program.run({photo}).at(0);
//
// A Program is immutable after compilation and may be run from several threads at once; copies share it.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tessera/array.hpp"
#include "tessera/error.hpp"
#include "tessera/options.hpp"

namespace tessera {

// Every text begins with the version, the options, a hash of the program and a licence that lets it ship.
struct EmittedCode {
  std::string source;  // C includes nothing; CUDA its runtime
  std::string header;  // declares the entry points
  std::string host;    // of "opencl": the C file that runs the kernels; of hardware: the test bench
};

enum class ExplainFormat { text, json, svg };

struct Parameter {
  std::string name;
  bool is_array = true;
  Format format;
  int rank = 0;         // of an array
  std::string extents;  // "M x N" as the program says
};

class Program {
 public:
  static Program from_text(std::string text, const CompileOptions& = {}, std::string file_name = "<text>");
  static Program from_file(const std::string& path, const CompileOptions& = {});

  const std::vector<Parameter>& inputs() const;  // arrays and scalars, in declaration order
  const std::vector<Parameter>& outputs() const;
  const std::vector<Diagnostic>& warnings() const;
  // The files that its text imports, by the paths that they were read from; the standard filters are no files.
  const std::vector<std::string>& imports() const;
  const std::vector<std::string>& parameters() const;  // run-time parameters, bound through the shapes of the inputs

  // Runs on arrays (and rank-0 arrays for scalars) in the order of inputs(); returns the outputs in order, owned, on
  // the device if an array input lies there, else on the host. Throws Error(argument) when counts, formats, ranks or
  // extents do not fit.
  std::vector<Array> run(const std::vector<Array>& inputs, const RunOptions& = {}) const;
  // The same into existing arrays of the right format and shape; input and output memory must not overlap.
  void run_into(const std::vector<Array>& inputs, const std::vector<Array>& outputs, const RunOptions& = {}) const;
  // The slow, obvious interpreter: the oracle of every test. Of the options it looks at `cancel` alone.
  std::vector<Array> interpret(const std::vector<Array>& inputs, const RunOptions& = {}) const;
  // The extents of every output for these inputs.
  std::vector<Shape> output_shapes(const std::vector<Array>& inputs) const;

  // The code of a target, the same that runs. Throws Error(argument) for a target or name that is not one.
  EmittedCode emit(const EmitOptions& = {}) const;
  // What the plan decided and why, for arrays of these shapes: one per input in order, an empty one for scalars. For a
  // device it compiles the kernels where the device is found, and says so where none is.
  std::string explain(const std::vector<Shape>& input_shapes, const RunOptions& = {},
                      ExplainFormat = ExplainFormat::text) const;

  struct Impl;
  explicit Program(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  const Impl& impl() const { return *impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

// A rank-0 array holding one scalar, for scalar inputs.
Array scalar(double value, ElementType type = ElementType::f32);

}  // namespace tessera
