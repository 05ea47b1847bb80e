// Filters by name: one call on an array.
//
//   tessera::Array smooth = tessera::gaussian(photo, {.sigma = 2.5, .border = tessera::BorderMode::wrap});
//   tessera::Array sharp = tessera::convolve(volume, weights, {.extent = tessera::Extent::valid});
//
// They are the programs of filters/, compiled for the options that are given; docs/filters.md describes each. What
// holds for all of them:
//
// - `image` is an array of rank 1 to 4 (canny, harris, clahe and nonlocal_means: 2; structure_tensor: 2 or 3), slowest
//   dimension first, of scalars or of structs whose fields have one type. Every field is filtered by itself, but where
//   one is alpha: see Alpha. A device's array gives an array on that device.
// - The result has the type of the image, rounded half to even and clamped; derivatives and measures (sobel, laplacian,
//   canny, harris, highpass, bandpass, deviation, local_contrast, difference_of_gaussians, laplacian_of_gaussian,
//   gaussian_derivative, structure_tensor) give float, or double of a double. `type` asks for another one. bool counts
//   as uint8, 0 and 1. Arithmetic is in float, of int32, uint32 and double in double, and in `arithmetic` where that is
//   given; median, percentile, rank, erode, dilate and what is made of these keep the type.
// - A border constant(k) continues the image in the type of the arithmetic: k need be no value of the image's type.
// - gaussian, box, convolve and correlate take a `mask`: scalars of the image's shape, where the image lies, or of its
//   last dimensions (one mask for all slices of a volume, for all volumes of a series), which say how certain each
//   point is, 0 or below: not at all. `ignore_nan` takes points that are NaN or infinite for such. The result is
//   sum(w c x) over sum(|w| c), times sum(|w|): with certainty everywhere the same it is that of the filter without;
//   where none falls under the weights it is NaN, 0 in integers. Outside of the image nothing is certain with
//   a border constant(0). `nodata` are values of the image that stand for points that are not known; where nothing is
//   known the result is the first of them.
// - `region` computes a part of the result alone: [begin, end) of each of its dimensions, whose first points have
//   index 0 for every extent. It has the bits that it has in the whole result and costs what its points and their
//   windows cost.
//   Filters of frequencies have no parts.
// - Lengths are in points of the image. A PerAxis is one number for all dimensions or one for each.
// - Throw Error(argument) for options that cannot be used, and what Program::run throws.
// - Thread-safe. The programs of the last 64 sets of options stay in memory, so that a second call compiles nothing.
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tessera/array.hpp"
#include "tessera/border.hpp"
#include "tessera/program.hpp"

