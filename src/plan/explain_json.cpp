// `explain` for programs: every fact of the report, keys as in the headings of the text.
#include <nlohmann/json.hpp>

#include "plan/explain.hpp"

namespace tessera::plan {

using nlohmann::ordered_json;

namespace {

ordered_json stage_json(const Report& r, const StageReport& s) {
  ordered_json reads = ordered_json::array();
  for (const ReadReport& read : s.reads)
    reads.push_back({{"stage", r.stages[read.producer].name}, {"window", read.window}, {"border", read.border}});
  ordered_json j = {{"name", s.name}, {"kind", s.kind},       {"type", s.type},   {"stored", s.lane},
                    {"home", s.home}, {"extents", s.extents}, {"shape", s.shape}, {"operations", s.operations},
                    {"reads", reads}};
  j["group"] = s.group < 0 ? ordered_json() : ordered_json(s.group);
  j["pass"] = s.pass < 0 ? ordered_json() : ordered_json(s.pass);
  if (s.ring.bytes > 0)
    j["ring"] = {
        {"rows", s.ring.rows}, {"columns", s.ring.columns}, {"row_bytes", s.ring.row_bytes}, {"bytes", s.ring.bytes}};
  return j;
}

ordered_json group_json(const Report& r, const GroupReport& g) {
  auto names = [&](const std::vector<ir::StageId>& stages) {
    ordered_json list = ordered_json::array();
    for (ir::StageId s : stages) list.push_back(r.stages[s].name);
    return list;
  };
  ordered_json passes = ordered_json::array();
  for (const PassReport& p : g.passes)
    passes.push_back(
        {{"kind", p.compose ? "compose" : "point"}, {"stages", names(p.stages)}, {"rows", p.rows}, {"lanes", p.lanes}});
  return {{"anchor", r.stages[g.anchor].name},
          {"stages", names(g.stages)},
          {"passes", passes},
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
          {"bound_by", g.bound_by_memory ? "memory" : "arithmetic"},
          {"reasons", g.reasons}};
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
  ordered_json all = {{"device", r.device},
                      {"threads", r.threads},
                      {"schedule", r.schedule},
                      {"numbers", r.numbers},
                      {"parameters", parameters},
                      {"decided_for", assumed},
                      {"milliseconds", r.milliseconds},
                      {"bytes", r.bytes},
                      {"minimum_bytes", r.minimum_bytes},
                      {"operations", r.operations},
                      {"groups", groups},
                      {"stages", stages},
                      {"remarks", r.remarks}};
  return all.dump(2) + "\n";
}

}  // namespace tessera::plan
