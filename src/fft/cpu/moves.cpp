// See moves.hpp.
#include "fft/cpu/moves.hpp"

#include "fft/cpu/ends.hpp"
#include "ir/nest/builder.hpp"

namespace tessera::fft {

using ir::nest::choose;
using ir::nest::integer;
using ir::nest::Lane;
using ir::nest::Type;
using ir::nest::Value;

std::string name_of(Move m) {
  switch (m) {
    case Move::rows_in:
      return "fft_rows_in";
    case Move::rows_out:
      return "fft_rows_out";
    case Move::blocks_out:
      return "fft_blocks_out";
    case Move::blocks_out_far:
      return "fft_blocks_out_far";
    case Move::real_rows_in:
      return "fft_real_rows_in";
    case Move::real_rows_out:
      return "fft_real_rows_out";
    case Move::halves_out:
      return "fft_halves_out";
    case Move::halves_out_far:
      return "fft_halves_out_far";
    case Move::half_rows_out:
      return "fft_half_rows_out";
    case Move::halves_in:
      return "fft_halves_in";
    case Move::half_rows_in:
      return "fft_half_rows_in";
    case Move::lane_twiddles:
      return "fft_lane_twiddles";
  }
  return "";
}

namespace {

// Ahead in every row: 16 or 32 rows at once are more than the machine's own prefetching follows.
constexpr i64 prefetch_bytes = 512;

bool reads_rows(Move m) {
  return m == Move::rows_in || m == Move::real_rows_in || m == Move::halves_in || m == Move::half_rows_in;
}

class MoveWriter {
 public:
  MoveWriter(Move move, Type vector, std::vector<ir::nest::Statement>& body)
      : move_(move), vector_(vector), v_(vector.lanes), out_(body), ends_(out_, vector), butterfly_(out_, vector) {
    points_ = ir::nest::variable("points", {vector.lane, 1, true});
    scale_ = ir::nest::variable("scale", {vector.lane, 1, true});
  }

  void write() {
    const Value n = ir::nest::variable("n", {Lane::i64, 1, true});
    count_ = out_.let("count", ir::nest::load(n, integer(0), 1));
    re_at_ = out_.let("re_at", ir::nest::load(n, integer(1), 1));
    im_at_ = out_.let("im_at", integer(v_) - re_at_);
    pitch_ = out_.let("pitch", ir::nest::load(n, integer(2), 1));
    length_ = out_.let("length", ir::nest::load(n, integer(3), 1));
    if (move_ == Move::lane_twiddles) return lane_twiddles();
    if (reads_rows(move_))
      factor_ = out_.let("factor", ir::nest::broadcast(ir::nest::load(scale_, integer(0), 1), vector_.lanes));
    if (move_ == Move::halves_in || move_ == Move::half_rows_in) stage_ = out_.array("stage", vector_, 4 * v_);
    const bool pairs = move_ == Move::rows_in || move_ == Move::rows_out;
    const i64 step = pairs ? v_ / 2 : v_;
    out_.loop("c", integer(0), count_, integer(step), [&](const Value& c) {
      const Value at = out_.let("at", ir::nest::min(c, count_ - step));
      const Value block = out_.let("block", c / v_ * pitch_);
      square(at, block);
    });
  }

