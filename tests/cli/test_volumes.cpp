// Volumes from file to file: ranks that fit or do not, and what becomes of the header.
#include "fixture.hpp"
#include "io/formats/nifti.hpp"

namespace tessera::cli {
namespace {

const std::string anatomical = std::string(TESSERA_TEST_DATA) + "/anatomical.nii";
const std::string series = std::string(TESSERA_TEST_DATA) + "/volumes/series4d.nii.gz";

class Volumes : public Command {
 protected:
  void SetUp() override {
    Command::SetUp();
    program("same3.forma",
            "stencil same(vector#3 float X) { return X; }\n"
            "parameter L, M, N;\nvector#3 float v[L,M,N];\nreturn same(v);\n");
    program("bright3.forma",
            "stencil bright(vector#3 float X) { return saturate<uint8>(X > 500); }\n"
            "parameter L, M, N;\nvector#3 float v[L,M,N];\nreturn bright(v);\n");
    program("same4.forma",
            "stencil same(vector#4 int16 X) { return X; }\n"
            "parameter T, L, M, N;\nvector#4 int16 v[T,L,M,N];\nreturn same(v);\n");
    program("part3.forma",
            "stencil same(vector#3 float X) { return X; }\n"
            "parameter L, M, N;\nvector#3 float v[L,M,N];\nreturn same(v[1..,1..,1..]);\n");
    fs::copy_file(anatomical, path("a.nii"));
    fs::copy_file(series, path("s.nii.gz"));
  }
  io::Image image(const std::string& name) const { return io::read_image(path(name)); }
  // Every field but those of the voxels' type.
  static std::vector<std::byte> printed(const io::ImageHeader& header) {
    io::NiftiHeader h = *header.nifti;
    h.datatype = h.bitpix = 0;
    h.cal_max = h.cal_min = h.scl_inter = 0;
    h.scl_slope = 1;
    return io::print_nifti(h);
  }
};

TEST_F(Volumes, AreFilteredAndKeepTheirHeader) {
  const Outcome o = tessera({"run", "same3.forma", "a.nii", "-o", "o.nii.gz", "--verify", "-q"});
  ASSERT_EQ(o.status, 0) << o.err;
  const io::Image in = image("a.nii"), out = image("o.nii.gz");
  ASSERT_EQ(out.array.format(), Format(ElementType::f32));
  ASSERT_EQ(out.array.shape(), in.array.shape());
  for (i64 i = 0; i < out.array.count(); ++i)
    ASSERT_EQ(out.array.as<float>()[i], static_cast<float>(in.array.as<std::int16_t>()[i]));
  EXPECT_EQ(out.header.nifti->datatype, 16);
  EXPECT_EQ(printed(out.header), printed(in.header));
}

TEST_F(Volumes, TakeTheTypeOfTheProgram) {
  ASSERT_EQ(tessera({"run", "bright3.forma", "a.nii", "-o", "o.nii"}).status, 0);
  const io::Image out = image("o.nii");
  EXPECT_EQ(out.array.format(), Format(ElementType::u8));
  EXPECT_EQ(out.header.nifti->datatype, 2);
  EXPECT_EQ(printed(out.header), printed(image("a.nii").header));
}

TEST_F(Volumes, SeriesKeepTimeAndExtensions) {
  ASSERT_EQ(tessera({"run", "same4.forma", "s.nii.gz", "-o", "o.nii"}).status, 0);
  const io::Image in = image("s.nii.gz"), out = image("o.nii");
  EXPECT_EQ(out.array.format(), in.array.format());
  EXPECT_EQ(out.header.steps, in.header.steps);
  EXPECT_EQ(out.header.nifti->extensions.size(), 2u);
  EXPECT_EQ(printed(out.header), printed(in.header));
}

TEST_F(Volumes, GoThroughPagesOfTiff) {
  ASSERT_EQ(tessera({"run", "same4.forma", "s.nii.gz", "-o", "o.tif"}).status, 0);
  ASSERT_EQ(tessera({"run", "same4.forma", "o.tif", "-o", "o.nii"}).status, 0);
  const io::Image in = image("s.nii.gz"), out = image("o.nii");
  ASSERT_EQ(out.array.shape(), in.array.shape());
  for (std::size_t d = 0; d < 4; ++d) {
    EXPECT_NEAR(out.header.steps[d].size, in.header.steps[d].size, 1e-5 * in.header.steps[d].size);
    EXPECT_EQ(out.header.steps[d].unit, in.header.steps[d].unit);
  }
}

TEST_F(Volumes, OfTheWrongRankAreRefused) {
  expect_error(tessera({"run", "gain.forma", "a.nii", "1", "-o", "o.nii"}), 2,
               "has rank 3 (25x41x33), which does not fit input 'image', float of rank 2 [M x N]\n"
               "help: write the program for vector#3, or add --pages, which runs it on each slice by itself");
  expect_error(tessera({"run", "same3.forma", "s.nii.gz", "-o", "o.nii"}), 2,
               "has rank 4 (2x6x24x32), which does not fit input 'v', float of rank 3 [L x M x N]\n"
               "help: write the program for vector#4, or add --pages, which runs it on each volume by itself");
  expect_error(tessera({"run", "same4.forma", "a.nii", "-o", "o.nii"}), 2, "has rank 3 (25x41x33)");
  EXPECT_FALSE(fs::exists(path("o.nii")));
}

TEST_F(Volumes, OfExtentOneAreImages) {
  ASSERT_EQ(tessera({"run", "same4.forma", "s.nii.gz", "--roi", "1,2,0,0,1,2,23,31", "-o", "one.nii"}).status, 0);
  ASSERT_EQ(image("one.nii").array.shape(), (Shape{1, 1, 24, 32}));
  ASSERT_EQ(tessera({"run", "same3.forma", "one.nii", "-o", "three.nii"}).status, 0);
  EXPECT_EQ(image("three.nii").array.shape(), (Shape{1, 24, 32}));
  ASSERT_EQ(tessera({"run", "gain.forma", "one.nii", "1", "-o", "two.nii"}).status, 0);
  const io::Image two = image("two.nii");
  EXPECT_EQ(two.array.shape(), (Shape{24, 32}));
  EXPECT_EQ(two.header.nifti->srow, image("one.nii").header.nifti->srow);
}

TEST_F(Volumes, PartsKeepTheirPlace) {
  ASSERT_EQ(tessera({"run", "same3.forma", "a.nii", "--roi", "2,3,4,9,10,11", "-o", "o.nii"}).status, 0);
  EXPECT_THAT(image("o.nii").header.nifti->qoffset, testing::ElementsAre(24, -34, -12));
  ASSERT_EQ(tessera({"run", "same3.forma", "a.nii", "--roi", "2,3,4,9,10,11", "--onto", "a.nii", "-o", "o.nii"}).status,
            0);
  EXPECT_EQ(printed(image("o.nii").header), printed(image("a.nii").header));
}

TEST_F(Volumes, OfOtherExtentsHaveNoHeader) {
  const Outcome o = tessera({"run", "part3.forma", "a.nii", "-o", "o.nii"});
  ASSERT_EQ(o.status, 0) << o.err;
  const io::Image out = image("o.nii");
  EXPECT_EQ(out.array.shape(), (Shape{24, 40, 32}));
  EXPECT_EQ(out.header.nifti->sform_code, 0);
  EXPECT_EQ(out.header.nifti->xyzt_units, 0);
}

TEST_F(Volumes, StoreUnitFloatsAsTheyAre) {
  ASSERT_EQ(tessera({"run", "same3.forma", "a.nii", "--unit", "-o", "o.nii.gz"}).status, 0);
  const Array in = read("a.nii"), out = read("o.nii.gz");
  EXPECT_EQ(out.as<float>()[9000], static_cast<float>(in.as<std::int16_t>()[9000]) / 32767);
}

}  // namespace
}  // namespace tessera::cli
