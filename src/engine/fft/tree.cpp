// See tree.hpp.
#include "engine/fft/tree.hpp"

#include <algorithm>
#include <cstring>

namespace tessera::engine {

using fft::End;
using fft::Node;
using fft::Pass;
using fft::PassArguments;
using fft::Twiddles;

namespace {

template <class T>
std::vector<T> rounded(const std::vector<double>& v) {
  std::vector<T> result;
  result.reserve(v.size());
  for (const double x : v) result.push_back(static_cast<T>(x));
  return result;
}

template <class F, class T>
void call(F function, const T* from, T* to, const T* w, const PassArguments& arguments) {
  function(from, to, w, reinterpret_cast<const i64*>(&arguments));
}

// Single points, one after the other.
PassArguments points(i64 count, i64 from_stride, i64 to_stride, i64 w_stride) {
  PassArguments a;
  a.inner = count;
  a.from_inner = from_stride;
  a.to_inner = to_stride;
  a.w_inner = w_stride;
  return a;
}

}  // namespace

template <class T>
FftTree<T>::FftTree(const Node& node, End from, End to, Memory memory, const std::string& compiler)
    : FftTree(node, from, to, Input::plain, memory, compiler) {}

template <class T>
FftTree<T>::FftTree(const Node& node, End from, End to, Input input, Memory memory, const std::string& compiler)
    : kind_(node.kind),
      n_(node.n),
      point_(2 * lanes_of<T>()),
      from_(from),
      to_(to),
      input_(input),
      twiddles_(rounded<T>(node.twiddles)),
      spectrum_(rounded<T>(node.spectrum)),
      input_places_(node.input),
      output_places_(node.output) {
  scratch_ = node.scratch * point_;
  const auto code = [&](const Pass& pass) { return pass_function<T>(pass, compiler); };
  const Twiddles in = input == Input::plain ? Twiddles::none : Twiddles::all;
  switch (kind_) {
    case Node::Kind::sequence: {
      const std::vector<i64> radices = node.radices.empty() ? std::vector<i64>{1} : node.radices;
      for (const std::vector<double>& table : node.odd) odd_.push_back(rounded<T>(table));
      i64 done = 1, at = 0;
      // Legs of a pass that reads a buffer.
      const auto leg = [&](i64 radix) { return (n_ / radix + (n_ / radix % 32 == 0 ? 1 : 0)) * point_; };
      for (std::size_t k = 0; k < radices.size(); ++k) {
        const i64 r = radices[k], rest = n_ / (done * r);
        const bool is_first = k == 0, is_last = k + 1 == radices.size();
        Pass pass;
        pass.radix = r > 16 ? 0 : r;
        pass.from = is_first ? from : End::points;
        pass.to = is_last ? to : End::points;
        pass.twiddles = is_first ? in : Twiddles::inner;
        if (is_first && rest == 1 && r > 1 && input == Input::twiddled_from_one) pass.twiddles = Twiddles::inner;
        pass.streaming = is_last && memory.streaming;
        pass.fetching = is_first && memory.fetching;
        SequencePass p{code(pass), {}, at};
        PassArguments& a = p.arguments;
        // k < done, s < rest: from (s + rest b) done + k to s done r + k + done c. The longer loop is the inner one.
        a.from_leg = is_first ? rest * point_ : leg(r);
        a.to_leg = done * point_;
        if (!is_last) {
          const i64 next = radices[k + 1];
          if (leg(next) != n_ / next * point_) p.parts = next;
          p.from_part = rest / p.parts * done * point_;
          p.to_part = leg(next);
        }
        const i64 s = rest / p.parts;
        const bool k_inside = done > s;
        a.outer = k_inside ? s : done;
        a.inner = k_inside ? done : s;
        (k_inside ? a.from_inner : a.from_outer) = point_;
        (k_inside ? a.from_outer : a.from_inner) = done * point_;
        (k_inside ? a.to_inner : a.to_outer) = point_;
        (k_inside ? a.to_outer : a.to_inner) = done * r * point_;
        (k_inside ? a.w_inner : a.w_outer) = 2 * (r - 1);
        a.w_leg = 2;
        if (r > 16) {
          a.radix = r;
          a.table = reinterpret_cast<i64>(odd_[k].data());
        }
        if (!is_first) at += 2 * (r - 1) * done;
        passes_.push_back(p);
        done *= r;
      }
      // Leg 1 has the first twiddle of a table: its pointer stands two numbers ahead.
      twiddles_.insert(twiddles_.begin(), 2, T{1});
      break;
    }
    case Node::Kind::split:
      first_.reset(new FftTree(*node.first, from, End::points, input == Input::plain ? input : Input::twiddled,
                               {memory.fetching, false}, compiler));
      second_.reset(
          new FftTree(*node.second, End::points, to, Input::twiddled_from_one, {false, memory.streaming}, compiler));
      break;
    case Node::Kind::rader:
    case Node::Kind::bluestein:
      first_.reset(new FftTree(*node.first, End::points, End::points, Input::plain, {}, compiler));
      in_ = code({.radix = 1, .from = from, .twiddles = in, .fetching = memory.fetching});
      turn_ = code({.radix = 1, .to = End::turned, .twiddles = Twiddles::all});
      multiply_ = code({.radix = 1, .twiddles = Twiddles::all});
      if (kind_ == Node::Kind::rader)
        out_ = code({.radix = 1, .to = to, .streaming = memory.streaming});
      else
        out_ =
            code({.radix = 1, .from = End::turned, .to = to, .twiddles = Twiddles::all, .streaming = memory.streaming});
      break;
  }
}

template <class T>
void FftTree<T>::step(const T* from, i64 from_stride, T* to, i64 to_stride, const T* w, i64 w_stride,
                      T* scratch) const {
  switch (kind_) {
    case Node::Kind::sequence:
      return sequence(from, from_stride, to, to_stride, w, w_stride, scratch);
    case Node::Kind::split:
      return split(from, from_stride, to, to_stride, w, w_stride, scratch);
    case Node::Kind::rader:
      return rader(from, from_stride, to, to_stride, w, w_stride, scratch);
    case Node::Kind::bluestein:
      return bluestein(from, from_stride, to, to_stride, w, w_stride, scratch);
  }
}

template <class T>
void FftTree<T>::sequence(const T* from, i64 from_stride, T* to, i64 to_stride, const T* w, i64 w_stride,
                          T* scratch) const {
  const T* x = from;
  for (std::size_t k = 0; k < passes_.size(); ++k) {
    const SequencePass& p = passes_[k];
    PassArguments a = p.arguments;
    T* y = scratch + (k % 2 == 0 ? 0 : fft::buffer_points(n_) * point_);
    const T* turns = twiddles_.data() + p.twiddles;
    i64 from_part = p.from_part, w_part = 0;
    if (k == 0) {
      const i64 s = a.outer * a.inner, rest = s * p.parts;  // nothing is done yet
      a.outer = 1;
      a.inner = s;
      a.from_inner = from_stride;
      from_part = s * from_stride;
      w_part = s * w_stride;
      a.from_leg = rest * from_stride;
      a.to_inner = n_ / rest * point_;
      a.w_inner = w_stride;
      a.w_leg = rest * w_stride;
      turns = w;
    }
    if (k + 1 == passes_.size()) {
      const i64 done = a.to_leg / point_;
      y = to;
      a.to_leg = done * to_stride;
      a.to_inner = to_stride;
    }
    for (i64 part = 0; part < p.parts; ++part)
      call(p.function, x + part * from_part, y + part * p.to_part, turns == nullptr ? turns : turns + part * w_part, a);
    x = y;
  }
}

// Row k of what lies between holds the first part's results k.
template <class T>
void FftTree<T>::split(const T* from, i64 from_stride, T* to, i64 to_stride, const T* w, i64 w_stride,
                       T* scratch) const {
  const i64 a = first_->n_, b = second_->n_, pitch = fft::split_pitch(b) * point_;
  T* rest = scratch + a * pitch;
  for (i64 j = 0; j < b; ++j)
    first_->step(from + j * from_stride, b * from_stride, scratch + j * point_, pitch,
                 w == nullptr ? nullptr : w + j * w_stride, b * w_stride, rest);
  for (i64 k = 0; k < a; ++k)
    second_->step(scratch + k * pitch, point_, to + k * to_stride, a * to_stride, twiddles_.data() + 2 * b * k, 2,
                  rest);
}

template <class T>
void FftTree<T>::rader(const T* from, i64 from_stride, T* to, i64 to_stride, const T* w, i64 w_stride,
                       T* scratch) const {
  const i64 m = n_ - 1, half = point_ / 2;
  T *x = scratch, *a = x + n_ * point_, *b = a + n_ * point_, *rest = b + n_ * point_;
  const auto bytes = static_cast<std::size_t>(point_) * sizeof(T);
  call(in_, from, x, w, points(n_, from_stride, point_, w_stride));
  for (i64 q = 0; q < m; ++q)
    std::memcpy(a + q * point_, x + input_places_[static_cast<std::size_t>(q)] * point_, bytes);
  first_->step(a, point_, b, point_, nullptr, 0, rest);
  call(turn_, b, a, spectrum_.data(), points(m, point_, point_, 2));
  for (i64 k = 0; k < half; ++k) {
    a[k] += x[half + k];  // imaginary parts come first here
    a[half + k] += x[k];
    x[k] += b[k];
    x[half + k] += b[half + k];
  }
  first_->step(a, point_, b, point_, nullptr, 0, rest);
  for (i64 q = 0; q < m; ++q) {
    T* y = x + output_places_[static_cast<std::size_t>(q)] * point_;
    std::memcpy(y, b + q * point_ + half, bytes / 2);
    std::memcpy(y + half, b + q * point_, bytes / 2);
  }
  call(out_, x, to, static_cast<const T*>(nullptr), points(n_, point_, to_stride, 0));
}

template <class T>
void FftTree<T>::bluestein(const T* from, i64 from_stride, T* to, i64 to_stride, const T* w, i64 w_stride,
                           T* scratch) const {
  const i64 m = first_->n_;
  T *a = scratch, *b = a + m * point_, *rest = b + m * point_;
  call(in_, from, b, w, points(n_, from_stride, point_, w_stride));
  call(multiply_, b, a, twiddles_.data(), points(n_, point_, point_, 2));
  std::fill(a + n_ * point_, a + m * point_, T{0});
  first_->step(a, point_, b, point_, nullptr, 0, rest);
  call(turn_, b, a, spectrum_.data(), points(m, point_, point_, 2));
  first_->step(a, point_, b, point_, nullptr, 0, rest);
  call(out_, b, to, twiddles_.data(), points(n_, point_, to_stride, 2));
}

template class FftTree<float>;
template class FftTree<double>;

}  // namespace tessera::engine
