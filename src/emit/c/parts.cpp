// See parts.hpp.
#include "emit/c/parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "emit/c/frame.hpp"
#include "emit/c/prelude.hpp"
#include "emit/c/published.hpp"
#include "emit/names.hpp"
#include "emit/signature.hpp"

namespace tessera::emit {

namespace detail {
extern const std::string_view transform_text, transform_lines_text, transform_run_text;
}

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
  text += map_identifiers(detail::transform_lines_text, [&](std::string_view word) {
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
  std::string text = of_type(detail::transform_text, real) + lines_text(real, 16);
  std::string choice, calls;
  text += "\n#if defined(__x86_64__) && !defined(_MSC_VER) && !defined(TESSERA_NO_DISPATCH)\n";
  for (const Machine& m : machines) {
    if (vector_bits != 0 && 8 * m.vector != vector_bits) continue;
    text += fmt::format(
        "#ifdef __clang__\n#pragma clang attribute push(__attribute__((target(\"{0}\"))), apply_to = function)\n"
        "#else\n#pragma GCC push_options\n#pragma GCC target(\"{0}\")\n#endif\n",
        m.features);
    text += lines_text(real, m.vector);
    text += "#ifdef __clang__\n#pragma clang attribute pop\n#else\n#pragma GCC pop_options\n#endif\n";
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
  return renamed(text + of_type(detail::transform_run_text, real), "fft");
}

// Memory of the system that is kept for the next call, since the system takes longer to hand out large blocks than a
// transform takes: a block for each use. Calls at the same time find none and get their own.
constexpr std::string_view memory_text = R"(
static u8* tsr_kept[3];
static TSR_FP u8* tsr_take_kept(tessera_call* call, i32 use, i64 bytes) {
  if (call->asks || call->memory) return tsr_take(call, bytes);
  u8* block = __atomic_exchange_n(&tsr_kept[use], (u8*)0, __ATOMIC_ACQ_REL);
  if (block && *(i64*)block >= bytes) return block + 64;
  __builtin_free(block);
  block = tsr_take(call, bytes + 64);
  if (!block) return 0;
  *(i64*)block = bytes;
  return block + 64;
}
static TSR_FP void tsr_give_kept(tessera_call* call, i32 use, u8* at, i64 bytes) {
  if (call->asks || call->memory) tsr_give(call, at, bytes);
  else if (at) __builtin_free(__atomic_exchange_n(&tsr_kept[use], at - 64, __ATOMIC_ACQ_REL));
}
)";

// What transforms and entry points use of the text that all files have, and transforms of the types that there are.
std::string common(const std::vector<const rewrite::Parts*>& all, int vector_bits) {
  std::string text =
      renamed("\n" + scalar_prelude({}) + std::string(call_text) +
                  "#ifdef __clang__\n#define TSR_UNROLL _Pragma(\"unroll\")\n#pragma STDC FP_CONTRACT OFF\n#else\n"
                  "#define TSR_UNROLL _Pragma(\"GCC unroll 32\")\n#pragma GCC optimize(\"fp-contract=off\")\n#endif\n" +
                  std::string(memory_text),
              "fft");
  for (const ElementType type : {ElementType::f32, ElementType::f64}) {
    const auto transforms = [&](const rewrite::Step& s) { return !s.is_part() && s.type == type; };
    if (std::any_of(all.begin(), all.end(), [&](const rewrite::Parts* parts) {
          return std::any_of(parts->steps.begin(), parts->steps.end(), transforms);
        }))
      text += with_transforms(type, vector_bits);
  }
  return text;
}

// The text of a part or a section: static i32 NAME(void* const* given, const i64* sizes, tessera_call*).
std::string part_file(const std::vector<Variant>& variants, EntryOptions options, const std::string& name,
                      const std::string& infix) {
  options.name = name;
  return renamed(print_c_part(variants, options), infix);
}

class Entry {
 public:
  // `infix`: of the names of its parts, apart from those of other sections.
  Entry(const ir::Graph& graph, const rewrite::Parts& parts, const std::vector<std::vector<Variant>>& variants,
        const EntryOptions& options, std::string infix = "")
      : graph_(graph),
        parts_(parts),
        variants_(variants),
        options_(options),
        infix_(std::move(infix)),
        extent_(graph, sizes_) {}

  std::string parts() const {
    std::string out;
    for (std::size_t k = 0; k < parts_.steps.size(); ++k)
      if (parts_.steps[k].is_part())
        out += part_file(variants_[k], options_, name_of(k), fmt::format("{}p{}", infix_, k));
    return out;
  }

  // That calls them, behind the common text: static i32 NAME(void* const* given, const i64* N, tessera_call*).
  std::string function(const std::string& name) {
    std::string steps,
        text = fmt::format("\nstatic TSR_FP i32 {}(void* const* given, const i64* N, tessera_call* call) {{\n", name);
    text += "  i32 status = 0;\n  tessera_call inner = *call;\n  inner.strides = 0;\n  (void)N;\n";
    const std::string none = extent_.none_left();
    const std::string allocated = parts_.between.empty() ? "" : memory();
    for (std::size_t k = 0; k < parts_.steps.size(); ++k) steps += parts_.steps[k].is_part() ? call(k) : transform(k);
    text += sizes_;
    if (!none.empty()) text += "  if (" + none + ") return 2;\n";
    text += allocated + "  {\n    const u64 modes = tsr_enter();\n" + steps +
            "    goto end;\n  end:\n    tsr_leave(modes);\n  }\n";
    if (!parts_.between.empty()) text += "  tsr_give_kept(&inner, 0, tsr_block, tsr_all_bytes);\n";
    return renamed(text + "  call->needed = inner.needed;\n  return status;\n}\n", "fft");
  }

 private:
  std::string name_of(std::size_t step) const { return fmt::format("tessera_part_{}{}", infix_, step); }

  std::string place(const rewrite::Place& p) const {
    if (p.kind == rewrite::Place::Kind::between) return fmt::format("tsr_between_{}", p.index);
    return fmt::format("given[{}]", p.index + (p.kind == rewrite::Place::Kind::argument ? 0 : graph_.arguments.size()));
  }

  // Its arrays in the order of its signature: arguments, outputs.
  std::string call(std::size_t k) const {
    const rewrite::Step& step = parts_.steps[k];
    std::string list;
    for (const auto* places : {&step.inputs, &step.outputs})
      for (const rewrite::Place& p : *places) list += (list.empty() ? "" : ", ") + place(p);
    return fmt::format(
        "    {{\n      void* const g[] = {{{}}};\n      if ((status = {}(g, N, &inner))) goto end;\n    }}\n", list,
        name_of(k));
  }

  std::string transform(std::size_t k) {
    const rewrite::Step& step = parts_.steps[k];
    std::string shape;
    for (const ir::SizeId n : step.domain) shape += (shape.empty() ? "" : ", ") + extent_(n);
    int along = 0;
    for (const int d : step.along) along |= 1 << d;
    const rewrite::Place& from = step.inputs[0];
    const bool spent = from.kind == rewrite::Place::Kind::between && parts_.between[from.index].last == k;
    return fmt::format(
        "    {{\n      const i64 tsr_shape[] = {{{}}};\n"
        "      if (!tsr_transform_{}(&inner, {}, {}, {}, {}, {}, tsr_shape, {})) {{\n"
        "        status = tsr_no_memory(call);\n        goto end;\n      }}\n    }}\n",
        shape, step.type == ElementType::f64 ? "double" : "float", place(from), place(step.outputs[0]),
        (step.from_real ? 1 : 0) + (step.to_real ? 2 : 0) + (spent ? 4 : 0), step.inverse ? 1 : 0, step.domain.size(),
        along);
  }

  // Arrays that are not there at the same time share memory: the slot of each.
  std::vector<std::size_t> slots() const {
    std::vector<std::size_t> slot_of, free_from;  // the step behind the last that uses a slot
    std::vector<std::size_t> first(parts_.between.size(), 0);
    for (std::size_t k = parts_.steps.size(); k-- > 0;)
      for (const rewrite::Place& p : parts_.steps[k].outputs)
        if (p.kind == rewrite::Place::Kind::between) first[p.index] = k;
    std::vector<std::size_t> order(first.size());
    for (std::size_t b = 0; b < order.size(); ++b) order[b] = b;
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return std::pair(first[a], a) < std::pair(first[b], b); });
    slot_of.resize(first.size());
    for (const std::size_t b : order) {
      std::size_t slot = 0;
      while (slot < free_from.size() && free_from[slot] > first[b]) ++slot;
      if (slot == free_from.size()) free_from.push_back(0);
      free_from[slot] = std::max(first[b], parts_.between[b].last) + 1;
      slot_of[b] = slot;
    }
    return slot_of;
  }

