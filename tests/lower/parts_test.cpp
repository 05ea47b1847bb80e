// Which pieces of a composed stage are computed right where they lie in it, so that nothing is copied.
#include <gtest/gtest.h>

#include <string>

#include "lang/compile.hpp"
#include "lower/device.hpp"
#include "lower/ways/ways.hpp"

namespace tessera::lower {
namespace {

struct Found {
  int parts = 0, in_place = 0, copies = 0;
  bool operator==(const Found&) const = default;
};

void PrintTo(const Found& f, std::ostream* out) {
  *out << f.parts << " parts, " << f.in_place << " in place, " << f.copies << " copies";
}

Found found(const std::string& body, const std::string& type = "float") {
  lang::CompileInput input;
  input.text = "parameter M, N;\nstencil f(vector#2 " + type +
               " X) { return X@[0,1] - X@[1,0]; }\n"
               "stencil g(vector#3 " +
               type + " X) { return X@[-1,0,1] + X@[1,1,0]; }\nvector#2 " + type + " a[M,N];\n" + body;
  plan::Options options;
  options.schedule = Schedule::untiled;
  plan::Plan plan = plan::make_plan(lang::compile(input).graph, options, {});
  choose_device_ways(plan);
  const DeviceProgram program = lower_device(plan);
  Found result;
  for (const ArrayRef& array : program.interface.arrays) result.parts += array.part.has_value();
  for (const DeviceKernel& kernel : program.kernels) {
    result.in_place += kernel.in_place;
    result.copies += !kernel.in_place && plan.graph.stage(kernel.stages.front()).kind == ir::StageKind::compose;
  }
  return result;
}

const char* const three = "x = f(a:clamped); y = f(a:mirror); z = f(a:wrap); ";

TEST(Parts, ChannelsLieInWhatTheyArePutTogetherTo) {
  const std::string channels = "s = ( [0..,..,..] = x; [1..,..,..] = y; [2..,..,..] = z; ); ";
  EXPECT_EQ(found(three + channels + "return s;"), (Found{3, 1, 0}));
  EXPECT_EQ(found(three + channels + "return g(s:clamped);"), (Found{3, 1, 0}));
  EXPECT_EQ(found(three + channels + "return s = s, t = f(y:clamped);"), (Found{3, 1, 0}));
}

TEST(Parts, OtherPiecesAreCopied) {
  // One stage twice; an input; an output; a number; a gap; columns; pieces that are cut off.
  EXPECT_EQ(found(std::string(three) + "return ( [0..,..,..] = x; [1..,..,..] = y; [2..,..,..] = x; );"),
            (Found{0, 0, 1}));
  EXPECT_EQ(found(std::string(three) + "return ( [0..,..,..] = a; [1..,..,..] = y; );"), (Found{0, 0, 1}));
  EXPECT_EQ(found(std::string(three) + "return s = ( [0..,..,..] = x; [1..,..,..] = y; ), x = x;"), (Found{0, 0, 1}));
  EXPECT_EQ(found(std::string(three) + "return ( [0..,..,..] = x; [1..,..,..] = y; [0..,0..1,0..1] = 1; );"),
            (Found{0, 0, 1}));
  EXPECT_EQ(found(std::string(three) + "return ( [0..,..,..] = x; [2..,..,..] = y; );"), (Found{0, 0, 1}));
  EXPECT_EQ(found(std::string(three) + "return ( [..,..,0..] = x; [..,..,1..] = y; );"), (Found{0, 0, 1}));
  EXPECT_EQ(found(std::string(three) + "return ( [0..,..,..] = x; [1..,0..M-2,..] = y[0..M-2,..]; );").in_place, 0);
}

TEST(Parts, APieceOfTwoLiesInOne) {
  const Found two = found(std::string(three) +
                          "s = ( [0..,..,..] = x; [1..,..,..] = y; ); t = ( [0..,..,..] = z; [1..,..,..] = y; ); "
                          "return s = s, t = t;");
  EXPECT_EQ(two, (Found{2, 1, 1}));
}

TEST(Parts, ValuesThatAreStoredNarrowerAreCopied) {
  // Of bytes: an intermediate has 8 bits, an output of its own type too; the difference of two needs more than either.
  EXPECT_EQ(found("s = ( [0..,..,..] = f(a:clamped); [1..,..,..] = f(a:wrap); ); return s;", "int"), (Found{2, 1, 0}));
  const std::string narrow = "stencil n(vector#2 int X) { return X & 7; } ";
  EXPECT_EQ(found(narrow + "return ( [0..,..,..] = n(a); [1..,..,..] = f(a:wrap); );", "int"), (Found{0, 0, 1}));
}

}  // namespace
}  // namespace tessera::lower
