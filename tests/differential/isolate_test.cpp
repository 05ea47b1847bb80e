// Jobs in children, and in this process where a tool asks for it.
#include "isolate.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <vector>

namespace tessera::differential {
namespace {

struct Heard {
  std::vector<std::string> wrong, died, last;
};

Heard run(std::size_t count, const std::function<std::string(std::size_t)>& work) {
  Heard heard;
  Job job;
  job.work = [&](std::size_t i, const auto& note) {
    note("job " + std::to_string(i));
    return work(i);
  };
  job.done = [&](std::size_t, const std::string& wrong, const std::string& died, const std::string& last) {
    heard.wrong.push_back(wrong);
    heard.died.push_back(died);
    heard.last.push_back(last);
  };
  run_isolated(count, job);
  return heard;
}

TEST(Isolate, AJobThatEndsItsProcessIsReportedAndTheOthersRun) {
  const Heard heard = run(3, [](std::size_t i) -> std::string {
    if (i == 1) _exit(7);
    return i == 2 ? "wrong" : "";
  });
  EXPECT_EQ(heard.wrong, (std::vector<std::string>{"", "", "wrong"}));
  EXPECT_EQ(heard.died, (std::vector<std::string>{"", "exit status 7", ""}));
  EXPECT_EQ(heard.last[1], "job 1");
}

TEST(Isolate, InOneProcessWhereThatIsAskedFor) {
  setenv("TESSERA_ONE_PROCESS", "1", 1);
  const pid_t here = getpid();
  const Heard heard = run(2, [&](std::size_t i) -> std::string {
    if (i == 1) throw std::runtime_error("thrown");
    return getpid() == here ? "" : "in another process";
  });
  unsetenv("TESSERA_ONE_PROCESS");
  EXPECT_EQ(heard.wrong, (std::vector<std::string>{"", "exception: thrown"}));
  EXPECT_EQ(heard.died, (std::vector<std::string>{"", ""}));
  EXPECT_EQ(heard.last, (std::vector<std::string>{"job 0", "job 1"}));
}

}  // namespace
}  // namespace tessera::differential
