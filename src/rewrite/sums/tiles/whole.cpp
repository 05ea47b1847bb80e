// A weighted sum of an image of n points as a product of spectra: the image, continued by its border to n + K - 1
// points, is transformed as a whole, so are the weights, and what the product comes back as is cut to n points. It is
// written in the language's own terms, an image, a table that is continued by zeros, fft, ifft, so that the program
// that results runs in parts like any other (parts.hpp). Extents are rounded up to multiples of 16, whose transforms
// are short, and what stands beyond the n + K - 1 points meets no weight.
//
// It pays where tiles of n + K - 1 points are the only ones that weights fit: these about as large as the image.
// The transform of the weights is taken in every run.
#include "rewrite/sums/tiles/whole.hpp"

#include <algorithm>

#include "analyze/assumed.hpp"
#include "ir/build.hpp"
#include "rewrite/rebuild.hpp"
#include "rewrite/sums/products.hpp"
#include "rewrite/sums/tiles/tiles.hpp"

namespace tessera::rewrite {

using ir::ExprId;
using ir::Graph;
using ir::Op;
using ir::Stage;
using ir::StageId;
using ir::StageKind;

namespace {

constexpr i64 multiple = 16;  // of extents that are transformed

class WholeSums {
 public:
  WholeSums(Graph& graph, Numbers numbers) : graph_(graph), numbers_(numbers) {}

  // The stage that holds the sum that the marked stage is, but for its margins and its type.
  Stage replaced(const Stage& stage, const Tiling& tiling) {
    const Convolution sum = *convolution_of(graph_, stage, numbers_, 1);
    const std::size_t rank = stage.domain.size();
    number_ = tiling.number;
    along_.clear();
    for (std::size_t d = 0; d < rank; ++d)
      if (sum.weights.extent[d] > 1 || d + 1 == rank) along_.push_back(static_cast<int>(d));
    const StageId image = continued(stage, sum), weights = table_of(stage, sum.weights);
    const Parts x = forward(stage.name + ".spectrum", image), h = forward(stage.name + ".weights", weights);
    const auto times = [&](StageId a, StageId b) { return ir::binary(graph_, Op::mul, own(a), of_weights(b)); };
    // The weights are not mirrored: their spectrum is conjugated instead.
    const ExprId re = ir::binary(graph_, Op::add, times(x.re, h.re), times(x.im, h.im));
    const ExprId im = ir::binary(graph_, Op::sub, times(x.im, h.re), times(x.re, h.im));
    ir::Fourier back;
    back.inverse = true;
    back.along = along_;
    back.re = point(stage.name + ".product.re", graph_.stage(image).domain, re);
    back.im = point(stage.name + ".product.im", graph_.stage(image).domain, im);
    const StageId sums = transformed(stage.name + ".sums", back);
    Stage result = stage;
    result.note = 0;
    result.body = is_float(stage.type) ? own(sums) : ir::saturate(graph_, stage.type, own(sums));
    return result;
  }

 private:
  struct Parts {
    StageId re = 0, im = 0;
  };

  bool moves(std::size_t d) const { return std::count(along_.begin(), along_.end(), static_cast<int>(d)) > 0; }

  ir::SizeId padded(ir::SizeId n, i64 weights) {
    const ir::SizeId sum = graph_.size_binary(ir::SizeOp::add, n, graph_.size(weights - 1 + multiple - 1));
    return graph_.size_binary(ir::SizeOp::mul, graph_.size_floor_div(sum, multiple), graph_.size(multiple));
  }

  StageId point(std::string name, std::vector<ir::SizeId> domain, ExprId body) {
    Stage s;
    s.name = std::move(name);
    s.type = number_;
    s.margin_lo.assign(domain.size(), 0);
    s.margin_hi.assign(domain.size(), 0);
    s.domain = std::move(domain);
    s.body = body;
    return graph_.add(std::move(s));
  }

  // The image from the place of the first weight on, borders applied. Without a border the stage is not evaluated
  // where it would need one.
  StageId continued(const Stage& stage, const Convolution& sum) {
    const std::size_t rank = stage.domain.size();
    std::vector<ir::SizeId> domain = stage.domain;
    std::vector<ir::Index> index(rank);
    std::vector<Border> border = sum.border;
    for (std::size_t d = 0; d < rank; ++d) {
      if (moves(d)) domain[d] = padded(domain[d], sum.weights.extent[d]);
      index[d].offset = sum.weights.lo[d];
      if (border[d].mode == BorderMode::none) border[d] = {BorderMode::clamp, 0};
    }
    const ExprId read = ir::access(graph_, sum.source, std::move(index), std::move(border));
    return point(stage.name + ".continued", std::move(domain), ir::convert(graph_, number_, read));
  }

