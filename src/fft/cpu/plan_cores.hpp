// A Fourier transform of known extents on cores as data: which codes (passes.hpp, moves.hpp) run over what, in which
// order, with which tables. Runs make structures of C of it (engine/fft/linked.cpp), and emitted files print these
// (emit/c/transforms/sized.cpp); the text that follows them is one: types.c.inc, problems.c.inc, spectra.c.inc.
//
//   rows      groups of V rows: in, tree, out
//   planes    groups of V rows of all planes: in, tree, blocks out; then blocks of V columns: tree into the columns of
//   the
//             result
//   volumes   the same, with a pass over blocks along y within the memory between, then along z
//   complex to real   the other way round: columns into blocks, blocks into rows
//   one long row of n = a b   columns of the a x b matrix, twiddles, blocks; then blocks into columns
//
// The memory between holds blocks of V columns, in each the points of a column behind one another. As many planes as
// fit the second-level caches go together. Spectra of numbers are whole where the problem says so; else they are
// halves.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "fft/cpu/moves.hpp"
#include "fft/cpu/passes.hpp"
#include "fft/plan.hpp"
#include "fft/problem.hpp"

namespace tessera::fft {

// What a plan needs to know of a machine.
struct Cores {
  i64 vector_bytes = 64;
  i64 l1 = 32 << 10, l2 = 1 << 20;  // bytes, of a core
  i64 count = 1;
};

using Code = std::variant<Pass, Move>;
std::string name_of(const Code&);
// The function of that name, for vectors of the plan's type and lanes.
ir::nest::Module module_of(const Code&, ir::nest::Type vector);

constexpr std::size_t most_dimensions = 8;

// Members stand for the structures of the same names of types.c.inc, PlannedProblem for tsr_problem. Numbers that refer
// to others are places in the plan's lists, of what comes before.
struct CorePlan {
  using Place = std::optional<std::size_t>;
  using Extents = std::array<i64, most_dimensions>;

  struct SequencePass {
    std::size_t code = 0;
    PassArguments arguments;  // those that do not depend on strides of the caller
    Place odd;                // of an odd radix: its table
    i64 twiddles = 0;         // where they begin
    i64 parts = 1, from_part = 0, to_part = 0;
  };
  struct Tree {
    Node::Kind kind = Node::Kind::sequence;
    i64 n = 1, scratch = 0;  // numbers
    std::vector<SequencePass> passes;
    Place first, second;
    Place in, multiply, turn, out;  // codes
    Place twiddles, spectrum;       // tables
    Place input, output;            // places
  };
  enum class Side : std::uint8_t { none, rows, number_rows, half_rows, blocks, half_blocks };
  struct Ends {
    i64 n = 1, rows = 1, points = 0, re_at = 0;
    Side from = Side::none, to = Side::none;
    double scale = 1;
    Place in, out;  // codes
  };
  struct Line {
    bool chirp = false, inverse = false;
    i64 n = 1, a = 1, b = 1, m = 0;
    Place first, second, blocks, turn;  // trees, ends, a code
    Place within, between;              // tables
    Place line;                         // a line
    Place in, out, spectrum;            // tables
  };
  struct PlannedProblem {
    enum class Kind : std::uint8_t { rows, planes, line } kind = Kind::rows;
    bool from_numbers = false, to_numbers = false, inverse = false;
    std::size_t batch = 0, rank = 1;
    i64 count = 1;
    Extents extents{}, from_strides{}, to_strides{};
    Place ends, x, y, outer, outer_far;
    i64 columns = 0, blocks = 0, pitch = 0, plane = 0, volume = 0, together = 1;
    bool columns_first = false, by_planes = false;
    Place line;
    bool halved = false;
    Place turns;  // a table
  };
  struct Turned {
    i64 before = 1, n = 1, behind = 1;
    std::size_t problem = 0;
  };
  struct Spectrum {
    enum class Kind : std::uint8_t { plain, from_half, to_half, anywhere } kind = Kind::plain;
    std::size_t rank = 1;
    i64 along = 0;  // a bit for every dimension
    bool inverse = false, from_numbers = false, to_numbers = false;
    Extents shape{}, from_strides{}, to_strides{};
    Place problem;
    std::vector<Turned> turned;
  };

  ElementType type = ElementType::f32;
  i64 lanes = 16;
  std::vector<Code> codes;  // each once
  std::vector<std::vector<double>> tables;
  std::vector<std::vector<i64>> places;
  std::vector<Tree> trees;
  std::vector<Ends> ends;
  std::vector<Line> lines;
  std::vector<PlannedProblem> problems;
  Spectrum spectrum;
  std::string description;  // "rows 8x8 * 8x8, columns ...": how it is done
};

// Makes tables; nothing is compiled. Throws Error(argument) when the problem makes no sense.
CorePlan plan_on_cores(const Problem&, const Cores&);

// The text that runs a plan: types.c.inc, problems.c.inc, spectra.c.inc.
std::string core_steps_text();

}  // namespace tessera::fft
