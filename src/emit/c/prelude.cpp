// Types, border maps, patches and copies in C.
#include "emit/c/prelude.hpp"

#include <fmt/format.h>

#include <vector>

#include "ir/functions/functions.hpp"

namespace tessera::emit {

using ir::nest::Lane;
using ir::nest::Type;

std::string spell(const Type& type) {
  std::string name(name_of(type.lane));
  if (type.lanes > 1) name += "x" + std::to_string(type.lanes);
  if (type.pointer) name += "*";
  return name;
}

namespace {

constexpr std::string_view fixed_text = R"(typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;
typedef __SIZE_TYPE__ tsr_size;
typedef __UINTPTR_TYPE__ tsr_word; /* as wide as an address */

#ifndef TSR_FP
#define TSR_FP
#endif
#ifndef tsr_product_1
#define tsr_product_1(x) (x)
#define tsr_product_16(x) (x)
#define tsr_product_32(x) (x)
#define tsr_product_64(x) (x)
#define tsr_product_128(x) (x)
#endif
#define TSR_INLINE static inline __attribute__((always_inline, unused)) TSR_FP
#define TSR_HELPER static __attribute__((noinline, unused)) TSR_FP
#define tsr_array(P, k) ((u8*)(P)[k])
/* Tables of rows in scratch memory: eight bytes each, also where addresses have four. */
#define tsr_place(k) ((k) * (i64)(8 / sizeof(void*)))
#define tsr_rows(table) ((void* const*)(table))
#define tsr_row(table, k) ((u8*)((void* const*)(table))[tsr_place(k)])
#define tsr_set_row(table, k, row) (((const void**)(table))[tsr_place(k)] = (row))
#define tsr_no_row(table, k) (((const void**)(table))[tsr_place(k)] = 0)
#define tsr_is_row(row) (-((row) != 0))
#define tsr_nowhere() ((u8*)0)
#define tsr_at(rows, k) ((rows)[k])

/* Clang lets a negation, alone among operations, do what flags allow whatever pragma stands above it. */
#ifdef __clang__
#define tsr_neg(x, type) ((x) * (type)-1.0f)
#else
#define tsr_neg(x, type) (-(x))
#endif
/* A choice of scalars, by their bits: Clang lets choices do what flags allow, too. */
#ifdef __clang__
union tsr_of_f32 { f32 f; i32 i; };
union tsr_to_f32 { i32 i; f32 f; };
union tsr_of_f64 { f64 f; i64 i; };
union tsr_to_f64 { i64 i; f64 f; };
#define tsr_choose(m, a, b, type) \
  (((union tsr_to_##type){(m) ? ((union tsr_of_##type){(a)}).i : ((union tsr_of_##type){(b)}).i}).f)
#else
#define tsr_choose(m, a, b, type) ((m) ? (a) : (b))
#endif

/* Functions: nested macros would double their text at every level. */
TSR_INLINE i64 tsr_min(i64 a, i64 b) { return a < b ? a : b; }
TSR_INLINE i64 tsr_max(i64 a, i64 b) { return a > b ? a : b; }
TSR_INLINE i64 tsr_floor_div(i64 a, i64 b) {
  i64 q = a / b;
  return a % b < 0 ? q - 1 : q;
}
TSR_INLINE i64 tsr_ceil_div(i64 a, i64 b) { return -tsr_floor_div(-a, b); }
TSR_INLINE i64 tsr_clamp(i64 v, i64 lo, i64 hi) {
  v = v > hi ? hi : v;
  return v < lo ? lo : v;
}
TSR_INLINE i64 tsr_align(i64 bytes) { return (bytes + 63) & ~63LL; }
/* An odd number of cache lines: rows of a ring then fall into different sets of the caches. */
TSR_INLINE i64 tsr_pitch(i64 bytes) { return ((bytes + 63) & ~63LL) | 64; }
TSR_INLINE i32 tsr_aligned(const void* p, i64 bytes) { return ((tsr_word)p & (tsr_word)(bytes - 1)) == 0; }
/* Equal parts of at most `most`, each a multiple of `unit`. */
TSR_INLINE i64 tsr_balanced(i64 n, i64 most, i64 unit) {
  i64 parts = (n + most - 1) / most;
  i64 part = parts > 1 ? (n + parts - 1) / parts : n;
  part = parts > 1 ? (part + unit - 1) / unit * unit : part;
  return part < 1 ? 1 : part;
}
TSR_INLINE i64 tsr_quotient(i64 a, i64 b) { return b < 1 ? a : a / b < 1 ? 1 : a / b; }
/* Rows of a tile: a few tiles for every thread, none lower than `least`, or `smallest` where cores would be idle. */
TSR_INLINE i64 tsr_tile_rows(i64 n, i64 others, i64 threads, i64 least, i64 smallest) {
  i64 wanted = threads > 1 ? 4 * threads : 1;
  i64 parts = (wanted + others - 1) / (others < 1 ? 1 : others);
  i64 rows = (n + parts - 1) / (parts < 1 ? 1 : parts);
  rows = rows < least ? least : rows;
  if ((n + rows - 1) / rows * others < threads) {
    parts = (threads + others - 1) / (others < 1 ? 1 : others);
    rows = (n + parts - 1) / parts;
    rows = rows < smallest ? smallest : rows;
  }
  rows = (rows + 7) / 8 * 8;
  return rows > n ? (n < 1 ? 1 : n) : rows;
}
/* The part of a result with n points that belongs to anchor point t of `whole`, at num points for every den. */
TSR_INLINE i64 tsr_share(i64 t, i64 num, i64 den, i64 whole, i64 n) {
  i64 at = tsr_floor_div(t * num, den);
  return t >= whole ? n : at > n ? n : at;
}
/* Border maps. Modes: 0 none, 1 clamp, 2 mirror, 3 symmetric, 4 wrap, 5 constant (-1: no element). */
TSR_HELPER i64 tsr_map_outside(i64 mode, i64 i, i64 n) {
  /* Near the ends without a division. */
  if (mode == 2 && i > -n && i < 2 * n - 1) return i < 0 ? -i : 2 * (n - 1) - i;
  if (mode == 3 && i >= -n && i < 2 * n) return i < 0 ? -1 - i : 2 * n - 1 - i;
  if (mode == 4) {
    if (i >= -n && i < 2 * n) return i < 0 ? i + n : i - n;
    i64 m = i % n;
    return m < 0 ? m + n : m;
  }
  if (mode == 2) {
    i64 period = 2 * (n - 1);
    if (period == 0) return 0;
    i64 m = i % period;
    m = m < 0 ? m + period : m;
    return m < n ? m : period - m;
  }
  if (mode == 3) {
    i64 period = 2 * n;
    i64 m = i % period;
    m = m < 0 ? m + period : m;
    return m < n ? m : period - 1 - m;
  }
  if (mode == 5) return -1;
  return i < 0 ? 0 : n - 1;
}
TSR_INLINE i64 tsr_map(i64 mode, i64 i, i64 n) { return i >= 0 && i < n ? i : tsr_map_outside(mode, i, n); }
TSR_INLINE i64 tsr_run_begin(i64 xs, i64 a, i64 xe, i64 lanes) {
  i64 until = a < xe ? a : xe;
  return until <= xs ? xs : xs + (until - xs + lanes - 1) / lanes * lanes;
}
TSR_INLINE i64 tsr_run_end(i64 xa, i64 b, i64 xe, i64 lanes) {
  i64 last = b < xe - 1 ? b : xe - 1;
  return last < xa ? xa : xa + ((last - xa) / lanes + 1) * lanes;
}
TSR_INLINE i64 tsr_chunk_begin(i64 run, i64 before, i64 xs, i64 xa, i64 xb, i64 chunk) {
  return run < before ? xs + run * chunk : run == before ? xa : xb + (run - before - 1) * chunk;
}
TSR_INLINE i64 tsr_chunk_end(i64 run, i64 before, i64 x0, i64 xa, i64 xb, i64 xe, i64 chunk) {
  return run < before ? tsr_min(x0 + chunk, xa) : run == before ? xb : tsr_min(x0 + chunk, xe);
}
/* An element, copied without a call. */
TSR_INLINE void tsr_move(u8* to, const u8* from, i64 size) {
  if (size == 4) __builtin_memcpy(to, from, 4);
  else if (size == 1) *to = *from;
  else if (size == 2) __builtin_memcpy(to, from, 2);
  else if (size == 8) __builtin_memcpy(to, from, 8);
  else __builtin_memcpy(to, from, (tsr_size)size);
}
TSR_INLINE void tsr_put(u8* to, i64 size, i64 bits) { tsr_move(to, (const u8*)&bits, size); }
TSR_HELPER void tsr_fill(u8* to, i64 count, i64 size, i64 bits) {
  for (i64 k = 0; k < count; ++k) tsr_put(to + k * size, size, bits);
}
TSR_INLINE void tsr_prefetch(const u8* from, i64 bytes) { __builtin_prefetch(from + bytes, 0, 2); }
TSR_INLINE void tsr_zero(u8* to, i64 bytes) {
  if (bytes > 0) __builtin_memset(to, 0, (tsr_size)bytes);
}
TSR_INLINE void tsr_copy(u8* to, const u8* from, i64 bytes) {
  if (bytes > 0) __builtin_memcpy(to, from, (tsr_size)bytes);
}
/* An end of a row, copied without a call. */
TSR_INLINE void tsr_copy_end(u8* to, const u8* from, i64 bytes) {
  if (bytes >= 64) {
    for (i64 k = 0; k < bytes - 64; k += 64) __builtin_memcpy(to + k, from + k, 64);
    __builtin_memcpy(to + bytes - 64, from + bytes - 64, 64);
  } else if (bytes >= 16) {
    for (i64 k = 0; k < bytes - 16; k += 16) __builtin_memcpy(to + k, from + k, 16);
    __builtin_memcpy(to + bytes - 16, from + bytes - 16, 16);
  } else {
    tsr_copy(to, from, bytes);
  }
}
#define TSR_STRIDED(T)                                                                       \
  do {                                                                                       \
    for (i64 k = 0; k < count; ++k) __builtin_memcpy(to + k * step, from + k * size, sizeof(T)); \
  } while (0)
TSR_HELPER void tsr_copy_strided(u8* to, i64 step, const u8* from, i64 count, i64 size) {
  if (step == size) {
    tsr_copy(to, from, count * size);
    return;
  }
  if (size == 1) TSR_STRIDED(u8);
  else if (size == 2) TSR_STRIDED(u16);
  else if (size == 4) TSR_STRIDED(u32);
  else TSR_STRIDED(u64);
}
/* `count` columns from c0 on, of a row with n columns, continued by its border. Columns are `step` elements apart. */
TSR_INLINE void tsr_patch_here(u8* to, const u8* from, const u8* outside, i64 c0, i64 count, i64 n, i64 mode, i64 step,
                               i64 size, i64 bits) {
  i64 unit = step * size;
  if (from == outside) {
    i64 value = 0;
    __builtin_memcpy(&value, from + c0 * unit, (tsr_size)size);
    tsr_fill(to, count * step, size, value);
    return;
  }
  i64 lo = tsr_clamp(-c0, 0, count), hi = tsr_clamp(n - c0, lo, count);
  tsr_copy_end(to + lo * unit, from + (c0 + lo) * unit, (hi - lo) * unit);
  for (i64 part = 0; part < 2; ++part)
    for (i64 k = part ? hi : 0; k < (part ? count : lo); ++k) {
      i64 m = tsr_map(mode, c0 + k, n);
      if (m < 0) tsr_fill(to + k * unit, step, size, bits);
      else tsr_move(to + k * unit, from + m * unit, unit);
    }
}
TSR_HELPER void tsr_patch(u8* to, const u8* from, const u8* outside, i64 c0, i64 count, i64 n, i64 mode, i64 step,
                          i64 size, i64 bits) {
  tsr_patch_here(to, from, outside, c0, count, n, mode, step, size, bits);
}
/* The same of `many` rows, into copies that lie `pitch` bytes apart. */
TSR_HELPER void tsr_patch_rows(u8* to, i64 pitch, const u8* rows, i64 many, i64 c0, i64 count, i64 n, i64 mode, i64 step,
                               i64 size, i64 bits) {
  i64 unit = step * size, lo = tsr_clamp(-c0, 0, count), hi = tsr_clamp(n - c0, lo, count);
  for (i64 r = 0; r < many; ++r)
    tsr_copy_end(to + r * pitch + lo * unit, tsr_row(rows, r) + (c0 + lo) * unit, (hi - lo) * unit);
  for (i64 part = 0; part < 2; ++part)
    for (i64 k = part ? hi : 0; k < (part ? count : lo); ++k) {
      i64 m = tsr_map(mode, c0 + k, n);
      u8* out = to + k * unit;
      if (m < 0)
        for (i64 r = 0; r < many; ++r) tsr_fill(out + r * pitch, step, size, bits);
      else if (unit == 4)
        for (i64 r = 0; r < many; ++r) __builtin_memcpy(out + r * pitch, tsr_row(rows, r) + m * 4, 4);
      else
        for (i64 r = 0; r < many; ++r) tsr_move(out + r * pitch, tsr_row(rows, r) + m * unit, unit);
    }
}
/* Continues a row of a ring beyond its ends; `row` is the address of column 0, columns [lo, hi) are there. */
TSR_HELPER void tsr_pad(u8* row, i64 lo, i64 hi, i64 n, i64 before, i64 after, i64 mode, i64 size, i64 bits) {
  if (lo <= 0)
    for (i64 c = -before; c < 0; ++c) {
      i64 m = tsr_map(mode, c, n);
      if (m < 0) tsr_put(row + c * size, size, bits);
      else tsr_move(row + c * size, row + m * size, size);
    }
  if (hi >= n)
    for (i64 c = n; c < n + after; ++c) {
      i64 m = tsr_map(mode, c, n);
      if (m < 0) tsr_put(row + c * size, size, bits);
      else tsr_move(row + c * size, row + m * size, size);
    }
}
)";

constexpr std::string_view guards_text =
    R"(/* For tests: memory between blocks of scratch memory that nothing may write. */
TSR_INLINE void tsr_spoil(u8* p, i64 bytes) {
  for (i64 k = 0; k < bytes; ++k) p[k] = 0xff;
}
TSR_INLINE void tsr_guard(u8* p) {
  for (i64 k = 0; k < 4096; ++k) p[k] = 0xa5;
}
TSR_INLINE void tsr_guarded(const u8* p) {
  for (i64 k = 0; k < 4096; ++k)
    if (p[k] != 0xa5) __builtin_trap();
}
)";

std::string vector_types(const Type& type) {
  int bytes = type.lanes * size_of(type.lane);
  std::string name = spell(type), lane(name_of(type.lane));
  return fmt::format(
      "typedef {0} {1} __attribute__((vector_size({2})));\n"
      "typedef {0} {1}u __attribute__((vector_size({2}), aligned({3}), may_alias));\n",
      lane, name, bytes, size_of(type.lane));
}

// Functions of floats take and give their bits, and a macro of their name casts: Clang says of floats that a function
// is given or gives that they are no NaN where a flag asks for finite numbers, whatever pragma stands above it.
struct Bits {
  explicit Bits(const Type& type)
      : name(spell(type)),
        bits(spell({mask_lane(type.lane), type.lanes, false})),
        lane(name_of(type.lane)),
        lanes(type.lanes) {}
  // #define tsr_pick_f32x8(m, a, b) ((f32x8)tsr_pick_f32x8_bits(m, (i32x8)(a), (i32x8)(b)))
  std::string macro(const std::string& function, const std::string& before, std::vector<std::string> floats) const {
    std::string names = before, values = before;
    for (const std::string& each : floats) {
      names += (names.empty() ? "" : ", ") + each;
      values += (values.empty() ? "" : ", ") + fmt::format("({})({})", bits, each);
    }
    return fmt::format("#define {0}({1}) (({2}){0}_bits({3}))\n", function, names, name, values);
  }
  std::string name, bits, lane;
  int lanes;
};

std::string streaming_store(const Type& type) {
  const Bits of(type);
  const int bytes = type.lanes * size_of(type.lane);
  std::string builtin;
  if (bytes == 64) builtin = "__AVX512F__:__builtin_ia32_movntdq512((v8di*)p, (v8di)v)";
  if (bytes == 32) builtin = "__AVX__:__builtin_ia32_movntdq256((v4di*)p, (v4di)v)";
  if (bytes == 16) builtin = "__SSE2__:__builtin_ia32_movntdq((v2di*)p, (v2di)v)";
  std::string gcc = fmt::format("  *({0}*)p = v;\n", of.bits);
  if (!builtin.empty()) {
    std::string macro = builtin.substr(0, builtin.find(':')), text = builtin.substr(builtin.find(':') + 1);
    gcc = fmt::format("#elif defined({0})\n  {1};\n#else\n  *({2}*)p = v;\n", macro, text, of.bits);
  } else {
    gcc = "#else\n" + gcc;
  }
  return fmt::format(
      "TSR_INLINE void tsr_stream_{0}_bits(void* p, {1} v) {{\n#if defined(__clang__)\n"
      "  __builtin_nontemporal_store(v, ({1}*)p);\n{2}#endif\n}}\n"
      "#define tsr_stream_{0}(p, v) tsr_stream_{0}_bits(p, ({1})(v))\n",
      of.name, of.bits, gcc);
}

// Masks hold 0 or -1 in every lane. Clang's own vectors select lane by lane, which keeps LLVM 19 from mistaking
// operands where it merges selections on bits into three-way logic; elsewhere a selection is three operations on bits.
std::string select(const Type& type) {
  const Bits of(type);
  std::string text = fmt::format(
      "TSR_INLINE {0} tsr_pick_{1}_bits({0} m, {0} a, {0} b) {{\n#if defined(__clang__)\n"
      "  typedef {2} values __attribute__((ext_vector_type({4})));\n"
      "  typedef {3} masks __attribute__((ext_vector_type({4})));\n"
      "  return ({0})((masks)m ? (values)a : (values)b);\n#else\n"
      "  return (m & a) | (~m & b);\n#endif\n}}\n",
      of.bits, of.name, of.lane, name_of(mask_lane(type.lane)), of.lanes);
  return text + of.macro("tsr_pick_" + of.name, "m", {"a", "b"});
}

// The lesser and the greater of integers; of floats where it is open what comes of a NaN or of two zeros, the one
// instruction that processors have.
std::string open_extremes(const Type& type) {
  const Bits of(type);
  std::string text;
  for (const bool lesser : {true, false}) {
    const char* const relation = lesser ? "<" : ">";
    if (is_float(type.lane)) {
      const std::string called = fmt::format("tsr_{}_{}", lesser ? "least" : "most", of.name);
      text += fmt::format(
          "TSR_INLINE {0} {1}_bits({0} a, {0} b) {{\n#if defined(__clang__)\n"
          "  typedef {3} values __attribute__((ext_vector_type({4})));\n"
          "  return ({0})((values)a {5} (values)b ? (values)a : (values)b);\n#else\n"
          "  {0} m = ({0})(({2})a {5} ({2})b);\n  return (m & a) | (~m & b);\n#endif\n}}\n",
          of.bits, called, of.name, of.lane, of.lanes, relation);
      text += of.macro(called, "", {"a", "b"});
    } else {
      text += fmt::format(
          "TSR_INLINE {0} tsr_{1}_{0}({0} a, {0} b) {{\n#if defined(__clang__)\n"
          "  return __builtin_elementwise_{1}(a, b);\n#else\n"
          "  {2} m = ({2})(a {3} b);\n  return ({0})((m & ({2})a) | (~m & ({2})b));\n#endif\n}}\n",
          of.name, lesser ? "min" : "max", of.bits, relation);
    }
  }
  return text;
}

// Of floats, ir::Op::min and max: of a NaN and a number the number, and -0 is less than 0, so that the order of
// operands says nothing. AVX-512DQ has them as one instruction. Elsewhere the zeros cost, and `fast` numbers leave them
// open. Arguments are bits: what Clang is told of floats that pass between functions may be that none is a NaN.
std::string scalar_extremes(Lane lane) {
  const bool single = lane == Lane::f32;
  std::string text = "#ifdef __clang__\n";
  for (const bool lesser : {true, false})
    text += fmt::format(
        "TSR_INLINE {0} tsr_{1}_{2}_bits({0} a, {0} b) {{\n"
        "  {2} x = ((union tsr_to_{2}){{a}}).f, y = ((union tsr_to_{2}){{b}}).f;\n"
        "  return (b & {3}) > {4} || x {5} y || (x == y && {6}(a < 0)) ? a : b;\n}}\n"
        "#define tsr_{1}_{2}(a, b) (((union tsr_to_{2}){{tsr_{1}_{2}_bits(((union tsr_of_{2}){{(a)}}).i, "
        "((union tsr_of_{2}){{(b)}}).i)}}).f)\n",
        name_of(mask_lane(lane)), lesser ? "min" : "max", name_of(lane), single ? "0x7fffffff" : "0x7fffffffffffffffLL",
        single ? "0x7f800000" : "0x7ff0000000000000LL", lesser ? "<" : ">", lesser ? "" : "!");
  text += "#else\n";
  for (const bool lesser : {true, false})
    text += fmt::format(
        "TSR_INLINE {0} tsr_{1}_{0}({0} a, {0} b) {{\n"
        "  return b != b || a {2} b || (a == b && {3}__builtin_signbit(a)) ? a : b;\n}}\n",
        name_of(lane), lesser ? "min" : "max", lesser ? "<" : ">", lesser ? "" : "!");
  return text + "#endif\n";
}

std::string float_extremes(const Type& type) {
  if (type.lanes == 1) return scalar_extremes(type.lane);
  const Bits of(type);
  const int bytes = type.lanes * size_of(type.lane);
  const bool wide = bytes == 64, single = type.lane == Lane::f32;
  std::string text;
  for (const bool lesser : {true, false}) {
    const char* const relation = lesser ? "<" : ">";
    const std::string called = fmt::format("tsr_{}_{}", lesser ? "min" : "max", of.name);
    text += fmt::format("TSR_INLINE {0} {1}_bits({0} a, {0} b) {{\n", of.bits, called);
    std::string first = "#if";
    if (bytes == 16 || bytes == 32 || wide) {
      // Of 64 bytes GCC takes the mask of lanes as a signed number, Clang as one without a sign; both may warn.
      const std::string call =
          fmt::format("  return ({0})__builtin_ia32_rangep{1}{2}_mask(({3})a, ({3})b, {4}, ({3})a, ", of.bits,
                      single ? 's' : 'd', 8 * bytes, of.name, lesser ? 4 : 5);
      const char* const lanes = wide && single ? "(unsigned short)-1" : "(unsigned char)-1";
      text += wide ? fmt::format(
                         "#if defined(__AVX512DQ__) && defined(__clang__)\n{0}{1}, 4);\n"
                         "#elif defined(__AVX512DQ__)\n{0}-1, 4);\n",
                         call, lanes)
                   : fmt::format("#if defined(__AVX512DQ__) && defined(__AVX512VL__)\n{}{});\n", call, lanes);
      first = "#elif";
    }
    text += fmt::format(
        "{0} defined(__clang__)\n  typedef {1} values __attribute__((ext_vector_type({2})));\n"
        "  typedef {3} ints __attribute__((ext_vector_type({2})));\n"
        "  ints v = (ints)((values)a {4} (values)b ? (values)a : (values)b);\n#ifdef TSR_EXACT\n",
        first, of.lane, of.lanes, name_of(mask_lane(type.lane)), relation);
    text += lesser ? "  v |= (ints)a & (ints)((values)a == (values)b);\n"
                   : "  v &= (ints)a | (ints)((values)a != (values)b);\n";
    text += fmt::format(
        "#endif\n  return ({0})((ints)((values)b == (values)b) ? v : (ints)a);\n#else\n"
        "  {0} m = ({0})(({1})a {2} ({1})b) | ({0})(({1})b != ({1})b);\n#ifdef TSR_EXACT\n"
        "  m |= ({0})(({1})a == ({1})b) & (a {3} ({0}){{0}});\n#endif\n"
        "  return (m & a) | (~m & b);\n#endif\n}}\n",
        of.bits, of.name, relation, lesser ? "<" : ">=");
    text += of.macro(called, "", {"a", "b"});
  }
  return text;
}

std::string magnitude(const Type& type) {
  const Bits of(type);
  std::string all = type.lane == Lane::f64   ? "0x7fffffffffffffffLL"
                    : type.lane == Lane::f32 ? "0x7fffffff"
                                             : "(i16)0x7fff";
  return fmt::format("TSR_INLINE {0} tsr_magnitude_{1}_bits({0} a) {{ return a & ({2} + ({0}){{0}}); }}\n", of.bits,
                     of.name, all) +
         of.macro("tsr_magnitude_" + of.name, "", {"a"});
}

// A product that two sums share is not contracted by LLVM; said outright it is. Without the instruction it were a call.
std::string fused(const Type& type) {
  return fmt::format(
      "#if defined(__clang__) && __clang_major__ >= 16 && (defined(__FMA__) || defined(__aarch64__))\n"
      "#define tsr_fused_{0}(a, b, c) __builtin_elementwise_fma(a, b, c)\n#else\n"
      "#define tsr_fused_{0}(a, b, c) ((a) * (b) + (c))\n#endif\n",
      spell(type));
}

// To each lane of 32 bits the products of its four bytes with four signed ones. Plans ask for it where the processor
// has the instruction. The empty statement keeps all products in the order in which they stand: LLVM may else take
// total by total, and spill what these share (15 x 15 weights: 28 ms in place of 10).
std::string byte_products(const Type& type) {
  return fmt::format(
      "TSR_INLINE {0} tsr_add_products_{0}({0} total, {0} bytes, {0} weights) {{\n#if defined(__clang__)\n"
      "  total = __builtin_ia32_vpdpbusd{1}(total, bytes, weights);\n#else\n"
      "  total = ({0})__builtin_ia32_vpdpbusd_v{2}si(total, bytes, weights);\n#endif\n"
      "  __asm__ volatile(\"\" : \"+v\"(total));\n  return total;\n}}\n",
      spell(type), 32 * type.lanes, type.lanes);
}

// Rows of fields to the structs that they are of. Compilers make vectors of it: a row of 3840 points of three bytes
// takes 0.3 us in place of 2.2 for one field after the other.
std::string fields(int count) {
  std::string rows, copies;
  for (int f = 0; f < count; ++f) {
    rows += fmt::format(", const u8* TSR_ALONE from{}", f);
    copies += fmt::format(
        " \\\n    __builtin_memcpy(to + ({} * k + {}) * sizeof(T), from{} + k * sizeof(T), sizeof(T));", count, f, f);
  }
  return fmt::format(
      "#undef TSR_ALONE\n#define TSR_ALONE __restrict\n#undef TSR_FIELDS\n"
      "#define TSR_FIELDS(T) \\\n  for (i64 k = 0; k < count; ++k) {{{1} \\\n  }}\n"
      "TSR_HELPER void tsr_copy_fields_{0}(u8* TSR_ALONE to{2}, i64 count, i64 size) {{\n"
      "  if (size == 1) TSR_FIELDS(u8)\n  else if (size == 2) TSR_FIELDS(u16)\n  else if (size == 4) TSR_FIELDS(u32)\n"
      "  else TSR_FIELDS(u64)\n}}\n",
      count, copies, rows);
}

// A macro, as GCC remarks on functions that give vectors wider than the machine's.
std::string half_broadcast(const Type& type) {
  std::string list;
  for (int k = 0; k < type.lanes; ++k) list += k ? ", tsr_s" : "tsr_s";
  return fmt::format("#define tsr_broadcast_{0}(s) __extension__({{ const f16 tsr_s = (f16)(s); ({0}){{{1}}}; }})\n",
                     spell(type), list);
}

}  // namespace

std::string scalar_prelude(const Needs& needs) {
  std::string text(fixed_text);
  bool halves = false;
  for (const Type& t : needs.vectors) halves |= t.lane == Lane::f16;
  if (halves) text.insert(text.find("typedef float f32;"), "typedef _Float16 f16;\n");
  if (needs.guards) text += guards_text;
  return text +
         "typedef long long v2di __attribute__((vector_size(16)));\ntypedef long long v4di "
         "__attribute__((vector_size(32)));\n"
         "typedef long long v8di __attribute__((vector_size(64)));\n";
}

std::string vector_prelude(const Needs& needs) {
  std::string text;
  std::set<Type> plain;
  for (Type t : needs.vectors) {
    t.pointer = false;
    if (t.lanes > 1) {
      plain.insert(t);
      plain.insert({mask_lane(t.lane), t.lanes, false});
      if (!is_float(t.lane) && is_signed(t.lane))  // arithmetic that wraps is unsigned
        plain.insert({static_cast<Lane>(t.lane == Lane::i8    ? Lane::u8
                                        : t.lane == Lane::i16 ? Lane::u16
                                        : t.lane == Lane::i32 ? Lane::u32
                                                              : t.lane),
                      t.lanes, false});
    }
  }
  for (const std::set<Type>* set : {&needs.selects, &needs.extremes, &needs.open_extremes, &needs.magnitudes})
    for (const Type& t : *set)
      if (t.lanes > 1) plain.insert(t), plain.insert({mask_lane(t.lane), t.lanes, false});
  for (const Type& t : needs.products) plain.insert(t);
  for (const auto& [op, type] : needs.functions) {
    if (type.lanes == 1) continue;
    plain.insert(type);
    plain.insert({mask_lane(type.lane), type.lanes, false});
  }
  for (const Type& t : plain) text += vector_types(t);
  for (const Type& t : plain)
    if (t.lane == Lane::f16) text += half_broadcast(t);
  for (const Type& t : needs.streams) text += streaming_store(t);
  for (const Type& t : needs.fused) text += fused(t);
  for (const Type& t : needs.products) text += byte_products(t);
  for (const int count : needs.fields) text += fields(count);
  for (const Type& t : needs.selects) text += select(t);
  for (const Type& t : needs.open_extremes) text += open_extremes(t);
  for (const Type& t : needs.extremes) text += is_float(t.lane) ? float_extremes(t) : open_extremes(t);
  for (const Type& t : needs.magnitudes) text += magnitude(t);
  for (const auto& [result, index] : needs.gathers) {
    // A macro: GCC remarks on functions that take vectors wider than the machine's.
    const bool bytes = index.lane == Lane::i64;
    std::string list;
    for (int k = 0; k < result.lanes; ++k)
      list += fmt::format(
          fmt::runtime(bytes ? "{0}*(const {1}*)(const void*)(tsr_from + tsr_o[{2}])" : "{0}tsr_from[tsr_o[{2}]]"),
          k == 0       ? ""
          : k % 4 == 0 ? ", \\\n    "
                       : ", ",
          name_of(result.lane), k);
    text += fmt::format(
        "#define tsr_gather_{0}_{1}(p, o) __extension__({{ \\\n  const {2}* const tsr_from = (p); \\\n"
        "  const {1} tsr_o = (o); \\\n  ({0}){{{3}}}; }})\n",
        spell(result), spell(index), bytes ? "u8" : std::string(name_of(result.lane)), list);
  }
  std::vector<ir::FunctionUse> uses;
  for (const auto& [op, type] : needs.functions)
    uses.push_back({op, type.lane == Lane::f64 ? ElementType::f64 : ElementType::f32, type.lanes});
  if (!uses.empty()) text += ir::functions_source(ir::FunctionDialect::c, uses);
  for (const Lane lane : needs.ranges) text += ranges_text(lane);
  return text;
}

std::string prelude(const Needs& needs) {
  return scalar_prelude(needs) + "#define TSR_GROUP\n#define TSR_PASS TSR_HELPER\n" + vector_prelude(needs);
}

}  // namespace tessera::emit
