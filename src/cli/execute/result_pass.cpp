// See result_pass.hpp.
#include "cli/execute/result_pass.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
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
#include "pieces/shares.hpp"
#include "run/cpu/parallel.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {

using data::shape_of;
using pieces::Arrays;

ResultPass::ResultPass(const PieceRun& run, const engine::Pass& pass, std::vector<std::size_t> outputs,
                       std::vector<Source> sources, const std::vector<i64>& parameters)
    : run_(run),
      ranks_(run.agreement.ranks()),
      first_(ranks_.rank() == 0),
      of_(pass.program),
      outputs_(std::move(outputs)),
      lanes_(run.inputs.lanes.inputs.size()),
      program_(pass.program, std::move(sources), parameters, PieceLanes{lanes_}, run.settings.input, run.options),
      noted_(run.inputs.inputs.size()) {
  const Shape result = program_.result();
  whole_ = data::all_of(result);
  if (!run.settings.window.empty()) whole_ = parse_region(run.settings.window.text, "--window", result);
  for (const Format& format : program_.formats()) formats_.push_back(joined(format));
}

void ResultPass::begin(i64 memory, const base::Digest& work) {
  for (const std::size_t o : outputs_)
    journals_.push_back(std::make_unique<pieces::Journal>(run_.destinations.files[o]));
  open_writers("", run_.settings.resume);
  choose(memory);
  // Of what was written before something may be missing.
  const bool all = std::ranges::all_of(writers_, [](const auto& writer) { return writer->resumed(); });
  base::Hasher hasher;
  hasher.text(base::to_hex(work))
      .text(to_string(whole_.begin))
      .text(to_string(whole_.end))
      .text(to_string(grid_.piece));
  pieces::Journal& journal = *journals_.front();
  journal.begin(hasher.finish(), grid_.count(), run_.settings.resume && all);
  for (i64 k = 0; k < grid_.count(); ++k)
    if (!journal.is_done(k)) left_.push_back(k);
}

void ResultPass::share(const Room& room) {
  std::vector<i64> plan = {of_pieces_};
  plan.insert(plan.end(), grid_.piece.begin(), grid_.piece.end());
  plan.insert(plan.end(), left_.begin(), left_.end());
  plan = run_.agreement.broadcast(plan);
  const auto piece = plan.begin() + 1, left = piece + static_cast<std::ptrdiff_t>(whole_.begin.size());
  of_pieces_ = plan.front();
  grid_ = {whole_, {piece, left}};
  left_ = {left, plan.end()};
  if (!first_) open_writers("", run_.settings.resume);
  identities_ = identities();
  const std::string text = said(room);
  if (!run_.settings.quiet) tell("{}\n", text);
}

// In another folder, as long as this lives.
class ResultPass::FilesElsewhere {
 public:
  FilesElsewhere(ResultPass& pass, const std::string& folder) : pass_(pass) {
    pass.writers_.clear();
    pass.open_writers(folder, false);
  }
  ~FilesElsewhere() {
    for (const auto& writer : pass_.writers_) {
      try {
        writer->discard();
      } catch (const Error&) {  // the folder goes
      }
    }
    pass_.writers_.clear();
  }
  FilesElsewhere(const FilesElsewhere&) = delete;
  FilesElsewhere& operator=(const FilesElsewhere&) = delete;

 private:
  ResultPass& pass_;
};

std::string ResultPass::forecast(const std::string& folder, const Room& room) {
  const FilesElsewhere files(*this, folder);
  choose(room.memory);
  return said(room);
}

pieces::TooLittle ResultPass::least(const std::string& folder) {
  const FilesElsewhere files(*this, folder);
  try {
    choose(0);
  } catch (const pieces::TooLittle& e) {
    return e;
  }
  return {{}, 0, 0};
}

void ResultPass::choose(i64 memory) {
  constexpr i64 pieces_a_rank = 4;  // that ranks get as many, give or take one, without waiting long for the last
  const i64 boxes = ranks_.size() > 1 ? pieces_a_rank * ranks_.size() : 1;
  pieces::Chosen chosen =
      pieces::choose_grid(whole_, common_chunk(), memory, [&](const Region& box) { return demand(box, 2); }, boxes);
  grid_ = std::move(chosen.grid);
  of_pieces_ = chosen.memory;
}

std::string ResultPass::said(const Room& room) const {
  const i64 most = of_pieces_ + keep_chunks(program_.sources(), room.memory - of_pieces_, of_pieces_);
  return fmt::format(
      "{}: {} piece{} of {}{}, {}, at most {} of memory{}", run_.label, grid_.count(), grid_.count() == 1 ? "" : "s",
      to_string(grid_.piece), ranks_.size() > 1 ? fmt::format(" on {} ranks", ranks_.size()) : "", beyond(),
      base::format_bytes(static_cast<double>(at_most(room.held + most))), ranks_.size() > 1 ? " each" : "");
}

// What pieces read and compute of what one piece would: halos count twice. Of many pieces some are asked.
std::string ResultPass::beyond() const {
  constexpr i64 many = 1000;
  const auto of = [&](const Region& box) {
    const engine::RegionNeeds needs = program_.needs(box);
    return std::pair(program_.file_bytes(needs), needs.points);
  };
  const i64 count = grid_.count(), asked = std::min(count, many);
  double read = 0, computed = 0;
  for (i64 k = 0; k < asked; ++k) {
    const auto [r, c] = of(grid_.box(asked == 1 ? 0 : k * (count - 1) / (asked - 1)));
    read += r;
    computed += c;
  }
  const auto [all_read, all_computed] = of(whole_);
  const double share = static_cast<double>(count) / static_cast<double>(asked);
  const auto times = [&](double part, double all) { return all > 0 ? share * part / all : 1; };
  return fmt::format("reading {:.2f} and computing {:.2f} times what a whole takes", times(read, all_read),
                     times(computed, all_computed));
}

