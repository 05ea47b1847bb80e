// The sentence of an allocation that failed; see errors.hpp.
#include "run/gpu/errors.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/text.hpp"

namespace tessera::run::gpu {
namespace {

std::string amount(i64 bytes) {
  return fmt::format("{} ({} bytes)", base::format_bytes(static_cast<double>(bytes)), base::format_count(bytes));
}

}  // namespace

OutOfMemory::OutOfMemory(const std::string& device, i64 asked, i64 free, std::vector<std::string> notes)
    : Error(ErrorClass::device,
            fmt::format("{} is out of memory: {} asked for, {} free", device, amount(asked),
                        free < 0 ? std::string("an unknown amount") : amount(free)),
            std::move(notes)),
      asked_(asked),
      free_(free) {}

}  // namespace tessera::run::gpu
