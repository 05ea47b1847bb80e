// Images and the values read from them: the expressions of which pipelines are made. See pipeline.hpp.
//
// A Value<T> is computed at every point of the stage that it becomes. Types follow C++: integers narrower than 32 bits
// are computed as int, float + double is double. Functions are found by their arguments (sqrt, min, select, cast, ...),
// so that no using is needed.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tessera/array.hpp"
#include "tessera/border.hpp"

namespace tessera {

template <class T>
class Value;
template <class T>
class Image;
class Offset;

struct Range {  // of a window variable, both ends included
  int lo = 0, hi = 0;
};

// Element types of images.
template <class T>
concept Element = requires { detail::element_of<T>::value; };

namespace detail {

struct Builder;
using Shared = std::shared_ptr<Builder>;

// A node of the graph under construction.
struct Node {
  Shared builder;
  std::uint32_t id = 0;
};

struct Term {
  std::uint32_t variable = 0;
  i64 factor = 1;
};

struct View {  // an image as one use sees it
  Shared builder;
  std::uint32_t stage = 0;
  std::vector<Border> borders;
  std::vector<i64> strides;
};

Node constant(const Shared&, ElementType, double value);
Node convert(ElementType, const Node&);
Node saturate(ElementType, const Node&);
// An operation by its name in the text form of graphs: "add", "lt", "sqrt". Operands are promoted.
Node apply(std::string_view operation, std::initializer_list<Node>);
Node select(const Node& condition, const Node& a, const Node& b);
Node read(const View&, const std::vector<Offset>&);
Node gather(const View&, const std::vector<Node>&);
Node lookup(const Shared&, std::uint32_t table, const std::vector<Node>&);
Node only_element(const View&);  // of an image of one element
Node from_offset(const Offset&);
// Over variables of new_variables.
Node reduce(std::string_view operation, const std::vector<std::uint32_t>& variables, const Node& body);
// Throws where there are not `expected` ranges.
std::vector<std::uint32_t> new_variables(const Shared&, const std::vector<Range>&, std::size_t expected);
View with_borders(View, std::vector<Border>);
View with_strides(View, std::vector<i64>);
int rank_of(const View&);

// The type in which C++ constants and narrow elements take part in arithmetic.
template <class T>
using computed = std::conditional_t<std::is_floating_point_v<T> || std::same_as<T, std::uint32_t>, T, std::int32_t>;
template <class A, class B>
using promoted = std::conditional_t<
    std::same_as<A, double> || std::same_as<B, double>, double,
    std::conditional_t<std::same_as<A, float> || std::same_as<B, float>, float,
                       std::conditional_t<std::same_as<A, std::uint32_t> || std::same_as<B, std::uint32_t>,
                                          std::uint32_t, std::int32_t>>>;

template <class X>
struct operand {};  // C++ numbers that an expression may hold
template <class X>
  requires(std::is_arithmetic_v<X> && (std::is_floating_point_v<X> ? sizeof(X) <= 8 : sizeof(X) <= 4))
struct operand<X> {
  using type =
      computed<std::conditional_t<std::is_integral_v<X> && std::is_unsigned_v<X> && sizeof(X) == 4, std::uint32_t, X>>;
  static constexpr bool symbolic = false;
};
template <class T>
struct operand<Value<T>> {
  using type = T;
  static constexpr bool symbolic = true;
};
template <class T>
struct operand<Image<T>> {
  using type = T;
  static constexpr bool symbolic = true;
};
template <>
struct operand<Offset> {
  using type = std::int32_t;
  static constexpr bool symbolic = true;
};

template <class X>
concept Operand = requires { typename operand<X>::type; };
template <class X>
concept Symbolic = Operand<X> && operand<X>::symbolic;
template <class... X>
concept Operands = (Operand<X> && ...) && (Symbolic<X> || ...);
template <class X>
concept Integral = Operand<X> && std::integral<typename operand<X>::type>;
// Sums and multiples of window variables stay offsets.
template <class A, class B>
concept Affine = (std::same_as<A, Offset> || std::integral<A>) && (std::same_as<B, Offset> || std::integral<B>);

template <Operand X>
using type_of = typename operand<X>::type;
template <Operand A, Operand B>
using common = promoted<type_of<A>, type_of<B>>;
template <Operand A>
using real = std::conditional_t<std::is_floating_point_v<type_of<A>>, type_of<A>, float>;

}  // namespace detail

// The place of a neighbour along one dimension: a number, or a sum of window variables and numbers such as 2*i + 1.
class Offset {
 public:
  Offset(int number) : number_(number) {}  // NOLINT: a number is an offset
  Offset(detail::Shared builder, std::uint32_t variable) : builder_(std::move(builder)), terms_{{variable, 1}} {}

