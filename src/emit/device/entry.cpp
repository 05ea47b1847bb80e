// See entry.hpp. What does not depend on the program is text of its own: cuda/host.c.inc, opencl/host.c.inc.
#include "emit/device/entry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "emit/device/call.hpp"
#include "emit/device/transforms.hpp"
#include "emit/holes.hpp"
#include "emit/host/entry.hpp"
#include "emit/names.hpp"
#include "emit/signature.hpp"

namespace tessera::emit {

namespace detail {
extern const std::string_view opencl_flags_text, cuda_launch_text, cuda_probe_text;
extern const std::string_view cuda_head_text, opencl_head_text, device_header_text;
extern const std::string_view cuda_host_text, opencl_host_text;
}  // namespace detail

namespace {

using ir::host::Launch;
using ir::host::Number;
using lower::ArrayRef;
using lower::DeviceKernel;

// Of `fast` numbers nothing is asked for that flags of nvcc could take away.
constexpr std::string_view no_probe = "static inline bool tsr_flags_fit(cudaStream_t) { return true; }\n";

// Images that the kernels do not take, as far as the program leaves extents open; empty where they take all.
std::set<std::pair<ir::SizeId, i64>> too_small(const plan::Plan& plan, const lower::DeviceProgram& program) {
  auto result = lower::least_extents(program);
  std::erase_if(result,
                [&](const auto& e) { return e.second < 2 || plan.graph.constant(e.first).value_or(0) >= e.second; });
  return result;
}

// One variant's function: extents, arrays, launches.
//   tsr_run_V(tsr_session* s, what the caller gave, const i64* N)
class RunText {
 public:
  RunText(const std::vector<DeviceVariant>& variants, std::size_t v, bool cuda, std::size_t first_kernel)
      : plan_(variants[v].plan),
        program_(variants[v].lowered),
        last_(variants[v].last),
        v_(v),
        cuda_(cuda),
        first_kernel_(first_kernel),
        extent_(plan_.graph, out_) {}

  std::string text() {
    const std::string given = cuda_ ? "const void* const* given" : "const cl_mem* given";
    out_ = fmt::format("\nstatic void tsr_run_{}(tsr_session* s, {}, const i64* N) {{\n", v_, given);
    out_ += fmt::format("  tsr_array a[{}] = {};\n", std::max<std::size_t>(1, program_.interface.arrays.size()),
                        cuda_ ? "{}" : "{{0}}");
    if (program_.interface.memories > 0) {
      out_ += fmt::format("  i64 need[{0}] = {{0}};\n", program_.interface.memories);
      out_ += fmt::format("  {} memory[{}] = {};\n", cuda_ ? "u8*" : "cl_mem", program_.interface.memories,
                          cuda_ ? "{}" : "{0}");  // none for what holds parts of others alone
    }
    out_ += "  (void)N;\n";
    extents();
    if (const std::string none = extent_.none_left(); !none.empty()) out_ += "  if (" + none + ") return;\n";
    if (!last_) smaller();
    for (std::size_t k = 0; k < program_.interface.arrays.size(); ++k) lay(k);
    for (std::size_t k = 0; k < program_.interface.arrays.size(); ++k) take(k);
    for (std::size_t k = 0; k < program_.interface.arrays.size(); ++k) lie_in_whole(k);
    for (std::size_t k = 0; k < program_.kernels.size(); ++k)
      if (!program_.kernels[k].in_place) launch(k);
    give();
    return out_ + "}\n";
  }

 private:
  const std::vector<ArrayRef>& arrays() const { return program_.interface.arrays; }

  // Every size that the function uses, so that none is declared in a block of its own.
  void extents() {
    for (const ArrayRef& ref : arrays())
      for (const ir::SizeId size : ref.extents) extent_(size);
    for (const DeviceKernel& kernel : program_.kernels) {
      for (const ir::SizeId size : kernel.domain) extent_(size);
      for (const Launch::Let& let : kernel.launch.lets) extents_in(let.value);
      for (const Number& n : kernel.launch.integers) extents_in(n);
    }
  }

  void extents_in(const Number& n) {
    if (n.op == Number::Op::size) extent_(n.of_size);
    for (const Number& a : n.args) extents_in(a);
  }

