// Which devices a run over several goes to, and one thread for each of them.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "engine/program_impl.hpp"
#include "run/gpu/device.hpp"
#include "tessera/array.hpp"
#include "tessera/options.hpp"

namespace tessera::engine {

// Puts numbers in the place of {all_devices}, and the first of them in that of `device`. Throws Error(device) for one
// that there is not, and Error(argument) for one that is named twice, or for devices of different kinds.
void resolve_devices(RunOptions&);

// Throws Error(argument) where a run over several devices is not possible: on the CPU, in a stream, with arrays that
// lie on one.
void check_for_several(const Program::Impl&, const std::vector<Array>& inputs, const std::vector<Array>& outputs,
                       const RunOptions&);

// Why one device runs the program alone: "stage 'm' reduces a whole image"; "" where several share it.
std::string why_alone(const Program::Impl&);

// "devices 0 and 1"
std::string name_of_devices(const std::vector<int>&);

// Bytes and times of one device, of several runs together.
void add_work(DeviceShare& all, const DeviceShare& more);

// Calls work(0) to work(count - 1), all but the first in a thread of its own, since devices keep whoever waits for
// them. Throws what the first one that failed threw, when all have ended.
void at_once(std::size_t count, const std::function<void(std::size_t)>& work);

}  // namespace tessera::engine
