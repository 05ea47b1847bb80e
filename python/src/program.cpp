// Compiled programs.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "core.hpp"
#include "sequences.hpp"

namespace tessera::python {
namespace {

std::string shape_text(const std::int64_t* shape, int rank) {
  std::string out = "(";
  for (int d = 0; d < rank; ++d) out += (d > 0 ? ", " : "") + std::to_string(shape[d]);
  return out + (rank == 1 ? ",)" : ")");
}

// A result of the library as an array of NumPy.
nb::object copied(DLManagedTensorVersioned* result) {
  const DLTensor& t = result->dl_tensor;
  nb::object out = make_array(nullptr, tuple_of(t.shape, static_cast<std::size_t>(t.ndim)), t.dtype);
  Taken to;
  take_array(out.ptr(), "result", true, to);
  std::size_t bytes = t.dtype.bits / 8;
  for (int d = 0; d < t.ndim; ++d) bytes *= static_cast<std::size_t>(t.shape[d]);
  if (bytes > 0) std::memcpy(to.tensor.data, static_cast<const char*>(t.data) + t.byte_offset, bytes);
  return out;
}

}  // namespace

void check_output(const Taken& out, const char* name, DLDataType type, const std::int64_t* shape, int rank) {
  if (out.read_only) fail("'" + std::string(name) + "' is read-only, expected an array to write to");
  if (!same(out.tensor.dtype, type))
    fail("'" + std::string(name) + "' is an array of " + name_of(out.tensor.dtype) + ", expected " + name_of(type));
  bool fits = out.tensor.ndim == rank;
  for (int d = 0; fits && d < rank; ++d) fits = out.shape[d] == shape[d];
  if (!fits)
    fail("'" + std::string(name) + "' has the shape " + shape_text(out.shape, out.tensor.ndim) + ", expected " +
         shape_text(shape, rank));
  // Each stride has to reach beyond all that those below it span.
  std::vector<std::pair<std::int64_t, std::int64_t>> steps;
  for (int d = 0; d < rank; ++d)
    if (shape[d] > 1) steps.emplace_back(std::abs(out.strides[d]), shape[d]);
  std::sort(steps.begin(), steps.end());
  std::int64_t span = 0;
  for (const auto& [stride, count] : steps) {
    if (stride <= span)
      fail("'" + std::string(name) + "' has elements that share their memory, expected an array of its own");
    span += stride * (count - 1);
  }
}

void check_overlap(Taken& out, const char* name, TakenList& inputs) {
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (inputs.at(k).tensor.ndim > 0 && !inputs.at(k).fresh && may_overlap(out, inputs.at(k)))
      fail("'" + std::string(name) + "' shares memory with an input, expected an array of its own",
           "leave it out, or give a copy of the input");
}

namespace {

struct Port {
  std::string name;
  bool array = true, fields = false;
  std::size_t rank = 0;
  DLDataType type{};
  nb::object record;  // NumPy's type of structs with fields of several types, which are bytes to the library
  nb::list names, types;

