// What a circuit may give at a point, where values with errors decide: the derived check of what differs from the
// interpreter.
//
// A circuit computes with errors, which are bounded (Value::error). Where such a value is compared or made whole, a
// value close to the limit may fall on the other side, and what follows may be far from what the interpreter gives:
// no bound on errors says how far. So each decision is taken as it would be in exact arithmetic and, where it lies
// within its error of the limit, the other way as well; what may come out of all of them together lies in an interval.
// A circuit is right at a point when its result lies there, give or take the error of the result: elsewhere than at
// open decisions that is equality.
//
// Values are found from the result backwards, at the points that are asked for and those that they depend on.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "hardware/stream.hpp"
#include "tessera/array.hpp"

namespace tessera::hardware {

struct Span {
  double lo = 0, hi = 0;
  bool open() const { return lo < hi; }
};

class Possible {
 public:
  // `arguments` as for ref::interpret: arrays, and of scalars arrays of rank 0. The stream is to outlive this. Throws
  // Error(argument) where they do not fit its program.
  Possible(const Stream& stream, const std::vector<Array>& arguments);
  ~Possible();

  // Of exact arithmetic under all decisions that the circuit may take. Errors of the value are not in it.
  Span at(ir::StageId, i64 row, i64 column);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::hardware
