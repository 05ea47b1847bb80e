// --window: a part of the results.
#pragma once

#include <string>
#include <vector>

#include "cli/execute/inputs.hpp"
#include "tessera/program.hpp"

namespace tessera::cli {

struct Window {
  std::string text;               // "top,left,bottom,right", both ends inside; empty: there is none
  std::vector<bool> wanted = {};  // which outputs have a file; where none has, all are looked at
  bool empty() const { return text.empty(); }
};

// A region of every output that is wanted, an empty one of others. Throws Error(argument) where these have several
// shapes.
std::vector<Region> windows_of(const Program&, const std::vector<Shape>& outputs, const Window&);
std::vector<Region> windows_of(const Program&, const std::vector<Array>& inputs, const Window&);

std::vector<Array> run_window(const Program&, const std::vector<Array>& inputs, const std::vector<Region>& windows,
                              const RunOptions&);

// What files say of their images is that of the window where they are as large as the whole result.
void cut_headers(const Program&, Lanes&, const Window&);

}  // namespace tessera::cli
