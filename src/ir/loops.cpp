// The rules of loops. Those that the cut into sections (ir/sections.hpp) and the interpreter rely on: a body is a
// contiguous piece of the order as far as its loop's end is concerned, and reaches out through `last` stages alone.
#include "ir/loops.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::ir {
namespace {

class LoopVerifier {
 public:
  explicit LoopVerifier(const Graph& g) : g_(g), in_(bodies(g)), listed_(g.stage_count()), ended_(g.loops.size()) {}

  void run() {
    for (std::uint32_t l = 0; l < g_.loops.size(); ++l) check(l);
    where_ = "loops";
    for (StageId s = 0; s < g_.stage_count(); ++s) check_stage(s);
    for (const Output& o : g_.outputs)
      for (const StageId s : o.stages) require(in_[s] == no_loop, "an output is no image of a loop's body");
  }

 private:
  void require(bool ok, const char* rule) const {
    if (!ok) throw Error(ErrorClass::internal, fmt::format("{}: {}", where_, rule));
  }

  void check(std::uint32_t l) {
    const Loop& loop = g_.loops[l];
    where_ = fmt::format("loop '{}' ({})", loop.name, l);
    require(loop.most >= 1, "it runs once at least");
    require(!loop.carried.empty() && loop.carried.size() == loop.next.size(), "every carried image has a next one");
    require(loop.test < g_.stage_count(), "its test is a stage");
    const Stage& test = g_.stage(loop.test);
    require(test.type == ElementType::boolean && test.domain.size() == 1 && g_.constant(test.domain[0]) == 1,
            "its test is one boolean");
    require(in_[loop.test] == l || in_[loop.test] == no_loop, "its test is of no other loop");
    for (std::size_t k = 0; k < loop.carried.size(); ++k) {
      const StageId carried = loop.carried[k], next = loop.next[k];
      require(carried < g_.stage_count() && next < g_.stage_count(), "what it carries are stages");
      require(g_.stage(carried).kind == StageKind::carried && g_.stage(carried).loop == l && !listed_[carried],
              "it carries carried stages of its own, each once");
      listed_[carried] = true;
      require(g_.stage(next).type == g_.stage(carried).type && g_.stage(next).domain == g_.stage(carried).domain,
              "what is next has the type and the domain of what is carried");
      require(in_[next] == l || in_[next] == no_loop, "what is next is of no other loop");
      require(g_.stage(next).kind != StageKind::carried || (k > 0 && next == loop.carried[k - 1]),
              "what is next is computed, or is the carried image before it in the list");
    }
  }

  void check_stage(StageId s) {
    const Stage& stage = g_.stage(s);
    if (stage.kind == StageKind::carried) require(listed_[s], "a carried stage is carried by its loop");
    if (stage.kind == StageKind::last) {
      const Loop& loop = g_.loops[stage.loop];
      const auto ends = [&](StageId of) { return of < s; };
      require(ends(loop.test) && std::all_of(loop.next.begin(), loop.next.end(), ends) &&
                  std::all_of(loop.carried.begin(), loop.carried.end(), ends),
              "a loop's end comes after its body");
      require(g_.stage(stage.of).kind != StageKind::carried, "what is left of a loop is computed");
      require(in_[stage.of] == stage.loop || in_[stage.of] == no_loop, "what is left of a loop is not of another");
      ended_[stage.loop] = true;
      return;
    }
    const std::uint32_t own = in_[s];
    if (own != no_loop) require(!ended_[own], "no image of a body comes after its loop's end");
    for (const StageId p : sources(g_, s)) {
      const bool initial = stage.kind == StageKind::carried;
      require(in_[p] == no_loop || (!initial && in_[p] == own), "loops do not stand in each other");
    }
  }

  const Graph& g_;
  std::vector<std::uint32_t> in_;
  std::vector<bool> listed_, ended_;
  std::string where_;
};

}  // namespace

std::vector<std::uint32_t> bodies(const Graph& g) {
  std::vector<std::uint32_t> in(g.stage_count(), no_loop);
  if (g.loops.empty()) return in;
  for (StageId s = 0; s < g.stage_count(); ++s) {
    const Stage& stage = g.stage(s);
    if (stage.kind == StageKind::carried) in[s] = stage.loop;
    if (stage.kind == StageKind::carried || stage.kind == StageKind::last) continue;
    for (const StageId p : sources(g, s))
      if (in[p] != no_loop) in[s] = in[p];
  }
  return in;
}

void verify_loops(const Graph& g) {
  if (!g.loops.empty()) LoopVerifier(g).run();
}

}  // namespace tessera::ir
