// Options, cancelling, and streams of devices.
#include <time.h>

#include <map>

#include "core.hpp"

namespace tessera::python {

std::int64_t now_ns() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1'000'000'000LL + t.tv_nsec;
}

namespace {

constexpr std::int64_t between_tellings = 50'000'000;  // ns

// Called by any thread of a run, without the GIL.
int on_progress(std::int64_t done, std::int64_t total, void* user) {
  auto& options = *static_cast<Options*>(user);
  const std::int64_t now = now_ns();
  if (done < total && now - options.told_ns < between_tellings) return 0;
  options.told_ns = now;
  struct Locked {
    PyGILState_STATE state = staying([] { return PyGILState_Ensure(); });
    ~Locked() { PyGILState_Release(state); }
  } const locked;
  if (options.failure.is_valid()) return 1;
  // What it returns is not looked at: tqdm's update returns whether it has drawn anything.
  PyObject* const result = staying([&] {
    return PyObject_CallFunction(options.progress.ptr(), "LL", static_cast<long long>(done),
                                 static_cast<long long>(total));
  });
  if (result == nullptr) {
    PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (trace != nullptr) PyException_SetTraceback(value, trace);
    options.failure = nb::steal(value);
    Py_XDECREF(type);
    Py_XDECREF(trace);
    return 1;
  }
  Py_DECREF(result);
  return 0;
}

bool is_array(nb::handle value) {
  for (const char* mark : {"__array_struct__", "__array_interface__", "__dlpack__", "__cuda_array_interface__"})
    if (nb::hasattr(value, mark)) return true;
  return false;
}

// "table.w" is tables["w"] to whoever gave it.
[[noreturn]] void refuse(const std::string& name, const std::string& why) {
  const nb::object text = nb::module_::import_("tessera._words").attr("in_python")("option " + name + " " + why);
  fail(nb::cast<std::string>(text));
}

std::vector<double> numbers_of(const std::string& name, nb::handle value) {
  std::vector<double> numbers;
  if (PySequence_Check(value.ptr()) == 0 && !nb::hasattr(value, "__iter__"))
    refuse(name, "is " + said(value) + ", expected a word, a number, several numbers or an array");
  const nb::object all = nb::steal(PySequence_List(value.ptr()));
  if (!all.is_valid()) {  // an array of no dimension has an iterator that has none
    PyErr_Clear();
    refuse(name, "is " + said(value) + ", expected a word, a number, several numbers or an array");
  }
  for (const nb::handle v : all) {
    const double number = PyFloat_AsDouble(v.ptr());
    if (number == -1 && PyErr_Occurred() != nullptr) {
      PyErr_Clear();
      refuse(name, "has " + said(v) + " among its numbers, expected numbers alone");
    }
    numbers.push_back(number);
  }
  return numbers;
}

std::string text_of(const std::string& name, nb::handle value) {
  const nb::object bytes = nb::steal(PyUnicode_AsUTF8String(value.ptr()));
  PyErr_Clear();
  std::string text;
  if (bytes.is_valid()) text.assign(PyBytes_AsString(bytes.ptr()), static_cast<std::size_t>(PyBytes_Size(bytes.ptr())));
  if (!bytes.is_valid() || text.find('\0') != std::string::npos)
    refuse(name, "is " + said(value) + ", expected a word");
  return text;
}

}  // namespace

Options::Options() {
  check(tsr_options_new(&handle));
  check(tsr_options_set_cancel(handle, own.handle));
}

