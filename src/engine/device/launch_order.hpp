// Which kernels of a run may run beside those launched before them, as the levels of three colours or of several
// copies can: a small one leaves most of a device idle.
//
// Since Hopper a kernel's blocks may come when all blocks of the kernel before it are there and have said so. Plainly
// they say so at once, and each kernel waits for the one before it to end before it reads or writes (`after`). The
// first of several that are independent says so when it is through with waiting (`leading`): who comes next knows that
// everything before the first one has ended, and need not wait for the first (`beside`). One block more than there is
// work for waits for the one before, so that the end of the last one is that of all; it too lets the next kernel come
// first, so that the whole row runs at once. (A wait at every block's end makes Canny a third slower.) Kernels are told
// in an integer of theirs. Assumed: a block that starts after the first kernel's blocks waited sees what they would
// see, also where its multiprocessor has read the same addresses before; tests/device/array_test.cpp asks a device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tessera::engine {

enum class LaunchOrder : std::uint8_t { after = 0, leading = 1, beside = 2 };

// What a kernel reads or writes.
struct Touched {
  std::uintptr_t begin = 0, end = 0;  // addresses, or any numbers that differ where memory does
  // Two parts of one whole array share no element, whatever the addresses say. 0: no part; else numbers of both.
  std::size_t whole = 0, part = 0;
};

struct Touching {
  std::vector<Touched> reads, writes;
  bool early = false;  // the kernel knows the order
};

std::vector<LaunchOrder> launch_orders(const std::vector<Touching>& kernels);

}  // namespace tessera::engine
