// The `tessera` command. Everything is in the library beside it, where tests reach it.
#include "cli/command.hpp"

int main(int argc, char** argv) {
  tessera::cli::open_standard_files();
  return tessera::cli::run_command(argc, argv);
}
