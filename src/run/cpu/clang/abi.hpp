// The whole interface between Tessera and its Clang plugin: three C functions.
//
// libclang-cpp and libLLVM are 180 MB of shared objects; loading them costs about 20 ms per process (relocations and
// static constructors), twenty times more than running a cached kernel. They therefore stand behind a plugin that is
// opened only when a source text really has to be compiled. The interface is C, so that the plugin shares no C++ type,
// no exception and no allocator with the program that opened it.
#pragma once

#include <cstddef>

extern "C" {

// Receives bytes; called any number of times, in order.
using TesseraSink = void (*)(void* user, const char* data, std::size_t size);

// Compiles C text to a relocatable ELF object for this machine. `options` are additional cc1 arguments. Returns 0 and
// sends the object to `object`, or returns 1; diagnostics go to `messages` in both cases. Thread-safe.
int tessera_clang_compile(const char* source, std::size_t size, const char* file_name, const char* const* options,
                          std::size_t option_count, void* user, TesseraSink object, TesseraSink messages);

// "clang 19.1.7"
const char* tessera_clang_version();

// Grows with every change of the functions above, and of the code that they make.
int tessera_clang_abi();
}

namespace tessera::run::cpu {
inline constexpr int clang_abi = 2;
}
