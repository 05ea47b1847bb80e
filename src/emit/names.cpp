// Keywords and library names, for safe_name and check_entry_name.
#include "emit/names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>

#include "base/text.hpp"
#include "tessera/error.hpp"

namespace tessera::emit {

namespace {

// Of C17 and C++20, and the words that GCC defines as macros in its own dialects.
constexpr std::string_view keywords =
    " alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t char8_t class "
    "co_await"
    " co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype default delete "
    "do"
    " double dynamic_cast else enum explicit export extern false float for friend goto i386 if inline int linux long "
    "mutable"
    " namespace new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast "
    "requires"
    " restrict return short signed sizeof static static_assert static_cast struct switch template this thread_local "
    "throw true"
    " try typedef typeid typename typeof union unix unsigned using virtual void volatile wchar_t while xor xor_eq i64 ";

// Functions that compilers know: another meaning for one of these draws a warning or breaks its callers.
constexpr std::string_view library =
    " NULL size_t stderr stdin stdout abort abs acos acosh asin asinh atan atan2 atanh atof atoi atol bcmp bcopy bzero "
    "calloc cbrt ceil clock copysign cos "
    "cosh div"
    " erf erfc exit exp exp2 expm1 fabs fdim ffs floor fma fmax fmin fmod fprintf fputc fputs free frexp fwrite gamma "
    "getenv hypot"
    " ilogb index isalnum isalpha isdigit isinf isfinite isnan j0 j1 jn labs ldexp ldiv lgamma log log10 log1p log2 "
    "logb lrint "
    "lround main"
    " malloc memchr memcmp memcpy memmove memset modf nan nearbyint nextafter pow printf putchar puts realloc "
    "remainder remove rename"
    " remquo rindex rint round scalb scalbn scanf significand signbit sin sincos sinh snprintf sprintf sqrt sscanf "
    "stpcpy"
    " strcat strchr strcmp strcpy strcspn strdup strlen strncat strncmp strncpy strpbrk strrchr strspn strstr system"
    " tan tanh tgamma time tolower toupper trunc vfprintf vprintf y0 y1 yn ";

bool lists(std::string_view words, std::string_view word) {
  return words.find(fmt::format(" {} ", word)) != std::string_view::npos;
}

// i8 ... u64, f16 ... f64, vectors of them, and the library's names for float.
bool is_type_word(std::string_view word) {
  if (word.size() < 2 || std::string_view("iuf").find(word[0]) == std::string_view::npos) return false;
  return std::all_of(word.begin() + 1, word.end(),
                     [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0 || c == 'x'; });
}

bool is_library(std::string_view word) {
  return lists(library, word) || (word.ends_with('f') && lists(library, word.substr(0, word.size() - 1)));
}

bool is_reserved(std::string_view word) {
  return lists(keywords, word) || word.starts_with("tsr_") || word.starts_with("TSR_") || word.starts_with("__") ||
         (word.size() > 1 && word[0] == '_' && std::isupper(static_cast<unsigned char>(word[1])) != 0);
}

bool continues_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool is_identifier(std::string_view word) {
  auto starts = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  return !word.empty() && word.size() <= 200 && starts(word[0]) &&
         std::all_of(word.begin(), word.end(), continues_name);
}

}  // namespace

std::string safe_name(std::string_view name) {
  if (is_reserved(name) && (name[0] == '_' || name.starts_with("tsr_") || name.starts_with("TSR_")))
    return fmt::format("x{}", name);
  return fmt::format("{}{}", name, is_reserved(name) ? "_" : "");
}

void check_entry_name(std::string_view name) {
  std::string why;
  if (!is_identifier(name))
    why = "is not a name in C; expected letters, digits and _, a letter first";
  else if (is_reserved(name) || is_type_word(name))
    why = "has a meaning of its own in the emitted code or in C; expected a free name";
  else if (is_library(name))
    why = "is a function of the C library; expected a free name";
  if (!why.empty())
    throw Error(ErrorClass::argument,
                fmt::format("the entry point cannot be called {}: it {}", base::quoted(std::string(name)), why), {},
                "name it otherwise, as in --name my_filter");
}

std::string map_identifiers(std::string_view text, const std::function<std::string(std::string_view)>& fn) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t k = 0; k < text.size();) {
    std::size_t end = k;
    while (end < text.size() && continues_name(text[end])) ++end;
    if (end == k)
      out += text[k++];
    else
      out += fn(text.substr(k, end - k));
    k = std::max(k, end);
  }
  return out;
}

}  // namespace tessera::emit
