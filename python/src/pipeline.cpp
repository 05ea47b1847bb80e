// The builder of programs, call by call: the functions tsr_pipeline_*, whose numbers are ints here.
#include "core.hpp"

namespace tessera::python {
namespace {

using Ids = std::vector<std::uint32_t>;
using Terms = std::vector<std::pair<std::uint32_t, std::int64_t>>;
using Place =
    std::variant<std::int64_t, std::pair<std::int64_t, Terms>>;  // a number, or (number, [(variable, factor)])

// Places of neighbours as the C interface takes them.
class Offsets {
 public:
  explicit Offsets(const std::vector<Place>& places) {
    variables_.resize(places.size());
    factors_.resize(places.size());
    for (std::size_t k = 0; k < places.size(); ++k) {
      std::int64_t number = 0;
      if (const auto* plain = std::get_if<std::int64_t>(&places[k])) {
        number = *plain;
      } else {
        const auto& [start, terms] = std::get<1>(places[k]);
        number = start;
        for (const auto& [variable, factor] : terms) {
          variables_[k].push_back(variable);
          factors_[k].push_back(factor);
        }
      }
      offsets_.push_back({number, variables_[k].size(), variables_[k].data(), factors_[k].data()});
    }
  }
  const tsr_offset* data() const { return offsets_.data(); }
  std::size_t size() const { return offsets_.size(); }

 private:
  std::vector<Ids> variables_;
  std::vector<std::vector<std::int64_t>> factors_;
  std::vector<tsr_offset> offsets_;
};

tsr_border_mode mode_of(const std::string& name) {
  static constexpr std::pair<const char*, tsr_border_mode> modes[] = {
      {"none", TSR_NONE},           {"clamp", TSR_CLAMP}, {"clamped", TSR_CLAMP},    {"mirror", TSR_MIRROR},
      {"symmetric", TSR_SYMMETRIC}, {"wrap", TSR_WRAP},   {"constant", TSR_CONSTANT}};
  for (const auto& [word, mode] : modes)
    if (name == word) return mode;
  fail("border '" + name + "' cannot be used, expected none, clamp, mirror, symmetric, wrap or constant");
}

std::vector<const char*> pointers(const std::vector<std::string>& words) {
  std::vector<const char*> out;
  for (const std::string& w : words) out.push_back(w.c_str());
  return out;
}

class Pipeline {
 public:
  Pipeline() { check(tsr_pipeline_new(&handle_)); }
  ~Pipeline() { tsr_pipeline_free(handle_); }
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  std::uint32_t size(const std::string& name) {
    return one([&](auto* to) { return tsr_pipeline_size(handle(), name.c_str(), to); });
  }
  std::uint32_t extent(std::int64_t number) {
    return one([&](auto* to) { return tsr_pipeline_extent(handle(), number, to); });
  }
  std::uint32_t add_extents(std::uint32_t a, std::uint32_t b) {
    return one([&](auto* to) { return tsr_pipeline_add_extents(handle(), a, b, to); });
  }
  std::uint32_t subtract_extents(std::uint32_t a, std::uint32_t b) {
    return one([&](auto* to) { return tsr_pipeline_subtract_extents(handle(), a, b, to); });
  }
  std::uint32_t multiply_extents(std::uint32_t a, std::uint32_t b) {
    return one([&](auto* to) { return tsr_pipeline_multiply_extents(handle(), a, b, to); });
  }
  std::uint32_t divide_extent(std::uint32_t a, std::int64_t divisor) {
    return one([&](auto* to) { return tsr_pipeline_divide_extent(handle(), a, divisor, to); });
  }

