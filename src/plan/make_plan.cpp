// The passes from a stage graph to a plan, in order.
#include <algorithm>
#include <set>

#include "analyze/assumed.hpp"
#include "ir/build.hpp"
#include "plan/groups/groups.hpp"
#include "plan/plan.hpp"
#include "rewrite/choose.hpp"
#include "rewrite/keyed.hpp"
#include "rewrite/nans.hpp"
#include "rewrite/parts.hpp"
#include "rewrite/rebuild.hpp"
#include "rewrite/reductions.hpp"
#include "rewrite/sums/contraction.hpp"
#include "rewrite/sums/products.hpp"

namespace tessera::plan {

namespace {

void minimum_traffic(Plan& plan) {
  auto bytes = [&](const std::vector<ir::SizeId>& extents, const Format& format) {
    double n = static_cast<double>(format.size());
    for (ir::SizeId e : extents) n *= static_cast<double>(plan.graph.evaluate(e, plan.options.parameters));
    return n;
  };
  plan.minimum_bytes = 0;
  for (const ir::Argument& a : plan.graph.arguments)
    if (a.is_array) plan.minimum_bytes += bytes(a.extents, a.format);
  for (const ir::Output& o : plan.graph.outputs)
    plan.minimum_bytes += bytes(plan.graph.stage(o.stages.front()).domain, o.format);
}

void group_stages(Plan& plan) {
  const GraphFacts facts = facts_of(plan);
  Grouping grouping = cut(facts);
  if (!repeats(plan.graph, grouping)) return take(facts, grouping, plan);
  copy_repeated(plan.graph, grouping);
#ifndef NDEBUG
  ir::verify(plan.graph);
#endif
  take(facts_of(plan), grouping, plan);
}

}  // namespace

void compute_outputs(ir::Graph& graph) {
  std::set<ir::StageId> taken;
  for (ir::Output& output : graph.outputs)
    for (ir::StageId& s : output.stages) {
      if (graph.stage(s).kind != ir::StageKind::input && taken.insert(s).second) continue;
      ir::Stage copy;
      copy.name = graph.stage(s).name;
      copy.type = graph.stage(s).type;
      copy.domain = graph.stage(s).domain;
      copy.span = graph.stage(s).span;
      std::size_t rank = copy.domain.size();
      copy.margin_lo.assign(rank, 0);
      copy.margin_hi.assign(rank, 0);
      copy.body = ir::access(graph, s, std::vector<ir::Index>(rank), std::vector<Border>(rank, {BorderMode::clamp, 0}));
      s = graph.add(std::move(copy));
      taken.insert(s);
    }
}

void predict(Plan& plan, const std::vector<i64>& parameters) {
  plan.options.parameters = parameters;
  predict_groups(facts_of(plan), plan);
  minimum_traffic(plan);
}

Plan make_plan(ir::Graph graph, const Options& options, const machine::Machine& device) {
  if (rewrite::has_transforms(graph))
    throw Error(ErrorClass::internal, "a program with Fourier transforms is planned in parts");
  Plan plan;
  plan.options = options;
  plan.device = device;
  if (plan.options.parameters.size() != graph.parameters.size())
    plan.options.parameters = analyze::assumed_parameters(graph);
  bool rewrite = options.schedule != Schedule::untiled;
  bool reorder = options.numbers == Numbers::fast && rewrite;
  auto pass = [&](auto&& apply) {
    apply();
#ifndef NDEBUG
    ir::verify(graph);
#endif
  };
  pass([&] { rewrite::remove_dead_stages(graph); });
  pass([&] { plan.lifted = rewrite::lift_rank(graph); });
  pass([&] { rewrite::separate_fields(graph); });
  pass([&] { compute_outputs(graph); });
  pass([&] { rewrite::guard_medians(graph); });
  pass([&] { rewrite::take_choices(graph, plan.remarks); });
  machine::Machine able = device;
  able.transforms = device.transforms && options.schedule == Schedule::automatic;
  able.matrices = device.matrices && options.schedule == Schedule::automatic;
  able.large_tiles = device.large_tiles && options.schedule == Schedule::automatic;
  // (whole: the sums that it could take are no more, whole.hpp.)
  const Method method = options.method == Method::whole ? Method::automatic : options.method;
  const Numbers order = reorder ? Numbers::fast : Numbers::exact;
  if (options.schedule == Schedule::automatic)
    pass([&] { rewrite::take_contractions(graph, able, plan.options.parameters, plan.remarks, plan.tilings); });
  if (rewrite) pass([&] { rewrite::name_products(graph, order, method, able, plan.options.parameters, plan.remarks); });
  pass([&] {
    rewrite::expand_windows(graph, order, method, able, plan.options.parameters, plan.remarks, plan.sums, plan.tilings);
  });
  if (options.numbers == Numbers::fast) pass([&] { rewrite::shorten_functions(graph); });
  if (rewrite) pass([&] { rewrite::merge_equal_stages(graph); });
  if (rewrite) pass([&] { rewrite::fold_stages(graph, device, plan.remarks); });
  pass([&] { rewrite::remove_dead_stages(graph); });
  pass([&] { rewrite::take_reductions_apart(graph); });
  const auto keys = device.columns_together ? rewrite::KeysAre::computed : rewrite::KeysAre::rows;
  pass([&] { rewrite::take_keyed_apart(graph, keys); });
  if (rewrite) pass([&] { rewrite::separate_pieces(graph); });
  if (rewrite && device.joins_fields) pass([&] { plan.declared = rewrite::join_fields(graph, plan.remarks); });
  if (options.numbers == Numbers::exact) pass([&] { rewrite::unify_nans(graph); });
  plan.graph = std::move(graph);
  group_stages(plan);
  minimum_traffic(plan);
  return plan;
}

}  // namespace tessera::plan
