// One weighted sum that is computed through Fourier transforms of tiles: what is known of it before a line of the
// group's function is written, and where it keeps what it works on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fft/cpu/tile.hpp"
#include "lower/vocabulary.hpp"
#include "lower/ways/stream/stream_group.hpp"
#include "rewrite/sums/tiles/tiles.hpp"

namespace tessera::lower {

struct TileTransform {
  ir::StageId stage = 0;
  rewrite::Convolution sum;
  std::optional<ir::StageId> prologue;  // computed while tiles are loaded
  bool kept = false;                    // results stay in a ring, for stages that are computed on them
  fft::TilePlan tile;
  std::string function;
  std::size_t spectrum = 0, weights = 0;  // tables of the module
  i64 high = 0, wide = 0;                 // results of a tile
  i64 rows = 0;                           // that it reads
  i64 planes = 1, along = 1, pairs = 1;   // of weights, so many of a volume; of tiles that march together
  i64 weights_of_plane = 0;
  bool signal = false;   // rows are parts of it (rewrite/sums/tiles/tiles.hpp)
  i64 reach = 0;         // results of a pair along a row of the image
  bool rounded = false;  // results are integers
  bool bytes = false;    // so are points, of 8 bits

  // From the first results of a tile to those of its row i, along a row of the image.
  ir::nest::Value ahead(const ir::nest::Value& i) const { return signal ? i * (2 * wide) : ir::nest::integer(0); }

  bool stacked() const { return planes > 1; }                 // sums over planes: stack.cpp
  i64 lines() const { return planes / along * (along + 1); }  // spectra of a pair that are kept
  i64 spectrum_bytes() const { return fft::tile_spectrum_size(tile) * size(); }

  ir::nest::Lane lane() const { return tile.vector.lane; }
  i64 size() const { return ir::nest::size_of(tile.vector.lane); }
  i64 row_bytes() const { return tile.columns * size(); }
  // Are results looked at for what rounding spreads in them? (Those of integers are proven to be near enough.)
  bool ranged() const { return !rounded; }
  // Doubles, in which quotients by next to nothing still mean something.
  bool sharp() const { return lane() == ir::nest::Lane::f64; }

  // As the functions of tiles take them.
  ir::nest::Value numbers_at(const ir::nest::Value& memory) const { return convert({lane(), 1, true}, memory); }
  ir::nest::Value table(std::size_t t) const {
    return ir::nest::variable("tsr_table_" + std::to_string(t), {lane(), 1, true});
  }
};

// With the scratch memory of a tile's function.
struct PlacedTransform : TileTransform {
  using Value = ir::nest::Value;

  explicit PlacedTransform(const TileTransform& t) : TileTransform(t) {}

  // Pointers to rows of the image, or 0 beyond a constant border; those that the function takes; rows that were copied;
  // a row as it lies in memory; results that are not stored where they belong at once.
  Value bases, from, to, arguments, numbers, loaded, raw, results;
  Value spectra, stack;  // of the pairs of tiles of several planes, and pointers to those that are added
  // Where the numbers of a pair lie far apart (ranges.cpp): the largest ones of all windows, two lines of them,
  // what is left out and the mean squares of the rest; results of a level and pointers to them. Of volumes the spectra
  // of a level, and the energy of every spectrum that is kept.
  Value most, two_lines, limits, squares, level, level_to, level_spectra, energies;

  // Of another one that runs before it.
  void take_memory(const PlacedTransform& other) {
    from = other.from, to = other.to, arguments = other.arguments, numbers = other.numbers;
    loaded = other.loaded, results = other.results, stack = other.stack;
    most = other.most, two_lines = other.two_lines, limits = other.limits, squares = other.squares;
    level = other.level, level_to = other.level_to, level_spectra = other.level_spectra;
  }
};

// What the sum reads, where that is computed while tiles are loaded.
std::optional<ir::StageId> prologue_of(const StreamGroup&, ir::StageId tiled);
// Gives the images that prologues read the borders of their sums.
void take_borders(const StreamGroup&);
// Of all sums of the group that have tiles. The module gets the functions of tiles and the tables that they take.
std::vector<TileTransform> prepare_transforms(const StreamGroup&, ir::nest::Module&);

// Extents of a tile of the group: rows of tiles; pairs where those are too few for the threads. Of volumes pairs and
// the planes that they march through.
void shape_of_transform(const TileTransform&, std::vector<ir::nest::Value>& extents,
                        const std::vector<ir::nest::Value>& n, const ir::nest::Value& threads, Builder&);

}  // namespace tessera::lower
