// Texts of metadata to descriptions; see metadata.hpp. Codecs are read in codec_list.cpp.
#include "io/zarr/metadata.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "base/memory.hpp"
#include "base/text.hpp"
#include "data/element.hpp"
#include "io/zarr/codec_list.hpp"
#include "io/zarr/json.hpp"

namespace tessera::io::zarr {
namespace {

// However much memory is allowed: a chunk that declares more is a lie.
constexpr double absurd = 0x1p40;

constexpr std::pair<std::string_view, ElementType> v3_types[] = {
    {"bool", ElementType::boolean}, {"uint8", ElementType::u8},    {"int16", ElementType::i16},
    {"uint16", ElementType::u16},   {"int32", ElementType::i32},   {"uint32", ElementType::u32},
    {"float16", ElementType::f16},  {"float32", ElementType::f32}, {"float64", ElementType::f64}};
constexpr std::pair<std::string_view, ElementType> v2_types[] = {
    {"b1", ElementType::boolean}, {"u1", ElementType::u8},  {"i2", ElementType::i16},
    {"u2", ElementType::u16},     {"i4", ElementType::i32}, {"u4", ElementType::u32},
    {"f2", ElementType::f16},     {"f4", ElementType::f32}, {"f8", ElementType::f64}};

template <std::size_t n>
ElementType type_of(const std::pair<std::string_view, ElementType> (&known)[n], std::string_view name,
                    const Value& value) {
  std::vector<std::string> names;
  for (const auto& [text, type] : known) {
    if (text == name) return type;
    names.emplace_back(text);
  }
  value.wrong(fmt::format("is {}, expected {}", base::quoted(name, 40), base::list_of(names)));
}

// ---- extents -----------------------------------------------------------------------------------------------------

void check_extents(const ArrayMetadata& array, const Value& all, const ReadOptions& options) {
  if (array.chunk.size() != array.shape.size())
    all.wrong(fmt::format("has {} dimensions, but its chunks have {}", array.shape.size(), array.chunk.size()));
  const auto size = static_cast<double>(size_of(array.type));
  double elements = size, chunk = size;
  for (const i64 extent : array.shape) elements *= static_cast<double>(std::max<i64>(extent, 1));
  for (const i64 extent : array.unit) chunk *= static_cast<double>(extent);
  if (elements > static_cast<double>(most_points))
    all.wrong(fmt::format("declares {} elements of {}, more than any file holds: it is damaged", to_string(array.shape),
                          name_of(array.type)));
  const std::string declared = fmt::format("declares chunks of {} elements of {}, {}", to_string(array.unit),
                                           name_of(array.type), base::format_bytes(chunk));
  if (chunk > absurd) all.wrong(declared + ": it is damaged");
  double places = 2 * sizeof(std::uint64_t);
  for (std::size_t d = 0; d < array.chunk.size(); ++d) places *= static_cast<double>(array.chunk[d] / array.unit[d]);
  const std::string limit = options.max_bytes > 0
                                ? "the limit is " + base::format_bytes(static_cast<double>(options.max_bytes))
                                : base::memory_limit_sentence();
  const char* const help = "allow more with --memory SIZE (ReadOptions::max_bytes) if the file is what you think it is";
  const auto most = static_cast<double>(options.most_bytes());
  if (chunk > most) fail(all.path(), fmt::format("it {}; {}", declared, limit), help);
  if (array.shards && places > std::min(most, absurd))
    fail(all.path(),
         fmt::format("the index of a shard of {} elements takes {}; {}", to_string(array.chunk),
                     base::format_bytes(places), limit),
         help);
}

// ---- the fill value ----------------------------------------------------------------------------------------------

constexpr int hex_digits_a_byte = 2;

// "0x7fc00000": the bits of an element, highest first.
bool bits_of(std::string_view text, std::vector<std::byte>& element) {
  if (!text.starts_with("0x") || text.size() != 2 + hex_digits_a_byte * element.size()) return false;
  for (std::size_t i = 0; i < element.size(); ++i) {
    int value = 0;
    for (const char c : text.substr(2 + hex_digits_a_byte * i, hex_digits_a_byte)) {
      const std::size_t digit = std::string_view("0123456789abcdef").find(base::to_lower(std::string_view(&c, 1)));
      if (digit == std::string_view::npos) return false;
      value = value * 16 + static_cast<int>(digit);
    }
    element[element.size() - 1 - i] = static_cast<std::byte>(value);
  }
  return true;
}

std::string bits_in_text(const std::vector<std::byte>& element) {
  std::string text = "0x";
  for (auto b = element.rbegin(); b != element.rend(); ++b) text += fmt::format("{:02x}", std::to_integer<int>(*b));
  return text;
}

bool holds(ElementType type, double value) {
  switch (type) {
    case ElementType::boolean:
      return value == 0 || value == 1;
    case ElementType::u8:
      return value >= 0 && value <= 0xff;
    case ElementType::i16:
      return value >= -0x8000 && value <= 0x7fff;
    case ElementType::u16:
      return value >= 0 && value <= 0xffff;
    case ElementType::i32:
      return value >= -0x1p31 && value < 0x1p31;
    case ElementType::u32:
      return value >= 0 && value < 0x1p32;
    default:
      return true;
  }
}

// Null and no value at all are 0, as writers leave open what stands there.
std::vector<std::byte> fill_of(const Value& all, ElementType type) {
  std::vector<std::byte> element(size_of(type));
  const std::optional<Value> said = all.find("fill_value");
  if (!said) return element;
  const nlohmann::json& json = said->json();
  double value = 0;
  if (json.is_boolean()) {
    value = json.get<bool>() ? 1 : 0;
  } else if (json.is_number()) {
    value = json.get<double>();
  } else if (json.is_string() && is_float(type)) {
    const std::string text = json.get<std::string>();
    if (bits_of(text, element)) return element;
    if (text == "NaN")
      value = std::numeric_limits<double>::quiet_NaN();
    else if (text == "Infinity" || text == "-Infinity")
      value = std::copysign(std::numeric_limits<double>::infinity(), text[0] == '-' ? -1.0 : 1.0);
    else
      said->wrong(fmt::format("is {}, expected a number, NaN, Infinity, -Infinity or its {} bits as 0x and digits",
                              base::quoted(text, 40), 8 * element.size()));
  } else {
    said->wrong(fmt::format("is {}, expected a number", json.type_name()));
  }
  if (!is_float(type) && (value != std::floor(value) || !holds(type, value)))
    said->wrong(fmt::format("is {}, which is no {}", value, name_of(type)));
  store_element(type, element.data(), value);
  return element;
}

// ---- version 3 ---------------------------------------------------------------------------------------------------

constexpr std::string_view v3_keys[] = {"zarr_format",         "node_type",  "shape",  "data_type",  "chunk_grid",
                                        "chunk_key_encoding",  "fill_value", "codecs", "attributes", "dimension_names",
                                        "storage_transformers"};

// What a reader does not know it may pass over where the file says so.
void check_keys(const Value& all) {
  for (const auto& [key, value] : all.json().items()) {
    if (std::find(std::begin(v3_keys), std::end(v3_keys), key) != std::end(v3_keys)) continue;
    if (value.is_null()) continue;
    const auto must = value.is_object() ? value.find("must_understand") : value.end();
    if (!value.is_object() || must == value.end() || *must != false)
      all.wrong(fmt::format("has {}, which is not known and has to be", base::quoted(key, 40)));
  }
  if (const std::optional<Value> other = all.find("storage_transformers"); other && !other->list().empty())
    other->wrong("names storage transformers, none of which is known");
}

// "default", or {"name": "default", "configuration": {...}}.
std::string name_in(const Value& value) {
  return value.json().is_string() ? value.text() : value.at("name").text();
}

void parse_keys(const Value& all, ArrayMetadata& array) {
  const Value encoding = all.at("chunk_key_encoding");
  const std::string name = name_in(encoding);
  if (name != "default" && name != "v2")
    encoding.wrong(fmt::format("is {}, expected default or v2", base::quoted(name, 40)));
  array.prefixed = name == "default";
  array.separator = array.prefixed ? '/' : '.';
  if (!encoding.json().is_object()) return;
  const std::optional<Value> configuration = encoding.find("configuration");
  const std::optional<Value> separator = configuration ? configuration->find("separator") : std::nullopt;
  if (!separator) return;
  const std::string text = separator->text();
  if (text != "/" && text != ".") separator->wrong(fmt::format("is {}, expected / or .", base::quoted(text, 40)));
  array.separator = text[0];
}

std::vector<std::string> names_in(const Value& list, std::size_t rank) {
  std::vector<std::string> names;
  for (const Value& name : list.list()) names.push_back(name.json().is_null() ? "" : name.text());
  if (names.size() != rank) list.wrong(fmt::format("names {} dimensions, but the array has {}", names.size(), rank));
  return names;
}

}  // namespace

bool is_v3_array(std::string_view text, const std::string& path) {
  const nlohmann::json json = parse_json(text, path);
  const Value all(json, path);
  all.at("zarr_format").integer(3, 3);
  const Value type = all.at("node_type");
  const std::string name = type.text();
  if (name != "array" && name != "group")
    type.wrong(fmt::format("is {}, expected array or group", base::quoted(name, 40)));
  return name == "array";
}

ArrayMetadata parse_v3(std::string_view text, const std::string& path, const ReadOptions& options) {
  const nlohmann::json json = parse_json(text, path);
  const Value all(json, path);
  all.at("zarr_format").integer(3, 3);
  check_keys(all);
  ArrayMetadata array;
  array.shape = all.at("shape").extents(0);
  const Value type = all.at("data_type");
  array.type = type_of(v3_types, name_in(type), type);
  const Value grid = all.at("chunk_grid");
  if (const std::string name = name_in(grid); name != "regular")
    grid.wrong(fmt::format("is {}, expected regular", base::quoted(name, 40)));
  array.chunk = array.unit = grid.at("configuration").at("chunk_shape").extents(1);
  parse_keys(all, array);
  array.fill = fill_of(all, array.type);
  if (const std::optional<Value> names = all.find("dimension_names"))
    array.names = names_in(*names, array.shape.size());
  if (array.chunk.size() == array.shape.size()) parse_codecs(all.at("codecs"), array);
  check_extents(array, all, options);
  return array;
}

// ---- version 2 ---------------------------------------------------------------------------------------------------

namespace {

void parse_dtype(const Value& dtype, ArrayMetadata& array) {
  if (dtype.json().is_array()) dtype.wrong("is one of structs, expected numbers");
  const std::string text = dtype.text();
  std::string_view name = text;
  if (name.empty() || std::string_view("<>|").find(name[0]) == std::string_view::npos)
    dtype.wrong(fmt::format("is {}, expected a byte order and a type, as in <u2", base::quoted(text, 40)));
  name.remove_prefix(1);
  array.type = type_of(v2_types, name, dtype);
  array.chain.swapped = text[0] == '>' && size_of(array.type) > 1;
}

}  // namespace

ArrayMetadata parse_v2(std::string_view text, std::string_view attributes, const std::string& path,
                       const ReadOptions& options) {
  const nlohmann::json json = parse_json(text, path);
  const Value all(json, path);
  all.at("zarr_format").integer(2, 2);
  ArrayMetadata array;
  array.version = 2;
  array.prefixed = false;
  array.separator = '.';
  array.shape = all.at("shape").extents(0);
  array.chunk = array.unit = all.at("chunks").extents(1);
  parse_dtype(all.at("dtype"), array);
  const Value order = all.at("order");
  if (const std::string name = order.text(); name == "F" && array.chunk.size() > 1)
    for (std::size_t d = array.chunk.size(); d-- > 0;) array.chain.order.push_back(static_cast<int>(d));
  else if (name != "C" && name != "F")
    order.wrong(fmt::format("is {}, expected C or F", base::quoted(name, 40)));
  if (const std::optional<Value> separator = all.find("dimension_separator")) {
    const std::string name = separator->text();
    if (name != "." && name != "/") separator->wrong(fmt::format("is {}, expected . or /", base::quoted(name, 40)));
    array.separator = name[0];
  }
  parse_compressor(all, array);
  array.fill = fill_of(all, array.type);
  check_extents(array, all, options);
  if (attributes.empty()) return array;
  // xarray's way to name dimensions.
  const nlohmann::json said = parse_json(attributes, path);
  const Value names(said, path);
  if (const std::optional<Value> list = names.find("_ARRAY_DIMENSIONS"))
    array.names = names_in(*list, array.shape.size());
  return array;
}

// ---- printing ----------------------------------------------------------------------------------------------------

std::string print_v3(const ArrayMetadata& array) {
  nlohmann::ordered_json json;
  json["zarr_format"] = 3;
  json["node_type"] = "array";
  json["shape"] = array.shape;
  for (const auto& [name, type] : v3_types)
    if (type == array.type) json["data_type"] = name;
  json["chunk_grid"] = {{"name", "regular"}, {"configuration", {{"chunk_shape", array.chunk}}}};
  json["chunk_key_encoding"] = {{"name", array.prefixed ? "default" : "v2"},
                                {"configuration", {{"separator", std::string(1, array.separator)}}}};
  const double fill = load_element(array.type, array.fill.data());
  if (array.type == ElementType::boolean)
    json["fill_value"] = fill != 0;
  else if (!std::isfinite(fill))
    json["fill_value"] = bits_in_text(array.fill);
  else if (is_float(array.type))
    json["fill_value"] = fill;
  else
    json["fill_value"] = static_cast<i64>(fill);
  json["codecs"] = print_codecs(array);
  for (const std::string& name : array.names)
    json["dimension_names"].push_back(name.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(name));
  json["attributes"] = nlohmann::ordered_json::object();
  return json.dump(2) + "\n";
}

std::string chunk_name(const ArrayMetadata& array, std::span<const i64> index) {
  std::string name = array.prefixed ? "c" : "";
  for (const i64 i : index) {
    if (!name.empty()) name += array.separator;
    name += std::to_string(i);
  }
  return name.empty() ? "0" : name;
}

i64 unit_bytes(const ArrayMetadata& array) {
  i64 bytes = static_cast<i64>(size_of(array.type));
  for (const i64 extent : array.unit) bytes *= extent;
  return bytes;
}

}  // namespace tessera::io::zarr
