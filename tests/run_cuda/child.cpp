#include "child.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "tessera/error.hpp"

namespace fs = std::filesystem;

const char* const sample = R"(typedef long long i64;
typedef struct { i64 n[1]; } tsr_integers;
extern "C" __global__ void add(const unsigned char* p0, const unsigned char* p1, unsigned char* p2, tsr_integers N) {
  i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x;
  if (i < N.n[0]) ((float*)p2)[i] = ((const float*)p0)[i] + ((const float*)p1)[i];
}
extern "C" __global__ void fault(unsigned char* p0, tsr_integers N) { *(volatile int*)(p0 + N.n[0]) = 1; }
extern "C" __global__ void nothing(tsr_integers N) {}
)";

namespace {

// A cache of its own for a test.
struct CacheFolder {
  std::string path;
  CacheFolder() : path((fs::temp_directory_path() / "tessera-cuda-XXXXXX").string()) {
    if (mkdtemp(path.data()) == nullptr) path.clear();
  }
  ~CacheFolder() {
    std::error_code ec;
    fs::remove_all(path, ec);
  }
};

[[noreturn]] void run_body(int to_parent, const Variables& variables, const std::string& cache,
                           const std::function<std::string()>& body) {
  for (const char* name : {"TESSERA_CUDA_DRIVER", "TESSERA_NVRTC"})
    if (!variables.count(name)) unsetenv(name);
  setenv("TESSERA_CACHE", cache.c_str(), 1);
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  const bool failed_before = testing::Test::HasFailure();
  std::string result;
  try {
    result = body();
  } catch (const std::exception& e) {
    ADD_FAILURE() << "thrown: " << e.what();
  }
  result.resize(std::min<std::size_t>(result.size(), 4000));
  const bool written = write(to_parent, result.data(), result.size()) == static_cast<ssize_t>(result.size());
  fflush(stdout);
  fflush(stderr);
  _exit((testing::Test::HasFailure() && !failed_before) || !written ? 1 : 0);
}

}  // namespace

std::string in_child(const Variables& given, const std::function<std::string()>& body) {
  const CacheFolder cache;
  Variables variables = given;
  // The real ones, where a test asks for them.
  for (const char* name : {"TESSERA_CUDA_DRIVER", "TESSERA_NVRTC"}) {
    const auto it = variables.find(name);
    const char* outside = getenv(name);
    if (it == variables.end() || it->second != "real") continue;
    if (outside != nullptr)
      it->second = outside;
    else
      variables.erase(it);
  }
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  fflush(stdout);
  fflush(stderr);
  const pid_t child = fork();
  if (child == 0) run_body(ends[1], variables, cache.path, body);
  close(ends[1]);
  std::string result;
  char buffer[512];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;) result.append(buffer, static_cast<std::size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "the child's failures stand above; status " << status;
  return result;
}

Variables fakes(const Variables& more) {
  Variables all = more;
  all.insert({"TESSERA_CUDA_DRIVER", FAKE_DRIVER});
  all.insert({"TESSERA_NVRTC", FAKE_NVRTC});
  return all;
}

void in_fake(const Variables& more, const std::function<void()>& body) {
  in_child(fakes(more), [&] {
    body();
    return std::string();
  });
}

void* fake_symbol(const char* library, const char* name) {
  void* handle = dlopen(getenv(library), RTLD_NOW | RTLD_LOCAL);
  void* found = handle ? dlsym(handle, name) : nullptr;
  if (found == nullptr) throw std::runtime_error(std::string("no ") + name);
  return found;
}

int count(const char* name) {
  return reinterpret_cast<int (*)(const char*)>(fake_symbol("TESSERA_CUDA_DRIVER", "fake_cuda_count"))(name);
}
int misuses() {
  return reinterpret_cast<int (*)()>(fake_symbol("TESSERA_CUDA_DRIVER", "fake_cuda_misuses"))();
}
void fail(const char* name, int calls, int status) {
  reinterpret_cast<void (*)(const char*, int, int)>(fake_symbol("TESSERA_CUDA_DRIVER", "fake_cuda_fail"))(name, calls,
                                                                                                          status);
}
int compilations() {
  return reinterpret_cast<int (*)()>(fake_symbol("TESSERA_NVRTC", "fake_nvrtc_compilations"))();
}

std::string device_error(const std::function<void()>& body) {
  try {
    body();
  } catch (const tessera::Error& e) {
    EXPECT_EQ(e.error_class(), tessera::ErrorClass::device) << e.what();
    return e.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}
