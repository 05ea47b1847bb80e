// Runs over several devices of a machine: the bits are those of one, however little each gets to do, and a device that
// fails ends all. On the target that $TESSERA_TARGET names (opencl); what goes wrong on the driver of tests/cuda_on_cpu
// alone, which can be told to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "device/common.hpp"
#include "device/programs.hpp"
#include "run/cuda/cuda.hpp"
#include "support/opencl.hpp"
#include "tessera/tessera.hpp"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

void expect_same_bits(const Array& got, const Array& expected) {
  ASSERT_EQ(got.shape(), expected.shape());
  ASSERT_TRUE(got.format() == expected.format());
  const Array a = got.to_host().clone(), b = expected.to_host().clone();
  EXPECT_EQ(std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.count()) * a.format().size()), 0);
}

// The driver of tests/cuda_on_cpu, which reads from the environment what is to go wrong.
bool is_simulated() {
  return asked_for() == "cuda" && std::getenv("TESSERA_CUDA_ON_CPU_DEVICES") != nullptr;
}

class SeveralDevices : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const run::gpu::Found found = GetParam() == "cuda" ? run::cuda::find() : run::opencl::find();
    static_cast<void>(cannot_run(found.devices.size() < 2 ? "there are no two devices" : ""));
  }
  RunOptions on(std::vector<int> devices) const {
    RunOptions options;
    options.target = GetParam();
    options.devices = std::move(devices);
    return options;
  }
  RunOptions on_both() const { return on({0, 1}); }
  // Do rows go on while others are computed? Queues of OpenCL's devices do not know each other, and on a card these
  // runs are too short for it: bench/gpu_devices.cpp compares the bits of long ones.
  static bool beside() { return is_simulated(); }

  // As one device gives it; how many devices took part.
  std::size_t expect_as_on_one(const Program& program, const std::vector<Array>& inputs, RunOptions options) {
    RunOptions one = options;
    one.devices = {};
    std::size_t took_part = 1;
    options.on_shares = [&](const std::vector<DeviceShare>& shares) {
      std::size_t any = 0;
      i64 parts = 0;
      for (const DeviceShare& s : shares) any += s.parts > 0 ? 1 : 0, parts += s.parts;
      EXPECT_EQ(parts, shares.front().of);
      took_part = std::max(took_part, any);
    };
    const std::vector<Array> expected = program.run(inputs, one), got = program.run(inputs, options);
    EXPECT_EQ(got.size(), expected.size());
    for (std::size_t o = 0; o < got.size(); ++o) expect_same_bits(got[o], expected[o]);
    return took_part;
  }
};

constexpr const char* waves = R"(
parameter M, N;
stencil f(vector#2 float X) { return (X@[-3,0] + X@[0,-1] + X + X@[0,1] + X@[2,0]) * 0.2f; }
vector#2 float image[M,N];
return f(f(image:wrap):wrap);
)";
constexpr const char* tall = R"(
parameter M, N;
stencil f(vector#2 float X) { return sum(j = -9..9) ( X@[j,0] ) * 0.05f; }
vector#2 float image[M,N];
return f(f(image:mirror):symmetric);
)";
// By transforms of tiles, which reach beyond the rows that are wanted.
constexpr const char* dense = R"(
parameter M, N;
table float w[j = -15..15, i = -15..15] = 1.0 / (2.0 + cast<double>(3*j*j + i*i*i*i + j));
stencil f(vector#2 float X) { return sum(j = -15..15, i = -15..15) ( w[j+15,i+15] * X@[j,i] ); }
vector#2 float image[M,N];
return f(image:mirror);
)";
constexpr const char* line = R"(
parameter N;
stencil f(vector#1 float X) { return X@[-2] + X@[1] * 0.5f; }
vector#1 float x[N];
return f(x:constant(3));
)";
constexpr const char* volume = R"(
parameter K, M, N;
stencil f(vector#3 float X) { return X + 0.1f * (X@[-1,0,0] + X@[1,0,0] + X@[0,-1,0] + X@[0,1,0] + X@[0,0,-1] + X@[0,0,1] - 6 * X); }
vector#3 float v[K,M,N];
return f(f(v:clamped):clamped);
)";
constexpr const char* four = R"(
parameter T, K, M, N;
stencil f(vector#4 float X) { return X@[-1,0,0,0] + X@[0,1,0,0] - X@[0,0,-1,1]; }
vector#4 float v[T,K,M,N];
return f(v:mirror);
)";
constexpr const char* centred = R"(
parameter M, N;
stencil f(vector#2 float X, float m) { return X - m; }
vector#2 float image[M,N];
return f(image, mean(image));
)";
constexpr const char* heat = R"(
parameter M, N;
stencil f(vector#2 float X, float rate) { return X + rate * (X@[-1,0] + X@[1,0] + X@[0,-1] + X@[0,1] - 4 * X); }
vector#2 float image[M,N];
float rate;
return f(image:clamped, rate);
)";

