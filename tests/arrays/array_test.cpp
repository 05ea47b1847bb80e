// Arrays: layouts, views, copies, and every way of asking for the impossible.
#include "tessera/array.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>

#include "tessera/error.hpp"

namespace tessera {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(e.error_class(), ErrorClass::argument);
    return e.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

// 0, 1, 2, ... in C order.
Array counting(Shape shape) {
  std::vector<std::int32_t> values(static_cast<std::size_t>(element_count(shape)));
  std::iota(values.begin(), values.end(), 0);
  return Array::from<std::int32_t>(values, std::move(shape));
}

std::vector<std::int32_t> values_of(const Array& a) {
  const Array flat = a.clone();
  return {flat.as<std::int32_t>(), flat.as<std::int32_t>() + flat.count()};
}

TEST(Format, sizes_and_names) {
  EXPECT_EQ(size_of(ElementType::boolean), 1u);
  EXPECT_EQ(size_of(ElementType::f16), 2u);
  EXPECT_EQ(size_of(ElementType::f64), 8u);
  EXPECT_EQ(name_of(ElementType::u16), "uint16");
  EXPECT_TRUE(is_float(ElementType::f16));
  EXPECT_FALSE(is_float(ElementType::u32));
  EXPECT_EQ(Format(ElementType::f32).name(), "float");
}

TEST(Format, lays_structs_out_as_c_does) {
  struct Mixed {
    std::uint8_t a;
    double b;
    std::int16_t c;
    std::uint8_t d;
  };
  const Format f = Format::record(
      "mixed", {{"a", ElementType::u8}, {"b", ElementType::f64}, {"c", ElementType::i16}, {"d", ElementType::u8}});
  EXPECT_EQ(f.size(), sizeof(Mixed));
  EXPECT_EQ(f.fields[1].offset, offsetof(Mixed, b));
  EXPECT_EQ(f.fields[2].offset, offsetof(Mixed, c));
  EXPECT_EQ(f.fields[3].offset, offsetof(Mixed, d));
  EXPECT_EQ(f.name(), "struct mixed");
  EXPECT_EQ(Format::record("rgb", {{"r", ElementType::u8}, {"g", ElementType::u8}, {"b", ElementType::u8}}).size(), 3u);
}

TEST(Shape, counts_with_care) {
  EXPECT_EQ(to_string(Shape{480, 640}), "480x640");
  EXPECT_EQ(to_string(Shape{}), "scalar");
  EXPECT_EQ(element_count({}), 1);
  EXPECT_EQ(element_count({3, 0, i64{1} << 62, 8}), 0);
  EXPECT_EQ(element_count({i64{1} << 31, i64{1} << 31}), i64{1} << 62);
  EXPECT_THAT(message_of([] { element_count({i64{1} << 32, i64{1} << 31}); }), HasSubstr("does not fit 63 bits"));
  EXPECT_THAT(message_of([] { element_count({2, -1}); }), HasSubstr("must not be negative, got 2x-1"));
}

TEST(Array, owns_zeroed_aligned_memory) {
  for (const i64 n : {1, 7, 1000, 3000000}) {
    const Array a(ElementType::f32, {n});
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.data()) % 64, 0u);
    EXPECT_EQ(std::accumulate(a.as<float>(), a.as<float>() + n, 0.0f), 0.0f);
    EXPECT_TRUE(a.contiguous());
    a.as<float>()[n - 1] = 1;
  }
  EXPECT_TRUE(Array().empty());
  EXPECT_FALSE(Array(ElementType::u8, {0}).empty());
  EXPECT_EQ(Array(ElementType::u8, {}).count(), 1);
}

TEST(Array, large_ones_begin_at_different_places_of_a_page) {
  std::vector<Array> arrays;
  for (int i = 0; i < 8; ++i) {
    arrays.emplace_back(ElementType::f32, Shape{256, 1024});
    for (int k = 0; k < i; ++k) {
      const auto a = reinterpret_cast<std::uintptr_t>(arrays[static_cast<std::size_t>(k)].data());
      const std::uintptr_t apart = (reinterpret_cast<std::uintptr_t>(arrays.back().data()) - a) % 4096;
      EXPECT_GE(std::min(apart, 4096 - apart), 512u) << k << " and " << i;
    }
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arrays.back().data()) % 64, 0u);
  }
}

