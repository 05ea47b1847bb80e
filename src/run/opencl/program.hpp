// Programs: compiled from text, or made from the binary that an earlier compilation left in the user's cache.
//
// An object of a kernel holds its arguments until it is started, so two threads cannot share one: a program keeps a few
// of each kernel, lends them, and makes another when all are lent.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/hash.hpp"
#include "base/process/fork.hpp"
#include "run/opencl/core.hpp"

namespace tessera::run::opencl {

// Thread-safe.
class Program final : public gpu::Module {
 public:
  Program(std::shared_ptr<Core> core, Handle<cl::Program> program)
      : core_(std::move(core)), program_(std::move(program)) {}
  Usage usage(const std::string& kernel, int block_threads, i64 shared_bytes) override;
  const Core* core() const { return core_.get(); }

  class Lease {
   public:
    Lease(Program& owner, std::string name, Handle<cl::Kernel> kernel, cl::UInt arguments)
        : owner_(owner), name_(std::move(name)), kernel_(std::move(kernel)), arguments_(arguments) {}
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease() { owner_.give_back(name_, std::move(kernel_)); }
    cl::Kernel get() const { return kernel_.get(); }
    cl::UInt arguments() const { return arguments_; }

   private:
    Program& owner_;
    std::string name_;
    Handle<cl::Kernel> kernel_;
    cl::UInt arguments_;
  };
  // Throws Error(internal) when there is no such kernel.
  Lease lend(const std::string& kernel);

 private:
  Handle<cl::Kernel> make(const std::string& kernel);
  void give_back(const std::string& kernel, Handle<cl::Kernel>) noexcept;

  std::shared_ptr<Core> core_;
  Handle<cl::Program> program_;
  base::Mutex mutex_;
  std::map<std::string, std::vector<Handle<cl::Kernel>>> idle_;
};

// Programs of one device. Thread-safe: who wants a text that another compiles waits for it.
class Programs {
 public:
  explicit Programs(std::shared_ptr<Core> core) : core_(std::move(core)) {}
  std::shared_ptr<Program> load(const std::string& source, gpu::Arithmetic);

 private:
  struct Entry {
    base::Mutex mutex;
    std::weak_ptr<Program> program;
  };
  std::shared_ptr<Entry> entry_of(const base::Digest&);

  std::shared_ptr<Core> core_;
  base::Mutex mutex_;
  std::map<base::Digest, std::shared_ptr<Entry>> entries_;
};

// The first error of a compiler's log, and the line of the source that it names (0 when it names none).
struct LogError {
  std::string message;
  int line = 0;
};
LogError first_error(const std::string& log);

}  // namespace tessera::run::opencl
