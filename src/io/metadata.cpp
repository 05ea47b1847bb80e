// What of a picture's metadata goes into which format: the one table of that. See metadata.hpp.
#include "io/metadata.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/text.hpp"
#include "io/formats/nifti.hpp"

namespace tessera::io {
namespace {

constexpr std::size_t largest_marker = 65533;  // of JPEG, less the two bytes that say how long it is

bool is_colour_chunk(std::string_view name) {
  return name == "gAMA" || name == "cHRM" || name == "sRGB" || name == "cICP" || name == "mDCV" || name == "cLLI";
}

std::uint32_t big_endian(const PngChunk& chunk, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | (at + i < chunk.bytes.size() ? chunk.bytes[at + i] : 0u);
  return value;
}

// Says no more than that colours are those of sRGB, which readers of files without a profile take them for.
bool is_usual(const PngChunk& chunk) {
  if (chunk.name() == "sRGB") return true;
  if (chunk.name() == "gAMA") return std::abs(static_cast<double>(big_endian(chunk, 0)) - 45455) < 1000;
  if (chunk.name() == "cICP") return chunk.bytes == std::vector<std::uint8_t>{1, 13, 0, 1};
  constexpr double srgb[] = {31270, 32900, 64000, 33000, 30000, 60000, 15000, 6000};
  bool same = chunk.name() == "cHRM";
  for (std::size_t i = 0; i < 8 && same; ++i)
    same = std::abs(static_cast<double>(big_endian(chunk, 4 * i)) - srgb[i]) < 500;
  return same;
}

std::string name_of_chunk(const PngChunk& chunk) {
  if (chunk.name() == "gAMA") return "the gamma";
  if (chunk.name() == "cHRM") return "the primary colours";
  return fmt::format("the colour space ({})", chunk.name());
}

// "GRAY", "RGB ", "CMYK"; empty when the profile is not one that can be read.
std::string_view space_of(const std::vector<std::uint8_t>& icc) {
  if (icc.size() < 128 || std::memcmp(icc.data() + 36, "acsp", 4) != 0) return {};
  return {reinterpret_cast<const char*>(icc.data()) + 16, 4};
}

// The same picture plane as the file's: the last two dimensions.
bool same_extents(const ImageHeader& header, i64 height, i64 width) {
  const std::size_t rank = header.extents.size();
  return rank >= 2 && header.extents[rank - 1] == width && header.extents[rank - 2] == height;
}

// ---- one part after the other ------------------------------------------------------------------------------------

class Fitting {
 public:
  Fitting(const ImageHeader& header, std::string_view format, const Samples& samples)
      : header_(header), format_(format), samples_(samples) {
    if (header.metadata) fitted_.kept = *header.metadata;
  }

  FittedMetadata run() {
    if (header_.metadata) {
      profile();
      colour();
      significant();
      largest();
      place();
      camera();
      texts();
      packing();
    }
    if (header_.nodata && !is("TIFF")) lose("the value that stands for no data");
    for (const std::string& name : kept().unread) lose(name);
    return std::move(fitted_);
  }

 private:
  Metadata& kept() { return fitted_.kept; }
  bool is(std::string_view format) const { return format_ == format; }
  bool is_pnm() const { return is("PGM") || is("PPM") || is("PNM"); }
  void lose(std::string what) { fitted_.lost.push_back(std::move(what)); }
  template <class T>
  void lose(T& part, std::string what) {
    part = T{};
    lose(std::move(what));
  }

