// Decisions as comments: see decision_notes.hpp.
#include "emit/decision_notes.hpp"

#include <fmt/format.h>

namespace tessera::emit {

std::string decision_notes(const hardware::Netlist& netlist) {
  std::string text;
  for (const hardware::Decision& d : netlist.decisions)
    text += fmt::format("// Stage '{}' {}: another result may come out where they are within {:.3g} of a limit.\n",
                        d.stage.empty() ? "result" : d.stage, d.what, d.error);
  return text;
}

}  // namespace tessera::emit
