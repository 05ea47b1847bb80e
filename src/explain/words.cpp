// How `explain` says numbers: enough digits to compare, no more.
#include "explain/words.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace tessera::explain {

std::string counted(i64 n, const std::string& thing) {
  return fmt::format("{} {}{}", n, thing, n == 1 ? "" : "s");
}

std::string milliseconds(double ms) {
  return fmt::format("{:.{}f} ms", ms, ms < 0.01 ? 4 : ms < 10 ? 2 : ms < 100 ? 1 : 0);
}

std::string kernel_time(double ms) {
  return ms < 100 ? fmt::format("{:.3g} ms", ms) : fmt::format("{:.0f} ms", ms);
}

std::string extents(const std::vector<i64>& shape) {
  std::string text;
  for (i64 n : shape) text += (text.empty() ? "" : " x ") + std::to_string(n);
  return text;
}

std::string lives_in(const StageReport& s) {
  const std::string home = s.output.empty() ? s.home : fmt::format("{} '{}'", s.home, s.output);
  if (s.ring.bytes == 0) return home;
  std::string middle = s.ring.middle == 1 ? "" : fmt::format("{} x ", s.ring.middle);
  return fmt::format("{} {} x {}{}, {}", home, s.ring.rows, middle, s.ring.columns,
                     base::format_bytes(static_cast<double>(s.ring.bytes)));
}

std::string block(const PassReport& pass) {
  if (pass.contraction) return fmt::format("contraction {}x{}", pass.tile_rows, pass.tile_columns);
  if (pass.tile_rows > 0) {
    const std::string planes = pass.tile_planes > 1 ? fmt::format("{}x", pass.tile_planes) : "";
    return fmt::format("fft {}{}x{}", planes, pass.tile_rows, pass.tile_columns);
  }
  if (pass.form == plan::PassForm::compose) return "row";
  const std::string form = pass.form == plan::PassForm::vectors ? "" : fmt::format(" {}", plan::name_of(pass.form));
  return fmt::format("{}x{}{}", pass.rows, pass.lanes, form);
}

namespace {

std::string slice(const GroupReport& g) {
  return g.tile.extents.size() > 2 ? "plane" : "row";
}

}  // namespace

std::string step(const GroupReport& g) {
  return (g.step == 0 ? "a whole tile" : counted(g.step, slice(g))) + " a step";
}

std::string halo(const GroupReport& g) {
  if (g.halo_rows == 0 && g.halo_columns == 0) return "no halo";
  std::string rows = counted(g.halo_rows, slice(g)), columns = counted(g.halo_columns, "column");
  if (g.halo_columns == 0) return "halo of " + rows;
  return g.halo_rows == 0 ? "halo of " + columns : "halo of " + rows + " and " + columns;
}

std::string assumed(const Report& r) {
  std::string text;
  for (std::size_t k = 0; k < r.assumed.size(); ++k)
    text += fmt::format("{}{} = {}", k ? ", " : "", r.parameters[k].first, r.assumed[k]);
  return text;
}

std::string threads(const std::array<int, 3>& block) {
  return fmt::format("{}x{}{}", block[0], block[1], block[2] > 1 ? fmt::format("x{}", block[2]) : "");
}

std::string runs_as(const KernelReport& k) {
  if (!k.work.empty()) return k.work;
  if (!k.tile.empty()) return "tiles of " + extents(k.tile);
  if (k.framed)
    return fmt::format("{} x {} points a thread{}", k.strip_rows, k.columns, k.values > 1 ? ", two a register" : "");
  return k.strips ? fmt::format("strips of {} columns and {}", k.columns, counted(k.strip_rows, "row"))
                  : "a point a thread";
}

std::string way_line(const plan::WayAnswer& answer, plan::WayUnit unit) {
  const std::string name = answer.form.empty() ? answer.way : answer.form;
  if (!answer.fits()) return name + ": " + answer.why;
  if (answer.price <= 0) return name;
  return fmt::format("{}, {:.3g} {} a result{}", name, answer.price,
                     unit == plan::WayUnit::instructions ? "instructions" : "ns",
                     answer.memory_binds ? ", where memory binds" : "");
}

std::string registers(const KernelReport& k) {
  if (k.registers >= 0) return std::to_string(k.registers);
  return k.registers_estimated > 0 ? fmt::format("about {}", k.registers_estimated) : "";
}

std::string occupancy(const KernelReport& k) {
  return k.warps >= 0 && k.most_warps > 0 ? fmt::format("{} of {}", k.warps, k.most_warps) : "";
}

std::string bound_by(const GroupReport& g) {
  if (g.strip_milliseconds > std::max(g.memory_milliseconds, g.compute_milliseconds)) return "one strip";
  return g.bound_by_memory ? "memory" : "arithmetic";
}

std::string bound_by(const KernelReport& k) {
  if (k.strip_milliseconds > std::max(k.memory_milliseconds, k.compute_milliseconds)) return "one strip";
  return k.memory_milliseconds >= k.compute_milliseconds ? "memory" : "arithmetic";
}

const KernelReport* kernel_of(const GroupReport& g, std::size_t pass) {
  const std::vector<ir::StageId>& stages = g.passes[pass].stages;
  for (const KernelReport& k : g.kernels)
    if (std::find(k.stages.begin(), k.stages.end(), stages.front()) != k.stages.end()) return &k;
  return nullptr;
}

std::string pass_name(const GroupReport& g, std::size_t pass) {
  if (const KernelReport* kernel = kernel_of(g, pass)) return kernel->name;
  const PassReport& p = g.passes[pass];
  if (!g.transform.empty()) return "transform";
  if (p.form == plan::PassForm::compose || !g.kernels.empty()) return fmt::format("pass {}", pass + 1);
  if (p.contraction)
    return fmt::format("pass {}: a contraction in tiles of {} x {}", pass + 1, p.tile_rows, p.tile_columns);
  if (p.tile_rows > 0) {
    const std::string planes = p.tile_planes > 1 ? fmt::format(" in {} planes", p.tile_planes) : "";
    return fmt::format("pass {}: transforms of {} x {}{}", pass + 1, p.tile_rows, p.tile_columns, planes);
  }
  const std::string form = p.form == plan::PassForm::vectors ? "" : fmt::format(", {}", plan::name_of(p.form));
  return fmt::format("pass {}: {} x {} lanes{}", pass + 1, p.rows, p.lanes, form);
}

}  // namespace tessera::explain
