// Regions out of chunks; see reader.hpp.
//
// A region is read unit by unit, on all threads. What a region takes all of is decoded where it belongs, or dropped
// when it is copied. What it takes a part of is kept: regions beside it take the rest.
#include "io/zarr/reader.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <new>
#include <system_error>
#include <utility>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "io/regions/raw.hpp"
#include "io/zarr/cache.hpp"
#include "io/zarr/folder.hpp"
#include "io/zarr/json.hpp"
#include "io/zarr/ome.hpp"
#include "run/cpu/parallel.hpp"
#include "tessera/error.hpp"

namespace tessera::io::zarr {
namespace {

constexpr i64 kept_bytes = i64{16} << 20;    // of units, unless somebody says more
constexpr i64 index_memory = i64{16} << 20;  // of indices of shards
constexpr int most_entries = 4096;           // of a folder, which identity() looks at

// ---- identity ----------------------------------------------------------------------------------------------------

void add_file(base::Hasher& hash, const std::string& path) {
  struct stat info{};
  const bool there = ::stat(path.c_str(), &info) == 0;
  hash.text(path.substr(path.rfind('/') + 1)).number(there ? info.st_size : -1);
  hash.number(there ? info.st_mtim.tv_sec : 0).number(there ? info.st_mtim.tv_nsec : 0);
}

// A folder changes its time with every name that comes, goes or is replaced in it.
void add_folder(base::Hasher& hash, const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return;
  hash.text(path.substr(path.rfind('/') + 1)).number(info.st_mtim.tv_sec).number(info.st_mtim.tv_nsec);
}

class Reader : public FileReader {
 public:
  Reader(std::string folder, ArrayMetadata array, FileLayout layout, std::vector<std::string> files)
      : folder_(std::move(folder)),
        array_(std::move(array)),
        layout_(std::move(layout)),
        files_(std::move(files)),
        bytes_(unit_bytes(array_)),
        units_(kept_bytes),
        indices_(std::max(index_memory, array_.shards ? index_bytes(array_) : 0)) {}

  const FileLayout& layout() const override { return layout_; }
  i64 keep_chunks(i64 bytes) override {
    units_.limit(bytes);
    double all = static_cast<double>(bytes_);
    for (std::size_t d = 0; d < layout_.shape.size(); ++d)
      all *= static_cast<double>((layout_.shape[d] - 1) / array_.unit[d] + 1);
    return static_cast<i64>(std::min(static_cast<double>(bytes), all));
  }

  // What the folder says of itself, sizes and times of the files that say it, and the times of the folder and of the
  // folders in it, the first some thousand of them. A chunk that is written over in place, or replaced in a folder
  // further down, is not seen: there may be millions of them.
  std::string identity() const override {
    base::Hasher hash;
    for (const i64 extent : layout_.shape) hash.number(extent);
    for (const std::string& file : files_) {
      add_file(hash, file);
      hash.text(read_metadata(file).value_or(""));
    }
    add_folder(hash, folder_);
    std::error_code error;
    std::vector<std::string> inner;
    int seen = 0;
    for (std::filesystem::directory_iterator at(folder_, error), end; !error && at != end && seen < most_entries;
         at.increment(error), ++seen)
      if (at->is_directory(error)) inner.push_back(at->path().string());
    std::sort(inner.begin(), inner.end());
    for (const std::string& folder : inner) add_folder(hash, folder);
    return base::to_hex(hash.finish());
  }

  i64 beside(const Region& region) const override {
    const double most = run::cpu::thread_count(0);
    double units = 1;
    for (std::size_t d = 0; d < region.begin.size(); ++d) {
      if (region.end[d] <= region.begin[d]) return 0;
      units *= static_cast<double>((region.end[d] - 1) / array_.unit[d] - region.begin[d] / array_.unit[d] + 1);
    }
    const i64 index = array_.shards ? 2 * index_bytes(array_) : 0;
    return static_cast<i64>(std::min(units, most)) * (bytes_ + beside_decoding(array_.chain, bytes_) + index);
  }

  void read(const Region& region, const Array& to) const override {
    check_region(layout_, folder_, region, to);
    const std::size_t rank = region.begin.size();
    Shape first(rank), counts(rank);
    i64 count = 1;
    for (std::size_t d = 0; d < rank; ++d) {
      if (region.begin[d] == region.end[d]) return;
      first[d] = region.begin[d] / array_.unit[d];
      counts[d] = (region.end[d] - 1) / array_.unit[d] - first[d] + 1;
      count *= counts[d];
    }
    try {
      run::cpu::parallel_tiles(count, 0, [&](i64 n, int) {
        std::vector<i64> index(rank);
        for (std::size_t d = rank; d-- > 0; n /= counts[d]) index[d] = first[d] + n % counts[d];
        read_part(index, region, to);
      });
    } catch (const std::bad_alloc&) {
      fail(folder_, "not enough memory");
    }
  }

