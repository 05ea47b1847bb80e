// The command from argument vector to files: binding, channels, regions, errors, exit status.
#include <algorithm>
#include <cmath>
#include <ctime>

#include "base/text.hpp"
#include "cli/execute/verify.hpp"
#include "cli/options/options.hpp"
#include "data/element.hpp"
#include "engine/filters/filters.hpp"
#include "fixture.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {
namespace {

using testing::AllOf;
using testing::ElementsAre;

// Nothing of the user's own cache is read or written.
class NoCache : public testing::Environment {
 public:
  void SetUp() override { setenv("TESSERA_CACHE", "", 1); }
};
const auto* const no_cache = testing::AddGlobalTestEnvironment(new NoCache);

std::uint8_t byte_at(const Array& a, i64 row, i64 column) {
  const i64 index[2] = {row, column};
  return static_cast<std::uint8_t>(*a.at(index));
}

TEST_F(Command, RunsOnAFile) {
  const Outcome o = tessera({"run", "gain.forma", "grey.png", "-p", "amount=2", "-o", "out.tif", "--verify", "-q"});
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_THAT(o.out, HasSubstr("verify result: agrees"));
  const Array out = read("out.tif");
  ASSERT_EQ(out.format(), Format(ElementType::f32));
  for (i64 i = 0; i < out.count(); ++i) ASSERT_EQ(out.as<float>()[i], 2.0f * static_cast<float>(i));
}

TEST_F(Command, BindsByNameAndByPosition) {
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"run", "gain.forma", "grey.png", "0.5", "-o", "o.tif"},
           {"run", "gain.forma", "amount=0.5", "grey.png", "-o", "o.tif"},
           {"run", "gain.forma", "-p", "amount=0.5", "image=grey.png", "-o", "result=o.tif"}}) {
    const Outcome o = tessera(words);
    ASSERT_EQ(o.status, 0) << o.err;
    EXPECT_EQ(read("o.tif").as<float>()[100], 50.0f);
    fs::remove(path("o.tif"));
  }
}

TEST_F(Command, RunsPerChannelOrOnIntensity) {
  ASSERT_EQ(tessera({"run", "gain.forma", "colour.png", "1", "-o", "o.png"}).status, 0);
  const Array in = read("colour.png"), out = read("o.png");
  ASSERT_EQ(out.format(), in.format());
  for (i64 i = 0; i < 3 * in.count(); ++i) ASSERT_EQ(out.as<std::uint8_t>()[i], in.as<std::uint8_t>()[i]);

  ASSERT_EQ(tessera({"run", "gain.forma", "colour.png", "1", "-o", "g.png", "--gray"}).status, 0);
  const Array grey = read("g.png"), expected = io::to_grey(in);
  ASSERT_EQ(grey.format(), Format(ElementType::u8));
  for (i64 i = 0; i < grey.count(); ++i) ASSERT_EQ(grey.as<std::uint8_t>()[i], expected.as<std::uint8_t>()[i]);
}

// Channels are no dimension, whatever the rank of the program.
TEST_F(Command, ColoursAreNoVolume) {
  program("volume.forma",
          "stencil same(vector#3 float X) { return X; }\n"
          "parameter L, M, N;\nvector#3 float v[L,M,N];\nreturn same(v);\n");
  const std::string error = "has rank 2 (12x16), which does not fit input 'v', float of rank 3 [L x M x N]\n";
  const Outcome colour = tessera({"run", "volume.forma", "colour.png", "-o", "o.npy"});
  expect_error(colour, 2,
               error +
                   "help: channels are no dimension: a program for vector#2 runs on each of these 3, "
                   "with --gray on the intensity; a .npy file of rank 3 may have them");
  expect_error(tessera({"run", "volume.forma", "colour.png", "--gray", "-o", "o.npy"}), 2, error);
  expect_error(tessera({"run", "volume.forma", "grey.png", "-o", "o.npy"}), 2, error);
  EXPECT_FALSE(fs::exists(path("o.npy")));
  io::write_array(path("in.npy"), Array(ElementType::u8, {12, 16, 3}));
  EXPECT_EQ(tessera({"run", "volume.forma", "in.npy", "-o", "o.npy"}).status, 0);
  EXPECT_EQ(read("o.npy").shape(), (Shape{12, 16, 3}));
}

