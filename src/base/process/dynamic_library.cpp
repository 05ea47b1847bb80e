// Libraries found at run time; see dynamic_library.hpp.
#include "base/process/dynamic_library.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <utility>

namespace tessera::base {

DynamicLibrary DynamicLibrary::find(const LibrarySearch& search) {
  DynamicLibrary library;
  library.what_ = search.what;
  const int flags = RTLD_NOW | (search.global ? RTLD_GLOBAL : RTLD_LOCAL) | RTLD_NODELETE;
  if (!search.environment.empty()) {
    const char* path = std::getenv(search.environment.c_str());
    if (path != nullptr && *path != '\0') {
      // The user has said which one: another would be a surprise.
      if (!library.try_open(path, flags)) library.tried_.back() += " (from $" + search.environment + ")";
      return library;
    }
  }
  for (const std::string& name : search.names) {
    if (library.try_open(name, flags)) break;
  }
  return library;
}

DynamicLibrary DynamicLibrary::open(const std::string& path) {
  DynamicLibrary library;
  library.what_ = path;
  // Without a slash the loader would search its own folders.
  library.try_open(path.find('/') == std::string::npos ? "./" + path : path, RTLD_NOW | RTLD_LOCAL);
  return library;
}

bool DynamicLibrary::try_open(const std::string& path, int flags) {
  ::dlerror();
  handle_ = ::dlopen(path.c_str(), flags);
  if (handle_ != nullptr) {
    name_ = path;
    return true;
  }
  const char* reason = ::dlerror();
  const std::string text = reason ? reason : "unknown reason";
  tried_.push_back(text.starts_with(path) ? text : path + ": " + text);
  return false;
}

DynamicLibrary::~DynamicLibrary() {
  if (handle_ != nullptr) ::dlclose(handle_);
}

DynamicLibrary::DynamicLibrary(DynamicLibrary&& other) noexcept
    : what_(std::move(other.what_)),
      name_(std::move(other.name_)),
      tried_(std::move(other.tried_)),
      handle_(std::exchange(other.handle_, nullptr)) {}

DynamicLibrary& DynamicLibrary::operator=(DynamicLibrary&& other) noexcept {
  what_.swap(other.what_);
  name_.swap(other.name_);
  tried_.swap(other.tried_);
  std::swap(handle_, other.handle_);
  return *this;
}

std::string DynamicLibrary::failure() const {
  if (loaded()) return "";
  std::string out = what_ + " is not available";
  for (const std::string& line : tried_) out += "\n  tried " + line;
  return out;
}

void* DynamicLibrary::symbol(const char* name) const {
  return handle_ == nullptr ? nullptr : ::dlsym(handle_, name);
}

}  // namespace tessera::base
