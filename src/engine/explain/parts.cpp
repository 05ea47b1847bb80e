// See parts.hpp.
//
// The model of a transform: its points, times the logarithm of the points that come together, at a rate that was
// measured on one core of a Zen 4 (docs/measurements/transforms.md), against two sweeps through memory. Real images
// take half. On devices it is that of transform.cpp.
#include "engine/explain/parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>

#include "base/text.hpp"
#include "engine/explain/device.hpp"
#include "engine/explain/transform.hpp"
#include "engine/fft/device_transform.hpp"
#include "engine/program_impl.hpp"
#include "ir/nest/nest.hpp"
#include "lower/host/transform.hpp"
#include "run/cpu/machine.hpp"
#include "run/cpu/parallel.hpp"

namespace tessera::engine {

using explain::Report;
using explain::StageReport;
using ir::StageId;

namespace {

// Of a point, for every doubling of what comes together; and the bytes of a nanosecond.
constexpr double nanoseconds = 0.12, bandwidth = 20;

class Merger {
 public:
  Merger(const HostProgram& program, const lower::HostSection& section, const std::vector<i64>& parameters,
         const RunOptions& options)
      : graph_(section.section.graph),
        steps_(section.parts->steps),
        indices_(section.steps),
        program_(program),
        parameters_(parameters),
        options_(options) {}

  Report run(const std::function<Report(const Program::Impl&)>& of_part) {
    if (!options_.target.empty() && options_.target != "cpu") {
      there_ = device_heading(options_);
      if (there_->report.missing.empty()) device_ = open_device(options_);
    }
    bool first = true;
    for (std::size_t k = 0; k < steps_.size(); ++k) {
      if (!steps_[k].is_part()) continue;
      Report report = of_part(program_.part(indices_[k]).impl());
      if (first) all_ = heading(report);
      first = false;
      reports_.emplace(k, std::move(report));
    }
    if (first) all_ = without_parts();
    for (std::size_t k = 0; k < steps_.size(); ++k)
      if (steps_[k].is_part())
        add(steps_[k], reports_.at(k));
      else
        transform(k);
    least();
    return std::move(all_);
  }

 private:
  static Report heading(const Report& from) {
    Report report = from;
    report.stages.clear(), report.groups.clear(), report.remarks.clear(), report.sums.clear(), report.outputs.clear();
    report.milliseconds = report.bytes = report.minimum_bytes = report.operations = 0;
    return report;
  }

  // Transforms alone.
  Report without_parts() const {
    constexpr const char* schedules[] = {"automatic", "untiled", "tiled", "stream"};
    Report report;
    report.device = there_ ? there_->name : run::cpu::machine().name;
    if (there_) report.on_device = there_->report;
    report.schedule = schedules[static_cast<std::size_t>(options_.schedule)];
    report.numbers = options_.numbers == Numbers::exact ? "exact" : "fast";
    report.threads = run::cpu::thread_count(options_.threads);
    for (std::size_t k = 0; k < graph_.parameters.size(); ++k)
      report.parameters.push_back({graph_.parameters[k], parameters_[k]});
    return report;
  }

  using Lying = std::pair<rewrite::Place, std::size_t>;  // an array and a field of it

  std::string unique(const std::string& name) {
    std::string candidate = name;
    for (int k = 2; !names_.insert(candidate).second; ++k) candidate = fmt::format("{}#{}", name, k);
    return candidate;
  }

  StageId append(StageReport stage) {
    stage.id = static_cast<StageId>(all_.stages.size());
    stage.name = unique(stage.name);
    all_.stages.push_back(std::move(stage));
    return all_.stages.back().id;
  }

  // What wrote a field of an array. Fields that a part treats alike are one stage, which stands for all of them.
  std::optional<StageId> lying_at(const Lying& lies) const {
    auto known = lying_.find(lies);
    if (known == lying_.end() && lies.first.kind != rewrite::Place::Kind::argument)
      known = lying_.find({lies.first, 0});
    return known == lying_.end() ? std::nullopt : std::optional(known->second);
  }