// Points of the value that a file says to stand for no data are numbers to a program, which is said.
TEST_F(Command, NotesPointsOfNoData) {
  const auto noted = [&](ElementType type, double nodata, double at, const std::vector<std::string>& more = {}) {
    Array image(type, {5, 6});
    for (i64 i = 0; i < image.count(); ++i)
      store_element(type, static_cast<std::byte*>(image.data()) + i * static_cast<i64>(size_of(type)),
                    i == 20 ? at : 1);
    io::WriteOptions how;
    how.header.nodata = nodata;
    io::write_array(path("gd.tif"), image, how);
    std::vector<std::string> words = {"run", "gain.forma", "gd.tif", "1", "-o", "o.tif", "-q"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome o = tessera(words);
    EXPECT_EQ(o.status, 0) << o.err;
    return o.err;
  };
  const std::string f = base::quoted(path("gd.tif"));
  EXPECT_EQ(noted(ElementType::f32, -9999, -9999),
            "note: the program takes points of -9999, the value for no data of " + f + ", for numbers\n");
  EXPECT_THAT(noted(ElementType::u8, 255, 255), HasSubstr("takes points of 255, the value for no data"));
  EXPECT_THAT(noted(ElementType::f32, 0.1, 0.1), HasSubstr("takes points of 0.1"));  // as a float has it
  EXPECT_EQ(noted(ElementType::f32, -9999, 7), "");
  EXPECT_EQ(noted(ElementType::u8, -9999, 7), "");
  EXPECT_EQ(noted(ElementType::f32, NAN, NAN), "");
  EXPECT_EQ(noted(ElementType::f32, -9999, -9999, {"--roi", "0,0,2,5"}), "");  // it lies outside
}

TEST_F(Command, StructInputsTakeChannelsInOrder) {
  ASSERT_EQ(tessera({"run", "swap.forma", "colour.png", "-o", "o.png"}).status, 0);
  const Array in = read("colour.png"), out = read("o.png");
  for (i64 i = 0; i < in.count(); ++i) {
    ASSERT_EQ(out.as<std::uint8_t>()[3 * i], in.as<std::uint8_t>()[3 * i + 2]);
    ASSERT_EQ(out.as<std::uint8_t>()[3 * i + 1], in.as<std::uint8_t>()[3 * i + 1]);
  }
  expect_error(tessera({"run", "swap.forma", "grey.png", "-o", "o.png"}), 2, "has 1 channel, expected 3");
}

TEST_F(Command, UnitScalesThereAndBack) {
  ASSERT_EQ(tessera({"run", "gain.forma", "grey.png", "0.5", "-o", "o.png", "--unit"}).status, 0);
  EXPECT_EQ(byte_at(read("o.png"), 6, 4), 50);
  ASSERT_EQ(tessera({"run", "gain.forma", "grey.png", "0.5", "-o", "o.tif", "--unit"}).status, 0);
  EXPECT_FLOAT_EQ(read("o.tif").as<float>()[100], 50.0f / 255);
}

TEST_F(Command, RoundsAndWarnsWhenValuesAreClamped) {
  const Outcome o = tessera({"run", "gain.forma", "grey.png", "3", "-o", "o.png"});
  EXPECT_EQ(o.status, 0);
  EXPECT_THAT(o.err, AllOf(HasSubstr("did not fit uint8"), HasSubstr("warning")));
  EXPECT_EQ(byte_at(read("o.png"), 11, 15), 255);
  EXPECT_THAT(tessera({"run", "gain.forma", "grey.png", "1.3", "-o", "o.png"}).err, testing::IsEmpty());
}

TEST_F(Command, ReadsAndWritesRegions) {
  ASSERT_EQ(tessera({"run", "bytes.forma", "grey.png", "-o", "o.png", "--roi", "2,3,5,10"}).status, 0);
  Array out = read("o.png");
  ASSERT_EQ(out.shape(), (Shape{4, 8}));
  EXPECT_EQ(byte_at(out, 0, 0), 2 * 16 + 3);
  EXPECT_EQ(byte_at(out, 3, 7), 5 * 16 + 10);

  ASSERT_EQ(tessera({"run", "bytes.forma", "grey.png", "-o", "p.png", "--roi", "2,3,5,10", "--at", "0,1", "--onto",
                     "grey.png"})
                .status,
            0);
  out = read("p.png");
  const Array in = read("grey.png");
  for (i64 r = 0; r < 12; ++r)
    for (i64 c = 0; c < 16; ++c) {
      const bool inside = r < 4 && c >= 1 && c < 9;
      ASSERT_EQ(byte_at(out, r, c), inside ? byte_at(in, r + 2, c + 2) : byte_at(in, r, c)) << r << "," << c;
    }
  expect_error(tessera({"run", "bytes.forma", "grey.png", "--roi", "2,3,5"}), 2, "has 3 numbers, expected 4");
  expect_error(tessera({"run", "bytes.forma", "grey.png", "--roi", "2,3,5,16"}), 2, "from 3 to 16 in dimension 1");
  expect_error(tessera({"run", "bytes.forma", "grey.png", "--roi", "5,3,2,9"}), 2, "from 5 to 2 in dimension 0");
  expect_error(tessera({"run", "bytes.forma", "grey.png", "--at", "1,1", "-o", "q.png"}), 2, "not in which image");
  expect_error(tessera({"run", "bytes.forma", "grey.png", "-o", "q.png", "--roi", "2,3,5,10", "--at", "9,0", "--onto",
                        "grey.png"}),
               2, "target region runs from 9 to 12");
  EXPECT_FALSE(fs::exists(path("q.png")));
}

TEST_F(Command, KeepsSeveralOutputsAndPrintsTheOthers) {
  Outcome o = tessera({"run", "two.forma", "grey.png"});
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_THAT(o.out,
              AllOf(HasSubstr("same: 12x16 float, from 0 to 191"), HasSubstr("halved: 12x16 float, from 0 to 95.5")));
  o = tessera({"run", "two.forma", "grey.png", "-o", "halved=m.npy", "-o", "same=s.png"});
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_EQ(read("m.npy").shape(), (Shape{12, 16}));
  EXPECT_EQ(read("m.npy").as<float>()[12 * 16 - 1], 95.5f);
  EXPECT_EQ(read("s.png").shape(), (Shape{12, 16}));
}

TEST_F(Command, NamesTheLeastAndTheLargestNumberBesideNaN) {
  Array some(ElementType::f32, {1, 3});
  some.as<float>()[0] = NAN, some.as<float>()[1] = 4, some.as<float>()[2] = -1;
  io::write_array(path("some.npy"), some);
  EXPECT_THAT(tessera({"run", "gain.forma", "some.npy", "1"}).out, HasSubstr("from -1 to 4, mean nan"));
  Array none(ElementType::f32, {1, 2});
  none.as<float>()[0] = none.as<float>()[1] = NAN;
  io::write_array(path("none.npy"), none);
  EXPECT_THAT(tessera({"run", "gain.forma", "none.npy", "1"}).out, HasSubstr("from nan to nan, mean nan"));
}

TEST_F(Command, Measures) {
  const Outcome o = tessera({"run", "gain.forma", "grey.png", "1", "--time", "--repeat", "3"});
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_THAT(o.out, AllOf(HasSubstr("of 3 runs"), HasSubstr("Mpixel/s"), HasSubstr("% of the")));
  expect_error(tessera({"run", "gain.forma", "grey.png", "1", "--repeat", "3"}), 2, "without --time");
  expect_error(tessera({"run", "gain.forma", "grey.png", "1", "--time", "--repeat", "-3"}), 2, "--repeat -3");
}

TEST_F(Command, VerifiesWithinWhatRoundingAllows) {
  program("round.forma",
          "stencil scale(vector#2 uint8 X) { return cast<uint8>(X * 0.7f); }\n"
          "stencil invert(vector#2 uint8 X) { return cast<uint8>(255 - X); }\n"
          "parameter M, N;\nvector#2 uint8 image[M,N];\nreturn scaled = scale(image), inverted = invert(image);\n");
  EXPECT_THAT(
      tessera({"run", "round.forma", "grey.png", "--verify"}).out,
      AllOf(HasSubstr("verify scaled: agrees with the interpreter; none of 192 values differs, 1 is allowed\n"),
            HasSubstr("verify inverted: agrees with the interpreter; none of 192 values differs, 0 is allowed\n")));
  EXPECT_THAT(tessera({"run", "round.forma", "grey.png", "--verify", "--exact"}).out,
              HasSubstr("verify scaled: agrees with the interpreter; none of 192 values differs, 0 is allowed\n"));

  // Results that are off by so much, judged.
  const Program program = Program::from_file(path("round.forma"));
  Lanes lanes;
  lanes.inputs = {{read("grey.png")}};
  const auto judged = [&](std::size_t output, std::uint8_t off, Numbers numbers) {
    std::vector<Array> results = program.interpret(lanes.inputs[0]);
    for (i64 i : {3, 50, 51})
      results[output].as<std::uint8_t>()[i] = static_cast<std::uint8_t>(results[output].as<std::uint8_t>()[i] + off);
    RunOptions options;
    options.numbers = numbers;
    testing::internal::CaptureStdout();
    const bool good = verify(program, lanes, {results}, options) == Verdict::agrees;
    fflush(stdout);
    const std::string text = testing::internal::GetCapturedStdout();
    EXPECT_THAT(text, HasSubstr("; 3 of 192 values differ, " + std::string(good ? "none" : "3") +
                                " by more than is allowed there (" + (good ? "closest" : "worst") + ": by " +
                                std::to_string(off) + " where "));
    return good;
  };
  EXPECT_TRUE(judged(0, 1, Numbers::fast));
  EXPECT_FALSE(judged(0, 2, Numbers::fast));
  EXPECT_FALSE(judged(0, 1, Numbers::exact));
  EXPECT_FALSE(judged(1, 1, Numbers::fast));
}

// 0.1 added one by one loses more with every term: by a hundred thousand it is off by more than a wrong weight is.
TEST_F(Command, VerifiesLongSumsAndFindsOneWrongWeight) {
  Array weights(ElementType::f32, {300, 300});
  for (i64 i = 0; i < weights.count(); ++i) weights.as<float>()[i] = 0.1f;
  io::write_array(path("k.npy"), weights);
  Array image(ElementType::f32, {3, 4});
  for (i64 i = 0; i < image.count(); ++i) image.as<float>()[i] = 0.7f;
  io::write_array(path("i.npy"), image);
  const std::vector<std::string> words = {"filter", "convolve", "i.npy", "--kernel", "k.npy", "--border", "wrap"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), words.begin(), words.end());
    const Outcome o = tessera(more);
    EXPECT_EQ(o.status, 0) << o.out << o.err;
    return o.out;
  };
  for (const char* method : {"direct", "transform"})
    EXPECT_THAT(with({"--method", method, "--verify", "-q"}), HasSubstr("agrees with the interpreter")) << method;

  weights.as<float>()[12345] = 0.3f;
  io::write_array(path("wrong.npy"), weights);
  ASSERT_EQ(tessera({"filter", "convolve", "i.npy", "--kernel", "wrong.npy", "--border", "wrap", "-o", "o.npy"}).status,
            0);
  const auto filter = engine::make_filter(
      {.name = "convolve", .tables = {{"kernel", read("k.npy")}}, .border = BorderMode::wrap}, ElementType::f32, 2);
  Lanes lanes;
  lanes.inputs = {{image}};
  testing::internal::CaptureStdout();
  const bool good = verify(filter->program, lanes, {{read("o.npy")}}, {}) == Verdict::agrees;
  fflush(stdout);
  EXPECT_THAT(testing::internal::GetCapturedStdout(), HasSubstr("DIFFERS"));
  EXPECT_FALSE(good);
}

