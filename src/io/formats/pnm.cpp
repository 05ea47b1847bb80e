// The portable formats: PBM, PGM, PPM as text (P1 P2 P3) and binary (P4 P5 P6) with samples of 1, 8 and 16 bits, and
// PFM (Pf, PF) with 32-bit floats, whose rows go from bottom to top.
//
// Samples keep the numbers of the file: a maximum of 1023 gives uint16 values up to 1023. In PBM 1 is ink; here, as in
// every other image, light is the large number: ink becomes 0 and paper 255.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/text.hpp"
#include "io/codec.hpp"
#include "io/metadata.hpp"
#include "tessera/error.hpp"

namespace tessera::io {
namespace {

constexpr i64 most_skipped = i64{1} << 24;

// Walks the header, and samples that are text: words between white space, comments from # to the end of the line.
class Header {
 public:
  Header(const Source& source, std::string_view format) : source_(source), format_(format), in_(source) {
    for (int i = 0; i < 2; ++i) in_.advance();  // what it was known by
  }

  const std::string& word() {
    skip_blanks();
    word_.clear();
    for (int c = in_.peek(); c >= 0 && !is_blank(c) && word_.size() < 64; c = in_.peek()) {
      word_ += static_cast<char>(c);
      in_.advance();
    }
    if (word_.empty()) source_.fail(format_, "the header is cut short");
    return word_;
  }
  i64 number(const char* what, i64 lowest, i64 highest) {
    const std::string& text = word();
    const std::optional<std::int64_t> value = base::parse_integer(text);
    if (!value || *value < lowest || *value > highest) {
      source_.fail(format_, fmt::format("its {} is {}, expected a number from {} to {}", what, base::quoted(text, 32),
                                        lowest, highest));
    }
    return *value;
  }
  // One white-space character stands between the header and binary data.
  void end() {
    if (!is_blank(in_.peek())) source_.fail(format_, "the header is cut short");
    in_.advance();
  }
  // The digits of PBM text may stand without space between them.
  int bit() {
    skip_blanks();
    const int c = in_.peek();
    if (c < 0) source_.fail(format_, "the file is cut short");
    in_.advance();
    if (c != '0' && c != '1') {
      source_.fail(format_,
                   fmt::format("a pixel is {}, expected 0 or 1", base::quoted(std::string(1, static_cast<char>(c)))));
    }
    return c - '0';
  }
  // Binary data.
  void expect(double bytes) const {
    if (in_.left() < bytes) source_.fail(format_, "the file is cut short");
  }
  void read(std::span<std::byte> out) {
    if (in_.read(out) < out.size()) source_.fail(format_, "the file is cut short");
  }

