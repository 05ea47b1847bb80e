// The passes from a stage graph to a plan, in order.
#include <algorithm>
#include <set>

#include "ir/build.hpp"
#include "plan/groups.hpp"
#include "plan/nans.hpp"
#include "plan/parts.hpp"
#include "plan/plan.hpp"
#include "plan/products.hpp"
#include "plan/rebuild.hpp"
#include "plan/reductions.hpp"

namespace tessera::plan {

namespace {

// Outputs become stages of their own: an argument that is returned is copied, a stage that is returned twice too.
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
  Grouper grouper(plan);
  Grouping grouping = grouper.cut();
  if (!repeats(plan.graph, grouping)) return grouper.take(grouping);
  copy_repeated(plan.graph, grouping);
#ifndef NDEBUG
  ir::verify(plan.graph);
#endif
  Grouper(plan).take(grouping);
}

}  // namespace

std::vector<i64> assumed_parameters(const ir::Graph& graph) {
  // Parameters that name a row extent are taken as 2160, those of the fastest dimension as 3840; volumes as 256 a side.
  std::size_t rank = 1;
  for (const ir::Argument& a : graph.arguments) rank = std::max(rank, a.extents.size());
  std::vector<i64> values(graph.parameters.size(), rank > 2 ? 256 : 2160);
  for (const ir::Argument& a : graph.arguments) {
    if (!a.is_array || a.extents.empty() || rank > 2) continue;
    const ir::SizeNode& last = graph.node(a.extents.back());
    if (last.op == ir::SizeOp::parameter) values[static_cast<std::size_t>(last.value)] = rank == 1 ? 1 << 22 : 3840;
  }
  // Where an extent is a multiple of its parameter, the extent is what is assumed.
  for (const ir::Argument& a : graph.arguments)
    for (std::size_t d = 0; d < a.extents.size() && a.is_array; ++d) {
      const ir::SizeNode& product = graph.node(a.extents[d]);
      if (product.op != ir::SizeOp::mul) continue;
      const bool first = graph.node(product.a).op == ir::SizeOp::parameter;
      const ir::SizeNode& parameter = graph.node(first ? product.a : product.b);
      const auto factor = graph.constant(first ? product.b : product.a);
      if (parameter.op != ir::SizeOp::parameter || !factor || *factor < 1) continue;
      const i64 wanted = rank > 2 ? 256 : rank == 1 ? 1 << 22 : d + 1 == a.extents.size() ? 3840 : 2160;
      values[static_cast<std::size_t>(parameter.value)] = std::max<i64>(1, wanted / *factor);
    }
  return values;
}

void predict(Plan& plan, const std::vector<i64>& parameters) {
  plan.options.parameters = parameters;
  Grouper(plan).predict();
  minimum_traffic(plan);
}

Plan make_plan(ir::Graph graph, const Options& options, const Device& device) {
  if (has_transforms(graph)) throw Error(ErrorClass::internal, "a program with Fourier transforms is planned in parts");
  Plan plan;
  plan.options = options;
  plan.device = device;
  if (plan.options.parameters.size() != graph.parameters.size()) plan.options.parameters = assumed_parameters(graph);
  bool rewrite = options.schedule != Schedule::untiled;
  bool reorder = options.numbers == Numbers::fast && rewrite;
  auto pass = [&](auto&& apply) {
    apply();
#ifndef NDEBUG
    ir::verify(graph);
#endif
  };
  pass([&] { remove_dead_stages(graph); });
  pass([&] { plan.lifted = lift_rank(graph); });
  pass([&] { separate_fields(graph); });
  pass([&] { compute_outputs(graph); });
  pass([&] { guard_medians(graph); });
  Device able = device;
  able.transforms = device.transforms && options.schedule == Schedule::automatic;
  able.matrices = device.matrices && options.schedule == Schedule::automatic;
  able.large_tiles = device.large_tiles && options.schedule == Schedule::automatic;
  // (whole: the sums that it could take are no more, whole.hpp.)
  const Method method = options.method == Method::whole ? Method::automatic : options.method;
  const Numbers order = reorder ? Numbers::fast : Numbers::exact;
  if (rewrite) pass([&] { name_products(graph, order, method, able, plan.options.parameters, plan.remarks); });
  pass([&] { expand_windows(graph, order, method, able, plan.options.parameters, plan.remarks, plan.sums); });
  if (options.numbers == Numbers::fast) pass([&] { shorten_functions(graph); });
  if (rewrite) pass([&] { merge_equal_stages(graph); });
  if (rewrite) pass([&] { fold_stages(graph, device, plan.remarks); });
  pass([&] { remove_dead_stages(graph); });
  pass([&] { take_reductions_apart(graph); });
  if (rewrite) pass([&] { separate_pieces(graph); });
  if (rewrite && device.joins_fields) pass([&] { plan.declared = join_fields(graph, plan.remarks); });
  if (options.numbers == Numbers::exact) pass([&] { unify_nans(graph); });
  plan.graph = std::move(graph);
  group_stages(plan);
  minimum_traffic(plan);
  return plan;
}

}  // namespace tessera::plan
