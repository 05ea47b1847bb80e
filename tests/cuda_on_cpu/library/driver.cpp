// A CUDA driver for tests that runs kernels on the processor (machine.hpp): work is done when it is handed over. A
// device is that of tests/run_cuda in a small edition; there are as many as $TESSERA_CUDA_ON_CPU_DEVICES says (1, at
// most 4). Read at every call, for what goes wrong on the last one:
//
//   $TESSERA_CUDA_ON_CPU_OTHER   its name ends with this
//   $TESSERA_CUDA_ON_CPU_MEMORY  its memory in bytes
//   $TESSERA_CUDA_ON_CPU_FAILS   launches fail on it, and it can still be used
//   $TESSERA_CUDA_ON_CPU_ALONE   no device reaches another one
//
// Copies between a host and the memory of another device than the one whose context is current are refused. Memory is
// filled with 0xff when it is handed out and ends at a
// page that nobody may touch, or begins behind one where $TESSERA_CUDA_ON_CPU_FLUSH is "begin". What was written on the
// other side ends the process when the memory is given back.
//
// A kernel that can never end says why on the standard error output and ends the context, as an error of a GPU does.
#include <dlfcn.h>
#include <sys/mman.h>  // memfd_create
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <string_view>

#include "machine.hpp"
#include "package.hpp"
#include "support/cuda_driver.hpp"
#include "support/guarded_pages.hpp"

namespace {

using Pages = tessera::support::GuardedPages;
using tessera::support::Address;
using tessera::support::Copy2D;
using tessera::support::host;
using tessera::support::Status;

enum : Status { success = 0, invalid = 1, no_memory = 2, no_image = 200, no_context = 201, not_found = 500 };
constexpr Status launch_failed = 719;

constexpr std::size_t capacity = std::size_t{512} << 20;
constexpr std::size_t shared_bytes = 48 * 1024, shared_if_allowed = 232448, shared_of_multiprocessor = 233472;
constexpr std::size_t vector_bytes = 16;  // rows of arrays end at a multiple of it

struct FakeFunction {
  cuda_on_cpu::Kernel kernel;
  std::size_t allowed = shared_bytes;  // for a launch to ask for; what kernels declare does not count here
};
struct FakeModule {
  void* library = nullptr;
  int file = -1;
  std::map<std::string, FakeFunction> functions;
};
struct FakeEvent {
  std::chrono::steady_clock::time_point time;
};

std::mutex mutex;
Status stuck = success;
// Left to the system: programs that are kept until the process ends give their memory back after this library's end.
struct Block {
  std::unique_ptr<Pages> pages;
  int device = 0;
};
auto& blocks = *new std::map<Address, Block>;
constexpr int most_devices = 4;
std::size_t taken[most_devices] = {};
thread_local void* current = nullptr;
int contexts[most_devices] = {}, the_pools[most_devices] = {}, the_stream = 0;
bool enabled[most_devices][most_devices] = {};

int device_count() {
  const char* const given = std::getenv("TESSERA_CUDA_ON_CPU_DEVICES");
  return given != nullptr ? std::clamp(std::atoi(given), 1, most_devices) : 1;
}

// Of the last device.
const char* set_for(int device, const char* variable) {
  return device == device_count() - 1 ? std::getenv(variable) : nullptr;
}

// -1: none of ours.
int device_of(const void* context) {
  for (int k = 0; k < most_devices; ++k)
    if (context == &contexts[k]) return k;
  return -1;
}
int here() {
  return device_of(current);
}

Status enter() {
  return stuck != success ? stuck : here() < 0 ? no_context : success;
}

std::size_t memory_of(int device) {
  const char* const given = set_for(device, "TESSERA_CUDA_ON_CPU_MEMORY");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : capacity;
}

// Does the memory belong to this device, as far as it is known?
bool is_of(Address a, int device) {
  auto found = blocks.upper_bound(a);
  if (found == blocks.begin()) return true;
  --found;
  return a >= found->first + found->second.pages->bytes() || found->second.device == device;
}

Pages::Flush flush() {
  const char* const given = std::getenv("TESSERA_CUDA_ON_CPU_FLUSH");
  return given != nullptr && std::string_view(given) == "begin" ? Pages::Flush::begin : Pages::Flush::end;
}

Status take(Address* out, std::size_t size) {
  if (size == 0) return invalid;
  if (size > memory_of(here()) || taken[here()] > memory_of(here()) - size) return no_memory;
  try {
    auto pages = std::make_unique<Pages>(size, flush(), 0xff, vector_bytes);
    *out = reinterpret_cast<Address>(pages->begin());
    blocks[*out] = {std::move(pages), here()};
  } catch (const std::bad_alloc&) {
    return no_memory;
  }
  taken[here()] += size;
  return success;
}

Status give(Address a) {
  const auto found = blocks.find(a);
  if (found == blocks.end() || found->second.device != here()) return invalid;
  const Pages& pages = *found->second.pages;
  if (!pages.surroundings_intact()) {
    std::fprintf(stderr, "CUDA on the processor: somebody wrote beside a block of %zu bytes\n", pages.bytes());
    std::abort();
  }
  taken[here()] -= pages.bytes();
  blocks.erase(found);
  return success;
}

// A library from memory, by way of a file without a name. The loader takes what has the path of a loaded library for
// that one, so the number of the file stays taken as long.
bool open_library(FakeModule& module, std::string_view bytes) {
  module.file = memfd_create("kernels", MFD_CLOEXEC);
  for (std::size_t at = 0; module.file >= 0 && at < bytes.size();) {
    const ssize_t n = write(module.file, bytes.data() + at, bytes.size() - at);
    if (n <= 0) return false;
    at += static_cast<std::size_t>(n);
  }
  module.library = dlopen(("/proc/self/fd/" + std::to_string(module.file)).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module.library == nullptr) std::fprintf(stderr, "CUDA on the processor: %s\n", dlerror());
  return module.library != nullptr;
}

template <class T>
T symbol(const FakeModule& module, const std::string& name) {
  return reinterpret_cast<T>(dlsym(module.library, name.c_str()));
}

}  // namespace

