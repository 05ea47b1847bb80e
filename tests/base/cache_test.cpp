// The disk cache: hashes by the standard's vectors, entries that survive or vanish but never lie.
#include "base/files/cache.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <thread>
#include <vector>

#include "base/files/files.hpp"

namespace tessera::base {
namespace {

namespace fs = std::filesystem;

Digest key_of(const std::string& text) {
  return Hasher().text(text).finish();
}

std::string sha256(const std::string& text) {
  return to_hex(Hasher().bytes(std::as_bytes(std::span(text.data(), text.size()))).finish());
}

TEST(Hash, matches_the_standard) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Hash, does_not_depend_on_the_pieces) {
  const std::string text(300, 'q');
  for (std::size_t cut = 0; cut <= text.size(); cut += 7) {
    const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
    EXPECT_EQ(to_hex(Hasher().bytes(bytes.first(cut)).bytes(bytes.subspan(cut)).finish()), sha256(text)) << cut;
  }
  EXPECT_NE(Hasher().text("ab").text("c").finish(), Hasher().text("a").text("bc").finish());
}

class CacheTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "tessera-cache-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    folder_ = root_ + "/deep/cache";
  }
  void TearDown() override { fs::remove_all(root_); }
  // As the cache itself would, whatever the umask.
  static void write_own(const std::string& path, const std::string& text) {
    write_file(path, text);
    ::chmod(path.c_str(), 0600);
  }
  std::string file_of(const Digest& key) const { return folder_ + "/" + to_hex(key) + ".blob"; }
  std::string root_, folder_;
};

TEST_F(CacheTest, keeps_blobs) {
  Cache cache(folder_);
  EXPECT_EQ(cache.get(key_of("a")), std::nullopt);
  EXPECT_TRUE(cache.put(key_of("a"), "content"));
  EXPECT_TRUE(cache.put(key_of("b"), ""));
  EXPECT_EQ(cache.get(key_of("a")), "content");
  EXPECT_EQ(cache.get(key_of("b")), "");
  EXPECT_EQ(Cache(folder_).get(key_of("a")), "content");
  EXPECT_TRUE(cache.put(key_of("a"), "other"));
  EXPECT_EQ(cache.get(key_of("a")), "other");
  EXPECT_EQ(cache.clear(), 2);
  EXPECT_EQ(cache.get(key_of("a")), std::nullopt);
}

TEST_F(CacheTest, drops_damaged_entries) {
  Cache cache(folder_);
  const Digest key = key_of("a");
  cache.put(key, "the content");
  const std::string good = read_text(file_of(key));
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    write_own(file_of(key), bad);
    EXPECT_EQ(cache.get(key), std::nullopt) << "byte " << i;
    EXPECT_FALSE(fs::exists(file_of(key)));
    write_own(file_of(key), good.substr(0, i));
    EXPECT_EQ(cache.get(key), std::nullopt) << "length " << i;
  }
  write_own(file_of(key), good);
  EXPECT_EQ(cache.get(key), "the content");
  // A whole entry under another name is damage too.
  write_own(file_of(key_of("b")), good);
  EXPECT_EQ(cache.get(key_of("b")), std::nullopt);
}

TEST_F(CacheTest, evicts_what_was_used_longest_ago) {
  Cache cache(folder_, 10000);
  const std::string blob(1000, 'x');
  for (int i = 0; i < 8; ++i) {
    cache.put(key_of(std::to_string(i)), blob);
    struct timespec times[2] = {{1000 + i, 0}, {1000 + i, 0}};
    ::utimensat(AT_FDCWD, file_of(key_of(std::to_string(i))).c_str(), times, 0);
  }
  EXPECT_TRUE(cache.get(key_of("0")));  // used now
  for (int i = 8; i < 12; ++i) cache.put(key_of(std::to_string(i)), blob);
  EXPECT_LE(cache.size(), 10000);
  EXPECT_TRUE(cache.get(key_of("0")));
  EXPECT_FALSE(cache.get(key_of("1")));
  EXPECT_TRUE(cache.get(key_of("11")));
  EXPECT_FALSE(cache.put(key_of("huge"), std::string(20000, 'x')));
}

TEST_F(CacheTest, clears_what_dead_processes_left) {
  Cache cache(folder_, 1 << 20);
  write_file(folder_ + "/dead.part", "x");
  write_file(folder_ + "/live.part", "x");
  struct timespec times[2] = {{1000, 0}, {1000, 0}};
  ::utimensat(AT_FDCWD, (folder_ + "/dead.part").c_str(), times, 0);
  cache.put(key_of("a"), "x");
  EXPECT_FALSE(fs::exists(folder_ + "/dead.part"));
  EXPECT_TRUE(fs::exists(folder_ + "/live.part"));
}

TEST_F(CacheTest, does_nothing_where_it_cannot_work) {
  Cache none("");
  EXPECT_FALSE(none.put(key_of("a"), "x"));
  EXPECT_EQ(none.get(key_of("a")), std::nullopt);
  EXPECT_EQ(none.clear(), 0);
  write_file(root_ + "/file", "x");
  Cache blocked(root_ + "/file");
  EXPECT_FALSE(blocked.put(key_of("a"), "x"));
  Cache below(root_ + "/file/cache");
  EXPECT_FALSE(below.put(key_of("a"), "x"));
  Cache kernel("/proc/tessera-cache");
  EXPECT_FALSE(kernel.put(key_of("a"), "x"));
}

