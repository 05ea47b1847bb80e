// --verify: every point by its own measure; windows; what is a fault, and what the program makes of rounding.
#include <cmath>

#include "cli/execute/verify.hpp"
#include "engine/filters/filters.hpp"
#include "fixture.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;

struct Verified {
  Verdict verdict = Verdict::agrees;
  std::string text;
};

Verified verified(const Program& program, const Array& image, const Array& result, const VerifyOptions& how = {},
                  const RunOptions& options = {}) {
  Lanes lanes;
  lanes.inputs = {{image}};
  testing::internal::CaptureStdout();
  Verified v;
  try {
    v.verdict = verify(program, lanes, {{result}}, options, how);
  } catch (...) {
    testing::internal::GetCapturedStdout();  // only one capture can exist
    throw;
  }
  fflush(stdout);
  v.text = testing::internal::GetCapturedStdout();
  return v;
}

Array ramp(const Shape& shape) {
  Array image(ElementType::f32, shape);
  for (i64 i = 0; i < image.count(); ++i) image.as<float>()[i] = 100 + static_cast<float>(i % 7);
  return image;
}

TEST_F(Command, VerifiesEachPointByItsOwnMeasure) {
  Array image = ramp({1, 400});
  image.as<float>()[10] = 1e30F;
  const auto filter = engine::make_filter({.name = "gaussian", .numbers = {{"sigma", 4}}}, ElementType::f32, 2);
  const Array result = filter->program.run({image}).at(0);
  EXPECT_EQ(verified(filter->program, image, result).verdict, Verdict::agrees);
  // Far from the outlier a hundredth is wrong; beside it much more is rounding.
  result.as<float>()[300] += 0.01F;
  const Verified far = verified(filter->program, image, result);
  EXPECT_EQ(far.verdict, Verdict::differs);
  EXPECT_THAT(far.text,
              AllOf(HasSubstr("DIFFERS"), HasSubstr(", 1 by more than is allowed there (worst: by 0.01 where "),
                    HasSubstr("in exact numbers it agrees")));
  result.as<float>()[300] -= 0.01F;
  result.as<float>()[12] *= 1 + 1e-6F;
  EXPECT_EQ(verified(filter->program, image, result).verdict, Verdict::agrees);
}

// The difference and the allowance that are printed are of one point: the one that is nearest to differing.
TEST_F(Command, VerifyNamesBothNumbersOfOnePoint) {
  const Program twice = Program::from_text(
      "stencil f(vector#1 float X) { return X@[-1] + X; } parameter N; vector#1 float a[N]; return f(a:clamped);");
  Array image(ElementType::f32, {8});
  for (i64 i = 0; i < 8; ++i) image.as<float>()[i] = i < 4 ? 1 : 1e6F;
  const Array result = twice.run({image}).at(0);
  EXPECT_THAT(verified(twice, image, result).text, HasSubstr("; none of 8 values differs, 2e-05 or more is allowed\n"));
  result.as<float>()[7] += 1;        // 20 are allowed
  result.as<float>()[2] += 1.5e-5F;  // 2e-5 are
  EXPECT_THAT(verified(twice, image, result).text,
              HasSubstr("verify output 1: agrees with the interpreter; 2 of 8 values differ, none by more than is "
                        "allowed there (closest: by 1.5e-05 where 2e-05 is allowed)\n"));
  result.as<float>()[7] += 100;
  result.as<float>()[2] += 1;  // less than there, and more than it may by far
  EXPECT_THAT(verified(twice, image, result).text,
              HasSubstr("verify output 1: DIFFERS from the interpreter; 2 of 8 values differ, 2 by more than is "
                        "allowed there (worst: by 1 where 2e-05 is allowed)\n"));
}

TEST_F(Command, VerifyNamesTheFileOfSeveral) {
  fs::copy_file(path("grey.png"), path("other.png"));
  const std::string line = "verify result: agrees with the interpreter; none of 192 values differs, 0 is allowed\n";
  const std::string first = path("grey.png") + "\n" + line, second = path("other.png") + "\n" + line;
  std::vector<std::string> words = {"run", "bytes.forma", "grey.png", "other.png", "--verify", "-q", "-o"};
  words.push_back((folder() / "out_{name}").string());
  EXPECT_EQ(tessera(words).out, first + second);
  EXPECT_EQ(tessera({"run", "bytes.forma", "grey.png", "--verify", "-q", "-o", "o.png"}).out, line);
}