TEST(Array, refuses_what_memory_cannot_hold) {
  EXPECT_THAT(message_of([] { Array(ElementType::u8, {-1}); }), HasSubstr("must not be negative"));
  EXPECT_THAT(message_of([] { Array(ElementType::f64, {i64{1} << 61}); }), HasSubstr("does not fit in memory"));
  EXPECT_THAT(message_of([] { Array(ElementType::u8, {i64{1} << 60}); }),
              AnyOf(HasSubstr("of memory are left"), HasSubstr("no memory for an array of")));
}

TEST(Array, copies_share) {
  const Array a(ElementType::u8, {4});
  const Array b = a;
  b.as<std::uint8_t>()[2] = 9;
  EXPECT_EQ(a.as<std::uint8_t>()[2], 9);
  EXPECT_EQ(a.owner(), b.owner());
  const Array c = a.clone();
  c.as<std::uint8_t>()[2] = 1;
  EXPECT_EQ(a.as<std::uint8_t>()[2], 9);
}

TEST(Array, shares_memory_of_others) {
  auto vector = std::make_shared<std::vector<std::int32_t>>(6, 5);
  std::weak_ptr<std::vector<std::int32_t>> watch = vector;
  {
    const Array a = Array::share(vector, vector->data(), ElementType::i32, {2, 3});
    vector.reset();
    const Array row = a.region(std::vector<i64>{1, 0}, std::vector<i64>{2, 3});
    EXPECT_FALSE(watch.expired());
    EXPECT_THAT(values_of(row), ElementsAre(5, 5, 5));
  }
  EXPECT_TRUE(watch.expired());
}

TEST(Array, checks_what_is_borrowed) {
  std::int32_t x = 3;
  EXPECT_THAT(message_of([&] { Array::borrow(&x, ElementType::i32, {1, 1}, {4}); }),
              HasSubstr("needs 2 strides, got 1"));
  EXPECT_THAT(message_of([&] { Array::borrow(nullptr, ElementType::i32, {1}); }), HasSubstr("null pointer"));
  EXPECT_EQ(Array::borrow(nullptr, ElementType::i32, {0}).count(), 0);
  EXPECT_FALSE(Array::borrow(&x, ElementType::i32, {}).owner());
}

