// Where all that a window sees is equally certain, a normalised convolution is the convolution without certainties,
// which costs half. So a filter with a mask runs in blocks, each of which is
//
//   nothing known    NaN, without looking at the image
//   equally certain  a tile of the filter without certainties
//   else             a tile of the filter with them
//
// as the mask says (or the image, where NaN is unknown) over all that the block's windows see. Blocks lie at multiples
// of their extents from the first point of the result and are judged as a whole, and tiles do not follow the number of
// threads: so a point has the same bits with any. Neighbours of one kind, up to a tile of some hundred kilobytes, are
// computed at one go: kinds are found for the blocks of such a tile, which is halved in every dimension until its
// blocks are alike.
//
// Both programs have to be one group over the whole result; the one with certainties may look for the largest one
// before. Gaussians that the plan takes in two passes over memory stream here instead.
#include "engine/filters/certainty.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "data/element.hpp"
#include "engine/filters/certainty_scan.hpp"
#include "engine/program_impl.hpp"
#include "ir/bind.hpp"
#include "rewrite/sums/tiles/tiles.hpp"
#include "run/cpu/parallel.hpp"

namespace tessera::engine {
namespace {

constexpr i64 least_points = 1 << 18;  // of a result: compiling a second program takes time as well
constexpr int levels = 4;

enum class Known { none, all, some };  // all: and equally certain

// Extents of a block and how many of them are a tile at most, for the last dimensions of a result.
struct Blocks {
  i64 extent, most;
};
constexpr Blocks of_lines[] = {{4096, 8}}, of_images[] = {{64, 4}, {256, 8}};
constexpr Blocks of_volumes[] = {{16, 4}, {32, 1}, {128, 2}}, of_series[] = {{4, 2}, {16, 4}, {32, 1}, {128, 2}};
static_assert(of_images[1].most == 1 << (levels - 1));

i64 points_of(const ir::Graph& graph, ir::StageId stage, const std::vector<i64>& parameters) {
  i64 points = 1;
  for (const ir::SizeId n : graph.stage(stage).domain) points *= graph.evaluate(n, parameters);
  return points;
}

// Is the last group all that matters, with tiles of the result?
bool is_one_group(const plan::Plan& plan, const std::vector<i64>& parameters, bool alone) {
  if (alone && plan.groups.size() != 1) return false;
  const plan::Group& last = plan.groups.back();
  const ir::Stage& anchor = plan.graph.stage(last.anchor);
  for (const ir::Output& o : plan.graph.outputs)
    for (const ir::StageId s : o.stages) {
      const bool inside = std::find(last.stages.begin(), last.stages.end(), s) != last.stages.end();
      if (!inside || plan.graph.stage(s).domain != anchor.domain) return false;
    }
  const i64 points = points_of(plan.graph, last.anchor, parameters);
  for (std::size_t g = 0; g + 1 < plan.groups.size(); ++g)
    if (points_of(plan.graph, plan.groups[g].anchor, parameters) > points / 16) return false;
  const auto tiled = rewrite::first_with_tiles(plan.graph, last.stages);
  return !tiled || (anchor.domain.size() == 2 && plan.tiling(*tiled).planes == 1);
}

// With which both programs are one group; nothing where blocks cannot be, or would not pay. `parameters`: of the whole.
std::optional<Schedule> schedule_of(const Program::Impl& program, const std::vector<i64>& parameters,
                                    const RunOptions& options) {
  const bool cpu = options.target.empty() || options.target == "cpu";
  if (!cpu || options.numbers != Numbers::fast || options.method == Method::whole) return {};
  if (options.schedule != Schedule::automatic || options.tile_rows > 0 || options.tile_columns > 0) return {};
  const Certainty& of = *program.certainty;
  if (of.mask && !is_scannable_mask(program.graph.arguments[*of.mask].format)) return {};
  if (of.finite && !is_scannable_image(program.graph.arguments.front().format)) return {};
  const Program::Impl& plain = of.plain.impl();
  Shape image;
  for (const ir::SizeId n : program.graph.arguments.front().extents)
    image.push_back(program.graph.evaluate(n, parameters));
  const std::vector<i64> plain_parameters = ir::bind_parameters(plain.graph, {image});
  const std::vector<Shape> shapes = program.output_shapes(parameters);
  i64 points = 1;
  for (const i64 n : shapes.front()) points *= n;
  if (points < least_points || plain.output_shapes(plain_parameters) != shapes) return {};
  const base::Lock lock(of.mutex, of.schedules);
  const auto [found, fresh] = of.schedules.try_emplace(static_cast<int>(options.method));
  for (const Schedule s : {Schedule::automatic, Schedule::stream}) {
    if (!fresh || found->second) break;
    RunOptions own = options;
    own.schedule = s;
    if (is_one_group(cpu_plan(plain.graph, own), plain_parameters, true) &&
        is_one_group(cpu_plan(program.graph, own), parameters, false))
      found->second = s;
  }
  return found->second;
}

// Dimensions of one point that a plan adds before those of the result.
std::size_t added_dimensions(const plan::Plan& plan, const Program::Impl& program) {
  return plan.graph.stage(plan.groups.back().anchor).domain.size() - static_cast<std::size_t>(program.outputs[0].rank);
}

// Blocks of the result, fields not counted, for every dimension of the plan. Those of transforms are whole pairs of
// their tiles.
std::vector<Blocks> blocks_for(const plan::Plan& plan, const Program::Impl& program) {
  const plan::Group& group = plan.groups.back();
  const Blocks* const shapes[] = {of_lines, of_images, of_volumes, of_series};
  const std::size_t lead = added_dimensions(plan, program), rank = static_cast<std::size_t>(program.outputs[0].rank);
  std::vector<Blocks> blocks(lead, {1, 1});
  blocks.insert(blocks.end(), shapes[rank - 1], shapes[rank - 1] + rank);
  if (const auto tiled = rewrite::first_with_tiles(plan.graph, group.stages)) {
    const i64 pair[] = {plan.tiling(*tiled).high, 2 * plan.tiling(*tiled).wide};
    for (std::size_t d = 0; d < 2; ++d) blocks[d].extent = (blocks[d].extent + pair[d] - 1) / pair[d] * pair[d];
  }
  return blocks;
}

// One of the two programs, compiled where it is first needed.
class Side {
 public:
  Side(const Program::Impl& program, std::vector<i64> parameters, std::vector<Array> inputs,
       const std::vector<Array>& outputs, RunOptions options, const std::vector<i64>& base,
       const std::vector<i64>& most)
      : program_(program),
        parameters_(std::move(parameters)),
        inputs_(std::move(inputs)),
        outputs_(outputs),
        options_(std::move(options)),
        base_(base),
        most_(most) {}

