// What is behind the typed handles of a pipeline: one stage graph, built node by node.
//
// The rules of the language that the handles cannot know by their types are applied here: how the extents of a stage
// follow from what it reads, which points a use without a border leaves out, and that every name, rank and variable is
// what it has to be.
#include "tessera/pipeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <numeric>

#include "base/division.hpp"
#include "base/text.hpp"
#include "engine/pipeline/impl.hpp"
#include "engine/program_impl.hpp"
#include "ir/build.hpp"
#include "ir/loops.hpp"
#include "ir/reductions.hpp"

namespace tessera {

namespace {

using detail::Builder;
using detail::checked;
using detail::fail;
using detail::id;
using detail::made;
using detail::Node;
using detail::same;
using detail::Shared;
using detail::View;

bool is_name(std::string_view text) {
  const auto letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  const auto part = [&](char c) { return letter(c) || std::isdigit(static_cast<unsigned char>(c)) != 0; };
  return !text.empty() && text.size() <= 200 && letter(text[0]) && std::all_of(text.begin(), text.end(), part);
}

void check_name(std::string_view what, const std::string& name) {
  if (!is_name(name)) fail(fmt::format("{} is called {}, expected letters, digits and '_'", what, base::quoted(name)));
}

}  // namespace

// ---- the pipeline --------------------------------------------------------------------------------------------------

namespace {

View view_of(const Shared& builder, ir::StageId stage) {
  const std::size_t rank = builder->graph.stage(stage).domain.size();
  return {builder, stage, std::vector<Border>(rank), std::vector<i64>(rank, 1)};
}

void add_argument_name(Builder& b, const std::string& name) {
  check_name("an input", name);
  if (std::find(b.names.begin(), b.names.end(), name) != b.names.end())
    fail(fmt::format("two inputs are called '{}'", name));
  b.names.push_back(name);
}

// Window variables of which no reduction is around, below each node.
void check_scope(const ir::Graph& g, const std::string& stage, ir::ExprId body) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> open;
  const std::vector<ir::ExprId> order = ir::postorder(g, {body});
  for (const ir::ExprId e : order) {
    const ir::ExprNode& n = g.node(e);
    std::vector<std::uint32_t> free;
    if (n.op == ir::Op::var) free.push_back(static_cast<std::uint32_t>(n.ivalue));
    for (const ir::Index& i : n.index)
      for (const auto& [v, factor] : i.vars) free.push_back(v);
    for (const ir::ExprId a : n.args) {
      const auto& below = open[a.id];
      free.insert(free.end(), below.begin(), below.end());
    }
    for (const ir::Var& v : n.vars) std::erase(free, v.id);
    std::sort(free.begin(), free.end());
    free.erase(std::unique(free.begin(), free.end()), free.end());
    open[e.id] = std::move(free);
  }
  if (!open[body.id].empty())
    fail(fmt::format("stage '{}' uses a window variable outside of its window", stage),
         "use it inside the function given to sum(), max(), ...");
}

// A number: of what all elements of images come to, and of nothing that depends on a point.
bool is_of_totals(const ir::Graph& g, ir::ExprId body) {
  bool totals = false;
  for (const ir::ExprId e : ir::postorder(g, {body})) {
    const ir::Op op = g.node(e).op;
    totals = totals || op == ir::Op::value || ir::is_whole(op);
    if (op == ir::Op::gather || op == ir::Op::coord || op == ir::Op::extent) return false;
  }
  return totals;
}

// What the reads of a stage say about its extents, and which points they leave out.
struct Geometry {
  std::vector<ir::SizeId> domain;
  std::vector<i64> lo, hi;
};

Geometry geometry_of(Builder& b, const std::string& name, ir::ExprId body) {
  ir::Graph& g = b.graph;
  const std::vector<ir::ExprId> reads = ir::accesses(g, body);
  std::size_t rank = 0;
  for (const ir::ExprId e : reads)
    if (g.node(e).op == ir::Op::access) rank = std::max(rank, g.node(e).index.size());
  if (rank == 0 && is_of_totals(g, body)) return {{g.size(1)}, {0}, {0}};
  if (rank == 0)
    fail(fmt::format("stage '{}' reads no image at an offset, so that its extents are not known", name),
         "read an image of the extents that are meant, for example with + (image - image)");
  Geometry out{{}, std::vector<i64>(rank), std::vector<i64>(rank)};
  std::vector<std::optional<ir::SizeId>> extents(rank);
  for (const ir::ExprId e : reads) {
    if (g.node(e).op != ir::Op::access) continue;
    const ir::StageId producer = g.node(e).stage;
    const std::vector<ir::Index> index = g.node(e).index;
    const std::vector<Border> border = g.node(e).border;
    for (std::size_t d = 0; d < index.size(); ++d) {
      const std::size_t own = d + rank - index.size();
      const ir::Index& i = index[d];
      const ir::SizeId n = g.size_floor_div(g.stage(producer).domain[d], i.scale);
      extents[own] = !extents[own] || *extents[own] == n ? n : g.size_binary(ir::SizeOp::min, *extents[own], n);
      if (border[d].mode != BorderMode::none) continue;
      i64 lo = i.offset, hi = i.offset;
      for (const auto& [v, factor] : i.vars) {
        const Range r = b.ranges.at(v);
        lo += std::min(factor * r.lo, factor * r.hi);
        hi += std::max(factor * r.lo, factor * r.hi);
      }
      out.lo[own] = std::max(out.lo[own], base::ceil_divide(std::max<i64>(0, -lo), i.scale));
      // The last point reads at most scale * (floor(n / scale) - 1) + hi, which is inside for any hi below the scale.
      out.hi[own] = std::max(out.hi[own], base::ceil_divide(std::max<i64>(0, hi - i.scale + 1), i.scale));
    }
  }
  for (const auto& n : extents) out.domain.push_back(*n);
  return out;
}

}  // namespace

