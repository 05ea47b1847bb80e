// Pairs of tiles against direct sums: shapes, kernels, widths of vectors, edges, guard pages.
#include "fft/cpu/tile.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <deque>
#include <memory>

#include "emit/c/c.hpp"
#include "fft/oracle.hpp"
#include "run/cpu/compiler.hpp"
#include "support/guarded_pages.hpp"
#include "tessera/array.hpp"

namespace tessera::fft {
namespace {

using ir::nest::Lane;
using ir::nest::Type;
using support::GuardedPages;
using Flush = GuardedPages::Flush;

template <class T>
using Function = void (*)(const T* const* rows, T* const* out, const T* spectrum, T* scratch, const i64* n);

template <class T>
constexpr double epsilon = sizeof(T) == 4 ? 1.1920929e-7 : 2.220446e-16;

template <class T>
Type vector_of(int lanes) {
  return {sizeof(T) == 4 ? Lane::f32 : Lane::f64, lanes, false};
}

ir::nest::Module module_of(const TilePlan& plan) {
  ir::nest::Module module;
  add_tile(module, plan, name_of(plan));
  return module;
}

// The widest vectors of the machine.
template <class T>
TilePlan plan_of(i64 rows, i64 columns) {
  return plan_tile(rows, columns, vector_of<T>(static_cast<int>(64 / sizeof(T))));
}

struct Weights {
  i64 k0, k1;
  std::vector<double> values;
};

Weights weights_of(i64 k0, i64 k1) {
  support::Random random(static_cast<std::uint64_t>(k0 * 1000 + k1));
  Weights w{k0, k1, {}};
  for (i64 k = 0; k < k0 * k1; ++k) w.values.push_back(random.next());
  return w;
}

// A tile whose rows, and the rows of its result, each end (or begin) at a page that nobody may touch.
template <class T>
struct Tile {
  Tile(const TilePlan& plan, i64 rows_wanted, i64 columns_wanted, double scale, std::uint64_t seed, Flush flush)
      : height(tile_rows(plan)), width(plan.columns), wanted_rows(rows_wanted), wanted_columns(columns_wanted) {
    support::Random random(seed);
    const auto bytes = [](i64 numbers) { return static_cast<std::size_t>(numbers) * sizeof(T); };
    for (i64 y = 0; y < height; ++y) {
      T* row = reinterpret_cast<T*>(memory.emplace_back(bytes(width), flush, 0, sizeof(T)).begin());
      for (i64 x = 0; x < width; ++x) values.push_back(row[x] = static_cast<T>(scale * random.next()));
      rows.push_back(row);
      unsigned char* to = y < wanted_rows && wanted_columns > 0
                              ? memory.emplace_back(bytes(wanted_columns), flush, 0x5a, sizeof(T)).begin()
                              : nullptr;
      out.push_back(reinterpret_cast<T*>(to));
    }
  }

  double largest() const {
    double most = 0;
    for (const double v : values) most = std::max(most, std::abs(v));
    return most;
  }
  // The sum of result (y, x), around the edges of the tile.
  double expected(const Weights& w, i64 y, i64 x) const {
    double sum = 0;
    for (i64 i = 0; i < w.k0; ++i)
      for (i64 j = 0; j < w.k1; ++j)
        sum += w.values[static_cast<std::size_t>(i * w.k1 + j)] *
               values[static_cast<std::size_t>((y + i) % height * width + (x + j) % width)];
    return sum;
  }

