// A device for the tests that need one; support/opencl.hpp says what becomes of them where there is none.
// TESSERA_TEST_OPENCL_DEVICE chooses.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <numeric>
#include <string>
#include <vector>

#include "run/opencl/opencl.hpp"
#include "support/opencl.hpp"
#include "tessera/error.hpp"

namespace tessera::run::opencl {

inline int test_device() {
  const char* chosen = getenv("TESSERA_TEST_OPENCL_DEVICE");
  return chosen == nullptr ? 0 : atoi(chosen);
}

inline const std::string prelude =
    "#pragma OPENCL FP_CONTRACT OFF\n"
    "typedef long i64;\n"
    "typedef unsigned char u8;\n";

inline const std::string add_source = prelude + R"(typedef struct { i64 n[3]; } tsr_integers;
__kernel void add(__global u8* p0, __global u8* p1, __global u8* p2, tsr_integers N) {
  i64 i = get_global_id(0);
  if (i >= N.n[0]) return;
  __global const float* a = (__global const float*)(p0 + N.n[1]);
  __global const float* b = (__global const float*)p1;
  __global float* c = (__global float*)(p2 + N.n[2]);
  c[i] = a[i] + b[i];
}
)";

class OnDevice : public testing::Test {
 protected:
  void SetUp() override {
    if (cannot_run(no_opencl())) return;
    device = open(test_device());
    queue = device->queue();
  }

  template <class T>
  std::shared_ptr<gpu::Memory> block_of(const std::vector<T>& values) {
    const auto bytes = static_cast<i64>(values.size() * sizeof(T));
    auto block = device->allocate(bytes);
    queue->upload(*block, 0, reinterpret_cast<const std::byte*>(values.data()), {1, bytes, 0, 0});
    queue->wait();
    return block;
  }
  template <class T>
  std::vector<T> values_of(const gpu::Memory& block) {
    std::vector<T> values(static_cast<std::size_t>(block.bytes()) / sizeof(T));
    queue->download(reinterpret_cast<std::byte*>(values.data()), block, 0, {1, block.bytes(), 0, 0});
    queue->wait();
    return values;
  }

  std::shared_ptr<gpu::Device> device;
  std::unique_ptr<gpu::Queue> queue;
};

// The error that a call throws; a call that throws none fails the test.
template <class F>
Error error_of(F&& call) {
  try {
    call();
  } catch (const Error& e) {
    return e;
  }
  ADD_FAILURE() << "nothing was thrown";
  return Error(ErrorClass::internal, "nothing was thrown");
}

}  // namespace tessera::run::opencl
