// See forms.hpp.
#include "lower/ways/stream/forms.hpp"

#include <array>

#include "lower/ways/stream/columns/compose.hpp"
#include "lower/ways/stream/columns/keyed.hpp"
#include "lower/ways/stream/columns/lanes.hpp"
#include "lower/ways/stream/pass.hpp"

namespace tessera::lower {

using ir::nest::Value;

namespace {

using plan::PassForm;

void compose_block(const PassOfTile& of, const std::vector<Value>& index, const Value&) {
  compose_row(of, index);
}

// In the order of plan::PassForm.
constexpr std::array<FormLowering, 7> table = {{
    {.form = PassForm::compose, .block = compose_block},
    {.form = PassForm::tiles},
    {.form = PassForm::reduction, .block = compute_block, .turn = reduction_turn},
    {.form = PassForm::keyed, .block = put_into_bins},
    {.form = PassForm::quads,
     .block = compute_block,
     .turn = quad_turn,
     .complete = add_products,
     .phases = 4,
     .whole_stores = true},
    {.form = PassForm::pairs,
     .block = compute_block,
     .turn = pair_turn,
     .phases = 2,
     .multiple = 2,
     .patched_here = true},
    {.form = PassForm::vectors, .block = compute_block, .turn = vector_turn, .complete = take_shifted},
}};

constexpr bool is_in_order() {
  for (std::size_t k = 0; k < table.size(); ++k)
    if (table[k].form != static_cast<PassForm>(k)) return false;
  return true;
}
static_assert(is_in_order());

}  // namespace

const FormLowering& lowering_of(PassForm form) {
  return table.at(static_cast<std::size_t>(form));
}

}  // namespace tessera::lower
