// Emitted files of programs with Fourier transforms: they take any extents, and give what the interpreter gives, to
// what transforms round. C files run with the vectors of every machine that this one stands for, CUDA's on the runtime
// of tests/emit/shim, OpenCL's on whatever device the machine has.
#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "base/process/sanitizer.hpp"
#include "command.hpp"
#include "data/element.hpp"
#include "support/opencl.hpp"
#include "support/sample.hpp"
#include "tessera/program.hpp"

namespace tessera {
namespace {

// Sanitizers do not follow the threads of a block from stack to stack.
constexpr bool changes_stacks = !base::under_address_sanitizer && !base::under_thread_sanitizer;

// Compiled for one target, and called as any program: what arrays point to, and extents.
class Emitted {
 public:
  // Made for arrays of a shape, unless it is empty.
  Emitted(const Program& program, const std::string& target, Method method = Method::automatic,
          const Shape& made_for = {})
      : program_(program) {
    const bool cuda = target == "cuda", opencl = target == "opencl";
    const EmittedCode code = program.emit({.target = cuda || opencl ? target : "c",
                                           .name = "spectra",
                                           .method = method,
                                           .kernels_file = (folder_ / "k.cl").string(),
                                           .shapes = shapes_of(program, made_for)});
    write(folder_ / "k.cl", code.source);
    write(folder_ / "p.cpp", (cuda ? code.source : "") + caller(code, cuda));
    write(folder_ / "h.c", opencl ? code.host : code.source);
    const std::string in = fmt::format("cd '{}' && ", (folder_ / "").string());
    const std::string line =
        cuda ? fmt::format(
                   "g++ -std=c++17 -O1 -U_FORTIFY_SOURCE -fPIC -shared -ffp-contract=off -w -I'{}/tests/emit/shim' "
                   "-include "
                   "cuda_runtime.h p.cpp -o p.so",
                   TESSERA_SOURCE_DIR)
             : fmt::format(
                   "gcc -O0 -Wall -Wextra -Werror -fPIC {} -c h.c -o h.o && g++ -std=c++17 -fPIC -shared p.cpp "
                   "h.o -o p.so {}",
                   opencl                ? "-std=c99"
                   : target == "c"       ? "-fopenmp"
                   : target == "c plain" ? "-DTESSERA_NO_DISPATCH"
                                         : "-D'__builtin_cpu_supports(x)=(x[3]==50)'",  // AVX2 alone
                   opencl ? "-lOpenCL" : "-fopenmp");
    said_ = shell(folder_, in + line);
    if (!said_.empty()) return;
    void* const handle = dlopen((folder_ / "p.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) throw std::runtime_error(dlerror());
    call_ = reinterpret_cast<void (*)(void**, const int*)>(dlsym(handle, "call"));
    held_ = reinterpret_cast<int (*)()>(dlsym(handle, "held"));
    fail_ = reinterpret_cast<int (*)(int, void**, const int*)>(dlsym(handle, "fail"));
  }

  const std::string& said() const { return said_; }  // by the compiler
  int held() const { return held_(); }               // blocks of CUDA's memory
  // What NAME_on_stream says where there is no memory for allocation k.
  int fail(int k, std::vector<void*> arrays, const std::vector<int>& extents) const {
    return fail_(k, arrays.data(), extents.data());
  }

  std::vector<Array> run(const std::vector<Array>& inputs, const std::vector<int>& extents) const {
    std::vector<Array> outputs;
    std::vector<void*> arrays;
    for (const Array& a : inputs) arrays.push_back(const_cast<void*>(static_cast<const void*>(a.data())));
    for (std::size_t o = 0; o < program_.outputs().size(); ++o) {
      outputs.emplace_back(program_.outputs()[o].format, program_.output_shapes(inputs)[o]);
      arrays.push_back(outputs.back().data());
    }
    call_(arrays.data(), extents.data());
    return outputs;
  }

 private:
  static std::vector<Shape> shapes_of(const Program& program, const Shape& shape) {
    std::vector<Shape> shapes;
    for (const Parameter& p : program.inputs())
      if (!shape.empty()) shapes.push_back(p.is_array ? shape : Shape{});
    return shapes;
  }

  // Arguments of any type.
  std::string caller(const EmittedCode& code, bool cuda) const {
    std::string list;
    std::size_t arrays = 0;
    const auto pointer = [&] { list += fmt::format("{}any{{a[{}]}}", list.empty() ? "" : ", ", arrays++); };
    for (const Parameter& p : program_.inputs())
      if (p.is_array)
        pointer();
      else
        list += fmt::format(", *static_cast<const float*>(a[{}])", arrays++);
    for (std::size_t k = 0; k < program_.parameters().size(); ++k) list += fmt::format(", n[{}]", k);
    for (std::size_t k = 0; k < program_.outputs().size(); ++k) pointer();
    return (cuda ? "\nextern \"C\" int held() { return (int)shim.blocks.size(); }\n" : code.header) +
           "\nstruct any { void* p; template <class T> operator T*() const { return (T*)p; } };\n" +
           (cuda ? "extern \"C\" int fail(int k, void** a, const int* n) {\n  shim.fail_allocation = k;\n"
                   "  const int status = spectra_on_stream(" +
                       list +
                       ", 0);\n  shim.fail_allocation = -1;\n"
                       "  return status;\n}\n"
                 : "") +
           "extern \"C\" void call(void** a, const int* n) { spectra(" + list + "); }\n";
  }

  const Program& program_;
  const Folder folder_;
  std::string said_;
  void (*call_)(void**, const int*) = nullptr;
  int (*held_)() = nullptr;
  int (*fail_)(int, void**, const int*) = nullptr;
};

ElementType number_of(const Format& format) {
  return format.is_struct() ? format.fields[0].type : format.scalar;
}

std::vector<double> numbers(const Array& a) {
  const ElementType type = number_of(a.format());
  std::vector<double> all;
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.count()) * a.format().size() / size_of(type); ++i)
    all.push_back(load_element(type, static_cast<const std::byte*>(a.data()) + i * size_of(type)));
  return all;
}

Array noise(const Format& format, const Shape& shape) {
  std::mt19937 random(7);
  Array a(format, shape);
  const ElementType type = number_of(format);
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.count()) * format.size() / size_of(type); ++i)
    store_element(type, static_cast<std::byte*>(a.data()) + i * size_of(type),
                  static_cast<double>(random() % 2001) / 1000 - 1);
  return a;
}

