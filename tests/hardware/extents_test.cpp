// Extents at run time that change between frames, without a reset: while a circuit is not busy it takes frames of other
// extents, and says so where they change at another time.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <utility>

#include "emit/hls/hls.hpp"
#include "emit/verilog/verilog.hpp"
#include "hardware/build.hpp"
#include "hardware/netlist/delay_lines.hpp"
#include "icarus.hpp"
#include "tessera/error.hpp"

namespace tessera::hardware {
namespace {

using Sizes = std::vector<std::pair<i64, i64>>;

// Frames of one pair of extents follow each other; the next ones are set when the circuit is not busy, and words come
// in the clock after.
class Series {
 public:
  // Without `waits` the next extents are set as soon as the last word is taken in.
  Series(const Netlist& netlist, const Sizes& sizes, int frames, bool stalls, unsigned seed, bool waits = true)
      : netlist_(netlist), sizes_(sizes), frames_(frames), stalls_(stalls) {
    line("`timescale 1ns/1ps\nmodule bench;\n  reg clk = 0, rst = 1; always #5 clk = ~clk;");
    line("  reg [{}:0] height = {};\n  reg [{}:0] width = {};", bits(0) - 1, sizes[0].first, bits(1) - 1,
         sizes[0].second);
    line("  wire busy, error; reg raised = 0;\n  integer group = 0, seed = {}, ignored, idle = 0;", seed);
    line("  initial begin ignored = $urandom(seed); repeat (12) @(posedge clk); rst <= 0; end");
    for (const Port& p : netlist.inputs) source(p);
    for (const Result& r : netlist.results) sink(r);
    for (std::size_t k = 0; k < netlist.scalars.size(); ++k)
      ports_ += fmt::format(".p_{}(0), ", netlist.scalars[k].name);
    line("  circuit_under_test circuit (.clk, .rst, .height, .width, {}.busy, .error);", ports_);
    line("  always @(posedge clk) if (~rst) begin\n    raised <= raised | error;");
    line("    if ({}) begin\n      group <= group + 1;", still_ + (waits ? "~busy" : "1'b1"));
    line("      case (group + 1)");
    for (std::size_t g = 1; g < sizes.size(); ++g)
      line("        {}: begin height <= {}; width <= {}; end", g, sizes[g].first, sizes[g].second);
    line("        default: begin $display(\"error %b\", raised); $finish; end\n      endcase\n    end");
    line(
        "    idle <= {}1'b0 ? 0 : idle + 1;\n    if (idle > 20000) begin $display(\"no end, error %b\", raised); "
        "$finish; end",
        moved_);
    line("  end\nendmodule");
  }
  const std::string& text() const { return text_; }

 private:
  template <class... A>
  void line(fmt::format_string<A...> format, A&&... args) {
    text_ += fmt::format(format, std::forward<A>(args)...) + "\n";
  }
  int bits(std::size_t d) const {
    return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(netlist_.given.most[d])));
  }

  // By group, a number that follows from its extents.
  template <class F>
  std::string by_group(F&& number) const {
    std::string all;
    i64 sum = 0;
    for (std::size_t g = 0; g < sizes_.size(); ++g) {
      sum = number(sizes_[g], sum);
      all += fmt::format("group == {} ? {} : ", g, sum);
    }
    return all + fmt::format("{}", sum);
  }
  i64 words(const Grid& grid, std::pair<i64, i64> size) const {
    const i64 lanes = netlist_.lanes(grid);
    return (grid.columns.points(size.second) + lanes - 1) / lanes;
  }
  i64 frame_words(const Grid& grid, std::pair<i64, i64> size) const {
    return words(grid, size) * grid.rows.points(size.first);
  }
  std::string gap() const { return stalls_ ? "($urandom % 3 != 0)" : "1'b1"; }

