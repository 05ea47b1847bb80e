// A machine as a value: what plans are made from, and nothing else. Which machines there are stands in
// machine/machines.cpp; a test makes its own.
#pragma once

#include <string>

#include "machine/prices.hpp"
#include "tessera/array.hpp"

namespace tessera::machine {

// Bandwidth in bytes a nanosecond of one core, for streams longer than the caches.
struct Machine {
  std::string name = "cpu";
  int vector_bytes = 64;
  int vector_registers = 32;
  int threads = 1;
  i64 l1_bytes = 32 << 10;
  i64 l2_bytes = 1 << 20;
  double gigahertz = 3.0;
  double bandwidth = 24.0;
  // In vector instructions: of a load, of a row that is stored in a ring and read again by one dimension of a sum, and
  // what computing a stage anew for each of its readers may cost beyond that. Little where rings are registers.
  double load_price = 0.5, ring_price = 5, fold_price = 12;
  // One body computes neighbouring columns, as a thread does, and not neighbouring rows, as a vector core does.
  bool columns_together = false;
  // Sums of several rows before those of several columns: a circuit keeps rows of what is narrow, and a column moves
  // on.
  bool rows_first = false;
  // Of a thread whose registers hold the rows of a group, see strips.hpp; 0: rows are kept in memory.
  int strip_registers = 0;
  int most_columns = 16;       // that a thread computes of a volume
  bool shuffles = false;       // threads of a warp read each other's registers
  bool byte_products = false;  // four bytes by four signed ones in each 32-bit lane, added: see rewrite/sums/bytes.hpp
  bool minima = false;         // of two integers of 16 bits in one register, by one instruction
  // The address of a row of a tile comes from that of the row before, else from that of the first row: NVIDIA's OpenCL
  // takes 1.8 times as long for a box of bytes with the former, 2 % longer for most with the latter.
  bool row_chains = false;
  // A quotient by a number is made of products: compilers of OpenCL take it for a product with the inverse in one
  // kernel and divide in another one, so that the same point has other bits there.
  bool own_quotients = false;
  bool transforms = false;    // long weighted sums may be taken through Fourier transforms
  int row_threads = 0;        // their tiles are blocks of threads, of which so many may share a row; 0: of a core
  bool large_tiles = false;   // tiles may be larger than a block: three kernels, whose tables lie in memory
  bool joins_fields = false;  // images whose fields are computed alike may be rows of numbers: see rewrite/fields.cpp
  bool matrices = false;      // sums of bytes by matrix units: see rewrite/sums/matrix.hpp
  bool contractions = false;  // products of matrices and their like by packed panels: see rewrite/sums/contraction.hpp
  bool overlaps = false;      // kernels that do not depend on each other may run at the same time: CUDA
  Prices prices;              // of the ways to take a weighted sum
};

}  // namespace tessera::machine
