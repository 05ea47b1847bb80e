// The one interface of ways of running. A way is a folder of lower/ways with an essay, `fit` and `lower`, and a row of
// a table in lower/ways/ways.cpp: that of devices or that of cores.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "analyze/ranges.hpp"
#include "lower/device.hpp"
#include "plan/way.hpp"

namespace tessera::lower {

// Ranges of values, found when they are first asked for: ways of cores choose without.
class RangesOnDemand {
 public:
  explicit RangesOnDemand(const ir::Graph& graph) : graph_(graph) {}
  operator analyze::Ranges&() {
    if (!found_) found_.emplace(graph_);
    return *found_;
  }

 private:
  const ir::Graph& graph_;
  std::optional<analyze::Ranges> found_;
};

// A group, and what a way may need to know of it. Extents that kernels want and the plan lacks are added to its graph.
struct WayQuestion {
  plan::Plan& plan;
  const Interface& interface;
  RangesOnDemand& ranges;
  std::size_t group = 0;
  i64 most_shared = shared_of_block;  // bytes of shared memory that a block of threads may take
};

// `Program`: what the groups of a plan become.
template <class Program>
struct Way {
  const char* name;
  // Under which schedules is it asked?
  bool (*is_asked)(Schedule);
  // Is it legal, in which shape, at what price, and if not, why? (A price: in the unit of the table.)
  plan::WayAnswer (*fit)(const WayQuestion&);
  // Its kernels or functions, appended to the program; names begin with `name`.
  void (*lower)(const WayQuestion&, const plan::WayAnswer&, const std::string& name, Program&);
  // Where it fits no other way is asked.
  bool settles = false;
};

using DeviceWay = Way<DeviceProgram>;
using CoreWay = Way<Lowered>;

// An answer of a way that cannot run the group.
template <class Program>
plan::WayAnswer refused(const Way<Program>& way, std::string why) {
  plan::WayAnswer answer;
  answer.way = way.name;
  answer.why = std::move(why);
  return answer;
}
// The same where the group is of another kind than those that the way is for.
template <class Program>
plan::WayAnswer of_another_kind(const Way<Program>& way, std::string why) {
  plan::WayAnswer answer = refused(way, std::move(why));
  answer.other_kind = true;
  return answer;
}
// And of one that can.
template <class Program>
plan::WayAnswer accepted(const Way<Program>& way, std::shared_ptr<const plan::WayShape> shape, double price = 0) {
  plan::WayAnswer answer;
  answer.way = way.name;
  answer.price = price;
  answer.shape = std::move(shape);
  return answer;
}

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
