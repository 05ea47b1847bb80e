// A netlist as HLS C++ (docs/fpga.md, "HLS").
//
// The top function is a region of processes: one for every input, which lays words at ticks, one that computes in a
// single loop over all ticks, one for every result, which passes on what is a word of the image. The loop reads what
// its state holds, computes every signal once as a constant of its exact width, and moves the state on: memories, shift
// registers, positions. A loop of one tick per iteration has nothing to drain between rows or frames, and its only
// recurrences are counters.
//
// Delay lines whose pieces are equally long and belong to one stage lie side by side in one memory: one read and one
// write a tick. Those of different stages do not, for a word must be written before it is read again, however many
// clocks the values of one stage come after those of another.
#include "emit/hls/hls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "base/text.hpp"
#include "emit/decision_notes.hpp"
#include "emit/hardware_notes.hpp"
#include "emit/hls/bench.hpp"
#include "emit/hls/values.hpp"
#include "emit/names.hpp"
#include "hardware/netlist/delay_lines.hpp"
#include "tessera/error.hpp"

namespace tessera::emit {

using hardware::Bits;
using hardware::DelayLines;
using hardware::DelayPiece;
using hardware::Lag;
using hardware::Netlist;
using hardware::Node;
using hardware::NodeId;
using hardware::Signal;
using namespace fmt::literals;

namespace detail {
extern const std::string_view hls_parts_text;
}

namespace {

constexpr int widest_word = 1024;  // of a memory: what ap_uint has at most unless it is told otherwise

int element_bits(const hardware::Port& port) {
  return port.bytes() * 8;
}

void check_top_name(const std::string& name) {
  check_entry_name(name);
  for (const std::string_view taken : {"hls", "ap_int", "ap_uint", "ap_axiu", "tessera_streaming", "tessera_bench"})
    if (name == taken)
      throw Error(ErrorClass::argument,
                  fmt::format("the top function cannot be called {}: headers of the tools or the emitted code have "
                              "that name",
                              base::quoted(name)),
                  {}, "name it otherwise, as in --name my_filter");
}

// By node, the stage that it belongs to: what the past of different stages is kept apart by.
std::vector<int> stages_of(const Netlist& netlist) {
  std::vector<int> stages;
  for (std::uint32_t k = 0; k < netlist.size(); ++k) stages.push_back(static_cast<int>(netlist.node({k}).stage));
  return stages;
}

class Printer {
 public:
  Printer(const Netlist& all, const HlsOptions& options)
      : netlist_(living(all)),
        options_(options),
        frame_(netlist_.frame),
        values_(netlist_),
        lines_(delay_lines(netlist_, stages_of(netlist_))) {
    check_top_name(options.name);
    ports_.name = options.name;
    ports_.frame = frame_;
    ports_.least_height = netlist_.least_height;
    ports_.least_width = hardware::least_width(netlist_, lines_);
    ports_.given = netlist_.given;
    hardware::check_extents(netlist_, lines_);
    name_ports();
    for (std::uint32_t k = 0; k < netlist_.size(); ++k) {
      const Signal op = netlist_.node({k}).op;
      floats_ |= op == Signal::float_unary || op == Signal::float_binary;
    }
    ports_.floats = floats_;
    for (const hardware::Result& r : netlist_.results) flush_ = std::max(flush_, netlist_.ticks(r.lag));
  }

  HlsFiles run() {
    HlsFiles files;
    const std::string body = compute();
    files.source = head() + std::string(detail::hls_parts_text) + "\n" + body + top();
    files.header = header();
    files.bench = hls_bench(ports_);
    for (const Memory& m : memories_) files.memories.push_back({netlist_.ticks(m.length), m.width});
    for (const Line& line : coarse_)
      files.memories.push_back({netlist_.ticks(line.memory.length) / line.memory.step, line.memory.width});
    return files;
  }

 private:
  // ---- names and sizes ---------------------------------------------------------------------------------------------

