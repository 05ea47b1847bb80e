// What a group takes: a function of the facts (facts.hpp) and of the layout of its stages, and of nothing else.
//
// One roofline for all kinds of groups: the bytes that come from memory or go there, over a core's share of the
// bandwidth, against the cycles of operations, loads and rings, with what halos compute twice and what tiles leave
// idle. Groups of images and of threads are priced in prices.cpp, those of volumes in volumes.cpp, those with tiles of
// Fourier transforms in tile_groups.cpp.
#pragma once

#include <vector>

#include "plan/passes/layout.hpp"

namespace tessera::plan {

struct Price {
  double nanoseconds = 0, memory = 0, compute = 0;  // times
  double bytes = 0, operations = 0, ring_bytes_per_column = 0;
  i64 halo_rows = 0, halo_columns = 0;
  std::vector<i64> ring_halo;  // see Group
};

Price price(const GraphFacts&, const Set&, const Layout&);

// ---- what all prices are made from ---------------------------------------------------------------------------------

// Calibrated on the benchmark's jobs: multiply-adds are one instruction and several start in a cycle, as do loads from
// L1. A vector of a ring is stored and read again.
constexpr double cycles_per_operation = 0.5, cycles_per_load = 0.5, cycles_of_ring = 3;
// A ring as high as its tile (--schedule tiled) is priced as one of so many rows.
constexpr double rows_of_whole_ring = 64;

// From the time that computing takes and the bytes of the price, the time of the whole.
void roofline(Price&, double compute, const machine::Machine&);

// How a domain is cut along its first dimension.
struct Band {
  double rows = 0;  // of a tile
  double idle = 1;  // how much longer it takes for the cores that have none
};
Band band_of(const GraphFacts&, ir::StageId anchor, double halo_rows);

// Arrays that a set reads, each once.
std::vector<ir::StageId> arrays_of(const GraphFacts&, const Set&);

}  // namespace tessera::plan
