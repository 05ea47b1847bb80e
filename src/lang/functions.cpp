// The tables of words.
#include "lang/functions.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace tessera::lang {
namespace {

using ir::Op;

constexpr std::array<std::pair<std::string_view, ElementType>, 11> types = {{{"double", ElementType::f64},
                                                                             {"float", ElementType::f32},
                                                                             {"half", ElementType::f16},
                                                                             {"int", ElementType::i32},
                                                                             {"int32", ElementType::i32},
                                                                             {"uint32", ElementType::u32},
                                                                             {"int16", ElementType::i16},
                                                                             {"uint16", ElementType::u16},
                                                                             {"uint8", ElementType::u8},
                                                                             {"int8", ElementType::u8},
                                                                             {"bool", ElementType::boolean}}};

constexpr std::array<Builtin, 33> builtins = {{
    {"sqrt", Op::sqrt, 1},   {"exp", Op::exp, 1},     {"log", Op::log, 1},     {"sin", Op::sin, 1},
    {"cos", Op::cos, 1},     {"tan", Op::tan, 1},     {"asin", Op::asin, 1},   {"acos", Op::acos, 1},
    {"atan", Op::atan, 1},   {"sinh", Op::sinh, 1},   {"cosh", Op::cosh, 1},   {"tanh", Op::tanh, 1},
    {"exp2", Op::exp2, 1},   {"log2", Op::log2, 1},   {"log10", Op::log10, 1}, {"cbrt", Op::cbrt, 1},
    {"floor", Op::floor, 1}, {"ceil", Op::ceil, 1},   {"round", Op::round, 1}, {"trunc", Op::trunc, 1},
    {"abs", Op::abs, 1},     {"fabs", Op::abs, 1},    {"absd", Op::abs, 1},    {"max", Op::max, 2},
    {"min", Op::min, 2},     {"fmax", Op::max, 2},    {"fmin", Op::min, 2},    {"pow", Op::pow, 2},
    {"atan2", Op::atan2, 2}, {"hypot", Op::hypot, 2}, {"fmod", Op::fmod, 2},   {"xor", Op::bit_xor, 2, true},
    {"clamp", Op::min, 3},
}};

// The names of OpenCL.
constexpr std::array<IntegerFunction, 5> integer_functions = {{{"popcount", IntegerFunction::popcount, 1},
                                                               {"clz", IntegerFunction::clz, 1},
                                                               {"mulhi", IntegerFunction::mulhi, 2},
                                                               {"hadd", IntegerFunction::hadd, 2},
                                                               {"rhadd", IntegerFunction::rhadd, 2}}};

constexpr std::array<Reduction, 8> reductions = {{{"sum", Op::reduce_sum},
                                                  {"prod", Op::reduce_prod},
                                                  {"min", Op::reduce_min},
                                                  {"max", Op::reduce_max},
                                                  {"median", Op::reduce_median},
                                                  {"rank", Op::reduce_rank, true},
                                                  {"any", Op::reduce_any},
                                                  {"all", Op::reduce_all}}};

constexpr std::array<std::pair<std::string_view, BorderMode>, 7> modes = {{{"clamped", BorderMode::clamp},
                                                                           {"extend", BorderMode::clamp},
                                                                           {"mirror", BorderMode::mirror},
                                                                           {"symmetric", BorderMode::symmetric},
                                                                           {"wrap", BorderMode::wrap},
                                                                           {"constant", BorderMode::constant},
                                                                           {"none", BorderMode::none}}};

// `reflect` is symmetric to SciPy and OpenCV, mirror to NumPy and PyTorch: both are named.
constexpr std::array<std::pair<std::string_view, std::string_view>, 10> synonyms = {
    {{"replicate", "clamped"},
     {"nearest", "clamped"},
     {"edge", "clamped"},
     {"clamp", "clamped"},
     {"reflect", "symmetric (c b a | a b c) or mirror (c b | a b c)"},
     {"reflect101", "mirror"},
     {"periodic", "wrap"},
     {"circular", "wrap"},
     {"zero", "constant(0)"},
     {"valid", "none"}}};

const Builtin* exact_builtin(std::string_view name) {
  const auto* found = std::find_if(builtins.begin(), builtins.end(), [&](const Builtin& b) { return b.name == name; });
  return found == builtins.end() ? nullptr : found;
}

}  // namespace

std::optional<ElementType> find_type(std::string_view name) {
  for (const auto& [word, type] : types)
    if (word == name) return type;
  return std::nullopt;
}

std::vector<std::string> type_words() {
  std::vector<std::string> all;
  for (const auto& [word, type] : types) all.emplace_back(word);
  return all;
}

// The C names with a trailing f are accepted: sqrtf, fabsf, powf, ...
const Builtin* find_builtin(std::string_view name) {
  if (const Builtin* b = exact_builtin(name)) return b;
  if (name.size() > 1 && name.back() == 'f') {
    const Builtin* b = exact_builtin(name.substr(0, name.size() - 1));
    if (b != nullptr && !b->integer_only && b->op != Op::min && b->op != Op::max) return b;
    if (name == "fminf" || name == "fmaxf") return b;
  }
  return nullptr;
}

std::vector<std::string> builtin_words() {
  std::vector<std::string> all;
  for (const Builtin& b : builtins) all.emplace_back(b.name);
  for (const IntegerFunction& f : integer_functions) all.emplace_back(f.name);
  for (const Reduction& r : reductions) all.emplace_back(r.name);
  return all;
}

const IntegerFunction* find_integer_function(std::string_view name) {
  const auto* found = std::find_if(integer_functions.begin(), integer_functions.end(),
                                   [&](const IntegerFunction& f) { return f.name == name; });
  return found == integer_functions.end() ? nullptr : found;
}

const Reduction* find_reduction(std::string_view name) {
  const auto* found =
      std::find_if(reductions.begin(), reductions.end(), [&](const Reduction& r) { return r.name == name; });
  return found == reductions.end() ? nullptr : found;
}

std::optional<BorderMode> find_mode(std::string_view name) {
  for (const auto& [word, mode] : modes)
    if (word == name) return mode;
  return std::nullopt;
}

std::vector<std::string> mode_words() {
  std::vector<std::string> all;
  for (const auto& [word, mode] : modes) all.emplace_back(word);
  return all;
}

std::string_view mode_synonym(std::string_view name) {
  for (const auto& [word, ours] : synonyms)
    if (word == name) return ours;
  return {};
}

}  // namespace tessera::lang