TEST_F(Command, VerifyCountsWhatIsNotFinite) {
  Array image(ElementType::f32, {4, 5});
  image.as<float>()[7] = INFINITY;
  const auto filter = engine::make_filter({.name = "box", .numbers = {{"radius", 0}}}, ElementType::f32, 2);
  Array result = filter->program.run({image}).at(0);
  const auto verified = [&] {
    Lanes lanes;
    lanes.inputs = {{image}};
    testing::internal::CaptureStdout();
    verify(filter->program, lanes, {{result}}, {});
    fflush(stdout);
    return testing::internal::GetCapturedStdout();
  };
  EXPECT_THAT(verified(), testing::Not(HasSubstr("infinite")));
  result.as<float>()[3] = result.as<float>()[7] = NAN;
  EXPECT_THAT(verified(), HasSubstr("at 2 points one of the two is NaN or infinite"));
}

TEST_F(Command, ExplainsWhatIsWrongWithInputs) {
  expect_error(tessera({"run", "gain.forma"}), 2, "nothing is given for input 'image'");
  expect_error(tessera({"run", "gain.forma", "grey.png"}), 2, "nothing is given for input 'amount'");
  expect_error(tessera({"run", "gain.forma", "absent.png", "1"}), 2, "absent.png");
  expect_error(tessera({"run", "gain.forma", "imagge=grey.png", "1"}), 2, "did you mean 'image'?");
  expect_error(tessera({"run", "gain.forma", "grey.png", "lots"}), 2, "'lots' is not a value of input 'amount'");
  expect_error(tessera({"run", "gain.forma", "grey.png", "1", "2"}), 2, "one input too many");
  expect_error(tessera({"run", "gain.forma", "grey.png", "1", "amount=2"}), 2, "one input too many");
  expect_error(tessera({"run", "gain.forma", "grey.png", "amount=1", "amount=2"}), 2, "given twice");
  expect_error(tessera({"run", "gain.forma", "grey.png", "-p", "amount"}), 2, "-p 'amount'");
  expect_error(tessera({"run", "absent.forma", "grey.png"}), 2, "absent.forma");
  Array wide(ElementType::u16, {2, 2});
  wide.as<std::uint16_t>()[3] = 300;
  io::write_array(path("wide.png"), wide);
  expect_error(tessera({"run", "bytes.forma", "wide.png"}), 2, "1 of 4 values");
}

