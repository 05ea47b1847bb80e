// Descriptions of TIFF files; see text.hpp.
#include "io/tiff/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/text.hpp"

namespace tessera::io {
namespace {

using Unit = Step::Unit;

template <std::size_t N>
double size_of_unit(const std::pair<std::string_view, double> (&known)[N], std::string_view name) {
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

TiffText parse_imagej(std::string_view text, const TiffResolution& resolution) {
  TiffText out;
  out.kind = TiffText::Kind::imagej;
  i64 channels = 1, slices = 1, frames = 1;
  double spacing = 0;
  std::string_view interval = "", order = "czt";
  std::string_view unit = resolution.unit == 2 ? "inch" : resolution.unit == 3 ? "cm" : "";
  for (const std::string_view line : base::split(text, '\n')) {
    const std::size_t at = line.find('=');
    if (at == std::string_view::npos) continue;
    const std::string_view key = line.substr(0, at), value = base::trim(line.substr(at + 1));
    if (key == "images") out.pages = count_of(value);
    if (key == "channels") channels = count_of(value);
    if (key == "slices") slices = count_of(value);
    if (key == "frames") frames = count_of(value);
    if (key == "unit") unit = value;
    if (key == "spacing") spacing = distance(base::parse_number(value));
    if (key == "finterval") interval = value;
    if (key == "order" && value.size() == 3 && std::is_permutation(value.begin(), value.end(), "czt")) order = value;
  }
  const double scale = millimetres_of(unit);
  const auto across = [&](double per_unit) {
    return step_of(distance(per_unit == 0 ? 0 : 1 / per_unit), scale, Unit::millimetre);
  };
  out.steps = {{'t', distance_of(interval, 1, Unit::second)},
               {'z', step_of(spacing, scale, Unit::millimetre)},
               {'y', across(resolution.y)},
               {'x', across(resolution.x)}};
  // Pages without a word are slices.
  FileAxes said;
  for (auto letter = order.rbegin(); letter != order.rend(); ++letter)  // the fastest comes first there
    said.push_back({*letter, *letter == 'c' ? channels : *letter == 'z' ? slices : frames});
  const i64 product = product_of(said);
  if (product == 1 && out.pages > 1) {
    out.images.push_back({"", {{'z', out.pages}}, {}});
  } else if (product == out.pages || out.pages == 1) {
    out.pages = product;
    out.images.push_back({"", said, {}});
  } else {
    out.contradiction = fmt::format("ImageJ says that it has {} pages, and {} channels, {} slices and {} frames",
                                    out.pages, channels, slices, frames);
  }
  return out;
}

// tifffile's {"shape": [3, 4, 16, 16], "axes": "TZYX", ...}: of the values of other keys only where they end is found.
TiffText parse_shaped(std::string_view text) {
  TiffText out;
  out.kind = TiffText::Kind::shaped;
  const auto value_of = [&](std::string_view key, char open, char close) -> std::string_view {
    const std::size_t at = text.find(fmt::format("\"{}\":", key));
    if (at == std::string_view::npos) return {};
    std::string_view rest = base::trim(text.substr(at + key.size() + 3));
    if (rest.empty() || rest[0] != open) return {};
    rest.remove_prefix(1);
    return rest.substr(0, std::min(rest.find(close), rest.size()));
  };
  TiffImage image;
  for (const std::string_view part : base::split(value_of("shape", '[', ']'), ',')) {
    const auto extent = base::parse_integer(base::trim(part));
    if (!extent || *extent < 1 || *extent > (i64{1} << 40) || image.axes.size() > 32) return {};
    image.axes.push_back({'q', *extent});
  }
  const std::string axes = base::to_lower(std::string(value_of("axes", '"', '"')));
  // Channels and samples are one dimension each, beside one of points.
  image.named = axes.size() == image.axes.size() && std::count(axes.begin(), axes.end(), 'c') <= 1 &&
                std::count(axes.begin(), axes.end(), 's') <= 1 && axes.find_first_not_of("cs") != std::string::npos;
  for (std::size_t d = 0; image.named && d < axes.size(); ++d)
    if (axes[d] >= 'a' && axes[d] <= 'z') image.axes[d].letter = axes[d];
  out.images.push_back(std::move(image));
  return out;
}

std::string print_imagej(const TiffLayout& layout, TiffResolution& resolution) {
  const auto step = [&](char letter) {
    const auto found = layout.steps.find(letter);
    return found == layout.steps.end() ? Step{} : found->second;
  };
  const auto extent = [&](char letter) {
    for (const FileAxis& a : layout.pages)
      if (a.letter == letter) return a.extent;
    return i64{1};
  };
  // One unit for all: that of x. A distance in another has no place in the text.
  const bool lengths = step('x').unit == Unit::millimetre;
  const bool small = lengths && step('x').size < 0.01;
  const auto in_unit = [&](const Step& s) { return s.unit != step('x').unit ? 0 : small ? s.size * 1000 : s.size; };
  const double x = step('x').unit == Unit::second ? 0 : in_unit(step('x')), y = in_unit(step('y')),
               z = in_unit(step('z'));
  const i64 channels = extent('c'), slices = extent('z'), frames = extent('t');
  const bool says_time = frames > 1 && step('t').unit == Unit::second;
  resolution = {x > 0 ? 1 / x : 0, y > 0 ? 1 / y : 0, 1};

  // The empty version makes ImageJ follow the list of pages; after another it expects all of them in one piece.
  std::string text = fmt::format("ImageJ=\nimages={}\n", channels * slices * frames);
  if (channels > 1) text += fmt::format("channels={}\n", channels);
  if (slices > 1) text += fmt::format("slices={}\n", slices);
  if (frames > 1) text += fmt::format("frames={}\n", frames);
  if (channels > 1 || frames > 1) text += "hyperstack=true\n";
  if (channels > 1) text += "mode=grayscale\n";
  if (x > 0 && lengths) text += fmt::format("unit={}\n", small ? "um" : "mm");
  if (x > 0 && z > 0 && slices > 1) text += fmt::format("spacing={:.7g}\n", z);
  if (says_time) text += fmt::format("finterval={:.7g}\n", step('t').size);
  return text + "loop=false\n";
}

std::string print_shaped(const TiffLayout& layout) {
  std::string shape, axes;
  const auto add = [&](char letter, i64 extent) {
    shape += fmt::format("{}{}", shape.empty() ? "" : ", ", extent);
    axes += static_cast<char>(letter - 'a' + 'A');
  };
  for (const FileAxis& a : layout.pages) add(a.letter, a.extent);
  for (std::size_t d = 0; d < layout.page.size(); ++d)
    add(d < 2 ? layout.page_letters[d] : layout.sample_letter, layout.page[d]);
  // Where only a shape was given, only a shape is told.
  const bool named = layout.sample_letter == 'c' || std::any_of(layout.pages.begin(), layout.pages.end(),
                                                                [](const auto& a) { return a.letter != 'q'; });
  return fmt::format("{{\"shape\": [{}]{}}}", shape, named ? fmt::format(", \"axes\": \"{}\"", axes) : "");
}

}  // namespace

double millimetres_of(std::string_view name) {
  constexpr std::pair<std::string_view, double> known[] = {
      {"mm", 1},           {"cm", 10},      {"m", 1000},        {"um", 1e-3},     {"\xc2\xb5m", 1e-3},
      {"\xce\xbcm", 1e-3}, {"\xb5m", 1e-3}, {"\\u00B5m", 1e-3}, {"micron", 1e-3}, {"microns", 1e-3},
      {"nm", 1e-6},        {"inch", 25.4},  {"inches", 25.4},   {"in", 25.4},     {"millimeter", 1}};
  return size_of_unit(known, name);
}

double seconds_of(std::string_view name) {
  constexpr std::pair<std::string_view, double> known[] = {{"s", 1},    {"sec", 1}, {"ms", 1e-3}, {"\xc2\xb5s", 1e-6},
                                                           {"min", 60}, {"h", 3600}};
  return size_of_unit(known, name);
}

i64 count_of(std::string_view text) {
  const auto value = base::parse_integer(base::trim(text));
  return value && *value >= 1 && *value < (i64{1} << 31) ? *value : 1;
}

Step distance_of(std::string_view text, double scale, Unit unit) {
  return step_of(distance(base::parse_number(base::trim(text))), scale, unit);
}

std::vector<std::string> imagej_fields(std::string_view text) {
  constexpr std::string_view understood[] = {"ImageJ", "images",  "channels", "slices",    "frames", "hyperstack",
                                             "unit",   "spacing", "order",    "finterval", "loop",   "axes"};
  std::vector<std::string> fields;
  for (const std::string_view line : base::split(text, '\n')) {
    const std::size_t at = line.find('=');
    const std::string_view key = line.substr(0, at), value = at < line.size() ? base::trim(line.substr(at + 1)) : "";
    if (at == std::string_view::npos || key.empty() || key.size() > 32 || fields.size() >= 16) continue;
    if (std::find(std::begin(understood), std::end(understood), key) != std::end(understood)) continue;
    if (key == "mode" && value == "grayscale") continue;  // as it is written
    if (std::find(fields.begin(), fields.end(), key) == fields.end()) fields.emplace_back(key);
  }
  return fields;
}

TiffText parse_tiff_text(std::string_view text, const TiffResolution& resolution, int samples) {
  TiffText out;
  if (text.starts_with("ImageJ=")) out = parse_imagej(text, resolution);
  if (text.starts_with("{\"shape\":")) out = parse_shaped(text);
  if (base::trim(text).starts_with('<') &&
      (text.find("<OME") != std::string_view::npos || text.find(":OME") != std::string_view::npos))
    out = parse_ome(text, samples);
  std::erase_if(out.steps, [](const auto& step) { return step.second.size == 0; });
  for (TiffImage& image : out.images)
    if (out.kind != TiffText::Kind::shaped) std::erase_if(image.axes, [](const FileAxis& a) { return a.extent == 1; });
  return out;
}

std::optional<TiffStyle> style_of(const TiffLayout& layout, bool named, std::string_view path) {
  const std::string letters = letters_of(layout.pages), name = base::to_lower(std::string(path));
  const bool ome_name = name.ends_with(".ome.tif") || name.ends_with(".ome.tiff");
  const bool known = letters.find_first_not_of("tzc") == std::string::npos && layout.page_letters == "yx";
  const bool twice = letters.size() > 3;
  if (ome_name && known && !twice) return TiffStyle::ome;
  const bool band = layout.sample_letter == 'c' && layout.page.size() > 2;
  const auto step = layout.steps.find('x');
  const bool lengths = step != layout.steps.end() && step->second.unit != Unit::second && step->second.size > 0;
  const auto time = layout.steps.find('t');
  const bool times = time != layout.steps.end() && time->second.unit == Unit::second && letters.find('t') == 0;
  if (letters.empty() && !band && !lengths) return std::nullopt;
  if (!named && letters.size() < 2 && !lengths && !times) return std::nullopt;
  // ImageJ's order is the only one that it has.
  std::size_t at = 0;
  for (const char c : std::string_view("tzc"))
    if (at < letters.size() && letters[at] == c) ++at;
  return known && !band && at == letters.size() ? TiffStyle::imagej : TiffStyle::shaped;
}

std::string print_tiff_text(const TiffLayout& layout, TiffStyle style, TiffResolution& resolution) {
  std::string imagej = print_imagej(layout, resolution);
  if (style == TiffStyle::ome) return print_ome(layout);
  return style == TiffStyle::shaped ? print_shaped(layout) : imagej;
}

}  // namespace tessera::io
