// How `explain` says numbers: enough digits to compare, no more.
#include "plan/explain_words.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace tessera::plan {

std::string counted(i64 n, const std::string& thing) {
  return fmt::format("{} {}{}", n, thing, n == 1 ? "" : "s");
}

std::string milliseconds(double ms) {
  return fmt::format("{:.{}f} ms", ms, ms < 0.01 ? 4 : ms < 10 ? 2 : ms < 100 ? 1 : 0);
}

std::string extents(const std::vector<i64>& shape) {
  std::string text;
  for (i64 n : shape) text += (text.empty() ? "" : " x ") + std::to_string(n);
  return text;
}

std::string lives_in(const StageReport& s) {
  if (s.ring.bytes == 0) return s.home;
  return fmt::format("{} {} x {}, {}", s.home, s.ring.rows, s.ring.columns,
                     base::format_bytes(static_cast<double>(s.ring.bytes)));
}

std::string block(const PassReport& pass) {
  return pass.compose ? "row" : fmt::format("{}x{}", pass.rows, pass.lanes);
}

std::string halo(const GroupReport& g) {
  if (g.halo_rows == 0 && g.halo_columns == 0) return "no halo";
  if (g.halo_columns == 0) return "halo of " + counted(g.halo_rows, "row");
  if (g.halo_rows == 0) return "halo of " + counted(g.halo_columns, "column");
  return "halo of " + counted(g.halo_rows, "row") + " and " + counted(g.halo_columns, "column");
}

std::string assumed(const Report& r) {
  std::string text;
  for (std::size_t k = 0; k < r.assumed.size(); ++k)
    text += fmt::format("{}{} = {}", k ? ", " : "", r.parameters[k].first, r.assumed[k]);
  return text;
}

}  // namespace tessera::plan
