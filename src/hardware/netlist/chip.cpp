// What the parts' own tools report.
#include "hardware/netlist/chip.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "tessera/error.hpp"

namespace tessera::hardware {

namespace {

// An ECP5 of speed 8; of a Xilinx 7, which no open tool routes, the same, though its cells are faster.
constexpr Delays ecp5{700, 1200, 1750, 25, 700, 8, 1300, 700};
// An iCE40 HX8K.
constexpr Delays ice40{1300, 1300, 1700, 140, 600, 8, 1600, 0};

}  // namespace

const Delays& delays_of(Chip chip) {
  return chip == Chip::ice40 ? ice40 : ecp5;
}

Block block_of(Chip chip) {
  if (chip == Chip::ice40) return {};
  return chip == Chip::xilinx ? Block{25, 18} : Block{18, 18};
}

std::string_view name_of(Chip chip) {
  return chip == Chip::ecp5 ? "ecp5" : chip == Chip::ice40 ? "ice40" : "xilinx";
}

Chip chip_of(const std::string& name) {
  for (const Chip c : {Chip::ecp5, Chip::ice40, Chip::xilinx})
    if (name == name_of(c)) return c;
  throw Error(ErrorClass::argument,
              fmt::format("there is no chip {}; expected ecp5, ice40 or xilinx", base::quoted(name)));
}

}  // namespace tessera::hardware