TEST_F(Command, ExplainsWhatIsWrongWithOutputs) {
  const auto run = [&](const std::string& output) { return tessera({"run", "bytes.forma", "grey.png", "-o", output}); };
  expect_error(run("o.xyz"), 2, "no suffix of a known format");
  expect_error(run("no-folder/o.png"), 2, "there is no folder");
  expect_error(run("rsult=o.png"), 2, "did you mean 'result'?");
  expect_error(tessera({"run", "bytes.forma", "grey.png", "-o", "o.png", "-o", "p.png"}), 2, "one too many");
}

TEST_F(Command, ExplainsWhatIsWrongWithOptions) {
  expect_error(tessera({}), 2, "a verb is required");
  expect_error(tessera({"rum"}), 2, "did you mean 'run'?");
  expect_error(tessera({"run", "gain.forma", "grey.png", "1", "--schedul", "auto"}), 2, "did you mean '--schedule'?");
  expect_error(tessera({"run", "gain.forma", "grey.png", "1", "--schedule", "steam"}), 2, "did you mean 'stream'?");
  expect_error(tessera({"run", "gain.forma", "grey.png", "1", "--tile", "64"}), 2, "--tile '64'");
  expect_error(tessera({"run", "gain.forma", "grey.png", "1", "--threads", "-2"}), 2, "--threads '-2'");
  EXPECT_EQ(tessera({"--help"}).status, 0);
  EXPECT_THAT(tessera({"--version"}).out, HasSubstr("tessera"));
}

