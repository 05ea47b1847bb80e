// Reading the text form: one line at a time, recursive descent inside a line, with the grammar of text.hpp.
//
// Nodes are made as they are written, without folding, so that a broken graph can be written down too: verify judges
// it.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "ir/build.hpp"
#include "ir/text/text.hpp"
#include "ir/text/text_reader.hpp"

namespace tessera::ir {
namespace {

constexpr int kDeepest = 200;

class Parser : text::Reader {
 public:
  explicit Parser(std::string_view text) : Reader("stage graph", text) {}

  Graph run() {
    while (next_line()) {
      item();
      end_of_line();
    }
    return std::move(g_);
  }

 private:
  // ---- words

  void expect_dots() {
    expect('.');
    expect('.');
  }
  double number() {
    skip();
    double v = 0;
    const auto [end, error] = std::from_chars(line_.data() + at_, line_.data() + line_.size(), v);
    if (error == std::errc::invalid_argument) fail("a number");
    if (error != std::errc()) fail("a number that a double holds");
    at_ = static_cast<std::size_t>(end - line_.data());
    return v;
  }
  std::uint32_t reference(char kind) {
    skip();
    if (at_ >= line_.size() || line_[at_] != kind) fail(std::string("'") + kind + "' and a number");
    ++at_;
    const i64 v = integer();
    if (v < 0 || v > 0x7fffffff) fail("a number below 2^31");
    return static_cast<std::uint32_t>(v);
  }
  std::optional<ElementType> type_named(std::string_view name) const {
    for (int i = 0; i <= static_cast<int>(ElementType::f64); ++i)
      if (tessera::name_of(static_cast<ElementType>(i)) == name) return static_cast<ElementType>(i);
    return std::nullopt;
  }
  ElementType type() {
    skip();
    const std::size_t begin = at_;
    const auto t = type_named(word());
    if (t) return *t;
    at_ = begin;
    fail("a type");
  }

  // ---- extents: sum := product { (+|-) product }, product := atom { (* atom | / INT) }

  SizeId size(int depth = 0) {
    SizeId a = size_product(depth);
    for (;;) {
      if (accept('+'))
        a = g_.size_binary(SizeOp::add, a, size_product(depth));
      else if (accept('-'))
        a = g_.size_binary(SizeOp::sub, a, size_product(depth));
      else
        return a;
    }
  }
  SizeId size_product(int depth) {
    SizeId a = size_atom(depth);
    for (;;) {
      if (accept('*'))
        a = g_.size_binary(SizeOp::mul, a, size_atom(depth));
      else if (accept('/'))
        a = g_.size_floor_div(a, integer());
      else
        return a;
    }
  }
  SizeId size_atom(int depth) {
    if (depth > kDeepest) fail("less nesting");
    if (accept('(')) {
      const SizeId s = size(depth + 1);
      expect(')');
      return s;
    }
    if (peek('$')) return known_parameter(reference('$'));
    skip();
    if (at_ < line_.size() && (line_[at_] == '-' || (line_[at_] >= '0' && line_[at_] <= '9')))
      return g_.size(integer());
    const std::size_t begin = at_;
    const std::string_view name = word();
    if (name == "min" || name == "max") {
      expect('(');
      const SizeId a = size(depth + 1);
      expect(',');
      const SizeId b = size(depth + 1);
      expect(')');
      return g_.size_binary(name == "min" ? SizeOp::min : SizeOp::max, a, b);
    }
    for (std::size_t i = 0; i < g_.parameters.size(); ++i)
      if (g_.parameters[i] == name && text::plain_parameter(g_, i))
        return g_.size_parameter(static_cast<std::uint32_t>(i));
    at_ = begin;
    if (!name.empty() && name[0] == 'z') {
      const std::uint32_t line = reference('z');
      if (line < size_lines_.size()) return size_lines_[line];
      at_ = begin;
    }
    fail("an extent");
  }
  SizeId known_parameter(std::uint32_t p) {
    if (p >= g_.parameters.size()) fail("the number of a parameter");
    return g_.size_parameter(p);
  }

