#include "environment.hpp"

#include <gtest/gtest.h>
#include <stdio.h>
#include <stdlib.h>

#include <filesystem>

namespace {

namespace fs = std::filesystem;

class CacheFolder : public testing::Environment {
 public:
  CacheFolder() {
    std::string pattern = (fs::temp_directory_path() / "tessera-test-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    setenv("TESSERA_CACHE", (folder_ + "/tessera").c_str(), 1);
    setenv("POCL_CACHE_DIR", (folder_ + "/pocl").c_str(), 1);
    setenv("CUDA_CACHE_PATH", (folder_ + "/cuda").c_str(), 1);
  }
  void TearDown() override {
    std::error_code ec;
    fs::remove_all(folder_, ec);
  }

 private:
  std::string folder_;
};

const auto* const registered = testing::AddGlobalTestEnvironment(new CacheFolder);

}  // namespace

std::string run_child(const std::string& what, const std::string& variables) {
  FILE* pipe = popen(("env " + variables + " '" OPENCL_CHILD "' " + what + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return "";
  std::string text;
  char buffer[4096];
  for (std::size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) text.append(buffer, n);
  pclose(pipe);
  return text;
}
