// Whole images, one stage after the other, one point after the other. Values are doubles, which hold every element type
// exactly; ir::evaluate gives each operation its meaning, so that f32 rounds to float after every one. Or single
// points: then a stage is asked for what its readers read, and remembers it. Whatever goes on for long looks whether it
// is to be cancelled (base/deadline.hpp).
#include "ref/interpreter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <unordered_map>

#include "base/deadline.hpp"
#include "data/element.hpp"
#include "ir/build.hpp"
#include "ir/loops.hpp"
#include "ir/reductions.hpp"
#include "ref/points.hpp"
#include "ref/program.hpp"
#include "ref/sizes.hpp"
#include "ref/transform.hpp"

namespace tessera::ref {
namespace {

using ir::Op;

struct Element {
  double value = 0, size = 0;
};

struct Image {
  Shape shape;
  std::vector<double> values, sizes;  // sizes: where they are wanted
  // Of single points: what gives one, and those that are known.
  std::function<Element(i64)> make;
  mutable std::unordered_map<i64, Element> known;

  Element element(i64 flat) const {
    const auto [at, fresh] = known.try_emplace(flat);
    if (!fresh) return at->second;
    const Element made = make(flat);  // which may ask for others
    return known[flat] = made;
  }
  double value(i64 flat) const { return make ? element(flat).value : values[static_cast<std::size_t>(flat)]; }
  double size(i64 flat) const { return make ? element(flat).size : sizes[static_cast<std::size_t>(flat)]; }
};

// Advances a multi-index inside [lo, hi); false after the last one.
bool next(std::vector<i64>& i, const std::vector<i64>& lo, const std::vector<i64>& hi) {
  for (std::size_t d = i.size(); d-- > 0;) {
    if (++i[d] < hi[d]) return true;
    i[d] = lo[d];
  }
  return false;
}

bool empty_box(const std::vector<i64>& lo, const std::vector<i64>& hi) {
  for (std::size_t d = 0; d < lo.size(); ++d)
    if (lo[d] >= hi[d]) return true;
  return false;
}

std::vector<i64> unflat(const Shape& shape, i64 at) {
  std::vector<i64> i(shape.size());
  for (std::size_t d = shape.size(); d-- > 0; at /= shape[d]) i[d] = at % shape[d];
  return i;
}

i64 flat(const Shape& shape, const std::vector<i64>& i) {
  i64 at = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) at = at * shape[d] + i[d];
  return at;
}

// Of NaNs that are computed: which one comes of an operation is the business of processors and compilers.
constexpr double one_nan = std::numeric_limits<double>::quiet_NaN();
constexpr i64 kFar = i64{1} << 62;
constexpr i64 kMostElements = i64{1} << 30;  // of one image here: 8 GiB

class Point;

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
  ~Interpreter();

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
  Element made(ir::StageId s, i64 at);
  void report(i64 points);

  const ir::Graph& g_;
  const std::vector<i64>& parameters_;
  const std::vector<Array>& arguments_;
  const Rounding of_sums_;
  const bool sized_;
  const std::function<void(i64, i64)> on_progress_;
  std::vector<Image> images_;
  std::vector<std::uint32_t> in_;               // the loop in whose body a stage stands
  std::vector<bool> finished_;                  // loops
  std::vector<std::unique_ptr<Point>> points_;  // of single points
  i64 done_ = 0, total_ = 0;                    // points
};

// One point stage: its code, and the values of all slots at the current point.
class Point {
 public:
  Point(const ir::Graph& g, const std::vector<i64>& parameters, const std::vector<Array>& arguments,
        const std::vector<Image>& images, const ir::Stage& stage, const Shape& shape, Rounding of_sums, bool sized)
      : g_(g),
        parameters_(parameters),
        arguments_(arguments),
        images_(images),
        stage_(stage),
        shape_(shape),
        of_sums_(of_sums),
        sized_(sized),
        code_(compile(g, stage.body)),
        slots_(code_.slot_count),
        sizes_(sized ? code_.slot_count : 0) {
    prepare();
    result_ = code_.blocks[0].empty() ? 0 : code_.blocks[0].back().result;
  }

  Element at(const std::vector<i64>& i) {
    point_ = &i;
    run(0);
    const double v = slots_[result_];
    return {std::isnan(v) ? one_nan : v, sized_ ? sizes_[result_].most() : 0};
  }

