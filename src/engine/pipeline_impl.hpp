// The graph of a pipeline under construction.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.hpp"
#include "tessera/pipeline.hpp"

namespace tessera::detail {

struct Builder {
  ir::Graph graph;
  std::map<std::uint32_t, Range> ranges;  // of window variables
  std::vector<std::string> names;         // of inputs and scalars
  std::optional<std::string> open_loop;   // whose body is being built
};

}  // namespace tessera::detail
