// Arrays on a device, streams and slabs through the public interface, on the target that $TESSERA_TARGET names
// (opencl).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>

#include "device/common.hpp"
#include "device/programs.hpp"
#include "run/cuda/cuda.hpp"
#include "support/opencl.hpp"
#include "tessera/tessera.hpp"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

void expect_equal(const Array& got, const Array& expected) {
  ASSERT_EQ(got.shape(), expected.shape());
  const Array here = got.to_host(), want = expected.to_host();
  std::vector<i64> at(want.shape().size());
  for (i64 k = 0; k < want.count(); ++k) {
    i64 rest = k;
    for (std::size_t d = at.size(); d-- > 0;) at[d] = rest % want.shape()[d], rest /= want.shape()[d];
    ASSERT_EQ(*reinterpret_cast<const float*>(here.at(at)), *reinterpret_cast<const float*>(want.at(at))) << k;
  }
}

class DeviceArrays : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const bool cuda = GetParam() == "cuda";
    if (cannot_run(cuda ? why_none(run::cuda::find()) : no_opencl())) return;
    device_.emplace(Device::open(GetParam()));
    name_ = std::string(cuda ? "CUDA" : "OpenCL") + " device 0";
  }
  const Device& device() const { return *device_; }
  RunOptions exact() const {
    RunOptions options;
    options.numbers = Numbers::exact;
    return options;
  }
  const Program program_ = Program::from_text(two_stages);
  std::string name_;

 private:
  std::optional<Device> device_;
};

// Of a row, for all rows: on the host and on the device.
TEST_P(DeviceArrays, MaskTheirLastDimensions) {
  const Array image = counted({9, 14}), row(ElementType::u8, {14}), all(ElementType::u8, {9, 14});
  for (i64 k = 0; k < all.count(); ++k) all.as<std::uint8_t>()[k] = row.as<std::uint8_t>()[k % 14] = k % 14 % 5 != 1;
  const Array expected = box(image, {.mask = all, .run = exact()});
  RunOptions there = exact();
  there.target = GetParam();
  expect_equal(box(image, {.mask = row, .run = there}), expected);
  const Array result = box(device().copy_of(image), {.mask = device().copy_of(row), .run = exact()});
  EXPECT_TRUE(result.on_device());
  expect_equal(result, expected);
}

TEST_P(DeviceArrays, GoThereAndBack) {
  for (const Shape& shape : {Shape{}, Shape{5}, Shape{7, 13}, Shape{3, 4, 5}, Shape{2, 3, 1, 9}}) {
    const Array host = counted(shape);
    const Array there = device().copy_of(host);
    EXPECT_TRUE(there.on_device());
    for (std::size_t d = 0; d + 1 < shape.size(); ++d) EXPECT_EQ(there.strides()[d] % 16, 0);
    expect_equal(there, host);
    expect_equal(there.clone(), host);
    EXPECT_EQ(there.clone().memory()->place(), there.memory()->place());
  }
  EXPECT_FALSE(counted({3}).on_device());
  EXPECT_EQ(counted({3}).to_host().shape(), Shape{3});
}

TEST_P(DeviceArrays, ViewsCopyTheirElementsAlone) {
  const Array host = counted({9, 11}), there = device().copy_of(host);
  const std::vector<i64> begin{2, 3}, end{7, 10};
  expect_equal(there.region(begin, end), host.region(begin, end));
  const Array small = counted({5, 7});
  there.region(begin, end).copy_from(small);
  host.region(begin, end).copy_from(small);
  expect_equal(there, host);
  const Array other = device().copy_of(counted({5, 7}));
  other.copy_from(there.region(begin, end));  // on the device
  expect_equal(other, small);
}

TEST_P(DeviceArrays, ReversedAndColumnwiseHostArrays) {
  const Array host = counted({6, 10});
  auto* last = host.as<std::byte>() + host.strides()[0] * 5;
  const Array reversed = Array::borrow(last, ElementType::f32, {6, 10}, {-host.strides()[0], 4});
  expect_equal(device().copy_of(reversed), reversed);
  const Array turned = Array::borrow(host.data(), ElementType::f32, {10, 6}, {4, host.strides()[0]});
  expect_equal(device().copy_of(turned), turned);
}

TEST_P(DeviceArrays, StructsAndFields) {
  const Format pixel = Format::record("pixel", {{"a", ElementType::u8}, {"b", ElementType::f32}});
  const Array host(pixel, {3, 5});
  for (i64 k = 0; k < 15; ++k) {
    host.as<std::byte>()[8 * k] = std::byte(k);
    reinterpret_cast<float*>(host.as<std::byte>() + 8 * k + 4)[0] = static_cast<float>(k);
  }
  expect_equal(device().copy_of(host).field("b"), host.field("b"));
}

