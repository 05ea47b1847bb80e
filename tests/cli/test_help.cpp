// The help of every verb: options in groups, each on one line that fits a terminal, and what is said of a command line
// that is wrong before anything is asked of it.
#include <sstream>

#include "fixture.hpp"

namespace tessera::cli {
namespace {

using testing::AllOf;
using testing::Not;

const std::vector<std::string> verbs = {"run",   "filter", "fft",     "emit", "explain",
                                        "check", "format", "devices", "tune"};

TEST_F(Command, HelpGroupsOptionsOneLineEach) {
  for (const std::string& verb : verbs) {
    const Outcome o = tessera({verb, "--help"});
    EXPECT_EQ(o.status, 0);
    EXPECT_EQ(o.err, "");
    std::istringstream text(o.out.substr(0, o.out.find("Options of filters")));  // whose words are those of the filters
    std::string group;
    int ungrouped = 0;
    for (std::string line; std::getline(text, line);) {
      if (line.ends_with(':') && line[0] != ' ') group = line;
      if (!line.starts_with("  -")) continue;
      if (group == "Options:") ++ungrouped;
      const std::size_t words = line.find_first_not_of(' ', line.find("  ", 3));
      EXPECT_NE(words, std::string::npos) << verb << ": " << line;
      EXPECT_LE(line.size(), 130U) << verb << ": " << line;
    }
    const bool few = verb == "format" || verb == "devices" || verb == "tune" || verb == "check";
    EXPECT_TRUE(few || ungrouped == 1) << verb << ": --help alone is of no group\n" << o.out;
  }
  EXPECT_THAT(tessera({"run", "--help"}).out, AllOf(HasSubstr("Inputs and results:"), HasSubstr("How it is computed:"),
                                                    HasSubstr("Where it runs:"), Not(HasSubstr("Circuits"))));
  EXPECT_THAT(tessera({"explain", "--help"}).out, HasSubstr("Circuits (of targets hls and verilog):"));
}

TEST_F(Command, HelpIsAVerbToo) {
  EXPECT_EQ(tessera({"help"}).out, tessera({"--help"}).out);
  EXPECT_EQ(tessera({"help", "emit"}).out, tessera({"emit", "--help"}).out);
  expect_error(tessera({"help", "frob"}), 2, "unknown verb 'frob'");
  expect_error(tessera({"frob", "--help"}), 2, "unknown verb 'frob'");
}

TEST_F(Command, NamesTheOptionBeforeWhatIsMissing) {
  expect_error(tessera({"run", "--tiles", "8x8"}), 2, "unknown option '--tiles'");
  expect_error(tessera({"run", "--hlep"}), 2, "did you mean '--help'");
  expect_error(tessera({"emit", "--exact"}), 2, "program is required");
}

}  // namespace
}  // namespace tessera::cli