  i64 number() const { return number_; }
  const std::vector<detail::Term>& terms() const { return terms_; }
  const detail::Shared& builder() const { return builder_; }

  friend Offset operator+(const Offset& a, const Offset& b) { return a.plus(b, 1); }
  friend Offset operator-(const Offset& a, const Offset& b) { return a.plus(b, -1); }
  friend Offset operator-(const Offset& a) { return a.times(-1); }
  friend Offset operator*(const Offset& a, int b) { return a.times(b); }
  friend Offset operator*(int a, const Offset& b) { return b.times(a); }

 private:
  Offset plus(const Offset& b, i64 factor) const;
  Offset times(i64 factor) const;

  detail::Shared builder_;  // null for a plain number
  i64 number_ = 0;
  std::vector<detail::Term> terms_;
};

// An expression of one element type, computed at every point of the stage that it becomes.
template <class T>
class Value {
 public:
  explicit Value(detail::Node node) : node_(detail::convert(detail::element_of<T>::value, node)) {}
  Value(const Image<T>& image) : Value(image.at_itself()) {}  // NOLINT: an image is its value at the point
  Value(const Offset& offset)                                 // NOLINT: so is a window variable
    requires std::same_as<T, std::int32_t>
      : Value(detail::from_offset(offset)) {}

  const detail::Node& node() const { return node_; }

 private:
  detail::Node node_;
};

// An input or a stage. at() reads it relative to the point that is computed; the last index runs fastest.
template <class T>
class Image {
 public:
  explicit Image(detail::View view) : view_(std::move(view)) {}

  // A neighbour: one offset per dimension.
  template <class... O>
  Value<T> at(const O&... offsets) const {
    return Value<T>(detail::read(view_, {Offset(offsets)...}));
  }
  // An absolute place, an integer per dimension; outside as the border says, without one the edge. No part in extents.
  template <detail::Integral... I>
  Value<T> gather(const I&... indices) const;

  // This image with another border mode, for the uses made through the result.
  Image borders(std::vector<Border> per_dimension) const {
    return Image(detail::with_borders(view_, std::move(per_dimension)));
  }
  Image clamped() const { return all_borders({BorderMode::clamp}); }
  Image mirror() const { return all_borders({BorderMode::mirror}); }
  Image symmetric() const { return all_borders({BorderMode::symmetric}); }
  Image wrap() const { return all_borders({BorderMode::wrap}); }
  Image constant(double value) const { return all_borders({BorderMode::constant, value}); }

  // This image read at stride * point + offset: every(2, 2).at(0, 1) is the point one to the right of twice the place.
  template <std::integral... S>
  Image every(S... strides) const {
    return Image(detail::with_strides(view_, {static_cast<i64>(strides)...}));
  }

  int rank() const { return detail::rank_of(view_); }
  const detail::View& view() const { return view_; }
  detail::Node at_itself() const {
    return detail::read(view_, std::vector<Offset>(static_cast<std::size_t>(rank()), 0));
  }

 private:
  Image all_borders(Border mode) const { return borders(std::vector<Border>(static_cast<std::size_t>(rank()), mode)); }

