// Bands, columns, ports and rails; see layout.hpp for the idea.
#include "explain/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "explain/words.hpp"

namespace tessera::explain::picture {

using ir::StageId;

namespace {

constexpr std::size_t columns_of_a_band = 5;
constexpr double stage_height = 58, port_pitch = 17, stage_gap = 8;
constexpr double pass_padding = 8, pass_title = 18, item_gap = 16, dummy_height = 16;
constexpr double rail_pitch = 13, lane_pitch = 9;
constexpr double padding = 18, group_gap = 30;
constexpr double pill_height = 26, pill_gap = 8;

// A pass in a column, or a value on its way through it.
struct Item {
  bool through = false;
  StageId value = 0;  // through
  std::size_t pass = 0;
  double y = 0, h = dummy_height;
  double middle() const { return y + h / 2; }
};

struct Band {
  std::size_t first_column = 0;
  std::vector<std::vector<Item>> columns;
  std::vector<double> column_x, column_w;
  std::set<StageId> enter, leave;
  std::map<StageId, double> enter_y, leave_y;
  double x = 0, y = 0, w = 0, h = 0;
  double under = 0;  // height of the lanes below
};

struct Rail {
  StageId value = 0;
  double from = 0, to = 0;
  std::size_t track = 0;
};

// The numbers below n by their keys, equal keys as they come.
template <class Key>
std::vector<std::size_t> ordered(std::size_t n, Key key) {
  std::vector<std::pair<double, std::size_t>> keys;
  for (std::size_t k = 0; k < n; ++k) keys.push_back({key(k), k});
  std::sort(keys.begin(), keys.end());
  std::vector<std::size_t> order;
  for (const auto& [value, k] : keys) order.push_back(k);
  return order;
}

// The fewest tracks on which rails that overlap stand apart.
std::size_t give_tracks(std::vector<Rail>& rails) {
  std::size_t tracks = 0;
  std::set<std::pair<double, std::size_t>> busy;  // end, track
  std::set<std::size_t> idle;
  for (std::size_t k : ordered(rails.size(), [&](std::size_t r) { return rails[r].from; })) {
    while (!busy.empty() && busy.begin()->first + lane_pitch < rails[k].from) {
      idle.insert(busy.begin()->second);
      busy.erase(busy.begin());
    }
    if (idle.empty()) idle.insert(tracks++);
    rails[k].track = *idle.begin();
    idle.erase(idle.begin());
    busy.insert({rails[k].to, rails[k].track});
  }
  return tracks;
}

class Arranger {
 public:
  explicit Arranger(const Report& report) : r_(report), at_(report.stages.size()) {
    readers_.resize(r_.stages.size());
    for (const StageReport& s : r_.stages)
      for (const ReadReport& read : s.reads) readers_[read.producer].push_back(s.id);
  }

  Picture run() {
    for (std::size_t g = 0; g < r_.groups.size(); ++g) shape(g);
    double width = least_group_width;
    for (const Group& g : groups_) width = std::max(width, g.width);
    place_inputs();
    for (std::size_t g = 0; g < groups_.size(); ++g) place(g, width);
    memory_rails(width);
    frame();
    return std::move(p_);
  }

 private:
  struct Group {
    std::vector<Band> bands;
    std::vector<Rail> rails;
    double left = padding, width = 0, height = 0;
  };
  struct Place {
    std::size_t column = 0, band = 0;  // of a stage inside its group
  };

  bool is_output(StageId s) const { return r_.stages[s].home.ends_with("output"); }
  bool in_memory(StageId s) const { return r_.stages[s].home != "ring" && r_.stages[s].home != "registers"; }
  // Does a stage of the group find the value in memory? On devices also what another kernel of the group has computed.
  bool by_memory(StageId s, int group) const {
    return r_.stages[s].group != group || (r_.on_device && !r_.stages[s].home.starts_with("registers"));
  }
  bool read_later(StageId s) const {
    return std::any_of(readers_[s].begin(), readers_[s].end(),
                       [&](StageId c) { return r_.stages[c].group != r_.stages[s].group; });
  }

