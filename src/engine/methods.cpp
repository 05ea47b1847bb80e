// See methods.hpp. Parts of a program with transforms or loops are asked one by one: it is enough that one sum of one
// of them is taken so.
#include "engine/methods.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "engine/program_impl.hpp"
#include "rewrite/sums/tiles/whole.hpp"

namespace tessera::engine {

std::vector<rewrite::SumChoice> sums_of(const Program::Impl& impl, const RunOptions& options, bool emitted) {
  std::vector<rewrite::SumChoice> all;
  const auto add = [&](const Program::Impl& part) {
    std::vector<rewrite::SumChoice> sums = sums_of(part, options, emitted);
    std::move(sums.begin(), sums.end(), std::back_inserter(all));
  };
  if (impl.host) {
    for (std::size_t k = 0; k < impl.host->program().parts.size(); ++k) add(impl.host->part(k).impl());
  } else if (options.method == Method::whole) {
    ir::Graph graph = impl.graph;
    all = rewrite::take_whole(graph, options.numbers);
  } else if (options.target == "cuda" || options.target == "opencl") {
    machine::Abilities abilities = machine::abilities_of_target(options.target);
    abilities.buffers = !emitted, abilities.matrices = abilities.matrices && !emitted;
    all = device_code(impl.graph, abilities, options.schedule, options.numbers, options.method).plan.sums;
  } else {
    plan::Options how;
    how.schedule = options.schedule;
    how.numbers = options.numbers;
    how.method = options.method;
    all = plan::make_plan(impl.graph, how, cpu_device(1)).sums;
  }
  return all;
}

std::shared_ptr<const Program> whole_program(const Program::Impl& impl, const RunOptions& options) {
  if (options.method != Method::whole || impl.host) return nullptr;
  const base::Lock lock = impl.locked();
  auto& known = impl.wholes[static_cast<int>(options.numbers)];
  if (known) return *known;
  ir::Graph graph = impl.graph;
  const std::vector<rewrite::SumChoice> sums = rewrite::take_whole(graph, options.numbers);
  const bool any = std::any_of(sums.begin(), sums.end(), [](const auto& c) { return c.taken == Method::whole; });
  known = any ? std::make_shared<const Program>(make_program(std::move(graph), {})) : nullptr;
  return *known;
}

void check_method(const Program::Impl& impl, const RunOptions& options, bool emitted) {
  if (options.method == Method::automatic || options.method == Method::direct) return;
  const auto asked = std::make_tuple(static_cast<int>(options.method), static_cast<int>(options.schedule),
                                     static_cast<int>(options.numbers), options.target + (emitted ? " file" : ""));
  {
    const base::Lock lock = impl.locked();
    if (impl.methods.contains(asked)) return;
  }
  const std::vector<rewrite::SumChoice> sums = sums_of(impl, options, emitted);
  const auto taken = [&](const rewrite::SumChoice& c) { return c.taken == options.method; };
  if (std::any_of(sums.begin(), sums.end(), taken)) {
    const base::Lock lock = impl.locked();
    impl.methods.insert(asked);
    return;
  }
  const auto refused = std::find_if(sums.begin(), sums.end(), [](const auto& c) { return !c.refusal.empty(); });
  std::string why = "it has no weighted sum of one image that could be";
  if (options.numbers == Numbers::exact) why += ", in numbers that may be added in another order";
  if (options.method == Method::transform && emitted)
    why = "emitted kernels take transforms for CUDA alone, of weights that the tile of a block of threads holds";
  if (options.method == Method::matrix)
    why = options.target != "cuda" || emitted
              ? "matrix units are of CUDA devices, in kernels that are compiled for the device"
              : "it has no integer sum of bytes of one image by at most 16 x 16 weights of a byte each";
  if ((options.method == Method::transform || options.method == Method::matrix) &&
      options.schedule != Schedule::automatic)
    why = "other schedules than the automatic one take none";
  if (refused != sums.end()) {
    std::string extents;
    for (const i64 n : refused->extents) extents += fmt::format("{}{}", extents.empty() ? "" : " x ", n);
    why = fmt::format("'{}', {} weights: {}", refused->stage, extents, refused->refusal);
  }
  throw Error(ErrorClass::argument,
              fmt::format("method {} takes no sum of the program: {}", rewrite::name_of(options.method), why), {},
              "leave the choice to method auto, or ask for direct");
}

}  // namespace tessera::engine
