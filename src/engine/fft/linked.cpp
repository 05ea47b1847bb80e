// See linked.hpp. What runs is the text that emitted files have, compiled here as members of a class for each type.
#include "engine/fft/linked.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/fft/code.hpp"
#include "run/cpu/machine.hpp"
#include "run/cpu/parallel.hpp"

namespace tessera::engine {

namespace {

using u8 = unsigned char;
using tsr_word = std::uintptr_t;

// A run: its memory goes back when it ends, or fails.
struct tsr_host {
  int threads = 1;
  std::vector<run::cpu::Scratch> rooms = {};
};

bool tsr_asks(const tsr_host*) {
  return false;
}
u8* tsr_room(tsr_host* host, i64, i64 bytes) {
  host->rooms.push_back(run::cpu::acquire_scratch(static_cast<std::size_t>(bytes)));
  return reinterpret_cast<u8*>(host->rooms.back().data());
}
void tsr_no_room(tsr_host* host, i64, u8*, i64) {
  host->rooms.pop_back();
}
i64 tsr_workers(const tsr_host* host, i64 tiles, i64) {
  return std::clamp<i64>(tiles, 1, host->threads);
}
void tsr_each(const tsr_host*, i64 count, i64 workers, void (*f)(const void* job, i64 tile, i64 worker),
              const void* job) {
  run::cpu::parallel_tiles(count, static_cast<int>(workers), [&](i64 tile, int slot) { f(job, tile, slot); });
}

#define TSR_MEMBERS
template <class T>
struct Steps {
  using tsr_real = T;
#include "fft/cpu/types.c.inc"
//
#include "fft/cpu/problems.c.inc"
//
#include "fft/cpu/spectra.c.inc"
};
#undef TSR_MEMBERS

template <class T>
class Linked : public LinkedTransform, private Steps<T> {
  using S = Steps<T>;
  using Place = fft::CorePlan::Place;

 public:
  Linked(const fft::CorePlan& plan, const std::string& compiler) : lanes_(plan.lanes), places_(plan.places) {
    for (const std::vector<double>& table : plan.tables) {
      tables_.emplace_back();
      tables_.back().reserve(table.size());
      for (const double x : table) tables_.back().push_back(static_cast<T>(x));
    }
    for (const fft::Code& code : plan.codes) codes_.push_back(code_function<T>(code, compiler));
    // None of them moves from here on: they refer to each other.
    trees_.reserve(plan.trees.size()), ends_.reserve(plan.ends.size()), lines_.reserve(plan.lines.size());
    passes_.reserve(plan.trees.size()), problems_.reserve(plan.problems.size());
    for (const auto& tree : plan.trees) trees_.push_back(linked(tree));
    for (const auto& ends : plan.ends) ends_.push_back(linked(ends));
    for (const auto& line : plan.lines) lines_.push_back(linked(line));
    for (const auto& problem : plan.problems) problems_.push_back(linked(problem));
    spectrum_ = linked(plan.spectrum);
  }

  void run(const void* from, void* to, int threads) const override {
    tsr_host host{run::cpu::thread_count(threads)};
    S::tsr_run_spectrum(&host, &spectrum_, static_cast<const T*>(from), static_cast<T*>(to));
  }

 private:
  template <class C>
  C code(Place place) const {
    return place ? reinterpret_cast<C>(codes_[*place]) : nullptr;
  }
  const T* table(Place place) const { return place ? tables_[*place].data() : nullptr; }
  const i64* numbers(Place place) const { return place ? places_[*place].data() : nullptr; }
  template <class List>
  static auto at(const List& list, Place place) {
    return place ? list.data() + *place : nullptr;
  }
  static void copy(const fft::CorePlan::Extents& from, i64 (&to)[fft::most_dimensions]) {
    std::copy(from.begin(), from.end(), to);
  }

  typename S::tsr_tree linked(const fft::CorePlan::Tree& tree) {
    std::vector<typename S::tsr_pass> passes;
    for (const fft::CorePlan::SequencePass& from : tree.passes) {
      const fft::PassArguments& a = from.arguments;
      passes.push_back({code<typename S::tsr_pass_code>(from.code),
                        {a.outer, a.inner, a.from_outer, a.from_inner, a.from_leg, a.to_outer, a.to_inner, a.to_leg,
                         a.w_outer, a.w_inner, a.w_leg, a.radix, 0},
                        table(from.odd),
                        from.twiddles,
                        from.parts,
                        from.from_part,
                        from.to_part});
    }
    passes_.push_back(std::move(passes));
    using C = typename S::tsr_pass_code;
    return {static_cast<i64>(tree.kind),
            tree.n,
            lanes_,
            tree.scratch,
            static_cast<i64>(tree.passes.size()),
            passes_.back().data(),
            at(trees_, tree.first),
            at(trees_, tree.second),
            code<C>(tree.in),
            code<C>(tree.multiply),
            code<C>(tree.turn),
            code<C>(tree.out),
            table(tree.twiddles),
            table(tree.spectrum),
            numbers(tree.input),
            numbers(tree.output)};
  }