  Ids input(const std::string& name, const std::string& dtype, int rank, const std::optional<Ids>& extents,
            const std::optional<std::vector<std::string>>& fields) {
    if (extents && static_cast<int>(extents->size()) != rank)
      fail("input '" + name + "' of rank " + std::to_string(rank) + " has " + std::to_string(extents->size()) +
           " extents, expected as many as dimensions");
    const std::vector<const char*> names = fields ? pointers(*fields) : std::vector<const char*>{};
    Ids images(names.empty() ? 1 : names.size());
    check(tsr_pipeline_input(handle(), name.c_str(), type_of(dtype), rank, extents ? extents->data() : nullptr,
                             names.empty() ? nullptr : names.data(), names.size(), images.data()));
    return images;
  }
  std::uint32_t scalar(const std::string& name, const std::string& dtype) {
    return one([&](auto* to) { return tsr_pipeline_scalar(handle(), name.c_str(), type_of(dtype), to); });
  }
  std::uint32_t table(const std::string& name, nb::handle values) {
    Taken taken;
    take_array(values.ptr(), name.c_str(), false, taken);
    return one([&](auto* to) { return tsr_pipeline_table(handle(), name.c_str(), &taken.tensor, to); });
  }

  std::uint32_t constant(const std::string& dtype, double v) {
    return one([&](auto* to) { return tsr_pipeline_constant(handle(), type_of(dtype), v, to); });
  }
  std::uint32_t coord(int d) {
    return one([&](auto* to) { return tsr_pipeline_coord(handle(), d, to); });
  }
  std::uint32_t extent_value(int d) {
    return one([&](auto* to) { return tsr_pipeline_extent_value(handle(), d, to); });
  }
  std::uint32_t apply(const std::string& op, const Ids& values) {
    return one([&](auto* to) { return tsr_pipeline_apply(handle(), op.c_str(), values.data(), values.size(), to); });
  }
  std::uint32_t convert(const std::string& dtype, std::uint32_t v) {
    return one([&](auto* to) { return tsr_pipeline_convert(handle(), type_of(dtype), v, to); });
  }
  std::uint32_t saturate(const std::string& dtype, std::uint32_t v) {
    return one([&](auto* to) { return tsr_pipeline_saturate(handle(), type_of(dtype), v, to); });
  }
  std::uint32_t select(std::uint32_t c, std::uint32_t a, std::uint32_t b) {
    return one([&](auto* to) { return tsr_pipeline_select(handle(), c, a, b, to); });
  }
  std::uint32_t read(std::uint32_t image, const std::vector<Place>& places) {
    const Offsets offsets(places);
    return one([&](auto* to) { return tsr_pipeline_read(handle(), image, offsets.data(), offsets.size(), to); });
  }
  std::uint32_t gather(std::uint32_t image, const Ids& indices) {
    return one([&](auto* to) { return tsr_pipeline_gather(handle(), image, indices.data(), indices.size(), to); });
  }
  std::uint32_t lookup(std::uint32_t table, const Ids& indices) {
    return one([&](auto* to) { return tsr_pipeline_lookup(handle(), table, indices.data(), indices.size(), to); });
  }
  std::uint32_t only(std::uint32_t image) {
    return one([&](auto* to) { return tsr_pipeline_only(handle(), image, to); });
  }
  Ids variables(const std::vector<std::pair<std::int32_t, std::int32_t>>& ranges) {
    std::vector<std::int32_t> lo, hi;
    for (const auto& [a, b] : ranges) {
      lo.push_back(a);
      hi.push_back(b);
    }
    Ids out(ranges.size());
    check(tsr_pipeline_variables(handle(), lo.data(), hi.data(), ranges.size(), out.data()));
    return out;
  }
  std::uint32_t offset(const Place& place) {
    const Offsets offsets({place});
    return one([&](auto* to) { return tsr_pipeline_offset(handle(), offsets.data(), to); });
  }
  std::uint32_t reduce(const std::string& op, const Ids& variables, std::uint32_t body) {
    return one([&](auto* to) {
      return tsr_pipeline_reduce(handle(), op.c_str(), variables.data(), variables.size(), body, to);
    });
  }

