// See strips.hpp.
#include "plan/passes/strips.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "base/division.hpp"
#include "rewrite/rebuild.hpp"

namespace tessera::plan {

using base::ceil_divide, base::floor_divide;
using ir::ExprId;
using ir::ExprNode;
using ir::Graph;
using ir::Op;
using ir::StageId;

namespace {

constexpr i64 most_rate = 32;    // beyond that no rows fit registers
constexpr i64 none = INT64_MIN;  // no row
constexpr std::size_t most_rings = 256;
constexpr const char* too_far = "its stages differ too much in size";

bool reflects(BorderMode mode) {
  return mode == BorderMode::mirror || mode == BorderMode::symmetric;
}

// Rows or columns that are read with a border, and those that it maps them to.
void map_border(StripRead::Dimension& d) {
  d.least = d.lo, d.most = d.hi;
  if (reflects(d.border.mode)) {
    d.least = std::min(d.lo, -d.hi), d.most = std::max(d.hi, -d.lo);
  } else if (d.border.mode == BorderMode::clamp) {
    d.least = std::min<i64>(d.lo, 0), d.most = std::max<i64>(d.hi, 0);
  }
}

void add(StripReads& all, const StripRead& read) {
  for (StripRead& r : all.reads) {
    bool same = r.stage == read.stage && r.slice == read.slice && r.between == read.between;
    for (std::size_t d = 0; d < 2; ++d)
      same = same && r.dims[d].mul == read.dims[d].mul && r.dims[d].div == read.dims[d].div &&
             r.dims[d].border == read.dims[d].border;
    // Pieces of a composed stage stand apart: what lies between two of them is read by neither.
    if (!same || read.dims[0].div * read.dims[1].div > 1) continue;
    for (std::size_t d = 0; d < 2; ++d) {
      r.dims[d].lo = std::min(r.dims[d].lo, read.dims[d].lo);
      r.dims[d].hi = std::max(r.dims[d].hi, read.dims[d].hi);
    }
    r.wraps |= read.wraps;
    return;
  }
  all.reads.push_back(read);
}

// Rates of one dimension as integers: the smallest ones that fit all.
class Rates {
 public:
  std::size_t add(i64 num, i64 den) {
    const i64 common = std::gcd(num, den);
    all_.push_back({num / common, den / common});
    return all_.size() - 1;
  }
  // False where they are too far apart.
  bool settle() {
    i64 unit = 1, common = 0;
    for (const auto& [num, den] : all_) {
      unit = std::lcm(unit, den);
      if (unit > most_rate) return false;
    }
    for (auto& [num, den] : all_) {
      if (num > most_rate) return false;
      num *= unit / den, den = 1;
      common = std::gcd(common, num);
    }
    for (auto& [num, den] : all_) {
      num /= common;
      if (num > most_rate) return false;
    }
    return true;
  }
  i64 operator[](std::size_t k) const { return all_[k].first; }

 private:
  std::vector<std::pair<i64, i64>> all_;
};

Slice sum(const Slice& a, const Slice& b) {
  Slice result = a;
  for (std::size_t d = 0; d < b.size(); ++d) result[d] += b[d];
  return result;
}

struct Building {
  Strip strip;
  std::set<StageId> member;
  std::vector<i64> newest, oldest;  // rows that are read, by ring

