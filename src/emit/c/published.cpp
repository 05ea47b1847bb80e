// See published.hpp. What the entry points share is text of its own, published.c.inc: a table of the arrays that were
// given, checks of it, copies of arrays with gaps.
#include "emit/c/published.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "emit/c/frame.hpp"

namespace tessera::emit {

namespace detail {
extern const std::string_view c_published_text;
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

std::string meaning(const std::string& name, const Declarations& all, const Signature& signature) {
  return fmt::format(
      R"(   {0} computes or, where it cannot, leaves outputs as they are. The others say which:

   {1};
     0 done; else outputs are as they were. 1 the system has no memory left; 2 extents do not fit: one is below 1, a
     result would have no points, or an array is larger than memory can be; 3 an output overlaps an input or another
     output; 4 strides do not fit; 5 the caller's memory is too small; 6 this machine lacks what the file was compiled
     for; 7 an array is missing (null), or does not lie as its elements must.
   {2};
     Strides are bytes from one index to the next, of every dimension, outermost first; null: no gaps. Rows may be
     apart by any pitch; where the elements of a row do not lie side by side, or strides are negative, the array is
     copied. {5}: memory of the caller, null: of the system.
   {3};
     takes no memory but the caller's.
   {4};
     the bytes that these take with as many threads as now ({6}: 1 for {0}_strided, 0 for {0}_scratch), 0 where
     extents do not fit.

   All may be called from several threads at a time, with outputs and scratch memory of their own.
)",
      name, all.status, all.strided, all.scratch, all.scratch_size, free_name(signature, "scratch"),
      free_name(signature, "strided"));
}

}  // namespace

std::string published_head(const Signature& signature, const std::string& name) {
  return fmt::format(
      R"(/* {0}: compile with GCC from 12 on, Clang from 14 on or clang-cl, as C99, C++11 or later; -O3 -fopenmp for all cores.

   {1};

{2}
   Arrays are contiguous, the last index fastest; outputs overlap nothing.
{3}
   The file needs nothing: no header, no library but the C library's malloc, free, memcpy and memset (OpenMP's runtime
   with -fopenmp). Results do not depend on -ffast-math and its like. -DTESSERA_NO_DISPATCH compiles for the vectors
   that the flags name alone. */
)",
      name, declaration(signature, name), shapes_comment(signature), meaning(name, {signature, name}, signature));
}

std::string published_entries(const ir::Graph& graph, const Signature& signature, const std::string& name, int lifted,
                              bool direct) {
  const Declarations all(signature, name);
  std::string table, fill, strides;
  Extents extent(graph, fill);
  std::size_t given = 0, most_rank = 1;
  const auto add = [&](bool array, const Format& format, const std::vector<ir::SizeId>& extents, bool written) {
    std::string list;
    const std::size_t first = array ? static_cast<std::size_t>(lifted) : 0;
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
  for (const ir::Argument& a : graph.arguments) add(a.is_array, a.format, a.extents, false);
  for (const ir::Output& o : graph.outputs) add(true, o.format, graph.stage(o.stages.front()).domain, true);
  const std::string none = extent.none_left();
  for (const Signature::Item& item : signature.items)
    if (!item.parameter)
      strides = with(strides, item.pointer ? fmt::format("{}", strides_name(signature, item)) : std::string("0"));
  std::string text = fmt::format("\n#define TSR_GIVEN {}\n#define TSR_RANK {}\n#define TSR_DIRECT {}\n", given,
                                 most_rank, direct ? 1 : 0);
  std::string helpers(detail::c_published_text);
  const std::string mark = "/* shapes */\n";
  helpers.replace(helpers.find(mark), mark.size(),
                  fmt::format("static TSR_FP i32 tsr_shapes(const i64* N, tsr_given_array* s) {{\n  (void)N;\n{}{}{}"
                              "  return 0;\n}}\n",
                              fill, none.empty() ? "" : "  if (" + none + ") return 2;\n", table));
  text += helpers;
  const std::string own = given_and_sizes(signature), memory = free_name(signature, "scratch"),
                    bytes = free_name(signature, "scratch_bytes");
  std::string sizes;
  for (const Signature::Item& item : signature.items)
    if (item.parameter) sizes += item.name + ", ";
  text += fmt::format(
      "\n{0};\n{0} {{\n{1}  tessera_call tsr_call = {{0, 0, 0, 0, 0}};\n  (void)tsr_all(tsr_given, tsr_sizes, "
      "&tsr_call);\n}}\n",
      declaration(signature, name), own);
  text += fmt::format("\n{0};\n{0} {{\n{1}  return tsr_checked(tsr_given, tsr_sizes, 0, 0, 0);\n}}\n", all.status, own);
  text += fmt::format(
      "\n{0};\n{0} {{\n{1}  const i64* const tsr_strides[] = {{{2}}};\n"
      "  return tsr_checked(tsr_given, tsr_sizes, tsr_strides, {3}, {4});\n}}\n",
      all.strided, own, strides, memory, bytes);
  text += fmt::format(
      "\n{0};\n{0} {{\n{1}  if (!{2}) return 5;\n"
      "  return tsr_checked(tsr_given, tsr_sizes, 0, {2}, {3});\n}}\n",
      all.scratch, own, memory, bytes);
  text += fmt::format(
      "\n{0};\n{0} {{\n  const i64 tsr_sizes[] = {{{1}0}};\n  return tsr_scratch_size(tsr_sizes, {2});\n}}\n",
      all.scratch_size, sizes, free_name(signature, "strided"));
  return text;
}

std::string published_header(const ir::Graph& graph, const Signature& signature, const std::string& name) {
  const Declarations all(signature, name);
  const std::string guard = "TESSERA_" + name + "_H", structs = struct_types(graph);
  return fmt::format(
      "/* {0}: declared for C99, C++11 and later.\n\n{1}\n"
      "   Arrays are contiguous, the last index fastest; outputs overlap nothing.\n{2} */\n"
      "#ifndef {3}\n#define {3}\n\n{4}{5}#ifdef __cplusplus\nextern \"C\" "
      "{{\n#endif\n\n{6};\n{7};\n{8};\n{9};\n{10};\n\n"
      "#ifdef __cplusplus\n}}\n#endif\n\n#endif\n",
      name, shapes_comment(signature), meaning(name, all, signature), guard, structs, structs.empty() ? "" : "\n",
      declaration(signature, name), all.status, all.strided, all.scratch, all.scratch_size);
}

}  // namespace tessera::emit
