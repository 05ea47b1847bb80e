// See device.hpp.
//
// The model. A kernel moves every array that it reads or writes once through memory, at four fifths of the bandwidth,
// as copies do. It computes at a rate of 128 operations a cycle and multiprocessor, of which kernels reach six tenths,
// register tiles eight; beside the operations of its stages a thread loads, stores, and finds its place. The longer of
// the two binds, and a quarter of the other one shows. No kernel ends before one of its strips, whose rows follow each
// other: small images have too few strips to hide that. Constants were fitted to an H200, see docs/design/devices.md.
#include "engine/explain/device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "data/layout.hpp"
#include "engine/device/several.hpp"
#include "engine/program_impl.hpp"
#include "engine/size_class.hpp"
#include "engine/tune/prices.hpp"
#include "engine/windows/over_devices.hpp"
#include "run/cuda/cuda.hpp"
#include "run/opencl/opencl.hpp"

namespace tessera::engine {

using explain::KernelReport;
using ir::StageId;

namespace {

constexpr double rate_share_of_tiles = 0.8, rate_share_of_transforms = 0.5;
// Bytes a nanosecond of a multiprocessor: 4.9 TB/s of an H200. The plan's prices take what of it a kernel reaches.
constexpr double bandwidth_of_class = 37.25;
constexpr double cycles_alone = 15;    // of an instruction, where nothing else hides its latency
constexpr double lanes_of_class = 32;  // of a multiprocessor, four times a cycle
// Instructions of a thread to find its place: for a point, for a row of a strip, for a register tile.
constexpr double beside_point = 62, beside_step = 30, beside_tile = 120;

// Of the class, where there is no device.
run::gpu::Limits class_limits(const std::string& target) {
  run::gpu::Limits limits;
  limits.target = target;
  limits.multiprocessors = machine::multiprocessors_of_class;
  limits.shuffles = machine::abilities_of_target(target).shuffles,
  limits.minima = machine::abilities_of_target(target).minima;
  limits.matrices = machine::abilities_of_target(target).matrices;
  limits.lanes = 32;
  limits.threads_per_multiprocessor = 2048;
  limits.registers_per_multiprocessor = 65536;
  limits.registers_per_thread = 255;
  return limits;
}

run::gpu::Found devices_of(const RunOptions& options) {
  if (options.target == "cuda") return run::cuda::find();
  if (options.target == "opencl") return run::opencl::find();
  open_device(options);  // says what is wrong with it
  return {};
}

std::string name_of(const run::gpu::Limits& limits) {
  return limits.name.empty() ? "a device like an H200" : limits.name;
}

explain::DeviceReport described(const run::gpu::Limits& limits, const RunOptions& options) {
  explain::DeviceReport d;
  d.target = options.target;
  d.index = options.device;
  d.name = limits.name, d.compiled_for = limits.compiled_for, d.driver = limits.driver;
  d.multiprocessors = limits.multiprocessors;
  const machine::Machine one = machine::device(abilities_of(limits));
  d.bandwidth_assumed = limits.bandwidth <= 0;
  d.bandwidth = d.bandwidth_assumed ? bandwidth_of_class * d.multiprocessors : limits.bandwidth;
  // How much a multiprocessor computes in a cycle CUDA devices share; of others it is not known.
  d.operations_assumed = limits.gigahertz <= 0 || limits.target != "cuda";
  const double cycles = limits.gigahertz > 0 ? 4 * limits.gigahertz : one.gigahertz;
  d.operations = d.multiprocessors * cycles * lanes_of_class;
  return d;
}

std::string missing_of(const run::gpu::Found& found) {
  return found.missing.empty() ? "there is no device" : found.missing;
}

class DeviceReporter {
 public:
  // `executable` is null where no device was found.
  DeviceReporter(const plan::Plan& plan, const lower::DeviceProgram& program, const DeviceExecutable* executable,
                 run::gpu::Limits limits, const std::vector<i64>& parameters, const RunOptions& options)
      : plan_(plan),
        program_(program),
        executable_(executable),
        limits_(std::move(limits)),
        parameters_(parameters),
        result_(explain::report(plan, parameters, cores(options))) {
    result_.device = name_of(limits_);
    result_.on_device = described(limits_, options);
    is_output_.resize(plan.graph.stage_count());
    for (const ir::Output& output : plan.graph.outputs)
      for (StageId s : output.stages) is_output_[s] = true;
  }

