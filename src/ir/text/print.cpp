// Printing a graph. Whether an expression gets a line of its own depends on its shape and its number of users alone,
// and lines are numbered as they come, so that reading the text back and printing it gives the same text.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "ir/keyed.hpp"
#include "ir/reductions.hpp"
#include "ir/text/size_text.hpp"
#include "ir/text/text.hpp"
#include "ir/text/text_reader.hpp"

namespace tessera::ir {
namespace text {

std::optional<ElementType> implied_type(const Graph& g, const ExprNode& n) {
  switch (n.op) {
    case Op::constant:
    case Op::convert:
    case Op::saturate:
      return std::nullopt;
    case Op::coord:
    case Op::extent:
    case Op::parameter:
    case Op::var:
      return ElementType::i32;
    case Op::access:
    case Op::gather:
      return n.stage < g.stage_count() ? std::optional(g.stage(n.stage).type) : std::nullopt;
    case Op::reduce_rank:
      return n.args.empty() ? std::nullopt : std::optional(g.node(n.args[0]).type);
    case Op::scalar: {
      const auto at = static_cast<std::size_t>(n.ivalue);
      return at < g.arguments.size() ? std::optional(g.arguments[at].format.scalar) : std::nullopt;
    }
    case Op::lookup: {
      const auto at = static_cast<std::size_t>(n.ivalue);
      return at < g.tables.size() ? std::optional(g.tables[at].type) : std::nullopt;
    }
    case Op::value:
    case Op::partial:
      return n.stage < g.stage_count() ? std::optional(g.stage(n.stage).type) : std::nullopt;
    case Op::bins:
      return std::nullopt;
    case Op::into_sum:
    case Op::into_min:
    case Op::into_max:
      return n.args.empty() ? std::nullopt : std::optional(keyed_type(n.op, g.node(n.args[0]).type));
    case Op::whole_min:
    case Op::whole_max:
    case Op::whole_sum:
    case Op::whole_mean:
      return n.stage < g.stage_count() ? std::optional(whole_type(n.op, g.stage(n.stage).type)) : std::nullopt;
    case Op::lanes_min:
    case Op::lanes_max:
    case Op::lanes_sum:
      return n.stage < g.stage_count() ? std::optional(lanes_type(n.op, g.stage(n.stage).type)) : std::nullopt;
    case Op::size:
      return ElementType::f64;
    case Op::lt:
    case Op::le:
    case Op::eq:
    case Op::ne:
      return ElementType::boolean;
    default:
      break;
  }
  if (n.args.empty()) return std::nullopt;
  return g.node(n.args.back()).type;
}

bool plain_parameter(const Graph& g, std::size_t index) {
  const std::string& name = g.parameters[index];
  if (name.empty() || name == "min" || name == "max") return false;
  if (std::isdigit(static_cast<unsigned char>(name[0]))) return false;
  if (!std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) || c == '_'; })) return false;
  if (name[0] == 'z' && name.size() > 1 && std::isdigit(static_cast<unsigned char>(name[1]))) return false;
  return std::count(g.parameters.begin(), g.parameters.end(), name) == 1;
}

}  // namespace text

namespace {

using text::quote;

constexpr int kDeepest = 6;            // nesting of one line
constexpr std::size_t kLongSize = 80;  // characters of an extent

std::string number(ElementType t, double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  return t == ElementType::f32 ? fmt::format("{}", static_cast<float>(v)) : fmt::format("{}", v);
}

class Printer {
 public:
  explicit Printer(const Graph& g)
      : g_(g),
        sizes_(
            g,
            [this](std::size_t i) {
              return i < g_.parameters.size() && text::plain_parameter(g_, i) ? g_.parameters[i]
                                                                              : fmt::format("${}", i);
            },
            kLongSize,
            [this](const std::string& part) {
              out_ += fmt::format("z{} = {}\n", size_lines_, part);
              return fmt::format("z{}", size_lines_++);
            }) {}

  std::string run() {
    for (const std::string& p : g_.parameters) out_ += fmt::format("parameter {}\n", quote(p));
    for (std::size_t i = 0; i < g_.arguments.size(); ++i) argument(i);
    for (std::size_t i = 0; i < g_.tables.size(); ++i) table(i);
    count_users();
    for (StageId s = 0; s < g_.stage_count(); ++s) stage(s);
    for (std::size_t l = 0; l < g_.loops.size(); ++l) loop(l);
    for (const Requirement& r : g_.requirements) {
      const std::string a = size(r.a), b = size(r.b);
      out_ += fmt::format("require {} {} {} {}\n", a, r.at_most ? "<=" : "=", b, quote(r.what));
    }
    for (const Output& o : g_.outputs) {
      out_ += fmt::format("output {} {} :", quote(o.name), format(o.format));
      for (StageId s : o.stages) out_ += fmt::format(" s{}", s);
      out_ += "\n";
    }
    return std::move(out_);
  }

