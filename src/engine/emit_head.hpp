// What every emitted file begins with.
#pragma once

#include <string>

#include "ir/graph.hpp"
#include "tessera/program.hpp"

namespace tessera::engine {

enum class EmittedRole { source, header, host };

// A comment: what wrote the file, by which command, of which program, and the licence under which it may go anywhere.
// It holds no date and no path, so that the same program gives the same text.
std::string emitted_head(const ir::Graph&, const EmitOptions&, EmittedRole);

}  // namespace tessera::engine