  bool is_mixed() const { return names.is_valid() && nb::len(names) > 0; }
  nb::handle numpy_type() {
    if (!record.is_valid()) record = nb::module_::import_("tessera._arrays").attr("record_type")(names, types);
    return record;
  }
};

// Structs as the bytes that they are; what is none, such as bytes, as it is.
nb::object bytes_of(nb::handle given, Port& port, bool for_writing) {
  return nb::module_::import_("tessera._arrays").attr("record_bytes")(given, port.name, port.numpy_type(), for_writing);
}
nb::object records_of(nb::handle bytes, Port& port) {
  return nb::module_::import_("tessera._arrays").attr("records")(bytes, port.numpy_type());
}

class Program {
 public:
  explicit Program(tsr_program* handle) : handle_(handle) {
    const nb::object said = nb::module_::import_("json").attr("loads")(json());
    const auto read = [&](const char* which, std::vector<Port>& to) {
      for (const nb::handle entry : said[which]) {
        const auto port = nb::cast<nb::dict>(entry);
        Port made;
        made.name = nb::cast<std::string>(port["name"]);
        made.array = nb::cast<bool>(port["array"]);
        made.rank = nb::cast<std::size_t>(port["rank"]);
        made.fields = nb::len(nb::handle(port["fields"])) > 0;
        made.type = type_of(nb::cast<std::string>(port["type"]));
        const auto types = nb::cast<nb::list>(port["types"]);
        for (const nb::handle t : types)
          if (!t.equal(types[0])) made.names = nb::cast<nb::list>(port["fields"]);
        if (made.is_mixed()) {
          made.type = make_type(kDLUInt, 8);
          for (const nb::handle t : types) made.types.append(name_of(type_of(nb::cast<std::string>(t))));
        }
        to.push_back(std::move(made));
      }
    };
    read("inputs", inputs_);
    read("outputs", outputs_);
    for (Port& p : outputs_)
      if (p.name.empty()) p.name = "out";
  }
  ~Program() { tsr_program_free(handle_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  std::string json() const { return tsr_program_json(handle_); }
  std::string graph() const {
    char* text = nullptr;
    check(tsr_program_graph(handle_, &text));
    return taken_string(text);
  }
  tsr_program* adjoint() const {
    tsr_program* made = nullptr;
    check(tsr_program_adjoint(handle_, &made));
    return made;
  }
  std::size_t input_count() const { return inputs_.size(); }
  std::size_t output_count() const { return outputs_.size(); }

  nb::object output_shapes(nb::handle inputs) {
    TakenList in(inputs_.size());
    take_inputs(inputs, in, true);
    nb::list out;
    const std::shared_ptr<const Shapes> shapes = shapes_of(in);
    for (std::size_t k = 0; k < outputs_.size(); ++k)
      if (outputs_[k].is_mixed())
        out.append(tuple_of(&shapes->numbers[k * TSR_MOST_DIMENSIONS], static_cast<std::size_t>(shapes->ranks[k] - 1)));
      else
        out.append(shapes->tuples[k]);
    return nb::tuple(out);
  }

  nb::object run(nb::handle inputs, nb::handle outputs, Options* options) {
    TakenList in(inputs_.size());
    const Taken* const like = take_inputs(inputs, in, false);
    const std::shared_ptr<const Shapes> shapes = shapes_of(in);
    const std::size_t count = outputs_.size();
    TakenList out(count);
    const nb::object results = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(count)));
    if (!results.is_valid()) throw nb::python_error();
    std::optional<Items> given;
    if (!outputs.is_none()) {
      given.emplace(outputs);
      if (given->size() != count)
        fail(std::to_string(given->size()) + " arrays are given as out, expected " + std::to_string(count));
    }
    for (std::size_t k = 0; k < count; ++k) {
      const char* const name = outputs_[k].name.c_str();
      const bool made = !given || (*given)[k] == Py_None;
      nb::object array = made ? make_array(like, shapes->tuples[k], outputs_[k].type) : nb::borrow((*given)[k]);
      Taken& to = out.at(k);
      nb::object place = array;  // of structs their bytes
      if (outputs_[k].is_mixed()) [[unlikely]] {
        if (!made)
          place = bytes_of(array, outputs_[k], true);
        else if (like == nullptr || like->maker == Maker::numpy)
          array = records_of(place, outputs_[k]);
      }
      take_array(place.ptr(), name, true, to);
      if (!place.is(array)) to.keep = place;
      if (!made) {
        check_output(to, name, outputs_[k].type, &shapes->numbers[k * TSR_MOST_DIMENSIONS], shapes->ranks[k]);
        check_overlap(to, name, in);
        for (std::size_t j = 0; j < k; ++j)
          if (may_overlap(to, out.at(j)))
            fail("'" + std::string(name) + "' shares memory with '" + outputs_[j].name +
                 "', expected arrays of their own");
      }
      PyTuple_SetItem(results.ptr(), static_cast<Py_ssize_t>(k), array.release().ptr());
    }
    OnStream placed(options, in, out);
    const bool plain = placed.options() == nullptr;
    Brevity brevity(plain, shapes->brief);
    compute(
        placed.options(),
        [&](const tsr_options* o) { return tsr_run_into(handle_, in.tensors(), in.size(), out.tensors(), count, o); },
        plain && shapes->brief);
    if (brevity.ended_soon() && !has_loops()) brevity.remember();
    placed.done();
    if (like == nullptr || like->maker == Maker::numpy) [[likely]]
      return results;
    nb::list finished;
    for (std::size_t k = 0; k < count; ++k)
      finished.append(given && (*given)[k] != Py_None
                          ? nb::borrow((*given)[k])
                          : finish_array(like, nb::borrow(PyTuple_GetItem(results.ptr(), static_cast<Py_ssize_t>(k)))));
    return nb::tuple(finished);
  }

