// See matrix.hpp.
#include "emit/device/matrix.hpp"

#include <fmt/format.h>

#include <string_view>

namespace tessera::emit {

namespace detail {
extern const std::string_view device_matrix_units_text;
extern const std::string_view device_matrix_fill_text;
}  // namespace detail

std::string matrix_text() {
  std::string text = "\n" + std::string(detail::device_matrix_units_text);
  const auto add = [&](std::string_view weights, std::string_view modifier) {
    text += fmt::format(
        R"(TSR_INLINE void tsr_matrix_add_{0}(i32& d0, i32& d1, i32& d2, i32& d3, u32 a0, u32 a1, u32 a2, u32 a3, u32 b0,
                                   u32 b1, u32 b2, u32 b3, i32 c0, i32 c1, i32 c2, i32 c3, u32 which) {{
  asm volatile("mma.sp{1}.sync.aligned.m16n8k64.row.col.s32.{0}.u8.s32 {{%0, %1, %2, %3}}, {{%4, %5, %6, %7}}, {{%8, %9, %10, %11}}, {{%12, %13, %14, %15}}, %16, 0x0;"
               : "=r"(d0), "=r"(d1), "=r"(d2), "=r"(d3)
               : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1), "r"(b2), "r"(b3), "r"(c0), "r"(c1), "r"(c2),
                 "r"(c3), "r"(which));
}}
)",
        weights, modifier);
  };
  // Of two weights the first one stands first, which compilers since CUDA 12.5 are told.
  text += "/* d = c + a b: of every four weights two, which ones `which` says. */\n";
  text += "#if __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1205\n";
  for (const std::string_view weights : {"s8", "u8"}) add(weights, "::ordered_metadata");
  text += "#else\n";
  for (const std::string_view weights : {"s8", "u8"}) add(weights, "");
  return text + "#endif\n\n" + std::string(detail::device_matrix_fill_text);
}

}  // namespace tessera::emit
