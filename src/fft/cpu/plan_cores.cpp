// See plan_cores.hpp.
#include "fft/cpu/plan_cores.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "fft/tables.hpp"
#include "tessera/error.hpp"

namespace tessera::fft {

namespace detail {
extern const std::string_view cpu_types_text, cpu_problems_text, cpu_spectra_text;
}

namespace {

using Place = CorePlan::Place;
using Side = CorePlan::Side;

// Lengths that have two factors of at least V are not worth it below that.
i64 least_line(i64 lanes) {
  return lanes * lanes;
}

std::vector<i64> dense(const std::vector<i64>& shape) {
  std::vector<i64> strides(shape.size(), 1);
  for (std::size_t d = shape.size() - 1; d-- > 0;) strides[d] = strides[d + 1] * shape[d + 1];
  strides.pop_back();
  return strides;
}

i64 product(const std::vector<i64>& list) {
  i64 count = 1;
  for (const i64 n : list) count *= n;
  return count;
}

CorePlan::Extents extents_of(const std::vector<i64>& list) {
  CorePlan::Extents all{};
  std::copy(list.begin(), list.end(), all.begin());
  return all;
}

// Whether results and what is read lie in memory, beyond the caches.
struct Memory {
  bool fetching = false, streaming = false;
};

// Whether points are multiplied on the way in, by numbers of which the first may be known to be 1.
enum class Input : std::uint8_t { plain, twiddled, twiddled_from_one };

class CorePlanner {
 public:
  CorePlanner(const Problem& problem, const Cores& cores)
      : cores_(cores), bytes_(static_cast<i64>(size_of(problem.type))), lanes_(cores.vector_bytes / bytes_) {
    plan_.type = problem.type;
    plan_.lanes = lanes_;
    options_.largest_radix = cores.vector_bytes == 64 ? 16 : 8;
    options_.l1_points = std::max<i64>(16, cores.l1 / 2 / (2 * cores.vector_bytes));
  }

  CorePlan take(const Problem& p) {
    spectrum(p);
    return std::move(plan_);
  }

 private:
  std::size_t code(const Code& code) {
    const auto [known, fresh] = codes_.try_emplace(name_of(code), plan_.codes.size());
    if (fresh) plan_.codes.push_back(code);
    return known->second;
  }
  std::size_t table(std::vector<double> numbers) {
    plan_.tables.push_back(std::move(numbers));
    return plan_.tables.size() - 1;
  }
  std::size_t places(std::vector<i64> list) {
    plan_.places.push_back(std::move(list));
    return plan_.places.size() - 1;
  }

  // ---- trees ----

  std::size_t tree(const Node& node, End from, End to, Memory memory, Input input = Input::plain) {
    CorePlan::Tree t;
    t.kind = node.kind;
    t.n = node.n;
    t.scratch = node.scratch * point();
    const Twiddles in = input == Input::plain ? Twiddles::none : Twiddles::all;
    switch (node.kind) {
      case Node::Kind::sequence:
        sequence(t, node, from, to, memory, input);
        break;
      case Node::Kind::split:
        t.first = tree(*node.first, from, End::points, {memory.fetching, false},
                       input == Input::plain ? input : Input::twiddled);
        t.second = tree(*node.second, End::points, to, {false, memory.streaming}, Input::twiddled_from_one);
        t.twiddles = table(node.twiddles);
        break;
      case Node::Kind::rader:
      case Node::Kind::bluestein:
        convolution(t, node, from, to, memory, in);
        break;
    }
    plan_.trees.push_back(std::move(t));
    return plan_.trees.size() - 1;
  }

  // Copies and products of single points around a transform of the convolution's length.
  void convolution(CorePlan::Tree& t, const Node& node, End from, End to, Memory memory, Twiddles in) {
    const bool rader = node.kind == Node::Kind::rader;
    t.first = tree(*node.first, End::points, End::points, {});
    t.in = code(Pass{.radix = 1, .from = from, .twiddles = in, .fetching = memory.fetching});
    t.turn = code(Pass{.radix = 1, .to = End::turned, .twiddles = Twiddles::all});
    t.multiply = code(Pass{.radix = 1, .twiddles = Twiddles::all});
    t.out = code(
        rader
            ? Pass{.radix = 1, .to = to, .streaming = memory.streaming}
            : Pass{
                  .radix = 1, .from = End::turned, .to = to, .twiddles = Twiddles::all, .streaming = memory.streaming});
    t.spectrum = table(node.spectrum);
    if (!node.twiddles.empty()) t.twiddles = table(node.twiddles);
    if (!node.input.empty()) t.input = places(node.input), t.output = places(node.output);
  }

