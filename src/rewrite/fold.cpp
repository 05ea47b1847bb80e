// Folding a stage into its consumers: its expression takes the place of the access.
//
// Exact when, in every dimension, either the producer reads only its own index (then the edge's border map applies to
// what it reads), or the edge reads the producer at the consumer's own index (then the producer's maps stay as they
// are). A 1-D horizontal pass folds so into the vertical pass behind it: with register blocks of R rows, K vertical
// taps cost (R + K - 1) / R horizontal passes a row and no row is ever stored.
#include <algorithm>
#include <map>
#include <set>

#include "analyze/expressions.hpp"
#include "analyze/footprint.hpp"
#include "ir/build.hpp"
#include "rewrite/rebuild.hpp"
#include "rewrite/sums/bytes.hpp"
#include "rewrite/sums/tiles/tiles.hpp"

namespace tessera::rewrite {

using ir::ExprId;
using ir::ExprNode;
using ir::Graph;
using ir::Op;
using ir::Stage;
using ir::StageId;
using ir::StageKind;

namespace {

constexpr double block_rows = 4;     // rows of a register block that the price assumes
constexpr double shared_limit = 60;  // consumers with more to do may end up in loops of their own, each with a copy
// A larger expression stays a stage: no register holds more, and each step of a chain looks at all of it again.
constexpr std::size_t largest_body = 1500;  // nodes

bool plain(const ir::Index& index) {
  return index.offset == 0 && index.scale == 1 && index.shift == ir::SizeId{} && index.vars.empty();
}

struct Facts {
  double operations = 0;
  std::size_t nodes = 0;
  std::vector<bool> own_index;  // per dimension: every access reads the stage's own index
  bool coordinates = false, extents = false, loops = false, gathers = false;
};

Facts facts_of(const Graph& graph, const Stage& stage) {
  Facts f;
  f.own_index.assign(stage.domain.size(), true);
  f.operations = analyze::operation_count(graph, {stage.body});
  const std::vector<ExprId> nodes = ir::postorder(graph, {stage.body});
  f.nodes = nodes.size();
  for (ExprId e : nodes) {
    const ExprNode& node = graph.node(e);
    f.coordinates |= node.op == Op::coord;
    f.extents |= node.op == Op::extent;
    f.loops |= is_reduction(node.op);
    f.gathers |= node.op == Op::gather;
    if (node.op != Op::access) continue;
    std::size_t lead = stage.domain.size() - node.index.size();
    const Stage& source = graph.stage(node.stage);
    for (std::size_t d = 0; d < node.index.size(); ++d)
      if (!plain(node.index[d]) || source.domain[d] != stage.domain[d + lead]) f.own_index[d + lead] = false;
  }
  return f;
}

class FoldPass {
 public:
  FoldPass(Graph& graph, const machine::Machine& device, std::vector<std::string>& remarks)
      : graph_(graph), device_(device), remarks_(remarks), rebuild_(graph) {}

  void run() {
    // Decide on the new graph, one producer at a time, in order: a folded producer is already part of its consumers
    // when they are looked at.
    std::size_t count = rebuild_.old().size();
    std::vector<std::vector<StageId>> consumers(count);
    std::vector<bool> is_output(count);
    for (const ir::Output& output : graph_.outputs)
      for (StageId s : output.stages) is_output[s] = true;
    for (StageId s = 0; s < count; ++s) {
      old_reads_.push_back(stage_reads(rebuild_.old(s)));
      for (ExprId e : old_reads_[s]) {
        StageId p = graph_.node(e).stage;
        if (consumers[p].empty() || consumers[p].back() != s) consumers[p].push_back(s);
      }
      for (const ir::Piece& piece : rebuild_.old(s).pieces)
        if (piece.stage) consumers[*piece.stage].push_back(s);
    }
    for (StageId s = 0; s < count; ++s) {
      Stage stage = rebuild_.carry(rebuild_.old(s));
      // A sum through transforms goes on reading what is folded into others: it is computed where tiles are loaded.
      if (stage.kind == StageKind::point && stage.note == 0) stage.body = substitute(stage, stage.body);
      StageId now = graph_.add(stage);
      rebuild_.set(s, now);
      if (stage.kind == StageKind::point && stage.note == 0 && !is_output[s] && !consumers[s].empty() &&
          worth_folding(s, now, consumers[s])) {
        folds_.insert(now);
        remarks_.push_back("'" + stage.name + "' is computed inside its consumers");
      }
    }
    rebuild_.finish();
  }

 private:
  std::vector<ExprId> stage_reads(const Stage& stage) const {
    std::vector<ExprId> reads;
    if (stage.kind != StageKind::point) return reads;
    for (ExprId e : ir::postorder(graph_, {stage.body}))
      if (reads_stage(graph_.node(e).op)) reads.push_back(e);
    return reads;
  }

