#include "environment.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

namespace {

std::string make_folder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "tessera-test-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) return "";
  return pattern;
}

class CacheFolder : public testing::Environment {
 public:
  void SetUp() override { setenv("TESSERA_CACHE", test_cache_folder().c_str(), 1); }
  void TearDown() override { std::filesystem::remove_all(test_cache_folder()); }
};

const auto* const registered = testing::AddGlobalTestEnvironment(new CacheFolder);

}  // namespace

const std::string& test_cache_folder() {
  static const std::string folder = make_folder();
  return folder;
}
