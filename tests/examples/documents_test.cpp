// The documents hold: every Forma program in them compiles, every example has a page that shows it as it is. (What
// pages name and where their links lead is looked at by scripts/check_docs.py.)
#include "support/documents.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "tessera/program.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using testing::Block;
using testing::content;
using testing::forma_blocks;

const fs::path root = TESSERA_SOURCE_DIR;

std::vector<fs::path> pages() {
  std::vector<fs::path> all = {root / "README.md"};
  for (const auto& entry : fs::recursive_directory_iterator(root / "docs"))
    if (entry.path().extension() == ".md") all.push_back(entry.path());
  return all;
}

TEST(Documents, EveryProgramCompiles) {
  const CompileOptions options{{}, {(root / "examples").string(), (root / "filters").string()}};
  std::size_t programs = 0;
  for (const fs::path& page : pages())
    for (const Block& block : forma_blocks(content(page))) {
      const std::string place = page.filename().string() + ":" + std::to_string(block.line);
      try {
        EXPECT_FALSE(Program::from_text(block.text, options, place).outputs().empty());
        ++programs;
      } catch (const Error& e) {
        ADD_FAILURE() << place << '\n' << e.what();
      }
    }
  EXPECT_GE(programs, 20U);
}

TEST(Documents, EveryExampleIsShownAsItIs) {
  std::set<std::string> shown;
  for (const auto& entry : fs::directory_iterator(root / "docs/examples"))
    if (entry.path().extension() == ".md")
      for (const Block& block : forma_blocks(content(entry.path()))) shown.insert(block.text);
  for (const auto& entry : fs::directory_iterator(root / "examples"))
    if (entry.path().extension() == ".forma") {
      EXPECT_TRUE(shown.contains(content(entry.path())))
          << "no page of docs/examples holds the text of " << entry.path().filename()
          << " as it is; write them again with docs/examples/write.py";
    }
}

}  // namespace
}  // namespace tessera