  // Images that a strip's halo does not fit run as the next variant.
  void smaller() {
    std::string all;
    for (const auto& [size, least] : too_small(plan_, program_))
      all += fmt::format("{}{} < {}", all.empty() ? "" : " || ", extent_(size), least);
    if (!all.empty())
      out_ += fmt::format("  if ({}) {{\n    tsr_run_{}(s, given, N);\n    return;\n  }}\n", all, v_ + 1);
  }

  void lay(std::size_t k) {
    const ArrayRef& ref = arrays()[k];
    const bool inside = ref.kind == ArrayRef::Kind::intermediate;
    const int size = inside ? ir::nest::size_of(plan_.stages[ref.index].lane) : static_cast<int>(ref.format.size());
    const std::size_t rank = ref.is_array ? ref.extents.size() : 0;
    std::string extents;
    for (std::size_t d = 0; d < rank; ++d) extents += (d ? ", " : "") + extent_(ref.extents[d]);
    if (rank == 0)
      out_ += fmt::format("  tsr_lay(&a[{}], {}, 0, 0);\n", k, size);
    else
      out_ += fmt::format("  {{\n    const i64 e[] = {{{}}};\n    tsr_lay(&a[{}], {}, {}, e);\n  }}\n", extents, k,
                          size, rank);
    if (inside && !ref.part) out_ += fmt::format("  need[{0}] = tsr_max(need[{0}], a[{1}].bytes);\n", ref.memory, k);
  }

  void take(std::size_t k) {
    const ArrayRef& ref = arrays()[k];
    if (ref.part) return;
    if (ref.kind == ArrayRef::Kind::intermediate) {
      const auto same = [&](const ArrayRef& r) { return r.kind == ref.kind && r.memory == ref.memory && !r.part; };
      const bool first =
          std::find_if(arrays().begin(), arrays().end(), same) - arrays().begin() == static_cast<std::ptrdiff_t>(k);
      if (first && cuda_) out_ += fmt::format("  memory[{0}] = tsr_allocate(s, need[{0}]);\n", ref.memory);
      if (first && !cuda_) out_ += fmt::format("  memory[{0}] = tsr_allocate(s, need[{0}], NULL);\n", ref.memory);
      out_ += fmt::format("  a[{}].at = memory[{}];\n", k, ref.memory);
    } else if (cuda_) {
      out_ += fmt::format("  tsr_take_array(s, &a[{0}], given[{0}], {1});\n", k,
                          ref.kind == ArrayRef::Kind::argument || ref.format.has_padding() ? 1 : 0);
    } else {
      out_ += fmt::format("  a[{0}].at = given[{0}];\n", k);
    }
  }

  // A piece, in the array that it is a part of.
  void lie_in_whole(std::size_t k) {
    const ArrayRef& ref = arrays()[k];
    if (!ref.part) return;
    const std::size_t whole = ref.part->whole, lead = arrays()[whole].extents.size() - ref.extents.size();
    out_ += fmt::format("  a[{}].at = a[{}].at;\n", k, whole);
    for (std::size_t d = 0; d + 1 < ref.extents.size(); ++d)
      out_ += fmt::format("  a[{}].stride[{}] = a[{}].stride[{}];\n", k, d, whole, lead + d);
  }

  // Bytes to the first element of an array.
  std::string offset(const ArrayRef& ref) {
    std::string text;
    for (std::size_t d = 0; ref.part && d < ref.part->start.size(); ++d)
      if (const i64 start = ref.part->start[d]; start > 0)
        text += fmt::format("{}{} * a[{}].stride[{}]", text.empty() ? "" : " + ", start, ref.part->whole, d);
    return text.empty() ? "0" : text;
  }

