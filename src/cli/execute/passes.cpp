// See passes.hpp.
#include "cli/execute/passes.hpp"

#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
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

bool is_empty(const Region& region) {
  return element_count(data::shape_of(region)) == 0;
}

Source source_of(const engine::Passes& passes, std::size_t a, const std::vector<i64>& parameters,
                 const OpenInputs& inputs) {
  const host::Array& array = passes.arrays()[a];
  if (array.kind == host::Array::Kind::argument) return {&inputs.inputs[array.index]};
  return {nullptr, passes.shape_of(a, parameters)};
}

bool is_last(const PassRun& run, std::size_t pass) {
  return std::ranges::find(run.passes.last(), pass) != run.passes.last().end();
}

// As it runs for one lane, or for all.
PieceProgram program_of(const PassRun& run, const Pass& pass, std::optional<std::size_t> lane,
                        std::vector<Source> sources) {
  return {pass.program,           std::move(sources),
          run.parameters,         PieceLanes{run.run.inputs.lanes.inputs.size(), lane},
          run.run.settings.input, run.run.options};
}

std::function<pieces::Demand(const Region&)> demand_of(const PieceProgram& program) {
  return [&](const Region& box) {
    constexpr i64 ahead = 2;
    pieces::Demand d = program.demand(box, ahead);
    for (const Format& format : program.formats()) {
      const i64 bytes = element_count(data::shape_of(box)) * static_cast<i64>(format.size());
      d.memory += ahead * bytes;
      d.work += static_cast<double>(bytes);
    }
    return d;
  };
}

pieces::Chosen rows_for(const Pass& pass, const PieceProgram& program, const Region& rows, i64 memory) {
  // Of every piece of a total a number is kept: in what order they come together is the same on all ranks. A record
  // says them in text.
  constexpr i64 said = 4;
  const i64 of_totals = element_count(data::shape_of(rows)) / ir::elements_of_piece *
                        static_cast<i64>(pass.reductions.size() * sizeof(double)) * (1 + said);
  try {
    pieces::Chosen chosen = pieces::choose_rows(rows, memory - of_totals, demand_of(program));
    chosen.memory += of_totals;
    return chosen;
  } catch (const pieces::TooLittle& e) {
    throw pieces::TooLittle(e.piece, e.needed + of_totals, memory);
  }
}

// What an earlier run has left is not as it left it.
struct BeginAgain {};

// Passes over images that run one after the other, of all lanes, and the images that they make.
class Making {
 public:
  explicit Making(const PassRun& run) : record_(run.record), beside_(run.run.destinations.files.front()) {}

  // Has an earlier run done the next one?
  bool is_done() const { return record_ != nullptr && next_ < record_->done(); }
  const std::vector<double>& numbers() const { return record_->numbers(next_); }

  std::shared_ptr<io::Scratch> image(std::size_t output, const Format& format, const Shape& shape) {
    if (record_ == nullptr) return std::make_shared<io::Scratch>(beside_, format, shape);
    const std::string path = record_->path(fmt::format("{}-{}", next_, output));
    auto image = std::make_shared<io::Scratch>(io::Scratch::Kept{path}, format, shape);
    images_.push_back({image->path(), image});
    return image;
  }
  // The next one writes these images, and nothing of what was there is read again.
  void writes(const std::vector<std::shared_ptr<io::Scratch>>& images) {
    written_.clear();
    for (Named& named : images_)
      if (std::ranges::find(images, named.image.lock()) != images.end() && !named.image.expired()) {
        named.writer = next_;
        written_.push_back(name_of(named));
      }
  }
  // Before the first pass that no earlier run has done, and where there is none: throws BeginAgain where an image that
  // passes have is not as the last pass that wrote it has left it.
  void check() {
    if (record_ == nullptr || std::exchange(checked_, true)) return;
    for (const Named& named : images_)
      if (!named.image.expired() && named.writer < next_ && !record_->holds(name_of(named), named.writer))
        throw BeginAgain();
  }

