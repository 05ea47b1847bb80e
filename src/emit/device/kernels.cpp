// See device.hpp. Values are scalars, one a thread; truth is any integer but 0.
#include "emit/device/kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>

#include "base/deadline.hpp"
#include "data/half.hpp"
#include "emit/c/prelude.hpp"
#include "emit/device/matrix.hpp"
#include "emit/statements.hpp"
#include "emit/tables.hpp"
#include "ir/functions/functions.hpp"
#include "ir/nest/library.hpp"

namespace tessera::emit {

using ir::Op;
using ir::nest::Kind;
using ir::nest::Lane;
using ir::nest::Node;
using ir::nest::Statement;
using ir::nest::Type;
using ir::nest::Value;

namespace {

constexpr std::string_view cuda_text =
    R"(#pragma nv_diag_suppress 177, 550 /* helpers and columns that nobody needs here */
typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef unsigned short f16;
typedef float f32;
typedef double f64;
#define TSR_INLINE static __device__ __forceinline__
#define TSR_BOTH static __host__ __device__ __forceinline__
#define TSR_GLOBAL
#define TSR_TABLE static __device__ const __align__(16)
TSR_INLINE i64 tsr_block(void) { return blockIdx.x; }
TSR_INLINE i64 tsr_thread_x(void) { return threadIdx.x; }
TSR_INLINE i64 tsr_thread_y(void) { return threadIdx.y; }
#define TSR_LOCAL
#define tsr_barrier() __syncthreads()
#define tsr_barrier_all() __syncthreads()
/* An element to shared memory, which is there once all that were asked for have arrived, and a barrier. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
TSR_INLINE void tsr_bring_f32(f32* to, const f32* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" : : "l"(__cvta_generic_to_shared(to)), "l"(from), "n"(4));
}
TSR_INLINE void tsr_bring_f64(f64* to, const f64* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" : : "l"(__cvta_generic_to_shared(to)), "l"(from), "n"(8));
}
TSR_INLINE void tsr_bring_f32x4(f32* to, const f32* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : : "l"(__cvta_generic_to_shared(to)), "l"(from));
}
#define tsr_arrived() asm volatile("cp.async.wait_all;" ::: "memory")
/* What was asked for so far is one lot; all lots are there but the last n. */
#define tsr_asked() asm volatile("cp.async.commit_group;" ::: "memory")
#define tsr_arrived_but(n) asm volatile("cp.async.wait_group %0;" : : "n"((int)(n)) : "memory")
#else
#define tsr_bring_f32(to, from) (*(to) = *(from))
#define tsr_bring_f64(to, from) (*(to) = *(from))
#define tsr_bring_f32x4(to, from) (*(uint4*)(to) = *(const uint4*)(from))
#define tsr_arrived() (void)0
#define tsr_asked() (void)0
#define tsr_arrived_but(n) (void)0
#endif
/* What nobody reads soon leaves the caches first. */
#if defined(__CUDA_ARCH__)
#define tsr_stream(to, v) __stcs(to, v)
#else
#define tsr_stream(to, v) (*(to) = (v))
#endif
/* Blocks of the next kernel may come as soon as all of this one are there; nothing is read or written before the kernel
   before this one has ended. Order 1: the next kernel may run beside this one, once what is before both has ended. 2:
   this one runs beside the one before it, and ends after it: one block more than there is work for waits for that. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define tsr_wait() asm volatile("griddepcontrol.wait;" ::: "memory")
#define tsr_next() asm volatile("griddepcontrol.launch_dependents;")
#else
#define tsr_wait() (void)0
#define tsr_next() (void)0
#endif
#define tsr_begin(order) \
  if ((order) == 2 && blockIdx.x + 1 == gridDim.x) { tsr_next(); tsr_wait(); return; } \
  if ((order) == 1) tsr_wait(); \
  tsr_next(); \
  if ((order) == 0) tsr_wait()
/* The value of another thread of the warp. */
template <class T> TSR_INLINE T tsr_of_thread(T v, i32 away) {
  return away < 0 ? __shfl_up_sync(0xffffffffu, v, -away) : __shfl_down_sync(0xffffffffu, v, away);
}
#define tsr_of_thread_f32 tsr_of_thread
#define tsr_of_thread_f64 tsr_of_thread
#define tsr_of_thread_f16 tsr_of_thread
#define tsr_of_thread_i32 tsr_of_thread
#define tsr_of_thread_u32 tsr_of_thread
/* Of registers that hold two integers of 16 bits: four bytes of two registers, the least and the most. */
#define tsr_bytes(a, b, which) __byte_perm(a, b, which)
#define tsr_least_u16x2(a, b) __vminu2(a, b)
#define tsr_most_u16x2(a, b) __vmaxu2(a, b)
TSR_INLINE f32 tsr_from_half(f16 h) {
  f32 x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h));
  return x;
}
TSR_INLINE f16 tsr_half_f32(f32 x) {
  f16 h;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
  return tsr_half_of(x, h);
}
TSR_INLINE f16 tsr_half_f64(f64 x) {
  f16 h;
  asm("cvt.rn.f16.f64 %0, %1;" : "=h"(h) : "d"(x));
  return tsr_half_of(x, h);
}
#define tsr_magnitude_f32(x) fabsf(x)
#define tsr_magnitude_f64(x) fabs(x)
#define tsr_nan_f32 __int_as_float(0x7fc00000)
#define tsr_inf_f32 __int_as_float(0x7f800000)
#define tsr_nan_f64 __longlong_as_double(0x7ff8000000000000LL)
#define tsr_inf_f64 __longlong_as_double(0x7ff0000000000000LL)
)";

