// Arrays whose surroundings are watched.
//
// Contiguous arrays lie flush against pages that cannot be touched, at their end or at their beginning: an access of
// one byte outside is a crash. Views lie inside a larger array filled with a pattern that nothing may change, rows
// apart, sometimes columns apart too.
#pragma once

#include <memory>
#include <vector>

#include "support/guarded_pages.hpp"
#include "tessera/array.hpp"

namespace tessera::differential {

enum class Placement { flush_end, flush_begin, view, sparse_view };

class WatchedArray {
 public:
  WatchedArray(const Format&, const Shape&, Placement);
  const Array& array() const { return array_; }
  // Every element gets the pattern 0xcd.
  void spoil() const;
  // Whether all bytes around the elements are as they were.
  bool surroundings_intact() const;

 private:
  std::byte* begin() const { return reinterpret_cast<std::byte*>(pages_->begin()); }

  std::shared_ptr<const support::GuardedPages> pages_;
  Array array_;
  std::vector<bool> inside_;  // by byte of the pages: belongs to an element
};

}  // namespace tessera::differential
