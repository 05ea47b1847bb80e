// See plan.hpp.
#include "fft/device/plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tessera/error.hpp"

namespace tessera::fft {

namespace {

using Buffer = DeviceStep::Buffer;
using Dimension = DeviceLine::Dimension;

i64 power_of_two(i64 least) {
  i64 n = 1;
  while (n < least) n *= 2;
  return n;
}

constexpr i64 most_of_block = shared_of_line / 4;  // points

std::string spelled(const std::vector<i64>& radices) {
  std::string text;
  for (const i64 r : radices) text += (text.empty() ? "" : "x") + std::to_string(r);
  return text.empty() ? "1" : text;
}

// One side of a pass along an axis.
struct Side {
  Buffer buffer = Buffer::input;
  std::vector<i64> strides;  // in numbers, of all dimensions
  i64 leg = 2;
  bool real = false, exchanged = false;
};

class Planner {
 public:
  Planner(const Problem& problem, const DeviceOptions& options) : options_(options) { plan_.problem = problem; }

  DevicePlan plan() {
    const Problem& p = plan_.problem;
    const std::size_t rank = p.extents.size();
    for (const int d : p.along) axes_.push_back(static_cast<std::size_t>(d));
    for (std::size_t d = 0; d < rank && p.along.empty(); ++d) axes_.push_back(d);
    const bool rows = axes_.back() + 1 == rank;
    gathers_ = p.to_numbers && rows;
    fills_ = p.from_numbers && rows && !gathers_;
    halved_in_ = from_real(p) || fills_;
    halved_out_ = to_real(p) || gathers_;
    Side from = side(Buffer::input, p.from_strides, from_real(p) || p.from_numbers);
    const Side to = side(Buffer::output, p.to_strides, to_real(p) || p.to_numbers);
    // What comes back to numbers may not write its input, and its result has no room for pairs.
    if (to.real)
      order_ = axes_;
    else
      order_.assign(axes_.rbegin(), axes_.rend());
    first_ = order_.front();
    if (gathers_) from = gathered(from);
    choose_parts();
    passes(from, to);
    if (fills_) fill(to);
    return std::move(plan_);
  }

 private:
  void passes(Side source, const Side& to) {
    const Problem& p = plan_.problem;
    const bool inverse = p.transform == Transform::inverse && !halved_in_;
    for (const std::size_t d : order_) {
      const bool last = d == order_.back(), row = d + 1 == p.extents.size();
      Side target = !last && to.real ? own(Buffer::whole, plan_.whole) : to;
      // (A row of real values exchanges by itself.)
      source.exchanged = target.exchanged = halved_out_ ? !row : inverse;
      axis(d, source, target, last ? p.scale * (gathers_ ? 0.5 : 1) : 1);
      source = target;
    }
  }

  // Half of a spectrum, of both halves.
  Side gathered(const Side& from) {
    const Side half = own(Buffer::half, plan_.half);
    DeviceMirror mirror = mirror_of(from, half);
    mirror.gathers = true;
    mirror.real = from.real;
    put(std::move(mirror), Buffer::input, Buffer::half);
    return half;
  }

  // The other half of the result; all of its conjugate where the transform was to be an inverse one.
  void fill(const Side& to) {
    DeviceMirror mirror = mirror_of(to, to);
    mirror.conjugated = plan_.problem.transform == Transform::inverse;
    if (mirror.elements() > 0) put(std::move(mirror), Buffer::output, Buffer::output);
  }

  DeviceMirror mirror_of(const Side& from, const Side& to) const {
    const Problem& p = plan_.problem;
    const std::size_t batches = p.batch.size();
    DeviceMirror mirror;
    mirror.type = p.type;
    mirror.row = p.extents.back();
    for (std::size_t k = batches + p.extents.size() - 1; k-- > 0;) {
      const bool own = k >= batches && std::find(axes_.begin(), axes_.end(), k - batches) != axes_.end();
      mirror.dimensions.push_back(
          {k < batches ? p.batch[k] : p.extents[k - batches], from.strides[k], to.strides[k], own});
    }
    return mirror;
  }

