// Reading files that other programs wrote, and photographs by known pixels.
#include <algorithm>
#include <numeric>

#include "base/files/files.hpp"
#include "support.hpp"

namespace tessera::io {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using E = ElementType;

std::vector<int> pixel(const Array& image, i64 y, i64 x) {
  const auto* p = reinterpret_cast<const std::uint8_t*>(image.at(std::vector<i64>{y, x}));
  return {p, p + channels_of(image)};
}

i64 sum_of(const Array& image) {
  const auto* p = image.as<std::uint8_t>();
  return std::accumulate(p, p + image.count() * channels_of(image), i64{0});
}

TEST(Read, photographs) {
  struct Known {
    const char* name;
    Shape shape;
    std::vector<int> first, inner, last;
    i64 sum;
  };
  // By Pillow.
  const Known photographs[] = {
      {"astronaut.png", {512, 512}, {154, 147, 151}, {81, 57, 17}, {0, 0, 0}, 90124324},
      {"brick.png", {512, 512}, {99}, {95}, {176}, 29217353},
      {"camera.png", {512, 512}, {200}, {54}, {149}, 33832495},
      {"coffee.png", {400, 600}, {21, 13, 8}, {203, 143, 85}, {143, 60, 29}, 71003487},
      {"moon.png", {512, 512}, {116}, {112}, {118}, 29404580},
  };
  for (const Known& k : photographs) {
    const Array image = read_array(std::string(TESSERA_TEST_DATA) + "/" + k.name);
    ASSERT_EQ(image.shape(), k.shape) << k.name;
    EXPECT_EQ(pixel(image, 0, 0), k.first) << k.name;
    EXPECT_EQ(pixel(image, 100, 200), k.inner) << k.name;
    EXPECT_EQ(pixel(image, k.shape[0] - 1, k.shape[1] - 1), k.last) << k.name;
    EXPECT_EQ(sum_of(image), k.sum) << k.name;
  }
}

TEST(Read, a_photograph_in_jpeg) {
  const Array image = read_array(std::string(TESSERA_TEST_DATA) + "/hubble_deep_field.jpg");
  ASSERT_EQ(image.shape(), (Shape{872, 1000}));
  EXPECT_EQ(image.format(), pixel_format(E::u8, 3));
  // Decoders may differ by rounding.
  EXPECT_NEAR(static_cast<double>(sum_of(image)), 50108051, 50108051 * 1e-3);
  EXPECT_NEAR(pixel(image, 0, 0)[0], 15, 2);
  EXPECT_NEAR(pixel(image, 871, 999)[1], 18, 2);
}

// tests/data/formats: each file with what it holds, by programs that are not ours (see make.py there).
TEST(Read, files_of_other_programs) {
  int files = 0;
  for (const auto& entry : fs::directory_iterator(std::string(TESSERA_TEST_DATA) + "/formats")) {
    const std::string path = entry.path().string();
    if (!fs::exists(path + ".npy")) continue;
    ++files;
    const Array expected = read_array(path + ".npy");
    Array image = read_array(path);
    if (image.format().is_struct()) image = as_channels(image);
    ASSERT_EQ(image.format().name(), expected.format().name()) << path;
    ASSERT_EQ(image.shape(), expected.shape()) << path;
    if (path.ends_with(".jpg") || path.ends_with("jpeg.tif")) {
      int worst = 0;
      for (i64 i = 0; i < image.count(); ++i) {
        worst = std::max(worst, std::abs(image.as<std::uint8_t>()[i] - expected.as<std::uint8_t>()[i]));
      }
      EXPECT_LE(worst, 3) << path;
    } else {
      EXPECT_TRUE(bytes_of(image) == bytes_of(expected)) << path;
    }
  }
  EXPECT_GE(files, 50);
}

class Content : public FolderTest {
 protected:
  Array decode(const std::string& text, const std::string& name = "x", const ReadOptions& options = {}) const {
    return decode_array(std::as_bytes(std::span(text.data(), text.size())), name, options);
  }
  std::string failure(const std::string& text, const std::string& name = "x", const ReadOptions& options = {}) const {
    return message_of([&] { decode(text, name, options); });
  }
};

TEST_F(Content, portable_maps_in_text) {
  const Array grey = decode("P2 # comment\n# another\n3\t2\n255\n0 1 2\n253 254 255\n");
  EXPECT_EQ(grey.shape(), (Shape{2, 3}));
  EXPECT_EQ(grey.as<std::uint8_t>()[4], 254);
  const Array wide = decode("P3\n1 1\n1000\n1000 0 999");
  EXPECT_EQ(wide.format(), pixel_format(E::u16, 3));
  EXPECT_EQ(wide.as<std::uint16_t>()[2], 999);
  const Array bits = decode("P1\n4 1\n0 110");
  EXPECT_EQ(bits.as<std::uint8_t>()[0], 255);
  EXPECT_EQ(bits.as<std::uint8_t>()[1], 0);
  EXPECT_THAT(failure("P2\n2 1\n255\n1 256"), HasSubstr("its sample is '256', expected a number from 0 to 255"));
  EXPECT_THAT(failure("P2\n2 2\n255\n1 2 3"), HasSubstr("cut short"));
  EXPECT_THAT(failure("P2\n2 -2\n255\n1 2 3"), HasSubstr("its height is '-2'"));
  EXPECT_THAT(failure("P1\n2 1\n02"), HasSubstr("a pixel is '2', expected 0 or 1"));
  EXPECT_THAT(failure(std::string("P5\n1 1\n100\n") + '\x65'), HasSubstr("a sample is 101, its maximum is 100"));
  EXPECT_THAT(failure("P5\n1 1\n70000\n"), HasSubstr("its maximum is '70000', expected a number from 1 to 65535"));
  EXPECT_THAT(failure("P5 # no end"), HasSubstr("the header is cut short"));
}

TEST_F(Content, pfm_of_both_byte_orders) {
  const std::string big("Pf\n1 2\n1.0\n\x3f\x80\0\0\x40\0\0\0", 19);
  const Array image = decode(big);
  EXPECT_EQ(image.as<float>()[0], 2.0f);  // rows go upward
  EXPECT_EQ(image.as<float>()[1], 1.0f);
  EXPECT_THAT(failure("Pf\n1 1\n0\n0000"), HasSubstr("its scale is '0'"));
  EXPECT_THAT(failure("Pf\n1 1\n-1\n000"), HasSubstr("cut short"));
}

std::string npy(const std::string& header, std::size_t bytes, char version = 1) {
  std::string out = std::string("\x93NUMPY") + version + '\0';
  const std::size_t prefix = version == 1 ? 2 : 4;
  for (std::size_t i = 0; i < prefix; ++i) out += static_cast<char>(header.size() >> (8 * i));
  return out + header + std::string(bytes, '\1');
}

TEST_F(Content, numpy_headers) {
  EXPECT_EQ(decode(npy("{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3), }", 12)).as<std::uint16_t>()[5], 257);
  EXPECT_EQ(decode(npy("{\"shape\":(2L,),'descr':'|u1','fortran_order':True}", 2, 2)).shape(), Shape{2});
  EXPECT_EQ(decode(npy("{'descr': '<f4', 'fortran_order': False, 'shape': ()}", 4)).rank(), 0);
  const Array record = decode(npy(
      "{'descr': [('a', '<f8'), ('', '|V3'), (('title', 'b'), '>i2')], 'fortran_order': False, 'shape': (2,)}", 26));
  EXPECT_EQ(record.format().fields[1].name, "b");
  EXPECT_EQ(record.format().size(), 16u);
  EXPECT_EQ(*reinterpret_cast<std::int16_t*>(record.field("b").at(std::vector<i64>{1})), 257);
  EXPECT_EQ(decode(npy("{'descr': [('r','|u1'),('g','|u1'),('b','|u1')], 'fortran_order': False, 'shape': (1,1)}", 3))
                .format(),
            pixel_format(E::u8, 3));
}

TEST_F(Content, numpy_complex_numbers) {
  const Format floats = Format::record("complex", {{"re", E::f32}, {"im", E::f32}});
  EXPECT_EQ(decode(npy("{'descr': '<c8', 'fortran_order': False, 'shape': (2,)}", 16)).format(), floats);
  EXPECT_EQ(decode(npy("{'descr': '>c16', 'fortran_order': False, 'shape': (1,)}", 16)).format(),
            Format::record("complex", {{"re", E::f64}, {"im", E::f64}}));
  const std::string file = (fs::temp_directory_path() / "tessera_complex_test.npy").string();
  Array pairs(floats, {3, 2});
  for (i64 i = 0; i < 12; ++i) pairs.as<float>()[i] = static_cast<float>(i);
  write_array(file, pairs);
  EXPECT_NE(base::read_text(file, 1 << 20).find("'descr': '<c8'"), std::string::npos);
  const Array back = read_array(file);
  fs::remove(file);
  EXPECT_EQ(back.format(), floats);
  ASSERT_EQ(back.shape(), pairs.shape());
  for (i64 i = 0; i < 12; ++i) EXPECT_EQ(back.as<float>()[i], static_cast<float>(i));
}

TEST_F(Content, numpy_headers_that_lie) {
  const auto with = [&](const std::string& header, std::size_t bytes = 8) { return failure(npy(header, bytes)); };
  EXPECT_THAT(with("{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3)}"),
              HasSubstr("it declares 2x3 elements of 2 bytes, but 8 bytes follow"));
  EXPECT_THAT(with("{'descr': '<c32', 'fortran_order': False, 'shape': (1,)}"),
              HasSubstr("the dtype '<c32' is none of"));
  EXPECT_THAT(with("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}"), HasSubstr("'|O' is not understood"));
  EXPECT_THAT(with("{'descr': '<U5', 'fortran_order': False, 'shape': (1,)}"), HasSubstr("is none of"));
  EXPECT_THAT(with("{'descr': '<u2', 'fortran_order': False, 'shape': (-1,)}"), HasSubstr("begins no number"));
  EXPECT_THAT(with("{'descr': '<u2', 'fortran_order': 0, 'shape': (1,)}"), HasSubstr("neither True nor False"));
  EXPECT_THAT(with("{'descr': '<u2', 'shape': (1,)}"), HasSubstr("a key of descr, fortran_order and shape is missing"));
  EXPECT_THAT(with("{'descr': '<u2', 'descr': '<u2'}"), HasSubstr("the key 'descr' is unexpected"));
  EXPECT_THAT(with("{'descr': [('a', '<u2', (3,))], 'fortran_order': False, 'shape': (1,)}"),
              HasSubstr("the field 'a' is an array"));
  EXPECT_THAT(with("{'descr': [('a', [('b', '<u2')])], 'fortran_order': False, 'shape': (1,)}"),
              HasSubstr("is a struct itself"));
  EXPECT_THAT(with("{'descr': [], 'fortran_order': False, 'shape': (1,)}"), HasSubstr("no fields"));
  EXPECT_THAT(with("{'descr': '|V8', 'fortran_order': False, 'shape': (1,)}"), HasSubstr("raw bytes"));
  EXPECT_THAT(with("{'descr': '<u2', 'fortran_order': False, 'shape': (99999999999999999999,)}"),
              HasSubstr("fits 63 bits"));
  EXPECT_THAT(with("{'descr': '<u2', 'fortran_order': False, 'shape': (4294967296, 4294967296)}"),
              HasSubstr("the file is damaged"));
  EXPECT_THAT(with("{'descr': '<u2', 'fortran_order': False, 'shape': (" +
                   [] {
                     std::string s;
                     for (int i = 0; i < 40; ++i) s += "1,";
                     return s;
                   }() +
                   ")}"),
              HasSubstr("more than 32 dimensions"));
  EXPECT_THAT(with("{'descr': '<u2"), HasSubstr("a string does not end"));
  EXPECT_THAT(failure(npy("{}", 0, 9)), HasSubstr("its version is 9"));
  EXPECT_THAT(failure(npy("{'descr': '<i8', 'fortran_order': False, 'shape': (1,)}", 8)),
              HasSubstr("element 0 is 72340172838076673, which does not fit 32 bits"));
}

TEST_F(Content, numpy_booleans_are_0_or_1) {
  std::string text = npy("{'descr': '|b1', 'fortran_order': False, 'shape': (2,)}", 2);
  text.back() = '\7';
  EXPECT_EQ(decode(text).as<std::uint8_t>()[1], 1);
}

TEST_F(Content, unknown) {
  EXPECT_THAT(failure(""), HasSubstr("cannot read 'x': the file is empty"));
  EXPECT_THAT(failure("hello"), HasSubstr("its content is of no known format\nnote: known are PNG, JPEG"));
  EXPECT_THAT(failure("RIFF....WEBP"), HasSubstr("its content is WebP, which is not read"));
  EXPECT_THAT(failure("hello", "a\nb"), HasSubstr("'a\\x0ab'"));
  EXPECT_THAT(message_of([&] { read_array(path("none.png")); }), HasSubstr("no such file or folder"));
  EXPECT_THAT(message_of([&] { read_array(folder_); }), HasSubstr("it is a folder"));
}

TEST_F(Content, does_not_trust_the_suffix) {
  const Array image = random_array(E::u8, {3, 4});
  write_array(path("x.png"), image);
  fs::rename(path("x.png"), path("x.jpg"));
  expect_same(read_array(path("x.jpg")), image);
}

TEST_F(Content, keeps_to_the_limit) {
  write_array(path("x.png"), Array(E::u8, {1000, 1000}));
  EXPECT_EQ(read_array(path("x.png"), {.max_bytes = 1000000}).count(), 1000000);
  EXPECT_THAT(message_of([&] { read_array(path("x.png"), {.max_bytes = 999999}); }),
              HasSubstr("it declares 1000x1000 elements of uint8, 977 KiB; the limit is 977 KiB"));
  EXPECT_THAT(message_of([&] { read_array(path("x.png"), {.max_bytes = 10}); }), HasSubstr("the limit is 10 B"));
}

TEST_F(Content, reads_a_pipe) {
  const Array image = random_array(E::u8, {30, 40});
  write_array(path("x.pgm"), image);
  ASSERT_EQ(std::system(("mkfifo " + path("fifo")).c_str()), 0);
  ASSERT_EQ(std::system(("cat " + path("x.pgm") + " > " + path("fifo") + " &").c_str()), 0);
  expect_same(read_array(path("fifo")), image);
}

}  // namespace
}  // namespace tessera::io
