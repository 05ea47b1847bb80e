// The way from text to code: choose the compiler, form the key, look into the cache, else compile and store; then link.
// A cached load touches neither LLVM nor a process: hash, one file, a mapping.
#include "run/cpu/compiler.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "base/cache.hpp"
#include "base/dynamic_library.hpp"
#include "base/files.hpp"
#include "base/hash.hpp"
#include "base/text.hpp"
#include "run/cpu/clang/abi.hpp"
#include "run/cpu/external.hpp"
#include "run/cpu/in_process.hpp"
#include "run/cpu/machine.hpp"
#include "run/cpu/object.hpp"
#include "tessera/error.hpp"

namespace tessera::run::cpu {

struct Module::Impl {
  std::unique_ptr<LinkedObject> object;  // from Clang in process
  base::DynamicLibrary library;          // from a system compiler
  std::vector<base::ConstantTable> tables;
  std::string name, description;
  bool from_cache = false;
  double milliseconds = 0;
};

Module::Module(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Module::~Module() = default;
const std::string& Module::description() const {
  return impl_->description;
}
bool Module::from_cache() const {
  return impl_->from_cache;
}
double Module::milliseconds() const {
  return impl_->milliseconds;
}

bool Module::holds(const std::vector<base::ConstantTable>& tables) const {
  return std::ranges::equal(impl_->tables, tables, [](const base::ConstantTable& a, const base::ConstantTable& b) {
    return a.name == b.name && a.bytes.size() == b.bytes.size() &&
           (a.bytes.empty() || std::memcmp(a.bytes.data(), b.bytes.data(), a.bytes.size()) == 0);
  });
}

void* Module::symbol(const std::string& name) const {
  void* found = impl_->object ? impl_->object->symbol(name) : impl_->library.symbol(name.c_str());
  if (found == nullptr)
    throw Error(ErrorClass::internal,
                fmt::format("compiled module {} has no function {}", base::quoted(impl_->name), base::quoted(name)));
  return found;
}

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// Which compiler, and everything about it that belongs to the key.
struct Choice {
  bool in_process = false;
  SystemCompiler system;
  std::vector<std::string> options;
  std::string label() const {
    return in_process ? in_process_version() + " in process" : fmt::format("{} (system)", system.name);
  }
};

Choice choose(const CompileRequest& request) {
  Choice choice;
  const bool wide = machine().vector_bytes == 64;
  const bool forced = request.compiler == "in-process" || request.compiler == "clang-in-process";
  if (request.compiler.empty() || forced) {
    const std::string reason = in_process_unavailable();
    if (reason.empty()) {
      choice.in_process = true;
      choice.options = in_process_options(request.exact, wide);
      return choice;
    }
    if (forced)
      throw Error(ErrorClass::device, "clang in process is not available: " + reason, {},
                  "leave --compiler away, or name a system compiler");
  }
  choice.system = request.compiler.empty() || request.compiler == "system" ? find_default_compiler()
                                                                           : find_compiler(request.compiler);
  choice.options = system_options(request.exact, wide);
  return choice;
}

base::Digest key_of(const CompileRequest& request, const Choice& choice) {
  base::Hasher hash;
  hash.text("tessera cpu module 1");
  hash.text(choice.in_process ? fmt::format("{}, plugin {}", in_process_version(), clang_abi) : choice.system.identity);
  for (const std::string& option : choice.options) hash.text(option);
  hash.text(machine().identity);
  hash.text(request.source);
  if (!choice.in_process)  // they are in the library
    for (const base::ConstantTable& table : request.tables) {
      hash.text(table.name);
      hash.text({reinterpret_cast<const char*>(table.bytes.data()), table.bytes.size()});
    }
  return hash.finish();
}

// A file name made of what the user called the program.
std::string file_stem(const std::string& name) {
  std::string stem;
  for (char c : name.substr(0, 48))
    stem += (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ? c : '_';
  return stem.empty() ? "kernel" : stem;
}

// Keeps a text that did not compile; "" when no folder takes it.
std::string save_source(const CompileRequest& request, const base::Digest& key) {
  std::error_code ec;
  fs::path folder = base::Cache::user().folder();
  folder = folder.empty() ? fs::temp_directory_path(ec) : folder / "failed";
  if (folder.empty()) return "";
  fs::create_directories(folder, ec);
  const fs::path path = folder / fmt::format("{}-{}.c", file_stem(request.name), base::to_hex(key).substr(0, 12));
  try {
    base::write_file(path.string(), std::string_view(request.source));
  } catch (const Error&) {
    return "";
  }
  return path.string();
}

[[noreturn]] void throw_failed(ErrorClass cls, const std::string& sentence, const std::string& messages,
                               const std::string& path) {
  std::vector<std::string> notes;
  for (std::string_view line : base::split(messages, '\n')) {
    if (base::trim(line).empty()) continue;
    if (notes.size() == 12) {
      notes.push_back("more messages were left out");
      break;
    }
    notes.push_back(base::quoted(line, 300));
  }
  notes.push_back(path.empty() ? "the text could not be saved" : "the text is in " + base::quoted(path, 400));
  throw Error(cls, sentence, std::move(notes));
}

std::string compile(const CompileRequest& request, const Choice& choice, const base::Digest& key) {
  if (choice.in_process) {
    InProcessResult r = compile_in_process(request.source, file_stem(request.name) + ".c", choice.options);
    if (!r.done)
      throw_failed(ErrorClass::internal,
                   fmt::format("emitted code for {} does not compile", base::quoted(request.name)), r.messages,
                   save_source(request, key));
    return std::move(r.object);
  }
  ExternalResult r =
      compile_external(choice.system, choice.options, request.source, file_stem(request.name), request.tables);
  if (!r.done) throw_failed(ErrorClass::device, r.failure, r.messages, save_source(request, key));
  return std::move(r.object);
}

// Opens a shared object from the cache's own file, or, where nothing is cached, from a file that lives only for that.
base::DynamicLibrary open_library(const base::Digest& key, const std::string& bytes) {
  if (const auto path = base::Cache::user().path_of(key)) {
    base::DynamicLibrary library = base::DynamicLibrary::open(*path);
    if (library) return library;
  }
  const ScratchFile file(bytes);
  base::DynamicLibrary library = base::DynamicLibrary::open(file.path());
  if (!library) throw Error(ErrorClass::device, "compiled code cannot be opened", {library.failure()});
  return library;
}

void link(Module::Impl& module, const Choice& choice, const base::Digest& key, const std::string& bytes) {
  if (choice.in_process)
    module.object = std::make_unique<LinkedObject>(bytes, [&](std::string_view name) -> const void* {
      for (const base::ConstantTable& table : module.tables)
        if (table.name == name) return table.bytes.data();
      return process_symbol(name.data());
    });
  else
    module.library = open_library(key, bytes);
}

// Null when Clang in process turns out not to be available.
std::shared_ptr<Module> make(const CompileRequest& request, const Choice& choice, const base::Digest& key,
                             Clock::time_point start) {
  auto impl = std::make_unique<Module::Impl>();
  impl->name = request.name;
  impl->tables = request.tables;
  base::Cache& cache = base::Cache::user();
  if (const auto cached = cache.get(key)) {
    try {
      link(*impl, choice, key, *cached);
      impl->from_cache = true;
    } catch (const Error&) {  // written by another version or another machine's hands: compile again
      impl->object.reset();
    }
  }
  if (!impl->from_cache) {
    if (choice.in_process && !open_in_process().empty()) return nullptr;
    const std::string bytes = compile(request, choice, key);
    cache.put(key, bytes);
    link(*impl, choice, key, bytes);
  }
  impl->milliseconds = milliseconds_since(start);
  impl->description = fmt::format("{}, {}, {}, {:.1f} ms", choice.label(), base::join(choice.options, " "),
                                  impl->from_cache ? "from cache" : "compiled", impl->milliseconds);
  return std::make_shared<Module>(std::move(impl));
}

// One per key: threads that want the same text wait for the first, others do not.
struct Entry {
  std::mutex mutex;
  std::vector<std::weak_ptr<Module>> modules;  // of one text, each with other tables

  // Forgets those that nobody holds any more.
  void tidy() {
    std::erase_if(modules, [](const auto& module) { return module.expired(); });
  }
};

std::shared_ptr<Entry> entry_of(const base::Digest& key) {
  static std::mutex mutex;
  static auto& entries = *new std::map<base::Digest, std::shared_ptr<Entry>>();
  const std::lock_guard lock(mutex);
  if (entries.size() > 1024)  // forget what nobody holds any more
    std::erase_if(entries, [](const auto& e) {
      if (e.second.use_count() > 1) return false;
      e.second->tidy();
      return e.second->modules.empty();
    });
  auto& entry = entries[key];
  if (!entry) entry = std::make_shared<Entry>();
  return entry;
}

}  // namespace

std::shared_ptr<Module> load(const CompileRequest& request) {
  const auto start = Clock::now();
  const Choice choice = choose(request);
  const base::Digest key = key_of(request, choice);
  const std::shared_ptr<Entry> entry = entry_of(key);
  const std::lock_guard lock(entry->mutex);
  entry->tidy();
  for (const std::weak_ptr<Module>& module : entry->modules)
    if (auto alive = module.lock(); alive && alive->holds(request.tables)) return alive;
  auto module = make(request, choice, key, start);
  // A plugin that cannot be opened is known as such from now on: the second choice is a system compiler.
  if (!module) return load(request);
  entry->modules.push_back(module);
  return module;
}

std::string available_compiler(std::string* reason) {
  try {
    return choose({}).label();
  } catch (const Error& e) {
    if (reason != nullptr) *reason = e.message();
    return "";
  }
}

}  // namespace tessera::run::cpu