  // How far the next one is, as it goes on.
  pieces::PassRecord::UnderWay under_way(const std::string& pieces) const {
    return record_ == nullptr ? pieces::PassRecord::UnderWay() : record_->under_way(pieces);
  }
  void tell_under_way(const std::string& pieces, i64 done, const std::vector<engine::PartOfTotal>& totals) {
    constexpr std::chrono::milliseconds least{200};
    constexpr int share = 20;  // of the time
    const auto now = std::chrono::steady_clock::now();
    if (record_ == nullptr || now - told_ < std::max<std::chrono::nanoseconds>(least, share * took_)) return;
    pieces::PassRecord::UnderWay state{done, {}, written_};
    for (const engine::PartOfTotal& total : totals) state.totals.push_back(total.state());
    record_->set_under_way(pieces, state);
    told_ = std::chrono::steady_clock::now();
    took_ = told_ - now;
  }
  // The next one is done, and is the next one no more.
  void end(const std::vector<double>& numbers) {
    if (record_ != nullptr && !is_done()) record_->add(numbers, written_);
    ++next_;
  }
  // Files of images that nobody has are taken away.
  void tidy() {
    std::erase_if(images_, [](const Named& named) {
      return named.image.expired() && (std::filesystem::remove(named.path), true);
    });
  }

 private:
  struct Named {
    std::string path;
    std::weak_ptr<io::Scratch> image;
    i64 writer = 0;  // the last one that wrote it, or is about to
  };
  static std::string name_of(const Named& named) { return std::filesystem::path(named.path).filename().string(); }

  pieces::PassRecord* record_;
  std::string beside_;
  i64 next_ = 0;
  bool checked_ = false;
  std::vector<Named> images_;
  std::vector<std::string> written_;  // by the next one
  std::chrono::steady_clock::time_point told_ = std::chrono::steady_clock::now();
  std::chrono::nanoseconds took_{0};
};

// Of one lane.
class Runner {
 public:
  Runner(const PassRun& run, const PassPlan& plan, Making& making, std::size_t lane)
      : run_(run),
        making_(making),
        agreement_(run.run.agreement),
        ranks_(agreement_.ranks()),
        plan_(plan),
        lane_(lane),
        arrays_(run.passes.arrays().size()) {
    for (std::size_t a = 0; a < arrays_.size(); ++a)
      arrays_[a] = source_of(run.passes, a, run.parameters, run.run.inputs);
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
    for (const host::Statement& s : list) {
      std::visit([&](const auto& one) { statement(one); }, s);
      making_.tidy();
    }
  }

  // Memory is taken where a pass writes to an array that has none.
  void statement(const host::Acquire&) {}
  void statement(const host::RunTransform&) {}  // programs with some have no passes
  void statement(const host::Release& s) { arrays_[s.array] = {nullptr, arrays_[s.array].shape}; }
  void statement(const host::Bind& s) { arrays_[s.array] = arrays_[s.to]; }

  void statement(const host::Shift& s) { host::shift(s, turn_, arrays_); }

  void statement(const host::Repeat& s) {
    i64 count = 0;
    for (bool more = true; more; ++count) {
      turn_ = count;
      statements(s.body);
      more = *arrays_[s.test].numbers.front().as<std::uint8_t>() != 0 && count + 1 < s.most;
    }
    turn_ = 0;
    if (!run_.run.settings.quiet) tell("loop over {}: {} of {} iterations at most\n", s.loop, count, s.most);
  }

