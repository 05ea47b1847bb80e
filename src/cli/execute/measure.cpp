// Timing repeats the run into arrays that exist and are warm.
#include "cli/execute/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/text.hpp"
#include "cli/execute/window.hpp"
#include "engine/explain/device.hpp"
#include "engine/program_impl.hpp"
#include "ir/bind.hpp"
#include "run/cpu/copy_rate.hpp"
#include "run/cpu/machine.hpp"
#include "run/cpu/parallel.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {
namespace {

i64 bytes_of(const std::vector<Array>& arrays) {
  i64 bytes = 0;
  for (const Array& a : arrays) bytes += a.count() * static_cast<i64>(a.format().size());
  return bytes;
}

// The largest output, in points.
i64 points_of(const std::vector<Array>& arrays) {
  i64 points = 0;
  for (const Array& a : arrays) points = std::max(points, a.count());
  return points;
}

// The median; sorts.
double middle(std::vector<double>& values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// Beside the copy of as many bytes. Where a run leaves out what a copy moves, or the copy was measured beside other
// work, no share is told: it would not be one.
void print_rate(double megapixels, const run::cpu::Traffic& traffic, double seconds) {
  const double rate = static_cast<double>(traffic.bytes()) / seconds * 1e-9;
  run::cpu::CopyRate copy = run::cpu::copy_rate(traffic);
  if (rate > copy.rate) copy = run::cpu::measure_copy_rate(traffic);
  const std::string share =
      rate <= copy.rate ? fmt::format("{:.3g}% of", 100 * rate / copy.rate) : std::string("more than");
  const i64 cache = std::max(run::cpu::machine().l3, run::cpu::machine().l2);
  const std::string of = run::cpu::fits_cache(traffic)
                             ? fmt::format("a copy of as many bytes, which fit the cache of {}",
                                           base::format_bytes(static_cast<double>(cache)))
                             : std::string("a copy on this machine");
  fmt::print("rate: {:.4g} Mpixel/s, {:.4g} GB/s, {} the {:.4g} GB/s of {}\n", megapixels, rate, share, copy.rate, of);
}

// What repeated runs on a device take turns with: one set of arrays of a small image stays in the device's cache.
constexpr i64 rotated_bytes = i64{512} << 20;
constexpr std::size_t most_sets = 8;

// On the device's clock with arrays that stay there and a device that is busy already, and by the wall with copies
// there and back.
void measure_device(const Program& program, const Lanes& lanes, const std::vector<std::vector<Array>>& results,
                    const RunOptions& options, int repeat) {
  using Clock = std::chrono::steady_clock;
  const Program::Impl& impl = program.impl();
  std::vector<double> kernels, whole;
  double predicted = 0, bandwidth = 0;
  i64 bytes = 0, points = 0, between = INT64_MAX, cache = 0;  // between: bytes from a set's turn to its next
  for (std::size_t c = 0; c < lanes.inputs.size(); ++c) {
    const std::vector<Array> inputs = impl.prepare(lanes.inputs[c]);
    std::vector<Shape> shapes;
    for (const Array& a : inputs) shapes.push_back(a.shape());
    const std::vector<i64> parameters = ir::bind_parameters(impl.graph, shapes);
    const auto compiled = impl.on_device(options, parameters);
    bandwidth = compiled->limits().bandwidth;
    cache = compiled->limits().l2_bytes;
    predicted += engine::predicted_milliseconds(impl, parameters, options);
    const i64 set_bytes = std::max<i64>(1, bytes_of(lanes.inputs[c]) + bytes_of(results[c]));
    const i64 wanted = (rotated_bytes + set_bytes - 1) / set_bytes;
    const std::size_t count = std::min({most_sets, static_cast<std::size_t>(wanted), static_cast<std::size_t>(repeat)});
    between = std::min(between, static_cast<i64>(count) * set_bytes);
    const std::unique_ptr<run::gpu::Queue> queue = compiled->queue();
    std::vector<std::unique_ptr<engine::DeviceExecutable::Bound>> sets;
    for (std::size_t k = 0; k < count; ++k) {
      sets.push_back(compiled->bind(parameters, *queue, options));
      sets.back()->upload(inputs);
      sets.back()->launch(options);
      sets.back()->queue().wait();
    }
    for (int k = 0; k < repeat; ++k) {
      engine::DeviceExecutable::Bound& bound = *sets[static_cast<std::size_t>(k) % count];
      // A run before it keeps the device busy while the host asks for this one: what that takes is not the kernels'.
      sets[(static_cast<std::size_t>(k) + count / 2) % count]->launch(options);
      bound.queue().mark(0);
      bound.launch(options);
      bound.queue().mark(1);
      kernels.push_back(bound.queue().milliseconds(0, 1));
    }
    for (int k = 0; k < std::min(repeat, 10); ++k) {
      const auto start = Clock::now();
      program.run_into(lanes.inputs[c], results[c], options);
      whole.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    }
    bytes += bytes_of(lanes.inputs[c]) + bytes_of(results[c]);
    points += points_of(results[c]);
  }
  const double median = middle(kernels) * static_cast<double>(lanes.inputs.size());
  fmt::print(
      "time: median {:.4g} ms, minimum {:.4g} ms of {} runs with arrays on the device; {:.4g} ms from the host and "
      "back\n",
      median, kernels.front(), repeat, middle(whole));
  fmt::print("predicted: {:.4g} ms; it takes {:.3g} times as long\n", predicted, median / predicted);
  const double rate = static_cast<double>(bytes) / median * 1e-6;
  fmt::print("rate: {:.4g} Mpixel/s, {:.4g} GB/s", static_cast<double>(points) / median * 1e-3, rate);
  if (between <= cache)
    fmt::print(", all of it in the cache of {}", base::format_bytes(static_cast<double>(cache)));
  else if (bandwidth > 0)
    fmt::print(", {} the {:.4g} GB/s of its memory",
               rate <= bandwidth ? fmt::format("{:.3g}% of", 100 * rate / bandwidth) : std::string("more than"),
               bandwidth);
  fmt::print("\n");
}

// Programs of several steps. Loops with a test ask the device in every iteration, so that its own clock says nothing of
// them. Of others a run before keeps the device busy while the host asks for the one that is measured.
void measure_steps(const Program& program, const Lanes& lanes, const RunOptions& options, int repeat) {
  using Clock = std::chrono::steady_clock;
  const Device device = Device::open(options.target, options.device);
  std::vector<double> all(static_cast<std::size_t>(repeat));
  for (const std::vector<Array>& given : lanes.inputs) {
    std::vector<Array> inputs = given;
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (program.inputs()[k].is_array) inputs[k] = device.copy_of(inputs[k]);
    const std::vector<Array> there = program.run(inputs, options);
    Stream stream(device);
    run::gpu::Queue& queue = *stream.impl().queue;
    RunOptions streamed = options;
    streamed.stream = &stream;
    for (double& each : all) {
      if (program.impl().host->loops()) {
        const auto start = Clock::now();
        program.run_into(inputs, there, options);
        each += std::chrono::duration<double, std::milli>(Clock::now() - start).count();
        continue;
      }
      program.run_into(inputs, there, streamed);
      queue.mark(0);
      program.run_into(inputs, there, streamed);
      queue.mark(1);
      each += queue.milliseconds(0, 1);
    }
  }
  const double least = *std::min_element(all.begin(), all.end());
  fmt::print("time: median {:.4g} ms, minimum {:.4g} ms of {} runs with arrays on the device\n", middle(all), least,
             repeat);
}

// Over several devices, from the host and back.
void measure_devices(const Program& program, const Lanes& lanes, const std::vector<std::vector<Array>>& results,
                     RunOptions options, int repeat) {
  using Clock = std::chrono::steady_clock;
  options.on_progress = nullptr;
  std::vector<double> all;
  i64 bytes = 0, points = 0;
  for (std::size_t c = 0; c < lanes.inputs.size(); ++c) {
    bytes += bytes_of(lanes.inputs[c]) + bytes_of(results[c]);
    points += points_of(results[c]);
  }
  for (int k = 0; k < repeat; ++k) {
    const auto start = Clock::now();
    for (std::size_t c = 0; c < lanes.inputs.size(); ++c) program.run_into(lanes.inputs[c], results[c], options);
    all.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
  const double median = middle(all);
  fmt::print("time: median {:.4g} ms, minimum {:.4g} ms of {} runs over {} devices, from the host and back\n", median,
             *std::min_element(all.begin(), all.end()), repeat, options.devices.size());
  fmt::print("rate: {:.4g} Mpixel/s, {:.4g} GB/s\n", static_cast<double>(points) / median * 1e-3,
             static_cast<double>(bytes) / median * 1e-6);
}

}  // namespace

void measure(const Program& program, const Lanes& lanes, const std::vector<std::vector<Array>>& results,
             const RunOptions& asked, int repeat) {
  RunOptions options = asked;
  options.on_loop_end = nullptr;
  options.on_shares = nullptr;
  if (options.devices.size() > 1) return measure_devices(program, lanes, results, options, repeat);
  if (options.target != "cpu" && program.impl().host) {
    options.on_progress = nullptr;
    return measure_steps(program, lanes, options, repeat);
  }
  if (options.target != "cpu") return measure_device(program, lanes, results, options, repeat);
  using Clock = std::chrono::steady_clock;
  std::vector<double> seconds;
  RunOptions quiet = options;
  quiet.on_progress = nullptr;
  for (int k = 0; k < repeat; ++k) {
    const auto start = Clock::now();
    for (std::size_t c = 0; c < lanes.inputs.size(); ++c) program.run_into(lanes.inputs[c], results[c], quiet);
    seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
  const double median = middle(seconds);
  i64 read = 0, written = 0, points = 0;
  for (std::size_t c = 0; c < lanes.inputs.size(); ++c) {
    read += bytes_of(lanes.inputs[c]);
    written += bytes_of(results[c]);
    points += points_of(results[c]);
  }
  const int threads = run::cpu::thread_count(options.threads);
  fmt::print("time: median {:.4g} ms, minimum {:.4g} ms of {} runs on {} thread{}\n", median * 1e3, seconds[0] * 1e3,
             repeat, threads, threads == 1 ? "" : "s");
  print_rate(static_cast<double>(points) / median * 1e-6, {threads, read, written}, median);
}

void measure_window(const Program& program, const Lanes& lanes, const RunOptions& asked, const Window& window,
                    int repeat) {
  using Clock = std::chrono::steady_clock;
  const std::vector<Region> windows = windows_of(program, lanes.inputs.front(), window);
  RunOptions options = asked;
  options.on_progress = nullptr;
  options.on_loop_end = nullptr;
  std::vector<double> seconds;
  for (int k = 0; k < repeat; ++k) {
    const auto start = Clock::now();
    for (const std::vector<Array>& inputs : lanes.inputs)
      static_cast<void>(run_window(program, inputs, windows, options));
    seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
  const double median = middle(seconds);
  fmt::print("time: median {:.4g} ms, minimum {:.4g} ms of {} runs of the window\n", median * 1e3, seconds[0] * 1e3,
             repeat);
}

}  // namespace tessera::cli
