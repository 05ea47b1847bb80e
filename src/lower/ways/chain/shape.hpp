// The shape of the kernel of a chain of sums (chain.hpp): what a thread and a block take, and what that costs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lower/device_function.hpp"
#include "lower/ways/chain/chain.hpp"
#include "rewrite/sums/chain.hpp"

namespace tessera::lower {

class ChainShape : protected DeviceFunction {
 public:
  ChainShape(plan::Plan& plan, const Interface& interface, analyze::Ranges& ranges, std::size_t group,
             std::string name);

  bool is_chain() const { return chain_.has_value(); }
  // The best one, of a group that is a chain.
  ChainFit fit(i64 most_shared);

 protected:
  static constexpr i64 vector = 4;  // elements of a load from shared memory

  const rewrite::SumChain::Along& along(std::size_t d) const { return chain_->along[d]; }
  static i64 taps(const rewrite::SumChain::Along& a) { return static_cast<i64>(a.weights.size()); }
  i64 depth() const { return taps(along(0)); }
  i64 size() const { return ir::nest::size_of(lane_); }
  ir::nest::Type type() const { return {lane_, 1, false}; }
  bool is_volume() const { return rank_ > 2; }

  void shape(const ChainFit&);
  i64 shared_elements() const { return fit_.slots * fit_.planes * part_ + 2 * middle_; }
  double sums_of_result() const;
  static int blocks_at_once(const ChainFit&);

  std::optional<rewrite::SumChain> chain_;
  ir::StageId stage_ = 0, source_ = 0;
  ir::nest::Lane lane_ = ir::nest::Lane::f32;  // of the sums
  bool asks_ = false;                          // elements come into shared memory by themselves
  ChainFit fit_;
  // Threads of a block; columns beside its own at the left, those that a thread reads; rows and columns of a part.
  i64 threads_ = 0, left_ = 0, window_ = 0, high_ = 0, wide_ = 0;
  i64 each_ = 0, beside_ = 0, each_beside_ = 0;  // that a thread brings; that borders may map, in a row
  i64 part_ = 0, middle_ = 0, items_ = 0;        // elements; vectors of sums along columns, by `high`

 private:
  void find_lane();
  std::vector<ChainFit> shapes() const;
  void consider(ChainFit, i64 most_shared, ChainFit& best);

  double cost_ = 0;  // of the best shape so far
};

}  // namespace tessera::lower