  // Extents of the outputs, planes not among them, for inputs that may be windows of wholes.
  nb::object whole_shapes(nb::handle inputs, nb::handle places) {
    TakenList in(inputs_.size());
    take_inputs(inputs, in, true);
    const Boxes wholes(places, inputs_.size());
    std::vector<const std::int64_t*> shapes;
    for (std::size_t k = 0; k < inputs_.size(); ++k)
      shapes.push_back(wholes.last(k) != nullptr && inputs_[k].array ? wholes.last(k) : extents_of(in, k));
    std::vector<std::int64_t> extents(outputs_.size() * TSR_MOST_DIMENSIONS);
    check(tsr_output_extents(handle_, shapes.data(), shapes.size(), extents.data(), outputs_.size()));
    nb::list out;
    for (std::size_t o = 0; o < outputs_.size(); ++o)
      out.append(tuple_of(&extents[o * TSR_MOST_DIMENSIONS], outputs_[o].rank));
    return nb::tuple(out);
  }

  nb::object run_region(nb::handle inputs, nb::handle places, nb::handle regions, nb::handle shapes, nb::handle outputs,
                        Options* options) {
    TakenList in(inputs_.size());
    const Taken* const like = take_inputs(inputs, in, false);
    const Boxes parts(places, inputs_.size()), boxes(regions, outputs_.size());
    const Items dimensions(shapes);
    std::optional<Items> given;
    if (!outputs.is_none()) given.emplace(outputs);
    if (given && given->size() != outputs_.size())
      fail(std::to_string(given->size()) + " arrays are given as out, expected " + std::to_string(outputs_.size()));
    TakenList out(outputs_.size());
    std::vector<const DLTensor*> targets(outputs_.size(), nullptr);
    std::vector<nb::object> results(outputs_.size(), nb::none());
    for (std::size_t k = 0; k < outputs_.size(); ++k) {
      if (boxes.first(k) == nullptr) {
        if (given && (*given)[k] != Py_None)
          fail("out has an array for '" + outputs_[k].name + "', of which no region is wanted", "give None there");
        continue;
      }
      const char* const name = outputs_[k].name.c_str();
      const bool made = !given || (*given)[k] == Py_None;
      nb::object array =
          made ? make_array(like, nb::borrow<nb::tuple>(dimensions[k]), outputs_[k].type) : nb::borrow((*given)[k]);
      nb::object place = array;  // of structs their bytes
      if (outputs_[k].is_mixed()) {
        if (!made)
          place = bytes_of(array, outputs_[k], true);
        else if (like == nullptr || like->maker == Maker::numpy)
          array = records_of(place, outputs_[k]);
      }
      Taken& to = out.at(k);
      take_array(place.ptr(), name, true, to);
      if (!place.is(array)) to.keep = place;
      if (!made) {
        std::vector<std::int64_t> shape;
        for (const nb::handle n : nb::borrow<nb::tuple>(dimensions[k])) shape.push_back(nb::cast<std::int64_t>(n));
        check_output(to, name, outputs_[k].type, shape.data(), static_cast<int>(shape.size()));
        check_overlap(to, name, in);
        for (std::size_t j = 0; j < k; ++j)
          if (targets[j] != nullptr && may_overlap(to, out.at(j)))
            fail("'" + std::string(name) + "' shares memory with '" + outputs_[j].name +
                 "', expected arrays of their own");
      }
      targets[k] = &to.tensor;
      results[k] = array;
    }
    OnStream placed(options, in, out);
    compute(placed.options(), [&](const tsr_options* o) {
      return tsr_run_region_into(handle_, in.tensors(), parts.firsts(), parts.lasts(), in.size(), boxes.firsts(),
                                 boxes.lasts(), targets.data(), targets.size(), o);
    });
    placed.done();
    nb::list finished;
    for (std::size_t k = 0; k < results.size(); ++k) {
      const bool own =
          !results[k].is_none() && like != nullptr && like->maker != Maker::numpy && (!given || (*given)[k] == Py_None);
      finished.append(own ? finish_array(like, results[k]) : results[k]);
    }
    return nb::tuple(finished);
  }

