// HLS C++ against the interpreter: compiled by the system's compiler with the headers of share/hls, in which processes
// run side by side and every use of a stream and a memory is counted. A run fails itself where a stream is used twice
// in a tick, where a word has a wrong last, user or keep, where words are left or missing, and on a deadlock.
#include "emit/hls/hls.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "../emit/command.hpp"
#include "hardware/build.hpp"
#include "hardware/netlist/delay_lines.hpp"
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

// Of floats that are no numbers, one stands for all: which one comes out is open.
std::string bytes_of(const Frames& frames, ElementType type) {
  std::string bytes;
  for (const std::vector<i64>& frame : frames)
    for (i64 v : frame) {
      if (is_float(type) && std::isnan(number_of(v, type))) v = pattern_of(NAN, type);
      bytes.append(reinterpret_cast<const char*>(&v), size_of(type));
    }
  return bytes;
}

std::string canonical(const std::string& bytes, ElementType type) {
  if (!is_float(type)) return bytes;
  Frames frames(1);
  for (std::size_t k = 0; k < bytes.size(); k += size_of(type)) {
    i64 v = 0;
    std::memcpy(&v, &bytes[k], size_of(type));
    frames[0].push_back(v);
  }
  return bytes_of(frames, type);
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
      const std::string got = canonical(read(folder_ / e.file), e.type);
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
    ElementType type;
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
                                       c.options.lanes, c.options.fixed ? "" : ", extents at run time"),
                           port.type});
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
  const std::uint64_t most = cases_or(12);
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

// Floats are floats: the bits of the interpreter, of float and double, of numbers and of what is none.
TEST(Hls, FloatsAreTheInterpretersToTheBit) {
  ASSERT_TRUE(have("g++"));
  const std::uint64_t most = cases_or(12);
  Unit unit;
  for (std::uint64_t seed = 0; seed < most; ++seed) {
    Case c;
    c.text = random_float_program(3000 + seed, seed % 3 == 2 ? "double" : "float", false);
    c.options.exact = true;
    c.options.lanes = 1 << (seed % 3);
    c.options.height = 7, c.options.width = 13;
    c.runs = {{7, 13, 2, 1, seed % 2 == 0 ? 0 : 30}};
    unit.enter(c, seed);
  }
  unit.run(std::string(compiler) + " -ffp-contract=off");
}

TEST(Hls, TakesScalarsTablesAndHalvesOfFloats) {
  ASSERT_TRUE(have("g++"));
  const std::string text =
      "table float curve[5] = {0.3, -1.5, 1e30, 7, 9};\n"
      "stencil f(vector#2 half x, float gain) { return x * gain + curve[cast<int>(x) % 5]; }\n"
      "stencil g(vector#2 float x) { return cast<half>(x * 0.001f); }\n"
      "parameter M, N;\nvector#2 half img[M, N];\nfloat gain;\nreturn g(f(img:constant(0.7), gain));\n";
  StreamOptions options;
  options.height = 16, options.width = 64, options.exact = true;
  const Netlist netlist = build_netlist(make_stream(graph_of(text), options));
  std::vector<i64> all;
  for (i64 k = 0; k < 1024; ++k) all.push_back(k * 64 + k % 64);
  const Frames expected = simulate(netlist, {{all}}, {pattern_of(-0.37, ElementType::f32)})[0];
  const Folder folder;
  const emit::HlsFiles files = emit::print_hls(netlist, {.name = "mixed"});
  write(folder / "mixed.cpp", files.source);
  write(folder / "mixed_test.cpp", files.bench);
  write(folder / "in", bytes_of({all}, ElementType::f16));
  const std::string line = fmt::format(
      "cd '{}' && {} -I'{}/share/hls' mixed.cpp mixed_test.cpp -o mixed && ./mixed --in img=in --scalar gain=-0.37 "
      "--out result=out > counts",
      (folder / "").string(), compiler, TESSERA_SOURCE_DIR);
  ASSERT_EQ("", shell(folder, line)) << read(folder / "counts");
  EXPECT_EQ(canonical(read(folder / "out"), ElementType::f16), bytes_of(expected, ElementType::f16));
}

