// Which array a path means; see zarr.hpp.
//
//   scan.ome.zarr      a group with multiscales: the level that is asked for of the first image, the finest
//   scan.ome.zarr/1    an array; the group above it says what its dimensions are, if it lists the array
//   other.zarr         an array, or a group of one array and nothing else
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <system_error>
#include <utility>

#include "base/text.hpp"
#include "io/zarr/folder.hpp"
#include "io/zarr/json.hpp"
#include "io/zarr/metadata.hpp"
#include "io/zarr/ome.hpp"
#include "io/zarr/reader.hpp"
#include "io/zarr/zarr.hpp"

namespace tessera::io {
namespace zarr {
namespace {

// A folder of Zarr: what it is, and the texts that say it.
struct Node {
  std::string folder;
  bool array = false, v3 = true;
  std::string text, attributes;  // of version 2 these are two files
  std::vector<std::string> files;
};

std::optional<Node> node_at(const std::string& folder) {
  Node node;
  node.folder = folder;
  const auto take = [&](std::string_view name, std::string& text) {
    std::string path = join(folder, name);
    std::optional<std::string> found = read_metadata(path);
    if (!found) return false;
    text = *std::move(found);
    node.files.push_back(std::move(path));
    return true;
  };
  if (take(v3_file, node.text)) {
    node.array = is_v3_array(node.text, node.files[0]);
    return node;
  }
  node.v3 = false;
  node.array = take(v2_array_file, node.text);
  if (!node.array && !take(v2_group_file, node.text)) return std::nullopt;
  take(v2_attributes_file, node.attributes);
  return node;
}

std::optional<Multiscale> multiscale_of(const Node& group) {
  if (group.v3) return parse_multiscale(group.text, true, group.files[0]);
  return group.attributes.empty() ? std::nullopt : parse_multiscale(group.attributes, false, group.files[1]);
}

std::unique_ptr<FileReader> open_array(const Node& node, const Node* group, const Multiscale* image,
                                       const Multiscale::Level* level, const ReadOptions& options) {
  ArrayMetadata array = node.v3 ? parse_v3(node.text, node.files[0], options)
                                : parse_v2(node.text, node.attributes, node.files[0], options);
  FileLayout layout = layout_of(array);
  std::vector<std::string> files = node.files;
  if (level != nullptr) {
    describe(*image, *level, layout, node.folder);
    files.insert(files.end(), group->files.begin(), group->files.end());
  }
  return make_reader(node.folder, std::move(array), std::move(layout), std::move(files));
}

// The group above an array that lists it as a level of its image. Levels lie in the group's folder, or a little deeper.
std::unique_ptr<FileReader> open_with_group(const Node& node, const ReadOptions& options) {
  constexpr int most_folders = 3;
  std::error_code error;
  std::filesystem::path folder = std::filesystem::canonical(node.folder, error);
  std::string name;
  for (int k = 0; k < most_folders && !error && folder.has_parent_path() && folder != folder.root_path(); ++k) {
    name = name.empty() ? folder.filename().string() : fmt::format("{}/{}", folder.filename().string(), name);
    folder = folder.parent_path();
    const std::optional<Node> group = node_at(folder.string());
    if (!group || group->array) continue;
    const std::optional<Multiscale> image = multiscale_of(*group);
    if (!image) continue;
    for (const Multiscale::Level& level : image->levels)
      if (level.path == name) return open_array(node, &*group, &*image, &level, options);
  }
  return open_array(node, nullptr, nullptr, nullptr, options);
}

// What is in a group, arrays first; each by its name.
std::pair<std::vector<std::string>, std::vector<std::string>> members_of(const Node& group) {
  constexpr int most_entries = 4096;
  std::vector<std::string> arrays, groups;
  std::error_code error;
  int seen = 0;
  for (std::filesystem::directory_iterator at(group.folder, error), end; !error && at != end && seen < most_entries;
       at.increment(error), ++seen) {
    if (!at->is_directory(error)) continue;
    const std::optional<Node> node = node_at(at->path().string());
    if (node) (node->array ? arrays : groups).push_back(at->path().filename().string());
  }
  std::sort(arrays.begin(), arrays.end());
  std::sort(groups.begin(), groups.end());
  return {arrays, groups};
}

std::string listed(const std::vector<std::string>& names, std::string_view what) {
  constexpr std::size_t shown = 8;
  std::vector<std::string> texts;
  for (const std::string& name : names)
    if (texts.size() < shown) texts.push_back(base::quoted(name, 80));
  if (names.size() > shown) texts.push_back(fmt::format("{} more", names.size() - shown));
  return fmt::format("{}{} {}", what, names.size() == 1 ? "" : "s", base::list_of(texts, "and"));
}

std::unique_ptr<FileReader> open_group(const Node& group, const ReadOptions& options) {
  if (const std::optional<Multiscale> image = multiscale_of(group)) {
    const auto wanted = static_cast<std::size_t>(options.level), count = image->levels.size();
    if (wanted >= count)
      fail(group.folder,
           fmt::format("its image has {} level{}, asked for level {} (from 0)", count, count == 1 ? "" : "s", wanted));
    const Multiscale::Level& level = image->levels[wanted];
    const std::string folder = join(group.folder, level.path);
    const std::optional<Node> node = node_at(folder);
    if (!node || !node->array)
      fail(group.folder,
           fmt::format("its image is said to be in {}, but no array is there", base::quoted(level.path, 80)));
    return open_array(*node, &group, &*image, &level, options);
  }
  if (options.level > 0)
    fail(group.folder, fmt::format("it is a group without levels, but level {} is asked for", options.level));
  const auto [arrays, groups] = members_of(group);
  if (arrays.size() == 1 && groups.empty()) {
    const std::optional<Node> node = node_at(join(group.folder, arrays[0]));
    if (node && node->array) return open_with_group(*node, options);
  }
  if (arrays.empty() && groups.empty()) fail(group.folder, "it is a group without arrays");
  const std::string both = arrays.empty()   ? listed(groups, "group")
                           : groups.empty() ? listed(arrays, "array")
                                            : listed(arrays, "array") + ", and " + listed(groups, "group");
  fail(group.folder, fmt::format("it is a group of the {}", both),
       fmt::format("name one of them, as in {}", join(group.folder, arrays.empty() ? groups[0] : arrays[0])));
}

}  // namespace
}  // namespace zarr

bool is_zarr_folder(const std::string& path) {
  struct stat info{};
  return std::ranges::any_of(
      std::initializer_list<std::string_view>{zarr::v3_file, zarr::v2_array_file, zarr::v2_group_file},
      [&](std::string_view name) { return ::stat(zarr::join(path, name).c_str(), &info) == 0; });
}

std::unique_ptr<FileReader> open_zarr(const std::string& given, const ReadOptions& options) {
  using namespace zarr;
  const std::string path = without_slashes(given);
  if (!is_folder(path)) return nullptr;
  const std::optional<Node> node = node_at(path);
  if (!node) return nullptr;
  if (node->array && options.level > 0)
    fail(path, fmt::format("it is one array, but level {} is asked for", options.level),
         "levels are of the group of an OME-Zarr");
  return node->array ? open_with_group(*node, options) : open_group(*node, options);
}

}  // namespace tessera::io
