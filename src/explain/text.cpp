// `explain` for the terminal: a line of totals, then a block per group in the order in which groups run.
#include "base/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "explain/report.hpp"
#include "explain/words.hpp"

namespace tessera::explain {

using ir::StageId;

namespace {

constexpr std::size_t most_reasons = 12;  // of a group; JSON has all of them
constexpr std::size_t most_names = 12;

// Lines as they are, one for all that are equal: planes of a photograph are treated alike. What is folded is one
// sentence.
std::vector<std::string> each_once(const std::vector<std::string>& all) {
  constexpr std::string_view folded = " is computed inside its consumers";
  std::vector<std::string> lines, stages;
  std::map<std::string, int> times;
  std::size_t place = 0;  // of the sentence
  for (const std::string& text : all) {
    const bool fold = text.ends_with(folded);
    const std::string item = fold ? text.substr(0, text.size() - folded.size()) : text;
    if (times[text]++ > 0) continue;
    if (fold && stages.empty()) place = lines.size();
    (fold ? stages : lines).push_back(item);
  }
  const auto counted = [&](const std::string& item, const std::string& text) {
    return times[text] == 1 ? item : fmt::format("{} ({} times)", item, times[text]);
  };
  for (std::string& text : lines) text = counted(text, text);
  if (stages.empty()) return lines;
  const bool one = stages.size() == 1;
  const std::size_t more = stages.size() - std::min(stages.size(), most_names);
  for (std::string& stage : stages) stage = counted(stage, stage + std::string(folded));
  stages.resize(std::min(stages.size(), most_names));
  std::string sentence = fmt::format("{}", fmt::join(stages, ", "));
  if (more > 0) sentence += fmt::format(" and {} more", more);
  sentence += one ? std::string(folded) : std::string(" are computed inside their consumers");
  lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(place), sentence);
  return lines;
}

class TextPrinter {
 public:
  explicit TextPrinter(const Report& report) : r_(report) {}

  std::string run() {
    header();
    for (std::size_t g = 0; g < r_.groups.size(); ++g) group(g);
    if (!r_.remarks.empty()) {
      line("");
      line("rewritten before");
      lines(each_once(r_.remarks), "  ");
    }
    sums();
    return std::move(out_);
  }

 private:
  void sums() {
    std::vector<std::string> rows;
    for (const rewrite::SumChoice& s : r_.sums) {
      if (s.prices.empty()) continue;
      std::string prices;
      for (const rewrite::SumChoice::Price& p : s.prices)
        prices += fmt::format("{}{} {:.2g}", prices.empty() ? "" : ", ", rewrite::name_of(p.method), p.nanoseconds);
      rows.push_back(fmt::format("'{}', {}: {}; taken: {}{}", s.stage, extents(s.extents), prices,
                                 rewrite::name_of(s.taken), s.rank > 1 ? fmt::format(", {} products", s.rank) : ""));
    }
    if (rows.empty()) return;
    rows = each_once(rows);
    line("");
    line(fmt::format("methods of weighted sums, ns a point {} (predicted, prices {})",
                     r_.on_device ? "of a multiprocessor" : "on one core",
                     r_.prices_measured ? "measured here" : "built in"));
    lines(rows, "  ");
  }

  void line(std::string_view text) {
    out_ += text;
    out_ += '\n';
  }

  void lines(const std::vector<std::string>& items, std::string_view indent) {
    for (std::size_t k = 0; k < std::min(items.size(), most_reasons); ++k) line(fmt::format("{}{}", indent, items[k]));
    if (items.size() > most_reasons)
      line(fmt::format("{}and {} more, which --json lists", indent, items.size() - most_reasons));
  }

  std::string names(const std::vector<StageId>& stages) const {
    std::string text;
    for (std::size_t k = 0; k < std::min(stages.size(), most_names); ++k)
      text += (k ? ", " : "") + r_.stages[stages[k]].name;
    if (stages.size() > most_names) text += fmt::format(" and {} more", stages.size() - most_names);
    return text;
  }

