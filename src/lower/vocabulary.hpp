// The types, calls and tables that all parts of a group's function are written with.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ir/nest.hpp"

namespace tessera::lower {

constexpr ir::nest::Type index_type{};
constexpr ir::nest::Type flag_type{ir::nest::Lane::i32, 1, false};
constexpr ir::nest::Type bytes_pointer{ir::nest::Lane::u8, 1, true};

// A helper of the emitted code that gives an i64.
inline ir::nest::Value call_i64(const std::string& name, std::vector<ir::nest::Value> args) {
  return ir::nest::call(name, index_type, std::move(args));
}

// One of two indices.
inline ir::nest::Value choose(const ir::nest::Value& flag, const ir::nest::Value& then,
                              const ir::nest::Value& otherwise) {
  return ir::nest::operation(ir::Op::select, index_type, {flag, then, otherwise});
}

// N and T of the function; interface.hpp says what stands in them.
inline ir::nest::Value integers() {
  return ir::nest::variable("N", {ir::nest::Lane::i64, 1, true});
}
inline ir::nest::Value tile_shape() {
  return ir::nest::variable("T", {ir::nest::Lane::i64, 1, true});
}

}  // namespace tessera::lower
