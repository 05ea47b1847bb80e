// Every format with every type and channel count that it holds, there and back, at sizes from one pixel on.
#include <algorithm>

#include "base/files/files.hpp"
#include "io/codec.hpp"
#include "support.hpp"

namespace tessera::io {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using E = ElementType;

const std::vector<Shape> sizes = {{1, 1}, {1, 9}, {9, 1}, {17, 33}};

class RoundTrip : public FolderTest {
 protected:
  void check(const std::string& suffix, const Format& format, const Shape& shape, const WriteOptions& options = {}) {
    const std::string where = suffix + " " + format.name() + " of " + name_of_type(format) + " " + to_string(shape);
    const Array image = random_array(format, shape);
    const WriteReport report = write_array(path("x" + suffix), image, options);
    EXPECT_EQ(report.saturated, 0) << where;
    EXPECT_EQ(report.values, image.count() * channels_of(image)) << where;
    expect_same(read_array(path("x" + suffix)), image, where);
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1) << where;
    fs::remove(path("x" + suffix));
  }
  static std::string name_of_type(const Format& f) {
    return std::string(name_of(f.is_struct() ? f.fields[0].type : f.scalar));
  }
};

TEST_F(RoundTrip, png) {
  for (const Shape& shape : sizes) {
    for (const E type : {E::u8, E::u16}) {
      for (int channels = 1; channels <= 4; ++channels) check(".png", pixel_format(type, channels), shape);
    }
  }
  check(".png", E::u8, {33, 44}, {.compression = 0});
  check(".png", E::u8, {33, 44}, {.compression = 9});
}

TEST_F(RoundTrip, tiff) {
  for (const Shape& shape : {Shape{1, 1}, Shape{17, 33}}) {
    for (const E type : {E::u8, E::i16, E::u16, E::i32, E::u32, E::f16, E::f32, E::f64}) {
      for (const int channels : {1, 2, 3, 4, 7}) {
        check(".tif", pixel_format(type, channels), shape);
        if (type != E::f16) check(".tiff", pixel_format(type, channels), shape, {.compression = 6});
      }
    }
  }
}

TEST_F(RoundTrip, tiff_pages) {
  check(".tif", E::u16, {5, 7, 9});
  check(".tif", pixel_format(E::f32, 3), {3, 16, 31});
  check(".tif", E::u8, {300, 2, 3});
  const Array volume = random_array(E::u8, {4, 6, 5});
  write_array(path("v.tif"), volume);
  for (int page = 0; page < 4; ++page) {
    const Array one = volume.region(std::vector<i64>{page, 0, 0}, std::vector<i64>{page + 1, 6, 5});
    expect_same(read_array(path("v.tif"), {.page = page}), Array::borrow(one.data(), E::u8, {6, 5}));
  }
  EXPECT_THAT(message_of([&] { read_array(path("v.tif"), {.page = 4}); }),
              HasSubstr("it has 4 pages, asked for page 4"));
}

TEST_F(RoundTrip, tiff_of_many_strips) {
  check(".tif", E::f64, {700, 600});
  check(".tif", E::u16, {2000, 1500}, {.compression = 1});
}

TEST_F(RoundTrip, portable_maps) {
  for (const Shape& shape : sizes) {
    for (const E type : {E::u8, E::u16}) {
      check(".pnm", type, shape);
      check(".pnm", pixel_format(type, 3), shape);
    }
    check(".pfm", E::f32, shape);
    check(".pfm", pixel_format(E::f32, 3), shape);
    check(".pgm", E::u8, shape);
    check(".ppm", pixel_format(E::u16, 3), shape);
  }
}

TEST_F(RoundTrip, pbm_keeps_light_and_ink) {
  for (const Shape& shape : sizes) {
    const Array mask = random_array(E::boolean, shape);
    write_array(path("x.pbm"), mask);
    const Array back = read_array(path("x.pbm"));
    ASSERT_EQ(back.format(), Format(E::u8));
    for (i64 i = 0; i < mask.count(); ++i) EXPECT_EQ(back.as<std::uint8_t>()[i], mask.as<std::uint8_t>()[i] ? 255 : 0);
  }
}

