// TIFF by region: every part of every kind of file is the same part of the whole, and what is written by parts, in any
// order, by threads, in two runs, is the whole.
#include <tiffio.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "base/files/files.hpp"
#include "io/axes.hpp"
#include "io/metadata.hpp"
#include "io/tiff/regions.hpp"
#include "support.hpp"

namespace tessera::io {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using E = ElementType;

const std::string data = std::string(TESSERA_TEST_DATA) + "/formats/";

Region whole_region(const Shape& shape) {
  return {std::vector<i64>(shape.size(), 0), shape};
}

Array read_part(const FileReader& reader, const Region& region) {
  Shape extents;
  for (std::size_t d = 0; d < region.begin.size(); ++d) extents.push_back(region.end[d] - region.begin[d]);
  Array part(reader.layout().element, extents);
  reader.read(region, part);
  return part;
}

Array read_whole(const FileReader& reader) {
  return read_part(reader, whole_region(reader.layout().shape));
}

Region random_region(const Shape& shape, std::mt19937& random) {
  Region region;
  for (const i64 extent : shape) {
    const i64 a = static_cast<i64>(random() % static_cast<unsigned>(extent));
    const i64 b = a + 1 + static_cast<i64>(random() % static_cast<unsigned>(extent - a));
    region.begin.push_back(a);
    region.end.push_back(b);
  }
  return region;
}

// Arranged it is what read_image() reads, and any part is the part of the whole.
void expect_regions(const std::string& path, const ReadOptions& options = {}, int parts = 12) {
  const Image expected = read_image(path, options);
  const std::unique_ptr<FileReader> reader = open_tiff(path, options);
  ASSERT_NE(reader, nullptr) << path;
  const FileLayout& layout = reader->layout();
  const Array whole = read_whole(*reader);
  if (layout.letters.empty()) {
    expect_same(whole, expected.array, path);
  } else {
    const Image image = arrange(whole, layout.letters, layout.steps, layout.header);
    expect_same(image.array, expected.array, path);
    EXPECT_EQ(image.header.axes, expected.header.axes) << path;
    EXPECT_EQ(image.header.layout, expected.header.layout) << path;
    EXPECT_EQ(image.header.steps, expected.header.steps) << path;
  }
  EXPECT_EQ(layout.header.associated_alpha, expected.header.associated_alpha) << path;
  EXPECT_EQ(layout.header.nodata, expected.header.nodata) << path;
  ASSERT_EQ(layout.chunk.size(), layout.shape.size());
  std::mt19937 random(7);
  for (int k = 0; k < parts; ++k) {
    if (k == parts / 2) reader->keep_chunks(k % 4 == 0 ? -1 : 1000);
    const Region region = random_region(layout.shape, random);
    expect_same(read_part(*reader, region), whole.region(region.begin, region.end), path);
  }
}

class TiffRegions : public FolderTest {};

TEST_F(TiffRegions, read_every_sample_file) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(data)) {
    if (entry.path().extension() != ".tif") continue;
    expect_regions(entry.path().string());
    ++count;
  }
  EXPECT_GT(count, 20);
  expect_regions(data + "pages.tif", {.page = 1});
  expect_regions(data + "imagej_series.tif", {.axes = "t4z3yx"});
  expect_regions(data + "planar.tif", {.axes = "zyx"});
  EXPECT_EQ(open_tiff(data + "rgb.png", {}), nullptr);
  EXPECT_EQ(open_tiff(path("none.tif"), {}), nullptr);
  EXPECT_EQ(open_tiff(folder_, {}), nullptr);
}

// ---- files of the library ----------------------------------------------------------------------------------------

struct Made {
  std::string mode = "w";
  std::uint16_t compression = COMPRESSION_NONE, samples = 1, bits = 8, format = SAMPLEFORMAT_UINT,
                planar = PLANARCONFIG_CONTIG, photometric = PHOTOMETRIC_MINISBLACK, predictor = 0;
  std::uint32_t height = 67, width = 85, rows = 10, tile = 0;
  int pages = 1;
  std::string description = {};
};