  std::string label_of(const ReadReport& read) const {
    if (read.window == "point") return "";
    return read.border.empty() ? read.window : read.window + " " + read.border;
  }

  double height_of(const StageReport& s) const {
    return std::max(stage_height, port_pitch * static_cast<double>(s.reads.size() + 1));
  }

  double height_of(const PassReport& pass) const {
    double h = pass_title + pass_padding - stage_gap;
    for (StageId s : pass.stages) h += height_of(r_.stages[s]) + stage_gap;
    return h;
  }

  // ---- one group, from its own corner ------------------------------------------------------------------------------

  void shape(std::size_t number) {
    const GroupReport& g = r_.groups[number];
    Group& group = groups_.emplace_back();
    std::vector<std::size_t> depth(g.passes.size());
    std::size_t columns = 1;
    for (std::size_t p = 0; p < g.passes.size(); ++p) {
      for (StageId s : g.passes[p].stages)
        for (const ReadReport& read : r_.stages[s].reads) {
          const StageReport& from = r_.stages[read.producer];
          if (from.group == static_cast<int>(number))
            depth[p] = std::max(depth[p], depth[static_cast<std::size_t>(from.pass)] + 1);
        }
      columns = std::max(columns, depth[p] + 1);
      for (StageId s : g.passes[p].stages) at_[s] = {depth[p] % columns_of_a_band, depth[p] / columns_of_a_band};
    }
    group.bands.resize((columns - 1) / columns_of_a_band + 1);
    for (std::size_t b = 0; b < group.bands.size(); ++b)
      group.bands[b].columns.resize(std::min(columns_of_a_band, columns - b * columns_of_a_band));
    for (std::size_t p = 0; p < g.passes.size(); ++p) {
      Item item;
      item.pass = p;
      item.h = height_of(g.passes[p]);
      group.bands[depth[p] / columns_of_a_band].columns[depth[p] % columns_of_a_band].push_back(item);
    }
    for (StageId s : g.stages) route(group, number, s);
    double y = header_height;
    for (Band& band : group.bands) {
      stack(band, g);
      band.y = y;
      std::size_t lanes = 0;
      for (StageId s : band.leave) lanes += leaves_to_band(s, band, group) ? 1 : 0;
      band.under = lane_pitch * static_cast<double>(lanes);
      y += band.h + band.under + (&band == &group.bands.back() ? 0 : item_gap);
    }
    group.height = y + padding;
    inner_rails(group);
    for (Band& band : group.bands) {
      widths(band, g, group.left);
      group.width = std::max(group.width, band.x + band.w + padding + band.under);
    }
  }

  // Which bands a value enters and leaves, and the columns that it passes through.
  void route(Group& group, std::size_t number, StageId consumer) {
    for (const ReadReport& read : r_.stages[consumer].reads) {
      StageId v = read.producer;
      Band& band = group.bands[at_[consumer].band];
      bool inside = r_.stages[v].group == static_cast<int>(number);
      bool here = inside && at_[v].band == at_[consumer].band;
      if (!here) band.enter.insert(v);
      if (inside && !here) leave(group.bands[at_[v].band], v);
      pass_through(band, v, here ? at_[v].column + 1 : 0, at_[consumer].column);
    }
    if (in_memory(consumer)) leave(group.bands[at_[consumer].band], consumer);
  }

  void leave(Band& band, StageId v) {
    if (!band.leave.insert(v).second) return;
    pass_through(band, v, at_[v].column + 1, band.columns.size());
  }

  static void pass_through(Band& band, StageId v, std::size_t from, std::size_t to) {
    for (std::size_t c = from; c < to; ++c) {
      auto& column = band.columns[c];
      if (std::any_of(column.begin(), column.end(), [&](const Item& i) { return i.through && i.value == v; })) continue;
      Item item;
      item.through = true;
      item.value = v;
      column.push_back(item);
    }
  }