  // Are tiles of a level about as the plan would have them, or smaller? What they keep lies in the caches then.
  bool fits(int level) {
    std::call_once(once_, [&] { prepare(); });
    return fits_[static_cast<std::size_t>(level)];
  }

  // Tile `at`, counted in tiles of a level: its extents are those of a block, doubled so often.
  void run(int level, const std::vector<i64>& at, int slot) {
    std::call_once(once_, [&] { prepare(); });
    const std::vector<i64>& tiles = tiles_[static_cast<std::size_t>(level)];
    i64 number = 0;
    for (std::size_t d = 0; d < at.size(); ++d) number = number * counts_[static_cast<std::size_t>(level)][d] + at[d];
    executable_->run_tile(group_, *binding_, tiles, number, slots_->get(slot));
  }

 private:
  void prepare() {
    executable_ = program_.executable(options_);
    binding_ = executable_->bind(parameters_, inputs_, outputs_);
    const plan::Plan& plan = executable_->plan();
    group_ = plan.groups.size() - 1;
    const std::vector<i64> usual = executable_->tiles(group_, *binding_, 1);
    i64 scratch = 0;
    for (int level = 0; level < levels; ++level) {
      std::vector<i64> extents = base_, counts;
      bool fits = true;
      for (std::size_t d = 0; d < extents.size(); ++d) extents[d] *= std::min(most_[d], i64{1} << level);
      extents.back() *= plan.together();
      tiles_.push_back(executable_->tiles(group_, *binding_, extents));
      for (std::size_t d = 0; d < extents.size(); ++d) {
        const i64 n = plan.graph.evaluate(plan.graph.stage(plan.groups[group_].anchor).domain[d], parameters_);
        counts.push_back((n + extents[d] - 1) / extents[d]);
        fits = fits && (d == 0 || std::min(n, extents[d]) <= usual[d] * 5 / 4);
      }
      fits_.push_back(fits || level == 0 || tiles_of_transforms());
      counts_.push_back(std::move(counts));
      scratch = std::max(scratch, executable_->scratch(group_, *binding_, tiles_.back()));
    }
    slots_.emplace(run::cpu::thread_count(options_.threads), static_cast<std::size_t>(scratch));
    for (std::size_t g = 0; g < group_; ++g) before(g);
  }

