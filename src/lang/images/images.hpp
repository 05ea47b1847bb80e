// Whole images: statements, stencil calls, and the rearrangements (sub-domain, sample, spread, paste, compose).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lang/context.hpp"
#include "lang/images/extents.hpp"
#include "lang/points/points.hpp"

namespace tessera::lang {

// A part of an image that is put together, with its place.
struct PlacedPiece {
  Span span;
  std::optional<Image> image;
  double value = 0;
  ElementType type = ElementType::i32;  // of a number
  std::vector<ir::SizeId> start, count;
  std::vector<i64> stride;
  std::vector<std::optional<ir::SizeId>> extent;  // what the piece asks of the whole; nothing: as far as it goes
};

// What statements place under one name, one piece after the other, is one image as long as nothing reads it. It is put
// together when something does.
struct Collection {
  std::vector<PlacedPiece> pieces;
  bool complete = true;  // the image of that name has all of them
  bool read = false;     // the next piece begins another image
};

// The names of the program or of one activation of a vector function. An image is "u" or, versioned, "u<3>"; nothing
// for one whose value was faulty.
struct Scope {
  std::map<std::string, std::optional<Image>> images;
  std::map<std::string, Collection> collected;
  std::map<std::string, Span> unread;  // assigned as a whole, and read by nothing since
  Locals scalars;                      // scalar inputs and arguments, loop variables
  const Function* function = nullptr;
};

// The loop with a test whose body is being evaluated. In it the names of versions are "u<t>" and "u<t-1>".
struct TestLoop {
  std::string_view variable;
  i64 lo = 0, hi = 0;
  std::uint32_t index = 0;                            // into Graph::loops
  std::map<std::string, std::optional<Image>> outer;  // the images before it
  std::map<std::string, std::vector<Image>> carried;  // by name: u<t-1>, u<t-2> ...
  std::map<std::string, Span> computed;               // by name: where u<t> gets its value
  std::map<std::string, Span> read;                   // by name: where the first version before stands
  i64 step() const { return lo <= hi ? 1 : -1; }
  i64 most() const { return (hi - lo) * step() + 1; }
  std::string spelled(std::string_view name, i64 before) const;  // "u<t-2>" for 2
};

class ImageEvaluator {
 public:
  // `known_stages` finds stages that were made before with the same meaning; it is shared by all scopes of a program.
  struct StageKey {
    ir::ExprId body;
    ElementType type;
    std::vector<ir::SizeId> domain;
    std::vector<i64> lo, hi;
    auto operator<=>(const StageKey&) const = default;
  };
  using KnownStages = std::map<StageKey, ir::StageId>;

  ImageEvaluator(Context& context, Scope& scope, KnownStages& known)
      : context_(context), graph_(context.graph), scope_(scope), known_(known), extents_(context, &scope.scalars) {
    extents_.set_outside([this](const Expr& e) { return scalar_of(e); });
    extents_.set_images([this](const Expr& e) { return is_extent(e) ? std::optional(extent_of(e)) : std::nullopt; });
  }
  ImageEvaluator(const ImageEvaluator&) = delete;
  ImageEvaluator& operator=(const ImageEvaluator&) = delete;

  void run(const Statement&);
  // The extents of the place to be filled, where it says them; one per dimension of the place.
  using Wanted = std::vector<std::optional<ir::SizeId>>;
  // `wanted` is for calls and compositions that stand in a place; may be null.
  Image evaluate(const Expr&, const Wanted* wanted = nullptr);
  // The same, or a scalar made of images.
  Image any_image(const Expr&, const Wanted* wanted = nullptr);
  // The same, or the numbers that argmax gives.
  Image values(const Expr&, const Wanted* wanted = nullptr);
  // A stencil applied to images that fit its arguments. `names`: the values of its scalar arguments.
  Image apply_stencil(const Function&, std::vector<ArgumentUse>, Locals names, Span at, const Wanted* wanted);

  // Checks a function by itself, on images of its own.
  static void check_alone(Context&, const Function&, KnownStages&);

 private:
  using Domain = std::vector<ir::SizeId>;

  // images.cpp
  void run_loop(const Statement&);
  void assign(const Statement&);
  std::string key(const Name&, const std::vector<const Expr*>& version);
  Image named(const Expr&, const std::string& key);
  Image record(const Expr&);
  Image field(const Expr&);
  // What the place says of dimension d of an image of that rank: the trailing ones are the image's.
  static std::optional<ir::SizeId> wanted_extent(const Wanted*, std::size_t rank, std::size_t d);
  const Domain& domain(const Image& image) const { return graph_.stage(image.stages[0]).domain; }
  std::string describe_image(const Image&) const;

