// How fast this machine moves bytes: what a timing is judged against.
//
// Nothing that touches memory is faster than reading what comes in once and writing what goes out once; how fast that
// is depends on the machine, the threads, on how much is read for every byte that is written, and on whether it all
// fits the cache. So a rate belongs to a traffic: to so many bytes read and written by so many threads. Up to what is
// surely memory a traffic is measured as it is; larger ones share the rate of a sample of their proportions.
//
// A rate is measured when it is first asked for, in less than half a second and in no more than 256 MiB, and kept in
// the cache of the user with all that is known of the machine as its name (base/files/cache.hpp: checksummed, lost
// without harm).
#pragma once

#include <optional>

#include "tessera/array.hpp"

namespace tessera::run::cpu {

struct Traffic {
  int threads = 1;
  i64 read = 0, written = 0;  // bytes

  i64 bytes() const { return read + written; }
  bool operator==(const Traffic&) const = default;
};

struct CopyRate {
  double rate = 0;  // bytes a nanosecond, read and written together
  i64 bytes = 0;    // that moved at each pass of the measurement
};

// The most that a measurement moves at a pass, and takes of memory.
constexpr i64 most_copied = i64{256} << 20;

// A copy beyond the last cache where that is at most a quarter of `most_copied`: what "the copy of this machine" means.
Traffic whole_copy(int threads);
// What is measured for a traffic: itself, or a sample in its proportions.
Traffic sample_of(const Traffic&);
// Does a repeated run with this traffic find its data in the last cache?
bool fits_cache(const Traffic&);

// The rate that is kept, if one is.
std::optional<CopyRate> known_copy_rate(const Traffic&);
// The same, measured and kept where there is none. Throws Error(argument) for a traffic of no or of negative bytes,
// Error(device) when memory cannot be had.
CopyRate copy_rate(const Traffic&);
// Measures again, and keeps the better of the two: one that other processes disturbed does not stay for ever.
CopyRate measure_copy_rate(const Traffic&);

}  // namespace tessera::run::cpu