  detail::View view_;
};

namespace detail {

template <Symbolic X>
Value<type_of<X>> value_of(const X& x) {
  return Value<type_of<X>>(x);
}
template <Symbolic X>
const Shared& builder_of(const X& x) {
  if constexpr (requires { x.view(); })
    return x.view().builder;
  else if constexpr (requires { x.node(); })
    return x.node().builder;
  else
    return x.builder();
}
template <Operand X, Operand... Rest>
const Shared& builder_of(const X& x, const Rest&... rest) {
  if constexpr (Symbolic<X>)
    return builder_of(x);
  else
    return builder_of(rest...);
}
template <Operand X>
Node node_of(const Shared& builder, const X& x) {
  if constexpr (Symbolic<X>)
    return value_of(x).node();
  else
    return constant(builder, element_of<type_of<X>>::value, static_cast<double>(x));
}
template <Operand... X>
Node apply_to(std::string_view operation, const X&... x) {
  const Shared& builder = builder_of(x...);
  return apply(operation, {node_of(builder, x)...});
}

}  // namespace detail

template <class T>
template <detail::Integral... I>
Value<T> Image<T>::gather(const I&... indices) const {
  return Value<T>(detail::gather(view_, {detail::node_of(view_.builder, indices)...}));
}

// ---- operators -----------------------------------------------------------------------------------------------------

// X(operator, operation): arithmetic in the promoted type.
// clang-format off
#define TESSERA_ARITHMETIC(X) X(+, "add") X(-, "sub")
#define TESSERA_INTEGER_OPERATORS(X) X(%, "rem") X(&, "and") X(|, "or") X(^, "xor")
#define TESSERA_COMPARISONS(X) X(<, "lt") X(<=, "le") X(==, "eq") X(!=, "ne")
#define TESSERA_REAL_FUNCTIONS(X)                                                                                     \
  X(sqrt) X(exp) X(log) X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) X(sinh) X(cosh) X(tanh) X(exp2) X(log2) X(log10) \
  X(cbrt)
#define TESSERA_ROUNDING_FUNCTIONS(X) X(floor) X(ceil) X(round) X(trunc) X(abs)
#define TESSERA_REAL_FUNCTIONS_OF_TWO(X) X(pow) X(atan2) X(hypot) X(fmod)
#define TESSERA_EXTREMES(X) X(min) X(max)
// clang-format on

#define X(symbol, operation)                                               \
  template <class A, class B>                                              \
    requires(detail::Operands<A, B> && !detail::Affine<A, B>)              \
  Value<detail::common<A, B>> operator symbol(const A & a, const B & b) {  \
    return Value<detail::common<A, B>>(detail::apply_to(operation, a, b)); \
  }
TESSERA_ARITHMETIC(X)
#undef X

template <class A, class B>
  requires(detail::Operands<A, B> && !(detail::Affine<A, B> && (std::integral<A> || std::integral<B>)))
Value<detail::common<A, B>> operator*(const A& a, const B& b) {
  return Value<detail::common<A, B>>(detail::apply_to("mul", a, b));
}
// Integers truncate toward zero; by zero gives 0.
template <class A, class B>
  requires detail::Operands<A, B>
Value<detail::common<A, B>> operator/(const A& a, const B& b) {
  return Value<detail::common<A, B>>(detail::apply_to("div", a, b));
}

#define X(symbol, operation)                                                       \
  template <class A, class B>                                                      \
    requires(detail::Operands<A, B> && detail::Integral<A> && detail::Integral<B>) \
  Value<detail::common<A, B>> operator symbol(const A & a, const B & b) {          \
    return Value<detail::common<A, B>>(detail::apply_to(operation, a, b));         \
  }
TESSERA_INTEGER_OPERATORS(X)
#undef X

// The type of a shift is that of its left side.
template <detail::Integral A, detail::Integral B>
  requires detail::Operands<A, B>
auto operator<<(const A& a, const B& b) {
  return Value<detail::common<A, A>>(detail::apply_to("shl", a, b));
}
template <detail::Integral A, detail::Integral B>
  requires detail::Operands<A, B>
auto operator>>(const A& a, const B& b) {
  return Value<detail::common<A, A>>(detail::apply_to("shr", a, b));
}

#define X(symbol, operation)                               \
  template <class A, class B>                              \
    requires detail::Operands<A, B>                        \
  Value<bool> operator symbol(const A & a, const B & b) {  \
    return Value<bool>(detail::apply_to(operation, a, b)); \
  }
TESSERA_COMPARISONS(X)
#undef X
template <class A, class B>
  requires detail::Operands<A, B>
