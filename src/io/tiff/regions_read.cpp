// TIFF by region: reading. Strips and tiles that meet a region are decoded, side by side, each thread with a view of
// the file of its own; rows that are not packed are read as far as they are asked for.
//
// The library is asked for one strip or tile at a time, and reads no more of the tables of their places than it needs,
// so that the size of a picture costs nothing until it is looked at. Blocks that were decoded are kept, those used
// longest ago go first: a tile is asked for by its neighbours, too.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "io/codec.hpp"
#include "io/regions/open_file.hpp"
#include "io/regions/partial_file.hpp"
#include "io/regions/raw.hpp"
#include "io/tiff/listing.hpp"
#include "io/tiff/page.hpp"
#include "io/tiff/reader.hpp"
#include "io/tiff/regions.hpp"
#include "run/cpu/parallel.hpp"
#include "tessera/error.hpp"

namespace tessera::io {
namespace {

constexpr std::size_t first_bytes = 16;       // that say what the file is
constexpr i64 piece_bytes = i64{1} << 20;     // of plain rows that are read at once
constexpr i64 habitual_keep = i64{16} << 20;  // of blocks, until somebody says

// A view of the file at one of its pages, used by one thread at a time.
class View {
 public:
  explicit View(const Source& source) : reader(source, TiffReader::Places::some) {}

  void go(const ListedPage& listed) {
    if (at_ == &listed) return;
    at_ = nullptr;
    blocks.reset();
    go_to_page(reader, listed);
    page = read_page(reader);
    if (page.height != listed.height || page.width != listed.width || !(page.format() == listed.format))
      reader.refuse("it changed while it was read");
    blocks.emplace(reader, page, ratio_of(page));
    at_ = &listed;
  }
  const ListedPage* at() const { return at_; }

  TiffReader reader;
  TiffPage page;
  std::optional<TiffBlocks> blocks;

 private:
  const ListedPage* at_ = nullptr;
};

// As many views as threads that read at once. One that failed is not used again.
class Views {
 public:
  explicit Views(const Source& source) : source_(source) {}

  template <class F>
  void use(const ListedPage& page, F&& body) {
    std::unique_ptr<View> view = take(page);
    view->go(page);
    body(*view);
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(view));
  }

 private:
  std::unique_ptr<View> take(const ListedPage& page) {
    {
      const std::lock_guard lock(mutex_);
      auto found = std::find_if(free_.begin(), free_.end(), [&](const auto& view) { return view->at() == &page; });
      if (found == free_.end() && !free_.empty()) found = free_.begin();
      if (found != free_.end()) {
        std::unique_ptr<View> view = std::move(*found);
        free_.erase(found);
        return view;
      }
    }
    return std::make_unique<View>(source_);
  }

  const Source& source_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<View>> free_;
};

struct BlockKey {
  std::size_t page = 0;  // of the plan
  i64 y = 0, x = 0;      // of its first pixel
  auto operator<=>(const BlockKey&) const = default;
};

// Blocks of elements by their place; those used longest ago go first.
class KeptBlocks {
 public:
  void bound(i64 bytes) {
    const std::lock_guard lock(mutex_);
    most_ = std::max<i64>(bytes, 0);
    shrink();
  }
  std::optional<Array> find(const BlockKey& key) {
    const std::lock_guard lock(mutex_);
    const auto found = places_.find(key);
    if (found == places_.end()) return std::nullopt;
    order_.splice(order_.begin(), order_, found->second);
    return found->second->second;
  }
  void add(const BlockKey& key, const Array& block) {
    const std::lock_guard lock(mutex_);
    if (places_.contains(key)) return;
    order_.emplace_front(key, block);
    places_[key] = order_.begin();
    bytes_ += bytes_of(block);
    shrink();
  }

 private:
  static i64 bytes_of(const Array& block) { return block.count() * static_cast<i64>(block.format().size()); }
  void shrink() {
    while (bytes_ > most_) {
      bytes_ -= bytes_of(order_.back().second);
      places_.erase(order_.back().first);
      order_.pop_back();
    }
  }

