// Values of metadata files; see json.hpp.
#include "io/zarr/json.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/text.hpp"
#include "tessera/error.hpp"

namespace tessera::io::zarr {
namespace {

constexpr std::size_t most_dimensions = 32;  // as in NumPy

}  // namespace

void fail(const std::string& path, const std::string& reason, std::string help) {
  throw Error(ErrorClass::io, fmt::format("cannot read {} as Zarr: {}", base::quoted(path, 1024), reason), {},
              std::move(help));
}

nlohmann::json parse_json(std::string_view text, const std::string& path) {
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::parse_error& e) {
    fail(path, fmt::format("its JSON is damaged at byte {}", e.byte));
  } catch (const nlohmann::json::exception&) {  // a number that no double holds
    fail(path, "its JSON is damaged");
  }
}

void Value::wrong(const std::string& why) const {
  fail(*path_, fmt::format("{} {}", name_.empty() ? "it" : fmt::format("its {}", base::quoted(name_)), why));
}

Value Value::at(std::string_view key) const {
  std::optional<Value> value = find(key);
  if (!value) wrong(fmt::format("lacks {}", base::quoted(key)));
  return *std::move(value);
}

std::optional<Value> Value::find(std::string_view key) const {
  if (!json_->is_object()) wrong(fmt::format("is {}, expected an object", json_->type_name()));
  const auto found = json_->find(key);
  if (found == json_->end() || found->is_null()) return std::nullopt;
  return Value(*found, *path_, name_.empty() ? std::string(key) : fmt::format("{}.{}", name_, key));
}

std::vector<Value> Value::list() const {
  if (!json_->is_array()) wrong(fmt::format("is {}, expected a list", json_->type_name()));
  std::vector<Value> values;
  for (std::size_t i = 0; i < json_->size(); ++i)
    values.emplace_back((*json_)[i], *path_, fmt::format("{}[{}]", name_, i));
  return values;
}

std::string Value::text() const {
  if (!json_->is_string()) wrong(fmt::format("is {}, expected a text", json_->type_name()));
  return json_->get<std::string>();
}

i64 Value::integer(i64 least, i64 most) const {
  const bool fits =
      json_->is_number_integer() && (!json_->is_number_unsigned() || json_->get<std::uint64_t>() <= INT64_MAX);
  const i64 value = fits ? json_->get<i64>() : 0;
  if (!fits || value < least || value > most) {
    const std::string found = json_->is_number() ? json_->dump() : json_->type_name();
    wrong(fmt::format("is {}, expected a whole number from {} to {}", found, least,
                      most == most_points ? "2^62" : std::to_string(most)));
  }
  return value;
}

bool Value::boolean() const {
  if (!json_->is_boolean()) wrong(fmt::format("is {}, expected true or false", json_->type_name()));
  return json_->get<bool>();
}

Shape Value::extents(i64 least) const {
  Shape shape;
  const std::vector<Value> values = list();
  if (values.size() > most_dimensions)
    wrong(fmt::format("has {} dimensions, expected up to {}", values.size(), most_dimensions));
  for (const Value& value : values) shape.push_back(value.integer(least, most_points));
  return shape;
}

}  // namespace tessera::io::zarr
