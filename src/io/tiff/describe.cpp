// The tags of a page; see describe.hpp.
#include "io/tiff/describe.hpp"

#include <algorithm>
#include <vector>

#include "io/tiff/text.hpp"

namespace tessera::io {
namespace {

std::uint16_t sample_format_of(ElementType type) {
  if (is_float(type)) return SAMPLEFORMAT_IEEEFP;
  return type == ElementType::i16 || type == ElementType::i32 ? SAMPLEFORMAT_INT : SAMPLEFORMAT_UINT;
}

// Three channels or four of a program's own struct count as colours; bands do not.
bool is_colour(const Samples& s) {
  if (s.channels < 3) return false;
  if (s.names[0] == "r" && s.names[1] == "g" && s.names[2] == "b") return true;
  return s.channels <= 4 && !is_band(s.names[0]);
}

void describe_samples(TIFF* tiff, const Samples& s, i64 page, const TiffPacking& packing) {
  TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, static_cast<std::uint32_t>(s.width));
  TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, static_cast<std::uint32_t>(s.height));
  TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, static_cast<std::uint16_t>(s.channels));
  TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, static_cast<std::uint16_t>(8 * size_of(s.type)));
  TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT, sample_format_of(s.type));
  TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
  const bool colour = is_colour(s);
  TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, colour ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK);
  const int extra = s.channels - (colour ? 3 : 1);
  if (extra > 0) {
    const std::uint16_t alpha = s.associated_alpha ? EXTRASAMPLE_ASSOCALPHA : EXTRASAMPLE_UNASSALPHA;
    std::vector<std::uint16_t> kinds;
    for (std::size_t k = s.names.size() - static_cast<std::size_t>(extra); k < s.names.size(); ++k)
      kinds.push_back(s.names[k] == "a" || s.names[k] == "alpha" ? alpha : std::uint16_t{EXTRASAMPLE_UNSPECIFIED});
    TIFFSetField(tiff, TIFFTAG_EXTRASAMPLES, static_cast<std::uint16_t>(extra), kinds.data());
  }
  set_tiff_packing(tiff, packing, s.type);
  if (packing.tile_width == 0) TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, static_cast<std::uint32_t>(rows_of_strip(s)));
  if (s.pages > 1) {
    TIFFSetField(tiff, TIFFTAG_SUBFILETYPE, FILETYPE_PAGE);
    if (s.pages < 65536)
      TIFFSetField(tiff, TIFFTAG_PAGENUMBER, static_cast<std::uint16_t>(page), static_cast<std::uint16_t>(s.pages));
  }
}

// On the first page.
void describe_axes(TIFF* tiff, const Samples& s, const std::string& path) {
  TiffLayout layout{s.page_axes, {s.height, s.width}, s.page_letters, s.steps, s.type};
  if (s.channels > 1) layout.page.push_back(s.channels);
  layout.sample_letter = s.sample_letter == 'c' ? 'c' : 's';
  const std::optional<TiffStyle> style = style_of(layout, s.named, path);
  if (!style) return;
  TiffResolution resolution;
  const std::string text = print_tiff_text(layout, *style, resolution);
  TIFFSetField(tiff, TIFFTAG_IMAGEDESCRIPTION, text.c_str());
  if (resolution.x <= 0 || resolution.y <= 0) return;
  TIFFSetField(tiff, TIFFTAG_XRESOLUTION, resolution.x);
  TIFFSetField(tiff, TIFFTAG_YRESOLUTION, resolution.y);
  TIFFSetField(tiff, TIFFTAG_RESOLUTIONUNIT, static_cast<std::uint16_t>(RESUNIT_NONE));
}

}  // namespace

i64 rows_of_strip(const Samples& s) {
  constexpr i64 strip_bytes = i64{1} << 20;
  return std::clamp<i64>(strip_bytes / std::max<i64>(s.row_bytes(), 1), 1, s.height);
}

void describe_page(TIFF* tiff, const TiffDescription& d, i64 page) {
  declare_tiff_tags(tiff);
  if (page == 0) {
    describe_axes(tiff, d.samples, d.path);
    write_tiff_texts(tiff, d.metadata);
  }
  write_tiff_metadata(tiff, d.metadata, d.nodata);
  describe_samples(tiff, d.samples, page, d.packing);
}

}  // namespace tessera::io