  // What the top function names after a port ends with `_ticks`, or is called after the program.
  void name_ports() {
    std::vector<std::string> taken = {
        "height", "width", "frames", options_.name, options_.name + "_compute", options_.name + "_frames"};
    for (const char* type : {"hls", "ap_uint", "ap_int", "ap_axiu", "tessera_streaming"}) taken.emplace_back(type);
    const auto fresh = [&](const std::string& wanted) {
      std::string name = hls_name(wanted);
      while (name.ends_with("_ticks") || std::find(taken.begin(), taken.end(), name) != taken.end()) name += '_';
      taken.push_back(name);
      return name;
    };
    const auto stream = [&](const hardware::Port& port) {
      const int lanes = netlist_.lanes(port.grid);
      return HlsStream{fresh(port.name), element_bits(port) * lanes, port.type, lanes, port.grid};
    };
    for (const hardware::Port& port : netlist_.inputs) ports_.inputs.push_back(stream(port));
    for (const hardware::Result& r : netlist_.results) ports_.results.push_back(stream(r.port));
    for (const hardware::Port& port : netlist_.scalars)
      ports_.scalars.push_back({fresh(port.name), 0, port.type, 1, {}});
  }

  std::string ticks_text(Lag lag) {
    if (frame_.fixed || lag.rows == 0) return fmt::format("{}", netlist_.ticks(lag));
    pitch_is_read_ = true;
    const std::string rows = lag.rows == 1 ? "pitch" : fmt::format("{} * pitch", lag.rows);
    if (lag.words == 0) return rows;
    return fmt::format("{} {} {}", rows, lag.words < 0 ? "-" : "+", std::abs(lag.words));
  }

  static Bits counter(i64 most) { return hardware::bits_of(0, static_cast<double>(most)); }

  // ---- the file ----------------------------------------------------------------------------------------------------

  std::string head() const {
    std::string text = fmt::format(
        "// {name}: {lanes} {pixels} a clock, frames of {at_most}{height} x {width}.\n// Written by Tessera.\n",
        "name"_a = options_.name, "lanes"_a = frame_.lanes, "pixels"_a = frame_.lanes == 1 ? "pixel" : "pixels",
        "at_most"_a = frame_.fixed ? "" : "at most ", "height"_a = frame_.height, "width"_a = frame_.width);
    text += hardware_notes(netlist_, lines_);
    if (!frame_.fixed)
      text += fmt::format("// {}. Of others a call returns 1, and takes and gives nothing.\n",
                          extents_notes(netlist_, lines_));
    text += decision_notes(netlist_);
    text +=
        "//\n// Streams carry pixels in rows, the first one in the low bits. A call takes `frames` frames, one after "
        "the\n"
        "// other, and gives as many. The side channels of inputs are not looked at.\n"
        "#include <ap_axi_sdata.h>\n#include <ap_int.h>\n";
    text += fmt::format("{}#include <hls_stream.h>\n\n", floats_ ? "#include <hls_math.h>\n" : "");
    return text;
  }

  std::string header() const {
    return fmt::format(
        "#pragma once\n#include <ap_axi_sdata.h>\n#include <ap_int.h>\n#include <hls_stream.h>\n\nextern \"C\" {};\n",
        hls_signature(ports_, ", "));
  }

  // Extents at run time are looked at before the processes begin.
  std::string top() const {
    const std::string interface =
        fmt::format("extern \"C\" {} {{\n{}", hls_signature(ports_, ",\n    "), interface_pragmas());
    if (frame_.fixed) return interface + "#pragma HLS DATAFLOW\n" + processes() + "}\n";
    std::vector<std::string> given;
    for (const auto* list : {&ports_.inputs, &ports_.results, &ports_.scalars})
      for (const HlsStream& s : *list) given.push_back(s.name);
    given.insert(given.end(), {"height", "width", "frames"});
    return fmt::format(
        "static void {name}_frames({parameters}) {{\n#pragma HLS DATAFLOW\n{processes}}}\n\n"
        "{interface}  if ({misfit}) return 1;\n  {name}_frames({given});\n  return 0;\n}}\n",
        "name"_a = options_.name, "parameters"_a = hls_parameters(ports_, ",\n    "), "processes"_a = processes(),
        "interface"_a = interface, "misfit"_a = hls_misfit(ports_), "given"_a = base::join(given, ", "));
  }

