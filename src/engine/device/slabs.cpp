// See slabs.hpp.
#include "engine/device/slabs.hpp"

#include <algorithm>

#include "base/division.hpp"
#include "engine/device/array.hpp"

namespace tessera::engine {

namespace {

using base::ceil_divide, base::floor_divide;

void include(RowRange& range, RowRange more) {
  range = around(range, more);
}

i64 rows_of(const lower::ArrayRef& ref, const ir::Graph& graph, const std::vector<i64>& parameters) {
  return ref.is_array && !ref.extents.empty() ? graph.evaluate(ref.extents.front(), parameters) : 1;
}

RowRange rows_read(const lower::DeviceKernel::Reach& r, RowRange computed, i64 n, i64 start) {
  if (r.whole) return {0, n};
  i64 a = r.scale * computed.first, b = r.scale * (computed.last - 1);
  if (a > b) std::swap(a, b);
  return mapped_rows(floor_divide(a + r.lo - start, r.stride), floor_divide(b + r.hi - start, r.stride), n, r.reflects,
                     r.wraps);
}

// The points of the domain that write rows of a range.
RowRange rows_writing(const lower::DeviceKernel::Reach& w, RowRange wanted) {
  return {ceil_divide(wanted.first * w.stride - w.hi, w.scale),
          floor_divide(wanted.last * w.stride - 1 - w.lo, w.scale) + 1};
}

}  // namespace

RowRange mapped_rows(i64 lo, i64 hi, i64 n, bool reflects, bool wraps) {
  if (wraps && (lo < 0 || hi >= n)) return {0, n};
  if (reflects && (lo < 0 || hi >= n)) {
    if (lo < -n || hi >= 2 * n) return {0, n};
    const i64 low = lo, high = hi;
    if (low < 0) hi = std::max(hi, -low);                // -low of mirror, -low - 1 of symmetric
    if (high >= n) lo = std::min(lo, 2 * n - 2 - high);  // 2n - 2 - high of mirror, one more of symmetric
  }
  return {std::clamp<i64>(lo, 0, n - 1), std::clamp<i64>(hi, 0, n - 1) + 1};
}

RowRange part_of(i64 rows, i64 part, i64 parts) {
  // Without a product of rows and parts, which may be large.
  const i64 each = rows / parts, rest = rows % parts;
  const auto from = [&](i64 p) { return p * each + std::min(p, rest); };
  return {from(part), from(part + 1)};
}

Slab slab(const lower::DeviceProgram& program, const ir::Graph& graph, const std::vector<i64>& parameters, i64 part,
          i64 parts) {
  return slab(program, graph, parameters, [&](std::size_t, i64 rows) { return part_of(rows, part, parts); });
}

Slab slab(const lower::DeviceProgram& program, const ir::Graph& graph, const std::vector<i64>& parameters,
          const std::function<RowRange(std::size_t, i64)>& wanted) {
  const std::vector<lower::ArrayRef>& arrays = program.interface.arrays;
  Slab result;
  result.computed.resize(program.kernels.size());
  result.results.resize(arrays.size());
  result.lying.resize(arrays.size());
  std::vector<i64> rows(arrays.size());
  bool all = true;
  for (std::size_t k = 0; k < arrays.size(); ++k) {
    rows[k] = rows_of(arrays[k], graph, parameters);
    if (arrays[k].kind == lower::ArrayRef::Kind::output) {
      result.results[k] = wanted(arrays[k].index, rows[k]);
      all = all && result.results[k].count() == rows[k];
    } else if (!arrays[k].is_array || arrays[k].extents.empty()) {
      result.lying[k] = {0, 1};
    }
  }
  if (all) {  // everything, as `explain` says, needed or not
    result.whole = true;
    for (std::size_t k = 0; k < program.kernels.size(); ++k)
      result.computed[k] = {0, graph.evaluate(program.kernels[k].domain.front(), parameters)};
    for (std::size_t k = 0; k < arrays.size(); ++k) result.lying[k] = {0, rows[k]};
    return result;
  }
  std::vector<RowRange> needed = result.results;
  for (std::size_t k = program.kernels.size(); k-- > 0;) {
    const lower::DeviceKernel& kernel = program.kernels[k];
    RowRange computed;
    for (const lower::DeviceKernel::Reach& w : kernel.writes)
      if (const RowRange wanted = needed[kernel.arrays[w.array]]; !wanted.empty())
        include(computed, rows_writing(w, wanted));
    const i64 n = graph.evaluate(kernel.domain.front(), parameters);
    computed = {std::max<i64>(computed.first, 0), std::min(computed.last, n)};
    computed.first -= computed.first % kernel.row_multiple;
    if (computed.empty()) continue;
    result.computed[k] = computed;
    for (const lower::DeviceKernel::Reach& w : kernel.writes) {
      const std::size_t to = kernel.arrays[w.array];
      include(result.lying[to], {std::max<i64>(0, floor_divide(w.scale * computed.first + w.lo, w.stride)),
                                 std::min(rows[to], floor_divide(w.scale * (computed.last - 1) + w.hi, w.stride) + 1)});
    }
    for (const lower::DeviceKernel::Reach& r : kernel.reads) {
      const std::size_t from = kernel.arrays[r.array];
      include(needed[from], rows_read(r, computed, rows[from], graph.evaluate(r.start, parameters)));
    }
  }
  for (std::size_t k = 0; k < arrays.size(); ++k) include(result.lying[k], needed[k]);
  return result;
}

i64 most_slabs(const lower::DeviceProgram& program, const ir::Graph& graph, const std::vector<i64>& parameters) {
  i64 most = 1;
  for (const lower::ArrayRef& ref : program.interface.arrays)
    if (ref.kind == lower::ArrayRef::Kind::output) most = std::max(most, rows_of(ref, graph, parameters));
  return most;
}

i64 bytes_of(const Slab& slab, const plan::Plan& plan, const lower::DeviceProgram& program,
             const std::vector<i64>& parameters, const std::vector<bool>& given) {
  const lower::Interface& interface = program.interface;
  std::vector<i64> shared(interface.memories);
  i64 bytes = 0;
  for (std::size_t k = 0; k < interface.arrays.size(); ++k) {
    const lower::ArrayRef& ref = interface.arrays[k];
    if (given[k] || (slab.whole && ref.part) || ref.kind == lower::ArrayRef::Kind::table) continue;
    const i64 own = lay(ref, plan, parameters).row_bytes * slab.lying[k].count();
    if (is_inside(ref))
      shared[ref.memory] = std::max(shared[ref.memory], own);
    else
      bytes += std::max(own, least_block);
  }
  for (const i64 n : shared) bytes += std::max(n, least_block);
  return bytes;
}

double repetition(const lower::DeviceProgram& program, const ir::Graph& graph, const std::vector<i64>& parameters,
                  i64 parts) {
  const Slab some = slab(program, graph, parameters, parts / 2, parts);
  double whole = 0, computed = 0;
  for (std::size_t k = 0; k < program.kernels.size(); ++k) {
    double row = 1;
    const auto& domain = program.kernels[k].domain;
    for (std::size_t d = 1; d < domain.size(); ++d) row *= static_cast<double>(graph.evaluate(domain[d], parameters));
    whole += row * static_cast<double>(graph.evaluate(domain.front(), parameters));
    computed += row * static_cast<double>(some.computed[k].count());
  }
  return whole > 0 ? std::max(1.0, computed * static_cast<double>(parts) / whole) : 1;
}

Laid lay(const lower::ArrayRef& ref, const plan::Plan& plan, const std::vector<i64>& parameters) {
  i64 size = static_cast<i64>(ref.format.size());
  if (ref.kind == lower::ArrayRef::Kind::intermediate) size = ir::nest::size_of(plan.stages[ref.index].lane);
  Shape shape;
  if (ref.is_array)
    for (const ir::SizeId extent : ref.extents) shape.push_back(plan.graph.evaluate(extent, parameters));
  const PaddedRows rows = padded_rows(size, shape);
  Laid laid;
  const i64 count = shape.empty() ? 1 : shape.front();
  laid.row_bytes = count > 0 ? rows.bytes / count : 0;
  if (shape.size() == 1) laid.row_bytes = size;  // a row of one element, of memory that is rounded up
  if (!shape.empty()) laid.strides.assign(rows.strides.begin(), rows.strides.end() - 1);
  return laid;
}

}  // namespace tessera::engine
