// Windows that somebody gives: they lie within their whole, and have what is read of them. Throw Error(argument).
#pragma once

#include <string>
#include <vector>

#include "analyze/windows.hpp"
#include "tessera/array.hpp"

namespace tessera::engine {

// Extents of what nobody may have in memory: what is computed with them fits 63 bits.
void check_extents(const std::string& what, const Shape&);
// `shape`: of the window, which stands at `at`.
void check_within(const std::string& name, const Shape& shape, const std::vector<i64>& at, const Shape& whole);
void check_covers(const std::string& name, const Shape& shape, const std::vector<i64>& at, const analyze::Box& read);

std::string text_of(const analyze::Box&);  // "[3, 7) x [0, 12)"

}  // namespace tessera::engine