Pipeline::Pipeline() : builder_(std::make_shared<Builder>()) {}

Size Pipeline::size(std::string name) {
  check_name("a size", name);
  std::vector<std::string>& all = builder_->graph.parameters;
  if (std::find(all.begin(), all.end(), name) != all.end()) fail(fmt::format("two sizes are called '{}'", name));
  all.push_back(std::move(name));
  return {builder_, builder_->graph.size_parameter(static_cast<std::uint32_t>(all.size() - 1)).id};
}

// The parameters K, L, M, N, the last dimension N.
std::vector<Size> Pipeline::rank_extents(int rank) {
  if (rank < 1 || rank > 4) fail(fmt::format("an input has rank {}, expected 1 to 4", rank));
  static const std::vector<std::string> letters = {"K", "L", "M", "N"};
  std::vector<Size> extents;
  std::vector<std::string>& all = builder_->graph.parameters;
  for (std::size_t d = 4 - static_cast<std::size_t>(rank); d < 4; ++d) {
    const auto found = std::find(all.begin(), all.end(), letters[d]);
    if (found == all.end())
      extents.push_back(size(letters[d]));
    else
      extents.emplace_back(builder_,
                           builder_->graph.size_parameter(static_cast<std::uint32_t>(found - all.begin())).id);
  }
  return extents;
}

