// Finding, starting and asking the built-in compiler; see built_in.hpp.
//
// Where it lies follows from where this code lies, and that from what the kernel has mapped: what a program calls
// itself (argv[0]) is its caller's word, and a relative one means another file in every folder. The file is opened
// once; what was looked at is what is started. It must belong to this user, to root, or to the owner of the very
// program that runs, and nobody else may write to it.
#include "run/cpu/built_in.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include "base/files/descriptor.hpp"
#include "base/files/files.hpp"
#include "base/files/owner.hpp"
#include "base/process/fork.hpp"
#include "base/text.hpp"
#include "run/cpu/clang/protocol.hpp"
#include "run/cpu/object.hpp"
#include "run/cpu/spawn.hpp"
#include "tessera/error.hpp"

namespace tessera::run::cpu {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

#if defined(TESSERA_LLVM_VERSION)
constexpr const char* version = "clang " TESSERA_LLVM_VERSION;
constexpr const char* library_folder = TESSERA_LIBRARY_FOLDER;      // relative to a prefix: lib, lib/x86_64-linux-gnu
constexpr const char* installed_folder = TESSERA_INSTALLED_FOLDER;  // absolute
#else
constexpr const char* version = "";
constexpr const char* library_folder = "lib";
constexpr const char* installed_folder = "";
#endif
constexpr const char* file_name = "tessera-clang";
constexpr std::size_t most_idle = 2;  // programs that are kept
constexpr double start_seconds = 20;  // until it greets; on a busy machine with a cold disk

// The file that the code at `address` was mapped from, or "".
std::string file_of_code(const void* address) {
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0, end = 0;
    const char* const last = line.data() + line.size();
    const auto first = std::from_chars(line.data(), last, begin, 16);
    if (first.ec != std::errc() || first.ptr == last) continue;
    if (std::from_chars(first.ptr + 1, last, end, 16).ec != std::errc() || wanted < begin || wanted >= end) continue;
    const std::size_t path = line.find('/');
    return path == std::string::npos || line.ends_with(" (deleted)") ? "" : line.substr(path);
  }
  return "";
}

// $TESSERA_CLANG, or "".
std::string chosen_path() {
  const char* chosen = ::secure_getenv("TESSERA_CLANG");
  return chosen == nullptr ? "" : chosen;
}

std::string chosen_name() {
  return base::quoted(chosen_path(), 400) + " (from TESSERA_CLANG)";
}

// The program that is started, opened and looked at once.
struct Found {
  int fd = -1;
  std::string reason;  // why there is none

  Found() {
    if (*version == '\0') {
      reason = "this build has none";
    } else if (!LinkedObject::supported()) {
      reason = "it serves x86-64 Linux only";
    } else {
      look();
    }
  }

 private:
  void look() {
    struct stat own{};
    const bool known = ::stat("/proc/self/exe", &own) == 0;
    const unsigned trusted = known ? own.st_uid : 0;
    if (const std::string chosen = chosen_path(); !chosen.empty()) {
      if (chosen[0] != '/')
        reason = fmt::format("TESSERA_CLANG is {}, expected an absolute path", base::quoted(chosen, 400));
      else if (!open(chosen, chosen_name(), trusted) && reason.empty())
        reason = fmt::format("{} cannot be opened: {}", chosen_name(), base::reason_of(errno));
      return;
    }
    std::error_code ec;
    const std::string code = file_of_code(reinterpret_cast<const void*>(&built_in_version));
    for (const std::string& path : built_in_paths(code, fs::read_symlink("/proc/self/exe", ec).string()))
      if (open(path, base::quoted(path, 400), trusted) || !reason.empty()) return;
    reason = fmt::format("{} is not installed beside this program", file_name);
  }

