// Totals of images that come in parts: the bits of programs that have the whole image.
#include "engine/passes/total.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <span>
#include <string>
#include <utility>

#include "data/element.hpp"
#include "tessera/program.hpp"

namespace tessera {
namespace {

using engine::PartOfTotal;
using ir::Op;
using E = ElementType;

constexpr std::pair<Op, const char*> kinds[] = {
    {Op::whole_sum, "sum"}, {Op::whole_mean, "mean"}, {Op::whole_min, "min"}, {Op::whole_max, "max"}};
constexpr std::pair<E, const char*> types[] = {{E::u8, "uint8"},  {E::i16, "int16"},  {E::u16, "uint16"},
                                               {E::i32, "int"},   {E::u32, "uint32"}, {E::f32, "float"},
                                               {E::f64, "double"}};

// Floats with zeros of both signs, NaNs and infinities now and then.
Array random_list(E type, i64 count, std::mt19937& random, bool odd) {
  const Array list(type, {count});
  std::normal_distribution<double> normal(0, 1000);
  for (i64 k = 0; k < count; ++k) {
    double value = std::floor(normal(random));
    if (is_float(type)) value = normal(random);
    if (type == E::u8) value = static_cast<double>(random() % 256);
    if (type == E::u16 || type == E::u32) value = std::abs(value);
    if (odd && random() % 50 == 0) value = random() % 2 == 0 ? 0.0 : -0.0;
    if (odd && random() % 1000 == 0) value = std::numeric_limits<double>::quiet_NaN();
    store_element(type, list.as<std::byte>() + k * static_cast<i64>(size_of(type)),
                  type == E::f32 ? static_cast<float>(value) : value);
  }
  return list;
}

// The result of a program, of one element.
Array of_program(const char* kind, const char* type, const Array& list) {
  static std::map<std::string, Program> known;
  const std::string text = std::string("parameter N; vector#1 ") + type + " a[N]; return " + kind + "(a);";
  if (!known.contains(text)) known.emplace(text, Program::from_text(text));
  return known.at(text).run({list})[0];
}

// As a program stores it.
double stored(double value, E type) {
  const Array one(type, {1});
  store_element(type, one.as<std::byte>(), value);
  return load_element(type, one.as<std::byte>());
}

void expect_same(double a, double b, const std::string& what) {
  EXPECT_TRUE((std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b)))
      << what << ": " << a << ", expected " << b;
}

TEST(Totals, OfPartsHaveTheBitsOfTheWhole) {
  std::mt19937 random(7);
  for (const i64 count : {1, 63, 64, 65, 4095, 4096, 4097, 8192, 20000, 300000}) {
    for (const auto& [type, type_name] : types) {
      const bool odd = is_float(type) && count % 2 == 1;
      const Array list = random_list(type, count, random, odd);
      for (const auto& [op, name] : kinds) {
        const Array whole = of_program(name, type_name, list);
        const double expected = load_element(whole.format().scalar, whole.as<std::byte>());
        const std::string what = std::string(name) + " of " + type_name + ", " + std::to_string(count);
        // In one share, and in any shares of several processes.
        for (const i64 longest : {count, i64{900}, i64{30000}}) {
          std::vector<std::vector<std::byte>> parts;
          for (i64 begin = 0, end = 0; begin < count; begin = end) {
            end = longest == count ? count : std::min<i64>(count, begin + 1 + static_cast<i64>(random() % longest));
            PartOfTotal part(op, type, begin, end);
            for (i64 at = begin, next = 0; at < end; at = next) {
              next = std::min<i64>(end, at + 1 + static_cast<i64>(random() % 9000));
              part.add(list.region(std::vector<i64>{at}, std::vector<i64>{next}));
              if (random() % 4 != 0) continue;
              // Another run goes on with it.
              PartOfTotal another(op, type, begin, end);
              ASSERT_TRUE(another.restore(part.state()));
              std::swap(part, another);
            }
            parts.push_back(part.bytes());
          }
          expect_same(stored(PartOfTotal::value(op, type, parts), whole.format().scalar), expected, what);
        }
      }
    }
  }
}

TEST(PartOfTotal, GoesOnWithItsOwnStateAlone) {
  std::mt19937 random(3);
  PartOfTotal part(Op::whole_sum, E::f32, 100, 90'000);
  part.add(random_list(E::f32, 70'001, random, false));
  const std::vector<std::byte> state = part.state();
  EXPECT_FALSE(PartOfTotal(Op::whole_sum, E::f32, 100, 90'001).restore(state));
  EXPECT_FALSE(PartOfTotal(Op::whole_sum, E::f32, 0, 90'000).restore(state));
  for (std::size_t n = 0; n < state.size(); n += n < 4000 ? 1 : 997) {
    PartOfTotal another(Op::whole_sum, E::f32, 100, 90'000);
    EXPECT_FALSE(another.restore(std::span(state).first(n))) << n;
    EXPECT_EQ(another.state(), PartOfTotal(Op::whole_sum, E::f32, 100, 90'000).state());
  }
  PartOfTotal another(Op::whole_sum, E::f32, 100, 90'000);
  EXPECT_TRUE(another.restore(state));
  EXPECT_EQ(another.state(), state);
}

}  // namespace
}  // namespace tessera
