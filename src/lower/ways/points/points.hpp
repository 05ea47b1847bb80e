// Groups pass by pass: a kernel for every pass, a point a thread. Nothing stays on the chip between two passes: every
// stage has an array. This takes all groups, and is what is left when no other way fits.
//
// A block of threads whose reads all lie inside of their arrays runs a text without border maps; the others run one
// that maps every index.
#pragma once

#include "lower/way.hpp"

namespace tessera::lower {

extern const DeviceWay points;

}  // namespace tessera::lower
