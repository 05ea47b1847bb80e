// Windows that reduce a function of images: sums of squares for a variance, of products for a correlation, of an image
// under a mask, the greatest difference of two images.
//
// As it is written, sum(i, j) (X@[i,j] * Y@[i,j]) is no weighted sum of an image, and none of the ways to take one
// applies. With a stage p = X * Y it is: 15 x 15 of 3840 x 2160 floats took 61 ms and take 19. So for every such window
// the stage is proposed, the ways are asked whether they would take its sum, and where one does the stage stays.
// Whether it is stored or computed where it is read is for the folding of stages to say (fold.cpp), as for any other.
//
// Borders. The border of an access belongs to its image, that of the new stage to what it computes. They are the same
// where everything is read at one point and continued alike: f(X, Y) at the mapped index is f at the mapped index. What
// is continued by a constant is f of the constants. A stage that is periodic when its images are may read them at other
// distances too (X * X@[0,1]), and one that is read inside alone has margins. Elsewhere the stage begins where the
// first window does and ends behind the last, and applies the images' own borders itself: it is never read outside.
#include "rewrite/sums/products.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>

#include "analyze/expressions.hpp"
#include "analyze/footprint.hpp"
#include "analyze/ranges.hpp"
#include "ir/build.hpp"
#include "rewrite/rebuild.hpp"
#include "rewrite/sums/bytes.hpp"
#include "rewrite/sums/matrix.hpp"
#include "rewrite/sums/separable.hpp"
#include "rewrite/sums/terms.hpp"
#include "rewrite/sums/tiles/tiles.hpp"

namespace tessera::rewrite {

using ir::ExprId;
using ir::ExprNode;
using ir::Graph;
using ir::Op;
using ir::Stage;
using ir::StageId;

namespace {

constexpr double block_rows = 4;    // rows of a register block that the price assumes
constexpr i64 worth_a_remark = 26;  // terms
// Of a stage that extends beyond its images, which are stored for it, and of a device that stores it as well.
constexpr i64 least_stored_terms = 16, least_terms_of_device = 49;
constexpr double least_dear = 4;  // instructions: a product hides behind the sum that takes it
constexpr int most_ranges = 64;   // that are looked for: each looks at the whole graph

// Whether the ways to take a weighted sum would take this one; what they do to find out is thrown away.
class Ways {
 public:
  Ways(Graph& graph, Numbers numbers, Method method, const machine::Machine& device, const std::vector<i64>& assumed)
      : graph_(graph),
        separable_(graph, numbers, method, device, assumed, choices_),
        bytes_(graph, method, device),
        matrices_(graph, method, device, assumed, choices_, tilings_),
        transforms_(graph, numbers, method, device, assumed, choices_, tilings_) {}

  bool take(const Stage& stage, ExprId sum) {
    auto [known, fresh] = known_.try_emplace({sum.id, stage.domain}, false);
    if (!fresh) return known->second;
    Stage part;
    part.name = stage.name;
    part.type = graph_.node(sum).type;
    part.domain = stage.domain;
    part.margin_lo = stage.margin_lo;
    part.margin_hi = stage.margin_hi;
    part.body = sum;
    choices_.clear();
    std::vector<std::string> remarks;
    matrices_.take(part, true, remarks);
    if (!is_taken(part, sum)) transforms_.take(part, true, remarks);
    if (!is_taken(part, sum)) bytes_.take(part, true, remarks);
    if (!is_taken(part, sum)) part.body = separable_.split(part, remarks);
    return known->second = is_taken(part, sum);
  }

 private:
  static bool is_taken(const Stage& part, ExprId sum) { return part.note > 0 || part.body != sum; }

  Graph& graph_;
  std::vector<SumChoice> choices_;
  Tilings tilings_;
  SeparableSums separable_;
  ByteSums bytes_;
  MatrixSums matrices_;
  TransformedSums transforms_;
  std::map<std::pair<std::uint32_t, std::vector<ir::SizeId>>, bool> known_;
};

// A function of images, as a stage that may be.
struct Candidate {
  ExprId point;
  ElementType type = ElementType::f32;
  // Over all places where the consumer reads it, per dimension of the images.
  std::vector<i64> lo, hi;
  std::vector<bool> unscaled;
  // The stage.
  bool possible = false, stored = false;
  StageId stage = 0;
  std::vector<Border> border;
  std::vector<i64> begin;  // its first index, that of the images being 0
};

// How all images of a function are continued in one dimension, and how far from each other they are read.
struct Continued {
  std::optional<ir::SizeId> extent;
  std::optional<Border> border;
  bool one_extent = true, one_mode = true, everywhere = true, some_none = false, some_constant = false;
  i64 lo = 0, hi = 0;
  bool at_one_point() const { return lo == 0 && hi == 0; }
};

class ProductPass {
 public:
  ProductPass(Graph& graph, Numbers numbers, Method method, const machine::Machine& device,
              const std::vector<i64>& assumed, std::vector<std::string>& remarks)
      : graph_(graph),
        numbers_(numbers),
        method_(method),
        device_(device),
        remarks_(remarks),
        ways_(graph, numbers, method, device, assumed),
        rebuild_(graph) {}

