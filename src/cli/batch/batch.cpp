// Many files; see batch.hpp.
#include "cli/batch/batch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <filesystem>
#include <map>
#include <mutex>
#include <new>
#include <numeric>
#include <optional>
#include <set>

#include "base/files/files.hpp"
#include "base/memory.hpp"
#include "base/process/deadline.hpp"
#include "base/progress.hpp"
#include "base/text.hpp"
#include "cli/batch/journal.hpp"
#include "cli/batch/names.hpp"
#include "cli/command.hpp"
#include "cli/execute/pages.hpp"
#include "cli/options/options.hpp"
#include "cli/tell.hpp"
#include "pieces/conveyor.hpp"
#include "run/cpu/parallel.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;

// Of what a batch may take, for a file that is there beside others. Three and those that are packed are under way, and
// each takes more than its arrays while it is decoded, computed and packed.
constexpr i64 parts_of_memory = 16;
// The same, for all files together that are computed and have no name yet, where there are several.
constexpr i64 parts_for_packing = 8;

// Of two files' statuses the one that is told: a fault of tessera before a file that failed, before rounding that the
// program amplifies.
int worse(int a, int b) {
  const auto weight = [](int status) {
    return status == done ? 0 : status == amplified ? 1 : status == internal_fault ? 3 : 2;
  };
  return weight(a) >= weight(b) ? a : b;
}

// How a batch ends: the files that failed, in their order.
class Outcome {
 public:
  void failed(const std::string& file, const std::string& message, int status) {
    tell("tessera: error: {}: {}\n", base::quoted(file), message == last_ ? "the same" : message);
    last_ = message;
    ++failures_;
    if (named_.size() < most_named) named_.push_back(base::quoted(file));
    status_ = worse(status_, status);
  }
  void ended(int status) { status_ = worse(status_, status); }

  int finish(std::size_t files) {
    if (failures_ == 0) return status_;
    if (failures_ > named_.size()) named_.push_back(fmt::format("{} more", failures_ - named_.size()));
    tell("tessera: {} of {} files failed: {}\n", failures_, files, base::list_of(named_, "and"));
    return status_;
  }

 private:
  static constexpr std::size_t most_named = 20;
  std::vector<std::string> named_;
  std::string last_;  // message
  std::size_t failures_ = 0;
  int status_ = done;
};

// Lets a station wait until files before one are done with.
class Order {
 public:
  explicit Order(const base::InterruptGuard& interrupt) : interrupt_(interrupt) {}

  // False where the batch has ended.
  bool wait_for(i64 files) {
    std::unique_lock lock(mutex_);
    while (done_ < files && !ended_) {
      changed_.wait_for(lock, std::chrono::milliseconds(50));
      if (interrupt_.interrupted()) throw Error(ErrorClass::cancelled, "interrupted");
    }
    return !ended_;
  }
  // Waits until these bytes find room beside others, or are alone. False where the batch has ended.
  bool take_room(i64 bytes, i64 most) {
    std::unique_lock lock(mutex_);
    while (held_ > 0 && held_ + bytes > most && !ended_) {
      changed_.wait_for(lock, std::chrono::milliseconds(50));
      if (interrupt_.interrupted()) throw Error(ErrorClass::cancelled, "interrupted");
    }
    held_ += bytes;
    return !ended_;
  }
  // So many files, and the last one's bytes are free.
  void done(i64 files, i64 bytes) {
    const std::lock_guard lock(mutex_);
    done_ = files;
    held_ -= bytes;
    changed_.notify_all();
  }
  void end() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }

 private:
  const base::InterruptGuard& interrupt_;
  std::mutex mutex_;
  std::condition_variable changed_;
  i64 done_ = 0, held_ = 0;
  bool ended_ = false;
};

struct Job {
  std::unique_ptr<Execution> execution;
  std::exception_ptr failure;
  std::vector<std::string> results;  // once it is open
  i64 bytes = 0;                     // that it takes between computing and its name
  bool done = false;                 // by a run before
};

