// See entry.hpp. Memory that changes names (of carried images) is a block of its own, which goes when the function
// ends.
#include "emit/host/entry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "emit/signature.hpp"

namespace tessera::emit {

namespace detail {
extern const std::string_view host_lent_cuda_text;
}

namespace {

constexpr std::string_view times_text = R"(
/* ---- programs of several steps ---- */

/* Bytes of `each` times as many: -1 of what no memory can hold. */
static inline i64 tsr_times(i64 each, i64 count) {
  return each < 0 || count > ((i64)1 << 60) / each ? -1 : each * count;
}
)";

namespace host = ir::host;
using host::ArrayId;

class Printer {
 public:
  Printer(const host::Program& program, const ir::Graph& graph, HostDialect dialect, std::string name,
          const std::vector<std::string>& parts, const std::vector<std::optional<SizedFunction>>& sized)
      : program_(program),
        graph_(graph),
        dialect_(dialect),
        name_(std::move(name)),
        parts_(parts),
        sized_(sized),
        slots_(host::slots(program)),
        moved_(host::moved(program)),
        extent_(graph, extents_) {}
  virtual ~Printer() = default;

  std::string text() {
    for (ArrayId a = 0; a < program_.arrays.size(); ++a)
      if (is_own(a)) declare(a);
    statements(program_.body, 1);
    return whole();
  }

 protected:
  bool is_own(ArrayId a) const { return program_.arrays[a].kind == host::Array::Kind::own; }
  bool acquired(ArrayId a) const { return slots_.of[a].has_value(); }
  bool moved(ArrayId a) const { return moved_[a]; }
  std::size_t given(ArrayId a) const {
    const host::Array& array = program_.arrays[a];
    return array.index + (array.kind == host::Array::Kind::argument ? 0 : graph_.arguments.size());
  }

  // What does the transform where it has the extents that the file is made for.
  const SizedFunction* made_for(std::size_t transform) const {
    return transform < sized_.size() && sized_[transform] ? &*sized_[transform] : nullptr;
  }
  static std::string has_extents(const std::string& shape, const SizedFunction& made) {
    std::string fits;
    for (std::size_t d = 0; d < made.extents.size(); ++d)
      fits += fmt::format("{}{}[{}] == {}LL", d ? " && " : "", shape, d, made.extents[d]);
    return fits;
  }

  // What differs between dialects.
  virtual void declare(ArrayId) = 0;
  virtual std::string value(ArrayId) const = 0;
  virtual std::string pointer() const = 0;  // the type of a name
  virtual void acquire(ArrayId) = 0;
  virtual void release(ArrayId) = 0;
  virtual void part(std::size_t, const std::string& list) = 0;
  virtual void transform(const host::RunTransform&, const std::string& shape, int along) = 0;
  virtual void turn_begins(const host::Repeat&) {}
  virtual void turn_ends(const host::Repeat&) = 0;  // t: the number of the turn
  virtual std::string whole() = 0;

  void line(const std::string& text) { body_ += std::string(static_cast<std::size_t>(2 * depth_), ' ') + text + "\n"; }

  std::string list_of(const std::vector<ir::SizeId>& extents) {
    std::string list;
    for (const ir::SizeId n : extents) list += (list.empty() ? "" : ", ") + extent_(n);
    return list;
  }

  const host::Program& program_;
  const ir::Graph& graph_;
  const HostDialect dialect_;
  const std::string name_;
  const std::vector<std::string>& parts_;
  const std::vector<std::optional<SizedFunction>>& sized_;
  const host::Slots slots_;
  const std::vector<bool> moved_;
  std::string extents_, declared_, body_;
  Extents extent_;
  int depth_ = 1;

 private:
  void statements(const std::vector<host::Statement>& list, int depth) {
    for (const host::Statement& s : list) {
      depth_ = depth;
      std::visit([&](const auto& one) { statement(one); }, s);
    }
  }

  void statement(const host::Acquire& s) { acquire(s.array); }
  void statement(const host::Release& s) { release(s.array); }
  void statement(const host::Bind& s) { line(fmt::format("{} = ({}){};", value(s.array), pointer(), value(s.to))); }

  void statement(const host::RunPart& s) {
    std::string list;
    for (const auto* arrays : {&s.inputs, &s.outputs})
      for (const ArrayId a : *arrays) list += (list.empty() ? "" : ", ") + value(a);
    part(s.part, list);
  }

