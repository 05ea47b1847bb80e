// TIFF by region: writing. The front of the file stands first, without the places of blocks; each strip or tile is
// packed by its own thread, gets the next bytes at the end of the file, and then its two numbers at the front. Blocks
// that are not packed have places by arithmetic: they lie in order, however they come.
//
// A file that was left is gone on with where its front is the same. A block that comes again takes its old place where
// it fits there.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "io/axes.hpp"
#include "io/codec.hpp"
#include "io/load.hpp"
#include "io/regions/partial_file.hpp"
#include "io/regions/raw.hpp"
#include "io/tiff/directories.hpp"
#include "io/tiff/regions.hpp"
#include "io/tiff/writer.hpp"
#include "run/cpu/parallel.hpp"
#include "tessera/error.hpp"

namespace tessera::io {
namespace {

constexpr i64 habitual_tile = 256;
constexpr i64 tile_unit = 16;        // TIFF's: extents of tiles are multiples of it
constexpr i64 most_pages = 1 << 20;  // that the library reads
constexpr i64 largest_tile = i64{1} << 30;

[[noreturn]] void cannot_write(const std::string& path, const std::string& why, std::string help = {}) {
  throw Error(ErrorClass::argument, fmt::format("cannot write {}: {}", base::quoted(path, 1024), why), {},
              std::move(help));
}

// The most bytes that packing makes of so many: LZW's codes have up to 12 bits for 8, the others hardly grow.
double packed_at_most(double bytes, std::uint16_t compression) {
  constexpr double lzw = 1.5, others = 1.01, fixed = 1024;
  return compression == COMPRESSION_NONE ? bytes : bytes * (compression == COMPRESSION_LZW ? lzw : others) + fixed;
}

// ---- what the file is to be --------------------------------------------------------------------------------------

std::vector<std::string> names_of(const std::string& path, const Format& element, i64 samples) {
  const Format pixels = element.is_struct() ? element : pixel_format(ElementType::u8, static_cast<int>(samples));
  std::vector<std::string> names;
  for (const Format::Field& f : pixels.fields) {
    names.push_back(f.name);
    if (element.is_struct() && f.type != element.fields[0].type)
      cannot_write(path, fmt::format("TIFF stores samples of one type, {} has several", element.name()),
                   "choose the type of the samples, or write .npy");
  }
  return names;
}

// The letter of samples that stand together, behind rows and columns; else 0.
char take_samples_letter(std::string& letters) {
  const char last = letters.empty() ? '\0' : letters.back();
  if (last != 'c' && last != 's') return '\0';
  letters.pop_back();
  return last;
}

bool is_usual(const std::string& letters) {
  return std::string_view("qqqqtzyx").ends_with(letters);
}

// Pages, rows and columns of the layout. `samples_last`: samples that stand together are its last dimension.
Samples samples_of(const std::string& path, const FileLayout& layout, bool& samples_last) {
  std::string letters = layout.letters;
  Shape shape = layout.shape;
  Samples s;
  s.sample_letter = take_samples_letter(letters);
  samples_last = letters.size() + 1 == shape.size() && s.sample_letter != 0 && !layout.element.is_struct();
  i64 samples = layout.element.is_struct() ? static_cast<i64>(layout.element.fields.size()) : 1;
  if (samples_last) {
    samples = shape.back();
    shape.pop_back();
  }
  if (shape.size() < 2 || (!letters.empty() && letters.size() != shape.size()))
    cannot_write(path,
                 fmt::format("TIFF stores images of rank 2 and more, got an array of {}, rank {}",
                             to_string(layout.shape), layout.shape.size()),
                 "write .npy");
  s.named = !letters.empty() && (!is_usual(letters) || !layout.header.axes.empty());
  if (letters.empty()) letters = std::string(shape.size() - std::min<std::size_t>(shape.size(), 4), 'q') + "tzyx";
  letters = letters.substr(letters.size() - shape.size());
  s.type = layout.element.is_struct() ? layout.element.fields[0].type : layout.element.scalar;
  if (s.type == ElementType::boolean)
    cannot_write(path, "TIFF has no samples of type bool", "choose uint8 as the type of the samples");
  s.channels = static_cast<int>(samples);
  s.names = names_of(path, layout.element, samples);
  s.associated_alpha = layout.header.associated_alpha;
  for (const i64 extent : shape)
    if (extent < 1 || extent > INT32_MAX)
      cannot_write(path, fmt::format("TIFF stores extents of 1 to {}, got {}", INT32_MAX, to_string(layout.shape)));
  for (std::size_t d = 0; d < layout.steps.size() && d < letters.size(); ++d) s.steps[letters[d]] = layout.steps[d];
  for (std::size_t d = 0; d + 2 < shape.size(); ++d) s.page_axes.push_back({letters[d], shape[d]});
  s.page_letters = letters.substr(letters.size() - 2);
  s.pages = product_of(s.page_axes);
  s.height = shape[shape.size() - 2];
  s.width = shape.back();
  if (s.pages > most_pages)
    cannot_write(path, fmt::format("TIFF is written with up to {} pages, got {}", most_pages, s.pages), "write .npy");
  return s;
}

i64 tile_extent(i64 wanted) {
  return std::max<i64>((wanted + tile_unit - 1) / tile_unit, 1) * tile_unit;
}

// Tiles as wanted, else as the file that the picture came from, else strips of narrow pictures and tiles of others.
void choose_blocks(const std::string& path, const Samples& s, const Shape& wanted, TiffPacking& packing) {
  const i64 pixel = s.channels * static_cast<i64>(size_of(s.type));
  if (wanted.size() >= 2) {
    const i64 height = wanted[0], width = wanted[1];
    if (height < 1 || width < 1) cannot_write(path, fmt::format("tiles of {}x{} have no points", height, width));
    packing.tile_height = tile_extent(std::min(height, s.height));
    packing.tile_width = tile_extent(std::min(width, s.width));
  } else if (packing.tile_width == 0 && s.width > 2 * habitual_tile) {
    packing.tile_height = packing.tile_width = habitual_tile;
  }
  if (packing.tile_width > 0 && packing.tile_height > largest_tile / packing.tile_width / pixel)
    cannot_write(path, fmt::format("tiles of {}x{} are too large, expected up to {} in each", packing.tile_height,
                                   packing.tile_width, base::format_bytes(static_cast<double>(largest_tile))));
}

// The last two extents of points among these.
Shape of_page(const Shape& chunk, std::size_t rank, bool samples_last) {
  if (chunk.size() != rank) return {};
  const auto end = chunk.end() - (samples_last ? 1 : 0);
  return {end - 2, end};
}

// ---- one block ---------------------------------------------------------------------------------------------------

// A block as the library packs it: the only strip of a picture of its extents.
std::vector<std::byte> packed_block(const TiffDescription& d, i64 rows, i64 columns, std::vector<std::byte>& block) {
  constexpr std::size_t header_bytes = 16;  // of BigTIFF, which come first
  TiffMemory memory;
  TiffWriter writer(memory, "wl8");
  TIFF* tiff = writer.get();
  writer.check(tiff != nullptr, d.path);
  Samples s;
  s.type = d.samples.type;
  s.channels = d.samples.channels;
  s.names.assign(static_cast<std::size_t>(s.channels), "");
  s.height = rows;
  s.width = columns;
  TiffPacking packing = d.packing;
  packing.tile_height = packing.tile_width = 0;
  describe_page(tiff, {s, {}, {}, packing, {}}, 0);
  TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, static_cast<std::uint32_t>(rows));
  writer.check(TIFFWriteEncodedStrip(tiff, 0, block.data(), static_cast<tmsize_t>(block.size())) >= 0 &&
                   TIFFFlushData(tiff) == 1,
               d.path);
  memory.bytes.erase(memory.bytes.begin(), memory.bytes.begin() + header_bytes);
  return std::move(memory.bytes);
}

// ---- the writer --------------------------------------------------------------------------------------------------

class TiffRegionWriter : public FileWriter {
 public:
  TiffRegionWriter(const FileLayout& layout, TiffDescription description, std::vector<std::string> lost,
                   bool samples_last, const RegionWriteOptions& options)
      : layout_(layout),
        description_(std::move(description)),
        lost_(std::move(lost)),
        samples_last_(samples_last),
        directories_(description_, blocks_across() * blocks_down(),
                     packed_at_most(static_cast<double>(block_bytes()), description_.packing.compression)),
        writers_(options.writers),
        file_(description_.path, options.resume, options.writers) {
    layout_.format_name = "TIFF";
    layout_.chunk = Shape(layout_.shape.size(), 1);
    layout_.chunk[row_at()] = std::min(block_height(), s().height);
    layout_.chunk[row_at() + 1] = std::min(block_width(), s().width);
    if (samples_last_) layout_.chunk.back() = layout_.shape.back();
    stood_ = file_.size();
    begin();
  }

