// Programs as C++ expressions instead of text. A pipeline is built once, compiled to a Program, and then run like any
// other; it makes the same stage graph as the Forma language and obeys the same rules.
//
//   tessera::Pipeline p;
//   auto image = p.input<float>("image", 2).clamped();
//   auto rows = p.stage("rows", (image.at(-1, 0) + image + image.at(1, 0)) / 3.0f).clamped();
//   auto blur = p.stage("blur", (rows.at(0, -1) + rows + rows.at(0, 1)) / 3.0f);
//   tessera::Program program = p.compile({blur});
//
// An Image<T> is a stage or an input, and a handle: copies stand for the same image. Reading it, at an offset or by its
// plain name, gives a Value<T>: a typed expression that is computed at every point. Only stage() makes an image out of
// a value; that is where fusion may cut. Operators follow C++: float + double is double, uint8 + uint8 is int.
//
// The extents of a stage are, per dimension, the smallest of the images it reads (divided by the stride of every()).
// An image used without a border mode restricts the stage to the points whose reads stay inside; it is 0 elsewhere.
//
// Everything throws Error(argument) for what cannot be built. Handles keep their pipeline's graph alive. Building is
// not thread-safe; the Program is.
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

#include "tessera/border.hpp"
#include "tessera/program.hpp"

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
  // An absolute place, an integer expression per dimension, clamped to the edge. Has no part in the extents.
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

// ---- windows -------------------------------------------------------------------------------------------------------

// Reductions over a box of neighbours. The function gets one Offset per range and returns what is reduced:
//   p.over({{-2, 2}, {-2, 2}}).sum([&](Offset i, Offset j) { return weights(i + 2, j + 2) * image.at(i, j); })
class Window {
 public:
  Window(detail::Shared builder, std::vector<Range> ranges)
      : builder_(std::move(builder)), ranges_(std::move(ranges)) {}

  template <class F>
  auto sum(F f) const {
    return number("sum", f);
  }
  template <class F>
  auto prod(F f) const {
    return number("prod", f);
  }
  template <class F>
  auto min(F f) const {
    return number("rmin", f);
  }
  template <class F>
  auto max(F f) const {
    return number("rmax", f);
  }
  // Of n numbers the one of rank (n-1)/2 from below.
  template <class F>
  auto median(F f) const {
    return number("median", f);
  }
  template <class F>
  Value<bool> any(F f) const {
    return Value<bool>(reduced("any", f));
  }
  template <class F>
  Value<bool> all(F f) const {
    return Value<bool>(reduced("all", f));
  }

 private:
  template <class F>
  static constexpr std::size_t arity() {
    if (std::invocable<F&, Offset>) return 1;
    if (std::invocable<F&, Offset, Offset>) return 2;
    return std::invocable<F&, Offset, Offset, Offset> ? 3 : 4;
  }
  template <class F>
  static auto call(F& f, const std::vector<Offset>& v) {
    if constexpr (arity<F>() == 1)
      return f(v[0]);
    else if constexpr (arity<F>() == 2)
      return f(v[0], v[1]);
    else if constexpr (arity<F>() == 3)
      return f(v[0], v[1], v[2]);
    else
      return f(v[0], v[1], v[2], v[3]);
  }
  template <class F>
  detail::Node reduced(std::string_view operation, F& f) const {
    const std::vector<std::uint32_t> ids = detail::new_variables(builder_, ranges_, arity<F>());
    std::vector<Offset> offsets;
    for (const std::uint32_t id : ids) offsets.emplace_back(builder_, id);
    return detail::reduce(operation, ids, detail::value_of(call(f, offsets)).node());
  }
  template <class F>
  auto number(std::string_view operation, F& f) const {
    using R = detail::type_of<decltype(call(f, {}))>;
    return Value<detail::promoted<R, R>>(reduced(operation, f));
  }

  detail::Shared builder_;
  std::vector<Range> ranges_;
};

// Constants known when the program is built. Called with offsets it is a weight, with integer values a look-up, in
// which indices outside are clamped.
template <class T>
class Table {
 public:
  Table(detail::Shared builder, std::uint32_t table) : builder_(std::move(builder)), table_(table) {}
  template <detail::Integral... I>
  Value<T> operator()(const I&... indices) const {
    return Value<T>(detail::lookup(builder_, table_, {detail::node_of(builder_, indices)...}));
  }

 private:
  detail::Shared builder_;
  std::uint32_t table_;
};

// ---- the pipeline --------------------------------------------------------------------------------------------------

// An extent that is known when the program runs: a parameter bound through the shapes of the inputs, or arithmetic.
class Size {
 public:
  Size(i64 number) : number_(number) {}  // NOLINT: a number is an extent
  Size(detail::Shared builder, std::uint32_t id) : builder_(std::move(builder)), id_(id) {}
  friend Size operator+(const Size& a, const Size& b);
  friend Size operator-(const Size& a, const Size& b);
  friend Size operator*(const Size& a, const Size& b);
  friend Size operator/(const Size& a, i64 divisor);  // rounds down

  std::uint32_t in(const detail::Shared&) const;  // as an extent of that graph

 private:
  detail::Shared builder_;  // null for a plain number
  i64 number_ = 0;
  std::uint32_t id_ = 0;
};