 private:
  using Elements = std::shared_ptr<std::byte[]>;

  // What the region has of a unit.
  void read_part(const std::vector<i64>& index, const Region& region, const Array& to) const {
    const std::size_t rank = index.size();
    std::vector<i64> begin(rank), end(rank), in_unit(rank), in_unit_end(rank);
    bool whole = true, uncut = true;
    i64 number = 0;
    for (std::size_t d = 0; d < rank; ++d) {
      const i64 extent = layout_.shape[d], from = index[d] * array_.unit[d], until = from + array_.unit[d];
      const i64 first = std::max(region.begin[d], from), last = std::min(region.end[d], until);
      whole = whole && first == from && last == std::min(until, extent);
      uncut = uncut && until <= extent;
      begin[d] = first - region.begin[d];
      end[d] = last - region.begin[d];
      in_unit[d] = first - from;
      in_unit_end[d] = last - from;
      number = number * ((extent - 1) / array_.unit[d] + 1) + index[d];
    }
    const Array part = to.region(begin, end);
    if (const auto kept = units_.get(number))
      return part.copy_from(unit_at(const_cast<std::byte*>(kept->get())).region(in_unit, in_unit_end));
    if (whole && uncut && part.contiguous()) {
      if (!load(index, std::span(part.as<std::byte>(), static_cast<std::size_t>(bytes_)))) fill(part);
      return;
    }
    const auto size = static_cast<std::size_t>(bytes_);
    const Elements elements = std::make_shared_for_overwrite<std::byte[]>(size);
    if (!load(index, std::span(elements.get(), size))) return fill(part);
    part.copy_from(unit_at(elements.get()).region(in_unit, in_unit_end));
    if (!whole) units_.put(number, std::make_shared<const Elements>(elements), bytes_);
  }

  Array unit_at(std::byte* elements) const { return Array::borrow(elements, array_.type, array_.unit); }

  void fill(const Array& part) const {
    part.copy_from(Array::borrow(const_cast<std::byte*>(array_.fill.data()), array_.type, part.shape(),
                                 std::vector<i64>(part.shape().size(), 0)));
  }

  // False where it is not there.
  bool load(const std::vector<i64>& index, std::span<std::byte> to) const {
    std::vector<i64> chunk = index, within(index.size(), 0);
    i64 number = 0;
    for (std::size_t d = 0; d < index.size(); ++d) {
      const i64 units = array_.chunk[d] / array_.unit[d];
      chunk[d] = index[d] / units;
      within[d] = index[d] % units;
      number = number * ((layout_.shape[d] - 1) / array_.chunk[d] + 1) + chunk[d];
    }
    const std::string path = join(folder_, chunk_name(array_, chunk));
    const std::unique_ptr<const StoredFile> file = StoredFile::open(path);
    if (!file) return false;
    const Bytes bytes{file->size(), [&](i64 offset, std::span<std::byte> part) { file->read(offset, part); }};
    if (array_.shards) return read_unit(array_, *index_of(number, bytes, path), within, bytes, to, path);
    read_chunk(array_, bytes, to, path);
    return true;
  }

  std::shared_ptr<const ShardIndex> index_of(i64 number, const Bytes& shard, const std::string& path) const {
    if (auto kept = indices_.get(number)) return kept;
    auto index = std::make_shared<const ShardIndex>(read_index(array_, shard, path));
    indices_.put(number, index, index_bytes(array_));
    return index;
  }

  const std::string folder_;
  const ArrayMetadata array_;
  const FileLayout layout_;
  const std::vector<std::string> files_;
  const i64 bytes_;  // of a unit
  mutable Recent<Elements> units_;
  mutable Recent<ShardIndex> indices_;
};

}  // namespace

FileLayout layout_of(const ArrayMetadata& array) {
  FileLayout layout;
  layout.format_name = "Zarr";
  layout.element = array.type;
  layout.shape = array.shape;
  layout.chunk = array.unit;
  layout.letters = letters_of_names(array.names);
  return layout;
}

std::unique_ptr<FileReader> make_reader(std::string folder, ArrayMetadata array, FileLayout layout,
                                        std::vector<std::string> files) {
  return std::make_unique<Reader>(std::move(folder), std::move(array), std::move(layout), std::move(files));
}

}  // namespace tessera::io::zarr
