// The steps of a run, each in a file of its own: bind, run, measure, verify, keep.
#include "cli/execute/execute.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "base/files/files.hpp"
#include "base/memory.hpp"
#include "base/progress.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/execute/in_pieces.hpp"
#include "cli/execute/measure.hpp"
#include "cli/execute/packed.hpp"
#include "cli/execute/pages.hpp"
#include "cli/execute/shares.hpp"
#include "cli/execute/verify.hpp"
#include "cli/execute/window.hpp"
#include "cli/tell.hpp"
#include "engine/filters/filters.hpp"
#include "ranks/agreement.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {
namespace {

std::vector<std::vector<Array>> run_lanes(const Program& program, const Lanes& lanes, RunOptions options,
                                          const std::string& label, const RunSettings& settings) {
  const bool quiet = settings.quiet || settings.of_several;
  std::vector<std::vector<Array>> results;
  for (std::size_t c = 0; c < lanes.inputs.size(); ++c) {
    // Made at the first report: only then is the number of tiles known.
    std::optional<base::ProgressBar> bar;
    const std::string name = lanes.channels.empty() ? label : label + " " + lanes.channels[c];
    std::optional<base::PatienceNote> compiling;
    if (!quiet) {
      compiling.emplace("compiling " + name + " ...");
      options.on_progress = [&](const Progress& p) {
        compiling.reset();
        if (!bar) bar.emplace(name, p.total);
        bar->update(p.done);
      };
      options.on_loop_end = [&](const LoopEnd& e) {
        bar.reset();
        tell("loop over {}: {} of {} iterations at most\n", e.variable, e.iterations, e.most);
      };
    }
    results.push_back(
        settings.window.empty()
            ? program.run(lanes.inputs[c], options)
            : run_window(program, lanes.inputs[c], windows_of(program, lanes.inputs[c], settings.window), options));
  }
  return results;
}

void stop_if(const base::InterruptGuard& interrupt) {
  if (interrupt.interrupted()) throw Error(ErrorClass::cancelled, "interrupted");
}

void adjust_all(const Adjust& adjust, Lanes& lanes) {
  if (adjust.headers) adjust.headers(lanes);
  if (adjust.continued == nullptr) return;
  for (auto& lane : lanes.inputs)
    for (Array& input : lane) input = adjust.continued->input(input);
}

// An array whose file is a folder is not written into while it is read, nor does a result replace a folder that an
// input lies in.
void check_outside(const OpenInputs& open, const std::string& onto, const Destinations& destinations) {
  namespace fs = std::filesystem;
  std::error_code ec;
  std::vector<std::string> origins = {onto};
  for (const OpenInput& input : open.inputs)
    if (!input.number) origins.push_back(input.origin);
  for (const std::string& origin : origins) {
    if (origin.empty() || !fs::exists(origin, ec)) continue;
    const std::string read = base::place_of(origin);
    for (const std::string& file : destinations.files) {
      if (file.empty() || base::is_stream(file)) continue;
      const std::string written = base::place_of(file);
      if (fs::is_directory(read, ec) && written.starts_with(read + "/"))
        throw Error(ErrorClass::argument,
                    fmt::format("output {} lies within the input {}", base::quoted(file), base::quoted(origin)));
      if (read.starts_with(written + "/"))
        throw Error(
            ErrorClass::argument,
            fmt::format("output {} would replace the folder of the input {}", base::quoted(file), base::quoted(origin)),
            {}, "write another name");
    }
  }
}

struct Done {
  std::vector<std::vector<Array>> results;  // of each lane
  Verdict verdict = Verdict::agrees;
};

Done run_one(const Program& program, Lanes& lanes, const RunOptions& options, const std::string& label,
             const RunSettings& settings) {
  Done all;
  all.results = run_lanes(program, lanes, options, label, settings);
  const int repeat = settings.repeat.value_or(10);
  if (settings.time && settings.window.empty()) measure(program, lanes, all.results, options, repeat);
  if (settings.time && !settings.window.empty()) measure_window(program, lanes, options, settings.window, repeat);
  if (!settings.window.empty()) cut_headers(program, lanes, settings.window);
  if (!settings.verify.empty()) {
    VerifyOptions how = parse_verify(settings.verify);
    how.quiet = settings.quiet;
    all.verdict = verify(program, lanes, all.results, options, how);
  }
  return all;
}

// Each page by itself; the first one is measured.
Done run_pages(const Program& program, Lanes& lanes, const RunOptions& options, const std::string& label,
               const RunSettings& settings, const base::InterruptGuard& interrupt, const Adjust& adjust) {
  Done all;
  std::vector<std::vector<std::vector<Array>>> pages;
  std::optional<Lanes> first;
  const i64 count = page_count(lanes);
  RunSettings own = settings;
  for (i64 k = 0; k < count; ++k) {
    stop_if(interrupt);
    Lanes page = page_of(lanes, k);
    adjust_all(adjust, page);
    if (own.time && count > 1) fmt::print("of the first of {} pages:\n", count);
    Done one = run_one(program, page, options, fmt::format("{} {}/{}", label, k + 1, count), own);
    own.time = false;
    all.verdict = std::max(all.verdict, one.verdict);  // the worst
    pages.push_back(std::move(one.results));
    if (!first) first = std::move(page);
  }
  all.results = stacked(lanes, pages);
  rejoin_headers(lanes, *first);
  return all;
}

}  // namespace

