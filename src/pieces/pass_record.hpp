// What passes before the last ones have come to, so that a run that was killed is gone on with. A folder beside the
// result. See docs/design/beyond.md.
//
//   out.npy.passes/record     tessera passes 1
//                             work 5f0c...  61ba...              what is computed; this start of the machine
//                             pass 0 3ff8... ; 0-0:4096 5d10...  its numbers; images that are needed yet, with their
//                                                                bytes; a checksum of the line
//   out.npy.passes/under_way  of the next pass: pieces that are done, what its totals have come to, its images
//   out.npy.passes/0-0        an image: of pass 0, its output 0
//
// Nothing is brought to the disk for it: what another start of the machine left counts as nothing.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/files/descriptor.hpp"
#include "base/hash.hpp"
#include "tessera/array.hpp"

namespace tessera::pieces {

// Not thread-safe. Whoever has it has the journal of the result, which no two processes have.
class PassRecord {
 public:
  struct Image {
    std::string name;
    i64 bytes = 0;
  };
  struct UnderWay {
    i64 pieces = 0;                              // the first ones are done
    std::vector<std::vector<std::byte>> totals;  // as PartOfTotal::state()
    std::vector<Image> images;                   // that it writes
  };

  explicit PassRecord(const std::string& result);
  // Without `resume` nothing is done; with it what an earlier run of the same work has left. Throws Error(argument)
  // where that is one of other work, Error(io) where the folder cannot be written.
  void begin(const base::Digest& work, bool resume);

  i64 done() const { return static_cast<i64>(passes_.size()); }
  const std::vector<double>& numbers(i64 pass) const { return passes_[static_cast<std::size_t>(pass)]; }
  // Of the first pass that is not done, where it runs in these pieces.
  UnderWay under_way(const std::string& pieces) const;
  std::string path(const std::string& image) const { return folder_ + "/" + image; }

  // Of the first pass that is not done.
  void set_under_way(const std::string& pieces, const UnderWay&) const;
  // It is done. `images`: all that later passes may read.
  void add(const std::vector<double>& numbers, const std::vector<Image>& images);
  // The result has its name, or nothing was begun.
  void remove() const { remove(result_); }
  // What an earlier run has left beside this result.
  static void remove(const std::string& result);

 private:
  void write_head();
  std::string line_of(i64 pass, const std::vector<double>& numbers, const std::vector<Image>& images) const;
  bool read(const std::string& text);  // false where an image is missing, or the end of the head
  bool has(const std::vector<Image>&) const;

  std::string result_, folder_, work_;
  base::Descriptor file_;
  std::vector<std::vector<double>> passes_;
};

}  // namespace tessera::pieces
