// A line for each stream of fixed point, and one for each stage whose decisions may be others: see number_notes.hpp.
#include "emit/number_notes.hpp"

#include <fmt/format.h>

namespace tessera::emit {

std::string number_notes(const hardware::Netlist& netlist, std::string_view comment) {
  std::string text;
  const auto note = [&](const hardware::Port& port, bool result) {
    if (port.fraction == 0 && port.error == 0) return;
    text += fmt::format("{} {}: numbers * 2^-{}", comment, port.name, port.fraction);
    if (result && port.error == 0) text += ", exact";
    if (port.error > 0) text += fmt::format(", {:.3g} at most from exact arithmetic", port.error);
    text += ".\n";
  };
  for (const hardware::Port& port : netlist.inputs) note(port, false);
  for (const hardware::Port& port : netlist.scalars) note(port, false);
  for (const hardware::Result& r : netlist.results) note(r.port, true);
  for (const hardware::Decision& d : netlist.decisions)
    text += fmt::format("{} Stage '{}' {}: it may decide otherwise where they are within {:.3g} of a limit.\n", comment,
                        d.stage.empty() ? "result" : d.stage, d.what, d.error);
  return text;
}

}  // namespace tessera::emit
