// See tune.hpp: the sums that are measured, and how.
#include "engine/tune/tune.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <map>
#include <memory>

#include "engine/program_impl.hpp"
#include "engine/tune/prices.hpp"
#include "ir/bind.hpp"
#include "run/cpu/machine.hpp"
#include "run/cpu/parallel.hpp"

namespace tessera::engine {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double seconds_of_round = 0.08;  // of one trial, but at least so many runs
constexpr int least_runs = 3, most_runs = 40;

// A weighted sum of an image; of outer products each factor is a bell.
struct Sum {
  Method method;
  Shape weights, image;
  bool product = false;
  ElementType type = ElementType::f32;  // of the image; sums of bytes are integers
};

// Large against the caches, as images are, but for sums that take so long that they are bound by arithmetic anyway.
std::vector<Sum> sums_of_cores() {
  const Shape image{2160, 3840}, part{1080, 1920}, small{256, 512}, volume{128, 256, 256};
  constexpr Method direct = Method::direct, transform = Method::transform, separable = Method::separable;
  std::vector<Sum> sums;
  for (const i64 k : {7, 9, 15, 31}) sums.push_back({direct, {k, k}, part});
  sums.push_back({direct, {41, 41}, small});
  for (const i64 k : {31, 101, 301}) sums.push_back({direct, {1, k}, k > 128 ? small : part});
  for (const i64 k : {3, 5, 7}) sums.push_back({direct, {k, k, k}, volume});
  for (const i64 k : {9, 15, 31}) sums.push_back({separable, {k, k}, image, true});
  for (const i64 k : {5, 9, 17}) sums.push_back({separable, {k, k, k}, volume, true});
  for (const i64 k : {9, 15, 31, 63, 127}) sums.push_back({transform, {k, k}, image});
  for (const i64 k : {31, 101, 301}) sums.push_back({transform, {1, k}, image});
  for (const i64 k : {5, 9, 15}) sums.push_back({transform, {k, k, k}, volume});
  sums.push_back({transform, {9, 9}, image, false, ElementType::u8});
  return sums;
}

std::vector<Sum> sums_of_devices() {
  const Shape image{4096, 4096}, volume{256, 256, 256};
  std::vector<Sum> sums;
  for (const i64 k : {7, 9, 15}) sums.push_back({Method::direct, {k, k}, image});
  sums.push_back({Method::direct, {5, 5, 5}, volume});
  for (const i64 k : {9, 15, 31}) sums.push_back({Method::separable, {k, k}, image, true});
  for (const i64 k : {9, 15, 31, 63, 127, 255}) sums.push_back({Method::transform, {k, k}, image});
  sums.push_back({Method::transform, {9, 9}, image, false, ElementType::u8});
  return sums;
}

std::string name_of_sum(const Sum& s) {
  const char* method = s.method == Method::direct      ? "direct"
                       : s.method == Method::separable ? "separable"
                                                       : "transform";
  return fmt::format("{} weights{}, {}", to_string(s.weights), s.type == ElementType::f32 ? "" : " of bytes", method);
}

// sum(i0 = 0..8, i1 = 0..8) (K[i0,i1] * X@[i0-4,i1-4]), of weights that are given.
Program program_of(const Sum& s) {
  const std::size_t rank = s.weights.size();
  std::string extents, ranges, indices, offsets, parameters;
  for (std::size_t d = 0; d < rank; ++d) {
    const char* comma = d == 0 ? "" : ", ";
    extents += fmt::format("{}{}", comma, s.weights[d]);
    ranges += fmt::format("{}i{} = 0..{}", comma, d, s.weights[d] - 1);
    indices += fmt::format("{}i{}", comma, d);
    offsets += fmt::format("{}i{}-{}", comma, d, s.weights[d] / 2);
    parameters += fmt::format("{}N{}", comma, d);
  }
  const bool bytes = s.type == ElementType::u8;
  const std::string text =
      fmt::format("table {} K[{}];\nstencil f(vector#{} {} X) {{ return sum({}) (K[{}] * X@[{}]); }}\n",  //
                  bytes ? "int" : "float", extents, rank, name_of(s.type), ranges, indices, offsets) +
      fmt::format("parameter {};\nvector#{} {} x[{}];\nreturn f(x:clamped);\n", parameters, rank, name_of(s.type),
                  parameters);
  Array weights(ElementType::f64, s.weights);
  std::uint32_t random = 1;
  for (i64 k = 0; k < weights.count(); ++k) {
    random = random * 1664525 + 1013904223;
    double w = static_cast<double>(random >> 8) * 0x1p-24 / static_cast<double>(weights.count());
    i64 rest = k;
    for (std::size_t d = rank; d-- > 0 && s.product; rest /= s.weights[d]) {
      const double x = 5 * (static_cast<double>(rest % s.weights[d] * 2 + 1) / static_cast<double>(s.weights[d]) - 1);
      w = (d + 1 == rank ? 1 : w) * std::exp(-x * x / 4);
    }
    weights.as<double>()[k] = bytes ? static_cast<double>(random >> 30) : w;
  }
  CompileOptions options;
  options.tables["K"] = weights;
  return Program::from_text(text, options, "trial");
}

Array random_image(ElementType type, const Shape& shape) {
  Array image(type, shape);
  std::uint32_t random = 7;
  for (i64 k = 0; k < image.count(); ++k) {
    random = random * 1664525 + 1013904223;
    if (type == ElementType::u8)
      image.as<std::uint8_t>()[k] = static_cast<std::uint8_t>(random >> 24);
    else
      image.as<float>()[k] = static_cast<float>(random >> 8) * 0x1p-24f;
  }
  return image;
}

double least_on_cores(const Program& program, const Array& image, const Array& result, const RunOptions& options) {
  double least = INFINITY, spent = 0;
  program.run_into({image}, {result}, options);
  for (int k = 0; k < most_runs && (k < least_runs || spent < seconds_of_round); ++k) {
    const auto start = Clock::now();
    program.run_into({image}, {result}, options);
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    least = std::min(least, seconds);
    spent += seconds;
  }
  return least;
}

// On the device's clock, while a run before it keeps the device busy.
double least_on_device(const Program& program, const Array& image, const RunOptions& options) {
  const Program::Impl& impl = program.impl();
  const std::vector<i64> parameters = ir::bind_parameters(impl.graph, {image.shape()});
  const auto compiled = impl.on_device(options, parameters);
  const std::vector<Array> inputs = impl.prepare({image});
  const std::unique_ptr<run::gpu::Queue> queue = compiled->queue();
  const auto bound = compiled->bind(parameters, *queue, options);
  bound->upload(inputs);
  bound->launch(options);
  bound->queue().wait();
  double least = INFINITY, spent = 0;
  for (int k = 0; k < most_runs && (k < least_runs || spent < seconds_of_round); ++k) {
    bound->launch(options);
    bound->queue().mark(0);
    bound->launch(options);
    bound->queue().mark(1);
    const double seconds = bound->queue().milliseconds(0, 1) * 1e-3;
    least = std::min(least, seconds);
    spent += seconds;
  }
  return least;
}

class Tuner {
 public:
  explicit Tuner(const TuneOptions& options) : options_(options), cpu_(options.target == "cpu") {
    if (cpu_) {
      machine_ = cpu_device(run::cpu::thread_count(0));
      result_.device = machine_.name;
    } else {
      const auto device = open_device(run_options(Method::automatic));
      machine_ = machine::device(abilities_of(device->limits()));
      result_.device = device->limits().name;
    }
    result_.target = options.target;
  }

