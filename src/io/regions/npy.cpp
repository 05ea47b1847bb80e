// .npy by region. Elements lie in C order; a file in Fortran order is one in C order with its dimensions turned round.
#include "io/formats/npy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/files/files.hpp"
#include "io/axes.hpp"
#include "io/regions/file.hpp"
#include "io/regions/raw.hpp"

namespace tessera::io {
namespace {

constexpr std::size_t first_bytes = 1 << 16;  // the header of all but absurd files

Shape turned_round(Shape shape) {
  std::reverse(shape.begin(), shape.end());
  return shape;
}

class NpyReader : public FileReader {
 public:
  NpyReader(const std::string& path, const ReadOptions& options)
      : file_(path, PlacedFile::Mode::read), source_{{}, path, options} {
    std::vector<std::byte> start(first_bytes);
    const base::Reading reading(path);
    start.resize(reading.read(start));
    source_.bytes = start;
    source_.rest = &reading;
    source_.length = base::file_size(path);
    InOrder in(source_);
    header_ = read_npy_header(source_, in);
    source_.bytes = {};
    source_.rest = nullptr;
    const i64 item = static_cast<i64>(header_.item_size);
    layout_.format_name = "NumPy";
    layout_.element = format_of(header_);
    layout_.shape = header_.shape;
    check_extents();
    in_file_ = {header_.begin, item, header_.fortran ? turned_round(header_.shape) : header_.shape};
    layout_.chunk = rows_of(in_file_);
    if (header_.fortran) layout_.chunk = turned_round(layout_.chunk);
    native_ = is_native(header_, layout_.element);
    if (const i64 follow = file_.size() - header_.begin; follow < element_count(header_.shape) * item)
      source_.fail("NumPy", fmt::format("it declares {} elements of {} bytes, but {} bytes follow: it is cut short",
                                        to_string(header_.shape), item, follow));
  }

  const FileLayout& layout() const override { return layout_; }
  std::string identity() const override { return file_.identity(); }
  i64 beside(const Region& region) const override {
    const i64 count = count_of(region);
    return (native_ ? 0 : count * in_file_.item) + (native_ && !header_.fortran ? 0 : count * size());
  }

  void read(const Region& region, const Array& to) const override {
    Region box = region;
    if (header_.fortran) box = {turned_round(region.begin), turned_round(region.end)};
    if (native_ && !header_.fortran && to.contiguous()) return read_box(file_, in_file_, box, to.as<std::byte>());
    Shape shape = to.shape();
    const Array held(layout_.element, header_.fortran ? turned_round(shape) : shape);
    if (native_) {
      read_box(file_, in_file_, box, held.as<std::byte>());
    } else {
      std::vector<std::byte> raw(static_cast<std::size_t>(held.count() * in_file_.item));
      read_box(file_, in_file_, box, raw.data());
      convert_elements(source_, header_, layout_.element, raw.data(), held.as<std::byte>(), held.count(), 0);
    }
    if (!header_.fortran) return to.copy_from(held);
    const std::vector<i64> strides = turned_round(held.strides());
    to.copy_from(Array::share(held.owner(), held.data(), held.format(), shape, strides));
  }

 private:
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
      source_.fail("NumPy", fmt::format("it declares {} elements: the file is damaged", to_string(header_.shape)));
  }

  PlacedFile file_;
  Source source_;  // its name, for messages
  NpyHeader header_;
  FileLayout layout_;
  PlacedArray in_file_;
  bool native_ = false;
};

class NpyWriter : public FileWriter {
 public:
  NpyWriter(const std::string& path, const FileLayout& layout, bool go_on) : layout_(layout), partial_(path, go_on) {
    const std::string head = npy_head(layout.element, layout.shape);
    in_file_ = {static_cast<i64>(head.size()), static_cast<i64>(layout.element.size()), layout.shape};
    layout_.format_name = "NumPy";
    layout_.chunk = rows_of(in_file_);
    const PlacedFile& file = partial_.file();
    const i64 bytes = in_file_.offset + element_count(layout.shape) * in_file_.item;
    if (partial_.went_on() && file.size() != bytes) partial_.refuse("it has another size");
    if (!partial_.went_on()) file.resize(bytes);
    file.write(0, head.data(), in_file_.offset);
  }

  const FileLayout& layout() const override { return layout_; }
  bool resumed() const override { return partial_.went_on(); }
  void write(const Region& region, const Array& from) override {
    const Array held = from.contiguous() ? from : from.clone();
    write_box(partial_.file(), in_file_, region, held.as<std::byte>());
  }
  i64 beside(const Region&) const override { return 0; }
  void sync() override { partial_.file().sync(); }
  void commit() override { partial_.commit(); }
  void discard() override { partial_.discard(); }

 private:
  FileLayout layout_;
  PartialFile partial_;
  PlacedArray in_file_;
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
  return std::make_unique<NpyWriter>(path, layout, options.resume);
}

// As the file was that was read; channels that came since are fields.
std::string npy_letters(const ImageHeader& header, const Format& format, int rank) {
  if (!header.numpy) return "";
  const std::string layout = layout_for(header, Array(format, Shape(static_cast<std::size_t>(rank), 1)));
  return layout == header.layout && layout != header.axes ? layout : "";
}

}  // namespace tessera::io
