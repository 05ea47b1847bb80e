// Arrays in the memory of devices, and copies of elements between any two arrays.
//
// An address of CUDA is that of the device. OpenCL has none: its blocks are given ranges of numbers that nothing else
// uses, so that views and tests for shared memory work by arithmetic, as everywhere.
#pragma once

#include <memory>

#include "run/gpu/device.hpp"
#include "tessera/array.hpp"
#include "tessera/device.hpp"

namespace tessera {

struct Device::Impl {
  std::shared_ptr<run::gpu::Device> device;
};

struct Stream::Impl {
  Device device;
  std::unique_ptr<run::gpu::Queue> queue;
};

namespace engine {

// Rows on the device begin at multiples of this.
constexpr i64 row_alignment = 16;

class DeviceMemory final : public ArrayMemory {
 public:
  DeviceMemory(std::shared_ptr<run::gpu::Device>, std::shared_ptr<run::gpu::Memory>);

  const std::shared_ptr<run::gpu::Device>& device() const { return device_; }
  const std::shared_ptr<run::gpu::Memory>& block() const { return block_; }
  void* address() const { return reinterpret_cast<void*>(address_); }  // of the block's first byte
  i64 offset_of(const Array& a) const;                                 // of its first element, from there
  std::string place() const override;
  Array make(Format, Shape) const override;
  void copy(Array to, Array from) const override;

 private:
  std::shared_ptr<run::gpu::Device> device_;
  std::shared_ptr<run::gpu::Memory> block_;
  std::uintptr_t address_ = 0;
};

// Null for an array of the host.
const DeviceMemory* memory_of(const Array&);
// Byte strides of an array of C order whose rows begin at multiples of row_alignment, and its bytes.
struct PaddedRows {
  std::vector<i64> strides;
  i64 bytes = 0;
};
PaddedRows padded_rows(i64 element_bytes, const Shape&);
// Elements undefined.
Array make_array(const std::shared_ptr<run::gpu::Device>&, Format, Shape);

// Copies elements in the order of the queue; one array at least lies on its device, and none on another one. Memory
// that arrays own is kept until it is done, other memory has to stay.
void copy(run::gpu::Queue&, const Array& to, const Array& from);

}  // namespace engine

}  // namespace tessera
