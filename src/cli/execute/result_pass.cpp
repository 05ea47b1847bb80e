// See result_pass.hpp.
#include "cli/execute/result_pass.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "base/progress.hpp"
#include "base/text.hpp"
#include "cli/execute/passes.hpp"
#include "cli/execute/window.hpp"
#include "cli/tell.hpp"
#include "data/regions.hpp"
#include "io/regions/regions.hpp"
#include "run/cpu/parallel.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {

using data::shape_of;
using pieces::Arrays;

ResultPass::ResultPass(const PieceRun& run, const engine::Pass& pass, std::vector<std::size_t> outputs,
                       std::vector<Source> sources, const std::vector<i64>& parameters)
    : run_(run),
      of_(pass.program),
      outputs_(std::move(outputs)),
      lanes_(run.inputs.lanes.inputs.size()),
      program_(pass.program, std::move(sources), parameters, PieceLanes{lanes_}, run.settings.input, run.options) {
  const Shape result = program_.result();
  whole_ = {std::vector<i64>(result.size()), result};
  if (!run.settings.window.empty()) whole_ = parse_region(run.settings.window.text, "--window", result);
  for (const Format& format : program_.formats()) formats_.push_back(joined(format));
}

void ResultPass::lock() {
  for (const std::size_t o : outputs_)
    journals_.push_back(std::make_unique<pieces::Journal>(run_.destinations.files[o]));
}

void ResultPass::open(i64 memory, const base::Digest& work) {
  for (std::size_t o = 0; o < outputs_.size(); ++o)
    writers_.push_back(io::create_regions(run_.destinations.files[outputs_[o]], formats_[o], shape_of(whole_),
                                          write_options(outputs_[o])));
  plan(memory);
  // Of what was written before something may be missing.
  const bool all = std::ranges::all_of(writers_, [](const auto& writer) { return writer->resumed(); });
  base::Hasher hasher;
  hasher.text(base::to_hex(work))
      .text(to_string(whole_.begin))
      .text(to_string(whole_.end))
      .text(to_string(grid_.piece));
  journals_.front()->begin(hasher.finish(), grid_.count(), run_.settings.resume && all);
}

void ResultPass::leave() {
  // What an earlier run left is gone on with by other options.
  if (!run_.settings.resume)
    for (const auto& writer : writers_) writer->discard();
  for (const auto& journal : journals_) journal->leave();
}

void ResultPass::run(std::vector<Source> sources) {
  if (!sources.empty()) program_.take(std::move(sources));
  go();
}

void ResultPass::commit() {
  for (const auto& writer : writers_) writer->commit();
  for (const auto& journal : journals_) journal->remove();
  tell_of_values();
}

void ResultPass::plan(i64 memory) {
  const Room room = room_of(memory);
  const pieces::Chosen chosen =
      pieces::choose_grid(whole_, common_chunk(), room.memory, [&](const Region& box) { return demand(box, 2); });
  grid_ = chosen.grid;
  i64 most = chosen.memory;
  run::cpu::limit_pooled_scratch(
      static_cast<std::size_t>(PieceProgram::pooled_beside(program_.needs(grid_.box(grid_.count() / 2)).memory)));
  most += keep_chunks(program_.sources(), room.memory - most, most);
  if (!run_.settings.quiet)
    tell("{}: {} piece{} of {}, at most {} of memory\n", run_.label, grid_.count(), grid_.count() == 1 ? "" : "s",
         to_string(grid_.piece), base::format_bytes(static_cast<double>(room.held + most)));
}

void ResultPass::go() {
  pieces::Journal& journal = *journals_.front();
  std::vector<i64> left;
  for (i64 k = 0; k < grid_.count(); ++k)
    if (!journal.is_done(k)) left.push_back(k);
  if (journal.resumes() && !run_.settings.quiet)
    tell("{}: {} of {} pieces are done already\n", run_.label, grid_.count() - static_cast<i64>(left.size()),
         grid_.count());
  const std::vector<std::string> before = identities();
  const auto sync = [&] { this->sync(); };
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
Format ResultPass::joined(const Format& format) const {
  if (lanes_ == 1) return format;
  return io::named_pixels(format.scalar, run_.inputs.lanes.channels);
}
// `ahead`: pieces that are there at once on either side of the computation.
pieces::Demand ResultPass::demand(const Region& box, i64 ahead) const {
  pieces::Demand d = program_.demand(box, ahead);
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
Region ResultPass::at_origin(Region box) const {
  for (std::size_t d = 0; d < box.begin.size(); ++d) {
    box.begin[d] -= whole_.begin[d];
    box.end[d] -= whole_.begin[d];
  }
  return box;
}

io::RegionWriteOptions ResultPass::write_options(std::size_t o) const {
  io::RegionWriteOptions how{run_.destinations.written[o], run_.settings.resume,
                             levels_of(run_.destinations.files[o], run_.settings.output)};
  how.write.header = header_of(shape_of(whole_), run_.inputs.lanes, run_.destinations);
  return how;
}
// Edges that are those of chunks of all outputs.
Shape ResultPass::common_chunk() const {
  Shape chunk(whole_.begin.size(), 1);
  for (const auto& writer : writers_)
    for (std::size_t d = 0; d < chunk.size(); ++d)
      chunk[d] = std::min(std::lcm(chunk[d], writer->layout().chunk[d]), writer->layout().shape[d]);
  return chunk;
}

std::vector<std::string> ResultPass::identities() const {
  std::vector<std::string> all;
  for (const OpenInput& input : run_.inputs.inputs)
    all.push_back(input.reader != nullptr ? input.reader->identity() : std::string());
  return all;
}

Arrays ResultPass::read(const Region& box) {
  return program_.read(box, buffers_, [&](const OpenInput& input, const Array& part) {
    if (run_.settings.input.note_nodata && !noted_) noted_ = note_nodata(input, part);
  });
}

Arrays ResultPass::compute(const Region& box, const Arrays& raw) {
  if (lanes_ > 1) return fitted(join_lanes(of_, run_.inputs.lanes, program_.compute(box, raw, {})));
  Arrays results;
  for (const Format& format : formats_) results.push_back(buffers_.take(format, shape_of(box)));
  return fitted(program_.compute(box, raw, results).front());
}

// As the options say how results become the numbers of a file.
Arrays ResultPass::fitted(Arrays results) const {
  if (run_.settings.output.values.range.empty()) return results;
  for (std::size_t o = 0; o < results.size(); ++o) {
    const Target target = target_of(run_.destinations.paths[outputs_[o]], results[o].format(), run_.inputs.lanes, {});
    results[o] = fit_values(of_, results[o], target, run_.settings.output.values, run_.inputs.lanes).array;
  }
  return results;
}

void ResultPass::write(const Region& box, const Arrays& results) {
  for (std::size_t o = 0; o < results.size(); ++o) writers_[o]->write(at_origin(box), results[o]);
}

void ResultPass::tell_of_values() const {
  for (const auto& writer : writers_) {
    const io::WriteReport report = writer->report();
    if (report.saturated > 0)
      tell("note: {} of {} values did not fit {} and were clamped\n", report.saturated, report.values,
           name_of(report.type));
    if (!report.lost.empty()) tell("note: {} does not keep {}\n", report.format, base::list_of(report.lost, "and"));
  }
}

void ResultPass::sync() {
  for (const auto& writer : writers_) writer->sync();
}

}  // namespace tessera::cli