void RunSettings::declare_files(CLI::App& app, bool with_axes) {
  app.add_option("-o,--output", output.files, "where an output goes; without it a summary is printed")
      ->allow_extra_args(false)
      ->type_name("[NAME=]FILE");
  app.add_option("--roi", input.region, "read this region only, both ends inside; borders act at its edge")
      ->type_name("TOP,LEFT,BOTTOM,RIGHT");
  app.add_option("--window", window.text,
                 "compute this part of the results only: first indices, then last; borders are the image's")
      ->type_name("TOP,LEFT,BOTTOM,RIGHT");
  app.add_flag("--gray,--grey", input.grey, "run on the intensity of a colour image, not on each channel");
  app.add_option("--onto", output.onto, "write into a copy of this image, the rest of it unchanged")->type_name("FILE");
  app.add_option("--at", output.at, "where in that image (the place of --roi)")->type_name("TOP,LEFT");
  app.add_flag("--unit", input.unit, "integer samples are 0..1 on the way in, and results of 0..1 on the way out");
  app.add_option("--range", output.values.range, "results from LO to HI fill the range of the file's integers")
      ->allow_extra_args(false)
      ->type_name("LO,HI");
  app.add_flag("--stretch", output.values.stretch, "the same from the least to the largest value of a result");
  app.add_option("--compression", output.compression,
                 "none, deflate, lzw, packbits or zstd, deflate:9 with a level (that of the input)")
      ->type_name("NAME[:N]");
  app.add_option("--quality", output.quality, "of a JPEG, 1 to 100 (95)")->type_name("N");
  app.add_option("--levels", output.levels, "of an OME-Zarr, each half as fine as the one before (1)")->type_name("N");
  app.add_option("--chunk", output.chunk, "of Zarr, what is packed at once (near 2 MiB)")->type_name("ROWSxCOLUMNS");
  app.add_option("--shard", output.shard, "of Zarr, what is one file, of whole chunks (a chunk)")
      ->type_name("ROWSxCOLUMNS");
  app.add_option("--format", output.format, "of a result without a suffix: a pipe, a device, - for standard output")
      ->type_name("SUFFIX");
  app.add_option("--memory", memory,
                 "what the run may take; files that have parts are done in pieces (half of what is left)")
      ->type_name("2GiB");
  input.reading.declare(app, with_axes);
}

