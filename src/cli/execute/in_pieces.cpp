// See in_pieces.hpp.
#include "cli/execute/in_pieces.hpp"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "base/files/files.hpp"
#include "base/hash.hpp"
#include "base/memory.hpp"
#include "base/text.hpp"
#include "cli/execute/exchange.hpp"
#include "cli/execute/passes.hpp"
#include "cli/execute/result_pass.hpp"
#include "engine/filters/filters.hpp"
#include "engine/passes/passes.hpp"
#include "engine/program_impl.hpp"
#include "io/regions/regions.hpp"
#include "ir/graph.hpp"
#include "lang/compile.hpp"
#include "run/cpu/built_in.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {
namespace {

[[noreturn]] void fail(std::string message, std::string help = "") {
  throw Error(ErrorClass::argument, std::move(message), {}, std::move(help));
}

std::string in_words(i64 bytes) {
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
  if (!run.inputs.lanes.leading.empty()) return "--pages takes a whole stack";
  // (Ranks divide what is computed, too, and what has no image to begin with is computed alone.)
  const std::vector<OpenInput>& inputs = run.inputs.inputs;
  const auto is_image = [](const OpenInput& i) { return !i.number; };
  if (!s.mpi && std::ranges::any_of(inputs, is_image) &&
      std::ranges::none_of(inputs, [](const OpenInput& i) { return i.reader != nullptr; }))
    return "no input has a format with parts";
  for (std::size_t o = 0; o < run.destinations.files.size(); ++o) {
    if (run.destinations.files[o].empty()) return "every output needs a file: a summary takes a whole result";
    if (!io::is_written_by_regions(run.destinations.files[o]))
      return fmt::format("{} has a format without parts", base::quoted(run.destinations.files[o]));
  }
  return "";
}

}  // namespace

class PieceWork::Work {
 public:
  explicit Work(const PieceRun& run) : run_(run), agreement_(run.agreement), first_(run.agreement.ranks().rank() == 0) {
    for (OpenInput& input : run_.inputs.inputs) {
      if (!has_pages()) input.continued = run.adjust.continued;
      shapes_.push_back(input.taken_shape());
    }
  }

  i64 array_bytes() const {
    if (has_pages()) {  // results are taken for as large
      i64 bytes = 0;
      for (const OpenInput& input : run_.inputs.inputs)
        if (!input.number)
          bytes += 2 * element_count(input.array.shape()) * static_cast<i64>(input.array.format().size());
      return bytes;
    }
    const i64 lanes = static_cast<i64>(run_.inputs.lanes.inputs.size());
    i64 bytes = 0;
    for (std::size_t i = 0; i < shapes_.size(); ++i)
      if (!run_.inputs.inputs[i].number)
        bytes += element_count(shapes_[i]) * static_cast<i64>(run_.inputs.inputs[i].array.format().size() +
                                                              lanes * run_.program.inputs()[i].format.size());
    const std::vector<Shape> results = run_.program.output_shapes_of(shapes_);
    for (std::size_t o = 0; o < results.size(); ++o)
      bytes += element_count(results[o]) * lanes * static_cast<i64>(run_.program.outputs()[o].format.size());
    return bytes;
  }
  bool is_wanted() {
    const RunSettings& settings = run_.settings;
    const bool asked = settings.resume || settings.mpi;
    const std::string why_not = not_in_pieces(run_);
    constexpr i64 plenty = 16;  // times what inputs and outputs take: nobody has to look closer
    const i64 most = base::memory_limit();
    if (!why_not.empty()) {
      if (settings.mpi) fail("--mpi divides a result into pieces: " + why_not);
      if (settings.resume) fail("--resume goes on with a run in pieces: " + why_not);
      const i64 arrays = settings.memory ? array_bytes() : 0;
      if (arrays >= most / plenty && arrays + resident_memory() > most)
        fail(fmt::format("{}, so that the result is not made in pieces; in memory inputs and outputs take {}", why_not,
                         in_words(arrays)),
             "allow more with --memory SIZE");
      return false;
    }
    const i64 arrays = array_bytes();
    if (!asked && arrays < most / plenty) return false;
    const std::string why = not_in_windows();
    if (!why.empty()) {
      if (settings.mpi) fail(why + ", so that ranks cannot divide the result", "run without --mpi");
      if (settings.resume || (settings.memory && arrays + resident_memory() > most))
        fail(fmt::format("{}, so that the result is not made in pieces; in memory inputs and outputs take {}", why,
                         in_words(arrays)),
             "allow more with --memory SIZE, without --resume");
      return false;
    }
    return wanted_ = asked || room_.held + in_memory() > most;
  }

