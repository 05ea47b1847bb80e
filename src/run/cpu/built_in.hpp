// The built-in compiler: Clang as a program beside this one (clang/protocol.hpp), which is started when a text has to
// be compiled and kept for the next.
//
// A compilation that takes all memory, crashes or does not end is the end of that program, not of ours. Several threads
// compile side by side, each with a program of its own.
#pragma once

#include <atomic>
#include <string>
#include <vector>

namespace tessera::run::cpu {

// Where the program is looked for, in order, when $TESSERA_CLANG does not name it: beside each of the two files and in
// the library folders next to it, then in the folder it is installed into. `code` is the file that holds this code (a
// shared library, or the program), `program` the executable; either may be "". Both are absolute.
std::vector<std::string> built_in_paths(const std::string& code, const std::string& program);

// Why a file must not be run: it is no regular file, somebody else could have written it. "" when it may be. `fd` is
// the open file, `trusted` another user whose files run here anyhow.
std::string why_not_run(int fd, unsigned trusted);

// "" when there is one that may be run; else why not, as the tail of a sentence. Starts nothing.
std::string built_in_unavailable();
// Does $TESSERA_CLANG name it? Then there is no other choice: where it cannot be used, that is an error.
bool is_built_in_chosen();
inline constexpr const char* help_of_chosen =
    "let TESSERA_CLANG name a tessera-clang of this version, unset it, or give --compiler system";
// "clang 19.1.7", known without starting it.
std::string built_in_version();
std::vector<std::string> built_in_options(bool contracts, bool wide_vectors);

struct BuiltInRequest {
  std::string source, file_name;
  std::vector<std::string> options;
  const std::atomic<bool>* cancel = nullptr;  // looked at some twenty times a second
  double seconds = 0;                         // limit; 0: none
};

struct BuiltInResult {
  enum class Outcome {
    done,
    rejected,   // the text does not compile
    failed,     // the compiler could not be started, or died: `messages` is the tail of a sentence
    late,       // beyond the limit
    cancelled,  // by the caller
  };
  Outcome outcome = Outcome::failed;
  std::string object;  // a relocatable ELF object
  std::string messages;
};
// Thread-safe. Throws Error(device) where what $TESSERA_CLANG names is no such program.
BuiltInResult compile_built_in(const BuiltInRequest&);
// Those that wait for the next text end, and give their memory back. Thread-safe.
void end_idle_compilers();

}  // namespace tessera::run::cpu
