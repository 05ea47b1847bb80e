// The same calls on a real GPU; skipped where there is none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
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
using testing::StartsWith;

// Runs `body` with the machine's own driver and compiler; the last statement of a test.
void on_device(const std::function<void(gpu::Device&)>& body) {
  const std::string missing = in_child({{"TESSERA_CUDA_DRIVER", "real"}, {"TESSERA_NVRTC", "real"}}, [&] {
    const gpu::Found found = find();
    if (!found.missing.empty()) return found.missing + ": " + testing::PrintToString(found.notes);
    body(*open(0));
    return std::string();
  });
  if (!missing.empty()) GTEST_SKIP() << missing;
}

gpu::Rows flat(i64 bytes) {
  return {.rows = 1, .row_bytes = bytes};
}

void add(gpu::Device& device, gpu::Queue& queue, gpu::Module& module, i64 n, float start) {
  std::vector<float> a(n), b(n), c(n);
  std::iota(a.begin(), a.end(), start);
  std::iota(b.begin(), b.end(), 2 * start);
  auto p = device.allocate(n * 4), q = device.allocate(n * 4), r = device.allocate(n * 4);
  queue.upload(*p, 0, reinterpret_cast<std::byte*>(a.data()), flat(n * 4));
  queue.upload(*q, 0, reinterpret_cast<std::byte*>(b.data()), flat(n * 4));
  queue.launch(module, {.kernel = "add", .grid = {(n + 255) / 256, 1, 1}, .block = {256, 1, 1}}, std::vector{p, q, r},
               std::vector{n});
  p.reset(), q.reset();
  queue.download(reinterpret_cast<std::byte*>(c.data()), *r, 0, flat(n * 4));
  r.reset();
  queue.wait();
  for (i64 i = 0; i < n; ++i) ASSERT_EQ(c[i], a[i] + b[i]) << i;
}

TEST(Real, limits) {
  on_device([](gpu::Device& device) {
    const gpu::Limits& l = device.limits();
    std::printf("%s, %s, %s: %d multiprocessors, %g GHz, %g GB/s, %lld bytes, L2 %lld, shared %lld of %lld\n",
                l.name.c_str(), l.driver.c_str(), l.compiled_for.c_str(), l.multiprocessors, l.gigahertz, l.bandwidth,
                static_cast<long long>(l.memory_bytes), static_cast<long long>(l.l2_bytes),
                static_cast<long long>(l.shared_bytes_per_block),
                static_cast<long long>(l.shared_bytes_per_multiprocessor));
    EXPECT_GT(l.multiprocessors, 0);
    EXPECT_EQ(l.lanes, 32);
    EXPECT_GE(l.threads_per_block, 512);
    EXPECT_GE(l.threads_per_multiprocessor, 1024);
    EXPECT_GE(l.registers_per_multiprocessor, 32768);
    EXPECT_GE(l.shared_bytes_per_block, 48 * 1024);
    EXPECT_GT(l.memory_bytes, 1 << 28);
    EXPECT_GT(l.l2_bytes, 0);
  });
}

TEST(Real, add) {
  on_device([](gpu::Device& device) {
    auto module = device.load(sample, gpu::Arithmetic::fast);
    auto queue = device.queue();
    add(device, *queue, *module, 1000, 1);
    add(device, *queue, *module, 1'000'003, 0);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        auto own = device.queue();
        for (int i = 0; i < 50; ++i) add(device, *own, *module, 10'000, static_cast<float>(t + i));
      });
    for (auto& t : threads) t.join();
    const auto usage = module->usage("add", 256, 0);
    EXPECT_GT(usage.registers, 0);
    EXPECT_EQ(usage.local_bytes, 0);
    EXPECT_GT(usage.blocks_per_multiprocessor, 0);
    EXPECT_THROW(module->usage("sub", 256, 0), Error);
    module.reset();
    module = device.load(sample, gpu::Arithmetic::fast);  // from the disk
    add(device, *queue, *module, 1000, 3);
  });
}