constexpr std::string_view opencl_text = R"(typedef char i8;
typedef uchar u8;
typedef short i16;
typedef ushort u16;
typedef int i32;
typedef uint u32;
typedef long i64;
typedef ulong u64;
typedef ushort f16;
typedef float f32;
#define TSR_INLINE static inline
#define TSR_BOTH static inline
#define TSR_GLOBAL __global
#define TSR_TABLE __constant
TSR_INLINE i64 tsr_block(void) { return (i64)get_group_id(0); }
TSR_INLINE i64 tsr_thread_x(void) { return (i64)get_local_id(0); }
TSR_INLINE i64 tsr_thread_y(void) { return (i64)get_local_id(1); }
#define TSR_LOCAL __local
#define tsr_barrier() barrier(CLK_LOCAL_MEM_FENCE)
#define tsr_barrier_all() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
TSR_INLINE f32 tsr_from_half(f16 h) { return vload_half(0, (const half*)&h); }
TSR_INLINE f16 tsr_half_f32(f32 x) {
  f16 h;
  vstore_half_rte(x, 0, (half*)&h);
  return tsr_half_of(x, h);
}
/* Of registers that hold two integers of 16 bits: four bytes of two registers, the least and the most. */
#ifdef cl_nv_pragma_unroll
TSR_INLINE u32 tsr_bytes(u32 a, u32 b, u32 which) {
  u32 r;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(which));
  return r;
}
TSR_INLINE u32 tsr_least_u16x2(u32 a, u32 b) {
  u32 r;
  asm("min.u16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
  return r;
}
TSR_INLINE u32 tsr_most_u16x2(u32 a, u32 b) {
  u32 r;
  asm("max.u16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
  return r;
}
#else
#define tsr_bytes(a, b, which) \
  as_uint(shuffle2(as_uchar4((u32)(a)), as_uchar4((u32)(b)), \
                   (uchar4)((which) & 7, (which) >> 4 & 7, (which) >> 8 & 7, (which) >> 12 & 7)))
#define tsr_least_u16x2(a, b) as_uint(min(as_ushort2(a), as_ushort2(b)))
#define tsr_most_u16x2(a, b) as_uint(max(as_ushort2(a), as_ushort2(b)))
#endif
#ifdef cl_nv_pragma_unroll
/* The value of another thread of the warp: for NVIDIA's GPUs alone, and no other device gets text that asks for it. */
TSR_INLINE u32 tsr_of_thread_u32(u32 v, i32 away) {
  u32 r;
  if (away < 0)
    asm volatile("shfl.sync.up.b32 %0, %1, %2, 0, 0xffffffff;" : "=r"(r) : "r"(v), "r"(-away));
  else
    asm volatile("shfl.sync.down.b32 %0, %1, %2, 31, 0xffffffff;" : "=r"(r) : "r"(v), "r"(away));
  return r;
}
#define tsr_of_thread_i32(v, away) ((i32)tsr_of_thread_u32((u32)(v), away))
#define tsr_of_thread_f16(v, away) ((f16)tsr_of_thread_u32(v, away))
#define tsr_of_thread_f32(v, away) as_float(tsr_of_thread_u32(as_uint(v), away))
TSR_INLINE ulong tsr_of_thread_u64(ulong v, i32 away) {
  return (ulong)tsr_of_thread_u32((u32)(v >> 32), away) << 32 | tsr_of_thread_u32((u32)v, away);
}
#define tsr_of_thread_f64(v, away) as_double(tsr_of_thread_u64(as_ulong(v), away))
#endif
#ifdef TSR_ROWS_ANYWHERE
#define TSR_LOAD(type, lanes, p) vload##lanes(0, p)
#define TSR_STORE(type, lanes, v, p) vstore##lanes(v, 0, p)
#else /* rows begin at multiples of 16 bytes: one access, where a compiler takes vloadn apart */
#define TSR_LOAD(type, lanes, p) (*(__global const type*)(p))
#define TSR_STORE(type, lanes, v, p) (*(__global type*)(p) = (v))
#endif
#define tsr_magnitude_f32(x) fabs(x)
#define tsr_nan_f32 as_float(0x7fc00000)
#define tsr_inf_f32 as_float(0x7f800000)
)";

constexpr std::string_view opencl_doubles = R"(#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double f64;
TSR_INLINE f16 tsr_half_f64(f64 x) {
  f16 h;
  vstore_half_rte(x, 0, (half*)&h);
  return tsr_half_of(x, h);
}
#define tsr_magnitude_f64(x) fabs(x)
#define tsr_nan_f64 as_double(0x7ff8000000000000L)
#define tsr_inf_f64 as_double(0x7ff0000000000000L)
)";

