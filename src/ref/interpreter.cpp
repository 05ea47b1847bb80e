// Whole images, one stage after the other, one point after the other. Values are doubles, which hold every element type
// exactly; ir::evaluate gives each operation its meaning, so that f32 rounds to float after every one. Or single
// points: then a stage is asked for what its readers read, and remembers it. Whatever goes on for long looks whether it
// is to be cancelled (base/process/deadline.hpp).
#include "ref/interpreter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <unordered_map>

#include "base/process/deadline.hpp"
#include "data/element.hpp"
#include "ir/build.hpp"
#include "ir/loops.hpp"
#include "ir/reductions.hpp"
#include "ref/image.hpp"
#include "ref/keyed.hpp"
#include "ref/point_stage.hpp"
#include "ref/points.hpp"
#include "ref/transform.hpp"

namespace tessera::ref {
namespace {

using ir::Op;

constexpr i64 kFar = i64{1} << 62;
constexpr i64 kMostElements = i64{1} << 30;  // of one image here: 8 GiB

class Interpreter {
 public:
  Interpreter(const ir::Graph& g, const std::vector<i64>& parameters, const std::vector<Array>& arguments,
              Rounding of_sums, bool sized = false, const std::function<void(i64, i64)>& on_progress = {})
      : g_(g),
        parameters_(parameters),
        arguments_(arguments),
        of_sums_(of_sums),
        sized_(sized),
        on_progress_(on_progress),
        images_(g.stage_count()),
        in_(ir::bodies(g)),
        finished_(g.loops.size()) {}

  std::vector<Array> run() {
    check_arguments();
    const std::vector<ir::StageId> last = last_uses();
    for (ir::StageId s = 0; s < g_.stage_count(); ++s) {
      if (in_[s] != ir::no_loop) continue;  // with its loop
      evaluate(s);
      for (ir::StageId p : ir::sources(g_, s))
        if (last[p] == s) images_[p].values = {}, images_[p].sizes = {};
    }
    std::vector<Array> results;
    for (const ir::Output& o : g_.outputs) results.push_back(assemble(o));
    return results;
  }

  // After run(): of the fields of every output.
  std::vector<std::vector<std::vector<double>>> sizes() {
    std::vector<std::vector<std::vector<double>>> all;
    for (const ir::Output& o : g_.outputs) {
      all.emplace_back();
      for (const ir::StageId s : o.stages) all.back().push_back(images_[s].sizes);
    }
    return all;
  }

  void prepare_points();
  Element element(ir::StageId s, const std::vector<i64>& at) const {
    return images_[s].element(flat(images_[s].shape, at));
  }
  Shape shape(ir::StageId s) const { return images_[s].shape; }
  void forget() {
    for (Image& image : images_) image.known.clear();
  }

 private:
  void check_arguments() const {
    if (arguments_.size() != g_.arguments.size())
      throw Error(ErrorClass::argument,
                  fmt::format("{} inputs are given, the program takes {}", arguments_.size(), g_.arguments.size()));
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      const ir::Argument& wanted = g_.arguments[i];
      const Array& given = arguments_[i];
      if (given.format() != wanted.format)
        throw Error(ErrorClass::argument, fmt::format("input '{}' is of {}, the program takes {}", wanted.name,
                                                      given.format().name(), wanted.format.name()));
      Shape shape;
      for (ir::SizeId s : wanted.extents) shape.push_back(g_.evaluate(s, parameters_));
      if (given.shape() != shape)
        throw Error(ErrorClass::argument, fmt::format("input '{}' is {}, the program takes {}", wanted.name,
                                                      given.rank() == 0 ? "a scalar" : to_string(given.shape()),
                                                      wanted.is_array ? to_string(shape) : "a scalar"));
      if (given.empty() && given.count() > 0)
        throw Error(ErrorClass::argument, fmt::format("input '{}' has no elements", wanted.name));
    }
  }

  void evaluate(ir::StageId s) {
    base::look_at_deadline();
    const ir::Stage& stage = g_.stage(s);
    Image& image = images_[s];
    image.shape = shape_of(s);
    const i64 count = element_count(image.shape);
    if (count > kMostElements)
      throw Error(ErrorClass::argument,
                  fmt::format("'{}' has {} elements; the interpreter takes at most {} in one image", stage.name, count,
                              kMostElements));
    image.values.assign(static_cast<std::size_t>(count), 0.0);
    if (sized_) image.sizes.assign(static_cast<std::size_t>(count), 0.0);
    switch (stage.kind) {
      case ir::StageKind::input:
        return read_input(stage, image);
      case ir::StageKind::point:
        return compute(stage, image);
      case ir::StageKind::compose:
        return compose(stage, image);
      case ir::StageKind::fourier:
        image.values = transformed(stage, image.shape);
        std::fill(image.sizes.begin(), image.sizes.end(), std::numeric_limits<double>::infinity());
        return;
      case ir::StageKind::carried:
        image.values = images_[stage.of].values;
        image.sizes = images_[stage.of].sizes;
        return;
      case ir::StageKind::last:
        if (!finished_[stage.loop]) repeat(stage.loop);
        image.values = images_[stage.of].values;
        image.sizes = images_[stage.of].sizes;
        return;
    }
  }

