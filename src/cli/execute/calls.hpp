// What is called with the words of a command line: a program on its inputs, a filter on an image. `run` and `filter`
// run it, `explain` says what that would take.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/execute/execute.hpp"
#include "cli/options/filter_options.hpp"

namespace tessera::cli {

struct Words {
  std::string input;               // that has the files; empty where words stand for inputs one by one
  std::vector<std::string> files;  // for each of which the program runs
  std::vector<std::string> others;

  std::vector<std::string> of(const std::string& file) const;
};

// A program of one array takes several files for it, one after the other; of other inputs each has a word of its own.
Words words_of(const Program&, const std::vector<std::string>& words, const std::map<std::string, double>& scalars);

struct FilterCall {
  FilterOptions options;
  std::string name;

  // `--range 25` is of filters that have a range, `--range LO,HI` of the file.
  void share_range(RunSettings&);
  // One file. Programs are kept, so that files alike compile once.
  std::unique_ptr<Execution> open(const std::string& file, RunSettings, const base::InterruptGuard&) const;
};

}  // namespace tessera::cli
