// `tessera tune`: measures what the ways to take a weighted sum cost on this machine, for plans to choose by.
#include "engine/tune/tune.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <ctime>
#include <memory>

#include "base/process/interrupt.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/tell.hpp"
#include "cli/verbs.hpp"
#include "engine/tune/prices.hpp"
#include "run/cpu/machine.hpp"
#include "tessera/device.hpp"

namespace tessera::cli {
namespace {

struct TuneVerb {
  std::string target = "cpu";
  int device = 0;
  bool quick = false, show = false, reset = false;
};

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm day{};
  ::gmtime_r(&now, &day);
  return fmt::format("{:04}-{:02}-{:02}", day.tm_year + 1900, day.tm_mon + 1, day.tm_mday);
}

std::string device_name(const TuneVerb& verb) {
  return verb.target == "cpu" ? run::cpu::machine().name : Device::open(verb.target, verb.device).name();
}

void print_prices(const machine::Prices& now) {
  const machine::Prices built_in;
  fmt::print("{:<18} {:>9} {:>9}  {:<9} {}\n", "price", "built in", "now", "unit", "of");
  for (const machine::PriceName& p : machine::price_names())
    fmt::print("{:<18} {:>9.3g} {:>9.3g}  {:<9} {}\n", p.name, built_in.*p.value, now.*p.value, p.unit, p.meaning);
}

int show(const TuneVerb& verb) {
  const std::string name = device_name(verb);
  const engine::PricesInUse used = engine::prices_in_use(verb.target, name);
  fmt::print("{}: {}\n", verb.target, name);
  if (!used.note.empty()) fmt::print("note: {}\n", used.note);
  if (used.prices.measured)
    fmt::print("prices measured {}, in {}\n", used.measured, used.file);
  else
    fmt::print("prices built in; `tessera tune` measures them\n");
  print_prices(used.prices);
  return done;
}

int reset(const TuneVerb& verb) {
  const std::string name = device_name(verb);
  const bool removed = engine::forget_prices(verb.target, name);
  fmt::print("{}: {}\n{}\n", verb.target, name,
             removed ? "prices removed, back to those built in" : "prices built in already");
  return done;
}

int tune(const TuneVerb& verb) {
  const base::InterruptGuard interrupt;
  static_cast<void>(engine::place_of_prices(verb.target, device_name(verb)));  // before it takes its time
  engine::TuneOptions options;
  options.target = verb.target, options.device = verb.device, options.quick = verb.quick;
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  options.on_progress = [&](const std::string& what, int done, int total) {
    if (interrupt.interrupted()) throw Error(ErrorClass::cancelled, "interrupted, nothing was stored");
    if (terminal) tell("\r{:3} % {:<50}", 100 * done / total, what);
  };
  const engine::Tuned found = engine::tune(options);
  if (terminal) tell("\r{:<57}\r", "");
  fmt::print("{}: {}\n{:<34} {:>9} {:>9} {:>9}\n", found.target, found.device, "ns a point of", "built in", "now",
             "measured");
  for (const engine::Trial& t : found.trials)
    fmt::print("{:<34} {:>9.3g} {:>9.3g} {:>9.3g}\n", t.name, t.before, t.after, t.nanoseconds);
  fmt::print("\n");
  print_prices(found.prices);
  const std::string path = engine::store_prices({found.target, found.device, today(), found.prices});
  fmt::print("\nstored in {}\n", path);
  if (std::getenv("TESSERA_PRICES") != nullptr)
    fmt::print("note: TESSERA_PRICES is set, and decides which prices are used\n");
  return done;
}

int act(const TuneVerb& verb) {
  if (verb.target != "cpu" && verb.target != "cuda" && verb.target != "opencl")
    throw Error(ErrorClass::argument,
                fmt::format("unknown target {}, expected cpu, cuda or opencl", base::quoted(verb.target)), {},
                base::did_you_mean(verb.target, {"cpu", "cuda", "opencl"}));
  if (verb.device < 0 || (verb.device > 0 && verb.target == "cpu"))
    throw Error(ErrorClass::argument,
                fmt::format("--device {} cannot be used, expected {}", verb.device,
                            verb.target == "cpu" ? "--target cuda or opencl beside it" : "a number from 0 on"));
  if (verb.show && verb.reset) throw Error(ErrorClass::argument, "--show and --reset are given, expected one of them");
  return verb.show ? show(verb) : verb.reset ? reset(verb) : tune(verb);
}

}  // namespace

Verb add_tune(CLI::App& root) {
  CLI::App* app = root.add_subcommand("tune", "measure what plans choose by on this machine, and store it");
  app->footer(
      "Plans choose between the ways to take a weighted sum (directly, one dimension at a time, through Fourier\n"
      "transforms) by prices. Without this they are those of one machine. It takes less than a minute of a quiet "
      "machine.");
  auto verb = std::make_shared<TuneVerb>();
  app->add_option("--target", verb->target, "cpu (default), cuda or opencl")->type_name("NAME");
  app->add_option("--device", verb->device, "which of several devices (default 0)")->type_name("N");
  app->add_flag("--quick", verb->quick, "measure once instead of three times");
  app->add_flag("--show", verb->show, "print the prices in use and measure nothing");
  app->add_flag("--reset", verb->reset, "go back to the prices that are built in");
  return {app, [verb] { return act(*verb); }};
}

}  // namespace tessera::cli
