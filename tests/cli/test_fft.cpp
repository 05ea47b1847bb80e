// `tessera fft`: transforms of files, their spectra, the way back, and what is refused.
#include <cmath>

#include "fixture.hpp"

namespace tessera::cli {
namespace {

class Transforms : public Command {
 protected:
  void SetUp() override {
    Command::SetUp();
    Array volume(ElementType::f32, {3, 4, 5});
    for (i64 i = 0; i < volume.count(); ++i) volume.as<float>()[i] = static_cast<float>((i * 7) % 11);
    io::write_array(path("v.npy"), volume);
    io::write_array(path("v.nii"), volume);
  }
};

TEST_F(Transforms, ThereAndBack) {
  ASSERT_EQ(tessera({"fft", "grey.png", "-o", "F.npy", "--verify", "-q"}).status, 0);
  const Array spectrum = read("F.npy");
  EXPECT_EQ(spectrum.format(), Format::record("complex", {{"re", ElementType::f32}, {"im", ElementType::f32}}));
  EXPECT_EQ(spectrum.shape(), (Shape{12, 16}));
  EXPECT_NEAR(spectrum.as<float>()[0], 191 * 96, 0.1);  // the sum
  ASSERT_EQ(tessera({"fft", "F.npy", "--inverse", "-o", "back.png"}).status, 0);
  const Array grey = read("grey.png"), back = read("back.png");
  for (i64 i = 0; i < grey.count(); ++i) EXPECT_EQ(back.as<std::uint8_t>()[i], grey.as<std::uint8_t>()[i]);
  ASSERT_EQ(tessera({"fft", "F.npy", "--inverse", "-o", "b.npy"}).status, 0);
  EXPECT_TRUE(read("b.npy").format().is_struct());
  ASSERT_EQ(tessera({"fft", "F.npy", "--inverse", "--real", "-o", "r.npy"}).status, 0);
  EXPECT_EQ(read("r.npy").format(), Format(ElementType::f32));
}

TEST_F(Transforms, PicturesHaveFrequencyZeroInTheMiddle) {
  ASSERT_EQ(tessera({"fft", "grey.png", "--spectrum", "s.png"}).status, 0);
  const Array s = read("s.png");
  EXPECT_EQ(s.format(), Format(ElementType::u8));
  EXPECT_EQ(s.as<std::uint8_t>()[6 * 16 + 8], 255);
  // Of colours every channel, of floats from 0 to 1, of volumes all planes or each by itself.
  ASSERT_EQ(tessera({"fft", "colour.png", "--spectrum", "c.png"}).status, 0);
  EXPECT_EQ(read("c.png").format(), io::pixel_format(ElementType::u8, 3));
  ASSERT_EQ(tessera({"fft", "v.nii", "--spectrum", "v_s.nii", "-o", "V.npy"}).status, 0);
  const Array v = read("v_s.nii");
  EXPECT_EQ(v.shape(), (Shape{3, 4, 5}));
  EXPECT_EQ(v.as<float>()[(1 * 4 + 2) * 5 + 2], 1);
  ASSERT_EQ(tessera({"fft", "v.npy", "--spectrum", "p.npy", "--axes", "1,-1"}).status, 0);
  for (i64 plane = 0; plane < 3; ++plane) EXPECT_GT(read("p.npy").as<float>()[(plane * 4 + 2) * 5 + 2], 0.9F);
}

TEST_F(Transforms, WithoutAFileASummaryIsPrinted) {
  const Outcome o = tessera({"fft", "grey.png"});
  EXPECT_EQ(o.status, 0);
  EXPECT_THAT(o.out, HasSubstr("F: 12x16 struct complex"));
}

TEST_F(Transforms, AProgramTakesComplexFiles) {
  program("swap_parts.forma",
          "stencil swap(vector#2 complex F) { return struct complex(F.im, F.re); }\n"
          "parameter M, N;\nvector#2 complex F[M,N];\nreturn swap(F);\n");
  ASSERT_EQ(tessera({"fft", "grey.png", "-o", "F.npy"}).status, 0);
  ASSERT_EQ(tessera({"run", "swap_parts.forma", "F.npy", "-o", "G.npy"}).status, 0);
  EXPECT_EQ(read("G.npy").as<float>()[1], read("F.npy").as<float>()[0]);
}

TEST_F(Transforms, WhatIsRefused) {
  expect_error(tessera({"fft", "grey.png", "-o", "F.png"}), 2, "cannot hold complex numbers, expected a .npy file");
  expect_error(tessera({"fft", "colour.png", "-o", "F.npy"}), 2, "has 3 channels");
  expect_error(tessera({"fft", "grey.png", "--axes", "2"}), 2, "--axes '2' names dimension 2, expected 0 to 1");
  expect_error(tessera({"fft", "grey.png", "--axes", "1,-1"}), 2, "--axes '1,-1' names dimension 1 twice");
  expect_error(tessera({"fft", "grey.png", "--axes", "x"}), 2, "--axes");
  expect_error(tessera({"fft", "grey.png", "-o", "a.npy", "-o", "b.npy"}), 2, "-o is given 2 times");
  expect_error(tessera({"fft", "missing.png"}), 2, "missing.png");
  expect_error(tessera({"fft"}), 2, "image is required");
  Array deep(ElementType::f32, {1, 1, 1, 1, 2});
  io::write_array(path("deep.npy"), deep);
  expect_error(tessera({"fft", "deep.npy"}), 2, "has rank 5");
}

TEST_F(Transforms, FiltersByName) {
  ASSERT_EQ(tessera({"filter", "lowpass", "grey.png", "-o", "l.npy", "--cutoff", "0.1", "--type", "float"}).status, 0);
  ASSERT_EQ(tessera({"filter", "highpass", "grey.png", "-o", "h.npy", "--cutoff", "0.1", "--verify", "-q"}).status, 0);
  const Array low = read("l.npy"), high = read("h.npy"), grey = read("grey.png");
  for (i64 i = 0; i < grey.count(); ++i)
    EXPECT_NEAR(low.as<float>()[i] + high.as<float>()[i], grey.as<std::uint8_t>()[i], 1e-3);
  expect_error(tessera({"filter", "highpass", "grey.png", "--border", "wrap"}), 2, "has no option --border");
}

}  // namespace
}  // namespace tessera::cli
