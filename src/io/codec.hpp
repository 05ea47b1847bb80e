// What every file format shares: where bytes come from, the bounds on what they may ask for, and the table of formats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/files.hpp"
#include "io/image.hpp"
#include "io/samples.hpp"
#include "tessera/array.hpp"

namespace tessera::io {

// What is read: a whole file in memory, or its first bytes and where the others come from.
struct Source {
  std::span<const std::byte> bytes;
  std::string name;
  ReadOptions options;
  std::string path = {};          // for what stands beside the file; empty when there is no file
  ImageHeader* header = nullptr;  // where to put what the file says beside its elements, when somebody asks
  int* orientation = nullptr;     // where to put how the picture has to be turned, 1 to 8; the decoder does not turn it
  const base::Reading* rest = nullptr;  // of what follows `bytes`: null when they are all
  std::optional<i64> length = {};       // of a regular file with a rest
  i64 most = 0;                         // what may be taken, from before any of it was; 0: as the options say
  i64 held = 0;                         // of it, what the file itself takes

  const std::uint8_t* data() const { return reinterpret_cast<const std::uint8_t*>(bytes.data()); }
  std::size_t size() const { return bytes.size(); }
  double total() const;  // bytes of the file; infinite where only its end tells
  i64 most_bytes() const { return most > 0 ? most : options.most_bytes(); }
  // For codecs that read places: fewer bytes at the end alone.
  std::size_t read_at(std::uint64_t offset, std::span<std::byte> to) const;
  bool starts_with(std::string_view magic) const;
  // Throws Error(io): "cannot read 'name' as PNG: reason".
  [[noreturn]] void fail(std::string_view format, const std::string& reason, std::string help = {}) const;
};

// A source from its first byte to its last, once. What it holds of the file at a time is small.
class InOrder {
 public:
  explicit InOrder(const Source& source) : source_(source), window_(source.bytes) {}
  InOrder(const InOrder&) = delete;
  InOrder& operator=(const InOrder&) = delete;

  // Fewer at the end alone.
  std::size_t read(std::span<std::byte> out);
  // What comes next, some of it; none at the end.
  std::span<const std::byte> piece();
  // The next byte, or -1 at the end; it stays the next one until advance().
  int peek() { return at_ < window_.size() || refill() ? std::to_integer<int>(window_[at_]) : -1; }
  void advance() { ++at_; }
  double left() const { return source_.total() - before_ - static_cast<double>(at_); }

 private:
  bool refill();
  const Source& source_;
  std::span<const std::byte> window_;
  std::vector<std::byte> buffer_;
  double before_ = 0;  // bytes before the window
  std::size_t at_ = 0;
};

// Throws when an image of this size cannot be the content of the source; see allocate(). `beside`: what decoding takes
// beside the array and the file. Of both together the limit does not count the first 16 MiB.
void check_declared(const Source&, std::string_view format_name, const Format&, const Shape&, double ratio,
                    double beside = 0);
// An array for the content of the source. `ratio` is the most bytes that one byte of the file can stand for in this
// format: what a file declares beyond that is a lie, and is refused before memory is asked for.
Array allocate(const Source&, std::string_view format_name, const Format&, const Shape&, double ratio,
               double beside = 0);

// Throws where a page or a level is asked for of a format that has none.
void check_page_and_level(const Source&, std::string_view format_name, bool has_pages, bool has_levels);

// How far a stream was looked through for its end.
struct Scan {
  std::size_t at = 0;
  int state = 0;
};

// One row of the table. Several formats may share functions.
struct Codec {
  std::string_view name;                   // "PNG"
  std::vector<std::string_view> suffixes;  // lower case, with the dot; the first is the usual one
  bool (*matches)(const Source&);
  Array (*decode)(const Source&);
  // Null when images are not written in this format. Writes the samples, does not commit.
  void (*encode)(base::AtomicFile&, const Samples&, const WriteOptions&) = nullptr;
  std::vector<ElementType> types = {};  // of samples that encode takes
  std::vector<int> channels = {};       // that encode takes; empty: any
  bool pages = false;                   // encode takes more than one page
  i64 largest = INT64_MAX;              // extent that encode takes
  // Instead of encode in a format of arrays: takes what it is given, or says why not.
  WriteReport (*write)(base::AtomicFile&, const Array&, const WriteOptions&) = nullptr;
  // What decode gets: the first bytes, which it reads on from in order, as far as the header tells, or by places; else
  // all of them.
  enum class Reads { whole, in_order, places } reads = Reads::whole;
  // Of a stream whose first bytes these are: where the image ends, or nothing as long as that does not show.
  std::optional<std::size_t> (*end)(std::span<const std::byte>, Scan&) = nullptr;

  bool is_written() const { return encode != nullptr || write != nullptr; }
};

bool packs_tiff(Packing);  // whether the library was built with it

// In the order in which they are asked: formats with a clear signature first.
const std::vector<Codec>& codecs();

// What the header says of the places of points, and such a file does not.
void lose_places(const ImageHeader&, std::string_view format, const Shape&, std::vector<std::string>& lost);

// One file per format (family).
Array decode_png(const Source&);
void encode_png(base::AtomicFile&, const Samples&, const WriteOptions&);
std::optional<std::size_t> end_of_png(std::span<const std::byte>, Scan&);
Array decode_jpeg(const Source&);
std::optional<std::size_t> end_of_jpeg(std::span<const std::byte>, Scan&);
void encode_jpeg(base::AtomicFile&, const Samples&, const WriteOptions&);
bool is_tiff(const Source&);
Array decode_tiff(const Source&);
void encode_tiff(base::AtomicFile&, const Samples&, const WriteOptions&);
bool matches_pnm(const Source&);
Array decode_pnm(const Source&);
void encode_pnm(base::AtomicFile&, const Samples&, const WriteOptions&);
void encode_pbm(base::AtomicFile&, const Samples&, const WriteOptions&);
Array decode_pfm(const Source&);
void encode_pfm(base::AtomicFile&, const Samples&, const WriteOptions&);
bool matches_npy(const Source&);
Array decode_npy(const Source&);
WriteReport write_npy(base::AtomicFile&, const Array&, const WriteOptions&);
bool matches_nifti(const Source&);
Array decode_nifti(const Source&);
WriteReport write_nifti(base::AtomicFile&, const Array&, const WriteOptions&);
bool matches_nrrd(const Source&);
Array decode_nrrd(const Source&);
WriteReport write_nrrd(base::AtomicFile&, const Array&, const WriteOptions&);
bool matches_metaimage(const Source&);
Array decode_metaimage(const Source&);
WriteReport write_metaimage(base::AtomicFile&, const Array&, const WriteOptions&);
// The header that belongs to "NAME.img" where there is one, else the path itself.
std::string nifti_header_beside(const std::string& path);
bool matches_tga(const Source&);
Array decode_bmp(const Source&);
std::optional<std::size_t> end_of_bmp(std::span<const std::byte>, Scan&);
Array decode_gif(const Source&);
std::optional<std::size_t> end_of_gif(std::span<const std::byte>, Scan&);
Array decode_hdr(const Source&);
Array decode_tga(const Source&);
void encode_bmp(base::AtomicFile&, const Samples&, const WriteOptions&);

}  // namespace tessera::io
