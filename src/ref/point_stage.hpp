// One point stage of the interpreter: its code, and the values of all slots at the current point.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "ref/image.hpp"
#include "ref/interpreter.hpp"
#include "ref/keyed.hpp"
#include "ref/program.hpp"
#include "ref/sizes.hpp"

namespace tessera::ref {

// Refers to all that it is given. `images`: by stage, what the stage reads.
class PointStage {
 public:
  PointStage(const ir::Graph& g, const std::vector<i64>& parameters, const std::vector<Array>& arguments,
             const std::vector<Image>& images, const ir::Stage& stage, const Shape& shape, Rounding of_sums,
             bool sized);

  Element at(const std::vector<i64>& i);
  KeyedElement keyed_at(const std::vector<i64>& i);  // of a stage of elements

 private:
  struct Read {  // an access, with the extents of this run put in
    std::vector<i64> base;
    std::vector<double> outside;
  };

  void prepare();
  std::optional<double> fixed(const ir::ExprNode& n) const;
  void refuse_empty(const ir::ExprNode& n) const;
  void run(std::uint32_t block);
  // Sizes (sizes.hpp), after the value.
  Size fixed_size(const ir::ExprNode& n, double v) const;
  Size size(const Instruction& in) const;
  static void add_size(const ir::ExprNode& n, bool first, double so_far, Size& total, double term, const Size& of_term);
  double value(const Instruction& in);
  double read(const ir::ExprNode& n, const Read& read);
  double gather(const ir::ExprNode& n, const Instruction& in);
  i64 place_of_partial(const Instruction& in) const;
  double lookup(const ir::ExprNode& n, const Instruction& in) const;
  std::size_t clamped(const std::vector<i64>& extents, const Instruction& in) const;
  double reduce(const ir::ExprNode& n, const Instruction& in);

  const ir::Graph& g_;
  const std::vector<i64>& parameters_;
  const std::vector<Array>& arguments_;
  const std::vector<Image>& images_;
  const ir::Stage& stage_;
  const Shape& shape_;
  const Rounding of_sums_;
  const bool sized_;
  Code code_;
  std::vector<double> slots_;
  std::vector<Size> sizes_;
  Size reduced_;    // of the reduction that was evaluated last
  i64 place_ = -1;  // the element that was read last; -1: beyond a border
  std::unordered_map<std::uint32_t, Read> reads_;
  std::unordered_map<std::uint32_t, i64> vars_;
  std::uint32_t result_ = 0;
  const std::vector<i64>* point_ = nullptr;
};

}  // namespace tessera::ref