// What somebody wrote by hand is never lost, what tessera wrote is written anew, and every file is named.
TEST_F(Command, EmitReplacesNothingOfOthers) {
  const auto text = [&](const std::string& name) { return base::read_text(path(name)); };
  program("smooth.forma",
          "stencil f(vector#2 float x) { return x@[0,1] + x; }\nparameter M, N;\nvector#2 float x[M, N];\n"
          "return f(x:mirror);\n");
  const Outcome c = tessera({"emit", "smooth.forma", "-o", "smooth.c", "--header", "smooth.h"});
  EXPECT_EQ(c.status, 0) << c.err;
  EXPECT_THAT(c.err, AllOf(HasSubstr("/smooth.c: C\n"), HasSubstr("/smooth.h: header of C\n")));
  const std::string before = text("smooth.c");
  // The tutorial's next line: kernels, and their host's file beside them, which is not the C file.
  const Outcome cl = tessera({"emit", "smooth.forma", "--target", "opencl", "-o", "smooth.cl"});
  EXPECT_EQ(cl.status, 0) << cl.err;
  EXPECT_THAT(cl.err,
              AllOf(HasSubstr("/smooth.cl: OpenCL kernels"), HasSubstr("/smooth_host.c: host of OpenCL kernels")));
  EXPECT_EQ(text("smooth.c"), before);
  // Again, and with other options.
  EXPECT_EQ(tessera({"emit", "smooth.forma", "--exact", "-o", "smooth.c"}).status, 0);
  EXPECT_NE(text("smooth.c"), before);
  EXPECT_EQ(tessera({"emit", "smooth.forma", "--target", "opencl", "-o", "smooth.cl"}).status, 0);

  const std::string own = "int main(void) { return 0; }\n";
  base::write_file(path("mine.c"), own);
  expect_error(tessera({"emit", "smooth.forma", "-o", "mine.c"}), 2, "/mine.c' is there and would be replaced");
  base::write_file(path("mine_host.c"), own);
  expect_error(tessera({"emit", "smooth.forma", "--target", "opencl", "-o", "mine.cl"}), 2, "--force");
  EXPECT_FALSE(fs::exists(path("mine.cl")));  // all files or none
  base::write_file(path("mine.h"), own);
  expect_error(tessera({"emit", "smooth.forma", "-o", "new.c", "--header", "mine.h"}), 2, "/mine.h' is there");
  EXPECT_FALSE(fs::exists(path("new.c")));
  for (const char* name : {"mine.c", "mine_host.c", "mine.h"}) EXPECT_EQ(text(name), own);
  // A file that nobody named takes the place of its own kind alone.
  EXPECT_EQ(tessera({"emit", "smooth.forma", "-o", "other_host.c"}).status, 0);
  expect_error(tessera({"emit", "smooth.forma", "--target", "opencl", "-o", "other.cl"}), 2, "which holds C");
  EXPECT_EQ(tessera({"emit", "smooth.forma", "-o", "mine.c", "--force"}).status, 0);
  EXPECT_THAT(text("mine.c"), HasSubstr("void smooth("));
  base::write_file(path("empty.c"), "");
  EXPECT_EQ(tessera({"emit", "smooth.forma", "-o", "empty.c"}).status, 0);
  EXPECT_EQ(tessera({"emit", "smooth.forma", "-o", "/dev/null"}).status, 0);

  program("halve.forma",
          "stencil f(vector#2 uint8 x) { return cast<uint8>((x@[0,-1] + x@[0,1]) / 2); }\nparameter M, N;\n"
          "vector#2 uint8 image[M, N];\nreturn f(image:clamped);\n");
  for (const char* target : {"hls", "verilog"}) {
    const std::string extension = target == std::string("hls") ? ".cpp" : ".sv";
    base::write_file(path("halve_test" + extension), own);
    expect_error(tessera({"emit", "halve.forma", "--target", target, "--size", "9x9", "-o", "halve" + extension}), 2,
                 "/halve_test" + extension + "' is there");
    EXPECT_EQ(text("halve_test" + extension), own);
  }

  expect_error(tessera({"emit", "smooth.forma", "--vectors", "200"}), 2,
               "--vectors is '200'; expected 128, 256 or 512 bits");
  expect_error(tessera({"emit", "smooth.forma", "--target", "cuda", "--vectors", "256"}), 2,
               "has no vectors to choose");
}

