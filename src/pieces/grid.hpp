// A result cut into boxes that are computed one after the other, so large as memory allows and cost asks for.
#pragma once

#include <functional>

#include "tessera/array.hpp"
#include "tessera/error.hpp"
#include "tessera/options.hpp"

namespace tessera::pieces {

struct Grid {
  Region whole;  // what is cut: all of a result, or a part of it
  Shape piece;   // of every box but those at the ends
  i64 count() const;
  // The box with this number, in the order of memory.
  Region box(i64 number) const;
};

// What computing a box takes.
struct Demand {
  i64 memory = 0;   // bytes at once, with the boxes before and behind it under way
  double work = 0;  // in bytes that are read, computed and written, halo and all
};

struct Chosen {
  Grid grid;
  i64 memory = 0;  // that its boxes take at most
};

// Not even the least boxes fit.
class TooLittle : public Error {
 public:
  TooLittle(Shape piece, i64 needed, i64 memory);
  Shape piece;
  i64 needed;  // bytes; what chooses boxes finds some that fit there
};

// Boxes whose edges are multiples of `edge` from the beginning of `whole`, or its ends. Of those that fit into `memory`
// bytes, one that takes little work a point; not larger than that asks for, so that reading, computing and writing go
// on beside each other. What boxes take differs with their place: many of them are asked. At least `boxes` of them,
// where there are so many edges. Throws TooLittle, an Error(argument).
Chosen choose_grid(const Region& whole, const Shape& edge, i64 memory,
                   const std::function<Demand(const Region&)>& demand, i64 boxes = 1);

// The same of boxes that follow each other in the order of memory: whole rows, or whole planes, and so on.
Chosen choose_rows(const Region& whole, i64 memory, const std::function<Demand(const Region&)>& demand);

}  // namespace tessera::pieces