  // Decided when the producer is added: every consumer (an old stage still) must be able to take it.
  bool worth_folding(StageId old_id, StageId now, const std::vector<StageId>& consumers) {
    const Stage& stage = graph_.stage(now);
    if (const Op op = graph_.node(stage.body).op; is_whole(op) || op == Op::bins) return false;
    Facts f = facts_of(graph_, stage);
    if (f.nodes > largest_body) return false;
    const bool sums_bytes = device_.byte_products && works_in_quads(graph_, now).has_value();
    if (f.gathers && f.operations > 40) return false;
    const auto reads_by_tiles = [&](StageId c) { return rebuild_.old(c).note > 0; };
    if (std::all_of(consumers.begin(), consumers.end(), reads_by_tiles)) return false;
    double copies = 0;
    bool together = true;  // all consumers read the own index on the same domain: one loop computes it once
    for (StageId c : consumers) {
      const Stage& consumer = rebuild_.old(c);
      if (consumer.kind != StageKind::point) return false;
      if (sums_bytes && !takes_sum_of_bytes(consumer, old_id)) return false;
      if (consumer.note > 0) {
        if (device_.columns_together || !is_prologue(graph_, stage)) return false;
        copies += 1;
        together = false;
        continue;
      }
      // Distinct offsets in all dimensions but the one along which a body computes neighbours, and the span along it.
      std::map<std::vector<i64>, std::pair<i64, i64>> rows;
      const std::size_t along = device_.columns_together ? 1 : 2;  // from the end
      for (ExprId e : old_reads_[c]) {
        const ExprNode& access = graph_.node(e);
        if (access.stage != old_id) continue;
        if (access.op != Op::access || !composes(f, stage, consumer, access)) return false;
        std::vector<i64> key;
        i64 row = 0;
        for (std::size_t d = 0; d < access.index.size(); ++d) {
          if (!access.index[d].vars.empty()) return false;
          if (d + along == access.index.size() && access.index[d].scale == 1)
            row = access.index[d].offset;
          else
            key.push_back(access.index[d].offset);
          together = together && plain(access.index[d]);
        }
        auto [it, fresh] = rows.try_emplace(key, row, row);
        it->second = {std::min(it->second.first, row), std::max(it->second.second, row)};
      }
      together = together && consumer.domain == stage.domain;
      // Of bytes, even and odd columns are computed together, and n columns are n + 1 for both (pairs.cpp).
      double share = 1;
      if (through_bytes(stage, consumer, old_id)) {
        std::set<std::vector<i64>> both;
        for (const auto& [at, span] : rows) {
          std::vector<i64> key = at;
          both.insert(key);
          if (!key.empty()) ++key.back();
          both.insert(std::move(key));
        }
        share = static_cast<double>(both.size()) / (2 * static_cast<double>(rows.size()));
      }
      for (auto& [key, span] : rows)
        copies += share * (block_rows + static_cast<double>(span.second - span.first)) / block_rows;
    }
    if (together && consumers.size() > 1 && f.operations <= shared_limit && independent(consumers)) copies = 1;
    if (f.loops && copies > 1) return false;
    return f.operations * (copies - 1) <= device_.fold_price;
  }

  // Does an expression read bytes and nothing else? `type_of` says the type of a stage that it reads.
  template <class TypeOf>
  bool bytes_alone(ExprId body, TypeOf type_of) const {
    for (ExprId e : ir::postorder(graph_, {body})) {
      const ExprNode& node = graph_.node(e);
      if (node.op == Op::gather || node.op == Op::coord) return false;
      if (node.op == Op::access && type_of(node.stage) != ElementType::u8) return false;
    }
    return true;
  }

  // What a sum of bytes becomes a part of has to be computed as it is, every fourth column by itself, and to hold no
  // more sums than registers do.
  bool takes_sum_of_bytes(const Stage& consumer, StageId sum) const {
    for (ExprId e : ir::postorder(graph_, {consumer.body})) {
      const ExprNode& node = graph_.node(e);
      if (is_reduction(node.op) || node.op == Op::lookup || node.type == ElementType::f64) return false;
      if (node.op == Op::access && node.stage != sum && rebuild_.old(node.stage).kind != StageKind::input) return false;
    }
    return bytes_alone(consumer.body, [&](StageId s) { return s == sum ? ElementType::u8 : rebuild_.old(s).type; });
  }

