// The standard filters, the files of filters/, as texts that are compiled in: an installed program needs no folder.
#pragma once

#include <span>
#include <string_view>

namespace tessera::lang {

struct StandardFilter {
  std::string_view file;  // "gaussian.forma"
  std::string_view text;
};

std::span<const StandardFilter> standard_filters();  // in order of their names
const StandardFilter* find_standard_filter(std::string_view file);

}  // namespace tessera::lang
