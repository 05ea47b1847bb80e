// What an emitted module and its caller agree on.
//
// Every group K of a plan becomes three functions of the module:
//
//   void tsr_gK_shape(const i64* N, i64 threads, i64* T)     extents of a tile, and T[rank] = number of tiles
//   i64  tsr_gK_scratch(const i64* N, const i64* T)          bytes of scratch memory that one tile needs
//   void tsr_gK(void* const* P, const i64* N, const i64* T, i64 tile, u8* S)   computes one tile
//
// P holds a pointer for every argument (arrays and scalars, in order), then every output, then every intermediate
// array. N holds the run-time parameters, then for every such array the byte strides of all dimensions but the last,
// whose elements are contiguous. T[rank + 1] is 1 where results are stored past the caches.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ir/nest/nest.hpp"
#include "plan/plan.hpp"

namespace tessera::lower {

struct ArrayRef {
  // Devices have two more: `scratch`, what kernels of one group leave each other, and `table` (DeviceProgram::tables).
  enum class Kind { argument, output, intermediate, scratch, table } kind = Kind::argument;
  std::size_t index = 0;            // argument, output, stage or table number
  Format format;                    // elements in memory
  std::vector<ir::SizeId> extents;  // of the rewritten graph; leading 1s where rank was lifted
  std::size_t strides = 0;          // position in N of the first stride
  bool is_array = true;             // false: a scalar argument
  // Of an intermediate or scratch: arrays of equal number lie at the same place, one after the other; it holds the
  // largest.
  std::size_t memory = 0;
  // Of an intermediate that is a piece and may lie in the composed array, whose last `extents.size()` dimensions are
  // its own: where its first element stands there.
  struct Part {
    std::size_t whole = 0;  // position in P
    std::vector<i64> start;
  };
  std::optional<Part> part = {};
};

// Is it memory of a run's own, which arrays share?
inline bool is_inside(const ArrayRef& array) {
  return array.kind == ArrayRef::Kind::intermediate || array.kind == ArrayRef::Kind::scratch;
}

struct Interface {
  std::vector<ArrayRef> arrays;                 // in the order of P
  std::size_t integers = 0;                     // length of N
  std::size_t memories = 0;                     // places that intermediates need
  std::size_t output(std::size_t o) const;      // position in P
  std::size_t intermediate(ir::StageId) const;  // position in P; throws where it has none
};

// `wholes`: composed stages with arrays of their own, which no other pass of the plan fills; those of them whose pieces
// can be computed right where they belong get parts, and memory from the first piece on.
Interface interface_of(const plan::Plan&, const std::set<ir::StageId>& wholes = {});

// Where the values of a stage that has an array lie: position in P, element stride and offset in bytes.
struct ArrayPlace {
  std::size_t array = 0;
  i64 element_stride = 0, offset = 0;
};
std::optional<ArrayPlace> place_of(const plan::Plan&, const Interface&, ir::StageId);

struct Lowered {
  Interface interface;
  ir::nest::Module module;
};

// The loop nests of a plan for CPU cores, each group by the way that choose_core_ways (lower/ways/ways.hpp) has written
// into it. See lower/ways/stream/group.hpp for what a group's function looks like.
Lowered lower_cpu(const plan::Plan&);

}  // namespace tessera::lower