  std::string forecast() {
    if (wanted_) return forecast_in_pieces();
    const i64 arrays = array_bytes();
    if (has_pages() || !not_in_windows().empty())
      return fmt::format("{}: in memory, inputs and outputs take {}", run_.label, in_words(arrays));
    return fmt::format("{}: in memory, at most {}", run_.label, in_words(at_most(room_.held + in_memory())));
  }

  void run() {
    // What is given back goes back to the system. Otherwise it stays with the thread that took it, where others do not
    // find it, and more is resident than was said.
    constexpr int apart = 1 << 20;  // bytes
    ::mallopt(M_MMAP_THRESHOLD, apart);
    if (run_.adjust.headers) run_.adjust.headers(run_.inputs.lanes);
    take_apart();
    agree_on_room();
    PassPlan plan;
    // Where ranks differ in what they have done, they begin again.
    std::optional<pieces::PassRecord> record;
    try {
      plan = plan_passes(pass_run());
      if (!passes_->body().empty() && agreement_.ranks().size() == 1) record.emplace(run_.destinations.files.front());
      if (first_) {
        for (const auto& result : results_) result->begin(room_.memory, identity(true));
        if (record && !all_done()) record->begin(identity_of(plan), run_.settings.resume);
        if (!record) pieces::PassRecord::remove(run_.destinations.files.front());
      }
      compare_work();
      for (const auto& result : results_) result->share(room_);
      agreement_.step();
    } catch (const pieces::TooLittle&) {
      for (const auto& result : results_) result->leave();
      too_little();
    } catch (...) {
      for (const auto& result : results_) result->leave();
      throw;
    }
    run::cpu::end_idle_compilers();  // all code is made
    std::vector<std::vector<Source>> sources(results_.size());
    if (!passes_->body().empty() && !all_done()) {
      PassRun run = pass_run();
      if (record) run.record = &*record;
      sources = run_passes(run, plan);
      for (std::size_t k = 0; k < results_.size(); ++k)
        exchange(agreement_, results_[k]->program(), sources[k], [&](int rank) { return results_[k]->reads_of(rank); });
    }
    for (std::size_t k = 0; k < results_.size(); ++k) {
      agreement_.part();
      results_[k]->run(room_, std::move(sources[k]));
      agreement_.meet();  // what is told of one result is not taken for another one
    }
    if (record) record->remove();
    if (first_)
      for (const auto& result : results_) result->commit();
    agreement_.step();
    for (const auto& result : results_) result->tell_of_values();
  }

 private:
  bool all_done() const {
    return std::ranges::all_of(results_, [](const auto& result) { return result->is_done(); });
  }
  bool has_pages() const { return !run_.inputs.lanes.leading.empty(); }

  // Why outputs have no windows: "stage 'm' reads at places that it computes"; "" where they have.
  std::string not_in_windows() {
    if (!passes().why_not().empty()) return passes().why_not();
    if (!run_.settings.window.empty())  // of results whose parts can be had alone
      for (const Locality& locality : run_.program.locality())
        if (!locality.global.empty()) return locality.global;
    take_apart();
    return run_.settings.window.empty() || results_.size() == 1 ? "" : "outputs have several shapes";
  }

