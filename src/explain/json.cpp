// `explain` for programs: every fact of the report, keys as in the headings of the text.
#include <nlohmann/json.hpp>

#include "explain/report.hpp"
#include "explain/words.hpp"

namespace tessera::explain {

using nlohmann::ordered_json;

namespace {

ordered_json stage_json(const Report& r, const StageReport& s) {
  ordered_json reads = ordered_json::array();
  for (const ReadReport& read : s.reads)
    reads.push_back({{"stage", r.stages[read.producer].name}, {"window", read.window}, {"border", read.border}});
  ordered_json j = {{"name", s.name}, {"kind", s.kind},       {"type", s.type},   {"stored", s.lane},
                    {"home", s.home}, {"extents", s.extents}, {"shape", s.shape}, {"operations", s.operations},
                    {"reads", reads}};
  if (!s.output.empty()) j["result"] = s.output;
  j["group"] = s.group < 0 ? ordered_json() : ordered_json(s.group);
  j["pass"] = s.pass < 0 ? ordered_json() : ordered_json(s.pass);
  if (s.ring.bytes > 0)
    j["ring"] = {
        {"rows", s.ring.rows}, {"columns", s.ring.columns}, {"row_bytes", s.ring.row_bytes}, {"bytes", s.ring.bytes}};
  return j;
}

ordered_json known(i64 n) {
  return n < 0 ? ordered_json() : ordered_json(n);
}

template <class Names>
ordered_json kernel_json(const KernelReport& k, Names names) {
  return {{"name", k.name},
          {"stages", names(k.stages)},
          {"runs", k.reduces         ? "pieces"
                   : !k.work.empty() ? "lines"
                   : k.framed        ? "register tiles"
                   : k.strips        ? "strips"
                   : k.tile.empty()  ? "points"
                                     : "tiles"},
          {"not_in_strips_since", k.why},
          {"work", k.work},
          {"tile", k.tile},
          {"columns", k.columns},
          {"values_of_a_register", k.values},
          {"strip_rows", k.strip_rows},
          {"warm_up_rows", k.warm_up},
          {"grid", k.grid},
          {"block", k.block},
          {"registers_estimated", k.registers_estimated},
          {"registers", known(k.registers)},
          {"shared_bytes", known(k.shared_bytes)},
          {"spilled_bytes", known(k.spilled_bytes)},
          {"blocks_per_multiprocessor", known(k.blocks_per_multiprocessor)},
          {"warps", known(k.warps)},
          {"most_warps", known(k.most_warps)},
          {"reads", names(k.reads)},
          {"writes", names(k.writes)},
          {"bytes_read", k.bytes_read},
          {"bytes_written", k.bytes_written},
          {"compulsory_bytes", k.compulsory_bytes},
          {"points", k.points},
          {"operations_per_point", k.operations},
          {"milliseconds", k.milliseconds},
          {"memory_milliseconds", k.memory_milliseconds},
          {"compute_milliseconds", k.compute_milliseconds},
          {"strip_milliseconds", k.strip_milliseconds},
          {"bound_by", bound_by(k)}};
}

ordered_json ways_json(const plan::GroupWay& way) {
  const char* price = way.unit == plan::WayUnit::instructions ? "instructions_per_result" : "nanoseconds_per_result";
  ordered_json all = ordered_json::array();
  for (std::size_t k = 0; k < way.asked.size(); ++k) {
    const plan::WayAnswer& a = way.asked[k];
    all.push_back({{"way", a.way},
                   {"form", a.form.empty() ? ordered_json() : ordered_json(a.form)},
                   {"taken", k == way.taken},
                   {"refused", a.fits() ? ordered_json() : ordered_json(a.why)},
                   {price, a.price > 0 ? ordered_json(a.price) : ordered_json()}});
  }
  return all;
}

template <class Names>
ordered_json on_device_json(const Report& r, const GroupReport& g, Names names) {
  ordered_json passes = ordered_json::array(), kernels = ordered_json::array();
  for (std::size_t p = 0; p < g.passes.size(); ++p) {
    const KernelReport* kernel = kernel_of(g, p);
    passes.push_back({{"kind", g.passes[p].form == plan::PassForm::compose ? "compose" : "point"},
                      {"stages", names(g.passes[p].stages)},
                      {"kernel", kernel ? ordered_json(kernel->name) : ordered_json()}});
  }
  for (const KernelReport& k : g.kernels) kernels.push_back(kernel_json(k, names));
  return {{"anchor", r.stages[g.anchor].name},
          {"stages", names(g.stages)},
          {"passes", passes},
          {"ways", ways_json(g.way)},
          {"kernels", kernels},
          {"in_place", names(g.in_place)},
          {"reads", names(g.reads)},
          {"writes", names(g.writes)},
          {"bytes_read", g.bytes_read},
          {"bytes_written", g.bytes_written},
          {"compulsory_bytes", g.compulsory_bytes},
          {"operations_per_point", g.operations},
          {"milliseconds", g.milliseconds},
          {"memory_milliseconds", g.memory_milliseconds},
          {"compute_milliseconds", g.compute_milliseconds},
          {"bound_by", bound_by(g)},
          {"reasons", g.reasons}};
}

ordered_json device_json(const DeviceReport& d) {
  return {{"index", d.index},
          {"found", d.missing.empty()},
          {"missing", d.missing},
          {"name", d.name},
          {"compiled_for", d.compiled_for},
          {"driver", d.driver},
          {"multiprocessors", d.multiprocessors},
          {"bandwidth", d.bandwidth * 1e9},
          {"bandwidth_assumed", d.bandwidth_assumed},
          {"operations_per_second", d.operations * 1e9},
          {"operations_assumed", d.operations_assumed},
          {"runs_untiled_as_small", d.small}};
}

ordered_json group_json(const Report& r, const GroupReport& g) {
  auto names = [&](const std::vector<ir::StageId>& stages) {
    ordered_json list = ordered_json::array();
    for (ir::StageId s : stages) list.push_back(r.stages[s].name);
    return list;
  };
  ordered_json passes = ordered_json::array();
  for (const PassReport& p : g.passes)
    if (p.tile_rows > 0)
      passes.push_back({{"kind", p.contraction ? "contraction" : "transform"},
                        {"stages", names(p.stages)},
                        {"tile", {p.tile_rows, p.tile_columns}},
                        {"planes", p.tile_planes}});
    else
      passes.push_back({{"kind", p.form == plan::PassForm::compose ? "compose" : "point"},
                        {"stages", names(p.stages)},
                        {"form", plan::name_of(p.form)},
                        {"rows", p.rows},
                        {"lanes", p.lanes}});
  ordered_json kernels = ordered_json::array();
  for (const KernelReport& k : g.kernels) kernels.push_back(kernel_json(k, names));
  if (!g.transform.empty())
    return {{"anchor", r.stages[g.anchor].name},
            {"stages", names(g.stages)},
            {"transform", g.transform},
            {"on", g.kernels.empty() ? "host" : "device"},
            {"kernels", kernels},
            {"reads", names(g.reads)},
            {"writes", names(g.writes)},
            {"bytes_read", g.bytes_read},
            {"bytes_written", g.bytes_written},
            {"compulsory_bytes", g.compulsory_bytes},
            {"operations_per_point", g.operations},
            {"milliseconds", g.milliseconds},
            {"memory_milliseconds", g.memory_milliseconds},
            {"compute_milliseconds", g.compute_milliseconds},
            {"bound_by", bound_by(g)},
            {"reasons", g.reasons}};
  if (r.on_device) return on_device_json(r, g, names);
  return {{"anchor", r.stages[g.anchor].name},
          {"stages", names(g.stages)},
          {"passes", passes},
          {"ways", ways_json(g.way)},
          {"tile", g.tile.extents},
          {"tiles", g.tile.tiles},
          {"streaming_stores", g.tile.streaming},
          {"step", g.step},
          {"halo_rows", g.halo_rows},
          {"halo_columns", g.halo_columns},
          {"ring_bytes", g.ring_bytes},
          {"reads", names(g.reads)},
          {"writes", names(g.writes)},
          {"bytes_read", g.bytes_read},
          {"bytes_written", g.bytes_written},
          {"compulsory_bytes", g.compulsory_bytes},
          {"operations_per_point", g.operations},
          {"milliseconds", g.milliseconds},
          {"memory_milliseconds", g.memory_milliseconds},
          {"compute_milliseconds", g.compute_milliseconds},
          {"bound_by", bound_by(g)},
          {"reasons", g.reasons}};
}

ordered_json sums_json(const Report& r) {
  ordered_json all = ordered_json::array();
  for (const rewrite::SumChoice& s : r.sums) {
    ordered_json prices = ordered_json::object();
    for (const rewrite::SumChoice::Price& p : s.prices) prices[rewrite::name_of(p.method)] = p.nanoseconds;
    all.push_back({{"stage", s.stage},
                   {"weights", s.extents},
                   {"method", rewrite::name_of(s.taken)},
                   {"products", s.rank},
                   {"nanoseconds_per_point", prices}});
  }
  return all;
}

}  // namespace

std::string to_json(const Report& r) {
  ordered_json parameters = ordered_json::object(), assumed = ordered_json::object();
  for (std::size_t k = 0; k < r.parameters.size(); ++k) {
    parameters[r.parameters[k].first] = r.parameters[k].second;
    assumed[r.parameters[k].first] = r.assumed.empty() ? r.parameters[k].second : r.assumed[k];
  }
  ordered_json stages = ordered_json::array(), groups = ordered_json::array();
  for (const StageReport& s : r.stages) stages.push_back(stage_json(r, s));
  for (const GroupReport& g : r.groups) groups.push_back(group_json(r, g));
  ordered_json all = {{"target", r.on_device ? r.on_device->target : "cpu"}, {"device", r.device}};
  if (r.on_device)
    all["device_facts"] = device_json(*r.on_device);
  else
    all["threads"] = r.threads;
  all.update({{"schedule", r.schedule},
              {"numbers", r.numbers},
              {"parameters", parameters},
              {"decided_for", assumed},
              {"milliseconds", r.milliseconds},
              {"bytes", r.bytes},
              {"minimum_bytes", r.minimum_bytes},
              {"operations", r.operations},
              {"groups", groups},
              {"stages", stages},
              {"remarks", r.remarks},
              {"prices", r.prices_measured ? "measured" : "built in"},
              {"sums", sums_json(r)}});
  return all.dump(2) + "\n";
}

}  // namespace tessera::explain
