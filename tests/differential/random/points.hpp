// Random point stages of a random program: their expressions, and what bounds the values of these.
#pragma once

#include <optional>
#include <vector>

#include "differential/random/random.hpp"
#include "ir/graph.hpp"

namespace tessera::differential {

// Of the numbers of a stage or an expression: their magnitude, and binary places behind the point.
struct Bound {
  double most = 0;
  int places = 0;
};

struct Term {
  ir::ExprId id;
  Bound bound;
};

class PointGenerator {
 protected:
  explicit PointGenerator(std::uint64_t seed) : r_(seed) {}

  // A stage more, which reads one of the newest.
  void point();
  // Two: elements of one of the newest that go into bins, and the bins.
  void keyed();
  // One more that reads two at sums of indices: products.cpp.
  void sum_of_products();

  static Bound input_bound(ElementType t);
  double small(ElementType t);
  ir::StageId add(ir::Stage s, Bound b);
  // Mostly the newest stages, so that chains form.
  ir::StageId recent();
  bool is_float_flavour() const;
  static Bound join(Bound a, Bound b);

  Random r_;
  ir::Graph g_;
  std::size_t rank_ = 2;
  bool wild_ = false, scales_ = false, oddities_ = false, totals_ = false;
  bool odd_ = false;  // NaNs and infinities among the floats: these are chosen from and compared, and not added
  i64 reach_ = 1;
  std::vector<ElementType> types_;
  std::vector<BorderMode> modes_;
  std::vector<ir::SizeId> base_;
  std::vector<Bound> bounds_;
  std::vector<std::size_t> scalars_;

 private:
  struct Context {  // the stage being made
    std::vector<ir::SizeId> domain;
    std::vector<i64> margin_lo, margin_hi;
    std::vector<ir::Var> vars;  // of the reductions around
    i64 budget = 14;            // operations left
    bool extra_leaves = true;
  };

  Term stored(Context& c, ElementType type);
  static double room(ElementType t);
  bool fits(ElementType t, Bound b) const;
  Term constant(ElementType t, double v);
  // `t` as arithmetic type `to`, small enough for floats to be exact.
  Term converted(Term t, ElementType to);
  Term expression(Context& c, ElementType type, int depth);
  bool allowed(ElementType t) const;
  Term float_operation(Context& c, ElementType type, int depth);
  Term integer_operation(Context& c, ElementType type, int depth);
  Term logic(Context& c, int depth);
  Term reduction(Context& c, ElementType type, int depth);
  // A weighted window whose weights are an outer product, all but one perhaps; or the same written out.
  Term weighted_window(Context& c, ElementType type);
  // A sample of a window, or a function of it and of another image at the same place or close to it.
  Term sample_of_window(Context& c, ElementType type);
  Term leaf(Context& c, ElementType type);
  Term factor(ir::StageId s, ElementType type, std::size_t point, const std::vector<ir::Var>& vars);
  // What a whole image comes to.
  Term total();
  // Some index: near the point, far outside, or out of the data.
  ir::ExprId position(Context& c);
  // Whether an access without a border can be made legal, by margins, in this dimension.
  static bool can_stay_inside(const ir::Graph& g, ir::SizeId producer, ir::SizeId consumer, i64 scale);
  Term access(Context& c, bool window = false);

  std::size_t input_count_ = 1;
  std::optional<ir::StageId> must_read_;
};

}  // namespace tessera::differential
