// Programs with loops that test: their sections (ir/sections.hpp), each a program of its own, and the run that repeats
// the bodies.
//
// Images between sections are arrays where the run is, so that a loop on a device takes nothing up or down but its
// test, one byte an iteration. A carried image has two buffers that change places; one where the image that it begins
// with is an intermediate that nothing else reads, which becomes the other.
#pragma once

#include <memory>
#include <vector>

#include "ir/sections.hpp"
#include "tessera/program.hpp"

namespace tessera::engine {

class LoopProgram {
 public:
  struct Part {
    ir::Section section;  // its graph is that of the program
    Program program;
  };

  explicit LoopProgram(const ir::Graph&);  // which has loops, and outlives this

  const ir::Graph& graph() const { return graph_; }
  const std::vector<Part>& parts() const { return parts_; }
  const std::vector<ir::Place>& places() const { return places_; }

  // As Program::Impl::run. Waits for every iteration, and so for all but what follows the last loop.
  void run(const std::vector<i64>& parameters, const std::vector<Array>& inputs, const std::vector<Array>& outputs,
           const RunOptions&) const;

 private:
  const ir::Graph& graph_;
  std::vector<Part> parts_;
  std::vector<ir::Place> places_;
};

}  // namespace tessera::engine
