// The hand-written programs against the interpreter.
#include "zoo.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "run_cases.hpp"

namespace tessera::differential {
namespace {

TEST(Zoo, ProgramsGiveTheOraclesValues) {
  const bool thorough = std::getenv("TESSERA_CASES") != nullptr;
  run_cases(zoo().size(), [&](std::size_t i) { return zoo_case(i, thorough); }, 1000);
}

}  // namespace
}  // namespace tessera::differential