  bool open(const std::string& path, const std::string& shown, unsigned trusted) {
    const int opened = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (opened < 0) return false;
    if (const std::string why = why_not_run(opened, trusted); !why.empty()) {
      ::close(opened);
      reason = fmt::format("{} {}", shown, why);
      return false;
    }
    // Numbers of standard files are others' in the process that is started.
    fd = opened > STDERR_FILENO ? opened : ::fcntl(opened, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (fd != opened) ::close(opened);
    return fd >= 0;
  }
};

const Found& found() {
  static constinit base::Once<Found> f;
  return f.get([] { return Found(); });
}

// One running program and the socket to it.
class Server {
 public:
  Server() = default;
  ~Server() {
    if (socket_ >= 0) ::close(socket_);
    if (child_ > 0 && owner_ == ::getpid()) end_child(child_);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // "" or why not.
  std::string start() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return base::reason_of(errno);
    socket_ = ends[0];
    const base::Descriptor other(ends[1]);
    owner_ = ::getpid();
    if (const int failed = spawn(fmt::format("/proc/self/fd/{}", found().fd), {file_name}, {other.fd, -1, -1}, child_);
        failed != 0) {
      child_ = 0;
      return base::reason_of(failed);
    }
    return "";
  }

  // Whose process it is: after a fork both would talk at once.
  bool is_ours() const { return owner_ == ::getpid(); }

  bool has_greeted() const { return greeted_; }

  // A server that starts greets first.
  BuiltInResult ask(const BuiltInRequest& request) {
    using Outcome = BuiltInResult::Outcome;
    BuiltInResult result;
    const Clock::time_point begin = Clock::now();
    bool cancelled = false, late = false;
    const auto wait = [&] {
      for (;;) {
        if (request.cancel != nullptr && request.cancel->load()) cancelled = true;
        const double passed = std::chrono::duration<double>(Clock::now() - begin).count();
        if (request.seconds > 0 && passed > request.seconds + (greeted_ ? 0 : start_seconds)) late = true;
        if (cancelled || late) return false;
        pollfd p{socket_, POLLIN, 0};
        if (::poll(&p, 1, 50) > 0) return true;
      }
    };
    MessageReader reader(socket_, wait);
    if (!greeted_) {
      std::uint32_t protocol = 0;
      std::string name;
      if (reader.number(protocol) && protocol == clang_protocol && reader.text(name) && name == version)
        greeted_ = true;
      else if (protocol != 0 && !cancelled && !late)
        return {Outcome::failed, "", "the compiler belongs to another version"};
    }
    Message message;
    message.text(request.source).text(request.file_name).number(static_cast<std::uint32_t>(request.options.size()));
    for (const std::string& option : request.options) message.text(option);
    std::uint32_t done = 0;
    if (greeted_ && message.send(socket_) && reader.number(done) && reader.text(result.object) &&
        reader.text(result.messages)) {
      result.outcome = done == 1 ? Outcome::done : Outcome::rejected;
      return result;
    }
    if (cancelled) return {Outcome::cancelled, "", ""};
    if (late) return {Outcome::late, "", ""};
    return {Outcome::failed, "", how_it_ended()};
  }

 private:
  std::string how_it_ended() {
    int status = 0;
    for (int k = 0; k < 100; ++k) {  // it is about to be gone: its socket is closed
      const pid_t gone = ::waitpid(child_, &status, WNOHANG);
      if (gone == 0) {
        ::usleep(10'000);
        continue;
      }
      child_ = 0;
      if (gone < 0) break;  // the host waits for all of its children
      if (WIFSIGNALED(status)) return fmt::format("the compiler was ended by signal {}", WTERMSIG(status));
      return fmt::format("the compiler ended with status {}", WEXITSTATUS(status));
    }
    return "the compiler ended without an answer";
  }

  int socket_ = -1;
  pid_t child_ = 0, owner_ = 0;
  bool greeted_ = false;
};

// Never destroyed: the kernel closes the sockets, and so ends the programs, when this process ends in any way.
struct Pool {
  base::Mutex mutex;
  std::vector<std::unique_ptr<Server>> idle;