  void sequence(CorePlan::Tree& t, const Node& node, End from, End to, Memory memory, Input input) {
    const std::vector<i64> radices = node.radices.empty() ? std::vector<i64>{1} : node.radices;
    std::vector<Place> odd;
    for (const std::vector<double>& numbers : node.odd)
      odd.push_back(numbers.empty() ? Place{} : Place{table(numbers)});
    i64 done = 1, at = 0;
    // Legs of a pass that reads a buffer.
    const auto leg = [&](i64 radix) { return (t.n / radix + (t.n / radix % 32 == 0 ? 1 : 0)) * point(); };
    for (std::size_t k = 0; k < radices.size(); ++k) {
      const i64 r = radices[k], rest = t.n / (done * r);
      const bool is_first = k == 0, is_last = k + 1 == radices.size();
      Pass pass;
      pass.radix = r > 16 ? 0 : r;
      pass.from = is_first ? from : End::points;
      pass.to = is_last ? to : End::points;
      const Twiddles in = input == Input::plain ? Twiddles::none : Twiddles::all;
      pass.twiddles = is_first ? in : Twiddles::inner;
      if (is_first && rest == 1 && r > 1 && input == Input::twiddled_from_one) pass.twiddles = Twiddles::inner;
      pass.streaming = is_last && memory.streaming;
      pass.fetching = is_first && memory.fetching;
      CorePlan::SequencePass p;
      p.code = code(pass);
      p.twiddles = at;
      PassArguments& a = p.arguments;
      // k < done, s < rest: from (s + rest b) done + k to s done r + k + done c. The longer loop is the inner one.
      a.from_leg = is_first ? rest * point() : leg(r);
      a.to_leg = done * point();
      if (!is_last) {
        const i64 next = radices[k + 1];
        if (leg(next) != t.n / next * point()) p.parts = next;
        p.from_part = rest / p.parts * done * point();
        p.to_part = leg(next);
      }
      const i64 s = rest / p.parts;
      const bool k_inside = done > s;
      a.outer = k_inside ? s : done;
      a.inner = k_inside ? done : s;
      (k_inside ? a.from_inner : a.from_outer) = point();
      (k_inside ? a.from_outer : a.from_inner) = done * point();
      (k_inside ? a.to_inner : a.to_outer) = point();
      (k_inside ? a.to_outer : a.to_inner) = done * r * point();
      (k_inside ? a.w_inner : a.w_outer) = 2 * (r - 1);
      a.w_leg = 2;
      if (r > 16) {
        a.radix = r;
        p.odd = odd[k];
      }
      if (!is_first) at += 2 * (r - 1) * done;
      t.passes.push_back(p);
      done *= r;
    }
    // Leg 1 has the first twiddle of a table: its pointer stands two numbers ahead.
    std::vector<double> twiddles = node.twiddles;
    twiddles.insert(twiddles.begin(), 2, 1.0);
    t.twiddles = table(std::move(twiddles));
  }

  // ---- rows and points ----

  static bool is_half(Side side) { return side == Side::half_rows || side == Side::half_blocks; }

  std::size_t ends(i64 n, Side from, Side to, bool inverse, bool far, double scale) {
    CorePlan::Ends e;
    e.n = n, e.from = from, e.to = to;
    e.re_at = inverse ? lanes_ : 0;
    const bool real = is_half(from) || is_half(to) || from == Side::number_rows || to == Side::number_rows;
    e.rows = real ? 2 * lanes_ : lanes_;
    // Both halves of a real transform are in the scale of what is read: the mean of two points is their sum.
    e.scale = is_half(to) ? scale / 2 : scale;
    e.points = (std::max(n, lanes_) + 2) * point();
    if (from == Side::rows) e.in = code(Move::rows_in);
    if (from == Side::number_rows) e.in = code(Move::real_rows_in);
    if (from == Side::half_rows) e.in = code(Move::half_rows_in);
    if (from == Side::half_blocks) e.in = code(Move::halves_in);
    if (to == Side::rows) e.out = code(Move::rows_out);
    if (to == Side::number_rows) e.out = code(Move::real_rows_out);
    if (to == Side::half_rows) e.out = code(Move::half_rows_out);
    if (to == Side::blocks) e.out = code(far ? Move::blocks_out_far : Move::blocks_out);
    if (to == Side::half_blocks) e.out = code(far ? Move::halves_out_far : Move::halves_out);
    plan_.ends.push_back(e);
    return plan_.ends.size() - 1;
  }

  // ---- problems ----