  void put(DeviceMirror mirror, Buffer from, Buffer to) {
    plan_.description +=
        fmt::format("{}{}", plan_.description.empty() ? "" : ", ", mirror.gathers ? "halves" : "other halves");
    DevicePhase phase;
    DeviceStep step;
    step.from = from, step.to = to;
    step.mirror = std::move(mirror);
    phase.steps.push_back(std::move(step));
    plan_.phases.push_back(std::move(phase));
  }

  bool halves() const { return halved_in_ || halved_out_; }

  static Side side(Buffer buffer, const std::vector<i64>& strides, bool real) {
    Side s{buffer, {}, real ? 1 : 2, real, false};
    for (const i64 stride : strides) s.strides.push_back(stride * s.leg);
    s.strides.push_back(s.leg);
    return s;
  }

  // Axes whose two halves run in place: columns that no block holds. The first pass of all puts their elements in
  // order, as it writes elsewhere than it reads; where it is itself in four steps by chunks, all are.
  void choose_parts() {
    const Problem& p = plan_.problem;
    const std::size_t rank = p.extents.size();
    parts_.assign(rank, {0, 0});
    const auto smooth = [&](i64 n) { return fits_block(n, p.type) || split(n).first > 0; };
    const auto alone = [&](std::size_t d) { return alone_in_block(p.extents[d], d + 1 < rank, columns_of(d), false); };
    const bool real_row = first_ + 1 == rank && halved_in_;
    i64 first = p.extents[first_];
    if (real_row && first % 2 == 0 && fits_block(first / 2, p.type)) first /= 2;
    const bool convolved = !smooth(first);
    if (convolved) first = convolution_length(first);
    const bool by_chunks = !alone_in_block(first, first_ + 1 < rank, columns_of(first_), convolved) &&
                           (first_ + 1 == rank || !smooth(p.extents[first_]));
    // (A result of numbers has no room for what lies between two halves.)
    const bool none = by_chunks || (p.to_numbers && !gathers_);
    for (const std::size_t d : axes_)
      if (d + 1 < rank && !none && smooth(p.extents[d]) && !alone(d)) parts_[d] = split(p.extents[d]);
    for (std::size_t d = 0; d < rank; ++d) plan_.permutes = plan_.permutes || parts_[d].first > 0;
  }

  i64 columns_of(std::size_t d) const {
    const Problem& p = plan_.problem;
    return d + 1 == p.extents.size() ? 1 : halves() ? p.extents.back() / 2 + 1 : p.extents.back();
  }

  // Does a block hold a line of n points, and of columns enough of them?
  bool alone_in_block(i64 n, bool across, i64 columns, bool convolved) const {
    const ElementType type = plan_.problem.type;
    if (!fits_block(n, type)) return false;
    const i64 most = power_of_two(columns),
              wanted = across ? std::min(convolved ? 2 : options_.least_columns, most) : 1;
    return shape_of(n, type, across, most, options_.most_points).lines >= wanted || split(n).first == 0;
  }

  // An array of the plan's own: pairs of numbers in rows that begin at multiples of a line of the cache.
  static constexpr i64 line_of_cache = 128;
  Side own(Buffer buffer, i64& numbers) const {
    const Problem& p = plan_.problem;
    std::vector<i64> extents = p.batch;
    extents.insert(extents.end(), p.extents.begin(), p.extents.end());
    if (halves()) extents.back() = p.extents.back() / 2 + 1;
    const i64 unit = line_of_cache / (2 * size());
    std::vector<i64> strides(extents.size() - 1);
    i64 stride = (extents.back() + unit - 1) / unit * unit;
    for (std::size_t d = strides.size(); d-- > 0;) {
      strides[d] = stride;
      stride *= extents[d];
    }
    numbers = 2 * stride;
    return side(buffer, strides, false);
  }

  // Lines of an axis before anything is known of kernels.
  struct Lines {
    i64 n = 1;
    bool across = false;                // neighbouring lines lie beside each other in memory
    std::vector<Dimension> dimensions;  // of lines, the fastest first
    LineEnd from, to;
    Buffer source = Buffer::input, target = Buffer::output;
    bool halved = false;  // 2 n real numbers
    double scale = 1;
    i64 columns = 1;      // beside each other
    bool sorted = false;  // the elements of an axis in parts lie where its first half takes them in place
  };

