// Running a system compiler: posix_spawn in a private temporary folder, output through one pipe, a deadline. A kernel
// of some hundred lines takes a compiler 0.1 to 2 s; the deadline is there for a command that is no compiler at all.
#include "run/cpu/external.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/files.hpp"
#include "base/text.hpp"
#include "tessera/error.hpp"

extern char** environ;

namespace tessera::run::cpu {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_messages = 64 * 1024;
constexpr double deadline_seconds = 300;

// A folder that only this user can read.
std::string make_folder() {
  std::error_code ec;
  fs::path parent = fs::temp_directory_path(ec);
  if (ec) parent = ".";
  std::string pattern = (parent / "tessera-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr)
    throw Error(
        ErrorClass::device,
        fmt::format("no temporary folder can be made in {}: {}", base::quoted(parent.string()), base::reason_of(errno)),
        {}, "set TMPDIR to a folder that can be written");
  return pattern;
}

void remove_folder(const std::string& folder) {
  std::error_code ec;
  fs::remove_all(folder, ec);
}

struct TemporaryFolder {
  const fs::path path = make_folder();
  TemporaryFolder() = default;
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { remove_folder(path.string()); }
};

struct FileActions {
  posix_spawn_file_actions_t value;
  FileActions() { posix_spawn_file_actions_init(&value); }
  ~FileActions() { posix_spawn_file_actions_destroy(&value); }
};

// A group of its own, so that a compiler driver's children end with it; default signals, none blocked.
struct Attributes {
  posix_spawnattr_t value;
  Attributes() {
    posix_spawnattr_init(&value);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&value, &none);
    posix_spawnattr_setsigdefault(&value, &all);
    posix_spawnattr_setpgroup(&value, 0);
    posix_spawnattr_setflags(&value, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~Attributes() { posix_spawnattr_destroy(&value); }
};

// Reads the pipe until its end or the deadline. Returns false at the deadline.
bool read_until(int fd, std::chrono::steady_clock::time_point end, std::string& text) {
  char buffer[4096];
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    pollfd p{fd, POLLIN, 0};
    const int ready = poll(&p, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return true;
    if (text.size() < max_messages) text.append(buffer, static_cast<std::size_t>(n));
  }
}

void write(const std::string& path, std::string_view bytes) {
  if (!(std::ofstream(path, std::ios::binary) << bytes).flush())
    throw Error(ErrorClass::device,
                fmt::format("the file {} cannot be written: {}", base::quoted(path), base::reason_of(errno)));
}

// As a string of the assembler.
std::string assembled(const std::string& path) {
  std::string text;
  for (const char c : path) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return '"' + text + '"';
}

// A file of bytes, and one of assembler that names them; its path. No other module sees the names.
std::string write_tables(const fs::path& folder, const std::vector<base::ConstantTable>& tables) {
  std::string bytes, text = ".section .note.GNU-stack,\"\",%progbits\n.section .rodata\n";
  const std::string path = (folder / "tables").string();
  for (const base::ConstantTable& table : tables) {
    text += fmt::format(
        ".balign {}\n.globl {name}\n.hidden {name}\n.type {name}, %object\n.size {name}, {size}\n{name}:\n"
        ".incbin {}, {}, {size}\n",
        base::ConstantTable::alignment, assembled(path + ".bin"), bytes.size(), fmt::arg("name", table.name),
        fmt::arg("size", table.bytes.size()));
    bytes.append(reinterpret_cast<const char*>(table.bytes.data()), table.bytes.size());
  }
  write(path + ".bin", bytes);
  write(path + ".s", text);
  return path + ".s";
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& command, double seconds) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    throw Error(ErrorClass::device,
                fmt::format("no pipe for {}: {}", base::quoted(command[0]), base::reason_of(errno)));

  FileActions actions;
  posix_spawn_file_actions_addopen(&actions.value, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions.value, ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions.value, ends[1], 2);
  Attributes attributes;
  std::vector<char*> arguments;
  for (const std::string& a : command) arguments.push_back(const_cast<char*>(a.c_str()));
  arguments.push_back(nullptr);

  pid_t child = 0;
  const int failed = posix_spawnp(&child, arguments[0], &actions.value, &attributes.value, arguments.data(), environ);
  close(ends[1]);
  if (failed != 0) {
    close(ends[0]);
    throw Error(ErrorClass::device,
                fmt::format("{} cannot be started: {}", base::quoted(command[0]), base::reason_of(failed)));
  }

  ProcessResult result;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                                          std::chrono::duration<double>(seconds));
  if (!read_until(ends[0], end, result.messages)) {
    result.timed_out = true;
    kill(-child, SIGKILL);
  }
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) result.status = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  return result;
}