  // One block: slots, one behind the other.
  std::string memory() {
    const std::vector<std::size_t> slot_of = slots();
    std::vector<std::string> sizes;
    std::string tests;
    for (std::size_t b = 0; b < slot_of.size(); ++b) {
      std::string bytes = fmt::format("{}LL", parts_.between[b].format.size()), list;
      for (const ir::SizeId n : parts_.between[b].domain) {
        bytes += " * " + extent_(n);
        list += (list.empty() ? "" : ", ") + extent_(n);
      }
      if (!list.empty())
        tests += fmt::format("  {{\n    const i64 e[] = {{{}}};\n    if (tsr_bytes({}, e, {}) < 0) return 2;\n  }}\n",
                             list, parts_.between[b].format.size(), parts_.between[b].domain.size());
      sizes.resize(std::max(sizes.size(), slot_of[b] + 1));
      std::string& size = sizes[slot_of[b]];
      size = size.empty() ? bytes : fmt::format("tsr_max({}, {})", size, bytes);
    }
    std::string text = tests, total = "0";
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      text += fmt::format("  const i64 tsr_at{} = {};\n", k, total);
      total = fmt::format("tsr_at{} + ({} + 127) / 64 * 64", k, sizes[k]);
    }
    text += fmt::format(
        "  const i64 tsr_all_bytes = {};\n  u8* const tsr_block = tsr_take_kept(&inner, 0, tsr_all_bytes);\n"
        "  if (!tsr_block) return tsr_no_memory(call);\n",
        total);
    for (std::size_t b = 0; b < slot_of.size(); ++b)
      text += fmt::format("  u8* const tsr_between_{} = tsr_block + tsr_at{};\n", b, slot_of[b]);
    return text;
  }

  const ir::Graph& graph_;
  const rewrite::Parts& parts_;
  const std::vector<std::vector<Variant>>& variants_;
  const EntryOptions& options_;
  const std::string infix_;
  std::string sizes_;
  Extents extent_;
};

