// Devices and how they are opened: one object per index for the life of the process. It is never destroyed, since
// drivers run threads of their own until the end.
#include <fmt/format.h>

#include <map>

#include "base/text.hpp"
#include "run/opencl/opencl.hpp"
#include "run/opencl/queue.hpp"

namespace tessera::run::opencl {
namespace {

class OpenClDevice final : public gpu::Device {
 public:
  explicit OpenClDevice(const Listed& listed)
      : core_(std::make_shared<Core>(listed)), pool_(std::make_shared<Pool>(core_)), programs_(core_) {
    limits_ = listed.limits;
  }

  std::shared_ptr<gpu::Module> load(const std::string& source, gpu::Arithmetic arithmetic) override {
    return programs_.load(source, arithmetic);
  }
  std::shared_ptr<gpu::Memory> allocate(i64 bytes) override { return pool_->take(bytes); }
  std::unique_ptr<gpu::Queue> queue() override { return std::make_unique<CommandQueue>(core_, pool_); }
  std::unique_ptr<gpu::Queue> queue_on(void*) override {
    throw Error(ErrorClass::argument, "streams of other libraries are taken by the target cuda alone, not by opencl",
                {}, "emit the program: its _enqueue function takes a queue of OpenCL");
  }
  std::shared_ptr<void> pinned(i64 bytes) override;

 private:
  std::shared_ptr<Core> core_;
  std::shared_ptr<Pool> pool_;
  Programs programs_;
};

// A block of the host's memory that the driver made, mapped until it is given back.
struct Mapped {
  std::shared_ptr<Core> core;
  Handle<cl::Queue> queue;
  Handle<cl::Mem> mem;
  void* place = nullptr;
  ~Mapped() {
    if (place == nullptr) return;
    core->cl.clEnqueueUnmapMemObject(queue.get(), mem.get(), place, 0, nullptr, nullptr);
    core->cl.clFinish(queue.get());
  }
};

std::shared_ptr<void> OpenClDevice::pinned(i64 bytes) {
  core_->ensure_open();
  if (limits_.integrated || bytes <= 0) return nullptr;  // copies stay in one memory
  auto m = std::make_shared<Mapped>();
  m->core = core_;
  m->queue = core_->make_queue();
  const auto size = static_cast<std::size_t>(bytes);
  cl::Int code = 0;
  const Api& cl = core_->cl;
  m->mem = {cl.clCreateBuffer(core_->context(), cl::mem_read_write | cl::mem_alloc_host_ptr, size, nullptr, &code),
            cl.clReleaseMemObject};
  if (code != cl::success) return nullptr;
  m->place = cl.clEnqueueMapBuffer(m->queue.get(), m->mem.get(), 1, cl::map_read | cl::map_write, 0, size, 0, nullptr,
                                   nullptr, &code);
  if (code != cl::success || m->place == nullptr) return nullptr;
  return {m, m->place};
}

}  // namespace

std::shared_ptr<gpu::Device> open(int index) {
  static base::Mutex mutex;
  static auto& opened = *new std::map<int, std::shared_ptr<OpenClDevice>>();
  const Listing& all = listing();
  if (all.process != base::forks())
    throw Error(ErrorClass::device, "the drivers of OpenCL were opened before this process was forked", {},
                "start processes anew (spawn, forkserver) to use devices in them");
  if (all.devices.empty()) throw Error(ErrorClass::device, "no OpenCL device: " + all.missing, all.notes);
  const auto count = static_cast<int>(all.devices.size());
  if (index < 0 || index >= count) {
    std::vector<std::string> notes;
    for (const Listed& d : all.devices)
      notes.push_back(fmt::format("device {} is {}", d.limits.index, base::quoted(d.limits.name)));
    notes.insert(notes.end(), all.notes.begin(), all.notes.end());
    throw Error(ErrorClass::device,
                count == 1 ? fmt::format("no OpenCL device {}, expected 0: there is 1 device", index)
                           : fmt::format("no OpenCL device {}, expected 0 to {}: there are {} devices", index,
                                         count - 1, count),
                std::move(notes), "`tessera devices` lists them");
  }
  const base::Lock lock(mutex);
  auto& device = opened[index];
  if (!device) device = std::make_shared<OpenClDevice>(all.devices[static_cast<std::size_t>(index)]);
  return device;
}

}  // namespace tessera::run::opencl
