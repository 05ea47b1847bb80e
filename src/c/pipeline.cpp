// Pipelines without types: numbers for the handles of tessera/pipeline.hpp.
#include "tessera/pipeline.hpp"

#include <algorithm>
#include <array>

#include "base/process/deadline.hpp"
#include "base/text.hpp"
#include "c/handles.hpp"
#include "c/options.hpp"
#include "c/tensors.hpp"
#include "data/element.hpp"
#include "engine/pipeline/impl.hpp"

namespace tessera::detail {

// What Pipeline's typed functions call.
class Untyped {
 public:
  static const Shared& builder(const Pipeline& p) { return p.builder_; }
  static std::vector<View> input(Pipeline& p, std::string name, ElementType type,
                                 const std::vector<std::string>& fields, const std::vector<Size>* extents, int rank) {
    return p.add_input(std::move(name), type, fields, extents != nullptr ? *extents : p.rank_extents(rank));
  }
  static Node scalar(Pipeline& p, std::string name, ElementType t) { return p.add_scalar(std::move(name), t); }
  static std::uint32_t table(Pipeline& p, std::string name, ElementType t, Shape extents, std::vector<double> values) {
    return p.add_table(std::move(name), t, std::move(extents), std::move(values));
  }
  static Node place(Pipeline& p, int dimension, bool extent) { return p.place(dimension, extent); }
  static View stage(Pipeline& p, std::string name, const Node& n) { return p.add_stage(std::move(name), n); }
  static View total(Pipeline& p, std::string name, std::string_view operation, const View& v) {
    return p.add_total(std::move(name), operation, v);
  }
  static std::vector<View> transform(Pipeline& p, std::string name, bool inverse, const std::vector<View>& from,
                                     std::vector<int> along) {
    return p.add_transform(std::move(name), inverse, from, std::move(along));
  }
  static View composed(Pipeline& p, std::string name, ElementType t,
                       const std::vector<std::pair<View, std::vector<Place>>>& pieces) {
    return p.add_composed(std::move(name), t, pieces);
  }
  static std::vector<View> begin_loop(Pipeline& p, const std::string& name, i64 most, const std::vector<View>& first) {
    return p.begin_loop(name, most, first);
  }
  static std::vector<View> end_loop(Pipeline& p, i64 most, const std::vector<View>& carried,
                                    const std::vector<View>& next, const Node& test) {
    return p.end_loop(most, carried, next, test);
  }
  static Output output(std::string name, std::vector<std::string> fields, std::vector<View> views) {
    return {std::move(name), std::move(fields), std::move(views)};
  }
};

}  // namespace tessera::detail

using namespace tessera;
using namespace tessera::c;
using detail::Node;
using detail::Untyped;
using detail::View;

struct tsr_pipeline {
  Pipeline pipeline;
  std::vector<Node> values;
  std::vector<View> images;
  std::vector<Size> extents;
  std::vector<std::uint32_t> tables;
  std::vector<std::uint32_t> variables;
  // Of the loop whose body is being built.
  i64 most = 0;
  std::vector<View> carried;

  const detail::Shared& builder() const { return Untyped::builder(pipeline); }
  ir::Graph& graph() const { return builder()->graph; }
};

