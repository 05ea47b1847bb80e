// The published experiments behind ./dev reproduce, one process each: tessera_reproduce EXPERIMENT [options].
// Prints a line of JSON for every measurement; bench/reproduce.py makes tables and plots of them. Exit status 1: a
// result differs from the reference; 2: something is missing.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>

#include "published/common.hpp"

int main(int count, char** words) {
  using namespace tessera::published;
  Options options;
  CLI::App app{"published experiments, repeated"};
  app.add_option("experiment", options.experiment)
      ->required()
      ->check(CLI::IsMember({"tiled-convolution", "register-blocking", "fft"}));
  app.add_option("--photograph", options.photograph, "what is filtered")->required();
  app.add_option("--target", options.target, "cpu, opencl or cuda")->check(CLI::IsMember({"cpu", "opencl", "cuda"}));
  app.add_option("--device", options.device, "its number, as tessera devices says")->check(CLI::NonNegativeNumber);
  app.add_option("--repeat", options.repeat, "timed runs of one figure")->check(CLI::PositiveNumber);
  app.add_option("--texts", options.texts, "the folder of the kernels")->required();
  app.add_option("--work", options.work, "a folder for pictures and what is compiled")->required();
  app.add_option("--offsets", options.offsets, "tiled-convolution: where the source's region begins, and the target's")
      ->expected(4)
      ->delimiter(',')
      ->check(CLI::Range(0, 64));
  app.add_flag("--quick", options.quick, "small sizes");
  CLI11_PARSE(app, count, words);
  try {
    const bool good = options.experiment == "fft"                 ? fft_stages(options)
                      : options.experiment == "tiled-convolution" ? tiled_convolution(options)
                                                                  : register_blocking(options);
    return good ? 0 : 1;
  } catch (const std::exception& e) {
    fmt::print(stderr, "error: {}\n", e.what());
    return 2;
  }
}
