// Every program of examples/ on small images: the compiled code agrees with the interpreter, and what the filter is
// known to do holds. Long programs are shortened through their own parameters; what is shortened is the number of equal
// steps, never the kind of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <set>

#include "tessera/program.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using Parameters = std::map<std::string, double>;

Program example(const std::string& name, const Parameters& parameters = {}) {
  return Program::from_file(std::string(TESSERA_SOURCE_DIR) + "/examples/" + name + ".forma", {parameters, {}});
}

double real(i64 v) {
  return static_cast<double>(v);
}

// Smooth shapes with some noise: edges, flat places and texture, in 0..255.
double scene(i64 y, i64 x, int plane) {
  const double wave = 90 + 60 * std::sin(0.31 * real(x) + plane) * std::cos(0.23 * real(y));
  const bool inside = (y / 9 + x / 11) % 2 == 0;
  const double noise = real((y * 7919 + x * 104729 + plane * 1299709) % 23);
  return std::floor(std::clamp(wave + (inside ? 50 : 0) + noise, 0.0, 255.0));
}

using Pixel = std::function<double(i64 y, i64 x, int plane)>;

void fill(const Array& a, const Pixel& value) {
  const i64 columns = a.shape().back(), step = static_cast<i64>(a.format().size());
  std::vector<Format::Field> fields = a.format().fields;
  if (fields.empty()) fields.push_back({"", a.format().scalar, 0});
  for (std::size_t k = 0; k < fields.size(); ++k)
    for (i64 i = 0; i < a.count(); ++i) {
      std::byte* at = static_cast<std::byte*>(a.data()) + i * step + fields[k].offset;
      const double v = value(i / columns, i % columns, static_cast<int>(k));
      if (fields[k].type == ElementType::u8)
        *reinterpret_cast<std::uint8_t*>(at) = static_cast<std::uint8_t>(v);
      else if (fields[k].type == ElementType::u16)
        *reinterpret_cast<std::uint16_t*>(at) = static_cast<std::uint16_t>(v);
      else
        *reinterpret_cast<float*>(at) = static_cast<float>(v);
    }
}

Array image(const Format& format, const Shape& shape, const Pixel& value = scene) {
  Array a(format, shape);
  fill(a, value);
  return a;
}
Array grey(const Shape& shape, const std::function<double(i64 y, i64 x)>& value) {
  return image(ElementType::f32, shape, [&](i64 y, i64 x, int) { return value(y, x); });
}

// Every number of an array, field after field within an element.
std::vector<double> numbers(const Array& a) {
  std::vector<double> all;
  std::vector<Format::Field> fields = a.format().fields;
  if (fields.empty()) fields.push_back({"", a.format().scalar, 0});
  for (i64 i = 0; i < a.count(); ++i)
    for (const Format::Field& f : fields) {
      const std::byte* at =
          static_cast<const std::byte*>(a.data()) + i * static_cast<i64>(a.format().size()) + f.offset;
      if (f.type == ElementType::u8)
        all.push_back(*reinterpret_cast<const std::uint8_t*>(at));
      else if (f.type == ElementType::u16)
        all.push_back(*reinterpret_cast<const std::uint16_t*>(at));
      else if (f.type == ElementType::f32)
        all.push_back(*reinterpret_cast<const float*>(at));
      else
        ADD_FAILURE() << "an example gives " << name_of(f.type);
    }
  return all;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  EXPECT_EQ(a.size(), b.size());
  double most = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}
double mean_difference(const std::vector<double>& a, const std::vector<double>& b) {
  EXPECT_EQ(a.size(), b.size());
  double sum = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) sum += std::abs(a[i] - b[i]);
  return sum / static_cast<double>(a.size());
}

struct Case {
  std::string name;
  std::vector<Shape> shapes;  // an empty one is a scalar
  Parameters parameters = {};
};

