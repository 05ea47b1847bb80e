// Options by name, and streams and cancellation; see options.hpp.
#include "c/options.hpp"

#include <cmath>
#include <cstdlib>
#include <functional>

#include "base/text.hpp"
#include "c/tensors.hpp"
#include "engine/filters/filters.hpp"
#include "lang/compile.hpp"

namespace tessera::c {

namespace {

using base::quoted;
using Value = tsr_options::Value;

// One option on its way to where it goes; every way out names it.
class Option {
 public:
  Option(const std::string& name, const Value& value) : name_(name), value_(value) {}
  const std::string& name() const { return name_; }

  [[noreturn]] void wrong(std::string_view expected) const {
    std::string shown = "a tensor";
    if (const auto* const text = std::get_if<std::string>(&value_)) shown = quoted(*text);
    if (const auto* const numbers = std::get_if<std::vector<double>>(&value_))
      shown = numbers->size() == 1 ? fmt::format("{}", numbers->front()) : fmt::format("{} numbers", numbers->size());
    fail(fmt::format("option {} is {}, expected {}", name_, shown, expected));
  }
  const std::string& text(std::string_view expected) const {
    const auto* const text = std::get_if<std::string>(&value_);
    if (text == nullptr) wrong(expected);
    return *text;
  }
  std::vector<double> numbers(std::string_view expected) const {
    if (const auto* const numbers = std::get_if<std::vector<double>>(&value_)) return *numbers;
    if (std::holds_alternative<Array>(value_)) wrong(expected);
    std::vector<double> all;
    for (const std::string& word : words()) {
      char* end = nullptr;
      all.push_back(std::strtod(word.c_str(), &end));
      if (end != word.c_str() + word.size()) wrong(expected);
    }
    return all;
  }
  double number(std::string_view expected) const {
    const std::vector<double> all = numbers(expected);
    if (all.size() != 1 || std::isnan(all[0])) wrong(expected);
    return all[0];
  }
  i64 integer(std::string_view expected, i64 least = 0, i64 most = i64{1} << 53) const {
    const double v = number(expected);
    if (v != std::floor(v) || v < static_cast<double>(least) || v > static_cast<double>(most)) wrong(expected);
    return static_cast<i64>(v);
  }
  bool flag() const { return integer("0 or 1", 0, 1) == 1; }
  double seconds() const {
    const double v = number("seconds from 0 on");
    if (!(v >= 0 && v <= 1e9)) wrong("seconds from 0 on");
    return v;
  }
  std::vector<int> devices() const {
    constexpr const char* expected = "all, or the numbers of devices from 0 on";
    if (const auto* const text = std::get_if<std::string>(&value_); text != nullptr && *text == "all")
      return {all_devices};
    std::vector<double> given;
    if (std::holds_alternative<std::string>(value_)) {
      for (const std::string& word : words(',')) {
        char* end = nullptr;
        given.push_back(std::strtod(word.c_str(), &end));
        if (end != word.c_str() + word.size()) wrong(expected);
      }
    } else {
      given = numbers(expected);
    }
    std::vector<int> all;
    for (const double v : given) {
      if (!(v >= 0 && v <= 1 << 20) || v != std::floor(v)) wrong(expected);
      all.push_back(static_cast<int>(v));
    }
    if (all.empty()) wrong(expected);
    return all;
  }
  const Array& tensor() const {
    const auto* const array = std::get_if<Array>(&value_);
    if (array == nullptr) wrong("a tensor");
    return *array;
  }
  ElementType type() const {
    const std::string& word = text("a type");
    static const std::map<std::string_view, std::string_view> of_numpy = {
        {"float16", "half"}, {"float32", "float"}, {"float64", "double"}};
    const auto other = of_numpy.find(word);
    const auto type = lang::parse_type(other == of_numpy.end() ? word : other->second);
    if (!type) wrong("bool, uint8, int16, uint16, int32, uint32, float16, float32 or float64");
    return *type;
  }
  std::vector<Border> borders() const {
    return lang::parse_borders(text("border modes"), fmt::format("option {}:", name_));
  }
  template <class T, std::size_t n>
  T word(const std::pair<const char*, T> (&table)[n]) const {
    std::string expected;
    for (const auto& [name, value] : table) expected += (expected.empty() ? "" : ", ") + std::string(name);
    const std::string& given = text(expected);
    for (const auto& [name, value] : table)
      if (given == name || (given == "auto" && std::string_view(name) == "automatic"))
        return value;  // the command's word
    wrong(expected);
  }
  std::vector<std::string> words(char between = ' ') const {
    std::vector<std::string> all;
    std::string word;
    for (const char c : text("words") + between) {
      if (c != between) {
        word += c;
      } else if (!word.empty()) {
        all.push_back(std::exchange(word, {}));
      }
    }
    return all;
  }

