// Linking a relocatable ELF object into this process: what a cached kernel needs to become a function.
//
// A kernel's object is tiny and simple: code, constants, a few calls to the C library. Placing its sections in one
// mapping and applying half a dozen relocation kinds takes some 30 microseconds; opening LLVM only to use its linker
// takes 17 milliseconds. Code within the object is reached relative to the program counter; what lies outside, farther
// than 2 GiB perhaps, through a table of addresses and a jump per function. Pages end up either writable or executable,
// never both. Objects come from a checksummed cache, yet every offset is checked before it is used.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace tessera::run::cpu {

class LinkedObject {
 public:
  // Finds what the object does not define; null when unknown.
  using Resolve = std::function<const void*(const char* name)>;

  // Throws Error(internal) for anything that is not a well-formed object of this machine's kind.
  LinkedObject(std::string_view object, const Resolve& resolve);
  ~LinkedObject();
  LinkedObject(const LinkedObject&) = delete;
  LinkedObject& operator=(const LinkedObject&) = delete;

  // The address of a global symbol, or null.
  void* symbol(std::string_view name) const;
  std::size_t bytes() const { return size_; }

  // Whether objects of this machine can be linked here at all.
  static bool supported();

 private:
  std::byte* base_ = nullptr;
  std::size_t size_ = 0;
  std::map<std::string, void*, std::less<>> symbols_;
};

// The C library and math functions that emitted code may call; then whatever the process exports. Null when unknown.
void* process_symbol(const char* name);

}  // namespace tessera::run::cpu
