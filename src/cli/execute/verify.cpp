// Comparing goes through doubles, which hold every value of every element type exactly. Each point has an allowance of
// its own, so that a large number somewhere excuses nothing elsewhere.
//
// A difference of `fast` numbers is a fault, but where the program itself decides by a last bit: then the same run in
// exact numbers, which have to agree, tells the one from the other.
#include "cli/execute/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <optional>
#include <random>
#include <unordered_map>

#include "base/progress.hpp"
#include "base/text.hpp"
#include "cli/execute/convert.hpp"
#include "cli/tell.hpp"
#include "data/element.hpp"
#include "engine/program_impl.hpp"
#include "io/image.hpp"
#include "ir/bind.hpp"
#include "ir/graph.hpp"
#include "ref/points.hpp"
#include "ref/sizes.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {
namespace {

// Evaluations of an operation, some 50 to 100 nanoseconds each, beyond which windows are compared.
constexpr double most_work = 1e9;
constexpr int most_windows = 64, least_windows = 6;
constexpr double most_seconds = 20;

bool has_float(const ir::Graph& graph, const ir::Stage& stage) {
  bool found = is_float(stage.type);
  if (stage.kind == ir::StageKind::point)
    for (ir::ExprId e : ir::postorder(graph, {stage.body})) found = found || is_float(graph.node(e).type);
  return found;
}

bool is_transform(const ir::Graph&, const ir::Stage& stage) {
  return stage.kind == ir::StageKind::fourier;
}

// Per output: is there such a stage anywhere on the way to it?
std::vector<bool> come_of(const ir::Graph& graph, bool (*such)(const ir::Graph&, const ir::Stage&)) {
  std::vector<bool> stages;
  for (ir::StageId s = 0; s < graph.stage_count(); ++s) {
    const ir::Stage& stage = graph.stage(s);
    bool found = such(graph, stage);
    for (ir::StageId source : ir::sources(graph, s)) found = found || stages[source];
    stages.push_back(found);
  }
  std::vector<bool> outputs;
  for (const ir::Output& output : graph.outputs)
    outputs.push_back(
        std::any_of(output.stages.begin(), output.stages.end(), [&](ir::StageId s) { return stages[s]; }));
  return outputs;
}

i64 terms_of(const ir::Graph& graph, const ir::Var& v, const std::vector<i64>& parameters) {
  return v.end == ir::SizeId{} ? v.hi - v.lo + 1 : std::max<i64>(1, graph.evaluate(v.end, parameters));
}

// The most terms that are added one after the other in float: not those of tiles of transforms, which `apart` says.
i64 longest_sum(const ir::Graph& graph, const std::vector<i64>& parameters,
                const std::function<bool(ir::StageId)>& apart) {
  i64 longest = 1;
  for (ir::StageId s = 0; s < graph.stage_count(); ++s) {
    const ir::Stage& stage = graph.stage(s);
    if (stage.kind != ir::StageKind::point || apart(s)) continue;
    std::unordered_map<std::uint32_t, i64> terms;
    for (const ir::ExprId e : ir::postorder(graph, {stage.body})) {
      const ir::ExprNode& n = graph.node(e);
      i64& own = terms[e.id] = 1;
      for (const ir::ExprId a : n.args) own = std::max(own, terms.at(a.id));
      if (n.op == ir::Op::reduce_sum && n.type == ElementType::f32)
        for (const ir::Var& v : n.vars) own *= terms_of(graph, v, parameters);
      longest = std::max(longest, own);
    }
  }
  return longest;
}

// Of the plan by which the program runs.
i64 longest_sum(const Program::Impl& impl, const std::vector<i64>& parameters, const RunOptions& options) {
  if (options.method == Method::whole) return 1;
  if (impl.host) return longest_sum(impl.graph, parameters, [](ir::StageId) { return false; });
  const auto of_plan = [&](const auto& plan) {
    return longest_sum(plan.graph, parameters,
                       [&](ir::StageId s) { return plan.graph.stage(s).note > 0 && !plan.tiling(s).contraction; });
  };
  if (options.target == "cuda" || options.target == "opencl")
    return of_plan(impl.on_device(options, parameters)->plan());
  return of_plan(engine::cpu_plan(impl.graph, options));
}

bool all_integer(const Format& f) {
  if (!f.is_struct()) return !is_float(f.scalar);
  return std::none_of(f.fields.begin(), f.fields.end(), [](const auto& field) { return is_float(field.type); });
}

// ---- the program ----------------------------------------------------------------------------------------------------

template <class Such>
bool any_node(const ir::Graph& graph, const Such& such) {
  for (ir::StageId s = 0; s < graph.stage_count(); ++s) {
    if (graph.stage(s).kind != ir::StageKind::point) continue;
    for (const ir::ExprId e : ir::postorder(graph, {graph.stage(s).body}))
      if (such(graph.node(e))) return true;
  }
  return false;
}

// Does a last bit of a float decide what is computed: compared, made whole, an index, the end of a loop?
bool decides(const ir::Graph& graph) {
  using ir::Op;
  if (!graph.loops.empty()) return true;
  return any_node(graph, [&](const ir::ExprNode& n) {
    const bool of_floats = !n.args.empty() && is_float(graph.node(n.args.back()).type);
    const bool whole = n.op == Op::floor || n.op == Op::ceil || n.op == Op::round || n.op == Op::trunc;
    return whole || n.op == Op::gather || n.op == Op::select || n.op == Op::reduce_pick ||
           (of_floats && !is_float(n.type) && !ir::is_into(n.op));
  });
}

bool takes_extremes(const ir::Graph& graph) {
  using ir::Op;
  return any_node(graph, [](const ir::ExprNode& n) {
    return is_float(n.type) && (n.op == Op::min || n.op == Op::max || n.op == Op::reduce_min ||
                                n.op == Op::reduce_max || n.op == Op::reduce_median || n.op == Op::reduce_rank);
  });
}

double work_of(const ir::Graph& graph, const std::vector<i64>& parameters) {
  double work = 0;
  for (ir::StageId s = 0; s < graph.stage_count(); ++s) {
    const ir::Stage& stage = graph.stage(s);
    if (stage.kind != ir::StageKind::point) continue;
    double points = 1, operations = 0;
    for (const ir::SizeId n : stage.domain) points *= static_cast<double>(graph.evaluate(n, parameters));
    for (const ir::ExprId e : ir::postorder(graph, {stage.body})) {
      double times = 1;
      for (const ir::Var& v : graph.node(e).vars) times *= static_cast<double>(terms_of(graph, v, parameters));
      operations += 4 * times - 3;  // a term is some operations
    }
    work += points * operations;
  }
  return work;
}

// ---- comparing ------------------------------------------------------------------------------------------------------

struct Rule {
  bool inexact = false;     // else nothing is allowed
  bool integer = false;     // 1, else
  bool everywhere = false;  // as much as where most is
  double value = 0;         // the largest one; where there are transforms, of the inputs as well
  double of_sums = 0;