  nb::object reads(nb::handle inputs, std::size_t output, nb::handle begin, nb::handle end, Options* options) {
    TakenList in(inputs_.size());
    take_inputs(inputs, in, true);
    const nb::object box = nb::make_tuple(nb::make_tuple(begin, end));
    const Boxes wanted(box, 1);
    std::vector<const std::int64_t*> shapes;
    for (std::size_t k = 0; k < inputs_.size(); ++k) shapes.push_back(extents_of(in, k));
    std::vector<std::int64_t> first(inputs_.size() * TSR_MOST_DIMENSIONS), last = first;
    compute(options, [&](const tsr_options* o) {
      return tsr_reads(handle_, output, wanted.first(0), wanted.last(0), shapes.data(), shapes.size(), first.data(),
                       last.data(), o);
    });
    nb::list out;
    for (std::size_t k = 0; k < inputs_.size(); ++k)
      if (inputs_[k].array)
        out.append(nb::make_tuple(tuple_of(&first[k * TSR_MOST_DIMENSIONS], inputs_[k].rank),
                                  tuple_of(&last[k * TSR_MOST_DIMENSIONS], inputs_[k].rank)));
      else
        out.append(nb::none());
    return nb::tuple(out);
  }

  std::string locality() const {
    char* text = nullptr;
    check(tsr_locality(handle_, &text));
    return taken_string(text);
  }

  std::string passes() const {
    char* text = nullptr;
    check(tsr_passes(handle_, &text));
    return taken_string(text);
  }

  nb::object interpret(nb::handle inputs, Options* options) {
    TakenList in(inputs_.size());
    take_inputs(inputs, in, false);
    std::vector<DLManagedTensorVersioned*> results(outputs_.size(), nullptr);
    compute(options, [&](const tsr_options* o) {
      return tsr_interpret_with(handle_, in.tensors(), in.size(), results.data(), results.size(), o);
    });
    nb::list out;
    for (std::size_t k = 0; k < results.size(); ++k) {
      DLManagedTensorVersioned* const r = results[k];
      const nb::object array = copied(r);
      out.append(outputs_[k].is_mixed() ? records_of(array, outputs_[k]) : array);
      r->deleter(r);
    }
    return nb::tuple(out);
  }

  std::string explain(nb::handle inputs, const std::string& format, Options* options) {
    TakenList in(inputs_.size());
    take_inputs(inputs, in, true);
    char* text = nullptr;
    compute(options, [&](const tsr_options* o) {
      return tsr_explain(handle_, in.tensors(), in.size(), format.c_str(), o, &text);
    });
    return taken_string(text);
  }

  std::tuple<std::string, std::string, std::string> emit(Options* options) {
    char *source = nullptr, *header = nullptr, *host = nullptr;
    compute(options, [&](const tsr_options* o) { return tsr_emit(handle_, o, &source, &header, &host); });
    return {taken_string(source), taken_string(header), taken_string(host)};
  }