 private:
  const std::string& name_;
  const Value& value_;
};

constexpr std::pair<const char*, Numbers> numbers_words[] = {{"fast", Numbers::fast}, {"exact", Numbers::exact}};
constexpr std::pair<const char*, Schedule> schedule_words[] = {{"automatic", Schedule::automatic},
                                                               {"untiled", Schedule::untiled},
                                                               {"tiled", Schedule::tiled},
                                                               {"stream", Schedule::stream}};
constexpr std::pair<const char*, Method> method_words[] = {
    {"automatic", Method::automatic}, {"direct", Method::direct}, {"separable", Method::separable},
    {"low_rank", Method::low_rank},   {"whole", Method::whole},   {"transform", Method::transform},
    {"matrix", Method::matrix}};
constexpr std::pair<const char*, Extent> extent_words[] = {
    {"same", Extent::same}, {"valid", Extent::valid}, {"full", Extent::full}};
constexpr std::pair<const char*, Alpha> alpha_words[] = {
    {"weighted", Alpha::weighted}, {"kept", Alpha::kept}, {"associated", Alpha::associated}};

using Setter = std::function<void(const Option&)>;
using Setters = std::map<std::string, Setter, std::less<>>;

// Calls the setter of every option's name, or of what stands before its first dot.
void set_all(const tsr_options* options, std::string_view call, const Setters& setters) {
  if (options == nullptr) return;
  for (const auto& [name, value] : options->values) {
    auto at = setters.find(name);
    if (at == setters.end()) at = setters.find(name.substr(0, name.find('.') + 1));
    if (at == setters.end()) {
      std::string known;
      for (const auto& [other, setter] : setters)
        known += (known.empty() ? "" : ", ") + other + (other.ends_with('.') ? "NAME" : "");
      fail(fmt::format("{} has no option {}", call, quoted(name)), "expected one of " + known);
    }
    at->second(Option(name, value));
  }
}

std::string after_dot(const Option& o) {
  return o.name().substr(o.name().find('.') + 1);
}

HardwareOptions::Input hardware_input(const Option& o) {
  const std::string& word = o.text("a type, or type/bits of fraction");
  const std::size_t slash = word.find_first_of("/.");  // ("uint8.4" is how the command spells it)
  const auto type = lang::parse_type(word.substr(0, slash));
  const std::string bits = slash == std::string::npos ? "0" : word.substr(slash + 1);
  const bool whole = !bits.empty() && bits.size() <= 3 && bits.find_first_not_of("0123456789") == std::string::npos;
  if (!type || !whole) o.wrong("a type, or type/bits of fraction");
  return {*type, std::atoi(bits.c_str())};
}

}  // namespace

CompileOptions compile_options(const tsr_options* given) {
  CompileOptions out;
  const Setters setters = {
      {"parameter.", [&](const Option& o) { out.parameters[after_dot(o)] = o.number("a number"); }},
      {"border.", [&](const Option& o) { out.borders[after_dot(o)] = o.borders(); }},
      {"type.", [&](const Option& o) { out.types[after_dot(o)] = o.type(); }},
      {"table.", [&](const Option& o) { out.tables[after_dot(o)] = o.tensor(); }},
      {"import_paths", [&](const Option& o) { out.import_paths = o.words(':'); }},
      {"import_only", [&](const Option& o) { out.import_only = o.words(':'); }},
      {"compile_limit", [&](const Option& o) { out.compile_limit = o.seconds(); }}};
  set_all(given, "compilation", setters);
  return out;
}

double compile_limit(const tsr_options* given, std::string_view call) {
  double limit = CompileOptions{}.compile_limit;
  set_all(given, call, {{"compile_limit", [&](const Option& o) { limit = o.seconds(); }}});
  return limit;
}

namespace {

void set_run_options(const tsr_options& given, RunOptions& out) {
  const Setters setters = {
      {"numbers", [&](const Option& o) { out.numbers = o.word(numbers_words); }},
      {"schedule", [&](const Option& o) { out.schedule = o.word(schedule_words); }},
      {"method", [&](const Option& o) { out.method = o.word(method_words); }},
      {"threads",
       [&](const Option& o) {
         out.threads = static_cast<int>(o.integer("a number of threads from 0 to 1048576", 0, 1 << 20));
       }},
      {"target",
       [&](const Option& o) {
         constexpr std::pair<const char*, const char*> words[] = {
             {"cpu", "cpu"}, {"cuda", "cuda"}, {"opencl", "opencl"}};
         out.target = o.word(words);
       }},
      {"device",
       [&](const Option& o) {
         out.device = static_cast<int>(o.integer("the number of a device, from 0 on", 0, 1 << 20));
       }},
      {"devices", [&](const Option& o) { out.devices = o.devices(); }},
      {"device_memory", [&](const Option& o) { out.device_memory = o.integer("a whole number of bytes from 0 on"); }},
      {"compiler", [&](const Option& o) { out.compiler = o.text("a compiler"); }},
      {"compile_limit", [&](const Option& o) { out.compile_limit = o.seconds(); }},
      {"tile_rows", [&](const Option& o) { out.tile_rows = o.integer("a whole number of rows from 0 on"); }},
      {"tile_columns", [&](const Option& o) { out.tile_columns = o.integer("a whole number of columns from 0 on"); }}};
  set_all(&given, "a run", setters);
}

// shape.NAME: extents of an input, slowest first.
void shape_of_input(const Option& option, const Program& program, std::vector<Shape>& shapes) {
  const std::string name = after_dot(option);
  std::vector<std::string> known;
  shapes.resize(program.inputs().size());
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    const Parameter& input = program.inputs()[k];
    if (!input.is_array) continue;
    known.push_back(input.name);
    if (input.name != name) continue;
    shapes[k].clear();
    for (const double n : option.numbers("extents")) {
      if (n != std::floor(n) || n < 1 || n > 9007199254740992.0) option.wrong("extents, whole numbers from 1 on");
      shapes[k].push_back(static_cast<i64>(n));
    }
    if (static_cast<int>(shapes[k].size()) != input.rank)
      option.wrong(fmt::format("{} extents of input '{}' [{}]", input.rank, input.name, input.extents));
    return;
  }
  fail(fmt::format("option {} names no array; expected one of {}", option.name(), base::list_of(known)));
}

}  // namespace

