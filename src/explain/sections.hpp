// `explain` of a program with loops: a report for every section (ir/sections.hpp), in the order in which they run.
#pragma once

#include <string>
#include <vector>

#include "explain/report.hpp"

namespace tessera::explain {

struct SectionReport {
  Report report;
  std::string loop;                  // over what; "" where nothing is repeated
  i64 most = 1;                      // iterations
  std::vector<std::string> carried;  // images, of which one iteration hands two buffers to the next
};

std::string to_text(const std::vector<SectionReport>&);
std::string to_json(const std::vector<SectionReport>&);
std::string to_svg(const std::vector<SectionReport>&);

}  // namespace tessera::explain
