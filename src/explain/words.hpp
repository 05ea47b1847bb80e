// Wording that the text and the picture of `explain` share.
#pragma once

#include <string>

#include "explain/report.hpp"

namespace tessera::explain {

std::string counted(i64 n, const std::string& thing);  // "1 row", "3 rows"
std::string milliseconds(double);                      // "0.0042 ms", "2.94 ms", "128 ms"
std::string kernel_time(double ms);                    // the same with three digits: "0.0217 ms"
std::string extents(const std::vector<i64>&);          // "540 x 3840"
std::string lives_in(const StageReport&);              // "ring 12 x 3854, 190 KiB", "output"
std::string block(const PassReport&);                  // "4x16", "4x64 pairs", "row" of a compose
std::string step(const GroupReport&);                  // "4 rows a step", "a whole tile a step"
std::string halo(const GroupReport&);                  // "halo of 2 rows and 4 columns"
std::string assumed(const Report&);                    // "M = 2160, N = 3840"
std::string threads(const std::array<int, 3>& block);  // "32x4"
std::string runs_as(const KernelReport&);              // "strips of 4 columns and 38 rows", "a point a thread"
std::string registers(const KernelReport&);            // "46", "about 58" of an estimate, "" where nothing is known
std::string occupancy(const KernelReport&);            // "32 of 64", ""
// "register tiles, 89.4 instructions a result", "line buffers, 0.52 ns a result", "march: it is no volume"
std::string way_line(const plan::WayAnswer&, plan::WayUnit);
// "memory", "arithmetic", or "one strip" of images that have too few of them to keep a device busy
std::string bound_by(const GroupReport&);
std::string bound_by(const KernelReport&);
std::string pass_name(const GroupReport&, std::size_t pass);          // "pass 2: 4 x 16 lanes", "tsr_g0_p1" on devices
const KernelReport* kernel_of(const GroupReport&, std::size_t pass);  // null: it needs none, or there are none

}  // namespace tessera::explain
