// Modes are words of the language or the names of border parameters, which are resolved when they are first asked for.
#include "lang/images/borders.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/text.hpp"
#include "data/border.hpp"
#include "ir/build.hpp"
#include "lang/functions.hpp"

namespace tessera::lang {
namespace {

[[noreturn]] void unknown_mode(Context& context, const Name& name) {
  std::vector<std::string> words = mode_words();
  const std::string_view ours = mode_synonym(name.text);
  std::string known = "the modes are " + base::list_of(words, "and");
  for (const auto& [other, p] : context.declared.parameters)
    if (p.kind() == ParameterDeclaration::border) words.emplace_back(other);
  context.unknown(
      name.span, name.text, fmt::format("unknown boundary mode {}", base::quoted(name.text)),
      {{std::move(known)}, ours.empty() ? base::did_you_mean(name.text, words) : fmt::format("write {}", ours)});
}

Border evaluate_mode(Context& context, const Mode& m, BorderMode mode, const PrepareEvaluator& prepare) {
  if ((mode == BorderMode::constant) != (m.value != nullptr))
    context.report.fail(m.name.span, mode == BorderMode::constant
                                         ? "'constant' needs its value: expected constant(0)"
                                         : fmt::format("mode {} takes no value", base::quoted(m.name.text)));
  Border b{mode, 0};
  if (m.value != nullptr) {
    PointEvaluator evaluator(context);
    if (prepare) prepare(evaluator);
    b.value = evaluator.constant_scalar(*m.value, "the value of the boundary");
  }
  return b;
}

}  // namespace

std::vector<Border> evaluate_modes(Context& context, const Modes& modes, const PrepareEvaluator& prepare) {
  std::vector<Border> all;
  for (const Mode& m : modes.items) {
    if (const std::optional<BorderMode> mode = find_mode(m.name.text)) {
      all.push_back(evaluate_mode(context, m, *mode, prepare));
      continue;
    }
    const auto found = context.declared.parameters.find(m.name.text);
    if (found == context.declared.parameters.end() || found->second.kind() != ParameterDeclaration::border)
      unknown_mode(context, m.name);
    if (m.value != nullptr)
      context.report.fail(m.name.span, fmt::format("parameter {} takes no value here", base::quoted(m.name.text)));
    const std::vector<Border>& held = resolve_border(context, found->second);
    if (modes.per_dimension && held.size() != 1)
      context.report.fail(m.name.span, fmt::format("parameter {} holds {} modes: expected one, in a list of modes",
                                                   base::quoted(m.name.text), held.size()));
    all.insert(all.end(), held.begin(), held.end());
  }
  return all;
}

const std::vector<Border>& resolve_border(Context& context, Parameter& p) {
  if (p.state == Parameter::constant) return p.borders;
  if (p.state == Parameter::faulty) throw Failed{};
  const ParameterDeclaration& d = *p.declaration;
  if (p.state == Parameter::resolving) {
    p.state = Parameter::faulty;
    context.report.fail(d.name.span, fmt::format("parameter {} depends on itself", base::quoted(d.name.text)));
  }
  p.state = Parameter::resolving;
  try {
    ir::Graph scratch;
    Context inner(context.report, scratch, context.declared, context.limits);
    inner.tolerant = context.tolerant;
    inner.nesting = context.nesting;
    inner.steps = context.steps;
    const Nested nested(inner, d.name.span);
    p.borders = evaluate_modes(inner, *d.modes, {});
    context.steps = inner.steps;
    if (p.borders.size() > 4)
      context.report.fail(d.modes->span, fmt::format("parameter {} holds {} modes: expected at most 4",
                                                     base::quoted(d.name.text), p.borders.size()));
    p.state = Parameter::constant;
  } catch (const Failed&) {
    p.state = Parameter::faulty;
    throw;
  }
  return p.borders;
}

Border border_of(Context& context, Span at, Border b, ElementType type, std::string_view name) {
  if (b.mode != BorderMode::constant) return b;
  if (!continues(type, b.value))
    context.report.fail(at,
                        fmt::format("the boundary mode constant({}) is no {} of {}, the type of {}: {}", b.value,
                                    is_float(type) ? "finite number" : "value", name_of(type), base::quoted(name),
                                    expected_constant(type)),
                        {{},
                         type == ElementType::f64 ? ""
                         : is_float(type)         ? "convert the image to double before"
                                          : "convert the image before, by a stencil that returns cast<float>(X)"});
  b.value = ir::evaluate(ir::Op::convert, type, ElementType::f64, &b.value);
  return b;
}

}  // namespace tessera::lang