std::vector<View> Pipeline::add_input(std::string name, ElementType type, const std::vector<std::string>& fields,
                                      const std::vector<Size>& extents) {
  if (extents.empty() || extents.size() > 4)
    fail(fmt::format("input '{}' has rank {}, expected 1 to 4", name, extents.size()));
  if (fields.size() > 64) fail(fmt::format("input '{}' has {} fields, expected at most 64", name, fields.size()));
  ir::Argument argument;
  argument.name = name;
  argument.format = type;
  if (!fields.empty()) {
    std::string joined;
    std::vector<std::pair<std::string, ElementType>> members;
    for (const std::string& f : fields) {
      check_name("a plane", f);
      if (std::count(fields.begin(), fields.end(), f) > 1)
        fail(fmt::format("two planes of input '{}' are called '{}'", name, f));
      members.emplace_back(f, type);
      joined += f;
    }
    argument.format = Format::record(joined, std::move(members));
  }
  for (const Size& n : extents) {
    const ir::SizeId s{n.in(builder_)};
    if (const auto c = builder_->graph.constant(s); c && *c < 1)
      fail(fmt::format("input '{}' has an extent of {}, expected at least 1", name, *c));
    argument.extents.push_back(s);
  }
  add_argument_name(*builder_, name);
  ir::Graph& g = builder_->graph;
  g.arguments.push_back(argument);
  std::vector<View> views;
  for (std::size_t k = 0; k < std::max<std::size_t>(1, fields.size()); ++k) {
    ir::Stage s;
    s.kind = ir::StageKind::input;
    s.name = fields.empty() ? name : name + "." + fields[k];
    s.type = type;
    s.domain = argument.extents;
    s.argument = static_cast<std::uint32_t>(g.arguments.size() - 1);
    s.field = static_cast<std::uint32_t>(k);
    views.push_back(view_of(builder_, g.add(std::move(s))));
  }
  return views;
}

Node Pipeline::add_scalar(std::string name, ElementType type) {
  add_argument_name(*builder_, name);
  ir::Argument argument;
  argument.name = std::move(name);
  argument.is_array = false;
  argument.format = type;
  builder_->graph.arguments.push_back(std::move(argument));
  return made(builder_, ir::scalar(builder_->graph, builder_->graph.arguments.size() - 1));
}

std::uint32_t Pipeline::add_table(std::string name, ElementType type, Shape extents, std::vector<double> values) {
  check_name("a table", name);
  for (const i64 n : extents)
    if (n < 1) fail(fmt::format("table '{}' has an extent of {}, expected at least 1", name, n));
  if (extents.empty() || element_count(extents) != static_cast<i64>(values.size()))
    fail(fmt::format("table '{}' is {}, but {} value{} given", name, to_string(extents), values.size(),
                     values.size() == 1 ? " is" : "s are"));
  builder_->graph.tables.push_back({std::move(name), type, std::move(extents), std::move(values)});
  return static_cast<std::uint32_t>(builder_->graph.tables.size() - 1);
}

Node Pipeline::place(int dimension, bool extent) const {
  if (dimension < 0 || dimension > 3) fail(fmt::format("there is no dimension {}, expected 0 to 3", dimension));
  const auto d = static_cast<std::size_t>(dimension);
  return made(builder_, extent ? ir::extent(builder_->graph, d) : ir::coord(builder_->graph, d));
}

View Pipeline::add_stage(std::string name, const Node& value) {
  check_name("a stage", name);
  same(builder_, value.builder);
  ir::Graph& g = builder_->graph;
  check_scope(g, name, id(value));
  Geometry geometry = checked([&] { return geometry_of(*builder_, name, id(value)); });
  for (const ir::ExprId e : ir::postorder(g, {id(value)})) {
    const ir::ExprNode& n = g.node(e);
    if ((n.op == ir::Op::coord || n.op == ir::Op::extent) && n.ivalue >= static_cast<i64>(geometry.domain.size()))
      fail(fmt::format("stage '{}' has {} dimension{}, but asks for dimension {}", name, geometry.domain.size(),
                       geometry.domain.size() == 1 ? "" : "s", n.ivalue));
  }
  ir::Stage s;
  s.kind = ir::StageKind::point;
  s.name = std::move(name);
  s.type = g.node(id(value)).type;
  s.domain = std::move(geometry.domain);
  s.body = id(value);
  s.margin_lo = std::move(geometry.lo);
  s.margin_hi = std::move(geometry.hi);
  return view_of(builder_, g.add(std::move(s)));
}