const std::vector<Case> quick_cases = {
    {"blur", {{37, 53}}},
    {"sobel", {{37, 53}}},
    {"canny", {{45, 67}}, {{"steps", 3}}},
    {"harris", {{37, 53}}},
    {"unsharp", {{29, 43}, {}}, {{"radius", 3}}},
    {"pyramid", {{48, 80}}},
    {"jacobi", {{33, 47}, {33, 47}}, {{"steps", 6}}},
    {"perona_malik", {{37, 53}}, {{"most", 9}}},
    {"rician", {{9, 14, 19}}, {{"steps", 2}, {"sigma", 20}}},
    {"echo", {{2, 3, 4, 9}}, {{"noise", 5}}},
    {"bilateral", {{23, 31}}, {{"radius", 2}}},
    {"bracket", {{19, 27}}},
    {"mosaic", {{22, 34}}},
    {"camera", {{22, 34}}},
};
// A hundred stages and more: seconds of compilation. Run as a test of their own.
const std::vector<Case> long_cases = {
    {"exposure_fusion", {{32, 48}, {32, 48}, {32, 48}}, {{"levels", 1}}},
    {"local_laplacian", {{32, 48}}, {{"tones", 2}}},
};

class Example : public testing::TestWithParam<Case> {};

// Integers may differ by one where a float that is not computed in the interpreter's order lies between them.
TEST_P(Example, CompiledAgreesWithTheInterpreter) {
  const Program program = example(GetParam().name, GetParam().parameters);
  EXPECT_TRUE(program.warnings().empty()) << program.warnings()[0].render();
  std::vector<Array> inputs;
  for (std::size_t k = 0; k < GetParam().shapes.size(); ++k) {
    const Shape& shape = GetParam().shapes[k];
    inputs.push_back(shape.empty() ? scalar(0.8) : image(program.inputs().at(k).format, shape));
  }
  const std::vector<Array> results = program.run(inputs), expected = program.interpret(inputs);
  for (std::size_t k = 0; k < results.size(); ++k) {
    EXPECT_EQ(results[k].shape(), expected[k].shape());
    const std::vector<double> want = numbers(expected[k]);
    double scale = 0;
    for (const double v : want) {
      ASSERT_TRUE(std::isfinite(v));
      scale = std::max(scale, std::abs(v));
    }
    EXPECT_GT(scale, 0) << "output " << k;
    const bool whole = results[k].format().is_struct() || !is_float(results[k].format().scalar);
    EXPECT_LE(largest_difference(numbers(results[k]), want), whole ? 1 : 1e-4 * scale) << "output " << k;
  }
}

std::string name_of_case(const testing::TestParamInfo<Case>& i) {
  return i.param.name;
}
INSTANTIATE_TEST_SUITE_P(Quick, Example, testing::ValuesIn(quick_cases), name_of_case);
INSTANTIATE_TEST_SUITE_P(Long, Example, testing::ValuesIn(long_cases), name_of_case);

TEST(Examples, AllAreTested) {
  std::set<std::string> tested, there;
  for (const auto& cases : {quick_cases, long_cases})
    for (const Case& c : cases) tested.insert(c.name);
  for (const auto& entry : fs::directory_iterator(std::string(TESSERA_SOURCE_DIR) + "/examples"))
    if (entry.path().extension() == ".forma") there.insert(entry.path().stem().string());
  EXPECT_EQ(tested, there);
}

// ---- what each filter is known to do -------------------------------------------------------------------------------

TEST(Examples, BlurKeepsAConstantAndSpreadsAPoint) {
  const Program blur = example("blur");
  for (const double v : numbers(blur.run({grey({9, 13}, [](i64, i64) { return 7; })}).at(0))) EXPECT_NEAR(v, 7, 1e-5);
  const Array r = blur.run({grey({9, 13}, [](i64 y, i64 x) { return y == 4 && x == 6 ? 90 : 0; })}).at(0);
  for (i64 y = 0; y < 9; ++y)
    for (i64 x = 0; x < 13; ++x)
      EXPECT_NEAR(r.as<float>()[y * 13 + x], std::abs(y - 4) <= 1 && std::abs(x - 6) <= 1 ? 10 : 0, 1e-5);
}

