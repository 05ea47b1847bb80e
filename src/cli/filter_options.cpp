// A length becomes points by the distances of the file's header, each axis by its own; what the header does not say is
// not guessed.
#include "cli/filter_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "engine/filters.hpp"
#include "io/image.hpp"
#include "lang/compile.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {
namespace {

[[noreturn]] void fail(std::string message, std::string help = "") {
  throw Error(ErrorClass::argument, std::move(message), {}, std::move(help));
}

struct Unit {
  std::string_view name;
  io::Step::Unit kind;
  double size;  // in millimetres or seconds
};
constexpr Unit units[] = {{"nm", io::Step::Unit::millimetre, 1e-6}, {"um", io::Step::Unit::millimetre, 1e-3},
                          {"mm", io::Step::Unit::millimetre, 1},    {"cm", io::Step::Unit::millimetre, 10},
                          {"m", io::Step::Unit::millimetre, 1e3},   {"us", io::Step::Unit::second, 1e-6},
                          {"ms", io::Step::Unit::second, 1e-3},     {"s", io::Step::Unit::second, 1}};

struct Quantity {
  double value = 0;
  const Unit* unit = nullptr;  // null: points
};

Quantity parse_quantity(const std::string& option, std::string_view part, bool lengths) {
  const std::size_t digits = part.find_last_not_of("abcdefghijklmnopqrstuvwxyz") + 1;  // the unit is what is behind
  const auto number = base::parse_number(base::trim(part.substr(0, digits)));
  const std::string_view word = part.substr(digits);
  const auto* unit = std::find_if(std::begin(units), std::end(units), [&](const Unit& u) { return u.name == word; });
  if (!number || (!word.empty() && (unit == std::end(units) || !lengths)))
    fail(fmt::format("--{} {} cannot be used, expected a number{}", option, base::quoted(part),
                     lengths ? " of points, or one with a unit: nm, um, mm, cm, m, us, ms or s" : ""));
  return {*number, word.empty() ? nullptr : unit};
}

io::Step step_of(const io::ImageHeader& header, int rank, int dimension) {
  const int from_fastest = rank - 1 - dimension, known = static_cast<int>(header.steps.size());
  return from_fastest >= 0 && from_fastest < known ? header.steps[static_cast<std::size_t>(known - 1 - from_fastest)]
                                                   : io::Step{};
}

double points_of(const std::string& option, const Quantity& q, const io::Step& step, int dimension) {
  if (q.unit == nullptr) return q.value;
  if (step.unit != q.unit->kind || !(step.size > 0))
    fail(fmt::format("--{} {}{} cannot be used in dimension {}: the header of the image {}", option, q.value,
                     q.unit->name, dimension,
                     step.unit == io::Step::Unit::unknown  ? "does not say how far apart its points are"
                     : step.unit == io::Step::Unit::second ? "gives it in seconds"
                                                           : "gives it in millimetres"),
         "give it in points, without a unit");
  return q.value * q.unit->size / step.size;
}

}  // namespace

PerAxis parse_points(const std::string& option, const std::string& text, bool lengths, int rank,
                     const io::ImageHeader& header) {
  std::vector<Quantity> all;
  for (const std::string_view part : base::split(text, ','))
    all.push_back(parse_quantity(option, base::trim(part), lengths));
  std::vector<double> values;
  if (all.size() == 1 && all[0].unit != nullptr) {
    // A length is of the dimensions in space, a time of the one before them.
    const bool time = all[0].unit->kind == io::Step::Unit::second;
    if (time && rank < 4)
      fail(fmt::format("--{} {} cannot be used, an image of rank {} has no dimension in time", option,
                       base::quoted(text), rank),
           "a series of volumes has one, the first of four");
    for (int d = 0; d < rank; ++d)
      values.push_back(time == (rank == 4 && d == 0) ? points_of(option, all[0], step_of(header, rank, d), d) : 0);
  } else {
    for (std::size_t d = 0; d < all.size(); ++d)
      values.push_back(points_of(option, all[d], step_of(header, rank, static_cast<int>(d)), static_cast<int>(d)));
  }
  return PerAxis(std::move(values));
}

void FilterOptions::declare_later(CLI::App& app) {
  app.preparse_callback([this, &app](std::size_t) { declare(app); });
}

void FilterOptions::declare(CLI::App& app) {
  std::map<std::string, std::string> users;
  for (const FilterInfo& f : filters())
    for (const FilterOption& o : f.options) {
      given_[o.name].type = o.type;
      users[o.name] += (users[o.name].empty() ? "" : ", ") + f.name;
    }
  for (const FilterInfo& f : filters()) {
    for (const FilterOption& o : f.options) {
      if (app.get_option_no_throw("--" + o.name) != nullptr) continue;
      const bool of_all = o.type == "border";
      app.add_option("--" + o.name, given_[o.name].text, of_all ? o.summary : users[o.name] + ": " + o.summary)
          ->type_name(o.type == "table"    ? "FILE"
                      : o.type == "border" ? "MODE"
                                           : "VALUE")
          ->group("Options of filters");
    }
  }
  app.add_option("--extent", extent_, "of the result: same, valid (windows inside) or full (every point touched)")
      ->type_name("NAME")
      ->group("Options of filters");
  std::vector<std::string> masked;
  for (const FilterInfo& f : filters())
    if (f.takes_mask) masked.push_back(f.name);
  const std::string takers = base::list_of(masked, "and");
  app.add_option("--mask", mask_, takers + ": how certain each point is, 0 for those that count for nothing")
      ->type_name("FILE")
      ->group("Options of filters");
  app.add_flag("--ignore-nan", ignore_nan_, takers + ": points that are NaN or infinite count for nothing")
      ->group("Options of filters");
  app.add_option("--type", type_, "of the result: that of the image, float for derivatives and measures")
      ->type_name("TYPE")
      ->group("Options of filters");
}

