// Register blocking: the speed of a direct convolution against the results that one item computes, in 2-D, 3-D and 4-D.
//
// The document proposes it, expects a factor of about as many times as there are results until registers run out, and
// leaves "code + numbers" to come. Filters are dense (7 x 7, 5 x 5 x 5, 3 x 3 x 3 x 3), blocks grow along the last axis
// as in the document, along the one before it, or along several. Compilers tell registers and what is spilled: NVRTC of
// every kernel, NVIDIA's OpenCL what is spilled, a C compiler the frame on the stack.
#include "published/blocking.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <optional>

#include "../random.hpp"
#include "published/common.hpp"
#include "run/cpu/external.hpp"
#include "run/cpu/machine.hpp"

namespace tessera::published {
namespace {

struct Series {
  std::string name;
  std::vector<std::vector<i64>> blocks;
};

// Blocks along one axis, counted from the last.
Series along(const std::string& name, std::size_t rank, std::size_t axis, bool quick) {
  Series series{name, {}};
  for (const i64 n : quick ? std::vector<i64>{1, 4} : std::vector<i64>{1, 2, 4, 8, 12, 16, 24, 32}) {
    std::vector<i64> block(rank, 1);
    block[rank - 1 - axis] = n;
    series.blocks.push_back(block);
  }
  return series;
}

std::vector<Series> all_series(std::size_t rank, bool quick) {
  std::vector<Series> found{along("last axis", rank, 0, quick), along("axis before it", rank, 1, quick)};
  using Blocks = std::vector<std::vector<i64>>;
  const Blocks several = rank == 2   ? Blocks{{2, 2}, {2, 4}, {4, 2}, {4, 4}, {8, 2}, {8, 4}}
                         : rank == 3 ? Blocks{{2, 2, 1}, {2, 2, 2}, {4, 4, 1}, {2, 4, 2}, {4, 4, 2}}
                                     : Blocks{{1, 2, 2, 1}, {2, 2, 2, 1}, {2, 2, 2, 2}, {2, 4, 2, 2}};
  found.push_back({"several axes", quick ? Blocks{several[0]} : several});
  return found;
}

// Enough for a large graphics card, or for a few cores.
std::vector<i64> extents_of(std::size_t rank, const Options& options, const Machine* machine) {
  if (options.quick)
    return rank == 2   ? std::vector<i64>{13, 150}
           : rank == 3 ? std::vector<i64>{5, 9, 150}
                       : std::vector<i64>{3, 4, 7, 150};
  if (machine != nullptr && machine->limits().multiprocessors >= 40)
    return rank == 2   ? std::vector<i64>{6144, 6144}
           : rank == 3 ? std::vector<i64>{64, 384, 1536}
                       : std::vector<i64>{16, 16, 96, 1536};
  return rank == 2   ? std::vector<i64>{1536, 1536}
         : rank == 3 ? std::vector<i64>{16, 96, 1536}
                     : std::vector<i64>{4, 8, 48, 1536};
}

struct Job {
  Blocking form;  // its block aside
  std::vector<float> source;
  std::vector<double> wanted;
};

i64 source_count(const Blocking& b) {
  i64 count = 1;
  for (const i64 n : b.extents) count *= n + b.taps - 1;
  return count;
}

// Rows at a time, a tap after the other.
std::vector<double> reference(const Blocking& b, const std::vector<float>& source) {
  const std::size_t rank = b.rank();
  const i64 width = b.extents[rank - 1], rows = element_count(b.extents) / width;
  const i64 taps = static_cast<i64>(b.weights.size());
  std::vector<double> result(static_cast<std::size_t>(rows * width));
  for (i64 row = 0; row < rows; ++row)
    for (i64 tap = 0; tap < taps; ++tap) {
      i64 at = 0, stride = 1, r = row, t = tap;
      for (std::size_t d = rank; d-- > 0;) {
        at += (t % b.taps + (d + 1 == rank ? 0 : r % b.extents[d])) * stride;
        t /= b.taps;
        if (d + 1 < rank) r /= b.extents[d];
        stride *= b.extents[d] + b.taps - 1;
      }
      const float* from = source.data() + at;
      double* to = result.data() + row * width;
      const double w = b.weights[static_cast<std::size_t>(tap)];
      for (i64 x = 0; x < width; ++x) to[x] += w * from[x];
    }
  return result;
}

Job make_job(std::size_t rank, i64 lanes, const Options& options, const Machine* machine) {
  Job job;
  job.form.extents = extents_of(rank, options, machine);
  job.form.taps = rank == 2 ? 7 : rank == 3 ? 5 : 3;
  job.form.lanes = lanes;
  i64 taps = 1;
  for (std::size_t d = 0; d < rank; ++d) taps *= job.form.taps;
  job.form.weights = bench::random_weights(static_cast<int>(taps), 7);
  bench::Lcg random(1);
  job.source.resize(static_cast<std::size_t>(source_count(job.form)));
  for (float& v : job.source) v = random.unit();
  job.wanted = reference(job.form, job.source);
  return job;
}

bool compare(const Job& job, const std::vector<float>& got, Json& row) {
  double largest = 0;
  for (std::size_t k = 0; k < got.size(); ++k) {
    const double d = std::abs(got[k] - job.wanted[k]);
    largest = d <= largest ? largest : d;  // not a number stays
  }
  row["largest_difference"] = largest;
  row["verdict"] = largest <= 1e-5 ? "same" : "DIFFERENT";
  return largest <= 1e-5;
}

// ---- C with vectors ------------------------------------------------------------------------------------------------

// A function compiled by the system's compiler, and the bytes of its frame.
class Compiled {
 public:
  Compiled(const std::string& text, const std::string& stem) {
    const run::cpu::SystemCompiler compiler = run::cpu::find_default_compiler();
    std::ofstream(stem + ".c") << text;
    std::vector<std::string> command = compiler.command;
    for (const char* word : {"-O3", "-march=native", "-ffp-contract=fast", "-fstack-usage", "-fPIC", "-c"})
      command.push_back(word);
    run(command, {stem + ".c", "-o", stem + ".o"});
    run(compiler.command, {"-shared", stem + ".o", "-o", stem + ".so"});
    library_ = dlopen(stem[0] == '/' ? (stem + ".so").c_str() : ("./" + stem + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
    const void* symbol = library_ == nullptr ? nullptr : dlsym(library_, "blocked");
    if (symbol == nullptr)
      throw Error(ErrorClass::device, fmt::format("'{}.so' cannot be opened: {}", stem, dlerror()));
    call = reinterpret_cast<void (*)(const float*, float*)>(const_cast<void*>(symbol));
    std::ifstream usage(stem + ".su");  // "file.c:3:6:blocked	120	static"
    std::string line;
    while (std::getline(usage, line))
      if (const auto tab = line.find('\t'); tab != std::string::npos) frame = std::stoll(line.substr(tab + 1));
  }
  ~Compiled() { dlclose(library_); }
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;

  void (*call)(const float*, float*) = nullptr;
  i64 frame = -1;

 private:
  static void run(std::vector<std::string> command, const std::vector<std::string>& more) {
    command.insert(command.end(), more.begin(), more.end());
    const run::cpu::ProcessResult done = run::cpu::run_process(command, 300);
    if (done.status != 0)
      throw Error(ErrorClass::device, fmt::format("'{}' failed: {}", command[0], done.messages.substr(0, 400)));
  }
  void* library_ = nullptr;
};

// Runs it, compares, and gives what is to be timed.
Timer run_c(const Job& job, const Blocking& form, const Options& options, Json& row, bool& good) {
  std::string name = fmt::format("{}/blocked-{}d", options.work, form.rank());
  for (const i64 n : form.block) name += fmt::format("-{}", n);
  const auto code = std::make_shared<const Compiled>(blocked_text(form, Dialect::c), name);
  const auto got = std::make_shared<std::vector<float>>(job.wanted.size(), NAN);
  code->call(job.source.data(), got->data());
  row["stack_bytes"] = code->frame;
  good &= compare(job, *got, row);
  return by_wall([code, got, from = job.source.data()] { code->call(from, got->data()); });
}

// ---- devices -------------------------------------------------------------------------------------------------------

struct Arrays {
  Block source, target;
};

Timer run_device(const Job& job, const Blocking& form, Machine& machine, const Arrays& arrays, Json& row, bool& good) {
  const Module module = machine.compile(blocked_text(form, Dialect::device));
  const std::size_t n = form.rank();
  i64 rest = 1;
  for (std::size_t d = 0; d + 2 < n; ++d) rest *= form.items(d);
  const std::array<i64, 3> items{form.items(n - 1), form.items(n - 2), rest};
  // Rows of 32 items, or of 16 where half of the last would be idle; 128 in a group.
  const int wide = items[0] % 32 == 16 ? 16 : 32;
  const std::array<int, 3> group{wide, static_cast<int>(std::min<i64>(128 / wide, std::max<i64>(1, items[1]))), 1};
  const auto run = [=, &machine] {
    const std::array<Block, 2> blocks{arrays.source, arrays.target};
    machine.launch(module, "blocked", items, group, blocks, std::array<i64, 1>{0});
  };
  machine.fill(arrays.target, 255);  // not a number
  run();
  const auto usage = module->usage("blocked", group[0] * group[1], 0);
  if (usage.registers >= 0) row["registers"] = usage.registers;
  if (usage.local_bytes >= 0) row["spilled_bytes"] = usage.local_bytes;
  if (usage.blocks_per_multiprocessor >= 0)
    row["threads_per_multiprocessor"] = usage.blocks_per_multiprocessor * group[0] * group[1];
  std::vector<float> got(job.wanted.size());
  machine.read(arrays.target, got.data(), static_cast<i64>(got.size() * sizeof(float)));
  good &= compare(job, got, row);
  return machine.timer(run);
}

// ---- all -----------------------------------------------------------------------------------------------------------

Timer run_ours(const Job& job, const Options& options, Json& row, bool& good) {
  const Program program = Program::from_text(forma_text(job.form));
  Shape shape = job.form.extents;
  std::vector<i64> begin(shape.size(), job.form.taps / 2), end;
  for (i64& n : shape) {
    end.push_back(n + job.form.taps / 2);
    n += job.form.taps - 1;
  }
  const Array image = Array::from<float>(job.source, shape), result(ElementType::f32, shape);
  Timer timer = run_tessera(program, {image}, {result}, options, 1);
  const Array inside = result.region(begin, end).clone();
  good &= compare(job, {inside.as<float>(), inside.as<float>() + inside.count()}, row);
  return timer;
}

bool measure_rank(std::size_t rank, const Options& options, Machine* machine, i64 lanes, int repeat) {
  const Job job = make_job(rank, lanes, options, machine);
  const Json head{{"rank", rank}, {"taps", job.form.taps}, {"extents", job.form.extents}};
  std::optional<Arrays> arrays;
  if (machine != nullptr)
    arrays = {machine->block(job.source.data(), static_cast<i64>(job.source.size() * sizeof(float))),
              machine->block(static_cast<i64>(job.wanted.size() * sizeof(float)))};
  bool good = true;
  std::vector<Json> rows;
  std::vector<Timer> timers;
  for (const Series& series : all_series(rank, options.quick))
    for (const std::vector<i64>& block : series.blocks) {
      Blocking form = job.form;
      form.block = block;
      Json& row = rows.emplace_back(head);
      row["series"] = series.name;
      row["block"] = block;
      row["outputs"] = element_count(block);
      row["loads_per_output"] = std::stod(fmt::format("{:.4g}", loads_of(form)));
      timers.push_back(machine != nullptr ? run_device(job, form, *machine, *arrays, row, good)
                                          : run_c(job, form, options, row, good));
    }
  rows.emplace_back(head)["series"] = "tessera";
  timers.push_back(run_ours(job, options, rows.back(), good));
  const std::vector<Statistics> found = in_turns(repeat, timers);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    put(rows[k], found[k]);
    rows[k]["gpoints_per_second"] =
        std::stod(fmt::format("{:.4g}", static_cast<double>(job.wanted.size()) / found[k].min * 1e-6));
    print(rows[k]);
  }
  return good;
}

}  // namespace

bool register_blocking(const Options& options) {
  const int repeat = options.repeat > 0 ? options.repeat : options.quick ? 2 : 10;
  std::optional<Machine> machine;
  i64 lanes = 1;
  if (options.target == "cpu") {
    lanes = run::cpu::machine().vector_bytes / 4;
    print({{"machine", run::cpu::machine().name},
           {"driver",
            fmt::format("one thread, vectors of {} floats, {}", lanes, run::cpu::find_default_compiler().name)}});
  } else {
    machine.emplace(options);
    print({{"machine", machine->limits().name}, {"driver", machine->limits().driver}});
  }
  bool good = true;
  for (const std::size_t rank : {2, 3, 4})
    good &= measure_rank(rank, options, machine ? &*machine : nullptr, lanes, repeat);
  return good;
}

}  // namespace tessera::published