constexpr std::string_view common_text =
    R"(/* 0 - x. The assembler of CUDA 13.0 forgets negations of operands of three-way minima and maxima (VIMNMX3): so it may
   not see that this is one. */
TSR_INLINE u32 tsr_negative(u32 x) {
#if defined(__CUDACC__) || defined(cl_nv_pragma_unroll)
  u32 r;
  asm("not.b32 %0, %1;" : "=r"(r) : "r"(x));
  return r + 1u;
#else
  return 0u - x;
#endif
}
/* Shared memory of a block as elements. */
#define tsr_shared_i8 ((TSR_LOCAL i8*)tsr_shared)
#define tsr_shared_u8 ((TSR_LOCAL u8*)tsr_shared)
#define tsr_shared_i16 ((TSR_LOCAL i16*)tsr_shared)
#define tsr_shared_u16 ((TSR_LOCAL u16*)tsr_shared)
#define tsr_shared_i32 ((TSR_LOCAL i32*)tsr_shared)
#define tsr_shared_u32 ((TSR_LOCAL u32*)tsr_shared)
#define tsr_shared_f16 ((TSR_LOCAL f16*)tsr_shared)
#define tsr_shared_f32 ((TSR_LOCAL f32*)tsr_shared)
#define tsr_shared_f64 ((TSR_LOCAL f64*)tsr_shared)
TSR_BOTH i64 tsr_min(i64 a, i64 b) { return a < b ? a : b; }
TSR_BOTH i64 tsr_max(i64 a, i64 b) { return a > b ? a : b; }
TSR_INLINE i64 tsr_clamp(i64 v, i64 lo, i64 hi) { return tsr_max(tsr_min(v, hi), lo); }
/* Of numbers below 2^31, which take a tenth of the time of longer ones. */
TSR_INLINE i64 tsr_short_quotient(i64 a, i64 b) { return (i64)((u32)a / (u32)b); }
TSR_BOTH i64 tsr_floor_div(i64 a, i64 b) {
  i64 q = a / b;
  return a % b < 0 ? q - 1 : q;
}
/* Border maps. Modes: 0 none, 1 clamp, 2 mirror, 3 symmetric, 4 wrap, 5 constant (-1: no element). */
TSR_INLINE i64 tsr_map(i64 mode, i64 i, i64 n) {
  if (i >= 0 && i < n) return i;
  if (mode == 5) return -1;
  if (mode < 2) return i < 0 ? 0 : n - 1;
  if (mode == 4) {
    if (i >= -n && i < 2 * n) return i < 0 ? i + n : i - n;
    i64 m = i % n;
    return m < 0 ? m + n : m;
  }
  if (mode == 2) {
    if (n == 1) return 0;
    i64 period = 2 * (n - 1);
    i64 m = i > -n && i < 2 * n - 1 ? (i < 0 ? -i : i) : i % period;
    m = m < 0 ? m + period : m;
    return m < n ? m : period - m;
  }
  i64 m = i >= -n && i < 2 * n ? (i < 0 ? -1 - i : i) : i % (2 * n);
  m = m < 0 ? m + 2 * n : m;
  return m < n ? m : 2 * n - 1 - m;
}
)";

