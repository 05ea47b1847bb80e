// The way from text to code: choose the compiler, form the key, look into the cache, else compile and store; then link.
// A cached load touches neither LLVM nor a process: hash, one file, a mapping.
#include "run/cpu/compiler.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <vector>

#include "base/files/cache.hpp"
#include "base/files/descriptor.hpp"
#include "base/files/files.hpp"
#include "base/hash.hpp"
#include "base/process/deadline.hpp"
#include "base/process/dynamic_library.hpp"
#include "base/process/fork.hpp"
#include "base/text.hpp"
#include "run/cpu/built_in.hpp"
#include "run/cpu/clang/protocol.hpp"
#include "run/cpu/external.hpp"
#include "run/cpu/machine.hpp"
#include "run/cpu/object.hpp"
#include "tessera/error.hpp"

namespace tessera::run::cpu {

struct Module::Impl {
  std::unique_ptr<LinkedObject> object;  // from the built-in Clang
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

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// Which compiler, and everything about it that belongs to the key.
struct Choice {
  bool built_in = false;
  SystemCompiler system;
  std::vector<std::string> options;
  std::string label() const {
    return built_in ? built_in_version() + " (built in)" : fmt::format("{} (system)", system.name);
  }
};

bool is_built_in(const std::string& compiler) {
  return compiler == "built-in" || compiler == "in-process" || compiler == "clang-in-process";
}

Choice choose(const CompileRequest& request) {
  Choice choice;
  const bool wide = machine().vector_bytes == 64;
  const bool forced = is_built_in(request.compiler);
  if (request.compiler.empty() || forced) {
    const std::string reason = built_in_unavailable();
    if (reason.empty()) {
      choice.built_in = true;
      choice.options = built_in_options(request.contracts, wide);
      return choice;
    }
    if (forced || is_built_in_chosen())
      throw Error(ErrorClass::device, "the built-in compiler is not available: " + reason, {},
                  is_built_in_chosen() ? help_of_chosen : "leave --compiler away, or name a system compiler");
  }
  choice.system = request.compiler.empty() || request.compiler == "system" ? find_default_compiler()
                                                                           : find_compiler(request.compiler);
  choice.options = system_options(request.contracts, wide);
  return choice;
}

base::Digest key_of(const CompileRequest& request, const Choice& choice) {
  base::Hasher hash;
  hash.text("tessera cpu module 1");
  hash.text(choice.built_in ? fmt::format("{}, protocol {}", built_in_version(), clang_protocol)
                            : choice.system.identity);
  for (const std::string& option : choice.options) hash.text(option);
  hash.text(machine().identity);
  hash.text(request.source);
  if (!choice.built_in)  // they are in the library
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
  return base::Cache::user().save_text(fmt::format("{}-{}", file_stem(request.name), base::to_hex(key).substr(0, 12)),
                                       ".c", request.source);
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

[[noreturn]] void throw_late(const CompileRequest& request) {
  throw Error(ErrorClass::device,
              fmt::format("compiling {} took longer than {} s", base::quoted(request.name), request.seconds), {},
              "write a smaller program, or allow more with --compile-limit SECONDS (RunOptions::compile_limit)");
}

[[noreturn]] void throw_cancelled(const CompileRequest& request) {
  throw Error(ErrorClass::cancelled, fmt::format("compiling {} was cancelled", base::quoted(request.name)));
}

// Where the built-in compiler could not do it: `failure`, the tail of a sentence. Nothing then.
std::optional<std::string> compile_with_built_in(const CompileRequest& request, const Choice& choice,
                                                 const base::Digest& key, std::string& failure) {
  BuiltInResult r = compile_built_in({.source = request.source,
                                      .file_name = file_stem(request.name) + ".c",
                                      .options = choice.options,
                                      .cancel = request.cancel,
                                      .seconds = request.seconds});
  switch (r.outcome) {
    case BuiltInResult::Outcome::done:
      return std::move(r.object);
    case BuiltInResult::Outcome::rejected:
      throw_failed(ErrorClass::internal,
                   fmt::format("emitted code for {} does not compile", base::quoted(request.name)), r.messages,
                   save_source(request, key));
    case BuiltInResult::Outcome::late:
      throw_late(request);
    case BuiltInResult::Outcome::cancelled:
      throw_cancelled(request);
    case BuiltInResult::Outcome::failed:
      break;
  }
  failure = r.messages;
  return std::nullopt;
}

std::string compile_with_system(const CompileRequest& request, const Choice& choice, const base::Digest& key) {
  ExternalResult r = compile_external(choice.system, choice.options, request.source, file_stem(request.name),
                                      request.tables, request.seconds, request.cancel);
  if (r.cancelled) throw_cancelled(request);
  if (r.late && request.seconds > 0) throw_late(request);
  if (!r.done) throw_failed(ErrorClass::device, r.failure, r.messages, save_source(request, key));
  return std::move(r.object);
}

// The loader takes two libraries of one path for one, and numbers of files come again: so each time the path is written
// another way, with a dot or without for every bit of a counter.
std::string path_of_descriptor(int fd) {
  static std::atomic<unsigned> counter{0};
  std::string path = "/proc/self/fd";
  for (unsigned k = counter.fetch_add(1); k != 0; k >>= 1) path += (k & 1U) != 0 ? "/." : "/";
  return fmt::format("{}/{}", path, fd);
}

// A file in memory, under no name: what was checked is what is loaded.
base::DynamicLibrary open_in_memory(const std::string& bytes) {
  const base::Descriptor file(::memfd_create("tessera", MFD_CLOEXEC));
  if (file.fd < 0 || !base::write_all(file.fd, bytes)) return {};
  return base::DynamicLibrary::open(path_of_descriptor(file.fd));
}

// Some systems run nothing from memory; then from a file that lives only for that.
base::DynamicLibrary open_library(const std::string& bytes) {
  base::DynamicLibrary library = open_in_memory(bytes);
  if (library) return library;
  const ScratchFile file(bytes);
  library = base::DynamicLibrary::open(file.path());
  if (!library) throw Error(ErrorClass::device, "compiled code cannot be opened", {library.failure()});
  return library;
}

void link(Module::Impl& module, const Choice& choice, const std::string& bytes) {
  if (choice.built_in)
    module.object = std::make_unique<LinkedObject>(bytes, [&](std::string_view name) -> const void* {
      for (const base::ConstantTable& table : module.tables)
        if (table.name == name) return table.bytes.data();
      return process_symbol(name.data());
    });
  else
    module.library = open_library(bytes);
}

// Null where the built-in compiler failed, with `failure` the reason.
std::shared_ptr<Module> make(const CompileRequest& request, const Choice& choice, const base::Digest& key,
                             Clock::time_point start, std::string& failure) {
  auto impl = std::make_unique<Module::Impl>();
  impl->name = request.name;
  impl->tables = request.tables;
  base::Cache& cache = base::Cache::user();
  if (const auto cached = cache.get(key)) {
    try {
      link(*impl, choice, *cached);
      impl->from_cache = true;
    } catch (const Error&) {  // written by another version or another machine's hands: compile again
      impl->object.reset();
    }
  }
  if (!impl->from_cache) {
    const std::optional<std::string> bytes = choice.built_in ? compile_with_built_in(request, choice, key, failure)
                                                             : compile_with_system(request, choice, key);
    if (!bytes) return nullptr;
    cache.put(key, *bytes);
    link(*impl, choice, *bytes);
  }
  impl->milliseconds = milliseconds_since(start);
  impl->description = fmt::format("{}, {}, {}, {:.1f} ms", choice.label(), base::join(choice.options, " "),
                                  impl->from_cache ? "from cache" : "compiled", impl->milliseconds);
  return std::make_shared<Module>(std::move(impl));
}

// One per key: threads that want the same text wait for the first, others do not.
struct Entry {
  base::Mutex mutex;
  std::vector<std::weak_ptr<Module>> modules;  // of one text, each with other tables

  // Forgets those that nobody holds any more.
  void tidy() {
    std::erase_if(modules, [](const auto& module) { return module.expired(); });
  }
};

std::shared_ptr<Entry> entry_of(const base::Digest& key) {
  static base::Mutex mutex;
  static auto& entries = *new std::map<base::Digest, std::shared_ptr<Entry>>();
  const base::Lock lock(mutex, entries);
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

// The second choice, after the built-in compiler has died or could not be started.
std::shared_ptr<Module> load_with_system(const CompileRequest& request, const std::string& failure) {
  const std::string first =
      fmt::format("{} cannot be compiled by the built-in compiler: {}", base::quoted(request.name), failure);
  if (is_built_in(request.compiler)) throw Error(ErrorClass::device, first, {}, "leave --compiler away");
  CompileRequest second = request;
  second.compiler = "system";
  try {
    return load(second);
  } catch (const Error& e) {
    if (e.error_class() == ErrorClass::cancelled) throw;
    throw Error(ErrorClass::device, first, {"then: " + e.message()},
                "give the process more memory, or write a smaller program");
  }
}

}  // namespace

std::shared_ptr<Module> load(const CompileRequest& given) {
  const auto start = Clock::now();
  CompileRequest request = given;
  base::Deadline::take_over(request.seconds, request.cancel);
  const Choice choice = choose(request);
  const base::Digest key = key_of(request, choice);
  const std::shared_ptr<Entry> entry = entry_of(key);
  const base::Lock lock(entry->mutex, entry->modules);
  entry->tidy();
  for (const std::weak_ptr<Module>& module : entry->modules)
    if (auto alive = module.lock(); alive && alive->holds(request.tables)) return alive;
  std::string failure;
  auto module = make(request, choice, key, start, failure);
  if (!module) module = load_with_system(request, failure);
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
