// TIFF as a volume: pages, series, and the distances that ImageJ and OME write. Files of tifffile are in
// tests/data/formats and read by read_test.cpp.
#include "base/files.hpp"
#include "io/tiff_text.hpp"
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

  EXPECT_TRUE(read_image(data + "pages.tif").header.steps.empty());
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

TEST_F(TiffVolume, takes_nonsense_as_nothing_said) {
  const TiffResolution none;
  EXPECT_THAT(parse_tiff_text("", none).steps, IsEmpty());
  EXPECT_THAT(parse_tiff_text("ImageJ=1\nspacing=nan\nunit=parsec\n", none).steps, IsEmpty());
  EXPECT_THAT(parse_tiff_text("ImageJ=1\nspacing=-2\nunit=furlong\n", none).steps[1], (Step{2, Unit::unknown}));
  EXPECT_THAT(parse_tiff_text("ImageJ=1\n", {1e-310, 4, 3}).steps,
              ElementsAre(Step{}, Step{}, Step{2.5, Unit::millimetre}, Step{}));
  const TiffText many = parse_tiff_text("ImageJ=1\nimages=99999999999\nslices=-4\nframes=x\n", none);
  EXPECT_EQ(many.images, 1);
  EXPECT_EQ(many.series, 1);
  EXPECT_EQ(parse_tiff_text("ImageJ=1\nimages=12\nchannels=2\nslices=3\nframes=2\n", none).series, 1);
  EXPECT_THAT(parse_tiff_text("<?xml ?><OME><Pixels PhysicalSizeX=\"0.1", none).steps[3],
              (Step{1e-4, Unit::millimetre}));
  EXPECT_THAT(parse_tiff_text("<?xml ?><OME><Pixels SizeT=\"2\" SizeZ=\"3\" PhysicalSizeZ=\"1\">", none).steps,
              IsEmpty());
}

}  // namespace
}  // namespace tessera::io
