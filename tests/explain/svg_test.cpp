// The picture of `explain`: a well-formed document that shows every stage and group once, boxes apart, lines that end
// where something stands.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "explain/layout.hpp"
#include "support/programs.hpp"

namespace tessera {
namespace {

using namespace explain::picture;

// A reader for the little of XML that a picture uses: elements by name, and the first fault.
struct Xml {
  std::map<std::string, int> elements;
  std::map<std::string, int> classes;
  std::string fault;

  explicit Xml(const std::string& text) {
    std::vector<std::string> open;
    std::size_t at = 0;
    auto fail = [&](const std::string& what) {
      if (fault.empty()) fault = what + " at " + std::to_string(at) + ": " + text.substr(at, 60);
      return false;
    };
    auto entity = [&](std::size_t k) {
      for (const char* known : {"&amp;", "&lt;", "&gt;", "&quot;"})
        if (text.compare(k, std::string(known).size(), known) == 0) return true;
      return false;
    };
    while (at < text.size() && fault.empty()) {
      if (text[at] == '&' && !entity(at)) fail("a bare ampersand");
      if (open.empty() && text[at] != '<' && text[at] != '\n') fail("text outside");
      if (text[at] != '<') {
        if (static_cast<unsigned char>(text[at]) < 0x20 && text[at] != '\n') fail("a control character");
        ++at;
        continue;
      }
      std::size_t end = text.find('>', at);
      if (end == std::string::npos && !fail("an open tag")) break;
      std::string tag = text.substr(at + 1, end - at - 1);
      if (tag.starts_with('/')) {
        if (open.empty() || open.back() != tag.substr(1))
          fail("an end without a start");
        else
          open.pop_back();
      } else {
        bool closed = tag.ends_with('/');
        if (closed) tag.pop_back();
        std::string name = tag.substr(0, tag.find(' '));
        ++elements[name];
        attributes(tag.substr(name.size()), fail);
        if (!closed) open.push_back(name);
      }
      at = end + 1;
    }
    if (!open.empty()) fail("no end of " + open.back());
  }

