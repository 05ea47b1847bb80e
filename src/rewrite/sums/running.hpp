// Sums and extremes of many neighbours along one dimension, block by block; see running.cpp.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/graph.hpp"

namespace tessera::rewrite {

// What a sum of these weights costs in terms where equal neighbours are taken by blocks: no more than its terms.
double running_terms(const std::vector<double>& weights);

// Along dimension `dim` of the stage that is to hold the result.
class RunningWindow {
 public:
  // `first`: the access of the first of `length` samples (its offsets in other dimensions 0, scales 1), perhaps
  // converted. `op`: add, or one that may take a sample twice. `domain`: of the stage. Stages are named after `like`.
  RunningWindow(ir::Graph& graph, ir::Op op, ir::ExprId first, std::size_t dim, i64 length,
                std::vector<ir::SizeId> domain, const ir::Stage& like);

  // The samples as blocks and single ones, with their weights; adds the stages that hold the blocks.
  std::vector<std::pair<ir::ExprId, double>> weighed(const std::vector<double>& weights);
  // All of them, combined.
  ir::ExprId value();

 private:
  ir::ExprId sample(i64 at) const;
  ir::ExprId block(i64 length, i64 at);
  std::vector<ir::ExprId> parts(i64 length, i64 at);
  ir::ExprId combined(const std::vector<ir::ExprId>&);

  ir::Graph& graph_;
  ir::Op op_;
  ir::ExprId first_;
  std::size_t dim_;
  i64 length_;
  std::vector<ir::SizeId> domain_;
  const ir::Stage& like_;
  std::map<i64, ir::StageId> blocks_;  // by length
};

// Whether samples are better taken so than as they are. `computed`: their image is a stage, which is not computed
// together with blocks that extend beyond it, and so has to be stored.
bool worth_running(const std::vector<double>& weights, bool computed);
bool worth_running(i64 length, bool overlapping, bool computed);

}  // namespace tessera::rewrite