 private:
  // The first of the arrays; null where there is none. Where values are not looked at, None is a scalar as well.
  const Taken* take_inputs(nb::handle inputs, TakenList& to, bool shapes_alone) {
    const Items items(inputs);
    if (items.size() != inputs_.size()) {
      std::string names;
      for (std::size_t k = 0; k < inputs_.size(); ++k)
        names += (k == 0 ? "" : k + 1 == inputs_.size() ? " and " : ", ") + inputs_[k].name;
      fail(std::to_string(items.size()) + (items.size() == 1 ? " input is" : " inputs are") + " given, expected " +
           std::to_string(inputs_.size()) + (inputs_.empty() ? "" : ": " + names));
    }
    const Taken* like = nullptr;
    for (std::size_t k = 0; k < inputs_.size(); ++k) {
      Port& port = inputs_[k];
      if (port.is_mixed()) [[unlikely]] {
        const nb::object bytes = bytes_of(items[k], port, false);
        take_array(bytes.ptr(), port.name.c_str(), false, to.at(k));
        if (!bytes.is(items[k])) to.at(k).keep = bytes;
        if (like == nullptr) like = &to.at(k);
        continue;
      }
      if (!port.array) {
        if (shapes_alone && items[k] == Py_None)
          take_scalar(nb::int_(0).ptr(), port.name.c_str(), port.type, to.at(k));
        else
          take_scalar(items[k], port.name.c_str(), port.type, to.at(k));
        continue;
      }
      if (!port.fields) to.at(k).expected = port.type;
      take_array(items[k], port.name.c_str(), false, to.at(k));
      if (!port.fields && !same(to.at(k).tensor.dtype, port.type)) other_type(to.at(k), port.name.c_str(), port.type);
      if (like == nullptr) like = &to.at(k);
    }
    return like;
  }

  // As many extents as the input has dimensions, fields not counted; null for numbers.
  const std::int64_t* extents_of(TakenList& in, std::size_t k) const {
    const Port& port = inputs_[k];
    if (!port.array) return nullptr;
    const DLTensor& t = in.at(k).tensor;
    const auto expected = static_cast<int>(port.rank) + (port.fields && t.dtype.code != kDLComplex ? 1 : 0);
    if (t.ndim != expected)
      fail("'" + port.name + "' has the shape " + shape_text(in.at(k).shape, t.ndim) + ", expected " +
           std::to_string(expected) + " dimensions");
    return in.at(k).shape;
  }

  // Shapes of the outputs for inputs of some shapes; it does not change, but for how long a run took.
  struct Shapes {
    std::vector<std::int64_t> key, numbers;
    std::vector<std::int32_t> ranks;
    std::vector<nb::tuple> tuples;
    mutable bool brief = false;
  };

  // Those of the last call are kept for the next one, which most often has inputs of the same shapes.
  std::shared_ptr<const Shapes> shapes_of(TakenList& in) {
    std::size_t n = 0;
    bool known = shapes_ != nullptr;
    const auto meets = [&](std::int64_t v) { known = known && n < shapes_->key.size() && shapes_->key[n++] == v; };
    for (std::size_t k = 0; k < in.size(); ++k) {
      const Taken& t = in.at(k);
      if (!inputs_[k].array) continue;
      meets(t.tensor.ndim);
      for (int d = 0; d < t.tensor.ndim; ++d) meets(t.shape[d]);
    }
    if (known) [[likely]]
      return shapes_;
    auto made = std::make_shared<Shapes>();
    for (std::size_t k = 0; k < in.size(); ++k) {
      const Taken& t = in.at(k);
      if (!inputs_[k].array) continue;
      made->key.push_back(t.tensor.ndim);
      made->key.insert(made->key.end(), t.shape, t.shape + t.tensor.ndim);
    }
    made->numbers.assign(outputs_.size() * TSR_MOST_DIMENSIONS, 0);
    made->ranks.assign(outputs_.size(), 0);
    check(
        tsr_output_shapes(handle_, in.tensors(), in.size(), made->numbers.data(), made->ranks.data(), outputs_.size()));
    for (std::size_t k = 0; k < outputs_.size(); ++k)
      made->tuples.push_back(
          tuple_of(&made->numbers[k * TSR_MOST_DIMENSIONS], static_cast<std::size_t>(made->ranks[k])));
    shapes_ = made;
    return made;
  }

  // How long a loop with a test runs is not to be told from the time before.
  bool has_loops() {
    if (!loops_) loops_ = graph().find(" = loop ") != std::string::npos;
    return *loops_;
  }

