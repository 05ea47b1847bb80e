// Random graphs, and random programs with transforms, against the interpreter. TESSERA_CASES=20000 runs many,
// TESSERA_SEED=17 starts at another one, TESSERA_OPTIMIZE=0 compiles them in a third of the time.
#include <gtest/gtest.h>

#include <cstdlib>

#include "differential/random/fields.hpp"
#include "differential/random/generate.hpp"
#include "differential/random/spectra.hpp"
#include "differential/run_cases.hpp"

namespace tessera::differential {
namespace {

std::size_t number(const char* variable, std::size_t otherwise) {
  const char* given = std::getenv(variable);
  return given != nullptr ? static_cast<std::size_t>(std::strtoull(given, nullptr, 10)) : otherwise;
}

TEST(Random, GraphsGiveTheOraclesValues) {
  const std::uint64_t first = number("TESSERA_SEED", 1);
  const bool gcc = gcc_is_there();
  run_cases(number("TESSERA_CASES", 20), [&](std::size_t i) {
    Case c = random_case(first + i);
    if (gcc && i % 20 == 19) {
      Way other = c.ways.front();
      other.compiler = "gcc";
      c.ways.push_back(other);
    }
    return c;
  });
}

TEST(Random, FieldsGiveTheOraclesValues) {
  const std::uint64_t first = number("TESSERA_SEED", 1);
  run_cases(number("TESSERA_CASES", 12), [&](std::size_t i) { return random_fields_case(first + i); });
}

// TESSERA_CASES=300 as well.
TEST(Random, SpectraGiveTheOraclesValues) {
  const std::uint64_t first = number("TESSERA_SEED", 1);
  run_cases(number("TESSERA_CASES", 8), [&](std::size_t i) { return random_spectra_case(first + i); });
}

}  // namespace
}  // namespace tessera::differential