int size_of_name(const std::string& type) {
  return type == "f64" || type == "i64" ? 8 : type.ends_with("32") ? 4 : type.ends_with("16") ? 2 : 1;
}
std::string opencl_name(const std::string& type) {
  static const std::map<std::string, std::string> names = {
      {"i8", "char"}, {"u8", "uchar"}, {"i16", "short"}, {"u16", "ushort"}, {"f16", "ushort"},
      {"i32", "int"}, {"u32", "uint"}, {"i64", "long"},  {"f32", "float"},  {"f64", "double"}};
  return names.at(type);
}

// Whole vectors of 2, 4, 8 or 16 neighbours between memory and scalars: "load_u8x8"; "take_f32x4" loads them from
// shared memory, "put_f32x4" stores them there, "look_f32x4" loads them from a table.
std::string vector_helper(const std::string& name, bool cuda) {
  const bool takes = name.starts_with("take_"), looks = name.starts_with("look_");
  const bool loads = takes || looks || name.starts_with("load_");
  const std::string type = name.substr(name.find('_') + 1, name.find('x') - name.find('_') - 1);
  const int lanes = std::stoi(name.substr(name.find('x') + 1));
  std::string list;
  for (int k = 0; k < lanes; ++k) list += fmt::format(", v{}", k);
  std::string body;
  if (!cuda) {
    const std::string vector = opencl_name(type) + std::to_string(lanes);
    if (loads) {
      const std::string from = takes   ? fmt::format("*(__local const {}*)(p)", vector)
                               : looks ? fmt::format("vload{}(0, p)", lanes)
                                       : fmt::format("TSR_LOAD({}, {}, p)", vector, lanes);
      body = fmt::format("const {} tsr_v = {}; {} tsr_unused; ", vector, from, type);
      for (int k = 0; k < lanes; ++k) body += fmt::format("v{0} = tsr_v.s{0:x}; ", k);
      body += "(void)tsr_unused; ";
    } else if (name.starts_with("put_")) {
      body = fmt::format("*(__local {0}*)(p) = ({0})({1}); ", vector, list.substr(2));
    } else {
      body = fmt::format("TSR_STORE({0}, {1}, ({0})({2}), p); ", vector, lanes, list.substr(2));
    }
    return fmt::format("#define tsr_{}(p{}) do {{ {}}} while (0)\n", name, list, body);
  }
  // As one word of 4, 8 or 16 bytes, or as several of 16.
  const int bytes = lanes * size_of_name(type), words = bytes > 16 ? bytes / 16 : 1;
  const int each = bytes / words;
  const std::string word = each == 16 ? "uint4" : each == 8 ? "uint2" : each == 4 ? "u32" : "u16";
  if (loads) {
    body = fmt::format("union {{ {0} w[{1}]; {2} e[{3}]; }} tsr_u; {2} tsr_unused; ", word, words, type, lanes);
    for (int k = 0; k < words; ++k) body += fmt::format("tsr_u.w[{0}] = ((const {1}*)(p))[{0}]; ", k, word);
    for (int k = 0; k < lanes; ++k) body += fmt::format("v{0} = tsr_u.e[{0}]; ", k);
    body += "(void)tsr_unused; ";
  } else {
    body = fmt::format("union {{ {0} w[{1}]; {2} e[{3}]; }} tsr_u; ", word, words, type, lanes);
    for (int k = 0; k < lanes; ++k) body += fmt::format("tsr_u.e[{0}] = v{0}; ", k);
    for (int k = 0; k < words; ++k) body += fmt::format("(({1}*)(p))[{0}] = tsr_u.w[{0}]; ", k, word);
  }
  return fmt::format("#define tsr_{}(p{}) do {{ {}}} while (0)\n", name, list, body);
}

