// A Fourier transform on a device as kernels: what a plan of it (fft/device/plan.hpp) launches, as a program that
// printers print, for runs and for emitted files alike.
#pragma once

#include <string>
#include <vector>

#include "fft/device/plan.hpp"
#include "ir/host/program.hpp"
#include "lower/device.hpp"

namespace tessera::lower {

struct TransformKernel {
  fft::DeviceStep step;
  std::string name;
  i64 threads = 1;             // of a block
  std::vector<double> tables;  // pairs, of the type of the transform; two numbers at least
};

// A kernel takes from, to and its tables, where blocks wait for each other (`step.second`) counters that are 0 before;
// then the bytes to the first element of either side, and the extent of the counted dimension.
struct TransformProgram {
  fft::DevicePlan plan;
  std::vector<TransformKernel> kernels;  // in the order of their first launch, those of `program`
  DeviceProgram program;
  bool waits = false;  // blocks of a kernel wait for each other
  const TransformKernel& kernel_of(const fft::DeviceStep&) const;
  std::size_t index_of(const fft::DeviceStep&) const;
};

constexpr std::size_t integers_of_transform = 3;

// Names of kernels begin with `prefix`.
TransformProgram lower_transform(fft::DevicePlan, const std::string& prefix);

// The problem of a transform between arrays of a shape. Strides in bytes, of every dimension.
fft::Problem transform_problem(const ir::host::Transform&, const std::vector<i64>& shape,
                               const std::vector<i64>& from_strides, const std::vector<i64>& to_strides);

}  // namespace tessera::lower