  // How many words come up to the end of each group; the place of a word within its own.
  void source(const Port& p) {
    const std::string n = "s_" + p.name;
    const int w = emit::word_bits(netlist_, p);
    i64 all = 0;
    for (const auto& size : sizes_) all += frames_ * frame_words(p.grid, size);
    line("  reg [{}:0] {}_words [0:{}]; initial $readmemh(\"{}.hex\", {}_words);", w - 1, n, all - 1, p.name, n);
    line("  integer {0}_at = 0; reg {0}_valid = 0; wire {0}_ready;", n);
    line("  wire integer {}_end = {};", n,
         by_group([&](auto size, i64 sum) { return sum + frames_ * frame_words(p.grid, size); }));
    line("  wire integer {}_row = {}, {}_frame = {};", n, by_group([&](auto size, i64) { return words(p.grid, size); }),
         n, by_group([&](auto size, i64) { return frame_words(p.grid, size); }));
    line(
        "  wire integer {0}_next = {0}_at + ({0}_valid & {0}_ready);\n  wire integer {0}_in = {0}_at - {0}_end + {1} * "
        "{0}_frame;",
        n, frames_);
    line("  always @(posedge clk) begin\n    {0}_at <= {0}_next;", n);
    line("    if (~{0}_valid | {0}_ready) {0}_valid <= ~rst & {0}_next < {0}_end & {1};\n  end", n, gap());
    ports_ += fmt::format(
        ".s_{1}_tdata({0}_words[{0}_at]), .s_{1}_tvalid({0}_valid), .s_{1}_tready({0}_ready), "
        ".s_{1}_tlast({0}_in % {0}_row == {0}_row - 1), .s_{1}_tuser({0}_in % {0}_frame == 0), ",
        n, p.name);
    still_ += fmt::format("~{0}_valid & {0}_at == {0}_end & ", n);
    moved_ += fmt::format("{0}_valid & {0}_ready | ", n);
  }

  void sink(const Result& r) {
    const std::string n = "m_" + r.port.name;
    const int w = emit::word_bits(netlist_, r.port);
    line("  wire [{}:0] {}_data; wire [{}:0] {}_keep; wire {}_valid, {}_last, {}_user; reg {}_ready = 0;", w - 1, n,
         w / 8 - 1, n, n, n, n, n);
    line("  integer {0}_file; initial {0}_file = $fopen(\"{1}.out\", \"w\");", n, r.port.name);
    line("  always @(posedge clk) begin\n    {0}_ready <= {1};", n, gap());
    line(
        "    if ({0}_valid & {0}_ready) $fdisplay({0}_file, \"%h %h %b %b\", {0}_data, {0}_keep, {0}_last, "
        "{0}_user);\n  end",
        n);
    ports_ += fmt::format(
        ".m_{1}_tdata({0}_data), .m_{1}_tkeep({0}_keep), .m_{1}_tvalid({0}_valid), .m_{1}_tready({0}_ready), "
        ".m_{1}_tlast({0}_last), .m_{1}_tuser({0}_user), ",
        n, r.port.name);
    moved_ += fmt::format("{0}_valid & {0}_ready | ", n);
  }

  const Netlist& netlist_;
  const Sizes& sizes_;
  int frames_;
  bool stalls_;
  std::string text_, ports_, still_, moved_;
};

Frameset interpreted_series(const ir::Graph& graph, const Netlist& netlist, const Sizes& sizes, int frames,
                            std::uint64_t seed, std::vector<std::string>& words) {
  words.resize(netlist.inputs.size());
  Frameset all;
  all.results.resize(netlist.results.size());
  for (const auto& [height, width] : sizes) {
    const Frameset set = interpreted(graph, height, width, frames, seed++);
    for (std::size_t k = 0; k < words.size(); ++k) words[k] += words_of(netlist, k, set.inputs[k], height, width);
    for (std::size_t r = 0; r < set.results.size(); ++r)
      all.results[r].insert(all.results[r].end(), set.results[r].begin(), set.results[r].end());
  }
  return all;
}

