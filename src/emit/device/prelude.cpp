// What kernels of any dialect need of the text before them.
#include <fmt/format.h>

#include <vector>

#include "emit/device/access.hpp"
#include "emit/device/kernels.hpp"
#include "emit/device/matrix.hpp"

namespace tessera::emit {

namespace detail {
extern const std::string_view device_prelude_text;
}

using ir::nest::Lane;
using ir::nest::Support;

namespace {

// Of a NaN and a number the number. In `exact` numbers -0 is less than 0; `fast` ones leave zeros open.
std::string extreme(const Dialect& dialect, Lane lane, bool lesser, bool exact) {
  const std::string_view word = lesser ? "min" : "max", type = name_of(lane);
  const std::string call = fmt::format(fmt::runtime(dialect.open_extreme.of(lane)), fmt::arg("word", word),
                                       fmt::arg("a", "a"), fmt::arg("b", "b"));
  if (!exact) return fmt::format("#define tsr_{}_{}(a, b) {}\n", word, type, call);
  return fmt::format(
      "TSR_INLINE {type} tsr_{word}_{type}({type} a, {type} b) {{\n"
      "  return a == b ? {real}({bits}(a) {op} {bits}(b)) : {call};\n}}\n",
      fmt::arg("type", type), fmt::arg("word", word), fmt::arg("real", dialect.kernel.from_bits.of(lane)),
      fmt::arg("bits", dialect.kernel.to_bits.of(lane)), fmt::arg("op", lesser ? "|" : "&"), fmt::arg("call", call));
}

}  // namespace

std::string device_prelude(const Needs& needs, DeviceDialect which, DeviceFloats floats) {
  const Dialect& dialect = dialect_of(which);
  const bool doubles = needs.has(Lane::f64);
  const bool exact = floats.exact;
  std::string text(floats.contracts ? "" : dialect.kernel.contraction);
  // The NaN of devices is another one than that of cores.
  text += exact ? "#define tsr_half_of(x, h) ((x) == (x) ? (h) : (f16)0x7e00)\n" : "#define tsr_half_of(x, h) (h)\n";
  text += *dialect.kernel.prelude;
  if (doubles && dialect.kernel.doubles != nullptr) text += *dialect.kernel.doubles;
  text += detail::device_prelude_text;
  for (const Lane lane : {Lane::f32, Lane::f64})
    for (const bool lesser : {true, false})
      if (lane == Lane::f32 || doubles) text += extreme(dialect, lane, lesser, exact);
  const std::vector<ir::FunctionUse> uses(needs.functions.begin(), needs.functions.end());
  if (!uses.empty()) text += ir::functions_source(dialect.functions, uses, !exact);
  for (const std::string& name : needs.called(Support::vectors)) text += dialect.kernel.access(Access(name));
  if (!needs.called(Support::matrices).empty()) text += matrix_text();
  return text;
}

}  // namespace tessera::emit
