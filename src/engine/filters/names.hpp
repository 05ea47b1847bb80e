// What other programs and people call what filters do.
#pragma once

#include <string>
#include <vector>

namespace tessera::engine {

// Help for a name that no filter has: "write gaussian or box"; "" where the name means nothing known. `filters`: names
// of those that there are, which may be meant with an ending such as _filter.
std::string meant_by(const std::string& name, const std::vector<std::string>& filters);

}  // namespace tessera::engine