TEST_P(SeveralDevices, GiveTheBitsOfOne) {
  for (const char* text : {two_stages, halves, fine_and_coarse, doubles, waves, tall}) {
    const Program program = Program::from_text(text);
    for (const Shape& shape : {Shape{64, 96}, Shape{37, 150}, Shape{5, 67}, Shape{2, 300}})
      EXPECT_GE(expect_as_on_one(program, {counted(shape)}, on_both()), 1U) << text << to_string(shape);
  }
}

TEST_P(SeveralDevices, TilesThatReachBeyondAShare) {
  const Program program = Program::from_text(dense);
  const DeviceGroup group = DeviceGroup::open(GetParam(), {0, 1});
  for (const Shape& shape : {Shape{8, 150}, Shape{90, 200}}) {
    const Array image = counted(shape);
    expect_as_on_one(program, {image}, on_both());
    const Array expected = program.run({image}, on({0})).at(0);
    expect_same_bits(run_distributed(program, {group.scatter(image)}).at(0).gather(), expected);
    const DistributedArray there = group.array(ElementType::f32, shape);
    run_distributed_into(program, {group.scatter(image)}, {there});
    expect_same_bits(there.gather(), expected);
  }
}

TEST_P(SeveralDevices, BothTakePart) {
  EXPECT_EQ(expect_as_on_one(Program::from_text(two_stages), {counted({640, 200})}, on_both()), 2U);
}

TEST_P(SeveralDevices, ExactNumbersToo) {
  RunOptions options = on_both();
  options.numbers = Numbers::exact;
  expect_as_on_one(Program::from_text(two_stages), {counted({33, 70})}, options);
}

TEST_P(SeveralDevices, ArraysOfAnyRank) {
  expect_as_on_one(Program::from_text(line), {counted({1000})}, on_both());
  expect_as_on_one(Program::from_text(line), {counted({1})}, on_both());
  expect_as_on_one(Program::from_text(volume), {counted({11, 20, 70})}, on_both());
  expect_as_on_one(Program::from_text(volume), {counted({1, 20, 70})}, on_both());
  expect_as_on_one(Program::from_text(four), {counted({3, 4, 9, 40})}, on_both());
  expect_as_on_one(Program::from_text(four), {counted({1, 4, 9, 40})}, on_both());
}

TEST_P(SeveralDevices, FewRowsAreCutAlongAnotherDimension) {
  EXPECT_EQ(expect_as_on_one(Program::from_text(volume), {counted({1, 40, 70})}, on_both()), 2U);
  EXPECT_EQ(expect_as_on_one(Program::from_text(line), {counted({4000})}, on_both()), 2U);
}

TEST_P(SeveralDevices, OneRowIsForOneDevice) {
  EXPECT_EQ(expect_as_on_one(Program::from_text(line), {counted({1})}, on_both()), 1U);
}

TEST_P(SeveralDevices, SlabsOfEachGiveTheSameBits) {
  RunOptions options = on_both();
  options.device_memory = 100'000;
  EXPECT_EQ(expect_as_on_one(Program::from_text(two_stages), {counted({300, 200})}, options), 2U);
}

TEST_P(SeveralDevices, WhatTakesAllOfAnImageRunsOnTheFirst) {
  EXPECT_EQ(expect_as_on_one(Program::from_text(centred), {counted({40, 70})}, on_both()), 1U);
}

