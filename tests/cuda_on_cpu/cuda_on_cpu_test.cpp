// The driver and the compiler that stand in for a GPU behave like one: barriers, shared memory, exchanges in a warp,
// halves; and what a kernel may not do is noticed.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

namespace {

using Address = unsigned long long;

template <class... A>
int call(const char* name, A... arguments) {
  static void* const library = dlopen(CUDA_ON_CPU, RTLD_NOW | RTLD_LOCAL);
  const auto function = reinterpret_cast<int (*)(A...)>(dlsym(library, name));
  return function != nullptr ? function(arguments...) : -1;
}

struct Compiled {
  int status = 0;
  std::string code, log;
};

Compiled compile(const std::string& source) {
  Compiled result;
  void* program = nullptr;
  call("nvrtcCreateProgram", &program, source.c_str(), "kernel.cu", 0, nullptr, nullptr);
  const char* const options[] = {"--fmad=false"};
  result.status = call("nvrtcCompileProgram", program, 1, &options[0]);
  std::size_t bytes = 0;
  call("nvrtcGetProgramLogSize", program, &bytes);
  result.log.resize(bytes);
  call("nvrtcGetProgramLog", program, result.log.data());
  call("nvrtcGetCUBINSize", program, &bytes);
  result.code.resize(bytes);
  call("nvrtcGetCUBIN", program, result.code.data());
  call("nvrtcDestroyProgram", &program);
  return result;
}

struct Size {
  unsigned x, y = 1, z = 1;
};

// Status of a launch of "k" on the values and a number that it gets; the values are what it left.
template <class T>
int launch(const std::string& source, Size grid, Size block, std::vector<T>& values, long long number = 0) {
  void *context = nullptr, *module = nullptr, *function = nullptr;
  call("cuDevicePrimaryCtxRetain", &context, 0);
  call("cuCtxSetCurrent", context);
  const Compiled compiled = compile(source);
  EXPECT_EQ(compiled.status, 0) << compiled.log;
  EXPECT_EQ(call("cuModuleLoadData", &module, static_cast<const void*>(compiled.code.c_str())), 0);
  EXPECT_EQ(call("cuModuleGetFunction", &function, module, "k"), 0);
  if (function == nullptr) return -1;
  const std::size_t bytes = values.size() * sizeof(T);
  Address memory = 0;
  call("cuMemAlloc_v2", &memory, bytes);
  call("cuMemcpyHtoDAsync_v2", memory, static_cast<const void*>(values.data()), bytes, nullptr);
  void* arguments[] = {&memory, &number};
  const int status = call("cuLaunchKernel", function, grid.x, grid.y, grid.z, block.x, block.y, block.z, 0U, nullptr,
                          &arguments[0], nullptr);
  call("cuMemcpyDtoHAsync_v2", static_cast<void*>(values.data()), memory, bytes, nullptr);
  call("cuMemFree_v2", memory);
  call("cuModuleUnload", module);
  return status;
}

std::string kernel(const std::string& type, const std::string& body) {
  return "extern \"C\" __global__ void __launch_bounds__(256, 2) k(" + type + "* __restrict__ p, long long n) {\n" +
         "  const int t = threadIdx.x, at = blockIdx.x * blockDim.x + t;\n" + body + "}\n";
}

std::vector<int> counted(int n) {
  std::vector<int> values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), 0);
  return values;
}

TEST(CudaOnCpu, ThreadsOfAGridHaveTheirNumbers) {
  std::vector<unsigned> values(2 * 3 * 4 * 5 * 3 * 2);
  ASSERT_EQ(launch(kernel("unsigned",
                          "const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);\n"
                          "const unsigned thread = t + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);\n"
                          "p[block * blockDim.x * blockDim.y * blockDim.z + thread] = 100 * block + thread + n;\n"),
                   {2, 3, 4}, {5, 3, 2}, values, 7),
            0);
  for (unsigned k = 0; k < values.size(); ++k) ASSERT_EQ(values[k], 100 * (k / 30) + k % 30 + 7) << k;
}

const char* const reversal = R"(
  __shared__ __align__(16) int kept[200];
  kept[t] = p[at];
  BARRIER
  p[at] = kept[blockDim.x - 1 - t];
)";

std::string reversal_with(const std::string& barrier) {
  return "#define BARRIER " + barrier + "\n" + kernel("int", reversal);
}

