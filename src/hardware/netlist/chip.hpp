// Parts for which circuits are made: what their logic and their multipliers take.
//
// Delays are those of a chain of operations as place and route reports them, with the way to the next cell; a chain is
// broken where it does not fit the period (schedule.hpp). Multipliers take factors of so many bits, with their signs;
// what is wider is put together from several (products.hpp).
#pragma once

#include <string>
#include <string_view>

namespace tessera::hardware {

enum class Chip { ecp5, ice40, xilinx };

// Picoseconds.
struct Delays {
  int clock = 0;                 // out of a register, and into one
  int cell = 0;                  // of a look-up table
  int carry = 0, carry_bit = 0;  // of a chain of carries, and of each bit of it
  int fan = 0, narrow = 0;       // of a condition that goes to more than so many bits
  // Memories and multipliers lie far away: out of the former, beyond that of a register; into the latter's.
  int memory = 0, multiplier = 0;
};

// Bits of the factors of a multiplier; 0: there is none.
struct Block {
  int wide = 0, narrow = 0;
};

const Delays& delays_of(Chip);
Block block_of(Chip);
std::string_view name_of(Chip);
// Throws Error(argument) where there is none of that name.
Chip chip_of(const std::string& name);

}  // namespace tessera::hardware