#define ENTER                        \
  const std::lock_guard lock(mutex); \
  if (const Status s = enter()) return s

extern "C" {
Status cuInit(unsigned) {
  return success;
}
Status cuDriverGetVersion(int* version) {
  return *version = 12990, success;
}
Status cuGetErrorName(Status s, const char** name) {
  *name = s == launch_failed ? "CUDA_ERROR_LAUNCH_FAILED"
          : s == no_memory   ? "CUDA_ERROR_OUT_OF_MEMORY"
                             : "CUDA_ERROR_ON_CPU";
  return success;
}
Status cuGetErrorString(Status s, const char** text) {
  *text = s == launch_failed ? "a kernel cannot end" : "an error of CUDA on the processor";
  return success;
}
Status cuDeviceGetCount(int* n) {
  return *n = device_count(), success;
}
Status cuDeviceGet(int* device, int number) {
  if (number < 0 || number >= device_count()) return 101;
  return *device = number, success;
}
Status cuDeviceGetName(char* name, int size, int device) {
  const char* const other = set_for(device, "TESSERA_CUDA_ON_CPU_OTHER");
  std::snprintf(name, static_cast<std::size_t>(size), "CUDA on the processor%s", other != nullptr ? other : "");
  return success;
}
Status cuDeviceTotalMem_v2(std::size_t* bytes, int device) {
  return *bytes = memory_of(device), success;
}
Status cuDeviceGetAttribute(int* value, int what, int) {
  // Several devices do not say how fast their memory is: runs that would be too short for it overlap copies, too.
  constexpr int memory_clock_rate = 36;
  if (what == memory_clock_rate && std::getenv("TESSERA_CUDA_ON_CPU_DEVICES") != nullptr) return *value = 0, success;
  // Few multiprocessors: so small images already have several strips, and long ones.
  return tessera::support::look_up(value, tessera::support::attributes(4, 2 << 20, 90), what);
}
Status cuDevicePrimaryCtxRetain(void** context, int device) {
  return *context = &contexts[device], success;
}
Status cuDeviceCanAccessPeer(int* can, int device, int other) {
  return *can = device != other && std::getenv("TESSERA_CUDA_ON_CPU_ALONE") == nullptr, success;
}
Status cuCtxEnablePeerAccess(void* other, unsigned) {
  ENTER;
  const int peer = device_of(other);
  if (peer < 0 || peer == here()) return invalid;
  if (enabled[here()][peer]) return 704;
  return enabled[here()][peer] = true, success;
}
Status cuCtxGetCurrent(void** context) {
  return *context = current, success;
}
Status cuCtxSetCurrent(void* context) {
  return current = context, success;
}
Status cuCtxSynchronize() {
  ENTER;
  return success;
}

Status cuModuleLoadData(FakeModule** module, const void* image) {
  ENTER;
  const std::string_view bytes = cuda_on_cpu::unpack(static_cast<const char*>(image));
  if (bytes.empty()) return no_image;
  auto* const made = new FakeModule;
  *module = made;
  if (!open_library(*made, bytes)) return no_image;
  *symbol<CudaMachine**>(*made, CUDA_MACHINE_NAME) = &cuda_on_cpu::machine();
  return success;
}
Status cuModuleUnload(FakeModule* module) {
  ENTER;
  dlclose(module->library);
  close(module->file);
  delete module;
  return success;
}
Status cuModuleGetFunction(FakeFunction** function, FakeModule* module, const char* name) {
  ENTER;
  cuda_on_cpu::Kernel kernel;
  kernel.call = symbol<void (*)(void**)>(*module, std::string(CUDA_CALL_PREFIX) + name);
  if (kernel.call == nullptr) return not_found;
  symbol<void (*)(char**, char**)>(*module, CUDA_SHARED_NAME)(&kernel.shared_begin, &kernel.shared_end);
  *function = &module->functions[name];
  return (*function)->kernel = kernel, success;
}
Status cuFuncGetAttribute(int* value, int what, FakeFunction*) {
  ENTER;
  return *value = what == 0 ? 1024 : what == 4 ? 40 : 0, success;
}
Status cuFuncSetAttribute(FakeFunction* f, int what, int value) {
  ENTER;
  if (what != 8 || value < 0 || static_cast<std::size_t>(value) > shared_if_allowed) return invalid;
  return f->allowed = static_cast<std::size_t>(value), success;
}
Status cuOccupancyMaxActiveBlocksPerMultiprocessor(int* at_once, FakeFunction* f, int threads, std::size_t shared) {
  ENTER;
  if (threads < 1 || shared > f->allowed) return invalid;
  const std::size_t fit = shared_of_multiprocessor / (shared + 1024);
  return *at_once = std::min(2048 / std::max(threads, 256), static_cast<int>(fit)), success;
}
Status cuLaunchKernel(FakeFunction* f, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                      unsigned block_y, unsigned block_z, unsigned shared, void*, void** arguments, void**) {
  ENTER;
  if (set_for(here(), "TESSERA_CUDA_ON_CPU_FAILS") != nullptr) return 701;
  const cuda_on_cpu::Grid grid = {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared};
  const auto threads = std::uint64_t{block_x} * block_y * block_z;
  if (shared > f->allowed || threads == 0 || threads > cuda_on_cpu::most_threads || block_z > 64) return invalid;
  if (grid_x == 0 || grid_y == 0 || grid_z == 0 || grid_y > 65535 || grid_z > 65535) return invalid;
  const std::string why = cuda_on_cpu::run(f->kernel, grid, arguments);
  if (why.empty()) return success;
  std::fprintf(stderr, "CUDA on the processor: a kernel cannot end: %s\n", why.c_str());
  return stuck = launch_failed;
}

Status cuStreamCreate(void** stream, unsigned) {
  ENTER;
  return *stream = &the_stream, success;
}
Status cuStreamCreateWithPriority(void** stream, unsigned, int) {
  ENTER;
  return *stream = &the_stream, success;
}
Status cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  ENTER;
  return *least = 0, *greatest = -5, success;
}
Status cuStreamDestroy_v2(void*) {
  ENTER;
  return success;
}
Status cuStreamSynchronize(void*) {
  ENTER;
  return success;
}
Status cuStreamWaitEvent(void*, FakeEvent*, unsigned) {
  ENTER;
  return success;
}
Status cuEventCreate(FakeEvent** event, unsigned) {
  ENTER;
  return *event = new FakeEvent, success;
}
Status cuEventDestroy_v2(FakeEvent* event) {
  ENTER;
  return delete event, success;
}
Status cuEventRecord(FakeEvent* event, void*) {
  ENTER;
  return event->time = std::chrono::steady_clock::now(), success;
}
Status cuEventQuery(FakeEvent*) {
  ENTER;
  return success;
}
Status cuEventSynchronize(FakeEvent*) {
  ENTER;
  return success;
}
Status cuEventElapsedTime(float* milliseconds, FakeEvent* a, FakeEvent* b) {
  ENTER;
  *milliseconds = std::chrono::duration<float, std::milli>(b->time - a->time).count();
  return success;
}

