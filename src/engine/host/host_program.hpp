// A program with loops or Fourier transforms: its host program (ir/host/program.hpp), whose parts are programs of their
// own with plans and code for every target, and the runs of it.
//
// On a device everything that the program names stays there, transforms run there, and nothing is waited for but the
// tests of loops and the end. Where the device's memory does not hold that, the program runs by way of the host: parts
// take their arrays up from it and bring them down to it, in slabs if need be, and transforms run on its cores.
#pragma once

#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "base/process/fork.hpp"
#include "engine/fft/device.hpp"
#include "engine/fft/fft.hpp"
#include "lower/host/lower_host.hpp"
#include "tessera/program.hpp"

namespace tessera::engine {

class HostProgram {
 public:
  explicit HostProgram(const ir::Graph&);  // which outlives this

  const ir::Graph& graph() const { return graph_; }
  const ir::host::Program& program() const { return lowered_.program; }
  const std::vector<lower::HostSection>& sections() const { return lowered_.sections; }
  const Program& part(std::size_t index) const { return parts_[index]; }
  bool loops() const { return loops_; }

  // As Executable::run, on the target of the options.
  void run(const std::vector<i64>& parameters, const std::vector<Array>& inputs, const std::vector<Array>& outputs,
           const RunOptions&) const;

  // Of a transform, between arrays of the host and of a device; for devices null where the device cannot. Strides in
  // bytes.
  std::shared_ptr<const Fft> here(std::size_t transform, const Array& from, const Array& to,
                                  const std::string& compiler) const;
  std::shared_ptr<const FftOnDevice> there(std::size_t transform, const Shape&, const std::vector<i64>& from_strides,
                                           const std::vector<i64>& to_strides,
                                           const std::shared_ptr<run::gpu::Device>&) const;

  Shape shape_of(std::size_t array, const std::vector<i64>& parameters) const;

 private:
  using Key = std::tuple<std::size_t, Shape, std::vector<i64>, std::vector<i64>, std::string>;

  const ir::Graph& graph_;
  lower::HostLowered lowered_;
  bool loops_;
  std::vector<Program> parts_;
  mutable base::Mutex mutex_;
  mutable std::map<Key, std::shared_ptr<const Fft>> here_;
  mutable std::map<Key, std::shared_ptr<const FftOnDevice>> there_;
};

}  // namespace tessera::engine