TEST(CudaOnCpu, BarriersHoldUntilAllHaveCome) {
  std::vector<int> values = counted(3 * 200);
  ASSERT_EQ(launch(reversal_with("__syncthreads();"), {3}, {200}, values), 0);
  for (int k = 0; k < 600; ++k) ASSERT_EQ(values[static_cast<std::size_t>(k)], k / 200 * 200 + 199 - k % 200) << k;
}

// Half of the threads read what was not written: neither values of their own block nor of the block before.
TEST(CudaOnCpu, AForgottenBarrierShows) {
  std::vector<int> values = counted(2 * 200);
  ASSERT_EQ(launch(reversal_with(""), {2}, {200}, values), 0);
  for (int block = 0; block < 2; ++block) {
    const auto begin = values.begin() + 200 * block;
    EXPECT_EQ(std::count(begin, begin + 200, -1), 100);
  }
}

TEST(CudaOnCpu, WhoHasEndedIsNotWaitedFor) {
  std::vector<int> values = counted(100);
  ASSERT_EQ(launch(kernel("int", "if (t % 3 == 0) return;\n__syncthreads();\np[t] = -p[t];\n"), {1}, {100}, values), 0);
  for (int k = 0; k < 100; ++k) ASSERT_EQ(values[static_cast<std::size_t>(k)], k % 3 == 0 ? k : -k);
}

// Threads of a plane that is 8 wide make warps of four rows.
TEST(CudaOnCpu, LanesOfAWarpExchangeValues) {
  constexpr int kinds = 7, threads = 64;
  std::vector<long long> values(kinds * threads);
  ASSERT_EQ(launch(kernel("long long", R"(
  const int i = t + 8 * threadIdx.y;
  const long long v = i + 1000000000000ll;
  const unsigned all = 0xffffffffu;
  p[0 * 64 + i] = __shfl_up_sync(all, v, 3) - v;
  p[1 * 64 + i] = __shfl_down_sync(all, (float)i, 2) - i;
  p[2 * 64 + i] = __shfl_sync(all, -(double)i, 5) + i;
  p[3 * 64 + i] = __shfl_xor_sync(all, v, 1) - v;
  p[4 * 64 + i] = __shfl_up_sync(all, (signed char)i, 1, 8) - i;
  p[5 * 64 + i] = __shfl_sync(all, (unsigned short)i, i + 1, 4) - i;
  if (i % 2 == 0) p[6 * 64 + i] = __shfl_down_sync(0x55555555u, i, 2) - i;
)"),
                   {1}, {8, 8}, values),
            0);
  for (int i = 0; i < threads; ++i) {
    SCOPED_TRACE(i);
    const auto of = [&](int kind) { return values[static_cast<std::size_t>(kind * threads + i)]; };
    const int lane = i % 32;
    EXPECT_EQ(of(0), lane < 3 ? 0 : -3);
    EXPECT_EQ(of(1), lane > 29 ? 0 : 2);
    EXPECT_EQ(of(2), lane - 5);
    EXPECT_EQ(of(3), lane % 2 == 0 ? 1 : -1);
    EXPECT_EQ(of(4), lane % 8 == 0 ? 0 : -1);
    EXPECT_EQ(of(5), lane % 4 == 3 ? -3 : 1);
    EXPECT_EQ(of(6), i % 2 != 0 || lane == 30 ? 0 : 2);
  }
}

// One after the other, so that a fast lane must not overwrite what a slow one has not read.
TEST(CudaOnCpu, ExchangesInARowDoNotMix) {
  std::vector<int> values = counted(64);
  ASSERT_EQ(launch(kernel("int",
                          "unsigned v = p[t];\nfor (int k = 0; k < 31; ++k) v += __shfl_up_sync(~0u, v, 1);\n"
                          "p[t] = v;\n"),
                   {1}, {64}, values),
            0);
  std::vector<unsigned> expected(64);
  for (unsigned t = 0; t < 64; ++t) expected[t] = t;
  for (int k = 0; k < 31; ++k)
    for (unsigned t = 64; t-- > 0;) expected[t] += expected[t % 32 == 0 ? t : t - 1];
  for (unsigned t = 0; t < 64; ++t) ASSERT_EQ(static_cast<unsigned>(values[t]), expected[t]) << t;
}