TEST_F(Command, ChecksAndEmitsAndExplains) {
  const Outcome check = tessera({"check", "gain.forma"});
  EXPECT_EQ(check.status, 0) << check.err;
  EXPECT_THAT(check.out, AllOf(HasSubstr("no errors"), HasSubstr("vector#2 float image"), HasSubstr("float amount")));

  const Outcome emit = tessera({"emit", "gain.forma", "--name", "apply_gain", "--header", "gain.h"});
  EXPECT_EQ(emit.status, 0) << emit.err;
  EXPECT_THAT(emit.out, HasSubstr("apply_gain"));
  EXPECT_TRUE(fs::exists(path("gain.h")));

  // The host file of OpenCL stands beside the kernels and reads them by their name.
  EXPECT_EQ(tessera({"emit", "gain.forma", "--target", "opencl", "-o", "amplify.cl", "--header", "amplify.h"}).status,
            0);
  const auto text = [&](const std::string& name) { return base::read_text(path(name)); };
  EXPECT_THAT(text("amplify_host.c"), AllOf(HasSubstr("\"amplify.cl\""), HasSubstr("void gain(const float* image")));
  EXPECT_THAT(text("amplify.h"), HasSubstr("int gain_enqueue("));
  EXPECT_THAT(text("amplify.cl"), HasSubstr("__kernel"));
  EXPECT_THAT(tessera({"emit", "gain.forma", "--target", "cuda", "--name", "apply_gain"}).out,
              AllOf(HasSubstr("__global__"), HasSubstr("extern \"C\" void apply_gain(")));

  // The test bench of hardware stands beside it.
  program("halve.forma",
          "stencil f(vector#2 uint8 x) { return cast<uint8>((x@[0,-1] + x@[0,1]) / 2); }\nparameter M, N;\n"
          "vector#2 uint8 image[M, N];\nreturn f(image:clamped);\n");
  EXPECT_EQ(tessera({"emit", "halve.forma", "--target", "hls", "--max-size", "64x64", "--lanes", "2", "-o", "halve.cpp",
                     "--header", "halve.hpp"})
                .status,
            0);
  EXPECT_THAT(text("halve.cpp"), AllOf(HasSubstr("#pragma HLS PIPELINE II=1"), HasSubstr("extern \"C\" int halve(")));
  EXPECT_THAT(text("halve_test.cpp"), HasSubstr("int main("));
  EXPECT_THAT(text("halve.hpp"), HasSubstr("int height, int width, int frames)"));
  EXPECT_EQ(tessera({"emit", "halve.forma", "--target", "verilog", "--max-size", "64x48", "-o", "halve.sv"}).status, 0);
  EXPECT_THAT(text("halve.sv"), HasSubstr("// height: 1 to 64; width: 1 to 48. They may change"));
  EXPECT_THAT(text("halve_test.sv"), HasSubstr("iverilog -g2012 -o halve_bench halve.sv halve_test.sv"));

  EXPECT_EQ(tessera({"explain", "gain.forma", "--size", "2160x3840"}).status, 0);
  EXPECT_THAT(tessera({"explain", "gain.forma"}).out,
              AllOf(testing::StartsWith("extents are assumed: image 1080 x 1920; --size gives others\n"),
                    HasSubstr("M = 1080, N = 1920")));
  expect_error(tessera({"explain", "gain.forma", "--size", "10x10x10"}), 2, "has rank 3, expected rank 2");
  expect_error(tessera({"explain", "gain.forma", "--size", "10x-1"}), 2, "--size '10x-1'");
  EXPECT_THAT(tessera({"devices", "--no-measure"}).out,
              AllOf(HasSubstr("cores"), HasSubstr("compiler"), HasSubstr("cuda"), HasSubstr("opencl")));
}