  std::string interface_pragmas() const {
    std::string text;
    for (const auto* list : {&ports_.inputs, &ports_.results})
      for (const HlsStream& s : *list) text += fmt::format("#pragma HLS INTERFACE axis port={}\n", s.name);
    for (const HlsStream& s : ports_.scalars) text += fmt::format("#pragma HLS INTERFACE s_axilite port={}\n", s.name);
    if (!frame_.fixed)
      text += "#pragma HLS INTERFACE s_axilite port=height\n#pragma HLS INTERFACE s_axilite port=width\n";
    return text + "#pragma HLS INTERFACE s_axilite port=frames\n#pragma HLS INTERFACE s_axilite port=return\n";
  }

  std::string processes() const {
    std::string text, given;
    for (const auto* list : {&ports_.inputs, &ports_.results})
      for (const HlsStream& s : *list) {
        text +=
            fmt::format("  TESSERA_STREAM(ap_uint<{0}>, {1}_ticks);\n#pragma HLS STREAM variable={1}_ticks depth=2\n",
                        s.bits, s.name);
        given += fmt::format("{}_ticks, ", s.name);
      }
    for (const HlsStream& s : ports_.scalars) given += s.name + ", ";
    // Lags of run-time extents are known where the pitch is: the processes take rows and words.
    const auto lag = [&](Lag l) { return fmt::format("{}, {}", l.rows, l.words); };
    const auto place = [&](const HlsStream& s) {
      return fmt::format("tessera_streaming::place<{}, {}>", s.grid.rows.rate, netlist_.word_step(s.grid));
    };
    const auto rows = [&](const HlsStream& s) { return hls_points(s.grid.rows, "height", frame_.fixed); };
    const auto columns = [&](const HlsStream& s) { return hls_points(s.grid.columns, "width", frame_.fixed); };
    for (const HlsStream& s : ports_.inputs)
      text += fmt::format(
          "  TESSERA_PROCESS(tessera_streaming::lay_at_ticks<{bits}, {place} >({port}, {port}_ticks, {extents}, "
          "{rows}, "
          "({columns} + {lanes_but_one}) / {lanes}, {last}));\n",
          "bits"_a = s.bits, "place"_a = place(s), "port"_a = s.name, "extents"_a = extents_text(), "rows"_a = rows(s),
          "columns"_a = columns(s), "lanes_but_one"_a = s.lanes - 1, "lanes"_a = s.lanes, "last"_a = lag(last_lag()));
    text += fmt::format("  TESSERA_PROCESS({}_compute({}{}));\n", options_.name, given,
                        frame_.fixed ? "frames" : "height, width, frames");
    for (std::size_t r = 0; r < ports_.results.size(); ++r) {
      const HlsStream& s = ports_.results[r];
      text += fmt::format(
          "  TESSERA_PROCESS(tessera_streaming::pass_words_on<{bits}, {lanes}, {place} >({port}_ticks, {port}, "
          "{extents}, "
          "{rows}, {columns}, {own}, {last}));\n",
          "bits"_a = s.bits, "lanes"_a = s.lanes, "place"_a = place(s), "port"_a = s.name, "extents"_a = extents_text(),
          "rows"_a = rows(s), "columns"_a = columns(s), "own"_a = lag(netlist_.results[r].lag),
          "last"_a = lag(last_lag()));
    }
    return text;
  }

  std::string extents_text() const {
    return fmt::format("tessera_streaming::extents_of<{lanes}, {row_unit}, {word_unit}>({high}, {wide}, frames)",
                       "lanes"_a = frame_.lanes, "row_unit"_a = frame_.row_unit, "word_unit"_a = frame_.word_unit,
                       "high"_a = hls_fine(netlist_.given.high, "height", frame_.fixed),
                       "wide"_a = hls_fine(netlist_.given.wide, "width", frame_.fixed));
  }

  Lag last_lag() const {
    Lag last;
    for (const hardware::Result& r : netlist_.results)
      if (netlist_.ticks(r.lag) >= netlist_.ticks(last)) last = r.lag;
    return last;
  }

  // ---- state -------------------------------------------------------------------------------------------------------

  struct Place {  // of a piece in a memory
    std::size_t memory;
    int low;
  };
  struct Memory {
    int width = 0;
    Lag length;
    std::string next;  // statements that put its next word together
  };

  // What stands at the end of a piece, as text: a delay, or what the next of several pieces of one takes.
  std::string end_of(const hardware::DelayLine& line, std::size_t piece) const {
    for (const auto& [tap, at] : line.taps)
      if (at == piece) return values_.text({tap});
    return fmt::format("between{}_{}", line.source.id, piece);
  }

