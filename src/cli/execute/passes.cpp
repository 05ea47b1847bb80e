// See passes.hpp.
#include "cli/execute/passes.hpp"

#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <variant>

#include "base/progress.hpp"
#include "base/text.hpp"
#include "cli/execute/exchange.hpp"
#include "cli/tell.hpp"
#include "data/element.hpp"
#include "data/regions.hpp"
#include "engine/passes/total.hpp"
#include "ir/build.hpp"
#include "ir/reductions.hpp"
#include "pieces/shares.hpp"
#include "run/cpu/parallel.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {

namespace {

namespace host = ir::host;
using engine::Pass;
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

pieces::Chosen rows_for(const Pass& pass, const PieceProgram& program, const Region& share, i64 memory) {
  // Of every piece of a total a number is kept: in what order they come together is the same on all ranks.
  const i64 of_totals = element_count(data::shape_of(share)) / ir::elements_of_piece *
                        static_cast<i64>(pass.reductions.size() * sizeof(double));
  return pieces::choose_rows(share, memory - of_totals, [&](const Region& box) {
    constexpr i64 ahead = 2;
    pieces::Demand d = program.demand(box, ahead);
    for (const Format& format : program.formats()) {
      const i64 bytes = element_count(data::shape_of(box)) * static_cast<i64>(format.size());
      d.memory += ahead * bytes;
      d.work += static_cast<double>(bytes);
    }
    return d;
  });
}

std::string name_of(const PassRun& run, std::size_t index) {
  return fmt::format("{}: pass {} of {}", run.label, index + 1, run.passes.passes().size());
}

// In which pieces passes run: those of one lane as those of another.
struct Pieces {
  std::string said = {};
  std::vector<pieces::Chosen> of_pass;  // of last ones, and of those that make numbers of numbers, none
};

Pieces pieces_for(const PassRun& run) {
  const std::size_t lanes = run.inputs.lanes.inputs.size();
  ranks::Ranks& ranks = run.agreement.ranks();
  Pieces all;
  for (std::size_t index = 0; index < run.passes.passes().size(); ++index) {
    all.of_pass.emplace_back();
    if (std::ranges::find(run.passes.last(), index) != run.passes.last().end()) continue;
    const Pass& pass = run.passes.passes()[index];
    const PieceProgram program(pass.program, sources_of(run.passes, pass, run.parameters, run.inputs), run.parameters,
                               {lanes, lanes > 1 ? std::optional<std::size_t>(0) : std::nullopt}, run.settings,
                               run.options);
    const Shape shape = program.result();
    const Region share = share_of(shape, ranks.rank(), ranks.size());
    if (is_one(shape) || element_count(data::shape_of(share)) == 0) continue;
    const pieces::Chosen& chosen = all.of_pass.back() = rows_for(pass, program, share, run.room.memory);
    const i64 kept = keep_chunks(program.sources(), run.room.memory - chosen.memory, chosen.memory);
    all.said += fmt::format("{}: {} piece{} of {}{}, at most {} of memory{}\n", name_of(run, index),
                            chosen.grid.count(), chosen.grid.count() == 1 ? "" : "s", to_string(chosen.grid.piece),
                            ranks.size() > 1 ? fmt::format(" on each of {} ranks", ranks.size()) : "",
                            base::format_bytes(static_cast<double>(run.room.held + chosen.memory + kept)),
                            ranks.size() > 1 ? " each" : "");
  }
  return all;
}

// Of one lane.
class Runner {
 public:
  Runner(const PassRun& run, const Pieces& pieces, PieceLanes lanes)
      : run_(run), ranks_(run.agreement.ranks()), pieces_(pieces), lanes_(lanes), arrays_(run.passes.arrays().size()) {
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
    exchange_images(pass, program);
    std::vector<engine::PartOfTotal> totals;
    const Region share = share_of(shape, ranks_.rank(), ranks_.size());
    const i64 row = element_count(shape) / shape[0];
    for (const ir::Reduction& r : pass.reductions) {
      const bool once = is_one(shape);
      totals.emplace_back(r.op, program.formats()[r.output].scalar, once ? 0 : share.begin[0] * row,
                          once ? 1 : share.end[0] * row);
    }
    if (is_one(shape)) {  // by every rank
      pieces::Buffers buffers;
      const Region all = all_of(shape);
      const Arrays results = program.compute(all, program.read(all, buffers), {}).front();
      for (std::size_t o = 0; o < results.size(); ++o)
        if (pass.outputs[o]) arrays_[*pass.outputs[o]].numbers = {results[o]};
      take(pass, totals, results);
    } else {
      go(s.part, pass, program, shape, totals);
    }
    for (std::size_t k = 0; k < totals.size(); ++k) keep(pass.reductions[k], totals[k], program, is_one(shape));
  }