 private:
  std::string size(SizeId s) { return sizes_.text(s); }

  template <class T, class Fn>
  std::string list(const std::vector<T>& values, Fn&& fn) {
    std::string s = "[";
    for (std::size_t i = 0; i < values.size(); ++i) s += (i ? ", " : "") + fn(values[i]);
    return s + "]";
  }
  std::string extents(const std::vector<SizeId>& v) {
    return list(v, [&](SizeId s) { return size(s); });
  }
  static std::string type(ElementType t) { return std::string(tessera::name_of(t)); }

  std::string format(const Format& f) {
    if (!f.is_struct()) return type(f.scalar);
    std::string s = "struct " + quote(f.struct_name) + " {";
    for (std::size_t i = 0; i < f.fields.size(); ++i)
      s +=
          fmt::format("{}{} {} {}", i ? ", " : "", quote(f.fields[i].name), type(f.fields[i].type), f.fields[i].offset);
    return s + "}";
  }

  void span(const SourceSpan& s) {
    if (s.line != 0)
      out_ += fmt::format("span {} {} {} {} {}\n", quote(s.file), s.line, s.column, s.length, quote(s.text));
  }

  void argument(std::size_t i) {
    const Argument& a = g_.arguments[i];
    const std::string where = a.is_array ? " " + extents(a.extents) : "";
    out_ +=
        fmt::format("a{} = {} {} {}{}\n", i, a.is_array ? "array" : "scalar", quote(a.name), format(a.format), where);
    span(a.span);
  }

  void table(std::size_t i) {
    const Table& t = g_.tables[i];
    out_ += fmt::format("t{} = table {} {} {} :", i, quote(t.name), type(t.type),
                        list(t.extents, [](i64 n) { return std::to_string(n); }));
    for (double v : t.values) out_ += " " + number(t.type, v);
    out_ += "\n";
  }

  void count_users() {
    std::vector<ExprId> roots;
    for (StageId s = 0; s < g_.stage_count(); ++s)
      if (g_.stage(s).body.valid()) roots.push_back(g_.stage(s).body);
    for (ExprId r : roots) ++users_[r.id];
    for (ExprId e : postorder(g_, roots))
      for (ExprId a : g_.node(e).args) ++users_[a.id];
  }

  void stage(StageId id) {
    const Stage& s = g_.stage(id);
    const std::string domain = extents(s.domain);
    if (s.kind == StageKind::input) {
      out_ +=
          fmt::format("s{} = input {} {} {} : a{} {}\n", id, quote(s.name), type(s.type), domain, s.argument, s.field);
    } else if (s.kind == StageKind::point) {
      for (ExprId e : postorder(g_, {s.body})) expression(e);
      std::string margins;
      for (std::size_t d = 0; d < s.margin_lo.size(); ++d)
        margins += fmt::format(" {}..{}", s.margin_lo[d], s.margin_hi[d]);
      const std::string body = s.body.valid() ? written_.at(s.body.id).text : "";
      out_ += fmt::format("s{} = point {} {} {}{} : {}\n", id, quote(s.name), type(s.type), domain, margins, body);
    } else if (s.kind == StageKind::fourier) {
      const Fourier& f = s.fourier;
      out_ += fmt::format("s{} = fourier {} {} {} : {} {} {} s{}{}\n", id, quote(s.name), type(s.type), domain,
                          f.imaginary ? "im" : "re", f.inverse ? "inverse" : "forward",
                          list(f.along, [](int d) { return std::to_string(d); }), f.re,
                          f.im ? fmt::format(" s{}", *f.im) : "");
    } else if (s.kind == StageKind::carried || s.kind == StageKind::last) {
      const char* kind = s.kind == StageKind::last ? "last" : "carried";
      out_ += fmt::format("s{} = {} {} {} {} : l{} s{}\n", id, kind, quote(s.name), type(s.type), domain, s.loop, s.of);
    } else {
      std::vector<std::string> lines;
      for (const Piece& p : s.pieces) {
        const std::string what = p.stage ? fmt::format("s{}", *p.stage) : number(ElementType::f64, p.value);
        const std::string start = extents(p.start), count = extents(p.count);
        lines.push_back(fmt::format("  piece {} {} {} {}\n", what, start,
                                    list(p.stride, [](i64 n) { return std::to_string(n); }), count));
      }
      out_ += fmt::format("s{} = compose {} {} {}\n", id, quote(s.name), type(s.type), domain);
      for (const std::string& line : lines) out_ += line;
    }
    span(s.span);
  }

