// Finding and opening the Clang plugin: $TESSERA_CLANG_PLUGIN, beside the library or program that holds this code, in
// ../lib/tessera from there, in the build tree that it was made in, and where it was configured to be installed. What
// lies beside comes first, so that an installed copy never reaches into a build tree, and the build tree before the
// installation, so that a new build is not tested with an old plugin.
#include "run/cpu/in_process.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>

#include "base/dynamic_library.hpp"
#include "base/text.hpp"
#include "run/cpu/clang/abi.hpp"
#include "run/cpu/object.hpp"
#include "tessera/error.hpp"

namespace tessera::run::cpu {
namespace {

namespace fs = std::filesystem;

#if defined(TESSERA_LLVM_VERSION)
constexpr const char* version = "clang " TESSERA_LLVM_VERSION;
constexpr const char* plugin_name = TESSERA_CLANG_PLUGIN_NAME;
constexpr const char* built_path = TESSERA_CLANG_PLUGIN_PATH;
constexpr const char* library_folder = TESSERA_LIBRARY_FOLDER;      // relative to a prefix: lib, lib/x86_64-linux-gnu
constexpr const char* installed_folder = TESSERA_INSTALLED_FOLDER;  // absolute
#else
constexpr const char* version = "";
constexpr const char* plugin_name = "";
constexpr const char* built_path = "";
constexpr const char* library_folder = "lib";
constexpr const char* installed_folder = "";
#endif

std::string find_plugin() {
  if (const char* chosen = std::getenv("TESSERA_CLANG_PLUGIN")) return chosen;
  std::error_code ec;
  Dl_info here{};
  const bool known =
      dladdr(reinterpret_cast<const void*>(&in_process_version), &here) != 0 && here.dli_fname != nullptr;
  // In a program the name may be "app", found through $PATH: only a path says where it is.
  const std::string code = known && std::strchr(here.dli_fname, '/') != nullptr
                               ? fs::weakly_canonical(here.dli_fname, ec).string()
                               : std::string();
  for (const std::string& path : plugin_paths(code, fs::read_symlink("/proc/self/exe", ec).string()))
    if (fs::exists(path, ec)) return path;
  return "";
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

// TESSERA_OPTIMIZE=0 compiles three times as fast, for tests of very many programs.
std::string optimization() {
  const char* level = std::getenv("TESSERA_OPTIMIZE");
  if (level == nullptr || *level == 0) return "-O3";
  if (level[0] < '0' || level[0] > '3' || level[1] != 0)
    throw Error(ErrorClass::argument, "TESSERA_OPTIMIZE is not 0, 1, 2 or 3: " + base::quoted(level, 20));
  return std::string("-O") + level;
}

}  // namespace

std::vector<std::string> plugin_paths(const std::string& code, const std::string& program) {
  std::vector<std::string> paths;
  const auto add = [&](const fs::path& path) {
    const std::string text = path.lexically_normal().string();
    if (std::find(paths.begin(), paths.end(), text) == paths.end()) paths.push_back(text);
  };
  for (const std::string& file : {code, program}) {
    if (file.empty()) continue;
    const fs::path folder = fs::path(file).parent_path();
    add(folder / plugin_name);
    add(folder / "tessera" / plugin_name);
    add(folder / ".." / library_folder / "tessera" / plugin_name);
    add(folder / "../lib/tessera" / plugin_name);
  }
  if (*built_path != '\0') add(built_path);
  if (*installed_folder != '\0') add(fs::path(installed_folder) / "tessera" / plugin_name);
  return paths;
}

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
  std::vector<std::string> o = {optimization(), exact ? "-ffp-contract=off" : "-ffp-contract=fast"};
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
