// The hand-written programs against the interpreter. TESSERA_ZOO=products runs those alone whose names contain that.
#include "zoo.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <stdexcept>
#include <string>
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
    if (!of || zoo()[i].name.find(of) != std::string::npos) chosen.push_back(i);
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

TEST(Zoo, HeadersSayWhatIsKnownAndNothingElse) {
  const ZooProgram program = read_zoo_program("a/b",
                                              "// What it is: words.\n// data: wild\n// tolerance: 0\n// numbers: "
                                              "exact\n// largest: thorough\n// method: low-rank\nreturn a = 1;\n");
  EXPECT_EQ(program.data, Data::wild);
  EXPECT_EQ(program.absolute, 0);
  EXPECT_TRUE(program.exact_only);
  EXPECT_FALSE(program.large);
  EXPECT_EQ(program.method, Method::low_rank);
  for (const char* line : {"// data: smoth", "// tolerence: 0", "// method: fast", "// more words"})
    EXPECT_THROW(read_zoo_program("a/b", std::string("// What it is.\n") + line + "\n"), std::runtime_error) << line;
}

}  // namespace
}  // namespace tessera::differential