  // Where a value comes from, as seen from column c: a way through, a stage, or the left edge (nothing).
  const Item* source(const Band& band, std::size_t c, StageId v) const {
    if (c == 0) return nullptr;
    for (const Item& item : band.columns[c - 1])
      if (item.through && item.value == v) return &item;
    return nullptr;
  }

  double source_y(const Band& band, std::size_t c, StageId v) const {
    if (const Item* item = source(band, c, v)) return item->middle();
    if (c == 0) {
      auto known = band.enter_y.find(v);
      return known == band.enter_y.end() ? 0 : known->second;
    }
    return stage_y_.at(v).second;
  }

  // Items of every column, ordered and moved towards what they read.
  void stack(Band& band, const GroupReport& g) {
    double least = 0;
    for (std::size_t c = 0; c < band.columns.size(); ++c) {
      auto& column = band.columns[c];
      std::vector<std::pair<double, Item>> wanted, wishes;
      for (const Item& item : column) {
        double sum = 0, count = 0;
        auto want = [&](StageId v) {
          sum += source_y(band, c, v);
          count += 1;
        };
        if (c > 0 && item.through) want(item.value);
        if (c > 0 && !item.through)
          for (StageId s : g.passes[item.pass].stages)
            for (const ReadReport& read : r_.stages[s].reads) want(read.producer);
        wanted.push_back({count > 0 ? sum / count : 0, item});
      }
      for (std::size_t k : ordered(wanted.size(), [&](std::size_t i) { return wanted[i].first; }))
        wishes.push_back(wanted[k]);
      double y = -1e300, shift = 0;
      if (c == 0) {
        double total = -item_gap;
        for (const auto& [wish, item] : wishes) total += item.h + item_gap;
        y = -total / 2;
      }
      column.clear();
      for (auto& [wish, item] : wishes) {
        item.y = c == 0 ? y : std::max(y, wish - item.h / 2);
        if (c > 0) shift += wish - item.middle();
        y = item.y + item.h + item_gap;
        column.push_back(item);
      }
      for (Item& item : column) {
        item.y += shift / static_cast<double>(column.size());
        least = std::min(least, item.y);
        if (!item.through) note_stages(g, item);
      }
      if (c == 0) enter_ports(band, g);
    }
    double most = 0;
    for (auto& column : band.columns)
      for (Item& item : column) {
        item.y -= least;
        most = std::max(most, item.y + item.h);
        if (!item.through) note_stages(g, item);
      }
    for (auto& [v, y] : band.enter_y) y -= least;
    band.h = most;
    for (StageId v : band.leave) band.leave_y[v] = source_y(band, band.columns.size(), v);
  }

  // Top and middle of the stages of a pass.
  void note_stages(const GroupReport& g, const Item& item) {
    double y = item.y + pass_title;
    for (StageId s : g.passes[item.pass].stages) {
      double h = height_of(r_.stages[s]);
      stage_y_[s] = {y, y + h / 2};
      y += h + stage_gap;
    }
  }

  double port_y(StageId s, std::size_t index) const {
    double h = height_of(r_.stages[s]);
    return stage_y_.at(s).first +
           h * static_cast<double>(index + 1) / static_cast<double>(r_.stages[s].reads.size() + 1);
  }

  // A value enters where the first item of column 0 takes it, so that its line is straight.
  void enter_ports(Band& band, const GroupReport& g) {
    for (const Item& item : band.columns[0]) {
      if (item.through)
        band.enter_y[item.value] = item.middle();
      else
        for (StageId s : g.passes[item.pass].stages)
          for (std::size_t k = 0; k < r_.stages[s].reads.size(); ++k)
            band.enter_y.try_emplace(r_.stages[s].reads[k].producer, port_y(s, k));
    }
  }

