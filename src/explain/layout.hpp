// Where everything of the picture of `explain` stands.
//
// Groups are stacked in the order in which they run. Inside a group data flows to the right: a column holds the passes
// of one depth, a chain that is longer than a page is wide goes on in the next band below. Arrays in memory are rails
// on the left: what a group writes leaves it on the right, turns under it to a rail, and later groups tap the rail.
// Rings that a lower band reads have rails of their own inside the group. So lines cross only at right angles and never
// run over a stage, however large the program is; the work is near linear in its size.
#pragma once

#include <string>
#include <vector>

#include "explain/report.hpp"

namespace tessera::explain::picture {

struct Point {
  double x = 0, y = 0;
};
struct Box {
  double x = 0, y = 0, w = 0, h = 0;
};

struct StageBox {
  ir::StageId stage = 0;
  Box box;
};
struct PassBox {
  std::size_t group = 0, pass = 0;
  Box box;
};
struct Line {
  ir::StageId value = 0;
  bool memory = false;  // through an array, else a ring
  bool arrow = false;   // ends at a stage
  bool curved = false;  // from the first to the last point; else straight pieces with rounded corners
  std::vector<Point> points;
};
struct Label {
  Point end;  // where the text ends
  std::string text;
};
struct Dot {
  Point at;
  bool memory = false;
};

struct Picture {
  Box frame;                // of all that follows
  std::vector<Box> groups;  // by group
  std::vector<PassBox> passes;
  std::vector<StageBox> stages;           // of groups
  std::vector<StageBox> inputs, outputs;  // pills
  std::vector<Line> lines;
  std::vector<Label> labels;
  std::vector<Dot> dots;
};

constexpr double header_height = 76;  // of a group, for its facts
constexpr double least_group_width = 940;

Picture arrange(const Report&);

double text_width(std::string_view text, double size);  // a safe estimate, for any sans-serif face
std::string shortened(const std::string& name);         // as the picture shows it
std::string stage_line(const StageReport&);             // "float, 18 operations"
std::string home_line(const StageReport&);              // "ring 12 x 3854"

}  // namespace tessera::explain::picture
