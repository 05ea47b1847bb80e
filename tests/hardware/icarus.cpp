// Files for benches of Icarus Verilog, and what they wrote.
#include "icarus.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "emit/verilog/verilog.hpp"

namespace tessera::hardware {

TestFolder::TestFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "circuit-XXXXXX").string();
  path = mkdtemp(name.data());
}

TestFolder::~TestFolder() {
  if (std::getenv("TESSERA_KEEP") != nullptr) return;
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

void TestFolder::write(const std::string& name, const std::string& text) const {
  std::ofstream(path / name) << text;
}

namespace {

std::string hexadecimal(const std::vector<i64>& points, std::size_t from, std::size_t count, int lanes, int bytes) {
  std::string out;
  for (std::size_t l = static_cast<std::size_t>(lanes); l-- > 0;)
    for (int b = bytes; b-- > 0;) {
      const i64 v = l < count ? points[from + l] : 0;
      char two[3];
      std::snprintf(two, sizeof two, "%02x", static_cast<unsigned>((v >> (8 * b)) & 255));
      out += two;
    }
  return out;
}

// Of NAME.out. A bit that is not known makes the outcome unsound.
Frames frames_in(const std::filesystem::path& path, const Port& port, int lanes, bool& sound) {
  Frames frames;
  std::ifstream in(path);
  const int bytes = port.bytes();
  const Bits bits{port.type == ElementType::i16 || port.type == ElementType::i32, 8 * bytes};
  std::string word, keep;
  int last = 0, user = 0;
  while (in >> word >> keep >> last >> user) {
    if (user != 0 || frames.empty()) frames.emplace_back();
    const auto mask = std::stoull(keep, nullptr, 16);
    for (int l = 0; l < lanes; ++l) {
      if ((mask >> (l * bytes) & 1) == 0) continue;
      const std::string part =
          word.substr(word.size() - static_cast<std::size_t>(2 * bytes * (l + 1)), static_cast<std::size_t>(2 * bytes));
      const bool known = part.find_first_of("xXzZ") == std::string::npos;
      sound = sound && known;
      frames.back().push_back(known ? wrap(bits, static_cast<__int128>(std::stoull(part, nullptr, 16))) : 0);
    }
  }
  return frames;
}

}  // namespace

std::string words_of(const Netlist& netlist, std::size_t input, const Frames& frames, i64 height, i64 width) {
  const Port& port = netlist.inputs[input];
  const i64 rows = port.grid.rows.points(height), columns = port.grid.columns.points(width);
  const int lanes = netlist.lanes(port.grid);
  std::string words;
  for (const auto& frame : frames)
    for (i64 y = 0; y < rows; ++y)
      for (i64 x = 0; x < columns; x += lanes)
        words += hexadecimal(frame, static_cast<std::size_t>(y * columns + x),
                             static_cast<std::size_t>(std::min<i64>(lanes, columns - x)), lanes, port.bytes()) +
                 "\n";
  return words;
}

Outcome outcome_of(const TestFolder& folder, const Netlist& netlist, const std::string& line) {
  Outcome outcome;
  outcome.sound = std::system(("cd '" + folder.path.string() + "' && ( " + line + " ) > log 2>&1").c_str()) == 0;
  std::stringstream said;
  said << std::ifstream(folder.path / "log").rdbuf();
  outcome.said = said.str();
  for (const Result& r : netlist.results)
    outcome.results.push_back(
        frames_in(folder.path / (r.port.name + ".out"), r.port, netlist.lanes(r.port.grid), outcome.sound));
  return outcome;
}

Outcome simulated(const Netlist& netlist, const Schedule& schedule, const Frameset& set, const Simulation& how) {
  const TestFolder folder;
  folder.write("c.sv", emit::print_verilog(netlist, schedule, {"circuit_under_test"}));
  emit::BenchOptions bench;
  bench.name = "circuit_under_test";
  bench.height = how.height, bench.width = how.width, bench.frames = static_cast<i64>(set.results.front().size());
  bench.stalls = how.stalls, bench.seed = how.seed, bench.scalars = set.scalars;
  folder.write("bench.sv", emit::print_verilog_bench(netlist, bench));
  for (std::size_t k = 0; k < netlist.inputs.size(); ++k)
    folder.write(netlist.inputs[k].name + ".hex", words_of(netlist, k, set.inputs[k], how.height, how.width));
  return outcome_of(folder, netlist, how.build + " && ./c");
}

}  // namespace tessera::hardware