// All arrays that are inputs have all extents, numbers are float.
void check(const std::string& text, const std::string& target, const std::vector<Shape>& shapes,
           Method method = Method::automatic, const Shape& made_for = {}) {
  if (target == "cuda" && !changes_stacks) return;
  const Program program = Program::from_text(text);
  const Emitted emitted(program, target, method, made_for);
  ASSERT_EQ("", emitted.said());
  int held = 0;
  for (int turn = 0; turn < 2; ++turn)  // tables are kept, nothing else is
    for (const Shape& shape : shapes) {
      if (turn == 1 && target != "cuda") break;
      SCOPED_TRACE(fmt::format("shape {}", to_string(shape)));
      std::vector<Array> inputs;
      for (const Parameter& p : program.inputs()) inputs.push_back(noise(p.format, p.is_array ? shape : Shape{}));
      const std::vector<Array> got = emitted.run(inputs, {shape.begin(), shape.end()});
      if (turn == 1) {
        EXPECT_EQ(held, emitted.held());
        break;
      }
      if (target == "cuda") held = emitted.held();
      const std::vector<Array> expected = program.interpret(inputs);
      for (std::size_t o = 0; o < got.size(); ++o) {
        const std::vector<double> g = numbers(got[o]), e = numbers(expected[o]);
        double error = 0, length = 0;
        for (std::size_t i = 0; i < g.size(); ++i) error += (g[i] - e[i]) * (g[i] - e[i]), length += e[i] * e[i];
        const double eps = number_of(got[o].format()) == ElementType::f64 ? 2.3e-16 : 1.2e-7;
        const double doublings = std::max(1.0, std::log2(static_cast<double>(got[o].count())));
        EXPECT_LE(std::sqrt(error), 4 * eps * doublings * std::sqrt(length) + 1e-30) << "output " << o;
      }
    }
}

