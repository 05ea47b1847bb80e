// Filters by name, from file to file: types, channels, headers, lengths, and what cannot be used.
#include <cmath>
#include <cstring>
#include <fstream>

#include "fixture.hpp"
#include "io/formats/nifti.hpp"
#include "tessera/filters.hpp"

namespace tessera::cli {
namespace {

class FilterVerb : public Command {
 protected:
  void SetUp() override {
    Command::SetUp();
    fs::copy_file(std::string(TESSERA_TEST_DATA) + "/anatomical.nii", path("a.nii"));
    fs::copy_file(std::string(TESSERA_TEST_DATA) + "/volumes/series4d.nii.gz", path("s.nii.gz"));
    weights("k2.npy", {3, 3});
    weights("k3.npy", {3, 3, 3});
    weights("k4.npy", {1, 3, 1, 3});
  }

  void weights(const std::string& name, const Shape& shape) const {
    Array k(ElementType::f32, shape);
    for (i64 i = 0; i < k.count(); ++i) k.as<float>()[i] = 1.0F / static_cast<float>(k.count());
    io::write_array(path(name), k);
  }

  io::Image image(const std::string& name) const { return io::read_image(path(name)); }

  static bool same(const Array& a, const Array& b) {
    return a.format().size() == b.format().size() && a.shape() == b.shape() &&
           std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.count()) * a.format().size()) == 0;
  }

  void refuses(const std::vector<std::string>& words, const std::string& part) const {
    SCOPED_TRACE(testing::PrintToString(words));
    expect_error(tessera(words), usage_faulty, part);
    EXPECT_FALSE(fs::exists(path("o.png")));
  }
};

TEST_F(FilterVerb, KeepsTypeAndChannels) {
  Outcome o = tessera({"filter", "gaussian", "colour.png", "-o", "o.png", "--sigma", "1.2", "--border", "wrap", "-q"});
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_TRUE(same(read("o.png"), gaussian(read("colour.png"), {.sigma = 1.2, .border = BorderMode::wrap})));
  o = tessera({"filter", "median", "grey.png", "-o", "m.png", "--radius", "2,1", "--verify", "-q"});
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_TRUE(same(read("m.png"), median(read("grey.png"), {.radius = {2, 1}})));
  ASSERT_EQ(tessera({"filter", "gaussian", "grey.png", "-o", "same.png", "--sigma", "0"}).status, 0);
  EXPECT_TRUE(same(read("same.png"), read("grey.png")));
  ASSERT_EQ(tessera({"filter", "box", "colour.png", "-o", "g.png", "--gray"}).status, 0);
  EXPECT_TRUE(same(read("g.png"), box(io::to_grey(read("colour.png")))));
}

TEST_F(FilterVerb, DerivativesAreFloat) {
  ASSERT_EQ(tessera({"filter", "laplacian", "grey.png", "-o", "l.tif"}).status, 0);
  EXPECT_EQ(read("l.tif").format(), Format(ElementType::f32));
  ASSERT_EQ(tessera({"filter", "laplacian", "grey.png", "-o", "l.npy", "--type", "int16"}).status, 0);
  EXPECT_EQ(read("l.npy").format(), Format(ElementType::i16));
}

TEST_F(FilterVerb, Weights) {
  ASSERT_EQ(tessera({"filter", "convolve", "grey.png", "-o", "o.png", "--kernel", "k2.npy"}).status, 0);
  EXPECT_TRUE(same(read("o.png"), box(read("grey.png"))));
  ASSERT_EQ(tessera({"filter", "correlate", "a.nii", "-o", "c.nii", "--kernel", "k3.npy", "--verify"}).status, 0);
  ASSERT_EQ(tessera({"filter", "convolve", "s.nii.gz", "-o", "c.nii.gz", "--kernel", "k4.npy", "--verify"}).status, 0);
  EXPECT_EQ(image("c.nii.gz").header.steps, image("s.nii.gz").header.steps);
}

