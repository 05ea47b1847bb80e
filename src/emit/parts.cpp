// See parts.hpp.
#include "emit/parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "emit/names.hpp"
#include "emit/prelude.hpp"
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
    if (word.starts_with("TSR_")) return "TSR_" + upper + "_" + std::string(word.substr(4));
    return std::string(word);
  });
}

// With names for one type of number. What the common text has is common.
std::string of_type(std::string_view text, const std::string& real, const std::string& suffix = "") {
  static const std::set<std::string_view> shared = {"tsr_threads", "tsr_thread", "tsr_min", "tsr_take", "tsr_give"};
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
std::string with_transforms(ElementType type) {
  const std::string real = type == ElementType::f64 ? "double" : "float";
  std::string text = of_type(detail::transform_text, real) + lines_text(real, 16);
  std::string choice, calls;
  text += "\n#if defined(__x86_64__) && !defined(TESSERA_NO_DISPATCH)\n";
  for (const Machine& m : machines) {
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
  const std::string chosen = of_type("static i32 tsr_vector(void) {\n", real),
                    groups = of_type(
                        "static void tsr_groups(const tsr_job* j, u8* memory, i64 bytes, i64 threads, i32 "
                        "vector) {\n  (void)vector;\n",
                        real),
                    plain = fmt::format("  tsr_groups_{}_16(j, memory, bytes, threads);\n", real);
  text += chosen + choice + "  return 16;\n}\n" + groups + calls + plain + "}\n";
  text += "#else\n" + chosen + "  return 16;\n}\n" + groups + plain + "}\n#endif\n";
  return renamed(text + of_type(detail::transform_run_text, real), "fft");
}

// Memory that is kept for the next call, since the system takes longer to hand out large blocks than a transform takes:
// a block for each use. Calls at the same time find none and get their own.
constexpr std::string_view memory_text = R"(
static u8* tsr_kept[3];
static u8* tsr_take(i32 use, i64 bytes) {
  u8* block = __atomic_exchange_n(&tsr_kept[use], (u8*)0, __ATOMIC_ACQ_REL);
  if (block && *(i64*)block >= bytes) return block + 64;
  __builtin_free(block);
  block = (u8*)__builtin_malloc((unsigned long)(bytes + 64));
  if (!block) return 0;
  *(i64*)block = bytes;
  return block + 64;
}
static void tsr_give(i32 use, u8* at) {
  if (at) __builtin_free(__atomic_exchange_n(&tsr_kept[use], at - 64, __ATOMIC_ACQ_REL));
}
)";

std::string head(const Signature& signature, const std::string& name) {
  std::string text = fmt::format(
      "/* {}: generated by Tessera. Includes nothing; compile with GCC or Clang, -O3 -fopenmp for all cores.\n\n"
      "   {};\n\n{}\n"
      "   Arrays are contiguous, the last index fastest; outputs overlap nothing. Where an extent is below 1, outputs "
      "stay as\n   they are; where memory cannot be had, their elements are undefined. */\n",
      name, declaration(signature, name), shapes_comment(signature));
  text += "#pragma GCC diagnostic push\n";
  for (const char* warning : {"psabi", "unused-variable", "unused-but-set-variable", "unused-function"})
    text += fmt::format("#pragma GCC diagnostic ignored \"-W{}\"\n", warning);
  return text;
}

// What transforms and entry points use of the text that all files have, and transforms of the types that there are.
std::string common(const std::vector<const plan::Parts*>& all) {
  std::string text =
      renamed("\n" + scalar_prelude({}) +
                  "\n#ifdef _OPENMP\nextern int omp_get_max_threads(void);\nextern int omp_get_thread_num(void);\n"
                  "TSR_INLINE i64 tsr_threads(void) { return omp_get_max_threads() < 1 ? 1 : omp_get_max_threads(); "
                  "}\nTSR_INLINE i64 tsr_thread(void) { return omp_get_thread_num(); }\n#else\n"
                  "TSR_INLINE i64 tsr_threads(void) { return 1; }\nTSR_INLINE i64 tsr_thread(void) { return 0; }\n"
                  "#endif\n"
                  "#ifdef __clang__\n#define TSR_UNROLL _Pragma(\"unroll\")\n#pragma clang diagnostic ignored "
                  "\"-Wpass-failed\"\n#pragma STDC FP_CONTRACT OFF\n#else\n"
                  "#define TSR_UNROLL _Pragma(\"GCC unroll 32\")\n#pragma GCC optimize(\"fp-contract=off\")\n#endif\n" +
                  std::string(memory_text),
              "fft");
  for (const ElementType type : {ElementType::f32, ElementType::f64}) {
    const auto transforms = [&](const plan::Step& s) { return !s.is_part() && s.type == type; };
    if (std::any_of(all.begin(), all.end(), [&](const plan::Parts* parts) {
          return std::any_of(parts->steps.begin(), parts->steps.end(), transforms);
        }))
      text += with_transforms(type);
  }
  return text;
}

// The file of a part or a section, with an entry point of its own name and linkage.
std::string part_file(const std::vector<Variant>& variants, EntryOptions options, const std::string& name,
                      const std::string& infix) {
  options.name = name;
  std::string text = print_c_file(variants, options);
  text.erase(0, text.find("*/\n") + 3);
  const std::string entry = "\n" + declaration(signature_of(variants.front().plan), name) + " {\n";
  text.insert(text.rfind(entry) + 1, "static ");
  return renamed(text, infix);
}

class Entry {
 public:
  // `infix`: of the names of its parts, apart from those of other sections.
  Entry(const ir::Graph& graph, const plan::Parts& parts, const std::vector<std::vector<Variant>>& variants,
        const EntryOptions& options, std::string infix = "")
      : graph_(graph),
        parts_(parts),
        variants_(variants),
        options_(options),
        infix_(std::move(infix)),
        extent_(graph, sizes_, "tsr_sizes") {
    program_.graph = graph;
    signature_ = signature_of(program_);
  }

  const Signature& signature() const { return signature_; }

  std::string parts() const {
    std::string out;
    for (std::size_t k = 0; k < parts_.steps.size(); ++k)
      if (parts_.steps[k].is_part())
        out += part_file(variants_[k], options_, name_of(k), fmt::format("{}p{}", infix_, k));
    return out;
  }

  // That calls them, behind the common text.
  std::string function() {
    std::string names, steps;
    for (const Signature::Item& item : signature_.items)
      if (item.parameter) names += item.name + ", ";
    const std::string none = extent_.none_left();
    const std::string allocated = parts_.between.empty() ? "" : memory();
    for (std::size_t k = 0; k < parts_.steps.size(); ++k) steps += parts_.steps[k].is_part() ? call(k) : transform(k);
    std::string text = fmt::format("  const i64 tsr_sizes[] = {{{}0}};\n{}", names, sizes_);
    if (!none.empty()) text += "  if (" + none + ") return;\n";
    text += allocated + steps;
    // (Nothing may be the last behind a label.)
    text += parts_.between.empty() ? "end:;\n}\n" : "end:\n  tsr_give(0, tsr_block);\n}\n";
    return declaration(signature_, options_.name) + " {\n" + renamed(text, "fft");
  }

 private:
  std::string name_of(std::size_t step) const { return fmt::format("tessera_part_{}{}", infix_, step); }

  std::string place(const plan::Place& p) const {
    if (p.kind == plan::Place::Kind::between) return fmt::format("tsr_between_{}", p.index);
    const std::size_t first = graph_.arguments.size() + graph_.parameters.size();
    return signature_.items[p.kind == plan::Place::Kind::argument ? p.index : first + p.index].name;
  }

  // In the order of its signature: arguments, parameters, outputs.
  std::string call(std::size_t k) const {
    const plan::Step& step = parts_.steps[k];
    const Signature own = signature_of(variants_[k].front().plan);
    const std::size_t inputs = step.inputs.size(), parameters = graph_.parameters.size();
    std::string list;
    for (std::size_t i = 0; i < own.items.size(); ++i) {
      const Signature::Item& item = own.items[i];
      list += list.empty() ? "" : ", ";
      if (item.parameter)
        list += signature_.items[graph_.arguments.size() + i - inputs].name;
      else if (!item.pointer)
        list += place(step.inputs[i]);
      else
        list += fmt::format("({}{}*){}", item.constant ? "const " : "", item.type,
                            place(i < inputs ? step.inputs[i] : step.outputs[i - inputs - parameters]));
    }
    return fmt::format("  {}({});\n", name_of(k), list);
  }

  std::string transform(std::size_t k) {
    const plan::Step& step = parts_.steps[k];
    std::string shape;
    for (const ir::SizeId n : step.domain) shape += (shape.empty() ? "" : ", ") + extent_(n);
    int along = 0;
    for (const int d : step.along) along |= 1 << d;
    const plan::Place& from = step.inputs[0];
    const bool spent = from.kind == plan::Place::Kind::between && parts_.between[from.index].last == k;
    return fmt::format(
        "  {{\n    const i64 tsr_shape[] = {{{}}};\n    if (!tsr_transform_{}({}, {}, {}, {}, {}, tsr_shape, {})) goto "
        "end;\n  "
        "}}\n",
        shape, step.type == ElementType::f64 ? "double" : "float", place(from), place(step.outputs[0]),
        (step.from_real ? 1 : 0) + (step.to_real ? 2 : 0) + (spent ? 4 : 0), step.inverse ? 1 : 0, step.domain.size(),
        along);
  }

  // Arrays that are not there at the same time share memory: the slot of each.
  std::vector<std::size_t> slots() const {
    std::vector<std::size_t> slot_of, free_from;  // the step behind the last that uses a slot
    std::vector<std::size_t> first(parts_.between.size(), 0);
    for (std::size_t k = parts_.steps.size(); k-- > 0;)
      for (const plan::Place& p : parts_.steps[k].outputs)
        if (p.kind == plan::Place::Kind::between) first[p.index] = k;
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
    for (std::size_t b = 0; b < slot_of.size(); ++b) {
      std::string bytes = fmt::format("{}LL", parts_.between[b].format.size());
      for (const ir::SizeId n : parts_.between[b].domain) bytes += " * " + extent_(n);
      sizes.resize(std::max(sizes.size(), slot_of[b] + 1));
      std::string& size = sizes[slot_of[b]];
      size = size.empty() ? bytes : fmt::format("tsr_max({}, {})", size, bytes);
    }
    std::string text, total = "0";
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      text += fmt::format("  const i64 tsr_at{} = {};\n", k, total);
      total = fmt::format("tsr_at{} + ({} + 127) / 64 * 64", k, sizes[k]);
    }
    text += fmt::format("  u8* const tsr_block = tsr_take(0, {});\n  if (!tsr_block) return;\n", total);
    for (std::size_t b = 0; b < slot_of.size(); ++b)
      text += fmt::format("  u8* const tsr_between_{} = tsr_block + tsr_at{};\n", b, slot_of[b]);
    return text;
  }

  const ir::Graph& graph_;
  const plan::Parts& parts_;
  const std::vector<std::vector<Variant>>& variants_;
  const EntryOptions& options_;
  plan::Plan program_;  // of the program as a whole only what signatures ask for
  Signature signature_;
  const std::string infix_;
  std::string sizes_;
  Extents extent_;
};