std::string folder_of(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

class Run {
 public:
  Run(const Batch& batch, std::vector<std::string> files, std::vector<std::vector<std::string>> outputs,
      const base::InterruptGuard& interrupt)
      : batch_(batch),
        files_(std::move(files)),
        outputs_(std::move(outputs)),
        interrupt_(interrupt),
        order_(interrupt),
        jobs_(files_.size()) {
    by_page_ = std::ranges::any_of(outputs_.front(),
                                   [](const std::string& word) { return word.find(page_mark) != std::string::npos; });
    if (!by_page_) return;
    for (const std::string& file : files_) sources_.insert(base::place_of(file));
  }

  int run() {
    const RunSettings& s = batch_.settings;
    if (s.resume) begin_journal();
    try {
      go();
    } catch (...) {
      if (journal_)
        tell("note: {} of {} files are done; --resume goes on with the others\n", done_count_, files_.size());
      throw;
    }
    const int status = outcome_.finish(files_.size());
    if (journal_ && status == done) journal_->remove();
    return status;
  }

 private:
  void go() {
    const RunSettings& s = batch_.settings;
    // What is measured has the machine for itself, and what is printed of a file stands together.
    if (s.time || !s.verify.empty())
      one_by_one();
    else
      beside_each_other();
  }

  // The paths of what becomes of a file; of its pages, once it is known how many there are.
  std::vector<std::string> results_of(std::size_t file) const {
    if (!jobs_[file].results.empty()) return jobs_[file].results;
    std::vector<std::string> paths;
    const i64 pages = by_page_ && journal_ ? journal_->pages_of(files_[file]) : 0;
    for (const std::string& word : outputs_[file]) {
      const std::string path = cut_name(word).second;
      if (path.find(page_mark) == std::string::npos)
        paths.push_back(path);
      else
        for (i64 page = 0; page < pages; ++page) paths.push_back(name_of_page(path, page, pages));
    }
    return paths;
  }

  // How many pages a file has shows late: whether its results meet those of others does, too.
  void claim_results(std::size_t file) {
    if (!by_page_) return;
    for (const std::string& path : jobs_[file].results) {
      const std::string place = base::place_of(path);
      const std::size_t other = written_.emplace(place, file).first->second;
      if (other == file && !sources_.contains(place)) continue;
      throw Error(ErrorClass::argument,
                  fmt::format("it would be written into {}, {}", base::quoted(path),
                              other == file ? "which is an input" : "as " + base::quoted(files_[other]) + " is"),
                  {}, "write names that differ before {page}, into another folder");
    }
  }

  void begin_journal() {
    const RunSettings& s = batch_.settings;
    if (s.output.files.empty() || s.time || !s.verify.empty())
      throw Error(ErrorClass::argument, "--resume leaves files out that are done, which takes a file for each result",
                  {}, "add -o 'out/{stem}.tif', or leave --resume out");
    journal_.emplace(folder_of(cut_name(outputs_.front().front()).second), batch_.work);
    for (std::size_t k = 0; k < files_.size(); ++k) {
      jobs_[k].done = journal_->is_done(files_[k], results_of(k));
      if (jobs_[k].done) ++done_count_;
    }
    if (done_count_ > 0 && !s.quiet)
      tell("{}: {} of {} files are done already\n", batch_.label, done_count_, files_.size());
  }

  void one_by_one() {
    for (std::size_t k = 0; k < files_.size(); ++k) {
      stop_if_interrupted();
      fmt::print("{}\n", files_[k]);
      guarded(k, [&] {
        open(k, 0);
        jobs_[k].execution->read();
      });
      guarded(k, [&] { jobs_[k].execution->compute(); });
      keep(k, false);
    }
  }

  void beside_each_other() {
    std::vector<i64> all(files_.size());
    std::iota(all.begin(), all.end(), i64{0});
    std::optional<base::ProgressBar> bar;
    if (!batch_.settings.quiet) bar.emplace(batch_.label, static_cast<i64>(all.size()), "files");
    const bool named = batch_.settings.output.files.empty();
    const auto station = [&](i64 number, const auto& step) {
      const base::Deadline cancel(0, &interrupt_.flag());
      try {
        step(static_cast<std::size_t>(number));
      } catch (...) {
        order_.end();
        throw;
      }
      return pieces::Arrays();
    };
    pieces::convey(
        all,
        {.read = [&](i64 k) { return station(k, [&](std::size_t file) { read(file); }); },
         .compute = [&](i64 k, const pieces::Arrays&) { return station(k, [&](std::size_t file) { compute(file); }); },
         .write = [&](i64 k, const pieces::Arrays&) { station(k, [&](std::size_t file) { write(file, named); }); },
         .done =
             [&](i64 files) {
               if (bar) bar->update(files);
             },
         .writers = run::cpu::thread_count(batch_.settings.plan.threads)},
        &interrupt_.flag());
    if (bar) bar->finish();
  }

  void stop_if_interrupted() const {
    if (interrupt_.interrupted()) throw Error(ErrorClass::cancelled, "interrupted");
  }

  // A step of one file: what it throws is that file's failure, but the end of all.
  template <class F>
  void guarded(std::size_t file, const F& step) {
    Job& job = jobs_[file];
    if (job.failure || job.done) return;
    try {
      step();
    } catch (const Error& error) {
      if (error.error_class() == ErrorClass::cancelled) throw;
      job.failure = std::current_exception();
    } catch (...) {
      job.failure = std::current_exception();
    }
    if (job.failure) job.execution.reset();
  }

  // `most`: bytes that an input may take; 0: as all of them.
  void open(std::size_t file, i64 most) {
    RunSettings own = batch_.settings;
    own.output.files = outputs_[file];
    own.of_several = true;
    own.warns = !warned_;
    own.input.reading.most_bytes = most;
    // What a file in pieces left is gone on with.
    std::error_code ec;
    own.resume = own.resume && std::ranges::any_of(results_of(file), [&](const std::string& path) {
                   return fs::exists(base::followed(path) + ".journal", ec);
                 });
    jobs_[file].execution = batch_.open(files_[file], std::move(own));
    jobs_[file].results = jobs_[file].execution->results();
    jobs_[file].bytes = jobs_[file].execution->bytes();
    claim_results(file);
    warned_ = true;
  }

  // A file that takes little is read beside others, one that takes more once they are done with.
  void read(std::size_t file) {
    if (alone_ && !order_.wait_for(static_cast<i64>(file))) return;
    alone_ = false;
    stop_if_interrupted();
    const i64 part = base::memory_limit() / parts_of_memory;
    guarded(file, [&] {
      bool fits = false;
      try {
        open(file, part);
        fits = jobs_[file].bytes <= part;
      } catch (const Error& error) {
        if (error.error_class() == ErrorClass::cancelled) throw;
        // What is wrong with a file shows again when it is alone.
      }
      if (!fits) {
        alone_ = true;
        jobs_[file].execution.reset();
        if (!order_.wait_for(static_cast<i64>(file))) return;
        open(file, 0);
      }
      jobs_[file].execution->read();
    });
  }

  void compute(std::size_t file) {
    Job& job = jobs_[file];
    if (!order_.take_room(job.bytes, base::memory_limit() / parts_for_packing)) return;
    guarded(file, [&] { job.execution->compute(); });
  }

  // Files are packed beside each other, and named one after the other.
  void write(std::size_t file, bool named) {
    const auto number = static_cast<i64>(file);
    guarded(file, [&] { jobs_[file].execution->pack(); });
    if (!order_.wait_for(number)) return;
    keep(file, named);
    order_.done(number + 1, jobs_[file].bytes);
  }

  // In the order of files: what is told of them is, too.
  void keep(std::size_t file, bool named) {
    Job& job = jobs_[file];
    guarded(file, [&] {
      if (named) fmt::print("{}\n", files_[file]);
      outcome_.ended(job.execution->keep());
      const i64 pages = job.execution->pages();
      job.execution.reset();
      if (!journal_) return;
      if (by_page_) journal_->add_pages(files_[file], pages);
      journal_->add(files_[file], results_of(file));
      ++done_count_;
    });
    if (!job.failure) return;
    try {
      std::rethrow_exception(job.failure);
    } catch (const Error& error) {
      const bool fault = error.error_class() == ErrorClass::internal;
      outcome_.failed(files_[file], error.what(), fault ? internal_fault : usage_faulty);
    } catch (const std::bad_alloc&) {
      outcome_.failed(files_[file], "out of memory", usage_faulty);
    } catch (const std::exception& error) {
      outcome_.failed(files_[file], fmt::format("unexpected failure: {}", error.what()), internal_fault);
    }
  }

  const Batch& batch_;
  const std::vector<std::string> files_;
  const std::vector<std::vector<std::string>> outputs_;
  const base::InterruptGuard& interrupt_;
  Order order_;
  std::vector<Job> jobs_;
  Outcome outcome_;
  std::optional<BatchJournal> journal_;
  std::size_t done_count_ = 0;     // by the journal
  bool by_page_ = false;           // a result is a file for each page
  std::set<std::string> sources_;  // where the files lie, and their results, by file; where by_page_
  std::map<std::string, std::size_t> written_;
  bool alone_ = false;   // the file before takes much
  bool warned_ = false;  // of the program and of its options
};

}  // namespace

int run_batch(const Batch& batch, const base::InterruptGuard& interrupt) {
  std::vector<std::string> files = files_in(batch.words);
  if (batch.settings.mpi && files.size() > 1)
    throw Error(ErrorClass::argument,
                fmt::format("--mpi divides one result among ranks, but {} inputs are given", files.size()), {},
                "give one input, or run without --mpi");
  std::vector<std::vector<std::string>> outputs =
      destinations_of(files, batch.settings.output, batch.settings.input.reading.pages, files != batch.words);
  if (files.size() > 1) return Run(batch, std::move(files), std::move(outputs), interrupt).run();
  RunSettings own = batch.settings;
  own.output.files = outputs.front();
  const std::unique_ptr<Execution> execution = batch.open(files.front(), std::move(own));
  execution->read();
  execution->compute();
  return execution->keep();
}

}  // namespace tessera::cli