TEST_P(DeviceArrays, ARunGoesWhereItsArraysAre) {
  const Array photo = counted({130, 217});
  const std::vector<Array> expected = program_.interpret({photo});
  const Array image = device().copy_of(photo);
  const std::vector<Array> there = program_.run({image}, exact());
  ASSERT_EQ(there.size(), 2U);
  for (std::size_t o = 0; o < 2; ++o) {
    EXPECT_TRUE(there[o].on_device());
    expect_equal(there[o], expected[o]);
  }
  // One result is the next one's input; the host's may be mixed in.
  const std::vector<Array> again = program_.run({there[0]}, exact());
  expect_equal(again[1], program_.interpret({expected[0]})[1]);
  const Array here(ElementType::f32, {130, 217});
  program_.run_into({image}, {here, there[1]}, exact());
  expect_equal(here, expected[0]);
  program_.run_into({photo}, {there[0], here}, exact());
  expect_equal(there[0], expected[0]);
  expect_equal(here, expected[1]);
  expect_equal(program_.interpret({image})[0], expected[0]);
}

TEST_P(DeviceArrays, ScalarsMayLieThereToo) {
  const Program scale = Program::from_text(
      "parameter M, N;\nstencil f(vector#2 float X, float s) { return X * s; }\nvector#2 float image[M,N];\n"
      "float s;\nreturn f(image, s);\n");
  const Array image = counted({5, 6});
  const Array want = scale.interpret({image, scalar(3)})[0];
  expect_equal(scale.run({device().copy_of(image), scalar(3)}, exact())[0], want);
  expect_equal(scale.run({device().copy_of(image), device().copy_of(scalar(3))}, exact())[0], want);
}

TEST_P(DeviceArrays, StreamsRunInOrder) {
  const Array photo = counted({90, 301});
  Stream stream(device());
  RunOptions options = exact();
  options.stream = &stream;
  const Array image = device().array(ElementType::f32, {90, 301}), result(ElementType::f32, {90, 301});
  const Array middle = device().array(ElementType::f32, {90, 301}), other = image.clone();
  stream.copy(image, photo);
  program_.run_into({image}, {middle, other}, options);
  program_.run_into({middle}, {result, other}, options);
  stream.wait();
  const std::vector<Array> first = program_.interpret({photo});
  expect_equal(result, program_.interpret({first[0]})[0]);
  // From the host and back, with arrays that go out of scope before the work is done.
  Array kept;
  {
    kept = program_.run({counted({90, 301})}, options)[1];
  }
  stream.wait();
  EXPECT_FALSE(kept.on_device());
  expect_equal(kept, first[1]);
}

