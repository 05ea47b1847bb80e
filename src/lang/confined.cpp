// A walk that never looks outside; see confined.hpp.
#include "lang/confined.hpp"

#include <algorithm>
#include <deque>

namespace tessera::lang {
namespace {

namespace fs = std::filesystem;

constexpr int most_links = 40;

bool begins_with(const fs::path& path, const fs::path& begin) {
  return std::mismatch(begin.begin(), begin.end(), path.begin(), path.end()).first == begin.end();
}

}  // namespace

Confinement::Confinement(const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    std::error_code missing;
    const fs::path real = fs::canonical(folder, missing);
    if (missing) continue;
    fs::path given = fs::absolute(folder, missing).lexically_normal();
    if (!given.has_filename() && given.has_relative_path()) given = given.parent_path();  // "folder/"
    folders_.push_back({real, given});
  }
}

bool Confinement::holds(const fs::path& real) const {
  return std::any_of(folders_.begin(), folders_.end(), [&](const Folder& f) { return begins_with(real, f.real); });
}

Confinement::Found Confinement::find(const std::string& folder, const std::string& wanted) const {
  std::deque<fs::path> names;
  const auto go = [&](const fs::path& path) { names.insert(names.begin(), path.begin(), path.end()); };
  go(wanted);
  std::error_code code;
  fs::path at = fs::path(wanted).is_absolute() ? "/" : fs::weakly_canonical(fs::absolute(folder), code);
  if (code) return {};
  const auto leads_in = [&](const fs::path& path) {
    return std::any_of(folders_.begin(), folders_.end(),
                       [&](const Folder& f) { return begins_with(f.real, path) || begins_with(f.given, path); });
  };
  for (int links = 0; !names.empty();) {
    const fs::path name = names.front();
    names.pop_front();
    if (name.is_absolute()) {
      at = name;
    } else if (name == "..") {
      at = at.parent_path();
    } else if (!name.empty() && name != ".") {
      at /= name;
      for (const Folder& f : folders_)
        if (at == f.given) at = f.real;
    }
    if (!holds(at)) {
      if (name != ".." && !leads_in(at)) return {};
      continue;
    }
    // Inside everything may be told.
    const fs::file_status status = fs::symlink_status(at, code);
    if (!fs::exists(status)) return {Found::missing};
    if (fs::is_symlink(status)) {
      const fs::path target = fs::read_symlink(at, code);
      if (code || ++links > most_links) return {Found::missing};
      at = at.parent_path();
      go(target);
    } else if (!names.empty() && !fs::is_directory(status)) {
      return {Found::missing};
    }
  }
  if (!holds(at)) return {};
  return {fs::is_regular_file(at, code) ? Found::file : Found::missing, at.string()};
}

}  // namespace tessera::lang
