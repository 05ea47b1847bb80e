// See shared_tiles.hpp.
//
// Along every dimension a stage has `num` points where the anchor has `den`, and the anchor's points [a, b), both
// multiples of den, need [a * num / den + before, b * num / den + after) of it: the region of the stage. Borders are
// mapped at the ends of the domain, so a region holds whatever a border maps to as well.
#include "lower/ways/shared_tiles/shared_tiles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "analyze/expressions.hpp"
#include "analyze/footprint.hpp"
#include "base/division.hpp"
#include "ir/build.hpp"
#include "lower/device_function.hpp"

namespace tessera::lower {

using ir::ExprId;
using ir::ExprNode;
using ir::Op;
using ir::StageId;
using ir::nest::integer;
using ir::nest::Lane;
using ir::nest::Value;

namespace {

constexpr int threads_across = 32, threads_down = 8;
constexpr double beside_point = 6;  // instructions: loops, tests, addresses

class TileLowering : private DeviceFunction {
 public:
  TileLowering(plan::Plan& plan, const Interface& interface, analyze::Ranges& ranges, std::size_t group,
               std::string name)
      : DeviceFunction(plan, interface, ranges, std::move(name)), group_(plan.groups[group]) {
    kernel_.group = group;
    kernel_.domain = graph_.stage(group_.anchor).domain;
    rank_ = kernel_.domain.size();
    clamps_ = true;
    for (const plan::Pass& pass : group_.passes) {
      const StageId first = pass.stages.front();
      if (pass.composes() && plan_.stages[first].filled) {
        filled_.insert(first);
        continue;
      }
      passes_.push_back(&pass);
    }
    for (std::size_t p = 0; p < passes_.size(); ++p)
      for (const StageId s : passes_[p]->stages) pass_of_[s] = p;
    for (const StageId s : filled_) pass_of_[s] = 0;
    is_result_.insert(group_.results.begin(), group_.results.end());
    why_ = unfit();
    if (why_.empty()) find_regions();
  }

  SharedTileFit fit(i64 most_shared) {
    SharedTileFit result;
    result.why = why_;
    if (!why_.empty()) return result;
    double best = 0;
    std::vector<i64> tile(rank_, 1);
    const auto consider = [&] {
      for (std::size_t d = 0; d < rank_; ++d) tile[d] = (tile[d] + multiple_[d] - 1) / multiple_[d] * multiple_[d];
      const i64 bytes = place_shared(tile);
      if (bytes > most_shared) return;
      const double price = price_of(tile, bytes);
      if (result.fits && price >= best) return;
      best = price;
      result.fits = true;
      result.tile = tile;
      result.shared_bytes = bytes;
    };
    const std::vector<i64> rows = rank_ > 1 ? std::vector<i64>{8, 16, 32, 64} : std::vector<i64>{1};
    const std::vector<i64> planes = rank_ > 2 ? std::vector<i64>{1, 2, 4, 8} : std::vector<i64>{1};
    for (const i64 width : {32, 64, 128, 256})
      for (const i64 height : rows)
        for (const i64 depth : planes) {
          tile.assign(rank_, 1);
          if (rank_ > 2) tile[rank_ - 3] = depth;
          if (rank_ > 1) tile[rank_ - 2] = height;
          tile.back() = width;
          consider();
        }
    if (!result.fits) result.why = "its tiles do not fit shared memory";
    return result;
  }

  void into(DeviceProgram& program, const SharedTileFit& fit) {
    kernel_.points = fit.tile;
    kernel_.threads = {threads_across, rank_ > 1 ? threads_down : 1, 1};
    kernel_.shared_bytes = place_shared(fit.tile);
    kernel_.row_multiple = multiple_[0];
    for (const plan::Pass* pass : passes_)
      kernel_.stages.insert(kernel_.stages.end(), pass->stages.begin(), pass->stages.end());
    std::string extents;
    for (const i64 n : fit.tile) extents += (extents.empty() ? "" : " x ") + std::to_string(n);
    ir::nest::Function function;
    function.name = kernel_.name;
    function.essay = fmt::format("tiles of {} a block, {} bytes of shared memory", extents, kernel_.shared_bytes);
    Builder builder(function.body);
    builder_ = &builder;
    place_block();
    place_regions();
    all_passes(builder.let("inside", everything_inside()));
    touch();
    count(fit.tile);
    finish(std::move(function), program);
  }

