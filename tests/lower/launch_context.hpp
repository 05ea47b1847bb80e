// Launches of kernels in numbers, of arrays that lie at made-up places.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "lower/host/launches.hpp"

namespace tessera::lower {

struct Here : ir::host::LaunchContext {
  Here(const ir::Graph& g, std::vector<i64> p, i64 from, i64 to) : graph(g), parameters(std::move(p)) {
    first = from;
    last = to;
  }
  i64 size(ir::SizeId n) const override { return graph.evaluate(n, parameters); }
  i64 offset(std::size_t array) const override { return -64 * static_cast<i64>(array); }
  i64 stride(std::size_t array, std::size_t dimension) const override {
    return static_cast<i64>(1000 * array + dimension);
  }
  i64 call(const std::string& name, const std::vector<i64>& args, std::vector<i64>& filled) const override {
    return host_function(name, args, filled);
  }
  const ir::Graph& graph;
  std::vector<i64> parameters;
};

// Of a kernel with a frame: its blocks, and the integers of the frame.
inline i64 frame(const DeviceKernel& kernel, const ir::Graph& graph, const std::vector<i64>& parameters, i64 first,
                 i64 last, std::array<i64, frame_integers>& integers) {
  const ir::host::Launch launch = launch_of(kernel);
  const Here here(graph, parameters, first, last);
  const ir::host::LaunchValues value(launch, here);
  for (std::size_t k = 0; k < frame_integers; ++k)
    integers[k] = value(ir::host::Number(ir::host::Number::Op::filled, 0, k));
  return value(launch.grid);
}

}  // namespace tessera::lower
