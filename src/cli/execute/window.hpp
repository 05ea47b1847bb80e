// --window: a part of the results.
#pragma once

#include <string>
#include <vector>

#include "cli/execute/inputs.hpp"
#include "tessera/program.hpp"

namespace tessera::cli {

// "TOP,LEFT,BOTTOM,RIGHT" as a window of every output. Throws Error(argument) where outputs have several shapes.
std::vector<Region> windows_of(const Program&, const std::vector<Array>& inputs, const std::string& text);

std::vector<Array> run_window(const Program&, const std::vector<Array>& inputs, const std::vector<Region>& windows,
                              const RunOptions&);

// What files say of their images is that of the window where they are as large as the whole result.
void cut_headers(const Program&, Lanes&, const std::string& window);

}  // namespace tessera::cli
