// `explain` for streaming hardware: facts of the netlist that would be printed, and what tools made of that very text.
//
// `./dev fpga` synthesises texts and writes what came of them to a file; a text is known again by its hash. The file is
// $TESSERA_FPGA, else fpga.json in the folder of the cache.
#include "tessera/hardware.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/files/cache.hpp"
#include "base/files/files.hpp"
#include "base/hash.hpp"
#include "base/text.hpp"
#include "engine/emit_hardware.hpp"
#include "engine/program_impl.hpp"

namespace tessera {

namespace {

using base::format_count;
using hardware::Facts;
using hardware::Lag;
using hardware::Port;
using hardware::ResultFacts;
using hardware::StageFacts;
using nlohmann::ordered_json;

constexpr std::int64_t most_bytes = 16 << 20;

struct Explained {
  std::string target, name, hash;
  Facts facts;
  ordered_json synthesised;  // null: this text was not
  std::string source;        // of that: a file, or why there is none
};

std::string file_of_synthesis() {
  if (const char* given = std::getenv("TESSERA_FPGA")) return given;
  const std::string folder = base::Cache(base::Cache::default_folder()).folder();
  return folder.empty() ? "" : folder + "/fpga.json";
}

void find_synthesis(Explained& e) {
  const std::string path = file_of_synthesis();
  std::error_code code;
  e.source = "not synthesised by ./dev fpga";
  if (path.empty() || !std::filesystem::exists(path, code)) return;
  const auto bad = [&] { e.source = fmt::format("{} cannot be read; ./dev fpga writes it again", path); };
  try {
    const ordered_json all = ordered_json::parse(base::read_text(path, most_bytes), nullptr, false);
    if (!all.is_object() || !all.contains("designs") || !all["designs"].is_array()) return bad();
    for (const ordered_json& design : all["designs"]) {
      if (!design.is_object() || design.value("text", ordered_json()) != e.hash) continue;
      const ordered_json found = design.value("synthesised", ordered_json());
      if (!found.is_object()) return bad();
      e.synthesised = found;
      const ordered_json date = all.value("date", ordered_json());
      e.source = fmt::format("{}{}", path, date.is_string() ? ", of " + date.get<std::string>() : "");
      return;
    }
    e.source = fmt::format("this text is not among those of {}", path);
  } catch (const Error&) {
    bad();
  }
}

// ---- text ----------------------------------------------------------------------------------------------------------

std::string some(i64 n, const std::string& one, const std::string& more = "") {
  return fmt::format("{} {}", format_count(n), n == 1 ? one : more.empty() ? one + "s" : more);
}

std::string number_of(const Port& port) {
  std::string text(name_of(port.type));
  if (port.bits.width != port.bytes() * 8) text += fmt::format(", {} bits", port.bits.width);
  if (port.fraction > 0) text += fmt::format(", {} of fraction", some(port.fraction, "bit"));
  if (port.fraction < 0) text += fmt::format(", a multiple of 2^{}", -port.fraction);
  if (port.error > 0) text += fmt::format(", at most {:.3g} from exact arithmetic", port.error);
  return text;
}

std::string lag_text(Lag lag) {
  const std::string rows = lag.rows != 0 ? some(lag.rows, "row") : "";
  if (lag.words == 0) return lag.rows == 0 ? "none" : rows;
  const std::string words = some(std::abs(lag.words), "word");
  return lag.rows == 0 ? words : fmt::format("{} {} {}", rows, lag.words < 0 ? "less" : "and", words);
}

class Text {
 public:
  explicit Text(const Explained& e) : e_(e), f_(e.facts) {}

  std::string run() {
    line("{}: {} of frames of {}{} x {}, {} a clock", e_.name, e_.target, f_.frame.fixed ? "" : "at most ",
         f_.frame.height, f_.frame.width, some(f_.frame.lanes, "point"));
    rates();
    ports();
    kept();
    arithmetic();
    stages();
    decisions();
    synthesis();
    return std::move(out_);
  }

 private:
  template <class... A>
  void line(fmt::format_string<A...> format, A&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<A>(args)...);
    out_ += '\n';
  }

  void rates() {
    const double each = static_cast<double>(f_.points()) / static_cast<double>(f_.ticks);
    line("a frame takes {}, {:.4g} point{} each{}", some(f_.ticks, "clock"), each, each == 1 ? "" : "s",
         f_.frame.words() < f_.frame.pitch()
             ? fmt::format("; rows of {} take {}", some(f_.frame.words(), "word"), some(f_.frame.pitch(), "clock"))
             : "");
    if (!f_.frame.fixed)
      line("height from {} to {}, width from {} to {}; figures are those of the largest", f_.least_height,
           f_.frame.height, f_.least_width, f_.frame.width);
  }