// Images of equal extents whose elements lie together as one struct: the planes of a colour image.
template <class T>
struct Planes {
  std::vector<std::string> names;
  std::vector<Image<T>> images;

  const Image<T>& operator[](std::string_view name) const {
    for (std::size_t k = 0; k < names.size(); ++k)
      if (names[k] == name) return images.at(k);
    throw Error(ErrorClass::argument, "there is no plane '" + std::string(name) + "'");
  }
};

// Where a piece of a composed image stands along one dimension: its element j at start + stride * j.
struct Place {
  Place(i64 at_start = 0, i64 with_stride = 1) : start(at_start), stride(with_stride) {}  // NOLINT: a start is a place
  i64 start, stride;
};
template <class T>
struct Piece {
  Image<T> image;
  std::vector<Place> places;  // one per dimension of the composed image
};

class Output {
 public:
  template <class T>
  Output(const Image<T>& image) : Output("", image) {}  // NOLINT: an image is an unnamed output
  template <class T>
  Output(std::string name, const Image<T>& image) : name_(std::move(name)), views_{image.view()} {}
  template <class T>
  Output(std::string name, const Planes<T>& planes) : name_(std::move(name)), fields_(planes.names) {
    for (const Image<T>& image : planes.images) views_.push_back(image.view());
  }

  const std::string& name() const { return name_; }
  const std::vector<std::string>& fields() const { return fields_; }  // none: a scalar per point
  const std::vector<detail::View>& views() const { return views_; }

 private:
  std::string name_;
  std::vector<std::string> fields_;
  std::vector<detail::View> views_;
};

class Pipeline {
 public:
  Pipeline();

  // Inputs are bound in the order of these calls. By rank alone (1 to 4), inputs share their extents, aligned at the
  // last dimension; by extents, they are what is said.
  template <Element T>
  Image<T> input(std::string name, int rank) {
    return Image<T>(add_input(std::move(name), detail::element_of<T>::value, {}, rank_extents(rank)).at(0));
  }
  template <Element T>
  Image<T> input(std::string name, const std::vector<Size>& extents) {
    return Image<T>(add_input(std::move(name), detail::element_of<T>::value, {}, extents).at(0));
  }
  // An array of structs: input<std::uint8_t>("photo", 2, {"r", "g", "b"})["r"].
  template <Element T>
  Planes<T> input(std::string name, int rank, std::vector<std::string> fields) {
    Planes<T> planes{std::move(fields), {}};
    for (detail::View& v : add_input(std::move(name), detail::element_of<T>::value, planes.names, rank_extents(rank)))
      planes.images.emplace_back(std::move(v));
    return planes;
  }
  // A number given at every run.
  template <Element T>
  Value<T> scalar(std::string name) {
    return Value<T>(add_scalar(std::move(name), detail::element_of<T>::value));
  }
  // A run-time parameter that extents depend on.
  Size size(std::string name);

  template <Element T>
  Table<T> table(std::string name, const std::vector<T>& values) {
    return table<T>(std::move(name), {static_cast<i64>(values.size())}, values);
  }
  template <Element T>
  Table<T> table(std::string name, Shape extents, const std::vector<T>& values) {
    return {builder_, add_table(std::move(name), detail::element_of<T>::value, std::move(extents),
                                std::vector<double>(values.begin(), values.end()))};
  }

  // The index of the point along a dimension of its stage, and the extent of that dimension.
  Value<std::int32_t> coord(int dimension) const { return Value<std::int32_t>(place(dimension, false)); }
  Value<std::int32_t> extent(int dimension) const { return Value<std::int32_t>(place(dimension, true)); }
  Window over(std::vector<Range> ranges) const { return {builder_, std::move(ranges)}; }

  // A value computed at every point, as an image of its type.
  template <class A>
    requires detail::Symbolic<A>
  Image<detail::type_of<A>> stage(std::string name, const A& value) {
    return Image<detail::type_of<A>>(add_stage(std::move(name), detail::value_of(value).node()));
  }
  // The union of pieces, 0 elsewhere; later pieces win. A piece of n elements asks for an extent of start + n, or of
  // n * stride where the stride is not 1; the largest counts. More places than dimensions raise the rank.
  template <Element T>
  Image<T> compose(std::string name, const std::vector<Piece<T>>& pieces) {
    std::vector<std::pair<detail::View, std::vector<Place>>> plain;
    for (const Piece<T>& p : pieces) plain.emplace_back(p.image.view(), p.places);
    return Image<T>(add_composed(std::move(name), detail::element_of<T>::value, plain));
  }

  // The pipeline stays as it is and may be compiled again with other outputs.
  Program compile(const std::vector<Output>& outputs) const;

 private:
  std::vector<Size> rank_extents(int rank);
  std::vector<detail::View> add_input(std::string name, ElementType, const std::vector<std::string>& fields,
                                      const std::vector<Size>& extents);
  detail::Node add_scalar(std::string name, ElementType);
  std::uint32_t add_table(std::string name, ElementType, Shape, std::vector<double> values);
  detail::Node place(int dimension, bool extent) const;
  detail::View add_stage(std::string name, const detail::Node&);
  detail::View add_composed(std::string name, ElementType,
                            const std::vector<std::pair<detail::View, std::vector<Place>>>&);

  detail::Shared builder_;
};

}  // namespace tessera
