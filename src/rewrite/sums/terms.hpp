// What sums and other reductions of windows are made of, where it is more than samples of one image; see terms.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/graph.hpp"
#include "tessera/options.hpp"

namespace tessera::rewrite {

// A function of images that are all read at one place of the window.
struct PointTerm {
  ir::ExprId written;         // as it stands in the body
  ir::ExprId point;           // moved to the point itself: the same for equal functions at different places
  std::vector<ir::Index> at;  // the place: one for every dimension of the highest rank among the images
  bool sample = false;        // a sample of one image, perhaps converted, and so nothing to be named
};

// A term of a sum:  +- weight * still / under * term / over.
struct Addend {
  bool negative = false;
  std::vector<ir::ExprId> weights, over;  // numbers
  std::vector<ir::ExprId> still, under;   // what is the same for the whole window: images at the point, scalars
  PointTerm term;
};

// A reduction, or a sum written out term by term, of functions of images.
struct WindowSum {
  ir::ExprId root;
  ir::Op op = ir::Op::reduce_sum;
  std::vector<ir::Var> vars;  // none: it is written out
  std::vector<Addend> addends;
};

class TermReader {
 public:
  // Knows the expressions below `body`.
  TermReader(ir::Graph& graph, Numbers numbers, ir::ExprId body);

  // All of the body that have something to be named or to be taken out of the sum.
  std::vector<WindowSum> sums();

  // Whether sums of that type may be added in another order, and their factors multiplied.
  bool may_reorder(ElementType type) const;

 private:
  struct Facts {
    bool number = false;   // of constants, variables and tables alone
    bool movable = false;  // of images at fixed places, scalars and constants alone: nothing tells where the point is
    bool reads = false;    // an image
    bool linear = false;   // samples of images, multiplied by numbers and added up
    std::int32_t size = 0;
    std::vector<std::uint32_t> variables;  // of reductions around it
    bool moves() const { return !variables.empty(); }
  };
  // What a product is made of; `moving` is what is left.
  struct Factors {
    std::vector<ir::ExprId> weights, over, still, under, moving;
    bool negative = false;
  };
  // A part of a sum that is looked into, with what it is multiplied by.
  struct Part {
    ir::ExprId e;
    Addend by;
  };

  const Facts& facts(ir::ExprId e) const { return facts_.at(e.id); }
  Facts facts_of(ir::ExprId e) const;
  bool is_link(ir::ExprId e) const;
  bool is_weighted_image(ir::ExprId e) const;
  Factors factors(ir::ExprId e, bool window) const;
  static void multiply(Addend& by, const Factors& f);
  std::optional<PointTerm> term_of(ir::ExprId written);
  std::optional<PointTerm> term_of(const Factors& f);
  std::optional<WindowSum> window(ir::ExprId root);
  std::optional<WindowSum> written_out(ir::ExprId root);
  bool read(Part root, bool window, std::vector<Addend>& addends);

  ir::Graph& graph_;
  Numbers numbers_;
  std::vector<ir::ExprId> order_;
  std::unordered_map<std::uint32_t, Facts> facts_;
};

}  // namespace tessera::rewrite
