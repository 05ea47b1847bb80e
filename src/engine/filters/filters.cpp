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
// Conversions are stages of a point, which the plan folds into their neighbours. How far windows reach is not declared
// anywhere: it is measured on the graph, and a second text cuts that much off where the extent is valid or full. Full
// is valid on the image continued by its border as far as windows reach.
//
// A border constant(k) continues the image in the type of the arithmetic: where k is no value of the image's elements,
// they are converted before the filter reads them, also by filters that would take them as they are.
//
// Alpha: colours that are mixed count by it. With weights that sum to 1, F(a x) / F(a) is the colour and F(a) is alpha;
// what the division by F(a) loses where that is next to nothing, is not seen either.
#include "engine/filters/filters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <list>
#include <set>

#include "analyze/footprint.hpp"
#include "base/fork.hpp"
#include "base/hash.hpp"
#include "base/text.hpp"
#include "data/border.hpp"
#include "data/element.hpp"
#include "data/half.hpp"
#include "engine/filters/check.hpp"
#include "engine/program_impl.hpp"
#include "ir/build.hpp"
#include "lang/compile.hpp"
#include "lang/standard_filters.hpp"

namespace tessera::engine {
namespace {

constexpr std::size_t most_kept = 64;  // programs

// Of sums that may go through Fourier transforms. Those of certainties are taken in double then: where a window holds
// little of what is known, what transforms round would stand beside it (docs/convolution.md, "Accuracy").
// A plan looks at such ways from 26 terms on, of all that a stage reads (rewrite/sums/tiles.cpp).
constexpr i64 least_rounded_terms = 20;

[[noreturn]] void fail(std::string message, std::string help = {}) {
  throw Error(ErrorClass::argument, std::move(message), {}, std::move(help));
}

std::string axis_name(int rank, std::size_t dimension) {
  static const std::string names = "tzyx";
  return {names[names.size() - static_cast<std::size_t>(rank) + dimension]};
}

// One part of the image: the only one, or a field.
struct Plane {
  std::string field;  // "" for scalars
  bool alpha = false;
};

// What is done with alpha. A field like others: nothing special, as where there is none. Chosen: by a filter that
// computes nothing, but chooses one of the values of a window.
enum class AlphaUse { like_others, kept, weighing, chosen };

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

// Rounding to half precision would give one pass of a filter another constant than the next.
bool continues_exactly(ElementType type, double value) {
  if (type == ElementType::f16) return continues(type, value) && half_to_float(double_to_half(value)) == value;
  return continues(type, value);
}

double largest_of(ElementType type) {
  switch (type) {
    case ElementType::boolean:
      return 1;
    case ElementType::u8:
      return 255;
    case ElementType::i16:
      return 32767;
    case ElementType::u16:
      return 65535;
    case ElementType::i32:
      return 2147483647.0;
    case ElementType::u32:
      return 4294967295.0;
    default:
      return 0;
  }
}

class Driver {
 public:
  Driver(const FilterRequest& request, const FilterInfo& info, const Format& format, int rank)
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
    if (computes) types_["real"] = real_;
    const ElementType usual = info.keeps_type ? stored
                              : real_ == ElementType::f64 && (image == ElementType::f64 || request.arithmetic)
                                  ? ElementType::f64
                                  : ElementType::f32;
    result_ = request.type.value_or(usual);
  }

  // `before`, `after`: points to cut off; empty: none. `rounded`: certainties and alpha are sums of many terms.
  std::string text(const std::vector<i64>& before, const std::vector<i64>& after, bool rounded) const {
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
    out += fmt::format("parameter {};\n{} image[{}];\n", extents,
                       planes_[0].field.empty() ? vector(type_) : fmt::format("vector#{} {}", rank_, struct_name_),
                       extents);
    if (!request_.mask.empty()) out += fmt::format("{} mask[{}];\n", vector(request_.mask.format().scalar), extents);
    std::string parts;
    for (const Plane& p : planes_)
      if (p.alpha) out += statements(p, rounded);
    for (const Plane& p : planes_) {
      if (!p.alpha) out += statements(p, rounded);
      parts += fmt::format("{}{}{}", parts.empty() ? "" : ", ", name(p), cut(before, after));
    }
    return out +
           (planes_[0].field.empty() ? "return " + parts : "return struct " + result_struct() + "(" + parts + ")") +
           ";\n";
  }

