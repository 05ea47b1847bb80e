// Small programs that once went wrong, found by the random ones.
#include <gtest/gtest.h>

#include "run_cases.hpp"

namespace tessera::differential {
namespace {

struct Regression {
  const char* name;
  const char* graph;
  Data data = Data::wild;
  Numbers numbers = Numbers::exact;
};

const std::vector<Regression>& regressions() {
  static const std::vector<Regression> all = {
      {"a reduction of a constant, read by a stage of one element", R"(parameter "N"
a0 = array "a0" int16 [N]
s0 = input "a0" int16 [N] : a0 0
s1 = point "c" half [3*(N/2)] 0..0 : (const:half 3)
s2 = point "r" double [1] 0..0 : (sum_of s1)
s3 = point "p" bool [1] 0..0 : (ne 1f (convert:float s2[i:clamped]))
output "" bool : s3
)",
       Data::plain},
      {"reductions of what reductions gave, which wait for each other", R"(parameter "M"
parameter "N"
a0 = array "a0" int16 [M, N]
s0 = input "a0" int16 [M, N] : a0 0
s1 = point "r1" double [1] 0..0 : (mean_of s0)
s2 = point "r2" double [1] 0..0 : (sum_of s1)
s3 = point "r3" double [1] 0..0 : (max_of s2)
s4 = point "p" double [M, N] 0..0 0..0 : (add (convert:double s0[i:clamped, i:clamped]) (add (value s2) (value s3)))
output "" double : s4
)"},
      {"border values that differ between dimensions", R"(parameter "K"
parameter "M"
parameter "N"
a0 = array "a0" int32 [K, M, N]
s0 = input "a0" int32 [K, M, N] : a0 0
s1 = point "p" int32 [K, M, N] 0..0 0..0 0..0 : (add s0[i-1:constant(5), i+2:constant(-7), i-1:constant(11)] s0[i:clamped, i+1:constant(3), i+1:constant(4)])
s2 = point "q" int32 [K, M, N] 0..0 0..0 0..0 : (sub s1[i-1:constant(1), i-2:constant(2), i+3:constant(8)] s1[i+1:constant(9), i:constant(2), i-1:constant(8)])
output "" int32 : s2
)"},
      {"a stage that extends beyond what it reads", R"(parameter "M"
parameter "N"
a0 = array "a0" int32 [M, N]
s0 = input "a0" int32 [M, N] : a0 0
s1 = point "p" int32 [M, N] 0..1 0..1 : (mul s0[i:clamped, i+1:clamped] s0[i+1:clamped, i:clamped])
s2 = point "q" int32 [M+2, N+3] 0..0 0..0 : (sub s1[i+1:mirror, i+2:mirror] (mul 3 s1[i:symmetric, i-1:mirror]))
output "" int32 : s2
)"},
      {"a result larger than its share of the anchor", R"(parameter "M"
parameter "N"
a0 = array "a0" float [M, N]
s0 = input "a0" float [M, N] : a0 0
s1 = point "p" float [M, N] 0..0 0..0 : (mul s0[i:clamped, i+1:clamped] s0[i+1:clamped, i:clamped])
s2 = point "q" float [M, N] 0..0 0..0 : (sub s1[i:clamped, i-1:clamped] s1[i+1:clamped, i:clamped])
s3 = compose "c" float [M+2, N]
  piece s1 [0, -3] [2, 1] [M/2, min(N, 5)]
output "a" float : s3
output "b" float : s2
)"},
      {"a column read by a whole row", R"(parameter "M"
parameter "N"
a0 = array "a0" int16 [M, N]
s0 = input "a0" int16 [M, N] : a0 0
s1 = point "p" int32 [M, N+40] 0..0 0..0 : (add (convert:int32 s0[1:clamped, {-1}:clamped]) (mul 7 (convert:int32 s0[i:clamped, {N}+2:mirror])))
output "" int32 : s1
)"},
      {"no negative zero among integers", R"(parameter "M"
parameter "N"
a0 = array "a0" float [M, N]
s0 = input "a0" float [M, N] : a0 0
s1 = point "p" uint8 [M, N] 0..0 0..0 : (saturate:uint8 (neg (mul 0.25f (abs s0[i:clamped, i+1:wrap]))))
s2 = point "q" float [M, N] 0..0 0..0 : (div 1f (convert:float s1[i+1:wrap, i:wrap]))
output "" float : s2
)"},
      {"the magnitude of what has no sign", R"(parameter "M"
parameter "N"
a0 = array "a0" uint8 [M, N]
s0 = input "a0" uint8 [M, N] : a0 0
s1 = point "p" int32 [M, N] 0..0 0..0 : (add (abs (convert:int32 s0[i:clamped, i:clamped])) (abs 1))
output "" int32 : s1
)"},
      {"a table of halves and nothing else of that type", R"(parameter "M"
parameter "N"
a0 = array "a0" uint8 [M, N]
t0 = table "k" half [4] : 1 -0.5 65504 6.103515625e-05
s0 = input "a0" uint8 [M, N] : a0 0
s1 = point "p" float [M, N] 0..0 0..0 : (convert:float (lookup t0 (and 3 (convert:int32 s0[i:clamped, i:clamped]))))
output "" float : s1
)"},
      {"selections beside functions that select", R"(parameter "M"
parameter "N"
a0 = array "a0" float [M, N]
s0 = input "a0" float [M, N] : a0 0
s1 = point "p" float [M, N] 0..0 0..0 : (select (lt 0f s0[i:clamped, i+1:clamped]) (atan2 s0[i:clamped, i:clamped] 2f) (abs (exp s0[i+1:clamped, i:clamped])))
output "" float : s1
)"},
      {"a gather at constant indices inside a window", R"(parameter "M"
parameter "N"
a0 = array "a0" int16 [M, N]
s0 = input "a0" int16 [M, N] : a0 0
s1 = point "p" int32 [M, N] 0..0 0..0 : (sum v1=0..1 v2=0..1 (add (convert:int32 (gather s0 1 1)) (convert:int32 (gather s0 v1 v2))))
output "" int32 : s1
)"},
      {"tiles beyond the end of a smaller result", R"(parameter "M"
parameter "N"
a0 = array "a0" uint32 [M, N]
s0 = input "a0" uint32 [M, N] : a0 0
s1 = point "p" int32 [M, N] 0..0 0..0 : (sub (convert:int32 s0[i+2:clamped, i-1:clamped]) (convert:int32 s0[i-3:mirror, i:clamped]))
s2 = point "q" int32 [M, N] 0..0 0..0 : (add s1[i-5:symmetric, i+5:symmetric] s1[i+5:symmetric, i:symmetric])
s3 = point "r" int32 [M/2, N] 0..0 0..0 : (mul s2[i-1:clamped, i-1:clamped] s2[i+1:clamped, i:clamped])
output "q" int32 : s2
output "r" int32 : s3
)"},
      {"zeros of both signs in a median", R"(parameter "M"
parameter "N"
a0 = array "a0" uint8 [M, N]
s0 = input "a0" uint8 [M, N] : a0 0
s1 = point "p" float [M, N] 0..0 0..0 : (median v0=-2..2 v1=-2..-1 (mul (sub (convert:float s0[i+v0+v1-1:clamped, i:clamped]) (convert:float s0[i+v0+1:clamped, i+v1+1:clamped])) (convert:float s0[i+v0+v1+1:clamped, i:clamped])))
output "" float : s1
)",
       Data::plain},
      {"tiles beyond the end of a smaller result, through a chain", R"(parameter "M"
parameter "N"
a0 = array "a0" uint8 [M, N]
s0 = input "a0" uint8 [M, N] : a0 0
s1 = point "p" int32 [2*M, 2*N] 0..0 0..0 : (mul 3 (convert:int32 s0[i:clamped, i:clamped]))
s2 = point "q" int32 [M, N] 0..0 0..0 : (sub s1[2*i:symmetric, 2*i+2:symmetric] 7)
s3 = point "r" int32 [M, N] 0..0 0..0 : (add s2[i-2:constant(-42), i-1:constant(54)] s2[i+2:symmetric, i+1:symmetric])
s4 = point "s" int32 [M, N] 0..0 0..0 : (sub s3[i:clamped, i:clamped] 1)
output "p" int32 : s1
output "r" int32 : s3
output "s" int32 : s4
)"},
      {"rows narrower than the constant beyond their ends", R"(parameter "M"
parameter "N"
a0 = array "a0" uint8 [M, N]
s0 = input "a0" uint8 [M, N] : a0 0
s1 = point "p" int16 [M, N] 0..0 0..0 : (convert:int16 s0[i:clamped, i:clamped])
s2 = point "q" int32 [M, N] 0..0 0..0 : (add (convert:int32 s1[i-1:clamped, i+1:constant(-141.5)]) (convert:int32 s1[i+2:constant(300), i:clamped]))
output "" int32 : s2
)"},
      {"bytes in pairs, read from a field of a struct", R"(parameter "M"
parameter "N"
a0 = array "a0" uint8 [M, N]
s0 = input "a0" uint8 [M, N] : a0 0
s1 = point "p" uint8 [M, N] 0..0 0..0 : (convert:uint8 (add (convert:int32 s0[i:clamped, i+1:clamped]) 3))
s2 = point "q" uint8 [M, N] 0..0 0..0 : (convert:uint8 (sub (convert:int32 s1[i:clamped, i-1:mirror]) (convert:int32 s1[i:clamped, i:clamped])))
output "" struct "result" {"f0" uint8 0, "f1" uint8 1} : s2 s1
)"},
      {"the least of some booleans", R"(parameter "K"
parameter "M"
parameter "N"
a0 = array "a0" uint8 [K, M, N]
s0 = input "a0" uint8 [K, M, N] : a0 0
s1 = point "p" int16 [K, M, N] 0..0 0..0 0..0 : (const:int16 1)
s2 = point "q" bool [3*K, M, 3*N] 0..0 0..0 0..0 : (ne 1 (convert:int32 s1[i:constant(0), i+1:clamped, i:clamped]))
s3 = point "r" int32 [3*K, M, 3*N] 0..0 0..0 0..0 : (convert:int32 (rmin v2=0..0 v3=0..2 (convert:float s2[i+v3+1:mirror, i:mirror, i+v2-1:mirror])))
s4 = point "t" int32 [3*K, M, 3*N] 0..0 0..0 0..0 : (convert:int32 (rmax v4=0..1 v5=0..2 (convert:float s2[i+v4+1:mirror, i:mirror, i+v5-1:clamped])))
output "r" int32 : s3
output "t" int32 : s4
)",
       Data::wild, Numbers::fast},
      {"a half for all lanes", R"(parameter "M"
parameter "N"
a0 = array "a0" half [M, N]
s0 = input "a0" half [M, N] : a0 0
s1 = point "p" half [M, N] 0..0 0..0 : s0[i:clamped, 0:clamped]
output "" half : s1
)"},
      {"minima and maxima of negated numbers", R"(parameter "M"
parameter "N"
a0 = array "a0" uint8 [M, N]
s0 = input "a0" uint8 [M, N] : a0 0
$0 = (convert:int32 s0[i:clamped, i-1:clamped])
$1 = (convert:int32 s0[i:clamped, i:clamped])
$2 = (convert:int32 s0[i:clamped, i+1:clamped])
$3 = (max (max (neg $0) (neg $1)) (neg $2))
$4 = (min (neg $0) (min $1 (neg $2)))
s1 = point "p" int32 [M, N] 0..0 0..0 : (sub (mul 3 $3) $4)
output "" int32 : s1
)"},
  };
  return all;
}