  explain::Report run(std::string missing, bool small) {
    result_.on_device->missing = std::move(missing);
    result_.on_device->small = small;
    homes();
    for (explain::GroupReport& g : result_.groups) g.reads.clear(), g.writes.clear();
    for (const lower::DeviceKernel& k : program_.kernels) {
      explain::GroupReport& g = result_.groups.at(k.group);
      if (k.in_place)
        put_together(k, g);
      else
        g.kernels.push_back(kernel(k));
    }
    result_.milliseconds = result_.bytes = result_.operations = 0;
    for (explain::GroupReport& g : result_.groups) add_up(g);
    return std::move(result_);
  }

 private:
  static RunOptions cores(RunOptions options) {
    options.threads = 1;
    return options;
  }

  bool has_array(StageId s) const { return lower::place_of(plan_, program_.interface, s).has_value(); }

  bool part_of_output(StageId s) const {
    const auto place = lower::place_of(plan_, program_.interface, s);
    if (!place || !program_.interface.arrays[place->array].part) return false;
    const std::size_t whole = program_.interface.arrays[place->array].part->whole;
    return program_.interface.arrays[whole].kind == lower::ArrayRef::Kind::output;
  }

  // Where a piece lies.
  StageId whole_of(StageId s) const {
    while (plan_.stages[s].home == plan::Home::inside) s = plan_.stages[s].whole;
    return s;
  }

  void homes() {
    std::vector<bool> in_strip(plan_.graph.stage_count()), in_tile(plan_.graph.stage_count());
    for (const lower::DeviceKernel& k : program_.kernels)
      for (StageId s : k.stages) in_strip[s] = k.strips, in_tile[s] = k.shared_bytes > 0;
    std::set<StageId> kept;  // read in the strip or the tile that computes them
    for (StageId s = 0; s < plan_.graph.stage_count(); ++s)
      for (StageId from : ir::sources(plan_.graph, s))
        if ((in_strip[s] || in_tile[s]) && plan_.stages[s].group == plan_.stages[from].group) kept.insert(from);
    for (explain::StageReport& s : result_.stages) {
      s.ring = {};
      if (s.kind == "input" || plan_.stages[s.id].home == plan::Home::inside) continue;
      const bool array = has_array(s.id), ring = kept.contains(s.id);
      const std::string place = is_output_[s.id] ? "output" : "array";
      const std::string own = in_tile[s.id] ? "shared memory" : "registers";
      s.home = !array ? own : ring ? own + " and " + place : place;
    }
  }

  // What takes no kernel is there all the same, once its pieces are.
  void put_together(const lower::DeviceKernel& k, explain::GroupReport& g) const {
    for (const StageId s : k.stages) {
      g.in_place.push_back(s);
      for (const StageId from : ir::sources(plan_.graph, s)) g.reads.push_back(from);
    }
  }

  KernelReport kernel(const lower::DeviceKernel& k) {
    KernelReport r;
    r.name = k.name;
    r.stages = k.stages;
    r.framed = k.frame.has_value();
    r.strips = k.strips, r.why = k.why, r.columns = k.columns, r.values = k.values, r.warm_up = k.warm_up;
    r.registers_estimated = k.registers;
    if (k.shared_bytes > 0) r.shared_bytes = k.shared_bytes;
    r.reduces = k.piece > 0;
    if (r.reduces)
      r.work = k.piece > 1 ? fmt::format("a piece of {} elements a block", k.piece) : "a list a block";
    else if (k.shared_bytes > 0)
      r.tile = k.points;
    r.operations = k.operations;
    used(k, r);
    const KernelLaunch launch =
        executable_ != nullptr
            ? executable_->launch_of(k, parameters_)
            : launch_plan(k, {plan_.graph, parameters_, limits_.multiprocessors, r.blocks_per_multiprocessor});
    r.grid = launch.launch.grid, r.block = launch.launch.block, r.strip_rows = launch.strip_rows;
    if (k.marches) r.tile[0] = r.strip_rows;
    r.points = 1;
    for (ir::SizeId d : k.domain) r.points *= static_cast<double>(plan_.graph.evaluate(d, parameters_));
    traffic(k, r);
    predict(k, r);
    return r;
  }

  // Of the compiled kernel; without a device the blocks that fit by the plan's estimate.
  void used(const lower::DeviceKernel& k, KernelReport& r) const {
    const int threads = k.threads_of_block();
    if (executable_ != nullptr) {
      const run::gpu::Module::Usage usage = executable_->usage_of(k);
      r.registers = usage.registers;
      r.shared_bytes = usage.shared_bytes, r.spilled_bytes = usage.local_bytes;
      r.blocks_per_multiprocessor = usage.blocks_per_multiprocessor;
    } else if (k.registers > 0) {
      const int each = (k.registers + 7) / 8 * 8 * threads;
      r.blocks_per_multiprocessor = std::max({1, k.blocks_at_once,
                                              std::min(limits_.threads_per_multiprocessor / threads,
                                                       static_cast<int>(limits_.registers_per_multiprocessor) / each)});
    }
    if (limits_.threads_per_multiprocessor <= 0) return;
    r.most_warps = limits_.threads_per_multiprocessor / limits_.lanes;
    if (r.blocks_per_multiprocessor >= 0) r.warps = r.blocks_per_multiprocessor * (threads / limits_.lanes);
  }

