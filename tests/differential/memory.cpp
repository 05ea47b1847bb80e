// Remembering which bytes of a view belong to its elements.
#include "memory.hpp"

#include <cstring>

namespace tessera::differential {

namespace {

constexpr unsigned char surrounding = 0xa5;

// Calls fn with the address of every element.
template <class Fn>
void each_element(const Array& a, Fn fn) {
  if (a.count() == 0) return;
  std::vector<i64> index(a.shape().size(), 0);
  for (;;) {
    fn(a.at(index));
    std::size_t d = index.size();
    while (d > 0 && ++index[d - 1] == a.shape()[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

}  // namespace

WatchedArray::WatchedArray(const Format& format, const Shape& shape, Placement placement) {
  const bool view = placement == Placement::view || placement == Placement::sparse_view;
  Shape whole = shape;
  std::vector<i64> lo(shape.size(), 0), hi = shape;
  const i64 size = static_cast<i64>(format.size());
  i64 column = size;
  if (view) {
    for (std::size_t d = 0; d < shape.size(); ++d) {
      lo[d] = static_cast<i64>(1 + d % 2);
      hi[d] = lo[d] + shape[d];
      whole[d] = shape[d] + 3;
    }
    if (placement == Placement::sparse_view) column = 2 * size;
  }
  std::vector<i64> strides(shape.size());
  i64 bytes = column;
  for (std::size_t d = shape.size(); d-- > 0;) {
    strides[d] = bytes;
    bytes *= whole[d];
  }
  if (shape.empty()) bytes = size;
  const auto flush =
      placement == Placement::flush_begin ? support::GuardedPages::Flush::begin : support::GuardedPages::Flush::end;
  pages_ = std::make_shared<support::GuardedPages>(static_cast<std::size_t>(bytes), flush, surrounding);
  array_ = Array::borrow(begin(), format, whole, strides);
  if (view) array_ = array_.region(lo, hi);
  inside_.assign(pages_->bytes(), false);
  each_element(array_, [&](const std::byte* p) {
    const auto at = static_cast<std::size_t>(p - begin());
    for (std::size_t k = 0; k < format.size(); ++k) inside_[at + k] = true;
  });
}

void WatchedArray::spoil() const {
  each_element(array_, [&](std::byte* p) { std::memset(p, 0xcd, array_.format().size()); });
}

bool WatchedArray::surroundings_intact() const {
  for (std::size_t k = 0; k < pages_->bytes(); ++k)
    if (!inside_[k] && begin()[k] != std::byte{surrounding}) return false;
  return true;
}

}  // namespace tessera::differential
