// Cutting the function text into sections, and printing those that a program needs with the macros of a dialect.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "base/process/fork.hpp"
#include "base/text.hpp"
#include "ir/functions/functions.hpp"

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
  static constinit base::Once<std::vector<FunctionSection>> f32, f64;
  return is_f32(t) ? f32.get([] { return cut(detail::functions_f32_text); })
                   : f64.get([] { return cut(detail::functions_f64_text); });
}

std::string suffix(ElementType t, int lanes) {
  return fmt::format("{}{}", is_f32(t) ? "f32" : "f64", lanes > 1 ? fmt::format("x{}", lanes) : "");
}

// Bits of a scalar, and its root. Casts of Clang are no functions: see hidden(). Roots call nothing, where compilers
// call the library's for the sake of errno, which no pragma switches off: they are the processor's, or where nobody
// said how to ask it digit by digit, which is as exact.
constexpr std::string_view kScalarBits =
    "#ifdef __clang__\nunion tsr_of_float_{x} {{ {F} f; {I} i; }};\nunion tsr_of_bits_{x} {{ {I} i; {F} f; }};\n"
    "#define tsr_bits_{x}(x) (((union tsr_of_float_{x}){{({F})(x)}}).i)\n"
    "#define tsr_float_{x}(x) (((union tsr_of_bits_{x}){{({I})(x)}}).f)\n#else\n"
    "static inline TSR_FP {I} tsr_bits_{x}({F} x) {{ union {{ {F} f; {I} i; }} u; u.f = x; return u.i; }}\n"
    "static inline TSR_FP {F} tsr_float_{x}({I} i) {{ union {{ {F} f; {I} i; }} u; u.i = i; return u.f; }}\n#endif\n";
constexpr std::string_view kScalarRoot =
    "#if defined(__clang__) && defined(__has_builtin)\n#if __has_builtin(__builtin_elementwise_sqrt)\n"
    "#define tsr_root_{x}(x) __builtin_elementwise_sqrt(x)\n#endif\n"
    "#endif\n#ifdef tsr_root_{x}\n#elif defined(__clang__) && defined(__SSE2__)\n"
    "static inline TSR_FP {I} tsr_own_root_{x}({I} i) {{\n  {F} x = tsr_float_{x}(i);\n"
    "  __asm__(\"sqrts{p} %0, %0\" : \"+x\"(x));\n  return tsr_bits_{x}(x);\n}}\n"
    "#define tsr_root_{x}(x) tsr_float_{x}(tsr_own_root_{x}(tsr_bits_{x}(x)))\n"
    "#elif defined(__GNUC__) && defined(__SSE2__)\n"
    "typedef {F} tsr_four_{x} __attribute__((vector_size(16)));\n"
    "#define tsr_root_{x}(x) (__builtin_ia32_sqrts{p}((tsr_four_{x}){{({F})(x)}})[0])\n"
    "#elif defined(__GNUC__) && (defined(__aarch64__) || defined(__riscv_fdiv))\n"
    "static inline TSR_FP {I} tsr_own_root_{x}({I} i) {{\n  {F} x = tsr_float_{x}(i);\n#ifdef __aarch64__\n"
    "  __asm__(\"fsqrt %{p}0, %{p}1\" : \"=w\"(x) : \"w\"(x));\n#else\n"
    "  __asm__(\"fsqrt.{p} %0, %1\" : \"=f\"(x) : \"f\"(x));\n#endif\n  return tsr_bits_{x}(x);\n}}\n"
    "#define tsr_root_{x}(x) tsr_float_{x}(tsr_own_root_{x}(tsr_bits_{x}(x)))\n#endif\n"
    "#if !defined(tsr_root_{x}) || defined(TESSERA_PLAIN_ROOTS)\n#undef tsr_root_{x}\n"
    "static inline TSR_FP {I} tsr_plain_root_{x}({I} i) {{\n"
    "  {I} k, q = 0, s = 0, bit = ({I})1 << ({m} + 1);\n"
    "  if (i << 1 == 0 || i == {inf}) return i;\n"
    "  if (i < 0 || i > {inf}) return {nan};\n"
    "  k = i >> {m};\n  i &= (({I})1 << {m}) - 1;\n"
    "  if (k == 0) for (k = 1; !(i >> {m}); --k) i <<= 1;\n"
    "  i |= ({I})1 << {m};\n  k -= {bias};\n  if (k & 1) i <<= 1;\n  i <<= 1;\n  k >>= 1;\n"
    "  for (; bit; bit >>= 1, i <<= 1)\n    if (s + bit <= i) s += bit, i -= s, s += bit, q += bit;\n"
    "  if (i) q += q & 1;\n  return (q >> 1) + (({I})({bias} - 1) << {m}) + k * (({I})1 << {m});\n}}\n"
    "#define tsr_root_{x}(x) tsr_float_{x}(tsr_plain_root_{x}(tsr_bits_{x}(x)))\n#endif\n";

