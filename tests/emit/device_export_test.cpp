// Files for GPUs as their users have them. A .cu file is compiled as C++ with a runtime of tests/emit/shim, which runs
// kernels on the processor, and by nvcc where there is one; kernels of OpenCL and their host file run on whatever
// device the machine has. All give the interpreter's bits, and pass the drivers that the C files pass.
#include <dlfcn.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <type_traits>

#include "command.hpp"
#include "support/opencl.hpp"
#include "tessera/program.hpp"

namespace tessera {
namespace {

const std::string shim_flags = fmt::format(
    "-x c++ -std=c++17 -O1 -U_FORTIFY_SOURCE -fPIC -shared -ffp-contract=off -w -I'{}/tests/emit/shim' -include "
    "cuda_runtime.h",
    TESSERA_SOURCE_DIR);

// It stays loaded: what OpenCL keeps for the process would otherwise look lost.
class Library {
 public:
  explicit Library(const std::filesystem::path& path) : handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) throw std::runtime_error(dlerror());
  }
  template <class F>
  F* function(const std::string& name) const {
    return reinterpret_cast<F*>(dlsym(handle_, name.c_str()));
  }

 private:
  void* handle_;
};

template <class T = float>
Array random_image(i64 rows, i64 columns) {
  constexpr bool bytes = std::is_same_v<T, unsigned char>;
  Array image(bytes ? ElementType::u8 : ElementType::f32, {rows, columns});
  std::mt19937 random(static_cast<unsigned>(rows * 1000 + columns));
  for (i64 k = 0; k < rows * columns; ++k) {
    const auto drawn = static_cast<float>(random() % 2000);
    image.as<T>()[k] = static_cast<T>(bytes ? drawn / 8 : drawn / 7 - 100);
  }
  return image;
}

// Strips with every border, rings of several stages, rows that are no multiple of 16 bytes; images smaller than a halo.
const char* const three_stages =
    "stencil rows(vector#2 float X) { return (X@[-2,0] + 2 * X + X@[1,0]) / 3; }\n"
    "stencil columns(vector#2 float X, vector#2 float Y) { return X@[0,-1] * 0.5f - Y@[1,2] + X@[0,3]; }\n"
    "parameter M, N; vector#2 float image[M,N];\n"
    "a = rows(image:mirror); b = columns(a:constant(3), image:clamped); return columns(b:symmetric, a:mirror);";

// Tiles whose threads exchange halo columns.
const char* const many_stages =
    "stencil wide(vector#2 float X) { return 0.25f * X@[0,-3] + X@[-1,0] - X@[1,1] * 0.5f + X@[0,2] / 3; }\n"
    "parameter M, N; vector#2 float image[M,N];\n"
    "a = wide(wide(wide(image:mirror):clamped):constant(3)); return wide(wide(a:symmetric):mirror);";

// Integers of 16 bits, two a register: negative ones, minima where there is an instruction for two.
const char* const narrow_stages =
    "stencil slope(vector#2 uint8 X) { return cast<int16>((X@[0,1] - X@[0,-1]) * 3 + X@[1,0] - X@[-1,0]); }\n"
    "stencil middle(vector#2 int16 X) { return max(min(X@[0,-1], X), min(max(X@[0,-1], X), X@[0,1])); }\n"
    "stencil bright(vector#2 int16 X) { return saturate<uint8>(abs(X@[0,2]) + (X >> 1)); }\n"
    "stencil smooth(vector#2 uint8 X) { return cast<uint8>((X@[-1,-1] + 2 * X + X@[1,1] + 2) >> 2); }\n"
    "parameter M, N; vector#2 uint8 image[M,N];\n"
    "return smooth(bright(middle(slope(image:mirror):clamped):clamped):mirror);";
const char* const narrow_sums =
    "stencil smooth(vector#2 uint8 X) { return cast<uint8>((X@[-1,-1] + 2 * X + X@[1,1] + 2) >> 2); }\n"
    "parameter M, N; vector#2 uint8 image[M,N]; return smooth(smooth(image:mirror):clamped);";

