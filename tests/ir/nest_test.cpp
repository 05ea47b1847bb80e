// The text form of loop nests, there and back, and what the verifier refuses.
#include "ir/nest/nest.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "ir/nest/key.hpp"

namespace tessera::ir::nest {
namespace {

constexpr const char* kEverything = R"(table "k \"q\"" f32 [2, 2] : 0x1p+0 -0x1.8p+1 inf nan
table "lut" u8 [3] : 0 255 7
table "spectrum" opaque f64 [1] : 0x1p-1
function tsr_pass local (i64 v0) {
}
function tsr_g0_scratch -> i64 (const i64* N) (const i64* T) {
  let n_1 = (load:i64 N 0)
  return (add:i64 (call:i64 tsr_align (mul:i64 n_1 -9223372036854775808)) 256)
}
function tsr_g0 "blur, \"edge\"" (pointers u8* P) (const i64* N) (i64 tile) (u8* S) {
  comment "rows \\ columns"
  var done_1 = (min:i64 tile 3)
  array f32* rows_2 5
  array i64 counts_3 2
  let p_4 = (convert:f32* (call:u8* tsr_array P 0))
  put rows_2 0 = (address:f32* p_4 (sub:i64 done_1 1))
  put counts_3 1 = 9
  set done_1 = (add:i64 done_1 1)
  for y_5 0 (load:i64 N 1) 4 {
    let a_6 = (load:f32x16 (call:f32* tsr_at rows_2 0) y_5)
    let b_7 = (load:f32x16/2+1 p_4 y_5)
    let m_8 = (lt:i32x16 a_6 b_7)
    let c_9 = (select:f32x16 m_8 (sqrt:f32x16 a_6) (broadcast:f32x16 -0x0p+0:f32))
    let i_10 = (add:i32x16 (iota:i32x16) (broadcast:i32x16 -7:i32))
    let g_11 = (gather:f32x16 tsr_table_0 i_10)
    let h_12 = (gather:u8x16 S (convert:i64x16 i_10))
    store p_4 32 (interleave:f32x16 a_6 b_7)
    store p_4 48 (interleave:f32x16/1 a_6 b_7)
    store p_4 32 (interleave:f32x16+4 a_6 b_7)
    store p_4 48 (interleave:f32x16/1+2 a_6 b_7)
    store p_4 64 (fused:f32x16 a_6 b_7 c_9)
    store p_4 80 (load:f32x16+3 p_4 y_5)
    if (lt:i32 y_5 tile) {
      stream p_4 y_5 (add:f32x16 c_9 g_11)
    } else {
      store p_4 y_5 (add:f32x16 c_9 (convert:f32x16 h_12))
      do {
        store p_4 0 inf:f32
        store p_4 1 nan:f32
      }
    }
    if 1:i32 {
    }
  }
  do rows_of_it {
    store tsr_shared_f32 0 0x1p+0:f32
  }
  call tsr_zero S 64
}
)";

TEST(NestText, PrintsWhatItReads) {
  const Module module = parse_module(kEverything);
  EXPECT_EQ(kEverything, print(module));
  EXPECT_NO_THROW(verify(module));
  ASSERT_EQ(3u, module.functions.size());
  EXPECT_TRUE(module.functions[0].local);
  EXPECT_EQ("blur, \"edge\"", module.functions[2].essay);
  EXPECT_TRUE(module.functions[2].parameters[0].pointers);
  EXPECT_TRUE(module.functions[2].parameters[1].constant_elements);
  EXPECT_EQ(ElementType::u8, module.tables[1].type);
  EXPECT_EQ((std::vector<i64>{2, 2}), module.tables[0].extents);
  EXPECT_EQ((std::set<std::size_t>{2}), module.opaque);
}

// Keys tell apart what texts tell apart, but for names of functions.
TEST(NestKey, IsOfTheText) {
  const auto key = [](const std::string& text) { return key_of(parse_module(text).functions.back()); };
  const std::string text = kEverything;
  const auto changed = [&](const std::string& from, const std::string& to) {
    const std::size_t at = text.rfind(from);
    EXPECT_NE(at, std::string::npos) << from;
    return std::string(text).replace(at, from.size(), to);
  };
  EXPECT_EQ(key(text), key(text));
  EXPECT_EQ(key(text), key(changed("function tsr_g0 ", "function tsr_g9 ")));
  const std::pair<const char*, const char*> changes[] = {{"blur", "blue"},
                                                         {"(pointers u8* P)", "(pointers u16* P)"},
                                                         {"(i64 tile)", "(i32 tile)"},
                                                         {"(sub:i64 done_1 1)", "(sub:i64 done_1 2)"},
                                                         {"(sub:i64 done_1 1)", "(add:i64 done_1 1)"},
                                                         {"y_5 0 (load", "y_5 1 (load"},
                                                         {"f32x16/2+1 p_4", "f32x16/2 p_4"},
                                                         {"f32x16/2+1 p_4", "f32x16/3+1 p_4"},
                                                         {"interleave:f32x16+4", "interleave:f32x16+8"},
                                                         {"-0x0p+0:f32", "0x0p+0:f32"},
                                                         {"0 inf:f32", "0 nan:f32"},
                                                         {"stream p_4", "store p_4"},
                                                         {"tsr_table_0", "tsr_table_1"},
                                                         {"do rows_of_it", "do rows_of_her"},
                                                         {"call tsr_zero S 64", "call tsr_zero S 65"},
                                                         {"array f32* rows_2 5", "array f32* rows_2 6"}};
  for (const auto& [from, to] : changes) EXPECT_NE(key(text), key(changed(from, to))) << from << " -> " << to;
}

TEST(NestText, SkipsEmptyLinesAndRemarks) {
  EXPECT_EQ("function f {\n}\n", print(parse_module("\n# a remark\n  function   f{\r\n\n# another\n}\n\n")));
  EXPECT_EQ("", print(parse_module("")));
}

TEST(NestText, PrintsWhatIsBuilt) {
  Module m;
  Function f;
  f.name = "f";
  f.parameters = {{"n", {}, false, false}};
  const Value n = variable("n", {});
  Statement s;
  s.kind = StatementKind::let;
  s.name = "v";
  s.values = {call("tsr_clamp", {}, {n * 3 + 0, min(n, integer(4)), n - 1})};
  f.body.push_back(s);
  m.functions.push_back(f);
  EXPECT_EQ("function f (i64 n) {\n  let v = (call:i64 tsr_clamp (mul:i64 n 3) (min:i64 n 4) (sub:i64 n 1))\n}\n",
            print(m));
}

std::string inside(const std::string& lines) {
  return "table \"t\" f32 [2] : 0x1p+0 0x1p+0\nfunction f -> i64 (i64 n) (f32* p) (u8* b) (f32 s) (const i64* N) {\n" +
         lines + "\n}\n";
}

std::string why_not_read(const std::string& text) {
  try {
    parse_module(text);
  } catch (const Error& e) {
    EXPECT_EQ(ErrorClass::compile, e.error_class());
    return e.message();
  }
  return "read";
}

TEST(NestText, SaysWhereTextIsWrong) {
  const std::pair<std::string, std::string> cases[] = {
      {"hello", "loop nest, line 1, column 1: expected table or function, got 'hello'"},
      {"function 3 {", "line 1, column 10: expected a name, got '3 {'"},
      {"function f {", "line 1, column 13: expected '}', got ''"},
      {inside("let a = z"), "line 3, column 9: expected a name that was declared before, got 'z'"},
      {inside("let a = (add:i64 n"), "column 19: expected ')', got ''"},
      {inside("let a = (sum:i128 n)"), "expected a type, got 'i128 n)'"},
      {inside("let a = (frob:i64 n)"), "column 10: expected an operation, got 'frob:i64 n)'"},
      {inside("let a = 99999999999999999999"), "expected an integer"},
      {inside("let a = 1.5.5:f32"), "expected a number, got '1.5.5:f32'"},
      {inside("let a = 1:f32x"), "expected a type, got 'f32x'"},
      {inside("let a = 1:f32x0"), "expected a type, got 'f32x0'"},
      {inside("array i64 a 0"), "expected at least one element"},
      {inside("set z = 1"), "expected a name that was declared before, got 'z = 1'"},
      {inside("frob"), "column 1: expected a statement, got 'frob'"},
      {inside("let a = 1 2"), "expected the end of the line, got '2'"},
      {inside("for y 0 n {"), "expected a name"},
      {inside("comment \"open"), "expected '\"'"},
      {"table \"t\" f32x4 [1] : 1", "expected the type of an element"},
      {"table \"t\" u8 [1] : 1.5", "expected an integer"},
      {inside("if 1:i32 {\nlet inner = 1\n}\nlet a = inner"),
       "line 6, column 9: expected a name that was declared before"},
  };
  for (const auto& [text, message] : cases) {
    const std::string said = why_not_read(text);
    EXPECT_NE(std::string::npos, said.find(message)) << text << "\nsaid: " << said;
  }
}

TEST(NestText, DeepNestingEndsInAnError) {
  std::string deep;
  for (int k = 0; k < 100000; ++k) deep += "(add:i64 ";
  EXPECT_NE(std::string::npos, why_not_read(inside("let a = " + deep)).find("less deep nesting"));
  std::string blocks;
  for (int k = 0; k < 100000; ++k) blocks += "do {\n";
  EXPECT_NE(std::string::npos, why_not_read(inside(blocks)).find("less deep nesting"));
}

std::string why_not_valid(const Module& module) {
  try {
    verify(module);
  } catch (const Error& e) {
    EXPECT_EQ(ErrorClass::internal, e.error_class());
    return e.message();
  }
  return "valid";
}

TEST(NestVerifier, DevicesMayIndexByThirtyTwoBitsAndStoreNumbersAlone) {
  for (const char* line :
       {"stream p 0 s", "let a = (address:f32* p (convert:u32 n))", "let a = (load:f32 p (convert:i32 n))"}) {
    const Module module = parse_module(inside(line));
    EXPECT_THROW(verify(module), Error) << line;
    EXPECT_NO_THROW(verify(module, Runs::on_devices)) << line;
  }
  EXPECT_NO_THROW(verify(parse_module(inside("array f32 q 4\nlet a = (load:f32 q 1)"))));
  EXPECT_THROW(verify(parse_module(inside("array f32 q 4\nlet a = (load:f64 q 1)"))), Error);
}

TEST(NestVerifier, RefusesWhatDoesNotFit) {
  const std::pair<std::string, std::string> cases[] = {
      {"let n = 1", "'n' is declared twice"},
      {"let a = 1\ndo {\nlet a = 2\n}", "'a' is declared twice"},
      {"let tsr_table_0 = 1", "'tsr_table_0' is declared twice"},
      {"let a = (add:i64 n s)", "operand 2 of 'add' is f32; i64 is expected"},
      {"let a = (add:i64 n)", "'add' has 1 operands; 2 are expected"},
      {"let a = (add:f32* p p)", "'add' works on f32*"},
      {"let a = (and:f32 s s)", "'and' works on f32"},
      {"let a = (sqrt:i64 n)", "'sqrt' works on i64"},
      {"let a = (sum:f32 s)", "'sum' is no operation of loop nests"},
      {"let a = (interleave:f32x4+3 (load:f32x4 p 0) (load:f32x4 p 1))", "3 elements of interleaved f32x4 at a time"},
      {"let a = (interleave:f32x4+4 (load:f32x4 p 0) (load:f32x4 p 1))", "4 elements of interleaved f32x4 at a time"},
      {"let a = (lt:i64 n n)", "the result of 'lt' is i64; i32 is expected"},
      {"let a = (lt:i32x8 (load:f64x8 p 0) (load:f64x8 p 0))", "the pointer of a load is f32*; f64* is expected"},
      {"let a = (eq:i32 n s)", "operand 2 of 'eq' is f32; i64 is expected"},
      {"let a = (select:f32 n s s)", "the condition of 'select' is i64; i32 is expected"},
      {"let a = (select:f32x4 1:i32 (load:f32x4 p 0) (load:f32x4 p 1))",
       "the condition of 'select' is i32; i32x4 is expected"},
      {"let a = (load:f32x3 p 0)", "f32x3 has 3 lanes; a power of two is expected"},
      {"let a = (load:f32x4/0 p 0)", "a load takes elements 0 apart"},
      {"let a = (load:f32x4+4 p 0)", "phase 4 of a load by 1"},
      {"let a = (load:f32x4/2+2 p 0)", "phase 2 of a load by 2"},
      {"let a = (load:f32 p 0:i32)", "the index of a load is i32; i64 is expected"},
      {"let a = (broadcast:f32x4 n)", "the operand of broadcast is i64; f32 is expected"},
      {"let a = (convert:f32x4 s)", "f32 is converted to f32x4"},
      {"let a = (convert:i64 p)", "f32* is converted to i64"},
      {"let a = (iota:f32x4)", "iota has type f32x4"},
      {"let a = (fused:i32x4 (iota:i32x4) (iota:i32x4) (iota:i32x4))", "fused has type i32x4"},
      {"let a = (gather:f32x4 p (iota:i32x8))", "f32x4 is gathered at i32x8"},
      {"let a = (gather:f32x4 p (iota:i64x4))", "the pointer of a gather is f32*; u8* is expected"},
      {"let a = (address:f32* b 0)", "the pointer of an address is u8*; f32* is expected"},
      {"let a = 256:u8", "256 does not fit u8"},
      {"let a = -129:i8", "-129 does not fit i8"},
      {"let a = 1\nset a = 2", "'a' is never assigned again"},
      {"set n = 2", "'n' is never assigned again"},
      {"var a = 1\nset a = s", "'a' is f32; i64 is expected"},
      {"put n 0 = 1", "'n' has no elements to assign"},
      {"array i64 a 3\nput a 0 = s", "an element of 'a' is f32; i64 is expected"},
      {"for y 0 s 1 {\n}", "a bound of a loop is f32; i64 is expected"},
      {"for y 0 n 0 {\n}", "a loop steps forward"},
      {"for n 0 3 1 {\n}", "'n' is declared twice"},
      {"if n {\n}", "the condition of a branch is i64; i32 is expected"},
      {"store b 0 s", "the pointer of a store is u8*; f32* is expected"},
      {"stream p 0 s", "a number alone is stored past the caches"},
      {"return s", "the result is f32; i64 is expected"},
      {"return n n", "a function returns what it does not promise"},
  };
  for (const auto& [lines, message] : cases) {
    const std::string said = why_not_valid(parse_module(inside(lines)));
    EXPECT_EQ(0u, said.find("loop nest, function 'f': ")) << lines << "\nsaid: " << said;
    EXPECT_NE(std::string::npos, said.find(message)) << lines << "\nsaid: " << said;
  }
}

TEST(NestVerifier, RefusesNamesFromElsewhere) {
  Module m = parse_module(inside("let a = n"));
  m.functions[0].body[0].values[0] = variable("other", {});
  EXPECT_EQ("loop nest, function 'f': 'other' is used before it is declared", why_not_valid(m));
  m.functions[0].body[0].values[0] = variable("n", {Lane::f32, 1, false});
  EXPECT_EQ("loop nest, function 'f': 'n' is f32; i64 is expected", why_not_valid(m));
  m.functions[0].body[0].values[0] = nullptr;
  EXPECT_EQ("loop nest, function 'f': an operand is missing", why_not_valid(m));
}

TEST(NestVerifier, CountsTables) {
  EXPECT_EQ("loop nest: table 't' has 1 values for 2 elements",
            why_not_valid(parse_module("table \"t\" f32 [2] : 0x1p+0")));
  EXPECT_EQ("loop nest: a table has an extent below 1", why_not_valid(parse_module("table \"t\" f32 [0] :")));
  EXPECT_EQ("loop nest: function 'f' is there twice", why_not_valid(parse_module("function f {\n}\nfunction f {\n}")));
}

}  // namespace
}  // namespace tessera::ir::nest
