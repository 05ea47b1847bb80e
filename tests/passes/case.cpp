// Reading and writing the files of tests/passes.
#include "case.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

namespace tessera::passes {

namespace {

namespace fs = std::filesystem;

const std::set<std::string> keys = {"pass",    "numbers", "method", "schedule", "machine",
                                    "extents", "lower",   "way",    "show",     "large"};

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) throw std::runtime_error("cannot read " + path.string());
  return text.str();
}

}  // namespace

std::string PassCase::option(const std::string& key, const std::string& otherwise) const {
  const auto found = options.find(key);
  return found == options.end() ? otherwise : found->second;
}

PassCase read_case(const std::string& name, const std::string& text) {
  PassCase one;
  one.name = name;
  std::istringstream lines(text);
  std::string line;
  bool in_header = true;
  while (std::getline(lines, line)) {
    in_header = in_header && line.starts_with("//");
    if (in_header) {
      const std::string known = line.substr(0, line.find(": "));
      const std::string key = known.size() > 3 ? known.substr(3) : "";
      if (keys.contains(key) && known.size() < line.size()) one.options[key] = line.substr(known.size() + 2);
      one.header += line + "\n";
    } else if (line.starts_with("--- ")) {
      one.expected.push_back({line.substr(4), ""});
    } else {
      (one.expected.empty() ? one.input : one.expected.back().text) += line + "\n";
    }
  }
  if (one.header.empty()) throw std::runtime_error(name + ": the first line says what it shows");
  if (one.options.contains("pass") == one.options.contains("lower"))
    throw std::runtime_error(name + ": expected a line `// pass: NAME`, or `// lower: TARGET`");
  return one;
}

std::string text_of(const std::vector<Part>& parts) {
  std::string text;
  for (const Part& part : parts) text += "--- " + part.head + "\n" + part.text;
  return text;
}

std::string write_case(const PassCase& one, const std::vector<Part>& parts) {
  return one.header + one.input + text_of(parts);
}

const std::vector<PassCase>& cases() {
  static const std::vector<PassCase> all = [] {
    const fs::path folder = fs::path(TESSERA_SOURCE_DIR) / "tests" / "passes";
    std::vector<fs::path> paths;
    for (const auto& entry : fs::recursive_directory_iterator(folder))
      if (entry.path().extension() == ".graph" || entry.path().extension() == ".nest") paths.push_back(entry.path());
    std::ranges::sort(paths);
    if (paths.empty()) throw std::runtime_error("no files in " + folder.string());
    std::vector<PassCase> list;
    for (const fs::path& path : paths) {
      list.push_back(read_case(fs::relative(path, folder).replace_extension().string(), contents(path)));
      list.back().path = path.string();
    }
    return list;
  }();
  return all;
}

}  // namespace tessera::passes
