// Interpreting once per set of parameters, then running every way against that.
#include "case.hpp"

#include <fmt/format.h>

#include <cstring>
#include <map>

#include "engine/program_impl.hpp"
#include "ref/interpreter.hpp"
#include "rewrite/parts.hpp"
#include "tessera/device.hpp"

namespace tessera::differential {
namespace {

Shape shape_of(const ir::Graph& g, const std::vector<ir::SizeId>& extents, const std::vector<i64>& parameters) {
  Shape shape;
  for (ir::SizeId s : extents) shape.push_back(g.evaluate(s, parameters));
  return shape;
}

struct Inputs {
  std::vector<WatchedArray> memory;
  std::vector<Array> arrays;
};

// The same values whatever the placement: they depend on the seed and the shapes alone.
Inputs make_inputs(const Case& c, const std::vector<i64>& parameters, Placement placement) {
  Inputs inputs;
  Random random(c.seed * 977 + 5);
  for (const ir::Argument& a : c.graph.arguments) {
    const Shape shape = shape_of(c.graph, a.extents, parameters);
    inputs.memory.emplace_back(a.format, shape, a.is_array ? placement : Placement::flush_end);
    fill(a, inputs.memory.back().array(), c.data, random);
    inputs.arrays.push_back(inputs.memory.back().array());
  }
  return inputs;
}

bool refused(const Program& program, const Inputs& inputs) {
  try {
    program.output_shapes(inputs.arrays);
    return false;
  } catch (const Error& e) {
    if (e.error_class() != ErrorClass::argument) throw;
    return true;
  }
}

RunOptions options_of(const Way& s) {
  RunOptions o;
  o.schedule = s.schedule;
  o.method = s.method;
  o.numbers = s.numbers;
  o.tile_rows = s.rows;
  o.tile_columns = s.columns;
  o.threads = s.threads;
  o.compiler = s.compiler;
  o.target = s.target;
  return o;
}

std::string_view name_of(Schedule s) {
  static constexpr std::array<std::string_view, 4> names = {"automatic", "untiled", "tiled", "stream"};
  return names[static_cast<std::size_t>(s)];
}
std::string_view name_of(Placement p) {
  static constexpr std::array<std::string_view, 4> names = {"flush at the end", "flush at the beginning", "a view",
                                                            "a view with gaps between columns"};
  return names[static_cast<std::size_t>(p)];
}

std::string_view name_of(Where w) {
  static constexpr std::array<std::string_view, 4> names = {"of the host", "of the host in slabs", "of the device",
                                                            "of the device in views"};
  return names[static_cast<std::size_t>(w)];
}

// In slabs: with as little memory as it takes.
void run_in_slabs(const Program& program, const std::vector<Array>& inputs, const std::vector<Array>& outputs,
                  RunOptions options) {
  for (options.device_memory = 256;; options.device_memory *= 2) {
    try {
      return program.run_into(inputs, outputs, options);
    } catch (const Error& e) {
      const bool small = e.error_class() == ErrorClass::device && options.device_memory < i64{1} << 32;
      if (!small || std::string_view(e.what()).find("out of memory") == std::string_view::npos) throw;
    }
  }
}

// On arrays of the device; "" or what was written beside them.
std::string run_there(const Program& program, const std::vector<Array>& inputs, const std::vector<Array>& outputs,
                      const RunOptions& options, bool views) {
  const Device device = Device::open(options.target, options.device);
  const auto larger = [&](const Array& a) {
    Shape shape = a.shape();
    for (i64& n : shape) n += 3;
    Array all(a.format(), shape);
    std::memset(all.data(), 0x5a, static_cast<std::size_t>(all.count()) * a.format().size());
    return all;
  };
  const auto part = [](const Array& all, const Array& of) {
    const std::vector<i64> begin(of.shape().size(), 1);
    std::vector<i64> end = of.shape();
    for (i64& n : end) ++n;
    return all.region(begin, end);
  };
  std::vector<Array> from, to, whole;
  for (const Array& a : inputs) {
    if (a.rank() == 0) {
      from.push_back(a);
    } else if (!views) {
      from.push_back(device.copy_of(a));
    } else {
      from.push_back(part(device.copy_of(larger(a)), a));
      from.back().copy_from(a);
    }
  }
  for (const Array& a : outputs) {
    whole.push_back(device.copy_of(views ? larger(a) : a));
    to.push_back(views ? part(whole.back(), a) : whole.back());
  }
  program.run_into(from, to, options);
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    outputs[o].copy_from(to[o]);
    if (!views) continue;
    const Array around = whole[o].to_host(), untouched = larger(outputs[o]);
    part(untouched, outputs[o]).copy_from(outputs[o]);
    const auto bytes = static_cast<std::size_t>(around.count()) * around.format().size();
    if (!around.format().has_padding() && std::memcmp(around.data(), untouched.data(), bytes) != 0)
      return fmt::format("memory of the device around output {} was written", o);
  }
  return "";
}

// Results of earlier ways with the same plan.
using Earlier = std::map<std::string, std::vector<Array>>;

std::optional<std::string> run_way(const Case& c, const Program& program, const std::vector<i64>& parameters,
                                   const std::vector<Array>& expected, const Way& way, Earlier& earlier) {
  const Inputs inputs = make_inputs(c, parameters, way.placement);
  std::vector<WatchedArray> memory;
  std::vector<Array> outputs;
  for (const Array& e : expected) {
    memory.emplace_back(e.format(), e.shape(), way.placement);
    memory.back().spoil();
    outputs.push_back(memory.back().array());
  }
  try {
    if (way.where == Where::slabs) {
      run_in_slabs(program, inputs.arrays, outputs, options_of(way));
    } else if (way.where != Where::host) {
      const bool views = way.where == Where::device_views;
      if (auto wrong = run_there(program, inputs.arrays, outputs, options_of(way), views); !wrong.empty()) return wrong;
    } else {
      program.run_into(inputs.arrays, outputs, options_of(way));
    }
  } catch (const std::exception& e) {
    if (!c.may_refuse || way.method == Method::automatic ||
        std::string_view(e.what()).find("takes no sum of the program") == std::string_view::npos)
      return std::string("it is refused: ") + e.what();
    Way other = way;
    other.method = Method::automatic;
    return run_way(c, program, parameters, expected, other, earlier);
  }
  Match match;
  if (way.numbers == Numbers::fast || rewrite::has_transforms(c.graph))
    match = {false, false, c.relative, c.absolute, nullptr};
  else
    match.nans = true;
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    if (auto d = difference(expected[o], outputs[o], match)) return fmt::format("output {} {}", o, *d);
    if (!memory[o].surroundings_intact()) return fmt::format("memory around output {} was written", o);
  }
  // The same plan gives the same bits, whatever the tiles, the threads and the memory; slabs are compared among each
  // other.
  std::vector<Array>& others =
      earlier[fmt::format("{} {} {} {} {} {}", way.target, static_cast<int>(way.method), name_of(way.schedule),
                          way.numbers == Numbers::exact, way.compiler, way.where == Where::slabs)];
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    if (others.size() < outputs.size()) {
      others.push_back(outputs[o].clone());
    } else if (auto d = difference(others[o], outputs[o], Match{})) {
      return fmt::format("output {} differs from that of the same plan before: {}", o, *d);
    }
  }
  for (std::size_t k = 0; k < inputs.memory.size(); ++k)
    if (!inputs.memory[k].surroundings_intact()) return fmt::format("memory around input {} was written", k);
  return std::nullopt;
}

}  // namespace

