// Many files; see batch.hpp.
#include "cli/execute/batch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <new>

#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/options/options.hpp"
#include "cli/tell.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(std::string message, std::string help = "") {
  throw Error(ErrorClass::argument, std::move(message), {}, std::move(help));
}

// "brain" of "scans/brain.nii.gz", "cells" of "cells.ome.tif".
std::string stem_of(const std::string& file) {
  fs::path stem = fs::path(file).stem();
  const std::string suffix = base::to_lower(fs::path(file).extension().string());
  const std::string inner = base::to_lower(stem.extension().string());
  const bool packed = suffix == ".gz" && (inner == ".nii" || inner == ".hdr" || inner == ".img");
  if (packed || ((suffix == ".tif" || suffix == ".tiff") && inner == ".ome")) stem = stem.stem();
  return stem.string();
}

std::string expanded(const std::string& text, const std::string& file, std::size_t index, std::size_t count) {
  // In one go: a file may be called {index}.png.
  std::string result;
  const std::string number = fmt::format("{:0{}}", index, std::to_string(count - 1).size());
  for (std::size_t i = 0; i < text.size();) {
    const auto take = [&](std::string_view pattern, const std::string& value) {
      if (!std::string_view(text).substr(i).starts_with(pattern)) return false;
      result += value;
      i += pattern.size();
      return true;
    };
    if (take("{stem}", stem_of(file)) || take("{name}", fs::path(file).filename().string()) || take("{index}", number))
      continue;
    result += text[i++];
  }
  return result;
}

// One spelling for each place, whether a file is there or not.
std::string place_of(const std::string& path) {
  std::error_code ec;
  const fs::path whole = fs::weakly_canonical(fs::absolute(path, ec), ec);
  return ec ? path : whole.string();
}

// The words of -o for each file.
std::vector<std::vector<std::string>> destinations(const std::vector<std::string>& files, const RunSettings& settings) {
  std::vector<std::vector<std::string>> result;
  std::map<std::string, std::string> written, read;
  for (const std::string& file : files) read.emplace(place_of(file), file);
  for (std::size_t k = 0; k < files.size(); ++k) {
    std::vector<std::string>& words = result.emplace_back();
    for (const std::string& word : settings.output.files) {
      words.push_back(expanded(word, files[k], k, files.size()));
      if (files.size() == 1) continue;
      if (words.back() == word)
        fail(fmt::format("-o {} is one file for {} inputs", base::quoted(word), files.size()),
             "write -o 'out/{stem}.tif', where {stem} becomes the name of each input without its suffix, {name} the "
             "name, {index} its number");
      const auto [name, path] = cut_name(words.back());
      const std::string place = place_of(path);
      const auto [other, fresh] = written.emplace(place, files[k]);
      if (!fresh)
        fail(fmt::format("{} and {} would both be written into {}", base::quoted(other->second), base::quoted(files[k]),
                         base::quoted(path)),
             "add {index} to the name behind -o");
      const auto source = read.find(place);
      if (source != read.end() && source->second != files[k])
        fail(fmt::format("what becomes of {} would be written into {}, which is another input", base::quoted(files[k]),
                         base::quoted(path)),
             "write into another folder");
    }
  }
  return result;
}

// Of two files' statuses the one that is told: a fault of tessera before a file that failed, before rounding that the
// program amplifies.
int worse(int a, int b) {
  const auto weight = [](int status) {
    return status == done ? 0 : status == amplified ? 1 : status == internal_fault ? 3 : 2;
  };
  return weight(a) >= weight(b) ? a : b;
}

struct Failures {
  std::vector<std::string> files;
  std::string last;  // message

  void add(const std::string& file, const std::string& message) {
    tell("tessera: error: {}: {}\n", base::quoted(file), message == last ? "the same" : message);
    last = message;
    files.push_back(base::quoted(file));
  }
};

}  // namespace

int run_batch(const std::vector<std::string>& files, const RunSettings& settings, const base::InterruptGuard& interrupt,
              const std::function<int(const std::string& file, RunSettings settings)>& one) {
  if (settings.mpi && files.size() > 1)
    fail(fmt::format("--mpi divides one result among ranks, but {} inputs are given", files.size()),
         "give one input, or run without --mpi");
  const auto outputs = destinations(files, settings);
  Failures failures;
  int status = done;
  for (std::size_t k = 0; k < files.size(); ++k) {
    RunSettings own = settings;
    own.output.files = outputs[k];
    if (files.size() == 1) return one(files[k], std::move(own));
    if (interrupt.interrupted()) throw Error(ErrorClass::cancelled, "interrupted");
    if (settings.output.files.empty() || settings.time || !settings.verify.empty()) fmt::print("{}\n", files[k]);
    try {
      status = worse(status, one(files[k], std::move(own)));
    } catch (const Error& error) {
      if (error.error_class() == ErrorClass::cancelled) throw;
      failures.add(files[k], error.what());
      status = worse(status, error.error_class() == ErrorClass::internal ? internal_fault : usage_faulty);
    } catch (const std::bad_alloc&) {
      failures.add(files[k], "out of memory");
      status = worse(status, usage_faulty);
    }
  }
  if (!failures.files.empty())
    tell("tessera: {} of {} files failed: {}\n", failures.files.size(), files.size(),
         base::list_of(failures.files, "and"));
  return status;
}

}  // namespace tessera::cli
