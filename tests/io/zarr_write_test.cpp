// Zarr and OME-Zarr, written by region: which files there are, what is there before and after commit(), what a process
// that was killed leaves, pyramids.
#include <cmath>
#include <limits>
#include <thread>

#include "io/axes.hpp"
#include "io/zarr/metadata.hpp"
#include "io/zarr/pyramid.hpp"
#include "zarr_support.hpp"

namespace tessera::io {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using E = ElementType;

class ZarrWrite : public ZarrTest {
 protected:
  static FileLayout layout_of(const Format& element, Shape shape, Shape chunk = {}, std::string letters = {}) {
    FileLayout layout;
    layout.element = element;
    layout.shape = std::move(shape);
    layout.chunk = std::move(chunk);
    layout.letters = std::move(letters);
    return layout;
  }
  std::unique_ptr<FileWriter> create(const std::string& name, const FileLayout& layout,
                                     const RegionWriteOptions& options = {}) const {
    return create_zarr(path(name), layout, options);
  }
  std::string refused(const std::string& name, const FileLayout& layout, const RegionWriteOptions& options = {},
                      ErrorClass cls = ErrorClass::argument) const {
    return message_of([&] { create(name, layout, options); }, cls);
  }
  void write_all(const std::string& name, const Array& array, const FileLayout& layout,
                 const RegionWriteOptions& options = {}) const {
    const std::unique_ptr<FileWriter> writer = create(name, layout, options);
    writer->write(all_of(array.shape()), array);
    writer->sync();
    writer->commit();
  }
};

TEST_F(ZarrWrite, EveryTypeAndPacking) {
  constexpr Packing packings[] = {Packing::none, Packing::deflate, Packing::zstd};
  int number = 0;
  for (const E type : {E::boolean, E::u8, E::i16, E::u16, E::i32, E::u32, E::f16, E::f32, E::f64}) {
    for (const Packing packing : {packings[number % 3], packings[(number + 1) % 3]}) {
      ++number;
      const Array array = random_array(type, {5, 17, 30});
      RegionWriteOptions options;
      options.write.packing = packing;
      write_all("a.zarr", array, layout_of(type, array.shape(), {2, 8, 11}, "zyx"), options);
      const std::unique_ptr<FileReader> reader = open("a.zarr");
      EXPECT_EQ(reader->layout().letters, "zyx");
      EXPECT_EQ(reader->layout().chunk, (Shape{2, 8, 11}));
      expect_same(read("a.zarr"), array);
      EXPECT_FALSE(fs::exists(path("a.zarr.partial")));
    }
  }
}

TEST_F(ZarrWrite, RegionsMakeTheSameFilesAsTheWhole) {
  const Array array = random_array(E::i16, {10, 21});
  const FileLayout layout = layout_of(E::i16, array.shape(), {4, 8});
  write_all("a.zarr", array, layout);
  const std::unique_ptr<FileWriter> writer = create("b.zarr", layout);
  std::vector<std::thread> threads;
  for (i64 y = 0; y < 10; y += 4)
    threads.emplace_back([&, y] {
      for (i64 x = 0; x < 21; x += 16) {
        const Region region{{y, x}, {std::min<i64>(y + 4, 10), std::min<i64>(x + 16, 21)}};
        writer->write(region, array.region(region.begin, region.end));
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(open("b.zarr"), nullptr);
  writer->commit();
  EXPECT_EQ(files_in("a.zarr"), files_in("b.zarr"));
  for (const std::string& file : files_in("a.zarr"))
    EXPECT_EQ(base::read_text(path("a.zarr/" + file)), base::read_text(path("b.zarr/" + file))) << file;
  for (const Region& region : {Region{{1, 0}, {4, 8}}, Region{{0, 0}, {4, 7}}})
    EXPECT_THAT(
        message_of([&] { writer->write(region, Array(E::i16, {region.end[0] - region.begin[0], region.end[1]})); },
                   ErrorClass::argument),
        HasSubstr("is none of chunks of 4x8"));
}

TEST_F(ZarrWrite, ChunksOfZerosHaveNoFile) {
  Array array(E::f32, {4, 6});
  array.as<float>()[23] = 1;
  array.as<float>()[0] = -0.0f;
  write_all("a.zarr", array, layout_of(E::f32, {4, 6}, {2, 3}));
  EXPECT_THAT(files_in("a.zarr"), ElementsAre("c/0/0", "c/1/1", "zarr.json"));
  expect_same(read("a.zarr"), array);
}

TEST_F(ZarrWrite, TheUsualChunks) {
  const auto usual = [&](E type, Shape shape, const std::string& letters) {
    return create("a.zarr", layout_of(type, std::move(shape), {}, letters))->layout().chunk;
  };
  EXPECT_EQ(usual(E::u16, {1000, 1000, 1000}, "zyx"), (Shape{64, 128, 128}));
  EXPECT_EQ(usual(E::f32, {5000, 5000}, "yx"), (Shape{512, 1024}));
  EXPECT_EQ(usual(E::u8, {10, 3, 20, 5000, 5000}, "tczyx"), (Shape{1, 1, 20, 256, 256}));
  EXPECT_EQ(usual(E::f32, {10, 20}, "yx"), (Shape{10, 20}));
  EXPECT_EQ(usual(E::f64, {i64{1} << 40}, ""), (Shape{262144}));
  EXPECT_EQ(usual(E::u8, {0, 5}, ""), (Shape{1, 5}));
  EXPECT_EQ(usual(E::u8, {}, ""), (Shape{}));
}

TEST_F(ZarrWrite, WhatCannotBeHeld) {
  EXPECT_THAT(refused("a.zarr", layout_of(Format::record("rgb", {{"r", E::u8}, {"g", E::u8}, {"b", E::u8}}), {4, 4})),
              HasSubstr("Zarr holds numbers, not struct rgb"));
  EXPECT_THAT(refused("a.zarr", layout_of(E::u8, {4, 4}, {0, 4})), HasSubstr("chunks of 0x4 were asked for"));
  EXPECT_THAT(refused("a.zarr", layout_of(E::u8, {4, 4}, {4})),
              HasSubstr("chunks of 4 were asked for an array of 4x4"));
  EXPECT_THAT(refused("a.zarr", layout_of(E::u8, {65536, 65536}, {65536, 65536})), HasSubstr("takes 4 GiB"));
  RegionWriteOptions options;
  options.write.packing = Packing::lzw;
  EXPECT_THAT(refused("a.zarr", layout_of(E::u8, {4, 4}), options),
              HasSubstr("packed by deflate, by zstd or not at all"));
  options.write.packing = Packing::zstd;
  options.write.compression = 23;
  EXPECT_THAT(refused("a.zarr", layout_of(E::u8, {4, 4}), options), HasSubstr("is 23, expected 0 to 22"));
  options = {};
  options.levels = 2;
  EXPECT_THAT(refused("a.zarr", layout_of(E::u8, {4, 4}), options), HasSubstr("2 levels were asked for"));
  for (const std::string letters : {"xy", "ctyx", "tx", "qqyx", "zcyx"})
    EXPECT_THAT(refused("a.ome.zarr", layout_of(E::u8, Shape(letters.size(), 4), {}, letters)),
                HasSubstr("its dimensions are '" + letters + "'"));
  EXPECT_THAT(refused("nowhere/a.zarr", layout_of(E::u8, {4, 4}), {}, ErrorClass::io), HasSubstr("cannot write"));
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(ZarrWrite, DimensionsWithoutNames) {
  for (const std::string letters : {"qqyx", "qx", "q", ""}) {
    const Array array = random_array(E::u8, Shape(letters.size(), 3));
    write_all("a.zarr", array, layout_of(E::u8, array.shape(), {}, letters));
    EXPECT_EQ(open("a.zarr")->layout().letters, letters == "q" ? "" : letters);
    expect_same(read("a.zarr"), array);
  }
}

// ---- before and after commit() -----------------------------------------------------------------------------------

TEST_F(ZarrWrite, ThePathIsAsItWasUntilCommit) {
  const Array first = random_array(E::u8, {4, 4}, 1), second = random_array(E::u8, {4, 4}, 2);
  const FileLayout layout = layout_of(E::u8, {4, 4}, {2, 2});
  write_all("a.zarr", first, layout);
  {
    const std::unique_ptr<FileWriter> writer = create("a.zarr", layout);
    writer->write(all_of({4, 4}), second);
    expect_same(read("a.zarr"), first);
    writer->discard();
    EXPECT_FALSE(fs::exists(path("a.zarr.partial")));
  }
  expect_same(read("a.zarr"), first);
  create("a.zarr/", layout)->write(all_of({4, 4}), second);
  EXPECT_TRUE(fs::exists(path("a.zarr.partial")));  // without commit() it stays
  write_all("a.zarr", second, layout);
  expect_same(read("a.zarr"), second);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

TEST_F(ZarrWrite, WhatIsNoZarrIsNotReplaced) {
  const FileLayout layout = layout_of(E::u8, {4, 4});
  put("a.zarr/precious", "text");
  EXPECT_THAT(refused("a.zarr", layout, {}, ErrorClass::io), HasSubstr("is a folder that is no Zarr array"));
  put("b.zarr", "text");
  EXPECT_THAT(refused("b.zarr", layout, {}, ErrorClass::io), HasSubstr("is a file"));
  fs::create_directory(path("c.zarr"));
  const Array array = random_array(E::u8, {4, 4});
  write_all("c.zarr", array, layout);
  expect_same(read("c.zarr"), array);
  // It came while the array was written.
  const std::unique_ptr<FileWriter> writer = create("d.zarr", layout);
  put("d.zarr/precious", "text");
  EXPECT_THAT(message_of([&] { writer->commit(); }), HasSubstr("is a folder that is no Zarr array"));
  EXPECT_EQ(base::read_text(path("a.zarr/precious")), "text");
  EXPECT_EQ(base::read_text(path("d.zarr/precious")), "text");
}

TEST_F(ZarrWrite, LinksAreFollowed) {
  const Array array = random_array(E::u8, {4, 4}), other = random_array(E::u8, {4, 4}, 2);
  write_all("real.zarr", array, layout_of(E::u8, {4, 4}));
  fs::create_directory_symlink("real.zarr", path("link.zarr"));
  write_all("link.zarr", other, layout_of(E::u8, {4, 4}));
  EXPECT_TRUE(fs::is_symlink(path("link.zarr")));
  expect_same(read("real.zarr"), other);
}

// ---- going on ----------------------------------------------------------------------------------------------------

TEST_F(ZarrWrite, WorkThatWasCutOffGoesOn) {
  const Array array = random_array(E::u16, {6, 8});
  const FileLayout layout = layout_of(E::u16, {6, 8}, {2, 4}, "yx");
  RegionWriteOptions resume;
  resume.resume = true;
  for (const std::string name : {"a.zarr", "a.ome.zarr"}) {
    create(name, layout)->write({{0, 0}, {2, 8}}, array.region(std::vector<i64>{0, 0}, std::vector<i64>{2, 8}));
    // What a process that is killed leaves: files that are not whole lie where they disturb nobody.
    put(name + ".partial/.writing/17", "half a chu");
    const std::unique_ptr<FileWriter> writer = create(name, layout, resume);
    writer->write({{2, 0}, {6, 8}}, array.region(std::vector<i64>{2, 0}, std::vector<i64>{6, 8}));
    writer->commit();
    expect_same(read(name), array);
    for (const std::string& file : files_in(name)) EXPECT_THAT(file, testing::Not(HasSubstr("writing")));
  }
  // A part of the metadata, or nothing.
  for (const std::string gone : {"zarr.json", "0/zarr.json"}) {
    create("b.ome.zarr", layout)->write({{0, 0}, {2, 8}}, array.region(std::vector<i64>{0, 0}, std::vector<i64>{2, 8}));
    fs::remove(path("b.ome.zarr.partial/" + gone));
    write_all("b.ome.zarr", array, layout, resume);
    expect_same(read("b.ome.zarr"), array);
  }
  fs::create_directory(path("c.zarr.partial"));
  write_all("c.zarr", array, layout, resume);
  write_all("d.zarr", array, layout, resume);
  expect_same(read("c.zarr"), read("d.zarr"));
}

TEST_F(ZarrWrite, OtherWorkIsNotGoneOnWith) {
  create("a.zarr", layout_of(E::u16, {6, 8}, {2, 4}));
  RegionWriteOptions resume;
  resume.resume = true;
  for (const FileLayout& other : {layout_of(E::u8, {6, 8}, {2, 4}), layout_of(E::u16, {6, 9}, {2, 4}),
                                  layout_of(E::u16, {6, 8}, {2, 8}), layout_of(E::u16, {6, 8}, {2, 4}, "yx")})
    EXPECT_THAT(refused("a.zarr", other, resume), HasSubstr("a.zarr.partial' was begun as another array"));
  EXPECT_NE(create("a.zarr", layout_of(E::u16, {6, 8}, {2, 4}), resume), nullptr);
}

TEST_F(ZarrWrite, ChunksThatBecameZerosGo) {
  Array array = random_array(E::u8, {4, 4});
  const FileLayout layout = layout_of(E::u8, {4, 4}, {2, 4});
  create("a.zarr", layout)->write(all_of({4, 4}), array);
  array = Array(E::u8, {4, 4});
  array.as<std::uint8_t>()[15] = 3;
  RegionWriteOptions resume;
  resume.resume = true;
  write_all("a.zarr", array, layout, resume);
  EXPECT_THAT(files_in("a.zarr"), ElementsAre("c/1/0", "zarr.json"));
  expect_same(read("a.zarr"), array);
}

// ---- OME-Zarr and its levels -------------------------------------------------------------------------------------

TEST_F(ZarrWrite, GroupsOfOmeReadBack) {
  FileLayout layout = layout_of(E::u16, {2, 3, 4, 5, 6}, {}, "tczyx");
  layout.steps = {{0.5, Step::Unit::second},
                  {},
                  {0.002, Step::Unit::millimetre},
                  {0.0005, Step::Unit::millimetre},
                  {0.7, Step::Unit::unknown}};
  const Array array = random_array(E::u16, layout.shape);
  write_all("a.OME.zarr", array, layout);
  EXPECT_EQ(open("a.OME.zarr")->layout().letters, "tczyx");
  EXPECT_EQ(open("a.OME.zarr")->layout().steps, layout.steps);
  expect_same(read("a.OME.zarr"), array);
  expect_same(read("a.OME.zarr/0"), array);
  for (const std::string letters : {"yx", "qyx", "tyx", "tqzyx"}) {
    const Shape shape(letters.size(), 3);
    write_all("b.ome.zarr", Array(E::u8, shape), layout_of(E::u8, shape, {}, letters));
    EXPECT_EQ(open("b.ome.zarr")->layout().letters, letters);
  }
  write_all("b.ome.zarr", Array(E::u8, {2, 3, 4}), layout_of(E::u8, {2, 3, 4}));
  EXPECT_EQ(open("b.ome.zarr")->layout().letters, "zyx");
  write_all("b.ome.zarr", Array(E::u8, {3, 4, 4}), layout_of(E::u8, {3, 4, 4}, {}, "syx"));
  EXPECT_EQ(open("b.ome.zarr")->layout().letters, "cyx");
}

TEST_F(ZarrWrite, LevelsAreMeans) {
  const std::uint8_t values[] = {1, 2, 5, 2, 2, 6, 0, 0, 9};
  RegionWriteOptions options;
  options.levels = 3;
  FileLayout layout = layout_of(E::u8, {3, 3}, {1, 2}, "yx");
  write_all("a.ome.zarr", Array::from<std::uint8_t>(values, {3, 3}), layout, options);
  // 7 / 4, 11 / 2 to the even one, 0, 9; then 17 / 4.
  const std::uint8_t first[] = {2, 6, 0, 9}, second[] = {4};
  expect_same(read("a.ome.zarr/1"), Array::from<std::uint8_t>(first, {2, 2}));
  expect_same(read("a.ome.zarr/2"), Array::from<std::uint8_t>(second, {1, 1}));
  EXPECT_THAT(message_of([&] { read_region(*open("a.ome.zarr/1"), {{0, 0}, {3, 3}}); }, ErrorClass::argument),
              HasSubstr("not within"));
}

TEST_F(ZarrWrite, SlicesAreHalvedWhereTheyAreAsNearAsRows) {
  const auto shapes = [&](double z, double yx) {
    FileLayout layout = layout_of(E::u8, {16, 64, 64}, {}, "zyx");
    const Step::Unit mm = Step::Unit::millimetre;
    if (z > 0) layout.steps = {{z, mm}, {yx, mm}, {yx, mm}};
    RegionWriteOptions options;
    options.levels = 4;
    write_all("a.ome.zarr", Array(E::u8, layout.shape), layout, options);
    std::vector<i64> slices;
    for (int k = 1; k < 4; ++k) {
      slices.push_back(open("a.ome.zarr/" + std::to_string(k))->layout().shape[0]);
      EXPECT_EQ(open("a.ome.zarr/" + std::to_string(k))->layout().shape[2], 64 >> k);
    }
    return slices;
  };
  EXPECT_THAT(shapes(1, 1), ElementsAre(8, 4, 2));
  EXPECT_THAT(shapes(0, 0), ElementsAre(8, 4, 2));
  EXPECT_THAT(shapes(2, 1), ElementsAre(16, 8, 4));
  EXPECT_THAT(shapes(4, 1), ElementsAre(16, 16, 8));
  EXPECT_THAT(shapes(0.2, 1), ElementsAre(16, 16, 16));
}

TEST(ZarrPyramid, FloatsAndWhatIsNotFinite) {
  const float values[] = {1, std::numeric_limits<float>::infinity(), 0.5f, std::nanf(""), 3, 4, 5, 6};
  Array to(E::f32, {1, 2, 1});
  zarr::halve(Array::from<float>(values, {2, 2, 2}), to, {true, false, true});
  EXPECT_EQ(to.as<float>()[0], std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(to.as<float>()[1]));
  zarr::halve(Array::from<float>(std::span(values).subspan(4), {2, 1, 2}), Array::borrow(to.data(), E::f32, {1, 1, 1}),
              {true, true, true});
  EXPECT_EQ(to.as<float>()[0], 4.5f);
}

TEST(ZarrLetters, AreInTheOrderOfOme) {
  const auto pixels = [](std::vector<std::string> names) { return named_pixels(E::u8, names); };
  ImageHeader header;
  EXPECT_EQ(zarr_letters(header, E::u8, 2), "yx");
  EXPECT_EQ(zarr_letters(header, E::u8, 4), "tzyx");
  EXPECT_EQ(zarr_letters(header, E::u8, 5), "qtzyx");
  EXPECT_EQ(zarr_letters(header, pixels({"c0", "c1"}), 3), "czyx");
  EXPECT_EQ(zarr_letters(header, pixels({"r", "g", "b"}), 2), "syx");
  header.axes = "tyx";
  EXPECT_EQ(zarr_letters(header, E::u8, 3), "tyx");
  EXPECT_EQ(zarr_letters(header, pixels({"c0", "c1"}), 3), "tcyx");
  EXPECT_EQ(zarr_letters(header, E::u8, 2), "yx");
}

}  // namespace
}  // namespace tessera::io
