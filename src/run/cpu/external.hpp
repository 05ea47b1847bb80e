// A system compiler as a function: C text in, a shared object's bytes out. The command runs without a shell.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "base/constant_table.hpp"

namespace tessera::run::cpu {

// What a finished process left behind.
struct ProcessResult {
  int status = -1;  // exit status, or -1 when a signal ended it
  int signal = 0;   // that signal
  bool timed_out = false, cancelled = false;
  std::string messages;  // what it wrote to standard output and error, cut at 64 KiB
};

// Runs `command` (command[0] is looked up in PATH) with no input and waits, at most `seconds` or until `cancel` is set,
// then kills it and its children. Throws Error(device) when it cannot be started.
ProcessResult run_process(const std::vector<std::string>& command, double seconds,
                          const std::atomic<bool>* cancel = nullptr);

// The full path of a program, looked up in PATH unless it has a slash; "" when there is none.
std::string find_program(const std::string& name);

// A compiler found on this system: its command (path, then the user's own options) and what tells versions apart.
struct SystemCompiler {
  std::vector<std::string> command;
  std::string identity;  // path, size and time of change
  std::string name;      // as the user wrote it
};

// Understands "gcc-12", "/opt/bin/clang" and "ccache gcc". Throws Error(device) when there is no such program.
SystemCompiler find_compiler(const std::string& command);
// The first that exists of $TESSERA_CC, cc, clang, gcc. Throws Error(device) when there is none.
SystemCompiler find_default_compiler();

// The options of the house for code that runs here.
std::vector<std::string> system_options(bool contracts, bool wide_vectors);

struct ExternalResult {
  bool done = false, late = false, cancelled = false;
  std::string object;   // the bytes of a shared object
  std::string failure;  // one sentence when not done
  std::string messages;
};
// `tables` are assembled beside the text, as the bytes of a file: no compiler reads their numbers. `seconds`: limit, 0
// for the usual one.
ExternalResult compile_external(const SystemCompiler&, const std::vector<std::string>& options,
                                const std::string& source, const std::string& file_stem,
                                const std::vector<base::ConstantTable>& tables = {}, double seconds = 0,
                                const std::atomic<bool>* cancel = nullptr);

// A file with these bytes under a name of its own, gone with the object. Throws Error(device) when it cannot be
// written.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& bytes);
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string folder_, path_;
};

}  // namespace tessera::run::cpu