  std::string before(const hardware::DelayLine& line, std::size_t piece) const {
    return piece == 0 ? values_.text(line.source) : end_of(line, piece - 1);
  }

  void read_end(const hardware::DelayLine& line, std::size_t piece, const std::string& text) {
    for (const auto& [tap, at] : line.taps)
      if (at == piece) {
        reads_[tap] = text;
        return;
      }
    between_ +=
        fmt::format("    const {} {} = {};\n", hls_type(netlist_.node(line.source).bits), end_of(line, piece), text);
  }

  // Bits of the word that a memory takes next.
  static std::string part_of_next(std::string_view kind, std::size_t memory, int high, int low,
                                  const std::string& value) {
    return fmt::format("    {kind}{memory}_next.range({high}, {low}) = {value};\n", "kind"_a = kind,
                       "memory"_a = memory, "high"_a = high, "low"_a = low, "value"_a = value);
  }

  // A memory of `most` words that is written `least` ticks before it is read, and the place where both happen.
  std::string declared_memory(std::string_view kind, std::size_t memory, int width, i64 most, i64 least) const {
    return fmt::format(
        "  TESSERA_MEMORY(ap_uint<{width}>, {name}_{kind}{memory}, {most}, {least});\n"
        "#pragma HLS BIND_STORAGE variable={name}_{kind}{memory} type=ram_s2p\n"
        "#pragma HLS DEPENDENCE variable={name}_{kind}{memory} type=inter direction=RAW distance={least} "
        "dependent=true\n"
        "  {counter} {kind}{memory}_at = 0;\n",
        "width"_a = width, "name"_a = options_.name, "kind"_a = kind, "memory"_a = memory, "most"_a = most,
        "least"_a = least, "counter"_a = hls_type(counter(most - 1)));
  }

  // Gives every piece a memory or an array of registers, and every delay its text.
  void lay_out() {
    std::map<int, std::size_t> open;  // the memory of this kind that has room
    for (const hardware::DelayLine& line : lines_.lines) {
      const Bits bits = netlist_.node(line.source).bits;
      for (std::size_t p = 0; p < line.pieces.size(); ++p) {
        const DelayPiece& piece = line.pieces[p];
        if (piece.memory < 0) {
          const std::string past = end_of(line, p) + "_past";
          registers_ += fmt::format(
              "  static {type} {past}[{length}];\n#pragma HLS ARRAY_PARTITION variable={past} type=complete\n",
              "type"_a = hls_type(bits), "past"_a = past, "length"_a = netlist_.ticks(piece.length));
          moves_ += fmt::format("    tessera_streaming::move_on({}, {});\n", past, before(line, p));
          read_end(line, p, fmt::format("{}[{}]", past, netlist_.ticks(piece.length) - 1));
          continue;
        }
        const auto [it, fresh] = open.try_emplace(piece.memory, memories_.size());
        if (!fresh && memories_[it->second].width + bits.width > widest_word) it->second = memories_.size();
        if (it->second == memories_.size()) memories_.push_back({0, piece.length, ""});
        Memory& memory = memories_[it->second];
        const int low = memory.width, high = low + bits.width - 1;
        memory.width += bits.width;
        memory.next += part_of_next("lines", it->second, high, low, before(line, p));
        read_end(line, p, fmt::format("lines{}_word.range({}, {})", it->second, high, low));
      }
    }
  }
  // Lines of images that are coarser than the frame: read and written where they stand alone.
  struct Line {
    hardware::LineMemory memory;
    int low = 0;  // of the next element
    bool is_read = false;
    std::string next;
  };
  void lay_out_coarse() {
    for (const hardware::LineMemory& all : line_memories(netlist_, stages_of(netlist_))) {
      std::size_t room = coarse_.size();
      for (const NodeId n : all.lines) {
        const int width = netlist_.node(n).bits.width;
        if (room == coarse_.size() || coarse_[room].memory.width + width > widest_word) {
          room = coarse_.size();
          coarse_.push_back({all, 0, false, ""});
          coarse_[room].memory.width = 0;
        }
        const int low = coarse_[room].memory.width, high = low + width - 1;
        coarse_[room].memory.width += width;
        coarse_[room].next += part_of_next("rows", room, high, low, values_.text(netlist_.node(n).args[0]));
        coarse_at_[n.id] = room;
        reads_[n.id] = fmt::format("rows{}_word.range({}, {})", room, high, low);
      }
    }
    for (std::uint32_t k = 0; k < netlist_.size(); ++k) {
      const Node& node = netlist_.node({k});
      if (node.op != Signal::held) continue;
      const std::string past = values_.name({k}) + "_past";
      registers_ += fmt::format("  static {} {};\n", hls_type(node.bits), past);
      moves_ += fmt::format("    if ({}) {} = {};\n", values_.text(node.args[1]), past, values_.text(node.args[0]));
      reads_[k] = past;
    }
  }

