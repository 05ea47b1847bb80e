// Windows of results: tsr_locality, tsr_reads, tsr_run_region.
#include "c/windows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "c/handles.hpp"
#include "c/options.hpp"
#include "c/tensors.hpp"
#include "engine/program_impl.hpp"
#include "tessera/program.hpp"

using namespace tessera;
using namespace tessera::c;

namespace {

std::string name_of(const Parameter& p, std::string_view what, std::size_t k) {
  return fmt::format("{} '{}'", what, p.name.empty() ? std::to_string(k + 1) : p.name);
}

const std::int64_t* entry(const std::int64_t* const* list, std::size_t k) {
  return list == nullptr ? nullptr : list[k];
}

Region region_of(const std::int64_t* begin, const std::int64_t* end, const Parameter& output, std::size_t k) {
  if ((begin == nullptr) != (end == nullptr))
    fail(fmt::format("the window of {} has a begin or an end alone", name_of(output, "output", k)));
  return {numbers(begin, output.rank), numbers(end, output.rank)};
}

std::vector<Shape> shapes_of(const Program& p, const std::int64_t* const* shapes, std::size_t count) {
  check_count("input", count, p.inputs().size());
  std::vector<Shape> all;
  for (std::size_t k = 0; k < count; ++k) {
    const Parameter& input = p.inputs()[k];
    if (input.is_array && entry(shapes, k) == nullptr) fail(name_of(input, "input", k) + " has no shape");
    all.push_back(input.is_array ? numbers(entry(shapes, k), input.rank) : Shape{});
  }
  return all;
}

// The inputs and regions of a call.
struct Call {
  Call(const Program& p, const DLTensor* const* inputs, const std::int64_t* const* at, const std::int64_t* const* whole,
       std::size_t input_count, const std::int64_t* const* begin, const std::int64_t* const* end,
       std::size_t output_count, const tsr_options* options) {
    check_count("input", input_count, p.inputs().size());
    check_count("output", output_count, p.outputs().size());
    if (input_count > 0) given(inputs, "the list of inputs");
    for (std::size_t k = 0; k < input_count; ++k) {
      const Parameter& input = p.inputs()[k];
      const std::string what = name_of(input, "input", k);
      const DLTensor& t = given(inputs[k], what);
      if (!input.is_array) {
        windows.push_back({scalar_of(t, input.format.scalar, what), {}, {}});
        continue;
      }
      bound.push_back(std::make_unique<Bound>(t, input.format, what, true, stream_of(options)));
      windows.push_back(
          {bound.back()->array(), numbers(entry(at, k), input.rank), numbers(entry(whole, k), input.rank)});
    }
    for (std::size_t o = 0; o < output_count; ++o)
      regions.push_back(region_of(entry(begin, o), entry(end, o), p.outputs()[o], o));
  }
  void wait() const {
    for (const auto& b : bound) b->wait();
  }

  std::vector<std::unique_ptr<Bound>> bound;
  std::vector<InputWindow> windows;
  std::vector<Region> regions;
};

}  // namespace