  void launch(std::size_t k) {
    const DeviceKernel& kernel = program_.kernels[k];
    const std::string name = fmt::format("{}_{}", kernel.name, v_);
    out_ += "  {\n";
    for (const Launch::Let& let : kernel.launch.lets) {
      if (let.fills > 0) out_ += fmt::format("    i64 f[{}];\n", let.fills);
      out_ += fmt::format("    const i64 {} = {};\n", let.name, number(let.value, kernel, let.fills > 0));
    }
    const std::string grid = number(kernel.launch.grid, kernel), integers = numbers(kernel.launch.integers, kernel);
    std::string list;
    for (const std::size_t array : kernel.arrays) list += fmt::format("{}a[{}].at", list.empty() ? "" : ", ", array);
    if (cuda_) {
      out_ += fmt::format("    const {}_integers_{} n = {{{{{}}}}};\n", kernel.name, v_, integers);
      out_ += fmt::format("    TSR_RUN({}, {}, {}, {}, {}n);\n  }}\n", name, grid, kernel.threads[0], kernel.threads[1],
                          list + (list.empty() ? "" : ", "));
    } else {
      out_ += fmt::format("    {{\n      const cl_mem m[] = {{{}}};\n      const i64 n[] = {{{}}};\n", list, integers);
      out_ += fmt::format("      tsr_launch(s, {}, {}, {}, {}, m, {}, n, sizeof n);\n    }}\n  }}\n", first_kernel_ + k,
                          grid, kernel.threads[0], kernel.threads[1], kernel.arrays.size());
    }
  }

  std::string numbers(const std::vector<Number>& all, const DeviceKernel& kernel) {
    std::string list;
    for (const Number& n : all) list += (list.empty() ? "" : ", ") + number(n, kernel);
    return list;
  }

  // In C. Of a call that fills the list f, too.
  std::string number(const Number& n, const DeviceKernel& kernel, bool fills = false) {
    using Op = Number::Op;
    switch (n.op) {
      case Op::constant:
        return std::to_string(n.value);
      case Op::size:
        return extent_(n.of_size);
      case Op::first:
      case Op::order:
        return "0";
      case Op::last:
      case Op::rows:
        return extent_(kernel.domain[0]);
      case Op::at_once:
        return cuda_ ? fmt::format("tsr_at_once(s, (const void*){}_{}, {})", kernel.name, v_, kernel.threads_of_block())
                     : "tsr_at_once(s)";
      case Op::offset:
        return offset(arrays()[n.index]);
      case Op::stride:
        return fmt::format("a[{}].stride[{}]", n.index, n.dimension);
      case Op::let:
        return kernel.launch.lets[n.index].name;
      case Op::filled:
        return fmt::format("f[{}]", n.dimension);
      case Op::product: {
        std::string text = number(n.args[0], kernel);
        for (std::size_t a = 1; a < n.args.size(); ++a) text += " * " + factor(n.args[a], kernel);
        return text;
      }
      case Op::ceil_divide: {
        const std::string by = factor(n.args[1], kernel);
        return fmt::format("({} + {} - 1) / {}", number(n.args[0], kernel), by, by);
      }
      case Op::call:
        return fmt::format("{}({}{})", n.function, numbers(n.args, kernel), fills ? ", f" : "");
    }
    return {};
  }

  std::string factor(const Number& n, const DeviceKernel& kernel) {
    const bool compound = n.op == Number::Op::product || n.op == Number::Op::ceil_divide;
    return compound ? "(" + number(n, kernel) + ")" : number(n, kernel);
  }

  void give() {
    if (cuda_)
      for (std::size_t k = 0; k < arrays().size(); ++k)
        if (arrays()[k].kind != ArrayRef::Kind::intermediate)
          out_ +=
              fmt::format("  tsr_give_array(s, &a[{}], {});\n", k, arrays()[k].kind == ArrayRef::Kind::output ? 1 : 0);
    for (std::size_t m = 0; m < program_.interface.memories; ++m)
      out_ += cuda_ ? fmt::format("  tsr_free(s, memory[{}]);\n", m)
                    : fmt::format("  if (memory[{0}]) clReleaseMemObject(memory[{0}]);\n", m);
  }