TEST_F(CacheTest, refuses_a_folder_that_others_may_write) {
  fs::create_directories(folder_);
  for (const mode_t mode : {0777, 0770, 0702}) {
    ::chmod(folder_.c_str(), mode);
    Cache cache(folder_);
    EXPECT_EQ(cache.folder(), "") << mode;
    EXPECT_FALSE(cache.put(key_of("a"), "x"));
  }
  ::chmod(folder_.c_str(), 0700);
  ::chmod(fs::path(folder_).parent_path().c_str(), 0777);  // who may write there may put another in its place
  EXPECT_EQ(Cache(folder_).folder(), "");
  ::chmod(fs::path(folder_).parent_path().c_str(), 01777);
  EXPECT_EQ(Cache(folder_).folder(), folder_);
  Cache cache(folder_);
  EXPECT_TRUE(cache.put(key_of("a"), "x"));
  ::chmod(folder_.c_str(), 0777);  // opened to others while it is in use
  EXPECT_EQ(cache.get(key_of("a")), std::nullopt);
  EXPECT_FALSE(cache.put(key_of("b"), "x"));
}

TEST_F(CacheTest, is_none_in_the_home_of_another_user) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make files of another user";
  const std::string home = root_ + "/home";
  fs::create_directories(home);
  ASSERT_EQ(::chown(home.c_str(), 12345, 12345), 0);
  EXPECT_EQ(Cache(home + "/.cache/tessera").folder(), "");
  EXPECT_FALSE(fs::exists(home + "/.cache"));  // and nothing of root's is left there
  fs::create_directories(folder_);
  Cache cache(folder_);
  cache.put(key_of("a"), "x");
  ASSERT_EQ(::chown(file_of(key_of("a")).c_str(), 12345, 12345), 0);
  EXPECT_EQ(cache.get(key_of("a")), std::nullopt);
}

TEST_F(CacheTest, takes_regular_files_of_one_name_only) {
  Cache cache(folder_);
  const std::string path = file_of(key_of("a")), other = root_ + "/other";
  cache.put(key_of("a"), "x");
  fs::rename(path, other);
  fs::create_symlink(other, path);
  EXPECT_EQ(cache.get(key_of("a")), std::nullopt);
  EXPECT_FALSE(fs::is_symlink(path));  // forgotten
  EXPECT_TRUE(fs::exists(other));
  fs::create_hard_link(other, path);
  EXPECT_EQ(cache.get(key_of("a")), std::nullopt);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(cache.get(key_of("a")), std::nullopt);  // and does not wait for somebody to write
  fs::create_directory(path);
  EXPECT_EQ(cache.get(key_of("a")), std::nullopt);
  fs::remove(path);
  cache.put(key_of("a"), "x");
  ::chmod(path.c_str(), 0620);
  EXPECT_EQ(cache.get(key_of("a")), std::nullopt);
}

TEST_F(CacheTest, works_from_many_threads) {
  Cache cache(folder_, 4000);  // so small that eviction races with everything
  std::vector<std::thread> threads;
  std::atomic<int> lies{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) {
        const std::string name = std::to_string((i + t) % 16);
        cache.put(key_of(name), "content " + name);
        const std::optional<std::string> got = cache.get(key_of(name));
        if (got && *got != "content " + name) ++lies;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(lies, 0);
  for (const auto& entry : fs::directory_iterator(folder_)) EXPECT_EQ(entry.path().extension(), ".blob");
}

TEST_F(CacheTest, finds_its_folder_as_the_user_says) {
  const auto restore = [](const char* name, const char* value) {
    if (value)
      ::setenv(name, value, 1);
    else
      ::unsetenv(name);
  };
  const char* old[3] = {std::getenv("TESSERA_CACHE"), std::getenv("XDG_CACHE_HOME"), std::getenv("HOME")};
  std::string saved[3];
  for (int i = 0; i < 3; ++i) saved[i] = old[i] ? old[i] : "";
  ::setenv("HOME", "/users/u", 1);
  ::setenv("XDG_CACHE_HOME", "/xdg", 1);
  ::setenv("TESSERA_CACHE", "/own", 1);
  EXPECT_EQ(Cache::default_folder(), "/own");
  ::setenv("TESSERA_CACHE", "", 1);
  EXPECT_EQ(Cache::default_folder(), "");
  ::unsetenv("TESSERA_CACHE");
  EXPECT_EQ(Cache::default_folder(), "/xdg/tessera");
  ::setenv("XDG_CACHE_HOME", "relative", 1);
  EXPECT_EQ(Cache::default_folder(), "/users/u/.cache/tessera");
  ::unsetenv("XDG_CACHE_HOME");
  ::unsetenv("HOME");
  EXPECT_EQ(Cache::default_folder(), "");
  restore("TESSERA_CACHE", old[0] ? saved[0].c_str() : nullptr);
  restore("XDG_CACHE_HOME", old[1] ? saved[1].c_str() : nullptr);
  restore("HOME", old[2] ? saved[2].c_str() : nullptr);
}

}  // namespace
}  // namespace tessera::base