  // Bytes go in, through this stage of bytes or 16-bit numbers, and bytes come out. The consumer is an old stage still.
  bool through_bytes(const Stage& stage, const Stage& consumer, StageId old_id) const {
    if (consumer.type != ElementType::u8 || is_float(stage.type) || size_of(stage.type) > 2) return false;
    return bytes_alone(stage.body, [&](StageId s) { return graph_.stage(s).type; }) &&
           bytes_alone(consumer.body, [&](StageId s) { return s == old_id ? ElementType::u8 : rebuild_.old(s).type; });
  }

  // No consumer reads another one, even indirectly through stages between them.
  bool independent(const std::vector<StageId>& consumers) const {
    std::set<StageId> reached{consumers.begin(), consumers.end()};
    std::set<StageId> ours = reached;
    for (StageId s = consumers.front() + 1; s < rebuild_.old().size() && s <= consumers.back(); ++s) {
      bool reads = false;
      for (ExprId e : old_reads_[s]) reads |= reached.contains(graph_.node(e).stage);
      for (const ir::Piece& piece : rebuild_.old(s).pieces) reads |= piece.stage && reached.contains(*piece.stage);
      if (reads && ours.contains(s)) return false;
      if (reads) reached.insert(s);
    }
    return true;
  }

  // Is dimension d of the producer read at the consumer's own index, and nowhere outside?
  bool reads_inside(const Stage& producer, const Stage& consumer, const ir::Index& index, std::size_t d) const {
    std::size_t lead = consumer.domain.size() - producer.domain.size();
    return plain(index) && ir::at_most(graph_, consumer.domain[d + lead], producer.domain[d]);
  }

  bool composes(const Facts& f, const Stage& producer, const Stage& consumer, const ExprNode& access) const {
    std::size_t rank = access.index.size();
    if (consumer.domain.size() != rank && f.coordinates) return false;
    std::size_t lead = consumer.domain.size() - rank;
    for (std::size_t d = 0; d < rank; ++d) {
      const ir::Index& index = access.index[d];
      bool edge_own = reads_inside(producer, consumer, index, d);
      if (producer.margin_lo[d] > 0 || producer.margin_hi[d] > 0) {
        if (index.scale != 1 || producer.domain[d] != consumer.domain[d + lead] || !index.vars.empty()) return false;
        if (index.shift != ir::SizeId{}) return false;
        if (consumer.margin_lo[d + lead] + index.offset < producer.margin_lo[d]) return false;
        if (consumer.margin_hi[d + lead] - index.offset < producer.margin_hi[d]) return false;
      }
      if (edge_own) continue;
      if (!f.own_index[d] || f.coordinates) return false;
      if (access.border[d].mode == BorderMode::constant) return false;
    }
    return !(f.extents && producer.domain != consumer.domain);
  }

  // The body with every folded access replaced. Accesses to folded stages carry new ids already.
  ExprId substitute(const Stage& consumer, ExprId body) {
    if (folds_.empty()) return body;
    return ir::rewrite(graph_, body, [&](ExprId, const ExprNode& node) {
      if (node.op != Op::access || !folds_.contains(node.stage)) return ExprId{};
      return composed(graph_.stage(node.stage), consumer, node);
    });
  }

  ExprId composed(const Stage& producer, const Stage& consumer, const ExprNode& edge) {
    std::size_t rank = edge.index.size();
    std::size_t lead = consumer.domain.size() - rank;
    std::vector<bool> edge_own(rank);
    for (std::size_t d = 0; d < rank; ++d) edge_own[d] = reads_inside(producer, consumer, edge.index[d], d);
    if (lead == 0 && std::find(edge_own.begin(), edge_own.end(), false) == edge_own.end()) return producer.body;
    return ir::rewrite(graph_, producer.body, [&](ExprId, const ExprNode& node) {
      if (node.op == Op::coord || node.op == Op::extent) {
        ExprNode moved = node;
        moved.ivalue += static_cast<i64>(lead);
        return graph_.expr(std::move(moved));
      }
      if (node.op != Op::access) return ExprId{};
      ExprNode moved = node;
      std::size_t skip = rank - node.index.size();
      for (std::size_t d = 0; d < node.index.size(); ++d)
        if (!edge_own[d + skip]) {
          moved.index[d] = edge.index[d + skip];
          moved.border[d] = edge.border[d + skip];
        }
      return graph_.expr(std::move(moved));
    });
  }

  Graph& graph_;
  const machine::Machine& device_;
  std::vector<std::string>& remarks_;
  Rebuild rebuild_;
  std::vector<std::vector<ExprId>> old_reads_;
  std::set<StageId> folds_;  // new ids
};

}  // namespace

void fold_stages(Graph& graph, const machine::Machine& device, std::vector<std::string>& remarks) {
  FoldPass(graph, device, remarks).run();
  remove_dead_stages(graph);
}

}  // namespace tessera::rewrite
