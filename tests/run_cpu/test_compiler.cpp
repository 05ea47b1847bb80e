// From text to code, by both ways: the same bits, the cache, damage, failures.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <sstream>
#include <thread>

#include "environment.hpp"
#include "run/cpu/built_in.hpp"
#include "run/cpu/compiler.hpp"
#include "run/cpu/external.hpp"
#include "run/cpu/object.hpp"
#include "tessera/error.hpp"

namespace tessera::run::cpu {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// Vectors, conversions, a constant table, a writable static, library calls, a non-temporal store where there is one.
constexpr const char* sample = R"(
typedef float vf __attribute__((vector_size(64), aligned(4)));
typedef unsigned char vb __attribute__((vector_size(16), aligned(1)));
void* memcpy(void*, const void*, unsigned long);
float expf(float);
static const float weights[5] = {1.0f / 16, 4.0f / 16, 6.0f / 16, 4.0f / 16, 1.0f / 16};
static int calls = 0;
int count_calls(void) { return ++calls; }
void kernel(const unsigned char* in, float* out, long n) {
  long i = 2;
  for (; i + 16 <= n - 2; i += 16) {
    vf sum = {0};
    for (int k = -2; k <= 2; ++k) {
      vb bytes = *(const vb*)(in + i + k);
      sum += weights[k + 2] * __builtin_convertvector(bytes, vf);
    }
    *(vf*)(out + i) = sum;
  }
  for (; i < n - 2; ++i) {
    float sum = 0;
    for (int k = -2; k <= 2; ++k) sum += weights[k + 2] * (float)in[i + k];
    out[i] = sum;
  }
  memcpy(out, out + 2, 2 * sizeof(float));
  out[n - 2] = out[n - 1] = expf(0.001f * (float)in[0]);
}
)";

using Kernel = void (*)(const unsigned char*, float*, long);

std::vector<float> run_sample(const Module& module) {
  std::vector<unsigned char> in(1003);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<unsigned char>(i * i % 251);
  std::vector<float> out(in.size(), -1.0f);
  reinterpret_cast<Kernel>(module.symbol("kernel"))(in.data(), out.data(), static_cast<long>(in.size()));
  return out;
}

std::vector<std::string> compilers() {
  std::vector<std::string> names;
  if (built_in_unavailable().empty()) names.emplace_back("built-in");
  for (const char* name : {"gcc", "clang-19"})
    if (!find_program(name).empty()) names.emplace_back(name);
  return names;
}

std::string unique_source(const std::string& text) {
  static int number = 0;
  return text + "\nint unique_" + std::to_string(++number) + "(void) { return 1; }\n";
}

Error error_of(const CompileRequest& request) {
  try {
    load(request);
  } catch (const Error& e) {
    return e;
  }
  return Error(ErrorClass::internal, "no error at all");
}

// What the compiled sample must give, by the definition.
std::vector<float> expected() {
  std::vector<unsigned char> in(1003);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<unsigned char>(i * i % 251);
  std::vector<float> out(in.size(), -1.0f);
  const float w[5] = {1.0f / 16, 4.0f / 16, 6.0f / 16, 4.0f / 16, 1.0f / 16};
  for (std::size_t i = 2; i + 2 < in.size(); ++i) {
    float sum = 0;
    for (std::size_t k = 0; k < 5; ++k) sum += w[k] * static_cast<float>(in[i + k - 2]);
    out[i] = sum;
  }
  out[0] = out[2];
  out[1] = out[3];
  out[out.size() - 1] = out[out.size() - 2] = std::exp(0.001f * static_cast<float>(in[0]));
  return out;
}

