// Which pieces of a result are on the disk. See docs/design/beyond.md.
//
//   tessera journal 1
//   work 5f0c...            what is computed, of what, in which pieces
//   piece 17 3a52...        with a checksum of the line
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/files/descriptor.hpp"
#include "base/hash.hpp"
#include "tessera/array.hpp"

namespace tessera::pieces {

// One process has it at a time. Not thread-safe.
class Journal {
 public:
  // `path`: of the result. Throws Error(argument) where another process has it.
  explicit Journal(const std::string& path);
  // What the work is. Without `resume` a new journal begins; with it the pieces that the old one names are done. Throws
  // Error(argument) where that is one of another work.
  void begin(const base::Digest& work, i64 pieces, bool resume);

  bool resumes() const { return resumes_; }  // some pieces are done
  i64 count() const { return count_; }       // of those that are
  bool is_done(i64 piece) const { return done_[static_cast<std::size_t>(piece)]; }
  // It has been written. `sync` brings all that was written to the disk; it is called now and then, and pieces are
  // named after it.
  void add(i64 piece, const std::function<void()>& sync);
  void flush(const std::function<void()>& sync);
  // The result has its name.
  void remove();
  // No work was begun: a file that this object made goes, one that was there stays.
  void leave();

 private:
  void write_head();
  bool read(const std::string& text);
  std::string line_of(i64 piece) const;

  std::string path_, work_;
  base::Descriptor file_;
  std::vector<bool> done_;
  std::vector<i64> waiting_;  // written, not named
  std::chrono::steady_clock::time_point last_;
  i64 count_ = 0;
  bool resumes_ = false;
};

}  // namespace tessera::pieces
