// Sizes and arrays as values of the function that is being written: what its head has declared, or where that lies.
#pragma once

#include <map>
#include <vector>

#include "lower/vocabulary.hpp"
#include "lower/ways/stream/pass_body.hpp"

namespace tessera::lower {

class Declared {
 public:
  Declared(const StreamGroup& of, Builder& into) : group(of), builder(into) {}

  // Extents that the group's function needs, as values at its top.
  void declare_extents(const std::vector<PassBody>&);
  // What passes read of P and N, too: passes that do the same with other arrays then have the same text.
  void declare_arrays();

  ir::nest::Value extent(ir::SizeId) const;
  ir::nest::Value size_value(ir::SizeId) const;         // from the integers alone
  ir::nest::Value array_base(std::size_t array) const;  // u8*: its first element; what P holds at that place
  ir::nest::Value stride(std::size_t position) const;   // of an array, bytes; what N holds at that place
  ir::nest::Value row_of_array(ir::StageId, const std::vector<ir::nest::Value>& outer) const;

  const StreamGroup& group;
  Builder& builder;

 private:
  std::map<ir::SizeId, ir::nest::Value> extents_;
  std::map<std::size_t, ir::nest::Value> bases_, strides_;  // by place in P and in N
};

}  // namespace tessera::lower
