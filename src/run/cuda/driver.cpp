// Opening the CUDA driver; see driver.hpp.
#include "run/cuda/driver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "base/process/dynamic_library.hpp"
#include "base/process/fork.hpp"

namespace tessera::run::cuda {
namespace {

constexpr int oldest_version = 11000;
constexpr const char* variable = "TESSERA_CUDA_DRIVER";

// Names of the required functions that the library lacks.
std::vector<std::string> bind(Driver& driver, const base::DynamicLibrary& library) {
  std::vector<std::string> lacking;
#define TESSERA_CUDA_BIND(member, symbol, arguments) \
  if (!library.bind(driver.member, symbol)) lacking.push_back(symbol);
  TESSERA_CUDA_REQUIRED(TESSERA_CUDA_BIND)
  const std::size_t required = lacking.size();
  TESSERA_CUDA_POOLS(TESSERA_CUDA_BIND)
  driver.pools = lacking.size() == required;
  TESSERA_CUDA_LATER(TESSERA_CUDA_BIND)
  const std::size_t before_peers = lacking.size();
  TESSERA_CUDA_PEERS(TESSERA_CUDA_BIND)
  driver.peers = lacking.size() == before_peers;
#undef TESSERA_CUDA_BIND
  lacking.resize(required);
  return lacking;
}

Driver open_driver() {
  Driver d;
  const base::DynamicLibrary library = base::DynamicLibrary::find(
      {.what = "the CUDA driver", .environment = variable, .names = {"libcuda.so.1", "libcuda.so"}});
  if (!library) {
    d.missing = "the CUDA driver is not available";
    for (const std::string& line : library.tried()) d.notes.push_back("tried " + line);
    d.notes.push_back(fmt::format("${} may name the file libcuda.so.1", variable));
    return d;
  }
  d.notes.push_back("the driver is " + library.name());
  if (const auto lacking = bind(d, library); !lacking.empty()) {
    d.missing = fmt::format("the CUDA driver has no function {}{}", lacking.front(),
                            lacking.size() > 1 ? fmt::format(" and {} others", lacking.size() - 1) : "");
    d.notes.push_back(fmt::format("CUDA {} or newer is needed", cuda_version(oldest_version)));
    return d;
  }
  Status status = d.driver_version(&d.version);
  if (status == success && d.version < oldest_version) {
    d.missing = fmt::format("the CUDA driver knows CUDA {}; {} or newer is needed", cuda_version(d.version),
                            cuda_version(oldest_version));
    return d;
  }
  if (status == success) status = d.init(0);
  if (status == success) status = d.device_count(&d.devices);
  if (status != success && status != error_no_device) {
    d.missing = "the CUDA driver does not start: " + d.describe(status);
  } else if (d.devices == 0) {
    d.missing = "the CUDA driver sees no device";
    if (std::getenv("CUDA_VISIBLE_DEVICES") != nullptr)
      d.notes.push_back("$CUDA_VISIBLE_DEVICES is set and may hide some");
  }
  return d;
}

}  // namespace

bool sticky(Status status) {
  constexpr Status others[] = {error_deinitialized,
                               error_ecc,
                               error_nvlink,
                               error_illegal_address,
                               error_timeout,
                               error_assert,
                               error_launch_failed,
                               error_context_destroyed,
                               error_mps_client_terminated,
                               error_unknown};
  return (status >= error_hardware_stack && status <= error_launch_failed) ||
         std::find(std::begin(others), std::end(others), status) != std::end(others);
}

std::string Driver::describe(Status status) const {
  const char *name = nullptr, *text = nullptr;
  if (error_name == nullptr || error_name(status, &name) != success || name == nullptr) name = "CUDA error";
  if (error_string == nullptr || error_string(status, &text) != success || text == nullptr) text = "of unknown meaning";
  return fmt::format("{} ({}): {}", name, status, text);
}

std::string cuda_version(int number) {
  return fmt::format("{}.{}", number / 1000, number % 1000 / 10);
}

const Driver& driver() {
  static constinit base::Once<Driver> opened;
  return opened.get(open_driver);
}

}  // namespace tessera::run::cuda
