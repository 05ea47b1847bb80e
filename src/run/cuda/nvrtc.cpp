// Opening and calling NVRTC; see nvrtc.hpp.
#include "run/cuda/nvrtc.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "base/process/dynamic_library.hpp"
#include "base/process/fork.hpp"
#include "run/cuda/driver.hpp"

namespace tessera::run::cuda {

using Result = int;  // nvrtcResult
using Program = struct ProgramHandle*;

#define TESSERA_NVRTC_FUNCTIONS(X)                                                                                   \
  X(version, "nvrtcVersion", (int*, int*))                                                                           \
  X(architecture_count, "nvrtcGetNumSupportedArchs", (int*))                                                         \
  X(architectures, "nvrtcGetSupportedArchs", (int*))                                                                 \
  X(create, "nvrtcCreateProgram", (Program*, const char*, const char*, int, const char* const*, const char* const*)) \
  X(destroy, "nvrtcDestroyProgram", (Program*))                                                                      \
  X(compile, "nvrtcCompileProgram", (Program, int, const char* const*))                                              \
  X(log_size, "nvrtcGetProgramLogSize", (Program, std::size_t*))                                                     \
  X(log, "nvrtcGetProgramLog", (Program, char*))                                                                     \
  X(machine_size, "nvrtcGetCUBINSize", (Program, std::size_t*))                                                      \
  X(machine, "nvrtcGetCUBIN", (Program, char*))                                                                      \
  X(virtual_size, "nvrtcGetPTXSize", (Program, std::size_t*))                                                        \
  X(virtual_code, "nvrtcGetPTX", (Program, char*))

#define TESSERA_NVRTC_MEMBER(member, symbol, arguments) Result(*member) arguments = nullptr;
struct NvrtcFunctions {
  TESSERA_NVRTC_FUNCTIONS(TESSERA_NVRTC_MEMBER)
  const char* (*error_string)(Result) = nullptr;
};
#undef TESSERA_NVRTC_MEMBER

namespace {

namespace fs = std::filesystem;

constexpr const char* variable = "TESSERA_NVRTC";

// NVRTC as Python packages bring it, in the environment that is active.
void add_python_packages(std::vector<std::string>& names, int major) {
  for (const char* active : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const char* prefix = std::getenv(active);
    if (prefix == nullptr || *prefix == '\0') continue;
    std::error_code ec;
    for (fs::directory_iterator it(fs::path(prefix) / "lib", ec), end; !ec && it != end; it.increment(ec)) {
      if (!it->path().filename().string().starts_with("python")) continue;
      const fs::path packages = it->path() / "site-packages" / "nvidia";
      for (const std::string& folder : {std::string("cuda_nvrtc"), fmt::format("cu{}", major)}) {
        const fs::path file = packages / folder / "lib" / fmt::format("libnvrtc.so.{}", major);
        if (fs::exists(file, ec)) names.push_back(file.string());
      }
    }
  }
}

// Code of a compiler that is newer than the driver may not load, so those come last.
std::vector<std::string> candidates(int driver_major) {
  std::vector<int> majors, newer;
  for (int major : {13, 12, 11}) (driver_major == 0 || major <= driver_major ? majors : newer).push_back(major);
  majors.insert(majors.end(), newer.begin(), newer.end());
  std::vector<std::string> names;
  for (int major : majors) {
    names.push_back(major == 11 ? "libnvrtc.so.11.2" : fmt::format("libnvrtc.so.{}", major));
    add_python_packages(names, major);
  }
  return names;
}

bool bind(NvrtcFunctions& f, const base::DynamicLibrary& library, std::string& lacking) {
#define TESSERA_NVRTC_BIND(member, symbol, arguments) \
  if (!library.bind(f.member, symbol)) lacking = symbol;
  TESSERA_NVRTC_FUNCTIONS(TESSERA_NVRTC_BIND)
#undef TESSERA_NVRTC_BIND
  if (!library.bind(f.error_string, "nvrtcGetErrorString")) lacking = "nvrtcGetErrorString";
  return lacking.empty();
}

Nvrtc open_nvrtc() {
  Nvrtc n;
  const base::DynamicLibrary library = base::DynamicLibrary::find(
      {.what = "NVRTC", .environment = variable, .names = candidates(driver().version / 1000)});
  if (!library) {
    n.missing = "NVRTC, which compiles for CUDA, is not available";
    for (const std::string& line : library.tried()) n.notes.push_back("tried " + line);
    n.notes.push_back(fmt::format("${} may name the file libnvrtc.so.12 of a CUDA toolkit", variable));
    return n;
  }
  n.name = library.name();
  n.notes.push_back("NVRTC is " + n.name);
  auto functions = std::make_unique<NvrtcFunctions>();
  std::string lacking;
  int count = 0;
  if (!bind(*functions, library, lacking)) {
    n.missing = fmt::format("NVRTC has no function {}; version 11.2 or newer is needed", lacking);
  } else if (functions->version(&n.major, &n.minor) != 0 || functions->architecture_count(&count) != 0 || count < 1) {
    n.missing = "NVRTC does not say its version and what it compiles for";
  } else {
    n.architectures.resize(static_cast<std::size_t>(count));
    functions->architectures(n.architectures.data());
    std::sort(n.architectures.begin(), n.architectures.end());
    n.functions = functions.release();  // for the life of the process, like the library
  }
  return n;
}

template <class Size, class Get>
std::string fetch(Program program, Size size_of, Get get) {
  std::size_t size = 0;
  if (size_of(program, &size) != 0 || size == 0) return "";
  std::string text(size, '\0');
  if (get(program, text.data()) != 0) return "";
  return text;
}

}  // namespace

std::string Nvrtc::version() const {
  return fmt::format("{}.{}", major, minor);
}

const Nvrtc& nvrtc() {
  static constinit base::Once<Nvrtc> opened;
  return opened.get(open_nvrtc);
}

std::optional<Architecture> architecture_for(const Nvrtc& n, int number) {
  const auto above = std::upper_bound(n.architectures.begin(), n.architectures.end(), number);
  if (above == n.architectures.begin()) return std::nullopt;
  const int best = *(above - 1);
  // Machine code runs on its own architecture (that of a lower minor version would too; the exact one is faster).
  if (best == number) return Architecture{fmt::format("sm_{}", best), true};
  return Architecture{fmt::format("compute_{}", best), false};
}

std::vector<std::string> nvrtc_options(gpu::Arithmetic arithmetic) {
  if (arithmetic == gpu::Arithmetic::exact) return {"--std=c++17", "-default-device", "--fmad=false"};
  // Quotients and square roots within 2 units in the last place, a fifth of the instructions.
  const char* const sums = arithmetic == gpu::Arithmetic::contracted ? "--fmad=true" : "--fmad=false";
  return {"--std=c++17", "-default-device", sums, "--prec-div=false", "--prec-sqrt=false"};
}

NvrtcResult compile(const Nvrtc& n, const std::string& source, const Architecture& architecture,
                    const std::vector<std::string>& options) {
  const NvrtcFunctions& f = *n.functions;
  NvrtcResult result;
  Program program = nullptr;
  Result status = f.create(&program, source.c_str(), "kernel.cu", 0, nullptr, nullptr);
  if (status != 0) {
    result.failure = f.error_string(status);
    return result;
  }
  const std::string target = "--gpu-architecture=" + architecture.option;
  std::vector<const char*> words = {target.c_str()};
  for (const std::string& option : options) words.push_back(option.c_str());
  status = f.compile(program, static_cast<int>(words.size()), words.data());
  result.log = fetch(program, f.log_size, f.log);
  while (!result.log.empty() && result.log.back() == '\0') result.log.pop_back();
  if (status == 0) {
    result.code = architecture.machine_code ? fetch(program, f.machine_size, f.machine)
                                            : fetch(program, f.virtual_size, f.virtual_code);
    result.done = !result.code.empty();
    if (!result.done) result.failure = "it gives no code";
  } else {
    result.failure = f.error_string(status);
  }
  f.destroy(&program);
  return result;
}

}  // namespace tessera::run::cuda