const std::atomic<bool>* cancel_of(const tsr_options* given) {
  return given == nullptr || given->cancel == nullptr ? nullptr : &given->cancel->flag;
}

Stream* stream_of(const tsr_options* given) {
  return given == nullptr || given->stream == nullptr ? nullptr : &given->stream->stream;
}

RunOptions run_options(const tsr_options* given) {
  RunOptions out;
  if (given == nullptr) return out;
  if (!given->values.empty()) set_run_options(*given, out);
  if (given->progress != nullptr)
    // Its wish to stop is of this run alone: the caller's flag, which others may look at, stays as it is.
    out.on_progress = [call = given->progress, user = given->user, stopped = false](const Progress& p) mutable {
      stopped = stopped || call(p.done, p.total, user) != 0;
      if (stopped) throw Error(ErrorClass::cancelled, fmt::format("cancelled after {} of {} tiles", p.done, p.total));
    };
  out.cancel = cancel_of(given);
  out.stream = stream_of(given);
  return out;
}

EmitOptions emit_options(const tsr_options* given, const Program& program) {
  EmitOptions out;
  const auto integer = [](int& to, int most) {
    return [&to, most](const Option& o) {
      to = static_cast<int>(o.integer(fmt::format("a whole number from 0 to {}", most), 0, most));
    };
  };
  const auto extent = [](i64& to) { return [&to](const Option& o) { to = o.integer("a whole number from 0 on"); }; };
  const auto real = [](double& to) { return [&to](const Option& o) { to = o.number("a number"); }; };
  const Setters setters = {{"target", [&](const Option& o) { out.target = o.text("a target"); }},
                           {"name", [&](const Option& o) { out.name = o.text("a name"); }},
                           {"kernels_file", [&](const Option& o) { out.kernels_file = o.text("a path"); }},
                           {"numbers", [&](const Option& o) { out.numbers = o.word(numbers_words); }},
                           {"schedule", [&](const Option& o) { out.schedule = o.word(schedule_words); }},
                           {"method", [&](const Option& o) { out.method = o.word(method_words); }},
                           {"compile_limit", [&](const Option& o) { out.compile_limit = o.seconds(); }},
                           {"tile_rows", extent(out.tile_rows)},
                           {"tile_columns", extent(out.tile_columns)},
                           {"vector_bits", integer(out.vector_bits, 1 << 20)},
                           {"height", extent(out.hardware.height)},
                           {"width", extent(out.hardware.width)},
                           {"fixed", [&](const Option& o) { out.hardware.fixed = o.flag(); }},
                           {"lanes", integer(out.hardware.lanes, 1 << 20)},
                           {"error", real(out.hardware.error)},
                           {"frequency", real(out.hardware.frequency)},
                           {"chip", [&](const Option& o) { out.hardware.chip = o.text("a chip"); }},
                           {"additions", integer(out.hardware.additions, 1 << 20)},
                           {"shape.", [&](const Option& o) { shape_of_input(o, program, out.shapes); }},
                           {"input.", [&](const Option& o) { out.hardware.inputs[after_dot(o)] = hardware_input(o); }}};
  set_all(given, "emission", setters);
  return out;
}

