// posix_spawn, which copies no memory of a large process; see spawn.hpp.
#include "run/cpu/spawn.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

extern char** environ;

namespace tessera::run::cpu {
namespace {

struct FileActions {
  posix_spawn_file_actions_t value;
  FileActions() { posix_spawn_file_actions_init(&value); }
  ~FileActions() { posix_spawn_file_actions_destroy(&value); }
  void set(int from, int to) {
    if (from >= 0)
      posix_spawn_file_actions_adddup2(&value, from, to);
    else
      posix_spawn_file_actions_addopen(&value, to, "/dev/null", to == 0 ? O_RDONLY : O_WRONLY, 0);
  }
};

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

}  // namespace

int spawn(const std::string& path, const std::vector<std::string>& arguments, const Standard& files, pid_t& child) {
  FileActions actions;
  actions.set(files.input, 0);
  actions.set(files.output, 1);
  actions.set(files.error, 2);
  const Attributes attributes;
  std::vector<char*> words;
  for (const std::string& a : arguments) words.push_back(const_cast<char*>(a.c_str()));
  words.push_back(nullptr);
  return ::posix_spawnp(&child, path.c_str(), &actions.value, &attributes.value, words.data(), environ);
}

void end_child(pid_t child) {
  ::kill(-child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace tessera::run::cpu
