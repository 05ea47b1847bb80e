// Names of a batch; see names.hpp.
#include "cli/batch/names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "base/files/files.hpp"
#include "base/text.hpp"
#include "cli/execute/pages.hpp"
#include "cli/options/options.hpp"
#include "io/image.hpp"
#include "io/regions/regions.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(std::string message, std::string help = "") {
  throw Error(ErrorClass::argument, std::move(message), {}, std::move(help));
}

// "brain" of "scans/brain.nii.gz", "cells" of "cells.ome.tif".
std::string stem_of(const fs::path& file) {
  fs::path stem = file.stem();
  const std::string suffix = base::to_lower(file.extension().string());
  const std::string inner = base::to_lower(stem.extension().string());
  const bool packed = suffix == ".gz" && (inner == ".nii" || inner == ".hdr" || inner == ".img");
  const bool ome = (suffix == ".tif" || suffix == ".tiff" || suffix == ".zarr") && inner == ".ome";
  if (packed || ome) stem = stem.stem();
  return stem.string();
}

using Fields = std::vector<std::pair<std::string_view, std::string>>;

Fields fields_of(const std::string& file, std::size_t index, std::size_t count) {
  fs::path path = file;
  if (!path.has_filename()) path = path.parent_path();  // of a folder that is written with a slash
  std::error_code ec;
  const std::string name = path.filename().string(), stem = stem_of(path);
  const std::string folder = path.has_parent_path() ? path.parent_path().string() : ".";
  return {{"stem", stem},
          {"suffix", name.substr(stem.size())},
          {"name", name},
          {"folder", folder},
          {"parent", fs::weakly_canonical(fs::absolute(folder, ec), ec).filename().string()},
          {"index", fmt::format("{:0{}}", index, std::to_string(count - 1).size())}};
}

// The word between braces that begins here, if there is one: letters alone.
std::optional<std::string_view> field_at(std::string_view text) {
  const std::size_t end = std::min(text.find('}'), text.size());
  if (text[0] != '{' || end == text.size() || end < 2) return {};
  const std::string_view word = text.substr(1, end - 1);
  const auto letter = [](char c) { return c >= 'a' && c <= 'z'; };
  return std::ranges::all_of(word, letter) ? std::optional(word) : std::nullopt;
}

std::string expanded(const std::string& text, const Fields& fields) {
  // In one go: a file may be called {index}.png.
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    const auto word = field_at(std::string_view(text).substr(i));
    if (!word) {
      result += text[i++];
      continue;
    }
    const auto found = std::ranges::find(fields, *word, [](const auto& field) { return field.first; });
    if (found == fields.end()) {
      std::vector<std::string> names;
      for (const auto& [name, value] : fields) names.push_back(fmt::format("{{{}}}", name));
      names.emplace_back("{page}");
      fail(fmt::format("-o {} has the field {{{}}}, expected {}", base::quoted(unmarked(text)), *word,
                       base::list_of(names)),
           base::did_you_mean(fmt::format("{{{}}}", *word), names));
    }
    result += found->second;
    i += word->size() + 2;
  }
  return result;
}

bool is_folder_of_files(const std::string& path) {
  std::error_code ec;
  return fs::is_directory(path, ec) && !io::is_array_folder(path);
}

// A folder becomes a file in it, in the format of --format where there is one.
std::string within(const std::string& word, const std::string& file, const OutputOptions& options) {
  const std::string path = cut_name(word).second;
  // A name with the suffix of a picture is meant to be one.
  const bool named = io::is_writable_name(path) || io::is_written_by_regions(path);
  const bool folder = path.ends_with('/') ? !path.ends_with(".zarr/") : is_folder_of_files(path) && !named;
  if (!folder) return word;
  const Fields fields = fields_of(file, 0, 1);
  const std::string name = options.format.empty() ? fields[2].second : fields[0].second + "." + options.format;
  return fmt::format("{}{}{}", word, word.ends_with('/') ? "" : "/", name);
}

}  // namespace