  bool leaves_to_band(StageId v, const Band& band, const Group& group) const {
    for (const Band& other : group.bands)
      if (&other > &band && other.enter.contains(v)) return true;
    return false;
  }

  void inner_rails(Group& group) {
    std::map<StageId, Rail> rails;
    for (Band& band : group.bands) {
      double lane = band.y + band.h + lane_pitch;
      for (StageId v : band.leave)
        if (leaves_to_band(v, band, group)) {
          rails[v] = {v, lane, lane, 0};
          lane += lane_pitch;
        }
      for (StageId v : band.enter)
        if (auto rail = rails.find(v); rail != rails.end()) rail->second.to = band.y + band.enter_y[v];
    }
    for (const auto& [v, rail] : rails) group.rails.push_back(rail);
    group.left = padding + rail_pitch * static_cast<double>(give_tracks(group.rails));
  }

  void widths(Band& band, const GroupReport& g, double left) {
    band.x = left;
    double x = left;
    for (auto& column : band.columns) {
      double label = 0, width = 0;
      for (const Item& item : column) {
        if (item.through) continue;
        width = std::max(width, text_width(pass_name(g, item.pass), 10));
        for (StageId id : g.passes[item.pass].stages) {
          const StageReport& s = r_.stages[id];
          for (const ReadReport& read : s.reads) label = std::max(label, text_width(label_of(read), 10.5));
          width = std::max({width, text_width(shortened(s.name), 13) + 26, text_width(stage_line(s), 11) + 26,
                            text_width(home_line(s), 11) + 26});
        }
      }
      x += std::max(48.0, label + 44);
      band.column_x.push_back(x);
      band.column_w.push_back(std::max(width, 96.0) + 2 * pass_padding);
      x += band.column_w.back();
    }
    band.w = x - left + 14;
  }

  // ---- everything on the page --------------------------------------------------------------------------------------

  void place_inputs() {
    double y = 0;
    for (const StageReport& s : r_.stages) {
      if (s.kind != "input") continue;
      double w = text_width(shortened(s.name), 13) + text_width(s.type + " " + extents(s.shape), 11) + 44;
      p_.inputs.push_back({s.id, {0, y, w, pill_height}});
      born_[s.id] = {{0, y + pill_height / 2}};
      y += pill_height + pill_gap;
    }
    y_ = y + group_gap - pill_gap;
  }

  void place(std::size_t number, double width) {
    const GroupReport& g = r_.groups[number];
    Group& group = groups_[number];
    double top = y_;
    p_.groups.push_back({0, top, width, group.height});
    for (Band& band : group.bands) draw_band(band, g, number, top, width);
    for (const Rail& rail : group.rails) {
      double x = group.left - rail_pitch * static_cast<double>(rail.track + 1) + 4;
      inner_x_[rail.value] = x;
    }
    draw_inner_rails(group, top);
    // Lanes under the box, one for each array that later groups read: the lowest result takes the innermost way.
    std::vector<std::pair<double, StageId>> writes;
    for (StageId v : g.writes)
      if (read_later(v)) writes.push_back({-exit_y_.at(v), v});
    std::sort(writes.begin(), writes.end());
    double lane = top + group.height;
    double drop = width;
    for (const auto& [key, v] : writes) {
      lane += lane_pitch;
      drop += lane_pitch;
      born_[v] = {{width, exit_y_.at(v)}, {drop, exit_y_.at(v)}, {drop, lane}, {0, lane}};
    }
    drops_ = std::max(drops_, writes.size());
    y_ = lane + group_gap;
  }

