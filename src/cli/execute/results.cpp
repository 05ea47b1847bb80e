// Outputs. Whatever can be refused is refused before the run; what is written is written whole.
#include "cli/execute/results.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>

#include "base/files/descriptor.hpp"
#include "base/files/files.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/execute/convert.hpp"
#include "cli/execute/pages.hpp"
#include "cli/options/options.hpp"
#include "cli/tell.hpp"
#include "io/image.hpp"
#include "io/metadata.hpp"
#include "io/regions/regions.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(std::string message, std::string help = "") {
  throw Error(ErrorClass::argument, std::move(message), {}, std::move(help));
}

std::string label(const Parameter& p, std::size_t index) {
  return p.name.empty() ? fmt::format("output {}", index + 1) : p.name;
}

// In the middle of a sentence.
std::string described(const Parameter& p, std::size_t index) {
  return p.name.empty() ? label(p, index) : fmt::format("output {}", base::quoted(p.name));
}

// The name by which a format is chosen: --format is for what says none.
std::string with_format(const std::string& path, const OutputOptions& options) {
  if (io::is_writable_name(path) || io::is_written_by_regions(path)) return path;
  if (!options.format.empty()) return path + "." + base::to_lower(options.format);
  fail(fmt::format("output {} has no suffix of a known format, expected {}", base::quoted(path),
                   base::list_of(io::writable_suffixes())),
       path == "-" ? "add --format png, or another suffix" : "--format SUFFIX is for pipes and devices");
}

void check_path(const std::string& path) {
  if (base::is_stream(path)) return base::check_stream(path);
  std::error_code ec;
  const fs::path folder = fs::path(path).parent_path();
  if (!folder.empty() && !fs::is_directory(folder, ec))
    throw Error(ErrorClass::io, fmt::format("output {} cannot be written: there is no folder {}", base::quoted(path),
                                            base::quoted(folder.string())));
  if (fs::is_directory(path, ec) && !io::is_written_by_regions(path))
    throw Error(ErrorClass::io, fmt::format("output {} cannot be written: it is a folder", base::quoted(path)));
  // A file is replaced by one made beside it.
  const std::string writable = folder.empty() ? "." : folder.string();
  if (::faccessat(AT_FDCWD, writable.c_str(), W_OK, AT_EACCESS) != 0)
    throw Error(ErrorClass::io, fmt::format("output {} cannot be written: {}: {}", base::quoted(path),
                                            base::quoted(writable), base::reason_of(errno)));
}

