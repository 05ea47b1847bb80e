// Libraries found at run time: GPU drivers, compilers, and the shared objects that a system compiler made for us.
//
// One binary must run on machines with and without them, so nothing is linked: the library is looked for by the path in
// an environment variable and then by its sonames, and a failure is a value that says everything that was tried.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tessera::base {

struct LibrarySearch {
  std::string what;                // for people: "the CUDA driver"
  std::string environment;         // name of a variable with a path that is tried alone when it is set; may be ""
  std::vector<std::string> names;  // sonames or paths, in order
  bool global = false;             // libraries that are loaded later see its symbols: its own plugins look for them
};

class DynamicLibrary {
 public:
  DynamicLibrary() = default;
  // Looks for the library; never throws. A library that is found stays loaded for the life of the process: drivers
  // start threads that must not lose their code.
  static DynamicLibrary find(const LibrarySearch&);
  // Opens one file by its path, unloaded again with the last handle.
  static DynamicLibrary open(const std::string& path);

  ~DynamicLibrary();
  DynamicLibrary(DynamicLibrary&&) noexcept;
  DynamicLibrary& operator=(DynamicLibrary&&) noexcept;

  bool loaded() const { return handle_ != nullptr; }
  explicit operator bool() const { return loaded(); }
  const std::string& name() const { return name_; }                 // what was opened
  const std::vector<std::string>& tried() const { return tried_; }  // one line per attempt that failed, with the reason
  // "the CUDA driver is not available" with the attempts below, for notes of an Error(device).
  std::string failure() const;

  void* symbol(const char* name) const;  // null when missing
  // Fills a function pointer; false when the symbol is missing.
  template <class F>
  bool bind(F*& function, const char* name) const {
    function = reinterpret_cast<F*>(symbol(name));
    return function != nullptr;
  }

 private:
  bool try_open(const std::string& path, int flags);
  std::string what_, name_;
  std::vector<std::string> tried_;
  void* handle_ = nullptr;
};

}  // namespace tessera::base
