// The loop nest: what a group of stages does, step by step, for one machine.
//
// A module is a list of functions; a function is a list of statements over typed values. Types are a lane type, a lane
// count (1: a scalar) and whether it is a pointer to such lanes. Point operations are those of the stage graph (ir::Op)
// applied lane by lane, on exactly the types that a C-family language has; everything that the targets spell
// differently (vector loads, conversions of whole vectors, streaming stores) is a node of its own. Expressions are
// immutable and shared; a value that is used twice is declared by a `let` first.
//
// Comparisons of vectors give masks: integers of the operand's width, 0 or -1 in every lane. Comparisons of scalars
// give i32 0 or 1. select takes either.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.hpp"

namespace tessera::ir::nest {

enum class Lane : std::uint8_t { i8, u8, i16, u16, i32, u32, i64, f16, f32, f64 };

int size_of(Lane);  // bytes
bool is_float(Lane);
bool is_signed(Lane);
std::string_view name_of(Lane);  // "i8" ... "f64"
Lane lane_of(ElementType);       // boolean is u8
Lane mask_lane(Lane);            // the signed integer of the same width

struct Type {
  Lane lane = Lane::i64;
  int lanes = 1;
  bool pointer = false;
  bool operator==(const Type&) const = default;
  auto operator<=>(const Type&) const = default;
};

// Names that nobody declares: shared memory of a block of threads, as elements. "tsr_shared_f32" is f32*.
std::optional<Type> shared_memory(std::string_view name);

enum class Kind : std::uint8_t {
  variable,    // name
  integer,     // i
  real,        // f
  operation,   // op, args
  convert,     // args[0] to type, lane by lane, as C converts (truncation); masks stay masks
  broadcast,   // scalar args[0] in every lane
  load,        // args: pointer, index (elements of the pointer's lane type); `i` elements apart (1: contiguous), the
               // first one `phase` behind the index. Apart by 2, 3, 4, 6 ..., or with a phase, whole vectors are read
  gather,      // args: pointer, vector of element indices (i64 or i32 lanes)
  interleave,  // args: two vectors; elements of both in turn, the first half of them (i = 0) or the second (i = 1).
               // With a `phase` as many elements at a time; where these are less than 16 bytes, every 16 bytes by
               // themselves, which machines do at once
  fused,       // args: a, b, c of floats: a * b + c, rounded once where the machine does that in one step
  iota,        // 0, 1, 2 ... in the lanes
  address,     // args: pointer, index: pointer + index elements
  call,        // name(args)
};

struct Node;
using Value = std::shared_ptr<const Node>;

struct Node {
  Kind kind = Kind::integer;
  Type type;
  Op op = Op::constant;
  tessera::i64 i = 0, phase = 0;
  double f = 0;
  std::string name;
  std::vector<Value> args;
};

enum class StatementKind : std::uint8_t {
  let,      // name = values[0], never assigned again
  var,      // name = values[0], assignable; an array of `i` elements when i > 0 (no initial value)
  assign,   // name = values[0]; or name[values[1]] = values[0] when two values
  loop,     // for name = values[0]; name < values[1]; name += values[2]: body
  branch,   // if values[0]: body else orelse
  store,    // values: pointer, index, value; flags say streaming
  call,     // name(values)
  comment,  // name
  block,    // { body }
};

struct Statement {
  StatementKind kind = StatementKind::block;
  std::string name;
  Type type;
  std::vector<Value> values;
  std::vector<Statement> body, orelse;
  tessera::i64 i = 0;
  bool streaming = false;  // store past the caches; the address is a multiple of the vector's size
};

struct Function {
  std::string name;
  std::string essay;  // printed as a comment above
  Type result;        // meaningful when has_result
  bool has_result = false;
  bool local = false;  // called by later functions of the module alone
  struct Parameter {
    std::string name;
    Type type;
    bool constant_elements = false;  // const T*
    bool pointers = false;           // T* const*: a table of pointers
  };
  std::vector<Parameter> parameters;
  std::vector<Statement> body;  // `call` of name "return" returns its value
};

struct Module {
  std::vector<Table> tables;
  std::vector<Function> functions;
  // Numbers of tables that code only moves through: nothing is gained by a compiler that knows their values.
  std::set<std::size_t> opaque;
};

// ---- building ------------------------------------------------------------------------------------------------------

Value variable(std::string name, Type type);
Value integer(tessera::i64 value, Type type = {});
Value real(double value, Type type);
Value operation(Op op, Type type, std::vector<Value> args);  // folds integer scalars
Value convert(Type to, Value v);                             // nothing to do: v itself
Value broadcast(Value v, int lanes);
Value load(Value pointer, Value index, int lanes, tessera::i64 stride = 1, tessera::i64 phase = 0);
Value address(Value pointer, Value index);
Value interleave(Value a, Value b, int half, int unit = 0);
int interleaved_lane(const Node&, int lane);  // the lane of its operands, those of the second behind the first
Value fused(Value a, Value b, Value c);
Value call(std::string name, Type type, std::vector<Value> args);

// Arithmetic, lane by lane, of operands of one type; scalar i64 is folded. A number beside a value is that integer
// in every lane.
Value operator+(const Value&, const Value&);
Value operator-(const Value&, const Value&);
Value operator*(const Value&, const Value&);
Value operator/(const Value&, const Value&);
Value operator%(const Value&, const Value&);  // of integers, as below
Value operator&(const Value&, const Value&);
Value operator|(const Value&, const Value&);
Value operator^(const Value&, const Value&);
Value operator<<(const Value&, const Value&);
Value operator>>(const Value&, const Value&);
Value operator+(const Value&, tessera::i64);
Value operator-(const Value&, tessera::i64);
Value operator*(const Value&, tessera::i64);
Value operator/(const Value&, tessera::i64);
Value operator%(const Value&, tessera::i64);
Value operator&(const Value&, tessera::i64);
Value operator^(const Value&, tessera::i64);
Value operator<<(const Value&, tessera::i64);
Value operator>>(const Value&, tessera::i64);
Value operator-(const Value&);
Value operator~(const Value&);
Value min(const Value&, const Value&);
Value max(const Value&, const Value&);
Value min(const Value&, tessera::i64);
Value max(const Value&, tessera::i64);
Value least(const Value&, const Value&);  // of floats, neither of them a NaN: graph.hpp says more
Value most(const Value&, const Value&);
Value abs(const Value&);
// Comparisons: flags (i32 0 or 1) of scalars, masks of vectors.
Type flag_of(const Type& operands);
Value less(const Value&, const Value&);
Value at_most(const Value&, const Value&);
Value equal(const Value&, const Value&);
Value differs(const Value&, const Value&);
Value less(const Value&, tessera::i64);
Value at_most(const Value&, tessera::i64);
Value equal(const Value&, tessera::i64);
Value differs(const Value&, tessera::i64);
// One of two values, by a flag or lane by lane by a mask.
Value choose(const Value& flag, const Value& then, const Value& otherwise);

// Text form, one statement a line; parse_module(print(m)) prints the same again. verify throws Error(internal) where a
// name is used before it is declared or types do not fit.
std::string print(const Module&);
std::string print(const Function&);
Module parse_module(std::string_view text);
// On devices indices may have 32 bits, which takes fewer registers, and numbers alone may be stored past the caches.
enum class Runs { on_cores, on_devices };
void verify(const Module&, Runs = Runs::on_cores);

}  // namespace tessera::ir::nest
