// See assumed.hpp.
#include "analyze/assumed.hpp"

#include <algorithm>

namespace tessera::analyze {

std::vector<i64> assumed_parameters(const ir::Graph& graph) {
  // Parameters that name a row extent are taken as 2160, those of the fastest dimension as 3840; volumes as 256 a side.
  std::size_t rank = 1;
  for (const ir::Argument& a : graph.arguments) rank = std::max(rank, a.extents.size());
  std::vector<i64> values(graph.parameters.size(), rank > 2 ? 256 : 2160);
  for (const ir::Argument& a : graph.arguments) {
    if (!a.is_array || a.extents.empty() || rank > 2) continue;
    const ir::SizeNode& last = graph.node(a.extents.back());
    if (last.op == ir::SizeOp::parameter) values[static_cast<std::size_t>(last.value)] = rank == 1 ? 1 << 22 : 3840;
  }
  // Where an extent is a multiple of its parameter, the extent is what is assumed.
  for (const ir::Argument& a : graph.arguments)
    for (std::size_t d = 0; d < a.extents.size() && a.is_array; ++d) {
      const ir::SizeNode& product = graph.node(a.extents[d]);
      if (product.op != ir::SizeOp::mul) continue;
      const bool first = graph.node(product.a).op == ir::SizeOp::parameter;
      const ir::SizeNode& parameter = graph.node(first ? product.a : product.b);
      const auto factor = graph.constant(first ? product.b : product.a);
      if (parameter.op != ir::SizeOp::parameter || !factor || *factor < 1) continue;
      const i64 wanted = rank > 2 ? 256 : rank == 1 ? 1 << 22 : d + 1 == a.extents.size() ? 3840 : 2160;
      values[static_cast<std::size_t>(parameter.value)] = std::max<i64>(1, wanted / *factor);
    }
  return values;
}

}  // namespace tessera::analyze
