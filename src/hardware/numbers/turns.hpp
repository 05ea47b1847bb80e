// Products of a coarse stage that take turns at multipliers.
//
// A stage one of whose points comes in T ticks has as many ticks for its products. So these are computed in groups:
// the first of a group at the tick of the point, the next one a tick later from operands for that tick, and so on; each
// is held until the last is there. The stage lags that much more (StreamStage::turns - 1 words).
#pragma once

#include <functional>
#include <vector>

#include "hardware/numbers/arithmetic.hpp"

namespace tessera::hardware {

// Which products can take turns: those that need no other one's result; of equal ones the first. `made`: as an
// expression made them.
std::vector<std::size_t> that_take_turns(const Netlist&, const std::vector<Arithmetic::Product>& made);

// What stands for each product at the last tick of a point; invalid where it does not take turns. Nothing where none
// does. `made[k]`: the products of one expression, made for the point's k-th tick; `at(k)`: one bit, is it that tick?
std::vector<NodeId> taken_in_turns(Arithmetic&, const Netlist&,
                                   const std::vector<std::vector<Arithmetic::Product>>& made,
                                   const std::function<NodeId(int)>& at);

}  // namespace tessera::hardware