  const FileLayout& layout() const override { return layout_; }
  bool resumed() const override { return file_.resumed(); }
  std::optional<std::vector<std::string>> lost_metadata() const override { return lost_; }
  i64 beside(const Region&) const override {
    constexpr i64 copies = 3;  // the block, in the library, packed
    return copies * block_bytes() * run::cpu::thread_count(0);
  }

  void write(const Region& region, const Array& from) override {
    check_chunks(layout_, file_.path(), region, from);
    std::vector<Job> jobs = jobs_of(region, from);
    run::cpu::parallel_tiles(static_cast<i64>(jobs.size()), 0,
                             [&](i64 k, int) { write_block(jobs[static_cast<std::size_t>(k)]); });
  }

  void sync() override { file_.sync(); }
  void commit() override {
    if (!is_packed()) file_.reach(directories_.bytes() + s().pages * page_bytes());
    file_.commit();
  }
  void discard() override { file_.discard(); }

 private:
  struct Job {
    i64 page = 0, y = 0, x = 0;
    Array elements;  // rows, columns, and samples where they are a dimension
  };

  const Samples& s() const { return description_.samples; }
  bool is_packed() const { return description_.packing.compression != COMPRESSION_NONE; }
  bool tiled() const { return description_.packing.tile_width > 0; }
  i64 pixel_bytes() const { return s().channels * static_cast<i64>(size_of(s().type)); }
  i64 block_width() const { return tiled() ? description_.packing.tile_width : s().width; }
  i64 block_height() const { return tiled() ? description_.packing.tile_height : rows_of_strip(s()); }
  i64 block_bytes() const { return block_height() * block_width() * pixel_bytes(); }
  i64 blocks_across() const { return (s().width + block_width() - 1) / block_width(); }
  i64 blocks_down() const { return (s().height + block_height() - 1) / block_height(); }
  i64 page_bytes() const {  // not packed
    return tiled() ? blocks_across() * blocks_down() * block_bytes() : s().height * s().width * pixel_bytes();
  }
  std::size_t row_at() const { return layout_.shape.size() - (samples_last_ ? 3 : 2); }

