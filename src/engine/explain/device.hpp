// A program on a device as `explain` shows it, and what the same model predicts for a run.
#pragma once

#include <string>
#include <vector>

#include "explain/report.hpp"
#include "run/gpu/device.hpp"
#include "tessera/program.hpp"

namespace tessera::engine {

// The model's: see device.cpp.
constexpr double copy_share = 0.8, rate_share = 0.6, hidden_share = 0.75, launch_milliseconds = 0.003;

// The device that options name as reports show it, or a class of devices where none was found.
struct DeviceHeading {
  explain::DeviceReport report;
  std::string name;
  run::gpu::Limits limits;
};
DeviceHeading device_heading(const RunOptions&);

// For options.target "cuda" or "opencl". Compiles the kernels where the library of the target shows a device; else the
// report says why not, with the plan's own estimates. Throws Error(device) for a device that is not there among others
// or fails, Error(argument) for a target that is none.
explain::Report device_report(const Program::Impl&, const std::vector<i64>& parameters, const RunOptions&);

// How a run over several devices shares the work, in words; "" where one device runs. The options name that one
// afterwards, or the first one, whose kernels are explained.
std::string sharing_of(const Program::Impl&, const std::vector<i64>& parameters, RunOptions&);

double predicted_milliseconds(const Program::Impl&, const std::vector<i64>& parameters, const RunOptions&);

}  // namespace tessera::engine
