// The library at run time, and the names of its results.
#include "run/opencl/api.hpp"

#include <array>

#include "base/process/fork.hpp"

namespace tessera::run::opencl {
namespace {

struct Result {
  cl::Int code;
  const char* name;
};

constexpr std::array results = {
    Result{0, "CL_SUCCESS"},
    Result{-1, "CL_DEVICE_NOT_FOUND"},
    Result{-2, "CL_DEVICE_NOT_AVAILABLE"},
    Result{-3, "CL_COMPILER_NOT_AVAILABLE"},
    Result{-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
    Result{-5, "CL_OUT_OF_RESOURCES"},
    Result{-6, "CL_OUT_OF_HOST_MEMORY"},
    Result{-7, "CL_PROFILING_INFO_NOT_AVAILABLE"},
    Result{-8, "CL_MEM_COPY_OVERLAP"},
    Result{-11, "CL_BUILD_PROGRAM_FAILURE"},
    Result{-12, "CL_MAP_FAILURE"},
    Result{-14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
    Result{-30, "CL_INVALID_VALUE"},
    Result{-31, "CL_INVALID_DEVICE_TYPE"},
    Result{-32, "CL_INVALID_PLATFORM"},
    Result{-33, "CL_INVALID_DEVICE"},
    Result{-34, "CL_INVALID_CONTEXT"},
    Result{-35, "CL_INVALID_QUEUE_PROPERTIES"},
    Result{-36, "CL_INVALID_COMMAND_QUEUE"},
    Result{-37, "CL_INVALID_HOST_PTR"},
    Result{-38, "CL_INVALID_MEM_OBJECT"},
    Result{-42, "CL_INVALID_BINARY"},
    Result{-43, "CL_INVALID_BUILD_OPTIONS"},
    Result{-44, "CL_INVALID_PROGRAM"},
    Result{-45, "CL_INVALID_PROGRAM_EXECUTABLE"},
    Result{-46, "CL_INVALID_KERNEL_NAME"},
    Result{-47, "CL_INVALID_KERNEL_DEFINITION"},
    Result{-48, "CL_INVALID_KERNEL"},
    Result{-49, "CL_INVALID_ARG_INDEX"},
    Result{-50, "CL_INVALID_ARG_VALUE"},
    Result{-51, "CL_INVALID_ARG_SIZE"},
    Result{-52, "CL_INVALID_KERNEL_ARGS"},
    Result{-53, "CL_INVALID_WORK_DIMENSION"},
    Result{-54, "CL_INVALID_WORK_GROUP_SIZE"},
    Result{-55, "CL_INVALID_WORK_ITEM_SIZE"},
    Result{-56, "CL_INVALID_GLOBAL_OFFSET"},
    Result{-57, "CL_INVALID_EVENT_WAIT_LIST"},
    Result{-58, "CL_INVALID_EVENT"},
    Result{-59, "CL_INVALID_OPERATION"},
    Result{-61, "CL_INVALID_BUFFER_SIZE"},
    Result{-63, "CL_INVALID_GLOBAL_WORK_SIZE"},
    Result{-64, "CL_INVALID_PROPERTY"},
    Result{-1001, "CL_PLATFORM_NOT_FOUND_KHR"},
    Result{-9999, "illegal access to memory in a kernel"},
};

Api open_api() {
  Api a;
  a.library = base::DynamicLibrary::find({"the OpenCL library", "TESSERA_OPENCL", {"libOpenCL.so.1", "libOpenCL.so"}});
  if (!a.library) return a;
#define TESSERA_OPENCL_BIND(name, result, parameters) \
  if (!a.library.bind(a.name, #name) && a.lacking == nullptr) a.lacking = #name;
  TESSERA_OPENCL_FUNCTIONS(TESSERA_OPENCL_BIND)
#undef TESSERA_OPENCL_BIND
  return a;
}

}  // namespace

const Api& api() {
  static constinit base::Once<Api> opened;  // kept to the end: drivers run threads until then
  return opened.get(open_api);
}

const char* name_of(cl::Int code) {
  for (const Result& r : results)
    if (r.code == code) return r.name;
  return "an unknown result";
}

}  // namespace tessera::run::opencl