  void run() {
    for (StageId s = 0; s < rebuild_.old().size(); ++s) {
      Stage stage = rebuild_.carry(rebuild_.old(s));
      if (stage.kind == ir::StageKind::point && stage.note == 0) stage.body = named(stage);
      rebuild_.set(s, graph_.add(std::move(stage)));
    }
    rebuild_.finish();
  }

 private:
  ExprId named(const Stage& stage) {
    TermReader reader(graph_, numbers_, stage.body);
    std::vector<WindowSum> sums = reader.sums();
    if (sums.empty()) return stage.body;
    current_ = &stage;
    candidates_.clear();
    for (const WindowSum& sum : sums) look_at(sum);
    for (auto& [id, candidate] : candidates_) make(candidate);
    std::unordered_map<std::uint32_t, std::vector<Part>> windows;
    std::unordered_map<std::uint32_t, const WindowSum*> chains;
    std::set<StageId> used;
    for (const WindowSum& sum : sums) {
      const bool reordered = sum.op == Op::reduce_sum && reader.may_reorder(graph_.node(sum.root).type);
      if (sum.vars.empty())
        chains[sum.root.id] = &sum;
      else if (std::vector<Part> parts = window(sum, reordered, used); !parts.empty())
        windows[sum.root.id] = std::move(parts);
    }
    ir::RewriteMemo memo;
    const ExprId body = ir::rewrite(
        graph_, stage.body,
        [&](ExprId old, const ExprNode&) {
          if (const auto it = windows.find(old.id); it != windows.end()) return total(it->second, memo);
          if (const auto it = chains.find(old.id); it != chains.end()) return chain(*it->second, memo, used);
          return ExprId{};
        },
        memo);
    for (const StageId s : used)
      remarks_.push_back(fmt::format("what '{}' reduces is a stage of its own, '{}', computed once a point", stage.name,
                                     graph_.stage(s).name));
    return body;
  }

  // ---- what is reduced ---------------------------------------------------------------------------------------------

  void look_at(const WindowSum& sum) {
    analyze::VarRanges ranges;
    for (const ir::Var& v : sum.vars) ranges[v.id] = {v.lo, v.hi};
    for (const Addend& a : sum.addends) {
      const PointTerm& term = a.term;
      if (!term.point.valid() || term.sample) continue;
      auto [it, fresh] = candidates_.try_emplace(term.point.id);
      Candidate& c = it->second;
      const std::size_t rank = term.at.size();
      if (fresh) {
        c.point = term.point;
        c.type = graph_.node(term.written).type;
        c.unscaled.assign(rank, true);
      }
      for (std::size_t d = 0; d < rank; ++d) {
        const auto [lo, hi] = analyze::offset_span(term.at[d], ranges);
        if (fresh) {
          c.lo.push_back(lo);
          c.hi.push_back(hi);
        }
        c.lo[d] = std::min(c.lo[d], lo);
        c.hi[d] = std::max(c.hi[d], hi);
        if (term.at[d].scale != 1) c.unscaled[d] = false;
      }
    }
  }

  Continued continued(const Candidate& c, std::size_t d) const {
    Continued r;
    for (const ExprId e : ir::accesses(graph_, c.point)) {
      const ExprNode& access = graph_.node(e);
      const std::size_t lead = c.lo.size() - access.index.size();
      if (d < lead) {
        r.everywhere = false;
        continue;
      }
      const std::size_t k = d - lead;
      const ir::SizeId extent = graph_.stage(access.stage).domain[k];
      const Border& border = access.border[k];
      if (!r.extent) r.extent = extent, r.border = border;
      r.one_extent = r.one_extent && extent == *r.extent;
      r.one_mode = r.one_mode && border.mode == r.border->mode;
      r.some_none |= border.mode == BorderMode::none;
      r.some_constant |= border.mode == BorderMode::constant;
      r.lo = std::min(r.lo, access.index[k].offset);
      r.hi = std::max(r.hi, access.index[k].offset);
    }
    return r;
  }

