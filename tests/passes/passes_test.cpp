// Every file of tests/passes: what the passes make of its input is what it expects. TESSERA_BLESS=1 writes what differs
// anew (`./dev bless`); read the difference before it is committed.
#include <gtest/gtest.h>

#include <cctype>
#include <cstdlib>
#include <fstream>

#include "case.hpp"

namespace tessera::passes {
namespace {

bool blesses() {
  const char* bless = std::getenv("TESSERA_BLESS");
  return bless != nullptr && std::string(bless) == "1";
}

class Passes : public testing::TestWithParam<PassCase> {};

TEST_P(Passes, MakeWhatTheFileSays) {
  const PassCase& one = GetParam();
  const std::vector<Part> made = run_case(one);
  if (made == one.expected) return;
  if (blesses()) {
    std::ofstream(one.path, std::ios::binary) << write_case(one, made);
    std::printf("blessed %s\n", one.name.c_str());
    return;
  }
  EXPECT_EQ(text_of(made), text_of(one.expected)) << "`./dev bless " << one.name << "` writes the file anew";
}

std::string test_name(const testing::TestParamInfo<PassCase>& info) {
  std::string name = info.param.name;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Files, Passes, testing::ValuesIn(cases()), test_name);

TEST(PassFiles, AreReadAndWrittenByteForByte) {
  for (const PassCase& one : cases()) {
    const std::string text = write_case(one, one.expected);
    EXPECT_EQ(write_case(read_case(one.name, text), one.expected), text) << one.name;
    EXPECT_EQ(text.find("\r"), std::string::npos) << one.name;
  }
}

TEST(PassFiles, SayWhatIsMissing) {
  EXPECT_THROW(read_case("x", "parameter \"M\"\n"), std::runtime_error);
  EXPECT_THROW(read_case("x", "// A pass that nobody names.\nparameter \"M\"\n"), std::runtime_error);
  EXPECT_THROW(run_case(read_case("x", "// One.\n// pass: no_such_pass\nparameter \"M\"\n")), std::runtime_error);
  EXPECT_THROW(run_case(read_case("x", "// One.\n// pass: lift_rank\n// numbers: round\nparameter \"M\"\n")),
               std::runtime_error);
}

}  // namespace
}  // namespace tessera::passes
