// Cutting the function text into sections, and printing those that a program needs with the macros of a dialect.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.hpp"
#include "ir/functions.hpp"

namespace tessera::ir {

namespace detail {
extern const std::string_view functions_f32_text, functions_f64_text;
}

namespace {

bool is_f32(ElementType t) {
  if (t == ElementType::f32) return true;
  if (t == ElementType::f64) return false;
  throw Error(ErrorClass::internal, fmt::format("there are no functions of {}", tessera::name_of(t)));
}

// Comment lines above a marker belong to its section.
std::vector<FunctionSection> cut(std::string_view text) {
  std::vector<FunctionSection> sections;
  constexpr std::string_view kMark = "//@ ";
  std::size_t comment = std::string_view::npos, begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    if (line.starts_with(kMark)) {
      const std::size_t first = comment == std::string_view::npos ? at : comment;
      if (!sections.empty()) sections.back().text = text.substr(begin, first - begin);
      const std::size_t colon = line.find(':');
      FunctionSection s;
      s.name = line.substr(kMark.size(), colon - kMark.size());
      s.needs = base::split_words(line.substr(colon + 1));
      sections.push_back(std::move(s));
      begin = first;
    }
    if (!line.starts_with("//"))
      comment = std::string_view::npos;
    else if (comment == std::string_view::npos)
      comment = at;
    at = end + 1;
  }
  if (!sections.empty()) sections.back().text = text.substr(begin);
  return sections;
}

const std::vector<FunctionSection>& sections_of(ElementType t) {
  static const std::vector<FunctionSection> f32 = cut(detail::functions_f32_text),
                                            f64 = cut(detail::functions_f64_text);
  return is_f32(t) ? f32 : f64;
}

std::string suffix(ElementType t, int lanes) {
  return fmt::format("{}{}", is_f32(t) ? "f32" : "f64", lanes > 1 ? fmt::format("x{}", lanes) : "");
}

// Words of the dialects. {F} {I} are the element types, {x} the suffix of names, {n} lanes, {b} bytes of a vector.
std::string scalar_prelude(FunctionDialect d, bool single) {
  switch (d) {
    case FunctionDialect::c:
      return "static inline {I} tsr_bits_{x}({F} x) {{ union {{ {F} f; {I} i; }} u; u.f = x; return u.i; }}\n"
             "static inline {F} tsr_float_{x}({I} i) {{ union {{ {F} f; {I} i; }} u; u.i = i; return u.f; }}\n"
             "#define FN static inline\n#define BITS(x) tsr_bits_{x}(x)\n#define FLOAT(i) tsr_float_{x}(i)\n"
             "#define SQRT(x) __builtin_sqrt{f}(x)\n";
    case FunctionDialect::cuda:
      return single ? "#define FN static __device__ inline\n#define BITS(x) __float_as_int(x)\n"
                      "#define FLOAT(i) __int_as_float(i)\n#define SQRT(x) sqrtf(x)\n"
                    : "#define FN static __device__ inline\n#define BITS(x) __double_as_longlong(x)\n"
                      "#define FLOAT(i) __longlong_as_double(i)\n#define SQRT(x) __dsqrt_rn(x)\n";
    case FunctionDialect::opencl:
      return single ? "#define FN static\n#define BITS(x) as_int(x)\n#define FLOAT(i) as_float(i)\n"
                      "#define SQRT(x) sqrt(x)\n"
                    : "#define FN static\n#define BITS(x) as_long(x)\n#define FLOAT(i) as_double(i)\n"
                      "#define SQRT(x) sqrt(x)\n";
  }
  return {};
}

// The square roots of a vector. A loop over lanes is vectorised only without -fmath-errno, which an exported file
// cannot ask for, so compilers' own vector functions come first.
std::string vector_root(bool single, int lanes) {
  const int bytes = (single ? 4 : 8) * lanes;
  const char p = single ? 's' : 'd';
  std::string text =
      "#if defined(__clang__) && defined(__has_builtin)\n#if __has_builtin(__builtin_elementwise_sqrt)\n"
      "#define TSR_ROOT(x) __builtin_elementwise_sqrt(x)\n#endif\n";
  if (bytes == 64)
    text += fmt::format(
        "#elif defined(__GNUC__) && defined(__AVX512F__)\n"
        "#define TSR_ROOT(x) __builtin_ia32_sqrtp{p}512_mask(x, x, ({m})-1, 4)\n",
        fmt::arg("p", p), fmt::arg("m", single ? "unsigned short" : "unsigned char"));
  if (bytes == 32)
    text += fmt::format(
        "#elif defined(__GNUC__) && defined(__AVX__)\n#define TSR_ROOT(x) __builtin_ia32_sqrtp{}256(x)\n", p);
  if (bytes == 16)
    text +=
        fmt::format("#elif defined(__GNUC__) && defined(__SSE2__)\n#define TSR_ROOT(x) __builtin_ia32_sqrtp{}(x)\n", p);
  return text + fmt::format(
                    "#endif\n#ifdef TSR_ROOT\n  return TSR_ROOT(x);\n#undef TSR_ROOT\n#else\n"
                    "  for (int k = 0; k < {}; ++k) x[k] = __builtin_sqrt{}(x[k]);\n  return x;\n#endif\n",
                    lanes, single ? "f" : "");
}

constexpr std::string_view kScalarMacros =
    "#define F {F}\n#define I {I}\n#define NAME(x) tsr_##x##_{x}\n#define K(c) ((F)(c))\n#define KI(c) ((I)(c))\n"
    "#define SELECT(m, a, b) ((m) ? (a) : (b))\n#define SELECTI(m, a, b) ((m) ? (a) : (b))\n"
    "#define TO_FLOAT(i) ((F)(i))\n#define ANY(m) (m)\n";

constexpr std::string_view kVectorMacros =
    "typedef {F} tsr_v{x} __attribute__((vector_size({b})));\n"
    "typedef {I} tsr_m{x} __attribute__((vector_size({b})));\n"
    "static inline tsr_v{x} tsr_select_{x}(tsr_m{x} m, tsr_v{x} a, tsr_v{x} b) {{\n"
    "  return (tsr_v{x})(((tsr_m{x})a & m) | ((tsr_m{x})b & ~m));\n}}\n"
    "static inline tsr_v{x} tsr_root_{x}(tsr_v{x} x) {{\n{root}}}\n"
    "static inline int tsr_any_{x}(tsr_m{x} m) {{\n"
    "  {I} any = 0;\n  for (int k = 0; k < {n}; ++k) any |= m[k];\n  return any != 0;\n}}\n"
    "#define FN static inline\n#define F tsr_v{x}\n#define I tsr_m{x}\n#define NAME(x) tsr_##x##_{x}\n"
    "#define K(c) ((F){{0}} + ({F})(c))\n#define KI(c) ((I){{0}} + ({I})(c))\n"
    "#define BITS(x) ((I)(x))\n#define FLOAT(i) ((F)(i))\n"
    "#define SELECT(m, a, b) tsr_select_{x}(m, a, b)\n#define SELECTI(m, a, b) (((a) & (m)) | ((b) & ~(m)))\n"
    "#define SQRT(x) tsr_root_{x}(x)\n#define TO_FLOAT(i) __builtin_convertvector(i, F)\n"
    "#define ANY(m) tsr_any_{x}(m)\n";

constexpr std::string_view kUndefine =
    "#undef FN\n#undef F\n#undef I\n#undef NAME\n#undef K\n#undef KI\n#undef BITS\n#undef FLOAT\n#undef SELECT\n"
    "#undef SELECTI\n#undef SQRT\n#undef TO_FLOAT\n#undef ANY\n";

std::string prelude(FunctionDialect d, ElementType t, int lanes) {
  const bool single = is_f32(t);
  const std::string text =
      lanes > 1 ? std::string(kVectorMacros) : scalar_prelude(d, single) + std::string(kScalarMacros);
  // `long` has 64 bits under LP64 and in OpenCL; elsewhere it takes long long.
  const std::string_view wide = d == FunctionDialect::opencl ? "long" : "long long";
  return fmt::format(fmt::runtime(text), fmt::arg("F", single ? "float" : "double"),
                     fmt::arg("I", single ? "int" : wide), fmt::arg("x", suffix(t, lanes)), fmt::arg("n", lanes),
                     fmt::arg("f", single ? "f" : ""), fmt::arg("root", lanes > 1 ? vector_root(single, lanes) : ""),
                     fmt::arg("b", (single ? 4 : 8) * lanes));
}

}  // namespace

