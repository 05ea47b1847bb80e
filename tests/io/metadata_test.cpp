// What files say of their pictures, below the command: turning, moving along, fitting to formats; and damage.
#include "io/metadata.hpp"

#include "base/files/files.hpp"
#include "support.hpp"

namespace tessera::io {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using E = ElementType;

std::vector<int> numbers(const Array& a) {
  const Array flat = a.clone();
  return {flat.as<std::uint8_t>(), flat.as<std::uint8_t>() + flat.count()};
}

class Pictures : public FolderTest {};

TEST(Orientation, turns_pixels_of_any_type_and_every_page) {
  const std::vector<std::uint8_t> stored = {1, 2, 3, 4, 5, 6};
  const Array picture = Array::from<std::uint8_t>(stored, {2, 3});
  const std::vector<std::vector<int>> seen = {{1, 2, 3, 4, 5, 6}, {3, 2, 1, 6, 5, 4}, {6, 5, 4, 3, 2, 1},
                                              {4, 5, 6, 1, 2, 3}, {1, 4, 2, 5, 3, 6}, {4, 1, 5, 2, 6, 3},
                                              {6, 3, 5, 2, 4, 1}, {3, 6, 2, 5, 1, 4}};
  for (int way = 1; way <= 8; ++way) {
    EXPECT_EQ(numbers(turned(picture, way)), seen[static_cast<std::size_t>(way - 1)]) << way;
    EXPECT_EQ(turned(picture, way).shape(), way < 5 ? (Shape{2, 3}) : (Shape{3, 2}));
  }
  for (const Format& format : {Format(E::f64), pixel_format(E::u16, 3), pixel_format(E::u8, 4)}) {
    const Array stack = random_array(format, {4, 5, 7}, 3);
    for (int way = 1; way <= 8; ++way) {
      const Array all = turned(stack, way);
      for (i64 k = 0; k < 4; ++k) {
        const std::vector<i64> begin = {k, 0, 0}, end = {k + 1, 5, 7};
        const std::vector<i64> first = {k, 0, 0}, last = {k + 1, all.shape()[1], all.shape()[2]};
        expect_same(all.region(first, last).clone(), turned(stack.region(begin, end), way));
      }
      EXPECT_TRUE(all.contiguous());
    }
  }
  EXPECT_EQ(numbers(turned(picture, 0)), numbers(picture));
  EXPECT_EQ(numbers(turned(picture, 9)), numbers(picture));
}

TEST(Orientation, exif_says_it_in_both_orders) {
  const auto block = [](bool big, int value) {
    std::vector<std::uint8_t> bytes;
    const auto put = [&](std::uint32_t v, int count) {
      for (int i = 0; i < count; ++i) bytes.push_back(static_cast<std::uint8_t>(v >> 8 * (big ? count - 1 - i : i)));
    };
    bytes = big ? std::vector<std::uint8_t>{'M', 'M'} : std::vector<std::uint8_t>{'I', 'I'};
    put(42, 2);
    put(8, 4);
    put(1, 2);
    put(0x112, 2);
    put(3, 2);
    put(1, 4);
    put(static_cast<std::uint32_t>(value), 2);
    put(0, 2);
    put(0, 4);
    return bytes;
  };
  for (const bool big : {false, true}) {
    for (int way = 1; way <= 8; ++way) {
      std::vector<std::uint8_t> bytes = block(big, way);
      EXPECT_EQ(exif_orientation(bytes), way);
      make_upright(bytes);
      EXPECT_EQ(bytes, block(big, 1));
    }
    EXPECT_EQ(exif_orientation(block(big, 9)), 0);
    const std::vector<std::uint8_t> whole = block(big, 6);
    for (std::size_t n = 0; n < whole.size() - 6; ++n) {
      std::vector<std::uint8_t> part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n));
      exif_orientation(part);
      make_upright(part);
      set_exif_extents(part, 3, 4);
      EXPECT_EQ(part.size(), n);
    }
  }
  EXPECT_EQ(xmp_orientation("<x tiff:Orientation=\"6\"/>"), 6);
  EXPECT_EQ(xmp_orientation("<tiff:Orientation>3</tiff:Orientation>"), 3);
  EXPECT_EQ(xmp_orientation("<x tiff:Orientation=\"9\"/>"), 0);
  EXPECT_EQ(xmp_orientation("tiff:Orientation"), 0);
}