// The same as words of 32 bits, lowest first: "load_words_u8x16".
std::string words_helper(const std::string& name, bool cuda) {
  const bool loads = name.starts_with("load_");
  const std::size_t begin = name.rfind('_') + 1;
  const std::string type = name.substr(begin, name.find('x') - begin);
  const int lanes = std::stoi(name.substr(name.find('x') + 1)), words = lanes * size_of_name(type) / 4;
  const std::string element = opencl_name(type) + std::to_string(lanes), count = words > 1 ? std::to_string(words) : "";
  const std::string whole = cuda ? (words > 1 ? "uint" + count : "u32") : "uint" + count;
  constexpr std::string_view fields = "xyzw";
  const auto part = [&](int k) { return words > 1 ? fmt::format("tsr_v.{}", fields[k]) : std::string("tsr_v"); };
  std::string list, body;
  for (int k = 0; k < words; ++k) list += fmt::format(", v{}", k);
  if (loads) {
    body = cuda ? fmt::format("const {0} tsr_v = *(const {0}*)(p); ", whole)
                : fmt::format("const {0} tsr_v = as_{0}(TSR_LOAD({1}, {2}, p)); ", whole, element, lanes);
    for (int k = 0; k < words; ++k) body += fmt::format("v{} = {}; ", k, part(k));
  } else {
    body = fmt::format("{} tsr_v; ", whole);
    for (int k = 0; k < words; ++k) body += fmt::format("{} = v{}; ", part(k), k);
    body += cuda ? fmt::format("*({}*)(p) = tsr_v; ", whole)
                 : fmt::format("TSR_STORE({0}, {1}, as_{0}(tsr_v), p); ", element, lanes);
  }
  return fmt::format("#define tsr_{}(p{}) do {{ {}}} while (0)\n", name, list, body);
}

class DevicePrinter : private Statements {
 public:
  DevicePrinter(const lower::DeviceProgram& program, DeviceDialect dialect, std::string_view linkage)
      : program_(program), cuda_(dialect == DeviceDialect::cuda), linkage_(linkage) {}

  DeviceText text_of() {
    check_tables(program_.module.tables);
    DeviceText result;
    for (std::size_t t = 0; t < program_.module.tables.size(); ++t) result.tables += table(t);
    std::set<std::string_view> printed;  // kernels of one name are one
    for (const lower::DeviceKernel& k : program_.kernels)
      if (printed.insert(k.name).second) result.kernels += kernel(k);
    result.needs = needs_;
    return result;
  }

 private:
  std::string table(std::size_t t) {
    const ir::Table& table = program_.module.tables[t];
    const Lane lane = ir::nest::lane_of(table.type);
    note({lane, 1, false});
    // What is no finite number is written in bits: its name is no constant of the language.
    const bool finite =
        std::all_of(table.values.begin(), table.values.end(), [](double v) { return std::isfinite(v); });
    const bool bits = !finite && lane != Lane::f16;
    const std::string name = fmt::format("tsr_table_{}", t);
    std::string out = fmt::format("/* {} */\nTSR_TABLE {} {}{}[] = {{", table.name,
                                  !bits               ? name_of(lane)
                                  : lane == Lane::f64 ? "u64"
                                                      : "u32",
                                  name, bits ? "_bits" : "");
    for (std::size_t k = 0; k < table.values.size(); ++k) {
      const double v = table.values[k];
      base::count_towards_deadline();
      out += k % 8 == 0 ? "\n  " : " ";
      out += (!bits               ? number(v, lane)
              : lane == Lane::f64 ? fmt::format("{:#x}", std::bit_cast<std::uint64_t>(v))
                                  : fmt::format("{:#x}", std::bit_cast<std::uint32_t>(static_cast<float>(v)))) +
             ",";
    }
    out += "\n};\n";
    if (bits)
      out += fmt::format("#define {0} ((const {1}{2}*){0}_bits)\n", name, cuda_ ? "" : "__constant ", name_of(lane));
    return out;
  }