TEST(Real, rows) {
  on_device([](gpu::Device& device) {
    auto queue = device.queue();
    for (const bool locked : {false, true}) {
      const i64 rows = 200, width = 1003, host_pitch = 1100, device_pitch = 1024;
      std::vector<std::byte> pageable(rows * host_pitch);
      std::shared_ptr<void> pinned = device.pinned(rows * host_pitch);
      ASSERT_NE(pinned, nullptr);
      std::byte* from = locked ? static_cast<std::byte*>(pinned.get()) : pageable.data();
      for (i64 i = 0; i < rows * host_pitch; ++i) from[i] = std::byte(i % 251);
      auto block = device.allocate(7 + rows * device_pitch);
      queue->fill(*block, 0, block->bytes(), 0xab);
      queue->upload(*block, 7, from,
                    {.rows = rows, .row_bytes = width, .host_pitch = host_pitch, .device_pitch = device_pitch});
      std::vector<std::byte> whole(block->bytes()), back(rows * width);
      queue->download(whole.data(), *block, 0, flat(block->bytes()));
      queue->download(back.data(), *block, 7,
                      {.rows = rows, .row_bytes = width, .host_pitch = width, .device_pitch = device_pitch});
      queue->wait();
      for (i64 y = 0; y < rows; ++y)
        for (i64 x = 0; x < device_pitch; ++x) {
          const std::byte want = x < width ? from[y * host_pitch + x] : std::byte(0xab);
          ASSERT_EQ(whole[7 + y * device_pitch + x], want) << y << " " << x;
          if (x < width) {
            ASSERT_EQ(back[y * width + x], want);
          }
        }
    }
  });
}

// Reverses numbers by way of shared memory that is asked for at the launch.
constexpr const char* reverse = R"(typedef long long i64;
typedef struct { i64 n[2]; } tsr_integers;
extern "C" __global__ void reverse(unsigned char* p0, tsr_integers N) {
  extern __shared__ int row[];
  int* p = (int*)(p0 + N.n[0]);
  for (i64 i = threadIdx.x; i < N.n[1]; i += blockDim.x) row[i] = p[i];
  __syncthreads();
  for (i64 i = threadIdx.x; i < N.n[1]; i += blockDim.x) p[i] = row[N.n[1] - 1 - i];
}
)";

TEST(Real, shared_memory) {
  on_device([](gpu::Device& device) {
    auto module = device.load(reverse, gpu::Arithmetic::fast);
    auto queue = device.queue();
    const i64 most = device.limits().shared_bytes_per_block;
    EXPECT_GE(module->usage("reverse", 256, most).blocks_per_multiprocessor, 1);
    EXPECT_EQ(module->usage("reverse", 256, most + 4).blocks_per_multiprocessor, 0);
    for (i64 bytes : {i64{4096}, i64{48 * 1024}, most}) {
      const i64 n = bytes / 4;
      std::vector<int> numbers(n);
      std::iota(numbers.begin(), numbers.end(), 0);
      auto block = device.allocate(256 + bytes);
      queue->upload(*block, 256, reinterpret_cast<std::byte*>(numbers.data()), flat(n * 4));
      queue->launch(*module, {.kernel = "reverse", .block = {256, 1, 1}, .shared_bytes = bytes}, std::vector{block},
                    std::vector<i64>{256, n});
      queue->download(reinterpret_cast<std::byte*>(numbers.data()), *block, 256, flat(n * 4));
      queue->wait();
      for (i64 i = 0; i < n; ++i) ASSERT_EQ(numbers[i], n - 1 - i);
    }
    EXPECT_THAT(device_error([&] {
                  queue->launch(*module, {.kernel = "reverse", .block = {256, 1, 1}, .shared_bytes = most + 4},
                                std::vector{device.allocate(256)}, std::vector<i64>{0, 0});
                }),
                HasSubstr("bytes of shared memory"));
    EXPECT_THAT(device_error([&] {
                  queue->launch(*module, {.kernel = "reverse", .block = {2048, 1, 1}},
                                std::vector{device.allocate(256)}, std::vector<i64>{0, 0});
                }),
                HasSubstr("blocks of 2048 x 1 x 1 threads"));
    queue->wait();
  });
}