  // A loop with a test, at the first image that is left of it.
  void repeat(std::uint32_t l) {
    const ir::Loop& loop = g_.loops[l];
    finished_[l] = true;
    for (const ir::StageId s : loop.carried) evaluate(s);
    for (i64 t = 0; t < loop.most; ++t) {
      for (ir::StageId s = 0; s < g_.stage_count(); ++s)
        if (in_[s] == l && g_.stage(s).kind != ir::StageKind::carried) evaluate(s);
      if (images_[loop.test].values.front() == 0) return;
      for (std::size_t k = loop.carried.size(); k-- > 0;) {  // the oldest version first
        images_[loop.carried[k]].values = images_[loop.next[k]].values;
        images_[loop.carried[k]].sizes = images_[loop.next[k]].sizes;
      }
    }
  }

  // The last stage that reads each stage; stage_count() for outputs. A loop's body reads until the loop's end.
  std::vector<ir::StageId> last_uses() const {
    std::vector<ir::StageId> last(g_.stage_count(), 0), end(g_.loops.size(), 0);
    for (ir::StageId s = 0; s < g_.stage_count(); ++s)
      if (g_.stage(s).kind == ir::StageKind::last) end[g_.stage(s).loop] = s;
    for (ir::StageId s = 0; s < g_.stage_count(); ++s)
      for (ir::StageId p : ir::sources(g_, s)) last[p] = std::max(last[p], in_[s] != ir::no_loop ? end[in_[s]] : s);
    for (const ir::Output& o : g_.outputs)
      for (ir::StageId s : o.stages) last[s] = static_cast<ir::StageId>(g_.stage_count());
    return last;
  }

  Shape shape_of(ir::StageId s) const {
    Shape shape;
    for (ir::SizeId n : g_.stage(s).domain) {
      shape.push_back(g_.evaluate(n, parameters_));
      if (shape.back() < 0)
        throw Error(ErrorClass::argument, fmt::format("'{}' has the extent {} = {}; the inputs are too small",
                                                      g_.stage(s).name, g_.to_string(n), shape.back()));
    }
    return shape;
  }

  void read_input(const ir::Stage& stage, Image& image) const {
    const Array& a = arguments_[stage.argument];
    const auto& fields = a.format().fields;
    const std::size_t offset = fields.empty() ? 0 : fields[stage.field].offset;
    std::vector<i64> i(image.shape.size(), 0);
    const std::vector<i64> lo = i;
    if (empty_box(lo, image.shape)) return;
    do {
      base::count_towards_deadline();
      const auto at = static_cast<std::size_t>(flat(image.shape, i));
      image.values[at] = load_element(stage.type, a.at(i) + offset);
      if (sized_) image.sizes[at] = std::abs(image.values[at]);
    } while (next(i, lo, image.shape));
  }

  // In double, rounded once to the type of the stage.
  std::vector<double> transformed(const ir::Stage& stage, const Shape& shape) const {
    const ir::Fourier& f = stage.fourier;
    Spectrum s;
    s.re = images_[f.re].values;
    if (f.im)
      s.im = images_[*f.im].values;
    else
      s.im.assign(s.re.size(), 0.0);
    for (const int d : f.along) transform(s, shape, static_cast<std::size_t>(d), f.inverse);
    std::vector<double>& part = f.imaginary ? s.im : s.re;
    for (double& v : part) v = ir::evaluate(Op::convert, stage.type, ElementType::f64, &v);
    return std::move(part);
  }