TEST_F(Command, VerifyTellsWhatAmplifiesRounding) {
  const Program decides = Program::from_text(
      "stencil f(vector#1 float X) { return (X@[-1] + X + X@[1]) / 3 > 103 ? 1.0f : 0.0f; } parameter N; "
      "vector#1 float a[N]; return f(a:clamped);");
  const Program sums = Program::from_text(
      "stencil f(vector#1 float X) { return (X@[-1] + X + X@[1]) / 3; } parameter N; vector#1 float a[N]; "
      "return f(a:clamped);");
  const Array image = ramp({50});
  const Array wrong = decides.run({image}).at(0);
  wrong.as<float>()[20] += 1;
  EXPECT_EQ(verified(decides, image, wrong).verdict, Verdict::amplifies);
  const Array off = sums.run({image}).at(0);
  off.as<float>()[20] += 1;
  EXPECT_EQ(verified(sums, image, off).verdict, Verdict::differs);
  RunOptions exact;
  exact.numbers = Numbers::exact;
  EXPECT_EQ(verified(decides, image, wrong, {}, exact).verdict, Verdict::differs);
}

// What cancels may err by what it was, a root of it by the root of that, a quotient as its divisor lets it.
TEST_F(Command, VerifyFollowsErrorsThroughTheProgram) {
  const Program program = Program::from_text(
      "stencil g(vector#1 float X) { return X@[1] - X@[-1]; } stencil f(vector#1 float D) { return sqrt(D * D + 0); } "
      "parameter N; vector#1 float a[N]; return f(g(a:clamped):clamped);");
  Array image(ElementType::f32, {20});
  for (i64 i = 0; i < 20; ++i) image.as<float>()[i] = 1000;
  const Array result = program.run({image}).at(0);
  result.as<float>()[5] = 4e-4F;  // two last bits of 2000
  EXPECT_EQ(verified(program, image, result).verdict, Verdict::agrees);
  result.as<float>()[5] = 0.5F;
  EXPECT_EQ(verified(program, image, result).verdict, Verdict::differs);
}

TEST_F(Command, VerifiesWindowsOfLargeResults) {
  const Array image = ramp({120, 150});
  const auto filter = engine::make_filter({.name = "box", .numbers = {{"radius", 2}}}, ElementType::f32, 2);
  const Array result = filter->program.run({image}).at(0);
  VerifyOptions how = parse_verify("sampled:7");
  const Verified good = verified(filter->program, image, result, how);
  EXPECT_EQ(good.verdict, Verdict::agrees);
  EXPECT_THAT(good.text, HasSubstr("64 windows of the results are compared, --verify sampled:7 repeats them"));
  // 64 windows of 16 x 16 of 18000 points find a wrong tenth of them, and the corner at once.
  result.as<float>()[0] += 1;
  EXPECT_EQ(verified(filter->program, image, result, how).verdict, Verdict::differs);
  EXPECT_THROW(parse_verify("some"), Error);
  EXPECT_THROW(parse_verify("sampled:x"), Error);
  const Program whole = Program::from_text("parameter N; vector#1 float a[N]; m = max(a); return m;");
  EXPECT_THROW(verified(whole, ramp({9}), whole.run({ramp({9})}).at(0), how), Error);
}

TEST_F(Command, VerifyTakesAWordBehindIt) {
  ASSERT_EQ(tessera({"filter", "box", "grey.png", "--verify", "sampled", "-q"}).status, 0);
  ASSERT_EQ(tessera({"filter", "box", "--verify", "grey.png", "-q"}).status, 0);
  EXPECT_THAT(tessera({"filter", "box", "--verify=sampled:3", "grey.png", "-q"}).out, HasSubstr("sampled:3"));
  EXPECT_EQ(tessera({"filter", "box", "grey.png", "--verify=some"}).status, 2);
}

}  // namespace
}  // namespace tessera::cli
