// Greedy: every kind of simplification is tried in turn, a candidate that still fails replaces the case, until a whole
// round finds nothing or time is up. A candidate that is not well formed, or that the interpreter refuses, does not
// fail.
#include "differential/random/shrink.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "differential/isolate.hpp"
#include "ir/build.hpp"
#include "rewrite/rebuild.hpp"

namespace tessera::differential {
namespace {

using ir::ExprId;
using ir::ExprNode;
using ir::Graph;
using ir::StageId;

constexpr const char* invalid = "invalid";

std::string attempt(const Case& c, const std::function<void(const std::string&)>& note) {
  try {
    auto failure = check(c, [&](std::size_t p, std::size_t s) { note(fmt::format("{} {}", p, s)); });
    return failure ? fmt::format("{} {} {}", failure->parameters, failure->way, failure->what) : "";
  } catch (const std::exception& e) {
    return std::string(invalid) + " " + e.what();
  }
}

class Shrinker {
 public:
  Shrinker(Case c, std::string what, int seconds)
      : best_(std::move(c)), what_(std::move(what)), end_(Clock::now() + std::chrono::seconds(seconds)) {}

  Found run() {
    for (bool again = true; again && !late();) {
      again = false;
      again |= outputs();
      again |= stages();
      again |= parameters();
      again |= expressions();
      again |= details();
      again |= way();
    }
    return {std::move(best_), std::move(what_)};
  }

 private:
  using Clock = std::chrono::steady_clock;
  bool late() const { return Clock::now() > end_; }

  bool accept(Case candidate, bool clean = true) {
    if (late()) return false;
    try {
      if (clean) rewrite::remove_dead_stages(candidate.graph);
      ir::verify(candidate.graph);
    } catch (const std::exception&) {
      return false;
    }
    auto failure = check_isolated(candidate);
    if (!failure || failure->what.starts_with(invalid)) return false;
    best_ = std::move(candidate);
    what_ = failure->what;
    return true;
  }

  // One plain output: an earlier stage, or the only one left of several.
  bool outputs() {
    bool any = false;
    const Graph& g = best_.graph;
    std::vector<StageId> all;
    for (StageId s = 0; s < g.stage_count(); ++s)
      if (g.stage(s).kind != ir::StageKind::input) all.push_back(s);
    if (g.outputs.size() == 1 && g.outputs[0].stages.size() == 1) all.pop_back();
    for (StageId s : all) {
      Case c = best_;
      c.graph.outputs = {ir::Output{"", Format(c.graph.stage(s).type), {s}}};
      if (accept(std::move(c))) return true;
    }
    for (std::size_t o = 0; o < best_.graph.outputs.size() && best_.graph.outputs.size() > 1;) {
      Case c = best_;
      c.graph.outputs.erase(c.graph.outputs.begin() + static_cast<std::ptrdiff_t>(o));
      if (accept(std::move(c)))
        any = true;
      else
        ++o;
    }
    return any;
  }

  // A stage that is not needed: its readers get one of its sources instead, or a constant.
  bool stages() {
    bool any = false;
    for (StageId s = 0; s < best_.graph.stage_count(); ++s) {
      const ir::Stage stage = best_.graph.stage(s);
      if (stage.kind == ir::StageKind::compose) {
        for (std::size_t k = 0; k < best_.graph.stage(s).pieces.size();) {
          Case c = best_;
          auto& pieces = c.graph.stage(s).pieces;
          pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(k));
          if (accept(std::move(c), false))
            any = true;
          else
            ++k;
        }
        continue;
      }
      if (stage.kind != ir::StageKind::point) continue;
      for (StageId other = 0; other < s; ++other) {
        const ir::Stage o = best_.graph.stage(other);
        if (o.domain.size() != stage.domain.size() || o.type != stage.type) continue;
        Case c = best_;
        const ir::ExprId by = ir::access(c.graph, other, std::vector<ir::Index>(o.domain.size()),
                                         std::vector<Border>(o.domain.size(), {BorderMode::clamp, 0}));
        if (by == stage.body) continue;
        c.graph.stage(s).body = by;
        std::fill(c.graph.stage(s).margin_lo.begin(), c.graph.stage(s).margin_lo.end(), 0);
        std::fill(c.graph.stage(s).margin_hi.begin(), c.graph.stage(s).margin_hi.end(), 0);
        const std::size_t before = weight(best_.graph);
        if (weight(c.graph) < before && accept(std::move(c), false)) {
          any = true;
          break;
        }
      }
    }
    return any;
  }

  static std::size_t weight(const Graph& g) {
    std::size_t n = 0;
    for (StageId s = 0; s < g.stage_count(); ++s)
      if (g.stage(s).body.valid()) n += ir::postorder(g, {g.stage(s).body}).size();
    return n;
  }

  bool parameters() {
    bool any = false;
    for (std::size_t k = 0; k < best_.parameters[0].size(); ++k)
      for (bool again = true; again;) {
        again = false;
        const i64 now = best_.parameters[0][k];
        for (i64 smaller : {i64{1}, now / 4, now / 2, now - 8, now - 1}) {
          if (smaller < 1 || smaller >= now) continue;
          Case c = best_;
          c.parameters[0][k] = smaller;
          if (!accept(std::move(c))) continue;
          again = any = true;
          break;
        }
      }
    return any;
  }

