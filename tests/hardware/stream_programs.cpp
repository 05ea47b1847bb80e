#include "stream_programs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>

#include "ir/build.hpp"
#include "lang/compile.hpp"
#include "ref/interpreter.hpp"

namespace tessera::hardware {

ir::Graph graph_of(const std::string& text) {
  lang::CompileInput input;
  input.text = text;
  return lang::compile(input).graph;
}

namespace {

class Writer {
 public:
  explicit Writer(std::uint64_t seed) : random_(seed) {}

  std::string program() {
    const char* types[] = {"uint8", "int16", "uint16", "int32", "uint8"};
    const int stages = 1 + pick(5);
    text_ = "";
    std::vector<std::string> kinds;
    const int inputs = 1 + pick(2);
    for (int k = 0; k < inputs; ++k) kinds.push_back(types[pick(5)]);
    std::string calls;
    for (int s = 0; s < stages; ++s) {
      const std::string type = types[pick(5)];
      const int reads = 1 + pick(2);
      std::string arguments, call;
      std::vector<std::string> names;
      for (int r = 0; r < reads; ++r) {
        const int from = pick(static_cast<int>(kinds.size()));
        arguments += fmt::format("{}vector#2 {} x{}", r == 0 ? "" : ", ", kinds[static_cast<std::size_t>(from)], r);
        call += fmt::format("{}{}{}", r == 0 ? "" : ", ",
                            from < inputs ? fmt::format("in{}", from) : fmt::format("s{}", from - inputs), border());
        names.push_back(fmt::format("x{}", r));
      }
      text_ += fmt::format("stencil f{}({}) {{ return cast<{}>({}); }}\n", s, arguments, type, expression(names, 3));
      calls += fmt::format("s{} = f{}({});\n", s, s, call);
      kinds.push_back(type);
    }
    std::string all = text_ + "parameter M, N;\n";
    for (int k = 0; k < inputs; ++k)
      all += fmt::format("vector#2 {} in{}[M, N];\n", kinds[static_cast<std::size_t>(k)], k);
    all += calls;
    all += stages > 1 && pick(2) == 0 ? fmt::format("return a = s{}, b = s{};\n", stages - 1, pick(stages - 1))
                                      : fmt::format("return s{};\n", stages - 1);
    return all;
  }

 private:
  int pick(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }

  std::string border() {
    switch (pick(8)) {
      case 0:
        return "";
      case 1:
        return fmt::format(":constant({})", pick(20));
      case 5:
        return fmt::format(":[constant({}),constant({})]", pick(20), 20 + pick(20));
      case 2:
        return ":mirror";
      case 3:
        return ":symmetric";
      case 4:
        return ":[mirror,clamped]";
      default:
        return ":clamped";
    }
  }

  std::string leaf(const std::vector<std::string>& names) {
    const std::string& name = names[static_cast<std::size_t>(pick(static_cast<int>(names.size())))];
    const int far = pick(6) == 0 ? 4 : 1;
    switch (pick(8)) {
      case 0:
        return fmt::format("{}", pick(9) - 3);
      case 1:
        return fmt::format("coord({})", pick(2));
      case 2:
        return fmt::format("sum(i = -1..1, j = -1..1) ({}@[i,j])", name);
      case 3:
        return fmt::format("{}(i = -1..1) ({}@[{}])", pick(2) == 0 ? "max" : "min", name, pick(2) == 0 ? "0,i" : "i,0");
      default:
        return fmt::format("{}@[{},{}]", name, pick(2 * far + 1) - far, pick(2 * far + 1) - far);
    }
  }

  std::string expression(const std::vector<std::string>& names, int depth) {
    if (depth == 0 || pick(5) == 0) return leaf(names);
    const auto part = [&] { return expression(names, depth - 1); };
    const auto two = [&](const char* form) {
      const std::string a = part(), b = part();
      return fmt::format(fmt::runtime(form), a, b);
    };
    switch (pick(18)) {
      case 0:
      case 1:
      case 2:
        return two("({} + {})");
      case 3:
      case 4:
        return two("({} - {})");
      case 5:
        return two("({} * {})");
      case 6:
        return fmt::format("({} * {})", part(), pick(300) - 100);
      case 7:
        return fmt::format("({} / {})", part(), pick(30) - 10);
      case 8:
        return two("({} / {})");
      case 9:
        return fmt::format("({} % {})", part(), pick(12));
      case 10:
        return two("min({}, {})");
      case 11:
        return two("max({}, {})");
      case 12:
        return two("({0} < {1} ? {1} : {0} + 1)");
      case 13:
        return fmt::format("abs({})", part());
      case 14:
        return two("({} & {})");
      case 15:
        return two("xor({}, {})");
      case 16:
        return fmt::format("({} {} {})", part(), pick(2) == 0 ? "<<" : ">>", pick(2) == 0 ? "3" : part());
      default:
        return fmt::format("saturate<uint8>({})", part());
    }
  }

