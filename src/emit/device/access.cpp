// See access.hpp.
#include "emit/device/access.hpp"

#include <fmt/format.h>

#include "emit/nest/needs.hpp"

namespace tessera::emit {

Access::Access(std::string_view called)
    : name(called), type(type_of_name(called)), words(called.find("_words_") != std::string_view::npos) {
  const std::size_t begin = called.find('_') + 1;
  verb = called.substr(begin, called.find('_', begin) - begin);
}

std::string Access::macro(const std::string& body) const {
  return fmt::format("#define {}(p{}) do {{ {}}} while (0)\n", name, each(scalars(), ", v{k}"), body);
}

std::string Access::macro_of_words(const std::string& whole, const std::string& from, const std::string& to) const {
  std::string moves;
  for (int k = 0; k < scalars(); ++k) {
    const std::string part = scalars() > 1 ? fmt::format("tsr_v.{}", "xyzw"[k]) : "tsr_v";
    moves += loads() ? fmt::format("v{} = {}; ", k, part) : fmt::format("{} = v{}; ", part, k);
  }
  return macro(loads() ? fmt::format("const {} tsr_v = {}; {}", whole, from, moves)
                       : fmt::format("{} tsr_v; {}{}; ", whole, moves, to));
}

std::string each(int count, std::string_view pattern) {
  std::string text;
  for (int k = 0; k < count; ++k) text += fmt::format(fmt::runtime(pattern), fmt::arg("k", k));
  return text;
}

}  // namespace tessera::emit