 private:
  struct Read {  // an access, with the extents of this run put in
    std::vector<i64> base;
    std::vector<double> outside;
  };

  // Leaves that are the same at every point are computed once; accesses get their bases and border values.
  void prepare() {
    for (auto& block : code_.blocks) {
      std::erase_if(block, [&](const Instruction& in) {
        const auto v = fixed(g_.node(in.expr));
        if (v) slots_[in.result] = *v;
        if (v && sized_) sizes_[in.result] = fixed_size(g_.node(in.expr), *v);
        return v.has_value() && in.expr != stage_.body;
      });
      for (const Instruction& in : block) {
        const ir::ExprNode& n = g_.node(in.expr);
        if (n.op == Op::access || n.op == Op::gather) refuse_empty(n);
        if (n.op != Op::access) continue;
        Read& read = reads_[in.result];
        for (std::size_t d = 0; d < n.index.size(); ++d) {
          read.base.push_back(g_.evaluate(n.index[d].shift, parameters_) + n.index[d].offset);
          read.outside.push_back(ir::evaluate(Op::convert, n.type, ElementType::f64, &n.border[d].value));
        }
      }
    }
  }

  std::optional<double> fixed(const ir::ExprNode& n) const {
    const auto at = static_cast<std::size_t>(n.ivalue);
    switch (n.op) {
      case Op::constant:
        return is_float(n.type) ? n.fvalue : static_cast<double>(n.ivalue);
      case Op::extent:
        return static_cast<std::int32_t>(shape_[at]);
      case Op::parameter:
        return static_cast<std::int32_t>(parameters_[at]);
      case Op::scalar:
        return load_element(n.type, static_cast<const std::byte*>(arguments_[at].data()));
      case Op::value:
        return images_[n.stage].value(0);
      case Op::size:
        return static_cast<double>(g_.evaluate(ir::SizeId{static_cast<std::uint32_t>(n.ivalue)}, parameters_));
      default:
        return std::nullopt;
    }
  }

  void refuse_empty(const ir::ExprNode& n) const {
    const Image& image = images_[n.stage];
    for (std::size_t d = 0; d < image.shape.size(); ++d)
      if (image.shape[d] == 0 && (n.op == Op::gather || n.border[d].mode != BorderMode::constant))
        throw Error(ErrorClass::argument, fmt::format("'{}' reads '{}', which is empty ({})", stage_.name,
                                                      g_.stage(n.stage).name, to_string(image.shape)));
  }

  void run(std::uint32_t block) {
    base::count_towards_deadline();
    for (const Instruction& in : code_.blocks[block]) {
      base::count_towards_deadline();
      slots_[in.result] = value(in);
      if (sized_) sizes_[in.result] = size(in);
    }
  }

  // ---- sizes (sizes.hpp), after the value ----
  Size fixed_size(const ir::ExprNode& n, double v) const {
    return n.op == Op::value ? image_size(images_[n.stage].size(0)) : known_size(v);
  }

  Size size(const Instruction& in) const {
    const ir::ExprNode& n = g_.node(in.expr);
    const double v = slots_[in.result];
    if (n.op == Op::access || n.op == Op::gather) {
      if (place_ < 0) return known_size(v);  // of a constant border
      const double most = images_[n.stage].size(place_);
      return image_size(tessera::size_of(g_.stage(n.stage).type) == 1 ? std::max(most, size_of_byte) : most);
    }
    if (ir::is_reduction(n.op)) return reduced_;
    if (ir::is_whole(n.op) || ir::is_lanes(n.op)) return whole_size(n);
    if (n.op == Op::lookup) {
      const bool known = std::all_of(in.operands.begin(), in.operands.end(), [&](auto k) { return sizes_[k].known; });
      return known ? known_size(v) : image_size(std::abs(v));
    }
    if (in.operands.empty()) return n.op == Op::value ? fixed_size(n, v) : known_size(v);
    double operands[3] = {};
    Size of[3];
    for (std::size_t k = 0; k < in.operands.size(); ++k)
      operands[k] = slots_[in.operands[k]], of[k] = sizes_[in.operands[k]];
    return operation_size(n.op, n.type, g_.node(n.args.back()).type, operands, of, in.operands.size(), v);
  }