FilterOptionSet filter_options(const std::string& name, const tsr_options* given) {
  FilterOptionSet out;
  FilterRequest& request = out.request;
  request.name = name;
  const FilterInfo& info = engine::filter_info(name);
  Setters setters = {{"border", [&](const Option& o) { request.border.modes = o.borders(); }},
                     {"extent", [&](const Option& o) { request.extent = o.word(extent_words); }},
                     {"type", [&](const Option& o) { request.type = o.type(); }},
                     {"arithmetic", [&](const Option& o) { request.arithmetic = o.type(); }},
                     {"alpha", [&](const Option& o) { request.alpha = o.word(alpha_words); }},
                     {"fields", [&](const Option& o) { out.fields = o.words(); }},
                     {"nodata", [&](const Option& o) { request.nodata = o.numbers("numbers"); }},
                     {"ignore_nan", [&](const Option& o) { request.ignore_nan = o.flag(); }},
                     {"mask", [&](const Option& o) { out.mask = o.type(); }}};
  for (const FilterOption& option : info.options) {
    if (option.type == "table")
      setters[option.name] = [&](const Option& o) { request.tables[o.name()] = o.tensor(); };
    else if (option.type != "border")
      setters[option.name] = [&](const Option& o) {
        request.numbers.insert_or_assign(o.name(), PerAxis(o.numbers("numbers")));
      };
  }
  set_all(given, fmt::format("filter {}", quoted(name)), setters);
  return out;
}

}  // namespace tessera::c

using namespace tessera;
using namespace tessera::c;

extern "C" {

tsr_status tsr_options_new(tsr_options** out) {
  return guarded([&] { hand_out(out); });
}

void tsr_options_free(tsr_options* options) {
  delete options;
}

tsr_status tsr_options_set(tsr_options* options, const char* name, const char* value) {
  return guarded([&] {
    auto& values = given(options, "options").values;
    given(name, "the name of an option");
    if (value == nullptr)
      values.erase(name);
    else
      values.insert_or_assign(name, std::string(value));
  });
}

tsr_status tsr_options_set_numbers(tsr_options* options, const char* name, const double* numbers, size_t count) {
  return guarded([&] {
    given(name, "the name of an option");
    if (count > 0) given(numbers, fmt::format("the numbers of option {}", quoted(name)));
    given(options, "options").values.insert_or_assign(name, std::vector<double>(numbers, numbers + count));
  });
}

tsr_status tsr_options_set_tensor(tsr_options* options, const char* name, const DLTensor* tensor) {
  return guarded([&] {
    given(name, "the name of an option");
    const std::string what = fmt::format("option {}", name);
    const Array copy = array_of(given(tensor, what), what).to_host().clone();
    given(options, "options").values.insert_or_assign(name, copy);
  });
}

tsr_status tsr_options_set_progress(tsr_options* options, tsr_progress progress, void* user) {
  return guarded([&] {
    given(options, "options").progress = progress;
    options->user = user;
  });
}

tsr_status tsr_cancel_new(tsr_cancel** out) {
  return guarded([&] { hand_out(out); });
}

void tsr_cancel_free(tsr_cancel* cancel) {
  delete cancel;
}

void tsr_cancel_now(tsr_cancel* cancel) {
  if (cancel != nullptr) cancel->flag.store(true);
}

void tsr_cancel_reset(tsr_cancel* cancel) {
  if (cancel != nullptr) cancel->flag.store(false);
}

tsr_status tsr_options_set_cancel(tsr_options* options, const tsr_cancel* cancel) {
  return guarded([&] { given(options, "options").cancel = cancel; });
}

tsr_status tsr_stream_new(const char* target, int device, tsr_stream** out) {
  return guarded([&] {
    given(target, "the target of a stream");
    given(out, "the place of the result");
    *out = new tsr_stream{Stream(Device::open(target, device))};
  });
}

tsr_status tsr_stream_borrow(int device, void* cuda_stream, tsr_stream** out) {
  return guarded([&] {
    given(out, "the place of the result");
    *out = new tsr_stream{Stream::borrow(Device::open("cuda", device), cuda_stream)};
  });
}

tsr_status tsr_stream_wait(tsr_stream* stream) {
  return guarded([&] { given(stream, "the stream").stream.wait(); });
}

void tsr_stream_free(tsr_stream* stream) {
  delete stream;
}

tsr_status tsr_options_set_stream(tsr_options* options, tsr_stream* stream) {
  return guarded([&] { given(options, "options").stream = stream; });
}
}
