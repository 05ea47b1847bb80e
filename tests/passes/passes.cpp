// The table of passes, by the names that files give them.
#include <fmt/format.h>

#include <functional>
#include <stdexcept>

#include "adjoint/adjoint.hpp"
#include "analyze/assumed.hpp"
#include "ir/host/program.hpp"
#include "ir/sections.hpp"
#include "lower/host/lower_host.hpp"
#include "options.hpp"
#include "rewrite/keyed.hpp"
#include "rewrite/median.hpp"
#include "rewrite/nans.hpp"
#include "rewrite/parts.hpp"
#include "rewrite/rebuild.hpp"
#include "rewrite/reductions.hpp"
#include "rewrite/sums/products.hpp"
#include "rewrite/sums/tiles/whole.hpp"

namespace tessera::passes {

namespace {

struct State {
  ir::Graph graph;
  plan::Options options;
  machine::Machine machine;
  std::vector<Part> made;  // by what makes no graph of the graph
  std::vector<std::string> remarks;
  std::vector<rewrite::SumChoice> sums;
  rewrite::Tilings tilings;

  const std::vector<i64>& assumed() const { return options.parameters; }
};

// "argument 0, between 2"
template <class List, class Name>
std::string joined(const List& list, Name&& name, const char* between = ", ") {
  std::string text;
  for (const auto& one : list) text += (text.empty() ? "" : between) + name(one);
  return text.empty() ? "nothing" : text;
}

void cut(State& state) {
  const auto place = [](const rewrite::Place& p) {
    const char* const kinds[] = {"argument", "output", "between"};
    return fmt::format("{} {}", kinds[static_cast<int>(p.kind)], p.index);
  };
  const rewrite::Parts parts = rewrite::cut(state.graph);
  for (std::size_t k = 0; k < parts.steps.size(); ++k) {
    const rewrite::Step& step = parts.steps[k];
    const std::string moves =
        fmt::format("reads {}; writes {}", joined(step.inputs, place), joined(step.outputs, place));
    if (step.is_part()) {
      if (rewrite::has_transforms(step.part)) throw std::runtime_error("a part has a transform");
      if (step.part.arguments.size() != step.inputs.size() || step.part.outputs.size() != step.outputs.size())
        throw std::runtime_error("a part has other arguments or outputs than places");
      state.made.push_back({fmt::format("step {}, a part: {}", k, moves), checked_text(step.part)});
      continue;
    }
    std::string along;
    for (const int d : step.transform.along) along += fmt::format(" {}", d);
    state.made.push_back(
        {fmt::format("step {}, a transform: {}", k, moves),
         fmt::format("{} '{}' from {} to {}, along{}\n", step.transform.inverse ? "inverse" : "forward",
                     step.transform.name, step.transform.from_real ? "numbers" : "pairs",
                     step.transform.to_real ? "numbers" : "pairs", along)});
  }
  for (std::size_t k = 0; k < parts.between.size(); ++k)
    state.made.push_back({fmt::format("between {}", k),
                          fmt::format("'{}', last read by step {}\n", parts.between[k].name, parts.between[k].last)});
}

void sections(State& state) {
  const auto value = [](const ir::Section::Value& v) {
    return fmt::format("{} {}", v.place ? "place" : "own", v.index);
  };
  const ir::Sections all = ir::sections(state.graph);
  for (std::size_t k = 0; k < all.sections.size(); ++k) {
    const ir::Section& s = all.sections[k];
    if (!s.graph.loops.empty()) throw std::runtime_error("a section has a loop");
    if (s.inputs.size() != s.graph.arguments.size() || s.outputs.size() != s.graph.outputs.size())
      throw std::runtime_error("a section has other arguments or outputs than places");
    state.made.push_back(
        {fmt::format("section {}: reads {}; writes {}", k, joined(s.inputs, value), joined(s.outputs, value)),
         checked_text(s.graph)});
    if (!s.repeats()) continue;
    std::string loop = fmt::format("{} times at most, while output {}\n", s.most, s.test);
    for (const ir::Section::Carried& c : s.carried)
      loop += fmt::format("input {} becomes {}{}\n", c.input,
                          c.output ? fmt::format("output {}", *c.output) : "the carried image before it",
                          c.spent ? ", in place" : "");
    state.made.push_back({fmt::format("loop of section {}", k), loop});
  }
}

void lower_host(State& state) {
  const lower::HostLowered made = lower::lower_host(state.graph);
  state.made.push_back({"host program", ir::host::print(made.program, state.graph)});
  for (const ir::host::Part& part : made.program.parts) state.made.push_back({part.name, checked_text(part.graph)});
}

void adjoint_of(State& state) {
  const adjoint::Adjoint made = adjoint::adjoint_of(state.graph);
  state.made.push_back({"graph", checked_text(made.graph)});
  std::string least;
  for (const auto& l : made.least)
    least += fmt::format("{} >= {} ('{}')\n", made.graph.to_string(l.extent), l.points, l.stage);
  if (!least.empty()) state.made.push_back({"least extents", least});
}

void make_plan(State& state) {
  plan::Plan made = plan::make_plan(std::move(state.graph), state.options, state.machine);
  state.made.push_back({"graph", checked_text(made.graph)});
  state.made.push_back({"groups", text_of_groups(made)});
  state.remarks = made.remarks;
  state.sums = made.sums;
}

using Pass = std::function<void(State&)>;

// Those of src/plan/make_plan.cpp in its order, then others.
const std::vector<std::pair<std::string, Pass>>& passes() {
  using namespace rewrite;
  static const std::vector<std::pair<std::string, Pass>> all = {
      {"remove_dead_stages", [](State& s) { remove_dead_stages(s.graph); }},
      {"lift_rank", [](State& s) { lift_rank(s.graph); }},
      {"separate_fields", [](State& s) { separate_fields(s.graph); }},
      {"compute_outputs", [](State& s) { plan::compute_outputs(s.graph); }},
      {"guard_medians", [](State& s) { guard_medians(s.graph); }},
      {"name_products",
       [](State& s) {
         name_products(s.graph, s.options.numbers, s.options.method, s.machine, s.assumed(), s.remarks);
       }},
      {"expand_windows",
       [](State& s) {
         expand_windows(s.graph, s.options.numbers, s.options.method, s.machine, s.assumed(), s.remarks, s.sums,
                        s.tilings);
       }},
      {"shorten_functions", [](State& s) { shorten_functions(s.graph); }},
      {"merge_equal_stages", [](State& s) { merge_equal_stages(s.graph); }},
      {"fold_stages", [](State& s) { fold_stages(s.graph, s.machine, s.remarks); }},
      {"take_reductions_apart", [](State& s) { take_reductions_apart(s.graph); }},
      {"take_keyed_apart",
       [](State& s) { take_keyed_apart(s.graph, s.machine.columns_together ? KeysAre::computed : KeysAre::rows); }},
      {"separate_pieces", [](State& s) { separate_pieces(s.graph); }},
      {"join_fields",
       [](State& s) {
         if (join_fields(s.graph, s.remarks) == nullptr) s.remarks.emplace_back("(nothing is joined)");
       }},
      {"unify_nans", [](State& s) { unify_nans(s.graph); }},
      {"make_plan", make_plan},
      {"take_whole", [](State& s) { s.sums = take_whole(s.graph, s.options.numbers); }},
      {"cut", cut},
      {"sections", sections},
      {"lower_host", lower_host},
      {"adjoint", adjoint_of},
  };
  return all;
}

const Pass& pass_named(const PassCase& one, const std::string& name) {
  for (const auto& [known, pass] : passes())
    if (known == name) return pass;
  throw std::runtime_error(one.name + ": unknown pass: " + name);
}

void tell(State& state) {
  if (state.made.empty()) state.made.push_back({"graph", checked_text(state.graph)});
  std::string remarks, sums;
  for (const std::string& remark : state.remarks) remarks += remark + "\n";
  for (const rewrite::SumChoice& sum : state.sums) {
    sums +=
        fmt::format("'{}', {} weights: {}", sum.stage,
                    joined(sum.extents, [](i64 n) { return std::to_string(n); }, " x "), rewrite::name_of(sum.taken));
    sums += sum.taken == Method::low_rank ? fmt::format(" {}", sum.rank) : "";
    sums += sum.refusal.empty() ? "\n" : ", since " + sum.refusal + "\n";
  }
  if (!remarks.empty()) state.made.push_back({"remarks", remarks});
  if (!sums.empty()) state.made.push_back({"sums", sums});
}

}  // namespace

std::vector<Part> run_case(const PassCase& one) {
  if (one.options.contains("lower")) return lowered(one);
  if (one.option("pass", "") == "outline_blocks") return outlined(one);
  State state{graph_of(one), plan_options(one), machine_of(one.option("machine", "core")), {}, {}, {}, {}};
  if (state.options.parameters.empty()) state.options.parameters = analyze::assumed_parameters(state.graph);
  std::vector<Pass> in_order;
  for (const std::string& name : words(one.option("pass", ""))) in_order.push_back(pass_named(one, name));
  try {
    for (const Pass& pass : in_order) {
      if (!state.made.empty()) throw std::runtime_error(one.name + ": a pass behind one that makes no graph");
      pass(state);
      ir::verify(state.graph);
    }
  } catch (const Error& e) {
    if (e.error_class() == ErrorClass::internal) throw;
    return {{"refused", e.message() + "\n"}};
  }
  tell(state);
  return state.made;
}

}  // namespace tessera::passes
