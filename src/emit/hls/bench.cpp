// A test bench runs under a tool's C simulation and under Tessera's headers: there as processes beside the program.
#include "emit/hls/bench.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <utility>

#include "base/text.hpp"

namespace tessera::emit {

namespace detail {
extern const std::string_view hls_bench_text;
}

using namespace fmt::literals;

namespace {

std::vector<HlsStream> streams_of(const HlsPorts& ports) {
  std::vector<HlsStream> all = ports.inputs;
  all.insert(all.end(), ports.results.begin(), ports.results.end());
  return all;
}

// Between blanks.
std::string names(const HlsPorts& ports) {
  std::string all = " ";
  for (const HlsStream& s : streams_of(ports)) all += s.name + " ";
  for (const HlsStream& s : ports.scalars) all += s.name + " ";
  return all;
}

// Of random elements.
std::string_view kind(ElementType type) {
  if (type == ElementType::boolean) return "zero_or_one";
  return type == ElementType::f32 ? "single" : type == ElementType::f64 ? "twofold" : "any_bytes";
}

std::string arguments(const HlsPorts& ports) {
  std::vector<std::string> given;
  for (const HlsStream& s : streams_of(ports)) given.push_back(s.name + "_port");
  for (const HlsStream& s : ports.scalars)
    given.push_back(fmt::format("static_cast<{}>(b.{}(\"{}\"))", hls_spelling(s.type),
                                is_float(s.type) ? "real" : "scalar", s.name));
  if (!ports.frame.fixed) given.insert(given.end(), {"b.height", "b.width"});
  given.emplace_back("b.frames");
  return base::join(given, ", ");
}

}  // namespace

std::string hls_points(const hardware::Extent& e, const std::string& given, bool fixed) {
  if (fixed) return fmt::format("{}", e.points(0));
  std::string text = given;
  if (e.plus != 0) text = fmt::format("({} + {})", text, e.plus);
  if (e.over != 1) text = fmt::format("{} / {}", text, e.over);
  if (e.times != 1) text = fmt::format("({}) * {}", text, e.times);
  if (e.then != 0) text = fmt::format("{} {} {}", text, e.then < 0 ? "-" : "+", std::abs(e.then));
  return text;
}

std::string hls_fine(const hardware::Extent& e, const std::string& given, bool fixed) {
  if (fixed) return fmt::format("{}", e.fine(0));
  const std::string points = hls_points(e, given, fixed);
  return e.rate == 1 ? points : fmt::format("({}) * {}", points, e.rate);
}

std::string hls_misfit(const HlsPorts& ports) {
  std::vector<std::string> tests;
  const char* const names[] = {"height", "width"};
  const i64 least[] = {ports.least_height, ports.least_width};
  for (std::size_t d = 0; d < 2; ++d) {
    const hardware::Given& given = ports.given;
    tests.push_back(fmt::format("{0} < {1} || {0} > {2}", names[d], least[d], given.most[d]));
    if (given.unit[d] > 1) tests.push_back(fmt::format("{} % {} != {}", names[d], given.unit[d], given.rest[d]));
  }
  return base::join(tests, " || ");
}

std::string_view hls_spelling(ElementType type) {
  switch (type) {
    case ElementType::boolean:
    case ElementType::u8:
      return "unsigned char";
    case ElementType::i16:
      return "short";
    case ElementType::u16:
      return "unsigned short";
    case ElementType::i32:
      return "int";
    case ElementType::f32:
      return "float";
    case ElementType::f64:
      return "double";
    default:
      return "unsigned";
  }
}

std::string hls_parameters(const HlsPorts& ports, std::string_view separator) {
  std::vector<std::string> all;
  for (const HlsStream& s : streams_of(ports))
    all.push_back(fmt::format("hls::stream<ap_axiu<{}, 1, 1, 1> >& {}", s.bits, s.name));
  for (const HlsStream& s : ports.scalars) all.push_back(fmt::format("{} {}", hls_spelling(s.type), s.name));
  if (!ports.frame.fixed) all.insert(all.end(), {"int height", "int width"});
  all.emplace_back("int frames");
  return base::join(all, separator);
}

std::string hls_signature(const HlsPorts& ports, std::string_view separator) {
  return fmt::format("{} {}({})", ports.frame.fixed ? "void" : "int", ports.name, hls_parameters(ports, separator));
}

std::string hls_bench(const HlsPorts& ports) {
  const hardware::Frame& frame = ports.frame;
  std::string text = fmt::format(
      "// Feeds {0} frames and checks what comes back; `-I` names the headers of a tool, or Tessera's share/hls.\n"
      "//   g++ {1}-Wno-unknown-pragmas -I share/hls {0}.cpp {0}_test.cpp -o {0}_test && ./{0}_test --frames 2\n"
      "#include <ap_axi_sdata.h>\n#include <ap_int.h>\n#include <hls_stream.h>\n\n"
      "#if !defined(TESSERA_HLS) && !defined(TESSERA_PROCESS)\n#define TESSERA_PROCESS(...) __VA_ARGS__\n"
      "#define TESSERA_TICK()\n#define TESSERA_STREAM(type, name) hls::stream<type> name(#name)\n#endif\n\n",
      ports.name, ports.floats ? "-ffp-contract=off " : "");
  text += std::string(detail::hls_bench_text) + "\n";
  text += fmt::format("extern \"C\" {};\n\nint main(int count, char** words) {{\n", hls_signature(ports, ",\n    "));
  text += fmt::format(
      "  tessera_bench::bench b(count, words, \"{names}\", {height}, {width}, {fixed}, {least_height}, {least_width}, "
      "{lanes});\n",
      "names"_a = names(ports), "height"_a = ports.given.most[0], "width"_a = ports.given.most[1],
      "fixed"_a = frame.fixed, "least_height"_a = frame.fixed ? 1 : ports.least_height,
      "least_width"_a = frame.fixed ? 1 : ports.least_width, "lanes"_a = frame.lanes);
  const auto &unit = ports.given.unit, &rest = ports.given.rest;
  if (!frame.fixed && (unit[0] > 1 || unit[1] > 1))
    text += fmt::format("  b.check_units({rows}, {rows_rest}, {columns}, {columns_rest});\n", "rows"_a = unit[0],
                        "rows_rest"_a = rest[0], "columns"_a = unit[1], "columns_rest"_a = rest[1]);
  for (const HlsStream& s : streams_of(ports))
    text +=
        fmt::format("  const tessera_bench::image {port}_image = {{{rows}, {columns}, {bytes}}};\n", "port"_a = s.name,
                    "rows"_a = hls_points(s.grid.rows, "b.height", frame.fixed),
                    "columns"_a = hls_points(s.grid.columns, "b.width", frame.fixed), "bytes"_a = s.bits / 8 / s.lanes);
  for (const HlsStream& s : ports.inputs)
    text += fmt::format("  const tessera_bench::bytes {0}_bytes = b.input(\"{0}\", {0}_image, tessera_bench::{1});\n",
                        s.name, kind(s.type));
  for (const HlsStream& s : ports.results)
    text += fmt::format("  tessera_bench::bytes {0}_bytes(b.all_bytes({0}_image));\n", s.name);
  text += "  {\n";
  for (const HlsStream& s : streams_of(ports))
    text += fmt::format("    typedef ap_axiu<{0}, 1, 1, 1> {1}_words;\n    TESSERA_STREAM({1}_words, {1}_port);\n",
                        s.bits, s.name);
  text += "    {\n";
  for (const HlsStream& s : ports.inputs)
    text += fmt::format("      TESSERA_PROCESS(tessera_bench::feed<{1}>({0}_port, {0}_bytes, {0}_image, b));\n", s.name,
                        s.bits);
  const std::string call = fmt::format("::{}({})", ports.name, arguments(ports));
  text += fmt::format("      TESSERA_PROCESS(for (int k = 0; k < b.calls; ++k) {});\n",
                      frame.fixed ? call : fmt::format("b.wrong += {}", call));
  for (const HlsStream& s : ports.results)
    text += fmt::format("      TESSERA_PROCESS(tessera_bench::take<{1}>({0}_port, {0}_bytes, {0}_image, b));\n", s.name,
                        s.bits);
  text += "    }\n";
  for (const HlsStream& s : streams_of(ports))
    text += fmt::format("    tessera_bench::check_empty({0}_port, \"{0}\", b);\n", s.name);
  text += "  }\n";
  for (const HlsStream& s : ports.results) text += fmt::format("  b.output(\"{0}\", {0}_bytes);\n", s.name);
  return text + "  return tessera_bench::finish(b);\n}\n";
}

}  // namespace tessera::emit
