// Printing loop nests as C: functions, and the tables that they read.
#include "emit/c/c.hpp"

#include <fmt/format.h>

#include "data/element.hpp"
#include "emit/c/prelude.hpp"
#include "emit/nest/printer.hpp"
#include "emit/tables.hpp"

namespace tessera::emit {

namespace {

constexpr i64 apart_from = 4096;  // numbers

class Printer {
 public:
  explicit Printer(const ir::nest::Module& module) : module_(module) {}

  ModuleText print() {
    check_tables(module_.tables);
    ModuleText text;
    for (std::size_t t = 0; t < module_.tables.size(); ++t) text.tables += nests_.table(module_.tables[t], t);
    for (const ir::nest::Function& f : module_.functions) text.functions += function(f);
    text.needs = nests_.needs();
    return text;
  }

  TextApart print_apart() {
    TextApart result;
    std::string functions, tables;
    for (const ir::nest::Function& f : module_.functions) functions += function(f);
    for (std::size_t t = 0; t < module_.tables.size(); ++t) {
      const ir::Table& table = module_.tables[t];
      if (!nests_.tables_read().contains(table_name(t))) continue;
      if (static_cast<i64>(table.values.size()) < apart_from && !module_.opaque.contains(t)) {
        tables += nests_.table(table, t);
        continue;
      }
      tables += fmt::format("/* {} */\nextern const {} {}[];\n", table.name,
                            nests_.spelled({ir::nest::lane_of(table.type), 1, false}), table_name(t));
      result.tables.push_back(bytes(t));
    }
    result.text = prelude(nests_.needs()) + tables + functions;
    return result;
  }

 private:
  base::ConstantTable bytes(std::size_t t) const {
    struct alignas(base::ConstantTable::alignment) Line {
      std::byte bytes[base::ConstantTable::alignment];
    };
    const ir::Table& table = module_.tables[t];
    const auto each = static_cast<std::size_t>(ir::nest::size_of(ir::nest::lane_of(table.type)));
    const std::size_t size = each * table.values.size();
    auto lines = std::make_shared<Line[]>((size + sizeof(Line) - 1) / sizeof(Line));
    std::byte* const first = lines[0].bytes;
    for (std::size_t k = 0; k < table.values.size(); ++k) store_element(table.type, first + k * each, table.values[k]);
    return {table_name(t), {first, size}, std::move(lines)};
  }

  std::string function(const ir::nest::Function& f) {
    std::string text = "\n";
    if (!f.essay.empty()) text += "/* " + f.essay + " */\n";
    text += (f.local ? "TSR_PASS " : "TSR_GROUP ") + (f.has_result ? spell(f.result) : std::string("void")) + " " +
            f.name + "(";
    for (std::size_t k = 0; k < f.parameters.size(); ++k) {
      const auto& p = f.parameters[k];
      if (k > 0) text += ", ";
      if (p.pointers)
        text += "void* const* " + p.name;
      else
        text += (p.constant_elements ? "const " : "") + spell(p.type) + " " + p.name;
    }
    text += ") {\n";
    for (const auto& p : f.parameters) text += "  (void)" + p.name + ";\n";
    nests_.statements(f.body, 1, text);
    return text + "}\n";
  }

  const ir::nest::Module& module_;
  NestPrinter nests_{c_dialect};
};

}  // namespace

ModuleText module_text(const ir::nest::Module& module) {
  return Printer(module).print();
}

std::string print_c(const ir::nest::Module& module) {
  ModuleText text = module_text(module);
  return prelude(text.needs) + text.tables + text.functions;
}

TextApart print_c_apart(const ir::nest::Module& module) {
  return Printer(module).print_apart();
}

}  // namespace tessera::emit
