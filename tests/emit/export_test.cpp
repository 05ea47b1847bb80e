// Exported files, compiled by the compilers of this machine as a user would, linked with drivers that compare every
// element with plain loops. Every compiler has to stay silent: warnings are errors, and remarks fail the test.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "command.hpp"
#include "emit/tables.hpp"
#include "support/sample.hpp"
#include "tessera/program.hpp"

namespace tessera {
namespace {

using testing::HasSubstr;
using testing::Not;

class Exported : public testing::TestWithParam<const char*> {};

TEST_P(Exported, EqualsPlainLoops) {
  ASSERT_TRUE(have("gcc") || have("clang"));
  const std::string name = GetParam();
  const Folder folder;
  const std::string in = "'" + (folder / "").string() + "'", warnings = "-Wall -Wextra -Werror";
  const EmittedCode code = Program::from_file((drivers / (name + ".forma")).string()).emit({.name = name});
  EXPECT_THAT(code.source, Not(HasSubstr("#include")));
  write(folder / (name + ".c"), code.source);
  write(folder / (name + ".h"), code.header);
  const bool plus = std::filesystem::exists(drivers / (name + ".cpp"));
  // As most users compile it; for the vectors of any machine alone; and by the other compiler.
  const std::pair<std::string, std::string> ways[] = {{"gcc", "-O3 -fopenmp"},
                                                      {"gcc", "-O1 -std=c11 -DTESSERA_NO_DISPATCH"},
                                                      {"clang", "-O1 -std=c17 -DTESSERA_NO_DISPATCH"}};
  for (const auto& [compiler, flags] : sample_of(ways)) {
    if (!have(compiler)) continue;
    SCOPED_TRACE(compiler + " " + flags);
    const std::string front = plus ? (compiler == "gcc" ? "g++" : "clang++") : compiler;
    const std::string omp = flags.find("-fopenmp") != std::string::npos ? "-fopenmp" : "";
    ASSERT_EQ(
        "", shell(folder, fmt::format("cd {} && {} {} {} -c {}.c -o program.o", in, compiler, flags, warnings, name)));
    ASSERT_EQ("", shell(folder, fmt::format("cd {} && {} -O1 {} -I. -I'{}' '{}' program.o {} -o driver -lm", in, front,
                                            warnings, drivers.string(),
                                            (drivers / (name + (plus ? ".cpp" : ".c"))).string(), omp)));
    EXPECT_EQ("", shell(folder, fmt::format("cd {} && ./driver", in)));
  }
}

INSTANTIATE_TEST_SUITE_P(Drivers, Exported,
                         testing::Values("blur", "sobel", "color", "pyramid", "odd", "warp", "heat", "contrast",
                                         "spectrum", "flood", "ranks"),
                         [](const auto& info) { return std::string(info.param); });

// The spectra of a large window are tables: of text that no compiler would get through there is none.
TEST(Export, TablesAreBounded) {
  ir::Table table;
  table.name = "spectrum of f";
  table.values.resize(4'000'000);
  emit::check_tables({table, table});
  ir::Table last;
  last.name = "last";
  last.values = {1};
  try {
    emit::check_tables({table, table, last});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.error_class(), ErrorClass::argument);
    EXPECT_THAT(e.what(), HasSubstr("the tables up to 'last' would be 8,000,001 numbers"));
    EXPECT_THAT(e.what(), HasSubstr("--method direct"));
  }
}

// Vectors wider than the flags allow make compilers talk; gathers and functions are where that could show.
TEST(Export, IsSilentForEveryMachine) {
  const Folder folder;
  const std::string text =
      "stencil f(vector#2 float a, vector#2 int k, vector#2 uint8 u, double t) {\n"
      "  return (a > 0 ? exp(a) : fabs(a)) + sin(a@[0,1]) * a[k, k@[1,0]] + cast<float>(sqrt(t + u)) + min(a, "
      "a@[1,1]); }\n"
      "parameter M, N; vector#2 float a[M,N]; vector#2 int k[M,N]; vector#2 uint8 u[M,N]; double t;\n"
      "r = f(a:mirror, k:wrap, u, t); return r;";
  write(folder / "f.c", Program::from_text(text).emit({.name = "f"}).source);
  for (const char* compiler : {"gcc", "clang", "clang-19"})
    for (const char* flags : {"", "-mavx2 -mfma", "-march=x86-64-v4"}) {
      if (!have(compiler)) continue;
      EXPECT_EQ("", shell(folder, fmt::format("cd '{}' && {} -O1 -Wall -Wextra -Werror {} -c f.c -o f.o",
                                              (folder / "").string(), compiler, flags)))
          << compiler << " " << flags;
    }
}

// A class of machines of its own, which other programs do not have.
TEST(Export, SumsOfBytesHaveMachinesThatMultiplyThem) {
  const Folder folder;
  const auto text = [](const char* type) {
    return fmt::format(
        "table int k[i = 0..6, j = 0..6] = (i * 37 + j * 53) % 91 - 40; stencil f(vector#2 {0} X) {{ return "
        "saturate<int16>(sum(i = 0..6, j = 0..6) (k[i,j] * X@[i-3,j-3]) / 8); }} parameter M, N; vector#2 {0} a[M,N]; "
        "return f(a:mirror);",
        type);
  };
  EXPECT_EQ(Program::from_text(text("int16")).emit({.name = "f"}).source.find("avx512vnni"), std::string::npos);
  const std::string source = Program::from_text(text("uint8")).emit({.name = "f"}).source;
  EXPECT_NE(source.find("__builtin_cpu_supports(\"avx512vnni\")"), std::string::npos);
  write(folder / "f.c", source);
  for (const char* compiler : {"gcc", "clang", "clang-19"})
    for (const char* flags : {"", "-march=x86-64-v4 -mavx512vnni"}) {
      if (!have(compiler)) continue;
      EXPECT_EQ("", shell(folder, fmt::format("cd '{}' && {} -O1 -Wall -Wextra -Werror {} -c f.c -o f.o",
                                              (folder / "").string(), compiler, flags)))
          << compiler << " " << flags;
    }
}

// ---- text ----------------------------------------------------------------------------------------------------------

const char* const small =
    "stencil f(vector#2 float X, float t) { return t * X; } parameter M, N; vector#2 float X[M,2*N+1]; "
    "float t; y = f(X, t); return y;";

std::string message_of(const std::string& text, const EmitOptions& options) {
  try {
    Program::from_text(text).emit(options);
  } catch (const Error& e) {
    EXPECT_EQ(ErrorClass::argument, e.error_class());
    return e.what();
  }
  return "no error";
}

TEST(Export, DeclaresInputsParametersOutputs) {
  const std::string header = Program::from_text(small).emit({.name = "scale"}).header;
  EXPECT_THAT(header, HasSubstr("void scale(const float* X, float t, int M, int N, float* output);"));
  EXPECT_THAT(header, HasSubstr("M x 2*N+1"));
  EXPECT_THAT(header, HasSubstr("extern \"C\""));
}

TEST(Export, NamesTypesAsThePublishedCompilerDid) {
  const std::string header =
      Program::from_text(
          "struct px { float x; int16 y; } stencil f(vector#1 px p, vector#1 uint8 a, vector#1 uint16 b, vector#1 half "
          "h,"
          " vector#1 bool q, vector#1 double d) { return struct px(p.x + a + b + cast<float>(h), cast<int16>(d + (q ? "
          "1 : 0))); }\n"
          "vector#1 px p[9]; vector#1 uint8 a[9]; vector#1 uint16 b[9]; vector#1 half h[9]; vector#1 bool q[9];\n"
          "vector#1 double d[9]; r = f(p, a, b, h, q, d); return r;")
          .emit({.name = "f"})
          .header;
  EXPECT_THAT(
      header,
      HasSubstr("void f(const struct px* p, const unsigned char* a, const unsigned short* b, const unsigned short* h, "
                "const unsigned char* q, const double* d, struct px* output);"));
  EXPECT_THAT(header, HasSubstr("#ifndef TESSERA_STRUCT_px"));
  EXPECT_THAT(header, HasSubstr("float x;\n  short y;"));
}

// Filters on images of one struct for several targets, called from one file; of C and of C++.
TEST(Export, HeadersMayDefineTheSameStruct) {
  const auto header = [](const std::string& name, const std::string& target, const std::string& fields) {
    return Program::from_text("struct px { " + fields + " } stencil f(vector#1 px p) { return p; } vector#1 px p[9]; " +
                              "r = f(p); return r;")
        .emit({.target = target, .name = name})
        .header;
  };
  const std::string fields = "float x; uint16 y;";
  const Folder folder;
  const auto includes = [&](const std::string& compiler, const std::string& of_last) {
    write(folder / "f.h", header("f", "c", fields));
    write(folder / "g.h", header("g", "cuda", fields));
    write(folder / "h.h", header("h", "opencl", of_last));
    write(folder / "use.c",
          "#include \"f.h\"\n#include \"g.h\"\n#include \"f.h\"\n#include \"h.h\"\n"
          "void use(struct px* a, struct px* b) { f(a, b); g(b, a); h(a, b); }\n");
    return shell(folder, fmt::format("cd '{}' && {} -Wall -Wextra -pedantic -Werror -c use.c -o use.o",
                                     (folder / "").string(), compiler));
  };
  for (const char* compiler : {"gcc", "gcc -x c++", "clang"}) {
    if (!have(std::string(compiler).substr(0, std::string(compiler).find(' ')))) continue;
    SCOPED_TRACE(compiler);
    EXPECT_EQ("", includes(compiler, fields));
    EXPECT_THAT(includes(compiler, "float x; int16 y;"), HasSubstr("struct px has other fields in another file"));
  }
}

TEST(Export, KeepsClearOfKeywords) {
  const std::string header =
      Program::from_text(
          "stencil f(vector#1 float register_, vector#1 float class) { return register_ + class; }\n"
          "parameter linux; vector#1 float long[linux]; vector#1 float i64[linux]; r = f(long, i64); return r;")
          .emit({.name = "f"})
          .header;
  EXPECT_THAT(header, HasSubstr("void f(const float* long_, const float* i64_, int linux_, float* output);"));
}

TEST(Export, SaysTheSameEveryTime) {
  const Program program = Program::from_file((drivers / "pyramid.forma").string());
  EXPECT_EQ(program.emit({.name = "a"}).source, program.emit({.name = "a"}).source);
  EXPECT_NE(program.emit({.name = "a"}).source, program.emit({.name = "b"}).source);
}

TEST(Export, TakesTiles) {
  const std::string text = Program::from_text(small).emit({.name = "f", .tile_rows = 24, .tile_columns = 100}).source;
  EXPECT_THAT(text, HasSubstr("T0[0] = 24;"));
  EXPECT_THAT(text, HasSubstr("T0[1] = 128;"));  // whole cache lines of bytes
  EXPECT_THAT(message_of(small, {.name = "f", .tile_rows = -1}), HasSubstr("tiles of -1 x 0"));
}

TEST(Export, CompilersNeverContract) {
  const std::string fast = Program::from_text(small).emit({.name = "f"}).source;
  const std::string exact = Program::from_text(small).emit({.name = "f", .numbers = Numbers::exact}).source;
  for (const std::string& text : {fast, exact}) {
    EXPECT_THAT(text, Not(HasSubstr("contract(fast)")));
    EXPECT_THAT(text, HasSubstr("#ifdef __clang__\n#pragma STDC FP_CONTRACT OFF"));
    EXPECT_THAT(text, HasSubstr("#pragma GCC optimize(\"fp-contract=off\")"));
  }
}

TEST(Export, RefusesTargetsAndNames) {
  EXPECT_THAT(message_of(small, {.target = "pascal", .name = "f"}),
              HasSubstr("there is no target 'pascal'; expected c"));
  for (const char* name :
       {"", "2d", "a b", "f(", "int", "class", "u8", "f32x16", "tsr_x", "__x", "_X", "sin", "sinf", "main"})
    EXPECT_THAT(message_of(small, {.name = name}), HasSubstr("the entry point cannot be called")) << name;
  EXPECT_EQ("no error", message_of(small, {.name = "filter"}));
}

}  // namespace
}  // namespace tessera