  void statement(const host::RunPart& s) {
    const Pass& pass = run_.passes.passes()[s.part];
    std::vector<Source> sources;
    for (const std::size_t a : pass.inputs) sources.push_back(arrays_[a]);
    const PieceProgram program = program_of(run_, pass, lane_, std::move(sources));
    const Shape shape = program.result();
    const bool by_all = is_one(shape);  // by every rank
    const auto own = [&](int rank) { return by_all ? data::all_of(shape) : rows_of(shape, rank, ranks_.size()); };
    Exchange exchange = exchange_of(ranks_, program, program.sources(), [&](int rank) {
      return is_empty(own(rank)) ? std::vector<Region>(pass.inputs.size()) : program.reads(own(rank));
    });
    const i64 row = element_count(shape) / shape[0];
    const Region rows = own(ranks_.rank());
    if (!by_all && making_.is_done()) {
      make_images(pass, program);
      const std::vector<double> numbers = making_.numbers();
      for (std::size_t k = 0; k < pass.reductions.size(); ++k) keep(pass, program, k, numbers.at(k));
      return making_.end(numbers);
    }
    std::vector<engine::PartOfTotal> totals;
    for (const ir::Reduction& r : pass.reductions)
      totals.emplace_back(r.op, program.formats()[r.output].scalar, rows.begin[0] * row, rows.end[0] * row);
    if (by_all) {
      agreement_.part();
      exchange.finish();
      agreement_.meet();
      pieces::Buffers buffers;
      const Arrays results = program.compute(rows, program.read(rows, buffers), {}).front();
      for (std::size_t o = 0; o < results.size(); ++o)
        if (pass.outputs[o]) arrays_[*pass.outputs[o]].numbers = {results[o]};
      take(pass, totals, results);
    } else {
      go(*plan_.passes[s.part], pass, program, totals, exchange);
    }
    std::vector<double> numbers;
    for (std::size_t k = 0; k < totals.size(); ++k) {
      const ir::Reduction& r = pass.reductions[k];
      std::vector<ranks::Bytes> parts = {totals[k].bytes()};
      if (!by_all) parts = agreement_.all_gather(std::move(parts.front()));
      numbers.push_back(engine::PartOfTotal::value(r.op, program.formats()[r.output].scalar, parts));
      keep(pass, program, k, numbers.back());
    }
    if (!by_all) making_.end(numbers);
  }

  static void take(const Pass& pass, std::vector<engine::PartOfTotal>& totals, const Arrays& results) {
    for (std::size_t k = 0; k < totals.size(); ++k) totals[k].add(results[pass.reductions[k].output]);
  }

  // The number of a reduction, in the type of the stage that it is.
  void keep(const Pass& pass, const PieceProgram& program, std::size_t reduction, double total) {
    const ir::Reduction& r = pass.reductions[reduction];
    const ElementType image = program.formats()[r.output].scalar;
    const host::Array& array = run_.passes.arrays()[r.place];
    const ElementType type = array.format.scalar;
    const double value[] = {total};
    const double number = ir::evaluate(ir::Op::convert, type, ir::whole_type(r.op, image), value);
    const Array one(array.format, Shape(array.extents.size(), 1));
    store_element(type, one.as<std::byte>(), number);
    arrays_[r.place].numbers = {one};
  }

  // Does the piece read nothing that other ranks have made?
  bool is_inside(const Region& box, const PieceProgram& program) const {
    const std::vector<Region> reads = program.reads(box);
    for (std::size_t i = 0; i < reads.size(); ++i) {
      if (program.sources()[i].images.empty() || is_empty(reads[i])) continue;
      const Region made = rows_of(program.sources()[i].images.front()->shape(), ranks_.rank(), ranks_.size());
      if (reads[i].begin[0] < made.begin[0] || reads[i].end[0] > made.end[0]) return false;
    }
    return true;
  }

  void make_images(const Pass& pass, const PieceProgram& program) {
    std::vector<std::shared_ptr<io::Scratch>> made;
    for (std::size_t o = 0; o < pass.outputs.size(); ++o) {
      if (!pass.outputs[o]) continue;
      std::vector<std::shared_ptr<io::Scratch>>& images = arrays_[*pass.outputs[o]].images;
      if (images.empty()) images = {making_.image(o, program.formats()[o], program.result())};
      made.push_back(images.front());
    }
    making_.writes(made);
  }

  // Pieces that an earlier run has done of the next pass, and what its totals have come to.
  i64 go_on(const std::string& pieces, std::vector<engine::PartOfTotal>& totals) {
    const pieces::PassRecord::UnderWay state = making_.under_way(pieces);
    std::vector<engine::PartOfTotal> restored = totals;
    if (state.totals.size() != totals.size()) return 0;
    for (std::size_t k = 0; k < totals.size(); ++k)
      if (!restored[k].restore(state.totals[k])) return 0;
    totals = std::move(restored);
    return state.pieces;
  }

