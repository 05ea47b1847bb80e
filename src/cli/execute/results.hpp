// Where the results of a run go: names and formats of files, their headers; channels put together again.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/execute/inputs.hpp"
#include "cli/execute/values.hpp"
#include "cli/options/options.hpp"
#include "io/regions/regions.hpp"
#include "tessera/program.hpp"

namespace tessera::cli {

struct OutputOptions {
  std::vector<std::string> files;   // FILE or NAME=FILE
  std::string onto, at;             // paste into this image, here ("top,left")
  ValueOptions values;              // how results become integers
  std::string compression;          // "NAME" or "NAME:LEVEL"; "" for the habit of each format
  std::optional<int> quality;       // of JPEG, 1 to 100
  int levels = 1;                   // of an OME-Zarr
  std::string chunk, shard;         // of Zarr, "256x256"; "" for the format's habit
  std::string format;               // suffix of the format of what has no suffix: pipes, "-" (standard output)
  std::vector<SourceFile> sources;  // that are not written over

  // Throws Error(argument) for what cannot be used.
  void check() const;
};

// What a file of this name gets of them, by regions: --levels is of OME-Zarr, --chunk and --shard of Zarr.
io::RegionWriteOptions by_regions(const std::string& path, const io::WriteOptions&, const OutputOptions&);

// Where each output of the program goes; "" for one that is not kept.
struct Destinations {
  std::vector<std::string> files;         // as they were given
  std::vector<std::string> paths;         // with the suffix of their format
  std::vector<std::string> marked;        // of an output with a file for each page: its name, pages.hpp; else ""
  std::vector<io::WriteOptions> written;  // as they are given, without headers
  std::optional<Array> onto;
  io::ImageHeader onto_header;
};

// Checks everything that can be wrong before a long run: names, suffixes, folders, the image below.
Destinations check_outputs(const Program&, const OutputOptions&);

// What is known once the pages are: where there is no dimension of pages, the only one is a file like any other. Checks
// the names of all of them. Gives all files that will be written.
std::vector<std::string> number_pages(const Program&, Destinations&, const Shape& leading, const OutputOptions&);

// The header of a result of this shape: of the first input whose extents it has, else of the first: what holds for any
// extents does.
io::ImageHeader header_of(const Shape&, const Lanes&, const Destinations&);
// Numbers that a format of integers has no type for get that of the file that they were computed from.
Target target_of(const std::string& path, const Format&, const Lanes&, const io::ImageHeader&);

// One array per output out of one per lane and output.
std::vector<Array> join_lanes(const Program&, const Lanes&, const std::vector<std::vector<Array>>& results);

// "edges", "output 2"; in the middle of a sentence "output 'edges'".
std::string label(const Parameter&, std::size_t index);
std::string described(const Parameter&, std::size_t index);
// The name by which the format of a file is chosen: --format is for what says none.
std::string with_format(const std::string& path, const OutputOptions&);

}  // namespace tessera::cli
