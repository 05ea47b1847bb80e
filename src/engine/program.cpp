// The public face: programs from text, checked arguments, compiled code kept per set of options.
#include "tessera/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <mutex>

#include "base/division.hpp"
#include "base/files/files.hpp"
#include "base/process/deadline.hpp"
#include "data/element.hpp"
#include "data/layout.hpp"
#include "emit/c/c.hpp"
#include "engine/device/several.hpp"
#include "engine/executable.hpp"
#include "engine/methods.hpp"
#include "engine/program_impl.hpp"
#include "engine/size_class.hpp"
#include "engine/windows/over_devices.hpp"
#include "ir/bind.hpp"
#include "ref/interpreter.hpp"

namespace tessera {

namespace {

[[noreturn]] void fail(std::string message, std::string help = {}) {
  throw Error(ErrorClass::argument, std::move(message), {}, std::move(help));
}

std::vector<Shape> shapes_of(const std::vector<Array>& arrays) {
  std::vector<Shape> shapes;
  for (const Array& a : arrays) shapes.push_back(a.shape());
  return shapes;
}

// Rows must be contiguous for vector loads; other layouts are copied first.
bool rows_contiguous(const Array& a) {
  return a.rank() == 0 || a.strides().back() == static_cast<i64>(a.format().size()) || a.shape().back() == 1;
}

bool same_layout(const Format& a, const Format& b) {
  if (a.is_struct() != b.is_struct()) return false;
  if (!a.is_struct()) return a.scalar == b.scalar;
  if (a.fields.size() != b.fields.size()) return false;
  for (std::size_t k = 0; k < a.fields.size(); ++k)
    if (a.fields[k].type != b.fields[k].type || a.fields[k].offset != b.fields[k].offset) return false;
  return true;
}

std::pair<std::uintptr_t, std::uintptr_t> memory_of(const Array& a) {
  const auto at = reinterpret_cast<std::uintptr_t>(a.data());
  const data::Span span = data::span_of(a);
  return {at + static_cast<std::uintptr_t>(span.first), at + static_cast<std::uintptr_t>(span.last)};
}

}  // namespace

Array scalar(double value, ElementType type) {
  Array a(type, Shape{});
  double v = value;
  switch (type) {
    case ElementType::boolean:
      *a.as<std::uint8_t>() = v != 0;
      break;
    case ElementType::u8:
      *a.as<std::uint8_t>() = static_cast<std::uint8_t>(static_cast<i64>(v));
      break;
    case ElementType::i16:
      *a.as<std::int16_t>() = static_cast<std::int16_t>(static_cast<i64>(v));
      break;
    case ElementType::u16:
      *a.as<std::uint16_t>() = static_cast<std::uint16_t>(static_cast<i64>(v));
      break;
    case ElementType::i32:
      *a.as<std::int32_t>() = static_cast<std::int32_t>(static_cast<i64>(v));
      break;
    case ElementType::u32:
      *a.as<std::uint32_t>() = static_cast<std::uint32_t>(static_cast<i64>(v));
      break;
    case ElementType::f32:
      *a.as<float>() = static_cast<float>(v);
      break;
    case ElementType::f64:
      *a.as<double>() = v;
      break;
    case ElementType::f16:
      fail("a half scalar cannot be made from a number; give it as float");
      break;
  }
  return a;
}

namespace {

// `folder` is where imports are looked for first; "" is nowhere.
Program compiled(std::string text, const CompileOptions& options, std::string file_name, std::string folder) {
  lang::CompileInput input;
  input.text = std::move(text);
  input.file_name = std::move(file_name);
  input.parameters = options.parameters;
  input.import_paths = options.import_paths;
  input.import_only = options.import_only;
  input.borders = options.borders;
  input.types = options.types;
  input.tables = options.tables;
  input.imports_relative_to = std::move(folder);
  const base::Deadline deadline(options.compile_limit);
  lang::Compiled compiled = lang::compile(input);
  return engine::make_program(std::move(compiled.graph), std::move(compiled.warnings), {}, {}, {},
                              std::move(compiled.imports));
}

std::string folder_of(const std::string& path, const std::string& without) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? without : path.substr(0, slash + 1);
}

}  // namespace

Program Program::from_text(std::string text, const CompileOptions& options, std::string file_name) {
  std::string folder = folder_of(file_name, "");
  return compiled(std::move(text), options, std::move(file_name), std::move(folder));
}

