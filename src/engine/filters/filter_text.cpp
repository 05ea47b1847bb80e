// A filter by name is a program that imports it:
//
//   import "gaussian.forma";
//   stencil as_real(vector#2 uint8 X) { return cast<float>(X); }
//   stencil as_result(vector#2 float X) { return saturate<uint8>(X); }
//   parameter extent_0, extent_1;
//   vector#2 uint8 image[extent_0, extent_1];
//   result = as_result(gaussian(as_real(image):border));
//   return result;
//
// Conversions are stages of a point, which the plan folds into their neighbours.
//
// A border constant(k) continues the image in the type of the arithmetic: where k is no value of the image's elements,
// they are converted before the filter reads them, also by filters that would take them as they are.
//
// Alpha: colours that are mixed count by it. With weights that sum to 1, F(a x) / F(a) is the colour and F(a) is alpha;
// what the division by F(a) loses where that is next to nothing, is not seen either.
#include "engine/filters/filter_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "data/border.hpp"
#include "data/element.hpp"
#include "data/half.hpp"
#include "engine/filters/filters.hpp"
#include "ir/build.hpp"

namespace tessera::engine {
namespace {

[[noreturn]] void fail(std::string message, std::string help = {}) {
  throw Error(ErrorClass::argument, std::move(message), {}, std::move(help));
}

std::string axis_name(int rank, std::size_t dimension) {
  static const std::string names = "tzyx";
  return {names[names.size() - static_cast<std::size_t>(rank) + dimension]};
}

// The sum of weights over that of their sizes, and the first itself.
struct WeightSum {
  double share = 1, sum = 1;
};

WeightSum sum_of_weights(const FilterRequest& request) {
  const auto kernel = request.tables.find("kernel");
  if (kernel == request.tables.end()) return {};
  const Array host = kernel->second.to_host();
  const Array dense = host.contiguous() ? host : host.clone();
  const ElementType type = dense.format().scalar;
  double sum = 0, size = 0;
  for (i64 i = 0; i < dense.count(); ++i) {
    const double w =
        load_element(type, static_cast<const std::byte*>(dense.data()) + i * static_cast<i64>(size_of(type)));
    sum += w;
    size += std::abs(w);
  }
  return {size > 0 ? sum / size : 0, sum};
}

// Has every difference of two such elements.
ElementType wide_type(ElementType type) {
  if (type == ElementType::f64 || type == ElementType::i32 || type == ElementType::u32) return ElementType::f64;
  return is_float(type) ? ElementType::f32 : ElementType::i32;
}

// Values that filters/histogram.forma tells apart.
std::map<std::string, double> levels_of(ElementType type) {
  if (type == ElementType::u8) return {{"levels", 256}, {"doublings", 8}};
  return {{"levels", 65536}, {"doublings", 16}};
}
double brightest_of(ElementType type) {
  return is_float(type) ? 1 : ir::integer_limits(type).hi;
}

// Rounding to half precision would give one pass of a filter another constant than the next.
bool continues_exactly(ElementType type, double value) {
  if (type == ElementType::f16) return continues(type, value) && half_to_float(double_to_half(value)) == value;
  return continues(type, value);
}

}  // namespace

FilterText::FilterText(const FilterRequest& request, const FilterInfo& info, const Format& format, int rank)
    : request_(request), info_(info), rank_(rank), masked_(is_masked(request)) {
  const ElementType image = format.is_struct() ? format.fields[0].type : format.scalar;
  const ElementType stored = image == ElementType::boolean ? ElementType::u8 : image;
  const lang::ProgramText text = lang::describe(import_of(file()));
  const auto declares = [&](const char* name) {
    return std::any_of(text.parameters.begin(), text.parameters.end(), [&](const auto& p) { return p.name == name; });
  };
  takes_elements_ = std::any_of(text.functions.begin(), text.functions.end(), [&](const lang::FunctionText& f) {
    return f.name == function() && f.arguments.size() == 1 && f.arguments[0].first == "element";
  });
  const bool computes = declares("real");
  const ElementType usual_arithmetic = arithmetic_of({}, image);
  real_ = arithmetic_of(request, image);
  if (!computes && usual_arithmetic == ElementType::f64) real_ = usual_arithmetic;  // what is chosen is kept exactly
  name_planes(format);
  alpha_ = alpha_use(computes);
  if (alpha_ == AlphaUse::weighing) find_scale();
  const std::vector<Border> all = borders();
  const bool beyond = has_border(info) && std::any_of(all.begin(), all.end(), [&](const Border& b) {
                        return b.mode == BorderMode::constant && !continues_exactly(stored, b.value);
                      });
  const bool narrowed = request.arithmetic == ElementType::f32 && image == ElementType::f64;
  // (With certainties products are taken.)
  const bool real = beyond || (computes && (narrowed || (alpha_ == AlphaUse::weighing && !masked_)));
  given_ = takes_elements_ && !real ? stored : real_;
  type_ = beyond && request.extent == Extent::full ? real_ : image;
  value_ = computes ? real_ : given_;
  if (masked_ && !request.mask.empty()) types_["mark"] = request.mask.format().scalar;
  if (declares("element")) types_["element"] = given_;
  if (declares("wide")) types_["wide"] = wide_type(given_);
  if (declares("levels")) levels_ = levels_of(given_);
  if (declares("brightest")) levels_["brightest"] = brightest_of(stored);
  if (computes) types_["real"] = real_;
  const ElementType usual = info.keeps_type ? stored
                            : real_ == ElementType::f64 && (image == ElementType::f64 || request.arithmetic)
                                ? ElementType::f64
                                : ElementType::f32;
  result_ = request.type.value_or(usual);
}

std::string FilterText::text(const std::vector<i64>& before, const std::vector<i64>& after, bool rounded) const {
  std::string out = fmt::format("import \"{}.forma\";\n", file());
  if (with_weights()) out += fmt::format("import \"{}.forma\";\n", weighted_file());
  if (!planes_[0].field.empty()) {
    out += record(struct_name_, type_);
    if (type_ != result_) out += record(result_struct(), result_);
  }
  if (type_ != given_) out += point_stencil("as_given", type_, fmt::format("cast<{}>(X)", name_of(given_)));
  const std::string saturated = fmt::format("saturate<{}>(X)", name_of(result_));
  if (const std::optional<std::string> unknown = unknown_result())
    out += point_stencil("as_result", value_, fmt::format("X == X ? {} : {}", saturated, *unknown));
  else if (value_ != result_)
    out += point_stencil("as_result", value_, saturated);
  if (!request_.nodata.empty()) out += known_points();
  if (type_ != result_) out += point_stencil("as_kept", type_, fmt::format("saturate<{}>(X)", name_of(result_)));
  out += alpha_stencils();
  std::string extents;
  for (int d = 0; d < rank_; ++d) extents += fmt::format("{}extent_{}", d > 0 ? ", " : "", d);
  out +=
      fmt::format("parameter {};\n{} image[{}];\n", extents,
                  planes_[0].field.empty() ? vector(type_) : fmt::format("vector#{} {}", rank_, struct_name_), extents);
  if (!request_.mask.empty()) out += fmt::format("{} mask[{}];\n", vector(request_.mask.format().scalar), extents);
  std::string parts;
  for (const Plane& p : planes_)
    if (p.alpha) out += statements(p, rounded);
  for (const Plane& p : planes_) {
    if (!p.alpha) out += statements(p, rounded);
    parts += fmt::format("{}{}{}", parts.empty() ? "" : ", ", name(p), cut(before, after));
  }
  return out + (planes_[0].field.empty() ? "return " + parts : "return struct " + result_struct() + "(" + parts + ")") +
         ";\n";
}

CompileOptions FilterText::options() const {
  CompileOptions out;
  const bool boxed = !request_.tables.contains("footprint");  // else there is no radius
  for (const auto& [name, numbers] : request_.numbers)
    if (boxed || name != "radius") set(out, name, numbers.values);
  if (has_border(info_)) out.borders["border"] = borders();
  out.tables = request_.tables;
  out.types = types_;
  out.parameters.insert(levels_.begin(), levels_.end());
  return out;
}

bool FilterText::asks_for_least() const {
  return !masked_ && (alpha_ == AlphaUse::weighing && is_float(type_) && !takes_alpha_itself());
}

std::optional<ElementType> FilterText::widened(const Format& format) const {
  const ElementType image = format.is_struct() ? format.fields[0].type : format.scalar;
  return type_ != image ? std::optional(type_) : std::nullopt;
}

lang::CompileInput FilterText::import_of(const std::string& name) {
  lang::CompileInput input;
  input.text = fmt::format("import \"{}.forma\";", name);
  return input;
}

std::string FilterText::of_rank(const std::string& name) const {
  static const char* const suffixes[] = {"1d", "", "3d", "4d"};
  return name + suffixes[rank_ - 1];
}

// Fields keep their names where the language takes them.
void FilterText::name_planes(const Format& format) {
  if (!format.is_struct()) {
    planes_.push_back({});
    return;
  }
  std::set<std::string> names;
  for (const Format::Field& f : format.fields) names.insert(f.name);
  const bool usable =
      names.size() == format.fields.size() &&
      std::all_of(names.begin(), names.end(), [](const std::string& n) { return lang::is_free_name(n); });
  if (lang::is_free_name(format.struct_name)) struct_name_ = format.struct_name;
  const std::size_t count = format.fields.size();
  for (std::size_t k = 0; k < count; ++k) {
    const bool alpha = format.fields[k].name == "a" && k + 1 == count && (count == 2 || count == 4);
    planes_.push_back({usable ? format.fields[k].name : fmt::format("c{}", k), alpha});
  }
}

std::string FilterText::record(const std::string& name, ElementType type) const {
  std::string fields;
  for (const Plane& p : planes_) fields += fmt::format(" {} {};", name_of(type), p.field);
  return fmt::format("struct {} {{{} }}\n", name, fields);
}

std::string FilterText::point_stencil(const std::string& stencil, ElementType type, const std::string& value) const {
  return fmt::format("stencil {}({} X) {{ return {}; }}\n", stencil, vector(type), value);
}

FilterText::AlphaUse FilterText::alpha_use(bool computes) const {
  if (!planes_.back().alpha) return AlphaUse::like_others;
  if (request_.alpha == Alpha::kept || is_measure(info_)) return AlphaUse::kept;
  if (std::abs(sum_of_weights(request_).share) < 1e-5) return AlphaUse::kept;  // a derivative
  if (request_.alpha == Alpha::associated) return AlphaUse::like_others;
  return computes ? AlphaUse::weighing : AlphaUse::chosen;
}

// Products of colour and alpha are continued by the constant of a border too, so they are divided by it. Filtered
// alpha is divided by the sum of the weights, so that what is opaque stays so.
void FilterText::find_scale() {
  for (const Border& b : borders()) {
    if (b.mode != BorderMode::constant || b.value == 0) continue;
    if (scale_ != 1 && scale_ != b.value && !takes_alpha_itself())
      fail(fmt::format("borders constant({}) and constant({}) cannot be used together on an image with alpha", scale_,
                       b.value),
           "give one constant for all dimensions, or let alpha be kept");
    scale_ = b.value;
  }
  const double sum = sum_of_weights(request_).sum;
  if (std::abs(sum - 1) > 1e-5) weights_ = sum;
}

std::string FilterText::alpha_stencils() const {
  const std::string_view real_name = name_of(real_), given_name = name_of(given_), value_name = name_of(value_);
  const bool below = is_float(type_) || type_ == ElementType::i16 || type_ == ElementType::i32;
  const auto number = [&](double v) { return fmt::format("cast<{}>({})", real_name, v); };
  const auto two = [&](const char* stencil, ElementType x, const char* second, ElementType y, std::string value) {
    return fmt::format("stencil {}({} X, {} {}) {{ return {}; }}\n", stencil, vector(x), vector(y), second, value);
  };
  std::string out;
  if (alpha_ == AlphaUse::chosen || with_weights())
    out += two("visible", given_, "A", type_, fmt::format("A > 0 ? X : cast<{}>(0)", given_name));
  if (alpha_ == AlphaUse::chosen) {
    out += two("shown", value_, "A", value_, fmt::format("A > 0 ? X : cast<{}>(0)", value_name));
  }
  if (alpha_ != AlphaUse::weighing) return out;
  if (weights_ != 1) out += point_stencil("as_mean", real_, fmt::format("X * {}", number(1 / weights_)));
  if (masked_) {
    out += two("weighted_certainty", real_, "A", type_, fmt::format("A > 0 ? X * cast<{}>(A) : 0", real_name));
    return out + two("shown", real_, "A", real_, "A <= 0 ? 0 : X");
  }
  if (takes_alpha_itself())
    return out + point_stencil("covering", real_, "X > 0 ? X : 0") + two("shown", real_, "A", real_, "A > 0 ? X : 0");
  const std::string product =
      fmt::format("cast<{0}>(X) * cast<{0}>(A){1}", real_name, scale_ == 1 ? "" : " * " + number(1 / scale_));
  out += two("weighted", type_, "A", type_, below ? fmt::format("A > 0 ? {} : 0", product) : product);
  return out + fmt::format("stencil unweighted({0} P, {0} A, {1} least) {{ return A > least ? P / A{2} : 0; }}\n",
                           vector(real_), real_name, scale_ == 1 ? "" : " * " + number(scale_));
}

// Filtered alpha that is no more is nothing: what rounding leaves, below half a level of integers.
std::string FilterText::least_alpha(bool rounded) const {
  const double part = real_ == ElementType::f32 ? 2e-6 : 1e-12;
  if (!is_float(type_)) return fmt::format("{}", part * ir::integer_limits(type_).hi);
  return rounded ? fmt::format("{} * max({})", part, image_alpha()) : "0";
}

// A number of that type as the language writes it; nothing: it has none such.
std::optional<std::string> FilterText::literal(ElementType type, double value) {
  if (!is_float(type)) {
    const auto [least, most] = ir::integer_limits(type);
    if (!(value >= least && value <= most) || value != std::floor(value)) return {};
    return fmt::format("cast<{}>({}.0)", name_of(type), static_cast<i64>(value));
  }
  const double own = type == ElementType::f64 ? value : static_cast<double>(static_cast<float>(value));
  if (!std::isfinite(own)) return {};
  const std::string digits = fmt::format("{:.17g}", own);  // not those of an integer
  const bool whole = digits.find_first_of(".e") == std::string::npos;
  return fmt::format("cast<{}>({}{})", name_of(type), digits, whole ? ".0" : "");
}

// What stands in the result for what is not known.
std::optional<std::string> FilterText::unknown_result() const {
  if (request_.nodata.empty()) return {};
  return literal(result_, request_.nodata.front());
}

// The certainty of an image in which some values, and perhaps NaN, stand for nothing.
std::string FilterText::known_points() const {
  const bool mask = !request_.mask.empty();
  std::string known = mask ? "certain(M)" : "1";
  for (const double v : request_.nodata)
    if (const auto value = literal(given_, v)) known = fmt::format("X == {} ? 0 : {}", *value, known);
  if (request_.ignore_nan && is_float(given_)) known = fmt::format("X - X == 0 ? ({}) : 0", known);
  return fmt::format("stencil known({} X{}) {{ return cast<{}>({}); }}\n", vector(given_),
                     mask ? fmt::format(", {} M", vector(request_.mask.format().scalar)) : "", name_of(real_), known);
}

std::string FilterText::certainty(const Plane& p) const {
  if (!request_.nodata.empty()) return fmt::format("known({}{})", given(p), request_.mask.empty() ? "" : ", mask");
  if (!request_.ignore_nan) return of_rank("masked") + "(mask)";
  if (request_.mask.empty()) return fmt::format("{}({})", of_rank("number"), given(p));
  return fmt::format("{}({}, mask)", of_rank("masked_number"), given(p));
}

std::string FilterText::applied(const std::string& of) const {
  return fmt::format("{}({}{})", function(), of, has_border(info_) ? ":border" : "");
}

// What computes a part of the result; filtered alpha comes first.
std::string FilterText::statements(const Plane& p, bool rounded) const {
  if (p.alpha && alpha_ == AlphaUse::kept)
    return fmt::format("{} = {};\n", name(p), type_ != result_ ? fmt::format("as_kept({})", image(p)) : image(p));
  const bool weighing = alpha_ == AlphaUse::weighing;
  std::string text = masked_ ? fmt::format("certainty_of_{} = {};\n", name(p), certainty(p)) : "";
  std::string value;
  if (masked_ && weighing && !p.alpha) {
    text += fmt::format("weight_of_{0} = weighted_certainty(certainty_of_{0}, {1});\n", name(p), image_alpha());
    value = fmt::format("shown({}({}, weight_of_{}, 0), filtered_alpha)", function(), given(p), name(p));
  } else if (masked_) {
    value = fmt::format("{}({}, certainty_of_{}, 0)", function(), given(p), name(p));
  } else if (p.alpha || alpha_ == AlphaUse::like_others || alpha_ == AlphaUse::kept) {
    value = applied(given(p));
  } else if (alpha_ == AlphaUse::chosen) {
    value = fmt::format("shown({}, filtered_alpha)", applied(fmt::format("visible({}, {})", given(p), image_alpha())));
  } else if (takes_alpha_itself()) {
    value = fmt::format("shown({}(visible({}, {}):border, covering({}):border), filtered_alpha)",
                        of_rank(weighted_file()), given(p), image_alpha(), given(planes_.back()));
  } else {
    value = fmt::format("unweighted({}, filtered_alpha, {})",
                        applied(fmt::format("weighted({}, {})", image(p), image_alpha())), least_alpha(rounded));
  }
  if (p.alpha && weights_ != 1) value = fmt::format("as_mean({})", value);
  if (p.alpha && alpha_ != AlphaUse::like_others) {
    text += fmt::format("filtered_alpha = {};\n", value);
    value = "filtered_alpha";
  }
  return text + fmt::format("{} = {};\n", name(p),
                            value_ != result_ || unknown_result() ? fmt::format("as_result({})", value) : value);
}

std::string FilterText::cut(const std::vector<i64>& before, const std::vector<i64>& after) const {
  std::string ranges;
  for (std::size_t d = 0; d < before.size(); ++d)
    ranges += fmt::format("{}{}..extent_{}-{}", d > 0 ? ", " : "", before[d], d, after[d] + 1);
  return ranges.empty() ? "" : "[" + ranges + "]";
}

// A number for all axes is given to those of the image; others are 0, which keeps their tables short.
void FilterText::set(CompileOptions& out, const std::string& name, const std::vector<double>& values) const {
  const auto option =
      std::find_if(info_.options.begin(), info_.options.end(), [&](const auto& o) { return o.name == name; });
  if (!option->per_axis) {
    out.parameters[name] = values[0];
    return;
  }
  for (const char axis : std::string("tzyx")) out.parameters[name + "_" + axis] = 0;
  for (int d = 0; d < rank_; ++d) {
    const auto k = static_cast<std::size_t>(d);
    out.parameters[name + "_" + axis_name(rank_, k)] = values.size() == 1 ? values[0] : values[k];
  }
}

}  // namespace tessera::engine
