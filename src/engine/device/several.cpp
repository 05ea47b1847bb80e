// See several.hpp.
#include "engine/device/several.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "base/text.hpp"
#include "engine/windows/region_plan.hpp"
#include "run/cuda/cuda.hpp"
#include "run/opencl/opencl.hpp"
#include "tessera/error.hpp"

namespace tessera::engine {

namespace {

[[noreturn]] void fail(std::string message, std::string help = {}) {
  throw Error(ErrorClass::argument, std::move(message), {}, std::move(help));
}

// One plan and one code serve both.
bool alike(const run::gpu::Limits& a, const run::gpu::Limits& b) {
  return a.name == b.name && a.compiled_for == b.compiled_for && a.multiprocessors == b.multiprocessors &&
         a.driver == b.driver;
}

}  // namespace

std::string why_alone(const Program::Impl& program) {
  for (std::size_t o = 0; o < program.outputs.size(); ++o)
    if (std::string global = global_of(program, o); !global.empty()) return global;
  return "";
}

std::string name_of_devices(const std::vector<int>& numbers) {
  std::vector<std::string> names;
  for (const int n : numbers) names.push_back(std::to_string(n));
  return (names.size() == 1 ? "device " : "devices ") + base::list_of(names, "and");
}

void resolve_devices(RunOptions& options) {
  const run::gpu::Found found = options.target == "cuda" ? run::cuda::find() : run::opencl::find();
  if (!found.missing.empty() || found.devices.empty()) static_cast<void>(open_device(options));  // says why
  std::vector<int>& numbers = options.devices;
  if (numbers.size() == 1 && numbers.front() == all_devices) {
    numbers.clear();
    for (const run::gpu::Limits& limits : found.devices) numbers.push_back(limits.index);
  }
  const auto limits_of = [&](int number) -> const run::gpu::Limits& {
    const auto there = std::find_if(found.devices.begin(), found.devices.end(),
                                    [&](const run::gpu::Limits& limits) { return limits.index == number; });
    if (there == found.devices.end())
      throw Error(
          ErrorClass::device,
          fmt::format("there is no {} device {}, expected {}", options.target == "cuda" ? "CUDA" : "OpenCL", number,
                      found.devices.size() == 1 ? "0" : fmt::format("0 to {}", found.devices.size() - 1)),
          {}, "`tessera devices` lists them");
    return *there;
  };
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    const run::gpu::Limits& one = limits_of(numbers[k]);
    if (std::find(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(k), numbers[k]) !=
        numbers.begin() + static_cast<std::ptrdiff_t>(k))
      fail(fmt::format("device {} is named twice", numbers[k]), "name each device once");
    if (const run::gpu::Limits& first = limits_of(numbers.front()); !alike(first, one))
      fail(fmt::format("{} and {} are of different kinds, expected one kind for a run over several", label_of(first),
                       label_of(one)),
           "name devices of one kind");
  }
  options.device = numbers.front();
}

void check_for_several(const Program::Impl& program, const std::vector<Array>& inputs,
                       const std::vector<Array>& outputs, const RunOptions& options) {
  if (options.target == "cpu")
    fail("a run over several devices is on cuda or opencl, but the target is the CPU",
         "give the target cuda or opencl beside the devices");
  if (options.target != "cuda" && options.target != "opencl")
    static_cast<void>(open_device(options));  // says what there is
  const auto check = [](const Array& a, const std::string& name) {
    if (a.on_device())
      fail(name + " lies on " + a.memory()->place() + ", but the run is over several devices",
           "give arrays of the host, or arrays in shares (tessera/distributed.hpp)");
  };
  for (std::size_t k = 0; k < inputs.size(); ++k) check(inputs[k], program.input_name(k));
  for (std::size_t k = 0; k < outputs.size(); ++k) check(outputs[k], program.output_name(k));
  if (options.stream != nullptr)
    fail("a stream is of one device, but the run is over several", "give a stream or devices, not both");
}

void add_work(DeviceShare& all, const DeviceShare& more) {
  all.device = more.device;
  all.name = more.name;
  all.queues = std::max(all.queues, more.queues);
  all.uploaded += more.uploaded, all.downloaded += more.downloaded, all.exchanged += more.exchanged;
  all.upload += more.upload, all.compute += more.compute, all.download += more.download;
  all.wait += more.wait;
}

void at_once(std::size_t count, const std::function<void(std::size_t)>& work) {
  std::mutex mutex;
  std::exception_ptr failure;
  const auto guarded = [&](std::size_t k) noexcept {
    try {
      work(k);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t k = 1; k < count; ++k) threads.emplace_back(guarded, k);
    guarded(0);
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace tessera::engine