  tsr_program* handle_;
  std::vector<Port> inputs_, outputs_;
  std::optional<bool> loops_;
  std::shared_ptr<const Shapes> shapes_;
};

// What elements come to, as bytes: they go to other processes.
nb::bytes total_part(const std::string& operation, nb::handle elements, std::int64_t first) {
  Taken taken;
  take_array(elements.ptr(), "elements", false, taken);
  std::int64_t n = 1;
  for (int d = 0; d < taken.tensor.ndim; ++d) n *= taken.shape[d];
  std::vector<double> part(static_cast<std::size_t>(3 + 2 * 4096 + n / 4096));
  std::size_t count = 0;
  tsr_status status = TSR_OK;
  {
    const Unlocked unlocked;
    status = tsr_total_part(operation.c_str(), &taken.tensor, first, part.data(), part.size(), &count);
  }
  check(status);
  return nb::bytes(reinterpret_cast<const char*>(part.data()), count * sizeof(double));
}

double total(const std::string& operation, const std::string& image, const std::string& number, nb::handle parts) {
  std::vector<std::vector<double>> kept;
  for (const nb::handle part : parts) {
    const auto bytes = nb::cast<nb::bytes>(part);
    kept.emplace_back(bytes.size() / sizeof(double));
    std::memcpy(kept.back().data(), bytes.c_str(), kept.back().size() * sizeof(double));
  }
  std::vector<const double*> pointers;
  std::vector<std::size_t> counts;
  for (const std::vector<double>& part : kept) {
    pointers.push_back(part.data());
    counts.push_back(part.size());
  }
  double value = 0;
  check(tsr_total(operation.c_str(), type_of(image), type_of(number), pointers.data(), counts.data(), counts.size(),
                  &value));
  return value;
}

}  // namespace

nb::object make_program(tsr_program* handle) {
  return nb::cast(new Program(handle), nb::rv_policy::take_ownership);
}

void bind_program(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<Program>(m, "Program", "A compiled program.")
      .def_static(
          "text",
          [](const std::string& text, const std::optional<std::string>& file_name, Options* options) {
            tsr_program* p = nullptr;
            compute(options, [&](const tsr_options* o) {
              return tsr_compile_text(text.c_str(), file_name ? file_name->c_str() : nullptr, o, &p);
            });
            return make_program(p);
          },
          "text"_a, "file_name"_a = nb::none(), "options"_a = nb::none())
      .def_static(
          "of_graph",
          [](const std::string& graph) {
            tsr_program* p = nullptr;
            compute(nullptr, [&](const tsr_options* o) { return tsr_compile_graph(graph.c_str(), o, &p); });
            return make_program(p);
          },
          "graph"_a)
      .def_static(
          "file",
          [](const nb::bytes& name, Options* options) {
            const std::string path(static_cast<const char*>(name.data()), name.size());
            tsr_program* p = nullptr;
            compute(options, [&](const tsr_options* o) { return tsr_compile_file(path.c_str(), o, &p); });
            return make_program(p);
          },
          "path"_a, "options"_a = nb::none())
      .def_prop_ro("json", &Program::json)
      .def_prop_ro("graph", &Program::graph)
      .def_prop_ro("input_count", &Program::input_count)
      .def_prop_ro("output_count", &Program::output_count)
      .def("output_shapes", &Program::output_shapes, "inputs"_a)
      .def("run", &Program::run, "inputs"_a, "outputs"_a = nb::none(), "options"_a = nb::none())
      .def("whole_shapes", &Program::whole_shapes, "inputs"_a, "places"_a)
      .def("run_region", &Program::run_region, "inputs"_a, "places"_a, "regions"_a, "shapes"_a,
           "outputs"_a = nb::none(), "options"_a = nb::none())
      .def("reads", &Program::reads, "inputs"_a, "output"_a, "begin"_a, "end"_a, "options"_a = nb::none())
      .def("locality", &Program::locality)
      .def("passes", &Program::passes)
      .def("interpret", &Program::interpret, "inputs"_a, "options"_a = nb::none())
      .def("explain", &Program::explain, "inputs"_a, "format"_a = "text", "options"_a = nb::none())
      .def("emit", &Program::emit, "options"_a = nb::none())
      .def("adjoint", [](const Program& p) { return make_program(p.adjoint()); });
  m.def("total_part", &total_part, "operation"_a, "elements"_a, "first"_a);
  m.def("total", &total, "operation"_a, "image"_a, "number"_a, "parts"_a);
}

}  // namespace tessera::python
