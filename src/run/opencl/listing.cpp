// Which devices there are. A device is left out, with a note, when it cannot run our kernels: no compiler, a version
// before 1.2, no 64-bit integers (the embedded profile may lack them), another byte order than ours.
#include "run/opencl/listing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <optional>

#include "base/process/fork.hpp"
#include "base/text.hpp"
#include "run/opencl/opencl.hpp"

namespace tessera::run::opencl {
namespace {

using Get = cl::Int (*)(cl::Device, cl::UInt, std::size_t, void*, std::size_t*);

// A text of any object that OpenCL describes; "" when there is none.
template <class Object>
std::string text_of(cl::Int (*get)(Object, cl::UInt, std::size_t, void*, std::size_t*), Object object, cl::UInt what) {
  std::size_t size = 0;
  if (get(object, what, 0, nullptr, &size) != cl::success || size == 0) return "";
  std::string text(size, '\0');
  if (get(object, what, size, text.data(), nullptr) != cl::success) return "";
  text.resize(std::min(text.size(), text.find('\0')));
  return std::string(base::trim(text));
}

template <class T>
std::optional<T> value_of(cl::Device device, cl::UInt what) {
  T value{};
  if (api().clGetDeviceInfo(device, what, sizeof value, &value, nullptr) != cl::success) return std::nullopt;
  return value;
}

// A count or a size as i64, whatever is larger cut off; 0 when the device does not say.
template <class T>
i64 size_of(cl::Device device, cl::UInt what) {
  const T value = value_of<T>(device, what).value_or(0);
  return static_cast<i64>(std::min<std::uint64_t>(value, INT64_MAX));
}

int count_of(cl::Device device, cl::UInt what) {
  return static_cast<int>(std::min<i64>(size_of<cl::UInt>(device, what), INT32_MAX));
}

// "OpenCL 3.0 CUDA" is 30; 0 when it is no such text.
int version_number(const std::string& version) {
  const auto words = base::split_words(version);
  if (words.size() < 2 || words[0] != "OpenCL") return 0;
  const auto parts = base::split(words[1], '.');
  const auto major = base::parse_integer(parts[0]);
  const auto minor = base::parse_integer(parts.size() > 1 ? parts[1] : "0");
  return major && minor ? static_cast<int>(std::clamp<i64>(10 * *major + *minor, 0, 1000)) : 0;
}

bool has_word(const std::string& text, std::string_view word) {
  const auto words = base::split_words(text);
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Why the device cannot be used; "" when it can.
std::string unusable(cl::Device device, int version, const std::string& extensions) {
  if (value_of<cl::UInt>(device, cl::device_available).value_or(0) == 0) return "it is not available";
  if (value_of<cl::UInt>(device, cl::device_compiler_available).value_or(0) == 0) return "it has no compiler";
  if (version < 12) return "its version of OpenCL is before 1.2";
  if (value_of<cl::UInt>(device, cl::device_endian_little).value_or(0) == 0) return "its byte order is another";
  if (text_of(api().clGetDeviceInfo, device, cl::device_profile) != "FULL_PROFILE" &&
      !has_word(extensions, "cles_khr_int64"))
    return "it has no 64-bit integers";
  return "";
}

// Threads that go in step: a vendor's own word, else what OpenCL 3.0 prefers as a multiple, else 1.
int lanes_of(cl::Device device, int version, const std::string& extensions) {
  int lanes = 0;
  if (has_word(extensions, "cl_nv_device_attribute_query")) lanes = count_of(device, cl::device_warp_size_nv);
  if (has_word(extensions, "cl_amd_device_attribute_query")) lanes = count_of(device, cl::device_wavefront_width_amd);
  if (lanes == 0 && version >= 30)
    lanes = static_cast<int>(
        std::min<i64>(size_of<std::size_t>(device, cl::device_preferred_work_group_size_multiple), 1024));
  return std::max(lanes, 1);
}

gpu::Limits limits_of(cl::Device device, int version, const std::string& extensions) {
  gpu::Limits l;
  l.target = "opencl";
  l.name = text_of(api().clGetDeviceInfo, device, cl::device_name);
  l.multiprocessors = std::max(count_of(device, cl::device_max_compute_units), 1);
  l.lanes = lanes_of(device, version, extensions);
  l.threads_per_block =
      static_cast<int>(std::clamp<i64>(size_of<std::size_t>(device, cl::device_max_work_group_size), 1, INT32_MAX));
  l.shared_bytes_per_block = size_of<cl::Flags>(device, cl::device_local_mem_size);
  l.l2_bytes = size_of<cl::Flags>(device, cl::device_global_mem_cache_size);
  l.memory_bytes = size_of<cl::Flags>(device, cl::device_global_mem_size);
  l.parameter_bytes = size_of<std::size_t>(device, cl::device_max_parameter_size);
  l.gigahertz = count_of(device, cl::device_max_clock_frequency) / 1000.0;
  l.halves = true;  // vload_half and vstore_half are part of every version
  l.doubles = value_of<cl::Flags>(device, cl::device_double_fp_config).value_or(0) != 0;
  l.integrated = value_of<cl::UInt>(device, cl::device_host_unified_memory).value_or(0) != 0;
  l.compiled_for = text_of(api().clGetDeviceInfo, device, cl::device_version);
  if (has_word(extensions, "cl_nv_device_attribute_query")) {
    const int major = count_of(device, cl::device_compute_capability_major_nv);
    const int minor = count_of(device, cl::device_compute_capability_minor_nv);
    l.compiled_for = fmt::format("sm_{}{}", major, minor);
    l.registers_per_multiprocessor = count_of(device, cl::device_registers_per_block_nv);
    l.shuffles = has_word(extensions, "cl_nv_pragma_unroll");  // by assembly, which that word stands for
    l.minima = l.shuffles && 10 * major + minor >= gpu::capability_of_minima;
  }
  return l;
}

void add_device(Listing& all, cl::Platform platform, cl::Device device) {
  const Get get = api().clGetDeviceInfo;
  const std::string version_text = text_of(get, device, cl::device_version);
  const int version = version_number(version_text);
  const std::string extensions = text_of(get, device, cl::device_extensions);
  const std::string reason = unusable(device, version, extensions);
  if (!reason.empty()) {
    all.notes.push_back(
        fmt::format("the device {} cannot be used: {}", base::quoted(text_of(get, device, cl::device_name)), reason));
    return;
  }
  Listed d;
  d.platform = platform;
  d.device = device;
  d.limits = limits_of(device, version, extensions);
  d.largest_allocation = size_of<cl::Flags>(device, cl::device_max_mem_alloc_size);
  d.rounded_division = (value_of<cl::Flags>(device, cl::device_single_fp_config).value_or(0) &
                        cl::fp_correctly_rounded_divide_sqrt) != 0;
  const cl::Flags type = value_of<cl::Flags>(device, cl::device_type).value_or(0);
  d.processor = (type & (cl::type_gpu | cl::type_accelerator)) == 0;
  const std::string driver = text_of(get, device, cl::driver_version);
  d.limits.driver = fmt::format("OpenCL {}.{} {} {}", version / 10, version % 10,
                                text_of(api().clGetPlatformInfo, platform, cl::platform_name), driver);
  d.identity = base::join({d.limits.name, driver, version_text, d.limits.compiled_for,
                           text_of(api().clGetPlatformInfo, platform, cl::platform_version)},
                          "\n");
  if (type == 0 || (type & (cl::type_gpu | cl::type_accelerator | cl::type_cpu)) == 0) return;  // fixed functions
  all.devices.push_back(std::move(d));
}

void add_platform(Listing& all, cl::Platform platform) {
  const std::string name = base::quoted(text_of(api().clGetPlatformInfo, platform, cl::platform_name));
  cl::UInt count = 0;
  cl::Int code = api().clGetDeviceIDs(platform, cl::type_all, 0, nullptr, &count);
  std::vector<cl::Device> devices(code == cl::success ? count : 0);
  if (!devices.empty()) code = api().clGetDeviceIDs(platform, cl::type_all, count, devices.data(), nullptr);
  if (code != cl::success && code != cl::device_not_found)
    all.notes.push_back(fmt::format("the platform {} does not list its devices: {}", name, name_of(code)));
  else if (devices.empty())
    all.notes.push_back(fmt::format("the platform {} has no device", name));
  if (code != cl::success) return;
  for (const cl::Device device : devices) add_device(all, platform, device);
}

constexpr const char* other_library = "TESSERA_OPENCL takes the path of another library";

Listing look() {
  Listing all;
  const Api& a = api();
  if (!a.usable()) {
    all.missing = a.library ? fmt::format("the OpenCL library {} lacks the function {} of version 1.2",
                                          base::quoted(a.library.name()), a.lacking)
                            : "the OpenCL library is not available";
    for (const std::string& line : a.library.tried()) all.notes.push_back("tried " + line);
    all.notes.push_back(other_library);
    return all;
  }
  cl::UInt count = 0;
  const cl::Int code = a.clGetPlatformIDs(0, nullptr, &count);
  std::vector<cl::Platform> platforms(code == cl::success ? count : 0);
  if (!platforms.empty() && a.clGetPlatformIDs(count, platforms.data(), nullptr) != cl::success) platforms.clear();
  if (platforms.empty()) {
    all.missing = fmt::format("the OpenCL library {} knows no platform", base::quoted(a.library.name()));
    if (code != cl::success && code != cl::platform_not_found)
      all.notes.push_back(fmt::format("it answers {} ({})", name_of(code), code));
    all.notes.push_back("a driver puts a file into /etc/OpenCL/vendors, as pocl-opencl-icd does for processors");
    all.notes.push_back(other_library);
    return all;
  }
  for (const cl::Platform platform : platforms) add_platform(all, platform);
  const auto number = [&] {
    for (std::size_t i = 0; i < all.devices.size(); ++i) all.devices[i].limits.index = static_cast<int>(i);
  };
  number();
  std::sort(all.devices.begin(), all.devices.end(), [](const Listed& x, const Listed& y) {
    return x.processor != y.processor ? y.processor : x.limits.index < y.limits.index;
  });
  number();
  if (all.devices.empty()) {
    all.missing = "no platform of OpenCL has a device that can be used";
    all.notes.push_back(other_library);
  }
  return all;
}

Listing look_safely() {
  try {
    return look();
  } catch (const std::exception& e) {
    Listing none;
    none.missing = fmt::format("the devices of OpenCL cannot be listed: {}", e.what());
    return none;
  }
}

}  // namespace

const Listing& listing() {
  static constinit base::Once<Listing> found;
  return found.get(look_safely);
}

gpu::Found find() {
  const Listing& all = listing();
  gpu::Found found;
  for (const Listed& d : all.devices) found.devices.push_back(d.limits);
  found.missing = all.missing;
  found.notes = all.notes;
  return found;
}

}  // namespace tessera::run::opencl
