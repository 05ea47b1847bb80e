// Compiling, caching and loading; see module.hpp.
#include "run/cuda/module.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "base/files/cache.hpp"
#include "base/text.hpp"
#include "run/cuda/nvrtc.hpp"
#include "run/gpu/errors.hpp"
#include "run/gpu/source.hpp"

namespace tessera::run::cuda {
namespace {

constexpr i64 unasked_shared_bytes = 48 * 1024;  // that every kernel may have

// Code that this driver does not take: damaged, or of a compiler that is newer.
bool unreadable(Status status) {
  return status == error_invalid_image || status == error_no_binary || status == error_invalid_ptx ||
         status == error_unsupported_ptx;
}

}  // namespace

CudaModule::~CudaModule() {
  if (core_.closed()) return;
  const Current current(core_);
  core_.note(core_.driver.module_unload(handle_), "unloading kernels");
}

CudaModule::Kernel& CudaModule::find(const std::string& name) {
  const auto known = kernels_.find(name);
  if (known != kernels_.end()) return known->second;
  Kernel kernel;
  const Status status = core_.driver.module_function(&kernel.function, handle_, name.c_str());
  if (status == error_not_found)
    throw Error(ErrorClass::internal, fmt::format("the compiled module has no kernel {}", base::quoted(name)));
  core_.check(status, "looking up kernel " + base::quoted(name));
  core_.check(core_.driver.function_get(&kernel.shared_bytes, function_shared_bytes, kernel.function),
              "asking about kernel " + base::quoted(name));
  int capability = 0;
  if (core_.driver.function_get(&capability, function_ptx_version, kernel.function) == success)
    kernel.waits = capability >= capability_of_early_blocks;
  kernel.dynamic_bytes = std::max<i64>(0, unasked_shared_bytes - kernel.shared_bytes);
  return kernels_.emplace(name, kernel).first->second;
}

bool CudaModule::waits(const std::string& kernel) {
  const base::Lock lock(mutex_);
  return find(kernel).waits;
}

// More than 48 KiB must be asked for before the launch.
bool CudaModule::allow(Kernel& kernel, i64 shared_bytes) {
  if (shared_bytes <= kernel.dynamic_bytes) return true;
  if (shared_bytes > INT32_MAX) return false;
  const Status status =
      core_.driver.function_set(kernel.function, function_max_dynamic_shared_bytes, static_cast<int>(shared_bytes));
  if (status == error_invalid_value) return false;
  core_.check(status, "asking for shared memory");
  kernel.dynamic_bytes = shared_bytes;
  return true;
}

Function CudaModule::ready(const std::string& name, i64 shared_bytes) {
  const base::Lock lock(mutex_);
  Kernel& kernel = find(name);
  if (!allow(kernel, shared_bytes)) {
    const int most = core_.attribute(max_shared_memory_per_block_optin, unasked_shared_bytes);
    throw Error(
        ErrorClass::device,
        fmt::format("kernel {} asks for {} bytes of shared memory, besides {} that it declares; {} has {} a block",
                    base::quoted(name), shared_bytes, kernel.shared_bytes, core_.label, most));
  }
  return kernel.function;
}

gpu::Module::Usage CudaModule::usage(const std::string& name, int block_threads, i64 shared_bytes) {
  core_.require_open();
  const Current current(core_);
  const base::Lock lock(mutex_);
  Kernel& kernel = find(name);
  const Driver& d = core_.driver;
  Usage usage;
  int local = -1;
  const std::string doing = "asking about kernel " + base::quoted(name);
  core_.check(d.function_get(&usage.registers, function_registers, kernel.function), doing);
  core_.check(d.function_get(&local, function_local_bytes, kernel.function), doing);
  core_.check(d.function_get(&usage.threads_per_block, function_max_threads_per_block, kernel.function), doing);
  usage.local_bytes = local;
  usage.shared_bytes = kernel.shared_bytes;
  usage.blocks_per_multiprocessor = 0;
  if (block_threads < 1 || block_threads > usage.threads_per_block || !allow(kernel, shared_bytes)) return usage;
  core_.check(d.occupancy(&usage.blocks_per_multiprocessor, kernel.function, block_threads,
                          static_cast<std::size_t>(shared_bytes)),
              doing);
  return usage;
}

std::shared_ptr<Modules::Entry> Modules::entry_of(const base::Digest& key) {
  const base::Lock lock(mutex_);
  if (entries_.size() > 1024)  // forget what nobody holds any more
    std::erase_if(entries_, [](const auto& e) { return e.second.use_count() == 1 && e.second->module.expired(); });
  auto& entry = entries_[key];
  if (!entry) entry = std::make_shared<Entry>();
  return entry;
}

// Null when the driver does not take this code.
std::shared_ptr<CudaModule> Modules::open(const std::string& code) {
  ModuleHandle handle = nullptr;
  const Status status = core_.with_memory([&] { return core_.driver.module_load(&handle, code.c_str()); });
  if (unreadable(status)) return nullptr;
  if (status == error_out_of_memory) throw gpu::OutOfMemory(core_.label, static_cast<i64>(code.size()), -1);
  core_.check(status, "loading kernels");
  return std::make_shared<CudaModule>(core_, handle);
}

std::shared_ptr<gpu::Module> Modules::load(const std::string& source, gpu::Arithmetic arithmetic) {
  core_.require_open();
  const Nvrtc& compiler = nvrtc();
  const int capability = 10 * core_.attribute(compute_capability_major) + core_.attribute(compute_capability_minor);
  const auto architecture = architecture_for(compiler, capability);
  if (!architecture)
    throw Error(ErrorClass::device,
                fmt::format("NVRTC {} compiles for sm_{} and newer; {} is sm_{}", compiler.version(),
                            compiler.architectures.front(), core_.label, capability),
                compiler.notes, "let $TESSERA_NVRTC name an older libnvrtc.so");
  const std::vector<std::string> options = nvrtc_options(arithmetic);
  const base::Digest key = gpu::source_key("cuda", source, options, {compiler.version(), architecture->option});
  const std::shared_ptr<Entry> entry = entry_of(key);
  const base::Lock lock(entry->mutex);
  if (auto alive = entry->module.lock()) return alive;

  const Current current(core_);
  base::Cache& cache = base::Cache::user();
  std::shared_ptr<CudaModule> module;
  if (const auto cached = cache.get(key)) module = open(*cached);
  if (!module) {
    const NvrtcResult result = compile(compiler, source, *architecture, options);
    const std::string name = "NVRTC " + compiler.version();
    const std::string log = result.log.empty() ? "error: " + result.failure : result.log;
    if (!result.done) gpu::throw_not_compiled({name, "cu", source, log, key});
    module = open(result.code);
    if (!module)
      throw Error(ErrorClass::device,
                  fmt::format("the driver of {}, which knows CUDA {}, does not take the code of {} for {}", core_.label,
                              cuda_version(core_.driver.version), name, architecture->option),
                  compiler.notes, "let $TESSERA_NVRTC name a libnvrtc.so that is no newer than the driver");
    cache.put(key, result.code);
  }
  entry->module = module;
  return module;
}

}  // namespace tessera::run::cuda
