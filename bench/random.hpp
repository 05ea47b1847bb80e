// Numbers that look random and are the same everywhere, and the weights drawn from them.
#pragma once

#include <cstddef>
#include <vector>

namespace tessera::bench {

class Lcg {
 public:
  explicit Lcg(unsigned seed) : state_(seed) {}
  unsigned next() { return state_ = state_ * 1664525u + 1013904223u; }
  float unit() { return float(next() >> 8) * (1.0f / 16777216.0f); }

 private:
  unsigned state_;
};

// Positive weights of sum 1, the same as in bench/jobs/*.forma.
inline std::vector<float> random_weights(int count, unsigned seed) {
  Lcg random(seed);
  std::vector<float> weights(static_cast<std::size_t>(count));
  float sum = 0;
  for (float& w : weights) sum += w = random.unit();
  for (float& w : weights) w /= sum;
  return weights;
}

}  // namespace tessera::bench