  // Bytes of all of it at once; of what has windows.
  i64 in_memory() const {
    i64 packing = 0;
    if (std::ranges::any_of(run_.destinations.files, io::is_chunked_name)) {
      const TemporaryFolder folder;
      for (const auto& result : results_) packing = std::max(packing, result->packing(folder.path));
    }
    if (results_.size() == 1 && passes_->body().empty()) return results_.front()->in_memory() + packing;
    i64 bytes = array_bytes() + packing;
    for (std::size_t a = 0; a < passes_->arrays().size(); ++a)
      if (passes_->arrays()[a].kind == ir::host::Array::Kind::own)
        bytes +=
            element_count(passes_->shape_of(a, parameters_)) * static_cast<i64>(passes_->arrays()[a].format.size());
    return bytes;
  }

  // Nothing is left of it.
  std::string forecast_in_pieces() {
    if (run_.adjust.headers) run_.adjust.headers(run_.inputs.lanes);
    agree_on_room();
    if (!first_) return "";
    const TemporaryFolder folder;
    std::string text;
    try {
      for (const auto& result : results_) text += result->forecast(folder.path, room_) + "\n";
      if (!passes_->body().empty()) text += plan_passes(pass_run()).said;
    } catch (const pieces::TooLittle&) {
      too_little();
    }
    text.pop_back();
    return text;
  }

  // Says how much memory is enough.
  [[noreturn]] void too_little() {
    constexpr i64 unit = i64{8} << 20;
    constexpr int turns = 4;
    const i64 allowed = base::memory_limit();
    const Room room = room_;
    std::optional<i64> whole;
    if (!run_.settings.resume && !run_.settings.mpi) whole = in_memory();
    const i64 more = allowed - room.memory - room.held;  // that another rank holds
    const auto size_for = [&](i64 needed) { return (needed + room.later + more + unit - 1) / unit * unit; };
    // With more memory a row of steps may be cut elsewhere. (Other ranks do not know that something is asked.)
    pieces::TooLittle enough = least();
    for (int turn = 0; turn < turns && agreement_.ranks().size() == 1; ++turn) {
      const i64 memory = size_for(enough.needed) - room.later - more;
      cut_for({memory, room.held, room.later});
      pieces::TooLittle then = least();
      if (then.needed <= memory) break;
      std::swap(enough, then);
    }
    const i64 size = size_for(whole ? std::min(enough.needed, *whole) : enough.needed) >> 20;
    const bool chunks = std::ranges::any_of(run_.destinations.files, io::is_chunked_name);
    fail(fmt::format("the least piece of the result, {}, takes {} beside the {} of the process, but --memory allows {}",
                     to_string(enough.piece), in_words(enough.needed), in_words(room.held + more), in_words(allowed)),
         fmt::format("--memory {}MiB is enough{}", size, chunks ? "; smaller chunks take less: --chunk" : ""));
  }

  // The piece of all passes and results that takes most, and is as small as it can be.
  pieces::TooLittle least() {
    const TemporaryFolder folder;
    pieces::TooLittle most = least_of_passes(pass_run());
    for (const auto& result : results_) {
      pieces::TooLittle own = result->least(folder.path);
      if (own.needed > most.needed) std::swap(most, own);
    }
    return most;
  }

  void cut_for(const Room& room) {
    room_ = room;
    results_.clear();
    passes_ = passes_of(1);
    shorten();
    make_results();
  }

  const engine::Passes& passes() {
    if (!passes_) passes_ = std::make_unique<engine::Passes>(run_.program);
    return *passes_;
  }

