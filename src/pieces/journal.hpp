// Which pieces of a result are on the disk. See docs/design/beyond.md.
//
//   tessera journal 1
//   work 5f0c...            what is computed, of what, in which pieces
//   piece 17 3a52...        with a checksum of the line
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/files/descriptor.hpp"
#include "base/hash.hpp"
#include "tessera/array.hpp"

namespace tessera::pieces {

// Pieces that are written, on their way to the disk: now and then all of them are brought there, then named. Not
// thread-safe.
class Written {
 public:
  // `sync` brings all that was written to the disk; `name` takes the pieces that are there.
  Written(std::function<void()> sync, std::function<void(const std::vector<i64>&)> name);
  void add(i64 piece);
  void flush();

 private:
  std::function<void()> sync_;
  std::function<void(const std::vector<i64>&)> name_;
  std::vector<i64> waiting_;
  std::chrono::steady_clock::time_point last_;
};

// One process has it at a time.
class Journal {
 public:
  // `path`: of the result; links are followed. Throws Error(argument) where another process has it, Error(io) where
  // what stands there is no journal.
  explicit Journal(const std::string& path);
  // What a run that ended has left; null where there is none, or it is another process's.
  static std::unique_ptr<Journal> left(const std::string& path);
  // What the work is. Without `resume` a new journal begins; with it the pieces that the old one names are done. Throws
  // Error(argument) where that is one of another work.
  void begin(const base::Digest& work, i64 pieces, bool resume);

  bool resumes() const { return resumes_; }  // some pieces are done
  i64 count() const;                         // of those that are; thread-safe
  bool is_done(i64 piece) const { return done_[static_cast<std::size_t>(piece)]; }
  // They are on the disk. Thread-safe.
  void name(const std::vector<i64>& pieces);
  // The result has its name.
  void remove();
  // No piece was written: a journal that this object began goes, one that was there stays.
  void leave();

 private:
  Journal(const std::string& path, int creating);
  void write_head();
  bool read(const std::string& text);
  std::string line_of(i64 piece) const;

  std::string path_, work_;
  base::Descriptor file_;
  std::vector<bool> done_;  // when it began
  mutable std::mutex mutex_;
  i64 count_ = 0;
  bool locked_ = false, is_journal_ = false;
  bool resumes_ = false, made_ = false;  // made_: nothing of an earlier run is there
};

}  // namespace tessera::pieces
