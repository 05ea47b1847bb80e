// Open MPI at run time: the functions that are called, and the objects that stand for predefined handles. No header of
// it is needed: since version 2 (soname libmpi.so.40) handles are pointers to objects that the library exports.
#pragma once

#include <cstddef>

#include "base/process/dynamic_library.hpp"

namespace tessera::ranks::mpi {

// Handles of Open MPI; each a type of its own, so that none is taken for another.
using Communicator = struct CommunicatorObject*;
using Datatype = struct DatatypeObject*;
using Handler = struct HandlerObject*;
using RequestHandle = struct RequestObject*;

// MPI_Status of Open MPI.
struct Status {
  int source = 0, tag = 0, error = 0, cancelled = 0;
  std::size_t bytes = 0;
};

constexpr int success = 0;
constexpr int any_source = -1;
constexpr int thread_funneled = 1;         // MPI_THREAD_FUNNELED
constexpr std::size_t longest_text = 256;  // MPI_MAX_ERROR_STRING; MPI_MAX_LIBRARY_VERSION_STRING is as long

// NAME(parameters); all return an error code.
#define TESSERA_MPI_FUNCTIONS(X)                                                      \
  X(MPI_Init_thread, (int*, char***, int, int*))                                      \
  X(MPI_Initialized, (int*))                                                          \
  X(MPI_Finalize, ())                                                                 \
  X(MPI_Abort, (Communicator, int))                                                   \
  X(MPI_Get_library_version, (char*, int*))                                           \
  X(MPI_Error_string, (int, char*, int*))                                             \
  X(MPI_Comm_set_errhandler, (Communicator, Handler))                                 \
  X(MPI_Comm_rank, (Communicator, int*))                                              \
  X(MPI_Comm_size, (Communicator, int*))                                              \
  X(MPI_Isend, (const void*, int, Datatype, int, int, Communicator, RequestHandle*))  \
  X(MPI_Issend, (const void*, int, Datatype, int, int, Communicator, RequestHandle*)) \
  X(MPI_Irecv, (void*, int, Datatype, int, int, Communicator, RequestHandle*))        \
  X(MPI_Iprobe, (int, int, Communicator, int*, Status*))                              \
  X(MPI_Get_count, (const Status*, Datatype, int*))                                   \
  X(MPI_Test, (RequestHandle*, int*, Status*))                                        \
  X(MPI_Iallgatherv,                                                                  \
    (const void*, int, Datatype, void*, const int*, const int*, Datatype, Communicator, RequestHandle*))

struct Library {
  base::DynamicLibrary file;
#define TESSERA_MPI_DECLARE(name, parameters) int(*name) parameters = nullptr;
  TESSERA_MPI_FUNCTIONS(TESSERA_MPI_DECLARE)
#undef TESSERA_MPI_DECLARE
  Communicator world = nullptr;
  Datatype byte = nullptr;
  Handler errors_return = nullptr;
};

// Opened at the first call. Throws Error(device) where there is none, or another MPI.
const Library& library();

}  // namespace tessera::ranks::mpi
