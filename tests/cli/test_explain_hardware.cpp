// `tessera explain` for hardware: what it says is what `emit` prints, and what `./dev fpga` found of that text.
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "fixture.hpp"

namespace tessera::cli {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::Not;

class ExplainHardware : public Command {
 protected:
  void SetUp() override {
    Command::SetUp();
    setenv("TESSERA_FPGA", path("fpga.json").c_str(), 1);
    program("mean.forma",
            "stencil mean(vector#2 uint8 X) { return cast<uint8>((X@[-1,0] + X + X@[1,0]) / 3); }\n"
            "parameter M, N;\nvector#2 uint8 image[M,N];\nreturn mean(image:clamped);\n");
    program("third.forma",
            "stencil third(vector#2 float X) { return (X@[-1,0] + X + X@[1,0]) / 3; }\n"
            "parameter M, N;\nvector#2 float image[M,N];\nreturn third(image:clamped);\n");
  }
  void TearDown() override {
    unsetenv("TESSERA_FPGA");
    Command::TearDown();
  }

  json explained(std::vector<std::string> words) const {
    words.insert(words.begin(), "explain");
    words.emplace_back("--json");
    const Outcome o = tessera(words);
    EXPECT_EQ(o.status, 0) << o.err;
    return json::parse(o.out, nullptr, false);
  }
};

TEST_F(ExplainHardware, Text) {
  const Outcome o = tessera({"explain", "mean.forma", "--target", "verilog", "--size", "30x320", "--lanes", "4"});
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_THAT(o.out, AllOf(HasSubstr("mean: verilog of frames of 30 x 320, 4 points a clock"),
                           HasSubstr("a frame takes 2,400 clocks, 4 points each"), HasSubstr("image in: uint8\n"),
                           HasSubstr("(80 ticks)"), HasSubstr("line buffers: 5,120 bits in 1 memory: 80 x 64 bits"),
                           HasSubstr("image: input, 8 bits, lags none, keeps 2 rows"),
                           HasSubstr("not synthesised by ./dev fpga")));
  const Outcome hls = tessera({"explain", "mean.forma", "--target", "hls", "--size", "30x320"});
  EXPECT_THAT(hls.out, AllOf(HasSubstr("mean: hls of"), Not(HasSubstr("pipeline:")),
                             HasSubstr("5,120 bits in 1 memory: 320 x 16 bits"), HasSubstr("1 point each")));
}

// Of HLS, whose floats are floats, operations on them are counted like others.
TEST_F(ExplainHardware, CountsOperationsOfFloats) {
  program("floats.forma",
          "stencil f(vector#2 float X) { return exp(sqrt(X@[-1,0] * X + 2.5f) / X); }\nparameter M, N;\n"
          "vector#2 float image[M, N];\nreturn f(image:mirror);\n");
  const json j = explained({"floats.forma", "--target", "hls", "--size", "image=8x16"});
  for (const char* kind : {"additions", "products", "divisions", "roots", "functions"}) EXPECT_EQ(j[kind], 1) << kind;
  EXPECT_THAT(tessera({"explain", "floats.forma", "--target", "hls", "--size", "8x16"}).out,
              HasSubstr("1 function of floats"));
}

TEST_F(ExplainHardware, IsWhatEmitPrints) {
  for (const char* target : {"verilog", "hls"}) {
    const std::vector<std::string> words = {"third.forma", "--target", target,       "--size",
                                            "30x320",      "--input",  "image=uint8"};
    const json j = explained(words);
    std::vector<std::string> emit = words;
    emit.insert(emit.begin(), "emit");
    const Outcome o = tessera(emit);
    ASSERT_EQ(o.status, 0) << o.err;
    EXPECT_THAT(o.out,
                HasSubstr("// Line buffers hold " + std::to_string(j["line_buffer_bits"].get<i64>()) +
                          " bits, shift registers " + std::to_string(j["shift_register_bits"].get<i64>()) + "."));
    const json& result = j["results"][0];
    EXPECT_GT(result["fraction"], 0);
    EXPECT_GT(result["error"], 0.0);
    EXPECT_THAT(o.out, HasSubstr(" / 2^" + std::to_string(result["fraction"].get<int>()) + ", at most "));
    EXPECT_THAT(o.out, HasSubstr("; " + std::to_string(result["latency_ticks"].get<i64>()) + " ticks"));
    i64 bits = 0;
    for (const json& m : j["memories"]) bits += m["words"].get<i64>() * m["bits"].get<i64>();
    EXPECT_EQ(bits, j["line_buffer_bits"]);
    EXPECT_EQ(j["clocks_a_frame"], 30 * 320);
    EXPECT_EQ(result["latency_clocks"].is_null(), std::string(target) == "hls");
  }
}

// Of a text that was synthesised, whatever its file holds.
TEST_F(ExplainHardware, TellsWhatWasSynthesised) {
  const std::vector<std::string> words = {"mean.forma", "--target", "verilog", "--size", "30x320"};
  const std::string text = explained(words)["text"].get<std::string>();
  EXPECT_EQ(text.size(), 64U);
  EXPECT_NE(text, explained({"mean.forma", "--target", "verilog", "--size", "31x320"})["text"].get<std::string>());
  const json found = {
      {"date", "2026-11-23"},
      {"designs",
       {{{"text", "other"}, {"synthesised", {{"ECP5", {{"MHz", 7}}}}}},
        {{"text", text}, {"synthesised", {{"ECP5", {{"LUT4", 755}, {"MHz", 164.25}, {"chip", "F-8"}}}}}}}}};
  program("fpga.json", found.dump());
  const Outcome o = tessera({"explain", "mean.forma", "--target", "verilog", "--size", "30x320"});
  EXPECT_THAT(o.out, AllOf(HasSubstr("fpga.json, of 2026-11-23)"), HasSubstr("ECP5: LUT4 755, MHz 164.25, chip F-8")));
  EXPECT_EQ(explained(words)["synthesised"]["ECP5"]["LUT4"], 755);
  program("fpga.json", json{{"designs", json::array()}}.dump());
  EXPECT_THAT(explained(words)["synthesised_from"].get<std::string>(), HasSubstr("this text is not among those of"));
  for (const std::string bad :
       {"", "[1]", "{\"designs\": 3}", "{\"designs\": [3]}", "{\"designs\": [{\"text\": \"T\"}]}"}) {
    std::string content = bad;
    if (const std::size_t at = content.find("\"T\""); at != std::string::npos)
      content.replace(at, 3, "\"" + text + "\"");
    program("fpga.json", content);
    const json j = explained(words);
    EXPECT_TRUE(j["synthesised"].is_null()) << bad;
    EXPECT_NE(j["synthesised_from"], "") << bad;
  }
}

// By stage, what values with errors decide, and how close to the limit they may do so otherwise.
TEST_F(ExplainHardware, TellsWhatValuesWithErrorsDecide) {
  program("edges.forma",
          "stencil smooth(vector#2 float x) { return 0.3f * x + 0.7f * x@[0,1]; }\n"
          "stencil strong(vector#2 float x) { return cast<uint8>(x > 90 ? 255 : 0); }\n"
          "parameter M, N;\nvector#2 float image[M, N];\nreturn strong(smooth(image:clamped));\n");
  const std::vector<std::string> words = {"edges.forma", "--target", "verilog",    "--size",
                                          "9x30",        "--input",  "image=uint8"};
  const json decisions = explained(words)["decisions"];
  ASSERT_EQ(decisions.size(), 1U);
  EXPECT_EQ(decisions[0]["what"], "compares floats");
  EXPECT_GT(decisions[0]["error"].get<double>(), 0);
  EXPECT_LT(decisions[0]["error"].get<double>(), 1);
  std::vector<std::string> all = {"explain"};
  all.insert(all.end(), words.begin(), words.end());
  EXPECT_THAT(tessera(all).out, HasSubstr("decided by values with errors"));
  program("whole.forma",
          "stencil f(vector#2 uint8 x) { return x > 90 ? 255 : 0; }\nparameter M, N;\nvector#2 uint8 image[M, N];\n"
          "return f(image);\n");
  EXPECT_EQ(explained({"whole.forma", "--target", "verilog", "--size", "9x30"})["decisions"], json::array());
}

// Results so small that the usual bits of fraction hold none of them.
TEST_F(ExplainHardware, NothingIsLostUnsaid) {
  program("faint.forma",
          "stencil faint(vector#2 float X) { return (X@[0,-1] + X) * 0.000000001f; }\n"
          "parameter M, N;\nvector#2 float image[M,N];\nreturn faint(image:clamped);\n");
  std::vector<std::string> words = {"faint.forma", "--target", "verilog", "--size", "9x30", "--input", "image=uint8"};
  const json result = explained(words)["results"][0];
  EXPECT_GT(result["fraction"], 24);
  EXPECT_GT(result["error"], 0.0);
  EXPECT_LT(result["error"], 510e-9 / 1024);
  words.insert(words.end(), {"--error", "0.001"});
  for (const char* verb : {"emit", "explain"}) {
    words.insert(words.begin(), verb);
    const Outcome o = tessera(words);
    expect_error(o, 2, "stage 'faint' cannot stream: with an error of");
    EXPECT_THAT(o.err, AllOf(HasSubstr("nothing is left of values that lie within 5.1e-07 of 0"),
                             HasSubstr("faint.forma"), HasSubstr("help: write --error 5e-10, or leave it out")));
    words.erase(words.begin());
  }
}

TEST_F(ExplainHardware, RefusesWhatDoesNotFit) {
  const auto refuses = [&](const std::vector<std::string>& words, const std::string& part) {
    expect_error(tessera(words), 2, part);
  };
  refuses({"explain", "mean.forma", "--target", "hls", "--size", "9x9", "--size", "8x8"}, "2 sizes were given");
  refuses({"explain", "mean.forma", "--target", "hls", "--size", "other=9x9"},
          "--size names 'other'; a circuit's frames have the extents of its first image, 'image'");
  refuses({"explain", "mean.forma", "--target", "hls", "--size", "9x9", "--input", "image=uint8", "--input",
           "image=uint16"},
          "--input names 'image' twice");
  refuses({"emit", "mean.forma", "--target", "verilog", "--size", "9x9", "--exact"},
          "--exact is not of target verilog");
  refuses({"emit", "mean.forma", "--target", "verilog", "--size", "9x9", "--name", ""},
          "--name '' cannot be used, expected a value");
  refuses({"explain", "mean.forma", "--target", "hls", "--size", "9x9", "--threads", "2"},
          "--threads is not of --target hls");
  refuses({"explain", "mean.forma", "--target", "hls", "--size", "9x9", "--svg", "a.svg"},
          "--svg is not of --target hls");
  refuses({"explain", "--filter", "gaussian", "--target", "hls", "--size", "9x9"}, "--filter is not of --target hls");
  refuses({"explain", "--target", "hls", "--size", "9x9"}, "program is required");
  refuses({"explain", "mean.forma", "--size", "9x9", "--lanes", "2"}, "--lanes is of targets hls and verilog");
  refuses({"explain", "mean.forma", "--target", "verilog", "--size", "9x9", "--method", "direct"},
          "--method is not of");
  refuses({"explain", "third.forma", "--target", "verilog", "--size", "9x9"}, "range is not known");
  refuses({"explain", "mean.forma", "--target", "abacus", "--size", "9x9"}, "unknown target 'abacus'");
}

}  // namespace
}  // namespace tessera::cli