  // Of all elements, which is more than those of a lane.
  Size whole_size(const ir::ExprNode& n) const {
    const std::vector<double>& all = images_[n.stage].sizes;
    const Op op = ir::is_lanes(n.op) ? n.op : ir::lanes_of(n.op);
    double sum = 0, largest = 0;
    for (const double s : all) sum += s, largest = std::max(largest, s);
    if (op != Op::lanes_sum) return image_size(largest);
    return image_size(n.op == Op::whole_mean ? sum / static_cast<double>(all.size()) : sum);
  }

  static void add_size(const ir::ExprNode& n, bool first, double so_far, Size& total, double term,
                       const Size& of_term) {
    if (first)
      total = of_term;
    else if (n.op == Op::reduce_sum)
      total = sum_of(total, of_term);
    else if (n.op == Op::reduce_prod)
      total = product_of(so_far, total, term, of_term);
    else
      total = larger_of(total, of_term);
  }

  double value(const Instruction& in) {
    const ir::ExprNode& n = g_.node(in.expr);
    switch (n.op) {
      case Op::access:
        return read(n, reads_.at(in.result));
      case Op::gather:
        return gather(n, in);
      case Op::lookup:
        return lookup(n, in);
      case Op::coord:
        return static_cast<std::int32_t>((*point_)[static_cast<std::size_t>(n.ivalue)]);
      case Op::var:
        return static_cast<double>(vars_[static_cast<std::uint32_t>(n.ivalue)]);
      case Op::constant:
      case Op::extent:
      case Op::parameter:
      case Op::scalar:
      case Op::value:
      case Op::size:
        return *fixed(n);
      default:
        break;
    }
    if (ir::is_whole(n.op)) return whole(n);
    if (ir::is_lanes(n.op)) {
      const std::vector<double>& all = images_[n.stage].values;
      const i64 count = static_cast<i64>(all.size()), length = n.ivalue > 0 ? n.ivalue : count;
      const i64 first = std::min((*point_)[0] * length, count);
      return lane(n.op, n.type, all, first + (*point_)[1], std::min(first + length, count));
    }
    if (ir::is_reduction(n.op)) return reduce(n, in);
    double operands[3] = {};
    for (std::size_t k = 0; k < in.operands.size(); ++k) operands[k] = slots_[in.operands[k]];
    return ir::evaluate(n.op, n.type, g_.node(n.args.back()).type, operands);
  }

  double read(const ir::ExprNode& n, const Read& read) {
    const Image& image = images_[n.stage];
    const std::size_t rank = image.shape.size(), own = point_->size();
    i64 flat_index = 0;
    place_ = -1;
    for (std::size_t d = 0; d < rank; ++d) {
      const ir::Index& index = n.index[d];
      i64 i = read.base[d];
      if (index.scale != 0) i += index.scale * (*point_)[d + own - rank];
      for (const auto& [v, c] : index.vars) i += c * vars_[v];
      const i64 extent = image.shape[d];
      if (i < 0 || i >= extent) {
        if (n.border[d].mode == BorderMode::none)
          throw Error(ErrorClass::internal,
                      fmt::format("'{}' reads '{}' at index {} of dimension {}, outside of 0..{}, without a border",
                                  stage_.name, g_.stage(n.stage).name, i, d, extent - 1));
        if (n.border[d].mode == BorderMode::constant) return read.outside[d];
        i = map_index(n.border[d].mode, i, extent);
      }
      flat_index = flat_index * extent + i;
    }
    place_ = flat_index;
    const double v = image.value(flat_index);
    place_ = flat_index;  // (what was asked for asked others)
    return v;
  }

  // Elements `first`, first + 64 ... below `end`.
  static double lane(Op op, ElementType own, const std::vector<double>& all, i64 first, i64 end) {
    double v = ir::first_of_lane(op, own);
    const ElementType type = ir::promote(own, own);
    for (i64 k = first; k < end; k += ir::lanes_of_piece) {
      base::count_towards_deadline();
      const double both[2] = {all[static_cast<std::size_t>(k)], v};
      v = ir::evaluate(ir::step_of_lane(op), type, type, both);
    }
    return v;
  }

