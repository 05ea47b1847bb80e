// What writing does to values that a format cannot hold, and how it refuses what it cannot store.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/files/files.hpp"
#include "io/samples.hpp"
#include "support.hpp"

namespace tessera::io {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using E = ElementType;

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

template <class T>
std::vector<int> numbers_of(const Array& a) {
  return {a.as<T>(), a.as<T>() + a.count()};
}

class Write : public FolderTest {};

TEST_F(Write, rounds_half_to_even_and_saturates) {
  const std::vector<float> values = {0.5f,   1.5f,  2.5f,   -0.5f, -0.51f,   255.4f,
                                     255.5f, 1e30f, -1e30f, nan,   infinity, 254.5f};
  const Array image = Array::from<float>(values, {1, 12});
  const WriteReport report = write_array(path("x.png"), image);
  EXPECT_EQ(report.format, "PNG");
  EXPECT_EQ(report.type, E::u8);
  EXPECT_EQ(report.values, 12);
  EXPECT_EQ(report.saturated, 6);  // -0.51, 255.5, 1e30, -1e30, NaN, infinity
  EXPECT_THAT(numbers_of<std::uint8_t>(read_array(path("x.png"))),
              ElementsAre(0, 2, 2, 0, 0, 255, 255, 255, 0, 0, 255, 254));
  EXPECT_EQ(write_array(path("x.png"), image, {.type = E::u16}).saturated, 5);
  EXPECT_THAT(numbers_of<std::uint16_t>(read_array(path("x.png"))),
              ElementsAre(0, 2, 2, 0, 0, 255, 256, 65535, 0, 0, 65535, 254));
}

TEST_F(Write, rounds_like_the_standard_library) {
  std::mt19937 random(3);
  std::vector<double> values;
  for (int i = 0; i < 20000; ++i)
    values.push_back(static_cast<double>(static_cast<std::int32_t>(static_cast<std::uint32_t>(random()))) / 8.0);
  for (const double v : {-2147483648.5, -2147483648.6, 2147483647.5, 2147483647.4, 4294967295.5, -0.5})
    values.push_back(v);
  const Array source = Array::from<double>(values, {static_cast<i64>(values.size())});
  i64 saturated = 0, expected_saturated = 0;
  const Array narrow = converted(source, E::i16, saturated);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double rounded = std::nearbyint(values[i]);
    const double clamped = std::min(32767.0, std::max(-32768.0, rounded));
    expected_saturated += rounded != clamped ? 1 : 0;
    EXPECT_EQ(narrow.as<std::int16_t>()[i], clamped) << values[i];
  }
  EXPECT_EQ(saturated, expected_saturated);
  saturated = 0;
  const Array word = converted(source, E::i32, saturated);
  const std::size_t n = values.size();
  EXPECT_EQ(word.as<std::int32_t>()[n - 6], INT32_MIN);
  EXPECT_EQ(word.as<std::int32_t>()[n - 4], INT32_MAX);
  EXPECT_EQ(word.as<std::int32_t>()[n - 3], INT32_MAX);
  EXPECT_EQ(saturated, 3);  // -2147483648.6, 2147483647.5, 4294967295.5
}

TEST_F(Write, clamps_integers) {
  const std::vector<std::int32_t> values = {-5, 0, 255, 256, INT32_MAX, INT32_MIN};
  EXPECT_EQ(write_array(path("x.png"), Array::from<std::int32_t>(values, {2, 3})).saturated, 4);
  EXPECT_THAT(numbers_of<std::uint8_t>(read_array(path("x.png"))), ElementsAre(0, 0, 255, 255, 255, 0));
  const std::vector<std::int16_t> shorts = {-5, 0, 300, 32767};
  EXPECT_EQ(write_array(path("x.png"), Array::from<std::int16_t>(shorts, {2, 2})).type, E::u16);
  EXPECT_THAT(numbers_of<std::uint16_t>(read_array(path("x.png"))), ElementsAre(0, 0, 300, 32767));
}

TEST_F(Write, makes_masks_visible) {
  const Array mask = Array(E::boolean, {1, 3});
  mask.as<std::uint8_t>()[1] = 1;
  write_array(path("x.png"), mask);
  EXPECT_THAT(numbers_of<std::uint8_t>(read_array(path("x.png"))), ElementsAre(0, 255, 0));
  write_array(path("x.tif"), mask);
  EXPECT_THAT(numbers_of<std::uint8_t>(read_array(path("x.tif"))), ElementsAre(0, 255, 0));
}

TEST_F(Write, converts_between_any_types) {
  for (const E from : {E::boolean, E::u8, E::i16, E::u16, E::i32, E::u32, E::f16, E::f32, E::f64}) {
    // 0 and 1 are values of every type.
    Array bits(E::boolean, {1, 4});
    bits.as<std::uint8_t>()[2] = 1;
    i64 saturated = 0;
    Array source = bits;
    if (from != E::boolean) {
      const std::vector<double> numbers = {0, 0, 1, 0};
      source = converted(Array::from<double>(numbers, {1, 4}), from, saturated);
    }
    for (const E to : {E::u8, E::i16, E::u16, E::i32, E::u32, E::f16, E::f32, E::f64}) {
      const Array middle = converted(source, to, saturated);
      const Array back = converted(middle, E::f64, saturated);
      EXPECT_EQ(back.as<double>()[0], 0);
      const bool full = from == E::boolean && !is_float(to);
      EXPECT_EQ(back.as<double>()[2] == 1, !full) << name_of(from) << " " << name_of(to);
    }
    EXPECT_EQ(converted(source, E::boolean, saturated).as<std::uint8_t>()[2], 1);
    EXPECT_EQ(saturated, 0);
  }
}

