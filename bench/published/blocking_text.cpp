// Texts of blocked convolutions; see blocking.hpp.
#include <fmt/format.h>

#include <map>

#include "published/blocking.hpp"

namespace tessera::published {
namespace {

using Index = std::vector<i64>;

bool last(const Blocking& b, std::size_t axis) {
  return axis + 1 == b.rank();
}
bool written_out(const Blocking& b, std::size_t axis) {
  return last(b, axis) || b.block[axis] > 1;
}
i64 lanes_of(const Blocking& b, std::size_t axis) {
  return last(b, axis) ? b.lanes : 1;
}

// Elements from one index to the next.
std::vector<i64> strides(const std::vector<i64>& extents, i64 more) {
  std::vector<i64> found(extents.size(), 1);
  for (std::size_t d = extents.size() - 1; d > 0; --d) found[d - 1] = found[d] * (extents[d] + more);
  return found;
}

i64 dot(const Index& a, const Index& b) {
  i64 sum = 0;
  for (std::size_t d = 0; d < a.size(); ++d) sum += a[d] * b[d];
  return sum;
}

// Calls fn with every index below the bounds, the last axis fastest.
template <class F>
void every(const Index& bounds, F fn) {
  Index at(bounds.size(), 0);
  for (;;) {
    fn(at);
    std::size_t d = bounds.size();
    while (d > 0 && ++at[d - 1] == bounds[d - 1]) at[--d] = 0;
    if (d == 0) return;
  }
}

// What one loaded element is added to: (result, weight).
using Uses = std::vector<std::pair<i64, i64>>;

// Loads by their place relative to the item, in the order of memory.
std::map<i64, Uses> loads(const Blocking& b) {
  const std::vector<i64> source = strides(b.extents, b.taps - 1);
  const Index weight = strides(Index(b.rank(), b.taps), 0), result = strides(b.block, 0);
  Index taps(b.rank(), 1);
  for (std::size_t d = 0; d < b.rank(); ++d)
    if (written_out(b, d)) taps[d] = b.taps;
  std::map<i64, Uses> found;
  every(b.block, [&](const Index& o) {
    every(taps, [&](const Index& j) {
      Index at(b.rank());
      for (std::size_t d = 0; d < b.rank(); ++d) at[d] = o[d] * lanes_of(b, d) + j[d];
      found[dot(at, source)].emplace_back(dot(o, result), dot(j, weight));
    });
  });
  return found;
}

std::string head_of(const Blocking& b, Dialect dialect) {
  std::string weights;
  for (std::size_t k = 0; k < b.weights.size(); ++k)
    weights += fmt::format("{}{:.9e}f", k == 0 ? "" : k % 8 == 0 ? ",\n    " : ", ", b.weights[k]);
  if (dialect == Dialect::device)
    return fmt::format(
        "#define LOAD(at) (*(at))\n#define STORE(at, v) (*(at) = (v))\n"
        "typedef float value;\ntypedef struct {{ long n; }} Numbers;\n__constant float weights[{}] = {{\n    {}}};\n\n",
        b.weights.size(), weights);
  return fmt::format(
      "typedef float value __attribute__((vector_size({0})));\n"
      "typedef float loose __attribute__((vector_size({0}), aligned(4), may_alias));\n"
      "#define LOAD(at) (*(const loose*)(at))\n#define STORE(at, v) (*(loose*)(at) = (v))\n"
      "static const float weights[{1}] = {{\n    {2}}};\n\n",
      4 * b.lanes, b.weights.size(), weights);
}

// Where an item begins along an axis, from its number.
std::string begin_of(const Blocking& b, std::size_t axis, const std::string& number) {
  const i64 step = b.block[axis] * lanes_of(b, axis), most = b.extents[axis] - step;
  return fmt::format("  const int x{0} = {1} * {2} < {3} ? {1} * {2} : {3};\n", axis, number, step, most);
}

// The sums of one item, once x0, x1, ... are there.
std::string sums(const Blocking& b, Dialect dialect) {
  const std::vector<i64> source = strides(b.extents, b.taps - 1), target = strides(b.extents, 0);
  const Index weight = strides(Index(b.rank(), b.taps), 0), result = strides(b.block, 0);
  std::string text, place = "source", base = "0";
  const i64 count = element_count(b.block);
  for (i64 o = 0; o < count; ++o) text += fmt::format("  value r{} = {};\n", o, dialect == Dialect::c ? "{0}" : "0.0f");
  for (std::size_t d = 0; d < b.rank(); ++d) {
    place += fmt::format(" + x{} * {}", d, source[d]);
    if (written_out(b, d)) continue;
    text += fmt::format("  {0}\n  for (int j{1} = 0; j{1} < {2}; ++j{1})\n",
                        dialect == Dialect::c ? "_Pragma(\"GCC unroll 1\")" : "#pragma unroll 1", d, b.taps);
    place += fmt::format(" + j{} * {}", d, source[d]);
    base += fmt::format(" + j{} * {}", d, weight[d]);
  }
  text += fmt::format("  {{\n    {}const float* p = {};\n    const int w = {};\n",
                      dialect == Dialect::device ? "__global " : "", place, base);
  for (const auto& [at, uses] : loads(b)) {
    text += fmt::format("    {{ const value v = LOAD(p + {});", at);
    for (const auto& [o, j] : uses) text += fmt::format(" r{} += v * weights[w + {}];", o, j);
    text += " }\n";
  }
  text += "  }\n";
  std::string to = "target";
  for (std::size_t d = 0; d < b.rank(); ++d) to += fmt::format(" + x{} * {}", d, target[d]);
  every(b.block, [&](const Index& o) {
    Index at = o;
    at.back() *= b.lanes;
    text += fmt::format("  STORE({} + {}, r{});\n", to, dot(at, target), dot(o, result));
  });
  return text;
}

}  // namespace

i64 Blocking::items(std::size_t axis) const {
  const i64 step = block[axis] * (axis + 1 == rank() ? lanes : 1);
  return (extents[axis] + step - 1) / step;
}

double loads_of(const Blocking& b) {
  i64 looped = 1;
  for (std::size_t d = 0; d < b.rank(); ++d)
    if (!written_out(b, d)) looped *= b.taps;
  return static_cast<double>(looped) * static_cast<double>(loads(b).size()) /
         static_cast<double>(element_count(b.block));
}

std::string blocked_text(const Blocking& b, Dialect dialect) {
  std::string text = head_of(b, dialect);
  if (dialect == Dialect::c) {
    text += "void blocked(const float* source, float* target) {\n";
    for (std::size_t d = 0; d < b.rank(); ++d)
      text += fmt::format("  for (int n{0} = 0; n{0} < {1}; ++n{0}) {{\n{2}", d, b.items(d),
                          begin_of(b, d, fmt::format("n{}", d)));
    text += sums(b, dialect);
    for (std::size_t d = 0; d < b.rank(); ++d) text += "  }\n";
    return text + "}\n";
  }
  // What is left beside the last two axes shares the third number of an item.
  text += "__kernel void blocked(__global const float* source, __global float* target, Numbers unused) {\n";
  const std::size_t n = b.rank();
  text += begin_of(b, n - 1, "(int)get_global_id(0)") + begin_of(b, n - 2, "(int)get_global_id(1)");
  if (n == 3) text += begin_of(b, 0, "(int)get_global_id(2)");
  if (n == 4)
    text += begin_of(b, 0, fmt::format("((int)get_global_id(2) / {})", b.items(1))) +
            begin_of(b, 1, fmt::format("((int)get_global_id(2) % {})", b.items(1)));
  return text + sums(b, dialect) + "}\n";
}

std::string forma_text(const Blocking& b) {
  std::string sum, names, extents;
  std::size_t k = 0;
  every(Index(b.rank(), b.taps), [&](const Index& j) {
    std::string offsets;
    for (const i64 at : j) offsets += fmt::format("{}{}", offsets.empty() ? "" : ",", at - b.taps / 2);
    sum += fmt::format("{}{:.9e}f * X@[{}]", k == 0 ? "" : " +\n    ", b.weights[k], offsets);
    ++k;
  });
  for (std::size_t d = 0; d < b.rank(); ++d) {
    names += fmt::format("{}N{}", d == 0 ? "" : ", ", d);
    extents += fmt::format("{}N{}", d == 0 ? "" : ",", d);
  }
  return fmt::format(
      "stencil convolved(vector#{0} float X) {{\n  return {1};\n}}\nparameter {2};\nvector#{0} float image[{3}];\n"
      "return convolved(image);\n",
      b.rank(), sum, names, extents);
}

}  // namespace tessera::published
