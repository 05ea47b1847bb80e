// Pictures turned upright, and what a file says of them moved along; see metadata.hpp.
//
// Cameras store what the sensor saw and a number from 1 to 8 for how it was held. Bit by bit: 5 to 8 exchange rows and
// columns; seen from the upright picture, a row or a column of the stored one runs forwards or backwards.
//
// A GeoTIFF maps the columns and rows of the stored picture to coordinates, whatever its orientation: a turned or cut
// picture has the map of the stored one behind the map back to it.
#include <algorithm>
#include <cmath>

#include "io/metadata.hpp"

namespace tessera::io {
namespace {

struct Turn {
  bool exchanged, rows_back, columns_back;  // of the stored picture
};

Turn turn_of(int orientation) {
  constexpr Turn turns[] = {{false, false, false}, {false, false, true}, {false, true, true}, {false, true, false},
                            {true, false, false},  {true, true, false},  {true, true, true},  {true, false, true}};
  return turns[orientation - 1];
}

// Stored column = a[0] * column + a[1] * row + a[2], stored row = a[3] * column + a[4] * row + a[5].
using Affine = std::array<double, 6>;

constexpr std::uint16_t raster_type = 1025, points_are_centres = 2;

// Whether whole numbers stand for centres of pixels; else for their corners.
bool counts_centres(const GeoTags& geo) {
  for (std::size_t i = 4; i + 3 < geo.keys.size(); i += 4)
    if (geo.keys[i] == raster_type && geo.keys[i + 1] == 0) return geo.keys[i + 3] == points_are_centres;
  return false;
}

// Forwards, so that tie points keep their coordinates and get other places. Linear parts are permutations with signs:
// the converse is the transpose.
void move_tiepoints(std::vector<double>& points, const Affine& back) {
  for (std::size_t i = 0; i + 5 < points.size(); i += 6) {
    const double column = points[i] - back[2], row = points[i + 1] - back[5];
    points[i] = back[0] * column + back[3] * row;
    points[i + 1] = back[1] * column + back[4] * row;
  }
}

// The 4x4 matrix of one tie point and the sizes of a pixel.
std::vector<double> matrix_of(const GeoTags& geo) {
  const auto& s = geo.scale;
  const auto& t = geo.tiepoints;
  const double sz = s.size() > 2 ? s[2] : 0;
  return {s[0], 0, 0, t[3] - t[0] * s[0], 0, -s[1], 0, t[4] + t[1] * s[1], 0, 0, sz, t[5] - t[2] * sz, 0, 0, 0, 1};
}

void compose(std::vector<double>& m, const Affine& back) {
  for (std::size_t row = 0; row < 3; ++row) {
    const double column_part = m[4 * row], row_part = m[4 * row + 1];
    m[4 * row] = column_part * back[0] + row_part * back[3];
    m[4 * row + 1] = column_part * back[1] + row_part * back[4];
    m[4 * row + 3] += column_part * back[2] + row_part * back[5];
  }
}

void move_geo(GeoTags& geo, const Affine& back) {
  const bool straight = back[0] == 1 && back[4] == 1;
  if (!straight && geo.matrix.size() != 16 && geo.scale.size() >= 2 && geo.tiepoints.size() >= 6) {
    geo.matrix = matrix_of(geo);
    geo.scale.clear();
    geo.tiepoints.clear();
  }
  if (geo.matrix.size() == 16) compose(geo.matrix, back);
  if (straight && geo.scale.size() >= 2 && geo.tiepoints.size() == 6) {  // other coordinates at the same place
    geo.tiepoints[3] += back[2] * geo.scale[0];
    geo.tiepoints[4] -= back[5] * geo.scale[1];
  } else {
    move_tiepoints(geo.tiepoints, back);
  }
}

}  // namespace

Array turned(const Array& array, int orientation) {
  if (orientation <= 1 || orientation > 8 || array.rank() < 2) return array;
  const Turn turn = turn_of(orientation);
  Shape shape = array.shape();
  std::vector<i64> strides = array.strides();
  const std::size_t y = shape.size() - 2, x = shape.size() - 1;
  auto* first = static_cast<std::byte*>(array.data());
  if (turn.rows_back) {
    first += strides[y] * (shape[y] - 1);
    strides[y] = -strides[y];
  }
  if (turn.columns_back) {
    first += strides[x] * (shape[x] - 1);
    strides[x] = -strides[x];
  }
  if (turn.exchanged) {
    std::swap(shape[y], shape[x]);
    std::swap(strides[y], strides[x]);
  }
  return Array::share(array.owner(), first, array.format(), shape, strides).clone();
}

void turn_header(ImageHeader& header, int orientation) {
  if (orientation <= 1 || orientation > 8 || header.extents.size() < 2) return;
  const Turn turn = turn_of(orientation);
  const std::size_t y = header.extents.size() - 2, x = y + 1;
  const auto height = static_cast<double>(header.extents[y]), width = static_cast<double>(header.extents[x]);
  if (turn.exchanged) {
    std::swap(header.extents[y], header.extents[x]);
    if (header.steps.size() > x) std::swap(header.steps[y], header.steps[x]);
  }
  if (!header.metadata) return;
  auto m = std::make_shared<Metadata>(*header.metadata);
  if (turn.exchanged && m->resolution) std::swap(m->resolution->x, m->resolution->y);
  if (turn.exchanged && m->storage) std::swap(m->storage->tile_height, m->storage->tile_width);
  const double end = counts_centres(m->geo) ? 1 : 0;
  const double fx = turn.columns_back ? -1 : 1, fy = turn.rows_back ? -1 : 1;
  const double tx = turn.columns_back ? width - end : 0, ty = turn.rows_back ? height - end : 0;
  move_geo(m->geo, turn.exchanged ? Affine{0, fx, tx, fy, 0, ty} : Affine{fx, 0, tx, 0, fy, ty});
  header.metadata = std::move(m);
}

Metadata moved(const Metadata& given, i64 row, i64 column) {
  Metadata m = given;
  move_geo(m.geo, {1, 0, static_cast<double>(column), 0, 1, static_cast<double>(row)});
  return m;
}

}  // namespace tessera::io