  bool tiles_of_transforms() const {
    const plan::Plan& plan = executable_->plan();
    return rewrite::first_with_tiles(plan.graph, plan.groups[group_].stages).has_value();
  }

  // A group whose result all tiles want: the largest certainty.
  void before(std::size_t g) const {
    const std::vector<i64> tiles = executable_->tiles(g, *binding_, 1);
    const run::cpu::Scratch scratch =
        run::cpu::acquire_scratch(static_cast<std::size_t>(executable_->scratch(g, *binding_, tiles)));
    for (i64 tile = 0; tile < tiles[tiles.size() - 2]; ++tile)
      executable_->run_tile(g, *binding_, tiles, tile, scratch.data());
  }

  const Program::Impl& program_;
  const std::vector<i64> parameters_;
  const std::vector<Array> inputs_, &outputs_;
  const RunOptions options_;
  const std::vector<i64>&base_, &most_;
  std::once_flag once_;
  std::shared_ptr<const Executable> executable_;
  std::optional<Executable::Binding> binding_;
  std::optional<run::cpu::SlotScratch> slots_;
  std::size_t group_ = 0;
  std::vector<std::vector<i64>> tiles_, counts_;  // by levels
  std::vector<bool> fits_;
};

class BlockRun {
 public:
  BlockRun(const Program::Impl& program, const std::vector<i64>& parameters, const std::vector<Array>& inputs,
           const std::vector<Array>& outputs, const RunOptions& options, const std::vector<i64>& whole)
      : program_(program),
        of_(*program.certainty),
        plain_(of_.plain.impl()),
        parameters_(parameters),
        inputs_(inputs),
        outputs_(outputs),
        options_(options),
        whole_(whole) {
    for (Array& a : inputs_)
      if (!is_aligned(a)) a = a.clone();
  }

  bool possible() {
    if (outputs_.size() != 1) return false;
    plain_parameters_ = ir::bind_parameters(plain_.graph, {inputs_[0].shape()});
    const std::optional<Schedule> schedule = schedule_of(program_, whole_, options_);
    if (schedule) options_.schedule = *schedule;
    return schedule.has_value();
  }

  void run() {
    cut();
    Side with(program_, parameters_, inputs_, outputs_, options_, base_, most_);
    Side without(plain_, plain_parameters_, {inputs_[0]}, outputs_, options_, base_, most_);
    with_ = &with, without_ = &without;
    i64 tiles = 1;
    for (std::size_t d = 0; d < blocks_.size(); ++d) tiles *= (blocks_[d] + most_[d] - 1) / most_[d];
    run::cpu::parallel_tiles(
        tiles, run::cpu::thread_count(options_.threads),
        [&](i64 tile, int slot) {
          std::vector<i64> at(blocks_.size());
          for (std::size_t d = blocks_.size(); d-- > 0;) {
            const i64 count = (blocks_[d] + most_[d] - 1) / most_[d];
            at[d] = tile % count, tile /= count;
          }
          this->tile(at, slot);
        },
        options_.cancel, options_.on_progress);
  }

