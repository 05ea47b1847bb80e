// See prices.hpp.
#include "machine/prices.hpp"

namespace tessera::machine {

std::span<const PriceName> price_names() {
  static constexpr PriceName names[] = {
      {&Prices::term, "term", "ns/term", "direct sum of up to 32 rows"},
      {&Prices::loop_term, "loop_term", "ns/term", "direct sum of more rows, in loops"},
      {&Prices::row_term, "row_term", "ns/term", "direct sum along one row"},
      {&Prices::long_row_term, "long_row_term", "ns/term", "the same from 129 terms on"},
      {&Prices::volume_term, "volume_term", "ns/term", "direct sum over planes"},
      {&Prices::tap, "tap", "ns/tap", "outer product, one dimension at a time"},
      {&Prices::kept, "kept", "ns/point", "its rows that are kept between dimensions"},
      {&Prices::volume_tap, "volume_tap", "ns/tap", "outer product of a volume"},
      {&Prices::volume_kept, "volume_kept", "ns/point", "its rows that are kept between dimensions"},
      {&Prices::product_tap, "product_tap", "ns/tap", "sum of outer products, one dimension at a time"},
      {&Prices::late_product_tap, "late_product_tap", "ns/tap", "the same, taps beyond the 48th of all products"},
      {&Prices::products_kept, "products_kept", "ns/point", "its rows that are kept between dimensions"},
      {&Prices::tile_point, "tile_point", "ns/point", "Fourier transform of a tile, there and back"},
      {&Prices::large_tile_point, "large_tile_point", "ns/point", "more for every doubling beyond 144 x 144 points"},
      {&Prices::row_tile_point, "row_tile_point", "ns/point", "Fourier transform of a tile of one row"},
      {&Prices::row_tile_doubling, "row_tile_doubling", "ns/point", "more for every doubling of its points"},
      {&Prices::product, "product", "ns/point", "product with a plane of weights, spectra in L1 or L2"},
      {&Prices::far_product, "far_product", "ns/point", "more for every doubling of spectra that leave L2"},
      {&Prices::most_product, "most_product", "ns/point", "at most, spectra in L3"},
      {&Prices::memory_product, "memory_product", "ns/point", "spectra in memory"},
      {&Prices::rounding, "rounding", "ns/point", "results of a tile to integers"},
  };
  return names;
}

}  // namespace tessera::machine
