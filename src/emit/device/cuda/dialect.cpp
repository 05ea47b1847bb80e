// CUDA C++ for NVRTC and nvcc.
#include <fmt/format.h>

#include "emit/device/access.hpp"
#include "emit/device/dialects.hpp"

namespace tessera::emit {

namespace detail {
extern const std::string_view cuda_prelude_text;
}

namespace {

// As one word of 4, 8 or 16 bytes, or as several of 16.
std::string access(const Access& a) {
  if (a.words) {
    const std::string whole = a.scalars() > 1 ? fmt::format("uint{}", a.scalars()) : "u32";
    return a.macro_of_words(whole, fmt::format("*(const {}*)(p)", whole), fmt::format("*({}*)(p) = tsr_v", whole));
  }
  const int words = a.bytes() > 16 ? a.bytes() / 16 : 1, size = a.bytes() / words;
  const std::string word = size == 16 ? "uint4" : size == 8 ? "uint2" : size == 4 ? "u32" : "u16";
  const std::string_view type = name_of(a.type.lane);
  const std::string both = fmt::format("union {{ {} w[{}]; {} e[{}]; }} tsr_u; ", word, words, type, a.type.lanes);
  if (a.loads())
    return a.macro(both + fmt::format("{} tsr_unused; ", type) +
                   each(words, "tsr_u.w[{k}] = ((const " + word + "*)(p))[{k}]; ") +
                   each(a.type.lanes, "v{k} = tsr_u.e[{k}]; ") + "(void)tsr_unused; ");
  return a.macro(both + each(a.type.lanes, "tsr_u.e[{k}] = v{k}; ") +
                 each(words, "((" + word + "*)(p))[{k}] = tsr_u.w[{k}]; "));
}

}  // namespace

constinit const Dialect cuda_dialect = {
    .halves_are_bits = true,
    .pointed_to = "TSR_GLOBAL ",
    .long_suffix = "LL",
    .hexadecimal = true,
    .negatives_apart = true,
    .nan = names_of_nan,
    .infinity = names_of_infinity,
    .table = "TSR_TABLE {type} {name}[]",
    .table_of_bits = "#define {name} ((const {type}*){name}_bits)\n",
    .flag = "(-({a} {op} {b}))",
    .fused = "fma({a}, {b}, {c})",
    .open_extreme = {.f32 = "f{word}f({a}, {b})", .f64 = "f{word}({a}, {b})"},
    .open_is_instruction = true,
    .wrapping = narrow_arithmetic,
    .shorts = narrow_arithmetic,
    .scalar_stream = "tsr_stream({to} + {index}, {a})",
    .functions = ir::FunctionDialect::cuda,
    .kernel = {.head = "{linkage} __global__ void __launch_bounds__({threads}{at_once}) {name}(",
               .restricted = "__restrict__",
               .begin = "  tsr_begin({order});\n",
               .shared = "  __shared__ __align__(16) u8 tsr_shared[{bytes}];\n",
               .to_bits = {.f32 = "__float_as_int", .f64 = "__double_as_longlong"},
               .from_bits = {.f32 = "__int_as_float", .f64 = "__longlong_as_double"},
               .prelude = &detail::cuda_prelude_text,
               .access = access},
};

}  // namespace tessera::emit