  void traffic(const lower::DeviceKernel& k, KernelReport& r) {
    r.bytes_read = k.scratch_read * r.points, r.bytes_written = k.scratch_written * r.points;
    std::set<StageId> reads, writes;
    for (StageId s : r.stages) {
      for (StageId from : ir::sources(plan_.graph, s))
        if (!k.reads_sources)
          continue;
        else if ((!r.strips && r.tile.empty()) || std::find(r.stages.begin(), r.stages.end(), from) == r.stages.end())
          reads.insert(whole_of(from));
      const bool in_registers = r.strips && whole_of(s) != s;  // of the whole, which is written for it
      if (!k.writes_stages || in_registers || !has_array(whole_of(s))) continue;
      const double bytes = explain::array_bytes(plan_, s, parameters_);  // of a piece its own
      r.bytes_written += bytes;
      if (is_output_[whole_of(s)] || part_of_output(s)) r.compulsory_bytes += bytes;
      writes.insert(whole_of(s));
    }
    for (StageId s : reads) {
      const double bytes = explain::array_bytes(plan_, s, parameters_);
      r.bytes_read += bytes;
      if (plan_.graph.stage(s).kind == ir::StageKind::input && fetched_.insert(s).second) r.compulsory_bytes += bytes;
    }
    r.reads.assign(reads.begin(), reads.end());
    r.writes.assign(writes.begin(), writes.end());
  }

  void predict(const lower::DeviceKernel& k, KernelReport& r) const {
    const explain::DeviceReport& d = *result_.on_device;
    const bool transforms = plan_.graph.stage(k.stages.front()).note > 0;
    const double beside = k.marches || transforms ? 0  // counted among its moves
                          : k.frame               ? beside_tile / static_cast<double>(k.columns * k.frame->height)
                          : k.strips              ? beside_step / k.columns
                                                  : beside_point;
    double instructions = k.operations + k.moves + beside;
    if (k.strips && !k.frame) {
      const double rows = static_cast<double>(r.strip_rows), all = rows + static_cast<double>(k.warm_up);
      const double cycles = d.operations / (4 * lanes_of_class * d.multiprocessors);  // a nanosecond
      r.strip_milliseconds = all * instructions * k.columns * cycles_alone / cycles * 1e-6;
      instructions *= all / rows;
    }
    if (k.marches) instructions *= 1 + static_cast<double>(k.warm_up) / static_cast<double>(r.strip_rows);
    r.memory_milliseconds = (r.bytes_read + r.bytes_written) / (copy_share * d.bandwidth) * 1e-6;
    const double share = k.frame || k.marches ? rate_share_of_tiles
                         : transforms         ? rate_share_of_transforms
                                              : rate_share;
    r.compute_milliseconds = r.points * instructions / (share * d.operations) * 1e-6;
    const double busy = std::max(r.memory_milliseconds, r.compute_milliseconds) +
                        (1 - hidden_share) * std::min(r.memory_milliseconds, r.compute_milliseconds);
    r.milliseconds = std::max(busy, r.strip_milliseconds) + launch_milliseconds;
  }

  void add_up(explain::GroupReport& g) {
    std::set<StageId> reads(g.reads.begin(), g.reads.end()), writes(g.in_place.begin(), g.in_place.end());
    g.bytes_read = g.bytes_written = g.compulsory_bytes = 0;
    g.milliseconds = g.memory_milliseconds = g.compute_milliseconds = g.operations = 0;
    for (const KernelReport& k : g.kernels) {
      reads.insert(k.reads.begin(), k.reads.end());
      writes.insert(k.writes.begin(), k.writes.end());
      g.bytes_read += k.bytes_read, g.bytes_written += k.bytes_written;
      g.compulsory_bytes += k.compulsory_bytes;
      g.milliseconds += k.milliseconds;
      g.memory_milliseconds += k.memory_milliseconds, g.compute_milliseconds += k.compute_milliseconds;
      g.strip_milliseconds += k.strip_milliseconds;
      result_.operations += k.operations * k.points;
      g.operations += k.operations * k.points;
    }
    double points = 1;
    for (i64 n : result_.stages[g.anchor].shape) points *= static_cast<double>(n);
    g.operations /= points;
    g.bound_by_memory = g.memory_milliseconds >= g.compute_milliseconds;
    g.reads.assign(reads.begin(), reads.end());
    g.writes.assign(writes.begin(), writes.end());
    result_.milliseconds += g.milliseconds;
    result_.bytes += g.bytes_read + g.bytes_written;
  }