  // One whose strides are there.
  std::size_t problem(const Problem& p) {
    if (p.batch.size() + p.extents.size() > most_dimensions)
      throw Error(ErrorClass::argument, fmt::format("a transform of {} extents with its batch, expected {} at most",
                                                    p.batch.size() + p.extents.size(), most_dimensions));
    CorePlan::PlannedProblem d;
    d.from_numbers = from_real(p), d.to_numbers = to_real(p);
    d.inverse = p.transform == Transform::inverse || to_real(p);
    d.batch = p.batch.size(), d.rank = p.extents.size();
    d.count = product(p.batch);
    std::vector<i64> all = p.batch;
    all.insert(all.end(), p.extents.begin(), p.extents.end());
    d.extents = extents_of(all);
    d.from_strides = extents_of(p.from_strides), d.to_strides = extents_of(p.to_strides);
    if (d.rank > 1)
      planes(d, p);
    else if (!few_long_rows(d, p))
      rows(d, p);
    plan_.problems.push_back(d);
    return plan_.problems.size() - 1;
  }

  void rows(CorePlan::PlannedProblem& d, const Problem& p) {
    const Side from = d.from_numbers ? Side::number_rows : d.to_numbers ? Side::half_rows : Side::rows;
    const Side to = d.to_numbers ? Side::number_rows : d.from_numbers ? Side::half_rows : Side::rows;
    const auto node = plan_transform(p.extents.back(), options_);
    say("rows " + to_string(*node));
    d.x = tree(*node, End::points, End::points, {});
    d.ends = ends(p.extents.back(), from, to, d.inverse, false, p.scale);
  }

  void planes(CorePlan::PlannedProblem& d, const Problem& p) {
    d.kind = CorePlan::PlannedProblem::Kind::planes;
    const std::size_t rank = p.extents.size();
    const i64 nx = p.extents[rank - 1], ny = p.extents[rank - 2], nz = rank == 3 ? p.extents[0] : 1;
    d.columns = d.from_numbers || d.to_numbers ? nx / 2 + 1 : nx;
    d.blocks = (d.columns + lanes_ - 1) / lanes_;
    d.pitch = (ny | 1) * point();
    d.plane = d.blocks * d.pitch + (d.blocks % 2 == 0 ? point() : 0);
    d.volume = nz * d.plane;
    const i64 bytes = d.volume * bytes_;
    d.together = std::clamp<i64>(cores_.l2 * cores_.count / 2 / bytes, 1, std::max<i64>(1, d.count));
    // What is larger than a few caches of a core comes back from memory anyway.
    const bool far = d.together * bytes > 4 * cores_.l2;
    const Side from = d.from_numbers ? Side::number_rows : d.to_numbers ? Side::half_blocks : Side::rows;
    const Side to = d.to_numbers ? Side::number_rows : d.from_numbers ? Side::half_blocks : Side::blocks;
    const auto x = plan_transform(nx, options_), y = plan_transform(ny, options_), z = plan_transform(nz, options_);
    say(fmt::format("rows {}, columns {}", to_string(*x), to_string(*y)) +
        (rank == 3 ? ", planes " + to_string(*z) : ""));
    d.by_planes = rank == 3 && d.plane * bytes_ <= cores_.l2;
    d.ends = ends(nx, from, to, d.inverse, far && !d.by_planes, p.scale);
    d.x = tree(*x, End::points, End::points, {});
    // The side of memory: the last pass of columns, or the first where columns come first.
    const End columns = d.inverse ? End::exchanged : End::columns;
    d.columns_first = d.to_numbers;
    const Node& outer = rank == 3 ? *z : *y;
    if (d.columns < lanes_)
      d.outer = tree(outer, End::points, End::points, {far, false});
    else if (d.columns_first)
      d.outer = tree(outer, columns, End::points, {far, far});
    else
      d.outer = tree(outer, End::points, columns, {far, false});
    // Past the caches where a row of memory is aligned to vectors.
    if (far && !d.columns_first && d.columns >= lanes_) d.outer_far = tree(outer, End::points, columns, {true, true});
    if (rank == 3) d.y = tree(*y, End::points, End::points, {false, d.by_planes && far && !d.columns_first});
  }

  // ---- long rows ----

