// See replace.hpp.
#include "io/zarr/replace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include "base/files/files.hpp"
#include "base/text.hpp"
#include "io/regions/regions.hpp"
#include "io/zarr/folder.hpp"
#include "io/zarr/metadata.hpp"
#include "io/zarr/ome.hpp"
#include "tessera/error.hpp"

namespace tessera::io {
namespace zarr {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw Error(ErrorClass::io, fmt::format("cannot write {}: {}", base::quoted(path, 1024), why), {},
              "take it away, or write another name");
}

std::string named(const std::string& path) {
  return base::quoted(path, 1024);
}

// "c/0/7", "c.0.7", "0/7", "0.7", and the folders on the way: "c", "c/0".
bool is_chunk_name(std::string_view name) {
  if (name == "c") return true;
  if (name.starts_with("c/") || name.starts_with("c.")) name.remove_prefix(2);
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  bool number = false;  // ends here
  for (const char c : name) {
    if (!digit(c) && ((c != '/' && c != '.') || !number)) return false;
    number = digit(c);
  }
  return number;
}

class Check {
 public:
  explicit Check(const std::string& path) : path_(path) {}

  void whole(const std::string& target) const {
    if (!is_there(target)) return;
    const std::vector<std::string> names = names_in(target);
    if (names.empty()) return;
    const auto has = [&](std::string_view name) { return std::ranges::find(names, name) != names.end(); };
    if (has(v3_file) && !is_array(join(target, v3_file)))
      image(target, names);
    else if (has(v3_file))
      array(target, {v3_file});
    else if (has(v2_array_file))
      array(target, {v2_array_file, v2_attributes_file});
    else if (has(v2_group_file))
      refuse(path_, named(target) + " is a Zarr group, all of which would be lost");
    else
      refuse(path_, named(target) + " is a folder that is no Zarr array");
  }

  // Whatever was there first or last: a process may have been killed while it made or removed the folder.
  void part(const std::string& target) const {
    if (!is_there(target)) return;
    walk(target, [&](std::string_view name, bool folder) {
      if (name.substr(0, name.find('/')) == writing_folder) return true;
      const auto is_metadata = [&](std::string_view of) {
        return of == v3_file || of == v2_array_file || of == v2_attributes_file;
      };
      if (is_chunk_name(name) || (!folder && is_metadata(name))) return true;
      const std::size_t slash = std::min(name.find('/'), name.size());  // behind a level
      if (slash == name.size() || name.substr(0, slash).find_first_not_of("0123456789") != std::string_view::npos)
        return false;
      name.remove_prefix(slash + 1);
      return is_chunk_name(name) || (!folder && name == v3_file);
    });
  }

 private:
  bool is_there(const std::string& target) const {
    std::error_code error;
    const fs::file_status status = fs::symlink_status(target, error);
    if (fs::exists(status) && !fs::is_directory(status)) refuse(path_, named(target) + " is a file");
    return fs::exists(status);
  }

  [[noreturn]] void fail(const std::string& folder, const std::error_code& error) const {
    refuse(path_, fmt::format("{} cannot be looked through: {}", named(folder), error.message()));
  }

  std::vector<std::string> names_in(const std::string& folder) const {
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
      names.push_back(at->path().filename().string());
    if (error) fail(folder, error);
    std::ranges::sort(names);
    return names;
  }

  // `owns`: a name within the folder, and whether a folder has it.
  template <class F>
  void walk(const std::string& folder, const F& owns) const {
    const std::size_t front = join(folder, "").size();
    std::error_code error;
    for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
      const std::string file = at->path().string();
      const fs::file_status status = at->symlink_status(error);
      if (error) break;
      const bool plain = fs::is_directory(status) || fs::is_regular_file(status);
      if (!plain || !owns(std::string_view(file).substr(front), fs::is_directory(status)))
        refuse(path_, named(file) + " would be lost, which is no part of an array that is written so");
    }
    if (error) fail(folder, error);
  }

  bool is_array(const std::string& file) const {
    try {
      return is_v3_array(read_metadata(file).value_or(""), file);
    } catch (const Error&) {
      refuse(path_, named(file) + " is no metadata of an array");
    }
  }

  void array(const std::string& target, const std::vector<std::string_view>& metadata) const {
    walk(target, [&](std::string_view name, bool folder) {
      return is_chunk_name(name) || (!folder && std::ranges::find(metadata, name) != metadata.end());
    });
  }

  void image(const std::string& target, const std::vector<std::string>& names) const {
    const std::string file = join(target, v3_file);
    std::optional<Multiscale> image;
    try {
      image = parse_multiscale(read_metadata(file).value_or(""), true, file);
    } catch (const Error&) {  // of another kind
    }
    if (!image) refuse(path_, named(target) + " is a Zarr group, all of which would be lost");
    for (const std::string& name : names) {
      if (name == v3_file) continue;
      const std::string folder = join(target, name), metadata = join(folder, v3_file);
      const bool listed = std::ranges::any_of(image->levels, [&](const auto& level) { return level.path == name; });
      if (!listed || !is_folder(folder) || fs::is_symlink(folder) || !fs::exists(metadata) || !is_array(metadata))
        refuse(path_, named(folder) + " would be lost, which is no level of the image there");
      array(folder, {v3_file});
    }
  }

  const std::string& path_;
};

}  // namespace

void check_replaceable(const std::string& path, const std::string& target) {
  Check(path).whole(target);
}

void check_begun(const std::string& path, const std::string& partial) {
  Check(path).part(partial);
}

}  // namespace zarr

void check_replaceable(const std::string& path) {
  zarr::check_replaceable(path, base::followed(path));
}

void discard_partial(const std::string& path) {
  const std::string partial = partial_name(path);
  std::error_code error;
  if (std::filesystem::is_directory(std::filesystem::symlink_status(partial, error))) {
    zarr::check_begun(path, partial);
    zarr::remove_folder(partial);
  } else {
    zarr::remove_file(partial);
  }
}

}  // namespace tessera::io