  double allowed(double size, double largest_size) const {
    if (!inexact) return 0;
    if (integer) return 1;
    const double own = everywhere ? largest_size : size, of_value = 1e-4 * value;
    if (!std::isfinite(own)) return std::max(of_value, of_sums * value);
    return std::max(std::clamp(of_value, 0x1p-22 * own, ref::promised * own), of_sums * own);
  }
};

// An output, of all lanes.
struct Compared {
  std::vector<double> got, wanted, size;
  std::vector<std::vector<i64>> at;  // of windows
};

struct Outcome {
  // Of the value where the difference over what is allowed is largest; without any difference the least allowance.
  double difference = 0, allowed = 0;
  i64 values = 0, unlike = 0, free = 0;
  i64 differ = 0, wrong = 0;  // without those that are free; of them those by more than is allowed
  bool bounded = true;        // what differs by too much has a finite size
};

// "agrees with the interpreter; 5 of 192 values differ, none by more than is allowed there (closest: ...)"
std::string described(const Outcome& o, const Rule& rule) {
  if (o.differ == 0) {
    const bool least = rule.inexact && !rule.integer && !rule.everywhere;
    return fmt::format("agrees with the interpreter; none of {} values differs, {:.3g}{} is allowed", o.values,
                       o.allowed, least ? " or more" : "");
  }
  const std::string pair = fmt::format("by {:.3g} where {:.3g} is allowed", o.difference, o.allowed);
  return fmt::format("{} the interpreter; {} of {} values {}, {} by more than is allowed there ({}: {})",
                     o.wrong == 0 ? "agrees with" : "DIFFERS from", o.differ, o.values,
                     o.differ == 1 ? "differs" : "differ", o.wrong == 0 ? "none" : std::to_string(o.wrong),
                     o.wrong == 0 ? "closest" : "worst", pair);
}

Outcome judge(const Compared& c, const Rule& rule, bool extremes) {
  Outcome o;
  o.values = static_cast<i64>(c.got.size());
  double largest_size = 0, least_allowed = INFINITY, worst = -1;
  if (rule.everywhere)
    for (const double s : c.size) largest_size = std::max(largest_size, s);
  for (std::size_t i = 0; i < c.got.size(); ++i) {
    const double u = c.got[i], v = c.wanted[i], allowed = rule.allowed(c.size[i], largest_size);
    least_allowed = std::min(least_allowed, allowed);
    if (u == v || (std::isnan(u) && std::isnan(v))) continue;
    if (!std::isfinite(u) || !std::isfinite(v)) ++o.unlike;
    // Of a NaN and a number either may be the least and the largest value, in `fast` numbers.
    if (extremes && std::isnan(u) != std::isnan(v)) {
      ++o.free;
      continue;
    }
    ++o.differ;
    const double distance = std::abs(u - v), difference = std::isnan(distance) ? INFINITY : distance;
    if (difference > allowed) {
      ++o.wrong;
      o.bounded = o.bounded && std::isfinite(c.size[i]);
    }
    const double part = allowed > 0 ? difference / allowed : INFINITY;
    if (part > worst || (part == worst && difference > o.difference))
      worst = part, o.difference = difference, o.allowed = allowed;
  }
  if (worst < 0) o.allowed = c.got.empty() ? 0 : least_allowed;
  return o;
}

class Verification {
 public:
  Verification(const Program& program, const Lanes& lanes, const RunOptions& options, const VerifyOptions& how)
      : program_(program), impl_(program.impl()), lanes_(lanes), options_(options), how_(how) {
    for (const std::vector<Array>& given : lanes.inputs) {
      std::vector<Array> arrays = impl_.prepare(given);
      std::vector<Shape> shapes;
      for (Array& a : arrays) a = a.to_host(), shapes.push_back(a.shape());
      parameters_.push_back(ir::bind_parameters(impl_.graph, shapes));
      inputs_.push_back(std::move(arrays));
    }
    const bool possible = ref::Points::possible(impl_.graph);
    sampled_ = how.points == VerifyOptions::Points::sampled;
    if (sampled_ && !possible)
      throw Error(ErrorClass::argument,
                  "--verify sampled cannot be used: the program transforms, reduces or repeats whole images", {},
                  "--verify compares all points");
    double work = 0;
    for (const std::vector<i64>& p : parameters_) work += work_of(impl_.graph, p);
    if (how.points != VerifyOptions::Points::automatic || work <= most_work || !possible) return;
    sampled_ = true;
    tell(
        "note: all points would take the interpreter some {:.2g} minutes, windows of the results are compared; "
        "--verify all compares all\n",
        work * 80e-9 / 60);
  }

