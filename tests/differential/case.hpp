// One differential case: a graph, the sizes to run it at and the ways to run it. Compiled results are compared with the
// interpreter's, in watched memory.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.hpp"
#include "memory.hpp"
#include "tessera/program.hpp"
#include "values.hpp"

namespace tessera::differential {

// Where arrays lie in a run on a device: on the host, on the host and too large for the device, so that it runs in
// slabs, or on the device, whole ones and views of larger ones at odd places.
enum class Where { host, slabs, device, device_views };

struct Way {
  Schedule schedule = Schedule::automatic;
  Numbers numbers = Numbers::exact;
  Method method = Method::automatic;
  i64 rows = 0, columns = 0;  // of a tile; 0: the plan's
  int threads = 1;
  std::string compiler = {};
  std::string target = "cpu";
  Placement placement = Placement::flush_end;
  Where where = Where::host;
};
std::string to_string(const Way&);

struct Case {
  std::string name;    // for people: "seed 17", "zoo: canny"
  std::string source;  // Forma text where the graph came from one
  ir::Graph graph;
  std::uint64_t seed = 0;  // of the data
  Data data = Data::plain;
  bool may_refuse = false;  // there may be no sum for the method that a way asks for: it runs without asking then
  double relative = 0, absolute = 0;         // tolerance of floats in `fast`
  std::vector<std::vector<i64>> parameters;  // sets of run-time parameters
  std::vector<Way> ways;                     // every one at every set
};

struct Failure {
  std::size_t parameters = 0, way = 0;
  std::string what;
};

// Runs the case in this process. `note` hears which set and way come next, so that a crash can be placed. Sets that
// the program refuses (extents below 1) are skipped, if running refuses them as well. `executed` counts comparisons.
std::optional<Failure> check(const Case&, const std::function<void(std::size_t parameters, std::size_t way)>& note,
                             i64* executed = nullptr);

// The case as text: graph, shape, data, way.
std::string describe(const Case&);

}  // namespace tessera::differential