TEST(Hls, RandomProgramsOfDifferentExtentsAgreeWithTheInterpreter) {
  ASSERT_TRUE(have("g++"));
  const std::uint64_t most = cases_or(20);
  const i64 sizes[][2] = {{6, 8}, {4, 12}, {3, 5}, {9, 17}, {12, 36}};
  Unit unit;
  std::uint64_t ran = 0;
  for (std::uint64_t seed = 0; seed < most; ++seed) {
    Case c;
    c.text = random_rated_program(3000 + seed);
    c.options.lanes = 1 << (seed % 4);
    c.options.fixed = seed % 3 != 0;
    c.options.additions = seed % 2 == 0 ? 0 : most_additions;
    const auto& size = sizes[seed / 2 % 5];
    c.options.height = c.options.fixed ? size[0] : 20, c.options.width = c.options.fixed ? size[1] : 64;
    try {
      const ir::Graph graph = graph_of(c.text);
      const Netlist netlist = build_netlist(make_stream(graph, c.options));
      for (const auto& [height, width] : {std::pair(size[0], size[1]), std::pair(i64{20}, i64{64})}) {
        const Given& given = netlist.given;
        const bool fits = c.options.fixed
                              ? height == size[0]
                              : netlist.least_height <= height && least_width(netlist, delay_lines(netlist)) <= width &&
                                    height % given.unit[0] == given.rest[0] && width % given.unit[1] == given.rest[1];
        if (fits && interpreted_if(graph, height, width, 1, 1))
          c.runs.push_back({height, width, 2, 2, c.runs.empty() ? 0 : 30});
      }
      if (c.runs.empty()) continue;
      unit.enter(c, seed);
      ++ran;
    } catch (const Error& e) {
      ASSERT_EQ(e.error_class(), ErrorClass::argument) << e.what();
    } catch (const std::bad_optional_access&) {
      FAIL() << c.text;
    }
  }
  EXPECT_GE(ran, most / 4);
  unit.run(compiler);
}

// A word a clock over a frame whose rows fill memories, stage after stage; scalars, tables, booleans, structs.
TEST(Hls, TakesAWordAClock) {
  ASSERT_TRUE(have("g++"));
  Case c;
  c.text =
      "stencil blur(vector#2 uint8 x) { return cast<uint8>((sum(i = -2..2, j = -2..2) (x@[i,j])) / 25); }\n"
      "stencil edge(vector#2 uint8 x) { return cast<int16>(x@[-1,0] * 3 - x@[1,1] * 2); }\n"
      "parameter M, N;\nvector#2 uint8 in0[M, N];\nb = blur(in0:mirror);\nreturn a = edge(b:clamped), b = b;\n";
  c.options.height = 12, c.options.width = 402, c.options.lanes = 4;
  c.runs = {{12, 402, 2, 1, 0}};
  Unit unit;
  unit.enter(c, 5);
  unit.run(compiler);
  // Ticks of two frames of 12 rows of 101 words, and of three rows and some words between the first word in and the
  // last one out; a clock for every process between them.
  const std::string counts = unit.counts();
  const std::size_t at = counts.find(" clocks");
  ASSERT_NE(at, std::string::npos) << counts;
  const i64 clocks = std::stoll(counts.substr(counts.rfind('\n', at) + 1));
  EXPECT_GE(clocks, 2 * 12 * 101);
  EXPECT_LE(clocks, 2 * 12 * 101 + 4 * 101 + 8) << counts;
  EXPECT_NE(counts.find("memory p0_lines0"), std::string::npos) << counts;
}

// A delay of many rows is taken apart: eight of 300 points are two pieces in one memory, 53 of 40 as many registers.
TEST(Hls, DelaysOfManyRowsAreSeveralPieces) {
  ASSERT_TRUE(have("g++"));
  struct Deep {
    i64 rows, height, width;
  };
  Unit unit;
  for (const auto& [rows, height, width] : {Deep{8, 12, 300}, Deep{53, 56, 40}})
    for (const bool fixed : {true, false}) {
      Case c;
      c.text = fmt::format(
          "stencil f(vector#2 int16 x) {{ return x + 3 * x@[-{},0]; }}\nparameter M, N;\nvector#2 int16 in0[M, N];\n"
          "return f(in0:constant(3));\n",
          rows);
      c.options.fixed = fixed;
      c.options.height = height, c.options.width = width;
      c.runs = {{height, width, 2, 1, 20}};
      const Netlist netlist = build_netlist(make_stream(graph_of(c.text), c.options));
      const DelayLines lines = delay_lines(netlist);
      const auto parts = [](const DelayLine& line) { return line.pieces.size() > line.taps.size(); };
      EXPECT_TRUE(std::any_of(lines.lines.begin(), lines.lines.end(), parts)) << rows << (fixed ? "" : " at run time");
      unit.enter(c, 7);
    }
  unit.run(compiler);
}

