// See rows.hpp.
#include "engine/fft/rows.hpp"

#include <algorithm>
#include <array>

namespace tessera::engine {

using fft::Move;
using fft::MoveArguments;

namespace {

constexpr i64 most_rows = 64;  // of a group: two for each of the lanes of a vector of 64 bytes, and more

template <class Side>
bool is_half(Side side) {
  return side == Side::half_rows || side == Side::half_blocks;
}
template <class Side>
bool is_block(Side side) {
  return side == Side::blocks || side == Side::half_blocks;
}

}  // namespace

template <class T>
FftRows<T>::FftRows(i64 n, Side from, Side to, bool inverse, bool far, double scale, const std::string& compiler)
    : n_(n), lanes_(lanes_of<T>()), from_(from), to_(to), re_at_(inverse ? lanes_ : 0) {
  const bool real = is_half(from) || is_half(to) || from == Side::real_rows || to == Side::real_rows;
  rows_ = real ? 2 * lanes_ : lanes_;
  // Both halves of a real transform are in the scale of what is read: the mean of two points is their sum.
  scale_ = static_cast<T>(is_half(to) ? scale / 2 : scale);
  points_ = (std::max(n, lanes_) + 2) * 2 * lanes_;
  row_numbers_ = 2 * lanes_;
  const auto in = [&](Move m) { in_ = reinterpret_cast<MoveIn<T>>(move_function<T>(m, compiler)); };
  const auto out = [&](Move m) { out_ = reinterpret_cast<MoveOut<T>>(move_function<T>(m, compiler)); };
  if (from == Side::rows) in(Move::rows_in);
  if (from == Side::real_rows) in(Move::real_rows_in);
  if (from == Side::half_rows) in(Move::half_rows_in);
  if (from == Side::half_blocks) in(Move::halves_in);
  if (to == Side::rows) out(Move::rows_out);
  if (to == Side::real_rows) out(Move::real_rows_out);
  if (to == Side::half_rows) out(Move::half_rows_out);
  if (to == Side::blocks) out(far ? Move::blocks_out_far : Move::blocks_out);
  if (to == Side::half_blocks) out(far ? Move::halves_out_far : Move::halves_out);
}

// Groups at the end have fewer rows: the last one stands for those that are missing, on the way in and on the way out,
// where it is written several times.
template <class T>
void FftRows<T>::in(const T* const* rows, i64 count, i64 pitch, T* points, T* staging) const {
  const bool half = is_half(from_), pairs = from_ == Side::rows;
  const i64 elements = half ? n_ / 2 + 1 : n_, least = pairs ? lanes_ / 2 : lanes_;
  if (half && elements < least) return short_halves_in(rows, count, points);
  const bool is_short = elements < least;
  std::array<const T*, most_rows> all{};
  for (std::size_t k = 0; k < static_cast<std::size_t>(rows_); ++k) {
    all[k] = rows[std::min(static_cast<i64>(k), count - 1)];
    if (!is_short) continue;
    T* copy = staging + static_cast<i64>(k) * row_numbers_;
    std::fill(copy, copy + row_numbers_, T{0});
    std::copy(all[k], all[k] + (pairs ? 2 * elements : elements), copy);
    all[k] = copy;
  }
  const MoveArguments n{std::max(elements, least), re_at_, pitch, n_};
  in_(all.data(), points, &scale_, reinterpret_cast<const i64*>(&n));
  if (!half) return;
  // The points that are their own mirror images.
  const i64 point = 2 * lanes_;
  for (i64 k = 0; k < point; ++k) {
    points[k] = (points[k] + points[n_ * point + k]) / 2;
    if (n_ % 2 == 0) points[n_ / 2 * point + k] = (points[n_ / 2 * point + k] + points[(n_ + 1) * point + k]) / 2;
  }
}

template <class T>
void FftRows<T>::out(T* points, T* const* rows, i64 count, i64 pitch, T* staging) const {
  const bool half = is_half(to_), pairs = to_ == Side::rows;
  const i64 elements = half ? n_ / 2 + 1 : n_, least = pairs ? lanes_ / 2 : lanes_;
  if (half && elements < least) return short_halves_out(points, rows, count);
  const bool is_short = elements < least, through_copies = is_short && to_ != Side::blocks;
  std::array<T*, most_rows> all{};
  for (std::size_t k = 0; k < static_cast<std::size_t>(rows_); ++k)
    all[k] =
        through_copies ? staging + static_cast<i64>(k) * row_numbers_ : rows[std::min(static_cast<i64>(k), count - 1)];
  if (is_short) std::fill(points + n_ * 2 * lanes_, points + least * 2 * lanes_, T{0});
  const MoveArguments n{std::max(elements, least), re_at_, pitch, n_};
  out_(points, all.data(), &scale_, reinterpret_cast<const i64*>(&n));
  if (!through_copies) return;
  for (std::size_t k = 0; k < static_cast<std::size_t>(count); ++k)
    std::copy(all[k], all[k] + (pairs ? 2 * elements : elements), rows[k]);
}

template <class T>
void FftRows<T>::short_halves_in(const T* const* rows, i64 count, T* points) const {
  const bool block = is_block(from_);
  std::fill(points, points + n_ * 2 * lanes_, T{0});
  for (i64 r = 0; r < rows_; ++r) {
    const T* row = rows[std::min(r, count - 1)];
    for (i64 k = 0; k <= n_ / 2; ++k) {
      T re = scale_ * row[block ? re_at_ + k : 2 * k];
      T im = scale_ * row[block ? lanes_ - re_at_ + k : 2 * k + 1];
      const bool own = k == 0 || 2 * k == n_;
      if (own) im = 0;
      T *here = points + k * 2 * lanes_ + r / 2, *there = points + (n_ - k) * 2 * lanes_ + r / 2;
      const i64 im_at = lanes_ - re_at_;
      // The second row of a lane is multiplied by i.
      if (r % 2 == 0) {
        here[re_at_] += re, here[im_at] += im;
        if (!own) there[re_at_] += re, there[im_at] -= im;
      } else {
        here[re_at_] -= im, here[im_at] += re;
        if (!own) there[re_at_] += im, there[im_at] += re;
      }
    }
  }
}

template <class T>
void FftRows<T>::short_halves_out(const T* points, T* const* rows, i64 count) const {
  const bool block = is_block(to_);
  for (i64 r = 0; r < count; ++r)
    for (i64 k = 0; k < (block ? lanes_ : n_ / 2 + 1); ++k) {
      T re = 0, im = 0;
      if (k <= n_ / 2) {
        const T *z = points + k * 2 * lanes_ + r / 2, *m = points + (k == 0 ? 0 : n_ - k) * 2 * lanes_ + r / 2;
        const T zr = z[re_at_], zi = z[lanes_ - re_at_], mr = m[re_at_], mi = m[lanes_ - re_at_];
        re = r % 2 == 0 ? zr + mr : zi + mi;
        im = r % 2 == 0 ? zi - mi : mr - zr;
      }
      rows[r][block ? re_at_ + k : 2 * k] = re;
      rows[r][block ? lanes_ - re_at_ + k : 2 * k + 1] = im;
    }
}

template class FftRows<float>;
template class FftRows<double>;

}  // namespace tessera::engine
