// Borders backwards: what was passed to places beyond an image goes to the points that stand for them.
//
// `extended` holds an image of n points with `before` points ahead and `after` points behind, along one dimension. The
// result has n points: most of them as they are, and strips at the ends to which the rest is added. Places of the
// extended image count from its begin: point q of the image is `before + q`.
#include <algorithm>

#include "adjoint/reverse.hpp"
#include "ir/build.hpp"
#include "ir/gather.hpp"

namespace tessera::adjoint {

using ir::ExprId;
using ir::Graph;
using ir::Index;
using ir::SizeId;
using ir::SizeOp;
using ir::StageId;

namespace {

// A strip of a dimension: its first point in the image, and how many there are.
struct Strip {
  SizeId start;
  SizeId count;
  ExprId body;
};

class Folding {
 public:
  Folding(Graph& g, StageId extended, const ir::Stage& image, std::size_t dimension, i64 before, i64 after)
      : g_(g),
        extended_(extended),
        rank_(image.domain.size()),
        d_(dimension),
        n_(image.domain[dimension]),
        before_(before),
        after_(after) {}

  std::vector<Strip> strips(BorderMode mode) {
    switch (mode) {
      case BorderMode::clamp:
        return clamped();
      case BorderMode::wrap:
        return wrapped();
      default:
        return mirrored(mode == BorderMode::mirror ? 1 : 0);
    }
  }
  ExprId inner() { return along({before_, 1, {}, {}}); }

 private:
  // At place `i` along the dimension, at the point's own index along the others.
  ExprId along(Index i) {
    std::vector<Index> index(rank_);
    index[d_] = std::move(i);
    return ir::access(g_, extended_, std::move(index), std::vector<Border>(rank_));  // which it never leaves
  }
  // At `first - j`, where j is the point's own index.
  ExprId backwards(ExprId first) {
    std::vector<ExprId> index;
    for (std::size_t k = 0; k < rank_; ++k)
      index.push_back(k == d_ ? ir::binary(g_, ir::Op::sub, first, ir::coord(g_, k)) : ir::coord(g_, k));
    return ir::gather(g_, extended_, std::move(index));
  }
  ExprId number(i64 v) { return ir::constant(g_, ElementType::i32, static_cast<double>(v)); }
  ExprId add(ExprId a, ExprId b) { return ir::binary(g_, ir::Op::add, a, b); }
  SizeId minus(SizeId a, i64 b) { return g_.size_binary(SizeOp::sub, a, g_.size(b)); }

  // All that lies beyond an end, and the end.
  std::vector<Strip> clamped() {
    const auto sum = [&](i64 first, SizeId shift, i64 count) {
      const std::uint32_t v = g_.new_var();
      return ir::reduce(g_, ir::Op::reduce_sum, {{v, 0, count}}, along({first, 0, shift, {{v, 1}}}));
    };
    return {{g_.size(0), g_.size(1), sum(0, g_.size(0), before_)},
            {minus(n_, 1), g_.size(1), sum(before_ - 1, n_, after_)}};
  }
  // The point -1 - j stands behind the point j, counted from the edge (symmetric) or from the first point (mirror: 1).
  std::vector<Strip> mirrored(i64 edge) {
    std::vector<Strip> all;
    if (before_ > 0)
      all.push_back(
          {g_.size(edge), g_.size(before_), add(along({before_ + edge, 1, {}, {}}), backwards(number(before_ - 1)))});
    if (after_ > 0) {
      const ExprId last = add(ir::extent_value(g_, n_), number(before_ - 1 + after_));
      all.push_back({minus(n_, after_ + edge), g_.size(after_),
                     add(along({before_ - after_ - edge, 1, n_, {}}), backwards(last))});
    }
    return all;
  }
  std::vector<Strip> wrapped() {
    std::vector<Strip> all;
    if (before_ > 0)
      all.push_back({minus(n_, before_), g_.size(before_), add(along({0, 1, n_, {}}), along({0, 1, {}, {}}))});
    if (after_ > 0)
      all.push_back({g_.size(0), g_.size(after_), add(along({before_, 1, {}, {}}), along({before_, 1, n_, {}}))});
    return all;
  }

  Graph& g_;
  StageId extended_;
  std::size_t rank_, d_;
  SizeId n_;
  i64 before_, after_;
};

}  // namespace

StageId Reverse::folded(StageId extended, const ir::Stage& image, std::size_t dimension, BorderMode mode, Reach reach) {
  std::vector<SizeId> domain = graph_.stage(extended).domain;
  domain[dimension] = image.domain[dimension];
  const std::string& name = image.name;
  Folding folding(graph_, extended, image, dimension, reach.before, reach.after);
  ir::Stage whole;
  whole.kind = ir::StageKind::compose;
  whole.name = "passed_to_" + name + "_inside";
  whole.type = graph_.stage(extended).type;
  whole.domain = domain;
  const auto add_piece = [&](const std::string& part, SizeId start, SizeId count, ExprId body) {
    std::vector<SizeId> own_domain = domain;
    own_domain[dimension] = count;
    ir::Piece piece;
    piece.stage = point("passed_to_" + name + part, whole.type, own_domain, body);
    for (std::size_t d = 0; d < domain.size(); ++d) {
      piece.start.push_back(d == dimension ? start : graph_.size(0));
      piece.stride.push_back(1);
      piece.count.push_back(own_domain[d]);
    }
    whole.pieces.push_back(std::move(piece));
  };
  add_piece("_inner", graph_.size(0), image.domain[dimension], folding.inner());
  for (const Strip& strip : folding.strips(mode)) add_piece("_end", strip.start, strip.count, strip.body);
  // Strips do not meet, and nothing reaches across the image.
  const i64 least = mode == BorderMode::clamp ? 2 : reach.before + reach.after + (mode == BorderMode::mirror ? 2 : 0);
  least_.push_back({image.domain[dimension], least, name});
  return graph_.add(std::move(whole));
}

}  // namespace tessera::adjoint
