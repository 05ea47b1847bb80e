// What NRRD and MetaImage have in common: a header of text, then plain numbers, raw or packed by zlib, behind it or in
// files of their own; a place of the points in space; samples of a point that stand together.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files/files.hpp"
#include "io/codec.hpp"
#include "io/formats/numbers.hpp"
#include "io/regions/file.hpp"

namespace tessera::io {

// What travels with a volume from a file of one of these formats to another of the same.
struct VolumeHeader {
  struct Axis {
    std::vector<double> direction;  // in space, from one point to the next over `spacing`; empty: it has none
    double spacing = 1;
    std::vector<std::pair<std::string, std::string>> fields;  // others of one axis
  };
  std::string_view format;
  std::vector<Axis> axes;                                   // of the array, fastest first
  std::vector<double> origin;                               // of the first point; empty: not said
  std::vector<std::pair<std::string, std::string>> fields;  // others, as the file has them
};

// Of a part that begins at this point, counted as in arrays.
void move_volume_origin(VolumeHeader&, std::span<const i64> begin);

// What a header says.
struct VolumeFile {
  FileLayout layout;  // without chunk; samples of a point are fields where they stand together
  FileNumber number;
  bool packed = false;             // by gzip or zlib
  std::vector<std::string> files;  // of the numbers, beside the header; empty: they follow it
  i64 skip_lines = 0, skip_bytes = 0;
  bool at_end = false;         // the numbers are the last bytes of the file
  std::size_t header_end = 0;  // bytes of the header
};

constexpr std::size_t longest_volume_header = std::size_t{1} << 20;
constexpr int most_volume_channels = 4096;

// The next line without its end; false at the end of the file. Throws Error(io) where headers are not that long.
class HeaderLines {
 public:
  HeaderLines(const Source& source, InOrder& in, std::string_view format) : source_(source), in_(in), format_(format) {}
  bool next(std::string& line);
  std::size_t read() const { return read_; }

 private:
  const Source& source_;
  InOrder& in_;
  std::string_view format_;
  std::size_t read_ = 0;
};

// What is asked of a format.
struct VolumeFormat {
  std::string_view name;
  VolumeFile (*parse)(const Source&, InOrder&);
  // The header of a file of these elements, whose numbers are packed or not, in a file of this name or behind it.
  // `packed_bytes`: how many there are then.
  std::string (*print)(const FileLayout&, bool packed, const std::string& data_name, i64 packed_bytes);
  std::string (*letters)(const ImageHeader&, const Format&, int rank);
  std::string_view detached_suffix, raw_suffix, packed_suffix;  // of files with a header alone, and of their numbers
  bool gzip = true;                                             // else zlib's own frame
};

Array decode_volume(const Source&, const VolumeFormat&);
WriteReport write_volume(base::AtomicFile&, const Array&, const WriteOptions&, const VolumeFormat&);
std::unique_ptr<FileReader> open_volume(const std::string& path, const ReadOptions&, const VolumeFormat&,
                                        bool (*matches)(const Source&));
std::unique_ptr<FileWriter> create_volume(const std::string& path, const FileLayout&, const RegionWriteOptions&,
                                          const VolumeFormat&);

// Both, each by name.
std::unique_ptr<FileReader> open_nrrd(const std::string& path, const ReadOptions&);
std::unique_ptr<FileWriter> create_nrrd(const std::string& path, const FileLayout&, const RegionWriteOptions&);
std::string nrrd_letters(const ImageHeader&, const Format&, int rank);
std::unique_ptr<FileReader> open_metaimage(const std::string& path, const ReadOptions&);
std::unique_ptr<FileWriter> create_metaimage(const std::string& path, const FileLayout&, const RegionWriteOptions&);
std::string metaimage_letters(const ImageHeader&, const Format&, int rank);

// ---- for parsers and printers ----------------------------------------------------------------------------------

// Letters of the dimensions of points, fastest first: x, y, z, t, others q.
std::string volume_letters(std::size_t points, bool has_time);
// For each dimension of a file with these letters, slowest first: which one of the array it is, counted from the
// fastest; -1 for channels.
std::vector<int> places_in_array(const std::string& letters);
// Samples that stand together, of this letter, as an element.
Format volume_element(ElementType, char letter, i64 samples);
// Files of a pattern such as "slice%03d.raw", with one number in it; none where it is no such pattern.
std::vector<std::string> files_of_pattern(const std::string& pattern, i64 first, i64 last, i64 step);
std::string numbers_in_words(std::span<const double>, std::string_view separator);

}  // namespace tessera::io