  std::string kernel(const lower::DeviceKernel& kernel) {
    const ir::nest::Function& f = program_.module.functions[kernel.function];
    const std::size_t count = std::max<std::size_t>(kernel.integers.size(), 1);
    std::string out =
        fmt::format("\n/* {} */\ntypedef struct {{ i64 n[{}]; }} {}_integers;\n", f.essay, count, kernel.name);
    const int threads = kernel.threads_of_block();
    if (cuda_)
      out += fmt::format("{} __global__ void __launch_bounds__({}{}) {}(", linkage_, threads,
                         kernel.blocks_at_once > 0 ? fmt::format(", {}", kernel.blocks_at_once) : "", kernel.name);
    else
      out += fmt::format("__kernel __attribute__((reqd_work_group_size({}, {}, {}))) void {}(", kernel.threads[0],
                         kernel.threads[1], kernel.threads[2], kernel.name);
    for (std::size_t p = 0; p < kernel.arrays.size(); ++p)
      out += fmt::format("TSR_GLOBAL u8* {} p{}, ", cuda_ ? "__restrict__" : "restrict", p);
    out += fmt::format("{}_integers tsr_n) {{\n  const i64* const N = tsr_n.n;\n  (void)N;\n", kernel.name);
    const auto order = std::find_if(kernel.integers.begin(), kernel.integers.end(), [](const auto& what) {
      return what.kind == lower::DeviceKernel::Integer::Kind::order;
    });
    // (Half a microsecond, much for a block of a point a thread.)
    if (cuda_ && kernel.strips)
      out += order == kernel.integers.end() ? "  tsr_begin(0);\n"
                                            : fmt::format("  tsr_begin(N[{}]);\n", order - kernel.integers.begin());
    if (kernel.shared_bytes > 0)
      out += cuda_ ? fmt::format("  __shared__ __align__(16) u8 tsr_shared[{}];\n", kernel.shared_bytes)
                   : fmt::format("  __local u8 tsr_shared[{}] __attribute__((aligned(16)));\n", kernel.shared_bytes);
    statements(f.body, 1, out);
    return out + "}\n";
  }

  static std::string number(double v, Lane lane) {
    if (lane == Lane::f16) return fmt::format("{:#x}", static_cast<unsigned>(double_to_half(v)));
    if (!is_float(lane)) return fmt::format("{}{}", static_cast<i64>(v), lane == Lane::u32 ? "u" : "");
    const std::string name(name_of(lane));
    if (std::isnan(v)) return "tsr_nan_" + name;
    if (std::isinf(v)) return (v < 0 ? "-tsr_inf_" : "tsr_inf_") + name;
    if (lane == Lane::f32) v = static_cast<double>(static_cast<float>(v));  // as it is: compilers warn of roundings
    const std::string text = fmt::format("{:a}", v) + (lane == Lane::f64 ? "" : "f");
    return v < 0 || std::signbit(v) ? "(" + text + ")" : text;
  }

  void note(const Type& type) override { needs_.doubles |= type.lane == Lane::f64; }

  std::string spelled(const Type& type) const override {
    return (type.pointer ? "TSR_GLOBAL " : "") + spell({type.lane, 1, type.pointer});
  }

  void called(const std::string& name) override {
    const ir::nest::Support support = ir::nest::support_of(name);
    if (support == ir::nest::Support::vectors) needs_.vectors.insert(name.substr(std::string_view("tsr_").size()));
    needs_.matrices |= support == ir::nest::Support::matrices;
  }

  void store(const Statement& s, const std::string& indent, std::string& out) override {
    if (s.streaming && cuda_)
      out +=
          fmt::format("{}tsr_stream({} + {}, {});\n", indent, text(s.values[0]), text(s.values[1]), text(s.values[2]));
    else
      out += fmt::format("{}{}[{}] = {};\n", indent, text(s.values[0]), text(s.values[1]), text(s.values[2]));
  }

  std::string list(const std::vector<Value>& values) {
    std::string out;
    for (std::size_t k = 0; k < values.size(); ++k) out += (k ? ", " : "") + text(values[k]);
    return out;
  }

