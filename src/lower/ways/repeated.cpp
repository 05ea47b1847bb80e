// Whether two groups are the same but for the images that they read and write.
//
// The stages of both are walked side by side. Every stage of one stands for one of the other, those that are read from
// outside as well, and every expression for one of the other, so that what is shared in one is shared in the other.
// Stages and expressions stand for each other in the order of their numbers: whatever lowering sorts by these comes out
// the same. What lowering knows of a stage has to be equal: its type and extents, its place in the plan, the integers
// that it can hold, how its array lies in memory. Sums whose kernels have tables of their own are left out.
#include "lower/ways/repeated.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <unordered_map>
#include <utility>

#include "lower/interface.hpp"

namespace tessera::lower {

using ir::ExprId;
using ir::ExprNode;
using ir::Stage;
using ir::StageId;

namespace {

constexpr std::size_t most_looked_at = 16;  // of the groups before: the steps of an iteration are not far

// One to one, and in the same order.
template <class Id>
class Correspondence {
 public:
  // False where one of them already stands for another. `fresh`: it is new.
  bool add(Id a, Id b, bool* fresh = nullptr) {
    const auto [there, is_new] = to_.try_emplace(a, b);
    const auto [back, is_new_back] = from_.try_emplace(b, a);
    if (fresh != nullptr) *fresh = is_new;
    return there->second == b && back->second == a;
  }
  bool keeps_order() const {
    const auto later = [](const auto& x, const auto& y) { return !(x.second < y.second); };
    return std::adjacent_find(to_.begin(), to_.end(), later) == to_.end();
  }
  const std::map<Id, Id>& pairs() const { return to_; }

 private:
  std::map<Id, Id> to_, from_;
};

class Comparison {
 public:
  Comparison(const plan::Plan& plan, const Interface& interface, analyze::Ranges& ranges)
      : plan_(plan), graph_(plan.graph), interface_(interface), ranges_(ranges) {}

  // The arrays of b by those of a; nothing where the groups differ.
  std::optional<std::map<std::size_t, std::size_t>> arrays(const plan::Group& a, const plan::Group& b) {
    if (!same_group(a, b)) return {};
    for (std::size_t k = 0; k < a.stages.size(); ++k)
      if (!same_stage(a.stages[k], b.stages[k])) return {};
    for (const auto& [x, y] : stages_.pairs())
      if (!same_facts(x, y)) return {};
    if (!stages_.keeps_order() || !exprs_.keeps_order()) return {};
    return std::move(arrays_);
  }

 private:
  bool same_stages(const std::vector<StageId>& a, const std::vector<StageId>& b) {
    if (a.size() != b.size()) return false;
    for (std::size_t k = 0; k < a.size(); ++k)
      if (!stages_.add(a[k], b[k])) return false;
    return true;
  }

  bool same_group(const plan::Group& a, const plan::Group& b) {
    const plan::WayAnswer &x = a.way.chosen(), &y = b.way.chosen();
    if (x.way != y.way || x.form != y.form || x.price != y.price) return false;
    if (!same_stages(a.stages, b.stages) || !same_stages(a.results, b.results) || !stages_.add(a.anchor, b.anchor))
      return false;
    if (a.passes.size() != b.passes.size() || a.step != b.step) return false;
    for (std::size_t k = 0; k < a.passes.size(); ++k) {
      const plan::Pass &p = a.passes[k], &q = b.passes[k];
      if (!same_stages(p.stages, q.stages) || p.form != q.form || p.rows != q.rows || p.along != q.along) return false;
      if (p.lanes != q.lanes) return false;
    }
    return true;
  }

  // What a stage of the group computes.
  bool same_stage(StageId a, StageId b) {
    const Stage &x = graph_.stage(a), &y = graph_.stage(b);
    if (x.kind != y.kind || x.margin_lo != y.margin_lo || x.margin_hi != y.margin_hi) return false;
    if (x.note > 0 || y.note > 0) return false;
    if (x.pieces.size() != y.pieces.size()) return false;
    for (std::size_t k = 0; k < x.pieces.size(); ++k) {
      const ir::Piece &p = x.pieces[k], &q = y.pieces[k];
      if (p.stage.has_value() != q.stage.has_value() || (p.stage && !stages_.add(*p.stage, *q.stage))) return false;
      if (std::bit_cast<i64>(p.value) != std::bit_cast<i64>(q.value)) return false;
      if (p.start != q.start || p.stride != q.stride || p.count != q.count) return false;
    }
    return x.kind != ir::StageKind::point || same_expression(x.body, y.body);
  }

  bool same_expression(ExprId a, ExprId b) {
    std::vector<std::pair<ExprId, ExprId>> open{{a, b}};
    while (!open.empty()) {
      const auto [x, y] = open.back();
      open.pop_back();
      bool fresh = false;
      if (!exprs_.add(x, y, &fresh)) return false;
      if (!fresh) continue;
      if (!same_node(graph_.node(x), graph_.node(y))) return false;
      for (std::size_t k = 0; k < graph_.node(x).args.size(); ++k)
        open.emplace_back(graph_.node(x).args[k], graph_.node(y).args[k]);
    }
    return true;
  }

