// Program::emit: the code of a target as text.
//
// The text does not depend on the machine that writes it: plans are made for machines that stand for a class.
#include <fmt/format.h>

#include <algorithm>

#include "base/deadline.hpp"
#include "base/text.hpp"
#include "emit/c/c.hpp"
#include "emit/c/parts.hpp"
#include "emit/device/entry.hpp"
#include "engine/emit_hardware.hpp"
#include "engine/emit_head.hpp"
#include "engine/methods.hpp"
#include "engine/program_impl.hpp"

namespace tessera {

namespace {

plan::Plan plan_for(const ir::Graph& graph, const EmitOptions& options, const machine::CoreClass& machine) {
  plan::Options how;
  how.schedule = options.schedule;
  how.numbers = options.numbers;
  how.method = options.method;
  return plan::make_plan(graph, how, machine::core_of_class(machine));
}

emit::Variant variant_for(plan::Plan plan, const machine::CoreClass& machine) {
  emit::Variant variant;
  variant.plan = std::move(plan);
  variant.lowered = lower::lower_cpu(variant.plan);
  variant.features = machine.features;
  return variant;
}

constexpr i64 least_shared_of_opencl = i64{32} << 10;  // that every device has

// As a run on a device of that kind compiles it: the plan's kernels, those of narrow tiles where these are wide, and
// untiled ones for images that do not fit tiles and strips.
std::vector<emit::DeviceVariant> device_variants(const ir::Graph& graph, const EmitOptions& options) {
  std::vector<emit::DeviceVariant> variants;
  const auto add = [&](Schedule schedule, bool narrow) {
    const i64 shared = options.target == "cuda" ? lower::shared_of_block : least_shared_of_opencl;
    machine::Abilities abilities = machine::abilities_of_target(options.target);
    abilities.narrow = narrow;
    abilities.buffers = abilities.matrices = false;  // (a compiler is told the least capability that runs)
    engine::DeviceCode code = engine::device_code(graph, abilities, schedule, options.numbers, options.method, shared);
    variants.push_back({std::move(code.plan), std::move(code.program)});
  };
  add(options.schedule, false);
  if (engine::is_wide(variants.front().lowered)) add(options.schedule, true);
  add(Schedule::untiled, false);
  return variants;
}

// Of the classes that multiply bytes or do not, in the order in which the entry point prefers them, last first.
std::vector<emit::Variant> c_variants(const ir::Graph& graph, const EmitOptions& options) {
  std::vector<emit::Variant> variants;
  variants.reserve(machine::core_classes().size());
  for (const machine::CoreClass& core : machine::core_classes())
    if (!core.byte_products && (options.vector_bits == 0 || options.vector_bits == 8 * core.vector_bytes))
      variants.push_back(variant_for(plan_for(graph, options, core), core));
  return variants;
}

// Beside these for a machine that multiplies bytes, where the program has sums of them. (Sections of a program with
// loops have the same classes, all of them.)
std::vector<emit::Variant> c_variants_with_products(const ir::Graph& graph, const EmitOptions& options) {
  std::vector<emit::Variant> variants = c_variants(graph, options);
  if (options.vector_bits != 0) return variants;
  const machine::CoreClass& last = machine::core_classes().back();
  plan::Plan products = plan_for(graph, options, last);
  const auto sums_bytes = [](const plan::Group& group) {
    return std::any_of(group.passes.begin(), group.passes.end(), [](const plan::Pass& pass) { return pass.quads; });
  };
  if (std::any_of(products.groups.begin(), products.groups.end(), sums_bytes))
    variants.push_back(variant_for(std::move(products), last));
  return variants;
}

emit::SectionList sections_of(const engine::LoopProgram& program) {
  emit::SectionList list{&program.graph(), {}, &program.places()};
  for (const engine::LoopProgram::Part& part : program.parts()) list.sections.push_back(&part.section);
  return list;
}

emit::DeviceSection device_section(const Program::Impl& impl, const EmitOptions& options) {
  emit::DeviceSection section;
  if (!impl.sequence) {
    section.variants = device_variants(impl.graph, options);
    return section;
  }
  section.graph = &impl.graph;
  section.parts = &impl.sequence->parts();
  for (const rewrite::Step& step : section.parts->steps) {
    std::vector<emit::DeviceVariant>& variants = section.steps.emplace_back();
    if (step.is_part()) variants = device_variants(step.part, options);
  }
  return section;
}

EmittedCode device_files(const Program::Impl& impl, const EmitOptions& options) {
  const auto dialect = options.target == "cuda" ? emit::DeviceDialect::cuda : emit::DeviceDialect::opencl;
  emit::DeviceFiles files;
  if (impl.loops) {
    std::vector<emit::DeviceSection> sections;
    for (const engine::LoopProgram::Part& part : impl.loops->parts())
      sections.push_back(device_section(part.program.impl(), options));
    files = emit::print_device_files(sections_of(*impl.loops), std::move(sections), dialect, options.numbers,
                                     options.name, options.kernels_file);
  } else {
    files = emit::print_device_files(device_section(impl, options), dialect, options.numbers, options.name,
                                     options.kernels_file);
  }
  return {std::move(files.source), std::move(files.header), std::move(files.host)};
}

std::vector<std::vector<emit::Variant>> variants_of_parts(const rewrite::Parts& parts, const EmitOptions& options) {
  std::vector<std::vector<emit::Variant>> variants;
  for (const rewrite::Step& step : parts.steps) {
    std::vector<emit::Variant>& of_step = variants.emplace_back();
    if (step.is_part()) of_step = c_variants(step.part, options);
  }
  return variants;
}

emit::CSection c_section(const Program::Impl& impl, const EmitOptions& options) {
  if (!impl.sequence) return {&impl.graph, nullptr, {c_variants(impl.graph, options)}};
  const rewrite::Parts& parts = impl.sequence->parts();
  return {&impl.graph, &parts, variants_of_parts(parts, options)};
}

std::string c_loops(const engine::LoopProgram& program, const EmitOptions& options, const emit::EntryOptions& entry) {
  std::vector<emit::CSection> sections;
  std::vector<std::vector<emit::Variant>> plain;
  bool transforms = false;
  for (const engine::LoopProgram::Part& part : program.parts()) {
    sections.push_back(c_section(part.program.impl(), options));
    transforms = transforms || sections.back().parts != nullptr;
  }
  if (transforms) return emit::print_c_parts(sections_of(program), sections, entry);
  for (emit::CSection& section : sections) plain.push_back(std::move(section.variants.front()));
  return emit::print_c_file(sections_of(program), plain, entry);
}

EmittedCode c_files(const Program::Impl& impl, const EmitOptions& options) {
  emit::EntryOptions entry;
  entry.name = options.name;
  entry.tile_rows = options.tile_rows;
  entry.tile_columns = options.tile_columns;
  entry.vector_bits = options.vector_bits;
  const std::string header = emit::print_c_header(impl.graph, entry);
  if (impl.loops) return {c_loops(*impl.loops, options, entry), header, ""};
  if (impl.sequence) {
    const rewrite::Parts& parts = impl.sequence->parts();
    return {emit::print_c_parts(impl.graph, parts, variants_of_parts(parts, options), entry), header, ""};
  }
  const std::vector<emit::Variant> variants = c_variants_with_products(impl.graph, options);
  return {emit::print_c_file(variants, entry), emit::print_c_header(variants.front().plan, entry), ""};
}

EmittedCode files_of(const Program::Impl& impl, const EmitOptions& options) {
  const bool kernels = options.target == "cuda" || options.target == "opencl";
  const bool hardware = engine::is_hardware(options.target);
  if (!kernels && !hardware && options.target != "c")
    throw Error(ErrorClass::argument, fmt::format("there is no target {}; expected c, cuda, opencl, hls or verilog",
                                                  base::quoted(options.target)));
  if (options.tile_rows < 0 || options.tile_columns < 0)
    throw Error(ErrorClass::argument,
                fmt::format("tiles of {} x {} were asked for; expected positive numbers, or 0 to let the plan choose",
                            options.tile_rows, options.tile_columns));
  if ((kernels || hardware) && (options.tile_rows > 0 || options.tile_columns > 0))
    throw Error(ErrorClass::argument, fmt::format("target {} has no tiles to choose", options.target));
  if (options.vector_bits != 0 && options.target != "c")
    throw Error(ErrorClass::argument, fmt::format("target {} has no vectors to choose", base::quoted(options.target)));
  if (options.vector_bits != 0 && options.vector_bits != 128 && options.vector_bits != 256 &&
      options.vector_bits != 512)
    throw Error(ErrorClass::argument,
                fmt::format("vectors of {} bits were asked for; expected 128, 256 or 512", options.vector_bits));
  if (hardware) return engine::hardware_files(impl.graph, options);
  RunOptions run;
  run.schedule = options.schedule;
  run.numbers = options.numbers;
  run.method = options.method;
  run.target = options.target;
  engine::check_method(impl, run, kernels);
  if (options.method == Method::whole) {
    const auto whole = engine::whole_program(impl, run);
    if (!whole)
      throw Error(ErrorClass::argument, "method whole is emitted of programs without loops and fft", {},
                  "emit with method auto, or run the program");
    EmitOptions own = options;
    own.method = Method::automatic;
    return files_of(whole->impl(), own);
  }
  return kernels ? device_files(impl, options) : c_files(impl, options);
}

}  // namespace

EmittedCode Program::emit(const EmitOptions& options) const {
  const base::Deadline deadline(options.compile_limit);
  EmittedCode code = files_of(*impl_, options);
  for (const auto& [text, role] :
       {std::pair(&code.source, engine::EmittedRole::source), std::pair(&code.header, engine::EmittedRole::header),
        std::pair(&code.host, engine::EmittedRole::host)})
    if (!text->empty()) text->insert(0, engine::emitted_head(impl_->graph, options, role));
  return code;
}

}  // namespace tessera
