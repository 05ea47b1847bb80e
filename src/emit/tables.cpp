// See tables.hpp.
#include "emit/tables.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "tessera/error.hpp"

namespace tessera::emit {
namespace {

constexpr i64 most_numbers = 8'000'000;

}  // namespace

void check_tables(const std::vector<ir::Table>& tables) {
  i64 numbers = 0;
  for (const ir::Table& t : tables) {
    numbers += static_cast<i64>(t.values.size());
    if (numbers > most_numbers)
      throw Error(ErrorClass::argument,
                  fmt::format("the tables up to '{}' would be {} numbers in the emitted text: expected at most {}",
                              t.name, base::format_count(numbers), base::format_count(most_numbers)),
                  {"the spectra of a large window's weights are tables, too"},
                  "take a smaller window, or --method direct, which needs the weights alone");
  }
}

void check_transform_tables(i64 numbers) {
  if (numbers > most_numbers)
    throw Error(ErrorClass::argument,
                fmt::format("the tables of transforms would be {} numbers in the emitted text: expected at most {}",
                            base::format_count(numbers), base::format_count(most_numbers)),
                {"extents with large prime factors have tables as long as the lines"},
                "leave the size away: transforms of any extents make their tables when they run");
}

}  // namespace tessera::emit
