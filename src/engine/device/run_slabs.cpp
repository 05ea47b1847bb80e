// Runs of a device program in slabs, on one device or shared among several.
//
// Every device has a range of the slabs, next to each other in the image. Its lanes, each a thread with a queue of its
// own, take them one by one: one lane copies while another computes. A device that is through takes from the far end of
// the range that has most left, so that a slower link or card ends no later than the others. The bits of a slab depend
// neither on the device nor on the cut (slabs.hpp).
#include <algorithm>
#include <chrono>
#include <mutex>
#include <utility>

#include "data/layout.hpp"
#include "engine/device/on_device.hpp"
#include "engine/device/several.hpp"
#include "run/gpu/errors.hpp"
#include "tessera/error.hpp"

namespace tessera::engine {

namespace {

// Copies of so many bytes are worth slabs, of so many each, so many at a time. Measured on an H200.
constexpr i64 tiles_of_slab = 3;  // that lie on each other: a slab lower than a tile runs in the frame around them
constexpr i64 worth_slabs = i64{64} << 20, slab_bytes = i64{16} << 20;
constexpr int most_lanes = 3;
constexpr i64 most_parts = 64;       // of a device
constexpr double worth_more = 0.99;  // of the time: what more slabs have to save
constexpr double link = 20e9;        // bytes a second each way: ordinary memory has 8 to 12, pinned memory 25 to 50
constexpr double least_gain = 1.1;   // of another device
enum : int { begins = 0, is_up = 1, is_computed = 2, is_down = 3 };  // marks of a slab
using Clock = std::chrono::steady_clock;

// Of arrays that lie on the host.
i64 bytes_to_copy(const std::vector<Array>& arrays) {
  i64 bytes = 0;
  for (const Array& a : arrays)
    if (!a.on_device()) bytes += static_cast<i64>(data::byte_count(a.format(), a.shape()));
  return bytes;
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Slabs that nobody has begun, by device.
class Ranges {
 public:
  Ranges(i64 parts, int devices) {
    for (int k = 0; k < devices; ++k) left_.push_back(part_of(parts, k, devices));
  }
  // -1: none. What is about to be begun by its own device is left to it.
  i64 take(std::size_t device) {
    const std::lock_guard lock(mutex_);
    RowRange& own = left_[device];
    if (!own.empty()) return own.first++;
    RowRange& most = *std::max_element(left_.begin(), left_.end(),
                                       [](const RowRange& a, const RowRange& b) { return a.count() < b.count(); });
    return most.count() > 1 ? --most.last : -1;
  }
  void stop() {
    const std::lock_guard lock(mutex_);
    for (RowRange& range : left_) range = {};
  }

 private:
  std::mutex mutex_;
  std::vector<RowRange> left_;
};

}  // namespace

// One attempt to run a job by a split.
class DeviceExecutable::SharedRun {
 public:
  // On the first of these devices, as many as the split has.
  SharedRun(const Job& job, const Split& split, const std::vector<const DeviceExecutable*>& programs)
      : job_(job), split_(split), programs_(programs), ranges_(split.parts, split.devices) {
    for (int k = 0; k < split.devices; ++k) {
      const run::gpu::Limits& limits = programs[static_cast<std::size_t>(k)]->limits();
      DeviceShare& share = shares_.emplace_back();
      share.device = limits.index;
      share.name = limits.name;
      share.of = split.parts;
      share.queues = split.lanes;
    }
  }

  // Throws what the first lane that failed threw, when all have ended.
  void run() {
    const std::size_t devices = shares_.size();
    at_once(devices * static_cast<std::size_t>(split_.lanes), [&](std::size_t lane) {
      try {
        in_lane(lane % devices);
      } catch (...) {
        ranges_.stop();
        throw;
      }
    });
    if (!told()) return;
    for (DeviceShare& s : shares_) s.wait = std::max(0.0, s.seconds * s.queues - s.upload - s.compute - s.download);
    job_.options.on_shares(shares_);
  }

 private:
  bool told() const { return job_.options.on_shares && !job_.options.devices.empty(); }

  void in_lane(std::size_t device) {
    Stream* const stream = job_.options.stream;
    const std::unique_ptr<run::gpu::Queue> own = stream == nullptr ? programs_[device]->queue() : nullptr;
    run::gpu::Queue& queue = own ? *own : *stream->impl().queue;
    const bool wait = own || split_.parts > 1;  // in a stream for memory alone, of which the next slab finds none
    for (i64 part = ranges_.take(device); part >= 0; part = ranges_.take(device)) slab(device, queue, part, wait);
  }