TEST(Resolutions, go_to_the_unit_in_which_they_are_whole) {
  using Unit = Resolution::Unit;
  EXPECT_EQ(in_whole_numbers({118.11, 118.11, Unit::centimetre}), (Resolution{300, 300, Unit::inch}));
  EXPECT_EQ(in_whole_numbers({28.35, 28.35, Unit::centimetre}), (Resolution{72, 72, Unit::inch}));
  EXPECT_EQ(in_whole_numbers({47, 31, Unit::centimetre}), (Resolution{47, 31, Unit::centimetre}));
  EXPECT_EQ(in_whole_numbers({300, 150, Unit::inch}), (Resolution{300, 150, Unit::inch}));
  EXPECT_EQ(in_whole_numbers({4, 3, Unit::aspect}), (Resolution{4, 3, Unit::aspect}));
}

ImageHeader header_with_all(const Shape& extents) {
  Metadata m;
  m.icc.assign(200'000, 7);
  m.resolution = {300, 150, Resolution::Unit::inch};
  m.texts = {{"description", "a bridge"}, {"comment", "at noon"}};
  m.geo.scale = {2, 3, 0};
  m.geo.tiepoints = {0, 0, 0, 100, 200, 0};
  m.geo.keys = {1, 1, 0, 1, 1024, 0, 1, 1};
  m.storage = TiffStorage{5, true, 16, 32};
  m.exif = {'I', 'I', 42, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  ImageHeader header;
  header.extents = extents;
  header.nodata = -9999;
  header.metadata = std::make_shared<const Metadata>(m);
  return header;
}

TEST_F(Pictures, keep_what_the_format_has_a_place_for) {
  const Array picture = random_array(pixel_format(E::u8, 3), {40, 50}, 5);
  const ImageHeader header = header_with_all({40, 50});
  const auto lost = [&](const std::string& name) { return write_array(path(name), picture, {.header = header}).lost; };
  EXPECT_THAT(lost("x.tif"), ElementsAre("EXIF", "the texts (comment)"));
  EXPECT_THAT(lost("x.png"), ElementsAre("the place on the earth", "the value that stands for no data"));
  EXPECT_THAT(lost("x.jpg"),
              ElementsAre("the place on the earth", "the texts (description)", "the value that stands for no data"));
  EXPECT_EQ(lost("x.ppm").size(), 6u);
  const Image tiff = read_image(path("x.tif")), png = read_image(path("x.png")), jpeg = read_image(path("x.jpg"));
  expect_same(tiff.array, picture);
  for (const Image& image : {tiff, png, jpeg}) {
    ASSERT_NE(image.header.metadata, nullptr);
    EXPECT_EQ(image.header.metadata->icc, header.metadata->icc);
    EXPECT_TRUE(image.header.metadata->resolution.has_value());
  }
  EXPECT_EQ(tiff.header.nodata, -9999);
  EXPECT_EQ(tiff.header.metadata->geo.tiepoints, header.metadata->geo.tiepoints);
  EXPECT_EQ(tiff.header.metadata->storage->tile_width, 32);
  EXPECT_EQ(tiff.header.metadata->storage->compression, 5);
  EXPECT_EQ(jpeg.header.metadata->texts.at("comment"), "at noon");
  // A part has its own place, other extents have none.
  const std::vector<i64> begin = {10, 20}, end = {40, 50};
  const ImageHeader part = header_of_region(header, begin, end);
  EXPECT_THAT(part.metadata->geo.tiepoints, ElementsAre(0, 0, 0, 140, 170, 0));
  EXPECT_THAT(write_array(path("y.tif"), random_array(E::u8, {9, 9}), {.header = header}).lost,
              testing::IsSupersetOf(
                  {"the resolution (its extents are others)", "the place on the earth (its extents are others)"}));
}

TEST_F(Pictures, are_packed_as_asked) {
  const Array picture = Array(E::u16, {64, 64});
  for (const Packing packing : {Packing::none, Packing::deflate, Packing::lzw, Packing::packbits}) {
    write_array(path("x.tif"), picture, {.packing = packing});
    expect_same(read_array(path("x.tif")), picture);
    EXPECT_EQ(*base::file_size(path("x.tif")) > 64 * 64 * 2, packing == Packing::none);
  }
  const auto refused = [&](const std::string& name, const WriteOptions& options) {
    return message_of([&] { check_write_options(path(name), options); }, ErrorClass::argument);
  };
  EXPECT_THAT(refused("x.png", {.packing = Packing::lzw}), HasSubstr("PNG is not written with the compression lzw"));
  EXPECT_THAT(refused("x.jpg", {.packing = Packing::deflate}), HasSubstr("a JPEG has a quality"));
  EXPECT_THAT(refused("x.nii", {.packing = Packing::deflate}), HasSubstr("write .nii.gz"));
  EXPECT_THAT(refused("x.tif", {.compression = 3, .packing = Packing::lzw}), HasSubstr("has no levels, got 3"));
  EXPECT_THAT(refused("x.tif", {.compression = 23, .packing = Packing::zstd}), HasSubstr("from 1 to 22, got 23"));
  EXPECT_EQ(stored_type("x.png", E::f32), E::u8);
  EXPECT_EQ(stored_type("x.png", E::f32, E::u16), E::u16);
  EXPECT_EQ(stored_type("x.jpg", E::f32, E::u16), E::u8);
  EXPECT_EQ(stored_type("x.tif", E::f32, E::u16), E::f32);
  EXPECT_EQ(stored_type("x.npy", E::i32, E::u16), E::i32);
}

// A tile that reaches far past the picture, or whose sides no reader takes, is no reason to fail.
TEST_F(Pictures, in_tiles_of_any_size) {
  for (const auto& [height, width] : {std::pair<i64, i64>{16, 16}, {512, 16}, {17, 16}, {1 << 20, 1 << 20}, {16, 0}}) {
    ImageHeader header;
    header.extents = {70, 33};
    Metadata m;
    m.storage = TiffStorage{8, true, height, width};
    header.metadata = std::make_shared<const Metadata>(m);
    for (const Format& format : {Format(E::u16), pixel_format(E::f32, 3), pixel_format(E::u8, 4)}) {
      const Array picture = random_array(format, {70, 33}, 2);
      EXPECT_THAT(write_array(path("x.tif"), picture, {.header = header}).lost, IsEmpty());
      expect_same(read_array(path("x.tif")), picture);
    }
  }
}

// Whatever the bytes that tell of a picture say, reading gives a picture or an Error(io).
TEST_F(Pictures, with_damaged_metadata_are_read_or_refused) {
  const Array picture = random_array(pixel_format(E::u8, 3), {6, 5}, 5);
  ImageHeader header = header_with_all({6, 5});
  auto m = std::make_shared<Metadata>(*header.metadata);
  m->icc.resize(40);
  m->significant = {5, 6, 5};
  m->depth = 8;
  header.metadata = m;
  std::mt19937 random(11);
  for (const std::string name : {"x.png", "x.jpg", "x.tif"}) {
    write_array(path(name), picture, {.header = header});
    const std::vector<std::byte> good = base::read_bytes(path(name));
    int read = 0;
    for (int k = 0; k < 400; ++k) {
      std::vector<std::byte> bad = good;
      if (k % 3 == 0) bad.resize(random() % bad.size());
      for (int j = 0; j < 3 && !bad.empty(); ++j) bad[random() % bad.size()] = static_cast<std::byte>(random());
      try {
        const Image image = decode_image(bad, name);
        write_array(path("y.tif"), image.array, {.header = image.header});
        write_array(path("y.png"), as_planes(image.array)[0], {.type = E::u8, .header = image.header});
        ++read;
      } catch (const Error& e) {
        EXPECT_EQ(e.error_class(), ErrorClass::io) << e.what();
      }
    }
    EXPECT_GT(read, 0) << name;
  }
}

}  // namespace
}  // namespace tessera::io
