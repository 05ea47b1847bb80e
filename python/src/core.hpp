// What the parts of tessera._core share: errors, element types, arrays of others, and calls that Ctrl-C ends.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/tessera.h"

namespace nb = nanobind;

namespace tessera::python {

// ---- errors --------------------------------------------------------------------------------------------------------

// Raises tessera.ArgumentError.
[[noreturn]] void fail(const std::string& message, const std::string& help = {});
// Raises what the library says of the last call that failed.
[[noreturn]] void raise_last();
// A value as messages show it.
std::string said(nb::handle value);
inline void check(tsr_status status) {
  if (status != TSR_OK) [[unlikely]]
    raise_last();
}

// At its end the interpreter unwinds whatever other thread asks for its lock, which no destructor survives: such a
// thread stays here instead, and ends with the process.
template <class F>
auto staying(F&& f) {
  try {
    return f();
  } catch (...) {
    for (;;) ::pause();
  }
}

// Without the interpreter's lock while it lives.
class Unlocked {
 public:
  Unlocked() : state_(PyEval_SaveThread()) {}
  ~Unlocked() {
    staying([&] { PyEval_RestoreThread(state_); });
  }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  PyThreadState* state_;
};

// ---- element types -------------------------------------------------------------------------------------------------

// By the names of NumPy ("float32") and of programs ("float").
DLDataType type_of(std::string_view name);
// NumPy's name.
std::string name_of(DLDataType);
constexpr DLDataType make_type(DLDataTypeCode code, int bits) {
  return {static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(bits), 1};
}
constexpr bool same(DLDataType a, DLDataType b) {
  return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}

// ---- arrays --------------------------------------------------------------------------------------------------------

// Whose an array is, and so who makes the results.
enum class Maker : std::uint8_t { numpy, other, device };

struct Exchange;  // functions of a library of arrays: exchange.cpp

constexpr int most_dimensions = 6;  // of an array: four, fields, and one too many, for the message

// An array of somebody else, seen as a tensor for the time of a call.
struct Taken {
  DLTensor tensor{};
  std::int64_t shape[most_dimensions];
  std::int64_t strides[most_dimensions];
  nb::object keep;  // what holds the memory, where that is not the object given
  PyObject* given = nullptr;
  DLDataType expected{};  // what errors ask for; no bits: any that there is
  Maker maker = Maker::numpy;
  const Exchange* exchange = nullptr;  // of whoever made it, where there are such
  bool read_only = false;
  bool fresh = false;                   // a copy, made here
  bool must_wait = false;               // its memory may be used anew at once, whatever a stream still does
  std::optional<std::intptr_t> stream;  // on which its elements come to be: a cudaStream_t
  union {
    double number;
    std::int32_t integer;
    std::uint32_t natural;
    float single;
    std::uint16_t bits16;
    std::int16_t short16;
    std::uint8_t byte;
  } scalar{};

  Taken() = default;
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;

  bool on_device() const { return tensor.device.device_type == kDLCUDA || tensor.device.device_type == kDLCUDAManaged; }
};

// `name` is that of messages. For writing nothing is copied: what cannot be written in place is an error.
void take_array(PyObject* given, const char* name, bool for_writing, Taken& to);
// By the functions of the library whose array it is: the tensor, where it points to, and the stream. False where that
// cannot be; take_array finds other ways then, or says why not.
bool take_exchanged(PyObject* given, Taken& to);
// A new array by these functions; none where they give none.
nb::object make_exchanged(const Taken& like, nb::handle shape, DLDataType type);
void check_rank(const char* name, int rank);
// What a tensor of somebody else says of itself, before any of it is believed.
void check_tensor(const char* name, const DLTensor&);
// Raises that an array has elements of a type that nothing takes, or of another one than is expected.
[[noreturn]] void wrong_type(const char* name, const std::string& type, const Taken& given);
[[noreturn]] void other_type(const Taken& given, const char* name, DLDataType expected);
// A number of a type.
void take_scalar(PyObject* given, const char* name, DLDataType type, Taken& to);
// A new array of the kind of `like`; null: of NumPy.
nb::object make_array(const Taken* like, nb::handle shape, DLDataType type);
// What a new array becomes before it is given to the caller.
nb::object finish_array(const Taken* like, nb::object array);
bool may_overlap(const Taken& a, const Taken& b);

// Arrays of a call, which stay where they are.
class TakenList {
 public:
  explicit TakenList(std::size_t count) : more_(count > few ? new Taken[count] : nullptr), count_(count) {
    for (std::size_t k = 0; k < std::min(count, few); ++k) pointers_[k] = &at(k).tensor;
    if (more_) {
      many_.resize(count);
      for (std::size_t k = 0; k < count; ++k) many_[k] = &more_[k].tensor;
    }
  }
  Taken& at(std::size_t k) { return more_ ? more_[k] : first_[k]; }
  const DLTensor* const* tensors() const { return more_ ? many_.data() : pointers_; }
  std::size_t size() const { return count_; }

