// The system that the process runs on.
#pragma once

#include <string>

namespace tessera::base {

// Another one whenever the system starts; "unknown" where it does not say.
std::string start_of_system();

}  // namespace tessera::base
