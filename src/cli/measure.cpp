// Timing repeats the run into arrays that exist and are warm; comparing goes through doubles, which hold every value
// of every element type exactly.
#include "cli/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <unordered_map>

#include "base/text.hpp"
#include "cli/convert.hpp"
#include "engine/explain_device.hpp"
#include "engine/program_impl.hpp"
#include "io/image.hpp"
#include "ir/bind.hpp"
#include "ir/graph.hpp"
#include "ref/interpreter.hpp"
#include "ref/magnitude.hpp"
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

struct Difference {
  double most = 0, largest = 0;  // |a - b|, |b|
  i64 points = 0;                // where they are not equal
  i64 unlike = 0;                // where one of them alone is a finite number, or infinities differ
};

Difference compare(const Array& a, const Array& b) {
  Difference d;
  const auto left = io::as_planes(a), right = io::as_planes(b);
  for (std::size_t c = 0; c < left.size(); ++c) {
    i64 lost = 0;
    const Array x = in_type(left[c], ElementType::f64, lost), y = in_type(right[c], ElementType::f64, lost);
    for (i64 i = 0, n = x.count(); i < n; ++i) {
      const double u = x.as<double>()[i], v = y.as<double>()[i];
      if (std::isfinite(v)) d.largest = std::max(d.largest, std::abs(v));
      if (u == v || (std::isnan(u) && std::isnan(v))) continue;
      ++d.points;
      const double distance = std::abs(u - v);
      d.most = std::isnan(distance) ? INFINITY : std::max(d.most, distance);
      if (!std::isfinite(u) || !std::isfinite(v)) ++d.unlike;
    }
  }
  return d;
}

bool has_float(const ir::Graph& graph, const ir::Stage& stage) {
  bool found = is_float(stage.type);
  if (stage.kind == ir::StageKind::point)
    for (ir::ExprId e : ir::postorder(graph, {stage.body})) found = found || is_float(graph.node(e).type);
  return found;
}

bool is_transform(const ir::Graph&, const ir::Stage& stage) {
  return stage.kind == ir::StageKind::fourier;
}

// Per output: is there such a stage anywhere on the way to it?
std::vector<bool> come_of(const ir::Graph& graph, bool (*such)(const ir::Graph&, const ir::Stage&)) {
  std::vector<bool> stages;
  for (ir::StageId s = 0; s < graph.stage_count(); ++s) {
    const ir::Stage& stage = graph.stage(s);
    bool found = such(graph, stage);
    for (ir::StageId source : ir::sources(graph, s)) found = found || stages[source];
    stages.push_back(found);
  }
  std::vector<bool> outputs;
  for (const ir::Output& output : graph.outputs)
    outputs.push_back(
        std::any_of(output.stages.begin(), output.stages.end(), [&](ir::StageId s) { return stages[s]; }));
  return outputs;
}

// The most terms that a plan adds one after the other in float: not those of tiles of transforms.
i64 longest_sum(const ir::Graph& graph) {
  i64 longest = 1;
  for (ir::StageId s = 0; s < graph.stage_count(); ++s) {
    const ir::Stage& stage = graph.stage(s);
    if (stage.kind != ir::StageKind::point || stage.tile.rows > 0) continue;
    std::unordered_map<std::uint32_t, i64> terms;
    for (const ir::ExprId e : ir::postorder(graph, {stage.body})) {
      const ir::ExprNode& n = graph.node(e);
      i64& own = terms[e.id] = 1;
      for (const ir::ExprId a : n.args) own = std::max(own, terms.at(a.id));
      if (n.op == ir::Op::reduce_sum && n.type == ElementType::f32)
        for (const ir::Var& v : n.vars) own *= v.hi - v.lo + 1;
      longest = std::max(longest, own);
    }
  }
  return longest;
}

// Of the plan by which the program runs.
i64 longest_sum(const Program::Impl& impl, const std::vector<i64>& parameters, const RunOptions& options) {
  if (options.method == Method::whole) return 1;
  if (impl.loops || impl.sequence) return longest_sum(impl.graph);
  if (options.target == "cuda" || options.target == "opencl")
    return longest_sum(impl.on_device(options, parameters)->plan().graph);
  return longest_sum(engine::cpu_plan(impl.graph, options).graph);
}

