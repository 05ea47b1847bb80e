// See axes.hpp.
#include "engine/fft/axes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "engine/fft/rows.hpp"
#include "engine/fft/tree.hpp"
#include "fft/tables.hpp"
#include "run/cpu/machine.hpp"
#include "run/cpu/parallel.hpp"

namespace tessera::engine {

using fft::End;
using fft::Problem;
using fft::Transform;

template <class T>
fft::PlanOptions plan_options() {
  const run::cpu::Machine& m = run::cpu::machine();
  fft::PlanOptions options;
  options.largest_radix = m.vector_bytes == 64 ? 16 : 8;
  options.l1_points = std::max<i64>(16, m.l1 / 2 / (2 * m.vector_bytes));
  return options;
}
template fft::PlanOptions plan_options<float>();
template fft::PlanOptions plan_options<double>();

i64 offset_of(i64 at, const std::vector<i64>& extents, const std::vector<i64>& strides) {
  i64 offset = 0;
  for (std::size_t d = extents.size(); d-- > 0;) {
    offset += at % extents[d] * strides[d];
    at /= extents[d];
  }
  return offset;
}

namespace {

// One dimension: groups of rows.
template <class T>
class RowsRunner : public FftRunner {
  using Rows = FftRows<T>;
  using Side = typename Rows::Side;

 public:
  RowsRunner(const Problem& p, const std::string& compiler) : problem_(p) {
    const bool inverse = p.transform == Transform::inverse || fft::to_real(p);
    from_numbers_ = fft::from_real(p) ? 1 : 2;
    to_numbers_ = fft::to_real(p) ? 1 : 2;
    const Side from = fft::from_real(p) ? Side::real_rows : fft::to_real(p) ? Side::half_rows : Side::rows;
    const Side to = fft::to_real(p) ? Side::real_rows : fft::from_real(p) ? Side::half_rows : Side::rows;
    const auto node = fft::plan_transform(p.extents.back(), plan_options<T>());
    plan_ = to_string(*node);
    tree_.emplace(*node, End::points, End::points, typename FftTree<T>::Memory{}, compiler);
    rows_.emplace(p.extents.back(), from, to, inverse, false, p.scale, compiler);
    count_ = 1;
    for (const i64 n : p.batch) count_ *= n;
  }

  std::string description() const override { return "rows " + plan_; }

  void run(const void* from, void* to, int threads) const override {
    const T* x = static_cast<const T*>(from);
    T* y = static_cast<T*>(to);
    const i64 group = rows_->rows_of_a_group(), tiles = (count_ + group - 1) / group;
    threads = run::cpu::thread_count(threads);
    const i64 numbers = rows_->points() + tree_->scratch() + rows_->staging();
    run::cpu::SlotScratch scratch(threads, static_cast<std::size_t>(numbers) * sizeof(T));
    run::cpu::parallel_tiles(tiles, threads, [&](i64 tile, int slot) {
      T* points = reinterpret_cast<T*>(scratch.get(slot));
      T *staging = points + rows_->points(), *rest = staging + rows_->staging();
      const T* in[64];
      T* out[64];
      const i64 first = tile * group, rows = std::min(group, count_ - first);
      for (i64 k = 0; k < rows; ++k) {
        in[k] = x + from_numbers_ * offset_of(first + k, problem_.batch, problem_.from_strides);
        out[k] = y + to_numbers_ * offset_of(first + k, problem_.batch, problem_.to_strides);
      }
      const i64 point = 2 * lanes_of<T>();
      rows_->in(in, rows, 0, points, staging);
      tree_->run(points, point, points, point, rest);
      rows_->out(points, out, rows, 0, staging);
    });
  }

 private:
  const Problem problem_;
  i64 from_numbers_, to_numbers_, count_;
  std::string plan_;
  std::optional<FftTree<T>> tree_;
  std::optional<Rows> rows_;
};

// Two and three dimensions.
template <class T>
class PlanesRunner : public FftRunner {
  using Rows = FftRows<T>;
  using Side = typename Rows::Side;

