// Dimensions by name; see axes.hpp.
#include "io/axes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.hpp"
#include "tessera/error.hpp"

namespace tessera::io {
namespace {

[[noreturn]] void fail(std::string message, std::string help = {}) {
  throw Error(ErrorClass::argument, std::move(message), {}, std::move(help));
}

constexpr std::string_view points = "tzyx";  // in the order of arrays
constexpr const char* what_axes_are =
    "write a letter for each dimension, slowest first: t time, z slices, y rows, x columns, c channels, s the samples "
    "of a colour, q another one; its extent may follow, as in --axes z4c2yx";

bool is_channel(char letter) {
  return letter == 'c' || letter == 's';
}

// Places in `letters` of the dimensions of points: time, slices, rows, columns where all of them are known.
std::vector<std::size_t> order_of_points(const std::string& letters) {
  std::vector<std::size_t> order;
  for (std::size_t d = 0; d < letters.size(); ++d)
    if (!is_channel(letters[d])) order.push_back(d);
  const auto place = [&](std::size_t d) { return points.find(letters[d]); };
  if (std::all_of(order.begin(), order.end(), [&](std::size_t d) { return place(d) != std::string_view::npos; }))
    // (Not std::stable_sort: it calls what the C++ library itself calls deprecated.)
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return std::pair(place(a), a) < std::pair(place(b), b); });
  return order;
}

// Names of the channels of `channels` times `samples`: those of the samples where there is one channel of them.
std::vector<std::string> channel_names(i64 channels, const std::vector<std::string>& samples) {
  if (channels == 1) return samples;
  std::vector<std::string> names;
  const i64 count = channels * static_cast<i64>(samples.size());
  for (i64 k = 0; k < count; ++k) names.push_back(band_name(static_cast<int>(k)));
  return names;
}

std::vector<std::string> names_of_samples(const Format& pixels) {
  if (!pixels.is_struct()) return {""};
  std::vector<std::string> names;
  for (const Format::Field& f : pixels.fields) names.push_back(f.name);
  return names;
}

ElementType scalar_of(const Format& format) {
  const ElementType type = format.is_struct() ? format.fields[0].type : format.scalar;
  for (const Format::Field& f : format.fields)
    if (f.type != type) fail(fmt::format("channels have one type, the fields of {} have several", format.name()));
  return type;
}

constexpr i64 most_channels = 4096;

}  // namespace

FileAxes parse_axes(std::string_view text) {
  FileAxes axes;
  const std::string all = base::to_lower(std::string(base::trim(text)));
  const auto wrong = [&](const std::string& why) {
    fail(fmt::format("--axes {} cannot be used: {}", base::quoted(text), why), what_axes_are);
  };
  for (std::size_t i = 0; i < all.size();) {
    FileAxis axis{all[i], 0};
    if (axis.letter < 'a' || axis.letter > 'z') wrong(fmt::format("{} is no letter", base::quoted(all.substr(i, 1))));
    const std::size_t end = std::min(all.find_first_not_of("0123456789", ++i), all.size());
    if (end > i) {
      const auto extent = base::parse_integer(all.substr(i, end - i));
      if (!extent || *extent < 1 || *extent > (i64{1} << 40)) wrong("an extent is a number from 1 on");
      axis.extent = *extent;
    }
    const bool known = points.find(axis.letter) != std::string_view::npos || is_channel(axis.letter);
    if (known && letters_of(axes).find(axis.letter) != std::string::npos)
      wrong(fmt::format("it names {} twice", axis.letter));
    if (!known && axis.letter != 'q') wrong(fmt::format("the letter {} is not known", axis.letter));
    axes.push_back(axis);
    i = end;
  }
  if (std::all_of(axes.begin(), axes.end(), [](const FileAxis& a) { return is_channel(a.letter); }))
    wrong("no dimension of points is named");
  return axes;
}

std::string letters_of(const FileAxes& axes) {
  std::string letters;
  for (const FileAxis& a : axes) letters += a.letter;
  return letters;
}

