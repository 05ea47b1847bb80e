// Compiled passes and moves of transforms: each is one module, compiled at its first use in the process (or read from
// the disk cache) and kept until its end.
#pragma once

#include <string>

#include "fft/cpu/moves.hpp"
#include "fft/cpu/passes.hpp"

namespace tessera::engine {

template <class T>
using PassFunction = void (*)(const T* from, T* to, const T* w, const i64* n);
template <class T>
using MoveIn = void (*)(const T* const* rows, T* points, const T* scale, const i64* n);
template <class T>
using MoveOut = void (*)(const T* points, T* const* rows, const T* scale, const i64* n);

// Numbers in a vector of this machine.
template <class T>
i64 lanes_of();

// Thread-safe. Throw what run::cpu::load throws.
template <class T>
PassFunction<T> pass_function(const fft::Pass&, const std::string& compiler);
template <class T>
void* move_function(fft::Move, const std::string& compiler);

}  // namespace tessera::engine
