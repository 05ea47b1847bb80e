// See regions.hpp.
#include "lower/ways/stream/regions.hpp"

#include <algorithm>

namespace tessera::lower {

using ir::StageId;
using ir::nest::integer;
using ir::nest::Value;
using ir::nest::variable;

namespace {

// What somebody wants of a pass.
struct Want {
  Region region;
  bool sure = false;              // it is never empty
  std::vector<Value> wanted_for;  // extents of the consumer's region, if that may be empty
};

class FindRegions {
 public:
  explicit FindRegions(const Declared& declared)
      : declared_(declared), group_(declared.group), builder_(declared.builder), rank_(declared.group.rank) {}

  Regions found() {
    tile_ = tile_of_anchor();
    for (StageId s : group_.planned.results) found_.own[s] = own(s);
    const std::size_t count = group_.passes().size();
    found_.of_pass.assign(count, {});
    sure_.assign(count, false);
    for (std::size_t p = count; p-- > 0;) {
      const std::vector<Want> wants = wants_of(p);
      sure_[p] = std::any_of(wants.begin(), wants.end(), [](const Want& want) { return want.sure; });
      found_.of_pass[p] = united(wants, sure_[p]);
    }
    return std::move(found_);
  }

 private:
  Region tile_of_anchor() const;
  Region own(StageId) const;
  bool is_anchors(StageId s, std::size_t dim) const {
    return group_.stage(s).domain[dim] == group_.stage(group_.planned.anchor).domain[dim] &&
           is_one(group_.plan_of(s).rate[dim]);
  }
  std::vector<Want> wants_of(std::size_t pass) const;
  Want want_of(const plan::Edge&) const;
  Region united(const std::vector<Want>&, bool sure) const;

