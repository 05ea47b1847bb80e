// Weighted sums as lists of weights, and weights as outer products; see separable.cpp for what they are for.
#pragma once

#include <array>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/graph.hpp"
#include "tessera/options.hpp"

namespace tessera::rewrite {

using Offset = std::array<i64, 4>;
using Weights = std::vector<std::pair<Offset, double>>;  // in order of offsets, each once

// Reads the weights off an expression of additions and multiplications by constants, windows included.
class LinearForms {
 public:
  // Knows the expressions below `body`. Every step of work is taken off `steps`; at 0 nothing is found any more.
  LinearForms(const ir::Graph& graph, Numbers numbers, ir::ExprId body, i64& steps);

  // Whether it may be a weighted sum: of the right form, in numbers that allow another order.
  bool linear(ir::ExprId e) const { return kinds_.at(e.id) == Kind::linear; }

  struct Sum {
    ir::ExprId leaf;  // one of the terms: an access, perhaps converted; the others differ from it in offsets alone
    Weights weights;  // by offsets, without zeros
  };
  // Nothing when the terms are of several images, or are too many.
  std::optional<Sum> expand(ir::ExprId e);

  static constexpr i64 most_terms = i64{1} << 22;

 private:
  enum class Kind : std::uint8_t { other, number, linear };

  Kind kind(ir::ExprId e) const { return kinds_.at(e.id); }
  bool may_reorder(ElementType type) const;
  Kind kind_of(ir::ExprId e) const;
  std::optional<double> number(ir::ExprId e, int depth = 0);
  bool add_leaf(ir::ExprId e, double weight);
  bool add(ir::ExprId root, double weight, int depth);
  bool add_window(const ir::ExprNode& node, double weight, int depth);
  void order_weights();

  const ir::Graph& graph_;
  Numbers numbers_;
  i64& steps_;
  std::unordered_map<std::uint32_t, Kind> kinds_;
  std::vector<std::pair<std::uint32_t, i64>> variables_;
  Sum sum_;
  bool ordered_ = true;  // the weights, while they are gathered
};

// Weights in the box around their offsets.
struct Tensor {
  std::size_t rank = 0;
  Offset lo{}, extent{}, scale{};  // scale: of the index of the point
  std::vector<double> at;

  i64 count() const {
    i64 n = 1;
    for (std::size_t d = 0; d < rank; ++d) n *= extent[d];
    return n;
  }
  i64 step(std::size_t d) const {
    i64 n = 1;
    for (std::size_t k = d + 1; k < rank; ++k) n *= extent[k];
    return n;
  }
  i64 index(std::size_t d, i64 entry) const { return entry / step(d) % extent[d]; }
  Offset offset(i64 entry) const {
    Offset o{};
    for (std::size_t d = 0; d < rank; ++d) o[d] = lo[d] + index(d, entry);
    return o;
  }
};

// Nothing where a weight is none of numbers of the type, or the box around their offsets is too large. `index`: of the
// leaf, for every dimension of the image.
std::optional<Tensor> tensor_of(const Weights&, const std::vector<ir::Index>& index, ElementType);

// Weights as  scale * factor_0 x factor_1 x ...  + extra terms. A factor belongs to one dimension, the last one perhaps
// to several.
struct Product {
  struct Factor {
    std::vector<std::size_t> dims;
    std::vector<double> weights;  // in the box of those dimensions, row-major
  };
  double scale = 1;
  std::vector<Factor> factors;
  std::vector<std::pair<Offset, double>> extra;
};

// Products of one factor for each of `sides` (dimensions in order), with at most `most_extra` terms beside it.
// Integers are factored exactly, floats within roundings, exactly where the weights are dyadic.
std::optional<Product> outer_product(const Tensor& w, ElementType type,
                                     const std::vector<std::vector<std::size_t>>& sides, std::size_t most_extra);

}  // namespace tessera::rewrite
