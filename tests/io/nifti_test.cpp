// NIfTI: what is written reads back with its header, headers that lie are refused, scales are applied. Files of nibabel
// are in tests/data/formats and read by read_test.cpp.
#include "io/formats/nifti.hpp"

#include <cmath>
#include <fstream>

#include "base/files/files.hpp"
#include "io/gzip.hpp"
#include "io/samples.hpp"
#include "support.hpp"

namespace tessera::io {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using E = ElementType;
using Unit = Step::Unit;

const std::string data = TESSERA_TEST_DATA;

class Nifti : public FolderTest {
 protected:
  // A file of version 1 with these extents, fastest first, and `bytes` zeros behind the header.
  static std::vector<std::byte> file(std::vector<std::int64_t> dims, std::int32_t datatype, std::size_t bytes,
                                     NiftiHeader h = {}) {
    h.dim = {static_cast<std::int64_t>(dims.size()), 1, 1, 1, 1, 1, 1, 1};
    for (std::size_t d = 0; d < dims.size(); ++d) h.dim[d + 1] = dims[d];
    h.datatype = datatype;
    std::vector<std::byte> out = print_nifti(h);
    out.resize(out.size() + bytes);
    return out;
  }
  template <class T>
  static std::vector<std::byte> with(std::vector<std::byte> bytes, std::size_t at, T value) {
    std::memcpy(bytes.data() + at, &value, sizeof value);
    return bytes;
  }
  static std::string failure(const std::vector<std::byte>& bytes) {
    const std::vector<std::byte> exact = bytes;
    return message_of([&] { decode_array(exact, "x.nii"); });
  }
  std::vector<std::byte> packed(const std::vector<std::byte>& bytes) const {
    base::AtomicFile file(path("packed.gz"));
    Packer packer(file, 6);
    packer.write(bytes);
    packer.finish();
    file.commit();
    return base::read_bytes(path("packed.gz"));
  }
};

TEST_F(Nifti, keeps_every_type_and_rank) {
  const std::vector<Shape> shapes = {{7}, {5, 6}, {3, 4, 5}, {2, 3, 4, 5}, {1, 3, 1, 5}};
  for (const E type : {E::u8, E::i16, E::u16, E::i32, E::u32, E::f32, E::f64}) {
    for (const Shape& shape : shapes) {
      for (const char* name : {"x.nii", "x.nii.gz"}) {
        const Array image = random_array(type, shape);
        const WriteReport report = write_array(path(name), image);
        EXPECT_EQ(report.type, type);
        EXPECT_EQ(report.values, image.count());
        expect_same(read_array(path(name)), image, name);
      }
    }
  }
  for (const int channels : {3, 4}) {
    const Array colour = random_array(pixel_format(E::u8, channels), {3, 4, 5});
    write_array(path("x.nii"), colour);
    expect_same(read_array(path("x.nii")), colour);
  }
}

TEST_F(Nifti, widens_what_it_lacks) {
  const Array half = random_array(E::f16, {2, 3, 4});
  write_array(path("x.nii"), half);
  i64 lost = 0;
  const Array wide = converted(half, E::f32, lost);
  EXPECT_EQ(read_array(path("x.nii")).format(), Format(E::f32));
  EXPECT_EQ(bytes_of(read_array(path("x.nii"))), bytes_of(wide));
  const Array mask = random_array(E::boolean, {2, 3, 4});
  write_array(path("x.nii"), mask);
  EXPECT_EQ(read_array(path("x.nii")).format(), Format(E::u8));
  EXPECT_EQ(bytes_of(read_array(path("x.nii"))), bytes_of(mask));
  const WriteReport report =
      write_array(path("x.nii"), Array::from<float>(std::vector<float>{-1, 2.5f, 300}, {1, 3}), {.type = E::u8});
  EXPECT_EQ(report.saturated, 2);
  EXPECT_EQ(read_array(path("x.nii")).as<std::uint8_t>()[1], 2);
}

TEST_F(Nifti, writes_views) {
  const Array whole = random_array(E::i16, {6, 7, 8});
  const Array part = whole.region(std::vector<i64>{1, 2, 3}, std::vector<i64>{4, 6, 7});
  write_array(path("x.nii.gz"), part);
  expect_same(read_array(path("x.nii.gz")), part);
}

TEST_F(Nifti, refuses_what_it_cannot_hold) {
  const auto refused = [&](const Array& array, const WriteOptions& options = {}) {
    return message_of([&] { write_array(path("x.nii"), array, options); }, ErrorClass::argument);
  };
  EXPECT_THAT(refused(Array(E::u8, {1, 2, 3, 4, 5})), HasSubstr("NIfTI stores arrays of rank 1 to 4, got 1x2x3x4x5"));
  EXPECT_THAT(refused(Array(E::u8, {2, 40000})), HasSubstr("NIfTI stores extents of 1 to 32767, got 2x40000"));
  EXPECT_THAT(refused(Array(E::u8, {2, 0})), HasSubstr("extents of 1"));
  EXPECT_THAT(refused(Array(Format::record("two", {{"x", E::u8}, {"y", E::f32}}), {2, 2})),
              HasSubstr("channels of one type, struct two has several"));
  EXPECT_THAT(refused(Array(E::u8, {2, 2}), {.type = E::f16}), HasSubstr("not half"));
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(Nifti, reads_what_nibabel_says_of_space) {
  const Image volume = read_image(data + "/anatomical.nii");
  EXPECT_EQ(volume.array.shape(), (Shape{25, 41, 33}));
  EXPECT_THAT(volume.header.steps,
              ElementsAre(Step{2, Unit::millimetre}, Step{2, Unit::millimetre}, Step{2, Unit::millimetre}));
  ASSERT_TRUE(volume.header.nifti);
  EXPECT_STREQ(volume.header.nifti->descrip.data(), "spm - 3D normalized");
  EXPECT_EQ(volume.header.nifti->srow[3], 32);

  const Image series = read_image(data + "/formats/series.nii.gz");
  EXPECT_THAT(series.header.steps, ElementsAre(Step{0.75, Unit::second}, Step{3, Unit::millimetre},
                                               Step{2.5, Unit::millimetre}, Step{2, Unit::millimetre}));
}

TEST_F(Nifti, understands_units) {
  NiftiHeader h;
  h.pixdim = {1, 250, -0.5, 0, 40, 1, 1, 1};
  h.xyzt_units = 3 + 16;  // micrometres, milliseconds
  EXPECT_THAT(nifti_steps(h, 4), ElementsAre(Step{0.04, Unit::second}, Step{0, Unit::unknown},
                                             Step{0.0005, Unit::millimetre}, Step{0.25, Unit::millimetre}));
  h.xyzt_units = 32;  // hertz
  EXPECT_THAT(nifti_steps(h, 4)[0], (Step{0, Unit::unknown}));
  EXPECT_THAT(nifti_steps(h, 1), ElementsAre(Step{250, Unit::unknown}));
  h.pixdim[1] = std::nan("");
  h.pixdim[2] = 1e308;
  h.xyzt_units = 1;
  EXPECT_THAT(nifti_steps(h, 2), ElementsAre(Step{}, Step{}));
}

TEST_F(Nifti, hands_the_header_on) {
  const Image series = read_image(data + "/volumes/series4d.nii.gz");
  ASSERT_EQ(series.array.shape(), (Shape{2, 6, 24, 32}));
  ASSERT_EQ(series.header.nifti->extensions.size(), 2u);
  EXPECT_EQ(series.header.nifti->cal_max, 1162);
  write_array(path("x.nii"), Array(E::f32, {2, 6, 24, 32}), {.header = series.header});
  const Image back = read_image(path("x.nii"));
  EXPECT_EQ(back.array.format(), Format(E::f32));
  EXPECT_EQ(back.header.steps, series.header.steps);
  NiftiHeader expected = *series.header.nifti, got = *back.header.nifti;
  EXPECT_EQ(got.datatype, 16);
  EXPECT_EQ(got.bitpix, 32);
  EXPECT_EQ(got.cal_max, 0);
  EXPECT_EQ(got.scl_slope, 1);
  got.datatype = expected.datatype;
  got.bitpix = expected.bitpix;
  got.cal_max = expected.cal_max;
  got.scl_slope = expected.scl_slope;
  got.scl_inter = expected.scl_inter;
  EXPECT_EQ(print_nifti(got), print_nifti(expected));
}

TEST_F(Nifti, hands_the_header_on_between_versions_and_byte_orders) {
  for (const char* name : {"second.nii", "second_big.nii.gz", "big_endian.nii", "volume.nii"}) {
    const Image from = read_image(data + "/formats/" + name);
    write_array(path("x.nii"), from.array, {.header = from.header});
    const Image to = read_image(path("x.nii"));
    expect_same(to.array, from.array, name);
    EXPECT_EQ(to.header.nifti->version, 1);
    EXPECT_FALSE(to.header.nifti->swapped);
    EXPECT_EQ(to.header.nifti->sform_code, 2) << name;
    for (std::size_t i = 0; i < 12; ++i)
      EXPECT_NEAR(to.header.nifti->srow[i], from.header.nifti->srow[i], 1e-6) << name;
    for (std::size_t d = 0; d < 3; ++d) EXPECT_NEAR(to.header.steps[d].size, from.header.steps[d].size, 1e-6) << name;
  }
}

TEST_F(Nifti, a_header_holds_where_space_is_the_same) {
  const ImageHeader h = read_image(data + "/volumes/series4d.nii.gz").header;
  EXPECT_FALSE(header_for(h, {2, 6, 24, 31}));
  const ImageHeader axes = header_or_axes(h, {2, 6, 24, 31});
  EXPECT_EQ(axes.axes, "tzyx");
  EXPECT_TRUE(axes.steps.empty() && !axes.nifti);
  EXPECT_FALSE(header_for(h, {3, 12, 16}));
  EXPECT_FALSE(header_for(h, {24, 32}));
  EXPECT_FALSE(header_for({}, {2, 6, 24, 32}));
  const auto mean = header_for(h, {6, 24, 32});
  ASSERT_TRUE(mean);
  EXPECT_EQ(mean->steps, std::vector<Step>(h.steps.begin() + 1, h.steps.end()));
  EXPECT_EQ(mean->nifti->xyzt_units, 2);
  const auto half = header_for(h, {1, 6, 24, 32});
  ASSERT_TRUE(half);
  EXPECT_EQ(half->steps[0], Step{});
  EXPECT_EQ(half->nifti->pixdim[4], 1);
  EXPECT_EQ(header_for(h, h.extents)->nifti, h.nifti);
}

TEST_F(Nifti, a_region_keeps_its_place) {
  const ImageHeader h = read_image(data + "/anatomical.nii").header;
  const std::vector<i64> begin = {2, 3, 4}, end = {10, 11, 12};
  const ImageHeader part = header_of_region(h, begin, end);
  EXPECT_EQ(part.extents, (Shape{8, 8, 8}));
  EXPECT_EQ(part.steps, h.steps);
  const ImageHeader series = read_image(data + "/volumes/series4d.nii.gz").header;
  EXPECT_EQ(series.nifti->slice_end, 23);
  EXPECT_EQ(header_of_region(series, std::vector<i64>(4), series.extents).nifti->slice_end, 23);
  EXPECT_EQ(header_of_region(series, std::vector<i64>(4), std::vector<i64>{2, 3, 24, 32}).nifti->slice_end, 0);
  // By nibabel: the affine of the file times (4, 3, 2, 1).
  EXPECT_THAT(part.nifti->qoffset, ElementsAre(24, -34, -12));
  EXPECT_EQ(part.nifti->srow[3], 24);
  EXPECT_EQ(part.nifti->srow[7], -34);
  EXPECT_EQ(part.nifti->srow[11], -12);
}

TEST_F(Nifti, pairs) {
  const Array expected = read_array(data + "/volumes/pair.npy");
  for (const char* name : {"pair.hdr", "pair.img", "packed_pair.hdr.gz", "packed_pair.img.gz"}) {
    const Image image = read_image(data + "/volumes/" + name);
    expect_same(image.array, expected, name);
    EXPECT_EQ(image.header.nifti->sform_code, 2) << name;
    write_array(path("x.nii"), image.array, {.header = image.header});
    expect_same(read_array(path("x.nii")), expected, name);
  }
  fs::copy_file(data + "/volumes/pair.hdr", path("alone.hdr"));
  EXPECT_THAT(message_of([&] { read_array(path("alone.hdr")); }), HasSubstr("which is not beside it"));
  std::vector<std::byte> voxels = base::read_bytes(data + "/volumes/pair.img");
  voxels.pop_back();
  base::write_file(path("alone.img"), voxels);
  EXPECT_THAT(message_of([&] { read_array(path("alone.img")); }), HasSubstr("cut short"));
  EXPECT_THAT(message_of([&] { decode_array(base::read_bytes(data + "/volumes/pair.hdr"), "x"); }),
              HasSubstr("which is not beside it"));
}

TEST_F(Nifti, numbers_of_a_point) {
  const Array vectors = decode_array(file({5, 4, 3, 1, 2}, 4, 240), "x");
  EXPECT_EQ(vectors.shape(), (Shape{3, 4, 5}));
  EXPECT_EQ(vectors.format(), named_pixels(E::i16, {"c0", "c1"}));
  EXPECT_EQ(decode_array(file({5, 4, 3, 2, 2}, 4, 480), "x").shape(), (Shape{2, 3, 4, 5}));
  EXPECT_EQ(decode_array(file({5, 4, 3, 2, 1}, 4, 240), "x").format(), Format(E::i16));
  // Colours of other types than bytes, and grey with alpha, are vectors there.
  for (const Format& format : {pixel_format(E::f32, 3), pixel_format(E::u16, 4), pixel_format(E::u8, 2)}) {
    const Array image = random_array(format, {3, 4, 5});
    write_array(path("x.nii"), image);
    const Array back = read_array(path("x.nii"));
    EXPECT_EQ(back.shape(), image.shape());
    EXPECT_TRUE(bytes_of(as_channels(back)) == bytes_of(as_channels(image)));
  }
}

TEST_F(Nifti, headers_that_lie) {
  const auto good = file({5, 4, 3}, 4, 120);
  EXPECT_EQ(decode_array(good, "x").shape(), (Shape{3, 4, 5}));
  EXPECT_THAT(failure(with<std::int32_t>(good, 0, 347)), HasSubstr("says that it has 347 bytes, expected 348"));
  EXPECT_THAT(failure(file({5, 4, 3}, 4, 119)), HasSubstr("it declares 3x4x5 voxels of 2 bytes, but at most 119"));
  EXPECT_THAT(failure(file({5, 0, 3}, 4, 120)), HasSubstr("its extent in dimension 2 of 3 is 0"));
  EXPECT_THAT(failure(file({5, -4, 3}, 4, 120)), HasSubstr("its extent in dimension 2 of 3 is -4"));
  EXPECT_THAT(failure(file({5, 4, 3, 1, 1, 2}, 4, 240)), HasSubstr("dimension 6 is 2, but only the first 5"));
  EXPECT_THAT(failure(with<std::int16_t>(good, 40, 0)), HasSubstr("it has 0 dimensions, expected 1 to 7"));
  EXPECT_THAT(failure(with<std::int16_t>(good, 40, 8)), HasSubstr("it has 8 dimensions"));
  EXPECT_THAT(failure(file({32767, 32767, 32767, 32767}, 64, 64)), HasSubstr("the file is damaged"));
  EXPECT_THAT(failure(file({32767, 32767, 2}, 4, 64)), HasSubstr("more than a file of"));
  EXPECT_THAT(failure(file({32767, 32767, 32}, 2, 64)), HasSubstr("the memory that is left is"));
  for (const auto& [code, words] : std::vector<std::pair<int, std::string>>{{1, "single bits"},
                                                                            {32, "complex"},
                                                                            {1536, "128 bits"},
                                                                            {1792, "complex"},
                                                                            {0, "number 0"},
                                                                            {77, "number 77"}})
    EXPECT_THAT(failure(file({5, 4}, code, 400)), HasSubstr(words));
  EXPECT_THAT(failure(with<std::int16_t>(good, 72, 8)), HasSubstr("its voxels have 8 bits, but their type 16"));
  for (const float offset : {100.0f, 352.5f, -1.0f, std::nanf(""), INFINITY})
    EXPECT_THAT(failure(with<float>(good, 108, offset)), HasSubstr("expected a whole number from 352 on"));
  EXPECT_THAT(failure(with<float>(good, 108, 1e9f)), HasSubstr("in its header, it is cut short"));
  EXPECT_EQ(decode_array(with<float>(good, 108, 0), "x").count(), 60);
}

TEST_F(Nifti, knows_its_kin_by_sight) {
  auto analyze = file({5, 4, 3}, 4, 0);
  analyze.resize(348);
  EXPECT_THAT(failure(with<std::int32_t>(analyze, 344, 0)), HasSubstr("its content is Analyze 7.5, which is not read"));
  std::vector<std::byte> dicom(200);
  std::memcpy(dicom.data() + 128, "DICM", 4);
  EXPECT_THAT(failure(dicom), HasSubstr("its content is DICOM"));
}

TEST_F(Nifti, extensions_that_lie) {
  NiftiHeader h;
  h.extensions = {{6, std::vector<std::byte>(24, std::byte{'a'})}, {44, std::vector<std::byte>(3, std::byte{'b'})}};
  const auto good = file({5, 4, 3}, 2, 60, h);
  const auto header = decode_image(good, "x").header.nifti;
  ASSERT_EQ(header->extensions.size(), 2u);
  EXPECT_EQ(header->extensions[1].code, 44);
  EXPECT_EQ(header->extensions[1].content.size(), 8u);
  EXPECT_THAT(failure(with<std::int32_t>(good, 352, 7)), HasSubstr("extension 1 of its header has 7 bytes"));
  EXPECT_THAT(failure(with<std::int32_t>(good, 352, -32)), HasSubstr("has -32 bytes, which are not there"));
  EXPECT_THAT(failure(with<std::int32_t>(good, 384, INT32_MAX)), HasSubstr("extension 2 of its header"));
  EXPECT_EQ(decode_image(with<std::int32_t>(good, 384, 0), "x").header.nifti->extensions.size(), 1u);
}

TEST_F(Nifti, gives_each_large_extent_its_place) {
  // 2^31 and more voxels that are not there are refused by arithmetic; 2^32 + 60 of them do not wrap to 60.
  EXPECT_THAT(failure(file({32767, 32767, 3}, 2, 60)), HasSubstr("more than a file of"));
  std::vector<std::byte> second = base::read_bytes(data + "/formats/second.nii");
  EXPECT_THAT(failure(with<std::int64_t>(second, 24, (std::int64_t{1} << 32) + 6)), HasSubstr("it declares"));
  EXPECT_THAT(failure(with<std::int64_t>(second, 24, INT64_MAX)), HasSubstr("the file is damaged"));
  EXPECT_THAT(failure(with<std::int64_t>(second, 24, INT64_MIN)), HasSubstr("its extent in dimension 1"));
  EXPECT_THAT(failure(with<std::int64_t>(second, 168, INT64_MAX)), HasSubstr("expected a whole number"));
  EXPECT_THAT(failure(with<std::int64_t>(second, 168, 543)), HasSubstr("expected a whole number from 544 on"));
}

TEST_F(Nifti, scales) {
  auto bytes = with<std::int16_t>(file({2}, 4, 4), 352, -3);
  bytes = with<float>(with<float>(bytes, 112, 0.5f), 116, 10);
  const Array image = decode_array(bytes, "x");
  ASSERT_EQ(image.format(), Format(E::f32));
  EXPECT_EQ(image.as<float>()[0], 8.5f);
  EXPECT_EQ(image.as<float>()[1], 10);
  EXPECT_EQ(decode_array(with<float>(bytes, 112, 0), "x").format(), Format(E::i16));
  EXPECT_EQ(decode_array(with<float>(bytes, 112, std::nanf("")), "x").format(), Format(E::i16));
  EXPECT_THAT(failure(with<float>(bytes, 116, INFINITY)), HasSubstr("it scales its voxels by 0.5 and adds inf"));
  // 64 bits are scaled whole, and narrowed only without a scale.
  auto wide = with<std::int64_t>(file({2}, 1024, 16), 352, std::int64_t{1} << 40);
  EXPECT_THAT(failure(wide), HasSubstr("voxel 0 is 1099511627776, which does not fit 32 bits"));
  const Array scaled = decode_array(with<float>(wide, 112, 2), "x");
  ASSERT_EQ(scaled.format(), Format(E::f64));
  EXPECT_EQ(scaled.as<double>()[0], 0x1p41);
}

TEST_F(Nifti, packed_files_that_lie) {
  const auto plain = file({5, 4, 3}, 4, 120);
  const auto good = packed(plain);
  EXPECT_EQ(decode_array(good, "x").shape(), (Shape{3, 4, 5}));
  // Two pieces, and zeros behind them.
  auto twice = packed({plain.begin(), plain.begin() + 400});
  const auto rest = packed({plain.begin() + 400, plain.end()});
  twice.insert(twice.end(), rest.begin(), rest.end());
  twice.resize(twice.size() + 7);
  EXPECT_EQ(decode_array(twice, "x").shape(), (Shape{3, 4, 5}));
  for (std::size_t size = 2; size < good.size(); ++size)
    EXPECT_THAT(message_of([&] { decode_array(std::span(good).first(size), "x.nii.gz"); }),
                HasSubstr("cannot read 'x.nii.gz' as NIfTI"))
        << size;
  auto wrong = good;
  wrong[wrong.size() - 6] ^= std::byte{1};  // of the checksum
  EXPECT_THAT(failure(wrong), HasSubstr("it is damaged (incorrect data check)"));
  EXPECT_THAT(failure(packed(file({5, 4, 3}, 4, 119))), HasSubstr("in its voxels, it is cut short"));
  EXPECT_THAT(failure(packed(file({5, 4, 3}, 4, 0))), HasSubstr("in its voxels, it is cut short"));
  EXPECT_THAT(failure(packed(file({32767, 32767}, 4, 0))), HasSubstr("more than a file of"));
  EXPECT_THAT(failure(packed(std::vector<std::byte>(1000))), HasSubstr("its content is gzip, which is not read"));
  // What follows the voxels is left alone, but its checksum is not.
  EXPECT_EQ(decode_array(packed(file({5, 4, 3}, 4, 5000)), "x").count(), 60);
}

TEST_F(Nifti, replaces_a_file_whole) {
  const Array first = random_array(E::i16, {3, 4, 5});
  write_array(path("x.nii.gz"), first);
  fs::create_symlink("/dev/full", path("full.nii"));
  EXPECT_THAT(message_of([&] { write_array(path("full.nii"), Array(E::f32, {30, 40, 50})); }),
              HasSubstr("no space left on the device"));
  {
    base::AtomicFile file(path("x.nii.gz"));
    write_array(file, random_array(E::i16, {3, 4, 5}, 2));
  }
  expect_same(read_array(path("x.nii.gz")), first);
  EXPECT_THAT(message_of([&] { write_array(path("x.gz"), first); }, ErrorClass::argument), HasSubstr("'.gz'"));
}

}  // namespace
}  // namespace tessera::io