  void ports() {
    line("\nports");
    for (const Port& p : f_.inputs) line("  {} in: {}", p.name, number_of(p));
    for (const Port& p : f_.scalars) line("  {} for all of a frame: {}", p.name, number_of(p));
    for (const ResultFacts& r : f_.results) {
      line("  {} out: {}", r.port.name, number_of(r.port));
      if (r.clocks > 0)
        line("    the first word {} after the first one in ({}), one frame alone in {}", some(r.clocks, "clock"),
             some(r.ticks, "tick"), some(hardware::clocks_of(f_, r, 1), "clock"));
      else
        line("    the first word {} after the first one in", some(r.ticks, "tick"));
    }
  }

  void kept() {
    line("\nkept");
    std::string memories;
    for (const hardware::MemoryFacts& m : f_.memories)
      memories += fmt::format("{}{} x {}", memories.empty() ? ": " : ", ", m.words, m.bits);
    line("  line buffers: {} in {}{}", some(f_.memory_bits, "bit"),
         some(static_cast<i64>(f_.memories.size()), "memory", "memories"),
         f_.memories.size() == 1 ? memories + " bits" : memories);
    line("  shift registers: {}", some(f_.shift_bits, "bit"));
    if (f_.depth > 0)
      line("  pipeline: {} deep, {} that only wait", some(f_.depth, "clock"), some(f_.waiting_bits, "bit"));
  }

  void arithmetic() {
    line("\ncomputed a clock");
    line("  {}, {}, {}, {}, {}, {}, {}", some(f_.adders, "addition"), some(f_.multipliers, "product"),
         some(f_.dividers, "division"), some(f_.roots, "root"), some(f_.comparisons, "comparison"),
         some(f_.selections, "selection"), some(f_.tables, "look-up"));
    if (f_.functions > 0) line("  {} of floats", some(f_.functions, "function"));
    if (f_.table_bits > 0) line("  tables: {}", some(f_.table_bits, "bit"));
  }

  void stages() {
    line("\nstages");
    for (const StageFacts& s : f_.stages) {
      std::string what =
          fmt::format("  {}: {}{}, {}", s.name, s.kind, s.returned ? " and returned" : "", some(s.bits.width, "bit"));
      if (s.fraction != 0) what += fmt::format(" with {} of fraction", s.fraction);
      if (s.error > 0) what += fmt::format(", error {:.3g}", s.error);
      if (s.kind != "repeated") {
        what += fmt::format(", lags {}", lag_text(s.lag));
        if (s.kept_bits > 0) what += fmt::format(", keeps {}: {}", lag_text(s.kept), some(s.kept_bits, "bit"));
      }
      if (s.adders > 0) what += "; " + some(s.adders, "addition");
      if (s.multipliers > 0) what += (s.adders > 0 ? ", " : "; ") + some(s.multipliers, "product");
      if (s.turns > 1 && s.multipliers > 0) what += fmt::format(" that {} ticks share", s.turns);
      line("{}", what);
    }
  }

  void decisions() {
    if (f_.decisions.empty()) return;
    line("\ndecided by values with errors: another result may come out where they are so close to a limit");
    for (const hardware::Decision& d : f_.decisions)
      line("  {} {}: {:.3g}", d.stage.empty() ? "result" : d.stage, d.what, d.error);
  }

  void synthesis() {
    line("\nsynthesised ({})", e_.source);
    if (e_.synthesised.is_object())
      for (const auto& [device, counts] : e_.synthesised.items()) {
        std::string text;
        if (counts.is_object())
          for (const auto& [what, n] : counts.items())
            text +=
                fmt::format("{}{} {}", text.empty() ? "" : ", ", what, n.is_string() ? n.get<std::string>() : n.dump());
        line("  {}: {}", device, text);
      }
  }

