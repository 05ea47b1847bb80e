// Memory beside pages that nobody may touch: an access of one byte beyond its end, or ahead of its beginning, ends the
// process. One of the two can be watched so closely; on the other side lie less than a page and what fills it.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>

namespace tessera::support {

class GuardedPages {
 public:
  enum class Flush { begin, end };

  // Full of `filling`, what lies around it as well. It ends at a page as far as the alignment lets it. Throws
  // std::bad_alloc.
  GuardedPages(std::size_t bytes, Flush flush, unsigned char filling, std::size_t alignment = 1)
      : bytes_(bytes), filling_(filling) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    body_bytes_ = rounded(bytes, page);
    length_ = body_bytes_ + 2 * page;
    mapped_ = mmap(nullptr, length_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped_ == MAP_FAILED) throw std::bad_alloc();
    body_ = static_cast<unsigned char*>(mapped_) + page;
    if (body_bytes_ > 0 && mprotect(body_, body_bytes_, PROT_READ | PROT_WRITE) != 0) {
      munmap(mapped_, length_);
      throw std::bad_alloc();
    }
    begin_ = flush == Flush::begin ? body_ : body_ + body_bytes_ - rounded(bytes, alignment);
    std::memset(body_, filling_, body_bytes_);
  }
  ~GuardedPages() { munmap(mapped_, length_); }
  GuardedPages(const GuardedPages&) = delete;
  GuardedPages& operator=(const GuardedPages&) = delete;

  unsigned char* begin() const { return begin_; }
  std::size_t bytes() const { return bytes_; }
  // Whether nobody wrote beside it.
  bool surroundings_intact() const {
    const auto is_filling = [&](unsigned char c) { return c == filling_; };
    return std::all_of(body_, begin_, is_filling) && std::all_of(begin_ + bytes_, body_ + body_bytes_, is_filling);
  }

 private:
  static std::size_t rounded(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }

  std::size_t bytes_, body_bytes_ = 0, length_ = 0;
  unsigned char filling_;
  void* mapped_ = nullptr;
  unsigned char *body_ = nullptr, *begin_ = nullptr;  // what may be touched, and what was asked for in it
};

}  // namespace tessera::support
