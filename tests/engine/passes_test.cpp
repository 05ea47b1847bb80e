// Passes of programs, however many parts they are cut into: the last ones make every output, and nothing is read that
// no pass before has made.
#include "engine/passes/passes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "engine/filters/filters.hpp"
#include "support/sample.hpp"

namespace tessera::engine {
namespace {

namespace host = ir::host;
using Kind = host::Array::Kind;

void expect_all_made(const Program& program, std::size_t parts) {
  SCOPED_TRACE("parts " + std::to_string(parts));
  const Passes passes(program, parts);
  if (!passes.why_not().empty()) return;
  std::vector<int> made(program.outputs().size());
  for (const std::size_t last : passes.last())
    for (const auto& array : passes.passes()[last].outputs) {
      ASSERT_TRUE(array);
      ASSERT_EQ(passes.arrays()[*array].kind, Kind::output);
      ++made[passes.arrays()[*array].index];
    }
  EXPECT_EQ(made, std::vector<int>(made.size(), 1));

  // Loops bind arrays to each other.
  if (!std::ranges::all_of(passes.body(), [](const auto& s) { return std::holds_alternative<host::RunPart>(s); }))
    return;
  std::vector<bool> there(passes.arrays().size());
  for (std::size_t a = 0; a < there.size(); ++a) there[a] = passes.arrays()[a].kind == Kind::argument;
  const auto run = [&](std::size_t k) {
    const Pass& pass = passes.passes()[k];
    for (const std::size_t a : pass.inputs) EXPECT_TRUE(there[a]) << passes.arrays()[a].name;
    for (const auto& array : pass.outputs)
      if (array) there[*array] = true;
    for (const ir::Reduction& r : pass.reductions) there[r.place] = true;
  };
  for (const host::Statement& s : passes.body()) run(std::get<host::RunPart>(s).part);
  for (const std::size_t last : passes.last()) run(last);
}

TEST(Passes, MakeAllOutputsOfPrograms) {
  std::vector<std::filesystem::path> paths;
  for (const char* folder : {"/examples", "/tests/zoo"})
    for (const auto& entry : std::filesystem::recursive_directory_iterator(std::string(TESSERA_SOURCE_DIR) + folder))
      if (entry.path().extension() == ".forma") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  ASSERT_GT(paths.size(), 100U);
  for (const auto& path : sample_of(paths)) {
    SCOPED_TRACE(path.string());
    const Program program = Program::from_file(path.string());
    for (const std::size_t parts : {1, 2, 3, 8, 64}) expect_all_made(program, parts);
  }
}

TEST(Passes, MakeAllOutputsOfFilters) {
  const Format colour = Format::record(
      "pixel", {{"r", ElementType::u16}, {"g", ElementType::u16}, {"b", ElementType::u16}, {"a", ElementType::u16}});
  for (const FilterInfo& info : filters())
    for (const Format& format : {Format(ElementType::u8), Format(ElementType::f32), colour}) {
      if (info.name == "convolve" || info.name == "correlate") continue;
      SCOPED_TRACE(info.name + " of " + format.name());
      FilterRequest request{.name = info.name};
      for (const bool uncertain : {false, true}) {
        if (uncertain && !info.takes_mask) continue;
        request.ignore_nan = uncertain;
        const Program program = make_filter(request, format, 2)->program;
        for (const std::size_t parts : {1, 2, 4, 16, 64}) expect_all_made(program, parts);
      }
    }
}

}  // namespace
}  // namespace tessera::engine
