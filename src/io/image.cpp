// The table of formats, and writing by it; see image.hpp. Reading is in read.cpp.
#include "io/image.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/files/files.hpp"
#include "base/memory.hpp"
#include "base/text.hpp"
#include "io/axes.hpp"
#include "io/codec.hpp"
#include "io/formats/volume.hpp"
#include "io/metadata.hpp"
#include "io/regions/regions.hpp"
#include "io/tiff/pages.hpp"
#include "tessera/error.hpp"

namespace tessera::io {
namespace {

bool matches_jpeg(const Source& s) {
  return s.starts_with("\xff\xd8\xff");
}
bool matches_png(const Source& s) {
  return s.starts_with("\x89PNG\r\n\x1a\n");
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
  const bool deflates = codec.name == "PNG" || codec.name == "NRRD" || codec.name == "MetaImage" || packed;
  if (codec.name == "TIFF" ? packs_tiff(packing) : packing == Packing::deflate && deflates) return;
  cannot_hold(path,
              fmt::format("{} is not written with the compression {}",
                          codec.name == "NIfTI" && !packed ? ".nii" : codec.name, name_of(packing)),
              codec.name == "TIFF"    ? "deflate, lzw, packbits and none are"
              : codec.name == "PNG"   ? "deflate and none are, or write .tif"
              : deflates              ? "deflate and none are"
              : codec.name == "JPEG"  ? "a JPEG has a quality"
              : codec.name == "NIfTI" ? "write .nii.gz, which is packed by deflate"
                                      : "write .tif or .png");
}

}  // namespace

void lose_places(const ImageHeader& header, std::string_view format, const Shape& shape,
                 std::vector<std::string>& lost) {
  if (header.steps.empty() && !header.volume) return;
  const bool fits = header_for(header, shape).has_value();
  const bool is_volume = format == "NRRD" || format == "MetaImage";
  if (format != "NIfTI" && format != "TIFF" && format != "OME-Zarr" && !is_volume) {
    lost.emplace_back(header.nifti ? "the NIfTI header" : "the distances between points");
  } else if (!fits) {
    lost.emplace_back("the distances between points and their place in space (its extents are others)");
  } else if (header.volume && header.volume->format != format) {
    lost.push_back(fmt::format("the {} header but for the distances between points", header.volume->format));
  } else if (header.nifti && format != "NIfTI") {
    lost.emplace_back("the NIfTI header but for the distances between points");
  }
}

namespace {

Codec netpbm(std::string_view name, std::string_view suffix, decltype(Codec::encode) encode,
             std::vector<ElementType> types, std::vector<int> channels) {
  return {.name = name,
          .suffixes = {suffix},
          .matches = matches_pnm,
          .decode = decode_pnm,
          .encode = encode,
          .types = std::move(types),
          .channels = std::move(channels),
          .reads = Codec::Reads::in_order};
}

}  // namespace

const std::vector<Codec>& codecs() {
  using E = ElementType;
  static const std::vector<Codec> table = {
      {.name = "PNG",
       .suffixes = {".png"},
       .matches = matches_png,
       .decode = decode_png,
       .encode = encode_png,
       .types = {E::u8, E::u16},
       .channels = {1, 2, 3, 4},
       .largest = 0x7fffffff,
       .end = end_of_png},
      {.name = "JPEG",
       .suffixes = {".jpg", ".jpeg"},
       .matches = matches_jpeg,
       .decode = decode_jpeg,
       .encode = encode_jpeg,
       .types = {E::u8},
       .channels = {1, 3},
       .largest = 65500,
       .end = end_of_jpeg},
      {.name = "TIFF",
       .suffixes = {".tif", ".tiff"},
       .matches = is_tiff,
       .decode = decode_tiff,
       .encode = encode_tiff,
       .types = {E::u8, E::i16, E::u16, E::i32, E::u32, E::f16, E::f32, E::f64},
       .pages = true,
       .largest = 0x7fffffff,
       .reads = Codec::Reads::places},
      {.name = "NumPy",
       .suffixes = {".npy"},
       .matches = matches_npy,
       .decode = decode_npy,
       .write = write_npy,
       .reads = Codec::Reads::in_order},
      netpbm("PGM", ".pgm", encode_pnm, {E::u8, E::u16}, {1}),
      netpbm("PPM", ".ppm", encode_pnm, {E::u8, E::u16}, {3}),
      netpbm("PNM", ".pnm", encode_pnm, {E::u8, E::u16}, {1, 3}),
      netpbm("PBM", ".pbm", encode_pbm, {E::boolean}, {1}),
      {.name = "PFM",
       .suffixes = {".pfm"},
       .matches = matches_pfm,
       .decode = decode_pfm,
       .encode = encode_pfm,
       .types = {E::f32},
       .channels = {1, 3},
       .reads = Codec::Reads::in_order},
      {.name = "GIF", .suffixes = {".gif"}, .matches = matches_gif, .decode = decode_gif, .end = end_of_gif},
      {.name = "HDR", .suffixes = {".hdr"}, .matches = matches_hdr, .decode = decode_hdr},
      {.name = "BMP",
       .suffixes = {".bmp"},
       .matches = matches_bmp,
       .decode = decode_bmp,
       .encode = encode_bmp,
       .types = {E::u8},
       .channels = {1, 3, 4},
       .largest = 0x7fffffff,
       .end = end_of_bmp},
      {.name = "NIfTI",
       .suffixes = {".nii", ".nii.gz"},
       .matches = matches_nifti,
       .decode = decode_nifti,
       .write = write_nifti,
       .reads = Codec::Reads::in_order},
      {.name = "NRRD",
       .suffixes = {".nrrd", ".nhdr"},
       .matches = matches_nrrd,
       .decode = decode_nrrd,
       .write = write_nrrd,
       .reads = Codec::Reads::in_order},
      {.name = "MetaImage",
       .suffixes = {".mha", ".mhd"},
       .matches = matches_metaimage,
       .decode = decode_metaimage,
       .write = write_metaimage,
       .reads = Codec::Reads::in_order},
      {.name = "TGA", .suffixes = {".tga"}, .matches = matches_tga, .decode = decode_tga},
  };
  return table;
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

bool is_readable_name(const std::string& path) {
  const std::string suffix = suffix_of(path);
  return std::ranges::any_of(
      codecs(), [&](const Codec& codec) { return std::ranges::find(codec.suffixes, suffix) != codec.suffixes.end(); });
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
  if (codec == nullptr) return is_written_by_regions(path);  // a folder, or raw
  return codec->write != nullptr || std::any_of(codec->types.begin(), codec->types.end(), is_float);
}

}  // namespace tessera::io
