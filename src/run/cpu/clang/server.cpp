// The built-in compiler, a program that Tessera starts (see protocol.hpp): C text in, a relocatable object for this
// very machine out, without a file.
//
// It is the cc1 half of clang: one CompilerInstance per call with the source mapped from memory, EmitObj, and the
// object written to a memory stream. The source includes nothing, so no resource directory and no header search are
// needed. The target is the host's own CPU name with its detected features, so that a virtual machine that hides an
// instruction set is believed. The pipeline is -O3 without what emitted code cannot use; see `base_options`.
//
// Compilation runs on a thread of its own with a large stack, since emitted expressions nest deeply. LLVM reports what
// it cannot compile through a fatal-error handler; the handler throws, which turns a failed instruction selection into
// an ordinary error of this call.
#include <poll.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wextra"
#include <clang/Basic/TargetInfo.h>
#include <clang/CodeGen/CodeGenAction.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/TextDiagnosticPrinter.h>
#include <clang/Lex/PreprocessorOptions.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/VirtualFileSystem.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Host.h>
#pragma GCC diagnostic pop

#include "run/cpu/clang/protocol.hpp"

namespace {

constexpr std::size_t stack_bytes = std::size_t{64} << 20;  // address space only; pages are touched on demand

struct Job {
  llvm::StringRef source, file_name;
  std::vector<std::string> options;
  llvm::SmallString<0> object;
  std::string messages;
  bool done = false;
};

constexpr int out_of_memory = 12;  // status

[[noreturn]] void on_fatal_error(void*, const char* reason, bool) {
  if (std::string_view(reason).find("out of memory") != std::string_view::npos) _exit(out_of_memory);
  throw std::runtime_error(reason);
}

void initialise() {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::InitializeNativeTargetAsmParser();
  llvm::install_fatal_error_handler(on_fatal_error);
  // Passes that take half of the time of a large function and find nothing in emitted code: its addresses are a
  // pointer, the column and a constant already, and its masks are vectors.
  const char* const flags[] = {"tessera", "-disable-lsr", "-disable-x86-domain-reassignment"};
  llvm::cl::ParseCommandLineOptions(3, flags);
}

// Signed overflow wraps, pointers may alias across types, arithmetic neither traps nor sets errno; contraction is the
// caller's choice. No unwind tables: nothing throws through a kernel.
std::vector<std::string> base_options() {
  std::vector<std::string> o = {"-triple",
                                llvm::sys::getProcessTriple(),
                                "-emit-obj",
                                "-x",
                                "c",
                                "-std=gnu17",
                                "-O3",
                                "-mrelocation-model",
                                "pic",
                                "-pic-level",
                                "2",
                                "-mframe-pointer=none",
                                "-fwrapv",
                                "-relaxed-aliasing",
                                "-vectorize-loops",
                                "-vectorize-slp",
                                "-nostdsysteminc",
                                "-nobuiltininc",
                                "-fbracket-depth",
                                "65536",
                                "-ferror-limit",
                                "8",
                                "-fno-caret-diagnostics",
                                "-disable-llvm-verifier",
                                "-w"};
  o.insert(o.end(), {"-target-cpu", llvm::sys::getHostCPUName().str()});
  for (const auto& feature : llvm::sys::getHostCPUFeatures())
    o.insert(o.end(), {"-target-feature", (feature.second ? "+" : "-") + feature.first().str()});
  return o;
}

// Hands the backend a stream into memory in place of the file that it would open.
class ObjectToMemory : public clang::EmitObjAction {
 public:
  explicit ObjectToMemory(llvm::SmallVectorImpl<char>& bytes) : bytes_(bytes) {}

 protected:
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& instance,
                                                        llvm::StringRef file) override {
    instance.setOutputStream(std::make_unique<llvm::raw_svector_ostream>(bytes_));
    return clang::EmitObjAction::CreateASTConsumer(instance, file);
  }

