// Bits of fraction that are chosen: bounds are numbers.
#include <gtest/gtest.h>

#include <cmath>

#include "hardware/build.hpp"
#include "stream_programs.hpp"

namespace tessera::hardware {
namespace {

constexpr i64 height = 6, width = 11;

// With few bits of fraction the first stage errs by 36, so that the second's exponential has a bound of 3e16 and the
// third's none: infinity, times the 0 that its factor is then. Bounds that are no numbers compare as if they were kept.
TEST(Formats, NoCircuitHasABoundThatIsNoNumber) {
  const auto three_stages = [](const std::string& last) {
    return graph_of(
        "stencil f0(vector#2 double x) { return tanh(x@[0,1] / 64) + x@[-1,0]\n"
        "  + (x@[-1,1] / max(fabs(x@[0,-1]), 1) - atan(x@[0,0])); }\n"
        "stencil f1(vector#2 double x) { return tanh((atan(x@[-1,-1]) + exp(min(x@[-1,-1], 2))) / 64); }\n"
        "stencil f2(vector#2 double x) { return " +
        last + "; }\nparameter M, N;\nvector#2 double in0[M, N];\nreturn f2(f1(f0(in0:mirror):symmetric):symmetric);");
  };
  for (const double error : {0.0, 1e-4, 1e-5})
    for (const std::string last : {"tanh((exp(min(x@[-1,-1], 2)) * max(-0.74, x@[1,-1])) / 64)",
                                   "exp(x) * x - exp(x@[0,1]) * x", "x > 0.5 * exp(x@[1,0]) * x ? 1.0 : 2.0 * x"}) {
      StreamOptions options;
      options.height = height, options.width = width, options.error = error;
      options.inputs["in0"] = {ElementType::u8, 4};
      const Stream stream = make_stream(three_stages(last), options);
      const Netlist netlist = build_netlist(stream);
      for (const StreamStage& stage : stream.stages) EXPECT_TRUE(std::isfinite(stage.error)) << last;
      EXPECT_LE(netlist.results[0].port.error, error > 0 ? error : 0.1) << last;
      EXPECT_TRUE(std::isfinite(stream.decided)) << last;
      for (const auto& [where, margin] : stream.margins) EXPECT_TRUE(std::isfinite(margin)) << last;
    }
}

}  // namespace
}  // namespace tessera::hardware
