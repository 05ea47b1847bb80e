// Named filters, compiled for images of a type and rank.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/process/deadline.hpp"
#include "c/handles.hpp"
#include "c/options.hpp"
#include "c/tensors.hpp"
#include "c/windows.hpp"
#include "c/words.hpp"
#include "engine/filters/filters.hpp"
#include "engine/program_impl.hpp"

using namespace tessera;
using namespace tessera::c;

struct tsr_filter {
  std::shared_ptr<const engine::Filter> filter;
  Format image;
  int rank = 0;
  std::optional<ElementType> mask;

  const Format& result() const { return filter->program.outputs().at(0).format; }
};

namespace {

Shape result_shape(const tsr_filter& f, const Shape& image) {
  if (static_cast<int>(image.size()) != f.rank)
    fail(fmt::format("the image has {} dimensions, but the filter was made for {}", image.size(), f.rank));
  const Region place = f.filter->place(image);
  Shape shape;
  for (std::size_t d = 0; d < image.size(); ++d) shape.push_back(place.end[d] - place.begin[d]);
  return shape;
}

// The image, its mask and the place of the result of a call.
struct FilterCall {
  FilterCall(const tsr_filter* filter, const DLTensor* from, const DLTensor* certainties, const DLTensor* to,
             const tsr_options* options)
      : made(given(filter, "the filter")),
        image(given(from, "the image"), made.image, "the image", true, stream_of(options)),
        result(given(to, "the result"), made.result(), "the result", false, stream_of(options)) {
    if (!(image.array().format() == made.image))
      fail(fmt::format("the image has elements {}, but the filter was made for {}", image.array().format().name(),
                       made.image.name()));
    if (made.mask.has_value() != (certainties != nullptr))
      fail(made.mask ? "the filter was made for a mask, but none is given"
                     : "the filter was made for images without a mask",
           "set the option mask to the type of the mask");
    if (certainties == nullptr) return;
    mask = array_of(*certainties, "the mask");
    if (mask.format().scalar != *made.mask)
      fail(fmt::format("the mask has elements {}, but the filter was made for {}", mask.format().name(),
                       tessera::name_of(*made.mask)));
  }
  void expect(const Shape& shape) const {
    if (result.array().shape() != shape)
      fail(fmt::format("the result has shape {}, expected {}", to_string(result.array().shape()), to_string(shape)));
  }
  void end() const {
    image.wait();
    result.give_back();
  }

