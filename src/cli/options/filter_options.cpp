// Options of filters become a request: which there are, the filters say; lengths are in cli/options/filter_lengths.cpp,
// weights in cli/options/filter_weights.cpp.
#include "cli/options/filter_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "base/text.hpp"
#include "cli/execute/convert.hpp"
#include "cli/options/filter_lengths.hpp"
#include "cli/options/filter_weights.hpp"
#include "cli/tell.hpp"
#include "engine/filters/filters.hpp"
#include "io/image.hpp"
#include "lang/compile.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {
namespace {

[[noreturn]] void fail(std::string message, std::string help = "") {
  throw Error(ErrorClass::argument, std::move(message), {}, std::move(help));
}

// Integers of more than 8 bits are counts and measures, whose fractions matter.
bool loses_fractions(const Format& format) {
  const ElementType type = format.is_struct() ? format.fields[0].type : format.scalar;
  return type == ElementType::i16 || type == ElementType::u16 || type == ElementType::i32 || type == ElementType::u32;
}

template <class T>
T word_of(const std::string& option, const std::string& given, const std::map<std::string, T>& words) {
  const auto found = words.find(given);
  if (found != words.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [name, value] : words) names.push_back(name);
  fail(fmt::format("--{} {} cannot be used, expected {}", option, base::quoted(given), base::list_of(names)),
       base::did_you_mean(given, names));
}

}  // namespace

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
          ->type_name(o.type == "table"    ? "FILE or WEIGHTS"
                      : o.type == "border" ? "MODE"
                                           : "VALUE")
          ->group("Options of filters");
    }
  }
  app.add_option("--fwhm", fwhm_, users["sigma"] + ": sigma by the full width at half of the maximum, 2.355 sigma")
      ->type_name("VALUE")
      ->group("Options of filters");
  app.add_option("--alpha", alpha_, "of colours: weigh (they count by it), keep (it stays as it is) or associated")
      ->type_name("NAME")
      ->group("Options of filters");
  app.add_option("--arithmetic", arithmetic_, "float or double: what is computed in")
      ->type_name("TYPE")
      ->group("Options of filters");
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
  app.add_option("--nodata", nodata_,
                 takers + ": points of this value count for nothing; none: those of the file's own are numbers as well")
      ->allow_extra_args(false)
      ->type_name("VALUE")
      ->group("Options of filters");
  app.add_option("--type", type_, "of the result: that of the image, float for derivatives and measures")
      ->type_name("TYPE")
      ->group("Options of filters");
}

const Array& FilterOptions::table(const std::string& name) const {
  const auto [at, fresh] = tables_.try_emplace(name);
  if (!fresh) return at->second;
  const std::string& text = *given_.at(name).text;
  at->second = parse_weights(name, text);
  if (at->second.empty()) at->second = io::read_array(text);
  return at->second;
}

void FilterOptions::give(const std::string& name, const std::string& text) {
  given_[name].text = text;
}

// Weights in one row say nothing of the rank of an image.
bool FilterOptions::is_row(const std::string& name) const {
  const std::string& text = *given_.at(name).text;
  return text.find(';') == std::string::npos && !parse_weights(name, text).empty();
}

int FilterOptions::table_rank() const {
  int rank = 0;
  for (const auto& [name, g] : given_)
    if (g.text && g.type == "table" && !is_row(name)) rank = std::max(rank, table(name).rank());
  return rank;
}

