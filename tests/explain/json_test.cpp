// The JSON of `explain` parses, says what the text says, and its sums add up.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "explain/words.hpp"
#include "support/programs.hpp"

namespace tessera {
namespace {

using nlohmann::json;

class ExplainJson : public testing::TestWithParam<Sample> {};

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_P(ExplainJson, AgreesWithTheText) {
  for (Schedule schedule : {Schedule::automatic, Schedule::untiled, Schedule::stream}) {
    RunOptions options;
    options.schedule = schedule;
    const explain::Report report = report_of(GetParam(), options);
    const json j = json::parse(explain::to_json(report));
    const std::string text = explain::to_text(report);
    std::size_t computed = 0;
    for (const json& s : j["stages"]) computed += s["group"].is_null() ? 0 : 1;
    EXPECT_TRUE(says(text, explain::counted(static_cast<i64>(computed), "stage") + " in " +
                               explain::counted(static_cast<i64>(j["groups"].size()), "group")))
        << text;
    EXPECT_TRUE(says(text, explain::milliseconds(j["milliseconds"]) + " predicted on one core"));
    std::size_t number = 0;
    for (const json& g : j["groups"]) {
      EXPECT_TRUE(says(text, fmt::format("group {} of {}: ", ++number, j["groups"].size())));
      std::string tile;
      for (const json& n : g["tile"]) tile += (tile.empty() ? "" : " x ") + std::to_string(n.get<i64>());
      EXPECT_TRUE(says(text, fmt::format("tiles      {} of {}", g["tiles"].get<i64>(), tile)));
      EXPECT_TRUE(says(text, "bound by " + g["bound_by"].get<std::string>()));
    }
    for (const auto& [name, value] : j["parameters"].items())
      EXPECT_TRUE(says(text, fmt::format("{} = {}", name, value.get<i64>())));
    for (const json& s : j["stages"]) EXPECT_TRUE(says(text, s["name"].get<std::string>()));
  }
}

TEST_P(ExplainJson, AddsUp) {
  const json j = json::parse(explain::to_json(report_of(GetParam())));
  double bytes = 0, compulsory = 0, milliseconds = 0;
  std::set<std::string> names, placed;
  std::map<std::string, json> stages;
  for (const json& s : j["stages"]) {
    EXPECT_TRUE(names.insert(s["name"]).second) << s["name"] << " twice";
    stages[s["name"]] = s;
  }
  int number = 0;
  for (const json& g : j["groups"]) {
    bytes += g["bytes_read"].get<double>() + g["bytes_written"].get<double>();
    compulsory += g["compulsory_bytes"].get<double>();
    milliseconds += g["milliseconds"].get<double>();
    std::set<std::string> in_passes;
    i64 rings = 0;
    int pass = 0;
    for (const json& p : g["passes"]) {
      for (const json& s : p["stages"]) {
        in_passes.insert(s);
        EXPECT_EQ(stages[s]["pass"], pass);
        EXPECT_EQ(stages[s]["group"], number);
        if (stages[s].contains("ring")) rings += stages[s]["ring"]["bytes"].get<i64>();
      }
      ++pass;
    }
    EXPECT_EQ(g["ring_bytes"], rings);
    for (const json& s : g["stages"]) EXPECT_TRUE(placed.insert(s).second) << s << " in two groups";
    EXPECT_EQ(in_passes, g["stages"].get<std::set<std::string>>());
    ++number;
  }
  EXPECT_DOUBLE_EQ(bytes, j["bytes"].get<double>());
  EXPECT_DOUBLE_EQ(milliseconds, j["milliseconds"].get<double>());
  // Every argument and output of these programs is used, so that what is compulsory is the least there is.
  EXPECT_NEAR(compulsory, j["minimum_bytes"].get<double>(), 1e-6 * compulsory);
  EXPECT_GE(bytes, compulsory);
  for (const auto& [name, s] : stages) {
    EXPECT_EQ(placed.contains(name), s["kind"] != "input") << name;
    EXPECT_EQ(s.contains("ring"), s["home"].get<std::string>().starts_with("ring")) << name;
    for (const json& read : s["reads"]) EXPECT_TRUE(names.contains(read["stage"]));
  }
}

// On devices every stage is computed by one kernel, but wholes that their pieces fill, and kernels add up to groups.
TEST_P(ExplainJson, KernelsAddUp) {
  for (Schedule schedule : {Schedule::automatic, Schedule::untiled}) {
    RunOptions options;
    options.schedule = schedule;
    const explain::Report report = device_report_of(GetParam(), options);
    const json j = json::parse(explain::to_json(report));
    const std::string text = explain::to_text(report);
    double milliseconds = 0, bytes = 0, compulsory = 0;
    std::map<std::string, std::string> computed;
    std::set<std::pair<std::string, std::string>> kernels;
    for (const json& g : j["groups"]) {
      EXPECT_FALSE(g.contains("tile"));
      for (const json& k : g["kernels"]) {
        const std::string name = k["name"];
        EXPECT_TRUE(kernels.emplace(name, k["stages"].dump()).second);  // groups of equal text share a kernel
        EXPECT_TRUE(says(text, name));
        for (const json& s : k["stages"]) EXPECT_TRUE(computed.emplace(s, name).second) << s << " twice";
        bytes += k["bytes_read"].get<double>() + k["bytes_written"].get<double>();
        compulsory += k["compulsory_bytes"].get<double>();
        milliseconds += k["milliseconds"].get<double>();
        EXPECT_GE(k["operations_per_point"], 0);
        EXPECT_EQ(k["strip_rows"] > 0, k["runs"] == "strips" || k["runs"] == "register tiles");
      }
      for (const json& p : g["passes"])
        for (const json& s : p["stages"]) EXPECT_EQ(p["kernel"], computed.contains(s) ? json(computed[s]) : json());
    }
    EXPECT_NEAR(bytes, j["bytes"].get<double>(), 1e-6 * bytes);
    EXPECT_NEAR(milliseconds, j["milliseconds"].get<double>(), 1e-9);
    EXPECT_NEAR(compulsory, j["minimum_bytes"].get<double>(), 1e-6 * compulsory);
    EXPECT_TRUE(says(text, explain::kernel_time(j["milliseconds"]) + " predicted"));
    for (const json& s : j["stages"]) {
      EXPECT_FALSE(s.contains("ring"));
      EXPECT_TRUE(s["kind"] != "point" || computed.contains(s["name"])) << s["name"];
    }
  }
}

// Of the ways of cores one is taken, its price in nanoseconds of a core; text and JSON say the same of it.
TEST_P(ExplainJson, CoresHaveWays) {
  for (Schedule schedule : {Schedule::automatic, Schedule::untiled, Schedule::tiled, Schedule::stream}) {
    RunOptions options;
    options.schedule = schedule;
    const explain::Report report = report_of(GetParam(), options);
    const json j = json::parse(explain::to_json(report));
    const std::string text = explain::to_text(report);
    for (std::size_t g = 0; g < report.groups.size(); ++g) {
      const json& ways = j["groups"][g]["ways"];
      ASSERT_EQ(ways.size(), 3u) << ways;
      EXPECT_EQ(ways[0]["way"], "transform tiles");
      EXPECT_EQ(ways[1]["way"], "contraction");
      for (const std::size_t k : {0, 1})
        EXPECT_TRUE(ways[k]["refused"].is_string() && ways[k]["nanoseconds_per_result"].is_null()) << ways;
      EXPECT_EQ(ways[2]["way"], "stream");
      EXPECT_TRUE(ways[2]["taken"] && ways[2]["refused"].is_null()) << ways;
      EXPECT_GT(ways[2]["nanoseconds_per_result"], 0);
      const bool alone = j["groups"][g]["passes"].size() == 1;
      EXPECT_EQ(ways[2]["form"], alone ? "one pass" : schedule == Schedule::tiled ? "whole tiles" : "line buffers");
      const plan::GroupWay& way = report.groups[g].way;
      EXPECT_TRUE(says(text, "runs as    " + explain::way_line(way.chosen(), way.unit))) << text;
      EXPECT_TRUE(says(explain::way_line(way.chosen(), way.unit), " ns a result"));
    }
  }
}

// What computes neighbouring columns has a name, in the JSON that of every pass, in the text where it is no plain
// vector.
TEST(ExplainJson, PassesHaveForms) {
  const auto shown = [](const std::string& name, const std::string& expected) {
    RunOptions options;
    options.schedule = Schedule::untiled;
    const explain::Report report = report_of(sample(name), options);
    const json j = json::parse(explain::to_json(report));
    std::set<std::string> forms;
    for (const json& g : j["groups"])
      for (const json& p : g["passes"]) forms.insert(p["form"].get<std::string>());
    EXPECT_TRUE(forms.contains(expected)) << name << ": " << testing::PrintToString(forms);
  };
  shown("blur", "vectors");
  shown("pyramid", "compose");
  explain::PassReport pass{plan::PassForm::pairs, {0}, 4, 64};
  EXPECT_EQ(explain::block(pass), "4x64 pairs");
  pass.form = plan::PassForm::vectors;
  EXPECT_EQ(explain::block(pass), "4x64");
}

INSTANTIATE_TEST_SUITE_P(Programs, ExplainJson, testing::ValuesIn(samples()),
                         [](const auto& info) { return info.param.name; });

TEST(ExplainJson, NamesWindowsAndBorders) {
  RunOptions options;
  options.schedule = Schedule::untiled;
  auto reads = [&](const std::string& name) {
    const json j = json::parse(explain::to_json(report_of(sample(name), options)));
    std::set<std::string> found;
    for (const json& s : j["stages"])
      for (const json& r : s["reads"])
        found.insert(r["window"].get<std::string>() + "|" + r["border"].get<std::string>());
    return found;
  };
  EXPECT_EQ(reads("blur"), (std::set<std::string>{"3x1|mirror", "1x3|mirror"}));
  EXPECT_EQ(reads("gather"), (std::set<std::string>{"1x3|wrap", "anywhere|", "point|", "1x3|constant 1.5"}));
  EXPECT_EQ(reads("volume"), (std::set<std::string>{"3x3x3|clamped"}));
  EXPECT_EQ(reads("inner"), (std::set<std::string>{"3x3|", "1x3|"}));
  std::set<std::string> pyramid = reads("pyramid");
  EXPECT_TRUE(pyramid.contains("2x2 step 2|")) << testing::PrintToString(pyramid);
  EXPECT_TRUE(pyramid.contains("piece, every 2x1|")) << testing::PrintToString(pyramid);
  EXPECT_TRUE(pyramid.contains("point|")) << testing::PrintToString(pyramid);
}

}  // namespace
}  // namespace tessera