Case regression(std::size_t index) {
  const Regression& r = regressions().at(index);
  Case c;
  c.name = r.name;
  c.graph = ir::parse_graph(r.graph);
  c.seed = index + 1;
  c.data = r.data;
  c.parameters = {{1, 1}, {2, 5}, {24, 1}, {9, 33}, {40, 150}};
  if (c.graph.parameters.size() == 3)
    for (std::vector<i64>& set : c.parameters) set.insert(set.begin(), set[0] % 7 + 1);
  for (const Schedule s : {Schedule::automatic, Schedule::tiled, Schedule::untiled})
    for (const i64 rows : {0, 5}) {
      Way way;
      way.schedule = s;
      way.numbers = r.numbers;
      way.rows = rows;
      way.columns = rows == 0 ? 0 : 64;
      way.placement = rows == 0 ? Placement::flush_end : Placement::flush_begin;
      c.ways.push_back(way);
    }
  Way gcc = c.ways.front();
  gcc.compiler = "gcc";
  if (gcc_is_there()) c.ways.push_back(gcc);
  return c;
}

TEST(Regression, ProgramsThatOnceWentWrong) {
  run_cases(regressions().size(), regression, 100);
}

// Every source of a stage bounds the run of its inner columns; the text of the bound has to grow with their number.
TEST(Regression, ManySourcesCompileInTimeThatIsLinearInThem) {
  std::string text = "parameter \"M\"\nparameter \"N\"\n";
  constexpr int sources = 24;
  for (int k = 0; k < sources; ++k)
    text += "a" + std::to_string(k) + " = array \"a" + std::to_string(k) + "\" float [M, N]\n";
  for (int k = 0; k < sources; ++k)
    text += "s" + std::to_string(k) + " = input \"a\" float [M, N] : a" + std::to_string(k) + " 0\n";
  std::string lines;
  std::string value = "s0[i:clamped, i+1:mirror]";
  for (int k = 1; k < sources; ++k) {
    lines += "$" + std::to_string(k - 1) + " = (add " + value + " s" + std::to_string(k) + "[i:clamped, i+1:mirror])\n";
    value = "$" + std::to_string(k - 1);
  }
  text += lines + "s" + std::to_string(sources) + " = point \"p\" float [M, N] 0..0 0..0 : " + value +
          "\noutput \"\" float : s" + std::to_string(sources) + "\n";
  run_cases(1, [&](std::size_t) {
    Case c;
    c.name = "many sources";
    c.graph = ir::parse_graph(text);
    c.data = Data::plain;
    c.parameters = {{5, 70}};
    c.ways = {Way{}};
    return c;
  });
}

