// Kernels of one source text on one device: compiled by NVRTC or taken from the user's cache, then looked up by name.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/hash.hpp"
#include "base/process/fork.hpp"
#include "run/cuda/core.hpp"
#include "run/gpu/device.hpp"

namespace tessera::run::cuda {

class CudaModule : public gpu::Module, public std::enable_shared_from_this<CudaModule> {
 public:
  CudaModule(Core& core, ModuleHandle handle) : core_(core), handle_(handle) {}
  ~CudaModule() override;
  Usage usage(const std::string& kernel, int block_threads, i64 shared_bytes) override;

  struct Kernel {
    Function function = nullptr;
    int shared_bytes = 0;   // declared
    i64 dynamic_bytes = 0;  // that a launch may ask for so far
    bool waits = false;     // for the kernel before it: compiled for a capability that can say so
  };
  // The context is current. The kernel may be launched with so many bytes then. Throws Error(internal) when there is
  // none of that name, Error(device) when the device has not so much shared memory.
  Function ready(const std::string& kernel, i64 shared_bytes);
  bool waits(const std::string& kernel);
  Core& core() const { return core_; }

 private:
  Kernel& find(const std::string& kernel);
  bool allow(Kernel&, i64 shared_bytes);
  Core& core_;
  ModuleHandle handle_;
  base::Mutex mutex_;
  std::map<std::string, Kernel> kernels_;
};

// The modules of a device, one per text while somebody holds it. Thread-safe: who asks for a text that another thread
// compiles waits for that one.
class Modules {
 public:
  explicit Modules(Core& core) : core_(core) {}
  std::shared_ptr<gpu::Module> load(const std::string& source, gpu::Arithmetic);

 private:
  struct Entry {
    base::Mutex mutex;
    std::weak_ptr<CudaModule> module;
  };
  std::shared_ptr<Entry> entry_of(const base::Digest& key);
  std::shared_ptr<CudaModule> open(const std::string& code);
  Core& core_;
  base::Mutex mutex_;
  std::map<base::Digest, std::shared_ptr<Entry>> entries_;
};

}  // namespace tessera::run::cuda
