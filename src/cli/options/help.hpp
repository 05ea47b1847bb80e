// The help of verbs: options in groups, each on one line, and what is wrong with a command line in words of ours.
#pragma once

namespace CLI {
class App;
}

namespace tessera::cli {

// Widths and titles; before verbs are added, which take them over.
void format_help(CLI::App& root);
// Puts every option of every verb that has no group of its own into one.
void group_options(CLI::App& root);

}  // namespace tessera::cli