 public:
  PlanesRunner(const Problem& p, const std::string& compiler) : problem_(p), lanes_(lanes_of<T>()), point_(2 * lanes_) {
    using Memory = typename FftTree<T>::Memory;
    const bool inverse = p.transform == Transform::inverse || fft::to_real(p);
    const std::size_t rank = p.extents.size();
    nx_ = p.extents[rank - 1], ny_ = p.extents[rank - 2], nz_ = rank == 3 ? p.extents[0] : 1;
    const bool real = fft::from_real(p) || fft::to_real(p);
    columns_ = real ? nx_ / 2 + 1 : nx_;
    blocks_ = (columns_ + lanes_ - 1) / lanes_;
    pitch_ = (ny_ | 1) * point_;
    plane_ = blocks_ * pitch_ + (blocks_ % 2 == 0 ? point_ : 0);
    volume_ = nz_ * plane_;
    count_ = 1;
    for (const i64 n : p.batch) count_ *= n;
    const run::cpu::Machine& machine = run::cpu::machine();
    const i64 bytes = volume_ * static_cast<i64>(sizeof(T));
    together_ = std::clamp<i64>(machine.l2 * machine.cores / 2 / bytes, 1, std::max<i64>(1, count_));
    // What is larger than a few caches of a core comes back from memory anyway.
    const bool far = together_ * bytes > 4 * machine.l2;
    const Side from = fft::from_real(p) ? Side::real_rows : fft::to_real(p) ? Side::half_blocks : Side::rows;
    const Side to = fft::to_real(p) ? Side::real_rows : fft::from_real(p) ? Side::half_blocks : Side::blocks;
    const fft::PlanOptions options = plan_options<T>();
    const auto x = fft::plan_transform(nx_, options), y = fft::plan_transform(ny_, options),
               z = fft::plan_transform(nz_, options);
    plan_ = fmt::format("rows {}, columns {}", to_string(*x), to_string(*y));
    if (rank == 3) plan_ += ", planes " + to_string(*z);
    by_planes_ = rank == 3 && plane_ * static_cast<i64>(sizeof(T)) <= machine.l2;
    rows_.emplace(nx_, from, to, inverse, far && !by_planes_, p.scale, compiler);
    tree_x_.emplace(*x, End::points, End::points, Memory{}, compiler);
    // The side of memory: the last pass of columns, or the first where columns come first.
    const End columns = inverse ? End::exchanged : End::columns;
    columns_first_ = fft::to_real(p);
    const fft::Node& outer = rank == 3 ? *z : *y;
    if (columns_ < lanes_)
      outer_.emplace(outer, End::points, End::points, Memory{far, false}, compiler);
    else if (columns_first_)
      outer_.emplace(outer, columns, End::points, Memory{far, far}, compiler);
    else
      outer_.emplace(outer, End::points, columns, Memory{far, false}, compiler);
    // Past the caches where a row of memory is aligned to vectors.
    if (far && !columns_first_ && columns_ >= lanes_)
      outer_far_.emplace(outer, End::points, columns, Memory{true, true}, compiler);
    const bool streaming = by_planes_ && far && !columns_first_;
    if (rank == 3) tree_y_.emplace(*y, End::points, End::points, Memory{false, streaming}, compiler);
    inverse_ = inverse;
  }

  std::string description() const override { return plan_; }

  void run(const void* from, void* to, int threads) const override {
    threads = run::cpu::thread_count(threads);
    const run::cpu::Scratch memory =
        run::cpu::acquire_scratch(static_cast<std::size_t>(together_ * volume_) * sizeof(T));
    i64 numbers = std::max(outer_->scratch(), rows_->points() + rows_->staging() + tree_x_->scratch());
    if (tree_y_) numbers = std::max(numbers, tree_y_->scratch());
    if (by_planes_) numbers += plane_;
    numbers += columns_ < lanes_ ? (nz_ > 1 || tree_y_ ? nz_ : ny_) * point_ : 0;
    Run r{static_cast<const T*>(from),
          static_cast<T*>(to),
          reinterpret_cast<T*>(memory.data()),
          0,
          0,
          threads,
          run::cpu::SlotScratch(threads, static_cast<std::size_t>(numbers) * sizeof(T))};
    for (r.first = 0; r.first < count_; r.first += together_) {
      r.count = std::min(together_, count_ - r.first);
      if (columns_first_) columns(r);
      if (by_planes_) {
        planes(r);
      } else {
        if (columns_first_ && tree_y_) inner(r);
        rows(r);
        if (!columns_first_ && tree_y_) inner(r);
      }
      if (!columns_first_) columns(r);
    }
  }

