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

struct Candidate {
  Grid grid;
  Demand demand;
  double price = 0;  // work a point
};

}  // namespace

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

Grid choose_grid(const Region& whole, const Shape& edge, i64 memory,
                 const std::function<Demand(const Region&)>& demand) {
  const auto candidate = [&](Grid grid) {
    const Region box = middle(grid);
    Candidate c{std::move(grid), demand(box)};
    c.price = c.demand.work / points(box);
    return c;
  };
  Grid least{whole, edge};
  for (std::size_t d = 0; d < edge.size(); ++d) least.piece[d] = std::min(edge[d], whole.end[d] - whole.begin[d]);
  Candidate best = candidate(std::move(least));
  if (best.demand.memory > memory)
    throw Error(ErrorClass::argument,
                fmt::format("the least piece of the result, {}, takes {}, but --memory leaves {}",
                            to_string(best.grid.piece), base::format_bytes(static_cast<double>(best.demand.memory)),
                            base::format_bytes(static_cast<double>(std::max<i64>(memory, 0)))),
                {}, "allow more with --memory SIZE");
  for (;;) {
    std::optional<Candidate> next;
    // From the fastest dimension on: of equal prices rows win, which lie together.
    for (std::size_t d = edge.size(); d-- > 0;) {
      const i64 extent = whole.end[d] - whole.begin[d];
      if (best.grid.piece[d] >= extent) continue;
      Grid larger = best.grid;
      larger.piece[d] = 2 * larger.piece[d] >= extent ? extent : 2 * larger.piece[d];
      Candidate c = candidate(std::move(larger));
      if (c.demand.memory > memory) continue;
      if (!next || c.price < next->price * (1 - 1e-9)) next = std::move(c);
    }
    if (!next) return best.grid;
    if (best.demand.memory >= small && next->price > best.price * (1 - worth_while)) return best.grid;
    best = std::move(*next);
  }
}

}  // namespace tessera::pieces
