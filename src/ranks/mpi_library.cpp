// See mpi_library.hpp.
#include "ranks/mpi_library.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

#include "base/text.hpp"
#include "tessera/error.hpp"

namespace tessera::ranks::mpi {
namespace {

constexpr const char* help = "install Open MPI (package openmpi-bin), or name its libmpi.so.40 in TESSERA_MPI";

[[noreturn]] void refuse(std::string message, std::vector<std::string> notes = {}) {
  throw Error(ErrorClass::device, std::move(message), std::move(notes), help);
}

// "MPICH Version: 4.0.2", the first line of what the library calls itself; "" where it says nothing.
std::string title_of(const base::DynamicLibrary& file) {
  int (*version)(char*, int*) = nullptr;
  if (!file.bind(version, "MPI_Get_library_version")) return "";
  std::string text(std::size_t{1} << 14, '\0');  // MPICH tells its whole configuration
  int length = 0;
  if (version(text.data(), &length) != success || length < 0) return "";
  text.resize(std::min(static_cast<std::size_t>(length), text.size()));
  return text.substr(0, text.find_first_of("\n,"));
}

Library open_library() {
  Library l;
  // The last two are of MPICH: what is there is named.
  l.file = base::DynamicLibrary::find({.what = "MPI",
                                       .environment = "TESSERA_MPI",
                                       .names = {"libmpi.so.40", "libmpi.so", "libmpi.so.12", "libmpich.so.12"},
                                       .global = true});
  if (!l.file) {
    std::vector<std::string> tried;
    for (const std::string& line : l.file.tried()) tried.push_back("tried " + line);
    refuse("--mpi needs the library of Open MPI, libmpi.so.40, which is not here", std::move(tried));
  }
  const auto object = [&](auto& handle, const char* name) {
    handle = static_cast<std::remove_reference_t<decltype(handle)>>(l.file.symbol(name));
    return handle != nullptr;
  };
  std::string lacking;
  const auto need = [&](bool found, const char* name) {
    if (!found && lacking.empty()) lacking = name;
  };
  need(object(l.world, "ompi_mpi_comm_world"), "ompi_mpi_comm_world");
  need(object(l.byte, "ompi_mpi_byte"), "ompi_mpi_byte");
  need(object(l.errors_return, "ompi_mpi_errors_return"), "ompi_mpi_errors_return");
#define TESSERA_MPI_BIND(name, parameters) need(l.file.bind(l.name, #name), #name);
  TESSERA_MPI_FUNCTIONS(TESSERA_MPI_BIND)
#undef TESSERA_MPI_BIND
  if (!lacking.empty()) {
    const std::string title = title_of(l.file);
    refuse(fmt::format("--mpi needs Open MPI, version 4 or 5, but {} is {}", base::quoted(l.file.name(), 1024),
                       title.empty() ? "another library" : title),
           {fmt::format("it has no {}", lacking)});
  }
  return l;
}

}  // namespace

const Library& library() {
  static const Library opened = open_library();
  return opened;
}

}  // namespace tessera::ranks::mpi