const char* const flat =
    "stencil half(vector#2 complex F) { return struct complex(0.5f * F.re, coord(1) * F.im); }\n"
    "stencil apart(vector#2 float X, vector#2 float Y) { return X@[0,1] - Y@[1,0]; }\n"
    "parameter M, N; vector#2 float a[M,N];\n"
    "F = fft(a); b = ifft(half(F)); r = ifft(half(F), 1); return F = F, b = apart(a:wrap, b.re:wrap), r = r;";

// One of a point, lines that a block holds of every radix, halves of long ones, primes within a block and beyond.
const std::vector<Shape> flat_shapes = {{1, 1},    {1, 2},    {2, 1},    {3, 2},    {2, 3},    {5, 7},    {16, 16},
                                        {17, 19},  {22, 26},  {37, 41},  {64, 33},  {48, 100}, {1, 4096}, {1, 4097},
                                        {3, 9000}, {1100, 3}, {2048, 5}, {1009, 2}, {2, 1009}, {2003, 3}, {2200, 2}};

TEST(ExportedSpectra, OfCTakeAnyExtents) {
  ASSERT_TRUE(have("gcc"));
  for (const char* target : {"c", "c plain"}) check(flat, target, flat_shapes);
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2")) check(flat, "c half", flat_shapes);
#endif
}

TEST(ExportedSpectra, OfCudaTakeAnyExtents) {
  ASSERT_TRUE(have("g++"));
  check(flat, "cuda", flat_shapes);
}

// Whatever there is no memory for: the error comes back, the result is as it was, nothing but tables is kept.
TEST(ExportedSpectra, OfCudaSayWhereMemoryEnds) {
  if (!changes_stacks) GTEST_SKIP() << "sanitizers do not follow threads from stack to stack";
  ASSERT_TRUE(have("g++"));
  const Program program = Program::from_text(
      "stencil gain(vector#2 complex F) { return struct complex(2 * F.re, F.im); }\n"
      "parameter M, N; vector#2 float a[M,N]; b = ifft(gain(fft(a))); return b.re;");
  const Emitted emitted(program, "cuda");
  ASSERT_EQ("", emitted.said());
  std::vector<float> in(37 * 41, 1), out(37 * 41, -1);
  int failures = 0;
  while (failures < 100 && emitted.fail(failures, {in.data(), out.data()}, {37, 41}) != 0) {
    EXPECT_EQ(std::vector<float>(37 * 41, -1), out) << failures;
    ++failures;
  }
  EXPECT_GT(failures, 6);
  EXPECT_LT(failures, 100);
  const int held = emitted.held();
  EXPECT_EQ(2, emitted.fail(3, {in.data(), out.data()}, {37, 41}));
  EXPECT_EQ(held, emitted.held());
  EXPECT_EQ(0, emitted.fail(-1, {in.data(), out.data()}, {-1, 41}));  // nothing to compute
  EXPECT_EQ(2, emitted.fail(-1, {in.data(), out.data()}, {0x7fffffff, 0x7fffffff}));
}

TEST(ExportedSpectra, OfOpenclTakeAnyExtents) {
  if (cannot_run(no_opencl())) return;
  check(flat, "opencl", flat_shapes);
}