TEST_F(Command, ExplainsTwoHundredStagesWithoutAWait) {
  std::string text, uses = "v0 = s0(image:clamped);\nv1 = s1(v0:mirror);\n";
  for (int i = 0; i < 200; ++i)
    text += i < 2 ? "stencil s" + std::to_string(i) + "(vector#2 float X) { return X@[0,-1] + 0.5f * X@[1,0]; }\n"
                  : "stencil s" + std::to_string(i) + "(vector#2 float X, vector#2 float Y) { return 0." +
                        std::to_string(100 + i) + "f * X@[-1," + std::to_string(i % 3) + "] + max(X, Y@[1,0]); }\n";
  for (int i = 2; i < 200; ++i) {
    const auto stage = [](int k) { return "v" + std::to_string(k); };
    uses += stage(i) + " = s" + std::to_string(i) + "(" + stage(i - 1) + ":clamped, " +
            stage(i - 2 - i % std::min(i - 1, 7)) + ":clamped);\n";
  }
  program("long.forma", text + "parameter M, N;\nvector#2 float image[M,N];\n" + uses + "return v199;\n");
  const std::clock_t start = std::clock();
  EXPECT_EQ(tessera({"explain", "long.forma", "--size", "2160x3840"}).status, 0);
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_LT(seconds, 5) << "0.2 s in a release build; a tenth of the limit of builds with sanitizers";
}

