// NIfTI: volumes and series of volumes of magnetic resonance and its kin. Version 1 is read and written, version 2 and
// pairs of .hdr and .img are read, each of them also packed by gzip, in both byte orders.
//
// The C library of the format is not used: it repairs extents and spacings that make no sense, prints its errors, opens
// files by name only and writes them in place. The format itself is 348 bytes of header, extensions, and the voxels,
// x fastest, which is the order of an array of shape [t, z, y, x].
//
// Voxels keep their type, or become the next wider one that arrays have (int8); 64-bit integers narrow to 32 when every
// value fits. Where the header scales them, value = scl_slope * voxel + scl_inter, they become float, or double when
// they are integers of 32 bits or more, or doubles. Files are read, and unpacked, piece by piece into the array, and
// no further than the last voxel.
#include "io/formats/nifti.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/files/files.hpp"
#include "base/text.hpp"
#include "io/axes.hpp"
#include "io/codec.hpp"
#include "io/gzip.hpp"
#include "io/load.hpp"
#include "tessera/error.hpp"

namespace tessera::io {
namespace {

constexpr std::string_view format_name = "NIfTI";
constexpr std::size_t most_extension_bytes = std::size_t{64} << 20;
constexpr i64 largest_extent = 32767;  // of version 1, which is written
constexpr int habitual_level = 1;      // of gzip; voxels hardly get smaller beyond it, only slower

// ---- bytes in order ----------------------------------------------------------------------------------------------

class Stream {
 public:
  explicit Stream(const Source& source) : source_(source), in_(source) {
    if (is_gzip(source.bytes)) unpacker_.emplace(in_.piece(), [this] { return in_.piece(); });
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Fewer at the end.
  std::size_t read_some(std::span<std::byte> out) { return unpacker_ ? unpacker_->read(out) : in_.read(out); }
  void read(std::span<std::byte> out, const char* what) {
    if (read_some(out) < out.size()) cut_short(what);
  }
  void skip(double count, const char* what) {
    constexpr double farthest = 0x1p30;  // in a stream
    if (count > (std::isinf(bound()) ? farthest : bound())) cut_short(what);
    std::vector<std::byte> scratch(static_cast<std::size_t>(std::min(count, 0x1p16)));
    for (auto left = static_cast<std::size_t>(count); left > 0;) {
      const std::size_t n = std::min(left, scratch.size());
      read(std::span(scratch).first(n), what);
      left -= n;
    }
  }
  // A packed file is unpacked to its checksum, where that is not far behind the voxels.
  void finish() {
    if (!unpacker_) return;
    unpacker_->check_end(std::size_t{1} << 20);
    if (!unpacker_->failure().empty()) source_.fail(format_name, "behind its voxels, " + unpacker_->failure());
  }
  [[noreturn]] void cut_short(const char* what) const {
    const std::string reason = unpacker_ && !unpacker_->failure().empty() ? unpacker_->failure() : "it is cut short";
    source_.fail(format_name, fmt::format("in its {}, {}", what, reason));
  }
  // The most bytes that may still come.
  double bound() const { return unpacker_ ? ratio() * source_.total() : in_.left(); }
  double ratio() const { return unpacker_ ? gzip_ratio : 1; }

 private:
  const Source& source_;
  InOrder in_;
  std::optional<Unpacker> unpacker_;
};

// ---- the header --------------------------------------------------------------------------------------------------

// The chain of extensions up to `end`, counted from the start of the file; 0: to the end of the file. Returns where it
// stops.
std::size_t read_extensions(const Source& source, Stream& stream, NiftiHeader& h, std::size_t at, double end) {
  std::byte head[8];
  std::size_t total = 0;
  while (end == 0 || static_cast<double>(at) + 8 <= end) {
    const std::size_t got = stream.read_some(head);
    if (got < 8) return at + got;
    at += 8;
    if (h.swapped) {
      std::reverse(head, head + 4);
      std::reverse(head + 4, head + 8);
    }
    const auto size = load<std::int32_t>(head);
    if (size == 0) return at;  // room that was left free
    const double behind = static_cast<double>(at) + size - 8;
    if (size < 8 || (end != 0 && behind > end) || size - 8 > stream.bound()) {
      source.fail(format_name, fmt::format("extension {} of its header has {} bytes, which are not there",
                                           h.extensions.size() + 1, size));
    }
    total += static_cast<std::size_t>(size);
    if (total > most_extension_bytes) {
      source.fail(format_name, fmt::format("the extensions of its header have more than {}",
                                           base::format_bytes(static_cast<double>(most_extension_bytes))));
    }
    std::vector<std::byte> content(static_cast<std::size_t>(size) - 8);
    stream.read(content, "extensions");
    at += content.size();
    h.extensions.push_back({load<std::int32_t>(head + 4), std::move(content)});
  }
  return at;
}

// Leaves the stream of a single file at the voxels.
NiftiHeader read_header(const Source& source, Stream& stream) {
  std::byte fixed[nifti2_size];
  std::size_t got = stream.read_some(std::span(fixed).first(nifti1_size));
  const int version = nifti_version(std::span(fixed).first(got));
  const std::size_t size = version == 2 ? nifti2_size : nifti1_size;
  if (got < nifti1_size) stream.cut_short("header");
  if (version == 2) stream.read(std::span(fixed).subspan(nifti1_size), "header");
  NiftiHeader h;
  if (const std::string reason = parse_nifti(std::span(fixed).first(size), h); !reason.empty())
    source.fail(format_name, reason);
  std::byte flag[nifti_flag_size]{};
  got = stream.read_some(flag);
  if (got < nifti_flag_size && !h.paired) stream.cut_short("header");
  std::size_t at = size + got;
  const bool extended = got == nifti_flag_size && flag[0] != std::byte{0};
  if (extended) at = read_extensions(source, stream, h, at, h.paired ? 0 : h.vox_offset);
  if (!h.paired) stream.skip(h.vox_offset - static_cast<double>(at), "header");
  return h;
}

// ---- voxels ------------------------------------------------------------------------------------------------------

// How a type of the standard is stored, and what it becomes.
struct Voxel {
  std::int32_t code;
  std::size_t size;       // in the file
  std::size_t swap_unit;  // bytes that are reversed together
  Format format;
};

std::optional<Voxel> voxel_of(std::int32_t code) {
  using E = ElementType;
  switch (code) {
    case 2:
      return Voxel{code, 1, 1, E::u8};
    case 4:
      return Voxel{code, 2, 2, E::i16};
    case 8:
      return Voxel{code, 4, 4, E::i32};
    case 16:
      return Voxel{code, 4, 4, E::f32};
    case 64:
      return Voxel{code, 8, 8, E::f64};
    case 128:
      return Voxel{code, 3, 1, pixel_format(E::u8, 3)};
    case 256:
      return Voxel{code, 1, 1, E::i16};
    case 512:
      return Voxel{code, 2, 2, E::u16};
    case 768:
      return Voxel{code, 4, 4, E::u32};
    case 1024:
      return Voxel{code, 8, 8, E::i32};
    case 1280:
      return Voxel{code, 8, 8, E::u32};
    case 2304:
      return Voxel{code, 4, 1, pixel_format(E::u8, 4)};
    default:
      return std::nullopt;
  }
}

std::string type_in_words(std::int32_t code) {
  switch (code) {
    case 1:
      return "single bits";
    case 32:
    case 1792:
    case 2048:
      return "complex numbers";
    case 1536:
      return "floats of 128 bits";
    default:
      return fmt::format("of the type number {}", code);
  }
}

// value = slope * voxel + intercept, where that is not the voxel itself.
struct Scale {
  double slope = 1, intercept = 0;
  bool none() const { return slope == 1 && intercept == 0; }
};

Scale scale_of(const Source& source, const NiftiHeader& h, const Voxel& voxel) {
  // A slope of 0 says that there is none; so does NaN, which SPM writes.
  if (h.scl_slope == 0 || !std::isfinite(h.scl_slope) || voxel.format.is_struct()) return {};
  if (!std::isfinite(h.scl_inter)) {
    source.fail(format_name, fmt::format("it scales its voxels by {} and adds {}", h.scl_slope, h.scl_inter));
  }
  return {h.scl_slope, h.scl_inter};
}

template <class T>
void scale_values(const std::byte* from, std::byte* to, std::size_t count, const Scale& scale) {
  for (std::size_t i = 0; i < count; ++i) {
    const double value = scale.slope * static_cast<double>(load<T>(from + i * sizeof(T))) + scale.intercept;
    if constexpr (sizeof(T) >= 8 || (sizeof(T) == 4 && std::is_integral_v<T>)) {
      std::memcpy(to + 8 * i, &value, 8);
    } else {
      const auto single = static_cast<float>(value);
      std::memcpy(to + 4 * i, &single, 4);
    }
  }
}

template <class Wide, class Narrow>
void narrow_values(const Source& source, const std::byte* from, std::byte* to, std::size_t count, i64 first) {
  for (std::size_t i = 0; i < count; ++i) {
    const Wide wide = load<Wide>(from + i * sizeof(Wide));
    if (!std::in_range<Narrow>(wide)) {
      source.fail(format_name,
                  fmt::format("voxel {} is {}, which does not fit 32 bits", first + static_cast<i64>(i), wide),
                  "store it as 32-bit integers or as doubles");
    }
    const auto narrow = static_cast<Narrow>(wide);
    std::memcpy(to + i * sizeof(Narrow), &narrow, sizeof narrow);
  }
}

// What becomes of voxels of this type under a scale.
Format scaled_format(const Voxel& voxel, const Scale& scale) {
  if (scale.none()) return voxel.format;
  const bool wide = voxel.size > 4 || (voxel.size == 4 && voxel.format.scalar != ElementType::f32);
  return wide ? ElementType::f64 : ElementType::f32;
}

// The voxels of the file, in the byte order of the machine, into elements. `first` is the number of the first of them.
void place(const Source& source, const Voxel& voxel, const Scale& scale, const std::byte* from, std::byte* to,
           std::size_t count, i64 first) {
  if (!scale.none()) {
    switch (voxel.code) {
      case 2:
        return scale_values<std::uint8_t>(from, to, count, scale);
      case 4:
        return scale_values<std::int16_t>(from, to, count, scale);
      case 8:
        return scale_values<std::int32_t>(from, to, count, scale);
      case 16:
        return scale_values<float>(from, to, count, scale);
      case 64:
        return scale_values<double>(from, to, count, scale);
      case 256:
        return scale_values<std::int8_t>(from, to, count, scale);
      case 512:
        return scale_values<std::uint16_t>(from, to, count, scale);
      case 768:
        return scale_values<std::uint32_t>(from, to, count, scale);
      case 1024:
        return scale_values<std::int64_t>(from, to, count, scale);
      default:
        return scale_values<std::uint64_t>(from, to, count, scale);
    }
  }
  if (voxel.code == 1024) return narrow_values<std::int64_t, std::int32_t>(source, from, to, count, first);
  if (voxel.code == 1280) return narrow_values<std::uint64_t, std::uint32_t>(source, from, to, count, first);
  for (std::size_t i = 0; i < count; ++i) {  // int8
    const auto value = static_cast<std::int16_t>(load<std::int8_t>(from + i));
    std::memcpy(to + 2 * i, &value, 2);
  }
}

void swap_bytes(std::byte* p, std::size_t bytes, std::size_t unit) {
  for (std::size_t i = 0; i < bytes; i += unit) std::reverse(p + i, p + i + unit);
}

// Dimension 5 has the numbers of a point: a vector, a matrix, or what else the intent says.
bool has_channels(const NiftiHeader& h) {
  return h.dim[0] >= 5 && h.dim[5] > 1;
}
Array read_voxels(const Source& source, Stream& stream, const NiftiHeader& h, const Voxel& voxel, Shape shape) {
  const Scale scale = scale_of(source, h, voxel);
  const Format format = scaled_format(voxel, scale);
  const double growth = static_cast<double>(format.size()) / static_cast<double>(voxel.size);
  check_declared(source, format_name, format, shape, std::max(1.0, growth) * stream.ratio());
  const i64 count = element_count(shape);
  if (static_cast<double>(count) * static_cast<double>(voxel.size) > stream.bound()) {
    source.fail(format_name,
                fmt::format("it declares {} voxels of {} bytes, but at most {} bytes follow: it is cut short",
                            to_string(shape), voxel.size, stream.bound()));
  }
  const bool in_place = scale.none() && voxel.size == format.size() && voxel.code != 256;
  const bool swapped = h.swapped && voxel.swap_unit > 1;
  // Channels become fields, which copies them.
  const double copied = has_channels(h) ? static_cast<double>(count) * static_cast<double>(format.size()) : 0;
  const Array image = allocate(source, format_name, format, shape, std::max(1.0, growth) * stream.ratio(), copied);
  auto* out = static_cast<std::byte*>(image.data());
  // As many at a time as stay in the cache between reading, swapping and converting.
  constexpr i64 piece = 1 << 15;
  std::vector<std::byte> buffer(in_place ? 0 : static_cast<std::size_t>(std::min(piece, count)) * voxel.size);
  for (i64 first = 0; first < count; first += piece) {
    const auto n = static_cast<std::size_t>(std::min(piece, count - first));
    std::byte* to = out + static_cast<std::size_t>(first) * format.size();
    const std::span<std::byte> raw(in_place ? to : buffer.data(), n * voxel.size);
    stream.read(raw, "voxels");
    if (swapped) swap_bytes(raw.data(), raw.size(), voxel.swap_unit);
    if (!in_place) place(source, voxel, scale, raw.data(), to, n, first);
  }
  stream.finish();
  return image;
}

// A vector at each point of a volume has a dimension of time, of extent 1, before its own.
bool has_time(const NiftiHeader& h) {
  return h.dim[0] >= 4 && !(has_channels(h) && h.dim[4] == 1);
}
std::string letters_of(const NiftiHeader& h) {
  const auto rank = static_cast<std::size_t>(std::min<std::int64_t>(h.dim[0], has_time(h) ? 4 : 3));
  return (has_channels(h) ? "c" : "") + std::string("tzyx").substr(4 - rank);
}

Array decode_voxels(const Source& source, Stream& stream, const NiftiHeader& h) {
  const std::optional<Voxel> voxel = voxel_of(h.datatype);
  if (!voxel) {
    source.fail(format_name, fmt::format("its voxels are {}, expected integers of 8 to 64 bits, floats of 32 or 64, or "
                                         "colours of 8 bits",
                                         type_in_words(h.datatype)));
  }
  if (h.bitpix != 0 && std::cmp_not_equal(h.bitpix, 8 * voxel->size)) {
    source.fail(format_name, fmt::format("its voxels have {} bits, but their type {}", h.bitpix, 8 * voxel->size));
  }
  Shape shape;
  for (auto d = letters_of(h).size(); d >= 1; --d) shape.push_back(h.dim[d == 4 && !has_time(h) ? 5 : d]);
  return read_voxels(source, stream, h, *voxel, std::move(shape));
}

// ---- pairs -------------------------------------------------------------------------------------------------------

// "brain.hdr.gz" with the given suffixes exchanged, or "" when it ends otherwise.
std::string exchanged(const std::string& path, std::string_view from, std::string_view to) {
  for (const std::string_view packed : {"", ".gz"}) {
    const std::string suffix = std::string(from) + std::string(packed);
    if (base::to_lower(path).ends_with(suffix))
      return path.substr(0, path.size() - suffix.size()) + std::string(to) + std::string(packed);
  }
  return {};
}

// The file of the voxels beside the header: packed as that is, else the other way.
std::string voxels_beside(const Source& source) {
  std::string stem = exchanged(source.path, ".hdr", "");
  const bool packed = stem.ends_with(".gz");
  if (packed) stem.resize(stem.size() - 3);
  std::error_code ec;
  for (const char* suffix : {packed ? ".img.gz" : ".img", packed ? ".img" : ".img.gz", ".IMG"}) {
    if (!stem.empty() && std::filesystem::is_regular_file(stem + suffix, ec)) return stem + suffix;
  }
  source.fail(format_name, "its voxels are in a file of their own, which is not beside it",
              "keep NAME.hdr and NAME.img in one folder");
}

Array decode_pair(const Source& source, const NiftiHeader& h) {
  const std::string path = voxels_beside(source);
  const base::Reading reading(path);
  std::vector<std::byte> start(std::size_t{1} << 16);
  start.resize(reading.read(start));
  Source voxels{start, path, source.options, path};
  voxels.most = source.most;
  voxels.rest = &reading;
  voxels.length = base::file_size(path);
  Stream stream(voxels);
  stream.skip(h.vox_offset, "voxels");
  return decode_voxels(voxels, stream, h);
}

// ---- writing -----------------------------------------------------------------------------------------------------

[[noreturn]] void cannot_hold(const std::string& path, const std::string& why, std::string help = {}) {
  throw Error(ErrorClass::argument, fmt::format("cannot write {}: {}", base::quoted(path, 1024), why), {},
              std::move(help));
}

std::int32_t code_of(ElementType type) {
  constexpr std::int32_t codes[] = {2, 2, 4, 512, 8, 768, 16, 16, 64};  // in the order of ElementType
  return codes[static_cast<std::size_t>(type)];
}

// Colours of 8 bits are a type of voxels; other channels have a dimension of their own.
bool is_colour(const Array& array, const WriteOptions& options) {
  const Format& format = array.format();
  const int channels = channels_of(array);
  if (!format.is_struct() || (channels != 3 && channels != 4) || is_band(format.fields.back().name)) return false;
  if (options.type) return *options.type == ElementType::u8;
  return std::all_of(format.fields.begin(), format.fields.end(), [](const Format::Field& f) {
    return f.type == ElementType::u8 || f.type == ElementType::boolean;
  });
}

// The type of the voxels: every type of arrays but half and bool, which widen exactly.
ElementType type_for(const std::string& path, const Array& array, const WriteOptions& options) {
  if (is_colour(array, options)) return ElementType::u8;
  if (options.type == ElementType::boolean || options.type == ElementType::f16) {
    cannot_hold(path, fmt::format("NIfTI stores uint8, int16, uint16, int32, uint32, float or double, not {}",
                                  name_of(*options.type)));
  }
  const Format& format = array.format();
  const ElementType stored = format.is_struct() ? format.fields[0].type : format.scalar;
  for (const Format::Field& f : format.fields)
    if (f.type != stored)
      cannot_hold(path, fmt::format("NIfTI stores channels of one type, {} has several", format.name()), "write .npy");
  const ElementType type = options.type.value_or(stored);
  if (type == ElementType::boolean) return ElementType::u8;
  return type == ElementType::f16 ? ElementType::f32 : type;
}

// An array as voxels, with the letters of its dimensions, slowest first: time is the fourth, and channels are the fifth
// where no header has them elsewhere.
struct Voxels {
  Array array;
  std::string letters;
};

Voxels voxels_of(const Array& array, const ImageHeader& given, const WriteOptions& options) {
  Image image{array, given};
  std::string& axes = image.header.axes;
  const bool named = !axes.empty() && axes.find_first_not_of("tzyx") == std::string::npos;
  if (!named) axes = std::string("tzyx").substr(4 - static_cast<std::size_t>(array.rank()));
  if (!array.format().is_struct() || is_colour(array, options)) return {array, axes};
  const bool fourth = given.nifti && given.nifti->dim[0] <= 4;
  std::string layout = fourth ? layout_for(image.header, array) : "";
  if (layout.find('c') == std::string::npos) layout = "c" + axes;
  return {in_layout(image, layout, 1), layout};
}

NiftiHeader header_of(const Voxels& voxels, bool colour, int channels, ElementType type, const ImageHeader& given) {
  NiftiHeader h;
  // Each letter has its place; a header that has channels in the fourth dimension, or slices of time, has an order.
  const bool in_place = voxels.letters.find('c') == std::string::npos || voxels.letters[0] == 'c';
  std::vector<Step> steps(4);
  h.dim = {0, 1, 1, 1, 1, 1, 1, 1};
  const bool fourth = given.nifti && given.nifti->dim[0] <= 4 && given.layout == voxels.letters;
  for (std::size_t d = 0; d < voxels.letters.size(); ++d) {
    const char letter = voxels.letters[d];
    const std::size_t from_fastest = voxels.letters.size() - d;
    const std::size_t place = fourth || !in_place ? from_fastest : std::string_view(" xyztc").find(letter);
    h.dim[place] = voxels.array.shape()[d];
    h.dim[0] = std::max<std::int64_t>(h.dim[0], static_cast<std::int64_t>(place));
    if (place > 4 || letter == 'c') continue;
    const std::size_t axis = given.axes.find(letter);
    const std::size_t step = axis != std::string::npos ? axis : given.steps.size() - from_fastest;
    if (step < given.steps.size()) steps[4 - place] = given.steps[step];
  }
  const std::array<std::int64_t, 8> dim = h.dim;
  if (given.nifti) {
    h = *given.nifti;
  } else {
    set_nifti_steps(h, steps);
  }
  h.dim = dim;
  constexpr std::int32_t vector = 1007;
  if (dim[0] == 5 && h.intent_code == 0) h.intent_code = vector;
  if (!colour) channels = 1;
  h.datatype = channels == 3 ? 128 : channels == 4 ? 2304 : code_of(type);
  h.bitpix = static_cast<std::int32_t>(8 * size_of(type)) * channels;
  h.scl_slope = 1;
  h.scl_inter = h.cal_max = h.cal_min = 0;
  return h;
}

}  // namespace

bool matches_nifti(const Source& source) {
  std::byte start[nifti1_size];
  Source first = source;  // what follows is left alone
  first.rest = nullptr;
  const std::size_t got = Stream(first).read_some(start);
  if (nifti_version(std::span(start).first(got)) != 0) return true;
  const std::string name = base::to_lower(source.name);  // damaged at once: only the name says what it was
  return got < nifti1_size && is_gzip(source.bytes) && (name.ends_with(".nii.gz") || name.ends_with(".hdr.gz"));
}

std::string nifti_header_beside(const std::string& path) {
  std::string header = exchanged(path, ".img", ".hdr");
  std::error_code ec;
  if (!header.empty() && std::filesystem::is_regular_file(header, ec)) return header;
  const std::string other = header.ends_with(".gz") ? header.substr(0, header.size() - 3) : header + ".gz";
  return !header.empty() && std::filesystem::is_regular_file(other, ec) ? other : path;
}

Array decode_nifti(const Source& source) {
  Stream stream(source);
  auto header = std::make_shared<NiftiHeader>(read_header(source, stream));
  const Array voxels = header->paired ? decode_pair(source, *header) : decode_voxels(source, stream, *header);
  const std::string letters = letters_of(*header);
  const auto points = static_cast<int>(letters.size() - (has_channels(*header) ? 1 : 0));
  std::vector<Step> steps = nifti_steps(*header, points);
  if (has_channels(*header)) steps.insert(steps.begin(), Step{});
  ImageHeader said;
  said.nifti = std::move(header);
  Image image{voxels, said};
  if (source.options.axes.empty()) {
    image = arrange(voxels, letters, steps, std::move(said));
  } else {
    image.header.extents = voxels.shape();
    image.header.steps = std::move(steps);
  }
  if (source.header != nullptr) *source.header = std::move(image.header);
  return image.array;
}

WriteReport write_nifti(base::AtomicFile& file, const Array& array, const WriteOptions& options) {
  const std::string& path = file.path();
  if (array.rank() < 1 || array.rank() > 4) {
    cannot_hold(
        path,
        fmt::format("NIfTI stores arrays of rank 1 to 4, got {}, rank {}", to_string(array.shape()), array.rank()),
        "write .npy, which stores any rank");
  }
  Shape extents = array.shape();
  extents.push_back(channels_of(array));
  for (const i64 extent : extents) {
    if (extent < 1 || extent > largest_extent) {
      cannot_hold(path,
                  fmt::format("NIfTI stores extents of 1 to {}, got {}", largest_extent, to_string(array.shape())),
                  "write .npy");
    }
  }
  WriteReport report;
  report.format = format_name;
  report.type = type_for(path, array, options);
  report.values = array.count() * channels_of(array);
  const ImageHeader given = header_or_axes(options.header, array.shape());
  const Voxels placed = voxels_of(array, given, options);
  NiftiHeader header = header_of(placed, is_colour(array, options), channels_of(array), report.type, given);
  const bool mask = !placed.array.format().is_struct() && placed.array.format().scalar == ElementType::boolean;
  // true is 1 in a mask, not the largest value.
  const Array source = mask ? converted(placed.array, ElementType::boolean, report.saturated) : placed.array;
  const Array voxels =
      converted(mask ? Array::share(source.owner(), source.data(), ElementType::u8, source.shape()) : placed.array,
                report.type, report.saturated);

  const std::vector<std::byte> head = print_nifti(header);
  const std::span body(static_cast<const std::byte*>(voxels.data()),
                       static_cast<std::size_t>(voxels.count()) * size_of(report.type));
  if (base::to_lower(path).ends_with(".gz")) {
    Packer packer(file, options.packing == Packing::none ? 0
                        : options.compression < 0        ? habitual_level
                                                         : options.compression);
    packer.write(head);
    packer.write(body);
    packer.finish();
  } else {
    file.write(head);
    file.write(body);
  }
  return report;
}

}  // namespace tessera::io
