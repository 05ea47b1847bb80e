// TIFF as a volume: pages, series, and the distances that ImageJ and OME write. Files of tifffile are in
// tests/data/formats and read by read_test.cpp.
#include "base/files/files.hpp"
#include "io/tiff/text.hpp"
#include "support.hpp"

namespace tessera::io {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using E = ElementType;
using Unit = Step::Unit;

const std::string data = std::string(TESSERA_TEST_DATA) + "/formats/";

void expect_step(const Step& step, double size, Unit unit) {
  EXPECT_NEAR(step.size, size, 1e-6 * size);
  EXPECT_EQ(step.unit, unit);
}

class TiffVolume : public FolderTest {};

TEST_F(TiffVolume, reads_distances_of_other_programs) {
  const Image stack = read_image(data + "imagej.tif");
  ASSERT_EQ(stack.header.steps.size(), 3u);
  expect_step(stack.header.steps[0], 1.5e-3, Unit::millimetre);
  expect_step(stack.header.steps[1], 0.5e-3, Unit::millimetre);
  expect_step(stack.header.steps[2], 0.25e-3, Unit::millimetre);

  const Image series = read_image(data + "imagej_series.tif");
  ASSERT_EQ(series.array.shape(), (Shape{3, 4, 5, 6}));
  expect_step(series.header.steps[0], 0.5, Unit::second);
  expect_step(series.header.steps[1], 3, Unit::millimetre);
  expect_step(series.header.steps[3], 0.5, Unit::millimetre);

  const Image ome = read_image(data + "volume.ome.tif");
  expect_step(ome.header.steps[0], 2e-6, Unit::millimetre);
  expect_step(ome.header.steps[1], 0.4e-3, Unit::millimetre);
  expect_step(ome.header.steps[2], 0.3e-3, Unit::millimetre);

  EXPECT_THAT(read_image(data + "pages.tif").header.steps, IsEmpty());
}

TEST_F(TiffVolume, keeps_distances) {
  const std::vector<Step> steps = {
      {1.5, Unit::second}, {2.2, Unit::millimetre}, {0.9, Unit::millimetre}, {0.9375, Unit::millimetre}};
  const std::vector<std::pair<Shape, double>> cases = {
      {{3, 4, 5, 6}, 1}, {{4, 5, 6}, 1}, {{5, 6}, 1}, {{4, 5, 6}, 1e-4}};
  for (const auto& [shape, scale] : cases) {
    ImageHeader header{shape, {steps.end() - static_cast<std::ptrdiff_t>(shape.size()), steps.end()}, nullptr};
    for (Step& step : header.steps) step.size *= scale;
    for (const E type : {E::u8, E::i16, E::u16, E::f32, E::f64}) {
      const Array image = random_array(type, shape);
      write_array(path("x.tif"), image, {.header = header});
      const Image back = read_image(path("x.tif"));
      expect_same(back.array, image);
      ASSERT_EQ(back.header.steps.size(), shape.size());
      for (std::size_t d = 0; d < shape.size(); ++d)
        expect_step(back.header.steps[d], header.steps[d].size, header.steps[d].unit);
    }
  }
}

TEST_F(TiffVolume, keeps_a_series_without_distances) {
  const Array image = random_array(E::u16, {3, 4, 5, 6});
  write_array(path("x.tif"), image);
  expect_same(read_array(path("x.tif")), image);
  write_array(path("x.tif"), random_array(pixel_format(E::u8, 3), {2, 4, 5}), {.compression = 6});
  EXPECT_EQ(read_array(path("x.tif")).shape(), (Shape{2, 4, 5}));
  EXPECT_TRUE(read_image(path("x.tif")).header.steps.empty());
}

TEST_F(TiffVolume, hands_distances_to_nifti_and_back) {
  const Image stack = read_image(data + "imagej.tif");
  write_array(path("x.nii"), stack.array, {.header = stack.header});
  const Image volume = read_image(path("x.nii"));
  for (std::size_t d = 0; d < 3; ++d) expect_step(volume.header.steps[d], stack.header.steps[d].size, Unit::millimetre);
  write_array(path("x.tif"), volume.array, {.header = volume.header});
  const Image back = read_image(path("x.tif"));
  for (std::size_t d = 0; d < 3; ++d) expect_step(back.header.steps[d], stack.header.steps[d].size, Unit::millimetre);
}

TEST_F(TiffVolume, notices_pages_that_are_not_listed) {
  std::vector<std::byte> bytes = base::read_bytes(data + "imagej_series.tif");
  // The link of the first directory to the next one becomes 0.
  const std::size_t entries = std::to_integer<std::size_t>(bytes[8]) + std::to_integer<std::size_t>(bytes[9]) * 256;
  const std::size_t count = entries > 255 ? entries / 256 : entries;  // either byte order
  for (std::size_t i = 0; i < 4; ++i) bytes[10 + 12 * count + i] = std::byte{0};
  EXPECT_THAT(message_of([&] { decode_array(bytes, "x"); }), HasSubstr("says that it has 12 pages, but it lists 1"));
  EXPECT_EQ(decode_array(bytes, "x", {.page = 0}).shape(), (Shape{5, 6}));
}

Step step(const TiffText& text, char letter) {
  const auto found = text.steps.find(letter);
  return found == text.steps.end() ? Step{} : found->second;
}

TEST_F(TiffVolume, takes_nonsense_as_nothing_said) {
  const TiffResolution none;
  EXPECT_THAT(parse_tiff_text("", none).steps, IsEmpty());
  EXPECT_THAT(parse_tiff_text("ImageJ=1\nspacing=nan\nunit=parsec\n", none).steps, IsEmpty());
  EXPECT_EQ(step(parse_tiff_text("ImageJ=1\nspacing=-2\nunit=furlong\n", none), 'z'), (Step{2, Unit::unknown}));
  const TiffText one = parse_tiff_text("ImageJ=1\n", {1e-310, 4, 3});
  EXPECT_EQ(one.steps.size(), 1u);
  EXPECT_EQ(step(one, 'y'), (Step{2.5, Unit::millimetre}));
  const TiffText many = parse_tiff_text("ImageJ=1\nimages=99999999999\nslices=-4\nframes=x\n", none);
  EXPECT_EQ(many.pages, 1);
  EXPECT_THAT(many.images.at(0).axes, IsEmpty());
  EXPECT_EQ(step(parse_tiff_text("<?xml ?><OME><Pixels PhysicalSizeX=\"0.1", none), 'x'),
            (Step{1e-4, Unit::millimetre}));
  EXPECT_THAT(parse_tiff_text("{\"shape\": [3, -1, 5]}", none).images, IsEmpty());
  EXPECT_THAT(parse_tiff_text("{\"shape\": [3, 4", none).images.size(), 1u);
  EXPECT_THAT(parse_tiff_text("{\"shape\": {", none).images, IsEmpty());
}

std::string axes_of(const std::string& text, int samples = 1) {
  const TiffText parsed = parse_tiff_text(text, {}, samples);
  if (!parsed.contradiction.empty()) return parsed.contradiction;
  std::string out;
  for (const TiffImage& image : parsed.images) {
    out += out.empty() ? "" : "; ";
    for (const FileAxis& a : image.axes) out += a.letter + std::to_string(a.extent);
    for (const i64 place : image.places) out += " " + std::to_string(place);
  }
  return out;
}

TEST_F(TiffVolume, knows_the_axes_of_imagej) {
  EXPECT_EQ(axes_of("ImageJ=1\nimages=12\nchannels=2\nslices=3\nframes=2\n"), "t2z3c2");
  EXPECT_EQ(axes_of("ImageJ=1\nimages=6\nchannels=2\nslices=3\norder=zct\n"), "c2z3");
  EXPECT_EQ(axes_of("ImageJ=1\nimages=6\n"), "z6");
  EXPECT_THAT(axes_of("ImageJ=1\nimages=6\nchannels=4\n"), HasSubstr("6 pages, and 4 channels"));
}

TEST_F(TiffVolume, knows_the_planes_of_ome) {
  const auto ome = [](const std::string& pixels, const std::string& inside, int samples = 1) {
    return axes_of(
        "<?xml version=\"1.0\"?><!-- <Pixels SizeC='9'/> --><ome:OME xmlns:ome='x' UUID='me'><ome:Image "
        "Name='a > b'><ome:Pixels " +
            pixels + ">" + inside + "</ome:Pixels></ome:Image></ome:OME>",
        samples);
  };
  EXPECT_EQ(ome("DimensionOrder='XYZTC' SizeC='2' SizeZ='3'", ""), "c2z3 0 1 2 3 4 5");
  EXPECT_EQ(ome("DimensionOrder='XYCZT' SizeC='2' SizeZ='2'", "<TiffData IFD='5' PlaneCount='4'/>"), "z2c2 5 6 7 8");
  EXPECT_EQ(ome("SizeC = '2' SizeZ='2'",
                "<TiffData FirstC='1' IFD='0'/><TiffData FirstC='0' IFD='1'/><TiffData "
                "FirstZ='1' IFD='2' PlaneCount='2'></TiffData>"),
            "z2c2 1 0 2 3");
  EXPECT_EQ(ome("SizeC='3' SizeT='2'", "", 3), "t2 0 1");
  EXPECT_EQ(
      ome("SizeT='2'", "<TiffData IFD='0'><UUID FileName='other'> me </UUID></TiffData><TiffData FirstT='1' IFD='1'/>"),
      "t2 0 1");
  EXPECT_THAT(ome("SizeT='2'",
                  "<TiffData IFD='0'><UUID FileName='other'>you</UUID></TiffData><TiffData FirstT='1' "
                  "IFD='1'/>"),
              HasSubstr("has 2 pages, but tells the places of 1; others are in another file"));
  EXPECT_THAT(ome("SizeT='2000000' SizeZ='2000000' SizeC='9'", ""), HasSubstr("OME says that its images have"));
  EXPECT_EQ(ome("SizeT='2' SizeZ=", ""), "t2 0 1");
  EXPECT_EQ(ome("SizeT='2'", "<TiffData FirstT='77' IFD='4194303' PlaneCount='99'/><TiffData PlaneCount='-3'/>"),
            "t2 0 1");
}

TEST_F(TiffVolume, axes_by_hand) {
  EXPECT_EQ(letters_of(parse_axes(" T3Zyx ")), "tzyx");
  EXPECT_EQ(parse_axes("t3zyx")[0].extent, 3);
  for (const char* wrong : {"", "c", "yy", "y0x", "y-x", "ywx", "y99999999999999999999x"})
    EXPECT_THAT(message_of([&] { parse_axes(wrong); }, ErrorClass::argument), HasSubstr("cannot be used")) << wrong;
}

TEST_F(TiffVolume, channels_apart_and_back) {
  const Array planes = random_array(E::u16, {2, 3, 4, 5});
  const Image image =
      arrange(planes, "czyx", {Step{}, {2, Unit::millimetre}, {3, Unit::millimetre}, {4, Unit::millimetre}});
  EXPECT_EQ(image.array.shape(), (Shape{3, 4, 5}));
  EXPECT_EQ(image.array.format(), named_pixels(E::u16, {"c0", "c1"}));
  EXPECT_EQ(image.header.axes, "zyx");
  EXPECT_EQ(image.header.steps[0].size, 2);
  expect_same(in_layout(image, "czyx", 1), planes);
  for (const char* name : {"x.tif", "x.ome.tif", "x.nii"}) {
    write_array(path(name), image.array, {.header = image.header});
    const Image back = read_image(path(name));
    expect_same(back.array, image.array);
    EXPECT_EQ(back.header.axes, "zyx");
  }
  const Image other = arrange(planes, "ztyx", {});
  EXPECT_EQ(other.array.shape(), (Shape{3, 2, 4, 5}));
  expect_same(in_layout(other, "ztyx", 0), planes);
}

}  // namespace
}  // namespace tessera::io