  void statement(const host::RunTransform& s) {
    int along = 0;
    for (const int d : program_.transforms[s.transform].along) along |= 1 << d;
    transform(s, list_of(program_.transforms[s.transform].domain), along);
  }

  // The oldest version's memory is computed into next, unless it is what the loop began with and somebody else's.
  void statement(const host::Shift& s) {
    const std::size_t versions = s.names.size() - 1;
    line("{");
    ++depth_;
    line(fmt::format("{} d = {};", pointer(), value(s.names[versions])));
    std::string next = "d";
    for (std::size_t k = 0; k < versions; ++k)
      if (s.instead[k]) next = fmt::format("t == {} ? {} : {}", versions - 1 - k, value(*s.instead[k]), next);
    for (std::size_t k = versions; k > 0; --k) line(fmt::format("{} = {};", value(s.names[k]), value(s.names[k - 1])));
    line(fmt::format("{} = {};", value(s.names[0]), next));
    --depth_;
    line("}");
  }

  void statement(const host::Repeat& s) {
    const int depth = depth_;
    line("{");
    depth_ = depth + 1;
    line("i64 t;");
    line("for (t = 0;; ++t) {");
    depth_ = depth + 2;
    turn_begins(s);
    statements(s.body, depth + 2);
    depth_ = depth + 2;
    turn_ends(s);
    depth_ = depth + 1;
    line("}");
    depth_ = depth;
    line("}");
  }
};

// ---- C -------------------------------------------------------------------------------------------------------------

class CPrinter : public Printer {
 public:
  CPrinter(const host::Program& program, const ir::Graph& graph, const std::string& name,
           const std::vector<std::string>& parts, const std::vector<std::optional<SizedFunction>>& sized)
      : Printer(program, graph, HostDialect::c, name, parts, sized), sizes_(slots_.count) {}

 private:
  bool transforms() const { return !program_.transforms.empty(); }

  // Slots lie one behind the other in a block. No memory holds what `too_big_` tests.
  void declare(ArrayId a) override {
    declared_ += acquired(a) ? fmt::format("  u8* a{} = tsr_block + tsr_at{};\n", a, *slots_.of[a])
                             : fmt::format("  u8* a{} = 0;\n", a);
    if (!acquired(a)) return;
    const host::Array& array = program_.arrays[a];
    std::string bytes = fmt::format("{}LL", array.format.size());
    for (const ir::SizeId n : array.extents) bytes += " * " + extent_(n);
    if (!array.extents.empty())
      too_big_.insert(
          fmt::format("  {{\n    const i64 e[] = {{{}}};\n    if (tsr_array_bytes({}, e, {}) < 0) return 2;\n  }}\n",
                      list_of(array.extents), array.format.size(), array.extents.size()));
    std::string& size = sizes_[*slots_.of[a]];
    size = size.empty() ? bytes : size == bytes ? size : fmt::format("tsr_max({}, {})", size, bytes);
  }
  std::string value(ArrayId a) const override {
    return is_own(a) ? fmt::format("a{}", a) : fmt::format("given[{}]", given(a));
  }
  std::string pointer() const override { return "u8*"; }
  void acquire(ArrayId) override {}
  void release(ArrayId) override {}

  void part(std::size_t k, const std::string& list) override {
    line("{");
    line(fmt::format("  void* const g[] = {{{}}};", list));
    line(fmt::format("  if ((status = {}(g, N, &inner))) goto end;", parts_[k]));
    line("}");
  }
  void transform(const host::RunTransform& s, const std::string& shape, int along) override {
    const host::Transform& t = program_.transforms[s.transform];
    line("{");
    line(fmt::format("  const i64 tsr_shape[] = {{{}}};", shape));
    std::string any = fmt::format("tsr_transform_{}(&inner, {}, {}, {}, {}, {}, tsr_shape, {})",
                                  t.type == ElementType::f64 ? "double" : "float", value(s.from), value(s.to),
                                  (t.from_real ? 1 : 0) + (t.to_real ? 2 : 0) + (s.spent ? 4 : 0), t.inverse ? 1 : 0,
                                  t.domain.size(), along);
    if (const auto* const made = made_for(s.transform))
      any = fmt::format("({} ? {}(&inner, {}, {}) : {})", has_extents("tsr_shape", *made), made->name, value(s.from),
                        value(s.to), any);
    line(fmt::format("  if (!{}) {{", any));
    line("    status = tsr_no_memory(call);");
    line("    goto end;");
    line("  }");
    line("}");
  }
  void turn_begins(const host::Repeat& s) override {
    line(fmt::format("if (!call->asks) *(u8*){} = 0;", value(s.test)));
  }
  void turn_ends(const host::Repeat& s) override {
    line(fmt::format("if (call->asks || t + 1 >= {}LL || !*(const u8*){}) break;", s.most, value(s.test)));
  }