  // The function where every image is the constant that continues it in dimension d.
  std::optional<double> constant_beyond(const Candidate& c, std::size_t d) {
    const ExprId value = ir::rewrite(graph_, c.point, [&](ExprId, const ExprNode& node) {
      if (node.op != Op::access) return ir::fold(graph_, node);
      const std::size_t lead = c.lo.size() - node.index.size();
      return ir::constant(graph_, node.type, node.border[d - lead].value);
    });
    const auto v = ir::constant_value(graph_, value);
    return v && std::isfinite(*v) ? v : std::nullopt;
  }

  // Whether the stage may be read beyond its ends in dimension d: the border that says so.
  std::optional<Border> border_of(const Candidate& c, std::size_t d, const Continued& r) {
    if (!r.one_extent || !r.one_mode) return {};
    const BorderMode mode = r.border->mode;
    if (mode == BorderMode::none || mode == BorderMode::wrap) return Border{mode, 0};
    if (!r.at_one_point()) return {};
    if (mode != BorderMode::constant) return Border{mode, 0};
    if (!r.everywhere) return {};
    const auto value = constant_beyond(c, d);
    return value ? std::optional(Border{mode, *value}) : std::nullopt;
  }

  // ---- the stage that computes it ----------------------------------------------------------------------------------

  void make(Candidate& c) {
    const std::size_t rank = c.lo.size(), lead = current_->domain.size() - rank;
    Stage stage;
    stage.name = current_->name + ".term";
    stage.type = c.type;
    stage.span = current_->span;
    std::vector<Continued> dims;
    std::vector<std::optional<Border>> borders;
    for (std::size_t d = 0; d < rank; ++d) {
      dims.push_back(continued(c, d));
      borders.push_back(border_of(c, d, dims[d]));
    }
    // Of several constants that of the first dimension is what stands in a corner: all of them are applied together.
    bool constants = true;
    for (std::size_t d = 0; d < rank; ++d) constants = constants && (!dims[d].some_constant || borders[d]);
    std::vector<bool> own(rank);  // borders that the stage applies itself
    c.begin.assign(rank, 0);
    for (std::size_t d = 0; d < rank; ++d) {
      if (!dims[d].extent) return;
      own[d] = !borders[d] || (dims[d].some_constant && !constants);
      i64 before = 0, behind = 0;
      if (!own[d]) {
        stage.domain.push_back(*dims[d].extent);
        c.border.push_back(*borders[d]);
        if (borders[d]->mode == BorderMode::none) before = -dims[d].lo, behind = dims[d].hi;
      } else {
        if (!c.unscaled[d] || dims[d].some_none || device_.rows_first) return;  // circuits have one extent
        const ir::SizeId longer = graph_.size(c.hi[d] - c.lo[d]);
        stage.domain.push_back(graph_.size_binary(ir::SizeOp::add, current_->domain[d + lead], longer));
        c.begin[d] = c.lo[d];
        c.border.push_back({BorderMode::clamp, 0});
        c.stored = true;
      }
      stage.margin_lo.push_back(before);
      stage.margin_hi.push_back(behind);
    }
    const ExprId body = ir::rewrite(graph_, c.point, [&](ExprId, const ExprNode& node) {
      if (node.op != Op::access) return ExprId{};
      ExprNode read = node;
      const std::size_t skipped = rank - node.index.size();
      for (std::size_t k = 0; k < node.index.size(); ++k) {
        const std::size_t d = k + skipped;
        read.index[k].offset += c.begin[d];
        if (!own[d] && dims[d].at_one_point()) read.border[k] = {BorderMode::clamp, 0};
      }
      return graph_.expr(std::move(read));
    });
    stage.type = narrowest(c, body);
    stage.body = ir::convert(graph_, stage.type, body);
    auto [known, fresh] =
        stages_.try_emplace({stage.body, stage.type, stage.domain, stage.margin_lo, stage.margin_hi}, StageId{});
    if (fresh) known->second = graph_.add(std::move(stage));
    c.stage = known->second;
    c.possible = true;
  }

  // Bytes and 16-bit numbers are summed in ways of their own.
  ElementType narrowest(const Candidate& c, ExprId body) {
    if (c.type != ElementType::i32 && c.type != ElementType::u32) return c.type;
    if (++ranges_ > most_ranges) return c.type;
    analyze::Range range = analyze::Ranges(graph_).of(body);
    for (const Border& b : c.border)
      if (b.mode == BorderMode::constant) range = {std::min(range.lo, b.value), std::max(range.hi, b.value)};
    for (const ElementType type : {ElementType::u8, ElementType::i16, ElementType::u16})
      if (analyze::contains(analyze::full_range(type), range)) return type;
    return c.type;
  }

