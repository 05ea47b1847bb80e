// The table of formats that are read and written by region.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/text.hpp"
#include "io/axes.hpp"
#include "io/codec.hpp"
#include "io/formats/numbers.hpp"
#include "io/formats/plain.hpp"
#include "io/formats/volume.hpp"
#include "io/metadata.hpp"
#include "io/regions/file.hpp"
#include "io/tiff/regions.hpp"
#include "io/zarr/zarr.hpp"
#include "tessera/error.hpp"

namespace tessera::io {
namespace {

const RegionFormat* format_for(const std::string& path) {
  std::string name = base::to_lower(path);
  while (name.size() > 1 && name.back() == '/') name.pop_back();
  for (const RegionFormat& format : region_formats())
    if (std::ranges::any_of(format.suffixes, [&](auto s) { return name.ends_with(s); })) return &format;
  return nullptr;
}

// Dimensions that an option names, of a file that says nothing of them or something else.
FileLayout renamed(FileLayout layout, const std::string& option, const std::string& name) {
  const FileAxes axes = axes_of_option(option, name, layout.element, layout.shape);
  layout.letters = letters_of(axes);
  // A distance in time is none in space, and the other way round.
  for (std::size_t d = 0; d < layout.steps.size(); ++d) {
    const Step::Unit foreign = layout.letters[d] == 't' ? Step::Unit::millimetre : Step::Unit::second;
    if (layout.steps[d].unit == foreign) layout.steps[d] = {};
  }
  layout.header.numpy = layout.format_name == "NumPy";
  return layout;
}

// A reader with other names for its dimensions.
class RenamedReader : public FileReader {
 public:
  RenamedReader(std::unique_ptr<FileReader> file, FileLayout layout)
      : file_(std::move(file)), layout_(std::move(layout)) {}
  const FileLayout& layout() const override { return layout_; }
  void read(const Region& region, const Array& to) const override { file_->read(region, to); }
  std::string identity() const override { return file_->identity() + ", axes " + layout_.letters; }
  i64 beside(const Region& region) const override { return file_->beside(region); }
  i64 keep_chunks(i64 bytes) override { return file_->keep_chunks(bytes); }

 private:
  std::unique_ptr<FileReader> file_;
  FileLayout layout_;
};

// The file's letters for an array, and the header by which its elements are arranged.
FileLayout layout_for_file(const RegionFormat& format, const Format& element, const Shape& shape, ImageHeader& header,
                           const RegionWriteOptions& options) {
  FileLayout layout{std::string(format.name), element, shape, options.chunk, "", header.steps, header, options.shard};
  const int rank = static_cast<int>(shape.size());
  const std::string letters = format.letters != nullptr ? format.letters(header, element, rank) : "";
  if (letters.empty()) return layout;
  if (header.axes.size() != shape.size()) header.axes = usual_letters(shape.size());
  // One point says what all of them become.
  const Image point{Array(element, Shape(shape.size(), 1)), header};
  const Array in_file = in_layout(point, letters, header.samples);
  layout.letters = letters;
  layout.element = in_file.format();
  layout.shape = in_file.shape();
  layout.steps.assign(header.steps.empty() ? 0 : letters.size(), Step{});
  // A channel alone, samples together.
  for (Shape* box : {&layout.chunk, &layout.shard}) {
    if (box->empty()) continue;
    box->assign(letters.size(), 1);
    for (std::size_t d = 0; d < letters.size(); ++d)
      if (letters[d] == 's') (*box)[d] = layout.shape[d];
  }
  std::string free = letters;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const std::size_t at = free.find(header.axes[d]);
    layout.shape[at] = shape[d];
    if (!options.chunk.empty()) layout.chunk[at] = options.chunk[d];
    if (!options.shard.empty()) layout.shard[at] = options.shard[d];
    if (d < header.steps.size()) layout.steps[at] = header.steps[d];
    free[at] = ' ';
  }
  return layout;
}

}  // namespace

