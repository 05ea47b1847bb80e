// Keyed reductions: values that are known, types, places, and what is refused.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "lang/functions.hpp"
#include "testing.hpp"

namespace tessera::lang::testing {
namespace {

using Values = std::vector<double>;

// The first error, and what it advises.
std::string fault(const std::string& text) {
  const std::vector<Diagnostic> all = check_text(text);
  if (all.empty()) return "";
  std::string said = all[0].message;
  for (const std::string& note : all[0].notes) said += " | " + note;
  return said + (all[0].help.empty() ? "" : " | " + all[0].help);
}

const Array keys = array<std::int32_t>({6}, {1, 3, -1, 0, 5, 3});
const Array values = array<std::int32_t>({6}, {7, 2, 9, 4, 8, -5});
const std::string rows = "vector#1 int k[6]; vector#1 int v[6]; ";

TEST(Keyed, EveryOperation) {
  const std::vector<Result> r = run_all(
      rows +
          "s[0..3] = sum(v into k); lo[0..3] = min(v into k); hi[0..3] = max(v into k); m[0..3] = mean(v into k); "
          "n[0..3] = count(v into k); some[0..3] = any(v into k); every[0..3] = all(v into k); "
          "return s = s, lo = lo, hi = hi, m = m, n = n, some = some, every = every;",
      {keys, array<std::int32_t>({6}, {7, 2, 9, 0, 8, -5})});
  constexpr double most = std::numeric_limits<std::int32_t>::max(), least = std::numeric_limits<std::int32_t>::min();
  EXPECT_EQ(r[0].values, (Values{0, 7, 0, -3}));
  EXPECT_EQ(r[1].values, (Values{0, 7, most, -5}));
  EXPECT_EQ(r[2].values, (Values{0, 7, least, 2}));
  EXPECT_EQ(r[3].values[3], -1.5);
  EXPECT_TRUE(std::isnan(r[3].values[2]));
  EXPECT_EQ(r[4].values, (Values{0, 1, 0, 2}));
  EXPECT_EQ(r[5].values, (Values{0, 1, 0, 1}));
  EXPECT_EQ(r[6].values, (Values{0, 1, 1, 1}));
}

TEST(Keyed, TypesFollowThoseOfValues) {
  const auto type = [](const std::string& of, const std::string& reduction) {
    return run("vector#1 uint8 k[2]; vector#1 " + of + " v[2]; h[0..1] = " + reduction + "(v into k); return h;",
               {array<std::uint8_t>({2}, {0, 1}), Array(Format(*find_type(of)), {2})})
        .type;
  };
  EXPECT_EQ(type("uint8", "sum"), "int32");
  EXPECT_EQ(type("uint32", "sum"), "uint32");
  EXPECT_EQ(type("float", "sum"), "float");
  EXPECT_EQ(type("double", "sum"), "double");
  EXPECT_EQ(type("uint8", "max"), "uint8");
  EXPECT_EQ(type("half", "min"), "half");
  EXPECT_EQ(type("int16", "mean"), "double");
  EXPECT_EQ(type("half", "mean"), "float");
  EXPECT_EQ(type("float", "count"), "int32");
  EXPECT_EQ(type("float", "any"), "bool");
}

TEST(Keyed, ANumberIsAValueToo) {
  EXPECT_EQ(run(rows + "h[0..3] = sum(2 into k); return h;", {keys, values}).values, (Values{2, 2, 0, 4}));
  EXPECT_EQ(run(rows + "h[0..3] = sum(max(v) into k); return h;", {keys, values}).values, (Values{9, 9, 0, 18}));
}

TEST(Keyed, PlacesOfMoreDimensions) {
  EXPECT_EQ(run(rows + "h[0..1, 0..3] = sum(v into k, k); return h;", {keys, values}).values,
            (Values{4, 0, 0, 0, 0, 7, 0, 0}));
  EXPECT_EQ(run("stencil up(vector#1 int K, int by) { return K + by; } " + rows +
                    "for i = 0..1 h[i, 0..3] = sum(v into up(k, i)); endfor return h;",
                {keys, values})
                .values,
            (Values{4, 7, 0, -3, 9, 4, 7, 0}));
  EXPECT_EQ(run("parameter N; vector#1 int k[N]; h[0..N-1] = sum(1 into k); return h;", {keys}).values,
            (Values{1, 1, 0, 2, 0, 1}));
}

TEST(Keyed, ThePartThatAllHaveCounts) {
  EXPECT_EQ(run("vector#1 int k[6]; vector#1 int v[3]; h[0..3] = sum(v into k); return h;",
                {keys, array<std::int32_t>({3}, {7, 2, 9})})
                .values,
            (Values{0, 7, 0, 2}));
}

TEST(Keyed, Faults) {
  EXPECT_EQ(fault(rows + "return sum(v into k);"),
            "how many bins there are is not known: expected a place with ranges | write h[0..255] = sum(v into k);");
  EXPECT_EQ(fault(rows + "h[1..3] = sum(v into k); return h;"),
            "bins are counted from 0: expected a range such as 0..255 | keys outside of it are dropped");
  EXPECT_EQ(fault(rows + "h[0..] = sum(v into k); return h;").substr(0, 24), "bins are counted from 0:");
  EXPECT_EQ(fault(rows + "h[0..3] = prod(v into k); return h;"),
            "'prod' puts nothing into bins: expected 'sum', 'min', 'max', 'mean', 'count', 'any' or 'all'");
  EXPECT_EQ(fault(rows + "h[0..3] = sum(v into 3); return h;"), "a key is an image of integers: found the scalar '3'");
  EXPECT_EQ(fault("vector#1 float x[6]; h[0..3] = sum(1 into x); return h;"),
            "a key is an image of integers: 'x' is a vector#1 float | write stencil bin(vector#1 float X) { return "
            "cast<int>(floor(X)); }");
  EXPECT_EQ(fault(rows + "h[0..3] = sum(v into k, k); return h;"),
            "2 keys are given, but the place has 1 dimension: expected one key for each");
  EXPECT_EQ(fault(rows + "h[0..1, 0..3] = sum(v into k); return h;"),
            "the place has 2 dimensions, but 1 key is given: expected a single index in dimension 0 | give a key for "
            "every dimension: sum(v into key0, key1)");
  EXPECT_EQ(fault("vector#1 int k[6]; vector#2 int v[6,6]; h[0..3] = sum(v into k); return h;"),
            "'k' has rank 1: expected 2, as the other images have");
  EXPECT_EQ(fault("struct rgb { int r; int g; } vector#1 rgb p[6]; h[0..3] = sum(1 into p); return h;"),
            "a key is an image of integers: 'p' is a vector#1 struct rgb | choose a field: p.r");
  EXPECT_EQ(fault("struct rgb { int r; int g; } vector#1 rgb p[6]; h[0..3] = sum(p into p.r); return h;"),
            "'sum' takes an image of numbers, but 'p' is a vector#1 struct rgb | choose a field: p.r");
  EXPECT_EQ(fault(rows + "h[0..3] = sum(v:wrap into k); return h;"),
            "a boundary mode has no meaning here: nothing is read outside of the image");
  EXPECT_EQ(fault(rows + "h[0..3] = sum(v into w); return h;").substr(0, 17), "unknown image 'w'");
  EXPECT_EQ(fault(rows + "h[0..99999, 0..99999] = sum(v into k, k); return h;"),
            "there are more than 2,147,483,646 bins");
}

}  // namespace
}  // namespace tessera::lang::testing