// Lanes beyond the end of a row hold any bits. As indices of a table they are bounded by what a lane may hold, not by
// the values that the program computes: these are 0 to 2, but kept as bytes.
TEST(Regression, LanesThatNobodyKeepReadNothingOutsideATable) {
  std::string text =
      "parameter \"M\"\nparameter \"N\"\na0 = array \"a0\" float [M, N]\nt0 = table \"w\" int32 [3, 9000] :";
  for (int k = 0; k < 3 * 9000; ++k) text += k % 2 == 0 ? " 1" : " -1";
  text +=
      "\ns0 = input \"a0\" float [M, N] : a0 0\n"
      "s1 = point \"p\" int32 [M, N] 0..0 0..0 : (add (convert:int32 (lt 0.2f s0[i:clamped, i:clamped])) "
      "(convert:int32 (lt 0.6f s0[i:clamped, i+1:clamped])))\n"
      "s2 = point \"q\" int32 [M, N] 0..0 0..0 : (add (lookup t0 s1[i:clamped, i-1:clamped] 8999) "
      "(lookup t0 s1[i+1:clamped, i+1:clamped] 9))\n"
      "output \"\" int32 : s2\n";
  run_cases(1, [&](std::size_t) {
    Case c;
    c.name = "indices from lanes that nobody keeps";
    c.graph = ir::parse_graph(text);
    c.parameters = {{1, 1}, {2, 3}, {5, 40}, {9, 130}};
    for (const Schedule s : {Schedule::untiled, Schedule::automatic}) {
      Way way;
      way.schedule = s;
      c.ways.push_back(way);
    }
    return c;
  });
}