TEST(Examples, SobelGivesSlopeAndDirection) {
  const auto r = example("sobel").run({grey({9, 11}, [](i64 y, i64 x) { return 3 * real(x) + 4 * real(y); })});
  for (i64 y = 1; y < 8; ++y)
    for (i64 x = 1; x < 10; ++x) {
      EXPECT_NEAR(r[0].as<float>()[y * 11 + x], 8 * 5, 1e-4);
      EXPECT_NEAR(r[1].as<float>()[y * 11 + x], std::atan2(4, 3), 1e-6);
    }
}

TEST(Examples, CannyDrawsOneThinLineAlongAnEdge) {
  const Program canny = example("canny", {{"steps", 3}});
  const Array r = canny.run({grey({40, 50}, [](i64, i64 x) { return x < 20 ? 30 : 200; })}).at(0);
  for (i64 y = 0; y < 40; ++y) {
    std::vector<i64> at;
    for (i64 x = 0; x < 50; ++x) {
      const std::uint8_t v = r.as<std::uint8_t>()[y * 50 + x];
      EXPECT_TRUE(v == 0 || v == 255);
      if (v != 0) at.push_back(x);
    }
    ASSERT_EQ(at.size(), 1U) << "row " << y;
    EXPECT_TRUE(at[0] == 19 || at[0] == 20) << at[0];
  }
}

TEST(Examples, CannyFollowsAWeakEdgeFromItsStrongPart) {
  // A step whose height falls from 60 to 18 between the rows 10 and 25, and a step of 18 that touches nothing strong.
  const Array steps = grey({40, 60}, [](i64 y, i64 x) {
    return (x >= 20 ? 60 - 2.8 * real(std::clamp<i64>(y - 10, 0, 15)) : 0) + (x >= 40 ? 18 : 0);
  });
  const auto found = [&](double growth, i64 from, i64 to) {
    const Array r = example("canny", {{"steps", growth}}).interpret({steps}).at(0);
    i64 count = 0;
    for (i64 y = 26; y < 40; ++y)
      for (i64 x = from; x < to; ++x) count += r.as<std::uint8_t>()[y * 60 + x] != 0;
    return count;
  };
  EXPECT_EQ(found(1, 15, 25), 0);
  EXPECT_GE(found(8, 15, 25), 2);
  EXPECT_EQ(found(8, 35, 45), 0);
}

TEST(Examples, HarrisPeaksAtCorners) {
  const auto r = example("harris").run(
      {grey({40, 50}, [](i64 y, i64 x) { return y >= 12 && y < 28 && x >= 15 && x < 35 ? 255 : 0; })});
  std::set<std::pair<i64, i64>> near;
  for (i64 y = 0; y < 40; ++y)
    for (i64 x = 0; x < 50; ++x) {
      if (r[1].as<std::uint8_t>()[y * 50 + x] == 0) continue;
      const i64 cy = std::abs(y - 12) < std::abs(y - 27) ? 12 : 27, cx = std::abs(x - 15) < std::abs(x - 34) ? 15 : 34;
      EXPECT_LE(std::max(std::abs(y - cy), std::abs(x - cx)), 2) << y << ' ' << x;
      near.emplace(cy, cx);
    }
  EXPECT_EQ(near.size(), 4U);
  EXPECT_LT(r[0].as<float>()[20 * 50 + 15], 0);  // on an edge
  EXPECT_EQ(r[0].as<float>()[20 * 50 + 25], 0);  // in a flat place
}