void Options::set(const std::string& name, nb::handle value) {
  const char* const key = name.c_str();
  if (value.is_none()) return check(tsr_options_set(handle, key, nullptr));
  if (PyUnicode_Check(value.ptr()) != 0) return check(tsr_options_set(handle, key, text_of(name, value).c_str()));
  if (PyBytes_Check(value.ptr()) != 0) {  // paths, whose bytes may be any
    const auto bytes = nb::cast<nb::bytes>(value);
    return check(
        tsr_options_set(handle, key, std::string(static_cast<const char*>(bytes.data()), bytes.size()).c_str()));
  }
  if (PyBool_Check(value.ptr()) != 0) return check(tsr_options_set(handle, key, value.ptr() == Py_True ? "1" : "0"));
  const bool tensor = name == "kernel" || name == "footprint" || name.starts_with("table.");
  if (tensor && is_array(value)) {
    Taken taken;
    take_array(value.ptr(), key, false, taken);
    return check(tsr_options_set_tensor(handle, key, &taken.tensor));
  }
  if (PyLong_Check(value.ptr()) != 0 || PyFloat_Check(value.ptr()) != 0 ||
      ((nb::hasattr(value, "__index__") || nb::hasattr(value, "__float__")) && !nb::hasattr(value, "__len__"))) {
    const double number = PyFloat_AsDouble(value.ptr());
    if (number == -1 && PyErr_Occurred() != nullptr) {
      PyErr_Clear();
      refuse(name, "is " + said(value) + ", expected a number");
    }
    return check(tsr_options_set_numbers(handle, key, &number, 1));
  }
  const std::vector<double> numbers = numbers_of(name, value);
  check(tsr_options_set_numbers(handle, key, numbers.data(), numbers.size()));
}

void Options::set_progress(nb::object callable) {
  if (callable.is_none()) {
    check(tsr_options_set_progress(handle, nullptr, nullptr));
    progress = nb::object();
    return;
  }
  if (PyCallable_Check(callable.ptr()) == 0)
    fail("progress is " + said(callable) + ", expected a function of two numbers");
  progress = std::move(callable);
  check(tsr_options_set_progress(handle, on_progress, this));
}

void Options::set_cancel(nb::object given) {
  if (given.is_none()) {
    check(tsr_options_set_cancel(handle, own.handle));
    cancel = nb::object();
    return;
  }
  if (!nb::isinstance<Cancel>(given)) fail("cancel is " + said(given) + ", expected a tessera.Cancel");
  check(tsr_options_set_cancel(handle, nb::cast<Cancel*>(given)->handle));
  cancel = std::move(given);
}

void Options::set_stream(nb::object given) {
  if (given.is_none()) {
    check(tsr_options_set_stream(handle, nullptr));
    stream = nb::object();
    return;
  }
  if (!nb::isinstance<Stream>(given)) fail("stream is " + said(given) + ", expected a tessera.Stream");
  check(tsr_options_set_stream(handle, nb::cast<Stream*>(given)->handle));
  stream = std::move(given);
}

namespace {

// A whole number from 0 on.
std::uint64_t natural(const char* name, nb::handle value, std::uint64_t most) {
  const nb::object number = nb::steal(PyBool_Check(value.ptr()) != 0 ? nullptr : PyNumber_Index(value.ptr()));
  const std::uint64_t found = number.is_valid() ? PyLong_AsUnsignedLongLong(number.ptr()) : 0;
  const bool failed = !number.is_valid() || PyErr_Occurred() != nullptr;
  PyErr_Clear();
  if (failed || found > most) fail(std::string(name) + " is " + said(value) + ", expected a whole number from 0 on");
  return found;
}

tsr_stream* borrowed(int device, std::intptr_t pointer) {
  static auto* const streams = new std::map<std::pair<int, std::intptr_t>, tsr_stream*>;  // NOLINT: under the GIL
  tsr_stream*& s = (*streams)[{device, pointer}];
  if (s == nullptr) check(tsr_stream_borrow(device, reinterpret_cast<void*>(pointer), &s));
  return s;
}

}  // namespace

OnStream::OnStream(Options* given, TakenList& inputs, TakenList& outputs) : options_(given) {
  const Taken* first = nullptr;
  for (TakenList* list : {&inputs, &outputs})
    for (std::size_t k = 0; k < list->size(); ++k) {
      const Taken& t = list->at(k);
      // What is copied from or to the host is its caller's again at once.
      must_wait_ = must_wait_ || t.must_wait || (t.tensor.ndim > 0 && !t.on_device());
      if (!t.stream) continue;
      if (first == nullptr)
        first = &t;
      else if (*t.stream != *first->stream || t.tensor.device.device_id != first->tensor.device.device_id)
        check(tsr_stream_wait(borrowed(t.tensor.device.device_id, *t.stream)));
    }
  if (first == nullptr || (given != nullptr && given->stream.is_valid())) return;
  if (given == nullptr) {
    own_ = std::make_unique<Options>();
    options_ = own_.get();
  }
  stream_ = borrowed(first->tensor.device.device_id, *first->stream);
  check(tsr_options_set_stream(options_->handle, stream_));
}