  void compose(const ir::Stage& stage, Image& image) const {
    const std::size_t rank = image.shape.size();
    for (const ir::Piece& piece : stage.pieces) {
      std::vector<i64> start(rank), lo(rank), hi(rank, 0);
      for (std::size_t d = 0; d < rank; ++d) {
        start[d] = g_.evaluate(piece.start[d], parameters_);
        if (start[d] < -kFar || start[d] > kFar) break;  // hi stays 0: nothing falls inside
        const i64 stride = piece.stride[d], room = image.shape[d] - start[d];
        lo[d] = start[d] < 0 ? (-start[d] + stride - 1) / stride : 0;
        hi[d] = std::min(g_.evaluate(piece.count[d], parameters_), room <= 0 ? 0 : (room + stride - 1) / stride);
      }
      if (empty_box(lo, hi)) continue;
      std::vector<i64> j = lo, at(rank);
      do {
        base::count_towards_deadline();
        for (std::size_t d = 0; d < rank; ++d) at[d] = start[d] + piece.stride[d] * j[d];
        const auto to = static_cast<std::size_t>(flat(image.shape, at));
        const Element piece_element = of_piece(stage, piece, j);
        image.values[to] = piece_element.value;
        if (sized_) image.sizes[to] = piece_element.size;
      } while (next(j, lo, hi));
    }
  }

  Element of_piece(const ir::Stage& stage, const ir::Piece& piece, const std::vector<i64>& j) const {
    if (!piece.stage) return {piece.value, std::abs(piece.value)};
    const Image& source = images_[*piece.stage];
    const std::vector<i64> at(j.end() - static_cast<std::ptrdiff_t>(source.shape.size()), j.end());
    for (std::size_t d = 0; d < at.size(); ++d)
      if (at[d] >= source.shape[d])
        throw Error(ErrorClass::internal, fmt::format("a piece of '{}' takes element {} of '{}', whose extent is {}",
                                                      stage.name, at[d], g_.stage(*piece.stage).name, source.shape[d]));
    const i64 place = flat(source.shape, at);
    return {source.value(place), sized_ ? source.size(place) : 0};
  }

  // The piece that was put there last.
  Element composed(const ir::Stage& stage, const std::vector<i64>& at) const {
    Element found;
    for (const ir::Piece& piece : stage.pieces) {
      std::vector<i64> j(at.size());
      bool inside = true;
      for (std::size_t d = 0; d < at.size(); ++d) {
        const i64 from = at[d] - g_.evaluate(piece.start[d], parameters_);
        j[d] = from / piece.stride[d];
        inside = inside && from >= 0 && from % piece.stride[d] == 0 && j[d] < g_.evaluate(piece.count[d], parameters_);
      }
      if (inside) found = of_piece(stage, piece, j);
    }
    return found;
  }

  Array assemble(const ir::Output& o) const {
    const Shape& shape = images_[o.stages[0]].shape;
    Array result(o.format, shape);
    std::vector<i64> i(shape.size(), 0);
    const std::vector<i64> lo = i;
    if (empty_box(lo, shape)) return result;
    do {
      base::count_towards_deadline();
      for (std::size_t f = 0; f < o.stages.size(); ++f) {
        const std::size_t offset = o.format.fields.empty() ? 0 : o.format.fields[f].offset;
        const ir::Stage& stage = g_.stage(o.stages[f]);
        double v = images_[o.stages[f]].values[static_cast<std::size_t>(flat(shape, i))];
        if (stage.kind == ir::StageKind::input && std::isnan(v)) v = one_nan;  // copied as a point stage is
        store_element(stage.type, result.at(i) + offset, v);
      }
    } while (next(i, lo, shape));
    return result;
  }

  void compute(const ir::Stage& stage, Image& image);
  void compute_keyed(const ir::Stage& stage, const ir::Keyed&, Image& image);
  Element made(ir::StageId s, i64 at);
  void report(i64 points);