void set_tags(TIFF* tiff, const Made& m, std::uint32_t height, std::uint32_t width) {
  TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, width);
  TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, height);
  TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, m.samples);
  TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, m.bits);
  TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT, m.format);
  TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, m.planar);
  TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, m.photometric);
  TIFFSetField(tiff, TIFFTAG_COMPRESSION, m.compression);
  if (m.predictor != 0) TIFFSetField(tiff, TIFFTAG_PREDICTOR, m.predictor);
  if (m.photometric == PHOTOMETRIC_PALETTE) {
    std::vector<std::uint16_t> map(std::size_t{1} << m.bits);
    for (std::size_t k = 0; k < map.size(); ++k) map[k] = static_cast<std::uint16_t>(k * 7919);
    TIFFSetField(tiff, TIFFTAG_COLORMAP, map.data(), map.data(), map.data());
  }
  if (m.tile > 0) {
    TIFFSetField(tiff, TIFFTAG_TILEWIDTH, m.tile);
    TIFFSetField(tiff, TIFFTAG_TILELENGTH, m.tile);
  } else {
    TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, m.rows);
  }
}

void write_pixels(TIFF* tiff, const Made& m, std::mt19937& random) {
  const bool tiled = m.tile > 0;
  const auto size = static_cast<std::size_t>(tiled ? TIFFTileSize(tiff) : TIFFStripSize(tiff));
  const std::uint32_t count = tiled ? TIFFNumberOfTiles(tiff) : TIFFNumberOfStrips(tiff);
  std::vector<std::uint8_t> block(size);
  for (std::uint32_t k = 0; k < count; ++k) {
    for (std::uint8_t& b : block) b = static_cast<std::uint8_t>(random() % 61);  // no NaN
    const auto bytes = static_cast<tmsize_t>(size);
    ASSERT_GE(tiled ? TIFFWriteEncodedTile(tiff, k, block.data(), bytes)
                    : TIFFWriteEncodedStrip(tiff, k, block.data(), bytes),
              0);
  }
}

void make(const std::string& path, const Made& m) {
  std::mt19937 random(3);
  TIFF* tiff = TIFFOpen(path.c_str(), m.mode.c_str());
  ASSERT_NE(tiff, nullptr);
  for (int page = 0; page < m.pages; ++page) {
    set_tags(tiff, m, m.height, m.width);
    if (page == 0 && !m.description.empty()) TIFFSetField(tiff, TIFFTAG_IMAGEDESCRIPTION, m.description.c_str());
    write_pixels(tiff, m, random);
    TIFFWriteDirectory(tiff);
  }
  TIFFClose(tiff);
}

TEST_F(TiffRegions, read_what_the_library_writes) {
  for (const char* mode : {"wl", "wb8"}) {
    for (const std::uint32_t tile : {0u, 16u, 48u}) {
      for (const std::uint16_t planar : std::vector<std::uint16_t>{PLANARCONFIG_CONTIG, PLANARCONFIG_SEPARATE}) {
        for (const std::uint16_t compression :
             std::vector<std::uint16_t>{COMPRESSION_NONE, COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE}) {
          for (const std::uint16_t bits : {std::uint16_t{8}, std::uint16_t{16}, std::uint16_t{32}}) {
            Made m{.mode = mode, .compression = compression, .samples = 3, .bits = bits, .planar = planar};
            m.photometric = PHOTOMETRIC_RGB;
            m.tile = tile;
            m.predictor = compression == COMPRESSION_LZW ? PREDICTOR_HORIZONTAL : PREDICTOR_NONE;
            if (compression == COMPRESSION_NONE) m.predictor = 0;
            make(path("x.tif"), m);
            expect_regions(path("x.tif"), {}, 4);
          }
        }
      }
    }
  }
}

