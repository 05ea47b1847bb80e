// See matrix.hpp.
#include "emit/device/matrix.hpp"

#include <string_view>

#include "emit/holes.hpp"

namespace tessera::emit {

namespace detail {
extern const std::string_view device_matrix_units_text;
extern const std::string_view device_matrix_add_text;
extern const std::string_view device_matrix_fill_text;
}  // namespace detail

std::string matrix_text() {
  std::string text = "\n" + std::string(detail::device_matrix_units_text);
  const auto add = [&](const std::string& order) {
    for (const char* weights : {"s8", "u8"})
      text += filled(detail::device_matrix_add_text, {{"weights", weights}, {"order", order}});
  };
  text += "/* d = c + a b: of every four weights two, which ones `which` says. */\n";
  // Of two weights the first one stands first, which compilers since CUDA 12.5 are told.
  text += "#if __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1205\n";
  add("::ordered_metadata");
  text += "#else\n";
  add("");
  return text + "#endif\n\n" + std::string(detail::device_matrix_fill_text);
}

}  // namespace tessera::emit