namespace tessera {

// Of the result, where a window reaches `a` points back and `b` points ahead in a dimension of n points:
//   same   n; borders give what is missing
//   valid  n - a - b: the points whose window lies inside
//   full   n + a + b: every point whose window touches the image, which is continued by its border
enum class Extent { same, valid, full };

// What becomes of alpha, the field "a" of two or four:
//   weighted    colours count by their alpha: they are multiplied by it, filtered and divided by the filtered alpha, 0
//               where that is 0; alpha is filtered with them. So nothing of a transparent point's colour is seen.
//               median, percentile, rank, erode, dilate, opening and closing choose values, of alpha too, and take the
//               colour of a transparent point for 0. Of derivatives, measures, tophat, blackhat, morphological_gradient
//               and weights whose sum is 0 alpha is kept.
//   kept        alpha stays as it is, every colour is filtered by itself
//   associated  colours are multiplied by alpha already: it is filtered as they are
enum class Alpha { weighted, kept, associated };

// One number for all dimensions, or one per dimension, slowest first.
struct PerAxis {
  std::vector<double> values;
  PerAxis(double one) : values{one} {}  // NOLINT: a number is one for all
  PerAxis(std::initializer_list<double> each) : values(each) {}
  explicit PerAxis(std::vector<double> each) : values(std::move(each)) {}
};

// The sigma of a Gaussian whose full width at half of its maximum this is: {.sigma = fwhm(6)}.
inline PerAxis fwhm(PerAxis width) {
  for (double& v : width.values) v /= 2.3548200450309493;  // 2 sqrt(2 log 2)
  return width;
}

// One mode for all dimensions, or one per dimension, slowest first.
struct Borders {
  std::vector<Border> modes;  // none: the usual one
  Borders() = default;
  Borders(BorderMode one) : modes{Border{one, 0}} {}  // NOLINT: a mode is one for all
  Borders(Border one) : modes{one} {}                 // NOLINT
  Borders(std::initializer_list<Border> each) : modes(each) {}
  explicit Borders(std::vector<Border> each) : modes(std::move(each)) {}
};

// A border that is not given is mirror, and constant(0) where the extent is full.
// What all filters have is a member of each, not of a base, whose members designated initialisers do not name.
struct FilterOptions {  // of sobel and laplacian
  Borders border = {};
  Extent extent = Extent::same;
  std::optional<ElementType> type = {};
  Alpha alpha = Alpha::weighted;
  std::optional<ElementType> arithmetic = {};  // f32 or f64
  Region region = {};                          // of the result; empty: all of it
  RunOptions run = {};
};

struct GaussianOptions {
  PerAxis sigma = 1.5;  // standard deviation; 0 leaves an axis as it is
  double truncate = 3;  // standard deviations that the weights reach
  Borders border = {};
  Array mask = {};  // certainties
  bool ignore_nan = false;
  std::vector<double> nodata = {};
  Extent extent = Extent::same;
  std::optional<ElementType> type = {};
  Alpha alpha = Alpha::weighted;
  std::optional<ElementType> arithmetic = {};  // f32 or f64
  Region region = {};                          // of the result; empty: all of it
  RunOptions run = {};
};

struct WindowOptions {  // of box, deviation, erode, dilate and what is made of these; masks are for box
  PerAxis radius = 1;   // of the window, 2 radius + 1 points along each axis
  Borders border = {};
  Array mask = {};  // certainties
  bool ignore_nan = false;
  std::vector<double> nodata = {};
  Extent extent = Extent::same;
  std::optional<ElementType> type = {};
  Alpha alpha = Alpha::weighted;
  std::optional<ElementType> arithmetic = {};  // f32 or f64
  Region region = {};                          // of the result; empty: all of it
  RunOptions run = {};
};

// A footprint has the rank of the image and says which elements of a window count, those that are not 0; the one in the
// middle, at n/2, stands on the point. Its elements are finite scalars of any type, at most 2^22.
struct MedianOptions {
  PerAxis radius = 1;    // of the window, 2 radius + 1 points along each axis
  Array footprint = {};  // in place of the box
  Borders border = {};
  Extent extent = Extent::same;
  std::optional<ElementType> type = {};
  Alpha alpha = Alpha::weighted;
  std::optional<ElementType> arithmetic = {};  // f32 or f64
  Region region = {};                          // of the result; empty: all of it
  RunOptions run = {};
};

struct PercentileOptions {
  PerAxis radius = 1;
  double percent =
      50;  // of the n elements of the window that lie below: the one at floor(n percent / 100), 100 the last
  Array footprint = {};  // in place of the box
  Borders border = {};
  Extent extent = Extent::same;
  std::optional<ElementType> type = {};
  Alpha alpha = Alpha::weighted;
  std::optional<ElementType> arithmetic = {};  // f32 or f64
  Region region = {};                          // of the result; empty: all of it
  RunOptions run = {};
};

struct RankOptions {
  PerAxis radius = 1;
  double rank = 0;       // 0 is the least element of a window, -1 the largest
  Array footprint = {};  // in place of the box
  Borders border = {};
  Extent extent = Extent::same;
  std::optional<ElementType> type = {};
  Alpha alpha = Alpha::weighted;
  std::optional<ElementType> arithmetic = {};  // f32 or f64
  Region region = {};                          // of the result; empty: all of it
  RunOptions run = {};
};

struct BilateralOptions {
  PerAxis sigma = 1.5;  // standard deviation in points; the window reaches two of them
  double range = 25;    // standard deviation in grey values, above 0
  Borders border = {};
  Extent extent = Extent::same;
  std::optional<ElementType> type = {};
  Alpha alpha = Alpha::weighted;
  std::optional<ElementType> arithmetic = {};  // f32 or f64
  Region region = {};                          // of the result; empty: all of it
  RunOptions run = {};
};

struct UnsharpOptions {
  double amount = 0.8;  // of the difference to the smoothed image that is added
  PerAxis sigma = 1.5;
  double truncate = 3;
  Borders border = {};
  Extent extent = Extent::same;
  std::optional<ElementType> type = {};
  Alpha alpha = Alpha::weighted;
  std::optional<ElementType> arithmetic = {};  // f32 or f64
  Region region = {};                          // of the result; empty: all of it
  RunOptions run = {};
};

struct CannyOptions {
  double threshold = 4;  // grey values per point
  PerAxis sigma = 1.5;
  double truncate = 3;
  Borders border = {};
  Extent extent = Extent::same;
  std::optional<ElementType> type = {};
  Alpha alpha = Alpha::weighted;
  std::optional<ElementType> arithmetic = {};  // f32 or f64
  Region region = {};                          // of the result; empty: all of it
  RunOptions run = {};
};

struct HarrisOptions {
  double k = 0.05;  // of the squared trace
  PerAxis sigma = 1.5;
  double truncate = 3;
  Borders border = {};
  Extent extent = Extent::same;
  std::optional<ElementType> type = {};
  Alpha alpha = Alpha::weighted;
  std::optional<ElementType> arithmetic = {};  // f32 or f64
  Region region = {};                          // of the result; empty: all of it
  RunOptions run = {};
};

struct DifferenceOptions {  // of difference_of_gaussians
  PerAxis sigma = 1.5;
  double ratio = 1.6;  // of the wider sigma to this one, above 1
  double truncate = 3;
  Borders border = {};
  Extent extent = Extent::same;
  std::optional<ElementType> type = {};
  Alpha alpha = Alpha::weighted;
  std::optional<ElementType> arithmetic = {};  // f32 or f64
  Region region = {};                          // of the result; empty: all of it
  RunOptions run = {};
};

struct DerivativeOptions {  // of gaussian_derivative
  PerAxis derivative = 1;   // its order, 0 to 2
  PerAxis sigma = 1.5;      // above 0 where the order is
  double truncate = 3;
  Borders border = {};
  Extent extent = Extent::same;
  std::optional<ElementType> type = {};
  Alpha alpha = Alpha::weighted;
  std::optional<ElementType> arithmetic = {};  // f32 or f64
  Region region = {};                          // of the result; empty: all of it
  RunOptions run = {};
};

struct SmoothedOptions {  // of laplacian_of_gaussian
  PerAxis sigma = 1.5;    // an axis of 0 has no part in it
  double truncate = 3;
  Borders border = {};
  Extent extent = Extent::same;
  std::optional<ElementType> type = {};
  Alpha alpha = Alpha::weighted;
  std::optional<ElementType> arithmetic = {};  // f32 or f64
  Region region = {};                          // of the result; empty: all of it
  RunOptions run = {};
};

struct ContrastOptions {  // of local_contrast
  PerAxis radius = 1;     // of the window, 2 radius + 1 points along each axis
  double least = 1;       // standard deviation that is divided by, above 0
  Borders border = {};
  Extent extent = Extent::same;
  std::optional<ElementType> type = {};
  Alpha alpha = Alpha::weighted;
  std::optional<ElementType> arithmetic = {};  // f32 or f64
  Region region = {};                          // of the result; empty: all of it
  RunOptions run = {};
};

struct LocalThresholdOptions {
  PerAxis radius = 7;     // of the window, 2 radius + 1 points along each axis
  double deviations = 0;  // standard deviations that the threshold is above the mean
  double offset = 0;      // how far it is lowered, in values of the image
  Borders border = {};
  Extent extent = Extent::same;
  std::optional<ElementType> type = {};
  Alpha alpha = Alpha::weighted;
  std::optional<ElementType> arithmetic = {};  // f32 or f64
  Region region = {};                          // of the result; empty: all of it
  RunOptions run = {};
};

struct SauvolaOptions {
  PerAxis radius = 7;  // of the window, 2 radius + 1 points along each axis
  double k = 0.2;      // how far the threshold is lowered where nothing varies, in the mean
  double spread = 0;   // the largest standard deviation: 0 for half of the type's largest value, of floats 0.5
  Borders border = {};
  Extent extent = Extent::same;
  std::optional<ElementType> type = {};
  Alpha alpha = Alpha::weighted;
  std::optional<ElementType> arithmetic = {};  // f32 or f64
  Region region = {};                          // of the result; empty: all of it
  RunOptions run = {};
};

struct StructureOptions {   // of structure_tensor, images of rank 2 and 3
  int row = 0, column = 0;  // of the tensor: axes of the image, the slowest is 0
  PerAxis sigma = 1.5;      // of the Gaussian, in points
  double truncate = 3;
  Borders border = {};
  Extent extent = Extent::same;
  std::optional<ElementType> type = {};
  Alpha alpha = Alpha::weighted;
  std::optional<ElementType> arithmetic = {};  // f32 or f64
  Region region = {};                          // of the result; empty: all of it
  RunOptions run = {};
};

struct NonlocalOptions {  // of nonlocal_means, images of rank 2
  int search = 3;         // radius of the search window, in points
  int patch = 2;          // radius of the surroundings that are compared, in points
  double strength = 10;   // root of the mean squared difference of surroundings that count 1/e, in values of the image
  double noise = 0;       // standard deviation of the noise, which differences are less by
  Borders border = {};
  Extent extent = Extent::same;
  std::optional<ElementType> type = {};
  Alpha alpha = Alpha::weighted;
  std::optional<ElementType> arithmetic = {};  // f32 or f64
  Region region = {};                          // of the result; empty: all of it
  RunOptions run = {};
};

// What a point becomes hangs on how often values occur in the image: bytes are counted one by one, other types in 65536
// levels between the least and the greatest value. The result goes to the end of an integer's type, of floats to 1.
struct LevelsOptions {  // of equalize and otsu
  std::optional<ElementType> type = {};
  Alpha alpha = Alpha::weighted;  // it is kept in any case
  Region region = {};             // of the result; empty: all of it
  RunOptions run = {};
};

struct ClaheOptions {
  int tiles = 8;     // along each dimension, whose histograms are taken
  double clip = 40;  // how often a grey value counts at most, in the mean of all
  std::optional<ElementType> type = {};
  Alpha alpha = Alpha::weighted;  // it is kept in any case
  Region region = {};             // of the result; empty: all of it
  RunOptions run = {};
};

struct ConvolveOptions {
  // Index of the weight that stands on the point itself, -1 for (n-1)/2, rounded down. An `origin` of scipy.ndimage is
  // n/2 + origin here.
  PerAxis anchor = -1;
  Borders border = {};
  Array mask = {};  // certainties
  bool ignore_nan = false;
  std::vector<double> nodata = {};
  Extent extent = Extent::same;
  std::optional<ElementType> type = {};
  Alpha alpha = Alpha::weighted;
  std::optional<ElementType> arithmetic = {};  // f32 or f64
  Region region = {};                          // of the result; empty: all of it
  RunOptions run = {};
};

// Of frequencies, in cycles a point: 0.5 is the highest that an image has. Butterworth's roll-off leaves a half at a
// cutoff, and the more abruptly the higher its order is. The image is continued periodically.
struct FrequencyOptions {  // of lowpass and highpass
  PerAxis cutoff = 0.1;
  double order = 2;
  Extent extent = Extent::same;
  std::optional<ElementType> type = {};
  Alpha alpha = Alpha::weighted;
  std::optional<ElementType> arithmetic = {};  // f32 or f64
  Region region = {};                          // of the result; empty: all of it
  RunOptions run = {};
};

struct BandpassOptions {
  PerAxis low = 0.05, high = 0.2;  // what lies between is kept
  double order = 2;
  Extent extent = Extent::same;
  std::optional<ElementType> type = {};
  Alpha alpha = Alpha::weighted;
  std::optional<ElementType> arithmetic = {};  // f32 or f64
  Region region = {};                          // of the result; empty: all of it
  RunOptions run = {};
};

Array gaussian(const Array& image, const GaussianOptions& = {});
Array box(const Array& image, const WindowOptions& = {});
Array median(const Array& image, const MedianOptions& = {});
// Elements of a window at a place in their order. They choose a value, as median does; where one is NaN, it is NaN.
Array percentile(const Array& image, const PercentileOptions& = {});
Array rank(const Array& image, const RankOptions& = {});
Array erode(const Array& image, const WindowOptions& = {});
Array dilate(const Array& image, const WindowOptions& = {});
// Erosion, then dilation, and the other way round.
Array opening(const Array& image, const WindowOptions& = {});
Array closing(const Array& image, const WindowOptions& = {});
// What these take away and fill: image - opening, closing - image.
Array tophat(const Array& image, const WindowOptions& = {});
Array blackhat(const Array& image, const WindowOptions& = {});
// dilate - erode
Array morphological_gradient(const Array& image, const WindowOptions& = {});
// The standard deviation of a window.
Array deviation(const Array& image, const WindowOptions& = {});
// (image - mean) / max(deviation, least)
Array local_contrast(const Array& image, const ContrastOptions& = {});
// White, the largest value of the type, 1 of floats, above a threshold that is taken from each point's window.
Array local_threshold(const Array& image, const LocalThresholdOptions& = {});
Array sauvola(const Array& image, const SauvolaOptions& = {});
// A component of the tensor: the product of the gradients along two axes, as sobel has them, smoothed by a Gaussian.
Array structure_tensor(const Array& image, const StructureOptions& = {});
// The mean of a search window, in which a point counts the more, the more its surroundings are like those of the
// middle.
Array nonlocal_means(const Array& image, const NonlocalOptions& = {});
Array difference_of_gaussians(const Array& image, const DifferenceOptions& = {});
Array laplacian_of_gaussian(const Array& image, const SmoothedOptions& = {});
Array gaussian_derivative(const Array& image, const DerivativeOptions& = {});
// Grey values spread so that each range of them has as many points as any other.
Array equalize(const Array& image, const LevelsOptions& = {});
// Equalisation of what lies around each point, as far as a limit lets contrast grow. Images of rank 2.
Array clahe(const Array& image, const ClaheOptions& = {});
// White above Otsu's threshold, black elsewhere.
Array otsu(const Array& image, const LevelsOptions& = {});
Array bilateral(const Array& image, const BilateralOptions& = {});
Array sobel(const Array& image, const FilterOptions& = {});
Array laplacian(const Array& image, const FilterOptions& = {});
Array unsharp(const Array& image, const UnsharpOptions& = {});
Array canny(const Array& image, const CannyOptions& = {});
Array harris(const Array& image, const HarrisOptions& = {});
Array lowpass(const Array& image, const FrequencyOptions& = {});
Array highpass(const Array& image, const FrequencyOptions& = {});
Array bandpass(const Array& image, const BandpassOptions& = {});
// result[i] = sum over k of weights[k] * image[i + k - anchor]. `weights`: scalars of any type, finite, of the rank of
// the image, of any extents (at most 2^22 elements, 2^19 with a mask or ignore_nan), also larger than the image.
Array correlate(const Array& image, const Array& weights, const ConvolveOptions& = {});
// result[i] = sum over k of weights[k] * image[i - k + anchor].
Array convolve(const Array& image, const Array& weights, const ConvolveOptions& = {});

// ---- by a name that is known at run time ---------------------------------------------------------------------------

struct FilterRequest {
  std::string name = {};                        // "gaussian"
  std::map<std::string, PerAxis> numbers = {};  // options by name: {"sigma", 2.5}
  std::map<std::string, Array> tables = {};     // {"kernel", weights}
  Borders border = {};
  Extent extent = Extent::same;
  std::optional<ElementType> type = {};
  Array mask = {};
  bool ignore_nan = false;
  std::vector<double> nodata = {};
  Alpha alpha = Alpha::weighted;
  std::optional<ElementType> arithmetic = {};  // f32 or f64
  Region region = {};                          // of the result; empty: all of it
};

Array filter(const Array& image, const FilterRequest&, const RunOptions& = {});

struct FilterOption {
  std::string name;
  std::string type;     // "int", "float", "border", "table"
  std::string value;    // without one from outside, as the program writes it; "" when it must be given
  std::string summary;  // one line
  bool per_axis = false;
};

struct FilterInfo {
  std::string name, summary;
  std::vector<int> ranks;             // of images
  std::vector<FilterOption> options;  // besides extent and type
  bool keeps_type = true;             // else the result is float
  bool takes_mask = false;            // and ignore_nan
};

// All of them, by name, as their files declare them.
const std::vector<FilterInfo>& filters();

}  // namespace tessera
