// Budgets, types and the words for them.
#include "lang/context.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "lang/functions.hpp"

namespace tessera::lang {
namespace {

constexpr int max_nesting = 600;
constexpr std::uint32_t max_expression_depth = 20'000;

}  // namespace

void Context::step(Span at) {
  if (++steps <= limits.steps) return;
  report.error(at, fmt::format("the program unrolls to more than {} steps", base::format_count(limits.steps)),
               {{"loops, vector functions and tables are expanded at compile time"}, {}});
  throw Stop{};
}

void Context::check_growth(Span at, ir::ExprId e) {
  const std::size_t count = graph.expr_count();
  if (count > static_cast<std::size_t>(limits.expressions)) {
    report.error(at,
                 fmt::format("the program unrolls to more than {} operations", base::format_count(limits.expressions)),
                 {{"loops, stencil calls and functions are expanded at compile time"}, {}});
    throw Stop{};
  }
  while (depth_.size() < count) {
    std::uint32_t depth = 0;
    for (ir::ExprId a : graph.node(ir::ExprId{static_cast<std::uint32_t>(depth_.size())}).args)
      depth = std::max(depth, depth_[a.id]);
    depth_.push_back(depth + 1);
  }
  if (depth_[e.id] > max_expression_depth) {
    report.error(at,
                 fmt::format("one expression chains more than {} operations", base::format_count(max_expression_depth)),
                 {{}, "write a window reduction such as sum(i = -r..r) ( ... ), or split the stencil"});
    throw Stop{};
  }
}

std::uint32_t Context::size_terms(ir::SizeId size) {
  constexpr std::uint32_t many = 1 << 20;
  while (terms_.size() < graph.size_count()) {
    const ir::SizeNode& n = graph.node(ir::SizeId{static_cast<std::uint32_t>(terms_.size())});
    const bool leaf = n.op == ir::SizeOp::constant || n.op == ir::SizeOp::parameter;
    const std::uint32_t below = leaf ? 0 : terms_[n.a.id] + (n.op == ir::SizeOp::floor_div ? 0 : terms_[n.b.id]);
    terms_.push_back(std::min(below + 1, many));
  }
  return terms_[size.id];
}

void Context::unknown(Span at, std::string_view name, std::string message, Advice advice) {
  if (tolerant || declared.lost.contains(name)) throw Failed{};
  report.fail(at, std::move(message), std::move(advice));
}

void Context::require(Span at, ir::Requirement r, const Advice& advice) {
  if (lenient || r.a == r.b || (r.at_most && ir::at_most(graph, r.a, r.b))) return;
  const auto a = graph.constant(r.a), b = graph.constant(r.b);
  if (a && b) {
    if (r.at_most ? *a <= *b : *a == *b) return;
    report.fail(at, fmt::format("{}: here {} and {}", r.what, *a, *b), advice);
  }
  const SourceSpan place = locate(at);
  r.what = fmt::format("{}:{}:{}: {}", place.file, place.line, place.column, r.what);
  if (std::find(graph.requirements.begin(), graph.requirements.end(), r) == graph.requirements.end())
    graph.requirements.push_back(std::move(r));
}

void Context::not_constant(Span at, std::string message, Advice advice) {
  if (lenient) throw Failed{};
  report.fail(at, std::move(message), std::move(advice));
}

ElementType Context::basic_type(const TypeName& t) {
  ElementType type = ElementType::f32;
  if (resolve_type(t, type) != nullptr)
    report.fail(t.span, fmt::format("expected a basic type such as float, found struct {}", base::quoted(t.text)));
  return type;
}

const StructType* Context::resolve_type(const TypeName& t, ElementType& type) {
  if (const auto basic = find_type(t.text)) {
    type = *basic;
    if (t.text == "int8" && !declared.warned_int8) {
      declared.warned_int8 = true;
      report.warning(t.span, "int8 is an unsigned type here, 0 to 255", {{}, "write uint8, which means the same"});
    }
    return nullptr;
  }
  const auto parameter = declared.parameters.find(t.text);
  if (parameter != declared.parameters.end() && parameter->second.kind() == ParameterDeclaration::type_choice) {
    if (parameter->second.state == Parameter::faulty) throw Failed{};
    type = parameter->second.type;
    return nullptr;
  }
  const auto found = declared.structs.find(t.text);
  if (found == declared.structs.end()) {
    std::vector<std::string> words = type_words();
    for (const auto& [name, s] : declared.structs) words.emplace_back(name);
    unknown(t.span, t.text, fmt::format("unknown type {}", base::quoted(t.text)),
            {{"the basic types are " + base::list_of(type_words(), "and")}, base::did_you_mean(t.text, words)});
  }
  return &found->second;
}

const Function* Context::find_function(std::string_view name) const {
  const auto found = declared.functions.find(name);
  return found == declared.functions.end() ? nullptr : found->second;
}

Nested::Nested(Context& context, Span at) : context_(context) {
  if (++context_.nesting <= max_nesting) return;
  context_.nesting = 0;
  context_.report.error(at, fmt::format("expressions and calls are nested more than {} levels deep", max_nesting),
                        {{}, "name inner parts in statements of their own"});
  throw Stop{};
}

ActiveCall::ActiveCall(Context& context, const Function& f, Span at) : context_(context) {
  const auto first = std::find(context.active.begin(), context.active.end(), &f);
  if (first != context.active.end() || context.declared.recursive.contains(&f)) {
    if (first == context.active.end()) throw Failed{};
    const bool known = context.declared.recursive.contains(&f);
    context.declared.recursive.insert(first, context.active.end());
    if (known) throw Failed{};
    std::string cycle;
    for (auto i = first; i != context.active.end(); ++i) cycle += std::string((*i)->name.text) + " -> ";
    context.report.fail(at, fmt::format("{} calls itself: {}{}", base::quoted(f.name.text), cycle, f.name.text),
                        {{"functions are expanded where they are called, so recursion has no end"},
                         "write a static loop: for i = lo..hi ... endfor"});
  }
  context.active.push_back(&f);
}

std::string quoted_list(const std::vector<std::string>& names) {
  std::vector<std::string> all;
  for (const std::string& n : names) all.push_back(base::quoted(n));
  return base::list_of(all);
}

std::string describe(const StructType* record, ElementType type) {
  return record != nullptr ? "struct " + std::string(record->name.text) : std::string(name_of(type));
}

}  // namespace tessera::lang
