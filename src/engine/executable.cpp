// From a graph to functions, and running them tile by tile.
#include "engine/executable.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "emit/c/c.hpp"
#include "engine/size_class.hpp"
#include "engine/tune/prices.hpp"
#include "lower/ways/ways.hpp"
#include "machine/machines.hpp"
#include "plan/passes/tiles.hpp"
#include "run/cpu/machine.hpp"

namespace tessera::engine {

machine::Machine cpu_device(int threads) {
  const run::cpu::Machine& m = run::cpu::machine();
  return machine::core({.name = m.name,
                        .vector_bytes = m.vector_bytes,
                        .threads = threads,
                        .l1_bytes = m.l1,
                        .l2_bytes = m.l2,
                        .byte_products = m.vector_bytes == 64 && std::ranges::count(m.features, "avx512vnni") > 0,
                        .prices = prices_in_use("cpu", m.name).prices});
}

plan::Plan cpu_plan(const ir::Graph& graph, const RunOptions& options, const std::vector<i64>& of_class) {
  plan::Options how;
  how.schedule = options.schedule;
  how.numbers = options.numbers;
  how.method = options.method;
  how.guarded = std::getenv("TESSERA_GUARDED") != nullptr;
  plan::Plan plan = plan_for_class(graph, how, cpu_device(run::cpu::thread_count(0)), of_class);
  lower::choose_core_ways(plan);
  return plan;
}

Executable::Executable(plan::Plan plan, const RunOptions& options) : plan_(std::move(plan)) {
  lower::Lowered lowered = lower::lower_cpu(plan_);
  interface_ = std::move(lowered.interface);
  emit::TextApart code = emit::print_c_apart(lowered.module);
  const bool exact = options.numbers == Numbers::exact;
  module_ = run::cpu::load({.source = (exact ? "#define TSR_EXACT\n" : "") + std::move(code.text),
                            .name = "program",
                            .compiler = options.compiler,
                            .tables = std::move(code.tables)});
  for (std::size_t g = 0; g < plan_.groups.size(); ++g) {
    std::string name = "tsr_g" + std::to_string(g);
    Functions f;
    f.shape = reinterpret_cast<decltype(f.shape)>(module_->symbol(name + "_shape"));
    f.scratch = reinterpret_cast<decltype(f.scratch)>(module_->symbol(name + "_scratch"));
    f.tile = reinterpret_cast<decltype(f.tile)>(module_->symbol(name));
    groups_.push_back(f);
  }
}

std::vector<i64> Executable::place_intermediates(Binding& run) const {
  std::vector<i64>& integers = run.integers;
  integers.resize(interface_.integers);
  std::copy(run.parameters.begin(), run.parameters.end(), integers.begin());
  std::vector<i64> bytes(interface_.memories);
  for (const lower::ArrayRef& ref : interface_.arrays) {
    if (ref.kind != lower::ArrayRef::Kind::intermediate) continue;
    const std::size_t rank = ref.extents.size();
    i64 stride = ir::nest::size_of(plan_.stages[ref.index].lane);
    for (std::size_t d = rank; d-- > 0;) {
      const i64 n = plan_.graph.evaluate(ref.extents[d], run.parameters);
      if (d + 1 < rank) integers[ref.strides + d] = stride;
      stride *= n;
      if (d + 1 == rank) stride = (stride + 63) / 64 * 64;
    }
    bytes[ref.memory] = std::max(bytes[ref.memory], stride);
  }
  return bytes;
}

Executable::Binding Executable::bind(const std::vector<i64>& parameters, const std::vector<Array>& inputs,
                                     const std::vector<Array>& outputs) const {
  Binding run;
  run.parameters = parameters;
  std::vector<void*>& pointers = run.pointers;
  const std::vector<i64> bytes = place_intermediates(run);
  for (const lower::ArrayRef& ref : interface_.arrays) {
    if (ref.kind == lower::ArrayRef::Kind::intermediate) {
      pointers.push_back(nullptr);  // placed below
      continue;
    }
    const Array& array = ref.kind == lower::ArrayRef::Kind::argument ? inputs[ref.index] : outputs[ref.index];
    pointers.push_back(array.data());
    if (!ref.is_array) continue;
    std::size_t lead = ref.extents.size() - array.shape().size();
    for (std::size_t d = 0; d + 1 < ref.extents.size(); ++d)
      run.integers[ref.strides + d] = d < lead ? 0 : array.strides()[d - lead];
  }
  // At different places of a page, as arrays are (data/array.cpp), and between theirs.
  const auto place = [](std::size_t m) { return (256 + 1536 * m) % 4096; };
  for (std::size_t m = 0; m < bytes.size(); ++m)
    run.intermediates.push_back(run::cpu::acquire_scratch(static_cast<std::size_t>(bytes[m]) + 64 + place(m)));
  for (std::size_t k = 0; k < pointers.size(); ++k)
    if (const lower::ArrayRef& ref = interface_.arrays[k]; ref.kind == lower::ArrayRef::Kind::intermediate)
      pointers[k] = run.intermediates[ref.memory].data() + place(ref.memory);
  return run;
}

i64 Executable::memory(const std::vector<i64>& parameters, const RunOptions& options) const {
  Binding run;
  run.parameters = parameters;
  const std::vector<i64> bytes = place_intermediates(run);
  const Work work = all_tiles(run, options);
  // A thread without a tile takes none.
  i64 busy = 0;
  for (const std::vector<i64>& tiles : work.tiles)
    busy = std::max(busy, std::min<i64>(run::cpu::thread_count(options.threads), tiles[tiles.size() - 2]));
  return std::accumulate(bytes.begin(), bytes.end(), busy * work.scratch);
}

Executable::Work Executable::all_tiles(const Binding& run, const RunOptions& options) const {
  Work work;
  const int threads = run::cpu::thread_count(options.threads);
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    std::vector<i64> t = tiles(g, run, threads);
    const std::size_t rank = t.size() - 2;
    const bool fixed = plan::pieces_of_group(plan_.graph, plan_.groups[g]).has_value();
    if (options.tile_rows > 0 && !fixed) t[0] = options.tile_rows;
    if (options.tile_columns > 0 && !fixed) t[rank - 1] = (options.tile_columns + 63) / 64 * 64;
    work.tiles.push_back(tiles(g, run, std::move(t)));
    work.total += work.tiles[g][rank];
    work.scratch = std::max(work.scratch, scratch(g, run, work.tiles[g]));
  }
  return work;
}

