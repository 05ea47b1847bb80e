// The name of what is not whole; see docs/design/beyond.md.
#include "io/regions/regions.hpp"

namespace tessera::io {

std::string partial_name(const std::string& path) {
  std::string name = path;
  while (name.size() > 1 && name.back() == '/') name.pop_back();
  return name + ".partial";
}

}  // namespace tessera::io