  // Not where the length has no two factors of at least V, or groups of rows are as good.
  bool few_long_rows(CorePlan::PlannedProblem& d, const Problem& p) {
    const i64 n = p.extents.back();
    const bool real = d.from_numbers || d.to_numbers;
    // Not a few lanes, and points of all of them that a core's cache holds.
    const bool few = d.count <= lanes_ / 2, large = n * point() * bytes_ > 2 * cores_.l2;
    if ((!few && !large) || n / (real && n % 2 == 0 ? 2 : 1) < least_line(lanes_)) return false;
    d.kind = CorePlan::PlannedProblem::Kind::line;
    d.halved = real && n % 2 == 0;
    // Even and odd elements are taken apart as twice their sums and differences.
    const double scale = d.halved && d.from_numbers ? p.scale / 2 : p.scale;
    if (d.halved) say("half as many complex numbers");
    d.line = line(d.halved ? n / 2 : n, d.inverse, scale);
    if (!d.halved) return true;
    const Circle circle(n);
    std::vector<double> turns;
    for (i64 k = 0; k <= n / 4; ++k) put(turns, circle(k));
    d.turns = table(std::move(turns));
    return true;
  }

  std::size_t line(i64 n, bool inverse, double scale) {
    const auto [a, b] = balanced_factors(n, lanes_);
    const bool lopsided = std::max(a, b) > 64 * std::min(a, b);
    return a > 1 && !lopsided ? four_steps(a, b, inverse, scale) : chirp(n, inverse, scale);
  }

  std::size_t four_steps(i64 a, i64 b, bool inverse, double scale) {
    CorePlan::Line l;
    l.n = a * b, l.a = a, l.b = b, l.inverse = inverse;
    const auto first = plan_transform(a, options_), second = plan_transform(b, options_);
    say("columns " + to_string(*first));
    say("rows " + to_string(*second));
    const End end = inverse ? End::exchanged : End::columns;
    const auto blocks = [&](i64 k) { return (k + lanes_ - 1) / lanes_; };
    const bool far = blocks(a) * (b | 1) * point() * bytes_ > 4 * cores_.l2;
    l.first = tree(*first, end, End::points, {far, false});
    l.second = tree(*second, End::points, end, {far, false});
    l.blocks = ends(a, Side::none, Side::blocks, inverse, far, 1.0);
    l.turn = code(Move::lane_twiddles);
    const Circle circle(l.n);
    std::vector<double> within, between, imaginary;
    for (i64 k = 0; k < a; ++k) {
      imaginary.clear();
      for (i64 j = 0; j < lanes_; ++j) {
        const auto w = scale * circle(j * k);
        within.push_back(w.real());
        imaginary.push_back(w.imag());
      }
      within.insert(within.end(), imaginary.begin(), imaginary.end());
    }
    for (i64 block = 0; block < blocks(b); ++block)
      for (i64 k = 0; k < a; ++k) put(between, circle(std::min(block * lanes_, b - lanes_) * k));
    l.within = table(std::move(within)), l.between = table(std::move(between));
    plan_.lines.push_back(l);
    return plan_.lines.size() - 1;
  }

  // X[k] = c_k sum over j of (x_j c_j) conj(c_(k - j)), as in fft/tables.cpp.
  std::size_t chirp(i64 n, bool inverse, double scale) {
    CorePlan::Line l;
    l.chirp = true, l.n = n, l.inverse = inverse;
    std::pair<i64, i64> parts{1, 1};
    for (const i64 m : smooth_lengths(2 * n - 1))
      if (parts.first == 1 && balanced_factors(m, lanes_).first > 1) parts = balanced_factors(m, lanes_);
    l.m = parts.first * parts.second;
    say("chirp");
    l.line = four_steps(parts.first, parts.second, false, 1.0);
    const Circle circle(2 * n);
    std::vector<double> in, out, spectrum;
    std::vector<Circle::Number> b(static_cast<std::size_t>(l.m));
    i64 square = 0;  // j * j modulo 2 n
    for (i64 j = 0; j < n; ++j) {
      const Circle::Number c = circle(square);
      square += 2 * j + 1;
      while (square >= 2 * n) square -= 2 * n;
      put(in, c);
      put(out, c * scale);
      for (const i64 at : {j, j == 0 ? j : l.m - j})
        b[static_cast<std::size_t>(at)] = std::conj(c) / static_cast<double>(l.m);
    }
    for (const Circle::Number& x : plain_transform(std::move(b), Circle(l.m))) put(spectrum, x);
    l.in = table(std::move(in)), l.out = table(std::move(out)), l.spectrum = table(std::move(spectrum));
    plan_.lines.push_back(l);
    return plan_.lines.size() - 1;
  }

  static void put(std::vector<double>& list, const Circle::Number& x) {
    list.push_back(x.real());
    list.push_back(x.imag());
  }

  // ---- spectra ----