  // Expressions in place of larger ones of the same type.
  bool expressions() {
    bool any = false;
    for (StageId s = 0; s < best_.graph.stage_count(); ++s) {
      if (best_.graph.stage(s).kind != ir::StageKind::point) continue;
      for (bool again = true; again && !late();) {
        again = false;
        const std::vector<ExprId> order = ir::postorder(best_.graph, {best_.graph.stage(s).body});
        for (std::size_t k = order.size(); k-- > 0 && !again;) {
          const ExprNode node = best_.graph.node(order[k]);
          if (node.op == ir::Op::constant || node.type == ElementType::f16) continue;
          std::vector<ExprId> instead;
          for (ExprId a : node.args)
            if (best_.graph.node(a).type == node.type && !ir::is_reduction(node.op)) instead.push_back(a);
          Case c = best_;
          instead.push_back(ir::constant(c.graph, node.type, 1));
          for (ExprId by : instead) {
            Case d = c;
            d.graph.stage(s).body = ir::rewrite(d.graph, d.graph.stage(s).body, [&](ExprId old, const ExprNode&) {
              return old == order[k] ? by : ExprId{};
            });
            if (!accept(std::move(d))) continue;
            any = again = true;
            break;
          }
          if (again && s >= best_.graph.stage_count()) return true;
        }
        if (s >= best_.graph.stage_count() || best_.graph.stage(s).kind != ir::StageKind::point) break;
      }
    }
    return any;
  }

  // Offsets, borders, scales, variables and margins, one at a time.
  bool details() {
    bool any = false;
    for (StageId s = 0; s < best_.graph.stage_count(); ++s) {
      if (best_.graph.stage(s).kind != ir::StageKind::point) continue;
      const std::vector<ExprId> order = ir::postorder(best_.graph, {best_.graph.stage(s).body});
      for (ExprId e : order) {
        const ExprNode node = best_.graph.node(e);
        for (std::size_t d = 0; d < node.index.size(); ++d) {
          if (node.index[d].offset != 0) any |= change(s, e, [&](ExprNode& n) { n.index[d].offset = 0; });
          if (std::abs(node.index[d].offset) > 1)
            any |= change(s, e, [&](ExprNode& n) { n.index[d].offset = n.index[d].offset > 0 ? 1 : -1; });
          if (node.index[d].shift != ir::SizeId{}) any |= change(s, e, [&](ExprNode& n) { n.index[d].shift = {}; });
          if (node.border[d].mode != BorderMode::clamp && node.border[d].mode != BorderMode::none)
            any |= change(s, e, [&](ExprNode& n) { n.border[d] = {BorderMode::clamp, 0}; });
        }
        for (std::size_t v = 0; v < node.vars.size(); ++v)
          if (node.vars[v].hi > node.vars[v].lo) any |= change(s, e, [&](ExprNode& n) { --n.vars[v].hi; });
      }
      for (std::size_t d = 0; d < best_.graph.stage(s).margin_lo.size(); ++d)
        for (bool low : {true, false}) {
          const i64 margin = (low ? best_.graph.stage(s).margin_lo : best_.graph.stage(s).margin_hi)[d];
          if (margin == 0) continue;
          Case c = best_;
          (low ? c.graph.stage(s).margin_lo : c.graph.stage(s).margin_hi)[d] = 0;
          any |= accept(std::move(c), false);
        }
    }
    return any;
  }

  template <class Fn>
  bool change(StageId s, ExprId e, Fn fn) {
    Case c = best_;
    c.graph.stage(s).body = ir::rewrite(c.graph, c.graph.stage(s).body, [&](ExprId old, const ExprNode& n) {
      if (old != e) return ExprId{};
      ExprNode changed = n;
      fn(changed);
      return c.graph.expr(std::move(changed));
    });
    return c.graph.stage(s).body != best_.graph.stage(s).body && accept(std::move(c), false);
  }

  bool way() {
    bool any = false;
    auto attempt_with = [&](auto fn) {
      Case c = best_;
      fn(c.ways[0]);
      if (to_string(c.ways[0]) != to_string(best_.ways[0])) any |= accept(std::move(c), false);
    };
    attempt_with([](Way& s) { s.threads = 1; });
    attempt_with([](Way& s) { s.placement = Placement::flush_end; });
    attempt_with([](Way& s) { s.rows = 0; });
    attempt_with([](Way& s) { s.columns = 0; });
    attempt_with([](Way& s) { s.numbers = Numbers::exact; });
    attempt_with([](Way& s) { s.schedule = Schedule::untiled; });
    return any;
  }

  Case best_;
  std::string what_;
  Clock::time_point end_;
};

}  // namespace

std::optional<Failure> check_isolated(const Case& c) {
  std::optional<Failure> found;
  Job job;
  job.seconds = 60;
  job.work = [&](std::size_t, const auto& note) { return attempt(c, note); };
  job.done = [&](std::size_t, const std::string& wrong, const std::string& died, const std::string& note) {
    if (wrong.empty() && died.empty()) return;
    Failure f;
    if (wrong.starts_with(invalid)) {
      f.what = wrong;
      found = f;
      return;
    }
    const std::string& text = died.empty() ? wrong : note;
    std::size_t used = 0;
    if (std::sscanf(text.c_str(), "%zu %zu", &f.parameters, &f.way) == 2) {
      used = text.find(' ', text.find(' ') + 1);
      used = used == std::string::npos ? text.size() : used + 1;
    }
    f.what = died.empty() ? text.substr(used) : died;
    found = f;
  };
  run_isolated(1, job);
  return found;
}

Found shrink(const Case& c, const Failure& failure, int seconds) {
  Case small = c;
  small.parameters = {c.parameters.at(failure.parameters)};
  if (failure.way < c.ways.size()) small.ways = {c.ways[failure.way]};
  if (!c.graph.loops.empty()) return {std::move(small), failure.what};  // stages of loops do not go one by one
  return Shrinker(std::move(small), failure.what, seconds).run();
}

}  // namespace tessera::differential