TEST(Hls, TakesScalarsTablesBooleansAndStructs) {
  ASSERT_TRUE(have("g++"));
  const std::string text =
      "struct rgb { uint8 r, g, b; }\n"
      "table int curve[5] = {3, -1, 40000, 7, 9};\n"
      "stencil f(vector#2 rgb x, vector#2 bool m, int gain) {\n"
      "  return m@[0,0] ? cast<int16>(x@[0,1].r * gain + curve[x@[0,0].g % 5]) : cast<int16>(x@[1,0].b);\n}\n"
      "parameter M, N;\nvector#2 rgb img[M, N];\nvector#2 bool mask[M, N];\nint gain;\n"
      "return f(img:clamped, mask, gain);\n";
  StreamOptions options;
  options.height = 5, options.width = 11, options.lanes = 2;
  const Netlist netlist = build_netlist(make_stream(graph_of(text), options));
  ASSERT_EQ(netlist.inputs.size(), 4U);
  std::vector<Frames> inputs;
  std::uint64_t state = 9;
  for (const Port& port : netlist.inputs) {
    inputs.push_back(Frames(2, std::vector<i64>(55)));
    for (std::vector<i64>& frame : inputs.back())
      for (i64& v : frame) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        v = wrap(port.bits, static_cast<__int128>(state >> 40));
      }
  }
  const std::vector<Frames> expected = simulate(netlist, inputs, {-77});
  const Folder folder;
  const emit::HlsFiles files = emit::print_hls(netlist, {.name = "mixed"});
  write(folder / "mixed.cpp", files.source);
  write(folder / "mixed_test.cpp", files.bench);
  write(folder / "mixed.h", files.header);
  std::string words;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    write(folder / fmt::format("in{}", k), bytes_of(inputs[k], netlist.inputs[k].type));
    words += fmt::format(" --in {}=in{}", netlist.inputs[k].name, k);
  }
  const std::string line = fmt::format(
      "cd '{}' && {} -include mixed.h -I'{}/share/hls' mixed.cpp mixed_test.cpp -o mixed && ./mixed --frames 2{} "
      "--scalar gain=-77 --out result=out > counts",
      (folder / "").string(), compiler, TESSERA_SOURCE_DIR, words);
  ASSERT_EQ("", shell(folder, line)) << read(folder / "counts");
  EXPECT_EQ(read(folder / "out"), bytes_of(expected[0], netlist.results[0].port.type));
}

TEST(Hls, NamesOfAProgramHideNothing) {
  ASSERT_TRUE(have("g++"));
  StreamOptions options;
  options.height = 7, options.width = 12;
  for (const bool fixed : {true, false}) {
    options.fixed = fixed;
    const Netlist netlist = build_netlist(make_stream(graph_of(program_of_taken_names), options));
    const Folder folder;
    const emit::HlsFiles files = emit::print_hls(netlist, {.name = "take_compute"});
    write(folder / "f.cpp", files.source);
    write(folder / "f_test.cpp", files.bench);
    std::string given;
    const std::vector<i64> values = {3, -5, 7, 11, -2, 40};
    ASSERT_EQ(netlist.scalars.size(), values.size());
    for (std::size_t k = 0; k < values.size(); ++k) {
      const std::string& name = netlist.scalars[k].name;
      given += fmt::format(" --scalar {}{}={}", name, name == "short" || name == "ap_uint" ? "_" : "", values[k]);
    }
    std::vector<Frames> inputs(2, Frames(1));
    for (i64 k = 0; k < 7 * 12; ++k) inputs[0][0].push_back(k * 37 % 251), inputs[1][0].push_back(k * 91 % 256);
    write(folder / "in0", bytes_of(inputs[0], ElementType::u8));
    write(folder / "in1", bytes_of(inputs[1], ElementType::u8));
    const std::string line = fmt::format(
        "cd '{}' && {} -I'{}/share/hls' f.cpp f_test.cpp -o f && ./f --in x=in0 --in x_ticks_=in1 --out take=out0 "
        "--out en_ticks_=out1 --out frames_=out2 {} > counts",
        (folder / "").string(), compiler, TESSERA_SOURCE_DIR, given);
    ASSERT_EQ("", shell(folder, line)) << read(folder / "counts");
    const std::vector<Frames> expected = simulate(netlist, inputs, values, 7, 12);
    for (std::size_t r = 0; r < 3; ++r)
      EXPECT_EQ(read(folder / fmt::format("out{}", r)), bytes_of(expected[r], ElementType::i16)) << r;
  }
}