std::string usual_letters(std::size_t rank) {
  constexpr std::string_view all = "tzyx";
  if (rank <= all.size()) return std::string(all.substr(all.size() - rank));
  return std::string(rank - all.size(), 'q') + std::string(all);
}

i64 product_of(const FileAxes& axes) {
  constexpr i64 most = i64{1} << 62;  // of what a file declares
  i64 product = 1;
  for (const FileAxis& a : axes) {
    const i64 extent = std::max<i64>(a.extent, 1);
    if (product > most / extent) return most;
    product *= extent;
  }
  return product;
}

bool arranging_copies(const std::string& letters) {
  const std::vector<std::size_t> order = order_of_points(letters);
  return letters.find_first_of("cs") != std::string::npos || !std::is_sorted(order.begin(), order.end());
}

Image arrange(const Array& array, const std::string& all, const std::vector<Step>& steps, ImageHeader header) {
  const bool of_struct = array.format().is_struct();
  const std::string letters = all.substr(0, static_cast<std::size_t>(array.rank()));
  const std::vector<std::size_t> order = order_of_points(letters);
  Image image{array, std::move(header)};
  Shape shape;
  std::vector<i64> strides;
  image.header.axes.clear();
  image.header.steps.clear();
  for (const std::size_t d : order) {
    shape.push_back(array.shape()[d]);
    strides.push_back(array.strides()[d]);
    image.header.axes += letters[d];
    if (!steps.empty()) image.header.steps.push_back(steps[d]);
  }
  image.header.extents = shape;
  image.header.layout = all;
  if (of_struct && all.size() == letters.size()) image.header.layout += 's';

  i64 channels = 1, channel_step = 0, samples = 1, sample_step = 0;
  for (std::size_t d = 0; d < letters.size(); ++d) {
    if (letters[d] == 'c') channels = array.shape()[d], channel_step = array.strides()[d];
    if (letters[d] == 's') samples = array.shape()[d], sample_step = array.strides()[d];
  }
  if (channels * samples > most_channels)
    fail(fmt::format("{} channels are too many, expected up to {}", channels * samples, most_channels), what_axes_are);
  const bool in_order = std::is_sorted(order.begin(), order.end());
  const bool apart = channels > 1 || samples > 1 || letters.find_first_of("cs") != std::string::npos;
  image.header.samples = static_cast<int>(of_struct ? static_cast<i64>(array.format().fields.size()) : samples);
  if (in_order && !apart) return image;

  // Every field of the result is a strided view of what was read.
  std::vector<Array> planes;
  auto* data = static_cast<std::byte*>(array.data());
  for (i64 c = 0; c < channels; ++c) {
    for (i64 s = 0; s < samples; ++s) {
      const Array view =
          Array::share(array.owner(), data + c * channel_step + s * sample_step, array.format(), shape, strides);
      for (const Array& plane : as_planes(view)) planes.push_back(plane);
    }
  }
  const std::vector<std::string> names = channel_names(
      channels,
      names_of_samples(of_struct ? array.format() : pixel_format(array.format().scalar, static_cast<int>(samples))));
  const bool kept = of_struct && channels == 1;  // fields of several types among them
  const Format format = kept ? array.format() : named_pixels(scalar_of(array.format()), names);
  image.array = Array(format, shape);
  const std::vector<Array> fields = as_planes(image.array);
  for (std::size_t k = 0; k < fields.size(); ++k) fields[k].copy_from(planes[k]);
  return image;
}

std::string layout_for(const ImageHeader& header, const Array& array) {
  const std::string& layout = header.layout;
  std::string dimensions = header.axes, held;
  for (const char c : layout)
    if (!is_channel(c)) held += c;
  std::sort(dimensions.begin(), dimensions.end());
  std::sort(held.begin(), held.end());
  if (dimensions != held || static_cast<std::size_t>(array.rank()) != held.size() || layout.empty()) return {};
  const int channels = channels_of(array);
  const bool has_c = layout.find('c') != std::string::npos, has_s = layout.find('s') != std::string::npos;
  if (channels == 1 && !has_c && !has_s) return layout;
  if (has_s && channels > 1 && channels % std::max(header.samples, 1) == 0 && (has_c || channels == header.samples))
    return layout;
  if (has_c && !has_s) return layout;
  // Channels that came or went.
  std::string other;
  for (const char c : layout)
    if (!is_channel(c)) other += c;
  if (channels == 1) return other;
  return other + (is_band(array.format().fields[0].name) ? "c" : "s");
}

