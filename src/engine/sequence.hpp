// A program with Fourier transforms: its parts and its transforms, run one after the other (rewrite/parts.hpp).
//
// A part is a program of its own, with plans and code for every target. On devices what lies between steps stays there,
// transforms run there, and nothing is waited for but at the end. Where the device's memory does not hold that, parts
// take their arrays up from the host and bring them down to it, in slabs if need be, and transforms run on the host's
// cores.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "base/fork.hpp"
#include "engine/fft/device.hpp"
#include "engine/fft/host_transform.hpp"
#include "rewrite/parts.hpp"
#include "tessera/program.hpp"

namespace tessera::engine {

class Sequence {
 public:
  explicit Sequence(const ir::Graph&);

  const rewrite::Parts& parts() const { return parts_; }
  // Of a step that is a part.
  const Program& program(std::size_t step) const { return *programs_[step]; }

  // As Executable::run, on the target of the options.
  void run(const std::vector<i64>& parameters, const std::vector<Array>& inputs, const std::vector<Array>& outputs,
           const RunOptions&) const;

  // Of a step that is a transform, between arrays of a device; null where the device cannot. Strides in bytes.
  std::shared_ptr<const FftOnDevice> on_device(std::size_t step, const Shape&, const std::vector<i64>& from_strides,
                                               const std::vector<i64>& to_strides,
                                               const std::shared_ptr<run::gpu::Device>&) const;

 private:
  using Key = std::tuple<std::size_t, Shape, std::vector<i64>, std::vector<i64>, std::string>;
  class OnDevice;

  void run_here(const std::vector<i64>& parameters, const std::vector<Array>& inputs, const std::vector<Array>& outputs,
                const RunOptions&) const;
  Shape shape_of(const rewrite::Between&, const std::vector<i64>& parameters) const;
  void transform(std::size_t step, const Array& from, const Array& to, const RunOptions&) const;
  std::shared_ptr<const HostTransform> prepared(std::size_t step, const Array& from, const Array& to,
                                                const std::string& compiler) const;

  ir::Graph graph_;  // of the program: its extents
  rewrite::Parts parts_;
  std::vector<std::optional<Program>> programs_;
  mutable base::Mutex mutex_;
  mutable std::map<Key, std::shared_ptr<const HostTransform>> prepared_;
  mutable std::map<Key, std::shared_ptr<const FftOnDevice>> on_devices_;
};

}  // namespace tessera::engine