 private:
  static constexpr std::size_t few = 4;
  Taken first_[few];
  std::unique_ptr<Taken[]> more_;
  const DLTensor* pointers_[few] = {};
  std::vector<const DLTensor*> many_;
  std::size_t count_;
};

nb::tuple tuple_of(const std::int64_t* numbers, std::size_t count);

// ---- options -------------------------------------------------------------------------------------------------------

struct Cancel {
  Cancel() { check(tsr_cancel_new(&handle)); }
  ~Cancel() { tsr_cancel_free(handle); }
  Cancel(const Cancel&) = delete;
  Cancel& operator=(const Cancel&) = delete;

  void now() {
    asked.store(true);
    tsr_cancel_now(handle);
  }
  void reset() {
    asked.store(false);
    tsr_cancel_reset(handle);
  }

  tsr_cancel* handle = nullptr;
  std::atomic<bool> asked{false};  // by the user: Ctrl-C ends runs by the same handle
};

struct Stream {
  explicit Stream(tsr_stream* s) : handle(s) {}
  ~Stream() { tsr_stream_free(handle); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  tsr_stream* handle = nullptr;
};

struct Options {
  Options();
  ~Options() { tsr_options_free(handle); }
  Options(const Options&) = delete;
  Options& operator=(const Options&) = delete;

  void set(const std::string& name, nb::handle value);
  void set_progress(nb::object callable);
  void set_cancel(nb::object given);
  void set_stream(nb::object given);

  tsr_options* handle = nullptr;
  nb::object progress, cancel, stream;
  Cancel own;                // where the user gave none
  std::int64_t told_ns = 0;  // when progress was told last
  nb::object failure;        // what the callable raised

  tsr_cancel* active() const { return (cancel.is_valid() ? nb::cast<Cancel*>(cancel) : &own)->handle; }
  bool asked() const { return cancel.is_valid() && nb::cast<Cancel*>(cancel)->asked.load(); }
};

// Where arrays lie on a device, the run is put into the stream of whoever owns them, and nothing waits for it.
class OnStream {
 public:
  OnStream(Options* given, TakenList& inputs, TakenList& outputs);
  ~OnStream();
  OnStream(const OnStream&) = delete;
  OnStream& operator=(const OnStream&) = delete;

  Options* options() const { return options_; }
  void done();  // waits where it has to

 private:
  Options* options_;
  std::unique_ptr<Options> own_;
  tsr_stream* stream_ = nullptr;
  bool must_wait_ = false;
};

std::int64_t now_ns();

// ---- calls that take long
// --------------------------------------------------------------------------------------------

// While it lives, Ctrl-C cancels the run of the main thread as well as telling Python. Of other threads it is nothing.
class Interruptible {
 public:
  explicit Interruptible(tsr_cancel* cancel);
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

 private:
  bool watching_ = false;
  tsr_cancel* before_ = nullptr;
};

// Whether a call that was given no options took so little that the next one like it is not watched, which spares it two
// system calls.
class Brevity {
 public:
  Brevity(bool asked, bool& known) : known_(known), asked_(asked && !known), start_(asked_ ? now_ns() : 0) {}
  bool ended_soon() const { return asked_ && now_ns() - start_ < 1'000'000; }
  void remember() { known_ = true; }

 private:
  bool& known_;
  bool asked_;
  std::int64_t start_;
};

// Options of runs that were given none.
Options& plain_options();

// Raises what ended a run: an exception of the progress callable, KeyboardInterrupt, or the library's error. Returns
// where the run is to be started again: Ctrl-C was meant for somebody else.
void after_cancelled(Options& options);

// Calls f(options) without the GIL until it is done. Of brief calls Ctrl-C is heard afterwards.
template <class F>
void compute(Options* given, F&& f, bool brief = false) {
  Options& options = given != nullptr ? *given : plain_options();
  for (;;) {
    tsr_status status = TSR_OK;
    {
      std::optional<Interruptible> watch;
      if (!brief) watch.emplace(options.active());
      const Unlocked unlocked;
      status = f(options.handle);
    }
    if (status == TSR_OK) [[likely]]
      return;
    if (status != TSR_CANCELLED) raise_last();
    after_cancelled(options);
  }
}

// ---- programs ------------------------------------------------------------------------------------------------------

// A text of the library, which is freed.
inline std::string taken_string(char* text) {
  std::string out = text == nullptr ? "" : text;
  tsr_string_free(text);
  return out;
}

nb::object make_program(tsr_program* handle);
// Raises where `out` is none that results of this type and shape go into.
void check_output(const Taken& out, const char* name, DLDataType type, const std::int64_t* shape, int rank);
void check_overlap(Taken& out, const char* name, TakenList& inputs);

void bind_options(nb::module_& m);
void bind_program(nb::module_& m);
void bind_filter(nb::module_& m);
void bind_pipeline(nb::module_& m);
void prepare_arrays();

}  // namespace tessera::python