Program Program::from_file(const std::string& path, const CompileOptions& options) {
  return compiled(base::read_text(path, 16'000'000), options, path, folder_of(path, "./"));
}

Program engine::make_program(ir::Graph graph, std::vector<Diagnostic> warnings,
                             std::unique_ptr<const engine::Certainty> certainty, std::unique_ptr<const Program> precise,
                             std::vector<LeastExtent> least, std::vector<std::string> imports) {
  auto impl = std::make_shared<Program::Impl>();
  impl->least = std::move(least);
  impl->certainty = std::move(certainty);
  impl->precise = std::move(precise);
  impl->graph = std::move(graph);
  impl->warnings = std::move(warnings);
  impl->imports = std::move(imports);
  const ir::Graph& g = impl->graph;
  auto extents = [&](const std::vector<ir::SizeId>& sizes) {
    std::string text;
    for (ir::SizeId s : sizes) text += (text.empty() ? "" : " x ") + g.to_string(s);
    return text;
  };
  for (const ir::Argument& a : g.arguments)
    impl->inputs.push_back(
        {a.name, a.is_array, a.format, static_cast<int>(a.extents.size()), extents(a.extents), a.largest});
  for (const ir::Output& o : g.outputs) {
    const ir::Stage& stage = g.stage(o.stages.front());
    impl->outputs.push_back({o.name, true, o.format, static_cast<int>(stage.domain.size()), extents(stage.domain)});
  }
  if (lower::needs_host_program(g)) impl->host = std::make_unique<const engine::HostProgram>(g);
  return Program(std::move(impl));
}

const Program::Impl& engine::by_method(const Program::Impl& impl, const RunOptions& options) {
  const bool rounds =
      options.method == Method::transform || options.method == Method::whole || options.method == Method::low_rank;
  return impl.precise && rounds ? impl.precise->impl() : impl;
}

const std::vector<Parameter>& Program::inputs() const {
  return impl_->inputs;
}
const std::vector<Parameter>& Program::outputs() const {
  return impl_->outputs;
}
const std::vector<Diagnostic>& Program::warnings() const {
  return impl_->warnings;
}
const std::vector<std::string>& Program::imports() const {
  return impl_->imports;
}
const std::vector<std::string>& Program::parameters() const {
  return impl_->graph.parameters;
}

std::shared_ptr<const engine::Executable> Program::Impl::executable(const RunOptions& options,
                                                                    const std::vector<i64>& of_class) const {
  auto key = std::make_tuple(static_cast<int>(options.schedule), static_cast<int>(options.numbers),
                             static_cast<int>(options.method), options.compiler, of_class);
  const base::Lock lock = locked();
  std::shared_ptr<const engine::Executable>& found = executables[key];
  if (found) return found;
  const base::Deadline deadline(options.compile_limit, options.cancel);
  plan::Plan plan = engine::cpu_plan(graph, options, of_class);
  std::get<4>(key) = plan.options.parameters == of_class ? of_class : std::vector<i64>{};
  std::shared_ptr<const engine::Executable>& shared = executables[key];
  if (!shared) shared = std::make_shared<const engine::Executable>(std::move(plan), options);
  found = shared;
  return found;
}

std::shared_ptr<const engine::DeviceExecutable> Program::Impl::on_device(const RunOptions& options,
                                                                         const std::vector<i64>& parameters,
                                                                         const engine::DeviceExecutable* like) const {
  const std::vector<i64> of_class = engine::size_class(graph, parameters, engine::Where::device);
  auto key = std::make_tuple(static_cast<int>(options.schedule), static_cast<int>(options.numbers),
                             static_cast<int>(options.method), options.target, options.device, of_class);
  const base::Lock lock = locked();
  std::shared_ptr<const engine::DeviceExecutable>& found = on_devices[key];
  if (found) return found;
  const base::Deadline deadline(options.compile_limit, options.cancel);
  std::shared_ptr<run::gpu::Device> device = engine::open_device(options);
  engine::DeviceCode code = like != nullptr ? engine::DeviceCode{like->plan(), like->program()}
                                            : engine::code_for(graph, options, device->limits(), of_class);
  std::get<5>(key) = code.plan.options.parameters == of_class ? of_class : std::vector<i64>{};
  std::shared_ptr<const engine::DeviceExecutable>& shared = on_devices[key];
  if (!shared)
    shared = std::make_shared<const engine::DeviceExecutable>(graph, options, std::move(device), std::move(code));
  found = shared;
  return found;
}

