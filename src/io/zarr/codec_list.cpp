// Lists of codecs; see codec_list.hpp.
//
// A list of version 3 has codecs of arrays (transpose), then one that makes bytes of an array (bytes,
// sharding_indexed), then codecs of bytes. A shard has a list of its own for what lies in it, and one for its index,
// whose bytes have to be as many whatever they are.
#include "io/zarr/codec_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.hpp"

namespace tessera::io::zarr {
namespace {

using Kind = ByteCodec::Kind;

// Each may double the bytes that are believed.
constexpr std::size_t most_codecs = 8;

std::string name_of_codec(const Value& codec) {
  return codec.json().is_string() ? codec.text() : codec.at("name").text();
}

std::optional<Value> find_in(const Value& codec, std::string_view key) {
  if (!codec.json().is_object()) return std::nullopt;
  const std::optional<Value> configuration = codec.find("configuration");
  return configuration ? configuration->find(key) : std::nullopt;
}

Value need_in(const Value& codec, std::string_view key) {
  if (!codec.json().is_object()) codec.wrong("has no configuration");
  return codec.at("configuration").at(key);
}

// Dimension i of the result is dimension order[i] of what it is made of.
std::vector<int> after(const std::vector<int>& first, const std::vector<int>& second) {
  if (first.empty()) return second;
  std::vector<int> both;
  for (const int d : second) both.push_back(first[static_cast<std::size_t>(d)]);
  return both;
}

std::vector<int> parse_order(const Value& list, std::size_t rank) {
  std::vector<int> order;
  std::vector<bool> seen(rank, false);
  for (const Value& place : list.list()) {
    const auto d = static_cast<std::size_t>(place.integer(0, static_cast<i64>(rank) - 1));
    if (seen[d]) place.wrong(fmt::format("is {}, which the list has already", d));
    seen[d] = true;
    order.push_back(static_cast<int>(d));
  }
  if (order.size() != rank)
    list.wrong(fmt::format("has {} places, but the array has {} dimensions", order.size(), rank));
  return order;
}

// Empty where it changes nothing.
void forget_if_sorted(std::vector<int>& order) {
  if (std::is_sorted(order.begin(), order.end())) order.clear();
}

bool parse_endian(const Value& codec, bool needed) {
  const std::optional<Value> endian = find_in(codec, "endian");
  if (!endian) {
    if (needed) codec.wrong("does not say its byte order (endian)");
    return false;
  }
  const std::string name = endian->text();
  if (name != "little" && name != "big")
    endian->wrong(fmt::format("is {}, expected little or big", base::quoted(name, 40)));
  return name == "big";
}

constexpr std::pair<std::string_view, Kind> v3_packing[] = {
    {"blosc", Kind::blosc}, {"crc32c", Kind::crc32c}, {"gzip", Kind::gzip}, {"zstd", Kind::zstd}};
constexpr std::pair<std::string_view, Kind> v2_packing[] = {
    {"blosc", Kind::blosc}, {"gzip", Kind::gzip}, {"zlib", Kind::zlib}, {"zstd", Kind::zstd}};

// A codec of bytes, for reading: settings of packing are the writer's.
template <std::size_t n>
std::optional<ByteCodec> byte_codec(const std::pair<std::string_view, Kind> (&known)[n], const std::string& name) {
  for (const auto& [text, kind] : known) {
    if (text != name) continue;
    ByteCodec codec;
    codec.kind = kind;
    return codec;
  }
  return std::nullopt;
}

[[noreturn]] void unknown_codec(const Value& codec, const std::string& name) {
  codec.wrong(fmt::format("is {}, expected blosc, bytes, crc32c, gzip, sharding_indexed, transpose or zstd",
                          base::quoted(name, 40)));
}

std::vector<Value> list_of_codecs(const Value& list) {
  std::vector<Value> codecs = list.list();
  if (codecs.size() > most_codecs)
    list.wrong(fmt::format("has {} codecs, expected up to {}", codecs.size(), most_codecs));
  return codecs;
}

// Of an index: bytes, with or without crc32c behind it.
void parse_index_codecs(const Value& list, Shards& shards) {
  const std::vector<Value> codecs = list_of_codecs(list);
  if (codecs.empty() || codecs.size() > 2 || name_of_codec(codecs[0]) != "bytes" ||
      (codecs.size() == 2 && name_of_codec(codecs[1]) != "crc32c"))
    list.wrong("is not understood, expected bytes, or bytes and crc32c");
  shards.swapped = parse_endian(codecs[0], true);
  shards.checked = codecs.size() == 2;
}

void parse_list(const Value& list, ArrayMetadata& array, bool in_shard);

void parse_shards(const Value& codec, ArrayMetadata& array) {
  const std::size_t rank = array.shape.size();
  const std::vector<int> order = std::exchange(array.chain.order, {});
  Shards shards;
  shards.order = order;
  const Value inner = need_in(codec, "chunk_shape");
  const Shape unit = inner.extents(1);
  if (unit.size() != rank) inner.wrong(fmt::format("has {} dimensions, but the array has {}", unit.size(), rank));
  for (std::size_t i = 0; i < rank; ++i) {
    const auto d = order.empty() ? i : static_cast<std::size_t>(order[i]);
    array.unit[d] = unit[i];
    if (array.chunk[d] % unit[i] != 0)
      inner.wrong(fmt::format("is {}, which does not divide shards of {}", to_string(unit), to_string(array.chunk)));
  }
  const std::optional<Value> location = find_in(codec, "index_location");
  const std::string where = location ? location->text() : "end";
  if (where != "start" && where != "end")
    location->wrong(fmt::format("is {}, expected start or end", base::quoted(where, 40)));
  shards.at_end = where == "end";
  parse_index_codecs(need_in(codec, "index_codecs"), shards);
  parse_list(need_in(codec, "codecs"), array, true);
  // Dimensions of the list inside are those of the shard.
  if (!order.empty()) array.chain.order = array.chain.order.empty() ? order : after(order, array.chain.order);
  array.shards = std::move(shards);
}

void parse_list(const Value& list, ArrayMetadata& array, bool in_shard) {
  bool is_bytes = false;
  for (const Value& codec : list_of_codecs(list)) {
    const std::string name = name_of_codec(codec);
    const std::optional<ByteCodec> packing = byte_codec(v3_packing, name);
    if (!packing && name != "transpose" && name != "bytes" && name != "sharding_indexed") unknown_codec(codec, name);
    if (packing.has_value() != is_bytes)
      codec.wrong(fmt::format("is {}, which {}", name,
                              is_bytes ? "takes an array, but follows one that makes bytes"
                                       : "takes bytes, but nothing before it makes them"));
    if (packing) {
      if (array.shards && !in_shard)
        codec.wrong(fmt::format("is {} behind sharding_indexed: shards that are packed are not read", name));
      array.chain.packing.push_back(*packing);
    } else if (name == "transpose") {
      array.chain.order = after(array.chain.order, parse_order(need_in(codec, "order"), array.shape.size()));
    } else if (name == "bytes") {
      array.chain.swapped = parse_endian(codec, size_of(array.type) > 1) && size_of(array.type) > 1;
      is_bytes = true;
    } else {
      if (in_shard) codec.wrong("is a shard within a shard, which is not read");
      parse_shards(codec, array);
      is_bytes = true;
    }
  }
  if (!is_bytes) list.wrong("makes no bytes of an array, expected bytes or sharding_indexed among them");
}

}  // namespace

void parse_codecs(const Value& list, ArrayMetadata& array) {
  parse_list(list, array, false);
  forget_if_sorted(array.chain.order);
  if (array.shards) forget_if_sorted(array.shards->order);
}

void parse_compressor(const Value& all, ArrayMetadata& array) {
  if (const std::optional<Value> filters = all.find("filters")) {
    std::vector<std::string> names;
    for (const Value& filter : filters->list()) names.push_back(base::quoted(filter.at("id").text(), 40));
    if (!names.empty())
      filters->wrong(fmt::format("names {}; arrays with filters are not read", base::list_of(names, "and")));
  }
  const std::optional<Value> compressor = all.find("compressor");
  if (!compressor) return;
  const Value id = compressor->at("id");
  const std::string name = id.text();
  const std::optional<ByteCodec> codec = byte_codec(v2_packing, name);
  if (!codec) id.wrong(fmt::format("is {}, expected blosc, gzip, zlib or zstd", base::quoted(name, 40)));
  array.chain.packing.push_back(*codec);
}

nlohmann::ordered_json print_codecs(const ArrayMetadata& array) {
  using json = nlohmann::ordered_json;
  json list = json::array();
  if (!array.chain.order.empty())
    list.push_back({{"name", "transpose"}, {"configuration", {{"order", array.chain.order}}}});
  json bytes = {{"name", "bytes"}};
  if (size_of(array.type) > 1) bytes["configuration"] = {{"endian", array.chain.swapped ? "big" : "little"}};
  list.push_back(bytes);
  constexpr const char* shuffles[] = {"noshuffle", "shuffle", "bitshuffle"};
  for (const ByteCodec& codec : array.chain.packing) {
    json printed;
    for (const auto& [name, kind] : v3_packing)
      if (kind == codec.kind) printed["name"] = name;
    if (codec.kind == Kind::gzip) printed["configuration"] = {{"level", codec.level}};
    if (codec.kind == Kind::zstd) printed["configuration"] = {{"level", codec.level}, {"checksum", codec.checksum}};
    if (codec.kind == Kind::blosc)
      printed["configuration"] = {{"cname", codec.compressor},
                                  {"clevel", codec.level},
                                  {"shuffle", shuffles[codec.shuffle]},
                                  {"typesize", codec.type_size},
                                  {"blocksize", 0}};
    list.push_back(printed);
  }
  if (!array.shards) return list;
  json index =
      json::array({{{"name", "bytes"}, {"configuration", {{"endian", array.shards->swapped ? "big" : "little"}}}}});
  if (array.shards->checked) index.push_back({{"name", "crc32c"}});
  return json::array({{{"name", "sharding_indexed"},
                       {"configuration",
                        {{"chunk_shape", array.unit},
                         {"codecs", list},
                         {"index_codecs", index},
                         {"index_location", array.shards->at_end ? "end" : "start"}}}}});
}

}  // namespace tessera::io::zarr
