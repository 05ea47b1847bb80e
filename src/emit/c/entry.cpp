// The C file for users: a program's functions, and one entry point that allocates, shares out tiles and picks vectors.
//
// The file holds the program once for every variant: for the vectors that any machine of the architecture has, and on
// x86-64 also for AVX2 and for AVX-512. Which ones are compiled follows from the compiler's flags (-march=native leaves
// only what can run), which one runs is asked of the machine at every call. So a file that is compiled by `cc -O3`
// alone runs at the speed of the machine that it meets. The same values result from each: lanes do not interact.
#include "emit/host/entry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <set>

#include "base/text.hpp"
#include "emit/c/c.hpp"
#include "emit/c/frame.hpp"
#include "emit/c/prelude.hpp"
#include "emit/c/published.hpp"
#include "emit/holes.hpp"
#include "emit/names.hpp"
#include "emit/signature.hpp"
#include "plan/passes/tiles.hpp"

namespace tessera::emit {

using lower::ArrayRef;

namespace detail {
extern const std::string_view c_run_text, c_dispatch_text;
}

namespace {

// ---- one variant ---------------------------------------------------------------------------------------------------

class RunFunction {
 public:
  RunFunction(const Variant& variant, const EntryOptions& options)
      : plan_(variant.plan),
        interface_(variant.lowered.interface),
        options_(options),
        extent_(variant.plan.graph, out_) {}

  std::string text() {
    const std::size_t parameters = plan_.graph.parameters.size();
    out_ = filled(section(detail::c_run_text, "begin"),
                  {{"arrays", std::to_string(interface_.arrays.size())},
                   {"integers", std::to_string(std::max<std::size_t>(1, interface_.integers))}});
    for (std::size_t k = 0; k < parameters; ++k) out_ += fmt::format("  N[{0}] = parameters[{0}];\n", k);
    if (parameters == 0) out_ += "  (void)parameters;\n";
    if (const std::string none = extent_.none_left(); !none.empty()) out_ += "  if (" + none + ") return 2;\n";
    if (interface_.memories > 0) out_ += fmt::format("  i64 need[{0}] = {{0}}, at[{0}];\n", interface_.memories);
    for (std::size_t k = 0; k < interface_.arrays.size(); ++k) array(k);
    if (interface_.memories > 0)
      out_ += fmt::format("  for (int m = 0; m < {}; ++m) at[m] = bytes, bytes += need[m];\n", interface_.memories);
    for (std::size_t g = 0; g < plan_.groups.size(); ++g) out_ += fmt::format("  i64 T{0}[{1}];\n", g, rank(g) + 2);
    shapes();
    out_ += section(detail::c_run_text, "allocate");
    for (std::size_t k = 0; k < interface_.arrays.size(); ++k)
      if (interface_.arrays[k].kind == ArrayRef::Kind::intermediate)
        out_ += fmt::format("  P[{}] = memory + at[{}];\n", k, interface_.arrays[k].memory);
    tiles();
    out_ += section(detail::c_run_text, "end");
    return out_;
  }

 private:
  std::size_t rank(std::size_t g) const { return domain(g).size(); }
  const std::vector<ir::SizeId>& domain(std::size_t g) const {
    return plan_.graph.stage(plan_.groups[g].anchor).domain;
  }

  void array(std::size_t k) {
    const ArrayRef& ref = interface_.arrays[k];
    const bool inside = ref.kind == ArrayRef::Kind::intermediate;
    if (!inside) out_ += fmt::format("  P[{0}] = given[{0}];\n", k);
    if (!ref.is_array) return;
    std::string extents;
    for (const ir::SizeId n : ref.extents) extents += (extents.empty() ? "" : ", ") + extent_(n);
    const int element = inside ? ir::nest::size_of(plan_.stages[ref.index].lane) : static_cast<int>(ref.format.size());
    if (!extents.empty())
      out_ += filled(
          section(detail::c_run_text, "room"),
          {{"extents", extents}, {"element", std::to_string(element)}, {"rank", std::to_string(ref.extents.size())}});
    std::string pitch = fmt::format("{}LL", element);
    const std::size_t added = inside                                 ? 0
                              : ref.kind == ArrayRef::Kind::argument ? plan_.lifted.of_argument(ref.index)
                                                                     : plan_.lifted.of_output(ref.index);
    for (std::size_t d = ref.extents.size(); d-- > 0;) {
      if (d + 1 < ref.extents.size()) {
        const bool free = !inside && d >= added;
        out_ += free ? fmt::format("  N[{}] = tsr_stride(call, {}, {}, {});\n", ref.strides + d, k, d - added, pitch)
                     : fmt::format("  N[{}] = {};\n", ref.strides + d, pitch);
        pitch = fmt::format("N[{}]", ref.strides + d);
      }
      if (d == 0 && !inside) break;
      pitch = fmt::format("{} * {}", pitch, extent_(ref.extents[d]));
      if (inside && d + 1 == ref.extents.size()) pitch = fmt::format("tsr_align({})", pitch);
    }
    if (inside) out_ += fmt::format("  need[{0}] = tsr_max(need[{0}], tsr_align({1}) + 64);\n", ref.memory, pitch);
  }