  const Explained& e_;
  const Facts& f_;
  std::string out_;
};

// ---- JSON ----------------------------------------------------------------------------------------------------------

ordered_json port_json(const Port& p) {
  return {{"name", p.name},       {"type", name_of(p.type)},    {"bytes", p.bytes()},
          {"bits", p.bits.width}, {"signed", p.bits.is_signed}, {"fraction", p.fraction},
          {"error", p.error}};
}

ordered_json stream_json(const Facts& f, const Port& p) {
  ordered_json j = port_json(p);
  j["height"] = p.grid.rows.points(f.given.most[0]);
  j["width"] = p.grid.columns.points(f.given.most[1]);
  j["points_a_word"] = f.frame.lanes_of(p.grid);
  return j;
}

ordered_json lag_json(Lag lag) {
  return {{"rows", lag.rows}, {"words", lag.words}};
}

ordered_json stage_json(const StageFacts& s) {
  ordered_json j = {{"name", s.name},
                    {"kind", s.kind},
                    {"returned", s.returned},
                    {"bits", s.bits.width},
                    {"signed", s.bits.is_signed},
                    {"fraction", s.fraction},
                    {"error", s.error},
                    {"additions", s.adders},
                    {"products", s.multipliers}};
  if (s.kind == "repeated") return j;
  j["lag"] = lag_json(s.lag);
  j["kept"] = lag_json(s.kept);
  j["kept_bits"] = s.kept_bits;
  j["turns"] = s.turns;
  return j;
}

ordered_json known(i64 n) {
  return n > 0 ? ordered_json(n) : ordered_json();
}

ordered_json json_of(const Explained& e) {
  const Facts& f = e.facts;
  ordered_json inputs = ordered_json::array(), scalars = inputs, results = inputs, memories = inputs, stages = inputs;
  for (const Port& p : f.inputs) inputs.push_back(stream_json(f, p));
  for (const Port& p : f.scalars) scalars.push_back(port_json(p));
  for (const ResultFacts& r : f.results) {
    ordered_json j = stream_json(f, r.port);
    j["latency_ticks"] = r.ticks;
    j["latency_clocks"] = known(r.clocks);
    j["clocks_of_one_frame"] = r.clocks > 0 ? ordered_json(hardware::clocks_of(f, r, 1)) : ordered_json();
    results.push_back(std::move(j));
  }
  for (const hardware::MemoryFacts& m : f.memories) memories.push_back({{"words", m.words}, {"bits", m.bits}});
  for (const StageFacts& s : f.stages) stages.push_back(stage_json(s));
  ordered_json decisions = ordered_json::array();
  for (const hardware::Decision& d : f.decisions)
    decisions.push_back({{"stage", d.stage}, {"what", d.what}, {"error", d.error}});
  return {{"target", e.target},
          {"name", e.name},
          {"height", f.frame.height},
          {"width", f.frame.width},
          {"fixed", f.frame.fixed},
          {"least_height", f.least_height},
          {"least_width", f.least_width},
          {"points_a_clock", f.frame.lanes},
          {"words_a_row", f.frame.words()},
          {"clocks_a_row", f.frame.pitch()},
          {"clocks_a_frame", f.ticks},
          {"inputs", inputs},
          {"scalars", scalars},
          {"results", results},
          {"line_buffer_bits", f.memory_bits},
          {"memories", memories},
          {"shift_register_bits", f.shift_bits},
          {"pipeline_clocks", known(f.depth)},
          {"waiting_bits", f.waiting_bits},
          {"additions", f.adders},
          {"products", f.multipliers},
          {"divisions", f.dividers},
          {"roots", f.roots},
          {"functions", f.functions},
          {"comparisons", f.comparisons},
          {"selections", f.selections},
          {"look_ups", f.tables},
          {"table_bits", f.table_bits},
          {"error_decided", f.decided},
          {"decisions", decisions},
          {"stages", stages},
          {"text", e.hash},
          {"synthesised", e.synthesised},
          {"synthesised_from", e.source}};
}

}  // namespace

std::string explain_hardware(const Program& program, const EmitOptions& options, ExplainFormat format) {
  if (!engine::is_hardware(options.target))
    throw Error(ErrorClass::argument,
                fmt::format("target {} is no hardware; expected hls or verilog", base::quoted(options.target)));
  if (format == ExplainFormat::svg)
    throw Error(ErrorClass::argument, fmt::format("there is no picture of target {}", options.target), {},
                "ask for text or JSON");
  Explained e;
  e.target = options.target, e.name = options.name;
  const EmittedCode code = engine::hardware_files(program.impl().graph, options, &e.facts);
  e.hash = base::to_hex(base::Hasher().text(code.source).finish());
  find_synthesis(e);
  return format == ExplainFormat::json ? json_of(e).dump(2) + "\n" : Text(e).run();
}

}  // namespace tessera
