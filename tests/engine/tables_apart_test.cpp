// Long tables do not stand in the text that is compiled: other values with the same shape compile nothing, and give
// their own results, by every compiler, all alive at once.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "base/files/cache.hpp"
#include "emit/c/c.hpp"
#include "engine/program_impl.hpp"
#include "run/cpu/built_in.hpp"
#include "run/cpu/external.hpp"
#include "support/sample.hpp"
#include "tessera/program.hpp"

namespace tessera {
namespace {

std::vector<std::string> compilers() {
  std::vector<std::string> names;
  if (run::cpu::built_in_unavailable().empty()) names.emplace_back("built-in");
  for (const char* name : {"gcc", "clang-19"})
    if (!run::cpu::find_program(name).empty()) names.emplace_back(name);
  return names;
}

// Weights that no product of a row and a column comes near to.
Program convolution(i64 rows, i64 columns, i64 seed) {
  Array weights(ElementType::f32, {rows, columns});
  for (i64 k = 0; k < weights.count(); ++k)
    weights.as<float>()[k] = static_cast<float>((k * k * seed + k * 7) % 1013 - 400) * 1e-4f;
  CompileOptions given;
  given.tables["K"] = weights;
  return Program::from_text(
      fmt::format("table float K[{0}, {1}]; stencil f(vector#2 float X) {{ return sum(i = 0..{0}-1, j = 0..{1}-1) "
                  "(K[i,j] * X@[i-3,j-50]); }} parameter M, N; vector#2 float a[M,N]; return f(a:[clamped,wrap]);",
                  rows, columns),
      given);
}

Array image_of(i64 rows, i64 columns) {
  Array image(ElementType::f32, {rows, columns});
  for (i64 k = 0; k < image.count(); ++k) image.as<float>()[k] = static_cast<float>(k * k % 1009) / 1009;
  return image;
}

RunOptions options_of(Method method, const std::string& compiler) {
  RunOptions options;
  options.method = method;
  options.compiler = compiler;
  return options;
}

void expect_near(const Array& expected, const Array& found, double allowed) {
  ASSERT_EQ(expected.shape(), found.shape());
  for (i64 k = 0; k < expected.count(); ++k)
    ASSERT_NEAR(expected.as<float>()[k], found.as<float>()[k], allowed) << "point " << k;
}

const run::cpu::Module& module_of(const Program& program, const RunOptions& options) {
  return program.impl().executable(options)->module();
}

TEST(TablesApart, GiveTheInterpretersValues) {
  const Array image = image_of(23, 60);
  for (const std::string& compiler : sample_of(compilers()))
    for (const Method method : {Method::transform, Method::direct}) {
      SCOPED_TRACE(compiler);
      const RunOptions options = options_of(method, compiler);
      const Program first = convolution(41, 101, 3), second = convolution(41, 101, 5);
      const Array expected = first.interpret({image}).at(0), other = second.interpret({image}).at(0);
      expect_near(expected, first.run({image}, options).at(0), 1e-3);
      expect_near(other, second.run({image}, options).at(0), 1e-3);
      // Both are alive: neither took the other's weights.
      expect_near(expected, first.run({image}, options).at(0), 1e-3);
      double apart = 0;
      for (i64 k = 0; k < expected.count(); ++k)
        apart = std::max(apart, std::abs(static_cast<double>(expected.as<float>()[k]) - other.as<float>()[k]));
      EXPECT_GT(apart, 1) << "the two cannot be told from each other";
    }
}

// Few weights that a transform takes, too.
TEST(TablesApart, OtherWeightsOfTheShapeCompileNothing) {
  if (!run::cpu::built_in_unavailable().empty()) GTEST_SKIP() << "no built-in compiler";
  if (base::Cache::user().folder().empty()) GTEST_SKIP() << "no cache";
  for (const Shape& shape : {Shape{67, 103}, Shape{13, 17}}) {
    SCOPED_TRACE(to_string(shape));
    const RunOptions options = options_of(Method::transform, "built-in");
    const Array image = image_of(31, 47);
    const Program first = convolution(shape[0], shape[1], 3);
    module_of(first, options);
    const Program second = convolution(shape[0], shape[1], 5), again = convolution(shape[0], shape[1], 3);
    expect_near(second.interpret({image}).at(0), second.run({image}, options).at(0), 1e-3);
    EXPECT_TRUE(module_of(second, options).from_cache()) << module_of(second, options).description();
    EXPECT_NE(&module_of(first, options), &module_of(second, options));
    EXPECT_EQ(&module_of(first, options), &module_of(again, options)) << "the same numbers, the same code";
  }
}

TEST(TablesApart, ThreadsGetTheirOwnTables) {
  const Array image = image_of(19, 64);
  std::vector<Array> expected, found(4);
  for (i64 k = 0; k < 4; ++k) expected.push_back(convolution(43, 97, 11 + k % 2).interpret({image}).at(0));
  std::vector<std::thread> threads;
  for (i64 k = 0; k < 4; ++k)
    threads.emplace_back([&, k] {
      found[static_cast<std::size_t>(k)] =
          convolution(43, 97, 11 + k % 2).run({image}, options_of(Method::transform, "")).at(0);
    });
  for (std::thread& t : threads) t.join();
  for (std::size_t k = 0; k < 4; ++k) expect_near(expected[k], found[k], 1e-3);
}

// Of every type, looked up in any order.
TEST(TablesApart, OfEveryType) {
  Array places(ElementType::i32, {6100});
  for (i64 k = 0; k < places.count(); ++k) places.as<std::int32_t>()[k] = static_cast<std::int32_t>(k * 4099 % 5000);
  for (const char* type : {"uint8", "int8", "uint16", "int16", "int", "uint32", "half", "float", "double"}) {
    SCOPED_TRACE(type);
    const Program program = Program::from_text(
        fmt::format("table {} T[n = 0..4999] = n * 41 % 113; stencil f(vector#1 int X) {{ return T[X]; }} parameter N; "
                    "vector#1 int a[N]; return f(a);",
                    type));
    const Array expected = program.interpret({places}).at(0);
    for (const std::string& compiler : compilers()) {
      const Array found = program.run({places}, options_of(Method::automatic, compiler)).at(0);
      ASSERT_EQ(expected.format(), found.format());
      EXPECT_EQ(0, std::memcmp(expected.data(), found.data(),
                               static_cast<std::size_t>(found.count()) * found.format().size()))
          << compiler;
    }
  }
}

TEST(TablesApart, LeaveTheTextToShortOnes) {
  const auto module = [](const std::string& opaque, i64 count) {
    std::string text = fmt::format("table \"unread\" f32 [1] : 0x1p+0\ntable \"k\" {}u16 [{}] :", opaque, count);
    for (i64 k = 0; k < count; ++k) text += fmt::format(" {}", k % 1000);
    return ir::nest::parse_module(text + "\nfunction f -> u16 (i64 n) {\n  return (load:u16 tsr_table_1 n)\n}\n");
  };
  const emit::TextApart small = emit::print_c_apart(module("", 4095)), large = emit::print_c_apart(module("", 4096)),
                        opaque = emit::print_c_apart(module("opaque ", 3));
  EXPECT_THAT(small.tables, testing::IsEmpty());
  EXPECT_THAT(small.text, testing::HasSubstr("static const u16 tsr_table_1[]"));
  EXPECT_THAT(small.text, testing::Not(testing::HasSubstr("unread")));
  ASSERT_EQ(large.tables.size(), 1u);
  EXPECT_THAT(large.text, testing::HasSubstr("extern const u16 tsr_table_1[];"));
  EXPECT_EQ(large.tables[0].name, "tsr_table_1");
  ASSERT_EQ(large.tables[0].bytes.size(), 8192u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(large.tables[0].bytes.data()) % base::ConstantTable::alignment, 0u);
  EXPECT_EQ(reinterpret_cast<const std::uint16_t*>(large.tables[0].bytes.data())[4095], 95);
  ASSERT_EQ(opaque.tables.size(), 1u);
  EXPECT_EQ(opaque.tables[0].bytes.size(), 6u);
  EXPECT_EQ(emit::print_c(module("", 3)), emit::print_c(module("opaque ", 3))) << "files for users are whole";
}

}  // namespace
}  // namespace tessera