TEST_F(Write, converts_mixed_structs_field_by_field) {
  const Format mixed = Format::record("mixed", {{"a", E::u8}, {"b", E::f32}, {"c", E::i16}});
  const Array image(mixed, {1, 2});
  image.field("a").as<std::uint8_t>()[0] = 9;
  *image.field("b").as<float>() = 1.5f;
  *image.field("c").as<std::int16_t>() = -4;
  const WriteReport report = write_array(path("x.png"), image);
  EXPECT_EQ(report.saturated, 1);
  EXPECT_THAT(numbers_of<std::uint8_t>(as_channels(read_array(path("x.png")))), ElementsAre(9, 2, 0, 0, 0, 0));
  EXPECT_THAT(message_of([&] { write_array(path("x.tif"), image); }, ErrorClass::argument),
              HasSubstr("TIFF stores samples of one type, struct mixed has several"));
  write_array(path("x.tif"), image, {.type = E::f32});
  EXPECT_EQ(as_channels(read_array(path("x.tif"))).as<float>()[1], 1.5f);
}

TEST_F(Write, stores_numpy_with_another_type) {
  const Array image = Array::from<float>(std::vector<float>{1.5f, 300, -1}, {3});
  const WriteReport report = write_array(path("x.npy"), image, {.type = E::u8});
  EXPECT_EQ(report.saturated, 2);
  EXPECT_EQ(report.type, E::u8);
  EXPECT_THAT(numbers_of<std::uint8_t>(read_array(path("x.npy"))), ElementsAre(2, 255, 0));
}

TEST_F(Write, refuses_what_a_format_cannot_hold) {
  const auto refused = [&](const std::string& name, const Array& array, const WriteOptions& options = {}) {
    const std::string text = message_of([&] { write_array(path(name), array, options); }, ErrorClass::argument);
    EXPECT_TRUE(fs::is_empty(folder_)) << name;
    EXPECT_THAT(text, HasSubstr("cannot write '" + path(name) + "'"));
    return text;
  };
  const Array grey(E::u8, {4, 5}), volume(E::u8, {2, 4, 5});
  EXPECT_THAT(refused("x.png", volume),
              HasSubstr("PNG stores images of rank 2, got an array of 2x4x5, rank 3\nhelp: write .tif, .nii or .npy"));
  EXPECT_THAT(refused("x.tif", Array(E::u8, {2, 2, 2, 4, 5})), HasSubstr("rank 2 to 4"));
  EXPECT_THAT(refused("x.tif", Array(E::u8, {4})), HasSubstr("rank 1"));
  EXPECT_THAT(refused("x.jpg", Array(pixel_format(E::u8, 4), {4, 5})),
              HasSubstr("JPEG stores 1 or 3 channels, struct rgba has 4"));
  EXPECT_THAT(refused("x.pgm", Array(pixel_format(E::u8, 3), {4, 5})), HasSubstr("PGM stores 1 channels"));
  EXPECT_THAT(refused("x.png", Array(E::u8, {0, 5})), HasSubstr("an image of 0x5 has no pixels"));
  EXPECT_THAT(refused("x.jpg", Array(E::u8, {1, 65501})), HasSubstr("at most 65500 rows or columns"));
  EXPECT_THAT(refused("x.png", grey, {.type = E::f32}), HasSubstr("PNG stores uint8 or uint16, not float"));
  EXPECT_THAT(refused("x.jpg", grey, {.quality = 0}), HasSubstr("from 1 to 100, got 0"));
  EXPECT_THAT(refused("x.png", grey, {.compression = 10}), HasSubstr("from 0 to 9, got 10"));
  EXPECT_THAT(refused("x", grey), HasSubstr("no suffix"));
  EXPECT_THAT(refused("x.pgn", grey), HasSubstr("help: did you mean '.p"));
  EXPECT_THAT(refused("x.gif", grey), HasSubstr("no format is known for the suffix '.gif'"));
  EXPECT_THAT(refused("x.png", Array()), HasSubstr("the array is empty"));
}

TEST_F(Write, knows_its_suffixes) {
  EXPECT_TRUE(is_writable_name("a/b.c/x.PNG"));
  EXPECT_TRUE(is_writable_name("x.npy"));
  EXPECT_FALSE(is_writable_name("a.png/x"));
  EXPECT_FALSE(is_writable_name("x.gif"));
  EXPECT_THAT(writable_suffixes(), testing::IsSupersetOf({".png", ".jpg", ".tif", ".npy", ".pgm", ".pfm", ".bmp"}));
}

TEST_F(Write, fails_whole_on_a_full_disk) {
  const Array image = random_array(pixel_format(E::u8, 3), {300, 300});
  for (const std::string suffix : {".png", ".jpg", ".ppm", ".bmp", ".npy", ".pgm"}) {
    fs::create_symlink("/dev/full", path("x" + suffix));
    const Array& a = suffix == ".pgm" ? to_grey(image) : image;
    EXPECT_THAT(message_of([&] { write_array(path("x" + suffix), a); }), HasSubstr("no space left on the device"))
        << suffix;
  }
  fs::create_symlink("/dev/full", path("x.tif"));
  EXPECT_THAT(message_of([&] { write_array(path("x.tif"), image); }), HasSubstr("no space left on the device"));
  EXPECT_THAT(message_of([&] { write_array(path("none/x.png"), image); }), HasSubstr("no such file or folder"));
}

}  // namespace
}  // namespace tessera::io