  template <class Fn>
  void list(Fn&& element) {
    expect('[');
    if (accept(']')) return;
    do element();
    while (accept(','));
    expect(']');
  }
  std::vector<SizeId> sizes() {
    std::vector<SizeId> v;
    list([&] { v.push_back(size()); });
    return v;
  }
  std::vector<i64> integers() {
    std::vector<i64> v;
    list([&] { v.push_back(integer()); });
    return v;
  }

  Format format() {
    if (!accept_word("struct")) return type();
    Format f;
    f.struct_name = string();
    expect('{');
    do {
      Format::Field field;
      field.name = string();
      field.type = type();
      const i64 offset = integer();
      if (offset < 0) fail("an offset that is not negative");
      field.offset = static_cast<std::size_t>(offset);
      f.fields.push_back(std::move(field));
    } while (accept(','));
    expect('}');
    return f;
  }

  // ---- lines

  void numbered(char kind, std::size_t count) {
    if (reference(kind) != count) fail(fmt::format("'{}{}', the next in order", kind, count));
    expect('=');
  }

  void item() {
    if (peek('$')) {
      numbered('$', expr_lines_.size());
      expr_lines_.push_back(expression());
      return;
    }
    if (accept_word("parameter")) return g_.parameters.push_back(string());
    if (accept_word("piece")) return piece();
    if (accept_word("span")) return span();
    if (accept_word("require")) return requirement();
    if (accept_word("output")) return output();
    if (peek('a')) return argument();
    if (peek('t')) return table();
    if (peek('l')) return loop();
    if (peek('s')) return stage();
    if (peek('z')) {
      numbered('z', size_lines_.size());
      size_lines_.push_back(size());
      return;
    }
    fail("an item");
  }

  // require extent (= | <=) extent "what"
  void requirement() {
    Requirement r;
    r.a = size();
    r.at_most = accept('<');
    expect('=');
    r.b = size();
    r.what = string();
    g_.requirements.push_back(std::move(r));
  }

  void argument() {
    numbered('a', g_.arguments.size());
    Argument a;
    a.is_array = accept_word("array");
    if (!a.is_array && !accept_word("scalar")) fail("'array' or 'scalar'");
    a.name = string();
    a.format = format();
    if (a.is_array) a.extents = sizes();
    g_.arguments.push_back(std::move(a));
    last_ = Last::argument;
  }

  void table() {
    numbered('t', g_.tables.size());
    if (!accept_word("table")) fail("'table'");
    Table t;
    t.name = string();
    t.type = type();
    t.extents = integers();
    expect(':');
    for (skip(); at_ < line_.size(); skip()) {
      const double v = number();
      t.values.push_back(t.type == ElementType::f32 ? static_cast<double>(static_cast<float>(v)) : v);
    }
    g_.tables.push_back(std::move(t));
  }

  void stage() {
    numbered('s', g_.stage_count());
    Stage s;
    if (accept_word("input"))
      s.kind = StageKind::input;
    else if (accept_word("compose"))
      s.kind = StageKind::compose;
    else if (accept_word("fourier"))
      s.kind = StageKind::fourier;
    else if (accept_word("carried"))
      s.kind = StageKind::carried;
    else if (accept_word("last"))
      s.kind = StageKind::last;
    else if (!accept_word("point"))
      fail("'input', 'point', 'compose', 'fourier', 'carried' or 'last'");
    s.name = string();
    s.type = type();
    s.domain = sizes();
    if (s.kind == StageKind::input) {
      expect(':');
      s.argument = reference('a');
      const i64 field = integer();
      if (field < 0 || field > 0x7fffffff) fail("the number of a field");
      s.field = static_cast<std::uint32_t>(field);
    } else if (s.kind == StageKind::point) {
      while (!peek(':')) {
        s.margin_lo.push_back(integer());
        expect_dots();
        s.margin_hi.push_back(integer());
      }
      expect(':');
      skip();
      if (at_ < line_.size()) s.body = expression();
    } else if (s.kind == StageKind::fourier) {
      expect(':');
      s.fourier = fourier();
    } else if (s.kind == StageKind::carried || s.kind == StageKind::last) {
      expect(':');
      s.loop = reference('l');
      s.of = known_stage();
    }
    g_.add(std::move(s));
    last_ = Last::stage;
  }