TEST(BuiltIn, IsLookedForBesideAndWhereItIsInstalled) {
  if (!built_in_unavailable().empty()) GTEST_SKIP() << "no built-in compiler";
  const std::vector<std::string> fixed = built_in_paths("", "");
  ASSERT_EQ(fixed.size(), 1u) << "no path of a build tree";
  EXPECT_THAT(fixed[0], testing::EndsWith("/tessera/tessera-clang"));
  EXPECT_TRUE(fs::path(fixed[0]).is_absolute());

  const std::vector<std::string> both = built_in_paths("/opt/app/lib/libfilters.so", "/opt/app/bin/app");
  const auto place = [&](const std::string& path) { return std::find(both.begin(), both.end(), path) - both.begin(); };
  EXPECT_EQ(place("/opt/app/lib/tessera-clang"), 0);
  EXPECT_LT(place("/opt/app/lib/tessera/tessera-clang"), place("/opt/app/bin/tessera-clang"));
  EXPECT_LT(place("/opt/app/bin/tessera-clang"), place(fixed[0]));
  EXPECT_EQ(place(fixed[0]), static_cast<std::ptrdiff_t>(both.size()) - 1);
  EXPECT_EQ(built_in_paths("/opt/bin/app", "/opt/bin/app"), built_in_paths("", "/opt/bin/app")) << "each place once";
  EXPECT_EQ(built_in_paths("bin/app", "./app"), fixed) << "what is relative says nothing";
}

// Of a file that anybody might have put there nothing runs.
TEST(BuiltIn, IsAFileOfThisUserOrRootThatNobodyElseMayWrite) {
  const fs::path path = fs::path(test_cache_folder()) / "planted";
  std::ofstream(path) << "x";
  const auto why = [&](mode_t mode) {
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    const int fd = open(path.c_str(), O_RDONLY);
    const std::string reason = why_not_run(fd, 0);
    close(fd);
    return reason;
  };
  EXPECT_EQ(why(0755), "");
  EXPECT_THAT(why(0757), HasSubstr("can be written by others"));
  if (geteuid() == 0) {
    ASSERT_EQ(chown(path.c_str(), 12345, 0), 0);
    EXPECT_THAT(why(0755), HasSubstr("belongs to another user (12345)"));
    const int fd = open(path.c_str(), O_RDONLY);
    EXPECT_EQ(why_not_run(fd, 12345), "") << "whose program runs here anyhow";
    close(fd);
    ASSERT_EQ(chown(path.c_str(), 0, 12345), 0);
    EXPECT_THAT(why(0775), HasSubstr("can be written by others"))
        << "a group with other members, for all that is known";
  }
  fs::remove(path);
  const int fd = open(test_cache_folder().c_str(), O_RDONLY);
  EXPECT_THAT(why_not_run(fd, 0), HasSubstr("is no regular file"));
  close(fd);
}

// A text that takes seconds: one long block, every line of which needs the one before.
std::string long_text() {
  std::string text = "double f(double x) {\n";
  for (int k = 0; k < 150000; ++k) text += "x = x * x + __builtin_sqrt(x + " + std::to_string(k) + ");\n";
  return text + "return x; }\n";
}

// Else every test of it would be skipped.
#if defined(TESSERA_HAS_BUILT_IN)
TEST(BuiltIn, IsFoundWhereItWasBuilt) {
  EXPECT_EQ(built_in_unavailable(), "");
}

// As in a service: what is opened gets the number of standard input, which is another file in the compiler.
TEST(BuiltIn, StartsWhereStandardFilesAreClosed) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";  // begun anew, so that it is not found yet
  const auto run = [] {
    ::close(0);
    ::close(1);
    ::_exit(run_sample(*load({.source = unique_source(sample), .compiler = "built-in"})).size() == 1003 ? 0 : 1);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}
#endif

TEST(BuiltIn, EndsAtTheLimit) {
  for (const std::string& name : compilers()) {
    const Error e = error_of({.source = unique_source(long_text()), .name = "long", .compiler = name, .seconds = 0.05});
    EXPECT_EQ(e.error_class(), ErrorClass::device) << name;
    EXPECT_THAT(e.message(), HasSubstr("compiling 'long' took longer than 0.05 s")) << name;
  }
}

TEST(BuiltIn, EndsWhenItIsCancelled) {
  for (const std::string& name : compilers()) {
    std::atomic<bool> cancel{false};
    std::thread later([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(40));
      cancel = true;
    });
    const Error e =
        error_of({.source = unique_source(long_text()), .name = "long", .compiler = name, .cancel = &cancel});
    later.join();
    EXPECT_EQ(e.error_class(), ErrorClass::cancelled) << name << ": " << e.message();
  }
}

