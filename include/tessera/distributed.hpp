// Arrays in shares on several devices, and programs that run on them where they lie: what a program reads beyond a
// share goes from device to device.
//
//   auto gpus = tessera::DeviceGroup::open("cuda");  // every GPU of the machine
//   tessera::DistributedArray heat = gpus.scatter(volume);
//   for (int k = 0; k < 100; ++k) heat = tessera::run_distributed(step, {heat}).at(0);
//   tessera::Array result = heat.gather();
//
// Shares are runs of rows: of the first dimension, so that arrays have two dimensions or more. Results have the bits of
// a run on one device.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "tessera/array.hpp"
#include "tessera/device.hpp"
#include "tessera/error.hpp"
#include "tessera/options.hpp"
#include "tessera/program.hpp"

namespace tessera {

class DistributedArray;

// Several devices of one kind with a stream of each, in which all work on their arrays goes. Thread-safe: calls wait
// for each other. Copies are the same group.
class DeviceGroup {
 public:
  // Of "cuda" or "opencl"; numbers as RunOptions::devices has them. Throws what a run with these throws.
  static DeviceGroup open(const std::string& target, std::vector<int> numbers = {all_devices});

  const std::vector<Device>& devices() const;
  // Do copies from device number `from` of the group to number `to` go directly, over a link of theirs or the bus? Else
  // they go by way of the host.
  bool reaches(std::size_t to, std::size_t from) const;

  // Elements undefined. Throws Error(argument) for fewer than two dimensions, Error(device) when there is no memory.
  DistributedArray array(Format, Shape) const;
  // A copy of an array of the host or of any device, in shares.
  DistributedArray scatter(const Array&) const;
  // Until all that was handed over is done. Throws Error(device) when something failed.
  void wait() const;

  struct Impl;
  explicit DeviceGroup(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  Impl& impl() const { return *impl_; }

 private:
  std::shared_ptr<Impl> impl_;
};

// Copies are the same array. Thread-safe.
class DistributedArray {
 public:
  const DeviceGroup& group() const;
  const Format& format() const;
  const Shape& shape() const;
  // The rows that a device of the group has, which are all of the other dimensions; an empty range [r, r) where there
  // are fewer rows than devices.
  Region region(std::size_t device) const;
  // The same as an array on that device, which is this array's memory; an empty array for an empty range. Work in
  // other streams has to wait for the group, and it for them.
  Array share(std::size_t device) const;

  // On the host; waits.
  Array gather() const;
  // Into an array of the host of the same format and shape, else Error(argument).
  void gather_into(const Array&) const;

  struct Impl;
  explicit DistributedArray(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  Impl& impl() const { return *impl_; }

 private:
  std::shared_ptr<Impl> impl_;
};

// An array in shares, or one of the host that every device gets: scalars, small tables.
using DistributedInput = std::variant<DistributedArray, Array>;

// Runs a program on arrays of one group and leaves the results there, in shares of the same rows. Returns before the
// work is done, as a run in a stream does: gather() and wait() wait; arrays of the host that do not own their memory
// have to stay until then. Of the options `target`, `device`, `devices`, `stream` and `device_memory` are those of the
// group and are not to be given. Throws Error(argument) for arrays of two groups or none, for a program with loops that
// test, Fourier transforms or totals of whole images, or certainties, and what Program::run throws.
std::vector<DistributedArray> run_distributed(const Program&, const std::vector<DistributedInput>&,
                                              const RunOptions& = {});
// The same into existing arrays of the group, of the right format and shape, which are no inputs of the call.
void run_distributed_into(const Program&, const std::vector<DistributedInput>&,
                          const std::vector<DistributedArray>& outputs, const RunOptions& = {});

}  // namespace tessera