 private:
  void cut() {
    const std::shared_ptr<const Executable> with = program_.executable(options_);
    const plan::Plan& plan = with->plan();
    const std::vector<ir::SizeId>& domain = plan.graph.stage(plan.groups.back().anchor).domain;
    lead_ = added_dimensions(plan, program_);
    for (const Blocks& b : blocks_for(plan, program_)) {
      base_.push_back(b.extent);
      most_.push_back(b.most);
    }
    for (std::size_t d = 0; d < domain.size(); ++d) {
      const i64 unit = d + 1 == domain.size() ? plan.together() : 1;
      blocks_.push_back((plan.graph.evaluate(domain[d], parameters_) / unit + base_[d] - 1) / base_[d]);
    }
  }

  // Of the result.
  Region region(const std::vector<i64>& from, const std::vector<i64>& count) const {
    Region r;
    for (std::size_t d = lead_; d < base_.size(); ++d) {
      r.begin.push_back(from[d] * base_[d]);
      r.end.push_back(std::min((from[d] + count[d]) * base_[d], outputs_.front().shape()[d - lead_]));
    }
    return r;
  }

  // What the windows of some blocks see of the image, in its own points.
  struct Window {
    Region box;
    bool odd = false, outside = false;  // what is elsewhere in it; what is unknown
  };
  Window window(const std::vector<i64>& from, const std::vector<i64>& count) const {
    Window w;
    w.box = region(from, count);
    for (std::size_t d = 0; d < w.box.begin.size(); ++d) {
      const i64 lo = w.box.begin[d] + of_.first[d] - of_.before[d], hi = w.box.end[d] + of_.first[d] + of_.after[d];
      const i64 n = inputs_[0].shape()[d];
      const BorderMode mode = of_.borders[d].mode;
      const bool leaves = lo < 0 || hi > n;
      w.outside |= leaves && mode == BorderMode::constant;
      w.odd |= leaves && (mode == BorderMode::wrap || mode == BorderMode::none);
      w.box.begin[d] = std::max<i64>(lo, 0), w.box.end[d] = std::min(hi, n);
    }
    return w;
  }

  // The blocks of a tile, and what they are.
  struct Kinds {
    std::vector<i64> from, count;
    std::vector<Known> kinds;
    Known at(const std::vector<i64>& block) const {
      i64 k = 0;
      for (std::size_t d = 0; d < block.size(); ++d) k = k * count[d] + block[d] - from[d];
      return kinds[static_cast<std::size_t>(k)];
    }
  };

  // Calls `visit` for every block from `from` on.
  template <class Visit>
  static void each(const std::vector<i64>& from, const std::vector<i64>& count, const Visit& visit) {
    std::vector<i64> block = from;
    for (;;) {
      visit(block);
      std::size_t d = block.size();
      for (; d > 0 && ++block[d - 1] == from[d - 1] + count[d - 1]; --d) block[d - 1] = from[d - 1];
      if (d == 0) return;
    }
  }

  void tile(const std::vector<i64>& at, int slot) {
    Kinds kinds;
    for (std::size_t d = 0; d < at.size(); ++d) {
      kinds.from.push_back(at[d] * most_[d]);
      kinds.count.push_back(std::min(most_[d], blocks_[d] - kinds.from[d]));
    }
    const Cells cells = cells_in(window(kinds.from, kinds.count).box);
    each(kinds.from, kinds.count, [&](const std::vector<i64>& block) {
      kinds.kinds.push_back(known(window(block, std::vector<i64>(block.size(), 1)), cells));
    });
    split(kinds, levels - 1, at, slot);
  }

  Cells cells_in(const Region& box) const {
    if (!of_.mask) return cells_of_numbers(inputs_[0], box);
    const Cells mask = cells_of_mask(inputs_[*of_.mask], box);
    return of_.finite ? both(mask, cells_of_numbers(inputs_[0], box)) : mask;
  }

  Known known(const Window& window, const Cells& cells) const {
    const double certainty = window.odd ? std::numeric_limits<double>::quiet_NaN() : cells.of(window.box);
    if (certainty == 0) return of_.keeps ? Known::some : Known::none;
    return certainty > 0 && !window.outside ? Known::all : Known::some;
  }

