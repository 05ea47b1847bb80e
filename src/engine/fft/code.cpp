// See code.hpp.
#include "engine/fft/code.hpp"

#include <map>
#include <memory>

#include "base/process/fork.hpp"
#include "emit/c/c.hpp"
#include "run/cpu/compiler.hpp"
#include "run/cpu/machine.hpp"

namespace tessera::engine {

namespace {

// The function of that name of a module. Modules are kept for good: transforms hold plain pointers, and there are a few
// dozen at most.
template <class Make>
void* function_of(const std::string& type, const std::string& name, const std::string& compiler, const Make& make) {
  static base::Mutex mutex;
  static auto& modules = *new std::map<std::string, std::shared_ptr<run::cpu::Module>>();
  const std::string key = type + " " + name + " " + compiler;
  {
    const base::Lock lock(mutex, modules);
    const auto found = modules.find(key);
    if (found != modules.end()) return found->second->symbol(name);
  }
  std::shared_ptr<run::cpu::Module> module = run::cpu::load(
      {.source = emit::print_c(make()), .name = name + "_" + type, .contracts = true, .compiler = compiler});
  const base::Lock lock(mutex, modules);
  return modules.emplace(key, std::move(module)).first->second->symbol(name);
}

template <class T>
ir::nest::Type vector_of() {
  const int lanes = run::cpu::machine().vector_bytes / static_cast<int>(sizeof(T));
  return {sizeof(T) == 4 ? ir::nest::Lane::f32 : ir::nest::Lane::f64, lanes, false};
}

}  // namespace

template <class T>
void* code_function(const fft::Code& code, const std::string& compiler) {
  return function_of(sizeof(T) == 4 ? "f32" : "f64", fft::name_of(code), compiler,
                     [&] { return fft::module_of(code, vector_of<T>()); });
}

template void* code_function<float>(const fft::Code&, const std::string&);
template void* code_function<double>(const fft::Code&, const std::string&);

}  // namespace tessera::engine
