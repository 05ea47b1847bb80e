// See call.hpp.
#include "emit/device/call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace tessera::emit {

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
  return fmt::format(R"(
extern "C" int {0}_on_stream({1}, cudaStream_t tsr_stream) {{
  const void* const tsr_given[] = {{{2}}};
  const i64 tsr_sizes[] = {{{3}}};
  tsr_session tsr_s;
  tsr_open(&tsr_s, tsr_stream);
  {6}(&tsr_s, tsr_given, tsr_sizes);
  return tsr_close(&tsr_s);
}}

extern "C" int {0}_cuda({1}) {{
  const cudaError_t tsr_error = (cudaError_t){0}_on_stream({5}, 0), tsr_last = cudaStreamSynchronize(0);
  return (int)(tsr_error == cudaSuccess ? tsr_last : tsr_error);
}}

/* Weak: a program may hold the C file's function of this name as well. */
#if defined(__GNUC__) && !defined(_WIN32)
extern "C" __attribute__((weak)) {4};
#endif
extern "C" {4} {{
  const cudaError_t tsr_error = (cudaError_t){0}_cuda({5});
  if (tsr_error != cudaSuccess) fprintf(stderr, "{0}: %s\n", cudaGetErrorString(tsr_error));
}}
)",
                     name, parameter_list(signature), given, sizes(signature), declaration(signature, name),
                     arguments(signature), run);
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
  return fmt::format(R"(
int {0}_enqueue(cl_command_queue tsr_queue, {1}) {{
  const i64 tsr_sizes[] = {{{2}}};
  cl_mem tsr_given[{3}];
  tsr_session tsr_s;
  cl_context tsr_context = NULL;
  cl_device_id tsr_device = NULL;
  cl_uint tsr_units = 1;
  cl_command_queue_properties tsr_how = 0;
  tsr_s.queue = tsr_queue;
  tsr_s.status = CL_SUCCESS;
  if (tsr_ok(&tsr_s, clGetCommandQueueInfo(tsr_queue, CL_QUEUE_CONTEXT, sizeof tsr_context, &tsr_context, NULL)) &&
      tsr_ok(&tsr_s, clGetCommandQueueInfo(tsr_queue, CL_QUEUE_PROPERTIES, sizeof tsr_how, &tsr_how, NULL)) &&
      tsr_ok(&tsr_s, clGetCommandQueueInfo(tsr_queue, CL_QUEUE_DEVICE, sizeof tsr_device, &tsr_device, NULL)) &&
      tsr_ok(&tsr_s, clGetDeviceInfo(tsr_device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof tsr_units, &tsr_units, NULL)))
    tsr_ok(&tsr_s, tsr_open(tsr_context, tsr_device));
  if (tsr_s.status != CL_SUCCESS) return tsr_s.status;
  tsr_s.units = tsr_units > 0 ? (i64)tsr_units : 1;
  tsr_s.unordered = (tsr_how & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0;
{4}  {6}(&tsr_s, tsr_given, tsr_sizes);
  tsr_barrier(&tsr_s);
{5}  return tsr_s.status;
}}
)",
                     name, parameter_list(signature, "cl_mem"), sizes(signature), std::max<std::size_t>(k, 1), given,
                     release, run);
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
  text += fmt::format(
      "  for (tsr_k = 0; tsr_k < {0}; ++tsr_k)\n    if (tsr_m[tsr_k]) clReleaseMemObject(tsr_m[tsr_k]);\n"
      "  return (int)tsr_s.status;\n}}\n\n"
      "/* Weak: a program may hold the C file's function of this name as well. */\n"
      "#if defined(__GNUC__) && !defined(_WIN32)\n__attribute__((weak)) {2};\n#endif\n{2} {{\n"
      "  const int tsr_status = {1}_opencl({3});\n"
      "  if (tsr_status != CL_SUCCESS) fprintf(stderr, \"{1}: OpenCL error %d\\n\", tsr_status);\n}}\n",
      arrays.size(), name, declaration(signature, name), arguments(signature));
  return text;
}

}  // namespace tessera::emit
