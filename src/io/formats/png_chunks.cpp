// The chunks of a PNG that tell of its picture, read off the file itself: libpng unpacks, repairs and drops some of
// them, and here they go from file to file as they are.
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/text.hpp"
#include "io/metadata.hpp"

namespace tessera::io {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::size_t most_text = std::size_t{4} << 20;       // of all chunks together
constexpr std::size_t most_unpacked = std::size_t{32} << 20;  // of a profile
constexpr double metres = 100;                                // in centimetres

std::uint32_t big_endian(Bytes bytes, std::size_t at) {
  return std::uint32_t{bytes[at]} << 24 | std::uint32_t{bytes[at + 1]} << 16 | std::uint32_t{bytes[at + 2]} << 8 |
         bytes[at + 3];
}

// Nothing where it is damaged or larger than anybody means.
std::vector<std::uint8_t> unpacked(Bytes packed) {
  std::vector<std::uint8_t> out;
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) return out;
  stream.next_in = const_cast<Bytef*>(packed.data());
  stream.avail_in = static_cast<uInt>(packed.size());
  int status = Z_OK;
  while (status == Z_OK && out.size() < most_unpacked) {
    const std::size_t have = out.size();
    out.resize(have + (std::size_t{1} << 16));
    stream.next_out = out.data() + have;
    stream.avail_out = 1u << 16;
    status = inflate(&stream, Z_NO_FLUSH);
    out.resize(out.size() - stream.avail_out);
    if (stream.avail_out != 0 && status == Z_OK && stream.avail_in == 0) break;
  }
  inflateEnd(&stream);
  if (status != Z_STREAM_END) out.clear();
  return out;
}

std::vector<std::uint8_t> packed(Bytes bytes) {
  uLongf size = compressBound(static_cast<uLong>(bytes.size()));
  std::vector<std::uint8_t> out(size);
  if (compress2(out.data(), &size, bytes.data(), static_cast<uLong>(bytes.size()), 9) != Z_OK) size = 0;
  out.resize(size);
  return out;
}

// What ImageMagick writes: a line feed, a name, a length, and the bytes as hexadecimal digits in lines.
std::vector<std::uint8_t> raw_profile(std::string_view text) {
  std::vector<std::uint8_t> out;
  std::size_t skipped = 0;
  while (skipped < 3 && !text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + 1);
    ++skipped;
  }
  int high = -1;
  for (const char c : text) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) continue;
    if (high < 0) {
      high = digit;
    } else {
      out.push_back(static_cast<std::uint8_t>(high << 4 | digit));
      high = -1;
    }
  }
  constexpr std::string_view start("Exif\0\0", 6);
  if (out.size() >= 6 && std::memcmp(out.data(), start.data(), 6) == 0) out.erase(out.begin(), out.begin() + 6);
  return out;
}

constexpr std::pair<std::string_view, std::string_view> keywords[] = {
    {"Description", "description"}, {"Author", "artist"},      {"Copyright", "copyright"},
    {"Software", "software"},       {"Creation Time", "date"}, {"Comment", "comment"}};

class Chunks {
 public:
  Chunks(Bytes file, Metadata& m) : file_(file), m_(m) {}

  int read() {
    std::size_t at = 8;
    while (at + 12 <= file_.size()) {
      const std::size_t length = big_endian(file_, at);
      if (length > file_.size() - at - 12) break;
      const std::string_view name(reinterpret_cast<const char*>(file_.data()) + at + 4, 4);
      const Bytes content = file_.subspan(at + 8, length);
      if (name == "IEND") break;
      const bool lower = (name[0] & 0x20) != 0;  // not needed to see the picture
      if (name == "IHDR" || (lower && whole(at, length))) take(name, content);
      at += 12 + length;
    }
    return orientation_ != 0 ? orientation_ : std::max(of_xmp_, 1);
  }

 private:
  bool whole(std::size_t at, std::size_t length) const {
    const uLong sum = crc32(0, file_.data() + at + 4, static_cast<uInt>(length + 4));
    return sum == big_endian(file_, at + 8 + length);
  }
  void keep(std::string_view name, Bytes content) {
    PngChunk chunk;
    std::copy_n(name.data(), 4, chunk.type.begin());
    chunk.bytes.assign(content.begin(), content.end());
    m_.png.push_back(std::move(chunk));
  }
  void unread(const std::string& name) {
    if (std::find(m_.unread.begin(), m_.unread.end(), name) == m_.unread.end()) m_.unread.push_back(name);
  }