View Pipeline::add_total(std::string name, std::string_view operation, const View& of) {
  check_name("a stage", name);
  same(builder_, of.builder);
  if (std::any_of(of.strides.begin(), of.strides.end(), [](i64 s) { return s != 1; }))
    fail(fmt::format("'{}' reduces a use of '{}' with a stride", name, builder_->graph.stage(of.stage).name),
         "make it a stage: stage(name, image.every(...).at(...))");
  ir::Graph& g = builder_->graph;
  ir::Stage s;
  s.name = std::move(name);
  s.domain = {g.size(1)};
  s.body = ir::whole(g, ir::op_named(operation).value(), of.stage);
  s.type = g.node(s.body).type;
  s.margin_lo = s.margin_hi = {0};
  return view_of(builder_, g.add(std::move(s)));
}

std::vector<View> Pipeline::add_transform(std::string name, bool inverse, const std::vector<View>& from,
                                          std::vector<int> along) {
  check_name("a stage", name);
  ir::Graph& g = builder_->graph;
  for (const View& view : from) {
    same(builder_, view.builder);
    if (std::any_of(view.strides.begin(), view.strides.end(), [](i64 s) { return s != 1; }))
      fail(fmt::format("'{}' transforms a use of '{}' with a stride", name, g.stage(view.stage).name),
           "make it a stage: stage(name, image.every(...).at(...))");
    if (g.stage(view.stage).domain != g.stage(from[0].stage).domain)
      fail(fmt::format("'{}' transforms planes of different extents", name));
  }
  const auto rank = static_cast<int>(g.stage(from[0].stage).domain.size());
  std::sort(along.begin(), along.end());
  for (std::size_t k = 0; k < along.size(); ++k) {
    if (along[k] < 0 || along[k] >= rank)
      fail(fmt::format("'{}' transforms along dimension {}, expected 0 to {}", name, along[k], rank - 1));
    if (k > 0 && along[k] == along[k - 1]) fail(fmt::format("'{}' names dimension {} twice", name, along[k]));
  }
  if (along.empty()) {
    along.resize(static_cast<std::size_t>(rank));
    std::iota(along.begin(), along.end(), 0);
  }
  std::vector<View> views;
  for (const bool imaginary : {false, true}) {
    ir::Stage s;
    s.kind = ir::StageKind::fourier;
    s.name = name + (imaginary ? ".im" : ".re");
    s.type = g.stage(from[0].stage).type;
    s.domain = g.stage(from[0].stage).domain;
    s.fourier.inverse = inverse;
    s.fourier.imaginary = imaginary;
    s.fourier.along = along;
    s.fourier.re = from[0].stage;
    if (from.size() > 1) s.fourier.im = from[1].stage;
    views.push_back(view_of(builder_, g.add(std::move(s))));
  }
  return views;
}

View Pipeline::add_composed(std::string name, ElementType type,
                            const std::vector<std::pair<View, std::vector<Place>>>& pieces) {
  check_name("a stage", name);
  if (pieces.empty()) fail(fmt::format("stage '{}' is composed of no pieces", name));
  ir::Graph& g = builder_->graph;
  const std::size_t rank = pieces[0].second.size();
  if (rank < 1 || rank > 4) fail(fmt::format("stage '{}' has {} places, expected 1 to 4", name, rank));
  ir::Stage s;
  s.kind = ir::StageKind::compose;
  s.type = type;
  std::vector<std::optional<ir::SizeId>> extents(rank);
  for (const auto& [view, places] : pieces) {
    same(builder_, view.builder);
    const std::vector<ir::SizeId> own = g.stage(view.stage).domain;
    if (places.size() != rank || own.size() > rank)
      fail(fmt::format("a piece of stage '{}' has rank {} and {} places, expected {} places", name, own.size(),
                       places.size(), rank));
    ir::Piece piece;
    piece.stage = view.stage;
    for (std::size_t d = 0; d < rank; ++d) {
      const Place& p = places[d];
      if (p.stride < 1 || p.stride > ir::max_offset || std::abs(p.start) > ir::max_offset)
        fail(fmt::format("a piece of stage '{}' starts at {} with stride {}, expected a stride of at least 1", name,
                         p.start, p.stride));
      const std::size_t added = rank - own.size();
      const ir::SizeId count = d < added ? g.size(1) : own[d - added];
      const ir::SizeId extent = checked([&] {
        return p.stride == 1 ? g.size_binary(ir::SizeOp::add, g.size(p.start), count)
                             : g.size_binary(ir::SizeOp::mul, g.size(p.stride), count);
      });
      piece.start.push_back(g.size(p.start));
      piece.stride.push_back(p.stride);
      piece.count.push_back(count);
      extents[d] = !extents[d] || *extents[d] == extent ? extent : g.size_binary(ir::SizeOp::max, *extents[d], extent);
    }
    s.pieces.push_back(std::move(piece));
  }
  for (const auto& n : extents) s.domain.push_back(*n);
  s.name = std::move(name);
  return view_of(builder_, g.add(std::move(s)));
}

