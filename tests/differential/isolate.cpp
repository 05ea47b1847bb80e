// The child sends framed messages through a pipe: started, noted, finished. When it dies, the job that it had started
// is charged and a new child goes on behind it. Children are also replaced now and then: compiled code piles up in
// them.
#include "isolate.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>

namespace tessera::differential {
namespace {

constexpr std::size_t jobs_of_a_child = 150;

void send(int fd, char kind, const std::string& text) {
  std::string frame(1, kind);
  const auto size = static_cast<std::uint32_t>(text.size());
  frame.append(reinterpret_cast<const char*>(&size), sizeof size);
  frame += text;
  for (std::size_t at = 0; at < frame.size();) {
    const ssize_t n = ::write(fd, frame.data() + at, frame.size() - at);
    if (n <= 0) _exit(3);
    at += static_cast<std::size_t>(n);
  }
}

bool read_all(int fd, void* to, std::size_t bytes) {
  auto* p = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t n = ::read(fd, p, bytes);
    if (n <= 0) return false;
    p += n;
    bytes -= static_cast<std::size_t>(n);
  }
  return true;
}

// Ends the process after so many seconds of work, or sixty times as long without an end: other programs may be busy
// here.
void limit(int seconds) {
  itimerval timer{};
  timer.it_value.tv_sec = seconds;
  setitimer(ITIMER_PROF, &timer, nullptr);
  alarm(static_cast<unsigned>(60 * seconds));
}

[[noreturn]] void child(int fd, std::size_t begin, std::size_t end, const Job& job) {
  for (std::size_t i = begin; i < end; ++i) {
    send(fd, 's', "");
    limit(job.seconds);
    std::string wrong;
    try {
      wrong = job.work(i, [&](const std::string& text) { send(fd, 'n', text); });
    } catch (const std::exception& e) {
      wrong = std::string("exception: ") + e.what();
    }
    limit(0);
    send(fd, 'f', wrong);
  }
  _exit(0);
}

std::string ending(int status) {
  if (WIFSIGNALED(status)) {
    const int number = WTERMSIG(status);
    return number == SIGALRM || number == SIGPROF ? "it does not end"
                                                  : fmt::format("signal {} ({})", number, strsignal(number));
  }
  return fmt::format("exit status {}", WEXITSTATUS(status));
}

void run_here(std::size_t count, const Job& job) {
  for (std::size_t i = 0; i < count; ++i) {
    std::string wrong, last;
    try {
      wrong = job.work(i, [&](const std::string& text) { last = text; });
    } catch (const std::exception& e) {
      wrong = std::string("exception: ") + e.what();
    }
    job.done(i, wrong, "", last);
  }
}

}  // namespace

void run_isolated(std::size_t count, const Job& job) {
  if (std::getenv("TESSERA_ONE_PROCESS") != nullptr) return run_here(count, job);
  std::size_t next = 0;
  while (next < count) {
    const std::size_t end = std::min(count, next + jobs_of_a_child);
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) throw std::runtime_error("no pipe");
    std::fflush(nullptr);
    const pid_t pid = fork();
    if (pid < 0) throw std::runtime_error("no process");
    if (pid == 0) {
      close(ends[0]);
      child(ends[1], next, end, job);
    }
    close(ends[1]);
    std::string last;
    char kind = 0;
    std::uint32_t size = 0;
    while (read_all(ends[0], &kind, 1) && read_all(ends[0], &size, sizeof size)) {
      std::string text(size, '\0');
      if (!read_all(ends[0], text.data(), size)) break;
      if (kind == 's') last.clear();
      if (kind == 'n') last = text;
      if (kind == 'f') job.done(next++, text, "", last);
    }
    close(ends[0]);
    int status = 0;
    waitpid(pid, &status, 0);
    if (next < end && !(WIFEXITED(status) && WEXITSTATUS(status) == 0)) job.done(next++, "", ending(status), last);
  }
}

}  // namespace tessera::differential
