// Values of Zarr's metadata files, and errors that say which value of which file is wrong.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/array.hpp"

namespace tessera::io::zarr {

// What products of extents may reach; beyond it no number of bytes fits 63 bits.
inline constexpr i64 most_points = i64{1} << 62;

// Throws Error(io): "cannot read 'path' as Zarr: reason".
[[noreturn]] void fail(const std::string& path, const std::string& reason, std::string help = {});

// A text as JSON.
nlohmann::json parse_json(std::string_view text, const std::string& path);

// One value. Both references have to outlive it. What is asked for and not there, or of another kind, is an Error(io).
class Value {
 public:
  // `name`: where it stands, "codecs[0].configuration"; empty for all of the file.
  Value(const nlohmann::json& json, const std::string& path, std::string name = {})
      : json_(&json), path_(&path), name_(std::move(name)) {}

  Value at(std::string_view key) const;
  std::optional<Value> find(std::string_view key) const;  // null counts as nothing
  std::vector<Value> list() const;
  std::string text() const;
  i64 integer(i64 least, i64 most) const;
  bool boolean() const;
  Shape extents(i64 least) const;  // a list of numbers from `least` to most_points

  const nlohmann::json& json() const { return *json_; }
  const std::string& path() const { return *path_; }
  [[noreturn]] void wrong(const std::string& why) const;  // "its shape[0] " and the rest of a sentence

 private:
  const nlohmann::json* json_;
  const std::string* path_;
  std::string name_;
};

}  // namespace tessera::io::zarr