// A thread's columns of one image begin elsewhere where it is read at another stride: register tiles of devices took
// the address of the first stride for both.
TEST(Regression, OneImageAtTwoStrides) {
  const std::string text =
      "parameter \"M\"\nparameter \"N\"\na0 = array \"a0\" float [3*M, 3*N]\n"
      "s0 = input \"a0\" float [3*M, 3*N] : a0 0\n"
      "s1 = point \"p\" float [M, N] 0..0 0..0 : (add s0[i:clamped, 3*i:clamped] (mul 2f s0[i:clamped, i:clamped]))\n"
      "s2 = point \"q\" float [M, N] 0..0 0..0 : (sub s0[3*i:clamped, 2*i:clamped] s0[i+1:clamped, i:clamped])\n"
      "output \"\" float : s1\noutput \"q\" float : s2\n";
  run_cases(1, [&](std::size_t) {
    Case c;
    c.name = "one image at two strides";
    c.graph = ir::parse_graph(text);
    c.parameters = {{1, 1}, {3, 5}, {8, 96}, {19, 131}, {40, 300}};
    for (const Schedule s : {Schedule::untiled, Schedule::automatic}) {
      Way way;
      way.schedule = s;
      c.ways.push_back(way);
    }
    return c;
  });
}

}  // namespace
}  // namespace tessera::differential
