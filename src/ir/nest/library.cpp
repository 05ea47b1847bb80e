// The rows of the table of run-time functions, and what fits one.
#include "ir/nest/library.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace tessera::ir::nest {

namespace {

constexpr int c = static_cast<int>(Dialect::c), cuda = static_cast<int>(Dialect::cuda),
              opencl = static_cast<int>(Dialect::opencl), device = cuda | opencl, all = c | device;

constexpr Routine routines[] = {
    // Arithmetic of sizes and places.
    {"tsr_floor_div", "i64(i64, i64)", all},
    {"tsr_clamp", "i64(i64, i64, i64)", all},
    {"tsr_map", "i64(i64, i64, i64)", all},
    {"tsr_ceil_div", "i64(i64, i64)", c},
    {"tsr_quotient", "i64(i64, i64)", c},
    {"tsr_short_quotient", "i64(i64, i64)", device},
    {"tsr_align", "i64(i64)", c},
    {"tsr_pitch", "i64(i64)", c},
    {"tsr_aligned", "i32(any*, i64)", c},
    {"tsr_balanced", "i64(i64, i64, i64)", c},
    {"tsr_tile_rows", "i64(i64, i64, i64, i64, i64)", c},
    {"tsr_share", "i64(i64, i64, i64, i64, i64)", c},
    {"tsr_run_begin", "i64(i64, i64, i64, i64)", c},
    {"tsr_run_end", "i64(i64, i64, i64, i64)", c},
    {"tsr_chunk_begin", "i64(i64, i64, i64, i64, i64, i64)", c},
    {"tsr_chunk_end", "i64(i64, i64, i64, i64, i64, i64, i64)", c},
    // Tables of pointers, and elements of arrays of a function.
    {"tsr_array", "u8*(u8*, i64)", c},
    {"tsr_at", "S(S, i64)", c},
    {"tsr_rows", "u8*(u8*)", c},
    {"tsr_row", "u8*(u8*, i64)", c},
    {"tsr_set_row", "void(u8*, i64, u8*)", c},
    {"tsr_no_row", "void(u8*, i64)", c},
    {"tsr_is_row", "i32(u8*)", c},
    {"tsr_nowhere", "u8*()", c},
    // Rows in memory.
    {"tsr_fill", "void(u8*, i64, i64, i64)", c},
    {"tsr_zero", "void(u8*, i64)", c},
    {"tsr_copy", "void(u8*, u8*, i64)", c},
    {"tsr_copy_end", "void(u8*, u8*, i64)", c},
    {"tsr_copy_strided", "void(u8*, i64, u8*, i64, i64)", c},
    {"tsr_copy_fields_<N>", "void(u8*, u8*[N], i64, i64)", c, Support::fields},
    {"tsr_patch", "void(u8*, u8*, u8*, i64, i64, i64, i64, i64, i64, i64)", c},
    {"tsr_patch_here", "void(u8*, u8*, u8*, i64, i64, i64, i64, i64, i64, i64)", c},
    {"tsr_patch_rows", "void(u8*, i64, u8*, i64, i64, i64, i64, i64, i64, i64, i64)", c},
    {"tsr_pad", "void(u8*, i64, i64, i64, i64, i64, i64, i64, i64)", c},
    {"tsr_prefetch", "void(u8*, i64)", c},
    // For tests: memory that nothing may write.
    {"tsr_spoil", "void(u8*, i64)", c, Support::guards},
    {"tsr_guard", "void(u8*)", c, Support::guards},
    {"tsr_guarded", "void(u8*)", c, Support::guards},
    // Vectors of bytes.
    {"tsr_add_products_i32x<N>", "i32xN(i32xN, i32xN, i32xN)", c, Support::products},
    {"tsr_field_<K>_of_3_u32x<N>", "u32xN(u8*)", c, Support::words},
    // What tells how far numbers of a tile lie apart (emit/c/ranges.cpp).
    {"tsr_range_larger_of_<R>", "f64(f64, f64)", c, Support::ranges},
    {"tsr_range_far_<R>", "i32(f64, f64, i64)", c, Support::ranges},
    {"tsr_range_doubtful_<R>", "i32(R*, i64, i64, f64)", c, Support::ranges},
    {"tsr_range_energy_<R>", "f64(R*, i64)", c, Support::ranges},
    {"tsr_range_least_<R>", "f64(R*, i64, R)", c, Support::ranges},
    {"tsr_range_low_<R>", "f64(u8*, i64, i64, i64, i64, W*)", c, Support::ranges},
    {"tsr_range_most_<R>", "void(u8*, i64, i64, W*, i64)", c, Support::ranges},
    {"tsr_range_slide_<R>", "void(W*, i64, i64, i64, i64, W*)", c, Support::ranges},
    {"tsr_range_squares_<R>", "void(u8*, i64, i64, i64, W*, f64*, i64)", c, Support::ranges},
    {"tsr_range_first_<R>", "void(W*, i64, i64, i64, W*)", c, Support::ranges},
    {"tsr_range_next_<R>", "i32(W*, i64, i64, i64*, i64, W*, f64*)", c, Support::ranges},
    {"tsr_range_mask_<R>", "void(u8*, u8*, i64, i64, i64, W*)", c, Support::ranges},
    {"tsr_range_keep_<R>", "void(u8*, u8*, i64, i64, W*, i64*, i64, W*)", c, Support::ranges},
    {"tsr_range_clear_<R>", "void(u8*, i64, i64, W*, i64*)", c, Support::ranges},
    {"tsr_range_result_<R>", "f64(u8*, i64, i64*)", c, Support::ranges},
    {"tsr_range_thin_<R>", "i32(f64, f64, i64)", c, Support::ranges},
    {"tsr_range_mark_<R>", "i32(u8*, i64, i64, W*, i64*, R)", c, Support::ranges},
    {"tsr_range_add_<R>", "void(u8*, u8*, i64, i64, W*, i64*, R*, i64, i64)", c, Support::ranges},
    {"tsr_range_rows_<R>", "void(u8*, u8*, i64, i64)", c, Support::ranges},
    // Threads of a block.
    {"tsr_block", "i64()", device},
    {"tsr_thread_x", "i64()", device},
    {"tsr_thread_y", "i64()", device},
    {"tsr_barrier", "void()", device},
    {"tsr_barrier_all", "void()", device},
    {"tsr_of_thread_<T>", "T(T, i32)", device},
    // Elements to shared memory while other things are done.
    {"tsr_bring_<R>", "void(R*, R*)", cuda},
    {"tsr_bring_<R>x<N>", "void(R*, R*)", cuda},
    {"tsr_arrived", "void()", cuda},
    {"tsr_asked", "void()", cuda},
    {"tsr_arrived_but", "void(i64)", cuda},
    // Two integers of 16 bits in a register.
    {"tsr_bytes", "u32(u32, u32, u32)", device},
    {"tsr_least_u16x2", "u32(u32, u32)", device},
    {"tsr_most_u16x2", "u32(u32, u32)", device},
    // Neighbours between memory and scalars.
    {"tsr_load_<T>x<N>", "void(T*, any[N])", device, Support::vectors},
    {"tsr_store_<T>x<N>", "void(T*, any[N])", device, Support::vectors},
    {"tsr_take_<T>x<N>", "void(T*, any[N])", device, Support::vectors},
    {"tsr_put_<T>x<N>", "void(T*, any[N])", device, Support::vectors},
    {"tsr_look_<T>x<N>", "void(T*, any[N])", device, Support::vectors},
    {"tsr_load_words_<T>x<N>", "void(T*, u32[W])", device, Support::vectors},
    {"tsr_store_words_<T>x<N>", "void(T*, u32[W])", device, Support::vectors},
    // Units of matrices.
    {"tsr_matrix_alignment", "i32(u8*, i64)", cuda, Support::matrices},
    {"tsr_matrix_inside", "i32(i32, i64, i64, i32)", cuda, Support::matrices},
    {"tsr_matrix_first", "i32(i64)", cuda, Support::matrices},
    {"tsr_matrix_last", "i32(i32, i64, i64, i64)", cuda, Support::matrices},
    {"tsr_matrix_way", "i32(i64, i64, i32)", cuda, Support::matrices},
    {"tsr_matrix_fill", "void(u8*, i64, i32, u8*, i64[8], i32[9], i64[2])", cuda, Support::matrices},
    {"tsr_matrix_patch_sides", "void(u8*, i64, i32, u8*, i64[8], i32[7])", cuda, Support::matrices},
    {"tsr_matrix_load4", "void(u32[4], u8*)", cuda, Support::matrices},
    {"tsr_matrix_load2", "void(u32[2], u8*)", cuda, Support::matrices},
    {"tsr_matrix_add_u8", "void(i32[4], u32[8], i32[4], u32)", cuda, Support::matrices},
    {"tsr_matrix_add_s8", "void(i32[4], u32[8], i32[4], u32)", cuda, Support::matrices},
    {"tsr_matrix_stage", "void(u8*, any, any)", cuda, Support::matrices},
    {"tsr_matrix_stage_saturated", "void(u8*, i32, i32)", cuda, Support::matrices},
    {"tsr_matrix_step", "void()", cuda, Support::matrices},
    {"tsr_matrix_store", "void(u8*, u8*, i64, i64, i32)", cuda, Support::matrices},
    // Blocks of transforms that wait for each other (engine/fft/device.cpp).
    {"tsr_fft_begin", "void()", device},
    {"tsr_fft_ticket", "u32(u8*)", device},
    {"tsr_fft_await", "void(u8*, u32, u32)", device},
    {"tsr_fft_done", "void(u8*, u32)", device},
    {"tsr_fresh_<R>x2", "void(R*, R, R)", device},
};

constexpr std::array lanes{Lane::i8,  Lane::u8,  Lane::i16, Lane::u16, Lane::i32,
                           Lane::u32, Lane::i64, Lane::f16, Lane::f32, Lane::f64};

// What the letters of a row stand for.
struct Bound {
  std::optional<Lane> lane;
  int number = 0;
  std::optional<Type> same;
};

std::optional<Lane> lane_at(std::string_view text) {
  const auto found = std::find_if(lanes.begin(), lanes.end(), [&](Lane l) { return text.starts_with(name_of(l)); });
  return found == lanes.end() ? std::nullopt : std::optional(*found);
}

int number_at(std::string_view digits) {
  int number = 0;
  for (const char digit : digits) number = 10 * number + (digit - '0');
  return number;
}

std::optional<Bound> bound(std::string_view row, std::string_view name) {
  Bound result;
  while (!row.empty()) {
    if (row.front() != '<') {
      if (name.empty() || name.front() != row.front()) return std::nullopt;
      row.remove_prefix(1), name.remove_prefix(1);
      continue;
    }
    const char letter = row[1];
    row.remove_prefix(3);
    if (letter == 'N' || letter == 'K') {
      const std::size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
      if (digits == 0 || digits > 4) return std::nullopt;
      if (letter == 'N') result.number = number_at(name.substr(0, digits));
      name.remove_prefix(digits);
      continue;
    }
    result.lane = lane_at(name);
    if (!result.lane || (letter == 'R' && *result.lane != Lane::f32 && *result.lane != Lane::f64)) return std::nullopt;
    name.remove_prefix(name_of(*result.lane).size());
  }
  return name.empty() ? std::optional(result) : std::nullopt;
}

bool fits(std::string_view what, const Type& type, Bound& bound) {
  if (what == "S") {
    if (!bound.same) bound.same = type;
    return type == *bound.same;
  }
  const bool pointer = what.ends_with('*');
  if (pointer) what.remove_suffix(1);
  if (pointer != type.pointer) return false;
  if (what == "any") return pointer || type.lanes == 1;
  int count = 1;
  if (const std::size_t x = what.find('x'); x != std::string_view::npos) {
    count = bound.number;  // "xN"
    what = what.substr(0, x);
  }
  const std::optional<Lane> lane = what == "T" || what == "R" ? bound.lane
                                   : what == "W"              ? std::optional(mask_lane(*bound.lane))
                                                              : lane_at(what);
  return lane && type.lane == *lane && type.lanes == count;
}

// "N", "W" or digits.
int times_of(std::string_view count, const Bound& bound) {
  if (count == "N") return bound.number;
  if (count == "W") return bound.number * size_of(*bound.lane) / 4;
  return number_at(count);
}

}  // namespace

