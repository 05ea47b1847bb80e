// What a Program holds.
#pragma once

#include <map>
#include <mutex>
#include <tuple>

#include "engine/executable.hpp"
#include "ir/graph.hpp"
#include "lang/compile.hpp"
#include "tessera/program.hpp"

namespace tessera {

struct Program::Impl {
  ir::Graph graph;
  std::vector<Diagnostic> warnings;
  std::vector<Parameter> inputs, outputs;
  mutable std::mutex mutex;
  mutable std::map<std::tuple<int, int, std::string>, std::shared_ptr<const engine::Executable>> executables;

  std::shared_ptr<const engine::Executable> executable(const RunOptions&) const;
  std::vector<Array> prepare(const std::vector<Array>&) const;
  std::vector<Shape> output_shapes(const std::vector<i64>& parameters) const;
  static Array convert_scalar(const Array&, ElementType);
  static bool overlaps(const Array& a, const Array& b);
};

namespace engine {
Program make_program(ir::Graph graph, std::vector<Diagnostic> warnings);
}

}  // namespace tessera