  std::mutex mutex_;
  i64 most_ = habitual_keep, bytes_ = 0;
  std::list<std::pair<BlockKey, Array>> order_;
  std::map<BlockKey, std::list<std::pair<BlockKey, Array>>::iterator> places_;
};

void swap_samples(std::uint8_t* bytes, std::size_t count, std::size_t size) {
  for (std::size_t i = 0; size > 1 && i < count; i += size) std::reverse(bytes + i, bytes + i + size);
}

// Rows and columns of a page that are asked for, and where they go.
struct Window {
  i64 y0 = 0, x0 = 0, y1 = 0, x1 = 0;
  std::vector<Array> to;  // of rows and columns: whole elements, or one array for each sample from `first_sample` on
  bool apart = false;
  std::size_t first_sample = 0;
};

// The elements [y0, y1) x [x0, x1) of the page, which are within the window, from an array of them.
void deliver(const Window& window, const Array& elements, i64 y0, i64 x0) {
  const i64 rows = elements.shape()[0], columns = elements.shape()[1];
  const std::vector<i64> begin = {y0 - window.y0, x0 - window.x0}, end = {begin[0] + rows, begin[1] + columns};
  if (!window.apart) return window.to[0].region(begin, end).copy_from(elements);
  const std::vector<Array> planes = as_planes(elements);
  for (std::size_t k = 0; k < window.to.size(); ++k)
    window.to[k].region(begin, end).copy_from(planes[window.first_sample + k]);
}

// ---- plain rows --------------------------------------------------------------------------------------------------

// Rows of a page that are not packed, from one strip, into elements of rows and columns.
void read_plain_rows(View& view, i64 y, i64 rows, i64 x, const Array& to, int plane) {
  const TiffPage& page = view.page;
  const std::uint32_t strip = view.blocks->number(y, 0, plane);
  const i64 in_strip = y % view.blocks->height(), columns = to.shape()[1];
  const auto packed_row = static_cast<i64>(page.packed(page.width));
  const auto before = static_cast<i64>(page.packed(static_cast<std::uint64_t>(x)));
  const auto wanted = static_cast<i64>(page.packed(static_cast<std::uint64_t>(columns)));
  const std::uint64_t offset = TIFFGetStrileOffset(view.reader.get(), strip);
  const std::uint64_t bytes = TIFFGetStrileByteCount(view.reader.get(), strip);
  const auto damaged = [&] { view.reader.fail(fmt::format("strip {} is damaged or cut short", strip)); };
  if (offset == 0 || bytes < static_cast<std::uint64_t>((in_strip + rows) * packed_row) ||
      offset > std::uint64_t{1} << 62)
    damaged();
  const bool whole_rows = columns == page.width;
  const i64 at_once = whole_rows ? rows : 1;
  std::vector<std::uint8_t> buffer(static_cast<std::size_t>(at_once * wanted));
  for (i64 r = 0; r < rows; r += at_once) {
    const std::uint64_t from = offset + static_cast<std::uint64_t>((in_strip + r) * packed_row + before);
    if (view.reader.source().read_at(from, std::as_writable_bytes(std::span(buffer))) != buffer.size()) damaged();
    if (TIFFIsByteSwapped(view.reader.get()) != 0) swap_samples(buffer.data(), buffer.size(), page.bits / 8u);
    for (i64 k = 0; k < at_once; ++k)
      page.place(buffer.data() + k * wanted, to.as<std::uint8_t>() + (r + k) * to.strides()[0],
                 static_cast<std::uint32_t>(columns), plane);
  }
}

// ---- the reader --------------------------------------------------------------------------------------------------

class TiffRegionReader : public FileReader {
 public:
  TiffRegionReader(std::unique_ptr<OpenFile> file, TiffReader& reader, TiffListing listing)
      : file_(std::move(file)), views_(file_->source), listing_(std::move(listing)) {
    const PagePlan& plan = listing_.plan;
    const ListedPage& first = listing_.page(0);
    const bool apart = plan.samples_at.has_value();
    go_to_page(reader, first);
    const TiffPage page = read_page(reader);
    const TiffBlocks blocks(reader, page, ratio_of(page));
    layout_.format_name = "TIFF";
    layout_.element = apart ? Format(first.format.fields[0].type) : first.format;
    layout_.shape = plan.leading;
    layout_.chunk = Shape(plan.leading.size(), 1);
    for (const i64 extent : {first.height, first.width}) layout_.shape.push_back(extent);
    layout_.chunk.push_back(first.plain_rows ? 1 : std::min(blocks.height(), first.height));
    layout_.chunk.push_back(std::min(blocks.width(), first.width));
    if (apart) {
      const auto at = static_cast<std::ptrdiff_t>(*plan.samples_at);
      const auto samples = static_cast<i64>(first.format.fields.size());
      layout_.shape.insert(layout_.shape.begin() + at, samples);
      layout_.chunk.insert(layout_.chunk.begin() + at, samples);
    }
    layout_.letters = plan.letters;
    layout_.steps = plan.steps;
    layout_.header = header_of_pages(reader, listing_);
    check_extents();
  }

