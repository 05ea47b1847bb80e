// Outputs. Whatever can be refused is refused before the run; what is written is written whole.
#include "cli/execute/results.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>

#include "base/files/files.hpp"
#include "base/text.hpp"
#include "cli/execute/convert.hpp"
#include "cli/execute/pages.hpp"
#include "cli/options/options.hpp"
#include "io/image.hpp"
#include "io/metadata.hpp"
#include "io/regions/regions.hpp"
#include "pieces/journal.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(std::string message, std::string help = "") {
  throw Error(ErrorClass::argument, std::move(message), {}, std::move(help));
}

std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

void check_path(const std::string& path) {
  if (base::is_stream(path)) return base::check_stream(path);
  std::error_code ec;
  const fs::path folder = fs::path(io::is_chunked_name(path) ? without_slashes(path) : path).parent_path();
  if (!folder.empty() && !fs::is_directory(folder, ec))
    throw Error(ErrorClass::io, fmt::format("output {} cannot be written: there is no folder {}", base::quoted(path),
                                            base::quoted(folder.string())));
  if (!io::is_chunked_name(path) && fs::is_directory(path, ec))
    throw Error(ErrorClass::io, fmt::format("output {} cannot be written: it is a folder", base::quoted(path)));
  // A file is replaced by one made beside it.
  const std::string writable = folder.empty() ? "." : folder.string();
  if (::faccessat(AT_FDCWD, writable.c_str(), W_OK, AT_EACCESS) != 0)
    throw Error(ErrorClass::io, fmt::format("output {} cannot be written: {}: {}", base::quoted(path),
                                            base::quoted(writable), base::reason_of(errno)));
  if (io::is_chunked_name(path)) io::check_replaceable(path);
}

void check_different(const Program& program, const std::vector<std::string>& paths) {
  for (std::size_t i = 0; i < paths.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (paths[i].empty() || paths[j].empty() || !base::is_same_file(paths[i], paths[j])) continue;
      const auto& outputs = program.outputs();
      fail(fmt::format("{} and {} go into one file: {}{}", described(outputs[j], j), described(outputs[i], i),
                       base::quoted(paths[j]), paths[i] == paths[j] ? "" : " and " + base::quoted(paths[i])),
           "give each a file of its own");
    }
  }
}

// Resolutions that a file of this name gets.
int levels_of(const std::string& path, const OutputOptions& options) {
  return base::to_lower(without_slashes(path)).ends_with(".ome.zarr") ? options.levels : 1;
}

io::WriteOptions parse_written(const OutputOptions& options) {
  io::WriteOptions result;
  if (options.quality) result.quality = *options.quality;
  if (options.compression.empty()) return result;
  static const std::vector<std::string> names = {"none", "deflate", "lzw", "packbits", "zstd"};
  const std::size_t colon = options.compression.find(':');
  const std::string name = options.compression.substr(0, colon);
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    fail(fmt::format("--compression {} cannot be used, expected {}, with :LEVEL behind deflate and zstd",
                     base::quoted(options.compression), base::list_of(names)),
         base::did_you_mean(name, names));
  result.packing = static_cast<io::Packing>(found - names.begin());
  if (colon == std::string::npos) return result;
  const auto level = base::parse_integer(options.compression.substr(colon + 1));
  if (!level || *level < 0 || *level > 22)
    fail(fmt::format("--compression {} cannot be used, expected a level from 0 to 9, or to 22 for zstd",
                     base::quoted(options.compression)));
  result.compression = static_cast<int>(*level);
  return result;
}

// What a file gets of --compression and --quality; a quality is of the JPEGs among several.
std::vector<io::WriteOptions> written_as(const std::vector<std::string>& paths, const OutputOptions& options) {
  std::vector<io::WriteOptions> all(paths.size(), parse_written(options));
  bool any = false, jpeg = false;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (paths[i].empty()) continue;
    any = true;
    jpeg = jpeg || io::format_of_name(paths[i]) == "JPEG";
    if (io::is_writable_name(paths[i])) io::check_write_options(paths[i], all[i]);
  }
  if (options.quality && !jpeg)
    fail(fmt::format("--quality {} is of JPEG, but no file of it is written", *options.quality), "add -o FILE.jpg");
  if (options.levels > 1 &&
      std::none_of(paths.begin(), paths.end(), [&](const std::string& path) { return levels_of(path, options) > 1; }))
    fail(fmt::format("--levels {} is of OME-Zarr, but no file of it is written", options.levels),
         "add -o FILE.ome.zarr");
  for (const auto& [flag, box] : {std::pair("--chunk", options.chunk), std::pair("--shard", options.shard)})
    if (!box.empty() && std::ranges::none_of(paths, io::is_chunked_name))
      fail(fmt::format("{} {}: chunks and shards are of Zarr, but no file of it is written", flag, base::quoted(box)),
           "add -o FILE.zarr");
  if (!options.compression.empty() && !any)
    fail(fmt::format("--compression {} is given, but no file for the result", base::quoted(options.compression)),
         "add -o FILE");
  return all;
}