  std::mt19937_64 random_;
  std::string text_;
};

// Images of one type, which stand for those of rates. A rate is how many points of the first input one of it is for.
class RatedWriter {
 public:
  explicit RatedWriter(std::uint64_t seed) : random_(seed) {}

  std::string program() {
    const char* types[] = {"uint8", "int16", "int32"};
    type_ = types[pick(3)];
    const int inputs = 1 + pick(2);
    for (int k = 0; k < inputs; ++k) images_.push_back({fmt::format("in{}", k), {1, 1}, {1, 1}});
    const int steps = 1 + pick(5);
    for (int k = 0; k < steps; ++k) step(k);
    std::string all = functions_ + "parameter M, N;\n";
    const char* extents = pick(3) == 0 ? "[2*M, 4*N]" : "[M, N]";
    for (int k = 0; k < inputs; ++k) all += fmt::format("vector#2 {} in{}{};\n", type_, k, extents);
    all += calls_;
    const std::string last = images_.back().name;
    const std::string other = images_[static_cast<std::size_t>(pick(static_cast<int>(images_.size())))].name;
    return all + (pick(2) == 0 && other != last ? fmt::format("return a = {}, b = {};\n", last, other)
                                                : fmt::format("return {};\n", last));
  }

 private:
  struct Rate {
    int over, under;
    bool operator==(const Rate&) const = default;
    Rate times(int o, int u) const {
      const int g = std::gcd(over * o, under * u);
      return {over * o / g, under * u / g};
    }
  };
  struct Image {
    std::string name;
    Rate rows, columns;
  };

