// Finding and opening CUDA devices; see cuda.hpp.
#include "run/cuda/cuda.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.hpp"
#include "run/cuda/memory.hpp"
#include "run/cuda/module.hpp"
#include "run/cuda/nvrtc.hpp"
#include "run/cuda/queue.hpp"

namespace tessera::run::cuda {
namespace {

// A kernel's arguments: 32764 bytes since compute capability 7.0 with CUDA 12.1, in driver and compiler; 4096 before.
i64 parameter_bytes(const Driver& d, const Nvrtc& n, int capability) {
  const bool many = d.version >= 12010 && 100 * n.major + n.minor >= 1201 && capability >= 70;
  return many ? 32764 : 4096;
}

void measure_memory(gpu::Limits& limits, const Driver& d, Ordinal ordinal, int clock, int bits) {
  std::size_t bytes = 0;
  if (d.device_memory(&bytes, ordinal) == success) limits.memory_bytes = static_cast<i64>(bytes);
  limits.bandwidth = 2.0 * clock * 1e3 * bits / 8 / 1e9;  // two transfers a clock
}

gpu::Limits limits_of(const Driver& d, const Nvrtc& n, int index) {
  gpu::Limits limits;
  Ordinal ordinal = 0;
  limits.target = "cuda";
  limits.index = index;
  if (d.device_get(&ordinal, index) != success) return limits;
  const auto get = [&](int attribute, int otherwise = 0) {
    int value = otherwise;
    return d.device_attribute(&value, attribute, ordinal) == success ? value : otherwise;
  };
  char name[256] = "";
  limits.name = d.device_name(name, sizeof name, ordinal) == success ? name : "unknown";
  limits.driver = fmt::format("CUDA driver {}, NVRTC {}", cuda_version(d.version), n.version());
  const int capability = 10 * get(compute_capability_major) + get(compute_capability_minor);
  const auto architecture = architecture_for(n, capability);
  limits.compiled_for = architecture ? architecture->option : fmt::format("sm_{}", capability);
  limits.multiprocessors = get(multiprocessor_count, 1);
  limits.lanes = get(warp_size, 32);
  limits.threads_per_block = get(max_threads_per_block, 1024);
  limits.threads_per_multiprocessor = get(max_threads_per_multiprocessor);
  limits.registers_per_multiprocessor = get(max_registers_per_multiprocessor);
  limits.registers_per_thread = 255;
  limits.shared_bytes_per_block = std::max(get(max_shared_memory_per_block_optin), get(max_shared_memory_per_block));
  limits.shared_bytes_per_multiprocessor = get(max_shared_memory_per_multiprocessor);
  limits.l2_bytes = get(l2_cache_size);
  limits.parameter_bytes = parameter_bytes(d, n, capability);
  limits.gigahertz = get(clock_rate) / 1e6;
  measure_memory(limits, d, ordinal, get(memory_clock_rate), get(global_memory_bus_width));
  limits.halves = true;
  limits.doubles = true;
  limits.shuffles = true;
  limits.minima = capability >= gpu::capability_of_minima;
  limits.matrices = capability >= gpu::capability_of_matrices;
  limits.integrated = get(integrated) != 0;
  return limits;
}

class CudaDevice : public gpu::Device {
 public:
  explicit CudaDevice(const gpu::Limits& limits) : core_(driver(), limits), modules_(core_) { limits_ = limits; }

  std::shared_ptr<gpu::Module> load(const std::string& source, gpu::Arithmetic arithmetic) override {
    return modules_.load(source, arithmetic);
  }

  std::shared_ptr<gpu::Memory> allocate(i64 bytes) override {
    core_.require_open();
    if (bytes < 0) throw Error(ErrorClass::internal, fmt::format("memory of {} bytes was asked for", bytes));
    const Current current(core_);
    return std::make_shared<Block>(&core_, core_.allocate(bytes), bytes, nullptr);
  }

  std::unique_ptr<gpu::Queue> queue() override { return std::make_unique<CudaQueue>(core_); }
  std::unique_ptr<gpu::Queue> urgent_queue() override { return std::make_unique<CudaQueue>(core_, true); }
  std::unique_ptr<gpu::Queue> queue_on(void* native) override {
    return std::make_unique<CudaQueue>(core_, static_cast<Stream>(native));
  }

  bool reaches(gpu::Device& other) override {
    auto* const peer = dynamic_cast<CudaDevice*>(&other);
    return peer != nullptr && core_.reaches(peer->core_);
  }

  std::shared_ptr<void> pinned(i64 bytes) override {
    core_.require_open();
    const Current current(core_);
    void* memory = nullptr;
    const auto size = static_cast<std::size_t>(std::max<i64>(bytes, 1));
    const Status status = core_.driver.host_allocate(&memory, size, host_portable);
    if (status == error_out_of_memory) return nullptr;  // the system locks no more: a slower copy does as well
    core_.check(status, "locking host memory");
    return {memory, [this](void* p) {
              if (core_.closed()) return;
              const Current inside(core_);
              core_.note(core_.driver.host_free(p), "unlocking host memory");
            }};
  }

 private:
  Core core_;
  Modules modules_;
};

}  // namespace

gpu::Found find() {
  gpu::Found found;
  const Driver& d = driver();
  if (!d.missing.empty()) return {{}, d.missing, d.notes};
  const Nvrtc& n = nvrtc();
  found.notes = d.notes;
  found.notes.insert(found.notes.end(), n.notes.begin(), n.notes.end());
  found.missing = n.missing;
  for (int i = 0; i < d.devices; ++i) {
    gpu::Limits limits = limits_of(d, n, i);
    if (n.missing.empty())
      found.devices.push_back(std::move(limits));
    else
      found.notes.push_back("the driver sees " + label_of(limits));
  }
  return found;
}

std::shared_ptr<gpu::Device> open(int index) {
  const gpu::Found found = find();
  if (!found.missing.empty()) throw Error(ErrorClass::device, found.missing, found.notes);
  const int count = static_cast<int>(found.devices.size());
  if (index < 0 || index >= count)
    throw Error(ErrorClass::device, fmt::format("there is no CUDA device {}: the driver sees {}, {}", index, count,
                                                count == 1 ? "number 0" : fmt::format("numbers 0 to {}", count - 1)));
  static base::Mutex mutex;
  // Never destroyed: blocks and queues in other static objects may outlive any order of ends.
  static auto& opened = *new std::map<int, std::shared_ptr<gpu::Device>>();
  const base::Lock lock(mutex);
  auto& device = opened[index];
  if (!device) device = std::make_shared<CudaDevice>(found.devices[static_cast<std::size_t>(index)]);
  return device;
}

std::shared_ptr<gpu::Memory> borrow(void* device_pointer, i64 bytes, std::shared_ptr<void> owner) {
  return std::make_shared<Block>(nullptr, reinterpret_cast<Address>(device_pointer), bytes, std::move(owner));
}

void* pointer_of(const gpu::Memory& memory) {
  return reinterpret_cast<void*>(block_of(memory).address());
}

}  // namespace tessera::run::cuda
