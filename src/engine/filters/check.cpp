// Options are refused here, in the words of their user, so that no error speaks of a program that he did not write.
#include "engine/filters/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "data/border.hpp"
#include "data/element.hpp"
#include "engine/filters/filters.hpp"

namespace tessera::engine {
namespace {

constexpr i64 most_weights = 1 << 22, most_weights_with_mask = 1 << 19;

[[noreturn]] void fail(std::string message, std::string help = {}) {
  throw Error(ErrorClass::argument, std::move(message), {}, std::move(help));
}

struct Bounds {
  const char* option;
  double least, most;
  const char* expected;
};
constexpr Bounds bounds[] = {{"sigma", 0, 5000, "0 to 5000 points"},
                             {"radius", 0, 4000, "0 to 4000 points"},
                             {"truncate", 0, 100, "0 to 100 standard deviations"},
                             {"range", 1e-30, 1e30, "1e-30 to 1e30"},
                             {"amount", -1e6, 1e6, "-1000000 to 1000000"},
                             {"cutoff", 1e-6, 1e6, "0.000001 to 1000000 cycles a point"},
                             {"low", 1e-6, 1e6, "0.000001 to 1000000 cycles a point"},
                             {"high", 1e-6, 1e6, "0.000001 to 1000000 cycles a point"},
                             {"order", 0.1, 100, "0.1 to 100"},
                             {"ratio", 1.0001, 1000, "1.0001 to 1000"},
                             {"derivative", 0, 2, "0 to 2"},
                             {"tiles", 1, 256, "1 to 256"},
                             {"search", 0, 10, "0 to 10 points"},
                             {"patch", 0, 100, "0 to 100 points"},
                             {"strength", 1e-15, 1e15, "1e-15 to 1e15"},
                             {"noise", 0, 1e15, "0 to 1e15"},
                             {"spread", 0, 1e30, "0 to 1e30"},
                             {"clip", 0, 1e6, "0 to 1000000"},
                             {"least", 1e-30, 1e30, "1e-30 to 1e30"},
                             {"percent", 0, 100, "0 to 100"},
                             {"rank", -most_weights, most_weights, "the place of an element, or -1 for the largest"},
                             {"anchor", -1, most_weights, "the index of a weight, or -1 for the middle"}};

void check_number(const FilterOption& option, double value) {
  for (const Bounds& b : bounds)
    if (option.name == b.option && !(value >= b.least && value <= b.most))
      fail(fmt::format("{} {} cannot be used, expected {}", option.name, value, b.expected));
  if (!std::isfinite(value)) fail(fmt::format("{} {} cannot be used, expected a finite number", option.name, value));
  if (option.type == "int" && value != std::floor(value))
    fail(fmt::format("{} {} cannot be used, expected a whole number", option.name, value));
}

void check_numbers(const FilterRequest& request, const FilterInfo& info, int rank) {
  std::vector<std::string> names;
  for (const FilterOption& o : info.options)
    if (o.type != "border" && o.type != "table") names.push_back(o.name);
  for (const auto& [name, numbers] : request.numbers) {
    const auto option =
        std::find_if(info.options.begin(), info.options.end(), [&](const auto& o) { return o.name == name; });
    if (option == info.options.end() || option->type == "border" || option->type == "table")
      fail(names.empty() ? fmt::format("filter {} has no option {}, it takes no numbers", base::quoted(info.name),
                                       base::quoted(name))
                         : fmt::format("filter {} has no option {}, expected {}", base::quoted(info.name),
                                       base::quoted(name), base::list_of(names)),
           base::did_you_mean(name, names));
    const std::size_t count = numbers.values.size();
    if (count != 1 && (!option->per_axis || count != static_cast<std::size_t>(rank)))
      fail(fmt::format(
          "{} has {} numbers, expected {}", name, count,
          !option->per_axis || rank == 1 ? "one" : fmt::format("one, or {} for an image of rank {}", rank, rank)));
    for (double v : numbers.values) check_number(*option, v);
  }
}

// Weights of a Gaussian are found one by one before anything runs.
void check_reach(const FilterRequest& request) {
  constexpr double most = 50'000;  // points to either side
  const auto sigma = request.numbers.find("sigma");
  if (sigma == request.numbers.end()) return;
  const auto given = [&](const char* name, double usual) {
    const auto found = request.numbers.find(name);
    return found == request.numbers.end() ? usual : found->second.values[0];
  };
  const double truncate = given("truncate", 3), ratio = given("ratio", 1);
  for (const double s : sigma->second.values)
    if (const double reach = s * ratio * truncate; reach > most)
      fail(fmt::format("sigma {}{} with truncate {} reaches {} points, expected at most {}", s,
                       ratio == 1 ? "" : fmt::format(" with ratio {}", ratio), truncate, reach, most));
}

// Of an axis that is not smoothed there is no derivative.
void check_derivatives(const FilterRequest& request, int rank) {
  const auto derivative = request.numbers.find("derivative"), sigma = request.numbers.find("sigma");
  if (derivative == request.numbers.end() || sigma == request.numbers.end()) return;
  for (std::size_t d = 0; d < static_cast<std::size_t>(rank); ++d) {
    const auto of = [&](const PerAxis& p) { return p.values.size() == 1 ? p.values[0] : p.values[d]; };
    if (of(derivative->second) > 0 && of(sigma->second) == 0)
      fail(fmt::format("sigma is 0 along dimension {}, where the derivative is of order {}: expected a sigma above 0",
                       d, of(derivative->second)));
  }
}

// Axes are those of the image.
void check_axes(const FilterRequest& request, int rank) {
  for (const char* name : {"row", "column"})
    if (const auto axis = request.numbers.find(name); axis != request.numbers.end())
      if (const double a = axis->second.values[0]; a < 0 || a >= rank)
        fail(fmt::format("{} {} cannot be used, expected an axis of the image, 0 to {}", name, a, rank - 1));
}

// Cutoffs in the wrong order would leave next to nothing of an image.
void check_band(const FilterRequest& request, const FilterInfo& info, int rank) {
  const auto given = [&](const char* name) -> std::vector<double> {
    const auto option =
        std::find_if(info.options.begin(), info.options.end(), [&](const auto& o) { return o.name == name; });
    if (option == info.options.end()) return {};
    const auto it = request.numbers.find(name);
    if (it != request.numbers.end()) return it->second.values;
    const auto usual = base::parse_number(option->value);
    return usual ? std::vector{*usual} : std::vector<double>{};
  };
  const std::vector<double> low = given("low"), high = given("high");
  const auto of = [](const std::vector<double>& v, std::size_t d) { return v.size() == 1 ? v[0] : v[d]; };
  for (std::size_t d = 0; d < static_cast<std::size_t>(rank) && !low.empty() && !high.empty(); ++d)
    if (of(low, d) > of(high, d))
      fail(fmt::format("low {} lies above high {}, which leaves no band between them", of(low, d), of(high, d)));
}

template <class T>
bool all_finite(const Array& a) {
  return std::all_of(a.as<T>(), a.as<T>() + a.count(), [](T v) { return std::isfinite(v); });
}

void check_weights(const std::string& name, const Array& table, int rank, i64 most) {
  if (table.format().is_struct())
    fail(fmt::format("{} has elements of {}, expected numbers", name, table.format().name()), "give one channel of it");
  const std::string shape = to_string(table.shape());
  if (table.empty() || std::find(table.shape().begin(), table.shape().end(), 0) != table.shape().end())
    fail(fmt::format("{} is empty, expected at least one weight", name));
  if (table.rank() != rank)
    fail(fmt::format("{} has rank {} ({}), but the image has rank {}", name, table.rank(), shape, rank),
         table.rank() < rank ? "add dimensions of extent 1 where it has no extent" : "");
  if (table.count() > most)
    fail(fmt::format("{} has {} weights ({}), expected at most {}{}", name, base::format_count(table.count()), shape,
                     base::format_count(most), most < most_weights ? " with a mask" : ""));
  const Array host = table.to_host();
  const Array dense = host.contiguous() ? host : host.clone();
  const ElementType type = dense.format().scalar;
  const bool finite = type == ElementType::f64   ? all_finite<double>(dense)
                      : type == ElementType::f32 ? all_finite<float>(dense)
                                                 : true;
  if (!finite) fail(fmt::format("{} holds a weight that is no finite number, such as NaN", name));
}

// Elements that are not 0.
i64 counted(const Array& table) {
  const Array host = table.to_host();
  const Array dense = host.contiguous() ? host : host.clone();
  const ElementType type = dense.format().scalar;
  const auto* const first = static_cast<const std::byte*>(dense.data());
  i64 count = 0;
  for (i64 k = 0; k < dense.count(); ++k)
    count += load_element(type, first + k * static_cast<i64>(size_of(type))) != 0 ? 1 : 0;
  return count;
}

// The place of an element in the order of a window has to be one.
void check_rank(const FilterRequest& request, int rank) {
  const auto footprint = request.tables.find("footprint");
  const std::optional<i64> elements =
      footprint != request.tables.end() ? std::optional(counted(footprint->second)) : std::nullopt;
  if (elements == 0) fail("footprint holds nothing but zeros, expected an element that counts");
  const auto given = request.numbers.find("rank");
  if (given == request.numbers.end()) return;
  const auto radius = request.numbers.find("radius");
  double count = 1;
  for (std::size_t d = 0; d < static_cast<std::size_t>(rank); ++d) {
    const std::vector<double>& radii = radius == request.numbers.end() ? std::vector<double>{1} : radius->second.values;
    count *= 2 * (radii.size() == 1 ? radii[0] : radii[d]) + 1;
  }
  if (elements) count = static_cast<double>(*elements);
  const double place = given->second.values[0];
  if (place < -count || place >= count)
    fail(fmt::format("rank {} cannot be used, expected {} to {}, as the window has {} elements", place, -count,
                     count - 1, count));
}

void check_tables(const FilterRequest& request, const FilterInfo& info, int rank) {
  for (const auto& [name, table] : request.tables) {
    const bool known = std::any_of(info.options.begin(), info.options.end(),
                                   [&, n = name](const auto& o) { return o.name == n && o.type == "table"; });
    if (!known) fail(fmt::format("filter {} has no option {}", base::quoted(info.name), base::quoted(name)));
    check_weights(name, table, rank, is_masked(request) ? most_weights_with_mask : most_weights);
  }
  for (const FilterOption& o : info.options)
    if (o.type == "table" && o.value.empty() && !request.tables.contains(o.name))
      fail(fmt::format("filter {} needs {}: {}", base::quoted(info.name), o.name, o.summary));
  check_rank(request, rank);
  const auto anchor = request.numbers.find("anchor");
  const auto kernel = request.tables.find("kernel");
  if (anchor == request.numbers.end() || kernel == request.tables.end()) return;
  for (std::size_t d = 0; d < static_cast<std::size_t>(rank); ++d) {
    const std::vector<double>& given = anchor->second.values;
    const double at = given.size() == 1 ? given[0] : given[d];
    const i64 extent = kernel->second.shape()[d];
    if (at >= static_cast<double>(extent))
      fail(fmt::format("anchor {} is outside of the weights, expected 0 to {} in dimension {}", at, extent - 1, d));
  }
}

// Outside of the image nothing is certain, so that no other number stands there.
void check_certainty(const FilterRequest& request, const FilterInfo& info, const Format& image) {
  if (!is_masked(request)) return;
  const char* const what = !request.mask.empty() ? "mask" : request.ignore_nan ? "ignore_nan" : "nodata";
  if (!info.takes_mask) {
    std::vector<std::string> names;
    for (const FilterInfo& f : filters())
      if (f.takes_mask) names.push_back(f.name);
    fail(fmt::format("filter {} has no option {}, the filters that have are {}", base::quoted(info.name), what,
                     base::list_of(names, "and")));
  }
  const Format& format = request.mask.format();
  if (!request.mask.empty() && format.is_struct())
    fail(fmt::format("mask has elements of {}, expected numbers", format.name()), "give one channel of it");
  const ElementType type = image.is_struct() ? image.fields[0].type : image.scalar;
  if (request.mask.empty() && request.nodata.empty() && request.extent == Extent::full && !is_float(type))
    fail(fmt::format("ignore_nan cannot continue an image of {}, which has no NaN, expected the extent same or valid",
                     name_of(type)),
         "give a mask");
  for (const Border& b : request.border.modes)
    if (b.mode == BorderMode::constant && b.value != 0)
      fail(fmt::format("border constant({}) cannot be used with {}, expected constant(0)", b.value, what),
           "points outside of the image have no certainty then, whatever their value");
}

}  // namespace

bool has_border(const FilterInfo& info) {
  return std::any_of(info.options.begin(), info.options.end(), [](const auto& o) { return o.type == "border"; });
}

std::vector<Border> borders_of(const FilterRequest& request, int rank) {
  const auto count = static_cast<std::size_t>(rank);
  if (request.border.modes.empty()) {
    const BorderMode usual = request.extent == Extent::full ? BorderMode::constant : BorderMode::mirror;
    return std::vector<Border>(count, {usual, 0});
  }
  std::vector<Border> all = request.border.modes;
  if (all.size() == 1) all.resize(count, all[0]);
  return all;
}

ElementType arithmetic_of(const FilterRequest& request, ElementType image) {
  const bool wide = image == ElementType::i32 || image == ElementType::u32 || image == ElementType::f64;
  return request.arithmetic.value_or(wide ? ElementType::f64 : ElementType::f32);
}

bool is_masked(const FilterRequest& request) {
  return !request.mask.empty() || request.ignore_nan || !request.nodata.empty();
}

Array mask_for(const Array& mask, const Shape& image) {
  if (mask.shape() == image) return mask;
  const Shape& own = mask.shape();
  const bool ends_alike = own.size() < image.size() && std::equal(own.rbegin(), own.rend(), image.rbegin());
  if (!ends_alike || own.empty()) {
    const Shape slice(image.begin() + (image.empty() ? 0 : 1), image.end());
    fail(fmt::format("mask has shape {}, expected that of the image, {}{}", to_string(own), to_string(image),
                     slice.size() < 2 ? "" : ", or of its last dimensions, as " + to_string(slice)));
  }
  if (mask.on_device()) {  // arrays there have strides of their own
    const Array there = mask.memory()->make(mask.format(), image);
    there.copy_from(mask_for(mask.to_host(), image).clone());
    return there;
  }
  std::vector<i64> strides(image.size() - own.size(), 0);
  strides.insert(strides.end(), mask.strides().begin(), mask.strides().end());
  // (What is only read; an array that nobody owns here has an owner elsewhere, who outlives this one.)
  return Array::share(mask.owner(), mask.data(), mask.format(), image, std::move(strides));
}

void check_request(const FilterRequest& request, const FilterInfo& info, const Format& format, int rank) {
  if (std::find(info.ranks.begin(), info.ranks.end(), rank) == info.ranks.end()) {
    std::vector<std::string> ranks;
    for (int r : info.ranks) ranks.push_back(std::to_string(r));
    fail(fmt::format("filter {} takes images of rank {}, got one of rank {}", base::quoted(info.name),
                     base::list_of(ranks), rank));
  }
  for (const Format::Field& f : format.fields)
    if (f.type != format.fields[0].type)
      fail(fmt::format("a filter takes fields of one type, {} has {} {} and {} {}", format.name(),
                       name_of(format.fields[0].type), format.fields[0].name, name_of(f.type), f.name));
  if (request.arithmetic && *request.arithmetic != ElementType::f32 && *request.arithmetic != ElementType::f64)
    fail(fmt::format("arithmetic {} cannot be used, expected float or double", name_of(*request.arithmetic)));
  check_certainty(request, info, format);
  check_numbers(request, info, rank);
  check_reach(request);
  check_derivatives(request, rank);
  check_axes(request, rank);
  check_band(request, info, rank);
  check_tables(request, info, rank);
  const std::vector<Border>& modes = request.border.modes;
  if (modes.empty()) return;
  if (!has_border(info))
    fail(fmt::format("filter {} takes no border: {}", base::quoted(info.name),
                     counts_values(info) ? "nothing is read beyond its image" : "its image is continued periodically"));
  if (modes.size() != 1 && modes.size() != static_cast<std::size_t>(rank))
    fail(fmt::format("border has {} modes, expected one, or {} for an image of rank {}", modes.size(), rank, rank));
  for (const Border& b : modes) {
    const ElementType arithmetic = arithmetic_of(request, format.is_struct() ? format.fields[0].type : format.scalar);
    if (b.mode == BorderMode::constant && !continues(arithmetic, b.value))
      fail(fmt::format("border constant({}) cannot be used: the filter computes in {}, {}", b.value,
                       name_of(arithmetic), expected_constant(arithmetic)),
           arithmetic == ElementType::f32 && std::isfinite(b.value) ? "let the arithmetic be double" : "");
    if (b.mode == BorderMode::none && request.extent == Extent::full)
      fail("border none gives the full extent no values", "give another border, such as constant(0)");
  }
}

}  // namespace tessera::engine