std::string outcome_of(const std::string& body) {
  const Folder folder;
  write(folder / "t.cpp", "#include <ap_int.h>\n#include <hls_stream.h>\ntypedef ap_uint<8> byte;\n" + body);
  const std::string said = shell(folder, fmt::format("cd '{}' && {} -I'{}/share/hls' t.cpp -o t && ./t",
                                                     (folder / "").string(), compiler, TESSERA_SOURCE_DIR));
  return said;
}

// Extents that a circuit was not made for: nothing is read, nothing written, and the call says so.
TEST(Hls, OfExtentsThatDoNotFitItTakesNothing) {
  ASSERT_TRUE(have("g++"));
  StreamOptions options;
  options.height = 8, options.width = 20, options.fixed = false, options.lanes = 2;
  const Netlist netlist = build_netlist(
      make_stream(graph_of("stencil f(vector#2 uint8 x) { return cast<uint8>(x@[-2,0] - x@[0,3]); }\nparameter M, N;\n"
                           "vector#2 uint8 a[2*M, N];\nreturn f(a:mirror);\n"),
                  options));
  const emit::HlsFiles files = emit::print_hls(netlist, {.name = "f"});
  EXPECT_NE(files.source.find("// height: 4 to 8, a multiple of 2; width: 4 to 20."), std::string::npos)
      << files.source.substr(0, 700);
  EXPECT_NE(files.header.find("extern \"C\" int f("), std::string::npos);
  const std::string said = outcome_of(
      files.source +
      "#include <cstdio>\nint main() {\n"
      "  const int sizes[][2] = {{8, 20}, {4, 4}, {10, 20}, {8, 21}, {2, 20}, {8, 3}, {7, 20}, {0, 0}, {-2, 9}, {8, "
      "70000}};\n"
      "  for (const auto& size : sizes) {\n"
      "    hls::stream<ap_axiu<16, 1, 1, 1>, 100> a(\"a\"), result(\"result\");\n"
      "    const bool fits = &size < sizes + 2;\n"
      "    const int words = fits ? size[0] * size[1] / 2 : 5;\n    int status = -1, left = 0, given = 0;\n    {\n"
      "      TESSERA_PROCESS(for (int k = 0; k < words; ++k) a.write(ap_axiu<16, 1, 1, 1>()));\n"
      "      TESSERA_PROCESS(status = f(a, result, size[0], size[1], 1));\n    }\n"
      "    for (; !a.empty(); ++left) a.read();\n    for (; !result.empty(); ++given) result.read();\n"
      "    std::printf(\"%d %d %d, \", status, left, given);\n  }\n}\n");
  std::string expected = "0 0 80, 0 0 8, ";
  for (int k = 0; k < 8; ++k) expected += "1 5 0, ";
  EXPECT_EQ(said, expected);
}

