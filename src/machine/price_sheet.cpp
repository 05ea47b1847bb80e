// See price_sheet.hpp.
#include "machine/price_sheet.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/hash.hpp"

namespace tessera::machine {

namespace {

constexpr const char* format_name = "tessera prices";
constexpr double most = 1e9;  // nanoseconds: a second a point

std::string text_at(const nlohmann::json& j, const char* key) {
  const auto it = j.find(key);
  return it != j.end() && it->is_string() ? it->get<std::string>() : "";
}

}  // namespace

std::string price_set() {
  base::Hasher hasher;
  for (const PriceName& p : price_names()) hasher.text(p.name).text(p.unit).text(p.meaning);
  return base::to_hex(hasher.finish()).substr(0, 16);
}

std::string to_json(const PriceSheet& sheet) {
  nlohmann::ordered_json prices;
  for (const PriceName& p : price_names()) prices[p.name] = sheet.prices.*p.value;
  const nlohmann::ordered_json j = {{"format", format_name},  {"set", price_set()},         {"target", sheet.target},
                                    {"device", sheet.device}, {"measured", sheet.measured}, {"prices", prices}};
  return j.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::optional<PriceSheet> price_sheet_of(std::string_view text, std::string& reason) {
  const auto refuse = [&](std::string why) {
    reason = std::move(why);
    return std::nullopt;
  };
  const nlohmann::json j = nlohmann::json::parse(text, nullptr, false);
  if (j.is_discarded()) return refuse("it is not JSON");
  if (!j.is_object() || text_at(j, "format") != format_name) return refuse("it is no file of prices");
  if (text_at(j, "set") != price_set()) return refuse("it was measured by another version of tessera");
  const auto numbers = j.find("prices");
  if (numbers == j.end() || !numbers->is_object()) return refuse("it has no prices");
  PriceSheet sheet{text_at(j, "target"), text_at(j, "device"), text_at(j, "measured"), {}};
  for (const PriceName& p : price_names()) {
    const auto it = numbers->find(p.name);
    if (it == numbers->end() || !it->is_number()) return refuse(fmt::format("the price '{}' is missing", p.name));
    const double value = it->get<double>();
    if (!(value > 0) || value > most)
      return refuse(fmt::format("the price '{}' is {}, expected a number above 0", p.name, value));
    sheet.prices.*p.value = value;
  }
  sheet.prices.measured = true;
  return sheet;
}

}  // namespace tessera::machine