OnStream::~OnStream() {
  if (stream_ != nullptr && !own_) tsr_options_set_stream(options_->handle, nullptr);
}

void OnStream::done() {
  if (stream_ == nullptr || !must_wait_) return;
  tsr_status status = TSR_OK;
  {
    const Unlocked unlocked;
    status = tsr_stream_wait(stream_);
  }
  check(status);
}

namespace {

// Cycles through what Python knows of an Options: a progress callable may hold the object that holds it.
int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  const Options* const o = nb::inst_ptr<Options>(self);
  for (const nb::object* held : {&o->progress, &o->cancel, &o->stream, &o->failure}) Py_VISIT(held->ptr());
  return 0;
}
int clear(PyObject* self) {
  Options* const o = nb::inst_ptr<Options>(self);
  if (o->progress.is_valid()) {
    tsr_options_set_progress(o->handle, nullptr, nullptr);
    o->progress.reset();
  }
  o->failure.reset();
  return 0;
}
PyType_Slot slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)}, {Py_tp_clear, reinterpret_cast<void*>(clear)}, {0, nullptr}};

}  // namespace

namespace {

// What is called without arguments.
void nothing(const char* what, const nb::args& more, const nb::kwargs& named) {
  if (more.size() + named.size() > 0) throw nb::type_error((std::string(what) + " takes no argument").c_str());
}

}  // namespace

void bind_options(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<Cancel>(m, "Cancel", "Ends the runs that were given it.")
      .def("__init__",
           [](Cancel* self, const nb::args& more, const nb::kwargs& named) {
             nothing("tessera.Cancel()", more, named);
             new (self) Cancel;
           })
      .def(
          "now",
          [](Cancel& self, const nb::args& more) {
            nothing("now()", more, {});
            self.now();
          },
          "Ends them; from any thread.")
      .def(
          "reset",
          [](Cancel& self, const nb::args& more) {
            nothing("reset()", more, {});
            self.reset();
          },
          "Lets it be used again.");
  nb::class_<Stream>(m, "Stream", "Work of a device in order.")
      .def(
          "__init__",
          [](Stream*, const nb::args&, const nb::kwargs&) {
            throw nb::type_error("a stream is made by tessera.Stream.new('cuda') or tessera.Stream.borrow(0, pointer)");
          })
      .def_static(
          "new",
          [](nb::handle target, nb::handle device) {
            tsr_stream* s = nullptr;
            if (PyUnicode_Check(target.ptr()) == 0) fail("target is " + said(target) + ", expected 'cuda' or 'opencl'");
            const auto number = static_cast<int>(natural("device", device, INT32_MAX));
            check(tsr_stream_new(text_of("target", target).c_str(), number, &s));
            return new Stream(s);
          },
          "target"_a.none() = nb::none(), "device"_a.none() = 0, nb::rv_policy::take_ownership)
      .def_static(
          "borrow",
          [](nb::handle device, nb::handle pointer) {
            tsr_stream* s = nullptr;
            const auto number = static_cast<int>(natural("device", device, INT32_MAX));
            check(tsr_stream_borrow(number, reinterpret_cast<void*>(natural("pointer", pointer, UINTPTR_MAX)), &s));
            return new Stream(s);
          },
          "device"_a.none() = nb::none(), "pointer"_a.none() = nb::none(), nb::rv_policy::take_ownership)
      .def("wait", [](Stream& self) {
        tsr_status status = TSR_OK;
        {
          const Unlocked unlocked;
          status = tsr_stream_wait(self.handle);
        }
        check(status);
      });
  nb::class_<Options>(m, "Options", nb::type_slots(slots), "What a call takes besides its arguments, by name.")
      .def(nb::init<>())
      .def("set", &Options::set, "name"_a, "value"_a.none())
      .def("set_progress", &Options::set_progress, "callable"_a.none())
      .def("set_cancel", &Options::set_cancel, "cancel"_a.none())
      .def("set_stream", &Options::set_stream, "stream"_a.none());
}

}  // namespace tessera::python
