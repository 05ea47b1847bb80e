// See tile.hpp.
#include "fft/cpu/tile.hpp"

#include <limits>

#include "fft/butterfly.hpp"
#include "fft/cpu/ends.hpp"
#include "fft/cpu/tile_line.hpp"
#include "ir/nest/builder.hpp"

namespace tessera::fft {

using ir::nest::integer;
using ir::nest::Lane;
using ir::nest::Type;
using ir::nest::Value;

namespace {

class TileWriter {
 public:
  TileWriter(const TilePlan& plan, ir::nest::Module& module, std::vector<ir::nest::Statement>& body)
      : plan_(plan),
        v_(plan.vector.lanes),
        point_(2 * v_),
        size_(ir::nest::size_of(plan.vector.lane)),
        blocks_(plan.columns / v_),
        out_(body),
        ends_(out_, plan.vector),
        down_(tile_column(plan), plan.vector, module, out_),
        across_(tile_row(plan), plan.vector, module, out_) {
    const Type number{plan.vector.lane, 1, true};
    spectrum_ = ir::nest::variable("spectrum", number);
    scratch_ = ir::nest::variable("scratch", number);
  }

  void write() {
    read_arguments();
    begin_energy();
    begin_least();
    if (plan_.rows == 1) {
      rows_alone();
      return end_found();
    }
    out_.comment("columns");
    columns();
    out_.comment("rows");
    groups_of_rows([&](const Value& number, const Value& rows) { group(number, rows); });
    out_.comment("columns back");
    columns_back();
    end_found();
  }

  void write_there() {
    ahead_ = out_.let("ahead", argument(4, "numbers") * size_);
    begin_energy();
    out_.comment("columns");
    columns();
    out_.comment("rows");
    groups_of_rows([&](const Value& number, const Value& rows) {
      group_in(number, rows);
      const std::size_t last = across_.passes() - 1;
      for (std::size_t i = 0; i < last; ++i)
        across_.in_place(i, Way::forward, line(), i == 0 ? next_rows(number) : Aside());
      across_.to_spectrum(line(), ir::nest::address(spectrum_, place_of_group(number)));
    });
    end_found();
  }

  void write_back() {
    read_arguments();
    begin_least();
    const Value volumes = argument(5, "volumes"), along = argument(6, "along"), second = argument(7, "second");
    const Value areas[2] = {scratch_, out_.let("area", ir::nest::address(scratch_, integer(tile_scratch(plan_))))};
    const auto in_area = [&](std::size_t s) { scratch_ = areas[s]; };
    out_.comment("rows");
    groups_of_rows([&](const Value& number, const Value& rows) {
      const Value place = place_of_group(number), first = out_.let("y", number * v_);
      const auto spectrum = [&](const Value& k) {
        const Value from = ir::nest::call("tsr_array", ir::nest::bytes_pointer,
                                          {ir::nest::variable("spectra", ir::nest::bytes_pointer), k});
        return out_.let("from", ir::nest::address(ir::nest::convert({plan_.vector.lane, 1, true}, from), place));
      };
      const auto weights = [&](const Value& k) {
        const Value all = ir::nest::variable("weights", {plan_.vector.lane, 1, true});
        return out_.let("by", ir::nest::address(all, k * tile_spectrum_size(plan_) + place));
      };
      Value lines[2];
      for (std::size_t s = 0; s < 2; ++s) in_area(s), lines[s] = line();
      across_.sums_of_products(lines, {volumes, along, spectrum, weights});
      for (std::size_t s = 0; s < 2; ++s) {
        in_area(s);
        for (std::size_t i = across_.passes() - 1; i-- > 0;)
          across_.in_place(i, Way::back, lines[s], [&](const Value& k) {
            if (i == 0 && s == 0)
              for (const Tile& t : tiles_) ask_output(t, first, k);
          });
        group_out(s == 0 ? rows : out_.let("rows", ir::nest::address(rows, integer(tile_scratch(plan_)))));
      }
      in_area(0);
    });
    out_.comment("columns back");
    columns_back();
    in_area(1);
    for (Tile& t : tiles_) {
      t.index += 2;
      t.rows = out_.let("rows", t.rows * second);
    }
    out_.branch(ir::nest::less(integer(0), second), [&] { columns_back(); });
    in_area(0);
    end_found();
  }

