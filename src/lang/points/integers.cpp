// Functions of integers that are made of simpler operations, which every target has.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "lang/functions.hpp"
#include "lang/points/points.hpp"

namespace tessera::lang {

namespace {

using ir::ExprId;
using ir::Graph;
using ir::Op;

int bits_of(ElementType type) {
  return type == ElementType::boolean ? 1 : static_cast<int>(size_of(type)) * 8;
}

// Words of 32 bits.
class Words {
 public:
  explicit Words(Graph& graph) : graph_(graph) {}

  ExprId number(double value) const { return ir::constant(graph_, ElementType::u32, value); }
  ExprId both(ExprId a, ExprId b) const { return ir::binary(graph_, Op::bit_and, a, b); }
  ExprId either(ExprId a, ExprId b) const { return ir::binary(graph_, Op::bit_or, a, b); }
  ExprId plus(ExprId a, ExprId b) const { return ir::binary(graph_, Op::add, a, b); }
  ExprId minus(ExprId a, ExprId b) const { return ir::binary(graph_, Op::sub, a, b); }
  ExprId times(ExprId a, ExprId b) const { return ir::binary(graph_, Op::mul, a, b); }
  ExprId right(ExprId a, int by) const {
    return ir::binary(graph_, Op::shr, a, ir::constant(graph_, ElementType::i32, by));
  }
  // The bits of an integer, zeros before them.
  ExprId word(const Scalar& s) const {
    ElementType type = s.type;
    if (type == ElementType::i16) type = ElementType::u16;
    return ir::convert(graph_, ElementType::u32, ir::convert(graph_, type, s.e));
  }

  // Sums of neighbouring pairs, fours and eights of bits, then of the bytes.
  ExprId ones(ExprId x) const {
    x = minus(x, both(right(x, 1), number(0x55555555)));
    x = plus(both(x, number(0x33333333)), both(right(x, 2), number(0x33333333)));
    x = both(plus(x, right(x, 4)), number(0x0f0f0f0f));
    return right(times(x, number(0x01010101)), 24);
  }
  // All bits below the highest one.
  ExprId filled(ExprId x) const {
    for (const int by : {1, 2, 4, 8, 16}) x = either(x, right(x, by));
    return x;
  }
  // The upper word of a product, by halves: no sum leaves its word.
  ExprId high(ExprId a, ExprId b) const {
    const ExprId mask = number(0xffff);
    const ExprId a0 = both(a, mask), a1 = right(a, 16), b0 = both(b, mask), b1 = right(b, 16);
    const ExprId upper = plus(times(a1, b0), right(times(a0, b0), 16));
    const ExprId lower = plus(times(a0, b1), both(upper, mask));
    return plus(plus(times(a1, b1), right(upper, 16)), right(lower, 16));
  }

 private:
  Graph& graph_;
};

}  // namespace

std::optional<Scalar> PointEvaluator::integer_function(const Expr& e) {
  const IntegerFunction* f = find_integer_function(e.name.text);
  if (f == nullptr) return std::nullopt;
  const auto wanted = static_cast<std::size_t>(f->arity);
  if (e.arguments.size() != wanted)
    context_.report.fail(e.span, fmt::format("{} takes {} argument{}, {} given", base::quoted(e.name.text), wanted,
                                             wanted == 1 ? "" : "s", e.arguments.size()));
  std::vector<Scalar> args;
  for (const CallArgument& a : e.arguments) {
    args.push_back(scalar(*a.value));
    want_integer(a.value->span, args.back(), fmt::format("the argument of '{}'", f->name));
  }
  const Words words(graph_);
  const Scalar a = args.front();
  if (f->arity == 1) {
    const ExprId x = words.word(a);
    const ExprId count = f->kind == IntegerFunction::popcount
                             ? words.ones(x)
                             : words.minus(words.number(bits_of(a.type)), words.ones(words.filled(x)));
    return made(e.span, ir::convert(graph_, ElementType::i32, count), ElementType::i32);
  }
  const Scalar b = args.back();
  const ElementType type = a.type == b.type ? a.type : ir::promote(a.type, b.type);
  const Scalar x{converted(a, type), type}, y{converted(b, type), type};
  const bool narrow = bits_of(type) < 32;
  if (f->kind == IntegerFunction::mulhi && narrow) {
    const ElementType wide = type == ElementType::u16 ? ElementType::u32 : ElementType::i32;
    const ExprId product = words.times(converted(x, wide), converted(y, wide));
    return made(e.span, ir::convert(graph_, type, words.right(product, bits_of(type))), type);
  }
  if (f->kind == IntegerFunction::mulhi) {
    ExprId high = words.high(words.word(x), words.word(y));
    if (type == ElementType::i32) {
      // A negative factor is the word less 2^32: the other one less in the upper word.
      const ExprId zero = ir::constant(graph_, type, 0);
      const auto where_negative = [&](const Scalar& factor, const Scalar& other) {
        return ir::select(graph_, ir::binary(graph_, Op::lt, factor.e, zero), other.e, zero);
      };
      high = ir::convert(graph_, type, high);
      high = words.minus(words.minus(high, where_negative(x, y)), where_negative(y, x));
    }
    return made(e.span, high, type);
  }
  const bool up = f->kind == IntegerFunction::rhadd;
  if (narrow) {
    ExprId sum = words.plus(converted(x, ElementType::i32), converted(y, ElementType::i32));
    if (up) sum = words.plus(sum, ir::constant(graph_, ElementType::i32, 1));
    return made(e.span, ir::convert(graph_, type, words.right(sum, 1)), type);
  }
  // The bits that both have, and half of those that one has.
  const ExprId half = words.right(ir::binary(graph_, Op::bit_xor, x.e, y.e), 1);
  const ExprId mean = up ? words.minus(words.either(x.e, y.e), half) : words.plus(words.both(x.e, y.e), half);
  return made(e.span, mean, type);
}

}  // namespace tessera::lang
