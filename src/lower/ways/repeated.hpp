// Groups that compute the same from other images: the steps of an iteration. They are lowered once.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "analyze/ranges.hpp"
#include "lower/device.hpp"

namespace tessera::lower {

class RepeatedGroups {
 public:
  RepeatedGroups(const plan::Plan& plan, const Interface& interface, analyze::Ranges& ranges)
      : plan_(plan), interface_(interface), ranges_(ranges) {}

  // Are the kernels of this group those of one before, but for the arrays that they touch? Then they are appended to
  // the program, and refer to the functions that are there.
  bool repeat(std::size_t group, DeviceProgram&);
  // The kernels from `first` on are this group's.
  void lowered(std::size_t group, std::size_t first, const DeviceProgram&);

 private:
  struct Known {
    std::size_t group = 0, first = 0, end = 0;  // kernels
  };
  bool copy(const Known&, std::size_t group, DeviceProgram&) const;

  const plan::Plan& plan_;
  const Interface& interface_;
  analyze::Ranges& ranges_;
  std::vector<Known> known_;
};

}  // namespace tessera::lower
