// What a file says of an array beside its elements: how far apart the points are, the rest of a NIfTI header, the value
// that stands for points that are not known, and what it says of the picture (io/metadata.hpp).
//
// A header belongs to the extents that it was read with. It holds for a result where the three fastest extents, the
// ones that lie in space, are the same; a missing one counts as 1. What it says of time holds where the fourth is the
// same too. A result of other extents has no header: whether its points stand elsewhere or further apart, only its
// program knows. What its dimensions are called stays, where it has as many.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/array.hpp"

namespace tessera::io {

struct NiftiHeader;   // io/formats/nifti.hpp
struct VolumeHeader;  // io/formats/volume.hpp
struct Metadata;      // io/metadata.hpp

// From one point to the next along one dimension.
struct Step {
  enum class Unit { unknown, millimetre, second };
  double size = 0;  // in that unit, above 0; 0 where it is not known
  Unit unit = Unit::unknown;
  bool operator==(const Step&) const = default;
};

struct ImageHeader {
  Shape extents;                             // of the array that it was read with
  std::vector<Step> steps;                   // one per dimension, slowest first; empty when the file says nothing
  std::shared_ptr<const NiftiHeader> nifti;  // null when the file was no NIfTI
  std::shared_ptr<const VolumeHeader> volume = {};  // of NRRD and MetaImage; null when the file was none of them
  std::optional<double> nodata = {};                // stands for points that are not known (GeoTIFF's); may be NaN
  std::shared_ptr<const Metadata> metadata = {};    // null when the file says nothing of its picture
  // A letter for each dimension of the array: t, z, y, x, or q for one of another meaning. Empty when nothing is said.
  std::string axes = {};
  // The dimensions of the file in its order, where that says more: c channels that stand apart, s samples of a point
  // ("tczyx", "zyxs"). Results are written in this order again.
  std::string layout = {};
  bool numpy = false;             // the layout is that of a .npy file, which has channels as a dimension
  int samples = 0;                // of the channels, those that stand together in the file: the extent of s
  bool associated_alpha = false;  // colours are multiplied by their alpha already

  bool empty() const { return steps.empty() && !volume && !nodata && !metadata && axes.empty() && !associated_alpha; }
};

// The header as it holds for a result of this shape; nothing when it does not.
std::optional<ImageHeader> header_for(const ImageHeader&, const Shape&);
// The same; of a result of other extents what its dimensions are called, where it has as many.
ImageHeader header_or_axes(const ImageHeader&, const Shape&);
// The header of a part of the array that runs from `begin` to `end`: its orientation moves along.
ImageHeader header_of_region(const ImageHeader&, std::span<const i64> begin, std::span<const i64> end);

}  // namespace tessera::io
