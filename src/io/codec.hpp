// What every file format shares: where bytes come from, the bounds on what they may ask for, and the table of formats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.hpp"
#include "io/image.hpp"
#include "io/samples.hpp"
#include "tessera/array.hpp"

namespace tessera::io {

// A whole file in memory. With an owner, arrays may keep views of it.
struct Source {
  std::span<const std::byte> bytes;
  std::string name;
  ReadOptions options;
  std::shared_ptr<void> owner = {};
  std::string path = {};          // for what stands beside the file; empty when there is no file
  ImageHeader* header = nullptr;  // where to put what the file says beside its elements, when somebody asks
  int* orientation = nullptr;     // where to put how the picture has to be turned, 1 to 8; the decoder does not turn it

  const std::uint8_t* data() const { return reinterpret_cast<const std::uint8_t*>(bytes.data()); }
  std::size_t size() const { return bytes.size(); }
  bool starts_with(std::string_view magic) const;
  // Throws Error(io): "cannot read 'name' as PNG: reason".
  [[noreturn]] void fail(std::string_view format, const std::string& reason, std::string help = {}) const;
};

// Throws when an image of this size cannot be the content of the source; see allocate().
void check_declared(const Source&, std::string_view format_name, const Format&, const Shape&, double ratio);
// An array for the content of the source. `ratio` is the most bytes that one byte of the file can stand for in this
// format: what a file declares beyond that is a lie, and is refused before memory is asked for.
Array allocate(const Source&, std::string_view format_name, const Format&, const Shape&, double ratio);

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

  bool is_written() const { return encode != nullptr || write != nullptr; }
};

bool packs_tiff(Packing);  // whether the library was built with it

// In the order in which they are asked: formats with a clear signature first.
const std::vector<Codec>& codecs();

// One file per format (family).
Array decode_png(const Source&);
void encode_png(base::AtomicFile&, const Samples&, const WriteOptions&);
Array decode_jpeg(const Source&);
void encode_jpeg(base::AtomicFile&, const Samples&, const WriteOptions&);
Array decode_tiff(const Source&);
void encode_tiff(base::AtomicFile&, const Samples&, const WriteOptions&);
bool matches_pnm(const Source&);
Array decode_pnm(const Source&);
void encode_pnm(base::AtomicFile&, const Samples&, const WriteOptions&);
void encode_pbm(base::AtomicFile&, const Samples&, const WriteOptions&);
Array decode_pfm(const Source&);
void encode_pfm(base::AtomicFile&, const Samples&, const WriteOptions&);
Array decode_npy(const Source&);
WriteReport write_npy(base::AtomicFile&, const Array&, const WriteOptions&);
bool matches_nifti(const Source&);
Array decode_nifti(const Source&);
WriteReport write_nifti(base::AtomicFile&, const Array&, const WriteOptions&);
// The header that belongs to "NAME.img" where there is one, else the path itself.
std::string nifti_header_beside(const std::string& path);
bool matches_tga(const Source&);
Array decode_bmp(const Source&);
Array decode_gif(const Source&);
Array decode_hdr(const Source&);
Array decode_tga(const Source&);
void encode_bmp(base::AtomicFile&, const Samples&, const WriteOptions&);

}  // namespace tessera::io
