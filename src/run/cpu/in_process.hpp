// Clang in this process, behind its plugin (see clang/abi.hpp).
// Nothing of LLVM is loaded before open_in_process().
#pragma once

#include <string>
#include <vector>

namespace tessera::run::cpu {

// Where the plugin is looked for, in order, when $TESSERA_CLANG_PLUGIN does not name it: beside each of the two files
// and in the library folders next to it, in the build tree, in the folder it is installed into. `code` is the file that
// holds this code (a shared library, or what the program calls itself), `program` the executable; either may be "".
std::vector<std::string> plugin_paths(const std::string& code, const std::string& program);

// "" when it can be used; else why not, as the tail of a sentence.
std::string in_process_unavailable();
// Opens the plugin, once; returns what in_process_unavailable() says from then on. About 25 ms the first time.
std::string open_in_process();
// "clang 19.1.7", known without loading it.
std::string in_process_version();
std::vector<std::string> in_process_options(bool exact, bool wide_vectors);

struct InProcessResult {
  bool done = false;
  std::string object;  // a relocatable ELF object
  std::string messages;
};
// After open_in_process() returned "". Thread-safe.
InProcessResult compile_in_process(const std::string& source, const std::string& file_name,
                                   const std::vector<std::string>& options);

}  // namespace tessera::run::cpu
