// The pool behind Scratch. Sizes are rounded up to a quarter of a power of two, so that a block of last time fits this
// time; a block waits under its size until someone asks for it or the pool is full: then those that wait longest make
// room, since memory from the system costs more to clear than most work on it.
#include <fmt/format.h>
#include <sys/mman.h>

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <map>

#include "base/memory.hpp"
#include "base/process/fork.hpp"
#include "base/text.hpp"
#include "run/cpu/parallel.hpp"
#include "tessera/error.hpp"

namespace tessera::run::cpu {
namespace {

constexpr std::size_t most_bytes = std::size_t{1} << 46;
constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr std::size_t smallest = 4096;

struct Waiting {
  std::byte* data;
  std::uint64_t since;  // in blocks given back
};

struct Pool {
  base::Mutex mutex;
  std::multimap<std::size_t, Waiting> blocks;
  std::size_t bytes = 0, most = std::size_t{256} << 20;
  std::uint64_t given_back = 0;

  void make_room(std::size_t capacity) {
    while (bytes + capacity > most && !blocks.empty()) {
      auto oldest = blocks.begin();
      for (auto b = blocks.begin(); b != blocks.end(); ++b)
        if (b->second.since < oldest->second.since) oldest = b;
      std::free(oldest->second.data);
      bytes -= oldest->first;
      blocks.erase(oldest);
    }
  }
};

// Never destroyed: a thread may give a block back after static objects are gone.
Pool& pool() {
  static Pool& p = *new Pool();
  return p;
}

std::size_t size_class(std::size_t bytes) {
  if (bytes <= smallest) return smallest;
  const std::size_t quarter = std::bit_floor(bytes) / 4;
  return (bytes + quarter - 1) / quarter * quarter;
}

std::byte* allocate(std::size_t capacity) {
  // The system promises more than it has and ends whoever takes it.
  constexpr std::size_t large = std::size_t{64} << 20;
  if (capacity >= large && capacity > static_cast<std::size_t>(base::available_memory())) return nullptr;
  const std::size_t alignment = capacity >= huge_page ? huge_page : smallest;
  const std::size_t rounded = (capacity + alignment - 1) / alignment * alignment;
  void* p = std::aligned_alloc(alignment, rounded);
  if (p != nullptr && capacity >= huge_page) madvise(p, rounded, MADV_HUGEPAGE);
  return static_cast<std::byte*>(p);
}

}  // namespace

Scratch acquire_scratch(std::size_t bytes) {
  Scratch result;
  if (bytes <= most_bytes) {
    const std::size_t capacity = size_class(bytes);
    Pool& p = pool();
    {
      const base::Lock lock(p.mutex, p.blocks, p.bytes);
      // A block up to a quarter larger does as well.
      auto found = p.blocks.lower_bound(capacity);
      if (found != p.blocks.end() && found->first <= capacity + capacity / 4) {
        result.data_ = found->second.data;
        result.capacity_ = found->first;
        p.bytes -= found->first;
        p.blocks.erase(found);
        return result;
      }
    }
    result.data_ = allocate(capacity);
    if (result.data_ == nullptr) {
      release_scratch();
      result.data_ = allocate(capacity);
    }
    result.capacity_ = capacity;
  }
  if (result.data_ == nullptr)
    throw Error(ErrorClass::device,
                fmt::format("no memory for {} of scratch space", base::format_bytes(static_cast<double>(bytes))), {},
                "use fewer threads or smaller tiles");
  return result;
}

Scratch::~Scratch() {
  if (data_ == nullptr) return;
  Pool& p = pool();
  try {
    const base::Lock lock(p.mutex, p.blocks, p.bytes);
    if (capacity_ <= p.most) {
      p.make_room(capacity_);
      p.blocks.emplace(capacity_, Waiting{data_, p.given_back++});
      p.bytes += capacity_;
      return;
    }
  } catch (...) {  // no memory for the pool's own bookkeeping: the block goes back to the system
  }
  std::free(data_);
}

std::size_t pooled_scratch() {
  Pool& p = pool();
  const base::Lock lock(p.mutex, p.blocks, p.bytes);
  return p.bytes;
}

void limit_pooled_scratch(std::size_t bytes) {
  Pool& p = pool();
  const base::Lock lock(p.mutex, p.blocks, p.bytes);
  p.most = bytes;
}

void release_scratch() {
  Pool& p = pool();
  const base::Lock lock(p.mutex, p.blocks, p.bytes);
  for (const auto& [size, block] : p.blocks) std::free(block.data);
  p.blocks.clear();
  p.bytes = 0;
}

}  // namespace tessera::run::cpu