  std::string text(const Value& v) override {
    note(v->type);
    switch (v->kind) {
      case Kind::variable:
        return v->name;
      case Kind::integer:
        if (v->type.lane == Lane::i64)
          return v->i < -1000000000 || v->i > 1000000000 ? fmt::format("{}{}", v->i, cuda_ ? "LL" : "L")
                                                         : fmt::format("{}", v->i);
        if (v->type.lane == Lane::i32 && v->i == -2147483648LL) return "(-2147483647 - 1)";
        return v->i < 0 ? fmt::format("({})", v->i) : fmt::format("{}{}", v->i, v->type.lane == Lane::u32 ? "u" : "");
      case Kind::real:
        return number(v->f, v->type.lane);
      case Kind::broadcast:
        return text(v->args[0]);
      case Kind::convert:
        return conversion(*v);
      case Kind::load:
      case Kind::gather:
        return fmt::format("{}[{}]", text(v->args[0]), text(v->args[1]));
      case Kind::address:
        return fmt::format("({} + ({}))", text(v->args[0]), text(v->args[1]));
      case Kind::call:
        return fmt::format("{}({})", v->name, list(v->args));
      case Kind::fused:
        return fmt::format("fma({})", list(v->args));
      case Kind::operation:
        return operation(*v);
      case Kind::interleave:
      case Kind::iota:
        break;
    }
    throw Error(ErrorClass::internal, "a kernel has no vectors");
  }

  std::string conversion(const Node& n) {
    const Type& from = n.args[0]->type;
    std::string v = text(n.args[0]);
    if (n.type.pointer) return fmt::format("(({}){})", spelled(n.type), v);
    if (from.lane == Lane::f16) v = fmt::format("tsr_from_half({})", v);
    if (n.type.lane != Lane::f16)
      return n.type.lane == Lane::f32 && from.lane == Lane::f16 ? v : fmt::format("(({})({}))", spelled(n.type), v);
    return from.lane == Lane::f64 ? fmt::format("tsr_half_f64({})", v) : fmt::format("tsr_half_f32((f32)({}))", v);
  }

  // The instruction gives the number for a NaN and a number. Of two zeros it may give either, which min and max do not.
  std::string extreme(const Node& n, bool lesser, const std::vector<std::string>& a) {
    const Lane lane = n.type.lane;
    if (lane == Lane::i64) return fmt::format("tsr_{}({}, {})", lesser ? "min" : "max", a[0], a[1]);
    if (!is_float(lane) || lane == Lane::f16)
      return fmt::format("({0} {2} {1} ? {0} : {1})", a[0], a[1], lesser ? "<" : ">");
    const bool open = n.op == Op::least || n.op == Op::most ||
                      (n.args[1]->kind == Kind::real && n.args[1]->f == n.args[1]->f && n.args[1]->f != 0);
    if (open)
      return fmt::format("{}{}({}, {})", lesser ? "fmin" : "fmax", cuda_ && lane == Lane::f32 ? "f" : "", a[0], a[1]);
    return fmt::format("tsr_{}_{}({}, {})", lesser ? "min" : "max", name_of(lane), a[0], a[1]);
  }