TEST_F(TiffRegions, read_bits_palettes_and_numbers) {
  for (const std::uint32_t tile : {0u, 32u}) {
    for (const std::uint16_t bits : {std::uint16_t{1}, std::uint16_t{2}, std::uint16_t{4}, std::uint16_t{8}}) {
      for (const std::uint16_t photometric :
           std::vector<std::uint16_t>{PHOTOMETRIC_MINISBLACK, PHOTOMETRIC_MINISWHITE, PHOTOMETRIC_PALETTE}) {
        Made m{.compression = COMPRESSION_PACKBITS, .bits = bits, .photometric = photometric};
        m.tile = tile;
        make(path("x.tif"), m);
        expect_regions(path("x.tif"), {}, 4);
        m.compression = COMPRESSION_NONE;
        make(path("x.tif"), m);
        expect_regions(path("x.tif"), {}, 4);
      }
    }
    for (const char* mode : {"wl", "wb"}) {
      make(path("x.tif"), {.mode = mode, .format = SAMPLEFORMAT_INT, .tile = tile});
      expect_regions(path("x.tif"), {}, 4);
      make(path("x.tif"), {.mode = mode, .bits = 64, .format = SAMPLEFORMAT_IEEEFP, .tile = tile});
      expect_regions(path("x.tif"), {}, 4);
    }
  }
  make(path("x.tif"), {.samples = 4, .photometric = PHOTOMETRIC_SEPARATED});
  expect_regions(path("x.tif"));
  make(path("x.tif"), {.rows = 0xffffffff});  // one strip
  expect_regions(path("x.tif"));
}

TEST_F(TiffRegions, read_pages_and_their_meaning) {
  make(path("x.tif"), {.pages = 6});
  expect_regions(path("x.tif"));
  expect_regions(path("x.tif"), {.page = 2, .last_page = 4});
  expect_regions(path("x.tif"), {.axes = "c2z3yx"});
  expect_regions(path("x.tif"), {.axes = "z3tyx"});
  make(path("x.tif"),
       {.compression = COMPRESSION_LZW, .pages = 6, .description = "ImageJ=1\nimages=6\nchannels=2\nslices=3\n"});
  expect_regions(path("x.tif"));
}