namespace tessera::c {

std::string locality_json(const std::vector<Locality>& all, const Program& program) {
  nlohmann::json outputs = nlohmann::json::array();
  for (std::size_t o = 0; o < all.size(); ++o) {
    nlohmann::json inputs = nlohmann::json::array();
    for (std::size_t k = 0; k < all[o].inputs.size(); ++k) {
      nlohmann::json dimensions = nlohmann::json::array();
      for (const Locality::Dimension& d : all[o].inputs[k])
        dimensions.push_back(
            {{"before", d.before}, {"after", d.after}, {"scale", d.scale}, {"divisor", d.divisor}, {"whole", d.whole}});
      inputs.push_back({{"name", program.inputs()[k].name}, {"dimensions", std::move(dimensions)}});
    }
    outputs.push_back({{"name", program.outputs()[o].name}, {"global", all[o].global}, {"inputs", std::move(inputs)}});
  }
  return outputs.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace tessera::c

extern "C" {

tsr_status tsr_locality(const tsr_program* program, char** json) {
  return guarded([&] {
    const Program& p = given(program, "the program").program;
    given(json, "the place of the text");
    *json = copied(locality_json(p.locality(), p));
  });
}

tsr_status tsr_reads(const tsr_program* program, size_t output, const int64_t* begin, const int64_t* end,
                     const int64_t* const* shapes, size_t input_count, int64_t* read_begin, int64_t* read_end,
                     const tsr_options* options) {
  return guarded([&] {
    const Program& p = given(program, "the program").program;
    if (output >= p.outputs().size())
      fail(fmt::format("output {} was asked for, expected 0 to {}", output, p.outputs().size() - 1));
    given(begin, "the begin of the window");
    given(end, "the end of the window");
    given(read_begin, "the place of begins");
    given(read_end, "the place of ends");
    const std::vector<Region> reads = p.reads(output, region_of(begin, end, p.outputs()[output], output),
                                              shapes_of(p, shapes, input_count), run_options(options));
    for (std::size_t k = 0; k < input_count; ++k) {
      std::copy(reads[k].begin.begin(), reads[k].begin.end(), read_begin + k * TSR_MOST_DIMENSIONS);
      std::copy(reads[k].end.begin(), reads[k].end.end(), read_end + k * TSR_MOST_DIMENSIONS);
    }
  });
}

tsr_status tsr_output_extents(const tsr_program* program, const int64_t* const* shapes, size_t input_count,
                              int64_t* extents, size_t output_count) {
  return guarded([&] {
    const Program& p = given(program, "the program").program;
    check_count("output", output_count, p.outputs().size());
    given(extents, "the place of extents");
    const std::vector<Shape> all = p.output_shapes_of(shapes_of(p, shapes, input_count));
    for (std::size_t o = 0; o < output_count; ++o)
      std::copy(all[o].begin(), all[o].end(), extents + o * TSR_MOST_DIMENSIONS);
  });
}

tsr_status tsr_run_region(const tsr_program* program, const DLTensor* const* inputs, const int64_t* const* at,
                          const int64_t* const* whole, size_t input_count, const int64_t* const* begin,
                          const int64_t* const* end, DLManagedTensorVersioned** outputs, size_t output_count,
                          const tsr_options* options) {
  return guarded([&] {
    const Program& p = given(program, "the program").program;
    const Call call(p, inputs, at, whole, input_count, begin, end, output_count, options);
    given(outputs, "the list of outputs");
    std::vector<Array> results = p.run_region(call.windows, call.regions, run_options(options));
    call.wait();
    std::vector<std::unique_ptr<DLManagedTensorVersioned, void (*)(DLManagedTensorVersioned*)>> made;
    for (Array& a : results)
      made.emplace_back(a.empty() ? nullptr : managed(std::move(a)),
                        [](DLManagedTensorVersioned* t) { t->deleter(t); });
    for (std::size_t o = 0; o < output_count; ++o) outputs[o] = made[o].release();
  });
}

tsr_status tsr_run_region_into(const tsr_program* program, const DLTensor* const* inputs, const int64_t* const* at,
                               const int64_t* const* whole, size_t input_count, const int64_t* const* begin,
                               const int64_t* const* end, const DLTensor* const* outputs, size_t output_count,
                               const tsr_options* options) {
  return guarded([&] {
    const Program& p = given(program, "the program").program;
    const Call call(p, inputs, at, whole, input_count, begin, end, output_count, options);
    given(outputs, "the list of outputs");
    std::vector<std::unique_ptr<Bound>> to;
    std::vector<Array> arrays;
    for (std::size_t o = 0; o < output_count; ++o) {
      const Parameter& output = p.outputs()[o];
      const bool wanted = !call.regions[o].begin.empty();
      if (wanted != (outputs[o] != nullptr))
        fail(name_of(output, "output", o) + (wanted ? " has a window and no array" : " has an array and no window"));
      if (wanted)
        to.push_back(std::make_unique<Bound>(*outputs[o], output.format, name_of(output, "output", o), false,
                                             stream_of(options)));
      for (std::size_t k = 0; wanted && k + 1 < to.size(); ++k)
        if (Program::Impl::share_memory(to.back()->tensor(), to[k]->tensor()))
          fail(name_of(output, "output", o) + " shares memory with another one", "give an array of its own");
      arrays.push_back(wanted ? to.back()->array() : Array());
    }
    p.run_region_into(call.windows, call.regions, arrays, run_options(options));
    call.wait();
    for (const auto& b : to) b->give_back();
  });
}
}