  CompileOptions options() const {
    CompileOptions out;
    for (const auto& [name, numbers] : request_.numbers) set(out, name, numbers.values);
    if (has_border(info_)) out.borders["border"] = borders();
    out.tables = request_.tables;
    out.types = types_;
    return out;
  }

  bool keeps() const { return alpha_ == AlphaUse::kept; }
  ElementType result() const { return result_; }
  // Is there a least alpha that counts, where sums may be rounded?
  bool asks_for_least() const {
    return !masked_ && (alpha_ == AlphaUse::weighing && is_float(type_) && !takes_alpha_itself());
  }
  // Sums through transforms whatever their windows are.
  bool in_frequency() const { return !has_border(info_); }

  std::vector<Border> borders() const { return borders_of(request_, rank_); }
  std::optional<ElementType> widened(const Format& format) const {
    const ElementType image = format.is_struct() ? format.fields[0].type : format.scalar;
    return type_ != image ? std::optional(type_) : std::nullopt;
  }

 private:
  static lang::CompileInput import_of(const std::string& name) {
    lang::CompileInput input;
    input.text = fmt::format("import \"{}.forma\";", name);
    return input;
  }

  std::string file() const { return (masked_ ? "masked_" : "") + info_.name; }
  std::string of_rank(const std::string& name) const {
    static const char* const suffixes[] = {"1d", "", "3d", "4d"};
    return name + suffixes[rank_ - 1];
  }
  std::string function() const { return of_rank(file()); }

