// DLPack tensors as arrays, and arrays as DLPack tensors; see tensors.hpp.
#include "c/tensors.hpp"

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "base/process/fork.hpp"
#include "data/element.hpp"
#include "data/layout.hpp"
#include "engine/device/array.hpp"
#include "engine/program_impl.hpp"

namespace tessera::c {

namespace {

struct Named {
  ElementType type;
  std::uint8_t code, bits;
};

constexpr std::array<Named, 9> types = {{{ElementType::boolean, kDLBool, 8},
                                         {ElementType::u8, kDLUInt, 8},
                                         {ElementType::i16, kDLInt, 16},
                                         {ElementType::u16, kDLUInt, 16},
                                         {ElementType::i32, kDLInt, 32},
                                         {ElementType::u32, kDLUInt, 32},
                                         {ElementType::f16, kDLFloat, 16},
                                         {ElementType::f32, kDLFloat, 32},
                                         {ElementType::f64, kDLFloat, 64}}};

std::optional<ElementType> known_type(DLDataType t) {
  for (const Named& n : types)
    if (n.code == t.code && n.bits == t.bits && t.lanes == 1) return n.type;
  return {};
}

// The device of a tensor, opened once.
const Device& cuda_device(int number) {
  static base::Mutex mutex;
  static std::map<int, Device> opened;
  const base::Lock lock(mutex, opened);
  auto at = opened.find(number);
  if (at == opened.end()) at = opened.emplace(number, Device::open("cuda", number)).first;
  return at->second;
}

struct Layout {
  Shape shape;
  std::vector<i64> strides;  // bytes
  std::byte* data = nullptr;
};

Layout layout_of(const DLTensor& t, i64 size, std::string_view what) {
  if (t.ndim < 0 || t.ndim > TSR_MOST_DIMENSIONS)
    fail(fmt::format("{} has {} dimensions, expected at most {}", what, t.ndim, TSR_MOST_DIMENSIONS));
  Layout layout;
  if (t.ndim > 0) given(t.shape, fmt::format("the shape of {}", what));
  const auto rank = static_cast<std::size_t>(t.ndim);
  layout.shape.assign(t.shape, t.shape + rank);
  layout.strides.assign(rank, size);
  i64 dense = size, reach = 0;  // bytes between the first element and the furthest ones
  for (std::size_t d = rank; d-- > 0;) {
    if (layout.shape[d] < 0) fail(fmt::format("{} has an extent of {}", what, layout.shape[d]));
    i64 stride = dense;
    if (t.strides != nullptr && __builtin_mul_overflow(t.strides[d], size, &stride))
      fail(fmt::format("{} has a stride of {}", what, t.strides[d]));
    layout.strides[d] = stride;
    i64 length = 0;
    if (t.strides != nullptr && layout.shape[d] > 0 &&
        (__builtin_mul_overflow(stride, layout.shape[d] - 1, &length) || length == INT64_MIN ||
         __builtin_add_overflow(reach, std::abs(length), &reach)))
      fail(fmt::format("{} has a stride of {} for {} elements", what, stride / size, layout.shape[d]));
    if (__builtin_mul_overflow(dense, layout.shape[d], &dense)) fail(fmt::format("{} has too many elements", what));
  }
  const bool empty = dense == 0;
  if (t.data == nullptr && !empty) fail(fmt::format("the data of {} is a null pointer", what));
  if (empty) fail(fmt::format("{} has shape {}; every extent must be at least 1", what, to_string(layout.shape)));
  layout.data = static_cast<std::byte*>(t.data) + t.byte_offset;
  return layout;
}

bool of_host(const DLTensor& t) {
  return number_of(t.device.device_type) == kDLCPU || number_of(t.device.device_type) == kDLCUDAHost;
}

Array array_at(const DLTensor& t, Format format, Layout layout, std::string_view what) {
  if (of_host(t))
    return Array::borrow(layout.data, std::move(format), std::move(layout.shape), std::move(layout.strides));
  const int kind = number_of(t.device.device_type);
  if (kind != kDLCUDA && kind != kDLCUDAManaged)
    fail(fmt::format("{} lies in memory of kind {} of DLPack, expected that of the host or of CUDA", what, kind));
  return cuda_device(t.device.device_id)
      .borrow(layout.data, std::move(format), std::move(layout.shape), std::move(layout.strides));
}

// Do all fields have one type, without gaps?
bool uniform(const Format& f) {
  for (std::size_t k = 0; k < f.fields.size(); ++k)
    if (f.fields[k].type != f.fields[0].type || f.fields[k].offset != k * size_of(f.fields[0].type)) return false;
  return f.is_struct() && f.size() == f.fields.size() * size_of(f.fields[0].type);
}

// A tensor of structs as one of their parts: fields, or bytes where these differ.
struct Parts {
  ElementType type;
  i64 count;
};

Parts parts_of(const Format& f) {
  if (uniform(f)) return {f.fields[0].type, static_cast<i64>(f.fields.size())};
  return {ElementType::u8, static_cast<i64>(f.size())};
}

// The tensor with a dimension of parts; complex numbers are two of them.
DLTensor split(const DLTensor& t, Parts parts, std::string_view what, Shape& shape, std::vector<i64>& strides) {
  if (t.ndim < 0 || t.ndim > TSR_MOST_DIMENSIONS)
    fail(fmt::format("{} has {} dimensions, expected at most {}", what, t.ndim, TSR_MOST_DIMENSIONS));
  DLTensor out = t;
  if (t.dtype.code == kDLComplex && t.dtype.lanes == 1 && t.dtype.bits > 0 && t.dtype.bits % 16 == 0) {
    const Layout layout = layout_of(t, t.dtype.bits / 8, what);
    shape = layout.shape;
    shape.push_back(2);
    for (const i64 s : layout.strides) strides.push_back(s / (t.dtype.bits / 16));
    strides.push_back(1);
    out.dtype = {kDLFloat, static_cast<std::uint8_t>(t.dtype.bits / 2), 1};
    out.ndim = t.ndim + 1;
    out.shape = shape.data();
    out.strides = strides.data();
  }
  const ElementType type = element_type(out.dtype, what);
  const bool fits = type == parts.type || (type == ElementType::boolean && parts.type == ElementType::u8);
  if (!fits || out.ndim < 1 || out.shape == nullptr || out.shape[out.ndim - 1] != parts.count)
    fail(fmt::format("{} has elements {} and {}, expected {} as a last dimension of {}", what, name_of(type),
                     out.ndim < 1 || out.shape == nullptr
                         ? "no dimension"
                         : fmt::format("a last dimension of {}", out.shape[out.ndim - 1]),
                     name_of(parts.type), parts.count));
  return out;
}

}  // namespace

DLDataType dlpack_type(ElementType type) {
  for (const Named& n : types)
    if (n.type == type) return {n.code, n.bits, 1};
  return {kDLOpaqueHandle, 8, 1};
}

std::string name_of(DLDataType t) {
  static constexpr std::array<const char*, 7> words = {"int", "uint", "float", "handle", "bfloat", "complex", "bool"};
  const std::string word = t.code < words.size() ? words[t.code] : fmt::format("code{}_", t.code);
  const std::string bits = t.code == kDLBool && t.bits == 8 ? "" : fmt::format("{}", t.bits);
  return word + bits + (t.lanes == 1 ? "" : fmt::format("x{}", t.lanes));
}

ElementType element_type(DLDataType t, std::string_view what) {
  const auto known = known_type(t);
  if (!known)
    fail(fmt::format(
        "{} has elements {}, expected bool, uint8, int16, uint16, int32, uint32, float16, float32 or float64", what,
        name_of(t)));
  return *known;
}

Array array_of(const DLTensor& t, std::string_view what) {
  const ElementType type = element_type(t.dtype, what);
  return array_at(t, type, layout_of(t, static_cast<i64>(size_of(type)), what), what);
}

Array scalar_of(const DLTensor& t, ElementType expected, std::string_view what) {
  if (t.ndim != 0) fail(fmt::format("{} has {} dimensions, expected a scalar, of none", what, t.ndim));
  if (!of_host(t)) fail(fmt::format("{} lies on a device, expected a number of the host", what));
  const auto* at = static_cast<const std::byte*>(t.data);
  given(at, fmt::format("the data of {}", what));
  at += t.byte_offset;
  const auto read = [&](auto zero) {
    std::memcpy(&zero, at, sizeof zero);
    return static_cast<double>(zero);
  };
  double value = 0;
  ElementType type = ElementType::f64;
  if (const auto known = known_type(t.dtype)) {
    value = load_element(*known, at);
    if (*known != ElementType::f16) type = *known;
  } else if (t.dtype.lanes == 1 && t.dtype.code == kDLInt && t.dtype.bits == 64) {
    value = read(i64{});
  } else if (t.dtype.lanes == 1 && t.dtype.code == kDLUInt && t.dtype.bits == 64) {
    value = read(std::uint64_t{});
  } else if (t.dtype.lanes == 1 && t.dtype.code == kDLInt && t.dtype.bits == 8) {
    value = read(std::int8_t{});
  } else {
    element_type(t.dtype, what);  // says what is taken
  }
  if (expected != ElementType::f16) return scalar(value, type);
  Array half(ElementType::f16, Shape{});
  store_element(ElementType::f16, static_cast<std::byte*>(half.data()), value);
  return half;
}

Bound::Bound(const DLTensor& t, const Format& expected, std::string_view what, bool is_read, Stream* stream)
    : stream_(stream) {
  if (expected.is_struct())
    bind_struct(t, expected, what, is_read);
  else
    array_ = array_of(t, what);
  for (std::size_t d = 0; !is_read && d < tensor().shape().size(); ++d)
    if (tensor().strides()[d] == 0 && tensor().shape()[d] > 1)
      fail(fmt::format("{} has a stride of 0: {} elements would be written to one place", what, tensor().shape()[d]));
}

void Bound::bind_struct(const DLTensor& t, const Format& expected, std::string_view what, bool is_read) {
  const Parts parts = parts_of(expected);
  Shape shape;
  std::vector<i64> strides;
  const DLTensor fields = split(t, parts, what, shape, strides);
  Layout layout = layout_of(fields, static_cast<i64>(size_of(parts.type)), what);
  const bool together = parts.count == 1 || layout.strides.back() == static_cast<i64>(size_of(parts.type));
  if (together) {
    layout.shape.pop_back();
    layout.strides.pop_back();
    array_ = array_at(fields, expected, std::move(layout), what);
    return;
  }
  tensor_ = array_at(fields, parts.type, layout, what);
  const Array packed = tensor_->on_device() ? cuda_device(t.device.device_id).array(parts.type, layout.shape)
                                            : Array(parts.type, layout.shape);
  if (is_read) {
    if (stream_ != nullptr) stream_->wait();  // it may be about to write what is copied
    packed.copy_from(*tensor_);
  }
  // The same memory as structs. (Rows of devices begin at multiples of 16 bytes, and fields lie together in them.)
  Shape points = layout.shape;
  points.pop_back();
  std::vector<i64> steps = packed.strides();
  steps.pop_back();
  if (packed.on_device())
    array_ =
        cuda_device(t.device.device_id).borrow(packed.data(), expected, points, steps, std::make_shared<Array>(packed));
  else
    array_ = Array::share(packed.owner(), packed.data(), expected, points, steps);
}

void Bound::wait() const {
  if (tensor_ && stream_ != nullptr) stream_->wait();
}

void Bound::give_back() const {
  if (!tensor_) return;
  wait();
  Shape shape = array_.shape();
  std::vector<i64> strides = array_.strides();
  const Parts parts = parts_of(array_.format());
  shape.push_back(parts.count);
  strides.push_back(static_cast<i64>(size_of(parts.type)));
  const Array packed = array_.on_device() ? Array::in(array_.memory(), array_.data(), parts.type, shape, strides)
                                          : Array::borrow(array_.data(), parts.type, shape, strides);
  tensor_->copy_from(packed);
}

std::vector<i64> numbers(const std::int64_t* from, int count) {
  return from == nullptr ? std::vector<i64>{} : std::vector<i64>(from, from + count);
}

Shape shape_of(const DLTensor& t, const Format& expected, std::string_view what) {
  if (t.ndim < 0 || t.ndim > TSR_MOST_DIMENSIONS || (t.ndim > 0 && t.shape == nullptr))
    fail(fmt::format("{} has {} dimensions, expected at most {}", what, t.ndim, TSR_MOST_DIMENSIONS));
  Shape shape(t.shape, t.shape + t.ndim);
  for (const i64 extent : shape)
    if (extent < 1) fail(fmt::format("{} has an extent of {}", what, extent));
  if (!expected.is_struct() || t.dtype.code == kDLComplex) return shape;
  const i64 parts = parts_of(expected).count;
  if (shape.empty() || shape.back() != parts)
    fail(fmt::format("{} has shape {}, expected a last dimension of {}", what, to_string(shape), parts));
  shape.pop_back();
  return shape;
}

Shape dimensions_of(const Shape& shape, const Format& format) {
  Shape all = shape;
  if (format.is_struct()) all.push_back(parts_of(format).count);
  return all;
}

DLManagedTensorVersioned* managed(Array array) {
  struct Kept {
    Array array;
    Shape shape;
    std::vector<i64> strides;
    DLManagedTensorVersioned tensor;
  };
  auto kept = std::make_unique<Kept>();
  const Format& format = array.format();
  const ElementType type = format.is_struct() ? parts_of(format).type : format.scalar;
  kept->shape = dimensions_of(array.shape(), format);
  for (const i64 s : array.strides()) kept->strides.push_back(s / static_cast<i64>(size_of(type)));
  if (format.is_struct()) kept->strides.push_back(1);
  DLTensor& t = kept->tensor.dl_tensor;
  t.data = array.data();
  t.device = {kDLCPU, 0};
  if (array.on_device()) t.device = {kDLCUDA, engine::memory_of(array)->device()->limits().index};
  t.ndim = static_cast<std::int32_t>(kept->shape.size());
  t.dtype = dlpack_type(type);
  t.shape = kept->shape.data();
  t.strides = kept->strides.data();
  t.byte_offset = 0;
  kept->tensor.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  kept->tensor.flags = 0;
  kept->array = std::move(array);
  kept->tensor.manager_ctx = kept.get();
  kept->tensor.deleter = [](DLManagedTensorVersioned* self) { delete static_cast<Kept*>(self->manager_ctx); };
  return &kept.release()->tensor;
}

}  // namespace tessera::c
