// Whole numbers as nodes of exact widths.
//
// A value carries the interval that it lies in, which only grows narrower than its format by what is known of it. An
// operation whose result fits no wider type than the language's 32 bits keeps these: it wraps as the language does.
// Sums are collected (`sum`) and added in pairs, narrow ones first; factors of few signed digits become additions;
// divisions by constants products and shifts, proven for the interval of the dividend.
#pragma once

#include <cmath>
#include <vector>

#include "hardware/netlist/netlist.hpp"

namespace tessera::hardware {

struct Value {
  NodeId node;
  double lo = 0, hi = 0;  // whole numbers
  // Of what stands for a float: node * 2^-fraction, `error` at most from what exact arithmetic gives (expressions.hpp).
  int fraction = 0;
  double error = 0;
  double squares = -1;  // of a sum of squares: the sum of the squares of the errors of what is squared; else -1
};

class Arithmetic {
 public:
  // A product with a constant is at most so many additions; what takes more is a multiplier.
  Arithmetic(Netlist& netlist, int additions) : netlist_(netlist), additions_(additions) {}
  std::uint32_t stage = 0;  // that nodes are made for
  // A product that became a multiplier.
  struct Product {
    NodeId a, b, result;
  };
  std::vector<Product>* products = nullptr;  // where they are written down
  // What stands for them, in the order in which they are made; invalid: nothing.
  struct Instead {
    std::vector<NodeId> nodes;
    std::size_t next = 0;
  };
  Instead* instead = nullptr;

  Value constant(double v);
  Value zero_or_one(NodeId);  // of one bit
  // Terms, each added or taken away. Sums of more than 63 bits keep their low 64.
  struct Term {
    Value value;
    bool minus = false;
  };
  Value sum(std::vector<Term>);
  Value add(Value a, Value b) { return sum({{a, false}, {b, false}}); }
  Value subtract(Value a, Value b) { return sum({{a, false}, {b, true}}); }
  Value multiply(Value a, Value b);
  // Towards zero; by zero gives 0. `most`: of the quotient's magnitude, where more is known than the ranges say.
  Value divide(Value a, Value b, double most = HUGE_VAL);
  Value remainder(Value a, Value b);
  Value shift_left(Value, i64 count);
  Value shift_right(Value, i64 count);  // rounds down
  Value least(Value a, Value b);
  Value most(Value a, Value b);
  Value magnitude(Value);
  Value root(Value);  // the whole part of the square root of what is not negative
  Value clamp(Value, double lo, double hi);
  NodeId less(Value a, Value b);  // one bit
  NodeId at_most(Value a, Value b);
  NodeId equal(Value a, Value b);
  NodeId not_of(NodeId);
  NodeId any(const std::vector<NodeId>&);  // of bits, at least one
  NodeId both(NodeId a, NodeId b);
  Value select(NodeId condition, Value a, Value b);
  // As an integer of the language of that range (a power of two wide): its low bits.
  Value wrapped(Value, double lo, double hi);
  // The same value in a given format that holds it, or the low bits of it.
  NodeId resized(NodeId, Bits);
  NodeId node(Signal, Bits, std::vector<NodeId>, i64 value = 0);

 private:
  Value product(Value, double factor);
  Value multiplier(Value a, Value b, double lo, double hi);
  Value shifted_towards_zero(Value, i64 count);
  Netlist& netlist_;
  int additions_;
};

}  // namespace tessera::hardware