// What C simulation of tools does not show: a branch whose FIFO is shorter than what the other one holds back.
TEST(HlsSimulation, FindsDeadlocks) {
  ASSERT_TRUE(have("g++"));
  const std::string text =
      "void split(hls::stream<byte>& a, hls::stream<byte>& b) {\n"
      "  for (int n = 0; n < 100; ++n) { TESSERA_TICK(); a.write(n); b.write(n); }\n}\n"
      "void join(hls::stream<byte>& a, hls::stream<byte>& b) {\n"
      "  for (int n = 0; n < 10; ++n) a.read();\n  for (int n = 0; n < 100; ++n) b.read();\n}\n"
      "int main() {\n  hls::stream<byte, 2> left(\"left\");\n  hls::stream<byte, DEPTH> right(\"right\");\n"
      "  TESSERA_PROCESS(split(left, right));\n  TESSERA_PROCESS(join(left, right));\n}\n";
  const std::string said = outcome_of("#define DEPTH 2\n" + text);
  EXPECT_NE(said.find("error: deadlock after"), std::string::npos) << said;
  EXPECT_NE(said.find("note: process 'split' waits for room in stream 'right'"), std::string::npos) << said;
  EXPECT_NE(said.find("note: process 'join' waits for a value of stream 'left'"), std::string::npos) << said;
}

TEST(HlsSimulation, CountsUsesOfATick) {
  ASSERT_TRUE(have("g++"));
  const std::string text =
      "void twice(hls::stream<byte>& in) {\n  TESSERA_MEMORY(byte, lines, 4, 4);\n"
      "  for (int n = 0; n < 8; ++n) {\n    TESSERA_TICK();\n    lines[n % LENGTH] = in.read();\n"
      "    const byte old = lines[(n + 1) % LENGTH];\n    if (old == 200 || n % 2 == SECOND) in.read();\n  }\n}\n"
      "void feed(hls::stream<byte>& out) { for (int n = 0; n < 20; ++n) { TESSERA_TICK(); out.write(n); } }\n"
      "int main() {\n  {\n    hls::stream<byte, 20> in(\"in\");\n    TESSERA_PROCESS(feed(in));\n"
      "    TESSERA_PROCESS(twice(in));\n  }\n  return hls::report(stdout) ? 0 : 1;\n}\n";
  const std::string twice = outcome_of("#define LENGTH 4\n#define SECOND 1\n" + text);
  EXPECT_NE(twice.find("at most 2 and 1 in a tick, held"), std::string::npos) << twice;
  EXPECT_NE(twice.find("cannot start every clock"), std::string::npos) << twice;
  const std::string soon = outcome_of("#define LENGTH 3\n#define SECOND 2\n" + text);
  EXPECT_NE(soon.find("read 2 ticks after a write at least (declared: 4): cannot start every clock"), std::string::npos)
      << soon;
}

TEST(Hls, SaysWhereFixedPointMayDecideOtherwise) {
  StreamOptions options;
  options.height = 5, options.width = 9;
  options.inputs["a"] = {ElementType::u8, 0};
  const ir::Graph graph = graph_of(
      "stencil edges(vector#2 float x) { return x@[0,1] * 0.3f > x ? 1 : 0; }\nparameter M, N;\n"
      "vector#2 float a[M, N];\nreturn edges(a:clamped);\n");
  const auto source = [&] { return emit::print_hls(build_netlist(make_stream(graph, options)), {.name = "f"}).source; };
  EXPECT_NE(source().find("// Stage 'edges' compares floats: another result may come out where they are within "),
            std::string::npos);
  options.exact = true;
  EXPECT_EQ(source().find("another result"), std::string::npos);
  EXPECT_NE(source().find("* 0.3f;"), std::string::npos) << source();
}

TEST(Hls, RefusesWhatItCannotDo) {
  const auto message = [](const std::string& text, i64 height, i64 width, const std::string& name) -> std::string {
    try {
      StreamOptions options;
      options.height = height, options.width = width, options.fixed = false;
      emit::print_hls(build_netlist(make_stream(graph_of(text), options)), {.name = name});
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const std::string mirror =
      "stencil f(vector#2 uint8 x) { return x@[2,0]; }\nparameter M, N;\nvector#2 uint8 img[M, N];\nreturn "
      "f(img:mirror);\n";
  EXPECT_NE(message(mirror, 2, 40, "f").find("frames of at most 2 x 40 were asked for; expected at least 3 x "),
            std::string::npos);
  EXPECT_NE(message(mirror, 20, 40, "a b").find("is not a name in C"), std::string::npos);
  EXPECT_NE(message(mirror, 20, 40, "hls").find("cannot be called 'hls'"), std::string::npos);
  EXPECT_EQ(message(mirror, 20, 40, "f"), "");
}

}  // namespace
}  // namespace tessera::hardware
