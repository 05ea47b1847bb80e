// See parts.hpp.
#include "emit/c/parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>

#include "emit/c/frame.hpp"
#include "emit/c/prelude.hpp"
#include "emit/c/published.hpp"
#include "emit/c/transforms/sized.hpp"
#include "emit/host/entry.hpp"
#include "emit/names.hpp"
#include "emit/signature.hpp"

namespace tessera::emit {

namespace detail {
extern const std::string_view c_kept_memory_text;
extern const std::string_view transforms_passes_text, transforms_lines_text, transforms_run_text;
}  // namespace detail

namespace {

// tsr_run as tsr_p3_run, so that what is pasted of names fits as well: tsr_run_ and 0.
std::string renamed(std::string_view text, const std::string& infix) {
  std::string upper = infix;
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return map_identifiers(text, [&](std::string_view word) {
    if (word.starts_with("tsr_")) return "tsr_" + infix + "_" + std::string(word.substr(4));
    if (word.starts_with("TSR_") && word != "TSR_FP") return "TSR_" + upper + "_" + std::string(word.substr(4));
    return std::string(word);
  });
}

// With names for one type of number. What the common text has is common.
std::string of_type(std::string_view text, const std::string& real, const std::string& suffix = "") {
  static const std::set<std::string_view> shared = {
      "tsr_threads",   "tsr_thread",    "tsr_min",   "tsr_take",  "tsr_give", "tsr_no_memory", "tsr_neg",
      "tsr_take_kept", "tsr_give_kept", "tsr_enter", "tsr_leave", "tsr_size", "tsr_word"};
  static const std::set<std::string_view> of_lines = {"tsr_plan", "tsr_job", "tsr_line_at"};
  return map_identifiers(text, [&](std::string_view word) {
    if (word == "tsr_real") return real;
    if (!word.starts_with("tsr_") || shared.contains(word)) return std::string(word);
    return std::string(word) + "_" + real + (of_lines.contains(word) ? "" : suffix);
  });
}

// Shuffles of two vectors, by a rule for the places.
template <class Place>
std::string shuffle(const std::string& name, int lanes, Place place) {
  std::string list;
  for (int k = 0; k < lanes; ++k) list += fmt::format(", {}", place(k));
  return fmt::format("#define {}(a, b) __builtin_shufflevector(a, b{})\n", name, list);
}

// Lines side by side in vectors of so many bytes.
std::string lines_text(const std::string& real, int vector) {
  const int lanes = vector / (real == "double" ? 8 : 4);
  std::string text = shuffle("tsr_low", lanes, [&](int k) { return k / 2 + k % 2 * lanes; });
  text += shuffle("tsr_high", lanes, [&](int k) { return (k + lanes) / 2 + k % 2 * lanes; });
  text += shuffle("tsr_even", lanes, [](int k) { return 2 * k; });
  text += shuffle("tsr_uneven", lanes, [](int k) { return 2 * k + 1; });
  text += shuffle("tsr_turned_round", lanes, [&](int k) { return lanes - 2 - k / 2 * 2 + k % 2; });
  text += "#define tsr_signs 1, -1";
  for (int k = 2; k < lanes; k += 2) text += ", 1, -1";
  text += "\n";
  text += map_identifiers(detail::transforms_lines_text, [&](std::string_view word) {
    if (word == "TSR_VECTOR") return std::to_string(vector);
    return word == "tsr_lanes" ? std::to_string(lanes) : std::string(word);
  });
  return of_type(text, real, fmt::format("_{}", vector));
}

struct Machine {
  int vector;
  std::string_view features;
};
constexpr Machine machines[] = {{32, "avx2"}, {64, "avx2,avx512f,avx512bw,avx512dq,avx512vl"}};

// The vectors that any machine has, on x86-64 also those of AVX2 and AVX-512, as parts have them.
std::string with_transforms(ElementType type, int vector_bits) {
  const std::string real = type == ElementType::f64 ? "double" : "float";
  std::string text = of_type(detail::transforms_passes_text, real) + lines_text(real, 16);
  std::string choice, calls;
  text += "\n" + machine_begin();
  for (const Machine& m : machines) {
    if (vector_bits != 0 && 8 * m.vector != vector_bits) continue;
    text += for_machine(m.vector, lines_text(real, m.vector));
    std::string asked;
    for (std::size_t at = 0; at < m.features.size();) {
      const std::size_t end = std::min(m.features.find(',', at), m.features.size());
      asked +=
          fmt::format("{}__builtin_cpu_supports(\"{}\")", asked.empty() ? "" : " && ", m.features.substr(at, end - at));
      at = end + 1;
    }
    choice = fmt::format("  if ({}) return {};\n", asked, m.vector) + choice;
    calls +=
        fmt::format("  if (vector == {0}) return tsr_groups_{1}_{0}(j, memory, bytes, threads);\n", m.vector, real);
  }
  const std::string chosen = of_type("static TSR_FP i32 tsr_vector(void) {\n", real),
                    groups = of_type(
                        "static TSR_FP void tsr_groups(const tsr_job* j, u8* memory, i64 bytes, i64 threads, i32 "
                        "vector) {\n  (void)vector;\n",
                        real),
                    plain = fmt::format("  tsr_groups_{}_16(j, memory, bytes, threads);\n", real);
  text += chosen + choice + "  return 16;\n}\n" + groups + calls + plain + "}\n";
  text += "#else\n" + chosen + "  return 16;\n}\n" + groups + plain + "}\n#endif\n";
  return renamed(text + of_type(detail::transforms_run_text, real), "fft");
}

// Memory of the system that is kept for the next call, since the system takes longer to hand out large blocks than a
// transform takes: a block for each use. Calls at the same time find none and get their own.

// What transforms and the host program use of the text that all files have, and transforms of the types that there are.
std::string common(const ir::host::Program& program, const EntryOptions& options) {
  std::string text =
      renamed("\n" + scalar_prelude({}) + call_text() +
                  "#ifdef __clang__\n#define TSR_UNROLL _Pragma(\"unroll\")\n#pragma STDC FP_CONTRACT OFF\n#else\n"
                  "#define TSR_UNROLL _Pragma(\"GCC unroll 32\")\n#pragma GCC optimize(\"fp-contract=off\")\n#endif\n" +
                  "\n" + std::string(detail::c_kept_memory_text),
              "fft");
  for (const ElementType type : {ElementType::f32, ElementType::f64})
    if (std::any_of(program.transforms.begin(), program.transforms.end(),
                    [&](const auto& t) { return t.type == type; }))
      text += with_transforms(type, options.vector_bits);
  return text + renamed(sized_text(options.sized), "fft");
}

}  // namespace

std::string machine_begin() {
  return "#if defined(__x86_64__) && !defined(_MSC_VER) && !defined(TESSERA_NO_DISPATCH)\n";
}

std::string for_machine(int vector, const std::string& text) {
  std::string_view features;
  for (const Machine& m : machines)
    if (m.vector == vector) features = m.features;
  return fmt::format(
             "#ifdef __clang__\n#pragma clang attribute push(__attribute__((target(\"{0}\"))), apply_to = function)\n"
             "#else\n#pragma GCC push_options\n#pragma GCC target(\"{0}\")\n#endif\n",
             features) +
         text + "#ifdef __clang__\n#pragma clang attribute pop\n#else\n#pragma GCC pop_options\n#endif\n";
}

std::string contracted(const std::string& text) {
  return "#ifdef __clang__\n#pragma clang fp contract(fast)\n#else\n#pragma GCC push_options\n"
         "#pragma GCC optimize(\"fp-contract=fast\")\n#endif\n" +
         text + "#ifdef __clang__\n#pragma STDC FP_CONTRACT OFF\n#else\n#pragma GCC pop_options\n#endif\n";
}

std::string print_c_parts(const ir::host::Program& program, const ir::Graph& graph,
                          const std::vector<std::vector<Variant>>& parts, const EntryOptions& options) {
  check_entry_name(options.name);
  std::string files;
  std::vector<std::string> functions;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    EntryOptions own = options;
    own.name = fmt::format("tessera_part_{}", k);
    files += renamed(print_c_part(parts[k], own), fmt::format("p{}", k));
    functions.push_back(own.name);
  }
  std::vector<std::optional<SizedFunction>> sized(program.transforms.size());
  for (const SizedOnCores& one : options.sized) sized[one.transform] = {sized_function_name(one), one.extents};
  const bool exact = !parts.empty() && parts.front().front().plan.options.numbers == Numbers::exact;
  const Signature signature = signature_of(graph);
  return published_head(signature, options.name) + frame_begin(exact) + struct_types(graph) + files +
         common(program, options) +
         renamed(print_host_program(program, graph, HostDialect::c, "tsr_all", functions, sized) +
                     published_entries(graph, signature, options.name, {}, false),
                 "fft") +
         frame_end();
}

}  // namespace tessera::emit
