// What the command says beside its results: warnings, notes, which files were written. Where nobody can read it (a full
// disk behind standard error) it is lost, and nothing else is; fmt::print would throw.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <utility>

#include "base/progress.hpp"

namespace tessera::cli {

// Set in processes that say nothing, as another one says the same.
inline bool silent = false;

template <class... Arguments>
void tell(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  if (silent) return;
  base::clear_progress();
  std::fputs(fmt::format(text, std::forward<Arguments>(arguments)...).c_str(), stderr);
}

}  // namespace tessera::cli
