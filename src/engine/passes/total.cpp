// See total.hpp.
#include "engine/passes/total.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/division.hpp"
#include "data/element.hpp"
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
  add_piece(together(lanes_));
  lanes_ = first_;
  in_piece_ = 0;
}

void Total::add_piece(double piece) {
  take_one(of_list_[static_cast<std::size_t>(pieces_++ % ir::lanes_of_piece)], piece);
}

double Total::value() const {
  Total all = *this;
  if (in_piece_ > 0) all.end_piece();
  const double total = together(all.of_list_);
  return mean_ ? total / static_cast<double>(count_) : total;
}

PartOfTotal::PartOfTotal(ir::Op whole, ElementType image, i64 first, i64 end)
    : pieces_of_(whole, image),
      at_(first),
      begin_(std::min(base::ceil_divide(first, ir::elements_of_piece) * ir::elements_of_piece, end)),
      end_(std::max(begin_, end / ir::elements_of_piece * ir::elements_of_piece)) {}

void PartOfTotal::keep(std::vector<double>& to, const Array& row, i64 begin, i64 end) const {
  const ElementType type = row.format().scalar;
  for (i64 k = begin; k < end; ++k)
    to.push_back(load_element(type, row.as<std::byte>() + k * static_cast<i64>(size_of(type))));
}

void PartOfTotal::add(const Array& array) {
  const Array dense = array.contiguous() ? array : array.clone();
  const i64 n = dense.count(), size = static_cast<i64>(dense.format().size());
  const Array row = Array::share(dense.owner(), dense.data(), dense.format(), {n});
  const i64 head = std::clamp<i64>(begin_ - at_, 0, n), tail = std::clamp<i64>(end_ - at_, head, n);
  keep(head_, row, 0, head);
  for (i64 k = head; k < tail;) {
    const i64 part = std::min(tail - k, ir::elements_of_piece - pieces_of_.in_piece_);
    const bool ends = pieces_of_.in_piece_ + part == ir::elements_of_piece;
    // The lanes are looked at before the next piece begins.
    pieces_of_.of_list_ = pieces_of_.first_;
    pieces_of_.pieces_ = 0;
    pieces_of_.add(Array::share(dense.owner(), dense.as<std::byte>() + k * size, dense.format(), {part}));
    if (ends) pieces_.push_back(pieces_of_.of_list_[0]);
    k += part;
  }
  keep(tail_, row, tail, n);
  at_ += n;
}

namespace {

void put(std::vector<std::byte>& to, const std::vector<double>& list) {
  const double count = static_cast<double>(list.size());
  const auto append = [&](const double* from, std::size_t n) {
    const auto bytes = std::as_bytes(std::span(from, n));
    to.insert(to.end(), bytes.begin(), bytes.end());
  };
  append(&count, 1);
  append(list.data(), list.size());
}

std::vector<double> get(std::span<const std::byte>& from) {
  double count = 0;
  std::memcpy(&count, from.data(), sizeof(double));
  std::vector<double> list(static_cast<std::size_t>(count));
  if (!list.empty()) std::memcpy(list.data(), from.data() + sizeof(double), list.size() * sizeof(double));
  from = from.subspan((list.size() + 1) * sizeof(double));
  return list;
}

}  // namespace

std::vector<std::byte> PartOfTotal::bytes() const {
  std::vector<std::byte> all;
  put(all, head_);
  put(all, pieces_);
  put(all, tail_);
  return all;
}

double PartOfTotal::value(ir::Op whole, ElementType image, const std::vector<std::vector<std::byte>>& parts) {
  Total total(whole, image);
  const auto elements = [&](const std::vector<double>& list) {
    total.take_by_step(list.data(), static_cast<i64>(list.size()));
  };
  for (const std::vector<std::byte>& part : parts) {
    std::span<const std::byte> rest = part;
    elements(get(rest));
    for (const double piece : get(rest)) {
      total.add_piece(piece);
      total.count_ += ir::elements_of_piece;
    }
    elements(get(rest));
  }
  return total.value();
}

}  // namespace tessera::engine
