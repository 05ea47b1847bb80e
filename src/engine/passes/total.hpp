// A reduction of an image that comes in parts: the bits of the whole (ir/reductions.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

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
  friend class PartOfTotal;
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
  void add_piece(double);

  bool mean_;
  Step step_;
  Lanes first_;            // what lanes begin with
  Lanes lanes_, of_list_;  // of the piece under way, of what pieces came to
  i64 in_piece_ = 0, pieces_ = 0, count_ = 0;
};

// The elements [first, end) of an image: what they come to depends on where whole pieces begin, so those at the ends
// are kept as they are. Whoever has the parts of all elements has the number.
class PartOfTotal {
 public:
  PartOfTotal(ir::Op whole, ElementType image, i64 first, i64 end);
  // As Total::add.
  void add(const Array&);
  // For a message to another process of this kind of machine.
  std::vector<std::byte> bytes() const;
  // The number, by the parts of all elements in their order.
  static double value(ir::Op whole, ElementType image, const std::vector<std::vector<std::byte>>& parts);

 private:
  void keep(std::vector<double>& to, const Array& row, i64 begin, i64 end) const;

  Total pieces_of_;
  i64 at_, begin_, end_;  // the next element; whole pieces
  std::vector<double> head_, pieces_, tail_;
};

}  // namespace tessera::engine