// Frames of the largest extents, of small ones, of large ones again: what is left of other frames is not seen.
void expect_series(const std::string& text, const StreamOptions& options, const Sizes& wanted, std::uint64_t seed,
                   int& ran) {
  const ir::Graph graph = graph_of(text);
  const Netlist netlist = build_netlist(make_stream(graph, options));
  const Schedule schedule = make_schedule(netlist);
  const i64 least = least_width(netlist, delay_lines(netlist, schedule.line));
  Sizes sizes;
  for (const auto& [height, width] : wanted)
    if (height % netlist.given.unit[0] == netlist.given.rest[0] &&
        width % netlist.given.unit[1] == netlist.given.rest[1] && height >= netlist.least_height && width >= least &&
        interpreted_if(graph, height, width, 1, 1))
      sizes.emplace_back(height, width);
  if (sizes.size() < 2) return;
  ++ran;
  for (const bool stalls : {false, true}) {
    const TestFolder folder;
    std::vector<std::string> words;
    const Frameset set = interpreted_series(graph, netlist, sizes, 2, seed, words);
    for (std::size_t k = 0; k < words.size(); ++k) folder.write(netlist.inputs[k].name + ".hex", words[k]);
    folder.write("c.sv", emit::print_verilog(netlist, schedule, {"circuit_under_test"}));
    folder.write("bench.sv", Series(netlist, sizes, 2, stalls, static_cast<unsigned>(seed)).text());
    const Outcome got = outcome_of(folder, netlist, "iverilog -g2012 -o c c.sv bench.sv && ./c");
    ASSERT_TRUE(got.sound) << text << got.said;
    EXPECT_NE(got.said.find("error 0"), std::string::npos) << text << got.said;
    ASSERT_EQ(got.results, set.results) << text << (stalls ? "stalls " : "") << "seed " << seed << " lanes "
                                        << options.lanes << "\n"
                                        << got.said;
  }
}