TEST_P(SeveralDevices, TheOrderOfDevicesIsTheCallers) {
  RunOptions options = on({1, 0});
  std::vector<int> order;
  options.on_shares = [&](const std::vector<DeviceShare>& shares) {
    for (const DeviceShare& s : shares) order.push_back(s.device);
  };
  static_cast<void>(Program::from_text(two_stages).run({counted({64, 90})}, options));
  EXPECT_THAT(order, ElementsAre(1, 0));
}

TEST_P(SeveralDevices, AllOfThem) {
  std::size_t count = 0;
  RunOptions options = on({all_devices});
  options.on_shares = [&](const std::vector<DeviceShare>& shares) { count = shares.size(); };
  static_cast<void>(Program::from_text(two_stages).run({counted({640, 90})}, options));
  EXPECT_GE(count, 2U);
}

TEST_P(SeveralDevices, WritesIntoArraysOfAnyStrides) {
  const Program program = Program::from_text(waves);
  const Array image = counted({50, 60});
  Array wide(ElementType::f32, {50, 130});
  const std::vector<i64> begin = {0, 3}, end = {50, 63};
  const Array target = wide.region(begin, end);
  program.run_into({image}, {target}, on_both());
  RunOptions one = on({0});
  expect_same_bits(target.clone(), program.run({image}, one).at(0));
}

TEST_P(SeveralDevices, WindowsRunOverThemToo) {
  const Program program = Program::from_text(two_stages);
  const Array image = counted({90, 80});
  const Region part{{11, 5}, {71, 66}};
  const std::vector<Array> got = program.run_region({{image}}, {part, {}}, on_both());
  const std::vector<Array> whole = program.run({image}, on({0}));
  expect_same_bits(got.at(0), whole.at(0).region(part.begin, part.end).clone());
}

TEST_P(SeveralDevices, ProgressCountsAllParts) {
  RunOptions options = on_both();
  std::atomic<i64> last = 0;
  options.on_progress = [&](const Progress& p) {
    EXPECT_EQ(p.done, last + 1);
    last = p.done;
    EXPECT_LE(p.done, p.total);
  };
  static_cast<void>(Program::from_text(two_stages).run({counted({64, 90})}, options));
  EXPECT_GE(last, 2);
}

TEST_P(SeveralDevices, AreCancelled) {
  const std::atomic<bool> now = true;
  RunOptions options = on_both();
  options.cancel = &now;
  const Program program = Program::from_text(two_stages);
  static_cast<void>(program.run({counted({64, 90})}, on_both()));  // compiled
  EXPECT_EQ(refusal([&] { static_cast<void>(program.run({counted({64, 90})}, options)); }, ErrorClass::cancelled),
            "interrupted");
}

TEST_P(SeveralDevices, RefuseWhatCannotBe) {
  const Program program = Program::from_text(two_stages);
  const Array image = counted({64, 90});
  const auto run = [&](const RunOptions& options) { static_cast<void>(program.run({image}, options)); };
  EXPECT_THAT(refusal([&] { run(on({0, 77})); }, ErrorClass::device), HasSubstr("device 77, expected 0 to "));
  EXPECT_EQ(refusal([&] { run(on({1, 1})); }), "device 1 is named twice");
  RunOptions cpu = on_both();
  cpu.target = "cpu";
  EXPECT_EQ(refusal([&] { run(cpu); }), "a run over several devices is on cuda or opencl, but the target is the CPU");
  const Device first = Device::open(GetParam(), 0);
  Stream stream(first);
  RunOptions streamed = on_both();
  streamed.stream = &stream;
  EXPECT_EQ(refusal([&] { run(streamed); }), "a stream is of one device, but the run is over several");
  EXPECT_THAT(refusal([&] { static_cast<void>(program.run({first.copy_of(image)}, on_both())); }),
              AllOf(HasSubstr("input 'image' lies on "), HasSubstr(", but the run is over several devices")));
}

// ---- arrays in shares ----

TEST_P(SeveralDevices, ScatterAndGather) {
  const DeviceGroup group = DeviceGroup::open(GetParam(), {0, 1});
  for (const Shape& shape : {Shape{7, 33}, Shape{1, 5}, Shape{2, 3, 4, 5}}) {
    const Array image = counted(shape);
    const DistributedArray there = group.scatter(image);
    expect_same_bits(there.gather(), image);
    EXPECT_EQ(there.region(0).begin.front(), 0);
    EXPECT_EQ(there.region(0).end.front(), there.region(1).begin.front());
    EXPECT_EQ(there.region(1).end.front(), shape.front());
    EXPECT_EQ(there.share(1).empty(), shape.front() < 2);
    if (!there.share(1).empty())
      expect_same_bits(there.share(1).to_host(), image.region(there.region(1).begin, there.region(1).end).clone());
  }
}