// Words of the dialects. {F} {I} are the element types, {x} the suffix of names, {n} lanes, {b} bytes of a vector.
std::string scalar_prelude(FunctionDialect d, bool single) {
  switch (d) {
    case FunctionDialect::c:
      return std::string(kScalarBits) + std::string(kScalarRoot) +
             "#define FN static inline TSR_FP\n#define BITS(x) tsr_bits_{x}(x)\n#define FLOAT(i) tsr_float_{x}(i)\n"
             "#define SQRT(x) tsr_root_{x}(x)\n";
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

// The square roots of a vector, without a call: compilers call the library's for -fmath-errno, and a loop over lanes is
// no vector then, so compilers' own vector functions come first. (Those of Clang 14 would be as fast as a flag says.)
std::string vector_root(bool single, int lanes) {
  const int bytes = (single ? 4 : 8) * lanes;
  const char p = single ? 's' : 'd';
  std::string text =
      "#if defined(__clang__) && defined(__has_builtin)\n#if __has_builtin(__builtin_elementwise_sqrt)\n"
      "#define TSR_ROOT(x) __builtin_elementwise_sqrt(x)\n#endif\n#endif\n";
  std::string feature, call;
  if (bytes == 64)
    feature = "__AVX512F__", call = fmt::format("__builtin_ia32_sqrtp{}512_mask(x, x, ({})-1, 4)", p,
                                                single ? "unsigned short" : "unsigned char");
  if (bytes == 32) feature = "__AVX__", call = fmt::format("__builtin_ia32_sqrtp{}256(x)", p);
  if (bytes == 16) feature = "__SSE2__", call = fmt::format("__builtin_ia32_sqrtp{}(x)", p);
  if (!call.empty())
    text += fmt::format("#if !defined(__clang__) && defined(__GNUC__) && defined({})\n#define TSR_ROOT(x) {}\n#endif\n",
                        feature, call);
  return text + fmt::format(
                    "#ifdef TSR_ROOT\n  return (tsr_m{0})TSR_ROOT((tsr_v{0})a);\n#undef TSR_ROOT\n#else\n"
                    "  tsr_v{0} x = (tsr_v{0})a;\n"
                    "  for (int k = 0; k < {1}; ++k) x[k] = tsr_root_{2}(x[k]);\n  return (tsr_m{0})x;\n#endif\n",
                    suffix(single ? ElementType::f32 : ElementType::f64, lanes), lanes, single ? "f32" : "f64");
}

// Clang says of every float that a function is given or gives that it is no NaN where a flag asks for finite numbers,
// whatever pragma stands above the function (nofpclass), and lets calls compute as the flags say. So with Clang the
// functions take bits and give bits: casts that cost nothing, around each call by a macro of the function's name.
std::string open_function(std::string_view line, std::string_view name, bool gives_float) {
  std::string text, opened;
  const std::size_t first = line.find(")(") + 2, last = line.find(") {", first);
  text = fmt::format("FN {} NAME({})(", gives_float ? "TSR_V" : "I", name);
  for (std::size_t at = first; at < last;) {
    const std::size_t end = std::min(line.find(", ", at), last);
    const std::string_view parameter = line.substr(at, end - at);
    if (at > first) text += ", ";
    if (parameter.starts_with("F ")) {
      text += fmt::format("TSR_V TSR_P({})", parameter.substr(2));
      opened += fmt::format(" TSR_GET({})", parameter.substr(2));
    } else {
      text += parameter;
    }
    at = end + 2;
  }
  return text + ") {" + opened + std::string(line.substr(last + 3));
}

// `return E;` as `return TSR_PUT(E);`.
std::string closed(std::string text) {
  constexpr std::string_view kReturn = "return ";
  for (std::size_t at = text.find(kReturn); at != std::string::npos; at = text.find(kReturn, at)) {
    at += kReturn.size();
    text.insert(at, "TSR_PUT(");
    text.insert(text.find(';', at), ")");
  }
  return text;
}

std::string call_macro(std::string_view line, std::string_view name, bool gives_float, const std::string& x,
                       bool vector) {
  const std::string bits = vector ? fmt::format("((tsr_m{})({{}}))", x) : fmt::format("tsr_bits_{}({{}})", x);
  const std::size_t first = line.find(")(") + 2, last = line.find(") {", first);
  std::string names, values;
  for (std::size_t at = first; at < last;) {
    const std::size_t end = std::min(line.find(", ", at), last);
    const std::string parameter(line.substr(at + 2, end - at - 2));
    names += (names.empty() ? "" : ", ") + parameter;
    values += (values.empty() ? "" : ", ") +
              (line[at] == 'F' ? fmt::format(fmt::runtime(bits), parameter) : fmt::format("({})", parameter));
    at = end + 2;
  }
  const std::string call = fmt::format("(tsr_{}_{})({})", name, x, values);
  return fmt::format("#ifdef __clang__\n#define tsr_{}_{}({}) {}\n#endif\n", name, x, names,
                     !gives_float ? fmt::format("({})", call)
                     : vector     ? fmt::format("((tsr_v{})({}))", x, call)
                                  : fmt::format("tsr_float_{}({})", x, call));
}

bool continues_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
}

// Behind what stands at `at`: words, and groups in parentheses that follow each other, as K(2.0) or (I)(x).
std::size_t end_of_operand(std::string_view text, std::size_t at) {
  for (;;) {
    const std::size_t begin = at;
    while (at < text.size() && continues_word(text[at])) {
      const bool exponent = text[at] == 'e' && at + 1 < text.size() && (text[at + 1] == '-' || text[at + 1] == '+') &&
                            std::isdigit(static_cast<unsigned char>(text[begin])) != 0;
      at += exponent ? 2 : 1;
    }
    if (at < text.size() && text[at] == '(') {
      int depth = 0;
      do depth += text[at] == '(' ? 1 : text[at] == ')' ? -1 : 0;
      while (++at < text.size() && depth > 0);
    }
    if (at == begin) return at;
  }
}

std::string without_comments(std::string_view text) {
  std::string out;
  for (const std::string_view line : base::split(text, '\n'))
    if (!line.starts_with("//") && !line.empty()) out += std::string(line) + "\n";
  return out;
}

// Products of floats as TSR_PRODUCT(a * b): what keeps one from joining a sum, where a pragma does not.
std::string with_products(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = end_of_operand(text, at);
    if (end == at) {
      out += text[at++];
      continue;
    }
    std::size_t last = end, next = end;
    bool integers = text.substr(at).starts_with("KI("), product = false;
    while (text.substr(next).starts_with(" * ") || text.substr(next).starts_with(" / ")) {
      product |= text[next + 1] == '*';
      integers |= text.substr(next + 3).starts_with("KI(");
      last = next = end_of_operand(text, next + 3);
    }
    const std::string_view chain = text.substr(at, last - at);
    // Inside an operand there may be more.
    std::string inner;
    for (std::size_t k = 0; k < chain.size();) {
      const std::size_t open = chain.find('(', k);
      if (open == std::string_view::npos) {
        inner += chain.substr(k);
        break;
      }
      std::size_t close = open;
      int depth = 0;
      do depth += chain[close] == '(' ? 1 : chain[close] == ')' ? -1 : 0;
      while (++close < chain.size() && depth > 0);
      inner +=
          std::string(chain.substr(k, open + 1 - k)) + with_products(chain.substr(open + 1, close - open - 2)) + ")";
      k = close;
    }
    out += product && !integers ? "TSR_PRODUCT(" + inner + ")" : inner;
    at = last;
  }
  return out;
}

