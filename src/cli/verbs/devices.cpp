// `tessera devices`: what programs can run on here.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/files/cache.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/verbs.hpp"
#include "run/cpu/compiler.hpp"
#include "run/cpu/copy_rate.hpp"
#include "run/cpu/machine.hpp"
#include "run/cuda/cuda.hpp"
#include "run/opencl/opencl.hpp"

namespace tessera::cli {
namespace {

std::string size(i64 bytes) {
  return base::format_bytes(static_cast<double>(bytes));
}

// The rates of copies in memory: those that are known, all of them where they are to be measured.
std::string copies(int cores, bool measure) {
  std::vector<int> counts = {1};
  if (cores > 1) counts.push_back(cores);
  std::vector<std::string> rates;
  for (const int threads : counts) {
    const run::cpu::Traffic traffic = run::cpu::whole_copy(threads);
    const auto found =
        measure ? std::optional(run::cpu::measure_copy_rate(traffic)) : run::cpu::known_copy_rate(traffic);
    if (found)
      rates.push_back(fmt::format("{:.4g} GB/s on {} thread{}", found->rate, threads, threads == 1 ? "" : "s"));
  }
  return rates.empty() ? "not measured yet; tessera devices --measure does" : fmt::format("{}", fmt::join(rates, ", "));
}

void print_cpu(bool measure) {
  const run::cpu::Machine& m = run::cpu::machine();
  fmt::print("cpu: {}\n", m.name);
  fmt::print("  cores      {}\n", m.cores);
  fmt::print("  vectors    {} bits\n", 8 * m.vector_bytes);
  fmt::print("  caches     L1 {}, L2 {} per core, L3 {}\n", size(m.l1), size(m.l2), m.l3 > 0 ? size(m.l3) : "none");
  std::string reason;
  const std::string compiler = run::cpu::available_compiler(&reason);
  fmt::print("  compiler   {}\n", compiler.empty() ? "none: " + reason : compiler);
  const base::Cache& cache = base::Cache::user();
  fmt::print("  cache      {}\n",
             cache.folder().empty() ? "off" : fmt::format("{}, {}", cache.folder(), size(cache.size())));
  fmt::print("  copy       {}\n", copies(m.cores, measure));
}

void print_opencl() {
  const run::gpu::Found found = run::opencl::find();
  for (const run::gpu::Limits& l : found.devices) {
    fmt::print("opencl {}: {}\n", l.index, l.name);
    fmt::print("  units      {}, up to {} threads a group\n", l.multiprocessors, l.threads_per_block);
    fmt::print("  memory     {}{}, {} shared in a group\n", size(l.memory_bytes), l.integrated ? " of the host's" : "",
               size(l.shared_bytes_per_block));
    fmt::print("  driver     {}\n", l.driver);
  }
  if (found.devices.empty())
    fmt::print("opencl: none, {}{}\n", found.missing,
               found.notes.empty() ? "" : "; " + found.notes.back());  // the variable that points to another library
}

void print_cuda() {
  const run::gpu::Found found = run::cuda::find();
  if (!found.missing.empty()) {
    // The last note says which variable would help.
    const std::string hint = found.notes.empty() ? "" : "; " + found.notes.back();
    fmt::print("cuda: none, {}{}\n", found.missing, hint);
    return;
  }
  for (const run::gpu::Limits& l : found.devices) {
    fmt::print("cuda {}: {}\n", l.index, l.name);
    fmt::print("  processors {} of {} threads and {} shared memory, {}, {:.3g} GHz\n", l.multiprocessors,
               l.threads_per_multiprocessor, size(l.shared_bytes_per_multiprocessor), l.compiled_for, l.gigahertz);
    fmt::print("  memory     {}, {:.4g} GB/s, L2 {}\n", size(l.memory_bytes), l.bandwidth, size(l.l2_bytes));
    fmt::print("  compiler   {}\n", l.driver);
  }
}

int devices(bool measure) {
  print_cpu(measure);
  print_cuda();
  print_opencl();
  return done;
}

}  // namespace

Verb add_devices(CLI::App& root) {
  CLI::App* app = root.add_subcommand("devices", "list what programs can run on");
  auto measure = std::make_shared<bool>(false);
  app->add_flag("--measure", *measure, "measure how fast memory is copied, again where it is known; takes a second");
  app->add_flag("--no-measure")->group("");  // what it does without --measure, from before there was one
  return {app, [measure] { return devices(*measure); }};
}

}  // namespace tessera::cli
