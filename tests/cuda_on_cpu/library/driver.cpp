// A CUDA driver for tests that runs kernels on the processor (machine.hpp): work is done when it is handed over. One
// device, that of tests/run_cuda in a small edition. Its memory is filled with 0xff when it is handed out and lies
// between pages that nobody may touch.
//
// A kernel that can never end says why on the standard error output and ends the context, as an error of a GPU does.
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "machine.hpp"
#include "package.hpp"
#include "support/cuda_driver.hpp"

namespace {

using tessera::support::Address;
using tessera::support::Copy2D;
using tessera::support::host;
using tessera::support::Status;

enum : Status { success = 0, invalid = 1, no_memory = 2, no_image = 200, no_context = 201, not_found = 500 };
constexpr Status launch_failed = 719;

constexpr std::size_t capacity = std::size_t{4} << 30, page = 4096;

struct FakeModule {
  void* library = nullptr;
  int file = -1;
  std::map<std::string, cuda_on_cpu::Kernel> kernels;
};
using FakeFunction = cuda_on_cpu::Kernel;
struct FakeEvent {
  std::chrono::steady_clock::time_point time;
};

std::mutex mutex;
Status stuck = success;
std::map<Address, std::size_t> blocks;
std::size_t taken = 0;
thread_local void* current = nullptr;
int the_context = 0, the_pool = 0, the_stream = 0;

Status enter() {
  return stuck != success ? stuck : current != &the_context ? no_context : success;
}

Status take(Address* out, std::size_t size) {
  if (size == 0) return invalid;
  const std::size_t held = (size + page - 1) / page * page;
  if (taken + held > capacity) return no_memory;
  void* const memory = mmap(nullptr, held + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return no_memory;
  char* const begin = static_cast<char*>(memory) + page;
  mprotect(begin, held, PROT_READ | PROT_WRITE);
  std::memset(begin, 0xff, held);
  *out = reinterpret_cast<Address>(begin);
  blocks[*out] = held;
  taken += held;
  return success;
}

Status give(Address a) {
  const auto found = blocks.find(a);
  if (found == blocks.end()) return invalid;
  munmap(host(a) - page, found->second + 2 * page);
  taken -= found->second;
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
  return *n = 1, success;
}
Status cuDeviceGet(int* device, int) {
  return *device = 0, success;
}
Status cuDeviceGetName(char* name, int size, int) {
  std::snprintf(name, static_cast<std::size_t>(size), "CUDA on the processor");
  return success;
}
Status cuDeviceTotalMem_v2(std::size_t* bytes, int) {
  return *bytes = capacity, success;
}
Status cuDeviceGetAttribute(int* value, int what, int) {
  // Few multiprocessors: so small images already have several strips, and long ones.
  return tessera::support::look_up(value, tessera::support::attributes(4, 2 << 20, 90), what);
}
Status cuDevicePrimaryCtxRetain(void** context, int) {
  return *context = &the_context, success;
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
  FakeFunction kernel;
  kernel.call = symbol<void (*)(void**)>(*module, std::string(CUDA_CALL_PREFIX) + name);
  if (kernel.call == nullptr) return not_found;
  symbol<void (*)(char**, char**)>(*module, CUDA_SHARED_NAME)(&kernel.shared_begin, &kernel.shared_end);
  return *function = &(module->kernels[name] = kernel), success;
}
Status cuFuncGetAttribute(int* value, int what, FakeFunction*) {
  ENTER;
  return *value = what == 0 ? 1024 : what == 4 ? 40 : 0, success;
}
Status cuFuncSetAttribute(FakeFunction*, int, int) {
  ENTER;
  return invalid;  // kernels have no shared memory but what they declare
}
Status cuOccupancyMaxActiveBlocksPerMultiprocessor(int* at_once, FakeFunction*, int threads, std::size_t shared) {
  ENTER;
  if (threads < 1 || shared > 0) return invalid;
  return *at_once = 2048 / std::max(threads, 256), success;
}
Status cuLaunchKernel(FakeFunction* f, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                      unsigned block_y, unsigned block_z, unsigned shared, void*, void** arguments, void**) {
  ENTER;
  const cuda_on_cpu::Grid grid = {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}};
  const auto threads = std::uint64_t{block_x} * block_y * block_z;
  if (shared > 0 || threads == 0 || threads > cuda_on_cpu::most_threads || block_z > 64) return invalid;
  if (grid_x == 0 || grid_y == 0 || grid_z == 0 || grid_y > 65535 || grid_z > 65535) return invalid;
  const std::string why = cuda_on_cpu::run(*f, grid, arguments);
  if (why.empty()) return success;
  std::fprintf(stderr, "CUDA on the processor: a kernel cannot end: %s\n", why.c_str());
  return stuck = launch_failed;
}

Status cuStreamCreate(void** stream, unsigned) {
  ENTER;
  return *stream = &the_stream, success;
}
Status cuStreamDestroy_v2(void*) {
  ENTER;
  return success;
}
Status cuStreamSynchronize(void*) {
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
  return *free = capacity - taken, *total = capacity, success;
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
Status cuDeviceGetDefaultMemPool(void** out, int) {
  ENTER;
  return *out = &the_pool, success;
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
  return std::memcpy(host(to), from, size), success;
}
Status cuMemcpyDtoHAsync_v2(void* to, Address from, std::size_t size, void*) {
  ENTER;
  return std::memcpy(to, host(from), size), success;
}
Status cuMemcpy2DAsync_v2(const Copy2D* c, void*) {
  ENTER;
  if (!tessera::support::is_valid(*c)) return invalid;
  return tessera::support::copy_rows(*c), success;
}
Status cuMemsetD8Async(Address to, unsigned char value, std::size_t size, void*) {
  ENTER;
  return std::memset(host(to), value, size), success;
}
}
