// See packed.hpp.
#include "cli/execute/packed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/files/descriptor.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/execute/convert.hpp"
#include "cli/execute/pages.hpp"
#include "cli/options/options.hpp"
#include "cli/tell.hpp"
#include "io/image.hpp"
#include "pieces/journal.hpp"
#include "pieces/pass_record.hpp"
#include "run/cpu/parallel.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {
namespace {

[[noreturn]] void fail(std::string message, std::string help = "") {
  throw Error(ErrorClass::argument, std::move(message), {}, std::move(help));
}

ElementType type_of(const Format& format) {
  return format.is_struct() ? format.fields[0].type : format.scalar;
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

// What an earlier run has begun of this file, which is whole now. Another process's is left alone.
void take_leftovers_away(const std::string& path) {
  if (base::is_stream(path)) return;
  const std::unique_ptr<pieces::Journal> journal = pieces::Journal::left(path);
  if (!journal) return;
  try {
    io::discard_partial(path);
    pieces::PassRecord::remove(path);
    journal->remove();
  } catch (const Error& error) {
    tell("note: what an earlier run has begun stays: {}\n", error.what());
  }
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

// An array that is written by regions, complete on the disk and without its name. Nobody else writes it meanwhile.
class Packed::InRegions {
 public:
  InRegions(const std::string& path, const Array& array, const io::RegionWriteOptions& how) : lock_(path) {
    try {
      writer_ = io::create_regions(path, array.format(), array.shape(), how);
      writer_->write({std::vector<i64>(array.shape().size(), 0), array.shape()}, array);
      writer_->sync();
    } catch (...) {
      discard();
      throw;
    }
  }
  ~InRegions() {
    if (!done_) discard();
  }
  InRegions(const InRegions&) = delete;
  InRegions& operator=(const InRegions&) = delete;

  io::WriteReport report() const { return writer_->report(); }
  void commit() {
    writer_->commit();
    done_ = true;
    lock_.remove();
  }

 private:
  void discard() {
    try {
      if (writer_) writer_->discard();
    } catch (const Error&) {  // what was to be told is told already
    }
    lock_.leave();
  }

  pieces::Journal lock_;
  std::unique_ptr<io::RegionWriter> writer_;
  bool done_ = false;
};

Packed::Packed(const Program& program, const std::vector<Array>& results, const Lanes& lanes,
               const Destinations& destinations, const OutputOptions& options, int threads)
    : destinations_(destinations) {
  // Everything is put together before the first file is touched: an error leaves all of them as they were.
  for (std::size_t i = 0; i < results.size(); ++i) {
    Result& to = results_.emplace_back();
    const std::string& path = destinations.paths[i];
    to.label = label(program.outputs()[i], i);
    to.array = results[i];
    if (to.array.empty()) continue;  // of a window of other outputs
    if (destinations.marked[i].empty())
      to.header = header_of(to.array.shape(), lanes, destinations);
    else
      to.header = header_of(page_of(to.array, lanes.leading, 0).shape(), page_of(lanes, 0), destinations);
    if (!path.empty() && destinations.onto) {
      const std::string name = described(program.outputs()[i], i);
      to.array = pasted(program, to.array, lanes, destinations, options, name, to.fitted.notes);
    } else if (!path.empty()) {
      to.target = target_of(path, to.array.format(), lanes, to.header);
      to.fitted = fit_values(program, to.array, to.target, options.values, lanes);
      to.array = to.fitted.array;
    }
  }
  for (std::size_t i = 0; i < results_.size(); ++i)
    if (!destinations.paths[i].empty()) pack(i, lanes.leading, options, threads);
}

Packed::~Packed() = default;

// All files are complete on the disk before the first one takes its name.
void Packed::pack(std::size_t output, const Shape& leading, const OutputOptions& options, int threads) {
  Result& result = results_[output];
  io::WriteOptions how = destinations_.written[output];
  how.header = result.header;
  const std::string& path = destinations_.paths[output];
  const bool file = io::is_writable_name(path);
  if (!destinations_.onto && result.target.integers && file) how.type = result.target.type;
  const std::vector<Sheet> sheets = sheets_of(destinations_, output, result.array, leading, options);
  if (sheets.size() > 1) base::allow_descriptors();
  const std::size_t first_file = files_.size(), first_folder = folders_.size();
  (file ? files_.resize(first_file + sheets.size()) : folders_.resize(first_folder + sheets.size()));
  std::vector<io::WriteReport> reports(sheets.size());
  const auto one = [&](i64 number, int) {
    const auto k = static_cast<std::size_t>(number);
    const Sheet& sheet = sheets[k];
    if (!file) {
      auto& to = folders_[first_folder + k];
      to = std::make_unique<InRegions>(sheet.path, sheet.array, by_regions(sheet.path, how, options));
      reports[k] = to->report();
      return;
    }
    auto& to = files_[first_file + k];
    to = std::make_unique<base::AtomicFile>(sheet.file, sheet.path);
    reports[k] = io::write_array(*to, sheet.array, how);
    to->sync();
  };
  run::cpu::parallel_tiles(std::ssize(sheets), threads, one);
  for (const io::WriteReport& report : reports) {
    result.saturated += report.saturated;
    for (const std::string& lost : report.lost)
      if (std::ranges::find(result.lost, lost) == result.lost.end()) result.lost.push_back(lost);
  }
}

void Packed::keep() {
  // What goes beside a picture on standard output is no part of it.
  const auto stream = [](const std::string& path) { return !path.empty() && base::is_same_file(path, "-"); };
  const bool busy = std::ranges::any_of(destinations_.files, stream);
  for (std::size_t i = 0; i < results_.size(); ++i) {
    if (!destinations_.paths[i].empty() || results_[i].array.empty()) continue;
    const std::string line = numbers_of(results_[i].array, results_[i].label);
    if (busy)
      tell("{}", line);
    else
      fmt::print("{}", line);
  }
  flush_standard_output();  // which may fail, and is told before a file is replaced
  base::AtomicFile::commit_all(files_);
  for (const auto& folder : folders_) folder->commit();
  for (const std::string& path : destinations_.files)
    if (!path.empty() && !io::is_chunked_name(path)) take_leftovers_away(path);
  for (std::size_t i = 0; i < results_.size(); ++i) {
    const std::string& path = destinations_.paths[i];
    const Result& result = results_[i];
    if (path.empty()) continue;
    for (const std::string& line : result.fitted.notes) tell("{}", line);
    if (!destinations_.onto) warn_clamped(result.array, result.target, result.saturated, result.fitted.chosen);
    if (!result.lost.empty())
      tell("note: {} does not keep {}\n", base::quoted(path), base::list_of(result.lost, "and"));
  }
}

}  // namespace tessera::cli