  void slab(std::size_t device, run::gpu::Queue& queue, i64 part, bool wait) {
    const DeviceExecutable& program = *programs_[device];
    const bool timed = told();
    Bound bound(program, job_.parameters, queue,
                engine::slab(program.program_, program.plan_.graph, job_.parameters, part, split_.parts), job_.inputs,
                job_.outputs);
    if (timed) queue.mark(begins);
    bound.upload(job_.inputs, job_.outputs);
    if (timed) queue.mark(is_up);
    bound.launch(job_.options);
    if (timed) queue.mark(is_computed);
    bound.download(job_.outputs);
    if (timed) queue.mark(is_down);
    if (wait) queue.wait();
    const std::lock_guard lock(mutex_);
    ++done_;
    if (job_.options.on_progress) job_.options.on_progress({done_, split_.parts});
    DeviceShare& share = shares_[device];
    ++share.parts;
    share.uploaded += bound.uploaded();
    share.downloaded += bound.downloaded();
    share.seconds = seconds_since(start_);
    if (!timed) return;
    share.upload += queue.milliseconds(begins, is_up) * 1e-3;
    share.compute += queue.milliseconds(is_up, is_computed) * 1e-3;
    share.download += queue.milliseconds(is_computed, is_down) * 1e-3;
  }

