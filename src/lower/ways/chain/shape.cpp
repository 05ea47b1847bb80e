// Shapes of chains of sums: all are priced, the cheapest is taken.
#include "lower/ways/chain/shape.hpp"

#include <algorithm>
#include <utility>

#include "base/division.hpp"

namespace tessera::lower {

using ir::nest::Lane;
using rewrite::SumChain;

namespace {

// Of images: chains of 11 taps along both dimensions are faster than tiles on an H200, those of 9 not.
constexpr double least_sums = 20;
constexpr double whole_in_floats = 0x1p24;
constexpr i64 deep = 24;            // planes that wait, of which so many rows a step are better than two
constexpr double most_text = 6000;  // instructions of a step
constexpr i64 registers_of_multiprocessor = 65536;
constexpr int most_registers = 232;
// Instructions: of a step beside its sums; of what is brought by itself, of an element that goes through registers, for
// which a thread waits; and what a vector of shared memory costs.
constexpr double beside_step = 36, price_of_vector = 8, price_of_element = 12, price_of_load = 2;

}  // namespace

ChainShape::ChainShape(plan::Plan& plan, const Interface& interface, analyze::Ranges& ranges, std::size_t group,
                       std::string name)
    : DeviceFunction(plan, interface, ranges, std::move(name)) {
  const plan::Group& own = plan_.groups[group];
  kernel_.group = group;
  kernel_.stages = own.stages;
  if (own.results.size() != 1 || own.results.front() != own.stages.back()) return;
  chain_ = rewrite::sum_chain(graph_, plan_.options.numbers, own.stages);
  if (!chain_) return;
  stage_ = chain_->last, source_ = chain_->source;
  kernel_.domain = domain_ = graph_.stage(stage_).domain;
  rank_ = kernel_.domain.size();
  find_lane();
}

ChainFit ChainShape::fit(i64 most_shared) {
  ChainFit best;
  for (ChainFit fit : shapes()) consider(fit, most_shared, best);
  return best;
}

// Of the sums; none where they are no chain for this machine.
void ChainShape::find_lane() {
  const ElementType type = graph_.node(chain_->sum).type;
  lane_ = ir::nest::lane_of(type);
  if (is_float(lane_) ? lane_ != Lane::f32 : chain_->most < whole_in_floats) lane_ = Lane::f32;
  const bool narrow = is_float(type) ? type == ElementType::f32 : true;
  const bool source = graph_.stage(source_).type != ElementType::f64;
  if (!narrow || !source) chain_.reset();
  if (!chain_) return;
  asks_ = plan_.device.row_chains && lane_ == Lane::f32 && memory_lane(source_) == Lane::f32 &&
          place(source_).element_stride == size();
}

std::vector<ChainFit> ChainShape::shapes() const {
  std::vector<ChainFit> list;
  if (!is_volume()) {
    for (const i64 columns : {4, 2})
      list.push_back({.columns = columns, .planes = !asks_ ? 1 : depth() > deep ? 4 : 2});
    return list;
  }
  for (const i64 rows : {2, 1})
    for (const i64 down : {16, 32, 8}) list.push_back({.rows = rows, .across = 16, .down = down});
  return list;
}

void ChainShape::shape(const ChainFit& fit) {
  fit_ = fit;
  threads_ = fit.across * fit.down;
  const SumChain::Along& row = along(rank_ - 1);
  left_ = base::ceil_divide(-row.lo, vector) * vector;
  window_ = base::ceil_divide(fit.columns + row.hi() + left_, vector) * vector;
  wide_ = base::ceil_divide((fit.across - 1) * fit.columns + window_, vector) * vector;
  high_ = is_volume() ? fit.down * fit.rows + taps(along(1)) - 1 : 1;
  each_ = base::ceil_divide(high_ * (asks_ ? wide_ / vector : wide_), threads_);
  beside_ = std::max<i64>(left_, 0) + vector - 1 + std::max<i64>(row.hi(), 0);
  each_beside_ = base::ceil_divide(high_ * beside_, threads_);
  part_ = asks_ ? high_ * wide_ : each_ * threads_;
  middle_ = is_volume() ? fit.down * fit.rows * wide_ : 0;
  items_ = is_volume() ? fit.down * fit.rows / fit.high * (wide_ / vector) : 0;
}

double ChainShape::sums_of_result() const {
  double n = static_cast<double>(depth() + taps(along(rank_ - 1)));
  if (is_volume()) n += static_cast<double>(taps(along(1)) * wide_) / static_cast<double>(fit_.across * fit_.columns);
  return n;
}

int ChainShape::blocks_at_once(const ChainFit& fit) {
  return static_cast<int>(std::max<i64>(
      1, registers_of_multiprocessor / (base::ceil_divide(fit.registers, i64{8}) * 8 * fit.across * fit.down)));
}

void ChainShape::consider(ChainFit fit, i64 most_shared, ChainFit& best) {
  for (fit.slots = asks_ ? (is_volume() ? 3 : 4) : 2; fit.slots >= 2; --fit.slots) {
    shape(fit);
    if (shared_elements() * size() <= most_shared) break;
  }
  if (fit.slots < 2 || left_ > fit.across * fit.columns || along(rank_ - 1).hi() > fit.across * fit.columns) return;
  const i64 results = fit.rows * fit.columns;
  const i64 brought = asks_ ? 2 * each_ + (is_volume() ? 3 * each_beside_ : 2) : 3 * each_;
  fit.registers = static_cast<int>(depth() * results + std::min<i64>(window_, 40) + brought + 22);
  if (fit.registers > most_registers || fit.registers * threads_ > registers_of_multiprocessor) return;
  const double each = static_cast<double>(fit.planes * results);
  double loads =
      static_cast<double>(fit.rows * fit.planes * window_) / static_cast<double>(std::min(fit.columns, vector));
  if (is_volume())
    loads += static_cast<double>(items_ * (taps(along(1)) + 2 * fit.high - 1)) / static_cast<double>(threads_);
  const double brings = static_cast<double>(fit.planes * each_) * (asks_ ? price_of_vector : price_of_element);
  const double instructions = sums_of_result() * each + price_of_load * loads + brings + beside_step;
  if (instructions > most_text) return;
  fit.price = instructions / each;
  fit.is_long = is_volume() || sums_of_result() >= least_sums;
  const double warps = static_cast<double>(blocks_at_once(fit) * threads_ / 32);
  const double cost = fit.price * (1 + 2 / warps);  // few warps cannot hide what the others wait for
  if (best.fits && cost >= cost_) return;
  cost_ = cost;
  fit.fits = true;
  best = fit;
}

}  // namespace tessera::lower
