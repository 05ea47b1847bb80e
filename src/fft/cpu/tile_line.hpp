// Passes over a line of points that stay in place: the transforms of one axis of a tile (tile.hpp).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "fft/cpu/ends.hpp"
#include "fft/cpu/tile.hpp"
#include "ir/nest/builder.hpp"

namespace tessera::fft {

// Where the elements of a line lie, in points: legs of the first pass are `gap` further apart than their elements,
// since powers of two conflict in caches.
struct Line {
  i64 n = 1;
  std::vector<i64> radices;
  i64 gap = 0;

  i64 first_step() const { return n / radices.front(); }
  i64 points() const { return n + radices.front() * gap; }
};

Line tile_column(const TilePlan&);
Line tile_row(const TilePlan&);

// The frequency whose sum stands at a place, for the first radices of a line: the first digit weighs least.
i64 digits_reversed(i64 place, const std::vector<i64>& radices);

enum class Way : std::uint8_t { forward, back };

// One butterfly of a pass: its legs lie a constant number apart.
struct Legs {
  ir::nest::Value first, at;  // element and place (in numbers) of leg 0
  i64 step = 1, numbers = 1;

  ir::nest::Value element(i64 k) const { return first + k * step; }
  ir::nest::Value place(i64 k) const { return at + k * numbers; }
};

class LineWriter {
 public:
  // Adds the twiddles to the tables of the module.
  LineWriter(Line line, ir::nest::Type vector, ir::nest::Module& module, ir::nest::Builder& out);

  const Line& line() const { return line_; }
  std::size_t passes() const { return line_.radices.size(); }

  using Load = std::function<Complex(const Legs&, i64 k)>;
  using Store = std::function<void(const Legs&, i64 k, const Complex&)>;
  // Pass i counts from the first one forward; it is the last but i on the way back.
  void pass(std::size_t i, Way way, const Load& load, const Store& store);
  // The first pass over several lines at once, line by line for every butterfly: `lines` writes a loop around its
  // argument.
  using Lines = std::function<void(const std::function<void()>& body)>;
  void pass_over(const Lines& lines, Way way, const Load& load, const Store& store);
  using Aside = std::function<void(const ir::nest::Value& element)>;
  void in_place(std::size_t i, Way way, const ir::nest::Value& at, const Aside& aside = {});
  // The last pass forward, the product with as many points of a spectrum, the first pass back.
  void product(const ir::nest::Value& at, const ir::nest::Value& spectrum, const Aside& aside);

  // The last pass forward, to a spectrum.
  void to_spectrum(const ir::nest::Value& at, const ir::nest::Value& spectrum);
  // Two sums of `count` products, of the spectra of lines with those of weights, and their first pass back: the second
  // one begins with the next line. For each of `volumes` there are count + 1 lines and `count` weights.
  using Nth = std::function<ir::nest::Value(const ir::nest::Value& k)>;
  struct Products {
    ir::nest::Value volumes, count;
    Nth spectrum, weights;
  };
  void sums_of_products(const ir::nest::Value (&at)[2], const Products& of);

  // The body for k < count, without a loop if there is but one.
  void repeat(const std::string& stem, i64 count, const std::function<void(const ir::nest::Value&)>& body);
  // For the first elements of the line: element and place.
  void each(const ir::nest::Value& count,
            const std::function<void(const ir::nest::Value& element, const ir::nest::Value& place)>& body);

 private:
  struct Turns {
    ir::nest::Value table;  // none: all are 1
    ir::nest::Value row;    // of the butterfly, in numbers
  };
  i64 step(std::size_t i) const;  // elements between the legs of pass i
  ir::nest::Value table(ir::nest::Module& module, std::size_t i, Way way);
  void butterflies(
      std::size_t i,
      const std::function<void(const Legs&, const ir::nest::Value& block, const ir::nest::Value& inner)>& body);
  Complex turned(const Turns& turns, i64 k, const Complex& x);
  void one(std::size_t i, Way way, const Legs& legs, const Turns& by, const Load& load, const Store& store);
  Turns turns(std::size_t i, Way way, const ir::nest::Value& block, const ir::nest::Value& inner);

  Line line_;
  ir::nest::Type vector_;
  ir::nest::Builder& out_;
  Ends ends_;
  Butterfly butterfly_;
  std::vector<ir::nest::Value> forward_, back_;
};

}  // namespace tessera::fft