  int pick(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
  const Image& any() { return images_[static_cast<std::size_t>(pick(static_cast<int>(images_.size())))]; }
  // One whose points stand where those of `a` do.
  const Image& beside(const Image& a) {
    for (int tries = 0; tries < 8; ++tries) {
      const Image& b = any();
      if (b.rows == a.rows && b.columns == a.columns) return b;
    }
    return a;
  }
  int stride() { return pick(4) == 0 ? (pick(3) == 0 ? 3 : 4) : 2; }

  std::string border() {
    const char* all[] = {"",
                         ":clamped",
                         ":mirror",
                         ":symmetric",
                         ":constant(5)",
                         ":[clamped,wrap]",
                         ":[mirror,wrap]",
                         ":[constant(9),constant(40)]"};
    return all[pick(8)];
  }

  void enter(const std::string& name, const std::string& value, Rate rows, Rate columns) {
    calls_ += fmt::format("{} = {};\n", name, value);
    images_.push_back({name, rows, columns});
  }

  void step(int k) {
    const Image a = any();
    const std::string name = fmt::format("s{}", k);
    const int down = pick(2) == 0 ? stride() : 1, across = down == 1 || pick(2) == 0 ? stride() : 1;
    switch (pick(9)) {
      case 0:
        if (a.rows.over * down > 12 || a.columns.over * across > 12) return point(k, a);
        return enter(name, fmt::format("{}@[({},{}),({},{})]", a.name, pick(4) - 1, down, pick(4) - 1, across),
                     a.rows.times(down, 1), a.columns.times(across, 1));
      case 1:
      case 2:
        return strided(k, a, down, across);
      case 3:
        if (a.rows.under * down > 4 || a.columns.under * across > 4) return point(k, a);
        calls_ +=
            fmt::format("{}@[({},{}),({},{})] = {};\n", name, pick(down + 1), down, pick(across + 1), across, a.name);
        images_.push_back({name, a.rows.times(1, down), a.columns.times(1, across)});
        return;
      case 4:
      case 5:
        return interleaved(k, a);
      case 6:
        calls_ += fmt::format("{}[{}..,{}..] = {};\n", name, pick(3), pick(4), a.name);
        images_.push_back({name, a.rows, a.columns});
        return;
      case 7:
        return enter(name, fmt::format("{}[{}..,{}..]", a.name, pick(2), pick(3)), a.rows, a.columns);
      default:
        return point(k, a);
    }
  }

  void point(int k, const Image& a) {
    const Image b = beside(a);
    functions_ += fmt::format(
        "stencil f{0}(vector#2 {1} x, vector#2 {1} y) {{ return cast<{1}>(x@[{2},{3}] * {4} + y@[{5},{6}] - y{7}{8}); "
        "}}\n",
        k, type_, pick(3) - 1, pick(7) - 3, 1 + pick(5), pick(5) - 2, pick(3) - 1,
        pick(3) == 0 ? " + coord(0) * 3 + coord(1)" : "",
        pick(3) == 0 ? " + x@[1,0] * y + x@[0,-1] * (y + x * x)" : "");
    enter(fmt::format("s{}", k), fmt::format("f{}({}{}, {}{})", k, a.name, border(), b.name, border()), a.rows,
          a.columns);
  }

  void strided(int k, const Image& a, int down, int across) {
    if (a.rows.over * down > 12 || a.columns.over * across > 12) return point(k, a);
    functions_ += fmt::format(
        "stencil f{0}(vector#2 {1} x) {{ return cast<{1}>(sum(i = -1..1, j = -{2}..1) ((2 - i + j) * "
        "x@[(i,{3}),(j,{4})]) "
        "- x@[({5},{3}),({6},{4})]{7}); }}\n",
        k, type_, pick(3), down, across, pick(4) - 1, pick(4) - 1,
        pick(2) == 0 ? fmt::format(" + x@[({0},{1}),(0,{2})] * x@[(0,{1}),({0},{2})]", pick(3), down, across) : "");
    enter(fmt::format("s{}", k), fmt::format("f{}({}{})", k, a.name, border()), a.rows.times(down, 1),
          a.columns.times(across, 1));
  }

  void interleaved(int k, const Image& a) {
    const Image b = beside(a);
    const bool rows = pick(2) == 0, filled = pick(4) == 0;
    if ((rows ? a.rows : a.columns).under > 2) return point(k, a);
    const char* first = rows ? "(0,2),(0,1)" : "(0,1),(0,2)";
    const char* second = rows ? "(1,2),(0,1)" : "(0,1),(1,2)";
    enter(fmt::format("s{}", k),
          filled ? fmt::format("( [..,..] = 7; @[{}] = {}; )", second, a.name)
                 : fmt::format("( @[{}] = {}; @[{}] = {}; )", first, a.name, second, b.name),
          rows ? a.rows.times(1, 2) : a.rows, rows ? a.columns : a.columns.times(1, 2));
  }

  std::mt19937_64 random_;
  std::string type_, functions_, calls_;
  std::vector<Image> images_;
};

class FloatWriter {
 public:
  FloatWriter(std::uint64_t seed, std::string type, bool bounded)
      : random_(seed), type_(std::move(type)), bounded_(bounded) {}

  std::string program() {
    const int stages = 1 + pick(3);
    std::string text, calls;
    for (int s = 0; s < stages; ++s) {
      const std::string result = bounded_ || pick(3) > 0 ? type_ : pick(2) == 0 ? "uint8" : "int16";
      const std::string body = expression(3);
      const std::string kept =
          result == type_ ? fmt::format("cast<{}>({})", type_, body) : fmt::format("saturate<{}>({})", result, body);
      text += fmt::format("stencil f{0}(vector#2 {1} x) {{ return {2}; }}\n", s, kind_, kept);
      calls += fmt::format("s{0} = f{0}({1}{2});\n", s, s == 0 ? "in0" : fmt::format("s{}", s - 1), border());
      kind_ = result;
    }
    return fmt::format("{}parameter M, N;\nvector#2 {} in0[M, N];\n{}return s{};\n", text, first_, calls, stages - 1);
  }

 private:
  int pick(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }

