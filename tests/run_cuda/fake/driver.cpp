// A CUDA driver for tests: one device whose memory is the host's. Work handed to a stream is done when somebody waits,
// as late as can be, so that memory given back too early is noticed. Calls without a current context fail as they do in
// truth.
//
// FAKE_CUDA_VERSION, _DEVICES, _MEMORY (bytes), _CAPABILITY (90), _INIT (status of cuInit) say what it is.
// The functions fake_cuda_* at the end are for the tests. Kernels: "add" adds floats, "fault" ends the context, others
// do nothing.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "support/cuda_driver.hpp"

namespace {

using tessera::support::Address;
using tessera::support::Copy2D;
using tessera::support::host;
using tessera::support::Status;

struct FakeFunction {
  std::string name;
  int allowed = 48 * 1024;
};
struct FakeModule {
  std::string image;
  std::map<std::string, FakeFunction> functions;
};
struct Work {
  std::vector<Address> uses;
  std::function<void()> run;
};
struct FakeStream {
  std::deque<Work> work;
};
struct FakeEvent {
  FakeStream* stream = nullptr;
  bool pending = false;
  int time = 0;
};
struct Fault {
  std::string name;
  int calls_left;
  Status status;
};

long long setting(const char* name, long long otherwise) {
  const char* text = std::getenv(name);
  return text ? std::atoll(text) : otherwise;
}

std::mutex mutex;
std::map<std::string, int> counts;
std::string launches, told;  // name, grid and block, a line each
std::vector<Fault> faults;
Status stuck = 0;
int misuses = 0, now = 0;
std::map<Address, std::size_t> blocks;     // in use
std::multimap<std::size_t, Address> pool;  // freed, kept
[[maybe_unused]] const struct PoolEnds {
  ~PoolEnds() {
    for (const auto& [size, address] : pool) std::free(reinterpret_cast<void*>(address));
  }
} pool_ends;
std::set<FakeStream*> streams;
thread_local void* current = nullptr;
int the_context = 0;
[[maybe_unused]] int the_pool = 0;

bool stays(Status s) {
  return s == 700 || s == 719 || s == 999;
}

// Counts the call; what it is to return at once.
Status enter(const char* name, bool in_context = true) {
  ++counts[name];
  if (stuck != 0) return stuck;
  for (Fault& f : faults) {
    if (f.name != name || --f.calls_left != 0) continue;
    if (stays(f.status)) stuck = f.status;
    return f.status;
  }
  return in_context && current != &the_context ? 201 : 0;
}

std::size_t taken() {
  std::size_t sum = 0;
  for (const auto& [address, size] : blocks) sum += size;
  for (const auto& [size, address] : pool) sum += size;
  return sum;
}

std::size_t capacity() {
  return static_cast<std::size_t>(setting("FAKE_CUDA_MEMORY", 1 << 30));
}

bool inside(Address a, std::size_t bytes) {
  auto above = blocks.upper_bound(a);
  if (above == blocks.begin()) return false;
  --above;
  return a + bytes <= above->first + above->second;
}

void run_one(FakeStream& s) {
  Work work = std::move(s.work.front());
  s.work.pop_front();
  ++now;
  if (stuck != 0) return;
  for (Address a : work.uses)
    if (!inside(a, 1)) ++misuses;
  work.run();
}

Status drain(FakeStream& s) {
  while (!s.work.empty()) run_one(s);
  return stuck;
}

void give(Address a) {
  for (FakeStream* s : streams)
    for (const Work& w : s->work)
      for (Address used : w.uses)
        if (used >= a && used < a + std::max<std::size_t>(blocks[a], 1)) ++misuses;
}

Status take(Address* out, std::size_t size) {
  if (size == 0) return 1;
  if (taken() + size > capacity()) return 2;
  *out = reinterpret_cast<Address>(std::aligned_alloc(256, (size + 255) / 256 * 256));
  blocks[*out] = size;
  return 0;
}

}  // namespace

