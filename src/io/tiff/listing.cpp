// Which pages there are; see listing.hpp.
#include "io/tiff/listing.hpp"

#include <fmt/format.h>
#include <tiffio.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "io/tiff/page.hpp"
#include "io/tiff/tags.hpp"
#include "tessera/error.hpp"

namespace tessera::io {
namespace {

// Thumbnails and masks are pages of another kind.
bool is_image(const TiffReader& reader) {
  return (reader.tag<std::uint32_t>(TIFFTAG_SUBFILETYPE) & (FILETYPE_REDUCEDIMAGE | FILETYPE_MASK)) == 0;
}

// Where the directories of the lower levels stand.
std::vector<std::uint64_t> levels_of(const TiffReader& reader) {
  std::uint16_t count = 0;
  const std::uint64_t* offsets = nullptr;
  if (TIFFGetField(reader.get(), TIFFTAG_SUBIFD, &count, &offsets) != 1 || offsets == nullptr) return {};
  return {offsets, offsets + count};
}

// What the current page says of itself; what is wrong with it is kept, since it may not be wanted.
ListedPage list_page(const TiffReader& reader, tdir_t directory, bool first) {
  ListedPage listed;
  listed.directory = directory;
  listed.offset = TIFFCurrentDirOffset(reader.get());
  listed.levels = levels_of(reader);
  const char* text = nullptr;
  if (TIFFGetField(reader.get(), TIFFTAG_IMAGEDESCRIPTION, &text) == 1 && text != nullptr) {
    // Of pages behind the first one only a series of tifffile's is of interest; many may share a long text.
    constexpr std::size_t longest = 4096;
    listed.text = std::string_view(text).substr(0, first ? std::string_view::npos : longest);
    float x = 0, y = 0;
    TIFFGetField(reader.get(), TIFFTAG_XRESOLUTION, &x);
    TIFFGetField(reader.get(), TIFFTAG_YRESOLUTION, &y);
    listed.resolution = {x, y, reader.tag<std::uint16_t>(TIFFTAG_RESOLUTIONUNIT)};
  }
  try {
    const TiffPage page = read_page(reader);
    listed.height = page.height;
    listed.width = page.width;
    listed.format = page.format();
    listed.orientation = tiff_orientation(reader.get(), 0);
    listed.packed = page.compression != COMPRESSION_NONE;
    listed.planar = page.planar == PLANARCONFIG_SEPARATE;
    const bool tiled = TIFFIsTiled(reader.get()) != 0;
    const auto rows = reader.tag<std::uint32_t>(tiled ? TIFFTAG_TILELENGTH : TIFFTAG_ROWSPERSTRIP);
    listed.block_height = std::min(rows, tiled ? rows : page.height);
    listed.block_width = tiled ? reader.tag<std::uint32_t>(TIFFTAG_TILEWIDTH) : page.width;
    listed.plain_rows = !tiled && page.compression == COMPRESSION_NONE && page.bits >= 8;
  } catch (const Error& e) {
    listed.failure = e.message();
  }
  return listed;
}

// Pages of an image are alike.
void check_pages(const Source& source, const std::vector<ListedPage>& all, const std::vector<std::size_t>& pages) {
  const ListedPage& first = all[pages.front()];
  for (const std::size_t k : pages) {
    const ListedPage& page = all[k];
    if (!page.failure.empty()) throw Error(ErrorClass::io, page.failure);
    if (page.orientation != 0 && page.orientation != std::max(first.orientation, 1))
      source.fail("TIFF",
                  fmt::format("page {} has orientation {}, page {} has {}", k, page.orientation, pages.front(),
                              first.orientation),
                  fmt::format("--page {} reads one page", k));
    if (page.width == first.width && page.height == first.height && page.format == first.format) continue;
    source.fail("TIFF",
                fmt::format("page {} is {}x{} of {}, page {} is {}x{} of {}", k, page.height, page.width,
                            page.format.name(), pages.front(), first.height, first.width, first.format.name()),
                fmt::format("--page {} reads one page, --page {}-{} those from one to the other", k, pages.front(),
                            pages.front() + 1));
  }
}

// Lower levels of a pyramid are directories beside the chain, each half as large as the one before by habit.
void go_to_level(TiffReader& reader, ListedPage& page, int level) {
  const auto count = static_cast<i64>(page.levels.size()) + 1;
  if (level >= count)
    reader.source().fail("TIFF", fmt::format("page {} has {} level{} of a pyramid, asked for level {} (from 0)",
                                             page.directory, count, count == 1 ? "" : "s", level));
  page.offset = page.levels[static_cast<std::size_t>(level) - 1];
  go_to_page(reader, page);
  ListedPage lower = list_page(reader, static_cast<tdir_t>(page.directory), false);
  lower.offset = page.offset;
  lower.orientation = lower.orientation == 0 ? page.orientation : lower.orientation;
  page = std::move(lower);
}

void go_to_levels(TiffReader& reader, TiffListing& listing, int level) {
  const i64 height = listing.page(0).height, width = listing.page(0).width;
  for (const std::size_t k : listing.plan.pages) go_to_level(reader, listing.all[k], level);
  check_pages(reader.source(), listing.all, listing.plan.pages);
  // Its points stand further apart.
  PagePlan& plan = listing.plan;
  const std::string letters = plan.letters.empty() ? std::string(plan.leading.size(), 'q') + "yx" : plan.letters;
  for (std::size_t d = 0; d < plan.steps.size(); ++d) {
    if (letters[d] == 'y')
      plan.steps[d].size *= static_cast<double>(height) / static_cast<double>(listing.page(0).height);
    if (letters[d] == 'x')
      plan.steps[d].size *= static_cast<double>(width) / static_cast<double>(listing.page(0).width);
  }
}

}  // namespace

TiffListing list_pages(TiffReader& reader) {
  TiffListing listing;
  tdir_t directory = 0;
  do {
    if (is_image(reader)) listing.all.push_back(list_page(reader, directory, listing.all.empty()));
    ++directory;
  } while (reader.next());
  if (listing.all.empty()) reader.fail("it has no image");
  const Source& source = reader.source();
  listing.plan = plan_pages(source, listing.all);
  check_pages(source, listing.all, listing.plan.pages);
  if (source.options.level > 0) go_to_levels(reader, listing, source.options.level);
  return listing;
}

void go_to_page(TiffReader& reader, const ListedPage& page) {
  if (TIFFCurrentDirOffset(reader.get()) == page.offset) return;
  if (TIFFSetSubDirectory(reader.get(), page.offset) != 1) reader.fail("its directory is damaged");
}

ImageHeader header_of_pages(TiffReader& reader, const TiffListing& listing) {
  go_to_page(reader, listing.page(0));
  ImageHeader header;
  read_tiff_metadata(reader.get(), header);
  header.associated_alpha = !listing.plan.samples_at && read_page(reader).associated_alpha;
  return header;
}

}  // namespace tessera::io