// Channels that are stored where they are put together: of the output, and of an array in between.
const char* const output_channels =
    "stencil f(vector#2 float X) { return X@[0,1] - X@[1,0]; } parameter M, N; vector#2 float image[M,N];\n"
    "return ( [0..,..,..] = f(image:wrap); [1..,..,..] = f(f(image:mirror):wrap); );";
const char* const inner_channels =
    "stencil f(vector#2 float X) { return X@[0,1] - X@[1,0]; }\n"
    "stencil g(vector#3 float X) { return X@[-1,0,1] + X@[1,1,0]; } parameter M, N; vector#2 float image[M,N];\n"
    "a = ( [0..,..,..] = f(image:wrap); [1..,..,..] = f(image:mirror); ); return g(a:clamped);";

template <class T>
using EntryOf = void(const T*, int, int, T*);
using Entry = EntryOf<float>;

template <class T = float>
void equals_interpreter(const Program& program, EntryOf<T>* entry) {
  for (const auto& [rows, columns] : {std::pair<i64, i64>{1, 1}, {3, 2}, {9, 40}, {33, 129}, {70, 596}}) {
    const Array image = random_image<T>(rows, columns), want = program.interpret({image}).at(0);
    std::vector<T> out(static_cast<std::size_t>(element_count(want.shape())), 99);
    entry(image.as<T>(), static_cast<int>(rows), static_cast<int>(columns), out.data());
    EXPECT_EQ(0, std::memcmp(out.data(), want.data(), out.size() * sizeof(T))) << rows << "x" << columns;
  }
}

TEST(ExportedCuda, GivesTheInterpretersBits) {
  ASSERT_TRUE(have("g++"));
  for (const auto& [text, schedule] : {std::pair{three_stages, Schedule::automatic},
                                       {three_stages, Schedule::stream},
                                       {three_stages, Schedule::untiled},
                                       {many_stages, Schedule::automatic}}) {
    const Program program = Program::from_text(text);
    const Folder folder;  // of its own: a library that is loaded is known by its path
    write(folder / "f.cu",
          program.emit({.target = "cuda", .name = "f", .schedule = schedule, .numbers = Numbers::exact}).source);
    ASSERT_EQ("", shell(folder, fmt::format("cd '{}' && g++ {} f.cu -o f.so", (folder / "").string(), shim_flags)));
    equals_interpreter(program, Library(folder / "f.so").function<Entry>("f"));
  }
}

// With variables that begin as anything but 0.
TEST(ExportedCuda, PutsChannelsWhereTheyBelong) {
  ASSERT_TRUE(have("g++"));
  for (const char* text : {output_channels, inner_channels}) {
    const Program program = Program::from_text(text);
    const Folder folder;
    write(folder / "f.cu", program.emit({.target = "cuda", .name = "f", .numbers = Numbers::exact}).source);
    ASSERT_EQ("", shell(folder, fmt::format("cd '{}' && g++ {} -ftrivial-auto-var-init=pattern f.cu -o f.so",
                                            (folder / "").string(), shim_flags)));
    equals_interpreter(program, Library(folder / "f.so").function<Entry>("f"));
  }
}

TEST(ExportedCuda, GivesTheInterpretersBitsTwoARegister) {
  ASSERT_TRUE(have("g++"));
  for (const char* text : {narrow_stages, narrow_sums}) {
    const Program program = Program::from_text(text);
    const std::string source = program.emit({.target = "cuda", .name = "f", .numbers = Numbers::exact}).source;
    EXPECT_NE(source.find("two in a register"), std::string::npos);
    const Folder folder;
    write(folder / "f.cu", source);
    ASSERT_EQ("", shell(folder, fmt::format("cd '{}' && g++ {} f.cu -o f.so", (folder / "").string(), shim_flags)));
    equals_interpreter(program, Library(folder / "f.so").function<EntryOf<unsigned char>>("f"));
  }
}

