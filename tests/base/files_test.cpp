// Atomic files: whole or not at all, and the reasons in words. /dev/full stands for a full disk.
#include "base/files/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <thread>

#include "tessera/error.hpp"

namespace tessera::base {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Files : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "tessera-files-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override {
    ::chmod(folder_.c_str(), 0700);
    fs::remove_all(folder_);
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  fs::path folder_;
};

template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(e.error_class(), ErrorClass::io);
    return e.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

TEST_F(Files, writes_and_reads_back) {
  write_file(path("a"), "hello");
  EXPECT_EQ(read_text(path("a")), "hello");
  write_file(path("a"), "");
  EXPECT_EQ(read_text(path("a")), "");
  EXPECT_TRUE(read_bytes(path("a")).empty());
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Files, reads_within_a_limit) {
  write_file(path("a"), "12345");
  EXPECT_EQ(read_text(path("a"), 5), "12345");
  EXPECT_THAT(message_of([&] { read_text(path("a"), 4); }), HasSubstr("it holds 5 B, the limit is 4 B"));
  EXPECT_THAT(message_of([&] { read_text("/dev/zero", 1 << 20); }), HasSubstr("it holds more, the limit is 1 MiB"));
}

TEST_F(Files, reads_into_memory_of_others) {
  write_file(path("a"), "12345");
  EXPECT_EQ(file_size(path("a")), 5);
  EXPECT_EQ(file_size("/dev/null"), std::nullopt);
  EXPECT_THAT(message_of([&] { file_size(path("none")); }), HasSubstr("no such file or folder"));
  EXPECT_THAT(message_of([&] { file_size(folder_.string()); }), HasSubstr("it is a folder"));
  std::byte bytes[8];
  EXPECT_EQ(read_file_into(path("a"), bytes), 5u);
  EXPECT_EQ(read_file_into(path("a"), std::span(bytes, 2)), 2u);
  EXPECT_EQ(bytes[1], std::byte{'2'});
}

TEST_F(Files, names_the_reason_for_not_reading) {
  EXPECT_THAT(message_of([&] { read_text(path("none")); }), HasSubstr("no such file or folder"));
  EXPECT_THAT(message_of([&] { read_text(folder_.string()); }), HasSubstr("it is a folder"));
}

TEST_F(Files, keeps_the_old_file_until_commit) {
  write_file(path("a"), "old");
  {
    AtomicFile file(path("a"));
    file.write(std::as_bytes(std::span("new", 3)));
    EXPECT_EQ(read_text(path("a")), "old");
  }
  EXPECT_EQ(read_text(path("a")), "old");
  EXPECT_EQ(entries(), 1u);
  AtomicFile file(path("a"));
  file.write(std::as_bytes(std::span("new", 3)));
  file.commit();
  EXPECT_EQ(read_text(path("a")), "new");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Files, writes_at_offsets) {
  AtomicFile file(path("a"));
  file.write_at(4, std::as_bytes(std::span("xy", 2)));
  file.write_at(0, std::as_bytes(std::span("abcd", 4)));
  std::byte back[8];
  EXPECT_EQ(file.read_at(2, back), 4u);
  file.commit();
  EXPECT_EQ(read_text(path("a")), "abcdxy");
}

TEST_F(Files, names_the_reason_for_not_writing) {
  const std::string missing = message_of([&] { write_file(path("no/such"), "x"); });
  EXPECT_THAT(missing, HasSubstr("no such file or folder"));
  EXPECT_THAT(missing, HasSubstr("help: make the folder"));
  EXPECT_THAT(message_of([&] { write_file(folder_.string(), "x"); }), HasSubstr("it is a folder"));
  EXPECT_THAT(message_of([&] { write_file("", "x"); }), HasSubstr("without a name"));
  EXPECT_THAT(message_of([&] { write_file("/dev/full", "x"); }), HasSubstr("no space left on the device"));
  write_file(path("a"), "x");
  EXPECT_THAT(message_of([&] { write_file(path("a/b"), "x"); }), HasSubstr("not a folder"));
  EXPECT_THAT(message_of([&] { write_file("/proc/none", "x"); }), HasSubstr("cannot write '/proc/none': "));
}

