// How much memory this process may take: what the machine has, what its container allows, what a limit of the shell
// leaves, and what the user said.
#pragma once

#include <cstdint>
#include <string>

namespace tessera::base {

// Bytes that could be taken now: the least of what the system calls available, of what is left in the process's control
// groups, and of what is left of its address space (ulimit -v). INT64_MAX where nothing tells.
std::int64_t available_memory();

// Bytes that one input may take: what limit_memory() said, else half of what is available. Thread-safe.
std::int64_t memory_limit();
// Of the whole process, from now on; 0: as at the beginning.
void limit_memory(std::int64_t bytes);
// So many processes like this one share the machine: what is left is divided among them.
void share_memory(int processes);
// "the limit (--memory) is 1 GB", "half of the memory that is left is 9.1 GB": the tail of a sentence about it.
std::string memory_limit_sentence();

}  // namespace tessera::base