  const FileLayout& layout() const override { return layout_; }
  std::string identity() const override {
    const ReadOptions& options = file_->source.options;
    return fmt::format("{}, {} of {}, level {}, pages {} to {}, axes {}", file_identity(file_->source.path),
                       to_string(layout_.shape), layout_.element.name(), options.level, options.page, options.last_page,
                       layout_.letters);
  }
  i64 keep_chunks(i64 bytes) override {
    kept_.bound(bytes);
    if (listing_.page(0).plain_rows) return 0;
    return std::min(bytes, element_count(layout_.shape) * static_cast<i64>(layout_.element.size()));
  }

  i64 beside(const Region& region) const override {
    const ListedPage& first = listing_.page(0);
    const i64 size = static_cast<i64>(first.format.size());
    const i64 block =
        first.plain_rows ? std::max(piece_bytes, first.width * size) : first.block_height * first.block_width * size;
    // Packed, unpacked, and as elements; as many as threads can have in work.
    constexpr i64 copies = 3;
    i64 blocks = 1;
    for (std::size_t d = 0; d < layout_.chunk.size(); ++d)
      blocks *= (region.end[d] - region.begin[d]) / layout_.chunk[d] + 2;
    return copies * block * std::min<i64>(blocks, run::cpu::thread_count(0));
  }

  void read(const Region& region, const Array& to) const override {
    check_region(layout_, file_->source.name, region, to);
    std::vector<Job> jobs;
    std::vector<Window> windows;
    for_each_page(region, to, [&](std::size_t page, Window window) {
      add_jobs(page, window, windows.size(), jobs);
      windows.push_back(std::move(window));
    });
    run::cpu::parallel_tiles(static_cast<i64>(jobs.size()), 0, [&](i64 k, int) {
      const Job& job = jobs[static_cast<std::size_t>(k)];
      run_job(job, windows[job.window]);
    });
  }

 private:
  struct Job {
    std::size_t page = 0, window = 0;
    i64 y = 0, x = 0;  // of a block its first pixel
    i64 rows = 0;      // of plain rows
  };

  void check_extents() const {
    double elements = 1;
    for (const i64 extent : layout_.shape) elements *= static_cast<double>(extent);
    if (elements * static_cast<double>(layout_.element.size()) > 0x1p62)
      file_->source.fail("TIFF", fmt::format("it declares {} elements: the file is damaged", to_string(layout_.shape)));
  }

  // Calls with every page that the region meets.
  template <class F>
  void for_each_page(const Region& region, const Array& to, F&& body) const {
    const PagePlan& plan = listing_.plan;
    const std::size_t leading = plan.leading.size();
    if (std::find(to.shape().begin(), to.shape().end(), 0) != to.shape().end()) return;
    std::vector<i64> index(region.begin.begin(), region.begin.begin() + static_cast<std::ptrdiff_t>(leading));
    for (;;) {
      std::size_t page = 0;
      i64 offset = 0;
      for (std::size_t d = 0; d < leading; ++d) {
        page = page * static_cast<std::size_t>(plan.leading[d]) + static_cast<std::size_t>(index[d]);
        offset += (index[d] - region.begin[d]) * to.strides()[d];
      }
      body(page, window_of(region, to, offset));
      std::size_t d = leading;
      while (d > 0 && ++index[d - 1] == region.end[d - 1]) {
        index[d - 1] = region.begin[d - 1];
        --d;
      }
      if (d == 0) return;
    }
  }