Array in_layout(const Image& image, const std::string& layout, int samples) {
  const Array& array = image.array;
  const std::vector<Array> planes = as_planes(array);
  const ElementType type = scalar_of(array.format());
  const bool has_c = layout.find('c') != std::string::npos, has_s = layout.find('s') != std::string::npos;
  const i64 count = static_cast<i64>(planes.size());
  const i64 together = !has_s ? 1 : has_c ? std::max(samples, 1) : count, apart = count / together;
  Shape shape;
  std::vector<std::size_t> places;  // of the dimensions of the array, in the result
  for (const char c : layout)
    shape.push_back(c == 'c' ? apart : c == 's' ? together : array.shape()[image.header.axes.find(c)]);
  // Letters of no known meaning may stand there more than once: each is taken in turn.
  std::string free = layout;
  for (const char c : image.header.axes) {
    const std::size_t at = free.find(c);
    places.push_back(at);
    shape[at] = array.shape()[places.size() - 1];
    free[at] = ' ';
  }
  const Array out(type, shape);
  Shape view_shape = array.shape();
  std::vector<i64> strides;
  for (const std::size_t at : places) strides.push_back(out.strides()[at]);
  const i64 channel_step = has_c ? out.strides()[layout.find('c')] : 0;
  const i64 sample_step = has_s ? out.strides()[layout.find('s')] : 0;
  auto* data = static_cast<std::byte*>(out.data());
  for (i64 k = 0; k < count; ++k) {
    const i64 at = k / together * channel_step + k % together * sample_step;
    Array::share(out.owner(), data + at, type, view_shape, strides).copy_from(planes[static_cast<std::size_t>(k)]);
  }
  return out;
}

FileAxes axes_of_option(const std::string& option, const std::string& name, const Format& format, const Shape& shape) {
  FileAxes axes = parse_axes(option);
  const std::size_t rank = shape.size();
  const int fields = format.is_struct() ? static_cast<int>(format.fields.size()) : 1;
  // Channels that stand together may be named, behind the dimensions.
  if (format.is_struct() && axes.size() == rank + 1 && is_channel(axes.back().letter) &&
      (axes.back().extent == 0 || axes.back().extent == fields))
    axes.pop_back();
  if (axes.size() != rank)
    fail(fmt::format("--axes {} names {} dimensions, but {} has {} ({}{})", base::quoted(option), axes.size(),
                     base::quoted(name, 1024), rank, to_string(shape),
                     fields > 1 ? fmt::format(", of {} channels", fields) : ""),
         what_axes_are);
  for (std::size_t d = 0; d < rank; ++d)
    if (axes[d].extent != 0 && axes[d].extent != shape[d])
      fail(fmt::format("--axes {} says that {} has {} points, but in {} it has {}", base::quoted(option),
                       axes[d].letter, axes[d].extent, base::quoted(name, 1024), shape[d]));
  return axes;
}

Image rename_axes(Image image, const std::string& option, const std::string& name) {
  const Array& array = image.array;
  const FileAxes axes = axes_of_option(option, name, array.format(), array.shape());
  const std::size_t rank = axes.size();
  ImageHeader header = std::move(image.header);
  // A distance in time is none in space, and the other way round.
  std::vector<Step> steps = header.steps;
  for (std::size_t d = 0; d < steps.size() && d < rank; ++d) {
    const Step::Unit foreign = axes[d].letter == 't' ? Step::Unit::millimetre : Step::Unit::second;
    if (steps[d].unit == foreign) steps[d] = {};
  }
  if (steps.size() != rank) steps.clear();
  return arrange(array, letters_of(axes), steps, std::move(header));
}

}  // namespace tessera::io
