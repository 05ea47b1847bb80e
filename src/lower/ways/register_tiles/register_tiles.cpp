// See register_tiles.hpp.
#include "lower/ways/register_tiles/register_tiles.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "analyze/expressions.hpp"
#include "base/division.hpp"

namespace tessera::lower {

using ir::Op;
using ir::nest::integer;
using ir::nest::operation;
using ir::nest::Value;
using plan::StripRing;

namespace {

constexpr double most_text = 5200;  // instructions
// Of the cost of a point: four rows more, or halo columns from neighbours, have to save as much.
constexpr double worth_more_rows = 0.93, worth_more_rows_exchanged = 0.97;
constexpr double worth_exchange = 0.87;
constexpr i64 least_threads = 20;  // of a warp that store
constexpr i64 sector_columns = 8;  // tiles begin at so many: whole sectors of memory, of floats
// Instructions that make a register of two bytes of memory, and a byte of memory of a register.
constexpr double twins_of_bytes = 1.5, word_of_bytes = 0.75;
constexpr double worth_twins = 0.9;
constexpr double price_of_shuffle = 2;  // they share a port with loads: more than the one instruction that they are
constexpr double long_step = 100;       // of the frame: instructions and loads

}  // namespace

double RegisterTiles::text(i64 height) {
  double sum = 0;
  for (const StripRing& ring : strip_.rings) {
    if (ring.depth == 0) continue;
    const double rows = static_cast<double>(ring.rows_of_tile(height));
    if (ring.memory) {
      sum += rows * static_cast<double>(loads_of(ring).size());
    } else if (graph_.stage(ring.stage).kind == ir::StageKind::point) {
      sum += rows * operations_of(ring, 1);
    }
    if (!ring.memory && exchanging()) sum += rows * static_cast<double>(ring.left + ring.right) * price_of_shuffle;
    if (is_result_.contains(ring.stage))
      sum += static_cast<double>(ring.rate[0] * height * ring.own(width()) / vector_of(ring));
  }
  return sum;
}

// What brings values of memory into registers and back beside loads and stores: counted where shapes of one value a
// register and of two are compared, and in texts of the latter.
double RegisterTiles::conversions(i64 height) const {
  double sum = 0;
  for (const StripRing& ring : strip_.rings) {
    const i64 size = bytes_of(ring.stage);
    if (ring.depth == 0 || size > 2) continue;
    const double rows = static_cast<double>(ring.rows_of_tile(height)), row = static_cast<double>(ring.own(columns_));
    if (ring.memory)
      sum += rows * static_cast<double>(ring.columns(columns_)) * (values_ == 2 && size == 1 ? twins_of_bytes : 1);
    if (is_result_.contains(ring.stage))
      sum += static_cast<double>(ring.rate[0] * height) * row * (values_ == 2 || size == 2 ? 1 : word_of_bytes);
  }
  return sum;
}

// Whether the shape at hand is one; if so, and where it is the cheapest one so far, into `fit`.
void RegisterTiles::consider(StripFit& fit, double& least) {
  if (registers() > plan_.device.strip_registers || threads_of_tile() < least_threads) return;
  // A text grows with its rows by as much for each.
  const auto counted = [&](i64 height) { return text(height) + (values_ == 2 ? conversions(height) : 0); };
  const double of_four = counted(4), of_row = (counted(8) - of_four) / 4;
  const auto length = [&](i64 height) { return of_four + of_row * static_cast<double>(height - 4); };
  const auto points = [&](i64 height) { return static_cast<double>(height * width() * threads_of_tile()); };
  const auto cost = [&](i64 height) { return length(height) / points(height); };
  i64 height = length(8) <= most_text ? 8 : 4;
  if (length(height) > most_text) return;
  const double worth = exchanging() ? worth_more_rows_exchanged : worth_more_rows;
  while (height >= 8 && height < 16 && length(height + 4) <= most_text && cost(height + 4) < worth * cost(height))
    height += 4;
  const double price = cost(height) / (exchanging() ? worth_exchange : 1);
  if (fit.fits && price >= least) return;
  least = price;
  fit = {true, "", static_cast<int>(width()), values_, height, exchanging(), registers()};
  fit.price = (text(height) + conversions(height)) / points(height);
}

StripFit RegisterTiles::shape_of(i64 widest, int values) {
  StripFit fit;
  double least = 0;
  for (i64 v = std::max<i64>(widest, strip_.finest) / strip_.finest; v * strip_.finest > 1 && !fit.fits; v /= 2) {
    if (v % values != 0) break;
    values_ = values, columns_ = static_cast<int>(v) / values;
    if (values == 2 && !twins_fit()) break;
    consider(fit, least);
    if (!plan_.device.shuffles) continue;
    exchange();
    if (threads_of_tile() < 32) consider(fit, least);
    exchange_no_more();
  }
  values_ = 1;
  return fit;
}

// Columns of a thread, as many as one access holds, and rows of a tile that suit the group, where it has some.
// Measured on an H200: a tile loads and computes its halo rows beside its own, so eight beat four, but a text that
// does not fit the instruction cache loses more than that; more pay where stages in between are computed again.
bool RegisterTiles::choose_tile(StripFit& fit) {
  i64 widest = 1, in_memory = 1;
  for (const StripRing& ring : strip_.rings) {
    widest = std::max<i64>(widest, bytes_of(ring.stage));
    if (ring.memory || is_result_.contains(ring.stage)) in_memory = std::max<i64>(in_memory, bytes_of(ring.stage));
  }
  const i64 most = rank_ > 2 ? plan_.device.most_columns : 16;
  fit = shape_of(std::min<i64>(widest <= 2 ? 8 : 4, most), 1);
  const StripFit twins = shape_of(std::min(std::max<i64>(16 / in_memory, 8), most), 2);
  if (twins.fits && (!fit.fits || twins.price < worth_twins * fit.price)) fit = twins;
  return fit.fits;
}

void RegisterTiles::exchange() {
  together_ = strip_;
  halo_ = strip_.without_neighbours(width());
  while ((halo_[0] + halo_[1]) * width() % sector_columns != 0) ++halo_[1];
  strip_ = strip_.exchanged();
}

void RegisterTiles::exchange_no_more() {
  strip_ = together_;
  halo_ = {};
}

void RegisterTiles::find_frame(i64 height) {
  const auto [from, to] = steps_inside();
  DeviceKernel::Frame& f = kernel_.frame.emplace(DeviceKernel::Frame{});
  f.height = height;
  f.top = from - strip_.start, f.bottom = to;
  f.right = kernel_.domain.back();
  for (const StripRing& ring : strip_.rings) {
    if (ring.depth == 0) continue;
    const auto [left, right] = columns_beside(ring);
    const i64 own = ring.own(width());
    f.left = std::max(f.left, base::ceil_divide(left + halo_[0] * own, ring.rate[1]));
    f.right = smaller(f.right, StripStep::steps(domain_of(ring).back(), -right - halo_[1] * own, ring.rate[1]));
  }
  f.left = base::ceil_divide(f.left, 32) * 32;
  if (with_sides()) f.top = f.left = 0, f.bottom = kernel_.domain[0], f.sides = width();
  kernel_.points.back() = threads_of_tile() * width();
}

void RegisterTiles::tiles(const StripFit& fit) {
  if (fit.exchanges) exchange();
  find_frame(fit.height);
  Value block = builder_->let("block", call_i64("tsr_block", {}));
  builder_->branch(
      less(block, framed(Framed::blocks)), [&] { frame(block); }, [&] { tile(block - framed(Framed::blocks)); });
}

Value RegisterTiles::framed(Framed what) {
  return host({Kind::frame, {}, 0, static_cast<std::size_t>(what)});
}

Value RegisterTiles::all_rows() {
  Value all = integer(1);
  for (std::size_t d = 1; d + 1 < rank_; ++d) all = all * extent(kernel_.domain[d]);
  return all;
}

Value RegisterTiles::place_rows(const Value& group) {
  Value number = builder_->let("number", group * warps_of_block + call_i64("tsr_thread_y", {}));
  Value there = builder_->let("there", less(number, all_rows()));
  std::vector<Value> rows(rank_ - 2);
  for (std::size_t d = rank_ - 1; d-- > 1;) {
    const Value n = extent(kernel_.domain[d]);
    Value rest = d > 1 ? builder_->let("rest", call_i64("tsr_short_quotient", {number, n})) : Value{};
    rows[d - 1] = rest ? builder_->let("z", number - rest * n) : number;
    number = rest;
  }
  place_slices(std::move(rows));
  return there;
}

Value RegisterTiles::everything_inside() {
  Value all;
  for (std::size_t d = 1; d + 1 < rank_; ++d)
    for (const auto& [size, beside] : rows_beside(d)) {
      if (beside.first > 0) all = both(all, less(integer(beside.first - 1), slice(d)));
      all = both(all, less(slice(d) + beside.second, extent(size)));
    }
  const auto [from, to] = steps_inside();
  all = both(all, less(integer(from - strip_.start - 1), y0_));
  return both(all, less(y0_ + (kernel_.frame->height - 1), extent(to)));
}

bool RegisterTiles::with_sides() const {
  return rank_ > 2 && std::all_of(strip_.rings.begin(), strip_.rings.end(), [&](const StripRing& ring) {
           return ring.depth == 0 ||
                  (ring.rate == std::array<i64, 2>{1, 1} && domain_of(ring).back() == kernel_.domain.back() &&
                   std::max(ring.left, ring.right) <= width() &&
                   !(ring.memory && ring.border.back().mode == BorderMode::wrap));
         });
}

void RegisterTiles::tile(const Value& block) {
  const i64 height = kernel_.frame->height, across_tile = threads_of_tile() * width();
  const bool volume = rank_ > 2;
  Value tile = builder_->let("tile", block), across = framed(Framed::across);
  Value level = builder_->let("level", call_i64("tsr_short_quotient", {tile, across}));
  Value column = framed(Framed::left) + (tile - level * across) * across_tile;
  Value there;
  if (volume) {
    Value group = level;
    level = builder_->let("level", call_i64("tsr_short_quotient", {group, framed(Framed::groups)}));
    there = place_rows(group - level * framed(Framed::groups));
  }
  Value thread = builder_->let("thread", call_i64("tsr_thread_x", {}) - halo_[0]);
  place_columns(min(column, framed(Framed::right) - across_tile) + thread * width());
  if (exchanging())
    stores_ = builder_->let("stores", both(less(integer(-1), thread), less(thread, integer(threads_of_tile()))));
  Value down = volume ? level : level * warps_of_block + call_i64("tsr_thread_y", {});
  Value first = builder_->let("y", framed(Framed::top) + down * height);
  builder_->branch(both(there, less(first, framed(Framed::bottom))), [&] {
    y0_ = builder_->let("y0", min(first, framed(Framed::bottom) - height));
    if (stores_once()) others_ = builder_->let("others", convert(flag_type, first - y0_));
    if (!volume) return steps(height, true);
    if (kernel_.frame->sides > 0) {
      const Value &x = x_.at(1), n = extent(kernel_.domain.back());
      columns_patched_ = true;
      at_left_ = builder_->let("left", equal(x, 0));
      at_right_ = builder_->let("right", equal(x + width(), n));
      if (exchanging()) in_row_ = builder_->let("in_row", both(less(integer(-1), x), less(x, n)));
    }
    builder_->branch(everything_inside(), [&] { steps(height, true); }, [&] { steps(height, false); });
  });
  columns_patched_ = false;
  stores_.reset(), in_row_.reset(), others_.reset();
}

std::vector<ir::ExprId> RegisterTiles::bodies() const {
  std::vector<ir::ExprId> all;
  for (const StripRing& ring : strip_.rings)
    if (graph_.stage(ring.stage).kind == ir::StageKind::point) all.push_back(graph_.stage(ring.stage).body);
  return all;
}

bool RegisterTiles::stores_once() const {
  const std::vector<ir::ExprId> nodes = ir::postorder(graph_, bodies());
  return contracted() && std::any_of(nodes.begin(), nodes.end(), [&](ir::ExprId e) {
           const ir::ExprNode& n = graph_.node(e);
           const auto is_number = [&](ir::ExprId a) { return graph_.node(a).op == Op::constant; };
           return n.op == Op::mul && is_float(n.type) &&
                  (rank_ > 2 || std::none_of(n.args.begin(), n.args.end(), is_number));
         });
}

bool RegisterTiles::is_long_step() const {
  return analyze::instruction_count(graph_, bodies(), false) + analyze::load_count(graph_, bodies()) > long_step;
}

void RegisterTiles::steps(i64 height, bool inside) {
  rows_inside_ = slices_inside_ = inside, columns_inside_ = true;
  map_slices();
  declare_rings();
  for (i64 k = strip_.start; k < height; ++k) {
    known_step_ = k;
    step(builder_->let("y", y0_ + k));
  }
  known_step_.reset();
}

void RegisterTiles::frame(const Value& block) {
  const Value top = framed(Framed::top), bottom = framed(Framed::bottom), right = framed(Framed::right);
  Value there, warp = block * warps_of_block + call_i64("tsr_thread_y", {});
  if (rank_ > 2) {
    warp = builder_->let("warp", call_i64("tsr_short_quotient", {block, framed(Framed::groups)}));
    there = place_rows(block - warp * framed(Framed::groups));
  }
  warp = builder_->let("warp", warp);
  Value beyond_above = builder_->let("beyond", warp - framed(Framed::above));
  Value beyond_below = builder_->let("beyond", beyond_above - framed(Framed::below));
  Value beyond_left = builder_->let("beyond", beyond_below - framed(Framed::at_left));
  Value above = builder_->let("above", less(beyond_above, integer(0)));
  Value rows = builder_->let("whole", less(beyond_below, integer(0)));  // of all columns: above or below
  Value left = builder_->let("left", less(beyond_left, integer(0)));
  Value number =
      builder_->let("number", choose(above, warp, choose(rows, beyond_above, choose(left, beyond_below, beyond_left))));
  Value first_row_of = choose(above, first_row(), choose(rows, bottom, top));
  Value end_row = choose(above, top, choose(rows, end_of(0), bottom));
  Value first_column = choose(rows, integer(0), choose(left, integer(0), right));
  Value end_column = builder_->let("end", choose(rows, extent(kernel_.domain.back()),
                                                 choose(left, framed(Framed::left), extent(kernel_.domain.back()))));
  first_column = builder_->let("first", first_column);
  Value across = builder_->let("across", call_i64("tsr_short_quotient", {end_column - first_column + 31, integer(32)}));
  across = builder_->let("across", max(across, integer(1)));
  Value level = builder_->let("level", call_i64("tsr_short_quotient", {number, across}));
  const int own = std::exchange(columns_, 1), values = std::exchange(values_, 1);
  const plan::Strip text = strip_;
  if (exchanging()) strip_ = together_;  // a thread alone has no neighbours
  const auto halo = std::exchange(halo_, {});
  place_columns(first_column + (number - level * across) * 32 + call_i64("tsr_thread_x", {}));
  y0_ = builder_->let("y0", first_row_of + level * framed(Framed::rows));
  y1_ = builder_->let("y1", min(y0_ + framed(Framed::rows), end_row));
  builder_->branch(both(there, both(less(x_.at(1), end_column), less(y0_, y1_))), [&] {
    rows_inside_ = columns_inside_ = false, slices_inside_ = rank_ == 2;
    map_slices();
    declare_rings();
    builder_->unrolled_loop("y", builder_->let("start", y0_ + strip_.start), y1_, is_long_step() ? 1 : 0,
                            [&](const Value& y) { step(y); });
  });
  columns_ = own, values_ = values;
  strip_ = text;
  halo_ = halo;
}

}  // namespace tessera::lower
