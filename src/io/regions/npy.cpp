// .npy by region. Elements lie in C order; a file in Fortran order is one in C order with its dimensions turned round.
#include "io/formats/npy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/files/files.hpp"
#include "base/text.hpp"
#include "io/axes.hpp"
#include "io/regions/file.hpp"
#include "io/regions/open_file.hpp"
#include "io/regions/partial_file.hpp"
#include "io/regions/raw.hpp"
#include "tessera/error.hpp"

namespace tessera::io {
namespace {

constexpr std::size_t first_bytes = 1 << 16;  // the header of all but absurd files

// Elements in C order, `item` bytes each, the first one at `offset`.
struct Placed {
  i64 offset = 0, item = 1;
  Shape shape;
};

// Calls `at(first element, count, elements before)` for every run of elements that lie together.
template <class F>
void for_each_run(const Placed& array, const Region& region, const F& at) {
  const std::size_t rank = array.shape.size();
  std::size_t whole = rank;  // dimensions from here on are taken whole
  while (whole > 0 && region.begin[whole - 1] == 0 && region.end[whole - 1] == array.shape[whole - 1]) --whole;
  const std::size_t loops = whole == 0 ? 0 : whole - 1;
  std::vector<i64> steps(rank + 1, 1);
  for (std::size_t d = rank; d-- > 0;) steps[d] = steps[d + 1] * array.shape[d];
  const i64 run = whole == 0 ? steps[0] : (region.end[loops] - region.begin[loops]) * steps[whole];
  std::vector<i64> index(region.begin.begin(), region.begin.begin() + static_cast<std::ptrdiff_t>(loops));
  for (i64 before = 0;; before += run) {
    i64 first = whole == 0 ? 0 : region.begin[loops] * steps[whole];
    for (std::size_t d = 0; d < loops; ++d) first += index[d] * steps[d + 1];
    at(first, run, before);
    std::size_t d = loops;
    while (d > 0 && ++index[d - 1] == region.end[d - 1]) {
      index[d - 1] = region.begin[d - 1];
      --d;
    }
    if (d == 0) return;
  }
}

// Rows, or pieces of long ones.
Shape rows_of(const Placed& array) {
  constexpr i64 piece = 1 << 16;  // bytes of a row that are worth a call of the system
  Shape chunk(array.shape.size(), 1);
  if (!chunk.empty()) chunk.back() = std::min(array.shape.back(), std::max<i64>(piece / array.item, 1));
  return chunk;
}

Shape turned_round(Shape shape) {
  std::reverse(shape.begin(), shape.end());
  return shape;
}

class NpyReader : public FileReader {
 public:
  NpyReader(const std::string& path, const ReadOptions& options) : file_(path, options, first_bytes) {
    InOrder in(file_.source);
    header_ = read_npy_header(file_.source, in);
    const i64 item = static_cast<i64>(header_.item_size);
    layout_.format_name = "NumPy";
    layout_.element = format_of(header_);
    layout_.shape = header_.shape;
    check_extents();
    in_file_ = {header_.begin, item, header_.fortran ? turned_round(header_.shape) : header_.shape};
    layout_.chunk = rows_of(in_file_);
    if (header_.fortran) layout_.chunk = turned_round(layout_.chunk);
    native_ = is_native(header_, layout_.element);
    if (const i64 follow = base::file_size(path).value_or(0) - header_.begin;
        follow < element_count(header_.shape) * item)
      file_.source.fail("NumPy",
                        fmt::format("it declares {} elements of {} bytes, but {} bytes follow: it is cut short",
                                    to_string(header_.shape), item, follow));
  }

  const FileLayout& layout() const override { return layout_; }
  std::string identity() const override { return file_identity(file_.source.path); }
  i64 beside(const Region& region) const override {
    const i64 count = count_of(region);
    return (native_ ? 0 : count * in_file_.item) + (native_ && !header_.fortran ? 0 : count * size());
  }

  void read(const Region& region, const Array& to) const override {
    Region box = region;
    if (header_.fortran) box = {turned_round(region.begin), turned_round(region.end)};
    if (native_ && !header_.fortran && to.contiguous()) return read_box(box, to.as<std::byte>());
    Shape shape = to.shape();
    const Array held(layout_.element, header_.fortran ? turned_round(shape) : shape);
    if (native_) {
      read_box(box, held.as<std::byte>());
    } else {
      std::vector<std::byte> raw(static_cast<std::size_t>(held.count() * in_file_.item));
      read_box(box, raw.data());
      convert_elements(file_.source, header_, layout_.element, raw.data(), held.as<std::byte>(), held.count(), 0);
    }
    if (!header_.fortran) return to.copy_from(held);
    const std::vector<i64> strides = turned_round(held.strides());
    to.copy_from(Array::share(held.owner(), held.data(), held.format(), shape, strides));
  }

 private:
  // A box of elements, one after the other.
  void read_box(const Region& box, std::byte* to) const {
    for_each_run(in_file_, box, [&](i64 first, i64 count, i64 before) {
      const std::span<std::byte> bytes(to + before * in_file_.item, static_cast<std::size_t>(count * in_file_.item));
      if (file_.reading.read_at(in_file_.offset + first * in_file_.item, bytes) < bytes.size())
        file_.source.fail("NumPy", "it is cut short");
    });
  }
  static i64 count_of(const Region& region) {
    i64 count = 1;
    for (std::size_t d = 0; d < region.begin.size(); ++d) count *= region.end[d] - region.begin[d];
    return count;
  }
  i64 size() const { return static_cast<i64>(layout_.element.size()); }
  // A product of extents that fits 63 bits, in bytes.
  void check_extents() const {
    double bytes = static_cast<double>(std::max(layout_.element.size(), header_.item_size));
    for (const i64 n : header_.shape) bytes *= static_cast<double>(n);
    if (bytes >= 0x1p62)
      file_.source.fail("NumPy", fmt::format("it declares {} elements: the file is damaged", to_string(header_.shape)));
  }

  OpenFile file_;
  NpyHeader header_;
  FileLayout layout_;
  Placed in_file_;
  bool native_ = false;
};

}  // namespace

std::unique_ptr<FileReader> open_npy(const std::string& path, const ReadOptions& options) {
  constexpr std::string_view magic = "\x93NUMPY";
  std::array<std::byte, magic.size()> start{};
  if (!base::file_size(path) || base::Reading(path).read(start) < start.size() ||
      !std::equal(start.begin(), start.end(), magic.begin(),
                  [](std::byte b, char c) { return b == static_cast<std::byte>(c); }))
    return nullptr;
  return std::make_unique<NpyReader>(path, options);
}

std::unique_ptr<FileWriter> create_npy(const std::string& path, const FileLayout& layout,
                                       const RegionWriteOptions& options) {
  FileLayout raw = layout;
  raw.format_name = "NumPy";
  return create_raw(path, std::move(raw), npy_head(layout.element, layout.shape), options.resume);
}

// As the file was that was read; channels that came since are fields.
std::string npy_letters(const ImageHeader& header, const Format& format, int rank) {
  if (!header.numpy) return "";
  const std::string layout = layout_for(header, Array(format, Shape(static_cast<std::size_t>(rank), 1)));
  return layout == header.layout && layout != header.axes ? layout : "";
}

}  // namespace tessera::io