TEST(Examples, UnsharpWithNothingIsTheImage) {
  const Program unsharp = example("unsharp", {{"radius", 3}});
  const Array photo = image(unsharp.inputs()[0].format, {29, 43});
  EXPECT_EQ(numbers(unsharp.run({photo, scalar(0)}).at(0)), numbers(photo));
  EXPECT_GT(largest_difference(numbers(unsharp.run({photo, scalar(1)}).at(0)), numbers(photo)), 5);
}

TEST(Examples, ThePyramidGivesTheImageBack) {
  const Program pyramid = example("pyramid");
  const Array photo = image(ElementType::f32, {64, 96});
  const auto r = pyramid.run({photo});
  EXPECT_LT(largest_difference(numbers(r.at(5)), numbers(photo)), 1e-3);
  EXPECT_EQ(r.at(4).shape(), (Shape{4, 6}));
  const auto flat = pyramid.run({grey({32, 32}, [](i64, i64) { return 50; })});
  for (std::size_t level = 0; level < 4; ++level)
    for (const double v : numbers(flat.at(level))) EXPECT_NEAR(v, 0, 1e-4);
  // Of any extents.
  const Array odd = image(ElementType::f32, {37, 51});
  const auto any = pyramid.run({odd});
  EXPECT_LT(largest_difference(numbers(any.at(5)), numbers(odd)), 1e-3);
  EXPECT_EQ(any.at(4).shape(), (Shape{3, 4}));
}

TEST(Examples, JacobiApproachesTheSolution) {
  // -laplace(u) = 2 pi^2 sin(pi x) sin(pi y) on the unit square, 0 around it, has u = sin(pi x) sin(pi y).
  const i64 n = 9;
  const double pi = std::acos(-1.0), h = 1.0 / static_cast<double>(n + 1);
  const auto exact = [&](i64 y, i64 x) { return std::sin(pi * h * real(x + 1)) * std::sin(pi * h * real(y + 1)); };
  const Array zero(ElementType::f32, {n, n});
  const Array source = grey({n, n}, [&](i64 y, i64 x) { return h * h * 2 * pi * pi * exact(y, x); });
  const std::vector<double> solution = numbers(grey({n, n}, exact));
  const double early =
      largest_difference(numbers(example("jacobi", {{"steps", 10}}).interpret({zero, source}).at(0)), solution);
  const double late = largest_difference(numbers(example("jacobi").interpret({zero, source}).at(0)), solution);
  EXPECT_LT(late, 0.03);
  EXPECT_GT(early, 10 * late);
}

TEST(Examples, PeronaMalikStopsWhenTheNoiseIsGone) {
  std::uint32_t state = 1;
  const auto at_most_14 = [&] {  // uniform, of standard deviation 8
    state = state * 1664525 + 1013904223;
    return (static_cast<double>(state >> 8) / (1 << 24) - 0.5) * 8 * std::sqrt(12.0);
  };
  const Array noisy = grey({64, 64}, [&](i64, i64 x) { return (x < 32 ? 50 : 150) + at_most_14(); });
  RunOptions options;
  i64 steps = 0;
  options.on_loop_end = [&](const LoopEnd& end) { steps = end.iterations; };
  const std::vector<double> smooth = numbers(example("perona_malik").run({noisy}, options).at(0));
  const std::vector<double> given = numbers(noisy);
  double taken = 0, left = 0;
  for (std::size_t k = 0; k < smooth.size(); ++k) {
    const double clean = k % 64 < 32 ? 50 : 150;
    taken += (given[k] - smooth[k]) * (given[k] - smooth[k]) / 4096;
    left += (clean - smooth[k]) * (clean - smooth[k]) / 4096;
  }
  EXPECT_TRUE(steps == 200 || taken >= 64) << steps;
  EXPECT_LT(left, 16);  // of 64
}

