// See total.hpp.
#include "engine/passes/total.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "data/half.hpp"
#include "ir/reductions.hpp"

namespace tessera::engine {

static_assert(ir::lanes_of_piece == 64);

Total::Total(ir::Op whole, ElementType image)
    : mean_(whole == ir::Op::whole_mean),
      step_(whole == ir::Op::whole_min   ? Step::min
            : whole == ir::Op::whole_max ? Step::max
                                         : Step::sum) {
  const ir::Op op = ir::lanes_of(whole);
  first_.fill(ir::first_of_lane(op, ir::lanes_type(op, image)));
  lanes_ = of_list_ = first_;
}

// Sums of narrow integers are exact in double as well; -0 is less than 0, NaNs are passed over.
template <Total::Step step>
void Total::take(double& lane, double x) {
  if constexpr (step == Step::sum)
    lane = lane + x;
  else if constexpr (step == Step::min)
    lane = x < lane || (x == lane && std::signbit(x)) ? x : lane;
  else
    lane = x > lane || (x == lane && !std::signbit(x)) ? x : lane;
}

template <Total::Step step, typename T>
void Total::take(const T* from, i64 count) {
  for (i64 k = 0; k < count;) {
    const i64 left = std::min(count - k, ir::elements_of_piece - in_piece_);
    const i64 lane = in_piece_ % ir::lanes_of_piece;
    if (lane != 0 || left < ir::lanes_of_piece) {
      take<step>(lanes_[static_cast<std::size_t>(lane)], static_cast<double>(from[k]));
      ++k, ++in_piece_;
    } else {
      const i64 rows = left / ir::lanes_of_piece;
      for (i64 r = 0; r < rows; ++r, k += ir::lanes_of_piece)
        for (std::size_t l = 0; l < lanes_.size(); ++l)
          take<step>(lanes_[l], static_cast<double>(from[k + static_cast<i64>(l)]));
      in_piece_ += rows * ir::lanes_of_piece;
    }
    if (in_piece_ == ir::elements_of_piece) end_piece();
  }
  count_ += count;
}

template <typename T>
void Total::take_by_step(const T* from, i64 count) {
  switch (step_) {
    case Step::sum:
      return take<Step::sum>(from, count);
    case Step::min:
      return take<Step::min>(from, count);
    case Step::max:
      return take<Step::max>(from, count);
  }
}

void Total::add(const Array& array) {
  const Array dense = array.contiguous() ? array : array.clone();
  const i64 n = dense.count();
  switch (dense.format().scalar) {
    case ElementType::boolean:
    case ElementType::u8:
      return take_by_step(dense.as<std::uint8_t>(), n);
    case ElementType::i16:
      return take_by_step(dense.as<std::int16_t>(), n);
    case ElementType::u16:
      return take_by_step(dense.as<std::uint16_t>(), n);
    case ElementType::i32:
      return take_by_step(dense.as<std::int32_t>(), n);
    case ElementType::u32:
      return take_by_step(dense.as<std::uint32_t>(), n);
    case ElementType::f32:
      return take_by_step(dense.as<float>(), n);
    case ElementType::f64:
      return take_by_step(dense.as<double>(), n);
    case ElementType::f16:
      for (i64 k = 0; k < n; ++k) {
        const float x = half_to_float(dense.as<std::uint16_t>()[k]);
        take_by_step(&x, 1);
      }
  }
}

void Total::take_one(double& lane, double element) const {
  switch (step_) {
    case Step::sum:
      return take<Step::sum>(lane, element);
    case Step::min:
      return take<Step::min>(lane, element);
    case Step::max:
      return take<Step::max>(lane, element);
  }
}

double Total::together(const Lanes& lanes) const {
  double all = lanes[0];
  for (std::size_t l = 1; l < lanes.size(); ++l) take_one(all, lanes[l]);
  return all;
}

void Total::end_piece() {
  const double piece = together(lanes_);
  take_one(of_list_[static_cast<std::size_t>(pieces_++ % ir::lanes_of_piece)], piece);
  lanes_ = first_;
  in_piece_ = 0;
}

double Total::value() const {
  Total all = *this;
  if (in_piece_ > 0) all.end_piece();
  const double total = together(all.of_list_);
  return mean_ ? total / static_cast<double>(count_) : total;
}

}  // namespace tessera::engine
