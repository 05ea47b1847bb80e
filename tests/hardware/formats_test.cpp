// Bits of fraction that are chosen: bounds are numbers, small results are kept, and what would be lost is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "hardware/build.hpp"
#include "hardware/netlist/simulate.hpp"
#include "ref/interpreter.hpp"
#include "stream_programs.hpp"
#include "tessera/error.hpp"

namespace tessera::hardware {
namespace {

constexpr i64 height = 6, width = 11;

ir::Graph graph_of_point(const std::string& body) {
  return graph_of("stencil f(vector#2 double x) { return " + body +
                  "; }\nparameter M, N;\nvector#2 double a[M, N];\nreturn f(a:clamped);\n");
}

StreamOptions options_of(double error) {
  StreamOptions options;
  options.height = height, options.width = width, options.error = error;
  options.inputs["a"] = {ElementType::u16, 0};
  return options;
}

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

// By default the error is 2^-10 of the largest value, however small that is.
TEST(Formats, SmallResultsHaveBitsOfTheirOwn) {
  for (const std::string body :
       {"x * 1e-5", "x * 1e-9", "x * 1e-12 + x@[0,1] * 3e-12", "x * x * 1e-14", "tanh(x / 1e6)", "tanh(x / 1e9)",
        "sqrt(x * 1e-12)", "log(1 + x * 1e-8)", "sin(x * 1e-8)", "atan(x * 1e-9)", "asin(x * 1e-9)", "x / (x + 1e9)",
        "exp(-4 - x * 1e-6)", "(x * 1e-9) * (x@[0,1] * 1e-3 + 1)"}) {
    SCOPED_TRACE(body);
    const ir::Graph graph = graph_of_point(body);
    const Netlist netlist = build_netlist(make_stream(graph, options_of(0)));
    std::vector<i64> frame;
    Array array(ElementType::f64, {height, width});
    for (i64 k = 0; k < height * width; ++k) {
      frame.push_back(k * 65535 / (height * width - 1));
      array.as<double>()[k] = static_cast<double>(frame.back());
    }
    const std::vector<i64> got = simulate(netlist, {{frame}})[0][0];
    const std::vector<Array> expected = ref::interpret(graph, {height, width}, {array});
    const Port& port = netlist.results[0].port;
    double largest = 0;
    for (i64 k = 0; k < height * width; ++k) {
      const double should = expected[0].as<double>()[k];
      largest = std::max(largest, std::abs(should));
      EXPECT_LE(std::abs(std::ldexp(static_cast<double>(got[static_cast<std::size_t>(k)]), -port.fraction) - should),
                port.error);
    }
    EXPECT_LE(port.error, 1.01 * std::exp2(-10) * largest);
  }
}

TEST(Formats, ResultsThatWouldBeLostAreRefusedWithWhatToWrite) {
  const auto said = [](const std::string& body, double error) {
    try {
      build_netlist(make_stream(graph_of_point(body), options_of(error)));
    } catch (const Error& e) {
      EXPECT_EQ(e.error_class(), ErrorClass::argument);
      return std::string(e.what());
    }
    return std::string("it streams");
  };
  using testing::AllOf;
  using testing::HasSubstr;
  EXPECT_EQ(said("x * 1e-9", 0), "it streams");
  EXPECT_EQ(said("x * 1e-9", 6e-8), "it streams");
  EXPECT_EQ(said("x * 0", 0), "it streams");
  EXPECT_THAT(said("x * 1e-9", 1), AllOf(HasSubstr("stage 'f' cannot stream: with an error of 0.5 nothing is left of "
                                                   "values that lie within 6.56e-05 of 0"),
                                         HasSubstr("write --error 6e-08, or leave it out")));
  EXPECT_THAT(said("tanh(x / 1e9)", 0.01), HasSubstr("write --error 6e-08"));
  EXPECT_THAT(said("x * 1e-20", 0),
              AllOf(HasSubstr("stage 'f' cannot stream: with 48 bits of fraction, the most that fit"),
                    HasSubstr("scale up what becomes so small")));
  EXPECT_THAT(said("exp(-40 - x)", 0), HasSubstr("nothing is left"));
  EXPECT_THAT(said("exp(-40 - x)", 1), HasSubstr("nothing is left"));
  EXPECT_THAT(said("x * 0.3", 1e-15), HasSubstr("its error in fixed point is"));
  EXPECT_THAT(said("x * 0.3 > 7 ? 1.0 : 2.0", 1e-15), HasSubstr("it compares floats whose error in fixed point is"));
}

}  // namespace
}  // namespace tessera::hardware
