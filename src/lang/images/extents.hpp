// Extents and ranges of whole images: integers that may depend on run-time parameters, in 64 bits.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lang/context.hpp"
#include "lang/points/points.hpp"

namespace tessera::lang {

class ExtentEvaluator {
 public:
  // `locals`: loop variables and scalar arguments of vector functions; may be null.
  ExtentEvaluator(Context& context, Locals* locals) : context_(context), locals_(locals) {}

  ir::SizeId evaluate(const Expr&);
  // An integer known at compile time. `what` says what is wanted: "the version".
  i64 constant(const Expr&, const std::string& what);

  ir::SizeId add(Span, ir::SizeId, ir::SizeId);
  ir::SizeId subtract(Span, ir::SizeId, ir::SizeId);
  ir::SizeId multiply(Span, ir::SizeId, ir::SizeId);
  ir::SizeId divide(Span, ir::SizeId, i64 divisor);  // rounds down; divisor >= 1
  ir::SizeId least(Span, ir::SizeId, ir::SizeId);
  ir::SizeId greatest(Span, ir::SizeId, ir::SizeId);

  // Whether a >= 0 whatever the parameters are, given that parameters which are extents of inputs are at least 1.
  bool surely_nonnegative(ir::SizeId a);
  // Faults of an image with these extents: a constant extent below 1, or more elements than 63 bits count.
  void check_count(Span, const std::vector<ir::SizeId>&);

  // For names that only whole images have: they are no extents, but no strangers either.
  void set_outside(PointEvaluator::Outside outside) { outside_ = std::move(outside); }
  // For extents of images: extent(image, d). Nothing for other calls.
  using OfImages = std::function<std::optional<ir::SizeId>(const Expr&)>;
  void set_images(OfImages of_images) { of_images_ = std::move(of_images); }

 private:
  ir::SizeId evaluate_name(const Expr&);
  ir::SizeId evaluate_constant(const Expr&);
  ir::SizeId checked(Span, ir::SizeId);
  ir::SizeId combine(Span, ir::SizeOp, ir::SizeId, ir::SizeId);
  std::optional<i64> least_value(ir::SizeId);

  Context& context_;
  PointEvaluator::Outside outside_;
  OfImages of_images_;
  Locals* locals_;
};

}  // namespace tessera::lang
