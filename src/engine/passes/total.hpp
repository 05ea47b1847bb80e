// A reduction of an image that comes in parts: the bits of the whole (ir/reductions.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "ir/graph.hpp"

namespace tessera::engine {

// What lane l of a list has taken: its elements l, l + 64, l + 128 ...
class Lanes {
 public:
  // One of whole_*, of an image of this type.
  Lanes(ir::Op whole, ElementType image);
  // The next elements, one behind the other.
  void add(ElementType, const std::byte* elements, i64 count);
  void add(double element) { add(ElementType::f64, reinterpret_cast<const std::byte*>(&element), 1); }
  i64 count() const { return count_; }
  // Together, in their order.
  double value() const;
  void clear();
  // What lanes have taken, and how many elements: for another run to go on with.
  std::vector<double> state() const;
  void restore(const std::vector<double>& state);

 private:
  enum class Step { sum, min, max };

  template <Step step>
  static double step_of(double lane, double element);
  template <Step step, typename T>
  void take(const T* elements, i64 count);
  template <typename T>
  void take_by_step(const T* elements, i64 count);

  Step step_;
  double first_;  // what lanes begin with
  std::array<double, 64> lanes_;
  i64 count_ = 0;
};

// The elements [first, end) of an image. What they come to depends on where pieces begin, so those of pieces that are
// not whole here are kept as they are. Whoever has the parts of all elements has the number. Not thread-safe.
class PartOfTotal {
 public:
  PartOfTotal(ir::Op whole, ElementType image, i64 first, i64 end);
  // The next elements in the order of memory: of an array on the host.
  void add(const Array&);
  // For another run on this kind of machine, which goes on with the same elements: false where that is no state of
  // these.
  std::vector<std::byte> state() const;
  bool restore(std::span<const std::byte> state);
  // For a message to another process of this kind of machine.
  std::vector<std::byte> bytes() const;
  // Bytes of the part that begins there; 0 where none does, or not all of one. For what comes from outside.
  static std::size_t bytes_of_part(std::span<const std::byte>);
  // The number, by the parts of all elements in their order.
  static double value(ir::Op whole, ElementType image, const std::vector<std::vector<std::byte>>& parts);

 private:
  Lanes piece_;                          // under way
  i64 first_, last_, at_, begin_, end_;  // all elements; the next one; whole pieces
  std::vector<double> head_, pieces_, tail_;
};

}  // namespace tessera::engine
