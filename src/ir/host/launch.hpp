// What the host does for one kernel of a device: blocks and integers from extents, offsets and strides. Lowering writes
// it once (lower/host/launches.hpp), runs evaluate it, printers print it into emitted files.
//
//   let height = tsr_strip_height(n1, ceil(n0 / 128), at_once, 4, 2)
//   let b0 = ceil(rows / (height * 4))
//   let b1 = ceil(n0 / 128)
//   grid b0 * b1
//   integers n0, offset 0, stride 0 0, b1, height, first, last
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/graph.hpp"

namespace tessera::ir::host {

// An integer of the host, as an expression.
struct Number {
  enum class Op : std::uint8_t {
    constant,
    size,         // an extent or another size of the graph
    first,        // the rows [first, last) of dimension 0 are computed
    last,         //
    rows,         // last - first
    at_once,      // blocks of the kernel that the device holds at one time
    offset,       // of array `index`: bytes to its first element
    stride,       // of array `index`, along `dimension`: bytes
    order,        // what the kernel waits for; 0 where kernels are launched one after the other
    let,          // what Launch::lets[index] is
    filled,       // number `dimension` of the list that Launch::lets[index] filled
    product,      // of args
    ceil_divide,  // of two args, rounded up
    call          // of a function that lowering and emitted files have
  } op = Op::constant;
  i64 value = 0;
  SizeId of_size;
  std::size_t index = 0, dimension = 0;
  std::string function;
  std::vector<Number> args;

  Number(i64 constant = 0) : value(constant) {}
  Number(SizeId size) : op(Op::size), of_size(size) {}
  Number(Op o, std::size_t i = 0, std::size_t d = 0) : op(o), index(i), dimension(d) {}
};
Number operator*(Number, Number);
Number ceil_divide(Number, Number);
Number call(std::string function, std::vector<Number> args);

struct Launch {
  struct Let {
    std::string name;
    Number value;
    std::size_t fills = 0;  // the function takes one more argument: a list of so many integers, which it fills
  };
  std::vector<Let> lets;
  Number grid;
  std::vector<Number> integers;  // as the kernel takes them
  std::optional<Number> height;  // rows of a strip
  std::vector<Number> blocks;    // along every dimension of the kernel's domain; empty where `grid` counts otherwise
};

// What a launch depends on.
struct LaunchContext {
  virtual ~LaunchContext() = default;
  virtual i64 size(SizeId) const = 0;
  virtual i64 offset(std::size_t array) const = 0;
  virtual i64 stride(std::size_t array, std::size_t dimension) const = 0;
  virtual i64 call(const std::string& function, const std::vector<i64>& args, std::vector<i64>& filled) const = 0;
  i64 first = 0, last = 0, at_once = 1;
};

// The numbers of one launch. Products beyond 2^63 - 1 are 2^63 - 1.
class LaunchValues {
 public:
  LaunchValues(const Launch&, const LaunchContext&);
  i64 operator()(const Number&) const;

 private:
  const LaunchContext& context_;
  std::vector<i64> lets_;
  std::vector<std::vector<i64>> filled_;
};

// A line a let, then the grid and the integers.
std::string print(const Launch&, const Graph&);

}  // namespace tessera::ir::host
