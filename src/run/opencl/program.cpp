// From text to programs: key, cache, else compile and store; kernels that are lent; see program.hpp.
#include "run/opencl/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/files/cache.hpp"
#include "base/text.hpp"
#include "run/gpu/source.hpp"
#include "run/opencl/detail.hpp"

namespace tessera::run::opencl {
namespace {

constexpr std::size_t most_idle = 8;  // objects of one kernel

// Nothing that relaxes but what is asked for. Quotients and roots of fast code may be those of the device.
std::string options_for(const Listed& device, gpu::Arithmetic arithmetic) {
  const std::string usual = "-w -cl-std=CL1.2";
  if (arithmetic == gpu::Arithmetic::contracted) return usual + " -cl-mad-enable";
  const bool rounds = arithmetic == gpu::Arithmetic::exact && device.rounded_division;
  return rounds ? usual + " -cl-fp32-correctly-rounded-divide-sqrt" : usual;
}

std::string log_of(const Core& core, cl::Program program) {
  std::size_t size = 0;
  const auto get = core.cl.clGetProgramBuildInfo;
  if (get(program, core.device(), cl::program_build_log, 0, nullptr, &size) != cl::success || size == 0) return "";
  std::string log(size, '\0');
  if (get(program, core.device(), cl::program_build_log, size, log.data(), nullptr) != cl::success) return "";
  log.resize(std::min(log.size(), log.find('\0')));
  return log;
}

std::string binary_of(const Core& core, cl::Program program) {
  std::size_t size = 0;
  if (core.cl.clGetProgramInfo(program, cl::program_binary_sizes, sizeof size, &size, nullptr) != cl::success)
    return "";
  std::string binary(size, '\0');
  char* place = binary.data();
  if (size == 0 ||
      core.cl.clGetProgramInfo(program, cl::program_binaries, sizeof place, &place, nullptr) != cl::success)
    return "";
  return binary;
}

[[noreturn]] void throw_failed(const Core& core, cl::Int code, const std::string& source, const std::string& log,
                               const base::Digest& key) {
  const LogError error = first_error(log);
  std::vector<std::string> notes;
  const auto lines = base::split(source, '\n');
  if (error.line > 0 && static_cast<std::size_t>(error.line) <= lines.size())
    notes.push_back(fmt::format("line {} is {}", error.line,
                                base::quoted(base::trim(lines[static_cast<std::size_t>(error.line) - 1]), 300)));
  const std::string path = gpu::save_source(source, "cl", key);
  notes.push_back(path.empty() ? "the text could not be saved" : "the text is in " + base::quoted(path, 400));
  const std::string where = error.line > 0 ? fmt::format(" at line {}", error.line) : "";
  const std::string what =
      error.message.empty() ? fmt::format("{} ({})", name_of(code), code) : base::quoted(error.message, 300);
  throw Error(ErrorClass::device, fmt::format("emitted code does not compile for {}{}: {}", core.label, where, what),
              std::move(notes));
}

// Nothing when the binary is not taken: it is of another driver, or of other hands.
Handle<cl::Program> from_binary(const Core& core, const std::string& binary, const std::string& options) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(binary.data());
  const std::size_t size = binary.size();
  const cl::Device device = core.device();
  cl::Int status = cl::success, code = cl::success;
  const cl::Program made = core.cl.clCreateProgramWithBinary(core.context(), 1, &device, &size, &bytes, &status, &code);
  if (made == nullptr) return {};
  Handle<cl::Program> program(made, core.cl.clReleaseProgram);
  if (code != cl::success || status != cl::success ||
      core.cl.clBuildProgram(made, 1, &device, options.c_str(), nullptr, nullptr) != cl::success)
    return {};
  return program;
}

Handle<cl::Program> from_source(Core& core, const std::string& source, const std::string& options,
                                const base::Digest& key) {
  const char* text = source.data();
  const std::size_t size = source.size();
  const cl::Device device = core.device();
  cl::Int code = cl::success;
  const cl::Program made = core.cl.clCreateProgramWithSource(core.context(), 1, &text, &size, &code);
  core.check(code, "take a program");
  Handle<cl::Program> program(made, core.cl.clReleaseProgram);
  code = core.cl.clBuildProgram(made, 1, &device, options.c_str(), nullptr, nullptr);
  if (code == cl::out_of_host_memory || code == cl::device_not_available) core.check(code, "compile a program");
  if (code != cl::success) throw_failed(core, code, source, log_of(core, made), key);
  return program;
}

std::shared_ptr<Program> make(const std::shared_ptr<Core>& core, const std::string& source, const std::string& options,
                              const base::Digest& key) {
  base::Cache& cache = base::Cache::user();
  if (const auto binary = cache.get(key)) {
    if (Handle<cl::Program> program = from_binary(*core, *binary, options)) {
      ++counters().from_cache;
      return std::make_shared<Program>(core, std::move(program));
    }
  }
  Handle<cl::Program> program = from_source(*core, source, options, key);
  ++counters().compiled;
  const std::string binary = binary_of(*core, program.get());
  if (!binary.empty()) cache.put(key, binary);
  return std::make_shared<Program>(core, std::move(program));
}

// The number behind "line ", or behind one of the colons ahead of "error" (clang: "file:3:14: error: ...").
int line_in(std::string_view place) {
  if (const std::size_t at = place.rfind(", line "); at != std::string_view::npos) {
    const std::string_view rest = place.substr(at + 7);
    if (const auto number = base::parse_integer(rest.substr(0, rest.find_first_not_of("0123456789"))))
      return static_cast<int>(std::clamp<std::int64_t>(*number, 0, INT32_MAX));
  }
  const auto parts = base::split(place, ':');
  std::vector<std::int64_t> numbers;
  for (const std::string_view part : parts)
    if (const auto number = base::parse_integer(base::trim(part))) numbers.push_back(*number);
  // "1:3:14" of some drivers has the number of the text in front: the line is the last but one.
  if (numbers.size() >= 2) return static_cast<int>(std::clamp<std::int64_t>(numbers[numbers.size() - 2], 0, INT32_MAX));
  if (numbers.size() == 1) return static_cast<int>(std::clamp<std::int64_t>(numbers[0], 0, INT32_MAX));
  return 0;
}

}  // namespace