std::span<const Routine> library() {
  return routines;
}

const Routine* routine(std::string_view name) {
  for (const Routine& r : routines)
    if (bound(r.name, name)) return &r;
  return nullptr;
}

Support support_of(std::string_view name) {
  const Routine* const known = routine(name);
  return known == nullptr ? Support::none : known->support;
}

std::optional<std::string> mismatch(const Routine& r, std::string_view name, const std::optional<Type>& result,
                                    const std::vector<Value>& args) {
  Bound of = bound(r.name, name).value_or(Bound{});
  const std::size_t open = r.signature.find('(');
  const std::string_view gives = r.signature.substr(0, open);
  if (result ? !fits(gives, *result, of) : gives != "void") return fmt::format("'{}' gives {}", name, gives);
  std::string_view rest = r.signature.substr(open + 1, r.signature.size() - open - 2);
  std::size_t k = 0;
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    std::string_view what = rest.substr(0, comma);
    rest.remove_prefix(std::min(comma + 2, rest.size()));
    int times = 1;
    if (const std::size_t bracket = what.find('['); bracket != std::string_view::npos) {
      times = times_of(what.substr(bracket + 1, what.size() - bracket - 2), of);
      what = what.substr(0, bracket);
    }
    for (; times > 0; --times, ++k) {
      if (k == args.size()) return fmt::format("'{}' takes more than {} arguments", name, k);
      if (!fits(what, args[k]->type, of)) return fmt::format("argument {} of '{}' is no {}", k + 1, name, what);
    }
  }
  if (k < args.size()) return fmt::format("'{}' takes {} arguments, not {}", name, k, args.size());
  return std::nullopt;
}

}  // namespace tessera::ir::nest
