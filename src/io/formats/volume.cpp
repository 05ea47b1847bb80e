// Headers of text and plain numbers; see volume.hpp. Writing is in volume_write.cpp.
//
// Files of numbers lie in the folder of their header or below it: a header from a stranger names no others.
#include "io/formats/volume.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/text.hpp"
#include "io/axes.hpp"
#include "io/gzip.hpp"
#include "io/regions/open_file.hpp"
#include "io/regions/raw.hpp"
#include "tessera/error.hpp"

namespace tessera::io {
namespace {

constexpr std::string_view points_of_arrays = "tzyx";
constexpr i64 piece_numbers = 1 << 15;  // that stay in the cache between reading and converting
constexpr std::size_t most_files = 1 << 20;
constexpr std::size_t first_bytes = std::size_t{1} << 16;

bool is_channel(char letter) {
  return letter == 'c' || letter == 's';
}

i64 samples_of(const Format& format) {
  return format.is_struct() ? static_cast<i64>(format.fields.size()) : 1;
}

// Of the numbers, in each of the files that have them.
i64 bytes_of_file(const VolumeFile& file) {
  const i64 files = static_cast<i64>(std::max<std::size_t>(file.files.size(), 1));
  return element_count(file.layout.shape) / files * samples_of(file.layout.element) *
         static_cast<i64>(file.number.size);
}

// ---- numbers in order --------------------------------------------------------------------------------------------

// The numbers of one file, unpacked.
class Numbers {
 public:
  Numbers(const Source& source, InOrder& in, const VolumeFile& file) : source_(source), in_(in), file_(file) {
    for (i64 k = 0; k < file.skip_lines; ++k) skip_line();
    // Lines count before unpacking, bytes after.
    if (file.packed) unpacker_.emplace(in.piece(), [this] { return in_.piece(); });
    skip_bytes();
  }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;

  void read(std::span<std::byte> out) {
    const std::size_t got = unpacker_ ? unpacker_->read(out) : in_.read(out);
    if (got < out.size()) cut_short();
  }
  // A packed file is unpacked to its checksum, where that is not far behind the numbers.
  void finish() {
    constexpr std::size_t far = std::size_t{1} << 20;
    if (!unpacker_) return;
    unpacker_->check_end(far);
    if (!unpacker_->failure().empty())
      source_.fail(file_.layout.format_name, "behind its numbers, " + unpacker_->failure());
  }

 private:
  [[noreturn]] void cut_short() const {
    const bool damaged = unpacker_ && !unpacker_->failure().empty();
    source_.fail(file_.layout.format_name, "in its numbers, " + (damaged ? unpacker_->failure() : "it is cut short"));
  }
  void skip_line() {
    while (in_.peek() >= 0 && in_.peek() != '\n') in_.advance();
    if (in_.peek() < 0) cut_short();
    in_.advance();
  }
  void skip_bytes() {
    const double left =
        file_.at_end ? in_.left() - static_cast<double>(bytes_of_file(file_)) : static_cast<double>(file_.skip_bytes);
    if (!(left >= 0) || std::isinf(left)) cut_short();
    std::vector<std::byte> scratch(first_bytes);
    for (auto rest = static_cast<std::size_t>(left); rest > 0;) {
      const std::size_t n = std::min(rest, scratch.size());
      read(std::span(scratch).first(n));
      rest -= n;
    }
  }

