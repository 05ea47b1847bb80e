// The table of forms, in the order in which they are asked: what a stage is decides before what is fast. Plain vectors
// take every pass.
#include "plan/passes/forms.hpp"

#include <algorithm>
#include <array>

#include "ir/keyed.hpp"
#include "ir/reductions.hpp"

namespace tessera::plan {

using ir::Stage;
using ir::StageId;

namespace {

const Stage& last_stage(const PassQuestion& q) {
  return q.facts.graph.stage(q.pass.stages.back());
}

bool is_inside(const PassQuestion& q, StageId s) {
  return q.layout.stages[place_in(q.set, s)].home == Home::inside;
}

bool composes(const PassQuestion& q) {
  return last_stage(q).kind == ir::StageKind::compose;
}

bool is_tiled(const PassQuestion& q) {
  return last_stage(q).note > 0;
}

bool reduces(const PassQuestion& q) {
  return is_lanes(q.facts.graph.node(last_stage(q).body).op);
}

bool goes_into_bins(const PassQuestion& q) {
  return ir::is_keyed(q.facts.graph, last_stage(q));
}

// (Alone in its pass: every chain has four totals a row.)
bool sums_quads(const PassQuestion& q) {
  const StageId first = q.pass.stages.front();
  return q.facts.of(first).quads.chains > 0 && !is_inside(q, first);
}

bool works_in_pairs(const PassQuestion& q) {
  return std::all_of(q.pass.stages.begin(), q.pass.stages.end(),
                     [&](StageId s) { return q.facts.of(s).pairs && !is_inside(q, s); });
}

bool reads_structs(const PassQuestion& q) {
  const ir::Graph& graph = q.facts.graph;
  for (const StageId s : q.pass.stages)
    for (const std::size_t k : q.facts.of(s).reads) {
      const Stage& source = graph.stage(q.facts.edges[k].producer);
      if (source.kind == ir::StageKind::input && graph.arguments[source.argument].format.is_struct()) return true;
    }
  return false;
}

// Of the widest element that is stored or computed.
int lanes_of_vector(const PassQuestion& q) {
  int widest = 1;
  for (const StageId s : q.pass.stages)
    widest = std::max({widest, ir::nest::size_of(q.facts.of(s).lane), q.facts.of(s).work_bytes});
  if (widest == 1 && reads_structs(q)) widest = 2;
  return std::max(1, q.facts.machine.vector_bytes / widest);
}

int lanes_of_two(const PassQuestion& q) {
  return 2 * lanes_of_vector(q);
}

int lanes_of_bytes(const PassQuestion& q) {
  return q.facts.machine.vector_bytes;
}

constexpr std::array<FormRow, 7> forms = {{
    {PassForm::compose, composes, lanes_of_vector},
    {PassForm::tiles, is_tiled, lanes_of_vector},
    {PassForm::reduction, reduces, [](const PassQuestion&) { return static_cast<int>(ir::lanes_of_piece); }},
    {PassForm::keyed, goes_into_bins, [](const PassQuestion&) { return elements_a_turn; }},
    {PassForm::quads, sums_quads, lanes_of_bytes},
    {PassForm::pairs, works_in_pairs, lanes_of_two},
    {PassForm::vectors, [](const PassQuestion&) { return true; }, lanes_of_vector},
}};

}  // namespace

std::string_view name_of(PassForm form) {
  switch (form) {
    case PassForm::compose:
      return "compose";
    case PassForm::tiles:
      return "tiles";
    case PassForm::reduction:
      return "reduction";
    case PassForm::keyed:
      return "keyed";
    case PassForm::quads:
      return "quads";
    case PassForm::pairs:
      return "pairs";
    case PassForm::vectors:
      break;
  }
  return "vectors";
}

const FormRow& form_of(const PassQuestion& q) {
  return *std::find_if(forms.begin(), forms.end() - 1, [&](const FormRow& row) { return row.fits(q); });
}

}  // namespace tessera::plan
