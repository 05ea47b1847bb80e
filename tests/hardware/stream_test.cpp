// Streams as netlists: against the interpreter, frame after frame.
#include "hardware/stream.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>

#include "hardware/build.hpp"
#include "hardware/differences.hpp"
#include "hardware/simulate.hpp"
#include "stream_programs.hpp"
#include "tessera/error.hpp"

namespace tessera::hardware {
namespace {

void expect_equal(const std::string& text, i64 height, i64 width, const StreamOptions& options, std::uint64_t seed) {
  const ir::Graph graph = graph_of(text);
  const Frameset set = interpreted(graph, height, width, 2, seed);
  StreamOptions own = options;
  if (own.fixed) own.height = height, own.width = width;
  const Stream stream = make_stream(graph, own);
  if (!own.fixed && (stream.least_height > height || stream.least_width > width)) return;
  const Netlist netlist = build_netlist(stream);
  const std::vector<Frames> got = simulate(netlist, set.inputs, set.scalars, height, width);
  ASSERT_EQ(got.size(), set.results.size());
  for (std::size_t r = 0; r < got.size(); ++r)
    for (std::size_t f = 0; f < got[r].size(); ++f)
      for (std::size_t k = 0; k < got[r][f].size(); ++k)
        ASSERT_EQ(got[r][f][k], set.results[r][f][k])
            << text << "result " << r << ", frame " << f << ", element " << k << " of " << height << " x " << width
            << ", lanes " << own.lanes << (own.repeat ? "" : ", all stored")
            << (own.fixed ? "" : ", extents at run time");
}

// x_j - x_i >= a, against all whole numbers in a small box.
TEST(Differences, AreTheLeastOfAllThatFit) {
  std::uint64_t state = 7;
  const auto pick = [&](i64 n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<i64>((state >> 33) % static_cast<std::uint64_t>(n));
  };
  int solved = 0;
  for (int round = 0; round < 400; ++round) {
    const std::size_t n = 4;
    std::vector<i64> cost(n, 0);
    for (std::size_t v = 0; v + 1 < n; ++v) {
      cost[v] = pick(7) - 3;
      cost[n - 1] -= cost[v];
    }
    std::vector<Difference> constraints;
    for (int k = 0; k < 6; ++k) {
      const auto from = static_cast<std::size_t>(pick(4)), to = static_cast<std::size_t>(pick(4));
      if (from != to) constraints.push_back({from, to, pick(5) - 2});
    }
    const auto fits = [&](const std::vector<i64>& x) {
      for (const Difference& d : constraints)
        if (x[d.to] - x[d.from] < d.least) return false;
      return true;
    };
    const auto price = [&](const std::vector<i64>& x) {
      i64 sum = 0;
      for (std::size_t v = 0; v < n; ++v) sum += cost[v] * x[v];
      return sum;
    };
    // Best x have differences of at most three constraints of at most two, if there are any.
    std::optional<i64> least;
    for (i64 k = 0; k < 13 * 13 * 13; ++k) {
      const std::vector<i64> x = {0, k % 13 - 6, k / 13 % 13 - 6, k / 169 - 6};
      if (fits(x) && (!least || price(x) < *least)) least = price(x);
    }
    const auto best = minimise_differences(cost, constraints);
    if (!best) continue;
    ++solved;
    ASSERT_TRUE(fits(*best));
    ASSERT_TRUE(least.has_value());
    ASSERT_EQ(price(*best), *least);
  }
  EXPECT_GT(solved, 50);
}

TEST(Stream, RandomProgramsAgreeWithTheInterpreter) {
  const char* more = std::getenv("TESSERA_CASES");
  const std::uint64_t most = more == nullptr ? 150 : std::strtoull(more, nullptr, 10);
  const i64 sizes[][2] = {{1, 1}, {1, 9}, {7, 1}, {2, 2}, {3, 5}, {5, 3}, {9, 17}, {12, 31}};
  for (std::uint64_t seed = 0; seed < most; ++seed) {
    const std::string text = random_program(seed);
    const auto& size = sizes[seed % 8];
    StreamOptions options;
    options.lanes = 1 << (seed / 8 % 4);
    options.repeat = seed % 3 != 0;
    expect_equal(text, size[0], size[1], options, seed);
    if (HasFatalFailure()) return;
    options.fixed = false;
    options.height = 20, options.width = 40;
    if (text.find("extent") == std::string::npos) expect_equal(text, size[0], size[1], options, seed);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace tessera::hardware
