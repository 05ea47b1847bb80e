// Hand-written Forma programs: every construct of the language at least once, and the shapes of real filters.
#pragma once

#include <vector>

#include "case.hpp"

namespace tessera::differential {

struct ZooProgram {
  const char* name;
  const char* text;
  double absolute = 2e-4;   // of `fast` floats; inputs are of magnitude 1
  bool exact_only = false;  // decisions on rounded floats: `fast` may fall on the other side
  Data data = Data::smooth;
  Method method = Method::automatic;  // asked for: run with the automatic schedule, floats in `fast` numbers
};

const std::vector<ZooProgram>& zoo();
const std::vector<ZooProgram>& zoo_of_language();      // the first of them,
const std::vector<ZooProgram>& zoo_of_groups();        // the next, and
const std::vector<ZooProgram>& zoo_of_convolutions();  // behind those
const std::vector<ZooProgram>& zoo_of_reductions();
const std::vector<ZooProgram>& zoo_of_loops();
const std::vector<ZooProgram>& zoo_of_volumes();
const std::vector<ZooProgram>& zoo_of_marches();
const std::vector<ZooProgram>& zoo_of_chains();
const std::vector<ZooProgram>& zoo_of_spectra();
const std::vector<ZooProgram>& zoo_of_methods();
const std::vector<ZooProgram>& zoo_of_bytes();
const std::vector<ZooProgram>& zoo_of_nans();
const std::vector<ZooProgram>& zoo_of_products();
const std::vector<ZooProgram>& zoo_of_fields();

// With all schedules in both numbers where `thorough`, else with one or two of them.
Case zoo_case(std::size_t index, bool thorough);

}  // namespace tessera::differential