  std::unique_ptr<Server> take() {
    const base::Lock lock(mutex, idle);
    while (!idle.empty()) {
      std::unique_ptr<Server> server = std::move(idle.back());
      idle.pop_back();
      if (server->is_ours()) return server;
    }
    return nullptr;
  }
  void give(std::unique_ptr<Server> server) {
    const base::Lock lock(mutex, idle);
    if (idle.size() < most_idle) idle.push_back(std::move(server));
  }
};

Pool& pool() {
  static Pool& p = *new Pool();
  return p;
}

// TESSERA_OPTIMIZE=0 compiles three times as fast, for tests of very many programs.
std::string optimization() {
  const char* level = std::getenv("TESSERA_OPTIMIZE");
  if (level == nullptr || *level == 0) return "-O3";
  if (level[0] < '0' || level[0] > '3' || level[1] != 0)
    throw Error(ErrorClass::argument, "TESSERA_OPTIMIZE is not 0, 1, 2 or 3: " + base::quoted(level, 20));
  return std::string("-O") + level;
}

}  // namespace

std::vector<std::string> built_in_paths(const std::string& code, const std::string& program) {
  std::vector<std::string> paths;
  const auto add = [&](const fs::path& path) {
    const std::string text = path.lexically_normal().string();
    if (std::find(paths.begin(), paths.end(), text) == paths.end()) paths.push_back(text);
  };
  for (const std::string& file : {code, program}) {
    if (!file.starts_with('/')) continue;
    const fs::path folder = fs::path(file).parent_path();
    add(folder / file_name);
    add(folder / "tessera" / file_name);
    add(folder / ".." / library_folder / "tessera" / file_name);
    add(folder / "../lib/tessera" / file_name);
  }
  if (*installed_folder != '\0') add(fs::path(installed_folder) / "tessera" / file_name);
  return paths;
}

std::string why_not_run(int fd, unsigned trusted) {
  struct stat info{};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) return "is no regular file";
  if (info.st_uid != 0 && info.st_uid != ::geteuid() && info.st_uid != trusted)
    return fmt::format("belongs to another user ({})", info.st_uid);
  const bool group = (info.st_mode & S_IWGRP) != 0 && !base::is_private_group(info.st_gid);
  if (group || (info.st_mode & S_IWOTH) != 0) return "can be written by others than its owner";
  return "";
}

std::string built_in_unavailable() {
  return found().reason;
}

bool is_built_in_chosen() {
  return !chosen_path().empty();
}

std::string built_in_version() {
  return version;
}

std::vector<std::string> built_in_options(bool contracts, bool wide_vectors) {
  std::vector<std::string> o = {optimization(), contracts ? "-ffp-contract=fast" : "-ffp-contract=off"};
  if (wide_vectors) o.emplace_back("-mprefer-vector-width=512");
  return o;
}

BuiltInResult compile_built_in(const BuiltInRequest& request) {
  using Outcome = BuiltInResult::Outcome;
  std::unique_ptr<Server> server = pool().take();
  const auto failed = [](const std::string& why, bool greeted) {
    if (!greeted && is_built_in_chosen())
      throw Error(ErrorClass::device, fmt::format("{} does not serve as the built-in compiler: {}", chosen_name(), why),
                  {}, help_of_chosen);
    return BuiltInResult{Outcome::failed, "", why};
  };
  for (;;) {
    const bool kept = server != nullptr;
    if (!kept) {
      server = std::make_unique<Server>();
      if (const std::string why = server->start(); !why.empty())
        return failed("the compiler cannot be started: " + why, false);
    }
    BuiltInResult result = server->ask(request);
    if (result.outcome == Outcome::done || result.outcome == Outcome::rejected) {
      pool().give(std::move(server));
      return result;
    }
    const bool greeted = server->has_greeted();
    server.reset();
    if (result.outcome != Outcome::failed) return result;
    // One that had waited may have died of something else long ago.
    if (!kept) return failed(result.messages, greeted);
  }
}

void end_idle_compilers() {
  std::vector<std::unique_ptr<Server>> ended;
  const base::Lock lock(pool().mutex, pool().idle);
  ended.swap(pool().idle);
}

}  // namespace tessera::run::cpu
