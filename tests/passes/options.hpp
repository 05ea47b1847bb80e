// What the options of a file mean, and the texts of its graphs.
#pragma once

#include <string>

#include "case.hpp"
#include "ir/graph.hpp"
#include "machine/machine.hpp"
#include "plan/plan.hpp"

namespace tessera::passes {

std::vector<std::string> words(const std::string&);

plan::Options plan_options(const PassCase&);
machine::Machine machine_of(const std::string& words);

// Forma, or the text form of a graph; it is well formed.
ir::Graph graph_of(const PassCase&);
// Without what it says of source files. It is well formed, and its text reads back.
std::string checked_text(const ir::Graph&);

// What a plan makes of every group, a few lines each.
std::string text_of_groups(const plan::Plan&);

// Of `lower: TARGET`.
std::vector<Part> lowered(const PassCase&);
// Of `pass: outline_blocks`, whose input is the text of a nest.
std::vector<Part> outlined(const PassCase&);

}  // namespace tessera::passes