 private:
  struct Tile {
    i64 index;  // of the second plane of a stack 2 and 3
    Value rows = {}, columns = {};
    i64 part() const { return index % 2; }  // real or imaginary
  };
  using Aside = LineWriter::Aside;

  Value argument(i64 at, const char* name) {
    return out_.let(name, ir::nest::load(ir::nest::variable("n", {Lane::i64, 1, true}), integer(at), 1));
  }

  void read_arguments() {
    for (Tile& t : tiles_) {
      t.rows = argument(2 * t.index, "rows");
      t.columns = argument(2 * t.index + 1, "columns");
    }
    ahead_ = out_.let("ahead", argument(4, "numbers") * size_);
    const Value most = ir::nest::max(tiles_[0].columns, tiles_[1].columns);
    kept_ = out_.let("kept", (most + (v_ - 1)) / v_);
    const Value least = ir::nest::min(tiles_[0].columns, tiles_[1].columns);
    whole_ = out_.let("whole", least / v_);
  }

  // ---- what tells how far a tile's numbers lie apart, behind the rest of the scratch memory (tile.hpp) ----
  Value number(double v) const {
    return ir::nest::broadcast(ir::nest::real(v, {plan_.vector.lane, 1, false}), plan_.vector.lanes);
  }
  Value magnitude(const Value& v) { return out_.let("m", abs(v)); }
  // Of A and B by themselves: one chain of additions would be as long as all else that a pass does.
  void begin_energy() {
    for (Value& e : energy_) e = out_.var("energy", number(0));
  }
  void begin_least() {
    const double most = plan_.vector.lane == Lane::f64 ? std::numeric_limits<double>::max()
                                                       : static_cast<double>(std::numeric_limits<float>::max());
    for (Value& least : least_) least = out_.var("least", number(most));
  }
  void add_energy(i64 part, const Value& x) { out_.assign(energy_[part], ir::nest::fused(x, x, energy_[part])); }
  void take_least(i64 part, const Value& v) { out_.assign(least_[part], min(magnitude(v), least_[part])); }
  void end_found() {
    const i64 at = tile_scratch(plan_) - point_;
    if (energy_[0]) out_.store(scratch_, integer(at), energy_[0] + energy_[1]);
    if (least_[0]) out_.store(scratch_, integer(at + v_), min(least_[0], least_[1]));
  }

  // Of a table of pointers.
  Value bytes(const char* table, const Tile& t, const Value& y) const {
    return ir::nest::call("tsr_array", ir::nest::bytes_pointer,
                          {ir::nest::variable(table, ir::nest::bytes_pointer), y + t.index * tile_rows(plan_)});
  }
  Value row(const char* table, const Tile& t, const Value& y) const {
    return ir::nest::convert({plan_.vector.lane, 1, true}, bytes(table, t, y));
  }
  // A vector that is wanted later. Of its bytes the last one: the first may lie in a line with the vector before it.
  void ask(const char* table, const Tile& t, const Value& y, const Value& x) {
    out_.call("tsr_prefetch", {bytes(table, t, y), x * size_ + (v_ * size_ - 1)});
  }

  // Vector k of the results of V rows.
  void ask_output(const Tile& t, const Value& first, const Value& k) {
    const Value y = ir::nest::max(ir::nest::min(first + k / blocks_, t.rows - 1), integer(0));
    ask("out", t, out_.let("y", y), column(k % blocks_));
  }

  i64 block_numbers() const { return down_.line().points() * point_; }
  Value block(const Value& c) { return out_.let("block", ir::nest::address(scratch_, c * block_numbers())); }
  Value column(const Value& c) { return out_.let("x", c * v_); }

  template <class Body>
  void blocks(const Value& first, const Value& end, const Body& body) {
    out_.loop("c", first, end, integer(1), body);
  }

  // Rows of memory are read from left to right, a few of both tiles at a time, while the next few are asked for.
  void columns() {
    const Value zero = integer(0), end = integer(blocks_);
    Value at, x;
    down_.pass_over(
        [&](const auto& butterfly) {
          blocks(zero, end, [&](const Value& c) {
            at = block(c), x = column(c);
            butterfly();
          });
        },
        Way::forward,
        [&](const Legs& legs, i64 k) {
          Complex z;
          const Value next = ir::nest::min(legs.first + 1, integer(legs.step - 1)) + k * legs.step;
          for (const Tile& t : tiles_) {
            const Value from = out_.let("row", row("rows", t, legs.element(k)));
            (t.index == 0 ? z.re : z.im) = out_.let("x", ir::nest::load(from, x, plan_.vector.lanes));
            add_energy(t.index, t.index == 0 ? z.re : z.im);
            ask("rows", t, next, x);
          }
          return z;
        },
        [&](const Legs& legs, i64 k, const Complex& z) { ends_.store(End::points, at, legs.place(k), z, false); });
    blocks(zero, end, [&](const Value& c) {
      at = block(c);
      for (std::size_t i = 1; i < down_.passes(); ++i) down_.in_place(i, Way::forward, at);
    });
  }