// The children of this process that run `name`.
std::vector<pid_t> children_called(const std::string& name) {
  std::vector<pid_t> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string text = entry.path().filename().string();
    if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream stat(entry.path() / "stat");
    std::string line;
    std::getline(stat, line);
    const std::size_t end = line.rfind(')');
    if (end == std::string::npos) continue;
    std::istringstream rest(line.substr(end + 1));
    char state = 0;
    pid_t parent = 0;
    rest >> state >> parent;
    if (parent == getpid() && state != 'Z' && fs::exists(entry.path() / "cmdline")) {
      std::ifstream command(entry.path() / "cmdline");
      std::string word;
      std::getline(command, word, '\0');
      if (word == name) found.push_back(std::stoi(text));
    }
  }
  return found;
}

TEST(BuiltIn, IsKeptForTheNextAndStartedAnewWhenItHasDied) {
  if (!built_in_unavailable().empty()) GTEST_SKIP() << "no built-in compiler";
  load({.source = unique_source(sample), .compiler = "built-in"});
  const std::vector<pid_t> first = children_called("tessera-clang");
  ASSERT_FALSE(first.empty());
  load({.source = unique_source(sample), .compiler = "built-in"});
  EXPECT_EQ(children_called("tessera-clang"), first);
  for (const pid_t child : first) kill(child, SIGKILL);
  EXPECT_EQ(run_sample(*load({.source = unique_source(sample), .compiler = "built-in"})), expected());
}

// What takes all memory there is an error of one compilation, after a system compiler has tried as well.
TEST(BuiltIn, DiesAlone) {
  if (!built_in_unavailable().empty()) GTEST_SKIP() << "no built-in compiler";
  for (const pid_t child : children_called("tessera-clang")) kill(child, SIGKILL);
  const std::string source = unique_source(long_text());
  std::atomic<bool> over{false};
  std::thread killer([&] {
    while (!over)
      for (const pid_t child : children_called("tessera-clang")) kill(child, SIGSEGV);
  });
  const Error forced = error_of({.source = source, .name = "long", .compiler = "built-in"});
  over = true;
  killer.join();
  EXPECT_EQ(forced.error_class(), ErrorClass::device);
  EXPECT_THAT(forced.message(), HasSubstr("the compiler was ended by signal 11"));
}

TEST(Compiler, EveryWayGivesTheSameBits) {
  ASSERT_FALSE(compilers().empty());
  for (const std::string& name : compilers()) {
    for (const bool exact : {false, true}) {
      const auto module = load({.source = sample, .name = "sample", .contracts = !exact, .compiler = name});
      EXPECT_EQ(run_sample(*module), expected()) << module->description();
    }
  }
}

TEST(Compiler, ContractsOnlyWhenItMay) {
  unsetenv("TESSERA_OPTIMIZE");  // contraction is the optimiser's
  // (1 + e)(1 - e) - 1 is 0 in two roundings and -e*e in one.
  const char* text = "float f(float a, float b, float c) { return a * b + c; }";
  const float e = 0x1p-13f;
  for (const std::string& name : compilers()) {
    const auto result = [&](bool exact) {
      const auto module = load({.source = text, .contracts = !exact, .compiler = name});
      return reinterpret_cast<float (*)(float, float, float)>(module->symbol("f"))(1 + e, 1 - e, -1.0f);
    };
    EXPECT_EQ(result(true), 0.0f) << name;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("fma")) {
      EXPECT_EQ(result(false), -e * e) << name;
    }
#endif
  }
}

TEST(Compiler, IntegersWrapAndPointersMayAlias) {
  const char* text = R"(
int grows(int a) { return a + 1 > a; }
int through(float* f, int* i) { *i = 1; *f = 2.0f; return *i; })";
  for (const std::string& name : compilers()) {
    const auto module = load({.source = text, .compiler = name});
    EXPECT_EQ(reinterpret_cast<int (*)(int)>(module->symbol("grows"))(2147483647), 0) << name;
    float cell = 0;
    EXPECT_EQ(reinterpret_cast<int (*)(float*, void*)>(module->symbol("through"))(&cell, &cell), 0x40000000) << name;
  }
}

