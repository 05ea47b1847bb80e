// What was decoded last, as long as it fits: of many things those that were used longest ago go first.
#pragma once

#include <list>
#include <memory>
#include <unordered_map>

#include "base/process/fork.hpp"
#include "tessera/array.hpp"

namespace tessera::io::zarr {

// Thread-safe.
template <class T>
class Recent {
 public:
  explicit Recent(i64 most_bytes) : most_(most_bytes) {}

  // Null where it is not there.
  std::shared_ptr<const T> get(i64 number) {
    const base::Lock lock(mutex_, entries_);
    const auto found = entries_.places.find(number);
    if (found == entries_.places.end()) return nullptr;
    entries_.order.splice(entries_.order.begin(), entries_.order, found->second);
    return found->second->value;
  }
  void put(i64 number, std::shared_ptr<const T> value, i64 bytes) {
    const base::Lock lock(mutex_, entries_);
    if (bytes > most_ || entries_.places.contains(number)) return;
    entries_.order.push_front({number, bytes, std::move(value)});
    entries_.places[number] = entries_.order.begin();
    entries_.bytes += bytes;
    shrink();
  }
  void limit(i64 most_bytes) {
    const base::Lock lock(mutex_, entries_);
    most_ = most_bytes;
    shrink();
  }

 private:
  struct Entry {
    i64 number = 0, bytes = 0;
    std::shared_ptr<const T> value;
  };
  struct Entries {
    std::list<Entry> order;  // used last first
    std::unordered_map<i64, typename std::list<Entry>::iterator> places;
    i64 bytes = 0;
  };
  void shrink() {
    while (entries_.bytes > most_) {
      entries_.bytes -= entries_.order.back().bytes;
      entries_.places.erase(entries_.order.back().number);
      entries_.order.pop_back();
    }
  }

  base::Mutex mutex_;
  Entries entries_;
  i64 most_;
};

}  // namespace tessera::io::zarr
