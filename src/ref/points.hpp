// The oracle beyond its values: what errors are measured in, and single points.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "ref/interpreter.hpp"

namespace tessera::ref {

// As interpret(), and for every field of every output what the errors of its elements are measured in (sizes.hpp).
// Progress is in points of all stages.
struct Sized {
  std::vector<Array> values;
  std::vector<std::vector<std::vector<double>>> sizes;
};
Sized interpret_sized(const ir::Graph&, const std::vector<i64>& parameters, const std::vector<Array>& arguments,
                      Rounding of_sums, const std::function<void(i64 done, i64 total)>& on_progress = {});

// Points one by one, of stages that are not kept as a whole: what they read is evaluated for them alone, and remembered
// until it is to be forgotten. Refers to its arguments. Not thread-safe.
class Points {
 public:
  // Not of programs that transform or reduce whole images, or loop.
  static bool possible(const ir::Graph&);
  Points(const ir::Graph&, const std::vector<i64>& parameters, const std::vector<Array>& arguments, Rounding of_sums);
  ~Points();
  Shape shape(ir::StageId) const;
  std::pair<double, double> at(ir::StageId, const std::vector<i64>& index) const;  // value and size
  void forget();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::ref