TEST_F(RoundTrip, bmp) {
  for (const Shape& shape : sizes) {
    check(".bmp", E::u8, shape);
    check(".bmp", pixel_format(E::u8, 3), shape);
  }
  const Array rgba = random_array(pixel_format(E::u8, 4), {5, 6});
  rgba.as<std::uint8_t>()[3] = 7;  // an image whose alpha is 0 throughout is taken for one without
  write_array(path("x.bmp"), rgba);
  expect_same(read_array(path("x.bmp")), rgba);
}

TEST_F(RoundTrip, numpy) {
  for (const E type : {E::boolean, E::u8, E::i16, E::u16, E::i32, E::u32, E::f16, E::f32, E::f64}) {
    for (const Shape& shape : {Shape{}, Shape{5}, Shape{3, 0, 2}, Shape{2, 3, 4, 5}}) {
      check(".npy", type, shape);
      check(".npy", pixel_format(type, 3), shape);
    }
  }
  check(".npy", Format::record("record", {{"a", E::u8}, {"b", E::f64}, {"it's", E::i16}}), {3, 4});
}

TEST_F(RoundTrip, numpy_through_a_span) {
  const Array volume = random_array(E::f32, {3, 4, 5});
  write_array(path("x.npy"), volume);
  const std::vector<std::byte> bytes = base::read_bytes(path("x.npy"));
  expect_same(decode_array(bytes, "memory"), volume);
}

TEST_F(RoundTrip, views_of_any_strides) {
  const Array big = random_array(pixel_format(E::u8, 3), {20, 30});
  const Array part = big.region(std::vector<i64>{3, 4}, std::vector<i64>{13, 24});
  const Array turned = Array::borrow(part.data(), part.format(), {20, 10}, {part.strides()[1], part.strides()[0]});
  for (const std::string suffix : {".png", ".tif", ".ppm", ".bmp", ".npy"}) {
    write_array(path("x" + suffix), turned);
    expect_same(read_array(path("x" + suffix)), turned, suffix);
    if (suffix == ".ppm") continue;
    write_array(path("x" + suffix), part.field("g"));
    expect_same(read_array(path("x" + suffix)), part.field("g"), suffix);
  }
}

TEST_F(RoundTrip, channels_as_last_dimension) {
  const Array colour = random_array(pixel_format(E::u8, 3), {6, 7});
  write_array(path("a.png"), as_channels(colour));
  expect_same(read_array(path("a.png")), colour);
}

TEST_F(RoundTrip, jpeg_is_close) {
  Array image(pixel_format(E::u8, 3), {40, 50});
  for (i64 y = 0; y < 40; ++y) {
    for (i64 x = 0; x < 50; ++x) {
      auto* p = reinterpret_cast<std::uint8_t*>(image.at(std::vector<i64>{y, x}));
      p[0] = static_cast<std::uint8_t>(5 * x);
      p[1] = static_cast<std::uint8_t>(6 * y);
      p[2] = static_cast<std::uint8_t>(255 - 3 * x);
    }
  }
  const auto worst = [&](const Array& a, const Array& b) {
    int worst = 0;
    for (i64 i = 0; i < a.count() * channels_of(a); ++i)
      worst = std::max(worst, std::abs(a.as<std::uint8_t>()[i] - b.as<std::uint8_t>()[i]));
    return worst;
  };
  write_array(path("x.jpg"), image);
  EXPECT_LE(worst(read_array(path("x.jpg")), image), 6);
  write_array(path("y.jpeg"), image, {.quality = 20});
  EXPECT_GT(worst(read_array(path("y.jpeg")), image), 6);
  EXPECT_LT(fs::file_size(path("y.jpeg")), fs::file_size(path("x.jpg")));
  const Array grey = to_grey(image);
  write_array(path("x.jpg"), grey);
  EXPECT_LE(worst(read_array(path("x.jpg")), grey), 4);
  EXPECT_EQ(read_array(path("x.jpg")).format(), Format(E::u8));
}

TEST_F(RoundTrip, writes_again_over_a_mapped_array) {
  // The array keeps the memory of the file, not the file: writing over it must not disturb.
  const Array first = random_array(E::f32, {50, 50}, 1), second = random_array(E::f32, {50, 50}, 2);
  write_array(path("x.npy"), first);
  const Array kept = read_array(path("x.npy"));
  write_array(path("x.npy"), second);
  expect_same(kept, first);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(kept.data()) % 64, 0u);
}

}  // namespace
}  // namespace tessera::io
