// What the tests of io share: a folder of their own, random arrays, comparison of any two arrays, error texts.
#pragma once

#include <gmock/gmock.h>
#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "io/image.hpp"
#include "tessera/error.hpp"

namespace tessera::io {

class FolderTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "tessera-io-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string folder_;
};

template <class F>
std::string message_of(F&& f, ErrorClass expected = ErrorClass::io) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(e.error_class(), expected) << e.what();
    return e.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

inline std::vector<std::byte> bytes_of(const Array& a) {
  const Array flat = a.clone();
  const auto* p = static_cast<const std::byte*>(flat.data());
  return {p, p + static_cast<std::size_t>(flat.count()) * flat.format().size()};
}

// Without waiting for the disk.
inline void write_quickly(const std::string& path, const std::vector<std::byte>& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

// The same format, shape and bits.
inline void expect_same(const Array& a, const Array& b, const std::string& where = "") {
  EXPECT_EQ(a.format().name(), b.format().name()) << where;
  EXPECT_TRUE(a.format() == b.format()) << where;
  ASSERT_EQ(a.shape(), b.shape()) << where;
  EXPECT_TRUE(bytes_of(a) == bytes_of(b)) << where;
}

// Random finite values of any format; booleans are 0 or 1.
inline Array random_array(const Format& format, Shape shape, unsigned seed = 1) {
  std::mt19937 random(seed);
  Array a(format, std::move(shape));
  const auto fill = [&](std::byte* p, ElementType type) {
    const auto bits = static_cast<std::uint32_t>(random());
    const float real = static_cast<float>(static_cast<std::int32_t>(bits)) / 65536.0f;
    const double wide = static_cast<double>(real) + 1e-9;
    switch (type) {
      case ElementType::boolean:
        *p = std::byte{static_cast<unsigned char>(bits & 1)};
        break;
      case ElementType::f32:
        std::memcpy(p, &real, 4);
        break;
      case ElementType::f64:
        std::memcpy(p, &wide, 8);
        break;
      case ElementType::f16: {
        const auto half = static_cast<std::uint16_t>(bits & 0xbbffu);  // no infinity, no NaN
        std::memcpy(p, &half, 2);
        break;
      }
      default:
        std::memcpy(p, &bits, size_of(type));
    }
  };
  auto* p = static_cast<std::byte*>(a.data());
  for (i64 i = 0; i < a.count(); ++i, p += format.size()) {
    if (!format.is_struct()) fill(p, format.scalar);
    for (const Format::Field& f : format.fields) fill(p + f.offset, f.type);
  }
  return a;
}

}  // namespace tessera::io