  // ---- what stands for it ------------------------------------------------------------------------------------------

  const Candidate* candidate(const PointTerm& term) const {
    if (!term.point.valid() || term.sample) return nullptr;
    const Candidate& c = candidates_.at(term.point.id);
    return c.possible ? &c : nullptr;
  }

  ExprId read(const Candidate& c, const std::vector<ir::Index>& at) {
    std::vector<ir::Index> index = at;
    for (std::size_t d = 0; d < index.size(); ++d) index[d].offset -= c.begin[d];
    return ir::convert(graph_, c.type, ir::access(graph_, c.stage, std::move(index), c.border));
  }

  ExprId weighted(const Addend& a, ExprId value) {
    ExprId weight;
    for (const ExprId w : a.weights) weight = weight.valid() ? ir::binary(graph_, Op::mul, weight, w) : w;
    if (weight.valid()) value = ir::binary(graph_, Op::mul, weight, value);
    for (const ExprId o : a.over) value = ir::binary(graph_, Op::div, value, o);
    return value;
  }

  void add(ExprId& total, bool negative, ExprId value) {
    if (total.valid())
      total = ir::binary(graph_, negative ? Op::sub : Op::add, total, value);
    else
      total = negative ? ir::unary(graph_, Op::neg, value) : value;
  }

  ExprId reduced(const WindowSum& sum, ExprId body) {
    ExprNode node = graph_.node(sum.root);
    node.vars = sum.vars;
    node.args[0] = body;
    return graph_.expr(std::move(node));
  }

  // A reduction of one function; it is multiplied by what is the same for the whole window.
  struct Part {
    ExprId reduction;
    std::vector<ExprId> still, under;
  };

  // What stands elsewhere in the body has been rewritten before.
  static ExprId rewritten(ExprId e, const ir::RewriteMemo& memo) {
    const auto known = memo.find(e.id);
    return known == memo.end() ? e : known->second;
  }

  ExprId total(const std::vector<Part>& parts, const ir::RewriteMemo& memo) {
    ExprId sum;
    for (const Part& part : parts) {
      ExprId value = part.reduction;
      for (const ExprId s : part.still) value = ir::binary(graph_, Op::mul, rewritten(s, memo), value);
      for (const ExprId u : part.under) value = ir::binary(graph_, Op::div, value, rewritten(u, memo));
      add(sum, false, value);
    }
    return sum;
  }

  // A window: one reduction for each function and what it is multiplied by, where every one of them is worth it.
  std::vector<Part> window(const WindowSum& sum, bool reordered, std::set<StageId>& used) {
    using Key = std::tuple<ExprId, std::vector<ExprId>, std::vector<ExprId>>;
    std::vector<std::pair<Key, std::vector<const Addend*>>> groups;
    std::set<StageId> stages;
    for (const Addend& a : sum.addends) {
      const Candidate* c = candidate(a.term);
      if (!c && !a.term.sample) return refused(sum, "beyond their ends its images are continued differently");
      if (c) stages.insert(c->stage);
      const Key key{a.term.point, a.still, a.under};
      auto it = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == key; });
      if (it == groups.end()) it = groups.insert(groups.end(), {key, {}});
      it->second.push_back(&a);
    }
    std::vector<Part> parts;
    for (const auto& [key, addends] : groups) {
      ExprId terms;
      for (const Addend* a : addends) {
        const Candidate* c = candidate(a->term);
        add(terms, a->negative, weighted(*a, c ? read(*c, a->term.at) : a->term.written));
      }
      const ExprId part = reduced(sum, terms);
      const Candidate* c = candidate(addends.front()->term);
      const i64 least = device_.strip_registers > 0 ? least_terms_of_device : least_stored_terms;
      const bool taken = reordered && (!c || !c->stored || terms_of(sum) >= least) && ways_.take(*current_, part);
      if (!taken && !(groups.size() == 1 && c && (taken_apart(sum, *c) || dear(sum, addends, *c))))
        return refused(sum, "no method takes its sum for less than its terms one by one");
      parts.push_back({part, std::get<1>(key), std::get<2>(key)});
    }
    used.insert(stages.begin(), stages.end());
    return parts;
  }

