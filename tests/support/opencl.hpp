// Tests that need what a machine may lack. They are skipped there, and fail where $CI is set: a machine that is to
// prove everything has to have it. OpenCL is there on any processor, with PoCL.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "run/opencl/opencl.hpp"

namespace tessera {

// Ends a test that cannot run for a reason, "" for none: if (cannot_run(no_opencl())) return;
inline bool cannot_run(const std::string& reason) {
  if (reason.empty()) return false;
  const auto end = [&] {
    if (std::getenv("CI") != nullptr) FAIL() << reason;
    GTEST_SKIP() << reason;
  };
  end();
  return true;
}

// Why nothing runs on devices that were looked for, "" where one was found.
inline std::string why_none(const run::gpu::Found& found) {
  if (!found.devices.empty()) return "";
  std::string reason = found.missing.empty() ? "there is no device" : found.missing;
  for (const std::string& note : found.notes) reason += "\n  " + note;
  return reason;
}

inline std::string no_opencl() {
  return why_none(run::opencl::find());
}

}  // namespace tessera