 private:
  using Rate = plan::StagePlan::Rate;
  struct Region {
    bool needed() const { return rate.front().before != INT64_MAX; }
    std::vector<Rate> rate;     // before and after: of what is needed, as far as is known
    std::vector<i64> extents;   // of the chosen tile
    std::vector<Value> origin;  // of this block
    i64 offset = -1;            // bytes in shared memory; -1: not kept
  };

  bool member(StageId s) const { return pass_of_.contains(s); }

  // ---- what the group needs ----
  std::string unfit() {
    for (const auto& [s, pass] : pass_of_) {
      const ir::Stage& stage = graph_.stage(s);
      const plan::StagePlan& planned = plan_.stages[s];
      if (stage.domain.size() != rank_ || planned.rate.size() != rank_) return "its stages differ in dimensions";
      if (std::find(planned.periodic.begin(), planned.periodic.end(), true) != planned.periodic.end())
        return "a stage of it wraps";
      for (const ir::Piece& piece : stage.pieces)
        for (const ir::SizeId start : piece.start)
          if (!graph_.constant(start)) return "it puts stages together at places that the extents decide";
      if (stage.kind != ir::StageKind::point) continue;
      for (ExprId e : ir::postorder(graph_, {stage.body})) {
        const ExprNode& node = graph_.node(e);
        if (is_lanes(node.op)) return "it reduces a whole image";
        if (is_into(node.op)) return "it puts elements into bins";
        if (node.op == Op::gather && member(node.stage)) return "a stage of it is read at computed places";
        if (node.op != Op::access || !member(node.stage)) continue;
        for (std::size_t d = 0; d < rank_; ++d) {
          const ir::Index& index = node.index[d];
          if (index.scale < 1 || graph_.constant(index.shift) != 0) return "it reads at other than constant distances";
          if (node.border[d].mode == BorderMode::wrap) return "a stage of it wraps";
        }
      }
    }
    return "";
  }

  void include(StageId s, std::size_t d, i64 before, i64 after) {
    Rate& rate = regions_[s].rate[d];
    rate.before = std::min(rate.before, before);
    rate.after = std::max(rate.after, after);
  }

  // Consumers before producers; stages of one pass share their region.
  void find_regions() {
    multiple_.assign(rank_, 1);
    for (const auto& [s, pass] : pass_of_) {
      Region& r = regions_[s];
      r.rate = plan_.stages[s].rate;
      for (std::size_t d = 0; d < rank_; ++d) {
        r.rate[d].before = INT64_MAX, r.rate[d].after = INT64_MIN;
        multiple_[d] = std::lcm(multiple_[d], r.rate[d].den);
        if (is_result_.contains(s)) include(s, d, 0, 0);
      }
    }
    for (std::size_t p = passes_.size(); p-- > 0;) {
      // Pieces are computed for the regions of what they lie inside of, which all readers are known of by now.
      for (const StageId s : passes_[p]->stages)
        if (plan_.stages[s].home == plan::Home::inside) need_piece(plan_.stages[s].whole, s);
      for (std::size_t d = 0; d < rank_; ++d) {
        i64 before = INT64_MAX, after = INT64_MIN;
        for (const StageId s : passes_[p]->stages)
          before = std::min(before, regions_[s].rate[d].before), after = std::max(after, regions_[s].rate[d].after);
        if (before > after) before = after = 0;  // nobody reads it
        for (const StageId s : passes_[p]->stages) include(s, d, before, after);
      }
      for (const StageId s : passes_[p]->stages) need_of(s);
    }
  }

  void need_piece(StageId whole, StageId s) {
    const Region& r = regions_[whole];
    if (!r.needed()) return;
    for (const ir::Piece& piece : graph_.stage(whole).pieces) {
      if (piece.stage != s) continue;
      for (std::size_t d = 0; d < rank_; ++d) {
        const i64 start = *graph_.constant(piece.start[d]), stride = piece.stride[d];
        include(s, d, base::floor_divide(r.rate[d].before - start, stride),
                base::floor_divide(r.rate[d].after - 1 - start, stride) + 1);
      }
    }
  }

