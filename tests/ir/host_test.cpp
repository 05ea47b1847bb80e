// Host programs: the verifier finds each thing that it is there for, and memory is shared where it can be.
#include <gtest/gtest.h>

#include "ir/host/program.hpp"
#include "tessera/error.hpp"

namespace tessera::ir::host {
namespace {

// out = double of double of a: a part twice, with an array between.
class HostPrograms : public testing::Test {
 protected:
  HostPrograms() {
    graph = parse_graph(
        "parameter \"N\"\na0 = array \"a\" float [N]\ns0 = input \"a\" float [N] : a0 0\n"
        "s1 = point \"twice\" float [N] 0..0 : (mul s0[i] 2f)\noutput \"out\" float : s1\n");
    const std::vector<SizeId> extents = graph.arguments[0].extents;
    program.parts.push_back({"twice", graph});
    program.transforms.push_back({"spectrum", false, true, true, ElementType::f32, {0}, extents});
    program.arrays = {{Array::Kind::argument, 0, "a", true, ElementType::f32, extents},
                      {Array::Kind::output, 0, "out", true, ElementType::f32, extents},
                      {Array::Kind::own, 0, "between", true, ElementType::f32, extents},
                      {Array::Kind::own, 0, "other", true, ElementType::f32, extents},
                      {Array::Kind::own, 0, "test", true, ElementType::boolean, {}}};
    program.body = {Acquire{a},       Acquire{between}, RunPart{0, {a}, {between}},
                    Release{a},       Acquire{out},     RunPart{0, {between}, {out}},
                    Release{between}, Release{out}};
  }

  void refused(const std::string& rule) const {
    try {
      verify(program, graph);
      ADD_FAILURE() << "accepted, expected: " << rule;
    } catch (const Error& e) {
      EXPECT_EQ(e.error_class(), ErrorClass::internal);
      EXPECT_NE(e.message().find(rule), std::string::npos) << e.message();
    }
  }

  Graph graph;
  Program program;
  static constexpr ArrayId a = 0, out = 1, between = 2, other = 3, test = 4;
};

TEST_F(HostPrograms, Print) {
  verify(program, graph);
  EXPECT_EQ(print(program, graph),
            "array a: float [N], argument 0\narray out: float [N], output 0\narray between: float [N]\n"
            "array other: float [N]\narray test: bool []\n"
            "transform spectrum: forward, numbers to numbers, along 0\n"
            "acquire a\nacquire between\nrun twice (a) -> (between)\nrelease a\nacquire out\n"
            "run twice (between) -> (out)\nrelease between\nrelease out\n");
}

TEST_F(HostPrograms, UseNoArrayWithoutMemory) {
  program.body.erase(program.body.begin() + 1);
  refused("'between': it has no memory where it is used");
}

TEST_F(HostPrograms, GiveMemoryBack) {
  program.body.pop_back();
  refused("'out': nothing releases the array");
}

TEST_F(HostPrograms, TakeMemoryOnce) {
  program.body.insert(program.body.begin(), Acquire{a});
  refused("it is acquired twice");
}

TEST_F(HostPrograms, WriteNoArgument) {
  program.body[2] = RunPart{0, {a}, {a}};
  refused("'a': an argument is written");
}

TEST_F(HostPrograms, ReadNotWhatTheyWrite) {
  program.body[5] = RunPart{0, {out}, {out}};
  refused("'out': a part reads what it writes");
}

TEST_F(HostPrograms, HaveTheArgumentsOfTheirParts) {
  program.body[2] = RunPart{0, {}, {between}};
  refused("'twice': the part has other arguments or outputs");
}

TEST_F(HostPrograms, TransformArraysOfTheirExtents) {
  program.arrays[between].extents = {graph.size(7)};
  program.body[2] = RunTransform{0, a, between, false};
  refused("'between': its extents are not those of the transform");
}

TEST_F(HostPrograms, LeaveTheCallersArrays) {
  program.body[2] = RunTransform{0, a, between, true};
  refused("'spectrum': what is the caller's is written over");
}

TEST_F(HostPrograms, NameEveryArrayOnce) {
  program.arrays[other].name = "between";
  refused("'between': two arrays have one name");
}

// A loop whose body computes `other` from `between`, which change places, and a test.
TEST_F(HostPrograms, HaveTurnsThatBeginAlike) {
  const Repeat loop{"t", 9, test, {RunPart{0, {between}, {other}}, Shift{{other, between}, {std::nullopt}}}};
  const std::vector<Statement> before = program.body;
  program.body.insert(program.body.begin() + 3, {Acquire{other}, Acquire{test}, loop, Release{test}, Release{other}});
  verify(program, graph);
  EXPECT_TRUE(program.loops());

  Repeat leaves = loop;
  leaves.body.push_back(Release{other});
  program.body[5] = leaves;
  refused("'t': a turn of the loop begins and ends with other memory");

  Repeat short_list = loop;
  std::get<Shift>(short_list.body[1]).instead.clear();
  program.body[5] = short_list;
  refused("'other': versions and what stands for them differ");

  Repeat of_floats = loop;
  of_floats.test = between;
  program.body[5] = of_floats;
  refused("'between': the test of a loop is one byte");

  program.body = before;
  program.body.insert(program.body.begin() + 3,
                      {Acquire{other}, Shift{{other, between}, {std::nullopt}}, Release{other}});
  refused("'other': versions are shifted outside of a loop");
}

TEST_F(HostPrograms, ShareMemoryOfArraysThatAreNotThereAtOnce) {
  program.body.insert(program.body.begin() + 7, {Acquire{other}, Release{other}});
  Slots shared = slots(program);
  EXPECT_EQ(shared.count, 1u);
  EXPECT_EQ(shared.of[between], shared.of[other]);
  EXPECT_FALSE(shared.of[a].has_value());
  EXPECT_EQ(most_bytes(program, {{10, 20, 40, 100, 0}, {7}}), 120);  // out and other

  // Memory that changes names stays to the end.
  program.body.insert(program.body.begin() + 2, Bind{test, between});
  shared = slots(program);
  EXPECT_EQ(shared.count, 2u);
  EXPECT_NE(shared.of[between], shared.of[other]);
  EXPECT_EQ(most_bytes(program, {{10, 20, 40, 100, 0}, {7}}), 160);
}

}  // namespace
}  // namespace tessera::ir::host