  Tuned run() {
    prepare();
    const int rounds = options_.quick ? 1 : 3;
    // The same trial again later: what disturbs a machine often lasts for seconds.
    for (int round = 0; round < rounds; ++round)
      for (std::size_t k = 0; k < sums_.size(); ++k) {
        if (options_.on_progress)
          options_.on_progress(result_.trials[k].name, round * static_cast<int>(sums_.size()) + static_cast<int>(k),
                               rounds * static_cast<int>(sums_.size()));
        measure(k);
      }
    std::vector<double> times;
    for (const Trial& t : result_.trials) times.push_back(t.nanoseconds);
    const auto foretold = [&](std::size_t k, const machine::Prices& p) { return *price(sums_[k], programs_[k], p); };
    result_.prices = fitted({}, times, foretold);
    result_.prices.measured = true;
    for (std::size_t k = 0; k < sums_.size(); ++k) {
      result_.trials[k].before = foretold(k, {});
      result_.trials[k].after = foretold(k, result_.prices);
    }
    return std::move(result_);
  }

 private:
  RunOptions run_options(Method method) const {
    RunOptions o;
    o.method = method;
    o.threads = 1;
    o.target = options_.target;
    o.device = options_.device;
    return o;
  }

  // What a plan with these prices says of the sum by its method.
  std::optional<double> price(const Sum& sum, const Program& program, const machine::Prices& prices) const {
    plan::Options how;
    how.method = sum.method;
    machine::Machine device = machine_;
    device.prices = prices;
    for (const rewrite::SumChoice& choice : plan::make_plan(program.impl().graph, how, device).sums)
      for (const auto& p : choice.prices)
        if (p.method == sum.method && choice.taken == sum.method) return p.nanoseconds;
    return {};
  }

  // Those that have a price on this target.
  void prepare() {
    for (Sum& sum : cpu_ ? sums_of_cores() : sums_of_devices()) {
      if (!name_of_sum(sum).starts_with(options_.only)) continue;
      for (i64& extent : sum.image) extent = std::max<i64>(1, extent / options_.shrink);
      Program program = program_of(sum);
      if (!price(sum, program, {})) continue;
      result_.trials.push_back({name_of_sum(sum), INFINITY});
      programs_.push_back(std::move(program));
      sums_.push_back(std::move(sum));
    }
    if (sums_.empty())
      throw Error(ErrorClass::argument, fmt::format("there are no prices of {} to measure", options_.target));
  }

  void measure(std::size_t k) {
    const Sum& sum = sums_[k];
    const RunOptions how = run_options(sum.method);
    Arrays& arrays = arrays_[{static_cast<int>(sum.type), sum.image}];
    if (arrays.image.empty()) {
      arrays.image = random_image(sum.type, sum.image);
      if (cpu_) arrays.result = Array(sum.type == ElementType::u8 ? ElementType::i32 : sum.type, sum.image);
    }
    const double seconds = cpu_ ? least_on_cores(programs_[k], arrays.image, arrays.result, how)
                                : least_on_device(programs_[k], arrays.image, how);
    double& least = result_.trials[k].nanoseconds;
    least = std::min(least, seconds * 1e9 / static_cast<double>(arrays.image.count()));
  }

  struct Arrays {
    Array image, result;
  };

  const TuneOptions& options_;
  const bool cpu_;
  machine::Machine machine_;
  std::vector<Sum> sums_;
  std::vector<Program> programs_;
  std::map<std::pair<int, Shape>, Arrays> arrays_;
  Tuned result_;
};

}  // namespace

Tuned tune(const TuneOptions& options) {
  return Tuner(options).run();
}

}  // namespace tessera::engine
