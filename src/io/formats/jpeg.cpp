// JPEG through libjpeg-turbo: grey, RGB, YCbCr and CMYK; baseline and progressive.
//
// Like libpng, libjpeg leaves by longjmp: see png.cpp. It also repairs damaged files silently by inventing pixels; data
// that ends early or does not decode is an error here. A block of 8x8 samples takes two bits at the very least
// (arithmetic coding less), which bounds what a file can hold; a progressive file with hundreds of scans is an attack
// on time and is refused.
#include <cstddef>
#include <cstdio>
// jpeglib.h needs the two above.
#include <jerror.h>
#include <jpeglib.h>

#include <csetjmp>
#include <cstdlib>
#include <cstring>
#include <string>

#include "io/codec.hpp"
#include "io/metadata.hpp"
#include "tessera/error.hpp"

namespace tessera::io {
namespace {

constexpr double jpeg_ratio = 4096;
constexpr int most_scans = 200;

struct Session {
  jpeg_error_mgr errors{};
  jpeg_progress_mgr progress{};
  std::jmp_buf jump{};
  char message[JMSG_LENGTH_MAX] = "";
};

Session& session_of(j_common_ptr common) {
  return *static_cast<Session*>(common->client_data);
}

void on_error(j_common_ptr common) {
  Session& session = session_of(common);
  (*common->err->format_message)(common, session.message);
  std::longjmp(session.jump, 1);
}

void on_message(j_common_ptr common, int level) {
  if (level >= 0) return;
  const int code = common->err->msg_code;
  const bool fatal = code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE;
  if (fatal) on_error(common);
}

void no_output(j_common_ptr) {}

void on_progress(j_common_ptr common) {
  if (!common->is_decompressor) return;
  if (reinterpret_cast<j_decompress_ptr>(common)->input_scan_number <= most_scans) return;
  Session& session = session_of(common);
  std::snprintf(session.message, sizeof session.message, "it has more than %d scans", most_scans);
  std::longjmp(session.jump, 1);
}

void prepare(Session& session, j_common_ptr common) {
  common->client_data = &session;
  common->err = jpeg_std_error(&session.errors);
  session.errors.error_exit = on_error;
  session.errors.emit_message = on_message;
  session.errors.output_message = no_output;
  session.progress.progress_monitor = on_progress;
}

template <class F>
bool protect(Session& session, F&& body) {
  if (setjmp(session.jump) != 0) return false;
  body();
  return true;
}

struct Decompressor {
  jpeg_decompress_struct info{};
  ~Decompressor() { jpeg_destroy_decompress(&info); }
};

struct Compressor {
  jpeg_compress_struct info{};
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  ~Compressor() {
    jpeg_destroy_compress(&info);
    std::free(memory);
  }
};

// Ink to light. Files that Adobe's programs mark hold inverted ink, that is, light already.
void cmyk_to_rgb(const std::uint8_t* cmyk, std::uint8_t* rgb, std::size_t count, bool inverted) {
  for (std::size_t i = 0; i < count; ++i, cmyk += 4, rgb += 3) {
    const unsigned k = inverted ? cmyk[3] : 255u - cmyk[3];
    for (int c = 0; c < 3; ++c) {
      const unsigned light = inverted ? cmyk[c] : 255u - cmyk[c];
      rgb[c] = static_cast<std::uint8_t>((light * k + 127) / 255);
    }
  }
}

}  // namespace

// Segments say how long they are, but for what follows a start of scan, which goes on to the next marker; 0xd9 ends it.
std::optional<std::size_t> end_of_jpeg(std::span<const std::byte> bytes, Scan& scan) {
  const auto at = [&](std::size_t i) { return std::to_integer<unsigned>(bytes[i]); };
  while (scan.at < bytes.size() && bytes.size() - scan.at >= 4) {
    const unsigned marker = at(scan.at + 1);
    const bool alone = marker == 0 || marker == 1 || (marker >= 0xd0 && marker <= 0xd8);  // without a length
    if (at(scan.at) != 0xff || marker == 0xff || alone) {
      const auto* next =
          at(scan.at) == 0xff
              ? nullptr
              : static_cast<const std::byte*>(std::memchr(bytes.data() + scan.at, 0xff, bytes.size() - scan.at));
      if (at(scan.at) == 0xff)
        scan.at += alone ? 2 : 1;
      else
        scan.at = next != nullptr ? static_cast<std::size_t>(next - bytes.data()) : bytes.size();
    } else if (marker == 0xd9) {
      return scan.at + 2;
    } else {
      scan.at += 2 + (at(scan.at + 2) << 8 | at(scan.at + 3));
    }
  }
  // The last two bytes may be all there is.
  if (scan.at + 2 <= bytes.size() && at(scan.at) == 0xff && at(scan.at + 1) == 0xd9) return scan.at + 2;
  return std::nullopt;
}

namespace {

// Of a picture that comes in several scans the coefficients are kept until the last one.
double kept_by_decoder(const jpeg_decompress_struct& info, bool several) {
  double bytes = 0;
  for (int k = 0; several && k < info.num_components; ++k) {
    const jpeg_component_info& c = info.comp_info[k];
    bytes += static_cast<double>(c.width_in_blocks) * c.height_in_blocks * DCTSIZE2 * sizeof(JCOEF);
  }
  return bytes;
}

}  // namespace

Array decode_jpeg(const Source& source) {
  Session session;
  Decompressor jpeg;
  jpeg_decompress_struct& info = jpeg.info;
  prepare(session, reinterpret_cast<j_common_ptr>(&info));
  const auto check = [&](bool good) {
    if (!good) source.fail("JPEG", session.message);
  };
  check(protect(session, [&] {
    jpeg_create_decompress(&info);
    info.progress = &session.progress;
    jpeg_mem_src(&info, source.data(), static_cast<unsigned long>(source.size()));
    jpeg_read_header(&info, TRUE);
    switch (info.jpeg_color_space) {
      case JCS_GRAYSCALE:
        info.out_color_space = JCS_GRAYSCALE;
        break;
      case JCS_CMYK:
      case JCS_YCCK:
        info.out_color_space = JCS_CMYK;
        break;
      default:
        info.out_color_space = JCS_RGB;
        break;
    }
  }));
  if (info.num_components != 1 && info.num_components != 3 && info.num_components != 4) {
    source.fail("JPEG", "it has " + std::to_string(info.num_components) + " channels, expected 1, 3 or 4");
  }
  const bool grey = info.out_color_space == JCS_GRAYSCALE, ink = info.out_color_space == JCS_CMYK;
  const Format format = pixel_format(ElementType::u8, grey ? 1 : 3);
  const Array image = allocate(source, "JPEG", format, {info.image_height, info.image_width}, jpeg_ratio,
                               kept_by_decoder(info, jpeg_has_multiple_scans(&info) != 0));
  const std::size_t row_bytes = format.size() * info.image_width;
  std::vector<std::uint8_t> ink_row(ink ? std::size_t{4} * info.image_width : 0);
  std::uint8_t* const ink_data = ink_row.data();
  check(protect(session, [&] {
    jpeg_start_decompress(&info);
    while (info.output_scanline < info.output_height) {
      std::uint8_t* const row = image.as<std::uint8_t>() + row_bytes * info.output_scanline;
      JSAMPROW target = ink ? ink_data : row;
      jpeg_read_scanlines(&info, &target, 1);
      if (ink) cmyk_to_rgb(ink_data, row, info.image_width, info.saw_Adobe_marker != 0);
    }
    jpeg_finish_decompress(&info);
  }));
  if (source.header != nullptr) {
    Metadata metadata;
    *source.orientation = read_jpeg_metadata({source.data(), source.size()}, metadata);
    if (!metadata.empty()) source.header->metadata = std::make_shared<const Metadata>(std::move(metadata));
  }
  return image;
}

namespace {

void set_density(jpeg_compress_struct& info, const Resolution& resolution) {
  const Resolution r = in_whole_numbers(resolution);
  if (!(r.x >= 0.5 && r.y >= 0.5 && r.x < 65535 && r.y < 65535)) return;
  info.density_unit = r.unit == Resolution::Unit::inch ? 1 : r.unit == Resolution::Unit::centimetre ? 2 : 0;
  info.X_density = static_cast<UINT16>(r.x + 0.5);
  info.Y_density = static_cast<UINT16>(r.y + 0.5);
}

}  // namespace

void encode_jpeg(base::AtomicFile& file, const Samples& samples, const WriteOptions& options) {
  static const Metadata nothing;
  const Metadata& metadata = options.header.metadata ? *options.header.metadata : nothing;
  const auto markers = jpeg_markers_of(metadata);
  Session session;
  Compressor jpeg;
  jpeg_compress_struct& info = jpeg.info;
  prepare(session, reinterpret_cast<j_common_ptr>(&info));
  const bool good = protect(session, [&] {
    jpeg_create_compress(&info);
    jpeg_mem_dest(&info, &jpeg.memory, &jpeg.size);
    info.image_width = static_cast<JDIMENSION>(samples.width);
    info.image_height = static_cast<JDIMENSION>(samples.height);
    info.input_components = samples.channels;
    info.in_color_space = samples.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&info);
    jpeg_set_quality(&info, options.quality, TRUE);
    // Who asks for high quality wants the colour edges as well: no subsampling of chroma.
    if (samples.channels == 3 && options.quality >= 90) {
      info.comp_info[0].h_samp_factor = 1;
      info.comp_info[0].v_samp_factor = 1;
    }
    if (metadata.resolution) set_density(info, *metadata.resolution);
    jpeg_start_compress(&info, TRUE);
    for (const auto& [number, content] : markers)
      jpeg_write_marker(&info, number, content.data(), static_cast<unsigned>(content.size()));
    while (info.next_scanline < info.image_height) {
      auto* row = const_cast<JSAMPROW>(reinterpret_cast<const JSAMPLE*>(samples.row(0, info.next_scanline)));
      jpeg_write_scanlines(&info, &row, 1);
    }
    jpeg_finish_compress(&info);
  });
  if (!good) throw Error(ErrorClass::io, "cannot write " + file.path() + ": " + session.message);
  file.write(std::as_bytes(std::span(jpeg.memory, jpeg.size)));
}

}  // namespace tessera::io
