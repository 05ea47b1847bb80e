// See system.hpp.
#include "base/process/system.hpp"

#include <fstream>

namespace tessera::base {

std::string start_of_system() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  file >> boot;
  return boot.empty() ? "unknown" : boot;
}

}  // namespace tessera::base
