// Elements that lie as they are; see raw.hpp.
//
// A region is a number of runs: elements that stand one behind the other in the file and in the array. Each run is read
// or written at once where the bytes are the same in both, else through a small buffer.
#include "io/regions/raw.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>
#include <span>
#include <utility>

#include "base/files/files.hpp"
#include "base/text.hpp"
#include "io/regions/partial_file.hpp"
#include "tessera/error.hpp"

namespace tessera::io {
namespace {

constexpr i64 piece_bytes = i64{1} << 20;

// Calls with every run of the region: the number of its first element in the file, and the elements in the array.
void for_each_run(const Shape& shape, const Region& region, const Array& array,
                  const std::function<void(i64, const Array&)>& body) {
  if (array.count() == 0) return;
  const std::size_t rank = shape.size();
  // Dimensions from `whole` on are whole in the region, so that the one before it makes runs.
  std::size_t whole = rank;
  i64 stride = static_cast<i64>(array.format().size());
  const auto is_dense = [&](std::size_t d) { return array.shape()[d] == 1 || array.strides()[d] == stride; };
  while (whole > 1 && array.shape()[whole - 1] == shape[whole - 1] && is_dense(whole - 1)) {
    stride *= shape[whole - 1];
    --whole;
  }
  // A row that has gaps in the array is a run, too.
  const std::size_t running = whole > 0 && (whole == rank || is_dense(whole - 1)) ? whole - 1 : whole;
  std::vector<i64> begin(rank, 0), end = array.shape();
  for (std::size_t d = 0; d < running; ++d) end[d] = 1;
  for (;;) {
    i64 first = 0;
    for (std::size_t d = 0; d < rank; ++d) first = first * shape[d] + region.begin[d] + begin[d];
    body(first, array.region(begin, end));
    std::size_t d = running;
    for (; d > 0; --d) {
      end[d - 1] = ++begin[d - 1] + 1;
      if (begin[d - 1] < array.shape()[d - 1]) break;
      begin[d - 1] = 0;
      end[d - 1] = 1;
    }
    if (d == 0) return;
  }
}

i64 samples_of(const Format& format) {
  return format.is_struct() ? static_cast<i64>(format.fields.size()) : 1;
}

// A row, of which any part can be had. One that is all of the array is made of parts.
Shape row_of(const Shape& shape) {
  constexpr i64 part = 1 << 16;  // elements
  Shape chunk(shape.size(), 1);
  if (!chunk.empty()) chunk.back() = shape.size() == 1 ? std::min(part, shape.back()) : shape.back();
  return chunk;
}

class RawReader : public FileReader {
 public:
  RawReader(std::string path, FileLayout layout, RawElements elements, std::vector<RawPart> parts)
      : path_(std::move(path)), layout_(std::move(layout)), elements_(std::move(elements)), parts_(std::move(parts)) {
    layout_.chunk = row_of(layout_.shape);
    const i64 count = element_count(layout_.shape), files = static_cast<i64>(parts_.size());
    per_part_ = count / files;
    for (const RawPart& part : parts_) {
      readings_.push_back(std::make_unique<base::Reading>(part.path));
      const i64 follow = base::file_size(part.path).value_or(0) - part.offset;
      if (follow < per_part_ * elements_.bytes) cut_short(part.path);
    }
  }

  const FileLayout& layout() const override { return layout_; }
  std::string identity() const override {
    std::string all =
        fmt::format("{}, {} of {}", file_identity(path_), to_string(layout_.shape), layout_.element.name());
    for (const RawPart& part : parts_)
      if (part.path != path_) all += "; " + file_identity(part.path);
    return all;
  }
  i64 beside(const Region&) const override { return elements_.convert ? 2 * piece_bytes : 0; }

  void read(const Region& region, const Array& to) const override {
    check_region(layout_, path_, region, to);
    for_each_run(layout_.shape, region, to, [&](i64 first, const Array& run) { read_run(first, run); });
  }

 private:
  [[noreturn]] void cut_short(const std::string& path) const {
    throw Error(ErrorClass::io,
                fmt::format("cannot read {} as {}: it declares {} elements of {} bytes, but {} is cut short",
                            base::quoted(path_, 1024), layout_.format_name, to_string(layout_.shape), elements_.bytes,
                            path == path_ ? "it" : base::quoted(path, 1024)));
  }

