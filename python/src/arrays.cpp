// Arrays of others as tensors. NumPy's are recognised by their type and read through __array_struct__, in two hundred
// nanoseconds; those of torch, CuPy and JAX come by DLPack, done by hand, through its table of functions where there is
// one: the stream that they are asked for is the one their owner works in, so that nothing is waited for. Whatever else
// NumPy can make an array of, it does.
#include <cstring>
#include <limits>

#include "core.hpp"

namespace tessera::python {
namespace {

// What __array_struct__ holds (NumPy's array interface, version 3).
struct ArrayStruct {
  int two;
  int dimensions;
  char kind;
  int item_size;
  int flags;
  Py_ssize_t* shape;
  Py_ssize_t* strides;
  void* data;
  PyObject* description;
};
constexpr int flag_native = 0x200, flag_writable = 0x400;

// Looked up once. Only what is in sys.modules already is looked for: somebody who has an array has its module.
struct Known {
  PyObject* array_type = nullptr;  // numpy.ndarray
  PyObject* empty = nullptr;       // numpy.empty
  PyObject* types[9] = {};         // numpy.dtype of each element type
  PyObject *array_struct = nullptr, *dlpack = nullptr, *dlpack_device = nullptr, *cuda_array = nullptr;
  PyObject* keywords = nullptr;  // of __dlpack__
  PyObject* arrays = nullptr;    // tessera._arrays
};
Known known;

constexpr DLDataType element_types[9] = {make_type(kDLBool, 8),   make_type(kDLUInt, 8),   make_type(kDLUInt, 16),
                                         make_type(kDLUInt, 32),  make_type(kDLInt, 16),   make_type(kDLInt, 32),
                                         make_type(kDLFloat, 16), make_type(kDLFloat, 32), make_type(kDLFloat, 64)};

void know_numpy() {
  const nb::module_ numpy = nb::module_::import_("numpy");
  for (int k = 0; k < 9; ++k) known.types[k] = numpy.attr("dtype")(name_of(element_types[k])).release().ptr();
  known.empty = nb::object(numpy.attr("empty")).release().ptr();
  known.array_type = nb::object(numpy.attr("ndarray")).release().ptr();
}

nb::handle arrays() {
  if (known.arrays == nullptr) known.arrays = nb::module_::import_("tessera._arrays").release().ptr();
  return known.arrays;
}

std::string quoted(const char* name) {
  return "'" + std::string(name) + "'";
}

// A name that stands in Python code.
std::string code(const char* name) {
  for (const char* p = name; *p != '\0'; ++p)
    if (std::isalnum(static_cast<unsigned char>(*p)) == 0 && *p != '_') return "array";
  return *name == '\0' ? "array" : name;
}

// A list, which has no astype.
bool is_plain(const Taken& given) {
  return given.given != nullptr && !nb::hasattr(nb::handle(given.given), "dtype");
}

}  // namespace

void wrong_type(const char* name, const std::string& type, const Taken& given) {
  const std::string n = code(name);
  std::string help;
  const bool torch = given.maker != Maker::numpy;
  const bool plain = !torch && is_plain(given);
  const auto as = [&](const char* t) {
    if (plain) return "np.asarray(" + n + ", '" + t + "')";
    return torch ? n + ".to(torch." + t + ")" : n + ".astype('" + t + "')";
  };
  const std::string expected = given.expected.bits > 0 ? name_of(given.expected) : "";
  if (!expected.empty())
    help = as(expected.c_str());
  else if (type == "int64" || type == "int8")
    help = type == "int8" ? as("int16") : as("int32") + ", or " + as("float64");
  else if (type == "uint64")
    help = as("uint32") + ", or " + as("float64");
  else if (type.starts_with("bfloat") || type == "float8")
    help = as("float32");
  else if (type.starts_with("complex"))
    help = n + ".real and " + n + ".imag";
  else if (type == "float128" || type == "longdouble")
    help = as("float64");
  else
    help = as("float32");
  fail(quoted(name) + " is an array of " + type +
           (expected.empty() ? ", expected bool, uint8, uint16, uint32, int16, int32, float16, float32 or float64"
                             : ", expected " + expected),
       "write " + help);
}

namespace {

// Bytes to elements; false where a stride is no multiple of an element.
bool set_strides(Taken& to, int rank, const Py_ssize_t* bytes, int item_size) {
  for (int d = 0; d < rank; ++d) {
    if (bytes[d] % item_size != 0) return false;
    to.strides[d] = bytes[d] / item_size;
  }
  return true;
}

void finish(Taken& to, void* data, int rank, DLDataType type) {
  to.tensor.data = data;
  to.tensor.device = {kDLCPU, 0};
  to.tensor.ndim = rank;
  to.tensor.dtype = type;
  to.tensor.shape = to.shape;
  to.tensor.strides = to.strides;
  to.tensor.byte_offset = 0;
}

std::string text_of(nb::handle object) {
  return nb::cast<std::string>(nb::str(object));
}

std::string numpy_type(PyObject* array) {
  const nb::object type = nb::handle(array).attr("dtype");
  return text_of(type);
}

// A copy in C order, whose elements are aligned.
void take_numpy(PyObject* given, const char* name, bool for_writing, Taken& to);
void take_copy(PyObject* given, const char* name, Taken& to) {
  nb::object copy = nb::module_::import_("numpy").attr("array")(nb::handle(given), nb::arg("order") = "C");
  take_numpy(copy.ptr(), name, false, to);
  to.keep = std::move(copy);
  to.fresh = true;
}

// Of a struct the fields, if they have one type and lie side by side, are the last dimension.
void take_struct(PyObject* given, const char* name, bool for_writing, const ArrayStruct& a, Taken& to) {
  const nb::object type = nb::handle(given).attr("dtype");
  const nb::object names = type.attr("names");
  if (names.is_none()) wrong_type(name, numpy_type(given), to);
  nb::object first;
  std::int64_t at = 0, size = 0;
  for (const nb::handle field : names) {
    const nb::object entry = type.attr("fields")[field];
    const nb::object of = entry[0];
    if (!first.is_valid()) {
      first = of;
      size = nb::cast<std::int64_t>(of.attr("itemsize"));
    }
    if (!of.equal(first) || nb::cast<std::int64_t>(entry[1]) != at * size) {
      std::string listed;
      for (const nb::handle n : names)
        listed += (listed.empty() ? "" : ", ") + text_of(n) + " " + text_of(nb::object(type.attr("fields")[n])[0]);
      fail(quoted(name) +
               (of.equal(first) ? " is an array of structs with gaps between their fields, "
                                : " is an array of structs with fields of several types, ") +
               listed + ", expected fields of one type side by side",
           "give the fields one by one, as " + code(name) + "['" + text_of(field) + "']");
    }
    ++at;
  }
  const std::string kind = nb::cast<std::string>(first.attr("kind"));
  DLDataType element{};
  const nb::object number = nb::module_::import_("numpy").attr("dtype")(first);
  bool found = false;
  for (int k = 0; k < 9; ++k)
    if (number.equal(nb::handle(known.types[k]))) {
      element = element_types[k];
      found = true;
    }
  if (!found) {
    if (!nb::cast<bool>(first.attr("isnative")))
      fail(quoted(name) + " has foreign byte order",
           "write " + code(name) + ".astype(" + code(name) + ".dtype.newbyteorder('='))");
    wrong_type(name, "structs of " + text_of(first), to);
  }
  check_rank(name, a.dimensions + 1);
  for (int d = 0; d < a.dimensions; ++d) to.shape[d] = a.shape[d];
  const auto aligned = reinterpret_cast<std::uintptr_t>(a.data) % static_cast<std::uintptr_t>(size) == 0;
  if (!set_strides(to, a.dimensions, a.strides, static_cast<int>(size)) || !aligned) {
    if (for_writing) fail(quoted(name) + " has elements that are not aligned, so that it cannot be written to");
    take_copy(given, name, to);
    return;
  }
  to.shape[a.dimensions] = at;
  to.strides[a.dimensions] = 1;
  finish(to, a.data, a.dimensions + 1, element);
}

void take_numpy(PyObject* given, const char* name, bool for_writing, Taken& to) {
  PyObject* const capsule = PyObject_GetAttr(given, known.array_struct);
  if (capsule == nullptr) throw nb::python_error();
  const nb::object holder = nb::steal(capsule);
  const auto* const a = static_cast<const ArrayStruct*>(PyCapsule_GetPointer(capsule, nullptr));
  if (a == nullptr || a->two != 2) throw nb::python_error();
  to.maker = Maker::numpy;
  to.read_only = (a->flags & flag_writable) == 0;
  if (a->kind == 'V') return take_struct(given, name, for_writing, *a, to);

  DLDataType type{};
  const int size = a->item_size;
  switch (a->kind) {
    case 'f':
      type = make_type(kDLFloat, size * 8);
      break;
    case 'u':
      type = make_type(kDLUInt, size * 8);
      break;
    case 'i':
      type = make_type(kDLInt, size * 8);
      break;
    case 'b':
      type = make_type(kDLBool, 8);
      break;
    case 'c':
      type = make_type(kDLComplex, size * 8);
      break;
    default:
      wrong_type(name, numpy_type(given), to);
  }
  if ((a->kind == 'f' && size > 8) || (a->kind == 'u' && size > 4) || (a->kind == 'i' && (size > 4 || size < 2)) ||
      (a->kind == 'c' && size > 16)) [[unlikely]]
    wrong_type(name, numpy_type(given), to);
  if ((a->flags & flag_native) == 0) [[unlikely]]
    fail(
        quoted(name) + " has foreign byte order, " + nb::cast<std::string>(nb::handle(given).attr("dtype").attr("str")),
        for_writing ? "give an array of the byte order of this machine, and copy from it"
                    : "write " + code(name) + ".astype(" + code(name) + ".dtype.newbyteorder('='))");
  check_rank(name, a->dimensions);
  for (int d = 0; d < a->dimensions; ++d) to.shape[d] = a->shape[d];
  const int unit = a->kind == 'c' ? size / 2 : size;
  const bool aligned = reinterpret_cast<std::uintptr_t>(a->data) % static_cast<std::uintptr_t>(unit) == 0;
  if (!set_strides(to, a->dimensions, a->strides, size) || !aligned) [[unlikely]] {
    if (for_writing) fail(quoted(name) + " has elements that are not aligned, so that it cannot be written to");
    return take_copy(given, name, to);
  }
  finish(to, a->data, a->dimensions, type);
}

// ---- DLPack ---------------------------------------------------------------------------------------------------------

// The error of a producer, in our words.
[[noreturn]] void refused(const char* name) {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  const nb::object t = nb::steal(type), v = nb::steal(value), tb = nb::steal(trace);
  if (PyErr_GivenExceptionMatches(type, PyExc_KeyboardInterrupt) != 0 ||
      PyErr_GivenExceptionMatches(type, PyExc_MemoryError) != 0) {
    PyErr_Restore(nb::object(t).release().ptr(), nb::object(v).release().ptr(), nb::object(tb).release().ptr());
    throw nb::python_error();
  }
  const std::string why = v.is_valid() ? text_of(v) : "";
  const bool grad = why.find("grad") != std::string::npos;
  fail(quoted(name) + " does not let its memory be seen: " + why, grad ? "write " + code(name) + ".detach()" : "");
}

// Type, shape and strides of a tensor that points elsewhere.
void take_tensor(const char* name, Taken& to) {
  check_tensor(name, to.tensor);
  const DLDataType type = to.tensor.dtype;
  bool known_type = type.lanes == 1 && type.code == kDLComplex && type.bits <= 128;
  for (const DLDataType& t : element_types) known_type = known_type || same(t, type);
  if (!known_type) wrong_type(name, name_of(type), to);
  for (int d = 0; d < to.tensor.ndim; ++d) to.shape[d] = to.tensor.shape[d];
  if (to.tensor.strides != nullptr) {
    for (int d = 0; d < to.tensor.ndim; ++d) to.strides[d] = to.tensor.strides[d];
  } else {
    std::int64_t step = 1;
    for (int d = to.tensor.ndim - 1; d >= 0; --d) {
      to.strides[d] = step;
      step *= to.shape[d];
    }
  }
  to.tensor.shape = to.shape;
  to.tensor.strides = to.strides;
}

// Whether it is negated when it is read, as torch's arrays may be.
bool is_negated(nb::handle object) {
  const nb::object method = nb::steal(PyObject_GetAttrString(object.ptr(), "is_neg"));
  const nb::object is = nb::steal(method.is_valid() ? PyObject_CallNoArgs(method.ptr()) : nullptr);
  PyErr_Clear();
  return is.ptr() == Py_True;
}

// What __dlpack_device__ says: the type of the device, and its number.
std::pair<int, int> device_of(PyObject* given, const char* name) {
  const nb::object place = nb::steal(PyObject_CallMethodObjArgs(given, known.dlpack_device, nullptr));
  if (!place.is_valid()) refused(name);
  int numbers[2] = {};
  bool good = PyTuple_Check(place.ptr()) != 0 && PyTuple_Size(place.ptr()) == 2;
  for (int k = 0; good && k < 2; ++k) {
    const nb::object number = nb::steal(PyNumber_Long(PyTuple_GetItem(place.ptr(), k)));  // an enumeration, too
    const long value = number.is_valid() ? PyLong_AsLong(number.ptr()) : -1;
    good = PyErr_Occurred() == nullptr && value >= 0 && value <= std::numeric_limits<int>::max();
    numbers[k] = static_cast<int>(value);
  }
  PyErr_Clear();
  if (!good)
    fail(quoted(name) + " says " + said(place) + " of its device, expected a tuple of its type and its number");
  return {numbers[0], numbers[1]};
}

void take_dlpack(PyObject* given, const char* name, bool for_writing, Taken& to) {
  const nb::handle object(given);
  // torch shows the memory of a view that is still to be negated, an imaginary part of conjugates, as if it were not.
  if (is_negated(object)) {
    if (for_writing) fail(quoted(name) + " is negated when it is read, so that it cannot be written to");
    take_dlpack(nb::object(object.attr("resolve_neg")()).ptr(), name, false, to);
    to.fresh = true;
    return;
  }
  const auto [device_type, device] = device_of(given, name);
  if (device_type != kDLCPU && device_type != kDLCUDA && device_type != kDLCUDAHost && device_type != kDLCUDAManaged)
    fail(quoted(name) + " lies on a device of DLPack's type " + std::to_string(device_type) +
             ", expected memory of the host or of CUDA",
         "copy it to the host");
  const bool cuda = device_type == kDLCUDA || device_type == kDLCUDAManaged;
  to.maker = cuda ? Maker::device : Maker::other;
  nb::object stream = nb::none();
  if (cuda) {
    // The stream in which whoever calls works now; 0, the default one, is 1 in DLPack.
    const nb::object at = arrays().attr("current_stream")(object, device);
    to.stream = nb::cast<std::intptr_t>(at[0]);
    to.must_wait = !nb::cast<bool>(at[1]);
    // Whoever works in that stream has nothing to wait for.
    stream = nb::int_(nb::cast<bool>(at[2]) ? -1 : *to.stream == 0 ? 1 : *to.stream);
  }
  nb::object capsule;
  const nb::object method = nb::steal(PyObject_GetAttr(given, known.dlpack));
  if (!method.is_valid()) refused(name);
  const nb::tuple none = nb::make_tuple();
  nb::dict words;
  words["stream"] = stream;
  words["max_version"] = nb::make_tuple(DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION);
  capsule = nb::steal(PyObject_Call(method.ptr(), none.ptr(), words.ptr()));
  if (!capsule.is_valid() && PyErr_ExceptionMatches(PyExc_TypeError) != 0) {  // of before DLPack 1.0
    PyErr_Clear();
    nb::dict fewer;
    fewer["stream"] = stream;
    capsule = nb::steal(PyObject_Call(method.ptr(), none.ptr(), fewer.ptr()));
  }
  if (!capsule.is_valid()) refused(name);

  // The capsule stays as it is: unused, it frees what it holds itself.
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor_versioned") != 0) {
    const auto* const m =
        static_cast<const DLManagedTensorVersioned*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor_versioned"));
    if (m->version.major > DLPACK_MAJOR_VERSION) fail(quoted(name) + " comes by a version of DLPack that is too new");
    to.tensor = m->dl_tensor;
    to.read_only = (m->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0;
    to.fresh = (m->flags & DLPACK_FLAG_BITMASK_IS_COPIED) != 0;
  } else if (PyCapsule_IsValid(capsule.ptr(), "dltensor") != 0) {
    to.tensor = static_cast<const DLManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"))->dl_tensor;
  } else {
    fail(quoted(name) + " gives " + said(capsule) + ", expected a capsule of DLPack that nobody has taken yet");
  }
  if (to.tensor.device.device_type != device_type)
    fail(quoted(name) + " gives a tensor on a device of DLPack's type " +
         std::to_string(static_cast<int>(to.tensor.device.device_type)) + " and says " + std::to_string(device_type));
  if (to.fresh && for_writing) fail(quoted(name) + " gives a copy of itself, so that it cannot be written to");
  to.keep = std::move(capsule);
  take_tensor(name, to);
}

// __cuda_array_interface__, version 3.
void read_cuda_array(PyObject* given, const char* name, Taken& to) {
  const nb::dict all = nb::cast<nb::dict>(nb::handle(given).attr("__cuda_array_interface__"));
  const std::string text = nb::cast<std::string>(all["typestr"]);
  if (all.contains("mask") && !nb::handle(all["mask"]).is_none())
    fail(quoted(name) + " has a mask of its own", "give the mask as an array");
  DLDataType type{};
  bool found = false;
  const int size = text.size() > 2 ? std::atoi(text.c_str() + 2) : 0;
  for (const DLDataType& t : element_types) {
    const char kind = t.code == kDLFloat ? 'f' : t.code == kDLUInt ? 'u' : t.code == kDLInt ? 'i' : 'b';
    if (text.size() > 2 && text[1] == kind && t.bits == size * 8) {
      type = t;
      found = true;
    }
  }
  if (!found || text[0] == '>') wrong_type(name, "type " + text, to);
  const nb::tuple shape = nb::cast<nb::tuple>(all["shape"]);
  const int rank = static_cast<int>(shape.size());
  check_rank(name, rank);
  std::int64_t step = 1;
  for (int d = rank - 1; d >= 0; --d) {
    to.shape[d] = nb::cast<std::int64_t>(shape[d]);
    to.strides[d] = step;
    step *= to.shape[d];
  }
  if (all.contains("strides") && !nb::handle(all["strides"]).is_none()) {
    const nb::tuple strides = nb::cast<nb::tuple>(all["strides"]);
    if (static_cast<int>(strides.size()) != rank) throw nb::cast_error();
    for (int d = 0; d < rank; ++d) {
      const auto bytes = nb::cast<std::int64_t>(strides[d]);
      if (bytes % size != 0) fail(quoted(name) + " has strides that are no multiples of an element");
      to.strides[d] = bytes / size;
    }
  }
  const nb::tuple data = nb::cast<nb::tuple>(all["data"]);
  if (data.size() != 2) throw nb::cast_error();
  finish(to, reinterpret_cast<void*>(nb::cast<std::uintptr_t>(data[0])), rank, type);
  to.read_only = nb::cast<bool>(data[1]);
  to.tensor.device = {kDLCUDA, nb::cast<int>(arrays().attr("device_of")(nb::handle(given)))};
  to.maker = Maker::device;
  to.stream = 0;
  to.must_wait = true;
  if (all.contains("stream") && !nb::handle(all["stream"]).is_none()) {
    const auto s = nb::cast<std::intptr_t>(all["stream"]);
    to.stream = s == 1 ? 0 : s;
  }
  check_tensor(name, to.tensor);
}

void take_cuda_array(PyObject* given, const char* name, Taken& to) {
  const auto refuse = [&](const std::string& why) {
    fail(quoted(name) + " has a __cuda_array_interface__ that is none" + (why.empty() ? "" : ": " + why));
  };
  try {
    read_cuda_array(given, name, to);
  } catch (const nb::cast_error&) {
    refuse("");
  } catch (nb::python_error& error) {  // ours are ValueErrors
    if (!error.matches(PyExc_TypeError) && !error.matches(PyExc_LookupError) && !error.matches(PyExc_AttributeError))
      throw;
    refuse(text_of(error.value()));
  }
}

}  // namespace

void other_type(const Taken& given, const char* name, DLDataType expected) {
  const std::string type = name_of(expected), n = code(name);
  if (given.maker == Maker::numpy && is_plain(given))
    fail(quoted(name) + " is an array of " + name_of(given.tensor.dtype) + ", expected " + type,
         "write np.asarray(" + n + ", '" + type + "')");
  if (given.tensor.dtype.code == kDLComplex)
    fail(quoted(name) + " is an array of " + name_of(given.tensor.dtype) + ", expected " + type,
         "write " + n + ".real, or " + n + ".imag");
  fail(quoted(name) + " is an array of " + name_of(given.tensor.dtype) + ", expected " + type,
       "write " + n + (given.maker == Maker::numpy ? ".astype('" + type + "')" : ".to(torch." + type + ")"));
}

void prepare_arrays() {
  known.array_struct = PyUnicode_InternFromString("__array_struct__");
  known.dlpack = PyUnicode_InternFromString("__dlpack__");
  known.dlpack_device = PyUnicode_InternFromString("__dlpack_device__");
  known.cuda_array = PyUnicode_InternFromString("__cuda_array_interface__");
}

void take_array(PyObject* given, const char* name, bool for_writing, Taken& to) {
  to.given = given;
  if (reinterpret_cast<PyObject*>(Py_TYPE(given)) == known.array_type) [[likely]]
    return take_numpy(given, name, for_writing, to);
  if (known.array_type == nullptr && PyImport_GetModuleDict() != nullptr) {
    know_numpy();
    return take_array(given, name, for_writing, to);
  }
  const nb::handle object(given);
  const int is_numpy = PyObject_IsInstance(given, known.array_type);
  if (is_numpy < 0) throw nb::python_error();
  if (is_numpy == 0) {
    if (take_exchanged(given, to)) return take_tensor(name, to);
    if (nb::hasattr(object, known.dlpack)) return take_dlpack(given, name, for_writing, to);
    if (nb::hasattr(object, known.cuda_array)) return take_cuda_array(given, name, to);
  }
  // Everything else NumPy looks at: subclasses, numbers, lists, buffers, __array_interface__, __array__.
  nb::object array = arrays().attr("as_numpy")(object, name, for_writing);
  take_numpy(array.ptr(), name, for_writing, to);
  if (!to.keep.is_valid()) to.keep = std::move(array);
}

void take_scalar(PyObject* given, const char* name, DLDataType type, Taken& to) {
  const nb::handle object(given);
  to.given = given;
  finish(to, &to.scalar, 0, type);
  const auto refuse = [&](const char* expected) {
    PyErr_Clear();
    fail(quoted(name) + " is " + said(object) + ", expected " + expected);
  };
  // NumPy's complex numbers and what is masked become floats all the same, with a warning.
  if (PyFloat_Check(given) == 0 && PyLong_Check(given) == 0 && nb::hasattr(object, "dtype")) {
    const std::string dtype = nb::cast<std::string>(nb::repr(nb::object(object.attr("dtype"))));
    if (PyComplex_Check(given) != 0 || dtype.find("complex") != std::string::npos) refuse("a real number");
    if (nb::cast<std::string>(object.type().attr("__name__")) == "MaskedConstant")
      refuse("a number that is not masked");
  }
  if (type.code == kDLFloat) {
    double value = 0;
    if (PyFloat_Check(given) != 0) {
      value = PyFloat_AsDouble(given);
    } else {
      if (PyUnicode_Check(given) != 0 || (nb::hasattr(object, "ndim") && !object.attr("ndim").equal(nb::int_(0))))
        refuse("a number");
      const nb::object number = nb::steal(PyNumber_Float(given));
      if (!number.is_valid()) refuse("a number");
      value = PyFloat_AsDouble(number.ptr());
    }
    if (type.bits == 64) {
      to.scalar.number = value;
    } else if (type.bits == 32) {
      to.scalar.single = static_cast<float>(value);
    } else {  // no arithmetic on halfs here: NumPy rounds it
      const nb::object half = arrays().attr("half")(value);
      Taken other;
      take_array(half.ptr(), name, false, other);
      std::memcpy(&to.scalar.bits16, other.tensor.data, 2);
    }
    return;
  }
  if (type.code == kDLBool) {
    const int truth = nb::hasattr(object, "__len__") ? -1 : PyObject_IsTrue(given);
    if (truth < 0) refuse("True or False");
    to.scalar.byte = static_cast<std::uint8_t>(truth);
    return;
  }
  nb::object number = nb::steal(PyNumber_Index(given));
  if (!number.is_valid()) {  // 3.0 is an integer as well
    PyErr_Clear();
    const nb::object real = nb::steal(PyUnicode_Check(given) != 0 ? nullptr : PyNumber_Float(given));
    if (!real.is_valid()) refuse("an integer");
    const double value = PyFloat_AsDouble(real.ptr());
    if (!(value == static_cast<double>(static_cast<std::int64_t>(value)))) refuse("an integer");
    number = nb::steal(PyLong_FromDouble(value));
  }
  const long long value = PyLong_AsLongLong(number.ptr());
  const bool is_signed = type.code == kDLInt;
  const long long least = is_signed ? -(1LL << (type.bits - 1)) : 0;
  const long long most = (1LL << (is_signed ? type.bits - 1 : type.bits)) - 1;
  if ((value == -1 && PyErr_Occurred() != nullptr) || value < least || value > most)
    refuse(("an integer from " + std::to_string(least) + " to " + std::to_string(most)).c_str());
  switch (type.bits) {
    case 8:
      to.scalar.byte = static_cast<std::uint8_t>(value);
      break;
    case 16:
      to.scalar.bits16 = static_cast<std::uint16_t>(value);
      break;
    default:
      to.scalar.natural = static_cast<std::uint32_t>(value);
  }
}

nb::object make_array(const Taken* like, nb::handle shape, DLDataType type) {
  if (like == nullptr || like->maker == Maker::numpy) [[likely]] {
    if (known.empty == nullptr) know_numpy();
    for (int k = 0; k < 9; ++k)
      if (same(element_types[k], type)) {
        PyObject* const made = PyObject_CallFunctionObjArgs(known.empty, shape.ptr(), known.types[k], nullptr);
        if (made == nullptr) throw nb::python_error();
        return nb::steal(made);
      }
    fail("a result of type " + name_of(type) + " is none that NumPy has");
  }
  if (like->exchange != nullptr)
    if (nb::object made = make_exchanged(*like, shape, type); made.is_valid()) return made;
  return arrays().attr("empty_like")(nb::handle(like->given), shape, name_of(type));
}

nb::object finish_array(const Taken* like, nb::object array) {
  if (like == nullptr || like->maker == Maker::numpy || like->exchange != nullptr) [[likely]]
    return array;
  return arrays().attr("finished")(nb::handle(like->given), array);
}

namespace {

std::pair<std::uintptr_t, std::uintptr_t> bounds(const Taken& t) {
  const std::int64_t size = t.tensor.dtype.bits / 8;
  std::int64_t lo = 0, hi = 0;
  for (int d = 0; d < t.tensor.ndim; ++d) {
    if (t.shape[d] == 0) return {0, 0};
    const std::int64_t reach = (t.shape[d] - 1) * t.strides[d];
    (reach < 0 ? lo : hi) += reach;
  }
  const auto at = reinterpret_cast<std::uintptr_t>(t.tensor.data) + t.tensor.byte_offset;
  return {at + static_cast<std::uintptr_t>(lo * size), at + static_cast<std::uintptr_t>((hi + 1) * size)};
}

}  // namespace

bool may_overlap(const Taken& a, const Taken& b) {
  const auto [a0, a1] = bounds(a);
  const auto [b0, b1] = bounds(b);
  if (a1 <= b0 || b1 <= a0) return false;
  if (a.maker == Maker::numpy && b.maker == Maker::numpy && !a.fresh && !b.fresh)
    return nb::cast<bool>(arrays().attr("share_memory")(nb::handle(a.given), nb::handle(b.given)));
  return true;
}

}  // namespace tessera::python