TEST(Compiler, SharesALiveModuleAndFindsADeadOneInTheCache) {
  for (const std::string& name : compilers()) {
    const CompileRequest request{.source = unique_source(sample), .compiler = name};
    auto first = load(request);
    EXPECT_FALSE(first->from_cache()) << name;
    EXPECT_EQ(load(request), first);
    EXPECT_EQ(reinterpret_cast<int (*)()>(first->symbol("count_calls"))(), 1);
    first.reset();
    const auto second = load(request);
    EXPECT_TRUE(second->from_cache()) << name;
    EXPECT_THAT(second->description(), HasSubstr("from cache"));
    EXPECT_EQ(reinterpret_cast<int (*)()>(second->symbol("count_calls"))(), 1) << "statics start anew";
    EXPECT_EQ(run_sample(*second), expected());
  }
}

TEST(Compiler, LoadsFromTheCacheInMilliseconds) {
  if (!built_in_unavailable().empty()) GTEST_SKIP() << "no built-in compiler";
  const CompileRequest request{.source = unique_source(sample), .compiler = "built-in"};
  load(request).reset();
  double best = 1e9;
  for (int i = 0; i < 20; ++i) {
    const auto module = load(request);
    ASSERT_TRUE(module->from_cache());
    best = std::min(best, module->milliseconds());
  }
  EXPECT_LT(best, 3.0);
}

TEST(Compiler, CompilesAgainWhenTheCacheIsDamaged) {
  for (const std::string& name : compilers()) {
    for (const bool truncate : {false, true}) {
      const CompileRequest request{.source = unique_source(sample), .compiler = name};
      load(request).reset();
      int damaged = 0;
      for (const auto& file : fs::recursive_directory_iterator(test_cache_folder())) {
        if (!file.is_regular_file() || file.path().extension() != ".blob") continue;
        ++damaged;
        if (truncate) {
          fs::resize_file(file.path(), fs::file_size(file.path()) / 2);
        } else {
          std::fstream bytes(file.path(), std::ios::binary | std::ios::in | std::ios::out);
          bytes.seekp(64);
          bytes.write("damage", 6);
        }
      }
      ASSERT_GT(damaged, 0);
      const auto again = load(request);
      EXPECT_FALSE(again->from_cache()) << name;
      EXPECT_EQ(run_sample(*again), expected());
    }
  }
}

// Text that reads tables which are given beside it.
constexpr const char* reader = R"(
extern const float numbers[];
extern const unsigned short more[];
float number(long k) { return numbers[k] + more[k]; }
const float* where(void) { return numbers; }
)";

base::ConstantTable table_of(const std::string& name, std::string bytes) {
  const auto owner = std::make_shared<const std::string>(std::move(bytes));
  return {name, std::as_bytes(std::span(*owner)), owner};
}

template <class T>
base::ConstantTable table_of(const std::string& name, const std::vector<T>& values) {
  return table_of(name, std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)));
}

CompileRequest reader_of(const std::string& source, const std::string& compiler, float first) {
  std::vector<std::uint16_t> more(70001, 7);
  more.back() = 9;
  return {.source = source,
          .compiler = compiler,
          .tables = {table_of("numbers", std::vector<float>{first, first + 1, first + 2}), table_of("more", more)}};
}

float number_of(const Module& module, long k) {
  return reinterpret_cast<float (*)(long)>(module.symbol("number"))(k);
}

TEST(Compiler, LinksTextToTablesBesideIt) {
  for (const std::string& name : compilers()) {
    const std::string source = unique_source(reader);
    CompileRequest request = reader_of(source, name, 1);
    const auto first = load(request);
    EXPECT_FALSE(first->from_cache()) << name;
    const auto other = load(reader_of(source, name, 100)), same = load(reader_of(source, name, 1));
    EXPECT_EQ(other->from_cache(), name == "built-in") << "nothing is compiled for other bytes";
    EXPECT_EQ(same, first);
    EXPECT_NE(other, first);
    EXPECT_EQ(number_of(*first, 2), 10) << name;
    EXPECT_EQ(number_of(*other, 2), 109) << name;
    EXPECT_EQ(number_of(*first, 0), 8) << name << ": it still has its own";
    const auto place = reinterpret_cast<const float* (*)()>(first->symbol("where"))();
    EXPECT_EQ(place[0], 1);
    EXPECT_EQ(place == static_cast<const void*>(request.tables[0].bytes.data()), name == "built-in");
  }
}