TEST_F(TiffRegions, many_threads_read_at_once) {
  make(path("x.tif"), {.compression = COMPRESSION_LZW, .tile = 16, .pages = 5});
  const auto reader = open_tiff(path("x.tif"), {});
  const Array whole = read_whole(*reader);
  std::vector<std::thread> threads;
  for (unsigned k = 0; k < 6; ++k) {
    threads.emplace_back([&, k] {
      std::mt19937 random(k);
      for (int i = 0; i < 40; ++i) {
        const Region region = random_region(whole.shape(), random);
        EXPECT_EQ(bytes_of(read_part(*reader, region)), bytes_of(whole.region(region.begin, region.end)));
        if (i % 10 == 0) reader->keep_chunks(static_cast<i64>(random() % 4000));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(TiffRegions, lower_levels_of_a_pyramid) {
  const Made m{.compression = COMPRESSION_LZW, .tile = 16};
  TIFF* tiff = TIFFOpen(path("x.tif").c_str(), "w");
  std::mt19937 random(3);
  for (int page = 0; page < 2; ++page) {
    std::uint64_t places[2] = {0, 0};
    set_tags(tiff, m, 64, 80);
    TIFFSetField(tiff, TIFFTAG_SUBIFD, 2, places);
    write_pixels(tiff, m, random);
    TIFFWriteDirectory(tiff);
    for (const std::uint32_t part : {2u, 4u}) {
      set_tags(tiff, m, 64 / part, 80 / part);
      TIFFSetField(tiff, TIFFTAG_SUBFILETYPE, FILETYPE_REDUCEDIMAGE);
      write_pixels(tiff, m, random);
      TIFFWriteDirectory(tiff);
    }
  }
  TIFFClose(tiff);
  expect_regions(path("x.tif"));
  EXPECT_EQ(read_array(path("x.tif"), {.level = 2}).shape(), (Shape{2, 16, 20}));
  expect_regions(path("x.tif"), {.level = 1});
  expect_regions(path("x.tif"), {.page = 1, .level = 2});
  EXPECT_THAT(message_of([&] { open_tiff(path("x.tif"), {.level = 3}); }),
              HasSubstr("page 0 has 3 levels of a pyramid, asked for level 3 (from 0)"));
  EXPECT_THAT(message_of([&] { read_array(data + "tiles.tif", {.level = 1}); }),
              HasSubstr("page 0 has 1 level of a pyramid, asked for level 1"));
}

TEST_F(TiffRegions, refuse_what_is_not_there) {
  make(path("x.tif"), {});
  const auto reader = open_tiff(path("x.tif"), {});
  EXPECT_THAT(message_of([&] { reader->read({{0, 0}, {68, 85}}, Array(E::u8, {68, 85})); }, ErrorClass::argument),
              HasSubstr("a region of 68x85 is not within 67x85 of uint8"));
  EXPECT_THAT(message_of([&] { reader->read({{0, 0}, {2, 2}}, Array(E::u16, {2, 2})); }, ErrorClass::argument),
              HasSubstr("needs an array"));
  EXPECT_THAT(message_of([&] { reader->read({{0}, {2}}, Array(E::u8, {2})); }, ErrorClass::argument),
              HasSubstr("is not within"));
  const std::string before = reader->identity();
  EXPECT_EQ(before, reader->identity());
  make(path("x.tif"), {.height = 68});
  EXPECT_NE(before, reader->identity());
  make(path("x.tif"), {.compression = COMPRESSION_LZW, .tile = 32});
  std::vector<std::byte> bytes = base::read_bytes(path("x.tif"));
  bytes.resize(bytes.size() / 2);
  // (The directory is at the end of such a file.)
  base::write_file(path("x.tif"), bytes);
  EXPECT_THAT(message_of([&] { open_tiff(path("x.tif"), {}); }), HasSubstr("cannot read"));
}

TEST_F(TiffRegions, damage_gives_errors_or_values) {
  std::mt19937 random(11);
  std::vector<Made> kinds = {
      {},
      {.compression = COMPRESSION_LZW, .tile = 16},
      {.samples = 3, .planar = PLANARCONFIG_SEPARATE, .photometric = PHOTOMETRIC_RGB, .tile = 32},
      {.mode = "wb8", .bits = 16, .pages = 3}};
  for (const Made& kind : kinds) {
    make(path("x.tif"), kind);
    const std::vector<std::byte> good = base::read_bytes(path("x.tif"));
    for (int k = 0; k < 60; ++k) {
      std::vector<std::byte> bytes = good;
      // Directories stand at the end.
      const std::size_t range = std::min<std::size_t>(bytes.size(), k % 2 == 0 ? 300 : bytes.size());
      for (int flip = 0; flip <= k % 3; ++flip)
        bytes[bytes.size() - 1 - random() % range] ^= std::byte{static_cast<unsigned char>(1u << random() % 8)};
      if (k % 5 == 0) bytes.resize(random() % bytes.size());
      write_quickly(path("x.tif"), bytes);
      try {
        const auto reader = open_tiff(path("x.tif"), {.max_bytes = i64{1} << 28});
        if (reader == nullptr) continue;
        Region region;
        for (const i64 extent : reader->layout().shape) {
          region.begin.push_back(std::max<i64>(extent - 40, 0));
          region.end.push_back(extent);
        }
        if (region.begin.size() > 4) continue;
        read_part(*reader, region);
      } catch (const Error& e) {
        EXPECT_EQ(e.error_class(), ErrorClass::io) << e.what();
      }
    }
  }
}

// ---- writing -----------------------------------------------------------------------------------------------------

FileLayout layout_of(const Array& array, const std::string& letters = "", const Shape& chunk = {}) {
  FileLayout layout;
  layout.element = array.format();
  layout.shape = array.shape();
  layout.letters = letters;
  layout.chunk = chunk;
  return layout;
}

// All boxes of the writer's chunks, several chunks wide now and then, in random order.
std::vector<Region> random_chunks(const FileLayout& layout, std::mt19937& random) {
  std::vector<Region> regions = {{{}, {}}};
  for (std::size_t d = 0; d < layout.shape.size(); ++d) {
    std::vector<Region> longer;
    const i64 step = layout.chunk[d] * static_cast<i64>(1 + random() % 2);
    for (const Region& region : regions) {
      for (i64 at = 0; at < layout.shape[d]; at += step) {
        longer.push_back(region);
        longer.back().begin.push_back(at);
        longer.back().end.push_back(std::min(at + step, layout.shape[d]));
      }
    }
    regions = std::move(longer);
  }
  std::shuffle(regions.begin(), regions.end(), random);
  return regions;
}

void write_part(FileWriter& writer, const Array& array, const Region& region) {
  writer.write(region, array.region(region.begin, region.end));
}

void write_all(FileWriter& writer, const Array& array, unsigned seed = 5) {
  std::mt19937 random(seed);
  for (const Region& region : random_chunks(writer.layout(), random)) write_part(writer, array, region);
  writer.sync();
  writer.commit();
}

// The tags of every page but those that say where blocks are and how they are cut.
std::vector<std::string> tags_of(const std::string& path) {
  std::vector<std::string> out;
  TIFF* tiff = TIFFOpen(path.c_str(), "r");
  do {
    char* text = nullptr;
    std::size_t size = 0;
    FILE* to = ::open_memstream(&text, &size);
    TIFFPrintDirectory(tiff, to, 0);
    std::fclose(to);
    std::string all(text, size);
    std::free(text);
    std::string kept;
    for (std::size_t at = 0; at < all.size();) {
      const std::size_t end = std::min(all.find('\n', at), all.size());
      const std::string line = all.substr(at, end - at);
      if (line.find("Strip") == std::string::npos && line.find("Tile") == std::string::npos &&
          line.find("Directory at") == std::string::npos && line.find("TIFF Directory") == std::string::npos)
        kept += line + "\n";
      at = end + 1;
    }
    out.push_back(kept);
  } while (TIFFReadDirectory(tiff) == 1);
  TIFFClose(tiff);
  return out;
}

TEST_F(TiffRegions, written_they_are_the_whole) {
  const std::vector<Packing> packings = {Packing::none, Packing::deflate, Packing::lzw, Packing::packbits,
                                         Packing::zstd};
  for (const Packing packing : packings) {
    for (const Format& format : {Format(E::u8), Format(E::i16), Format(E::f32), Format(E::f64), pixel_format(E::u8, 3),
                                 pixel_format(E::u16, 4), pixel_format(E::u16, 7)}) {
      for (const Shape& chunk : {Shape{}, Shape{16, 32}, Shape{50, 1000}}) {
        const Array image = random_array(format, {75, 91});
        const RegionWriteOptions options{.write = {.packing = packing}};
        const auto writer = create_tiff(path("x.tif"), layout_of(image, "", chunk), options);
        EXPECT_FALSE(fs::exists(path("x.tif")));
        write_all(*writer, image);
        expect_same(read_array(path("x.tif")), image);
        EXPECT_FALSE(fs::exists(partial_name(path("x.tif"))));
        expect_regions(path("x.tif"), {}, 3);
        write_array(path("y.tif"), image, options.write);
        EXPECT_EQ(tags_of(path("x.tif")), tags_of(path("y.tif"))) << format.name();
        fs::remove(path("x.tif"));
      }
    }
  }
}

TEST_F(TiffRegions, written_by_pages_and_letters) {
  struct Case {
    Format format;
    Shape shape;
    std::string letters, name;
  };
  const std::vector<Case> cases = {{E::u16, {3, 20, 30}, "", "x.tif"},
                                   {E::u16, {2, 3, 20, 30}, "", "x.tif"},
                                   {E::u16, {2, 3, 4, 20, 30}, "tzcyx", "x.tif"},
                                   {E::u16, {2, 3, 4, 20, 30}, "tczyx", "x.tif"},
                                   {E::u16, {2, 3, 4, 20, 30}, "tczyx", "x.ome.tif"},
                                   {E::u8, {2, 20, 30, 3}, "zyxs", "x.tif"},
                                   {E::u8, {2, 20, 30, 5}, "zyxc", "x.tif"},
                                   {pixel_format(E::u8, 3), {2, 20, 30}, "zyxs", "x.tif"},
                                   {pixel_format(E::u8, 3), {2, 20, 30}, "zyx", "x.tif"},
                                   {pixel_format(E::u8, 3), {20, 30}, "yxs", "x.ome.tif"}};
  for (const Case& c : cases) {
    const Array image = random_array(c.format, c.shape);
    FileLayout layout = layout_of(image, c.letters, {});
    for (std::size_t d = 0; d < c.letters.size() && d < c.shape.size(); ++d) {
      const char letter = c.letters[d];
      layout.steps.push_back(letter == 't'                    ? Step{2.5, Step::Unit::second}
                             : letter == 'z'                  ? Step{3, Step::Unit::millimetre}
                             : letter == 'x' || letter == 'y' ? Step{0.5, Step::Unit::millimetre}
                                                              : Step{});
    }
    write_all(*create_tiff(path(c.name), layout, {.write = {.packing = Packing::deflate}}), image);
    const Image back = read_image(path(c.name));
    if (c.letters.empty()) {
      expect_same(back.array, image, c.letters);
    } else {
      const Image expected = arrange(image, c.letters, layout.steps);
      write_array(path("y" + c.name), expected.array, {.packing = Packing::deflate, .header = expected.header});
      const Image other = read_image(path("y" + c.name));
      expect_same(back.array, other.array, c.letters);
      EXPECT_EQ(back.header.axes, other.header.axes) << c.letters;
      EXPECT_EQ(back.header.layout, other.header.layout) << c.letters;
      EXPECT_EQ(back.header.steps, other.header.steps) << c.letters;
      EXPECT_EQ(tags_of(path(c.name)), tags_of(path("y" + c.name))) << c.letters;
    }
  }
}

TEST_F(TiffRegions, keep_metadata_and_tiles) {
  make(path("x.tif"), {.compression = COMPRESSION_LZW, .tile = 32});
  Image image = read_image(path("x.tif"));
  auto metadata = std::make_shared<Metadata>(*image.header.metadata);
  metadata->geo.scale = {2, 2, 0};
  metadata->geo.tiepoints = {0, 0, 0, 100, 200, 0};
  metadata->icc.assign(500, 7);
  metadata->texts = {{"description", "a picture"}, {"artist", "somebody"}};
  metadata->resolution = Resolution{300, 300, Resolution::Unit::inch};
  image.header.metadata = metadata;
  image.header.nodata = -1;
  FileLayout layout = layout_of(image.array);
  layout.header = image.header;
  const auto writer = create_tiff(path("r.tif"), layout, {});
  EXPECT_EQ(writer->layout().chunk, (Shape{32, 32}));
  write_all(*writer, image.array);
  write_array(path("w.tif"), image.array, {.header = image.header});
  EXPECT_EQ(tags_of(path("r.tif")), tags_of(path("w.tif")));
  const Image back = read_image(path("r.tif"));
  expect_same(back.array, image.array);
  EXPECT_EQ(back.header.nodata, -1);
  EXPECT_EQ(back.header.metadata->geo.scale, metadata->geo.scale);
  EXPECT_EQ(back.header.metadata->icc, metadata->icc);
  EXPECT_EQ(back.header.metadata->texts, metadata->texts);
  EXPECT_EQ(back.header.metadata->storage->tile_width, 32);
}

TEST_F(TiffRegions, many_threads_write) {
  const Array image = random_array(E::u16, {3, 130, 170});
  const auto writer =
      create_tiff(path("x.tif"), layout_of(image, "", {1, 16, 16}), {.write = {.packing = Packing::zstd}});
  std::mt19937 random(2);
  const std::vector<Region> regions = random_chunks(writer->layout(), random);
  std::vector<std::thread> threads;
  for (std::size_t k = 0; k < 5; ++k) {
    threads.emplace_back([&, k] {
      for (std::size_t r = k; r < regions.size(); r += 5) write_part(*writer, image, regions[r]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  writer->commit();
  expect_same(read_array(path("x.tif")), image);
}

TEST_F(TiffRegions, go_on_with_what_stands) {
  for (const Packing packing : {Packing::none, Packing::deflate}) {
    for (const Shape& shape : {Shape{4, 60, 70}, Shape{5, 20, 30}}) {
      const Array image = random_array(E::u16, shape);
      const FileLayout layout = layout_of(image, "", shape[1] == 60 ? Shape{1, 16, 32} : Shape{});
      RegionWriteOptions options{.write = {.packing = packing}, .resume = true};
      std::mt19937 random(9);
      std::vector<Region> regions;
      {
        const auto writer = create_tiff(path("x.tif"), layout, options);  // nothing stands there
        regions = random_chunks(writer->layout(), random);
        for (std::size_t k = 0; k < regions.size() / 2 + 1; ++k) write_part(*writer, image, regions[k]);
        writer->sync();
      }
      EXPECT_TRUE(fs::exists(partial_name(path("x.tif"))));
      const auto writer = create_tiff(path("x.tif"), layout, options);
      for (std::size_t k = regions.size() / 2; k < regions.size(); ++k) write_part(*writer, image, regions[k]);
      writer->commit();
      expect_same(read_array(path("x.tif")), image);
      fs::remove(path("x.tif"));
      // Another array, another packing: not the same file.
      create_tiff(path("x.tif"), layout, options)->sync();
      options.write.packing = Packing::lzw;
      EXPECT_THAT(message_of([&] { create_tiff(path("x.tif"), layout, options); }, ErrorClass::argument),
                  HasSubstr("is not the beginning of this file"));
      options.resume = false;
      const auto anew = create_tiff(path("x.tif"), layout, options);
      anew->discard();
      EXPECT_TRUE(fs::is_empty(folder_));
    }
  }
}

TEST_F(TiffRegions, go_on_with_a_front_that_is_cut_off) {
  const Array image = random_array(E::u16, {4, 60, 70});
  const FileLayout layout = layout_of(image, "", {1, 16, 32});
  const RegionWriteOptions options{.write = {.packing = Packing::zstd}, .resume = true};
  create_tiff(path("x.tif"), layout, options)->sync();
  const auto front = fs::file_size(partial_name(path("x.tif")));
  for (const auto bytes : {std::uintmax_t{3}, front / 3, front / 2, front - 1}) {
    create_tiff(path("x.tif"), layout, options)->sync();
    fs::resize_file(partial_name(path("x.tif")), bytes);
    const auto writer = create_tiff(path("x.tif"), layout, options);
    std::mt19937 random(9);
    for (const Region& region : random_chunks(writer->layout(), random)) write_part(*writer, image, region);
    writer->commit();
    expect_same(read_array(path("x.tif")), image);
  }
}

TEST_F(TiffRegions, beyond_four_gigabytes) {
  // Full of holes: 5 GB of which a few tiles are written.
  FileLayout layout;
  layout.element = E::u8;
  layout.shape = {71000, 70000};
  const auto writer = create_tiff(path("x.tif"), layout, {.write = {.packing = Packing::none}});
  const Array part = random_array(E::u8, {256, 512});
  const std::vector<std::pair<i64, i64>> places = {{0, 0}, {70656, 256}, {35840, 69120}};
  for (const auto& [y, x] : places) {
    const Region region{{y, x}, {y + 256, x + 512}};
    writer->write(region, part);
  }
  writer->commit();
  EXPECT_GT(fs::file_size(path("x.tif")), std::uintmax_t{1} << 32);
  const auto begin = std::chrono::steady_clock::now();
  const auto reader = open_tiff(path("x.tif"), {});
  const auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  EXPECT_LT(seconds, 1);
  EXPECT_EQ(reader->layout().shape, layout.shape);
  for (const auto& [y, x] : places)
    expect_same(read_part(*reader, {{y + 5, x + 3}, {y + 250, x + 511}}),
                part.region(std::vector<i64>{5, 3}, std::vector<i64>{250, 511}));
  EXPECT_THAT(message_of([&] { read_part(*reader, {{1000, 1000}, {1010, 1010}}); }), HasSubstr("tile 825 is damaged"));
}

TEST_F(TiffRegions, refuse_what_cannot_be_written) {
  const auto refused = [&](const FileLayout& layout, const RegionWriteOptions& options = {}) {
    return message_of([&] { create_tiff(path("x.tif"), layout, options); }, ErrorClass::argument);
  };
  FileLayout layout;
  layout.element = E::boolean;
  layout.shape = {10, 10};
  EXPECT_THAT(refused(layout), HasSubstr("TIFF has no samples of type bool"));
  layout.element = Format::record("r", {{"a", E::u8}, {"b", E::u16}});
  EXPECT_THAT(refused(layout), HasSubstr("TIFF stores samples of one type"));
  layout.element = E::u8;
  layout.shape = {10};
  EXPECT_THAT(refused(layout), HasSubstr("rank 2 and more"));
  layout.shape = {0, 10};
  EXPECT_THAT(refused(layout), HasSubstr("extents of 1 to"));
  layout.shape = {i64{1} << 31, 10};
  EXPECT_THAT(refused(layout), HasSubstr("extents of 1 to"));
  layout.shape = {i64{1} << 22, 10, 10};
  EXPECT_THAT(refused(layout), HasSubstr("up to 1048576 pages"));
  layout.shape = {100000, 100000};
  layout.chunk = {50000, 50000};
  EXPECT_THAT(refused(layout), HasSubstr("are too large"));
  layout.shape = {40, 40};
  layout.chunk = {16, 16};
  const auto writer = create_tiff(path("x.tif"), layout, {});
  EXPECT_THAT(message_of([&] { writer->write({{0, 8}, {16, 24}}, Array(E::u8, {16, 16})); }, ErrorClass::argument),
              HasSubstr("is none of chunks of 16x16"));
  EXPECT_THAT(message_of([&] { writer->write({{0, 0}, {16, 10}}, Array(E::u8, {16, 10})); }, ErrorClass::argument),
              HasSubstr("is none of chunks of 16x16"));
  EXPECT_THAT(message_of([&] { create_tiff(path("none/x.tif"), layout, {}); }), HasSubstr("cannot write"));
}

TEST_F(TiffRegions, letters_are_those_of_pages) {
  EXPECT_EQ(tiff_letters({}, E::u8, 3), "zyx");
  EXPECT_EQ(tiff_letters({}, pixel_format(E::u8, 3), 2), "yxs");
  ImageHeader header;
  header.axes = "tzyx";
  header.layout = "tczyx";
  EXPECT_EQ(tiff_letters(header, pixel_format(E::u16, 2), 4), "tczyx");
  header.layout = "tzyxc";
  EXPECT_EQ(tiff_letters(header, named_pixels(E::u16, {"c0", "c1"}), 4), "tzyxc");
}

}  // namespace
}  // namespace tessera::io