  void draw_band(Band& band, const GroupReport& g, std::size_t number, double top, double width) {
    double y0 = top + band.y;
    for (std::size_t c = 0; c < band.columns.size(); ++c) {
      double x = band.column_x[c], w = band.column_w[c];
      double from = c == 0 ? band.x : band.column_x[c - 1] + band.column_w[c - 1];
      for (const Item& item : band.columns[c]) {
        if (item.through) {
          double a = y0 + source_y(band, c, item.value), b = y0 + item.middle();
          bool memory = by_memory(item.value, static_cast<int>(number)) ||
                        (!r_.on_device && r_.stages[item.value].ring.bytes == 0);
          p_.lines.push_back({item.value, memory, false, true, {{from - inset(band, c, item.value), a}, {x, b}}});
          p_.lines.push_back({item.value, memory, false, false, {{x, b}, {x + w, b}}});
          continue;
        }
        p_.passes.push_back({number, item.pass, {x, y0 + item.y, w, item.h}});
        for (StageId s : g.passes[item.pass].stages) {
          p_.stages.push_back(
              {s, {x + pass_padding, y0 + stage_y_.at(s).first, w - 2 * pass_padding, height_of(r_.stages[s])}});
          draw_reads(band, c, s, from, x + pass_padding, y0);
        }
      }
    }
    std::size_t end = band.columns.size();
    double right = band.column_x.back() + band.column_w.back();
    for (const auto& [v, y] : band.leave_y) {
      double start = right - inset(band, end, v);
      exit_y_[v] = y0 + y;
      if (in_memory(v)) p_.lines.push_back({v, true, false, false, {{start, y0 + y}, {width, y0 + y}}});
      if (in_memory(v) && is_output(v)) outputs_at_.push_back({v, y0 + y});
    }
  }

  // A stage's right side is inside its pass; a way through ends at the column's edge.
  double inset(const Band& band, std::size_t c, StageId v) const {
    return c > 0 && !source(band, c, v) ? pass_padding : 0;
  }

  void draw_reads(const Band& band, std::size_t c, StageId s, double from, double x, double y0) {
    const auto& reads = r_.stages[s].reads;
    const std::vector<std::size_t> order =
        ordered(reads.size(), [&](std::size_t k) { return c > 0 ? source_y(band, c, reads[k].producer) : 0; });
    for (std::size_t k = 0; k < order.size(); ++k) {
      const ReadReport& read = reads[order[k]];
      double y = y0 + port_y(s, k);
      double start = from - inset(band, c, read.producer);
      bool memory = by_memory(read.producer, r_.stages[s].group);
      std::string label = label_of(read);
      // Curves end before the label, which stands on a straight piece.
      double straight = label.empty() ? 8 : text_width(label, 10.5) + 18;
      double turn = std::max(start + 8, x - straight);
      p_.lines.push_back(
          {read.producer, memory, false, true, {{start, y0 + source_y(band, c, read.producer)}, {turn, y}}});
      p_.lines.push_back({read.producer, memory, true, false, {{turn, y}, {x, y}}});
      if (!label.empty()) p_.labels.push_back({{x - 12, y - 5}, label});
    }
  }

  void draw_inner_rails(Group& group, double top) {
    for (const Rail& rail : group.rails) {
      double x = inner_x_.at(rail.value);
      const Band& from = group.bands[at_[rail.value].band];
      double right = from.column_x.back() + from.column_w.back();
      double drop = right + 4 + (rail.from - from.y - from.h);
      double start = right - inset(from, from.columns.size(), rail.value);
      double y = top + from.y + from.leave_y.at(rail.value);
      p_.lines.push_back({rail.value,
                          false,
                          false,
                          false,
                          {{start, y}, {drop, y}, {drop, top + rail.from}, {x, top + rail.from}, {x, top + rail.to}}});
      for (const Band& band : group.bands)
        if (&band > &from && band.enter.contains(rail.value)) {
          double tap = top + band.y + band.enter_y.at(rail.value);
          p_.lines.push_back({rail.value, false, false, false, {{x, tap}, {band.x, tap}}});
          if (tap < top + rail.to) p_.dots.push_back({{x, tap}, false});
        }
    }
  }

