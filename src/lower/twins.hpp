// Two values in a register as text: numbers high * 65536 + low, see plan/passes/twins.cpp.
#pragma once

#include <array>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyze/ranges.hpp"
#include "ir/graph.hpp"
#include "lower/vocabulary.hpp"

namespace tessera::lower {

inline constexpr ir::nest::Type twin_type{ir::nest::Lane::u32, 1, false};

ir::nest::Value twin_constant(i64 v);  // the same one twice
// What is added where halves are looked at by themselves, 0 or 32768: then neither is negative.
i64 twin_bias(bool negative);
ir::nest::Value twin_sum(Builder&, const ir::nest::Value&, i64 to_both);
// Bytes of two registers, 0 to 3 of the first one and 4 to 7 of the second one, lowest first.
ir::nest::Value mixed_bytes(Builder&, const ir::nest::Value& a, const ir::nest::Value& b,
                            const std::array<i64, 4>& which);
// Of integers of 32 bits and back; `negative`: may they be?
ir::nest::Value put_together(Builder&, const ir::nest::Value& low, const ir::nest::Value& high);
std::array<ir::nest::Value, 2> take_apart(Builder&, const ir::nest::Value&, bool negative);

// Expressions of twins: those that plan::Twins says are done together.
class TwinEmitter {
 public:
  using Value = ir::nest::Value;
  using Load = std::function<Value(const ir::ExprNode&)>;
  TwinEmitter(const ir::Graph& graph, analyze::Ranges& ranges, Builder& builder, Load load)
      : graph_(graph), ranges_(ranges), builder_(builder), load_(std::move(load)) {}

  Value value(ir::ExprId e);
  // Of values from 0 to 255: a register with them in byte `byte` of each half. The other bytes hold anything.
  struct Bytes {
    Value v;
    i64 byte = 0;
  };
  Bytes bytes(ir::ExprId e);

 private:
  Value node(const ir::ExprNode&);
  Value operand(const ir::ExprNode&, std::size_t k);
  Value named(const Value&);
  Value shifted(const ir::ExprNode&);
  // The least or most of both, of the range of both.
  Value extreme(bool most, const Value& a, const Value& b, analyze::Range);

  const ir::Graph& graph_;
  analyze::Ranges& ranges_;
  Builder& builder_;
  Load load_;
  std::unordered_map<std::uint32_t, Value> known_;
};

}  // namespace tessera::lower
