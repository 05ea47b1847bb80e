// The front of a TIFF whose strips or tiles come later, in any order: a header, then for each page its directory, the
// values that do not fit into it, and a table of offsets and one of lengths, which are 0 where a block is not there
// yet.
//
// All of it is known before the first block, so that it stands at the front, and a block's two numbers have a place
// that arithmetic tells. The tags are those that the library writes for such a page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/tiff/describe.hpp"

namespace tessera::io {

struct TiffEntry {
  std::uint16_t tag = 0, type = 0;
  std::uint64_t count = 0;
  std::vector<std::byte> value;  // little-endian
};

class TiffDirectories {
 public:
  // `blocks`: of a page. `block_bytes`: of one of them, at the most: BigTIFF where all of them may not fit 4 GiB.
  TiffDirectories(const TiffDescription&, i64 blocks, double block_bytes);

  bool big() const { return big_; }
  i64 bytes() const;  // all of it: where blocks begin
  std::vector<std::byte> header() const;
  // Of a page, without its tables where those do not stand in the directory itself.
  i64 page_begin(i64 page) const;
  std::vector<std::byte> page(i64 page) const;

  // Where the file says where a block is: two numbers of so many bytes.
  struct Slot {
    i64 offset_at = 0, length_at = 0;
    int bytes = 0;
  };
  Slot slot(i64 page, i64 block) const;

 private:
  // Places within a page, from its start.
  struct Plan {
    std::vector<TiffEntry> entries;  // in the order of their tags
    i64 values = 0;                  // where those stand that are longer than their place
    i64 offsets = 0, lengths = 0;    // the tables
    i64 end = 0;
  };
  void place(Plan&) const;
  i64 entry_bytes() const { return big_ ? 20 : 12; }
  i64 number_bytes() const { return big_ ? 8 : 4; }
  i64 count_bytes() const { return big_ ? 8 : 2; }
  i64 header_bytes() const { return big_ ? 16 : 8; }
  const Plan& plan(i64 page) const { return page == 0 ? first_ : other_; }

  i64 pages_ = 1, blocks_ = 1;
  bool big_ = false;
  std::uint16_t offsets_tag_ = 0, lengths_tag_ = 0;
  Plan first_, other_;
};

}  // namespace tessera::io
