// The markers of a JPEG that tell of its picture: APP0 how dense its points are, APP1 EXIF or XMP, APP2 pieces of an
// ICC profile (a marker holds 64 KiB, a profile may be larger), COM a comment.
#include <algorithm>
#include <cstring>

#include "io/metadata.hpp"

namespace tessera::io {
namespace {

using Bytes = std::span<const std::uint8_t>;
using namespace std::string_view_literals;

constexpr auto exif_name = "Exif\0\0"sv, icc_name = "ICC_PROFILE\0"sv, xmp_name = "http://ns.adobe.com/xap/1.0/\0"sv;
constexpr std::size_t largest_marker = 65533;

bool starts(Bytes bytes, std::string_view with) {
  return bytes.size() >= with.size() && std::memcmp(bytes.data(), with.data(), with.size()) == 0;
}

class Markers {
 public:
  Markers(Bytes file, Metadata& m) : file_(file), m_(m) {}

  int read() {
    std::size_t at = 2;
    while (at + 4 <= file_.size() && file_[at] == 0xff) {
      const int marker = file_[at + 1];
      if (marker == 0xff) {  // filling
        ++at;
        continue;
      }
      if (marker == 0xda || marker == 0xd9) break;  // the picture, the end
      if (marker == 0x01 || (marker >= 0xd0 && marker <= 0xd8)) {
        at += 2;
        continue;
      }
      const std::size_t length = std::size_t{file_[at + 2]} << 8 | file_[at + 3];
      if (length < 2 || length > file_.size() - at - 2) break;
      take(marker, file_.subspan(at + 4, length - 2));
      at += 2 + length;
    }
    join_profile();
    if (!m_.resolution) m_.resolution = exif_resolution(m_.exif);
    return orientation_ != 0 ? orientation_ : std::max(of_xmp_, 1);
  }

 private:
  void unread(const char* name) {
    if (std::find(m_.unread.begin(), m_.unread.end(), name) == m_.unread.end()) m_.unread.emplace_back(name);
  }
  void take(int marker, Bytes c) {
    if (marker == 0xe0 && starts(c, "JFIF\0"sv) && c.size() >= 12) {
      const double x = c[8] << 8 | c[9], y = c[10] << 8 | c[11];
      const int unit = c[7];
      if (x > 0 && y > 0 && (unit == 1 || unit == 2 || x != y))
        m_.resolution = {x, y,
                         unit == 1   ? Resolution::Unit::inch
                         : unit == 2 ? Resolution::Unit::centimetre
                                     : Resolution::Unit::aspect};
    } else if (marker == 0xe1 && starts(c, exif_name) && m_.exif.empty()) {
      m_.exif.assign(c.begin() + static_cast<std::ptrdiff_t>(exif_name.size()), c.end());
      orientation_ = exif_orientation(m_.exif);
      make_upright(m_.exif);
    } else if (marker == 0xe1 && starts(c, xmp_name)) {
      if (of_xmp_ == 0) of_xmp_ = xmp_orientation({reinterpret_cast<const char*>(c.data()), c.size()});
      unread("XMP");
    } else if (marker == 0xe2 && starts(c, icc_name) && c.size() > icc_name.size() + 2) {
      pieces_.push_back(c.subspan(icc_name.size()));
    } else if (marker == 0xed && starts(c, "Photoshop 3.0\0"sv)) {
      unread("IPTC");
    } else if (marker == 0xfe && !c.empty() && !m_.texts.contains("comment")) {
      m_.texts["comment"] = {c.begin(), c.end()};
    }
  }
  // A piece begins with its number, from 1, and how many there are.
  void join_profile() {
    if (pieces_.empty()) return;
    std::sort(pieces_.begin(), pieces_.end(), [](Bytes a, Bytes b) { return a[0] < b[0]; });
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      if (pieces_[i][0] != i + 1 || pieces_[i][1] != pieces_.size()) {
        m_.icc.clear();
        return unread("the ICC profile, which is damaged");
      }
      m_.icc.insert(m_.icc.end(), pieces_[i].begin() + 2, pieces_[i].end());
    }
  }

  Bytes file_;
  Metadata& m_;
  std::vector<Bytes> pieces_;
  int orientation_ = 0, of_xmp_ = 0;
};

}  // namespace

int read_jpeg_metadata(Bytes file, Metadata& m) {
  return Markers(file, m).read();
}

std::vector<std::pair<int, std::vector<std::uint8_t>>> jpeg_markers_of(const Metadata& m) {
  std::vector<std::pair<int, std::vector<std::uint8_t>>> out;
  const auto add = [&](int marker, std::string_view name, Bytes content) {
    std::vector<std::uint8_t> bytes(name.begin(), name.end());
    bytes.insert(bytes.end(), content.begin(), content.end());
    out.emplace_back(marker, std::move(bytes));
  };
  if (!m.exif.empty()) add(0xe1, exif_name, m.exif);
  const std::size_t most = largest_marker - icc_name.size() - 2;
  const std::size_t count = (m.icc.size() + most - 1) / most;
  for (std::size_t i = 0; i < count && count <= 255; ++i) {
    const char number[] = {static_cast<char>(i + 1), static_cast<char>(count)};
    add(0xe2, std::string(icc_name) + std::string(number, 2),
        Bytes(m.icc).subspan(i * most, std::min(most, m.icc.size() - i * most)));
  }
  if (const auto comment = m.texts.find("comment"); comment != m.texts.end())
    add(0xfe, "", Bytes(reinterpret_cast<const std::uint8_t*>(comment->second.data()), comment->second.size()));
  return out;
}

}  // namespace tessera::io