TEST(Compiler, TablesLiveAsLongAsTheModule) {
  for (const std::string& name : compilers()) {
    CompileRequest request = reader_of(unique_source(reader), name, 5);
    const std::weak_ptr<const void> owner = request.tables[0].owner;
    auto module = load(request);
    request.tables.clear();
    EXPECT_EQ(number_of(*module, 1), 13) << name;
    module.reset();
    EXPECT_TRUE(owner.expired()) << name;
  }
}

TEST(Compiler, ThreadsWithTablesOfTheirOwn) {
  for (const std::string& name : compilers()) {
    const std::string source = unique_source(reader);
    std::vector<std::shared_ptr<Module>> got(6);
    std::vector<std::thread> threads;
    for (std::size_t k = 0; k < got.size(); ++k)
      threads.emplace_back([&, k] { got[k] = load(reader_of(source, name, static_cast<float>(k / 2 * 10))); });
    for (std::thread& t : threads) t.join();
    for (std::size_t k = 0; k < got.size(); ++k) {
      EXPECT_EQ(number_of(*got[k], 0), static_cast<float>(k / 2 * 10 + 7)) << name;
      EXPECT_EQ(got[k], got[k / 2 * 2]);
    }
  }
}

TEST(Compiler, TablesThatAreNotGivenAreNamed) {
  if (!built_in_unavailable().empty()) GTEST_SKIP() << "no built-in compiler";
  CompileRequest request = reader_of(unique_source(reader), "built-in", 5);
  request.tables.pop_back();
  EXPECT_THAT(error_of(request).message(), HasSubstr("'more' is not known"));
}

// Where the assembler has to be told of a path with its own signs in it.
TEST(Compiler, TablesInFoldersWithAnyName) {
  const fs::path folder = fs::path(test_cache_folder()) / "a \"b\" \\n";
  fs::create_directories(folder);
  const char* old = std::getenv("TMPDIR");
  const std::string before = old == nullptr ? "" : old;
  setenv("TMPDIR", folder.c_str(), 1);
  for (const std::string& name : compilers())
    EXPECT_EQ(number_of(*load(reader_of(unique_source(reader), name, 3)), 2), 12) << name;
  old == nullptr ? unsetenv("TMPDIR") : setenv("TMPDIR", before.c_str(), 1);
}

TEST(Compiler, ThreadsThatAskForOneTextGetOneModule) {
  const CompileRequest request{.source = unique_source(sample)};
  std::vector<std::shared_ptr<Module>> got(6);
  std::vector<std::thread> threads;
  for (auto& slot : got) threads.emplace_back([&] { slot = load(request); });
  for (std::thread& t : threads) t.join();
  for (const auto& module : got) EXPECT_EQ(module, got[0]);
}

TEST(Compiler, ReportsTextThatDoesNotCompileAndKeepsIt) {
  for (const std::string& name : compilers()) {
    const Error e =
        error_of({.source = "int f(void) { return undeclared_thing; }", .name = "broken", .compiler = name});
    EXPECT_EQ(e.error_class(), name == "built-in" ? ErrorClass::internal : ErrorClass::device);
    EXPECT_THAT(e.what(), HasSubstr("undeclared_thing"));
    const std::string text = e.what();
    const std::size_t begin = text.find("the text is in '");
    ASSERT_NE(begin, std::string::npos) << text;
    const std::size_t end = text.find('\'', begin + 16);
    std::ifstream saved(text.substr(begin + 16, end - begin - 16));
    std::stringstream content;
    content << saved.rdbuf();
    EXPECT_EQ(content.str(), "int f(void) { return undeclared_thing; }");
  }
}

TEST(Compiler, ReportsCallsThatNothingProvides) {
  if (!built_in_unavailable().empty()) GTEST_SKIP() << "no built-in compiler";
  const Error e =
      error_of({.source = "void nobody_has_this(void); void f(void) { nobody_has_this(); }", .compiler = "built-in"});
  EXPECT_EQ(e.error_class(), ErrorClass::internal);
  EXPECT_THAT(e.message(), HasSubstr("'nobody_has_this' is not known"));
}

