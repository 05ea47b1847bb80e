// See passes.hpp.
#include "cli/execute/passes.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <utility>
#include <variant>

#include "base/progress.hpp"
#include "base/text.hpp"
#include "cli/tell.hpp"
#include "data/element.hpp"
#include "data/regions.hpp"
#include "engine/passes/total.hpp"
#include "ir/build.hpp"
#include "ir/reductions.hpp"
#include "run/cpu/parallel.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {

namespace {

namespace host = ir::host;
using engine::Pass;
using engine::Total;
using pieces::Arrays;

bool is_one(const Shape& shape) {
  return std::ranges::all_of(shape, [](i64 n) { return n == 1; });
}

Region all_of(const Shape& shape) {
  return {std::vector<i64>(shape.size()), shape};
}

Source source_of(const engine::Passes& passes, std::size_t a, const std::vector<i64>& parameters,
                 const OpenInputs& inputs) {
  const host::Array& array = passes.arrays()[a];
  if (array.kind == host::Array::Kind::argument) return {&inputs.inputs[array.index]};
  return {nullptr, passes.shape_of(a, parameters)};
}

// Of one lane.
class Runner {
 public:
  Runner(const PassRun& run, PieceLanes lanes) : run_(run), lanes_(lanes), arrays_(run.passes.arrays().size()) {
    for (std::size_t a = 0; a < arrays_.size(); ++a) arrays_[a] = source_of(run.passes, a, run.parameters, run.inputs);
  }

  std::vector<std::vector<Source>> run() {
    statements(run_.passes.body());
    std::vector<std::vector<Source>> of_last;
    for (const std::size_t pass : run_.passes.last()) {
      of_last.emplace_back();
      for (const std::size_t a : run_.passes.passes()[pass].inputs) of_last.back().push_back(arrays_[a]);
    }
    return of_last;
  }

 private:
  void statements(const std::vector<host::Statement>& list) {
    for (const host::Statement& s : list) std::visit([&](const auto& one) { statement(one); }, s);
  }

  // Memory is taken where a pass writes to an array that has none.
  void statement(const host::Acquire&) {}
  void statement(const host::RunTransform&) {}  // programs with some have no passes
  void statement(const host::Release& s) { arrays_[s.array] = {nullptr, arrays_[s.array].shape}; }
  void statement(const host::Bind& s) { arrays_[s.array] = arrays_[s.to]; }

  void statement(const host::Shift& s) {
    const std::size_t versions = s.names.size() - 1;
    Source next = arrays_[s.names[versions]];
    if (turn_ < static_cast<i64>(versions))
      if (const auto& instead = s.instead[versions - 1 - static_cast<std::size_t>(turn_)]) next = arrays_[*instead];
    for (std::size_t k = versions; k > 0; --k) arrays_[s.names[k]] = arrays_[s.names[k - 1]];
    arrays_[s.names[0]] = std::move(next);
  }

  void statement(const host::Repeat& s) {
    i64 count = 0;
    for (bool more = true; more; ++count) {
      turn_ = count;
      statements(s.body);
      more = *arrays_[s.test].numbers.front().as<std::uint8_t>() != 0 && count + 1 < s.most;
    }
    turn_ = 0;
    if (!run_.quiet) tell("loop over {}: {} of {} iterations at most\n", s.loop, count, s.most);
  }

  void statement(const host::RunPart& s) {
    const Pass& pass = run_.passes.passes()[s.part];
    std::vector<Source> sources;
    for (const std::size_t a : pass.inputs) sources.push_back(arrays_[a]);
    const PieceProgram program(pass.program, std::move(sources), run_.parameters, lanes_, run_.settings, run_.options);
    const Shape shape = program.result();
    std::vector<Total> totals;
    for (const ir::Reduction& r : pass.reductions) totals.emplace_back(r.op, program.formats()[r.output].scalar);
    if (is_one(shape)) {
      pieces::Buffers buffers;
      const Region all = all_of(shape);
      const Arrays results = program.compute(all, program.read(all, buffers), {}).front();
      for (std::size_t o = 0; o < results.size(); ++o)
        if (pass.outputs[o]) arrays_[*pass.outputs[o]].numbers = {results[o]};
      take(pass, totals, results);
    } else {
      go(s.part, pass, program, shape, totals);
    }
    for (std::size_t k = 0; k < totals.size(); ++k) keep(pass.reductions[k], totals[k], program);
  }

  static void take(const Pass& pass, std::vector<Total>& totals, const Arrays& results) {
    for (std::size_t k = 0; k < totals.size(); ++k) totals[k].add(results[pass.reductions[k].output]);
  }

  // The number in the type of the stage that it is.
  void keep(const ir::Reduction& r, const Total& total, const PieceProgram& program) {
    const host::Array& array = run_.passes.arrays()[r.place];
    const ElementType type = array.format.scalar;
    const double value[] = {total.value()};
    const double number =
        ir::evaluate(ir::Op::convert, type, ir::whole_type(r.op, program.formats()[r.output].scalar), value);
    const Array one(array.format, Shape(array.extents.size(), 1));
    store_element(type, one.as<std::byte>(), number);
    arrays_[r.place].numbers = {one};
  }