// A section whose functions take and give bits where the compiler is Clang.
std::string hidden(std::string_view section, const std::string& x, bool vector) {
  std::string out;
  for (std::size_t at = 0; at < section.size();) {
    std::size_t end = std::min(section.find('\n', at), section.size() - 1) + 1;
    std::string_view line = section.substr(at, end - at);
    if (line.starts_with("FN ")) {
      const std::size_t open = line.find("NAME(") + 5;
      const std::string_view name = line.substr(open, line.find(')', open) - open);
      const bool gives_float = line[3] == 'F';
      if (!line.ends_with("}\n")) end = section.find("\n}\n", at) + 3;
      std::string body = open_function(section.substr(at, end - at), name, gives_float);
      out += gives_float ? closed(std::move(body)) : body;
      out += call_macro(line, name, gives_float, x, vector);
    } else {
      out += line;
    }
    at = end;
  }
  return out;
}

constexpr std::string_view kScalarMacros =
    "#define F {F}\n#define I {I}\n#define NAME(x) tsr_##x##_{x}\n#define K(c) ((F)(c))\n#define KI(c) ((I)(c))\n"
    "{select}#define SELECTI(m, a, b) ((m) ? (a) : (b))\n"
    "#define TO_FLOAT(i) ((F)(i))\n#define ANY(m) (m)\n";