// Those that are asked for, else that of the file.
void FilterOptions::take_nodata(FilterRequest& request, bool takes_mask, const io::ImageHeader& header) const {
  const auto take = [&](double value) {
    if (std::isnan(value))
      request.ignore_nan = true;
    else
      request.nodata.push_back(value);
  };
  if (nodata_.size() == 1 && nodata_.front() == "none") return;
  for (const std::string& text : nodata_) {
    const std::optional<double> value = base::parse_number(text);
    if (!value && text != "nan")
      fail(fmt::format("--nodata {} cannot be used, expected a number, nan or none", base::quoted(text)));
    take(value.value_or(std::numeric_limits<double>::quiet_NaN()));
  }
  if (!nodata_.empty() || !header.nodata) return;
  if (takes_mask) {
    take(*header.nodata);
    tell("note: points of {}, the file's value for no data, count for nothing; --nodata none takes them for numbers\n",
         *header.nodata);
  } else {
    tell("note: filter {} takes points of {}, the file's value for no data, for numbers\n", request.name,
         *header.nodata);
  }
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
      request.tables.emplace(option,
                             parse_weights(option, *g.text).empty() ? table(option) : of_rank(table(option), rank));
    else if (g.type == "border")
      request.border = Borders(lang::parse_borders(*g.text, "--border"));
    else {
      PerAxis points = parse_points(option, *g.text, per_axis && option != "anchor", rank, header);
      if (g.type == "int" && g.text->find_first_of("ms") != std::string::npos)  // a length
        for (double& v : points.values) v = std::round(v);
      request.numbers.emplace(option, std::move(points));
    }
  }
  if (fwhm_) {
    const bool smooths = info == nullptr || std::any_of(info->options.begin(), info->options.end(),
                                                        [](const FilterOption& o) { return o.name == "sigma"; });
    if (!smooths) fail(fmt::format("filter {} has no option --fwhm, as it has no sigma", base::quoted(name)));
    if (request.numbers.contains("sigma"))
      fail(fmt::format("--sigma {} and --fwhm {} are given, expected one of them",
                       base::quoted(*given_.at("sigma").text), base::quoted(*fwhm_)));
    request.numbers.emplace("sigma", fwhm(parse_points("fwhm", *fwhm_, true, rank, header)));
  }
  request.extent =
      word_of<Extent>("extent", extent_, {{"same", Extent::same}, {"valid", Extent::valid}, {"full", Extent::full}});
  if (alpha_)
    request.alpha = word_of<Alpha>(
        "alpha", *alpha_, {{"weigh", Alpha::weighted}, {"keep", Alpha::kept}, {"associated", Alpha::associated}});
  else if (header.associated_alpha)
    request.alpha = Alpha::associated;
  if (arithmetic_)
    request.arithmetic =
        word_of<ElementType>("arithmetic", *arithmetic_, {{"float", ElementType::f32}, {"double", ElementType::f64}});
  request.ignore_nan = ignore_nan_;
  if (info != nullptr) take_nodata(request, info->takes_mask, header);
  const bool without = std::count(nodata_.begin(), nodata_.end(), "none") > 0;
  if ((mask_ || ignore_nan_ || (!nodata_.empty() && !without)) && info != nullptr && !info->takes_mask) {
    std::vector<std::string> names;
    for (const FilterInfo& f : filters())
      if (f.takes_mask) names.push_back(f.name);
    fail(fmt::format("filter {} has no option {}, the filters that have are {}", base::quoted(name),
                     mask_         ? "--mask"
                     : ignore_nan_ ? "--ignore-nan"
                                   : "--nodata",
                     base::list_of(names, "and")));
  }
  if (mask_) request.mask = mask_array();
  if (type_) {
    if (*type_ == "int8")
      tell("warning: int8 is an unsigned type here, 0 to 255\nhelp: write uint8, which means the same\n");
    request.type = lang::parse_type(*type_);
    if (!request.type)
      fail(fmt::format("--type {} cannot be used, expected a type such as uint8 or float", base::quoted(*type_)));
  }
  return request;
}

Array FilterOptions::mask_array() const {
  if (!mask_reader_) mask_reader_ = io::open_parts(*mask_);
  if (*mask_reader_ == nullptr) return io::read_array(*mask_);
  const io::RegionLayout& layout = (*mask_reader_)->layout();
  const Array one(layout.element, {1});
  return Array::share(one.owner(), one.data(), layout.element, layout.shape, std::vector<i64>(layout.shape.size(), 0));
}

std::shared_ptr<io::RegionReader> FilterOptions::mask_parts() const {
  return mask_reader_.value_or(nullptr);
}

Error at_shell(const Error& error) {
  static constexpr std::pair<std::string_view, std::string_view> words[] = {
      {"ignore_nan", "--ignore-nan"},
      {"let the arithmetic be double", "write --arithmetic double"},
      {"let alpha be kept", "write --alpha keep"},
      {"give a mask", "give a --mask"},
  };
  std::string text = error.what();
  for (const auto& [ours, theirs] : words)
    if (const std::size_t at = text.find(ours); at != std::string::npos) text.replace(at, ours.size(), theirs);
  return {error.error_class(), std::move(text)};
}

// No error: the value is written where nothing is known, be it by a mask or a border.
void FilterOptions::note_nodata(const Format& image) const {
  const ElementType type = image.is_struct() ? image.fields[0].type : image.scalar;
  for (const std::string& text : nodata_) {
    const std::optional<double> value = base::parse_number(text);
    if (value && !std::isnan(*value) && !value_in_type(*value, type))
      tell("warning: --nodata {} is no value of {}, the type of the image: no point has it\n", text, name_of(type));
  }
}

void FilterOptions::note_rounding(const std::string& name, const Format& image,
                                  const std::vector<std::string>& files) const {
  const FilterInfo& info = engine::filter_info(name);
  if (type_ || !info.keeps_type || !loses_fractions(image) || engine::chooses(info)) return;
  for (const std::string& file : files)
    if (!io::stores_floats(file)) return;  // it could not hold fractions
  const ElementType type = image.is_struct() ? image.fields[0].type : image.scalar;
  tell(
      "note: the result is rounded to {0}, the type of the image; --type float keeps fractions, --type {0} "
      "says that this is meant\n",
      name_of(type));
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
         "--extent same, valid or full; --type of the result; --arithmetic float or double; --alpha\n";
}

}  // namespace tessera::cli