  bool same_node(const ExprNode& x, const ExprNode& y) {
    if (x.op != y.op || x.type != y.type || x.args.size() != y.args.size() || x.ivalue != y.ivalue) return false;
    if (std::bit_cast<i64>(x.fvalue) != std::bit_cast<i64>(y.fvalue)) return false;
    if (x.index != y.index || x.border != y.border || x.vars != y.vars) return false;
    return !ir::reads_stage(x.op) || stages_.add(x.stage, y.stage);
  }

  // What is known of a stage besides, of those that are read from outside as well.
  bool same_facts(StageId a, StageId b) {
    const Stage &x = graph_.stage(a), &y = graph_.stage(b);
    if (x.type != y.type || x.domain != y.domain) return false;
    const plan::StagePlan &p = plan_.stages[a], &q = plan_.stages[b];
    if (p.home != q.home || p.also_array != q.also_array || p.lane != q.lane || p.periodic != q.periodic) return false;
    if (p.lag != q.lag || p.depth != q.depth || p.filled != q.filled) return false;
    if (p.home == plan::Home::inside) return false;  // it lies where another one is
    const auto same_rate = [](const plan::StagePlan::Rate& r, const plan::StagePlan::Rate& s) {
      return r.num == s.num && r.den == s.den && r.before == s.before && r.after == s.after;
    };
    if (!std::equal(p.rate.begin(), p.rate.end(), q.rate.begin(), q.rate.end(), same_rate)) return false;
    if (ranges_.of_stage(a) != ranges_.of_stage(b) || ranges_.of_rows(a) != ranges_.of_rows(b)) return false;
    return same_place(a, b);
  }

  bool same_place(StageId a, StageId b) {
    const std::optional<ArrayPlace> x = place_of(plan_, interface_, a), y = place_of(plan_, interface_, b);
    if (x.has_value() != y.has_value()) return false;
    if (!x) return true;
    const ArrayRef &p = interface_.arrays[x->array], &q = interface_.arrays[y->array];
    if (x->element_stride != y->element_stride || x->offset != y->offset || p.part || q.part) return false;
    if (p.extents != q.extents || p.is_array != q.is_array || is_whole(x->array) || is_whole(y->array)) return false;
    const auto [there, fresh] = arrays_.try_emplace(x->array, y->array);
    return there->second == y->array;
  }

  // Do pieces lie in it that are arrays of their own?
  bool is_whole(std::size_t array) const {
    return std::ranges::any_of(interface_.arrays, [&](const ArrayRef& r) { return r.part && r.part->whole == array; });
  }

  const plan::Plan& plan_;
  const ir::Graph& graph_;
  const Interface& interface_;
  analyze::Ranges& ranges_;
  Correspondence<StageId> stages_;
  Correspondence<ExprId> exprs_;
  std::map<std::size_t, std::size_t> arrays_;
};

}  // namespace

void RepeatedGroups::lowered(std::size_t group, std::size_t first, const DeviceProgram& program) {
  known_.push_back({group, first, program.kernels.size()});
}

bool RepeatedGroups::repeat(std::size_t group, DeviceProgram& program) {
  std::size_t looked_at = 0;
  for (auto known = known_.rbegin(); known != known_.rend() && looked_at < most_looked_at; ++known, ++looked_at)
    if (copy(*known, group, program)) return true;
  return false;
}

bool RepeatedGroups::copy(const Known& known, std::size_t group, DeviceProgram& program) const {
  const plan::Group &a = plan_.groups[known.group], &b = plan_.groups[group];
  const auto arrays = Comparison(plan_, interface_, ranges_).arrays(a, b);
  if (!arrays) return false;
  std::vector<DeviceKernel> copies(program.kernels.begin() + static_cast<std::ptrdiff_t>(known.first),
                                   program.kernels.begin() + static_cast<std::ptrdiff_t>(known.end));
  const std::string before = fmt::format("tsr_g{}", known.group);
  for (DeviceKernel& kernel : copies) {
    for (std::size_t& array : kernel.arrays) {
      const auto found = arrays->find(array);
      if (found != arrays->end())
        array = found->second;
      else if (interface_.arrays[array].is_array)
        return false;
    }
    for (StageId& s : kernel.stages) {
      const auto place = std::ranges::find(a.stages, s);
      if (place == a.stages.end()) return false;
      s = b.stages[static_cast<std::size_t>(place - a.stages.begin())];
    }
    kernel.group = group;
    kernel.name = fmt::format("tsr_g{}", group) + kernel.name.substr(before.size());
  }
  program.kernels.insert(program.kernels.end(), copies.begin(), copies.end());
  return true;
}

}  // namespace tessera::lower