  void split(const Kinds& kinds, int level, const std::vector<i64>& at, int slot) {
    std::vector<i64> from, count;
    for (std::size_t d = 0; d < at.size(); ++d) {
      const i64 most = std::min(most_[d], i64{1} << level);
      from.push_back(at[d] * most);
      count.push_back(std::min(most, blocks_[d] - from[d]));
      if (count[d] <= 0) return;  // beyond the end
    }
    const Known first = kinds.at(from);
    bool alike = true;
    each(from, count, [&](const std::vector<i64>& block) { alike &= kinds.at(block) == first; });
    if (alike && first == Known::none) return fill(region(from, count));
    Side& side = first == Known::all ? *without_ : *with_;
    if (alike && side.fits(level)) return side.run(level, at, slot);
    std::vector<i64> parts, origin;
    for (std::size_t d = 0; d < at.size(); ++d) {
      const bool halved = most_[d] >= i64{1} << level;
      parts.push_back(halved ? 2 : 1);
      origin.push_back(at[d] * parts[d]);
    }
    each(origin, parts, [&](const std::vector<i64>& part) { split(kinds, level - 1, part, slot); });
  }

  // With what the programs give where nothing is known: NaN, 0 of integers.
  void fill(const Region& box) const {
    const Array& result = outputs_.front();
    const Format& format = result.format();
    std::vector<std::byte> element(format.size());
    const auto set = [&](ElementType type, std::size_t offset) {
      store_element(type, element.data() + offset, is_float(type) ? std::numeric_limits<double>::quiet_NaN() : 0);
    };
    if (!format.is_struct()) set(format.scalar, 0);
    for (const Format::Field& f : format.fields) set(f.type, f.offset);
    const std::size_t last = box.begin.size() - 1;
    const i64 size = static_cast<i64>(format.size()), count = box.end[last] - box.begin[last];
    std::vector<std::byte> row;
    for (i64 k = 0; k < count; ++k) row.insert(row.end(), element.begin(), element.end());
    std::vector<i64> counts;
    for (std::size_t d = 0; d < last; ++d) counts.push_back(box.end[d] - box.begin[d]);
    each({box.begin.begin(), box.begin.end() - 1}, counts, [&](const std::vector<i64>& at) {
      std::byte* to = result.as<std::byte>() + box.begin[last] * size;
      for (std::size_t d = 0; d < last; ++d) to += at[d] * result.strides()[d];
      std::memcpy(to, row.data(), row.size());
    });
  }

  const Program::Impl& program_;
  const Certainty& of_;
  const Program::Impl& plain_;
  const std::vector<i64>& parameters_;
  std::vector<i64> plain_parameters_;
  std::vector<Array> inputs_;
  const std::vector<Array>& outputs_;
  RunOptions options_;
  const std::vector<i64>& whole_;          // parameters of what is run a part of
  std::size_t lead_ = 0;                   // dimensions of one point that the plan adds
  std::vector<i64> base_, most_, blocks_;  // extents of a block, blocks of a tile and of the result
  Side *with_ = nullptr, *without_ = nullptr;
};

}  // namespace

bool may_run_by_certainty(const Program::Impl& program, const std::vector<i64>& parameters, const RunOptions& options) {
  return schedule_of(program, parameters, options).has_value();
}

std::optional<CertaintyBlocks> certainty_blocks(const Program::Impl& program, const std::vector<i64>& parameters,
                                                const RunOptions& options) {
  const std::optional<Schedule> schedule = schedule_of(program, parameters, options);
  if (!schedule) return {};
  CertaintyBlocks blocks{options, {}};
  blocks.options.schedule = *schedule;
  const std::shared_ptr<const Executable> with = program.executable(blocks.options);
  for (const Blocks& b : blocks_for(with->plan(), program)) blocks.extents.push_back(b.extent);
  blocks.extents.back() *= with->plan().together();
  return blocks;
}

bool run_by_certainty(const Program::Impl& program, const std::vector<i64>& parameters,
                      const std::vector<Array>& inputs, const std::vector<Array>& outputs, const RunOptions& options,
                      const std::vector<i64>& whole) {
  BlockRun run(program, parameters, inputs, outputs, options, whole);
  if (!run.possible()) return false;
  run.run();
  return true;
}

}  // namespace tessera::engine
