// Options of targets that are hardware, of the verbs that emit it and explain it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tessera/program.hpp"

namespace CLI {
class App;
}

namespace tessera::cli {

// `--max-size --lanes --input --error --frequency --chip --additions`, and a size that the verb declares.
struct HardwareFlags {
  std::string max_size;
  std::optional<int> lanes;
  std::vector<std::string> inputs;
  std::optional<std::string> error, frequency, chip;
  std::optional<int> additions;

  void declare(CLI::App&);
  // `size`: of `--size`, empty where it was not given. Throws Error(argument) for values that cannot be used, and for
  // any option that was given where the target is no hardware.
  HardwareOptions options(const std::string& target, const std::string& size) const;
};

bool is_hardware_target(const std::string& target);

}  // namespace tessera::cli
