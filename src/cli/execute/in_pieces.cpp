// See in_pieces.hpp.
#include "cli/execute/in_pieces.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>

#include "base/memory.hpp"
#include "base/progress.hpp"
#include "base/text.hpp"
#include "cli/execute/passes.hpp"
#include "cli/execute/window.hpp"
#include "cli/tell.hpp"
#include "data/regions.hpp"
#include "engine/program_impl.hpp"
#include "io/regions/regions.hpp"
#include "ir/graph.hpp"
#include "pieces/conveyor.hpp"
#include "pieces/grid.hpp"
#include "pieces/journal.hpp"
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

// Why results of this kind take all of an image, or all of a result, at once; "" where pieces do.
std::string not_in_pieces(const PieceRun& run) {
  const RunSettings& s = run.settings;
  if (!s.verify.empty()) return "--verify compares whole results";
  if (s.time) return "--time measures runs in memory";
  if (!s.output.onto.empty()) return "--onto takes a whole image";
  if (s.output.values.stretch) return "--stretch looks at a whole result";
  if (run.adjust.arrays) return "a full extent continues a whole image";
  if (!run.inputs.lanes.leading.empty()) return "--pages takes a whole stack";
  if (std::none_of(run.inputs.inputs.begin(), run.inputs.inputs.end(),
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
  explicit Work(const PieceRun& run) : run_(run), lanes_(run.inputs.lanes.inputs.size()) {
    for (const OpenInput& input : run.inputs.inputs) shapes_.push_back(input.number ? Shape{} : input.array.shape());
    results_ = run.program.output_shapes_of(shapes_);
    whole_ = {std::vector<i64>(results_.front().size()), results_.front()};
    if (!run.settings.window.empty()) whole_ = parse_region(run.settings.window.text, "--window", results_.front());
    for (const Parameter& output : run.program.outputs()) formats_.push_back(joined(output.format));
  }

  // Bytes of all of it at once.
  i64 in_memory() {
    if (passes().body().empty()) return demand(whole_, 1).memory;
    i64 bytes = of_arrays();
    for (std::size_t a = 0; a < passes().arrays().size(); ++a)
      if (passes().arrays()[a].kind == ir::host::Array::Kind::own)
        bytes +=
            element_count(passes().shape_of(a, parameters_)) * static_cast<i64>(passes().arrays()[a].format.size());
    return bytes;
  }
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
  std::string not_in_windows() {
    if (!passes().why_not().empty()) return passes().why_not();
    for (const Shape& shape : results_)
      if (shape != results_.front())
        return fmt::format("outputs have several shapes, {} and {}", to_string(results_.front()), to_string(shape));
    return "";
  }

  void run(i64 memory) {
    // Each output is this process's while it is written; the first one's journal says what is done.
    std::vector<std::unique_ptr<pieces::Journal>> journals;
    for (const std::string& file : run_.destinations.files) journals.push_back(std::make_unique<pieces::Journal>(file));
    pieces::Journal& journal = *journals.front();
    try {
      for (std::size_t o = 0; o < formats_.size(); ++o)
        writers_.push_back(
            io::create_regions(run_.destinations.files[o], formats_[o], shape_of(whole_), write_options(o)));
      plan(memory);
      // Of what was written before something may be missing.
      const bool all = std::ranges::all_of(writers_, [](const auto& writer) { return writer->resumed(); });
      journal.begin(identity(), grid_.count(), run_.settings.resume && all);
    } catch (...) {
      // Nothing was written. What an earlier run left is gone on with by other options.
      if (!run_.settings.resume)
        for (const auto& writer : writers_) writer->discard();
      for (const auto& each : journals) each->leave();
      throw;
    }
    if (!passes().body().empty() && journal.count() < grid_.count()) program_->take(run_passes(pass_run(memory)));
    go(journal);
    for (const auto& writer : writers_) writer->commit();
    for (const auto& each : journals) each->remove();
    tell_of_values();
  }

 private:
  const engine::Passes& passes() {
    if (!passes_) {
      passes_.emplace(run_.program);
      parameters_ = passes_->parameters(shapes_);
      program_.emplace(passes_->last().program, sources_of_last(*passes_, parameters_, run_.inputs), parameters_,
                       PieceLanes{lanes_}, run_.settings.input, run_.options);
    }
    return *passes_;
  }

  PassRun pass_run(i64 memory) const {
    return {*passes_,
            parameters_,
            run_.inputs,
            run_.settings.input,
            run_.options,
            run_.label,
            run_.destinations.files.front(),
            memory,
            run_.settings.quiet,
            &run_.interrupt.flag()};
  }

  void plan(i64 memory) {
    passes();
    const Room room = room_of(memory);
    const pieces::Chosen chosen =
        pieces::choose_grid(whole_, common_chunk(), room.memory, [&](const Region& box) { return demand(box, 2); });
    grid_ = chosen.grid;
    i64 most = chosen.memory;
    run::cpu::limit_pooled_scratch(
        static_cast<std::size_t>(PieceProgram::pooled_beside(program_->needs(grid_.box(grid_.count() / 2)).memory)));
    most += keep_chunks(program_->sources(), room.memory - most, most);
    if (!run_.settings.quiet)
      tell("{}: {} piece{} of {}, at most {} of memory\n", run_.label, grid_.count(), grid_.count() == 1 ? "" : "s",
           to_string(grid_.piece), base::format_bytes(static_cast<double>(room.held + most)));
  }

  void go(pieces::Journal& journal) {
    std::vector<i64> left;
    for (i64 k = 0; k < grid_.count(); ++k)
      if (!journal.is_done(k)) left.push_back(k);
    if (journal.resumes() && !run_.settings.quiet)
      tell("{}: {} of {} pieces are done already\n", run_.label, grid_.count() - static_cast<i64>(left.size()),
           grid_.count());
    const std::vector<std::string> before = identities();
    const auto sync = [&] {
      for (const auto& writer : writers_) writer->sync();
    };
    std::optional<base::ProgressBar> bar;
    if (!run_.settings.quiet) bar.emplace(run_.label, static_cast<i64>(left.size()));
    try {
      pieces::convey(left,
                     {.read = [&](i64 k) { return read(grid_.box(k)); },
                      .compute = [&](i64 k, const Arrays& in) { return compute(grid_.box(k), in); },
                      .write =
                          [&](i64 k, const Arrays& out) {
                            write(grid_.box(k), out);
                            journal.add(k, sync);
                          },
                      .done =
                          [&](i64 done) {
                            if (bar) bar->update(done);
                          }},
                     &run_.interrupt.flag());
      journal.flush(sync);
    } catch (...) {
      bar.reset();
      try {
        journal.flush(sync);
      } catch (const Error&) {  // what could not be written is not named
      }
      tell("note: {} of {} pieces are written; --resume goes on with the others\n", journal.count(), grid_.count());
      throw;
    }
    if (identities() != before)
      throw Error(ErrorClass::io, "an input has changed while it was read", {},
                  "run again without --resume, once nobody writes it");
  }

  // Several lanes are one output with a field for each.
  Format joined(const Format& format) const {
    if (lanes_ == 1) return format;
    return io::named_pixels(format.scalar, run_.inputs.lanes.channels);
  }
  // `ahead`: pieces that are there at once on either side of the computation.
  pieces::Demand demand(const Region& box, i64 ahead) const {
    pieces::Demand d = program_->demand(box, ahead);
    i64 beside = 0;
    for (std::size_t o = 0; o < formats_.size(); ++o) {
      const i64 bytes = element_count(shape_of(box)) * static_cast<i64>(formats_[o].size());
      d.memory += (ahead + (lanes_ > 1 ? 1 : 0)) * bytes;
      if (o < writers_.size()) beside = std::max(beside, writers_[o]->beside(at_origin(box)));
      d.work += static_cast<double>(bytes);
    }
    d.memory += beside;
    return d;
  }

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

  base::Digest identity() const {
    base::Hasher hasher;
    const RunOptions& o = run_.options;
    hasher.text(ir::print(run_.program.impl().graph)).text(o.target).text(o.compiler);
    hasher.number(static_cast<i64>(o.numbers)).number(static_cast<i64>(o.method)).number(static_cast<i64>(o.schedule));
    for (const OpenInput& input : run_.inputs.inputs) {
      hasher.text(input.origin)
          .number(input.grey ? 1 : 0)
          .text(to_string(input.array.shape()))
          .text(to_string(input.begin));
      if (input.reader != nullptr) hasher.text(input.reader->identity());
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
    return program_->read(box, buffers_, [&](const OpenInput& input, const Array& part) {
      if (run_.settings.input.note_nodata && !noted_) noted_ = note_nodata(input, part);
    });
  }

  Arrays compute(const Region& box, const Arrays& raw) {
    if (lanes_ > 1) return fitted(join_lanes(run_.program, run_.inputs.lanes, program_->compute(box, raw, {})));
    Arrays results;
    for (const Format& format : formats_) results.push_back(buffers_.take(format, shape_of(box)));
    return fitted(program_->compute(box, raw, results).front());
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
    for (const auto& writer : writers_) {
      const io::WriteReport report = writer->report();
      if (report.saturated > 0)
        tell("note: {} of {} values did not fit {} and were clamped\n", report.saturated, report.values,
             name_of(report.type));
      if (!report.lost.empty()) tell("note: {} does not keep {}\n", report.format, base::list_of(report.lost, "and"));
    }
  }

  const PieceRun& run_;
  const std::size_t lanes_;
  std::optional<engine::Passes> passes_;  // once asked for
  std::optional<PieceProgram> program_;   // of the last one
  std::vector<i64> parameters_;
  std::vector<Shape> shapes_, results_;
  std::vector<Format> formats_;  // of the outputs, lanes joined
  Region whole_;                 // of the result, what is wanted
  std::vector<std::unique_ptr<io::RegionWriter>> writers_;
  Grid grid_;
  pieces::Buffers buffers_;
  bool noted_ = false;
};

}  // namespace

bool wants_pieces(const PieceRun& run) {
  const std::string why_not = not_in_pieces(run);
  if (!why_not.empty()) {
    if (run.settings.resume) fail("--resume goes on with a run in pieces: " + why_not);
    return false;
  }
  Work work(run);
  const i64 arrays = work.of_arrays(), most = base::memory_limit();
  constexpr i64 plenty = 16;  // times what inputs and outputs take: nobody has to look closer
  if (!run.settings.resume && arrays < most / plenty) return false;
  const std::string why = work.not_in_windows();
  if (!why.empty()) {
    if (run.settings.resume || (run.settings.memory && arrays + resident_memory() > most))
      fail(fmt::format("{}, so that the result is not made in pieces; in memory inputs and outputs take {}", why,
                       base::format_bytes(static_cast<double>(arrays))),
           "allow more with --memory SIZE, without --resume");
    return false;
  }
  return run.settings.resume || work.in_memory() + resident_memory() > most;
}

void run_in_pieces(const PieceRun& run) {
  if (run.adjust.headers) run.adjust.headers(run.inputs.lanes);
  Work(run).run(base::memory_limit());
}

}  // namespace tessera::cli
