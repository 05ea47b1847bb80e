// NVRTC for tests: what it calls machine code is a shared library for this processor, made by g++ and packed behind a
// line that the driver of this folder knows. TESSERA_CUDA_ON_CPU_COMPILER names another compiler than g++.
//
// Its version is one that NVIDIA never had, so that no cache takes its code for theirs.
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "package.hpp"
#include "translate.hpp"

extern char** environ;

namespace {

namespace fs = std::filesystem;

struct Program {
  std::string source, log, code;
};

enum : int { success = 0, failed = 6, internal = 11 };

struct Folder {
  fs::path path;
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "cuda-on-cpu-XXXXXX").string();
    if (mkdtemp(pattern.data()) != nullptr) path = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    if (!path.empty()) fs::remove_all(path, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
};

std::string content(const fs::path& file) {
  std::ostringstream out;
  out << std::ifstream(file, std::ios::binary).rdbuf();
  return out.str();
}

// Its exit status, with what it says in the file.
int execute(std::vector<std::string> words, const fs::path& said) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, said.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = 0;
  const int trouble = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  if (trouble != 0 || waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Numbers as of the GPU: sums and products become one operation where NVRTC was asked for it, which is one of GCC's
// expensive optimizations. What C++ leaves undefined
// and a GPU refuses or computes otherwise ends the process.
std::vector<std::string> command(const fs::path& folder, bool contracts) {
  const char* given = std::getenv("TESSERA_CUDA_ON_CPU_COMPILER");
  std::vector<std::string> words = {given != nullptr ? given : "g++"};
  for (const char* word : {"-x", "c++", "-std=c++17", "-O1", "-w", "-shared", "-fPIC", "-fno-exceptions",
                           "-fno-strict-aliasing", "-fno-math-errno", "-fexpensive-optimizations",
                           "-fsanitize=alignment,integer-divide-by-zero,shift,signed-integer-overflow",
                           "-fsanitize-undefined-trap-on-error", "-include", CUDA_ON_CPU_FOLDER "/device.h"})
    words.emplace_back(word);
  words.emplace_back(contracts ? "-ffp-contract=fast" : "-ffp-contract=off");
#if defined(__x86_64__)
  if (__builtin_cpu_supports("fma")) words.emplace_back("-mfma");
#endif
  words.insert(words.end(), {(folder / "kernel.cu").string(), "-o", (folder / "kernel.so").string()});
  return words;
}

int compile(Program& program, bool contracts) {
  const Folder folder;
  if (folder.path.empty()) return internal;
  std::ofstream(folder.path / "kernel.cu") << cuda_on_cpu::translate(program.source);
  const int status = execute(command(folder.path, contracts), folder.path / "log");
  program.log = content(folder.path / "log");
  if (status == -1) program.log += "error: the compiler does not run";
  if (status != 0) return failed;
  program.code = cuda_on_cpu::pack(content(folder.path / "kernel.so"));
  return success;
}

}  // namespace

extern "C" {
int nvrtcVersion(int* major, int* minor) {
  return *major = 12, *minor = 99, success;
}
const char* nvrtcGetErrorString(int status) {
  return status == failed ? "NVRTC_ERROR_COMPILATION" : "NVRTC_ERROR_INTERNAL_ERROR";
}
int nvrtcGetNumSupportedArchs(int* n) {
  return *n = 1, success;
}
int nvrtcGetSupportedArchs(int* a) {
  return a[0] = 90, success;
}
int nvrtcCreateProgram(Program** p, const char* source, const char*, int, const char* const*, const char* const*) {
  *p = new Program{source, "", ""};
  return success;
}
int nvrtcDestroyProgram(Program** p) {
  return delete *p, *p = nullptr, success;
}
int nvrtcCompileProgram(Program* p, int n, const char* const* options) {
  bool contracts = true;
  for (int i = 0; i < n; ++i) contracts = contracts && std::strcmp(options[i], "--fmad=false") != 0;
  return compile(*p, contracts);
}
int nvrtcGetProgramLogSize(Program* p, std::size_t* n) {
  return *n = p->log.size() + 1, success;
}
int nvrtcGetProgramLog(Program* p, char* out) {
  return std::memcpy(out, p->log.c_str(), p->log.size() + 1), success;
}
int nvrtcGetCUBINSize(Program* p, std::size_t* n) {
  return *n = p->code.size(), success;
}
int nvrtcGetCUBIN(Program* p, char* out) {
  return std::memcpy(out, p->code.data(), p->code.size()), success;
}
// There is one architecture, for which there is machine code.
int nvrtcGetPTXSize(Program*, std::size_t*) {
  return internal;
}
int nvrtcGetPTX(Program*, char*) {
  return internal;
}
}
