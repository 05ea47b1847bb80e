// Programs that the planner treats differently, as text, with the shapes they are explained for.
#pragma once

#include <string>
#include <vector>

#include "explain/report.hpp"
#include "tessera/program.hpp"

namespace tessera {

struct Sample {
  std::string name, text;
  std::vector<Shape> shapes;
};

// The name is what a failing test prints.
inline void PrintTo(const Sample& sample, std::ostream* out) {
  *out << sample.name;
}

const std::vector<Sample>& samples();
const Sample& sample(const std::string& name);

// A machine that no test machine changes: 64-byte vectors, 1 MiB of L2, 4 threads.
machine::Machine fixed_device();

struct Planned {
  plan::Plan plan;
  std::vector<i64> parameters;
};
Planned planned(const Sample&, const RunOptions& = {});
explain::Report report_of(const Sample&, RunOptions = {});
// For CUDA, of which no driver is found in these tests.
explain::Report device_report_of(const Sample&, RunOptions = {});

}  // namespace tessera