  void read_run(i64 first, const Array& run) const {
    const i64 count = run.count(), size = static_cast<i64>(layout_.element.size());
    const bool dense = run.contiguous(), direct = dense && !elements_.convert;
    auto* to = static_cast<std::byte*>(run.data());
    for (i64 done = 0; done < count;) {
      const i64 part = (first + done) / per_part_, within = (first + done) % per_part_;
      i64 n = std::min(count - done, per_part_ - within);
      if (!direct) n = std::min(n, std::max<i64>(piece_bytes / std::max(elements_.bytes, size), 1));
      const RawPart& place = parts_[static_cast<std::size_t>(part)];
      const base::Reading& reading = *readings_[static_cast<std::size_t>(part)];
      const i64 offset = place.offset + within * elements_.bytes;
      const auto take = [&](std::span<std::byte> bytes) {
        if (reading.read_at(offset, bytes) < bytes.size()) cut_short(place.path);
      };
      if (direct) {
        take(std::span(to + done * size, static_cast<std::size_t>(n * size)));
      } else {
        std::vector<std::byte> raw(static_cast<std::size_t>(n * elements_.bytes));
        take(raw);
        place_run(raw, first + done, n, run, done, dense);
      }
      done += n;
    }
  }

  // `n` elements of the file into the run, which is one row where it is not dense.
  void place_run(const std::vector<std::byte>& raw, i64 first, i64 n, const Array& run, i64 done, bool dense) const {
    const i64 size = static_cast<i64>(layout_.element.size());
    std::vector<std::byte> row(dense ? 0 : static_cast<std::size_t>(n * size));
    std::byte* to = dense ? static_cast<std::byte*>(run.data()) + done * size : row.data();
    if (elements_.convert)
      elements_.convert(raw.data(), to, n, first);
    else
      std::copy(raw.begin(), raw.end(), to);
    if (dense) return;
    const std::vector<i64> strides = {run.strides().back()};
    Array::share(run.owner(), static_cast<std::byte*>(run.data()) + done * strides[0], layout_.element, {n}, strides)
        .copy_from(Array::borrow(row.data(), layout_.element, {n}));
  }

  std::string path_;
  FileLayout layout_;
  RawElements elements_;
  std::vector<RawPart> parts_;
  std::vector<std::unique_ptr<base::Reading>> readings_;
  i64 per_part_ = 0;
};

// Dense; bytes of no field are 0, as in every file.
Array without_padding(const Array& run) {
  if (!run.format().has_padding()) return run.contiguous() ? run : run.clone();
  Array dense(run.format(), run.shape());
  std::memset(dense.data(), 0, static_cast<std::size_t>(dense.count()) * dense.format().size());
  for (const Format::Field& f : run.format().fields) dense.field(f.name).copy_from(run.field(f.name));
  return dense;
}

class RawWriter : public FileWriter {
 public:
  RawWriter(const std::string& path, FileLayout layout, const std::string& header, const RegionWriteOptions& options,
            std::optional<std::vector<std::string>> lost)
      : layout_(std::move(layout)),
        lost_(std::move(lost)),
        file_(path, options.resume, options.writers),
        begin_(static_cast<i64>(header.size())) {
    layout_.chunk = row_of(layout_.shape);
    const auto bytes = std::as_bytes(std::span(header.data(), header.size()));
    try {
      file_.begin_with(0, bytes);
      file_.reach(begin_ + element_count(layout_.shape) * static_cast<i64>(layout_.element.size()));
    } catch (...) {
      if (!file_.resumed()) file_.discard();
      throw;
    }
  }

  const FileLayout& layout() const override { return layout_; }
  bool resumed() const override { return file_.resumed(); }
  std::optional<std::vector<std::string>> lost_metadata() const override { return lost_; }
  i64 beside(const Region&) const override { return piece_bytes; }
  void sync() override { file_.sync(); }
  void commit() override { file_.commit(); }
  void discard() override { file_.discard(); }