  // loops.cpp
  void run_test_loop(const Statement&);
  void run_body(const Statement&, TestLoop&);
  ir::StageId counter(const Statement&, const TestLoop&);
  void check_assignment(const Statement&, const std::string& key);
  std::optional<i64> versions_before(const std::vector<const Expr*>& version);
  Image carried_image(const Expr&, i64 before);
  void check_next(const std::string& name, const Image& next);
  ir::StageId computed(ir::StageId);
  void end_loop(const Statement&, const TestLoop&, ir::StageId counter);
  Image last_of(const Image&, std::string_view name, const TestLoop&, Span at);

  // calls.cpp
  Image call(const Expr&, const Wanted* wanted);
  Image call_vector_function(const Expr&, const Function&);
  PointValue scalar_argument(const CallArgument&, const FunctionArgument&, const Function&);
  Image image_argument(const CallArgument&, const FunctionArgument&, const Function&);
  Image as_bytes(const Image&, Span);
  std::vector<Border> borders(const CallArgument&, const FunctionArgument&);
  std::pair<std::vector<i64>, std::vector<i64>> margins(const Function&, const std::vector<ArgumentUse>&,
                                                        std::size_t rank, Span at);
  void warn_of_margins(const Function&, const std::vector<ArgumentUse>&, const std::vector<i64>& hi, Span at);
  Domain named_domain(const Function&, const NamedReads&, Span at, const Wanted* wanted);
  Domain result_domain(const Function&, const std::vector<ArgumentUse>&, Span at, const Wanted* wanted);
  ir::StageId add_point(std::string name, ElementType, const Domain&, ir::ExprId body, std::vector<i64> lo,
                        std::vector<i64> hi, Span at);
  ir::StageId add(ir::Stage, Span at);

  using Piece = PlacedPiece;
  // positions.cpp
  bool is_position(const Expr&) const;
  Image position_of_extreme(const Expr&);
  Image index_of_position(const Expr&);

  // totals.cpp
  bool is_extent(const Expr&) const;
  ir::SizeId extent_of(const Expr&);
  bool is_total(const Expr&) const;
  bool holds_total(const Expr&) const;
  bool is_named_scalar(const Expr&) const;
  bool is_of_numbers(const Expr&) const;
  Image total(const Expr&);
  Image reduced_image(const Expr&);
  Image single(ir::ExprId body, const Expr&);
  Image scalar_image(const Expr&);
  void prepare(PointEvaluator&);
  std::optional<Scalar> scalar_of(const Expr&);

  // keyed.cpp
  struct Elements {  // of a keyed reduction: where they are, their keys, and the bins
    Domain domain;
    std::vector<ir::ExprId> keys;
    Domain bins;
  };
  Image keyed(const Expr&, const Wanted* wanted);
  Elements elements(const Expr&, const std::optional<Image>& value, const Domain& bins);
  ir::ExprId own_point(ir::StageId) const;
  ir::StageId bins(const Expr&, ir::Op, ir::ExprId value, const Elements&, ElementType result);
  Wanted bins_of_place(const Expr&, Piece&, const std::vector<IndexItem>& place, const Wanted& lengths);
  void name_bins(const std::string& name, std::size_t first, ir::StageId result);

  // spectra.cpp
  bool is_spectrum(const Expr&) const;
  Image spectrum(const Expr&);
  std::vector<int> transformed_dimensions(const Expr&, std::size_t rank);
  ir::StageId in_type(ir::StageId, ElementType, Span at);
  Image transform_pair(const StructType& result, const ir::Fourier&, Span at);

  // stacks.cpp
  void each_round(const std::vector<Range>&, Span at, const std::function<void()>& round);
  Image stack(const Expr&);
  Image over_images(const Expr&);

  // layout.cpp
  bool is_scalar(const Expr&) const;
  bool is_image(const Expr&) const;
  Image sub_domain(const Expr&);
  Image sample(const Expr&);
  Image compose(const Expr&, const Wanted* wanted);
  void place(const Statement&, const std::string& name);
  void put_together(const std::string& name);
  void put_all_together();
  Piece whole(const Image&, Span at) const;
  Piece piece(Span at, bool strided, const std::vector<IndexItem>& place, const Expr& value);
  void place_strided(Piece&, const std::vector<IndexItem>& place);
  void place_range(Piece&, const std::vector<IndexItem>& place, const Expr& value);
  bool is_all(const Piece&, const Domain&) const;
  Image joined(std::vector<Piece> pieces, const std::string& name, Span at, const Wanted* wanted = nullptr);
  Image rearranged(const Image&, const Domain&, const std::vector<ir::Index>&, const std::vector<Border>&,
                   const std::string& name, Span at);

  Context& context_;
  ir::Graph& graph_;
  Scope& scope_;
  TestLoop* loop_ = nullptr;
  KnownStages& known_;
  ExtentEvaluator extents_;
};

}  // namespace tessera::lang