Status cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  ENTER;
  return *total = memory_of(here()), *free = *total - std::min(*total, taken[here()]), success;
}
Status cuMemAlloc_v2(Address* out, std::size_t size) {
  ENTER;
  return take(out, size);
}
Status cuMemFree_v2(Address a) {
  ENTER;
  return give(a);
}
// A pool that keeps nothing: so what is used after its end is noticed.
Status cuDeviceGetDefaultMemPool(void** out, int device) {
  ENTER;
  return *out = &the_pools[device], success;
}
struct PoolAccess {
  int type, device, flags;
};
Status cuMemPoolSetAccess(void*, const PoolAccess* who, std::size_t count) {
  ENTER;
  return count == 1 && who->type == 1 && who->device < device_count() && who->flags == 3 ? success : invalid;
}
Status cuMemPoolSetAttribute(void*, int, void*) {
  ENTER;
  return success;
}
Status cuMemPoolTrimTo(void*, std::size_t) {
  ENTER;
  return success;
}
Status cuMemAllocAsync(Address* out, std::size_t size, void*) {
  ENTER;
  return take(out, size);
}
Status cuMemFreeAsync(Address a, void*) {
  ENTER;
  return give(a);
}
Status cuMemHostAlloc(void** out, std::size_t size, unsigned) {
  ENTER;
  return (*out = std::malloc(size)) != nullptr ? success : no_memory;
}
Status cuMemFreeHost(void* p) {
  ENTER;
  return std::free(p), success;
}

Status cuMemcpyHtoDAsync_v2(Address to, const void* from, std::size_t size, void*) {
  ENTER;
  if (!is_of(to, here())) return invalid;
  return std::memcpy(host(to), from, size), success;
}
Status cuMemcpyDtoHAsync_v2(void* to, Address from, std::size_t size, void*) {
  ENTER;
  if (!is_of(from, here())) return invalid;
  return std::memcpy(to, host(from), size), success;
}
Status cuMemcpy2DAsync_v2(const Copy2D* c, void*) {
  ENTER;
  if (!tessera::support::is_valid(*c)) return invalid;
  if (!is_of(c->from_device, here()) || !is_of(c->to_device, here())) return invalid;
  return tessera::support::copy_rows(*c), success;
}
Status cuMemcpyPeerAsync(Address to, void* to_context, Address from, void* from_context, std::size_t size, void*) {
  ENTER;
  if (!is_of(to, device_of(to_context)) || !is_of(from, device_of(from_context))) return invalid;
  return std::memcpy(host(to), host(from), size), success;
}
Status cuMemsetD8Async(Address to, unsigned char value, std::size_t size, void*) {
  ENTER;
  return std::memset(host(to), value, size), success;
}
}
