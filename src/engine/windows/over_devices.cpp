// See over_devices.hpp.
#include "engine/windows/over_devices.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>

#include "engine/device/several.hpp"
#include "engine/device/slabs.hpp"

namespace tessera::engine {

namespace {

// The first dimension that has a part for each device in every output, else the longest one.
std::size_t dimension_to_cut(const std::vector<Shape>& outputs, i64 devices) {
  const Shape& first = outputs.front();
  for (std::size_t d = 0; d < first.size(); ++d)
    if (std::all_of(outputs.begin(), outputs.end(), [&](const Shape& s) { return s[d] >= devices; })) return d;
  return static_cast<std::size_t>(std::max_element(first.begin(), first.end()) - first.begin());
}

// Slabs are runs of rows, of which an array of one dimension is one.
i64 most_rows(const std::vector<Shape>& outputs) {
  i64 rows = 1;
  for (const Shape& s : outputs)
    if (s.size() > 1) rows = std::max(rows, s.front());
  return rows;
}

}  // namespace

std::optional<WindowCut> cut_over_devices(const Program::Impl& impl, const std::vector<Shape>& outputs,
                                          const RunOptions& options) {
  const auto devices = static_cast<i64>(options.devices.size());
  const bool slabs = !impl.host && most_rows(outputs) >= devices;
  if (devices < 2 || slabs || options.method == Method::whole || !why_alone(impl).empty()) return {};
  const std::size_t rank = outputs.front().size();
  if (rank == 0 || std::any_of(outputs.begin(), outputs.end(), [&](const Shape& s) { return s.size() != rank; }))
    return {};
  WindowCut cut{dimension_to_cut(outputs, devices)};
  for (const Shape& s : outputs) cut.parts = std::max(cut.parts, std::min(s[cut.dimension], devices));
  return cut.parts > 1 ? std::optional(cut) : std::nullopt;
}

bool run_in_windows(const Program& program, const std::vector<Array>& inputs, const std::vector<Array>& outputs,
                    const RunOptions& options) {
  std::vector<Shape> shapes;
  for (const Array& a : outputs) shapes.push_back(a.shape());
  const std::optional<WindowCut> cut = cut_over_devices(by_method(program.impl(), options), shapes, options);
  if (!cut) return false;
  std::vector<InputWindow> windows;
  for (const Array& a : inputs) windows.push_back({a});
  const auto start = std::chrono::steady_clock::now();
  std::mutex mutex;
  i64 done = 0;
  std::vector<DeviceShare> shares(static_cast<std::size_t>(cut->parts));
  at_once(shares.size(), [&](std::size_t part) {
    DeviceShare& share = shares[part];
    std::vector<Region> regions;
    std::vector<Array> targets;
    for (const Array& a : outputs) {
      const RowRange range = part_of(a.shape()[cut->dimension], static_cast<i64>(part), cut->parts);
      Region& region = regions.emplace_back();
      if (!range.empty()) {
        region = {std::vector<i64>(a.shape().size()), a.shape()};
        region.begin[cut->dimension] = range.first;
        region.end[cut->dimension] = range.last;
      }
      targets.push_back(range.empty() ? Array() : a.region(region.begin, region.end));
    }
    RunOptions own = options;
    own.devices = {options.devices[part]};
    own.on_progress = nullptr;
    if (options.on_shares)
      own.on_shares = [&](const std::vector<DeviceShare>& steps) {
        for (const DeviceShare& step : steps) add_work(share, step);
      };
    program.run_region_into(windows, regions, targets, own);
    share.parts = 1;
    share.of = cut->parts;
    share.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const std::lock_guard lock(mutex);
    ++done;
    if (options.on_progress) options.on_progress({done, cut->parts});
  });
  if (options.on_shares) options.on_shares(shares);
  return true;
}

}  // namespace tessera::engine
