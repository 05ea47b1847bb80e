// Which files a program imports: known to whoever compiles it, and wanted by who writes files beside it.
#pragma once

#include <string>
#include <vector>

namespace tessera::lang {

// While one lives, the files that compilations of its thread import are added to it, by the paths that they were read
// from. They do not nest.
class ImportRecord {
 public:
  ImportRecord();
  ~ImportRecord();
  ImportRecord(const ImportRecord&) = delete;
  ImportRecord& operator=(const ImportRecord&) = delete;

  const std::vector<std::string>& files() const { return files_; }
  static void add(const std::string& path);

 private:
  std::vector<std::string> files_;
};

}  // namespace tessera::lang