namespace {

void check_loops(const Builder& builder, const ir::Graph& g) {
  if (builder.open_loop) fail(fmt::format("loop '{}' has no end: its body threw", *builder.open_loop));
  const std::vector<std::uint32_t> in = ir::bodies(g);
  std::vector<bool> ended(g.loops.size());
  const auto inside = [&](ir::StageId s) { return in[s] != ir::no_loop && ended[in[s]]; };
  bool outside = false;
  for (ir::StageId s = 0; s < g.stage_count(); ++s) {
    if (g.stage(s).kind == ir::StageKind::last)
      ended[g.stage(s).loop] = true;
    else
      outside = outside || inside(s);
  }
  for (const ir::Output& o : g.outputs)
    for (const ir::StageId s : o.stages) outside = outside || in[s] != ir::no_loop;
  if (outside) fail("an image of a loop's body is used outside of it", "use the images that repeat() gives");
}

}  // namespace

Program Pipeline::compile(const std::vector<Output>& outputs) const {
  if (outputs.empty()) fail("the pipeline has no output");
  ir::Graph g = builder_->graph;
  for (const Output& o : outputs) {
    const std::string what = o.name().empty() ? "the output" : fmt::format("output '{}'", o.name());
    if (!o.name().empty()) check_name("an output", o.name());
    for (const Output& other : outputs) {
      if (&other != &o && other.name() == o.name())
        fail(o.name().empty() ? "two outputs have no name" : fmt::format("two outputs are called '{}'", o.name()),
             "write {{\"edges\", edges}, {\"magnitude\", magnitude}}");
    }
    ir::Output out;
    out.name = o.name();
    std::vector<std::pair<std::string, ElementType>> members;
    std::string joined;
    if (o.views().empty() || (!o.fields().empty() && o.fields().size() != o.views().size()))
      fail(fmt::format("{} has {} names for {} planes", what, o.fields().size(), o.views().size()));
    for (std::size_t k = 0; k < o.views().size(); ++k) {
      const View& view = o.views()[k];
      same(builder_, view.builder);
      if (std::any_of(view.strides.begin(), view.strides.end(), [](i64 s) { return s != 1; }))
        fail(fmt::format("{} is a use of '{}' with a stride", what, g.stage(view.stage).name),
             "make it a stage: stage(name, image.every(...).at(...))");
      if (g.stage(view.stage).domain != g.stage(o.views()[0].stage).domain)
        fail(fmt::format("the planes of {} have different extents", what));
      out.stages.push_back(view.stage);
      if (o.fields().empty()) continue;
      check_name("a plane", o.fields()[k]);
      members.emplace_back(o.fields()[k], g.stage(view.stage).type);
      joined += o.fields()[k];
    }
    out.format = o.fields().empty() ? Format(g.stage(out.stages[0]).type) : Format::record(joined, std::move(members));
    g.outputs.push_back(std::move(out));
  }
  check_loops(*builder_, g);
  ir::verify(g);
  return engine::make_program(std::move(g), {});
}

}  // namespace tessera