  std::string whole() override {
    std::string offsets, total = "0";
    for (std::size_t k = 0; k < sizes_.size(); ++k) {
      offsets += fmt::format("  const i64 tsr_at{} = {};\n", k, total);
      total = fmt::format("tsr_at{} + ({} + 127) / 64 * 64", k, sizes_[k]);
    }
    const std::string none = extent_.none_left(),
                      take = transforms() ? "tsr_take_kept(&inner, 0, " : "tsr_take(&inner, ",
                      give = transforms() ? "tsr_give_kept(&inner, 0, " : "tsr_give(&inner, ";
    std::string text =
        fmt::format("\nstatic TSR_FP i32 {}(void* const* given, const i64* N, tessera_call* call) {{\n", name_);
    text += extents_ + "  i32 status = 0;\n  tessera_call inner = *call;\n  inner.strides = 0;\n  (void)N;\n";
    if (!none.empty()) text += "  if (" + none + ") return 2;\n";
    for (const std::string& big : too_big_) text += big;
    text += offsets;
    if (!sizes_.empty())
      text += fmt::format(
          "  const i64 tsr_all_bytes = {};\n  u8* const tsr_block = {}tsr_all_bytes);\n"
          "  if (!tsr_block) return tsr_no_memory(call);\n",
          total, take);
    text += declared_;
    if (transforms()) text += "  const u64 modes = tsr_enter();\n";
    text += "  {\n" + body_ + "    goto end;\n  }\nend:\n";
    if (transforms()) text += "  tsr_leave(modes);\n";
    if (!sizes_.empty()) text += fmt::format("  {}tsr_block, tsr_all_bytes);\n", give);
    return text + "  call->needed = inner.needed;\n  return status;\n}\n";
  }

  std::vector<std::string> sizes_;  // of slots
  std::set<std::string> too_big_;
};

// ---- devices -------------------------------------------------------------------------------------------------------

class DevicePrinter : public Printer {
 public:
  DevicePrinter(const host::Program& program, const ir::Graph& graph, HostDialect dialect, const std::string& name,
                const std::vector<std::string>& parts, const std::vector<std::optional<SizedFunction>>& sized)
      : Printer(program, graph, dialect, name, parts, sized) {}

 private:
  bool cuda() const { return dialect_ == HostDialect::cuda; }

  void declare(ArrayId a) override {
    const std::string none = cuda() ? "0" : "NULL";
    declared_ += fmt::format("  {} a{} = {};\n", pointer(), a, none);
    // What changes names goes by the name that it began with.
    if (acquired(a) && moved(a)) declared_ += fmt::format("  {} b{} = {};\n", pointer(), a, none);
  }
  std::string value(ArrayId a) const override {
    if (is_own(a)) return fmt::format("a{}", a);
    return cuda() && program_.arrays[a].is_array ? fmt::format("lent[{}].at", given(a))
                                                 : fmt::format("given[{}]", given(a));
  }
  std::string pointer() const override { return cuda() ? "u8*" : "cl_mem"; }

  std::string bytes(const host::Array& array) {
    std::string text = std::to_string(array.format.size());
    for (const ir::SizeId n : array.extents) text = fmt::format("tsr_times({}, {})", text, extent_(n));
    return text;
  }

  void acquire(ArrayId a) override {
    const host::Array& array = program_.arrays[a];
    if (is_own(a)) {
      line(fmt::format("a{} = tsr_allocate(s, {}{});", a, bytes(array), cuda() ? "" : ", NULL"));
      if (moved(a)) line(fmt::format("b{0} = a{0};", a));
    } else if (cuda()) {
      const bool read = array.kind == host::Array::Kind::argument || array.format.has_padding();
      line(fmt::format("tsr_bring(s, &lent[{0}], given[{0}], {1}, {2});", given(a), bytes(array), read ? 1 : 0));
    }
  }
  void release(ArrayId a) override {
    if (is_own(a) && acquired(a) && !moved(a)) line(freed(fmt::format("a{}", a)));
    if (!is_own(a) && cuda() && !moved(a))
      line(fmt::format("tsr_return(s, &lent[{}], {});", given(a),
                       program_.arrays[a].kind == host::Array::Kind::output ? 1 : 0));
  }
  std::string freed(const std::string& name) const {
    return cuda() ? fmt::format("tsr_free(s, {});", name) : fmt::format("if ({0}) clReleaseMemObject({0});", name);
  }