  Verdict all(const std::vector<std::vector<Array>>& results) {
    bool good = true, bounded = true, wrong = false;
    const std::vector<Outcome> found = compare(results, options_.numbers, true);
    for (const Outcome& o : found) {
      wrong |= o.wrong > 0;
      bounded &= o.bounded;
    }
    good = !wrong;
    if (good) return Verdict::agrees;
    if (options_.numbers == Numbers::exact) return Verdict::differs;
    if (!agrees_exactly()) {
      fmt::print("verify: exact numbers differ as well\n");
      return Verdict::differs;
    }
    if (decides(impl_.graph) || !bounded) {
      fmt::print(
          "verify: in exact numbers it agrees: the program amplifies rounding (it compares, rounds or divides by next "
          "to nothing), which fast numbers leave open\n");
      return Verdict::amplifies;
    }
    fmt::print("verify: in exact numbers it agrees; the fast ones are farther from it than they may be\n");
    return Verdict::differs;
  }

 private:
  std::vector<Outcome> compare(const std::vector<std::vector<Array>>& results, Numbers numbers, bool print) {
    const auto& outputs = program_.outputs();
    const bool fast = numbers == Numbers::fast;
    const std::vector<Compared> compared = evaluated(results, fast ? ref::Rounding::once : ref::Rounding::each);
    const std::vector<bool> of_floats = come_of(impl_.graph, has_float),
                            of_transforms = come_of(impl_.graph, is_transform);
    RunOptions options = options_;
    options.numbers = numbers;
    const double of_sums = static_cast<double>(longest_sum(impl_, parameters_.front(), options)) * 0x1p-25;
    // A transform is exact to so much of the largest number that it saw.
    double largest = 0;
    for (const std::vector<Array>& arrays : inputs_)
      for (const Array& a : arrays) largest = std::max(largest, largest_of(a));
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (of_transforms[i]) largest = std::max(largest, largest_in(compared[i].wanted));
    const bool extremes = fast && takes_extremes(impl_.graph);
    std::vector<Outcome> found;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      Rule rule;
      rule.inexact = of_transforms[i] || (fast && of_floats[i]);
      rule.integer = all_integer(outputs[i].format);
      rule.everywhere = options_.method == Method::whole;
      rule.value = of_transforms[i] ? largest : largest_in(compared[i].wanted);
      rule.of_sums = of_sums;
      found.push_back(judge(compared[i], rule, extremes));
      if (!print) continue;
      const Outcome& o = found.back();
      const std::string name = outputs[i].name.empty() ? fmt::format("output {}", i + 1) : outputs[i].name;
      fmt::print("verify {}: {}\n", name, described(o, rule));
      if (o.unlike > 0)
        fmt::print("verify {}: at {} points one of the two is NaN or infinite, and the other differs{}\n", name,
                   o.unlike, o.free > 0 ? "; which of a number and NaN is less, fast numbers leave open" : "");
    }
    return found;
  }

