// Kernels, copies, queues and marks on whatever device there is.
#include <algorithm>
#include <atomic>
#include <thread>

#include "fixture.hpp"

namespace tessera::run::opencl {
namespace {

using testing::HasSubstr;

TEST_F(OnDevice, says_what_it_is) {
  const gpu::Limits& l = device->limits();
  EXPECT_EQ(l.target, "opencl");
  EXPECT_EQ(l.index, test_device());
  EXPECT_NE(l.name, "");
  EXPECT_THAT(l.driver, HasSubstr("OpenCL "));
  EXPECT_GE(l.multiprocessors, 1);
  EXPECT_GE(l.lanes, 1);
  EXPECT_GE(l.threads_per_block, 1);
  EXPECT_GE(l.shared_bytes_per_block, 16 * 1024);
  EXPECT_GT(l.memory_bytes, 0);
  EXPECT_GE(l.parameter_bytes, 256);
  EXPECT_TRUE(l.halves);
  EXPECT_EQ(open(test_device()), device);
}

TEST_F(OnDevice, adds_vectors) {
  constexpr int n = 1000;
  std::vector<float> a(n + 3), b(n), c(n + 5, -1.0f);
  std::iota(a.begin(), a.end(), 0.0f);
  std::iota(b.begin(), b.end(), 500.0f);
  const auto p = block_of(a), q = block_of(b), r = block_of(c);
  const auto module = device->load(add_source, gpu::Arithmetic::exact);
  const std::vector<i64> integers = {n, 3 * 4, 5 * 4};
  queue->launch(*module, {"add", {(n + 63) / 64, 1, 1}, {64, 1, 1}, 0}, std::vector{p, q, r}, integers);
  const std::vector<float> got = values_of<float>(*r);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(got[i], -1.0f) << i;
  for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(got[i + 5], a[i + 3] + b[i]) << i;
  EXPECT_EQ(device->load(add_source, gpu::Arithmetic::exact), module);
  EXPECT_NE(device->load(add_source, gpu::Arithmetic::fast), module);
}

TEST_F(OnDevice, copies_rows_with_pitches) {
  constexpr std::size_t rows = 5, bytes = 7, host = 11, pitch = 13, offset = 29;
  std::vector<unsigned char> from(rows * host), to(rows * host, 99);
  std::iota(from.begin(), from.end(), static_cast<unsigned char>(1));
  const auto block = device->allocate(200);
  queue->fill(*block, 0, 200, 7);
  const gpu::Rows shape{rows, bytes, host, pitch};
  queue->upload(*block, offset, reinterpret_cast<const std::byte*>(from.data()), shape);
  const std::vector<unsigned char> all = values_of<unsigned char>(*block);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::size_t row = i < offset ? rows : (i - offset) / pitch, column = i < offset ? 0 : (i - offset) % pitch;
    ASSERT_EQ(all[i], row < rows && column < bytes ? from[row * host + column] : 7) << i;
  }
  queue->download(reinterpret_cast<std::byte*>(to.data()), *block, offset, shape);
  queue->wait();
  for (std::size_t i = 0; i < to.size(); ++i) ASSERT_EQ(to[i], i % host < bytes ? from[i] : 99) << i;

  // Rows without gaps, a single row whose pitches say nothing, nothing at all.
  queue->download(reinterpret_cast<std::byte*>(to.data()), *block, 3, {2, 10, 10, 10});
  queue->download(reinterpret_cast<std::byte*>(to.data()) + 30, *block, offset, {1, bytes, 0, 0});
  queue->download(nullptr, *block, 0, {0, 10, 10, 10});
  queue->wait();
  EXPECT_TRUE(std::equal(to.begin(), to.begin() + 20, all.begin() + 3));
  EXPECT_TRUE(std::equal(from.begin(), from.begin() + bytes, to.begin() + 30));