  const Source& source_;
  InOrder& in_;
  const VolumeFile& file_;
  std::optional<Unpacker> unpacker_;
};

// ---- files beside the header -------------------------------------------------------------------------------------

std::string beside(const Source& source, std::string_view format, const std::string& name) {
  namespace fs = std::filesystem;
  const auto own = [&](const std::string& why) {
    source.fail(format, fmt::format("its numbers are in the file {}, {}", base::quoted(name, 1024), why),
                "keep the header and the files that it names in one folder");
  };
  const fs::path relative(name);
  if (source.path.empty()) own("which is not beside it");
  if (name.empty() || relative.is_absolute() ||
      std::find(relative.begin(), relative.end(), fs::path("..")) != relative.end())
    own("expected one in the folder of the header");
  const fs::path path = fs::path(source.path).parent_path() / relative;
  std::error_code ec;
  if (!fs::is_regular_file(path, ec)) own("which is not there");
  return path.string();
}

std::vector<std::string> paths_of(const Source& source, const VolumeFile& file) {
  std::vector<std::string> paths;
  if (file.files.size() > most_files) source.fail(file.layout.format_name, "it names too many files");
  for (const std::string& name : file.files) paths.push_back(beside(source, file.layout.format_name, name));
  const i64 count = static_cast<i64>(std::max<std::size_t>(paths.size(), 1));
  if (element_count(file.layout.shape) % count != 0)
    source.fail(file.layout.format_name, fmt::format("its {} elements are no whole number for each of {} files",
                                                     to_string(file.layout.shape), count));
  return paths;
}

void read_numbers(const Source& source, InOrder& in, const VolumeFile& file, std::byte* to, i64 first, i64 elements) {
  Numbers numbers(source, in, file);
  const FileNumber& n = file.number;
  const i64 count = elements * samples_of(file.layout.element);
  const std::size_t size = size_of(n.type());
  if (n.is_native()) {
    numbers.read(std::span(to, static_cast<std::size_t>(count) * size));
    return numbers.finish();
  }
  std::vector<std::byte> raw(static_cast<std::size_t>(std::min(piece_numbers, count)) * n.size);
  for (i64 done = 0; done < count; done += piece_numbers) {
    const auto now = static_cast<std::size_t>(std::min(piece_numbers, count - done));
    numbers.read(std::span(raw).first(now * n.size));
    if (const auto bad = place_numbers(n, raw.data(), to + static_cast<std::size_t>(done) * size, now))
      source.fail(
          file.layout.format_name,
          fmt::format("element {} {}", first + (done + static_cast<i64>(*bad)) / samples_of(file.layout.element),
                      unfitting(n, raw.data() + *bad * n.size)),
          "store it as 32-bit integers or as doubles");
  }
  numbers.finish();
}

void check_header(const Source& source, const VolumeFile& file) {
  for (const i64 extent : file.layout.shape)
    if (extent < 1) source.fail(file.layout.format_name, fmt::format("it has an extent of {}", extent));
  check_extents(source, file.layout, samples_of(file.layout.element) * static_cast<i64>(file.number.size));
}

// All elements in the order of the file, behind the header that was read from `in`.
Array read_elements(const Source& source, InOrder& in, const VolumeFile& file) {
  const FileLayout& layout = file.layout;
  check_header(source, file);
  const std::vector<std::string> paths = paths_of(source, file);
  const double growth = static_cast<double>(size_of(file.number.type())) / static_cast<double>(file.number.size);
  const double ratio = std::max(growth, 1.0) * (file.packed ? gzip_ratio : 1);
  const bool copied = source.options.axes.empty() && arranging_copies(layout.letters.substr(0, layout.shape.size()));
  const auto make = [&](const Source& numbers) {
    const double bytes = static_cast<double>(element_count(layout.shape)) * static_cast<double>(layout.element.size());
    return allocate(numbers, layout.format_name, layout.element, layout.shape, ratio, copied ? bytes : 0);
  };
  if (paths.empty()) {
    const Array array = make(source);
    read_numbers(source, in, file, array.as<std::byte>(), 0, array.count());
    return array;
  }
  double total = 0;
  for (const std::string& path : paths) total += static_cast<double>(base::file_size(path).value_or(0));
  Source all = source;
  const base::Reading nothing(paths[0]);
  all.rest = &nothing;
  all.length = static_cast<i64>(total);
  const Array array = make(all);
  const i64 each = array.count() / static_cast<i64>(paths.size());
  for (std::size_t k = 0; k < paths.size(); ++k) {
    const base::Reading reading(paths[k]);
    std::vector<std::byte> start(first_bytes);
    start.resize(reading.read(start));
    Source numbers = source;
    numbers.bytes = start;
    numbers.rest = &reading;
    numbers.length = base::file_size(paths[k]);
    InOrder in_part(numbers);
    const i64 first = static_cast<i64>(k) * each;
    read_numbers(numbers, in_part, file, array.as<std::byte>() + first * static_cast<i64>(layout.element.size()), first,
                 each);
  }
  return array;
}

}  // namespace

bool HeaderLines::next(std::string& line) {
  line.clear();
  int c = in_.peek();
  if (c < 0) return false;
  for (; c >= 0; c = in_.peek()) {
    in_.advance();
    if (++read_ > longest_volume_header)
      source_.fail(format_, fmt::format("its header has more than {}",
                                        base::format_bytes(static_cast<double>(longest_volume_header))));
    if (c == '\n') break;
    line += static_cast<char>(c);
  }
  if (line.ends_with('\r')) line.pop_back();
  return true;
}

void move_volume_origin(VolumeHeader& h, std::span<const i64> begin) {
  for (std::size_t d = 0; d < begin.size() && d < h.axes.size(); ++d) {
    const VolumeHeader::Axis& axis = h.axes[d];
    const auto points = static_cast<double>(begin[begin.size() - 1 - d]);
    for (std::size_t k = 0; k < axis.direction.size() && k < h.origin.size(); ++k)
      h.origin[k] += points * axis.spacing * axis.direction[k];
  }
}

std::string volume_letters(std::size_t points, bool has_time) {
  std::string letters = has_time ? "xyz" : "xyzt";
  letters.resize(std::min(points, letters.size()));
  return letters + std::string(points - letters.size(), 'q');
}

std::vector<int> places_in_array(const std::string& letters) {
  std::vector<std::size_t> order;
  bool known = true;
  for (std::size_t d = 0; d < letters.size(); ++d) {
    if (is_channel(letters[d])) continue;
    order.push_back(d);
    known = known && points_of_arrays.find(letters[d]) != std::string_view::npos;
  }
  if (known)
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return points_of_arrays.find(letters[a]) < points_of_arrays.find(letters[b]);
    });
  std::vector<int> places(letters.size(), -1);
  for (std::size_t k = 0; k < order.size(); ++k) places[order[k]] = static_cast<int>(order.size() - 1 - k);
  return places;
}