  const ir::Graph& g_;
  const std::vector<i64>& parameters_;
  const std::vector<Array>& arguments_;
  const Rounding of_sums_;
  const bool sized_;
  const std::function<void(i64, i64)> on_progress_;
  std::vector<Image> images_;
  std::vector<std::uint32_t> in_;                    // the loop in whose body a stage stands
  std::vector<bool> finished_;                       // loops
  std::vector<std::unique_ptr<PointStage>> points_;  // of single points
  i64 done_ = 0, total_ = 0;                         // points
};

// Points of all stages, a row or so at a time.
void Interpreter::report(i64 points) {
  if (!on_progress_) return;
  if (total_ == 0)
    for (ir::StageId s = 0; s < g_.stage_count(); ++s)
      if (g_.stage(s).kind == ir::StageKind::point && in_[s] == ir::no_loop) total_ += element_count(shape_of(s));
  done_ += points;
  on_progress_(std::min(done_, total_), total_);
}

void Interpreter::compute_keyed(const ir::Stage& stage, const ir::Keyed& keyed, Image& image) {
  std::vector<i64> extents;
  for (const ir::SizeId n : keyed.bins) extents.push_back(std::max<i64>(0, g_.evaluate(n, parameters_)));
  const Shape domain = image.shape;
  PointStage point(g_, parameters_, arguments_, images_, stage, domain, of_sums_, sized_);
  i64 since = 0;
  const auto element = [&](const std::vector<i64>& i) {
    if (++since == 1024) report(since), since = 0;
    return point.keyed_at(i);
  };
  put_into_bins(g_, keyed, extents, domain, element, sized_, image);
  report(since);
}

void Interpreter::compute(const ir::Stage& stage, Image& image) {
  if (const auto keyed = ir::keyed_of(g_, stage)) return compute_keyed(stage, *keyed, image);
  std::vector<i64> lo = stage.margin_lo, hi = image.shape;
  for (std::size_t d = 0; d < hi.size(); ++d) hi[d] -= stage.margin_hi[d];
  if (empty_box(lo, hi)) return;
  PointStage point(g_, parameters_, arguments_, images_, stage, image.shape, of_sums_, sized_);
  std::vector<i64> i = lo;
  i64 since = 0;
  do {
    const Element e = point.at(i);
    const auto at = static_cast<std::size_t>(flat(image.shape, i));
    image.values[at] = e.value;
    if (sized_) image.sizes[at] = e.size;
    if (++since == 1024) report(since), since = 0;
  } while (next(i, lo, hi));
  report(since);
}

// ---- single points ----

void Interpreter::prepare_points() {
  check_arguments();
  points_.resize(g_.stage_count());
  for (ir::StageId s = 0; s < g_.stage_count(); ++s) {
    images_[s].shape = shape_of(s);
    images_[s].make = [this, s](i64 at) { return made(s, at); };
  }
}

Element Interpreter::made(ir::StageId s, i64 at) {
  const ir::Stage& stage = g_.stage(s);
  const std::vector<i64> i = unflat(images_[s].shape, at);
  if (stage.kind == ir::StageKind::input) {
    const Array& a = arguments_[stage.argument];
    const auto& fields = a.format().fields;
    const double v = load_element(stage.type, a.at(i) + (fields.empty() ? 0 : fields[stage.field].offset));
    return {v, std::abs(v)};
  }
  if (stage.kind == ir::StageKind::compose) return composed(stage, i);
  for (std::size_t d = 0; d < i.size(); ++d)
    if (i[d] < stage.margin_lo[d] || i[d] >= images_[s].shape[d] - stage.margin_hi[d]) return {};
  if (!points_[s])
    points_[s] =
        std::make_unique<PointStage>(g_, parameters_, arguments_, images_, stage, images_[s].shape, of_sums_, sized_);
  return points_[s]->at(i);
}

}  // namespace

std::vector<Array> interpret(const ir::Graph& g, const std::vector<i64>& parameters,
                             const std::vector<Array>& arguments, Rounding of_sums) {
  return Interpreter(g, parameters, arguments, of_sums).run();
}

Sized interpret_sized(const ir::Graph& g, const std::vector<i64>& parameters, const std::vector<Array>& arguments,
                      Rounding of_sums, const std::function<void(i64 done, i64 total)>& on_progress) {
  Interpreter interpreter(g, parameters, arguments, of_sums, true, on_progress);
  Sized result;
  result.values = interpreter.run();
  result.sizes = interpreter.sizes();
  return result;
}

struct Points::Impl {
  Interpreter interpreter;
};

Points::Points(const ir::Graph& g, const std::vector<i64>& parameters, const std::vector<Array>& arguments,
               Rounding of_sums)
    : impl_(new Impl{{g, parameters, arguments, of_sums, true}}) {
  impl_->interpreter.prepare_points();
}
Points::~Points() = default;

bool Points::possible(const ir::Graph& g) {
  for (ir::StageId s = 0; s < g.stage_count(); ++s) {
    const ir::Stage& stage = g.stage(s);
    if (stage.kind == ir::StageKind::compose || stage.kind == ir::StageKind::input) continue;
    if (stage.kind != ir::StageKind::point) return false;
    for (const ir::ExprId e : ir::postorder(g, {stage.body})) {
      const Op op = g.node(e).op;
      if (ir::is_whole(op) || ir::is_lanes(op) || ir::is_into(op)) return false;
    }
  }
  return true;
}

Shape Points::shape(ir::StageId s) const {
  return impl_->interpreter.shape(s);
}
std::pair<double, double> Points::at(ir::StageId s, const std::vector<i64>& index) const {
  const Element e = impl_->interpreter.element(s, index);
  return {e.value, e.size};
}
void Points::forget() {
  impl_->interpreter.forget();
}

}  // namespace tessera::ref
