// What `explain` says of hardware against the netlist's simulation and the texts that are printed.
#include "hardware/netlist/facts.hpp"

#include <gtest/gtest.h>

#include <iterator>
#include <regex>
#include <string>

#include "emit/hls/hls.hpp"
#include "emit/verilog/verilog.hpp"
#include "hardware/build.hpp"
#include "stream_programs.hpp"

namespace tessera::hardware {
namespace {

struct Known {
  Stream stream;
  Netlist netlist;
  Schedule schedule;
  Facts facts;
};

Known known(const std::string& text, i64 height, i64 width, int lanes) {
  StreamOptions options;
  options.height = height, options.width = width, options.lanes = lanes;
  Known k{make_stream(graph_of(text), options), {}, {}, {}};
  k.netlist = build_netlist(k.stream);
  k.schedule = make_schedule(k.netlist);
  k.facts = facts_of(k.stream, k.netlist, &k.schedule);
  return k;
}

i64 count(const std::string& text, const std::string& part) {
  i64 n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

// Words times bits of all memories that a text declares: of each match the two numbers in it.
i64 bits_in(const std::string& text, const std::string& pattern, bool powers) {
  i64 bits = 0;
  const std::regex form(pattern);
  for (std::sregex_iterator at(text.begin(), text.end(), form), end; at != end; ++at) {
    const i64 width = std::stoll((*at)[1]), words = std::stoll((*at)[2]);
    bits += width * (powers ? i64{1} << words : words);
  }
  return bits;
}

const std::string program =
    "stencil blur(vector#2 uint8 x) { return cast<uint8>((sum(i = -2..2, j = -2..2) (x@[i,j])) / 25); }\n"
    "stencil f(vector#2 uint8 x, vector#2 uint8 y) { return cast<int16>(x@[1,0] * y@[0,1] / (y@[-1,0] + 1)); }\n"
    "parameter M, N;\nvector#2 uint8 image[M, N];\nb = blur(image:mirror);\nreturn a = f(b:clamped, image:clamped), b "
    "= b;\n";

TEST(Facts, AreThoseOfThePrintedTexts) {
  for (const int lanes : {1, 4}) {
    const Known k = known(program, 30, 256 * lanes, lanes);
    const std::string verilog = emit::print_verilog(k.netlist, k.schedule, {"circuit"});
    const std::string ring = "  circuit_(?:ring|rows) #\\(\\.W\\(([0-9]+)\\), \\.LOG\\(([0-9]+)\\)";
    i64 declared = 0, powers = 0;
    for (const MemoryFacts& m : k.facts.memories) {
      declared += m.words * m.bits;
      powers += i64{m.bits} << (64 - __builtin_clzll(static_cast<unsigned long long>(m.words - 1)));
    }
    EXPECT_EQ(k.facts.memory_bits, declared);
    const std::regex form(ring);
    EXPECT_EQ(std::distance(std::sregex_iterator(verilog.begin(), verilog.end(), form), std::sregex_iterator()),
              static_cast<std::ptrdiff_t>(k.facts.memories.size()));
    EXPECT_EQ(bits_in(verilog, ring, true), powers);
    EXPECT_EQ(count(verilog, "  circuit_divide #("), k.facts.dividers);
    EXPECT_EQ(k.facts.dividers, lanes);
    // A product of two values for each lane, and what divides by 25.
    EXPECT_GE(k.facts.multipliers, lanes);
    EXPECT_NE(verilog.find("// a out: int16; " + std::to_string(k.facts.results[0].ticks) + " ticks"),
              std::string::npos);
    EXPECT_NE(verilog.find("// Line buffers hold " + std::to_string(declared) + " bits, shift registers " +
                           std::to_string(k.facts.shift_bits) + "."),
              std::string::npos)
        << verilog.substr(0, 600);

    const emit::HlsFiles hls = emit::print_hls(k.netlist, {.name = "circuit"});
    i64 of_hls = 0;
    for (const MemoryFacts& m : hls.memories) of_hls += m.words * m.bits;
    EXPECT_EQ(of_hls, declared);
    EXPECT_EQ(bits_in(hls.source, "TESSERA_MEMORY\\(ap_uint<([0-9]+)>, \\w+, ([0-9]+), [0-9]+\\);", false), declared);
    EXPECT_NE(hls.source.find("// image in: uint8\n"), std::string::npos);
  }
}

// The plan's lags are those at which the simulated netlist gives its first word, and a stored stage is kept as long as
// the plan says: its bits are those of the memories and shift registers, where each line is one piece behind the other.
TEST(Facts, AreThoseOfThePlan) {
  const Known k = known(program, 30, 256, 1);
  i64 kept = 0;
  for (const StageFacts& s : k.facts.stages) {
    if (s.kind == "repeated") continue;
    kept += s.kept_bits;
    if (!s.returned) continue;
    const i64 ticks = s.lag.rows * k.facts.frame.pitch() + s.lag.words;
    EXPECT_TRUE(ticks == k.facts.results[0].ticks || ticks == k.facts.results[1].ticks) << s.name;
  }
  EXPECT_EQ(kept, k.stream.delay_bits);
  EXPECT_GE(k.facts.memory_bits + k.facts.shift_bits, kept);
  EXPECT_EQ(k.facts.ticks, 30 * 256);
  EXPECT_EQ(clocks_of(k.facts, k.facts.results[0], 5) - clocks_of(k.facts, k.facts.results[0], 4), k.facts.ticks);
}

// Narrow rows are followed by empty ticks, which the last row does not wait for.
TEST(Facts, CountEmptyTicks) {
  const Known k = known(program, 5, 6, 1);
  EXPECT_EQ(k.facts.ticks, 5 * 8);
  EXPECT_EQ(clocks_of(k.facts, k.facts.results[0], 1), k.facts.results[0].clocks + 5 * 8 - 2);
}

// Values in fixed point: the ports say how many of their bits are fraction, and how far off they may be.
TEST(Facts, TellNumbersOfPorts) {
  StreamOptions options;
  options.height = 10, options.width = 20, options.error = 0.01;
  options.inputs["image"] = {ElementType::u8, 0};
  const Stream stream =
      make_stream(graph_of("stencil f(vector#2 float x) { return (x@[-1,0] + x + x@[1,0]) / 3; }\nparameter M, N;\n"
                           "vector#2 float image[M, N];\nreturn f(image:clamped);\n"),
                  options);
  const Netlist netlist = build_netlist(stream);
  const Schedule schedule = make_schedule(netlist);
  const Facts facts = facts_of(stream, netlist, &schedule);
  ASSERT_EQ(facts.results.size(), 1U);
  const Port& port = facts.results[0].port;
  EXPECT_GT(port.fraction, 0);
  EXPECT_GT(port.error, 0);
  EXPECT_LE(port.error, 0.01);
  const std::string text = emit::print_verilog(netlist, schedule, {"circuit"});
  EXPECT_NE(text.find(" / 2^" + std::to_string(port.fraction) + ", at most "), std::string::npos)
      << text.substr(0, 500);
}

}  // namespace
}  // namespace tessera::hardware
