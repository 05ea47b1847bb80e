// Looks at the databases of users and groups once; see owner.hpp.
#include "base/files/owner.hpp"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <cstring>

namespace tessera::base {

bool is_private_group(gid_t group) {
  static const gid_t own = [] {
    constexpr gid_t none = static_cast<gid_t>(-1);
    char buffer[4096];
    struct passwd user{}, *found_user = nullptr;
    if (::getpwuid_r(::geteuid(), &user, buffer, sizeof buffer, &found_user) != 0 || found_user == nullptr) return none;
    char more[4096];
    struct group its{}, *found = nullptr;
    if (::getgrgid_r(user.pw_gid, &its, more, sizeof more, &found) != 0 || found == nullptr) return none;
    const bool alone = std::strcmp(its.gr_name, user.pw_name) == 0 && (its.gr_mem == nullptr || *its.gr_mem == nullptr);
    return alone ? user.pw_gid : none;
  }();
  return group == own;
}

}  // namespace tessera::base
