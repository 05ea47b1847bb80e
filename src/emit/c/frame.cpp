// See frame.hpp.
//
// Emitted code lives on roundings that algebra would strike out: (x + 12582912) - 12582912 is the nearest integer, and
// exp(1) is 2 where a compiler may think that it is x. So whatever -ffast-math, -Ofast or a compiler's own choice say,
// the file says otherwise. GCC is told for all functions behind a pragma;
// but on x86 it compares as for finite numbers until the function itself says otherwise (TSR_FP). Clang is told by
// float_control, which leaves out negations, and what it says of functions' arguments and results: prelude.cpp and
// ir/functions/source.cpp keep floats out of both. Where Clang has no float_control and the flags ask for more than a
// pragma takes back, there is an #error. That a program was linked with -ffast-math shows in the processor's modes:
// denormals are 0. They are set at the entry, and given back.
#include "emit/c/frame.hpp"

#include <fmt/format.h>

namespace tessera::emit {

namespace detail {
extern const std::string_view c_call_text;
extern const std::string_view c_arithmetic_text;
extern const std::string_view c_silence_text;
}  // namespace detail

namespace {

// What GCC says about style of a text that nobody reads for its style.
constexpr const char* warnings[] = {"pedantic",
                                    "psabi",
                                    "unused-variable",
                                    "unused-but-set-variable",
                                    "unused-function",
                                    "unused-parameter",
                                    "unused-const-variable",
                                    "unused-macros",
                                    "unused-value",
                                    "conversion",
                                    "sign-conversion",
                                    "float-conversion",
                                    "arith-conversion",
                                    "double-promotion",
                                    "sign-compare",
                                    "type-limits",
                                    "float-equal",
                                    "shadow",
                                    "cast-align",
                                    "cast-qual",
                                    "bad-function-cast",
                                    "pointer-arith",
                                    "strict-aliasing",
                                    "old-style-cast",
                                    "useless-cast",
                                    "zero-as-null-pointer-constant",
                                    "effc++",
                                    "c++-compat",
                                    "long-long",
                                    "declaration-after-statement",
                                    "missing-braces",
                                    "missing-field-initializers",
                                    "parentheses",
                                    "switch-default",
                                    "switch-enum",
                                    "undef",
                                    "redundant-decls",
                                    "nested-externs",
                                    "inline",
                                    "padded",
                                    "aggregate-return",
                                    "vector-operation-performance",
                                    "implicit-fallthrough",
                                    "duplicated-branches",
                                    "duplicated-cond",
                                    "logical-op",
                                    "null-dereference",
                                    "maybe-uninitialized",
                                    "array-bounds",
                                    "stringop-overflow",
                                    "stringop-overread",
                                    "strict-overflow",
                                    "unsafe-loop-optimizations",
                                    "disabled-optimization",
                                    "stack-usage=",
                                    "frame-larger-than=",
                                    "suggest-attribute=const",
                                    "suggest-attribute=pure",
                                    "suggest-attribute=noreturn",
                                    "suggest-attribute=cold",
                                    "suggest-attribute=malloc",
                                    "suggest-attribute=format",
                                    "traditional",
                                    "traditional-conversion",
                                    "attributes",
                                    "comment",
                                    "overlength-strings",
                                    "alloca",
                                    "vla",
                                    "free-nonheap-object",
                                    "aggressive-loop-optimizations"};

}  // namespace

std::string frame_begin(bool exact) {
  std::string text(detail::c_silence_text);
  for (const char* warning : warnings) text += fmt::format("#pragma GCC diagnostic ignored \"-W{}\"\n", warning);
  text += "#endif\n" + std::string(detail::c_arithmetic_text);
  // Contraction by the compiler would change values between variants and loops; the text says what is fused.
  text += "#ifdef __clang__\n#pragma STDC FP_CONTRACT OFF\n#else\n#pragma GCC optimize(\"fp-contract=off\")\n#endif\n";
  // Clang's -ffp-contract=fast, which comes with -ffast-math, heeds no pragma; it cannot see through this. What no
  // register holds goes through memory.
  if (exact) {
    text +=
        "#if defined(__clang__) && (defined(__x86_64__) || defined(__i386__) || defined(__aarch64__))\n"
        "#ifdef __aarch64__\n#define TSR_REGISTER \"+w\"\n#else\n#define TSR_REGISTER \"+v\"\n#endif\n"
        "#define TSR_MEMORY \"+m\"\n#define tsr_hold(x, where) \\\n"
        "  __extension__({ __typeof__(x) tsr_p = (x); __asm__(\"\" : where(tsr_p)); tsr_p; })\n";
    const std::pair<int, const char*> sizes[] = {
        {1, "TSR_REGISTER"}, {16, "TSR_REGISTER"}, {32, "TSR_32"}, {64, "TSR_64"}, {128, "TSR_MEMORY"}};
    for (const auto& [bytes, where] : sizes)
      text += fmt::format("#define tsr_product_{}(x) tsr_hold(x, {})\n", bytes, where);
    text += "#endif\n" + widest_vectors(16);
  }
  return text;
}

std::string widest_vectors(int bytes) {
  std::string text;
  for (const int size : {32, 64})
    text += fmt::format(
        "#undef TSR_{0}\n#if {1}\n#define TSR_{0} TSR_REGISTER\n#else\n#define TSR_{0} TSR_MEMORY\n#endif\n", size,
        bytes >= size ? "defined(__x86_64__)"
        : size == 32  ? "defined(__AVX__)"
                      : "defined(__AVX512F__)");
  return text;
}

std::string frame_end() {
  return R"(#if defined(__clang__)
#if defined(__i386__) && !defined(__SSE2__)
#pragma clang attribute pop
#endif
#pragma float_control(pop)
#pragma clang diagnostic pop
#else
#pragma GCC pop_options
#pragma GCC diagnostic pop
#endif
#ifdef __cplusplus
}
#endif
)";
}

std::string call_text() {
  return "\n" + std::string(detail::c_call_text);
}

}  // namespace tessera::emit
