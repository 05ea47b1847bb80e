// Named filters.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core.hpp"
#include "sequences.hpp"

namespace tessera::python {

namespace {

class Filter {
 public:
  Filter(const std::string& name, const std::string& dtype, int rank, Options* options)
      : type_(type_of(dtype)), rank_(rank) {
    compute(options, [&](const tsr_options* o) { return tsr_filter_new(name.c_str(), type_, rank, o, &handle_); });
  }
  ~Filter() { tsr_filter_free(handle_); }
  Filter(const Filter&) = delete;
  Filter& operator=(const Filter&) = delete;

  std::pair<std::string, nb::tuple> result(const std::vector<std::int64_t>& shape) {
    const auto found = result_of(shape.data(), static_cast<int>(shape.size()));
    return {name_of(found->type), found->tuple};
  }

  std::string locality() const {
    char* text = nullptr;
    check(tsr_filter_locality(handle_, &text));
    return taken_string(text);
  }

  // What of an image of this shape a region of the result is computed from.
  nb::object reads(nb::handle image, nb::handle begin, nb::handle end, Options* options) {
    const Boxes shape(nb::make_tuple(nb::make_tuple(image, image)), 1);
    const Boxes part(nb::make_tuple(nb::make_tuple(begin, end)), 1);
    std::int64_t first[TSR_MOST_DIMENSIONS] = {}, last[TSR_MOST_DIMENSIONS] = {};
    compute(options, [&](const tsr_options* o) {
      return tsr_filter_reads(handle_, shape.first(0), part.first(0), part.last(0), first, last, o);
    });
    const auto rank = static_cast<std::size_t>(rank_);
    return nb::make_tuple(tuple_of(first, rank), tuple_of(last, rank));
  }

  // `place`: (at, whole) of an image that is a part.
  nb::object run(nb::handle image, nb::handle mask, nb::handle out, Options* options, nb::handle region,
                 nb::handle place) {
    TakenList in(mask.is_none() ? 1 : 2);
    Taken& from = in.at(0);
    take_array(image.ptr(), "image", false, from);
    if (!same(from.tensor.dtype, type_))
      fail("'image' is an array of " + name_of(from.tensor.dtype) + ", this filter is compiled for " + name_of(type_));
    if (!mask.is_none()) take_array(mask.ptr(), "mask", false, in.at(1));
    // Fields are no dimension to the filter.
    std::optional<Boxes> part, window;
    if (!place.is_none()) window.emplace(nb::make_tuple(place), 1);
    const auto wanted = window ? result_of(window->last(0), rank_)
                               : result_of(from.shape, from.tensor.ndim == rank_ + 1 ? rank_ : from.tensor.ndim);
    nb::tuple shape = wanted->tuple;
    if (!region.is_none()) {
      part.emplace(nb::make_tuple(region), 1);
      shape = part_of(*wanted, *part);
    }
    TakenList results(1);
    Taken& to = results.at(0);
    nb::object array = out.is_none() ? make_array(&from, shape, wanted->type) : nb::borrow(out);
    take_array(array.ptr(), "out", true, to);
    if (!out.is_none()) {
      const auto extents = nb::cast<std::vector<std::int64_t>>(shape);
      check_output(to, "out", wanted->type, extents.data(), wanted->rank);
      check_overlap(to, "out", in);
    }
    const DLTensor* const certainties = mask.is_none() ? nullptr : &in.at(1).tensor;
    OnStream placed(options, in, results);
    const bool plain = placed.options() == nullptr && !part;
    Brevity brevity(plain, wanted->brief);
    compute(
        placed.options(),
        [&](const tsr_options* o) {
          if (!part) return tsr_filter_run(handle_, &from.tensor, certainties, &to.tensor, o);
          if (window)
            return tsr_filter_run_window(handle_, &from.tensor, certainties, window->first(0), window->last(0),
                                         part->first(0), part->last(0), &to.tensor, o);
          return tsr_filter_run_region(handle_, &from.tensor, certainties, part->first(0), part->last(0), &to.tensor,
                                       o);
        },
        plain && wanted->brief);
    if (brevity.ended_soon()) brevity.remember();
    placed.done();
    return out.is_none() ? finish_array(&from, std::move(array)) : array;
  }

  std::string explain(nb::handle image, const std::string& format, Options* options) {
    Taken from;
    take_array(image.ptr(), "image", false, from);
    char* text = nullptr;
    compute(options,
            [&](const tsr_options* o) { return tsr_filter_explain(handle_, &from.tensor, format.c_str(), o, &text); });
    return taken_string(text);
  }

 private:
  // Type and shape of the result for an image; it does not change, but for how long a run took.
  struct Result {
    std::vector<std::int64_t> image;
    DLDataType type{};
    std::int64_t shape[TSR_MOST_DIMENSIONS] = {};
    std::int32_t rank = 0;
    nb::tuple tuple;
    mutable bool brief = false;
  };

  // The shape of a part of it.
  nb::tuple part_of(const Result& whole, const Boxes& box) const {
    std::vector<std::int64_t> shape(whole.shape, whole.shape + whole.rank);
    for (int d = 0; d < rank_; ++d) shape[d] = box.last(0)[d] - box.first(0)[d];
    return tuple_of(shape.data(), shape.size());
  }

  // That of the last call is kept.
  std::shared_ptr<const Result> result_of(const std::int64_t* shape, int rank) {
    if (last_ != nullptr && static_cast<int>(last_->image.size()) == rank &&
        std::equal(shape, shape + rank, last_->image.begin()))
      return last_;
    auto made = std::make_shared<Result>();
    check(tsr_filter_result(handle_, shape, rank, &made->type, made->shape, &made->rank));
    made->image.assign(shape, shape + rank);
    made->tuple = tuple_of(made->shape, static_cast<std::size_t>(made->rank));
    last_ = made;
    return made;
  }

  tsr_filter* handle_ = nullptr;
  DLDataType type_;
  int rank_;
  std::shared_ptr<const Result> last_;
};

}  // namespace

void bind_filter(nb::module_& m) {
  using namespace nb::literals;
  m.def(
      "describe",
      [](nb::handle array, const std::string& name) {
        Taken taken;
        take_array(array.ptr(), name.c_str(), false, taken);
        if (taken.tensor.dtype.code == kDLComplex) wrong_type(name.c_str(), name_of(taken.tensor.dtype), taken);
        return nb::make_tuple(name_of(taken.tensor.dtype),
                              tuple_of(taken.shape, static_cast<std::size_t>(taken.tensor.ndim)));
      },
      "array"_a.none(), "name"_a, "Element type and shape of an array, as runs see them.");
  m.def("filters_json", [] { return std::string(tsr_filters_json()); });
  nb::class_<Filter>(m, "Filter", "A named filter, compiled for a type, a rank and options.")
      .def(nb::init<const std::string&, const std::string&, int, Options*>(), "name"_a, "dtype"_a, "rank"_a,
           "options"_a = nb::none())
      .def("result", &Filter::result, "shape"_a)
      .def("run", &Filter::run, "image"_a, "mask"_a = nb::none(), "out"_a = nb::none(), "options"_a = nb::none(),
           "region"_a = nb::none(), "place"_a = nb::none())
      .def("locality", &Filter::locality)
      .def("reads", &Filter::reads, "image"_a, "begin"_a, "end"_a, "options"_a = nb::none())
      .def("explain", &Filter::explain, "image"_a, "format"_a = "text", "options"_a = nb::none());
}

}  // namespace tessera::python
