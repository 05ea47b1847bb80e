// Programs that reduce whole images, as passes over their images: tsr_passes, tsr_total_part, tsr_total.
#include "engine/passes/passes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "c/handles.hpp"
#include "c/tensors.hpp"
#include "engine/passes/total.hpp"
#include "ir/build.hpp"
#include "ir/reductions.hpp"

using namespace tessera;
using namespace tessera::c;

namespace {

namespace host = ir::host;
using nlohmann::json;

constexpr std::array<std::pair<std::string_view, ir::Op>, 4> operations = {
    {{"sum", ir::Op::whole_sum}, {"mean", ir::Op::whole_mean}, {"min", ir::Op::whole_min}, {"max", ir::Op::whole_max}}};

ir::Op operation_of(const char* word) {
  const std::string_view wanted = &given(word, "the operation");
  for (const auto& [name, op] : operations)
    if (name == wanted) return op;
  fail(fmt::format("'{}' reduces no image, expected sum, mean, min or max", wanted));
}

std::string_view word_of(ir::Op op) {
  return std::ranges::find(operations, op, &std::pair<std::string_view, ir::Op>::second)->first;
}

// Does an extent or a value of the graph follow from run-time parameters?
bool takes_parameters(const ir::Graph& graph) {
  const auto varies = [&](ir::SizeId n) { return !graph.constant(n); };
  const auto varies_in = [&](ir::ExprId e) {
    const ir::ExprNode& node = graph.node(e);
    return node.op == ir::Op::parameter ||
           std::ranges::any_of(node.index, [&](const ir::Index& i) { return varies(i.shift); });
  };
  for (ir::StageId s = 0; s < graph.stage_count(); ++s) {
    const ir::Stage& stage = graph.stage(s);
    if (std::ranges::any_of(stage.domain, varies)) return true;
    if (stage.kind != ir::StageKind::point) continue;
    if (std::ranges::any_of(ir::postorder(graph, {stage.body}), varies_in)) return true;
  }
  return false;
}

// A pass over numbers alone has no image that says what parameters are, and mostly asks for none.
std::string text_of(const ir::Graph& graph) {
  if (graph.parameters.empty() || takes_parameters(graph)) return ir::print(graph);
  ir::Graph copy = graph;
  copy.parameters.clear();
  return ir::print(copy);
}

// Does a stage of numbers ask for an extent of an image that it does not read?
std::string unknown_parameter(const engine::Pass& pass) {
  const ir::Graph& graph = pass.program.impl().graph;
  const bool image = std::ranges::any_of(graph.arguments, [&](const ir::Argument& a) {
    return std::ranges::any_of(a.extents, [&](ir::SizeId n) { return !graph.constant(n); });
  });
  if (image || graph.parameters.empty() || !takes_parameters(graph)) return {};
  return fmt::format("stage '{}' is a number that follows from extents of an image",
                     graph.stage(graph.outputs.front().stages.front()).name);
}

std::string why_not(const engine::Passes& passes) {
  if (!passes.why_not().empty()) return passes.why_not();
  for (const host::Statement& s : passes.body())
    if (const auto* repeat = std::get_if<host::Repeat>(&s))
      return fmt::format("the loop over '{}' ends by a test of whole images", repeat->loop);
  for (const engine::Pass& pass : passes.passes())
    if (std::string why = unknown_parameter(pass); !why.empty()) return why;
  return {};
}

json described(const engine::Passes& passes) {
  json all = {{"why", why_not(passes)}, {"arrays", json::array()}, {"passes", json::array()}, {"last", passes.last()}};
  all["body"] = json::array();
  if (!all["why"].get_ref<const std::string&>().empty()) return all;
  for (const host::Array& a : passes.arrays()) {
    constexpr std::array kinds = {"input", "output", "own"};
    all["arrays"].push_back({{"kind", kinds[static_cast<std::size_t>(a.kind)]},
                             {"index", a.index},
                             {"rank", a.extents.size()},
                             {"type", name_of(dlpack_type(a.format.scalar))}});
  }
  for (const engine::Pass& pass : passes.passes()) {
    json outputs = json::array(), totals = json::array();
    for (const std::optional<std::size_t>& o : pass.outputs) outputs.push_back(o ? json(*o) : json());
    for (const ir::Reduction& r : pass.reductions)
      totals.push_back({{"output", r.output}, {"operation", word_of(r.op)}, {"array", r.place}});
    all["passes"].push_back({{"graph", text_of(pass.program.impl().graph)},
                             {"inputs", pass.inputs},
                             {"outputs", std::move(outputs)},
                             {"totals", std::move(totals)}});
  }
  for (const host::Statement& s : passes.body())
    if (const auto* run = std::get_if<host::RunPart>(&s)) all["body"].push_back(run->part);
  return all;
}

}  // namespace

extern "C" {

tsr_status tsr_passes(const tsr_program* program, char** text) {
  return guarded([&] {
    const Program& p = given(program, "the program").program;
    given(text, "the place of the text");
    *text = copied(described(engine::Passes(p)).dump(-1, ' ', false, json::error_handler_t::replace));
  });
}

tsr_status tsr_total_part(const char* operation, const DLTensor* elements, int64_t first, double* part, size_t capacity,
                          size_t* count) {
  return guarded([&] {
    const ir::Op op = operation_of(operation);
    const Array array = array_of(given(elements, "the tensor of elements"), "the tensor of elements");
    given(count, "the place of the count");
    if (first < 0 || first > std::numeric_limits<std::int64_t>::max() / 2)
      fail(fmt::format("the first element is {}, expected 0 or more", first));
    engine::PartOfTotal total(op, array.format().scalar, first, first + array.count());
    total.add(array);
    const std::vector<std::byte> bytes = total.bytes();
    *count = bytes.size() / sizeof(double);
    if (*count > capacity) fail(fmt::format("the part has {} numbers, but there is room for {}", *count, capacity));
    std::memcpy(&given(part, "the place of the part"), bytes.data(), bytes.size());
  });
}

tsr_status tsr_total(const char* operation, DLDataType image, DLDataType number, const double* const* parts,
                     const size_t* counts, size_t part_count, double* value) {
  return guarded([&] {
    const ir::Op op = operation_of(operation);
    const ElementType of = element_type(image, "the image"), to = element_type(number, "the number");
    if (part_count > 0) {
      given(parts, "the list of parts");
      given(counts, "the list of counts");
    }
    std::vector<std::vector<std::byte>> all;
    for (std::size_t k = 0; k < part_count; ++k) {
      const double* const part = &given(parts[k], "a part");
      const auto bytes = std::as_bytes(std::span(part, counts[k]));
      const std::size_t size = engine::PartOfTotal::bytes_of_part(bytes);
      if (size == 0) fail(fmt::format("part {} is none that tsr_total_part gave", k + 1));
      if (size != bytes.size())
        fail(fmt::format("part {} has {} numbers, expected {}", k + 1, counts[k], size / sizeof(double)));
      all.emplace_back(bytes.begin(), bytes.end());
    }
    const double found[] = {engine::PartOfTotal::value(op, of, all)};
    given(value, "the place of the number") = ir::evaluate(ir::Op::convert, to, ir::whole_type(op, of), found);
  });
}
}