// The device's memory is used where it lies if its rows allow it; what a call takes it gives back, failures included.
TEST(ExportedCuda, TakesPointersOfTheDevice) {
  ASSERT_TRUE(have("g++"));
  const Folder folder;
  const Program program = Program::from_text(three_stages);
  write(folder / "f.cu", program.emit({.target = "cuda", .name = "f", .numbers = Numbers::exact}).source +
                             "\nextern \"C\" int held() { return (int)shim.blocks.size(); }\n"
                             "extern \"C\" int copies() { const int n = shim.copies; shim.copies = 0; return n; }\n"
                             "extern \"C\" void fail(int k) { shim.fail_allocation = k; }\n"
                             "extern \"C\" void* allocate(size_t n) { return shim_allocate(n); }\n");
  ASSERT_EQ("", shell(folder, fmt::format("cd '{}' && g++ {} f.cu -o f.so", (folder / "").string(), shim_flags)));
  const Library library(folder / "f.so");
  auto* on_stream = library.function<int(const float*, int, int, float*, void*)>("f_on_stream");
  auto* held = library.function<int()>("held");
  auto* copies = library.function<int()>("copies");
  auto* allocate = library.function<void*(std::size_t)>("allocate");
  {
    // The first call of exact numbers finds out how the file was compiled: two copies of its own, and no more later.
    const Array image = random_image(3, 5);
    std::vector<float> out(3 * 5);
    EXPECT_EQ(0, on_stream(image.as<float>(), 3, 5, out.data(), nullptr));
    EXPECT_EQ(0, held());
  }
  for (const auto& [columns, copied] : {std::pair<int, int>{64, 0}, {61, 2}}) {
    const Array image = random_image(40, columns), want = program.interpret({image}).at(0);
    const std::size_t bytes = static_cast<std::size_t>(40 * columns) * sizeof(float);
    auto *in = static_cast<float*>(allocate(bytes)), *out = static_cast<float*>(allocate(bytes));
    const int before = held();
    std::memcpy(in, image.data(), bytes);
    copies();
    EXPECT_EQ(0, on_stream(in, 40, columns, out, nullptr));
    EXPECT_EQ(copied, copies());
    EXPECT_EQ(before, held());
    EXPECT_EQ(0, std::memcmp(out, want.data(), bytes));
  }
  // No memory: the error comes back, the output is as it was, nothing is kept.
  const Array image = random_image(40, 61);
  std::vector<float> out(40 * 61, -1);
  const int before = held();
  for (int k = 0; k < 2; ++k) {
    library.function<void(int)>("fail")(k);
    EXPECT_EQ(2, on_stream(image.as<float>(), 40, 61, out.data(), nullptr)) << k;
    EXPECT_THAT(out, testing::Each(-1.0f));
    EXPECT_EQ(before, held());
  }
  library.function<void(int)>("fail")(-1);
  EXPECT_EQ(0, on_stream(image.as<float>(), -1, 61, out.data(), nullptr));  // nothing to compute
  EXPECT_EQ(2, on_stream(image.as<float>(), 0x7fffffff, 0x7fffffff, out.data(), nullptr));
  EXPECT_THAT(out, testing::Each(-1.0f));
  // The error is forgotten with the call that had it.
  EXPECT_EQ(0, on_stream(image.as<float>(), 40, 61, out.data(), nullptr));
  EXPECT_EQ(0, std::memcmp(out.data(), program.interpret({image}).at(0).data(), out.size() * sizeof(float)));
}

TEST(ExportedCuda, TakesDevicesWithoutPools) {
  ASSERT_TRUE(have("g++"));
  const Program program = Program::from_text(three_stages);
  for (const char* variable : {"SHIM_NO_POOLS", "SHIM_BAD_POOLS"}) {
    const Folder folder;
    const std::string source = program.emit({.target = "cuda", .name = "f", .numbers = Numbers::exact}).source;
    write(folder / "f.cu", source + "\nextern \"C\" int held() { return (int)shim.blocks.size(); }\n");
    ASSERT_EQ("", shell(folder, fmt::format("cd '{}' && g++ {} f.cu -o f.so", (folder / "").string(), shim_flags)));
    const Library library(folder / "f.so");
    setenv(variable, "1", 1);
    const int before = library.function<int()>("held")();
    equals_interpreter(program, library.function<Entry>("f"));
    EXPECT_EQ(before, library.function<int()>("held")());
    unsetenv(variable);
  }
}