// What may be lost of an output, by the bounds of what it comes of.
std::optional<double> magnitude_of(const ir::Output& output, const std::vector<std::optional<double>>& stages) {
  double most = 0;
  for (const ir::StageId s : output.stages) {
    if (!stages[s]) return {};
    most = std::max(most, *stages[s]);
  }
  return most;
}

bool all_integer(const Format& f) {
  if (!f.is_struct()) return !is_float(f.scalar);
  return std::none_of(f.fields.begin(), f.fields.end(), [](const auto& field) { return is_float(field.type); });
}

}  // namespace

namespace {

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
      if (program.impl().loops) {
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

}  // namespace

void measure(const Program& program, const Lanes& lanes, const std::vector<std::vector<Array>>& results,
             const RunOptions& asked, int repeat) {
  RunOptions options = asked;
  options.on_loop_end = nullptr;
  if (options.target != "cpu" && (program.impl().loops || program.impl().sequence)) {
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
  std::sort(seconds.begin(), seconds.end());
  const std::size_t half = seconds.size() / 2;
  const double median = seconds.size() % 2 == 1 ? seconds[half] : (seconds[half - 1] + seconds[half]) / 2;
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

bool verify(const Program& program, const Lanes& lanes, const std::vector<std::vector<Array>>& results,
            const RunOptions& options) {
  const Program::Impl& impl = program.impl();
  const auto& outputs = program.outputs();
  const bool fast = options.numbers == Numbers::fast;
  std::vector<Difference> worst(outputs.size());
  std::vector<double> most(program.inputs().size());
  std::vector<i64> parameters;
  for (std::size_t c = 0; c < lanes.inputs.size(); ++c) {
    const std::vector<Array> expected =
        impl.interpret(lanes.inputs[c], fast ? ref::Rounding::once : ref::Rounding::each);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const Difference d = compare(results[c][i], expected[i]);
      worst[i].most = std::max(worst[i].most, d.most);
      worst[i].largest = std::max(worst[i].largest, d.largest);
      worst[i].points += d.points;
      worst[i].unlike += d.unlike;
    }
    std::vector<Shape> shapes;
    for (std::size_t k = 0; k < most.size(); ++k) {
      most[k] = std::max(most[k], compare(lanes.inputs[c][k], lanes.inputs[c][k]).largest);
      shapes.push_back(lanes.inputs[c][k].shape());
    }
    parameters = ir::bind_parameters(impl.graph, shapes);
  }
  const std::vector<bool> of_floats = come_of(impl.graph, has_float), of_transforms = come_of(impl.graph, is_transform);
  // A transform is exact to so much of the largest number that it saw, which small differences of large ones are not.
  double largest = most.empty() ? 0 : *std::max_element(most.begin(), most.end());
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (of_transforms[i]) largest = std::max(largest, worst[i].largest);
  const auto magnitudes = ref::magnitudes(impl.graph, parameters, most);
  const double of_sums = static_cast<double>(longest_sum(impl, parameters, options)) * 0x1p-25;
  bool good = true;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (of_transforms[i]) worst[i].largest = std::max(worst[i].largest, largest);
    const double value = worst[i].largest;
    double near = 1;
    if (!all_integer(outputs[i].format)) {
      const std::optional<double> magnitude = magnitude_of(impl.graph.outputs[i], magnitudes);
      near = magnitude ? std::clamp(1e-4 * value, 0x1p-22 * *magnitude, 1e-5 * *magnitude) : 1e-4 * value;
      near = std::max(near, of_sums * value);
    }
    const bool inexact = of_transforms[i] || (fast && of_floats[i]);
    const double allowed = inexact ? near : 0;
    const bool fine = worst[i].most <= allowed;
    good &= fine;
    const std::string name = outputs[i].name.empty() ? fmt::format("output {}", i + 1) : outputs[i].name;
    fmt::print("verify {}: {}, largest difference {:.3g} at {} points, allowed {:.3g}\n", name,
               fine ? "agrees with the interpreter" : "DIFFERS from the interpreter", worst[i].most, worst[i].points,
               allowed);
    if (worst[i].unlike > 0)
      fmt::print("verify {}: at {} points one of the two is NaN or infinite, and the other differs\n", name,
                 worst[i].unlike);
  }
  return good;
}

}  // namespace tessera::cli