  void begin() {
    file_.begin_with(0, directories_.header());
    for (i64 page = 0; page < s().pages; ++page) {
      std::vector<std::byte> bytes = directories_.page(page);
      if (file_.resumed()) keep_numbers(page, bytes);
      file_.begin_with(directories_.page_begin(page), bytes);
    }
    file_.reach(directories_.bytes());
    end_ = file_.size();
  }

  // The place of an only block stands in the directory itself.
  void keep_numbers(i64 page, std::vector<std::byte>& bytes) const {
    const TiffDirectories::Slot slot = directories_.slot(page, 0);
    for (const i64 at : {slot.offset_at, slot.length_at}) {
      const i64 within = at - directories_.page_begin(page);
      if (within + slot.bytes > static_cast<i64>(bytes.size())) continue;
      const auto number =
          std::span(bytes).subspan(static_cast<std::size_t>(within), static_cast<std::size_t>(slot.bytes));
      if (file_.read_at(at, number) != number.size()) return;
    }
  }

  std::vector<Job> jobs_of(const Region& region, const Array& from) const {
    std::vector<Job> jobs;
    const std::size_t row = row_at(), leading = row;
    if (from.count() == 0) return jobs;
    std::vector<i64> begin(from.shape().size(), 0), end = from.shape();
    for (std::size_t d = 0; d < leading; ++d) end[d] = 1;
    for (;;) {
      i64 page = 0;
      for (std::size_t d = 0; d < leading; ++d) page = page * layout_.shape[d] + region.begin[d] + begin[d];
      for (i64 y = 0; y < from.shape()[row]; y += block_height()) {
        for (i64 x = 0; x < from.shape()[row + 1]; x += block_width()) {
          begin[row] = y;
          begin[row + 1] = x;
          end[row] = std::min(y + block_height(), from.shape()[row]);
          end[row + 1] = std::min(x + block_width(), from.shape()[row + 1]);
          jobs.push_back({page, region.begin[row] + y, region.begin[row + 1] + x, from.region(begin, end)});
        }
      }
      std::size_t d = leading;
      for (; d > 0; --d) {
        if (++begin[d - 1] < from.shape()[d - 1]) break;
        begin[d - 1] = 0;
      }
      if (d == 0) return jobs;
      for (std::size_t k = 0; k < leading; ++k) end[k] = begin[k] + 1;
    }
  }