// Kernels that do not depend on each other may run beside each other (engine/device/launch_order.hpp), though what they
// read was written just before the first of them, over what the same addresses held a run before. $TESSERA_TURNS: a
// real GPU should be asked hundreds of times.
TEST_P(DeviceArrays, KernelsBesideEachOtherSeeWhatWasWrittenBefore) {
  const Program program = Program::from_text(R"(
    parameter M, N;
    stencil smooth(vector#2 float X) { return X@[-1,0] + 2 * X + X@[1,0]; }
    stencil left(vector#2 float X) { return X@[0,-1] - 2 * X; }
    stencil right(vector#2 float X) { return X@[0,1] - 3 * X@[1,0]; }
    stencil near(vector#2 float X) { return X@[0,1] + X@[0,-1] + X@[1,0]; }
    stencil far(vector#2 float X) { return X@[5,0] + X@[0,-7]; }
    vector#2 float image[M,N];
    s = smooth(image:mirror);
    return a = left(s:clamped), b = right(s:clamped), c = near(s:clamped), d = far(s:clamped);
  )");
  const char* asked = std::getenv("TESSERA_TURNS");
  const int turns = asked != nullptr ? std::atoi(asked) : 2;
  ASSERT_GT(turns, 0);
  Stream stream(device());
  RunOptions options = exact();
  options.schedule = Schedule::untiled;
  options.stream = &stream;
  const Shape shape{turns > 2 ? 700 : 70, 530};
  std::vector<Array> images;
  std::vector<std::vector<Array>> expected, got;
  for (i64 k = 0; k < 5; ++k) {
    Array image(ElementType::f32, shape);
    for (i64 i = 0; i < image.count(); ++i) image.as<float>()[i] = static_cast<float>((i * 7919 + k * 331) % 1009);
    expected.push_back(program.interpret({image}));
    images.push_back(device().copy_of(image));
    got.emplace_back();
    for (int o = 0; o < 4; ++o) got.back().push_back(device().array(ElementType::f32, shape));
  }
  for (int turn = 0; turn < turns; ++turn) {
    for (std::size_t k = 0; k < images.size(); ++k) program.run_into({images[k]}, got[k], options);
    stream.wait();
    for (std::size_t k = 0; k < images.size(); ++k)
      for (std::size_t o = 0; o < 4; ++o) {
        const Array here = got[k][o].to_host();
        const auto row = static_cast<std::size_t>(shape[1]) * sizeof(float);
        for (i64 y = 0; y < shape[0]; ++y)
          ASSERT_EQ(std::memcmp(here.at(std::array<i64, 2>{y, 0}), expected[k][o].at(std::array<i64, 2>{y, 0}), row), 0)
              << "turn " << turn << ", image " << k << ", result " << o << ", row " << y;
      }
  }
}

TEST_P(DeviceArrays, SlabsGiveTheSameBits) {
  const Array photo = counted({211, 127});
  const std::vector<Array> expected = program_.interpret({photo});
  for (const i64 bytes : {i64{40000}, i64{100000}, i64{250000}, i64{1} << 40}) {
    RunOptions options = exact();
    options.target = GetParam();
    options.device_memory = bytes;
    i64 parts = 0;
    options.on_progress = [&](const Progress& p) { parts = p.total; };
    const std::vector<Array> got = program_.run({photo}, options);
    for (std::size_t o = 0; o < 2; ++o) expect_equal(got[o], expected[o]);
    EXPECT_EQ(parts > 1, bytes < 211 * 512 * 3) << bytes;
  }
}

TEST_P(DeviceArrays, WhatLiesThereIsNotCountedAgainstTheLimit) {
  const Array photo = counted({211, 128});
  const std::vector<Array> expected = program_.interpret({photo});
  const Array image = device().copy_of(photo), other = image.clone();
  const Array there = image.clone(), here(ElementType::f32, {211, 128});
  constexpr i64 one = 211 * 512;  // bytes of an array
  // How many slabs a run takes that may have so many bytes.
  const auto parts = [&](const Array& input, const std::vector<Array>& outputs, i64 bytes) {
    RunOptions options = exact();
    options.device_memory = bytes;
    i64 total = 0;
    options.on_progress = [&](const Progress& p) { total = p.total; };
    program_.run_into({input}, outputs, options);
    return total;
  };
  EXPECT_EQ(parts(image, {there, other}, 1), 1);
  EXPECT_EQ(parts(image, {there, here}, one), 1);
  expect_equal(there, expected[0]);
  expect_equal(here, expected[1]);
  EXPECT_GT(parts(image, {there, here}, one - 1), 1);
  EXPECT_EQ(parts(photo, {there, here}, 2 * one), 1);
  EXPECT_GT(parts(photo, {there, here}, 2 * one - 1), 1);
  // Rows that do not begin at multiples of 16 bytes are copied, and so counted.
  const Array wide = device().array(ElementType::f32, {211, 132});
  const std::vector<i64> begin{0, 1}, end{211, 129};
  const Array shifted = wide.region(begin, end);
  shifted.copy_from(photo);
  EXPECT_EQ(parts(shifted, {there, other}, one), 1);
  EXPECT_GT(parts(shifted, {there, other}, one - 1), 1);
  expect_equal(other, expected[1]);
}

TEST_P(DeviceArrays, WhatDoesNotFitEvenByRowsIsAnError) {
  RunOptions options = exact();
  options.target = GetParam();
  options.device_memory = 1000;
  EXPECT_THAT(refusal([&] { program_.run({counted({200, 300})}, options); }, ErrorClass::device),
              HasSubstr("is out of memory"));
  options.device_memory = -1;
  EXPECT_THAT(refusal([&] { program_.run({counted({20, 30})}, options); }), HasSubstr("device_memory is -1"));
}

TEST_P(DeviceArrays, RefusesWhatCannotBe) {
  const Array image = device().copy_of(counted({20, 30}));
  RunOptions cpu;
  cpu.target = "cpu";
  EXPECT_THAT(refusal([&] { program_.run({image}, cpu); }),
              AllOf(HasSubstr("input 'image' lies on " + name_), HasSubstr("the run is on the CPU")));
  EXPECT_THAT(refusal([&] { program_.run_into({image.to_host()}, {image.to_host(), image.clone()}, cpu); }),
              AllOf(HasSubstr("output 'sharp' lies on " + name_), HasSubstr("the run is on the CPU")));
  EXPECT_THAT(refusal([&] { program_.run_into({image}, {image.clone()}); }), HasSubstr("has 2 outputs, but 1 array"));
  const std::vector<i64> at{0, 0};
  EXPECT_THAT(refusal([&] { image.at(at); }), HasSubstr("have no address here"));
  EXPECT_THAT(refusal([&] { image.copy_from(counted({20, 31})); }), HasSubstr("cannot copy an array of 20x31"));
  EXPECT_THAT(refusal([&] { program_.run_into({image}, {image, image.clone()}); }), HasSubstr("shares memory"));
  Stream stream(device());
  EXPECT_THAT(refusal([&] { stream.copy(counted({2}), counted({2})); }), HasSubstr("both arrays lie on the host"));
  EXPECT_THAT(refusal([&] { stream.copy(image, counted({2})); }), HasSubstr("cannot copy an array of 2 float"));
  RunOptions options;
  options.target = "cpu";
  options.stream = &stream;
  EXPECT_THAT(refusal([&] { program_.run({image}, options); }), HasSubstr("the stream is of " + name_));
  EXPECT_THAT(refusal([&] { Device::open("abacus"); }), HasSubstr("there is no target"));
  EXPECT_THAT(refusal([&] { Device::open(GetParam(), 99); }, ErrorClass::device), HasSubstr("device 99"));
  if (device().target() == "opencl") {
    int some = 0;
    EXPECT_THAT(refusal([&] { device().borrow(&some, ElementType::i32, {1}); }), HasSubstr("by the target cuda alone"));
    EXPECT_THAT(refusal([&] { Stream::borrow(device(), nullptr); }), HasSubstr("by the target cuda alone"));
  } else {
    EXPECT_THAT(refusal([&] { device().borrow(nullptr, ElementType::i32, {1}); }), HasSubstr("null pointer"));
  }
  EXPECT_THAT(refusal([&] { device().array(ElementType::f32, {-1, 4}); }), HasSubstr("must not be negative"));
  EXPECT_THAT(refusal([&] { device().array(ElementType::f64, {i64{1} << 40, i64{1} << 40}); }), HasSubstr("too large"));
  EXPECT_THAT(refusal([&] { device().array(ElementType::f32, {i64{1} << 30, i64{1} << 20}); }, ErrorClass::device),
              HasSubstr("out of memory"));
}

class DeviceArraysOfOthers : public DeviceArrays {};

// In the middle of another library's memory, at any alignment, with a stream of its own.
TEST_P(DeviceArraysOfOthers, AreUsedAndCopied) {
  const Array photo = counted({70, 131});
  const std::vector<Array> expected = program_.interpret({photo});
  for (const i64 shift : {0, 4, 16}) {
    SCOPED_TRACE(shift);
    const Array theirs = device().array(ElementType::u8, {100, 640}), out = theirs.clone();
    const auto borrowed = [&](const Array& a) {
      return device().borrow(a.as<std::byte>() + shift, ElementType::f32, {70, 131}, {640, 4},
                             std::make_shared<int>(3));
    };
    borrowed(theirs).copy_from(photo);
    RunOptions options = exact();
    Stream stream = Stream::borrow(device(), nullptr);
    options.stream = &stream;
    const Array other = device().array(ElementType::f32, {70, 131});
    program_.run_into({borrowed(theirs)}, {borrowed(out), other}, options);
    stream.wait();
    expect_equal(borrowed(out), expected[0]);
    expect_equal(other, expected[1]);
  }
}

TEST_P(DeviceArrays, LargeImagesGoInSlabsByThemselves) {
  const Array photo = counted({4001, 3000});
  RunOptions options = exact();
  options.target = GetParam();
  i64 parts = 0;
  options.on_progress = [&](const Progress& p) { parts = p.total; };
  const std::vector<Array> got = program_.run({photo}, options);
  const std::vector<Array> want = program_.run({device().copy_of(photo)}, exact());
  for (std::size_t o = 0; o < 2; ++o) expect_equal(got[o], want[o]);
  if (device().target() == "cuda") {
    EXPECT_GT(parts, 4);
  }
}

TEST_P(DeviceArrays, PinnedMemoryIsTheHosts) {
  const Array pinned = device().pinned(ElementType::f32, {33, 65});
  EXPECT_FALSE(pinned.on_device());
  pinned.copy_from(counted({33, 65}));
  expect_equal(device().copy_of(pinned), counted({33, 65}));
  EXPECT_EQ(device().pinned(ElementType::f32, {0, 4}).count(), 0);
  EXPECT_THAT(refusal([&] { device().pinned(ElementType::f32, {-1, 4}); }), HasSubstr("must not be negative"));
  EXPECT_THAT(refusal([&] { device().pinned(ElementType::f64, {i64{1} << 31, i64{1} << 31}); }),
              HasSubstr("does not fit in memory"));
}

const auto name_of_case = [](const auto& info) { return info.param; };

INSTANTIATE_TEST_SUITE_P(Targets, DeviceArrays, ::testing::Values(asked_for()), name_of_case);

// CUDA alone takes memory of others.
INSTANTIATE_TEST_SUITE_P(Targets, DeviceArraysOfOthers,
                         ::testing::ValuesIn(std::vector<std::string>(asked_for() == "cuda" ? 1 : 0, "cuda")),
                         name_of_case);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(DeviceArraysOfOthers);

}  // namespace
}  // namespace tessera