TEST_P(SeveralDevices, SharesGiveTheBitsOfOne) {
  const DeviceGroup group = DeviceGroup::open(GetParam(), {0, 1});
  for (const char* text : {two_stages, halves, fine_and_coarse, doubles, waves, tall}) {
    const Program program = Program::from_text(text);
    for (const Shape& shape : {Shape{64, 96}, Shape{5, 67}, Shape{2, 300}}) {
      const Array image = counted(shape);
      const std::vector<Array> expected = program.run({image}, on({0}));
      const std::vector<DistributedArray> got = run_distributed(program, {group.scatter(image)});
      ASSERT_EQ(got.size(), expected.size());
      for (std::size_t o = 0; o < got.size(); ++o) expect_same_bits(got[o].gather(), expected[o]);
    }
  }
  for (const Shape& shape : {Shape{9, 8, 70}, Shape{1, 8, 70}}) {
    const Array image = counted(shape);
    const Program program = Program::from_text(volume);
    expect_same_bits(run_distributed(program, {group.scatter(image)}).at(0).gather(),
                     program.run({image}, on({0})).at(0));
  }
}

TEST_P(SeveralDevices, ALoopOfTheCallersStaysThere) {
  const DeviceGroup group = DeviceGroup::open(GetParam(), {0, 1});
  const Program program = Program::from_text(heat);
  const Array rate = scalar(0.2);
  Array expected = counted({61, 90});
  DistributedArray got = group.scatter(expected), other = group.array(ElementType::f32, {61, 90});
  for (int k = 0; k < 12; ++k) {
    expected = program.run({expected, rate}, on({0})).at(0);
    if (k % 2 == 0) {
      got = run_distributed(program, {got, rate}).at(0);
    } else {
      run_distributed_into(program, {got, rate}, {other});
      std::swap(got, other);
    }
  }
  expect_same_bits(got.gather(), expected);
}

TEST_P(SeveralDevices, RowsComeOnce) {
  const DeviceGroup group = DeviceGroup::open(GetParam(), {0, 1});
  const Program program = Program::from_text(heat);
  const DistributedArray image = group.scatter(counted({60, 64}));
  std::vector<i64> exchanged;
  RunOptions told;
  told.on_shares = [&](const std::vector<DeviceShare>& shares) {
    for (const DeviceShare& s : shares) exchanged.push_back(s.exchanged);
  };
  const DistributedArray once = run_distributed(program, {image, scalar(0.1)}, told).at(0);
  const i64 row = 64 * 4;
  EXPECT_THAT(exchanged, ElementsAre(row, row));
  static_cast<void>(run_distributed(program, {image, scalar(0.1)}, told));
  EXPECT_THAT(exchanged, ElementsAre(row, row, 0, 0));
  // What is written is not what was brought.
  run_distributed_into(program, {once, scalar(0.1)}, {image}, told);
  static_cast<void>(run_distributed(program, {image, scalar(0.1)}, told));
  // `once` was computed and is read around, so that what is computed of it next goes on at once.
  const i64 both = beside() ? 2 * row : row;
  EXPECT_THAT(exchanged, ElementsAre(row, row, 0, 0, row, row, both, both));
}