ElementType type_of(const Format& format) {
  return format.is_struct() ? format.fields[0].type : format.scalar;
}

}  // namespace

std::string label(const Parameter& p, std::size_t index) {
  return p.name.empty() ? fmt::format("output {}", index + 1) : p.name;
}

std::string described(const Parameter& p, std::size_t index) {
  return p.name.empty() ? label(p, index) : fmt::format("output {}", base::quoted(p.name));
}

std::string with_format(const std::string& path, const OutputOptions& options) {
  if (io::is_writable_name(path) || io::is_written_by_regions(path)) return path;
  if (!options.format.empty()) return path + "." + base::to_lower(options.format);
  fail(fmt::format("output {} has no suffix of a known format, expected {}", base::quoted(path),
                   base::list_of(io::writable_suffixes())),
       path == "-" ? "add --format png, or another suffix" : "--format SUFFIX is for pipes and devices");
}

io::RegionWriteOptions by_regions(const std::string& path, const io::WriteOptions& how, const OutputOptions& options) {
  io::RegionWriteOptions all{.write = how, .levels = levels_of(path, options)};
  if (!io::is_chunked_name(path)) return all;
  if (!options.chunk.empty()) all.chunk = parse_shape(options.chunk, "--chunk");
  if (!options.shard.empty()) all.shard = parse_shape(options.shard, "--shard");
  return all;
}

void OutputOptions::check() const {
  values.check();
  if (!format.empty() && !io::is_writable_name("a." + format))
    fail(fmt::format("--format {} is no suffix of a known format, expected {}", base::quoted(format),
                     base::list_of(io::writable_suffixes())),
         base::did_you_mean("." + format, io::writable_suffixes()));
  if (quality && (*quality < 1 || *quality > 100))
    fail(fmt::format("--quality {} cannot be used, expected 1 to 100", *quality));
  constexpr int most_levels = 32;
  if (levels < 1 || levels > most_levels)
    fail(fmt::format("--levels {} cannot be used, expected 1 to {}", levels, most_levels));
  if (!chunk.empty()) parse_shape(chunk, "--chunk");
  if (!shard.empty()) parse_shape(shard, "--shard");
  parse_written(*this);
}

Destinations check_outputs(const Program& program, const OutputOptions& options) {
  const auto& outputs = program.outputs();
  Destinations result;
  result.files.resize(outputs.size());
  result.paths.resize(outputs.size());
  result.marked.resize(outputs.size());
  std::vector<std::string> names, by_position;
  for (const Parameter& p : outputs) names.push_back(p.name);
  const auto give = [&](std::size_t i, const std::string& marked) {
    const std::string path = unmarked(marked);
    if (!result.files[i].empty())
      fail(fmt::format("{} is given two files: {} and {}", described(outputs[i], i), base::quoted(result.files[i]),
                       base::quoted(path)));
    result.paths[i] = with_format(path, options);
    check_path(path);
    check_no_source(options.sources, path);
    result.files[i] = path;
    if (path != marked) result.marked[i] = marked;
  };
  for (const std::string& word : options.files) {
    const auto [name, path] = cut_name(word);
    const auto found = std::find(names.begin(), names.end(), name);
    if (name.empty()) {
      by_position.push_back(word);
    } else if (found != names.end()) {
      give(static_cast<std::size_t>(found - names.begin()), path);
    } else {
      std::vector<std::string> named = names;
      std::erase(named, "");
      fail(fmt::format("the program has no output {}, {}", base::quoted(name),
                       !named.empty()      ? "its outputs are: " + base::list_of(named, "and")
                       : names.size() == 1 ? "its only output has no name"
                                           : "its outputs have no names"),
           or_as_file(base::did_you_mean(name, named), unmarked(word)));
    }
  }
  std::size_t next = 0;
  for (const std::string& path : by_position) {
    while (next < outputs.size() && !result.files[next].empty()) ++next;
    if (next == outputs.size())
      fail(fmt::format("output file {} is one too many, the program has {}", base::quoted(unmarked(path)),
                       outputs.size()));
    give(next, path);
  }
  check_different(program, result.files);
  result.written = written_as(result.paths, options);
  if (!options.at.empty() && options.onto.empty())
    fail(fmt::format("--at {} says where, but not in which image", base::quoted(options.at)), "add --onto FILE");
  if (!options.onto.empty() && options.files.empty())
    fail(fmt::format("--onto {} is given, but no file for the result", base::quoted(options.onto)), "add -o FILE");
  if (!options.onto.empty()) {
    io::Image below = io::read_image(options.onto);
    result.onto = std::move(below.array);
    result.onto_header = std::move(below.header);
  }
  return result;
}