TEST_F(FilterVerb, ExtentsAndTheirPlaceInSpace) {
  const io::Image in = image("a.nii");
  ASSERT_EQ(tessera({"filter", "box", "a.nii", "-o", "v.nii", "--extent", "valid"}).status, 0);
  const io::Image valid = image("v.nii");
  for (std::size_t d = 0; d < 3; ++d) EXPECT_EQ(valid.array.shape()[d], in.array.shape()[d] - 2);
  EXPECT_EQ(valid.header.steps, in.header.steps);
  const std::vector<i64> begin = {1, 1, 1},
                         end = {in.array.shape()[0] - 1, in.array.shape()[1] - 1, in.array.shape()[2] - 1};
  const io::ImageHeader expected = io::header_of_region(in.header, begin, end);
  EXPECT_EQ(valid.header.nifti->srow, expected.nifti->srow);
  ASSERT_EQ(tessera({"filter", "box", "a.nii", "-o", "f.nii", "--extent", "full", "--border", "clamped"}).status, 0);
  const io::Image full = image("f.nii");
  for (std::size_t d = 0; d < 3; ++d) EXPECT_EQ(full.array.shape()[d], in.array.shape()[d] + 2);
  EXPECT_EQ(full.header.steps, in.header.steps);
}

TEST_F(FilterVerb, LengthsArePointsOfTheHeader) {
  const io::Image in = image("a.nii");
  std::vector<double> sigma;
  for (const io::Step& s : in.header.steps) sigma.push_back(6 / s.size);
  ASSERT_EQ(tessera({"filter", "gaussian", "a.nii", "-o", "o.nii", "--sigma", "6mm"}).status, 0);
  const Array expected = gaussian(in.array, {.sigma = PerAxis(sigma)});
  EXPECT_TRUE(same(read("o.nii"), expected));
  EXPECT_FALSE(same(read("o.nii"), in.array));
  ASSERT_EQ(tessera({"filter", "gaussian", "a.nii", "-o", "c.nii", "--sigma", "0.6cm,6000um,6mm"}).status, 0);
  EXPECT_TRUE(same(read("c.nii"), expected));
  refuses({"filter", "gaussian", "a.nii", "-o", "o.png", "--sigma", "2s"}, "has no dimension in time");
  refuses({"filter", "gaussian", "grey.png", "-o", "o.png", "--sigma", "2mm"}, "does not say how far apart");
  refuses({"filter", "gaussian", "a.nii", "-o", "o.png", "--sigma", "2mm,1s,2mm"}, "gives it in millimetres");
  refuses({"filter", "gaussian", "a.nii", "-o", "o.png", "--sigma", "2ft"},
          "expected a number of points, or one with a unit");
  refuses({"filter", "gaussian", "a.nii", "-o", "o.png", "--truncate", "2mm"}, "expected a number");
}

TEST_F(FilterVerb, HeadersThatLie) {
  std::string bytes = base::read_text(path("a.nii"));
  const float distances[] = {0.0F, -3.0F, std::nanf(""), INFINITY};
  for (const float d : distances) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &d, sizeof bits);  // the file begins with the large end
    for (std::size_t k = 0; k < 4; ++k) bytes[76 + 3 * 4 + k] = static_cast<char>(bits >> (24 - 8 * k));  // pixdim[3]
    base::write_file(path("lie.nii"), std::string_view(bytes));
    const Outcome o = tessera({"filter", "gaussian", "lie.nii", "-o", "o.nii", "--sigma", "6mm", "-q"});
    if (d < 0) {  // its size is meant
      EXPECT_EQ(o.status, 0) << o.err;
      continue;
    }
    expect_error(o, usage_faulty, "does not say how far apart its points are");
  }
}