 private:
  struct Run {
    const T* from;
    T* to;
    T* memory;
    i64 first, count;  // planes (volumes) that are in the intermediate
    int threads;
    run::cpu::SlotScratch scratch;
  };

  i64 rank() const { return static_cast<i64>(problem_.extents.size()); }

  // The start of row (z, y) of volume v, in elements, on one side.
  i64 row_of(i64 volume, i64 z, i64 y, const std::vector<i64>& strides) const {
    const std::size_t batch = problem_.batch.size();
    i64 offset = offset_of(volume, problem_.batch, strides) + y * strides[batch + (rank() == 3 ? 1 : 0)];
    if (rank() == 3) offset += z * strides[batch];
    return offset;
  }

  // Rows [first, first + count) of those in the intermediate, in whose order `blocks` has its own for row `origin`.
  void group(Run& r, i64 first, i64 count, T* blocks, i64 origin, T* points) const {
    T *staging = points + rows_->points(), *rest = staging + rows_->staging();
    const T* in[64];
    T* out[64];
    for (i64 k = 0; k < count; ++k) {
      const i64 y = (first + k) % ny_, plane = (first + k) / ny_, z = plane % nz_, v = plane / nz_;
      const i64 ahead = plane - origin / ny_;
      T* block = blocks + (ahead / nz_ * volume_ + ahead % nz_ * plane_) + y * point_;
      if (columns_first_) {
        in[k] = block;
        out[k] = r.to + row_of(r.first + v, z, y, problem_.to_strides);
      } else {
        in[k] = r.from + (fft::from_real(problem_) ? 1 : 2) * row_of(r.first + v, z, y, problem_.from_strides);
        out[k] = block;
      }
    }
    rows_->in(in, count, pitch_, points, staging);
    tree_x_->run(points, point_, points, point_, rest);
    rows_->out(points, out, count, pitch_, staging);
  }

  void rows(Run& r) const {
    const i64 all = r.count * nz_ * ny_, of_a_group = rows_->rows_of_a_group();
    run::cpu::parallel_tiles((all + of_a_group - 1) / of_a_group, r.threads, [&](i64 tile, int slot) {
      const i64 first = tile * of_a_group;
      group(r, first, std::min(of_a_group, all - first), r.memory, 0, reinterpret_cast<T*>(r.scratch.get(slot)));
    });
  }

  // Along y within the intermediate.
  void inner(Run& r) const {
    run::cpu::parallel_tiles(r.count * nz_ * blocks_, r.threads, [&](i64 tile, int slot) {
      T* block = plane_at(r, tile / blocks_) + tile % blocks_ * pitch_;
      tree_y_->run(block, point_, block, point_, reinterpret_cast<T*>(r.scratch.get(slot)));
    });
  }

  // Rows and y of one plane after the other, while it is in the cache.
  void planes(Run& r) const {
    run::cpu::parallel_tiles(r.count * nz_, r.threads, [&](i64 tile, int slot) {
      T *plane = reinterpret_cast<T*>(r.scratch.get(slot)), *rest = plane + plane_, *memory = plane_at(r, tile);
      const auto along_y = [&](const T* from, T* to) {
        for (i64 b = 0; b < blocks_; ++b) tree_y_->run(from + b * pitch_, point_, to + b * pitch_, point_, rest);
      };
      if (columns_first_) along_y(memory, plane);
      for (i64 y = 0; y < ny_; y += rows_->rows_of_a_group())
        group(r, tile * ny_ + y, std::min(rows_->rows_of_a_group(), ny_ - y), plane, tile * ny_, rest);
      if (!columns_first_) along_y(plane, memory);
    });
  }

