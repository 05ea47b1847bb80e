// Multiscales; see ome.hpp.
//
// A scale is said of the level, and perhaps once more of all levels: they multiply. Where the first point lies
// (translation) is not read, as arrays have no place; of the lower levels of a pyramid it is written, since the mean of
// two points lies between them.
#include "io/zarr/ome.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.hpp"
#include "io/tiff/text.hpp"
#include "io/zarr/json.hpp"
#include "tessera/error.hpp"

namespace tessera::io::zarr {
namespace {

constexpr std::string_view known_letters = "tczyx";

// ---- units -------------------------------------------------------------------------------------------------------

constexpr std::pair<std::string_view, int> prefixes[] = {
    {"yocto", -24}, {"zepto", -21}, {"atto", -18}, {"femto", -15}, {"pico", -12}, {"nano", -9},  {"micro", -6},
    {"milli", -3},  {"centi", -2},  {"deci", -1},  {"", 0},        {"deca", 1},   {"hecto", 2},  {"kilo", 3},
    {"mega", 6},    {"giga", 9},    {"tera", 12},  {"peta", 15},   {"exa", 18},   {"zetta", 21}, {"yotta", 24}};

// Of such a name with a prefix, in units of which it has 10^finer; 0 where it is none.
double scale_of(std::string_view unit, std::string_view name, int finer) {
  if (!unit.ends_with(name)) return 0;
  unit.remove_suffix(name.size());
  for (const auto& [prefix, exponent] : prefixes)
    if (prefix == unit) {
      const int power = exponent + finer;
      return power < 0 ? 1 / std::pow(10, -power) : std::pow(10, power);
    }
  return 0;
}

double in_millimetres(const std::string& unit) {
  constexpr std::pair<std::string_view, double> others[] = {
      {"angstrom", 1e-7}, {"foot", 304.8}, {"mile", 1609344}, {"yard", 914.4}};
  for (const auto& [name, size] : others)
    if (name == unit) return size;
  const double size = std::max(scale_of(unit, "meter", 3), scale_of(unit, "metre", 3));
  return size > 0 ? size : millimetres_of(unit);
}

double in_seconds(const std::string& unit) {
  constexpr std::pair<std::string_view, double> others[] = {{"minute", 60}, {"hour", 3600}, {"day", 86400}};
  for (const auto& [name, size] : others)
    if (name == unit) return size;
  const double seconds = scale_of(unit, "second", 0);
  return seconds > 0 ? seconds : seconds_of(unit);
}

Step step_of(char letter, const std::string& unit, double scale) {
  if (!(scale > 0) || !std::isfinite(scale) || letter == 'c') return {};
  if (unit.empty()) return scale == 1 ? Step{} : Step{scale, Step::Unit::unknown};  // 1 says nothing
  const bool time = letter == 't';
  const double size = scale * (time ? in_seconds(unit) : in_millimetres(unit));
  if (!(size > 0) || !std::isfinite(size)) return {};
  return {size, time ? Step::Unit::second : Step::Unit::millimetre};
}

// ---- reading -----------------------------------------------------------------------------------------------------

// The product of the scales in a list of transformations; empty where there is none.
std::vector<double> scale_in(const Value& of, std::size_t rank, std::vector<double> scale) {
  const std::optional<Value> list = of.find("coordinateTransformations");
  if (!list) return scale;
  for (const Value& one : list->list()) {
    if (one.at("type").text() != "scale") continue;
    const std::optional<Value> values = one.find("scale");
    if (!values) continue;  // they may stand in a file of their own
    const std::vector<Value> factors = values->list();
    if (rank != 0 && factors.size() != rank)
      values->wrong(fmt::format("has {} numbers, but there are {} axes", factors.size(), rank));
    scale.resize(factors.size(), 1);
    for (std::size_t d = 0; d < factors.size(); ++d) {
      if (!factors[d].json().is_number()) factors[d].wrong("is no number");
      scale[d] *= factors[d].json().get<double>();
    }
  }
  return scale;
}

std::string text_in(const Value& value, std::string_view key) {
  const std::optional<Value> found = value.find(key);
  return found ? found->text() : "";
}

// A path within the folder: no stranger leads out of it.
std::string inner_path(const Value& value) {
  std::string path = value.text();
  for (const std::string_view part : base::split(path, '/'))
    if (part.empty() || part == "." || part == ".." || part.find('\0') != std::string_view::npos)
      value.wrong(fmt::format("is {}, expected a path within the folder", base::quoted(path, 80)));
  return path;
}

char letter_of(const Multiscale::Axis& axis) {
  const std::string name = base::to_lower(axis.name);
  if (axis.type == "time") return 't';
  if (axis.type == "channel") return 'c';
  const char letter = name.size() == 1 && known_letters.find(name[0]) != std::string_view::npos ? name[0] : 'q';
  if (axis.type == "space" && (letter == 't' || letter == 'c')) return 'q';
  return letter;
}

// Letters that name a dimension twice, or channels alone, are none.
std::string checked(std::string letters) {
  bool points = false;
  for (const char letter : letters) {
    if (letter != 'q' && std::count(letters.begin(), letters.end(), letter) > 1) return {};
    points = points || (letter != 'c' && letter != 's');
  }
  const bool known = letters.find_first_not_of('q') != std::string::npos;
  return points && known ? letters : std::string();
}

}  // namespace

std::optional<Multiscale> parse_multiscale(std::string_view text, bool v3, const std::string& path) {
  const nlohmann::json json = parse_json(text, path);
  std::optional<Value> attributes = Value(json, path);
  if (v3) attributes = attributes->find("attributes");
  if (!attributes) return std::nullopt;
  if (const std::optional<Value> ome = attributes->find("ome")) attributes = ome;
  const std::optional<Value> list = attributes->find("multiscales");
  if (!list) return std::nullopt;
  const std::vector<Value> images = list->list();
  if (images.empty()) list->wrong("is empty");
  const Value& image = images.front();

  Multiscale out;
  if (const std::optional<Value> axes = image.find("axes")) {
    for (const Value& axis : axes->list()) {
      if (axis.json().is_string())  // as version 0.3 has them
        out.axes.push_back({axis.text(), "", ""});
      else
        out.axes.push_back({axis.at("name").text(), text_in(axis, "type"), text_in(axis, "unit")});
    }
  }
  const std::vector<double> common = scale_in(image, out.axes.size(), {});
  const Value datasets = image.at("datasets");
  for (const Value& level : datasets.list())
    out.levels.push_back({inner_path(level.at("path")), scale_in(level, out.axes.size(), common)});
  if (out.levels.empty()) datasets.wrong("is empty");
  return out;
}

void describe(const Multiscale& image, const Multiscale::Level& level, FileLayout& layout, const std::string& path) {
  const std::size_t rank = layout.shape.size();
  layout.format_name = "OME-Zarr";
  std::vector<Multiscale::Axis> axes = image.axes;
  if (axes.empty() && rank == known_letters.size())  // before version 0.3 they were always these
    for (const char letter : known_letters) axes.push_back({std::string(1, letter), "", ""});
  if (axes.empty()) return;
  if (axes.size() != rank)
    fail(path, fmt::format("its group names {} axes, but the array has {} dimensions", axes.size(), rank));
  std::string letters;
  for (const Multiscale::Axis& axis : axes) letters += letter_of(axis);
  layout.letters = checked(letters);
  if (layout.letters.empty() || level.scale.size() != rank) return;
  bool known = false;
  std::vector<Step> steps;
  for (std::size_t d = 0; d < rank; ++d) {
    steps.push_back(step_of(letters[d], axes[d].unit, level.scale[d]));
    known = known || steps.back().size > 0;
  }
  if (known) layout.steps = std::move(steps);
}

std::string letters_of_names(const std::vector<std::string>& names) {
  std::string letters;
  for (const std::string& name : names) {
    const std::string lower = base::to_lower(name);
    const bool known = lower.size() == 1 && (known_letters.find(lower[0]) != std::string_view::npos || lower == "s");
    letters += known ? lower[0] : 'q';
  }
  return checked(letters);
}

// ---- writing -----------------------------------------------------------------------------------------------------

std::vector<LevelLayout> pyramid_of(const FileLayout& layout, int levels) {
  // Steps that differ by less than this are as near to each other as halving can bring them.
  constexpr double near = 1.5;
  const std::string& letters = layout.letters;
  std::vector<LevelLayout> out{{layout.shape, std::vector<int>(layout.shape.size(), 0)}};
  const auto step = [&](std::size_t d) {
    return d < layout.steps.size() ? std::ldexp(layout.steps[d].size, out.back().halvings[d]) : 0.0;
  };
  while (static_cast<int>(out.size()) < levels) {
    double plane = 0;  // of y and x, the larger one
    for (std::size_t d = 0; d < letters.size(); ++d)
      if (letters[d] == 'y' || letters[d] == 'x') plane = std::max(plane, step(d));
    LevelLayout next = out.back();
    for (std::size_t d = 0; d < letters.size(); ++d) {
      const bool deep = letters[d] == 'z' && step(d) <= near * plane && plane <= near * step(d);
      if (next.shape[d] <= 1 || (letters[d] != 'y' && letters[d] != 'x' && !deep)) continue;
      next.shape[d] = (next.shape[d] + 1) / 2;
      ++next.halvings[d];
    }
    if (next.shape == out.back().shape) break;  // nothing is left to halve
    out.push_back(std::move(next));
  }
  return out;
}

namespace {

constexpr const char* what_ome_holds =
    "OME-Zarr holds time, channels (or one other dimension), slices, rows and columns in this order, of which rows and "
    "columns have to be there; a plain .zarr holds any array";

// t?, then c or s or q or nothing, then z?, y, x.
bool is_ome_order(std::string_view letters) {
  if (letters.starts_with('t')) letters.remove_prefix(1);
  if (!letters.empty() && std::string_view("csq").find(letters[0]) != std::string_view::npos) letters.remove_prefix(1);
  return letters == "yx" || letters == "zyx";
}

nlohmann::ordered_json axis_of(char letter, const Step& step) {
  nlohmann::ordered_json axis;
  axis["name"] = letter == 's' ? std::string("c") : std::string(1, letter);
  if (letter != 'q') axis["type"] = letter == 't' ? "time" : letter == 'c' || letter == 's' ? "channel" : "space";
  if (letter == 't' && step.unit == Step::Unit::second) axis["unit"] = "second";
  if (std::string_view("zyx").find(letter) != std::string_view::npos && step.unit == Step::Unit::millimetre)
    axis["unit"] = "millimeter";
  return axis;
}

}  // namespace

std::string print_group(const FileLayout& layout, const std::vector<LevelLayout>& levels, const std::string& path) {
  using json = nlohmann::ordered_json;
  if (!is_ome_order(layout.letters))
    throw Error(ErrorClass::argument,
                fmt::format("cannot write {}: its dimensions are {}", base::quoted(path, 1024),
                            layout.letters.empty() ? to_string(layout.shape) : base::quoted(layout.letters)),
                {}, what_ome_holds);
  const auto step = [&](std::size_t d) { return d < layout.steps.size() ? layout.steps[d] : Step{}; };
  json image;
  image["axes"] = json::array();
  for (std::size_t d = 0; d < layout.letters.size(); ++d) image["axes"].push_back(axis_of(layout.letters[d], step(d)));
  image["datasets"] = json::array();
  for (std::size_t k = 0; k < levels.size(); ++k) {
    json scale = json::array(), translation = json::array();
    for (std::size_t d = 0; d < layout.shape.size(); ++d) {
      const double size = step(d).size > 0 ? step(d).size : 1, factor = std::ldexp(1.0, levels[k].halvings[d]);
      scale.push_back(size * factor);
      translation.push_back(size * (factor - 1) / 2);
    }
    json transformations = json::array({json{{"type", "scale"}, {"scale", scale}}});
    if (k > 0) transformations.push_back({{"type", "translation"}, {"translation", translation}});
    image["datasets"].push_back({{"path", std::to_string(k)}, {"coordinateTransformations", transformations}});
  }
  if (levels.size() > 1) image["type"] = "mean";
  json group;
  group["zarr_format"] = 3;
  group["node_type"] = "group";
  group["attributes"]["ome"] = {{"version", "0.5"}, {"multiscales", json::array({image})}};
  return group.dump(2) + "\n";
}

}  // namespace tessera::io::zarr