TEST(Compiler, ReportsUnknownAndUselessCompilers) {
  const Error unknown = error_of({.source = unique_source(""), .compiler = "no-such-compiler-here"});
  EXPECT_EQ(unknown.error_class(), ErrorClass::device);
  EXPECT_THAT(unknown.message(), HasSubstr("'no-such-compiler-here'"));
  const Error empty = error_of({.source = unique_source(""), .compiler = "   "});
  EXPECT_EQ(empty.error_class(), ErrorClass::device);
  const Error failing = error_of({.source = unique_source(""), .compiler = "false"});
  EXPECT_EQ(failing.error_class(), ErrorClass::device);
  EXPECT_THAT(failing.message(), HasSubstr("failed with status 1"));
  const Error silent = error_of({.source = unique_source(""), .compiler = "true"});
  EXPECT_EQ(silent.error_class(), ErrorClass::device);
  EXPECT_THAT(silent.message(), HasSubstr("wrote no object file"));
}

TEST(Compiler, NamesSymbolsThatAreMissing) {
  const auto module = load({.source = "int present(void) { return 1; }", .name = "small"});
  try {
    module->symbol("absent");
    FAIL() << "found a symbol that is not there";
  } catch (const Error& e) {
    EXPECT_EQ(e.error_class(), ErrorClass::internal);
    EXPECT_THAT(e.message(), HasSubstr("'absent'"));
  }
}

TEST(Compiler, TheTextSeesNoFile) {
  if (!built_in_unavailable().empty()) GTEST_SKIP() << "no built-in compiler";
  EXPECT_THAT(error_of({.source = "#include <stdio.h>\n", .compiler = "built-in"}).what(), HasSubstr("stdio.h"));
  EXPECT_THAT(error_of({.source = "#include \"/etc/passwd\"\n", .compiler = "built-in"}).what(),
              HasSubstr("file not found"));
}

TEST(Compiler, DeepExpressionsDoNotExhaustTheStack) {
  if (!built_in_unavailable().empty()) GTEST_SKIP() << "no built-in compiler";
  std::string expression = "x";
  for (int i = 0; i < 3000; ++i) expression = "(" + expression + "+1)";
  const auto module = load({.source = "int f(int x) { return " + expression + "; }", .compiler = "built-in"});
  EXPECT_EQ(reinterpret_cast<int (*)(int)>(module->symbol("f"))(5), 3005);
}

TEST(Process, IsEndedAtItsDeadline) {
  const auto start = std::chrono::steady_clock::now();
  const ProcessResult r = run_process({"sleep", "30"}, 0.2);
  EXPECT_TRUE(r.timed_out);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  EXPECT_THROW(run_process({"no-such-program-here"}, 1), Error);
}

TEST(Object, RefusesDamage) {
  if (!built_in_unavailable().empty() || !LinkedObject::supported()) GTEST_SKIP() << "no built-in compiler";
  const BuiltInResult made =
      compile_built_in({.source = sample, .file_name = "sample.c", .options = built_in_options(false, false)});
  ASSERT_EQ(made.outcome, BuiltInResult::Outcome::done) << made.messages;
  EXPECT_NE(LinkedObject(made.object, process_symbol).symbol("kernel"), nullptr);
  EXPECT_THROW(LinkedObject("", process_symbol), Error);
  EXPECT_THROW(
      LinkedObject("garbage that is no object at all, though longer than a header is, certainly", process_symbol),
      Error);
  // Whatever byte is hurt, linking ends with an object or an Error; it never reads or writes out of bounds.
  int refused = 0;
  std::uint32_t random = 12345;
  for (int i = 0; i < 3000; ++i) {
    std::string hurt = made.object;
    for (int k = 0; k < 3; ++k) {
      random = random * 1664525u + 1013904223u;
      hurt[(random >> 8) % hurt.size()] = static_cast<char>(random >> 3);
    }
    if (i % 3 == 0) hurt.resize((random >> 5) % hurt.size());
    try {
      LinkedObject object(hurt, process_symbol);
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace tessera::run::cpu
