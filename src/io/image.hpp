// Files to arrays and back.
//
// Reading looks at the content of a file, writing at the suffix of its name. What an image becomes:
//
//   grey                       rank 2, scalar elements
//   colour, grey with alpha    rank 2, elements are a struct "rgb" (r, g, b), "rgba" (r, g, b, a) or "ga" (g, a):
//                              the same memory as height x width x channel
//   several equal TIFF pages   one more, slowest dimension; two more, time and pages, when ImageJ says that they are a
//                              series of volumes
//   NIfTI                      rank 1 to 4, [t, z, y, x]; colours as above
//   NRRD, MetaImage            any rank; colours as above, vectors as channels
//   .npy                       any rank; a structured dtype becomes a struct, complex numbers a struct "complex" (re,
//   im)
//
// Samples keep their type: 8-bit uint8, 16-bit uint16 (or int16), floating point as it is. Palettes and samples of 1, 2
// or 4 bits are expanded to 8 bits, CMYK is converted to RGB. Pictures are upright: what EXIF (JPEG, PNG) and the tag
// of TIFF say of how they were held is done once, on reading, and not told of the result. Voxels of NIfTI stand in the
// array as in the file, and their place in space in the header. Colours are not converted: profiles travel in the
// header.
//
// A file is input from strangers: one that is damaged, cut short or declares more than it can hold gives an Error(io)
// that names the path and the reason, before memory for it is asked for. All functions are thread-safe.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/header.hpp"
#include "tessera/array.hpp"

namespace tessera::base {
class AtomicFile;
}

namespace tessera::io {

struct ReadOptions {
  i64 max_bytes = 0;  // of the array and of the file, more is refused; 0: base::memory_limit()
  i64 most_bytes() const;
  int page = -1, last_page = -1;  // of a TIFF, from 0; -1: all of them, the first one alone
  std::string axes = {};          // what the dimensions of the file are, "tzyxc": io/axes.hpp
  std::string raw = {};           // of a file without a header, what its elements are: io/formats/plain.hpp
  int level = 0;                  // of the pyramid of a TIFF or an OME-Zarr, 0 the full one
};

enum class Packing { none, deflate, lzw, packbits, zstd };

struct WriteOptions {
  // Type of the samples in the file. Without it: what the array has where the format can hold that; else uint16 for
  // uint16 and int16, uint8 for the rest.
  std::optional<ElementType> type = {};
  int quality = 95;  // JPEG, 1 to 100
  // PNG, TIFF, .nii.gz, NRRD and MetaImage, 0 none to 9 smallest, 22 for zstd; -1: the format's habit (PNG 6, TIFF
  // none, .nii.gz 1)
  int compression = -1;
  // Of TIFF all; of PNG, .nii.gz, NRRD and MetaImage none and deflate. Without it: TIFF as the file of the header, as
  // long as that keeps every bit.
  std::optional<Packing> packing = {};
  // Of what the array was computed from. It is written where the format has room for it and it holds for the extents of
  // the array: all of it from NIfTI to NIfTI, the distances between points from NIfTI and TIFF to either, the metadata
  // of pictures as docs/files.md says.
  ImageHeader header = {};
};

// Values that are stored as integers are rounded half to even and clamped to the range of the file's type; booleans
// become 0 and the largest value, in NIfTI 0 and 1.
struct WriteReport {
  std::string format;                  // "PNG"
  ElementType type = ElementType::u8;  // of the samples in the file
  i64 values = 0;                      // samples written
  i64 saturated = 0;                   // of these, how many did not fit and were clamped, NaN (stored as 0) included
  std::vector<std::string> lost = {};  // what the header says and the file does not, in the middle of a sentence
};

struct Image {
  Array array;
  ImageHeader header;  // empty when the format has none
};

Array read_array(const std::string& path, const ReadOptions& = {});
Image read_image(const std::string& path, const ReadOptions& = {});
// `name` stands for the path in errors.
Array decode_array(std::span<const std::byte> bytes, const std::string& name, const ReadOptions& = {});
Image decode_image(std::span<const std::byte> bytes, const std::string& name, const ReadOptions& = {});

// Rank 2 for images (or rank 3 with 1 to 4 scalars last), also rank 3 and 4 for TIFF (pages; a series of volumes), 1 to
// 4 for NIfTI (.nii, .nii.gz), any rank for .npy, .nrrd and .mha. The file is replaced whole or not at all. Throws
// Error(argument) when the format cannot hold the array, Error(io) when the file cannot be written.
WriteReport write_array(const std::string& path, const Array& array, const WriteOptions& = {});
// Into a file that the caller commits, so that several files appear together or not at all.
WriteReport write_array(base::AtomicFile&, const Array& array, const WriteOptions& = {});

// "PNG", "JPEG", ...: the format that the suffix says; empty when it says none.
std::string format_of_name(const std::string& path);
// Throws Error(argument) where write_array would refuse these options for every array.
void check_write_options(const std::string& path, const WriteOptions&);
// ".png", ".jpg", ...: what write_array knows.
std::vector<std::string> writable_suffixes();
bool is_writable_name(const std::string& path);
// The suffix is one of a format that read_image() knows.
bool is_readable_name(const std::string& path);
// The format that the suffix says holds floating point.
bool stores_floats(const std::string& path);
// The type of the samples in the file of this name: what such an array gets where nobody says. `preferred` is taken for
// numbers that the format has no type for, where it holds it.
ElementType stored_type(const std::string& path, const Format&, std::optional<ElementType> preferred = {});

// ---- channels --------------------------------------------------------------------------------------------------

// Fields of a struct element; 1 for scalars.
int channels_of(const Array&);
// One view per field (of a scalar array: itself), sharing memory.
std::vector<Array> as_planes(const Array&);
// The scalars of a struct array as one more, fastest dimension, sharing memory. All fields must have one type.
Array as_channels(const Array&);
// The converse of as_channels for 2, 3 or 4 channels: a "ga", "rgb" or "rgba" struct array, sharing memory.
Array from_channels(const Array&);
// Rec. 601 luma, 0.299 r + 0.587 g + 0.114 b, of an array whose struct has 3 or 4 fields of one type (the fourth is
// ignored); the first field where there are 2; a scalar array is returned as it is. Same element type, owned; integers
// are rounded half to even.
Array to_grey(const Array&);
// The format with all of its numbers in this type.
Format retyped(const Format&, ElementType);
// The same memory seen as another format with the same field types in the same order (a struct of one field and a
// scalar count as the same). Throws Error(argument) when the channel count or a type differs.
Array relabel(const Array&, const Format&);
// "ga", "rgb" or "rgba" for 2, 3, 4 channels; the scalar itself for 1; else "channels" with c0, c1, ...
Format pixel_format(ElementType, int channels);
// The scalar itself for one name; the three above where the names are theirs, else "channels". A channel c0, c1, ... is
// neither a colour nor alpha: a band, or a dye of a microscope.
Format named_pixels(ElementType, const std::vector<std::string>& names);
// c0, c1, ...: what stands at this place when nothing more is known of it.
std::string band_name(int channel);
bool is_band(std::string_view name);

}  // namespace tessera::io
