// Emitted C text becomes running code: compiled by the built-in Clang where there is one, else by a system compiler,
// and kept in the disk cache under the hash of everything that went into it.
//
//   auto module = load({.source = text, .name = "canny"});
//   auto* kernel = reinterpret_cast<Kernel*>(module->symbol("canny_tiles"));
//
// The text is C17 with vector extensions, includes nothing, and may call the C library's memory functions (memcpy
// memmove memset malloc free) and math functions. It is compiled for this very processor with -O3; signed overflow
// wraps, types may alias, arithmetic neither traps nor sets errno. Contraction to FMA is off unless asked for.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/constant_table.hpp"

namespace tessera::run::cpu {

struct CompileRequest {
  std::string source = {};
  std::string name = "kernel";  // for people: in messages and file names
  bool contracts = false;       // may the compiler take products into sums as it likes? (-ffp-contract=fast)
  // "": the built-in one if there is one, and where that fails or there is none $TESSERA_CC, cc, clang, gcc.
  // "built-in", "system", or a command ("gcc-13", "ccache clang") force one. "in-process" is an old name of "built-in".
  std::string compiler = {};
  const std::atomic<bool>* cancel = nullptr;  // ends a compilation when it becomes true
  double seconds = 0;                         // that a compilation may take; 0: as long as it likes
  // What the text declares `extern const`. Code from the built-in Clang is found in the cache and linked to whatever
  // bytes these are; a system compiler puts them into its library, so there they belong to what is compiled.
  std::vector<base::ConstantTable> tables = {};
};

// Code in memory. Immutable; functions taken from it are valid while someone holds it.
class Module {
 public:
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  // The address of a global function or table. Throws Error(internal) when the module has none of that name.
  void* symbol(const std::string& name) const;
  // "clang 19.1.7 (built in), -O3 ..., from cache, 0.4 ms"
  const std::string& description() const;
  bool from_cache() const;
  double milliseconds() const;  // that load() took to make it
  // Whether these are the tables that it was loaded with, name by name and byte by byte.
  bool holds(const std::vector<base::ConstantTable>&) const;

  struct Impl;
  explicit Module(std::unique_ptr<Impl>);

 private:
  std::unique_ptr<Impl> impl_;
};

// The module of this text and these tables, which it holds; the same one while it is alive, whoever asks. Thread-safe:
// two threads that ask for one text compile it once. Throws Error(device) when the compiler is unknown, missing or
// fails or takes too long, Error(internal) when the built-in Clang rejects the text, which show the first messages and
// the path of the saved text, Error(cancelled).
std::shared_ptr<Module> load(const CompileRequest&);

// "clang 19.1.7 (built in)" or "cc (system)", or "" and why in `reason`: what load() would use, without compiling.
std::string available_compiler(std::string* reason = nullptr);

}  // namespace tessera::run::cpu
