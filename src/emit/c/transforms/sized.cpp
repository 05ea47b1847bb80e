// See sized.hpp.
#include "emit/c/transforms/sized.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <type_traits>

#include "emit/c/frame.hpp"
#include "emit/c/parts.hpp"
#include "emit/c/prelude.hpp"
#include "emit/names.hpp"
#include "emit/tables.hpp"

namespace tessera::emit {

namespace detail {
extern const std::string_view transforms_host_text;
}

namespace {

using Place = fft::CorePlan::Place;
using Names = std::set<std::string, std::less<>>;

bool is_ours(std::string_view word) {
  return word.size() > 4 && word.starts_with("tsr_");
}

Names names_of(std::string_view text) {
  Names names;
  map_identifiers(text, [&](std::string_view word) {
    if (is_ours(word)) names.emplace(word);
    return std::string(word);
  });
  return names;
}

std::string_view real_of(ElementType type) {
  return type == ElementType::f64 ? "double" : "float";
}

// The text of a run and what refers to it, with names for one type of number.
class StepsNames {
 public:
  StepsNames() : steps_(names_of(fft::core_steps_text())) {
    for (const std::string_view common :
         {"tsr_host", "tsr_asks", "tsr_room", "tsr_no_room", "tsr_workers", "tsr_each", "tsr_word", "tsr_real"})
      steps_.erase(steps_.find(common));
  }
  std::string of_type(std::string_view text, std::string_view real) const {
    return map_identifiers(text, [&](std::string_view word) {
      if (word == "tsr_real") return std::string(real);
      return steps_.contains(word) ? fmt::format("tsr_sized_{}_{}", word.substr(4), real) : std::string(word);
    });
  }

 private:
  Names steps_;
};

// Tables of all plans, each once.
class Tables {
 public:
  std::string name_of(const std::vector<double>& numbers, std::string_view real) {
    const bool doubles = real == "double";
    std::vector<double> rounded = numbers;
    if (!doubles)
      for (double& x : rounded) x = static_cast<double>(static_cast<float>(x));
    const auto [at, fresh] = known_.try_emplace({doubles, std::move(rounded)}, known_.size());
    const std::string name = fmt::format("tsr_sized_table_{}", at->second);
    if (!fresh) return name;
    count_ += static_cast<i64>(numbers.size());
    check_transform_tables(count_);
    begin(fmt::format("static const {} {}[] = {{", real, name));
    for (std::size_t k = 0; k < numbers.size(); ++k)
      text_ += fmt::format("{}{:.{}g}", separator(k), at->first.second[k], doubles ? 17 : 9);
    text_ += "};\n";
    return name;
  }
  std::string name_of(const std::vector<i64>& list) {
    const std::string name = fmt::format("tsr_sized_places_{}", places_++);
    begin(fmt::format("static const i64 {}[] = {{", name));
    for (std::size_t k = 0; k < list.size(); ++k) text_ += fmt::format("{}{}", separator(k), list[k]);
    text_ += "};\n";
    return name;
  }
  const std::string& text() const { return text_; }

 private:
  static const char* separator(std::size_t k) { return k == 0 ? "" : k % 8 == 0 ? ",\n" : ", "; }
  void begin(const std::string& head) { text_ += head; }

  std::map<std::pair<bool, std::vector<double>>, std::size_t> known_;
  std::size_t places_ = 0;
  i64 count_ = 0;
  std::string text_;
};

// The structures of one plan: `suffix` tells its names from those of others.
class PlanText {
 public:
  PlanText(const fft::CorePlan& plan, Tables& tables, std::string suffix)
      : plan_(plan), suffix_(std::move(suffix)), real_(real_of(plan.type)) {
    for (const auto& table : plan.tables) tables_.push_back(tables.name_of(table, real_));
    for (const auto& list : plan.places) places_.push_back(tables.name_of(list));
  }

  std::string text() const {
    std::string passes, trees, ends, lines, problems, turned;
    i64 pass = 0;
    for (const auto& tree : plan_.trees) {
      add(trees, of(tree, pass));
      for (const auto& one : tree.passes) add(passes, of(one));
      pass += static_cast<i64>(tree.passes.size());
    }
    for (const auto& one : plan_.ends) add(ends, of(one));
    for (const auto& one : plan_.lines) add(lines, of(one));
    for (const auto& one : plan_.problems) add(problems, of(one));
    for (const auto& one : plan_.spectrum.turned)
      add(turned, list(one.before, one.n, one.behind, at("problems", one.problem)));
    return array("pass", "passes", passes) + array("tree", "trees", trees) + array("ends", "ends", ends) +
           array("line", "lines", lines) + array("problem", "problems", problems) + array("turned", "turned", turned) +
           array("spectrum", "spectrum", "  {" + of(plan_.spectrum, !turned.empty()) + "}");
  }

