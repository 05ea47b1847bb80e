// A device with a memory of its own: what CUDA and OpenCL have in common.
//
// A kernel takes pointers to bytes, one for every memory block, then one structure of i64 by value:
//
//   CUDA    extern "C" __global__ void name(u8* p0, u8* p1, ..., tsr_integers N)
//   OpenCL  __kernel void name(__global u8* p0, __global u8* p1, ..., tsr_integers N)
//
// with typedef struct { i64 n[count]; } tsr_integers. Offsets into blocks travel in N, since an OpenCL kernel takes
// whole blocks. So a launch is a name, a grid, the blocks and the integers, whatever the interface is.
//
// The libraries of a device (driver, compiler) are opened at run time: a program starts and runs without them, and says
// what was tried when one is asked for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tessera/array.hpp"

namespace tessera::run::gpu {

// Bytes, elements or hertz as the device itself says; 0 where it says nothing.
struct Limits {
  std::string target;         // "cuda" or "opencl"
  int index = 0;              // as --device takes it
  std::string name;           // "NVIDIA H200"
  std::string driver;         // "CUDA driver 12.8, NVRTC 12.8", "OpenCL 3.0 PoCL 3.1"
  std::string compiled_for;   // "sm_90"; part of the key of the cache
  int multiprocessors = 1;    // compute units
  int lanes = 1;              // threads that go in step (a warp)
  int threads_per_block = 1;  // work-items of a group
  int threads_per_multiprocessor = 0;
  i64 registers_per_multiprocessor = 0;  // of 32 bits
  i64 registers_per_thread = 0;
  i64 shared_bytes_per_block = 0;  // the most that a kernel can ask for
  i64 shared_bytes_per_multiprocessor = 0;
  i64 l2_bytes = 0;
  i64 memory_bytes = 0;
  i64 parameter_bytes = 1024;  // of a kernel's arguments
  double gigahertz = 0;
  double bandwidth = 0;     // bytes a nanosecond, from the width and the clock of its memory
  bool halves = false;      // 16-bit floats, stored
  bool doubles = false;     // 64-bit floats
  bool integrated = false;  // its memory is the host's
  bool shuffles = false;    // threads of a warp read each other's registers
  bool minima = false;      // of two 16-bit integers in one register, by one instruction
  bool matrices =
      false;  // matrix units multiply bytes, by weights half of which are zeros: see rewrite/sums/matrix.hpp
};

// NVIDIA's GPUs, by ten times their compute capability, since which `minima` and `matrices` are there.
constexpr int capability_of_minima = 90, capability_of_matrices = 80;

// A device in messages: "CUDA device 0 (NVIDIA H200)".
std::string label_of(const Limits&);

// Memory of a device, given back to the device's pool with the last reference. Thread-safe.
class Memory {
 public:
  virtual ~Memory() = default;
  i64 bytes() const { return bytes_; }

 protected:
  explicit Memory(i64 bytes) : bytes_(bytes) {}