  typename S::tsr_ends linked(const fft::CorePlan::Ends& e) const {
    return {e.n,
            lanes_,
            e.rows,
            e.points,
            e.re_at,
            static_cast<i64>(e.from),
            static_cast<i64>(e.to),
            static_cast<T>(e.scale),
            code<typename S::tsr_in_code>(e.in),
            code<typename S::tsr_out_code>(e.out)};
  }

  typename S::tsr_line linked(const fft::CorePlan::Line& l) const {
    return {l.chirp ? 1 : 0,
            l.n,
            l.a,
            l.b,
            lanes_,
            l.inverse ? 1 : 0,
            l.m,
            at(trees_, l.first),
            at(trees_, l.second),
            at(ends_, l.blocks),
            code<typename S::tsr_in_code>(l.turn),
            table(l.within),
            table(l.between),
            at(lines_, l.line),
            table(l.in),
            table(l.out),
            table(l.spectrum)};
  }

  typename S::tsr_problem linked(const fft::CorePlan::PlannedProblem& d) const {
    typename S::tsr_problem p{};
    p.kind = static_cast<i64>(d.kind), p.from_numbers = d.from_numbers, p.to_numbers = d.to_numbers;
    p.inverse = d.inverse, p.lanes = lanes_, p.count = d.count;
    p.batch = static_cast<i64>(d.batch), p.rank = static_cast<i64>(d.rank);
    copy(d.extents, p.extents), copy(d.from_strides, p.from_strides), copy(d.to_strides, p.to_strides);
    p.ends = at(ends_, d.ends);
    p.x = at(trees_, d.x), p.y = at(trees_, d.y), p.outer = at(trees_, d.outer), p.outer_far = at(trees_, d.outer_far);
    p.columns = d.columns, p.blocks = d.blocks, p.pitch = d.pitch, p.plane = d.plane, p.volume = d.volume;
    p.together = d.together, p.columns_first = d.columns_first, p.by_planes = d.by_planes;
    p.line = at(lines_, d.line), p.halved = d.halved, p.turns = table(d.turns);
    return p;
  }

  typename S::tsr_spectrum linked(const fft::CorePlan::Spectrum& from) {
    for (const fft::CorePlan::Turned& t : from.turned)
      turned_.push_back({t.before, t.n, t.behind, problems_.data() + t.problem});
    typename S::tsr_spectrum s{};
    s.kind = static_cast<i64>(from.kind), s.rank = static_cast<i64>(from.rank), s.along = from.along;
    s.inverse = from.inverse, s.from_numbers = from.from_numbers, s.to_numbers = from.to_numbers;
    copy(from.shape, s.shape), copy(from.from_strides, s.from_strides), copy(from.to_strides, s.to_strides);
    s.problem = at(problems_, from.problem);
    s.others = static_cast<i64>(turned_.size()), s.turned = turned_.data();
    return s;
  }

  const i64 lanes_;
  const std::vector<std::vector<i64>> places_;
  std::vector<std::vector<T>> tables_;
  std::vector<void*> codes_;
  std::vector<std::vector<typename S::tsr_pass>> passes_;  // of every tree
  std::vector<typename S::tsr_tree> trees_;
  std::vector<typename S::tsr_ends> ends_;
  std::vector<typename S::tsr_line> lines_;
  std::vector<typename S::tsr_problem> problems_;
  std::vector<typename S::tsr_turned> turned_;
  typename S::tsr_spectrum spectrum_{};
};

}  // namespace

std::unique_ptr<LinkedTransform> link(const fft::CorePlan& plan, const std::string& compiler) {
  if (plan.type == ElementType::f64) return std::make_unique<Linked<double>>(plan, compiler);
  return std::make_unique<Linked<float>>(plan, compiler);
}

fft::Cores cores_here() {
  const run::cpu::Machine& m = run::cpu::machine();
  return {m.vector_bytes, m.l1, m.l2, m.cores};
}

}  // namespace tessera::engine
