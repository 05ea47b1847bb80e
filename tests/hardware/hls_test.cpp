// HLS C++ against the interpreter: compiled by the system's compiler with the headers of share/hls, in which processes
// run side by side and every use of a stream and a memory is counted. A run fails itself where a stream is used twice
// in a tick, where a word has a wrong last, user or keep, where words are left or missing, and on a deadlock.
#include "emit/hls.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "../emit/command.hpp"
#include "hardware/build.hpp"
#include "hardware/delay_lines.hpp"
#include "stream_programs.hpp"
#include "tessera/error.hpp"

namespace tessera::hardware {
namespace {

struct Run {
  i64 height, width;
  int frames, calls, stall;
};

struct Case {
  std::string text;
  StreamOptions options;
  std::vector<Run> runs;
  std::vector<i64> scalars = {};
};

std::string bytes_of(const Frames& frames, ElementType type) {
  std::string bytes;
  for (const std::vector<i64>& frame : frames)
    for (const i64 v : frame) bytes.append(reinterpret_cast<const char*>(&v), size_of(type));
  return bytes;
}

// Several programs in one file, and a list of runs: a program's number and the words for its test bench.
class Unit {
 public:
  void enter(const Case& c, std::uint64_t seed) {
    const ir::Graph graph = graph_of(c.text);
    const Stream stream = make_stream(graph, c.options);
    const Netlist netlist = build_netlist(stream);
    const std::size_t number = programs_++;
    emit::HlsOptions options;
    options.name = fmt::format("p{}", number);
    const emit::HlsFiles files = emit::print_hls(netlist, options);
    write(folder_ / (options.name + ".cpp"), files.source);
    write(folder_ / (options.name + "_test.cpp"), files.bench);
    for (const Run& run : c.runs) enter_run(graph, netlist, number, run, c, seed++);
  }

  void run(const std::string& flags) {
    std::string all =
        "#include <cstdio>\n#include <fstream>\n#include <sstream>\n#include <string>\n#include <vector>\n";
    std::string table;
    for (std::size_t p = 0; p < programs_; ++p) {
      all += fmt::format("#include \"p{0}.cpp\"\n#define main bench{0}\n#include \"p{0}_test.cpp\"\n#undef main\n", p);
      table += fmt::format("bench{}, ", p);
    }
    all += fmt::format(
        "int main() {{\n  int (*const benches[])(int, char**) = {{{}}};\n  std::ifstream list(\"runs\");\n"
        "  for (std::string line; std::getline(list, line);) {{\n    std::istringstream words(line);\n"
        "    std::vector<std::string> all;\n    for (std::string w; words >> w;) all.push_back(w);\n"
        "    std::vector<char*> given;\n    for (std::string& w : all) given.push_back(&w[0]);\n"
        "    if (benches[std::stoul(all[0])](static_cast<int>(given.size()), given.data()) != 0) {{\n"
        "      std::printf(\"run %s\\n\", line.c_str());\n      return 1;\n    }}\n  }}\n}}\n",
        table);
    write(folder_ / "all.cpp", all);
    write(folder_ / "runs", list_);
    ASSERT_EQ("", shell(folder_, fmt::format("cd '{}' && {} -I'{}/share/hls' all.cpp -o all && ./all > counts",
                                             (folder_ / "").string(), flags, TESSERA_SOURCE_DIR)))
        << counts();
    for (const Expected& e : expected_) {
      const std::string got = read(folder_ / e.file);
      ASSERT_EQ(got.size(), e.bytes.size());
      const auto at = std::mismatch(got.begin(), got.end(), e.bytes.begin()).first - got.begin();
      ASSERT_EQ(got, e.bytes) << e.what << "first difference at byte " << at;
    }
  }
  std::string counts() const { return read(folder_ / "counts"); }
  std::string source(int program) const { return read(folder_ / fmt::format("p{}.cpp", program)); }

 private:
  struct Expected {
    std::string file, bytes, what;
  };

  void enter_run(const ir::Graph& graph, const Netlist& netlist, std::size_t number, const Run& run, const Case& c,
                 std::uint64_t seed) {
    const Frameset set = interpreted(graph, run.height, run.width, run.frames * run.calls, seed);
    const std::size_t r = runs_++;
    list_ += fmt::format("{} --frames {} --calls {} --stall {} --seed {}", number, run.frames, run.calls, run.stall, r);
    if (!c.options.fixed) list_ += fmt::format(" --height {} --width {}", run.height, run.width);
    for (std::size_t k = 0; k < set.inputs.size(); ++k) {
      const Port& port = netlist.inputs[k];
      const std::string file = fmt::format("in{}_{}", r, k);
      write(folder_ / file, bytes_of(set.inputs[k], port.type));
      list_ += fmt::format(" --in {}={}", port.name, file);
    }
    for (std::size_t k = 0; k < set.results.size(); ++k) {
      const Port& port = netlist.results[k].port;
      const std::string file = fmt::format("out{}_{}", r, k);
      list_ += fmt::format(" --out {}={}", port.name, file);
      expected_.push_back({file, bytes_of(set.results[k], port.type),
                           fmt::format("{}result {}, {} x {}, {} a tick{}\n", c.text, k, run.height, run.width,
                                       c.options.lanes, c.options.fixed ? "" : ", extents at run time")});
    }
    list_ += '\n';
  }

  Folder folder_;
  std::size_t programs_ = 0, runs_ = 0;
  std::string list_;
  std::vector<Expected> expected_;
};

constexpr const char* compiler = "g++ -std=c++14 -O0 -Wall -Wextra -Werror -Wno-unknown-pragmas";

TEST(Hls, RandomProgramsAgreeWithTheInterpreter) {
  ASSERT_TRUE(have("g++"));
  const char* more = std::getenv("TESSERA_CASES");
  const std::uint64_t most = more == nullptr ? 12 : std::strtoull(more, nullptr, 10);
  const i64 sizes[][2] = {{1, 1}, {1, 9}, {7, 1}, {3, 5}, {9, 17}, {12, 31}};
  Unit unit;
  for (std::uint64_t seed = 0; seed < most; ++seed) {
    Case c;
    c.text = random_program(1000 + seed);
    c.options.lanes = 1 << (seed % 4);
    c.options.fixed = seed % 3 != 0;
    c.options.repeat = seed % 5 != 0;
    if (c.options.fixed) {
      const auto& size = sizes[seed / 2 % 6];
      c.options.height = size[0], c.options.width = size[1];
      c.runs = {{size[0], size[1], 2, 2, 0}, {size[0], size[1], 3, 1, 40}};
    } else {
      c.options.height = 20, c.options.width = 25 * c.options.lanes;
      const Netlist netlist = build_netlist(make_stream(graph_of(c.text), c.options));
      const i64 least = least_width(netlist, delay_lines(netlist));
      if (least > c.options.width) continue;
      c.runs = {{20, c.options.width, 2, 1, 0}, {netlist.least_height, least, 2, 2, 0}, {13, least + 1, 1, 2, 30}};
      if (least == c.options.width) c.runs.pop_back();
    }
    unit.enter(c, seed);
  }
  unit.run(compiler);
}

}  // namespace
}  // namespace tessera::hardware
