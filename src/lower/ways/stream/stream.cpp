// See stream.hpp.
#include "lower/ways/stream/stream.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lower/ways/stream/group.hpp"
#include "lower/ways/stream/pass.hpp"

namespace tessera::lower {

using ir::StageId;
using ir::nest::integer;
using ir::nest::Value;

namespace {

enum class StreamForm { one_pass, whole_tiles, line_buffers };

StreamForm form_of(const WayQuestion& q) {
  if (q.plan.groups[q.group].passes.size() == 1) return StreamForm::one_pass;
  return q.plan.options.schedule == Schedule::tiled ? StreamForm::whole_tiles : StreamForm::line_buffers;
}

const char* name_of(StreamForm form) {
  switch (form) {
    case StreamForm::one_pass:
      return "one pass";
    case StreamForm::whole_tiles:
      return "whole tiles";
    case StreamForm::line_buffers:
      break;
  }
  return "line buffers";
}

// The rows by which a pass is ahead of the anchor: where that has reached row e, it is done below e * rate + lag.
struct Pace {
  plan::StagePlan::Rate rate;
  i64 lag = 0;
};

Pace pace_of(const StreamGroup& group, const plan::Pass& pass) {
  Pace pace{group.plan_of(pass.stages.front()).rate[0], group.plan_of(pass.stages.front()).lag};
  for (StageId s : pass.stages) pace.lag = std::max(pace.lag, group.plan_of(s).lag);
  return pace;
}

void begin_passes(TileFunction& tile) {
  tile.done.clear();
  for (const Region& region : tile.regions) tile.done.push_back(tile.builder.var("done", region.lo[0]));
}

// Rows of every pass, in order, up to where `end_of` says.
template <class EndOf>
void advance_passes(TileFunction& tile, const EndOf& end_of) {
  Builder& b = tile.builder;
  for (std::size_t p = 0; p < tile.group.passes().size(); ++p) {
    Value end = b.let("end", end_of(p));
    b.block(fmt::format("{}_pass{}", tile.group.name(), p), [&] { compute_rows(tile, p, end); });
    b.assign(tile.done[p], end);
  }
}

void compute_at_once(TileFunction& tile) {
  begin_passes(tile);
  advance_passes(tile, [&](std::size_t p) { return tile.regions[p].hi[0]; });
}

void compute_by_steps(TileFunction& tile) {
  const StreamGroup& group = tile.group;
  Builder& b = tile.builder;
  begin_passes(tile);
  Value first, last;
  for (std::size_t p = 0; p < group.passes().size(); ++p) {
    const Pace pace = pace_of(group, group.pass(p));
    const auto reached = [&](const char* rounded, const Value& row) {
      return call_i64(rounded, {(row - pace.lag) * pace.rate.den, integer(pace.rate.num)});
    };
    const Value low = reached("tsr_floor_div", tile.regions[p].lo[0]);
    const Value high = reached("tsr_ceil_div", tile.regions[p].hi[0]);
    first = first ? min(first, low) : low;
    last = last ? max(last, high) : high;
  }
  first = b.let("first", first + group.planned.step);
  last = b.let("last", last + group.planned.step);
  b.loop("e", first, last, integer(group.planned.step), [&](const Value& e) {
    advance_passes(tile, [&](std::size_t p) {
      const auto [r, lag] = pace_of(group, group.pass(p));
      Value rows = is_one(r) ? e : r.den == 1 ? e * r.num : call_i64("tsr_floor_div", {e * r.num, integer(r.den)});
      return call_i64("tsr_clamp", {rows + lag, tile.done[p], tile.regions[p].hi[0]});
    });
  });
}

}  // namespace

const CoreWay stream = {
    "stream", [](Schedule) { return true; },
    [](const WayQuestion& q) {
      const StreamForm form = form_of(q);
      plan::WayAnswer answer = accepted(stream, held(form), nanoseconds_of_result(q));
      answer.form = name_of(form);
      return answer;
    },
    [](const WayQuestion& q, const plan::WayAnswer& answer, const std::string& name, Lowered& into) {
      const bool steps = shape_of<StreamForm>(answer) == StreamForm::line_buffers;
      lower_group(q, name, steps ? compute_by_steps : compute_at_once, into);
    }};

}  // namespace tessera::lower
