// What the tests of the documents read: whole files, and the programs that pages show in fences of ```forma.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace tessera::testing {

// A program on a page; `line` is that of the fence above it.
struct Block {
  int line = 0;
  std::string text;
};

// The content of a file; one that cannot be read fails the test.
inline std::string content(const std::filesystem::path& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline std::vector<Block> forma_blocks(const std::string& page) {
  std::istringstream in(page);
  std::vector<Block> all;
  std::string line;
  bool inside = false;
  for (int number = 1; std::getline(in, line); ++number) {
    if (line.starts_with("```")) {
      inside = !inside && line == "```forma";
      if (inside) all.push_back({number, ""});
    } else if (inside) {
      all.back().text += line + "\n";
    }
  }
  return all;
}

}  // namespace tessera::testing