void ResultPass::leave() {
  // What an earlier run left is gone on with by other options.
  if (first_)
    for (const auto& writer : writers_)
      if (!writer->resumed()) writer->discard();
  writers_.clear();
  for (const auto& journal : journals_) journal->leave();
}

std::vector<Region> ResultPass::reads_of(int rank) const {
  std::vector<Region> all(program_.sources().size());
  for (const i64 k : pieces::share_of(left_, rank, ranks_.size())) {
    const std::vector<Region> reads = program_.reads(grid_.box(k));
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].begin.empty()) all[i] = reads[i];
      for (std::size_t d = 0; d < reads[i].begin.size(); ++d) {
        all[i].begin[d] = std::min(all[i].begin[d], reads[i].begin[d]);
        all[i].end[d] = std::max(all[i].end[d], reads[i].end[d]);
      }
    }
  }
  return all;
}

void ResultPass::run(const Room& room, std::vector<Source> sources) {
  if (!sources.empty()) program_.take(std::move(sources));
  run::cpu::limit_pooled_scratch(
      static_cast<std::size_t>(PieceProgram::pooled_beside(program_.needs(grid_.box(grid_.count() / 2)).memory)));
  keep_chunks(program_.sources(), room.memory - of_pieces_, of_pieces_);
  go();
}

i64 ResultPass::in_memory() const {
  i64 of_steps = 0;
  for (const Format& format : program_.formats())
    of_steps += element_count(shape_of(whole_)) * static_cast<i64>(format.size());
  return demand(whole_, 1).memory - of_steps - PieceProgram::pooled_beside(program_.needs(whole_).memory);
}

i64 ResultPass::packing(const std::string& folder) {
  const FilesElsewhere files(*this, folder);
  i64 most = 0;
  for (std::size_t o = 0; o < outputs_.size(); ++o)
    if (io::is_chunked_name(run_.destinations.files[outputs_[o]]))
      most = std::max(most, writers_[o]->beside(at_origin(whole_)));
  return most;
}

void ResultPass::commit() {
  for (const auto& writer : writers_) writer->commit();
  for (const auto& journal : journals_) journal->remove();
}

// In the place of the results, or in another folder.
void ResultPass::open_writers(const std::string& folder, bool resume) {
  for (std::size_t o = 0; o < outputs_.size(); ++o) {
    std::string path = run_.destinations.files[outputs_[o]];
    if (!folder.empty())
      path = fmt::format("{}/{}-{}", folder, outputs_[o], std::filesystem::path(path).filename().string());
    writers_.push_back(io::create_regions(path, formats_[o], shape_of(whole_), write_options(outputs_[o], resume)));
  }
}

void ResultPass::go() {
  pieces::Journal* journal = first_ ? journals_.front().get() : nullptr;
  const i64 all = grid_.count(), left = static_cast<i64>(left_.size());
  if (left < all && !run_.settings.quiet) tell("{}: {} of {} pieces are done already\n", run_.label, all - left, all);
  bool changed = false;
  std::optional<base::ProgressBar> bar;
  if (first_ && !run_.settings.quiet && !run_.settings.of_several) bar.emplace(run_.label, left);
  pieces::Shares shares(run_.agreement, [&](const std::vector<i64>& named) { journal->name(named); });
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
    changed = identities() != identities_;
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
std::vector<i64> ResultPass::counts() const {
  std::vector<i64> counts;
  for (const bool noted : noted_) counts.push_back(noted ? 1 : 0);
  for (const auto& writer : writers_) counts.push_back(writer->report().saturated);
  return counts;
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

io::RegionWriteOptions ResultPass::write_options(std::size_t o, bool resume) const {
  io::RegionWriteOptions how =
      by_regions(run_.destinations.files[o], run_.destinations.written[o], run_.settings.output);
  how.resume = resume;
  how.write.header = header_of(shape_of(whole_), run_.inputs.lanes, run_.destinations);
  how.writers = {ranks_.rank(), ranks_.size()};
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
    const auto of = static_cast<std::size_t>(&input - run_.inputs.inputs.data());
    if (run_.settings.input.note_nodata && !noted_[of]) noted_[of] = holds_nodata(input, part);
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
  const std::size_t inputs = run_.inputs.inputs.size();
  for (std::size_t i = 0; i < inputs; ++i)
    if (counts_[i] > 0) tell_of_nodata(run_.inputs.inputs[i]);
  for (std::size_t o = 0; o < writers_.size(); ++o) {
    const io::WriteReport report = writers_[o]->report();
    if (const i64 saturated = counts_[inputs + o]; saturated > 0)
      tell("note: {} of {} values did not fit {} and were clamped\n", saturated, report.values, name_of(report.type));
    if (!report.lost.empty())
      tell("note: {} does not keep {}\n", base::quoted(run_.destinations.paths[outputs_[o]]),
           base::list_of(report.lost, "and"));
  }
}

}  // namespace tessera::cli
