// The table of run-time functions: what the verifier refuses of calls, and that nothing stands in the table in vain.
#include "ir/nest/library.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace tessera::ir::nest {
namespace {

std::string why_not(const std::string& line) {
  const std::string begin = "function own -> i64 (i64 n) {\n  return n\n}\nfunction f (u8* p) (f32* q) (i64 n) {\n";
  try {
    verify(parse_module(begin + line + "\n}\n"));
  } catch (const Error& e) {
    return e.message();
  }
  return "";
}

TEST(NestLibrary, TakesCallsThatFit) {
  for (const char* line :
       {"let v_1 = (call:i64 tsr_clamp n 0 9)", "call tsr_zero p n", "let v_1 = (call:i64 own n)",
        "var a_1 = 0x0p+0:f32\nvar b_2 = 0x0p+0:f32\ncall tsr_load_f32x2 q a_1 b_2", "call tsr_barrier",
        "call tsr_copy_fields_3 p p p p n 1", "let v_1 = (call:f64 tsr_range_energy_f32 q n)"})
    EXPECT_EQ("", why_not(line)) << line;
}

TEST(NestLibrary, RefusesOthers) {
  const std::pair<const char*, const char*> cases[] = {
      {"let v_1 = (call:i64 tsr_clamped n 0 9)", "'tsr_clamped' is called; there is no such function"},
      {"call tsr_clear p n", "there is no such function"},
      {"let v_1 = (call:i64 tsr_clamp n 0)", "'tsr_clamp' takes more than 2 arguments"},
      {"let v_1 = (call:i64 tsr_clamp n 0 9 9)", "'tsr_clamp' takes 3 arguments, not 4"},
      {"let v_1 = (call:i64 tsr_clamp n p 9)", "argument 2 of 'tsr_clamp' is no i64"},
      {"let v_1 = (call:i32 tsr_clamp n 0 9)", "'tsr_clamp' gives i64"},
      {"call tsr_clamp n 0 9", "'tsr_clamp' gives i64"},
      {"let v_1 = (call:i64 tsr_barrier)", "'tsr_barrier' gives void"},
      {"call tsr_zero n n", "argument 1 of 'tsr_zero' is no u8*"},
      {"call tsr_load_f32x2 p 0x0p+0:f32 0x0p+0:f32", "argument 1 of 'tsr_load_f32x2' is no T*"},
      {"call tsr_load_f32x2 q 0x0p+0:f32", "takes more than 2 arguments"},
      {"let v_1 = (call:f64 tsr_range_energy_i32 q n)", "there is no such function"},
      {"let v_1 = (call:i32 own n)", "'own' does not give i32"},
      {"let v_1 = (call:i64 own n n)", "'own' takes 1 arguments, not 2"},
      {"let v_1 = (call:i64 own p)", "argument 1 of 'own' is u8*; i64 is expected"},
  };
  for (const auto& [line, why] : cases) EXPECT_NE(std::string::npos, why_not(line).find(why)) << why_not(line);
}

TEST(NestLibrary, NamesAreOneRowEach) {
  std::set<std::string_view> names;
  for (const Routine& r : library()) {
    EXPECT_TRUE(names.insert(r.name).second) << r.name;
    EXPECT_NE(0, r.dialects) << r.name;
    const bool letter = r.name.find('<') != std::string_view::npos;
    EXPECT_EQ(letter ? nullptr : &r, routine(r.name)) << r.name;
  }
}

// All text of the folders that build nests.
std::string text_of_lowering() {
  std::stringstream all;
  for (const char* folder : {"src/lower", "src/fft"})
    for (const auto& file : std::filesystem::recursive_directory_iterator(std::string(TESSERA_SOURCE_DIR "/") + folder))
      if (file.is_regular_file()) all << std::ifstream(file.path()).rdbuf();
  return all.str();
}

TEST(NestLibrary, EveryRowIsCalled) {
  const std::string text = text_of_lowering();
  for (const Routine& r : library()) {
    std::string name(r.name.substr(0, r.name.find('<')));
    if (name.starts_with("tsr_range_")) name = name.substr(10, name.size() - 11) + '"';
    if (name.starts_with("tsr_fresh_")) name.pop_back();
    if (name == "tsr_add_products_i32x") name.pop_back();
    EXPECT_NE(std::string::npos, text.find('"' + name)) << r.name;
  }
}

}  // namespace
}  // namespace tessera::ir::nest