std::vector<std::string> number_pages(const Program& program, Destinations& to, const Shape& leading,
                                      const OutputOptions& options) {
  std::vector<std::string> all;
  std::map<std::string, std::size_t> taken;  // by an output
  const auto take = [&](std::size_t output, const std::string& path) {
    all.push_back(path);
    const auto [other, fresh] = taken.emplace(base::place_of(path), output);
    if (!fresh && other->second != output)
      fail(fmt::format("{} and {} go into one file: {}", described(program.outputs()[other->second], other->second),
                       described(program.outputs()[output], output), base::quoted(path)),
           "give each a file of its own");
  };
  const i64 count = element_count(leading);
  const bool any = std::ranges::any_of(to.marked, [](const std::string& name) { return !name.empty(); });
  for (std::size_t i = 0; i < to.files.size(); ++i) {
    std::string& marked = to.marked[i];
    if (to.files[i].empty()) continue;
    if (marked.empty() && any) take(i, to.files[i]);
    if (marked.empty() && !any) all.push_back(to.files[i]);
    for (i64 page = 0; page < count && !marked.empty(); ++page) {
      const std::string path = name_of_page(marked, page, count);
      take(i, path);
      check_path(path);
      check_no_source(options.sources, path);
    }
    if (marked.empty() || !leading.empty()) continue;
    to.files[i] = name_of_page(marked, 0, 1);
    to.paths[i] = with_format(to.files[i], options);
    marked.clear();
  }
  return all;
}

Target target_of(const std::string& path, const Format& format_of_result, const Lanes& lanes,
                 const io::ImageHeader& header) {
  if (!io::is_writable_name(path)) {  // a folder
    const ElementType own = type_of(format_of_result);
    return {base::quoted(path), own, largest_of(own), false};
  }
  const ElementType type = io::stored_type(path, format_of_result, lanes.stored);
  Target target{base::quoted(path), type, largest_of(type), !io::stores_floats(path)};
  const std::string format = io::format_of_name(path);
  const bool says_largest = format == "PGM" || format == "PPM" || format == "PNM";
  if (says_largest && header.metadata && header.metadata->largest &&
      (*header.metadata->largest > 255) == (type == ElementType::u16))
    target.largest = static_cast<double>(*header.metadata->largest);
  return target;
}

io::ImageHeader header_of(const Shape& shape, const Lanes& lanes, const Destinations& destinations) {
  if (destinations.onto) return destinations.onto_header;
  const auto fits = [&](const io::ImageHeader& header) { return io::header_for(header, shape).has_value(); };
  const auto first = [&](auto&& condition) {
    const auto found = std::find_if(lanes.headers.begin(), lanes.headers.end(), condition);
    return found == lanes.headers.end() ? nullptr : &*found;
  };
  const io::ImageHeader* found = first(fits);
  if (found == nullptr) found = first([](const auto&) { return true; });
  if (found == nullptr) return {};
  if (!found->steps.empty() || found->nifti) return *found;
  // One input may say where the points are, another what the colours mean.
  const io::ImageHeader* places = first([&](const auto& header) { return fits(header) && !header.steps.empty(); });
  if (places == nullptr) return *found;
  io::ImageHeader both = *places;
  if (!both.metadata) both.metadata = found->metadata;
  if (!both.nodata) both.nodata = found->nodata;
  return both;
}

std::vector<Array> join_lanes(const Program& program, const Lanes& lanes,
                              const std::vector<std::vector<Array>>& results) {
  if (results.size() == 1) return results[0];
  const auto& outputs = program.outputs();
  std::vector<Array> joined;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Array& first = results[0][i];
    if (first.empty()) {
      joined.emplace_back();
      continue;
    }
    if (first.format().is_struct())
      fail(fmt::format("{} is a {} already and cannot be put together from {} channels", described(outputs[i], i),
                       first.format().name(), lanes.channels.size()),
           "--gray runs on intensity");
    Array array(io::named_pixels(first.format().scalar, lanes.channels), first.shape());
    for (std::size_t c = 0; c < results.size(); ++c)
      array.field(array.format().fields[c].name).copy_from(results[c][i]);
    joined.push_back(array);
  }
  return joined;
}

}  // namespace tessera::cli
