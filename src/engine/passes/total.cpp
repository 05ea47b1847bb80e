// See total.hpp.
#include "engine/passes/total.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/division.hpp"
#include "data/element.hpp"
#include "ir/reductions.hpp"

namespace tessera::engine {

static_assert(ir::lanes_of_piece == 64);

Lanes::Lanes(ir::Op whole, ElementType image)
    : step_(whole == ir::Op::whole_min   ? Step::min
            : whole == ir::Op::whole_max ? Step::max
                                         : Step::sum),
      first_(ir::first_of_lane(ir::lanes_of(whole), ir::lanes_type(ir::lanes_of(whole), image))) {
  lanes_.fill(first_);
}

std::vector<double> Lanes::state() const {
  std::vector<double> all(lanes_.begin(), lanes_.end());
  all.push_back(static_cast<double>(count_));
  return all;
}

void Lanes::restore(const std::vector<double>& state) {
  std::copy_n(state.begin(), lanes_.size(), lanes_.begin());
  count_ = static_cast<i64>(state.back());
}

void Lanes::clear() {
  lanes_.fill(first_);
  count_ = 0;
}

// Sums of narrow integers are exact in double as well; -0 is less than 0, NaNs are passed over.
template <Lanes::Step step>
double Lanes::step_of(double lane, double x) {
  if constexpr (step == Step::sum) return lane + x;
  if constexpr (step == Step::min) return x < lane || (x == lane && std::signbit(x)) ? x : lane;
  return x > lane || (x == lane && !std::signbit(x)) ? x : lane;
}

template <Lanes::Step step, typename T>
void Lanes::take(const T* x, i64 count) {
  i64 k = 0;
  const auto one = [&] {
    double& lane = lanes_[static_cast<std::size_t>(count_++ % ir::lanes_of_piece)];
    lane = step_of<step>(lane, static_cast<double>(x[k++]));
  };
  while (k < count && count_ % ir::lanes_of_piece != 0) one();
  for (; count - k >= ir::lanes_of_piece; k += ir::lanes_of_piece, count_ += ir::lanes_of_piece)
    for (std::size_t l = 0; l < lanes_.size(); ++l)
      lanes_[l] = step_of<step>(lanes_[l], static_cast<double>(x[k + static_cast<i64>(l)]));
  while (k < count) one();
}

template <typename T>
void Lanes::take_by_step(const T* x, i64 count) {
  if (step_ == Step::sum) return take<Step::sum>(x, count);
  if (step_ == Step::min) return take<Step::min>(x, count);
  take<Step::max>(x, count);
}

void Lanes::add(ElementType type, const std::byte* elements, i64 count) {
  const auto of = [&](auto number) { take_by_step(reinterpret_cast<const decltype(number)*>(elements), count); };
  switch (type) {
    case ElementType::u8:
      return of(std::uint8_t{});
    case ElementType::i16:
      return of(std::int16_t{});
    case ElementType::u16:
      return of(std::uint16_t{});
    case ElementType::i32:
      return of(std::int32_t{});
    case ElementType::u32:
      return of(std::uint32_t{});
    case ElementType::f32:
      return of(float{});
    case ElementType::f64:
      return of(double{});
    case ElementType::boolean:
    case ElementType::f16:
      for (i64 k = 0; k < count; ++k) {
        const double x = load_element(type, elements + k * static_cast<i64>(size_of(type)));
        take_by_step(&x, 1);
      }
  }
}

double Lanes::value() const {
  double total = lanes_[0];
  for (std::size_t l = 1; l < lanes_.size(); ++l)
    total = step_ == Step::sum   ? step_of<Step::sum>(total, lanes_[l])
            : step_ == Step::min ? step_of<Step::min>(total, lanes_[l])
                                 : step_of<Step::max>(total, lanes_[l]);
  return total;
}

PartOfTotal::PartOfTotal(ir::Op whole, ElementType image, i64 first, i64 end)
    : piece_(whole, image),
      first_(first),
      last_(end),
      at_(first),
      begin_(std::min(base::ceil_divide(first, ir::elements_of_piece) * ir::elements_of_piece, end)),
      end_(std::max(begin_, end / ir::elements_of_piece * ir::elements_of_piece)) {}

void PartOfTotal::add(const Array& array) {
  const Array dense = array.contiguous() ? array : array.clone();
  const ElementType type = dense.format().scalar;
  const i64 n = dense.count(), size = static_cast<i64>(size_of(type));
  const std::byte* const elements = dense.as<std::byte>();
  const i64 head = std::clamp<i64>(begin_ - at_, 0, n), tail = std::clamp<i64>(end_ - at_, head, n);
  for (i64 k = 0; k < head; ++k) head_.push_back(load_element(type, elements + k * size));
  for (i64 k = head; k < tail;) {
    const i64 part = std::min(tail - k, ir::elements_of_piece - piece_.count());
    piece_.add(type, elements + k * size, part);
    k += part;
    if (piece_.count() < ir::elements_of_piece) continue;
    pieces_.push_back(piece_.value());
    piece_.clear();
  }
  for (i64 k = tail; k < n; ++k) tail_.push_back(load_element(type, elements + k * size));
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

constexpr int lists = 3;  // of a part, each behind its length

std::size_t length_of(std::span<const std::byte> list) {
  double count = 0;
  std::memcpy(&count, list.data(), sizeof(double));
  return static_cast<std::size_t>(count);
}

std::vector<double> get(std::span<const std::byte>& from) {
  std::vector<double> list(length_of(from));
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

std::vector<std::byte> PartOfTotal::state() const {
  std::vector<std::byte> all = bytes();
  put(all, piece_.state());
  put(all, {static_cast<double>(first_), static_cast<double>(last_), static_cast<double>(at_)});
  return all;
}

bool PartOfTotal::restore(std::span<const std::byte> state) {
  const std::size_t size = bytes_of_part(state);
  std::span<const std::byte> from = state.first(size), rest = state.subspan(size);
  const std::vector<double> now = piece_.state();
  constexpr std::size_t of_range = 3;
  if (size == 0 || rest.size() != (now.size() + of_range + 2) * sizeof(double)) return false;
  if (length_of(rest) != now.size() || length_of(rest.subspan((now.size() + 1) * sizeof(double))) != of_range)
    return false;
  const std::vector<double> lanes = get(rest), range = get(rest);
  if (range[0] != static_cast<double>(first_) || range[1] != static_cast<double>(last_)) return false;
  head_ = get(from);
  pieces_ = get(from);
  tail_ = get(from);
  piece_.restore(lanes);
  at_ = static_cast<i64>(range[2]);
  return true;
}

std::size_t PartOfTotal::bytes_of_part(std::span<const std::byte> bytes) {
  std::span<const std::byte> rest = bytes;
  for (int list = 0; list < lists; ++list) {
    double count = -1;
    if (rest.size() >= sizeof count) std::memcpy(&count, rest.data(), sizeof count);
    const auto room = static_cast<double>(rest.size() / sizeof count);
    if (!(count >= 0 && count < room) || count != std::floor(count)) return 0;
    get(rest);
  }
  return bytes.size() - rest.size();
}

double PartOfTotal::value(ir::Op whole, ElementType image, const std::vector<std::vector<std::byte>>& parts) {
  Lanes piece(whole, image), list(whole, image);  // of the piece under way, of what pieces come to
  i64 count = 0;
  const auto end_piece = [&] {
    list.add(piece.value());
    piece.clear();
  };
  const auto elements = [&](const std::vector<double>& some) {
    for (const double x : some) {
      piece.add(x);
      if (piece.count() == ir::elements_of_piece) end_piece();
    }
    count += static_cast<i64>(some.size());
  };
  for (const std::vector<std::byte>& part : parts) {
    std::span<const std::byte> rest = part;
    elements(get(rest));
    for (const double of_piece : get(rest)) {
      list.add(of_piece);
      count += ir::elements_of_piece;
    }
    elements(get(rest));
  }
  if (piece.count() > 0) end_piece();
  return whole == ir::Op::whole_mean ? list.value() / static_cast<double>(count) : list.value();
}

}  // namespace tessera::engine
