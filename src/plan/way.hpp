// Ways of running: how a group of stages becomes kernels. Every way is a folder of lower/ways; each of them is asked
// about each group, and what it answered stays in the plan: what runs follows it, and `explain` shows it.
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
  double price = 0;           // instructions of a thread for one result; 0: it has none
  bool memory_binds = false;  // the price says nothing: it is taken where nothing else fits
  std::shared_ptr<const WayShape> shape;

  bool fits() const { return why.empty(); }
};

struct GroupWay {
  std::vector<WayAnswer> asked;  // in order
  std::size_t taken = 0;         // of these

  const WayAnswer& chosen() const { return asked.at(taken); }
};

}  // namespace tessera::plan
