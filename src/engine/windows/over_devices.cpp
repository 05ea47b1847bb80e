// See over_devices.hpp.
#include "engine/windows/over_devices.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <mutex>
#include <thread>

#include "engine/device/several.hpp"
#include "engine/device/slabs.hpp"
#include "engine/windows/region_plan.hpp"

namespace tessera::engine {

namespace {

// The first dimension that has a part for each device in every output, else the longest one.
std::size_t dimension_to_cut(const std::vector<Array>& outputs, i64 devices) {
  std::size_t longest = 0;
  const std::size_t rank = outputs.front().shape().size();
  for (std::size_t d = 0; d < rank; ++d) {
    if (std::all_of(outputs.begin(), outputs.end(), [&](const Array& a) { return a.shape()[d] >= devices; })) return d;
    if (outputs.front().shape()[d] > outputs.front().shape()[longest]) longest = d;
  }
  return longest;
}

bool have_windows(const Program::Impl& impl, const std::vector<Array>& outputs, const RunOptions& options) {
  if (options.method == Method::whole) return false;
  const std::size_t rank = outputs.front().shape().size();
  for (std::size_t o = 0; o < outputs.size(); ++o)
    if (outputs[o].shape().size() != rank || !global_of(impl, o).empty()) return false;
  return rank > 0;
}

i64 most_rows(const std::vector<Array>& outputs) {
  i64 rows = 1;  // an array of one dimension is a row
  for (const Array& a : outputs)
    if (a.rank() > 1) rows = std::max(rows, a.shape().front());
  return rows;
}

}  // namespace

bool run_in_windows(const Program& program, const std::vector<Array>& inputs, const std::vector<Array>& outputs,
                    const RunOptions& options) {
  const Program::Impl& impl = by_method(program.impl(), options);
  const auto devices = static_cast<i64>(options.devices.size());
  if (devices < 2 || (!impl.host && most_rows(outputs) >= devices) || !have_windows(impl, outputs, options))
    return false;
  const std::size_t cut = dimension_to_cut(outputs, devices);
  i64 parts = 1;
  for (const Array& a : outputs) parts = std::max(parts, std::min(a.shape()[cut], devices));
  if (parts < 2) return false;

  std::vector<InputWindow> windows;
  for (const Array& a : inputs) windows.push_back({a});
  const auto start = std::chrono::steady_clock::now();
  std::mutex mutex;
  std::exception_ptr failure;
  std::vector<DeviceShare> shares;
  const auto compute = [&](i64 part) noexcept {
    try {
      std::vector<Region> regions;
      std::vector<Array> targets;
      for (const Array& a : outputs) {
        Region& region = regions.emplace_back(Region{std::vector<i64>(a.shape().size()), a.shape()});
        const RowRange range = part_of(a.shape()[cut], part, parts);
        region.begin[cut] = range.first;
        region.end[cut] = range.last;
        if (range.empty()) region = {};
        targets.push_back(range.empty() ? Array() : a.region(region.begin, region.end));
      }
      RunOptions own = options;
      own.devices = {};
      own.device = options.devices[static_cast<std::size_t>(part)];
      own.on_progress = nullptr;
      own.on_shares = nullptr;
      program.run_region_into(windows, regions, targets, own);
      const std::lock_guard lock(mutex);
      DeviceShare& share = shares.emplace_back();
      share.device = own.device;
      share.name = open_device(own)->limits().name;
      share.parts = 1;
      share.of = parts;
      share.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      if (options.on_progress) options.on_progress({static_cast<i64>(shares.size()), parts});
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (i64 part = 1; part < parts; ++part) threads.emplace_back(compute, part);
    compute(0);
  }
  if (failure) std::rethrow_exception(failure);
  if (options.on_shares) options.on_shares(shares);
  return true;
}

}  // namespace tessera::engine
