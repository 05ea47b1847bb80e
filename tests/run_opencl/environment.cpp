#include "environment.hpp"

#include <gtest/gtest.h>
#include <stdio.h>
#include <stdlib.h>

#include <filesystem>

namespace {

namespace fs = std::filesystem;

constexpr const char* given = "TESSERA_TEST_FOLDER";  // to a child

class CacheFolder : public testing::Environment {
 public:
  CacheFolder() {
    const char* parents = getenv(given);
    owner_ = parents == nullptr;
    std::string pattern = (fs::temp_directory_path() / "tessera-test-XXXXXX").string();
    folder_ = owner_ ? mkdtemp(pattern.data()) : parents;
    setenv(given, folder_.c_str(), 1);
    if (!owner_) return;  // a child has the rest from its parent, or from what the test gave it
    setenv("TESSERA_CACHE", (folder_ + "/tessera").c_str(), 1);
    setenv("POCL_CACHE_DIR", (folder_ + "/pocl").c_str(), 1);
    setenv("CUDA_CACHE_PATH", (folder_ + "/cuda").c_str(), 1);
  }
  void TearDown() override {
    std::error_code ec;
    if (owner_) fs::remove_all(folder_, ec);
  }

 private:
  bool owner_;
  std::string folder_;
};

const auto* const registered = testing::AddGlobalTestEnvironment(new CacheFolder);

}  // namespace

std::string run_child(const std::string& test, const std::string& variables) {
  const std::string self = fs::read_symlink("/proc/self/exe").string();
  const std::string command = "env GTEST_OUTPUT= " + variables + " '" + self +
                              "' --gtest_also_run_disabled_tests --gtest_filter='" + test + "' 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return "";
  std::string text;
  char buffer[4096];
  for (std::size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) text.append(buffer, n);
  pclose(pipe);
  return text;
}