  void go(const PlannedPass& planned, const Pass& pass, const PieceProgram& program,
          std::vector<engine::PartOfTotal>& totals, Exchange& exchange) {
    const auto& [grid, memory] = planned.pieces;
    const std::string in_pieces = to_string(grid.piece);
    const i64 first = go_on(in_pieces, totals);
    make_images(pass, program);
    making_.check();
    keep_chunks(program.sources(), run_.room.memory - memory, memory);
    // What lies inside comes first, while rows are on their way. (Totals take pieces in their order.)
    const bool apart = totals.empty() && ranks_.size() > 1;
    std::vector<i64> inside, at_edges;
    for (i64 k = first, count = grid.piece.empty() ? 0 : grid.count(); k < count; ++k)
      (apart && is_inside(grid.box(k), program) ? inside : at_edges).push_back(k);
    pieces::Buffers buffers;
    std::optional<base::ProgressBar> bar;
    const RunSettings& settings = run_.run.settings;
    if (!settings.quiet && !settings.of_several && !grid.piece.empty()) bar.emplace(planned.name, grid.count());
    agreement_.part();
    pieces::Shares shares(agreement_, [](const std::vector<i64>&) {});
    i64 before = first, written = first;
    const auto all_of = [&](const std::vector<i64>& list) {
      pieces::convey(list,
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
                            making_.tell_under_way(in_pieces, ++written, totals);
                          },
                      .done =
                          [&](i64 done) {
                            shares.computed(before + done);
                            exchange.go_on();
                            if (bar) bar->update(before + done);
                          }},
                     &run_.run.interrupt.flag());
      before += static_cast<i64>(list.size());
    };
    exchange.go_on();
    all_of(inside);
    exchange.finish();
    all_of(at_edges);
    shares.end({});
    agreement_.meet();
  }

  const PassRun& run_;
  Making& making_;
  ranks::Agreement& agreement_;
  ranks::Ranks& ranks_;
  const PassPlan& plan_;
  std::size_t lane_;
  std::vector<Source> arrays_;
  i64 turn_ = 0;
};

// Passes over images that come before the last ones: `visit` gets the number, the pass, its program for the first lane,
// and this rank's rows, of which there may be none.
template <class Visit>
void over_images(const PassRun& run, const Visit& visit) {
  const ranks::Ranks& ranks = run.run.agreement.ranks();
  for (std::size_t index = 0; index < run.passes.passes().size(); ++index) {
    if (is_last(run, index)) continue;
    const Pass& pass = run.passes.passes()[index];
    const PieceProgram program = program_of(run, pass, 0, sources_of(run.passes, pass, run.parameters, run.run.inputs));
    if (!is_one(program.result())) visit(index, pass, program, rows_of(program.result(), ranks.rank(), ranks.size()));
  }
}

std::vector<std::vector<Source>> run_lanes(const PassRun& run, const PassPlan& plan) {
  Making making(run);
  auto all = Runner(run, plan, making, 0).run();
  for (std::size_t lane = 1; lane < run.run.inputs.lanes.inputs.size(); ++lane) {
    auto of_lane = Runner(run, plan, making, lane).run();
    for (std::size_t pass = 0; pass < all.size(); ++pass) {
      for (std::size_t i = 0; i < all[pass].size(); ++i) {
        std::ranges::move(of_lane[pass][i].numbers, std::back_inserter(all[pass][i].numbers));
        std::ranges::move(of_lane[pass][i].images, std::back_inserter(all[pass][i].images));
      }
    }
  }
  making.check();
  return all;
}

}  // namespace

PassPlan plan_passes(const PassRun& run) {
  const ranks::Ranks& ranks = run.run.agreement.ranks();
  PassPlan plan;
  plan.passes.resize(run.passes.passes().size());
  std::size_t all = run.passes.last().size();
  over_images(run, [&](std::size_t index, const Pass& pass, const PieceProgram& program, const Region& rows) {
    ++all;
    PlannedPass& planned = plan.passes[index].emplace();
    if (is_empty(rows)) return;
    planned.pieces = rows_for(pass, program, rows, run.room.memory);
    planned.kept = keep_chunks(program.sources(), run.room.memory - planned.pieces.memory, planned.pieces.memory);
  });
  std::size_t count = 0;
  for (std::optional<PlannedPass>& planned : plan.passes) {
    if (!planned) continue;
    planned->name = fmt::format("{}: pass {} of {}", run.run.label, ++count, all);
    if (planned->pieces.grid.piece.empty()) continue;
    const auto& [grid, memory] = planned->pieces;
    plan.said += fmt::format("{}: {} piece{} of {}{}, at most {} of memory{}\n", planned->name, grid.count(),
                             grid.count() == 1 ? "" : "s", to_string(grid.piece),
                             ranks.size() > 1 ? fmt::format(" on each of {} ranks", ranks.size()) : "",
                             base::format_bytes(static_cast<double>(at_most(run.room.held + memory + planned->kept))),
                             ranks.size() > 1 ? " each" : "");
  }
  return plan;
}