#define ENTER                        \
  const std::lock_guard lock(mutex); \
  if (const Status s = enter(__func__)) return s
#define ENTER_FREE                   \
  const std::lock_guard lock(mutex); \
  if (const Status s = enter(__func__, false)) return s

extern "C" {
Status cuInit(unsigned) {
  ENTER_FREE;
  return static_cast<Status>(setting("FAKE_CUDA_INIT", 0));
}
Status cuDriverGetVersion(int* v) {
  *v = static_cast<int>(setting("FAKE_CUDA_VERSION", 12080));
  return 0;
}
Status cuGetErrorName(Status s, const char** name) {
  *name = s == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : s == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_FAKE";
  return 0;
}
Status cuGetErrorString(Status s, const char** text) {
  *text = s == 700 ? "an illegal memory access was encountered" : "a fake error";
  return 0;
}
Status cuDeviceGetCount(int* n) {
  *n = static_cast<int>(setting("FAKE_CUDA_DEVICES", 1));
  return *n > 0 ? 0 : 100;
}
Status cuDeviceGet(int* device, int index) {
  *device = index + 40;  // an ordinal need not be the index
  return 0;
}
Status cuDeviceGetName(char* name, int size, int) {
  std::strncpy(name, "Fake GPU", static_cast<std::size_t>(size));
  return 0;
}
Status cuDeviceTotalMem_v2(std::size_t* bytes, int) {
  *bytes = capacity();
  return 0;
}
Status cuDeviceGetAttribute(int* value, int what, int device) {
  if (device < 40) return 101;
  const int capability = static_cast<int>(setting("FAKE_CUDA_CAPABILITY", 90));
  return tessera::support::look_up(value, tessera::support::attributes(132, 62914560, capability), what);
}
Status cuDevicePrimaryCtxRetain(void** context, int) {
  ENTER_FREE;
  *context = &the_context;
  return 0;
}
Status cuCtxGetCurrent(void** context) {
  *context = current;
  return 0;
}
Status cuCtxSetCurrent(void* context) {
  current = context;
  return 0;
}
Status cuCtxSynchronize() {
  ENTER;
  for (FakeStream* s : streams) drain(*s);
  return stuck;
}
Status cuModuleLoadData(FakeModule** module, const void* image) {
  ENTER;
  const char* text = static_cast<const char*>(image);
  if (std::memcmp(text,
                  "\x7f"
                  "ELF",
                  4) == 0) {  // of the real compiler: names are in there somewhere
    std::uint64_t sections = 0;
    std::uint16_t size = 0, count = 0;
    std::memcpy(&sections, text + 40, 8);
    std::memcpy(&size, text + 58, 2);
    std::memcpy(&count, text + 60, 2);
    *module = new FakeModule{std::string(text, sections + std::size_t{size} * count), {}};
    return 0;
  }
  if (std::strncmp(text, "fake code", 9) != 0) return 200;
  *module = new FakeModule{text, {}};
  return 0;
}
Status cuModuleUnload(FakeModule* module) {
  ENTER;
  delete module;
  return 0;
}
Status cuModuleGetFunction(FakeFunction** function, FakeModule* module, const char* name) {
  ENTER;
  if (module->image.find(name) == std::string::npos) return 500;
  *function = &module->functions[name];
  (*function)->name = name;
  return 0;
}
Status cuFuncGetAttribute(int* value, int what, FakeFunction*) {
  ENTER;
  *value = what == 0 ? 1024 : what == 1 ? 1024 : what == 4 ? 40 : what == 5 ? 90 : 0;
  return 0;
}
Status cuFuncSetAttribute(FakeFunction* f, int what, int value) {
  ENTER;
  if (what != 8 || value > 232448 - 1024) return 1;
  f->allowed = value;
  return 0;
}
Status cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks_at_once, FakeFunction* f, int threads,
                                                   std::size_t shared) {
  ENTER;
  if (static_cast<int>(shared) > f->allowed) return 1;
  *blocks_at_once = std::min(2048 / threads, static_cast<int>(233472 / (shared + 2048)));
  return 0;
}
Status cuLaunchKernel(FakeFunction* f, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                      unsigned block_y, unsigned block_z, unsigned shared, FakeStream* stream, void** arguments,
                      void**) {
  ENTER;
  if (static_cast<int>(shared) > f->allowed) return 1;
  launches += f->name;
  for (const unsigned n : {grid_x, grid_y, grid_z, block_x, block_y, block_z}) launches += " " + std::to_string(n);
  launches += "\n";
  if (f->name == "fault") {
    stream->work.push_back({{}, [] { stuck = 700; }});
  } else if (f->name == "add") {
    Address p[3];
    for (int i = 0; i < 3; ++i) p[i] = *static_cast<Address*>(arguments[i]);
    const std::int64_t n = *static_cast<std::int64_t*>(arguments[3]);
    stream->work.push_back({{p[0], p[1], p[2]}, [=] {
                              for (std::int64_t i = 0; i < n; ++i)
                                reinterpret_cast<float*>(p[2])[i] =
                                    reinterpret_cast<float*>(p[0])[i] + reinterpret_cast<float*>(p[1])[i];
                            }});
  } else {
    stream->work.push_back({{}, [] {}});
  }
  return 0;
}
struct FakeLaunch {
  unsigned grid[3], block[3], shared;
  FakeStream* stream;
  const int* attributes;
  unsigned count;
};
Status cuLaunchKernelEx(const FakeLaunch* how, FakeFunction* f, void** arguments, void** extra) {
  // One attribute of 72 bytes: its number (6: programmatic stream serialization), padding, its value.
  if (how->count != 1 || how->attributes[0] != 6 || how->attributes[2] != 1) return 1;
  return cuLaunchKernel(f, how->grid[0], how->grid[1], how->grid[2], how->block[0], how->block[1], how->block[2],
                        how->shared, how->stream, arguments, extra);
}
Status cuStreamCreate(FakeStream** stream, unsigned flags) {
  ENTER;
  if (flags != 1) return 1;
  streams.insert(*stream = new FakeStream);
  return 0;
}
Status cuStreamDestroy_v2(FakeStream* stream) {
  ENTER;
  streams.erase(stream);
  delete stream;
  return 0;
}
Status cuStreamSynchronize(FakeStream* stream) {
  ENTER;
  return drain(*stream);
}
Status cuEventCreate(FakeEvent** event, unsigned flags) {
  ENTER;
  if (flags != 0 && flags != 2) return 1;
  *event = new FakeEvent;
  return 0;
}
Status cuEventDestroy_v2(FakeEvent* event) {
  ENTER;
  delete event;
  return 0;
}
Status cuEventRecord(FakeEvent* event, FakeStream* stream) {
  ENTER;
  event->stream = stream;
  event->pending = true;
  stream->work.push_back({{}, [event] {
                            event->pending = false;
                            event->time = --now;  // takes no time
                          }});
  return 0;
}
Status cuEventQuery(FakeEvent* event) {  // the device gets one thing done between two questions
  ENTER;
  if (!event->pending) return 0;
  run_one(*event->stream);
  return stuck != 0 ? stuck : event->pending ? 600 : 0;
}
Status cuEventSynchronize(FakeEvent* event) {
  ENTER;
  while (event->pending && stuck == 0) run_one(*event->stream);
  return stuck;
}
Status cuEventElapsedTime(float* time, FakeEvent* a, FakeEvent* b) {
  ENTER;
  *time = static_cast<float>(b->time - a->time);
  return 0;
}
Status cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  ENTER;
  *total = capacity();
  *free = capacity() - taken();
  return 0;
}
Status cuMemAlloc_v2(Address* out, std::size_t size) {
  ENTER;
  return take(out, size);
}
Status cuMemFree_v2(Address a) {
  ENTER;
  if (!blocks.count(a)) return 1;
  give(a);
  blocks.erase(a);
  std::free(host(a));
  return 0;
}
#ifndef FAKE_WITHOUT_POOLS
Status cuDeviceGetDefaultMemPool(void** out, int) {
  ENTER;
  *out = &the_pool;
  return 0;
}
Status cuMemPoolSetAttribute(void* p, int what, void* value) {
  ENTER;
  std::uint64_t number = 0;
  std::memcpy(&number, value, sizeof number);
  return p == &the_pool && what == 4 && number == UINT64_MAX ? 0 : 1;
}
Status cuMemPoolTrimTo(void*, std::size_t) {
  ENTER;
  for (const auto& [size, a] : pool) std::free(host(a));
  pool.clear();
  return 0;
}
Status cuMemAllocAsync(Address* out, std::size_t size, FakeStream*) {
  ENTER;
  const auto kept = pool.find(size);
  if (kept == pool.end()) return take(out, size);
  blocks[*out = kept->second] = size;
  pool.erase(kept);
  return 0;
}
Status cuMemFreeAsync(Address a, FakeStream*) {
  ENTER;
  if (!blocks.count(a)) return 1;
  give(a);
  pool.emplace(blocks[a], a);
  blocks.erase(a);
  return 0;
}
#endif
Status cuMemHostAlloc(void** out, std::size_t size, unsigned) {
  ENTER;
  *out = std::malloc(size);
  return 0;
}
Status cuMemFreeHost(void* p) {
  ENTER;
  std::free(p);
  return 0;
}
#ifndef FAKE_WITHOUT_COPIES
Status cuMemcpyHtoDAsync_v2(Address to, const void* from, std::size_t size, FakeStream* stream) {
  ENTER;
  stream->work.push_back({{to, to + size - 1}, [=] { std::memcpy(host(to), from, size); }});
  return 0;
}
#endif
Status cuMemcpyDtoHAsync_v2(void* to, Address from, std::size_t size, FakeStream* stream) {
  ENTER;
  stream->work.push_back({{from, from + size - 1}, [=] { std::memcpy(to, host(from), size); }});
  return 0;
}
Status cuMemcpy2DAsync_v2(const Copy2D* copy, FakeStream* stream) {
  ENTER;
  const Copy2D c = *copy;
  if (!tessera::support::is_valid(c)) return 1;
  std::vector<Address> uses;
  const auto use = [&](Address a, std::size_t pitch) {
    uses.push_back(a);
    uses.push_back(a + (c.height - 1) * pitch + c.width - 1);
  };
  if (c.from_type == tessera::support::device_memory) use(c.from_device, c.from_pitch);
  if (c.to_type == tessera::support::device_memory) use(c.to_device, c.to_pitch);
  stream->work.push_back({std::move(uses), [c] { tessera::support::copy_rows(c); }});
  return 0;
}
Status cuMemsetD8Async(Address to, unsigned char value, std::size_t size, FakeStream* stream) {
  ENTER;
  stream->work.push_back({{to, to + size - 1}, [=] { std::memset(host(to), value, size); }});
  return 0;
}

int fake_cuda_count(const char* name) {
  const std::lock_guard lock(mutex);
  return counts[name];
}
// A line for every launch since the last call.
const char* fake_cuda_launches() {
  const std::lock_guard lock(mutex);
  told.swap(launches);
  launches.clear();
  return told.c_str();
}
int fake_cuda_misuses() {
  const std::lock_guard lock(mutex);
  return misuses;
}
// The call of that name after `calls` - 1 more returns `status`.
void fake_cuda_fail(const char* name, int calls, int status) {
  const std::lock_guard lock(mutex);
  faults.push_back({name, calls, status});
}
}
