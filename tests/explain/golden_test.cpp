// The wording of `explain`, against files. TESSERA_UPDATE_GOLDENS=1 writes them anew; read the difference before it is
// committed.
//
// Programs run under schedules that ask for no price, and what the cost model predicts is masked, so that calibrating
// it changes no file; a report made by hand shows every number.
#include <gtest/gtest.h>

#include <cstdlib>
#include <regex>

#include "base/files/files.hpp"
#include "explain/words.hpp"
#include "support/programs.hpp"

namespace tessera {
namespace {

void compare(const std::string& text, const std::string& name) {
  const std::string path = std::string(TESSERA_SOURCE_DIR) + "/tests/explain/golden/" + name + ".txt";
  const char* update = std::getenv("TESSERA_UPDATE_GOLDENS");
  if (update && std::string(update) == "1") base::write_file(path, std::string_view(text));
  EXPECT_EQ(text, base::read_text(path, 1 << 20)) << "TESSERA_UPDATE_GOLDENS=1 writes the file anew";
}

std::string masked(const std::string& text) {
  std::string t = std::regex_replace(text, std::regex("[0-9.]+ ms"), "# ms");
  t = std::regex_replace(t, std::regex("bound by (memory|arithmetic)"), "bound by #");
  t = std::regex_replace(t, std::regex("[0-9.e+-]+ ns a result"), "# ns a result");
  return std::regex_replace(t, std::regex("computes   [0-9.]+"), "computes   #");
}

struct Golden {
  std::string sample;
  Schedule schedule;
  std::string file;
};

void PrintTo(const Golden& golden, std::ostream* out) {
  *out << golden.file;
}

class ExplainGolden : public testing::TestWithParam<Golden> {};

TEST_P(ExplainGolden, Text) {
  RunOptions options;
  options.schedule = GetParam().schedule;
  compare(masked(explain::to_text(report_of(sample(GetParam().sample), options))), GetParam().file);
}

INSTANTIATE_TEST_SUITE_P(Programs, ExplainGolden,
                         testing::Values(Golden{"blur", Schedule::untiled, "blur_untiled"},
                                         Golden{"harris", Schedule::stream, "harris_stream"},
                                         Golden{"pyramid", Schedule::stream, "pyramid_stream"},
                                         Golden{"grey", Schedule::tiled, "grey_tiled"},
                                         Golden{"gather", Schedule::stream, "gather_stream"},
                                         Golden{"line", Schedule::stream, "line_stream"},
                                         Golden{"volume", Schedule::stream, "volume_stream"}),
                         [](const auto& info) { return info.param.file; });

// Two stages and an input, every number chosen.
explain::Report by_hand() {
  explain::Report r;
  r.device = "a machine";
  r.schedule = "automatic";
  r.numbers = "fast";
  r.threads = 2;
  r.parameters = {{"M", 100}, {"N", 200}};
  r.assumed = {2160, 3840};
  r.milliseconds = 12.34;
  r.bytes = 320000;
  r.minimum_bytes = 160000;
  explain::StageReport image, blur, peak;
  image.name = "image";
  image.type = "float", image.lane = "f32", image.kind = "input", image.home = "argument";
  image.extents = "M x N", image.shape = {100, 200};
  blur = image;
  blur.id = 1, blur.name = "blur", blur.kind = "point", blur.home = "ring", blur.group = 0, blur.pass = 0;
  blur.operations = 9.5;
  blur.ring = {6, 1, 210, 896, 5376};
  blur.reads = {{0, "3x3", "mirror"}};
  peak = blur;
  peak.id = 2, peak.name = "peak", peak.home = "output", peak.pass = 1, peak.ring = {}, peak.operations = 4;
  peak.reads = {{1, "1x3", "clamped and wrap"}, {0, "point", ""}};
  r.stages = {image, blur, peak};
  explain::GroupReport g;
  g.anchor = 2;
  g.stages = {1, 2};
  g.reads = {0};
  g.writes = {2};
  g.passes = {{plan::PassForm::vectors, {1}, 4, 16}, {plan::PassForm::vectors, {2}, 1, 16}};
  g.tile = {{32, 200}, {4, 1}, 4, true};
  g.step = 4;
  g.halo_rows = 1, g.halo_columns = 2;
  g.ring_bytes = 5376;
  g.bytes_read = 80000, g.bytes_written = 80000, g.compulsory_bytes = 160000;
  g.operations = 13.5;
  g.milliseconds = 12.34, g.memory_milliseconds = 0.0071, g.compute_milliseconds = 123.4;
  g.bound_by_memory = false;
  g.reasons = {"fused: 'blur' with 'peak': 1.00 ms together, 2.00 ms apart (predicted)"};
  for (int k = 0; k < 15; ++k) g.reasons.push_back("kept apart: number " + std::to_string(k));
  r.groups = {g};
  r.remarks = {"'mean' is computed inside its consumers"};
  return r;
}

// The same on a device: a kernel in strips, as compiled there, and one that nobody compiled.
explain::Report by_hand_on_device() {
  explain::Report r = by_hand();
  r.stages[1].home = "registers", r.stages[1].ring = {};
  r.device = "a card";
  explain::DeviceReport d;
  d.target = "cuda", d.index = 1, d.name = "a card", d.compiled_for = "sm_90", d.driver = "a driver";
  d.multiprocessors = 132, d.bandwidth = 4800, d.operations = 33454;
  r.on_device = d;
  explain::KernelReport strip, point;
  strip.name = "tsr_g0", strip.stages = {1}, strip.strips = true, strip.columns = 4, strip.strip_rows = 25;
  strip.grid = {12, 1, 1}, strip.block = {32, 4, 1}, strip.registers_estimated = 58, strip.registers = 46;
  strip.shared_bytes = 0, strip.spilled_bytes = 16, strip.warps = 32, strip.most_warps = 64;
  strip.bytes_read = 80000, strip.operations = 9.5, strip.milliseconds = 0.0021;
  point = strip;
  point.name = "tsr_g0_p1", point.stages = {2}, point.strips = false, point.why = "its stages differ in size";
  point.block = {32, 8, 1}, point.registers = -1, point.registers_estimated = 0, point.spilled_bytes = -1;
  point.shared_bytes = point.warps = -1, point.compute_milliseconds = 0.002;
  r.groups[0].kernels = {strip, point};
  return r;
}

TEST(ExplainGolden, ByHandOnADevice) {
  compare(explain::to_text(by_hand_on_device()), "by_hand_device");
  explain::Report absent = by_hand_on_device();
  absent.on_device->missing = "the CUDA driver is not available";
  absent.on_device->bandwidth_assumed = absent.on_device->operations_assumed = absent.on_device->small = true;
  absent.groups[0].kernels.resize(1);
  absent.groups[0].kernels[0].registers = -1;
  absent.groups[0].kernels[0].shared_bytes = absent.groups[0].kernels[0].spilled_bytes = -1;
  compare(explain::to_text(absent), "by_hand_no_device");
}

TEST(ExplainGolden, ByHand) {
  compare(explain::to_text(by_hand()), "by_hand");
}

TEST(ExplainWords, Milliseconds) {
  EXPECT_EQ(explain::milliseconds(0.00421), "0.0042 ms");
  EXPECT_EQ(explain::milliseconds(2.936), "2.94 ms");
  EXPECT_EQ(explain::milliseconds(42.55), "42.5 ms");
  EXPECT_EQ(explain::milliseconds(1234.5), "1234 ms");
}

TEST(ExplainWords, Halo) {
  explain::GroupReport g;
  EXPECT_EQ(explain::halo(g), "no halo");
  g.halo_rows = 1;
  EXPECT_EQ(explain::halo(g), "halo of 1 row");
  g.halo_columns = 4;
  EXPECT_EQ(explain::halo(g), "halo of 1 row and 4 columns");
  g.halo_rows = 0;
  EXPECT_EQ(explain::halo(g), "halo of 4 columns");
  g.halo_rows = 2;
  g.tile.extents = {8, 8, 8};
  EXPECT_EQ(explain::halo(g), "halo of 2 planes and 4 columns");
}

TEST(ExplainWords, Step) {
  explain::GroupReport g;
  g.step = 4;
  EXPECT_EQ(explain::step(g), "4 rows a step");
  g.tile.extents = {8, 8, 8};
  g.step = 1;
  EXPECT_EQ(explain::step(g), "1 plane a step");
  g.step = 0;
  EXPECT_EQ(explain::step(g), "a whole tile a step");
}

}  // namespace
}  // namespace tessera