  template <class Fail>
  void attributes(const std::string& text, Fail fail) {
    std::size_t at = 0;
    while (at < text.size()) {
      if (text[at] != ' ') return void(fail("no blank before an attribute"));
      std::size_t equals = text.find("=\"", at),
                  end = equals == std::string::npos ? equals : text.find('"', equals + 2);
      if (end == std::string::npos) return void(fail("an attribute without a value"));
      std::string value = text.substr(equals + 2, end - equals - 2);
      if (value.find('<') != std::string::npos) return void(fail("'<' in an attribute"));
      if (text.substr(at + 1, equals - at - 1) == "class") ++classes[value];
      for (const char* number : {"nan", "inf"})
        if (value.find(number) != std::string::npos) return void(fail("a number that is none"));
      at = end + 1;
    }
  }
};

// A program of `count` stages that read one or two of those before them.
Sample random_program(unsigned seed, int count) {
  std::mt19937 random(seed);
  std::string text =
      "parameter M, N;\n"
      "stencil b(vector#2 float X) { return X@[-1,0] + X@[1,1] + X; }\n"
      "stencil s(vector#2 float X, vector#2 float Y) { return sqrt(X * X + Y@[0,2] * Y@[1,0]); }\n"
      "vector#2 float image[M,N];\nu<0> = image;\n";
  auto before = [&](int i) {
    return std::to_string(i - 1 - static_cast<int>(random() % static_cast<unsigned>(std::min(i, 20))));
  };
  for (int i = 1; i <= count; ++i) {
    std::string a = before(i), b = before(i);
    text += "u<" + std::to_string(i) +
            "> = " + (random() % 3 ? "s(u<" + a + ">:clamped, u<" + b + ">:wrap);\n" : "b(u<" + a + ">:mirror);\n");
  }
  text += "return last = u<" + std::to_string(count) + ">, middle = u<" + std::to_string(count / 2) + ">;\n";
  return {"random" + std::to_string(seed), text, {{700, 900}}};
}

std::vector<Sample> drawn() {
  std::vector<Sample> all = samples();
  for (unsigned seed = 1; seed <= 6; ++seed) all.push_back(random_program(seed, static_cast<int>(10 * seed)));
  return all;
}

class ExplainSvg : public testing::TestWithParam<Sample> {};

// Every schedule, on cores and on a device.
std::vector<explain::Report> reports_of(const Sample& sample) {
  std::vector<explain::Report> reports;
  for (const Schedule schedule : {Schedule::automatic, Schedule::untiled, Schedule::stream}) {
    RunOptions options;
    options.schedule = schedule;
    reports.push_back(report_of(sample, options));
    reports.push_back(device_report_of(sample, options));
  }
  return reports;
}

TEST_P(ExplainSvg, IsWellFormedAndComplete) {
  for (const explain::Report& report : reports_of(GetParam())) {
    const std::string svg = explain::to_svg(report);
    Xml xml(svg);
    EXPECT_EQ(xml.fault, "");
    EXPECT_EQ(xml.elements["svg"], 1);
    int stages = 0, passes = 0, pills = 0;
    for (const explain::StageReport& s : report.stages) {
      (s.group >= 0 ? stages : pills) += 1;
      pills += s.home.ends_with("output") ? 1 : 0;
    }
    for (const explain::GroupReport& g : report.groups) passes += static_cast<int>(g.passes.size());
    EXPECT_EQ(xml.classes["stage"], stages);
    EXPECT_EQ(xml.classes["pass"], passes);
    EXPECT_EQ(xml.classes["pill"], pills);
    EXPECT_EQ(xml.classes["group"], static_cast<int>(report.groups.size()));
    EXPECT_NE(svg.find("prefers-color-scheme: dark"), std::string::npos);
  }
}

bool apart(const Box& a, const Box& b) {
  return a.x + a.w <= b.x || b.x + b.w <= a.x || a.y + a.h <= b.y || b.y + b.h <= a.y;
}
bool inside(const Box& a, const Box& b) {
  return a.x >= b.x && a.y >= b.y && a.x + a.w <= b.x + b.w && a.y + a.h <= b.y + b.h;
}
// A piece of a straight line against the inside of a box.
bool runs_over(const Point& a, const Point& b, const Box& box) {
  return std::max(a.x, b.x) > box.x + 1 && std::min(a.x, b.x) < box.x + box.w - 1 && std::max(a.y, b.y) > box.y + 1 &&
         std::min(a.y, b.y) < box.y + box.h - 1;
}

TEST_P(ExplainSvg, BoxesStandApart) {
  for (const explain::Report& report : reports_of(GetParam())) {
    const Picture picture = arrange(report);
    for (std::size_t a = 0; a < picture.stages.size(); ++a) {
      const StageBox& stage = picture.stages[a];
      EXPECT_TRUE(inside(stage.box, picture.groups[static_cast<std::size_t>(report.stages[stage.stage].group)]));
      for (std::size_t b = 0; b < a; ++b) EXPECT_TRUE(apart(stage.box, picture.stages[b].box)) << a << " and " << b;
    }
    for (std::size_t a = 0; a < picture.groups.size(); ++a)
      for (std::size_t b = 0; b < a; ++b) EXPECT_TRUE(apart(picture.groups[a], picture.groups[b]));
    for (const PassBox& pass : picture.passes) EXPECT_TRUE(inside(pass.box, picture.groups[pass.group]));
    for (const auto* pills : {&picture.inputs, &picture.outputs})
      for (const StageBox& pill : *pills) EXPECT_TRUE(inside(pill.box, picture.frame));
    std::size_t reads = 0, arrows = 0;
    for (const explain::StageReport& s : report.stages) reads += s.reads.size();
    for (const Line& line : picture.lines) {
      arrows += line.arrow ? 1 : 0;
      if (line.curved) continue;
      for (std::size_t k = 1; k < line.points.size(); ++k) {
        const Point &a = line.points[k - 1], &b = line.points[k];
        EXPECT_TRUE(a.x == b.x || a.y == b.y) << "a slanted piece";
        for (const StageBox& stage : picture.stages)
          EXPECT_FALSE(runs_over(a, b, stage.box)) << report.stages[stage.stage].name;
      }
    }
    EXPECT_EQ(arrows, reads + picture.outputs.size());
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, ExplainSvg, testing::ValuesIn(drawn()),
                         [](const auto& info) { return info.param.name; });

TEST(ExplainSvg, EscapesNames) {
  explain::Report report = report_of(sample("blur"));
  report.stages[0].name = "a<b>&\"c\x01";
  report.device = "<&>";
  Xml xml(explain::to_svg(report));
  EXPECT_EQ(xml.fault, "");
}

TEST(ExplainSvg, TheReaderOfThisTestFindsFaults) {
  EXPECT_EQ(Xml("<a b=\"c\"><d/>x&amp;y</a>").fault, "");
  for (const char* bad : {"<a>", "</a>", "<a><b></a></b>", "<a b=c/>", "<a>x&y</a>", "<a b=\"nan\"/>", "<a b=\"<\"/>"})
    EXPECT_NE(Xml(bad).fault, "") << bad;
}

}  // namespace
}  // namespace tessera
