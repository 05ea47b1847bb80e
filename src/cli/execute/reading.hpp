// What is read of a file, and what its dimensions are: `--axes`, `--page`, `--pages`, `--level`, `--raw`.
#pragma once

#include <string>
#include <vector>

#include "io/image.hpp"

namespace CLI {
class App;
}

namespace tessera::cli {

struct ReadingOptions {
  std::vector<std::string> axes;  // "tzyxc" of every file, "NAME=yx" of one input
  std::string page;               // "3", "4-7"
  std::vector<std::string> raw;   // "uint16,40x512x512" of every file, "NAME=..." of one input
  int level = 0;                  // of a pyramid, 0 the finest
  bool pages = false;             // the program runs on each page by itself
  i64 most_bytes = 0;             // that a file may take; 0: as memory allows

  // --axes is not declared for verbs that have one with another meaning as well.
  void declare(CLI::App&, bool with_axes = true);
  // Throws Error(argument).
  void check() const;
  void check_names(const std::vector<std::string>& inputs) const;
  // Of an input of this name.
  io::ReadOptions of(const std::string& input) const;
};

}  // namespace tessera::cli
