// .npy by region. Elements lie in C order; a file in Fortran order is one in C order with its dimensions turned round.
#include "io/formats/npy.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/files/files.hpp"
#include "io/axes.hpp"
#include "io/regions/file.hpp"
#include "io/regions/open_file.hpp"
#include "io/regions/raw.hpp"

namespace tessera::io {
namespace {

constexpr std::size_t first_bytes = 1 << 16;  // the header of all but absurd files

Shape turned_round(Shape shape) {
  std::reverse(shape.begin(), shape.end());
  return shape;
}

// An array in Fortran order, of a reader that has its dimensions turned round.
class TurnedReader : public FileReader {
 public:
  explicit TurnedReader(std::unique_ptr<FileReader> file) : file_(std::move(file)), layout_(file_->layout()) {
    layout_.shape = turned_round(layout_.shape);
    layout_.chunk = turned_round(layout_.chunk);
  }
  const FileLayout& layout() const override { return layout_; }
  void read(const Region& region, const Array& to) const override {
    check_region(layout_, layout_.format_name, region, to);
    file_->read({turned_round(region.begin), turned_round(region.end)},
                Array::share(to.owner(), to.data(), to.format(), turned_round(to.shape()), turned_round(to.strides())));
  }
  std::string identity() const override { return file_->identity() + ", turned round"; }
  i64 beside(const Region& region) const override { return file_->beside(region); }

 private:
  std::unique_ptr<FileReader> file_;
  FileLayout layout_;
};

}  // namespace

std::unique_ptr<FileReader> open_npy(const std::string& path, const ReadOptions& options) {
  if (!base::file_size(path)) return nullptr;
  const OpenFile file(path, options, first_bytes);
  if (!matches_npy(file.source)) return nullptr;
  InOrder in(file.source);
  const NpyHeader header = read_npy_header(file.source, in);
  const bool turned = header.fortran && header.shape.size() > 1;
  FileLayout layout{.format_name = "NumPy", .element = format_of(header), .shape = header.shape};
  RawElements elements{static_cast<i64>(header.item_size)};
  check_extents(file.source, layout, elements.bytes);
  if (!is_native(header, layout.element))
    elements.convert = [=, format = layout.element](const std::byte* from, std::byte* to, i64 count, i64 first) {
      convert_elements(Source{{}, path, options}, header, format, from, to, count, first);
    };
  if (turned) layout.shape = turned_round(layout.shape);
  auto reader = open_raw(path, std::move(layout), std::move(elements), {{path, header.begin}});
  if (!turned) return reader;
  return std::make_unique<TurnedReader>(std::move(reader));
}

std::unique_ptr<FileWriter> create_npy(const std::string& path, const FileLayout& layout,
                                       const RegionWriteOptions& options) {
  FileLayout raw = layout;
  raw.format_name = "NumPy";
  return create_raw(path, std::move(raw), npy_head(layout.element, layout.shape), options);
}

// As the file was that was read; channels that came since are fields.
std::string npy_letters(const ImageHeader& header, const Format& format, int rank) {
  if (!header.numpy) return "";
  const std::string layout = layout_for(header, Array(format, Shape(static_cast<std::size_t>(rank), 1)));
  return layout == header.layout && layout != header.axes ? layout : "";
}

}  // namespace tessera::io