  void part(std::size_t k, const std::string& list) override {
    line("{");
    line(fmt::format("  {} g[] = {{{}}};", cuda() ? "const void* const" : "const cl_mem", list));
    line(fmt::format("  {}(s, g, N);", parts_[k]));
    line("}");
  }
  void transform(const host::RunTransform& s, const std::string& shape, int along) override {
    const host::Transform& t = program_.transforms[s.transform];
    const std::string any = fmt::format(
        "tsr_fft_transform(s, {}, {}, {}, {}, {}, {}, shape, {});", t.type == ElementType::f64 ? 1 : 0, value(s.from),
        value(s.to), (t.from_real ? 1 : 0) + (t.to_real ? 2 : 0), t.inverse ? 1 : 0, t.domain.size(), along);
    line("{");
    ++depth_;
    line(fmt::format("const i64 shape[] = {{{}}};", shape));
    if (const auto* const made = made_for(s.transform)) {
      line(fmt::format("if ({})", has_extents("shape", *made)));
      line(fmt::format("  {}(s, {}, {});", made->name, value(s.from), value(s.to)));
      line("else");
      line("  " + any);
    } else {
      line(any);
    }
    --depth_;
    line("}");
  }
  void turn_ends(const host::Repeat& s) override {
    line("{");
    line("  unsigned char more = 0;");
    if (cuda()) {
      line(fmt::format(
          "  if (s->status == cudaSuccess && tsr_ok(s, cudaMemcpyAsync(&more, {}, 1, cudaMemcpyDefault, s->stream)))",
          value(s.test)));
      line("    tsr_ok(s, cudaStreamSynchronize(s->stream));");
    } else {
      line("  tsr_queue_barrier(s);");
      line("  if (s->status == CL_SUCCESS)");
      line(fmt::format("    tsr_ok(s, clEnqueueReadBuffer(s->queue, {}, CL_TRUE, 0, 1, &more, 0, NULL, NULL));",
                       value(s.test)));
    }
    line(fmt::format("  if (t + 1 >= {}LL || !more || s->status != 0) break;", s.most));
    line("}");
  }

  std::string whole() override {
    const std::string none = extent_.none_left();
    std::string text = fmt::format("\nstatic void {}(tsr_session* s, {}* given, const i64* N) {{\n", name_,
                                   cuda() ? "const void* const" : "const cl_mem");
    text += declared_;
    if (cuda())
      text += fmt::format("  tsr_lent lent[{}] = {{}};\n",
                          std::max<std::size_t>(1, graph_.arguments.size() + graph_.outputs.size()));
    text += extents_ + "  (void)N;\n";
    if (!none.empty()) text += "  if (" + none + ") return;\n";
    text += body_;
    depth_ = 1;
    body_.clear();
    for (ArrayId a = 0; a < program_.arrays.size(); ++a) {
      if (!moved(a)) continue;
      if (is_own(a) && acquired(a)) line(freed(fmt::format("b{}", a)));
      if (!is_own(a) && cuda()) line(fmt::format("tsr_return(s, &lent[{}], 0);", given(a)));
    }
    return text + body_ + "}\n";
  }
};

}  // namespace

std::string host_program_text(HostDialect dialect) {
  if (dialect == HostDialect::c) return "";
  return std::string(times_text) +
         (dialect == HostDialect::cuda ? "\n" + std::string(detail::host_lent_cuda_text) : "");
}

std::string print_host_program(const ir::host::Program& program, const ir::Graph& graph, HostDialect dialect,
                               const std::string& name, const std::vector<std::string>& parts,
                               const std::vector<std::optional<SizedFunction>>& sized) {
  if (dialect == HostDialect::c) return CPrinter(program, graph, name, parts, sized).text();
  return DevicePrinter(program, graph, dialect, name, parts, sized).text();
}

}  // namespace tessera::emit