constexpr std::string_view kVectorMacros =
    "typedef {F} tsr_v{x} __attribute__((vector_size({b})));\n"
    "typedef {I} tsr_m{x} __attribute__((vector_size({b})));\n"
    "static inline TSR_FP tsr_m{x} tsr_select_{x}(tsr_m{x} m, tsr_m{x} a, tsr_m{x} b) {{ return (a & m) | (b & ~m); "
    "}}\n"
    "static inline TSR_FP tsr_m{x} tsr_root_{x}(tsr_m{x} a) {{\n{root}}}\n"
    "static inline TSR_FP int tsr_any_{x}(tsr_m{x} m) {{\n"
    "  {I} any = 0;\n  for (int k = 0; k < {n}; ++k) any |= m[k];\n  return any != 0;\n}}\n"
    "#define FN static inline TSR_FP\n#define F tsr_v{x}\n#define I tsr_m{x}\n#define NAME(x) tsr_##x##_{x}\n"
    "#define K(c) ((F){{0}} + ({F})(c))\n#define KI(c) ((I){{0}} + ({I})(c))\n"
    "#define BITS(x) ((I)(x))\n#define FLOAT(i) ((F)(i))\n"
    "#define SELECT(m, a, b) ((F)tsr_select_{x}(m, (I)(a), (I)(b)))\n#define SELECTI(m, a, b) (((a) & (m)) | ((b) & "
    "~(m)))\n"
    "#define SQRT(x) ((F)tsr_root_{x}((I)(x)))\n#define TO_FLOAT(i) __builtin_convertvector(i, F)\n"
    "#define ANY(m) tsr_any_{x}(m)\n";

constexpr std::string_view kUndefine =
    "#undef FN\n#undef F\n#undef I\n#undef NAME\n#undef K\n#undef KI\n#undef BITS\n#undef FLOAT\n#undef SELECT\n"
    "#undef SELECTI\n#undef SQRT\n#undef MULADD\n#undef TO_FLOAT\n#undef ANY\n";

constexpr std::string_view kHidden =
    "#ifdef __clang__\n#define TSR_V I\n#define TSR_P(x) x##_\n#define TSR_GET(x) F x = FLOAT(x##_);\n"
    "#define TSR_PUT(x) BITS(x)\n#else\n#define TSR_V F\n#define TSR_P(x) x\n#define TSR_GET(x)\n#define TSR_PUT(x) "
    "x\n#endif\n";
constexpr std::string_view kUndefineHidden =
    "#undef TSR_V\n#undef TSR_P\n#undef TSR_GET\n#undef TSR_PUT\n#undef TSR_PRODUCT\n";

// a * b + c. In C it is `exact` text that has it rounded twice.
std::string multiply_add(FunctionDialect d, const std::string& x, bool fuses) {
  if (d == FunctionDialect::c) {
    const std::string plain = "#define MULADD(a, b, c) (TSR_PRODUCT((a) * (b)) + (c))\n";
    return fuses ? fmt::format("#ifdef TSR_EXACT\n{}#else\n#define MULADD(a, b, c) tsr_fused_{}(a, b, c)\n#endif\n",
                               plain, x)
                 : plain;
  }
  if (!fuses) return "#define MULADD(a, b, c) ((a) * (b) + (c))\n";
  return fmt::format("#define MULADD(a, b, c) {}(a, b, c)\n", d == FunctionDialect::cuda ? "fma" : "tsr_fused");
}

