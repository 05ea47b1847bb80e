// The parts of the walk backwards: what they share.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "adjoint/adjoint.hpp"
#include "ir/graph.hpp"

namespace tessera::adjoint {

// Throws Error(argument): stage '...' has no derivative: it ...
[[noreturn]] void refuse(const ir::Stage&, const std::string& what);

// What a stage passes on to an image that it reads.
struct Contribution {
  ir::StageId from = 0;          // the stage that reads
  std::vector<ir::Index> index;  // as it reads
  std::vector<Border> border;
  std::vector<ir::Var> vars;  // of the windows around
  ir::ExprId amount;          // at the point of `from` that reads
};

class Reverse {
 public:
  explicit Reverse(const ir::Graph&);
  Adjoint run();

 private:
  // ---- derivatives.cpp: from a stage's gradient to what it passes on
  bool is_active(ir::ExprId);
  void pass_on(ir::StageId s, ir::StageId gradient);
  void walk(ir::StageId s, ir::ExprId root, ir::ExprId amount, const std::vector<ir::Var>& vars);
  void derive(ir::StageId s, ir::ExprId e, ir::ExprId amount, std::map<ir::ExprId, ir::ExprId>& amounts,
              const std::vector<ir::Var>& vars);

  // ---- scatter.cpp: from what images are passed to their gradients
  ir::StageId gradient_of(ir::StageId);
  ir::ExprId scattered(ir::StageId image, const Contribution&, const std::vector<i64>& before);
  ir::StageId spread(ir::StageId image, const std::vector<Contribution>&);

  // ---- fold.cpp
  struct Reach {
    i64 before = 0, after = 0;  // points beyond the image
  };
  std::vector<Reach> reach_of(ir::StageId image, const Contribution&);
  ir::StageId folded(ir::StageId extended, const ir::Stage& image, std::size_t dimension, BorderMode, Reach);

  // ---- adjoint.cpp
  void pass_on_pieces(ir::StageId s, ir::StageId gradient);
  void pass_on_transform(ir::StageId s);
  void pass_on_bins(ir::StageId elements, ir::StageId passed);
  void take_inputs(std::vector<ir::StageId>& gradients);
  void give_outputs();
  ir::StageId point(std::string name, ElementType, std::vector<ir::SizeId> domain, ir::ExprId body,
                    std::vector<i64> margin_lo = {}, std::vector<i64> margin_hi = {});
  ir::ExprId own(ir::StageId);  // at the point itself
  ir::StageId total(ir::StageId, const std::string& name);
  ir::StageId zeros(const ir::Stage&);
  std::string named(const std::string& base);

  ir::Graph graph_;
  std::size_t count_ = 0, arguments_ = 0;  // stages and arguments of the program
  std::vector<std::string> names_;         // of arguments
  std::set<ir::StageId> active_;           // stages that depend on inputs of floats
  std::map<ir::ExprId, bool> active_expressions_;
  std::map<ir::StageId, std::vector<Contribution>> reads_;
  std::map<ir::StageId, std::vector<ir::ExprId>> terms_;           // at the image's own point
  std::map<std::uint32_t, std::vector<ir::ExprId>> scalar_terms_;  // values, by argument
  std::map<ir::StageId, ir::StageId> transform_gradients_;
  std::vector<Adjoint::Least> least_;
};

}  // namespace tessera::adjoint
