// See loop_driver.hpp.
#include "emit/loop_driver.hpp"

#include <fmt/format.h>

#include <map>
#include <set>

#include "emit/signature.hpp"

namespace tessera::emit {

namespace {

class Driver {
 public:
  Driver(const SectionList& list, DriverDialect dialect, const std::vector<std::string>& functions)
      : list_(list), dialect_(dialect), functions_(functions), extent_(*list.graph, extents_) {}

  std::string text() {
    find_results();
    for (std::size_t p = 0; p < list_.places->size(); ++p)
      if (!results_.contains(p)) place_of_[p] = buffer(p);
    for (std::size_t k = 0; k < list_.sections.size(); ++k) section(k);
    return head() + body_ + tail();
  }

 private:
  bool c() const { return dialect_ == DriverDialect::c; }
  std::string memory() const {
    return dialect_ == DriverDialect::opencl ? "cl_mem" : dialect_ == DriverDialect::cuda ? "const void*" : "void*";
  }

  // Places of what loops carry: which buffer they are is known when the loop has ended.
  void find_results() {
    for (const ir::Section* section : list_.sections)
      for (const ir::Section::Carried& c : section->carried)
        if (c.output) results_.insert(section->outputs[*c.output].index);
  }

  // A new buffer for an image of a place.
  std::size_t buffer(std::size_t place) {
    const ir::Place& p = (*list_.places)[place];
    std::string bytes = fmt::format("{}LL", size_of(p.type));
    for (const ir::SizeId n : p.extents) bytes += " * " + extent_(n);
    std::string list;
    for (const ir::SizeId n : p.extents) list += (list.empty() ? "" : ", ") + extent_(n);
    if (c() && !p.extents.empty())
      too_big_.insert(
          fmt::format("  {{\n    const i64 e[] = {{{}}};\n    if (tsr_bytes({}, e, {}) < 0) return 2;\n  }}\n", list,
                      size_of(p.type), p.extents.size()));
    bytes_.push_back(bytes);
    return bytes_.size() - 1;
  }

  std::string value(const ir::Section::Value& v, bool output) const {
    if (v.place)
      return results_.contains(v.index) ? fmt::format("r{}", v.index) : fmt::format("b[{}]", place_of_.at(v.index));
    return fmt::format("given[{}]", v.index + (output ? list_.graph->arguments.size() : 0));
  }

  void call(std::size_t k, const std::vector<std::string>& all, const std::string& indent) {
    std::string list;
    for (const std::string& each : all) list += (list.empty() ? "" : ", ") + each;
    const std::string type = dialect_ == DriverDialect::opencl ? "const cl_mem" : memory() + " const";
    if (c())
      body_ += fmt::format(
          "{0}{{\n{0}  {1} g[] = {{{2}}};\n{0}  status = {3}(g, N, &inner);\n{0}  if (status) goto end;\n{0}}}\n",
          indent, type, list, functions_[k]);
    else
      body_ +=
          fmt::format("{0}{{\n{0}  {1} g[] = {{{2}}};\n{0}  {3}(s, g, N);\n{0}}}\n", indent, type, list, functions_[k]);
  }

  void section(std::size_t k) {
    const ir::Section& section = *list_.sections[k];
    if (section.repeats()) return loop(k);
    std::vector<std::string> all;
    for (const ir::Section::Value& v : section.inputs) all.push_back(value(v, false));
    for (const ir::Section::Value& v : section.outputs) all.push_back(value(v, true));
    call(k, all, "    ");
  }

  // c: the carried images, o: where the next one goes.
  void loop(std::size_t k) {
    const ir::Section& section = *list_.sections[k];
    std::vector<std::string> all;
    for (const ir::Section::Value& v : section.inputs) all.push_back(value(v, false));
    for (const ir::Section::Value& v : section.outputs)
      all.push_back(v.place && results_.contains(v.index) ? "" : value(v, true));
    body_ += "    {\n      i64 t;\n";
    std::string rotation, ends;
    for (std::size_t n = 0; n < section.carried.size(); ++n) {
      std::string& from = all[section.carried[n].input];
      body_ += fmt::format("      {} c{} = {};\n", memory(), n, from);
      from = fmt::format("c{}", n);
      if (const auto& output = section.carried[n].output) {
        const std::size_t result = section.outputs[*output].index;
        body_ += fmt::format("      {} o{} = b[{}];\n", memory(), n, buffer(result));
        all[section.inputs.size() + *output] = fmt::format("o{}", n);
        rotation += rotate(section, n);
        ends += fmt::format("      r{} = c{};\n", result, n);
      }
    }
    const std::string tested = all[section.inputs.size() + section.test];
    body_ += "      for (t = 0;; ++t) {\n";
    if (c()) body_ += fmt::format("        if (!call->asks) *(u8*){} = 0;\n", tested);
    call(k, all, "        ");
    body_ += rotation + test(tested, section.most) + "      }\n" + ends + "    }\n";
  }