  std::string read_coarse(std::uint32_t k) {
    Line& line = coarse_[coarse_at_.at(k)];
    if (std::exchange(line.is_read, true)) return "";
    return fmt::format(
        "    ap_uint<{width}> rows{memory}_word = 0;\n"
        "    if ({steps}) rows{memory}_word = {name}_rows{memory}[rows{memory}_at.to_int()];\n",
        "width"_a = line.memory.width, "memory"_a = coarse_at_.at(k), "steps"_a = values_.text(line.memory.steps),
        "name"_a = options_.name);
  }

  std::string declared_coarse() {
    std::string text;
    for (std::size_t m = 0; m < coarse_.size(); ++m) {
      const hardware::LineMemory& line = coarse_[m].memory;
      const i64 most = netlist_.ticks(line.length) / line.step;
      const i64 least =
          frame_.fixed ? netlist_.ticks(line.length) : line.length.rows * lines_.least_pitch + line.length.words;
      text += declared_memory("rows", m, line.width, most, least);
      if (!frame_.fixed)
        text += fmt::format("  const int rows{}_last = ({}) / {} - 1;\n", m, ticks_text(line.length), line.step);
    }
    return text;
  }

  std::string moved_coarse() const {
    std::string text;
    for (std::size_t m = 0; m < coarse_.size(); ++m) {
      const hardware::LineMemory& line = coarse_[m].memory;
      const i64 most = netlist_.ticks(line.length) / line.step;
      const std::string last = frame_.fixed ? fmt::format("{}", most - 1) : fmt::format("rows{}_last", m);
      text += fmt::format(
          "    ap_uint<{width}> rows{memory}_next = 0;\n{next}"
          "    if ({writes}) {name}_rows{memory}[rows{memory}_at.to_int()] = rows{memory}_next;\n"
          "    if ({steps}) rows{memory}_at = rows{memory}_at == {last} ? {counter}(0) : {counter}(rows{memory}_at + "
          "1);\n",
          "width"_a = line.width, "memory"_a = m, "next"_a = coarse_[m].next, "writes"_a = values_.text(line.writes),
          "name"_a = options_.name, "steps"_a = values_.text(line.steps), "last"_a = last,
          "counter"_a = hls_type(counter(most - 1)));
    }
    return text;
  }

  std::string declared_memories() {
    std::string text;
    for (std::size_t m = 0; m < memories_.size(); ++m) {
      const Lag length = memories_[m].length;
      const i64 most = netlist_.ticks(length);
      const i64 least = frame_.fixed ? most : length.rows * lines_.least_pitch + length.words;
      text += declared_memory("lines", m, memories_[m].width, most, least);
      if (!frame_.fixed) text += fmt::format("  const int lines{}_last = {} - 1;\n", m, ticks_text(length));
    }
    return text;
  }

  std::string moved_memories() const {
    std::string text;
    for (std::size_t m = 0; m < memories_.size(); ++m) {
      const i64 most = netlist_.ticks(memories_[m].length);
      const std::string last = frame_.fixed ? fmt::format("{}", most - 1) : fmt::format("lines{}_last", m);
      const std::string type = hls_type(counter(most - 1));
      text += fmt::format(
          "    ap_uint<{width}> lines{memory}_next = 0;\n{next}"
          "    {name}_lines{memory}[lines{memory}_at.to_int()] = lines{memory}_next;\n",
          "width"_a = memories_[m].width, "memory"_a = m, "next"_a = memories_[m].next, "name"_a = options_.name);
      text += fmt::format("    lines{0}_at = lines{0}_at == {1} ? {2}(0) : {2}(lines{0}_at + 1);\n", m, last, type);
    }
    return text;
  }