  void need_of(StageId s) {
    const ir::Stage& stage = graph_.stage(s);
    for (const ir::Piece& piece : stage.pieces)
      if (piece.stage && member(*piece.stage)) need_piece(s, *piece.stage);
    if (stage.kind != ir::StageKind::point) return;
    const analyze::VarRanges ranges = analyze::variable_ranges(graph_, stage.body);
    const Region reader = regions_[s];
    for (ExprId e : ir::postorder(graph_, {stage.body})) {
      const ExprNode& node = graph_.node(e);
      if (node.op != Op::access || !member(node.stage)) continue;
      for (std::size_t d = 0; d < rank_; ++d) {
        const ir::Index& index = node.index[d];
        auto [lo, hi] = analyze::offset_span(index, ranges);
        // What a border maps to: beside the last point of a stage that has up to `scale` points more or fewer than its
        // reader's rate says.
        const i64 slack = index.scale > 1 ? index.scale : 0;
        const BorderMode mode = node.border[d].mode;
        if (mode == BorderMode::mirror || mode == BorderMode::symmetric) {
          const i64 low = lo, high = hi;
          lo = std::min(low, -high - slack), hi = std::max(high, -low + slack);
        } else {
          lo = std::min<i64>(lo, -slack), hi = std::max<i64>(hi, slack);
        }
        include(node.stage, d, index.scale * reader.rate[d].before + lo,
                index.scale * (reader.rate[d].after - 1) + hi + 1);
      }
    }
  }

  // ---- shared memory ----
  std::vector<i64> extents_of(StageId s, const std::vector<i64>& tile) const {
    const Region& r = regions_.at(s);
    std::vector<i64> extents;
    for (std::size_t d = 0; d < rank_; ++d) {
      const Rate& rate = r.rate[d];
      extents.push_back(tile[d] * rate.num / rate.den + rate.after - rate.before);
    }
    return extents;
  }

  // The first and the last pass that touches what is kept of a stage.
  std::pair<std::size_t, std::size_t> life(StageId s) const {
    std::size_t first = filled_.contains(s) ? passes_.size() : pass_of_.at(s), last = 0;
    bool is_read = false;
    for (std::size_t p = 0; p < passes_.size(); ++p)
      for (const StageId other : passes_[p]->stages) {
        const bool inside = plan_.stages[other].home == plan::Home::inside && plan_.stages[other].whole == s;
        const std::vector<StageId> sources = ir::sources(graph_, other);
        if (inside) first = std::min(first, p);
        const bool reads = std::find(sources.begin(), sources.end(), s) != sources.end();
        is_read |= reads;
        if (inside || reads) last = std::max(last, p);
      }
    return {first, is_read ? last : 0};
  }

  // Bytes, and where every region lies: as low as those allow that live at the same time.
  i64 place_shared(const std::vector<i64>& tile) {
    struct Taken {
      std::size_t first, last;
      i64 from, to;
    };
    std::vector<Taken> taken;
    i64 bytes = 0;
    for (auto& [s, region] : regions_) {
      region.extents = extents_of(s, tile);
      region.offset = -1;
      const auto [first, last] = life(s);
      if (plan_.stages[s].home == plan::Home::inside || last <= first) continue;  // nobody reads it
      i64 size = ir::nest::size_of(memory_lane(s));
      for (const i64 n : region.extents) size *= n;
      size = (size + 15) / 16 * 16;
      i64 at = 0;
      for (bool moved = true; moved;) {
        moved = false;
        for (const Taken& t : taken)
          if (t.first <= last && first <= t.last && t.from < at + size && at < t.to) at = t.to, moved = true;
      }
      region.offset = at;
      taken.push_back({first, last, at, at + size});
      bytes = std::max(bytes, at + size);
    }
    return bytes;
  }

