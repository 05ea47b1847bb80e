// Runs of programs on arrays in shares: every device computes its rows of the results as a slab (slabs.hpp), whose
// inputs are where they lie once the rows around them have come from their neighbours.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/device/distributed.hpp"
#include "engine/device/several.hpp"
#include "engine/methods.hpp"
#include "engine/program_impl.hpp"
#include "engine/windows/region_plan.hpp"
#include "ir/bind.hpp"
#include "tessera/error.hpp"

namespace tessera {

namespace {

using engine::around, engine::RowRange;
using Bound = engine::DeviceExecutable::Bound;

[[noreturn]] void fail(std::string message, std::string help = {}) {
  throw Error(ErrorClass::argument, std::move(message), {}, std::move(help));
}

const DistributedArray* in_shares(const DistributedInput& input) {
  return std::get_if<DistributedArray>(&input);
}

DeviceGroup group_of(const Program::Impl& program, const std::vector<DistributedInput>& inputs) {
  const DistributedArray* first = nullptr;
  std::size_t at = 0;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const DistributedArray* one = in_shares(inputs[k]);
    if (one == nullptr) continue;
    if (first == nullptr) {
      first = one;
      at = k;
    } else if (&one->group().impl() != &first->group().impl()) {
      fail(fmt::format("{} and {} are of different groups of devices", program.input_name(at), program.input_name(k)),
           "scatter both with one group");
    }
  }
  if (first == nullptr) fail("no input is in shares, so that no devices are known", "scatter one with a group");
  return first->group();
}

RunOptions options_of(const DeviceGroup& group, const RunOptions& asked) {
  if (!asked.target.empty() || asked.device != 0 || !asked.devices.empty() || asked.stream != nullptr ||
      asked.device_memory != 0)
    fail("a run on arrays in shares goes where they lie, but a target, devices, a stream or memory is given",
         "leave those options out");
  RunOptions options = asked;
  options.target = group.devices().front().target();
  for (const Device& device : group.devices()) options.devices.push_back(device.number());
  options.device = options.devices.front();
  return options;
}

void check_program(const Program::Impl& impl, const RunOptions& options) {
  std::string why;
  if (impl.certainty) why = "it is a filter with certainties, which looks at whole images";
  if (options.method == Method::whole) why = "method whole transforms whole images";
  for (std::size_t o = 0; why.empty() && o < impl.outputs.size(); ++o)
    if (const std::string global = engine::global_of(impl, o); !global.empty())
      why = fmt::format("{}, on which {} depends", global, impl.output_name(o));
  if (why.empty() && impl.host) why = "it has parts with loops that test or Fourier transforms of whole images";
  if (!why.empty())
    fail("the program does not run on arrays in shares: " + why, "gather the arrays, and run it on one device");
}

// A call whose arguments are checked.
class DistributedRun {
 public:
  DistributedRun(const Program::Impl& of, const std::vector<DistributedInput>& inputs, const RunOptions& asked)
      : group_(group_of(of, inputs)),
        options_(options_of(group_, asked)),
        impl_(engine::by_method(of, options_)),
        inputs_(inputs) {
    check_program(impl_, options_);
    std::vector<Array> given;
    const std::lock_guard lock(group_.impl().mutex);
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      if (const DistributedArray* one = in_shares(inputs[k])) {
        given.push_back(one->impl().whole(0));  // the first one always has rows
      } else {
        given.push_back(std::get<Array>(inputs[k]));
        if (given.back().on_device())
          fail(of.input_name(k) + " lies on " + given.back().memory()->place() + ", but the run is on arrays in shares",
               "give an array in shares, or one of the host");
      }
    }
    given_ = impl_.prepare(given);
    engine::check_method(impl_, options_);
    std::vector<Shape> shapes;
    for (const Array& a : given_) shapes.push_back(a.shape());
    parameters_ = ir::bind_parameters(impl_.graph, shapes);
    shapes_ = impl_.output_shapes(parameters_);
    for (std::size_t o = 0; o < shapes_.size(); ++o)
      if (shapes_[o].size() < 2)
        fail(fmt::format("{} has shape {}, expected two dimensions or more of what is left in shares",
                         impl_.output_name(o), to_string(shapes_[o])));
  }

