// Cutting a graph into groups.
//
// A candidate group is a set of stages. `layout` decides whether it can stream (one anchor, consistent rates, offsets
// known, wrap-around only where the producer can be computed beyond its domain, one column border per ring) and derives
// rates, lags and ring depths; `price` predicts its time. Greedy merging starts from single stages and takes, in
// topological order, every merge that the prediction says pays: not fusing is a legal answer, and the reason is kept.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analyze/ranges.hpp"
#include "plan/edges.hpp"
#include "plan/plan.hpp"
#include "plan/strips.hpp"

namespace tessera::plan {

using Set = std::vector<ir::StageId>;  // ascending

// Sets of stages, in no order, some of them empty; decisions about each.
struct Grouping {
  std::vector<Set> sets;
  std::vector<int> home;  // by stage: the set whose stage others read; -1: an input
  std::vector<std::vector<Decision>> decisions;
};

// Are there stages that are in several sets, or in none?
bool repeats(const ir::Graph&, const Grouping&);
// Gives each set copies of its own of such stages, and drops those that are in none. Stages are numbered anew.
void copy_repeated(ir::Graph&, Grouping&);

class Grouper {
 public:
  // Of a group: what merging and moving cost grows with it, and no cache holds as many rows.
  static constexpr std::size_t most_stages = 256;

  Grouper(Plan& plan);
  // What is computed together. Stages of several groups are to be copied before the groups are taken.
  Grouping cut();
  // Fills plan.groups and plan.stages. Every stage but inputs is in one set.
  void take(const Grouping&);
  // Predictions of the groups that are there, for plan.options.parameters.
  void predict();

 private:
  struct Layout {
    bool legal = false;
    std::string reason;  // why not
    ir::StageId anchor = 0;
    std::vector<StagePlan> stages;  // parallel to the set
    i64 step = 4;
    mutable std::optional<Strip> strip;  // once somebody has asked for it
  };
  struct Price {
    double nanoseconds = 0, memory = 0, compute = 0;  // times
    double bytes = 0, operations = 0, ring_bytes_per_column = 0;
    i64 halo_rows = 0, halo_columns = 0;
    std::vector<i64> ring_halo;  // see Group
  };
  void prepare_stages();
  void merge();
  int widest_lane(ir::ExprId body);
  void share_rows();
  Layout layout(const Set&) const;
  // Of sums through Fourier transforms and what joins them: tile_groups.cpp.
  bool has_tiles(const Set&) const;
  bool reads_before_tiles(ir::StageId, const Set&) const;  // a prologue
  std::string no_tiles(const Set&) const;
  Layout layout_of_tiles(const Set&) const;
  void place_pieces(const Set&, Layout&) const;
  bool find_rates(const Set&, Layout&) const;
  bool find_periodic(const Set&, Layout&) const;
  void find_lags(const Set&, Layout&) const;
  Price price(const Set&, const Layout&) const;
  Price price_of_tiles(const Set&, const Layout&) const;
  // Of programs that sum over planes of volumes, on vector cores: volumes.cpp.
  bool sums_planes(const Layout&) const;
  Price price_of_volume(const Set&, const Layout&) const;
  bool sums_planes(ir::StageId) const;
  std::size_t blocks_along(ir::StageId, const Set&) const;
  bool plans_strips() const;
  const Strip& strip(const Set&, const Layout&) const;
  // What neighbouring threads compute twice, of stages that differ in size: 1 and more.
  double repetition(const Set&, const Layout&) const;
  bool fits_exchanging(const Strip&, const std::function<int(ir::StageId)>& bytes) const;
  std::string no_strip(const Set&, const Layout&) const;  // why the set is no strip that fits registers; "" where it is
  bool runs_in_strips(const Set&, const Layout&) const;
  std::string breaks_strips(int a, int b, const Set& merged, const Layout&) const;  // why they stay apart, or ""
  bool creates_cycle(int a, int b) const;
  bool circular() const;
  struct Move {
    Set part, less, more;  // what moves, from where, to where
    Layout without, with;
    double left = 0, right = 0;
  };
  Set with_own_producers(const Set&) const;
  std::optional<Move> move(const Set& part, std::size_t from, std::size_t to, double before) const;
  void move_to_consumers();
  void merge_chains(bool all);
  Set chain_to(ir::StageId last, bool all) const;
  // Stages that other groups compute again: repeats.cpp.
  struct Repeat {
    int group = 0;  // that reads them
    Set part;       // what it computes itself
  };
  struct Trial;
  struct Shape {
    bool is_strip = false;
    int columns = 0, registers = 0;  // of a thread of a register tile, which looks ahead of nothing; 0: none
    double text = 0;                 // instructions of a low one
  };
  void repeat_stages();
  std::vector<Repeat> repeats_of(ir::StageId, bool together) const;
  std::optional<Set> repeatable(ir::StageId, int group, bool together) const;
  bool try_repeats(const std::vector<Repeat>&, ir::StageId);
  bool attempt(const std::vector<Repeat>&, Trial&);
  void drop_unread(std::set<std::pair<ir::StageId, int>> maybe, Trial&);
  void put_back(const Trial&);
  Shape shape(const Set&, const Layout&) const;
  bool computes(int group, ir::StageId s) const {
    const Set& set = sets_[static_cast<std::size_t>(group)];
    return std::binary_search(set.begin(), set.end(), s);
  }
  bool leaves_group(ir::StageId, const Set&) const;
  bool leaves_as_field(ir::StageId) const;  // of a struct output
  bool leaves_repeating(ir::StageId, int group) const;
  double points(ir::StageId s) const { return points_[s]; }
  double extent(ir::StageId, std::size_t dim) const;
  double load_price(const Edge&, const Layout&) const;
  void commit(const Set&, const std::vector<Decision>&);
  void predict(Group&, const Price&) const;
  std::vector<Pass> passes(const Set&, const Layout&);

  Plan& plan_;
  const ir::Graph& graph_;
  std::vector<Edge> edges_;
  std::vector<std::vector<std::size_t>> reads_, read_by_;  // edges by consumer, by producer
  std::vector<bool> is_output_;
  bool any_sums_planes_ = false;
  std::vector<bool> fillable_;        // a composed stage that its pieces can be computed right into
  std::vector<double> operations_;    // a point, neighbouring rows of a block sharing what they have in common
  std::vector<double> alone_;         // a point, without that
  std::vector<double> instructions_;  // a point, of a thread; none where no strips are planned
  std::vector<int> work_bytes_;       // of the widest lane that the stage computes in
  std::vector<bool> pairs_;           // see pairs.hpp
  struct ByteProducts {
    int chains = 0;  // of totals; 0: none
    double products = 0;
  };
  std::vector<ByteProducts> quads_;  // see rewrite/sums/bytes.hpp
  std::vector<int> group_of_;        // the set that a stage is in; -1: an input
  std::vector<Set> sets_;
  std::vector<double> price_of_;                  // by set
  std::vector<std::vector<Decision>> decisions_;  // by set
  std::map<int, Shape> shapes_;                   // by set, of those that have been asked for
  std::vector<std::vector<int>> repeated_in_;     // by stage: other groups that compute it; empty while there are none
  std::vector<StripReads> strip_reads_;           // by stage; none where no strips are planned
  std::vector<bool> in_strips_, is_chain_;        // by set
  ir::StageId merged_until_ = 0;                  // stages behind it stand alone
  std::vector<double> points_;
  std::optional<analyze::Ranges> ranges_;
};

}  // namespace tessera::plan