  // Instructions a point of the anchor, more where few blocks fit a multiprocessor.
  double price_of(const std::vector<i64>& tile, i64 bytes) {
    double points = 1, work = 0;
    for (const i64 n : tile) points *= static_cast<double>(n);
    for (const auto& [s, pass] : pass_of_) work += work_of(s, tile);
    const double blocks = static_cast<double>(i64{200} << 10) / static_cast<double>(std::max<i64>(bytes, 1));
    return work / points * (blocks < 4 ? 1 + (4 - std::max(1.0, blocks)) * 0.15 : 1);
  }

  double work_of(StageId s, const std::vector<i64>& tile) {
    if (filled_.contains(s)) return 0;
    const ir::Stage& stage = graph_.stage(s);
    double each = beside_point;
    if (stage.kind == ir::StageKind::point)
      each +=
          analyze::instruction_count(graph_, {stage.body}, contracted()) + analyze::load_count(graph_, {stage.body});
    else
      each += static_cast<double>(stage.pieces.size() * rank_);
    const std::vector<i64> extents = extents_of(s, tile);
    for (std::size_t d = 0; d < rank_; ++d) {
      // Threads that stand by where a region is no multiple of the block.
      const i64 threads = d + 1 == rank_ ? threads_across : d + 2 == rank_ ? threads_down : 1;
      each *= static_cast<double>((extents[d] + threads - 1) / threads * threads);
    }
    return each;
  }

  // ---- the block ----
  void place_block() {
    first_.resize(rank_);
    Value block;
    for (std::size_t d = rank_; d-- > 0;) first_[d] = first_of_block(d, block);
  }

  void place_regions() {
    for (auto& [s, r] : regions_) {
      r.origin.clear();
      for (std::size_t d = 0; d < rank_; ++d) {
        const Rate& rate = r.rate[d];
        Value at = rate.den == 1 ? first_[d] : call_i64("tsr_short_quotient", {first_[d], integer(rate.den)});
        r.origin.push_back(builder_->let("origin", at * rate.num + rate.before));
      }
    }
  }

  // The end of a stage's rows that this launch computes.
  Value end_of_rows(const Region& r) {
    const Rate& rate = r.rate[0];
    Value last = end_of(0) * rate.num;
    return rate.den == 1 ? last : call_i64("tsr_short_quotient", {last + (rate.den - 1), integer(rate.den)});
  }

  // The end of a region: of the tile's, of the rows that this launch computes, of the domain.
  Value end_of_region(StageId s, std::size_t d) {
    const Region& r = regions_.at(s);
    Value end = min(r.origin[d] + r.extents[d], extent(graph_.stage(s).domain[d]));
    return d == 0 ? min(end, end_of_rows(r) + r.rate[0].after) : end;
  }

  // Do all regions, and all reads of memory, lie inside?
  Value everything_inside() {
    std::vector<Value> all;
    const auto inside = [&](const Value& lo, const Value& hi, const Value& n) {
      all.push_back(less(integer(-1), lo));
      all.push_back(less(hi, n));
    };
    for (const auto& [s, r] : regions_) {
      const ir::Stage& stage = graph_.stage(s);
      for (std::size_t d = 0; d < rank_; ++d)
        inside(r.origin[d], r.origin[d] + (r.extents[d] - 1), extent(stage.domain[d]));
      for (const analyze::Footprint& f : analyze::footprints(graph_, s)) {
        if (member(f.producer)) continue;
        const std::size_t lead = rank_ - f.dims.size();  // that an image lacks, which is read by a volume
        for (std::size_t d = lead; d < rank_; ++d) {
          const analyze::DimensionFootprint& dim = f.dims[d - lead];
          if (dim.whole || dim.scale < 1) return integer(0, flag_type);  // each read is mapped
          inside(r.origin[d] * dim.scale + dim.lo, (r.origin[d] + (r.extents[d] - 1)) * dim.scale + dim.hi,
                 extent(graph_.stage(f.producer).domain[d - lead]));
        }
      }
    }
    return all_of(std::move(all));
  }

