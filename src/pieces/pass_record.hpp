// What passes before the last ones have come to, so that a run that was killed is gone on with. A folder beside the
// result. See docs/design/beyond.md.
//
//   out.npy.passes/record       tessera passes 1
//                               work 5f0c...  61ba...        what is computed; this start of the machine
//                               pass 0 3ff8... ; 0-0.partial:4096.17.99 5d10...
//                                                            its numbers; the images that it has written, with what the
//                                                            system says of their files; a checksum of the line
//   out.npy.passes/under_way    of the next pass: pieces that are done, what its totals have come to, its images
//   out.npy.passes/0-0.partial  an image: of pass 0, its output 0
//
// Nothing is brought to the disk for it: what another start of the machine left counts as nothing.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "base/files/descriptor.hpp"
#include "base/hash.hpp"
#include "tessera/array.hpp"

namespace tessera::pieces {

// Not thread-safe. Whoever has it has the journal of the result, which no two processes have.
class PassRecord {
 public:
  struct UnderWay {
    i64 pieces = 0;                              // the first ones are done
    std::vector<std::vector<std::byte>> totals;  // as PartOfTotal::state()
    std::vector<std::string> images;             // names of those that it writes
  };

  // Throws Error(io) where something stands in the place of the folder that is no record.
  explicit PassRecord(const std::string& result);
  // Without `resume` nothing is done; with it what an earlier run of the same work has left. Throws Error(argument)
  // where that is one of other work, Error(io) where the folder cannot be written.
  void begin(const base::Digest& work, bool resume);
  // What is done counts as nothing.
  void begin_again();

  i64 done() const { return static_cast<i64>(passes_.size()); }
  const std::vector<double>& numbers(i64 pass) const { return passes_[static_cast<std::size_t>(pass)].numbers; }
  // Does an image stand there as this pass has left it, and as nobody has changed it since?
  bool holds(const std::string& image, i64 pass) const;
  // Of the first pass that is not done, where it runs in these pieces.
  UnderWay under_way(const std::string& pieces) const;
  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  // Of the first pass that is not done.
  void set_under_way(const std::string& pieces, const UnderWay&) const;
  // It is done. `images`: names of those that it has written.
  void add(const std::vector<double>& numbers, const std::vector<std::string>& images);
  // The result is whole, or nothing was begun.
  void remove() const { remove(result_); }
  // What an earlier run has left beside this result; nothing else.
  static void remove(const std::string& result);

 private:
  struct Done {
    std::vector<double> numbers;
    std::map<std::string, std::string> images;  // by their names what the system said
  };
  std::string line_of(i64 pass, const Done&) const;
  bool read(const std::string& text);

  std::string result_, folder_, work_;
  base::Descriptor file_;
  std::vector<Done> passes_;
};

}  // namespace tessera::pieces