void RunSettings::declare(CLI::App& app, bool with_axes) {
  declare_files(app, with_axes);
  app.add_flag("--resume", resume, "go on with a run in pieces, or with many files, that was interrupted");
  app.add_flag("--dry-run", dry, "say in which pieces it would run, and how much memory that takes; run nothing");
  app.add_flag("--time", time, "measure: median, minimum, rates");
  app.add_option("--repeat", repeat, "runs that are measured (10)")->type_name("N");
  app.add_flag("--verify", verify, "compare with the interpreter; --verify sampled: windows of the result")
      ->type_name("[all|sampled[:SEED]]");
  app.add_flag("-q,--quiet", quiet, "no progress");
  plan.declare_run(app);
}

void RunSettings::declare_mpi(CLI::App& app) {
  app.add_flag("--mpi", mpi, "divide the result among the processes that mpirun starts (Open MPI)");
}

void RunSettings::check() const {
  if (repeat && (*repeat < 1 || *repeat > 1'000'000))
    throw Error(ErrorClass::argument, fmt::format("--repeat {} cannot be used, expected 1 to 1000000", *repeat));
  if (repeat && !time)
    throw Error(ErrorClass::argument, fmt::format("--repeat {} is given without --time", *repeat), {}, "add --time");
  if (!window.empty() && !verify.empty())
    throw Error(
        ErrorClass::argument,
        fmt::format("--verify compares whole results, but --window {} asks for a part", base::quoted(window.text)), {},
        "verify without the window");
  if (!window.empty() && !output.onto.empty())
    throw Error(
        ErrorClass::argument,
        fmt::format("--onto pastes what --roi was cut from, but --window {} is given", base::quoted(window.text)), {},
        "write the part into a file of its own");
  if (!window.empty() && output.values.stretch)
    throw Error(
        ErrorClass::argument,
        fmt::format("--stretch looks at a whole result, but --window {} asks for a part", base::quoted(window.text)),
        {}, "give the range by hand: --range LO,HI");
  if (dry && (time || !verify.empty()))
    throw Error(ErrorClass::argument,
                fmt::format("{} is of a run, but --dry-run runs nothing", time ? "--time" : "--verify"));
  output.check();
  for (const std::string& word : output.files) {
    const bool standard = word == "-" || cut_name(word).second == "-";
    if (standard && (time || !verify.empty()))
      throw Error(ErrorClass::argument, fmt::format("{} prints on standard output, where -o {} puts a result",
                                                    time ? "--time" : "--verify", base::quoted(word)));
  }
  base::limit_memory(memory ? parse_bytes(*memory, "--memory") : 0);
  input.reading.check();
  if (!verify.empty()) static_cast<void>(parse_verify(verify));
  static_cast<void>(plan.run_options());
}

struct Execution::State {
  Program program;
  std::string label;
  RunSettings settings;
  const base::InterruptGuard& interrupt;
  Adjust adjust;
  RunOptions options = {};
  OutputOptions output = {};
  Destinations destinations = {};
  std::vector<std::string> results = {};  // files
  i64 pages = 1;
  OpenInputs open = {};
  Lanes lanes = {};
  Done all = {};
  bool in_pieces = false;
  // Of one process, where nobody else runs it.
  std::unique_ptr<ranks::Ranks> alone = {};
  std::unique_ptr<ranks::Agreement> own = {};
  std::optional<ShareSummary> shares = {};
  std::optional<PieceWork> pieces = {};
  std::optional<Packed> packed = {};
};