// Rows of a block, a prime, four steps along rows and columns, lines in chunks; and in the same file any others.
TEST(ExportedSpectra, OfKnownExtentsTakeOthersAsWell) {
  ASSERT_TRUE(have("g++"));
  const std::vector<Shape> made_for = {{37, 41}, {3, 9000}, {6000, 12}};
  for (const Shape& shape : made_for) {
    SCOPED_TRACE(fmt::format("made for {}", to_string(shape)));
    check(flat, "cuda", {shape, {5, 7}}, Method::automatic, shape);
    if (shape[0] < 100 && !cannot_run(no_opencl())) check(flat, "opencl", {shape, {5, 7}}, Method::automatic, shape);
  }
  const std::string text = Program::from_text(flat).emit({.target = "cuda", .shapes = {{16, 20}}}).source;
  EXPECT_NE(text.find("--size 16x20"), std::string::npos);
  EXPECT_NE(text.find("if (shape[0] == 16LL && shape[1] == 20LL)"), std::string::npos);
  EXPECT_THROW(Program::from_text(flat).emit({.target = "cuda", .shapes = {{16, 20}, {16, 20}}}), Error);
  EXPECT_THROW(Program::from_text(flat).emit({.target = "cuda", .shapes = {{16}}}), Error);
  // A prime, whose convolution has tables as long as the line.
  const Program line = Program::from_text("parameter N; vector#1 float a[N]; return fft(a);");
  EXPECT_THROW(line.emit({.target = "cuda", .shapes = {{2097143}}}), Error);
  EXPECT_GT(line.emit({.target = "cuda", .shapes = {{i64{1} << 40}}}).source.size(), 1000u);  // no kernel takes it
}

// Files of C hold the plans of a run: trees of every kind (radices, two parts, Rader's, Bluestein's), rows shorter than
// vectors, fewer columns than lanes, long rows in four steps, halved ones, a chirp.
TEST(ExportedSpectra, OfCForKnownExtents) {
  ASSERT_TRUE(have("gcc"));
  std::vector<std::string> targets = {"c", "c plain"};
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2")) targets.emplace_back("c half");
#endif
  // Vectors take turns: each shape meets one width.
  std::size_t turn = 0;
  const auto next = [&] { return targets[turn++ % targets.size()]; };
  for (const Shape& shape : sample_of<Shape>(
           {{1, 1}, {2, 3}, {37, 41}, {64, 33}, {22, 134}, {300, 6}, {3, 9000}, {2048, 5}, {1, 4096}, {2, 4099}})) {
    SCOPED_TRACE(fmt::format("made for {}", to_string(shape)));
    check(flat, next(), {shape, {5, 7}}, Method::automatic, shape);
  }
  for (const Shape& shape : sample_of<Shape>({{1}, {7}, {1000}, {8198}, {16384}})) {
    SCOPED_TRACE(fmt::format("made for {}", to_string(shape)));
    check("parameter N; vector#1 complex a[N]; vector#1 float b[N]; return F = fft(a), G = fft(b);", next(),
          {shape, {12}}, Method::automatic, shape);
  }
  const std::string text = Program::from_text(flat).emit({.target = "c", .shapes = {{16, 20}}}).source;
  EXPECT_NE(text.find("shape[0] == 16LL && tsr_fft_shape[1] == 20LL"), std::string::npos);
}

const char* const volumes =
    "stencil gain(vector#3 complex F) { return struct complex(2 * F.re, 2 * F.im); }\n"
    "parameter K, M, N; vector#3 double a[K,M,N]; b = ifft(gain(fft(a)));\n"
    "return b = b.re, planes = fft(a, 1, 2), through = fft(a, 0), odd = ifft(a, 0, 2);";
const std::vector<Shape> volume_shapes = {{1, 1, 1}, {1, 2, 3},   {4, 5, 6},   {7, 1, 16},
                                          {9, 3, 8}, {17, 19, 2}, {2, 1, 500}, {67, 2, 3}};

