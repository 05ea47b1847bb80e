// Loops with a test in the stage graph: their text and their rules. Sections are in tests/passes.
#include "ir/loops.hpp"

#include <gtest/gtest.h>

namespace tessera::ir {
namespace {

// Two versions are carried, one number, and what a body computes once more is kept.
constexpr const char* kLoop = R"(parameter "N"
a0 = array "x" float [N]
a1 = scalar "k" float
s0 = input "x" float [N] : a0 0
s1 = point "twice" float [N] 0..0 : (mul s0[i] 2f)
s2 = point "zero" int32 [1] 0..0 : 0
s3 = carried "u<t-1>" float [N] : l0 s1
s4 = carried "u<t-2>" float [N] : l0 s0
s5 = carried "t" int32 [1] : l0 s2
s6 = point "u<t>" float [N] 0..0 : (add (mul s3[i] (scalar 1)) (add s4[i] s1[i]))
s7 = point "count" int32 [1] 0..0 : (add (value s5) 1)
s8 = point "most" float [1] 0..0 : (max_of s6)
s9 = point "while" bool [1] 0..0 : (lt (value s8) 100f)
s10 = last "u<9>" float [N] : l0 s6
s11 = last "m<9>" float [1] : l0 s8
s12 = point "after" float [N] 0..0 : (div s10[i] (value s11))
l0 = loop "t" 9 s9 : s3 s6 s4 s3 s5 s7
span "f.forma" 3 4 1 ""
output "" float : s12
)";

TEST(Loops, PrintAsTheyWereRead) {
  const Graph g = parse_graph(kLoop);
  EXPECT_EQ(print(g), kLoop);
  verify(g);
  EXPECT_EQ(g.loops.at(0).most, 9);
  EXPECT_EQ(g.loops.at(0).span.line, 3);
}

TEST(Loops, BodiesAreWhatDependsOnWhatIsCarried) {
  const Graph g = parse_graph(kLoop);
  const std::vector<std::uint32_t> in = bodies(g);
  for (StageId s = 0; s < g.stage_count(); ++s) EXPECT_EQ(in[s] == 0, s >= 3 && s <= 9) << s;
}

std::string verdict(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  try {
    verify(parse_graph(text));
  } catch (const Error& e) {
    return e.message();
  }
  return "well formed";
}

TEST(Loops, Rules) {
  const auto rule = [](const std::string& from, const std::string& to) { return verdict(kLoop, from, to); };
  EXPECT_EQ(rule("loop \"t\" 9", "loop \"t\" 0"), "loop 't' (0): it runs once at least");
  EXPECT_EQ(rule("9 s9 :", "9 s8 :"), "loop 't' (0): its test is one boolean");
  EXPECT_EQ(rule("s9 : s3 s6 s4 s3 s5 s7", "s9 :"), "loop 't' (0): every carried image has a next one");
  EXPECT_EQ(rule("s9 : s3 s6 s4 s3", "s9 : s3 s6 s3 s6"),
            "loop 't' (0): it carries carried stages of its own, each once");
  EXPECT_EQ(rule("s9 : s3 s6 s4 s3 s5 s7", "s9 : s3 s6 s5 s7"), "loops: a carried stage is carried by its loop");
  EXPECT_EQ(rule("s4 s3 s5 s7", "s5 s7 s4 s3"),
            "loop 't' (0): what is next is computed, or is the carried image before it in the list");
  EXPECT_EQ(rule("s5 s7\n", "s5 s8\n"), "loop 't' (0): what is next has the type and the domain of what is carried");
  EXPECT_EQ(rule(": l0 s1\n", ": l1 s1\n"), "stage 'u<t-1>' (3): loop 1 does not exist");
  EXPECT_EQ(rule("\"t\" int32 [1] : l0 s2", "\"t\" int32 [1] : l0 s0"),
            "stage 't' (5): it has the type and the domain of what it is of");
  EXPECT_EQ(rule("float : s12", "float : s6"), "loops: an output is no image of a loop's body");
  EXPECT_EQ(rule("(div s10[i] (value s11))", "(div s10[i] (value s8))"),
            "loops: no image of a body comes after its loop's end");
}

}  // namespace
}  // namespace tessera::ir
