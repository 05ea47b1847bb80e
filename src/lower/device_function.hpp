// What all kernels are written with: integers from the host, addresses of elements, operands of point expressions.
#pragma once

#include <string>
#include <vector>

#include "analyze/ranges.hpp"
#include "lower/builder.hpp"
#include "lower/device.hpp"
#include "lower/point.hpp"
#include "lower/vocabulary.hpp"

namespace tessera::lower {

class DeviceFunction {
 protected:
  using Value = ir::nest::Value;
  using Kind = DeviceKernel::Integer::Kind;

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
  // The address of an element; of the row alone where the last index is missing.
  Value element(ir::StageId, const std::vector<Value>& at);
  Value row(ir::StageId, const std::vector<Value>& outer);
  Value read(ir::StageId, const std::vector<Value>& at);
  Value lane_constant(double, ir::nest::Lane) const;
  Value border_value(double, ir::StageId, ir::nest::Lane) const;
  Value both(const Value& a, const Value& b);  // a may be missing

  // Everything but loads, at index_.
  PointSource point_source();

  plan::Plan& plan_;
  ir::Graph& graph_;
  const Interface& interface_;
  analyze::Ranges& ranges_;
  DeviceKernel kernel_;
  std::size_t rank_ = 0;
  Builder* builder_ = nullptr;
  std::vector<Value> index_;  // of the point that is computed

 private:
  Value gather(const ir::ExprNode&, const std::vector<Value>& indices);
  Value leaf(const ir::ExprNode&);
};

}  // namespace tessera::lower
