// Types, border maps, patches and copies in C.
#include "emit/c/prelude.hpp"

#include <fmt/format.h>

#include <vector>

#include "emit/holes.hpp"
#include "emit/nest/dialect.hpp"
#include "ir/functions/functions.hpp"

namespace tessera::emit {

namespace detail {
extern const std::string_view c_guards_text;
extern const std::string_view c_integers_text;
extern const std::string_view c_prelude_text;
extern const std::string_view c_vectors_text;
}  // namespace detail

using ir::nest::Lane;
using ir::nest::Support;
using ir::nest::Type;

namespace {

std::string text_of(std::string_view name, const Holes& holes) {
  return filled(section(detail::c_vectors_text, name), holes);
}

Holes holes_of(const Type& type) {
  const Lane integer = mask_lane(type.lane);
  return {{"name", spell(type)},
          {"bits", spell({integer, type.lanes, false})},
          {"lane", std::string(name_of(type.lane))},
          {"integer", std::string(name_of(integer))},
          {"lanes", std::to_string(type.lanes)},
          {"bytes", std::to_string(type.lanes * size_of(type.lane))},
          {"lane_bytes", std::to_string(size_of(type.lane))},
          {"size", std::to_string(8 * type.lanes * size_of(type.lane))},
          // All bits but the sign, and those of infinity.
          {"magnitude", type.lane == Lane::f64   ? "0x7fffffffffffffffLL"
                        : type.lane == Lane::f32 ? "0x7fffffff"
                                                 : "(i16)0x7fff"},
          {"infinity", type.lane == Lane::f64 ? "0x7ff0000000000000LL" : "0x7f800000"}};
}

// With the holes of the lesser and of the greater of two.
Holes holes_of(const Type& type, bool lesser) {
  Holes holes = holes_of(type);
  holes.merge(lesser ? Holes{{"word", "min"}, {"open", "least"}, {"op", "<"}, {"no", ""}, {"which", "4"}}
                     : Holes{{"word", "max"}, {"open", "most"}, {"op", ">"}, {"no", "!"}, {"which", "5"}});
  // Of equals: -0 in place of 0 where one of them is, or 0 where one of them is.
  holes.merge(lesser ? Holes{{"joins", "|"}, {"meets", "&"}, {"same", "=="}, {"sign", "<"}}
                     : Holes{{"joins", "&"}, {"meets", "|"}, {"same", "!="}, {"sign", ">="}});
  return holes;
}

std::string streaming_store(const Type& type) {
  Holes holes = holes_of(type);
  const int bytes = type.lanes * size_of(type.lane);
  const auto instruction = [&](const char* macro, const char* builtin, const char* longs) {
    return text_of("stream_instruction", {{"macro", macro}, {"builtin", builtin}, {"longs", longs}});
  };
  holes["instruction"] = bytes == 64   ? instruction("__AVX512F__", "movntdq512", "v8di")
                         : bytes == 32 ? instruction("__AVX__", "movntdq256", "v4di")
                         : bytes == 16 ? instruction("__SSE2__", "movntdq", "v2di")
                                       : "";
  return text_of("stream", holes);
}

std::string fused(const Type& type) {
  Holes holes = holes_of(type);
  const int bytes = type.lanes * size_of(type.lane);
  const bool single = type.lane == Lane::f32;
  holes["precision"] = single ? "s" : "d";
  if (bytes == 64) {
    holes["macro"] = "__AVX512F__", holes["size"] = "512_mask";
    holes["more"] = single ? ", (unsigned short)-1, 4" : ", (unsigned char)-1, 4";
  } else {
    holes["macro"] = "__FMA__", holes["size"] = bytes == 32 ? "256" : "";
    holes["more"] = "";
  }
  holes["instruction"] = bytes == 16 || bytes == 32 || bytes == 64 ? text_of("fused_instruction", holes) : "";
  return text_of("fused", holes);
}

std::string open_extremes(const Type& type) {
  const char* const name = is_float(type.lane) ? "open_extreme" : "extreme_of_integers";
  return text_of(name, holes_of(type, true)) + text_of(name, holes_of(type, false));
}

std::string float_extreme(const Type& type, bool lesser) {
  Holes holes = holes_of(type, lesser);
  const int bytes = type.lanes * size_of(type.lane);
  const bool wide = bytes == 64, single = type.lane == Lane::f32, has = wide || bytes == 16 || bytes == 32;
  holes["precision"] = single ? "s" : "d";
  holes["all"] = wide && single ? "(unsigned short)-1" : "(unsigned char)-1";
  holes["instruction"] = wide  ? text_of("extreme_instruction_of_64_bytes", holes)
                         : has ? text_of("extreme_instruction", holes)
                               : "";
  holes["if"] = has ? "#elif" : "#if";
  return text_of("extreme", holes);
}

std::string extremes(const Type& type) {
  if (!is_float(type.lane)) return open_extremes(type);
  if (type.lanes > 1) return float_extreme(type, true) + float_extreme(type, false);
  const Holes lesser = holes_of(type, true), greater = holes_of(type, false);
  return "#ifdef __clang__\n" + text_of("extreme_of_bits", lesser) + text_of("extreme_of_bits", greater) + "#else\n" +
         text_of("extreme_of_scalars", lesser) + text_of("extreme_of_scalars", greater) + "#endif\n";
}

std::string fields(int count) {
  std::string rows, copies;
  for (int f = 0; f < count; ++f) {
    rows += fmt::format(", const u8* TSR_ALONE from{}", f);
    copies += text_of("copy_field", {{"count", std::to_string(count)}, {"field", std::to_string(f)}});
    copies.pop_back();  // a macro has one line
  }
  return text_of("copy_fields", {{"count", std::to_string(count)}, {"copies", copies}, {"rows", rows}});
}

std::string half_broadcast(const Type& type) {
  Holes holes = holes_of(type);
  for (int k = 0; k < type.lanes; ++k) holes["list"] += k ? ", tsr_s" : "tsr_s";
  return text_of("broadcast", holes);
}

std::string gather(const Type& result, const Type& index) {
  const bool bytes = index.lane == Lane::i64;
  Holes holes = holes_of(result);
  holes["index"] = spell(index);
  holes["from"] = bytes ? "u8" : name_of(result.lane);
  for (int k = 0; k < result.lanes; ++k) {
    holes["list"] += k == 0 ? "" : k % 4 == 0 ? ", \\\n    " : ", ";
    holes["list"] += bytes ? fmt::format("*(const {}*)(const void*)(tsr_from + tsr_o[{}])", name_of(result.lane), k)
                           : fmt::format("tsr_from[tsr_o[{}]]", k);
  }
  return text_of("gather", holes);
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
  for (const Type& t : all) text += text_of("types", holes_of(t));
  for (const Type& t : all)
    if (t.lane == Lane::f16) text += half_broadcast(t);
  for (const Type& t : needs.streams) text += streaming_store(t);
  std::set<Type> fuses = needs.fused;
  for (const ir::FunctionUse& use : needs.functions)
    if (use.lanes > 1) fuses.insert({ir::nest::lane_of(use.type), use.lanes, false});
  for (const Type& t : fuses) text += fused(t);
  for (const Type& t : needs.types_called(Support::products)) text += text_of("add_products", holes_of(t));
  for (const std::string& name : needs.called(Support::fields)) text += fields(name.back() - '0');
  for (const Type& t : needs.selects) text += text_of("pick", holes_of(t));
  for (const Type& t : needs.open_extremes) text += open_extremes(t);
  for (const Type& t : needs.extremes) text += extremes(t);
  for (const Type& t : needs.magnitudes) text += text_of("magnitude", holes_of(t));
  for (const auto& [result, index] : needs.gathers) text += gather(result, index);
  const std::vector<ir::FunctionUse> uses(needs.functions.begin(), needs.functions.end());
  if (!uses.empty()) text += ir::functions_source(ir::FunctionDialect::c, uses, true);
  for (const Type& t : needs.types_called(Support::ranges)) text += ranges_text(t.lane);
  return text;
}

std::string prelude(const Needs& needs) {
  return scalar_prelude(needs) + "#define TSR_GROUP\n#define TSR_PASS TSR_HELPER\n" + vector_prelude(needs);
}

}  // namespace tessera::emit
