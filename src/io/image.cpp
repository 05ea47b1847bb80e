// Reading and writing by the table of formats; see image.hpp.
#include "io/image.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/files.hpp"
#include "base/memory.hpp"
#include "base/text.hpp"
#include "io/axes.hpp"
#include "io/codec.hpp"
#include "io/metadata.hpp"
#include "io/tiff_pages.hpp"
#include "tessera/error.hpp"

namespace tessera::io {
namespace {

// However much is allowed: a file that declares more is damaged.
constexpr double absurd = 0x1p40;

bool matches_jpeg(const Source& s) {
  return s.starts_with("\xff\xd8\xff");
}
bool matches_png(const Source& s) {
  return s.starts_with("\x89PNG\r\n\x1a\n");
}
bool matches_tiff(const Source& s) {
  using namespace std::string_view_literals;
  return s.starts_with("II*\0"sv) || s.starts_with("MM\0*"sv) || s.starts_with("II+\0"sv) || s.starts_with("MM\0+"sv);
}
bool matches_npy(const Source& s) {
  return s.starts_with("\x93NUMPY");
}
bool matches_bmp(const Source& s) {
  return s.starts_with("BM");
}
bool matches_gif(const Source& s) {
  return s.starts_with("GIF8");
}
bool matches_hdr(const Source& s) {
  return s.starts_with("#?RADIANCE") || s.starts_with("#?RGBE");
}
bool matches_pfm(const Source& s) {
  return s.starts_with("PF") || s.starts_with("Pf");
}

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
  if (s.starts_with("NRRD")) return "NRRD";
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

constexpr std::size_t first_bytes = std::size_t{1} << 16;  // of a stream: formats show in them

constexpr const char* raise_limit =
    "allow more with --memory SIZE (ReadOptions::max_bytes) if the file is what you think it is";

std::string limit_of(const ReadOptions& options) {
  return options.max_bytes > 0 ? "the limit is " + base::format_bytes(static_cast<double>(options.max_bytes))
                               : base::memory_limit_sentence();
}

Image decode(Source source) {
  Image image;
  int orientation = 1;
  source.header = &image.header;
  source.orientation = &orientation;
  if (source.size() == 0) {
    throw Error(ErrorClass::io, fmt::format("cannot read {}: the file is empty", base::quoted(source.name, 1024)));
  }
  const Codec* const codec = codec_of(source);
  if (codec == nullptr) unknown_content(source);
  try {
    if (source.options.page >= 0 && !codec->pages)
      source.fail(codec->name, "it has no pages, but --page is given", "pages are of TIFF files");
    image.array = codec->decode(source);
    image.header.extents = image.array.shape();
    image.array = turned(image.array, orientation);
    turn_header(image.header, orientation);
    if (source.options.axes.empty() || codec->pages) return image;
    image = rename_axes(std::move(image), source.options.axes, source.name);
    image.header.numpy = codec->decode == decode_npy && !image.header.axes.empty();
    return image;
  } catch (const std::bad_alloc&) {
    source.fail(codec->name, "not enough memory");
  } catch (const std::length_error&) {
    source.fail(codec->name, "not enough memory");
  }
}

std::string suffix_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::size_t begin = slash == std::string::npos ? 0 : slash + 1;
  const std::size_t dot = path.rfind('.');
  std::string suffix = dot == std::string::npos || dot < begin ? "" : base::to_lower(path.substr(dot));
  if (suffix != ".gz") return suffix;
  const std::string inner = suffix_of(path.substr(0, dot));
  return inner.empty() ? suffix : inner + suffix;
}

const Codec* codec_for(const std::string& path) {
  const std::string suffix = suffix_of(path);
  for (const Codec& codec : codecs()) {
    if (codec.is_written() && std::find(codec.suffixes.begin(), codec.suffixes.end(), suffix) != codec.suffixes.end())
      return &codec;
  }
  return nullptr;
}

const Codec& writable_codec(const std::string& path) {
  if (const Codec* codec = codec_for(path)) return *codec;
  const std::string suffix = suffix_of(path);
  const std::string what = suffix.empty() ? "the name has no suffix that says the format"
                                          : fmt::format("no format is known for the suffix {}", base::quoted(suffix));
  throw Error(ErrorClass::argument, fmt::format("cannot write {}: {}", base::quoted(path, 1024), what),
              {"known are " + base::list_of(writable_suffixes(), "and")},
              base::did_you_mean(suffix, writable_suffixes()));
}

[[noreturn]] void cannot_hold(const std::string& path, const std::string& why, std::string help = {}) {
  throw Error(ErrorClass::argument, fmt::format("cannot write {}: {}", base::quoted(path, 1024), why), {},
              std::move(help));
}

// The type of the samples in the file when the caller does not say.
ElementType type_for(const Codec& codec, const std::string& path, const Format& format, const WriteOptions& options,
                     std::optional<ElementType> preferred = {}) {
  const auto holds = [&](ElementType t) {
    return std::find(codec.types.begin(), codec.types.end(), t) != codec.types.end();
  };
  if (options.type) {
    if (holds(*options.type)) return *options.type;
    std::vector<std::string> names;
    for (const ElementType t : codec.types) names.emplace_back(name_of(t));
    cannot_hold(path, fmt::format("{} stores {}, not {}", codec.name, base::list_of(names), name_of(*options.type)));
  }
  bool uniform = true;
  const ElementType type = format.is_struct() ? format.fields[0].type : format.scalar;
  for (const Format::Field& f : format.fields) uniform = uniform && f.type == type;
  if (uniform && holds(type)) return type;
  if (!uniform && codec.types.size() > 2) {
    cannot_hold(path, fmt::format("{} stores samples of one type, {} has several", codec.name, format.name()),
                "choose the type of the samples, or write .npy");
  }
  const ElementType wide = uniform && (type == ElementType::u16 || type == ElementType::i16) ? type
                           : preferred                                                       ? *preferred
                                                                                             : ElementType::u8;
  if ((wide == ElementType::u16 || wide == ElementType::i16) && holds(ElementType::u16)) return ElementType::u16;
  return holds(ElementType::u8) ? ElementType::u8 : codec.types.front();
}

// What to write instead: the formats that hold all of the array, pictures first.
std::string holders_of(const Array& array) {
  const Format& format = array.format();
  const int channels = channels_of(array), rank = array.rank();
  const ElementType type = format.is_struct() ? format.fields[0].type : format.scalar;
  const bool uniform = std::all_of(format.fields.begin(), format.fields.end(),
                                   [&](const Format::Field& field) { return field.type == type; });
  const bool bands = format.is_struct() && is_band(format.fields.back().name);
  i64 longest = 0;
  for (const i64 extent : array.shape()) longest = std::max(longest, extent);
  const bool small = longest <= 0x7fffffff;
  std::vector<std::string> names;
  if (rank == 2 && small && uniform && channels <= 4 && !(bands && channels % 2 == 0) &&
      (type == ElementType::u8 || type == ElementType::u16))
    names.emplace_back(".png");
  if (rank >= 2 && rank <= 4 && small && uniform) names.emplace_back(".tif");
  if ((rank == 3 || rank == 4) && longest <= 32767 && uniform && type != ElementType::f16) names.emplace_back(".nii");
  names.emplace_back(".npy");
  return fmt::format("write {}", base::list_of(names));
}

Samples samples_of(const Codec& codec, const std::string& path, const Array& array, const WriteOptions& options) {
  Samples s;
  Shape shape = array.shape();
  s.channels = channels_of(array);
  const auto channels_fit = [&](i64 n) {
    return codec.channels.empty() || std::find(codec.channels.begin(), codec.channels.end(), n) != codec.channels.end();
  };
  const bool has_axes = header_or_axes(options.header, shape).axes.size() == shape.size();
  const std::size_t most = codec.pages ? (has_axes ? 8 : 4) : 2;
  if (shape.size() == 3 && !codec.pages && s.channels == 1 && shape[2] >= 1 && shape[2] <= 4) {
    s.channels = static_cast<int>(shape[2]);
    shape.pop_back();
  }
  if (shape.size() < 2 || shape.size() > most) {
    cannot_hold(path,
                fmt::format("{} stores images of rank 2{}, got an array of {}, rank {}", codec.name,
                            codec.pages ? " to 4" : "", to_string(array.shape()), array.rank()),
                holders_of(array));
  }
  if (!channels_fit(s.channels)) {
    std::vector<std::string> counts;
    for (const int n : codec.channels) counts.push_back(std::to_string(n));
    cannot_hold(path,
                fmt::format("{} stores {} channels, {} has {}", codec.name, base::list_of(counts),
                            array.format().name(), s.channels),
                holders_of(array));
  }
  const Format pixels = array.format().is_struct() ? array.format() : pixel_format(ElementType::u8, s.channels);
  for (const Format::Field& f : pixels.fields) s.names.push_back(f.name);
  s.associated_alpha = options.header.associated_alpha;
  // A format that has two or four channels calls the last one alpha.
  if (!codec.channels.empty() && s.channels % 2 == 0 && is_band(s.names.back())) {
    cannot_hold(path,
                fmt::format("the last of {} channels is alpha in {}, {} is a channel of its own", s.channels,
                            codec.name, s.names.back()),
                holders_of(array));
  }
  for (const i64 extent : shape) {
    if (extent < 1)
      cannot_hold(path, fmt::format("an image of {} has no pixels", to_string(array.shape())), "write .npy");
    if (extent > codec.largest) {
      cannot_hold(path,
                  fmt::format("{} stores at most {} rows or columns, got {}", codec.name, codec.largest,
                              to_string(array.shape())),
                  holders_of(array));
    }
  }
  s.type = type_for(codec, path, array.format(), options);
  s.width = shape.back();
  s.height = shape[shape.size() - 2];
  const Array pages = codec.pages ? pages_for(path, array, options, s) : array;
  s.pages = product_of(s.page_axes);
  // Of the formats with alpha TIFF alone has a word for colours that are multiplied by it.
  const int alpha = codec.name == "TIFF" ? -1 : alpha_of(s.names);
  if (s.associated_alpha && alpha >= 0) {
    divide_by_alpha(s, pages, alpha);
    return s;
  }
  s.memory = converted(pages, s.type, s.saturated);
  s.data = static_cast<const std::byte*>(s.memory.data());
  return s;
}

std::string_view name_of(Packing packing) {
  constexpr std::string_view names[] = {"none", "deflate", "lzw", "packbits", "zstd"};
  return names[static_cast<std::size_t>(packing)];
}

void check_packing(const Codec& codec, const std::string& path, const WriteOptions& options) {
  const Packing packing = options.packing.value_or(Packing::deflate);
  const bool has_levels = packing == Packing::deflate || packing == Packing::zstd;
  const int lowest = packing == Packing::zstd ? 1 : 0, highest = packing == Packing::zstd ? 22 : 9;
  if (options.compression != -1 && (!has_levels || options.compression < lowest || options.compression > highest)) {
    cannot_hold(path, has_levels ? fmt::format("the compression is a number from {} to {}, got {}", lowest, highest,
                                               options.compression)
                                 : fmt::format("the compression {} has no levels, got {}", name_of(packing),
                                               options.compression));
  }
  if (!options.packing || packing == Packing::none) return;
  const bool packed = codec.name == "NIfTI" && base::to_lower(path).ends_with(".gz");
  if (codec.name == "TIFF" ? packs_tiff(packing) : packing == Packing::deflate && (codec.name == "PNG" || packed))
    return;
  cannot_hold(path,
              fmt::format("{} is not written with the compression {}",
                          codec.name == "NIfTI" && !packed ? ".nii" : codec.name, name_of(packing)),
              codec.name == "TIFF"    ? "deflate, lzw, packbits and none are"
              : codec.name == "PNG"   ? "deflate and none are, or write .tif"
              : codec.name == "JPEG"  ? "a JPEG has a quality"
              : codec.name == "NIfTI" ? "write .nii.gz, which is packed by deflate"
                                      : "write .tif or .png");
}

// What the header says of the places of points, where the file does not.
void lose_places(const ImageHeader& header, std::string_view format, const Shape& shape,
                 std::vector<std::string>& lost) {
  if (header.steps.empty()) return;
  const bool fits = header_for(header, shape).has_value();
  if (format != "NIfTI" && format != "TIFF") {
    lost.emplace_back(header.nifti ? "the NIfTI header" : "the distances between points");
  } else if (!fits) {
    lost.emplace_back("the distances between points and their place in space (its extents are others)");
  } else if (header.nifti && format == "TIFF") {
    lost.emplace_back("the NIfTI header but for the distances between points");
  }
}

}  // namespace

