// The programs and the sizes they run at.
#include "zoo.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "lang/compile.hpp"
#include "plan/plan.hpp"

namespace tessera::differential {

namespace {

namespace fs = std::filesystem;

fs::path folder() {
  const char* const chosen = std::getenv("TESSERA_ZOO_FOLDER");
  return chosen != nullptr ? fs::path(chosen) : fs::path(TESSERA_SOURCE_DIR) / "tests" / "zoo";
}

Data data_of(const std::string& word) {
  for (const auto& [name, data] : {std::pair{"wild", Data::wild}, {"plain", Data::plain}, {"odd", Data::odd}})
    if (word == name) return data;
  throw std::runtime_error("unknown data: " + word);
}

Method method_of(const std::string& word) {
  for (const Method m : {Method::direct, Method::separable, Method::low_rank, Method::transform, Method::whole})
    if (word == rewrite::name_of(m)) return m;
  throw std::runtime_error("unknown method: " + word);
}

void take(ZooProgram& program, const std::string& key, const std::string& value) {
  if (key == "data")
    program.data = data_of(value);
  else if (key == "tolerance")
    program.absolute = std::stod(value);
  else if (key == "method")
    program.method = method_of(value);
  else if (key == "numbers" && value == "exact")
    program.exact_only = true;
  else if (key == "largest" && value == "thorough")
    program.large = false;
  else
    throw std::runtime_error("unknown line: " + key + ": " + value);
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || text.str().empty()) throw std::runtime_error("cannot read " + path.string());
  return text.str();
}

}  // namespace

ZooProgram read_zoo_program(const std::string& name, const std::string& text) {
  ZooProgram program;
  program.name = name;
  program.text = text;
  std::istringstream lines(text);
  std::string line;
  for (bool first = true; std::getline(lines, line) && line.starts_with("// "); first = false) {
    const std::size_t colon = line.find(": ");
    if (first) continue;  // what it is, for people
    if (colon == std::string::npos) throw std::runtime_error(name + ": expected `// key: value`, got " + line);
    take(program, line.substr(3, colon - 3), line.substr(colon + 2));
  }
  return program;
}

const std::vector<ZooProgram>& zoo() {
  static const std::vector<ZooProgram> all = [] {
    std::vector<fs::path> paths;
    for (const auto& entry : fs::recursive_directory_iterator(folder()))
      if (entry.path().extension() == ".forma") paths.push_back(entry.path());
    std::ranges::sort(paths);
    if (paths.empty()) throw std::runtime_error("no programs in " + folder().string());
    std::vector<ZooProgram> list;
    for (const fs::path& path : paths)
      list.push_back(read_zoo_program(fs::relative(path, folder()).replace_extension().string(), text_of(path)));
    return list;
  }();
  return all;
}

Case zoo_case(std::size_t index, bool thorough) {
  const ZooProgram& program = zoo().at(index);
  lang::CompileInput input;
  input.text = program.text;
  input.file_name = program.name + ".forma";
  Case c;
  c.graph = lang::compile(input).graph;
  c.name = "zoo: " + program.name;
  c.source = program.text;
  c.seed = index + 1;
  c.data = program.data;
  c.relative = program.absolute > 0 ? 1e-5 : 0;
  c.absolute = program.absolute;
  switch (c.graph.parameters.size()) {
    case 1:
      c.parameters = {{1}, {2}, {3}, {7}, {16}, {17}, {64}, {65}, {257}, {1000}};
      break;
    case 2:
      c.parameters = {{1, 1}, {1, 9}, {9, 1},   {2, 2},   {2, 3},    {3, 5},    {4, 4},
                      {5, 9}, {6, 8}, {17, 33}, {64, 64}, {65, 130}, {100, 257}};
      break;
    default:
      c.parameters = {{1, 1, 1},  {2, 3, 4},    {3, 2, 1},    {5, 9, 17},
                      {7, 8, 65}, {3, 33, 100}, {19, 1, 270}, {16, 5, 288}};
      for (std::vector<i64>& set : c.parameters)
        if (c.graph.parameters.size() == 4) set.insert(set[0] > 9 ? set.begin() + 1 : set.begin(), set[0] / 8 + 1);
      break;
  }
  // The interpreter takes minutes for the largest image of windows of thousands of points.
  if (!thorough && !program.large) c.parameters.pop_back();
  std::vector<Way> bases;
  for (const Schedule s : {Schedule::automatic, Schedule::stream, Schedule::tiled, Schedule::untiled})
    for (const Numbers n : {Numbers::fast, Numbers::exact}) {
      // The two that matter most take turns, the others come by now and then.
      const bool asked = program.method != Method::automatic;
      if (asked && (s != Schedule::automatic || (n != Numbers::fast && program.absolute > 0))) continue;
      const bool chosen = asked                      ? true
                          : s == Schedule::automatic ? n == Numbers::fast && index % 2 == 0
                          : s == Schedule::stream    ? n == Numbers::exact && index % 2 == 1
                          : s == Schedule::tiled     ? n == Numbers::exact && index % 8 == 3
                                                     : n == Numbers::fast && index % 8 == 7;
      if (!thorough && !chosen) continue;
      Way b;
      b.schedule = s;
      b.numbers = program.exact_only ? Numbers::exact : n;
      b.method = program.method;
      bases.push_back(b);
    }
  for (const Way& b : bases) {
    Way whole = b, tiles = b, slim = b, view = b;
    whole.threads = 2;
    tiles.rows = 8;
    tiles.columns = 64;
    tiles.threads = 3;
    tiles.placement = Placement::flush_begin;
    slim.rows = static_cast<i64>(1 + index % 3);
    slim.columns = 128;
    view.rows = tiles.rows;
    view.columns = tiles.columns;
    view.threads = 2;
    view.placement = index % 5 == 0 ? Placement::sparse_view : Placement::view;
    c.ways.insert(c.ways.end(), {whole, tiles, slim, view});
  }
  return c;
}

}  // namespace tessera::differential