  void memory_rails(double width) {
    std::map<StageId, std::vector<Point>> taps;
    for (std::size_t g = 0; g < groups_.size(); ++g)
      for (const Band& band : groups_[g].bands)
        for (StageId v : band.enter)
          if (r_.stages[v].group != static_cast<int>(g))
            taps[v].push_back({band.x, p_.groups[g].y + band.y + band.enter_y.at(v)});
    std::vector<Rail> rails;
    for (const auto& [v, points] : taps) rails.push_back({v, born_.at(v).back().y, points.back().y, 0});
    give_tracks(rails);
    for (const Rail& rail : rails) {
      double x = -14 - rail_pitch * static_cast<double>(rail.track + 1);
      std::vector<Point> way = born_.at(rail.value);
      way.push_back({x, rail.from});
      way.push_back({x, rail.to});
      const auto& ends = taps.at(rail.value);
      way.push_back(ends.back());
      p_.lines.push_back({rail.value, true, false, false, std::move(way)});
      for (const Point& end : ends) {
        if (&end == &ends.back()) continue;
        p_.lines.push_back({rail.value, true, false, false, {{x, end.y}, end}});
        p_.dots.push_back({{x, end.y}, true});
      }
    }
    double x = width + 26 + lane_pitch * static_cast<double>(drops_);
    for (auto [v, y] : outputs_at_) {
      const StageReport& s = r_.stages[v];
      double w = text_width(shortened(s.name), 13) + text_width(s.type + " " + extents(s.shape), 11) + 44;
      p_.outputs.push_back({v, {x, y - pill_height / 2, w, pill_height}});
      p_.lines.push_back({v, true, true, false, {{width, y}, {x, y}}});
      if (read_later(v)) p_.dots.push_back({born_.at(v)[1], true});
    }
  }

  void frame() {
    double left = 0, right = 0, bottom = y_ - group_gap;
    auto include = [&](const Box& b) {
      left = std::min(left, b.x);
      right = std::max(right, b.x + b.w);
      bottom = std::max(bottom, b.y + b.h);
    };
    for (const Box& b : p_.groups) include(b);
    for (const StageBox& b : p_.inputs) include(b.box);
    for (const StageBox& b : p_.outputs) include(b.box);
    for (const Line& line : p_.lines)
      for (const Point& point : line.points) include({point.x, point.y, 0, 0});
    p_.frame = {left, 0, right - left, bottom};
  }

  const Report& r_;
  std::vector<std::vector<StageId>> readers_;
  std::vector<Group> groups_;
  std::vector<Place> at_;
  std::map<StageId, std::pair<double, double>> stage_y_;  // top and middle, inside the band
  std::map<StageId, double> exit_y_, inner_x_;
  std::map<StageId, std::vector<Point>> born_;  // the way of a value to where its rail begins
  std::vector<std::pair<StageId, double>> outputs_at_;
  std::size_t drops_ = 0;
  double y_ = 0;
  Picture p_;
};

}  // namespace

Picture arrange(const Report& report) {
  return Arranger(report).run();
}

double text_width(std::string_view text, double size) {
  return static_cast<double>(text.size()) * size * 0.57;
}

std::string shortened(const std::string& name) {
  return name.size() <= 26 ? name : name.substr(0, 24) + "..";
}

std::string stage_line(const StageReport& s) {
  std::string type = s.type;
  if (s.kind == "transform") return type + ", transform";
  return s.kind == "compose" ? type + ", pieces" : fmt::format("{}, {:g} operations", type, s.operations);
}

std::string home_line(const StageReport& s) {
  if (s.ring.bytes == 0) return s.home;
  return s.ring.middle == 1
             ? fmt::format("{}, {} rows of {}", s.home, s.ring.rows, s.ring.columns)
             : fmt::format("{}, {} planes of {} x {}", s.home, s.ring.rows, s.ring.middle, s.ring.columns);
}

}  // namespace tessera::explain::picture