std::string find_program(const std::string& name) {
  const auto usable = [](const fs::path& p) {
    std::error_code ec;
    return fs::is_regular_file(p, ec) && access(p.c_str(), X_OK) == 0;
  };
  if (name.empty()) return "";
  if (name.find('/') != std::string::npos) return usable(name) ? name : "";
  const char* path = std::getenv("PATH");
  for (std::string_view folder : base::split(path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin", ':')) {
    const fs::path candidate = fs::path(folder.empty() ? "." : folder) / name;
    if (usable(candidate)) return candidate.string();
  }
  return "";
}

SystemCompiler find_compiler(const std::string& command) {
  SystemCompiler result;
  result.name = command;
  // A path with blanks in it is one word; anything else is a command line.
  if (!find_program(command).empty()) {
    result.command = {command};
  } else {
    for (std::string_view word : base::split_words(command)) result.command.emplace_back(word);
  }
  const std::string path = result.command.empty() ? "" : find_program(result.command[0]);
  if (path.empty())
    throw Error(ErrorClass::device,
                fmt::format("no compiler {} on this system, expected the name of a C compiler", base::quoted(command)),
                {}, "give --compiler in-process, gcc or clang, or the path of a compiler");
  // The program that does the work is the last word that is one ("ccache gcc").
  for (const std::string& word : result.command) {
    const std::string found = find_program(word);
    struct stat s;
    if (found.empty() || stat(found.c_str(), &s) != 0) continue;
    std::error_code ec;
    result.identity +=
        fmt::format("{} {} {}.{};", fs::canonical(found, ec).string(), s.st_size, s.st_mtim.tv_sec, s.st_mtim.tv_nsec);
  }
  result.identity += base::join(result.command, " ");
  result.command[0] = path;
  return result;
}

SystemCompiler find_default_compiler() {
  const char* chosen = std::getenv("TESSERA_CC");
  if (chosen != nullptr && *chosen != '\0') return find_compiler(chosen);
  for (const char* name : {"cc", "clang", "gcc"})
    if (!find_program(name).empty()) return find_compiler(name);
  throw Error(ErrorClass::device, "no C compiler on this system, looked for cc, clang and gcc", {},
              "install gcc or clang, or set TESSERA_CC to a C compiler");
}

std::vector<std::string> system_options(bool exact, bool wide_vectors) {
  std::vector<std::string> o = {"-O3",
                                "-std=gnu17",
                                "-fPIC",
                                "-shared",
                                "-w",
                                "-fwrapv",
                                "-fno-strict-aliasing",
                                "-fno-math-errno",
                                "-fno-trapping-math",
                                exact ? "-ffp-contract=off" : "-ffp-contract=fast"};
#if defined(__x86_64__) || defined(__i386__)
  o.push_back("-march=native");
  if (wide_vectors) o.push_back("-mprefer-vector-width=512");
#else
  (void)wide_vectors;
  o.push_back("-mcpu=native");
#endif
  return o;
}

ExternalResult compile_external(const SystemCompiler& compiler, const std::vector<std::string>& options,
                                const std::string& source, const std::string& file_stem,
                                const std::vector<base::ConstantTable>& tables) {
  TemporaryFolder folder;
  const std::string input = (folder.path / (file_stem + ".c")).string();
  const std::string output = (folder.path / (file_stem + ".so")).string();
  write(input, source);

  std::vector<std::string> command = compiler.command;
  command.insert(command.end(), options.begin(), options.end());
  command.insert(command.end(), {"-x", "c", input});
  if (!tables.empty()) command.insert(command.end(), {"-x", "assembler", write_tables(folder.path, tables)});
  command.insert(command.end(), {"-o", output, "-lm"});
  const ProcessResult process = run_process(command, deadline_seconds);

  ExternalResult result;
  result.messages = process.messages;
  if (process.timed_out) {
    result.failure =
        fmt::format("compiler {} did not finish within {} s", base::quoted(compiler.name), deadline_seconds);
  } else if (process.signal != 0) {
    result.failure = fmt::format("compiler {} was ended by signal {}", base::quoted(compiler.name), process.signal);
  } else if (process.status != 0) {
    result.failure = fmt::format("compiler {} failed with status {}", base::quoted(compiler.name), process.status);
  } else {
    std::ifstream file(output, std::ios::binary);
    std::stringstream bytes;
    bytes << file.rdbuf();
    result.object = std::move(bytes).str();
    result.done = !result.object.empty();
    if (!result.done) result.failure = fmt::format("compiler {} wrote no object file", base::quoted(compiler.name));
  }
  return result;
}

ScratchFile::ScratchFile(const std::string& bytes) : folder_(make_folder()), path_(folder_ + "/module.so") {
  if ((std::ofstream(path_, std::ios::binary) << bytes).flush()) return;
  const std::string reason = base::reason_of(errno);
  remove_folder(folder_);
  throw Error(ErrorClass::device, fmt::format("the file {} cannot be written: {}", base::quoted(path_), reason));
}

ScratchFile::~ScratchFile() {
  remove_folder(folder_);
}

}  // namespace tessera::run::cpu