 private:
  void square(const Value& at, const Value& block) {
    switch (move_) {
      case Move::rows_in: {
        const std::vector<Value> numbers = ends_.transposed(from_rows(1, 0, at * 2));
        for (i64 k = 0; k < v_; ++k)
          out_.store(points_, (at + k / 2) * (2 * v_) + (k % 2 == 0 ? re_at_ : im_at_), numbers[index(k)]);
        return;
      }
      case Move::rows_out: {
        std::vector<Value> numbers;
        for (i64 k = 0; k < v_; ++k) numbers.push_back(point(at + k / 2, k % 2 == 0 ? re_at_ : im_at_));
        return to_rows(ends_.transposed(numbers), 1, 0, at * 2, false);
      }
      case Move::blocks_out:
      case Move::blocks_out_far:
        for (i64 part = 0; part < 2; ++part) {
          std::vector<Value> numbers;
          // As they are: points of an inverse keep the imaginary part first.
          for (i64 k = 0; k < v_; ++k) numbers.push_back(point(at + k, integer(part * v_)));
          to_rows(ends_.transposed(numbers), 1, 0, block + part * v_, move_ == Move::blocks_out_far);
        }
        return;
      case Move::real_rows_in:
        for (i64 part = 0; part < 2; ++part) {
          const std::vector<Value> numbers = ends_.transposed(from_rows(2, part, at));
          for (i64 k = 0; k < v_; ++k)
            out_.store(points_, (at + k) * (2 * v_) + (part == 0 ? re_at_ : im_at_), numbers[index(k)]);
        }
        return;
      case Move::real_rows_out:
        for (i64 part = 0; part < 2; ++part) {
          std::vector<Value> numbers;
          for (i64 k = 0; k < v_; ++k) numbers.push_back(point(at + k, part == 0 ? re_at_ : im_at_));
          to_rows(ends_.transposed(numbers), 2, part, at, false);
        }
        return;
      case Move::halves_out:
      case Move::halves_out_far:
      case Move::half_rows_out:
        return halves_out(at, block);
      case Move::halves_in:
      case Move::half_rows_in:
        return halves_in(at, block);
      case Move::lane_twiddles:
        return;
    }
  }

  // Of Z = A + i B with A and B spectra of real rows and M the point of the mirrored frequency: A = (Z + conj M) / 2,
  // B = (Z - conj M) / 2i; the halves stand in the scale of what was read.
  void halves_out(const Value& at, const Value& block) {
    std::vector<Value> mirrored;
    for (i64 k = 0; k < v_; ++k) {
      const Value here = out_.let("k", at + k);
      const Value zero = equal(here, 0);
      mirrored.push_back(out_.let("m", ir::nest::max(choose(zero, integer(0), length_ - here), integer(0))));
    }
    std::vector<Value> parts[2];
    for (i64 row = 0; row < 2; ++row) {
      for (i64 part = 0; part < 2; ++part) {
        std::vector<Value> numbers;
        for (i64 k = 0; k < v_; ++k) {
          // A: re + re, im - im of the mirrored; B: im + im, re of the mirrored - re.
          const Value& place = (row == 0) == (part == 0) ? re_at_ : im_at_;
          const Value z = point(at + k, place), m = point(mirrored[index(k)], place);
          numbers.push_back(part == 0 ? butterfly_.add(z, m) : row == 0 ? butterfly_.sub(z, m) : butterfly_.sub(m, z));
        }
        if (move_ != Move::half_rows_out)
          to_rows(ends_.transposed(numbers), 2, row, block + part * v_, move_ == Move::halves_out_far);
        else
          parts[part] = std::move(numbers);
      }
      if (move_ != Move::half_rows_out) continue;
      for (i64 half = 0; half < 2; ++half) {
        std::vector<Value> numbers;
        for (i64 k = 0; k < v_; ++k) numbers.push_back(parts[k % 2][index(half * v_ / 2 + k / 2)]);
        to_rows(ends_.transposed(numbers), 2, row, (at + half * v_ / 2) * 2, false);
      }
    }
  }

