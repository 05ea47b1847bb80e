// Sums that can be taken one dimension at a time; see separable.cpp.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "ir/graph.hpp"
#include "machine/machine.hpp"
#include "rewrite/sums/choice.hpp"
#include "tessera/options.hpp"

namespace tessera::rewrite {

class SeparableSums {
 public:
  // `assumed`: parameters; of images that do not fill a device other sums gain.
  SeparableSums(ir::Graph& graph, Numbers numbers, Method method, const machine::Machine& device,
                const std::vector<i64>& assumed, std::vector<SumChoice>& choices)
      : graph_(graph), numbers_(numbers), method_(method), device_(device), assumed_(assumed), choices_(choices) {}

  // The body of `stage` with every sum that separates and gains by it, or is asked to, taken one dimension at a time,
  // or as few outer products. Adds the stages that the new body reads. Appends what it did to `remarks`.
  ir::ExprId split(const ir::Stage& stage, std::vector<std::string>& remarks);

 private:
  friend class SumSplitter;
  using Part = std::tuple<ir::ExprId, std::vector<ir::SizeId>, std::vector<i64>, std::vector<i64>>;

  // Are equal weights of that type of float multiplied once, with what they have in common?
  bool adds_first(ElementType type) const { return !device_.columns_together && type != ElementType::f16; }

  ir::Graph& graph_;
  Numbers numbers_;
  Method method_;
  const machine::Machine& device_;
  const std::vector<i64>& assumed_;
  std::vector<SumChoice>& choices_;
  std::map<Part, ir::StageId> parts_;  // passes along one dimension that were added, to be shared
  i64 steps_left_ = i64{1} << 23;      // what all searches together may take
};

}  // namespace tessera::rewrite