  T* plane_at(const Run& r, i64 plane) const { return r.memory + plane / nz_ * volume_ + plane % nz_ * plane_; }

  // Along the slowest dimension, between the intermediate and memory.
  void columns(Run& r) const {
    const bool volumes = rank() == 3;
    const i64 across = volumes ? ny_ : 1;
    const std::vector<i64>& strides = columns_first_ ? problem_.from_strides : problem_.to_strides;
    const i64 stride = 2 * strides[problem_.batch.size()], n = volumes ? nz_ : ny_;
    const i64 step = volumes ? plane_ : point_;
    run::cpu::parallel_tiles(r.count * across * blocks_, r.threads, [&](i64 tile, int slot) {
      const i64 b = tile % blocks_, y = tile / blocks_ % across, v = tile / blocks_ / across;
      T* points = r.memory + v * volume_ + b * pitch_ + y * point_;
      T* scratch = reinterpret_cast<T*>(r.scratch.get(slot));
      const i64 at =
          2 * (row_of(r.first + v, 0, y, strides) + std::min(b * lanes_, std::max<i64>(0, columns_ - lanes_)));
      if (columns_ < lanes_)
        few_columns(r, at, stride, points, step, n, scratch);
      else if (columns_first_)
        outer_->run(r.from + at, stride, points, step, scratch);
      else
        (is_streamed(r.to + at, stride) ? outer_far_ : outer_)->run(points, step, r.to + at, stride, scratch);
    });
  }

  // Whether results go past the caches: they do not fit, and every vector is aligned.
  bool is_streamed(const T* to, i64 stride) const {
    const i64 bytes = lanes_ * static_cast<i64>(sizeof(T));
    return outer_far_ && reinterpret_cast<std::uintptr_t>(to) % static_cast<std::uintptr_t>(bytes) == 0 &&
           stride * static_cast<i64>(sizeof(T)) % bytes == 0;
  }

  // Fewer columns than lanes: element by element.
  void few_columns(Run& r, i64 at, i64 stride, T* points, i64 step, i64 n, T* scratch) const {
    T* rest = scratch + n * point_;
    const i64 re_at = inverse_ ? lanes_ : 0;
    if (columns_first_) {
      std::fill(scratch, scratch + n * point_, T{0});
      for (i64 k = 0; k < n; ++k)
        for (i64 c = 0; c < columns_; ++c) {
          scratch[k * point_ + re_at + c] = r.from[at + k * stride + 2 * c];
          scratch[k * point_ + lanes_ - re_at + c] = r.from[at + k * stride + 2 * c + 1];
        }
      outer_->run(scratch, point_, points, step, rest);
      return;
    }
    outer_->run(points, step, scratch, point_, rest);
    for (i64 k = 0; k < n; ++k)
      for (i64 c = 0; c < columns_; ++c) {
        r.to[at + k * stride + 2 * c] = scratch[k * point_ + re_at + c];
        r.to[at + k * stride + 2 * c + 1] = scratch[k * point_ + lanes_ - re_at + c];
      }
  }

  const Problem problem_;
  const i64 lanes_, point_;
  i64 nx_, ny_, nz_, columns_, blocks_, pitch_, plane_, volume_, count_, together_;
  bool columns_first_ = false, inverse_ = false, by_planes_ = false;
  std::string plan_;
  std::optional<Rows> rows_;
  std::optional<FftTree<T>> tree_x_, tree_y_, outer_, outer_far_;
};

}  // namespace

template <class T>
std::unique_ptr<FftRunner> make_runner(const Problem& p, const std::string& compiler) {
  if (p.extents.size() == 1) {
    std::unique_ptr<FftRunner> few = make_long_runner<T>(p, compiler);
    return few ? std::move(few) : std::make_unique<RowsRunner<T>>(p, compiler);
  }
  return std::make_unique<PlanesRunner<T>>(p, compiler);
}

template std::unique_ptr<FftRunner> make_runner<float>(const Problem&, const std::string&);
template std::unique_ptr<FftRunner> make_runner<double>(const Problem&, const std::string&);

}  // namespace tessera::engine
