// See call.hpp.
#include "emit/device/call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "emit/holes.hpp"

namespace tessera::emit {

namespace detail {
extern const std::string_view cuda_entry_text;
extern const std::string_view opencl_entry_text;
extern const std::string_view opencl_enqueue_text;
}  // namespace detail

namespace {

// Names of arguments as they are passed on, parameters among them.
std::string arguments(const Signature& signature) {
  std::string text;
  for (const Signature::Item& item : signature.items) text += (text.empty() ? "" : ", ") + item.name;
  return text;
}
std::string sizes(const Signature& signature) {
  std::string text;
  for (const Signature::Item& item : signature.items)
    if (item.parameter) text += item.name + ", ";
  return text + "0";
}

std::string list_or_void(const Signature& signature) {
  const std::string list = parameter_list(signature);
  return list.empty() ? "void" : list;
}

}  // namespace

Signature with_own_names(Signature signature) {
  for (std::size_t k = 0; k < signature.items.size(); ++k) signature.items[k].name = fmt::format("tsr_{}", k);
  return signature;
}

std::string cuda_entry(const Signature& signature, const std::string& name, const std::string& run) {
  std::string given;
  for (const Signature::Item& item : signature.items)
    if (!item.parameter) given += fmt::format("{}{}{}", given.empty() ? "" : ", ", item.pointer ? "" : "&", item.name);
  return filled(detail::cuda_entry_text, {{"name", name},
                                          {"parameters", parameter_list(signature)},
                                          {"given", given},
                                          {"sizes", sizes(signature)},
                                          {"declaration", declaration(signature, name)},
                                          {"arguments", arguments(signature)},
                                          {"run", run}});
}

std::string opencl_enqueue(const Signature& signature, const std::string& name, const std::string& run) {
  std::string given, release;
  std::size_t k = 0;
  for (const Signature::Item& item : signature.items) {
    if (item.parameter) continue;
    given += fmt::format("  tsr_given[{}] = ", k);
    if (item.pointer) {
      given += item.name + ";\n";
    } else {
      given += fmt::format("tsr_allocate(&tsr_s, sizeof {0}, &{0});\n", item.name);
      release += fmt::format("  if (tsr_given[{0}]) clReleaseMemObject(tsr_given[{0}]);\n", k);
    }
    ++k;
  }
  return filled(detail::opencl_enqueue_text, {{"name", name},
                                              {"parameters", parameter_list(signature, "cl_mem")},
                                              {"sizes", sizes(signature)},
                                              {"count", std::to_string(std::max<std::size_t>(k, 1))},
                                              {"given", given},
                                              {"release", release},
                                              {"run", run}});
}

std::string opencl_entry(const ir::Graph& graph, const Signature& signature, const std::string& name) {
  std::string text = fmt::format("\nint {}_opencl({}) {{\n  const i64 tsr_sizes[] = {{{}}};\n", name,
                                 list_or_void(signature), sizes(signature));
  text += "  tsr_session tsr_s;\n";
  Extents extent(graph, text, "tsr_sizes", "tsr_n");
  std::vector<std::string> bytes;
  std::vector<bool> taken;
  std::string lays;
  const auto product = [&](const Format& format, const std::vector<ir::SizeId>& extents, bool input) {
    std::string list;
    for (const ir::SizeId size : extents) list += (list.empty() ? "" : ", ") + extent(size);
    lays += fmt::format("  {{\n    const i64 e[] = {{{}}};\n    tsr_lay(&tsr_a[{}], {}, {}, e);\n  }}\n", list,
                        bytes.size(), format.size(), extents.size());
    bytes.push_back(fmt::format("tsr_a[{}].bytes", bytes.size()));
    taken.push_back(input || format.has_padding());  // which stays as it was
  };
  for (const ir::Argument& a : graph.arguments)
    if (a.is_array) product(a.format, a.extents, true);
  const std::size_t inputs = bytes.size();
  for (const ir::Output& o : graph.outputs) product(o.format, graph.stage(o.stages.front()).domain, false);
  const std::string none = extent.none_left();
  text +=
      fmt::format("  cl_mem tsr_m[{0}];\n  tsr_array tsr_a[{0}];\n  int tsr_k;\n  (void)tsr_sizes;\n", bytes.size());
  if (!none.empty()) text += fmt::format("  if ({}) return 0;\n", none);
  text += lays;
  text += "  tsr_s.status = tsr_open_any();\n  tsr_s.queue = tsr_state.own;\n";
  std::vector<const Signature::Item*> arrays;
  std::string passed;
  for (const Signature::Item& item : signature.items) {
    if (item.pointer) arrays.push_back(&item);
    passed += ", " + (item.pointer ? fmt::format("tsr_m[{}]", arrays.size() - 1) : item.name);
  }
  for (std::size_t k = 0; k < arrays.size(); ++k)
    text +=
        fmt::format("  tsr_m[{}] = tsr_allocate(&tsr_s, {}, {});\n", k, bytes[k], taken[k] ? arrays[k]->name : "NULL");
  text += fmt::format("  if (tsr_s.status == CL_SUCCESS) tsr_ok(&tsr_s, {}_enqueue(tsr_s.queue{}));\n", name, passed);
  for (std::size_t k = inputs; k < arrays.size(); ++k)
    text += fmt::format(
        "  if (tsr_s.status == CL_SUCCESS)\n    tsr_ok(&tsr_s, clEnqueueReadBuffer(tsr_s.queue, tsr_m[{}], CL_TRUE, 0, "
        "(size_t)({}), {}, 0, NULL, "
        "NULL));\n",
        k, bytes[k], arrays[k]->name);
  return text + filled(detail::opencl_entry_text, {{"count", std::to_string(arrays.size())},
                                                   {"name", name},
                                                   {"declaration", declaration(signature, name)},
                                                   {"arguments", arguments(signature)}});
}

}  // namespace tessera::emit