TEST_F(FilterVerb, Masks) {
  Array mask(ElementType::u8, {12, 16});
  for (i64 i = 0; i < mask.count(); ++i) mask.as<std::uint8_t>()[i] = i % 5 == 0 ? 255 : 0;
  io::write_array(path("mask.png"), mask);
  const auto smoothed = [&](const std::string& file, const std::vector<std::string>& more) {
    std::vector<std::string> words = {"filter", "gaussian", file, "-o", "o.npy", "-q", "--verify"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome o = tessera(words);
    EXPECT_EQ(o.status, 0) << o.err;
    return read("o.npy");
  };
  const Array grey = read("grey.png"), colour = read("colour.png");
  EXPECT_TRUE(same(smoothed("grey.png", {"--mask", "mask.png"}), gaussian(grey, {.mask = mask})));
  EXPECT_TRUE(same(smoothed("colour.png", {"--mask", "mask.png"}), gaussian(colour, {.mask = mask})));
  EXPECT_TRUE(same(smoothed("grey.png", {"--mask", "mask.png", "--extent", "full"}),
                   gaussian(grey, {.mask = mask, .extent = Extent::full})));
  const std::vector<i64> begin = {2, 3}, end = {9, 13};
  EXPECT_TRUE(same(smoothed("grey.png", {"--mask", "mask.png", "--roi", "2,3,8,12"}),
                   gaussian(grey.region(begin, end), {.mask = mask.region(begin, end)})));
  Array gaps(ElementType::f32, {12, 16});
  for (i64 i = 0; i < gaps.count(); ++i) gaps.as<float>()[i] = i % 7 == 0 ? NAN : static_cast<float>(i);
  io::write_array(path("gaps.npy"), gaps);
  const Array filled = smoothed("gaps.npy", {"--ignore-nan", "--mask", "mask.png"});
  EXPECT_TRUE(same(filled, gaussian(gaps, {.mask = mask, .ignore_nan = true})));
  EXPECT_TRUE(std::isfinite(filled.as<float>()[0]));
  EXPECT_EQ(tessera({"explain", "--filter", "gaussian", "--mask", "mask.png", "--size", "12x16"}).status, 0);
  EXPECT_EQ(tessera({"explain", "--filter", "gaussian", "--mask", "mask.png", "--size", "5x12x16"}).status, 0);
  refuses({"explain", "--filter", "gaussian", "--mask", "mask.png", "--size", "16x12"},
          "mask has shape 12x16, expected that of the image, 16x12");
  refuses({"filter", "gaussian", "grey.png", "-o", "o.png", "--mask", "colour.png"},
          "mask has elements of struct rgb, expected numbers");
  refuses({"filter", "gaussian", "grey.png", "-o", "o.png", "--mask", "k2.npy"},
          "mask has shape 3x3, expected that of the image, 12x16");
  refuses({"filter", "sobel", "grey.png", "-o", "o.png", "--ignore-nan"}, "filter 'sobel' has no option --ignore-nan");
}

TEST_F(FilterVerb, WarnsOfNoDataThatNoPointHas) {
  io::write_array(path("f.npy"), Array(ElementType::f32, {5, 6}));
  const auto said = [&](const std::string& file, const std::vector<std::string>& values) {
    std::vector<std::string> words = {"filter", "box", file, "-o", "o.npy", "-q"};
    for (const std::string& v : values) words.push_back("--nodata=" + v);
    const Outcome o = tessera(words);
    EXPECT_EQ(o.status, 0) << o.err;
    return o.err;
  };
  EXPECT_EQ(said("grey.png", {"0", "300"}),
            "warning: --nodata 300 is no value of uint8, the type of the image: no point has it\n");
  EXPECT_THAT(said("grey.png", {"-1"}), HasSubstr("--nodata -1 is no value of uint8"));
  EXPECT_THAT(said("colour.png", {"0.5"}), HasSubstr("--nodata 0.5 is no value of uint8"));
  EXPECT_THAT(said("f.npy", {"1e39"}), HasSubstr("--nodata 1e39 is no value of float"));
  EXPECT_EQ(said("f.npy", {"0.1", "-9999"}), "");
  EXPECT_EQ(said("grey.png", {"0", "255"}), "");
}

TEST_F(FilterVerb, RanksThatFit) {
  io::write_array(path("slice.npy"), Array(ElementType::f32, {1, 9, 8}));
  ASSERT_EQ(tessera({"filter", "canny", "slice.npy", "-o", "e.npy"}).status, 0);
  EXPECT_EQ(read("e.npy").shape(), (Shape{9, 8}));
  ASSERT_EQ(tessera({"filter", "convolve", "slice.npy", "-o", "e.npy", "--kernel", "k2.npy"}).status, 0);
  refuses({"filter", "canny", "a.nii", "-o", "o.png"}, "filter 'canny' takes images of rank 2, got one of rank 3");
  refuses({"filter", "convolve", "a.nii", "-o", "o.png", "--kernel", "k2.npy"},
          "kernel has rank 2 (3x3), but the image has rank 3");
}

TEST_F(FilterVerb, ListAndHelp) {
  const Outcome list = tessera({"filter", "--list"});
  EXPECT_EQ(list.status, 0);
  for (const FilterInfo& f : filters()) EXPECT_THAT(list.out, HasSubstr(f.name + "\n  " + f.summary.substr(0, 20)));
  EXPECT_THAT(list.out, HasSubstr("--sigma      float   1.5       standard deviation in points"));
  EXPECT_THAT(tessera({"filter", "--help"}).out, HasSubstr("--kernel"));
  const Outcome one = tessera({"filter", "median", "--list"});
  EXPECT_EQ(one.status, 0);
  EXPECT_THAT(one.out, testing::AllOf(testing::StartsWith("median\n"), HasSubstr("--radius"),
                                      testing::Not(HasSubstr("--sigma"))));
  refuses({"filter", "medain", "--list"}, "there is no filter 'medain'");
}

TEST_F(FilterVerb, Explains) {
  Outcome o = tessera({"explain", "--filter", "gaussian", "--sigma", "40", "--size", "4000x6000"});
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_THAT(o.out, testing::ContainsRegex("'result', 1 x 241: direct [0-9.]+, transform [0-9.]+; taken: transform"));
  EXPECT_THAT(o.out, testing::Not(HasSubstr("ns directly"))) << "prices stand once";
  o = tessera({"explain", "--filter", "convolve", "--kernel", "k3.npy", "--extent", "full", "--size", "8x9x10"});
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_THAT(o.out, HasSubstr("extent_0 = 12"));
  EXPECT_THAT(tessera({"explain", "--filter", "gaussian"}).out, HasSubstr("assumed: image 1080 x 1920"));
  EXPECT_THAT(tessera({"explain", "--filter", "convolve", "--kernel", "k3.npy"}).out,
              HasSubstr("assumed: image 256 x 256 x 256"));
  refuses({"explain", "--filter", "gaussian", "--size", "8x8", "--size", "8x8"}, "takes one --size, 2 are given");
  refuses({"explain", "--filter", "gausian", "--size", "8x8"}, "there is no filter 'gausian'");
  refuses({"explain", "gain.forma", "--filter", "gaussian", "--size", "8x8"}, "expected one of them");
  refuses({"explain"}, "program is required");
}

TEST_F(FilterVerb, RefusesWhatCannotBeUsed) {
  refuses({"filter"}, "name is required");
  refuses({"filter", "gaussian"}, "filter 'gaussian' is given no image");
  refuses({"filter", "gausian", "grey.png"}, "did you mean 'gaussian'?");
  const std::vector<std::string> gaussian = {"filter", "gaussian", "grey.png", "-o", "o.png"};
  const auto with = [](std::vector<std::string> words, const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  refuses(with(gaussian, {"--sgima", "2"}), "did you mean '--sigma'?");
  refuses(with(gaussian, {"--amount", "2"}), "filter 'gaussian' has no option --amount");
  refuses(with(gaussian, {"--sigma", "-2"}), "sigma -2 cannot be used, expected 0 to 5000 points");
  refuses(with(gaussian, {"--sigma", "nan"}), "cannot be used");
  refuses(with(gaussian, {"--sigma", ""}), "cannot be used");
  refuses(with(gaussian, {"--sigma", "1,2,3"}), "sigma has 3 numbers");
  refuses(with(gaussian, {"--sigma", "1,,3"}), "cannot be used");
  refuses(with(gaussian, {"--border", "mirorr"}), "did you mean 'mirror'?");
  refuses(with(gaussian, {"--border", "constant"}), "as in constant(0)");
  refuses(with(gaussian, {"--extent", "vaild"}), "did you mean 'valid'?");
  refuses(with(gaussian, {"--type", "uint7"}), "expected a type such as uint8 or float");
  refuses(with(gaussian, {"--sigma", "4", "--extent", "valid"}), "no point of an image of 12x16 has its window inside");
  const std::vector<std::string> convolve = {"filter", "convolve", "grey.png", "-o", "o.png"};
  refuses(convolve, "filter 'convolve' needs kernel");
  refuses(with(convolve, {"--kernel", "absent.npy"}), "no such file or folder");
  refuses(with(convolve, {"--kernel", "gain.forma"}), "no known format");
  refuses(with(convolve, {"--kernel", "1,2;1"}), "its rows have 2 and 1 weights");
  refuses(with(convolve, {"--kernel", "1,b"}), "'b' is no number");
  refuses(with(convolve, {"--kernel", "colour.png"}), "kernel has elements of struct rgb, expected numbers");
  refuses(with(convolve, {"--kernel", "k2.npy", "--anchor", "3"}), "anchor 3 is outside of the weights");
  Array faulty(ElementType::f64, {3, 2});
  faulty.as<double>()[1] = NAN;
  io::write_array(path("nan.npy"), faulty);
  refuses(with(convolve, {"--kernel", "nan.npy"}), "kernel holds a weight that is no finite number");
}

TEST_F(FilterVerb, ValuesFromOutsideForPrograms) {
  program("conv.forma",
          "parameter H, W;\ntable float K[H,W];\nparameter border edge = mirror;\nparameter type real = float;\n"
          "stencil f(vector#2 real X) { return sum(i = 0..H-1, j = 0..W-1) (K[i,j] * X@[i-(H-1)/2,j-(W-1)/2]); }\n"
          "parameter M, N;\nvector#2 real image[M,N];\nreturn f(image:edge);\n");
  Outcome o = tessera({"run", "conv.forma", "grey.png", "-o", "o.npy", "--table", "K=k2.npy", "-p", "edge=constant(3)",
                       "-p", "real=double"});
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_EQ(read("o.npy").format(), Format(ElementType::f64));
  for (const char* verb : {"check", "emit"})
    EXPECT_EQ(tessera({verb, "conv.forma", "--table", "K=k2.npy"}).status, 0) << verb;
  EXPECT_EQ(tessera({"explain", "conv.forma", "--table", "K=k2.npy", "--size", "9x9"}).status, 0);
  expect_error(tessera({"check", "conv.forma"}), program_faulty, "table 'K' has no values: expected them from outside");
  expect_error(tessera({"check", "conv.forma", "--table", "K=k3.npy"}), program_faulty,
               "an array of shape 3x3x3 is given");
  expect_error(tessera({"check", "conv.forma", "--table", "L=k2.npy", "--table", "K=k2.npy"}), program_faulty,
               "no table 'L'");
  refuses({"check", "conv.forma", "--table", "k2.npy"}, "expected name=file");
  refuses({"check", "conv.forma", "--table", "K=k2.npy", "--table", "K=k2.npy"}, "table 'K' is given twice");
  refuses({"check", "conv.forma", "--table", "K=absent.npy"}, "no such file or folder");
  refuses({"check", "conv.forma", "--table", "K=k2.npy", "-p", "edge=mirorr"}, "did you mean 'mirror'?");
  refuses({"check", "conv.forma", "--table", "K=k2.npy", "-p", "edge=+"},
          "expected name=number, or a boundary mode or type");
}

}  // namespace
}  // namespace tessera::cli
