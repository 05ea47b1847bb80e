// What every compiler of device code needs around it: the key of a compiled text in the cache, and what to tell when a
// text does not compile, which is a fault of ours. Then the user (or whoever he sends the message to) needs the first
// error, the line of the emitted text that it speaks of, and the whole text.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "base/hash.hpp"

namespace tessera::run::gpu {

// The key of the compiled form of `source`. `kind` tells makers apart ("cuda"), `identity` is everything else that
// decides the result: compiler and version, architecture.
base::Digest source_key(std::string_view kind, const std::string& source, std::span<const std::string> options,
                        std::initializer_list<std::string_view> identity);

// A compiler's first error. Both ways of naming a place are known: "file(3): error: text" and "file:3:5: error: text".
struct CompilerError {
  int line = 0;      // of the source, from 1; 0 when the compiler does not say
  std::string text;  // its first line, without the place; "" when no line of the log is an error
};
CompilerError first_error(std::string_view log);

// Writes the text to <cache>/failed, or to the folder of temporary files when there is no cache. The path, or "".
std::string save_source(const std::string& source, std::string_view extension, const base::Digest& key);

struct FailedCompilation {
  std::string compiler;   // "NVRTC 12.8"
  std::string extension;  // of the saved text, "cu"
  const std::string& source;
  const std::string& log;
  base::Digest key;
};
// Throws Error(device): the first error with its line in the message; that line, the other messages and the path of the
// saved text in the notes.
[[noreturn]] void throw_not_compiled(const FailedCompilation&);

}  // namespace tessera::run::gpu