engine::DeviceExecutable::Team Program::Impl::team(const RunOptions& options,
                                                   const std::vector<i64>& parameters) const {
  const bool shared = options.devices.size() > 1 && engine::why_alone(*this).empty();
  engine::DeviceExecutable::Team team;
  RunOptions own = options;
  for (const int number : shared ? options.devices : std::vector<int>{options.device}) {
    own.device = number;
    team.push_back(on_device(own, parameters, team.empty() ? nullptr : team.front().get()));
  }
  return team;
}

void Program::Impl::run(const std::vector<i64>& bound, const std::vector<Array>& from, const std::vector<Array>& to,
                        const RunOptions& options, const std::vector<i64>& whole) const {
  if (const Impl& chosen = engine::by_method(*this, options); &chosen != this)
    return chosen.run(bound, from, to, options, whole);
  const std::vector<i64>& planned = whole.empty() ? bound : whole;
  if (host) return host->run(bound, from, to, options);
  if (const auto whole = engine::whole_program(*this, options)) {
    RunOptions own = options;
    own.method = Method::automatic;
    return whole->impl().run(bound, from, to, own);
  }
  if (certainty && engine::run_by_certainty(*this, bound, from, to, options, planned)) return;
  if (options.target == "cpu")
    executable(options, engine::size_class(graph, planned))->run(bound, from, to, options);
  else
    engine::DeviceExecutable::run(team(options, planned), bound, from, to, options);
}

std::string Program::Impl::input_name(std::size_t k) const {
  return "input '" + inputs[k].name + "'";
}

std::string Program::Impl::output_name(std::size_t o) const {
  return "output '" + (outputs[o].name.empty() ? std::to_string(o + 1) : outputs[o].name) + "'";
}

std::vector<Array> Program::Impl::prepare(const std::vector<Array>& given) const {
  std::vector<Array> arrays = checked(given);
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (inputs[k].is_array && !arrays[k].on_device() && !rows_contiguous(arrays[k])) arrays[k] = arrays[k].clone();
  return arrays;
}

std::vector<Array> Program::Impl::checked(const std::vector<Array>& given) const {
  if (given.size() != inputs.size())
    fail("the program takes " + std::to_string(inputs.size()) + " inputs, but " + std::to_string(given.size()) +
         " were given");
  std::vector<Array> arrays = given;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    Array& a = arrays[k];
    const Parameter& input = inputs[k];
    const std::string name = input_name(k);
    if (a.empty()) fail(name + " has no array");
    if (!input.is_array) {
      a = a.to_host();
      if (a.rank() != 0)
        fail(name + " is a scalar, but an array of shape " + to_string(a.shape()) + " was given",
             "give tessera::scalar(value)");
      if (a.format().is_struct()) fail(name + " is a scalar, but a struct was given");
      if (a.format().scalar != input.format.scalar) a = convert_scalar(a, input.format.scalar);
      if (const double value = load_element(input.format.scalar, a.as<std::byte>());
          input.largest && !(value >= 0 && value <= static_cast<double>(*input.largest)))
        fail(fmt::format("{} is {}, expected 0 to {}, as the program declares it", name, value, *input.largest));
      continue;
    }
    if (!same_layout(a.format(), input.format))
      fail(name + " has elements of type " + input.format.name() + ", but an array of " + a.format().name() +
           " was given");
    if (a.rank() != input.rank)
      fail(name + " has " + std::to_string(input.rank) + " dimensions, but an array of shape " + to_string(a.shape()) +
           " was given");
    for (i64 n : a.shape())
      if (n < 1) fail(name + " has shape " + to_string(a.shape()) + "; every extent must be at least 1");
  }
  return arrays;
}

