// Values from outside are values of a user: whatever they are, the answer is an error of the program that names the
// declaration they were meant for.
//
// An array has a rank; where a table has more dimensions, leading ones of extent 1 are added, and dropped where it has
// fewer. So one declaration of rank 4 takes weights of any rank.
#include "lang/given_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "data/element.hpp"
#include "lang/functions.hpp"

namespace tessera::lang {
namespace {

// The extents as a table of this rank has them; nothing when they do not fit.
std::optional<Shape> as_rank(Shape shape, std::size_t rank) {
  while (shape.size() > rank && shape[0] == 1) shape.erase(shape.begin());
  if (shape.size() > rank) return std::nullopt;
  shape.insert(shape.begin(), rank - shape.size(), 1);
  return shape;
}

// The parameter that an extent is, when it is nothing else and has no value.
Parameter* open_extent(Context& context, const TableDeclaration::Dimension& d) {
  if (d.extent == nullptr || d.extent->kind != ExprKind::name) return nullptr;
  const auto found = context.declared.parameters.find(d.extent->name.text);
  if (found == context.declared.parameters.end()) return nullptr;
  const ParameterDeclaration& p = *found->second.declaration;
  return p.kind == ParameterDeclaration::number && p.value == nullptr ? &found->second : nullptr;
}

std::vector<std::string> open_tables(const Modules& modules) {
  std::vector<std::string> names;
  for (const auto& m : modules)
    for (const TableDeclaration& t : m->tables)
      if (t.given) names.emplace_back(t.name.text);
  return names;
}

const Array& array_for(Context& context, const TableDeclaration& t, const std::map<std::string, Array>& given) {
  const auto found = given.find(std::string(t.name.text));
  if (found == given.end())
    context.report.fail(t.name.span,
                        fmt::format("table {} has no values: expected them from outside", base::quoted(t.name.text)),
                        {{},
                         fmt::format("add --table {}=FILE, or give it values: table {} {}[3] = {{1, 2, 1}};",
                                     t.name.text, t.type.text, t.name.text)});
  const Array& a = found->second;
  if (a.format().is_struct())
    context.report.fail(t.name.span, fmt::format("table {} is given elements of {}: expected numbers",
                                                 base::quoted(t.name.text), a.format().name()));
  if (a.empty() || std::find(a.shape().begin(), a.shape().end(), 0) != a.shape().end())
    context.report.fail(
        t.name.span, fmt::format("table {} is given an empty array{}: expected at least one element",
                                 base::quoted(t.name.text), a.rank() == 0 ? "" : " of shape " + to_string(a.shape())));
  return a;
}

void bind_extents(Context& context, const TableDeclaration& t, const Array& a) {
  const std::optional<Shape> shape = as_rank(a.shape(), t.dimensions.size());
  if (!shape)
    context.report.fail(t.name.span, fmt::format("table {} has {} dimension{}, but an array of shape {} is given",
                                                 base::quoted(t.name.text), t.dimensions.size(),
                                                 t.dimensions.size() == 1 ? "" : "s", to_string(a.shape())));
  for (std::size_t d = 0; d < shape->size(); ++d) {
    Parameter* p = open_extent(context, t.dimensions[d]);
    if (p == nullptr) continue;
    const double extent = static_cast<double>((*shape)[d]);
    if (p->state == Parameter::constant && p->value != extent)
      context.report.fail(
          t.dimensions[d].span,
          fmt::format("{} is {} already, but table {} is given the extent {} there",
                      base::quoted(p->declaration->name.text), p->value, base::quoted(t.name.text), (*shape)[d]));
    if (p->state != Parameter::unresolved) continue;
    p->state = Parameter::constant;
    p->value = extent;
  }
}

}  // namespace

bool measures_table(const Module& m, std::string_view parameter) {
  return std::any_of(m.tables.begin(), m.tables.end(), [&](const TableDeclaration& t) {
    return t.given && std::any_of(t.dimensions.begin(), t.dimensions.end(), [&](const auto& d) {
             return d.extent != nullptr && d.extent->kind == ExprKind::name && d.extent->name.text == parameter;
           });
  });
}

void bind_given_tables(Context& context, const Modules& modules, const std::map<std::string, Array>& given) {
  const std::vector<std::string> names = open_tables(modules);
  for (const auto& [name, array] : given) {
    if (context.tolerant || std::find(names.begin(), names.end(), name) != names.end()) continue;
    context.report.error(
        Span::whole(*modules.back()->source),
        fmt::format("the program has no table {} without values", base::quoted(name)),
        {{names.empty() ? "all of its tables have values" : "those without are " + base::list_of(names, "and")},
         base::did_you_mean(name, names)});
  }
  for (const auto& m : modules) {
    for (const TableDeclaration& t : m->tables) {
      if (!t.given) continue;
      try {
        bind_extents(context, t, array_for(context, t, given));
      } catch (const Failed&) {
        for (const auto& d : t.dimensions)
          if (Parameter* p = open_extent(context, d)) p->state = Parameter::faulty;
      }
    }
  }
}

void given_values(Context& context, const TableDeclaration& t, const Array& given, ir::Table& table) {
  const std::optional<Shape> shape = as_rank(given.shape(), table.extents.size());
  if (!shape) throw Failed{};  // said when extents were bound
  for (std::size_t d = 0; d < table.extents.size(); ++d)
    if ((*shape)[d] != table.extents[d])
      context.report.fail(t.dimensions[d].span,
                          fmt::format("table {} has the extent {} in dimension {}, but an array of shape {} is given",
                                      base::quoted(t.name.text), table.extents[d], d, to_string(given.shape())));
  const Array host = given.to_host();
  const Array dense = host.contiguous() ? host : host.clone();
  const i64 count = dense.count();
  const ElementType type = dense.format().scalar;
  const auto* bytes = static_cast<const std::byte*>(dense.data());
  table.values.reserve(static_cast<std::size_t>(count));
  for (i64 i = 0; i < count; ++i) {
    const double value = load_element(type, bytes + static_cast<std::size_t>(i) * size_of(type));
    const double converted = ir::evaluate(ir::Op::convert, table.type, ElementType::f64, &value);
    if (!std::isfinite(converted))
      context.report.fail(t.name.span, fmt::format("table {} is given {} as element {}: expected finite numbers of {}",
                                                   base::quoted(t.name.text), value, i, name_of(table.type)));
    if (!is_float(table.type) && converted != value)
      context.report.fail(t.name.span, fmt::format("table {} is given {} as element {}, which is no value of {}",
                                                   base::quoted(t.name.text), value, i, name_of(table.type)));
    table.values.push_back(converted);
  }
}

namespace {

// The parameter of that name and kind, or an error that says which there are.
Parameter* parameter_to_set(Context& context, const Modules& modules, const std::string& name,
                            ParameterDeclaration::Kind kind, const char* what) {
  auto& all = context.declared.parameters;
  const auto found = all.find(name);
  if (found != all.end() && found->second.kind() == kind) return &found->second;
  if (found != all.end()) {
    const bool number = found->second.kind() == ParameterDeclaration::number;
    context.report.error(found->second.declaration->name.span,
                         fmt::format("parameter {} is set to a {}: expected a {}", base::quoted(name), what,
                                     number                                                 ? "number"
                                     : found->second.kind() == ParameterDeclaration::border ? "boundary mode"
                                                                                            : "type"));
    found->second.state = Parameter::faulty;
    return nullptr;
  }
  if (context.tolerant) return nullptr;
  std::vector<std::string> names;
  for (const auto& [n, p] : all)
    if (p.kind() == kind) names.emplace_back(n);
  context.report.error(Span::whole(*modules.back()->source),
                       fmt::format("the program has no parameter {} that is a {}", base::quoted(name), what),
                       {{names.empty() ? fmt::format("none of its parameters is a {}", what)
                                       : "those are " + base::list_of(names, "and")},
                        base::did_you_mean(name, names)});
  return nullptr;
}

}  // namespace

void set_borders_and_types(Context& context, const Modules& modules, const CompileInput& input) {
  for (const auto& [name, borders] : input.borders) {
    Parameter* p = parameter_to_set(context, modules, name, ParameterDeclaration::border, "boundary mode");
    if (p == nullptr) continue;
    const bool finite =
        std::all_of(borders.begin(), borders.end(), [](const Border& b) { return std::isfinite(b.value); });
    p->state = Parameter::constant;
    p->borders = borders;
    if (!borders.empty() && borders.size() <= 4 && finite) continue;
    p->state = Parameter::faulty;
    context.report.error(
        p->declaration->name.span,
        finite ? fmt::format("parameter {} is set to {} modes: expected 1 to 4", base::quoted(name), borders.size())
               : fmt::format("parameter {} is set to a mode whose value is not finite", base::quoted(name)));
  }
  for (const auto& [name, type] : input.types)
    if (Parameter* p = parameter_to_set(context, modules, name, ParameterDeclaration::type_choice, "type")) {
      p->state = Parameter::constant;
      p->type = type;
    }
  for (auto& [name, p] : context.declared.parameters) {
    if (p.kind() != ParameterDeclaration::type_choice || p.state != Parameter::unresolved) continue;
    const TypeName& choice = p.declaration->choice;
    p.state = Parameter::faulty;
    const auto type = find_type(choice.text);
    if (!type) {
      context.report.error(choice.span,
                           fmt::format("parameter {} is the type {}: expected a basic type such as float",
                                       base::quoted(name), base::quoted(choice.text)),
                           {{}, base::did_you_mean(choice.text, type_words())});
      continue;
    }
    p.type = *type;
    p.state = Parameter::constant;
  }
}

}  // namespace tessera::lang
