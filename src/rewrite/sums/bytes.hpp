// Weighted sums of bytes as dot products of four neighbours, and who computes them; see bytes.cpp.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ir/graph.hpp"
#include "machine/machine.hpp"
#include "rewrite/sums/choice.hpp"
#include "rewrite/sums/weights.hpp"

namespace tessera::rewrite {

// A sum of bytes of one image: low + 128 * high, both dot products of four neighbours and four signed bytes.
struct ByteSum {
  ir::ExprId sum;
  struct Quad {
    ir::ExprId row;   // an access to the row that it reads
    i64 column = 0;   // of the first of the four, from the point's own
    i64 weights = 0;  // of the first in the lowest byte; an i32
  };
  std::vector<Quad> low, high;
  i64 terms = 0;        // weights that are not zero
  bool narrow = false;  // 16 bits hold every partial sum

  std::size_t quads() const { return low.size() + high.size(); }
  std::size_t chains() const { return high.empty() ? 1 : 2; }
};

// The sums that a stage's body is made of, where four neighbouring columns may be computed apart: whatever else it
// reads are bytes at a fixed distance along their row. Nothing where something stands in the way, or where there is no
// sum that dot products make cheaper. All terms are written out.
std::optional<std::vector<ByteSum>> works_in_quads(const ir::Graph&, ir::StageId);

// The largest sums of bytes below a body, those that others contain left out.
struct WeighedBytes {
  ir::ExprId sum;
  ir::ExprId access;  // to one of the bytes; the others differ in offsets alone
  Weights weights;    // of 32 bits, by offsets
};
std::vector<WeighedBytes> sums_of_bytes(const ir::Graph&, ir::ExprId body, i64& steps);

// Nanoseconds a point on a core with vectors of 64 bytes.
double price_of_quads(double quads);

class ByteSums {
 public:
  ByteSums(ir::Graph& graph, Method method, const machine::Machine& device)
      : graph_(graph), method_(method), device_(device) {}

  // Writes out what is to be summed so, in stages of their own where the rest of the body stands in the way. True:
  // the body is what it should be. `alone`: its values are no fields of structs and no pieces of other stages.
  bool take(ir::Stage&, bool alone, std::vector<std::string>& remarks);

 private:
  struct Found;
  bool worth(const Found&) const;
  ir::ExprId written(const Found&) const;

  ir::Graph& graph_;
  Method method_;
  const machine::Machine& device_;
  i64 steps_left_ = i64{1} << 22;  // what reading all weights may take
};

// The price of the sum by dot products, for the choice between methods; nothing where it has none.
std::optional<double> price_by_quads(const ir::Graph&, const machine::Machine&, const ir::Stage&, ir::StageId source,
                                     const Tensor& weights);

}  // namespace tessera::rewrite