  // Tiles of every group, and memory for as many threads as there may be.
  void shapes() {
    std::string lines;
    for (std::size_t g = 0; g < plan_.groups.size(); ++g) lines += shape(g);
    out_ += filled(section(detail::c_run_text, "shapes"), {{"shapes", lines}});
  }

  std::string shape(std::size_t g) {
    const std::size_t r = rank(g);
    std::string text = fmt::format("    tsr_g{0}_shape(N, threads, T{0});\n", g);
    const bool fixed = plan::pieces_of_group(plan_.graph, plan_.groups[g]).has_value();
    const i64 rows = fixed ? 0 : options_.tile_rows, columns = fixed ? 0 : options_.tile_columns;
    if (rows > 0) text += fmt::format("    T{}[0] = {};\n", g, rows);
    if (columns > 0) text += fmt::format("    T{}[{}] = {};\n", g, r - 1, (columns + 63) / 64 * 64);
    if (rows > 0 || columns > 0) {
      std::string tiles;
      for (std::size_t d = 0; d < r; ++d)
        tiles += fmt::format("{}tsr_ceil_div({}, T{}[{}])", d ? " * " : "", extent_(domain(g)[d]), g, d);
      text += fmt::format("    T{}[{}] = {};\n", g, r, tiles);
    }
    return text + fmt::format("    scratch = tsr_max(scratch, tsr_g{0}_scratch(N, T{0}));\n", g);
  }

  void tiles() {
    std::string loops;
    for (std::size_t g = 0; g < plan_.groups.size(); ++g)
      loops += filled(section(detail::c_run_text, "tiles"),
                      {{"group", std::to_string(g)}, {"count", std::to_string(rank(g))}});
    out_ += filled(section(detail::c_run_text, "threads"), {{"tiles", loops}});
  }

