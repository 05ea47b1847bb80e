// Parameters from shapes: what is solved, and the sentences when shapes do not fit.
#include "ir/bind.hpp"

#include <gtest/gtest.h>

namespace tessera::ir {
namespace {

Graph with(const std::string& arguments) {
  return parse_graph("parameter \"M\"\nparameter \"N\"\n" + arguments);
}

std::string error_of(const Graph& g, const std::vector<Shape>& shapes) {
  try {
    bind_parameters(g, shapes);
  } catch (const Error& e) {
    EXPECT_EQ(e.error_class(), ErrorClass::argument);
    return e.message();
  }
  return "";
}

TEST(Bind, SolvesAffineExtents) {
  using Values = std::vector<i64>;
  EXPECT_EQ(bind_parameters(with("a0 = array \"a\" float [M, N]\n"), {{3, 4}}), (Values{3, 4}));
  EXPECT_EQ(bind_parameters(with("a0 = array \"a\" float [2*M, N+1]\n"), {{6, 4}}), (Values{3, 3}));
  EXPECT_EQ(bind_parameters(with("a0 = array \"a\" float [7-M, 3*N-2]\n"), {{5, 4}}), (Values{2, 2}));
  EXPECT_EQ(bind_parameters(with("a0 = array \"a\" float [M+N]\na1 = array \"b\" float [M]\n"), {{10}, {4}}),
            (Values{4, 6}));
  EXPECT_EQ(bind_parameters(with("a0 = array \"a\" float [M, M/2*2, N*M]\n"), {{5, 4, 15}}), (Values{5, 3}));
  EXPECT_EQ(bind_parameters(with("a0 = scalar \"s\" float\na1 = array \"a\" float [M, N]\n"), {{}, {3, 4}}),
            (Values{3, 4}));
  EXPECT_EQ(bind_parameters(with("a0 = array \"a\" float [M, N, min(M, N), max(M, 2)]\n"), {{5, 3, 3, 5}}),
            (Values{5, 3}));
}

TEST(Bind, SaysWhatDoesNotFit) {
  const Graph two = with("a0 = array \"a\" float [M, N]\na1 = array \"b\" float [M, N]\n");
  EXPECT_EQ(error_of(two, {{512, 640}, {480, 640}}),
            "input 'b' is 480x640, but parameter M is already 512 (from input 'a')");
  EXPECT_EQ(error_of(two, {{512, 640}}), "1 inputs are given, the program takes 2");
  EXPECT_EQ(error_of(two, {{512, 640}, {480}}), "input 'b' has 1 dimensions (480), the program takes 2 (M x N)");
  EXPECT_EQ(error_of(with("a0 = array \"a\" float [2*M, N]\n"), {{5, 4}}),
            "input 'a' is 5x4, but no whole M makes extent 0 (2*M) 5");
  EXPECT_EQ(error_of(with("a0 = array \"a\" float [M, N]\na1 = array \"b\" float [M/2+1]\n"), {{5, 4}, {4}}),
            "input 'b' is 4, but extent 0 must be M/2+1 = 3");
  EXPECT_EQ(error_of(with("a0 = array \"a\" float [M, N, 3]\n"), {{5, 4, 4}}),
            "input 'a' is 5x4x4, but extent 2 must be 3");
  EXPECT_EQ(error_of(with("a0 = array \"a\" float [M/2, N]\n"), {{5, 4}}),
            "parameter M is not determined by the shapes of the inputs");
  EXPECT_EQ(error_of(with("a0 = array \"a\" float [M+N]\n"), {{5}}),
            "parameter M is not determined by the shapes of the inputs");
}

}  // namespace
}  // namespace tessera::ir