  // Out of step: who fails while others wait for its rows, ends all.
  void exchange_images(const Pass& pass, const PieceProgram& program) {
    if (ranks_.size() == 1) return;
    const Shape shape = program.result();
    std::vector<std::vector<Region>> reads;  // of every rank
    for (int r = 0; r < ranks_.size(); ++r) {
      const Region share = is_one(shape) ? all_of(shape) : share_of(shape, r, ranks_.size());
      reads.push_back(element_count(data::shape_of(share)) == 0 ? std::vector<Region>(pass.inputs.size())
                                                                : program.reads(share));
    }
    run_.agreement.part();
    for (std::size_t i = 0; i < pass.inputs.size(); ++i) {
      std::vector<Region> of_input;
      for (const auto& each : reads) of_input.push_back(each[i]);
      for (const auto& image : program.sources()[i].images)
        exchange(ranks_, *image, pass.program.inputs()[i].format, of_input);
    }
    run_.agreement.meet();
  }

  static void take(const Pass& pass, std::vector<engine::PartOfTotal>& totals, const Arrays& results) {
    for (std::size_t k = 0; k < totals.size(); ++k) totals[k].add(results[pass.reductions[k].output]);
  }

  // The number in the type of the stage that it is.
  void keep(const ir::Reduction& r, const engine::PartOfTotal& total, const PieceProgram& program, bool alone) {
    const ElementType of = program.formats()[r.output].scalar;
    std::vector<std::vector<std::byte>> parts = {total.bytes()};
    if (!alone) parts = ranks_.all_gather(parts.front());
    const host::Array& array = run_.passes.arrays()[r.place];
    const ElementType type = array.format.scalar;
    const double value[] = {engine::PartOfTotal::value(r.op, of, parts)};
    const double number = ir::evaluate(ir::Op::convert, type, ir::whole_type(r.op, of), value);
    const Array one(array.format, Shape(array.extents.size(), 1));
    store_element(type, one.as<std::byte>(), number);
    arrays_[r.place].numbers = {one};
  }

  void go(std::size_t index, const Pass& pass, const PieceProgram& program, const Shape& shape,
          std::vector<engine::PartOfTotal>& totals) {
    for (std::size_t o = 0; o < pass.outputs.size(); ++o) {
      if (!pass.outputs[o]) continue;
      std::vector<std::shared_ptr<io::Scratch>>& images = arrays_[*pass.outputs[o]].images;
      if (images.empty()) images = {std::make_shared<io::Scratch>(run_.beside, program.formats()[o], shape)};
    }
    const pieces::Chosen& chosen = pieces_.of_pass[index];
    const pieces::Grid& grid = chosen.grid;
    keep_chunks(program.sources(), run_.room.memory - chosen.memory, chosen.memory);
    std::vector<i64> all(static_cast<std::size_t>(grid.piece.empty() ? 0 : grid.count()));
    std::iota(all.begin(), all.end(), i64{0});
    pieces::Buffers buffers;
    std::optional<base::ProgressBar> bar;
    if (!run_.quiet && !all.empty()) bar.emplace(name_of(run_, index), static_cast<i64>(all.size()));
    run_.agreement.step();
    run_.agreement.part();
    pieces::Shares shares(run_.agreement, [](const std::vector<i64>&) {});
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
                          shares.computed(done);
                          if (bar) bar->update(done);
                        }},
                   run_.cancel);
    shares.end({});
    run_.agreement.meet();
    run_.agreement.step();
  }

  const PassRun& run_;
  ranks::Ranks& ranks_;
  const Pieces& pieces_;
  PieceLanes lanes_;
  std::vector<Source> arrays_;
  i64 turn_ = 0;
};

}  // namespace

