// The entry points of emitted C files, beside the published one: with a status, with strides, with the caller's memory.
#pragma once

#include <string>

#include "emit/signature.hpp"

namespace tessera::emit {

// The comment at the head of a file: declarations, shapes, what a status means, what the file needs.
std::string published_head(const Signature&, const std::string& name);
// The functions, behind static i32 tsr_all(void* const* given, const i64* sizes, tessera_call*), which they call.
// `direct`: tsr_all takes strides of rows and of what is further out; else arrays with gaps are copied. `lifted`:
// dimensions that a plan added.
std::string published_entries(const ir::Graph&, const Signature&, const std::string& name,
                              const rewrite::Lifted& lifted, bool direct);
// The header that declares them.
std::string published_header(const ir::Graph&, const Signature&, const std::string& name);

}  // namespace tessera::emit
