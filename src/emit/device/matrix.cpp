// See device_matrix.hpp.
#include "emit/device/matrix.hpp"

#include <fmt/format.h>

#include <string_view>

namespace tessera::emit {

namespace {

constexpr std::string_view memory_text = R"(
#define TSR_OUTLINE static __device__ __noinline__
/* The greatest power of two, 16 at most, that an address and the distance of rows are multiples of. */
TSR_INLINE i32 tsr_matrix_alignment(const u8* at, i64 apart) {
  const u32 bits = (u32)(u64)at | (u32)apart | 16u;
  return (i32)(bits & (~bits + 1u));
}
/* Eight rows of so many chunks of 16 bytes to shared memory, twice where `again`; `top` and `left` may be outside.
   Columns outside are left to tsr_matrix_patch, those that no result needs, before `first` and behind `end`, alone. */
TSR_OUTLINE void tsr_matrix_fill_parts(u8* to, i64 away, i32 again, const u8* from, i64 pitch, i64 top, i64 left,
                                       i64 last, i64 rows, i64 columns, i64 needed, i64 end, i32 aligned, i32 down,
                                       i32 above, i32 thread, i32 threads, i32 chunks) {
#pragma unroll 1
  for (i32 i = thread; i < 8 * chunks; i += threads) {
    const i32 row = i / chunks, chunk = i - row * chunks;
    u8* const at = to + 16 * i;
    const i64 y = tsr_map(down, tsr_min(top + row, last), rows), x = left + 16 * chunk;
    if (x + 16 <= needed || x >= end) continue;
    const u8* const source = from + (y * pitch + x);
    if (y >= 0 && aligned == 16 && x >= 0 && x + 16 <= columns) {
      tsr_matrix_bring16(at, source);
      if (again) tsr_matrix_bring16(at + away, source);
      continue;
    }
    if (y >= 0 && aligned >= 4) {
#pragma unroll
      for (i32 b = 0; b < 16; b += 4) {
        if (x + b >= 0 && x + b + 4 <= columns) {
          tsr_matrix_bring4(at + b, source + b);
          if (again) tsr_matrix_bring4(at + away + b, source + b);
          continue;
        }
        for (i32 c = b; c < b + 4; ++c)
          if (x + c >= 0 && x + c < columns) {
            at[c] = source[c];
            if (again) at[away + c] = source[c];
          }
      }
      continue;
    }
    /* All of them are asked for before the first one is there. */
    u32 words[4] = {0, 0, 0, 0};
#pragma unroll
    for (i32 b = 0; b < 16; ++b) {
      const u32 v = y < 0 ? (u32)above : x + b >= 0 && x + b < columns ? (u32)source[b] : 0u;
      words[b / 4] |= v << (8 * (b % 4));
    }
#pragma unroll
    for (i32 k = 0; k < 4; ++k) {
      *(u32*)(at + 4 * k) = words[k];
      if (again) *(u32*)(at + away + 4 * k) = words[k];
    }
  }
}
/* What does not change from group to group. Are all columns inside, in rows of whole chunks? */
TSR_INLINE i32 tsr_matrix_inside(i32 aligned, i64 left, i64 columns, i32 chunks) {
  return aligned == 16 && left >= 0 && left + 16 * chunks <= columns;
}
/* The first group all of whose rows are inside, and the last one, or -1; the first row of the first group is `top`. */
TSR_INLINE i32 tsr_matrix_first(i64 top) { return (i32)(top >= 0 ? 0 : (7 - top) / 8); }
TSR_INLINE i32 tsr_matrix_last(i32 inside, i64 top, i64 last, i64 rows) {
  const i64 room = tsr_min(last, rows - 1) - 7 - top;
  return inside && room >= 0 ? (i32)tsr_min(room / 8, 1 << 20) : -1;
}
/* How a thread stores 16 bytes of a row, of columns x and on: 1 at once, 2 and 4 halves, 8 and 16 halves by bytes. */
TSR_INLINE i32 tsr_matrix_way(i64 x, i64 columns, i32 aligned) {
  if (aligned == 16 && x >= 0 && x + 16 <= columns) return 1;
  i32 way = 0;
  for (i32 half = 0; half < 2; ++half) {
    const i64 first = x + 8 * half;
    if (aligned >= 8 && first >= 0 && first + 8 <= columns)
      way |= 2 << half;
    else if (first > -8 && first < columns)
      way |= 8 << half;
  }
  return way;
}
/* Group number `group`. 16 threads have a row, the first eight the chunk behind it as well: from `from` + `place`, and
   `beside` bytes on. */
TSR_INLINE void tsr_matrix_fill(u8* to, i64 away, i32 again, const u8* from, i64 pitch, i64 top, i64 left, i64 last,
                                i64 rows, i64 columns, i64 needed, i64 end, i32 aligned, i32 down, i32 above,
                                i32 thread, i32 threads, i32 chunks, i32 group, i32 first_group, i32 last_group,
                                i64 place, i64 beside) {
  if (group < first_group || group > last_group) {
    tsr_matrix_fill_parts(to, away, again, from, pitch, top + 8 * (i64)group, left, last, rows, columns, needed, end,
                          aligned, down, above, thread, threads, chunks);
    return;
  }
  u8* const at = to + ((thread >> 4) * (16 * chunks) + (thread & 15) * 16);
  tsr_matrix_bring16(at, from + place);
  if (again) tsr_matrix_bring16(at + away, from + place);
  if (thread < 8) {
    u8* const behind = to + (thread * (16 * chunks) + 256);
    tsr_matrix_bring16(behind, from + (place + beside));
    if (again) tsr_matrix_bring16(behind + away, from + (place + beside));
  }
}
/* The columns outside, of rows that are there: nearly all are copies of columns beside them. */
TSR_OUTLINE void tsr_matrix_patch_sides(u8* to, i64 away, i32 again, const u8* from, i64 pitch, i64 top, i64 left,
                                        i64 last, i64 rows, i64 columns, i64 needed, i64 end, i32 down, i32 across,
                                        i32 above, i32 beside, i32 thread, i32 threads, i32 chunks) {
  const i64 behind = left + 16 * chunks;
  const i64 first = tsr_max(left, needed), next = tsr_max(left, columns);
  const i32 before = (i32)tsr_max(tsr_min(behind, 0) - first, 0);
  const i32 all = before + (i32)tsr_max(tsr_min(behind, end) - next, 0);
#pragma unroll 1
  for (i32 i = thread; i < 8 * all; i += threads) {
    const i32 row = i & 7, k = i >> 3;
    const i64 x = k < before ? first + k : next + (k - before);
    const i64 y = tsr_map(down, tsr_min(top + row, last), rows), c = tsr_map(across, x, columns);
    u8* const at = to + 16 * chunks * row;
    const u8 v = y < 0 ? (u8)above : c < 0 ? (u8)beside : c >= left && c < behind ? at[c - left] : from[y * pitch + c];
    at[x - left] = v;
    if (again) at[away + (x - left)] = v;
  }
  tsr_barrier();
}
/* Two neighbours. */
TSR_INLINE void tsr_matrix_stage(u8* at, i32 first, i32 second) {
  *(u16*)at = (u16)((first & 255) | (second & 255) << 8);
}
TSR_INLINE void tsr_matrix_stage_saturated(u8* at, i32 first, i32 second) {
  u32 both;
  asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, 0;" : "=r"(both) : "r"(second), "r"(first));
  *(u16*)at = (u16)both;
}
#define tsr_matrix_step() __syncwarp()
TSR_OUTLINE void tsr_matrix_store_bytes(u8* row, const u8* from, i64 x, i64 columns) {
#pragma unroll 1
  for (i32 b = 0; b < 8; ++b)
    if (x + b >= 0 && x + b < columns) row[x + b] = from[b];
}
/* 16 bytes of a row, of columns x and on. */
TSR_INLINE void tsr_matrix_store(u8* row, const u8* from, i64 x, i64 columns, i32 way) {
  if (way == 1) {
    *(uint4*)(row + x) = *(const uint4*)from;
    return;
  }
  if (way & 2) *(uint2*)(row + x) = *(const uint2*)from;
  if (way & 4) *(uint2*)(row + (x + 8)) = *(const uint2*)(from + 8);
  if (way & 8) tsr_matrix_store_bytes(row, from, x, columns);
  if (way & 16) tsr_matrix_store_bytes(row, from + 8, x + 8, columns);
}
)";

constexpr std::string_view bring_text = R"(
TSR_INLINE void tsr_matrix_bring16(u8* to, const u8* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : : "l"(__cvta_generic_to_shared(to)), "l"(from));
}
TSR_INLINE void tsr_matrix_bring4(u8* to, const u8* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" : : "l"(__cvta_generic_to_shared(to)), "l"(from), "n"(4));
}
/* Words of four blocks of 8 rows of 16 bytes, whose addresses eight threads each give; of two blocks. */
TSR_INLINE void tsr_matrix_load4(u32& a, u32& b, u32& c, u32& d, const u8* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "l"(__cvta_generic_to_shared(row)));
}
TSR_INLINE void tsr_matrix_load2(u32& a, u32& b, const u8* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(a), "=r"(b) : "l"(__cvta_generic_to_shared(row)));
}
)";

}  // namespace

