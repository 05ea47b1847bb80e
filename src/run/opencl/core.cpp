// The context of a device, and results as errors; see core.hpp.
#include "run/opencl/core.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace tessera::run::opencl {
namespace {

// Results after which nothing on the device can be trusted.
bool fatal(cl::Int code) {
  return code == cl::device_not_available || code == cl::invalid_context || code == cl::invalid_command_queue ||
         code == cl::fault_nv;
}

std::string help_for(cl::Int code) {
  if (code == cl::out_of_resources) return "ask for less local memory or smaller groups, or take another device";
  return "";
}

}  // namespace

Core::Core(const Listed& l) : listed(l), cl(api()), label(label_of(l.limits)) {
  const cl::Property properties[] = {cl::context_platform, reinterpret_cast<cl::Property>(listed.platform), 0};
  cl::Int code = cl::success;
  const cl::Context made = cl.clCreateContext(properties, 1, &listed.device, &Core::hear, this, &code);
  check(code, "make a context");
  context_ = {made, cl.clReleaseContext};
}

Core::~Core() = default;

// Called by the driver, from any of its threads.
void Core::hear(const char* message, const void*, std::size_t, void* user) {
  if (message == nullptr || user == nullptr) return;  // there are drivers that forget the user
  auto* core = static_cast<Core*>(user);
  const base::Lock lock(core->mutex_);
  core->heard_ = message;
}

std::vector<std::string> Core::heard() {
  const base::Lock lock(mutex_);
  if (heard_.empty()) return {};
  return {"the driver said " + base::quoted(std::exchange(heard_, ""), 300)};
}

void Core::ensure_open() const {
  if (!closed()) return;
  if (process_ != base::forks())
    throw Error(ErrorClass::device, fmt::format("{} was opened before this process was forked", label), {},
                "start processes anew (spawn, forkserver) to use devices in them");
  const base::Lock lock(mutex_);
  throw Error(ErrorClass::device, fmt::format("{} is closed after a failure: {}", label, reason_), {},
              "start the program again, or take another device");
}

void Core::lost(cl::Int code, std::string_view doing) {
  ensure_open();  // told once
  const std::string reason = fmt::format("it could not {}: {} ({})", doing, name_of(code), code);
  {
    const base::Lock lock(mutex_);
    reason_ = reason;
  }
  closed_.store(true);
  throw Error(ErrorClass::device, fmt::format("{} failed: {}", label, reason), heard());
}

void Core::check(cl::Int code, std::string_view doing) {
  if (code == cl::success) return;
  if (fatal(code)) lost(code, doing);
  const std::string sentence = fmt::format("{} cannot {}: {} ({})", label, doing, name_of(code), code);
  throw Error(ErrorClass::device, sentence, heard(), help_for(code));
}

Handle<cl::Queue> Core::make_queue() {
  cl::Int code = cl::success;
  const cl::Queue made = cl.clCreateCommandQueue(context(), device(), cl::queue_profiling_enable, &code);
  check(code, "make a queue");
  return {made, cl.clReleaseCommandQueue};
}

}  // namespace tessera::run::opencl