  EXPECT_EQ(error_of([&] { queue->fill(*block, 190, 20, 0); }).error_class(), ErrorClass::internal);
  EXPECT_EQ(error_of([&] { queue->upload(*block, offset, nullptr, {20, 7, 11, 13}); }).error_class(),
            ErrorClass::internal);
}

// Groups turn their part of an array around, through local memory declared in the kernel and asked for at launch.
TEST_F(OnDevice, shares_local_memory_in_a_group) {
  const std::string source = prelude + R"(typedef struct { i64 n[1]; } tsr_integers;
__kernel void fixed(__global u8* p0, tsr_integers N) {
  __local int rows[64];
  __global int* a = (__global int*)p0 + N.n[0] * get_group_id(0);
  int i = get_local_id(0);
  rows[i] = a[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  a[i] = rows[63 - i];
}
__kernel void asked(__global u8* p0, tsr_integers N, __local u8* shared) {
  __local int* rows = (__local int*)shared;
  __global int* a = (__global int*)p0 + N.n[0] * get_group_id(0);
  int i = get_local_id(0);
  rows[i] = a[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  a[i] = rows[63 - i] + 1;
}
)";
  std::vector<int> a(640);
  std::iota(a.begin(), a.end(), 0);
  const auto block = block_of(a);
  const auto module = device->load(source, gpu::Arithmetic::fast);
  const std::vector<i64> integers = {64};
  queue->launch(*module, {"fixed", {10, 1, 1}, {64, 1, 1}, 0}, std::vector{block}, integers);
  const std::vector<int> once = values_of<int>(*block);
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_EQ(once[i], a[i / 64 * 64 + 63 - i % 64]) << i;
  queue->launch(*module, {"asked", {10, 1, 1}, {64, 1, 1}, 256}, std::vector{block}, integers);
  const std::vector<int> twice = values_of<int>(*block);
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_EQ(twice[i], a[i] + 1) << i;

  const gpu::Module::Usage usage = module->usage("fixed", 64, 0);
  EXPECT_GE(usage.shared_bytes, 256);
  EXPECT_GE(usage.threads_per_block, 64);
  EXPECT_EQ(usage.registers, -1);
}

TEST_F(OnDevice, numbers_groups_in_three_directions) {
  const std::string source = prelude + R"(typedef struct { i64 n[2]; } tsr_integers;
__kernel void place(__global u8* p0, tsr_integers N) {
  i64 x = get_group_id(0) * get_local_size(0) + get_local_id(0);
  i64 y = get_group_id(1) * get_local_size(1) + get_local_id(1);
  i64 z = get_group_id(2) * get_local_size(2) + get_local_id(2);
  ((__global int*)p0)[(z * N.n[1] + y) * N.n[0] + x] = (int)(100 * z + 10 * y + x);
}
)";
  const auto block = device->allocate(4 * 6 * 4 * 6);
  const std::vector<i64> integers = {6, 4};
  queue->launch(*device->load(source, gpu::Arithmetic::exact), {"place", {3, 4, 2}, {2, 1, 3}, 0}, std::vector{block},
                integers);
  const std::vector<int> got = values_of<int>(*block);
  for (int i = 0; i < 144; ++i)
    ASSERT_EQ(got[static_cast<std::size_t>(i)], 100 * (i / 24) + 10 * (i / 6 % 4) + i % 6) << i;
}

// a * b + c of these numbers is 0 when the product is rounded first, else 2^-46.
TEST_F(OnDevice, exact_code_does_not_contract) {
  const std::string source = prelude + R"(typedef struct { i64 n[1]; } tsr_integers;
__kernel void product(__global u8* p0, tsr_integers N) {
  __global float* a = (__global float*)p0;
  a[3] = a[0] * a[1] + a[2];
  a[4] = a[0] / 3.0f;
}
)";
  const float x = 1.0f + 0x1p-23f, square = x * x;
  const auto block = block_of(std::vector<float>{x, x, -square, 7.0f, 7.0f});
  queue->launch(*device->load(source, gpu::Arithmetic::exact), {"product"}, std::vector{block}, std::vector<i64>{0});
  EXPECT_EQ(values_of<float>(*block)[3], 0.0f);
  EXPECT_EQ(values_of<float>(*block)[4], x / 3.0f);
}

// Every thread has a queue, blocks of its own, and the same kernel; blocks go back while commands use them.
TEST_F(OnDevice, runs_queues_in_threads) {
  constexpr int n = 512;
  const auto module = device->load(add_source, gpu::Arithmetic::exact);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const auto mine = device->queue();
      for (int k = 0; k < 25; ++k) {
        std::vector<float> a(n, static_cast<float>(t)), b(n, static_cast<float>(k)), c(n);
        {
          const auto p = device->allocate(4 * n), q = device->allocate(4 * n), r = device->allocate(4 * n);
          mine->upload(*p, 0, reinterpret_cast<const std::byte*>(a.data()), {1, 4 * n, 0, 0});
          mine->upload(*q, 0, reinterpret_cast<const std::byte*>(b.data()), {1, 4 * n, 0, 0});
          mine->launch(*module, {"add", {n / 64, 1, 1}, {64, 1, 1}, 0}, std::vector{p, q, r},
                       std::vector<i64>{n, 0, 0});
          mine->download(reinterpret_cast<std::byte*>(c.data()), *r, 0, {1, 4 * n, 0, 0});
        }
        mine->wait();
        for (const float v : c) wrong += v != static_cast<float>(t + k);
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST_F(OnDevice, measures_between_marks) {
  const auto block = device->allocate(1 << 22);
  queue->mark(0);
  for (int i = 0; i < 8; ++i) queue->fill(*block, 0, 1 << 22, static_cast<unsigned char>(i));
  queue->mark(63);
  const double time = queue->milliseconds(0, 63);
  EXPECT_GT(time, 0.0);
  EXPECT_LT(time, 60e3);
  EXPECT_EQ(queue->milliseconds(0, 0), 0.0);
  EXPECT_THAT(error_of([&] { queue->milliseconds(0, 1); }).message(), HasSubstr("mark 1 was not set"));
  EXPECT_THAT(error_of([&] { queue->mark(64); }).message(), HasSubstr("expected 0 to 63"));
}

TEST_F(OnDevice, copies_through_pinned_memory) {
  const std::shared_ptr<void> host = device->pinned(4096);
  if (!host) {
    EXPECT_TRUE(device->limits().integrated);
    return;
  }
  auto* bytes = static_cast<unsigned char*>(host.get());
  for (int i = 0; i < 4096; ++i) bytes[i] = static_cast<unsigned char>(i * 7);
  const auto block = device->allocate(4096);
  queue->upload(*block, 0, static_cast<const std::byte*>(host.get()), {1, 4096, 0, 0});
  const std::vector<unsigned char> got = values_of<unsigned char>(*block);
  EXPECT_TRUE(std::equal(got.begin(), got.end(), bytes));
}

}  // namespace
}  // namespace tessera::run::opencl