  // ---- stages ----
  // Barriers stand outside of all branches.
  void all_passes(const Value& inside) {
    for (std::size_t p = 0; p < passes_.size(); ++p) {
      const StageId first = passes_[p]->stages.front();
      Region& r = regions_.at(first);
      index_.assign(rank_, {});
      std::vector<Value> ends;
      for (std::size_t d = 0; d < rank_; ++d) ends.push_back(builder_->let("end", end_of_region(first, d)));
      if (passes_[p]->composes()) {
        each_point(r, ends, 0, [&] { compose(first); });
      } else {
        builder_->branch(
            inside, [&] { each_point(r, ends, 0, [&] { points(*passes_[p], false); }); },
            [&] { each_point(r, ends, 0, [&] { points(*passes_[p], true); }); });
      }
      if (p + 1 < passes_.size()) builder_->call("tsr_barrier", {});
    }
  }

  template <class Body>
  void each_point(const Region& r, const std::vector<Value>& ends, std::size_t d, Body body) {
    if (d == rank_) return body();
    const bool across = d + 1 == rank_, down = d + 2 == rank_;
    Value begin = r.origin[d];
    if (across) begin = begin + call_i64("tsr_thread_x", {});
    if (down) begin = begin + call_i64("tsr_thread_y", {});
    builder_->loop("i", begin, ends[d],
                   integer(across ? threads_across
                           : down ? threads_down
                                  : 1),
                   [&](const Value& i) {
                     index_[d] = i;
                     builder_->branch(less(integer(-1), i), [&] { each_point(r, ends, d + 1, body); });
                   });
  }

  // Where the element of a stage lies in shared memory, counted in elements.
  Value shared_index(StageId s, const std::vector<Value>& at) const {
    const Region& r = regions_.at(s);
    Value index = at[0] - r.origin[0];
    for (std::size_t d = 1; d < rank_; ++d) index = index * r.extents[d] + (at[d] - r.origin[d]);
    return index + r.offset / ir::nest::size_of(memory_lane(s));
  }
  Value shared(Lane lane) const {
    return ir::nest::variable(fmt::format("tsr_shared_{}", name_of(lane)), {lane, 1, true});
  }

  Value read_member(StageId s, const std::vector<Value>& at) {
    return load(shared(memory_lane(s)), shared_index(s, at), 1);
  }

  // May an access map to a point that is not at hand? Its value is not used then.
  static bool strays(const ExprNode& node, bool mapped) {
    return mapped && std::any_of(node.border.begin(), node.border.end(),
                                 [](const Border& border) { return border.mode == BorderMode::constant; });
  }
  // The nearest point that is at hand.
  std::vector<Value> within(StageId s, std::vector<Value> at) {
    const Region& r = regions_.at(s);
    for (std::size_t d = 0; d < rank_; ++d)
      at[d] = builder_->let("i", call_i64("tsr_clamp", {at[d], r.origin[d], r.origin[d] + (r.extents[d] - 1)}));
    return at;
  }

  void points(const plan::Pass& pass, bool mapped) {
    domain_ = graph_.stage(pass.stages.front()).domain;
    std::vector<ExprId> roots;
    for (const StageId s : pass.stages) roots.push_back(graph_.stage(s).body);
    PointSource source = point_source();
    source.load = [&](const ExprNode& node, const Vars& vars) {
      return load_access(node, vars, mapped, [&](StageId s, const std::vector<Value>& at) {
        return !member(s) ? read(s, at) : read_member(s, strays(node, mapped) ? within(s, at) : at);
      });
    };
    PointEmitter emitter(graph_, ranges_, *builder_, source);
    emitter.emit(roots, [&](std::size_t k, const Value& v) {
      const StageId s = pass.stages[k];
      const bool piece = plan_.stages[s].home == plan::Home::inside;
      const StageId to = piece ? plan_.stages[s].whole : s;
      const Lane lane = memory_lane(to);
      Value out = builder_->let("v", without_margins(s, index_, emitter.stored(roots[k], v, lane), lane));
      if (piece)
        put_piece(s, to, out);
      else
        put(s, index_, out);
    });
  }

  void put_piece(StageId s, StageId whole, const Value& v) {
    const Region& r = regions_.at(whole);
    const std::vector<Value> at = place_in_whole(s);
    Value there;
    for (std::size_t d = 0; d < rank_; ++d) {
      there = both(there, less(r.origin[d] - 1, at[d]));
      there = both(there, less(at[d], end_of_region(whole, d)));
    }
    builder_->branch(there, [&] { put(whole, at, v); });
  }

