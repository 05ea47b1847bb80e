// The functions of tessera/filters.hpp: options of C++ made a request.
#include <fmt/format.h>

#include "base/text.hpp"
#include "engine/filters/filters.hpp"
#include "engine/program_impl.hpp"
#include "engine/windows/region_plan.hpp"

namespace tessera {
namespace {

template <class Options>
Array mask_of(const Options& options) {
  if constexpr (requires { options.mask; }) return options.mask;
  return {};
}
template <class Options>
bool ignores_nan(const Options& options) {
  if constexpr (requires { options.ignore_nan; }) return options.ignore_nan;
  return false;
}

template <class Options>
std::vector<double> nodata_of(const Options& options) {
  if constexpr (requires { options.nodata; }) return options.nodata;
  return {};
}

template <class Options>
Array apply(const Array& image, const char* name, const Options& options, std::map<std::string, PerAxis> numbers,
            std::map<std::string, Array> tables = {}) {
  const FilterRequest request{.name = name,
                              .numbers = std::move(numbers),
                              .tables = std::move(tables),
                              .border = options.border,
                              .extent = options.extent,
                              .type = options.type,
                              .mask = mask_of(options),
                              .ignore_nan = ignores_nan(options),
                              .nodata = nodata_of(options),
                              .alpha = options.alpha,
                              .arithmetic = options.arithmetic,
                              .region = options.region};
  return filter(image, request, options.run);
}

// Without a border: the image is continued periodically.
template <class Options>
Array in_frequency(const Array& image, const char* name, const Options& options,
                   std::map<std::string, PerAxis> numbers) {
  const FilterRequest request{.name = name,
                              .numbers = std::move(numbers),
                              .extent = options.extent,
                              .type = options.type,
                              .alpha = options.alpha,
                              .arithmetic = options.arithmetic,
                              .region = options.region};
  return filter(image, request, options.run);
}

template <class Options>
Array by_levels(const Array& image, const char* name, const Options& options,
                std::map<std::string, PerAxis> numbers = {}) {
  const FilterRequest request{.name = name,
                              .numbers = std::move(numbers),
                              .type = options.type,
                              .alpha = options.alpha,
                              .region = options.region};
  return filter(image, request, options.run);
}

Array weighted(const Array& image, const Array& weights, const char* name, const ConvolveOptions& options) {
  return apply(image, name, options, {{"anchor", options.anchor}}, {{"kernel", weights}});
}

// What a window holds at a place in its order: of a box, or of a footprint.
template <class Options>
Array in_order(const Array& image, const char* name, const Options& options, std::map<std::string, PerAxis> numbers) {
  if (!options.footprint.empty())
    return apply(image, name, options, std::move(numbers), {{"footprint", options.footprint}});
  numbers.emplace("radius", options.radius);
  return apply(image, name, options, std::move(numbers));
}

// The fields of the result by the names of the image's, where it lies on the host.
Array renamed(const Array& result, const Format& image) {
  Format format = result.format();
  if (!format.is_struct() || result.on_device()) return result;
  for (std::size_t k = 0; k < format.fields.size(); ++k) format.fields[k].name = image.fields[k].name;
  format.struct_name = image.struct_name;
  return Array::share(result.owner(), result.data(), format, result.shape(), result.strides());
}

}  // namespace

Array filter(const Array& image, const FilterRequest& request, const RunOptions& run) {
  if (image.empty() || image.rank() < 1)
    throw Error(ErrorClass::argument, fmt::format("filter {} is given no image", base::quoted(request.name)));
  const auto made = engine::make_filter(request, image.format(), image.rank());
  static_cast<void>(made->place(image.shape()));
  if (!engine::is_wanted(request.region))
    return renamed(made->program.run(made->inputs(image, request.mask), run).at(0), image.format());
  const RunOptions placed = made->program.impl().placed({image}, {}, run);
  const std::vector<InputWindow> windows = made->windows({image}, request.mask, request.region, placed);
  return renamed(made->program.run_region(windows, {request.region}, placed).at(0), image.format());
}

Array gaussian(const Array& image, const GaussianOptions& o) {
  return apply(image, "gaussian", o, {{"sigma", o.sigma}, {"truncate", o.truncate}});
}
Array box(const Array& image, const WindowOptions& o) {
  return apply(image, "box", o, {{"radius", o.radius}});
}
Array median(const Array& image, const MedianOptions& o) {
  return in_order(image, "median", o, {});
}
Array percentile(const Array& image, const PercentileOptions& o) {
  return in_order(image, "percentile", o, {{"percent", o.percent}});
}
Array rank(const Array& image, const RankOptions& o) {
  return in_order(image, "rank", o, {{"rank", o.rank}});
}
Array erode(const Array& image, const WindowOptions& o) {
  return apply(image, "erode", o, {{"radius", o.radius}});
}
Array dilate(const Array& image, const WindowOptions& o) {
  return apply(image, "dilate", o, {{"radius", o.radius}});
}
Array opening(const Array& image, const WindowOptions& o) {
  return apply(image, "opening", o, {{"radius", o.radius}});
}
Array closing(const Array& image, const WindowOptions& o) {
  return apply(image, "closing", o, {{"radius", o.radius}});
}
Array tophat(const Array& image, const WindowOptions& o) {
  return apply(image, "tophat", o, {{"radius", o.radius}});
}
Array blackhat(const Array& image, const WindowOptions& o) {
  return apply(image, "blackhat", o, {{"radius", o.radius}});
}
Array morphological_gradient(const Array& image, const WindowOptions& o) {
  return apply(image, "morphological_gradient", o, {{"radius", o.radius}});
}
Array deviation(const Array& image, const WindowOptions& o) {
  return apply(image, "deviation", o, {{"radius", o.radius}});
}
Array local_contrast(const Array& image, const ContrastOptions& o) {
  return apply(image, "local_contrast", o, {{"radius", o.radius}, {"least", o.least}});
}
Array local_threshold(const Array& image, const LocalThresholdOptions& o) {
  return apply(image, "local_threshold", o, {{"radius", o.radius}, {"deviations", o.deviations}, {"offset", o.offset}});
}
Array sauvola(const Array& image, const SauvolaOptions& o) {
  return apply(image, "sauvola", o, {{"radius", o.radius}, {"k", o.k}, {"spread", o.spread}});
}
Array structure_tensor(const Array& image, const StructureOptions& o) {
  return apply(image, "structure_tensor", o,
               {{"row", o.row}, {"column", o.column}, {"sigma", o.sigma}, {"truncate", o.truncate}});
}
Array nonlocal_means(const Array& image, const NonlocalOptions& o) {
  return apply(image, "nonlocal_means", o,
               {{"search", o.search}, {"patch", o.patch}, {"strength", o.strength}, {"noise", o.noise}});
}
Array difference_of_gaussians(const Array& image, const DifferenceOptions& o) {
  return apply(image, "difference_of_gaussians", o, {{"sigma", o.sigma}, {"ratio", o.ratio}, {"truncate", o.truncate}});
}
Array laplacian_of_gaussian(const Array& image, const SmoothedOptions& o) {
  return apply(image, "laplacian_of_gaussian", o, {{"sigma", o.sigma}, {"truncate", o.truncate}});
}
Array gaussian_derivative(const Array& image, const DerivativeOptions& o) {
  return apply(image, "gaussian_derivative", o,
               {{"derivative", o.derivative}, {"sigma", o.sigma}, {"truncate", o.truncate}});
}
Array equalize(const Array& image, const LevelsOptions& o) {
  return by_levels(image, "equalize", o);
}
Array clahe(const Array& image, const ClaheOptions& o) {
  return by_levels(image, "clahe", o, {{"tiles", o.tiles}, {"clip", o.clip}});
}
Array otsu(const Array& image, const LevelsOptions& o) {
  return by_levels(image, "otsu", o);
}
Array bilateral(const Array& image, const BilateralOptions& o) {
  return apply(image, "bilateral", o, {{"sigma", o.sigma}, {"range", o.range}});
}
Array sobel(const Array& image, const FilterOptions& o) {
  return apply(image, "sobel", o, {});
}
Array laplacian(const Array& image, const FilterOptions& o) {
  return apply(image, "laplacian", o, {});
}
Array unsharp(const Array& image, const UnsharpOptions& o) {
  return apply(image, "unsharp", o, {{"amount", o.amount}, {"sigma", o.sigma}, {"truncate", o.truncate}});
}
Array canny(const Array& image, const CannyOptions& o) {
  return apply(image, "canny", o, {{"threshold", o.threshold}, {"sigma", o.sigma}, {"truncate", o.truncate}});
}
Array harris(const Array& image, const HarrisOptions& o) {
  return apply(image, "harris", o, {{"k", o.k}, {"sigma", o.sigma}, {"truncate", o.truncate}});
}
Array lowpass(const Array& image, const FrequencyOptions& o) {
  return in_frequency(image, "lowpass", o, {{"cutoff", o.cutoff}, {"order", o.order}});
}
Array highpass(const Array& image, const FrequencyOptions& o) {
  return in_frequency(image, "highpass", o, {{"cutoff", o.cutoff}, {"order", o.order}});
}
Array bandpass(const Array& image, const BandpassOptions& o) {
  return in_frequency(image, "bandpass", o, {{"low", o.low}, {"high", o.high}, {"order", o.order}});
}
Array correlate(const Array& image, const Array& weights, const ConvolveOptions& o) {
  return weighted(image, weights, "correlate", o);
}
Array convolve(const Array& image, const Array& weights, const ConvolveOptions& o) {
  return weighted(image, weights, "convolve", o);
}

}  // namespace tessera