  void axis(std::size_t d, const Side& from, const Side& to, double scale) {
    const Problem& p = plan_.problem;
    const std::size_t batches = p.batch.size(), all = batches + p.extents.size();
    const std::size_t own = batches + d;
    Lines lines;
    lines.n = p.extents[d];
    lines.across = d + 1 < p.extents.size();
    lines.source = from.buffer;
    lines.target = to.buffer;
    lines.scale = scale;
    lines.columns = columns_of(d);
    lines.sorted = d != first_;
    lines.from = {.leg = from.strides[own], .beside = lines.across, .real = from.real, .exchanged = from.exchanged};
    lines.to = {.leg = to.strides[own], .beside = lines.across, .real = to.real, .exchanged = to.exchanged};
    for (std::size_t k = all; k-- > 0;) {
      if (k == own) continue;
      i64 extent = k < batches ? p.batch[k] : p.extents[k - batches];
      if (k + 1 == all && halves()) extent = extent / 2 + 1;
      const std::pair<i64, i64> parts = d == first_ && k >= batches ? parts_[k - batches] : std::pair<i64, i64>{0, 0};
      if (parts.first > 0) {  // element j1 b + j2 goes to j2 a + j1
        const auto [a, b] = parts;
        lines.dimensions.push_back({b, from.strides[k], a * to.strides[k]});
        lines.dimensions.push_back({a, b * from.strides[k], to.strides[k]});
      } else if (extent != 1 || (lines.across && k + 1 == all)) {
        add(lines.dimensions, {extent, from.strides[k], to.strides[k]});
      }
    }
    if (lines.dimensions.empty()) lines.dimensions.push_back({1, 0, 0});
    if (!lines.across) real_rows(lines);
    plan_.description += fmt::format("{}{} ", plan_.description.empty() ? "" : ", ",
                                     !lines.across              ? "rows"
                                     : d + 2 < p.extents.size() ? "planes"
                                                                : "columns");
    if (parts_[d].first > 0)
      in_parts(lines, parts_[d]);
    else
      lay(lines);
  }

  // Dimensions without gaps between them are one.
  static void add(std::vector<Dimension>& list, const Dimension& d) {
    if (!list.empty() && d.from == list.back().extent * list.back().from && d.to == list.back().extent * list.back().to)
      list.back().extent *= d.extent;
    else
      list.push_back(d);
  }

  void real_rows(Lines& lines) const {
    const Problem& p = plan_.problem;
    if (!halves()) return;
    // Pairs are read and written as one.
    const auto pairs = [&](bool from) {
      return std::all_of(lines.dimensions.begin(), lines.dimensions.end(),
                         [&](const Dimension& d) { return (from ? d.from : d.to) % 2 == 0; });
    };
    lines.halved = lines.n % 2 == 0 && fits_block(lines.n / 2, p.type) && pairs(halved_in_);
    if (halved_out_) lines.from.exchanged = lines.to.exchanged = true;
    if (lines.halved) {
      lines.n /= 2;
      (halved_in_ ? lines.from : lines.to).leg = 2;
      (halved_in_ ? lines.from : lines.to).real = false;
      return;
    }
    if (halved_in_)
      lines.to.count = lines.n / 2 + 1;
    else
      lines.from.mirror = lines.n;
  }

  void lay(const Lines& lines) {
    const bool smooth = fits_block(lines.n, plan_.problem.type) || split(lines.n).first > 0;
    const i64 points = smooth ? lines.n : convolution_length(lines.n);
    if (alone_in_block(points, lines.across, lines.columns, points != lines.n))
      one_kernel(lines, points);
    else
      four_steps(lines, points);
  }

  // Columns whose rows begin anywhere are read and written in pieces that cut sectors of memory, of which few columns
  // are all ends: 4 at once took up to five times as long as 8.
  static constexpr i64 sector = 32, columns_of_cut_sectors = 8;
  i64 fewest_lines(const Lines& lines) const {
    if (!lines.across) return 1;
    const bool cut = lines.from.leg * size() % sector != 0 || lines.to.leg * size() % sector != 0;
    return std::max(options_.least_columns, cut ? columns_of_cut_sectors : i64{1});
  }

