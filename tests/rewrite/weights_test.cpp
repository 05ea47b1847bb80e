// Weights that are read off a sum: in order and each once, however the sum is written.
#include "rewrite/sums/weights.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "engine/program_impl.hpp"
#include "tessera/program.hpp"

namespace tessera::rewrite {
namespace {

std::optional<LinearForms::Sum> sum_of(const std::string& body) {
  const Program program =
      Program::from_text("table float K[i = 0..2, j = 0..3] = i * 10 + j - 11; stencil f(vector#2 float X) { return " +
                         body + "; } parameter M, N; vector#2 float a[M,N]; return f(a:clamped);");
  const ir::Graph& graph = program.impl().graph;
  const ir::ExprId root = graph.stage(graph.outputs.front().stages.front()).body;
  i64 steps = 1 << 20;
  return LinearForms(graph, Numbers::fast, root, steps).expand(root);
}

TEST(Weights, AreInOrderAndEachOnce) {
  const auto k = [](i64 i, i64 j) { return static_cast<double>(i * 10 + j - 11); };
  std::map<Offset, double> plain, mirrored, turned, both;
  for (i64 i = 0; i < 3; ++i)
    for (i64 j = 0; j < 4; ++j) {
      if (k(i, j) == 0) continue;
      plain[{i - 1, j, 0, 0}] += k(i, j);
      mirrored[{-i, 2 - j, 0, 0}] += k(i, j);
      turned[{j, i - 1, 0, 0}] += k(i, j);
      both[{i - 1, j, 0, 0}] += k(i, j), both[{1 - i, j, 0, 0}] += 2 * k(i, j);
    }
  std::erase_if(both, [](const auto& term) { return term.second == 0; });
  const std::string sum = "sum(i = 0..2, j = 0..3) (K[i,j] * X@";
  const std::pair<std::string, std::map<Offset, double>> cases[] = {
      {sum + "[i-1,j])", plain},
      {sum + "[-i,2-j])", mirrored},
      {sum + "[j,i-1])", turned},
      {sum + "[i-1,j]) + 2 * " + sum + "[1-i,j])", both},
      {"X@[0,1] - X@[0,0] + 3 * X@[0,1] + X@[0,0]", {{{0, 1, 0, 0}, 4.0}}},
      {"X@[0,1] + X@[0,1]", {{{0, 1, 0, 0}, 2.0}}},
  };
  for (const auto& [body, expected] : cases) {
    SCOPED_TRACE(body);
    const auto found = sum_of(body);
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->weights, Weights(expected.begin(), expected.end()));
  }
}

}  // namespace
}  // namespace tessera::rewrite
