// The graph of a pipeline under construction, and what its parts have in common.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/graph.hpp"
#include "tessera/error.hpp"
#include "tessera/pipeline.hpp"

namespace tessera::detail {

struct Builder {
  ir::Graph graph;
  std::map<std::uint32_t, Range> ranges;  // of window variables
  std::vector<std::string> names;         // of inputs and scalars
  std::optional<std::string> open_loop;   // whose body is being built
};

[[noreturn]] inline void fail(std::string message, std::string help = {}) {
  throw Error(ErrorClass::argument, std::move(message), {}, std::move(help));
}

// Building errors of the graph are errors of whoever called the pipeline.
template <class F>
auto checked(F&& f) {
  try {
    return f();
  } catch (const Error& e) {
    if (e.error_class() != ErrorClass::compile) throw;
    fail(e.message());
  }
}

inline Node made(const Shared& builder, ir::ExprId e) {
  return {builder, e.id};
}
inline ir::ExprId id(const Node& n) {
  return {n.id};
}

inline const Shared& same(const Shared& a, const Shared& b) {
  if (a != b) fail("the expression mixes values of two pipelines");
  return a;
}

}  // namespace tessera::detail
