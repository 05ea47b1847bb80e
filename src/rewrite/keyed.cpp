// See keyed.hpp.
#include "rewrite/keyed.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "analyze/ranges.hpp"
#include "ir/build.hpp"
#include "ir/gather.hpp"
#include "ir/keyed.hpp"
#include "rewrite/rebuild.hpp"

namespace tessera::rewrite {

using ir::ExprId;
using ir::ExprNode;
using ir::Graph;
using ir::Op;
using ir::SizeId;
using ir::Stage;
using ir::StageId;

namespace {

class KeyedReductions {
 public:
  KeyedReductions(Graph& graph, KeysAre keys) : graph_(graph), keys_(keys), inside_(keys_inside()), rebuild_(graph) {}

  void run() {
    for (StageId s = 0; s < rebuild_.old().size(); ++s) {
      const Stage& old = rebuild_.old(s);
      const bool point = old.kind == ir::StageKind::point;
      if (point && is_into(graph_.node(old.body).op))
        rebuild_.set(s, elements(s));
      else if (point && graph_.node(old.body).op == Op::bins)
        rebuild_.set(s, together(old));
      else
        rebuild_.keep(s);
    }
    rebuild_.finish();
  }

 private:
  // Of every stage of elements and dimension: are its keys known to lie inside?
  std::vector<std::vector<bool>> keys_inside() const {
    std::vector<std::vector<bool>> inside(graph_.stage_count());
    analyze::Ranges ranges(graph_);
    for (StageId s = 0; s < graph_.stage_count(); ++s) {
      const auto keyed = ir::keyed_of(graph_, graph_.stage(s));
      for (std::size_t d = 0; keyed && d < keyed->keys.size(); ++d) {
        const auto extent = graph_.constant(keyed->bins[d]);
        const analyze::Range range = ranges.of(keyed->keys[d]);
        inside[s].push_back(extent && range.lo >= 0 && range.hi < static_cast<double>(*extent));
      }
    }
    return inside;
  }

  StageId add(const Stage& of, const std::string& what, ExprId body) {
    Stage stage = of;
    stage.name += what;
    stage.type = graph_.node(body).type;
    stage.body = body;
    return graph_.add(std::move(stage));
  }

  // An image of that value.
  ExprId stored(const Stage& of, const std::string& what, ExprId value) {
    const std::size_t rank = of.domain.size();
    return ir::access(graph_, add(of, what, value), std::vector<ir::Index>(rank), std::vector<Border>(rank));
  }

  StageId elements(StageId s) {
    Stage stage = rebuild_.carry(rebuild_.old(s));
    if (keys_ == KeysAre::computed) return graph_.add(std::move(stage));
    ir::Keyed keyed = *ir::keyed_of(graph_, stage);
    const bool constant = ir::constant_value(graph_, keyed.value).has_value();
    if (!constant && !plain_element(graph_, stage, keyed.value)) keyed.value = stored(stage, ": values", keyed.value);
    const bool plain = keyed.keys.size() == 1 && inside_[s][0] && plain_element(graph_, stage, keyed.keys[0]);
    if (!plain) {
      const SizeId all = ir::bins_of(graph_, keyed);
      keyed.keys = {stored(stage, ": keys", number_of_bin(keyed, inside_[s]))};
      keyed.bins = {all};
    }
    stage.body = ir::into(graph_, keyed);
    return graph_.add(std::move(stage));
  }

  ExprId number_of_bin(const ir::Keyed& keyed, const std::vector<bool>& inside) {
    ExprId bin, goes;
    for (std::size_t d = 0; d < keyed.keys.size(); ++d) {
      const ExprId key = keyed.keys[d], extent = ir::extent_value(graph_, keyed.bins[d]);
      bin = bin.valid() ? ir::binary(graph_, Op::add, ir::binary(graph_, Op::mul, bin, extent), key) : key;
      if (inside[d]) continue;
      const ExprId here = ir::lies_inside(graph_, key, keyed.bins[d]);
      goes = goes.valid() ? ir::binary(graph_, Op::bit_and, goes, here) : here;
    }
    if (!goes.valid()) return bin;
    return ir::select(graph_, goes, bin, ir::extent_value(graph_, ir::bins_of(graph_, keyed)));
  }

  // Of all pieces, one after the other.
  StageId together(const Stage& old) {
    Stage stage = rebuild_.carry(old);
    const StageId of = graph_.node(stage.body).stage;
    const ir::Keyed keyed = *ir::keyed_of(graph_, graph_.stage(of));
    ExprId bin = ir::constant(graph_, ElementType::i32, 0);
    for (std::size_t d = 0; d < stage.domain.size(); ++d) {
      if (graph_.constant(stage.domain[d]) == 1) continue;
      bin = ir::binary(graph_, Op::mul, bin, ir::extent_value(graph_, stage.domain[d]));
      bin = ir::binary(graph_, Op::add, bin, ir::coord(graph_, d));
    }
    const i64 pieces = ir::pieces_of(graph_, keyed);
    const ir::Var piece{graph_.new_var(), 0, pieces - 1};
    const ExprId number = pieces == 1 ? ir::constant(graph_, ElementType::i32, 0) : ir::var(graph_, piece.id);
    ExprId total = ir::partial(graph_, of, number, bin);
    const Op op = keyed.op == Op::into_sum   ? Op::reduce_sum
                  : keyed.op == Op::into_min ? Op::reduce_min
                                             : Op::reduce_max;
    if (pieces > 1) total = ir::reduce(graph_, op, {piece}, total);
    stage.body = ir::convert(graph_, stage.type, total);
    return graph_.add(std::move(stage));
  }

  Graph& graph_;
  const KeysAre keys_;
  const std::vector<std::vector<bool>> inside_;
  Rebuild rebuild_;
};

}  // namespace

std::optional<ExprId> plain_element(const Graph& graph, const Stage& elements, ExprId e) {
  if (graph.node(e).op == Op::convert) {
    const ExprId inner = graph.node(e).args[0];
    if (!ir::embeds(graph.node(inner).type, graph.node(e).type)) return {};
    e = inner;
  }
  const ExprNode& node = graph.node(e);
  if (node.op != Op::access || node.type == ElementType::boolean || node.type == ElementType::f16) return {};
  const bool own =
      std::all_of(node.index.begin(), node.index.end(), [](const ir::Index& i) { return i == ir::Index{}; });
  return own && graph.stage(node.stage).domain == elements.domain ? std::optional(e) : std::nullopt;
}

void take_keyed_apart(Graph& graph, KeysAre keys) {
  for (StageId s = 0; s < graph.stage_count(); ++s) {
    if (!ir::is_keyed(graph, graph.stage(s))) continue;
    KeyedReductions(graph, keys).run();
    return remove_dead_stages(graph);
  }
}

}  // namespace tessera::rewrite
