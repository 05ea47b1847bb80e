// What computes parts of a program's results. Of a program with loops or transforms that is those parts of its host
// program that know of none: walking back, what is wanted of their outputs says what they want of each other, and of
// the program's inputs.
#pragma once

#include <string>
#include <vector>

#include "analyze/windows.hpp"
#include "engine/program_impl.hpp"

namespace tessera::engine {

// A program without loops and transforms that runs on a part of its inputs.
struct RegionStep {
  const Program::Impl* program;              // what runs; it may be told which part of its images it has
  const rewrite::Located* located;           // by these numbers; null: it does not ask
  const Program::Impl* untold;               // the same as it is written, with the extents that `cut` is of
  analyze::Cut cut;                          // what is kept
  std::vector<Region> regions;               // of its outputs; empty ones of what nobody wants
  std::vector<std::size_t> inputs, outputs;  // arrays of the plan
};

struct RegionPlan {
  // An argument or an output of the program, or what lies between steps.
  struct Array {
    ir::host::Array::Kind kind;
    std::size_t index = 0;   // of the arguments or outputs
    analyze::Box read = {};  // by steps; empty: nothing is, and nobody computes it
  };
  std::vector<Array> arrays;
  std::vector<RegionStep> steps;  // in the order in which they run
};

// For regions of the outputs that are wanted, within results that no stage makes depend on all of an image. `whole`:
// the parameters of the whole.
RegionPlan plan_regions(const Program::Impl&, const std::vector<i64>& whole, const std::vector<Region>& regions,
                        const RunOptions&);

// What a run of these regions takes, for whole inputs of these shapes.
struct RegionNeeds {
  std::vector<Region> reads;  // of every input, empty ones of scalars, as Program::reads
  i64 memory = 0;             // bytes on the host beside inputs and results; code is made to know them
  double points = 0;          // that are computed of results and of what lies between steps
};
// `whole`: the parameters of the whole. Throw as Program::reads does.
RegionNeeds needs_of(const Program&, const std::vector<Region>& regions, const std::vector<i64>& whole,
                     const RunOptions&);
std::vector<Region> reads_of(const Program&, const std::vector<Region>& regions, const std::vector<i64>& whole,
                             const RunOptions&);
// As Program::run_region and run_region_into, of a program that may not have the inputs that all parameters follow
// from.
std::vector<Array> run_regions(const Program&, const std::vector<InputWindow>&, const std::vector<Region>&,
                               const std::vector<i64>& whole, const RunOptions&);
void run_regions_into(const Program&, const std::vector<InputWindow>&, const std::vector<Region>&,
                      const std::vector<Array>& outputs, const std::vector<i64>& whole, const RunOptions&);

bool is_wanted(const Region&);
analyze::Box box_of(const Region&);
// "stage 'm' reduces a whole image": why an output has no parts; "" where it has.
std::string global_of(const Program::Impl&, std::size_t output);

}  // namespace tessera::engine
