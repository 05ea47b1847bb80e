// The one error of a device that a caller can do something about: what does not fit may be run in slabs.
#pragma once

#include <string>
#include <vector>

#include "tessera/array.hpp"
#include "tessera/error.hpp"

namespace tessera::run::gpu {

// Error(device): the memory asked for is not there. The device stays usable.
class OutOfMemory : public Error {
 public:
  // `device` for people: "CUDA device 0 (NVIDIA H200)"; `free` is -1 where the device does not say.
  OutOfMemory(const std::string& device, i64 asked, i64 free, std::vector<std::string> notes = {});
  i64 asked() const { return asked_; }  // bytes
  i64 free() const { return free_; }    // bytes when it failed, nothing of ours kept back

 private:
  i64 asked_, free_;
};

}  // namespace tessera::run::gpu
