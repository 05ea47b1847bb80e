// See grid.hpp.
#include "pieces/grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text.hpp"
#include "tessera/error.hpp"

namespace tessera::pieces {
namespace {

// A box twice as large has to save this part of the work.
constexpr double worth_while = 0.01;
// Boxes below this are made larger whatever it saves: each costs calls and a turn of the threads.
constexpr i64 small = i64{32} << 20;  // bytes of memory

i64 boxes_along(const Grid& grid, std::size_t d) {
  return (grid.whole.end[d] - grid.whole.begin[d] + grid.piece[d] - 1) / grid.piece[d];
}

double points(const Region& box) {
  double n = 1;
  for (std::size_t d = 0; d < box.begin.size(); ++d) n *= static_cast<double>(box.end[d] - box.begin[d]);
  return n;
}

// One in the middle: no edge of the image saves it a halo.
Region middle(const Grid& grid) {
  Region box;
  for (std::size_t d = 0; d < grid.piece.size(); ++d) {
    const i64 k = (boxes_along(grid, d) - 1) / 2;
    box.begin.push_back(grid.whole.begin[d] + k * grid.piece[d]);
    box.end.push_back(std::min(box.begin[d] + grid.piece[d], grid.whole.end[d]));
  }
  return box;
}

using Demands = std::function<Demand(const Region&)>;

struct Candidate {
  Grid grid;
  i64 memory = 0;    // of some boxes, the first and the last among them
  double price = 0;  // work a point
};

// Of so many boxes, evenly spread.
i64 memory_of(const Grid& grid, i64 boxes, const Demands& demand) {
  i64 most = 0;
  const i64 count = grid.count(), asked = std::min(boxes, count);
  for (i64 k = 0; k < asked; ++k)
    most = std::max(most, demand(grid.box(asked == 1 ? 0 : k * (count - 1) / (asked - 1))).memory);
  return most;
}

Candidate candidate_of(Grid grid, const Demands& demand) {
  constexpr i64 few = 3;
  const Region box = middle(grid);
  const Demand own = demand(box);
  Candidate c{std::move(grid)};
  c.memory = std::max(own.memory, memory_of(c.grid, few, demand));
  c.price = own.work / points(box);
  return c;
}

// What boxes are chosen within.
struct Limits {
  i64 memory = 0;
  i64 boxes = 1;                         // no fewer, as far as the least ones go
  std::optional<std::size_t> only = {};  // the dimension along which they may grow
};

// From the least boxes on, twice as long along one dimension in each turn.
Candidate grown(Candidate best, const Limits& limits, const Demands& demand) {
  const Region& whole = best.grid.whole;
  for (;;) {
    std::optional<Candidate> next;
    // From the fastest dimension on: of equal prices rows win, which lie together.
    for (std::size_t d = whole.begin.size(); d-- > 0;) {
      const i64 extent = whole.end[d] - whole.begin[d];
      if (best.grid.piece[d] >= extent || (limits.only && d != *limits.only)) continue;
      Grid larger = best.grid;
      larger.piece[d] = 2 * larger.piece[d] >= extent ? extent : 2 * larger.piece[d];
      if (larger.count() < limits.boxes) continue;
      Candidate c = candidate_of(std::move(larger), demand);
      if (c.memory > limits.memory) continue;
      if (!next || c.price < next->price * (1 - 1e-9)) next = std::move(c);
    }
    if (!next) return best;
    if (best.memory >= small && next->price > best.price * (1 - worth_while)) return best;
    best = std::move(*next);
  }
}

constexpr i64 many = 200;

std::optional<Chosen> chosen(const Candidate& first, Limits limits, const Demands& demand) {
  // Where some box turns out to take more than those that were asked, smaller ones are looked for, the least at last.
  const i64 memory = limits.memory;
  for (; limits.memory >= first.memory; limits.memory -= limits.memory / 8) {
    Candidate best = grown(first, limits, demand);
    const i64 taken = memory_of(best.grid, many, demand);
    if (taken <= memory) return Chosen{std::move(best.grid), taken};
  }
  const i64 taken = std::max(first.memory, memory_of(first.grid, many, demand));
  if (taken <= memory) return Chosen{first.grid, taken};
  return {};
}

TooLittle too_little(const Candidate& least, i64 memory, const Demands& demand) {
  return {least.grid.piece, std::max(least.memory, memory_of(least.grid, many, demand)), memory};
}

}  // namespace

TooLittle::TooLittle(Shape least, i64 takes, i64 memory)
    : Error(ErrorClass::argument,
            fmt::format("the least piece of the result, {}, takes {}, but {} are left for it", to_string(least),
                        base::format_bytes(static_cast<double>(takes)),
                        base::format_bytes(static_cast<double>(std::max<i64>(memory, 0)))),
            {}, "allow more with --memory SIZE"),
      piece(std::move(least)),
      needed(takes) {}

i64 Grid::count() const {
  i64 n = 1;
  for (std::size_t d = 0; d < piece.size(); ++d) n *= boxes_along(*this, d);
  return n;
}

Region Grid::box(i64 number) const {
  Region box{std::vector<i64>(piece.size()), std::vector<i64>(piece.size())};
  for (std::size_t d = piece.size(); d-- > 0;) {
    const i64 n = boxes_along(*this, d);
    box.begin[d] = whole.begin[d] + number % n * piece[d];
    box.end[d] = std::min(box.begin[d] + piece[d], whole.end[d]);
    number /= n;
  }
  return box;
}

Chosen choose_grid(const Region& whole, const Shape& edge, i64 memory, const Demands& demand, i64 boxes) {
  Grid least{whole, edge};
  for (std::size_t d = 0; d < edge.size(); ++d) least.piece[d] = std::min(edge[d], whole.end[d] - whole.begin[d]);
  const Candidate first = candidate_of(std::move(least), demand);
  if (auto made = chosen(first, {memory, boxes}, demand)) return std::move(*made);
  throw too_little(first, memory, demand);
}

Chosen choose_rows(const Region& whole, i64 memory, const Demands& demand) {
  const std::size_t rank = whole.begin.size(), last = rank > 1 ? rank - 2 : 0;
  std::optional<TooLittle> fewest;
  for (std::size_t split = 0; split <= last; ++split) {
    Grid least{whole, Shape(rank, 1)};
    for (std::size_t d = split + 1; d < rank; ++d) least.piece[d] = whole.end[d] - whole.begin[d];
    const Candidate first = candidate_of(std::move(least), demand);
    if (auto made = chosen(first, {memory, 1, split}, demand)) return std::move(*made);
    const TooLittle own = too_little(first, memory, demand);
    if (!fewest || own.needed < fewest->needed) fewest.emplace(own);
  }
  throw TooLittle(*fewest);
}

}  // namespace tessera::pieces