  void check_outputs(const std::vector<DistributedArray>& outputs) const {
    if (outputs.size() != shapes_.size())
      fail(fmt::format("the program has {} outputs, but {} arrays were given", shapes_.size(), outputs.size()));
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      const std::string name = impl_.output_name(o);
      if (&outputs[o].group().impl() != &group_.impl())
        fail(name + " is of another group of devices than the inputs", "make it with the same group");
      if (!(outputs[o].format() == impl_.outputs[o].format) || outputs[o].shape() != shapes_[o])
        fail(fmt::format("{} is {} {}, but an array of {} {} was given", name, to_string(shapes_[o]),
                         impl_.outputs[o].format.name(), to_string(outputs[o].shape()), outputs[o].format().name()));
      for (std::size_t k = 0; k < inputs_.size(); ++k)
        if (const DistributedArray* in = in_shares(inputs_[k]); in != nullptr && &in->impl() == &outputs[o].impl())
          fail(name + " shares memory with " + impl_.input_name(k), "give an array of its own");
      for (std::size_t k = 0; k < o; ++k)
        if (&outputs[k].impl() == &outputs[o].impl())
          fail(name + " shares memory with " + impl_.output_name(k), "give an array of its own");
    }
  }

  // Makes the outputs, where there are none.
  void run(std::vector<DistributedArray>& outputs) {
    const auto start = std::chrono::steady_clock::now();
    const engine::DeviceExecutable::Team team = impl_.team(options_, parameters_);
    DeviceGroup::Impl& of = group_.impl();
    const std::lock_guard lock(of.mutex);
    const bool timed = static_cast<bool>(options_.on_shares);
    if (timed) mark(begins);
    std::vector<engine::Slab> slabs;
    for (std::size_t d = 0; d < team.size(); ++d) {
      const engine::DeviceExecutable& program = team[d]->serving(parameters_, options_);
      slabs.push_back(slab_of(program, d));
      for_rows_read(program, slabs.back(),
                    [&](DistributedArray::Impl& array, RowRange rows) { array.make_room(d, rows); });
    }
    // Behind moves into wider memory, which others read.
    of.meet();
    if (timed) mark(met);
    std::vector<i64> exchanged(team.size());
    for (std::size_t d = 0; d < team.size(); ++d) {
      for_rows_read(team[d]->serving(parameters_, options_), slabs[d],
                    [&](DistributedArray::Impl& array, RowRange rows) { exchanged[d] += array.bring(d, rows); });
      if (timed) of.queues[d]->mark(has_come);
    }
    std::vector<std::vector<RowRange>> written(shapes_.size());
    for (std::size_t o = 0; o < shapes_.size(); ++o)
      for (std::size_t d = 0; d < team.size(); ++d)
        written[o].push_back(rows_written(team[d]->serving(parameters_, options_), slabs[d], o));
    if (outputs.empty()) outputs = make_outputs(written);
    for (std::size_t o = 0; o < shapes_.size(); ++o)
      for (std::size_t d = 0; d < team.size(); ++d) {
        DistributedArray::Impl::Share& share = outputs[o].impl().shares[d];
        share.valid = {};
        if (!share.own.empty()) outputs[o].impl().widen(d, around(share.own, written[o][d]));
      }
    for (std::size_t d = 0; d < team.size(); ++d) {
      compute(team[d]->serving(parameters_, options_), slabs[d], outputs, d);
      if (timed) of.queues[d]->mark(is_computed);
    }
    for (const DistributedArray& output : outputs)
      for (DistributedArray::Impl::Share& share : output.impl().shares) share.valid = share.own;
    if (!timed) return;
    of.wait();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::vector<DeviceShare> shares;
    for (std::size_t d = 0; d < team.size(); ++d) {
      DeviceShare& share = shares.emplace_back();
      share.device = group_.devices()[d].number();
      share.name = group_.devices()[d].name();
      share.parts = 1;
      share.of = static_cast<i64>(team.size());
      share.exchanged = exchanged[d];
      share.wait = of.queues[d]->milliseconds(begins, met) * 1e-3;
      share.upload = of.queues[d]->milliseconds(met, has_come) * 1e-3;
      share.compute = of.queues[d]->milliseconds(has_come, is_computed) * 1e-3;
      share.seconds = seconds;
    }
    options_.on_shares(shares);
  }

 private:
  enum : int { begins = 0, met = 1, has_come = 2, is_computed = 3 };
  void mark(int number) const {
    for (const auto& queue : group_.impl().queues) queue->mark(number);
  }

  // Of an output: tiles may reach beyond the share.
  static RowRange rows_written(const engine::DeviceExecutable& program, const engine::Slab& slab, std::size_t output) {
    const std::vector<lower::ArrayRef>& arrays = program.program().interface.arrays;
    RowRange rows;
    for (std::size_t a = 0; a < arrays.size(); ++a)
      if (arrays[a].kind == lower::ArrayRef::Kind::output && arrays[a].index == output)
        rows = around(rows, slab.lying[a]);
    return rows;
  }

  // With room for what is written and for the rows that the inputs of the same shape have come to: what goes on from
  // step to step needs them.
  std::vector<DistributedArray> make_outputs(const std::vector<std::vector<RowRange>>& written) const {
    std::vector<DistributedArray> outputs;
    for (std::size_t o = 0; o < shapes_.size(); ++o) {
      std::vector<RowRange> room = written[o];
      for (const DistributedInput& input : inputs_)
        if (const DistributedArray* from = in_shares(input); from != nullptr && from->shape() == shapes_[o])
          for (std::size_t d = 0; d < room.size(); ++d) room[d] = around(room[d], from->impl().shares[d].lying);
      outputs.emplace_back(DistributedArray::Impl::make(group_, impl_.outputs[o].format, shapes_[o], room));
    }
    return outputs;
  }

  engine::Slab slab_of(const engine::DeviceExecutable& program, std::size_t device) const {
    return engine::slab(program.program(), program.plan().graph, parameters_, [&](std::size_t output, i64) {
      return group_.impl().share_of(shapes_[output].front(), device);
    });
  }

  // Calls with every input in shares and the rows of it that the slab reads.
  template <class F>
  void for_rows_read(const engine::DeviceExecutable& program, const engine::Slab& slab, const F& call) const {
    const std::vector<lower::ArrayRef>& arrays = program.program().interface.arrays;
    for (std::size_t a = 0; a < arrays.size(); ++a) {
      if (arrays[a].kind != lower::ArrayRef::Kind::argument || slab.lying[a].empty()) continue;
      const DistributedArray* from = in_shares(inputs_[arrays[a].index]);
      if (from == nullptr) continue;
      // An array of fewer dimensions than the interface's is one row of that.
      const bool by_rows = arrays[a].extents.size() == from->shape().size();
      call(from->impl(), by_rows ? slab.lying[a] : RowRange{0, from->shape().front()});
    }
  }

  void compute(const engine::DeviceExecutable& program, const engine::Slab& slab,
               const std::vector<DistributedArray>& outputs, std::size_t device) const {
    std::vector<Array> from, to;
    for (std::size_t k = 0; k < inputs_.size(); ++k) {
      const DistributedArray* one = in_shares(inputs_[k]);
      const bool here = one != nullptr && !one->impl().shares[device].array.empty();
      from.push_back(here ? one->impl().whole(device) : one != nullptr ? Array() : given_[k]);
    }
    for (const DistributedArray& output : outputs) {
      const bool here = !output.impl().shares[device].array.empty();
      to.push_back(here ? output.impl().whole(device) : Array());
    }
    const bool any = std::any_of(slab.results.begin(), slab.results.end(), [](RowRange r) { return !r.empty(); });
    if (!any) return;
    Bound bound(program, parameters_, *group_.impl().queues[device], slab, from, to);
    bound.upload(from, to);
    bound.launch(options_);
  }

  const DeviceGroup group_;
  const RunOptions options_;
  const Program::Impl& impl_;
  const std::vector<DistributedInput>& inputs_;
  std::vector<Array> given_;  // those in shares as they lie on the first device
  std::vector<i64> parameters_;
  std::vector<Shape> shapes_;  // of the outputs
};

}  // namespace

std::vector<DistributedArray> run_distributed(const Program& program, const std::vector<DistributedInput>& inputs,
                                              const RunOptions& options) {
  std::vector<DistributedArray> outputs;
  DistributedRun(program.impl(), inputs, options).run(outputs);
  return outputs;
}

void run_distributed_into(const Program& program, const std::vector<DistributedInput>& inputs,
                          const std::vector<DistributedArray>& outputs, const RunOptions& options) {
  DistributedRun run(program.impl(), inputs, options);
  run.check_outputs(outputs);
  std::vector<DistributedArray> targets = outputs;
  run.run(targets);
}

}  // namespace tessera