  Window window_of(const Region& region, const Array& to, i64 offset) const {
    const std::optional<std::size_t> samples_at = listing_.plan.samples_at;
    const std::size_t leading = listing_.plan.leading.size();
    const std::size_t y = leading + (samples_at == leading ? 1 : 0), x = y + 1;
    Window window{region.begin[y], region.begin[x], region.end[y], region.end[x], {}, samples_at.has_value(), 0};
    const i64 samples = samples_at ? to.shape()[*samples_at] : 1, step = samples_at ? to.strides()[*samples_at] : 0;
    if (samples_at) window.first_sample = static_cast<std::size_t>(region.begin[*samples_at]);
    for (i64 k = 0; k < samples; ++k)
      window.to.push_back(Array::share(to.owner(), to.as<std::byte>() + offset + k * step, to.format(),
                                       {to.shape()[y], to.shape()[x]}, {to.strides()[y], to.strides()[x]}));
    return window;
  }

  void add_jobs(std::size_t page, const Window& w, std::size_t window, std::vector<Job>& jobs) const {
    const ListedPage& listed = listing_.page(page);
    const i64 height = std::max<i64>(listed.block_height, 1), width = std::max<i64>(listed.block_width, 1);
    if (listed.plain_rows) {
      const i64 row_bytes = (w.x1 - w.x0) * static_cast<i64>(listed.format.size());
      const i64 most = std::max<i64>(piece_bytes / row_bytes, 1);
      for (i64 y = w.y0; y < w.y1;) {
        const i64 rows = std::min({most, height - y % height, w.y1 - y});
        jobs.push_back({page, window, y, w.x0, rows});
        y += rows;
      }
      return;
    }
    for (i64 y = w.y0 / height * height; y < w.y1; y += height)
      for (i64 x = w.x0 / width * width; x < w.x1; x += width) jobs.push_back({page, window, y, x, 0});
  }

  void run_job(const Job& job, const Window& window) const {
    const ListedPage& listed = listing_.page(job.page);
    if (listed.plain_rows) {
      views_.use(listed, [&](View& view) {
        const Array rows(listed.format, {job.rows, window.x1 - window.x0});
        for (int plane = 0; plane < view.page.planes(); ++plane)
          read_plain_rows(view, job.y, job.rows, job.x, rows, plane);
        deliver(window, rows, job.y, job.x);
      });
      return;
    }
    const BlockKey key{job.page, job.y, job.x};
    std::optional<Array> block = kept_.find(key);
    if (!block) {
      views_.use(listed, [&](View& view) { block = decoded(view, listed, job); });
      kept_.add(key, *block);
    }
    const i64 y0 = std::max(job.y, window.y0), y1 = std::min(job.y + block->shape()[0], window.y1);
    const i64 x0 = std::max(job.x, window.x0), x1 = std::min(job.x + block->shape()[1], window.x1);
    const std::vector<i64> begin = {y0 - job.y, x0 - job.x}, end = {y1 - job.y, x1 - job.x};
    deliver(window, block->region(begin, end), y0, x0);
  }

  static Array decoded(View& view, const ListedPage& listed, const Job& job) {
    const i64 rows = std::min(view.blocks->height(), listed.height - job.y);
    const i64 columns = std::min(view.blocks->width(), listed.width - job.x);
    const Array block(listed.format, {rows, columns});
    view.blocks->read(job.y, job.x, block.as<std::uint8_t>(), static_cast<std::size_t>(block.strides()[0]));
    return block;
  }

  std::unique_ptr<OpenFile> file_;
  mutable Views views_;
  mutable KeptBlocks kept_;
  TiffListing listing_;
  FileLayout layout_;
};

}  // namespace

std::unique_ptr<FileReader> open_tiff(const std::string& path, const ReadOptions& options) {
  std::error_code ec;
  if (path == "-" || !std::filesystem::is_regular_file(path, ec)) return nullptr;
  auto file = std::make_unique<OpenFile>(path, options, first_bytes);
  if (!is_tiff(file->source)) return nullptr;
  TiffReader reader(file->source, TiffReader::Places::some);
  TiffListing listing = list_pages(reader);
  if (listing.page(0).orientation > 1) return nullptr;
  return std::make_unique<TiffRegionReader>(std::move(file), reader, std::move(listing));
}

}  // namespace tessera::io
