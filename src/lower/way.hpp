// The one interface of ways of running on devices. A way is a folder of lower/ways with an essay, `fit` and `lower`,
// and a row of the table in lower/ways/ways.cpp.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "analyze/ranges.hpp"
#include "lower/device.hpp"
#include "plan/way.hpp"

namespace tessera::lower {

// A group, and what a way may need to know of it. Extents that kernels want and the plan lacks are added to its graph.
struct WayQuestion {
  plan::Plan& plan;
  const Interface& interface;
  analyze::Ranges& ranges;
  std::size_t group = 0;
  i64 most_shared = shared_of_block;  // bytes of shared memory that a block of threads may take
};

struct Way {
  const char* name;
  // Under which schedules is it asked?
  bool (*is_asked)(Schedule);
  // Is it legal, in which shape, at what price, and if not, why?
  plan::WayAnswer (*fit)(const WayQuestion&);
  // The kernels, appended to the program; names begin with `name`.
  void (*lower)(const WayQuestion&, const plan::WayAnswer&, const std::string& name, DeviceProgram&);
  // Where it fits no other way is asked.
  bool settles = false;
};

// An answer of a way that cannot run the group.
plan::WayAnswer refused(const Way&, std::string why);
// The same where the group is of another kind than those that the way is for.
plan::WayAnswer of_another_kind(const Way&, std::string why);
// And of one that can.
plan::WayAnswer accepted(const Way&, std::shared_ptr<const plan::WayShape>, double price = 0);

// The shape of an answer, as the way that gave it knows it.
template <class Shape>
struct HeldShape : plan::WayShape {
  explicit HeldShape(Shape s) : shape(std::move(s)) {}
  Shape shape;
};
template <class Shape>
std::shared_ptr<const plan::WayShape> held(Shape shape) {
  return std::make_shared<const HeldShape<Shape>>(std::move(shape));
}
template <class Shape>
const Shape& shape_of(const plan::WayAnswer& answer) {
  return static_cast<const HeldShape<Shape>&>(*answer.shape).shape;
}

inline bool only_automatic(Schedule schedule) {
  return schedule == Schedule::automatic;
}

}  // namespace tessera::lower