  StageId table_of(const Stage& stage, const Tensor& w) {
    ir::Table table;
    table.name = stage.name + "_weights";
    table.type = number_;
    std::vector<ir::SizeId> domain(stage.domain.size(), graph_.size(1));
    std::vector<ExprId> at;
    ExprId inside;
    for (const int along : along_) {
      const auto d = static_cast<std::size_t>(along);
      domain[d] = padded(stage.domain[d], w.extent[d]);
      table.extents.push_back(w.extent[d]);
      at.push_back(ir::coord(graph_, d));
      const ExprId here = ir::binary(graph_, Op::lt, at.back(),
                                     ir::constant(graph_, ElementType::i32, static_cast<double>(w.extent[d])));
      inside = inside.valid() ? ir::binary(graph_, Op::bit_and, inside, here) : here;
    }
    for (const double x : w.at)
      table.values.push_back(number_ == ElementType::f32 ? static_cast<double>(static_cast<float>(x)) : x);
    graph_.tables.push_back(std::move(table));
    const ExprId value = ir::lookup(graph_, graph_.tables.size() - 1, std::move(at));
    const ExprId body = ir::select(graph_, inside, value, ir::constant(graph_, number_, 0));
    return point(stage.name + ".table", std::move(domain), body);
  }

  StageId transformed(std::string name, ir::Fourier how) {
    Stage s;
    s.kind = StageKind::fourier;
    s.name = std::move(name);
    s.type = number_;
    s.domain = graph_.stage(how.re).domain;
    s.fourier = std::move(how);
    return graph_.add(std::move(s));
  }

  Parts forward(const std::string& name, StageId image) {
    ir::Fourier how;
    how.along = along_;
    how.re = image;
    Parts parts;
    parts.re = transformed(name + ".re", how);
    how.imaginary = true;
    parts.im = transformed(name + ".im", how);
    return parts;
  }

  ExprId own(StageId s) {
    const std::size_t rank = graph_.stage(s).domain.size();
    return ir::access(graph_, s, std::vector<ir::Index>(rank), std::vector<Border>(rank, {BorderMode::clamp, 0}));
  }

  // Of one point where the image has many that are not transformed.
  ExprId of_weights(StageId s) {
    const std::size_t rank = graph_.stage(s).domain.size();
    std::vector<ir::Index> index(rank);
    for (std::size_t d = 0; d < rank; ++d) index[d].scale = moves(d) ? 1 : 0;
    return ir::access(graph_, s, std::move(index), std::vector<Border>(rank, {BorderMode::clamp, 0}));
  }

  Graph& graph_;
  Numbers numbers_;
  ElementType number_ = ElementType::f32;
  std::vector<int> along_;
};

}  // namespace

std::vector<SumChoice> take_whole(Graph& graph, Numbers numbers) {
  std::vector<SumChoice> choices;
  std::vector<std::string> remarks;
  Tilings tilings;
  machine::Machine device;
  device.transforms = true;
  const std::vector<i64> assumed = analyze::assumed_parameters(graph);
  name_products(graph, numbers, Method::whole, device, assumed, remarks);
  {
    Rebuild rebuild(graph);
    TransformedSums sums(graph, numbers, Method::whole, device, assumed, choices, tilings);
    for (StageId s = 0; s < rebuild.old().size(); ++s) {
      Stage stage = rebuild.carry(rebuild.old(s));
      if (stage.kind == StageKind::point) sums.take(stage, true, remarks);
      rebuild.set(s, graph.add(std::move(stage)));
    }
    rebuild.finish();
  }
  Rebuild rebuild(graph);
  WholeSums whole(graph, numbers);
  for (StageId s = 0; s < rebuild.old().size(); ++s) {
    Stage stage = rebuild.carry(rebuild.old(s));
    if (stage.note > 0) stage = whole.replaced(stage, tilings.at(stage.note));
    rebuild.set(s, graph.add(std::move(stage)));
  }
  rebuild.finish();
  return choices;
}

}  // namespace tessera::rewrite