TEST(Array, borrows_any_strides) {
  std::int32_t values[6] = {0, 1, 2, 3, 4, 5};
  EXPECT_THAT(values_of(Array::borrow(values, ElementType::i32, {3, 2}, {4, 12})), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(values_of(Array::borrow(values + 5, ElementType::i32, {6}, {-4})), ElementsAre(5, 4, 3, 2, 1, 0));
  EXPECT_THAT(values_of(Array::borrow(values + 2, ElementType::i32, {2, 2}, {0, 4})), ElementsAre(2, 3, 2, 3));
  EXPECT_FALSE(Array::borrow(values, ElementType::i32, {3, 2}, {4, 12}).contiguous());
  EXPECT_TRUE(Array::borrow(values, ElementType::i32, {1, 3}, {-77, 4}).contiguous());  // one row: its stride is moot
}

TEST(Array, addresses_elements) {
  const Array a = counting({2, 3, 4});
  EXPECT_EQ(*reinterpret_cast<std::int32_t*>(a.at(std::vector<i64>{1, 2, 3})), 23);
  EXPECT_THAT(message_of([&] { a.at(std::vector<i64>{1, 3, 0}); }),
              HasSubstr("index (1, 3, 0) is outside the array of 2x3x4"));
  EXPECT_THAT(message_of([&] { a.at(std::vector<i64>{0, 0, -1}); }), HasSubstr("outside"));
  EXPECT_THAT(message_of([&] { a.at(std::vector<i64>{0}); }), HasSubstr("indexed by 3 numbers, got 1"));
}

TEST(Array, views_regions) {
  const Array a = counting({4, 5});
  const Array view = a.region(std::vector<i64>{1, 2}, std::vector<i64>{3, 5});
  EXPECT_THAT(values_of(view), ElementsAre(7, 8, 9, 12, 13, 14));
  EXPECT_FALSE(view.contiguous());
  *reinterpret_cast<std::int32_t*>(view.at(std::vector<i64>{0, 0})) = -1;
  EXPECT_EQ(a.as<std::int32_t>()[7], -1);
  EXPECT_EQ(a.region(std::vector<i64>{4, 5}, std::vector<i64>{4, 5}).count(), 0);
  EXPECT_THAT(message_of([&] { a.region(std::vector<i64>{0, 0}, std::vector<i64>{5, 5}); }),
              HasSubstr("region (0, 0) to (5, 5) does not lie inside the array of 4x5"));
  EXPECT_THAT(message_of([&] { a.region(std::vector<i64>{2, 0}, std::vector<i64>{1, 5}); }), HasSubstr("does not lie"));
  EXPECT_THAT(message_of([&] { a.region(std::vector<i64>{0}, std::vector<i64>{1}); }), HasSubstr("needs 2 bounds"));
}

TEST(Array, views_fields) {
  const Format rgb = Format::record("rgb", {{"r", ElementType::u8}, {"g", ElementType::u8}, {"b", ElementType::u8}});
  const Array a(rgb, {2, 2});
  for (int i = 0; i < 12; ++i) a.as<std::uint8_t>()[i] = static_cast<std::uint8_t>(i);
  const Array g = a.field("g");
  EXPECT_EQ(g.format(), Format(ElementType::u8));
  EXPECT_EQ(std::to_integer<int>(*g.at(std::vector<i64>{1, 1})), 10);
  EXPECT_THAT(message_of([&] { a.field("green"); }),
              HasSubstr("struct rgb has no field 'green'\nnote: its fields are r, g and b"));
  EXPECT_THAT(message_of([&] { g.field("x"); }), HasSubstr("an array of uint8 has no fields"));
}

TEST(Array, copies_between_any_layouts) {
  const Array source = counting({3, 4, 5});
  std::vector<std::int32_t> memory(3 * 4 * 5, -1);
  const Array fortran = Array::borrow(memory.data(), ElementType::i32, {3, 4, 5}, {4, 12, 48});
  fortran.copy_from(source);
  EXPECT_EQ(memory[1], 20);
  EXPECT_EQ(memory[3], 5);
  EXPECT_EQ(values_of(fortran), values_of(source));
  EXPECT_THAT(message_of([&] { source.copy_from(counting({3, 20})); }),
              HasSubstr("cannot copy an array of 3x20 into one of 3x4x5"));
  EXPECT_THAT(message_of([&] { source.copy_from(Array(ElementType::f32, {3, 4, 5})); }),
              HasSubstr("cannot copy float into an array of int32"));
}

TEST(Array, copies_structs_of_odd_sizes) {
  const Format rgb = Format::record("rgb", {{"r", ElementType::u8}, {"g", ElementType::u8}, {"b", ElementType::u8}});
  const Array a(rgb, {4, 6});
  for (int i = 0; i < 72; ++i) a.as<std::uint8_t>()[i] = static_cast<std::uint8_t>(i);
  const Array part = a.region(std::vector<i64>{1, 1}, std::vector<i64>{3, 3}).clone();
  EXPECT_EQ(part.as<std::uint8_t>()[0], 21);
  EXPECT_EQ(part.as<std::uint8_t>()[6], 39);
  EXPECT_EQ(part.as<std::uint8_t>()[11], 44);
}

TEST(Array, copies_nothing_and_one) {
  Array(ElementType::f32, {0, 3}).copy_from(Array(ElementType::f32, {0, 3}));
  const Array one = Array::from<float>(std::vector<float>{2.5f}, {});
  EXPECT_EQ(one.clone().as<float>()[0], 2.5f);
  EXPECT_THAT(message_of([] { Array::from<float>(std::vector<float>{1, 2}, {3}); }), HasSubstr("cannot copy"));
}

}  // namespace
}  // namespace tessera
