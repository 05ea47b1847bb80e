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
#include <string>
#include <utility>
#include <vector>

#include "tessera/expression.hpp"
#include "tessera/program.hpp"

namespace tessera {

namespace detail {
class Untyped;  // the C interface: the same without types
}

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

// What all elements of an image come to: a number for the expressions of later stages, and the same as an image of one
// element, for outputs.
template <class T>
struct Total {
  Value<T> value;
  Image<T> image;
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

// What the body of a loop gives: the images that those of the iteration before become, and whether to go on, a number
// that images come to: p.max("gap", difference).value > 0.01.
template <class T>
struct Iteration {
  Image<T> next;
  Value<bool> test;
};
template <class T>
struct Iterations {
  std::vector<Image<T>> next;
  Value<bool> test;
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
  friend class detail::Untyped;
  Output(std::string name, std::vector<std::string> fields, std::vector<detail::View> views)
      : name_(std::move(name)), fields_(std::move(fields)), views_(std::move(views)) {}

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
  // Reductions of a whole image, of which borders and strides say nothing. The order of sums is the same on every
  // device (docs/language.md); NaNs are neither the least nor the greatest element.
  template <Element T>
  Total<T> min(std::string name, const Image<T>& image) {
    return total<T>(std::move(name), "min_of", image.view());
  }
  template <Element T>
  Total<T> max(std::string name, const Image<T>& image) {
    return total<T>(std::move(name), "max_of", image.view());
  }
  template <Element T>
  Total<double> sum(std::string name, const Image<T>& image) {
    return total<double>(std::move(name), "sum_of", image.view());
  }
  template <Element T>
  Total<double> mean(std::string name, const Image<T>& image) {
    return total<double>(std::move(name), "mean_of", image.view());
  }
  // The Fourier transform along the given dimensions, all where none are given, as the planes "re" and "im"
  // (docs/fft.md and the language's fft say the rest): sum_j x[j] exp(-2 pi i j k / n). ifft goes back, divided by the
  // number of points.
  template <std::floating_point T>
  Planes<T> fft(std::string name, const Image<T>& image, std::vector<int> along = {}) {
    return transform<T>(std::move(name), false, {image.view()}, std::move(along));
  }
  template <std::floating_point T>
  Planes<T> fft(std::string name, const Planes<T>& pair, std::vector<int> along = {}) {
    return transform<T>(std::move(name), false, {pair["re"].view(), pair["im"].view()}, std::move(along));
  }
  template <std::floating_point T>
  Planes<T> ifft(std::string name, const Planes<T>& pair, std::vector<int> along = {}) {
    return transform<T>(std::move(name), true, {pair["re"].view(), pair["im"].view()}, std::move(along));
  }
  // The union of pieces, 0 elsewhere; later pieces win. A piece of n elements asks for an extent of start + n, or of
  // n * stride where the stride is not 1; the largest counts. More places than dimensions raise the rank.
  template <Element T>
  Image<T> compose(std::string name, const std::vector<Piece<T>>& pieces) {
    std::vector<std::pair<detail::View, std::vector<Place>>> plain;
    for (const Piece<T>& p : pieces) plain.emplace_back(p.image.view(), p.places);
    return Image<T>(add_composed(std::move(name), detail::element_of<T>::value, plain));
  }

  // A loop with a test: body(image before) gives an Iteration, of an image with the same extents. The body is called
  // once, to be built, and runs `most` times at most, once at least. The image of the last iteration is the result;
  // images made in the body are used in it alone. Borders of `first` are those of the image before.
  template <Element T, class Body>
  Image<T> repeat(const std::string& name, i64 most, const Image<T>& first, Body body) {
    const std::vector<detail::View> before = begin_loop(name, most, {first.view()});
    const Iteration<T> made = body(Image<T>(before[0]));
    return Image<T>(end_loop(most, before, {made.next.view()}, made.test.node())[0]);
  }
  // The same of several images, which body gets and gives (Iterations) in order.
  template <Element T, class Body>
  std::vector<Image<T>> repeat(const std::string& name, i64 most, const std::vector<Image<T>>& first, Body body) {
    std::vector<detail::View> views, next;
    std::vector<Image<T>> images;
    for (const Image<T>& image : first) views.push_back(image.view());
    const std::vector<detail::View> before = begin_loop(name, most, views);
    for (const detail::View& view : before) images.emplace_back(view);
    const Iterations<T> made = body(images);
    for (const Image<T>& image : made.next) next.push_back(image.view());
    images.clear();
    for (const detail::View& view : end_loop(most, before, next, made.test.node())) images.emplace_back(view);
    return images;
  }

  // The pipeline stays as it is and may be compiled again with other outputs.
  Program compile(const std::vector<Output>& outputs) const;

 private:
  friend class detail::Untyped;
  std::vector<Size> rank_extents(int rank);
  std::vector<detail::View> add_input(std::string name, ElementType, const std::vector<std::string>& fields,
                                      const std::vector<Size>& extents);
  detail::Node add_scalar(std::string name, ElementType);
  std::uint32_t add_table(std::string name, ElementType, Shape, std::vector<double> values);
  detail::Node place(int dimension, bool extent) const;
  detail::View add_stage(std::string name, const detail::Node&);
  template <class T>
  Total<T> total(std::string name, std::string_view operation, const detail::View& of) {
    const detail::View view = add_total(std::move(name), operation, of);
    return {Value<T>(detail::only_element(view)), Image<T>(view)};
  }
  detail::View add_total(std::string name, std::string_view operation, const detail::View&);
  template <class T>
  Planes<T> transform(std::string name, bool inverse, const std::vector<detail::View>& from, std::vector<int> along) {
    Planes<T> planes{{"re", "im"}, {}};
    for (detail::View& v : add_transform(std::move(name), inverse, from, std::move(along)))
      planes.images.emplace_back(std::move(v));
    return planes;
  }
  std::vector<detail::View> add_transform(std::string name, bool inverse, const std::vector<detail::View>& from,
                                          std::vector<int> along);
  std::vector<detail::View> begin_loop(const std::string& name, i64 most, const std::vector<detail::View>& first);
  std::vector<detail::View> end_loop(i64 most, const std::vector<detail::View>& carried,
                                     const std::vector<detail::View>& next, const detail::Node& test);
  detail::View add_composed(std::string name, ElementType,
                            const std::vector<std::pair<detail::View, std::vector<Place>>>&);

  detail::Shared builder_;
};

}  // namespace tessera
