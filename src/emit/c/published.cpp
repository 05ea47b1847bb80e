// See published.hpp. What the entry points share is text of its own, published.c.inc: a table of the arrays that were
// given, checks of it, copies of arrays with gaps.
#include "emit/c/published.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "emit/c/frame.hpp"
#include "emit/holes.hpp"

namespace tessera::emit {

namespace detail {
extern const std::string_view c_entries_text, c_published_text;
}

namespace {

// A name that no argument has.
std::string free_name(const Signature& signature, std::string name) {
  const auto taken = [&](const std::string& n) {
    return std::any_of(signature.items.begin(), signature.items.end(),
                       [&](const auto& item) { return item.name == n; });
  };
  while (taken(name)) name += "_";
  return name;
}

std::string with(const std::string& list, const std::string& more) {
  return list.empty() ? more : list + ", " + more;
}

std::string memory_parameters(const Signature& signature) {
  return fmt::format("void* {}, long long {}", free_name(signature, "scratch"), free_name(signature, "scratch_bytes"));
}

std::string strides_name(const Signature& signature, const Signature::Item& item) {
  return free_name(signature, item.name + "_strides");
}

// Every array with its strides behind it.
std::string strided_parameters(const Signature& signature) {
  std::string text;
  for (const Signature::Item& item : signature.items) {
    text = with(text,
                fmt::format("{}{}{} {}", item.constant ? "const " : "", item.type, item.pointer ? "*" : "", item.name));
    if (item.pointer) text += fmt::format(", const long long* {}", strides_name(signature, item));
  }
  return text;
}

std::string extents_parameters(const Signature& signature) {
  std::string text;
  for (const Signature::Item& item : signature.items)
    if (item.parameter) text = with(text, "int " + item.name);
  return with(text, fmt::format("int {}", free_name(signature, "strided")));
}

std::string list_of(const std::string& parameters) {
  return parameters.empty() ? "void" : parameters;
}

struct Declarations {
  Declarations(const Signature& signature, const std::string& name)
      : status(fmt::format("int {}_status({})", name, list_of(parameter_list(signature)))),
        strided(
            fmt::format("int {}_strided({})", name, with(strided_parameters(signature), memory_parameters(signature)))),
        scratch(fmt::format("int {}_scratch({})", name, with(parameter_list(signature), memory_parameters(signature)))),
        scratch_size(fmt::format("long long {}_scratch_size({})", name, extents_parameters(signature))) {}
  std::string status, strided, scratch, scratch_size;
};

// The text of a section, with what all of them may name.
std::string text_of(std::string_view name_of_section, const std::string& name, const Declarations& all,
                    const Signature& signature, Holes more = {}) {
  more.insert({{"name", name},
               {"declaration", declaration(signature, name)},
               {"shapes", shapes_comment(signature)},
               {"status", all.status},
               {"strided", all.strided},
               {"scratch", all.scratch},
               {"scratch_size", all.scratch_size},
               {"memory", free_name(signature, "scratch")},
               {"bytes", free_name(signature, "scratch_bytes")},
               {"asked", free_name(signature, "strided")}});
  return filled(section(detail::c_entries_text, name_of_section), more);
}

}  // namespace

std::string published_head(const Signature& signature, const std::string& name) {
  const Declarations all(signature, name);
  return text_of("head", name, all, signature, {{"meaning", text_of("meaning", name, all, signature)}});
}

std::string published_entries(const ir::Graph& graph, const Signature& signature, const std::string& name,
                              const rewrite::Lifted& lifted, bool direct) {
  const Declarations all(signature, name);
  std::string table, fill, strides;
  Extents extent(graph, fill);
  std::size_t given = 0, most_rank = 1;
  const auto add = [&](bool array, const Format& format, const std::vector<ir::SizeId>& extents, std::size_t first,
                       bool written) {
    std::string list;
    int align = static_cast<int>(format.size());
    if (format.is_struct()) {
      align = 1;
      for (const Format::Field& f : format.fields) align = std::max(align, static_cast<int>(size_of(f.type)));
    }
    for (std::size_t d = first; d < extents.size(); ++d) list += (list.empty() ? "" : ", ") + extent(extents[d]);
    const std::size_t rank = extents.size() - std::min(first, extents.size());
    most_rank = std::max(most_rank, rank);
    table += fmt::format("  {{\n    const i64 e[] = {{{}}};\n    tsr_describe(&s[{}], {}, {}, {}, e, {});\n  }}\n",
                         list.empty() ? "1" : list, given++, format.size(), align, array ? rank : 0,
                         array ? (written ? 2 : 1) : 0);
  };
  for (std::size_t k = 0; k < graph.arguments.size(); ++k) {
    const ir::Argument& a = graph.arguments[k];
    add(a.is_array, a.format, a.extents, lifted.of_argument(k), false);
  }
  for (std::size_t k = 0; k < graph.outputs.size(); ++k) {
    const ir::Output& o = graph.outputs[k];
    add(true, o.format, graph.stage(o.stages.front()).domain, lifted.of_output(k), true);
  }
  const std::string none = extent.none_left();
  for (const Signature::Item& item : signature.items)
    if (!item.parameter)
      strides = with(strides, item.pointer ? fmt::format("{}", strides_name(signature, item)) : std::string("0"));
  std::string text = fmt::format("\n#define TSR_GIVEN {}\n#define TSR_RANK {}\n#define TSR_DIRECT {}\n", given,
                                 most_rank, direct ? 1 : 0);
  std::string helpers(detail::c_published_text);
  const std::string mark = "/* shapes */\n";
  helpers.replace(
      helpers.find(mark), mark.size(),
      text_of(
          "shapes", name, all, signature,
          {{"extents", fill}, {"none_left", none.empty() ? "" : "  if (" + none + ") return 2;\n"}, {"table", table}}));
  std::string sizes;
  for (const Signature::Item& item : signature.items)
    if (item.parameter) sizes += item.name + ", ";
  return text + helpers +
         text_of("entries", name, all, signature,
                 {{"own", given_and_sizes(signature)}, {"strides", strides}, {"sizes", sizes}});
}

std::string published_header(const ir::Graph& graph, const Signature& signature, const std::string& name) {
  const Declarations all(signature, name);
  const std::string structs = struct_types(graph);
  return text_of("header", name, all, signature,
                 {{"guard", "TESSERA_" + name + "_H"},
                  {"structs", structs.empty() ? "" : structs + "\n"},
                  {"meaning", text_of("meaning", name, all, signature)}});
}

}  // namespace tessera::emit