  // A tile reaches past the edge of the picture: its last row and column go on there, which packs well.
  std::vector<std::byte> gathered(const Job& job, i64 rows) const {
    const i64 columns = block_width(), pixel = pixel_bytes(), row_bytes = columns * pixel;
    std::vector<std::byte> block(static_cast<std::size_t>(rows * row_bytes));
    const Array& e = job.elements;
    const Shape inner(e.shape().begin() + static_cast<std::ptrdiff_t>(row_at()), e.shape().end());
    const std::vector<i64> from_strides(e.strides().begin() + static_cast<std::ptrdiff_t>(row_at()), e.strides().end());
    std::vector<i64> strides = {row_bytes, pixel};
    if (samples_last_) strides.push_back(static_cast<i64>(layout_.element.size()));
    Array::borrow(block.data(), layout_.element, inner, strides)
        .copy_from(Array::share(e.owner(), e.data(), layout_.element, inner, from_strides));
    for (i64 r = 0; r < rows; ++r) {
      std::byte* row = block.data() + r * row_bytes;
      if (r >= inner[0])
        std::memcpy(row, block.data() + (inner[0] - 1) * row_bytes, static_cast<std::size_t>(row_bytes));
      for (i64 c = inner[1]; c < columns; ++c)
        std::memcpy(row + c * pixel, row + (c - 1) * pixel, static_cast<std::size_t>(pixel));
    }
    return block;
  }

  void write_block(const Job& job) {
    const i64 rows = tiled() ? block_height() : std::min(block_height(), s().height - job.y);
    const i64 number = job.y / block_height() * blocks_across() + job.x / block_width();
    std::vector<std::byte> block = gathered(job, rows);
    if (is_packed()) block = packed_block(description_, rows, block_width(), block);
    const TiffDirectories::Slot slot = directories_.slot(job.page, number);
    const i64 at = is_packed() ? place_for(slot, static_cast<i64>(block.size()))
                               : directories_.bytes() + job.page * page_bytes() + number * block_bytes();
    file_.write_at(at, block);
    put_number(slot.offset_at, at, slot.bytes);
    put_number(slot.length_at, static_cast<i64>(block.size()), slot.bytes);
  }

  void put_number(i64 place, i64 value, int bytes) const {
    std::array<std::byte, sizeof(value)> raw;
    std::memcpy(raw.data(), &value, sizeof(value));
    file_.write_at(place, std::span(raw).first(static_cast<std::size_t>(bytes)));
  }

  i64 number_at(i64 place, int bytes) const {
    std::array<std::byte, sizeof(i64)> raw{};
    file_.read_at(place, std::span(raw).first(static_cast<std::size_t>(bytes)));
    return load<i64>(raw.data());
  }

  i64 place_for(const TiffDirectories::Slot& slot, i64 bytes) {
    // A place that the file does not reach is somebody else's: what stood there was lost with the machine.
    const i64 old = number_at(slot.offset_at, slot.bytes), length = number_at(slot.length_at, slot.bytes);
    if (old > 0 && length >= bytes && old + length <= stood_) return old;
    const std::lock_guard lock(mutex_);
    const i64 at = writers_.count > 1 ? file_.append(bytes) : end_;
    if (!directories_.big() && at + bytes > INT64_C(0xffffffff))
      throw Error(ErrorClass::io, fmt::format("cannot write {}: it outgrows 4 GiB after resumptions",
                                              base::quoted(file_.path(), 1024)));
    end_ = at + bytes;
    return at;
  }

  FileLayout layout_;
  TiffDescription description_;
  std::vector<std::string> lost_;
  bool samples_last_ = false;
  TiffDirectories directories_;
  const Writers writers_;
  PartialFile file_;
  std::mutex mutex_;
  i64 end_ = 0;    // of the file, where the next packed block of an only writer goes
  i64 stood_ = 0;  // bytes that were there when the work was resumed
};

}  // namespace

std::unique_ptr<FileWriter> create_tiff(const std::string& path, const FileLayout& given,
                                        const RegionWriteOptions& options) {
  FileLayout layout = given;
  TiffDescription d;
  d.path = path;
  d.nodata = layout.header.nodata;
  bool samples_last = false;
  d.samples = samples_of(path, layout, samples_last);
  FittedMetadata fitted = fit_metadata(layout.header, "TIFF", d.samples);
  if (options.write.packing || options.write.compression >= 0)
    std::erase_if(fitted.lost, [](const std::string& what) { return what.starts_with("the packing"); });
  d.metadata = std::move(fitted.kept);
  d.packing = tiff_packing(options.write, d.metadata, d.samples.channels * static_cast<i64>(size_of(d.samples.type)));
  const Shape& chunk = layout.chunk;
  choose_blocks(path, d.samples, of_page(chunk, layout.shape.size(), samples_last), d.packing);
  return std::make_unique<TiffRegionWriter>(layout, std::move(d), std::move(fitted.lost), samples_last, options);
}

}  // namespace tessera::io
