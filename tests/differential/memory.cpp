// Mapping pages, and remembering which bytes of a view belong to its elements.
#include "memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>

namespace tessera::differential {

struct WatchedArray::Pages {
  std::byte* mapped = nullptr;
  std::size_t length = 0;  // of the mapping, both guards included
  std::byte* used = nullptr;
  std::size_t bytes = 0;  // between the guards that belong to the array and its surroundings

  Pages(std::size_t wanted, bool at_end) : bytes(wanted) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t body = (wanted + page - 1) / page * page;
    length = body + 2 * page;
    void* p = mmap(nullptr, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) throw std::runtime_error("no pages for an array");
    mapped = static_cast<std::byte*>(p);
    if (body > 0 && mprotect(mapped + page, body, PROT_READ | PROT_WRITE) != 0)
      throw std::runtime_error("pages cannot be opened");
    used = at_end ? mapped + page + body - wanted : mapped + page;
  }
  ~Pages() { munmap(mapped, length); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
};

namespace {

constexpr int surrounding = 0xa5;

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
  pages_ = std::make_shared<Pages>(static_cast<std::size_t>(bytes), placement != Placement::flush_begin);
  std::memset(pages_->used, surrounding, pages_->bytes);
  array_ = Array::borrow(pages_->used, format, whole, strides);
  if (view) array_ = array_.region(lo, hi);
  inside_.assign(pages_->bytes, false);
  each_element(array_, [&](const std::byte* p) {
    const auto at = static_cast<std::size_t>(p - pages_->used);
    for (std::size_t k = 0; k < format.size(); ++k) inside_[at + k] = true;
  });
}

void WatchedArray::spoil() const {
  each_element(array_, [&](std::byte* p) { std::memset(p, 0xcd, array_.format().size()); });
}

bool WatchedArray::surroundings_intact() const {
  for (std::size_t k = 0; k < pages_->bytes; ++k)
    if (!inside_[k] && pages_->used[k] != static_cast<std::byte>(surrounding)) return false;
  return true;
}

}  // namespace tessera::differential