namespace {

template <class T>
const T& at(const std::vector<T>& all, std::uint32_t id, std::string_view what) {
  if (id >= all.size()) fail(fmt::format("there is no {} {}: the pipeline has {}", what, id, all.size()));
  return all[id];
}

const Node& value_at(const tsr_pipeline& p, tsr_value v) {
  return at(p.values, v, "value");
}
const View& image_at(const tsr_pipeline& p, tsr_image i) {
  return at(p.images, i, "image");
}

template <class T, class New>
void keep(std::vector<T>& all, New&& made, std::uint32_t* out) {
  given(out, "the place of the result");
  all.push_back(std::forward<New>(made));
  *out = static_cast<std::uint32_t>(all.size() - 1);
}

void keep_images(tsr_pipeline& p, std::vector<View> views, tsr_image* out) {
  given(out, "the place of images");
  for (View& v : views) keep(p.images, std::move(v), out++);
}

std::string text(const char* given_text, std::string_view what) {
  return &given(given_text, what);
}

template <class T>
std::vector<T> listed(const T* first, size_t count, std::string_view what) {
  if (count > 0) given(first, what);
  return std::vector<T>(first, first + count);
}

std::vector<Node> values_at(const tsr_pipeline& p, const tsr_value* ids, size_t count) {
  std::vector<Node> all;
  for (const tsr_value v : listed(ids, count, "the list of values")) all.push_back(value_at(p, v));
  return all;
}

std::vector<View> images_at(const tsr_pipeline& p, const tsr_image* ids, size_t count) {
  std::vector<View> all;
  for (const tsr_image i : listed(ids, count, "the list of images")) all.push_back(image_at(p, i));
  return all;
}

// An offset along a dimension; numbers are as large as C++ takes them.
Offset offset_of(const tsr_pipeline& p, const tsr_offset& o) {
  const auto narrow = [](i64 v) {
    if (v < -(i64{1} << 30) || v > i64{1} << 30) fail(fmt::format("an offset is {}, expected at most 2^30", v));
    return static_cast<int>(v);
  };
  Offset sum(narrow(o.number));
  if (o.terms == 0) return sum;
  given(o.variables, "the variables of an offset");
  given(o.factors, "the factors of an offset");
  for (size_t k = 0; k < o.terms; ++k)
    sum = sum + Offset(p.builder(), at(p.variables, o.variables[k], "variable")) * narrow(o.factors[k]);
  return sum;
}

std::vector<std::string> texts(const char* const* all, size_t count, std::string_view what) {
  std::vector<std::string> out;
  if (count > 0) given(all, what);
  for (size_t k = 0; k < count; ++k) out.push_back(text(all[k], what));
  return out;
}

using MakeSize = Size (*)(const Size&, const Size&);

tsr_status combine(tsr_pipeline* p, tsr_extent a, tsr_extent b, tsr_extent* out, MakeSize make) {
  return guarded([&] {
    given(p, "the pipeline");
    const Size made = make(at(p->extents, a, "extent"), at(p->extents, b, "extent"));
    keep(p->extents, made, out);
  });
}

// Adds what `make` gives of a pipeline to its values.
template <class F>
tsr_status add_value(tsr_pipeline* p, tsr_value* out, F make) {
  return guarded([&] {
    given(p, "the pipeline");
    keep(p->values, make(), out);
  });
}

template <class F>
tsr_status add_image(tsr_pipeline* p, tsr_image* out, F make) {
  return guarded([&] {
    given(p, "the pipeline");
    keep(p->images, make(), out);
  });
}

constexpr std::array<BorderMode, 6> modes = {BorderMode::none,      BorderMode::clamp, BorderMode::mirror,
                                             BorderMode::symmetric, BorderMode::wrap,  BorderMode::constant};

}  // namespace