  // The stages of a part behind those that are there; what the part reads is what an earlier step wrote.
  void add(const rewrite::Step& step, Report& part) {
    std::vector<StageId> now(part.stages.size());
    const auto first_group = static_cast<int>(all_.groups.size());
    for (StageReport& s : part.stages) {
      const StageId old = s.id;
      if (s.kind == "input") {
        const Lying lies{step.inputs[s.argument], s.field};
        if (const auto known = lying_at(lies)) {
          now[old] = *known;
          continue;
        }
        now[old] = append(s);
        lying_[lies] = now[old];
        continue;
      }
      for (explain::ReadReport& read : s.reads) read.producer = now[read.producer];
      if (s.group >= 0) s.group += first_group;
      now[old] = append(s);
    }
    for (std::size_t o = 0; o < part.outputs.size(); ++o)
      for (std::size_t f = 0; f < part.outputs[o].size(); ++f) {
        const StageId s = now[part.outputs[o][f]];
        lying_[{step.outputs[o], f}] = s;
        if (step.outputs[o].kind == rewrite::Place::Kind::between) array_not_output(all_.stages[s].home);
        name_output(all_.stages[s], step.outputs[o], f);
      }
    for (explain::GroupReport& g : part.groups) {
      const auto renamed = [&](std::vector<StageId>& stages) {
        for (StageId& s : stages) s = now[s];
      };
      g.anchor = now[g.anchor];
      renamed(g.stages), renamed(g.reads), renamed(g.writes), renamed(g.in_place);
      for (explain::PassReport& p : g.passes) renamed(p.stages);
      for (explain::KernelReport& k : g.kernels) renamed(k.stages), renamed(k.reads), renamed(k.writes);
      g.compulsory_bytes = compulsory(g);
      all_.groups.push_back(std::move(g));
    }
    all_.milliseconds += part.milliseconds;
    all_.bytes += part.bytes;
    all_.operations += part.operations;
    for (std::string& remark : part.remarks)
      if (std::find(all_.remarks.begin(), all_.remarks.end(), remark) == all_.remarks.end())
        all_.remarks.push_back(std::move(remark));
    std::move(part.sums.begin(), part.sums.end(), std::back_inserter(all_.sums));
  }

  double bytes_of(const StageReport& s) const {
    double bytes = std::atof(s.lane.c_str() + s.lane.find_first_of("0123456789")) / 8;  // of "u8", "f32"
    for (const i64 n : s.shape) bytes *= static_cast<double>(n);
    return bytes;
  }

  // Arguments that are read for the first time, and outputs of the program.
  double compulsory(const explain::GroupReport& g) {
    double bytes = 0;
    for (const StageId s : g.reads)
      if (all_.stages[s].kind == "input" && fetched_.insert(s).second) bytes += bytes_of(all_.stages[s]);
    for (const StageId s : g.writes)
      if (all_.stages[s].home.ends_with("output")) bytes += bytes_of(all_.stages[s]);
    return bytes;
  }

  static void array_not_output(std::string& home) {
    if (const std::size_t at = home.find("output"); at != std::string::npos) home.replace(at, 6, "array");
  }

  // Results are those of the whole program, whatever its parts call them.
  void name_output(StageReport& s, const rewrite::Place& place, std::size_t field) const {
    s.output.clear();
    if (place.kind != rewrite::Place::Kind::output) return;
    const std::string name = explain::name_of_result(graph_.outputs[place.index], field);
    if (name != s.name) s.output = name;
  }

  // An argument that no part has read yet.
  StageId argument(const rewrite::Place& place, std::size_t field) {
    const auto [known, fresh] = lying_.try_emplace({place, field}, 0);
    if (!fresh) return known->second;
    const ir::Argument& a = graph_.arguments[place.index];
    StageReport s;
    s.name = a.name;
    ElementType type = a.format.scalar;
    if (a.format.is_struct()) type = a.format.fields[field].type, s.name += "." + a.format.fields[field].name;
    s.type = std::string(name_of(type));
    s.lane = std::string(ir::nest::name_of(ir::nest::lane_of(type)));
    s.kind = "input", s.home = "argument";
    place_at(s, a.extents);
    s.argument = place.index, s.field = field;
    return known->second = append(std::move(s));
  }

  void place_at(StageReport& s, const std::vector<ir::SizeId>& extents) const {
    for (const ir::SizeId n : extents) {
      s.extents += (s.extents.empty() ? "" : " x ") + graph_.to_string(n);
      s.shape.push_back(graph_.evaluate(n, parameters_));
    }
  }

  std::string words(const rewrite::Step& step) const {
    const char* kind = step.transform.from_real ? "real to complex"
                       : step.transform.to_real ? "complex to real"
                                                : "complex";
    std::string along;
    for (const int d : step.transform.along) along += (along.empty() ? "" : ", ") + std::to_string(d);
    return fmt::format("{} {}, along dimension{} {}", step.transform.inverse ? "inverse" : "forward", kind,
                       step.transform.along.size() == 1 ? "" : "s", along);
  }

