// OME-Zarr: what a group says of the arrays in it, which are one image at several resolutions. Versions 0.4 (.zattrs)
// and 0.5 (zarr.json); the axes of earlier ones are read, too. https://ngff.openmicroscopy.org/0.5/
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/regions/file.hpp"

namespace tessera::io::zarr {

struct Multiscale {
  struct Axis {
    std::string name, type, unit;  // "x", "space", "micrometer"; empty where it is not said
  };
  struct Level {
    std::string path;           // of its array, in the folder of the group
    std::vector<double> scale;  // from point to point, in units of the axes; empty where it is not said
  };
  std::vector<Axis> axes;
  std::vector<Level> levels;  // the finest first, one at least
};

// The first image of a group whose attributes these are: of 0.4 all of .zattrs, of 0.5 zarr.json. Nothing where it has
// none.
std::optional<Multiscale> parse_multiscale(std::string_view text, bool v3, const std::string& path);
// Letters and steps of an array of this level. Throws Error(io) where it has another number of dimensions.
void describe(const Multiscale&, const Multiscale::Level&, FileLayout&, const std::string& path);

// The letters of such names; empty where they are no dimensions that are known.
std::string letters_of_names(const std::vector<std::string>& names);

// How an array lies in a pyramid: which dimensions were halved how often.
struct LevelLayout {
  Shape shape;
  std::vector<int> halvings;
};
// The levels, the whole one first. A dimension of extent 1 is not halved, nor z where its step is far from those of y
// and x.
std::vector<LevelLayout> pyramid_of(const FileLayout&, int levels);

// zarr.json of a group of 0.5 whose arrays "0", "1", ... are these. Throws Error(argument) where OME-Zarr has no such
// dimensions.
std::string print_group(const FileLayout&, const std::vector<LevelLayout>&, const std::string& path);

}  // namespace tessera::io::zarr