  void loop(std::size_t l) {
    const Loop& loop = g_.loops[l];
    out_ += fmt::format("l{} = loop {} {} s{} :", l, quote(loop.name), loop.most, loop.test);
    for (std::size_t k = 0; k < loop.carried.size(); ++k)
      out_ += fmt::format(" s{} s{}", loop.carried[k], loop.next[k]);
    out_ += "\n";
    span(loop.span);
  }

  struct Written {
    std::string text;
    int depth = 0;
  };

  void expression(ExprId e) {
    if (written_.contains(e.id)) return;
    Written w{spell(g_.node(e)), 0};
    const ExprNode& n = g_.node(e);
    for (ExprId a : n.args) w.depth = std::max(w.depth, written_.at(a.id).depth + 1);
    const bool compound = !n.args.empty();
    if (compound && (users_[e.id] > 1 || w.depth >= kDeepest)) {
      out_ += fmt::format("${} = {}\n", expr_lines_, w.text);
      w = {fmt::format("${}", expr_lines_++), 0};
    }
    written_.emplace(e.id, std::move(w));
    // A text that its only user has taken in is not needed again.
    for (ExprId a : n.args)
      if (users_[a.id] == 1) written_.at(a.id).text.clear();
  }

  std::string spell(const ExprNode& n) {
    if (n.op == Op::constant) return constant(n);
    if (n.op == Op::access && text::implied_type(g_, n) == n.type) return access(n);
    if (n.op == Op::var && n.type == ElementType::i32) return fmt::format("v{}", n.ivalue);
    std::string s = "(" + std::string(name_of(n.op));
    if (text::implied_type(g_, n) != n.type) s += ":" + type(n.type);
    if (n.op == Op::access) s += " " + access(n);
    if (n.op != Op::access && reads_stage(n.op)) s += fmt::format(" s{}", n.stage);
    if (is_lanes(n.op)) s += fmt::format(" {}", n.ivalue);
    if (n.op == Op::size) s += " {" + size(SizeId{static_cast<std::uint32_t>(n.ivalue)}) + "}";
    if (n.op == Op::lookup) s += fmt::format(" t{}", n.ivalue);
    if (n.op >= Op::coord && n.op <= Op::var) s += fmt::format(" {}", n.ivalue);
    for (const Var& v : n.vars)
      s += v.end == SizeId{} ? fmt::format(" v{}={}..{}", v.id, v.lo, v.hi)
                             : fmt::format(" v{}={}..<{{{}}}", v.id, v.lo, size(v.end));
    for (ExprId a : n.args) s += " " + written_.at(a.id).text;
    return s + ")";
  }

  static std::string constant(const ExprNode& n) {
    if (n.type == ElementType::i32) return std::to_string(n.ivalue);
    if (n.type == ElementType::f32) return number(n.type, n.fvalue) + "f";
    if (n.type == ElementType::f64) return number(n.type, n.fvalue) + "d";
    return fmt::format("(const:{} {})", type(n.type),
                       is_float(n.type) ? number(n.type, n.fvalue) : std::to_string(n.ivalue));
  }

  std::string access(const ExprNode& n) {
    std::string s = fmt::format("s{}[", n.stage);
    for (std::size_t d = 0; d < n.index.size(); ++d) {
      s += (d ? ", " : "") + index(n.index[d]);
      const Border b = d < n.border.size() ? n.border[d] : Border{};
      if (b.mode == BorderMode::constant)
        s += ":constant(" + number(ElementType::f64, b.value) + ")";
      else if (b.mode != BorderMode::none)
        s += ":" + std::string(tessera::name_of(b.mode));
    }
    return s + "]";
  }

  std::string index(const Index& i) {
    std::string s;
    const auto term = [&](i64 c, const std::string& what) {
      if (c == 0) return;
      if (c < 0)
        s += "-";
      else if (!s.empty())
        s += "+";
      if (c != 1 && c != -1) s += std::to_string(c < 0 ? -c : c) + "*";
      s += what;
    };
    term(i.scale, "i");
    for (const auto& [v, c] : i.vars) term(c, fmt::format("v{}", v));
    if (i.shift != SizeId{}) term(1, "{" + size(i.shift) + "}");
    if (i.offset != 0 || s.empty()) s += (i.offset >= 0 && !s.empty() ? "+" : "") + std::to_string(i.offset);
    return s;
  }

  const Graph& g_;
  std::string out_;
  std::size_t size_lines_ = 0, expr_lines_ = 0;
  SizePrinter sizes_;
  std::unordered_map<std::uint32_t, std::size_t> users_;
  std::unordered_map<std::uint32_t, Written> written_;
};

}  // namespace

std::string print(const Graph& g) {
  return Printer(g).run();
}

}  // namespace tessera::ir