bool Source::starts_with(std::string_view magic) const {
  return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

void Source::fail(std::string_view format, const std::string& reason, std::string help) const {
  throw Error(ErrorClass::io, fmt::format("cannot read {} as {}: {}", base::quoted(name, 1024), format, reason), {},
              std::move(help));
}

void check_declared(const Source& source, std::string_view format_name, const Format& format, const Shape& shape,
                    double ratio) {
  double bytes = static_cast<double>(format.size());
  for (const i64 extent : shape) bytes *= static_cast<double>(extent);
  const std::string declared =
      fmt::format("it declares {} elements of {}, {}", to_string(shape), format.name(), base::format_bytes(bytes));
  if (bytes > absurd) source.fail(format_name, declared + ": the file is damaged");
  if (bytes > static_cast<double>(source.options.most_bytes()))
    source.fail(format_name, fmt::format("{}; {}", declared, limit_of(source.options)), raise_limit);
  if (bytes > ratio * static_cast<double>(source.size())) {
    source.fail(format_name, fmt::format("{}, more than a file of {} can hold: it is damaged or cut short", declared,
                                         base::format_bytes(static_cast<double>(source.size()))));
  }
}

Array allocate(const Source& source, std::string_view format_name, const Format& format, const Shape& shape,
               double ratio) {
  check_declared(source, format_name, format, shape, ratio);
  try {
    return Array(format, shape);
  } catch (const Error& e) {
    source.fail(format_name, e.message());
  }
}

const std::vector<Codec>& codecs() {
  using E = ElementType;
  static const std::vector<Codec> table = {
      {"PNG", {".png"}, matches_png, decode_png, encode_png, {E::u8, E::u16}, {1, 2, 3, 4}, false, 0x7fffffff},
      {"JPEG", {".jpg", ".jpeg"}, matches_jpeg, decode_jpeg, encode_jpeg, {E::u8}, {1, 3}, false, 65500},
      {"TIFF",
       {".tif", ".tiff"},
       matches_tiff,
       decode_tiff,
       encode_tiff,
       {E::u8, E::i16, E::u16, E::i32, E::u32, E::f16, E::f32, E::f64},
       {},
       true,
       0x7fffffff},
      {.name = "NumPy", .suffixes = {".npy"}, .matches = matches_npy, .decode = decode_npy, .write = write_npy},
      {"PGM", {".pgm"}, matches_pnm, decode_pnm, encode_pnm, {E::u8, E::u16}, {1}},
      {"PPM", {".ppm"}, matches_pnm, decode_pnm, encode_pnm, {E::u8, E::u16}, {3}},
      {"PNM", {".pnm"}, matches_pnm, decode_pnm, encode_pnm, {E::u8, E::u16}, {1, 3}},
      {"PBM", {".pbm"}, matches_pnm, decode_pnm, encode_pbm, {E::boolean}, {1}},
      {"PFM", {".pfm"}, matches_pfm, decode_pfm, encode_pfm, {E::f32}, {1, 3}},
      {"GIF", {".gif"}, matches_gif, decode_gif},
      {"HDR", {".hdr"}, matches_hdr, decode_hdr},
      {"BMP", {".bmp"}, matches_bmp, decode_bmp, encode_bmp, {E::u8}, {1, 3, 4}, false, 0x7fffffff},
      {.name = "NIfTI",
       .suffixes = {".nii", ".nii.gz"},
       .matches = matches_nifti,
       .decode = decode_nifti,
       .write = write_nifti},
      {"TGA", {".tga"}, matches_tga, decode_tga},
  };
  return table;
}

Image decode_image(std::span<const std::byte> bytes, const std::string& name, const ReadOptions& options) {
  return decode(Source{bytes, name, options});
}

Array decode_array(std::span<const std::byte> bytes, const std::string& name, const ReadOptions& options) {
  return decode_image(bytes, name, options).array;
}

Array read_array(const std::string& path, const ReadOptions& options) {
  return read_image(path, options).array;
}

namespace {

// A pipe, a device or standard input, which may have no end: what it is shows in its first bytes.
Image read_stream(const std::string& path, const ReadOptions& options) {
  const base::Reading stream(path);
  std::vector<std::byte> bytes = stream.more(first_bytes);
  const Source begin{bytes, path, options, nullptr, path};
  if (begin.size() > 0 && codec_of(begin) == nullptr) unknown_content(begin);
  // What has come is held beside what is asked for next, and then beside the array.
  const i64 most = options.max_bytes > 0 ? options.max_bytes : base::memory_limit() / 2;
  stream.rest(bytes, most, [&] {
    throw Error(ErrorClass::io,
                fmt::format("cannot read {}: it does not end within {}", base::quoted(path, 1024),
                            base::format_bytes(static_cast<double>(most))),
                {}, raise_limit);
  });
  return decode(Source{bytes, path, options, nullptr, path});
}

}  // namespace

i64 ReadOptions::most_bytes() const {
  return max_bytes > 0 ? max_bytes : base::memory_limit();
}

Image read_image(const std::string& given, const ReadOptions& options) {
  const std::string path = nifti_header_beside(given);
  const std::optional<std::int64_t> size = base::file_size(path);
  if (!size) return read_stream(path, options);
  if (*size > options.most_bytes()) {
    throw Error(ErrorClass::io,
                fmt::format("cannot read {}: it holds {}; {}", base::quoted(path, 1024),
                            base::format_bytes(static_cast<double>(*size)), limit_of(options)),
                {}, raise_limit);
  }
  // The file is read into memory that an array may keep: a raw format costs no copy.
  Array file;
  try {
    file = Array(ElementType::u8, {*size});
  } catch (const Error& e) {
    throw Error(ErrorClass::io, fmt::format("cannot read {}: {}", base::quoted(path, 1024), e.message()));
  }
  auto* data = static_cast<std::byte*>(file.data());
  const std::size_t used = base::read_file_into(path, std::span(data, static_cast<std::size_t>(*size)));
  return decode(Source{std::span<const std::byte>(data, used), path, options, file.owner(), path});
}

WriteReport write_array(base::AtomicFile& file, const Array& array, const WriteOptions& options) {
  const std::string& path = file.path();
  const Codec& codec = writable_codec(path);
  if (array.empty()) cannot_hold(path, "the array is empty");
  check_write_options(path, options);
  WriteReport report;
  if (codec.write != nullptr) {
    report = codec.write(file, array, options);
    report.lost = lost_in_array(options.header, codec.name, array.shape());
  } else {
    Samples samples = samples_of(codec, path, array, options);
    FittedMetadata fitted = fit_metadata(options.header, codec.name, samples);
    if (options.packing || options.compression >= 0)
      std::erase_if(fitted.lost, [](const std::string& what) { return what.starts_with("the packing"); });
    if (fitted.kept.largest) clamp_above(samples, *fitted.kept.largest);
    WriteOptions rest = options;
    rest.header.metadata = std::make_shared<const Metadata>(std::move(fitted.kept));
    codec.encode(file, samples, rest);
    report = {std::string(codec.name), samples.type, samples.values(), samples.saturated, std::move(fitted.lost)};
  }
  lose_places(options.header, codec.name, array.shape(), report.lost);
  return report;
}

void check_write_options(const std::string& path, const WriteOptions& options) {
  const Codec& codec = writable_codec(path);
  if (options.quality < 1 || options.quality > 100) {
    cannot_hold(path, fmt::format("the quality is a number from 1 to 100, got {}", options.quality));
  }
  check_packing(codec, path, options);
}

WriteReport write_array(const std::string& path, const Array& array, const WriteOptions& options) {
  writable_codec(path);  // a name that says no format is refused before anything is opened
  base::AtomicFile file(path);
  const WriteReport report = write_array(file, array, options);
  file.commit();
  return report;
}

std::vector<std::string> writable_suffixes() {
  std::vector<std::string> out;
  for (const Codec& codec : codecs()) {
    if (!codec.is_written()) continue;
    for (const std::string_view suffix : codec.suffixes) out.emplace_back(suffix);
  }
  return out;
}

bool is_writable_name(const std::string& path) {
  return codec_for(path) != nullptr;
}

std::string format_of_name(const std::string& path) {
  const Codec* codec = codec_for(path);
  return codec == nullptr ? "" : std::string(codec->name);
}

ElementType stored_type(const std::string& path, const Format& format, std::optional<ElementType> preferred) {
  const Codec* codec = codec_for(path);
  const ElementType own = format.is_struct() ? format.fields[0].type : format.scalar;
  return codec == nullptr || codec->write != nullptr ? own : type_for(*codec, path, format, {}, preferred);
}

bool stores_floats(const std::string& path) {
  const Codec* codec = codec_for(path);
  if (codec == nullptr) return false;
  return codec->write != nullptr || std::any_of(codec->types.begin(), codec->types.end(), is_float);
}

}  // namespace tessera::io