TEST(Options, FindScalarInputs) {
  EXPECT_THAT(scalar_inputs("struct s { float x; };\nstencil f(vector#2 float X, float a) { b = a; return X; }\n"
                            "/* float no; */ parameter M; vector#1 float v[M]; float k; // int never;\nint n, m;\n"
                            "return f(v, k);"),
              ElementsAre("k", "n", "m"));
  EXPECT_THAT(scalar_inputs(""), ElementsAre());
  EXPECT_THAT(scalar_inputs("/* float x;"), ElementsAre());
  EXPECT_THAT(scalar_inputs("float"), ElementsAre());
}

TEST(Options, MakeIdentifiers) {
  EXPECT_EQ(identifier_of("a/b/canny.forma"), "canny");
  EXPECT_EQ(identifier_of("3-way blur.forma"), "filter_3_way_blur");
  EXPECT_EQ(identifier_of(""), "filter_");
}

TEST(Options, RefuseShapes) {
  EXPECT_EQ(parse_bytes("4096", "--device-memory"), 4096);
  EXPECT_EQ(parse_bytes("1.5GiB", "--device-memory"), i64{3} << 29);
  EXPECT_EQ(parse_bytes("64 MB", "--device-memory"), 64'000'000);
  EXPECT_EQ(parse_shape("2160x3840", "--size"), (Shape{2160, 3840}));
  for (const char* text : {"", "x", "10x", "0x5", "-1x5", "10x9999999999999999999", "4294967296x4294967296x4294967296"})
    EXPECT_THROW(parse_shape(text, "--size"), Error) << text;
}

}  // namespace
}  // namespace tessera::cli
