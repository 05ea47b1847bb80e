// The passes of a transform over memory: which rows and columns, where what lies between them is, and who does it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fft/plan.hpp"
#include "fft/problem.hpp"

namespace tessera::engine {

class FftRunner {
 public:
  virtual ~FftRunner() = default;
  virtual void run(const void* from, void* to, int threads) const = 0;
  virtual std::string description() const = 0;
};

template <class T>
std::unique_ptr<FftRunner> make_runner(const fft::Problem&, const std::string& compiler);
// One dimension that is long, few rows of it; null where its length does not split into two factors of at least V, or
// groups of rows are as good.
template <class T>
std::unique_ptr<FftRunner> make_long_runner(const fft::Problem&, const std::string& compiler);

// For points of T on this machine.
template <class T>
fft::PlanOptions plan_options();

// Where index `at` of a list of extents lies, counted through all of them, the last one fastest.
i64 offset_of(i64 at, const std::vector<i64>& extents, const std::vector<i64>& strides);

}  // namespace tessera::engine