  void profile() {
    if (kept().icc.empty()) return;
    if (!is("PNG") && !is("JPEG") && !is("TIFF")) return lose(kept().icc, "the ICC profile");
    const std::string_view space = space_of(kept().icc);
    const bool grey = samples_.channels <= 2;
    if (space.empty() || space == (grey ? "GRAY" : "RGB ")) return;
    lose(kept().icc,
         fmt::format("the ICC profile (of {}, the result is {})", base::trim(space), grey ? "grey" : "RGB"));
  }
  void colour() {
    if (is("PNG")) return;
    for (const PngChunk& chunk : kept().png)
      if (is_colour_chunk(chunk.name()) && !is_usual(chunk)) lose(name_of_chunk(chunk));
  }
  void significant() {
    if (kept().significant.empty()) return;
    if (is("PNG") && kept().significant.size() == static_cast<std::size_t>(samples_.channels) &&
        kept().depth == static_cast<int>(8 * size_of(samples_.type)))
      return;
    lose(kept().significant, "the number of significant bits");
  }
  void largest() {
    if (!kept().largest) return;
    const bool wide = *kept().largest > 255;
    if (is_pnm() && samples_.type == (wide ? ElementType::u16 : ElementType::u8)) return;
    const i64 value = *kept().largest;
    lose(kept().largest, fmt::format("{} as the largest value", value));
  }
  void place() {
    const bool same = same_extents(header_, samples_.height, samples_.width);
    const char* const why = same ? "" : " (its extents are others)";
    if (kept().resolution && (!same || (!is("PNG") && !is("JPEG") && !is("TIFF") && !is("BMP"))))
      lose(kept().resolution, fmt::format("the resolution{}", why));
    if (!kept().geo.empty() && (!same || !is("TIFF"))) lose(kept().geo, fmt::format("the place on the earth{}", why));
  }
  void camera() {
    if (kept().exif.empty()) return;
    const bool fits = is("PNG") || (is("JPEG") && kept().exif.size() + 6 <= largest_marker);
    if (!fits) return lose(kept().exif, "EXIF");
    set_exif_extents(kept().exif, samples_.height, samples_.width);
  }
  void texts() {
    if (is("PNG") || kept().texts.empty()) return;
    std::vector<std::string> names;
    for (const auto& [name, text] : kept().texts) {
      const bool fits =
          (is("TIFF") && name != "comment") || (is("JPEG") && name == "comment" && text.size() <= largest_marker);
      if (!fits) names.push_back(name);
    }
    for (const std::string& name : names) kept().texts.erase(name);
    std::erase(names, "software");  // of another program
    if (!names.empty()) lose(fmt::format("the texts ({})", base::list_of(names, "and")));
  }

  // What loses is not done twice; see tiff_packing().
  void packing() {
    if (!is("TIFF") || !kept().storage) return;
    constexpr std::pair<int, std::string_view> losing[] = {
        {7, "JPEG"}, {33003, "JPEG 2000"}, {34712, "JPEG 2000"}, {34887, "LERC"}, {50001, "WebP"}};
    for (const auto& [number, name] : losing)
      if (kept().storage->compression == number) lose(fmt::format("the packing by {} (it is deflate)", name));
  }

  const ImageHeader& header_;
  std::string_view format_;
  const Samples& samples_;
  FittedMetadata fitted_;
};

}  // namespace

bool Metadata::empty() const {
  return icc.empty() && exif.empty() && !resolution && texts.empty() && png.empty() && significant.empty() &&
         geo.empty() && !storage && !largest && unread.empty();
}

FittedMetadata fit_metadata(const ImageHeader& header, std::string_view format, const Samples& samples) {
  return Fitting(header, format, samples).run();
}

std::vector<std::string> lost_in_array(const ImageHeader& header, std::string_view format, const Shape& shape) {
  Samples samples;
  samples.channels = 3;
  if (!shape.empty()) samples.width = shape.back();
  if (shape.size() > 1) samples.height = shape[shape.size() - 2];
  return fit_metadata(header, format, samples).lost;
}

Resolution in_whole_numbers(const Resolution& r) {
  if (r.unit == Resolution::Unit::aspect) return r;
  const bool inch = r.unit == Resolution::Unit::inch;
  const double scale = inch ? 1 / 2.54 : 2.54;
  const Resolution other{r.x * scale, r.y * scale, inch ? Resolution::Unit::centimetre : Resolution::Unit::inch};
  const auto rest = [](double v) { return std::abs(v - std::round(v)); };
  // PNG and BMP count points of a metre, half a point of which is this much of an inch: 300 come back as 299.9994.
  constexpr double half_a_point = 0.0128;
  if (!inch && rest(other.x) <= half_a_point && rest(other.y) <= half_a_point)
    return {std::round(other.x), std::round(other.y), other.unit};
  const auto error = [&](const Resolution& s) { return std::max(rest(s.x) / s.x, rest(s.y) / s.y); };
  return error(r) <= error(other) ? r : other;
}

}  // namespace tessera::io