  std::string border() {
    // Constants are values of the image's type.
    const char* one = kind_ == type_ ? ":constant(3.5)" : ":constant(3)";
    const char* two = kind_ == type_     ? ":[constant(-2.5),constant(7)]"
                      : kind_ == "uint8" ? ":[constant(2),constant(7)]"
                                         : ":[constant(-2),constant(7)]";
    const char* all[] = {":clamped", ":mirror", ":symmetric", one, "", two};
    return all[pick(6)];
  }

  std::string leaf() {
    if (pick(5) == 0) return fmt::format("{}", 0.37 * (pick(21) - 10));
    if (pick(8) == 0) return fmt::format("sum(i = -1..1) (x@[i,{}] * 0.3)", pick(3) - 1);
    return fmt::format("x@[{},{}]", pick(3) - 1, pick(3) - 1);
  }

  std::string expression(int depth) {
    if (depth == 0 || pick(6) == 0) return leaf();
    const std::string a = expression(depth - 1);
    const char* one[] = {"exp(min({0}, 2))",
                         "sqrt(max({0}, 0))",
                         "log(max({0}, 0.5))",
                         "sin({0})",
                         "cos({0} * 0.1)",
                         "atan({0})",
                         "tanh({0} / 64)",
                         "fabs({0})",
                         "pow(max({0}, 0), 0.45)",
                         "cbrt({0})",
                         "asin(min(max({0} / 99, -1), 1))",
                         "-({0})"};
    const char* two[] = {"({0} + {1})",   "({0} - {1})",   "({0} * {1})",
                         "min({0}, {1})", "max({0}, {1})", "({0} / max(fabs({1}), 1))"};
    const char* any[] = {"log({0})",
                         "({0} / {1})",
                         "fmod({0}, {1})",
                         "pow({0}, {1})",
                         "atan2({0}, {1})",
                         "floor({0})",
                         "cast<uint8>({0})",
                         "saturate<int16>({0})",
                         "({0} < {1} ? {0} : {1} + 1)",
                         "acos({0})",
                         "tan({0})",
                         "cast<float>(coord(1)) * {0}"};
    switch (pick(bounded_ ? 2 : 3)) {
      case 0:
        return fmt::format(fmt::runtime(one[pick(12)]), a);
      case 1:
        return fmt::format(fmt::runtime(two[pick(6)]), a, expression(depth - 1));
      default:
        return fmt::format(fmt::runtime(any[pick(12)]), a, expression(depth - 1));
    }
  }

