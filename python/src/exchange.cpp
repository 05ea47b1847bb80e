// DLPack's table of functions, which a library of arrays gives with a type of its arrays (__dlpack_c_exchange_api__,
// since DLPack 1.2): what __dlpack__ and a method for new arrays do in tens of microseconds of Python, they do in one.
// Nothing waits: runs go into the stream that the library works in.
#include <unordered_map>

#include "core.hpp"

namespace tessera::python {

// As DLPack has it.
struct Exchange {
  DLPackVersion version;
  const Exchange* older;
  int (*allocate)(DLTensor* prototype, DLManagedTensorVersioned** made, void* context,
                  void (*failed)(void* context, const char* kind, const char* message));
  int (*managed_of)(void* object, DLManagedTensorVersioned** made);
  int (*object_of)(DLManagedTensorVersioned* stolen, void** made);
  int (*tensor_of)(void* object, DLTensor* seen);  // may be null
  int (*current_stream)(DLDeviceType, std::int32_t device, void** stream);
};

namespace {

// Under the lock of the interpreter. Types that have a table are kept for good, so that no other takes their place.
const Exchange* table_of(PyTypeObject* type) {
  static auto* const tables = new std::unordered_map<PyTypeObject*, const Exchange*>;  // NOLINT: as long as the process
  if (const auto it = tables->find(type); it != tables->end()) [[likely]]
    return it->second;
  const nb::handle of(reinterpret_cast<PyObject*>(type));
  const Exchange* table = nullptr;
  if (nb::hasattr(of, "__dlpack_c_exchange_api__") &&
      nb::cast<bool>(nb::module_::import_("tessera._arrays").attr("exchanges")(of))) {
    const nb::object capsule = of.attr("__dlpack_c_exchange_api__");
    if (PyCapsule_IsValid(capsule.ptr(), "dlpack_exchange_api") != 0)
      table = static_cast<const Exchange*>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
    while (table != nullptr && table->version.major > DLPACK_MAJOR_VERSION) table = table->older;
    if (table != nullptr && (table->version.major != DLPACK_MAJOR_VERSION || table->tensor_of == nullptr))
      table = nullptr;
  }
  if (table != nullptr) {
    of.inc_ref();
    tables->emplace(type, table);
  }
  return table;
}

// What no tensor of DLPack says: __dlpack__ refuses it in words of its own, or does not know it.
bool is_plain(PyObject* given) {
  static PyObject* const grad = PyUnicode_InternFromString("requires_grad");
  static PyObject* const conjugate = PyUnicode_InternFromString("is_conj");
  static PyObject* const negative = PyUnicode_InternFromString("is_neg");
  const nb::object asks = nb::steal(PyObject_GetAttr(given, grad));
  if (!asks.is_valid() || asks.ptr() != Py_False) {
    PyErr_Clear();
    return false;
  }
  for (PyObject* const method : {conjugate, negative}) {
    const nb::object is = nb::steal(PyObject_CallMethodObjArgs(given, method, nullptr));
    if (!is.is_valid() || is.ptr() != Py_False) {
      PyErr_Clear();
      return false;
    }
  }
  return true;
}

}  // namespace

void check_rank(const char* name, int rank) {
  if (rank > most_dimensions - 1)
    fail("'" + std::string(name) + "' has " + std::to_string(rank) +
         " dimensions, expected at most 5, fields among them");
}

void check_tensor(const char* name, const DLTensor& t) {
  const auto refuse = [&](const std::string& why) {
    fail("'" + std::string(name) + "' gives a tensor that cannot be: " + why);
  };
  if (t.ndim < 0) refuse("it has " + std::to_string(t.ndim) + " dimensions");
  check_rank(name, t.ndim);
  if (t.ndim > 0 && t.shape == nullptr) refuse("it has no shape");
  bool empty = false, beyond = false;
  for (int d = 0; d < t.ndim; ++d) {
    if (t.shape[d] < 0) refuse("dimension " + std::to_string(d) + " has the extent " + std::to_string(t.shape[d]));
    empty = empty || t.shape[d] == 0;
  }
  if (empty) return;
  // Of the elements the first and the last one, counted from where it points to; and how many there are.
  std::int64_t lo = 0, hi = 0, count = 1, span = 0;
  for (int d = t.ndim - 1; d >= 0; --d) {
    const std::int64_t stride = t.strides != nullptr ? t.strides[d] : count;
    std::int64_t reach = 0, &end = stride < 0 ? lo : hi;
    beyond = __builtin_mul_overflow(t.shape[d] - 1, stride, &reach) || __builtin_add_overflow(end, reach, &end) ||
             __builtin_mul_overflow(count, t.shape[d], &count) || beyond;
  }
  const std::int64_t size = std::max(1, t.dtype.bits / 8);
  beyond = beyond || __builtin_sub_overflow(hi, lo, &span) || span >= (std::int64_t{1} << 48) / size;
  if (beyond) refuse("it spans more than memory holds");
  if (t.data == nullptr) refuse("it has elements, and points nowhere");
  const auto unit =
      static_cast<std::uintptr_t>(t.dtype.code == kDLComplex ? std::max<std::int64_t>(1, size / 2) : size);
  if ((reinterpret_cast<std::uintptr_t>(t.data) + t.byte_offset) % unit != 0)
    fail("'" + std::string(name) + "' has elements that are not aligned, expected a multiple of " +
             std::to_string(unit) + " bytes as their address",
         "give a copy");
}

bool take_exchanged(PyObject* given, Taken& to) {
  const Exchange* const table = table_of(Py_TYPE(given));
  if (table == nullptr || !is_plain(given)) return false;
  DLTensor seen{};
  if (table->tensor_of(given, &seen) != 0) {
    PyErr_Clear();  // __dlpack__ says why
    return false;
  }
  const DLDeviceType device = seen.device.device_type;
  const bool cuda = device == kDLCUDA || device == kDLCUDAManaged;
  if (device != kDLCPU && !cuda) return false;
  if (cuda) {
    void* stream = nullptr;
    if (table->current_stream(kDLCUDA, seen.device.device_id, &stream) != 0) {
      PyErr_Clear();
      return false;
    }
    to.stream = reinterpret_cast<std::intptr_t>(stream);
  }
  to.maker = cuda ? Maker::device : Maker::other;
  to.tensor = seen;
  to.exchange = table;
  return true;
}

nb::object make_exchanged(const Taken& like, nb::handle shape, DLDataType type) {
  std::int64_t extents[most_dimensions] = {};
  DLTensor wanted{};
  wanted.device = like.tensor.device;
  wanted.dtype = type;
  wanted.ndim = static_cast<std::int32_t>(nb::len(shape));
  if (wanted.ndim > most_dimensions) return {};
  for (int d = 0; d < wanted.ndim; ++d) extents[d] = nb::cast<std::int64_t>(shape[d]);
  wanted.shape = extents;
  DLManagedTensorVersioned* made = nullptr;
  if (like.exchange->allocate(&wanted, &made, nullptr, [](void*, const char*, const char*) {}) != 0 || made == nullptr)
    return {};
  void* object = nullptr;
  if (like.exchange->object_of(made, &object) != 0 || object == nullptr) {
    PyErr_Clear();
    return {};
  }
  return nb::steal(static_cast<PyObject*>(object));
}

}  // namespace tessera::python
