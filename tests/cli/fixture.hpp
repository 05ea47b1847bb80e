// A folder with programs and images, and the command run in it as a user would.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "base/files/files.hpp"
#include "cli/command.hpp"
#include "io/image.hpp"

namespace tessera::cli {

namespace fs = std::filesystem;
using testing::HasSubstr;

// What a run of the command left.
struct Outcome {
  int status = -1;
  std::string out, err;
};

class Command : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "tessera-cli-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    program("gain.forma",
            "stencil gain(vector#2 float X, float a) { return X * a; }\n"
            "parameter M, N;\nvector#2 float image[M,N];\nfloat amount;\nreturn result = gain(image, amount);\n");
    program("bytes.forma",
            "stencil same(vector#2 uint8 X) { return X; }\n"
            "parameter M, N;\nvector#2 uint8 image[M,N];\nreturn result = same(image);\n");
    program("swap.forma",
            "struct rgb { float r; float g; float b; }\n"
            "stencil swap(vector#2 struct rgb X) { return struct rgb(X.b, X.g, X.r); }\n"
            "parameter M, N;\nvector#2 struct rgb image[M,N];\nreturn result = swap(image);\n");
    program("two.forma",
            "stencil copy(vector#2 float X) { return X; }\n"
            "stencil halve(vector#2 float X) { return X * 0.5f; }\n"
            "parameter M, N;\nvector#2 float image[M,N];\nreturn same = copy(image), halved = halve(image);\n");

    Array grey(ElementType::u8, {12, 16});
    for (i64 i = 0; i < grey.count(); ++i) grey.as<std::uint8_t>()[i] = static_cast<std::uint8_t>(i);
    io::write_array(path("grey.png"), grey);
    Array colour(io::pixel_format(ElementType::u8, 3), {12, 16});
    for (i64 i = 0; i < 3 * colour.count(); ++i) colour.as<std::uint8_t>()[i] = static_cast<std::uint8_t>(i % 120);
    io::write_array(path("colour.png"), colour);
  }

  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void program(const std::string& name, const std::string& text) const {
    base::write_file(path(name), std::string_view(text));
  }

  // Words that name a file of the folder (also after "name=") become its path.
  Outcome tessera(std::vector<std::string> words) const {
    std::vector<const char*> arguments = {"tessera"};
    for (std::string& word : words) {
      const std::size_t at = word.find('=') == std::string::npos ? 0 : word.find('=') + 1;
      if (word.find('.') != std::string::npos && word[0] != '-' && !std::isdigit(static_cast<unsigned char>(word[at])))
        word = word.substr(0, at) + path(word.substr(at));
      arguments.push_back(word.c_str());
    }
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    Outcome o;
    o.status = run_command(static_cast<int>(arguments.size()), arguments.data());
    fflush(stdout);
    o.out = testing::internal::GetCapturedStdout();
    o.err = testing::internal::GetCapturedStderr();
    return o;
  }

  Array read(const std::string& name) const { return io::read_array(path(name)); }

  const fs::path& folder() const { return folder_; }

  void expect_error(const Outcome& o, int status, const std::string& part) const {
    EXPECT_EQ(o.status, status) << o.err;
    EXPECT_THAT(o.err, HasSubstr(part));
  }

 private:
  fs::path folder_;
};

}  // namespace tessera::cli