Execution::Execution(Program program, std::string label, const std::vector<std::string>& words,
                     const std::map<std::string, double>& scalars, RunSettings settings,
                     const base::InterruptGuard& interrupt, Adjust adjust)
    : state_(new State{std::move(program), std::move(label), std::move(settings), interrupt, std::move(adjust)}) {
  State& s = *state_;
  s.options = s.settings.plan.run_options();
  s.options.cancel = &interrupt.flag();
  s.shares.emplace(s.options);
  s.alone = ranks::alone(&interrupt.flag());
  s.own = std::make_unique<ranks::Agreement>(*s.alone);
  if (s.settings.warns)
    for (const Diagnostic& warning : s.program.warnings()) tell("{}", warning.render());
  s.output = s.settings.output;
  s.output.values.unit = s.settings.input.unit;
  s.destinations = check_outputs(s.program, s.output);
  for (const std::string& file : s.destinations.files) s.settings.window.wanted.push_back(!file.empty());
  s.open = open_inputs(s.program, words, scalars, s.settings.input);
  s.pages = element_count(s.open.lanes.leading);
  s.results = number_pages(s.program, s.destinations, s.open.lanes.leading, s.output);
  check_outside(s.open, s.output.onto, s.destinations);
  ranks::Agreement& agreement = s.settings.agreement != nullptr ? *s.settings.agreement : *s.own;
  s.pieces.emplace(
      PieceRun{s.program, s.label, s.open, s.destinations, s.settings, s.options, interrupt, s.adjust, agreement});
}

Execution::~Execution() = default;

std::vector<Shape> Execution::shapes() const {
  std::vector<Shape> shapes;
  const OpenInputs& open = state_->open;
  for (std::size_t i = 0; i < open.inputs.size(); ++i) {
    Shape shape = open.inputs[i].number ? Shape{} : open.inputs[i].array.shape();
    if (open.lanes.paged[i]) shape.erase(shape.begin(), shape.begin() + std::ssize(open.lanes.leading));
    const auto& continued = state_->adjust.continued;
    if (continued != nullptr && !shape.empty()) shape = continued->input_shape(shape);
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

const Program& Execution::program() const {
  return state_->program;
}

const std::vector<std::string>& Execution::results() const {
  return state_->results;
}

i64 Execution::pages() const {
  return state_->pages;
}

i64 Execution::bytes() const {
  return state_->pieces->array_bytes();
}

void Execution::read() {
  State& s = *state_;
  s.in_pieces = s.pieces->is_wanted();
  if (s.in_pieces || s.settings.dry) return;
  s.lanes = bind_inputs(s.program, std::move(s.open), s.settings.input);
  s.open = {};
  s.settings.input.read.clear();
}

void Execution::compute() {
  State& s = *state_;
  stop_if(s.interrupt);
  if (s.settings.dry) return;
  if (s.in_pieces) {
    s.pieces->run();
    if (!s.settings.quiet) s.shares->tell_of(s.program);
    return;
  }
  if (s.lanes.leading.empty()) {
    adjust_all(s.adjust, s.lanes);
    s.all = run_one(s.program, s.lanes, s.options, s.label, s.settings);
  } else {
    s.all = run_pages(s.program, s.lanes, s.options, s.label, s.settings, s.interrupt, s.adjust);
  }
  if (!s.settings.quiet) s.shares->tell_of(s.program);
  stop_if(s.interrupt);
}

void Execution::pack() {
  State& s = *state_;
  if (s.in_pieces || s.settings.dry) return;
  const std::vector<Array> joined = join_lanes(s.program, s.lanes, s.all.results);
  stop_if(s.interrupt);
  s.packed.emplace(s.program, joined, s.lanes, s.destinations, s.output, s.settings.plan.threads);
  s.lanes = {};
  s.all.results.clear();
}

int Execution::keep() {
  State& s = *state_;
  if (s.settings.dry) {
    const std::string text = forecast();
    if (!silent) fmt::print("{}\n", text);
  }
  if (s.in_pieces || s.settings.dry) return done;
  if (!s.packed) pack();
  stop_if(s.interrupt);
  s.packed->keep();
  const Verdict verdict = s.all.verdict;
  return verdict == Verdict::agrees ? done : verdict == Verdict::amplifies ? amplified : internal_fault;
}

std::string Execution::forecast() {
  return state_->pieces->forecast();
}

int execute(const Program& program, const std::string& label, const std::vector<std::string>& words,
            const std::map<std::string, double>& scalars, const RunSettings& settings,
            const base::InterruptGuard& interrupt, const Adjust& adjust) {
  Execution execution(program, label, words, scalars, settings, interrupt, adjust);
  execution.read();
  execution.compute();
  return execution.keep();
}

}  // namespace tessera::cli