constexpr const char* contraction = R"(typedef long long i64;
typedef struct { i64 n[1]; } tsr_integers;
extern "C" __global__ void f(unsigned char* p0, tsr_integers N) {
  float* p = (float*)p0;
  p[3] = p[0] * p[1] + p[2];
  p[4] = fma(p[0], p[1], p[2]);
}
)";

TEST(Real, contraction) {
  on_device([](gpu::Device& device) {
    auto queue = device.queue();
    const float a = 1 + std::ldexp(1.0f, -12);
    for (const auto arithmetic : {gpu::Arithmetic::fast, gpu::Arithmetic::exact, gpu::Arithmetic::contracted}) {
      float p[5] = {a, a, -(1 + std::ldexp(1.0f, -11)), 7, 7};
      auto block = device.allocate(sizeof p);
      queue->upload(*block, 0, reinterpret_cast<std::byte*>(p), flat(sizeof p));
      queue->launch(*device.load(contraction, arithmetic), {.kernel = "f"}, std::vector{block}, std::vector<i64>{0});
      queue->download(reinterpret_cast<std::byte*>(p), *block, 0, flat(sizeof p));
      queue->wait();
      const bool contracted = arithmetic == gpu::Arithmetic::contracted;
      EXPECT_EQ(p[3], contracted ? std::ldexp(1.0f, -24) : 0.0f);
      EXPECT_EQ(p[4], std::ldexp(1.0f, -24));
    }
  });
}

TEST(Real, text_that_does_not_compile) {
  on_device([](gpu::Device& device) {
    const std::string text =
        device_error([&] { device.load("typedef int i32;\n__global__ void f() { q(); }\n", gpu::Arithmetic::fast); });
    EXPECT_THAT(text, AllOf(StartsWith("NVRTC"), HasSubstr("line 2: 'identifier \"q\" is undefined'"),
                            HasSubstr("the text is in")));
  });
}

TEST(Real, out_of_memory) {
  on_device([](gpu::Device& device) {
    const i64 all = device.limits().memory_bytes;
    EXPECT_THROW(device.allocate(2 * all), gpu::OutOfMemory);
    // Sixteenths until no more fit; what was dropped is there again, also in other sizes.
    for (int round = 0; round < 2; ++round) {
      std::vector<std::shared_ptr<gpu::Memory>> blocks;
      try {
        for (;;) blocks.push_back(device.allocate(all / (16 + round)));
      } catch (const gpu::OutOfMemory& e) {
        EXPECT_EQ(e.asked(), all / (16 + round));
        EXPECT_LT(e.free(), 2 * e.asked());
        EXPECT_GE(e.free(), 0);
      }
      EXPECT_GE(blocks.size(), 4u);
    }
    auto queue = device.queue();
    for (int i = 0; i < 40; ++i) queue->fill(*device.allocate(all / 16), 0, all / 16, 1);  // nobody waits
    queue->wait();
  });
}

TEST(Real, marks) {
  on_device([](gpu::Device& device) {
    auto queue = device.queue();
    auto block = device.allocate(i64{1} << 28);
    queue->mark(0);
    queue->fill(*block, 0, block->bytes(), 1);
    queue->mark(1);
    const double once = queue->milliseconds(0, 1);
    EXPECT_GT(once, 0.0);
    EXPECT_LT(once, 1000.0);
  });
}

TEST(Real, an_error_that_stays) {
  on_device([](gpu::Device& device) {
    auto module = device.load(sample, gpu::Arithmetic::fast);
    auto queue = device.queue(), other = device.queue();
    auto block = device.allocate(1000);
    auto pinned = device.pinned(1000);
    // Far behind the block, where nothing is.
    queue->launch(*module, {.kernel = "fault"}, std::vector{block}, std::vector<i64>{i64{1} << 46});
    EXPECT_THAT(device_error([&] { queue->wait(); }),
                AllOf(StartsWith("waiting for the device failed"), HasSubstr("(7")));
    EXPECT_THAT(device_error([&] { other->wait(); }), HasSubstr("is closed since waiting for the device failed"));
    EXPECT_THAT(device_error([&] { device.allocate(1000); }), HasSubstr("is closed since"));
    pinned.reset(), block.reset(), queue.reset(), other.reset(), module.reset();
  });
}

}  // namespace
}  // namespace tessera::run::cuda