  // A chain of versions that begins with carried image n: the oldest one's buffer is written next, unless it is what
  // the loop began with and somebody else's.
  std::string rotate(const ir::Section& section, std::size_t n) {
    std::size_t end = n + 1;
    while (end < section.carried.size() && !section.carried[end].output) ++end;
    std::string next = fmt::format("d{}", n),
                text = fmt::format("        {{\n          {} d{} = c{};\n", memory(), n, end - 1);
    for (std::size_t k = end; k-- > n;) {
      const std::size_t t = end - 1 - k;  // the iteration that ends with this one the oldest
      if (!section.carried[k].spent)
        next = fmt::format("t == {} ? b[{}] : {}", t, buffer(section.outputs[*section.carried[n].output].index), next);
    }
    for (std::size_t k = end - 1; k > n; --k) text += fmt::format("          c{} = c{};\n", k, k - 1);
    return text + fmt::format("          c{0} = o{0};\n          o{0} = {1};\n        }}\n", n, next);
  }

  std::string test(const std::string& tested, i64 most) const {
    if (c()) return fmt::format("        if (call->asks || t + 1 >= {}LL || !*(const u8*){}) break;\n", most, tested);
    std::string read =
        dialect_ == DriverDialect::cuda
            ? fmt::format(
                  "          if (tsr_ok(s, cudaMemcpyAsync(&more, {}, 1, cudaMemcpyDefault, s->stream)))\n"
                  "            tsr_ok(s, cudaStreamSynchronize(s->stream));\n",
                  tested)
            : fmt::format(
                  "          tsr_barrier(s);\n          if (s->status == CL_SUCCESS)\n"
                  "            tsr_ok(s, clEnqueueReadBuffer(s->queue, {}, CL_TRUE, 0, 1, &more, 0, NULL, NULL));\n",
                  tested);
    return fmt::format(
        "        {{\n          unsigned char more = 0;\n{}          if (t + 1 >= {}LL || !more || "
        "s->status != 0) break;\n        }}\n",
        read, most);
  }

  std::string head() {
    const std::string none = extent_.none_left();
    if (c()) return head_of_c(none);
    std::string text = fmt::format("\nstatic void tsr_run_all(tsr_session* s, {}* given, const i64* N) {{\n",
                                   dialect_ == DriverDialect::opencl ? "const cl_mem" : "const void* const");
    text += variables();
    if (!none.empty()) text += "  if (" + none + ") return;\n";
    return text +
           fmt::format("  for (k = 0; k < {}; ++k) ok &= (b[k] = tsr_allocate(s, need[k]{})) != 0;\n  if (ok) {{\n",
                       bytes_.size(), dialect_ == DriverDialect::cuda ? "" : ", NULL");
  }

  // Buffers, one behind the other, then what sections take of the call's memory.
  std::string head_of_c(const std::string& none) {
    std::string text = "\nstatic TSR_FP i32 tsr_run(void* const* given, const i64* N, tessera_call* call) {\n" +
                       variables() + "  i32 status = 0;\n  tessera_call inner = *call;\n  inner.strides = 0;\n";
    if (!none.empty()) text += "  if (" + none + ") return 2;\n";
    for (const std::string& big : too_big_) text += big;
    return text + fmt::format(
                      "  for (k = 0; k < {}; ++k) ok &= (b[k] = tsr_take(&inner, need[k])) != 0;\n"
                      "  if (!ok) status = tsr_no_memory(call);\n  if (ok) {{\n",
                      bytes_.size());
  }

  std::string variables() {
    std::string text, list;
    for (const std::string& bytes : bytes_) list += (list.empty() ? "" : ", ") + bytes;
    text += extents_ + fmt::format("  const i64 need[] = {{{}}};\n", list);
    text += fmt::format("  {} b[{}] = {{0}};\n  int k, ok = 1;\n", memory(), bytes_.size());
    for (const std::size_t place : results_) text += fmt::format("  {} r{} = 0;\n", memory(), place);
    for (const std::size_t place : results_) text += fmt::format("  (void)r{};\n", place);
    return text + "  (void)N;\n";
  }

  std::string tail() const {
    if (c())
      return fmt::format(
          "  }}\n  goto end;\nend:\n  for (k = {}; k-- > 0;) tsr_give(&inner, (u8*)b[k], need[k]);\n"
          "  call->needed = inner.needed;\n  return status;\n}}\n",
          bytes_.size());
    const std::string free =
        dialect_ == DriverDialect::cuda ? "tsr_free(s, (u8*)b[k])" : "if (b[k]) clReleaseMemObject(b[k])";
    return fmt::format("  }}\n  for (k = 0; k < {}; ++k) {};\n}}\n", bytes_.size(), free);
  }

  const SectionList& list_;
  DriverDialect dialect_;
  const std::vector<std::string>& functions_;
  std::string extents_, body_;
  Extents extent_;
  std::set<std::size_t> results_;                // places
  std::map<std::size_t, std::size_t> place_of_;  // buffers of all other places
  std::vector<std::string> bytes_;               // of buffers
  std::set<std::string> too_big_;                // tests of buffers that no memory holds
};

}  // namespace

std::string loop_driver(const SectionList& list, DriverDialect dialect, const std::vector<std::string>& functions) {
  return Driver(list, dialect, functions).text();
}

}  // namespace tessera::emit
