// Every module that the lowering makes is well formed, and survives its text form: the C that is printed from the text
// read back is the C of the module itself.
#include "ir/nest/nest.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "emit/c/c.hpp"
#include "engine/program_impl.hpp"
#include "lower/ways/ways.hpp"
#include "plan/plan.hpp"
#include "support/sample.hpp"
#include "tessera/program.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> programs() {
  std::vector<std::string> paths;
  for (const char* folder : {"tests/emit/drivers", "bench/jobs", "filters"}) {
    const fs::path where = fs::path(TESSERA_SOURCE_DIR) / folder;
    if (!fs::is_directory(where)) continue;
    for (const fs::directory_entry& entry : fs::directory_iterator(where))
      if (entry.path().extension() == ".forma") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

machine::Machine device_of(int vector_bytes) {
  machine::Machine device;
  device.vector_bytes = vector_bytes;
  device.vector_registers = vector_bytes == 64 ? 32 : 16;
  device.threads = 4;
  return device;
}

ir::nest::Module lowered(const ir::Graph& graph, const plan::Options& options, int vector_bytes) {
  plan::Plan plan = plan::make_plan(graph, options, device_of(vector_bytes));
  lower::choose_core_ways(plan);
  return lower::lower_cpu(plan).module;
}

void check(const ir::Graph& graph, const plan::Options& options, int vector_bytes) {
  const ir::nest::Module module = lowered(graph, options, vector_bytes);
  ASSERT_FALSE(module.functions.empty());
  ir::nest::verify(module);
  const std::string text = ir::nest::print(module);
  const ir::nest::Module again = ir::nest::parse_module(text);
  ir::nest::verify(again);
  EXPECT_EQ(text, ir::nest::print(again));
  EXPECT_EQ(emit::print_c(module), emit::print_c(again));
}

void check(const Program& program, const plan::Options& options, int vector_bytes) {
  if (const engine::HostProgram* host = program.impl().host.get()) {  // part by part
    for (std::size_t k = 0; k < host->program().parts.size(); ++k) check(host->part(k), options, vector_bytes);
    return;
  }
  check(program.impl().graph, options, vector_bytes);
}

TEST(Nests, OfProgramsVerifyAndReadBack) {
  const std::vector<std::string> paths = programs();
  ASSERT_GE(paths.size(), 7u);
  for (const std::string& path : sample_of(paths)) {
    SCOPED_TRACE(path);
    std::optional<Program> program;
    try {
      program = Program::from_file(path);
    } catch (const Error& e) {
      if (path.find("drivers") != std::string::npos) throw;
      continue;  // a module for import, without a program in it
    }
    for (int bytes : {16, 64})
      for (Schedule schedule : {Schedule::automatic, Schedule::untiled, Schedule::stream}) {
        const bool large = program->impl().graph.stage_count() > 25;  // these take seconds in every way
        if (large && (bytes != 64 || schedule != Schedule::automatic)) continue;
        plan::Options options;
        options.schedule = schedule;
        options.numbers = schedule == Schedule::untiled ? Numbers::exact : Numbers::fast;
        ASSERT_NO_THROW(check(*program, options, bytes)) << bytes << " bytes, schedule " << static_cast<int>(schedule);
      }
  }
}

// What programs rarely use, in one: every type, reductions that stay loops, tables, constants, functions, ranks.
TEST(Nests, OfRareOperationsVerifyAndReadBack) {
  for (const char* text : {
           "table float g[k = -2..2] = exp(-k*k/2.0); table int16 t[2,3] = {1,-2,3,4,5,6};\n"
           "stencil f(vector#2 half a, vector#2 uint16 b, vector#2 bool c, vector#2 uint32 d, double s) {\n"
           "  m = median(i = -1..1, j = -1..1) (b@[i,j]);\n"
           "  w = sum(i = -2..2) (g[i+2] * a@[0,i]);\n"
           "  q = any(i = -2..2) (c@[i,0]) ? t[coord(0) & 1, coord(1) % 3] : -1;\n"
           "  return cast<float>(m) + w + q + cast<float>(d / (d@[1,0] & 7)) + pow(a, 1.5) * s + extent(1) + "
           "saturate<uint8>(a); }\n"
           "parameter M, N; vector#2 half a[M,N]; vector#2 uint16 b[M,N]; vector#2 bool c[M,N]; vector#2 uint32 "
           "d[M,N]; double s;\n"
           "r = f(a:constant(0.5), b:mirror, c:wrap, d:symmetric, s); return r;",
           "stencil f(vector#1 int a, vector#1 int b) { return (a / b) % (b | 3) + (a << (b & 31)) - (a >> 2) + max(a, "
           "-b) ; }\n"
           "parameter N; vector#1 int a[N]; vector#1 int b[N]; r = f(a:clamped, b); return r;",
           "stencil f(vector#4 uint8 a) { return xor(~a, a@[1,-1,1,-1]) > 7 && !(a == 3) ? 1.0 : 2.0; }\n"
           "parameter A, B, C, D; vector#4 uint8 a[A,B,C,D]; r = f(a:wrap); s = ( [0..,..,..,..] = r; [A..,..,..,..] = "
           "r; ); return s;",
       }) {
    SCOPED_TRACE(text);
    const Program program = Program::from_text(text);
    for (int bytes : {16, 32, 64}) ASSERT_NO_THROW(check(program, {}, bytes)) << bytes;
  }
}

// Loads of whole lines that lie in two of them are dear: every other term of a sum along rows comes from two whole
// vectors. What neighbouring rows share is loaded seldom, and shorter vectors lie in two lines less often.
TEST(Nests, SumsAlongRowsAreHalfLoadsAndHalfShuffles) {
  const auto text_of = [](const std::string& terms, int vector_bytes) {
    const Program program = Program::from_text(
        "table float g[k = -4..4] = exp(-k*k/9.0); stencil f(vector#2 float X) "
        "{ return " +
        terms +
        "; } parameter M, N; vector#2 float x[M,N]; "
        "return f(x:clamped);");
    return ir::nest::print(lowered(program.impl().graph, {}, vector_bytes));
  };
  const auto count = [](const std::string& text) {
    std::size_t n = 0;
    for (std::size_t at = text.find("(load:f32x16+"); at != std::string::npos; at = text.find("(load:f32x16+", at + 1))
      ++n;
    return n;
  };
  const std::string row = "sum(j = -4..4) (g[j+4] * X@[0,j])", column = "sum(i = -4..4) (g[i+4] * X@[i,0])";
  EXPECT_EQ(count(text_of(row, 64)) % 4, 0u);  // four of eight for each row of a block
  EXPECT_GE(count(text_of(row, 64)), 4u);
  EXPECT_EQ(count(text_of(row, 32)), 0u);
  EXPECT_EQ(count(text_of(column, 64)), 0u);
  EXPECT_EQ(count(text_of("X@[-1,-1] + 2*X@[-1,0] + 3*X@[-1,1] + 4*X@[0,-1] + 5*X + 6*X@[0,1] + 7*X@[1,-1] + "
                          "8*X@[1,0] + 9*X@[1,1]",
                          64)),
            0u);
}

}  // namespace
}  // namespace tessera