extern "C" {

tsr_status tsr_pipeline_new(tsr_pipeline** out) {
  return guarded([&] { hand_out(out); });
}

void tsr_pipeline_free(tsr_pipeline* p) {
  delete p;
}

tsr_status tsr_pipeline_size(tsr_pipeline* p, const char* name, tsr_extent* out) {
  return guarded([&] {
    given(p, "the pipeline");
    keep(p->extents, p->pipeline.size(text(name, "the name of a size")), out);
  });
}

tsr_status tsr_pipeline_extent(tsr_pipeline* p, int64_t number, tsr_extent* out) {
  return guarded([&] { keep(given(p, "the pipeline").extents, Size(number), out); });
}

tsr_status tsr_pipeline_add_extents(tsr_pipeline* p, tsr_extent a, tsr_extent b, tsr_extent* out) {
  return combine(p, a, b, out, [](const Size& x, const Size& y) { return x + y; });
}

tsr_status tsr_pipeline_subtract_extents(tsr_pipeline* p, tsr_extent a, tsr_extent b, tsr_extent* out) {
  return combine(p, a, b, out, [](const Size& x, const Size& y) { return x - y; });
}

tsr_status tsr_pipeline_multiply_extents(tsr_pipeline* p, tsr_extent a, tsr_extent b, tsr_extent* out) {
  return combine(p, a, b, out, [](const Size& x, const Size& y) { return x * y; });
}

tsr_status tsr_pipeline_divide_extent(tsr_pipeline* p, tsr_extent a, int64_t divisor, tsr_extent* out) {
  return guarded([&] {
    given(p, "the pipeline");
    const Size made = at(p->extents, a, "extent") / divisor;
    keep(p->extents, made, out);
  });
}

tsr_status tsr_pipeline_input(tsr_pipeline* p, const char* name, DLDataType type, int rank, const tsr_extent* extents,
                              const char* const* fields, size_t field_count, tsr_image* images) {
  return guarded([&] {
    given(p, "the pipeline");
    given(images, "the place of images");
    std::vector<Size> own;
    if (rank < 1 || rank > 4) fail(fmt::format("an input has rank {}, expected 1 to 4", rank));
    for (int d = 0; extents != nullptr && d < rank; ++d) own.push_back(at(p->extents, extents[d], "extent"));
    keep_images(*p,
                Untyped::input(p->pipeline, text(name, "the name of an input"), element_type(type, "an input"),
                               texts(fields, field_count, "a field"), extents != nullptr ? &own : nullptr, rank),
                images);
  });
}

tsr_status tsr_pipeline_scalar(tsr_pipeline* p, const char* name, DLDataType type, tsr_value* out) {
  return add_value(p, out, [&] {
    return Untyped::scalar(p->pipeline, text(name, "the name of a scalar"), element_type(type, "a scalar"));
  });
}

tsr_status tsr_pipeline_table(tsr_pipeline* p, const char* name, const DLTensor* values, tsr_table* out) {
  return guarded([&] {
    given(p, "the pipeline");
    const std::string what = fmt::format("table '{}'", text(name, "the name of a table"));
    const Array dense = array_of(given(values, what), what).to_host().clone();
    if (dense.format().scalar == ElementType::f16)
      fail(fmt::format("{} has elements float16, expected another type", what), "convert it to float32");
    std::vector<double> numbers;
    numbers.reserve(static_cast<std::size_t>(dense.count()));
    const std::size_t size = dense.format().size();
    for (i64 k = 0; k < dense.count(); ++k)
      numbers.push_back(
          load_element(dense.format().scalar, static_cast<std::byte*>(dense.data()) + k * static_cast<i64>(size)));
    keep(p->tables, Untyped::table(p->pipeline, name, dense.format().scalar, dense.shape(), std::move(numbers)), out);
  });
}

tsr_status tsr_pipeline_constant(tsr_pipeline* p, DLDataType type, double v, tsr_value* out) {
  return add_value(p, out, [&] { return detail::constant(p->builder(), element_type(type, "a constant"), v); });
}

tsr_status tsr_pipeline_coord(tsr_pipeline* p, int dimension, tsr_value* out) {
  return add_value(p, out, [&] { return Untyped::place(p->pipeline, dimension, false); });
}

tsr_status tsr_pipeline_extent_value(tsr_pipeline* p, int dimension, tsr_value* out) {
  return add_value(p, out, [&] { return Untyped::place(p->pipeline, dimension, true); });
}

tsr_status tsr_pipeline_apply(tsr_pipeline* p, const char* operation, const tsr_value* ids, size_t count,
                              tsr_value* out) {
  return add_value(p, out, [&] {
    const std::string name = text(operation, "the name of an operation");
    static constexpr std::array words = {"add",  "sub",   "mul",  "div",   "rem",   "and",   "or",   "xor",  "shl",
                                         "shr",  "lt",    "le",   "eq",    "ne",    "neg",   "not",  "min",  "max",
                                         "abs",  "floor", "ceil", "round", "trunc", "sqrt",  "exp",  "log",  "sin",
                                         "cos",  "tan",   "asin", "acos",  "atan",  "sinh",  "cosh", "tanh", "exp2",
                                         "log2", "log10", "cbrt", "pow",   "atan2", "hypot", "fmod"};
    if (std::find(words.begin(), words.end(), name) == words.end())
      fail(fmt::format("there is no operation {}", base::quoted(name)));
    const std::vector<Node> v = values_at(*p, ids, count);
    const auto op = ir::op_named(name);
    if (!op || ir::arity_of(*op) != static_cast<int>(count))
      fail(fmt::format("operation {} is given {} values, expected {}", base::quoted(name), count,
                       op ? ir::arity_of(*op) : 0));
    return count == 1 ? detail::apply(name, {v[0]}) : detail::apply(name, {v[0], v[1]});
  });
}

tsr_status tsr_pipeline_convert(tsr_pipeline* p, DLDataType type, tsr_value v, tsr_value* out) {
  return add_value(p, out, [&] { return detail::convert(element_type(type, "a conversion"), value_at(*p, v)); });
}

tsr_status tsr_pipeline_saturate(tsr_pipeline* p, DLDataType type, tsr_value v, tsr_value* out) {
  return add_value(p, out, [&] {
    const ElementType to = element_type(type, "a saturation");
    if (is_float(to)) fail(fmt::format("a value is saturated to {}, expected an integer type", tessera::name_of(to)));
    return detail::saturate(to, value_at(*p, v));
  });
}

tsr_status tsr_pipeline_select(tsr_pipeline* p, tsr_value condition, tsr_value a, tsr_value b, tsr_value* out) {
  return add_value(p, out, [&] { return detail::select(value_at(*p, condition), value_at(*p, a), value_at(*p, b)); });
}

tsr_status tsr_pipeline_read(tsr_pipeline* p, tsr_image image, const tsr_offset* offsets, size_t count,
                             tsr_value* out) {
  return add_value(p, out, [&] {
    std::vector<Offset> all;
    for (const tsr_offset& o : listed(offsets, count, "the list of offsets")) all.push_back(offset_of(*p, o));
    return detail::read(image_at(*p, image), all);
  });
}

tsr_status tsr_pipeline_gather(tsr_pipeline* p, tsr_image image, const tsr_value* indices, size_t count,
                               tsr_value* out) {
  return add_value(p, out, [&] {
    const View& view = image_at(*p, image);
    const ir::Stage& stage = p->graph().stage(view.stage);
    if (count != stage.domain.size())
      fail(fmt::format("'{}' has {} dimensions, but is read at {} indices", stage.name, stage.domain.size(), count));
    return detail::gather(view, values_at(*p, indices, count));
  });
}

tsr_status tsr_pipeline_lookup(tsr_pipeline* p, tsr_table table, const tsr_value* indices, size_t count,
                               tsr_value* out) {
  return add_value(p, out, [&] {
    return detail::lookup(p->builder(), at(p->tables, table, "table"), values_at(*p, indices, count));
  });
}

tsr_status tsr_pipeline_only(tsr_pipeline* p, tsr_image image, tsr_value* out) {
  return add_value(p, out, [&] {
    const View& view = image_at(*p, image);
    for (const ir::SizeId n : p->graph().stage(view.stage).domain)
      if (p->graph().constant(n) != i64{1})
        fail(fmt::format("'{}' has more than one element", p->graph().stage(view.stage).name),
             "take a total of it, such as sum_of");
    return detail::only_element(view);
  });
}

tsr_status tsr_pipeline_variables(tsr_pipeline* p, const int32_t* lo, const int32_t* hi, size_t count,
                                  tsr_variable* out) {
  return guarded([&] {
    given(p, "the pipeline");
    given(out, "the place of variables");
    std::vector<Range> ranges;
    const auto first = listed(lo, count, "the first numbers of ranges"), last = listed(hi, count, "the last numbers");
    for (size_t k = 0; k < count; ++k) {
      if (last[k] < first[k]) fail(fmt::format("a range goes from {} to {}", first[k], last[k]));
      ranges.push_back({first[k], last[k]});
    }
    for (const std::uint32_t id : detail::new_variables(p->builder(), ranges, count)) keep(p->variables, id, out++);
  });
}

tsr_status tsr_pipeline_offset(tsr_pipeline* p, const tsr_offset* offset, tsr_value* out) {
  return add_value(p, out, [&] { return detail::from_offset(offset_of(*p, given(offset, "an offset"))); });
}

tsr_status tsr_pipeline_reduce(tsr_pipeline* p, const char* operation, const tsr_variable* variables, size_t count,
                               tsr_value body, tsr_value* out) {
  return add_value(p, out, [&] {
    const std::string name = text(operation, "the name of a reduction");
    static constexpr std::array words = {"sum", "prod", "rmin", "rmax", "median", "any", "all"};
    if (std::find(words.begin(), words.end(), name) == words.end())
      fail(fmt::format("there is no reduction {}", base::quoted(name)),
           "expected sum, prod, rmin, rmax, median, any or all");
    std::vector<std::uint32_t> ids;
    for (const tsr_variable v : listed(variables, count, "the list of variables"))
      ids.push_back(at(p->variables, v, "variable"));
    return detail::reduce(name, ids, value_at(*p, body));
  });
}

tsr_status tsr_pipeline_borders(tsr_pipeline* p, tsr_image image, const tsr_border* borders, size_t count,
                                tsr_image* out) {
  return add_image(p, out, [&] {
    std::vector<Border> all;
    for (const tsr_border& b : listed(borders, count, "the list of borders")) {
      const auto mode = static_cast<std::size_t>(number_of(b.mode));
      if (mode >= modes.size()) fail(fmt::format("there is no border mode {}", number_of(b.mode)));
      all.push_back({modes[mode], modes[mode] == BorderMode::constant ? b.value : 0});
    }
    return detail::with_borders(image_at(*p, image), std::move(all));
  });
}

tsr_status tsr_pipeline_every(tsr_pipeline* p, tsr_image image, const int64_t* strides, size_t count, tsr_image* out) {
  return add_image(
      p, out, [&] { return detail::with_strides(image_at(*p, image), listed(strides, count, "the list of strides")); });
}

tsr_status tsr_pipeline_stage(tsr_pipeline* p, const char* name, tsr_value value, tsr_image* out) {
  return add_image(p, out,
                   [&] { return Untyped::stage(p->pipeline, text(name, "the name of a stage"), value_at(*p, value)); });
}

tsr_status tsr_pipeline_total(tsr_pipeline* p, const char* name, const char* operation, tsr_image image,
                              tsr_image* out) {
  return add_image(p, out, [&] {
    const std::string word = text(operation, "the name of a total");
    static constexpr std::array words = {"min_of", "max_of", "sum_of", "mean_of"};
    if (std::find(words.begin(), words.end(), word) == words.end())
      fail(fmt::format("there is no total {}", base::quoted(word)), "expected min_of, max_of, sum_of or mean_of");
    return Untyped::total(p->pipeline, text(name, "the name of a stage"), word, image_at(*p, image));
  });
}

tsr_status tsr_pipeline_fourier(tsr_pipeline* p, const char* name, int inverse, const tsr_image* images, size_t count,
                                const int32_t* along, size_t along_count, tsr_image* pair) {
  return guarded([&] {
    given(p, "the pipeline");
    given(pair, "the place of the pair");
    if (count < 1 || count > 2) fail(fmt::format("{} images are transformed at once, expected 1 or 2", count));
    if (inverse != 0 && count != 2) fail("the way back takes two images, a real and an imaginary part");
    const std::vector<View> from = images_at(*p, images, count);
    for (const View& v : from)
      if (!is_float(p->graph().stage(v.stage).type) || p->graph().stage(v.stage).type == ElementType::f16 ||
          p->graph().stage(v.stage).type != p->graph().stage(from[0].stage).type)
        fail(fmt::format("'{}' has elements {}, expected float or double, of both parts the same",
                         p->graph().stage(v.stage).name, tessera::name_of(p->graph().stage(v.stage).type)));
    keep_images(*p,
                Untyped::transform(p->pipeline, text(name, "the name of a transform"), inverse != 0, from,
                                   listed(along, along_count, "the list of dimensions")),
                pair);
  });
}

tsr_status tsr_pipeline_compose(tsr_pipeline* p, const char* name, const tsr_image* pieces, size_t count, int rank,
                                const int64_t* starts, const int64_t* strides, tsr_image* out) {
  return add_image(p, out, [&] {
    if (rank < 1 || rank > 4) fail(fmt::format("a composed image has rank {}, expected 1 to 4", rank));
    const std::vector<View> images = images_at(*p, pieces, count);
    const auto n = static_cast<std::size_t>(rank);
    const auto from = listed(starts, count * n, "the starts of pieces");
    const auto step = listed(strides, count * n, "the strides of pieces");
    std::vector<std::pair<View, std::vector<Place>>> all;
    for (std::size_t k = 0; k < images.size(); ++k) {
      const ElementType type = p->graph().stage(images[k].stage).type;
      const ElementType first = p->graph().stage(images[0].stage).type;
      if (type != first)
        fail(fmt::format("a piece has elements {}, the first one {}", tessera::name_of(type), tessera::name_of(first)));
      std::vector<Place> places;
      for (std::size_t d = 0; d < n; ++d) places.emplace_back(from[k * n + d], step[k * n + d]);
      all.emplace_back(images[k], std::move(places));
    }
    const ElementType type = images.empty() ? ElementType::f32 : p->graph().stage(images[0].stage).type;
    return Untyped::composed(p->pipeline, text(name, "the name of a stage"), type, all);
  });
}

tsr_status tsr_pipeline_begin_loop(tsr_pipeline* p, const char* name, int64_t most, const tsr_image* first,
                                   size_t count, tsr_image* before) {
  return guarded([&] {
    given(p, "the pipeline");
    given(before, "the place of images");
    std::vector<View> carried =
        Untyped::begin_loop(p->pipeline, text(name, "the name of a loop"), most, images_at(*p, first, count));
    p->most = most;
    p->carried = carried;
    keep_images(*p, std::move(carried), before);
  });
}

tsr_status tsr_pipeline_end_loop(tsr_pipeline* p, const tsr_image* next, size_t count, tsr_value test,
                                 tsr_image* after) {
  return guarded([&] {
    given(p, "the pipeline");
    given(after, "the place of images");
    if (p->carried.empty()) fail("no loop was begun");
    std::vector<View> ends =
        Untyped::end_loop(p->pipeline, p->most, p->carried, images_at(*p, next, count), value_at(*p, test));
    p->carried.clear();
    keep_images(*p, std::move(ends), after);
  });
}

tsr_status tsr_pipeline_value_type(tsr_pipeline* p, tsr_value v, DLDataType* type) {
  return guarded([&] {
    given(p, "the pipeline");
    given(type, "the place of the type") = dlpack_type(p->graph().node(detail::id(value_at(*p, v))).type);
  });
}

tsr_status tsr_pipeline_image_type(tsr_pipeline* p, tsr_image image, DLDataType* type, int32_t* rank) {
  return guarded([&] {
    given(p, "the pipeline");
    given(type, "the place of the type");
    given(rank, "the place of the rank");
    const ir::Stage& stage = p->graph().stage(image_at(*p, image).stage);
    *type = dlpack_type(stage.type);
    *rank = static_cast<std::int32_t>(stage.domain.size());
  });
}

tsr_status tsr_pipeline_compile(tsr_pipeline* p, const tsr_output* outputs, size_t count, const tsr_options* options,
                                tsr_program** out) {
  return guarded([&] {
    given(p, "the pipeline");
    given(out, "the place of the program");
    std::vector<Output> all;
    for (const tsr_output& o : listed(outputs, count, "the list of outputs")) {
      if (o.fields == nullptr && o.count != 1)
        fail(fmt::format("an output without fields has {} images, expected one", o.count));
      all.push_back(Untyped::output(o.name == nullptr ? "" : o.name,
                                    texts(o.fields, o.fields == nullptr ? 0 : o.count, "a field"),
                                    images_at(*p, o.images, o.count)));
    }
    const base::Deadline deadline(compile_limit(options, "compilation of a pipeline"), cancel_of(options));
    base::look_at_deadline();
    hand_out(out, p->pipeline.compile(all));
  });
}
}
