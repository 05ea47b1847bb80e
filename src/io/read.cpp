// Reading by the table of formats; see image.hpp.
//
// What a file is shows in its first bytes. Formats whose header says where their elements are read on from there, into
// the array, and no further than it says: a tail, and what a stream goes on with, is left alone. TIFF picks places out
// of a file. The other formats get all of their bytes at once; of a stream as many as make the picture.
//
// The limit of memory counts the array and what is held beside it at the worst moment: a file that is held whole, and
// what the decoder takes. It is looked at once before anything is taken, and memory is only taken where it all fits.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <new>

#include "base/files/files.hpp"
#include "base/memory.hpp"
#include "base/text.hpp"
#include "io/axes.hpp"
#include "io/codec.hpp"
#include "io/image.hpp"
#include "io/metadata.hpp"
#include "io/regions/regions.hpp"
#include "tessera/error.hpp"

namespace tessera::io {
namespace {

// However much is allowed: a file that declares more is damaged.
constexpr double absurd = 0x1p40;
// What readers take by the way, such as tables and windows, is not counted.
constexpr double uncounted = 0x1p24;
constexpr std::size_t first_bytes = std::size_t{1} << 16;  // formats show in them
constexpr std::size_t window_bytes = std::size_t{1} << 18;

// Formats that are known by sight, so that the error can name them.
std::string_view unsupported_format(const Source& s) {
  using namespace std::string_view_literals;
  if (s.starts_with("RIFF")) return "WebP";
  if (s.starts_with("8BPS")) return "Photoshop";
  if (s.starts_with("\x1f\x8b"sv)) return "gzip";
  if (s.starts_with("PK\3\4")) return "zip (or .npz)";
  if (s.starts_with("\x76\x2f\x31\x01")) return "OpenEXR";
  if (s.starts_with("\0\0\0\x0cjP"sv) || s.starts_with("\xff\x4f\xff\x51")) return "JPEG 2000";
  if (s.starts_with("\xff\x0a") || s.starts_with("\0\0\0\x0cJXL"sv)) return "JPEG XL";
  if (s.size() > 12 && std::memcmp(s.data() + 4, "ftyp", 4) == 0) return "HEIF or AVIF";
  if (s.starts_with("SIMPLE  =")) return "FITS";
  if (s.starts_with("%PDF")) return "PDF";
  if (s.size() > 132 && std::memcmp(s.data() + 128, "DICM", 4) == 0) return "DICOM";
  if (s.starts_with("\x89HDF")) return "HDF5";
  if (s.size() == 348 && (s.starts_with("\x5c\x01\0\0"sv) || s.starts_with("\0\0\x01\x5c"sv))) return "Analyze 7.5";
  return {};
}

const Codec* codec_of(const Source& source) {
  for (const Codec& codec : codecs())
    if (codec.matches(source)) return &codec;
  return nullptr;
}

[[noreturn]] void unknown_content(const Source& source) {
  std::vector<std::string> names;
  for (const Codec& codec : codecs()) {
    if (std::find(names.begin(), names.end(), codec.name) == names.end()) names.emplace_back(codec.name);
  }
  const std::string_view other = unsupported_format(source);
  throw Error(ErrorClass::io,
              fmt::format("cannot read {}: {}", base::quoted(source.name, 1024),
                          other.empty() ? "its content is of no known format"
                                        : fmt::format("its content is {}, which is not read", other)),
              {"known are " + base::list_of(names, "and")});
}

constexpr const char* raise_limit =
    "allow more with --memory SIZE (ReadOptions::max_bytes) if the file is what you think it is";

std::string limit_of(const Source& source) {
  return source.options.max_bytes > 0
             ? "the limit is " + base::format_bytes(static_cast<double>(source.options.max_bytes))
             : base::memory_limit_sentence();
}

// Turned or with its axes in another order it is there twice for a moment.
void check_copy(const Source& source, const Codec& codec, const Array& array) {
  const double bytes = static_cast<double>(array.count()) * static_cast<double>(array.format().size());
  check_declared(source, codec.name, array.format(), array.shape(), std::numeric_limits<double>::infinity(), bytes);
}

Image decode(Source source, const Codec& codec) {
  Image image;
  int orientation = 1;
  source.header = &image.header;
  source.orientation = &orientation;
  try {
    check_page_and_level(source, codec.name, codec.pages, codec.pages);
    image.array = codec.decode(source);
    image.header.extents = image.array.shape();
    if (orientation > 1) {
      check_copy(source, codec, image.array);
      image.array = turned(image.array, orientation);
    }
    turn_header(image.header, orientation);
    if (source.options.axes.empty() || codec.pages) return image;
    if (arranging_copies(letters_of(parse_axes(source.options.axes)))) check_copy(source, codec, image.array);
    image = rename_axes(std::move(image), source.options.axes, source.name);
    image.header.numpy = codec.decode == decode_npy && !image.header.axes.empty();
    return image;
  } catch (const std::bad_alloc&) {
    source.fail(codec.name, "not enough memory");
  } catch (const std::length_error&) {
    source.fail(codec.name, "not enough memory");
  }
}

// Bytes that grow where they are, as far as the system can: what was read is never there twice.
class Growing {
 public:
  Growing() = default;
  ~Growing() { std::free(data_); }
  Growing(const Growing&) = delete;
  Growing& operator=(const Growing&) = delete;