i64 resident_memory() {
  std::ifstream file("/proc/self/statm");
  i64 all = 0, resident = 0;
  file >> all >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

i64 at_most(i64 bytes) {
  std::ifstream file("/proc/self/status");
  i64 kilobytes = 0;
  for (std::string word; file >> word;)
    if (word == "VmHWM:") {
      file >> kilobytes;
      break;
    }
  return std::max(bytes, kilobytes << 10);
}

Room room_of(i64 memory, ranks::Agreement& agreement) {
  // What the process takes beside pieces: now, and once it runs: stacks, the pool of threads, code. In steps, so that
  // two runs of the same work say the same.
  constexpr i64 step = i64{32} << 20, later = i64{16} << 20, of_thread = i64{256} << 10;
  run::cpu::release_scratch();
  ::malloc_trim(0);
  constexpr i64 differs = i64{4} << 20;  // from run to run
  const i64 resident = resident_memory(), beside = later + of_thread * run::cpu::thread_count(0);
  const auto in_steps = [&](i64 bytes) { return (bytes + step - 1) / step * step + beside; };
  const i64 held = in_steps(resident);
  return {agreement.least(memory - held), held, in_steps(resident + differs)};
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

PassReads reads_of_passes(const PassRun& run) {
  const int ranks = run.run.agreement.ranks().size();
  const auto points = [](const std::vector<Region>& regions) {
    double n = 0;
    for (const Region& r : regions) n += r.begin.empty() ? 0 : static_cast<double>(element_count(data::shape_of(r)));
    return n;
  };
  PassReads worst;
  for (std::size_t index = 0; index < run.passes.passes().size(); ++index) {
    const Pass& pass = run.passes.passes()[index];
    const PieceProgram program =
        program_of(run, pass, {}, sources_of(run.passes, pass, run.parameters, run.run.inputs));
    const Shape shape = program.result();
    if (is_one(shape)) continue;
    const Region whole = data::all_of(shape);
    // Of the last rank, which has as many rows as any; results are cut by all dimensions.
    const Region rows = rows_of(shape, ranks - 1, ranks);
    pieces::Grid grid;
    try {
      grid = is_last(run, index)
                 ? pieces::choose_grid(whole, Shape(shape.size(), 1), run.room.memory, demand_of(program), ranks).grid
                 : rows_for(pass, program, rows, run.room.memory).grid;
    } catch (const pieces::TooLittle& e) {
      worst.lacking = std::max(worst.lacking, e.needed - run.room.memory);
      continue;
    }
    const Region box = grid.box(grid.count() / 2);
    const double of_whole = points(program.reads(whole));
    if (of_whole > 0)
      worst.times = std::max(worst.times, points(program.reads(box)) / (points({box}) / points({whole}) * of_whole));
  }
  return worst;
}

pieces::TooLittle least_of_passes(const PassRun& run) {
  pieces::TooLittle most({}, 0, 0);
  over_images(run, [&](std::size_t, const Pass& pass, const PieceProgram& program, const Region& rows) {
    if (is_empty(rows)) return;
    try {
      rows_for(pass, program, rows, 0);
    } catch (const pieces::TooLittle& e) {
      if (e.needed > most.needed) most = e;
    }
  });
  return most;
}

std::vector<std::vector<Source>> run_passes(const PassRun& run, const PassPlan& plan) {
  const bool quiet = run.run.settings.quiet;
  if (!quiet) tell("{}", plan.said);
  if (run.record != nullptr && run.record->done() > 0 && !quiet)
    tell("{}: passes that are done already: {}\n", run.run.label, run.record->done());
  try {
    return run_lanes(run, plan);
  } catch (const BeginAgain&) {
    if (!quiet) tell("{}: an image of theirs has changed, so that all passes begin again\n", run.run.label);
    run.record->begin_again();
    return run_lanes(run, plan);
  } catch (const Error&) {
    if (run.record != nullptr)
      tell("note: passes that are done: {}; --resume goes on with the others\n", run.record->done());
    throw;
  }
}

}  // namespace tessera::cli
