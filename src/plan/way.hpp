// Ways of running: how a group of stages becomes kernels of a device or a function of cores. Every way is a folder
// below lower/ways; each of them is asked about each group, and what it answered stays in the plan: what runs follows
// it, and `explain` shows it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace tessera::plan {

// What a way has decided about a group. What else it holds is the way's own.
struct WayShape {
  virtual ~WayShape() = default;
};

struct WayAnswer {
  std::string way;            // the name of its folder
  std::string form;           // of several that it has, the one it would take; "" where there is one
  std::string why;            // it does not run the group, since ...; "" where it can
  bool other_kind = false;    // the group is of another kind than those that it is for
  double price = 0;           // of one result, in GroupWay::unit; 0: it has none
  bool memory_binds = false;  // the price says nothing: it is taken where nothing else fits
  std::shared_ptr<const WayShape> shape;

  bool fits() const { return why.empty(); }
};

// What prices of ways are counted in: instructions of a thread on devices, nanoseconds of one core on cores.
enum class WayUnit { instructions, nanoseconds };

struct GroupWay {
  std::vector<WayAnswer> asked;  // in order
  std::size_t taken = 0;         // of these
  WayUnit unit = WayUnit::instructions;

  const WayAnswer& chosen() const { return asked.at(taken); }
};

}  // namespace tessera::plan