 private:
  static bool is_blank(int c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
  void skip_blanks() {
    bool comment = false;
    for (i64 skipped = 0;; in_.advance(), ++skipped) {
      const int c = in_.peek();
      if (c < 0) return;
      if (skipped > most_skipped)  // a stream without end may be one
        source_.fail(format_, fmt::format("it has more than {} of comments and blanks in one place",
                                          base::format_bytes(static_cast<double>(most_skipped))));
      if (comment) {
        comment = c != '\n' && c != '\r';
      } else if (c == '#') {
        comment = true;
      } else if (!is_blank(c)) {
        return;
      }
    }
  }

  const Source& source_;
  std::string_view format_;
  InOrder in_;
  std::string word_;
};

constexpr i64 largest_extent = i64{1} << 40;

void swap_pairs(std::uint16_t* values, i64 count) {
  for (i64 i = 0; i < count; ++i) values[i] = static_cast<std::uint16_t>(values[i] << 8 | values[i] >> 8);
}

// Samples above the maximum are damage: who asked for 10 bits must not meet 16.
template <class T>
void check_samples(const Source& source, const T* values, i64 count, i64 maximum) {
  for (i64 i = 0; i < count; ++i) {
    if (values[i] > maximum) source.fail("PNM", fmt::format("a sample is {}, its maximum is {}", values[i], maximum));
  }
}

Array decode_bits(const Source& source, Header& header, i64 height, i64 width, bool text) {
  const Array image = allocate(source, "PBM", ElementType::u8, {height, width}, 8);
  auto* out = image.as<std::uint8_t>();
  if (text) {
    for (i64 i = 0; i < height * width; ++i) out[i] = header.bit() ? 0 : 255;
    return image;
  }
  header.end();
  const i64 row_bytes = (width + 7) / 8;
  header.expect(static_cast<double>(row_bytes) * static_cast<double>(height));
  std::vector<std::uint8_t> row(static_cast<std::size_t>(row_bytes));
  for (i64 y = 0; y < height; ++y, out += width) {
    header.read(std::as_writable_bytes(std::span(row)));
    for (i64 x = 0; x < width; ++x) out[x] = (row[x / 8] >> (7 - x % 8) & 1) ? 0 : 255;
  }
  return image;
}

Array decode_text(const Source& source, Header& header, const Format& format, i64 height, i64 width, i64 maximum) {
  // A sample takes a digit and a blank.
  const Array image = allocate(source, "PNM", format, {height, width}, 1);
  const i64 count = height * width * (format.is_struct() ? 3 : 1);
  for (i64 i = 0; i < count; ++i) {
    const i64 value = header.number("sample", 0, maximum);
    if (maximum > 255) {
      image.as<std::uint16_t>()[i] = static_cast<std::uint16_t>(value);
    } else {
      image.as<std::uint8_t>()[i] = static_cast<std::uint8_t>(value);
    }
  }
  return image;
}

}  // namespace

bool matches_pnm(const Source& source) {
  if (source.size() < 3 || source.data()[0] != 'P') return false;
  const std::uint8_t kind = source.data()[1], next = source.data()[2];
  return kind >= '1' && kind <= '6' && (next == ' ' || next == '#' || (next >= '\t' && next <= '\r'));
}

Array decode_pnm(const Source& source) {
  Header header(source, "PNM");
  const int kind = source.data()[1] - '0';
  const i64 width = header.number("width", 1, largest_extent);
  const i64 height = header.number("height", 1, largest_extent);
  if (kind == 1 || kind == 4) return decode_bits(source, header, height, width, kind == 1);
  const i64 maximum = header.number("maximum", 1, 65535);
  const bool wide = maximum > 255;
  if (source.header != nullptr && maximum != 255 && maximum != 65535) {
    Metadata metadata;
    metadata.largest = maximum;
    source.header->metadata = std::make_shared<const Metadata>(std::move(metadata));
  }
  const Format format = pixel_format(wide ? ElementType::u16 : ElementType::u8, kind == 3 || kind == 6 ? 3 : 1);
  if (kind <= 3) return decode_text(source, header, format, height, width, maximum);

  header.end();
  const Array image = allocate(source, "PNM", format, {height, width}, 1);
  const i64 count = image.count() * (format.is_struct() ? 3 : 1);
  const std::size_t bytes = static_cast<std::size_t>(image.count()) * format.size();
  header.expect(static_cast<double>(bytes));
  header.read(std::span(image.as<std::byte>(), bytes));
  if (wide) {
    swap_pairs(image.as<std::uint16_t>(), count);
    if (maximum < 65535) check_samples(source, image.as<std::uint16_t>(), count, maximum);
  } else if (maximum < 255) {
    check_samples(source, image.as<std::uint8_t>(), count, maximum);
  }
  return image;
}

void encode_pnm(base::AtomicFile& file, const Samples& samples, const WriteOptions& options) {
  const bool wide = samples.type == ElementType::u16;
  const auto& metadata = options.header.metadata;
  const i64 largest = metadata && metadata->largest ? *metadata->largest : wide ? 65535 : 255;
  const std::string header =
      fmt::format("P{}\n{} {}\n{}\n", samples.channels == 3 ? 6 : 5, samples.width, samples.height, largest);
  file.write(std::as_bytes(std::span(header.data(), header.size())));
  if (!wide) {
    file.write(std::span(samples.data, static_cast<std::size_t>(samples.values())));
    return;
  }
  constexpr i64 piece = 1 << 16;
  std::vector<std::uint16_t> buffer(static_cast<std::size_t>(std::min(piece, samples.values())));
  for (i64 done = 0; done < samples.values(); done += piece) {
    const i64 count = std::min(piece, samples.values() - done);
    std::memcpy(buffer.data(), samples.data + 2 * done, static_cast<std::size_t>(2 * count));
    swap_pairs(buffer.data(), count);
    file.write(std::as_bytes(std::span(buffer.data(), static_cast<std::size_t>(count))));
  }
}

void encode_pbm(base::AtomicFile& file, const Samples& samples, const WriteOptions&) {
  const std::string header = fmt::format("P4\n{} {}\n", samples.width, samples.height);
  file.write(std::as_bytes(std::span(header.data(), header.size())));
  std::vector<std::uint8_t> row(static_cast<std::size_t>((samples.width + 7) / 8));
  for (i64 y = 0; y < samples.height; ++y) {
    std::fill(row.begin(), row.end(), std::uint8_t{0});
    for (i64 x = 0; x < samples.width; ++x) {
      if (samples.row(0, y)[x] == std::byte{0}) row[x / 8] = static_cast<std::uint8_t>(row[x / 8] | 0x80 >> (x % 8));
    }
    file.write(std::as_bytes(std::span(row)));
  }
}

Array decode_pfm(const Source& source) {
  Header header(source, "PFM");
  const bool colour = source.data()[1] == 'F';
  const i64 width = header.number("width", 1, largest_extent);
  const i64 height = header.number("height", 1, largest_extent);
  const std::string scale_text = header.word();
  const std::optional<double> scale = base::parse_number(scale_text);
  if (!scale || !std::isfinite(*scale) || *scale == 0) {
    source.fail("PFM", fmt::format("its scale is {}, expected a number other than 0", base::quoted(scale_text, 32)));
  }
  header.end();
  const Format format = pixel_format(ElementType::f32, colour ? 3 : 1);
  const Array image = allocate(source, "PFM", format, {height, width}, 1);
  const std::size_t row_bytes = static_cast<std::size_t>(width) * format.size();
  header.expect(static_cast<double>(row_bytes) * static_cast<double>(height));
  for (i64 y = height; y-- > 0;)
    header.read(std::span(image.as<std::byte>() + static_cast<std::size_t>(y) * row_bytes, row_bytes));
  if (*scale > 0) {  // big-endian
    auto* words = image.as<std::uint32_t>();
    for (i64 i = 0; i < image.count() * (colour ? 3 : 1); ++i) words[i] = __builtin_bswap32(words[i]);
  }
  return image;
}

void encode_pfm(base::AtomicFile& file, const Samples& samples, const WriteOptions&) {
  const std::string header =
      fmt::format("P{}\n{} {}\n-1.0\n", samples.channels == 3 ? 'F' : 'f', samples.width, samples.height);
  file.write(std::as_bytes(std::span(header.data(), header.size())));
  for (i64 y = samples.height; y-- > 0;) {
    file.write(std::span(samples.row(0, y), static_cast<std::size_t>(samples.row_bytes())));
  }
}

}  // namespace tessera::io
