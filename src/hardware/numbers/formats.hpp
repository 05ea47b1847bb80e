// Which numbers stages hold: of floats in fixed point, how many bits of fraction, and how far they are off.
#pragma once

#include "hardware/stream.hpp"

namespace tessera::hardware {

// Sets the formats of all stages, and what values with errors decide, with the fewest bits of fraction that keep the
// error asked for. Throws Error(argument) where no number of bits does, or the results would be 0 everywhere.
void find_formats(Stream&, const StreamOptions&);

}  // namespace tessera::hardware
