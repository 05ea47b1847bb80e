// Files by region: whatever is read in parts is what read_image reads, whatever is written in parts is what it reads
// again.
#include "io/regions/regions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <thread>

#include "support.hpp"

namespace tessera::io {
namespace {

class Regions : public FolderTest {};

Region random_region(const Shape& shape, std::mt19937& random) {
  Region region;
  for (const i64 n : shape) {
    const i64 begin = static_cast<i64>(random() % static_cast<std::uint64_t>(n));
    region.begin.push_back(begin);
    region.end.push_back(begin + 1 + static_cast<i64>(random() % static_cast<std::uint64_t>(n - begin)));
  }
  return region;
}

void expect_regions(const std::string& path, const ReadOptions& options = {}) {
  const Image whole = read_image(path, options);
  const auto reader = open_parts(path, options);
  const RegionLayout& layout = reader->layout();
  EXPECT_EQ(layout.shape, whole.array.shape()) << path;
  EXPECT_TRUE(layout.element == whole.array.format()) << path;
  EXPECT_EQ(layout.header.axes, whole.header.axes) << path;
  EXPECT_EQ(layout.header.layout, whole.header.layout) << path;
  EXPECT_EQ(layout.header.steps, whole.header.steps) << path;
  std::mt19937 random(3);
  for (int k = 0; k < 20; ++k) {
    const Region region = random_region(layout.shape, random);
    const Array crop = whole.array.region(region.begin, region.end);
    const Array to(layout.element, crop.shape());
    reader->read(region, to);
    expect_same(to, crop, path);
  }
}

// In chunks of the writer, in any order.
void write_by_regions(const std::string& path, const Array& array, const RegionWriteOptions& options, unsigned seed) {
  const auto writer = create_regions(path, array.format(), array.shape(), options);
  const Shape& chunk = writer->layout().chunk;
  std::vector<Region> regions = {{{}, {}}};
  for (std::size_t d = 0; d < chunk.size(); ++d) {
    std::vector<Region> more;
    for (const Region& r : regions)
      for (i64 at = 0; at < array.shape()[d]; at += 2 * chunk[d]) {
        more.push_back(r);
        more.back().begin.push_back(at);
        more.back().end.push_back(std::min(at + 2 * chunk[d], array.shape()[d]));
      }
    regions = std::move(more);
  }
  std::shuffle(regions.begin(), regions.end(), std::mt19937(seed));
  for (const Region& r : regions) writer->write(r, array.region(r.begin, r.end));
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE(std::filesystem::exists(partial_name(path)));
  writer->commit();
  EXPECT_FALSE(std::filesystem::exists(partial_name(path)));
}

TEST_F(Regions, OfNumPyFilesAreThoseOfTheWhole) {
  for (const char* name : {"be_f8.npy", "be_u2.npy", "bool.npy", "f2.npy", "fortran.npy", "rgb.png.npy",
                           "series.nii.gz.npy", "imagej_series.tif.npy"})
    expect_regions(std::string(TESSERA_TEST_DATA) + "/formats/" + name);
  expect_regions(std::string(TESSERA_TEST_DATA) + "/formats/rgb.png.npy", {.axes = "yxc"});
  expect_regions(std::string(TESSERA_TEST_DATA) + "/formats/imagej_series.tif.npy", {.axes = "czyx"});
}

TEST_F(Regions, OfFilesWithoutPartsThereAreNone) {
  for (const char* name : {"rgb.png", "ga.png", "series.nii.gz"})
    EXPECT_EQ(open_parts(std::string(TESSERA_TEST_DATA) + "/formats/" + name), nullptr) << name;
}

TEST_F(Regions, OfNumPyFilesAreWrittenInAnyOrder) {
  unsigned seed = 1;
  for (const Format& format : {Format(ElementType::f32), Format(ElementType::u8), pixel_format(ElementType::u16, 3),
                               Format::record("record", {{"a", ElementType::u8}, {"b", ElementType::f64}})})
    for (const Shape& shape : {Shape{9}, Shape{31, 50000}, Shape{5, 7, 11}, Shape{2, 3, 4, 5}}) {
      const Array array = random_array(format, shape, ++seed);
      const std::string name = path(fmt::format("{}.npy", seed));
      write_by_regions(name, array, {}, seed);
      expect_same(read_array(name), array, name);
    }
}

TEST_F(Regions, AreWrittenInTheOrderOfTheirFile) {
  const std::string from = std::string(TESSERA_TEST_DATA) + "/formats/rgb.png.npy";
  const Image image = read_image(from, {.axes = "yxc"});
  RegionWriteOptions options;
  options.write.header = image.header;
  write_by_regions(path("a.npy"), image.array, options, 5);
  expect_same(read_array(path("a.npy")), read_array(from));
}

TEST_F(Regions, GoOnWhereTheyStopped) {
  const Array array = random_array(ElementType::f32, {40, 30}, 8);
  const std::string name = path("a.npy");
  {
    const auto writer = create_regions(name, array.format(), array.shape());
    writer->write({{0, 0}, {20, 30}}, array.region(std::vector<i64>{0, 0}, std::vector<i64>{20, 30}));
  }
  const auto writer = create_regions(name, array.format(), array.shape(), {.write = {}, .resume = true});
  writer->write({{20, 0}, {40, 30}}, array.region(std::vector<i64>{20, 0}, std::vector<i64>{40, 30}));
  writer->commit();
  expect_same(read_array(name), array);
  // What stands there is of another array.
  {
    const auto left = create_regions(name, array.format(), array.shape());
  }
  EXPECT_THAT(message_of([&] { create_regions(name, array.format(), {40, 31}, {.write = {}, .resume = true}); },
                         ErrorClass::argument),
              testing::HasSubstr("what stands there is not the beginning of this file"));
}

TEST_F(Regions, OfSeveralWritersAreOneFile) {
  constexpr int count = 3;
  const Shape shape{150, 700, 40};
  Array array = random_array(ElementType::u16, shape, 9);
  std::fill_n(array.as<std::uint16_t>(), 64 * 700 * 40, std::uint16_t{0});  // some chunks are
  for (const char* file : {"a.npy", "a.nrrd", "a.mha", "a.zarr", "a.ome.zarr", "packed.tif", "plain.tif"}) {
    const std::string name = path(file);
    const auto options = [&](int number) {
      RegionWriteOptions how{.write = {}, .levels = name.ends_with("ome.zarr") ? 2 : 1, .writers = {number, count}};
      if (name.ends_with(".tif")) how.write.packing = name.ends_with("packed.tif") ? Packing::deflate : Packing::none;
      return how;
    };
    EXPECT_THAT(message_of([&] { create_regions(name, array.format(), shape, options(1)); }),
                testing::HasSubstr("another process has begun it, but it is not here"))
        << name;
    std::vector<std::unique_ptr<RegionWriter>> writers;
    for (int k = 0; k < count; ++k) writers.push_back(create_regions(name, array.format(), shape, options(k)));
    EXPECT_THAT(message_of([&] { create_regions(name, array.format(), {150, 700, 41}, options(1)); },
                           file[0] == 'a' && name.ends_with("zarr") ? ErrorClass::io : ErrorClass::argument),
                testing::HasSubstr(file))
        << name;
    const Shape& chunk = writers[0]->layout().chunk;
    const Shape step{chunk[0] * std::max<i64>(10 / chunk[0], 1), chunk[1] * std::max<i64>(64 / chunk[1], 1), shape[2]};
    std::vector<std::thread> threads;
    for (int k = 0; k < count; ++k)
      threads.emplace_back([&, k] {
        int turn = 0;
        for (i64 z = 0; z < shape[0]; z += step[0])
          for (i64 y = 0; y < shape[1]; y += step[1]) {
            if (turn++ % count != k) continue;
            const std::vector<i64> begin{z, y, 0};
            const std::vector<i64> end{std::min(z + step[0], shape[0]), std::min(y + step[1], shape[1]), shape[2]};
            writers[static_cast<std::size_t>(k)]->write({begin, end}, array.region(begin, end));
          }
      });
    for (std::thread& thread : threads) thread.join();
    writers[0]->commit();
    writers.clear();
    EXPECT_FALSE(std::filesystem::exists(partial_name(name))) << name;
    expect_same(read_array(name), array, name);
  }
}

TEST_F(Regions, OfDamagedFilesAreRefused) {
  const Array array = random_array(ElementType::f32, {40, 30}, 8);
  write_array(path("a.npy"), array);
  std::filesystem::resize_file(path("a.npy"), 1000);
  EXPECT_THAT(message_of([&] { open_parts(path("a.npy")); }), testing::HasSubstr("it is cut short"));
  write_array(path("b.npy"), array);
  const auto reader = open_parts(path("b.npy"));
  const std::string before = reader->identity();
  std::filesystem::resize_file(path("b.npy"), 1000);
  EXPECT_NE(reader->identity(), before);
  EXPECT_THAT(message_of([&] { reader->read({{39, 0}, {40, 30}}, Array(ElementType::f32, {1, 30})); }),
              testing::HasSubstr("b.npy"));
  EXPECT_THAT(
      message_of([&] { reader->read({{39, 0}, {41, 30}}, Array(ElementType::f32, {2, 30})); }, ErrorClass::argument),
      testing::HasSubstr("is not within"));
  EXPECT_THAT(message_of([&] { create_regions(path("c.png"), ElementType::u8, {4, 4}); }, ErrorClass::argument),
              testing::HasSubstr("cannot be written by regions"));
}

}  // namespace
}  // namespace tessera::io
