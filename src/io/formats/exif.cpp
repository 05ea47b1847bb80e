// EXIF: a block laid out as the directories of a TIFF, in JPEG and PNG. Read for its orientation and resolution, and
// changed in place where it would say what no longer holds, so that whatever else a camera wrote stays where it is.
#include <algorithm>

#include "io/metadata.hpp"

namespace tessera::io {
namespace {

using Block = std::span<const std::uint8_t>;

enum Tag : std::uint32_t {
  orientation_tag = 0x112,
  x_resolution = 0x11a,
  y_resolution = 0x11b,
  resolution_unit = 0x128,
  exif_directory = 0x8769,
  pixel_width = 0xa002,
  pixel_height = 0xa003
};
enum Type : std::uint32_t { short_type = 3, long_type = 4, rational_type = 5 };

class Directories {
 public:
  explicit Directories(Block block) : block_(block) {
    if (block.size() < 8) return;
    big_ = block[0] == 'M' && block[1] == 'M';
    good_ = (big_ || (block[0] == 'I' && block[1] == 'I')) && number(2, 2) == 42;
  }
  std::size_t first() const { return good_ ? number(4, 4) : 0; }

  std::uint32_t number(std::size_t at, std::size_t bytes) const {
    if (at > block_.size() || block_.size() - at < bytes) return 0;
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) value |= std::uint32_t{block_[at + i]} << 8 * (big_ ? bytes - 1 - i : i);
    return value;
  }
  void set(std::vector<std::uint8_t>& block, std::size_t at, std::size_t bytes, std::uint32_t value) const {
    for (std::size_t i = 0; i < bytes && at + i < block.size(); ++i)
      block[at + i] = static_cast<std::uint8_t>(value >> 8 * (big_ ? bytes - 1 - i : i));
  }
  // Where the entry of a tag stands; 0 when there is none.
  std::size_t entry(std::size_t directory, std::uint32_t tag) const {
    if (directory < 8) return 0;
    for (std::size_t k = 0, count = number(directory, 2); k < count; ++k) {
      const std::size_t at = directory + 2 + 12 * k;
      if (at + 12 > block_.size()) return 0;
      if (number(at, 2) == tag) return at;
    }
    return 0;
  }
  // Where the offset of the next directory stands.
  std::size_t link(std::size_t directory) const { return directory + 2 + std::size_t{12} * number(directory, 2); }
  // A single SHORT or LONG.
  std::optional<std::uint32_t> integer(std::size_t directory, std::uint32_t tag) const {
    const std::size_t at = entry(directory, tag);
    if (at == 0) return std::nullopt;
    const std::uint32_t type = number(at + 2, 2);
    if (type != short_type && type != long_type) return std::nullopt;
    return number(at + 8, type == short_type ? 2 : 4);
  }
  double rational(std::size_t directory, std::uint32_t tag) const {
    const std::size_t at = entry(directory, tag);
    if (at == 0 || number(at + 2, 2) != rational_type) return 0;
    const std::size_t value = number(at + 8, 4);
    const std::uint32_t below = number(value + 4, 4);
    return below == 0 ? 0 : static_cast<double>(number(value, 4)) / below;
  }
  void set_integer(std::vector<std::uint8_t>& block, std::size_t directory, std::uint32_t tag, i64 value) const {
    const std::size_t at = entry(directory, tag);
    if (at == 0) return;
    const bool is_short = number(at + 2, 2) == short_type;
    if (is_short && value > 65535) set(block, at + 2, 2, long_type);
    set(block, at + 8, is_short && value <= 65535 ? 2 : 4, static_cast<std::uint32_t>(value));
  }

 private:
  Block block_;
  bool big_ = false, good_ = false;
};

}  // namespace

int exif_orientation(Block block) {
  const Directories d(block);
  const auto value = d.integer(d.first(), orientation_tag);
  return value && *value >= 1 && *value <= 8 ? static_cast<int>(*value) : 0;
}

std::optional<Resolution> exif_resolution(Block block) {
  const Directories d(block);
  const Resolution r{
      d.rational(d.first(), x_resolution), d.rational(d.first(), y_resolution),
      d.integer(d.first(), resolution_unit).value_or(2) == 3 ? Resolution::Unit::centimetre : Resolution::Unit::inch};
  return r.x > 0 && r.y > 0 ? std::optional(r) : std::nullopt;
}

void make_upright(std::vector<std::uint8_t>& block) {
  const Directories d(block);
  const std::size_t directory = d.first();
  if (directory < 8) return;
  d.set_integer(block, directory, orientation_tag, 1);
  const std::size_t link = d.link(directory);
  const std::size_t thumbnail = d.number(link, 4);
  d.set(block, link, 4, 0);
  if (thumbnail >= block.size() || thumbnail <= link) return;
  // Its picture is cut off where nothing but it stands at the end.
  const auto at = d.integer(thumbnail, 0x201), bytes = d.integer(thumbnail, 0x202);
  if (at && bytes && *at > link && std::uint64_t{*at} + *bytes == block.size()) block.resize(*at);
}

void set_exif_extents(std::vector<std::uint8_t>& block, i64 height, i64 width) {
  const Directories d(block);
  const auto inner = d.integer(d.first(), exif_directory);
  if (!inner || height > INT32_MAX || width > INT32_MAX) return;
  d.set_integer(block, *inner, pixel_width, width);
  d.set_integer(block, *inner, pixel_height, height);
}

int xmp_orientation(std::string_view xmp) {
  constexpr std::string_view name = "tiff:Orientation";
  for (std::size_t at = xmp.find(name); at != std::string_view::npos; at = xmp.find(name, at + 1)) {
    std::string_view rest = xmp.substr(at + name.size());
    if (rest.starts_with("=\"") || rest.starts_with("='")) {
      rest.remove_prefix(2);
    } else if (rest.starts_with(">")) {
      rest.remove_prefix(1);
    } else {
      continue;
    }
    if (!rest.empty() && rest[0] >= '1' && rest[0] <= '8') return rest[0] - '0';
  }
  return 0;
}

}  // namespace tessera::io
