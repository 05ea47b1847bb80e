// Program::emit: the code of a target as text.
//
// The text does not depend on the machine that writes it: plans are made for machines that stand for a class.
#include <fmt/format.h>

#include <algorithm>

#include "base/process/deadline.hpp"
#include "base/text.hpp"
#include "emit/c/c.hpp"
#include "emit/c/parts.hpp"
#include "emit/device/entry.hpp"
#include "engine/emit_hardware.hpp"
#include "engine/emit_head.hpp"
#include "engine/methods.hpp"
#include "engine/program_impl.hpp"
#include "engine/size_class.hpp"
#include "ir/bind.hpp"
#include "lower/host/transform.hpp"
#include "lower/ways/ways.hpp"

namespace tessera {

namespace {

// What a file is made for: the parameters that follow from the shapes of the options, none where there are none.
using Extents = std::vector<i64>;

plan::Plan plan_for(const ir::Graph& graph, const EmitOptions& options, const Extents& extents,
                    const machine::CoreClass& machine) {
  plan::Options how;
  how.schedule = options.schedule;
  how.numbers = options.numbers;
  how.method = options.method;
  plan::Plan plan = engine::plan_for_class(graph, how, machine::core_of_class(machine),
                                           options.shapes.empty() ? Extents{} : engine::size_class(graph, extents));
  lower::choose_core_ways(plan);
  return plan;
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
std::vector<emit::DeviceVariant> device_variants(const ir::Graph& graph, const EmitOptions& options,
                                                 const Extents& extents) {
  std::vector<emit::DeviceVariant> variants;
  const Extents of_class =
      options.shapes.empty() ? Extents{} : engine::size_class(graph, extents, engine::Where::device);
  const auto add = [&](Schedule schedule, bool narrow) {
    const i64 shared = options.target == "cuda" ? lower::shared_of_block : least_shared_of_opencl;
    machine::Abilities abilities = machine::abilities_of_target(options.target);
    abilities.narrow = narrow;
    abilities.buffers = abilities.matrices = false;  // (a compiler is told the least capability that runs)
    engine::DeviceCode code =
        engine::device_code(graph, abilities, schedule, options.numbers, options.method, shared, of_class);
    variants.push_back({std::move(code.plan), std::move(code.program)});
  };
  add(options.schedule, false);
  if (engine::is_wide(variants.front().lowered)) add(options.schedule, true);
  add(Schedule::untiled, false);
  return variants;
}

// Of the classes that multiply bytes or do not, in the order in which the entry point prefers them, last first.
std::vector<emit::Variant> c_variants(const ir::Graph& graph, const EmitOptions& options, const Extents& extents) {
  std::vector<emit::Variant> variants;
  variants.reserve(machine::core_classes().size());
  for (const machine::CoreClass& core : machine::core_classes())
    if (!core.byte_products && (options.vector_bits == 0 || options.vector_bits == 8 * core.vector_bytes))
      variants.push_back(variant_for(plan_for(graph, options, extents, core), core));
  return variants;
}

// Beside these for a machine that multiplies bytes, where the program has sums of them. (Parts of a host program have
// the same classes, all of them.)
std::vector<emit::Variant> c_variants_with_products(const ir::Graph& graph, const EmitOptions& options,
                                                    const Extents& extents) {
  std::vector<emit::Variant> variants = c_variants(graph, options, extents);
  if (options.vector_bits != 0) return variants;
  const machine::CoreClass& last = machine::core_classes().back();
  plan::Plan products = plan_for(graph, options, extents, last);
  const auto sums_bytes = [](const plan::Group& group) {
    return std::any_of(group.passes.begin(), group.passes.end(),
                       [](const plan::Pass& pass) { return pass.form == plan::PassForm::quads; });
  };
  if (std::any_of(products.groups.begin(), products.groups.end(), sums_bytes))
    variants.push_back(variant_for(std::move(products), last));
  return variants;
}

// Calls `take` with every transform of the program, its shape and its problem, between arrays without gaps, where the
// options say extents.
template <class Take>
void for_sized_transforms(const engine::HostProgram& host, const EmitOptions& options, const Extents& extents,
                          const Take& take) {
  const std::vector<ir::host::Transform>& transforms = host.program().transforms;
  for (std::size_t t = 0; t < transforms.size() && !options.shapes.empty(); ++t) {
    const ir::host::Transform& what = transforms[t];
    std::vector<i64> shape;
    for (const ir::SizeId n : what.domain) shape.push_back(host.graph().evaluate(n, extents));
    const auto strides = [&](bool real) {
      std::vector<i64> all(shape.size(), static_cast<i64>(size_of(what.type)) * (real ? 1 : 2));
      for (std::size_t d = shape.size() - 1; d-- > 0;) all[d] = all[d + 1] * shape[d + 1];
      return all;
    };
    take(t, shape, lower::transform_problem(what, shape, strides(what.from_real), strides(what.to_real)));
  }
}

// Kernels that a run launches for these extents. A file has text for any as well, and for lines that no kernel takes.
std::vector<emit::SizedTransform> sized_transforms(const engine::HostProgram& host, const EmitOptions& options,
                                                   const Extents& extents) {
  std::vector<emit::SizedTransform> sized;
  fft::DeviceOptions how;
  how.pairs = options.target == "cuda";
  for_sized_transforms(
      host, options, extents, [&](std::size_t t, const std::vector<i64>& shape, const fft::Problem& problem) {
        try {
          sized.push_back(
              {t, shape, lower::lower_transform(fft::plan_on_device(problem, how), fmt::format("tsr_fft{}_", t))});
        } catch (const Error& e) {
          if (e.error_class() != ErrorClass::device) throw;
        }
      });
  return sized;
}

// Plans of a run for these extents, for the vectors that any machine has and for wider ones.
std::vector<emit::SizedOnCores> sized_on_cores(const engine::HostProgram& host, const EmitOptions& options,
                                               const Extents& extents) {
  std::vector<emit::SizedOnCores> sized;
  for_sized_transforms(
      host, options, extents, [&](std::size_t t, const std::vector<i64>& shape, const fft::Problem& problem) {
        emit::SizedOnCores one{t, shape, {}};
        for (const machine::CoreClass& c : machine::core_classes()) {
          const bool wanted =
              one.plans.empty() || options.vector_bits == 0 || options.vector_bits == 8 * c.vector_bytes;
          if (c.byte_products || !wanted) continue;
          const machine::Machine core = machine::core_of_class(c);
          one.plans.push_back(
              fft::plan_on_cores(problem, {core.vector_bytes, core.l1_bytes, core.l2_bytes, core.threads}));
        }
        sized.push_back(std::move(one));
      });
  return sized;
}

EmittedCode device_files(const Program::Impl& impl, const EmitOptions& options, const Extents& extents) {
  const auto dialect = options.target == "cuda" ? emit::DeviceDialect::cuda : emit::DeviceDialect::opencl;
  emit::DeviceFiles files;
  if (impl.host) {
    std::vector<std::vector<emit::DeviceVariant>> parts;
    for (std::size_t k = 0; k < impl.host->program().parts.size(); ++k)
      parts.push_back(device_variants(impl.host->part(k).impl().graph, options, extents));
    files = emit::print_device_files(impl.host->program(), impl.graph, std::move(parts),
                                     sized_transforms(*impl.host, options, extents), dialect, options.numbers,
                                     options.name, options.kernels_file);
  } else {
    files = emit::print_device_files(device_variants(impl.graph, options, extents), dialect, options.numbers,
                                     options.name, options.kernels_file);
  }
  return {std::move(files.source), std::move(files.header), std::move(files.host)};
}

EmittedCode c_files(const Program::Impl& impl, const EmitOptions& options, const Extents& extents) {
  emit::EntryOptions entry;
  entry.name = options.name;
  entry.tile_rows = options.tile_rows;
  entry.tile_columns = options.tile_columns;
  entry.vector_bits = options.vector_bits;
  if (impl.host) {
    const ir::host::Program& program = impl.host->program();
    std::vector<std::vector<emit::Variant>> parts;
    for (std::size_t k = 0; k < program.parts.size(); ++k)
      parts.push_back(c_variants(impl.host->part(k).impl().graph, options, extents));
    entry.sized = sized_on_cores(*impl.host, options, extents);
    return {program.transforms.empty() ? emit::print_c_file(program, impl.graph, parts, entry)
                                       : emit::print_c_parts(program, impl.graph, parts, entry),
            emit::print_c_header(impl.graph, entry), ""};
  }
  const std::vector<emit::Variant> variants = c_variants_with_products(impl.graph, options, extents);
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
  if (hardware && !options.shapes.empty())
    throw Error(ErrorClass::argument,
                fmt::format("target {} takes the extents of its frames, not shapes", options.target));
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
  Extents extents;
  if (!options.shapes.empty()) {
    if (options.shapes.size() != impl.graph.arguments.size())
      throw Error(ErrorClass::argument,
                  fmt::format("the program takes {} inputs, but {} shapes were given", impl.graph.arguments.size(),
                              options.shapes.size()),
                  {}, "give an empty shape for a scalar");
    extents = ir::bind_parameters(impl.graph, options.shapes);
    static_cast<void>(impl.output_shapes(extents));
  }
  return kernels ? device_files(impl, options, extents) : c_files(impl, options, extents);
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
