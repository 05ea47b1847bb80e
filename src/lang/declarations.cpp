// Names first, then values: functions may use parameters and tables that are declared below them.
//
// Parameters are resolved on demand, so that one may depend on another wherever it stands; a parameter of the program
// replaces one of the same name in an import. Tables are evaluated in order, in a graph of their own that is thrown
// away, through the same typed folding as any other expression.
#include "lang/declarations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "lang/functions.hpp"
#include "lang/given_values.hpp"
#include "lang/images/borders.hpp"
#include "lang/images/extents.hpp"
#include "lang/points/points.hpp"

namespace tessera::lang {
namespace {

constexpr i64 largest_table = 1 << 22;  // elements

[[noreturn]] void already_declared(Context& context, const Name& name, Span first) {
  context.report.fail(name.span, fmt::format("{} is declared already: expected a new name", base::quoted(name.text)),
                      {{fmt::format("the first is at {}", describe_place(first, name.span))}, {}});
}

// Runs one declaration; a fault in it leaves the others alone.
template <class F>
void guarded(F&& f) {
  try {
    f();
  } catch (const Failed&) {
  }
}

void declare_struct(Context& context, const StructDeclaration& s) {
  if (const auto [at, fresh] = context.declared.structs.try_emplace(s.name.text); !fresh)
    already_declared(context, s.name, at->second.name.span);
  StructType& type = context.declared.structs.at(s.name.text);
  type.name = s.name;
  std::vector<std::pair<std::string, ElementType>> fields;
  if (s.fields.size() > 64)
    context.report.error(s.name.span, fmt::format("struct {} has {} fields: expected at most 64",
                                                  base::quoted(s.name.text), s.fields.size()));
  for (const FunctionArgument& f : s.fields) {
    const bool twice = std::any_of(fields.begin(), fields.end(), [&](const auto& o) { return o.first == f.name.text; });
    if (twice) guarded([&] { already_declared(context, f.name, s.name.span); });
    const auto basic = find_type(f.type.text);
    if (!basic)
      context.report.error(f.type.span, fmt::format("the field {} is {}: expected a basic type such as float",
                                                    base::quoted(f.name.text), base::quoted(f.type.text)));
    ElementType field_type = basic.value_or(ElementType::f32);
    if (basic) context.resolve_type(f.type, field_type);
    fields.emplace_back(f.name.text, field_type);
  }
  type.format = Format::record(std::string(s.name.text), std::move(fields));
}

void declare_function(Context& context, const Function& f) {
  if (const auto [at, fresh] = context.declared.functions.try_emplace(f.name.text, &f); !fresh)
    already_declared(context, f.name, at->second->name.span);
  for (const FunctionArgument& a : f.arguments) {
    if (a.largest != nullptr && a.type.rank != 0)
      context.report.error(a.name.span,
                           fmt::format("{} is an image: expected a scalar where a largest value is declared",
                                       base::quoted(a.name.text)));
    for (const FunctionArgument& other : f.arguments) {
      if (&other == &a) break;
      if (other.name.text == a.name.text) guarded([&] { already_declared(context, a.name, other.name.span); });
    }
    if (f.kind == Function::scalar && a.type.rank != 0)
      context.report.error(
          a.type.span,
          fmt::format("{} is an image: the arguments of a function are scalars", base::quoted(a.name.text)),
          {{}, "write a stencil to read images"});
  }
}

// The place of the name of a parameter, table or input declared so far.
const Span* declared_value(const Context& context, std::string_view name) {
  if (const auto p = context.declared.parameters.find(name); p != context.declared.parameters.end())
    return &p->second.declaration->name.span;
  if (const auto t = context.declared.tables.find(name); t != context.declared.tables.end())
    return &t->second.declaration->name.span;
  return nullptr;
}

}  // namespace

void declare_names(Context& context, const Modules& modules) {
  for (const auto& m : modules)
    for (const StructDeclaration& s : m->structs) guarded([&] { declare_struct(context, s); });
  declare_complex(context.declared);
  for (const auto& m : modules)
    for (const Function& f : m->functions) guarded([&] { declare_function(context, f); });
  for (const auto& m : modules) {
    for (const ParameterDeclaration& p : m->parameters) {
      // One without a value belongs to the inputs of the imported program, or to a table that is given.
      const bool open = p.kind == ParameterDeclaration::number && p.value == nullptr;
      if (m != modules.back() && open && !measures_table(*m, p.name.text)) continue;
      guarded([&] {
        const Span* first = declared_value(context, p.name.text);
        const auto known = context.declared.parameters.find(p.name.text);
        const bool replaces = known != context.declared.parameters.end() && first->source != p.name.span.source;
        if (first != nullptr && !replaces) already_declared(context, p.name, *first);
        context.declared.parameters[p.name.text].declaration = &p;
      });
    }
  }
  for (const auto& m : modules) {
    for (const TableDeclaration& t : m->tables) {
      guarded([&] {
        if (const Span* first = declared_value(context, t.name.text)) already_declared(context, t.name, *first);
        context.declared.tables[t.name.text].declaration = &t;
      });
    }
  }
}

// ---- parameters ----------------------------------------------------------------------------------------------------

const Parameter& resolve_parameter(Context& context, Parameter& p) {
  const ParameterDeclaration& d = *p.declaration;
  if (p.state == Parameter::faulty) throw Failed{};
  if (p.state == Parameter::resolving) {
    p.state = Parameter::faulty;
    context.report.fail(d.name.span, fmt::format("parameter {} depends on itself", base::quoted(d.name.text)));
  }
  if (p.state != Parameter::unresolved || d.kind != ParameterDeclaration::number) return p;
  p.state = Parameter::resolving;
  try {
    if (!d.type.text.empty()) p.type = context.basic_type(d.type);
    ir::Graph scratch;
    Context inner(context.report, scratch, context.declared, context.limits);
    inner.tolerant = context.tolerant;
    inner.nesting = context.nesting;
    PointEvaluator evaluator(inner, PointEvaluator::constant);
    const Scalar s = evaluator.scalar(*d.value);
    if (!is_float(p.type) && is_float(s.type))
      context.report.fail(d.value->span,
                          fmt::format("parameter {} is {}, but its value is {}: expected an integer",
                                      base::quoted(d.name.text), name_of(p.type), name_of(s.type)),
                          {{}, fmt::format("write parameter float {} = ...;", d.name.text)});
    const auto value = ir::constant_value(scratch, evaluator.converted(s, p.type));
    p.value = value.value_or(0);
    p.state = Parameter::constant;
    context.steps += inner.steps;
  } catch (const Failed&) {
    p.state = Parameter::faulty;
    throw;
  }
  return p;
}

namespace {

// A value from outside, `-p name=value`, replaces the one in the text.
void set_from_outside(Context& context, Parameter& p, double value) {
  const ParameterDeclaration& d = *p.declaration;
  p.state = Parameter::faulty;
  if (!d.type.text.empty()) p.type = context.basic_type(d.type);
  const double converted = ir::evaluate(ir::Op::convert, p.type, ElementType::f64, &value);
  if (!is_float(p.type) && converted != value)
    context.report.fail(d.name.span, fmt::format("parameter {} is set to {}: expected a value of type {}",
                                                 base::quoted(d.name.text), value, name_of(p.type)));
  if (!std::isfinite(converted))
    context.report.fail(d.name.span, fmt::format("parameter {} is set to {}: expected a finite number",
                                                 base::quoted(d.name.text), value));
  p.value = converted;
  p.state = Parameter::constant;
}

}  // namespace

void resolve_parameters(Context& context, const Modules& modules, const std::map<std::string, double>& given) {
  auto& all = context.declared.parameters;
  for (const auto& [name, value] : given) {
    const auto found = all.find(name);
    if (found != all.end() && found->second.kind() != ParameterDeclaration::number) {
      context.report.error(
          found->second.declaration->name.span,
          fmt::format("parameter {} is set to {}: expected a {}", base::quoted(name), value,
                      found->second.kind() == ParameterDeclaration::border ? "boundary mode such as mirror"
                                                                           : "type such as float"));
      found->second.state = Parameter::faulty;
      continue;
    }
    if (found != all.end()) {
      guarded([&, v = value] { set_from_outside(context, found->second, v); });
      continue;
    }
    std::vector<std::string> names;
    for (const auto& [n, p] : all) names.emplace_back(n);
    Advice advice{{}, base::did_you_mean(name, names)};
    advice.notes.push_back(names.empty() ? "the program has no parameters"
                                         : "its parameters are " + base::list_of(names, "and"));
    if (!context.tolerant)
      context.report.error(Span::whole(*modules.back()->source),
                           fmt::format("the program has no parameter {} to set", base::quoted(name)),
                           std::move(advice));
  }
  const auto is_current = [&](const ParameterDeclaration& d) {
    const auto found = all.find(d.name.text);
    return found != all.end() && found->second.declaration == &d;
  };
  for (const auto& m : modules) {
    for (const ParameterDeclaration& d : m->parameters) {
      if (!is_current(d)) continue;
      Parameter& p = all.at(d.name.text);
      if (p.state != Parameter::unresolved || d.value != nullptr || d.kind != ParameterDeclaration::number) continue;
      guarded([&] {
        p.state = Parameter::faulty;
        if (!d.type.text.empty()) p.type = context.basic_type(d.type);
        if (p.type != ElementType::i32)
          context.report.fail(d.name.span,
                              fmt::format("parameter {} is {} and has no value: expected one",
                                          base::quoted(d.name.text), name_of(p.type)),
                              {{"parameters without a value are integers that the extents of inputs set"},
                               fmt::format("write parameter {} {} = 1;", name_of(p.type), d.name.text)});
        p.state = Parameter::run_time;
        p.index = static_cast<std::uint32_t>(context.graph.parameters.size());
        context.graph.parameters.emplace_back(d.name.text);
      });
    }
  }
  for (const auto& m : modules)
    for (const ParameterDeclaration& d : m->parameters)
      if (is_current(d) && d.value != nullptr) guarded([&] { resolve_parameter(context, all.at(d.name.text)); });
  for (const auto& m : modules)
    for (const ParameterDeclaration& d : m->parameters)
      if (is_current(d) && d.modes) guarded([&] { resolve_border(context, all.at(d.name.text)); });
}

// ---- tables --------------------------------------------------------------------------------------------------------

namespace {

// A throw-away graph with the tables that are known so far, renewed before it grows large.
class ConstantGraph {
 public:
  explicit ConstantGraph(Context& outer) : outer_(outer) { renew(); }
  ~ConstantGraph() { outer_.steps = inner_->steps; }
  ConstantGraph(const ConstantGraph&) = delete;
  ConstantGraph& operator=(const ConstantGraph&) = delete;

