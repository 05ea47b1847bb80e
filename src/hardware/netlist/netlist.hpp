// A netlist: what a streaming circuit computes at every tick, as signals that are functions of the tick.
//
// A tick carries one word of a frame: P neighbouring points, one a lane. Tick n is word n mod R of row n / R, where R
// is what a row takes; frames follow each other without a gap. A *lag* of some rows and words is rows * R + words
// ticks; a signal made for a lag has at tick n what belongs to word n - lag. Only `delay` looks at other ticks. When
// things happen within a tick, and how registers make that fast, is the matter of schedule.hpp.
//
// All values are whole numbers of a stated width. Every operation computes its mathematical result and keeps the low
// bits that its format has: who builds a netlist chooses formats that lose nothing, or lose what the language says.
// Nodes are hash-consed and stored in topological order.
#pragma once

#include <array>
#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tessera/array.hpp"

namespace tessera::hardware {

struct Lag {
  i64 rows = 0, words = 0;
  auto operator<=>(const Lag&) const = default;
  Lag operator+(const Lag& o) const { return {rows + o.rows, words + o.words}; }
  Lag operator-(const Lag& o) const { return {rows - o.rows, words - o.words}; }
};

struct Bits {
  bool is_signed = false;
  int width = 1;  // 1 to 64
  auto operator<=>(const Bits&) const = default;
};

// The least format with all whole numbers from lo to hi.
Bits bits_of(double lo, double hi);
i64 least_of(Bits);
i64 most_of(Bits);
i64 wrap(Bits, __int128 value);  // its low bits, read as the format says

// X(name, operands)
//   input     lane `lane` of input stream `value`, as the tick brings it (0 where it brings none)
//   scalar    argument `value`, the same at every tick of a frame
//   constant  `value`
//   delay     the operand as many ticks ago as `lag` says (0 before the first tick)
//   row, column   of the word n - lag: its row; the column of lane `lane`. Numbers from 0, or 0 where there is no word
//   held      the first operand at the last tick before this one at which the second, one bit, was set
//   line      a memory of ticks(lag) / value places, at one of which each tick stands: what lies there. It moves on to
//             the next place after ticks at which the second operand is set; then, where the third is set too, the
//             first is put there before. At other ticks it is anything
//   row_is, row_left_is     of the word n - lag: is its row `value`; are there `value` rows after it?
//   column_is, column_left_is   is the column of lane `lane` `value`; are there `value` columns after it (negative: it
//             lies that far beyond the last one)? Of the image whose extent is `extent`; -1: of the frame
//   row_phase, word_phase   is its row, the word in the row, `lane` more than a multiple of `value`?
//   shift_left, shift_right   by the constant `value`; the latter rounds down
//   divide, remainder   of whole numbers, towards zero; by zero gives 0. Unless it is by zero, the quotient is known to
//             have `value` bits at most, without its sign (0: nothing is known)
//   select    of a condition of one bit, the value if it is set, the value if not
//   up, down  shifts by an operand, which is 0 to 63
//   root      the whole part of the square root; of negative numbers 0
//   table     element of table `value` at the operand, which lies in it
//   float_unary, float_binary   the operation of the language on floats that `value` names (FloatOperation). Operands
//             and results that are floats are the bits of one. No circuit is printed of these: HLS computes them
// clang-format off
#define TESSERA_SIGNALS(X)                                                                                             \
  X(input, 0)                                                                                                          \
  X(scalar, 0)                                                                                                         \
  X(constant, 0)                                                                                                       \
  X(delay, 1)                                                                                                          \
  X(row, 0)                                                                                                            \
  X(column, 0)                                                                                                         \
  X(row_is, 0) X(row_left_is, 0) X(column_is, 0) X(column_left_is, 0) X(row_phase, 0) X(word_phase, 0)                 \
  X(held, 2) X(line, 3) X(add, 2) X(sub, 2) X(mul, 2) X(shift_left, 1)   \
      X(shift_right, 1) X(resize, 1) X(bit_and, 2) X(bit_or, 2) X(bit_xor, 2) X(bit_not, 1) X(eq, 2) X(lt, 2) X(le, 2) \
          X(select, 3) X(divide, 2) X(remainder, 2) X(up, 2) X(down, 2) X(table, 1) X(root, 1)             \
          X(float_unary, 1) X(float_binary, 2)
// clang-format on

enum class Signal : std::uint8_t {
#define X(name, operands) name,
  TESSERA_SIGNALS(X)
#undef X
};

std::string_view name_of(Signal);

struct NodeId {
  std::uint32_t id = 0xffffffff;
  bool valid() const { return id != 0xffffffff; }
  auto operator<=>(const NodeId&) const = default;
};

struct Node {
  Signal op = Signal::constant;
  Bits bits;
  std::vector<NodeId> args;
  i64 value = 0;
  Lag lag;
  int lane = 0;
  int extent = -1;          // of Netlist::extents
  std::uint32_t stage = 0;  // of the graph, for which it was made first; no part of what it is
};

// The extent of an image along a dimension, from the one that frames are given with: times * floor((given + plus) /
// over) + then points, each `rate` rows or columns of the frame from the next.
struct Extent {
  i64 rate = 1, times = 1, plus = 0, over = 1, then = 0;
  auto operator<=>(const Extent&) const = default;
  i64 points(i64 given) const;
  i64 fine(i64 given) const { return rate * points(given); }  // in rows or columns of the frame
};

struct Grid {
  Extent rows, columns;
  bool operator==(const Grid&) const = default;
};

struct Port {
  std::string name;
  ElementType type = ElementType::u8;
  Bits bits;         // of an element
  int fraction = 0;  // of its bits: what stands for a float is an element * 2^-fraction
  double error = 0;  // at most, from what exact arithmetic gives
  Grid grid = {};
  // Of an element in a stream: those of its type; 8 of what stands for a float and is wider than 32 bits.
  int bytes() const { return bits.width > 32 ? 8 : static_cast<int>(size_of(type)); }
};

struct Result {
  Port port;
  Lag lag;
  std::vector<NodeId> lanes;
};

struct Rom {
  std::string name;
  Bits bits;
  std::vector<i64> values;
};

// A stage in which something else may come out than exact arithmetic gives: values with errors decide there.
struct Decision {
  std::string stage, what;  // "compares floats"
  double error = 0;         // of what decides, at most
};

// An operation of the language on floats, as the value of a node.
struct FloatOperation {
  std::uint8_t op = 0;                      // ir::Op
  ElementType type = ElementType::f32;      // of the result
  ElementType operands = ElementType::f32;  // of the operands
  i64 value() const { return op | static_cast<i64>(type) << 8 | static_cast<i64>(operands) << 16; }
  static FloatOperation of(i64 v) {
    return {static_cast<std::uint8_t>(v & 255), static_cast<ElementType>(v >> 8 & 255),
            static_cast<ElementType>(v >> 16 & 255)};
  }
};
// A number as the bits that stand for it in a type, floats as such, and back.
i64 pattern_of(double, ElementType);
double number_of(i64 pattern, ElementType);

// Extents of frames: of the finest image.
struct Frame {
  i64 height = 0, width = 0;  // what they are, or their maxima
  bool fixed = true;
  int lanes = 1;                    // points a tick
  i64 row_unit = 1, word_unit = 1;  // rows and ticks are filled up to multiples of them: the rates of all images
  i64 words() const { return (width + lanes - 1) / lanes; }
  i64 pitch() const;  // ticks a row
  i64 rows() const { return (height + row_unit - 1) / row_unit * row_unit; }
  // Points of an image that a tick carries.
  int lanes_of(const Grid& g) const { return g.columns.rate >= lanes ? 1 : lanes / static_cast<int>(g.columns.rate); }
};

// What extents are given: those of the first input; frames follow from them. By dimension.
struct Given {
  Extent high, wide;                                                   // of frames
  std::array<i64, 2> least{1, 1}, most{0, 0}, unit{1, 1}, rest{0, 0};  // `rest` more than multiples of `unit`
  // Frames that have them are as large as what is given.
  bool plain() const { return high == Extent{} && wide == Extent{}; }
};
constexpr i64 least_pitch = 8;

class Netlist {
 public:
  Frame frame;
  std::vector<Port> inputs, scalars;
  std::vector<Result> results;
  std::vector<Rom> tables;
  std::vector<Decision> decisions;
  std::vector<std::string> stages;          // names
  std::vector<std::vector<NodeId>> stored;  // the lanes of stages that are stored
  i64 least_height = 1, least_width = 1;    // of extents given at run time
  Given given;
  std::vector<Extent> extents;  // that nodes name