  // Z = A + i B, and conj A + i conj B at the mirrored frequency.
  void halves_in(const Value& at, const Value& block) {
    for (i64 row = 0; row < 2; ++row)
      for (i64 part = 0; part < 2; ++part) {
        if (move_ == Move::halves_in) {
          const std::vector<Value> numbers = ends_.transposed(from_rows(2, row, block + (part == 0 ? re_at_ : im_at_)));
          for (i64 k = 0; k < v_; ++k) out_.assign_element(stage_, integer(4 * k + 2 * row + part), numbers[index(k)]);
        } else {
          const std::vector<Value> numbers = ends_.transposed(from_rows(2, row, (at + part * v_ / 2) * 2));
          for (i64 k = 0; k < v_; ++k)
            out_.assign_element(stage_, integer(4 * (k / 2 + part * v_ / 2) + 2 * row + k % 2), numbers[index(k)]);
        }
      }
    out_.loop("k", integer(0), integer(v_), integer(1), [&](const Value& k) {
      std::vector<Value> parts;
      for (i64 part = 0; part < 4; ++part)
        parts.push_back(out_.let("x", ir::nest::call("tsr_at", vector_, {stage_, k * 4 + part})));
      const Value here = out_.let("here", at + k);
      const Value middle = equal(here * 2, length_);
      const Value there = out_.let("there", choose(middle, length_ + 1, length_ - here));
      const Value &are = parts[0], &aim = parts[1], &bre = parts[2], &bim = parts[3];
      // Blocks with the imaginary part first belong to an inverse: so are the points.
      const Value to_re = out_.let("to", here * (2 * v_) + re_at_), to_im = out_.let("to", here * (2 * v_) + im_at_);
      out_.store(points_, to_re, butterfly_.sub(are, bim));
      out_.store(points_, to_im, butterfly_.add(aim, bre));
      out_.store(points_, there * (2 * v_) + re_at_, butterfly_.add(are, bim));
      out_.store(points_, there * (2 * v_) + im_at_, butterfly_.sub(bre, aim));
    });
  }

  void lane_twiddles() {
    const Value turns = out_.let("turns", ir::nest::convert({vector_.lane, 1, true}, pitch_));
    out_.loop("k", integer(0), count_, integer(1), [&](const Value& k) {
      const Value at = out_.let("at", k * (2 * v_));
      const Complex turn = {out_.let("w", ir::nest::broadcast(ir::nest::load(turns, k * 2, 1), vector_.lanes)),
                            out_.let("w", ir::nest::broadcast(ir::nest::load(turns, k * 2 + 1, 1), vector_.lanes))};
      const Complex w = butterfly_.times(ends_.load(End::points, scale_, at), turn);
      ends_.store(End::points, points_, at, butterfly_.times(ends_.load(End::points, points_, at), w), false);
    });
  }

  static std::size_t index(i64 k) { return static_cast<std::size_t>(k); }
  Value point(const Value& k, const Value& part) {
    return out_.let("x", ir::nest::load(points_, k * (2 * v_) + part, vector_.lanes));
  }
  Value row(i64 which) {
    const Value rows = ir::nest::variable("rows", ir::nest::bytes_pointer);
    const Value bytes = ir::nest::call("tsr_array", ir::nest::bytes_pointer, {rows, integer(which)});
    return out_.let("row", ir::nest::convert({vector_.lane, 1, true}, bytes));
  }
  // A vector of every row `first`, `first + step` ...
  std::vector<Value> from_rows(i64 step, i64 first, const Value& at) {
    std::vector<Value> numbers;
    for (i64 k = 0; k < v_; ++k) {
      const Value from = row(k * step + first);
      numbers.push_back(butterfly_.mul(ir::nest::load(from, at, vector_.lanes), factor_));
      out_.call("tsr_prefetch",
                {ir::nest::convert(ir::nest::bytes_pointer, ir::nest::address(from, at)), integer(prefetch_bytes)});
    }
    return numbers;
  }
  void to_rows(const std::vector<Value>& numbers, i64 step, i64 first, const Value& at, bool far) {
    for (i64 k = 0; k < v_; ++k) out_.store(row(k * step + first), at, numbers[index(k)], far);
  }

  const Move move_;
  const Type vector_;
  const i64 v_;
  ir::nest::Builder out_;
  Ends ends_;
  Butterfly butterfly_;
  Value points_, scale_, count_, re_at_, im_at_, pitch_, length_, factor_, stage_;
};

}  // namespace

ir::nest::Module move_module(Move move, Type vector) {
  ir::nest::Function f;
  f.name = name_of(move);
  const Type number{vector.lane, 1, true};
  const ir::nest::Function::Parameter points{"points", number}, rows{"rows", ir::nest::bytes_pointer, false, true};
  if (reads_rows(move))
    f.parameters = {rows, points};
  else
    f.parameters = {points, rows};
  f.parameters.push_back({"scale", number});
  f.parameters.push_back({"n", {Lane::i64, 1, true}, true});
  MoveWriter(move, vector, f.body).write();
  ir::nest::Module module;
  module.functions.push_back(std::move(f));
  return module;
}

}  // namespace tessera::fft
