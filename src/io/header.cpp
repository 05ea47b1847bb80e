// Which header holds for which result; see header.hpp.
#include "io/header.hpp"

#include "io/formats/nifti.hpp"
#include "io/formats/volume.hpp"
#include "io/metadata.hpp"

namespace tessera::io {
namespace {

// Counted from the fastest dimension.
template <class T>
T from_fastest(const std::vector<T>& values, std::size_t d, T missing) {
  return d < values.size() ? values[values.size() - 1 - d] : missing;
}

// The axes of a result of this rank: slow ones of extent 1 may have gone. What a result of a higher rank has in front
// is not known.
void fit_axes(ImageHeader& header, std::size_t rank) {
  if (header.axes.empty() || header.axes.size() == rank) return;
  if (header.axes.size() < rank) {
    header.axes.clear();
    header.layout.clear();
    return;
  }
  for (; header.axes.size() > rank; header.axes.erase(0, 1)) {
    if (const std::size_t at = header.layout.find(header.axes[0]); at != std::string::npos) header.layout.erase(at, 1);
  }
}

}  // namespace

std::optional<ImageHeader> header_for(const ImageHeader& header, const Shape& shape) {
  if (header.empty()) return std::nullopt;
  for (std::size_t d = 0; d < 3; ++d) {
    if (from_fastest<i64>(header.extents, d, 1) != from_fastest<i64>(shape, d, 1)) return std::nullopt;
  }
  ImageHeader result = header;
  fit_axes(result, shape.size());
  result.extents = shape;
  result.steps.clear();
  const bool same_time = from_fastest<i64>(header.extents, 3, 1) == from_fastest<i64>(shape, 3, 1);
  for (std::size_t d = shape.size(); d-- > 0 && !header.steps.empty();) {
    result.steps.push_back(d < 3 || same_time ? from_fastest(header.steps, d, Step{}) : Step{});
  }
  if (header.nifti && !same_time) {
    auto changed = std::make_shared<NiftiHeader>(*header.nifti);
    constexpr std::int32_t space = 7;  // the bits of the unit of time are above these
    changed->pixdim[4] = 1;
    changed->xyzt_units &= space;
    changed->toffset = 0;
    result.nifti = std::move(changed);
  }
  return result;
}

ImageHeader header_or_axes(const ImageHeader& header, const Shape& shape) {
  if (std::optional<ImageHeader> whole = header_for(header, shape)) return std::move(*whole);
  ImageHeader axes;
  axes.extents = shape;
  axes.associated_alpha = header.associated_alpha;
  if (header.axes.size() != shape.size()) return axes;
  axes.axes = header.axes;
  axes.layout = header.layout;
  axes.samples = header.samples;
  axes.numpy = header.numpy;
  return axes;
}

ImageHeader header_of_region(const ImageHeader& header, std::span<const i64> begin, std::span<const i64> end) {
  ImageHeader result = header;
  result.extents.clear();
  for (std::size_t d = 0; d < begin.size(); ++d) result.extents.push_back(end[d] - begin[d]);
  const std::vector<i64> origin(begin.begin(), begin.end());
  if (header.metadata) {
    result.metadata = std::make_shared<const Metadata>(
        moved(*header.metadata, from_fastest<i64>(origin, 1, 0), from_fastest<i64>(origin, 0, 0)));
  }
  if (header.volume) {
    auto part = std::make_shared<VolumeHeader>(*header.volume);
    move_volume_origin(*part, begin);
    result.volume = std::move(part);
  }
  if (!header.nifti) return result;
  auto moved = std::make_shared<NiftiHeader>(*header.nifti);
  std::array<double, 3> voxels{};
  for (std::size_t d = 0; d < 3; ++d) voxels[d] = static_cast<double>(from_fastest<i64>(origin, d, 0));
  move_nifti_origin(*moved, voxels);
  moved->toffset += static_cast<double>(from_fastest<i64>(origin, 3, 0)) * moved->pixdim[4];
  if (result.extents != header.extents) {  // which slices were taken when is told of the whole
    moved->slice_start = moved->slice_end = 0;
    moved->slice_code = 0;
    moved->slice_duration = 0;
  }
  result.nifti = std::move(moved);
  return result;
}

}  // namespace tessera::io
