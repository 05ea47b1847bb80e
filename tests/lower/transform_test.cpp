// Functions of sums through Fourier transforms are well formed, for every type of numbers and width of vectors.
#include <gtest/gtest.h>

#include "ir/nest/nest.hpp"
#include "lang/compile.hpp"
#include "lower/ways/ways.hpp"
#include "plan/plan.hpp"

namespace tessera::lower {
namespace {

TEST(Transform, FunctionsAreWellFormed) {
  const std::pair<const char*, const char*> types[] = {
      {"float", "float"}, {"double", "double"}, {"uint8", "int"}, {"int16", "float"}};
  for (const auto& [image, weights] : types)
    for (const int bytes : {16, 32, 64}) {
      lang::CompileInput input;
      input.file_name = "sum.forma";
      input.text = std::string("table ") + weights +
                   " k[i = 0..6, j = 0..8] = (i * 5 + j * 3) % 11; stencil f(vector#2 " + image +
                   " X) { return sum(i = 0..6, j = 0..8) (k[i,j] * X@[i-3,j-4]); } parameter M, N; vector#2 " + image +
                   " a[M,N]; return f(a:constant(1));";
      plan::Options options;
      options.method = Method::transform;
      machine::Machine device;
      device.vector_bytes = bytes;
      device.transforms = true;
      plan::Plan plan = plan::make_plan(lang::compile(input).graph, options, device);
      choose_core_ways(plan);
      const Lowered lowered = lower_cpu(plan);
      EXPECT_NO_THROW(ir::nest::verify(lowered.module)) << image << ", vectors of " << bytes << " bytes";
      bool there = false;
      for (const ir::nest::Function& f : lowered.module.functions)
        there |= f.name.find("fft_tile") != std::string::npos;
      EXPECT_TRUE(there) << image;
    }
}

}  // namespace
}  // namespace tessera::lower