  void loop() {
    numbered('l', g_.loops.size());
    if (!accept_word("loop")) fail("'loop'");
    Loop loop;
    loop.name = string();
    loop.most = integer();
    loop.test = known_stage();
    expect(':');
    while (peek('s')) {
      loop.carried.push_back(known_stage());
      loop.next.push_back(known_stage());
    }
    g_.loops.push_back(std::move(loop));
    last_ = Last::loop;
  }

  Fourier fourier() {
    Fourier f;
    f.imaginary = accept_word("im");
    if (!f.imaginary && !accept_word("re")) fail("'re' or 'im'");
    f.inverse = accept_word("inverse");
    if (!f.inverse && !accept_word("forward")) fail("'forward' or 'inverse'");
    for (const i64 d : integers()) {
      if (d < 0 || d > 0x7fffffff) fail("the number of a dimension");
      f.along.push_back(static_cast<int>(d));
    }
    f.re = known_stage();
    if (peek('s')) f.im = known_stage();
    return f;
  }

  void piece() {
    if (last_ != Last::stage || g_.stage(static_cast<StageId>(g_.stage_count() - 1)).kind != StageKind::compose)
      fail("a piece only after a compose stage");
    Piece p;
    if (peek('s')) {
      p.stage = reference('s');
      if (*p.stage + 1 >= g_.stage_count()) fail("a stage that comes before");
    } else {
      p.value = number();
    }
    p.start = sizes();
    p.stride = integers();
    p.count = sizes();
    g_.stage(static_cast<StageId>(g_.stage_count() - 1)).pieces.push_back(std::move(p));
  }

  void span() {
    SourceSpan s;
    s.file = string();
    s.line = static_cast<int>(integer());
    s.column = static_cast<int>(integer());
    s.length = static_cast<int>(integer());
    s.text = string();
    if (last_ == Last::stage)
      g_.stage(static_cast<StageId>(g_.stage_count() - 1)).span = std::move(s);
    else if (last_ == Last::loop)
      g_.loops.back().span = std::move(s);
    else if (!g_.arguments.empty())
      g_.arguments.back().span = std::move(s);
    else
      fail("a span only after an argument, a stage or a loop");
  }

  void output() {
    Output o;
    o.name = string();
    o.format = format();
    expect(':');
    while (peek('s')) o.stages.push_back(reference('s'));
    g_.outputs.push_back(std::move(o));
  }

  // ---- expressions

  ExprId expression(int depth = 0) {
    if (depth > kDeepest) fail("less nesting");
    skip();
    const char c = at_ < line_.size() ? line_[at_] : '\0';
    if (c == '$') {
      const std::size_t begin = at_;
      const std::uint32_t line = reference('$');
      if (line < expr_lines_.size()) return expr_lines_[line];
      at_ = begin;
      fail("the number of an expression above");
    }
    if (c == '(') return operation(depth);
    ExprNode n;
    if (c == 's') return g_.expr(access());
    if (c == 'v') {
      n.op = Op::var;
      n.ivalue = reference('v');
      g_.reserve_vars(static_cast<std::uint32_t>(n.ivalue) + 1);
      return g_.expr(std::move(n));
    }
    return literal();
  }

  ExprId literal() {
    const std::size_t begin = at_;
    ExprNode n;
    n.fvalue = number();
    if (accept('f')) {
      n.type = ElementType::f32;
      if (std::isfinite(n.fvalue)) n.fvalue = static_cast<double>(static_cast<float>(n.fvalue));
    } else if (accept('d')) {
      n.type = ElementType::f64;
    } else {
      at_ = begin;
      n.fvalue = 0;
      n.ivalue = integer();
    }
    if (std::isnan(n.fvalue)) n.fvalue = std::numeric_limits<double>::quiet_NaN();
    return g_.expr(std::move(n));
  }

  StageId known_stage() {
    const StageId s = reference('s');
    if (s >= g_.stage_count()) fail("a stage that comes before");
    return s;
  }

  ExprNode access() {
    ExprNode n;
    n.op = Op::access;
    n.stage = known_stage();
    n.type = g_.stage(n.stage).type;
    list([&] {
      n.index.push_back(index());
      n.border.push_back(border());
    });
    return n;
  }

