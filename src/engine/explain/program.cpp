// Program::explain: the plan that would run, made without compiling anything but the kernels of a device that is there.
#include "base/process/deadline.hpp"
#include "engine/executable.hpp"
#include "engine/explain/device.hpp"
#include "engine/explain/parts.hpp"
#include "engine/methods.hpp"
#include "engine/program_impl.hpp"
#include "engine/size_class.hpp"
#include "engine/tune/prices.hpp"
#include "explain/sections.hpp"
#include "ir/bind.hpp"
#include "run/cpu/parallel.hpp"

namespace tessera {

namespace {

// Sizes that no memory holds would leave 63 bits when they are multiplied.
void check_points(const ir::Graph& graph, const std::vector<i64>& parameters) {
  constexpr double most = 281474976710656.0;  // 2^48
  for (ir::StageId s = 0; s < graph.stage_count(); ++s) {
    double points = 1;
    for (ir::SizeId d : graph.stage(s).domain) points *= static_cast<double>(graph.evaluate(d, parameters));
    if (points > most)
      throw Error(
          ErrorClass::argument,
          "stage '" + graph.stage(s).name + "' would have more than 2^48 points; that is more than any array has", {},
          "give smaller inputs");
  }
}

explain::Report cpu_report(const Program::Impl& impl, const std::vector<i64>& parameters, const RunOptions& options) {
  RunOptions resolved = options;
  resolved.threads = run::cpu::thread_count(options.threads);
  const bool blocks = impl.certainty && engine::may_run_by_certainty(impl, parameters, options);
  plan::Plan plan =
      engine::cpu_plan(impl.graph, options, blocks ? std::vector<i64>{} : engine::size_class(impl.graph, parameters));
  const std::string note = engine::prices_in_use("cpu", plan.device.name).note;
  if (!note.empty() && !plan.sums.empty()) plan.remarks.push_back(note);
  return explain::report(std::move(plan), parameters, resolved);
}

explain::Report report_of(const Program::Impl&, const std::vector<i64>& parameters, const RunOptions&);

explain::Report report_of(const engine::HostProgram& program, const lower::HostSection& section,
                          const std::vector<i64>& parameters, const RunOptions& options) {
  const auto of = [&](const Program::Impl& part) { return report_of(part, parameters, options); };
  return section.parts ? engine::report_in_parts(program, section, parameters, options, of)
                       : of(program.part(section.steps.front()).impl());
}

// Of a program without loops.
explain::Report report_of(const Program::Impl& impl, const std::vector<i64>& parameters, const RunOptions& options) {
  if (const auto whole = engine::whole_program(impl, options)) {
    RunOptions own = options;
    own.method = Method::automatic;
    explain::Report report = report_of(whole->impl(), parameters, own);
    report.sums = engine::sums_of(impl, options);
    return report;
  }
  if (impl.host) return report_of(*impl.host, impl.host->sections().front(), parameters, options);
  const bool cpu = options.target.empty() || options.target == "cpu";
  return cpu ? cpu_report(impl, parameters, options) : engine::device_report(impl, parameters, options);
}

std::vector<explain::SectionReport> reports_of(const engine::HostProgram& program, const std::vector<i64>& parameters,
                                               const RunOptions& options) {
  std::vector<explain::SectionReport> reports;
  for (const lower::HostSection& made : program.sections()) {
    const ir::Section& section = made.section;
    const ir::Graph& graph = made.parts ? section.graph : program.part(made.steps.front()).impl().graph;
    explain::SectionReport report{report_of(program, made, parameters, options), "", section.most, {}};
    if (section.repeats()) report.loop = program.graph().loops[section.loop].name;
    for (const ir::Section::Carried& c : section.carried) report.carried.push_back(graph.arguments[c.input].name);
    reports.push_back(std::move(report));
  }
  return reports;
}

template <class Report>
std::string formatted(const Report& report, ExplainFormat format) {
  switch (format) {
    case ExplainFormat::json:
      return explain::to_json(report);
    case ExplainFormat::svg:
      return explain::to_svg(report);
    case ExplainFormat::text:
      break;
  }
  return explain::to_text(report);
}

}  // namespace

std::string Program::explain(const std::vector<Shape>& shapes, const RunOptions& asked, ExplainFormat format) const {
  RunOptions options = asked;
  if (options.target.empty() && !options.devices.empty()) options.target = "cuda";  // as a run
  const ir::Graph& graph = impl_->graph;
  if (shapes.size() != graph.arguments.size())
    throw Error(ErrorClass::argument,
                "the program takes " + std::to_string(graph.arguments.size()) + " inputs, but " +
                    std::to_string(shapes.size()) + " shapes were given",
                {}, "give an empty shape for a scalar");
  const base::Deadline deadline(options.compile_limit, options.cancel);
  const std::vector<i64> parameters = ir::bind_parameters(graph, shapes);
  impl_->output_shapes(parameters);
  check_points(graph, parameters);
  engine::check_method(*impl_, options);
  if (&engine::by_method(*impl_, options) != impl_.get()) return impl_->precise->explain(shapes, options, format);
  const std::string sharing = engine::sharing_of(*impl_, parameters, options);
  const auto add_sharing = [&](explain::Report& report) {
    if (!sharing.empty()) report.remarks.push_back(sharing);
  };
  if (impl_->host && impl_->host->loops()) {
    std::vector<explain::SectionReport> reports = reports_of(*impl_->host, parameters, options);
    add_sharing(reports.front().report);
    return formatted(reports, format);
  }
  explain::Report report = report_of(*impl_, parameters, options);
  add_sharing(report);
  std::string text = formatted(report, format);
  if (impl_->certainty && format == ExplainFormat::text && engine::may_run_by_certainty(*impl_, parameters, options))
    text += "\nblocks whose windows see equal certainties everywhere run without them, empty ones do not run\n";
  return text;
}

}  // namespace tessera
