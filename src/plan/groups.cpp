// Greedy merging of stages into groups; see groups.hpp for the idea and layout.cpp for what makes a group legal.
#include "plan/groups.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "analyze/expressions.hpp"
#include "analyze/pairs.hpp"
#include "analyze/ranges.hpp"
#include "base/deadline.hpp"
#include "ir/reductions.hpp"
#include "plan/lanes.hpp"
#include "rewrite/rebuild.hpp"
#include "rewrite/sums/bytes.hpp"

namespace tessera::plan {

// Calibrated on the benchmark's jobs: multiply-adds are one instruction and several start in a cycle.
constexpr double cycles_per_operation = 0.5;
constexpr double cycles_per_load = 0.5;
// Of sums of bytes (rewrite/sums/bytes.hpp), for 16 results: a product of four is a cycle; and what becomes of the
// totals.
constexpr double products_as_operations = 2, other_operations = 6, loads_of_a_product = 0.3;
// Of a warp on a device, whose cycle is a turn of one of four: tiles use eight tenths of the turns.
constexpr double cycles_per_instruction = 1.25;

using ir::ExprId;
using ir::Graph;
using ir::Stage;
using ir::StageId;
using ir::StageKind;
using ir::nest::Lane;

// A looped sum whose body reads several rows (windows.cpp): neighbouring rows of the result share them.
static bool sums_rows(const Graph& graph, ExprId body) {
  for (ExprId e : ir::postorder(graph, {body})) {
    const ir::ExprNode& node = graph.node(e);
    if (node.op == ir::Op::reduce_sum && ir::accesses(graph, node.args[0]).size() >= 3) return true;
  }
  return false;
}

Grouper::Grouper(Plan& plan) : plan_(plan), graph_(plan.graph), edges_(edges_of(plan.graph)) {
  std::size_t count = graph_.stage_count();
  reads_.resize(count);
  read_by_.resize(count);
  for (std::size_t k = 0; k < edges_.size(); ++k) {
    reads_[edges_[k].consumer].push_back(k);
    read_by_[edges_[k].producer].push_back(k);
  }
  is_output_.resize(count);
  for (const ir::Output& output : graph_.outputs)
    for (StageId s : output.stages) is_output_[s] = true;
  for (StageId s = 0; s < count; ++s) {
    const Stage& stage = graph_.stage(s);
    operations_.push_back(stage.kind == StageKind::point ? analyze::operation_count(graph_, {stage.body}) : 1);
    double n = 1;
    for (std::size_t d = 0; d < stage.domain.size(); ++d) n *= extent(s, d);
    points_.push_back(n);
  }
  fillable_ = rewrite::fillable_by_pieces(plan.graph);
}

void Grouper::prepare_stages() {
  std::size_t count = graph_.stage_count();
  analyze::Ranges& ranges = ranges_.emplace(graph_);
  plan_.stages.resize(count);
  work_bytes_.clear();
  pairs_.clear();
  quads_.assign(count, {});
  for (StageId s = 0; s < count; ++s) {
    const Stage& stage = graph_.stage(s);
    StagePlan& p = plan_.stages[s];
    bool fixed = stage.kind == StageKind::input || is_output_[s] || is_float(stage.type);
    p.lane = fixed ? ir::nest::lane_of(stage.type) : narrowest(ranges.of_rows(s));
    if (stage.type == ElementType::boolean) p.lane = Lane::u8;
    p.home = stage.kind == StageKind::input ? Home::memory : Home::array;
    p.periodic.assign(stage.domain.size(), false);
    p.rate.assign(stage.domain.size(), {});
    int widest = ir::nest::size_of(p.lane);
    if (stage.kind == StageKind::point) widest = std::max(widest, widest_lane(stage.body));
    work_bytes_.push_back(widest);
    if (plan_.device.byte_products)
      for (const rewrite::ByteSum& sum : rewrite::works_in_quads(graph_, s).value_or(std::vector<rewrite::ByteSum>{}))
        quads_[s].chains += static_cast<int>(sum.chains()), quads_[s].products += static_cast<double>(sum.quads());
    if (quads_[s].chains > 0) work_bytes_.back() = 4;
    pairs_.push_back(widest == 2 && plan_.device.vector_bytes >= 32 && quads_[s].chains == 0 &&
                     analyze::works_in_pairs(graph_, s));
  }
  strip_reads_.clear();
  instructions_.clear();
  for (StageId s = 0; s < count && plans_strips(); ++s) {
    strip_reads_.emplace_back();
    if (graph_.stage(s).kind != StageKind::input) strip_reads_.back() = strip_reads(plan_.graph, s);
    instructions_.push_back(0);
    if (graph_.stage(s).kind == StageKind::point)
      instructions_.back() =
          analyze::instruction_count(graph_, {graph_.stage(s).body}, plan_.options.numbers == Numbers::fast);
  }
  alone_ = operations_;
  share_rows();
  for (StageId s = 0; s < count; ++s)
    if (quads_[s].chains > 0) operations_[s] = products_as_operations * quads_[s].products + other_operations;
  any_sums_planes_ = false;
  for (StageId s = 0; s < count; ++s) any_sums_planes_ |= sums_planes(s);
}

// Bytes of the widest lane type that an expression is computed in.
int Grouper::widest_lane(ExprId body) {
  int widest = 1;
  LowBits low(graph_, {body});
  for (ExprId e : ir::postorder(graph_, {body})) {
    const ir::ExprNode& node = graph_.node(e);
    if (node.type == ElementType::boolean || node.op == ir::Op::coord || node.op == ir::Op::extent) continue;
    if (node.op == ir::Op::constant || node.op == ir::Op::var) continue;
    bool works = !is_float(node.type) && !node.args.empty() && node.op != ir::Op::gather && node.op != ir::Op::lookup &&
                 node.op != ir::Op::convert;
    if (works) widest = std::max(widest, ir::nest::size_of(working_lane(graph_, *ranges_, low, e)));
    if (low.contains(e)) continue;
    widest = std::max(widest, ir::nest::size_of(lane_of(graph_, *ranges_, e)));
  }
  return widest;
}

// What a point costs when the rows of a block are computed together: common subexpressions of neighbouring rows once.
void Grouper::share_rows() {
  constexpr int rows = 4;
  for (StageId s = 0; s < graph_.stage_count(); ++s) {
    const Stage& stage = graph_.stage(s);
    if (stage.kind != StageKind::point || operations_[s] < 4 || operations_[s] > 400) continue;
    std::vector<ExprId> block;
    for (int r = 0; r < rows; ++r)
      block.push_back(analyze::shift_rows(plan_.graph, stage.body, stage.domain.size(), r));
    operations_[s] = std::min(operations_[s], analyze::operation_count(graph_, block) / rows);
    if (!pairs_[s]) continue;
    for (int r = 0; r < rows; ++r)
      block.push_back(analyze::shift_columns(plan_.graph, block[static_cast<std::size_t>(r)], stage.domain.size(), 1));
    operations_[s] = std::min(operations_[s], analyze::operation_count(graph_, block) / (2 * rows));
  }
}

double Grouper::extent(StageId s, std::size_t dim) const {
  return static_cast<double>(std::max<i64>(1, graph_.evaluate(graph_.stage(s).domain[dim], plan_.options.parameters)));
}

bool Grouper::leaves_group(StageId s, const Set& set) const {
  // The last stage is no copy: those stand before the stages that they are there for.
  if (!repeated_in_.empty()) return leaves_repeating(s, group_of_[set.back()]);
  if (is_output_[s]) return true;
  for (std::size_t k : read_by_[s])
    if (!std::binary_search(set.begin(), set.end(), edges_[k].consumer)) return true;
  return false;
}

double Grouper::load_price(const Edge& edge, const Layout& layout) const {
  if (quads_[edge.consumer].chains > 0) return loads_of_a_product * quads_[edge.consumer].products;
  // A register block of 4 rows shares what neighbouring rows read of the same columns.
  if (edge.dims.size() < 2 || layout.stages.empty()) return edge.loads;
  const EdgeDimension& row = edge.dims[edge.dims.size() - 2];
  double taps = static_cast<double>(row.raw_hi - row.raw_lo + 1);
  double shared = (taps + 3) / (4 * taps);
  return std::max(1.0, edge.loads * std::min(1.0, shared));
}

Grouper::Price Grouper::price(const Set& set, const Layout& layout) const {
  if (has_tiles(set)) return price_of_tiles(set, layout);
  if (sums_planes(layout)) return price_of_volume(set, layout);
  Price price;
  const machine::Machine& device = plan_.device;
  double cycles = 0, ring_cycles = 0;
  std::set<StageId> arrays;
  double widest_halo_rows = 0, widest_halo_columns = 0;
  for (std::size_t i = 0; i < set.size(); ++i) {
    StageId s = set[i];
    const StagePlan& stage = layout.stages[i];
    double bytes = ir::nest::size_of(plan_.stages[s].lane);
    double vectors = points(s) * work_bytes_[s] / device.vector_bytes;
    price.operations += points(s) * operations_[s];
    cycles += vectors * (instructions_.empty() ? operations_[s] * cycles_per_operation
                                               : instructions_[s] * cycles_per_instruction);
    for (std::size_t k : reads_[s]) {
      const Edge& edge = edges_[k];
      cycles += vectors * load_price(edge, layout) * cycles_per_load;
      if (!std::binary_search(set.begin(), set.end(), edge.producer)) arrays.insert(edge.producer);
    }
    if (stage.home == Home::ring) {
      ring_cycles += vectors * 3;
      double depth = stage.depth > 0 ? static_cast<double>(stage.depth) : 64;
      double rate = static_cast<double>(stage.rate.back().num) / static_cast<double>(stage.rate.back().den);
      price.ring_bytes_per_column += depth * bytes * rate;
    }
    if (leaves_group(s, set)) price.bytes += points(s) * bytes;
    widest_halo_rows = std::max(widest_halo_rows, static_cast<double>(stage.rate[0].after - stage.rate[0].before));
    widest_halo_columns =
        std::max(widest_halo_columns, static_cast<double>(stage.rate.back().after - stage.rate.back().before));
  }
  for (StageId a : arrays) {
    const Stage& stage = graph_.stage(a);
    double bytes = ir::nest::size_of(plan_.stages[a].lane);
    if (stage.kind == StageKind::input && graph_.arguments[stage.argument].format.is_struct())
      bytes = static_cast<double>(graph_.arguments[stage.argument].format.size()) /
              static_cast<double>(graph_.arguments[stage.argument].format.fields.size());
    price.bytes += points(a) * bytes;
  }
  price.halo_rows = static_cast<i64>(widest_halo_rows);
  price.halo_columns = static_cast<i64>(widest_halo_columns);
  // Rings that do not fit half of L2 force narrower tiles, whose halos are computed twice.
  double columns = extent(layout.anchor, graph_.stage(layout.anchor).domain.size() - 1);
  std::size_t rank = graph_.stage(layout.anchor).domain.size();
  double middle = 1, middle_halo = 0;
  for (std::size_t d = 1; d + 1 < rank; ++d) {
    middle *= extent(layout.anchor, d);
    double halo = 0;
    for (const StagePlan& stage : layout.stages)
      halo = std::max(halo, static_cast<double>(stage.rate[d].after - stage.rate[d].before));
    middle_halo = std::max(middle_halo, halo);
  }
  double budget = 0.6 * static_cast<double>(device.l2_bytes);
  double ring = price.ring_bytes_per_column * columns * middle;
  double redundant = 1;
  if (ring > budget && price.ring_bytes_per_column > 0) {
    if (rank > 2) {
      double rows = std::max(1.0, std::floor(budget / (price.ring_bytes_per_column * columns)));
      redundant *= 1 + middle_halo / rows;
      if (rows < 4) redundant *= 2;
    } else {
      double width = budget / price.ring_bytes_per_column;
      redundant *= 1 + widest_halo_columns / std::max(1.0, width);
      if (width < 256) redundant *= 4;
    }
  }
  double bands = std::max(2.0, 4.0 * device.threads);
  double rows = std::max({32.0, extent(layout.anchor, 0) / bands, 8 * widest_halo_rows});
  // Lower tiles rather than idle cores, down to twice the halo.
  double share = extent(layout.anchor, 0) / device.threads;
  if (rows > share) rows = std::max({32.0, share, 2 * widest_halo_rows});
  redundant *= 1 + widest_halo_rows / rows;
  if (rows > 32) redundant *= std::clamp(rows / share, 1.0, static_cast<double>(device.threads));
  price.compute = (cycles + ring_cycles) * redundant * repetition(set, layout) / device.gigahertz;
  // Cores share the memory: each gets less than it had alone.
  price.memory = price.bytes * std::sqrt(static_cast<double>(device.threads)) / device.bandwidth;
  price.nanoseconds = std::max(price.compute, price.memory) + 0.25 * std::min(price.compute, price.memory) + 200;
  // Merging one stage at a time sees only what the next one adds. Halos grow with the square of a chain's length, so
  // that past a fifth of all work the chain is better cut and begun anew.
  if (redundant > 1.2) price.nanoseconds *= 1 + 4 * (redundant - 1.2);
  return price;
}

// Asked before every merge, thousands of times in a large program: so it looks only at what lies between the two sets.
// It relies on there being no circle yet, and knows whole sets alone; a stage that moves to another set is judged by
// `circular`.
bool Grouper::creates_cycle(int a, int b) const {
  // Merging a and b is a cycle when a path between them leaves both: walk forward from them through other groups. Whole
  // groups run at once, so reaching a stage reaches its group. Behind `last` everything stands alone and leads only
  // further on, so the walk ends there.
  StageId last = std::max({sets_[a].back(), sets_[b].back(), merged_until_});
  std::set<int> seen{a, b};
  std::vector<int> stack{a, b};
  while (!stack.empty()) {
    int g = stack.back();
    stack.pop_back();
    for (StageId s : sets_[g])
      for (std::size_t k : read_by_[s]) {
        StageId c = edges_[k].consumer;
        int h = group_of_[c];
        if ((h == a || h == b) && g != a && g != b) return true;
        if (c <= last && seen.insert(h).second) stack.push_back(h);
      }
  }
  return false;
}

// Do groups, however they came about, depend on each other in a circle? Takes the time of all edges: for the few moves,
// not for every merge.
bool Grouper::circular() const {
  std::vector<int> waits(sets_.size(), 0);
  std::vector<std::set<int>> next(sets_.size());
  for (const Edge& edge : edges_) {
    int from = group_of_[edge.producer], to = group_of_[edge.consumer];
    if (from >= 0 && from != to && next[static_cast<std::size_t>(from)].insert(to).second)
      ++waits[static_cast<std::size_t>(to)];
  }
  std::vector<std::size_t> ready;
  std::size_t left = sets_.size();
  for (std::size_t g = 0; g < sets_.size(); ++g)
    if (waits[g] == 0) ready.push_back(g);
  while (!ready.empty()) {
    std::size_t g = ready.back();
    ready.pop_back();
    --left;
    for (int n : next[g])
      if (--waits[static_cast<std::size_t>(n)] == 0) ready.push_back(static_cast<std::size_t>(n));
  }
  return left > 0;
}

Grouping Grouper::cut() {
  prepare_stages();
  merge();
  if (plan_.options.schedule == Schedule::automatic) move_to_consumers();
  if (plans_strips()) merge_chains(true);
  if (plans_strips()) repeat_stages();
  return {sets_, group_of_, decisions_};
}

void Grouper::merge() {
  const std::size_t count = graph_.stage_count();
  price_of_.assign(count, 0);
  decisions_.assign(count, {});
  group_of_.assign(count, -1);
  std::vector<Set>& sets = sets_;
  sets.assign(count, {});
  in_strips_.assign(count, false);
  is_chain_.assign(count, false);
  for (StageId s = 0; s < count; ++s) {
    if (graph_.stage(s).kind == StageKind::input) continue;
    group_of_[s] = static_cast<int>(s);
    sets[s] = {s};
    const Layout alone = layout(sets[s]);
    price_of_[s] = price(sets[s], alone).nanoseconds;
    in_strips_[s] = runs_in_strips(sets[s], alone);
  }
  auto try_merge = [&](int a, int b) {
    if (a == b || a < 0 || b < 0) return;
    auto decided = [&](bool fused, std::string why) {
      decisions_[b].push_back({sets[a].back(), sets[b].back(), fused, std::move(why)});
    };
    if (is_chain_[a] || is_chain_[b]) return decided(false, "one of them marches through the image by itself");
    if (sets[a].size() + sets[b].size() > most_stages)
      return decided(false, "a group has " + std::to_string(most_stages) + " stages at most");
    base::reached_stage(graph_.stage(sets[b].back()).name);
    base::look_at_deadline();
    if (creates_cycle(a, b)) return decided(false, "stages of other groups lie between them");
    Set merged;
    std::merge(sets[a].begin(), sets[a].end(), sets[b].begin(), sets[b].end(), std::back_inserter(merged));
    Layout together = layout(merged);
    if (!together.legal) return decided(false, together.reason);
    if (std::string why = breaks_strips(a, b, merged, together); !why.empty()) return decided(false, std::move(why));
    double fused = price(merged, together).nanoseconds;
    double apart = price_of_[a] + price_of_[b];
    char text[96];
    std::snprintf(text, sizeof text, "%.2f ms together, %.2f ms apart (predicted)", fused * 1e-6, apart * 1e-6);
    bool forced = plan_.options.schedule == Schedule::stream || plan_.options.schedule == Schedule::tiled;
    decided(fused < apart || forced, text);
    if (fused >= apart && !forced) return;
    for (StageId s : sets[a]) group_of_[s] = b;
    merged_until_ = std::max(merged_until_, merged.back());
    decisions_[b].insert(decisions_[b].begin(), decisions_[a].begin(), decisions_[a].end());
    sets[b] = std::move(merged);
    sets[a].clear();
    price_of_[b] = fused;
    in_strips_[b] = runs_in_strips(sets[b], together);
  };
  if (plans_strips()) merge_chains(false);
  if (plan_.options.schedule != Schedule::untiled) {
    for (StageId s = 0; s < count; ++s)
      for (std::size_t k : reads_[s])
        if (group_of_[edges_[k].producer] >= 0) try_merge(group_of_[edges_[k].producer], group_of_[s]);
    for (const ir::Output& output : graph_.outputs)
      for (std::size_t k = 1; k < output.stages.size(); ++k)
        try_merge(group_of_[output.stages[k - 1]], group_of_[output.stages[k]]);
    for (StageId s = 0; s < count; ++s)
      for (std::size_t k = 1; k < read_by_[s].size(); ++k)
        try_merge(group_of_[edges_[read_by_[s][k - 1]].consumer], group_of_[edges_[read_by_[s][k]].consumer]);
  }
}

void Grouper::take(const Grouping& grouping) {
  const std::size_t count = graph_.stage_count();
  if (!ranges_) prepare_stages();
  sets_ = grouping.sets;
  repeated_in_.clear();
  group_of_.assign(count, -1);
  for (std::size_t g = 0; g < sets_.size(); ++g)
    for (StageId s : sets_[g]) group_of_[s] = static_cast<int>(g);
  // Groups in an order in which producers come first.
  std::vector<bool> done(count);
  std::size_t left = 0;
  for (const Set& set : sets_) left += set.empty() ? 0 : 1;
  while (left > 0) {
    bool progressed = false;
    for (std::size_t g = 0; g < sets_.size(); ++g) {
      if (sets_[g].empty()) continue;
      bool ready = true;
      for (StageId s : sets_[g])
        for (std::size_t k : reads_[s]) {
          StageId p = edges_[k].producer;
          ready &= graph_.stage(p).kind == StageKind::input || done[p] || group_of_[p] == static_cast<int>(g);
        }
      if (!ready) continue;
      for (StageId s : sets_[g]) done[s] = true;
      commit(sets_[g], grouping.decisions[g]);
      sets_[g].clear();
      --left;
      progressed = true;
    }
    if (!progressed) throw Error(ErrorClass::internal, "the groups of the plan depend on each other in a circle");
  }
}

void Grouper::predict(Group& group, const Price& price) const {
  double n = points(group.anchor);
  group.bytes = price.bytes / n;
  group.operations = price.operations / n;
  group.nanoseconds = price.nanoseconds;
  group.memory_nanoseconds = price.memory;
  group.compute_nanoseconds = price.compute;
}

void Grouper::predict() {
  std::vector<StagePlan> decided = plan_.stages;
  prepare_stages();
  plan_.stages = std::move(decided);
  for (Group& group : plan_.groups) {
    Layout found;
    found.anchor = group.anchor;
    for (StageId s : group.stages) found.stages.push_back(plan_.stages[s]);
    predict(group, price(group.stages, found));
  }
}

void Grouper::commit(const Set& set, const std::vector<Decision>& decisions) {
  Layout found = layout(set);
  Price predicted = price(set, found);
  Group group;
  group.anchor = found.anchor;
  group.stages = set;
  group.step = found.step;
  std::set<std::pair<StageId, StageId>> told;
  for (auto d = decisions.rbegin(); d != decisions.rend(); ++d) {
    // A refusal that a later merge overtook is no news, nor is one that was repeated.
    if (!d->fused && (group_of_[d->a] == group_of_[d->b] || !told.insert({d->a, d->b}).second)) continue;
    group.reasons.push_back(*d);
  }
  std::reverse(group.reasons.begin(), group.reasons.end());
  group.halo_rows = predicted.halo_rows;
  group.halo_columns = predicted.halo_columns;
  group.ring_bytes_per_column = predicted.ring_bytes_per_column;
  group.ring_halo = predicted.ring_halo;
  predict(group, predicted);
  int index = static_cast<int>(plan_.groups.size());
  for (std::size_t i = 0; i < set.size(); ++i) {
    plan_.stages[set[i]] = found.stages[i];
    plan_.stages[set[i]].group = index;
    if (leaves_group(set[i], set)) group.results.push_back(set[i]);
  }
  group.passes = passes(set, found);
  // A block is written before any row of it leaves the ring. (In volumes most blocks stand in one plane.)
  for (const Pass& pass : group.passes)
    for (StageId s : pass.stages)
      if (pass.along == 0 && plan_.stages[s].home == Home::ring && plan_.stages[s].depth > 0)
        plan_.stages[s].depth = std::max<i64>(plan_.stages[s].depth, pass.rows);
  for (std::size_t i = 0; i < set.size(); ++i) {
    // What vectors of the consumers read beyond a row: the last vector starts before the end and is strided by the
    // scale.
    StagePlan& p = plan_.stages[set[i]];
    i64 reach = 0;
    for (std::size_t k : read_by_[set[i]])
      for (const Pass& pass : group.passes)
        if (std::count(pass.stages.begin(), pass.stages.end(), edges_[k].consumer))
          reach = std::max(reach,
                           (std::max<i64>(1, edges_[k].dims.back().mul) + 1) * pass.lanes + edges_[k].dims.back().hi);
    for (const Pass& pass : group.passes) {
      if (std::count(pass.stages.begin(), pass.stages.end(), set[i])) reach = std::max<i64>(reach, 2 * pass.lanes);
      for (StageId s : pass.stages)
        if (plan_.stages[s].home == Home::inside && plan_.stages[s].whole == set[i])
          reach = std::max<i64>(reach, (pass.lanes + 2) * plan_.stages[s].stride.back());
    }
    p.reach = reach;
  }
  plan_.groups.push_back(std::move(group));
}

std::vector<Pass> Grouper::passes(const Set& set, const Layout& found) {
  std::vector<Pass> list;
  std::vector<std::size_t> pass_of(graph_.stage_count(), 0);
  std::vector<double> load(graph_.stage_count());
  auto same_rate = [](const StagePlan& a, const StagePlan& b) {
    for (std::size_t d = 0; d < a.rate.size(); ++d)
      if (a.rate[d].num != b.rate[d].num || a.rate[d].den != b.rate[d].den || a.rate[d].before != b.rate[d].before ||
          a.rate[d].after != b.rate[d].after)
        return false;
    return a.lag == b.lag && a.periodic == b.periodic;
  };
  for (std::size_t i = 0; i < set.size(); ++i) {
    StageId s = set[i];
    const Stage& stage = graph_.stage(s);
    std::size_t earliest = 0;
    // Pieces that stand inside a composed stage share a pass, that of the last one.
    std::vector<StageId> together{s};
    if (plan_.stages[s].home == Home::inside) {
      together = ir::sources(graph_, plan_.stages[s].whole);
      if (together.back() != s) continue;
    }
    for (StageId t : together)
      for (std::size_t k : reads_[t])
        if (std::binary_search(set.begin(), set.end(), edges_[k].producer))
          earliest = std::max(earliest, pass_of[edges_[k].producer] + 1);
    std::size_t chosen = list.size();
    if (stage.kind == StageKind::point && stage.note == 0 && !reads_before_tiles(s, set))
      for (std::size_t p = earliest; p < list.size() && chosen == list.size(); ++p) {
        StageId other = list[p].stages.front();
        if (list[p].kind != PassKind::point || graph_.stage(other).note > 0 || reads_before_tiles(other, set)) continue;
        std::size_t j = static_cast<std::size_t>(std::lower_bound(set.begin(), set.end(), other) - set.begin());
        const auto reduces = [&](const Stage& of) { return is_lanes(graph_.node(of.body).op); };
        bool same = graph_.stage(other).domain == stage.domain && reduces(graph_.stage(other)) == reduces(stage) &&
                    same_rate(plan_.stages[other], plan_.stages[s]);
        same = same && together.size() == 1 && quads_[s].chains == 0 && quads_[other].chains == 0;
        if (same && load[p] + operations_[s] >= 400) {
          // Too much for one loop, unless the loop saves computing the same twice.
          std::vector<ExprId> bodies{stage.body};
          for (StageId t : list[p].stages) bodies.push_back(graph_.stage(t).body);
          same = analyze::operation_count(graph_, bodies) < 0.8 * (load[p] + operations_[s]);
        }
        if (same && found.stages[j].rate.size() == stage.domain.size()) chosen = p;
      }
    if (chosen == list.size()) {
      list.push_back({});
      load[chosen] = 0;
      list.back().kind = stage.kind == StageKind::compose ? PassKind::compose : PassKind::point;
    }
    for (StageId t : together) {
      list[chosen].stages.push_back(t);
      load[chosen] += operations_[t];
      pass_of[t] = chosen;
    }
  }
  for (Pass& pass : list) {
    std::vector<ExprId> roots;
    int widest = 1;
    double row_taps = 1;
    bool aos = false;
    const std::size_t rank = graph_.stage(pass.stages.front()).domain.size();
    pass.along = blocks_along(pass.stages.front(), set);
    for (StageId s : pass.stages)
      if (blocks_along(s, set) != pass.along) pass.along = rank - 2;
    if (pass.along == 0 && set.size() > 1 && found.step < 4) pass.along = rank - 2;
    for (StageId s : pass.stages) {
      const Stage& stage = graph_.stage(s);
      widest = std::max(widest, ir::nest::size_of(plan_.stages[s].lane));
      if (stage.kind == StageKind::point) roots.push_back(stage.body);
      for (std::size_t k : reads_[s]) {
        const Edge& edge = edges_[k];
        const Stage& source = graph_.stage(edge.producer);
        aos |= source.kind == StageKind::input && graph_.arguments[source.argument].format.is_struct();
        if (edge.dims.size() < 2) continue;
        const std::size_t from_end = graph_.stage(s).domain.size() - pass.along;
        if (edge.dims.size() < from_end) continue;
        const EdgeDimension& row = edge.dims[edge.dims.size() - from_end];
        if (!row.whole) row_taps = std::max(row_taps, static_cast<double>(row.raw_hi - row.raw_lo + 1));
      }
    }
    bool loops = false, lanes = false;
    for (ExprId e : ir::postorder(graph_, roots)) {
      loops |= is_reduction(graph_.node(e).op);
      lanes |= is_lanes(graph_.node(e).op);
    }
    for (StageId s : pass.stages) widest = std::max(widest, work_bytes_[s]);
    if (widest == 1 && aos) widest = 2;
    pass.lanes = std::max(1, plan_.device.vector_bytes / widest);
    if (lanes) pass.lanes = static_cast<int>(ir::lanes_of_piece);  // a piece is read line after line
    pass.pairs = true;
    for (StageId s : pass.stages) pass.pairs = pass.pairs && pairs_[s] && plan_.stages[s].home != Home::inside;
    if (pass.pairs) pass.lanes *= 2;
    // (Alone in its pass: every chain has four totals a row.)
    const int chains = quads_[pass.stages.front()].chains;
    pass.quads = chains > 0 && plan_.stages[pass.stages.front()].home != Home::inside;
    if (pass.quads) pass.lanes = plan_.device.vector_bytes;
    double operations = analyze::operation_count(graph_, roots);
    if (pass.kind == PassKind::compose || lanes)
      pass.rows = 1;
    else if (row_taps <= 1)
      pass.rows = operations <= 40 ? 4 : operations <= 100 ? 2 : 1;
    else if (loops)
      pass.rows = 4;
    else
      pass.rows = operations <= 140 ? 4 : operations <= 300 ? 2 : 1;
    // A dense sum over many points: neighbouring rows share its loads, but no operation. Eight accumulators keep the
    // multiply-adds from waiting for each other. Groups of several passes take only four rows a step.
    const StageId first = pass.stages.front();
    const bool stepping = list.size() > 1 && pass.along == 0;
    const bool lone = !stepping && pass.kind == PassKind::point && pass.stages.size() == 1;
    bool dense = lone && !loops && row_taps >= 3 && operations <= 140 && operations_[first] > 0.8 * alone_[first];
    if (dense && ir::accesses(graph_, graph_.stage(first).body).size() >= 20) pass.rows = 8;
    if (lone && loops && row_taps >= 3 && sums_rows(graph_, graph_.stage(first).body)) pass.rows = 8;
    if (pass.quads) pass.rows = std::max(1, plan_.device.vector_registers / 8 / chains);
    i64 most = pass.rows;
    for (StageId s : pass.stages)
      most = std::min(most, graph_.constant(graph_.stage(s).domain[pass.along]).value_or(most));
    pass.rows = static_cast<int>(std::bit_floor(static_cast<std::uint64_t>(std::max<i64>(1, most))));
  }
  return list;
}

}  // namespace tessera::plan
