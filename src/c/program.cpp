// Programs: compile, describe, run, explain, emit.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/process/deadline.hpp"
#include "c/handles.hpp"
#include "c/options.hpp"
#include "c/tensors.hpp"
#include "c/words.hpp"
#include "engine/program_impl.hpp"
#include "ir/graph.hpp"
#include "tessera/adjoint.hpp"

using namespace tessera;
using namespace tessera::c;

namespace {

nlohmann::json json_of(const std::vector<Parameter>& parameters) {
  nlohmann::json all = nlohmann::json::array();
  for (const Parameter& p : parameters) {
    nlohmann::json fields = nlohmann::json::array(), types = nlohmann::json::array();
    for (const Format::Field& f : p.format.fields) {
      fields.push_back(f.name);
      types.push_back(name_of(f.type));
    }
    const ElementType type = p.format.is_struct() ? p.format.fields[0].type : p.format.scalar;
    all.push_back({{"name", p.name},
                   {"array", p.is_array},
                   {"rank", p.rank},
                   {"extents", p.extents},
                   {"type", name_of(type)},
                   {"fields", std::move(fields)},
                   {"types", std::move(types)}});
  }
  return all;
}

std::string description_of(const Program& program) {
  nlohmann::json all;
  all["inputs"] = json_of(program.inputs());
  all["outputs"] = json_of(program.outputs());
  all["parameters"] = program.parameters();
  all["warnings"] = nlohmann::json::array();
  for (const Diagnostic& d : program.warnings()) all["warnings"].push_back(in_options(d).render());
  return all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Tensors of a call as arrays, in order.
class BoundList {
 public:
  BoundList(const std::vector<Parameter>& parameters, const DLTensor* const* tensors, size_t count, bool is_input,
            const tsr_options* options = nullptr)
      : parameters_(parameters), is_input_(is_input) {
    check_count(is_input ? "input" : "output", count, parameters.size());
    if (count > 0) given(tensors, is_input ? "the list of inputs" : "the list of outputs");
    bound_.reserve(count);
    places_.reserve(count);
    arrays.reserve(count);
    for (std::size_t k = 0; k < count; ++k) {
      const Parameter& p = parameters[k];
      const std::string what = name_of_place(k);
      const DLTensor& t = given(tensors[k], what);
      if (!p.is_array) {
        arrays.push_back(scalar_of(t, p.format.scalar, what));
        continue;
      }
      bound_.emplace_back(t, p.format, what, is_input, stream_of(options));
      places_.push_back(k);
      arrays.push_back(bound_.back().array());
    }
  }
  // Throws where two of them share memory. (Of outputs and inputs, the run looks at it.)
  void check_apart() const {
    for (std::size_t o = 1; o < bound_.size(); ++o)
      for (std::size_t k = 0; k < o; ++k)
        if (Program::Impl::share_memory(bound_[o].tensor(), bound_[k].tensor()))
          fail(fmt::format("{} shares memory with {}", name(o), name(k)), "give an array of its own");
  }
  void wait() const {
    for (const Bound& b : bound_) b.wait();
  }
  void give_back() const {
    for (const Bound& b : bound_) b.give_back();
  }
  std::vector<Array> arrays;

 private:
  std::string name_of_place(std::size_t k) const {
    const std::string& name = parameters_[k].name;
    return fmt::format("{} '{}'", is_input_ ? "input" : "output", name.empty() ? std::to_string(k + 1) : name);
  }
  std::string name(std::size_t bound) const { return name_of_place(places_[bound]); }

  const std::vector<Parameter>& parameters_;
  bool is_input_;
  std::vector<Bound> bound_;
  std::vector<std::size_t> places_;  // among the parameters
};

std::vector<Shape> shapes_of(const Program& program, const DLTensor* const* tensors, size_t count) {
  const std::vector<Parameter>& inputs = program.inputs();
  check_count("input", count, inputs.size());
  if (count > 0) given(tensors, "the list of inputs");
  std::vector<Shape> shapes;
  for (std::size_t k = 0; k < count; ++k) {
    const std::string what = fmt::format("input '{}'", inputs[k].name);
    shapes.push_back(inputs[k].is_array ? shape_of(given(tensors[k], what), inputs[k].format, what) : Shape{});
  }
  return shapes;
}

void hand_out_arrays(std::vector<Array> arrays, DLManagedTensorVersioned** outputs, size_t count) {
  check_count("place", count, arrays.size());
  std::vector<std::unique_ptr<DLManagedTensorVersioned, void (*)(DLManagedTensorVersioned*)>> made;
  made.reserve(arrays.size());
  for (Array& a : arrays) made.emplace_back(managed(std::move(a)), [](DLManagedTensorVersioned* t) { t->deleter(t); });
  for (std::size_t k = 0; k < count; ++k) outputs[k] = made[k].release();
}

// A graph that somebody gives, who may have changed it.
ir::Graph graph_of(const char* text) {
  ir::Graph graph = ir::parse_graph(text);
  try {
    ir::verify(graph);
  } catch (const Error& e) {
    throw Error(ErrorClass::compile, "a stage graph is not well formed: " + e.message());
  }
  if (graph.outputs.empty()) throw Error(ErrorClass::compile, "a stage graph has no output");
  return graph;
}

// Results that the library allocates are counted before anything is computed.
void check_places(const tsr_program& p, DLManagedTensorVersioned** outputs, size_t count) {
  check_count("output", count, p.program.outputs().size());
  given(outputs, "the list of outputs");
}

}  // namespace

namespace tessera::c {

ExplainFormat explain_format(const char* format) {
  const std::string_view word = &given(format, "the format of an explanation");
  if (word == "text") return ExplainFormat::text;
  if (word == "json") return ExplainFormat::json;
  if (word == "svg") return ExplainFormat::svg;
  fail(fmt::format("an explanation was asked for as '{}', expected text, json or svg", word));
}

}  // namespace tessera::c

tsr_program::tsr_program(Program p) : program(std::move(p)), json(description_of(program)) {}

extern "C" {

tsr_status tsr_compile_text(const char* text, const char* file_name, const tsr_options* options, tsr_program** out) {
  return guarded([&] {
    given(text, "the text of a program");
    const base::Deadline watch(0, cancel_of(options));
    base::look_at_deadline();
    hand_out(out, Program::from_text(text, compile_options(options), file_name == nullptr ? "<text>" : file_name));
  });
}

tsr_status tsr_compile_file(const char* path, const tsr_options* options, tsr_program** out) {
  return guarded([&] {
    given(path, "the path of a program");
    const base::Deadline watch(0, cancel_of(options));
    base::look_at_deadline();
    hand_out(out, Program::from_file(path, compile_options(options)));
  });
}

tsr_status tsr_compile_graph(const char* graph, const tsr_options* options, tsr_program** out) {
  return guarded([&] {
    given(graph, "the text of a graph");
    const base::Deadline watch(compile_limit(options, "compilation of a graph"), cancel_of(options));
    base::look_at_deadline();
    hand_out(out, engine::make_program(graph_of(graph), {}));
  });
}

void tsr_program_free(tsr_program* program) {
  delete program;
}

const char* tsr_program_json(const tsr_program* program) {
  return program == nullptr ? nullptr : program->json.c_str();
}

size_t tsr_program_input_count(const tsr_program* program) {
  return program == nullptr ? 0 : program->program.inputs().size();
}

size_t tsr_program_output_count(const tsr_program* program) {
  return program == nullptr ? 0 : program->program.outputs().size();
}

tsr_status tsr_output_shapes(const tsr_program* program, const DLTensor* const* inputs, size_t input_count,
                             int64_t* shapes, int32_t* ranks, size_t output_count) {
  return guarded([&] {
    const Program& p = given(program, "the program").program;
    check_count("output", output_count, p.outputs().size());
    given(shapes, "the place of shapes");
    given(ranks, "the place of ranks");
    const BoundList bound(p.inputs(), inputs, input_count, true);
    const std::vector<Shape> all = p.output_shapes(bound.arrays);
    for (std::size_t k = 0; k < all.size(); ++k) {
      const Shape dimensions = dimensions_of(all[k], p.outputs()[k].format);
      ranks[k] = static_cast<std::int32_t>(dimensions.size());
      std::copy(dimensions.begin(), dimensions.end(), shapes + k * TSR_MOST_DIMENSIONS);
    }
  });
}

tsr_status tsr_run(const tsr_program* program, const DLTensor* const* inputs, size_t input_count,
                   DLManagedTensorVersioned** outputs, size_t output_count, const tsr_options* options) {
  return guarded([&] {
    const Program& p = given(program, "the program").program;
    check_places(*program, outputs, output_count);
    const BoundList bound(p.inputs(), inputs, input_count, true, options);
    std::vector<Array> results = p.run(bound.arrays, run_options(options));
    bound.wait();
    hand_out_arrays(std::move(results), outputs, output_count);
  });
}

tsr_status tsr_run_into(const tsr_program* program, const DLTensor* const* inputs, size_t input_count,
                        const DLTensor* const* outputs, size_t output_count, const tsr_options* options) {
  return guarded([&] {
    const Program& p = given(program, "the program").program;
    const BoundList from(p.inputs(), inputs, input_count, true, options);
    const BoundList to(p.outputs(), outputs, output_count, false, options);
    to.check_apart();
    p.run_into(from.arrays, to.arrays, run_options(options));
    from.wait();
    to.give_back();
  });
}

tsr_status tsr_interpret(const tsr_program* program, const DLTensor* const* inputs, size_t input_count,
                         DLManagedTensorVersioned** outputs, size_t output_count) {
  return tsr_interpret_with(program, inputs, input_count, outputs, output_count, nullptr);
}

tsr_status tsr_interpret_with(const tsr_program* program, const DLTensor* const* inputs, size_t input_count,
                              DLManagedTensorVersioned** outputs, size_t output_count, const tsr_options* options) {
  return guarded([&] {
    const Program& p = given(program, "the program").program;
    check_places(*program, outputs, output_count);
    const BoundList bound(p.inputs(), inputs, input_count, true);
    RunOptions how;
    how.cancel = cancel_of(options);
    hand_out_arrays(p.interpret(bound.arrays, how), outputs, output_count);
  });
}

tsr_status tsr_explain(const tsr_program* program, const DLTensor* const* inputs, size_t input_count,
                       const char* format, const tsr_options* options, char** text) {
  return guarded([&] {
    const Program& p = given(program, "the program").program;
    const ExplainFormat wanted = explain_format(format);
    given(text, "the place of the text");
    *text = copied(in_options(p.explain(shapes_of(p, inputs, input_count), run_options(options), wanted)));
  });
}

tsr_status tsr_emit(const tsr_program* program, const tsr_options* options, char** source, char** header, char** host) {
  return guarded([&] {
    const base::Deadline watch(0, cancel_of(options));
    base::look_at_deadline();
    const Program& own = given(program, "the program").program;
    const EmittedCode code = own.emit(emit_options(options, own));
    using Text = std::unique_ptr<char, void (*)(char*)>;
    Text texts[] = {Text(copied(code.source), tsr_string_free), Text(copied(code.header), tsr_string_free),
                    Text(copied(code.host), tsr_string_free)};
    char** const places[] = {source, header, host};
    for (std::size_t k = 0; k < 3; ++k)
      if (places[k] != nullptr) *places[k] = texts[k].release();
  });
}

tsr_status tsr_program_adjoint(const tsr_program* program, tsr_program** out) {
  return guarded([&] { hand_out(out, adjoint_of(given(program, "the program").program)); });
}

tsr_status tsr_program_graph(const tsr_program* program, char** text) {
  return guarded([&] {
    const Program& p = given(program, "the program").program;
    given(text, "the place of the text");
    *text = copied(ir::print(p.impl().graph));
  });
}
}