TEST_F(Files, refuses_a_read_only_folder_and_file) {
  write_file(path("a"), "old");
  const bool root = ::geteuid() == 0;  // may write anywhere: be nobody for a while
  if (root) {
    ASSERT_EQ(::chown(folder_.c_str(), 65534, 65534), 0);
    ASSERT_EQ(::chown(path("a").c_str(), 65534, 65534), 0);
    ASSERT_EQ(::seteuid(65534), 0);
  }
  ::chmod(path("a").c_str(), 0444);
  EXPECT_THAT(message_of([&] { write_file(path("a"), "x"); }), HasSubstr("permission denied"));
  ::chmod(folder_.c_str(), 0500);
  EXPECT_THAT(message_of([&] { write_file(path("b"), "x"); }), HasSubstr("permission denied"));
  if (root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  EXPECT_EQ(read_text(path("a")), "old");
}

TEST_F(Files, keeps_links_and_modes) {
  write_file(path("real"), "old");
  ::chmod(path("real").c_str(), 0640);
  fs::create_symlink("real", path("link"));
  write_file(path("link"), "new");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(read_text(path("real")), "new");
  struct stat info{};
  ASSERT_EQ(::stat(path("real").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
  fs::create_symlink("fresh", path("dangling"));
  write_file(path("dangling"), "made");
  EXPECT_EQ(read_text(path("fresh")), "made");
}

TEST_F(Files, has_no_name_until_it_is_whole) {
  AtomicFile file(path("a"));
  file.write(std::as_bytes(std::span("new", 3)));
  file.sync();
  EXPECT_EQ(entries(), 0u);  // so that a killed process leaves nothing
  file.commit();
  EXPECT_EQ(read_text(path("a")), "new");
}

TEST_F(Files, keeps_the_owner_and_drops_set_id_bits) {
  write_file(path("a"), "old");
  ::chmod(path("a").c_str(), 06755);
  const bool root = ::geteuid() == 0;
  ASSERT_TRUE(!root || ::chown(path("a").c_str(), 65534, 65533) == 0);
  ::chmod(path("a").c_str(), 06755);
  write_file(path("a"), "new");
  struct stat info{};
  ASSERT_EQ(::stat(path("a").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0755u);
  if (root) {
    EXPECT_EQ(info.st_uid, 65534u);
    EXPECT_EQ(info.st_gid, 65533u);
  }
}

TEST_F(Files, refuses_links_that_end_nowhere) {
  fs::create_symlink("b", path("a"));
  fs::create_symlink("a", path("b"));
  EXPECT_THAT(message_of([&] { write_file(path("a"), "x"); }), HasSubstr("its symbolic links end nowhere"));
  EXPECT_TRUE(fs::is_symlink(path("a")));
}

TEST_F(Files, pours_into_pipes_what_was_written_in_any_order) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] { got = read_text(path("pipe")); });
  {
    AtomicFile file(path("pipe"));
    file.write_at(4, std::as_bytes(std::span("xy", 2)));
    file.write_at(0, std::as_bytes(std::span("abcd", 4)));
    file.commit();
  }
  reader.join();
  EXPECT_EQ(got, "abcdxy");
}

TEST_F(Files, writes_devices_directly) {
  AtomicFile file("/dev/null");
  file.write(std::as_bytes(std::span("x", 1)));
  file.commit();
  EXPECT_FALSE(fs::is_regular_file("/dev/null"));
}

TEST_F(Files, writes_into_open_files) {
  write_file(path("a"), "first ");
  const int fd = ::open(path("a").c_str(), O_WRONLY | O_APPEND);
  ASSERT_GE(fd, 0);
  fs::create_symlink(fmt::format("/dev/fd/{}", fd), path("link"));
  for (const std::string& name : {fmt::format("/dev/fd/{}", fd), path("link")}) {
    EXPECT_TRUE(is_stream(name));
    EXPECT_TRUE(is_same_file(name, path("a")));
    write_file(name, "more ");
  }
  EXPECT_EQ(read_text(path("a")), "first more more ");
  ::close(fd);
  const int reading = ::open(path("a").c_str(), O_RDONLY);
  EXPECT_THAT(message_of([&] { write_file(fmt::format("/dev/fd/{}", reading), "x"); }), HasSubstr("not open for that"));
  EXPECT_THAT(message_of([&] { check_stream(fmt::format("/dev/fd/{}", reading)); }), HasSubstr("not open for that"));
  ::close(reading);
  EXPECT_EQ(read_text(path("a")), "first more more ");
}

TEST_F(Files, knows_one_file_by_its_names) {
  fs::create_directory(path("sub"));
  fs::create_symlink("sub", path("other"));
  fs::create_symlink("new", path("dangling"));
  write_file(path("a"), "a");
  fs::create_hard_link(path("a"), path("hard"));
  EXPECT_TRUE(is_same_file(path("a"), path("sub/../a")));
  EXPECT_TRUE(is_same_file(path("a"), path("hard")));
  EXPECT_TRUE(is_same_file(path("sub/x"), path("other/x")));
  EXPECT_TRUE(is_same_file(path("new"), path("dangling")));
  EXPECT_TRUE(is_same_file("-", "/dev/stdout") || !fs::exists("/dev/stdout") || ::isatty(1) == 1);
  EXPECT_FALSE(is_same_file("-", "./-"));
  EXPECT_FALSE(is_same_file(path("a"), path("b")));
  EXPECT_FALSE(is_same_file("/dev/null", "/dev/null"));
  EXPECT_FALSE(is_stream(path("a")) || is_stream(path("new")) || is_stream(path("dangling")) || is_stream(path("sub")));
  EXPECT_TRUE(is_stream("-") && is_stream("/dev/null"));
}

TEST_F(Files, appear_together_or_not_at_all) {
  write_file(path("old"), "old");
  const auto begun = [&](const std::string& name) {
    auto file = std::make_unique<AtomicFile>(name);
    file->write(std::as_bytes(std::span("new", 3)));
    return file;
  };
  // A folder takes the place of the last one: its name cannot be given, and the others give theirs back.
  std::vector<std::unique_ptr<AtomicFile>> files;
  for (const char* name : {"old", "fresh", "taken"}) files.push_back(begun(path(name)));
  fs::create_directory(path("taken"));
  EXPECT_THAT(message_of([&] { AtomicFile::commit_all(files); }), HasSubstr("taken"));
  files.clear();
  EXPECT_EQ(read_text(path("old")), "old");
  EXPECT_FALSE(fs::exists(path("fresh")));
  EXPECT_EQ(entries(), 2u);
  fs::remove(path("taken"));
  for (const char* name : {"old", "fresh"}) files.push_back(begun(path(name)));
  files.push_back(begun("/dev/full"));
  EXPECT_THAT(message_of([&] { AtomicFile::commit_all(files); }), HasSubstr("no space left"));
  files.clear();
  EXPECT_EQ(read_text(path("old")), "old");
  EXPECT_EQ(entries(), 1u);
  for (const char* name : {"old", "fresh"}) files.push_back(begun(path(name)));
  AtomicFile::commit_all(files);
  EXPECT_EQ(read_text(path("old")) + read_text(path("fresh")), "newnew");
  EXPECT_EQ(entries(), 2u);
}

TEST_F(Files, accepts_the_longest_names) {
  const std::string name(255, 'n');
  write_file(path(name), "x");
  EXPECT_EQ(read_text(path(name)), "x");
  EXPECT_THAT(message_of([&] { write_file(path(name + "n"), "x"); }), HasSubstr("the name is too long"));
}

}  // namespace
}  // namespace tessera::base
