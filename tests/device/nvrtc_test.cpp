// Emitted kernels are accepted by NVIDIA's run-time compiler, which needs no GPU: $TESSERA_TEST_NVRTC names its
// library.
#include "run/cuda/nvrtc.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "support/sample.hpp"
#include "tessera/program.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;

// Every program that stands alone, of the folders that users read. Those of thousands of lines take NVRTC minutes.
std::vector<std::string> programs() {
  static const std::set<std::string> long_ones = {"local_laplacian.forma",   "local_laplacian_u16.forma",
                                                  "exposure_fusion.forma",   "nl_means_f32.forma",
                                                  "stencil_chain_u16.forma", "jacobi.forma",
                                                  "jacobi_f32.forma",        "echo.forma"};
  std::vector<std::string> found;
  for (const char* folder : {"examples", "bench/jobs", "filters"})
    for (const auto& entry : fs::directory_iterator(fs::path(TESSERA_SOURCE_DIR) / folder))
      if (entry.path().extension() == ".forma" && !long_ones.contains(entry.path().filename().string()))
        found.push_back(entry.path().string());
  std::sort(found.begin(), found.end());
  return found;
}

TEST(Nvrtc, CompilesEmittedKernels) {
  if (const char* given = std::getenv("TESSERA_TEST_NVRTC")) setenv("TESSERA_NVRTC", given, 1);
  const run::cuda::Nvrtc& nvrtc = run::cuda::nvrtc();
  if (!nvrtc.missing.empty()) GTEST_SKIP() << nvrtc.missing;
  const auto architecture = run::cuda::architecture_for(nvrtc, 90);
  ASSERT_TRUE(architecture) << "this NVRTC knows no capability 9.0";
  std::size_t number = 0, compiled = 0;
  for (const std::string& path : programs()) {
    std::optional<Program> program;
    try {
      program = Program::from_file(path);
    } catch (const Error&) {
      continue;  // a file that others import
    }
    const std::size_t turn = number++;
    if (!in_sample(turn)) continue;
    EmitOptions options;
    options.target = "cuda";
    const bool long_when_fused = path.ends_with("exposure_fusion_u8.forma");  // a quarter of all
    options.schedule = turn % 3 == 2 || long_when_fused ? Schedule::untiled : Schedule::automatic;
    options.numbers = turn % 2 == 1 ? Numbers::exact : Numbers::fast;
    const bool exact = options.numbers == Numbers::exact;
    const auto result =
        run::cuda::compile(nvrtc, program->emit(options).source, *architecture,
                           run::cuda::nvrtc_options(exact ? run::gpu::Arithmetic::exact : run::gpu::Arithmetic::fast));
    EXPECT_TRUE(result.done) << path << "\n" << result.log.substr(0, 2000) << result.failure;
    EXPECT_NE(result.code.find("tsr_g0"), std::string::npos) << path;
    EXPECT_EQ(result.code.find("GLOBAL__N"), std::string::npos) << path << ": kernels have names of their own";
    EXPECT_EQ(result.log.find("warning"), std::string::npos) << path << "\n" << result.log.substr(0, 2000);
    ++compiled;
  }
  EXPECT_GT(number, 30u);
  EXPECT_GT(compiled, 0u);
}

// A sum through Fourier transforms: floats, whose weights are so many that rows are shared, and doubles. Behind the
// tile stand what its windows hold at least and its energy.
TEST(Nvrtc, CompilesTilesOfTransforms) {
  if (const char* given = std::getenv("TESSERA_TEST_NVRTC")) setenv("TESSERA_NVRTC", given, 1);
  const run::cuda::Nvrtc& nvrtc = run::cuda::nvrtc();
  if (!nvrtc.missing.empty()) GTEST_SKIP() << nvrtc.missing;
  const auto architecture = run::cuda::architecture_for(nvrtc, 90);
  ASSERT_TRUE(architecture) << "this NVRTC knows no capability 9.0";
  for (const auto& [type, last, rows, shared] :
       {std::tuple("float", 10, 128, 22560), std::tuple("float", 44, 128, 36640),
        std::tuple("double", 10, 64, 11584)}) {
    const std::string text = fmt::format(
        "table {0} k[i = 0..{1}, j = 0..{1}] = (i * 3 + j * 5) % 7 * 0.01; stencil f(vector#2 {0} X) {{ return sum(i = "
        "0..{1}, j = 0..{1}) (k[i,j] * X@[i-4,j-5]); }} parameter M, N; vector#2 {0} a[M,N]; return f(a:mirror);",
        type, last);
    EmitOptions options;
    options.target = "cuda";
    options.method = Method::transform;
    const std::string source = Program::from_text(text).emit(options).source;
    EXPECT_NE(source.find(fmt::format("a block has a tile of {} x", rows)), std::string::npos);
    EXPECT_NE(source.find(fmt::format("tsr_shared[{}]", shared)), std::string::npos);
    const auto result =
        run::cuda::compile(nvrtc, source, *architecture, run::cuda::nvrtc_options(run::gpu::Arithmetic::fast));
    EXPECT_TRUE(result.done) << result.log.substr(0, 2000) << result.failure;
    EXPECT_EQ(result.log.find("warning"), std::string::npos) << result.log.substr(0, 2000);
  }
}

}  // namespace
}  // namespace tessera