 private:
  // Fields of a structure, in order.
  template <class... Fields>
  static std::string list(const Fields&... fields) {
    std::string text;
    const auto one = [&](const auto& field) {
      if (!text.empty()) text += ", ";
      if constexpr (std::is_same_v<std::decay_t<decltype(field)>, bool>)
        text += field ? "1" : "0";
      else if constexpr (std::is_enum_v<std::decay_t<decltype(field)>>)
        text += std::to_string(static_cast<int>(field));
      else
        text += fmt::format("{}", field);
    };
    (one(fields), ...);
    return text;
  }
  static void add(std::string& all, const std::string& one) { all += (all.empty() ? "  {" : ",\n  {") + one + "}"; }
  std::string array(const std::string& type, const std::string& name, const std::string& all) const {
    return all.empty() ? "" : fmt::format("static const tsr_{} {}[] = {{\n{}}};\n", type, named(name), all);
  }
  std::string named(const std::string& list) const { return fmt::format("tsr_sized_{}_{}", list, suffix_); }
  std::string at(const char* list, Place place) const {
    return place ? fmt::format("{} + {}", named(list), *place) : "0";
  }
  std::string table(Place place) const { return place ? tables_[*place] : "0"; }
  std::string places(Place place) const { return place ? places_[*place] : "0"; }
  std::string code(const char* type, Place place) const {
    if (!place) return "0";
    return fmt::format("({})tsr_sized_{}_{}_{}", type, fft::name_of(plan_.codes[*place]), real_,
                       plan_.lanes * static_cast<i64>(size_of(plan_.type)));
  }
  static std::string extents(const fft::CorePlan::Extents& all) {
    return fmt::format("{{{}, {}, {}, {}, {}, {}, {}, {}}}", all[0], all[1], all[2], all[3], all[4], all[5], all[6],
                       all[7]);
  }

  std::string of(const fft::CorePlan::SequencePass& p) const {
    const fft::PassArguments& a = p.arguments;
    return list(code("tsr_pass_code", p.code),
                "{" +
                    list(a.outer, a.inner, a.from_outer, a.from_inner, a.from_leg, a.to_outer, a.to_inner, a.to_leg,
                         a.w_outer, a.w_inner, a.w_leg, a.radix, 0) +
                    "}",
                table(p.odd), p.twiddles, p.parts, p.from_part, p.to_part);
  }
  std::string of(const fft::CorePlan::Tree& t, i64 first_pass) const {
    constexpr auto type = "tsr_pass_code";
    return list(t.kind, t.n, plan_.lanes, t.scratch, t.passes.size(),
                t.passes.empty() ? "0" : at("passes", static_cast<std::size_t>(first_pass)), at("trees", t.first),
                at("trees", t.second), code(type, t.in), code(type, t.multiply), code(type, t.turn), code(type, t.out),
                table(t.twiddles), table(t.spectrum), places(t.input), places(t.output));
  }
  std::string of(const fft::CorePlan::Ends& e) const {
    return list(e.n, plan_.lanes, e.rows, e.points, e.re_at, e.from, e.to, fmt::format("({}){:.17g}", real_, e.scale),
                code("tsr_in_code", e.in), code("tsr_out_code", e.out));
  }
  std::string of(const fft::CorePlan::Line& l) const {
    return list(l.chirp, l.n, l.a, l.b, plan_.lanes, l.inverse, l.m, at("trees", l.first), at("trees", l.second),
                at("ends", l.blocks), code("tsr_in_code", l.turn), table(l.within), table(l.between),
                at("lines", l.line), table(l.in), table(l.out), table(l.spectrum));
  }
  std::string of(const fft::CorePlan::PlannedProblem& d) const {
    return list(d.kind, d.from_numbers, d.to_numbers, d.inverse, plan_.lanes, d.batch, d.rank, d.count,
                extents(d.extents), extents(d.from_strides), extents(d.to_strides), at("ends", d.ends),
                at("trees", d.x), at("trees", d.y), at("trees", d.outer), at("trees", d.outer_far), d.columns, d.blocks,
                d.pitch, d.plane, d.volume, d.together, d.columns_first, d.by_planes, at("lines", d.line), d.halved,
                table(d.turns));
  }
  std::string of(const fft::CorePlan::Spectrum& s, bool turned) const {
    return list(s.kind, s.rank, s.along, s.inverse, s.from_numbers, s.to_numbers, extents(s.shape),
                extents(s.from_strides), extents(s.to_strides), at("problems", s.problem), s.turned.size(),
                turned ? named("turned") : std::string("0"));
  }

