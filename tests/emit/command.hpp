// Compilers and drivers as their users call them.
#pragma once

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

namespace tessera {

namespace fs = std::filesystem;
inline const fs::path drivers = fs::path(TESSERA_SOURCE_DIR) / "tests" / "emit" / "drivers";

inline std::string read(const fs::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

inline void write(const fs::path& path, const std::string& text) {
  std::ofstream(path) << text;
}

// The status of a line of the shell, which says nothing.
inline int shell_status(const std::string& line) {
  return std::system(("( " + line + " ) > /dev/null 2>&1").c_str());
}

inline bool have(const std::string& command) {
  return shell_status("command -v " + command) == 0;
}

// A folder that goes away with the test.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "tessera-emit-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  fs::path operator/(const std::string& name) const { return path_ / name; }

 private:
  fs::path path_;
};

// Runs a line of the shell; whatever it says comes back, empty when it succeeds in silence.
inline std::string shell(const Folder& folder, const std::string& line) {
  const fs::path log = folder / "log";
  const int status = std::system(fmt::format("( {} ) > '{}' 2>&1", line, log.string()).c_str());
  const std::string said = read(log);
  return status == 0 ? said : fmt::format("status {}: {}", status, said);
}

}  // namespace tessera