  // ---- positions ---------------------------------------------------------------------------------------------------

  i64 longest_position() const {
    i64 most = 0;
    for (const Lag lag : values_.positions().lags()) most = std::max(most, netlist_.ticks(lag));
    return most;
  }

  std::string declared_positions() {
    std::string text;
    const auto& lags = values_.positions().lags();
    if (longest_position() > 0)
      text += fmt::format("  {} passed = 0;  // ticks, as far as they are asked for\n",
                          hls_type(counter(longest_position())));
    if (!frame_.fixed && longest_position() > 0) {
      text += "  int longest = 0;\n";
      for (const Lag lag : lags) text += fmt::format("  if ({0} > longest) longest = {0};\n", ticks_text(lag));
    }
    for (std::size_t k = 0; k < lags.size(); ++k)
      text += fmt::format("  {rows} at{k}_row = 0;\n  {words} at{k}_word = 0;  // {ticks} ticks back\n", "k"_a = k,
                          "rows"_a = hls_type(counter(frame_.rows() - 1)),
                          "words"_a = hls_type(counter(frame_.pitch() - 1)), "ticks"_a = ticks_text(lags[k]));
    return text;
  }

  std::string read_positions() {
    std::string text;
    const auto& lags = values_.positions().lags();
    for (std::size_t k = 0; k < lags.size(); ++k)
      text += netlist_.ticks(lags[k]) == 0
                  ? fmt::format("    const bool at{}_there = true;\n", k)
                  : fmt::format("    const bool at{}_there = passed >= {};\n", k, ticks_text(lags[k]));
    return text;
  }

  std::string moved_positions() {
    std::string text;
    const auto& lags = values_.positions().lags();
    pitch_is_read_ |= !frame_.fixed && !lags.empty();
    for (std::size_t k = 0; k < lags.size(); ++k)
      text += fmt::format("    tessera_streaming::next_position(at{0}_word, at{0}_row, at{0}_there, {1});\n", k,
                          frame_.fixed ? fmt::format("{}, {}", frame_.pitch(), frame_.rows()) : "pitch, extents.rows");
    if (longest_position() > 0)
      text += fmt::format("    if (passed != {}) ++passed;\n",
                          frame_.fixed ? fmt::format("{}", longest_position()) : "longest");
    return text;
  }

  // ---- the loop ----------------------------------------------------------------------------------------------------

  std::string statements() {
    std::string text;
    std::uint32_t stage = 0xffffffff;
    for (std::uint32_t k = 0; k < netlist_.size(); ++k) {
      const Node& node = netlist_.node({k});
      if (!values_.has_statement({k})) continue;
      if (node.stage != stage) {
        stage = node.stage;
        const std::string name = stage < netlist_.stages.size() ? netlist_.stages[stage] : "";
        text += fmt::format("\n    // {}\n", name.empty() ? "result" : name);
      }
      std::string value;
      if (node.op == Signal::line) text += read_coarse(k);
      if (reads_.contains(k))
        value = reads_.at(k);
      else if (node.op == Signal::input)
        value = lane_of(node);
      else
        value = values_.expression({k});
      text += fmt::format("    const {} {} = {};\n", values_.type({k}), values_.name({k}), value);
    }
    return text;
  }

  std::string lane_of(const Node& node) const {
    const auto which = static_cast<std::size_t>(node.value);
    const int bits = element_bits(netlist_.inputs[which]);
    return fmt::format("{}_now.range({}, {})", ports_.inputs[which].name,
                       node.lane * bits + std::min(bits, node.bits.width) - 1, node.lane * bits);
  }

