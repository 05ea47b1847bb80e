// Which files of a batch are done (`--resume`): a line for each, a hash of what was done, of what the file was and of
// what became of it. A file that is another one since then has another hash, so that nothing has to be compared.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/files/descriptor.hpp"
#include "tessera/array.hpp"

namespace CLI {
class App;
}

namespace tessera::cli {

// What a verb was asked to do: its options, and the files that they name, but those of files alone (-o, words without
// an option) and those that change no result.
std::string work_of(const CLI::App&);

// FOLDER/tessera-HASH.journal, where the hash is of the work. Not thread-safe.
class BatchJournal {
 public:
  // Throws Error(argument) where another process has it, Error(io).
  BatchJournal(const std::string& folder, const std::string& work);
  // Whether these results were made of this file, and both are as they were.
  bool is_done(const std::string& file, const std::vector<std::string>& results) const;
  void add(const std::string& file, const std::vector<std::string>& results);
  // Of a file with a result for each page, how many it has: known before it is opened. 0 where nobody said it.
  i64 pages_of(const std::string& file) const;
  void add_pages(const std::string& file, i64 pages);
  void remove();

 private:
  void write(const std::string& line);
  std::string pages_of_line(const std::string& file) const;  // its beginning
  std::string line_of(const std::string& file, const std::vector<std::string>& results) const;

  std::string work_, path_;
  base::Descriptor file_;
  std::set<std::string> lines_;
};

}  // namespace tessera::cli
