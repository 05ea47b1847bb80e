// A stage after the other, each reading earlier ones.
#include "differential/random/generate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "differential/random/points.hpp"
#include "ir/keyed.hpp"

namespace tessera::differential {
namespace {

using ir::Graph;
using ir::SizeId;
using ir::StageId;

constexpr std::array all_types = {ElementType::boolean, ElementType::u8,  ElementType::i16,
                                  ElementType::u16,     ElementType::i32, ElementType::u32,
                                  ElementType::f16,     ElementType::f32, ElementType::f64};

class Generator : private PointGenerator {
 public:
  explicit Generator(std::uint64_t seed) : PointGenerator(seed), seed_(seed) {}

  Case run() {
    Case c;
    c.seed = seed_;
    c.name = fmt::format("seed {}", seed_);
    flavour();
    c.data = wild_ ? Data::wild : odd_ ? Data::odd : Data::plain;
    declare();
    const i64 stages = r_.chance(25) ? r_.between(1, 2) : r_.between(2, 12);
    for (i64 k = 0; k < stages; ++k) {
      if (keyed_ && r_.chance(30)) keyed();
      if (oddities_ && r_.chance(15))
        sum_of_products();
      else
        r_.chance(18) ? compose() : point();
    }
    choose_outputs();
    sizes(c);
    ways(c);
    c.graph = std::move(g_);
    return c;
  }

 private:
  // ---- what kind of program this one is ----

  void flavour() {
    rank_ = static_cast<std::size_t>(r_.pick(std::array{1, 2, 2, 2, 2, 2, 2, 3, 3, 4}));
    wild_ = r_.chance(50);
    odd_ = !wild_ && seed_ % 3 == 0;
    static constexpr std::array<int, 6> families = {0, 1, 2, 3, 4, 5};
    switch (r_.pick(families)) {
      case 0:
        types_ = {ElementType::f32};
        break;
      case 1:
        types_ = {ElementType::u8, ElementType::i16, ElementType::i32};
        break;
      case 2:
        types_ = {ElementType::f32, ElementType::u8};
        break;
      case 3:
        types_ = {ElementType::u8, ElementType::u16, ElementType::u32, ElementType::boolean};
        break;
      default:
        types_.assign(all_types.begin(), all_types.end());
        break;
    }
    const int modes = static_cast<int>(r_.between(0, 4));
    if (modes == 0)
      modes_ = {BorderMode::clamp};
    else if (modes == 1)
      modes_ = {BorderMode::wrap};
    else if (modes == 2)
      modes_ = {BorderMode::none};
    else
      modes_ = {BorderMode::clamp, BorderMode::mirror,   BorderMode::symmetric,
                BorderMode::wrap,  BorderMode::constant, BorderMode::none};
    reach_ = r_.pick(std::array{1, 1, 2, 4});
    scales_ = r_.chance(35);
    oddities_ = r_.chance(50);  // gathers, look-ups, coordinates, reductions, shifts
    totals_ = oddities_ && seed_ % 3 == 1;
    keyed_ = seed_ % 7 == 3;
  }

  void declare() {
    static constexpr std::array names = {"L", "K", "M", "N"};
    for (std::size_t d = 0; d < rank_; ++d) {
      g_.parameters.push_back(names[4 - rank_ + d]);
      base_.push_back(g_.size_parameter(static_cast<std::uint32_t>(d)));
    }
    const i64 arrays = r_.between(1, 3);
    for (i64 k = 0; k < arrays; ++k) {
      ir::Argument a;
      a.name = fmt::format("a{}", k);
      std::size_t lead = k > 0 && rank_ > 1 && r_.chance(15)
                             ? static_cast<std::size_t>(r_.between(1, static_cast<i64>(rank_) - 1))
                             : 0;
      a.extents.assign(base_.begin() + static_cast<std::ptrdiff_t>(lead), base_.end());
      if (k > 0 && r_.chance(20))
        for (SizeId& n : a.extents)
          n = r_.chance(50) ? g_.size_binary(ir::SizeOp::add, n, g_.size(r_.between(0, 3))) : g_.size_floor_div(n, 2);
      if (r_.chance(20)) {
        std::vector<std::pair<std::string, ElementType>> fields;
        const i64 count = r_.between(1, 3);
        for (i64 f = 0; f < count; ++f) fields.emplace_back(fmt::format("f{}", f), r_.pick(types_));
        a.format = Format::record(fmt::format("s{}", k), fields);
      } else {
        a.format = Format(r_.pick(types_));
      }
      g_.arguments.push_back(a);
      for (std::size_t f = 0; f < std::max<std::size_t>(1, a.format.fields.size()); ++f) {
        ir::Stage s;
        s.kind = ir::StageKind::input;
        s.name = fmt::format("a{}f{}", k, f);
        s.type = a.format.is_struct() ? a.format.fields[f].type : a.format.scalar;
        s.domain = a.extents;
        s.argument = static_cast<std::uint32_t>(k);
        s.field = static_cast<std::uint32_t>(f);
        add(std::move(s), input_bound(s.type));
      }
    }
    const i64 scalars = r_.chance(30) ? r_.between(1, 2) : 0;
    for (i64 k = 0; k < scalars; ++k) {
      ir::Argument a;
      a.name = fmt::format("t{}", k);
      a.is_array = false;
      a.format = Format(r_.pick(types_));
      g_.arguments.push_back(a);
      scalars_.push_back(g_.arguments.size() - 1);
    }
    const i64 tables = oddities_ ? r_.between(0, 2) : 0;
    for (i64 k = 0; k < tables; ++k) {
      ir::Table t;
      t.name = fmt::format("k{}", k);
      t.type = r_.pick(types_);
      t.extents = {r_.between(1, 6)};
      if (r_.chance(40)) t.extents.push_back(r_.between(1, 5));
      for (i64 i = 0; i < element_count(t.extents); ++i) t.values.push_back(small(t.type));
      g_.tables.push_back(t);
    }
  }

