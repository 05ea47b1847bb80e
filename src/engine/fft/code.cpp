// See code.hpp.
#include "engine/fft/code.hpp"

#include <map>
#include <memory>

#include "base/fork.hpp"
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
  std::shared_ptr<run::cpu::Module> module =
      run::cpu::load({.source = emit::print_c(make()), .name = name + "_" + type, .compiler = compiler});
  const base::Lock lock(mutex, modules);
  return modules.emplace(key, std::move(module)).first->second->symbol(name);
}

template <class T>
ir::nest::Type vector_of() {
  return {sizeof(T) == 4 ? ir::nest::Lane::f32 : ir::nest::Lane::f64, static_cast<int>(lanes_of<T>()), false};
}

template <class T>
const char* type_name() {
  return sizeof(T) == 4 ? "f32" : "f64";
}

}  // namespace

template <class T>
i64 lanes_of() {
  return run::cpu::machine().vector_bytes / static_cast<i64>(sizeof(T));
}

template <class T>
PassFunction<T> pass_function(const fft::Pass& pass, const std::string& compiler) {
  return reinterpret_cast<PassFunction<T>>(function_of(type_name<T>(), fft::name_of(pass), compiler,
                                                       [&] { return fft::pass_module(pass, vector_of<T>()); }));
}

template <class T>
void* move_function(fft::Move move, const std::string& compiler) {
  return function_of(type_name<T>(), fft::name_of(move), compiler,
                     [&] { return fft::move_module(move, vector_of<T>()); });
}

template i64 lanes_of<float>();
template i64 lanes_of<double>();
template PassFunction<float> pass_function<float>(const fft::Pass&, const std::string&);
template PassFunction<double> pass_function<double>(const fft::Pass&, const std::string&);
template void* move_function<float>(fft::Move, const std::string&);
template void* move_function<double>(fft::Move, const std::string&);

}  // namespace tessera::engine
