// Notes on ports and on what is kept.
#include "emit/hardware_notes.hpp"

#include <fmt/format.h>

namespace tessera::emit {

std::string number_note(const hardware::Port& port) {
  std::string note = port.bytes() == 8 && !is_float(port.type) ? "64 bits" : std::string(name_of(port.type));
  if (port.fraction > 0) note += fmt::format(" / 2^{}", port.fraction);
  if (port.fraction < 0) note += fmt::format(" * 2^{}", -port.fraction);
  if (port.error > 0) note += fmt::format(", at most {:.3g} from exact arithmetic", port.error);
  return note;
}

std::string hardware_notes(const hardware::Netlist& netlist, const hardware::DelayLines& lines) {
  std::string text = "//\n";
  for (const hardware::Port& port : netlist.inputs) text += fmt::format("// {} in: {}\n", port.name, number_note(port));
  for (const hardware::Port& port : netlist.scalars)
    text += fmt::format("// {} for all of a frame: {}\n", port.name, number_note(port));
  for (const hardware::Result& r : netlist.results)
    text += fmt::format("// {} out: {}; {} ticks of a word after the input{}\n", r.port.name, number_note(r.port),
                        netlist.ticks(r.lag), netlist.frame.fixed ? "" : ", where rows are longest");
  i64 bits = lines.memory_bits;
  for (const hardware::LineMemory& m : hardware::line_memories(netlist, std::vector<int>(netlist.size(), 0)))
    bits += netlist.ticks(m.length) / m.step * m.width;
  text += fmt::format("//\n// Line buffers hold {} bits, shift registers {}.\n", bits, lines.register_bits);
  return text;
}

std::string extents_notes(const hardware::Netlist& netlist, const hardware::DelayLines& lines) {
  const hardware::Given& given = netlist.given;
  const i64 least[] = {netlist.least_height, hardware::least_width(netlist, lines)};
  std::string all;
  for (std::size_t d = 0; d < 2; ++d) {
    all += fmt::format("{}: {} to {}", d == 0 ? "height" : "; width", least[d], given.most[d]);
    if (given.unit[d] == 1) continue;
    if (given.rest[d] > 0) all += fmt::format(", {} more than", given.rest[d]);
    all += fmt::format("{} a multiple of {}", given.rest[d] > 0 ? "" : ",", given.unit[d]);
  }
  return all;
}

}  // namespace tessera::emit