  std::uint32_t borders(std::uint32_t image, const std::vector<std::pair<std::string, double>>& modes) {
    std::vector<tsr_border> list;
    for (const auto& [name, value] : modes) list.push_back({mode_of(name), value});
    return one([&](auto* to) { return tsr_pipeline_borders(handle(), image, list.data(), list.size(), to); });
  }
  std::uint32_t every(std::uint32_t image, const std::vector<std::int64_t>& strides) {
    return one([&](auto* to) { return tsr_pipeline_every(handle(), image, strides.data(), strides.size(), to); });
  }
  std::uint32_t stage(const std::string& name, std::uint32_t value) {
    return one([&](auto* to) { return tsr_pipeline_stage(handle(), name.c_str(), value, to); });
  }
  std::uint32_t total(const std::string& name, const std::string& op, std::uint32_t image) {
    return one([&](auto* to) { return tsr_pipeline_total(handle(), name.c_str(), op.c_str(), image, to); });
  }
  std::pair<std::uint32_t, std::uint32_t> fourier(const std::string& name, bool inverse, const Ids& images,
                                                  const std::vector<std::int32_t>& along) {
    std::uint32_t pair[2];
    check(tsr_pipeline_fourier(handle(), name.c_str(), inverse ? 1 : 0, images.data(), images.size(), along.data(),
                               along.size(), pair));
    return {pair[0], pair[1]};
  }
  std::uint32_t compose(const std::string& name, const Ids& pieces, int rank,
                        const std::vector<std::vector<std::int64_t>>& starts,
                        const std::vector<std::vector<std::int64_t>>& strides) {
    const auto flat = [&](const char* what, const std::vector<std::vector<std::int64_t>>& rows) {
      std::vector<std::int64_t> out;
      if (rows.size() != pieces.size())
        fail(std::to_string(rows.size()) + " " + what + " are given for " + std::to_string(pieces.size()) +
             " pieces, expected one list for each");
      for (const auto& row : rows) {
        if (static_cast<int>(row.size()) != rank)
          fail(std::string(what) + " of a piece are " + std::to_string(row.size()) + " numbers, expected " +
               std::to_string(rank) + ", the rank");
        out.insert(out.end(), row.begin(), row.end());
      }
      return out;
    };
    const std::vector<std::int64_t> a = flat("starts", starts), b = flat("strides", strides);
    return one([&](auto* to) {
      return tsr_pipeline_compose(handle(), name.c_str(), pieces.data(), pieces.size(), rank, a.data(), b.data(), to);
    });
  }
  Ids begin_loop(const std::string& name, std::int64_t most, const Ids& images) {
    Ids before(images.size());
    check(tsr_pipeline_begin_loop(handle(), name.c_str(), most, images.data(), images.size(), before.data()));
    return before;
  }
  Ids end_loop(const Ids& images, std::uint32_t test) {
    Ids after(images.size());
    check(tsr_pipeline_end_loop(handle(), images.data(), images.size(), test, after.data()));
    return after;
  }

  std::string value_type(std::uint32_t v) {
    DLDataType type{};
    check(tsr_pipeline_value_type(handle(), v, &type));
    return name_of(type);
  }
  std::pair<std::string, int> image_type(std::uint32_t image) {
    DLDataType type{};
    std::int32_t rank = 0;
    check(tsr_pipeline_image_type(handle(), image, &type, &rank));
    return {name_of(type), rank};
  }

  using Output = std::tuple<std::string, Ids, std::optional<std::vector<std::string>>>;
  nb::object compile(const std::vector<Output>& outputs, Options* options) {
    std::vector<std::vector<const char*>> fields;
    std::vector<tsr_output> list;
    fields.reserve(outputs.size());
    for (const auto& [name, images, names] : outputs) {
      fields.push_back(names ? pointers(*names) : std::vector<const char*>{});
      if (names && names->size() != images.size())
        fail("output '" + name + "' has " + std::to_string(images.size()) + " images and " +
             std::to_string(names->size()) + " fields, expected as many");
      list.push_back({name.c_str(), images.data(), images.size(), names ? fields.back().data() : nullptr});
    }
    tsr_program* program = nullptr;
    tsr_pipeline* const h = handle();
    const Busy busy(busy_);
    compute(options,
            [&](const tsr_options* o) { return tsr_pipeline_compile(h, list.data(), list.size(), o, &program); });
    return make_program(program);
  }