Value<bool> operator>(const A& a, const B& b) {
  return Value<bool>(detail::apply_to("lt", b, a));
}
template <class A, class B>
  requires detail::Operands<A, B>
Value<bool> operator>=(const A& a, const B& b) {
  return Value<bool>(detail::apply_to("le", b, a));
}

// ---- functions -----------------------------------------------------------------------------------------------------

// As a C cast: narrower integers wrap, floats truncate.
template <Element T, class A>
  requires detail::Symbolic<A>
Value<T> cast(const A& a) {
  return Value<T>(detail::value_of(a).node());
}
// Rounds half to even and clamps to the integer type.
template <Element T, class A>
  requires(detail::Symbolic<A> && std::integral<T>)
Value<T> saturate(const A& a) {
  return Value<T>(detail::saturate(detail::element_of<T>::value, detail::value_of(a).node()));
}

template <class A>
  requires detail::Symbolic<A>
auto operator-(const A& a) {
  return Value<detail::common<A, A>>(detail::apply_to("neg", a));
}
template <class A>
  requires detail::Symbolic<A>
Value<bool> operator!(const A& a) {
  return cast<bool>(a) == false;
}
template <class A>
  requires(detail::Symbolic<A> && detail::Integral<A>)
auto operator~(const A& a) {
  return Value<detail::common<A, A>>(detail::apply_to("not", a));
}
template <class A, class B>
  requires(detail::Symbolic<A> && detail::Symbolic<B>)
Value<bool> operator&&(const A& a, const B& b) {
  return Value<bool>(detail::apply("and", {cast<bool>(a).node(), cast<bool>(b).node()}));
}
template <class A, class B>
  requires(detail::Symbolic<A> && detail::Symbolic<B>)
Value<bool> operator||(const A& a, const B& b) {
  return Value<bool>(detail::apply("or", {cast<bool>(a).node(), cast<bool>(b).node()}));
}

// condition ? a : b, both computed.
template <class C, class A, class B>
  requires(detail::Symbolic<C> && detail::Operand<A> && detail::Operand<B>)
Value<detail::common<A, B>> select(const C& condition, const A& a, const B& b) {
  const detail::Shared& builder = detail::builder_of(condition);
  return Value<detail::common<A, B>>(
      detail::select(detail::value_of(condition).node(), detail::node_of(builder, a), detail::node_of(builder, b)));
}

// Integers are taken as float.
#define X(function)                                                \
  template <class A>                                               \
    requires detail::Symbolic<A>                                   \
  Value<detail::real<A>> function(const A& a) {                    \
    return Value<detail::real<A>>(detail::apply_to(#function, a)); \
  }
TESSERA_REAL_FUNCTIONS(X)
#undef X
#define X(function)                                                                                       \
  template <class A, class B>                                                                             \
    requires detail::Operands<A, B>                                                                       \
  auto function(const A& a, const B& b) {                                                                 \
    using R = std::conditional_t<std::floating_point<detail::common<A, B>>, detail::common<A, B>, float>; \
    return Value<R>(detail::apply_to(#function, a, b));                                                   \
  }
TESSERA_REAL_FUNCTIONS_OF_TWO(X)
#undef X

// Integers stay integers.
#define X(function)                                                     \
  template <class A>                                                    \
    requires detail::Symbolic<A>                                        \
  auto function(const A& a) {                                           \
    return Value<detail::common<A, A>>(detail::apply_to(#function, a)); \
  }
TESSERA_ROUNDING_FUNCTIONS(X)
#undef X
#define X(function)                                                        \
  template <class A, class B>                                              \
    requires detail::Operands<A, B>                                        \
  Value<detail::common<A, B>> function(const A& a, const B& b) {           \
    return Value<detail::common<A, B>>(detail::apply_to(#function, a, b)); \
  }
TESSERA_EXTREMES(X)
#undef X

#undef TESSERA_ARITHMETIC
#undef TESSERA_INTEGER_OPERATORS
#undef TESSERA_COMPARISONS
#undef TESSERA_REAL_FUNCTIONS
#undef TESSERA_ROUNDING_FUNCTIONS
#undef TESSERA_REAL_FUNCTIONS_OF_TWO
#undef TESSERA_EXTREMES

}  // namespace tessera