  const plan::Plan& plan_;
  const lower::DeviceProgram& program_;
  bool last_;
  std::size_t v_;
  bool cuda_;
  std::size_t first_kernel_;
  std::string out_;
  Extents extent_;
};

// ---- files ---------------------------------------------------------------------------------------------------------

// What files are printed of: the variants, part after part, and what runs them.
struct Whole {
  const ir::Graph& graph;
  Signature signature;
  const std::vector<DeviceVariant>& variants;
  std::string driver, run;  // of parts; the function that an entry calls
  bool exact = false;
  std::set<ElementType> transforms;  // types of Fourier transforms
  std::vector<SizedTransform> sized = {};
};

// Names of one variant apart from those of the others.
std::string of_variant(std::string_view text, std::size_t v, const std::set<std::string, std::less<>>& shared) {
  return map_identifiers(text, [&](std::string_view word) {
    if (!word.starts_with("tsr_") || shared.contains(word)) return std::string(word);
    return fmt::format("{}_{}", word, v);
  });
}

struct Kernels {
  std::string prelude, text;       // what all share, and the kernels of every variant
  std::vector<std::string> names;  // in order
  std::string host;                // what transforms need there
};

// Transforms may be contracted, as those of a run are.
std::string_view transforms_begin(DeviceDialect dialect, bool exact) {
  return dialect == DeviceDialect::opencl && !exact ? "#pragma OPENCL FP_CONTRACT ON\n" : "";
}

Kernels kernels_of(const Whole& whole, DeviceDialect dialect) {
  const std::vector<DeviceVariant>& variants = whole.variants;
  Kernels result;
  Needs needs;
  for (const ElementType type : whole.transforms) needs.use({ir::nest::lane_of(type), 1, false});
  std::vector<DeviceText> texts;
  for (const DeviceVariant& v : variants) {
    texts.push_back(device_text(v.lowered, dialect, "TSR_KERNEL"));
    needs.add(texts.back().needs);
    for (const DeviceKernel& kernel : v.lowered.kernels)
      result.names.push_back(fmt::format("{}_{}", kernel.name, texts.size() - 1));
  }
  bool waits = false;
  for (const SizedTransform& t : whole.sized) {
    texts.push_back(device_text(t.made.program, dialect, "TSR_KERNEL"));
    needs.add(texts.back().needs);
    for (const lower::TransformKernel& kernel : t.made.kernels)
      result.names.push_back(fmt::format("{}_{}", kernel.name, texts.size() - 1));
    waits = waits || t.made.waits;
  }
  result.prelude = device_prelude(needs, dialect, {.exact = whole.exact}) + (waits ? waiting_text(dialect) : "");
  if (dialect == DeviceDialect::opencl) result.prelude.insert(0, "#define TSR_ROWS_ANYWHERE\n");
  std::set<std::string, std::less<>> shared;
  map_identifiers(result.prelude, [&](std::string_view word) {
    if (word.starts_with("tsr_")) shared.emplace(word);
    return std::string();
  });
  for (const ir::FunctionUse& use : needs.functions) shared.insert(ir::function_name(use.op, use.type));
  for (std::size_t v = 0; v < texts.size(); ++v) {
    if (v == variants.size()) result.text += transforms_begin(dialect, whole.exact);
    result.text += of_variant(texts[v].tables, v, shared) + of_variant(texts[v].kernels, v, shared);
  }
  if (whole.sized.empty() && !whole.transforms.empty()) result.text += transforms_begin(dialect, whole.exact);
  SpectraText spectra = spectra_text(whole.transforms, dialect, result.names.size(), whole.sized);
  result.text += spectra.kernels;
  result.names.insert(result.names.end(), spectra.names.begin(), spectra.names.end());
  result.host = std::move(spectra.host);
  return result;
}

// The functions of all variants, the last first.
std::string run_functions(const std::vector<DeviceVariant>& variants, bool cuda) {
  std::string text;
  std::size_t kernels = 0;
  for (const DeviceVariant& v : variants) kernels += v.lowered.kernels.size();
  for (std::size_t v = variants.size(); v-- > 0;) {
    kernels -= variants[v].lowered.kernels.size();
    text += RunText(variants, v, cuda, kernels).text();
  }
  return text;
}

// The functions that lay strips and tiles out, as far as the kernels need them.
std::string layout_functions(const std::vector<DeviceVariant>& variants) {
  bool strips = false, marches = false, frames = false;
  for (const DeviceVariant& v : variants)
    for (const DeviceKernel& kernel : v.lowered.kernels)
      strips |= kernel.strips && !kernel.frame, marches |= kernel.marches, frames |= kernel.frame.has_value();
  return (strips ? std::string(lower::strip_height_text) : "") +
         (marches ? std::string(lower::march_height_text) : "") + (frames ? std::string(lower::frame_text) : "");
}

DeviceFiles cuda_files(const Whole& whole, const std::string& name) {
  const Signature& signature = whole.signature;
  const Kernels kernels = kernels_of(whole, DeviceDialect::cuda);
  const bool exact = whole.exact;
  DeviceFiles files;
  files.source = filled(
      detail::cuda_head_text,
      {{"name", name},
       {"flags", exact ? " -fmad=false, for the same bits as a run with exact numbers"
                 : whole.transforms.empty()
                     ? " -fmad=false, for the same bits as a run (-prec-div=false -prec-sqrt=false too: faster)"
                     : " (-prec-div=false -prec-sqrt=false: faster division)"},
       {"declaration", declaration(signature, name)},
       {"shapes", shapes_comment(signature)},
       {"headers", std::string(kernels.host.empty() ? "" : "#include <stdlib.h>\n#include <string.h>\n") +
                       (exact ? "#include <math.h>\n" : "")},
       {"refusal", exact ? "\n   Compiled for other arithmetic (-fmad=true, --use_fast_math) the functions return "
                           "cudaErrorNotSupported."
                         : ""}});
  files.source += struct_types(whole.graph) + "\n#ifndef __CUDACC_RTC__\nnamespace {\n#endif\n\n" + kernels.prelude +
                  kernels.text + "\n#ifndef __CUDACC_RTC__\n\n";
  files.source += std::string(detail::cuda_launch_text) + std::string(exact ? detail::cuda_probe_text : no_probe) +
                  std::string(detail::cuda_host_text) + kernels.host + "\n";
  files.source += layout_functions(whole.variants);
  files.source += run_functions(whole.variants, true) + whole.driver;
  files.source += "\n}  // namespace\n" + cuda_entry(with_own_names(signature), name, whole.run) + "#endif\n";
  return files;
}

DeviceFiles opencl_files(const Whole& whole, const std::string& name, const std::string& kernels_file) {
  const Signature& signature = whole.signature;
  const Kernels kernels = kernels_of(whole, DeviceDialect::opencl);
  const bool exact = whole.exact;
  std::string quoted, macro = name;
  for (const char c : kernels_file) quoted += c == '"' || c == '\\' ? fmt::format("\\{}", c) : std::string(1, c);
  for (char& c : macro) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  DeviceFiles files;
  files.source = fmt::format("/* {}: kernels, generated by Tessera; the C file beside it runs them. */\n", name) +
                 std::string(detail::opencl_flags_text) + kernels.prelude + kernels.text;
  files.host = filled(detail::opencl_head_text, {{"name", name},
                                                 {"declaration", declaration(signature, name)},
                                                 {"shapes", shapes_comment(signature)},
                                                 {"macro", macro},
                                                 {"file", quoted},
                                                 {"options", "-w -cl-std=CL1.2"},
                                                 {"exact", exact ? "1" : "0"},
                                                 {"count", std::to_string(kernels.names.size())}});
  files.host += struct_types(whole.graph);
  files.host += "static const char* const tsr_kernel_names[TSR_COUNT] = {";
  for (std::size_t k = 0; k < kernels.names.size(); ++k)
    files.host += fmt::format("{}\"{}\"", k ? ", " : "", kernels.names[k]);
  files.host += "};\n\n" + std::string(kernels.host.empty() ? "" : "#define TSR_SPECTRA\n") +
                std::string(detail::opencl_host_text) + kernels.host + "\n";
  files.host += layout_functions(whole.variants);
  files.host += run_functions(whole.variants, false) + whole.driver +
                opencl_enqueue(with_own_names(signature), name, whole.run) +
                opencl_entry(whole.graph, with_own_names(signature), name);
  return files;
}

std::string header(const Whole& whole, const std::string& name, bool cuda) {
  const Signature& signature = whole.signature;
  const std::string structs = struct_types(whole.graph);
  const std::string parameters = parameter_list(signature);
  return filled(
      detail::device_header_text,
      {{"name", name},
       {"target", cuda ? "CUDA" : "OPENCL"},
       {"shapes", shapes_comment(signature)},
       {"types", cuda ? "struct CUstream_st;\n\n" : "struct _cl_command_queue;\nstruct _cl_mem;\n\n"},
       {"structs", structs.empty() ? "" : structs + "\n"},
       {"declaration", declaration(signature, name)},
       {"functions",
        cuda ? fmt::format("int {0}_cuda({1});\nint {0}_on_stream({1}, struct CUstream_st* tsr_stream);\n", name,
                           parameters)
             : fmt::format("int {0}_opencl({1});\nint {0}_enqueue(struct _cl_command_queue* tsr_queue, {2});\n", name,
                           parameters, parameter_list(signature, "struct _cl_mem*"))}});
}

// What no image would run is left out.
void trim(std::vector<DeviceVariant>& variants) {
  for (std::size_t v = 0; v < variants.size(); ++v)
    if (too_small(variants[v].plan, variants[v].lowered).empty()) variants.resize(v + 1);
  variants.back().last = true;
}

DeviceFiles files_of(const Whole& whole, DeviceDialect dialect, const std::string& name,
                     const std::string& kernels_file) {
  const bool cuda = dialect == DeviceDialect::cuda;
  DeviceFiles files = cuda ? cuda_files(whole, name) : opencl_files(whole, name, kernels_file);
  files.header = header(whole, name, cuda);
  return files;
}

// The name of the function that runs some variants, which follow those that are there.
std::string add(std::vector<DeviceVariant>& all, std::vector<DeviceVariant>& some) {
  std::string name = fmt::format("tsr_run_{}", all.size());
  trim(some);
  for (DeviceVariant& v : some) all.push_back(std::move(v));
  return name;
}

}  // namespace

DeviceFiles print_device_files(std::vector<DeviceVariant> variants, DeviceDialect dialect, Numbers numbers,
                               const std::string& name, const std::string& kernels_file) {
  check_entry_name(name);
  const plan::Plan& plan = variants.front().plan;
  const ir::Graph graph = plan.graph;
  const Signature signature = signature_of(plan);
  check_device_names(graph, name, dialect == DeviceDialect::cuda);
  std::vector<DeviceVariant> all;
  const std::string run = add(all, variants);
  return files_of({graph, signature, all, "", run, numbers == Numbers::exact, {}}, dialect, name, kernels_file);
}

DeviceFiles print_device_files(const ir::host::Program& program, const ir::Graph& graph,
                               std::vector<std::vector<DeviceVariant>> parts, std::vector<SizedTransform> sized,
                               DeviceDialect dialect, Numbers numbers, const std::string& name,
                               const std::string& kernels_file) {
  check_entry_name(name);
  check_device_names(graph, name, dialect == DeviceDialect::cuda);
  std::vector<DeviceVariant> all;
  std::vector<std::string> functions;
  for (std::vector<DeviceVariant>& part : parts) functions.push_back(add(all, part));
  std::set<ElementType> transforms;
  for (const ir::host::Transform& t : program.transforms) transforms.insert(t.type);
  const auto host = dialect == DeviceDialect::cuda ? HostDialect::cuda : HostDialect::opencl;
  std::string driver = host_program_text(host);
  std::vector<std::optional<SizedFunction>> made_for(program.transforms.size());
  std::size_t kernels = 0, tables = 0;
  for (const DeviceVariant& v : all) kernels += v.lowered.kernels.size();
  for (std::size_t k = 0; k < sized.size(); ++k) {
    SizedFunction& function = made_for[sized[k].transform].emplace();
    function = {fmt::format("tsr_sized_{}", k), sized[k].extents};
    driver += sized_function(sized[k], dialect, function.name, fmt::format("_{}", all.size() + k), kernels, tables);
    kernels += sized[k].made.kernels.size();
    tables += sized[k].made.kernels.size();
  }
  driver += print_host_program(program, graph, host, "tsr_run_all", functions, made_for);
  return files_of(
      {graph, signature_of(graph), all, driver, "tsr_run_all", numbers == Numbers::exact, transforms, std::move(sized)},
      dialect, name, kernels_file);
}

}  // namespace tessera::emit