std::string_view functions_text(ElementType t) {
  return is_f32(t) ? detail::functions_f32_text : detail::functions_f64_text;
}

std::vector<FunctionSection> sections_for(Op op, ElementType t) {
  if (!is_function(op)) throw Error(ErrorClass::internal, fmt::format("'{}' is not a function of floats", name_of(op)));
  const auto& all = sections_of(t);
  // A section calls only sections above it: one pass from below marks what is needed.
  std::vector<std::string_view> wanted{name_of(op)};
  std::vector<FunctionSection> found;
  for (auto s = all.rbegin(); s != all.rend(); ++s) {
    if (std::find(wanted.begin(), wanted.end(), s->name) == wanted.end()) continue;
    wanted.insert(wanted.end(), s->needs.begin(), s->needs.end());
    found.push_back(*s);
  }
  std::reverse(found.begin(), found.end());
  return found;
}

std::string function_name(Op op, ElementType t, int lanes) {
  return fmt::format("tsr_{}_{}", name_of(op), suffix(t, lanes));
}

std::string functions_source(FunctionDialect dialect, std::vector<FunctionUse> uses) {
  std::map<std::pair<ElementType, int>, std::vector<std::string_view>> wanted;
  for (const FunctionUse& u : uses) {
    if (u.lanes < 1 || (u.lanes > 1 && dialect != FunctionDialect::c))
      throw Error(ErrorClass::internal, fmt::format("there are no functions of {} lanes in this dialect", u.lanes));
    auto& names = wanted[{u.type, u.lanes}];
    for (const FunctionSection& s : sections_for(u.op, u.type)) names.push_back(s.name);
  }
  std::string out;
  for (const auto& [kind, names] : wanted) {
    out += prelude(dialect, kind.first, kind.second);
    for (const FunctionSection& s : sections_of(kind.first))
      if (std::find(names.begin(), names.end(), s.name) != names.end()) out += s.text;
    out += kUndefine;
  }
  return out;
}

}  // namespace tessera::ir