  bool agrees_exactly() {
    RunOptions exact = options_;
    exact.numbers = Numbers::exact;
    exact.method = Method::automatic;
    exact.on_progress = nullptr;
    exact.on_loop_end = nullptr;
    std::vector<std::vector<Array>> results;
    for (const std::vector<Array>& inputs : lanes_.inputs) results.push_back(program_.run(inputs, exact));
    const std::vector<Outcome> found = compare(results, Numbers::exact, false);
    return std::all_of(found.begin(), found.end(), [](const Outcome& o) { return o.wrong == 0; });
  }

  static double largest_in(const std::vector<double>& values) {
    double largest = 0;
    for (const double v : values)
      if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
    return largest;
  }
  static double largest_of(const Array& array) {
    double largest = 0;
    for (const Array& plane : io::as_planes(array)) {
      i64 lost = 0;
      const Array x = in_type(plane, ElementType::f64, lost);
      for (i64 i = 0; i < x.count(); ++i)
        if (std::isfinite(x.as<double>()[i])) largest = std::max(largest, std::abs(x.as<double>()[i]));
    }
    return largest;
  }

  std::vector<Compared> evaluated(const std::vector<std::vector<Array>>& results, ref::Rounding of_sums) {
    std::vector<Compared> all(program_.outputs().size());
    for (std::size_t c = 0; c < inputs_.size(); ++c) {
      const std::string lane = lanes_.channels.empty() ? "" : " " + lanes_.channels[c];
      sampled_ ? windows(results[c], c, of_sums, lane, all) : whole(results[c], c, of_sums, lane, all);
    }
    return all;
  }

