// Parts of a run: some rows of every output, with all that they need of every array.
//
// A program that does not fit a device's memory, or whose copies are to go on beside its kernels, runs in slabs of
// rows (of dimension 0: planes of volumes). Kernels are the same: borders follow the extents of the whole, addresses
// begin before the rows that lie there (lower/device.hpp), so results are those of one run, bit for bit. What stages
// read of each other beyond a slab is computed again by its neighbour.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "lower/device.hpp"
#include "plan/plan.hpp"

namespace tessera::engine {

struct RowRange {
  i64 first = 0, last = 0;  // [first, last)
  bool empty() const { return first >= last; }
  i64 count() const { return empty() ? 0 : last - first; }
  bool operator==(const RowRange&) const = default;
};

// The least range that has both.
inline RowRange around(RowRange a, RowRange b) {
  if (a.empty() || b.empty()) return a.empty() ? b : a;
  return {a.first < b.first ? a.first : b.first, a.last > b.last ? a.last : b.last};
}

struct Slab {
  bool whole = false;              // everything: pieces may then lie in what they are composed to
  std::vector<RowRange> computed;  // by every kernel
  std::vector<RowRange> lying;     // of every array of the interface, in memory
  std::vector<RowRange> results;   // of every array, complete afterwards: none but of outputs
};

// The rows that an index range reads of an array of n rows, as borders map them.
RowRange mapped_rows(i64 lo, i64 hi, i64 n, bool reflects, bool wraps);

// Number `part` of `parts` of rows, as equal as they can be.
RowRange part_of(i64 rows, i64 part, i64 parts);

// The slab of these rows of every output, of which it has so many.
Slab slab(const lower::DeviceProgram&, const ir::Graph&, const std::vector<i64>& parameters,
          const std::function<RowRange(std::size_t output, i64 rows)>& wanted);
// Slab number `part` of `parts`.
Slab slab(const lower::DeviceProgram&, const ir::Graph&, const std::vector<i64>& parameters, i64 part, i64 parts);

// Slabs that can be told apart: rows of the output that has most.
i64 most_slabs(const lower::DeviceProgram&, const ir::Graph&, const std::vector<i64>& parameters);

// Blocks of memory are no smaller: there are none of no bytes.
constexpr i64 least_block = 16;
// Bytes that a run of a slab allocates on a device: for every array of the interface but those `given` to it there, and
// for every place that intermediates share.
i64 bytes_of(const Slab&, const plan::Plan&, const lower::DeviceProgram&, const std::vector<i64>& parameters,
             const std::vector<bool>& given);

// Rows that all kernels compute in so many slabs, over those of one run: 1 and more.
double repetition(const lower::DeviceProgram&, const ir::Graph&, const std::vector<i64>& parameters, i64 parts);

// Byte strides of an array of the interface, of every dimension but the last.
struct Laid {
  std::vector<i64> strides;
  i64 row_bytes = 0;  // of one index of dimension 0
};
Laid lay(const lower::ArrayRef&, const plan::Plan&, const std::vector<i64>& parameters);

}  // namespace tessera::engine
