// Emitted C text becomes running code: compiled in process by Clang where that is built in, else by a system compiler,
// and kept in the disk cache under the hash of everything that went into it.
//
//   auto module = load({.source = text, .name = "canny"});
//   auto* kernel = reinterpret_cast<Kernel*>(module->symbol("canny_tiles"));
//
// The text is C17 with vector extensions, includes nothing, and may call the C library's memory functions (memcpy
// memmove memset malloc free) and math functions. It is compiled for this very processor with -O3; signed overflow
// wraps, types may alias, arithmetic neither traps nor sets errno. Contraction to FMA is allowed unless `exact`.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/constant_table.hpp"

namespace tessera::run::cpu {

struct CompileRequest {
  std::string source = {};
  std::string name = "kernel";  // for people: in messages and file names
  bool exact = false;           // no contraction
  // "": in process if that is built in, else $TESSERA_CC, cc, clang, gcc. "in-process" (or "clang-in-process"),
  // "system", or a command ("gcc-13", "ccache clang") force one.
  std::string compiler = {};
  // What the text declares `extern const`. Code from Clang in process is found in the cache and linked to whatever
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
  // "clang 19.1.7 in process, -O3 ..., from cache, 0.4 ms"
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
// fails, Error(internal) when Clang in process rejects the text; both show the first messages and the path of the saved
// text.
std::shared_ptr<Module> load(const CompileRequest&);

// "clang 19.1.7 in process" or "cc (system)", or "" and why in `reason`: what load() would use, without compiling.
std::string available_compiler(std::string* reason = nullptr);

}  // namespace tessera::run::cpu