// Arguments called as what the files use themselves, extents that no image varies, parameters that nothing needs.
TEST(ExportedToAnyDevice, ArgumentsMayHaveAnyName) {
  const std::string text =
      "stencil f(vector#2 float x, float NULL, float cudaSuccess) { return x@[0,1] * NULL + cudaSuccess; }\n"
      "parameter n0, tsr_s; vector#2 float stream[40,50]; float stderr; float queue;\n"
      "vector#1 float cl_mem[n0]; fprintf = f(stream:clamped, stderr, queue); return fprintf;";
  const Program program = Program::from_text(text);
  const Folder folder;
  const std::string in = fmt::format("cd '{}' && ", (folder / "").string());
  for (const char* target : {"cuda", "opencl"}) {
    const bool cuda = std::string(target) == "cuda";
    const EmittedCode code = program.emit({.target = target, .name = "f"});
    write(folder / "f.h", code.header);
    write(folder / "h.c", "#include \"f.h\"\nint main(void) { return 0; }\n");
    write(folder / (cuda ? "f.cu" : "f.c"), cuda ? code.source : code.host);
    EXPECT_EQ("",
              shell(folder, in + "gcc -Wall -Wextra -Werror -c h.c -o h.o && g++ -Wall -Werror -x c++ -c h.c -o h.o"));
    const bool compiles = cuda || no_opencl().empty();  // where there is a device, there are its headers
    const std::string line =
        cuda ? "g++ " + shim_flags + " f.cu -o f.so" : "gcc -std=c99 -Wall -Wextra -Werror -c f.c -o f.o";
    EXPECT_EQ("", compiles ? shell(folder, in + line) : "");
  }
  EXPECT_THROW((void)program.emit({.target = "cuda", .name = "norm"}), Error);
  EXPECT_THROW((void)program.emit({.target = "opencl", .name = "clFinish"}), Error);
  EXPECT_NO_THROW((void)program.emit({.target = "opencl", .name = "clahe"}));
  const std::string vectors =
      "struct float2 { float a; float b; } stencil g(vector#1 float2 x) { return x.a; }\n"
      "vector#1 float2 x[9]; return g(x);";
  EXPECT_THROW((void)Program::from_text(vectors).emit({.target = "cuda", .name = "g"}), Error);
}

template <class T>
void opencl_equals_interpreter(const char* text) {
  const Folder folder;
  const Program program = Program::from_text(text);
  const std::string kernels = (folder / "f.cl").string();
  const EmittedCode code =
      program.emit({.target = "opencl", .name = "f", .numbers = Numbers::exact, .kernels_file = kernels});
  write(folder / "f.cl", code.source);
  write(folder / "f.c", code.host);
  for (const char* compiler : {"gcc", "clang"}) {
    if (!have(compiler)) continue;
    ASSERT_EQ("",
              shell(folder, fmt::format("cd '{}' && {} -std=c99 -O1 -Wall -Wextra -Werror -fPIC -shared f.c -o f.so "
                                        "-lOpenCL",
                                        (folder / "").string(), compiler)));
  }
  equals_interpreter(program, Library(folder / "f.so").function<EntryOf<T>>("f"));
}

TEST(ExportedOpencl, GivesTheInterpretersBits) {
  if (cannot_run(no_opencl())) return;
  opencl_equals_interpreter<float>(three_stages);
  opencl_equals_interpreter<unsigned char>(narrow_sums);
}