  const Job& job_;
  const Split& split_;
  const std::vector<const DeviceExecutable*>& programs_;
  Ranges ranges_;
  const Clock::time_point start_ = Clock::now();
  std::mutex mutex_;  // of the rest
  i64 done_ = 0;
  std::vector<DeviceShare> shares_;
};

i64 DeviceExecutable::bytes_of(const Job& job, const Split& split) const {
  constexpr i64 samples = 64;  // of the slabs, evenly
  std::vector<bool> lies_there;
  for (const lower::ArrayRef& ref : program_.interface.arrays)
    lies_there.push_back(given(ref, job.inputs, job.outputs) != nullptr);
  i64 most = 0;
  const i64 count = std::min(split.parts, samples);
  for (i64 k = 0; k < count; ++k) {
    const i64 part = split.parts / count * k + std::min(k, split.parts % count);
    most = std::max(most, engine::bytes_of(slab(program_, plan_.graph, job.parameters, part, split.parts), plan_,
                                           program_, job.parameters, lies_there));
  }
  return most * split.lanes;
}

namespace {

// Seconds of a run in slabs, by what a slab takes to come up, to be computed and to go down: as many as there are in a
// row pass through these three, one behind the other.
struct Stages {
  double up = 0, compute = 0, down = 0;  // of all slabs
  double seconds(i64 slabs, i64 in_a_row) const {
    const double all = up + compute + down, longest = std::max({up, compute, down});
    return (all + static_cast<double>(in_a_row - 1) * longest) / static_cast<double>(slabs);
  }
};

// Bytes of inputs that all of so many slabs read, over those of one run: 1 and more.
double repeated_reads(const lower::DeviceProgram& program, const plan::Plan& plan, const std::vector<i64>& parameters,
                      i64 parts) {
  const auto bytes_of = [&](const Slab& slab) {
    double bytes = 0;
    for (std::size_t k = 0; k < program.interface.arrays.size(); ++k)
      if (program.interface.arrays[k].kind == lower::ArrayRef::Kind::argument)
        bytes += static_cast<double>(lay(program.interface.arrays[k], plan, parameters).row_bytes) *
                 static_cast<double>(slab.lying[k].count());
    return bytes;
  };
  const double once = bytes_of(slab(program, plan.graph, parameters, 0, 1));
  const double all = bytes_of(slab(program, plan.graph, parameters, parts / 2, parts)) * static_cast<double>(parts);
  return once > 0 ? std::max(1.0, all / once) : 1;
}

// Of all kernels in one run: what they compute and the least that they move, whichever takes longer.
double seconds_to_compute(const lower::DeviceProgram& program, const ir::Graph& graph,
                          const std::vector<i64>& parameters, const run::gpu::Limits& limits) {
  constexpr double share = 0.6, lanes = 128, usual_gigahertz = 1.5, usual_bandwidth = 24;  // a multiprocessor
  constexpr double least_bytes = 8;                                                        // a point, read and written
  const double clock = limits.gigahertz > 0 ? limits.gigahertz : usual_gigahertz;
  const double rate = share * lanes * limits.multiprocessors * clock;  // a nanosecond
  const double bandwidth = limits.bandwidth > 0 ? limits.bandwidth : usual_bandwidth * limits.multiprocessors;
  double nanoseconds = 0;
  for (const lower::DeviceKernel& kernel : program.kernels) {
    double points = 1;
    for (const ir::SizeId extent : kernel.domain) points *= static_cast<double>(graph.evaluate(extent, parameters));
    nanoseconds += points * std::max((kernel.operations + kernel.moves) / rate, least_bytes / bandwidth);
  }
  return nanoseconds * 1e-9;
}

}  // namespace

DeviceExecutable::Split DeviceExecutable::split(const std::vector<i64>& parameters, Copies copies, int devices) const {
  const i64 most = most_slabs(program_, plan_.graph, parameters);
  Split split;
  // Halos are computed by both neighbours, what a whole image is needed for by all: of so many devices each does so
  // much of the work of one.
  double gain = 1;
  for (int d = 2; d <= devices && d <= most; ++d) {
    const double of_so_many = d / repetition(program_, plan_.graph, parameters, d);
    if (of_so_many >= least_gain * gain || (split.devices > 1 && of_so_many > gain)) {
      gain = of_so_many;
      split.devices = d;
    }
  }
  split.parts = split.devices;
  const i64 bytes = copies.up + copies.down;
  if (limits().integrated || bytes < worth_slabs) return split;
  i64 limit = std::min({bytes / slab_bytes, most, most_parts * split.devices});
  for (const lower::DeviceKernel& kernel : program_.kernels)
    if (kernel.frame)
      limit = std::min(
          limit, plan_.graph.evaluate(kernel.domain.front(), parameters) / (tiles_of_slab * kernel.frame->height));
  // More slabs hide more of the copies and repeat more of the halos.
  const double computing = seconds_to_compute(program_, plan_.graph, parameters, limits());
  const double up = static_cast<double>(copies.up) / link, down = static_cast<double>(copies.down) / link;
  double least = 0;
  for (i64 each = 1; each * split.devices <= std::max<i64>(limit, split.devices); each += std::max<i64>(1, each / 4)) {
    const i64 parts = each * split.devices;
    const Stages stages{up * repeated_reads(program_, plan_, parameters, parts),
                        computing * repetition(program_, plan_.graph, parameters, parts), down};
    const double seconds = stages.seconds(parts, each);
    if (each > 1 && seconds >= worth_more * least) continue;
    least = seconds;
    split.parts = parts;
    split.lanes = static_cast<int>(std::min<i64>(most_lanes, each));
  }
  return split;
}

DeviceExecutable::Split DeviceExecutable::fitting(const Job& job, Split split) const {
  const i64 most = most_slabs(program_, plan_.graph, job.parameters), allowed = job.options.device_memory;
  if (allowed == 0 || bytes_of(job, split) <= allowed) return split;
  split.lanes = 1;
  while (bytes_of(job, split) > allowed) {
    if (split.parts >= most)
      throw run::gpu::OutOfMemory(label_of(limits()), bytes_of(job, split), allowed,
                                  {"so much is needed even for one row at a time"});
    split.parts = std::min(most, split.parts * 2);
  }
  return split;
}

void DeviceExecutable::run(const Team& team, const std::vector<i64>& parameters, const std::vector<Array>& inputs,
                           const std::vector<Array>& outputs, const RunOptions& options) {
  std::vector<const DeviceExecutable*> programs;
  for (const auto& member : team) programs.push_back(&member->serving(parameters, options));
  const DeviceExecutable& first = *programs.front();
  const Job job{parameters, inputs, outputs, options};
  Split split;
  if (options.stream == nullptr)
    split = first.split(parameters, {bytes_to_copy(inputs), bytes_to_copy(outputs)}, static_cast<int>(programs.size()));
  split = first.fitting(job, split);
  const i64 most = most_slabs(first.program_, first.plan_.graph, parameters);
  for (;;) {
    try {
      return SharedRun(job, split, programs).run();
    } catch (const run::gpu::OutOfMemory&) {
      if (split.parts >= most && split.lanes == 1) throw;
      split.lanes = split.parts >= most ? 1 : std::min(split.lanes, 2);
      split.parts = std::min(most, split.parts * 2);
    }
  }
}

}  // namespace tessera::engine
