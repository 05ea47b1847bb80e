// The findings of one compilation.
//
// A fault is reported once and then thrown past as Failed to the nearest statement, where work goes on; whatever the
// statement would have defined is poisoned, so that one slip gives one error. After twenty errors Stop ends the run.
#pragma once

#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "lang/syntax/source.hpp"
#include "tessera/error.hpp"

namespace tessera::lang {

struct Failed {};  // reported already; caught at the next statement
struct Stop {};    // no further work makes sense; caught in compile()

struct Advice {
  std::vector<std::string> notes;
  std::string help;
};

class Report {
 public:
  static constexpr int max_errors = 20;

  // The same message at the same place is kept once: a stencil is checked every time it is called.
  void error(Span, std::string message, Advice = {});
  void warning(Span, std::string message, Advice = {});
  [[noreturn]] void fail(Span, std::string message, Advice = {});

  int errors() const { return errors_; }
  std::vector<Diagnostic> take() { return std::move(all_); }

 private:
  bool add(Severity, Span, std::string message, Advice);

  std::vector<Diagnostic> all_;
  std::set<std::tuple<const Source*, std::uint32_t, std::string>> known_;
  int errors_ = 0;
};

}  // namespace tessera::lang