  // ---- compose stages ----

  void compose() {
    const StageId main = recent();
    ir::Stage s;
    s.kind = ir::StageKind::compose;
    s.name = fmt::format("c{}", g_.stage_count());
    s.type = g_.stage(main).type;
    const bool raise = g_.stage(main).domain.size() < rank_ && r_.chance(60);
    const std::size_t rank = raise ? rank_ : g_.stage(main).domain.size();
    const std::vector<SizeId> source_domain = g_.stage(main).domain;
    const std::size_t lead = rank - source_domain.size();
    const i64 stride = r_.chance(50) ? 1 : r_.between(2, 3);
    for (std::size_t d = 0; d < rank; ++d) {
      SizeId n = d < lead ? g_.size(r_.between(1, 3)) : source_domain[d - lead];
      if (d >= lead && r_.chance(60)) n = g_.size_binary(ir::SizeOp::mul, n, g_.size(stride));
      if (r_.chance(25)) n = g_.size_binary(ir::SizeOp::add, n, g_.size(r_.between(1, 3)));
      if (r_.chance(8)) n = base_[d + rank_ - rank];
      s.domain.push_back(n);
    }
    const i64 pieces = r_.between(1, 3);
    Bound bound{0, 0};
    for (i64 k = 0; k < pieces; ++k) {
      ir::Piece p;
      if (k > 0 && r_.chance(30)) {
        p.value = small(s.type);
        bound = join(bound, {8, 2});
      } else {
        StageId from = main;
        for (int tries = 0; tries < 4; ++tries) {
          const StageId other = recent();
          if (k > 0 && g_.stage(other).type == s.type && g_.stage(other).domain.size() <= rank) from = other;
        }
        p.stage = from;
        bound = join(bound, bounds_[from]);
      }
      const std::vector<SizeId> extents = p.stage ? g_.stage(*p.stage).domain : s.domain;
      const std::size_t missing = rank - extents.size();
      for (std::size_t d = 0; d < rank; ++d) {
        SizeId start = g_.size(r_.chance(70) ? r_.between(0, stride) : r_.between(-3, 5));
        if (r_.chance(6)) start = g_.size_floor_div(base_[d + rank_ - rank], 2);
        p.start.push_back(start);
        p.stride.push_back(r_.chance(75) ? stride : r_.between(1, 3));
        SizeId count = d < missing ? g_.size(1) : extents[d - missing];
        if (d >= missing && r_.chance(20))
          count = r_.chance(50) ? g_.size_floor_div(count, 2)
                                : g_.size_binary(ir::SizeOp::min, count, g_.size(r_.between(1, 6)));
        p.count.push_back(count);
      }
      s.pieces.push_back(std::move(p));
    }
    add(std::move(s), bound);
  }

  // ---- the rest of the case ----

