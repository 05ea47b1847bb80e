// How the columns of a pass are computed: every form, and what turns it into another one.
#include <gtest/gtest.h>

#include <algorithm>

#include "lang/compile.hpp"
#include "plan/plan.hpp"

namespace tessera::plan {
namespace {

machine::Machine core(int vector_bytes = 64) {
  machine::Machine machine;
  machine.vector_bytes = vector_bytes;
  machine.byte_products = vector_bytes == 64;
  machine.transforms = true;
  return machine;
}

// Of all passes, with the columns of a turn.
std::vector<std::string> forms_of(const std::string& text, const machine::Machine& machine,
                                  Method method = Method::direct) {
  lang::CompileInput input;
  input.text = text;
  Options options;
  options.method = method;
  std::vector<std::string> forms;
  for (const Group& group : make_plan(lang::compile(input).graph, options, machine).groups)
    for (const Pass& pass : group.passes)
      forms.push_back(std::string(name_of(pass.form)) + " " + std::to_string(pass.lanes));
  return forms;
}

std::string filter(const std::string& type, const std::string& body) {
  return "table int w[i = 0..14, j = 0..14] = (i * 7 + j * 3 + i * j * j) % 11 * 11; stencil f(vector#2 " + type +
         " X) { return " + body + "; } parameter M, N; vector#2 " + type + " a[M,N]; return f(a:clamped);";
}

const std::string mean = "saturate<uint8>((X@[0,-1] + X + X@[0,1]) / 3)";
const std::string sum = "sum(i = 0..14, j = 0..14) (w[i,j] * X@[i-7,j-7])";

using Forms = std::vector<std::string>;

TEST(PassForms, VectorsOfTheWidestElement) {
  EXPECT_EQ(forms_of(filter("float", "X@[0,-1] + X"), core()), Forms{"vectors 16"});
  EXPECT_EQ(forms_of(filter("double", "X@[0,-1] + X"), core()), Forms{"vectors 8"});
}

TEST(PassForms, PairsOfBytesNeedWideVectors) {
  EXPECT_EQ(forms_of(filter("uint8", mean), core()), Forms{"pairs 64"});
  EXPECT_EQ(forms_of(filter("uint8", mean), core(32)), Forms{"pairs 32"});
  EXPECT_EQ(forms_of(filter("uint8", mean), core(16)), Forms{"vectors 8"});
  EXPECT_EQ(forms_of(filter("uint16", "X@[0,-1] + X"), core()), Forms{"vectors 16"});
}

TEST(PassForms, QuadsNeedProductsOfBytes) {
  EXPECT_EQ(forms_of(filter("uint8", sum), core()), Forms{"quads 64"});
  EXPECT_EQ(forms_of(filter("uint8", sum), core(32)), Forms{"vectors 8"});
  EXPECT_EQ(forms_of(filter("float", sum), core()), Forms{"vectors 16"});
}

TEST(PassForms, TilesHaveNoLoopOfTheirOwn) {
  EXPECT_EQ(forms_of(filter("float", sum), core(), Method::transform), Forms{"tiles 16"});
}

TEST(PassForms, ReductionsOfAWholeImage) {
  const Forms forms = forms_of("parameter M, N; vector#2 float a[M,N]; return max(a);", core());
  EXPECT_EQ(forms.front(), "reduction 64");
}

TEST(PassForms, ComposedStages) {
  const Forms forms = forms_of(
      "stencil even(vector#2 float X) { return X@[-1,0] + 6 * X; } stencil odd(vector#2 float X) { return X + X@[1,0]; "
      "} parameter M, N; vector#2 float a[M,N]; tall = ( @[(0,2),(0,1)] = even(a:clamped); @[(1,2),(0,1)] = "
      "odd(a:clamped); ); return tall;",
      core());
  EXPECT_EQ(std::count_if(forms.begin(), forms.end(), [](const std::string& f) { return f.starts_with("compose"); }),
            1);
}

}  // namespace
}  // namespace tessera::plan
