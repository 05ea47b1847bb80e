// One function per verb: declares its options on the command line and returns what to do when it is the one that was
// given. One file per verb.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tessera::cli {

struct Verb {
  CLI::App* app = nullptr;
  std::function<int()> action;  // the exit status; throws Error
};

Verb add_run(CLI::App& root);
Verb add_filter(CLI::App& root);
Verb add_fft(CLI::App& root);
Verb add_emit(CLI::App& root);
Verb add_explain(CLI::App& root);
Verb add_check(CLI::App& root);
Verb add_format(CLI::App& root);
Verb add_devices(CLI::App& root);
Verb add_tune(CLI::App& root);

}  // namespace tessera::cli