std::vector<std::string> files_in(const std::vector<std::string>& words) {
  std::vector<std::string> files;
  for (const std::string& word : words) {
    if (!is_folder_of_files(word)) {
      files.push_back(word);
      continue;
    }
    std::vector<std::string> inner;
    std::error_code ec;
    for (fs::directory_iterator at(word, ec), end; !ec && at != end; at.increment(ec)) {
      const std::string path = at->path().string(), name = at->path().filename().string();
      if (name.starts_with('.')) continue;
      if (at->is_directory(ec) ? io::is_array_folder(path) : io::is_readable_name(path)) inner.push_back(path);
    }
    if (ec) throw Error(ErrorClass::io, fmt::format("cannot read folder {}: {}", base::quoted(word), ec.message()));
    if (inner.empty())
      throw Error(ErrorClass::io, fmt::format("folder {} has no image", base::quoted(word)),
                  {"of a folder the files count whose names end as a format that is read does, not those of folders "
                   "in it"});
    std::ranges::sort(inner);
    files.insert(files.end(), inner.begin(), inner.end());
  }
  return files;
}

std::vector<std::vector<std::string>> destinations_of(const std::vector<std::string>& files,
                                                      const OutputOptions& options, bool pages, bool of_folder) {
  std::vector<std::vector<std::string>> result;
  std::map<std::string, std::string> written, read;
  for (const std::string& file : files) read.emplace(base::place_of(file), file);
  for (std::size_t k = 0; k < files.size(); ++k) {
    std::vector<std::string>& words = result.emplace_back();
    const Fields fields = fields_of(files[k], k, files.size());
    for (const std::string& as_given : options.files) {
      const std::string given = mark_page(as_given, pages);
      const std::string word = within(given, files[k], options);
      words.push_back(word == given ? expanded(word, fields) : expanded(given, fields) + word.substr(given.size()));
      // One file that is given by its name may be written over by its name.
      if (files.size() == 1 && !of_folder && words.back() == given) continue;
      const std::string path = unmarked(cut_name(words.back()).second);
      if (words.back() == given && files.size() > 1)
        fail(fmt::format("-o {} is one file for {} inputs", base::quoted(as_given), files.size()),
             "write -o 'out/{stem}.tif', where {stem} becomes the name of each input without its suffix, {name} the "
             "name, {index} its number; or a folder");
      const std::string place = base::place_of(path);
      const auto [other, fresh] = written.emplace(place, files[k]);
      if (!fresh && other->second == files[k] && words.size() > 1)
        fail(fmt::format("several results of {} would be written into {}", base::quoted(files[k]), base::quoted(path)),
             "give each a name of its own");
      if (!fresh)
        fail(fmt::format("{} and {} would both be written into {}", base::quoted(other->second), base::quoted(files[k]),
                         base::quoted(path)),
             "add {index} to the name behind -o");
      if (const auto source = read.find(place); source != read.end())
        fail(fmt::format("what becomes of {} would be written into {}, which is {}", base::quoted(files[k]),
                         base::quoted(path), source->second == files[k] ? "the input itself" : "another input"),
             "write into another folder");
      // (A result that is a folder replaces all of it.)
      if (const auto inner = read.lower_bound(place + "/");
          inner != read.end() && inner->first.starts_with(place + "/"))
        fail(fmt::format("what becomes of {} would be written into {}, the folder of the input {}",
                         base::quoted(files[k]), base::quoted(path), base::quoted(inner->second)),
             "write into another folder");
      const fs::path folder = fs::path(path).parent_path();
      std::error_code ec;
      if (!folder.empty() && !fs::is_directory(folder, ec))
        throw Error(ErrorClass::io, fmt::format("output {} cannot be written: there is no folder {}",
                                                base::quoted(path), base::quoted(folder.string())));
    }
  }
  return result;
}

}  // namespace tessera::cli
