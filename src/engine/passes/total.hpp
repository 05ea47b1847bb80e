// A reduction of an image that comes in parts: the bits of the whole (ir/reductions.hpp).
#pragma once

#include <array>

#include "ir/graph.hpp"

namespace tessera::engine {

// Not thread-safe.
class Total {
 public:
  // One of whole_*, of an image of this type.
  Total(ir::Op whole, ElementType image);
  // The next elements of the image in the order of memory: of an array on the host.
  void add(const Array&);
  double value() const;

 private:
  using Lanes = std::array<double, 64>;
  enum class Step { sum, min, max };

  template <Step step>
  static void take(double& lane, double element);
  template <Step step, typename T>
  void take(const T* from, i64 count);
  template <typename T>
  void take_by_step(const T* from, i64 count);
  void take_one(double& lane, double element) const;
  double together(const Lanes&) const;
  void end_piece();

  bool mean_;
  Step step_;
  Lanes first_;            // what lanes begin with
  Lanes lanes_, of_list_;  // of the piece under way, of what pieces came to
  i64 in_piece_ = 0, pieces_ = 0, count_ = 0;
};

}  // namespace tessera::engine