  void header() {
    std::string sizes;
    for (const auto& [name, value] : r_.parameters)
      sizes += fmt::format("{}{} = {}", sizes.empty() ? "" : ", ", name, value);
    std::size_t computed = 0;
    for (const StageReport& s : r_.stages) computed += s.group >= 0 ? 1 : 0;
    line(fmt::format("{}{} schedule, {} numbers, {}", sizes.empty() ? "" : sizes + "; ", r_.schedule, r_.numbers,
                     machine()));
    i64 kernels = 0;
    for (const GroupReport& g : r_.groups) kernels += static_cast<i64>(g.kernels.size());
    line(fmt::format("{} in {}, {}{} predicted{}", counted(static_cast<i64>(computed), "stage"),
                     counted(static_cast<i64>(r_.groups.size()), "group"),
                     r_.on_device ? counted(kernels, "kernel") + ", " : "", time(r_.milliseconds), where()));
    line(fmt::format("{} moved, {:.2f} times the least: {}", base::format_bytes(r_.bytes), r_.bytes / r_.minimum_bytes,
                     base::format_bytes(r_.minimum_bytes)));
    if (r_.on_device) device(*r_.on_device);
    if (!r_.assumed.empty()) line(fmt::format("decided for {}, as compiled code serves every size", assumed(r_)));
  }

  std::string time(double ms) const { return r_.on_device ? kernel_time(ms) : milliseconds(ms); }

  const char* where() const { return r_.on_device ? "" : " on one core"; }

  std::string machine() const {
    if (!r_.on_device) return fmt::format("{} of {}", counted(r_.threads, "thread"), r_.device);
    const DeviceReport& d = *r_.on_device;
    if (!d.missing.empty()) return fmt::format("{} on {}", d.target, r_.device);
    return fmt::format("{} {}: {}", d.target, d.index, r_.device);
  }

  void device(const DeviceReport& d) {
    if (d.missing.empty())
      line(fmt::format("compiled for {} by {}", d.compiled_for, d.driver));
    else
      line(fmt::format("no device was found ({}): nothing is compiled, registers and warps are estimates", d.missing));
    // Where there is no device both are of the class.
    const char* told = !d.missing.empty()                            ? ""
                       : d.bandwidth_assumed && d.operations_assumed ? ", by the multiprocessor as on an H200"
                       : d.bandwidth_assumed                         ? ", the first as on an H200"
                       : d.operations_assumed                        ? ", the second as on an H200"
                                                                     : "";
    line(fmt::format("ceilings of {}: {:.0f} GB/s and {:.0f} operations a nanosecond{}",
                     counted(d.multiprocessors, "multiprocessor"), d.bandwidth, d.operations, told));
    if (d.small) line("smaller than the halo of its strips: runs untiled");
  }

  void group(std::size_t number) {
    const GroupReport& g = r_.groups[number];
    line("");
    line(fmt::format("group {} of {}: {}", number + 1, r_.groups.size(), names(g.stages)));
    if (!g.in_place.empty())
      line(fmt::format("  no kernel  for {}: what is put together is stored where it belongs", names(g.in_place)));
    if (!g.transform.empty())
      line(fmt::format("  transform  {}, on the {}", g.transform, g.kernels.empty() ? "cores of the host" : "device"));
    if (r_.on_device && g.kernels.empty() && g.transform.empty()) {
      stages(g);
      lines(g.reasons, "  ");
      return;
    }
    const std::string strip = g.strip_milliseconds > 0 ? ", " + time(g.strip_milliseconds) + " one strip" : "";
    line(fmt::format("  predicted  {}{}, bound by {} ({} memory, {} arithmetic{})", time(g.milliseconds), where(),
                     bound_by(g), time(g.memory_milliseconds), time(g.compute_milliseconds), strip));
    line(fmt::format("  moves      {} in ({}), {} out ({}); {} of it compulsory", base::format_bytes(g.bytes_read),
                     names(g.reads), base::format_bytes(g.bytes_written), names(g.writes),
                     base::format_bytes(g.compulsory_bytes)));
    line(fmt::format("  computes   {:.1f} operations a point of {}", g.operations, r_.stages[g.anchor].name));
    ways(g.way);
    if (r_.on_device && !g.kernels.empty())
      kernels(g);
    else if (g.transform.empty())
      tiles(g);
    stages(g);
    lines(g.reasons, "  ");
  }

