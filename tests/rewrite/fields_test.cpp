// Which images run as rows of numbers, and what is kept of the structs that they are. That values stay is for the
// differential tests.
#include <gtest/gtest.h>

#include <algorithm>

#include "lang/compile.hpp"
#include "lower/interface.hpp"
#include "support/programs.hpp"

namespace tessera {
namespace {

plan::Plan planned_for(const std::string& body, const std::string& result, bool joins = true) {
  lang::CompileInput input;
  input.text = "struct rgb { uint8 r; uint8 g; uint8 b; } struct mixed { uint8 r; int16 g; uint8 b; } " + body +
               " parameter M, N; vector#2 rgb a[M,N]; vector#2 uint8 m[M,N]; return " + result + ";";
  machine::Machine device = fixed_device();
  device.joins_fields = joins;
  return plan::make_plan(lang::compile(input).graph, {}, device);
}

const std::string mean =
    "stencil f(vector#2 uint8 X) { return cast<uint8>((X@[-1,-2] + X@[1,2]) / 2); } stencil g(vector#2 uint8 X, "
    "vector#2 uint8 Y) { return cast<uint8>(X@[0,1] - Y); } stencil c(vector#2 uint8 X) { return cast<uint8>(X + "
    "coord(1)); } stencil w(vector#2 uint8 X) { return cast<int16>(X@[-1,2] * 2); } stencil h(vector#2 uint8 X) { "
    "return cast<uint8>(X@[(0,1),(0,2)]); }";

TEST(Fields, AlikeAreRowsOfNumbers) {
  const plan::Plan p =
      planned_for(mean, "struct rgb(f(f(a.r:mirror):wrap), f(f(a.g:mirror):wrap), f(f(a.b:mirror):wrap))");
  ASSERT_TRUE(p.declared);
  EXPECT_EQ(&p.interface(), p.declared.get());
  EXPECT_TRUE(p.interface().arguments[0].format.is_struct());
  EXPECT_TRUE(p.interface().outputs[0].format.is_struct());
  EXPECT_EQ(p.graph.arguments[0].format, Format(ElementType::u8));
  EXPECT_EQ(p.graph.arguments[1].extents, p.interface().arguments[1].extents);  // that nobody reads
  ASSERT_EQ(p.graph.outputs[0].stages.size(), 1u);
  const ir::Stage& result = p.graph.stage(p.graph.outputs[0].stages[0]);
  EXPECT_EQ(p.together(), 3);
  EXPECT_EQ(p.graph.evaluate(result.domain[1], {5, 7}), 21);
  EXPECT_EQ(p.graph.evaluate(result.domain[0], {5, 7}), 5);
  for (const ir::ExprId e : ir::accesses(p.graph, result.body)) EXPECT_EQ(std::abs(p.graph.node(e).index[1].offset), 6);
  // One row of memory, as it lies.
  const lower::Interface interface = lower::interface_of(p);
  const auto place = lower::place_of(p, interface, p.graph.outputs[0].stages[0]);
  ASSERT_TRUE(place);
  EXPECT_EQ(place->element_stride, 1);
}

TEST(Fields, OthersStay) {
  const auto joined = [](const std::string& result) { return planned_for(mean, result).declared != nullptr; };
  EXPECT_TRUE(joined("struct rgb(f(a.r), f(a.g), f(a.b))"));
  EXPECT_TRUE(joined("p = struct rgb(f(a.r), f(a.g), f(a.b)), q = struct rgb(a.r, a.g, a.b)"));
  EXPECT_FALSE(planned_for(mean, "struct rgb(f(a.r), f(a.g), f(a.b))", false).declared);
  EXPECT_FALSE(joined("f(a.r)"));
  EXPECT_FALSE(joined("struct rgb(f(a.r), f(a.b), f(a.g))"));                                // change places
  EXPECT_FALSE(joined("struct rgb(f(a.r), f(a.g), f(f(a.b):wrap))"));                        // one more
  EXPECT_FALSE(joined("struct rgb(f(a.r:mirror), f(a.g:mirror), f(a.b:wrap))"));             // another border
  EXPECT_FALSE(joined("struct rgb(g(a.r:wrap, m), g(a.g:wrap, m), g(a.b:wrap, m))"));        // one for all
  EXPECT_FALSE(joined("struct rgb(g(a.r:wrap, a.g), g(a.g:wrap, a.g), g(a.b:wrap, a.g))"));  // one of them for all
  EXPECT_FALSE(joined("struct rgb(c(a.r), c(a.g), c(a.b))"));                                // where the column is
  EXPECT_FALSE(joined("struct rgb(h(a.r), h(a.g), h(a.b))"));                                // every other column
  EXPECT_FALSE(joined("struct mixed(f(a.r), w(a.g), f(a.b))"));                              // types
  EXPECT_FALSE(joined("p = struct rgb(f(a.r), f(a.g), f(a.b)), q = f(m)"));                  // a result of numbers
}

}  // namespace
}  // namespace tessera
