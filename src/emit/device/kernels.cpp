// See kernels.hpp: the heads of kernels around the statements of their nests.
#include "emit/device/kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "emit/nest/printer.hpp"
#include "emit/tables.hpp"

namespace tessera::emit {

namespace {

class KernelPrinter {
 public:
  KernelPrinter(const lower::DeviceProgram& program, const Dialect& dialect, std::string_view linkage)
      : program_(program), dialect_(dialect), linkage_(linkage), nests_(dialect) {}

  DeviceText print() {
    check_tables(program_.module.tables);
    DeviceText result;
    for (std::size_t t = 0; t < program_.module.tables.size(); ++t)
      result.tables += nests_.table(program_.module.tables[t], t);
    std::set<std::string_view> printed;  // kernels of one name are one
    for (const lower::DeviceKernel& k : program_.kernels)
      if (printed.insert(k.name).second) result.kernels += kernel(k);
    result.needs = nests_.needs();
    return result;
  }

 private:
  std::string kernel(const lower::DeviceKernel& kernel) {
    const ir::nest::Function& f = program_.module.functions[kernel.function];
    const std::size_t count = std::max<std::size_t>(kernel.integers.size(), 1);
    std::string out =
        fmt::format("\n/* {} */\ntypedef struct {{ i64 n[{}]; }} {}_integers;\n", f.essay, count, kernel.name);
    out += head(kernel);
    for (std::size_t p = 0; p < kernel.arrays.size(); ++p)
      out += fmt::format("TSR_GLOBAL u8* {} p{}, ", dialect_.kernel.restricted, p);
    out += fmt::format("{}_integers tsr_n) {{\n  const i64* const N = tsr_n.n;\n  (void)N;\n", kernel.name);
    // (Half a microsecond, much for a block of a point a thread.)
    if (kernel.strips) out += begin(kernel);
    if (kernel.shared_bytes > 0)
      out += fmt::format(fmt::runtime(dialect_.kernel.shared), fmt::arg("bytes", kernel.shared_bytes));
    nests_.statements(f.body, 1, out);
    return out + "}\n";
  }

  std::string head(const lower::DeviceKernel& kernel) const {
    return fmt::format(
        fmt::runtime(dialect_.kernel.head), fmt::arg("linkage", linkage_), fmt::arg("name", kernel.name),
        fmt::arg("threads", kernel.threads_of_block()), fmt::arg("x", kernel.threads[0]),
        fmt::arg("y", kernel.threads[1]), fmt::arg("z", kernel.threads[2]),
        fmt::arg("at_once", kernel.blocks_at_once > 0 ? fmt::format(", {}", kernel.blocks_at_once) : ""));
  }

  std::string begin(const lower::DeviceKernel& kernel) const {
    const auto order = std::find_if(kernel.integers.begin(), kernel.integers.end(), [](const auto& what) {
      return what.kind == lower::DeviceKernel::Integer::Kind::order;
    });
    return fmt::format(
        fmt::runtime(dialect_.kernel.begin),
        fmt::arg("order",
                 order == kernel.integers.end() ? "0" : fmt::format("N[{}]", order - kernel.integers.begin())));
  }

  const lower::DeviceProgram& program_;
  const Dialect& dialect_;
  std::string_view linkage_;
  NestPrinter nests_;
};

}  // namespace

const Dialect& dialect_of(DeviceDialect dialect) {
  return dialect == DeviceDialect::cuda ? cuda_dialect : opencl_dialect;
}

DeviceText device_text(const lower::DeviceProgram& program, DeviceDialect dialect, std::string_view linkage) {
  return KernelPrinter(program, dialect_of(dialect), linkage).print();
}

std::string print_device(const lower::DeviceProgram& program, DeviceDialect dialect, DeviceFloats floats) {
  const DeviceText text = device_text(program, dialect);
  return device_prelude(text.needs, dialect, floats) + text.tables + text.kernels;
}

}  // namespace tessera::emit