Counters& counters() {
  static Counters all;
  return all;
}

LogError first_error(const std::string& log) {
  LogError other;
  for (const std::string_view line : base::split(log, '\n')) {
    const std::string lower = base::to_lower(line);
    std::size_t at = lower.find("error:");
    if (at != std::string::npos) {
      LogError error{std::string(base::trim(line.substr(at + 6))), line_in(line.substr(0, at))};
      if (error.line == 0) {  // "error: file:3:14: ..."
        const std::size_t end = line.find(": ", at + 6);
        if (end != std::string::npos && (error.line = line_in(line.substr(at + 6, end - at - 6))) != 0)
          error.message = base::trim(line.substr(end + 1));
      }
      return error;
    }
    if (other.message.empty() && !base::trim(line).empty()) other.message = base::trim(line);
  }
  return other;
}

Handle<cl::Kernel> Program::make(const std::string& kernel) {
  cl::Int code = cl::success;
  const cl::Kernel made = core_->cl.clCreateKernel(program_.get(), kernel.c_str(), &code);
  if (code != cl::invalid_kernel_name) core_->check(code, "make the kernel " + base::quoted(kernel));
  if (code == cl::success) return {made, core_->cl.clReleaseKernel};
  std::string names(4096, '\0');
  std::vector<std::string> notes;
  if (core_->cl.clGetProgramInfo(program_.get(), cl::program_kernel_names, names.size(), names.data(), nullptr) ==
      cl::success)
    notes.push_back("it has " + base::quoted(names.c_str(), 400));
  throw Error(ErrorClass::internal, fmt::format("the OpenCL program has no kernel {}", base::quoted(kernel)),
              std::move(notes));
}

Program::Lease Program::lend(const std::string& name) {
  core_->ensure_open();
  Handle<cl::Kernel> kernel;
  {
    const base::Lock lock(mutex_);
    auto& idle = idle_[name];
    if (!idle.empty()) {
      kernel = std::move(idle.back());
      idle.pop_back();
    }
  }
  if (!kernel) kernel = make(name);
  cl::UInt arguments = 0;
  core_->check(core_->cl.clGetKernelInfo(kernel.get(), cl::kernel_num_args, sizeof arguments, &arguments, nullptr),
               "describe the kernel " + base::quoted(name));
  return Lease(*this, name, std::move(kernel), arguments);
}

void Program::give_back(const std::string& name, Handle<cl::Kernel> kernel) noexcept {
  const base::Lock lock(mutex_);
  try {
    auto& idle = idle_[name];
    if (kernel && idle.size() < most_idle) idle.push_back(std::move(kernel));
  } catch (const std::bad_alloc&) {
  }
}

gpu::Module::Usage Program::usage(const std::string& name, int, i64 shared_bytes) {
  const Lease kernel = lend(name);
  const auto ask = [&]<class T>(cl::UInt what, T) -> i64 {
    T value = 0;
    const cl::Int code =
        core_->cl.clGetKernelWorkGroupInfo(kernel.get(), core_->device(), what, sizeof value, &value, nullptr);
    return code == cl::success ? static_cast<i64>(value) : -1;
  };
  Usage usage;
  usage.threads_per_block = static_cast<int>(std::min<i64>(ask(cl::kernel_work_group_size, std::size_t{0}), INT32_MAX));
  usage.shared_bytes = ask(cl::kernel_local_mem_size, std::uint64_t{0});
  if (usage.shared_bytes >= 0) usage.shared_bytes += shared_bytes;
  usage.local_bytes = ask(cl::kernel_private_mem_size, std::uint64_t{0});
  return usage;
}

std::shared_ptr<Programs::Entry> Programs::entry_of(const base::Digest& key) {
  const base::Lock lock(mutex_);
  if (entries_.size() > 1024)  // forget what nobody holds any more
    std::erase_if(entries_, [](const auto& e) { return e.second.use_count() == 1 && e.second->program.expired(); });
  auto& entry = entries_[key];
  if (!entry) entry = std::make_shared<Entry>();
  return entry;
}

std::shared_ptr<Program> Programs::load(const std::string& source, gpu::Arithmetic arithmetic) {
  core_->ensure_open();
  const std::string options = options_for(core_->listed, arithmetic);
  const base::Digest key =
      base::Hasher().text("tessera opencl program 1").text(core_->listed.identity).text(options).text(source).finish();
  const std::shared_ptr<Entry> entry = entry_of(key);
  const base::Lock lock(entry->mutex);
  if (auto alive = entry->program.lock()) return alive;
  auto program = make(core_, source, options, key);
  entry->program = program;
  return program;
}

}  // namespace tessera::run::opencl