  const plan::Plan& plan_;
  const lower::Interface& interface_;
  const EntryOptions& options_;
  std::string out_;
  Extents extent_;
};

// ---- variants together ---------------------------------------------------------------------------------------------

// Names that all variants share: whatever the common text says.
std::set<std::string, std::less<>> shared_names(std::string_view common) {
  std::set<std::string, std::less<>> names;
  map_identifiers(common, [&](std::string_view word) {
    if (word.starts_with("tsr_")) names.emplace(word);
    return std::string(word);
  });
  return names;
}

std::string feature_macro(std::string name) {
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return "__" + name + "__";
}

// What asks the machine for them.
std::string has(const std::vector<std::string>& features) {
  std::string text;
  for (const std::string& f : features)
    text += fmt::format("{}__builtin_cpu_supports(\"{}\")", text.empty() ? "" : " && ", f);
  return text;
}

// What asks the compiler's flags.
std::string promises(const std::vector<std::string>& features) {
  std::string text;
  for (const std::string& f : features) text += (text.empty() ? "defined(" : " && defined(") + feature_macro(f) + ")";
  return text;
}

// TSR_LEAST: the variant that the compiler's flags promise; TSR_MOST: the last one worth compiling.
std::string levels(const std::vector<Variant>& variants) {
  std::string text;
  for (std::size_t v = variants.size(); v-- > 1;) {
    text +=
        fmt::format("#{} {}\n#define TSR_LEAST {}\n", text.empty() ? "if" : "elif", promises(variants[v].features), v);
  }
  text += text.empty() ? "#define TSR_LEAST 0\n" : "#else\n#define TSR_LEAST 0\n#endif\n";
  return text + filled(section(detail::c_dispatch_text, "most"), {{"last", std::to_string(variants.size() - 1)}});
}

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string text;
  for (const std::string& w : words) text += (text.empty() ? "" : std::string(between)) + w;
  return text;
}

// The best variant that the machine has.
std::string dispatch(const std::vector<Variant>& variants, const std::string& name) {
  const auto part = [](std::string_view name_of_section) { return section(detail::c_dispatch_text, name_of_section); };
  std::string text = filled(part("begin"), {{"name", name}});
  if (variants.size() > 1) text += part("several");
  for (std::size_t v = variants.size(); v-- > 1;)
    text += filled(part("one"), {{"variant", std::to_string(v)}, {"condition", has(variants[v].features)}});
  if (const std::vector<std::string>& least = variants.front().features; !least.empty())
    text += filled(part("promised"), {{"promised", promises(least)}, {"there", has(least)}});
  text += part("end");
  return text;
}

// Names of a section or variant apart from those of the others. The text of the functions pastes its names together:
// tsr_##x##_f32x8.
std::string apart(std::string_view text, const std::set<std::string, std::less<>>& shared, const std::string& suffix) {
  return map_identifiers(text, [&](std::string_view word) {
    const bool ours = word.size() > 4 && word.starts_with("tsr_"),
               pasted = word.starts_with("_f32") || word.starts_with("_f64");
    if ((!ours && !pasted) || shared.contains(word)) return std::string(word);
    return fmt::format("{}_{}", word, suffix);
  });
}

// One program, or the parts that `driver` runs as tsr_run_s0 and so on, and what picks the variant: `name`. In a frame
// that the caller ends, `types` first.
std::string print_variants(const std::vector<const std::vector<Variant>*>& sections, const std::string& driver,
                           const EntryOptions& options, const std::string& name, const std::string& types) {
  const std::vector<Variant>& variants = *sections.front();
  const bool exact = variants.front().plan.options.numbers == Numbers::exact;
  std::vector<ModuleText> modules;  // section after section
  Needs all;
  for (const std::vector<Variant>* section : sections)
    for (const Variant& v : *section) {
      modules.push_back(module_text(v.lowered.module));
      all.add(modules.back().needs);
    }
  std::string common = "\n" + scalar_prelude(all);
  common += section(detail::c_dispatch_text, "joins");
  common += call_text();
  const bool same_tables =
      std::all_of(modules.begin(), modules.end(), [&](const ModuleText& m) { return m.tables == modules[0].tables; });
  if (same_tables) common += modules[0].tables;
  const auto shared = shared_names(common);

  std::string text = frame_begin(exact) + (exact ? "#define TSR_EXACT\n" : "") + types + common + levels(variants);
  for (std::size_t v = 0; v < variants.size(); ++v) {
    std::string body = driver;
    for (std::size_t k = sections.size(); k-- > 0;) {
      const ModuleText& module = modules[k * variants.size() + v];
      std::string section = vector_prelude(module.needs);
      if (!same_tables) section += module.tables;
      section += module.functions + RunFunction((*sections[k])[v], options).text();
      body.insert(0, driver.empty() ? section : apart(section, shared, fmt::format("s{}", k)));
    }
    body = apart(body, shared, std::to_string(v));
    text += fmt::format("\n#if TSR_LEAST <= {0} && TSR_MOST >= {0}\n", v);
    const std::string features = joined(variants[v].features, ",");
    const std::string other = v == 0 ? "#if !defined(__x86_64__)\n#elif defined(__clang__)\n" : "#ifdef __clang__\n";
    if (!features.empty())
      text += other + filled(section(detail::c_dispatch_text, "features"), {{"features", features}});
    if (exact) text += widest_vectors(features.find("avx512f") != std::string::npos ? 64 : features.empty() ? 16 : 32);
    text += body;
    if (!features.empty()) text += other + std::string(section(detail::c_dispatch_text, "no_features"));
    text += "#endif\n";
  }
  return text + dispatch(variants, name);
}

// The published file around it.
std::string print_file(const std::vector<const std::vector<Variant>*>& sections, const ir::Graph& graph,
                       const Signature& signature, const std::string& driver, const EntryOptions& options,
                       const rewrite::Lifted& lifted, bool direct) {
  check_entry_name(options.name);
  return published_head(signature, options.name) +
         print_variants(sections, driver, options, "tsr_all", struct_types(graph)) +
         published_entries(graph, signature, options.name, lifted, direct) + frame_end();
}

}  // namespace

std::string print_c_file(const std::vector<Variant>& variants, const EntryOptions& options) {
  const plan::Plan& plan = variants.front().plan;
  return print_file({&variants}, plan.interface(), signature_of(plan), "", options, plan.lifted, true);
}

std::string print_c_file(const ir::host::Program& program, const ir::Graph& graph,
                         const std::vector<std::vector<Variant>>& parts, const EntryOptions& options) {
  std::vector<const std::vector<Variant>*> all;
  std::vector<std::string> functions;
  for (const std::vector<Variant>& part : parts) {
    functions.push_back(fmt::format("tsr_run_s{}", all.size()));
    all.push_back(&part);
  }
  return print_file(all, graph, signature_of(graph),
                    print_host_program(program, graph, HostDialect::c, "tsr_run", functions), options, {}, false);
}

std::string print_c_part(const std::vector<Variant>& variants, const EntryOptions& options) {
  return print_variants({&variants}, "", options, options.name, "") + frame_end();
}

std::string print_c_header(const plan::Plan& plan, const EntryOptions& options) {
  check_entry_name(options.name);
  return published_header(plan.interface(), signature_of(plan), options.name);
}

std::string print_c_header(const ir::Graph& graph, const EntryOptions& options) {
  check_entry_name(options.name);
  return published_header(graph, signature_of(graph), options.name);
}

}  // namespace tessera::emit
