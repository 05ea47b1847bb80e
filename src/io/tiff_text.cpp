// Descriptions of TIFF files; see tiff_text.hpp.
#include "io/tiff_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/text.hpp"

namespace tessera::io {
namespace {

using Unit = Step::Unit;

// Millimetres of a unit as programs spell it; 0 for one that is no length.
double millimetres_of(std::string_view name) {
  constexpr std::pair<std::string_view, double> known[] = {
      {"mm", 1},           {"cm", 10},      {"m", 1000},        {"um", 1e-3},     {"\xc2\xb5m", 1e-3},
      {"\xce\xbcm", 1e-3}, {"\xb5m", 1e-3}, {"\\u00B5m", 1e-3}, {"micron", 1e-3}, {"microns", 1e-3},
      {"nm", 1e-6},        {"inch", 25.4},  {"inches", 25.4},   {"in", 25.4},     {"millimeter", 1}};
  const auto found = std::find_if(std::begin(known), std::end(known), [&](const auto& k) { return k.first == name; });
  return found == std::end(known) ? 0 : found->second;
}

double seconds_of(std::string_view name) {
  constexpr std::pair<std::string_view, double> known[] = {{"s", 1},    {"sec", 1}, {"ms", 1e-3}, {"\xc2\xb5s", 1e-6},
                                                           {"min", 60}, {"h", 3600}};
  const auto found = std::find_if(std::begin(known), std::end(known), [&](const auto& k) { return k.first == name; });
  return found == std::end(known) ? 0 : found->second;
}

// A distance that is one: finite and above 0.
double distance(std::optional<double> value) {
  return value && std::isfinite(*value) && std::abs(*value) < 1e30 && std::abs(*value) > 1e-30 ? std::abs(*value) : 0;
}

Step step_of(double size, double scale, Unit unit) {
  return size == 0 ? Step{} : scale == 0 ? Step{size, Unit::unknown} : Step{size * scale, unit};
}

// A count of pages, or 1.
i64 count_of(std::string_view text) {
  const auto value = base::parse_integer(base::trim(text));
  return value && *value >= 1 && *value < (i64{1} << 31) ? *value : 1;
}

TiffText parse_imagej(std::string_view text, const TiffResolution& resolution) {
  TiffText out;
  i64 channels = 1, slices = 1, frames = 1;
  double spacing = 0, interval = 0;
  std::string_view unit = resolution.unit == 2 ? "inch" : resolution.unit == 3 ? "cm" : "";
  for (const std::string_view line : base::split(text, '\n')) {
    const std::size_t at = line.find('=');
    if (at == std::string_view::npos) continue;
    const std::string_view key = line.substr(0, at), value = base::trim(line.substr(at + 1));
    if (key == "images") out.images = count_of(value);
    if (key == "channels") channels = count_of(value);
    if (key == "slices") slices = count_of(value);
    if (key == "frames") frames = count_of(value);
    if (key == "unit") unit = value;
    if (key == "spacing") spacing = distance(base::parse_number(value));
    if (key == "finterval") interval = distance(base::parse_number(value));
  }
  if (channels == 1 && slices > 1 && frames > 1 && slices * frames == out.images) out.series = frames;
  const double scale = millimetres_of(unit);
  const auto across = [&](double per_unit) {
    return step_of(distance(per_unit == 0 ? 0 : 1 / per_unit), scale, Unit::millimetre);
  };
  const Step page = step_of(spacing, scale, Unit::millimetre), time = step_of(interval, 1, Unit::second);
  // Pages that are moments, not slices, are as far apart as moments.
  const bool moments = slices == 1 && frames > 1;
  out.steps = {time, moments ? time : page, across(resolution.y), across(resolution.x)};
  return out;
}

std::string_view attribute(std::string_view element, std::string_view name) {
  const std::string begin = fmt::format(" {}=\"", name);
  const std::size_t at = element.find(begin);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = element.substr(at + begin.size());
  return rest.substr(0, rest.find('"'));
}

TiffText parse_ome(std::string_view text) {
  TiffText out;
  const std::size_t at = text.find("<Pixels ");
  const std::string_view pixels = text.substr(at, text.substr(at).find('>'));
  const auto length = [&](std::string_view axis) {
    const std::string_view unit = attribute(pixels, fmt::format("PhysicalSize{}Unit", axis));
    return step_of(distance(base::parse_number(attribute(pixels, fmt::format("PhysicalSize{}", axis)))),
                   unit.empty() ? 1e-3 : millimetres_of(unit), Unit::millimetre);  // micrometres by default
  };
  const std::string_view unit = attribute(pixels, "TimeIncrementUnit");
  const Step time = step_of(distance(base::parse_number(attribute(pixels, "TimeIncrement"))),
                            unit.empty() ? 1 : seconds_of(unit), Unit::second);
  const i64 channels = count_of(attribute(pixels, "SizeC")), slices = count_of(attribute(pixels, "SizeZ")),
            moments = count_of(attribute(pixels, "SizeT"));
  // Pages of several channels, slices and moments come in an order that the array does not have.
  const Step page = channels > 1 ? Step{} : moments == 1 ? length("Z") : slices == 1 ? time : Step{};
  out.steps = {Step{}, page, length("Y"), length("X")};
  return out;
}

}  // namespace

TiffText parse_tiff_text(std::string_view text, const TiffResolution& resolution) {
  TiffText out;
  if (text.starts_with("ImageJ=")) out = parse_imagej(text, resolution);
  if (text.starts_with("<?xml") && text.find("<OME") != std::string_view::npos &&
      text.find("<Pixels ") != std::string_view::npos)
    out = parse_ome(text);
  if (std::all_of(out.steps.begin(), out.steps.end(), [](const Step& s) { return s.size == 0; })) out.steps.clear();
  return out;
}

std::string print_tiff_text(const Shape& shape, const std::vector<Step>& steps, TiffResolution& resolution) {
  const std::size_t rank = shape.size();
  const auto step = [&](std::size_t d) { return d < steps.size() ? steps[steps.size() - 1 - d] : Step{}; };
  // One unit for all: that of x. A distance in another has no place in the text.
  const bool lengths = step(0).unit == Unit::millimetre;
  const bool small = lengths && step(0).size < 0.01;
  const auto in_unit = [&](const Step& s) { return s.unit != step(0).unit ? 0 : small ? s.size * 1000 : s.size; };
  const double x = step(0).unit == Unit::second ? 0 : in_unit(step(0)), y = in_unit(step(1)), z = in_unit(step(2));
  const bool says_time = rank == 4 && step(3).unit == Unit::second;
  if (x == 0 && !says_time && (rank < 4)) return {};
  resolution = {x > 0 ? 1 / x : 0, y > 0 ? 1 / y : 0, 1};

  // The empty version makes ImageJ follow the list of pages; after another it expects all of them in one piece.
  std::string text = "ImageJ=\n";
  const i64 slices = rank > 2 ? shape[rank - 3] : 1, frames = rank > 3 ? shape[0] : 1;
  text += fmt::format("images={}\n", slices * frames);
  if (slices > 1) text += fmt::format("slices={}\n", slices);
  if (frames > 1) text += fmt::format("frames={}\nhyperstack=true\n", frames);
  if (x > 0 && lengths) text += fmt::format("unit={}\n", small ? "um" : "mm");
  if (x > 0 && z > 0 && rank > 2) text += fmt::format("spacing={:.7g}\n", z);
  if (says_time) text += fmt::format("finterval={:.7g}\n", step(3).size);
  return text + "loop=false\n";
}

}  // namespace tessera::io
