// tessera/adjoint.hpp: the adjoint of a program as a program.
#include "tessera/adjoint.hpp"

#include "adjoint/adjoint.hpp"
#include "engine/program_impl.hpp"

namespace tessera {

Program adjoint_of(const Program& program) {
  if (program.impl().certainty || program.impl().precise)
    throw Error(ErrorClass::argument, "a filter of images with certainties has no derivative");
  adjoint::Adjoint made = adjoint::adjoint_of(program.impl().graph);
  std::vector<LeastExtent> least;
  for (adjoint::Adjoint::Least& l : made.least) least.push_back({l.extent, l.points, std::move(l.stage)});
  return engine::make_program(std::move(made.graph), {}, {}, {}, std::move(least));
}

}  // namespace tessera