  // Groups do not cross the gaps of a column.
  template <class Body>
  void groups_of_rows(const Body& body) {
    const Line& column = down_.line();
    const i64 part = column.gap == 0 ? column.n : column.first_step(), groups = part / v_;
    across_.repeat("q", column.n / part, [&](const Value& q) {
      across_.repeat("g", groups, [&](const Value& g) {
        const Value number = out_.let("group", q * groups + g);
        const Value place = q * ((part + column.gap) * point_) + g * (point_ * v_);
        body(number, out_.let("rows", ir::nest::address(scratch_, place)));
      });
    });
  }

  // Where a group is taken as rows of points, and where it stands in a spectrum.
  Value line() { return out_.let("line", ir::nest::address(scratch_, integer(blocks_ * block_numbers()))); }
  Value place_of_group(const Value& number) { return out_.let("h", number * (point_ * plan_.columns)); }

  // Memory that the next pair reads and that this one writes is asked for all along: requests in one place would wait
  // for each other.
  void ask_input(const Tile& t, const Value& number, const Value& k) {
    const Value at = out_.let("at", column(k % blocks_) * size_ + (v_ * size_ - 1));
    out_.call("tsr_prefetch", {bytes("rows", t, number * v_ + k / blocks_), at + ahead_});
  }
  Aside next_rows(const Value& number) {
    return [this, number](const Value& k) { ask_input(tiles_[1], number, k); };
  }
  void group_in(const Value& number, const Value& rows) {
    const Value to = line();
    squares(integer(0), integer(blocks_), [&](const Value& c, const Value& square, const Value& place) {
      turn(ir::nest::address(rows, square), ir::nest::address(to, place));
      for (i64 k = 0; k < v_; ++k) ask_input(tiles_[0], number, c * v_ + k);
    });
  }
  void group_out(const Value& rows) {
    const Value from = line();
    squares(integer(0), kept_, [&](const Value&, const Value& square, const Value& place) {
      turn(ir::nest::address(from, place), ir::nest::address(rows, square));
    });
  }
  void group(const Value& number, const Value& rows) {
    const Value spectrum = ir::nest::address(spectrum_, place_of_group(number));
    const Value first = out_.let("y", number * v_);
    group_in(number, rows);
    there_and_back(
        line(), spectrum, next_rows(number), [&](const Value& k) { ask_output(tiles_[0], first, k); },
        [&](const Value& k) { ask_output(tiles_[1], first, k); });
    group_out(rows);
  }

  // What is done aside in the first pass, with the product and in the last pass.
  void there_and_back(const Value& line, const Value& spectrum, const Aside& first, const Aside& product,
                      const Aside& end) {
    const std::size_t last = across_.passes() - 1;
    for (std::size_t i = 0; i < last; ++i) across_.in_place(i, Way::forward, line, i == 0 ? first : Aside());
    across_.product(line, spectrum, product);
    for (std::size_t i = last; i-- > 0;) across_.in_place(i, Way::back, line, i == 0 ? end : Aside());
  }

