// Fibers and who waits for whom; see machine.hpp. A fiber begins in a context of its own and is switched by _setjmp and
// _longjmp from then on: swapcontext asks the system for signal masks each time, which takes twenty times as long.
#undef _FORTIFY_SOURCE  // its longjmp takes another stack for a fault
#include "machine.hpp"

#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "support/guarded_pages.hpp"

namespace cuda_on_cpu {
namespace {

constexpr std::size_t stack_bytes = 128 * 1024, guard_bytes = 4096;

using Pages = tessera::support::GuardedPages;

enum class Stands { ready, at_barrier, in_exchange, ended };

struct Fiber {
  ucontext_t beginning;
  jmp_buf where;
  bool begun = false;
  Stands stands = Stands::ended;
  CudaIndex thread{};
  unsigned lane = 0, mask = 0;
  std::uint64_t value = 0;
};

struct Warp {
  Fiber* fibers = nullptr;
  unsigned lanes = 0;
  unsigned long long values[lanes_of_warp] = {};  // of the last exchange
};

CudaMachine state{};
std::size_t dynamic_bytes = 0;
Kernel kernel;
void** arguments_of_kernel = nullptr;
std::string trouble;  // that a thread met
jmp_buf scheduler;
Fiber* running = nullptr;
Warp* running_warp = nullptr;

void live() {
  for (;;) {
    kernel.call(arguments_of_kernel);
    running->stands = Stands::ended;
    if (_setjmp(running->where) == 0) _longjmp(scheduler, 1);
  }
}

Fiber* fibers() {
  static Fiber* const all = [] {
    constexpr std::size_t each = stack_bytes + guard_bytes;
    constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void* const memory = mmap(nullptr, each * most_threads, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (memory == MAP_FAILED) {
      std::fputs("no memory for the stacks of a block\n", stderr);
      std::abort();
    }
    auto* const made = new Fiber[most_threads];
    for (std::size_t k = 0; k < most_threads; ++k) {
      char* const stack = static_cast<char*>(memory) + k * each;
      mprotect(stack, guard_bytes, PROT_NONE);
      getcontext(&made[k].beginning);
      made[k].beginning.uc_stack.ss_sp = stack + guard_bytes;
      made[k].beginning.uc_stack.ss_size = stack_bytes;
      made[k].beginning.uc_link = nullptr;
      makecontext(&made[k].beginning, live, 0);
    }
    return made;
  }();
  return all;
}

// Until it waits or ends.
void resume(Warp& warp, Fiber& fiber) {
  state.thread = fiber.thread;
  state.lane = fiber.lane;
  running = &fiber;
  running_warp = &warp;
  if (_setjmp(scheduler) != 0) return;
  if (fiber.begun) _longjmp(fiber.where, 1);
  fiber.begun = true;
  setcontext(&fiber.beginning);
}

void wait_as(Stands stands) {
  running->stands = stands;
  if (_setjmp(running->where) == 0) _longjmp(scheduler, 1);
}

void barrier() {
  wait_as(Stands::at_barrier);
}

const unsigned long long* exchange(unsigned mask, unsigned long long value) {
  Warp* const warp = running_warp;
  if ((mask >> running->lane & 1) == 0) trouble = "a lane exchanges values under a mask that lacks it";
  running->mask = mask;
  running->value = value;
  wait_as(Stands::in_exchange);
  return warp->values;
}

// Lets the lanes go on that wait with the same mask as that one, when nobody of the mask is missing.
bool finish_exchange(Warp& warp, unsigned mask) {
  for (unsigned k = 0; k < warp.lanes; ++k) {
    const Fiber& f = warp.fibers[k];
    const bool there = f.stands == Stands::ended || (f.stands == Stands::in_exchange && f.mask == mask);
    if ((mask >> k & 1) != 0 && !there) return false;
  }
  std::memset(warp.values, 0xff, sizeof warp.values);  // of lanes that take no part
  for (unsigned k = 0; k < warp.lanes; ++k) {
    Fiber& f = warp.fibers[k];
    if ((mask >> k & 1) == 0 || f.stands == Stands::ended) continue;
    warp.values[k] = f.value;
    f.stands = Stands::ready;
  }
  return true;
}

// Runs a warp until each of its threads stands at the barrier or has ended, or until nobody can go on.
void run_warp(Warp& warp, unsigned& turn) {
  for (bool again = true; again && trouble.empty();) {
    ++turn;
    for (unsigned k = 0; k < warp.lanes; ++k) {
      Fiber& f = warp.fibers[turn % 2 == 0 ? k : warp.lanes - 1 - k];
      if (f.stands == Stands::ready) resume(warp, f);
    }
    again = false;
    for (unsigned k = 0; k < warp.lanes; ++k)
      if (warp.fibers[k].stands == Stands::in_exchange) again |= finish_exchange(warp, warp.fibers[k].mask);
  }
}

std::string stuck_text(const std::vector<Warp>& warps) {
  unsigned counts[4] = {};
  for (const Warp& w : warps)
    for (unsigned k = 0; k < w.lanes; ++k) ++counts[static_cast<int>(w.fibers[k].stands)];
  const CudaIndex& b = state.block;
  return "in block " + std::to_string(b.x) + " " + std::to_string(b.y) + " " + std::to_string(b.z) + " " +
         std::to_string(counts[static_cast<int>(Stands::at_barrier)]) + " threads wait at a barrier, " +
         std::to_string(counts[static_cast<int>(Stands::in_exchange)]) + " to exchange values with lanes that never " +
         "come, " + std::to_string(counts[static_cast<int>(Stands::ended)]) + " have ended";
}

// One block, whose fibers lie in the order of their numbers.
std::string run_block(std::vector<Warp>& warps, unsigned& turn) {
  std::memset(kernel.shared_begin, 0xff, static_cast<std::size_t>(kernel.shared_end - kernel.shared_begin));
  std::memset(state.dynamic, 0xff, dynamic_bytes);
  for (Warp& w : warps)
    for (unsigned k = 0; k < w.lanes; ++k) w.fibers[k].stands = Stands::ready;
  for (;;) {
    const bool forward = ++turn % 2 == 0;
    for (std::size_t w = 0; w < warps.size(); ++w) run_warp(warps[forward ? w : warps.size() - 1 - w], turn);
    bool all_ended = true, all_come = true;
    for (const Warp& w : warps)
      for (unsigned k = 0; k < w.lanes; ++k) {
        const Stands stands = w.fibers[k].stands;
        all_ended = all_ended && stands == Stands::ended;
        all_come = all_come && (stands == Stands::ended || stands == Stands::at_barrier);
      }
    if (!trouble.empty() || all_ended) return trouble;
    if (!all_come) return stuck_text(warps);
    for (Warp& w : warps)
      for (unsigned k = 0; k < w.lanes; ++k)
        if (w.fibers[k].stands == Stands::at_barrier) w.fibers[k].stands = Stands::ready;
  }
}

std::vector<Warp> warps_of(const CudaIndex& n) {
  Fiber* const all = fibers();
  unsigned number = 0;
  for (unsigned z = 0; z < n.z; ++z)
    for (unsigned y = 0; y < n.y; ++y)
      for (unsigned x = 0; x < n.x; ++x, ++number) {
        all[number].thread = {x, y, z};
        all[number].lane = number % lanes_of_warp;
      }
  std::vector<Warp> warps;
  for (unsigned begin = 0; begin < number; begin += lanes_of_warp) {
    Warp warp;
    warp.fibers = all + begin;
    warp.lanes = std::min(lanes_of_warp, number - begin);
    warps.push_back(warp);
  }
  return warps;
}

}  // namespace

CudaMachine& machine() {
  state.barrier = barrier;
  state.exchange = exchange;
  return state;
}

std::string run(const Kernel& of, const Grid& grid, void** arguments) {
  kernel = of;
  arguments_of_kernel = arguments;
  state.threads = grid.threads;
  state.blocks = grid.blocks;
  const Pages dynamic(grid.shared_bytes, Pages::Flush::end, 0xff, 16);
  state.dynamic = dynamic.begin();
  dynamic_bytes = dynamic.bytes();
  std::vector<Warp> warps = warps_of(grid.threads);
  unsigned turn = 0;
  for (unsigned z = 0; z < grid.blocks.z; ++z)
    for (unsigned y = 0; y < grid.blocks.y; ++y)
      for (unsigned x = 0; x < grid.blocks.x; ++x) {
        state.block = {x, y, z};
        if (std::string why = run_block(warps, turn); !why.empty()) return why;
      }
  return "";
}

}  // namespace cuda_on_cpu