  void choose_outputs() {
    std::vector<StageId> left;
    for (StageId s = static_cast<StageId>(g_.stage_count()); s-- > 0;)
      if (!ir::is_keyed(g_, g_.stage(s)) && (g_.stage(s).kind != ir::StageKind::input || r_.chance(4)))
        left.push_back(s);
    const std::size_t wanted = r_.chance(60) ? 1 : static_cast<std::size_t>(r_.between(2, 4));
    for (std::size_t k = 0; k < wanted && !left.empty(); ++k) {
      const std::size_t at = k == 0 ? 0 : r_.below(left.size());
      std::vector<StageId> members = {left[at]};
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(at));
      if (r_.chance(25))
        for (std::size_t i = 0; i < left.size() && members.size() < 3;) {
          if (g_.stage(left[i]).domain == g_.stage(members[0]).domain && r_.chance(60)) {
            members.push_back(left[i]);
            left.erase(left.begin() + static_cast<std::ptrdiff_t>(i));
          } else {
            ++i;
          }
        }
      if (r_.chance(3)) members.push_back(members[0]);
      ir::Output o;
      o.name = wanted == 1 ? "" : fmt::format("o{}", k);
      o.stages = members;
      if (members.size() == 1) {
        o.format = Format(g_.stage(members[0]).type);
      } else {
        std::vector<std::pair<std::string, ElementType>> fields;
        for (StageId s : members) fields.emplace_back(fmt::format("f{}", fields.size()), g_.stage(s).type);
        o.format = Format::record("result", fields);
      }
      g_.outputs.push_back(std::move(o));
    }
  }

  void sizes(Case& c) {
    static constexpr std::array tiny = {1, 2, 3, 4, 5, 7};
    static constexpr std::array medium = {8, 9, 15, 16, 17, 31, 33};
    auto set = [&](auto pick) {
      std::vector<i64> p;
      for (std::size_t d = 0; d < rank_; ++d) p.push_back(pick(d));
      c.parameters.push_back(p);
    };
    set([&](std::size_t) { return r_.pick(tiny); });
    set([&](std::size_t d) { return d + 1 == rank_ ? r_.between(16, 70) : r_.pick(tiny); });
    set([&](std::size_t d) {
      return rank_ == 1 || d + 2 >= rank_ ? static_cast<i64>(r_.pick(medium)) : r_.between(2, 5);
    });
    if (rank_ == 1) set([&](std::size_t) { return r_.between(100, 400); });
    if (rank_ == 2) set([&](std::size_t d) { return d == 0 ? r_.between(20, 60) : r_.between(60, 200); });
    if (rank_ > 2) set([&](std::size_t d) { return d + 1 == rank_ ? r_.between(20, 80) : r_.between(3, 9); });
  }

  void ways(Case& c) {
    c.may_refuse = true;
    const bool floats = is_float_flavour();
    std::vector<Way> bases;
    for (const Schedule s : {Schedule::automatic, Schedule::stream, Schedule::tiled, Schedule::untiled}) {
      if (s == Schedule::tiled && !r_.chance(35)) continue;
      if (s == Schedule::untiled && !r_.chance(25)) continue;
      if (s == Schedule::stream && !r_.chance(70)) continue;
      Way b;
      b.schedule = s;
      b.numbers = (wild_ && floats) || r_.chance(30) ? Numbers::exact : Numbers::fast;
      if (s == Schedule::automatic && b.numbers == Numbers::exact && r_.chance(40))
        b.method = r_.pick(std::array{Method::direct, Method::separable, Method::low_rank, Method::transform,
                                      Method::transform, Method::whole});
      bases.push_back(b);
    }
    for (const Way& b : bases) {
      c.ways.push_back(b);
      Way tiles = b;
      tiles.rows = r_.pick(std::array{1, 2, 3, 5, 8, 13});
      tiles.columns = r_.chance(70) ? 64 : 0;
      tiles.threads = static_cast<int>(r_.between(1, 3));
      tiles.placement = Placement::flush_begin;
      c.ways.push_back(tiles);
      Way view = b;
      view.rows = r_.chance(50) ? r_.between(4, 20) : tiles.rows;
      view.columns = tiles.columns;
      view.placement = r_.chance(80) ? Placement::view : Placement::sparse_view;
      view.threads = static_cast<int>(r_.between(1, 3));
      c.ways.push_back(view);
    }
  }

  std::uint64_t seed_;
  bool keyed_ = false;
};

}  // namespace

Case random_case(std::uint64_t seed) {
  const auto too_small = [](const Graph& g) {  // an extent that is constant and below 1, at every size
    for (StageId s = 0; s < g.stage_count(); ++s)
      for (ir::SizeId d : g.stage(s).domain)
        if (g.constant(d).value_or(1) < 1) return true;
    return false;
  };
  for (;; seed += 1'000'000'007)
    if (Case c = Generator(seed).run(); !too_small(c.graph)) return c;
}

}  // namespace tessera::differential