  // Rows without columns: one group, which comes from memory and goes there.
  void rows_alone() {
    const Value line = scratch_;
    const Value stage = out_.let("stage", ir::nest::address(scratch_, integer(across_.line().points() * point_)));
    squares(integer(0), integer(blocks_), [&](const Value& c, const Value&, const Value& place) {
      const Value x = column(c);
      for (const Tile& t : tiles_) {
        std::vector<Value> numbers;
        for (i64 k = 0; k < v_; ++k) {
          const Value from = out_.let("row", row("rows", t, integer(k)));
          numbers.push_back(out_.let("x", ir::nest::load(from, x, plan_.vector.lanes)));
          out_.call("tsr_prefetch", {bytes("rows", t, integer(k)), ahead_ + x * size_ + (v_ * size_ - 1)});
        }
        numbers = ends_.transposed(std::move(numbers));
        for (i64 k = 0; k < v_; ++k)
          out_.store(line, place + (k * point_ + t.index * v_), numbers[static_cast<std::size_t>(k)]);
        for (i64 k = 0; k < v_; k += plan_.grain) {
          Value most;
          for (i64 j = k; j < k + plan_.grain; ++j) {
            const Value& x = numbers[static_cast<std::size_t>(j)];
            add_energy(t.index, x);
            const Value m = magnitude(x);
            most = most ? out_.let("m", max(m, most)) : m;
          }
          take_least(t.index, most);
        }
      }
    });
    there_and_back(
        line, spectrum_, [](const Value&) {}, [&](const Value& k) { ask_output(tiles_[0], integer(0), k); },
        [&](const Value& k) { ask_output(tiles_[1], integer(0), k); });
    squares(integer(0), whole_, [&](const Value& c, const Value&, const Value& place) {
      const Value x = column(c);
      for (const Tile& t : tiles_) {
        const std::vector<Value> numbers = turned(ir::nest::address(line, place), t.index);
        for (i64 k = 0; k < v_; ++k)
          out_.branch(ir::nest::less(integer(k), t.rows),
                      [&] { out_.store(row("out", t, integer(k)), x, numbers[static_cast<std::size_t>(k)]); });
      }
    });
    squares(whole_, kept_, [&](const Value& c, const Value&, const Value& place) {
      turn(ir::nest::address(line, place), stage);
      copy(stage, column(c), [&](const Value& count, const auto& body) {
        out_.loop("k", integer(0), count, integer(1), [&](const Value& k) { body(k, k * point_); });
      });
    });
  }

  // For the squares of a group from left to right: where it lies in the blocks and where in the line of points.
  template <class Body>
  void squares(const Value& first, const Value& end, const Body& body) {
    const Line& line = across_.line();
    blocks(first, end, [&](const Value& c) {
      const Value gaps = line.gap == 0 ? integer(0) : c / (line.first_step() / v_) * line.gap;
      body(c, out_.let("square", c * block_numbers()), out_.let("place", (c * v_ + gaps) * point_));
    });
  }

  // A part of V points.
  std::vector<Value> turned(const Value& from, i64 part) {
    std::vector<Value> numbers;
    for (i64 k = 0; k < v_; ++k)
      numbers.push_back(out_.let("t", ir::nest::load(from, integer(k * point_ + part * v_), plan_.vector.lanes)));
    return ends_.transposed(std::move(numbers));
  }
  void turn(const Value& from, const Value& to) {
    for (i64 part = 0; part < 2; ++part) {
      const std::vector<Value> numbers = turned(from, part);
      for (i64 k = 0; k < v_; ++k)
        out_.store(to, integer(k * point_ + part * v_), numbers[static_cast<std::size_t>(k)]);
    }
  }

  // Blocks that both tiles want whole go to rows; what is wanted of others is copied.
  void columns_back() {
    blocks(integer(0), kept_, [&](const Value& c) {
      const Value at = block(c);
      for (std::size_t i = down_.passes(); i-- > 1;) down_.in_place(i, Way::back, at);
    });
    Value at, x;
    down_.pass_over(
        [&](const auto& butterfly) {
          blocks(integer(0), whole_, [&](const Value& c) {
            at = block(c), x = column(c);
            butterfly();
          });
        },
        Way::back, [&](const Legs& legs, i64 k) { return ends_.load(End::points, at, legs.place(k)); },
        [&](const Legs& legs, i64 k, const Complex& z) {
          const Value y = legs.element(k);
          for (const Tile& t : tiles_)
            out_.branch(ir::nest::less(y, t.rows), [&] {
              ask("out", t, ir::nest::min(y + 1, t.rows - 1), x);
              out_.store(row("out", t, y), x, t.part() == 0 ? z.re : z.im);
              take_least(t.part(), t.part() == 0 ? z.re : z.im);
            });
        });
    blocks(whole_, kept_, [&](const Value& c) {
      at = block(c);
      down_.in_place(0, Way::back, at);
      for (const Tile& t : tiles_)
        down_.each(t.rows, [&](const Value&, const Value& place) {
          take_least(t.part(), out_.let("z", ir::nest::load(at, place + t.part() * v_, plan_.vector.lanes)));
        });
      copy(at, column(c), [&](const Value& count, const auto& body) { down_.each(count, body); });
    });
  }