Format volume_element(ElementType type, char letter, i64 samples) {
  if (letter == 's' && samples > 1 && samples <= 4) return pixel_format(type, static_cast<int>(samples));
  std::vector<std::string> names;
  for (i64 k = 0; k < samples; ++k) names.push_back(band_name(static_cast<int>(k)));
  return named_pixels(type, names);
}

std::vector<std::string> files_of_pattern(const std::string& pattern, i64 first, i64 last, i64 step) {
  // One number, with or without leading zeros: anything else of a format is not for strangers.
  const std::size_t at = pattern.find('%');
  const std::size_t end = at == std::string::npos ? at : pattern.find_first_not_of("0123456789", at + 1);
  if (end == std::string::npos || pattern[end] != 'd' || pattern.find('%', end) != std::string::npos || step == 0)
    return {};
  const std::string digits = pattern.substr(at + 1, end - at - 1);
  const i64 width = digits.empty() ? 0 : base::parse_integer(digits).value_or(-1);
  constexpr i64 widest = 20;
  if (width < 0 || width > widest || first < 0 || last < 0) return {};
  std::vector<std::string> names;
  for (i64 k = first; step > 0 ? k <= last : k >= last; k += step) {
    const bool zeros = digits.starts_with('0');
    names.push_back(pattern.substr(0, at) + (zeros ? fmt::format("{:0{}}", k, width) : fmt::format("{:{}}", k, width)) +
                    pattern.substr(end + 1));
    if (names.size() > most_files) return {};
  }
  return names;
}

std::string numbers_in_words(std::span<const double> values, std::string_view separator) {
  std::string out;
  for (const double v : values) {
    if (!out.empty()) out += separator;
    out += std::isnan(v) ? "nan" : fmt::format("{}", v);
  }
  return out;
}

Array decode_volume(const Source& source, const VolumeFormat& format) {
  InOrder in(source);
  VolumeFile file = format.parse(source, in);
  const Array elements = read_elements(source, in, file);
  FileLayout& layout = file.layout;
  Image image{elements, layout.header};
  if (source.options.axes.empty()) {
    image = arrange(elements, layout.letters, layout.steps, std::move(image.header));
  } else {
    image.header.steps = layout.steps;
  }
  if (source.header != nullptr) *source.header = std::move(image.header);
  return image.array;
}

std::unique_ptr<FileReader> open_volume(const std::string& path, const ReadOptions& options, const VolumeFormat& format,
                                        bool (*matches)(const Source&)) {
  std::error_code ec;
  if (path == "-" || !std::filesystem::is_regular_file(path, ec)) return nullptr;
  const OpenFile opened(path, options, first_bytes);
  const Source& source = opened.source;
  if (!matches(source)) return nullptr;
  InOrder in(source);
  VolumeFile file = format.parse(source, in);
  check_header(source, file);
  if (file.packed || file.skip_lines > 0) return nullptr;  // numbers whose places are not known
  std::vector<RawPart> parts;
  for (const std::string& name : paths_of(source, file)) parts.push_back({name, file.skip_bytes});
  if (parts.empty()) parts.push_back({path, static_cast<i64>(file.header_end) + file.skip_bytes});
  for (RawPart& part : parts)
    if (file.at_end) part.offset = std::max<i64>(base::file_size(part.path).value_or(0) - bytes_of_file(file), 0);
  RawElements elements = raw_elements(path, file.layout, file.number);
  return open_raw(path, std::move(file.layout), std::move(elements), std::move(parts));
}

}  // namespace tessera::io