  void take(std::string_view name, Bytes c) {
    if (name == "IHDR" && c.size() == 13) {
      m_.depth = c[8];
      palette_ = c[9] == 3;
    } else if (name == "gAMA" || name == "cHRM" || name == "sRGB" || name == "cICP" || name == "mDCV" ||
               name == "cLLI") {
      if (c.size() <= 64) keep(name, c);
    } else if (name == "iCCP") {
      profile(c);
    } else if (name == "sBIT" && !palette_ && m_.depth >= 8 && c.size() <= 4) {
      m_.significant.assign(c.begin(), c.end());
    } else if (name == "pHYs" && c.size() == 9) {
      resolution(c);
    } else if (name == "eXIf") {
      exif({c.begin(), c.end()});
    } else if (name == "tEXt" || name == "zTXt" || name == "iTXt") {
      text(name, c);
    } else if (name == "acTL") {
      unread("the other pictures of the animation");
    } else if (name == "bKGD") {
      unread("the colour of the background");
    }
  }
  void profile(Bytes c) {
    if (std::exchange(profile_seen_, true)) return;  // one, also of a file that is made to take time
    const auto end = std::find(c.begin(), c.end(), std::uint8_t{0});
    const auto name = static_cast<std::size_t>(end - c.begin());
    if (name + 2 >= c.size() || c[name + 1] != 0) return unread("the ICC profile, which is damaged");
    m_.icc = unpacked(c.subspan(name + 2));
    if (m_.icc.empty()) unread("the ICC profile, which is damaged");
  }
  void resolution(Bytes c) {
    const double x = big_endian(c, 0), y = big_endian(c, 4);
    if (x <= 0 || y <= 0 || (c[8] != 1 && x == y)) return;
    m_.resolution = c[8] == 1 ? Resolution{x / metres, y / metres, Resolution::Unit::centimetre}
                              : Resolution{x, y, Resolution::Unit::aspect};
  }
  void exif(std::vector<std::uint8_t> block) {
    if (!m_.exif.empty() || block.size() < 8) return;
    orientation_ = exif_orientation(block);
    make_upright(block);
    m_.exif = std::move(block);
  }
  void text(std::string_view name, Bytes c) {
    const auto end = std::find(c.begin(), c.end(), std::uint8_t{0});
    if (end == c.end()) return;
    const std::string key(c.begin(), end);
    const Bytes rest = c.subspan(key.size() + 1);
    const auto as_text = [](Bytes bytes) {
      return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    };
    if (key == "XML:com.adobe.xmp") {
      if (of_xmp_ == 0) of_xmp_ = xmp_orientation(as_text(rest));
      return unread("XMP");
    }
    if (key.starts_with("Raw profile type")) {
      if (key != "Raw profile type exif" && key != "Raw profile type APP1")
        return unread(key.substr(17) + " (of ImageMagick)");
      if (std::exchange(raw_seen_, true)) return;
      const auto inner = name == "zTXt" && !rest.empty() ? unpacked(rest.subspan(1)) : std::vector<std::uint8_t>{};
      return exif(raw_profile(as_text(name == "zTXt" ? Bytes(inner) : rest)));
    }
    texts_ += c.size();
    if (texts_ > most_text) return unread("the longest texts");
    keep(name, c);
    for (const auto& [keyword, meaning] : keywords)
      if (key == keyword && name == "tEXt" && rest.size() < 65000) m_.texts[std::string(meaning)] = as_text(rest);
  }

  Bytes file_;
  Metadata& m_;
  bool palette_ = false, profile_seen_ = false, raw_seen_ = false;
  int orientation_ = 0, of_xmp_ = 0;
  std::size_t texts_ = 0;
};

PngChunk chunk_of(std::string_view name) {
  PngChunk chunk;
  std::copy_n(name.data(), 4, chunk.type.begin());
  return chunk;
}

void put(std::vector<std::uint8_t>& bytes, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<std::uint8_t>(value >> shift));
}

void put_text(std::vector<PngChunk>& out, std::string_view keyword, const std::string& text) {
  PngChunk chunk = chunk_of("tEXt");
  chunk.bytes.assign(keyword.begin(), keyword.end());
  chunk.bytes.push_back(0);
  for (const char c : text)
    if (c != 0) chunk.bytes.push_back(static_cast<std::uint8_t>(c));
  out.push_back(std::move(chunk));
}

}  // namespace

int read_png_metadata(Bytes file, Metadata& m) {
  return Chunks(file, m).read();
}

std::vector<PngChunk> png_chunks_of(const Metadata& m) {
  std::vector<PngChunk> out = m.png;
  if (!m.icc.empty()) {
    PngChunk chunk = chunk_of("iCCP");
    for (const char c : std::string_view("ICC profile\0\0", 13)) chunk.bytes.push_back(static_cast<std::uint8_t>(c));
    const std::vector<std::uint8_t> body = packed(m.icc);
    chunk.bytes.insert(chunk.bytes.end(), body.begin(), body.end());
    std::erase_if(out, [](const PngChunk& c) { return c.name() == "sRGB"; });  // one of both
    out.push_back(std::move(chunk));
  }
  if (!m.significant.empty()) {
    out.push_back(chunk_of("sBIT"));
    out.back().bytes = m.significant;
  }
  if (m.resolution) {
    const bool aspect = m.resolution->unit == Resolution::Unit::aspect;
    const double scale = aspect ? 1 : m.resolution->unit == Resolution::Unit::inch ? metres / 2.54 : metres;
    double x = m.resolution->x * scale, y = m.resolution->y * scale;
    if (aspect && (x != std::round(x) || y != std::round(y))) {
      const double larger = std::max(x, y);
      x *= 1e6 / larger;
      y *= 1e6 / larger;
    }
    if (x >= 0.5 && y >= 0.5 && x < 0x1p31 && y < 0x1p31) {
      out.push_back(chunk_of("pHYs"));
      put(out.back().bytes, static_cast<std::uint32_t>(std::lround(x)));
      put(out.back().bytes, static_cast<std::uint32_t>(std::lround(y)));
      out.back().bytes.push_back(aspect ? 0 : 1);
    }
  }
  if (!m.exif.empty()) {
    out.push_back(chunk_of("eXIf"));
    out.back().bytes = m.exif;
  }
  if (m.png.empty())  // of another format
    for (const auto& [keyword, meaning] : keywords)
      if (const auto found = m.texts.find(std::string(meaning)); found != m.texts.end())
        put_text(out, keyword, found->second);
  return out;
}

}  // namespace tessera::io