 private:
  i64 bytes_;
};

// Compiled kernels of one source text. Thread-safe.
class Module {
 public:
  virtual ~Module() = default;
  struct Usage {  // of one kernel, as compiled; -1 where the device does not say
    int registers = -1;
    i64 shared_bytes = -1;
    i64 local_bytes = -1;  // spilled
    int threads_per_block = -1;
    int blocks_per_multiprocessor = -1;  // that fit at once, at the given block size
  };
  // Throws Error(internal) when the module has no such kernel.
  virtual Usage usage(const std::string& kernel, int block_threads, i64 shared_bytes) = 0;
};

struct Launch {
  std::string kernel;
  std::array<i64, 3> grid{1, 1, 1};   // blocks, x first
  std::array<int, 3> block{1, 1, 1};  // threads, x first
  i64 shared_bytes = 0;               // asked for at launch, besides what the kernel declares
  bool early = false;                 // blocks may come before the kernel before has ended, which they wait for
  bool beside = false;                // they do not, but for one block more than the grid has
};

// A place in the order of a queue: it has been passed when the work handed over before is done.
class Fence {
 public:
  virtual ~Fence() = default;
};

// Rows of bytes: `rows` of `row_bytes`, apart by a pitch on either side. Where both sides lie on the device, the host's
// pitch is that of what is read.
struct Rows {
  i64 rows = 1, row_bytes = 0;
  i64 host_pitch = 0, device_pitch = 0;
};

// Work in order. Used by one thread at a time; several queues of a device run at the same time. Every call but wait()
// may return before the work is done; errors of the device may show at any later call.
class Queue {
 public:
  virtual ~Queue() = default;  // waits
  virtual void upload(Memory& to, i64 offset, const std::byte* from, const Rows&) = 0;
  virtual void download(std::byte* to, const Memory& from, i64 offset, const Rows&) = 0;
  // Within the device; what is read and what is written do not overlap.
  virtual void copy(Memory& to, i64 to_offset, const Memory& from, i64 from_offset, const Rows&) = 0;
  virtual void fill(Memory&, i64 offset, i64 bytes, unsigned char value) = 0;
  // Holds something, such as memory of the host, until the work handed over so far is done.
  virtual void keep(std::shared_ptr<const void>) = 0;
  virtual void launch(Module&, const Launch&, std::span<const std::shared_ptr<Memory>> blocks,
                      std::span<const i64> integers) = 0;
  virtual void wait() = 0;
  // Behind the work so far, for queues of any device of a kind; null where devices do not know each other's.
  virtual std::shared_ptr<const Fence> fence() { return nullptr; }
  // What is handed over from now on begins behind the fence, which is one of fence() of a queue of this kind.
  virtual void wait_for(const Fence&) {}
  // Bytes that lie on another device, in the order of this queue, for devices whose queues have fences: directly where
  // Device::reaches has said so, else by way of the host.
  virtual void copy_across(Memory& to, i64 to_offset, const Memory& from, i64 from_offset, i64 bytes);
  // Time on the device's clock between two marks, in milliseconds; waits for the second. Marks are numbers from 0
  // to 63.
  virtual void mark(int number) = 0;
  virtual double milliseconds(int from, int to) = 0;
};

// How a text computes with floats.
//   exact       as it says, quotients and roots rounded correctly
//   fast        as it says, quotients and roots within some units in the last place
//   contracted  the same, and the compiler takes products into sums as it likes
enum class Arithmetic : std::uint8_t { exact, fast, contracted };

// Thread-safe. Methods throw Error(device): out of memory, compilation (the message holds the compiler's first error
// with the line of the emitted source, the notes the path of the saved source), a sticky error (the device is closed,
// and every later call says so).
class Device {
 public:
  virtual ~Device() = default;
  const Limits& limits() const { return limits_; }
  // Compiled code is kept in the user's cache.
  virtual std::shared_ptr<Module> load(const std::string& source, Arithmetic) = 0;
  virtual std::shared_ptr<Memory> allocate(i64 bytes) = 0;  // at a multiple of 256
  virtual std::unique_ptr<Queue> queue() = 0;
  // One whose blocks come before those of other queues that have not begun, where the device can.
  virtual std::unique_ptr<Queue> urgent_queue() { return queue(); }
  // Into a queue of somebody else, which outlives it: a CUstream. Throws Error(argument) where there is no such thing.
  virtual std::unique_ptr<Queue> queue_on(void* native) = 0;
  // May copies between this device and the other one go directly, over a link of theirs or the bus? Asked for once,
  // makes it so.
  virtual bool reaches(Device&) { return false; }
  // Host memory that copies to and from the device need not go through a bounce buffer. Nothing where the device has
  // none.
  virtual std::shared_ptr<void> pinned(i64 bytes) = 0;

 protected:
  Limits limits_;
};

// A device that was found, or why there is none.
struct Found {
  std::vector<Limits> devices;
  std::string missing;             // "" or a sentence: "the CUDA driver is not available"
  std::vector<std::string> notes;  // what was tried, and which variable would point to it
};

}  // namespace tessera::run::gpu
