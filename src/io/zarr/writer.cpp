// Arrays into folders; see zarr.hpp.
//
// All of it lies in the partial folder until commit(): metadata first, then a file for each chunk. A file is written in
// a folder of its own, .writing, and gets its name when it is whole, so that a process that is killed leaves whole
// chunks alone. Chunks of zeros have no file; in a shard, a file of several chunks, they have no place.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <functional>
#include <new>
#include <utility>

#include "base/files/files.hpp"
#include "base/text.hpp"
#include "data/regions.hpp"
#include "io/axes.hpp"
#include "io/regions/partial_file.hpp"
#include "io/regions/raw.hpp"
#include "io/zarr/folder.hpp"
#include "io/zarr/json.hpp"
#include "io/zarr/metadata.hpp"
#include "io/zarr/ome.hpp"
#include "io/zarr/pyramid.hpp"
#include "io/zarr/reader.hpp"
#include "io/zarr/replace.hpp"
#include "io/zarr/zarr.hpp"
#include "run/cpu/parallel.hpp"
#include "tessera/error.hpp"

namespace tessera::io {
namespace zarr {
namespace {

constexpr i64 chunk_habit = i64{2} << 20;  // bytes: a disk reads as much in the time it takes to find it
constexpr int zstd_habit = 3, gzip_habit = 1;

[[noreturn]] void cannot_hold(const std::string& path, const std::string& why, std::string help = {}) {
  throw Error(ErrorClass::argument, fmt::format("cannot write {}: {}", base::quoted(path, 1024), why), {},
              std::move(help));
}

// ---- how the file is to be -----------------------------------------------------------------------------------------

std::vector<ByteCodec> packing_of(const std::string& path, const WriteOptions& options) {
  ByteCodec codec;
  const Packing packing = options.packing.value_or(Packing::zstd);
  if (packing == Packing::none) return {};
  const int most = packing == Packing::zstd ? 22 : 9;
  if (packing == Packing::deflate)
    codec.kind = ByteCodec::Kind::gzip;
  else if (packing != Packing::zstd)
    cannot_hold(path, "Zarr is packed by deflate, by zstd or not at all");
  if (options.compression > most)
    cannot_hold(path, fmt::format("the level of compression is {}, expected 0 to {}", options.compression, most));
  codec.level = options.compression >= 0              ? options.compression
                : codec.kind == ByteCodec::Kind::gzip ? gzip_habit
                                                      : zstd_habit;
  return {codec};
}

// Moments and channels alone, samples together; cubes or squares of the others. The side that is the shortest doubles,
// the fastest one first, as long as it fits.
Shape usual_chunk(const FileLayout& layout) {
  const std::size_t rank = layout.shape.size();
  const std::string letters = layout.letters.size() == rank ? layout.letters : usual_letters(rank);
  Shape chunk(rank, 1);
  i64 bytes = static_cast<i64>(layout.element.size());
  std::vector<bool> grows(rank);
  for (std::size_t d = 0; d < rank; ++d) {
    if (letters[d] == 's') chunk[d] = std::max<i64>(layout.shape[d], 1);
    bytes *= chunk[d];
    grows[d] = letters[d] != 't' && letters[d] != 'c' && letters[d] != 's' && (letters[d] != 'q' || rank <= 3);
  }
  while (2 * bytes <= chunk_habit) {
    std::size_t best = rank;
    for (std::size_t d = rank; d-- > 0;)
      if (grows[d] && chunk[d] < layout.shape[d] && (best == rank || chunk[d] < chunk[best])) best = d;
    if (best == rank) break;
    bytes *= 2;
    chunk[best] *= 2;
  }
  for (std::size_t d = 0; d < rank; ++d) chunk[d] = std::min(chunk[d], std::max<i64>(layout.shape[d], 1));
  return chunk;
}

Shape chunk_of(const std::string& path, const FileLayout& layout) {
  if (layout.chunk.empty()) return usual_chunk(layout);
  if (layout.chunk.size() != layout.shape.size())
    cannot_hold(
        path,
        fmt::format("chunks of {} were asked for an array of {}", to_string(layout.chunk), to_string(layout.shape)),
        "give an extent for each dimension, as in --chunk 64x256x256");
  Shape chunk = layout.chunk;
  double bytes = static_cast<double>(layout.element.size());
  for (std::size_t d = 0; d < chunk.size(); ++d) {
    if (chunk[d] < 1) cannot_hold(path, fmt::format("chunks of {} were asked for", to_string(layout.chunk)));
    chunk[d] = std::min(chunk[d], std::max<i64>(layout.shape[d], 1));
    bytes *= static_cast<double>(chunk[d]);
  }
  constexpr double largest = 0x1p31;  // what other readers take, as one call of a library does
  if (bytes >= largest)
    cannot_hold(path, fmt::format("a chunk of {} elements takes {}, expected less than {}", to_string(chunk),
                                  base::format_bytes(bytes), base::format_bytes(largest)));
  return chunk;
}

// Empty: none are asked for. Each has whole chunks.
Shape shard_of(const std::string& path, const FileLayout& layout) {
  for (std::size_t d = 0; d < layout.shard.size(); ++d)
    if (layout.shard[d] < layout.chunk[d] ||
        (layout.chunk[d] < layout.shape[d] && layout.shard[d] % layout.chunk[d] != 0))
      cannot_hold(path,
                  fmt::format("shards of {} were asked for, which are not made of whole chunks of {}",
                              to_string(layout.shard), to_string(layout.chunk)),
                  "give extents that are multiples of those, or others for chunks as well");
  return layout.shard;
}

ArrayMetadata metadata_of(const FileLayout& layout, const Shape& shape, const std::vector<ByteCodec>& packing) {
  ArrayMetadata array;
  array.shape = shape;
  array.type = layout.element.scalar;
  for (std::size_t d = 0; d < shape.size(); ++d)
    array.unit.push_back(std::min(layout.chunk[d], std::max<i64>(shape[d], 1)));
  array.chunk = array.unit;
  // Not larger than chunks of the array reach.
  for (std::size_t d = 0; d < layout.shard.size(); ++d) {
    const i64 reached = (std::max<i64>(shape[d], 1) + array.unit[d] - 1) / array.unit[d] * array.unit[d];
    array.chunk[d] = std::min(layout.shard[d], reached);
  }
  if (!layout.shard.empty()) array.shards = Shards{.swapped = std::endian::native == std::endian::big, .checked = true};
  array.chain.packing = packing;
  array.fill.assign(layout.element.size(), std::byte{0});
  // Names are to differ, so that q, of which there may be several, is none.
  if (layout.letters.find_first_not_of('q') != std::string::npos)
    for (const char letter : layout.letters) array.names.push_back(letter == 'q' ? "" : std::string(1, letter));
  return array;
}

// ---- the chunks of one array ---------------------------------------------------------------------------------------

bool is_zero(std::span<const std::byte> bytes) {
  return bytes.empty() ||
         (bytes[0] == std::byte{0} && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

class ChunkWriter {
 public:
  // `resumed`: chunks may be there already. `temporary`: how names of files that are not whole begin.
  ChunkWriter(std::string folder, std::string temporary, ArrayMetadata array, bool resumed)
      : folder_(std::move(folder)), temporary_(std::move(temporary)), array_(std::move(array)), resumed_(resumed) {}

  const ArrayMetadata& metadata() const { return array_; }
  const std::string& folder() const { return folder_; }

  // What the array has of a unit, by its place in the array.
  using Units = std::function<Array(const Region&)>;

  // A file: its units are asked for one after the other, or on all threads.
  void write(std::span<const i64> index, const Units& units, bool parallel) const {
    const std::string path = join(folder_, chunk_name(array_, index));
    std::vector<std::byte> file;
    if (array_.shards)
      file = shard(index, units, parallel);
    else
      file = packed(units(place_of(index, std::vector<i64>(index.size(), 0))));
    if (file.empty()) {
      if (resumed_) remove_file(path);
      return;
    }
    static std::atomic<i64> count{0};
    write_by(fmt::format("{}{}", temporary_, count.fetch_add(1, std::memory_order_relaxed)), path, file);
  }

  // Bytes that writing so many files at once takes at most.
  i64 beside(i64 files) const {
    const i64 bytes = unit_bytes(array_), stored = most_stored(array_.chain, bytes);
    if (!array_.shards) return files * (bytes + 2 * stored);
    i64 units = 1;
    for (std::size_t d = 0; d < array_.unit.size(); ++d) units *= array_.chunk[d] / array_.unit[d];
    return std::min<i64>(units, run::cpu::thread_count(0)) * (bytes + stored) + 2 * units * stored;
  }

 private:
  // Within the array; empty of what lies beyond it.
  Region place_of(std::span<const i64> index, const std::vector<i64>& within) const {
    Region place;
    for (std::size_t d = 0; d < index.size(); ++d) {
      const i64 begin = index[d] * array_.chunk[d] + within[d] * array_.unit[d];
      place.begin.push_back(std::min(begin, array_.shape[d]));
      place.end.push_back(std::min(begin + array_.unit[d], array_.shape[d]));
    }
    return place;
  }

  // Nothing of zeros.
  std::vector<std::byte> packed(const Array& from) const {
    const auto size = static_cast<std::size_t>(unit_bytes(array_));
    std::vector<std::byte> padded;
    std::span<const std::byte> elements;
    if (from.shape() == array_.unit && from.contiguous()) {
      elements = std::span(from.as<const std::byte>(), size);
    } else {
      padded.resize(size);
      const Array unit = Array::borrow(padded.data(), array_.type, array_.unit);
      unit.region(std::vector<i64>(from.shape().size(), 0), from.shape()).copy_from(from);
      elements = padded;
    }
    if (is_zero(elements)) return {};
    return encode(array_.chain, array_.type, array_.unit, elements);
  }

  // Units one behind the other, in the order of the index, which stands at the end.
  std::vector<std::byte> shard(std::span<const i64> index, const Units& units, bool parallel) const {
    const std::size_t rank = index.size();
    std::vector<i64> counts(rank);
    i64 count = 1;
    for (std::size_t d = 0; d < rank; ++d) count *= counts[d] = array_.chunk[d] / array_.unit[d];
    std::vector<std::vector<std::byte>> parts(static_cast<std::size_t>(count));
    run::cpu::parallel_tiles(count, parallel ? 0 : 1, [&](i64 n, int) {
      std::vector<i64> within(rank);
      for (std::size_t d = rank; d-- > 0; n /= counts[d]) within[d] = n % counts[d];
      const Region place = place_of(index, within);
      if (element_count(data::shape_of(place)) == 0) return;
      parts[place_in_index(array_, within)] = packed(units(place));
    });
    ShardIndex places(2 * parts.size(), no_unit);
    std::size_t size = 0;
    for (std::size_t k = 0; k < parts.size(); ++k) {
      if (parts[k].empty()) continue;
      places[2 * k] = size;
      places[2 * k + 1] = parts[k].size();
      size += parts[k].size();
    }
    if (size == 0) return {};
    std::vector<std::byte> file;
    file.reserve(size + static_cast<std::size_t>(index_bytes(array_)));
    for (std::vector<std::byte>& part : parts) {
      file.insert(file.end(), part.begin(), part.end());
      part = {};
    }
    const std::vector<std::byte> end = print_index(array_, places);
    file.insert(file.end(), end.begin(), end.end());
    return file;
  }

  const std::string folder_, temporary_;
  const ArrayMetadata array_;
  const bool resumed_;
};

// ---- the writer ----------------------------------------------------------------------------------------------------

class Writer : public FileWriter {
 public:
  Writer(std::string path, FileLayout layout, const RegionWriteOptions& options)
      : path_(std::move(path)),
        target_(base::followed(path_)),
        partial_(partial_name(target_)),
        layout_(std::move(layout)) {
    const bool ome = base::to_lower(path_).ends_with(".ome.zarr");
    layout_.format_name = ome ? "OME-Zarr" : "Zarr";
    if (layout_.letters.empty() && ome) layout_.letters = usual_letters(layout_.shape.size());
    layout_.chunk = chunk_of(path_, layout_);
    layout_.shard = shard_of(path_, layout_);
    if (options.levels < 1 || (options.levels > 1 && !ome))
      cannot_hold(path_,
                  fmt::format("{} levels were asked for, {}", options.levels,
                              ome ? "expected 1 or more" : "but a plain array has one"),
                  "a name that ends with .ome.zarr has levels");
    const std::vector<ByteCodec> packing = packing_of(path_, options.write);
    levels_ = pyramid_of(layout_, options.levels);
    std::vector<std::pair<std::string, std::string>> texts;  // names in the folder, and what is in them
    if (ome) texts.emplace_back(v3_file, print_group(layout_, levels_, path_));
    for (std::size_t k = 0; k < levels_.size(); ++k) {
      ArrayMetadata array = metadata_of(layout_, levels_[k].shape, packing);
      texts.emplace_back(ome ? fmt::format("{}/{}", k, v3_file) : std::string(v3_file), print_v3(array));
      arrays_.emplace_back(ome ? fmt::format("{}/{}", partial_, k) : partial_,
                           fmt::format("{}/{}-", temporary(), options.writers.number), std::move(array),
                           options.resume);
    }
    // What is written together is a file.
    layout_.chunk = arrays_[0].metadata().chunk;
    check_replaceable(path_, target_);
    check_begun(path_, removed());
    resumed_ = options.writers.joins() ? join_others(texts) : begin(texts, options.resume);
  }

  const FileLayout& layout() const override { return layout_; }
  bool resumed() const override { return resumed_; }

  i64 beside(const Region& region) const override {
    double chunks = 1;
    for (std::size_t d = 0; d < region.begin.size(); ++d)
      chunks *= static_cast<double>((region.end[d] - region.begin[d]) / layout_.chunk[d] + 1);
    const double most = is_sharded() ? 1 : run::cpu::thread_count(0);
    return arrays_[0].beside(static_cast<i64>(std::min(chunks, most)));
  }

  void write(const Region& region, const Array& from) override {
    check_chunks(layout_, path_, region, from);
    const auto part = [&](const Region& unit) {
      std::vector<i64> begin = unit.begin, end = unit.end;
      for (std::size_t d = 0; d < begin.size(); ++d) {
        begin[d] -= region.begin[d];
        end[d] -= region.begin[d];
      }
      return from.region(begin, end);
    };
    over_files(region, layout_.chunk, !is_sharded(),
               [&](const std::vector<i64>& index) { arrays_[0].write(index, part, is_sharded()); });
  }

  void sync() override { sync_all(partial_); }

  void commit() override {
    for (std::size_t k = 1; k < levels_.size(); ++k) build_level(k);
    remove_folder(temporary());
    sync();
    check_replaceable(path_, target_);
    check_begun(path_, removed());
    replace_folder(partial_, target_, removed());
    const std::size_t slash = target_.rfind('/');
    sync_folder(slash == std::string::npos ? "." : target_.substr(0, slash + 1));
  }

  void discard() override {
    check_begun(path_, partial_);
    remove_folder(partial_);
  }

 private:
  bool is_sharded() const { return arrays_[0].metadata().shards.has_value(); }
  std::string removed() const { return partial_ + ".old"; }  // what had the name before
  std::string temporary() const { return join(partial_, writing_folder); }

  // The folder with its metadata: as it is to be, where the work is resumed. True where all of it was there.
  bool begin(const std::vector<std::pair<std::string, std::string>>& texts, bool resume) const {
    // A partial folder has one of files that are not whole. What has none was in the place of this one's result, when
    // that got its name.
    bool all = resume && is_folder(temporary());
    if (!all) {
      check_begun(path_, partial_);
      remove_folder(partial_);
    }
    make_folder(partial_);
    remove_folder(temporary());  // what another process was about to write
    make_folder(temporary());
    for (const auto& [name, text] : texts) {
      const std::string file = join(partial_, name);
      const std::optional<std::string> there = read_metadata(file);
      if (there && *there != text)
        cannot_hold(path_, fmt::format("{} was begun as another array", base::quoted(partial_, 1024)),
                    "take it away, or do not resume");
      if (there) continue;
      all = false;
      write_by(join(temporary(), v3_file), file, std::as_bytes(std::span(text.data(), text.size())));
    }
    return all;
  }

  // Another writer has begun it, and waits: nothing in the folder changes. True where it is the same array.
  bool join_others(const std::vector<std::pair<std::string, std::string>>& texts) const {
    if (!is_folder(temporary())) cannot_join(path_);
    for (const auto& [name, text] : texts)
      if (read_metadata(join(partial_, name)) != text) cannot_join(path_);
    return true;
  }

  // Files of a region by number and place, on all threads or one after the other.
  template <class F>
  void over_files(const Region& region, const Shape& chunk, bool parallel, const F& f) const {
    const std::size_t rank = chunk.size();
    Shape first(rank), counts(rank);
    i64 count = 1;
    for (std::size_t d = 0; d < rank; ++d) {
      if (region.begin[d] == region.end[d]) return;
      first[d] = region.begin[d] / chunk[d];
      counts[d] = (region.end[d] - 1) / chunk[d] - first[d] + 1;
      count *= counts[d];
    }
    const auto one = [&](i64 n, int) {
      std::vector<i64> index(rank);
      for (std::size_t d = rank; d-- > 0; n /= counts[d]) index[d] = first[d] + n % counts[d];
      f(index);
    };
    try {
      run::cpu::parallel_tiles(count, parallel ? 0 : 1, one);
    } catch (const std::bad_alloc&) {
      throw Error(ErrorClass::io, fmt::format("cannot write {}: not enough memory", base::quoted(path_, 1024)));
    }
  }

  // Level k from the one before, chunk by chunk: eight chunks of that at most are held.
  void build_level(std::size_t k) const {
    const ChunkWriter& above = arrays_[k - 1];
    const ChunkWriter& level = arrays_[k];
    const std::unique_ptr<FileReader> reader =
        make_reader(above.folder(), above.metadata(), layout_of(above.metadata()), {});
    reader->keep_chunks(0);
    std::vector<bool> halved;
    for (std::size_t d = 0; d < layout_.shape.size(); ++d)
      halved.push_back(levels_[k].halvings[d] != levels_[k - 1].halvings[d]);
    const Shape& shape = levels_[k].shape;
    const auto mean = [&](const Region& place) {
      Region from = place;
      for (std::size_t d = 0; d < from.begin.size(); ++d)
        if (halved[d]) {
          from.begin[d] *= 2;
          from.end[d] = std::min(2 * from.end[d], levels_[k - 1].shape[d]);
        }
      const Array points(layout_.element, data::shape_of(from));
      Array means(layout_.element, data::shape_of(place));
      reader->read(from, points);
      halve(points, means, halved);
      return means;
    };
    over_files({std::vector<i64>(shape.size(), 0), shape}, level.metadata().chunk, false,
               [&](const std::vector<i64>& index) { level.write(index, mean, false); });
  }

  const std::string path_, target_, partial_;
  bool resumed_ = false;
  FileLayout layout_;
  std::vector<LevelLayout> levels_;
  std::vector<ChunkWriter> arrays_;  // one for each level
};

}  // namespace
}  // namespace zarr

std::unique_ptr<FileWriter> create_zarr(const std::string& given, const FileLayout& layout,
                                        const RegionWriteOptions& options) {
  const std::string path = zarr::without_slashes(given);
  if (layout.element.is_struct())
    zarr::cannot_hold(path, fmt::format("Zarr holds numbers, not {}", layout.element.name()),
                      "channels are a dimension of their own");
  if (!layout.letters.empty() && layout.letters.size() != layout.shape.size())
    zarr::cannot_hold(path, fmt::format("{} are letters of {} dimensions, but the array has {}",
                                        base::quoted(layout.letters), layout.letters.size(), layout.shape.size()));
  element_count(layout.shape);
  return std::make_unique<zarr::Writer>(path, layout, options);
}

std::string zarr_letters(const ImageHeader& header, const Format& format, int rank) {
  std::string letters = header.axes.size() == static_cast<std::size_t>(rank)
                            ? header.axes
                            : usual_letters(static_cast<std::size_t>(rank));
  if (format.fields.size() < 2) return letters;
  // Time comes before channels, all else behind them.
  const char channel = is_band(format.fields.back().name) ? 'c' : 's';
  letters.insert(letters.starts_with('t') ? 1 : 0, 1, channel);
  return letters;
}

}  // namespace tessera::io