const std::vector<RegionFormat>& region_formats() {
  static const std::vector<RegionFormat> formats = {
      // First: what an option describes is nothing else.
      {.name = "raw", .open = open_plain, .suffixes = {".raw"}, .create = create_plain, .widens = true, .halves = true},
      {.name = "Zarr",
       .open = open_zarr,
       .suffixes = {".zarr"},
       .create = create_zarr,
       .letters = zarr_letters,
       .reads_level = true,
       .levels = true,
       .chunks = true},
      // Of names alone: what is read is a TIFF.
      {.name = "TIFF",
       .open = [](const std::string&, const ReadOptions&) -> std::unique_ptr<FileReader> { return nullptr; },
       .suffixes = {".ome.tif", ".ome.tiff"},
       .create = create_tiff,
       .letters = ome_tiff_letters},
      {.name = "TIFF",
       .open = open_tiff,
       .suffixes = {".tif", ".tiff"},
       .create = create_tiff,
       .letters = tiff_letters,
       .reads_axes = true,
       .pages = true,
       .reads_level = true},
      {.name = "NRRD",
       .open = open_nrrd,
       .suffixes = {".nrrd"},
       .create = create_nrrd,
       .letters = nrrd_letters,
       .widens = true},
      {.name = "MetaImage",
       .open = open_metaimage,
       .suffixes = {".mha"},
       .create = create_metaimage,
       .letters = metaimage_letters,
       .widens = true},
      {.name = "NumPy", .open = open_npy, .suffixes = {".npy"}, .create = create_npy, .letters = npy_letters},
  };
  return formats;
}

std::unique_ptr<RegionReader> open_parts(const std::string& path, const ReadOptions& options) {
  for (const RegionFormat& format : region_formats()) {
    std::unique_ptr<FileReader> file = format.open(path, options);
    if (file == nullptr) continue;
    check_page_and_level({{}, path, options}, format.name, format.pages, format.reads_level);
    if (options.axes.empty() || format.reads_axes) return arranged(std::move(file));
    FileLayout layout = renamed(file->layout(), options.axes, path);
    return arranged(std::make_unique<RenamedReader>(std::move(file), std::move(layout)));
  }
  return nullptr;
}

std::unique_ptr<RegionWriter> create_regions(const std::string& path, const Format& element, const Shape& shape,
                                             const RegionWriteOptions& options) {
  const RegionFormat* const format = format_for(path);
  if (format == nullptr) {
    std::vector<std::string> suffixes;
    for (const RegionFormat& f : region_formats())
      suffixes.insert(suffixes.end(), f.suffixes.begin(), f.suffixes.end());
    throw Error(ErrorClass::argument,
                fmt::format("{} cannot be written by regions: its format has no parts", base::quoted(path, 1024)), {},
                "write " + base::list_of(suffixes));
  }
  if (is_writable_name(path)) check_write_options(path, options.write);
  if (options.levels > 1 && !format->levels)
    throw Error(ErrorClass::argument, fmt::format("cannot write {}: {} levels were asked for, but {} has one",
                                                  base::quoted(path, 1024), options.levels, format->name));
  for (const auto& [box, what] : {std::pair(options.chunk, "chunks"), std::pair(options.shard, "shards")}) {
    if (box.empty()) continue;
    if (!format->chunks)
      throw Error(ErrorClass::argument, fmt::format("cannot write {}: {} of {} were asked for, which are of Zarr",
                                                    base::quoted(path, 1024), what, to_string(box)));
    if (box.size() != shape.size())
      throw Error(ErrorClass::argument, fmt::format("cannot write {}: {} of {} were asked for an array of {}",
                                                    base::quoted(path, 1024), what, to_string(box), to_string(shape)));
  }
  ImageHeader header = header_or_axes(options.write.header, shape);
  const ImageHeader written = header;
  FileLayout layout = layout_for_file(*format, element, shape, header, options);
  layout.header = written;
  const ElementType own = element.is_struct() ? element.fields[0].type : element.scalar;
  const ElementType stored = options.write.type                          ? *options.write.type
                             : format->halves && own == ElementType::f16 ? own
                             : format->widens                            ? number_for(own).type()
                                                                         : stored_type(path, element);
  if (stored != own) layout.element = retyped(layout.element, stored);
  std::unique_ptr<FileWriter> file = format->create(path, layout, options);
  const std::string& name = file->layout().format_name;
  std::optional<std::vector<std::string>> lost = file->lost_metadata();
  if (!lost) lost = lost_in_array(options.write.header, name, shape);
  lose_places(options.write.header, name, shape, *lost);
  return arranged(std::move(file), element, shape, std::move(header), format->widens, std::move(*lost));
}

bool is_array_folder(const std::string& path) {
  std::error_code ec;
  return std::filesystem::is_directory(path, ec) && is_zarr_folder(path);
}

bool is_chunked_name(const std::string& path) {
  const RegionFormat* const format = format_for(path);
  return format != nullptr && format->chunks;
}

bool is_written_by_regions(const std::string& path) {
  return format_for(path) != nullptr;
}

}  // namespace tessera::io
