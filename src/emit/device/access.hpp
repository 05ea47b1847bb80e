// Whole vectors of 2, 4, 8 or 16 neighbours between memory and scalars, as macros: tsr_load_u8x8(p, v0, v1 ...).
#pragma once

#include <string>
#include <string_view>

#include "ir/nest/nest.hpp"

namespace tessera::emit {

// What the name of such a macro says.
struct Access {
  explicit Access(std::string_view name);  // "tsr_load_words_u8x16"

  // load and store: of arrays; take and put: of shared memory; look: of a table.
  std::string name, verb;
  ir::nest::Type type;  // of the neighbours
  bool words = false;   // the scalars are words of 32 bits, lowest first

  bool loads() const { return verb == "load" || verb == "take" || verb == "look"; }
  int bytes() const { return type.lanes * ir::nest::size_of(type.lane); }
  int scalars() const { return words ? bytes() / 4 : type.lanes; }

  std::string macro(const std::string& body) const;
  // Of words: `whole` is a vector or a word, `from` what gives one, `to` the statement that stores tsr_v, one.
  std::string macro_of_words(const std::string& whole, const std::string& from, const std::string& to) const;
};

// The pattern once for every number below `count`, its {k}.
std::string each(int count, std::string_view pattern);

}  // namespace tessera::emit