  const fft::CorePlan& plan_;
  const std::string suffix_;
  const std::string_view real_;
  std::vector<std::string> tables_, places_;
};

i64 width_of(const fft::CorePlan& plan) {
  return plan.lanes * static_cast<i64>(size_of(plan.type));
}

// Passes and moves of all plans of one type and one width, each once.
std::string codes_text(const std::vector<SizedOnCores>& sized, ElementType type, i64 width, const Names& shared) {
  ir::nest::Module module;
  std::set<std::string> known;
  const ir::nest::Lane lane = ir::nest::lane_of(type);
  for (const SizedOnCores& one : sized)
    for (const fft::CorePlan& plan : one.plans) {
      if (plan.type != type || width_of(plan) != width) continue;
      for (const fft::Code& code : plan.codes) {
        if (!known.insert(fft::name_of(code)).second) continue;
        ir::nest::Module written = fft::module_of(code, {lane, static_cast<int>(plan.lanes), false});
        for (ir::nest::Function& function : written.functions) {
          function.name = fmt::format("tsr_sized_{}_{}_{}", function.name, real_of(type), width);
          function.local = true;
          module.functions.push_back(std::move(function));
        }
      }
    }
  const ModuleText text = module_text(module);
  // Helpers of vectors are those of one width: tsr_##x##_f32x8 is pasted together.
  return map_identifiers(vector_prelude(text.needs) + text.functions, [&](std::string_view word) {
    const bool pasted = word.starts_with("_f32") || word.starts_with("_f64");
    if ((!is_ours(word) && !pasted) || shared.contains(word) || word.starts_with("tsr_sized_"))
      return std::string(word);
    return fmt::format("{}_{}_{}", word, real_of(type), width);
  });
}

// The transform, by the vectors that the machine has.
std::string function_text(const SizedOnCores& one) {
  const std::string_view real = real_of(one.plans.front().type);
  const auto run = [&](const fft::CorePlan& plan) {
    return fmt::format(
        "return (i32)tsr_run_spectrum(call, tsr_sized_spectrum_{}_{}, (const tsr_real*)from, (tsr_real*)to);\n",
        one.transform, width_of(plan));
  };
  std::string text = fmt::format(
      "static TSR_FP i32 {}(tessera_call* call, const void* from, void* to) {{\n{}  const i32 vector = "
      "tsr_vector_{}();\n",
      sized_function_name(one), machine_begin(), real);
  for (std::size_t k = one.plans.size(); k-- > 1;)
    text += fmt::format("  if (vector == {}) {}", width_of(one.plans[k]), run(one.plans[k]));
  return text + "#endif\n  " + run(one.plans.front()) + "}\n";
}

}  // namespace

std::string sized_function_name(const SizedOnCores& one) {
  return fmt::format("tsr_sized_{}", one.transform);
}

std::string sized_text(const std::vector<SizedOnCores>& sized) {
  if (sized.empty()) return "";
  const Names shared = names_of(scalar_prelude({}) + call_text());
  const StepsNames names;
  std::string text = std::string("\n/* ---- transforms of known extents ---- */\n\n") +
                     "#define TSR_PASS TSR_HELPER\n" + std::string(detail::transforms_host_text);
  Tables tables;
  std::string of_types;
  for (const ElementType type : {ElementType::f32, ElementType::f64}) {
    std::set<i64> widths;
    std::string plans, functions, wide_plans;
    for (const SizedOnCores& one : sized) {
      if (one.plans.front().type != type) continue;
      for (std::size_t k = 0; k < one.plans.size(); ++k) {
        const i64 width = width_of(one.plans[k]);
        widths.insert(width);
        (k == 0 ? plans : wide_plans) +=
            PlanText(one.plans[k], tables, fmt::format("{}_{}", one.transform, width)).text();
      }
      functions += function_text(one);
    }
    if (widths.empty()) continue;
    std::string codes = contracted(codes_text(sized, type, *widths.begin(), shared));
    std::string wide;
    for (auto width = std::next(widths.begin()); width != widths.end(); ++width)
      wide += for_machine(static_cast<int>(*width), contracted(codes_text(sized, type, *width, shared)));
    std::string all = fft::core_steps_text() + plans;
    if (!wide.empty()) all += machine_begin() + wide_plans + "#endif\n";
    of_types += codes + (wide.empty() ? "" : machine_begin() + wide + "#endif\n") +
                names.of_type(all + functions, real_of(type));
  }
  return text + tables.text() + of_types;
}

}  // namespace tessera::emit