  // What is wanted of a block. `each` makes a loop over its first rows.
  template <class Each>
  void copy(const Value& at, const Value& x, const Each& each) {
    for (const Tile& t : tiles_)
      copy(t, at, x, each, out_.let("wanted", ir::nest::min(t.columns - x, integer(v_))), v_);
  }
  // Two vectors of `lanes`, the second one up to the end; fewer columns take narrower ones.
  template <class Each>
  void copy(const Tile& t, const Value& at, const Value& x, const Each& each, const Value& wanted, i64 lanes) {
    const auto rows = [&] {
      each(t.rows, [&](const Value& y, const Value& place) {
        const Value to = out_.let("to", row("out", t, y));
        for (const Value& begin : {integer(0), wanted - lanes}) {
          const Value number =
              out_.let("z", ir::nest::load(at, place + begin + t.part() * v_, static_cast<int>(lanes)));
          out_.store(to, x + begin, number);
        }
      });
    };
    out_.branch(at_most(integer(lanes), wanted), rows, [&] {
      if (lanes > 1) copy(t, at, x, each, wanted, lanes / 2);
    });
  }

  const TilePlan plan_;
  const i64 v_, point_, size_, blocks_;
  ir::nest::Builder out_;
  Ends ends_;
  LineWriter down_, across_;
  Tile tiles_[2] = {{.index = 0}, {.index = 1}};
  Value spectrum_, scratch_, ahead_, kept_, whole_;
  Value energy_[2], least_[2];
};

}  // namespace

std::string name_of(const TilePlan& plan) {
  const std::string name = "fft_tile_" + std::to_string(plan.rows) + "x" + std::to_string(plan.columns);
  return plan.rows == 1 ? name + "_" + std::to_string(plan.grain) : name;
}

i64 tile_rows(const TilePlan& plan) {
  return plan.rows == 1 ? plan.vector.lanes : plan.rows;
}

i64 tile_scratch(const TilePlan& plan) {
  const i64 v = plan.vector.lanes, blocks = plan.rows == 1 ? v : plan.columns / v * tile_column(plan).points();
  return (blocks + tile_row(plan).points() + 1) * 2 * v;
}

i64 tile_spectrum_size(const TilePlan& plan) {
  return 2 * tile_rows(plan) * plan.columns;
}

namespace {

ir::nest::Function function_of(const TilePlan& plan, std::string name, const std::string& does) {
  ir::nest::Function f;
  f.name = std::move(name);
  f.essay = "two tiles of " + std::to_string(plan.rows) + " x " + std::to_string(plan.columns) + " points " + does;
  return f;
}

}  // namespace

void add_tile(ir::nest::Module& module, const TilePlan& plan, const std::string& name) {
  ir::nest::Function f = function_of(plan, name, "through a Fourier transform, the product with a spectrum, and back");
  const Type number{plan.vector.lane, 1, true};
  f.parameters = {{"rows", ir::nest::bytes_pointer, false, true},
                  {"out", ir::nest::bytes_pointer, false, true},
                  {"spectrum", number, true},
                  {"scratch", number},
                  {"n", {Lane::i64, 1, true}, true}};
  TileWriter(plan, module, f.body).write();
  module.functions.push_back(std::move(f));
}

void add_stack(ir::nest::Module& module, const TilePlan& plan, const std::string& name) {
  const Type number{plan.vector.lane, 1, true};
  ir::nest::Function there = function_of(plan, name + "_there", "to their spectrum");
  there.parameters = {{"rows", ir::nest::bytes_pointer, false, true},
                      {"spectrum", number},
                      {"scratch", number},
                      {"n", {Lane::i64, 1, true}, true}};
  TileWriter(plan, module, there.body).write_there();
  module.functions.push_back(std::move(there));
  ir::nest::Function back = function_of(plan, name + "_back", "from a sum of products of spectra");
  back.parameters = {{"spectra", ir::nest::bytes_pointer, false, true},
                     {"out", ir::nest::bytes_pointer, false, true},
                     {"weights", number, true},
                     {"scratch", number},
                     {"n", {Lane::i64, 1, true}, true}};
  TileWriter(plan, module, back.body).write_back();
  module.functions.push_back(std::move(back));
}

}  // namespace tessera::fft
