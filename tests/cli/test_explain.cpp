// `tessera explain` for devices: text, JSON and picture, also where no device is found.
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "fixture.hpp"
#include "support/opencl.hpp"

namespace tessera::cli {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::Not;

// No driver of CUDA in this process; of OpenCL what the machine has.
[[maybe_unused]] const bool no_driver = setenv("TESSERA_CUDA_DRIVER", "no such library", 1) == 0;

class ExplainDevices : public Command {
 protected:
  void SetUp() override {
    Command::SetUp();
    program("blur.forma",
            "stencil rows(vector#2 float X) { return (X@[-1,0] + X + X@[1,0]) / 3; }\n"
            "stencil columns(vector#2 float X) { return (X@[0,-1] + X + X@[0,1]) / 3; }\n"
            "parameter M, N;\nvector#2 float image[M,N];\nreturn result = columns(rows(image:clamped):clamped);\n");
  }
};

TEST_F(ExplainDevices, Text) {
  const Outcome o = tessera({"explain", "blur.forma", "--size", "2160x3840", "--target", "cuda"});
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_EQ(o.err, "");
  EXPECT_THAT(o.out, AllOf(HasSubstr("M = 2160, N = 3840; automatic schedule, fast numbers, cuda on"),
                           HasSubstr("no device was found (the CUDA driver is not available)"), HasSubstr("1 kernel"),
                           HasSubstr("GB/s"), HasSubstr("tsr_g0"), HasSubstr("bound by")));
  EXPECT_THAT(o.out, AllOf(Not(HasSubstr("core")), Not(HasSubstr("tiles ")), Not(HasSubstr("rings "))));
}

TEST_F(ExplainDevices, Json) {
  for (const char* target : {"cuda", "opencl"})
    for (const char* schedule : {"auto", "untiled"}) {
      const Outcome o = tessera(
          {"explain", "blur.forma", "--size", "2160x3840", "--target", target, "--json", "--schedule", schedule});
      ASSERT_EQ(o.status, 0) << o.err;
      const json j = json::parse(o.out);
      EXPECT_EQ(j["target"], target);
      double milliseconds = 0, bytes = 0;
      for (const json& g : j["groups"])
        for (const json& k : g["kernels"]) {
          milliseconds += k["milliseconds"].get<double>();
          bytes += k["bytes_read"].get<double>() + k["bytes_written"].get<double>();
        }
      EXPECT_NEAR(j["milliseconds"].get<double>(), milliseconds, 1e-9);
      EXPECT_EQ(j["bytes"], bytes);
      EXPECT_GE(bytes, j["minimum_bytes"]);
      EXPECT_FALSE(j.contains("threads"));
    }
  EXPECT_EQ(json::parse(tessera({"explain", "blur.forma", "--size", "9x9", "--json"}).out)["target"], "cpu");
}

TEST_F(ExplainDevices, Picture) {
  const Outcome o =
      tessera({"explain", "blur.forma", "--size", "2160x3840", "--target", "cuda", "--svg", path("plan.svg")});
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_EQ(o.out, "");
  const std::string picture = base::read_text(path("plan.svg"));
  EXPECT_THAT(picture, AllOf(HasSubstr(">KERNELS<"), HasSubstr(">tsr_g0<"), HasSubstr("through registers"),
                             HasSubstr("no device was found"), Not(HasSubstr(">RINGS<"))));
}

TEST_F(ExplainDevices, RefusesOptionsOfCores) {
  auto refused = [&](const char* option, const char* value) {
    expect_error(tessera({"explain", "blur.forma", "--size", "9x9", "--target", "cuda", option, value}), 2,
                 std::string(option) + " is of --target cpu alone");
  };
  refused("--tile", "8x64");
  refused("--threads", "2");
  refused("--compiler", "system");
  expect_error(tessera({"explain", "blur.forma", "--size", "9x9", "--target", "abacus"}), 2, "unknown target 'abacus'");
  expect_error(tessera({"explain", "blur.forma", "--size", "9x9", "--device", "1"}), 2, "--device '1'");
}

using ExplainAssumes = Command;

// What is assumed fits together: parameters that make one image's extents hold for the others.
TEST_F(ExplainAssumes, ExtentsThatFitTogether) {
  const auto explained = [&](const std::string& inputs, const std::vector<std::string>& more = {}) {
    program("f.forma", inputs);
    std::vector<std::string> words = {"explain", "f.forma"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome o = tessera(words);
    EXPECT_EQ(o.status, 0) << inputs << o.err;
    return o.out;
  };
  const std::string two = "stencil a(vector#2 float X) { return X; }\n";
  EXPECT_THAT(explained(two + "parameter M, N;\nvector#2 float half[M/2,N/2];\nvector#2 float image[M,N];\n"
                              "return x = a(half), y = a(image);\n"),
              HasSubstr("half 1080 x 1920"));
  EXPECT_THAT(explained(two + "parameter M, N;\nvector#2 float image[16*M,16*N+1];\nreturn a(image);\n"),
              AllOf(HasSubstr("image 1072 x 1905"), HasSubstr("M = 67, N = 119")));
  EXPECT_THAT(explained(two + "parameter M, N;\nvector#2 float image[M,N];\nvector#2 float other[N,M];\n"
                              "return x = a(image), y = a(other);\n"),
              HasSubstr("assumed: image 1080 x 1920;"));
  EXPECT_THAT(explained(two + "vector#2 float image[48,64];\nreturn a(image);\n"), Not(HasSubstr("assumed")));
  EXPECT_THAT(explained(two + "parameter M, N, K;\nvector#2 float image[M,N];\nvector#2 float more[K,N];\n"
                              "return x = a(image), y = a(more);\n",
                        {"--size", "image=50x60"}),
              HasSubstr("assumed: more 1080 x 60;"));
  for (const auto& [rank, extents] : {std::pair{1, "1000000"}, {3, "256 x 256 x 256"}, {4, "16 x 128 x 128 x 128"}}) {
    const std::string at = std::vector<std::string>{"", "A", "", "A,B,C", "A,B,C,D"}[static_cast<std::size_t>(rank)];
    const std::string type = "vector#" + std::to_string(rank) + " float ";
    EXPECT_THAT(explained("stencil a(" + type + "X) { return X; }\nparameter " + at + ";\n" + type + "v[" + at +
                          "];\nreturn a(v);\n"),
                HasSubstr(std::string("assumed: v ") + extents + ";"));
  }
}

TEST_F(ExplainAssumes, BesideJsonOnStandardError) {
  const Outcome o = tessera({"explain", "gain.forma", "--json"});
  EXPECT_EQ(o.status, 0);
  EXPECT_EQ(json::parse(o.out)["parameters"]["M"], 1080);
  EXPECT_EQ(o.err, "note: extents are assumed: image 1080 x 1920; --size gives others\n");
  EXPECT_THAT(tessera({"explain", "--filter", "median"}).out, HasSubstr("assumed: image 1080 x 1920"));
  EXPECT_THAT(
      tessera({"explain", "gain.forma", "--target", "verilog", "--input", "image=uint8", "--input", "amount=uint8.4"})
          .out,
      testing::StartsWith("extents are assumed: frames of 1080x1920"));
}

// Results carry the names that the program gives them; a sentence stands once however often it holds.
TEST_F(ExplainAssumes, NamesAndSentencesOnce) {
  program("names.forma",
          "struct rgb { uint8 r; uint8 g; uint8 b; }\n"
          "stencil half(vector#2 uint8 X) { return cast<uint8>(X / 2); }\n"
          "stencil mean(vector#2 uint8 X) { return cast<uint8>((X@[0,-1] + X + X@[0,1]) / 3); }\n"
          "parameter M, N;\nvector#2 rgb photo[M,N];\n"
          "first = mean(photo.r:mirror);\n"
          "return dark = struct rgb(half(half(photo.r)), half(half(photo.g)), half(half(photo.b))), kept = first,\n"
          "       last = mean(first:wrap);\n");
  const Outcome o = tessera({"explain", "names.forma"});
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_THAT(o.out, AllOf(HasSubstr(" dark.r "), HasSubstr(" dark.g "), HasSubstr(" last "),
                           HasSubstr("output 'kept'"), HasSubstr("'half' (3 times)")));
  EXPECT_THAT(o.out, Not(HasSubstr("half#2")));
  std::set<std::string> lines;
  std::istringstream text(o.out.substr(o.out.find("rewritten before")));
  for (std::string line; std::getline(text, line);) EXPECT_TRUE(line.empty() || lines.insert(line).second) << line;
  const json told = json::parse(tessera({"explain", "names.forma", "--json"}).out);
  for (const json& stage : told["stages"])
    if (stage["name"] == "first") {
      EXPECT_EQ(stage["result"], "kept");
    } else {
      EXPECT_FALSE(stage.contains("result")) << stage["name"];
    }
}

TEST_F(ExplainDevices, PredictedBesideMeasured) {
  if (cannot_run(no_opencl())) return;
  const Outcome o = tessera({"run", "blur.forma", "grey.png", "--target", "opencl", "--time", "--repeat", "2", "-q"});
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_THAT(o.out, AllOf(HasSubstr("time: median"), HasSubstr("predicted: "), HasSubstr("rate: ")));
}

}  // namespace
}  // namespace tessera::cli
