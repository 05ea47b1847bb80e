// Who else may write what a user's group may write.
#pragma once

#include <sys/types.h>

namespace tessera::base {

// The group that Debian makes for each user, of the same name and without other members: what a usual umask of 002
// leaves open to it is open to nobody. Thread-safe.
bool is_private_group(gid_t);

}  // namespace tessera::base
