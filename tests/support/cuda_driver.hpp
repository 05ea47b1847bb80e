// What the CUDA drivers for tests have in common: the driver's types, as its own header has them and apart from ours,
// the GPU that both say they are, and copies of rows within one memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>

namespace tessera::support {

using Status = int;
using Address = unsigned long long;

enum MemoryType : int { host_memory = 1, device_memory = 2 };
constexpr int most_pitch = 1 << 20;  // bytes between rows of a copy

struct Copy2D {
  std::size_t from_x, from_y;
  int from_type;
  const void* from_host;
  Address from_device;
  void* from_array;
  std::size_t from_pitch, to_x, to_y;
  int to_type;
  void* to_host;
  Address to_device;
  void* to_array;
  std::size_t to_pitch, width, height;
};

inline char* host(Address a) {
  return reinterpret_cast<char*>(a);
}

// Between the two memories or within the device's, in rows that fit their pitch.
inline bool is_valid(const Copy2D& c) {
  const auto known = [](int type) { return type == host_memory || type == device_memory; };
  return known(c.from_type) && known(c.to_type) && (c.from_type == device_memory || c.to_type == device_memory) &&
         c.from_pitch >= c.width && c.to_pitch >= c.width && std::max(c.from_pitch, c.to_pitch) <= most_pitch;
}

inline void copy_rows(const Copy2D& c) {
  const char* const from = c.from_type == device_memory ? host(c.from_device) : static_cast<const char*>(c.from_host);
  char* const to = c.to_type == device_memory ? host(c.to_device) : static_cast<char*>(c.to_host);
  for (std::size_t y = 0; y < c.height; ++y) std::memcpy(to + y * c.to_pitch, from + y * c.from_pitch, c.width);
}

// Attributes by the driver's numbers.
inline std::map<int, int> attributes(int multiprocessors, int l2_bytes, int capability) {
  return {{1, 1024},
          {8, 49152},
          {10, 32},
          {11, most_pitch},
          {13, 1980000},
          {16, multiprocessors},
          {18, 0},
          {36, 3201000},
          {37, 6144},
          {38, l2_bytes},
          {39, 2048},
          {75, capability / 10},
          {76, capability % 10},
          {81, 233472},
          {82, 65536},
          {97, 232448},
          {115, 1}};
}

// The answer to cuDeviceGetAttribute.
inline Status look_up(int* value, const std::map<int, int>& attributes, int what) {
  const auto found = attributes.find(what);
  if (found == attributes.end()) return 1;
  return *value = found->second, 0;
}

}  // namespace tessera::support
