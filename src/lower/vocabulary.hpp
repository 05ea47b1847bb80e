// The types, calls and tables that all parts of a group's function are written with.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ir/builder.hpp"

namespace tessera::lower {

using ir::nest::Builder;
using ir::nest::bytes_pointer;
using ir::nest::call_i64;
using ir::nest::choose;
using ir::nest::flag_type;
using ir::nest::index_type;

// N and T of the function; interface.hpp says what stands in them.
inline ir::nest::Value integers() {
  return ir::nest::variable("N", {ir::nest::Lane::i64, 1, true});
}
inline ir::nest::Value tile_shape() {
  return ir::nest::variable("T", {ir::nest::Lane::i64, 1, true});
}

}  // namespace tessera::lower
