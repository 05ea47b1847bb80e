// A file of tests/passes: what it shows, how it is run, the input, and what comes of it. README.md says the format.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace tessera::passes {

// What stands below a line `--- head`.
struct Part {
  std::string head, text;
  bool operator==(const Part&) const = default;
};

struct PassCase {
  std::string name;  // of its file, from tests/passes on, without the ending
  std::string path;
  std::string header;                          // the lines of comments
  std::map<std::string, std::string> options;  // `// key: value`
  std::string input;
  std::vector<Part> expected;

  std::string option(const std::string& key, const std::string& otherwise) const;
};

// The name is what a failing test prints.
inline void PrintTo(const PassCase& one, std::ostream* out) {
  *out << one.name;
}

// Throws std::runtime_error where the text is none.
PassCase read_case(const std::string& name, const std::string& text);
std::string write_case(const PassCase&, const std::vector<Part>&);
std::string text_of(const std::vector<Part>&);

// All files, by name.
const std::vector<PassCase>& cases();

// Runs what the options name on the input, verifying on the way. Throws std::runtime_error where the options say
// nothing, where the text form of a result does not read back, or where a group runs another way than it must.
std::vector<Part> run_case(const PassCase&);

}  // namespace tessera::passes