  std::string written_results() const {
    std::string text;
    for (std::size_t r = 0; r < ports_.results.size(); ++r) {
      const hardware::Result& result = netlist_.results[r];
      const int bits = element_bits(result.port);
      text += fmt::format("    ap_uint<{}> {}_out = 0;\n", ports_.results[r].bits, ports_.results[r].name);
      for (int lane = 0; lane < ports_.results[r].lanes; ++lane) {
        const NodeId n = result.lanes[static_cast<std::size_t>(lane)];
        text += fmt::format("    {port}_out.range({high}, {low}) = {type}({value});\n",
                            "port"_a = ports_.results[r].name, "high"_a = (lane + 1) * bits - 1, "low"_a = lane * bits,
                            "type"_a = hls_type({netlist_.node(n).bits.is_signed, bits}), "value"_a = values_.text(n));
      }
      text += fmt::format("    {0}_ticks.write({0}_out);\n", ports_.results[r].name);
    }
    return text;
  }

  std::string read_inputs() const {
    std::vector<bool> used(ports_.inputs.size(), false);
    for (std::uint32_t k = 0; k < netlist_.size(); ++k)
      if (netlist_.node({k}).op == Signal::input) used[static_cast<std::size_t>(netlist_.node({k}).value)] = true;
    std::string text;
    for (std::size_t k = 0; k < ports_.inputs.size(); ++k)
      text += used[k] ? fmt::format("    const ap_uint<{0}> {1}_now = {1}_ticks.read();\n", ports_.inputs[k].bits,
                                    ports_.inputs[k].name)
                      : fmt::format("    {}_ticks.read();\n", ports_.inputs[k].name);
    return text;
  }

  std::string compute() {
    lay_out();
    lay_out_coarse();
    const std::string loop = statements();  // enters the positions that it asks for
    std::vector<std::string> given;
    for (const auto* list : {&ports_.inputs, &ports_.results})
      for (const HlsStream& s : *list)
        given.push_back(fmt::format("hls::stream<ap_uint<{}> >& {}_ticks", s.bits, s.name));
    for (std::size_t k = 0; k < netlist_.scalars.size(); ++k)
      given.push_back(fmt::format("{} {}", hls_spelling(netlist_.scalars[k].type), values_.scalar(k)));
    if (!frame_.fixed) given.insert(given.end(), {"int height", "int width"});
    given.emplace_back("int frames");
    const std::string state =
        values_.tables() + declared_memories() + declared_coarse() + registers_ + declared_positions();
    std::string text = fmt::format(
        "  for (tessera_streaming::count n = 0; n < ticks; ++n) {{\n#pragma HLS PIPELINE II=1\n"
        "#pragma HLS LOOP_TRIPCOUNT max={}\n    TESSERA_TICK();\n",
        frame_.rows() * frame_.pitch() + flush_);
    text += read_inputs();
    for (std::size_t m = 0; m < memories_.size(); ++m)
      text += fmt::format("    const ap_uint<{0}> lines{1}_word = {2}_lines{1}[lines{1}_at.to_int()];\n",
                          memories_[m].width, m, options_.name);
    text += between_ + read_positions() + loop + "\n    // results\n" + written_results();
    const std::string moves = moved_memories() + moved_coarse() + moves_ + moved_positions();
    if (!moves.empty()) text += "\n    // state, a tick on\n" + moves;
    const std::string all = ticks_text(last_lag());
    return fmt::format(
               "static void {name}_compute({given}) {{\n"
               "  const tessera_streaming::extents extents = {extents};\n{pitch}"
               "  const tessera_streaming::count ticks = extents.ticks + ap_uint<48>({all});\n",
               "name"_a = options_.name, "given"_a = base::join(given, ",\n    "), "extents"_a = extents_text(),
               "pitch"_a = pitch_is_read_ ? "  const int pitch = extents.pitch;  // ticks a row\n" : "",
               "all"_a = all) +
           state + text + "  }\n}\n\n";
  }

  Netlist netlist_;
  const HlsOptions& options_;
  hardware::Frame frame_;
  HlsValues values_;
  DelayLines lines_;
  i64 flush_ = 0;
  bool floats_ = false;
  bool pitch_is_read_ = false;  // of rows whose length is known when it runs
  HlsPorts ports_;
  std::vector<Memory> memories_;
  std::vector<Line> coarse_;
  std::map<std::uint32_t, std::size_t> coarse_at_;
  std::map<std::uint32_t, std::string> reads_;  // of delays
  std::string registers_, moves_, between_;
};

}  // namespace

HlsFiles print_hls(const Netlist& netlist, const HlsOptions& options) {
  return Printer(netlist, options).run();
}

}  // namespace tessera::emit
