// `tessera explain` for devices: text, JSON and picture, also where no device is found.
#include <cstdlib>
#include <nlohmann/json.hpp>

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

TEST_F(ExplainDevices, PredictedBesideMeasured) {
  if (cannot_run(no_opencl())) return;
  const Outcome o = tessera({"run", "blur.forma", "grey.png", "--target", "opencl", "--time", "--repeat", "2", "-q"});
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_THAT(o.out, AllOf(HasSubstr("time: median"), HasSubstr("predicted: "), HasSubstr("rate: ")));
}

}  // namespace
}  // namespace tessera::cli
