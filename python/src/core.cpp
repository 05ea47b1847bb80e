// Errors, element types, calls that Ctrl-C ends, and the module.
#include "core.hpp"

#include <pthread.h>
#include <signal.h>

#include <iterator>

namespace tessera::python {

// ---- errors --------------------------------------------------------------------------------------------------------

namespace {

[[noreturn]] void raise(nb::handle error) {
  PyErr_SetObject(error.type().ptr(), error.ptr());
  throw nb::python_error();
}

}  // namespace

void fail(const std::string& message, const std::string& help) {
  raise(nb::module_::import_("tessera._errors").attr("ArgumentError")(message, nb::tuple(), help));
}

std::string said(nb::handle value) {
  const nb::object shown = nb::steal(PyObject_Repr(value.ptr()));
  std::string text = "something";
  if (shown.is_valid()) text = nb::cast<std::string>(shown.attr("encode")("utf-8", "replace").attr("decode")());
  PyErr_Clear();
  if (text.size() <= 60) return text;
  std::size_t end = 57;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;  // no half of a character
  return text.substr(0, end) + "...";
}

void raise_last() {
  const nb::object make = nb::module_::import_("tessera._errors").attr("from_json");
  raise(make(nb::str(tsr_last_error_json()), nb::str(tsr_last_error())));
}

// ---- element types -------------------------------------------------------------------------------------------------

namespace {

struct Name {
  const char* numpy;
  const char* ours;
  DLDataType type;
};
constexpr Name names[] = {
    {"bool", "bool", make_type(kDLBool, 8)},        {"uint8", "uint8", make_type(kDLUInt, 8)},
    {"uint16", "uint16", make_type(kDLUInt, 16)},   {"uint32", "uint32", make_type(kDLUInt, 32)},
    {"int16", "int16", make_type(kDLInt, 16)},      {"int32", "int32", make_type(kDLInt, 32)},
    {"float16", "half", make_type(kDLFloat, 16)},   {"float32", "float", make_type(kDLFloat, 32)},
    {"float64", "double", make_type(kDLFloat, 64)},
};

}  // namespace

DLDataType type_of(std::string_view name) {
  for (const Name& n : names)
    if (name == n.numpy || name == n.ours) return n.type;
  fail("type '" + std::string(name) +
       "' cannot be used, expected bool, uint8, uint16, uint32, int16, int32, float16, float32 or float64");
}

std::string name_of(DLDataType type) {
  for (const Name& n : names)
    if (same(type, n.type)) return n.numpy;
  static constexpr const char* codes[] = {"int", "uint", "float", "handle", "bfloat", "complex", "bool"};
  return (type.code < std::size(codes) ? codes[type.code] : "type") + std::to_string(type.bits);
}

nb::tuple tuple_of(const std::int64_t* numbers, std::size_t count) {
  PyObject* const made = PyTuple_New(static_cast<Py_ssize_t>(count));
  if (made == nullptr) throw nb::python_error();
  for (std::size_t k = 0; k < count; ++k)
    PyTuple_SetItem(made, static_cast<Py_ssize_t>(k), PyLong_FromLongLong(numbers[k]));
  return nb::steal<nb::tuple>(made);
}

// ---- calls that take long

namespace {

// The run of the main thread that Ctrl-C ends, and what handled the signal before. A handler may do no more than store
// to lock-free atomics, which is what tsr_cancel_now does.
std::atomic<tsr_cancel*> watched{nullptr};
struct sigaction previous;

extern "C" void on_interrupt(int number, siginfo_t* info, void* context) {
  if (tsr_cancel* const cancel = watched.load()) tsr_cancel_now(cancel);
  if ((previous.sa_flags & SA_SIGINFO) != 0)
    previous.sa_sigaction(number, info, context);
  else
    previous.sa_handler(number);
}

pthread_t main_thread;

// The thread that forked is the main one of the child. A run of another one goes on in the parent alone.
void on_fork() {
  if (pthread_equal(pthread_self(), main_thread) != 0) return;
  main_thread = pthread_self();
  if (watched.exchange(nullptr) != nullptr) ::sigaction(SIGINT, &previous, nullptr);
}

}  // namespace

Interruptible::Interruptible(tsr_cancel* cancel) {
  if (pthread_equal(pthread_self(), main_thread) == 0) return;
  before_ = watched.load();
  if (before_ == nullptr) {  // else it is a run inside the progress callable of another one
    // Known before it is needed: the signal may come at any time. Python changes handlers in this thread alone.
    ::sigaction(SIGINT, nullptr, &previous);
    const bool handled =
        (previous.sa_flags & SA_SIGINFO) != 0 || (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN);
    if (!handled) return;
  }
  watched.store(cancel);
  watching_ = true;
  if (before_ != nullptr) return;
  struct sigaction ours{};
  ours.sa_sigaction = on_interrupt;
  ours.sa_flags = SA_SIGINFO | SA_RESTART;
  ::sigemptyset(&ours.sa_mask);
  ::sigaction(SIGINT, &ours, nullptr);
}

Interruptible::~Interruptible() {
  if (!watching_) return;
  if (before_ == nullptr) ::sigaction(SIGINT, &previous, nullptr);
  watched.store(before_);
}

Options& plain_options() {
  // One for the main thread, whose runs Ctrl-C ends, and one for all others, which nothing ends.
  static Options* const ours = new Options;    // NOLINT: for as long as the process lives
  static Options* const others = new Options;  // NOLINT
  return pthread_equal(pthread_self(), main_thread) != 0 ? *ours : *others;
}

void after_cancelled(Options& options) {
  if (options.failure.is_valid()) {
    const nb::object failure = std::move(options.failure);
    options.failure = nb::object();
    raise(failure);
  }
  const bool asked = options.asked();
  if (!asked) tsr_cancel_reset(options.active());
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
  if (asked) raise_last();
}

}  // namespace tessera::python

NB_MODULE(bound, m) {
  using namespace tessera::python;
  main_thread = nb::cast<unsigned long>(nb::module_::import_("threading").attr("main_thread")().attr("ident"));
  pthread_atfork(nullptr, nullptr, on_fork);
  m.def("version", [] { return std::string(tsr_version()); });
  m.def("abi", &tsr_abi);
  nb::set_leak_warnings(false);  // programs that modules hold at the end are no news to a user
  prepare_arrays();
  bind_options(m);
  bind_program(m);
  bind_filter(m);
  bind_pipeline(m);
}

namespace {

// A second interpreter that came as far as nanobind would take its types from the first one.
bool is_main_interpreter() {
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) == 0) return true;
  PyErr_SetString(
      PyExc_ImportError,
      "tessera runs in the main interpreter alone, not in sub-interpreters; threads and processes may use it");
  return false;
}

int fill(PyObject* module) {
  return is_main_interpreter() ? nanobind_bound_exec(module) : -1;
}

}  // namespace

// What NB_MODULE(_core, m) would make, but for the questions: up to CPython 3.12 this function is called by the
// interpreter that imports, since 3.13 by the main one.
extern "C" NB_EXPORT PyObject* PyInit__core() {
  if (!is_main_interpreter()) return nullptr;
  nb::detail::init_singletons();
  if (!nb::detail::nb_backend_init("_core")) return nullptr;
  static PyObject* const definition =
      NB_CALL(module_new)("_core", nullptr, reinterpret_cast<void*>(fill), NB_ABI_MINOR_TAG);
  return definition;
}