  i64 height, width, wanted_rows, wanted_columns;
  std::deque<GuardedPages> memory;
  std::vector<double> values;
  std::vector<T*> rows, out;
};

template <class T>
void run(const TilePlan& plan, const Weights& w, Tile<T>& a, Tile<T>& b, Flush flush) {
  const ir::nest::Module module = module_of(plan);
  const auto code = run::cpu::load({.source = emit::print_c(module), .name = name_of(plan)});
  const auto function = reinterpret_cast<Function<T>>(code->symbol(name_of(plan)));
  const std::vector<double> exact = tile_spectrum(plan, w.values, w.k0, w.k1);
  ASSERT_EQ(static_cast<i64>(exact.size()), tile_spectrum_size(plan));
  GuardedPages spectrum(exact.size() * sizeof(T), flush, 0, sizeof(T));
  for (std::size_t k = 0; k < exact.size(); ++k) reinterpret_cast<T*>(spectrum.begin())[k] = static_cast<T>(exact[k]);
  // What is in it does not matter.
  GuardedPages scratch(static_cast<std::size_t>(tile_scratch(plan)) * sizeof(T), flush, 0xff, sizeof(T));
  std::vector<const T*> rows(a.rows.begin(), a.rows.end());
  std::vector<T*> out = a.out;
  rows.insert(rows.end(), b.rows.begin(), b.rows.end());
  out.insert(out.end(), b.out.begin(), b.out.end());
  const TileArguments n{a.wanted_rows, a.wanted_columns, b.wanted_rows, b.wanted_columns, 2 * a.wanted_columns};
  const i64 arguments[] = {n.rows_a, n.columns_a, n.rows_b, n.columns_b, n.ahead};
  function(rows.data(), out.data(), reinterpret_cast<T*>(spectrum.begin()), reinterpret_cast<T*>(scratch.begin()),
           arguments);
  for (const auto* m : {&spectrum, &scratch}) EXPECT_TRUE(m->surroundings_intact());
}

// At every `step`-th point.
template <class T>
void compare(const TilePlan& plan, const Weights& w, const Tile<T>& tile, double largest, i64 step) {
  double sum = 0, error = 0;
  for (const double v : w.values) sum += std::abs(v);
  for (i64 k = 0; k < tile.wanted_rows * tile.wanted_columns; k += step) {
    const i64 y = k / tile.wanted_columns, x = k % tile.wanted_columns;
    const double got = tile.out[static_cast<std::size_t>(y)][x];
    ASSERT_TRUE(std::isfinite(got)) << y << ", " << x;
    error = std::max(error, std::abs(got - tile.expected(w, y, x)));
  }
  const double logarithm = std::log2(static_cast<double>(plan.rows * plan.columns));
  EXPECT_LT(error, 2 * epsilon<T> * logarithm * largest * sum);
  for (const GuardedPages& m : tile.memory) EXPECT_TRUE(m.surroundings_intact());
}

template <class T>
void check(const TilePlan& plan, const Weights& w, i64 rows, i64 columns, Flush flush = Flush::end) {
  SCOPED_TRACE(testing::Message() << name_of(plan) << " with " << plan.vector.lanes << " lanes, weights " << w.k0
                                  << " x " << w.k1 << ", results " << rows << " x " << columns);
  Tile<T> a(plan, rows, columns, 1, 1, flush), b(plan, rows, columns, 1, 2, flush);
  run(plan, w, a, b, flush);
  // Some 4 million products.
  const i64 step = 1 + rows * columns * w.k0 * w.k1 / 2000000;
  compare(plan, w, a, std::max(a.largest(), b.largest()), step);
  compare(plan, w, b, std::max(a.largest(), b.largest()), step);
}

template <class T>
void check_kernels(i64 rows, i64 columns) {
  const TilePlan plan = plan_of<T>(rows, columns);
  for (const auto& [k0, k1] :
       std::vector<std::pair<i64, i64>>{{1, 1}, {3, 3}, {9, 9}, {4, 6}, {1, 15}, {rows, columns}})
    check<T>(plan, weights_of(k0, k1), rows - k0 + 1, columns - k1 + 1);
}

TEST(FftTile, Squares) {
  for (const i64 n : {32, 48, 64, 80, 96, 112, 128, 160, 192}) check_kernels<float>(n, n);
}

TEST(FftTile, LargeSquares) {
  for (const i64 n : {240, 256, 320, 512}) check<float>(plan_of<float>(n, n), weights_of(31, 32), n - 30, n - 31);
}

TEST(FftTile, Rectangles) {
  check_kernels<float>(32, 128);
  check_kernels<float>(256, 48);
  check_kernels<float>(16, 512);
  check_kernels<float>(160, 64);
}

TEST(FftTile, Doubles) {
  check_kernels<double>(32, 32);
  check_kernels<double>(64, 64);
  check_kernels<double>(40, 72);
  check<double>(plan_of<double>(128, 256), weights_of(17, 40), 112, 217);
}

TEST(FftTile, AllPointsAroundTheEdges) {
  check<float>(plan_of<float>(64, 48), weights_of(7, 10), 64, 48);
  check<double>(plan_of<double>(32, 64), weights_of(32, 64), 32, 64);
}

TEST(FftTile, AnyWidthOfVectors) {
  for (const int lanes : {2, 4, 8, 16}) {
    check<float>(plan_tile(32, 48, vector_of<float>(lanes)), weights_of(5, 6), 28, 43);
    check<float>(plan_tile(128, 64, vector_of<float>(lanes)), weights_of(5, 6), 124, 59);
  }
  for (const int lanes : {2, 4, 8})
    check<double>(plan_tile(48, 40, vector_of<double>(lanes)), weights_of(3, 4), 46, 37);
}

TEST(FftTile, AnyNumberOfResults) {
  const TilePlan plan = plan_of<float>(32, 32);
  for (i64 n = 1; n <= 32; ++n)
    for (const Flush flush : {Flush::begin, Flush::end}) check<float>(plan, weights_of(2, 2), 33 - n, n, flush);
}

// The last pair of a row of tiles: one of them narrow, low, or without any result.
TEST(FftTile, TilesOfDifferentSizes) {
  const TilePlan plan = plan_of<float>(32, 64);
  const Weights w = weights_of(3, 5);
  struct Size {
    i64 rows, columns;
  };
  for (const Size& second : {Size{30, 1}, Size{1, 60}, Size{7, 33}, Size{0, 0}, Size{0, 60}, Size{30, 0}})
    for (const bool turned : {false, true}) {
      SCOPED_TRACE(testing::Message() << second.rows << " x " << second.columns);
      Tile<float> a(plan, 30, 60, 1, 1, Flush::end), b(plan, second.rows, second.columns, 1, 2, Flush::end);
      if (turned)
        run(plan, w, b, a, Flush::end);
      else
        run(plan, w, a, b, Flush::end);
      compare(plan, w, a, 1, 1);
      compare(plan, w, b, 1, 1);
    }
}

TEST(FftTile, RowsAlone) {
  for (const i64 n : {32, 48, 96, 128, 256, 320, 1024})
    for (const i64 k : {i64{1}, i64{2}, i64{9}, n / 2, n})
      check<float>(plan_of<float>(1, n), weights_of(1, k), 16, n - k + 1);
  for (const i64 rows : {1, 7}) check<float>(plan_of<float>(1, 64), weights_of(1, 5), rows, 60, Flush::begin);
  for (const int lanes : {2, 4, 8}) {
    check<float>(plan_tile(1, 80, vector_of<float>(lanes)), weights_of(1, 6), lanes, 75);
    check<double>(plan_tile(1, 80, vector_of<double>(lanes)), weights_of(1, 6), lanes, 75);
  }
}

// Errors are those of the larger tile.
TEST(FftTile, TilesOfDifferentScale) {
  const TilePlan plan = plan_of<float>(64, 64);
  const Weights w = weights_of(9, 9);
  Tile<float> a(plan, 56, 56, 1, 1, Flush::end), b(plan, 56, 56, 1e6, 2, Flush::end);
  run(plan, w, a, b, Flush::end);
  compare(plan, w, a, b.largest(), 1);
  compare(plan, w, b, b.largest(), 1);
}

// Sums over planes of several volumes: spectra of all pairs, then two planes of results at once.
template <class T>
void check_stack(const TilePlan& plan, i64 volumes, i64 along, i64 k0, i64 k1) {
  SCOPED_TRACE(testing::Message() << name_of(plan) << ", " << plan.vector.lanes << " lanes, " << volumes << " x "
                                  << along << " planes");
  ir::nest::Module module;
  add_stack(module, plan, "stack");
  const auto code = run::cpu::load({.source = emit::print_c(module), .name = "stack"});
  const auto there = reinterpret_cast<void (*)(const T* const*, T*, T*, const i64*)>(code->symbol("stack_there"));
  const auto back =
      reinterpret_cast<void (*)(const T* const*, T* const*, const T*, T*, const i64*)>(code->symbol("stack_back"));
  const auto numbers = static_cast<std::size_t>(tile_spectrum_size(plan));
  const auto bytes = numbers * sizeof(T), planes = static_cast<std::size_t>(volumes * along);
  const Flush end = Flush::end;
  GuardedPages scratch(2 * static_cast<std::size_t>(tile_scratch(plan)) * sizeof(T), end, 0xff, sizeof(T));
  GuardedPages weights(bytes * planes, end, 0, sizeof(T));
  std::vector<Weights> kernels;
  double sum = 0;
  for (std::size_t p = 0; p < planes; ++p) {
    kernels.push_back(weights_of(k0, k1));
    for (double& w : kernels.back().values) sum += std::abs(w *= 1 + static_cast<double>(p) / 4);
    const std::vector<double> exact = tile_spectrum(plan, kernels.back().values, k0, k1);
    for (std::size_t k = 0; k < numbers; ++k)
      reinterpret_cast<T*>(weights.begin())[p * numbers + k] = static_cast<T>(exact[k]);
  }
  const i64 high = plan.rows - k0 + 1, wide = plan.columns - k1 + 1;
  i64 arguments[] = {high, wide, high - 1, wide - 1, 0, volumes, along, 1};
  std::deque<Tile<T>> tiles;
  std::deque<GuardedPages> spectra;
  std::vector<const T*> stack;
  for (i64 p = 0; p < volumes * (along + 1); ++p) {
    std::vector<const T*> rows;
    for (i64 t = 0; t < 2; ++t) {
      tiles.emplace_back(plan, high - t, wide - t, 1, static_cast<std::uint64_t>(2 * p + t), end);
      rows.insert(rows.end(), tiles.back().rows.begin(), tiles.back().rows.end());
    }
    GuardedPages& spectrum = spectra.emplace_back(bytes, end, 0xff, sizeof(T));
    there(rows.data(), reinterpret_cast<T*>(spectrum.begin()), reinterpret_cast<T*>(scratch.begin()), arguments);
    EXPECT_TRUE(spectrum.surroundings_intact());
    stack.push_back(reinterpret_cast<const T*>(spectrum.begin()));
  }
  std::vector<T*> out;
  for (std::size_t t = 0; t < 4; ++t) out.insert(out.end(), tiles[t].out.begin(), tiles[t].out.end());
  const double logarithm = std::log2(static_cast<double>(plan.rows * plan.columns));
  for (const i64 second : {0, 1}) {
    arguments[7] = second;
    back(stack.data(), out.data(), reinterpret_cast<T*>(weights.begin()), reinterpret_cast<T*>(scratch.begin()),
         arguments);
    EXPECT_TRUE(scratch.surroundings_intact());
    for (const Tile<T>& tile : tiles)
      for (const GuardedPages& m : tile.memory) ASSERT_TRUE(m.surroundings_intact());
    for (i64 t = 0; t < 2 + 2 * second; ++t)
      for (i64 k = 0; k < (high - t % 2) * (wide - t % 2); k += 7) {
        const i64 y = k / (wide - t % 2), x = k % (wide - t % 2);
        double expected = 0;
        for (i64 p = 0; p < volumes * along; ++p) {
          const i64 pair = p / along * (along + 1) + p % along + t / 2;
          expected +=
              tiles[static_cast<std::size_t>(2 * pair + t % 2)].expected(kernels[static_cast<std::size_t>(p)], y, x);
        }
        ASSERT_NEAR(out[static_cast<std::size_t>(t * tile_rows(plan) + y)][x], expected,
                    2 * epsilon<T> * logarithm * sum)
            << t << ": " << y << ", " << x;
      }
  }
}

TEST(FftTile, SumsOverPlanes) {
  check_stack<float>(plan_of<float>(48, 48), 1, 5, 5, 5);
  check_stack<float>(plan_of<float>(96, 64), 3, 2, 7, 2);
  check_stack<float>(plan_of<float>(32, 112), 2, 1, 3, 3);
  check_stack<double>(plan_of<double>(40, 48), 1, 4, 9, 8);
  for (const int lanes : {2, 4, 8}) check_stack<float>(plan_tile(32, 48, vector_of<float>(lanes)), 1, 2, 4, 6);
}

TEST(FftTile, RadicesAreFree) {
  TilePlan plan = plan_of<float>(64, 64);
  for (const std::vector<i64>& radices :
       std::vector<std::vector<i64>>{{8, 8}, {16, 4}, {4, 16}, {4, 4, 4}, {2, 8, 4}, {2, 2, 4, 4}, {64 / 16, 16}}) {
    plan.down = plan.across = radices;
    check<float>(plan, weights_of(8, 3), 57, 62);
  }
}

TEST(FftTile, Extents) {
  for (const i64 n : {32, 48, 64, 80, 112, 224, 512, 1024}) EXPECT_TRUE(is_tile_extent(n, 16)) << n;
  for (const i64 n : {0, -16, 24, 33, 176, 208, 16384}) EXPECT_FALSE(is_tile_extent(n, 16)) << n;
  EXPECT_TRUE(is_tile_extent(24, 8));
}

TEST(FftTile, TextsReadBack) {
  for (const int lanes : {2, 4, 8, 16})
    for (const auto& [rows, columns] : std::vector<std::pair<i64, i64>>{{32, 32}, {64, 64}, {160, 96}, {512, 320}})
      for (const Type& vector : {vector_of<float>(lanes), vector_of<double>(lanes)}) {
        const ir::nest::Module module = module_of(plan_tile(rows, columns, vector));
        ASSERT_NO_THROW(ir::nest::verify(module));
        const std::string text = ir::nest::print(module);
        EXPECT_EQ(ir::nest::print(ir::nest::parse_module(text)), text);
      }
}

// Tables and functions of a module count on.
TEST(FftTile, SeveralInOneModule) {
  ir::nest::Module module;
  const TilePlan first = plan_of<float>(32, 32), second = plan_of<double>(32, 64);
  add_tile(module, first, "first");
  add_tile(module, second, "second");
  add_stack(module, first, "stack");
  EXPECT_NO_THROW(ir::nest::verify(module));
  EXPECT_NO_THROW(run::cpu::load({.source = emit::print_c(module), .name = "tiles"}));
}

}  // namespace
}  // namespace tessera::fft