// Where the results go inside the image below: --at, else where they were cut out, else the corner.
std::vector<i64> position(const OutputOptions& options, const std::optional<Region>& source, int rank) {
  if (options.at.empty()) return source ? source->begin : std::vector<i64>(static_cast<std::size_t>(rank), 0);
  const auto at = parse_list(options.at, "--at");
  if (at.size() != static_cast<std::size_t>(rank))
    fail(fmt::format("--at {} has {} numbers, expected {} for an array of rank {}", base::quoted(options.at), at.size(),
                     rank, rank));
  return at;
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

bool is_zarr(const std::string& path) {
  return base::to_lower(path).ends_with(".zarr");
}

// Resolutions that a file of this name gets.
int levels_of(const std::string& path, const OutputOptions& options) {
  return base::to_lower(path).ends_with(".ome.zarr") ? options.levels : 1;
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
    if (!box.empty() && std::ranges::none_of(paths, is_zarr))
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

// `said`: lines about what became of the values.
Array pasted(const Program& program, const Array& result, const Lanes& lanes, const Destinations& destinations,
             const OutputOptions& options, const std::string& name, std::vector<std::string>& said) {
  const Array& onto = *destinations.onto;
  const std::optional<Region>& source = lanes.region;
  if (onto.rank() != result.rank() || io::channels_of(onto) != io::channels_of(result))
    fail(fmt::format("{} is {} {} and cannot be pasted onto {}, which is {} {}", name, to_string(result.shape()),
                     result.format().name(), base::quoted(options.onto), to_string(onto.shape()),
                     onto.format().name()));
  if (source) {
    for (std::size_t d = 0; d < source->begin.size(); ++d)
      if (source->begin.size() != result.shape().size() || source->end[d] - source->begin[d] != result.shape()[d])
        fail(fmt::format("{} is {}, which is not the extent of the source region", name, to_string(result.shape())),
             "--onto needs a program that keeps the extents");
  }
  const auto begin = position(options, source, result.rank());
  std::vector<i64> end;
  for (std::size_t d = 0; d < begin.size(); ++d) {
    end.push_back(begin[d] + result.shape()[d]);
    if (begin[d] < 0 || end[d] > onto.shape()[d])
      fail(fmt::format("the target region runs from {} to {} in dimension {}, expected 0 to {} ({} is {})", begin[d],
                       end[d] - 1, d, onto.shape()[d] - 1, base::quoted(options.onto), to_string(onto.shape())));
  }
  Array target = onto.clone();
  const ElementType type = type_of(target.format());
  const Target below{name, type, largest_of(type), !is_float(type)};
  Fitted fitted = fit_values(program, result, below, options.values, lanes);
  said = std::move(fitted.notes);
  i64 lost = 0;
  copy_converted(fitted.array, target.region(begin, end), lost);
  warn_clamped(fitted.array, below, lost, fitted.chosen);
  return target;
}

std::string numbers_of(const Array& array, const std::string& name) {
  std::string text;
  for (const Array& plane : io::as_planes(array)) {
    i64 lost = 0;
    const Array values = in_type(plane, ElementType::f64, lost);
    const i64 count = values.count();
    double low = NAN, high = NAN, sum = 0;
    for (i64 i = 0; i < count; ++i) {
      const double v = values.as<double>()[i];
      low = std::fmin(low, v);  // of a number and none, the number
      high = std::fmax(high, v);
      sum += v;
    }
    if (count == 1)
      text += fmt::format(" {:.9g}", low);
    else if (count > 0)
      text += fmt::format(" from {:.6g} to {:.6g}, mean {:.6g};", low, high, sum / static_cast<double>(count));
  }
  if (!text.empty() && text.back() == ';') text.pop_back();
  if (array.rank() == 0) return fmt::format("{}:{}\n", name, text);
  return fmt::format("{}: {} {},{}\n", name, to_string(array.shape()), array.format().name(), text);
}

}  // namespace

io::RegionWriteOptions by_regions(const std::string& path, const io::WriteOptions& how, const OutputOptions& options) {
  io::RegionWriteOptions all{.write = how, .levels = levels_of(path, options)};
  if (!is_zarr(path)) return all;
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
      fail(fmt::format("the program has no output {}, its outputs are: {}", base::quoted(name),
                       base::list_of(names, "and")),
           or_as_file(base::did_you_mean(name, names), unmarked(word)));
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
  std::map<fs::path, std::size_t> taken;  // by an output
  const auto take = [&](std::size_t output, const std::string& path) {
    all.push_back(path);
    std::error_code ec;
    const auto [other, fresh] = taken.emplace(fs::weakly_canonical(fs::absolute(path, ec), ec), output);
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

namespace {

// An array that is written by regions, complete on the disk and without its name.
std::unique_ptr<io::RegionWriter> partial(const std::string& path, const Array& array,
                                          const io::RegionWriteOptions& how) {
  std::unique_ptr<io::RegionWriter> writer = io::create_regions(path, array.format(), array.shape(), how);
  try {
    writer->write({std::vector<i64>(array.shape().size(), 0), array.shape()}, array);
    writer->sync();
  } catch (...) {
    writer->discard();
    throw;
  }
  return writer;
}

// What an output is written as: one file, or a file for each page.
struct Sheet {
  std::string file, path;
  Array array;
};

std::vector<Sheet> sheets_of(const Destinations& to, std::size_t output, const Array& array, const Shape& leading,
                             const OutputOptions& options) {
  const std::string& marked = to.marked[output];
  if (marked.empty()) return {{to.files[output], to.paths[output], array}};
  std::vector<Sheet> sheets;
  const i64 count = element_count(leading);
  for (i64 page = 0; page < count; ++page) {
    const std::string file = name_of_page(marked, page, count);
    sheets.push_back({file, with_format(file, options), page_of(array, leading, page)});
  }
  return sheets;
}

}  // namespace

void keep_results(const Program& program, const std::vector<Array>& results, const Lanes& lanes,
                  const Destinations& destinations, const OutputOptions& options) {
  // Everything is put together before the first file is touched: an error leaves all of them as they were.
  std::vector<Array> final;
  std::vector<Fitted> fitted(results.size());
  std::vector<Target> targets(results.size());
  std::vector<io::ImageHeader> headers(results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::string& path = destinations.paths[i];
    Array array = results[i];
    if (array.empty()) {  // of a window of other outputs
      final.emplace_back();
      continue;
    }
    if (destinations.marked[i].empty())
      headers[i] = header_of(array.shape(), lanes, destinations);
    else
      headers[i] = header_of(page_of(array, lanes.leading, 0).shape(), page_of(lanes, 0), destinations);
    if (!path.empty() && destinations.onto) {
      array = pasted(program, array, lanes, destinations, options, described(program.outputs()[i], i), fitted[i].notes);
    } else if (!path.empty()) {
      targets[i] = target_of(path, array.format(), lanes, headers[i]);
      fitted[i] = fit_values(program, array, targets[i], options.values, lanes);
      array = fitted[i].array;
    }
    final.push_back(array);
  }
  // All files are complete on the disk before the first one takes its name.
  std::vector<std::unique_ptr<base::AtomicFile>> files;
  std::vector<std::unique_ptr<io::RegionWriter>> folders;
  std::vector<io::WriteReport> reports(final.size());  // of an output, of all its files
  for (std::size_t i = 0; i < final.size(); ++i) {
    if (destinations.paths[i].empty()) continue;
    io::WriteOptions how = destinations.written[i];
    how.header = headers[i];
    if (!destinations.onto && targets[i].integers && io::is_writable_name(destinations.paths[i]))
      how.type = targets[i].type;
    for (const auto& [file, path, array] : sheets_of(destinations, i, final[i], lanes.leading, options)) {
      io::WriteReport report;
      if (!io::is_writable_name(path)) {
        folders.push_back(partial(path, array, by_regions(path, how, options)));
        report = folders.back()->report();
      } else {
        base::allow_descriptors(files.size() + 1);
        files.push_back(std::make_unique<base::AtomicFile>(file, path));
        report = io::write_array(*files.back(), array, how);
        files.back()->sync();
      }
      reports[i].saturated += report.saturated;
      for (std::string& lost : report.lost)
        if (std::ranges::find(reports[i].lost, lost) == reports[i].lost.end()) reports[i].lost.push_back(lost);
    }
  }
  // What goes beside a picture on standard output is no part of it.
  const auto stream = [](const std::string& path) { return !path.empty() && base::is_same_file(path, "-"); };
  const bool busy = std::any_of(destinations.files.begin(), destinations.files.end(), stream);
  for (std::size_t i = 0; i < final.size(); ++i) {
    if (!destinations.paths[i].empty() || final[i].empty()) continue;
    const std::string line = numbers_of(final[i], label(program.outputs()[i], i));
    if (busy)
      tell("{}", line);
    else
      fmt::print("{}", line);
  }
  flush_standard_output();  // which may fail, and is told before a file is replaced
  base::AtomicFile::commit_all(files);
  for (const auto& folder : folders) folder->commit();
  for (std::size_t i = 0; i < final.size(); ++i) {
    const std::string& path = destinations.paths[i];
    if (path.empty()) continue;
    const io::WriteReport& report = reports[i];
    for (const std::string& line : fitted[i].notes) tell("{}", line);
    if (!destinations.onto) warn_clamped(final[i], targets[i], report.saturated, fitted[i].chosen);
    if (!report.lost.empty())
      tell("note: {} does not keep {}\n", base::quoted(path), base::list_of(report.lost, "and"));
  }
}

}  // namespace tessera::cli