  const Declared& declared_;
  const StreamGroup& group_;
  Builder& builder_;
  const std::size_t rank_;
  Region tile_;  // of the anchor
  Regions found_;
  std::vector<bool> sure_;  // by pass: its region is never empty
};

// Tiles are numbered with the fastest dimension first.
Region FindRegions::tile_of_anchor() const {
  Region tile{std::vector<Value>(rank_, integer(0)), std::vector<Value>(rank_, integer(0))};
  Value rest = builder_.var("rest", variable("tile", index_type));
  for (std::size_t d = rank_; d-- > 0;) {
    Value n = declared_.extent(group_.stage(group_.planned.anchor).domain[d]);
    Value t = builder_.let("t", load(tile_shape(), integer(static_cast<i64>(d)), 1));
    Value tiles = builder_.let("tiles", call_i64("tsr_ceil_div", {n, t}));
    Value at = builder_.let("at", rest % tiles);
    builder_.assign(rest, rest / tiles);
    tile.lo[d] = builder_.let("lo", at * t);
    tile.hi[d] = builder_.let("hi", min(tile.lo[d] + t, n));
  }
  return tile;
}

// The tile's share of a result; of one with another extent: scaled, and the last tile takes what is left.
Region FindRegions::own(StageId s) const {
  Region own;
  for (std::size_t d = 0; d < rank_; ++d) {
    if (is_anchors(s, d)) {
      own.lo.push_back(tile_.lo[d]);
      own.hi.push_back(tile_.hi[d]);
      continue;
    }
    const plan::StagePlan::Rate& r = group_.plan_of(s).rate[d];
    Value n = declared_.extent(group_.stage(s).domain[d]);
    Value whole = declared_.extent(group_.stage(group_.planned.anchor).domain[d]);
    const auto share = [&](const Value& of) {
      return call_i64("tsr_share", {of, integer(r.num), integer(r.den), whole, n});
    };
    own.lo.push_back(builder_.let("own_lo", share(tile_.lo[d])));
    own.hi.push_back(builder_.let("own_hi", share(tile_.hi[d])));
  }
  return own;
}

// What the tile itself and every consumer in the group want of the stages of a pass.
std::vector<Want> FindRegions::wants_of(std::size_t pass) const {
  std::vector<Want> wants;
  for (StageId s : group_.pass(pass).stages) {
    for (const plan::Edge& edge : group_.edges)
      if (edge.producer == s && group_.contains(edge.consumer)) wants.push_back(want_of(edge));
    if (auto own = found_.own.find(s); own != found_.own.end()) {
      Want want{own->second, true, {}};
      for (std::size_t d = 0; d < rank_; ++d) want.sure = want.sure && is_anchors(s, d);
      wants.push_back(std::move(want));
    }
  }
  return wants;
}

Want FindRegions::want_of(const plan::Edge& edge) const {
  const StageId s = edge.producer;
  const std::vector<ir::SizeId>& domain = group_.stage(s).domain;
  const std::size_t consumer = group_.pass_of(edge.consumer);
  const Region& c = found_.of_pass[consumer];
  Want want;
  want.sure = sure_[consumer];
  for (std::size_t d = 0; d < rank_; ++d) {
    const plan::EdgeDimension dim = group_.written(s) != s ? plan::any_phase(edge.dims[d]) : edge.dims[d];
    Value a = c.lo[d] * dim.mul + dim.lo, b = (c.hi[d] - 1) * dim.mul + dim.hi;
    if (dim.div != 1) {
      a = call_i64("tsr_floor_div", {a, integer(dim.div)});
      b = call_i64("tsr_floor_div", {b, integer(dim.div)});
    }
    b = b + 1;
    if (!sure_[consumer]) want.wanted_for.push_back(c.hi[d] - c.lo[d]);
    if (!group_.plan_of(s).periodic[d]) {
      a = max(a, integer(0));
      b = min(b, declared_.extent(domain[d]));
      const bool within = dim.mul == 1 && dim.div == 1 && dim.lo <= 0 && dim.hi >= 0;
      if (!within || domain[d] != group_.stage(edge.consumer).domain[d]) want.sure = false;
    }
    want.region.lo.push_back(a);
    want.region.hi.push_back(b);
  }
  return want;
}

// The smallest region around all that is wanted. A part may be empty where the tile lies beyond the end of a smaller
// stage; it would then stand anywhere, and the region around it and the others would be larger than the memory for it.
Region FindRegions::united(const std::vector<Want>& wants, bool sure) const {
  const Value nowhere = integer(i64{1} << 60);
  Region region{std::vector<Value>(rank_), std::vector<Value>(rank_)};
  for (const Want& want : wants) {
    const bool masked = !want.sure;
    Value some;
    for (const Value& n : want.wanted_for) some = some ? min(some, n) : n;
    std::vector<Value> lo = want.region.lo, hi = want.region.hi;
    if (masked) {
      for (std::size_t d = 0; d < rank_; ++d) {
        lo[d] = builder_.let("lo", lo[d]);
        hi[d] = builder_.let("hi", hi[d]);
        some = some ? min(some, hi[d] - lo[d]) : hi[d] - lo[d];
      }
      some = builder_.let("some", less(integer(0), some));
    }
    for (std::size_t d = 0; d < rank_; ++d) {
      if (masked && wants.size() == 1) {
        hi[d] = choose(some, hi[d], lo[d]);
      } else if (masked) {
        lo[d] = choose(some, lo[d], nowhere);
        hi[d] = choose(some, hi[d], integer(0) - nowhere);
      }
      region.lo[d] = region.lo[d] ? min(region.lo[d], lo[d]) : lo[d];
      region.hi[d] = region.hi[d] ? max(region.hi[d], hi[d]) : hi[d];
    }
  }
  for (std::size_t d = 0; d < rank_; ++d) {
    region.lo[d] = builder_.let("lo", region.lo[d]);
    if (!sure && wants.size() > 1)
      region.lo[d] = builder_.let("lo", choose(less(region.lo[d], region.hi[d]), region.lo[d], integer(0)));
    region.hi[d] = builder_.let("hi", max(region.hi[d], region.lo[d]));
  }
  return region;
}

}  // namespace

Regions regions_of(const Declared& declared) {
  return FindRegions(declared).found();
}

}  // namespace tessera::lower