 private:
  // While it is compiled other threads run, and a pipeline is used by one at a time.
  struct Busy {
    explicit Busy(bool& f) : flag(f) { flag = true; }
    ~Busy() { flag = false; }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;
    bool& flag;
  };
  tsr_pipeline* handle() const {
    if (busy_) fail("the pipeline is being compiled by another thread");
    return handle_;
  }

  template <class F>
  static std::uint32_t one(F f) {
    std::uint32_t id = 0;
    check(f(&id));
    return id;
  }

  tsr_pipeline* handle_ = nullptr;
  bool busy_ = false;
};

}  // namespace

void bind_pipeline(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<Pipeline>(m, "Pipeline")
      .def(nb::init<>())
      .def("size", &Pipeline::size, "name"_a)
      .def("extent", &Pipeline::extent, "n"_a)
      .def("add_extents", &Pipeline::add_extents, "a"_a, "b"_a)
      .def("subtract_extents", &Pipeline::subtract_extents, "a"_a, "b"_a)
      .def("multiply_extents", &Pipeline::multiply_extents, "a"_a, "b"_a)
      .def("divide_extent", &Pipeline::divide_extent, "a"_a, "divisor"_a)
      .def("input", &Pipeline::input, "name"_a, "dtype"_a, "rank"_a, "extents"_a = nb::none(), "fields"_a = nb::none())
      .def("scalar", &Pipeline::scalar, "name"_a, "dtype"_a)
      .def("table", &Pipeline::table, "name"_a, "array"_a)
      .def("constant", &Pipeline::constant, "dtype"_a, "v"_a)
      .def("coord", &Pipeline::coord, "d"_a)
      .def("extent_value", &Pipeline::extent_value, "d"_a)
      .def("apply", &Pipeline::apply, "op"_a, "values"_a)
      .def("convert", &Pipeline::convert, "dtype"_a, "v"_a)
      .def("saturate", &Pipeline::saturate, "dtype"_a, "v"_a)
      .def("select", &Pipeline::select, "c"_a, "a"_a, "b"_a)
      .def("read", &Pipeline::read, "image"_a, "offsets"_a)
      .def("gather", &Pipeline::gather, "image"_a, "values"_a)
      .def("lookup", &Pipeline::lookup, "table"_a, "values"_a)
      .def("only", &Pipeline::only, "image"_a)
      .def("variables", &Pipeline::variables, "ranges"_a)
      .def("offset", &Pipeline::offset, "offset"_a)
      .def("reduce", &Pipeline::reduce, "op"_a, "variables"_a, "body"_a)
      .def("borders", &Pipeline::borders, "image"_a, "modes"_a)
      .def("every", &Pipeline::every, "image"_a, "strides"_a)
      .def("stage", &Pipeline::stage, "name"_a, "value"_a)
      .def("total", &Pipeline::total, "name"_a, "op"_a, "image"_a)
      .def("fourier", &Pipeline::fourier, "name"_a, "inverse"_a, "images"_a, "along"_a)
      .def("compose", &Pipeline::compose, "name"_a, "pieces"_a, "rank"_a, "starts"_a, "strides"_a)
      .def("begin_loop", &Pipeline::begin_loop, "name"_a, "most"_a, "images"_a)
      .def("end_loop", &Pipeline::end_loop, "images"_a, "test"_a)
      .def("value_type", &Pipeline::value_type, "v"_a)
      .def("image_type", &Pipeline::image_type, "i"_a)
      .def("compile", &Pipeline::compile, "outputs"_a, "options"_a = nb::none());
}

}  // namespace tessera::python