  void go(std::size_t index, const Pass& pass, const PieceProgram& program, const Shape& shape,
          std::vector<Total>& totals) {
    for (std::size_t o = 0; o < pass.outputs.size(); ++o) {
      if (!pass.outputs[o]) continue;
      std::vector<std::shared_ptr<io::Scratch>>& images = arrays_[*pass.outputs[o]].images;
      if (images.empty()) images = {std::make_shared<io::Scratch>(run_.beside, program.formats()[o], shape)};
    }
    const pieces::Grid grid = grid_for(index, program, shape);
    std::vector<i64> all(static_cast<std::size_t>(grid.count()));
    std::iota(all.begin(), all.end(), i64{0});
    pieces::Buffers buffers;
    std::optional<base::ProgressBar> bar;
    if (!run_.quiet) bar.emplace(name_of(index), grid.count());
    pieces::convey(all,
                   {.read = [&](i64 k) { return program.read(grid.box(k), buffers); },
                    .compute =
                        [&](i64 k, const Arrays& in) {
                          const Region box = grid.box(k);
                          Arrays results;
                          for (const Format& format : program.formats())
                            results.push_back(buffers.take(format, data::shape_of(box)));
                          return program.compute(box, in, results).front();
                        },
                    .write =
                        [&](i64 k, const Arrays& out) {
                          for (std::size_t o = 0; o < pass.outputs.size(); ++o)
                            if (pass.outputs[o]) arrays_[*pass.outputs[o]].images.front()->write(grid.box(k), out[o]);
                          take(pass, totals, out);
                        },
                    .done =
                        [&](i64 done) {
                          if (bar) bar->update(done);
                        }},
                   run_.cancel);
  }

  std::string name_of(std::size_t index) const {
    return fmt::format("{}: pass {} of {}", run_.label, index + 1, run_.passes.passes().size());
  }

  // Chosen once: turns of a loop are alike.
  const pieces::Grid& grid_for(std::size_t index, const PieceProgram& program, const Shape& shape) {
    std::optional<pieces::Grid>& grid = grids_.try_emplace(index).first->second;
    if (grid) return *grid;
    const Room room = room_of(run_.memory);
    const pieces::Chosen chosen = pieces::choose_rows(all_of(shape), room.memory, [&](const Region& box) {
      constexpr i64 ahead = 2;
      pieces::Demand d = program.demand(box, ahead);
      for (const Format& format : program.formats()) {
        const i64 bytes = element_count(data::shape_of(box)) * static_cast<i64>(format.size());
        d.memory += ahead * bytes;
        d.work += static_cast<double>(bytes);
      }
      return d;
    });
    const i64 kept = keep_chunks(program.sources(), room.memory - chosen.memory, chosen.memory);
    if (!run_.quiet)
      tell("{}: {} piece{} of {}, at most {} of memory\n", name_of(index), chosen.grid.count(),
           chosen.grid.count() == 1 ? "" : "s", to_string(chosen.grid.piece),
           base::format_bytes(static_cast<double>(room.held + chosen.memory + kept)));
    grid = chosen.grid;
    return *grid;
  }

  const PassRun& run_;
  PieceLanes lanes_;
  std::vector<Source> arrays_;
  std::map<std::size_t, std::optional<pieces::Grid>> grids_;  // by pass
  i64 turn_ = 0;
};

}  // namespace

i64 resident_memory() {
  std::ifstream file("/proc/self/statm");
  i64 all = 0, resident = 0;
  file >> all >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

Room room_of(i64 memory) {
  // What the process takes beside pieces once it runs: stacks, the pool of threads, code.
  constexpr i64 uncounted = i64{48} << 20;
  run::cpu::release_scratch();
  const i64 held = resident_memory() + uncounted;
  return {memory - held, held};
}

i64 keep_chunks(const std::vector<Source>& sources, i64 left, i64 most_of_pieces) {
  constexpr i64 least_kept = i64{64} << 20;
  const i64 kept = std::min(std::max<i64>(left, 0) / 2, std::max(most_of_pieces, least_kept));
  for (const Source& s : sources)
    if (s.input != nullptr && s.input->reader != nullptr)
      s.input->reader->keep_chunks(kept / static_cast<i64>(sources.size()));
  return kept;
}

std::vector<Source> sources_of(const engine::Passes& passes, const Pass& pass, const std::vector<i64>& parameters,
                               const OpenInputs& inputs) {
  std::vector<Source> sources;
  for (const std::size_t a : pass.inputs) sources.push_back(source_of(passes, a, parameters, inputs));
  return sources;
}

std::vector<std::vector<Source>> run_passes(const PassRun& run) {
  const std::size_t lanes = run.inputs.lanes.inputs.size();
  auto all = Runner(run, {lanes, lanes > 1 ? std::optional<std::size_t>(0) : std::nullopt}).run();
  for (std::size_t c = 1; c < lanes; ++c) {
    auto of_lane = Runner(run, {lanes, c}).run();
    for (std::size_t pass = 0; pass < all.size(); ++pass) {
      for (std::size_t i = 0; i < all[pass].size(); ++i) {
        std::ranges::move(of_lane[pass][i].numbers, std::back_inserter(all[pass][i].numbers));
        std::ranges::move(of_lane[pass][i].images, std::back_inserter(all[pass][i].images));
      }
    }
  }
  return all;
}

}  // namespace tessera::cli
