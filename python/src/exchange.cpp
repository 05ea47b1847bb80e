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