  // Of few points, with as many of them a thread as most arrays take, there would be too few warps: half as many, where
  // that costs no pass, or columns which blocks take enough of.
  static constexpr i64 threads_of_few = 256;  // of a multiprocessor
  LineShape shape(const Lines& lines, i64 points, bool across, i64 most) const {
    const ElementType type = plan_.problem.type;
    const LineShape full = shape_of(points, type, across, most, options_.most_points);
    double all = halves() ? 0.5 : 1;
    for (const std::vector<i64>* list : {&plan_.problem.batch, &plan_.problem.extents})
      for (const i64 n : *list) all *= static_cast<double>(n);
    const bool few = all < static_cast<double>(most_points_of_floats * threads_of_few * options_.multiprocessors);
    if (options_.most_points > 0 || type != ElementType::f32 || !few) return full;
    const LineShape light = shape_of(points, type, across, most, most_points_of_floats / 2);
    const bool enough = across && light.lines >= std::min(fewest_lines(lines), most);
    return enough || (!across && light.radices.size() == full.radices.size()) ? light : full;
  }

  DeviceLine line_of(const Lines& lines, i64 points, bool across, i64 most) const {
    const LineShape shape = this->shape(lines, points, across, most);
    DeviceLine line;
    line.type = plan_.problem.type;
    line.points = points;
    line.radices = shape.radices;
    line.threads = shape.threads;
    line.lines = shape.lines;
    line.from = lines.from;
    line.to = lines.to;
    line.scale = 1;
    return line;
  }

  void one_kernel(const Lines& lines, i64 points) {
    DeviceLine line = line_of(lines, points, lines.across, power_of_two(lines.dimensions.front().extent));
    line.dimensions = lines.dimensions;
    // Every multiprocessor is to have something to do.
    const i64 fewest = fewest_lines(lines);
    while (line.lines > fewest && 4 * blocks_of(line, 0) < 3 * options_.multiprocessors) line.lines /= 2;
    line.scale = lines.scale;
    line.apart = lines.halved && halved_in_;
    line.together = lines.halved && !line.apart;
    plan_.description += spelled(line.radices);
    if (points != lines.n) {
      line.convolved = lines.n;
      line.from.count = lines.n;
      line.from.chirp = line.to.chirp = lines.n;
      if (line.to.count == 0) line.to.count = lines.n;
      plan_.description += fmt::format(" twice for {}", lines.n);
    }
    DevicePhase phase;
    phase.steps.push_back({line, lines.source, lines.target, {}, {}});
    plan_.phases.push_back(std::move(phase));
  }

  // n = a b with parts that fit blocks of several columns; {0, 0} if there are none.
  std::pair<i64, i64> split(i64 n) const {
    std::pair<i64, i64> best{0, 0};
    double fewest = 1e300;
    for (i64 a = 2; a <= std::min(n / 2, most_of_block); ++a) {
      if (n % a != 0 || !fits_block(a, plan_.problem.type)) continue;
      const i64 b = n / a;
      if (!fits_block(b, plan_.problem.type)) continue;
      const double cost =
          static_cast<double>(std::max(a, b)) + 0.5 * static_cast<double>(std::min(a, b)) + (a > b ? 0.1 : 0);
      if (cost < fewest) fewest = cost, best = {a, b};
    }
    return best;
  }

