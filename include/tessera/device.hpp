// Devices with a memory of their own: arrays that stay there, pinned memory of the host, streams.
//
//   auto gpu = tessera::Device::open("cuda");
//   tessera::Array image = gpu.copy_of(photo);
//   tessera::Array edges = canny.run({image}).at(0);  // on the GPU, as the image is
//   tessera::Array result = edges.to_host();
//
// A run goes where its arrays are. One whose array inputs lie on the host and that is told to use a device takes them
// there and its results back.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tessera/array.hpp"
#include "tessera/error.hpp"

namespace tessera {

// Thread-safe; copies are the same device.
class Device {
 public:
  // "cuda" or "opencl"; of several the one that `tessera devices` gives that number. Throws Error(argument) for another
  // target, Error(device) where there is no such device.
  static Device open(const std::string& target, int number = 0);

  const std::string& target() const;
  int number() const;
  const std::string& name() const;  // "NVIDIA H200"
  i64 memory_bytes() const;

  // An array on the device, elements undefined. Rows (of the last dimension) begin at multiples of 16 bytes, which is
  // how kernels read them without a copy; strides() says where. Throws Error(device) when there is no memory.
  Array array(Format, Shape) const;
  // A copy on this device of an array of the host or of any device.
  Array copy_of(const Array&) const;
  // Memory of this device that belongs to another library (PyTorch, CuPy, NPP ...), for "cuda"; `owner` is kept alive.
  // Strides are in bytes, C order where none are given. Rows that do not begin at multiples of 16 bytes are copied in
  // every run. Throws Error(argument) for a null pointer and for "opencl", whose emitted files take buffers.
  Array borrow(void* pointer, Format, Shape, std::vector<i64> strides = {}, std::shared_ptr<void> owner = {}) const;
  // Memory of the host that the device copies from and to directly, and beside computing; elements undefined. Ordinary
  // memory where the system has no more of it or the device needs none. Throws Error(argument) as Array's constructor.
  Array pinned(Format, Shape) const;

  struct Impl;
  explicit Device(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  const Impl& impl() const { return *impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

// Work of a device in order; several streams run beside each other. A run with RunOptions::stream returns at once:
//
//   tessera::Stream stream(gpu);
//   program.run_into({image}, {result}, {.stream = &stream});
//   stream.wait();
//
// Until wait() has returned, arrays of the host are neither to be changed nor to be freed (those that own their memory
// are kept), results not to be read, and errors may be missing. A stream is used by one thread at a time. It ends with
// its work: the destructor waits.
class Stream {
 public:
  explicit Stream(const Device&);  // throws Error(device)
  // A cudaStream_t of somebody else, null for the default stream; it has to outlive this. Throws Error(argument) for
  // "opencl".
  static Stream borrow(const Device&, void* cuda_stream);

  const Device& device() const;
  // Elements between arrays of the same format and shape, one of them or both on this device.
  void copy(const Array& to, const Array& from);
  // Throws Error(device) when something failed.
  void wait();

  struct Impl;
  explicit Stream(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  Impl& impl() const { return *impl_; }

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace tessera
