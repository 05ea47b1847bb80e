// What is said when a driver, a compiler or a device is missing, and what is said of those that are there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "child.hpp"
#include "run/cuda/cuda.hpp"
#include "run/cuda/nvrtc.hpp"
#include "run/gpu/source.hpp"
#include "tessera/error.hpp"

namespace tessera::run::cuda {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::StartsWith;

TEST(Found, no_driver) {
  in_fake({{"TESSERA_CUDA_DRIVER", "/no/such/libcuda.so.1"}}, [] {
    const gpu::Found found = find();
    EXPECT_TRUE(found.devices.empty());
    EXPECT_EQ(found.missing, "the CUDA driver is not available");
    EXPECT_THAT(found.notes, Contains(AllOf(HasSubstr("/no/such/libcuda.so.1"), HasSubstr("$TESSERA_CUDA_DRIVER"))));
    EXPECT_THAT(device_error([] { open(0); }),
                AllOf(StartsWith("the CUDA driver is not available"), HasSubstr("tried")));
  });
}

TEST(Found, no_compiler) {
  in_fake({{"TESSERA_NVRTC", "/no/such/libnvrtc.so.12"}}, [] {
    const gpu::Found found = find();
    EXPECT_TRUE(found.devices.empty());
    EXPECT_EQ(found.missing, "NVRTC, which compiles for CUDA, is not available");
    EXPECT_THAT(found.notes, Contains(HasSubstr("Fake GPU")));
    EXPECT_THAT(found.notes, Contains(HasSubstr("$TESSERA_NVRTC may name")));
  });
}

TEST(Found, driver_that_lacks_a_function) {
  in_fake({{"TESSERA_CUDA_DRIVER", FAKE_DRIVER_WITHOUT_COPIES}},
          [] { EXPECT_EQ(find().missing, "the CUDA driver has no function cuMemcpyHtoDAsync_v2"); });
}

TEST(Found, old_driver) {
  in_fake({{"FAKE_CUDA_VERSION", "10020"}},
          [] { EXPECT_EQ(find().missing, "the CUDA driver knows CUDA 10.2; 11.0 or newer is needed"); });
}

TEST(Found, driver_that_does_not_start) {
  in_fake({{"FAKE_CUDA_INIT", "803"}},
          [] { EXPECT_THAT(find().missing, HasSubstr("does not start: CUDA_ERROR_FAKE (803)")); });
}

TEST(Found, no_device) {
  for (const char* init : {"0", "100"})
    in_fake({{"FAKE_CUDA_DEVICES", "0"}, {"FAKE_CUDA_INIT", init}, {"CUDA_VISIBLE_DEVICES", ""}}, [] {
      EXPECT_EQ(find().missing, "the CUDA driver sees no device");
      EXPECT_THAT(find().notes, Contains(HasSubstr("$CUDA_VISIBLE_DEVICES")));
    });
}

TEST(Found, limits) {
  in_fake({{"FAKE_CUDA_DEVICES", "2"}}, [] {
    const gpu::Found found = find();
    EXPECT_EQ(found.missing, "");
    ASSERT_EQ(found.devices.size(), 2u);
    const gpu::Limits& l = found.devices[1];
    EXPECT_EQ(l.target, "cuda");
    EXPECT_EQ(l.index, 1);
    EXPECT_EQ(l.name, "Fake GPU");
    EXPECT_EQ(l.driver, "CUDA driver 12.8, NVRTC 12.8");
    EXPECT_EQ(l.compiled_for, "sm_90");
    EXPECT_EQ(l.multiprocessors, 132);
    EXPECT_EQ(l.lanes, 32);
    EXPECT_EQ(l.shared_bytes_per_block, 232448);
    EXPECT_EQ(l.parameter_bytes, 32764);
    EXPECT_NEAR(l.bandwidth, 4916.7, 0.1);
    EXPECT_NEAR(l.gigahertz, 1.98, 1e-9);
    EXPECT_EQ(count("cuDevicePrimaryCtxRetain"), 0);
    EXPECT_EQ(open(1)->limits().index, 1);
    EXPECT_EQ(open(1), open(1));
    EXPECT_THAT(device_error([] { open(2); }), HasSubstr("no CUDA device 2: the driver sees 2, numbers 0 to 1"));
    EXPECT_THAT(device_error([] { open(-1); }), HasSubstr("no CUDA device -1"));
  });
}

TEST(Found, architectures) {
  Nvrtc n;
  n.architectures = {75, 80, 90};
  EXPECT_EQ(architecture_for(n, 90)->option, "sm_90");
  EXPECT_EQ(architecture_for(n, 89)->option, "compute_80");
  EXPECT_FALSE(architecture_for(n, 89)->machine_code);
  EXPECT_EQ(architecture_for(n, 120)->option, "compute_90");
  EXPECT_FALSE(architecture_for(n, 70));
}

TEST(Found, device_older_than_the_compiler) {
  in_fake({{"FAKE_CUDA_CAPABILITY", "61"}}, [] {
    EXPECT_THAT(device_error([] { open(0)->load(sample, gpu::Arithmetic::fast); }),
                AllOf(HasSubstr("compiles for sm_75 and newer"), HasSubstr("is sm_61"), HasSubstr("$TESSERA_NVRTC")));
  });
}

TEST(Source, first_errors_of_compilers) {
  const auto is = [](const char* log, int line, const char* text) {
    const gpu::CompilerError e = gpu::first_error(log);
    EXPECT_EQ(e.line, line) << log;
    EXPECT_EQ(e.text, text) << log;
  };
  is("kernel.cu(3): warning #1: x\nkernel.cu(12): error: identifier \"q\" is undefined\n", 12,
     "identifier \"q\" is undefined");
  is("kernel.cu(7): error #20: x: y", 7, "x: y");
  is("kernel.cu(7): catastrophic error: z", 7, "z");
  is("<kernel>:4:18: error: use of undeclared identifier 'q'", 4, "use of undeclared identifier 'q'");
  is("/a/b1/tmp.cl:4:18: fatal error: too many", 4, "too many");
  is("input.cl:9: error: old", 9, "old");
  is("error: unknown target", 0, "unknown target");
  is("nvrtc: error: invalid value", 0, "invalid value");
  is("1 error detected.", 0, "");
  is("", 0, "");
}

}  // namespace
}  // namespace tessera::run::cuda
