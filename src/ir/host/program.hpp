// The host's part of a run, as a program: what takes memory, what runs in which order on what, how often a loop goes
// round. Lowering writes it (lower/host), the engine interprets it on cores and devices (engine/host), printers print
// it into entry points (emit/host). A walk through it: docs/design/host.md.
//
//   acquire A              the array has memory that the parts can use: its own; or that of the caller's array, of
//   which
//                          a copy is made where the parts cannot
//   release A              nothing uses the name any more: memory that no other name has goes back, a copy of the
//                          caller's output goes to the caller
//   bind A to B            A names the memory that B names
//   run P (A, B) -> (C)    a part: a graph of its own without loops and transforms
//   transform T (A) -> (B) a Fourier transform
//   shift N -> A -> B      the versions of a carried image: every name gets the memory of the one before it, the first
//                          what the last one had
//   repeat ... while A     the body, again while A, one byte, is not 0
//
// Extents are those of the program's graph. Arrays of the program lie without gaps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ir/graph.hpp"

namespace tessera::ir::host {

using ArrayId = std::size_t;  // index into Program::arrays

struct Array {
  enum class Kind : std::uint8_t { argument, output, own } kind = Kind::own;
  std::size_t index = 0;  // of the graph's arguments or outputs
  std::string name;       // unique in the program
  bool is_array = true;   // else a number, which needs no memory
  Format format;
  std::vector<SizeId> extents;
};

struct Part {
  std::string name;  // unique in the program
  Graph graph;
};

// Arrays are numbers, or pairs of them: the real part first.
struct Transform {
  std::string name;
  bool inverse = false, from_real = false, to_real = false;
  ElementType type = ElementType::f32;
  std::vector<int> along;  // dimensions, ascending
  std::vector<SizeId> domain;
};

struct Acquire {
  ArrayId array = 0;
};
struct Release {
  ArrayId array = 0;
};
struct Bind {
  ArrayId array = 0, to = 0;
};
struct RunPart {
  std::size_t part = 0;
  std::vector<ArrayId> inputs, outputs;  // one per argument and output of its graph
};
struct RunTransform {
  std::size_t transform = 0;
  ArrayId from = 0, to = 0;
  bool spent = false;  // nobody reads `from` afterwards, it may be written over
};
struct Shift {
  std::vector<ArrayId> names;  // what is computed next, the newest version, ..., the oldest one
  // Of every version: where the memory that it has in the first turn is not to be written, what is taken instead of it
  // when it has become the oldest: after as many turns as there are versions from it to the end.
  std::vector<std::optional<ArrayId>> instead;
};
struct Repeat;

// What names hold after a shift, by `turn` of its loop, from 0 on: whoever interprets programs has something of each
// array.
template <class Held>
void shift(const Shift& s, i64 turn, std::vector<Held>& arrays) {
  const std::size_t versions = s.names.size() - 1;
  Held next = arrays[s.names[versions]];
  if (turn < static_cast<i64>(versions))
    if (const auto& instead = s.instead[versions - 1 - static_cast<std::size_t>(turn)]) next = arrays[*instead];
  for (std::size_t k = versions; k > 0; --k) arrays[s.names[k]] = arrays[s.names[k - 1]];
  arrays[s.names[0]] = std::move(next);
}

using Statement = std::variant<Acquire, Release, Bind, RunPart, RunTransform, Shift, Repeat>;

struct Repeat {
  std::string loop;  // of its variable
  i64 most = 1;
  ArrayId test = 0;
  std::vector<Statement> body;
};

struct Program {
  std::vector<Array> arrays;
  std::vector<Part> parts;
  std::vector<Transform> transforms;
  std::vector<Statement> body;
  bool loops() const;
};

// Throws Error(internal) where a statement uses an array that has no memory, memory is not given back on every path,
// or what runs does not fit its arrays.
void verify(const Program&, const Graph&);

// A line a statement. Parts are told by name.
std::string print(const Program&, const Graph&);

// Of every array: may its memory get another name, or it other memory? By what loops carry.
std::vector<bool> moved(const Program&);

// Arrays that are not there at the same time share memory: a slot for every array that is acquired. Memory that changes
// names is kept until the end.
struct Slots {
  std::vector<std::optional<std::size_t>> of;  // of every array
  std::size_t count = 0;
};
Slots slots(const Program&);

// The most bytes that are acquired at one time, as `bytes` says of every array and `work` of every transform.
struct Sizes {
  std::vector<i64> arrays, transforms;
};
i64 most_bytes(const Program&, const Sizes&);

}  // namespace tessera::ir::host