  std::mt19937_64 random_;
  std::string type_;
  bool bounded_;
  std::string first_ = type_, kind_ = type_;
};

// Mostly small numbers, now and then one of those that are none or the largest.
double random_float(std::mt19937_64& random) {
  const double special[] = {0.0, -0.0, HUGE_VAL, -HUGE_VAL, NAN, 1e-42, 3e38, -1.0};
  if (random() % 40 == 0) return special[random() % 8];
  return static_cast<double>(random() % 65536) / 256 - 64;
}

Array array_of(const std::vector<i64>& frame, ElementType type, const Shape& shape) {
  Array a(type, shape);
  std::byte* at = static_cast<std::byte*>(a.data());
  for (std::size_t k = 0; k < frame.size(); ++k) std::memcpy(at + k * size_of(type), &frame[k], size_of(type));
  return a;
}

i64 element(const Array& a, std::size_t k) {
  const std::byte* at = static_cast<const std::byte*>(a.data()) + k * size_of(a.format().scalar);
  std::uint64_t bits = 0;
  std::memcpy(&bits, at, size_of(a.format().scalar));
  const ElementType type = a.format().scalar;
  if (is_float(type)) return wrap({false, static_cast<int>(size_of(type)) * 8}, static_cast<__int128>(bits));
  const auto limits = ir::integer_limits(type);
  return wrap(bits_of(limits.lo, limits.hi), static_cast<__int128>(bits));
}

}  // namespace

const std::string program_of_taken_names =
    "table int reg[4] = {3, -1, 40, 7};\n"
    "stencil clk(vector#2 uint8 wire, vector#2 uint8 tick, int first, int x) {\n"
    "  return cast<int16>(wire@[-1,0] * first + tick@[0,1] * x + reg[tick % 4]);\n}\n"
    "stencil en(vector#2 int16 n, int rst) { return cast<int16>(n@[1,0] - n@[0,-1] + rst); }\n"
    "parameter height, width;\nvector#2 uint8 x[height, width];\nvector#2 uint8 x_ticks[height, width];\n"
    "int first;\nint y;\nint clk_value;\nint rst;\nint short;\nint ap_uint;\n"
    "module = clk(x:clamped, x_ticks:mirror, first, y);\n"
    "return take = en(module:clamped, rst), en_ticks = en(module:clamped, short * 2 + ap_uint - clk_value),\n"
    "       frames = en(module:mirror, rst);\n";

std::uint64_t cases_or(std::uint64_t usual) {
  const char* given = std::getenv("TESSERA_CASES");
  return given == nullptr ? usual : std::strtoull(given, nullptr, 10);
}

std::string random_program(std::uint64_t seed) {
  return Writer(seed).program();
}

std::string random_float_program(std::uint64_t seed, const std::string& type, bool bounded) {
  return FloatWriter(seed, type, bounded).program();
}

std::string random_rated_program(std::uint64_t seed) {
  return RatedWriter(seed).program();
}

namespace {

// Parameters with which the first input has those extents: the first one counts rows, the second columns.
std::optional<std::vector<i64>> parameters_for(const ir::Graph& graph, const Shape& extents) {
  const ir::Argument& first =
      *std::find_if(graph.arguments.begin(), graph.arguments.end(), [](const ir::Argument& a) { return a.is_array; });
  std::vector<i64> all(graph.parameters.size(), 1);
  for (std::size_t d = 0; d < first.extents.size(); ++d) {
    const i64 wanted = extents[extents.size() - first.extents.size() + d];
    while (d < all.size() && graph.evaluate(first.extents[d], all) < wanted) ++all[d];
    if (graph.evaluate(first.extents[d], all) != wanted) return {};
  }
  for (ir::StageId s = 0; s < graph.stage_count(); ++s)
    for (const ir::SizeId n : graph.stage(s).domain)
      if (graph.evaluate(n, all) < 1) return {};
  return all;
}

}  // namespace

std::optional<Frameset> interpreted_if(const ir::Graph& graph, i64 height, i64 width, int frames, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto parameters = parameters_for(graph, {height, width});
  if (!parameters) return {};
  Frameset set;
  std::vector<Shape> shapes;
  for (const ir::Argument& a : graph.arguments) {
    Shape& shape = shapes.emplace_back();
    i64 points = 1;
    for (const ir::SizeId n : a.extents) shape.push_back(graph.evaluate(n, *parameters)), points *= shape.back();
    const auto limits = ir::integer_limits(a.format.scalar);
    const Bits bits = bits_of(limits.lo, limits.hi);
    Frames& all = set.inputs.emplace_back();
    for (int f = 0; f < frames; ++f) {
      std::vector<i64>& frame = all.emplace_back();
      for (i64 k = 0; k < points; ++k)
        frame.push_back(is_float(a.format.scalar) ? pattern_of(random_float(random), a.format.scalar)
                        : random() % 8 == 0       ? (random() % 2 == 0 ? least_of(bits) : most_of(bits))
                                                  : wrap(bits, static_cast<__int128>(random())));
    }
  }
  set.results.resize(graph.outputs.size());
  for (std::size_t f = 0; f < static_cast<std::size_t>(frames); ++f) {
    std::vector<Array> arguments;
    for (std::size_t a = 0; a < graph.arguments.size(); ++a) {
      arguments.push_back(array_of(set.inputs[a][f], graph.arguments[a].format.scalar, shapes[a]));
    }
    const std::vector<Array> results = ref::interpret(graph, *parameters, arguments);
    for (std::size_t r = 0; r < results.size(); ++r) {
      std::vector<i64>& frame = set.results[r].emplace_back();
      const Shape& shape = results[r].shape();
      const i64 points = std::accumulate(shape.begin(), shape.end(), i64{1}, std::multiplies<>());
      for (i64 k = 0; k < points; ++k) frame.push_back(element(results[r], static_cast<std::size_t>(k)));
    }
  }
  return set;
}

Frameset interpreted(const ir::Graph& graph, i64 height, i64 width, int frames, std::uint64_t seed) {
  return interpreted_if(graph, height, width, frames, seed).value();
}

}  // namespace tessera::hardware
