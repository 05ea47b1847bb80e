// What stands behind the handles of tessera/tessera.h, and the border that no exception passes.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tessera/device.hpp"
#include "tessera/program.hpp"
#include "tessera/tessera.h"

// The flag of a tsr_cancel alone, so that a signal handler may set it.
struct tsr_cancel {
  std::atomic<bool> flag{false};
};

struct tsr_stream {
  tessera::Stream stream;
};

struct tsr_options {
  using Value = std::variant<std::string, std::vector<double>, tessera::Array>;
  std::map<std::string, Value> values;
  tsr_progress progress = nullptr;
  void* user = nullptr;
  const tsr_cancel* cancel = nullptr;
  tsr_stream* stream = nullptr;
};

struct tsr_program {
  explicit tsr_program(tessera::Program p);
  tessera::Program program;
  std::string json;
};

namespace tessera::c {

[[noreturn]] inline void fail(std::string message, std::string help = {}) {
  throw Error(ErrorClass::argument, std::move(message), {}, std::move(help));
}

// Keeps the error that is being handled as the last one of this thread.
tsr_status remember() noexcept;

template <class F>
tsr_status guarded(F&& f) noexcept {
  try {
    f();
    return TSR_OK;
  } catch (...) {
    return remember();
  }
}

// Throws where a pointer is null; the object behind it.
template <class T>
T& given(T* pointer, std::string_view what) {
  if (pointer == nullptr) fail(fmt::format("{} is a null pointer", what));
  return *pointer;
}

// Throws where a call has another count of inputs, outputs or places ("input", ...) than its program.
inline void check_count(std::string_view what, std::size_t given, std::size_t expected) {
  if (given != expected)
    fail(fmt::format("{} {}{} given, expected {}", given, what, given == 1 ? " is" : "s are", expected));
}

// An enumerator of the caller's, which may be any number: C allows what C++ does not load.
template <class T>
int number_of(const T& enumerator) {
  static_assert(sizeof(T) == sizeof(int));
  int number = 0;
  std::memcpy(&number, &enumerator, sizeof number);
  return number;
}

// A copy that tsr_string_free frees.
char* copied(std::string_view text);

// Hands an object to the caller.
template <class T, class... Args>
void hand_out(T** to, Args&&... args) {
  given(to, "the place of the result");
  *to = std::make_unique<T>(std::forward<Args>(args)...).release();
}

}  // namespace tessera::c
