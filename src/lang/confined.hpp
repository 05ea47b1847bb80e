// Imports that are confined to folders: paths of a stranger's text are walked name by name, and a name that leads out
// of the folders is refused before the file system is asked for it. So nothing that is outside shows: neither in an
// error nor in the time that it takes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tessera::lang {

class Confinement {
 public:
  // Folders that are not there hold nothing.
  explicit Confinement(const std::vector<std::string>& folders);

  struct Found {
    enum Kind { outside, missing, file } kind = outside;
    std::string path = {};  // of the file, without links
  };
  // `wanted`, seen from `folder`, which is the user's or an import's own. Links in the folders are followed within
  // them; one from elsewhere into them is not asked for, but for those in the names of the folders themselves.
  Found find(const std::string& folder, const std::string& wanted) const;
  // Of a path without links.
  bool holds(const std::filesystem::path& real) const;

 private:
  struct Folder {
    std::filesystem::path real, given;
  };
  std::vector<Folder> folders_;
};

}  // namespace tessera::lang
