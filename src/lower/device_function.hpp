// What all kernels are written with: integers from the host, addresses of elements, operands of point expressions.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "analyze/ranges.hpp"
#include "lower/device.hpp"
#include "lower/point.hpp"
#include "lower/vocabulary.hpp"

namespace tessera::lower {

class DeviceFunction {
 protected:
  using Value = ir::nest::Value;
  using Kind = DeviceKernel::Integer::Kind;
  static constexpr int least_bytes = 4;  // of what is computed with: a narrower integer takes a register as well

  DeviceFunction(plan::Plan& plan, const Interface& interface, analyze::Ranges& ranges, std::string name)
      : plan_(plan), graph_(plan.graph), interface_(interface), ranges_(ranges) {
    kernel_.name = std::move(name);
  }
  ~DeviceFunction() = default;
  // With its parameters, into the program.
  void finish(ir::nest::Function, DeviceProgram&);

  bool contracted() const { return plan_.options.numbers == Numbers::fast; }
  Value host(const DeviceKernel::Integer& what);
  Value extent(ir::SizeId);
  std::size_t position(std::size_t array);  // among the kernel's pointers
  Value base(std::size_t pointer);          // u8*: its first element
  ArrayPlace place(ir::StageId) const;
  ir::nest::Lane memory_lane(ir::StageId) const;
  ir::nest::Lane register_lane(ir::StageId) const;  // at least a register wide
  // The address of an element; of the row alone where the last index is missing.
  Value element(ir::StageId, const std::vector<Value>& at);
  Value row(ir::StageId, const std::vector<Value>& outer);
  Value read(ir::StageId, const std::vector<Value>& at);
  Value lane_constant(double, ir::nest::Lane) const;
  Value border_value(double, ir::StageId, ir::nest::Lane) const;
  Value both(const Value& a, const Value& b);  // a may be missing
  Value all_of(std::vector<Value> flags);      // 1 if there are none; nested no deeper than it takes
  Value first_row() { return host({Kind::first, {}, 0, 0}); }
  Value end_of(std::size_t dimension);  // of the points that are computed
  // The first point of this block along a dimension. Dimensions come from the last on; `block`, missing at first, is
  // what they leave of the block's number.
  Value first_of_block(std::size_t dimension, Value& block);
  void reads_of(ir::StageId);  // of a point stage: into the kernel's
  void reads(ir::StageId producer, DeviceKernel::Reach);
  void writes(ir::StageId, DeviceKernel::Reach = {});

  // Where a border maps an index to; of a constant one to the nearest element, whose value is not used then: a slab has
  // no other. `off` is set for constants: is there no element?
  Value mapped_index(BorderMode, const Value& i, const Value& n, Value& off);

  // The value of a stage at a point: 0 in its margins.
  Value without_margins(ir::StageId, const std::vector<Value>& at, const Value&, ir::nest::Lane);

  // Where index_ of a piece stands in the stage that it lies inside of.
  std::vector<Value> place_in_whole(ir::StageId piece);

  // Reads an element of a stage.
  using Read = std::function<Value(ir::StageId, const std::vector<Value>& at)>;
  BorderMode mode_of(const ir::ExprNode&, std::size_t dimension) const;  // of the border of an access
  // An access at index_; `mapped` where it may lie outside.
  using Vars = std::map<std::uint32_t, Value>;
  Value load_access(const ir::ExprNode&, const Vars&, bool mapped, const Read& from);

  // Of a composed stage at index_: 0 where no piece lies. `from` reads an element of a piece.
  Value composed_value(ir::StageId, ir::nest::Lane, const Read& from);

  // Everything but loads, at index_.
  PointSource point_source();

  plan::Plan& plan_;
  ir::Graph& graph_;
  const Interface& interface_;
  analyze::Ranges& ranges_;
  DeviceKernel kernel_;
  std::size_t rank_ = 0;
  bool clamps_ = false;  // accesses without a border: they lie inside wherever their values are used, not elsewhere
  Builder* builder_ = nullptr;
  std::vector<Value> index_;        // of the point that is computed
  std::vector<ir::SizeId> domain_;  // of its stage

 private:
  Value clamped_index(const Value& index, const Value& last);
  Value gather(const ir::ExprNode&, const std::vector<Value>& indices);
  Value partial(const ir::ExprNode&, const Value& piece, const Value& bin);
  Value leaf(const ir::ExprNode&);
  Value lane_of_piece(const ir::ExprNode&);
};

}  // namespace tessera::lower
