// Headers of text and plain numbers, written; see volume.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/files/files.hpp"
#include "base/text.hpp"
#include "io/axes.hpp"
#include "io/formats/volume.hpp"
#include "io/gzip.hpp"
#include "io/regions/raw.hpp"
#include "tessera/error.hpp"

namespace tessera::io {
namespace {

constexpr int habitual_level = 1;  // of deflate: voxels hardly get smaller beyond it, only slower

[[noreturn]] void cannot_write(const std::string& path, const std::string& why, std::string help = {}) {
  throw Error(ErrorClass::argument, fmt::format("cannot write {}: {}", base::quoted(path, 1024), why), {},
              std::move(help));
}

// Every type of arrays but half and bool, which widen exactly.
ElementType stored_as(const std::string& path, std::string_view format, const Format& element,
                      std::optional<ElementType> wanted) {
  if (wanted == ElementType::boolean || wanted == ElementType::f16)
    cannot_write(path, fmt::format("{} stores uint8, int16, uint16, int32, uint32, float or double, not {}", format,
                                   name_of(*wanted)));
  const ElementType own = element.is_struct() ? element.fields[0].type : element.scalar;
  const bool alike =
      std::all_of(element.fields.begin(), element.fields.end(), [&](const Format::Field& f) { return f.type == own; });
  if (!alike)
    cannot_write(path, fmt::format("{} stores samples of one type, {} has several", format, element.name()),
                 "write .npy");
  return wanted.value_or(number_for(own).type());
}

bool has_suffix(const std::string& path, std::string_view suffix) {
  return base::to_lower(path).ends_with(suffix);
}

// "x.raw" of "folder/x.mhd".
std::string data_name(const std::string& path, const VolumeFormat& format, bool packed) {
  const std::size_t slash = path.rfind('/');
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  return name.substr(0, name.size() - format.detached_suffix.size()) +
         std::string(packed ? format.packed_suffix : format.raw_suffix);
}

struct Stored {
  Array array;  // contiguous, of the type of the file
  FileLayout layout;
};

Stored stored(const std::string& path, const Array& array, const WriteOptions& options, const VolumeFormat& format,
              WriteReport& report) {
  report.format = format.name;
  report.type = stored_as(path, format.name, array.format(), options.type);
  report.values = array.count() * channels_of(array);
  Stored out;
  FileLayout& layout = out.layout;
  layout.header = header_or_axes(options.header, array.shape());
  Image image{array, layout.header};
  layout.letters = format.letters(layout.header, array.format(), array.rank());
  const bool together = layout.letters.size() == static_cast<std::size_t>(array.rank()) + 1 &&
                        std::string_view("cs").find(layout.letters.back()) != std::string_view::npos;
  const std::string points = together ? layout.letters.substr(0, layout.letters.size() - 1) : layout.letters;
  std::string& axes = image.header.axes;
  const bool named = axes.size() == static_cast<std::size_t>(array.rank());
  const std::string usual = format.letters({}, ElementType::u8, array.rank());
  if (!named) axes = usual;
  for (const char letter : points) {
    const std::size_t at = axes.find(letter);
    const bool known = at != std::string::npos && at < layout.header.steps.size();
    layout.steps.push_back(known ? layout.header.steps[at] : Step{});
  }
  const bool in_order = points == axes;
  const Array placed = in_order ? array : in_layout(image, layout.letters, layout.header.samples);
  // true is 1 in a mask, not the largest value.
  const bool mask = !placed.format().is_struct() && placed.format().scalar == ElementType::boolean;
  const Array bits = mask ? converted(placed, ElementType::boolean, report.saturated) : placed;
  const Array plain = mask ? Array::share(bits.owner(), bits.data(), ElementType::u8, bits.shape()) : bits;
  const Array numbers = converted(plain, report.type, report.saturated);
  layout.element = in_order ? retyped(array.format(), report.type) : Format(report.type);
  layout.shape = placed.shape();
  if (!in_order && together) layout.steps.emplace_back();
  out.array = Array::share(numbers.owner(), numbers.data(), layout.element, layout.shape);
  return out;
}

void check_extents(const std::string& path, std::string_view format, const Shape& shape) {
  constexpr std::size_t highest_rank = 15;  // and channels
  const bool good = !shape.empty() && shape.size() <= highest_rank &&
                    std::all_of(shape.begin(), shape.end(), [](i64 extent) { return extent > 0; });
  if (good) return;
  cannot_write(path, fmt::format("{} stores arrays of rank 1 to {} with points, got {}, rank {}", format, highest_rank,
                                 to_string(shape), shape.size()));
}

// The header that holds for an array of these dimensions of a file.
void fit_header(FileLayout& layout) {
  if (layout.header.extents.empty()) return;
  const std::vector<int> places = places_in_array(layout.letters.substr(0, layout.shape.size()));
  const auto rank = static_cast<std::size_t>(*std::max_element(places.begin(), places.end()) + 1);
  Shape shape(rank, 1);
  for (std::size_t d = 0; d < places.size(); ++d)
    if (places[d] >= 0) shape[rank - 1 - static_cast<std::size_t>(places[d])] = layout.shape[d];
  if (!header_for(layout.header, shape)) layout.header.volume = nullptr;
}

}  // namespace

WriteReport write_volume(base::AtomicFile& file, const Array& array, const WriteOptions& options,
                         const VolumeFormat& format) {
  const std::string& path = file.path();
  check_extents(path, format.name, array.shape());
  WriteReport report;
  const Stored s = stored(path, array, options, format, report);
  const bool packed = options.packing ? *options.packing != Packing::none : options.compression > 0;
  const bool detached = has_suffix(path, format.detached_suffix);
  const std::string name = detached ? data_name(path, format, packed) : "";
  base::AtomicFile& to = detached ? file.beside(name) : file;
  const std::span body(static_cast<const std::byte*>(s.array.data()),
                       static_cast<std::size_t>(s.array.count()) * s.layout.element.size());
  const auto bytes_of = [](const std::string& text) { return std::as_bytes(std::span(text.data(), text.size())); };
  const std::string header = format.print(s.layout, packed, name, 0);
  file.write(bytes_of(header));
  if (packed) {
    Packer packer(to, options.compression < 0 ? habitual_level : options.compression,
                  format.gzip ? Packer::Frame::gzip : Packer::Frame::zlib);
    packer.write(body);
    packer.finish();
    const i64 before = detached ? 0 : static_cast<i64>(header.size());
    file.write_at(0, bytes_of(format.print(s.layout, packed, name, to.position() - before)));  // of the same length
  } else {
    to.write(body);
  }
  return report;
}

std::unique_ptr<FileWriter> create_volume(const std::string& path, const FileLayout& given,
                                          const RegionWriteOptions& options, const VolumeFormat& format) {
  FileLayout layout = given;
  if (options.write.packing.value_or(Packing::none) != Packing::none || options.write.compression > 0)
    cannot_write(path, fmt::format("{} is written by regions without packing alone", format.name),
                 "--compression none, or write .tif or a folder .zarr");
  check_extents(path, format.name, layout.shape);
  const Format& e = layout.element;
  stored_as(path, format.name, e, e.is_struct() ? e.fields[0].type : e.scalar);
  if (layout.letters.empty()) layout.letters = format.letters({}, e, static_cast<int>(layout.shape.size()));
  fit_header(layout);
  layout.format_name = format.name;
  const std::string header = format.print(layout, false, "", 0);
  return create_raw(path, std::move(layout), header, options);
}

}  // namespace tessera::io