  void spectrum(const Problem& p) {
    CorePlan::Spectrum& s = plan_.spectrum;
    std::vector<i64> shape = p.batch;
    shape.insert(shape.end(), p.extents.begin(), p.extents.end());
    std::vector<std::size_t> along;  // dimensions of all
    for (std::size_t d = 0; d < p.extents.size(); ++d)
      if (p.along.empty() || std::find(p.along.begin(), p.along.end(), static_cast<int>(d)) != p.along.end())
        along.push_back(p.batch.size() + d);
    s.rank = shape.size();
    for (const std::size_t d : along) s.along |= i64{1} << d;
    s.inverse = p.transform == Transform::inverse;
    s.from_numbers = p.from_numbers, s.to_numbers = p.to_numbers;
    const std::size_t first = s.rank - along.size();
    const bool at_the_end = along.size() <= 3 && along.front() == first;
    Problem inner = p;  // of the last dimensions
    inner.batch.assign(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(first));
    inner.extents.assign(shape.begin() + static_cast<std::ptrdiff_t>(first), shape.end());
    inner.along.clear();
    inner.from_numbers = inner.to_numbers = false;
    using Kind = CorePlan::Spectrum::Kind;
    if (at_the_end && !p.from_numbers && !p.to_numbers) {
      s.problem = problem(inner);
    } else if (at_the_end && !p.to_numbers) {
      s.kind = Kind::from_half;
      inner.transform = Transform::real_to_complex;
      s.problem = problem(inner);
    } else if (at_the_end && !p.from_numbers) {
      s.kind = Kind::to_half;
      inner.transform = Transform::complex_to_real;
      inner.scale /= 2;
      std::vector<i64> half = shape;
      half.back() = half.back() / 2 + 1;
      inner.from_strides = dense(half);
      s.problem = problem(inner);
    } else {
      s.kind = Kind::anywhere;
      anywhere(p, shape, along);
    }
    s.shape = extents_of(shape);
    s.from_strides = extents_of(p.from_strides), s.to_strides = extents_of(p.to_strides);
  }

  // In an array of pairs without gaps: the last dimensions, up to three, at once, others one by one.
  void anywhere(const Problem& p, const std::vector<i64>& shape, std::vector<std::size_t> left) {
    CorePlan::Spectrum& s = plan_.spectrum;
    double scale = p.scale;
    const auto of = [&](std::vector<i64> batch, std::vector<i64> extents) {
      std::vector<i64> all = batch;
      all.insert(all.end(), extents.begin(), extents.end());
      Problem one;
      one.transform = p.transform;
      one.type = p.type;
      one.batch = std::move(batch), one.extents = std::move(extents);
      one.from_strides = one.to_strides = dense(all);
      one.scale = std::exchange(scale, 1.0);
      return problem(one);
    };
    std::size_t first = shape.size();
    while (!left.empty() && left.back() == first - 1 && shape.size() - first < 3) left.pop_back(), --first;
    const auto at = [&](std::size_t d) { return shape.begin() + static_cast<std::ptrdiff_t>(d); };
    if (first < shape.size()) s.problem = of({shape.begin(), at(first)}, {at(first), shape.end()});
    for (const std::size_t d : left) {
      CorePlan::Turned turned;
      turned.before = product({shape.begin(), at(d)});
      turned.n = shape[d];
      turned.behind = product({at(d + 1), shape.end()});
      turned.problem = of({turned.before * turned.behind}, {turned.n});
      s.turned.push_back(turned);
    }
  }

  void say(const std::string& what) {
    std::string& all = plan_.description;
    all += (all.empty() ? "" : all.ends_with("chirp") ? ": " : ", ") + what;
  }
  i64 point() const { return 2 * lanes_; }

  const Cores cores_;
  const i64 bytes_, lanes_;
  PlanOptions options_;
  CorePlan plan_;
  std::map<std::string, std::size_t> codes_;
};

}  // namespace

std::string name_of(const Code& code) {
  return std::visit([](const auto& one) { return name_of(one); }, code);
}

ir::nest::Module module_of(const Code& code, ir::nest::Type vector) {
  if (const auto* pass = std::get_if<Pass>(&code)) return pass_module(*pass, vector);
  return move_module(std::get<Move>(code), vector);
}

std::string core_steps_text() {
  std::string text(detail::cpu_types_text);
  return text.append(detail::cpu_problems_text).append(detail::cpu_spectra_text);
}

CorePlan plan_on_cores(const Problem& problem, const Cores& cores) {
  const Problem whole =
      complete(problem, problem.along.empty() && !problem.from_numbers && !problem.to_numbers ? 3 : 4);
  return CorePlanner(whole, cores).take(whole);
}

}  // namespace tessera::fft
