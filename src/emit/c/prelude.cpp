// Types, border maps, patches and copies in C.
#include "emit/c/prelude.hpp"

#include <fmt/format.h>

#include <vector>

#include "emit/nest/dialect.hpp"
#include "ir/functions/functions.hpp"

namespace tessera::emit {

namespace detail {
extern const std::string_view c_guards_text;
extern const std::string_view c_integers_text;
extern const std::string_view c_prelude_text;
}  // namespace detail

using ir::nest::Lane;
using ir::nest::Support;
using ir::nest::Type;

namespace {

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

// Macros: GCC remarks on functions that take vectors wider than the machine's.
std::string gather(const Type& result, const Type& index) {
  const bool bytes = index.lane == Lane::i64;
  std::string list;
  for (int k = 0; k < result.lanes; ++k) {
    list += k == 0 ? "" : k % 4 == 0 ? ", \\\n    " : ", ";
    list += bytes ? fmt::format("*(const {}*)(const void*)(tsr_from + tsr_o[{}])", name_of(result.lane), k)
                  : fmt::format("tsr_from[tsr_o[{}]]", k);
  }
  return fmt::format(
      "#define tsr_gather_{result}_{index}(p, o) __extension__({{ \\\n  const {from}* const tsr_from = (p); \\\n"
      "  const {index} tsr_o = (o); \\\n  ({result}){{{list}}}; }})\n",
      fmt::arg("result", spell(result)), fmt::arg("index", spell(index)),
      fmt::arg("from", bytes ? "u8" : name_of(result.lane)), fmt::arg("list", list));
}

// Every vector type of the text and of its helpers, with the integers that are its masks, or its own without a sign:
// arithmetic that wraps.
std::set<Type> vector_types_of(const Needs& needs) {
  std::set<Type> all;
  const auto insert = [&](const Type& t) {
    if (t.lanes == 1) return;
    all.insert(t);
    all.insert({mask_lane(t.lane), t.lanes, false});
  };
  for (const Type& t : needs.types) {
    insert(t);
    if (t.lanes > 1 && !is_float(t.lane)) all.insert({unsigned_lane(t.lane), t.lanes, false});
  }
  for (const auto* set : {&needs.selects, &needs.extremes, &needs.open_extremes, &needs.magnitudes})
    for (const Type& t : *set) insert(t);
  for (const Type& t : needs.types_called(Support::products)) all.insert(t);
  for (const ir::FunctionUse& use : needs.functions) insert({ir::nest::lane_of(use.type), use.lanes, false});
  return all;
}

}  // namespace

std::string scalar_prelude(const Needs& needs) {
  std::string text(detail::c_integers_text);
  if (needs.has(Lane::f16)) text += "typedef _Float16 f16;\n";
  text += detail::c_prelude_text;
  if (!needs.called(Support::guards).empty()) text += detail::c_guards_text;
  return text +
         "typedef long long v2di __attribute__((vector_size(16)));\ntypedef long long v4di "
         "__attribute__((vector_size(32)));\n"
         "typedef long long v8di __attribute__((vector_size(64)));\n";
}

std::string vector_prelude(const Needs& needs) {
  std::string text;
  const std::set<Type> all = vector_types_of(needs);
  for (const Type& t : all) text += vector_types(t);
  for (const Type& t : all)
    if (t.lane == Lane::f16) text += half_broadcast(t);
  for (const Type& t : needs.streams) text += streaming_store(t);
  for (const Type& t : needs.fused) text += fused(t);
  for (const Type& t : needs.types_called(Support::products)) text += byte_products(t);
  for (const std::string& name : needs.called(Support::fields)) text += fields(name.back() - '0');
  for (const Type& t : needs.selects) text += select(t);
  for (const Type& t : needs.open_extremes) text += open_extremes(t);
  for (const Type& t : needs.extremes) text += is_float(t.lane) ? float_extremes(t) : open_extremes(t);
  for (const Type& t : needs.magnitudes) text += magnitude(t);
  for (const auto& [result, index] : needs.gathers) text += gather(result, index);
  const std::vector<ir::FunctionUse> uses(needs.functions.begin(), needs.functions.end());
  if (!uses.empty()) text += ir::functions_source(ir::FunctionDialect::c, uses);
  for (const Type& t : needs.types_called(Support::ranges)) text += ranges_text(t.lane);
  return text;
}

std::string prelude(const Needs& needs) {
  return scalar_prelude(needs) + "#define TSR_GROUP\n#define TSR_PASS TSR_HELPER\n" + vector_prelude(needs);
}

}  // namespace tessera::emit