  // Fields keep their names where the language takes them.
  void name_planes(const Format& format) {
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

  std::string result_struct() const { return type_ == result_ ? struct_name_ : "result_" + struct_name_; }

  std::string record(const std::string& name, ElementType type) const {
    std::string fields;
    for (const Plane& p : planes_) fields += fmt::format(" {} {};", name_of(type), p.field);
    return fmt::format("struct {} {{{} }}\n", name, fields);
  }

  std::string vector(ElementType type) const { return fmt::format("vector#{} {}", rank_, name_of(type)); }
  static std::string name(const Plane& p) { return p.field.empty() ? "result" : "result_" + p.field; }
  static std::string image(const Plane& p) { return p.field.empty() ? "image" : "image." + p.field; }
  std::string image_alpha() const { return image(planes_.back()); }

  std::string point_stencil(const std::string& stencil, ElementType type, const std::string& value) const {
    return fmt::format("stencil {}({} X) {{ return {}; }}\n", stencil, vector(type), value);
  }

  // ---- alpha -------------------------------------------------------------------------------------------------------

  AlphaUse alpha_use(bool computes) const {
    if (!planes_.back().alpha) return AlphaUse::like_others;
    if (request_.alpha == Alpha::kept || !info_.keeps_type) return AlphaUse::kept;
    if (std::abs(sum_of_weights(request_).share) < 1e-5) return AlphaUse::kept;  // a derivative
    if (request_.alpha == Alpha::associated) return AlphaUse::like_others;
    return computes ? AlphaUse::weighing : AlphaUse::chosen;
  }

  // Products of colour and alpha are continued by the constant of a border too, so they are divided by it. Filtered
  // alpha is divided by the sum of the weights, so that what is opaque stays so.
  void find_scale() {
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

  std::string weighted_file() const { return "weighted_" + info_.name; }
  // Filters whose weights hang on the image have a form of their own for colours with alpha.
  bool takes_alpha_itself() const { return lang::find_standard_filter(weighted_file() + ".forma") != nullptr; }
  bool with_weights() const { return alpha_ == AlphaUse::weighing && !masked_ && takes_alpha_itself(); }

  std::string alpha_stencils() const {
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
  std::string least_alpha(bool rounded) const {
    const double part = real_ == ElementType::f32 ? 2e-6 : 1e-12;
    if (!is_float(type_)) return fmt::format("{}", part * largest_of(type_));
    return rounded ? fmt::format("{} * max({})", part, image_alpha()) : "0";
  }

  // ---- statements --------------------------------------------------------------------------------------------------

  std::string given(const Plane& p) const { return type_ == given_ ? image(p) : fmt::format("as_given({})", image(p)); }

  // A number of that type as the language writes it; nothing: it has none such.
  static std::optional<std::string> literal(ElementType type, double value) {
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
  std::optional<std::string> unknown_result() const {
    if (request_.nodata.empty()) return {};
    return literal(result_, request_.nodata.front());
  }

  // The certainty of an image in which some values, and perhaps NaN, stand for nothing.
  std::string known_points() const {
    const bool mask = !request_.mask.empty();
    std::string known = mask ? "certain(M)" : "1";
    for (const double v : request_.nodata)
      if (const auto value = literal(given_, v)) known = fmt::format("X == {} ? 0 : {}", *value, known);
    if (request_.ignore_nan && is_float(given_)) known = fmt::format("X - X == 0 ? ({}) : 0", known);
    return fmt::format("stencil known({} X{}) {{ return cast<{}>({}); }}\n", vector(given_),
                       mask ? fmt::format(", {} M", vector(request_.mask.format().scalar)) : "", name_of(real_), known);
  }

  std::string certainty(const Plane& p) const {
    if (!request_.nodata.empty()) return fmt::format("known({}{})", given(p), request_.mask.empty() ? "" : ", mask");
    if (!request_.ignore_nan) return of_rank("masked") + "(mask)";
    if (request_.mask.empty()) return fmt::format("{}({})", of_rank("number"), given(p));
    return fmt::format("{}({}, mask)", of_rank("masked_number"), given(p));
  }

  std::string applied(const std::string& of) const {
    return fmt::format("{}({}{})", function(), of, has_border(info_) ? ":border" : "");
  }

  // What computes a part of the result; filtered alpha comes first.
  std::string statements(const Plane& p, bool rounded) const {
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
      value =
          fmt::format("shown({}, filtered_alpha)", applied(fmt::format("visible({}, {})", given(p), image_alpha())));
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

  std::string cut(const std::vector<i64>& before, const std::vector<i64>& after) const {
    std::string ranges;
    for (std::size_t d = 0; d < before.size(); ++d)
      ranges += fmt::format("{}{}..extent_{}-{}", d > 0 ? ", " : "", before[d], d, after[d] + 1);
    return ranges.empty() ? "" : "[" + ranges + "]";
  }

  // A number for all axes is given to those of the image; others are 0, which keeps their tables short.
  void set(CompileOptions& out, const std::string& name, const std::vector<double>& values) const {
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

  const FilterRequest& request_;
  const FilterInfo& info_;
  int rank_;
  bool masked_;
  // Of the image, of what the filter takes, computes in and gives, and of the result.
  ElementType type_, given_, real_, value_, result_;
  bool takes_elements_ = false;
  std::map<std::string, ElementType> types_;
  std::vector<Plane> planes_;
  AlphaUse alpha_ = AlphaUse::like_others;
  double scale_ = 1;    // by which products of colour and alpha are divided
  double weights_ = 1;  // their sum
  std::string struct_name_ = "pixel";
};

// How far the outputs of a program read around their own point, over all ways through its stages.
void measure_reach(const ir::Graph& graph, int rank, std::vector<i64>& before, std::vector<i64>& after) {
  struct Reach {
    bool wanted = false;
    std::vector<i64> before, after;
  };
  const auto dimensions = static_cast<std::size_t>(rank);
  std::vector<Reach> of(graph.stage_count(), {false, std::vector<i64>(dimensions), std::vector<i64>(dimensions)});
  for (const ir::Output& o : graph.outputs)
    for (ir::StageId s : o.stages) of[s].wanted = true;
  before.assign(dimensions, 0);
  after.assign(dimensions, 0);
  for (ir::StageId s = static_cast<ir::StageId>(graph.stage_count()); s-- > 0;) {
    if (!of[s].wanted) continue;
    for (std::size_t d = 0; d < dimensions; ++d) {
      before[d] = std::max(before[d], of[s].before[d]);
      after[d] = std::max(after[d], of[s].after[d]);
    }
    for (const analyze::Footprint& f : analyze::footprints(graph, s)) {
      Reach& r = of[f.producer];
      r.wanted = true;
      for (std::size_t d = 0; d < dimensions; ++d) {
        r.before[d] = std::max(r.before[d], of[s].before[d] - f.dims[d].lo);
        r.after[d] = std::max(r.after[d], of[s].after[d] + f.dims[d].hi);
      }
    }
  }
}

Program compiled(const std::string& text, const CompileOptions& options, const FilterRequest& request) {
  try {
    return Program::from_text(text, options, request.name);
  } catch (const Error& e) {
    if (e.error_class() != ErrorClass::compile || e.diagnostics().empty()) throw;
    fail(fmt::format("filter {} cannot be made with these options: {}", base::quoted(request.name),
                     e.diagnostics()[0].message));
  }
}

std::string key_of(const FilterRequest& request, const Format& format, int rank) {
  base::Hasher hash;
  hash.text(request.name).number(rank).number(static_cast<i64>(request.extent)).number(request.ignore_nan ? 1 : 0);
  hash.number(static_cast<i64>(request.alpha)).number(request.arithmetic ? static_cast<i64>(*request.arithmetic) : -1);
  hash.text(request.mask.empty() ? "" : request.mask.format().name());
  hash.number(request.type ? static_cast<i64>(*request.type) : -1).number(static_cast<i64>(format.scalar));
  for (const Format::Field& f : format.fields) hash.text(f.name).number(static_cast<i64>(f.type));
  for (const auto& [name, numbers] : request.numbers) {
    hash.text(name);
    for (double v : numbers.values) hash.text(fmt::format("{}", v));
  }
  for (const Border& b : request.border.modes) hash.text(lang::text_of(b));
  for (const double v : request.nodata) hash.text(fmt::format("nodata {}", v));
  for (const auto& [name, table] : request.tables) {
    hash.text(name).text(table.format().name()).text(to_string(table.shape()));
    if (table.empty()) continue;
    const Array host = table.to_host();
    const Array dense = host.contiguous() ? host : host.clone();
    hash.bytes(
        {static_cast<const std::byte*>(dense.data()), static_cast<std::size_t>(dense.count()) * dense.format().size()});
  }
  return base::to_hex(hash.finish());
}

// May sums of this window go through Fourier transforms? Those of gaussian and box are taken an axis at a time.
bool takes_many_terms(const Filter& filter, bool axis_by_axis) {
  i64 all = 1, most = 1;
  for (std::size_t d = 0; d < filter.before.size(); ++d) {
    const i64 terms = filter.before[d] + filter.after[d] + 1;
    all *= terms;
    most = std::max(most, terms);
  }
  return (axis_by_axis ? most : all) >= least_rounded_terms;
}

// The program of a filter with certainties, which knows the filter without.
Program with_certainty(const Filter& filter, const FilterRequest& request, const Format& format, int rank, bool keeps,
                       std::optional<Program> precise) {
  FilterRequest plain = request;
  plain.mask = {};
  plain.ignore_nan = false;
  auto certainty = std::make_unique<Certainty>(make_filter(plain, format, rank)->program);
  if (!request.mask.empty()) certainty->mask = 1;
  certainty->finite = request.ignore_nan;
  certainty->keeps = keeps;
  certainty->before = filter.before;
  certainty->after = filter.after;
  certainty->first = filter.extent == Extent::same ? std::vector<i64>(filter.before.size(), 0) : filter.before;
  certainty->borders = filter.borders;
  const Program::Impl& impl = filter.program.impl();
  return make_program(impl.graph, impl.warnings, std::move(certainty),
                      precise ? std::make_unique<const Program>(std::move(*precise)) : nullptr);
}

Program with_precise(const Program& program, Program precise) {
  const Program::Impl& impl = program.impl();
  return make_program(impl.graph, impl.warnings, {}, std::make_unique<const Program>(std::move(precise)));
}

std::shared_ptr<const Filter> build(const FilterRequest& request, const Format& format, int rank) {
  const FilterInfo& info = filter_info(request.name);
  check_request(request, info, format, rank);
  const Driver driver(request, info, format, rank);
  const CompileOptions options = driver.options();
  std::string text = driver.text({}, {}, false);
  Filter filter{
      compiled(text, options, request), text, {}, {}, request.extent, driver.borders(), driver.widened(format)};
  if (is_masked(request) && request.mask.empty())  // of what is not there nothing is known
    for (Border& b : filter.borders)
      if (b.mode == BorderMode::constant)
        b.value = request.nodata.empty() ? std::numeric_limits<double>::quiet_NaN() : request.nodata.front();
  measure_reach(filter.program.impl().graph, rank, filter.before, filter.after);
  const bool whole = request.extent == Extent::same;
  const bool many = driver.in_frequency() || takes_many_terms(filter, request.tables.empty());
  const bool rounded = driver.asks_for_least() && many, wide = is_masked(request) && many && !request.arithmetic;
  FilterRequest doubles = request;
  doubles.arithmetic = ElementType::f64, doubles.type = driver.result();
  const auto take = [&](const Driver& own, std::string& written) {
    written = own.text(whole ? std::vector<i64>{} : filter.before, whole ? std::vector<i64>{} : filter.after, rounded);
    return compiled(written, own.options(), request);
  };
  if (!whole || rounded || wide)
    filter.program = take(Driver(wide ? doubles : request, info, format, rank), filter.text);
  std::optional<Program> precise;
  if (is_masked(request) && !wide && !request.arithmetic) {
    std::string written;
    precise = take(Driver(doubles, info, format, rank), written);
  }
  // (Blocks look for masks and for NaN.)
  if (is_masked(request) && request.nodata.empty())
    filter.program = with_certainty(filter, request, format, rank, driver.keeps(), std::move(precise));
  else if (precise)
    filter.program = with_precise(filter.program, std::move(*precise));
  return std::make_shared<const Filter>(std::move(filter));
}

}  // namespace

std::shared_ptr<const Filter> make_filter(const FilterRequest& request, const Format& format, int rank) {
  static base::Mutex mutex;
  static std::list<std::pair<std::string, std::shared_ptr<const Filter>>> kept;  // the last one used is the first
  const std::string key = key_of(request, format, rank);
  const auto find = [&] {
    return std::find_if(kept.begin(), kept.end(), [&](const auto& k) { return k.first == key; });
  };
  {
    const base::Lock lock(mutex, kept);
    if (const auto found = find(); found != kept.end()) {
      kept.splice(kept.begin(), kept, found);
      return found->second;
    }
  }
  std::shared_ptr<const Filter> made = build(request, format, rank);  // others may look meanwhile
  const base::Lock lock(mutex, kept);
  if (const auto found = find(); found != kept.end()) return found->second;
  kept.emplace_front(key, made);
  if (kept.size() > most_kept) kept.pop_back();
  return made;
}

Shape Filter::input_shape(const Shape& image) const {
  Shape shape = image;
  if (extent == Extent::full)
    for (std::size_t d = 0; d < shape.size(); ++d) shape[d] += 2 * (before[d] + after[d]);
  return shape;
}

Region Filter::place(const Shape& image) const {
  Region region;
  for (const i64 n : image)
    if (n < 1) fail(fmt::format("the image has shape {}; every extent must be at least 1", to_string(image)));
  for (std::size_t d = 0; d < image.size(); ++d) {
    const i64 sign = extent == Extent::valid ? 1 : extent == Extent::full ? -1 : 0;
    // A point of the full result before the first one is touched by what its window reaches ahead.
    region.begin.push_back(sign * (extent == Extent::full ? after[d] : before[d]));
    region.end.push_back(image[d] - sign * (extent == Extent::full ? before[d] : after[d]));
    if (region.end[d] <= region.begin[d])
      fail(fmt::format("no point of an image of {} has its window inside: it takes {} points in dimension {}",
                       to_string(image), before[d] + after[d] + 1, d),
           "the extents same and full take windows of any size");
  }
  return region;
}

Array Filter::converted(const Array& image) const {
  return widened ? in_type(image, *widened) : image;
}

Array Filter::input(const Array& image) const {
  if (extent != Extent::full) return image;
  std::vector<i64> margin;
  for (std::size_t d = 0; d < before.size(); ++d) margin.push_back(before[d] + after[d]);
  return continued(image, borders, margin);
}

}  // namespace tessera::engine
