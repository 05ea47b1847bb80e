// Gradients: the program that goes backwards.
//
//   tessera::Program back = tessera::adjoint_of(program);
//   tessera::Array grad_image = back.run({image, grad_result}).at(0);
#pragma once

#include "tessera/program.hpp"

namespace tessera {

// A program whose inputs are those of the given one, in order, and then an array "grad_NAME" for each output of floats
// ("grad_output" where it has no name), of its shape: how a number L changes with each element of the output. It gives
// how L changes with each element of every input of floats, in order, as "grad_NAME"; for a scalar an array of one
// element. So its shapes and types are those of inputs and outputs.
//
// Throws Error(argument) that names the stage for what has no derivative: integers between, medians and extremes of
// windows, reads at computed places, loops with a test, images read by ones of more dimensions. Where a border
// continues an image (clamp, mirror, symmetric, wrap), an image has to be larger than what lies beyond it at both ends
// together: a smaller one is Error(argument) when the program runs.
Program adjoint_of(const Program&);

}  // namespace tessera
