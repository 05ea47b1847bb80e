// A program compiled for this machine: plan, emitted code, functions. Immutable; runs from several threads at once.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lower/interface.hpp"
#include "plan/plan.hpp"
#include "run/cpu/compiler.hpp"
#include "run/cpu/parallel.hpp"
#include "tessera/program.hpp"

namespace tessera::engine {

// This machine as the planner sees it.
machine::Machine cpu_device(int threads);
// How a program runs here, by schedule, numbers and method of the options, and for sizes of a class (size_class.hpp).
plan::Plan cpu_plan(const ir::Graph& graph, const RunOptions& options, const std::vector<i64>& of_class = {});

class Executable {
 public:
  Executable(plan::Plan, const RunOptions& options);

  const plan::Plan& plan() const { return plan_; }
  const run::cpu::Module& module() const { return *module_; }

  // Arrays and scalars of the right formats and shapes, rows contiguous; parameters as bound from them.
  void run(const std::vector<i64>& parameters, const std::vector<Array>& inputs, const std::vector<Array>& outputs,
           const RunOptions& options) const;
  // Bytes that a run takes beside inputs and outputs.
  i64 memory(const std::vector<i64>& parameters, const RunOptions& options) const;

  // One run as the functions of groups take it, for whoever runs tiles by himself. Its memory is of the run.
  struct Binding {
    std::vector<i64> parameters;
    std::vector<void*> pointers;
    std::vector<i64> integers;
    std::vector<run::cpu::Scratch> intermediates;
  };
  Binding bind(const std::vector<i64>& parameters, const std::vector<Array>& inputs,
               const std::vector<Array>& outputs) const;
  // Extents of a group's tiles, their number, and 1 where results go past the caches: the plan's, for so many threads;
  // or as they are given.
  std::vector<i64> tiles(std::size_t group, const Binding&, int threads) const;
  std::vector<i64> tiles(std::size_t group, const Binding&, std::vector<i64> extents) const;
  i64 scratch(std::size_t group, const Binding&, const std::vector<i64>& tiles) const;
  void run_tile(std::size_t group, const Binding&, const std::vector<i64>& tiles, i64 tile, std::byte* scratch) const;

 private:
  // Bytes of each place of intermediates, whose strides become integers of the run.
  std::vector<i64> place_intermediates(Binding&) const;
  struct Work {
    std::vector<std::vector<i64>> tiles;  // of each group
    i64 total = 0, scratch = 0;           // how many there are; bytes that one takes at most
  };
  Work all_tiles(const Binding&, const RunOptions&) const;
  struct Functions {
    void (*shape)(const i64* n, i64 threads, i64* t);
    i64 (*scratch)(const i64* n, const i64* t);
    void (*tile)(void* const* p, const i64* n, const i64* t, i64 tile, unsigned char* s);
  };
  plan::Plan plan_;
  lower::Interface interface_;
  std::shared_ptr<run::cpu::Module> module_;
  std::vector<Functions> groups_;
};

}  // namespace tessera::engine
