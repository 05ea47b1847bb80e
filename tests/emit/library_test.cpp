// What the table of run-time functions says of dialects: the text that goes with a dialect's modules defines them.
#include "ir/nest/library.hpp"

#include <gtest/gtest.h>

#include <cctype>

#include "emit/c/prelude.hpp"
#include "emit/device/kernels.hpp"
#include "emit/device/transforms.hpp"

namespace tessera::emit {
namespace {

using ir::nest::Dialect;
using ir::nest::Routine;
using ir::nest::Support;

std::string with(std::string name, const std::string& letter, const std::string& what) {
  const std::size_t at = name.find(letter);
  return at == std::string::npos ? name : name.replace(at, letter.size(), what);
}

// One of the names of a row.
std::string example(const Routine& r) {
  const std::string number = r.support == Support::fields ? "3" : "4";
  return with(with(with(std::string(r.name), "<T>", "f32"), "<R>", "f32"), "<N>", number);
}

// As a function or a macro.
bool defines(const std::string& text, const std::string& name) {
  for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    const std::size_t line = text.rfind('\n', at) + 1, end = at + name.size();
    if (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_')) continue;
    const std::string before = text.substr(line, at - line);
    if (before.ends_with("#define ")) return true;
    const bool first = before.find('(') == std::string::npos && before.find('=') == std::string::npos;
    if (first && (before.starts_with("TSR_") || before.starts_with("static ") || before.starts_with("template ")))
      return true;
  }
  return false;
}

// What stands before a module that calls all that the dialect has.
std::string text_of(Dialect d) {
  Needs needs;
  for (const Routine& r : ir::nest::library())
    if (r.in(d)) needs.call(example(r));
  if (d == Dialect::c) return prelude(needs);
  const DeviceDialect dialect = d == Dialect::cuda ? DeviceDialect::cuda : DeviceDialect::opencl;
  return device_prelude(needs, dialect, {}) + waiting_text(dialect);
}

TEST(NestLibrary, DialectsDefineWhatTheyHave) {
  for (const Dialect d : {Dialect::c, Dialect::cuda, Dialect::opencl}) {
    const std::string text = text_of(d);
    for (const Routine& r : ir::nest::library())
      EXPECT_TRUE(!r.in(d) || r.support == Support::words || defines(text, example(r)))
          << r.name << " in dialect " << static_cast<int>(d);
  }
}

TEST(NestLibrary, NoNameMeansTwoThings) {
  const std::string c = text_of(Dialect::c), cuda = text_of(Dialect::cuda);
  for (const Routine& r : ir::nest::library()) {
    EXPECT_FALSE(!r.in(Dialect::cuda) && defines(cuda, example(r))) << r.name;
    EXPECT_FALSE(!r.in(Dialect::c) && defines(c, example(r))) << r.name;
  }
}

}  // namespace
}  // namespace tessera::emit