  // A long row of steps becomes shorter ones, twice as many in each turn, as long as its pieces do not fit or read half
  // as much again as they make. Gives how many.
  i64 shorten() {
    constexpr double plenty = 1.5;
    constexpr i64 most = 64;
    i64 chosen = 1;
    PassReads best = reads_of_passes(pass_run());
    const auto good = [&](const PassReads& reads) { return reads.lacking <= 0 && reads.times <= plenty; };
    if (!good(best)) best = measured();
    for (i64 parts = 2; parts <= most && !good(best); parts *= 2) {
      std::unique_ptr<const engine::Passes> shorter = passes_of(parts);
      if (shorter->passes().size() == passes_->passes().size()) continue;  // no place to cut at
      std::swap(passes_, shorter);
      const PassReads reads = measured();
      if (reads < best) {
        best = reads;
        chosen = parts;
      } else {
        std::swap(passes_, shorter);
      }
    }
    return chosen;
  }
  // By the chunks that the results are going to have.
  PassReads measured() {
    PassReads reads = reads_of_passes(pass_run());
    const TemporaryFolder folder;
    make_results();
    for (const auto& result : results_)
      reads.lacking = std::max(reads.lacking, result->least(folder.path).needed - room_.memory);
    results_.clear();
    return reads;
  }
  std::unique_ptr<const engine::Passes> passes_of(i64 parts) const {
    return std::make_unique<engine::Passes>(run_.program, static_cast<std::size_t>(parts));
  }

  void take_apart() {
    if (!results_.empty()) return;
    parameters_ = passes().parameters(shapes_);
    agree_on_room();
    // What pieces take depends on the machine: all ranks have the passes of rank 0.
    const i64 parts = agreement_.broadcast({first_ ? shorten() : 1}).front();
    if (!first_ && parts > 1) passes_ = passes_of(parts);
    make_results();
  }
  void make_results() {
    for (const std::size_t last : passes_->last()) {
      const engine::Pass& pass = passes_->passes()[last];
      std::vector<std::size_t> outputs;
      for (const auto& array : pass.outputs) outputs.push_back(passes_->arrays()[*array].index);
      results_.push_back(std::make_unique<ResultPass>(
          run_, pass, std::move(outputs), sources_of(*passes_, pass, parameters_, run_.inputs), parameters_));
    }
  }

  // Of all ranks: what they choose by it is the same.
  void agree_on_room() { room_ = room_of(base::memory_limit(), agreement_); }

  PassRun pass_run() const { return {run_, *passes_, parameters_, room_}; }

  // Machines may see other files under the same names.
  void compare_work() {
    const std::string own = base::to_hex(identity(false));
    if (agreement_.all_gather(own).front() != own)
      fail("this rank has other work than rank 0: the program, its options, or what an input holds differs",
           "run where all ranks see the same files");
  }

  // What is computed, of what: pieces of another one are none of this. `changes`: of files, when they were changed,
  // too.
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
    if (run_.adjust.continued != nullptr)
      for (const Border& border : run_.adjust.continued->borders) hasher.text(lang::text_of(border));
    hasher.number(run_.settings.input.unit ? 1 : 0);
    for (const std::string& range : run_.settings.output.values.range) hasher.text(range);
    hasher.text(run_.settings.output.compression).number(run_.settings.output.levels);
    hasher.text(run_.settings.output.chunk).text(run_.settings.output.shard);
    for (const std::string& file : run_.destinations.files) hasher.text(base::place_of(file));
    return hasher.finish();
  }

  // Of passes: what is done of one in other pieces is none of this.
  base::Digest identity_of(const PassPlan& plan) const {
    base::Hasher hasher;
    hasher.text(base::to_hex(identity(true))).number(static_cast<i64>(plan.passes.size()));
    for (const auto& pass : plan.passes) hasher.text(pass ? to_string(pass->pieces.grid.piece) : "");
    return hasher.finish();
  }

  const PieceRun run_;
  ranks::Agreement& agreement_;
  const bool first_;           // rank 0
  std::vector<Shape> shapes_;  // of inputs
  Room room_;
  std::unique_ptr<const engine::Passes> passes_;
  std::vector<i64> parameters_;
  std::vector<std::unique_ptr<ResultPass>> results_;
  bool wanted_ = false;
};

PieceWork::PieceWork(const PieceRun& run) : work_(std::make_unique<Work>(run)) {}
PieceWork::~PieceWork() = default;

i64 PieceWork::array_bytes() const {
  return work_->array_bytes();
}
bool PieceWork::is_wanted() {
  return work_->is_wanted();
}
void PieceWork::run() {
  work_->run();
}
std::string PieceWork::forecast() {
  return work_->forecast();
}

}  // namespace tessera::cli