  const tsr_filter& made;
  const Bound image, result;
  Array mask;
};

Region region_of(const tsr_filter& f, const std::int64_t* begin, const std::int64_t* end) {
  return {numbers(&given(begin, "the begin of the window"), f.rank),
          numbers(&given(end, "the end of the window"), f.rank)};
}

// The part [begin, end) of the result, of a window of the image and its mask.
void run_part(const FilterCall& call, const InputWindow& window, const std::int64_t* begin, const std::int64_t* end,
              const tsr_options* options) {
  const Region region = region_of(call.made, begin, end);
  static_cast<void>(result_shape(call.made, window.whole.empty() ? window.array.shape() : window.whole));
  const engine::Filter& made = *call.made.filter;
  const RunOptions run = made.program.impl().placed({window.array}, {call.result.array()}, run_options(options));
  made.program.run_region_into(made.windows(window, call.mask, region, run), {region}, {call.result.array()}, run);
  call.end();
}

std::string filters_json() {
  nlohmann::json all = nlohmann::json::array();
  for (const FilterInfo& info : filters()) {
    nlohmann::json options = nlohmann::json::array();
    for (const FilterOption& o : info.options)
      options.push_back(
          {{"name", o.name}, {"type", o.type}, {"value", o.value}, {"summary", o.summary}, {"per_axis", o.per_axis}});
    all.push_back({{"name", info.name},
                   {"summary", info.summary},
                   {"ranks", info.ranks},
                   {"keeps_type", info.keeps_type},
                   {"takes_mask", info.takes_mask},
                   {"options", std::move(options)}});
  }
  return all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

extern "C" {

const char* tsr_filters_json(void) {
  const char* text = nullptr;
  guarded([&] {
    static const std::string made = filters_json();
    text = made.c_str();
  });
  return text;
}

tsr_status tsr_filter_new(const char* name, DLDataType type, int rank, const tsr_options* options, tsr_filter** out) {
  return guarded([&] {
    given(name, "the name of a filter");
    given(out, "the place of the result");
    if (rank < 1 || rank > 4) fail(fmt::format("a filter is made for images of rank {}, expected 1 to 4", rank));
    const base::Deadline watch(0, cancel_of(options));
    base::look_at_deadline();
    FilterOptionSet set = filter_options(name, options);
    auto made = std::make_unique<tsr_filter>();
    made->rank = rank;
    made->mask = set.mask;
    made->image = element_type(type, "the image");
    if (!set.fields.empty()) {
      std::vector<std::pair<std::string, ElementType>> fields;
      for (const std::string& f : set.fields) {
        for (const auto& [other, type_of_other] : fields)
          if (other == f) fail(fmt::format("option fields names '{}' twice", f));
        fields.emplace_back(f, made->image.scalar);
      }
      made->image = Format::record("pixel", std::move(fields));
    }
    // Of the mask only the type counts.
    if (set.mask) set.request.mask = Array(*set.mask, Shape(static_cast<std::size_t>(rank), 1));
    made->filter = engine::make_filter(set.request, made->image, rank);
    *out = made.release();
  });
}

void tsr_filter_free(tsr_filter* filter) {
  delete filter;
}

tsr_status tsr_filter_result(const tsr_filter* filter, const int64_t* image, int32_t rank, DLDataType* type,
                             int64_t* shape, int32_t* result_rank) {
  return guarded([&] {
    const tsr_filter& f = given(filter, "the filter");
    given(image, "the shape of the image");
    given(type, "the place of the type");
    given(shape, "the place of the shape");
    given(result_rank, "the place of the rank");
    if (rank != f.rank) fail(fmt::format("the image has {} dimensions, but the filter was made for {}", rank, f.rank));
    const Shape dimensions = dimensions_of(result_shape(f, Shape(image, image + rank)), f.result());
    *type = dlpack_type(f.result().is_struct() ? f.result().fields[0].type : f.result().scalar);
    *result_rank = static_cast<std::int32_t>(dimensions.size());
    std::copy(dimensions.begin(), dimensions.end(), shape);
  });
}

tsr_status tsr_filter_run(const tsr_filter* filter, const DLTensor* image, const DLTensor* mask, const DLTensor* result,
                          const tsr_options* options) {
  return guarded([&] {
    const FilterCall call(filter, image, mask, result, options);
    call.expect(result_shape(call.made, call.image.array().shape()));
    call.made.filter->program.run_into(call.made.filter->inputs(call.image.array(), call.mask), {call.result.array()},
                                       run_options(options));
    call.end();
  });
}

tsr_status tsr_filter_run_region(const tsr_filter* filter, const DLTensor* image, const DLTensor* mask,
                                 const int64_t* begin, const int64_t* end, const DLTensor* result,
                                 const tsr_options* options) {
  return guarded([&] {
    const FilterCall call(filter, image, mask, result, options);
    run_part(call, {call.image.array()}, begin, end, options);
  });
}

tsr_status tsr_filter_locality(const tsr_filter* filter, char** json) {
  return guarded([&] {
    const engine::Filter& f = *given(filter, "the filter").filter;
    given(json, "the place of the text");
    *json = copied(locality_json({f.locality()}, f.program));
  });
}

tsr_status tsr_filter_reads(const tsr_filter* filter, const int64_t* image, const int64_t* begin, const int64_t* end,
                            int64_t* read_begin, int64_t* read_end, const tsr_options* options) {
  return guarded([&] {
    const tsr_filter& f = given(filter, "the filter");
    const Shape shape = numbers(&given(image, "the shape of the image"), f.rank);
    static_cast<void>(result_shape(f, shape));
    given(read_begin, "the place of begins");
    given(read_end, "the place of ends");
    const Region read = f.filter->reads(shape, region_of(f, begin, end), run_options(options));
    std::copy(read.begin.begin(), read.begin.end(), read_begin);
    std::copy(read.end.begin(), read.end.end(), read_end);
  });
}

tsr_status tsr_filter_run_window(const tsr_filter* filter, const DLTensor* image, const DLTensor* mask,
                                 const int64_t* at, const int64_t* whole, const int64_t* begin, const int64_t* end,
                                 const DLTensor* result, const tsr_options* options) {
  return guarded([&] {
    const FilterCall call(filter, image, mask, result, options);
    const InputWindow window{call.image.array(), numbers(&given(at, "the place of the image"), call.made.rank),
                             numbers(&given(whole, "the shape of the whole"), call.made.rank)};
    run_part(call, window, begin, end, options);
  });
}

tsr_status tsr_filter_explain(const tsr_filter* filter, const DLTensor* image, const char* format,
                              const tsr_options* options, char** text) {
  return guarded([&] {
    const tsr_filter& f = given(filter, "the filter");
    const Shape shape = shape_of(given(image, "the image"), f.image, "the image");
    static_cast<void>(result_shape(f, shape));
    const ExplainFormat wanted = explain_format(format);
    given(text, "the place of the text");
    std::vector<Shape> shapes = {f.filter->input_shape(shape)};
    if (f.mask) shapes.push_back(shapes[0]);
    *text = copied(in_options(f.filter->program.explain(shapes, run_options(options), wanted)));
  });
}
}