  void push(StripRing ring) {
    ring.first = INT64_MAX;
    strip.rings.push_back(ring);
    newest.push_back(none), oldest.push_back(INT64_MAX);
  }
};

// Rings of the stages, one for each slice that is read. False where they are too many.
bool add_stages(Building& b, const Graph& graph, const std::vector<StageId>& stages,
                const std::function<const StripReads&(StageId)>& reads) {
  std::map<StageId, std::set<Slice>> slices;
  std::size_t count = 0;
  for (std::size_t k = stages.size(); k-- > 0;) {
    std::set<Slice>& own = slices[stages[k]];
    own.insert(Slice(graph.stage(stages[k]).domain.size() - 2, 0));
    count += own.size();
    if (count > most_rings) return false;
    for (const StripRead& r : reads(stages[k]).reads) {
      if (!b.member.contains(r.stage)) continue;
      for (const Slice& reader : own)
        for (Slice& slice : r.slices(reader)) slices[r.stage].insert(std::move(slice));
    }
  }
  for (const StageId s : stages)
    for (const Slice& slice : slices.at(s)) {
      StripRing ring;
      ring.stage = s;
      ring.slice = slice;
      b.push(std::move(ring));
    }
  return true;
}

// Rates of all stages and arrays; the rings of arrays.
void find_rates(Building& b, const std::function<const StripReads&(StageId)>& reads,
                const std::function<const std::vector<StagePlan::Rate>&(StageId)>& rate) {
  const std::size_t members = b.strip.rings.size();
  const auto rate_of = [&](StageId s, std::size_t d) { return d == 0 ? rate(s).front() : rate(s).back(); };
  std::array<Rates, 2> rates;
  struct Read {
    const StripRead* read;
    Slice slice;
    std::array<std::size_t, 2> rate;
  };
  std::vector<Read> arrays;
  for (const StripRing& ring : b.strip.rings)
    for (std::size_t d = 0; d < 2; ++d) rates[d].add(rate_of(ring.stage, d).num, rate_of(ring.stage, d).den);
  for (const StripRing& ring : b.strip.rings)
    for (const StripRead& r : reads(ring.stage).reads) {
      if (b.member.contains(r.stage)) continue;
      Read read{&r, sum(ring.slice, r.slice), {}};
      for (std::size_t d = 0; d < 2; ++d) {
        const StagePlan::Rate own = rate_of(ring.stage, d);
        read.rate[d] = rates[d].add(own.num * r.dims[d].mul, own.den * r.dims[d].div);
      }
      arrays.push_back(std::move(read));
    }
  if (!rates[0].settle() || !rates[1].settle()) {
    b.strip.why = too_far;
    return;
  }
  for (std::size_t k = 0; k < members; ++k) b.strip.rings[k].rate = {rates[0][k], rates[1][k]};
  for (auto& [read, slice, at] : arrays) {
    StripRing ring;
    ring.stage = read->stage;
    ring.memory = true;
    ring.border = read->borders();
    ring.rate = {rates[0][at[0]], rates[1][at[1]]};
    ring.slice = std::move(slice);
    if (b.strip.ring(ring.stage, ring.border, ring.rate, ring.slice) == b.strip.rings.size()) b.push(std::move(ring));
  }
  for (const StripRing& ring : b.strip.rings) b.strip.finest = std::max(b.strip.finest, ring.rate[1]);
}

// What the rows of a stage that are computed need of what they read. Consumers come before producers.
void need(Building& b, const StripRing& to, const StripRead& r, const Slice& slice, bool composed) {
  std::array<i64, 2> rate{};
  for (std::size_t d = 0; d < 2; ++d) rate[d] = to.rate[d] * r.dims[d].mul / r.dims[d].div;
  const std::size_t k = b.strip.ring(r.stage, r.borders(), rate, slice);
  StripRing& from = b.strip.rings[k];
  for (std::size_t d = 0; d < 2; ++d)
    if (from.rate[d] * r.dims[d].div != to.rate[d] * r.dims[d].mul) {
      b.strip.why = "its stages advance at rates that do not fit";
      return;
    }
  const StripRead::Dimension &row = r.dims[0], &column = r.dims[1];
  const auto [up, down] = from.memory ? std::pair{row.lo, row.hi} : std::pair{row.least, row.most};
  const auto [west, east] = from.memory ? std::pair{column.lo, column.hi} : std::pair{column.least, column.most};
  const i64 low = ceil_divide(row.mul * to.first_fresh() + up, row.div);
  const i64 high = floor_divide(row.mul * (to.lag + to.rate[0] - 1) + down, row.div);
  if (low > high) return;  // no row of that piece
  from.only_pieces = composed && (b.newest[k] == none || from.only_pieces);
  b.oldest[k] = std::min(b.oldest[k], low);
  b.newest[k] = std::max(b.newest[k], high);
  from.first = std::min(from.first, ceil_divide(row.mul * to.first + up, row.div));
  from.left = std::max(from.left, -ceil_divide(west - column.mul * to.left, column.div));
  from.right = std::max(from.right, floor_divide(column.mul * (to.right - 1) + east, column.div) + 1);
  from.near_left = std::max(from.near_left, -ceil_divide(west, column.div));
  from.near_right = std::max(from.near_right, floor_divide(east - column.mul, column.div) + 1);
}

void settle_rows(StripRing& ring, i64 newest, i64 oldest) {
  if (newest == none) return;
  ring.lag = newest - (ring.rate[0] - 1);
  ring.depth = newest - oldest + 1;
}

void find_start(Strip& strip) {
  strip.start = 0;
  for (const StripRing& ring : strip.rings)
    if (ring.depth > 0) strip.start = std::min(strip.start, floor_divide(ring.first - ring.lag, ring.rate[0]));
}

}  // namespace

StripReads strip_reads(Graph& graph, StageId s) {
  const ir::Stage& stage = graph.stage(s);
  const std::size_t rank = stage.domain.size();
  StripReads result;
  const auto refused = [&](const char* why) {
    result.why = why;
    return result;
  };
  if (stage.kind == ir::StageKind::compose) {
    if (rank != 2) return refused("it puts stages of more than two dimensions together");
    if (!rewrite::tiled_by_pieces(graph, stage)) return refused("it puts stages together other than in turns");
    for (const ir::Piece& piece : stage.pieces) {
      StripRead read;
      read.stage = *piece.stage;
      for (std::size_t d = 0; d < 2; ++d) {
        const i64 start = *graph.constant(piece.start[d]);
        read.dims[d] = {1, piece.stride[d], -start, -start, -start, -start, {}};
      }
      add(result, read);
    }
    return result;
  }
  std::set<StageId> gathered;
  for (const ExprId e : ir::postorder(graph, {stage.body})) {
    const ExprNode& node = graph.node(e);
    if (is_lanes(node.op)) return refused("it reduces a whole image");
    if (is_into(node.op)) return refused("it puts elements into bins");
    if (node.op == Op::gather || node.op == Op::value || node.op == Op::partial) gathered.insert(node.stage);
    if (node.op != Op::access) continue;
    if (graph.stage(node.stage).domain.size() != rank) return refused("it reads an array of fewer dimensions");
    StripRead read;
    read.stage = node.stage;
    for (std::size_t d = 0; d < rank; ++d) {
      const ir::Index& index = node.index[d];
      const bool between = d > 0 && d + 1 < rank;
      if (index.scale < 1 || graph.constant(index.shift) != 0 || !index.vars.empty())
        return refused("it reads at other than constant distances");
      if (index.scale > (between ? 1 : most_rate)) return refused(too_far);
      read.wraps |= node.border[d].mode == BorderMode::wrap && index.offset != 0;
      if (between) {
        read.slice.push_back(index.offset);
        read.between.push_back(node.border[d]);
      } else {
        read.dims[d == 0 ? 0 : 1] = {index.scale, 1, index.offset, index.offset, 0, 0, node.border[d]};
      }
    }
    add(result, read);
  }
  for (StripRead& r : result.reads)
    for (StripRead::Dimension& d : r.dims) map_border(d);
  result.gathered.assign(gathered.begin(), gathered.end());
  return result;
}

std::vector<Border> StripRead::borders() const {
  std::vector<Border> result{dims[0].border};
  result.insert(result.end(), between.begin(), between.end());
  result.push_back(dims[1].border);
  return result;
}

std::vector<Slice> StripRead::slices(const Slice& reader) const {
  std::vector<Slice> result{{}};
  for (std::size_t d = 0; d < slice.size(); ++d) {
    StripRead::Dimension span{1, 1, slice[d], slice[d], 0, 0, between[d]};
    map_border(span);
    std::vector<Slice> longer;
    for (const Slice& begun : result)
      for (i64 at = span.least; at <= span.most; ++at) {
        longer.push_back(begun);
        longer.back().push_back(reader[d] + at);
      }
    result = std::move(longer);
  }
  return result;
}

std::size_t Strip::ring(StageId s, const std::vector<Border>& border, const std::array<i64, 2>& rate,
                        const Slice& slice) const {
  for (std::size_t k = 0; k < rings.size(); ++k) {
    const StripRing& r = rings[k];
    if (r.stage == s && r.slice == slice && (!r.memory || (r.border == border && r.rate == rate))) return k;
  }
  return rings.size();
}

Strip Strip::exchanged() const {
  Strip result = *this;
  for (StripRing& ring : result.rings) ring.left = ring.near_left, ring.right = ring.near_right;
  return result;
}

std::array<i64, 2> Strip::without_neighbours(i64 v) const {
  std::array<i64, 2> threads{};
  for (const StripRing& ring : rings) {
    if (ring.memory || ring.depth == 0) continue;
    threads[0] = std::max(threads[0], ceil_divide(ring.left, ring.own(v)));
    threads[1] = std::max(threads[1], ceil_divide(ring.right, ring.own(v)));
  }
  return threads;
}

void Strip::look_ahead(i64 steps) {
  for (StripRing& ring : rings)
    if (ring.memory) ring.lag += steps * ring.rate[0], ring.depth += steps * ring.rate[0];
  find_start(*this);
}

int Strip::registers(i64 v, const std::function<int(StageId)>& bytes) const {
  // Addresses, counters, and what a row of columns takes on its way; rows that no later step reads come and go.
  i64 n = 24 + 3 * v, passing = 0;
  for (const StripRing& ring : rings) {
    const i64 words = std::max(1, bytes(ring.stage) / 4);
    const bool goes = !ring.memory && ring.depth <= ring.rate[0];
    if (goes && ring.only_pieces) continue;
    if (goes && ring.left + ring.right == 0)
      passing = std::max(passing, (ring.fresh() * ring.own(v) - v) * words);
    else
      n += ring.depth * ring.columns(v) * words;
  }
  return static_cast<int>(std::min<i64>(n + passing, 1 << 20));
}

int Strip::columns_for(int most_registers, const std::function<int(StageId)>& bytes) const {
  int widest = 0;
  for (const StripRing& ring : rings) widest = std::max(widest, bytes(ring.stage));
  for (const int v : {8, 4, 2}) {
    if (v == 8 && widest > 2) continue;
    if (registers(v, bytes) <= (v > 2 ? wide_strip_registers : most_registers)) return v;
  }
  return finest > 1 ? 1 : 2;  // two columns of the finest stage at least
}

bool Strip::has_slices() const {
  return std::any_of(rings.begin(), rings.end(), [](const StripRing& ring) { return !ring.memory && !ring.is_own(); });
}

double Strip::repetition(i64 v, const std::function<double(StageId)>& operations) const {
  double own = 0, all = 0;
  for (const StripRing& ring : rings) {
    if (ring.memory) continue;
    const double row = operations(ring.stage) * static_cast<double>(ring.rate[0]);
    if (ring.is_own()) own += row * static_cast<double>(ring.rate[1]);
    all += row * static_cast<double>(ring.columns(v)) / static_cast<double>(v);
  }
  return own > 0 ? all / own : 1;
}

Strip strip_of(const Graph& graph, const std::vector<StageId>& stages,
               const std::function<const StripReads&(StageId)>& reads, const std::function<bool(StageId)>& is_result,
               const std::function<const std::vector<StagePlan::Rate>&(StageId)>& rate) {
  Building b;
  b.member.insert(stages.begin(), stages.end());
  const auto refused = [](std::string why) {
    Strip none_at_all;
    none_at_all.why = std::move(why);
    return none_at_all;
  };
  for (const StageId s : stages) {
    const StripReads& all = reads(s);
    if (!all.why.empty()) return refused(all.why);
    for (const StripRead& r : all.reads)
      if (r.wraps && b.member.contains(r.stage)) return refused("a stage of it wraps");
    for (const StageId from : all.gathered)
      if (b.member.contains(from)) return refused("a stage of it is read at computed places");
  }
  if (!add_stages(b, graph, stages, reads)) return refused("its stages are read at too many rows beside their own");
  const std::size_t members = b.strip.rings.size();
  find_rates(b, reads, rate);
  if (!b.strip.why.empty()) return refused(b.strip.why);
  for (std::size_t k = members; k-- > 0;) {
    StripRing& ring = b.strip.rings[k];
    if (is_result(ring.stage) && ring.is_own()) {  // all of its rows are computed when the last step is
      b.newest[k] = std::max(b.newest[k], ring.rate[0] - 1);
      b.oldest[k] = std::min(b.oldest[k], b.newest[k] - (ring.rate[0] - 1));
      ring.first = std::min<i64>(ring.first, 0);
    }
    settle_rows(ring, b.newest[k], b.oldest[k]);
    if (ring.depth == 0) continue;
    const StripRing to = ring;
    const bool composed = graph.stage(to.stage).kind == ir::StageKind::compose;
    for (const StripRead& r : reads(to.stage).reads) {
      const bool own = b.member.contains(r.stage);
      for (const Slice& slice : own ? r.slices(to.slice) : std::vector<Slice>{sum(to.slice, r.slice)})
        need(b, to, r, slice, composed);
    }
    if (!b.strip.why.empty()) return refused(b.strip.why);
  }
  for (std::size_t k = members; k < b.strip.rings.size(); ++k) settle_rows(b.strip.rings[k], b.newest[k], b.oldest[k]);
  find_start(b.strip);
  return b.strip;
}

}  // namespace tessera::plan