// Rows that others will read are computed first and go on while the others are computed, from the second or third step.
TEST_P(SeveralDevices, RowsGoOnBesideTheOthers) {
  const DeviceGroup group = DeviceGroup::open(GetParam(), {0, 1});
  const Program program = Program::from_text(heat);
  const Array rate = scalar(0.2);
  const i64 row = 64 * 4;
  Array expected = counted({200, 64});
  DistributedArray a = group.scatter(expected), b = group.array(ElementType::f32, {200, 64});
  std::vector<i64> exchanged;
  RunOptions told;
  told.on_shares = [&](const std::vector<DeviceShare>& shares) { exchanged.push_back(shares[0].exchanged); };
  for (int k = 0; k < 8; ++k) {
    expected = program.run({expected, rate}, on({0})).at(0);
    run_distributed_into(program, {a, rate}, {b}, told);
    std::swap(a, b);
  }
  // The second step knows that its input is read around, the third one that its output will be; then each brings one.
  EXPECT_EQ(std::accumulate(exchanged.begin(), exchanged.end(), i64{0}), (beside() ? 9 : 8) * row);
  EXPECT_EQ(exchanged.back(), row);
  expect_same_bits(a.gather(), expected);
  // Somebody else writes a share, at any time from now on: rows are those that are there when they are read.
  const Array share = a.share(0), rows = counted({100, 64});
  for (int k = 0; k < 3; ++k) {
    group.wait();
    share.copy_from(rows);
    expected = expected.clone();
    expected.region(std::vector<i64>{0, 0}, std::vector<i64>{100, 64}).copy_from(rows);
    for (int step = 0; step < 2; ++step) {
      expected = program.run({expected, rate}, on({0})).at(0);
      run_distributed_into(program, {a, rate}, {b});
      std::swap(a, b);
    }
    expect_same_bits(a.gather(), expected);
  }
}

// Programs of any reach, one after the other, from and into arrays that are read and written again.
TEST_P(SeveralDevices, AnyOrderOfPrograms) {
  const DeviceGroup group = DeviceGroup::open(GetParam(), {0, 1});
  std::vector<Program> programs;
  for (const auto& [reads, border] :
       {std::pair{"X@[-1,0] + X@[1,0]", "clamped"}, std::pair{"X@[3,0] + X@[0,1]", "mirror"},
        std::pair{"X@[-2,0] * 0.5f + X", "wrap"}, std::pair{"X * 2", "clamped"},
        std::pair{"X@[-9,1] - X@[9,0]", "symmetric"}})
    programs.push_back(Program::from_text(
        std::string("stencil f(vector#2 float X) { return 0.4f * (") + reads +
        "); }\nparameter M, N; vector#2 float image[M,N]; return f(f(image:" + border + "):" + border + ");"));
  std::mt19937 random(7);
  for (const Shape& shape : {Shape{64, 80}, Shape{203, 40}, Shape{7, 30}}) {
    std::vector<Array> expected;
    std::vector<DistributedArray> got;
    for (int k = 0; k < 3; ++k) {
      expected.push_back(counted(shape));
      got.push_back(group.scatter(expected.back()));
    }
    for (int k = 0; k < 60; ++k) {
      const Program& program = programs[random() % programs.size()];
      const std::size_t from = random() % 3, to = random() % 3;
      expected[to] = program.run({expected[from]}, on({0})).at(0);
      if (from != to && random() % 3 != 0)
        run_distributed_into(program, {got[from]}, {got[to]});
      else
        got[to] = run_distributed(program, {got[from]}).at(0);
      if (random() % 8 == 0) expect_same_bits(got[to].gather(), expected[to]);
    }
    for (std::size_t k = 0; k < 3; ++k) expect_same_bits(got[k].gather(), expected[k]);
  }
}

TEST_P(SeveralDevices, SharesRefuseWhatCannotBe) {
  const DeviceGroup group = DeviceGroup::open(GetParam(), {0, 1}), other = DeviceGroup::open(GetParam(), {0, 1});
  const Program program = Program::from_text(two_stages);
  const DistributedArray image = group.scatter(counted({20, 30}));
  const auto run = [&](const Program& p, const std::vector<DistributedInput>& inputs, const RunOptions& options = {}) {
    static_cast<void>(run_distributed(p, inputs, options));
  };
  EXPECT_THAT(refusal([&] { run(Program::from_text(centred), {image}); }),
              HasSubstr("the program does not run on arrays in shares: stage"));
  EXPECT_EQ(refusal([&] { run(program, {counted({20, 30})}); }), "no input is in shares, so that no devices are known");
  EXPECT_THAT(refusal([&] { run(program, {image}, on({0})); }), HasSubstr("goes where they lie"));
  EXPECT_THAT(refusal([&] { static_cast<void>(group.array(ElementType::f32, {5})); }),
              HasSubstr("has shape 5, expected two dimensions or more"));
  EXPECT_THAT(refusal([&] { run_distributed_into(program, {image}, {image, image}); }),
              HasSubstr("shares memory with input 'image'"));
  const DistributedArray strange = other.array(ElementType::f32, {20, 30});
  EXPECT_THAT(refusal([&] { run_distributed_into(program, {image}, {strange, strange}); }),
              HasSubstr("is of another group of devices"));
  const Program sum = Program::from_text(
      "stencil f(vector#2 float X, vector#2 float Y) { return X + Y; }\n"
      "parameter M, N; vector#2 float a[M,N]; vector#2 float b[M,N]; return f(a, b);");
  EXPECT_EQ(refusal([&] { run(sum, {image, strange}); }), "input 'a' and input 'b' are of different groups of devices");
  expect_same_bits(run_distributed(sum, {image, counted({20, 30})}).at(0).gather(),
                   sum.run({counted({20, 30}), counted({20, 30})}, on({0})).at(0));
}

