// See in_pieces.hpp.
#include "cli/execute/in_pieces.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "base/files/files.hpp"
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

std::string bytes_in_words(i64 bytes) {
  return base::format_bytes(static_cast<double>(bytes));
}

// One that goes with this object.
struct TemporaryFolder {
  TemporaryFolder() : path(base::temporary_folder() + "/tessera-XXXXXX") {
    if (::mkdtemp(path.data()) == nullptr)
      throw Error(ErrorClass::io,
                  fmt::format("cannot make the folder {}: {}", base::quoted(path), base::reason_of(errno)));
  }
  ~TemporaryFolder() {
    std::error_code ec;
    std::filesystem::remove_all(path, ec);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string path;
};

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
  i64 in_memory() const { return demand(whole_, 1).memory; }
  // Of what pieces compute with halos; a run in memory computes into its results.
  i64 of_steps() const {
    i64 bytes = 0;
    for (std::size_t o = 0; o < results_.size(); ++o)
      bytes += element_count(results_[o]) * static_cast<i64>(run_.program.outputs()[o].format.size());
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
  std::string not_in_windows() const {
    for (const Locality& locality : run_.program.locality())
      if (!locality.global.empty()) return locality.global;
    for (const Shape& shape : results_)
      if (shape != results_.front())
        return fmt::format("outputs have several shapes, {} and {}", to_string(results_.front()), to_string(shape));
    return "";
  }

  // What a run in pieces takes, and nothing is left of it.
  std::string dry(i64 memory) {
    const TemporaryFolder folder;
    for (std::size_t o = 0; o < formats_.size(); ++o) {
      const std::string name = std::filesystem::path(run_.destinations.files[o]).filename().string();
      writers_.push_back(io::create_regions(fmt::format("{}/{}-{}", folder.path, o, name), formats_[o],
                                            shape_of(whole_), write_options(o, false)));
    }
    std::string text = plan(memory);
    for (const auto& writer : writers_) writer->discard();
    return text;
  }
  std::string dry_in_memory() const {
    if (!not_in_windows().empty())
      return fmt::format("{}: in memory, inputs and outputs take {}", run_.label, bytes_in_words(of_arrays()));
    return fmt::format("{}: in memory, at most {}", run_.label,
                       bytes_in_words(process_bytes() + in_memory() - of_steps()));
  }

  void run(i64 memory) {
    // Each output is this process's while it is written; the first one's journal says what is done.
    std::vector<std::unique_ptr<pieces::Journal>> journals;
    for (const std::string& file : run_.destinations.files) journals.push_back(std::make_unique<pieces::Journal>(file));
    pieces::Journal& journal = *journals.front();
    try {
      for (std::size_t o = 0; o < formats_.size(); ++o)
        writers_.push_back(io::create_regions(run_.destinations.files[o], formats_[o], shape_of(whole_),
                                              write_options(o, run_.settings.resume)));
      const std::string text = plan(memory);
      if (!run_.settings.quiet) tell("{}\n", text);
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
    go(journal);
    for (const auto& writer : writers_) writer->commit();
    for (const auto& each : journals) each->remove();
    tell_of_values();
  }

 private:
  // Chooses the pieces, and says what they take.
  std::string plan(i64 memory) {
    run::cpu::release_scratch();
    const i64 held = process_bytes();
    const pieces::Chosen chosen =
        pieces::choose_grid(whole_, common_chunk(), memory - held, [&](const Region& box) { return demand(box, 2); });
    grid_ = chosen.grid;
    i64 most = chosen.memory;
    run::cpu::limit_pooled_scratch(static_cast<std::size_t>(pooled_beside(needs(grid_.box(grid_.count() / 2)).memory)));
    // Some of what is left keeps chunks that neighbours share.
    const i64 kept = std::min(std::max<i64>(memory - held - most, 0) / 2, std::max(most, least_kept));
    for (const OpenInput& input : run_.inputs.inputs)
      if (input.reader != nullptr)
        most += input.reader->keep_chunks(kept / static_cast<i64>(run_.inputs.inputs.size()));
    return fmt::format("{}: {} piece{} of {}, {}, at most {} of memory", run_.label, grid_.count(),
                       grid_.count() == 1 ? "" : "s", to_string(grid_.piece), beyond(), bytes_in_words(held + most));
  }

  // What pieces read and compute of what one piece would: halos count twice. Of many pieces some are asked.
  std::string beyond() const {
    constexpr i64 many = 1000;
    const auto of = [&](const Region& box) {
      const engine::RegionNeeds needs = this->needs(box);
      double read = 0;
      for (std::size_t i = 0; i < needs.reads.size(); ++i)
        if (run_.inputs.inputs[i].reader != nullptr)
          read += static_cast<double>(points_of(needs.reads[i]) *
                                      static_cast<i64>(run_.inputs.inputs[i].array.format().size()));
      return std::pair(read, needs.points);
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
    return fmt::format("reading {:.2f} and computing {:.2f} times what a whole takes", share * read / all_read,
                       share * computed / all_computed);
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
    if (!run_.settings.quiet && !run_.settings.of_several) bar.emplace(run_.label, static_cast<i64>(left.size()));
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

  // What the process takes beside pieces: now, and once it runs: stacks, the pool of threads, code. In steps, so that
  // two runs of the same work say the same.
  static i64 process_bytes() {
    constexpr i64 step = i64{32} << 20, later = i64{16} << 20, of_thread = i64{256} << 10;
    return (resident_bytes() + step - 1) / step * step + later + of_thread * run::cpu::thread_count(0);
  }
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
    const auto [reads, memory, computed] = needs(box);
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

  io::RegionWriteOptions write_options(std::size_t o, bool resume) const {
    io::RegionWriteOptions how =
        by_regions(run_.destinations.files[o], run_.destinations.written[o], run_.settings.output);
    how.resume = resume;
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
    hasher.text(run_.settings.output.chunk).text(run_.settings.output.shard);
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
      if (!input.number && run_.settings.input.note_nodata && !noted_) noted_ = note_nodata(input, raw.back());
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
  std::vector<Shape> shapes_, results_;
  std::vector<Format> formats_;  // of the outputs, lanes joined
  Region whole_;                 // of the result, what is wanted
  std::vector<std::unique_ptr<io::RegionWriter>> writers_;
  Grid grid_;
  pieces::Buffers buffers_;
  bool noted_ = false;
};

}  // namespace

i64 array_bytes(const PieceRun& run) {
  if (run.inputs.lanes.leading.empty()) return Work(run).of_arrays();
  // Pages: results are taken for as large.
  i64 bytes = 0;
  for (const OpenInput& input : run.inputs.inputs)
    if (!input.number) bytes += 2 * element_count(input.array.shape()) * static_cast<i64>(input.array.format().size());
  return bytes;
}

bool wants_pieces(const PieceRun& run) {
  const std::string why_not = not_in_pieces(run);
  if (!why_not.empty()) {
    if (run.settings.resume) fail("--resume goes on with a run in pieces: " + why_not);
    return false;
  }
  const Work work(run);
  const i64 arrays = work.of_arrays(), most = base::memory_limit();
  constexpr i64 plenty = 16;  // times what inputs and outputs take: nobody has to look closer
  if (!run.settings.resume && arrays < most / plenty) return false;
  const std::string why = work.not_in_windows();
  if (!why.empty()) {
    if (run.settings.resume || (run.settings.memory && arrays + resident_bytes() > most))
      fail(fmt::format("{}, so that the result is not made in pieces; in memory inputs and outputs take {}", why,
                       base::format_bytes(static_cast<double>(arrays))),
           "allow more with --memory SIZE, without --resume");
    return false;
  }
  return run.settings.resume || work.in_memory() + resident_bytes() > most;
}

std::string forecast(const PieceRun& run, bool in_pieces) {
  if (!run.inputs.lanes.leading.empty())
    return fmt::format("{}: in memory, inputs and outputs take {}", run.label, bytes_in_words(array_bytes(run)));
  if (in_pieces && run.adjust.headers) run.adjust.headers(run.inputs.lanes);
  Work work(run);
  return in_pieces ? work.dry(base::memory_limit()) : work.dry_in_memory();
}

void run_in_pieces(const PieceRun& run) {
  if (run.adjust.headers) run.adjust.headers(run.inputs.lanes);
  Work(run).run(base::memory_limit());
}

}  // namespace tessera::cli
