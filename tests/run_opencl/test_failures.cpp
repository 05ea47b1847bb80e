// What is said when something is missing, wrong, too large or broken; the cache; the pool.
#include <filesystem>

#include "base/text.hpp"
#include "environment.hpp"
#include "fixture.hpp"
#include "run/gpu/errors.hpp"
#include "run/opencl/detail.hpp"
#include "run/opencl/memory.hpp"
#include "run/opencl/queue.hpp"

namespace tessera::run::opencl {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(Library, that_is_not_there_is_named) {
  const std::string text = run_child("find", "TESSERA_OPENCL=/nonexistent");
  EXPECT_THAT(text, AllOf(HasSubstr("0 devices; missing: the OpenCL library is not available"),
                          HasSubstr("note: tried /nonexistent"), HasSubstr("(from $TESSERA_OPENCL)"),
                          HasSubstr("no OpenCL device: the OpenCL library is not available")));
}

TEST(Library, without_the_functions_is_named) {
  const std::string text = run_child("find", "TESSERA_OPENCL=libm.so.6");
  EXPECT_THAT(text, HasSubstr("'libm.so.6' lacks the function clGetPlatformIDs"));
}

TEST_F(OnDevice, has_a_number) {
  const auto count = static_cast<int>(find().devices.size());
  for (const int index : {-1, count}) {
    const Error e = error_of([&] { open(index); });
    EXPECT_EQ(e.error_class(), ErrorClass::device);
    EXPECT_THAT(e.message(), AllOf(HasSubstr("no OpenCL device " + std::to_string(index)),
                                   HasSubstr(std::to_string(count) + " device")));
    EXPECT_THAT(e.what(), HasSubstr("device 0 is"));
  }
}

TEST_F(OnDevice, quotes_the_line_that_does_not_compile) {
  const std::string source = prelude + "__kernel void broken(__global u8* p0) {\n  p0[0] = not_there;\n}\n";
  const Error e = error_of([&] { device->load(source, gpu::Arithmetic::exact); });
  EXPECT_EQ(e.error_class(), ErrorClass::device);
  EXPECT_THAT(e.message(),
              AllOf(HasSubstr("does not compile for OpenCL device " + std::to_string(test_device()) + " ("),
                    HasSubstr("at line 5"), HasSubstr("not_there")));
  const std::string text = e.what();
  EXPECT_THAT(text, HasSubstr("line 5 is 'p0[0] = not_there;'"));
  const std::size_t at = text.find("the text is in '");
  ASSERT_NE(at, std::string::npos) << text;
  const std::string path = text.substr(at + 16, text.find('\'', at + 16) - at - 16);
  EXPECT_EQ(std::filesystem::file_size(path), source.size());
  EXPECT_EQ(error_of([&] { device->load(source, gpu::Arithmetic::exact); }).message(),
            e.message());  // nothing broken was kept
}

TEST(Log, gives_the_first_error) {
  const auto expect = [](const char* log, int line, const char* message) {
    const LogError e = first_error(log);
    EXPECT_EQ(e.line, line) << log;
    EXPECT_EQ(e.message, message) << log;
  };
  expect("<kernel>:3:14: error: use of undeclared identifier 'x'\n  y = x;\n", 3, "use of undeclared identifier 'x'");
  expect("input 7/CompileSource:12:1: warning: odd\ninput:12:2: error: bad\n", 12, "bad");
  expect("1:8:5: error: expected ';'\n", 8, "expected ';'");
  expect("error: tempfile.cl:4:9: unknown type\n", 4, "unknown type");
  expect("\"x.cl\", line 5: error: identifier\n", 5, "identifier");
  expect("ptxas fatal : out of registers\n", 0, "ptxas fatal : out of registers");
  expect("", 0, "");
}

TEST_F(OnDevice, names_a_kernel_that_is_missing) {
  const auto module = device->load(add_source, gpu::Arithmetic::exact);
  const Error e = error_of([&] { module->usage("subtract", 64, 0); });
  EXPECT_EQ(e.error_class(), ErrorClass::internal);
  EXPECT_THAT(e.what(), AllOf(HasSubstr("no kernel 'subtract'"), HasSubstr("it has 'add'")));
  const std::vector<std::shared_ptr<gpu::Memory>> none;
  EXPECT_THAT(error_of([&] { queue->launch(*module, {"subtract"}, none, {}); }).what(),
              HasSubstr("no kernel 'subtract'"));
  EXPECT_THAT(error_of([&] { queue->launch(*module, {"add"}, none, std::vector<i64>{1, 2, 3}); }).what(),
              HasSubstr("given 1 arguments"));
  const auto block = device->allocate(64);
  const std::vector<i64> integers = {0, 0, 0};
  const int too_many = device->limits().threads_per_block + 1;
  EXPECT_THAT(error_of([&] {
                queue->launch(*module, {"add", {1, 1, 1}, {too_many, 1, 1}}, std::vector{block, block, block},
                              integers);
              }).what(),
              AllOf(HasSubstr("cannot start the kernel 'add'"), HasSubstr("CL_INVALID_WORK_")));
  EXPECT_THAT(error_of([&] {
                queue->launch(*module, {"add", {1, 1, 1}, {0, 1, 1}}, std::vector{block, block, block}, integers);
              }).what(),
              HasSubstr("groups of 0 x 1 x 1"));
  queue->launch(*module, {"add", {0, 1, 1}}, std::vector{block, block, block}, integers);  // nothing to do
  queue->launch(*module, {"add"}, std::vector{block, block, block}, integers);             // goes on working
  queue->wait();
}

TEST_F(OnDevice, compiles_once_for_all_processes) {
  EXPECT_THAT(run_child("load", ""), HasSubstr("compiled 1, from cache 0"));
  EXPECT_THAT(run_child("load", ""), HasSubstr("compiled 0, from cache 1"));
  EXPECT_THAT(run_child("load", "TESSERA_CACHE="), HasSubstr("compiled 1, from cache 0"));
}

// What comes out of the cache runs as what went in.
TEST_F(OnDevice, runs_a_program_of_the_cache) {
  const std::string source = add_source + "// loaded twice\n";
  const auto run = [&] {
    const auto module = device->load(source, gpu::Arithmetic::exact);
    const auto a = block_of(std::vector<float>{1, 2, 3, 4}), b = block_of(std::vector<float>{10, 20, 30, 40});
    const auto c = device->allocate(16);
    queue->launch(*module, {"add", {1, 1, 1}, {4, 1, 1}, 0}, std::vector{a, b, c}, std::vector<i64>{4, 0, 0});
    return values_of<float>(*c);
  };
  const i64 compiled = counters().compiled, cached = counters().from_cache;
  EXPECT_EQ(run(), (std::vector<float>{11, 22, 33, 44}));
  EXPECT_EQ(run(), (std::vector<float>{11, 22, 33, 44}));
  EXPECT_EQ(counters().compiled, compiled + 1);
  EXPECT_EQ(counters().from_cache, cached + 1);
}

TEST_F(OnDevice, says_what_memory_it_has) {
  const i64 all = device->limits().memory_bytes;
  const Error e = error_of([&] { device->allocate(all + 1); });
  EXPECT_EQ(e.error_class(), ErrorClass::device);
  EXPECT_THAT(e.message(), HasSubstr("(" + base::format_count(all + 1) + " bytes) asked for"));
  EXPECT_THAT(e.what(), HasSubstr("at most on this device"));
  EXPECT_THROW(device->allocate(all + 1), gpu::OutOfMemory);
  EXPECT_NE(device->allocate(1000), nullptr);
}

// Until the sum is above what the device has; nothing is touched, so a processor gives only addresses.
TEST_F(OnDevice, counts_what_is_in_use) {
  const i64 part = device->limits().memory_bytes / 8;
  std::vector<std::shared_ptr<gpu::Memory>> blocks;
  const Error e = error_of([&] {
    for (int i = 0; i < 9; ++i) blocks.push_back(device->allocate(part));
  });
  EXPECT_THAT(e.what(), AllOf(HasSubstr("is out of memory"), HasSubstr("are in use here")));
  blocks.clear();
  EXPECT_NE(device->allocate(part), nullptr);
}

TEST(Pool, rounds_sizes_up_by_an_eighth_at_most) {
  constexpr i64 largest = i64{1} << 40;
  EXPECT_EQ(capacity_for(0, largest), 256);
  EXPECT_EQ(capacity_for(256, largest), 256);
  EXPECT_EQ(capacity_for(257, largest), 512);
  EXPECT_EQ(capacity_for((1 << 20) + 1, largest), (1 << 20) + (1 << 17));
  EXPECT_EQ(capacity_for(largest, largest), largest);
  EXPECT_EQ(capacity_for(largest - 1, largest), largest - 1);
  for (i64 n = 4096; n < (1 << 22); n = n * 5 / 4 + 1) {
    EXPECT_GE(capacity_for(n, largest), n);
    EXPECT_LE(capacity_for(n, largest), n + n / 8 + 256);
  }
}

TEST_F(OnDevice, keeps_blocks_for_the_next) {
  const auto core = std::make_shared<Core>(listing().devices[static_cast<std::size_t>(test_device())]);
  const auto pool = std::make_shared<Pool>(core);
  auto a = pool->take(1000), b = pool->take(5000);
  const cl::Mem first = a->mem();
  EXPECT_EQ(a->bytes(), 1000);
  EXPECT_EQ(pool->used_bytes(), 1024 + 5120);
  a.reset();
  EXPECT_EQ(pool->unused_bytes(), 1024);
  a = pool->take(900);  // the same class
  EXPECT_EQ(a->mem(), first);
  EXPECT_EQ(a->bytes(), 900);
  EXPECT_EQ(pool->unused_bytes(), 0);
  std::vector<std::shared_ptr<Buffer>> many;
  for (int i = 0; i < 400; ++i) many.push_back(pool->take(100));
  many.clear();
  EXPECT_LE(pool->unused_bytes(), 256 * 256);
}

TEST_F(OnDevice, stays_closed_after_a_failure) {
  const auto core = std::make_shared<Core>(
      listing().devices[static_cast<std::size_t>(test_device())]);  // not the one that other tests share
  const auto pool = std::make_shared<Pool>(core);
  CommandQueue own(core, pool);
  const auto block = pool->take(64);
  EXPECT_THAT(error_of([&] { core->lost(cl::out_of_resources, "start the kernel 'k'"); }).what(),
              AllOf(HasSubstr("failed: it could not start the kernel 'k'"), HasSubstr("CL_OUT_OF_RESOURCES")));
  for (const auto& e :
       {error_of([&] { pool->take(64); }), error_of([&] { own.wait(); }), error_of([&] { own.fill(*block, 0, 64, 1); }),
        error_of([&] { Programs(core).load(add_source, gpu::Arithmetic::exact); })})
    EXPECT_THAT(e.message(), AllOf(HasSubstr("is closed after a failure"), HasSubstr("start the kernel 'k'")));
}

}  // namespace
}  // namespace tessera::run::opencl
