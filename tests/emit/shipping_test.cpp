// Emitted C as part of somebody's product: whatever flags it is compiled with, its values are right; whatever warnings
// are switched on, compilers stay silent; it links without a library; and its further entry points do as they say.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "command.hpp"
#include "support/sample.hpp"
#include "tessera/program.hpp"

namespace tessera {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// ---- values --------------------------------------------------------------------------------------------------------

const std::vector<std::string> results = {"sqrt(x)",
                                          "cbrt(x)",
                                          "exp(x)",
                                          "exp2(x)",
                                          "log(x)",
                                          "log2(x)",
                                          "log10(x)",
                                          "pow(x, y)",
                                          "sin(x)",
                                          "cos(x)",
                                          "tan(x)",
                                          "asin(x)",
                                          "acos(x)",
                                          "atan(x)",
                                          "atan2(x, y)",
                                          "sinh(x)",
                                          "cosh(x)",
                                          "tanh(x)",
                                          "hypot(x, y)",
                                          "fmod(x, y)",
                                          "floor(x)",
                                          "ceil(x)",
                                          "round(x)",
                                          "trunc(x)",
                                          "abs(x)",
                                          "-x",
                                          "x / y",
                                          "(x + y) - y",
                                          "x - x",
                                          "x * 0",
                                          "min(x, y)",
                                          "max(x, y)",
                                          "x != x ? 1 : 0",
                                          "x < y ? 1 : 0",
                                          "x <= y ? y : x",
                                          "saturate<uint8>(x)",
                                          "x - floor(x)",
                                          "1 / x",
                                          "(x * 3 + 0.1) - x * 3",
                                          "saturate<int>(x)"};

// All of these of two images of one type, or of one image and a number.
std::string program(const std::string& type, bool scalar) {
  std::string text, list;
  for (std::size_t k = 0; k < results.size(); ++k) {
    text += fmt::format("stencil f{0}(vector#2 {1} x, {2} y) {{ return {3}; }}\n", k, type,
                        scalar ? type : "vector#2 " + type, results[k]);
    list += fmt::format("{0}r{1} = f{1}(x, y)", k ? ", " : "", k);
  }
  return text + fmt::format("parameter M, N; vector#2 {0} x[M, N]; {1};\nreturn {2};\n", type,
                            scalar ? type + " y" : fmt::format("vector#2 {} y[M, N]", type), list);
}

// What hurts: signs of zero, denormals, infinities, NaN, halves, the ends of the range; the rest at random.
template <class T, class Bits>
std::vector<T> operands(std::mt19937_64& random, std::size_t count) {
  const T top = std::numeric_limits<T>::max(), tiny = std::numeric_limits<T>::denorm_min();
  const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  const T special[] = {0,       T(-0.0),    1,    -1,      T(0.3), T(0.5), T(-0.5), T(1.5),    T(2.5),
                       T(-2.5), T(3.5),     tiny, -tiny,   top,    -top,   inf,     -inf,      nan,
                       T(-100), T(8388609), 80,   T(-103), 300,    T(0.1), -inf,    T(-5.25e9)};
  std::vector<T> all;
  for (std::size_t k = 0; k < count; ++k) {
    if (random() % 3 == 0)
      all.push_back(special[random() % std::size(special)]);
    else if (random() % 3 == 0)
      all.push_back(std::bit_cast<T>(static_cast<Bits>(random())));
    else
      all.push_back(static_cast<T>(std::uniform_real_distribution<double>(-20, 20)(random)));
  }
  return all;
}

// Reads x and y, writes every result: the driver of any such program.
std::string driver(const std::string& type, bool scalar, int rows, int columns) {
  const std::string element = type;
  std::string text = "#include <stdio.h>\n#include \"f.h\"\n", call = scalar ? "x, y[0], " : "x, y, ", writes;
  text += fmt::format("static {0} x[{1}], y[{1}];\n", element, rows * columns);
  call += fmt::format("{}, {}", rows, columns);
  for (std::size_t k = 0; k < results.size(); ++k) {
    const bool wide = results[k].find("0.1") != std::string::npos, byte = results[k].starts_with("saturate<uint8>"),
               whole = results[k].starts_with("saturate<int>") || results[k].find("? 1 : 0") != std::string::npos;
    text += fmt::format("static {} r{}[{}];\n",
                        byte    ? "unsigned char"
                        : whole ? "int"
                        : wide  ? "double"
                                : element,
                        k, rows * columns);
    call += fmt::format(", r{}", k);
    writes += fmt::format("  if (fwrite(r{0}, sizeof r{0}, 1, out) != 1) return 1;\n", k);
  }
  return text + fmt::format(
                    "int main(void) {{\n  FILE *in = fopen(\"in\", \"rb\"), *out = fopen(\"out\", \"wb\");\n"
                    "  if (!in || !out || fread(x, sizeof x, 1, in) != 1 || fread(y, sizeof y, 1, in) != 1) return 1;\n"
                    "  f({});\n{}  return fclose(out) != 0;\n}}\n",
                    call, writes);
}

// Whether two arrays are the same to the bit, a NaN being like any other.
template <class T>
std::string differs(const Array& right, const std::string& bytes, std::size_t& at) {
  const auto* expected = static_cast<const T*>(right.data());
  const std::size_t count = static_cast<std::size_t>(right.count());
  for (std::size_t k = 0; k < count; ++k, at += sizeof(T)) {
    T got;
    std::memcpy(&got, bytes.data() + at, sizeof got);
    if (std::memcmp(&got, expected + k, sizeof got) != 0 && (got == got || expected[k] == expected[k]))
      return fmt::format("element {} is {}, not {}", k, got, expected[k]);
  }
  return "";
}

struct Way {
  const char *compiler, *flags;
};
// The first ones with all compilers' own names for it; -fno-honor-nans has no macro by which a text could know.
const Way ways[] = {{"gcc", "-O2"},
                    {"gcc", "-Ofast"},
                    {"gcc", "-O2 -fassociative-math -fno-signed-zeros -fno-trapping-math"},
                    {"gcc", "-O1 -ffinite-math-only -mfpmath=387"},
                    {"gcc", "-O2 -ffast-math -march=haswell -DTESSERA_PLAIN_ROOTS"},
                    {"g++ -x c++ -std=c++17", "-O1 -ffast-math"},
                    {"gcc", "-m32 -O1"},
                    {"gcc", "-m32 -Ofast"},
                    {"clang", "-O3 -ffast-math"},
                    {"clang", "-O1 -ffp-model=fast"},
                    {"clang", "-m32 -O1 -ffinite-math-only"},
                    {"clang-19", "-O3 -ffast-math"},
                    {"clang-19", "-O2 -ffp-model=fast -march=haswell"},
                    {"clang-19", "-O2 -ffp-contract=fast -march=haswell"},
                    {"clang-19", "-O1 -ffast-math -UTESSERA_NO_DISPATCH"},
                    {"clang-19", "-O1 -fno-honor-nans -funsafe-math-optimizations"}};

std::string first_word(const std::string& words) {
  return words.substr(0, words.find(' '));
}

// Whether a compiler makes programs for these flags: -m32 needs libraries of its own, -march what runs here.
bool makes_programs(const Folder& folder, const Way& way) {
  if (!have(first_word(way.compiler))) return false;
  const std::string flags = way.flags;
  if (flags.find("haswell") != std::string::npos &&
      (__builtin_cpu_supports("avx2") == 0 || __builtin_cpu_supports("fma") == 0))
    return false;
  write(folder / "empty.c", "int main(void) { return 0; }\n");
  return shell(folder, fmt::format("cd '{}' && {} {} empty.c -o empty && ./empty", (folder / "").string(), way.compiler,
                                   way.flags)) == "";
}

class Flags : public testing::TestWithParam<const char*> {};

TEST_P(Flags, DoNotReachTheValues) {
  const std::string type = GetParam();
  std::random_device entropy;
  const auto seed = entropy();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937_64 random(seed);
  const int rows = 3, columns = 171;
  const bool scalar = random() % 2 == 0, single = type == "float";
  const Program compiled = Program::from_text(program(type, scalar));
  const ElementType element = single ? ElementType::f32 : ElementType::f64;
  Array x(element, {rows, columns}), y(element, {rows, columns});
  const auto fill = [&](Array& a) {
    if (single) {
      const auto values = operands<float, std::uint32_t>(random, rows * columns);
      std::memcpy(a.data(), values.data(), values.size() * 4);
    } else {
      const auto values = operands<double, std::uint64_t>(random, rows * columns);
      std::memcpy(a.data(), values.data(), values.size() * 8);
    }
  };
  fill(x), fill(y);
  const double number =
      single ? static_cast<double>(*static_cast<const float*>(y.data())) : *static_cast<const double*>(y.data());
  const std::vector<Array> right = compiled.interpret({x, scalar ? tessera::scalar(number, element) : y});
  const EmittedCode code = compiled.emit({.name = "f", .numbers = Numbers::exact});
  const Folder folder;
  const std::string in = (folder / "").string(), size(static_cast<std::size_t>(rows * columns) * (single ? 4 : 8), 0);
  write(folder / "f.c", code.source);
  write(folder / "f.h", code.header);
  write(folder / "driver.c", driver(type, scalar, rows, columns));
  write(folder / "in", std::string(static_cast<const char*>(x.data()), size.size()) +
                           std::string(static_cast<const char*>(y.data()), size.size()));
  for (const Way& way : sample_of(ways)) {
    if (!makes_programs(folder, way)) continue;
    SCOPED_TRACE(fmt::format("{} {}", way.compiler, way.flags));
    // Linked with the flags as well, which sets the processor's modes; and without -lm.
    ASSERT_EQ(
        "", shell(folder,
                  fmt::format("cd '{0}' && rm -f out && {1} -DTESSERA_NO_DISPATCH {2} -Wall -Wextra -Werror -c f.c "
                              "-o f.o && {3} {2} driver.c f.o -o driver && ./driver",
                              in, way.compiler, way.flags, first_word(way.compiler) == "g++" ? "gcc" : way.compiler)));
    const std::string bytes = read(folder / "out");
    std::size_t at = 0;
    for (std::size_t k = 0; k < right.size(); ++k) {
      const ElementType t = right[k].format().scalar;
      const std::string wrong = t == ElementType::u8    ? differs<std::uint8_t>(right[k], bytes, at)
                                : t == ElementType::i32 ? differs<std::int32_t>(right[k], bytes, at)
                                : t == ElementType::f32 ? differs<float>(right[k], bytes, at)
                                                        : differs<double>(right[k], bytes, at);
      EXPECT_EQ(wrong, "") << results[k];
      if (!wrong.empty()) break;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Flags, testing::Values("float", "double"),
                         [](const auto& info) { return std::string(info.param); });

// ---- silence, and no library
// -----------------------------------------------------------------------------------------

const char* const talkative =
    "-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wcast-align -Wcast-qual -Wundef "
    "-Wfloat-equal -Wdouble-promotion -Wredundant-decls -Wmissing-declarations -Wwrite-strings -Wformat=2 "
    "-Wswitch-default -Werror";

class Talk : public testing::TestWithParam<const char*> {};

TEST_P(Talk, IsNotHeardOfACompiler) {
  const std::string name = GetParam();
  const Folder folder;
  const EmittedCode code = Program::from_file((drivers / (name + ".forma")).string()).emit({.name = name});
  write(folder / "f.c", code.source);
  write(folder / "use.c", "#include \"f.h\"\n#include \"f.h\"\nint use(void);\nint use(void) { return 7; }\n");
  write(folder / "f.h", code.header);
  const Way all[] = {
      {"gcc -std=c99 -Wstrict-prototypes -Wmissing-prototypes -Wbad-function-cast -Wnested-externs", "-O1"},
      {"gcc -std=c99 -pedantic-errors", "-O0 -m32"},
      {"g++ -x c++ -std=c++11 -Wold-style-cast -Wuseless-cast -Wzero-as-null-pointer-constant", "-O1"},
      {"g++ -x c++ -std=c++20", "-O1 -m32 -fopenmp"},
      {"clang -std=c99 -Weverything -Wno-declaration-after-statement", "-O0"},
      {"clang-19 -std=c17 -Weverything -pedantic-errors", "-O0 -fopenmp"},
      {"clang++ -x c++ -std=c++11 -Wold-style-cast", "-O0"},
      {"clang -Wno-unused-command-line-argument --target=x86_64-pc-windows-msvc -fms-extensions", "-O0"},
      {"clang-19 --target=aarch64-linux-gnu -ffast-math", "-O1"},
      {"clang --target=aarch64-linux-gnu", "-O1"}};
  for (const Way& way : sample_of(all)) {
    const bool other = std::string(way.compiler).find("--target") != std::string::npos;
    if (!have(first_word(way.compiler))) continue;
    if (!other && !makes_programs(folder, {way.compiler, way.flags})) continue;
    SCOPED_TRACE(fmt::format("{} {}", way.compiler, way.flags));
    EXPECT_EQ(
        "",
        shell(folder, fmt::format("cd '{}' && {} {} {} -c f.c -o f.o && {} {} {} -Wno-unused-macros -c use.c -o use.o",
                                  (folder / "").string(), way.compiler, way.flags, talkative, way.compiler, way.flags,
                                  talkative)));
  }
}

INSTANTIATE_TEST_SUITE_P(Drivers, Talk, testing::Values("color", "warp", "spectrum", "flood", "entries"),
                         [](const auto& info) { return std::string(info.param); });

// Roots are where libm crept in; malloc, free, memcpy and memset are what there is.
TEST(Shipping, NeedsNoLibrary) {
  const Folder folder;
  const std::string text =
      "stencil f(vector#2 float a, vector#2 double b) { return hypot(a, 3.0f) + sqrt(b) + asin(a) + sqrt(a); } "
      "parameter M, N; vector#2 float a[M,N]; vector#2 double b[M,N]; r = f(a, b); return r;";
  write(folder / "f.c", Program::from_text(text).emit({.name = "f"}).source);
  for (const char* compiler : {"gcc", "clang", "clang-19"})
    for (const char* flags : {"-O0", "-O2", "-O2 -DTESSERA_NO_DISPATCH"}) {
      if (!have(compiler) || !have("nm")) continue;
      EXPECT_EQ("", shell(folder,
                          fmt::format(
                              "cd '{}' && {} {} -fno-stack-protector -fno-pic -c f.c -o f.o && nm -u f.o | grep -v -w "
                              "-E 'malloc|free|memcpy|memset|__cpu_model|__cpu_indicator_init' || true",
                              (folder / "").string(), compiler, flags)))
          << compiler << " " << flags;
    }
}

// ---- entry points
// ----------------------------------------------------------------------------------------------------

TEST(Shipping, HasEntryPointsForEveryCaller) {
  const Folder folder;
  const std::string in = (folder / "").string();
  const Program program = Program::from_file((drivers / "entries.forma").string());
  const EmittedCode code = program.emit({.name = "entries", .numbers = Numbers::exact});
  for (const char* declared : {"void entries(", "int entries_status(", "int entries_strided(", "int entries_scratch(",
                               "long long entries_scratch_size("})
    EXPECT_THAT(code.header, HasSubstr(declared));
  write(folder / "entries.c", code.source);
  write(folder / "entries.h", code.header);
  for (const char* line :
       {"gcc -O1 -Wall -Wextra -Werror", "gcc -O2 -fopenmp", "clang -O1 -g -fsanitize=address,undefined"}) {
    if (!have(first_word(line))) continue;
    SCOPED_TRACE(line);
    EXPECT_EQ("",
              shell(folder,
                    fmt::format("cd '{0}' && {1} -I. entries.c '{2}' -o driver && ASAN_OPTIONS=detect_leaks=1 ./driver",
                                in, line, (drivers / "entries.c").string())));
  }
}

// Programs with transforms and with loops take the caller's memory, and no other.
class Scratch : public testing::TestWithParam<const char*> {};

TEST_P(Scratch, IsEnoughAndAllThatIsTaken) {
  const std::string name = GetParam();
  const Folder folder;
  const std::string in = (folder / "").string();
  const bool sized = name == "sized", spectrum = sized || name == "spectrum";
  const std::string text =
      spectrum
          ? "stencil pass(vector#2 complex F) { return struct complex(F.re * 0.5f, F.im * 0.5f); } parameter M, N; "
            "vector#2 float x[M,N]; y = ifft(pass(fft(x))); return y.re;"
          : "stencil grow(vector#2 float U) { return max(U, max(U@[0,1], U@[0,-1]) - 1); }\n"
            "stencil changed(vector#2 float A, vector#2 float B) { return abs(A - B); }\n"
            "parameter M, N; vector#2 float x[M,N]; u<0> = x;\n"
            "do t = 1..50\n  u<t> = grow(u<t-1>:clamped);\nwhile (max(changed(u<t>, u<t-1>)) > 0.5f);\nreturn u<50>;";
  EmittedCode code;
  try {
    code = Program::from_text(text).emit(
        {.name = "f", .shapes = sized ? std::vector<Shape>{{57, 40}} : std::vector<Shape>{}});
  } catch (const Error& e) {
    FAIL() << e.what();
  }
  write(folder / "f.c", code.source);
  write(folder / "f.h", code.header);
  write(folder / "driver.c", R"(
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "f.h"
static int closed;
void* __real_malloc(size_t);
void* __wrap_malloc(size_t n) { return closed ? 0 : __real_malloc(n); }
int main(void) {
  for (int n = 1; n < 80; n += 13) {
    const int m = 97 - n;
    float *x = malloc(4 * m * n), *y = malloc(4 * m * n), *z = malloc(4 * m * n);
    long long bytes = f_scratch_size(m, n, 0);
    char* scratch = malloc(bytes + 16);
    for (int k = 0; k < m * n; ++k) x[k] = (float)(k * 7919 % 101), z[k] = 0;
    f(x, m, n, y);
    memset(scratch + bytes, 7, 16);
    closed = 1;
    int status = f_scratch(x, m, n, z, scratch + 1, bytes);
    int lacking = f_scratch(x, m, n, z, scratch, bytes / 2 - 64);
    closed = 0;
    if (status || lacking != 5) return printf("%d x %d: status %d of %lld bytes, %d of half\n", m, n, status, bytes, lacking);
    for (int k = 1; k < 16; ++k) if (scratch[bytes + k] != 7) return printf("written behind the scratch memory\n");
    closed = 1;
    status = f_scratch(x, m, n, z, scratch, bytes);
    closed = 0;
    if (status || memcmp(y, z, 4 * m * n)) return printf("%d x %d: other values\n", m, n);
    if (f_status(x, m, n, x) != 3) return printf("in place\n");
    free(x), free(y), free(z), free(scratch);
  }
  return 0;
}
)");
  EXPECT_EQ("", shell(folder,
                      fmt::format("cd '{}' && gcc -O1 -Wall -Wextra -Werror -c f.c -o f.o && gcc -O1 -Wl,--wrap=malloc "
                                  "driver.c f.o -o driver && ./driver",
                                  in)));
}

INSTANTIATE_TEST_SUITE_P(Programs, Scratch, testing::Values("spectrum", "sized", "loops"),
                         [](const auto& info) { return std::string(info.param); });

// ---- what files begin with
// -------------------------------------------------------------------------------------------

TEST(Shipping, BeginsWithWhatItIsAndMayBe) {
  const std::string text =
      "stencil f(vector#2 uint8 x) { return cast<uint8>((x@[0,-1] + x@[0,1]) / 2); } parameter M, N; "
      "vector#2 uint8 image[M, N]; return f(image:clamped);";
  const Program here = Program::from_text(text, {}, "/some/folder/a.forma"),
                there = Program::from_text(text, {}, "b.forma");
  for (const char* target : {"c", "cuda", "opencl", "hls", "verilog"}) {
    EmitOptions options{.target = target, .name = "halve"};
    if (options.target == "hls" || options.target == "verilog") options.hardware.height = options.hardware.width = 32;
    const EmittedCode code = here.emit(options), same = there.emit(options);
    for (const std::string* each : {&code.source, &code.header, &code.host}) {
      if (each->empty()) continue;
      SCOPED_TRACE(target);
      EXPECT_THAT(*each, StartsWith("/* halve: "));
      const std::string head = each->substr(0, each->find("*/"));
      for (const char* said : {"generated by Tessera 0.", "tessera emit --target ", "Program ",
                               "SPDX-License-Identifier: 0BSD", "distribute this file, in products too"})
        EXPECT_THAT(head, HasSubstr(said));
      EXPECT_THAT(*each, testing::Not(HasSubstr("/some/folder")));
    }
    EXPECT_EQ(code.source, same.source);
  }
  const std::string other =
      Program::from_text("stencil f(vector#1 uint8 x) { return x; } vector#1 uint8 x[9]; return f(x);")
          .emit({.name = "halve"})
          .source;
  const auto hash = [](const std::string& s) { return s.substr(s.find("Program "), 40); };
  EXPECT_NE(hash(other), hash(here.emit({.name = "halve"}).source));
}

TEST(Shipping, TakesOneClassOfVectors) {
  const Program program = Program::from_file((drivers / "entries.forma").string());
  const std::size_t all = program.emit({.name = "entries"}).source.size();
  const Folder folder;
  for (const int bits : {128, 256, 512}) {
    const EmittedCode code = program.emit({.name = "entries", .numbers = Numbers::exact, .vector_bits = bits});
    EXPECT_LT(code.source.size(), all * 7 / 10) << bits;
    EXPECT_THAT(code.source, HasSubstr(fmt::format("--vectors {}", bits)));
    write(folder / "entries.c", code.source);
    write(folder / "entries.h", code.header);
    if (bits == 512 && __builtin_cpu_supports("avx512vl") == 0) continue;
    if (bits == 256 && __builtin_cpu_supports("avx2") == 0) continue;
    for (const char* compiler : {"gcc", "clang"}) {
      if (!have(compiler)) continue;
      EXPECT_EQ(
          "",
          shell(folder, fmt::format("cd '{}' && {} -O1 -Wall -Wextra -Werror -I. entries.c '{}' -o driver && ./driver",
                                    (folder / "").string(), compiler, (drivers / "entries.c").string())))
          << compiler << " " << bits;
    }
  }
  try {
    program.emit({.name = "entries", .vector_bits = 200});
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("vectors of 200 bits were asked for; expected 128, 256 or 512"));
  }
}

}  // namespace
}  // namespace tessera