std::vector<i64> Executable::tiles(std::size_t group, const Binding& run, int threads) const {
  std::vector<i64> t(plan_.graph.stage(plan_.groups[group].anchor).domain.size() + 2);
  groups_[group].shape(run.integers.data(), threads, t.data());
  return t;
}

std::vector<i64> Executable::tiles(std::size_t group, const Binding& run, std::vector<i64> extents) const {
  std::vector<i64> t = tiles(group, run, 1);
  const std::vector<ir::SizeId>& domain = plan_.graph.stage(plan_.groups[group].anchor).domain;
  i64& count = t[domain.size()];
  count = 1;
  for (std::size_t d = 0; d < domain.size(); ++d) {
    t[d] = extents[d];
    count *= (plan_.graph.evaluate(domain[d], run.parameters) + t[d] - 1) / t[d];
  }
  return t;
}

i64 Executable::scratch(std::size_t group, const Binding& run, const std::vector<i64>& tiles) const {
  return groups_[group].scratch(run.integers.data(), tiles.data());
}

void Executable::run_tile(std::size_t group, const Binding& run, const std::vector<i64>& tiles, i64 tile,
                          std::byte* scratch) const {
  groups_[group].tile(run.pointers.data(), run.integers.data(), tiles.data(), tile,
                      reinterpret_cast<unsigned char*>(scratch));
}

void Executable::run(const std::vector<i64>& parameters, const std::vector<Array>& inputs,
                     const std::vector<Array>& outputs, const RunOptions& options) const {
  const Binding bound = bind(parameters, inputs, outputs);
  const int threads = run::cpu::thread_count(options.threads);
  const auto [work, total, most] = all_tiles(bound, options);
  run::cpu::SlotScratch slots(threads, static_cast<std::size_t>(most));
  i64 done = 0;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const i64 count = work[g][work[g].size() - 2];
    std::function<void(const Progress&)> progress;
    if (options.on_progress)
      progress = [&, all = total](const Progress& p) { options.on_progress({done + p.done, all}); };
    run::cpu::parallel_tiles(
        count, threads, [&, &of = work[g]](i64 tile, int slot) { run_tile(g, bound, of, tile, slots.get(slot)); },
        options.cancel, progress);
    done += count;
  }
}

}  // namespace tessera::engine
