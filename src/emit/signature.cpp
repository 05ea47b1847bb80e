// See signature.hpp.
#include "emit/signature.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "base/text.hpp"
#include "emit/names.hpp"
#include "tessera/error.hpp"

namespace tessera::emit {

namespace {

std::string_view spelling(ElementType type) {
  switch (type) {
    case ElementType::boolean:
    case ElementType::u8:
      return "unsigned char";
    case ElementType::i16:
      return "short";
    case ElementType::u16:
    case ElementType::f16:
      return "unsigned short";  // half: its bits, so that no compiler has to know the type
    case ElementType::i32:
      return "int";
    case ElementType::u32:
      return "unsigned int";
    case ElementType::f32:
      return "float";
    case ElementType::f64:
      return "double";
  }
  return "float";
}

}  // namespace

std::string spelling(const Format& format) {
  return format.is_struct() ? "struct " + safe_name(format.struct_name) : std::string(spelling(format.scalar));
}

Signature signature_of(const plan::Plan& plan) {
  return signature_of(plan.interface(), plan.lifted);
}

Signature signature_of(const ir::Graph& graph, const rewrite::Lifted& lifted) {
  Signature signature;
  std::set<std::string> taken;
  auto unique = [&](std::string name) {
    for (char& c : name)  // of a version, in a section: u<t-1>
      if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
    std::string free = safe_name(name);
    while (!taken.insert(free).second) free += "_";
    return free;
  };
  // Leading dimensions that the plan added have extent 1.
  auto shape = [&](const std::vector<ir::SizeId>& extents, std::size_t added) {
    std::string text;
    for (std::size_t d = added; d < extents.size(); ++d)
      text += (text.empty() ? "" : " x ") + graph.to_string(extents[d]);
    return text;
  };
  for (std::size_t k = 0; k < graph.arguments.size(); ++k) {
    const ir::Argument& a = graph.arguments[k];
    signature.items.push_back({unique(a.name), spelling(a.format),
                               a.is_array ? shape(a.extents, lifted.of_argument(k)) : "", a.is_array, a.is_array,
                               false});
  }
  for (const std::string& p : graph.parameters) signature.items.push_back({unique(p), "int", "", false, false, true});
  for (std::size_t k = 0; k < graph.outputs.size(); ++k) {
    const ir::Output& o = graph.outputs[k];
    signature.items.push_back({unique(o.name.empty() ? "output" : o.name), spelling(o.format),
                               shape(graph.stage(o.stages.front()).domain, lifted.of_output(k)), true, false, false});
  }
  return signature;
}

std::string parameter_list(const Signature& signature, std::string_view array) {
  std::string text;
  for (const Signature::Item& item : signature.items) {
    text += text.empty() ? "" : ", ";
    if (item.pointer && !array.empty())
      text += fmt::format("{} {}", array, item.name);
    else
      text += fmt::format("{}{}{} {}", item.constant ? "const " : "", item.type, item.pointer ? "*" : "", item.name);
  }
  return text;
}

std::string declaration(const Signature& signature, const std::string& name) {
  return fmt::format("void {}({})", name, parameter_list(signature));
}

std::string given_and_sizes(const Signature& signature) {
  std::string arrays, sizes;
  for (const Signature::Item& item : signature.items) {
    if (item.parameter)
      sizes += item.name + ", ";
    else
      arrays += fmt::format("{}(void*){}{}", arrays.empty() ? "" : ", ", item.pointer ? "" : "&", item.name);
  }
  return fmt::format("  void* const tsr_given[] = {{{}}};\n  const i64 tsr_sizes[] = {{{}0}};\n", arrays, sizes);
}

std::string struct_types(const ir::Graph& graph) {
  std::string text;
  std::set<std::string> done;
  auto define = [&](const Format& format) {
    if (!format.is_struct() || !done.insert(format.struct_name).second) return;
    // Several headers may define a struct, but only as the same one: the second macro has the fields in its name.
    std::string name = safe_name(format.struct_name), fields, as = "TESSERA_STRUCT_" + name + "_OF";
    for (const Format::Field& f : format.fields) {
      fields += fmt::format("  {} {};\n", spelling(f.type), safe_name(f.name));
      as += fmt::format("_{}_{}", spelling(f.type), safe_name(f.name));
    }
    std::replace(as.begin(), as.end(), ' ', '_');
    text += fmt::format("#ifndef TESSERA_STRUCT_{0}\n#define TESSERA_STRUCT_{0}\n#define {1}\nstruct {0} {{\n{2}}};\n",
                        name, as, fields);
    text +=
        fmt::format("#elif !defined({1})\n#error \"struct {0} has other fields in another file\"\n#endif\n", name, as);
  };
  for (const ir::Argument& a : graph.arguments) define(a.format);
  for (const ir::Output& o : graph.outputs) define(o.format);
  return text;
}

std::string shapes_comment(const Signature& signature) {
  std::size_t widest = 0;
  for (const Signature::Item& item : signature.items) widest = std::max(widest, item.name.size());
  std::string text;
  for (const Signature::Item& item : signature.items) {
    std::string what = item.parameter  ? "extent"
                       : !item.pointer ? "number"
                       : item.constant ? item.shape
                                       : item.shape + ", written";
    text += fmt::format("     {:<{}}  {} {}\n", item.name, widest, item.type, what);
  }
  return text;
}

// Words of CUDA and OpenCL that a struct or the entry point would be mistaken for.
void check_device_names(const ir::Graph& graph, const std::string& name, bool cuda) {
  static const std::set<std::string, std::less<>> functions = {"norm",  "max",   "min",      "rsqrt", "rcbrt",
                                                               "sinpi", "cospi", "saturate", "clamp", "dim3"};
  const bool opencl =
      name.size() > 2 && name.starts_with("cl") && (name[2] == '_' || (name[2] >= 'A' && name[2] <= 'Z'));
  if (functions.contains(name) || name.starts_with("cuda") || opencl)
    throw Error(ErrorClass::argument,
                fmt::format("the entry point cannot be called {}: it is a name of CUDA or OpenCL", base::quoted(name)),
                {}, "name it otherwise, as in --name my_filter");
  const auto check = [&](const Format& format) {
    std::string_view word = format.struct_name;
    if (!cuda || word.empty()) return;
    static const std::set<std::string, std::less<>> vectors = {"char",  "uchar",  "short", "ushort",   "int",
                                                               "uint",  "long",   "ulong", "longlong", "ulonglong",
                                                               "float", "double", "dim"};
    const bool counted = word.back() >= '1' && word.back() <= '4' && vectors.contains(word.substr(0, word.size() - 1));
    if (counted || word == "tm")
      throw Error(ErrorClass::argument,
                  fmt::format("struct {} has the name of a type of CUDA", base::quoted(format.struct_name)), {},
                  "name it otherwise");
  };
  for (const ir::Argument& a : graph.arguments) check(a.format);
  for (const ir::Output& o : graph.outputs) check(o.format);
}

std::string Extents::operator()(ir::SizeId s) {
  if (auto it = names_.find(s); it != names_.end()) return it->second;
  const ir::SizeNode& node = graph_.node(s);
  if (node.op == ir::SizeOp::constant) return fmt::format("{}LL", node.value);
  std::string text, a, b;
  if (node.op != ir::SizeOp::parameter) a = (*this)(node.a);
  if (node.op != ir::SizeOp::parameter && node.op != ir::SizeOp::floor_div) b = (*this)(node.b);
  switch (node.op) {
    case ir::SizeOp::constant:
      break;
    case ir::SizeOp::parameter:
      text = fmt::format("{}[{}]", parameters_, node.value);
      break;
    case ir::SizeOp::add:
      text = fmt::format("{} + {}", a, b);
      break;
    case ir::SizeOp::sub:
      text = fmt::format("{} - {}", a, b);
      break;
    case ir::SizeOp::mul:
      text = fmt::format("{} * {}", a, b);
      break;
    case ir::SizeOp::floor_div:
      text = fmt::format("tsr_floor_div({}, {})", a, node.value);
      break;
    case ir::SizeOp::min:
      text = fmt::format("tsr_min({}, {})", a, b);
      break;
    case ir::SizeOp::max:
      text = fmt::format("tsr_max({}, {})", a, b);
      break;
  }
  std::string name = fmt::format("{}{}", prefix_, names_.size());
  out_ += fmt::format("  const i64 {} = {};\n", name, text);
  return names_[s] = name;
}

std::string Extents::none_left() {
  std::set<std::string> positive;
  for (ir::StageId s = 0; s < graph_.stage_count(); ++s)
    for (ir::SizeId d : graph_.stage(s).domain)
      if (graph_.constant(d).value_or(0) < 1) positive.insert((*this)(d));
  std::string condition;
  for (const std::string& n : positive) condition += (condition.empty() ? "" : " || ") + n + " < 1";
  for (const ir::Requirement& r : graph_.requirements) {
    const std::string a = (*this)(r.a), b = (*this)(r.b);
    condition += fmt::format("{}{} {} {}", condition.empty() ? "" : " || ", a, r.at_most ? ">" : "!=", b);
  }
  return condition;
}

}  // namespace tessera::emit