  // Points of an image that a tick carries, and the ticks from one such tick to the next.
  int lanes(const Grid& g) const { return frame.lanes_of(g); }
  i64 word_step(const Grid& g) const { return g.columns.rate <= frame.lanes ? 1 : g.columns.rate / frame.lanes; }
  // Is an image as large as the frame, whatever is given?
  bool whole(const Grid& g) const { return g.rows == given.high && g.columns == given.wide; }

  NodeId add(Node node);
  std::optional<NodeId> find(const Node&) const;  // an equal one
  std::size_t add_table(Rom);                     // equal ones once, no two of the same name
  const Node& node(NodeId n) const { return nodes_[n.id]; }
  std::size_t size() const { return nodes_.size(); }
  i64 ticks(Lag lag) const { return lag.rows * frame.pitch() + lag.words; }

 private:
  std::vector<Node> nodes_;
  std::unordered_multimap<std::uint64_t, NodeId> index_;
};

// All of it but nodes, results and stored stages.
Netlist like(const Netlist&);
// Gives `to` the results and stored stages of `from`, whose nodes are `now`.
void return_as(Netlist& to, const Netlist& from, const std::vector<NodeId>& now);

// Without nodes and tables that no result needs.
Netlist living(const Netlist&);

// Are operands there before their users, counts and widths right? Throws Error(internal) with the node.
void verify(const Netlist&);
std::string print(const Netlist&);

}  // namespace tessera::hardware
