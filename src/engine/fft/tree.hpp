// A planned tree of passes (fft/plan.hpp) with its code and its tables in the type of the numbers: runs on V transforms
// at a time. Immutable; several threads run one tree, each with scratch memory of its own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/fft/code.hpp"
#include "fft/plan.hpp"

namespace tessera::engine {

template <class T>
class FftTree {
 public:
  // `from` and `to`: what the points look like on either side. `streaming`: results go past the caches. `fetching`:
  // what is read lies in memory.
  struct Memory {
    bool fetching = false, streaming = false;
  };
  FftTree(const fft::Node& node, fft::End from, fft::End to, Memory, const std::string& compiler);

  i64 n() const { return n_; }
  i64 scratch() const { return scratch_; }  // numbers

  // Strides in numbers from point to point. In place where both sides are points with one stride.
  void run(const T* from, i64 from_stride, T* to, i64 to_stride, T* scratch) const {
    step(from, from_stride, to, to_stride, nullptr, 0, scratch);
  }

 private:
  // Whether the points are multiplied on the way in, by numbers of which the first may be known to be 1.
  enum class Input : std::uint8_t { plain, twiddled, twiddled_from_one };
  FftTree(const fft::Node& node, fft::End from, fft::End to, Input input, Memory, const std::string& compiler);

  void step(const T* from, i64 from_stride, T* to, i64 to_stride, const T* w, i64 w_stride, T* scratch) const;
  void sequence(const T* from, i64 from_stride, T* to, i64 to_stride, const T* w, i64 w_stride, T* scratch) const;
  void split(const T* from, i64 from_stride, T* to, i64 to_stride, const T* w, i64 w_stride, T* scratch) const;
  void rader(const T* from, i64 from_stride, T* to, i64 to_stride, const T* w, i64 w_stride, T* scratch) const;
  void bluestein(const T* from, i64 from_stride, T* to, i64 to_stride, const T* w, i64 w_stride, T* scratch) const;

  struct SequencePass {
    PassFunction<T> function;
    fft::PassArguments arguments;  // those that do not depend on strides of the caller
    i64 twiddles = 0;              // where they begin
    // The loop over s in parts, whose results lie so far apart: the legs of the next pass, which are kept off powers of
    // two. From part to part in the buffer that is read, and in numbers.
    i64 parts = 1, from_part = 0, to_part = 0;
  };

  fft::Node::Kind kind_;
  i64 n_, scratch_, point_;
  fft::End from_, to_;
  Input input_;
  std::vector<SequencePass> passes_;
  std::unique_ptr<FftTree> first_, second_;
  // Of convolutions: copies and products of single points.
  PassFunction<T> in_ = nullptr, multiply_ = nullptr, turn_ = nullptr, out_ = nullptr;
  std::vector<T> twiddles_, spectrum_;
  std::vector<std::vector<T>> odd_;
  std::vector<i64> input_places_, output_places_;
};

}  // namespace tessera::engine