// Kernels that read what others wrote wait for them where the queue does not see to it.
TEST(ExportedOpencl, QueuesMayBeOutOfOrder) {
  if (cannot_run(no_opencl())) return;
  const Folder folder;
  const Program program = Program::from_text(
      "stencil r(vector#2 float X) { return (X@[-1,0] + X + X@[1,0]) / 3; }\n"
      "stencil c(vector#2 float X) { return (X@[0,-1] + X + X@[0,1]) / 3; }\n"
      "parameter M, N; vector#2 float x[M,N]; return c(r(x:clamped):clamped);");
  const EmittedCode code = program.emit({.target = "opencl",
                                         .name = "smooth",
                                         .schedule = Schedule::untiled,
                                         .kernels_file = (folder / "smooth.cl").string()});
  write(folder / "smooth.cl", code.source);
  write(folder / "smooth.c", code.host);
  write(folder / "smooth.h", code.header);
  ASSERT_EQ("",
            shell(folder, fmt::format("cd '{}' && gcc -O1 -Wall -Wextra -Werror -I. smooth.c '{}' -o driver -lOpenCL",
                                      (folder / "").string(), (drivers / "out_of_order.c").string())));
  EXPECT_EQ("", shell(folder, fmt::format("'{}'", (folder / "driver").string())));
}

// The drivers of the C files, which compare with plain loops.
class ExportedDriver : public testing::TestWithParam<const char*> {
 protected:
  // Writes the header, makes the program's part with one line, links the driver with it, runs it.
  void passes(const std::string& header, const std::string& make, const std::string& libraries) {
    const std::string source = (drivers / (name_ + (plus_ ? ".cpp" : ".c"))).string();
    write(folder_ / (name_ + ".h"), header);
    ASSERT_EQ("", shell(folder_, fmt::format("cd {} && {}", in_, make)));
    ASSERT_EQ("", shell(folder_, fmt::format("cd {} && {} -O1 -w -I. -I'{}' '{}' -o driver -L. -lprogram {} -lm", in_,
                                             plus_ ? "g++" : "gcc", drivers.string(), source, libraries)));
    EXPECT_EQ("", shell(folder_, fmt::format("cd {} && LD_LIBRARY_PATH=. ./driver", in_)));
  }

  const std::string name_ = GetParam();
  const Folder folder_;
  const std::string in_ = "'" + (folder_ / "").string() + "'";
  const Program program_ = Program::from_file((drivers / (name_ + ".forma")).string());
  const bool plus_ = std::filesystem::exists(drivers / (name_ + ".cpp"));
  // The loops round products before they add them up. In `fast` numbers that is the same where no product rounds.
  const Numbers numbers_ = name_ == "color" || name_ == "odd" || name_ == "heat" ? Numbers::exact : Numbers::fast;
};

TEST_P(ExportedDriver, OfCudaEqualsPlainLoops) {
  ASSERT_TRUE(have("g++"));
  const EmittedCode code = program_.emit({.target = "cuda", .name = name_, .numbers = numbers_});
  write(folder_ / (name_ + ".cu"), code.source);
  passes(code.header, fmt::format("g++ {} {}.cu -o libprogram.so", shim_flags, name_), "");
  const std::string nvcc = "PATH=$PATH:/usr/local/cuda/bin nvcc -O1 -arch=sm_90";
  if ((plus_ || name_ == "color") && shell_status(nvcc + " --version") == 0) {  // the others differ little
    EXPECT_EQ("", shell(folder_, fmt::format("cd {} && {} -c {}.cu -o program.o", in_, nvcc, name_)));
  }
}

TEST_P(ExportedDriver, OfOpenclEqualsPlainLoops) {
  if (cannot_run(no_opencl())) return;
  const EmittedCode code = program_.emit(
      {.target = "opencl", .name = name_, .numbers = numbers_, .kernels_file = (folder_ / (name_ + ".cl")).string()});
  write(folder_ / (name_ + ".cl"), code.source);
  write(folder_ / (name_ + ".c"), code.host);
  passes(code.header, fmt::format("gcc -O1 -Wall -Wextra -Werror -fPIC -shared {}.c -o libprogram.so -lOpenCL", name_),
         "-lOpenCL");
}

INSTANTIATE_TEST_SUITE_P(Drivers, ExportedDriver,
                         testing::Values("blur", "sobel", "color", "pyramid", "odd", "warp", "heat", "contrast",
                                         "flood", "spectrum"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tessera