  void add(i64& sum, i64 term) const {
    if (__builtin_add_overflow(sum, term, &sum)) fail("a sum that 64 bits hold");
  }

  // index := term { (+|-) term }, term := [INT "*"] ("i" | vN) | "{" extent "}" | INT; one extent, never subtracted
  Index index() {
    Index x;
    x.scale = 0;
    bool minus = accept('-');
    for (;;) {
      i64 c = minus ? -1 : 1;
      skip();
      const bool digit = at_ < line_.size() && line_[at_] >= '0' && line_[at_] <= '9';
      bool lone = false;
      if (digit) {
        c *= integer();  // not negative, so this fits
        lone = !accept('*');
      }
      if (lone)
        add(x.offset, c);
      else if (peek('v'))
        x.vars.emplace_back(reference('v'), c);
      else if (c == 1 && x.shift == SizeId{} && accept('{')) {
        x.shift = size();
        expect('}');
      } else if (accept_word("i"))
        add(x.scale, c);
      else
        fail("'i', a variable, an integer or an extent in braces");
      minus = peek('-');
      if (!accept('+') && !accept('-')) break;
    }
    for (const auto& term : x.vars) g_.reserve_vars(term.first + 1);
    return x;
  }

  Border border() {
    if (!accept(':')) return {};
    const std::size_t begin = at_;
    const std::string_view name = word();
    for (int m = 0; m <= static_cast<int>(BorderMode::constant); ++m) {
      Border b{static_cast<BorderMode>(m), 0};
      if (tessera::name_of(b.mode) != name) continue;
      if (b.mode == BorderMode::constant) {
        expect('(');
        b.value = number();
        expect(')');
      }
      return b;
    }
    at_ = begin;
    fail("a border mode");
  }

  ExprId operation(int depth) {
    expect('(');
    skip();
    const std::size_t begin = at_;
    const auto op = op_named(word());
    if (!op) {
      at_ = begin;
      fail("an operation");
    }
    ExprNode n;
    n.op = *op;
    std::optional<ElementType> written;
    if (accept(':')) written = type();
    operands(n, depth);
    if (n.op == Op::constant) constant_value(n, written.value_or(ElementType::i32));
    expect(')');
    const auto implied = text::implied_type(g_, n);
    if (written)
      n.type = *written;
    else if (implied)
      n.type = *implied;
    else
      fail(fmt::format("a type, '({}:float ...'", name_of(n.op)));
    return g_.expr(std::move(n));
  }

  void constant_value(ExprNode& n, ElementType t) {
    if (is_float(t))
      n.fvalue = number();
    else
      n.ivalue = integer();
    if (std::isnan(n.fvalue)) n.fvalue = std::numeric_limits<double>::quiet_NaN();
  }

  void operands(ExprNode& n, int depth) {
    if (n.op == Op::constant) return;
    if (n.op == Op::access) {
      n = access();
      return;
    }
    if (reads_stage(n.op)) n.stage = known_stage();
    if (is_lanes(n.op)) n.ivalue = integer();
    if (n.op == Op::size) {
      expect('{');
      n.ivalue = size().id;
      expect('}');
    }
    if (n.op == Op::lookup) n.ivalue = reference('t');
    if (n.op >= Op::coord && n.op <= Op::var) n.ivalue = integer();
    if (is_reduction(n.op)) {
      for (;;) {
        const std::size_t begin = at_;
        if (!peek('v')) break;
        Var v;
        v.id = reference('v');
        if (!accept('=')) {  // the body itself
          at_ = begin;
          break;
        }
        v.lo = integer();
        expect_dots();
        if (accept('<')) {
          expect('{');
          v.end = size();
          expect('}');
          v.hi = max_window - 1;
        } else {
          v.hi = integer();
        }
        n.vars.push_back(v);
      }
    }
    while (!peek(')')) n.args.push_back(expression(depth + 1));
  }

  enum class Last { argument, stage, loop } last_ = Last::argument;  // what a span is of
  Graph g_;
  std::vector<ExprId> expr_lines_;
  std::vector<SizeId> size_lines_;
};

}  // namespace

Graph parse_graph(std::string_view text) {
  return Parser(text).run();
}

}  // namespace tessera::ir