  void transform(std::size_t k) {
    const rewrite::Step& step = steps_[k];
    explain::GroupReport g;
    g.transform = words(step);
    double points = 1, together = 1;
    for (std::size_t f = 0; f < (step.transform.from_real ? 1 : 2); ++f) {
      const Lying lies{step.inputs[0], f};
      const bool given = step.inputs[0].kind == rewrite::Place::Kind::argument;
      const StageId read = given ? argument(step.inputs[0], f) : lying_at(lies).value();
      if (std::find(g.reads.begin(), g.reads.end(), read) == g.reads.end()) g.reads.push_back(read);
    }
    for (const StageId stage : step.stages) {
      const ir::Stage& own = graph_.stage(stage);
      StageReport s;
      s.name = own.name;
      s.type = std::string(name_of(own.type));
      s.lane = own.type == ElementType::f64 ? "f64" : "f32";
      s.kind = "transform";
      s.home = step.outputs[0].kind == rewrite::Place::Kind::output ? "output" : "array";
      name_output(s, step.outputs[0], own.fourier.imaginary ? 1U : 0U);
      s.group = static_cast<int>(all_.groups.size());
      s.pass = 0;
      place_at(s, own.domain);
      for (const StageId from : g.reads) s.reads.push_back({from, "anywhere", ""});
      g.writes.push_back(append(std::move(s)));
      lying_[{step.outputs[0], own.fourier.imaginary ? 1U : 0U}] = g.writes.back();
    }
    g.stages = g.writes;
    g.anchor = g.stages.front();
    g.passes.push_back({plan::PassForm::vectors, g.stages});
    const Shape& shape = all_.stages[g.anchor].shape;
    for (const i64 n : shape) points *= static_cast<double>(n);
    for (const int d : step.transform.along) together *= static_cast<double>(shape[static_cast<std::size_t>(d)]);
    const double number = static_cast<double>(size_of(step.transform.type));
    g.bytes_read = points * number * (step.transform.from_real ? 1 : 2);
    g.bytes_written = points * number * (step.transform.to_real ? 1 : 2);
    g.compulsory_bytes = compulsory(g);
    const double half = step.transform.from_real || step.transform.to_real ? 0.5 : 1,
                 doublings = std::max(1.0, std::log2(together));
    g.operations = half * 5 * doublings;
    g.compute_milliseconds = half * points * doublings * nanoseconds * number / 4 * 1e-6;
    g.memory_milliseconds = 2 * (g.bytes_read + g.bytes_written) / bandwidth * 1e-6;
    g.milliseconds = std::max(g.compute_milliseconds, g.memory_milliseconds);
    g.bound_by_memory = g.memory_milliseconds >= g.compute_milliseconds;
    g.reasons.push_back("a transform wants its image whole: nothing is fused with it");
    if (there_) on_device(k, shape, g);
    all_.milliseconds += g.milliseconds;
    all_.bytes += g.bytes_read + g.bytes_written;
    all_.operations += g.operations * points;
    all_.groups.push_back(std::move(g));
  }

  // Between arrays as runs make them.
  void on_device(std::size_t k, const Shape& shape, explain::GroupReport& g) {
    const rewrite::Step& step = steps_[k];
    const auto number = static_cast<i64>(size_of(step.transform.type));
    const auto strides = [&](bool real) { return padded_rows(real ? number : 2 * number, shape).strides; };
    const std::vector<i64> from = strides(step.transform.from_real), to = strides(step.transform.to_real);
    const auto plan = device_plan(lower::transform_problem(step.transform, shape, from, to), there_->limits);
    if (!plan) {
      g.reasons.push_back("it runs on the host, since the device has no such transform");
      return;
    }
    const auto compiled = device_ ? program_.there(indices_[k], shape, from, to, device_) : nullptr;
    explain_transform(g, *plan, compiled.get(), there_->report, there_->limits);
  }

  // Arguments read once, outputs written once.
  void least() {
    const auto bytes = [&](const std::vector<ir::SizeId>& extents, const Format& format) {
      double n = static_cast<double>(format.size());
      for (const ir::SizeId e : extents) n *= static_cast<double>(graph_.evaluate(e, parameters_));
      return n;
    };
    for (const ir::Argument& a : graph_.arguments)
      if (a.is_array) all_.minimum_bytes += bytes(a.extents, a.format);
    for (const ir::Output& o : graph_.outputs)
      all_.minimum_bytes += bytes(graph_.stage(o.stages.front()).domain, o.format);
  }

  const ir::Graph& graph_;
  const std::vector<rewrite::Step>& steps_;
  const std::vector<std::size_t>& indices_;  // of steps: into parts and transforms of the program
  const HostProgram& program_;
  const std::vector<i64>& parameters_;
  const RunOptions& options_;
  std::optional<DeviceHeading> there_;  // on devices
  std::shared_ptr<run::gpu::Device> device_;
  Report all_;
  std::map<std::size_t, Report> reports_;  // of parts
  std::set<std::string> names_;
  std::set<StageId> fetched_;
  std::map<Lying, StageId> lying_;
};

}  // namespace

Report report_in_parts(const HostProgram& program, const lower::HostSection& section,
                       const std::vector<i64>& parameters, const RunOptions& options,
                       const std::function<Report(const Program::Impl&)>& of_part) {
  return Merger(program, section, parameters, options).run(of_part);
}

}  // namespace tessera::engine