  void write(const Region& region, const Array& from) override {
    check_chunks(layout_, file_.path(), region, from);
    const i64 size = static_cast<i64>(layout_.element.size());
    for_each_run(layout_.shape, region, from, [&](i64 first, const Array& run) {
      const Array dense = without_padding(run);
      file_.write_at(begin_ + first * size, std::span(static_cast<const std::byte*>(dense.data()),
                                                      static_cast<std::size_t>(dense.count() * size)));
    });
  }

 private:
  FileLayout layout_;
  std::optional<std::vector<std::string>> lost_;
  PartialFile file_;
  i64 begin_ = 0;
};

bool is_within(const FileLayout& layout, const Region& region) {
  const std::size_t rank = layout.shape.size();
  if (region.begin.size() != rank || region.end.size() != rank) return false;
  for (std::size_t d = 0; d < rank; ++d)
    if (region.begin[d] < 0 || region.begin[d] > region.end[d] || region.end[d] > layout.shape[d]) return false;
  return true;
}

bool holds(const Array& array, const FileLayout& layout, const Region& region) {
  bool good = array.shape().size() == layout.shape.size() && array.format() == layout.element && !array.on_device();
  for (std::size_t d = 0; good && d < layout.shape.size(); ++d)
    good = array.shape()[d] == region.end[d] - region.begin[d];
  return good;
}

}  // namespace

void check_extents(const Source& source, const FileLayout& layout, i64 bytes) {
  double all = std::max(static_cast<double>(layout.element.size()), static_cast<double>(bytes));
  for (const i64 extent : layout.shape) all *= static_cast<double>(extent);
  if (all > 0x1p62)
    source.fail(layout.format_name,
                fmt::format("it declares {} elements: the file is damaged", to_string(layout.shape)));
}

void check_region(const FileLayout& layout, const std::string& path, const Region& region, const Array& array) {
  const auto whole = [&] {
    return fmt::format("{} of {} of {}", to_string(layout.shape), layout.element.name(), base::quoted(path, 1024));
  };
  if (!is_within(layout, region))
    throw Error(ErrorClass::argument,
                fmt::format("a region of {} is not within {}", to_string(array.shape()), whole()));
  if (!holds(array, layout, region))
    throw Error(ErrorClass::argument, fmt::format("a region of {} needs an array of its extents and type in memory, "
                                                  "not {} of {}",
                                                  whole(), to_string(array.shape()), array.format().name()));
}

void check_chunks(const FileLayout& layout, const std::string& path, const Region& region, const Array& array) {
  check_region(layout, path, region, array);
  bool good = true;
  for (std::size_t d = 0; good && d < layout.shape.size(); ++d) {
    const i64 chunk = layout.chunk[d], end = region.end[d];
    good = region.begin[d] % chunk == 0 && (end % chunk == 0 || end == layout.shape[d]);
  }
  if (good) return;
  throw Error(
      ErrorClass::argument,
      fmt::format("a region of {} is none of chunks of {} in {} of {} of {}", to_string(array.shape()),
                  to_string(layout.chunk), to_string(layout.shape), layout.element.name(), base::quoted(path, 1024)));
}

RawElements raw_elements(const std::string& path, const FileLayout& layout, const FileNumber& number) {
  const i64 samples = samples_of(layout.element);
  RawElements elements{samples * static_cast<i64>(number.size)};
  if (number.is_native()) return elements;
  elements.convert = [=, format = layout.format_name](const std::byte* from, std::byte* to, i64 count, i64 first) {
    if (const auto bad = place_numbers(number, from, to, static_cast<std::size_t>(count * samples)))
      throw Error(ErrorClass::io,
                  fmt::format("cannot read {} as {}: element {} {}", base::quoted(path, 1024), format,
                              first + static_cast<i64>(*bad) / samples, unfitting(number, from + *bad * number.size)));
  };
  return elements;
}

std::unique_ptr<FileReader> open_raw(const std::string& path, FileLayout layout, RawElements elements,
                                     std::vector<RawPart> parts) {
  return std::make_unique<RawReader>(path, std::move(layout), std::move(elements), std::move(parts));
}

std::unique_ptr<FileWriter> create_raw(const std::string& path, FileLayout layout, const std::string& header,
                                       const RegionWriteOptions& options,
                                       std::optional<std::vector<std::string>> lost) {
  return std::make_unique<RawWriter>(path, std::move(layout), header, options, std::move(lost));
}

}  // namespace tessera::io
