// Points in memory and in registers: loads and stores of one, and the transposition of a square of numbers.
#pragma once

#include <vector>

#include "fft/butterfly.hpp"
#include "fft/cpu/passes.hpp"

namespace tessera::fft {

class Ends {
 public:
  Ends(ir::nest::Builder& out, ir::nest::Type vector) : out_(out), vector_(vector) {}

  // The point `at` numbers behind the pointer.
  Complex load(End, const ir::nest::Value& pointer, const ir::nest::Value& at);
  void store(End, const ir::nest::Value& pointer, const ir::nest::Value& at, const Complex&, bool streaming);

  // As many vectors as they have lanes: number k of vector j becomes number j of vector k. First squares of 16 bytes'
  // width in all columns of them at once, which costs half as much; then whole squares. A stage interleaves vector j
  // with the one half of all further on, which turns the digits of (vector, lane) by one place.
  std::vector<ir::nest::Value> transposed(std::vector<ir::nest::Value>);

 private:
  ir::nest::Builder& out_;
  ir::nest::Type vector_;
};

}  // namespace tessera::fft
