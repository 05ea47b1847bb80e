// What the parts of one device share: its context, whether it still works, and how results become errors.
//
// A device is closed by the first failure that leaves its state unknown (it went away, a kernel touched foreign memory,
// a command failed while it ran). From then on every call throws and says why; nothing is tried again.
#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "base/process/fork.hpp"
#include "run/opencl/api.hpp"
#include "run/opencl/listing.hpp"
#include "tessera/error.hpp"

namespace tessera::run::opencl {

// Thread-safe.
class Core {
 public:
  explicit Core(const Listed&);
  ~Core();
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  const Listed listed;
  const Api& cl;
  cl::Context context() const { return context_.get(); }
  cl::Device device() const { return listed.device; }
  const std::string label;  // for messages

  bool closed() const { return closed_.load() || process_ != base::forks(); }
  void ensure_open() const;
  // Throws unless the result is success. `doing` completes "cannot ...": "start the kernel 'blur'".
  void check(cl::Int code, std::string_view doing);
  // Throws for a command that failed after it was started, which closes the device.
  [[noreturn]] void lost(cl::Int code, std::string_view doing);

  Handle<cl::Queue> make_queue();

 private:
  static void hear(const char* message, const void*, std::size_t, void* user);
  std::vector<std::string> heard();

  Handle<cl::Context> context_;
  const unsigned process_ = base::forks();  // drivers have threads, which a child has not
  std::atomic<bool> closed_{false};
  mutable base::Mutex mutex_;
  std::string reason_;  // why the device was closed
  std::string heard_;   // the last that the driver said by itself
};

}  // namespace tessera::run::opencl