  void whole(const std::vector<Array>& results, std::size_t c, ref::Rounding of_sums, const std::string& lane,
             std::vector<Compared>& all) {
    std::optional<base::ProgressBar> bar;
    const auto progress = [&](i64 done, i64 total) {
      if (how_.quiet) return;
      if (options_.cancel != nullptr && *options_.cancel) throw Error(ErrorClass::cancelled, "interrupted");
      if (!bar) bar.emplace("verifying" + lane, total);
      bar->update(done);
    };
    const ref::Sized sized = ref::interpret_sized(impl_.graph, parameters_[c], inputs_[c], of_sums, progress);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto got = io::as_planes(results[i].to_host()), wanted = io::as_planes(sized.values[i]);
      for (std::size_t f = 0; f < got.size(); ++f) {
        i64 lost = 0;
        const Array x = in_type(got[f], ElementType::f64, lost), y = in_type(wanted[f], ElementType::f64, lost);
        all[i].got.insert(all[i].got.end(), x.as<double>(), x.as<double>() + x.count());
        all[i].wanted.insert(all[i].wanted.end(), y.as<double>(), y.as<double>() + y.count());
        all[i].size.insert(all[i].size.end(), sized.sizes[i][f].begin(), sized.sizes[i][f].end());
      }
    }
  }

  // Some at the corners, the others anywhere; of all fields.
  void windows(const std::vector<Array>& results, std::size_t c, ref::Rounding of_sums, const std::string& lane,
               std::vector<Compared>& all) {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    ref::Points points(impl_.graph, parameters_[c], inputs_[c], of_sums);
    std::mt19937_64 random(how_.seed);
    std::optional<base::ProgressBar> bar;
    if (!how_.quiet) bar.emplace("verifying windows" + lane, most_windows);
    int k = 0;
    for (; k < most_windows; ++k) {
      if (k >= least_windows && std::chrono::duration<double>(Clock::now() - start).count() > most_seconds) break;
      if (options_.cancel != nullptr && *options_.cancel) throw Error(ErrorClass::cancelled, "interrupted");
      for (std::size_t i = 0; i < all.size(); ++i) {
        const ir::Output& output = impl_.graph.outputs[i];
        const Array result = results[i].to_host();
        std::vector<i64> from, to;
        for (std::size_t d = 0; d < result.shape().size(); ++d) {
          static constexpr i64 sides[] = {256, 16, 6, 4};
          const i64 n = result.shape()[d],
                    side = std::min(n, sides[std::min<std::size_t>(result.shape().size(), 4) - 1]);
          const i64 room = n - side;
          const bool corner = k < 4;
          from.push_back(corner ? ((k >> (d % 2)) & 1) * room
                                : static_cast<i64>(random() % static_cast<std::uint64_t>(room + 1)));
          to.push_back(from.back() + side);
        }
        if (result.count() > 0) window(points, output, result, from, to, all[i]);
      }
      points.forget();
      if (bar) bar->update(k + 1);
    }
    fmt::print("verify{}: {} windows of the results are compared, --verify sampled:{} repeats them\n", lane, k,
               how_.seed);
  }

  static void window(const ref::Points& points, const ir::Output& output, const Array& result,
                     const std::vector<i64>& from, const std::vector<i64>& to, Compared& all) {
    std::vector<i64> at = from;
    for (;;) {
      for (std::size_t f = 0; f < output.stages.size(); ++f) {
        const Format& format = output.format;
        const ElementType type = format.is_struct() ? format.fields[f].type : format.scalar;
        const std::byte* p = result.at(at) + (format.is_struct() ? format.fields[f].offset : 0);
        const auto [value, size] = points.at(output.stages[f], at);
        std::byte stored[8];
        store_element(type, stored, value);
        all.got.push_back(load_element(type, p));
        all.wanted.push_back(load_element(type, stored));
        all.size.push_back(size);
      }
      std::size_t d = at.size();
      for (; d > 0 && ++at[d - 1] == to[d - 1]; --d) at[d - 1] = from[d - 1];
      if (d == 0) return;
    }
  }

  const Program& program_;
  const Program::Impl& impl_;
  const Lanes& lanes_;
  const RunOptions& options_;
  const VerifyOptions how_;
  bool sampled_ = false;
  std::vector<std::vector<i64>> parameters_;  // by lane
  std::vector<std::vector<Array>> inputs_;
};

}  // namespace

VerifyOptions parse_verify(const std::string& text) {
  VerifyOptions how;
  how.seed = static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()) % 1'000'000;
  if (text == "true") return how;
  if (text == "all") {
    how.points = VerifyOptions::Points::all;
    return how;
  }
  how.points = VerifyOptions::Points::sampled;
  if (text == "sampled") return how;
  const std::string prefix = "sampled:";
  const auto seed = text.starts_with(prefix) ? base::parse_number(text.substr(prefix.size())) : std::nullopt;
  if (!seed || *seed < 0 || *seed > 1e15 || *seed != std::floor(*seed))
    throw Error(ErrorClass::argument,
                fmt::format("--verify {} cannot be used, expected all, sampled or sampled:SEED", base::quoted(text)));
  how.seed = static_cast<std::uint64_t>(*seed);
  return how;
}

Verdict verify(const Program& program, const Lanes& lanes, const std::vector<std::vector<Array>>& results,
               const RunOptions& options, const VerifyOptions& how) {
  return Verification(program, lanes, options, how).all(results);
}

}  // namespace tessera::cli