// The published file: the text of all parts, common text, functions up to one that is called tsr_all.
std::string whole_file(const ir::Graph& graph, const std::string& files, const std::string& shared,
                       const std::string& functions, bool exact, const std::string& name) {
  const Signature signature = signature_of(graph);
  return published_head(signature, name) + frame_begin(exact) + struct_types(graph) + files + shared + functions +
         renamed(published_entries(graph, signature, name, 0, false), "fft") + frame_end();
}

bool is_exact(const std::vector<std::vector<Variant>>& variants) {
  for (const std::vector<Variant>& each : variants)
    if (!each.empty()) return each.front().plan.options.numbers == Numbers::exact;
  return false;
}

}  // namespace

std::string print_c_parts(const ir::Graph& graph, const rewrite::Parts& parts,
                          const std::vector<std::vector<Variant>>& variants, const EntryOptions& options) {
  check_entry_name(options.name);
  Entry entry(graph, parts, variants, options);
  return whole_file(graph, entry.parts(), common({&parts}, options.vector_bits), entry.function("tsr_all"),
                    is_exact(variants), options.name);
}

std::string print_c_parts(const SectionList& list, const std::vector<CSection>& sections, const EntryOptions& options) {
  check_entry_name(options.name);
  std::string files, calls;
  std::vector<const rewrite::Parts*> transforms;
  std::vector<std::string> functions;
  bool exact = false;
  for (std::size_t k = 0; k < sections.size(); ++k) {
    const CSection& section = sections[k];
    EntryOptions own = options;
    own.name = fmt::format("tessera_section_{}", k);
    const std::string infix = fmt::format("s{}", k);
    exact |= is_exact(section.variants);
    if (section.parts != nullptr) {
      Entry entry(*section.graph, *section.parts, section.variants, own, infix);
      files += entry.parts();
      calls += entry.function(own.name);
      transforms.push_back(section.parts);
    } else {
      files += part_file(section.variants.front(), own, own.name, infix);
    }
    functions.push_back(own.name);
  }
  std::string driver = loop_driver(list, DriverDialect::c, functions);
  const std::string run = "tsr_run(";
  driver.replace(driver.find(run), run.size(), "tsr_all(");
  return whole_file(*list.graph, files, common(transforms, options.vector_bits), calls + renamed(driver, "fft"), exact,
                    options.name);
}

}  // namespace tessera::emit