std::string matrix_text() {
  std::string text(bring_text);
  const auto add = [&](std::string_view weights, std::string_view modifier) {
    text += fmt::format(
        R"(TSR_INLINE void tsr_matrix_add_{0}(i32& d0, i32& d1, i32& d2, i32& d3, u32 a0, u32 a1, u32 a2, u32 a3, u32 b0,
                                   u32 b1, u32 b2, u32 b3, i32 c0, i32 c1, i32 c2, i32 c3, u32 which) {{
  asm volatile("mma.sp{1}.sync.aligned.m16n8k64.row.col.s32.{0}.u8.s32 {{%0, %1, %2, %3}}, {{%4, %5, %6, %7}}, {{%8, %9, %10, %11}}, {{%12, %13, %14, %15}}, %16, 0x0;"
               : "=r"(d0), "=r"(d1), "=r"(d2), "=r"(d3)
               : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1), "r"(b2), "r"(b3), "r"(c0), "r"(c1), "r"(c2),
                 "r"(c3), "r"(which));
}}
)",
        weights, modifier);
  };
  // Of two weights the first one stands first, which compilers since CUDA 12.5 are told.
  text += "/* d = c + a b: of every four weights two, which ones `which` says. */\n";
  text += "#if __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1205\n";
  for (const std::string_view weights : {"s8", "u8"}) add(weights, "::ordered_metadata");
  text += "#else\n";
  for (const std::string_view weights : {"s8", "u8"}) add(weights, "");
  return text + "#endif\n" + std::string(memory_text);
}

}  // namespace tessera::emit