// The options with the target that a run goes to: that of its stream, else what they say, else where its arrays lie.
RunOptions Program::Impl::placed(const std::vector<Array>& from, const std::vector<Array>& to,
                                 const RunOptions& given) const {
  RunOptions options = given;
  const auto choose = [&](const run::gpu::Limits& limits) {
    if (!options.target.empty()) return;
    options.target = limits.target;
    options.device = limits.index;
  };
  const auto chosen = [&](const run::gpu::Limits& limits) {
    return options.target == limits.target && options.device == limits.index;
  };
  const auto place = [&] {
    return options.target == "cpu" ? "the CPU" : options.target + " " + std::to_string(options.device);
  };
  if (!given.devices.empty()) {
    if (options.target.empty()) options.target = "cuda";
    engine::check_for_several(*this, from, to, options);
    engine::resolve_devices(options);
  }
  if (given.stream != nullptr) {
    const run::gpu::Limits& limits = given.stream->device().impl().device->limits();
    choose(limits);
    if (!chosen(limits))
      fail("the stream is of " + label_of(limits) + ", but the run is on " + place(),
           "give no target: it is that of the stream");
  }
  const auto check = [&](const Array& a, const std::string& name) {
    if (!a.on_device()) return;
    const engine::DeviceMemory* memory = engine::memory_of(a);
    if (memory == nullptr) fail(name + " lies on " + a.memory()->place() + ", where no program runs");
    choose(memory->device()->limits());
    if (chosen(memory->device()->limits())) return;
    const bool told = !given.target.empty() && given.stream == nullptr;
    fail(name + " lies on " + a.memory()->place() + ", but the run is on " + place(),
         told ? "give no target: a run goes where its arrays are" : "copy it there");
  };
  for (std::size_t k = 0; k < from.size(); ++k) check(from[k], input_name(k));
  for (std::size_t k = 0; k < to.size(); ++k) check(to[k], output_name(k));
  if (options.target.empty()) options.target = "cpu";
  if (options.device_memory < 0)
    fail("device_memory is " + std::to_string(options.device_memory) + ", expected bytes, or 0 for all there is");
  return options;
}

Array Program::Impl::convert_scalar(const Array& a, ElementType type) {
  double v = 0;
  switch (a.format().scalar) {
    case ElementType::boolean:
    case ElementType::u8:
      v = *a.as<std::uint8_t>();
      break;
    case ElementType::i16:
      v = *a.as<std::int16_t>();
      break;
    case ElementType::u16:
      v = *a.as<std::uint16_t>();
      break;
    case ElementType::i32:
      v = *a.as<std::int32_t>();
      break;
    case ElementType::u32:
      v = *a.as<std::uint32_t>();
      break;
    case ElementType::f32:
      v = *a.as<float>();
      break;
    case ElementType::f64:
      v = *a.as<double>();
      break;
    case ElementType::f16:
      fail("a half scalar cannot be converted; give it as float");
      break;
  }
  return scalar(v, type);
}

std::vector<Shape> Program::Impl::output_shapes(const std::vector<i64>& bound) const {
  for (const LeastExtent& l : least)
    if (graph.evaluate(l.extent, bound) < l.points)
      fail("'" + l.stage + "' has an extent of " + std::to_string(graph.evaluate(l.extent, bound)) +
               ", but the gradients that its borders fold back take at least " + std::to_string(l.points),
           "give larger inputs");
  std::vector<Shape> shapes;
  for (std::size_t o = 0; o < graph.outputs.size(); ++o) {
    Shape shape;
    for (ir::SizeId s : graph.stage(graph.outputs[o].stages.front()).domain) shape.push_back(graph.evaluate(s, bound));
    for (i64 n : shape)
      if (n < 1)
        fail(output_name(o) + " would have shape " + to_string(shape) + "; every extent must be at least 1",
             "give larger inputs");
    shapes.push_back(shape);
  }
  // Stages in between have to exist as well.
  for (ir::StageId s = 0; s < graph.stage_count(); ++s)
    for (ir::SizeId d : graph.stage(s).domain)
      if (graph.evaluate(d, bound) < 1)
        fail("stage '" + graph.stage(s).name + "' would have an extent of " + std::to_string(graph.evaluate(d, bound)) +
                 "; every extent must be at least 1",
             "give larger inputs");
  return shapes;
}

std::vector<Shape> Program::output_shapes(const std::vector<Array>& inputs) const {
  return output_shapes_of(shapes_of(inputs));
}

std::vector<Shape> Program::output_shapes_of(const std::vector<Shape>& inputs) const {
  return impl_->output_shapes(ir::bind_parameters(impl_->graph, inputs));
}

std::vector<Array> Program::interpret(const std::vector<Array>& given, const RunOptions& options) const {
  const base::Deadline watch(0, options.cancel);
  return impl_->interpret(given, ref::Rounding::each);
}