  const plan::Plan& plan_;
  const lower::DeviceProgram& program_;
  const DeviceExecutable* executable_;
  run::gpu::Limits limits_;
  const std::vector<i64>& parameters_;
  explain::Report result_;
  std::vector<bool> is_output_;
  std::set<StageId> fetched_;
};

}  // namespace

explain::Report device_report(const Program::Impl& impl, const std::vector<i64>& parameters,
                              const RunOptions& options) {
  const run::gpu::Found found = devices_of(options);
  if (!found.devices.empty()) {
    const auto compiled = impl.on_device(options, parameters);
    const DeviceExecutable& runs = compiled->serving(parameters, options);
    explain::Report report = DeviceReporter(runs.plan(), runs.program(), &runs, runs.limits(), parameters, options)
                                 .run("", &runs != compiled.get() && runs.plan().options.schedule == Schedule::untiled);
    const std::string note = prices_in_use(options.target, runs.limits().name).note;
    if (!note.empty() && !report.sums.empty()) report.remarks.push_back(note);
    return report;
  }
  const machine::Abilities abilities = machine::abilities_of_target(options.target);
  DeviceCode code = device_code(impl.graph, abilities, options.schedule, options.numbers, options.method,
                                lower::shared_of_block, size_class(impl.graph, parameters, Where::device));
  if (!takes(code.program, code.plan.graph, parameters) && is_wide(code.program)) {
    machine::Abilities narrow = abilities;
    narrow.narrow = true;
    code = device_code(impl.graph, narrow, options.schedule, options.numbers, options.method);
  }
  const bool small = !takes(code.program, code.plan.graph, parameters);
  if (small) code = device_code(impl.graph, abilities, Schedule::untiled, options.numbers, options.method);
  return DeviceReporter(code.plan, code.program, nullptr, class_limits(options.target), parameters, options)
      .run(missing_of(found), small);
}

DeviceHeading device_heading(const RunOptions& options) {
  const run::gpu::Found found = devices_of(options);
  DeviceHeading heading;
  heading.limits = found.devices.empty() ? class_limits(options.target) : open_device(options)->limits();
  heading.report = described(heading.limits, options);
  if (found.devices.empty()) heading.report.missing = missing_of(found);
  heading.name = name_of(heading.limits);
  return heading;
}

std::string sharing_of(const Program::Impl& impl, const std::vector<i64>& parameters, RunOptions& options) {
  if (options.devices.empty()) return "";
  check_for_several(impl, {}, {}, options);
  RunOptions all = options;
  options.devices = {};
  if (devices_of(options).devices.empty()) return "";
  resolve_devices(all);
  options.device = all.device;
  if (all.devices.size() < 2) return "";
  const std::string over = "over " + name_of_devices(all.devices) + ": ";
  const auto alone = [&](const std::string& why) {
    return over + name_of_devices({all.device}) + " runs alone, since " + why;
  };
  if (const std::string why = why_alone(impl); !why.empty()) return alone(why);
  const std::vector<Shape> shapes = impl.output_shapes(parameters);
  if (const auto cut = cut_over_devices(impl, shapes, all))
    return over + fmt::format("{} windows along dimension {}, one on each", cut->parts, cut->dimension);
  if (options.method == Method::whole) return alone("method whole transforms whole images");
  if (impl.host) return alone("there is no one cut for its results");
  DeviceExecutable::Copies copies;
  for (const ir::Argument& a : impl.graph.arguments) {
    Shape shape;
    for (const ir::SizeId extent : a.extents) shape.push_back(impl.graph.evaluate(extent, parameters));
    copies.up += static_cast<i64>(data::byte_count(a.format, shape));
  }
  for (std::size_t o = 0; o < shapes.size(); ++o)
    copies.down += static_cast<i64>(data::byte_count(impl.outputs[o].format, shapes[o]));
  const auto compiled = impl.on_device(options, parameters);
  const DeviceExecutable::Split split =
      compiled->serving(parameters, options).split(parameters, copies, static_cast<int>(all.devices.size()));
  if (split.devices == 1) return alone("each would repeat the work of the others");
  return over + fmt::format("{} slabs of rows, {} on each, of which {} at once", split.parts,
                            (split.parts + split.devices - 1) / split.devices, split.lanes);
}

double predicted_milliseconds(const Program::Impl& impl, const std::vector<i64>& parameters,
                              const RunOptions& options) {
  return device_report(impl, parameters, options).milliseconds;
}

}  // namespace tessera::engine