  // Into shared memory, and to the result's array where the point is the block's own.
  void put(StageId s, const std::vector<Value>& at, const Value& v) {
    const Region& r = regions_.at(s);
    if (r.offset >= 0) builder_->store(shared(memory_lane(s)), shared_index(s, at), v);
    if (!is_result_.contains(s)) return;
    Value own;
    for (std::size_t d = 0; d < rank_; ++d) {
      own = both(own, less(r.origin[d] - (r.rate[d].before + 1), at[d]));
      own = both(own, less(at[d], r.origin[d] + (r.extents[d] - r.rate[d].after)));
    }
    own = both(own, less(at[0], end_of_rows(r)));  // rows beyond have no memory
    builder_->branch(own, [&] { builder_->store(element(s, at), integer(0), v); });
  }

  void compose(StageId s) {
    const auto from = [&](StageId piece, const std::vector<Value>& at) {
      return member(piece) ? read_member(piece, at) : read(piece, at);
    };
    const Value v = composed_value(s, memory_lane(s), from);
    put(s, index_, v);
  }

  // ---- facts ----
  void touch() {
    for (const auto& [s, r] : regions_) {
      const auto& [num, den, before, after] = r.rate[0];
      if (is_result_.contains(s)) writes(s, {.scale = num, .lo = 0, .hi = num - 1, .stride = den});
      if (filled_.contains(s)) continue;
      // Rows of the region, then what is read around them.
      for (const analyze::Footprint& f : analyze::footprints(graph_, s)) {
        if (member(f.producer)) continue;
        if (f.dims.size() != rank_) {
          reads(f.producer, {.whole = true});
          continue;
        }
        const analyze::DimensionFootprint& rows = f.dims[0];
        const i64 slack = std::max<i64>(1, rows.scale) * num;
        reads(f.producer, {.scale = rows.scale * num,
                           .lo = (rows.scale * before + rows.lo) * den - slack,
                           .hi = (rows.scale * after + rows.hi) * den + slack,
                           .stride = den,
                           .whole = rows.whole || rows.scale < 1,
                           .reflects = rows.reflects,
                           .wraps = rows.wraps});
      }
      for (const ir::Piece& piece : graph_.stage(s).pieces)
        if (piece.stage && !member(*piece.stage)) reads(*piece.stage, {.whole = true});
    }
  }

  void count(const std::vector<i64>& tile) {
    double points = 1;
    for (const i64 n : tile) points *= static_cast<double>(n);
    for (const auto& [s, pass] : pass_of_) kernel_.operations += work_of(s, tile) / points;
    for (const auto& [s, r] : regions_) {
      double share = 1;
      for (const i64 n : r.extents) share *= static_cast<double>(n);
      for (const analyze::Footprint& f : analyze::footprints(graph_, s))
        if (!member(f.producer)) kernel_.moves += share / points;
    }
    kernel_.moves += static_cast<double>(is_result_.size());
  }

  const plan::Group& group_;
  std::string why_;
  std::vector<const plan::Pass*> passes_;  // but composed stages whose pieces lie inside them
  std::map<StageId, std::size_t> pass_of_;
  std::set<StageId> filled_, is_result_;
  std::map<StageId, Region> regions_;
  std::vector<i64> multiple_;  // that tiles are of
  std::vector<Value> first_;   // point of the anchor of this block
};

}  // namespace

const DeviceWay shared_tiles = {
    "shared tiles", [](Schedule schedule) { return schedule == Schedule::tiled; },
    [](const WayQuestion& q) {
      const SharedTileFit fit = TileLowering(q.plan, q.interface, q.ranges, q.group, "").fit(q.most_shared);
      return fit.fits ? accepted(shared_tiles, held(fit)) : refused(shared_tiles, fit.why);
    },
    [](const WayQuestion& q, const plan::WayAnswer& answer, const std::string& name, DeviceProgram& program) {
      TileLowering(q.plan, q.interface, q.ranges, q.group, name).into(program, shape_of<SharedTileFit>(answer));
    }};

}  // namespace tessera::lower