// A section with the arguments that loops call it with: addresses of arrays and numbers, and extents.
std::string called(const Signature& signature, const std::string& name) {
  std::string list;
  std::size_t arrays = 0, parameters = 0;
  for (const Signature::Item& item : signature.items) {
    list += list.empty() ? "" : ", ";
    if (item.parameter)
      list += fmt::format("(int)N[{}]", parameters++);
    else
      list += fmt::format("{}({}{}*)g[{}]", item.pointer ? "" : "*", item.constant || !item.pointer ? "const " : "",
                          item.type, arrays++);
  }
  return renamed(
      fmt::format("static void tsr_{0}(void* const* g, const i64* N) {{\n  (void)N;\n  {0}({1});\n}}\n", name, list),
      "fft");
}

}  // namespace

std::string print_c_parts(const ir::Graph& graph, const plan::Parts& parts,
                          const std::vector<std::vector<Variant>>& variants, const EntryOptions& options) {
  check_entry_name(options.name);
  Entry entry(graph, parts, variants, options);
  return head(entry.signature(), options.name) + entry.parts() + common({&parts}) + struct_types(graph) + "\n" +
         entry.function() + "#pragma GCC diagnostic pop\n";
}

std::string print_c_parts(const SectionList& list, const std::vector<CSection>& sections, const EntryOptions& options) {
  check_entry_name(options.name);
  std::string files, calls;
  std::vector<const plan::Parts*> transforms;
  std::vector<std::string> functions;
  for (std::size_t k = 0; k < sections.size(); ++k) {
    const CSection& section = sections[k];
    EntryOptions own = options;
    own.name = fmt::format("tessera_section_{}", k);
    const std::string infix = fmt::format("s{}", k);
    if (section.parts != nullptr) {
      Entry entry(*section.graph, *section.parts, section.variants, own, infix);
      files += entry.parts();
      calls += "\n" + struct_types(*section.graph) + "static " + entry.function() + called(entry.signature(), own.name);
      transforms.push_back(section.parts);
    } else {
      files += part_file(section.variants.front(), own, own.name, infix);
      calls += called(signature_of(section.variants.front().front().plan), own.name);
    }
    functions.push_back("tsr_" + own.name);
  }
  const Signature signature = signature_of(*list.graph);
  const std::string driver = loop_driver(list, DriverDialect::c, functions) + "\n" +
                             declaration(signature, options.name) + " {\n" + given_and_sizes(signature) +
                             "  tsr_run(tsr_given, tsr_sizes);\n}\n";
  return head(signature, options.name) + files + common(transforms) + struct_types(*list.graph) + calls +
         renamed(driver, "fft") + "#pragma GCC diagnostic pop\n";
}

}  // namespace tessera::emit
