// The Clang plugin: C text in, a relocatable object for this very machine out, without a file or a process.
//
// It is the cc1 half of clang: one CompilerInstance per call with the source mapped from memory, EmitObj, and the
// object written to a memory stream. The source includes nothing, so no resource directory and no header search are
// needed. The target is the host's own CPU name with its detected features, so that a virtual machine that hides an
// instruction set is believed. The pipeline is -O3 without what emitted code cannot use; see `base_options`.
//
// Compilation runs on a thread of its own with a large stack: emitted expressions nest deeply and the caller may be a
// worker with a small one. LLVM reports what it cannot compile through a fatal-error handler; the handler throws, which
// turns a failed instruction selection into an ordinary error of this call.
#include <pthread.h>

#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
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

#include "run/cpu/clang/abi.hpp"

namespace {

constexpr std::size_t stack_bytes = std::size_t{64} << 20;  // address space only; pages are touched on demand

struct Job {
  llvm::StringRef source, file_name;
  std::vector<std::string> options;
  llvm::SmallString<0> object;
  std::string messages;
  bool done = false;
};

[[noreturn]] void on_fatal_error(void*, const char* reason, bool) {
  throw std::runtime_error(reason);
}

void initialise_once() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::InitializeNativeTargetAsmParser();
    llvm::install_fatal_error_handler(on_fatal_error);
    // Passes that take half of the time of a large function and find nothing in emitted code: its addresses are a
    // pointer, the column and a constant already, and its masks are vectors.
    const char* const flags[] = {"tessera", "-disable-lsr", "-disable-x86-domain-reassignment"};
    llvm::cl::ParseCommandLineOptions(3, flags);
  });
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
  } catch (const std::exception& e) {
    job.done = false;
    job.messages += std::string("the code generator gave up: ") + e.what() + "\n";
  }
  return nullptr;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int tessera_clang_compile(const char* source, std::size_t size,
                                                                 const char* file_name, const char* const* options,
                                                                 std::size_t option_count, void* user,
                                                                 TesseraSink object, TesseraSink messages) {
  initialise_once();
  Job job;
  // The lexer wants a terminating zero; std::string has one.
  const std::string text(source, size);
  job.source = text;
  job.file_name = file_name;
  job.options.assign(options, options + option_count);

  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stack_bytes);
  pthread_t thread;
  const int started = pthread_create(&thread, &attributes, thread_main, &job);
  pthread_attr_destroy(&attributes);
  if (started == 0)
    pthread_join(thread, nullptr);
  else
    thread_main(&job);

  if (!job.messages.empty()) messages(user, job.messages.data(), job.messages.size());
  if (!job.done) return 1;
  object(user, job.object.data(), job.object.size());
  return 0;
}

__attribute__((visibility("default"))) const char* tessera_clang_version() {
  return "clang " LLVM_VERSION_STRING;
}

__attribute__((visibility("default"))) int tessera_clang_abi() {
  return tessera::run::cpu::clang_abi;
}
}
