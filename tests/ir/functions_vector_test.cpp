// The printed text, compiled by the compilers of this machine as scalar and vector C, gives the interpreter's bits.
#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>

#include "ir/functions/functions.hpp"

namespace tessera::ir {
namespace {

const std::vector<Op>& functions() {
  static const std::vector<Op> all = [] {
    std::vector<Op> v;
    for (int i = 0; i <= static_cast<int>(Op::reduce_all); ++i)
      if (is_function(static_cast<Op>(i))) v.push_back(static_cast<Op>(i));
    return v;
  }();
  return all;
}

// One loop per function: void run_exp_f32x8(const float* a, const float* b, float* out, long n).
std::string driver(Op op, ElementType t, int lanes) {
  const char* element = t == ElementType::f32 ? "float" : "double";
  const std::string name = function_name(op, t, lanes), call = arity_of(op) == 2 ? "(x, y)" : "(x)";
  const std::string vector =
      lanes == 1 ? std::string(element)
                 : fmt::format("{} __attribute__((vector_size({})))", element, lanes * (t == ElementType::f32 ? 4 : 8));
  return fmt::format(
      "typedef {0} value_{1};\n"
      "void run_{1}(const {2}* a, const {2}* b, {2}* out, long n) {{\n"
      "  for (long i = 0; i < n; i += {3}) {{\n    value_{1} x, y, r;\n"
      "    __builtin_memcpy(&x, a + i, sizeof x);\n    __builtin_memcpy(&y, b + i, sizeof y);\n    (void)y;\n"
      "    r = {1}{4};\n    __builtin_memcpy(out + i, &r, sizeof r);\n  }}\n}}\n",
      vector, name, element, lanes, call);
}

class Compiled {
 public:
  Compiled(const std::string& compiler, const std::string& flags, const std::string& source) {
    const auto base =
        std::filesystem::temp_directory_path() / fmt::format("tessera-functions-{}-{}", getpid(), counter_++);
    const std::string c = base.string() + ".c", so = base.string() + ".so";
    std::ofstream(c) << source;
    const std::string command = fmt::format("{} {} -w -Wno-psabi -shared -fPIC -o '{}' '{}'", compiler, flags, so, c);
    built_ = std::system(command.c_str()) == 0;
    if (built_) handle_ = dlopen(so.c_str(), RTLD_NOW | RTLD_LOCAL);
    std::filesystem::remove(c);
    std::filesystem::remove(so);
  }
  ~Compiled() {
    if (handle_) dlclose(handle_);
  }
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;

  bool ok() const { return built_ && handle_; }
  template <class T>
  auto run(const std::string& name) const {
    return reinterpret_cast<void (*)(const T*, const T*, T*, long)>(dlsym(handle_, ("run_" + name).c_str()));
  }

