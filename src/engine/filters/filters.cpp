// Filters by name, compiled (their programs: filter_text.cpp) and kept.
//
// How far windows reach is not declared anywhere: it is measured on the graph, and a second text cuts that much off
// where the extent is valid or full. Full is valid on the image continued by its border as far as windows reach.
#include "engine/filters/filters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <list>

#include "analyze/footprint.hpp"
#include "base/hash.hpp"
#include "base/process/fork.hpp"
#include "base/text.hpp"
#include "engine/filters/check.hpp"
#include "engine/filters/filter_text.hpp"
#include "engine/program_impl.hpp"
#include "engine/windows/checks.hpp"
#include "engine/windows/region_plan.hpp"
#include "lang/compile.hpp"

namespace tessera::engine {
namespace {

constexpr std::size_t most_kept = 64;  // programs

// Of sums that may go through Fourier transforms. Those of certainties are taken in double then: where a window holds
// little of what is known, what transforms round would stand beside it (docs/convolution.md, "Accuracy").
// A plan looks at such ways from 26 terms on, of all that a stage reads (rewrite/sums/tiles/tiles.cpp).
constexpr i64 least_rounded_terms = 20;

[[noreturn]] void fail(std::string message, std::string help = {}) {
  throw Error(ErrorClass::argument, std::move(message), {}, std::move(help));
}

// How far the outputs of a program read its inputs around their own point, over all ways through its stages. What is
// read whole, as what an image holds of each level is, has no place around a point.
void measure_reach(const ir::Graph& graph, int rank, std::vector<i64>& before, std::vector<i64>& after) {
  struct Reach {
    bool wanted = false;
    std::vector<i64> before, after;
  };
  const auto dimensions = static_cast<std::size_t>(rank);
  std::vector<Reach> of(graph.stage_count(), {false, std::vector<i64>(dimensions), std::vector<i64>(dimensions)});
  for (const ir::Output& o : graph.outputs)
    for (ir::StageId s : o.stages) of[s].wanted = true;
  before.assign(dimensions, 0);
  after.assign(dimensions, 0);
  for (ir::StageId s = static_cast<ir::StageId>(graph.stage_count()); s-- > 0;) {
    if (!of[s].wanted) continue;
    for (std::size_t d = 0; d < dimensions && graph.stage(s).kind == ir::StageKind::input; ++d) {
      before[d] = std::max(before[d], of[s].before[d]);
      after[d] = std::max(after[d], of[s].after[d]);
    }
    for (const analyze::Footprint& f : analyze::footprints(graph, s)) {
      Reach& r = of[f.producer];
      r.wanted = true;
      const std::size_t lead = dimensions - std::min(dimensions, f.dims.size());  // that the image lacks
      for (std::size_t d = lead; d < dimensions; ++d) {
        const analyze::DimensionFootprint& dim = f.dims[d - lead];
        if (dim.whole) continue;
        r.before[d] = std::max(r.before[d], of[s].before[d] - dim.lo);
        r.after[d] = std::max(r.after[d], of[s].after[d] + dim.hi);
      }
    }
  }
}

Program compiled(const std::string& text, const CompileOptions& options, const FilterRequest& request) {
  try {
    return Program::from_text(text, options, request.name);
  } catch (const Error& e) {
    if (e.error_class() != ErrorClass::compile || e.diagnostics().empty()) throw;
    fail(fmt::format("filter {} cannot be made with these options: {}", base::quoted(request.name),
                     e.diagnostics()[0].message));
  }
}

std::string key_of(const FilterRequest& request, const Format& format, int rank) {
  base::Hasher hash;
  hash.text(request.name).number(rank).number(static_cast<i64>(request.extent)).number(request.ignore_nan ? 1 : 0);
  hash.number(static_cast<i64>(request.alpha)).number(request.arithmetic ? static_cast<i64>(*request.arithmetic) : -1);
  hash.text(request.mask.empty() ? "" : request.mask.format().name());
  hash.number(request.type ? static_cast<i64>(*request.type) : -1).number(static_cast<i64>(format.scalar));
  for (const Format::Field& f : format.fields) hash.text(f.name).number(static_cast<i64>(f.type));
  for (const auto& [name, numbers] : request.numbers) {
    hash.text(name);
    for (double v : numbers.values) hash.text(fmt::format("{}", v));
  }
  for (const Border& b : request.border.modes) hash.text(lang::text_of(b));
  for (const double v : request.nodata) hash.text(fmt::format("nodata {}", v));
  for (const auto& [name, table] : request.tables) {
    hash.text(name).text(table.format().name()).text(to_string(table.shape()));
    if (table.empty()) continue;
    const Array host = table.to_host();
    const Array dense = host.contiguous() ? host : host.clone();
    hash.bytes(
        {static_cast<const std::byte*>(dense.data()), static_cast<std::size_t>(dense.count()) * dense.format().size()});
  }
  return base::to_hex(hash.finish());
}

// May sums of this window go through Fourier transforms? Those of gaussian and box are taken an axis at a time.
bool takes_many_terms(const Filter& filter, bool axis_by_axis) {
  i64 all = 1, most = 1;
  for (std::size_t d = 0; d < filter.before.size(); ++d) {
    const i64 terms = filter.before[d] + filter.after[d] + 1;
    all *= terms;
    most = std::max(most, terms);
  }
  return (axis_by_axis ? most : all) >= least_rounded_terms;
}

// The program of a filter with certainties, which knows the filter without.
Program with_certainty(const Filter& filter, const FilterRequest& request, const Format& format, int rank, bool keeps,
                       std::optional<Program> precise) {
  FilterRequest plain = request;
  plain.mask = {};
  plain.ignore_nan = false;
  auto certainty = std::make_unique<Certainty>(make_filter(plain, format, rank)->program);
  if (!request.mask.empty()) certainty->mask = 1;
  certainty->finite = request.ignore_nan;
  certainty->keeps = keeps;
  certainty->before = filter.before;
  certainty->after = filter.after;
  certainty->first = filter.extent == Extent::same ? std::vector<i64>(filter.before.size(), 0) : filter.before;
  certainty->borders = filter.borders;
  const Program::Impl& impl = filter.program.impl();
  return make_program(impl.graph, impl.warnings, std::move(certainty),
                      precise ? std::make_unique<const Program>(std::move(*precise)) : nullptr);
}

Program with_precise(const Program& program, Program precise) {
  const Program::Impl& impl = program.impl();
  return make_program(impl.graph, impl.warnings, {}, std::make_unique<const Program>(std::move(precise)));
}

InputWindow whole_of(const Array& image) {
  return {image, std::vector<i64>(image.shape().size()), image.shape()};
}

// A region of a whole as one of a part that begins there.
Region moved(Region region, const std::vector<i64>& at) {
  for (std::size_t d = 0; d < at.size(); ++d) region.begin[d] -= at[d], region.end[d] -= at[d];
  return region;
}

std::shared_ptr<const Filter> build(const FilterRequest& request, const Format& format, int rank) {
  const FilterInfo& info = filter_info(request.name);
  check_request(request, info, format, rank);
  const FilterText driver(request, info, format, rank);
  const CompileOptions options = driver.options();
  std::string text = driver.text({}, {}, false);
  Filter filter{
      compiled(text, options, request), text, {}, {}, request.extent, driver.borders(), driver.widened(format)};
  if (is_masked(request) && request.mask.empty())  // of what is not there nothing is known
    for (Border& b : filter.borders)
      if (b.mode == BorderMode::constant)
        b.value = request.nodata.empty() ? std::numeric_limits<double>::quiet_NaN() : request.nodata.front();
  measure_reach(filter.program.impl().graph, rank, filter.before, filter.after);
  const bool whole = request.extent == Extent::same;
  const bool many = driver.in_frequency() || takes_many_terms(filter, request.tables.empty());
  const bool rounded = driver.asks_for_least() && many, wide = is_masked(request) && many && !request.arithmetic;
  FilterRequest doubles = request;
  doubles.arithmetic = ElementType::f64, doubles.type = driver.result();
  const auto take = [&](const FilterText& own, std::string& written) {
    written = own.text(whole ? std::vector<i64>{} : filter.before, whole ? std::vector<i64>{} : filter.after, rounded);
    return compiled(written, own.options(), request);
  };
  if (!whole || rounded || wide)
    filter.program = take(FilterText(wide ? doubles : request, info, format, rank), filter.text);
  std::optional<Program> precise;
  if (is_masked(request) && !wide && !request.arithmetic) {
    std::string written;
    precise = take(FilterText(doubles, info, format, rank), written);
  }
  // (Blocks look for masks and for NaN.)
  if (is_masked(request) && request.nodata.empty())
    filter.program = with_certainty(filter, request, format, rank, driver.keeps(), std::move(precise));
  else if (precise)
    filter.program = with_precise(filter.program, std::move(*precise));
  return std::make_shared<const Filter>(std::move(filter));
}

}  // namespace

std::shared_ptr<const Filter> make_filter(const FilterRequest& request, const Format& format, int rank) {
  static base::Mutex mutex;
  static std::list<std::pair<std::string, std::shared_ptr<const Filter>>> kept;  // the last one used is the first
  const std::string key = key_of(request, format, rank);
  const auto find = [&] {
    return std::find_if(kept.begin(), kept.end(), [&](const auto& k) { return k.first == key; });
  };
  {
    const base::Lock lock(mutex, kept);
    if (const auto found = find(); found != kept.end()) {
      kept.splice(kept.begin(), kept, found);
      return found->second;
    }
  }
  std::shared_ptr<const Filter> made = build(request, format, rank);  // others may look meanwhile
  const base::Lock lock(mutex, kept);
  if (const auto found = find(); found != kept.end()) return found->second;
  kept.emplace_front(key, made);
  if (kept.size() > most_kept) kept.pop_back();
  return made;
}

Shape Filter::input_shape(const Shape& image) const {
  Shape shape = image;
  if (extent == Extent::full)
    for (std::size_t d = 0; d < shape.size(); ++d) shape[d] += 2 * (before[d] + after[d]);
  return shape;
}

Region Filter::place(const Shape& image) const {
  Region region;
  check_extents("the image", image);
  for (std::size_t d = 0; d < image.size(); ++d) {
    const i64 sign = extent == Extent::valid ? 1 : extent == Extent::full ? -1 : 0;
    // A point of the full result before the first one is touched by what its window reaches ahead.
    region.begin.push_back(sign * (extent == Extent::full ? after[d] : before[d]));
    region.end.push_back(image[d] - sign * (extent == Extent::full ? before[d] : after[d]));
    if (region.end[d] <= region.begin[d])
      fail(fmt::format("no point of an image of {} has its window inside: it takes {} points in dimension {}",
                       to_string(image), before[d] + after[d] + 1, d),
           "the extents same and full take windows of any size");
  }
  return region;
}

std::vector<i64> Filter::margin() const {
  std::vector<i64> points;
  for (std::size_t d = 0; d < before.size(); ++d) points.push_back(before[d] + after[d]);
  return points;
}

Array Filter::part(const InputWindow& image, const Region& of, std::optional<ElementType> type) const {
  if (extent == Extent::full) return continued(image, borders, margin(), of, type);
  const Array part = image.array.region(moved(of, image.at).begin, moved(of, image.at).end);
  return type ? in_type(part, *type) : part;
}

Array Filter::input(const Array& image) const {
  const Shape shape = input_shape(image.shape());
  return part(whole_of(image), {std::vector<i64>(shape.size()), shape}, {});
}

Locality Filter::locality() const {
  Locality found = program.locality().at(0);
  if (extent == Extent::full)  // the image begins that far behind what the program takes
    for (std::vector<Locality::Dimension>& dimensions : found.inputs)
      for (std::size_t d = 0; d < dimensions.size(); ++d)
        dimensions[d].before += margin()[d], dimensions[d].after -= margin()[d];
  return found;
}

Array Filter::input_part(const InputWindow& image, const Region& region) const {
  return part(image, region, {});
}

Region Filter::input_reads(const Region& region, const Shape& image) const {
  return extent == Extent::full ? read_by(region, borders, margin(), image) : region;
}

Region Filter::reads(const Shape& image, const Region& region, const RunOptions& options) const {
  const Shape whole = input_shape(image);
  const std::size_t count = program.inputs().size();
  Region all;
  for (const Region& one : program.reads(0, region, std::vector<Shape>(count, whole), options)) {
    const Region read = input_reads(one, image);
    if (all.begin.empty()) all = read;
    for (std::size_t d = 0; d < image.size(); ++d) {
      all.begin[d] = std::min(all.begin[d], read.begin[d]);
      all.end[d] = std::max(all.end[d], read.end[d]);
    }
  }
  return all;
}

std::vector<InputWindow> Filter::windows(const InputWindow& image, const Array& mask, const Region& region,
                                         const RunOptions& options) const {
  if (image.at.empty() && image.whole.empty()) return windows(whole_of(image.array), mask, region, options);
  std::vector<InputWindow> given = {image};
  if (!mask.empty()) given.push_back({mask_for(mask, image.array.shape()), image.at, image.whole});
  if (extent != Extent::full && !widened) return given;
  const Shape whole = input_shape(image.whole);
  const std::vector<Region> read = program.reads(0, region, std::vector<Shape>(given.size(), whole), options);
  for (std::size_t k = 0; k < given.size(); ++k) {
    const std::string name = program.impl().input_name(k);
    check_within(name, given[k].array.shape(), image.at, image.whole);
    check_covers(name, given[k].array.shape(), image.at, box_of(input_reads(read[k], image.whole)));
    given[k] = {part(given[k], read[k], k == 0 ? widened : std::nullopt), read[k].begin, whole};
  }
  return given;
}

std::vector<Array> Filter::inputs(const Array& image, const Array& mask) const {
  const Shape shape = input_shape(image.shape());
  const Region all{std::vector<i64>(shape.size()), shape};
  std::vector<Array> made = {part(whole_of(image), all, widened)};
  if (!mask.empty()) made.push_back(part(whole_of(mask_for(mask, image.shape())), all, {}));
  return made;
}

}  // namespace tessera::engine
