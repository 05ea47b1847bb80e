// Finding and opening the Clang plugin: $TESSERA_CLANG_PLUGIN, beside the program or library that holds this code, in
// ../lib/tessera from there, and in the build tree that it was made in.
#include "run/cpu/in_process.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <mutex>

#include "base/dynamic_library.hpp"
#include "base/text.hpp"
#include "run/cpu/clang/abi.hpp"
#include "run/cpu/object.hpp"

namespace tessera::run::cpu {
namespace {

namespace fs = std::filesystem;

#if defined(TESSERA_LLVM_VERSION)
constexpr const char* version = "clang " TESSERA_LLVM_VERSION;
constexpr const char* plugin_name = TESSERA_CLANG_PLUGIN_NAME;
constexpr const char* built_path = TESSERA_CLANG_PLUGIN_PATH;
#else
constexpr const char* version = "";
constexpr const char* plugin_name = "";
constexpr const char* built_path = "";
#endif

std::string find_plugin() {
  if (const char* chosen = std::getenv("TESSERA_CLANG_PLUGIN")) return chosen;
  std::error_code ec;
  Dl_info here{};
  if (dladdr(reinterpret_cast<const void*>(&in_process_version), &here) != 0 && here.dli_fname != nullptr) {
    const fs::path folder = fs::weakly_canonical(here.dli_fname, ec).parent_path();
    for (const char* relative : {"", "tessera", "../lib/tessera", "../lib"})
      if (const fs::path p = folder / relative / plugin_name; fs::exists(p, ec)) return p.string();
  }
  return fs::exists(built_path, ec) ? built_path : "";
}

struct Plugin {
  std::mutex mutex;
  std::string path, reason;
  base::DynamicLibrary library;
  decltype(&tessera_clang_compile) compile = nullptr;

  Plugin() {
    if (*version == '\0')
      reason = "this build has none";
    else if (!LinkedObject::supported())
      reason = "it serves x86-64 Linux only";
    else if (path = find_plugin(); path.empty())
      reason = fmt::format("{} is not installed beside this program", plugin_name);
  }

  void open() {
    library = base::DynamicLibrary::open(path);
    decltype(&tessera_clang_abi) abi = nullptr;
    if (!library)
      reason = library.tried().empty() ? library.failure() : library.tried().back();
    else if (!library.bind(abi, "tessera_clang_abi") || abi() != clang_abi ||
             !library.bind(compile, "tessera_clang_compile"))
      reason = fmt::format("{} belongs to another version", base::quoted(path));
  }
};

// Never destroyed: LLVM's own static objects must outlive every user.
Plugin& plugin() {
  static Plugin& p = *new Plugin();
  return p;
}

}  // namespace

std::string in_process_unavailable() {
  Plugin& p = plugin();
  const std::lock_guard lock(p.mutex);
  return p.reason;
}

std::string open_in_process() {
  Plugin& p = plugin();
  const std::lock_guard lock(p.mutex);
  if (p.reason.empty() && p.compile == nullptr) p.open();
  return p.reason;
}

std::string in_process_version() {
  return version;
}

std::vector<std::string> in_process_options(bool exact, bool wide_vectors) {
  std::vector<std::string> o = {"-O3", exact ? "-ffp-contract=off" : "-ffp-contract=fast"};
  if (wide_vectors) o.emplace_back("-mprefer-vector-width=512");
  return o;
}

InProcessResult compile_in_process(const std::string& source, const std::string& file_name,
                                   const std::vector<std::string>& options) {
  InProcessResult result;
  std::vector<const char*> pointers;
  for (const std::string& o : options) pointers.push_back(o.c_str());
  result.done = plugin().compile(
                    source.data(), source.size(), file_name.c_str(), pointers.data(), pointers.size(), &result,
                    [](void* user, const char* data, std::size_t size) {
                      static_cast<InProcessResult*>(user)->object.append(data, size);
                    },
                    [](void* user, const char* data, std::size_t size) {
                      static_cast<InProcessResult*>(user)->messages.append(data, size);
                    }) == 0;
  return result;
}

}  // namespace tessera::run::cpu
