// Whole images, one stage after the other, one point after the other. Values are doubles, which hold every element type
// exactly; ir::evaluate gives each operation its meaning, so that f32 rounds to float after every one.
#include "ref/interpreter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "data/element.hpp"
#include "ir/build.hpp"
#include "ir/loops.hpp"
#include "ir/reductions.hpp"
#include "ref/program.hpp"
#include "ref/transform.hpp"

namespace tessera::ref {
namespace {

using ir::Op;

struct Image {
  Shape shape;
  std::vector<double> values;
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

i64 flat(const Shape& shape, const std::vector<i64>& i) {
  i64 at = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) at = at * shape[d] + i[d];
  return at;
}

// Of NaNs that are computed: which one comes of an operation is the business of processors and compilers.
constexpr double one_nan = std::numeric_limits<double>::quiet_NaN();
constexpr i64 kFar = i64{1} << 62;
constexpr i64 kMostElements = i64{1} << 30;  // of one image here: 8 GiB

class Interpreter {
 public:
  Interpreter(const ir::Graph& g, const std::vector<i64>& parameters, const std::vector<Array>& arguments,
              Rounding of_sums)
      : g_(g),
        parameters_(parameters),
        arguments_(arguments),
        of_sums_(of_sums),
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
        if (last[p] == s) images_[p].values = {};
    }
    std::vector<Array> results;
    for (const ir::Output& o : g_.outputs) results.push_back(assemble(o));
    return results;
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
    const ir::Stage& stage = g_.stage(s);
    Image& image = images_[s];
    image.shape = shape_of(s);
    const i64 count = element_count(image.shape);
    if (count > kMostElements)
      throw Error(ErrorClass::argument,
                  fmt::format("'{}' has {} elements; the interpreter takes at most {} in one image", stage.name, count,
                              kMostElements));
    image.values.assign(static_cast<std::size_t>(count), 0.0);
    switch (stage.kind) {
      case ir::StageKind::input:
        return read_input(stage, image);
      case ir::StageKind::point:
        return compute(stage, image);
      case ir::StageKind::compose:
        return compose(stage, image);
      case ir::StageKind::fourier:
        image.values = transformed(stage, image.shape);
        return;
      case ir::StageKind::carried:
        image.values = images_[stage.of].values;
        return;
      case ir::StageKind::last:
        if (!finished_[stage.loop]) repeat(stage.loop);
        image.values = images_[stage.of].values;
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
      for (std::size_t k = loop.carried.size(); k-- > 0;)  // the oldest version first
        images_[loop.carried[k]].values = images_[loop.next[k]].values;
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
      image.values[static_cast<std::size_t>(flat(image.shape, i))] = load_element(stage.type, a.at(i) + offset);
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
        for (std::size_t d = 0; d < rank; ++d) at[d] = start[d] + piece.stride[d] * j[d];
        image.values[static_cast<std::size_t>(flat(image.shape, at))] = piece_value(stage, piece, j);
      } while (next(j, lo, hi));
    }
  }

  double piece_value(const ir::Stage& stage, const ir::Piece& piece, const std::vector<i64>& j) const {
    if (!piece.stage) return piece.value;
    const Image& source = images_[*piece.stage];
    const std::vector<i64> at(j.end() - static_cast<std::ptrdiff_t>(source.shape.size()), j.end());
    for (std::size_t d = 0; d < at.size(); ++d)
      if (at[d] >= source.shape[d])
        throw Error(ErrorClass::internal, fmt::format("a piece of '{}' takes element {} of '{}', whose extent is {}",
                                                      stage.name, at[d], g_.stage(*piece.stage).name, source.shape[d]));
    return source.values[static_cast<std::size_t>(flat(source.shape, at))];
  }

  Array assemble(const ir::Output& o) const {
    const Shape& shape = images_[o.stages[0]].shape;
    Array result(o.format, shape);
    std::vector<i64> i(shape.size(), 0);
    const std::vector<i64> lo = i;
    if (empty_box(lo, shape)) return result;
    do {
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

  const ir::Graph& g_;
  const std::vector<i64>& parameters_;
  const std::vector<Array>& arguments_;
  const Rounding of_sums_;
  std::vector<Image> images_;
  std::vector<std::uint32_t> in_;  // the loop in whose body a stage stands
  std::vector<bool> finished_;     // loops
};

// One point stage: its code, and the values of all slots at the current point.
class Point {
 public:
  Point(const ir::Graph& g, const std::vector<i64>& parameters, const std::vector<Array>& arguments,
        const std::vector<Image>& images, const ir::Stage& stage, const Shape& shape, Rounding of_sums)
      : g_(g),
        parameters_(parameters),
        arguments_(arguments),
        images_(images),
        stage_(stage),
        shape_(shape),
        of_sums_(of_sums),
        code_(compile(g, stage.body)),
        slots_(code_.slot_count) {
    prepare();
    result_ = code_.blocks[0].empty() ? 0 : code_.blocks[0].back().result;
  }

  double at(const std::vector<i64>& i) {
    point_ = &i;
    run(0);
    return slots_[result_];
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
        return images_[n.stage].values.front();
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
    for (const Instruction& in : code_.blocks[block]) slots_[in.result] = value(in);
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
    return image.values[static_cast<std::size_t>(flat_index)];
  }

  // Elements `first`, first + 64 ... below `end`.
  static double lane(Op op, ElementType own, const std::vector<double>& all, i64 first, i64 end) {
    double v = ir::first_of_lane(op, own);
    const ElementType type = ir::promote(own, own);
    for (i64 k = first; k < end; k += ir::lanes_of_piece) {
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

  double gather(const ir::ExprNode& n, const Instruction& in) const {
    const Image& image = images_[n.stage];
    return image.values[clamped(image.shape, in)];
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
    bool first = true;
    do {
      for (std::size_t d = 0; d < k.size(); ++d) vars_[n.vars[d].id] = k[d];
      run(in.block);
      const double term = slots_[in.operands[0]];
      if (n.op == Op::reduce_median) {
        window.push_back(term);
      } else {
        const double both[2] = {sum, term};
        sum = first ? term : ir::evaluate(ir::step_of(n.op), steps, steps, both);
      }
      first = false;
    } while (next(k, lo, hi));
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
  Code code_;
  std::vector<double> slots_;
  std::unordered_map<std::uint32_t, Read> reads_;
  std::unordered_map<std::uint32_t, i64> vars_;
  std::uint32_t result_ = 0;
  const std::vector<i64>* point_ = nullptr;
};

void Interpreter::compute(const ir::Stage& stage, Image& image) {
  std::vector<i64> lo = stage.margin_lo, hi = image.shape;
  for (std::size_t d = 0; d < hi.size(); ++d) hi[d] -= stage.margin_hi[d];
  if (empty_box(lo, hi)) return;
  Point point(g_, parameters_, arguments_, images_, stage, image.shape, of_sums_);
  std::vector<i64> i = lo;
  do {
    const double v = point.at(i);
    image.values[static_cast<std::size_t>(flat(image.shape, i))] = std::isnan(v) ? one_nan : v;
  } while (next(i, lo, hi));
}

}  // namespace

std::vector<Array> interpret(const ir::Graph& g, const std::vector<i64>& parameters,
                             const std::vector<Array>& arguments, Rounding of_sums) {
  return Interpreter(g, parameters, arguments, of_sums).run();
}

}  // namespace tessera::ref
