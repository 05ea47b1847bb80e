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

namespace detail {
extern const std::string_view device_prelude_text;
extern const std::string_view device_prelude_opencl_doubles_text;
extern const std::string_view device_prelude_opencl_text;
extern const std::string_view device_prelude_cuda_text;
}  // namespace detail

using ir::Op;
using ir::nest::Kind;
using ir::nest::Lane;
using ir::nest::Node;
using ir::nest::Statement;
using ir::nest::Type;
using ir::nest::Value;

namespace {

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
  text += cuda ? detail::device_prelude_cuda_text : detail::device_prelude_opencl_text;
  if (!cuda && needs.doubles) text += detail::device_prelude_opencl_doubles_text;
  text += detail::device_prelude_text;
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