std::vector<Array> Program::Impl::interpret(const std::vector<Array>& given, ref::Rounding of_sums) const {
  std::vector<Array> arrays = prepare(given);
  for (Array& a : arrays) a = a.to_host();
  const std::vector<i64> bound = ir::bind_parameters(graph, shapes_of(arrays));
  output_shapes(bound);
  return ref::interpret(graph, bound, arrays, of_sums);
}

std::vector<Array> Program::run(const std::vector<Array>& given, const RunOptions& asked) const {
  std::vector<Array> inputs = impl_->prepare(given);
  const RunOptions options = impl_->placed(inputs, {}, asked);
  engine::check_method(*impl_, options);
  std::vector<i64> bound = ir::bind_parameters(impl_->graph, shapes_of(inputs));
  std::vector<Shape> shapes = impl_->output_shapes(bound);
  std::vector<Array> results;
  const auto there = std::find_if(inputs.begin(), inputs.end(), [](const Array& a) { return a.on_device(); });
  for (std::size_t o = 0; o < shapes.size(); ++o) {
    const Format& format = impl_->outputs[o].format;
    results.push_back(there != inputs.end() ? there->memory()->make(format, shapes[o]) : Array(format, shapes[o]));
  }
  if (!engine::run_in_windows(*this, inputs, results, options)) impl_->run(bound, inputs, results, options);
  return results;
}

void Program::run_into(const std::vector<Array>& given, const std::vector<Array>& targets,
                       const RunOptions& asked) const {
  std::vector<Array> inputs = impl_->prepare(given);
  if (targets.size() != impl_->outputs.size())
    fail("the program has " + std::to_string(impl_->outputs.size()) + " outputs, but " +
         std::to_string(targets.size()) + " arrays were given");
  const RunOptions options = impl_->placed(inputs, targets, asked);
  engine::check_method(*impl_, options);
  std::vector<i64> bound = ir::bind_parameters(impl_->graph, shapes_of(inputs));
  std::vector<Shape> shapes = impl_->output_shapes(bound);
  std::vector<Array> results = targets;
  for (std::size_t o = 0; o < shapes.size(); ++o) {
    const std::string name = impl_->output_name(o);
    if (!same_layout(targets[o].format(), impl_->outputs[o].format))
      fail(name + " has elements of type " + impl_->outputs[o].format.name() + ", but an array of " +
           targets[o].format().name() + " was given");
    if (targets[o].shape() != shapes[o])
      fail(name + " has shape " + to_string(shapes[o]) + ", but an array of shape " + to_string(targets[o].shape()) +
           " was given");
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (inputs[k].data() == given[k].data() && impl_->inputs[k].is_array && Impl::share_memory(inputs[k], targets[o]))
        fail(name + " shares memory with " + impl_->input_name(k), "give an array of its own");
    // Copies from a device take any strides.
    if (options.target == "cpu" && !rows_contiguous(results[o]))
      results[o] = Array(impl_->outputs[o].format, shapes[o]);
  }
  if (!engine::run_in_windows(*this, inputs, results, options)) impl_->run(bound, inputs, results, options);
  for (std::size_t o = 0; o < shapes.size(); ++o)
    if (results[o].data() != targets[o].data()) {
      Array target = targets[o];
      target.copy_from(results[o]);
    }
}

// Two regions of one image interleave row by row without sharing an element: their boxes are compared, not their ends.
bool Program::Impl::share_memory(const Array& a, const Array& b) {
  const auto in = memory_of(a), out = memory_of(b);
  if (in.first >= out.second || out.first >= in.second) return false;
  if (a.rank() != b.rank() || a.rank() == 0 || a.strides() != b.strides()) return true;
  for (i64 stride : a.strides())
    if (stride <= 0) return true;
  std::function<bool(std::size_t, i64)> meet = [&](std::size_t d, i64 offset) {
    i64 size = static_cast<i64>(std::max(a.format().size(), b.format().size()));
    if (d == a.strides().size()) return offset > -size && offset < size;
    i64 stride = a.strides()[d];
    i64 steps = base::floor_divide(offset, stride);
    for (i64 s : {steps, steps + 1})
      if (s < a.shape()[d] && -s < b.shape()[d] && meet(d + 1, offset - s * stride)) return true;
    return false;
  };
  return meet(0, static_cast<const std::byte*>(b.data()) - static_cast<const std::byte*>(a.data()));
}

}  // namespace tessera
