// The program that a filter by name is: the text that imports it, declares what it takes, and converts.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/filters/check.hpp"
#include "lang/compile.hpp"
#include "lang/standard_filters.hpp"
#include "tessera/filters.hpp"

namespace tessera::engine {

// Refers to the request and the filter.
class FilterText {
 public:
  FilterText(const FilterRequest& request, const FilterInfo& info, const Format& format, int rank);

  // `before`, `after`: points to cut off; empty: none. `rounded`: certainties and alpha are sums of many terms.
  std::string text(const std::vector<i64>& before, const std::vector<i64>& after, bool rounded) const;
  CompileOptions options() const;
  bool keeps() const { return alpha_ == AlphaUse::kept; }
  ElementType result() const { return result_; }
  // Is there a least alpha that counts, where sums may be rounded?
  bool asks_for_least() const;
  // Sums through transforms whatever their windows are.
  bool in_frequency() const { return !has_border(info_); }

  std::vector<Border> borders() const { return borders_of(request_, rank_); }
  std::optional<ElementType> widened(const Format& format) const;

 private:
  // One part of the image: the only one, or a field.
  struct Plane {
    std::string field;  // "" for scalars
    bool alpha = false;
  };
  // What is done with alpha. A field like others: nothing special, as where there is none. Chosen: by a filter that
  // computes nothing, but chooses one of the values of a window.
  enum class AlphaUse { like_others, kept, weighing, chosen };

  static lang::CompileInput import_of(const std::string& name);
  std::string file() const {
    return (masked_ ? "masked_" : request_.tables.contains("footprint") ? "footprint_" : "") + info_.name;
  }
  std::string of_rank(const std::string& name) const;
  std::string function() const { return of_rank(file()); }

  void name_planes(const Format& format);
  std::string result_struct() const { return type_ == result_ ? struct_name_ : "result_" + struct_name_; }

  std::string record(const std::string& name, ElementType type) const;
  std::string vector(ElementType type) const {
    return "vector#" + std::to_string(rank_) + " " + std::string(name_of(type));
  }
  static std::string name(const Plane& p) { return p.field.empty() ? "result" : "result_" + p.field; }
  static std::string image(const Plane& p) { return p.field.empty() ? "image" : "image." + p.field; }
  std::string image_alpha() const { return image(planes_.back()); }

  std::string point_stencil(const std::string& stencil, ElementType type, const std::string& value) const;

  // Alpha.
  AlphaUse alpha_use(bool computes) const;
  void find_scale();
  std::string weighted_file() const { return "weighted_" + info_.name; }
  // Filters whose weights hang on the image have a form of their own for colours with alpha.
  bool takes_alpha_itself() const { return lang::find_standard_filter(weighted_file() + ".forma") != nullptr; }
  bool with_weights() const { return alpha_ == AlphaUse::weighing && !masked_ && takes_alpha_itself(); }

  std::string alpha_stencils() const;
  std::string least_alpha(bool rounded) const;

  // Statements.
  std::string given(const Plane& p) const { return type_ == given_ ? image(p) : "as_given(" + image(p) + ")"; }

  static std::optional<std::string> literal(ElementType type, double value);
  std::optional<std::string> unknown_result() const;
  std::string known_points() const;
  std::string certainty(const Plane& p) const;
  std::string applied(const std::string& of) const;
  std::string statements(const Plane& p, bool rounded) const;
  std::string cut(const std::vector<i64>& before, const std::vector<i64>& after) const;
  void set(CompileOptions& out, const std::string& name, const std::vector<double>& values) const;

  const FilterRequest& request_;
  const FilterInfo& info_;
  int rank_;
  bool masked_;
  // Of the image, of what the filter takes, computes in and gives, and of the result.
  ElementType type_, given_, real_, value_, result_;
  bool takes_elements_ = false;
  std::map<std::string, ElementType> types_;
  std::map<std::string, double> levels_;  // what hangs on the type: of filters that count values, or make white
  std::vector<Plane> planes_;
  AlphaUse alpha_ = AlphaUse::like_others;
  double scale_ = 1;    // by which products of colour and alpha are divided
  double weights_ = 1;  // their sum
  std::string struct_name_ = "pixel";
};

}  // namespace tessera::engine