TEST(Examples, RicianDenoisingRemovesNoiseAndKeepsAnEdge) {
  const Program denoise = example("rician", {{"steps", 8}});
  std::uint32_t state = 1;
  const auto noise = [&] {  // Gaussian enough: the sum of twelve uniform numbers
    double sum = -6;
    for (int k = 0; k < 12; ++k) {
      state = state * 1664525 + 1013904223;
      sum += static_cast<double>(state >> 8) / (1 << 24);
    }
    return 0.05 * sum;
  };
  const auto truth = [](i64 x) { return x < 12 ? 0.3 : 0.8; };
  const Array noisy =
      image(ElementType::f32, {8, 16, 24}, [&](i64, i64 x, int) { return std::hypot(truth(x) + noise(), noise()); });
  const std::vector<double> before = numbers(noisy), after = numbers(denoise.interpret({noisy}).at(0));
  double error_before = 0, error_after = 0, low = 0, high = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const i64 x = static_cast<i64>(i) % 24;
    error_before += std::abs(before[i] - truth(x));
    error_after += std::abs(after[i] - truth(x));
    (x < 12 ? low : high) += after[i] / (8 * 16 * 12);
  }
  EXPECT_LT(error_after, 0.6 * error_before);
  EXPECT_GT(high - low, 0.4);
}

TEST(Examples, BilateralSmoothsNoiseButNotSteps) {
  const auto noisy = [](i64 y, i64 x) { return (x < 16 ? 40 : 200) + real((y * 31 + x * 17) % 11) - 5; };
  const Array r = example("bilateral").interpret({grey({24, 32}, noisy)}).at(0);
  for (i64 y = 0; y < 24; ++y)
    for (i64 x = 0; x < 32; ++x) EXPECT_NEAR(r.as<float>()[y * 32 + x], x < 16 ? 40 : 200, 2.5);
}

TEST(Examples, ExposureFusionTakesWhatIsWellExposed) {
  const Program fusion = example("exposure_fusion", {{"levels", 1}});
  const Format format = fusion.inputs()[0].format;
  const Array middle = image(format, {32, 32});
  const Array dark = image(format, {32, 32}, [](i64 y, i64 x, int) { return real((x + y) % 2); });
  const Array bright = image(format, {32, 32}, [](i64 y, i64 x, int) { return 254 + real((x + y) % 2); });
  const std::vector<double> wanted = numbers(middle);
  EXPECT_LT(mean_difference(numbers(fusion.interpret({dark, middle, bright}).at(0)), wanted), 10);
  EXPECT_LE(largest_difference(numbers(fusion.interpret({middle, middle, middle}).at(0)), wanted), 1);
}

TEST(Examples, TheCameraGivesThePhotographBack) {
  const Program mosaic = example("mosaic"), camera = example("camera");
  const Array photo = image(mosaic.inputs()[0].format, {48, 64}, [](i64 y, i64 x, int plane) {
    return 120 + 70 * std::sin(0.11 * real(x) + plane) * std::cos(0.09 * real(y) - plane);
  });
  const Array raw = mosaic.run({photo}).at(0);
  const std::vector<double> picture = numbers(camera.run({raw}).at(0));
  EXPECT_LT(mean_difference(picture, numbers(photo)), 1.5);
  // A hot point of the sensor leaves no trace far above its neighbours.
  Array hot = raw.clone();
  hot.as<std::uint16_t>()[20 * 64 + 30] = 1023;
  EXPECT_LT(largest_difference(numbers(camera.run({hot}).at(0)), picture), 12);
}

TEST(Examples, LocalLaplacianWithNothingIsThePhotograph) {
  const Program plain = example("local_laplacian", {{"amount", 0}, {"tones", 3}});
  const Program strong = example("local_laplacian", {{"amount", 3}, {"tones", 3}});
  const Array photo = image(plain.inputs()[0].format, {32, 48});
  EXPECT_LE(largest_difference(numbers(plain.interpret({photo}).at(0)), numbers(photo)), 1);
  EXPECT_GT(largest_difference(numbers(strong.interpret({photo}).at(0)), numbers(photo)), 15);
}

}  // namespace
}  // namespace tessera