  // The way that is taken, then those that could have been; JSON has those as well that are for other groups.
  void ways(const plan::GroupWay& way) {
    for (std::size_t k = 0; k < way.asked.size(); ++k)
      if (k == way.taken) line("  runs as    " + way_line(way.asked[k], way.unit));
    for (std::size_t k = 0; k < way.asked.size(); ++k)
      if (k != way.taken && !way.asked[k].other_kind && (!way.asked[k].fits() || way.asked[k].price > 0))
        line("  not        " + way_line(way.asked[k], way.unit));
  }

  void tiles(const GroupReport& g) {
    line(fmt::format("  tiles      {} of {}, {}{}", g.tile.tiles, extents(g.tile.extents), halo(g),
                     g.tile.streaming ? ", stored past the caches" : ""));
    if (g.ring_bytes > 0)
      line(fmt::format("  rings      {} of scratch memory a tile, {}",
                       base::format_bytes(static_cast<double>(g.ring_bytes)), step(g)));
  }

  // A row per kernel, in the order in which they run. Columns that no kernel knows are left out.
  void kernels(const GroupReport& g) {
    std::vector<std::vector<std::string>> rows = {{"kernel", "runs as", "blocks", "threads", "registers", "spilled",
                                                   "shared", "warps", "operations", "moves", "predicted", "bound by"}};
    auto size = [](double n) { return n < 0 ? "" : base::format_bytes(n); };
    for (const KernelReport& k : g.kernels)
      rows.push_back({k.name, runs_as(k), std::to_string(k.grid[0] * k.grid[1] * k.grid[2]), threads(k.block),
                      registers(k), size(static_cast<double>(k.spilled_bytes)),
                      size(static_cast<double>(k.shared_bytes)), occupancy(k), fmt::format("{:.1f}", k.operations),
                      size(k.bytes_read + k.bytes_written), kernel_time(k.milliseconds), bound_by(k)});
    for (std::size_t c = rows.front().size(); c-- > 0;)
      if (std::all_of(rows.begin() + 1, rows.end(), [&](const auto& row) { return row[c].empty(); }))
        for (auto& row : rows) row.erase(row.begin() + static_cast<std::ptrdiff_t>(c));
    table(rows);
    for (const KernelReport& k : g.kernels)
      if (!k.why.empty()) {  // of all of the group's
        line(fmt::format("  not in {}, since {}", r_.schedule == "tiled" ? "tiles" : "strips", k.why));
        break;
      }
  }

  std::string reads(const StageReport& s) const {
    std::string text;
    for (const ReadReport& read : s.reads)
      text += fmt::format("{}{} {}{}{}", text.empty() ? "" : ", ", r_.stages[read.producer].name, read.window,
                          read.border.empty() ? "" : " ", read.border);
    return text;
  }

  // A row per stage.
  void stages(const GroupReport& g) {
    const bool on_device = r_.on_device.has_value();
    std::vector<std::vector<std::string>> rows = {
        {"pass", on_device ? "kernel" : "block", "stage", "type", "stored", "operations", "lives in", "reads"}};
    for (std::size_t p = 0; p < g.passes.size(); ++p)
      for (StageId id : g.passes[p].stages) {
        const StageReport& s = r_.stages[id];
        bool first = id == g.passes[p].stages.front();
        const KernelReport* kernel = on_device ? kernel_of(g, p) : nullptr;
        const std::string ran = !g.transform.empty() ? "fft"
                                : on_device          ? (kernel ? kernel->name : "none")
                                                     : block(g.passes[p]);
        rows.push_back({first ? std::to_string(p + 1) : "", first ? ran : "", s.name, s.type, s.lane,
                        s.kind == "compose" ? "" : fmt::format("{:g}", s.operations), lives_in(s), reads(s)});
      }
    table(rows);
  }

  // The last column is as long as it is.
  void table(const std::vector<std::vector<std::string>>& rows) {
    std::vector<std::size_t> widths(rows.front().size());
    for (const auto& row : rows)
      for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
    for (const auto& row : rows) {
      std::string text = " ";
      for (std::size_t c = 0; c < row.size(); ++c)
        fmt::format_to(std::back_inserter(text), " {:<{}} ", row[c], c + 1 < row.size() ? widths[c] : 0);
      while (!text.empty() && text.back() == ' ') text.pop_back();
      line(text);
    }
  }

  const Report& r_;
  std::string out_;
};

}  // namespace

std::string to_text(const Report& report) {
  return TextPrinter(report).run();
}

}  // namespace tessera::explain