  void reserve(std::size_t room) {
    if (room <= room_) return;
    void* larger = std::realloc(data_, room);
    if (larger == nullptr) throw std::bad_alloc();
    data_ = static_cast<std::byte*>(larger);
    room_ = room;
  }
  void append(std::span<const std::byte> more) {
    reserve(size_ + more.size());
    std::copy(more.begin(), more.end(), data_ + size_);
    size_ += more.size();
  }
  std::span<std::byte> room() { return {data_ + size_, room_ - size_}; }
  void filled(std::size_t count) { size_ += count; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0, room_ = 0;
};

[[noreturn]] void has_no_end(const Source& source) {
  throw Error(ErrorClass::io,
              fmt::format("cannot read {}: it does not end within {}", base::quoted(source.name, 1024),
                          base::format_bytes(static_cast<double>(source.most_bytes()))),
              {}, raise_limit);
}

// A regular file whole; of a stream what makes the picture, or all of it where only its end tells.
void read_rest(const Source& begin, const Codec& codec, Growing& all) {
  all.append(begin.bytes);
  if (begin.length) {
    // A file that grows while it is read is as long as it was.
    const auto length = std::max(static_cast<std::size_t>(*begin.length), begin.size());
    all.reserve(length);
    all.filled(begin.rest->read(all.room().first(length - begin.size())));
    return;
  }
  // What is read is held beside the array.
  const auto most = static_cast<std::size_t>(begin.options.max_bytes > 0 ? begin.most_bytes() : begin.most_bytes() / 2);
  constexpr std::size_t piece = std::size_t{1} << 20;
  for (Scan scan;;) {
    const std::optional<std::size_t> end = codec.end != nullptr ? codec.end(all.bytes(), scan) : std::nullopt;
    if (end && *end <= all.bytes().size()) return;
    if (all.bytes().size() > most) has_no_end(begin);
    if (all.room().size() < piece) all.reserve(all.bytes().size() + std::max(piece, all.bytes().size() / 2));
    std::size_t wanted = std::min(all.room().size(), most + 1 - all.bytes().size());
    if (end) wanted = std::min(wanted, *end - all.bytes().size());
    const std::size_t got = begin.rest->some(all.room().first(wanted));
    if (got == 0) return;
    all.filled(got);
  }
}

}  // namespace

bool Source::starts_with(std::string_view magic) const {
  return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

double Source::total() const {
  if (rest == nullptr) return static_cast<double>(bytes.size());
  return length ? static_cast<double>(*length) : std::numeric_limits<double>::infinity();
}

std::size_t Source::read_at(std::uint64_t offset, std::span<std::byte> to) const {
  if (offset >= bytes.size() && rest != nullptr)
    return offset > std::uint64_t{INT64_MAX} ? 0 : rest->read_at(static_cast<i64>(offset), to);
  const std::size_t n = std::min<std::size_t>(to.size(), bytes.size() - std::min<std::uint64_t>(offset, bytes.size()));
  std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset < bytes.size() ? offset : 0), n, to.begin());
  return n == to.size() || rest == nullptr ? n : n + rest->read_at(static_cast<i64>(offset + n), to.subspan(n));
}

void Source::fail(std::string_view format, const std::string& reason, std::string help) const {
  throw Error(ErrorClass::io, fmt::format("cannot read {} as {}: {}", base::quoted(name, 1024), format, reason), {},
              std::move(help));
}

bool InOrder::refill() {
  if (source_.rest == nullptr) return false;
  buffer_.resize(window_bytes);
  before_ += static_cast<double>(window_.size());
  at_ -= window_.size();
  window_ = std::span(buffer_).first(source_.rest->some(buffer_));
  return !window_.empty();
}

std::span<const std::byte> InOrder::piece() {
  if (at_ >= window_.size() && !refill()) return {};
  const std::span<const std::byte> next = window_.subspan(at_);
  at_ = window_.size();
  return next;
}

std::size_t InOrder::read(std::span<std::byte> out) {
  for (std::size_t done = 0;;) {
    const std::size_t n = std::min(out.size() - done, window_.size() - at_);
    std::copy_n(window_.begin() + static_cast<std::ptrdiff_t>(at_), n, out.begin() + static_cast<std::ptrdiff_t>(done));
    at_ += n;
    done += n;
    if (done == out.size() || source_.rest == nullptr) return done;
    if (out.size() - done >= window_bytes) {
      const std::size_t more = source_.rest->read(out.subspan(done));
      before_ += static_cast<double>(more);
      return done + more;
    }
    if (!refill()) return done;
  }
}

void check_page_and_level(const Source& source, std::string_view format_name, bool has_pages, bool has_levels) {
  if (source.options.page >= 0 && !has_pages)
    source.fail(format_name, "it has no pages, but --page is given", "pages are of TIFF files");
  if (source.options.level > 0 && !has_levels)
    source.fail(format_name, fmt::format("it has one level, but level {} is asked for", source.options.level),
                "levels are of TIFF and OME-Zarr");
}

void check_declared(const Source& source, std::string_view format_name, const Format& format, const Shape& shape,
                    double ratio, double beside) {
  double bytes = static_cast<double>(format.size());
  for (const i64 extent : shape) bytes *= static_cast<double>(extent);
  const std::string declared =
      fmt::format("it declares {} elements of {}, {}", to_string(shape), format.name(), base::format_bytes(bytes));
  if (bytes > absurd) source.fail(format_name, declared + ": the file is damaged");
  const auto most = static_cast<double>(source.most_bytes());
  if (bytes > most) source.fail(format_name, fmt::format("{}; {}", declared, limit_of(source)), raise_limit);
  if (bytes > ratio * source.total()) {
    source.fail(format_name, fmt::format("{}, more than a file of {} can hold: it is damaged or cut short", declared,
                                         base::format_bytes(source.total())));
  }
  const double other = std::max(static_cast<double>(source.held) + beside - uncounted, 0.0);
  if (bytes + other > most) {
    source.fail(format_name,
                fmt::format("{}, and reading it takes {} beside that; {}", declared,
                            base::format_bytes(static_cast<double>(source.held) + beside), limit_of(source)),
                raise_limit);
  }
}

Array allocate(const Source& source, std::string_view format_name, const Format& format, const Shape& shape,
               double ratio, double beside) {
  check_declared(source, format_name, format, shape, ratio, beside);
  try {
    return Array(format, shape);
  } catch (const Error& e) {
    source.fail(format_name, e.message());
  }
}

Image decode_image(std::span<const std::byte> bytes, const std::string& name, const ReadOptions& options) {
  Source source{bytes, name, options};
  source.most = options.most_bytes();
  if (bytes.empty())
    throw Error(ErrorClass::io, fmt::format("cannot read {}: the file is empty", base::quoted(name, 1024)));
  const Codec* const codec = codec_of(source);
  if (codec == nullptr) unknown_content(source);
  return decode(std::move(source), *codec);
}

Array decode_array(std::span<const std::byte> bytes, const std::string& name, const ReadOptions& options) {
  return decode_image(bytes, name, options).array;
}

Array read_array(const std::string& path, const ReadOptions& options) {
  return read_image(path, options).array;
}

i64 ReadOptions::most_bytes() const {
  return max_bytes > 0 ? max_bytes : base::memory_limit();
}

namespace {

// An array whose file is a folder, or elements that an option describes.
Image read_by_regions(const std::string& path, const ReadOptions& options) {
  const std::unique_ptr<RegionReader> reader = open_parts(path, options);
  if (reader == nullptr)
    throw Error(
        ErrorClass::io,
        fmt::format("cannot read {}: it is a folder, and none of a format that is read", base::quoted(path, 1024)),
        {"folders of Zarr are read"});
  const RegionLayout& layout = reader->layout();
  Source source{{}, path, options};
  check_declared(source, layout.format_name, layout.element, layout.shape, std::numeric_limits<double>::infinity());
  Image image{Array(layout.element, layout.shape), layout.header};
  reader->read({std::vector<i64>(layout.shape.size(), 0), layout.shape}, image.array);
  return image;
}

}  // namespace

Image read_image(const std::string& given, const ReadOptions& options) {
  std::error_code ec;
  if (!options.raw.empty() || std::filesystem::is_directory(given, ec)) return read_by_regions(given, options);
  const std::string path = nifti_header_beside(given);
  Source source{{}, path, options};
  source.path = path;
  source.most = options.most_bytes();
  source.length = base::file_size(path);
  const base::Reading reading(path);
  source.rest = &reading;

  // A stream may pause behind its picture, so that no more is waited for than shows what it is.
  std::vector<std::byte> start(first_bytes);
  const Codec* codec = nullptr;
  for (std::size_t used = 0; codec == nullptr && used < start.size();) {
    const std::size_t got = source.length ? reading.read(start) : reading.some(std::span(start).subspan(used));
    if (got == 0) break;
    used += got;
    source.bytes = std::span(start).first(used);
    codec = codec_of(source);
    if (source.length) break;
  }
  if (source.bytes.empty())
    throw Error(ErrorClass::io, fmt::format("cannot read {}: the file is empty", base::quoted(path, 1024)));
  if (codec == nullptr) unknown_content(source);

  // The length that the system tells is no more than a hint: a file of /proc says 0.
  if (source.length && static_cast<std::size_t>(*source.length) <= source.size()) {
    source.length = static_cast<i64>(source.size());
    if (source.size() < start.size()) source.rest = nullptr;
  }
  if (source.rest == nullptr || codec->reads == Codec::Reads::in_order) return decode(std::move(source), *codec);
  if (source.length && codec->reads == Codec::Reads::places) return decode(std::move(source), *codec);
  if (source.length && *source.length > source.most_bytes()) {
    throw Error(ErrorClass::io,
                fmt::format("cannot read {}: it holds {}; {}", base::quoted(path, 1024),
                            base::format_bytes(static_cast<double>(*source.length)), limit_of(source)),
                {}, raise_limit);
  }
  Growing all;
  try {
    read_rest(source, *codec, all);
  } catch (const std::bad_alloc&) {
    throw Error(ErrorClass::io, fmt::format("cannot read {}: not enough memory", base::quoted(path, 1024)));
  }
  source.bytes = all.bytes();
  source.rest = nullptr;
  source.held = static_cast<i64>(all.bytes().size());
  return decode(std::move(source), *codec);
}

}  // namespace tessera::io
