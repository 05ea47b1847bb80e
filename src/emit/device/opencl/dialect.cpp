// OpenCL C 1.2.
#include <fmt/format.h>

#include "emit/device/access.hpp"
#include "emit/device/dialects.hpp"

namespace tessera::emit {

namespace detail {
extern const std::string_view opencl_prelude_doubles_text;
extern const std::string_view opencl_prelude_text;
}  // namespace detail

namespace {

// Of the types that vectors have there.
std::string_view own_name(ir::nest::Lane lane) {
  switch (lane) {
    case ir::nest::Lane::i8:
      return "char";
    case ir::nest::Lane::u8:
      return "uchar";
    case ir::nest::Lane::i16:
      return "short";
    case ir::nest::Lane::u16:
    case ir::nest::Lane::f16:
      return "ushort";
    case ir::nest::Lane::i32:
      return "int";
    case ir::nest::Lane::u32:
      return "uint";
    case ir::nest::Lane::i64:
      return "long";
    case ir::nest::Lane::f32:
      return "float";
    case ir::nest::Lane::f64:
      return "double";
  }
  return "";
}

std::string access(const Access& a) {
  const int lanes = a.type.lanes;
  const std::string vector = fmt::format("{}{}", own_name(a.type.lane), lanes);
  if (a.words) {
    const std::string whole = a.scalars() > 1 ? fmt::format("uint{}", a.scalars()) : "uint";
    return a.macro_of_words(whole, fmt::format("as_{}(TSR_LOAD({}, {}, p))", whole, vector, lanes),
                            fmt::format("TSR_STORE({0}, {1}, as_{0}(tsr_v), p)", vector, lanes));
  }
  if (a.loads()) {
    const std::string from = a.verb == "take"   ? fmt::format("*(__local const {}*)(p)", vector)
                             : a.verb == "look" ? fmt::format("vload{}(0, p)", lanes)
                                                : fmt::format("TSR_LOAD({}, {}, p)", vector, lanes);
    return a.macro(fmt::format("const {} tsr_v = {}; {} tsr_unused; ", vector, from, name_of(a.type.lane)) +
                   each(lanes, "v{k} = tsr_v.s{k:x}; ") + "(void)tsr_unused; ");
  }
  const std::string all = fmt::format("({})({})", vector, each(lanes, ", v{k}").substr(2));
  return a.macro(a.verb == "put" ? fmt::format("*(__local {}*)(p) = {}; ", vector, all)
                                 : fmt::format("TSR_STORE({}, {}, {}, p); ", vector, lanes, all));
}

}  // namespace

constinit const Dialect opencl_dialect = {
    .halves_are_bits = true,
    .pointed_to = "TSR_GLOBAL ",
    .long_suffix = "L",
    .hexadecimal = true,
    .negatives_apart = true,
    .nan = names_of_nan,
    .infinity = names_of_infinity,
    .table = "TSR_TABLE {type} {name}[]",
    .table_of_bits = "#define {name} ((const __constant {type}*){name}_bits)\n",
    .flag = "(-({a} {op} {b}))",
    .fused = "tsr_fused({a}, {b}, {c})",
    .open_extreme = {.f32 = "f{word}({a}, {b})", .f64 = "f{word}({a}, {b})"},
    .open_is_instruction = true,
    .wrapping = narrow_arithmetic,
    .shorts = narrow_arithmetic,
    .functions = ir::FunctionDialect::opencl,
    .kernel = {.head = "__kernel __attribute__((reqd_work_group_size({x}, {y}, {z}))) void {name}(",
               .restricted = "restrict",
               .shared = "  __local u8 tsr_shared[{bytes}] __attribute__((aligned(16)));\n",
               .contraction = "#pragma OPENCL FP_CONTRACT OFF\n",
               .to_bits = {.f32 = "as_int", .f64 = "as_long"},
               .from_bits = {.f32 = "as_float", .f64 = "as_double"},
               .prelude = &detail::opencl_prelude_text,
               .doubles = &detail::opencl_prelude_doubles_text,
               .access = access},
};

}  // namespace tessera::emit