TEST(ExportedSpectra, OfVolumesInDoubles) {
  ASSERT_TRUE(have("gcc"));
  for (const char* target : {"c", "cuda"}) check(volumes, target, volume_shapes);
  check(volumes, "cuda", {{9, 3, 8}, {4, 5, 6}}, Method::automatic, {9, 3, 8});
  for (const Shape& shape : {Shape{9, 3, 8}, Shape{17, 19, 2}, Shape{4, 30, 40}})
    check(volumes, "c", {shape, {4, 5, 6}}, Method::automatic, shape);
}

TEST(ExportedSpectra, OfFourDimensionsAndNumbersAlone) {
  ASSERT_TRUE(have("gcc"));
  for (const char* target : {"c", "cuda"}) {
    check(
        "parameter T, K, M, N; vector#4 complex a[T,K,M,N]; F = ifft(a); G = ifft(a, 0, 2, 3); H = fft(a);\n"
        "return F = F, r = G.re, H = H;",
        target, {{1, 1, 1, 1}, {2, 3, 4, 5}, {7, 2, 1, 9}}, Method::automatic, {2, 3, 4, 5});
    check("parameter N; vector#1 float a[N]; return fft(a);", target, {{1}, {2}, {3}, {1000}, {8198}});
  }
}

// Sums through one transform of the image, which borders make larger.
TEST(ExportedSpectra, OfSumsThroughThem) {
  ASSERT_TRUE(have("gcc"));
  const std::string text =
      "table float w[3,5] = {{1, 2, 3, 4, 5}, {5, 4, 9, 2, 1}, {1, 1, 2, 3, 3}};\n"
      "stencil f(vector#2 float X) { return sum(i = 0..2, j = 0..4)(w[i,j] * X@[i-1,j-2]); }\n"
      "parameter M, N; vector#2 float a[M,N]; return f(a:mirror);";
  for (const char* target : {"c", "cuda"}) check(text, target, {{1, 1}, {5, 3}, {20, 31}}, Method::whole);
}

TEST(ExportedSpectra, OfLoops) {
  ASSERT_TRUE(have("g++"));
  const std::string text =
      "stencil gain(vector#2 complex F) { g = 1.0f / (1 + coord(0) + coord(1)); return struct complex(g * F.re, g * "
      "F.im); }\n"
      "stencil mixed(vector#2 float a, vector#2 float b) { return (a@[0,1] + 3 * b) / 4; }\n"
      "stencil large(vector#2 float a) { return a > -0.5f; }\n"
      "parameter M, N; vector#2 float a[M,N]; u<0> = a;\n"
      "do t = 1..9\n  F<t> = ifft(gain(fft(u<t-1>)));\n  u<t> = mixed(a:wrap, F<t>.re);\n"
      "while (max(large(u<t>)) != 0 && t != 5);\n"
      "return u = u<9>, G = fft(u<9>);";
  for (const char* target : {"c", "c plain", "cuda"}) check(text, target, {{1, 1}, {3, 5}, {16, 20}});
  if (!cannot_run(no_opencl())) check(text, "opencl", {{1, 1}, {3, 5}, {16, 20}});
  // A spectrum that is carried, doubles, a section without transforms, sums that a test asks for.
  check(
      "stencil damp(vector#2 complex F, float g) { return struct complex(g * F.re, g * F.im); }\n"
      "stencil add(vector#2 double X, vector#2 double Y) { return X + 0.5 * Y@[1,0]; }\n"
      "stencil square(vector#2 complex F) { return F.re * F.re; }\n"
      "parameter M, N; vector#2 float a[M,N]; vector#2 double b[M,N]; float gain;\n"
      "F<0> = fft(a);\ndo t = 1..20\n  F<t> = damp(F<t-1>, gain);\nwhile (sum(square(F<t>)) > 0.001f);\n"
      "v<0> = b;\ndo k = 1..3\n  G<k> = ifft(fft(v<k-1>));\n  v<k> = add(v<k-1>, G<k>.re:wrap);\nwhile (k != 2);\n"
      "return r = ifft(F<20>), v = v<3>, F = F<20>;",
      "c", {{1, 1}, {3, 5}, {20, 33}});
}

}  // namespace
}  // namespace tessera
