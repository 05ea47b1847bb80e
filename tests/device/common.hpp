// What tests of devices have in common.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "tessera/array.hpp"
#include "tessera/error.hpp"

namespace tessera {

// The target of tests: OpenCL unless $TESSERA_TARGET asks for CUDA.
inline std::string asked_for() {
  const char* const target = std::getenv("TESSERA_TARGET");
  return target != nullptr && std::string(target) == "cuda" ? "cuda" : "opencl";
}

// Floats that differ from their neighbours.
inline Array counted(Shape shape) {
  Array a(ElementType::f32, std::move(shape));
  for (i64 k = 0; k < a.count(); ++k) a.as<float>()[k] = static_cast<float>((k * 7919) % 1009);
  return a;
}

// What an error of this class says.
template <class F>
std::string refusal(F&& f, ErrorClass expected = ErrorClass::argument) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(e.error_class(), expected) << e.what();
    return e.message();
  }
  return "nothing was thrown";
}

}  // namespace tessera
