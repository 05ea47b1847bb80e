// The facts of every machine; see machines.hpp.
#include "machine/machines.hpp"

#include "base/process/fork.hpp"

namespace tessera::machine {

namespace {

constexpr int threads_of_emitted = 8;  // that plans of emitted files assume
constexpr int wide_vector_bytes = 64;  // AVX-512, which has twice as many registers
constexpr double gigahertz_of_class = 1.98, warps_a_cycle = 4;
constexpr double bandwidth_of_multiprocessor = 32;  // bytes a nanosecond, as far as kernels reach it

}  // namespace

Machine core(const CoreFacts& facts) {
  Machine m;
  m.name = facts.name;
  m.vector_bytes = facts.vector_bytes;
  m.vector_registers = facts.vector_bytes == wide_vector_bytes ? 32 : 16;
  m.threads = facts.threads;
  m.l1_bytes = facts.l1_bytes;
  m.l2_bytes = facts.l2_bytes;
  m.joins_fields = true;
  m.transforms = facts.vector_bytes >= 16;
  m.byte_products = facts.byte_products;
  m.contractions = facts.vector_bytes >= 16;
  m.prices = facts.prices;
  return m;
}

const std::vector<CoreClass>& core_classes() {
  static constinit base::Once<std::vector<CoreClass>> all;
  return all.get([] {
    return std::vector<CoreClass>{
        {.vector_bytes = 16, .features = {}},
        {.vector_bytes = 32, .features = {"avx2"}},
        {.vector_bytes = 64, .features = {"avx2", "avx512f", "avx512bw", "avx512dq", "avx512vl"}},
        {.vector_bytes = 64,
         .features = {"avx2", "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512vnni"},
         .byte_products = true},
    };
  });
}

Machine core_of_class(const CoreClass& c) {
  return core(
      {.name = "cpu", .vector_bytes = c.vector_bytes, .threads = threads_of_emitted, .byte_products = c.byte_products});
}

Abilities abilities_of_target(std::string_view target) {
  const bool cuda = target == "cuda";
  return {.shuffles = cuda, .minima = cuda, .chains = cuda, .overlaps = cuda, .matrices = cuda};
}

Machine device(const Abilities& abilities) {
  Machine m;
  m.name = "device";
  m.vector_bytes = 128;
  m.vector_registers = 255;
  m.gigahertz = warps_a_cycle * gigahertz_of_class;
  m.bandwidth = bandwidth_of_multiprocessor;
  m.l1_bytes = 228 << 10;
  m.l2_bytes = 1 << 20;
  m.load_price = 0.1, m.ring_price = 1, m.fold_price = 2;
  m.columns_together = true;
  m.strip_registers = 200;
  m.shuffles = abilities.shuffles, m.minima = abilities.minima;
  // Tiles of a block have their tables in the text, which OpenCL keeps in constant memory: two spectra fill it, and a
  // warp gets one number at a time. Large tiles have buffers.
  m.transforms = abilities.chains, m.row_threads = abilities.chains ? 2 : 0;
  m.large_tiles = abilities.buffers;
  m.own_quotients = !abilities.chains;
  m.row_chains = abilities.chains, m.overlaps = abilities.overlaps;
  m.matrices = abilities.matrices;
  if (abilities.narrow) m.most_columns = narrow_columns;
  m.prices = abilities.prices;
  return m;
}

}  // namespace tessera::machine
