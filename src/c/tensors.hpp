// DLPack tensors as arrays, and arrays as DLPack tensors.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "c/handles.hpp"

namespace tessera::c {

DLDataType dlpack_type(ElementType);
// Throws Error(argument) that names `what` where Tessera computes nothing of the type.
ElementType element_type(DLDataType, std::string_view what);
std::string name_of(DLDataType);  // "int64", "float8x4"

// Elements of one type; a dimension of fields, where there is one, is a dimension.
Array array_of(const DLTensor&, std::string_view what);
// A scalar: a rank-0 array of the host, of any type of numbers, of halves where those are expected.
Array scalar_of(const DLTensor&, ElementType expected, std::string_view what);

// A tensor as an array of these elements. Structs have one dimension more, the last; where their fields do not lie
// together, the array is a copy of the tensor.
class Bound {
 public:
  // Throws Error(argument) for what is no such array. Of scalars per point the type is not looked at: whoever takes the
  // array says what was expected.
  // The run goes into the stream, if there is one; copies wait for it.
  Bound(const DLTensor&, const Format& expected, std::string_view what, bool is_read, Stream* = nullptr);
  const Array& array() const { return array_; }
  // Where the tensor lies, of any elements.
  const Array& tensor() const { return tensor_ ? *tensor_ : array_; }
  // Until a copy is used no more.
  void wait() const;
  // Copies the elements of a copy back to the tensor.
  void give_back() const;

 private:
  void bind_struct(const DLTensor&, const Format& expected, std::string_view what, bool is_read);

  Stream* stream_;
  Array array_;
  std::optional<Array> tensor_;  // as an array with a dimension of fields, where `array_` is a copy
};

// `count` numbers of the caller's; none of null.
std::vector<i64> numbers(const std::int64_t*, int count);

// Shape without the dimension of fields, data not looked at.
Shape shape_of(const DLTensor&, const Format& expected, std::string_view what);
// The dimensions of an array, that of its fields among them.
Shape dimensions_of(const Shape&, const Format&);

// The caller frees it; the array lives as long.
DLManagedTensorVersioned* managed(Array);

}  // namespace tessera::c
