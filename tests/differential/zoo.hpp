// Hand-written Forma programs: every construct of the language at least once, and the shapes of real filters. They are
// the files of tests/zoo, read at run time; tests/zoo/README.md says what their first lines may say.
#pragma once

#include <string>
#include <vector>

#include "case.hpp"

namespace tessera::differential {

struct ZooProgram {
  std::string name;  // "bytes/sums_of_bytes_of_volumes"
  std::string text;
  double absolute = 2e-4;   // of `fast` floats; inputs are of magnitude 1
  bool exact_only = false;  // decisions on rounded floats: `fast` may fall on the other side
  bool large = true;        // at the largest of the sizes in quick runs as well
  Data data = Data::smooth;
  Method method = Method::automatic;  // asked for: run with the automatic schedule, floats in `fast` numbers
};

// In the order of their paths. Throws where a file cannot be read or its header has a line that is not known.
const std::vector<ZooProgram>& zoo();

// The header of a program of the zoo: the comments that it begins with.
ZooProgram read_zoo_program(const std::string& name, const std::string& text);

// With all schedules in both numbers where `thorough`, else with one or two of them.
Case zoo_case(std::size_t index, bool thorough);

}  // namespace tessera::differential
