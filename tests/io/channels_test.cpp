// Channels: views that share memory, luma to the last rounding, relabelling with checks.
#include "support.hpp"

namespace tessera::io {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using E = ElementType;

template <class F>
std::string argument_error(F&& f) {
  return message_of(std::forward<F>(f), ErrorClass::argument);
}

Array rgb_of(std::vector<std::uint8_t> values) {
  const i64 n = static_cast<i64>(values.size()) / 3;
  const Array flat = Array::from<std::uint8_t>(values, {n, 3});
  return from_channels(flat);
}

TEST(Channels, are_counted_and_viewed) {
  const Array image = random_array(pixel_format(E::u16, 3), {4, 5});
  EXPECT_EQ(channels_of(image), 3);
  EXPECT_EQ(channels_of(Array(E::f32, {2, 2})), 1);
  const std::vector<Array> planes = as_planes(image);
  ASSERT_EQ(planes.size(), 3u);
  EXPECT_EQ(planes[1].at(std::vector<i64>{2, 3}), image.at(std::vector<i64>{2, 3}) + 2);
  EXPECT_EQ(planes[2].owner(), image.owner());
  EXPECT_EQ(as_planes(planes[0]).size(), 1u);
  const Array channels = as_channels(image);
  EXPECT_EQ(channels.shape(), (Shape{4, 5, 3}));
  EXPECT_EQ(channels.at(std::vector<i64>{2, 3, 2}), image.at(std::vector<i64>{2, 3}) + 4);
  EXPECT_TRUE(channels.contiguous());
  expect_same(from_channels(channels), image);
  EXPECT_EQ(as_channels(Array(E::u8, {2, 3})).shape(), (Shape{2, 3, 1}));
}

TEST(Channels, refuse_what_is_no_pixel) {
  EXPECT_THAT(argument_error([] { from_channels(Array(E::u8, {2, 5})); }),
              HasSubstr("2, 3 or 4 channels make a pixel, got 5"));
  EXPECT_THAT(argument_error([] { from_channels(Array(E::u8, {})); }), HasSubstr("last dimension"));
  const Array planar = random_array(E::u8, {3, 4, 5});
  EXPECT_THAT(argument_error([&] { from_channels(Array::borrow(planar.data(), E::u8, {4, 5, 3}, {5, 1, 20})); }),
              HasSubstr("next to each other"));
  const Format mixed = Format::record("mixed", {{"a", E::u8}, {"b", E::f32}});
  EXPECT_THAT(argument_error([&] { as_channels(Array(mixed, {2})); }), HasSubstr("mixed has uint8 a and float b"));
}

TEST(Channels, grey_is_luma_rounded_half_to_even) {
  // 0.299 r + 0.587 g + 0.114 b: 500 / 1000 for (0, 0, x) never; (5, 1, 4) gives 2.538.
  const Array image = rgb_of({255, 255, 255, 0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 255, 5, 1, 4});
  const Array grey = to_grey(image);
  EXPECT_EQ(grey.format(), Format(E::u8));
  const auto* p = grey.as<std::uint8_t>();
  EXPECT_THAT(std::vector<int>(p, p + 6), ElementsAre(255, 0, 76, 150, 29, 3));
}

TEST(Channels, grey_meets_ties) {
  // 299 r + 587 g + 114 b = 500 mod 1000 is a tie.
  int ties = 0;
  for (int r = 0; r < 256; r += 3) {
    for (int g = 0; g < 256; g += 5) {
      for (int b = 0; b < 256; ++b) {
        const int sum = 299 * r + 587 * g + 114 * b;
        if (sum % 1000 != 500) continue;
        const Array grey =
            to_grey(rgb_of({static_cast<std::uint8_t>(r), static_cast<std::uint8_t>(g), static_cast<std::uint8_t>(b)}));
        const int below = sum / 1000;
        ASSERT_EQ(grey.as<std::uint8_t>()[0], below + (below & 1)) << r << " " << g << " " << b;
        ++ties;
      }
    }
  }
  EXPECT_GT(ties, 100);
}

TEST(Channels, grey_of_every_type) {
  for (const E type : {E::u8, E::i16, E::u16, E::i32, E::u32, E::f16, E::f32, E::f64}) {
    const Array image = random_array(pixel_format(type, 4), {3, 4});
    const Array grey = to_grey(image);
    EXPECT_EQ(grey.format(), Format(type));
    EXPECT_EQ(grey.shape(), image.shape());
    EXPECT_NE(grey.owner(), image.owner());
  }
  const Array floats = random_array(pixel_format(E::f64, 3), {1, 1});
  const double* v = floats.as<double>();
  EXPECT_EQ(*to_grey(floats).as<double>(), 0.299 * v[0] + 0.587 * v[1] + 0.114 * v[2]);
  const Array negative = Array(pixel_format(E::i32, 3), {1});
  for (int k = 0; k < 3; ++k) negative.as<std::int32_t>()[k] = INT32_MIN;
  EXPECT_EQ(*to_grey(negative).as<std::int32_t>(), INT32_MIN);
}

TEST(Channels, grey_of_grey_is_the_same) {
  const Array grey = random_array(E::u8, {3, 4});
  EXPECT_EQ(to_grey(grey).data(), grey.data());
  const Array ga = random_array(pixel_format(E::u8, 2), {3, 4});
  expect_same(to_grey(ga), ga.field("g"));
  EXPECT_THAT(argument_error([] { to_grey(Array(pixel_format(E::u8, 5), {1})); }),
              HasSubstr("grey is made of 3 or 4 channels, struct channels has 5"));
  EXPECT_THAT(argument_error([] { to_grey(Array(pixel_format(E::boolean, 3), {1})); }),
              HasSubstr("got channels of bool"));
}

TEST(Channels, grey_of_a_view) {
  const Array image = random_array(pixel_format(E::u8, 3), {6, 7});
  const Array part = image.region(std::vector<i64>{1, 2}, std::vector<i64>{4, 6});
  expect_same(to_grey(part), to_grey(image).region(std::vector<i64>{1, 2}, std::vector<i64>{4, 6}));
}

TEST(Channels, are_relabelled) {
  const Format hsv = Format::record("hsv", {{"h", E::u8}, {"s", E::u8}, {"v", E::u8}});
  const Array image = random_array(pixel_format(E::u8, 3), {2, 3});
  const Array other = relabel(image, hsv);
  EXPECT_EQ(other.data(), image.data());
  EXPECT_EQ(other.format(), hsv);
  EXPECT_EQ(other.field("s").data(), image.field("g").data());
  EXPECT_EQ(relabel(Array(E::f32, {2}), Format::record("one", {{"x", E::f32}})).format().fields.size(), 1u);
  EXPECT_THAT(argument_error([&] { relabel(image, pixel_format(E::u8, 4)); }),
              HasSubstr("struct rgb has 3 channels, struct rgba needs 4 channels"));
  EXPECT_THAT(argument_error([&] { relabel(image, E::u8); }),
              HasSubstr("struct rgb has 3 channels, uint8 needs 1 channel"));
  EXPECT_THAT(argument_error([&] { relabel(image, pixel_format(E::u16, 3)); }),
              HasSubstr("channel 0 of struct rgb is uint8, struct rgb needs uint16"));
}

}  // namespace
}  // namespace tessera::io
