// Element types and N-dimensional arrays.
//
// An array is a type, a shape, byte strides and a pointer. Shapes go from the slowest to the fastest dimension, as in
// NumPy. Memory is owned (64-byte aligned) or borrowed. Copying an Array copies the handle, not the elements.
//
// An array may lie in the memory of a device (tessera/device.hpp makes such arrays): views, clone() and copy_from()
// work as on the host, elements are read after to_host().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

using i64 = std::int64_t;

enum class ElementType : std::uint8_t { boolean, u8, i16, u16, i32, u32, f16, f32, f64 };

// Bytes of one element: boolean and u8 1, i16, u16 and f16 2, i32, u32 and f32 4, f64 8.
std::size_t size_of(ElementType);
// "bool uint8 int16 uint16 int32 uint32 half float double".
std::string_view name_of(ElementType);
bool is_float(ElementType);

// What one element of an array is: a scalar (no fields) or a struct of scalars, laid out as a C struct.
struct Format {
  struct Field {
    std::string name;
    ElementType type = ElementType::f32;
    std::size_t offset = 0;  // bytes
    bool operator==(const Field&) const = default;
  };
  ElementType scalar = ElementType::f32;  // when fields is empty
  std::string struct_name;
  std::vector<Field> fields;

  Format() = default;
  Format(ElementType t) : scalar(t) {}  // NOLINT: a scalar type is a format
  // Fields in order, offsets as the C compiler lays them out.
  static Format record(std::string name, std::vector<std::pair<std::string, ElementType>> fields);

  bool is_struct() const { return !fields.empty(); }
  std::size_t size() const;  // bytes of one element, struct padding included
  bool has_padding() const;  // bytes that belong to no field
  std::string name() const;  // "float", "struct rgb"
  bool operator==(const Format&) const = default;
};

using Shape = std::vector<i64>;
std::string to_string(const Shape&);  // "480x640"
// Product of the extents. Throws Error(argument) when it does not fit 63 bits.
i64 element_count(const Shape&);

class Array;

// The memory of a device that arrays lie in. Thread-safe.
class ArrayMemory {
 public:
  virtual ~ArrayMemory() = default;
  virtual std::string place() const = 0;              // "CUDA device 0 (NVIDIA H200)"
  virtual Array make(Format, Shape) const = 0;        // on the same device, elements undefined
  virtual void copy(Array to, Array from) const = 0;  // of which one lies here; returns when it is done
};

class Array {
 public:
  Array() = default;
  // Owned, zero-filled, C order. Throws Error(argument) when memory cannot be had or an extent is negative.
  Array(Format format, Shape shape);
  // Borrowed: `data` must outlive every use. Strides are in bytes and may be negative or zero for reading.
  static Array borrow(void* data, Format format, Shape shape, std::vector<i64> strides = {});
  // The same, but `owner` is kept alive by the array and by every view of it.
  static Array share(std::shared_ptr<void> owner, void* data, Format format, Shape shape,
                     std::vector<i64> strides = {});
  // The same in a device's memory, where `data` is an address of the device.
  static Array in(std::shared_ptr<const ArrayMemory> memory, void* data, Format format, Shape shape,
                  std::vector<i64> strides);
  // A copy of `values` as an owned array.
  template <class T>
  static Array from(std::span<const T> values, Shape shape);

  const Format& format() const { return format_; }
  const Shape& shape() const { return shape_; }
  const std::vector<i64>& strides() const { return strides_; }
  int rank() const { return static_cast<int>(shape_.size()); }
  i64 count() const { return element_count(shape_); }
  bool empty() const { return data_ == nullptr; }
  const std::shared_ptr<void>& owner() const { return owner_; }                 // null when borrowed
  bool contiguous() const;                                                      // C order without gaps
  const std::shared_ptr<const ArrayMemory>& memory() const { return memory_; }  // null: the host's
  bool on_device() const { return memory_ != nullptr; }
  void* data() const { return data_; }  // on a device its address, not to be followed by the host
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  // Address of one element. Throws Error(argument) when outside, or on a device.
  std::byte* at(std::span<const i64> index) const;

  // A view of [begin, end) in every dimension; shares memory. Throws Error(argument) when outside.
  Array region(std::span<const i64> begin, std::span<const i64> end) const;
  // A view of one field of a struct array.
  Array field(std::string_view name) const;
  // An owned contiguous copy, on the device of this array (rows there begin at multiples of 16 bytes).
  Array clone() const;
  // This array where it lies on the host, else a copy there.
  Array to_host() const;
  // Copies elements from an array of the same format and shape, any strides, of the host or a device. Throws
  // Error(device) when that fails.
  void copy_from(const Array& other) const;

 private:
  Format format_;
  Shape shape_;
  std::vector<i64> strides_;
  std::shared_ptr<void> owner_;
  std::shared_ptr<const ArrayMemory> memory_;
  void* data_ = nullptr;
};

namespace detail {
template <class T>
struct element_of;
template <>
struct element_of<bool> {
  static constexpr ElementType value = ElementType::boolean;
};
template <>
struct element_of<std::uint8_t> {
  static constexpr ElementType value = ElementType::u8;
};
template <>
struct element_of<std::int16_t> {
  static constexpr ElementType value = ElementType::i16;
};
template <>
struct element_of<std::uint16_t> {
  static constexpr ElementType value = ElementType::u16;
};
template <>
struct element_of<std::int32_t> {
  static constexpr ElementType value = ElementType::i32;
};
template <>
struct element_of<std::uint32_t> {
  static constexpr ElementType value = ElementType::u32;
};
template <>
struct element_of<float> {
  static constexpr ElementType value = ElementType::f32;
};
template <>
struct element_of<double> {
  static constexpr ElementType value = ElementType::f64;
};
}  // namespace detail

template <class T>
Array Array::from(std::span<const T> values, Shape shape) {
  Array a(detail::element_of<T>::value, std::move(shape));
  Array source = borrow(const_cast<T*>(values.data()), a.format(), {static_cast<i64>(values.size())});
  borrow(a.data(), a.format(), {a.count()}).copy_from(source);
  return a;
}

}  // namespace tessera
