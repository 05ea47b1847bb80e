// TIFF through libtiff: reading. Strips and tiles, interleaved and planar, classic and BigTIFF, every compression that
// the library was built with but old-style JPEG; several pages become a leading dimension, a series of volumes two.
//
// The directory of a file is checked against what its bytes can hold before memory is asked for: the bound depends on
// the compression.
#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "io/axes.hpp"
#include "io/codec.hpp"
#include "io/tiff/listing.hpp"
#include "io/tiff/page.hpp"
#include "io/tiff/pages.hpp"
#include "io/tiff/reader.hpp"

namespace tessera::io {
namespace {

// The pages one behind the other, in the order of the plan; read in that of the file.
Array read_pages(TiffReader& reader, const TiffListing& listing) {
  const PagePlan& plan = listing.plan;
  const ListedPage& first = listing.page(0);
  Shape shape = plan.leading;
  shape.insert(shape.end(), {first.height, first.width});
  std::vector<std::pair<i64, std::size_t>> order;
  for (std::size_t k = 0; k < plan.pages.size(); ++k) order.emplace_back(listing.page(k).directory, k);
  std::sort(order.begin(), order.end());
  double ratio = 1, beside = 0;
  for (const auto& [directory, k] : order) {
    go_to_page(reader, listing.page(k));
    const TiffPage page = read_page(reader);
    ratio = std::max(ratio, ratio_of(page));
    beside = std::max(beside, beside_page(reader, page));
  }
  // Dimensions that stand in another order than an array has them are copied when all of them are there.
  const int copies = (plan.samples_at ? 1 : 0) + (!plan.letters.empty() && arranging_copies(plan.letters) ? 1 : 0);
  const double bytes = static_cast<double>(element_count(shape)) * static_cast<double>(first.format.size());
  beside = std::max(beside, copies * bytes);
  const Array image = allocate(reader.source(), "TIFF", first.format, shape, ratio, beside);
  const std::size_t row_bytes = first.format.size() * static_cast<std::size_t>(first.width);
  for (const auto& [directory, k] : order) {
    go_to_page(reader, listing.page(k));
    const TiffPage page = read_page(reader);
    TiffBlocks blocks(reader, page, ratio);
    auto* out = image.as<std::uint8_t>() + k * row_bytes * static_cast<std::size_t>(first.height);
    for (i64 y = 0; y < first.height; y += blocks.height()) {
      for (i64 x = 0; x < first.width; x += blocks.width())
        blocks.read(y, x,
                    out + static_cast<std::size_t>(y) * row_bytes + static_cast<std::size_t>(x) * first.format.size(),
                    row_bytes);
    }
  }
  return image;
}

}  // namespace

bool is_tiff(const Source& s) {
  using namespace std::string_view_literals;
  return s.starts_with("II*\0"sv) || s.starts_with("MM\0*"sv) || s.starts_with("II+\0"sv) || s.starts_with("MM\0+"sv);
}

Array decode_tiff(const Source& source) {
  TiffReader reader(source);
  const TiffListing listing = list_pages(reader);
  const Array pages = read_pages(reader, listing);
  Image image = arrange_pages(pages, listing.plan, header_of_pages(reader, listing));
  if (source.orientation != nullptr) *source.orientation = std::max(listing.page(0).orientation, 1);
  if (source.header != nullptr) *source.header = std::move(image.header);
  return image.array;
}

}  // namespace tessera::io