std::string prelude(FunctionDialect d, ElementType t, int lanes) {
  const bool single = is_f32(t);
  const std::string text =
      lanes > 1 ? std::string(kVectorMacros) : scalar_prelude(d, single) + std::string(kScalarMacros);
  // `long` has 64 bits under LP64 and in OpenCL; elsewhere it takes long long.
  const std::string_view wide = d == FunctionDialect::opencl ? "long" : "long long";
  return fmt::format(
      fmt::runtime(text), fmt::arg("F", single ? "float" : "double"), fmt::arg("I", single ? "int" : wide),
      fmt::arg("x", suffix(t, lanes)), fmt::arg("n", lanes), fmt::arg("f", single ? "f" : ""),
      fmt::arg("p", single ? "s" : "d"),
      fmt::arg("select", d != FunctionDialect::c
                             ? "#define SELECT(m, a, b) ((m) ? (a) : (b))\n"
                             : "#ifdef __clang__\n#define SELECT(m, a, b) FLOAT((m) ? BITS(a) : BITS(b))\n"
                               "#else\n#define SELECT(m, a, b) ((m) ? (a) : (b))\n#endif\n"),
      fmt::arg("m", single ? 23 : 52), fmt::arg("bias", single ? 127 : 1023),
      fmt::arg("inf", single ? "0x7f800000" : "0x7ff0000000000000LL"),
      fmt::arg("nan", single ? "0x7fc00000" : "0x7ff8000000000000LL"),
      fmt::arg("root", lanes > 1 ? vector_root(single, lanes) : ""), fmt::arg("b", (single ? 4 : 8) * lanes));
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

std::string product_name(int bytes, int lanes) {
  return fmt::format("tsr_product_{}", lanes == 1 ? 1 : bytes < 16 || bytes > 64 ? 128 : bytes);
}

std::string function_name(Op op, ElementType t, int lanes) {
  return fmt::format("tsr_{}_{}", name_of(op), suffix(t, lanes));
}

std::string functions_source(FunctionDialect dialect, std::vector<FunctionUse> uses, bool fuses) {
  std::map<std::pair<ElementType, int>, std::vector<std::string_view>> wanted;
  for (const FunctionUse& u : uses) {
    if (u.lanes < 1 || (u.lanes > 1 && dialect != FunctionDialect::c))
      throw Error(ErrorClass::internal, fmt::format("there are no functions of {} lanes in this dialect", u.lanes));
    auto& names = wanted[{u.type, u.lanes}];
    for (const FunctionSection& s : sections_for(u.op, u.type)) names.push_back(s.name);
  }
  const bool hides = dialect == FunctionDialect::c;
  // What stands before functions of floats: the frame of emitted files may have more to say.
  std::string out;
  if (hides) {
    out = "#ifndef TSR_FP\n#define TSR_FP\n#endif\n#ifndef tsr_product_1\n";
    for (const int bytes : {1, 16, 32, 64, 128}) out += fmt::format("#define tsr_product_{}(x) (x)\n", bytes);
    out += "#endif\n";
  }
  // Scalars first: roots of vectors may be theirs.
  if (hides)
    for (const ElementType t : {ElementType::f32, ElementType::f64})
      if (std::any_of(wanted.begin(), wanted.end(), [&](const auto& w) { return w.first.first == t; }))
        wanted.try_emplace({t, 1});
  for (const auto& [kind, names] : wanted) {
    out += prelude(dialect, kind.first, kind.second) + multiply_add(dialect, suffix(kind.first, kind.second), fuses);
    if (hides)
      out += std::string(kHidden) + fmt::format("#define TSR_PRODUCT {}\n",
                                                product_name((is_f32(kind.first) ? 4 : 8) * kind.second, kind.second));
    for (const FunctionSection& s : sections_of(kind.first)) {
      if (std::find(names.begin(), names.end(), s.name) == names.end()) continue;
      if (hides)
        out += hidden(with_products(without_comments(s.text)), suffix(kind.first, kind.second), kind.second > 1);
      else
        out += s.text;
    }
    out += kUndefine;
    if (hides) out += kUndefineHidden;
  }
  return out;
}

}  // namespace tessera::ir
