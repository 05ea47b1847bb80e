// Circuits as text in Icarus Verilog: what goes in as files, what comes out as frames.
#pragma once

#include <filesystem>
#include <string>

#include "hardware/netlist/schedule.hpp"
#include "stream_programs.hpp"

namespace tessera::hardware {

// A folder that goes away with the test, unless TESSERA_KEEP is set.
struct TestFolder {
  TestFolder();
  ~TestFolder();
  void write(const std::string& name, const std::string& text) const;
  std::filesystem::path path;
};

// Words of an input as the bench reads them: a line for each, in hexadecimal.
std::string words_of(const Netlist&, std::size_t input, const Frames&, i64 height, i64 width);

struct Outcome {
  std::vector<Frames> results;
  std::string said;
  bool sound = true;
};
// Runs a line of the shell in the folder and reads what the bench wrote there.
Outcome outcome_of(const TestFolder&, const Netlist&, const std::string& line);

struct Simulation {
  i64 height, width;
  bool stalls = false;
  unsigned seed = 1;
  // What makes the program `c` of the circuit c.sv, which is called circuit_under_test, and its bench.
  std::string build = "iverilog -g2012 -o c c.sv bench.sv";
};
Outcome simulated(const Netlist&, const Schedule&, const Frameset&, const Simulation&);

}  // namespace tessera::hardware