  // A sum that is written out: the terms of each function that is worth it come first, and together.
  ExprId chain(const WindowSum& sum, const ir::RewriteMemo& memo, std::set<StageId>& used) {
    std::map<std::uint32_t, ExprId> parts;
    for (const Addend& a : sum.addends)
      if (const Candidate* c = candidate(a.term))
        add(parts[a.term.point.id], a.negative, weighted(a, read(*c, a.term.at)));
    std::erase_if(parts, [&](const auto& part) { return !ways_.take(*current_, part.second); });
    if (parts.empty()) return {};
    ExprId value;
    for (const auto& [id, part] : parts) {
      add(value, false, part);
      used.insert(candidates_.at(id).stage);
    }
    for (const Addend& a : sum.addends) {
      if (a.term.point.valid() && parts.contains(a.term.point.id)) continue;
      add(value, a.negative, weighted(a, rewritten(a.term.written, memo)));
    }
    return value;
  }

  // ---- what it is worth --------------------------------------------------------------------------------------------

  static i64 terms_of(const WindowSum& sum) {
    i64 terms = 1;
    for (const ir::Var& v : sum.vars) terms *= v.hi - v.lo + 1;
    return terms;
  }

  // Minima and maxima of one image are taken one dimension at a time (windows.cpp).
  bool taken_apart(const WindowSum& sum, const Candidate& c) const {
    const bool idempotent =
        sum.op == Op::reduce_min || sum.op == Op::reduce_max || sum.op == Op::reduce_any || sum.op == Op::reduce_all;
    if (!idempotent || c.stored || method_ != Method::automatic) return false;
    if (is_float(graph_.node(sum.root).type) && numbers_ != Numbers::fast) return false;
    const PointTerm& term = sum.addends.front().term;
    if (graph_.stage(c.stage).domain != current_->domain) return false;
    std::size_t moving = 0;
    for (const ir::Index& index : term.at) {
      if (index.scale != 1 || index.vars.size() > 1) return false;
      if (index.vars.empty()) continue;
      if (index.vars[0].second != 1) return false;
      ++moving;
    }
    return moving == sum.vars.size() && (moving > 1 || terms_of(sum) > 3);
  }

  // Does it cost more to compute the function wherever it is read than once, and to keep it (fold.cpp)?
  bool dear(const WindowSum& sum, const std::vector<const Addend*>& addends, const Candidate& c) const {
    if (c.stored || addends.size() != 1 || method_ != Method::automatic) return false;
    const std::vector<ir::Index>& at = addends.front()->term.at;
    const std::size_t along = device_.columns_together ? 1 : 2;
    double copies = static_cast<double>(terms_of(sum));
    for (const ir::Index& index : at) copies /= static_cast<double>(index.scale * index.scale);
    if (at.size() >= along) {  // neighbours along it share what they read
      const ir::Index& index = at[at.size() - along];
      double length = 1;
      for (const ir::Var& v : sum.vars)
        for (const auto& [id, coefficient] : index.vars)
          if (id == v.id && coefficient == 1) length *= static_cast<double>(v.hi - v.lo + 1);
      copies *= (block_rows + length - 1) / (block_rows * length);
    }
    const double loads = analyze::load_count(graph_, {c.point}) / 2, all = analyze::operation_count(graph_, {c.point});
    return all - loads >= least_dear && all * (copies - 1) > device_.fold_price;
  }

  std::vector<Part> refused(const WindowSum& sum, const char* why) {
    const bool named =
        std::any_of(sum.addends.begin(), sum.addends.end(), [](const Addend& a) { return !a.term.sample; });
    if (sum.op == Op::reduce_sum && named && terms_of(sum) >= worth_a_remark)
      remarks_.push_back(fmt::format("what '{}' sums is no stage of its own: {}", current_->name, why));
    return {};
  }

  using Key = std::tuple<ExprId, ElementType, std::vector<ir::SizeId>, std::vector<i64>, std::vector<i64>>;

  Graph& graph_;
  Numbers numbers_;
  Method method_;
  const machine::Machine& device_;
  std::vector<std::string>& remarks_;
  Ways ways_;
  Rebuild rebuild_;
  const Stage* current_ = nullptr;
  std::map<std::uint32_t, Candidate> candidates_;  // of the stage at hand, by their functions
  std::map<Key, StageId> stages_;                  // that were made, to be shared
  int ranges_ = 0;
};

}  // namespace

void name_products(Graph& graph, Numbers numbers, Method method, const machine::Machine& device,
                   const std::vector<i64>& assumed, std::vector<std::string>& remarks) {
  if (method == Method::direct) return;
  ProductPass(graph, numbers, method, device, assumed, remarks).run();
  remove_dead_stages(graph);
}

}  // namespace tessera::rewrite