std::string to_string(const Way& s) {
  return fmt::format(
      "target {}, schedule {}, numbers {}, method {}, tile {}x{}, threads {}, compiler '{}', memory {}, arrays {}",
      s.target, name_of(s.schedule), s.numbers == Numbers::exact ? "exact" : "fast", rewrite::name_of(s.method), s.rows,
      s.columns, s.threads, s.compiler, name_of(s.placement), name_of(s.where));
}

std::optional<Failure> check(const Case& c, const std::function<void(std::size_t, std::size_t)>& note, i64* executed) {
  ir::verify(c.graph);
  const Program program = engine::make_program(c.graph, {});
  for (std::size_t p = 0; p < c.parameters.size(); ++p) {
    note(p, c.ways.size());
    const Inputs inputs = make_inputs(c, c.parameters[p], Placement::flush_end);
    if (refused(program, inputs)) {
      try {
        program.run(inputs.arrays, options_of(c.ways.front()));
      } catch (const Error&) {
        continue;
      }
      return Failure{p, 0, "it runs at a size that it refuses to tell the output shapes of"};
    }
    const std::vector<Array> expected = program.interpret(inputs.arrays);
    Earlier earlier;
    for (std::size_t s = 0; s < c.ways.size(); ++s) {
      note(p, s);
      if (auto wrong = run_way(c, program, c.parameters[p], expected, c.ways[s], earlier)) return Failure{p, s, *wrong};
      if (executed != nullptr) ++*executed;
    }
  }
  return std::nullopt;
}

std::string describe(const Case& c) {
  std::string text = c.name + "\n";
  for (const auto& set : c.parameters) {
    text += "parameters:";
    for (std::size_t k = 0; k < set.size(); ++k) text += fmt::format(" {}={}", c.graph.parameters[k], set[k]);
    text += "\n";
  }
  for (const Way& s : c.ways) text += to_string(s) + "\n";
  text += fmt::format("data: {} seed {}\n",
                      c.data == Data::wild    ? "wild"
                      : c.data == Data::plain ? "plain"
                      : c.data == Data::odd   ? "odd"
                                              : "smooth",
                      c.seed);
  if (!c.source.empty()) text += c.source + "\n";
  return text + ir::print(c.graph);
}

}  // namespace tessera::differential
