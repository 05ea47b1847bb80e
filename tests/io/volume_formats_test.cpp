// NRRD and MetaImage: whole and by region, headers by hand, what travels, and damage. Files of other programs are read
// by tests/regions.
#include <algorithm>
#include <functional>

#include "base/files/files.hpp"
#include "io/axes.hpp"
#include "io/formats/volume.hpp"
#include "support.hpp"

namespace tessera::io {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using E = ElementType;
using Unit = Step::Unit;

struct Kind {
  std::string suffix, detached;
  std::unique_ptr<FileReader> (*open)(const std::string&, const ReadOptions&);
  std::unique_ptr<FileWriter> (*create)(const std::string&, const FileLayout&, const RegionWriteOptions&);
  std::string (*letters)(const ImageHeader&, const Format&, int);
};
const std::vector<Kind> kinds = {{".nrrd", ".nhdr", open_nrrd, create_nrrd, nrrd_letters},
                                 {".mha", ".mhd", open_metaimage, create_metaimage, metaimage_letters}};

class VolumeFormats : public FolderTest {
 protected:
  void write(const std::string& name, const std::string& text, const std::vector<std::byte>& bytes = {}) {
    std::vector<std::byte> all(text.size());
    std::memcpy(all.data(), text.data(), text.size());
    all.insert(all.end(), bytes.begin(), bytes.end());
    base::write_file(path(name), all);
  }
  // By region it is what it is whole, and every part the part of the whole.
  void expect_regions(const Kind& kind, const std::string& name, const ReadOptions& options = {}) {
    const Image expected = read_image(path(name), options);
    const auto reader = kind.open(path(name), options);
    ASSERT_NE(reader, nullptr) << name;
    const FileLayout& layout = reader->layout();
    Array whole(layout.element, layout.shape);
    reader->read({std::vector<i64>(layout.shape.size(), 0), layout.shape}, whole);
    const Image image = arrange(whole, layout.letters, layout.steps, layout.header);
    expect_same(image.array, expected.array, name);
    EXPECT_EQ(image.header.axes, expected.header.axes) << name;
    EXPECT_EQ(image.header.steps, expected.header.steps) << name;
    std::mt19937 random(4);
    for (int k = 0; k < 25; ++k) {
      Region region;
      Shape extents;
      for (const i64 extent : layout.shape) {
        region.begin.push_back(static_cast<i64>(random() % static_cast<unsigned>(extent)));
        region.end.push_back(region.begin.back() + 1 +
                             static_cast<i64>(random() % static_cast<unsigned>(extent - region.begin.back())));
        extents.push_back(region.end.back() - region.begin.back());
      }
      // Into a place of an array that is wider in each dimension.
      Shape wide = extents;
      for (i64& extent : wide) extent += static_cast<i64>(random() % 3);
      const Array room(layout.element, wide);
      const Array to = room.region(std::vector<i64>(wide.size(), 0), extents);
      reader->read(region, to);
      expect_same(to, whole.region(region.begin, region.end), name);
    }
    EXPECT_THAT(message_of([&] { reader->read({{0}, {1000}}, Array(layout.element, {1000})); }, ErrorClass::argument),
                HasSubstr("is not within"));
  }
};

TEST_F(VolumeFormats, hold_every_type_and_rank) {
  for (const Kind& kind : kinds) {
    for (const std::string& suffix : {kind.suffix, kind.detached}) {
      for (const Format& format : {Format(E::u8), Format(E::i16), Format(E::u16), Format(E::i32), Format(E::u32),
                                   Format(E::f32), Format(E::f64), pixel_format(E::u8, 3), pixel_format(E::u8, 4),
                                   named_pixels(E::f32, {"c0", "c1", "c2"}), named_pixels(E::u16, {"c0", "c1"})}) {
        for (const Shape& shape : {Shape{7}, Shape{3, 4, 5}, Shape{1, 2, 2, 3, 4}}) {
          for (const int compression : {6, -1}) {
            const Array image = random_array(format, shape);
            const WriteReport report = write_array(path("x" + suffix), image, {.compression = compression});
            EXPECT_EQ(report.values, image.count() * channels_of(image));
            EXPECT_EQ(report.saturated, 0);
            expect_same(read_array(path("x" + suffix)), image, suffix + " " + format.name() + " " + to_string(shape));
          }
        }
      }
      expect_regions(kind, "x" + suffix);
    }
  }
  EXPECT_TRUE(fs::exists(path("x.raw")));
  EXPECT_TRUE(fs::exists(path("x.raw.gz")));
  EXPECT_TRUE(fs::exists(path("x.zraw")));
}

TEST_F(VolumeFormats, widen_what_they_do_not_have) {
  for (const Kind& kind : kinds) {
    const Array mask = random_array(E::boolean, {9, 8});
    write_array(path("x" + kind.suffix), mask);
    const Array back = read_array(path("x" + kind.suffix));
    EXPECT_EQ(back.format().scalar, E::u8);
    EXPECT_EQ(bytes_of(back), bytes_of(mask));
    write_array(path("x" + kind.suffix), random_array(E::f16, {9, 8}));
    EXPECT_EQ(read_array(path("x" + kind.suffix)).format().scalar, E::f32);
    write_array(path("x" + kind.suffix), random_array(E::f32, {9, 8}), {.type = E::i16});
    EXPECT_EQ(read_array(path("x" + kind.suffix)).format().scalar, E::i16);
    const auto refused = [&](const Array& a, const WriteOptions& options) {
      return message_of([&] { write_array(path("x" + kind.suffix), a, options); }, ErrorClass::argument);
    };
    EXPECT_THAT(refused(mask, {.type = E::boolean}), HasSubstr("float or double, not bool"));
    EXPECT_THAT(refused(random_array(Format::record("r", {{"a", E::u8}, {"b", E::f32}}), {4}), {}),
                HasSubstr("samples of one type"));
    EXPECT_THAT(refused(mask, {.packing = Packing::zstd}), HasSubstr("is not written with the compression zstd"));
  }
}

TEST_F(VolumeFormats, go_by_region_both_ways) {
  for (const Kind& kind : kinds) {
    for (const Format& format : {Format(E::u16), pixel_format(E::u8, 3), named_pixels(E::f32, {"c0", "c1"})}) {
      const Array image = random_array(format, {5, 6, 7});
      FileLayout layout;
      layout.element = format;
      layout.shape = image.shape();
      layout.letters = kind.letters({}, format, 3);
      layout.steps = {{3, Unit::millimetre}, {2, Unit::millimetre}, {0.5, Unit::millimetre}};
      RegionWriteOptions options;
      options.resume = true;
      std::vector<Region> rows;
      for (i64 z = 0; z < 5; ++z)
        for (i64 y = 0; y < 6; y += 2) rows.push_back({{z, y, 0}, {z + 1, y + 2, 7}});
      std::mt19937 random(1);
      std::shuffle(rows.begin(), rows.end(), random);
      {
        const auto writer = kind.create(path("x" + kind.suffix), layout, options);
        EXPECT_EQ(writer->layout().chunk, (Shape{1, 1, 7}));
        for (std::size_t k = 0; k < rows.size() / 2; ++k)
          writer->write(rows[k], image.region(rows[k].begin, rows[k].end));
        EXPECT_FALSE(fs::exists(path("x" + kind.suffix)));
        EXPECT_THAT(
            message_of([&] { writer->write({{0, 0, 0}, {1, 1, 6}}, Array(format, {1, 1, 6})); }, ErrorClass::argument),
            HasSubstr("is none of chunks of 1x1x7"));
      }
      const auto writer = kind.create(path("x" + kind.suffix), layout, options);
      for (std::size_t k = rows.size() / 2; k < rows.size(); ++k)
        writer->write(rows[k], image.region(rows[k].begin, rows[k].end));
      writer->sync();
      writer->commit();
      const Image back = read_image(path("x" + kind.suffix));
      expect_same(back.array, image);
      EXPECT_EQ(back.header.steps, layout.steps);
      expect_regions(kind, "x" + kind.suffix);
      // As the whole is written.
      ImageHeader header{image.shape(), layout.steps, nullptr};
      write_array(path("y" + kind.suffix), image, {.header = header});
      EXPECT_EQ(base::read_bytes(path("x" + kind.suffix)), base::read_bytes(path("y" + kind.suffix)));
      const auto other = kind.create(path("x" + kind.suffix), layout, options);
      layout.shape = {5, 6, 8};
      EXPECT_THAT(message_of([&] { kind.create(path("x" + kind.suffix), layout, options); }, ErrorClass::argument),
                  HasSubstr("is not the beginning of this file"));
      other->discard();
      EXPECT_FALSE(fs::exists(partial_name(path("x" + kind.suffix))));
      fs::remove(path("x" + kind.suffix));
    }
    FileLayout layout;
    layout.element = E::boolean;
    layout.shape = {4, 4};
    const auto refused = [&](const std::string& suffix, const RegionWriteOptions& options) {
      return message_of([&] { kind.create(path("x" + suffix), layout, options); }, ErrorClass::argument);
    };
    EXPECT_THAT(refused(kind.suffix, {}), HasSubstr("float or double, not bool"));
    layout.element = E::u8;
    RegionWriteOptions packed;
    packed.write.packing = Packing::deflate;
    EXPECT_THAT(refused(kind.suffix, packed), HasSubstr("without packing alone"));
  }
}

// ---- headers by hand ---------------------------------------------------------------------------------------------

std::vector<std::byte> counted(int count, int first = 0) {
  std::vector<std::byte> bytes;
  for (int k = 0; k < count; ++k) bytes.push_back(static_cast<std::byte>(first + k));
  return bytes;
}

const std::string nrrd = "NRRD0004\n# by hand\ntype: uchar\ndimension: 3\nsizes: 4 3 2\nencoding: raw\n";
const std::string meta = "NDims = 3\nDimSize = 4 3 2\nElementType = MET_UCHAR\n";

TEST_F(VolumeFormats, headers_say_what_axes_are) {
  write("x.nrrd", nrrd + "kinds: vector domain domain\nspacings: nan 0.5 2\nunits: \"\" \"mm\" \"um\"\n\n",
        counted(24));
  Image image = read_image(path("x.nrrd"));
  EXPECT_EQ(image.array.shape(), (Shape{2, 3}));
  EXPECT_EQ(image.array.format(), named_pixels(E::u8, {"c0", "c1", "c2", "c3"}));
  EXPECT_EQ(image.header.axes, "yx");
  EXPECT_EQ(image.header.steps, (std::vector<Step>{{2e-3, Unit::millimetre}, {0.5, Unit::millimetre}}));
  expect_regions(kinds[0], "x.nrrd");

  write("x.nrrd", nrrd + "kinds: RGBA-color space time\n\n", counted(24));
  image = read_image(path("x.nrrd"));
  EXPECT_EQ(image.array.format(), pixel_format(E::u8, 4));
  EXPECT_EQ(image.header.axes, "tx");

  // Channels that are slowest, time that is fastest: written again as they were.
  write("x.nrrd", nrrd + "kinds: time domain list\n\n", counted(24));
  image = read_image(path("x.nrrd"));
  EXPECT_EQ(image.array.shape(), (Shape{4, 3}));
  EXPECT_EQ(image.header.axes, "tx");
  expect_regions(kinds[0], "x.nrrd");
  write_array(path("y.nrrd"), image.array, {.header = image.header});
  expect_same(read_array(path("y.nrrd")), image.array);
  std::string text = base::read_text(path("y.nrrd"));
  EXPECT_THAT(text, HasSubstr("sizes: 4 3 2\n"));
  EXPECT_THAT(text, HasSubstr("kinds: time domain list\n"));

  // Without a direction in space it is no point.
  write("x.nrrd", nrrd + "space: LPS\nspace directions: none (0,2,0) (3,0,4)\nspace origin: (1,2,3)\n\n", counted(24));
  image = read_image(path("x.nrrd"));
  EXPECT_EQ(channels_of(image.array), 4);
  EXPECT_EQ(image.header.steps, (std::vector<Step>{{5, Unit::millimetre}, {2, Unit::millimetre}}));

  write("x.mha", meta + "ElementSpacing = 0.5 1 2\nElementNumberOfChannels = 1\nElementDataFile = LOCAL\n",
        counted(24));
  image = read_image(path("x.mha"));
  EXPECT_EQ(image.array.shape(), (Shape{2, 3, 4}));
  EXPECT_EQ(image.header.steps,
            (std::vector<Step>{{2, Unit::millimetre}, {1, Unit::millimetre}, {0.5, Unit::millimetre}}));
  write("x.mha",
        "NDims = 2\nDimSize = 4 2\nElementNumberOfChannels = 3\nDistanceUnits = um\nElementSpacing = 2 2\nElementType "
        "= MET_UCHAR\nElementDataFile = LOCAL\n",
        counted(24));
  image = read_image(path("x.mha"));
  EXPECT_EQ(image.array.format(), pixel_format(E::u8, 3));
  EXPECT_EQ(image.header.steps[0], (Step{2e-3, Unit::millimetre}));
  expect_regions(kinds[1], "x.mha");

  // By hand.
  image = read_image(path("x.nrrd"), {.axes = "yxc"});
  EXPECT_EQ(image.header.axes, "yx");
}

TEST_F(VolumeFormats, numbers_lie_in_other_files) {
  base::write_file(path("a.raw"), counted(12));
  base::write_file(path("b.raw"), counted(12, 12));
  base::write_file(path("all.raw"), counted(26, -2));
  fs::create_directory(path("sub"));
  base::write_file(path("sub/s1.raw"), counted(12));
  base::write_file(path("sub/s2.raw"), counted(12, 12));
  write("list.nhdr", nrrd + "data file: LIST\na.raw\nb.raw\n");
  write("pattern.nhdr", nrrd + "data file: sub/s%d.raw 1 2 1\n");
  write("skip.nhdr", nrrd + "byte skip: 2\ndata file: all.raw\n\n");
  write("end.nhdr", nrrd + "byte skip: -1\ndata file: all.raw\n\n");
  write("list.mhd", meta + "ElementDataFile = LIST\na.raw\nb.raw\n");
  write("pattern.mhd", meta + "ElementDataFile = sub/s%01d.raw 1 2 1\n");
  write("skip.mhd", meta + "HeaderSize = 2\nElementDataFile = all.raw\n");
  write("end.mhd", meta + "HeaderSize = -1\nElementDataFile = all.raw\n");
  for (const std::string name : {"list", "pattern", "skip", "end"}) {
    for (const Kind& kind : kinds) {
      EXPECT_EQ(bytes_of(read_array(path(name + kind.detached))), counted(24)) << name;
      expect_regions(kind, name + kind.detached);
    }
  }
  const auto refused = [&](const std::string& line) {
    write("x.nhdr", nrrd + line);
    return message_of([&] { read_array(path("x.nhdr")); });
  };
  EXPECT_THAT(refused("data file: none.raw\n"), HasSubstr("'none.raw', which is not there"));
  EXPECT_THAT(refused("data file: /etc/passwd\n"), HasSubstr("expected one in the folder of the header"));
  EXPECT_THAT(refused("data file: ../x\n"), HasSubstr("expected one in the folder of the header"));
  EXPECT_THAT(refused("data file: s%s.raw 1 2 1\n"), HasSubstr("which is not understood"));
  EXPECT_THAT(refused("data file: a.raw\n"), HasSubstr("cut short"));
  EXPECT_THAT(message_of([&] { open_nrrd(path("x.nhdr"), {}); }), HasSubstr("cut short"));
  EXPECT_THAT(message_of([&] { decode_array(base::read_bytes(path("list.mhd")), "y"); }),
              HasSubstr("which is not beside it"));
  EXPECT_THAT(message_of([&] { write_array("-", random_array(E::u8, {2, 2})); }, ErrorClass::argument),
              HasSubstr("suffix"));
}

TEST_F(VolumeFormats, big_endian_narrow_and_wide_numbers) {
  const auto wide = [&](const std::string& value_bytes) {
    std::vector<std::byte> bytes;
    for (const char c : value_bytes) bytes.push_back(static_cast<std::byte>(c));
    return bytes;
  };
  using namespace std::string_literals;
  write("x.nrrd", "NRRD0001\ntype: int16\ndimension: 1\nsizes: 2\nencoding: raw\nendian: big\n\n",
        wide("\1\2\xff\xfe"s));
  Array a = read_array(path("x.nrrd"));
  EXPECT_EQ(a.as<std::int16_t>()[0], 258);
  EXPECT_EQ(a.as<std::int16_t>()[1], -2);
  expect_regions(kinds[0], "x.nrrd");
  write("x.mha",
        "NDims = 1\nDimSize = 1\nElementByteOrderMSB = True\nElementType = MET_LONG_LONG\nElementDataFile = LOCAL\n",
        wide("\xff\xff\xff\xff\xff\xff\xff\xfe"s));
  EXPECT_EQ(read_array(path("x.mha")).as<std::int32_t>()[0], -2);
  expect_regions(kinds[1], "x.mha");
  write("x.mha", "NDims = 1\nDimSize = 1\nElementType = MET_ULONG_LONG\nElementDataFile = LOCAL\n",
        wide("\0\0\0\0\1\0\0\0"s));
  EXPECT_THAT(message_of([&] { read_array(path("x.mha")); }),
              HasSubstr("element 0 is 4294967296, which does not fit 32 bits"));
  const auto reader = open_metaimage(path("x.mha"), {});
  EXPECT_THAT(message_of([&] { reader->read({{0}, {1}}, Array(E::u32, {1})); }), HasSubstr("element 0 is 4294967296"));
  write("x.mha", "NDims = 1\nDimSize = 2\nElementType = MET_CHAR\nElementDataFile = LOCAL\n", wide("\xff\x7f"s));
  a = read_array(path("x.mha"));
  EXPECT_EQ(a.as<std::int16_t>()[0], -1);
  EXPECT_EQ(a.as<std::int16_t>()[1], 127);
}

TEST_F(VolumeFormats, refuse_by_name) {
  const auto refused = [&](const std::string& name, const std::string& text) {
    write(name, text, counted(24));
    return message_of([&] { read_array(path(name)); });
  };
  EXPECT_THAT(refused("x.nrrd", nrrd + "wobble: 3\n\n"), HasSubstr("the field 'wobble', which is not known"));
  EXPECT_THAT(refused("x.nrrd", nrrd + "kinds: domain domain wobble\n\n"),
              HasSubstr("of the kind 'wobble', which is not known"));
  EXPECT_THAT(refused("x.nrrd", nrrd + "kinds: list vector domain\n\n"), HasSubstr("two of its axes are channels"));
  EXPECT_THAT(refused("x.nrrd", nrrd + "sizes: 4 3 2\n\n"), HasSubstr("the field 'sizes' twice"));
  EXPECT_THAT(refused("x.nrrd", "NRRD0009\n\n"), HasSubstr("expected 1 to 5"));
  const std::string begin = "NRRD0004\ndimension: 1\nsizes: 24\n";
  EXPECT_THAT(refused("x.nrrd", begin + "type: uchar\nencoding: bzip2\n\n"),
              HasSubstr("its encoding is 'bzip2', which is not read"));
  EXPECT_THAT(refused("x.nrrd", begin + "type: uchar\nencoding: ascii\n\n"),
              HasSubstr("its encoding is 'ascii', which is not read"));
  EXPECT_THAT(refused("x.nrrd", begin + "type: block\nencoding: raw\n\n"), HasSubstr("its type is 'block'"));
  EXPECT_THAT(refused("x.nrrd", begin + "type: short\nencoding: raw\n\n"), HasSubstr("does not say the byte order"));
  EXPECT_THAT(refused("x.nrrd", begin + "encoding: raw\n\n"), HasSubstr("no field 'type'"));
  EXPECT_THAT(refused("x.nrrd", "NRRD0004\ndimension: 1\nsizes: 25\ntype: uchar\nencoding: raw\n\n"),
              HasSubstr("cut short"));
  EXPECT_THAT(refused("x.mha", "ObjectType = Tube\n" + meta + "ElementDataFile = LOCAL\n"),
              HasSubstr("it is a 'Tube', expected an Image"));
  EXPECT_THAT(refused("x.mha", meta + "BinaryData = False\nElementDataFile = LOCAL\n"), HasSubstr("written as text"));
  EXPECT_THAT(refused("x.mha", meta + "ElementToIntensityFunctionSlope = 2\nElementDataFile = LOCAL\n"),
              HasSubstr("scales the numbers"));
  write("x.mha", meta);
  EXPECT_THAT(message_of([&] { read_array(path("x.mha")); }), HasSubstr("does not say where its numbers are"));
  EXPECT_THAT(refused("x.mha", "NDims = 1\nDimSize = 24\nElementType = MET_ASCII_CHAR\nElementDataFile = LOCAL\n"),
              HasSubstr("its type is 'MET_ASCII_CHAR'"));
  EXPECT_THAT(refused("x.mha", "NDims = 1\nDimSize = 900000000000\nElementType = MET_UCHAR\nElementDataFile = LOCAL\n"),
              HasSubstr("cannot read"));
}

TEST_F(VolumeFormats, place_in_space_travels) {
  const std::string space =
      "space: left-posterior-superior\nspace directions: (0.5,0,0) (0,0,2) (0,-3,0)\nspace origin: (10,20,30)\n"
      "content: a head\nlabels: \"right\" \"up\" \"back\"\npatient:=somebody\n\n";
  write("x.nrrd", nrrd + space, counted(24));
  const Image image = read_image(path("x.nrrd"));
  WriteReport report = write_array(path("y.nrrd"), image.array, {.header = image.header});
  EXPECT_THAT(report.lost, IsEmpty());
  std::string text = base::read_text(path("y.nrrd"));
  for (const char* line : {"space: left-posterior-superior\n", "space directions: (0.5,0,0) (0,0,2) (0,-3,0)\n",
                           "space origin: (10,20,30)\n", "content: a head\n", "labels: \"right\" \"up\" \"back\"\n",
                           "patient:=somebody\n"})
    EXPECT_THAT(text, HasSubstr(line));
  expect_same(read_array(path("y.nrrd")), image.array);
  // A part begins elsewhere.
  const ImageHeader part = header_of_region(image.header, std::vector<i64>{1, 1, 2}, std::vector<i64>{2, 3, 4});
  write_array(path("y.nrrd"), image.array.region(std::vector<i64>{1, 1, 2}, std::vector<i64>{2, 3, 4}).clone(),
              {.header = part});
  EXPECT_THAT(base::read_text(path("y.nrrd")), HasSubstr("space origin: (11,17,32)\n"));
  // Other extents, another format.
  report = write_array(path("y.nrrd"), random_array(E::u8, {2, 2, 2}), {.header = image.header});
  EXPECT_THAT(report.lost, testing::ElementsAre(HasSubstr("its extents are others")));
  report = write_array(path("y.mha"), image.array, {.header = image.header});
  EXPECT_THAT(report.lost, testing::ElementsAre(HasSubstr("the NRRD header but for the distances")));
  const Image other = read_image(path("y.mha"));
  EXPECT_EQ(other.header.steps, image.header.steps);
  report = write_array(path("y.npy"), image.array, {.header = image.header});
  EXPECT_THAT(report.lost, testing::ElementsAre("the distances between points"));

  write("x.mha",
        "ObjectType = Image\n" + meta +
            "TransformMatrix = 0 1 0 1 0 0 0 0 -1\nOffset = 1 2 3\nElementSpacing = 0.5 1 2\nAnatomicalOrientation = "
            "RAI\nScanner = ours\nElementDataFile = LOCAL\n",
        counted(24));
  const Image scan = read_image(path("x.mha"));
  report = write_array(path("y.mhd"), scan.array, {.header = scan.header});
  EXPECT_THAT(report.lost, IsEmpty());
  text = base::read_text(path("y.mhd"));
  for (const char* line : {"TransformMatrix = 0 1 0 1 0 0 0 0 -1\n", "Offset = 1 2 3\n", "ElementSpacing = 0.5 1 2\n",
                           "AnatomicalOrientation = RAI\n", "Scanner = ours\n", "ElementDataFile = y.raw\n"})
    EXPECT_THAT(text, HasSubstr(line));
  const ImageHeader cut = header_of_region(scan.header, std::vector<i64>{1, 0, 2}, std::vector<i64>{2, 3, 4});
  write_array(path("y.mha"), scan.array.region(std::vector<i64>{1, 0, 2}, std::vector<i64>{2, 3, 4}).clone(),
              {.header = cut});
  EXPECT_THAT(base::read_text(path("y.mha")), HasSubstr("Offset = 1 3 1\n"));
  report = write_array(path("y.nii"), scan.array, {.header = scan.header});
  EXPECT_THAT(report.lost, testing::ElementsAre(HasSubstr("the MetaImage header but for the distances")));
  EXPECT_EQ(read_image(path("y.nii")).header.steps, scan.header.steps);
  // By region, too.
  FileLayout layout;
  layout.element = E::u8;
  layout.shape = scan.array.shape();
  layout.letters = "zyx";
  layout.header = scan.header;
  layout.steps = scan.header.steps;
  const auto writer = create_metaimage(path("r.mha"), layout, {});
  writer->write({{0, 0, 0}, layout.shape}, scan.array);
  writer->commit();
  write_array(path("w.mha"), scan.array, {.header = scan.header});
  EXPECT_EQ(base::read_bytes(path("r.mha")), base::read_bytes(path("w.mha")));
}

TEST_F(VolumeFormats, both_files_appear_together) {
  const Array first = random_array(E::u8, {3, 4}), second = random_array(E::u8, {3, 4}, 2);
  write_array(path("x.mhd"), first);
  {
    base::AtomicFile file(path("x.mhd"));
    write_array(file, second);
  }
  expect_same(read_array(path("x.mhd")), first);
  fs::create_symlink("/dev/full", path("y.mhd"));
  EXPECT_THAT(message_of([&] { write_array(path("y.mhd"), first); }, ErrorClass::argument),
              HasSubstr("a stream has no folder"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 3);
}

TEST_F(VolumeFormats, damage_gives_errors_or_values) {
  const std::string head =
      "space: LPS\nspace directions: none (0,2,0) (3,0,4)\nspace origin: (1,2,3)\nkinds: vector domain domain\n\n";
  write("x.nrrd", nrrd + head, counted(24));
  write("x.mha",
        meta +
            "TransformMatrix = 0 1 0 1 0 0 0 0 -1\nOffset = 1 2 3\nElementSpacing = 0.5 1 2\nElementDataFile = LOCAL\n",
        counted(24));
  write_array(path("z.nrrd"), random_array(E::u16, {5, 6}), {.compression = 6});
  write_array(path("z.mha"), random_array(E::u16, {5, 6}), {.compression = 6});
  std::mt19937 random(3);
  for (const std::string name : {"x.nrrd", "x.mha", "z.nrrd", "z.mha"}) {
    const std::vector<std::byte> good = base::read_bytes(path(name));
    for (int k = 0; k < 250; ++k) {
      std::vector<std::byte> bytes = good;
      for (int flip = 0; flip <= k % 3; ++flip)
        bytes[random() % bytes.size()] ^= std::byte{static_cast<unsigned char>(1u << random() % 8)};
      if (k % 4 == 0) bytes.resize(random() % bytes.size() + 1);
      write_quickly(path("d"), bytes);
      for (const Kind& kind : kinds) {
        try {
          const auto reader = kind.open(path("d"), {.max_bytes = i64{1} << 26});
          if (reader == nullptr || element_count(reader->layout().shape) > 10000) continue;
          const Array to(reader->layout().element, reader->layout().shape);
          reader->read({std::vector<i64>(to.shape().size(), 0), to.shape()}, to);
        } catch (const Error& e) {
          EXPECT_EQ(e.error_class(), ErrorClass::io) << e.what();
        }
      }
      try {
        decode_array(bytes, "d", {.max_bytes = i64{1} << 26});
      } catch (const Error& e) {
        EXPECT_EQ(e.error_class(), ErrorClass::io) << e.what();
      }
    }
  }
}

}  // namespace
}  // namespace tessera::io