const Array& FilterOptions::table(const std::string& name) const {
  const auto [at, fresh] = tables_.try_emplace(name);
  if (fresh) at->second = io::read_array(*given_.at(name).text);
  return at->second;
}

void FilterOptions::give(const std::string& name, const std::string& text) {
  given_[name].text = text;
}

int FilterOptions::table_rank() const {
  int rank = 0;
  for (const auto& [name, g] : given_)
    if (g.text && g.type == "table") rank = std::max(rank, table(name).rank());
  return rank;
}

FilterRequest FilterOptions::request(const std::string& name, int rank, const io::ImageHeader& header) const {
  FilterRequest request;
  request.name = name;
  const FilterInfo* info = nullptr;
  for (const FilterInfo& f : filters())
    if (f.name == name) info = &f;
  for (const auto& [option, g] : given_) {
    if (!g.text) continue;
    std::vector<std::string> names;
    bool per_axis = false;
    for (const FilterOption& o : info == nullptr ? std::vector<FilterOption>{} : info->options) {
      names.push_back("--" + o.name);
      if (o.name == option) per_axis = o.per_axis;
    }
    if (info != nullptr && std::find(names.begin(), names.end(), "--" + option) == names.end())
      fail(fmt::format("filter {} has no option --{}, its options are {}", base::quoted(name), option,
                       base::list_of(names, "and")));
    if (g.type == "table")
      request.tables.emplace(option, table(option));
    else if (g.type == "border")
      request.border = Borders(lang::parse_borders(*g.text, "--border"));
    else {
      PerAxis points = parse_points(option, *g.text, per_axis && option != "anchor", rank, header);
      if (g.type == "int" && g.text->find_first_of("ms") != std::string::npos)  // a length
        for (double& v : points.values) v = std::round(v);
      request.numbers.emplace(option, std::move(points));
    }
  }
  static const std::map<std::string, Extent> extents = {
      {"same", Extent::same}, {"valid", Extent::valid}, {"full", Extent::full}};
  const auto extent = extents.find(extent_);
  if (extent == extents.end())
    fail(fmt::format("--extent {} cannot be used, expected same, valid or full", base::quoted(extent_)),
         base::did_you_mean(extent_, {"same", "valid", "full"}));
  request.extent = extent->second;
  request.ignore_nan = ignore_nan_;
  if ((mask_ || ignore_nan_) && info != nullptr && !info->takes_mask) {
    std::vector<std::string> names;
    for (const FilterInfo& f : filters())
      if (f.takes_mask) names.push_back(f.name);
    fail(fmt::format("filter {} has no option {}, the filters that have are {}", base::quoted(name),
                     mask_ ? "--mask" : "--ignore-nan", base::list_of(names, "and")));
  }
  if (mask_) request.mask = io::read_array(*mask_);
  if (type_) {
    if (*type_ == "int8")
      fmt::print(stderr, "warning: int8 is an unsigned type here, 0 to 255\nhelp: write uint8, which means the same\n");
    request.type = lang::parse_type(*type_);
    if (!request.type)
      fail(fmt::format("--type {} cannot be used, expected a type such as uint8 or float", base::quoted(*type_)));
  }
  return request;
}

namespace {

// In lines of at most 100 characters.
std::string folded(const std::string& text, const std::string& margin) {
  std::string all = margin, line;
  for (const std::string_view word : base::split_words(text)) {
    if (line.size() + word.size() > 100) {
      all += line + "\n" + margin;
      line.clear();
    }
    line += (line.empty() ? "" : " ") + std::string(word);
  }
  return all + line;
}

}  // namespace

std::string list_of_filters(const std::string& name) {
  std::string text;
  if (!name.empty()) engine::filter_info(name);
  for (const FilterInfo& f : filters()) {
    if (!name.empty() && f.name != name) continue;
    std::vector<std::string> ranks;
    for (int r : f.ranks) ranks.push_back(std::to_string(r));
    text += fmt::format("{}{}\n{}\n", text.empty() ? "" : "\n", f.name, folded(f.summary, "  "));
    for (const FilterOption& o : f.options)
      text +=
          fmt::format("  --{:<10} {:<7} {:<9} {}\n", o.name, o.type, o.value.empty() ? "needed" : o.value, o.summary);
    if (f.takes_mask) text += "  --mask       file, --ignore-nan: points may be uncertain or unknown\n";
    text += fmt::format("  images of rank {}; the result is {}\n", base::list_of(ranks),
                        f.keeps_type ? "of the type of the image" : "float");
  }
  return text + (name.empty() ? "\nall of them: " : "  also: ") +
         "--extent same, valid or full; --type of the result\n";
}

}  // namespace tessera::cli