i64 resident_memory() {
  std::ifstream file("/proc/self/statm");
  i64 all = 0, resident = 0;
  file >> all >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

Room room_of(i64 memory, ranks::Ranks& ranks) {
  // What the process takes beside pieces: now, and once it runs: stacks, the pool of threads, code. In steps, so that
  // two runs of the same work say the same.
  constexpr i64 step = i64{32} << 20, later = i64{16} << 20, of_thread = i64{256} << 10;
  run::cpu::release_scratch();
  ::malloc_trim(0);
  const i64 held = (resident_memory() + step - 1) / step * step + later + of_thread * run::cpu::thread_count(0);
  return {ranks.least(memory - held), held};
}

i64 keep_chunks(const std::vector<Source>& sources, i64 left, i64 most_of_pieces) {
  constexpr i64 least_kept = i64{64} << 20;
  const i64 most = std::min(std::max<i64>(left, 0) / 2, std::max(most_of_pieces, least_kept));
  i64 kept = 0;
  for (const Source& s : sources)
    if (s.input != nullptr && s.input->reader != nullptr)
      kept += s.input->reader->keep_chunks(most / static_cast<i64>(sources.size()));
  return kept;
}

std::vector<Source> sources_of(const engine::Passes& passes, const Pass& pass, const std::vector<i64>& parameters,
                               const OpenInputs& inputs) {
  std::vector<Source> sources;
  for (const std::size_t a : pass.inputs) sources.push_back(source_of(passes, a, parameters, inputs));
  return sources;
}

double reads_of_passes(const PassRun& run) {
  const std::size_t lanes = run.inputs.lanes.inputs.size();
  double worst = 1;
  for (const Pass& pass : run.passes.passes()) {
    const PieceProgram program(pass.program, sources_of(run.passes, pass, run.parameters, run.inputs), run.parameters,
                               {lanes}, run.settings, run.options);
    const Shape shape = program.result();
    if (is_one(shape)) continue;
    pieces::Grid grid;
    try {
      grid = rows_for(pass, program, all_of(shape), run.room.memory).grid;
    } catch (const Error& e) {
      if (e.error_class() != ErrorClass::argument) throw;
      return std::numeric_limits<double>::infinity();
    }
    const auto points = [](const std::vector<Region>& regions) {
      double n = 0;
      for (const Region& r : regions) n += r.begin.empty() ? 0 : static_cast<double>(element_count(data::shape_of(r)));
      return n;
    };
    const Region box = grid.box(grid.count() / 2);
    const double share = points({box}) / points({all_of(shape)});
    const double whole = points(program.reads(all_of(shape)));
    if (whole > 0) worst = std::max(worst, points(program.reads(box)) / (share * whole));
  }
  return worst;
}

std::string forecast_of_passes(const PassRun& run) {
  return pieces_for(run).said;
}

std::vector<std::vector<Source>> run_passes(const PassRun& run) {
  const std::size_t lanes = run.inputs.lanes.inputs.size();
  const Pieces pieces = pieces_for(run);
  if (!run.quiet) tell("{}", pieces.said);
  auto all = Runner(run, pieces, {lanes, lanes > 1 ? std::optional<std::size_t>(0) : std::nullopt}).run();
  for (std::size_t c = 1; c < lanes; ++c) {
    auto of_lane = Runner(run, pieces, {lanes, c}).run();
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
