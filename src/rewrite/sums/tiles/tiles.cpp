// See tiles.hpp.
#include "rewrite/sums/tiles/tiles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "analyze/expressions.hpp"
#include "ir/build.hpp"
#include "rewrite/sums/bytes.hpp"
#include "rewrite/sums/low_rank.hpp"
#include "rewrite/sums/running.hpp"
#include "rewrite/sums/tiles/device_tiles.hpp"

namespace tessera::rewrite {

using ir::ExprId;
using ir::ExprNode;
using ir::Graph;
using ir::Op;
using ir::Stage;
using ir::StageId;
using ir::StageKind;

namespace {

constexpr std::size_t least_terms = 26;  // that are worth a look

// ---- nanoseconds a point on a core with vectors of 64 bytes, floats; the prices themselves: prices.hpp ------------

// A plane of tiles of a volume goes forward once and back once.
constexpr double there_or_back = 0.5;
constexpr double near_spectra = 400e3, far_spectra = 12e6;  // bytes: of L2, and of L3
constexpr i64 most_marching = 800 << 10;  // bytes of the spectra of weights and of all pairs that march together
constexpr i64 most_stack = i64{1} << 22;  // points of the spectra of all planes
constexpr i64 most_rows = 32;
constexpr double most_whole = 0x1p28;  // points of an image that is transformed as a whole
constexpr double few_taps = 48;        // of all products of a sum of low rank
constexpr double most_written = 128;   // terms

bool cheaper(const SumChoice::Price& a, const SumChoice::Price& b) {
  return a.nanoseconds < b.nanoseconds;
}

double direct(const machine::Prices& p, double terms, i64 rows) {
  if (rows == 1) return terms * (terms <= most_written ? p.row_term : p.long_row_term);
  return terms * (rows <= most_rows ? p.term : p.loop_term);
}

// Of few products, each one dimension at a time. More of them want more registers than there are.
double of_products(const machine::Prices& p, const std::vector<Product>& products, bool volume) {
  double taps = 0, terms = 0;
  for (const Product& product : products)
    for (const Product::Factor& f : product.factors)
      (f.dims.size() == 1 ? taps : terms) += static_cast<double>(f.weights.size());
  const double few = std::min(taps, few_taps);
  const double price = p.products_kept + p.product_tap * few + p.late_product_tap * (taps - few) + p.term * terms;
  return price * (volume ? p.volume_tap / p.tap : 1);
}

// The sum as stages without transforms, by the methods that apply: term by term; weights that are an outer product, or
// the sum of few, one dimension at a time.
std::vector<SumChoice::Price> without_transforms(const machine::Prices& p, const Tensor& w, ElementType type,
                                                 bool finite) {
  double terms = 0;
  for (double x : w.at) terms += x != 0;
  const std::size_t rows = w.rank - 2, columns = w.rank - 1;
  const i64 planes = w.count() / (w.extent[rows] * w.extent[columns]);
  const bool volume = planes > 1;
  std::vector<SumChoice::Price> prices{{Method::direct, volume && w.extent[rows] <= most_rows
                                                            ? p.volume_term * terms
                                                            : direct(p, terms, w.extent[rows])}};
  // Every dimension for itself, or one for itself and the others together.
  std::vector<std::size_t> moving;
  for (std::size_t d = 0; d < w.rank; ++d)
    if (w.extent[d] > 1) moving.push_back(d);
  if (moving.size() < 2) return prices;
  const double kept = volume ? p.volume_kept : p.kept;
  const auto along = [&](std::size_t d) { return (volume ? p.volume_tap : p.tap) * static_cast<double>(w.extent[d]); };
  std::vector<std::vector<std::size_t>> each;
  double price = 0;
  for (const std::size_t d : moving) {
    each.push_back({d});
    price += along(d);
  }
  price += kept * static_cast<double>(moving.size() - 1);
  if (const auto product = outer_product(w, type, each, 0)) {
    for (const Product::Factor& f : product->factors)  // equal neighbours are taken by blocks
      price -= along(f.dims[0]) * (1 - running_terms(f.weights) / static_cast<double>(f.weights.size()));
    prices.push_back({Method::separable, price});
    return prices;
  }
  if (moving.size() == 3) {
    const std::vector<std::size_t> others(moving.begin() + 1, moving.end());
    const double apart = along(moving[0]) + kept + p.term * terms / static_cast<double>(w.extent[moving[0]]);
    if (outer_product(w, type, {{moving[0]}, others}, 0)) prices.push_back({Method::separable, apart});
  }
  const double least = std::min_element(prices.begin(), prices.end(), cheaper)->nanoseconds;
  double taps = 0;
  for (const std::size_t d : moving) taps += static_cast<double>(w.extent[d]);
  const double most = std::min(static_cast<double>(most_products), least / (p.product_tap * taps));
  if (most < 2) return prices;
  const std::vector<std::size_t> order(moving.rbegin(), moving.rend());
  if (const auto found = low_rank(w, type, order, static_cast<std::size_t>(most), finite);
      found && have_fewer_terms(*found, w))
    prices.push_back({Method::low_rank, of_products(p, *found, volume)});
  return prices;
}

struct Machine {
  i64 lanes, bytes;  // numbers of a vector, and rows that tiles of one row are taken in at once; of a number
};

// A point of a tile, of which those of one row are taken `lanes` at once; measured with 16 lanes, see
// docs/design/sums.md. Tiles that leave a part of L2 cost more.
double of_tile_points(const machine::Prices& p, i64 rows, i64 columns, i64 lanes) {
  const double points = static_cast<double>((rows == 1 ? lanes : rows) * columns), in_cache = 144 * 144;
  const double farther = points > in_cache ? p.large_tile_point * std::log2(points / in_cache) : 0;
  if (rows == 1) return p.row_tile_point + p.row_tile_doubling * std::log2(columns) + farther;
  return p.tile_point + farther;
}

constexpr i64 tile_extents[] = {32,  48,  64,  80,  96,  112, 128, 144, 160, 192, 240,
                                256, 288, 320, 384, 480, 512, 576, 640, 768, 800, 960};

// Of one row as well.
constexpr i64 row_extents[] = {1200, 1536, 1920, 2400, 3072, 3840, 4800, 6144, 7680};

// Of so many points on tiles cover what there is about as well as ever.
constexpr i64 large_extent = 1024;

// What is computed for a point where tiles of `results` points cover an extent, perhaps known.
double covering(i64 points, i64 results, std::optional<i64> extent) {
  const auto tiles = [&](i64 n) { return static_cast<double>(n) * static_cast<double>(points); };
  if (!extent || *extent < 1) return tiles(1) / static_cast<double>(results);
  return tiles((*extent + results - 1) / results) / static_cast<double>(*extent);
}

// A point of a tile of a stack of planes, `along` of them in the dimension that is marched: pairs of the others go
// forward for each of their volumes.
double of_stack_points(const machine::Prices& p, i64 rows, i64 columns, i64 planes, i64 along, const Machine& machine) {
  const double spectra = static_cast<double>(4 * planes * rows * columns * machine.bytes);
  const double forward = there_or_back * static_cast<double>(planes) / static_cast<double>(along);
  const double farther = p.far_product * std::log2(std::max(1.0, spectra / near_spectra));
  const double product = spectra > far_spectra ? p.memory_product : std::min(p.most_product, p.product + farther);
  return of_tile_points(p, rows, columns, machine.lanes) * (forward + there_or_back) +
         product * static_cast<double>(planes);
}

// Of K planes of weights, so many along one dimension, of K0 x K1. `extents`: where they are known.
Tiling cheapest_tiles(const machine::Prices& p, const Tensor& w, const Machine& machine,
                      const std::array<std::optional<i64>, 2>& extents, bool signal) {
  const i64 k0 = w.extent[w.rank - 2], k1 = w.extent[w.rank - 1], lanes = machine.lanes;
  const i64 planes = w.count() / (k0 * k1), along = w.rank > 2 ? w.extent[w.rank - 3] : 1;
  Tiling best;
  const auto consider = [&](i64 rows, i64 columns) {
    const i64 high = rows == 1 ? lanes : rows - k0 + 1, wide = columns - k1 + 1;
    if (high < 1 || wide < 1) return;
    const double pairs = covering(2 * columns, 2 * wide, extents[1]);
    const double repeated = signal && rows == 1 ? covering(2 * lanes * columns, 2 * lanes * wide, extents[1])
                                                : covering(rows == 1 ? lanes : rows, high, extents[0]) * pairs;
    if (planes > 1 && (rows == 1 || planes * rows * columns > most_stack)) return;
    const double price = repeated * (planes > 1 ? of_stack_points(p, rows, columns, planes, along, machine)
                                                : of_tile_points(p, rows, columns, lanes));
    if (best.rows == 0 || price < best.nanoseconds)
      best = {
          .rows = rows,
          .columns = columns,
          .high = high,
          .wide = wide,
          .planes = planes,
          .along = along,
          .pairs = planes == 1 ? 1 : std::max<i64>(1, most_marching / (4 * planes * rows * columns * machine.bytes)),
          .nanoseconds = price};
  };
  for (const i64 columns : tile_extents) {
    if (k0 == 1) consider(1, columns);
    for (const i64 rows : tile_extents) consider(rows, columns);
  }
  for (const i64 columns : row_extents)
    if (k0 == 1) consider(1, columns);
  return best;
}

}  // namespace

std::optional<Convolution> convolution_of(const Graph& graph, const Stage& stage, Numbers numbers,
                                          std::size_t least_rank) {
  if (stage.kind != StageKind::point) return {};
  const bool real = stage.type == ElementType::f32 || stage.type == ElementType::f64;
  if (!real && stage.type != ElementType::i32 && stage.type != ElementType::u32) return {};
  if (real && numbers != Numbers::fast) return {};
  const std::size_t rank = stage.domain.size();
  if (rank < least_rank) return {};
  i64 steps = i64{1} << 26;
  LinearForms forms(graph, numbers, stage.body, steps);
  if (!forms.linear(stage.body)) return {};
  const auto sum = forms.expand(stage.body);
  if (!sum || sum->weights.empty()) return {};
  const ExprNode& leaf = graph.node(sum->leaf);
  const ExprNode& access = leaf.op == Op::convert ? graph.node(leaf.args[0]) : leaf;
  const Stage& source = graph.stage(access.stage);
  if (source.domain != stage.domain || source.type == ElementType::f16 || source.type == ElementType::boolean)
    return {};
  if (!real && is_float(source.type)) return {};  // every term is rounded
  for (const ir::Index& index : access.index)
    if (index.scale != 1 || index.shift != ir::SizeId{}) return {};
  auto weights = tensor_of(sum->weights, access.index, stage.type);
  if (!weights) return {};
  if (rank < 2) return Convolution{access.stage, access.border, std::move(*weights)};
  // Of one plane in itself: stacks march.
  const i64 planes = weights->count() / (weights->extent[rank - 2] * weights->extent[rank - 1]);
  for (std::size_t d = 0; d + 2 < rank && planes == 1; ++d)
    if (weights->lo[d] != 0) return {};
  return Convolution{access.stage, access.border, std::move(*weights)};
}

namespace {

// The numbers that tiles of so many points are computed in, where sums of integers are found by rounding: four times
// the error of a tile (fft/cpu/tile.hpp) is less than a half.
std::optional<ElementType> numbers_of(const Graph& graph, const Stage& stage, const Convolution& sum, double points) {
  if (is_float(stage.type)) return stage.type;
  const auto [lo, hi] = ir::integer_limits(graph.stage(sum.source).type);
  double most = std::max(std::fabs(lo), std::fabs(hi)), weights = 0;
  for (const Border& b : sum.border)
    if (b.mode == BorderMode::constant) most = std::max(most, std::fabs(b.value));
  for (const double w : sum.weights.at) weights += std::fabs(w);
  const double error = 4 * 2 * std::log2(points) * most * weights;
  if (error * 0x1p-24 < 0.5) return ElementType::f32;
  if (error * 0x1p-53 < 0.5) return ElementType::f64;
  return {};
}

bool stays_within(const Graph& graph, const Stage& stage, const Convolution& sum) {
  auto [lo, hi] = ir::integer_limits(graph.stage(sum.source).type);
  for (const Border& b : sum.border)
    if (b.mode == BorderMode::constant) lo = std::min(lo, b.value), hi = std::max(hi, b.value);
  const auto [least, most] = ir::integer_limits(stage.type);
  double below = 0, above = 0;
  for (const double w : sum.weights.at) {
    below += std::min(w * lo, w * hi);
    above += std::max(w * lo, w * hi);
  }
  return least <= below && above <= most;
}

}  // namespace

// Sums of integers have to be found by rounding, and must not leave their type, which a product of spectra would not
// wrap around. Values beyond a border take part in all results: they have to be finite.
bool TransformedSums::mark_whole(Stage& stage) {
  const auto found = convolution_of(graph_, stage, numbers_, 1);
  if (!found) return false;
  const Tensor& w = found->weights;
  SumChoice choice;
  choice.stage = stage.name;
  choice.extents.assign(w.extent.begin(), w.extent.begin() + static_cast<std::ptrdiff_t>(w.rank));
  const auto number = numbers_of(graph_, stage, *found, most_whole);
  for (const Border& b : found->border)
    if (b.mode == BorderMode::constant && !std::isfinite(b.value)) choice.refusal = "its border is not finite";
  if (!number || (!is_float(stage.type) && !stays_within(graph_, stage, *found)))
    choice.refusal = "its integers are too large to be found by rounding";
  const bool yes = choice.refusal.empty();
  if (yes) {
    choice.taken = Method::whole;
    Tiling tiling;
    tiling.rows = 1;
    tiling.number = *number;
    stage.note = tilings_.add(tiling);
  }
  choices_.push_back(std::move(choice));
  return yes;
}

std::vector<Stage> TransformedSums::marked(const Stage& given, std::vector<std::string>& remarks) {
  Stage stage = given;
  if (method_ == Method::whole) return mark_whole(stage) ? std::vector{stage} : std::vector<Stage>{};
  const auto found = convolution_of(graph_, stage, numbers_);
  if (!found) return {};
  const Tensor& w = found->weights;
  const i64 k0 = w.extent[w.rank - 2], k1 = w.extent[w.rank - 1];
  const i64 planes = w.count() / (k0 * k1);
  SumChoice choice;
  choice.stage = stage.name;
  choice.extents.assign(w.extent.begin(), w.extent.begin() + static_cast<std::ptrdiff_t>(w.rank));
  if (of_device()) {
    const double points = points_of(graph_, stage, assumed_);
    choice.prices = {{Method::direct, device_direct(w, stage.type, graph_.stage(found->source).type, points)}};
    if (const auto apart = device_apart(w, stage.type, points)) choice.prices.push_back({Method::separable, *apart});
  } else {
    choice.prices = without_transforms(device_.prices, w, stage.type, !is_float(graph_.stage(found->source).type));
    for (SumChoice::Price& p : choice.prices)
      p.nanoseconds *= 16.0 * 4 / device_.vector_bytes * (stage.type == ElementType::f64 ? 2 : 1);
    if (const auto products = price_by_quads(graph_, device_, stage, found->source, w))
      choice.prices[0].nanoseconds = std::min(choice.prices[0].nanoseconds, *products);
  }
  const double without = std::min_element(choice.prices.begin(), choice.prices.end(), cheaper)->nanoseconds;
  Tiling tiles = tiles_of(stage, *found);
  steps_left_ -= w.count();
  // In one piece or in boxes, which are made where transforms are wanted at all.
  double price = tiles.rows > 0 ? tiles.nanoseconds : std::numeric_limits<double>::infinity();
  std::vector<Stage> boxes;
  const bool wanted = method_ == Method::transform || method_ == Method::automatic;
  const auto cut = cut_of(stage, *found, price);
  if (cut && (method_ == Method::transform || cut->nanoseconds < without)) {
    if (wanted) boxes = boxes_of(stage, *found, *cut);
    if (!wanted || !boxes.empty()) tiles = cut->tiles, price = cut->nanoseconds;
  }
  const bool can = tiles.rows > 0;
  if (can) choice.prices.push_back({Method::transform, price});
  const bool yes = can && (method_ == Method::transform || (method_ == Method::automatic && price < without));
  // What is taken otherwise says so elsewhere, and all prices stand beside the choice.
  if (yes)
    remarks.push_back(fmt::format("window of '{}', {}{} x {}, is taken {}through Fourier transforms of {} x {} tiles",
                                  stage.name, planes > 1 ? fmt::format("{} planes of ", planes) : "", k0, k1,
                                  boxes.size() > 1 ? fmt::format("in {} boxes ", boxes.size()) : "", tiles.rows,
                                  tiles.columns));
  if (yes) choice.taken = Method::transform;
  choices_.push_back(std::move(choice));
  if (!yes) return {};
  if (!boxes.empty()) return boxes;
  stage.note = tilings_.add(tiles);
  return {stage};
}

bool TransformedSums::fits(const Stage& stage, const Convolution& sum, const Tiling& tiles) const {
  const auto number = numbers_of(graph_, stage, sum, static_cast<double>(tiles.rows * tiles.columns * tiles.planes));
  return number && size_of(*number) <= size_of(tiles.number);
}

// Tiles that such a sum may be taken by, with their price; none where there are no good ones. Sums of integers are
// taken in floats where tiles of floats, which are larger, are small enough for the proof.
Tiling TransformedSums::tiles_of(const Stage& stage, const Convolution& sum) const {
  if (!device_.transforms && !device_.large_tiles) return {};
  if (is_float(stage.type)) return tiles_of(stage, sum, stage.type);
  for (const ElementType number : {ElementType::f32, ElementType::f64}) {
    const Tiling tiles = tiles_of(stage, sum, number);
    if (tiles.rows == 0) continue;
    const double points = static_cast<double>(tiles.rows * tiles.columns * tiles.planes);
    if (const auto proven = numbers_of(graph_, stage, sum, points); proven && size_of(*proven) <= size_of(number))
      return tiles;
  }
  return {};
}

Tiling TransformedSums::tiles_of(const Stage& stage, const Convolution& sum, ElementType number) const {
  const Tensor& w = sum.weights;
  const i64 planes = w.count() / (w.extent[w.rank - 2] * w.extent[w.rank - 1]);
  if (of_device()) return planes == 1 ? tiles_of_device(stage, sum, number) : Tiling{};
  const i64 bytes = number == ElementType::f64 ? 8 : 4;
  const auto extent = [&](std::size_t d) -> std::optional<i64> {
    const i64 assumed = graph_.evaluate(stage.domain[d], assumed_);
    if (planes > 1 || assumed < large_extent) return assumed;
    return graph_.constant(stage.domain[d]);
  };
  const std::array<std::optional<i64>, 2> extents{extent(w.rank - 2), extent(w.rank - 1)};
  const bool signal = w.rank == 2 && graph_.constant(stage.domain[0]) == 1;
  Tiling tiles = cheapest_tiles(device_.prices, w, {device_.vector_bytes / bytes, bytes}, extents, signal);
  const double narrow = 16.0 * static_cast<double>(bytes) / device_.vector_bytes;  // against vectors of 16 floats
  tiles.nanoseconds = tiles.nanoseconds * narrow + (is_float(stage.type) ? 0 : device_.prices.rounding);
  tiles.number = number;
  return tiles;
}

// Of a block, or of three kernels: the cheaper ones of those that are small enough for the proof.
Tiling TransformedSums::tiles_of_device(const Stage& stage, const Convolution& sum, ElementType number) const {
  const Tensor& w = sum.weights;
  const std::array<ir::SizeId, 2> sizes{stage.domain[w.rank - 2], stage.domain[w.rank - 1]};
  Tiling best;
  const auto consider = [&](Tiling tiles) {
    if (tiles.rows == 0 || (best.rows > 0 && best.nanoseconds <= tiles.nanoseconds)) return;
    const auto proven = numbers_of(graph_, stage, sum, static_cast<double>(tiles.rows * tiles.columns));
    if (!proven || size_of(*proven) > size_of(number)) return;
    best = tiles;
    best.number = number;
  };
  const double points = points_of(graph_, stage, assumed_);
  if (device_.transforms && device_.row_threads > 0)
    consider(device_tile(w, number, is_float(stage.type), device_.row_threads,
                         {graph_.constant(sizes[0]), graph_.constant(sizes[1])}, points));
  if (device_.large_tiles)
    consider(large_device_tile(w, number, {graph_.evaluate(sizes[0], assumed_), graph_.evaluate(sizes[1], assumed_)},
                               points));
  return best;
}

// A part of the body, as a stage.
Stage TransformedSums::part_of(const Stage& stage, ExprId body) const {
  Stage part;
  part.kind = StageKind::point;
  part.name = stage.name + ".sum";
  part.type = graph_.node(body).type;
  part.domain = stage.domain;
  part.span = stage.span;
  part.margin_lo = stage.margin_lo;
  part.margin_hi = stage.margin_hi;
  part.body = body;
  return part;
}

// The sum of stages that are added to the graph.
ExprId TransformedSums::added(std::vector<Stage> parts) {
  ExprId sum;
  for (Stage& part : parts) {
    const std::size_t rank = part.domain.size();
    const StageId id = graph_.add(std::move(part));
    const ExprId value =
        ir::access(graph_, id, std::vector<ir::Index>(rank), std::vector<Border>(rank, {BorderMode::clamp, 0}));
    sum = sum.valid() ? ir::binary(graph_, Op::add, sum, value) : value;
  }
  return sum;
}

void TransformedSums::take(Stage& stage, bool alone, std::vector<std::string>& remarks) {
  if ((!device_.transforms && !device_.large_tiles) || stage.domain.size() < (method_ == Method::whole ? 1 : 2)) return;
  std::vector<ExprId> order = ir::postorder(graph_, {stage.body});
  double terms = 0;
  for (const ExprId e : order) {
    const ExprNode& node = graph_.node(e);
    terms += is_reduction(node.op) ? static_cast<double>(analyze::term_count(node)) : node.op == Op::access ? 1 : 0;
  }
  const bool asked = method_ == Method::transform || method_ == Method::whole;
  if (terms < static_cast<double>(least_terms) && !asked) return;
  LinearForms forms(graph_, numbers_, stage.body, steps_left_);
  // From the root down: the largest sums.
  std::unordered_map<std::uint32_t, ExprId> instead;
  std::unordered_map<std::uint32_t, bool> wanted{{stage.body.id, true}}, part_of_another;
  for (auto it = order.rbegin(); it != order.rend() && steps_left_ > 0; ++it) {
    if (!wanted[it->id]) continue;
    const ExprNode& node = graph_.node(*it);
    // Parts of a sum that was looked at are not worth a line.
    bool looked_at = part_of_another[it->id];
    if (forms.linear(*it) && !node.args.empty() && node.op != Op::convert) {
      const std::size_t before = choices_.size();
      steps_left_ -= static_cast<i64>(order.size());  // that the parts of a sum are looked at takes the square of it
      const bool itself = it->id == stage.body.id && alone;
      Stage part = itself ? stage : part_of(stage, *it);
      std::vector<Stage> sums = marked(part, remarks);
      if (looked_at && sums.empty() && choices_.size() > before) choices_.resize(before);
      looked_at = looked_at || choices_.size() > before;
      if (itself && sums.size() == 1) {
        stage.note = sums.front().note;
        return;
      }
      if (!sums.empty()) {
        instead[it->id] = added(std::move(sums));
        continue;
      }
    }
    // Terms of a sum that is loops are no stages: they move with its variables.
    if (is_reduction(node.op)) continue;
    for (const ExprId a : node.args) wanted[a.id] = true, part_of_another[a.id] = part_of_another[a.id] || looked_at;
  }
  if (instead.empty()) return;
  stage.body = ir::rewrite(graph_, stage.body, [&](ExprId old, const ExprNode&) {
    auto it = instead.find(old.id);
    return it == instead.end() ? ExprId{} : it->second;
  });
}

}  // namespace tessera::rewrite