 private:
  static inline int counter_ = 0;
  bool built_ = false;
  void* handle_ = nullptr;
};

template <class T>
std::vector<T> operands(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> v;
  const T special[] = {0,
                       T(-0.0),
                       1,
                       -1,
                       T(0.5),
                       2,
                       -3,
                       1000,
                       INFINITY,
                       -INFINITY,
                       NAN,
                       std::numeric_limits<T>::denorm_min(),
                       std::numeric_limits<T>::max(),
                       std::numeric_limits<T>::min()};
  for (int i = 0; i < 4096; ++i) {
    const std::uint64_t r = random();
    if (i % 8 == 0)
      v.push_back(special[r % std::size(special)]);
    else if (i % 8 == 1 && sizeof(T) == 4)
      v.push_back(static_cast<T>(std::bit_cast<float>(static_cast<std::uint32_t>(r))));
    else if (i % 8 == 1)
      v.push_back(static_cast<T>(std::bit_cast<double>(r)));
    else
      v.push_back(static_cast<T>(std::ldexp(static_cast<double>(r >> 11) * 0x1p-53 - 0.5, i % 16)));
  }
  return v;
}

template <class T>
void expect_bits(const Compiled& library, ElementType type, int lanes, const std::string& how) {
  const std::vector<T> a = operands<T>(1), b = operands<T>(2);
  for (Op op : functions()) {
    const auto run = library.run<T>(function_name(op, type, lanes));
    ASSERT_NE(run, nullptr) << function_name(op, type, lanes);
    std::vector<T> out(a.size());
    run(a.data(), b.data(), out.data(), static_cast<long>(a.size()));
    for (std::size_t i = 0; i < a.size(); ++i) {
      const T want = call_function(op, a[i], b[i]);
      const bool same = (std::isnan(want) && std::isnan(out[i])) || std::memcmp(&want, &out[i], sizeof(T)) == 0;
      EXPECT_TRUE(same) << how << ": " << function_name(op, type, lanes)
                        << fmt::format("({}, {}) gives {}, the interpreter {}", a[i], b[i], out[i], want);
      if (!same) break;
    }
  }
}

void check_compiler(const std::string& compiler) {
  if (std::system((compiler + " --version > /dev/null 2>&1").c_str()) != 0) GTEST_SKIP() << "no " << compiler;
  std::vector<FunctionUse> uses;
  std::string drivers;
  const std::pair<ElementType, int> shapes[] = {
      {ElementType::f32, 1}, {ElementType::f32, 8}, {ElementType::f64, 1}, {ElementType::f64, 4}};
  for (const auto& [type, lanes] : shapes)
    for (Op op : functions()) {
      uses.push_back({op, type, lanes});
      drivers += driver(op, type, lanes);
    }
  const std::string source = functions_source(FunctionDialect::c, uses) + drivers;
  std::vector<std::string> all_flags{"-O1 -march=native -ffp-contract=off"};
  if (std::getenv("TESSERA_LONG_TESTS"))
    all_flags.insert(all_flags.end(), {"-O2 -ffp-contract=off", "-O3 -march=native -ffp-contract=off"});
  for (const std::string& flags : all_flags) {
    const Compiled library(compiler, flags, source);
    ASSERT_TRUE(library.ok()) << compiler << " does not compile the text";
    for (const auto& [type, lanes] : shapes) {
      if (type == ElementType::f32)
        expect_bits<float>(library, type, lanes, compiler + " " + flags);
      else
        expect_bits<double>(library, type, lanes, compiler + " " + flags);
    }
  }
}

TEST(FunctionsText, GccVectorsHaveTheInterpretersBits) {
  check_compiler("gcc");
}
TEST(FunctionsText, ClangVectorsHaveTheInterpretersBits) {
  check_compiler("clang-19");
}

TEST(FunctionsText, SectionsComeWithTheirCalleesFirst) {
  const auto sections = sections_for(Op::sin, ElementType::f32);
  std::vector<std::string_view> names;
  for (const auto& s : sections) names.push_back(s.name);
  EXPECT_EQ(names, (std::vector<std::string_view>{"abs", "circle", "circle_sin", "circle_cos", "circle_turn", "sin"}));
  for (std::size_t i = 0; i < sections.size(); ++i)
    for (std::string_view need : sections[i].needs)
      EXPECT_NE(std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), need),
                names.begin() + static_cast<std::ptrdiff_t>(i))
          << need;
}

TEST(FunctionsText, EveryFunctionHasASectionInBothTypes) {
  for (Op op : functions())
    for (ElementType t : {ElementType::f32, ElementType::f64}) {
      const auto sections = sections_for(op, t);
      ASSERT_FALSE(sections.empty()) << name_of(op);
      EXPECT_EQ(sections.back().name, name_of(op));
      EXPECT_NE(sections.back().text.find("NAME(" + std::string(name_of(op)) + ")"), std::string_view::npos);
    }
}

TEST(FunctionsText, PrintsOnlyWhatIsNeededForEveryDialect) {
  for (FunctionDialect d : {FunctionDialect::c, FunctionDialect::cuda, FunctionDialect::opencl}) {
    const std::string text = functions_source(d, {{Op::exp, ElementType::f32}});
    EXPECT_NE(text.find("NAME(exp)"), std::string::npos);
    EXPECT_EQ(text.find("NAME(sin)"), std::string::npos);
    EXPECT_EQ(text.find("#include"), std::string::npos);
  }
  EXPECT_THROW(functions_source(FunctionDialect::cuda, {{Op::exp, ElementType::f32, 4}}), Error);
  EXPECT_THROW(sections_for(Op::add, ElementType::f32), Error);
}

}  // namespace
}  // namespace tessera::ir
