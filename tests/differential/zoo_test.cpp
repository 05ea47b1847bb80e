// The hand-written programs against the interpreter. TESSERA_ZOO=products runs those alone whose names contain that.
#include "zoo.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>
#include <vector>

#include "run_cases.hpp"

namespace tessera::differential {
namespace {

TEST(Zoo, ProgramsGiveTheOraclesValues) {
  const bool thorough = std::getenv("TESSERA_CASES") != nullptr;
  const bool gcc = gcc_is_there();
  const char* of = std::getenv("TESSERA_ZOO");
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < zoo().size(); ++i)
    if (!of || std::string_view(zoo()[i].name).find(of) != std::string_view::npos) chosen.push_back(i);
  run_cases(
      chosen.size(),
      [&](std::size_t k) {
        const std::size_t i = chosen[k];
        Case c = zoo_case(i, thorough);
        if (gcc && i % (thorough ? 3 : 20) == 2) {
          Way other = c.ways.front();
          other.compiler = "gcc";
          c.ways.push_back(other);
        }
        return c;
      },
      1000);
}

}  // namespace
}  // namespace tessera::differential
