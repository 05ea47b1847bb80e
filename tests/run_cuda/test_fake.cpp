// The device's whole life against a driver that does its work as late as it may: copies, launches, memory that is given
// back early, the cache, marks, and every kind of failure.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <numeric>
#include <thread>

#include "child.hpp"
#include "run/cuda/cuda.hpp"
#include "run/gpu/errors.hpp"
#include "tessera/error.hpp"

namespace tessera::run::cuda {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr i64 megabyte = i64{1} << 20;

std::byte* bytes_of(std::vector<float>& v) {
  return reinterpret_cast<std::byte*>(v.data());
}
gpu::Rows flat(i64 bytes) {
  return {.rows = 1, .row_bytes = bytes};
}
const i64 one_integer[1] = {0};

// Host memory of handed-over copies must stay: whoever leaves by an exception waits first.
struct Waits {
  gpu::Queue& queue;
  ~Waits() {
    try {
      queue.wait();
    } catch (const Error&) {  // the device is closed: nothing runs
    }
  }
};

// a + b by way of the device, all blocks dropped as soon as they are handed over.
void add(gpu::Device& device, gpu::Queue& queue, gpu::Module& module, float start) {
  const i64 n = 1000, bytes = n * 4;
  std::vector<float> a(n), b(n), c(n);
  const Waits waits{queue};
  std::iota(a.begin(), a.end(), start);
  std::iota(b.begin(), b.end(), 2 * start);
  auto p = device.allocate(bytes), q = device.allocate(bytes), r = device.allocate(bytes);
  queue.upload(*p, 0, bytes_of(a), flat(bytes));
  queue.upload(*q, 0, bytes_of(b), flat(bytes));
  queue.launch(module, {.kernel = "add", .grid = {8, 1, 1}, .block = {128, 1, 1}}, std::vector{p, q, r},
               std::vector{n});
  p.reset(), q.reset();
  queue.download(bytes_of(c), *r, 0, flat(bytes));
  r.reset();
  queue.wait();
  for (i64 i = 0; i < n; ++i) ASSERT_EQ(c[i], a[i] + b[i]) << i;
}

TEST(Fake, add) {
  for (const char* driver : {FAKE_DRIVER, FAKE_DRIVER_WITHOUT_POOLS})
    in_fake({{"TESSERA_CUDA_DRIVER", driver}}, [] {
      auto device = open(0);
      auto module = device->load(sample, gpu::Arithmetic::fast);
      auto queue = device->queue();
      add(*device, *queue, *module, 1);
      add(*device, *queue, *module, 2);
      EXPECT_EQ(misuses(), 0);
    });
}

TEST(Fake, threads_and_contexts) {
  in_fake([] {
    auto device = open(0);
    auto module = device->load(sample, gpu::Arithmetic::exact);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        auto queue = device->queue();
        for (int i = 0; i < 20; ++i) add(*device, *queue, *module, static_cast<float>(t + i));
      });
    for (auto& t : threads) t.join();
    EXPECT_EQ(misuses(), 0);
    // The context of the caller's thread is what it was: none.
    void* context = &context;
    reinterpret_cast<int (*)(void**)>(fake_symbol("TESSERA_CUDA_DRIVER", "cuCtxGetCurrent"))(&context);
    EXPECT_EQ(context, nullptr);
  });
}

