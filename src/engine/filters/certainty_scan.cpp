// Looking through masks and images for what is the same everywhere. Rows of a cell are gathered one upon the other, as
// vectors without a branch, and looked at once: so a mask of bytes is read nearly as fast as memory gives it.
#include "engine/filters/certainty_scan.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>

namespace tessera::engine {
namespace {

constexpr double mixed = std::numeric_limits<double>::quiet_NaN();

using Rows = std::vector<const std::byte*>;

// Calls `band` with the rows of every line of cells, in order.
void each_band(const Array& array, const Cells& cells, const std::function<void(const Rows&)>& band) {
  const std::size_t last = static_cast<std::size_t>(array.rank()) - 1;
  const std::function<void(std::size_t, const Rows&)> walk = [&](std::size_t d, const Rows& rows) {
    if (d == last) return band(rows);
    for (i64 c = cells.first[d]; c < cells.first[d] + cells.count[d]; ++c) {
      Rows inner;
      const i64 end = std::min((c + 1) * cell_rows, array.shape()[d]);
      for (const std::byte* row : rows)
        for (i64 i = c * cell_rows; i < end; ++i) {
          inner.push_back(row + i * array.strides()[d]);
          if (array.strides()[d] == 0) break;  // all are the same
        }
      walk(d + 1, inner);
    }
  };
  walk(0, {array.as<std::byte>()});
}

Cells touched(const Region& box) {
  Cells cells;
  for (std::size_t d = 0; d < box.begin.size(); ++d) {
    const i64 extent = d + 1 == box.begin.size() ? cell_columns : cell_rows;
    cells.first.push_back(box.begin[d] / extent);
    cells.count.push_back((box.end[d] + extent - 1) / extent - cells.first[d]);
  }
  return cells;
}

// Calls `f` with a number of that type.
template <class F>
void of_type(ElementType type, const F& f) {
  switch (type) {
    case ElementType::boolean:
    case ElementType::u8:
      return f(std::uint8_t{});
    case ElementType::i16:
      return f(std::int16_t{});
    case ElementType::u16:
      return f(std::uint16_t{});
    case ElementType::i32:
      return f(std::int32_t{});
    case ElementType::u32:
      return f(std::uint32_t{});
    case ElementType::f32:
      return f(float{});
    case ElementType::f64:
      return f(double{});
    case ElementType::f16:
      break;
  }
}

std::uint64_t word_at(const std::byte* p) {
  std::uint64_t word = 0;
  std::memcpy(&word, p, 8);
  return word;
}

// Do so many bytes of every row repeat the eight of a pattern? A row that does not ends it.
bool repeats(const Rows& rows, i64 at, i64 bytes, std::uint64_t pattern) {
  for (const std::byte* row : rows)
    for (i64 i = 0; i < bytes; i += 8) {
      const i64 count = std::min<i64>(bytes - i, 8);
      if (std::memcmp(row + at + i, &pattern, static_cast<std::size_t>(count)) != 0) return false;
    }
  return true;
}
// The same of a whole cell.
template <i64 bytes>
bool repeats(const Rows& rows, i64 at, std::uint64_t pattern) {
  for (const std::byte* row : rows) {
    const std::byte* p = row + at;
    std::uint64_t others[4] = {};
    for (i64 i = 0; i < bytes; i += 32)
      for (i64 k = 0; k < 4; ++k) others[k] |= word_at(p + i + 8 * k) ^ pattern;
    if (((others[0] | others[1]) | (others[2] | others[3])) != 0) return false;
  }
  return true;
}

// Asks for the rows of the next cells: the machine's own requests end where a row does.
void ask(const Rows& rows, i64 at, i64 bytes, i64 ahead) {
  for (const std::byte* row : rows)
    for (i64 i = 0; i < bytes; i += 64) __builtin_prefetch(row + at + i + ahead);
}

template <class T>
double kind_of_certainties(const Rows& rows, i64 at, i64 count, i64 ahead) {
  ask(rows, at * static_cast<i64>(sizeof(T)), count * static_cast<i64>(sizeof(T)), ahead);
  const T first = reinterpret_cast<const T*>(rows.front())[at];
  if (first >= 0) {
    T elements[8 / sizeof(T)];
    std::fill(std::begin(elements), std::end(elements), first);
    std::uint64_t pattern = 0;
    std::memcpy(&pattern, elements, 8);
    constexpr i64 size = sizeof(T);
    const bool alike = count == cell_columns ? repeats<cell_columns * size>(rows, at * size, pattern)
                                             : repeats(rows, at * size, count * size, pattern);
    if (alike) return static_cast<double>(first);
  }
  if (first > 0) return mixed;
  for (const std::byte* row : rows)
    for (i64 i = 0; i < count; ++i)
      if (reinterpret_cast<const T*>(row)[at + i] > 0) return mixed;
  return 0;
}

// Infinite or NaN: the exponent is all ones.
template <class Bits>
double kind_of_numbers(const Rows& rows, i64 at, i64 count, Bits exponent, i64 ahead) {
  ask(rows, at * static_cast<i64>(sizeof(Bits)), count * static_cast<i64>(sizeof(Bits)), ahead);
  bool some = false, others = false;
  for (const std::byte* row : rows) {
    const Bits* p = reinterpret_cast<const Bits*>(row) + at;
    Bits odd = 0;  // how many
    for (i64 i = 0; i < count; ++i) odd += (p[i] & exponent) == exponent;
    some |= odd != 0, others |= odd != static_cast<Bits>(count);
    if (some && others) return mixed;
  }
  return some ? 0 : 1;
}

ElementType number_of(const Format& format) {
  return format.is_struct() ? format.fields.front().type : format.scalar;
}

// From the rows of a cell to those of the one below.
i64 next_rows(const Array& array) {
  return array.rank() < 2 ? 0 : cell_rows * array.strides()[static_cast<std::size_t>(array.rank()) - 2];
}

// Calls `kind` with the first column of every cell of a line and how many it has.
template <class Kind>
void line(const Cells& cells, i64 columns, std::vector<double>& kinds, const Kind& kind) {
  const i64 first = cells.first.back() * cell_columns;
  for (i64 c = 0; c < cells.count.back(); ++c) {
    const i64 at = first + c * cell_columns;
    kinds.push_back(kind(at, std::min(cell_columns, columns - at)));
  }
}

}  // namespace

double Cells::of(const Region& box) const {
  const Cells inner = touched(box);
  const std::size_t last = count.size() - 1;
  std::vector<i64> at = inner.first;
  double kind = mixed;
  for (bool begun = false;; begun = true) {
    i64 place = 0;
    for (std::size_t d = 0; d <= last; ++d) place = place * count[d] + at[d] - first[d];
    const double* line = kinds.data() + place;
    if (!begun) kind = *line;
    for (i64 c = 0; c < inner.count[last]; ++c)
      if (!(line[c] == kind)) return mixed;
    std::size_t d = last;
    for (; d > 0 && ++at[d - 1] == inner.first[d - 1] + inner.count[d - 1]; --d) at[d - 1] = inner.first[d - 1];
    if (d == 0) return kind;
  }
}

bool is_scannable_mask(const Format& mask) {
  return !mask.is_struct() && mask.scalar != ElementType::f16;
}

bool is_scannable_image(const Format& image) {
  const ElementType type = number_of(image);
  const std::size_t channels = image.is_struct() ? image.fields.size() : 1;
  return !is_float(type) || (type != ElementType::f16 && image.size() == channels * size_of(type));
}

bool is_aligned(const Array& array) {
  const std::size_t size = size_of(number_of(array.format()));
  const auto whole = [&](i64 stride) { return stride % static_cast<i64>(size) == 0; };
  return reinterpret_cast<std::uintptr_t>(array.data()) % size == 0 &&
         std::all_of(array.strides().begin(), array.strides().end(), whole);
}

Cells cells_of_mask(const Array& mask, const Region& box) {
  Cells cells = touched(box);
  const i64 ahead = next_rows(mask);
  of_type(mask.format().scalar, [&]<class T>(T) {
    each_band(mask, cells, [&](const Rows& rows) {
      line(cells, mask.shape().back(), cells.kinds,
           [&](i64 at, i64 count) { return kind_of_certainties<T>(rows, at, count, ahead); });
    });
  });
  return cells;
}

Cells cells_of_numbers(const Array& image, const Region& box) {
  Cells cells = touched(box);
  const ElementType type = number_of(image.format());
  const i64 channels = static_cast<i64>(image.format().size() / size_of(type)), ahead = next_rows(image);
  each_band(image, cells, [&](const Rows& rows) {
    line(cells, image.shape().back(), cells.kinds, [&](i64 at, i64 count) {
      if (type == ElementType::f32)
        return kind_of_numbers<std::uint32_t>(rows, at * channels, count * channels, 0x7f800000U, ahead);
      if (type == ElementType::f64)
        return kind_of_numbers<std::uint64_t>(rows, at * channels, count * channels, 0x7ff0000000000000U, ahead);
      return 1.0;  // integers
    });
  });
  return cells;
}

Cells both(const Cells& mask, const Cells& numbers) {
  Cells cells = mask;
  for (std::size_t k = 0; k < cells.kinds.size(); ++k) {
    if (numbers.kinds[k] == 0) cells.kinds[k] = 0;
    if (std::isnan(numbers.kinds[k]) && cells.kinds[k] != 0) cells.kinds[k] = mixed;
  }
  return cells;
}

}  // namespace tessera::engine
