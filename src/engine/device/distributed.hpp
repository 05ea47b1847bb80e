// What arrays in shares hold; see tessera/distributed.hpp and docs/design/several_devices.md.
//
// A share lies in memory that may have room for rows of its neighbours on both sides. Rows of them that were brought
// once are known to be right until the array is written again.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "engine/device/array.hpp"
#include "engine/device/slabs.hpp"
#include "run/gpu/device.hpp"
#include "tessera/distributed.hpp"

namespace tessera {

struct DeviceGroup::Impl {
  std::vector<Device> devices;
  std::vector<std::unique_ptr<run::gpu::Queue>> queues;
  // Of the same devices: rows that others read are computed, and go from one to another, while queues compute all
  // others. None where queues have no fences.
  std::vector<std::unique_ptr<run::gpu::Queue>> carriers;
  std::vector<std::shared_ptr<const run::gpu::Fence>> carried;  // behind what carriers do, if queues do not wait for it
  bool crossed = false;                                         // queues have copied from others since they met
  std::vector<std::vector<bool>> reaches;                       // [to][from]
  bool fences = false;                                          // queues wait for each other, and copy across
  std::mutex mutex;                                             // of the queues, and of all shares

  engine::RowRange share_of(i64 rows, std::size_t device) const {
    return engine::part_of(rows, static_cast<i64>(device), static_cast<i64>(devices.size()));
  }
  const std::shared_ptr<run::gpu::Device>& device(std::size_t k) const { return devices[k].impl().device; }
  // What is handed over from now on, to any queue, begins behind what was handed over to all.
  void meet();
  // The same, behind what was handed over to carriers alone.
  void meet_carriers();
  // Makes all rows right that a device has room for, behind these fences and beside its queue; bytes.
  i64 carry(const std::vector<std::shared_ptr<const run::gpu::Fence>>& behind, const std::vector<DistributedArray>&,
            std::size_t device);
  void wait();
};

struct DistributedArray::Impl {
  struct Share {
    engine::RowRange own, lying, valid;  // of all rows: the share, what there is room for, what is right
    Array array;                         // of the lying rows
  };
  DeviceGroup group;
  Format format;
  Shape shape;
  std::vector<i64> strides;  // bytes, the same on all devices
  std::vector<Share> shares;
  bool computed = false;     // by a run
  bool read_around = false;  // rows around shares are read after it was computed, as far as is known
  bool handed_out = false;   // others may write shares

  i64 row_bytes() const { return strides.front(); }
  // Elements undefined, with room for these rows on every device that has a share, beside the share.
  static std::shared_ptr<Impl> make(const DeviceGroup&, Format, Shape, const std::vector<engine::RowRange>& room);
  // A view of the whole of which the lying rows are there. Some of them are.
  Array whole(std::size_t device) const;
  // Rows that lie there.
  Array rows(std::size_t device, engine::RowRange) const;
  // Room on a device for these rows and those that lie there already; right rows stay so.
  void widen(std::size_t device, engine::RowRange);
  // Room for these rows beside those that are right, without a gap.
  void make_room(std::size_t device, engine::RowRange rows) { widen(device, around(shares[device].valid, rows)); }
  // Makes these rows right on a device that has room for them; bytes that came from others. The queue is one of that
  // device, and begins behind what wrote them.
  i64 bring(std::size_t device, engine::RowRange, run::gpu::Queue&);
  // The rows of a share, from its first one and to its last one, that other devices have room for.
  struct Around {
    engine::RowRange first, last;
  };
  Around read_by_others(std::size_t device) const;
};

}  // namespace tessera