  // A list of numbers, in pieces; then what these come to, in one.
  double whole(const ir::ExprNode& n) const {
    const Op op = ir::lanes_of(n.op);
    const ElementType own = op == Op::lanes_sum ? ElementType::f64 : n.type, computed = ir::promote(own, own);
    const auto piece = [&](const std::vector<double>& all, i64 first, i64 end) {
      double total = 0;
      for (i64 l = 0; l < ir::lanes_of_piece; ++l) {
        const double both[2] = {total, lane(op, own, all, first + l, end)};
        total = l == 0 ? both[1] : ir::evaluate(ir::step_of_lane(op), computed, computed, both);
      }
      return total;
    };
    const std::vector<double>& elements = images_[n.stage].values;
    const i64 count = static_cast<i64>(elements.size());
    std::vector<double> pieces;
    for (i64 first = 0; first < count; first += ir::elements_of_piece)
      pieces.push_back(piece(elements, first, std::min(first + ir::elements_of_piece, count)));
    const double total = piece(pieces, 0, static_cast<i64>(pieces.size()));
    return n.op == Op::whole_mean ? total / static_cast<double>(count) : total;
  }

  double gather(const ir::ExprNode& n, const Instruction& in) {
    const Image& image = images_[n.stage];
    place_ = static_cast<i64>(clamped(image.shape, in));
    return image.value(place_);
  }
  double lookup(const ir::ExprNode& n, const Instruction& in) const {
    const ir::Table& table = g_.tables[static_cast<std::size_t>(n.ivalue)];
    const double v = table.values[clamped(table.extents, in)];
    return is_float(table.type) ? v : v + 0.0;  // integers have no -0
  }
  std::size_t clamped(const std::vector<i64>& extents, const Instruction& in) const {
    i64 at = 0;
    for (std::size_t d = 0; d < extents.size(); ++d)
      at = at * extents[d] + std::clamp<i64>(static_cast<i64>(slots_[in.operands[d]]), 0, extents[d] - 1);
    return static_cast<std::size_t>(at);
  }

  double reduce(const ir::ExprNode& n, const Instruction& in) {
    std::vector<i64> lo, hi;
    for (const ir::Var& v : n.vars) {
      lo.push_back(v.lo);
      hi.push_back(v.hi + 1);
    }
    std::vector<double> window;  // of a median
    std::vector<i64> k = lo;
    const bool once = of_sums_ == Rounding::once && n.op == Op::reduce_sum && n.type == ElementType::f32;
    const ElementType steps = once ? ElementType::f64 : n.type;
    double sum = 0;
    Size total;
    bool first = true;
    do {
      for (std::size_t d = 0; d < k.size(); ++d) vars_[n.vars[d].id] = k[d];
      run(in.block);
      const double term = slots_[in.operands[0]];
      if (sized_) add_size(n, first, sum, total, term, sizes_[in.operands[0]]);
      if (n.op == Op::reduce_median) {
        window.push_back(term);
      } else {
        const double both[2] = {sum, term};
        sum = first ? term : ir::evaluate(ir::step_of(n.op), steps, steps, both);
      }
      first = false;
    } while (next(k, lo, hi));
    reduced_ = total;
    if (once) return ir::evaluate(Op::convert, n.type, steps, &sum);
    if (n.op != Op::reduce_median) return sum;
    for (const double v : window)
      if (std::isnan(v)) return v;
    const auto middle = window.begin() + static_cast<std::ptrdiff_t>((window.size() - 1) / 2);
    std::nth_element(window.begin(), middle, window.end());
    return *middle + 0.0;  // -0 and 0 are equal: either may stand in the middle
  }

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

Interpreter::~Interpreter() = default;

// Points of all stages, a row or so at a time.
void Interpreter::report(i64 points) {
  if (!on_progress_) return;
  if (total_ == 0)
    for (ir::StageId s = 0; s < g_.stage_count(); ++s)
      if (g_.stage(s).kind == ir::StageKind::point && in_[s] == ir::no_loop) total_ += element_count(shape_of(s));
  done_ += points;
  on_progress_(std::min(done_, total_), total_);
}

void Interpreter::compute(const ir::Stage& stage, Image& image) {
  std::vector<i64> lo = stage.margin_lo, hi = image.shape;
  for (std::size_t d = 0; d < hi.size(); ++d) hi[d] -= stage.margin_hi[d];
  if (empty_box(lo, hi)) return;
  Point point(g_, parameters_, arguments_, images_, stage, image.shape, of_sums_, sized_);
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
        std::make_unique<Point>(g_, parameters_, arguments_, images_, stage, images_[s].shape, of_sums_, sized_);
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
      if (ir::is_whole(op) || ir::is_lanes(op)) return false;
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