  std::string operation(const Node& n) {
    std::vector<std::string> a;
    for (const Value& arg : n.args) a.push_back(text(arg));
    const Lane lane = n.type.lane;
    const bool real = is_float(lane);
    if (compares(n.op) && n.args[0]->type.lane == Lane::f16)  // halves are kept as bits
      for (std::string& operand : a) operand = fmt::format("tsr_from_half({})", operand);
    if (compares(n.op)) return fmt::format("(-({} {} {}))", a[0], infix(n.op), a[1]);
    if (n.op == Op::select) return fmt::format("({} ? {} : {})", a[0], a[1], a[2]);
    const bool lesser = n.op == Op::min || n.op == Op::least;
    if (lesser || n.op == Op::max || n.op == Op::most) return extreme(n, lesser, a);
    if (n.op == Op::abs && real) return fmt::format("tsr_magnitude_{}({})", name_of(lane), a[0]);
    if (ir::is_function(n.op)) {
      const ElementType type = lane == Lane::f64 ? ElementType::f64 : ElementType::f32;
      needs_.functions.insert({n.op, type, 1});
      return fmt::format("{}({})", ir::function_name(n.op, type), list(n.args));
    }
    const std::string name = spelled(n.type);
    if (real || lane == Lane::i64) {
      if (n.op == Op::neg) return fmt::format("(-{})", a[0]);
      if (n.op == Op::bit_not) return fmt::format("(~{})", a[0]);
      return fmt::format("({} {} {})", a[0], infix(n.op), a[1]);
    }
    // C computes narrow integers in int; what overflows is defined for unsigned ones alone.
    if (n.op == Op::neg) return fmt::format("(({})tsr_negative((u32){}))", name, a[0]);
    if (n.op == Op::bit_not) return fmt::format("(({})(~{}))", name, a[0]);
    if (n.op == Op::shl) return fmt::format("(({})((u32){} << {}))", name, a[0], a[1]);
    if (wraps(n.op)) return fmt::format("(({})((u32){} {} (u32){}))", name, a[0], infix(n.op), a[1]);
    return fmt::format("(({})({} {} {}))", name, a[0], infix(n.op), a[1]);
  }

  const lower::DeviceProgram& program_;
  bool cuda_;
  std::string_view linkage_;
  DeviceNeeds needs_;
};

}  // namespace

namespace {

// Of a NaN and a number the number. In `exact` numbers -0 is less than 0; `fast` ones leave zeros open.
std::string extremes(bool cuda, bool exact, bool doubles) {
  std::string text;
  for (const bool single : {true, false})
    for (const bool lesser : {true, false}) {
      if (!single && !doubles) continue;
      const std::string call = fmt::format("f{}{}(a, b)", lesser ? "min" : "max", single && cuda ? "f" : "");
      const std::string type = single ? "f32" : "f64", name = fmt::format("tsr_{}_{}", lesser ? "min" : "max", type);
      if (!exact) {
        text += fmt::format("#define {}(a, b) {}\n", name, call);
        continue;
      }
      const char* const bits = cuda     ? (single ? "__float_as_int" : "__double_as_longlong")
                               : single ? "as_int"
                                        : "as_long";
      const char* const real = cuda     ? (single ? "__int_as_float" : "__longlong_as_double")
                               : single ? "as_float"
                                        : "as_double";
      text += fmt::format("TSR_INLINE {0} {1}({0} a, {0} b) {{\n  return a == b ? {2}({3}(a) {4} {3}(b)) : {5};\n}}\n",
                          type, name, real, bits, lesser ? "|" : "&", call);
    }
  return text;
}

}  // namespace

DeviceText device_text(const lower::DeviceProgram& program, DeviceDialect dialect, std::string_view linkage) {
  return DevicePrinter(program, dialect, linkage).text_of();
}

std::string device_prelude(const DeviceNeeds& needs, DeviceDialect dialect, bool exact) {
  const bool cuda = dialect == DeviceDialect::cuda;
  std::string text = !cuda && exact ? "#pragma OPENCL FP_CONTRACT OFF\n" : "";
  // The NaN of devices is another one than that of cores.
  text += exact ? "#define tsr_half_of(x, h) ((x) == (x) ? (h) : (f16)0x7e00)\n" : "#define tsr_half_of(x, h) (h)\n";
  text += cuda ? cuda_text : opencl_text;
  if (!cuda && needs.doubles) text += opencl_doubles;
  text += common_text;
  text += extremes(cuda, exact, needs.doubles);
  const std::vector<ir::FunctionUse> uses(needs.functions.begin(), needs.functions.end());
  if (!uses.empty()) text += ir::functions_source(cuda ? ir::FunctionDialect::cuda : ir::FunctionDialect::opencl, uses);
  for (const std::string& name : needs.vectors)
    text += name.find("_words_") != std::string::npos ? words_helper(name, cuda) : vector_helper(name, cuda);
  if (needs.matrices) text += matrix_text();
  return text;
}

std::string print_device(const lower::DeviceProgram& program, DeviceDialect dialect, bool exact) {
  const DeviceText text = device_text(program, dialect);
  return device_prelude(text.needs, dialect, exact) + text.tables + text.kernels;
}

}  // namespace tessera::emit