 private:
  llvm::SmallVectorImpl<char>& bytes_;
};

void compile(Job& job) {
  std::vector<std::string> arguments = base_options();
  arguments.insert(arguments.end(), job.options.begin(), job.options.end());
  arguments.push_back(job.file_name.str());
  std::vector<const char*> pointers;
  for (const std::string& a : arguments) pointers.push_back(a.c_str());

  llvm::raw_string_ostream text(job.messages);
  llvm::IntrusiveRefCntPtr<clang::DiagnosticOptions> diagnostic_options = new clang::DiagnosticOptions();
  diagnostic_options->ShowCarets = false;
  clang::DiagnosticsEngine parse_diagnostics(new clang::DiagnosticIDs(), diagnostic_options,
                                             new clang::TextDiagnosticPrinter(text, diagnostic_options.get()));

  clang::CompilerInstance instance;
  if (!clang::CompilerInvocation::CreateFromArgs(instance.getInvocation(), pointers, parse_diagnostics)) return;
  instance.getCodeGenOpts().DisableFree = false;
  instance.getFrontendOpts().DisableFree = false;
  instance.getDiagnosticOpts().ShowCarets = false;
  // No file of the disk is visible: the text stands alone by construction.
  instance.createFileManager(llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>());
  instance.getInvocation().getPreprocessorOpts().addRemappedFile(
      job.file_name, llvm::MemoryBuffer::getMemBuffer(job.source, job.file_name, true).release());
  instance.createDiagnostics(new clang::TextDiagnosticPrinter(text, &instance.getDiagnosticOpts()));

  ObjectToMemory action(job.object);
  job.done = instance.ExecuteAction(action) && !job.object.empty();
}

void* thread_main(void* argument) {
  Job& job = *static_cast<Job*>(argument);
  try {
    compile(job);
  } catch (const std::bad_alloc&) {
    _exit(out_of_memory);  // that says nothing of the text
  } catch (const std::exception& e) {
    job.done = false;
    job.messages += std::string("the code generator gave up: ") + e.what() + "\n";
  }
  return nullptr;
}

// Ends the process as soon as nobody is left who could want a result.
void* watch(void*) {
  for (;;) {
    pollfd p{STDIN_FILENO, POLLRDHUP, 0};
    if (poll(&p, 1, -1) > 0 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0) _exit(0);
  }
}

bool start(void* (*function)(void*), void* argument, std::size_t stack, pthread_t& thread) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stack);
  const int failed = pthread_create(&thread, &attributes, function, argument);
  pthread_attr_destroy(&attributes);
  return failed == 0;
}

}  // namespace

int main() {
  using namespace tessera::run::cpu;
  if (Message().number(clang_protocol).text("clang " LLVM_VERSION_STRING).send(STDIN_FILENO) == false) {
    std::fputs("error: this program compiles for tessera, which starts it\n", stderr);
    return 2;
  }
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);  // it may crash, and leaves nothing behind
  pthread_t watcher;
  start(watch, nullptr, std::size_t{64} << 10, watcher);
  initialise();
  MessageReader reader(STDIN_FILENO, [] { return true; });
  for (;;) {
    Job job;
    std::string source, name;
    std::uint32_t count = 0;
    if (!reader.text(source) || !reader.text(name) || !reader.number(count)) _exit(0);
    for (std::uint32_t k = 0; k < count; ++k)
      if (!reader.text(job.options.emplace_back())) _exit(0);
    job.source = source;
    job.file_name = name;
    pthread_t thread;
    if (start(thread_main, &job, stack_bytes, thread))
      pthread_join(thread, nullptr);
    else
      thread_main(&job);
    const std::string_view object = job.done ? std::string_view(job.object.data(), job.object.size()) : "";
    if (!Message().number(job.done ? 1 : 0).text(object).text(job.messages).send(STDIN_FILENO)) _exit(0);
  }
}
