// Channels of images: struct fields seen as planes, as a dimension, as other structs, and as grey. See image.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "data/half.hpp"
#include "io/image.hpp"
#include "io/load.hpp"
#include "tessera/error.hpp"

namespace tessera::io {
namespace {

[[noreturn]] void argument_error(std::string message, std::string help = {}) {
  throw Error(ErrorClass::argument, std::move(message), {}, std::move(help));
}

// The type that all fields share, or an Error.
ElementType common_type(const Format& format, const char* purpose) {
  if (!format.is_struct()) return format.scalar;
  for (const Format::Field& f : format.fields) {
    if (f.type != format.fields[0].type) {
      argument_error(fmt::format("{} needs fields of one type, {} has {} {} and {} {}", purpose, format.name(),
                                 name_of(format.fields[0].type), format.fields[0].name, name_of(f.type), f.name));
    }
  }
  return format.fields[0].type;
}

// round(numerator / 1000), half to even, for numerators of either sign.
i64 thousandth(i64 numerator) {
  i64 quotient = numerator / 1000, rest = numerator % 1000;
  if (rest < 0) {
    rest += 1000;
    --quotient;
  }
  return quotient + (rest > 500 || (rest == 500 && (quotient & 1)) ? 1 : 0);
}

// Integers exactly, in 64 bits; floats in double, rounded once.
template <class T>
void luma_line(T* out, const std::byte* pixel, i64 step, const std::size_t offsets[3], i64 count) {
  for (i64 i = 0; i < count; ++i, pixel += step) {
    const T r = load<T>(pixel + offsets[0]);
    const T g = load<T>(pixel + offsets[1]);
    const T b = load<T>(pixel + offsets[2]);
    if constexpr (std::is_integral_v<T>) {
      out[i] =
          static_cast<T>(thousandth(299 * static_cast<i64>(r) + 587 * static_cast<i64>(g) + 114 * static_cast<i64>(b)));
    } else {
      out[i] = static_cast<T>(0.299 * static_cast<double>(r) + 0.587 * static_cast<double>(g) +
                              0.114 * static_cast<double>(b));
    }
  }
}

void luma_half(std::uint16_t* out, const std::byte* pixel, i64 step, const std::size_t offsets[3], i64 count) {
  constexpr double weights[3] = {0.299, 0.587, 0.114};
  for (i64 i = 0; i < count; ++i, pixel += step) {
    double sum = 0;
    for (int k = 0; k < 3; ++k) {
      sum += weights[k] * static_cast<double>(half_to_float(load<std::uint16_t>(pixel + offsets[k])));
    }
    out[i] = double_to_half(sum);
  }
}

}  // namespace

int channels_of(const Array& array) {
  return array.format().is_struct() ? static_cast<int>(array.format().fields.size()) : 1;
}

std::vector<Array> as_planes(const Array& array) {
  if (!array.format().is_struct()) return {array};
  std::vector<Array> planes;
  for (const Format::Field& f : array.format().fields) {
    planes.push_back(Array::share(array.owner(), static_cast<std::byte*>(array.data()) + f.offset, f.type,
                                  array.shape(), array.strides()));
  }
  return planes;
}

Array as_channels(const Array& array) {
  const Format& format = array.format();
  const ElementType type = common_type(format, "an array of channels");
  const i64 size = static_cast<i64>(size_of(type));
  const std::size_t first = format.is_struct() ? format.fields[0].offset : 0;
  for (std::size_t k = 0; k < format.fields.size(); ++k) {
    if (format.fields[k].offset != first + k * size_of(type)) {
      argument_error(fmt::format("an array of channels needs fields without gaps, {} has one before {}", format.name(),
                                 format.fields[k].name));
    }
  }
  Shape shape = array.shape();
  std::vector<i64> strides = array.strides();
  shape.push_back(channels_of(array));
  strides.push_back(size);
  return Array::share(array.owner(), static_cast<std::byte*>(array.data()) + first, type, std::move(shape),
                      std::move(strides));
}

Array from_channels(const Array& array) {
  const Format& format = array.format();
  if (format.is_struct() || array.rank() < 1) {
    argument_error(fmt::format("channels are the last dimension of an array of scalars, got {} of rank {}",
                               format.name(), array.rank()));
  }
  const i64 channels = array.shape().back();
  if (channels < 2 || channels > 4) {
    argument_error(fmt::format("2, 3 or 4 channels make a pixel, got {}", channels));
  }
  if (array.strides().back() != static_cast<i64>(format.size())) {
    argument_error("the channels of a pixel must stand next to each other in memory", "clone the array first");
  }
  Shape shape = array.shape();
  std::vector<i64> strides = array.strides();
  shape.pop_back();
  strides.pop_back();
  return Array::share(array.owner(), array.data(), pixel_format(format.scalar, static_cast<int>(channels)),
                      std::move(shape), std::move(strides));
}

Array to_grey(const Array& array) {
  const int channels = channels_of(array);
  if (channels == 1 && !array.format().is_struct()) return array;
  const ElementType type = common_type(array.format(), "grey");
  const auto& fields = array.format().fields;
  if (channels <= 4 && is_band(fields[0].name)) {
    argument_error(fmt::format("grey is made of colours, but {} to {} are channels of no known colour", fields[0].name,
                               fields.back().name),
                   "filter the channels, each by itself");
  }
  if (channels <= 2) return as_planes(array)[0].clone();
  if (channels > 4 && (fields[0].name != "r" || fields[1].name != "g" || fields[2].name != "b")) {
    argument_error(fmt::format("grey is made of 3 or 4 channels, {} has {}", array.format().name(), channels));
  }
  if (type == ElementType::boolean) argument_error("grey is made of numbers, got channels of bool");
  const Array source = array.contiguous() ? array : array.clone();
  Array out(type, array.shape());
  std::size_t offsets[3];
  for (int k = 0; k < 3; ++k) offsets[k] = array.format().fields[k].offset;
  const auto* pixels = static_cast<const std::byte*>(source.data());
  const i64 step = static_cast<i64>(array.format().size()), count = array.count();
  switch (type) {
    case ElementType::boolean:
      break;
    case ElementType::u8:
      luma_line(out.as<std::uint8_t>(), pixels, step, offsets, count);
      break;
    case ElementType::i16:
      luma_line(out.as<std::int16_t>(), pixels, step, offsets, count);
      break;
    case ElementType::u16:
      luma_line(out.as<std::uint16_t>(), pixels, step, offsets, count);
      break;
    case ElementType::i32:
      luma_line(out.as<std::int32_t>(), pixels, step, offsets, count);
      break;
    case ElementType::u32:
      luma_line(out.as<std::uint32_t>(), pixels, step, offsets, count);
      break;
    case ElementType::f16:
      luma_half(out.as<std::uint16_t>(), pixels, step, offsets, count);
      break;
    case ElementType::f32:
      luma_line(out.as<float>(), pixels, step, offsets, count);
      break;
    case ElementType::f64:
      luma_line(out.as<double>(), pixels, step, offsets, count);
      break;
  }
  return out;
}

Format retyped(const Format& format, ElementType type) {
  if (!format.is_struct()) return type;
  std::vector<std::pair<std::string, ElementType>> fields;
  for (const Format::Field& f : format.fields) fields.emplace_back(f.name, type);
  return Format::record(format.struct_name, std::move(fields));
}

Array relabel(const Array& array, const Format& to) {
  const auto types_of = [](const Format& f) {
    std::vector<ElementType> types;
    for (const Format::Field& field : f.fields) types.push_back(field.type);
    if (types.empty()) types.push_back(f.scalar);
    return types;
  };
  const auto plural = [](std::size_t n) { return fmt::format("{} channel{}", n, n == 1 ? "" : "s"); };
  const Format& from = array.format();
  const std::vector<ElementType> have = types_of(from), want = types_of(to);
  if (have.size() != want.size()) {
    argument_error(
        fmt::format("{} has {}, {} needs {}", from.name(), plural(have.size()), to.name(), plural(want.size())));
  }
  for (std::size_t k = 0; k < have.size(); ++k) {
    if (have[k] != want[k]) {
      argument_error(fmt::format("channel {} of {} is {}, {} needs {}", k, from.name(), name_of(have[k]), to.name(),
                                 name_of(want[k])));
    }
  }
  bool same_layout = from.size() == to.size();
  for (std::size_t k = 0; k < have.size(); ++k) {
    const std::size_t a = from.is_struct() ? from.fields[k].offset : 0, b = to.is_struct() ? to.fields[k].offset : 0;
    same_layout = same_layout && a == b;
  }
  if (!same_layout) argument_error(fmt::format("{} and {} lay their fields out differently", from.name(), to.name()));
  return Array::share(array.owner(), array.data(), to, array.shape(), array.strides());
}

Format pixel_format(ElementType type, int channels) {
  switch (channels) {
    case 1:
      return type;
    case 2:
      return Format::record("ga", {{"g", type}, {"a", type}});
    case 3:
      return Format::record("rgb", {{"r", type}, {"g", type}, {"b", type}});
    case 4:
      return Format::record("rgba", {{"r", type}, {"g", type}, {"b", type}, {"a", type}});
    default:
      break;
  }
  std::vector<std::string> names;
  for (int k = 0; k < channels; ++k) names.push_back(band_name(k));
  return named_pixels(type, names);
}

Format named_pixels(ElementType type, const std::vector<std::string>& names) {
  if (names.size() == 1) return type;
  std::string all;
  std::vector<std::pair<std::string, ElementType>> fields;
  for (const std::string& name : names) {
    all += name;
    fields.emplace_back(name, type);
  }
  return Format::record(all == "ga" || all == "rgb" || all == "rgba" ? all : "channels", std::move(fields));
}

std::string band_name(int channel) {
  return "c" + std::to_string(channel);
}

bool is_band(std::string_view name) {
  return name.size() > 1 && name[0] == 'c' &&
         std::all_of(name.begin() + 1, name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace tessera::io
