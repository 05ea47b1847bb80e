// What a Program holds.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "base/process/fork.hpp"
#include "engine/device/on_device.hpp"
#include "engine/executable.hpp"
#include "engine/filters/certainty.hpp"
#include "engine/host/host_program.hpp"
#include "ir/graph.hpp"
#include "lang/compile.hpp"
#include "ref/interpreter.hpp"
#include "rewrite/located.hpp"
#include "tessera/program.hpp"

namespace tessera {

// What an extent has to be for a program to be right: of adjoints.
struct LeastExtent {
  ir::SizeId extent;
  i64 points = 0;
  std::string stage;
};

struct Program::Impl {
  ir::Graph graph;
  std::vector<Diagnostic> warnings;
  std::vector<std::string> imports;  // files
  std::vector<Parameter> inputs, outputs;
  // Of a graph with loops or Fourier transforms, which has no code as a whole. Others are one part.
  std::unique_ptr<const engine::HostProgram> host;
  std::unique_ptr<const engine::Certainty> certainty;  // of a filter of images whose points are not all known
  // The same with sums in double, for methods whose rounding stands beside the whole window: certainties may be small.
  std::unique_ptr<const Program> precise;
  std::vector<LeastExtent> least;
  mutable base::Mutex mutex;
  // By schedule, numbers, method, compiler and class of sizes, of which many may share one.
  mutable std::map<std::tuple<int, int, int, std::string, std::vector<i64>>, std::shared_ptr<const engine::Executable>>
      executables;

  mutable std::map<std::tuple<int, int, int, std::string, int, std::vector<i64>>,
                   std::shared_ptr<const engine::DeviceExecutable>>
      on_devices;

  mutable std::set<std::tuple<int, int, int, std::string>> methods;  // asked for, that take a sum: engine/methods.hpp
  mutable std::map<int, std::optional<std::shared_ptr<const Program>>> wholes;  // by numbers; nothing: no sum

  // For windows, once asked for: the program that is told which part of its images it has; null where it does not ask.
  struct LocatedProgram {
    rewrite::Located located;
    std::shared_ptr<const Program> program;
  };
  mutable std::optional<std::shared_ptr<const LocatedProgram>> located;

  // While another thread plans or compiles it is waited for.
  base::Lock locked() const { return base::Lock(mutex, executables, on_devices, methods, wholes, located); }
  std::shared_ptr<const engine::Executable> executable(const RunOptions&, const std::vector<i64>& of_class = {}) const;
  // `like`: of another device of the same kind, whose plan it takes.
  std::shared_ptr<const engine::DeviceExecutable> on_device(const RunOptions&, const std::vector<i64>& parameters,
                                                            const engine::DeviceExecutable* like = nullptr) const;
  // On those that share a run: the options' devices, or `device` where these are none or it takes all of an image.
  // Plans once.
  engine::DeviceExecutable::Team team(const RunOptions&, const std::vector<i64>& parameters) const;
  // On the target of the options; arrays as prepare() gives them. `whole`: what a part is run as, by the plan for these
  // parameters.
  void run(const std::vector<i64>& parameters, const std::vector<Array>& inputs, const std::vector<Array>& outputs,
           const RunOptions&, const std::vector<i64>& whole = {}) const;
  std::vector<Array> interpret(const std::vector<Array>& inputs, ref::Rounding of_sums) const;
  std::string input_name(std::size_t) const;   // "input 'image'", for messages
  std::string output_name(std::size_t) const;  // "output 'edges'", or its number from 1 on
  // The arguments, checked, numbers in their type; and as the compiled code takes them, with rows that lie together.
  std::vector<Array> checked(const std::vector<Array>&) const;
  std::vector<Array> prepare(const std::vector<Array>&) const;
  RunOptions placed(const std::vector<Array>& inputs, const std::vector<Array>& outputs, const RunOptions&) const;
  std::vector<Shape> output_shapes(const std::vector<i64>& parameters) const;
  static Array convert_scalar(const Array&, ElementType);
  static bool share_memory(const Array& a, const Array& b);  // do they have an element in common?
};

namespace engine {
Program make_program(ir::Graph graph, std::vector<Diagnostic> warnings, std::unique_ptr<const Certainty> = {},
                     std::unique_ptr<const Program> precise = {}, std::vector<LeastExtent> least = {},
                     std::vector<std::string> imports = {});
// What runs by these options: the program itself, or its precise one.
const Program::Impl& by_method(const Program::Impl&, const RunOptions&);
}  // namespace engine

}  // namespace tessera
