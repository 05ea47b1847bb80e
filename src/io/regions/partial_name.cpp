// The name of a file that is not whole yet; see regions.hpp.
#include <string>

#include "io/regions/regions.hpp"

namespace tessera::io {

std::string partial_name(const std::string& path) {
  return path + ".partial";
}

}  // namespace tessera::io
