// Outputs. Whatever can be refused is refused before the run; what is written is written whole.
#include "cli/results.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <memory>

#include "base/files.hpp"
#include "base/text.hpp"
#include "cli/convert.hpp"
#include "cli/options.hpp"
#include "io/image.hpp"
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

void check_path(const std::string& path) {
  if (!io::is_writable_name(path))
    fail(fmt::format("output {} has no suffix of a known format, expected {}", base::quoted(path),
                     base::list_of(io::writable_suffixes())));
  std::error_code ec;
  const fs::path folder = fs::path(path).parent_path();
  if (!folder.empty() && !fs::is_directory(folder, ec))
    throw Error(ErrorClass::io, fmt::format("output {} cannot be written: there is no folder {}", base::quoted(path),
                                            base::quoted(folder.string())));
  if (fs::is_directory(path, ec))
    throw Error(ErrorClass::io, fmt::format("output {} cannot be written: it is a folder", base::quoted(path)));
  // A file is replaced by one made beside it; a pipe or a device is written as it is.
  const bool in_place = fs::exists(path, ec) && !fs::is_regular_file(path, ec);
  const std::string writable = in_place ? path : folder.empty() ? "." : folder.string();
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

// Scalars of one format or a struct's fields into the format of the image below; counts what was clamped.
void copy_converted(const Array& from, const Array& to, i64& lost) {
  const auto sources = io::as_planes(from), targets = io::as_planes(to);
  for (std::size_t c = 0; c < targets.size(); ++c) {
    i64 more = 0;
    targets[c].copy_from(in_type(sources[c], targets[c].format().scalar, more));
    lost += more;
  }
}

// In two digits, 100 as it is.
std::string percent(double part) {
  return part < 0.1 ? fmt::format("{:.2g}", 100 * part) : fmt::format("{:.0f}", 100 * part);
}

void warn_clamped(const std::string& what, i64 clamped, i64 values, ElementType type) {
  if (values == 0 || clamped * 1000 <= values) return;
  fmt::print(stderr, "warning: {}% of the values of {} did not fit {} and were clamped\n",
             percent(static_cast<double>(clamped) / static_cast<double>(values)), what, name_of(type));
  fmt::print(stderr, "help: a .tif or .npy file keeps them\n");
}

double full_scale(ElementType type) {
  return type == ElementType::u16 ? 65535 : 255;
}

// 0..1 to 0..full, as single floats.
Array scaled(const Array& array, double full) {
  Array result(array.format().is_struct()
                   ? io::pixel_format(ElementType::f32, static_cast<int>(array.format().fields.size()))
                   : Format(ElementType::f32),
               array.shape());
  i64 lost = 0;
  copy_converted(array, result, lost);
  float* values = result.as<float>();
  const i64 count = static_cast<i64>(result.format().size() / sizeof(float)) * result.count();
  for (i64 i = 0; i < count; ++i) values[i] *= static_cast<float>(full);
  return result;
}

bool all_float(const Format& f) {
  if (!f.is_struct()) return is_float(f.scalar);
  return std::all_of(f.fields.begin(), f.fields.end(), [](const auto& field) { return is_float(field.type); });
}

Array pasted(const Array& result, const Array& onto, const std::optional<Region>& source, const OutputOptions& options,
             const std::string& name) {
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
  const Format& format = target.format();
  const ElementType type = format.is_struct() ? format.fields[0].type : format.scalar;
  const bool fill = options.unit && all_float(result.format()) && !is_float(type);
  i64 lost = 0;
  copy_converted(fill ? scaled(result, full_scale(type)) : result, target.region(begin, end), lost);
  warn_clamped(name, lost, result.count() * io::channels_of(result), type);
  return target;
}

io::ImageHeader header_of(const Array& array, const Lanes& lanes, const Destinations& destinations) {
  if (destinations.onto) return destinations.onto_header;
  const auto found = std::find_if(lanes.headers.begin(), lanes.headers.end(), [&](const auto& header) {
    return io::header_for(header, array.shape()).has_value();
  });
  return found == lanes.headers.end() ? io::ImageHeader{} : *found;
}

void print_numbers(const Array& array, const std::string& name) {
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
  if (array.rank() == 0)
    fmt::print("{}:{}\n", name, text);
  else
    fmt::print("{}: {} {},{}\n", name, to_string(array.shape()), array.format().name(), text);
}

}  // namespace

Destinations check_outputs(const Program& program, const OutputOptions& options) {
  const auto& outputs = program.outputs();
  Destinations result;
  result.paths.resize(outputs.size());
  std::vector<std::string> names, by_position;
  for (const Parameter& p : outputs) names.push_back(p.name);
  const auto give = [&](std::size_t i, const std::string& path) {
    if (!result.paths[i].empty())
      fail(fmt::format("{} is given two files: {} and {}", described(outputs[i], i), base::quoted(result.paths[i]),
                       base::quoted(path)));
    check_path(path);
    result.paths[i] = path;
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
           base::did_you_mean(name, names));
    }
  }
  std::size_t next = 0;
  for (const std::string& path : by_position) {
    while (next < outputs.size() && !result.paths[next].empty()) ++next;
    if (next == outputs.size())
      fail(fmt::format("output file {} is one too many, the program has {}", base::quoted(path), outputs.size()));
    give(next, path);
  }
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

std::vector<Array> join_lanes(const Program& program, const Lanes& lanes,
                              const std::vector<std::vector<Array>>& results) {
  if (results.size() == 1) return results[0];
  const auto& outputs = program.outputs();
  std::vector<Array> joined;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Array& first = results[0][i];
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

void keep_results(const Program& program, const std::vector<Array>& results, const Lanes& lanes,
                  const Destinations& destinations, const OutputOptions& options) {
  // Everything is put together before the first file is touched: an error leaves all of them as they were.
  std::vector<Array> final;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::string& path = destinations.paths[i];
    Array array = results[i];
    if (!path.empty() && destinations.onto)
      array = pasted(array, *destinations.onto, lanes.region, options, described(program.outputs()[i], i));
    else if (!path.empty() && options.unit && all_float(array.format()) && !io::stores_floats(path))
      array = scaled(array, full_scale(ElementType::u8));
    final.push_back(array);
  }
  // All files are complete on the disk before the first one takes its name.
  std::vector<std::unique_ptr<base::AtomicFile>> files;
  std::vector<io::WriteReport> reports;
  for (std::size_t i = 0; i < final.size(); ++i) {
    const std::string& path = destinations.paths[i];
    if (path.empty()) continue;
    files.push_back(std::make_unique<base::AtomicFile>(path));
    reports.push_back(io::write_array(*files.back(), final[i], {.header = header_of(final[i], lanes, destinations)}));
    files.back()->sync();
  }
  for (const auto& file : files) file->commit();
  std::size_t written = 0;
  for (std::size_t i = 0; i < final.size(); ++i) {
    const std::string& path = destinations.paths[i];
    if (path.empty()) {
      print_numbers(final[i], label(program.outputs()[i], i));
      continue;
    }
    const io::WriteReport& report = reports[written++];
    warn_clamped(base::quoted(path), report.saturated, report.values, report.type);
  }
}

}  // namespace tessera::cli