  PointEvaluator evaluator() {
    if (graph_->expr_count() > 100'000) renew();
    return PointEvaluator(*inner_, PointEvaluator::constant);
  }

 private:
  void renew() {
    const i64 steps = inner_ ? inner_->steps : outer_.steps;
    inner_.reset();
    graph_ = std::make_unique<ir::Graph>();
    graph_->tables = outer_.graph.tables;
    inner_ = std::make_unique<Context>(outer_.report, *graph_, outer_.declared, outer_.limits);
    inner_->tolerant = outer_.tolerant;
    inner_->steps = steps;
  }

  Context& outer_;
  std::unique_ptr<ir::Graph> graph_;
  std::unique_ptr<Context> inner_;
};

std::vector<i64> table_extents(Context& context, const TableDeclaration& t, PointEvaluator evaluator,
                               std::vector<i64>& first) {
  std::vector<i64> extents;
  i64 count = 1;
  for (const TableDeclaration::Dimension& d : t.dimensions) {
    i64 extent = 0;
    if (d.range) {
      first.push_back(evaluator.constant_integer(*d.range->lo, "the first index"));
      extent = evaluator.constant_integer(*d.range->hi, "the last index") - first.back() + 1;
    } else {
      first.push_back(0);
      extent = evaluator.constant_integer(*d.extent, "the extent");
    }
    if (extent < 1)
      context.report.fail(
          d.span, fmt::format("table {} has the extent {}: expected at least 1", base::quoted(t.name.text), extent));
    count = std::min(extent, largest_table + 1) * count;
    if (count > largest_table)
      context.report.fail(d.span, fmt::format("table {} has more than {} elements", base::quoted(t.name.text),
                                              base::format_count(largest_table)));
    extents.push_back(extent);
  }
  return extents;
}

void listed_values(Context& context, const TableDeclaration& t, ConstantGraph& constants, i64 count, ir::Table& table) {
  if (static_cast<i64>(t.values.size()) != count)
    context.report.fail(t.values_span,
                        fmt::format("table {} has {} element{}, but {} value{} given", base::quoted(t.name.text), count,
                                    count == 1 ? "" : "s", t.values.size(), t.values.size() == 1 ? " is" : "s are"));
  for (const Expr* e : t.values) {
    const double value = constants.evaluator().constant_scalar(*e, "the value");
    table.values.push_back(ir::evaluate(ir::Op::convert, table.type, ElementType::f64, &value));
    if (!is_float(table.type) && table.values.back() != value)
      context.report.fail(e->span, fmt::format("{} is no value of {}, the type of table {}", value, name_of(table.type),
                                               base::quoted(t.name.text)));
  }
}

void computed_values(Context& context, const TableDeclaration& t, ConstantGraph& constants,
                     const std::vector<i64>& first, ir::Table& table) {
  const std::size_t rank = table.extents.size();
  if (!std::all_of(t.dimensions.begin(), t.dimensions.end(), [](const auto& d) { return d.range.has_value(); }))
    context.report.fail(
        t.values_span, fmt::format("table {} has extents: expected '{{' and its values", base::quoted(t.name.text)),
        {{}, fmt::format("to compute it, name the index: table {} {}[k = -2..2] = ...;", t.type.text, t.name.text)});
  std::vector<i64> at(rank, 0);
  for (;;) {
    Locals locals;
    PointEvaluator evaluator = constants.evaluator();
    evaluator.set_locals(&locals);
    for (std::size_t d = 0; d < rank; ++d) {
      const Name& name = t.dimensions[d].range->name;
      const Scalar s = evaluator.integer(name.span, first[d] + at[d]);
      if (!locals.try_emplace(name.text, PointValue{nullptr, {s}}).second)
        context.report.fail(name.span, fmt::format("the index {} is used twice", base::quoted(name.text)));
    }
    const double value = evaluator.constant_as(*t.value, table.type, "the value");
    if (std::isnan(value))
      context.report.fail(t.values_span, fmt::format("table {} has no number at index {}: expected a defined value",
                                                     base::quoted(t.name.text), first[0] + at[0]));
    table.values.push_back(value);
    std::size_t d = rank;
    while (d > 0 && ++at[d - 1] == table.extents[d - 1]) at[--d] = 0;
    if (d == 0) return;
  }
}

void evaluate_table(Context& context, const TableDeclaration& t, const std::map<std::string, Array>& given) {
  ir::Table table;
  table.name = t.name.text;
  table.type = context.basic_type(t.type);
  if (t.dimensions.size() > 4)
    context.report.fail(t.name.span, fmt::format("table {} has {} dimensions: expected at most 4",
                                                 base::quoted(t.name.text), t.dimensions.size()));
  ConstantGraph constants(context);
  std::vector<i64> first;
  table.extents = table_extents(context, t, constants.evaluator(), first);
  if (t.given) {
    const auto found = given.find(std::string(t.name.text));
    if (found == given.end()) throw Failed{};  // said when extents were bound
    given_values(context, t, found->second, table);
  } else if (t.value == nullptr)
    listed_values(context, t, constants, element_count(table.extents), table);
  else
    computed_values(context, t, constants, first, table);
  context.graph.tables.push_back(std::move(table));
}

}  // namespace

void evaluate_tables(Context& context, const Modules& modules, const std::map<std::string, Array>& given) {
  for (const auto& m : modules) {
    for (const TableDeclaration& t : m->tables) {
      const auto found = context.declared.tables.find(t.name.text);
      if (found == context.declared.tables.end() || found->second.declaration != &t) continue;
      TableEntry& entry = found->second;
      entry.state = TableEntry::faulty;
      guarded([&] {
        evaluate_table(context, t, given);
        entry.index = static_cast<std::uint32_t>(context.graph.tables.size() - 1);
        entry.state = TableEntry::ready;
      });
    }
  }
}

// ---- inputs --------------------------------------------------------------------------------------------------------

namespace {

void declare_input(Context& context, const InputDeclaration& in, std::map<std::string, std::optional<Image>>& images,
                   std::map<std::string_view, std::optional<PointValue>>& scalars) {
  const std::string name(in.name.text);
  if (const Span* first = declared_value(context, in.name.text)) {
    images.insert_or_assign(name, std::nullopt);
    already_declared(context, in.name, *first);
  }
  ir::Argument a;
  a.name = name;
  a.span = locate(in.name.span);
  if (images.contains(name) || scalars.contains(in.name.text)) {
    for (const ir::Argument& other : context.graph.arguments)
      if (other.name == name)
        context.report.fail(in.name.span,
                            fmt::format("{} is declared already: expected a new name", base::quoted(name)),
                            {{fmt::format("the first is at line {}", other.span.line)}, {}});
    throw Failed{};
  }
  if (in.type.rank == 0) {
    scalars.insert_or_assign(in.name.text, std::nullopt);
    const ElementType type = context.basic_type(in.type);
    a.is_array = false;
    a.format = type;
    PointEvaluator evaluator(context, PointEvaluator::constant);
    if (in.largest != nullptr) a.largest = evaluator.largest(in.name, in.type, *in.largest);
    const std::optional<i64> largest = a.largest;
    context.graph.arguments.push_back(std::move(a));
    Scalar value{ir::scalar(context.graph, context.graph.arguments.size() - 1), type};
    if (largest) value = evaluator.confined(value, *largest);
    scalars.insert_or_assign(in.name.text, PointValue{nullptr, {value}});
    return;
  }
  images.insert_or_assign(name, std::nullopt);
  ElementType type = ElementType::f32;
  Image image;
  image.record = context.resolve_type(in.type, type);
  a.format = image.record != nullptr ? image.record->format : Format(type);
  if (in.extents.size() != static_cast<std::size_t>(in.type.rank))
    context.report.fail(
        in.name.span, fmt::format("{} is vector#{}, but has {} extent{}: expected {}", base::quoted(name), in.type.rank,
                                  in.extents.size(), in.extents.size() == 1 ? "" : "s", in.type.rank));
  ExtentEvaluator extents(context, nullptr);
  for (const Expr* e : in.extents) {
    const ir::SizeId size = extents.evaluate(*e);
    const auto constant = context.graph.constant(size);
    if (constant && *constant < 1)
      context.report.fail(e->span, fmt::format("the extent is {}: expected at least 1", *constant));
    a.extents.push_back(size);
  }
  extents.check_count(in.name.span, a.extents);
  const auto argument = static_cast<std::uint32_t>(context.graph.arguments.size());
  context.graph.arguments.push_back(a);
  const std::size_t parts = image.record != nullptr ? image.record->format.fields.size() : 1;
  for (std::size_t k = 0; k < parts; ++k) {
    ir::Stage s;
    s.kind = ir::StageKind::input;
    s.name = image.record != nullptr ? name + "." + image.record->format.fields[k].name : name;
    s.type = image.record != nullptr ? image.record->format.fields[k].type : type;
    s.domain = a.extents;
    s.span = a.span;
    s.argument = argument;
    s.field = static_cast<std::uint32_t>(k);
    image.stages.push_back(context.graph.add(std::move(s)));
  }
  images.insert_or_assign(name, std::move(image));
}

}  // namespace

void declare_inputs(Context& context, const Module& program, std::map<std::string, std::optional<Image>>& images,
                    std::map<std::string_view, std::optional<PointValue>>& scalars) {
  for (const InputDeclaration& in : program.inputs) guarded([&] { declare_input(context, in, images, scalars); });
}

}  // namespace tessera::lang
