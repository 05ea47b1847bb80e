// The hand-written programs against the interpreter.
#include "zoo.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "run_cases.hpp"

namespace tessera::differential {
namespace {

TEST(Zoo, ProgramsGiveTheOraclesValues) {
  const bool thorough = std::getenv("TESSERA_CASES") != nullptr;
  const bool gcc = gcc_is_there();
  run_cases(
      zoo().size(),
      [&](std::size_t i) {
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