TEST(Extents, ChangeBetweenFramesWithoutAReset) {
  const std::uint64_t most = cases_or(8);
  int ran = 0;
  for (std::uint64_t seed = 0; seed < most; ++seed) {
    StreamOptions options;
    options.lanes = 1 << (seed % 4);
    options.height = 20, options.width = 70, options.fixed = false;
    expect_series(random_program(6000 + seed), options, {{20, 70}, {7, 33}, {16, 64}, {5, 41}}, seed, ran);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(ran, 0);
}

TEST(Extents, ChangeOfImagesWithExtentsOfTheirOwn) {
  const std::uint64_t most = cases_or(6);
  int ran = 0;
  for (std::uint64_t seed = 0; seed < most; ++seed) {
    StreamOptions options;
    options.lanes = 1 << (seed % 3);
    options.height = 24, options.width = 96, options.fixed = false;
    try {
      expect_series(random_rated_program(7000 + seed), options, {{24, 96}, {8, 48}, {16, 64}, {9, 41}, {12, 60}}, seed,
                    ran);
    } catch (const Error& e) {
      ASSERT_EQ(e.error_class(), ErrorClass::argument);  // refused, as other tests say
    }
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(ran, 0);
}

const char* const mean =
    "stencil mean(vector#2 uint8 x) { return cast<uint8>((x@[-1,0] + x + x@[1,0] + x@[0,-1]) / 4); }\n"
    "parameter M, N;\nvector#2 uint8 image[M, N];\nreturn mean(image:clamped);\n";

StreamOptions at_most(i64 height, i64 width) {
  StreamOptions options;
  options.height = height, options.width = width, options.fixed = false;
  return options;
}

// Nothing waits for a later word here, so nothing is pushed out behind the last frame.
TEST(Extents, ChangeWherePointsDependOnThemselvesAlone) {
  int ran = 0;
  expect_series(
      "stencil negative(vector#2 uint8 x) { return cast<uint8>(255 - x + coord(0)); }\n"
      "parameter M, N;\nvector#2 uint8 image[M, N];\nreturn negative(image);\n",
      at_most(6, 20), {{6, 20}, {1, 1}, {5, 9}}, 3, ran);
  EXPECT_EQ(ran, 1);
}

TEST(Extents, AreAnErrorWhereTheyChangeTooEarlyOrDoNotFit) {
  const auto said_of = [](const Netlist& netlist, const Sizes& sizes, bool waits) {
    const Schedule schedule = make_schedule(netlist);
    const TestFolder folder;
    std::string words;
    for (const auto& [height, width] : sizes) {
      const Frames two(2, std::vector<i64>(static_cast<std::size_t>(height * width), 7));
      words += words_of(netlist, 0, two, height, width);
    }
    folder.write("image.hex", words);
    folder.write("c.sv", emit::print_verilog(netlist, schedule, {"circuit_under_test"}));
    folder.write("bench.sv", Series(netlist, sizes, 2, false, 1, waits).text());
    return outcome_of(folder, netlist, "iverilog -g2012 -o c c.sv bench.sv && ./c").said;
  };
  const Netlist netlist = build_netlist(make_stream(graph_of(mean), at_most(20, 70)));
  const auto said = [&](const Sizes& sizes, bool waits) { return said_of(netlist, sizes, waits); };
  EXPECT_NE(said({{20, 70}, {9, 30}}, true).find("error 0"), std::string::npos);
  EXPECT_NE(said({{20, 70}, {9, 30}}, false).find("error 1"), std::string::npos);
  EXPECT_NE(said({{20, 70}, {21, 30}}, true).find("no end, error 1"), std::string::npos);
  EXPECT_NE(said({{20, 70}, {9, 71}}, true).find("no end, error 1"), std::string::npos);
  // Too small for a mirror, and no multiple.
  const Netlist even =
      build_netlist(make_stream(graph_of("stencil f(vector#2 uint8 x) { return cast<uint8>(x@[-2,0] - x@[0,3]); }\n"
                                         "parameter M, N;\nvector#2 uint8 image[2*M, N];\nreturn f(image:mirror);\n"),
                                at_most(20, 70)));
  EXPECT_NE(said_of(even, {{4, 4}}, true).find("error 0"), std::string::npos);
  for (const auto& [height, width] : Sizes{{2, 70}, {20, 3}, {7, 70}})
    EXPECT_NE(said_of(even, {{height, width}}, true).find("no end, error 1"), std::string::npos) << height;
  const std::string text = emit::print_verilog(even, make_schedule(even), {"f"});
  EXPECT_NE(text.find("// height: 4 to 20, a multiple of 2; width: 4 to 70."), std::string::npos);
}

// No extents at all would do: it would say so at run time, of each frame.
TEST(Extents, ThatNoWindowFitsAreRefused) {
  StreamOptions options = at_most(20, 33);
  options.lanes = 8;
  const Netlist netlist = build_netlist(make_stream(
      graph_of("stencil f(vector#2 uint8 x, vector#2 uint8 y) { return x@[0,1] + y@[-1,0]; }\nparameter M, N;\n"
               "vector#2 uint8 a[M, N];\nvector#2 uint8 b[M, N];\nreturn f(a:clamped, b:mirror);\n"),
      options));
  const auto message = [&](auto&& print) {
    try {
      print();
    } catch (const Error& e) {
      EXPECT_EQ(e.error_class(), ErrorClass::argument);
      return std::string(e.what());
    }
    return std::string();
  };
  const std::string expected = "frames of at most 20 x 33 were asked for; expected at least 2 x 65";
  EXPECT_NE(message([&] { emit::print_verilog(netlist, make_schedule(netlist), {"f"}); }).find(expected),
            std::string::npos);
  EXPECT_NE(message([&] { emit::print_hls(netlist, {.name = "f"}); }).find(expected), std::string::npos);
}

}  // namespace
}  // namespace tessera::hardware
