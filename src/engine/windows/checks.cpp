// Windows beside their wholes, and beside what is read of them.
#include "engine/windows/checks.hpp"

#include <fmt/format.h>

#include "data/layout.hpp"
#include "tessera/error.hpp"

namespace tessera::engine {
namespace {

[[noreturn]] void fail(std::string message, std::string help = {}) {
  throw Error(ErrorClass::argument, std::move(message), {}, std::move(help));
}

}  // namespace

std::string text_of(const analyze::Box& box) {
  std::string text;
  for (const analyze::Span& span : box)
    text += fmt::format("{}[{}, {})", text.empty() ? "" : " x ", span.begin, span.end);
  return text;
}

void check_extents(const std::string& what, const Shape& shape) {
  constexpr i64 most = i64{1} << 56;
  i64 points = 1;
  for (const i64 n : shape) {
    if (n < 1) fail(fmt::format("{} has shape {}; every extent must be at least 1", what, to_string(shape)));
    if (n > most / points) fail(fmt::format("{} has shape {}, expected 2^56 elements at most", what, to_string(shape)));
    points *= n;
  }
}

void check_within(const std::string& name, const Shape& shape, const std::vector<i64>& at, const Shape& whole) {
  if (at.size() != shape.size() || whole.size() != shape.size())
    fail(fmt::format("{} has {} dimensions, but its place has {} and its whole {}", name, shape.size(), at.size(),
                     whole.size()));
  check_extents("the whole of " + name, whole);
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (at[d] < 0 || at[d] > whole[d] - shape[d])
      fail(fmt::format("{} of shape {} at {} is not within a whole of {}", name, to_string(shape), to_string(at),
                       to_string(whole)));
}

void check_covers(const std::string& name, const Shape& shape, const std::vector<i64>& at, const analyze::Box& read) {
  analyze::Box has;
  bool covers = true;
  for (std::size_t d = 0; d < read.size(); ++d) {
    has.push_back({at[d], at[d] + shape[d]});
    covers = covers && read[d].begin >= has[d].begin && read[d].end <= has[d].end;
  }
  if (!covers)
    fail(fmt::format("{} has {} of the whole, but the window reads {}", name, text_of(has), text_of(read)),
         "give what reads() says of this window");
}

}  // namespace tessera::engine
