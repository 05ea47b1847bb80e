// How the columns of a pass are computed: a table of forms, of which every pass has the first that fits.
#pragma once

#include "plan/passes/layout.hpp"

namespace tessera::plan {

// A pass whose stages are known.
struct PassQuestion {
  const GraphFacts& facts;
  const Set& set;
  const Layout& layout;
  const Pass& pass;
};

struct FormRow {
  PassForm form;
  bool (*fits)(const PassQuestion&);
  int (*lanes)(const PassQuestion&);  // columns that one turn of its loop computes
};

// Columns that one turn of a loop puts into bins.
constexpr int elements_a_turn = 4;

// The row of the form that the pass has.
const FormRow& form_of(const PassQuestion&);

}  // namespace tessera::plan