  // Lines of a and of b points in place.
  static constexpr i64 points_of_halves = 8;
  void in_parts(const Lines& lines, const std::pair<i64, i64>& parts) {
    const auto [a, b] = parts;
    plan_.description += fmt::format("{} * {}", a, b);
    const i64 most = power_of_two(lines.columns), n = a * b;
    // They wait for memory and for each other more than they compute: many threads with few points.
    const DeviceOptions usual = options_;
    if (options_.most_points == 0 && plan_.problem.type == ElementType::f32) options_.most_points = points_of_halves;
    DeviceLine one = line_of(lines, a, true, most), two = line_of(lines, b, true, most);
    options_ = usual;
    // What lies between the halves is where the first one reads, if the pass before has written that, else in the
    // result.
    const bool source = lines.sorted;
    const i64 from_leg = lines.from.leg, to_leg = lines.to.leg, leg = source ? from_leg : to_leg;
    one.from.part = one.to.part = two.to.part = 1;
    one.from.step = source ? 1 : b;
    one.to = {.leg = leg, .part = 1, .beside = true, .turn = n};
    two.from = {.leg = leg, .step = a, .beside = true};
    two.to.step = a;
    two.scale = lines.scale;
    one.dimensions = two.dimensions = lines.dimensions;
    for (std::size_t d = 0; d < lines.dimensions.size(); ++d) {
      const Dimension& given = lines.dimensions[d];
      one.dimensions[d].to = two.dimensions[d].from = source ? given.from : given.to;
    }
    one.dimensions.insert(one.dimensions.begin() + 1, {b, source ? a * from_leg : from_leg, a * leg});
    two.dimensions.insert(two.dimensions.begin() + 1, {a, leg, to_leg});
    DevicePhase phase;
    // One kernel, where blocks of both halves have as many threads.
    const i64 finer = two.threads / one.threads;
    if (options_.pairs && finer * one.threads == two.threads) {
      const i64 wide = finer * two.lines;
      if (a * wide * size() <= shared_of_line && wide * one.threads <= 1024) {
        one.lines = wide;
        PairOrder order{.parts = b, .finer = finer};
        order.groups = (lines.columns + wide - 1) / wide;
        for (std::size_t d = 1; d < lines.dimensions.size(); ++d) order.others *= lines.dimensions[d].extent;
        order.strip = std::clamp<i64>(options_.strip_bytes / (wide * n * 2 * size()), 1, order.groups * order.others);
        order.first_items = order.strip * b;
        order.second_items = order.strip * finer * a;
        order.source = source;
        phase.steps.push_back({one, lines.source, lines.target, two, order});
        plan_.phases.push_back(std::move(phase));
        return;
      }
    }
    const Buffer between = source ? lines.source : lines.target;
    phase.steps.push_back({one, lines.source, between, {}, {}});
    phase.steps.push_back({two, between, lines.target, {}, {}});
    plan_.phases.push_back(std::move(phase));
  }

  i64 size() const { return plan_.problem.type == ElementType::f32 ? 4 : 8; }

