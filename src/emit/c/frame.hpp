// What stands around every emitted C file: pragmas that keep the compiler's flags away from the arithmetic, silence
// about style, linkage of C, the memory of a call, and the processor's modes.
#pragma once

#include <string>
#include <string_view>

namespace tessera::emit {

// Pragmas and `extern "C"`, to be closed again: a file may be included in another one.
std::string frame_begin(bool exact);
std::string frame_end();
// In a frame of exact numbers, before functions that have vectors of so many bytes whatever the flags say.
std::string widest_vectors(int bytes);

// How a call is made, behind types and TSR_INLINE: tessera_call, tsr_take and tsr_give of its memory, tsr_threads,
// and tsr_enter and tsr_leave, between which the processor's modes are those that programs assume.
std::string call_text();

}  // namespace tessera::emit