TEST(Fake, a_child_of_a_fork) {
  in_fake([] {
    auto device = open(0);
    auto module = device->load(sample, gpu::Arithmetic::fast);
    auto queue = device->queue();
    add(*device, *queue, *module, 1);
    const auto block = device->allocate(megabyte);
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(30);
      const auto refused = [](const std::function<void()>& body) {
        return device_error(body).find("was opened before this process was forked") != std::string::npos;
      };
      const int before = misuses();
      const bool good = refused([&] { device->queue(); }) && refused([&] { device->allocate(megabyte); }) &&
                        refused([&] { device->load(sample, gpu::Arithmetic::exact); }) &&
                        refused([&] { queue->fill(*block, 0, 100, 7); }) && refused([&] { queue->wait(); });
      queue.reset();
      module.reset();
      ::_exit(good && misuses() == before ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    add(*device, *queue, *module, 2);
    EXPECT_EQ(misuses(), 0);
  });
}

TEST(Fake, memory_is_let_go_behind_its_work) {
  in_fake({{"FAKE_CUDA_MEMORY", std::to_string(64 * megabyte)}}, [] {
    auto device = open(0);
    auto module = device->load(sample, gpu::Arithmetic::fast);
    auto queue = device->queue();
    for (int i = 0; i < 1000; ++i) {  // a hundred times what the device has, and nobody waits
      auto block = device->allocate(8 * megabyte);
      queue->fill(*block, 0, 8 * megabyte, 7);
    }
    queue->wait();
    EXPECT_EQ(misuses(), 0);
    // Blocks that have an owner cost no event.
    const int before = count("cuEventRecord");
    auto block = device->allocate(megabyte);
    for (int i = 0; i < 100; ++i) queue->fill(*block, 0, 100, 7);
    EXPECT_EQ(count("cuEventRecord"), before);
  });
}

TEST(Fake, memory_of_other_queues_is_collected) {
  for (const char* driver : {FAKE_DRIVER, FAKE_DRIVER_WITHOUT_POOLS})
    in_fake({{"FAKE_CUDA_MEMORY", std::to_string(64 * megabyte)}, {"TESSERA_CUDA_DRIVER", driver}}, [] {
      auto device = open(0);
      auto first = device->queue(), second = device->queue();
      {
        auto block = device->allocate(50 * megabyte);
        first->fill(*block, 0, megabyte, 1);
      }
      auto block = device->allocate(40 * megabyte);  // another size: the pool must give back, too
      second->fill(*block, 0, megabyte, 1);
      second->wait();
      EXPECT_EQ(misuses(), 0);
    });
}

// The driver needs memory of the device for more than what we allocate; the pool would keep all that it ever had.
TEST(Fake, what_is_kept_back_goes_where_the_driver_lacks_memory) {
  for (const char* driver : {FAKE_DRIVER, FAKE_DRIVER_WITHOUT_POOLS})
    for (const char* where : {"cuModuleLoadData", "cuLaunchKernel"})
      in_fake({{"TESSERA_CUDA_DRIVER", driver}}, [where] {
        SCOPED_TRACE(where);
        auto device = open(0);
        const auto freed = [] { return count("cuMemPoolTrimTo") + count("cuMemFree_v2"); };
        device->allocate(50 * megabyte);  // and given back
        EXPECT_EQ(freed(), 0);
        fail(where, 1, 2);
        auto queue = device->queue();
        auto module = device->load(sample, gpu::Arithmetic::fast);
        add(*device, *queue, *module, 1);
        EXPECT_EQ(freed(), 1);
        fail(where, 1, 2), fail(where, 1, 2);  // in vain
        EXPECT_THAT(device_error([&] {
                      auto other = device->load(sample, gpu::Arithmetic::exact);
                      queue->launch(*other, {.kernel = "nothing"}, {}, one_integer);
                    }),
                    HasSubstr("CUDA device 0 (Fake GPU)"));
        add(*device, *queue, *module, 2);
        EXPECT_EQ(misuses(), 0);
      });
}

TEST(Fake, out_of_memory) {
  for (const char* driver : {FAKE_DRIVER, FAKE_DRIVER_WITHOUT_POOLS})
    in_fake({{"FAKE_CUDA_MEMORY", std::to_string(64 * megabyte)}, {"TESSERA_CUDA_DRIVER", driver}}, [] {
      auto device = open(0);
      const auto kept = device->allocate(16 * megabyte);
      try {
        device->allocate(100 * megabyte);
        ADD_FAILURE();
      } catch (const gpu::OutOfMemory& e) {
        EXPECT_EQ(e.error_class(), ErrorClass::device);
        EXPECT_EQ(e.asked(), 100 * megabyte);
        EXPECT_EQ(e.free(), 48 * megabyte);
        EXPECT_EQ(
            e.message(),
            "CUDA device 0 (Fake GPU) is out of memory: 100 MiB (104,857,600 bytes) asked for, 48 MiB (50,331,648 "
            "bytes) free");
      }
      EXPECT_NE(device->allocate(48 * megabyte), nullptr);
      EXPECT_EQ(device->allocate(0)->bytes(), 0);
    });
}

TEST(Fake, rows) {
  in_fake([] {
    auto device = open(0);
    auto queue = device->queue();
    for (i64 host_pitch : {10, 16, 1 << 21, -20}) {
      const i64 step = std::abs(host_pitch), rows = 5, device_pitch = 32;
      std::vector<std::byte> from(static_cast<std::size_t>(step * rows)), to(from.size());
      for (std::size_t i = 0; i < from.size(); ++i) from[i] = std::byte(i / step * 31 + i % step);
      auto block = device->allocate(7 + 4 * 32 + 10);
      const i64 start = host_pitch < 0 ? (rows - 1) * step : 0;
      const gpu::Rows r{.rows = rows, .row_bytes = 10, .host_pitch = host_pitch, .device_pitch = device_pitch};
      queue->fill(*block, 0, block->bytes(), 0xff);
      queue->upload(*block, 7, from.data() + start, r);
      queue->download(to.data() + start, *block, 7, r);
      std::vector<std::byte> whole(static_cast<std::size_t>(block->bytes()));
      queue->download(whole.data(), *block, 0, flat(block->bytes()));
      queue->wait();
      for (i64 y = 0; y < rows; ++y)
        for (i64 x = 0; x < step; ++x)
          ASSERT_EQ(to[y * step + x], x < 10 ? from[y * step + x] : std::byte(0)) << y << x;
      EXPECT_EQ(whole[6], std::byte(0xff));
      EXPECT_EQ(whole[7 + 10], std::byte(0xff));
      EXPECT_EQ(whole[7 + 32], from[start + host_pitch]);
      EXPECT_THROW(queue->upload(*block, 8, from.data(), r), Error);
      queue->upload(*block, 0, nullptr, {.rows = 0, .row_bytes = 10});
    }
    EXPECT_EQ(misuses(), 0);
  });
}

TEST(Fake, rows_within_the_device) {
  in_fake([] {
    auto device = open(0);
    auto queue = device->queue();
    std::vector<std::byte> from(100), to(200);
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = std::byte(i);
    for (const auto& [rows, width, read, written] :
         {std::tuple{5, 10, 12, 32}, {5, 10, 10, 10}, {1, 50, 0, 0}, {5, 10, 20, 5 << 20}, {0, 10, 10, 10}}) {
      SCOPED_TRACE(written);
      const i64 span = std::max<i64>(200, (rows - 1) * i64{written} + width + 3);
      auto p = device->allocate(100), q = device->allocate(span);
      queue->upload(*p, 0, from.data(), flat(100));
      queue->fill(*q, 0, span, 0xff);
      queue->copy(*q, 3, *p, 2, {.rows = rows, .row_bytes = width, .host_pitch = read, .device_pitch = written});
      p.reset();
      for (int y = 0; y < rows; ++y) {
        queue->download(to.data(), *q, i64{y} * written + 2, flat(width + 1));
        queue->wait();
        ASSERT_EQ(to[0], y == 0 || written > width ? std::byte(0xff) : std::byte(2 + y * read - 1)) << y;
        for (int x = 0; x < width; ++x) ASSERT_EQ(to[1 + x], std::byte(2 + y * read + x)) << y << " " << x;
      }
    }
    auto p = device->allocate(100), q = device->allocate(100);
    const gpu::Rows r{.rows = 5, .row_bytes = 10, .host_pitch = 20, .device_pitch = 22};
    EXPECT_THROW(queue->copy(*q, 3, *p, 2, r), Error);   // 101 bytes are written
    EXPECT_THROW(queue->copy(*q, 0, *p, 11, r), Error);  // 101 are read
    queue->copy(*q, 2, *p, 10, r);
    queue->wait();
    EXPECT_EQ(misuses(), 0);
  });
}

TEST(Fake, what_is_kept_lives_as_long_as_the_work) {
  in_fake([] {
    auto device = open(0);
    auto queue = device->queue();
    auto block = device->allocate(100);
    auto host = std::make_shared<std::vector<std::byte>>(100, std::byte(9));
    const std::weak_ptr<const void> watched = host;
    queue->upload(*block, 0, host->data(), flat(100));
    queue->keep(host);
    host.reset();
    EXPECT_FALSE(watched.expired());
    std::vector<std::byte> to(100);
    queue->download(to.data(), *block, 0, flat(100));
    queue->wait();
    EXPECT_TRUE(watched.expired());
    EXPECT_EQ(to[99], std::byte(9));
  });
}

TEST(Fake, streams_of_others) {
  in_fake([] {
    auto device = open(0);
    auto module = device->load(sample, gpu::Arithmetic::fast);
    const auto driver = []<class... A>(const char* name, A... arguments) {
      return reinterpret_cast<int (*)(A...)>(fake_symbol("TESSERA_CUDA_DRIVER", name))(arguments...);
    };
    void *context = nullptr, *stream = nullptr;
    ASSERT_EQ(driver("cuDevicePrimaryCtxRetain", &context, 0), 0);
    ASSERT_EQ(driver("cuCtxSetCurrent", context), 0);
    ASSERT_EQ(driver("cuStreamCreate", &stream, 1U), 0);
    const int made = count("cuStreamCreate"), ended = count("cuStreamDestroy_v2");
    {
      auto queue = device->queue_on(stream);
      add(*device, *queue, *module, 1);
      queue->fill(*device->allocate(64), 0, 64, 1);  // the queue ends with its work
    }
    EXPECT_EQ(count("cuStreamCreate"), made);
    EXPECT_EQ(count("cuStreamDestroy_v2"), ended);
    {
      auto queue = device->queue_on(stream);  // and the stream goes on
      add(*device, *queue, *module, 2);
    }
    EXPECT_EQ(driver("cuStreamDestroy_v2", stream), 0);
    EXPECT_EQ(misuses(), 0);
  });
}

TEST(Fake, second_load_does_not_compile) {
  in_fake([] {
    auto device = open(0);
    auto first = device->load(sample, gpu::Arithmetic::fast);
    EXPECT_EQ(device->load(sample, gpu::Arithmetic::fast), first);
    EXPECT_EQ(compilations(), 1);
    first.reset();
    device->load(sample, gpu::Arithmetic::fast);
    EXPECT_EQ(compilations(), 1);  // from the disk
    EXPECT_EQ(count("cuModuleLoadData"), 2);
    device->load(sample, gpu::Arithmetic::exact);
    EXPECT_EQ(compilations(), 2);
    // What the driver does not take is compiled anew.
    fail("cuModuleLoadData", 1, 200);
    device->load(sample, gpu::Arithmetic::fast);
    EXPECT_EQ(compilations(), 3);
  });
}

TEST(Fake, compiler_newer_than_the_driver) {
  in_fake({{"FAKE_NVRTC_VERSION", "13000"}}, [] {
    auto device = open(0);
    fail("cuModuleLoadData", 1, 200);
    EXPECT_THAT(device_error([&] { device->load(sample, gpu::Arithmetic::fast); }),
                AllOf(HasSubstr("knows CUDA 12.8, does not take the code of NVRTC 13.0 for sm_90"),
                      HasSubstr("$TESSERA_NVRTC")));
  });
}

TEST(Fake, text_that_does_not_compile) {
  in_fake([] {
    auto device = open(0);
    const std::string text =
        device_error([&] { device->load("int a;\nint b;\n  float x = q; #error\n", gpu::Arithmetic::fast); });
    EXPECT_THAT(text,
                StartsWith("NVRTC 12.8 does not compile the emitted text: line 3: 'identifier \"q\" is undefined'"));
    EXPECT_THAT(text, HasSubstr("line 3 is '  float x = q; #error'"));
    const std::size_t at = text.find("the text is in '");
    ASSERT_NE(at, std::string::npos);
    const std::string path = text.substr(at + 16, text.find('\'', at + 16) - at - 16);
    EXPECT_THAT(path, AllOf(StartsWith(getenv("TESSERA_CACHE")), HasSubstr(".cu")));
    std::string line;
    std::ifstream file(path);
    std::getline(file, line);
    EXPECT_EQ(line, "int a;");
    EXPECT_NE(device->load(sample, gpu::Arithmetic::fast), nullptr);
  });
}

TEST(Fake, kernels) {
  in_fake([] {
    auto device = open(0);
    auto module = device->load(sample, gpu::Arithmetic::fast);
    auto queue = device->queue();
    const auto usage = module->usage("add", 256, 0);
    EXPECT_EQ(usage.registers, 40);
    EXPECT_EQ(usage.shared_bytes, 1024);
    EXPECT_EQ(usage.local_bytes, 0);
    EXPECT_EQ(usage.threads_per_block, 1024);
    EXPECT_EQ(usage.blocks_per_multiprocessor, 8);
    EXPECT_EQ(module->usage("add", 256, 100'000).blocks_per_multiprocessor, 2);
    EXPECT_EQ(module->usage("add", 256, 232'000).blocks_per_multiprocessor, 0);
    EXPECT_EQ(module->usage("add", 2048, 0).blocks_per_multiprocessor, 0);
    EXPECT_THROW(module->usage("no_such_kernel", 256, 0), Error);

    const auto launch = [&](gpu::Launch l) { queue->launch(*module, l, {}, one_integer); };
    launch({.kernel = "nothing", .shared_bytes = 200'000});
    EXPECT_EQ(count("cuFuncSetAttribute"), 3);  // two of them for usage
    launch({.kernel = "nothing", .shared_bytes = 100'000});
    EXPECT_EQ(count("cuFuncSetAttribute"), 3);
    EXPECT_THAT(device_error([&] { launch({.kernel = "nothing", .shared_bytes = 300'000}); }),
                HasSubstr("asks for 300000 bytes of shared memory, besides 1024 that it declares"));
    const int before = count("cuLaunchKernel");
    launch({.kernel = "nothing", .grid = {0, 1, 1}});
    EXPECT_EQ(count("cuLaunchKernel"), before);
    EXPECT_THROW(launch({.kernel = "nothing", .grid = {1, 70'000, 1}}), Error);
    fail("cuLaunchKernel", 1, 701);
    EXPECT_THAT(device_error([&] { launch({.kernel = "nothing", .grid = {3, 2, 1}, .block = {64, 1, 1}}); }),
                HasSubstr("3 x 2 x 1 blocks of 64 x 1 x 1 threads"));
    launch({.kernel = "nothing"});  // that was no end
    module.reset();
    queue->wait();
  });
}

TEST(Fake, marks) {
  in_fake([] {
    auto device = open(0);
    auto module = device->load(sample, gpu::Arithmetic::fast);
    auto queue = device->queue();
    queue->mark(0);
    for (int i = 0; i < 3; ++i) queue->launch(*module, {.kernel = "nothing"}, {}, one_integer);
    queue->mark(63);
    queue->launch(*module, {.kernel = "nothing"}, {}, one_integer);
    EXPECT_EQ(queue->milliseconds(0, 63), 3);
    EXPECT_THROW(queue->mark(64), Error);
    EXPECT_THROW(queue->milliseconds(0, 1), Error);
  });
}

TEST(Fake, an_error_that_stays_is_told_and_closes_the_device) {
  in_fake([] {
    auto device = open(0);
    auto module = device->load(sample, gpu::Arithmetic::fast);
    auto queue = device->queue();
    auto block = device->allocate(1000);
    auto locked = device->pinned(1000);
    queue->mark(0);
    queue->launch(*module, {.kernel = "fault"}, {}, one_integer);
    const std::string told = device_error([&] { queue->wait(); });
    EXPECT_THAT(told,
                StartsWith("waiting for the device failed on CUDA device 0 (Fake GPU): CUDA_ERROR_ILLEGAL_ADDRESS"));
    const std::function<void()> calls[] = {
        [&] { queue->wait(); },
        [&] { queue->fill(*block, 0, 10, 1); },
        [&] { queue->mark(1); },
        [&] { queue->launch(*module, {.kernel = "nothing"}, {}, one_integer); },
        [&] { device->allocate(10); },
        [&] { device->load(sample, gpu::Arithmetic::exact); },
        [&] { device->queue(); },
        [&] { device->pinned(10); },
        [&] { module->usage("add", 32, 0); },
        [&] { open(0)->allocate(10); },
    };
    for (const auto& call : calls)
      EXPECT_THAT(device_error(call),
                  AllOf(StartsWith("CUDA device 0 (Fake GPU) is closed since waiting for the device"),
                        HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS (700)"), HasSubstr("start the program again")));
    locked.reset(), block.reset(), queue.reset(), module.reset();  // and nothing throws or waits
  });
}

TEST(Fake, errors_that_stay_wherever_they_show) {
  for (const char* where :
       {"cuMemAllocAsync", "cuMemcpyDtoHAsync_v2", "cuMemcpyHtoDAsync_v2", "cuLaunchKernel", "cuEventRecord",
        "cuStreamCreate", "cuModuleLoadData", "cuMemFreeAsync", "cuStreamDestroy_v2"})
    in_fake([where] {
      auto device = open(0);
      fail(where, 1, 719);
      bool told = false;
      for (int round = 0; round < 2; ++round) {
        try {
          auto module = device->load(sample, gpu::Arithmetic::fast);
          auto queue = device->queue();
          queue->mark(0);
          add(*device, *queue, *module, 1);
        } catch (const Error& e) {
          told = true;
          EXPECT_THAT(e.message(), HasSubstr("(719)"));
        }
      }
      EXPECT_TRUE(told) << where;
      EXPECT_THAT(device_error([&] { device->allocate(1); }), HasSubstr("is closed since")) << where;
    });
}

TEST(Fake, every_call_that_can_fail_fails_in_words) {
  for (const char* where : {"cuDevicePrimaryCtxRetain", "cuStreamCreate", "cuModuleLoadData", "cuModuleGetFunction",
                            "cuFuncGetAttribute", "cuMemAllocAsync", "cuStreamSynchronize", "cuMemcpyHtoDAsync_v2",
                            "cuMemcpyDtoHAsync_v2", "cuLaunchKernel", "cuEventCreate", "cuEventRecord"})
    in_fake([where] {
      fail(where, 1, 33);
      EXPECT_THAT(device_error([&] {
                    auto device = open(0);
                    auto module = device->load(sample, gpu::Arithmetic::fast);
                    auto queue = device->queue();
                    queue->mark(0);
                    add(*device, *queue, *module, 1);
                  }),
                  HasSubstr("failed on CUDA device 0 (Fake GPU): CUDA_ERROR_FAKE (33): a fake error"))
          << where;
      auto device = open(0);  // usable all the same
      auto module = device->load(sample, gpu::Arithmetic::fast);
      auto queue = device->queue();
      add(*device, *queue, *module, 1);
      EXPECT_EQ(misuses(), 0);
    });
}

TEST(Fake, borrowed_memory) {
  in_fake([] {
    auto device = open(0);
    auto queue = device->queue();
    auto block = device->allocate(1000);
    auto owner = std::make_shared<int>(1);
    auto shown = borrow(pointer_of(*block), 1000, owner);
    EXPECT_EQ(pointer_of(*shown), pointer_of(*block));
    queue->fill(*shown, 0, 1000, 5);
    shown.reset();
    EXPECT_EQ(owner.use_count(), 2);  // its work is not done
    std::byte last{};
    queue->download(&last, *block, 999, flat(1));
    queue->wait();
    EXPECT_EQ(owner.use_count(), 1);
    EXPECT_EQ(last, std::byte(5));
    EXPECT_EQ(misuses(), 0);
    struct Other : gpu::Memory {
      Other() : Memory(8) {}
    } other;
    EXPECT_THROW(queue->fill(other, 0, 8, 0), Error);
    EXPECT_THROW(pointer_of(other), Error);
  });
}

TEST(Fake, pinned_memory) {
  in_fake([] {
    auto device = open(0);
    EXPECT_NE(device->pinned(1000), nullptr);
    EXPECT_EQ(count("cuMemFreeHost"), 1);
    fail("cuMemHostAlloc", 1, 2);
    EXPECT_EQ(device->pinned(1000), nullptr);
  });
}

// The real compiler, whose code the fake driver takes.
TEST(Fake, real_compiler) {
  const std::string skip = in_child(fakes({{"TESSERA_NVRTC", "real"}, {"FAKE_CUDA_VERSION", "13000"}}), [] {
    if (const gpu::Found found = find(); !found.missing.empty()) return found.missing;
    auto device = open(0);
    auto module = device->load(sample, gpu::Arithmetic::fast);
    EXPECT_EQ(module->usage("add", 32, 0).registers, 40);
    EXPECT_THROW(module->usage("sub", 32, 0), Error);
    module.reset();
    device->load(sample, gpu::Arithmetic::fast);
    const std::string text = device_error(
        [&] { device->load("#line 1\n\nextern \"C\" __global__ void f() { q(); }\n", gpu::Arithmetic::exact); });
    EXPECT_THAT(text, AllOf(StartsWith("NVRTC 1"), HasSubstr("line 2: 'identifier \"q\" is undefined'"),
                            HasSubstr("the text is in")));
    return std::string();
  });
  if (!skip.empty()) GTEST_SKIP() << skip;
}

}  // namespace
}  // namespace tessera::run::cuda
