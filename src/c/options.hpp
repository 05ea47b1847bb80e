// Options by name as the options of the C++ interface.
#pragma once

#include "c/handles.hpp"
#include "tessera/filters.hpp"

namespace tessera::c {

// NULL stands for no options. Throw Error(argument) for names that the call does not know and values that are none.
CompileOptions compile_options(const tsr_options*);
double compile_limit(const tsr_options*, std::string_view call);  // of calls that take it alone
const std::atomic<bool>* cancel_of(const tsr_options*);           // null: nothing cancels
Stream* stream_of(const tsr_options*);                            // null: none
RunOptions run_options(const tsr_options*);
EmitOptions emit_options(const tsr_options*, const Program&);

struct FilterOptionSet {
  FilterRequest request;
  std::vector<std::string> fields;
  std::optional<ElementType> mask;
};
FilterOptionSet filter_options(const std::string& name, const tsr_options*);

ExplainFormat explain_format(const char* word);  // "text", "json", "svg"

}  // namespace tessera::c
