// Blocks of a device's memory: our own, from the pool, or somebody else's that we were shown.
#pragma once

#include <memory>

#include "run/cuda/core.hpp"
#include "run/gpu/device.hpp"

namespace tessera::run::cuda {

class Block : public gpu::Memory, public std::enable_shared_from_this<Block> {
 public:
  // `core` gets the memory back; null where `owner` keeps it.
  Block(Core* core, Address address, i64 bytes, std::shared_ptr<void> owner)
      : Memory(bytes), core_(core), address_(address), owner_(std::move(owner)) {}
  ~Block() override {
    if (core_ != nullptr) core_->release(address_, bytes());
  }
  Address address() const { return address_; }
  Core* core() const { return core_; }

 private:
  Core* core_;
  Address address_;
  std::shared_ptr<void> owner_;
};

// Throws Error(internal) for memory of another kind of device.
const Block& block_of(const gpu::Memory&);

}  // namespace tessera::run::cuda
