// Runs of programs on arrays in shares: every device computes its rows of the results as a slab (slabs.hpp), whose
// inputs are where they lie once the rows around them have come from their neighbours. Rows that neighbours will read
// are computed first, so that they are on their way while the others are computed.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <utility>

#include "base/division.hpp"
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
    const auto start = Clock::now();
    const engine::DeviceExecutable::Team team = impl_.team(options_, parameters_);
    DeviceGroup::Impl& of = group_.impl();
    const std::lock_guard lock(of.mutex);
    const bool timed = static_cast<bool>(options_.on_shares);
    if (timed) mark(begins);
    of.meet_carriers();
    std::vector<engine::Slab> slabs;
    bool apart = of.crossed;  // queues wait for each other
    for (std::size_t d = 0; d < team.size(); ++d) {
      const engine::DeviceExecutable& program = team[d]->serving(parameters_, options_);
      slabs.push_back(slab_of(program, d));
      for_rows_read(program, slabs.back(), [&](DistributedArray::Impl& array, RowRange rows) {
        const DistributedArray::Impl::Share& share = array.shares[d];
        array.read_around = array.read_around || (array.computed && !(around(share.own, rows) == share.own));
        apart = apart || !(around(share.valid, rows) == share.valid);
        array.make_room(d, rows);
      });
    }
    // Behind moves into wider memory, which others read.
    if (apart) of.meet();
    if (timed) mark(met);
    std::vector<i64> exchanged(team.size());
    for (std::size_t d = 0; d < team.size(); ++d) {
      for_rows_read(
          team[d]->serving(parameters_, options_), slabs[d],
          [&](DistributedArray::Impl& array, RowRange rows) { exchanged[d] += array.bring(d, rows, *of.queues[d]); });
      of.crossed = of.crossed || exchanged[d] > 0;
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
    compute_all(team, slabs, outputs, exchanged);
    if (timed) tell(exchanged, start);
  }

 private:
  using Clock = std::chrono::steady_clock;

  // Adds the bytes of rows that go on to `exchanged`.
  void compute_all(const engine::DeviceExecutable::Team& team, const std::vector<engine::Slab>& slabs,
                   const std::vector<DistributedArray>& outputs, std::vector<i64>& exchanged) const {
    DeviceGroup::Impl& of = group_.impl();
    const std::vector<DistributedArray> carried = to_carry(outputs);
    std::vector<Order> orders;
    for (std::size_t d = 0; d < team.size(); ++d)
      orders.push_back(order_of(team[d]->serving(parameters_, options_), slabs[d], outputs, carried, d));
    std::vector<std::shared_ptr<const run::gpu::Fence>> fences;
    for (std::size_t d = 0; d < team.size(); ++d) {
      const bool beside = orders[d].rest.has_value();
      if (beside) of.carriers[d]->wait_for(*of.queues[d]->fence());
      run::gpu::Queue& queue = beside ? *of.carriers[d] : *of.queues[d];
      for (const engine::Slab& slab : orders[d].first)
        compute(team[d]->serving(parameters_, options_), slab, outputs, d, queue);
      if (!carried.empty()) fences.push_back(queue.fence());
    }
    for (std::size_t d = 0; d < team.size(); ++d) {
      if (orders[d].rest) compute(team[d]->serving(parameters_, options_), *orders[d].rest, outputs, d, *of.queues[d]);
      if (options_.on_shares) of.queues[d]->mark(is_computed);
    }
    for (const DistributedArray& output : outputs) {
      output.impl().computed = true;
      for (DistributedArray::Impl::Share& share : output.impl().shares) share.valid = share.own;
    }
    for (std::size_t d = 0; d < team.size() && !carried.empty(); ++d) exchanged[d] += of.carry(fences, carried, d);
  }

  // Waits.
  void tell(const std::vector<i64>& exchanged, Clock::time_point start) const {
    DeviceGroup::Impl& of = group_.impl();
    of.wait();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    std::vector<DeviceShare> shares;
    for (std::size_t d = 0; d < exchanged.size(); ++d) {
      DeviceShare& share = shares.emplace_back();
      share.device = group_.devices()[d].number();
      share.name = group_.devices()[d].name();
      share.parts = 1;
      share.of = static_cast<i64>(exchanged.size());
      share.exchanged = exchanged[d];
      share.wait = of.queues[d]->milliseconds(begins, met) * 1e-3;
      share.upload = of.queues[d]->milliseconds(met, has_come) * 1e-3;
      share.compute = of.queues[d]->milliseconds(has_come, is_computed) * 1e-3;
      share.seconds = seconds;
    }
    options_.on_shares(shares);
  }

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

  // What a device computes on its carrier, or on its queue if that is all, and what on its queue beside it.
  struct Order {
    std::vector<engine::Slab> first;
    std::optional<engine::Slab> rest;
  };

  // Outputs whose rows go on as soon as they are there. Not those that somebody else may write before the next run, and
  // not where the calls for it take longer than what they hide.
  std::vector<DistributedArray> to_carry(const std::vector<DistributedArray>& outputs) const {
    constexpr double least_nanoseconds = 50'000;  // of a run
    const DeviceGroup::Impl& of = group_.impl();
    std::vector<DistributedArray> found;
    if (of.carriers.empty()) return found;
    for (const DistributedArray& output : outputs) {
      const DistributedArray::Impl& array = output.impl();
      const auto bytes = static_cast<double>(array.shares.front().own.count() * array.row_bytes());
      const bool long_enough = 2 * bytes >= least_nanoseconds * of.device(0)->limits().bandwidth;
      if (array.read_around && !array.handed_out && long_enough) found.push_back(output);
    }
    return found;
  }

  // The rows that others read apart, where the other ones are many and no kernel writes into a part that is not its
  // own.
  Order order_of(const engine::DeviceExecutable& program, const engine::Slab& all,
                 const std::vector<DistributedArray>& outputs, const std::vector<DistributedArray>& carried,
                 std::size_t device) const {
    const Order at_once{{all}, {}};
    if (carried.empty()) return at_once;
    // Arrays of the host would be taken up again for every slab.
    for (std::size_t k = 0; k < inputs_.size(); ++k)
      if (in_shares(inputs_[k]) == nullptr && given_[k].rank() > 0) return at_once;
    i64 multiple = 1;
    for (const lower::DeviceKernel& kernel : program.program().kernels)
      multiple = std::max(multiple, kernel.row_multiple);
    enum : std::size_t { first, rest, last };
    std::array<std::vector<RowRange>, 3> parts;  // of every output
    for (const DistributedArray& output : outputs) {
      const RowRange own = output.impl().shares[device].own;
      RowRange inside = own;
      const bool goes = std::any_of(carried.begin(), carried.end(),
                                    [&](const DistributedArray& c) { return &c.impl() == &output.impl(); });
      if (goes) {
        const DistributedArray::Impl::Around around = output.impl().read_by_others(device);
        if (!around.first.empty()) inside.first = base::round_up(around.first.last, multiple);
        if (!around.last.empty()) inside.last = around.last.first / multiple * multiple;
      }
      if (inside.count() < own.count() / 4 * 3) return at_once;
      parts[first].push_back({own.first, inside.first});
      parts[rest].push_back(inside);
      parts[last].push_back({inside.last, own.last});
    }
    std::array<engine::Slab, 3> slabs;
    i64 rows = 0, rows_at_once = 0;  // kernels compute some again for what others compute of them
    for (std::size_t p = 0; p < parts.size(); ++p) {
      slabs[p] = engine::slab(program.program(), program.plan().graph, parameters_,
                              [&](std::size_t o, i64) { return parts[p][o]; });
      for (std::size_t o = 0; o < outputs.size(); ++o)
        if (const RowRange written = rows_written(program, slabs[p], o);
            !written.empty() && !(around(parts[p][o], written) == parts[p][o]))
          return at_once;
      for (const RowRange computed : slabs[p].computed) rows += computed.count();
    }
    for (const RowRange computed : all.computed) rows_at_once += computed.count();
    if (rows > rows_at_once + rows_at_once / 20) return at_once;
    return {{std::move(slabs[first]), std::move(slabs[last])}, std::move(slabs[rest])};
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
      for (const DistributedInput& input : inputs_)
        if (const DistributedArray* from = in_shares(input); from != nullptr && from->shape() == shapes_[o])
          outputs.back().impl().read_around = outputs.back().impl().read_around || from->impl().read_around;
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
               const std::vector<DistributedArray>& outputs, std::size_t device, run::gpu::Queue& queue) const {
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
    Bound bound(program, parameters_, queue, slab, from, to);
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
