// From a graph to functions, and running them tile by tile.
#include "engine/executable.hpp"

#include <algorithm>
#include <cstdlib>

#include "emit/c.hpp"
#include "engine/prices.hpp"
#include "run/cpu/machine.hpp"
#include "run/cpu/parallel.hpp"

namespace tessera::engine {

plan::Device cpu_device(int threads) {
  const run::cpu::Machine& m = run::cpu::machine();
  plan::Device device;
  device.name = m.name;
  device.vector_bytes = m.vector_bytes;
  device.vector_registers = m.vector_bytes == 64 ? 32 : 16;
  device.threads = threads;
  device.l1_bytes = m.l1;
  device.l2_bytes = m.l2;
  device.transforms = m.vector_bytes >= 16;
  device.byte_products = m.vector_bytes == 64 && std::count(m.features.begin(), m.features.end(), "avx512vnni") > 0;
  device.prices = prices_in_use("cpu", m.name).prices;
  return device;
}

Executable::Executable(const ir::Graph& graph, const RunOptions& options) {
  plan::Options how;
  how.schedule = options.schedule;
  how.numbers = options.numbers;
  how.method = options.method;
  how.guarded = std::getenv("TESSERA_GUARDED") != nullptr;
  plan_ = plan::make_plan(graph, how, cpu_device(run::cpu::thread_count(0)));
  lower::Lowered lowered = lower::lower_cpu(plan_);
  interface_ = std::move(lowered.interface);
  source_ = emit::print_c(lowered.module);
  module_ = run::cpu::load({source_, "program", options.numbers == Numbers::exact, options.compiler});
  for (std::size_t g = 0; g < plan_.groups.size(); ++g) {
    std::string name = "tsr_g" + std::to_string(g);
    Functions f;
    f.shape = reinterpret_cast<decltype(f.shape)>(module_->symbol(name + "_shape"));
    f.scratch = reinterpret_cast<decltype(f.scratch)>(module_->symbol(name + "_scratch"));
    f.tile = reinterpret_cast<decltype(f.tile)>(module_->symbol(name));
    groups_.push_back(f);
  }
}

void Executable::run(const std::vector<i64>& parameters, const std::vector<Array>& inputs,
                     const std::vector<Array>& outputs, const RunOptions& options) const {
  const ir::Graph& graph = plan_.graph;
  std::vector<void*> pointers;
  std::vector<i64> integers(interface_.integers);
  std::copy(parameters.begin(), parameters.end(), integers.begin());
  std::vector<i64> bytes(interface_.memories);  // of the places of intermediates
  for (const lower::ArrayRef& ref : interface_.arrays) {
    if (ref.kind == lower::ArrayRef::Kind::intermediate) {
      std::size_t rank = ref.extents.size();
      i64 stride = ir::nest::size_of(plan_.stages[ref.index].lane);
      for (std::size_t d = rank; d-- > 0;) {
        i64 n = graph.evaluate(ref.extents[d], parameters);
        if (d + 1 < rank) integers[ref.strides + d] = stride;
        stride *= n;
        if (d + 1 == rank) stride = (stride + 63) / 64 * 64;
      }
      bytes[ref.memory] = std::max(bytes[ref.memory], stride);
      pointers.push_back(nullptr);  // placed below
      continue;
    }
    const Array& array = ref.kind == lower::ArrayRef::Kind::argument ? inputs[ref.index] : outputs[ref.index];
    pointers.push_back(array.data());
    if (!ref.is_array) continue;
    std::size_t lead = ref.extents.size() - array.shape().size();
    for (std::size_t d = 0; d + 1 < ref.extents.size(); ++d)
      integers[ref.strides + d] = d < lead ? 0 : array.strides()[d - lead];
  }
  std::vector<run::cpu::Scratch> intermediates;
  // At different places of a page, as arrays are (data/array.cpp), and between theirs.
  const auto place = [](std::size_t m) { return (256 + 1536 * m) % 4096; };
  for (std::size_t m = 0; m < bytes.size(); ++m)
    intermediates.push_back(run::cpu::acquire_scratch(static_cast<std::size_t>(bytes[m]) + 64 + place(m)));
  for (std::size_t k = 0; k < pointers.size(); ++k)
    if (const lower::ArrayRef& ref = interface_.arrays[k]; ref.kind == lower::ArrayRef::Kind::intermediate)
      pointers[k] = intermediates[ref.memory].data() + place(ref.memory);
  int threads = run::cpu::thread_count(options.threads);
  struct Work {
    std::vector<i64> shape;
    i64 tiles = 0;
  };
  std::vector<Work> work(groups_.size());
  i64 total = 0, scratch = 0;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    std::size_t rank = graph.stage(plan_.groups[g].anchor).domain.size();
    std::vector<i64>& t = work[g].shape;
    t.resize(rank + 2);
    groups_[g].shape(integers.data(), threads, t.data());
    if (options.tile_rows > 0) t[0] = options.tile_rows;
    if (options.tile_columns > 0) t[rank - 1] = (options.tile_columns + 63) / 64 * 64;
    t[rank] = 1;
    for (std::size_t d = 0; d < rank; ++d) {
      i64 n = graph.evaluate(graph.stage(plan_.groups[g].anchor).domain[d], parameters);
      t[rank] *= (n + t[d] - 1) / t[d];
    }
    work[g].tiles = t[rank];
    total += t[rank];
    scratch = std::max(scratch, groups_[g].scratch(integers.data(), t.data()));
  }
  run::cpu::SlotScratch slots(threads, static_cast<std::size_t>(scratch));
  i64 done = 0;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    std::function<void(const Progress&)> progress;
    if (options.on_progress) progress = [&](const Progress& p) { options.on_progress({done + p.done, total}); };
    run::cpu::parallel_tiles(
        work[g].tiles, threads,
        [&](i64 tile, int slot) {
          groups_[g].tile(pointers.data(), integers.data(), work[g].shape.data(), tile,
                          reinterpret_cast<unsigned char*>(slots.get(slot)));
        },
        options.cancel, progress);
    done += work[g].tiles;
  }
}

}  // namespace tessera::engine
