// Loops with a test. The body is evaluated once, on stand-ins for the versions before: carried stages of the graph,
// made when a version before is first read. What the body computes as u<t> is what they become; after the loop it is
// u<hi>, the version of the last iteration that ran, as in a loop that runs to its end.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "ir/reductions.hpp"
#include "lang/images/images.hpp"

namespace tessera::lang {

namespace {

constexpr i64 most_before = 16;  // versions that are kept

bool mentions(const Expr& e, std::string_view name) {
  const Expr* left = &e;
  for (; left->kind == ExprKind::binary; left = left->args[0])
    if (mentions(*left->args[1], name)) return true;
  if (left->kind == ExprKind::name) return left->name.text == name;
  const auto holds = [&](const Expr* part) { return mentions(*part, name); };
  return std::any_of(left->args.begin(), left->args.end(), holds) ||
         std::any_of(left->arguments.begin(), left->arguments.end(),
                     [&](const CallArgument& a) { return holds(a.value); });
}

}  // namespace

std::string TestLoop::spelled(std::string_view name, i64 before) const {
  if (before == 0) return fmt::format("{}<{}>", name, variable);
  return fmt::format("{}<{}{:+}>", name, variable, -before * step());
}

// How many versions before the one of this iteration; nothing where the loop's variable does not stand in it.
std::optional<i64> ImageEvaluator::versions_before(const std::vector<const Expr*>& versions) {
  if (versions.size() != 1 || !mentions(*versions[0], loop_->variable)) return std::nullopt;
  const Expr& version = *versions[0];
  i64 sum = 0;
  const Expr* at = &version;
  while (at->kind == ExprKind::binary && (at->name.text == "+" || at->name.text == "-")) {
    const bool right = at->name.text == "+" && mentions(*at->args[1], loop_->variable);
    const i64 value = extents_.constant(*at->args[right ? 0 : 1], "the distance of versions");
    sum += at->name.text == "-" ? -value : value;
    at = at->args[right ? 1 : 0];
  }
  if (at->kind != ExprKind::name)
    context_.report.fail(version.span,
                         fmt::format("the version {} is not known before the program runs: expected {} or a constant "
                                     "distance from it",
                                     base::quoted(version.span.text(), 40), base::quoted(loop_->variable)),
                         {{}, fmt::format("write u<{0}> or u<{0}-1>", loop_->variable)});
  return -sum * loop_->step();
}

// What a body may give a value: versions of this iteration, and names and versions of its own.
void ImageEvaluator::check_assignment(const Statement& s, const std::string& key) {
  if (s.version.empty()) {
    if (!loop_->outer.contains(key)) return;
    context_.report.fail(
        s.name.span,
        fmt::format("{} has a value before the loop: expected a version or another name", base::quoted(key)),
        {{"names that are no versions belong to one iteration"},
         fmt::format("write {0}<{1}> = ... of {2}, and {0} before the loop as {0}<{3}>", key, loop_->variable,
                     loop_->spelled(key, 1), loop_->lo - loop_->step())});
  }
  const std::optional<i64> before = versions_before(s.version);
  if (!before) return;
  const std::string name(s.name.text);
  if (*before != 0)
    context_.report.fail(s.name.span, fmt::format("{} is no version of this iteration: expected {}", base::quoted(key),
                                                  base::quoted(loop_->spelled(name, 0))));
  for (const auto& [other, image] : loop_->outer) {
    if (!other.starts_with(name + "<")) continue;
    const std::optional<i64> number =
        base::parse_integer(other.substr(name.size() + 1, other.size() - name.size() - 2));
    if (number && *number >= std::min(loop_->lo, loop_->hi) && *number <= std::max(loop_->lo, loop_->hi))
      context_.report.fail(s.name.span,
                           fmt::format("{} already has a value, and the loop computes {} for {} = {}..{}",
                                       base::quoted(other), base::quoted(key), loop_->variable, loop_->lo, loop_->hi));
  }
  loop_->computed.try_emplace(name, s.name.span);
}

// u<t-1>, or u<t> where it has been computed.
Image ImageEvaluator::carried_image(const Expr& e, i64 before) {
  const std::string name(e.name.text), key = loop_->spelled(name, before);
  const auto known = scope_.images.find(key);
  if (known != scope_.images.end()) {
    if (!known->second) throw Failed{};
    return *known->second;
  }
  if (before <= 0)
    context_.unknown(e.span, e.name.text, fmt::format("{} is not computed yet", base::quoted(key)),
                     {{fmt::format("an iteration reads versions before its own, as {}, and what it computed above",
                                   base::quoted(loop_->spelled(name, 1)))},
                      {}});
  if (before > most_before)
    context_.report.fail(e.span, fmt::format("{} is {} versions before this one: expected {} at most",
                                             base::quoted(key), before, most_before));
  loop_->read.try_emplace(name, e.span);
  std::vector<Image>& versions = loop_->carried[name];
  while (static_cast<i64>(versions.size()) < before) {
    const i64 number = static_cast<i64>(versions.size()) + 1;
    const std::string first = fmt::format("{}<{}>", name, loop_->lo - number * loop_->step());
    const auto found = loop_->outer.find(first);
    if (found != loop_->outer.end() && !found->second) throw Failed{};
    if (found == loop_->outer.end())
      context_.unknown(e.span, e.name.text,
                       fmt::format("{} has no value before the loop: {} of the first iteration is it",
                                   base::quoted(first), base::quoted(loop_->spelled(name, number))),
                       {{}, fmt::format("write {} = ...; before the loop", first)});
    const Image& of = *found->second;
    if (!of.borders.empty())
      context_.report.fail(
          e.span, fmt::format("{} comes with a boundary mode, which later versions do not have", base::quoted(first)),
          {{}, "give the modes to the calls in the loop"});
    if (!versions.empty()) check_next(first, versions.front());
    Image image{of.record, {}, {}, of.scalar, of.position};
    for (const ir::StageId s : of.stages) {
      ir::Stage stage;
      stage.kind = ir::StageKind::carried;
      stage.name = loop_->spelled(name, number);
      if (of.record != nullptr) stage.name += "." + of.record->format.fields[image.stages.size()].name;
      stage.type = graph_.stage(s).type;
      stage.domain = graph_.stage(s).domain;
      stage.loop = loop_->index;
      stage.of = s;
      image.stages.push_back(add(std::move(stage), e.span));
    }
    scope_.images.insert_or_assign(loop_->spelled(name, number), image);
    versions.push_back(std::move(image));
  }
  return versions[static_cast<std::size_t>(before - 1)];
}

// A version has the type and the extents of those before; `first` names one of them.
void ImageEvaluator::check_next(const std::string& first, const Image& next) {
  // Of a version before the loop that could not be computed, or that there is none, an error has been told.
  const auto begins = loop_->outer.find(first);
  if (begins == loop_->outer.end() || !begins->second) throw Failed{};
  const Image& of = *begins->second;
  const std::string name = first.substr(0, first.find('<')), key = loop_->spelled(name, 0);
  const auto at = loop_->computed.contains(name) ? loop_->computed.at(name) : loop_->read.at(name);
  const ir::Stage &a = graph_.stage(of.stages[0]), &b = graph_.stage(next.stages[0]);
  if (of.record != next.record || a.type != b.type || of.scalar != next.scalar || of.position != next.position)
    context_.report.fail(
        at,
        fmt::format("{} is {}, but {} is {}: expected one type for all versions", base::quoted(key),
                    next.scalar ? "a scalar " + describe(next.record, b.type) : describe_image(next),
                    base::quoted(first), of.scalar ? "a scalar " + describe(of.record, a.type) : describe_image(of)),
        {{},
         of.record == nullptr && next.record == nullptr
             ? fmt::format("convert it, as in cast<{}>(...)", name_of(a.type))
             : ""});
  if (a.domain == b.domain) return;
  const auto extents = [&](const Domain& domain) {
    std::string text;
    for (const ir::SizeId n : domain) text += (text.empty() ? "" : " x ") + graph_.to_string(n);
    return text;
  };
  context_.report.fail(at, fmt::format("{} is {}, but {} is {}: expected the same extents", base::quoted(key),
                                       extents(b.domain), base::quoted(first), extents(a.domain)));
}

// The loop's variable as a number of the running program. Made a carried stage at the end if anything reads it.
ir::StageId ImageEvaluator::counter(const Statement& s, const TestLoop& loop) {
  PointEvaluator evaluator(context_);
  ir::Stage stage;
  stage.name = loop.variable;
  stage.type = ElementType::i32;
  stage.domain = {graph_.size(1)};
  stage.margin_lo = stage.margin_hi = {0};
  stage.body = evaluator.integer(s.range.name.span, loop.lo).e;
  add(stage, s.range.name.span);
  return add(std::move(stage), s.range.name.span);
}

void ImageEvaluator::run_test_loop(const Statement& s) {
  if (s.range.lo == nullptr) {
    context_.tolerant = true;
    return;
  }
  TestLoop loop;
  loop.variable = s.range.name.text;
  loop.index = static_cast<std::uint32_t>(graph_.loops.size());
  try {
    if (context_.in_test_loop)
      context_.report.fail(s.span, "a loop with a test stands in another one: expected a loop with fixed bounds",
                           {{"what one iteration does is fixed before the program runs"},
                            "write for i = lo..hi ... endfor inside, or put the loops one after the other"});
    if (scope_.scalars.contains(loop.variable) || scope_.images.contains(std::string(loop.variable)) ||
        context_.declared.parameters.contains(loop.variable))
      context_.report.fail(s.range.name.span, fmt::format("{} has a meaning already: expected a new loop variable",
                                                          base::quoted(loop.variable)));
    loop.lo = extents_.constant(*s.range.lo, "the lower bound");
    loop.hi = extents_.constant(*s.range.hi, "the upper bound");
    put_all_together();
    loop.outer = scope_.images;
    const Nested nested(context_, s.span);
    run_body(s, loop);
  } catch (const Failed&) {
    context_.tolerant = true;
  }
}

void ImageEvaluator::run_body(const Statement& s, TestLoop& loop) {
  // What is put together outside goes on behind the loop; what is inside belongs to an iteration.
  const auto collected = std::exchange(scope_.collected, {});
  const auto unread = std::exchange(scope_.unread, {});
  const auto leave = [&] {
    scope_.collected = collected;
    scope_.unread = unread;
    loop_ = nullptr;
    context_.in_test_loop = false;
    scope_.scalars.erase(loop.variable);
  };
  const ir::StageId number = counter(s, loop);
  loop_ = &loop;
  context_.in_test_loop = true;
  const ir::ExprId value = ir::value(graph_, number);
  scope_.scalars.insert_or_assign(loop.variable, PointValue{nullptr, {{value, ElementType::i32}}});
  try {
    const int errors = context_.report.errors();
    for (const Statement* inner : s.body) run(*inner);
    if (context_.report.errors() != errors) throw Failed{};
    end_loop(s, loop, number);
  } catch (const Failed&) {
    // Versions are there all the same, so that no second error follows.
    scope_.images = loop.outer;
    for (const auto& [name, where] : loop.computed)
      scope_.images.insert_or_assign(fmt::format("{}<{}>", name, loop.hi), std::nullopt);
    leave();
    throw;
  }
  leave();
}

// A stage that the body computes; a copy of what it only hands on.
ir::StageId ImageEvaluator::computed(ir::StageId s) {
  const ir::Stage& of = graph_.stage(s);
  if (of.kind != ir::StageKind::carried) return s;
  const std::size_t rank = of.domain.size();
  ir::Stage stage;
  stage.name = of.name + " again";
  stage.type = of.type;
  stage.domain = of.domain;
  stage.span = of.span;
  stage.margin_lo.assign(rank, 0);
  stage.margin_hi.assign(rank, 0);
  stage.body = ir::access(graph_, s, std::vector<ir::Index>(rank), std::vector<Border>(rank));
  return graph_.add(std::move(stage));
}

Image ImageEvaluator::last_of(const Image& image, std::string_view name, const TestLoop& loop, Span at) {
  Image out = image;
  for (std::size_t k = 0; k < out.stages.size(); ++k) {
    ir::Stage stage;
    stage.kind = ir::StageKind::last;
    stage.name = fmt::format("{}<{}>", name, loop.hi);
    if (out.record != nullptr) stage.name += "." + out.record->format.fields[k].name;
    stage.type = graph_.stage(image.stages[k]).type;
    stage.domain = graph_.stage(image.stages[k]).domain;
    stage.loop = loop.index;
    stage.of = image.stages[k];
    out.stages[k] = add(std::move(stage), at);
  }
  return out;
}

// The test, what every carried image becomes, and what is left of the loop.
void ImageEvaluator::end_loop(const Statement& s, const TestLoop& loop, ir::StageId number) {
  ir::Loop made;
  made.name = loop.variable;
  made.most = loop.most();
  made.span = locate(s.range.name.span);
  PointEvaluator evaluator(context_);
  prepare(evaluator);
  const Scalar test = evaluator.scalar(*s.value);
  made.test =
      add_point("while", ElementType::boolean, {graph_.size(1)}, ir::truth(graph_, test.e), {0}, {0}, s.value->span);
  std::map<std::string, Image> ends;
  for (const auto& [name, where] : loop.computed) {
    const auto image = scope_.images.find(loop.spelled(name, 0));
    if (image == scope_.images.end() || !image->second) throw Failed{};
    Image& end = ends[name] = *image->second;
    for (ir::StageId& stage : end.stages) stage = computed(stage);
  }
  for (const auto& [name, versions] : loop.carried) {
    if (!loop.computed.contains(name))
      context_.report.fail(
          loop.read.at(name),
          fmt::format("the loop reads {}, but computes no {}", base::quoted(loop.spelled(name, 1)),
                      base::quoted(loop.spelled(name, 0))),
          {{}, fmt::format("write {}<{}> for the version before the loop", name, loop.lo - loop.step())});
    if (versions.empty()) throw Failed{};  // the first one was read, and was not there
    check_next(fmt::format("{}<{}>", name, loop.lo - loop.step()), ends.at(name));
    for (std::size_t k = 0; k < versions[0].stages.size(); ++k)
      for (std::size_t v = 0; v < versions.size(); ++v) {
        made.carried.push_back(versions[v].stages[k]);
        made.next.push_back(v == 0 ? ends.at(name).stages[k] : versions[v - 1].stages[k]);
      }
  }
  bool counted = false;
  for (ir::StageId t = number + 1; t < graph_.stage_count() && !counted; ++t) {
    const std::vector<ir::StageId> read = ir::sources(graph_, t);
    counted = std::find(read.begin(), read.end(), number) != read.end();
  }
  if (made.carried.empty())
    context_.report.fail(s.range.name.span,
                         fmt::format("nothing goes from one iteration to the next: expected a version before, as "
                                     "u<{}{:+}>",
                                     loop.variable, -loop.step()));
  if (counted) {
    ir::Stage next = graph_.stage(number);
    next.body = ir::binary(graph_, ir::Op::add, ir::value(graph_, number),
                           ir::constant(graph_, ElementType::i32, static_cast<double>(loop.step())));
    made.next.push_back(add(std::move(next), s.range.name.span));
    made.carried.push_back(number);
    ir::Stage& carried = graph_.stage(number);
    carried.kind = ir::StageKind::carried;
    carried.body = {};
    carried.margin_lo.clear();
    carried.margin_hi.clear();
    carried.loop = loop.index;
    carried.of = number - 1;
  }
  graph_.loops.push_back(std::move(made));
  scope_.images = loop.outer;
  for (const auto& [name, image] : ends)
    scope_.images.insert_or_assign(fmt::format("{}<{}>", name, loop.hi),
                                   last_of(image, name, loop, loop.computed.at(name)));
}

}  // namespace tessera::lang
