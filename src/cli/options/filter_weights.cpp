// What parses as numbers is weights, whatever files there are: `./1` names a file.
#include "cli/options/filter_weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {
namespace {

[[noreturn]] void fail(const std::string& option, const std::string& text, const std::string& why) {
  throw Error(ErrorClass::argument, fmt::format("--{} {} cannot be used: {}", option, base::quoted(text), why), {},
              "write weights as 1,2,1 or '1,2,1; 2,4,2; 1,2,1', or name a file");
}

// A number or a fraction, "1/16".
std::optional<double> weight_of(std::string_view text) {
  const std::size_t bar = text.find('/');
  if (bar == std::string_view::npos) return base::parse_number(base::trim(text));
  const auto over = base::parse_number(base::trim(text.substr(0, bar))),
             under = base::parse_number(base::trim(text.substr(bar + 1)));
  if (!over || !under || *under == 0) return std::nullopt;
  return *over / *under;
}

}  // namespace

Array parse_weights(const std::string& option, const std::string& text) {
  std::vector<double> values;
  std::vector<i64> counts;  // of rows
  std::optional<std::string> foreign;
  bool some = false;
  for (const std::string_view row : base::split(text, ';')) {
    counts.push_back(0);
    for (const std::string_view part : base::split(row, ',')) {
      const std::optional<double> weight = weight_of(part);
      some = some || weight;
      if (weight)
        values.push_back(*weight);
      else if (!foreign)
        foreign = std::string(base::trim(part));
      ++counts.back();
    }
  }
  if (foreign) {
    std::error_code ec;
    if (!some || text.find_first_of(",;") == std::string::npos || std::filesystem::exists(text, ec)) return {};
    fail(option, text, fmt::format("{} is no number", base::quoted(*foreign)));
  }
  for (const i64 n : counts)
    if (n != counts[0]) fail(option, text, fmt::format("its rows have {} and {} weights", counts[0], n));
  const Shape shape = counts.size() == 1 ? Shape{counts[0]} : Shape{static_cast<i64>(counts.size()), counts[0]};
  Array weights(ElementType::f64, shape);
  std::copy(values.begin(), values.end(), weights.as<double>());
  return weights;
}

Array of_rank(const Array& weights, int rank) {
  if (weights.rank() >= rank) return weights;
  Shape shape(static_cast<std::size_t>(rank - weights.rank()), 1);
  shape.insert(shape.end(), weights.shape().begin(), weights.shape().end());
  Array result(weights.format(), shape);
  std::copy(weights.as<double>(), weights.as<double>() + weights.count(), result.as<double>());
  return result;
}

}  // namespace tessera::cli