  void four_steps(const Lines& lines, i64 n) {
    const auto [a, b] = split(n);
    if (a == 0)
      throw Error(ErrorClass::device,
                  fmt::format("a transform of {} points along a dimension was asked for on a device, "
                              "expected {} at most",
                              lines.n, longest()));
    const bool convolved = n != lines.n;
    plan_.description += fmt::format("{} * {}{}", a, b, convolved ? fmt::format(" twice for {}", lines.n) : "");
    const i64 line_bytes = 2 * n * size();
    const i64 together = std::max<i64>(1, options_.chunk_bytes / line_bytes);  // lines

    DevicePhase phase;
    std::vector<Dimension> inner = lines.dimensions;  // of kernels; the host takes the others
    const Dimension first = inner.front();
    bool along_first = false;
    if (lines.across && first.extent > together / 2) {
      along_first = true;
      for (std::size_t d = inner.size(); d-- > 1;) phase.loops.push_back({inner[d].extent, inner[d].from, inner[d].to});
      inner = {first};
      const i64 columns = std::max<i64>(16, together / 16 * 16);
      phase.counted = {first.extent, first.from, first.to};
      phase.chunk = std::min(first.extent, columns);
    } else {
      // As many of the slowest dimension as fit; those between go along, or to the host where even one does not fit.
      const std::size_t kept = lines.across ? 1 : 0;
      i64 lines_of_one = kept == 1 ? first.extent : 1;
      std::size_t d = kept;
      while (d < inner.size() && lines_of_one * inner[d].extent <= together) lines_of_one *= inner[d++].extent;
      for (std::size_t k = inner.size(); k-- > d + 1;)
        phase.loops.push_back({inner[k].extent, inner[k].from, inner[k].to});
      inner.resize(std::min(inner.size(), d + 1));
      if (inner.size() > kept) {
        const Dimension slowest = inner.back();
        if (d == inner.size()) lines_of_one /= slowest.extent;
        phase.counted = {slowest.extent, slowest.from, slowest.to};
        phase.chunk = std::min(slowest.extent, std::max<i64>(1, together / lines_of_one));
      }
    }

    // Of a chunk: columns [position][column], rows [row][position], slower dimensions ahead.
    std::vector<i64> lying;
    i64 leg = 2, stride = 2;
    if (lines.across) {
      const i64 columns = along_first ? phase.chunk : first.extent;
      lying.push_back(2);
      leg = 2 * columns;
      stride = leg;
    }
    stride *= n;
    for (std::size_t d = lying.size(); d < inner.size(); ++d) {
      lying.push_back(stride);
      stride *= d + 1 == inner.size() ? phase.chunk : inner[d].extent;
    }
    plan_.chunk = std::max(plan_.chunk, stride);
    const i64 counted = along_first ? 0 : inner.size() > (lines.across ? 1U : 0U) ? static_cast<i64>(inner.size()) : -1;

    // The two kernels from one side to another; -1: a chunk.
    const auto pair = [&](bool from_array, bool to_array, Buffer source, Buffer between, Buffer target) {
      DeviceStep one{line_of(lines, a, true, power_of_two(lines.across ? first.extent : b)), source, between, {}, {}};
      DeviceStep two{line_of(lines, b, true, power_of_two(lines.across ? first.extent : a)), between, target, {}, {}};
      const i64 from_leg = from_array ? lines.from.leg : leg, to_leg = to_array ? lines.to.leg : leg;
      if (!from_array) one.line.from = {.leg = leg, .beside = true};
      if (!to_array) two.line.to = {.leg = leg, .beside = true};
      one.line.to = {.leg = leg, .step = b, .beside = true, .turn = n};
      one.line.from.step = b;
      one.line.from.beside = true;
      two.line.from = {.leg = leg, .step = 1, .beside = lines.across};
      two.line.to.step = a;
      two.line.to.beside = true;
      const Dimension part_one{b, from_leg, leg}, part_two{a, b * leg, to_leg};
      for (std::size_t d = 0; d < inner.size(); ++d) {
        one.line.dimensions.push_back({inner[d].extent, from_array ? inner[d].from : lying[d], lying[d]});
        two.line.dimensions.push_back({inner[d].extent, lying[d], to_array ? inner[d].to : lying[d]});
      }
      const auto at = lines.across ? 1 : 0;
      one.line.dimensions.insert(one.line.dimensions.begin() + at, part_one);
      two.line.dimensions.insert(two.line.dimensions.begin() + at, part_two);
      for (LineEnd* end : {&one.line.from, &one.line.to, &two.line.to}) end->part = at;
      one.line.counted = two.line.counted = counted;
      phase.steps.push_back(one);
      phase.steps.push_back(two);
    };
    if (!convolved) {
      pair(true, true, lines.source, Buffer::chunk, lines.target);
    } else {
      pair(true, false, lines.source, Buffer::chunk, Buffer::other_chunk);
      pair(false, true, Buffer::other_chunk, Buffer::chunk, lines.target);
      phase.steps[0].line.from.count = phase.steps[0].line.from.chirp = lines.n;
      phase.steps[1].line.to.spectrum = lines.n;
      phase.steps[1].line.to.exchanged = true;
      LineEnd& last = phase.steps[3].line.to;
      last.swapped = true;
      last.chirp = lines.n;
      if (last.count == 0) last.count = lines.n;
    }
    phase.steps.back().line.scale = lines.scale;
    plan_.phases.push_back(std::move(phase));
  }

  i64 longest() const {
    i64 side = 1;
    while (fits_block(2 * side, plan_.problem.type)) side *= 2;
    return side * side / 2;
  }

  DeviceOptions options_;
  DevicePlan plan_;
  std::vector<std::size_t> axes_, order_;  // ascending; as passes are made
  std::size_t first_ = 0;                  // the axis of the first pass
  // Spectra have half of their frequencies: behind the first pass, before the last one; which the plan itself makes
  // whole, or of a whole one.
  bool halved_in_ = false, halved_out_ = false, fills_ = false, gathers_ = false;
  std::vector<std::pair<i64, i64>> parts_;
};

}  // namespace

DeviceLineKernel written(const DeviceStep& step, const std::string& name) {
  if (step.mirror) return write_mirror(*step.mirror, name);
  return step.second ? write_pair(step.line, *step.second, step.order, name) : write_line(step.line, name);
}

i64 threads_of(const DeviceStep& step) {
  return step.mirror ? step.mirror->across() * step.mirror->down() : step.line.threads * step.line.lines;
}

i64 blocks_of(const DeviceStep& step, i64 count) {
  if (step.mirror) return step.mirror->blocks();
  return step.second ? step.order.blocks() : blocks_of(step.line, count);
}

DevicePlan plan_on_device(Problem problem, const DeviceOptions& options) {
  return Planner(complete(std::move(problem), 4), options).plan();
}

}  // namespace tessera::fft
