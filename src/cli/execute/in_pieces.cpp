// See in_pieces.hpp.
#include "cli/execute/in_pieces.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <numeric>
#include <optional>

#include "base/memory.hpp"
#include "base/progress.hpp"
#include "base/text.hpp"
#include "cli/execute/window.hpp"
#include "cli/tell.hpp"
#include "data/regions.hpp"
#include "engine/program_impl.hpp"
#include "engine/windows/region_plan.hpp"
#include "io/regions/regions.hpp"
#include "ir/graph.hpp"
#include "pieces/conveyor.hpp"
#include "pieces/grid.hpp"
#include "pieces/journal.hpp"
#include "pieces/shares.hpp"
#include "run/cpu/parallel.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {
namespace {

using data::shape_of;
using pieces::Arrays;
using pieces::Grid;

[[noreturn]] void fail(std::string message, std::string help = "") {
  throw Error(ErrorClass::argument, std::move(message), {}, std::move(help));
}

i64 points_of(const Region& region) {
  return element_count(shape_of(region));
}

// Of this process, now.
i64 resident_bytes() {
  std::ifstream file("/proc/self/statm");
  i64 all = 0, resident = 0;
  file >> all >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

// Why results of this kind take all of an image, or all of a result, at once; "" where pieces do.
std::string not_in_pieces(const PieceRun& run) {
  const RunSettings& s = run.settings;
  if (!s.verify.empty()) return "--verify compares whole results";
  if (s.time) return "--time measures runs in memory";
  if (!s.output.onto.empty()) return "--onto takes a whole image";
  if (s.output.values.stretch) return "--stretch looks at a whole result";
  if (run.adjust.arrays) return "a full extent continues a whole image";
  if (!run.inputs.lanes.leading.empty()) return "--pages takes a whole stack";
  // (Ranks divide what is computed, too.)
  if (!s.mpi && std::none_of(run.inputs.inputs.begin(), run.inputs.inputs.end(),
                             [](const auto& i) { return i.reader != nullptr; }))
    return "no input has a format with parts";
  for (std::size_t o = 0; o < run.destinations.files.size(); ++o) {
    if (run.destinations.files[o].empty()) return "every output needs a file: a summary takes a whole result";
    if (!io::is_written_by_regions(run.destinations.files[o]))
      return fmt::format("{} has a format without parts", base::quoted(run.destinations.files[o]));
  }
  return "";
}

class Work {
 public:
  explicit Work(const PieceRun& run)
      : run_(run),
        agreement_(run.agreement),
        ranks_(agreement_.ranks()),
        first_(ranks_.rank() == 0),
        lanes_(run.inputs.lanes.inputs.size()),
        noted_(run.inputs.inputs.size()) {
    for (const OpenInput& input : run.inputs.inputs) shapes_.push_back(input.number ? Shape{} : input.array.shape());
    results_ = run.program.output_shapes_of(shapes_);
    whole_ = {std::vector<i64>(results_.front().size()), results_.front()};
    if (!run.settings.window.empty()) whole_ = parse_region(run.settings.window.text, "--window", results_.front());
    for (const Parameter& output : run.program.outputs()) formats_.push_back(joined(output.format));
  }

  // Bytes of all of it at once.
  i64 in_memory() const { return demand(whole_, 1).memory; }
  // Of inputs and outputs alone.
  i64 of_arrays() const {
    i64 bytes = 0;
    for (std::size_t i = 0; i < shapes_.size(); ++i)
      if (!run_.inputs.inputs[i].number)
        bytes += element_count(shapes_[i]) * static_cast<i64>(run_.inputs.inputs[i].array.format().size() +
                                                              lanes_ * run_.program.inputs()[i].format.size());
    for (std::size_t o = 0; o < formats_.size(); ++o)
      bytes += element_count(results_[o]) * static_cast<i64>(formats_[o].size());
    return bytes;
  }
  // Why outputs have no common windows: "stage 'm' reduces a whole image"; "" where they have.
  std::string not_in_windows() const {
    for (const Locality& locality : run_.program.locality())
      if (!locality.global.empty()) return locality.global;
    for (const Shape& shape : results_)
      if (shape != results_.front())
        return fmt::format("outputs have several shapes, {} and {}", to_string(results_.front()), to_string(shape));
    return "";
  }

  void run(i64 memory) {
    agreement_.step();
    run::cpu::release_scratch();
    const i64 held = resident_bytes() + uncounted;
    const i64 left = ranks_.least(memory - held);
    // Each output is this process's while it is written; the first one's journal says what is done.
    std::vector<std::unique_ptr<pieces::Journal>> journals;
    try {
      if (first_) begin(left, journals);
      agreement_.step();
      share_plan();
      compare_work();
      if (!first_) open_writers();
      keep_within(left, held);
      agreement_.step();
    } catch (...) {
      // Nothing was written. What an earlier run left is gone on with by other options.
      if (!run_.settings.resume && first_)
        for (const auto& writer : writers_) writer->discard();
      for (const auto& each : journals) each->leave();
      throw;
    }
    agreement_.part();
    go(journals.empty() ? nullptr : journals.front().get());
    if (first_)
      for (const auto& writer : writers_) writer->commit();
    for (const auto& each : journals) each->remove();
    agreement_.meet();
    agreement_.step();
    tell_of_values();
  }

 private:
  // Rank 0 begins the files, and says what the pieces are.
  void begin(i64 memory, std::vector<std::unique_ptr<pieces::Journal>>& journals) {
    for (const std::string& file : run_.destinations.files) journals.push_back(std::make_unique<pieces::Journal>(file));
    open_writers();
    constexpr i64 pieces_a_rank = 4;  // that ranks get as many, give or take one, without waiting long for the last
    const i64 boxes = ranks_.size() > 1 ? pieces_a_rank * ranks_.size() : 1;
    pieces::Chosen chosen =
        pieces::choose_grid(whole_, common_chunk(), memory, [&](const Region& box) { return demand(box, 2); }, boxes);
    grid_ = std::move(chosen.grid);
    of_pieces_ = chosen.memory;
    // Of what was written before something may be missing.
    const bool all = std::ranges::all_of(writers_, [](const auto& writer) { return writer->resumed(); });
    pieces::Journal& journal = *journals.front();
    journal.begin(identity(true), grid_.count(), run_.settings.resume && all);
    for (i64 k = 0; k < grid_.count(); ++k)
      if (!journal.is_done(k)) left_.push_back(k);
  }

  // All have the pieces of rank 0.
  void share_plan() {
    std::vector<i64> plan = {of_pieces_};
    plan.insert(plan.end(), grid_.piece.begin(), grid_.piece.end());
    plan.insert(plan.end(), left_.begin(), left_.end());
    plan = ranks_.broadcast(std::move(plan));
    const auto piece = plan.begin() + 1, left = piece + static_cast<std::ptrdiff_t>(whole_.begin.size());
    of_pieces_ = plan.front();
    grid_ = {whole_, {piece, left}};
    left_ = {left, plan.end()};
  }

  // Machines may see other files under the same names.
  void compare_work() {
    const std::vector<std::string> all = ranks_.all_gather(base::to_hex(identity(false)));
    if (all[static_cast<std::size_t>(ranks_.rank())] != all.front())
      fail("this rank has other work than rank 0: the program, its options, or what an input holds differs",
           "run where all ranks see the same files");
  }

  void open_writers() {
    for (std::size_t o = 0; o < formats_.size(); ++o)
      writers_.push_back(
          io::create_regions(run_.destinations.files[o], formats_[o], shape_of(whole_), write_options(o)));
  }

  // `memory`: what is left of it beside what is held already.
  void keep_within(i64 memory, i64 held) {
    i64 most = of_pieces_;
    run::cpu::limit_pooled_scratch(static_cast<std::size_t>(pooled_beside(needs(grid_.box(grid_.count() / 2)).memory)));
    // Some of what is left keeps chunks that neighbours share.
    const i64 kept = std::min(std::max<i64>(memory - most, 0) / 2, std::max(most, least_kept));
    for (const OpenInput& input : run_.inputs.inputs)
      if (input.reader != nullptr) input.reader->keep_chunks(kept / static_cast<i64>(run_.inputs.inputs.size()));
    most += kept;
    if (!run_.settings.quiet)
      tell("{}: {} piece{} of {}{}, at most {} of memory{}\n", run_.label, grid_.count(), grid_.count() == 1 ? "" : "s",
           to_string(grid_.piece), ranks_.size() > 1 ? fmt::format(" on {} ranks", ranks_.size()) : "",
           base::format_bytes(static_cast<double>(held + most)), ranks_.size() > 1 ? " each" : "");
  }

  // `journal`: of rank 0.
  void go(pieces::Journal* journal) {
    const i64 all = grid_.count(), left = static_cast<i64>(left_.size());
    if (left < all && !run_.settings.quiet) tell("{}: {} of {} pieces are done already\n", run_.label, all - left, all);
    const std::vector<std::string> before = identities();
    bool changed = false;
    std::optional<base::ProgressBar> bar;
    if (first_ && !run_.settings.quiet) bar.emplace(run_.label, left);
    pieces::Shares shares(agreement_, [&](const std::vector<i64>& named) { journal->name(named); });
    shares.progress = [&] {
      if (bar) bar->update(shares.computed_by_all());
    };
    pieces::Written written(
        [&] {
          for (const auto& writer : writers_) writer->sync();
        },
        [&](const std::vector<i64>& on_disk) { shares.on_disk(on_disk); });
    try {
      pieces::convey(pieces::share_of(left_, ranks_.rank(), ranks_.size()),
                     {.read = [&](i64 k) { return read(grid_.box(k)); },
                      .compute = [&](i64 k, const Arrays& in) { return compute(grid_.box(k), in); },
                      .write =
                          [&](i64 k, const Arrays& out) {
                            write(grid_.box(k), out);
                            written.add(k);
                          },
                      .done = [&](i64 done) { shares.computed(done); }},
                     &run_.interrupt.flag());
      written.flush();
      changed = identities() != before;
      if (!changed) counts_ = shares.end(counts());
    } catch (...) {
      bar.reset();
      try {
        written.flush();
        if (!first_) shares.repeat();
      } catch (const Error&) {  // what could not be written is not named
      }
      if (first_) tell("note: {} of {} pieces are written; --resume goes on with the others\n", journal->count(), all);
      throw;
    }
    if (changed)
      throw Error(ErrorClass::io, "an input has changed while it was read", {},
                  "run again without --resume, once nobody writes it");
  }

  // Of this rank, added up over all: points for no data of each input, then values of each output that did not fit.
  std::vector<i64> counts() const {
    std::vector<i64> counts;
    for (const bool noted : noted_) counts.push_back(noted ? 1 : 0);
    for (const auto& writer : writers_) counts.push_back(writer->report().saturated);
    return counts;
  }

  // What the process takes beside pieces once it runs: stacks, the pool of threads, code.
  static constexpr i64 uncounted = i64{48} << 20;
  static constexpr i64 least_kept = i64{64} << 20;  // of chunks, where memory is left
  // Of what a run of the engine took, blocks wait for the next one, which may be of another size.
  static i64 pooled_beside(i64 taken) {
    constexpr i64 most = i64{64} << 20;
    return std::min(taken, most);
  }

  // Several lanes are one output with a field for each.
  Format joined(const Format& format) const {
    if (lanes_ == 1) return format;
    return io::named_pixels(format.scalar, run_.inputs.lanes.channels);
  }
  std::vector<Region> regions_of(const Region& box) const { return std::vector<Region>(results_.size(), box); }
  engine::RegionNeeds needs(const Region& box) const {
    return engine::needs_of(run_.program, regions_of(box), shapes_, run_.options);
  }
  std::vector<Region> reads(const Region& box) const {
    return engine::reads_of(run_.program, regions_of(box), shapes_, run_.options);
  }

  // `ahead`: pieces that are there at once on either side of the computation.
  pieces::Demand demand(const Region& box, i64 ahead) const {
    const auto [reads, memory] = needs(box);
    const i64 lanes = static_cast<i64>(lanes_);
    pieces::Demand d{memory + pooled_beside(memory), 0};
    i64 beside = 0;
    for (std::size_t i = 0; i < shapes_.size(); ++i) {
      const OpenInput& input = run_.inputs.inputs[i];
      if (input.number) continue;
      const Region& read = reads[i];
      const Parameter& p = run_.program.inputs()[i];
      const i64 n = points_of(read), raw = n * static_cast<i64>(input.array.format().size());
      const Format& stored = input.array.format();
      const bool same = !stored.is_struct() && !p.format.is_struct() && stored.scalar == p.format.scalar;
      if (input.reader != nullptr) {
        d.memory += ahead * raw;
        beside = std::max(beside, input.reader->beside(read));
      }
      if (!same) d.memory += (p.format.is_struct() ? 2 : lanes) * n * static_cast<i64>(p.format.size());
      if (input.grey) d.memory += raw;
      // Read once, and gone through with all that depends on it.
      d.work += computing * static_cast<double>(n * lanes * static_cast<i64>(p.format.size()));
    }
    for (std::size_t o = 0; o < formats_.size(); ++o) {
      const i64 bytes = points_of(box) * static_cast<i64>(formats_[o].size());
      d.memory += (ahead + (lanes_ > 1 ? 1 : 0)) * bytes;
      if (o < writers_.size()) beside = std::max(beside, writers_[o]->beside(at_origin(box)));
      d.work += static_cast<double>(bytes);
    }
    d.memory += beside;
    return d;
  }
  static constexpr double computing = 4;  // for one of a copy: what a point with a short window takes

  // A region of the file, which may begin within the result.
  Region at_origin(Region box) const {
    for (std::size_t d = 0; d < box.begin.size(); ++d) {
      box.begin[d] -= whole_.begin[d];
      box.end[d] -= whole_.begin[d];
    }
    return box;
  }

  io::RegionWriteOptions write_options(std::size_t o) const {
    io::RegionWriteOptions how{run_.destinations.written[o], run_.settings.resume,
                               levels_of(run_.destinations.files[o], run_.settings.output)};
    how.write.header = header_of(shape_of(whole_), run_.inputs.lanes, run_.destinations);
    how.writers = {ranks_.rank(), ranks_.size()};
    return how;
  }
  // Edges that are those of chunks of all outputs.
  Shape common_chunk() const {
    Shape chunk(whole_.begin.size(), 1);
    for (const auto& writer : writers_)
      for (std::size_t d = 0; d < chunk.size(); ++d)
        chunk[d] = std::min(std::lcm(chunk[d], writer->layout().chunk[d]), writer->layout().shape[d]);
    return chunk;
  }

  std::vector<std::string> identities() const {
    std::vector<std::string> all;
    for (const OpenInput& input : run_.inputs.inputs)
      all.push_back(input.reader != nullptr ? input.reader->identity() : std::string());
    return all;
  }

  // What is computed, of what; `changes`: of files, when they were changed, too.
  base::Digest identity(bool changes) const {
    base::Hasher hasher;
    const RunOptions& o = run_.options;
    hasher.text(ir::print(run_.program.impl().graph)).text(o.target).text(o.compiler);
    hasher.number(static_cast<i64>(o.numbers)).number(static_cast<i64>(o.method)).number(static_cast<i64>(o.schedule));
    for (const OpenInput& input : run_.inputs.inputs) {
      hasher.text(input.origin)
          .number(input.grey ? 1 : 0)
          .text(to_string(input.array.shape()))
          .text(to_string(input.begin));
      if (input.reader != nullptr && changes) hasher.text(input.reader->identity());
      if (input.number) hasher.text(fmt::format("{:a}", *input.number));
      if (input.reader == nullptr && !input.number) {
        const Array held = input.array.contiguous() ? input.array : input.array.clone();
        hasher.bytes({held.as<std::byte>(), static_cast<std::size_t>(held.count()) * held.format().size()});
      }
    }
    hasher.number(run_.settings.input.unit ? 1 : 0);
    for (const std::string& range : run_.settings.output.values.range) hasher.text(range);
    hasher.text(run_.settings.output.compression).number(run_.settings.output.levels);
    for (const std::string& file : run_.destinations.files) hasher.text(file);
    hasher.text(to_string(whole_.begin)).text(to_string(whole_.end)).text(to_string(grid_.piece));
    return hasher.finish();
  }

  Arrays read(const Region& box) {
    const std::vector<Region> parts = reads(box);
    Arrays raw;
    for (std::size_t i = 0; i < shapes_.size(); ++i) {
      const OpenInput& input = run_.inputs.inputs[i];
      raw.push_back(input.number ? Array() : read_part(input, parts[i], [&](const Format& format, const Shape& shape) {
        return buffers_.take(format, shape);
      }));
      if (!input.number && run_.settings.input.note_nodata && !noted_[i]) noted_[i] = holds_nodata(input, raw.back());
    }
    return raw;
  }

  Arrays compute(const Region& box, const Arrays& raw) {
    const std::vector<Region> parts = reads(box);
    std::vector<std::vector<InputWindow>> windows(lanes_);
    for (std::size_t i = 0; i < raw.size(); ++i) {
      const OpenInput& input = run_.inputs.inputs[i];
      const std::vector<Array> arrays = in_lanes(run_.program.inputs()[i], input, raw[i], lanes_, run_.settings.input);
      for (std::size_t c = 0; c < lanes_; ++c)
        windows[c].push_back(input.number ? InputWindow{arrays[c]}
                                          : InputWindow{arrays[c], parts[i].begin, shapes_[i]});
    }
    const Shape shape = shape_of(box);
    if (lanes_ == 1) {
      Arrays results;
      for (const Format& format : formats_) results.push_back(buffers_.take(format, shape));
      run_.program.run_region_into(windows[0], regions_of(box), results, run_.options);
      return fitted(results);
    }
    std::vector<std::vector<Array>> of_lanes;
    for (std::size_t c = 0; c < lanes_; ++c)
      of_lanes.push_back(run_.program.run_region(windows[c], regions_of(box), run_.options));
    return fitted(join_lanes(run_.program, run_.inputs.lanes, of_lanes));
  }

  // As the options say how results become the numbers of a file.
  Arrays fitted(Arrays results) const {
    if (run_.settings.output.values.range.empty()) return results;
    for (std::size_t o = 0; o < results.size(); ++o) {
      const Target target = target_of(run_.destinations.paths[o], results[o].format(), run_.inputs.lanes, {});
      results[o] = fit_values(run_.program, results[o], target, run_.settings.output.values, run_.inputs.lanes).array;
    }
    return results;
  }

  void write(const Region& box, const Arrays& results) {
    for (std::size_t o = 0; o < results.size(); ++o) writers_[o]->write(at_origin(box), results[o]);
  }

  void tell_of_values() const {
    for (std::size_t i = 0; i < shapes_.size(); ++i)
      if (counts_[i] > 0) tell_of_nodata(run_.inputs.inputs[i]);
    for (std::size_t o = 0; o < writers_.size(); ++o) {
      const io::WriteReport report = writers_[o]->report();
      if (const i64 saturated = counts_[shapes_.size() + o]; saturated > 0)
        tell("note: {} of {} values did not fit {} and were clamped\n", saturated, report.values, name_of(report.type));
      if (!report.lost.empty()) tell("note: {} does not keep {}\n", report.format, base::list_of(report.lost, "and"));
    }
  }

  const PieceRun& run_;
  ranks::Agreement& agreement_;
  ranks::Ranks& ranks_;
  const bool first_;  // rank 0
  const std::size_t lanes_;
  std::vector<Shape> shapes_, results_;
  std::vector<Format> formats_;  // of the outputs, lanes joined
  Region whole_;                 // of the result, what is wanted
  std::vector<std::unique_ptr<io::RegionWriter>> writers_;
  Grid grid_;
  i64 of_pieces_ = 0;      // bytes that they take
  std::vector<i64> left_;  // pieces that nobody has written, of all ranks
  pieces::Buffers buffers_;
  std::vector<bool> noted_;  // of inputs: points of the value for no data were read
  std::vector<i64> counts_;  // as counts(), of all ranks
};

}  // namespace

bool wants_pieces(const PieceRun& run) {
  const RunSettings& settings = run.settings;
  const bool asked = settings.resume || settings.mpi;
  const std::string why_not = not_in_pieces(run);
  if (!why_not.empty()) {
    if (settings.mpi) fail("--mpi divides a result into pieces: " + why_not);
    if (settings.resume) fail("--resume goes on with a run in pieces: " + why_not);
    return false;
  }
  const Work work(run);
  const i64 arrays = work.of_arrays(), most = base::memory_limit();
  constexpr i64 plenty = 16;  // times what inputs and outputs take: nobody has to look closer
  if (!asked && arrays < most / plenty) return false;
  const std::string why = work.not_in_windows();
  if (!why.empty()) {
    if (settings.mpi) fail(why + ", so that ranks cannot divide the result", "run without --mpi");
    if (settings.resume || (settings.memory && arrays + resident_bytes() > most))
      fail(fmt::format("{}, so that the result is not made in pieces; in memory inputs and outputs take {}", why,
                       base::format_bytes(static_cast<double>(arrays))),
           "allow more with --memory SIZE, without --resume");
    return false;
  }
  return asked || work.in_memory() + resident_bytes() > most;
}

void run_in_pieces(const PieceRun& run) {
  if (run.adjust.headers) run.adjust.headers(run.inputs.lanes);
  Work(run).run(base::memory_limit());
}

}  // namespace tessera::cli