// ---- what goes wrong on one of them ----

class SimulatedSeveralDevices : public SeveralDevices {};

class SetVariable {  // of the environment, as long as it lives
 public:
  SetVariable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~SetVariable() { ::unsetenv(name_); }
  SetVariable(const SetVariable&) = delete;
  SetVariable& operator=(const SetVariable&) = delete;

 private:
  const char* name_;
};

TEST_P(SimulatedSeveralDevices, OfDifferentKindsAreRefused) {
  const SetVariable other("TESSERA_CUDA_ON_CPU_OTHER", ", another one");
  EXPECT_EQ(
      refusal([&] { static_cast<void>(Program::from_text(two_stages).run({counted({64, 90})}, on({all_devices}))); }),
      "CUDA device 0 (CUDA on the processor) and CUDA device 1 (CUDA on the processor, another one) are of "
      "different kinds, expected one kind for a run over several");
}

TEST_P(SimulatedSeveralDevices, LittleMemoryOnOneOfThem) {
  const Program program = Program::from_text(two_stages);
  expect_as_on_one(program, {counted({300, 400})}, on_both());
  {
    const SetVariable little("TESSERA_CUDA_ON_CPU_MEMORY", "200000");
    expect_as_on_one(program, {counted({300, 400})}, on_both());
  }
  {
    const SetVariable none("TESSERA_CUDA_ON_CPU_MEMORY", "100");
    EXPECT_THAT(refusal([&] { static_cast<void>(program.run({counted({300, 400})}, on_both())); }, ErrorClass::device),
                HasSubstr("CUDA device 1 (CUDA on the processor) is out of memory"));
  }
  expect_as_on_one(program, {counted({300, 400})}, on_both());
}

TEST_P(SimulatedSeveralDevices, AnErrorOfOneEndsAll) {
  const Program program = Program::from_text(two_stages);
  expect_as_on_one(program, {counted({300, 400})}, on_both());
  {
    const SetVariable fails("TESSERA_CUDA_ON_CPU_FAILS", "1");
    EXPECT_THAT(refusal([&] { static_cast<void>(program.run({counted({300, 400})}, on_both())); }, ErrorClass::device),
                AllOf(HasSubstr("launching kernel"), HasSubstr("failed on CUDA device 1")));
  }
  expect_as_on_one(program, {counted({300, 400})}, on_both());
}

TEST_P(SimulatedSeveralDevices, WithoutAWayBetweenThem) {
  const DeviceGroup group = DeviceGroup::open("cuda", {0, 1});
  const bool apart = std::getenv("TESSERA_CUDA_ON_CPU_ALONE") != nullptr;
  EXPECT_EQ(group.reaches(0, 1), !apart);
  EXPECT_EQ(group.reaches(1, 0), !apart);
  EXPECT_FALSE(group.reaches(1, 1));
}

const auto name_of_case = [](const auto& info) { return info.param; };
INSTANTIATE_TEST_SUITE_P(Targets, SeveralDevices, ::testing::Values(asked_for()), name_of_case);
INSTANTIATE_TEST_SUITE_P(Targets, SimulatedSeveralDevices,
                         ::testing::ValuesIn(std::vector<std::string>(is_simulated() ? 1 : 0, "cuda")), name_of_case);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SimulatedSeveralDevices);

}  // namespace
}  // namespace tessera
