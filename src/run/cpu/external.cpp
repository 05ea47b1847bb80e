// Running a system compiler: posix_spawn in a private temporary folder, output through one pipe, a deadline. A kernel
// of some hundred lines takes a compiler 0.1 to 2 s; the deadline is there for a command that is no compiler at all.
#include "run/cpu/external.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/files/files.hpp"
#include "base/text.hpp"
#include "run/cpu/spawn.hpp"
#include "tessera/error.hpp"

namespace tessera::run::cpu {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_messages = 64 * 1024;
constexpr double deadline_seconds = 300;

// A folder that only this user can read.
std::string make_folder() {
  const fs::path parent = base::temporary_folder();
  std::string pattern = (parent / "tessera-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr)
    throw Error(
        ErrorClass::device,
        fmt::format("no temporary folder can be made in {}: {}", base::quoted(parent.string()), base::reason_of(errno)),
        {}, "set TMPDIR to a folder that can be written");
  return pattern;
}

// `files`: what may be there. To list a folder takes a descriptor, and there may be none left: so their names come
// first.
void remove_folder(const std::string& folder, const std::vector<std::string>& files) {
  for (const std::string& file : files) ::unlink((folder + "/" + file).c_str());
  if (::rmdir(folder.c_str()) == 0) return;
  std::error_code ec;
  fs::remove_all(folder, ec);
}

struct TemporaryFolder {
  const fs::path path = make_folder();
  const std::vector<std::string> files;
  explicit TemporaryFolder(std::vector<std::string> names) : files(std::move(names)) {}
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { remove_folder(path.string(), files); }
};

// Reads the pipe until its end, the deadline or a cancellation. Returns false at the latter two.
bool read_until(int fd, std::chrono::steady_clock::time_point end, const std::atomic<bool>* cancel, std::string& text) {
  char buffer[4096];
  for (;;) {
    if (std::chrono::steady_clock::now() >= end || (cancel != nullptr && cancel->load())) return false;
    pollfd p{fd, POLLIN, 0};
    if (poll(&p, 1, 50) <= 0) continue;
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

ProcessResult run_process(const std::vector<std::string>& command, double seconds, const std::atomic<bool>* cancel) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    throw Error(ErrorClass::device,
                fmt::format("no pipe for {}: {}", base::quoted(command[0]), base::reason_of(errno)));

  pid_t child = 0;
  const int failed = spawn(command[0], command, {-1, ends[1], ends[1]}, child);
  close(ends[1]);
  if (failed != 0) {
    close(ends[0]);
    throw Error(ErrorClass::device,
                fmt::format("{} cannot be started: {}", base::quoted(command[0]), base::reason_of(failed)));
  }

  ProcessResult result;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                                          std::chrono::duration<double>(seconds));
  if (!read_until(ends[0], end, cancel, result.messages)) {
    result.cancelled = cancel != nullptr && cancel->load();
    result.timed_out = !result.cancelled;
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
                {}, "give --compiler built-in, gcc or clang, or the path of a compiler");
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

std::vector<std::string> system_options(bool contracts, bool wide_vectors) {
  std::vector<std::string> o = {"-O3",
                                "-std=gnu17",
                                "-fPIC",
                                "-shared",
                                "-w",
                                "-fwrapv",
                                "-fno-strict-aliasing",
                                "-fno-math-errno",
                                "-fno-trapping-math",
                                contracts ? "-ffp-contract=fast" : "-ffp-contract=off"};
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
                                const std::vector<base::ConstantTable>& tables, double seconds,
                                const std::atomic<bool>* cancel) {
  const TemporaryFolder folder({file_stem + ".c", file_stem + ".so", "tables.bin", "tables.s"});
  const std::string input = (folder.path / (file_stem + ".c")).string();
  const std::string output = (folder.path / (file_stem + ".so")).string();
  write(input, source);

  std::vector<std::string> command = compiler.command;
  command.insert(command.end(), options.begin(), options.end());
  command.insert(command.end(), {"-x", "c", input});
  if (!tables.empty()) command.insert(command.end(), {"-x", "assembler", write_tables(folder.path, tables)});
  command.insert(command.end(), {"-o", output, "-lm"});
  const ProcessResult process = run_process(command, seconds > 0 ? seconds : deadline_seconds, cancel);

  ExternalResult result;
  result.messages = process.messages;
  result.late = process.timed_out;
  result.cancelled = process.cancelled;
  if (process.timed_out) {
    result.failure = fmt::format("compiler {} did not finish within {} s", base::quoted(compiler.name),
                                 seconds > 0 ? seconds : deadline_seconds);
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
  remove_folder(folder_, {"module.so"});
  throw Error(ErrorClass::device, fmt::format("the file {} cannot be written: {}", base::quoted(path_), reason));
}

ScratchFile::~ScratchFile() {
  remove_folder(folder_, {"module.so"});
}

}  // namespace tessera::run::cpu
