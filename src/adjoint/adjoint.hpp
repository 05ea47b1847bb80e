// The adjoint of a program: gradients with respect to its inputs from gradients with respect to its outputs.
//
// It is a program again. Stages are gone through backwards. What the body of a stage passes on to one of its reads is
// an expression at the reading point; where the image was read at an offset, the gradient of the image is read at the
// opposite one (scatter.cpp), and what was read beyond a border is folded back to where the border took it from
// (fold.cpp). The stages of the program itself are part of it as far as derivatives need their values, so that the
// planner fuses the two.
//
// Differentiable is what is linear, and pointwise what calculus can do; at a step of floor or of a comparison, and
// where a maximum has two candidates, the derivative of one side is taken. All else is Error(argument) that names the
// stage: integers on the way, medians and extremes of windows, gathers, loops, images read by ones of more dimensions.
#pragma once

#include "ir/graph.hpp"

namespace tessera::adjoint {

struct Adjoint {
  // Its arguments are those of the program, then an array for each output of floats, "grad_NAME" ("grad_output" where
  // it has no name). Its outputs: "grad_NAME" of every argument of floats in order, scalars as arrays of one element.
  ir::Graph graph;
  // Of every extent that a border folds gradients into: what it has to be at least.
  struct Least {
    ir::SizeId extent;
    i64 points = 0;
    std::string stage;
  };
  std::vector<Least> least;
};

Adjoint adjoint_of(const ir::Graph&);

}  // namespace tessera::adjoint
