// The functions that callers of files for GPUs see, which open a session and run the program in it (entry.hpp).
#pragma once

#include <string>

#include "emit/signature.hpp"

namespace tessera::emit {

// With names that nothing else has: an argument may be called as a function or macro that the file uses.
Signature with_own_names(Signature);

// NAME and NAME_on_stream of a .cu file. `run`: what runs the program.
std::string cuda_entry(const Signature&, const std::string& name, const std::string& run);
// NAME_enqueue of the host's file, on a queue and buffers, and NAME, on the host's memory.
std::string opencl_enqueue(const Signature&, const std::string& name, const std::string& run);
std::string opencl_entry(const ir::Graph&, const Signature&, const std::string& name);

}  // namespace tessera::emit