TEST(CudaOnCpu, AssemblyOfHalves) {
  std::vector<unsigned short> values = {0x3c00, 0x0001, 0x7c00, 0x7e01};
  const std::string text = kernel("unsigned short", R"(
  float x;
  asm volatile("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(p[t])); /* "asm" */
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(p[t]) : "f"(x + 0.00048828125f));
)");
  ASSERT_EQ(launch(text, {1}, {4}, values), 0);
  EXPECT_EQ(values, (std::vector<unsigned short>{0x3c00, 0x1000, 0x7c00, 0x7fff}));
}

TEST(CudaOnCpu, TextsThatDoNotCompileAreToldWithTheirLines) {
  const Compiled compiled = compile("int a;\n__device__ void f() { asm(\"bar.sync %0;\" : : \"r\"(q)); }\n");
  EXPECT_EQ(compiled.status, 6);
  EXPECT_NE(compiled.log.find("kernel.cu:2:"), std::string::npos) << compiled.log;
}

TEST(CudaOnCpu, CodeOfOthersIsNotTaken) {
  void *context = nullptr, *module = nullptr;
  call("cuDevicePrimaryCtxRetain", &context, 0);
  call("cuCtxSetCurrent", context);
  EXPECT_EQ(call("cuModuleLoadData", &module, static_cast<const void*>("\177ELF and more")), 200);
}

// In processes of their own: the context ends with them.
TEST(CudaOnCpu, KernelsThatCannotEndAreTold) {
  const auto status_of = [](const char* body) {
    std::vector<int> values = counted(64);
    std::exit(launch(kernel("int", body), {1}, {64}, values) == 719 ? 7 : 1);
  };
  EXPECT_EXIT(status_of("if (t < 10) __syncthreads(); else p[t] = __shfl_up_sync(~0u, p[t], 1);"),
              testing::ExitedWithCode(7), "10 threads wait at a barrier, 22 to exchange .*, 32 have ended");
  EXPECT_EXIT(status_of("p[t] = __shfl_up_sync(1u, p[t], 1);"), testing::ExitedWithCode(7), "a mask that lacks it");
}

TEST(CudaOnCpu, WhatAGpuRefusesEndsTheProcess) {
  const auto runs = [](const char* body) {
    std::vector<int> values = counted(64);
    launch(kernel("int", body), {1}, {64}, values);
    std::exit(0);
  };
  EXPECT_EXIT(runs("p[t + 2000] = 0;"), testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(runs("((uint4*)(p + t % 2))->x = 0;"), testing::KilledBySignal(SIGILL), "");
}

// A program that is kept to the end of the process frees its memory when the library has been left.
TEST(CudaOnCpu, MemoryMayBeGivenBackAtTheEnd) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a process that has not opened the library yet
  const auto runs = [] {
    static Address block = 0;
    std::atexit([] { std::_Exit(call("cuMemFree_v2", block) == 0 ? 9 : 1); });
    void* context = nullptr;
    call("cuDevicePrimaryCtxRetain", &context, 0);
    call("cuCtxSetCurrent", context);
    call("cuMemAlloc_v2", &block, std::size_t{256});
    std::exit(0);
  };
  EXPECT_EXIT(runs(), testing::ExitedWithCode(9), "");
  GTEST_FLAG_SET(death_test_style, "fast");
}

// One element beside its memory, read or written; the side that has no guard is looked at when the memory is given
// back.
TEST(CudaOnCpu, TheElementBesideAnArrayIsNotTouched) {
  const auto runs = [](const char* flush, const char* body) {
    setenv("TESSERA_CUDA_ON_CPU_FLUSH", flush, 1);
    std::vector<int> values = counted(64);
    launch(kernel("int", body), {1}, {64}, values);
    std::exit(0);
  };
  EXPECT_EXIT(runs("end", "p[t] = p[t + 1];"), testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(runs("end", "p[t - 1] = 0;"), testing::KilledBySignal(SIGABRT), "beside a block of 256 bytes");
  EXPECT_EXIT(runs("begin", "p[t] = p[t - 1];"), testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(runs("begin", "p[t + 1] = 0;"), testing::KilledBySignal(SIGABRT), "beside a block of 256 bytes");
  EXPECT_EXIT(runs("begin", "p[t] = 0;"), testing::ExitedWithCode(0), "");
}

}  // namespace
