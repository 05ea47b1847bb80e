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

namespace {

constexpr std::string_view silence = R"(#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Weverything"
#elif defined(__GNUC__) && __GNUC__ >= 12
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpragmas"
)";

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

constexpr std::string_view arithmetic = R"(#ifdef __cplusplus
extern "C" {
#endif
#if defined(__clang__)
#if !defined(__x86_64__) && !defined(__i386__) && !defined(__powerpc64__) && !(defined(__aarch64__) && __clang_major__ >= 16)
#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "this file is not to be compiled with -ffast-math by this compiler: its values would be wrong"
#endif
#endif
#pragma float_control(push)
#pragma float_control(precise, on)
#pragma clang fp reassociate(off)
#if defined(__i386__) && !defined(__SSE2__)
#pragma clang attribute push(__attribute__((target("sse2"))), apply_to = function)
#endif
#elif defined(__GNUC__) && __GNUC__ >= 12
#pragma GCC push_options
#if (defined(__i386__) || defined(__x86_64__)) && defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#define TSR_FP __attribute__((optimize("no-finite-math-only"), target("ieee-fp")))
#endif
#pragma GCC optimize("no-fast-math", "no-unsafe-math-optimizations", "no-associative-math", "no-reciprocal-math", "no-finite-math-only", "signed-zeros", "no-rounding-math", "no-math-errno", "no-trapping-math", "no-signaling-nans", "no-strict-aliasing")
#if defined(__i386__) || (defined(__x86_64__) && !defined(__SSE2_MATH__))
#pragma GCC target("sse2,fpmath=sse")
#elif defined(__FLT_EVAL_METHOD__) && (__FLT_EVAL_METHOD__ == 1 || __FLT_EVAL_METHOD__ == 2)
#error "this file needs arithmetic that rounds float to float"
#endif
#else
#error "this file needs GCC from 12 on, Clang from 14 on, clang-cl, or a compiler made from one of these"
#endif
#ifndef TSR_FP
#define TSR_FP
#endif
)";

}  // namespace

std::string frame_begin(bool exact) {
  std::string text(silence);
  for (const char* warning : warnings) text += fmt::format("#pragma GCC diagnostic ignored \"-W{}\"\n", warning);
  text += "#endif\n" + std::string(arithmetic);
  // Contraction to FMA would change values between variants, so it is off where the flags did not ask for FMA.
  text += fmt::format(
      "#if {}\n#ifdef __clang__\n#pragma STDC FP_CONTRACT OFF\n#else\n"
      "#pragma GCC optimize(\"fp-contract=off\")\n#endif\n",
      exact ? "1" : "!defined(__FMA__) && defined(__x86_64__)");
  if (!exact) text += "#elif defined(__clang__)\n#pragma clang fp contract(fast)\n";
  text += "#endif\n";
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

const std::string_view call_text = R"(
#ifdef _OPENMP
extern int omp_get_max_threads(void);
extern int omp_get_thread_num(void);
TSR_INLINE i64 tsr_threads(void) { return omp_get_max_threads() < 1 ? 1 : omp_get_max_threads(); }
TSR_INLINE i64 tsr_thread(void) { return omp_get_thread_num(); }
#else
TSR_INLINE i64 tsr_threads(void) { return 1; }
TSR_INLINE i64 tsr_thread(void) { return 0; }
#endif
#ifndef TESSERA_CALL
#define TESSERA_CALL
/* Memory of a call: the caller's, used from its begin on, or the system's. `asks`: nothing is computed or touched, and
   `needed` becomes the most that is used at once; `bytes` is then what is used. `strides`: of every given array its
   strides in bytes, 0 where elements lie side by side. */
typedef struct {
  const long long* const* strides;
  unsigned char* memory;
  long long bytes, needed;
  int asks;
} tessera_call;
#endif
TSR_INLINE u8* tsr_take(tessera_call* call, i64 bytes) {
  u8* at = call->memory;
  bytes = (bytes + 63) & ~63LL;
  if (call->asks) {
    call->bytes += bytes;
    call->needed = call->needed > call->bytes ? call->needed : call->bytes;
    return (u8*)64;
  }
  if (!at) return (i64)(tsr_size)bytes == bytes ? (u8*)__builtin_malloc((tsr_size)bytes) : (u8*)0;
  if (bytes > call->bytes) return 0;
  call->memory += bytes, call->bytes -= bytes;
  return at;
}
/* What was taken last is given back first. */
TSR_INLINE void tsr_give(tessera_call* call, u8* at, i64 bytes) {
  bytes = (bytes + 63) & ~63LL;
  if (!at) return;
  if (call->asks) call->bytes -= bytes;
  else if (call->memory) call->memory -= bytes, call->bytes += bytes;
  else __builtin_free(at);
}
/* 1: out of memory; 5: the caller's is too small. */
TSR_INLINE i32 tsr_no_memory(const tessera_call* call) { return call->memory ? 5 : 1; }
/* Bytes of an array, -1 where no memory holds so many. */
TSR_INLINE i64 tsr_bytes(i64 bytes, const i64* extents, i64 rank) {
  const i64 most = (i64)1 << (sizeof(void*) < 8 ? 30 : 60);
  for (i64 d = 0; d < rank; ++d) {
    if (extents[d] < 1 || bytes > most / extents[d]) return -1;
    bytes *= extents[d];
  }
  return bytes;
}
TSR_INLINE i64 tsr_stride(const tessera_call* call, i64 array, i64 d, i64 dense) {
  return call->strides && call->strides[array] ? call->strides[array][d] : dense;
}
/* Denormals are numbers, and results are rounded to the nearest, whatever the thread did before. */
TSR_INLINE u64 tsr_enter(void) {
  u64 modes = 0;
#if defined(__SSE2__) || defined(__i386__)
  modes = __builtin_ia32_stmxcsr();
  if ((modes & 0xe040) != 0) __builtin_ia32_ldmxcsr((u32)modes & ~0xe040u);
#elif defined(__aarch64__)
  __asm__ volatile("mrs %0, fpcr" : "=r"(modes));
  if (modes & 0x3c80000) __asm__ volatile("msr fpcr, %0" : : "r"(modes & ~(u64)0x3c80000));
#endif
  __asm__ volatile("" ::: "memory");
  return modes;
}
TSR_INLINE void tsr_leave(u64 modes) {
  __asm__ volatile("" ::: "memory");
#if defined(__SSE2__) || defined(__i386__)
  if ((modes & 0xe040) != 0) __builtin_ia32_ldmxcsr((u32)modes);
#elif defined(__aarch64__)
  if (modes & 0x3c80000) __asm__ volatile("msr fpcr, %0" : : "r"(modes));
#endif
}
)";

}  // namespace tessera::emit
