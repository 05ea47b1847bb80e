// See mirror.hpp.
#include "fft/device/mirror.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "fft/device/index.hpp"
#include "ir/nest/builder.hpp"

namespace tessera::fft {

using ir::nest::Builder;
using ir::nest::Lane;
using ir::nest::Type;
using ir::nest::Value;

namespace {

constexpr i64 few = 256, warp = 32, most_of_row = 320;  // threads

class MirrorWriter {
 public:
  MirrorWriter(const DeviceMirror& mirror, Builder& out)
      : mirror_(mirror), out_(out), number_{ir::nest::lane_of(mirror.type), 1, false} {}

  void write() {
    const Index thread = let("thread", Index(ir::nest::call_i64("tsr_thread_x", {})));
    const Index block = let("block", Index(ir::nest::call_i64("tsr_block", {})));
    const i64 parts = (mirror_.elements() + mirror_.across() - 1) / mirror_.across();
    const Index element = let("element", block % parts * mirror_.across() + thread % mirror_.across());
    const Index row = let("row", block / parts * mirror_.down() + thread / mirror_.across());
    const Value alive = less(element, Index(mirror_.elements())) & less(row, Index(mirror_.rows()));
    out_.branch(alive, [&] {
      places(row);
      if (mirror_.gathers)
        gather(element);
      else
        fill(element);
    });
  }

 private:
  Index let(const char* name, const Index& i) { return Index(out_.let(name, i.value)); }

  // Of the row and of the one at opposite frequencies, in numbers.
  void places(Index rest) {
    own_ = other_ = to_ = ir::nest::integer(0);
    for (std::size_t d = 0; d < mirror_.dimensions.size(); ++d) {
      const DeviceMirror::Dimension& dimension = mirror_.dimensions[d];
      const bool end = d + 1 == mirror_.dimensions.size();
      const Index i = end ? rest : let("index", rest % dimension.extent);
      if (!end) rest = let("rest", rest / dimension.extent);
      const Index across =
          dimension.opposite ? let("opposite", chosen(equal(i, Index(0)), i, Index(dimension.extent) - i)) : i;
      own_ = own_ + wide(i) * dimension.from;
      other_ = other_ + wide(across) * dimension.from;
      to_ = to_ + wide(i) * dimension.to;
    }
  }

  Value pointer(int number, const Value& offset) {
    const Value bytes = ir::nest::load(ir::nest::variable("N", {Lane::i64, 1, true}), ir::nest::integer(number), 1);
    const Value block = ir::nest::variable("p" + std::to_string(number), ir::nest::bytes_pointer);
    return ir::nest::address(ir::nest::convert({number_.lane, 1, true}, ir::nest::address(block, bytes)), offset);
  }

  struct Pair {
    Value re, im;
  };
  Value zero() const { return ir::nest::real(0, number_); }
  Pair read(int number, const Value& row, const Index& element) {
    if (mirror_.real)
      return {out_.let("x", ir::nest::load(pointer(number, row + wide(element)), ir::nest::integer(0), 1)), zero()};
    const Value re = out_.var("x", zero()), im = out_.var("x", zero());
    out_.call(name("tsr_load"), {pointer(number, row + wide(element) * 2), re, im});
    return {re, im};
  }
  void write(const Value& row, const Index& element, const Pair& v) {
    out_.call(name("tsr_store"), {pointer(1, row + wide(element) * 2), v.re, v.im});
  }
  std::string name(const char* stem) const {
    return fmt::format("{}_{}x2", stem, mirror_.type == ElementType::f32 ? "f32" : "f64");
  }
  Value negative(const Value& v) { return out_.let("x", -v); }

  void gather(const Index& k) {
    const Index back = let("back", chosen(equal(k, Index(0)), k, Index(mirror_.row) - k));
    const Pair a = read(0, own_, k), b = read(0, other_, back);
    write(to_, k, {out_.let("x", a.re + b.re), mirror_.real ? zero() : out_.let("x", a.im - b.im)});
  }

  void fill(const Index& element) {
    const Index k = mirror_.conjugated ? element : let("k", element + 1);
    const Pair v = read(1, own_, k);
    const Pair conjugate{v.re, negative(v.im)};
    if (!mirror_.conjugated) return write(other_, Index(mirror_.row) - k, conjugate);
    write(own_, k, conjugate);
    const Value behind = less(Index(0), k) & less(k, Index((mirror_.row + 1) / 2));
    out_.branch(behind, [&] { write(other_, Index(mirror_.row) - k, v); });
  }

  const DeviceMirror& mirror_;
  Builder& out_;
  const Type number_;
  Value own_, other_, to_;
};

}  // namespace

i64 DeviceMirror::elements() const {
  return gathers || conjugated ? row / 2 + 1 : (row - 1) / 2;
}

i64 DeviceMirror::rows() const {
  i64 all = 1;
  for (const Dimension& d : dimensions) all *= d.extent;
  return all;
}

i64 DeviceMirror::across() const {
  const i64 n = elements();
  if (n > few) {  // parts of a row, of as even a length as warps allow
    const i64 parts = (n + most_of_row - 1) / most_of_row, part = (n + parts - 1) / parts;
    return (part + warp - 1) / warp * warp;
  }
  i64 across = 1;
  while (across < n) across *= 2;
  return across;
}

i64 DeviceMirror::down() const {
  return std::max<i64>(1, few / across());
}

i64 DeviceMirror::blocks() const {
  return (elements() + across() - 1) / across() * ((rows() + down() - 1) / down());
}

DeviceLineKernel write_mirror(const DeviceMirror& mirror, const std::string& name) {
  DeviceLineKernel kernel;
  kernel.function.name = name;
  kernel.function.essay = mirror.gathers ? fmt::format("half of a spectrum, of both halves of rows of {}", mirror.row)
                                         : fmt::format("the other half of a spectrum of rows of {}", mirror.row);
  kernel.threads = mirror.across() * mirror.down();
  Builder out(kernel.function.body);
  MirrorWriter(mirror, out).write();
  return kernel;
}

}  // namespace tessera::fft
