// The picture of `explain`: facts of every group above its stages, colours by where values live.
//
// Colours are classes, so that the same file suits a light and a dark page; nothing depends on a font that a machine
// may lack. Hovering a stage or a group tells the rest.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/text.hpp"
#include "explain/layout.hpp"
#include "explain/words.hpp"

namespace tessera::explain {

using namespace picture;

namespace {

constexpr double margin = 28, title_height = 74, legend_height = 40;

constexpr const char* style = R"(
  text { font-family: Inter, "Segoe UI", "Helvetica Neue", Helvetica, Arial, "Liberation Sans", sans-serif; fill: #1f2328 }
  .page { fill: #ffffff }
  .group { fill: #f6f8fa; stroke: #d0d7de }
  .pass { fill: #ffffff; stroke: #d8dee4 }
  .stage, .pill { fill: #ffffff; stroke: #c4ccd4 }
  .title { font-size: 19px; font-weight: 600 }
  .name { font-size: 13px; font-weight: 600 }
  .value { font-size: 14px; font-weight: 600 }
  .small { font-size: 11px; fill: #59636e }
  .tiny { font-size: 10px; fill: #59636e }
  .head { font-size: 9.5px; letter-spacing: 0.6px; fill: #6e7781 }
  .edge { font-size: 10.5px; fill: #3d4650; stroke: #ffffff; stroke-width: 3px; stroke-linejoin: round; paint-order: stroke }
  .badge { fill: #1f2328 }
  .badge-text { font-size: 12px; font-weight: 600; fill: #ffffff }
  .rule { stroke: #d8dee4 }
  .line { fill: none; stroke-width: 1.5 }
  .ring-line { stroke: #4078b8 } .memory-line { stroke: #c08a2b }
  .ring-fill { fill: #4078b8 } .memory-fill { fill: #c08a2b } .output-fill { fill: #3a8a5c } .input-fill { fill: #77818c }
  .bar { fill: #e4e8ec } .bar-strong { fill: #57606a } .bar-weak { fill: #aab4be }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .page { fill: #0d1117 }
    .group { fill: #151b23; stroke: #30363d }
    .pass { fill: #0f141b; stroke: #2b323b }
    .stage, .pill { fill: #1c232c; stroke: #3d4650 }
    .small, .tiny { fill: #9aa4af }
    .head { fill: #8b949e }
    .edge { fill: #c3ccd5; stroke: #151b23 }
    .badge { fill: #e6edf3 } .badge-text { fill: #0d1117 }
    .rule { stroke: #2b323b }
    .ring-line { stroke: #6ea8e6 } .memory-line { stroke: #d8a848 }
    .ring-fill { fill: #6ea8e6 } .memory-fill { fill: #d8a848 } .output-fill { fill: #5db583 } .input-fill { fill: #8b949e }
    .bar { fill: #2b323b } .bar-strong { fill: #c3ccd5 } .bar-weak { fill: #6b7580 }
  }
)";

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

class SvgPrinter {
 public:
  explicit SvgPrinter(const Report& report) : r_(report), p_(arrange(report)) {}

  std::string run() {
    double width = std::max(p_.frame.w, 700.0) + 2 * margin,
           height = p_.frame.h + 2 * margin + title_height + legend_height;
    print(
        R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0:.0f}" height="{1:.0f}" viewBox="0 0 {0:.0f} {1:.0f}" role="img">)",
        width, height);
    out_ += '\n';
    print("<title>{}</title>\n<style>{}</style>\n", escaped(headline()), style);
    print("<rect class=\"page\" width=\"{:.0f}\" height=\"{:.0f}\"/>\n", width, height);
    title();
    print("<g transform=\"translate({:.1f} {:.1f})\">\n", margin - p_.frame.x, margin + title_height);
    for (std::size_t g = 0; g < p_.groups.size(); ++g) group(g);
    for (const PassBox& pass : p_.passes) this->pass(pass);
    for (const Line& line : p_.lines) this->line(line);
    for (const Dot& dot : p_.dots)
      print("<circle class=\"{}-fill\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"/>\n", dot.memory ? "memory" : "ring",
            dot.at.x, dot.at.y);
    for (const StageBox& stage : p_.stages) this->stage(stage);
    for (const StageBox& pill : p_.inputs) this->pill(pill, "input");
    for (const StageBox& pill : p_.outputs) this->pill(pill, "output");
    for (const Label& label : p_.labels) text(label.end.x, label.end.y, "edge", label.text, "end");
    out_ += "</g>\n";
    legend(height - margin - 6);
    out_ += "</svg>\n";
    return std::move(out_);
  }

 private:
  template <class... Args>
  void print(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }

  void text(double x, double y, const char* kind, std::string_view content, const char* anchor = "start") {
    print("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", kind, x, y, anchor,
          escaped(content));
  }

  void rect(const char* kind, const Box& b, double radius) {
    print("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"{:g}\"/>\n", kind, b.x,
          b.y, b.w, b.h, radius);
  }

  std::string time_of(double ms) const { return r_.on_device ? kernel_time(ms) : milliseconds(ms); }

  std::string headline() const {
    return fmt::format("{} predicted, {} moved, {:.2f} times the least", time_of(r_.milliseconds),
                       base::format_bytes(r_.bytes), r_.bytes / r_.minimum_bytes);
  }

  void title() {
    std::size_t computed = p_.stages.size();
    text(margin, margin + 18, "title", headline());
    std::string sizes;
    for (const auto& [name, value] : r_.parameters) sizes += fmt::format("{} = {}, ", name, value);
    text(margin, margin + 40, "small",
         fmt::format("{} in {}; {}{} schedule, {} numbers, {}", counted(static_cast<i64>(computed), "stage"),
                     counted(static_cast<i64>(p_.groups.size()), "group"), sizes, r_.schedule, r_.numbers, machine()));
  }

  std::string machine() const {
    if (!r_.on_device) return fmt::format("{} of {}; times are of one core", counted(r_.threads, "thread"), r_.device);
    const DeviceReport& d = *r_.on_device;
    return fmt::format("{} on {}{}", d.target, r_.device, d.missing.empty() ? "" : "; no device was found");
  }

  // ---- groups ------------------------------------------------------------------------------------------------------

  void fact(double x, double y, const char* head, std::string_view value, std::string_view note) {
    text(x, y + 20, "head", head);
    text(x, y + 39, "value", value);
    text(x, y + 57, "tiny", note);
  }

  void bar(double x, double y, double width, double share, const char* kind) {
    rect("bar", {x, y, width, 5}, 2.5);
    if (share > 0) rect(kind, {x, y, std::max(2.0, width * std::min(1.0, share)), 5}, 2.5);
  }

  void group(std::size_t number) {
    const GroupReport& g = r_.groups[number];
    const Box& b = p_.groups[number];
    out_ += "<g>";
    std::string told = fmt::format("group {} of {}", number + 1, r_.groups.size());
    if (!g.in_place.empty()) told += "\nno kernel: what is put together is stored where it belongs";
    for (const KernelReport& k : g.kernels)
      told += fmt::format("\n{}: {}, {} of {} threads, {}{}", k.name, runs_as(k), counted(k.grid[0], "block"),
                          threads(k.block), kernel_time(k.milliseconds), k.why.empty() ? "" : "; no strips: " + k.why);
    for (const std::string& reason : g.reasons) told += "\n" + reason;
    print("<title>{}</title>\n", escaped(told));
    rect("group", b, 10);
    out_ += "</g>\n";
    print("<circle class=\"badge\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"13\"/>\n", b.x + 32, b.y + 34);
    text(b.x + 32, b.y + 38, "badge-text", std::to_string(number + 1), "middle");
    double longest = 0, most = 0;
    for (const GroupReport& other : r_.groups) {
      longest = std::max({longest, other.memory_milliseconds, other.compute_milliseconds});
      most = std::max(most, other.bytes_read + other.bytes_written);
    }
    double x = b.x + 66;
    text(x, b.y + 20, "head", "PREDICTED");
    text(x, b.y + 39, "value", time_of(g.milliseconds));
    auto time = [&](double y, const char* name, double ms, bool binds) {
      bar(x + 86, y, 70, ms / longest, binds ? "bar-strong" : "bar-weak");
      text(x + 162, y + 6, "tiny", fmt::format("{} {}", name, time_of(ms)));
    };
    time(b.y + 22, "memory", g.memory_milliseconds, g.bound_by_memory);
    time(b.y + 36, "arithmetic", g.compute_milliseconds, !g.bound_by_memory);
    text(x, b.y + 57, "tiny", "bound by " + bound_by(g));
    x += 288;
    double bytes = g.bytes_read + g.bytes_written;
    text(x, b.y + 20, "head", "MOVED");
    text(x, b.y + 39, "value", base::format_bytes(bytes));
    bar(x + 76, b.y + 31, 70, bytes / most, "bar-weak");
    if (g.compulsory_bytes > 0)
      rect("bar-strong", {x + 76, b.y + 31, std::max(2.0, 70 * g.compulsory_bytes / most), 5}, 2.5);
    text(x, b.y + 57, "tiny", fmt::format("{} compulsory", base::format_bytes(g.compulsory_bytes)));
    if (!g.transform.empty() && g.kernels.empty()) {
      fact(x + 178, b.y, "TRANSFORM", "fft", g.transform);
    } else if (r_.on_device) {
      kernels(x + 178, b.y, g);
    } else {
      fact(x + 178, b.y, "TILES", fmt::format("{} of {}", g.tile.tiles, extents(g.tile.extents)), halo(g));
      fact(x + 358, b.y, "RINGS", g.ring_bytes > 0 ? base::format_bytes(static_cast<double>(g.ring_bytes)) : "none",
           g.ring_bytes > 0 ? step(g) : "");
    }
    fact(x + 460, b.y, "WORK", fmt::format("{:.1f}", g.operations), "operations a point");
  }

  void kernels(double x, double y, const GroupReport& g) {
    const bool one = g.kernels.size() == 1;
    const KernelReport* widest = nullptr;  // of the most registers
    for (const KernelReport& k : g.kernels)
      if (widest == nullptr ||
          std::max(k.registers, k.registers_estimated) > std::max(widest->registers, widest->registers_estimated))
        widest = &k;
    if (widest == nullptr) return;
    const std::string blocks = counted(widest->grid[0], "block");
    fact(x, y, "KERNELS", one ? blocks + " of " + threads(widest->block) : std::to_string(g.kernels.size()),
         runs_as(*widest));
    const std::string used = registers(*widest), warps = occupancy(*widest);
    fact(x + 180, y, "REGISTERS", used.empty() ? "not known" : used, warps.empty() ? "" : warps + " warps");
  }

  void pass(const PassBox& at) {
    rect("pass", at.box, 8);
    text(at.box.x + 9, at.box.y + 12.5, "tiny", pass_name(r_.groups[at.group], at.pass));
  }

  // ---- stages ------------------------------------------------------------------------------------------------------

  static const char* colour(const StageReport& s) {
    if (s.kind == "input") return "input-fill";
    if (s.home.ends_with("output")) return "output-fill";
    return s.home == "ring" || s.home == "registers" ? "ring-fill" : "memory-fill";
  }

  void told(const StageReport& s) {
    print("<title>{}: {}, {} x {}, stored as {}, {}", escaped(s.name), s.type, s.kind, escaped(s.extents), s.lane,
          lives_in(s));
    for (const ReadReport& read : s.reads)
      print("\nreads {}: {} {}", escaped(r_.stages[read.producer].name), read.window, read.border);
    out_ += "</title>\n";
  }

  void stage(const StageBox& at) {
    const StageReport& s = r_.stages[at.stage];
    const Box& b = at.box;
    out_ += "<g>";
    told(s);
    rect("stage", b, 6);
    rect(colour(s), {b.x + 5, b.y + 8, 3, b.h - 16}, 1.5);
    double middle = b.y + b.h / 2;
    text(b.x + 16, middle - 10, "name", shortened(s.name));
    text(b.x + 16, middle + 6, "small", stage_line(s));
    text(b.x + 16, middle + 21, "small", home_line(s));
    out_ += "</g>\n";
  }

  void pill(const StageBox& at, const char* kind) {
    const StageReport& s = r_.stages[at.stage];
    const Box& b = at.box;
    out_ += "<g>";
    told(s);
    rect("pill", b, b.h / 2);
    print("<circle class=\"{}-fill\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\"/>\n", kind, b.x + 14, b.y + b.h / 2);
    std::string name = shortened(s.name);
    print(
        "<text x=\"{:.1f}\" y=\"{:.1f}\"><tspan class=\"name\">{}</tspan><tspan class=\"small\" "
        "dx=\"8\">{}</tspan></text>\n",
        b.x + 24, b.y + b.h / 2 + 4.5, escaped(name), escaped(s.type + " " + extents(s.shape)));
    out_ += "</g>\n";
  }

  // ---- lines -------------------------------------------------------------------------------------------------------

  void line(const Line& line) {
    std::string path;
    const std::vector<Point>& q = line.points;
    auto out = std::back_inserter(path);
    fmt::format_to(out, "M{:.1f} {:.1f}", q.front().x, q.front().y);
    if (line.curved) {
      double bend = std::max(12.0, (q[1].x - q[0].x) / 2);
      fmt::format_to(out, "C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}", q[0].x + bend, q[0].y, q[1].x - bend, q[1].y,
                     q[1].x, q[1].y);
    } else {
      for (std::size_t k = 1; k + 1 < q.size(); ++k) {
        auto towards = [&](const Point& to) {
          double dx = to.x - q[k].x, dy = to.y - q[k].y, length = std::max(1e-9, std::hypot(dx, dy));
          double step = std::min(7.0, length / 2) / length;
          return Point{q[k].x + dx * step, q[k].y + dy * step};
        };
        Point a = towards(q[k - 1]), b = towards(q[k + 1]);
        fmt::format_to(out, "L{:.1f} {:.1f}Q{:.1f} {:.1f} {:.1f} {:.1f}", a.x, a.y, q[k].x, q[k].y, b.x, b.y);
      }
      fmt::format_to(out, "L{:.1f} {:.1f}", q.back().x - (line.arrow ? 5 : 0), q.back().y);
    }
    print("<path class=\"line {}-line\" d=\"{}\"/>\n", line.memory ? "memory" : "ring", path);
    if (line.arrow)
      print("<path class=\"{}-fill\" d=\"M{:.1f} {:.1f}l-7 -3.5v7z\"/>\n", line.memory ? "memory" : "ring", q.back().x,
            q.back().y);
  }

  void legend(double y) {
    double x = margin;
    auto item = [&](const char* kind, bool stroke, const std::string& what) {
      if (stroke)
        print("<path class=\"line {}-line\" d=\"M{:.1f} {:.1f}h20\"/>\n", kind, x, y - 4);
      else
        rect(fmt::format("{}-fill", kind).c_str(), {x + 8, y - 10, 3, 12}, 1.5);
      text(x + (stroke ? 26 : 17), y, "tiny", what);
      x += 0.86 * text_width(what, 10) + (stroke ? 42 : 32);
    };
    item("memory", true, "through memory");
    item("ring", true, r_.on_device ? "through registers" : "through a ring, in cache");
    item("ring", false, r_.on_device ? "kept in registers" : "kept in a ring");
    item("memory", false, "array");
    item("output", false, "output");
    std::string words = "3x3 mirror: window read, border; no label: the same point";
    text(x + 8, y, "tiny", words);
    x += 0.86 * text_width(words, 10) + 24;
    rect("bar-strong", {x, y - 6, 18, 5}, 2.5);
    text(x + 24, y, "tiny", "binds, compulsory");
  }

  const Report& r_;
  Picture p_;
  std::string out_;
};

}  // namespace

std::string to_svg(const Report& report) {
  return SvgPrinter(report).run();
}

}  // namespace tessera::explain
