// The table of verbs, and how every failure becomes one message and one status.
#include "cli/command.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <new>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/files/files.hpp"
#include "base/process/deadline.hpp"
#include "base/process/interrupt.hpp"
#include "base/text.hpp"
#include "cli/execute/on_ranks.hpp"
#include "cli/options/help.hpp"
#include "cli/verbs.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {
namespace {

constexpr const char* footer =
    "exit status: 0 done, 1 the program has errors, 2 arguments, files or devices, 3 a fault of tessera, "
    "4 --verify: the program amplifies rounding, "
    "130 interrupted (128 and the number of the signal)";

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

// "--tile=8x8" is --tile, "-o" is -o and "-ofile" as well; "" for what is no option: a file, a number, "-".
std::string option_of(const std::string& word) {
  if (word.size() < 2 || word[0] != '-') return "";
  if (word[1] == '-') return word.substr(0, word.find('='));
  return std::isalpha(static_cast<unsigned char>(word[1])) != 0 ? word.substr(0, 2) : "";
}

// CLI11 knows what is wrong; the words are made ours.
int report_usage(const CLI::App& root, const CLI::ParseError& error, int argc, const char* const* argv) {
  const CLI::App* app = &root;
  for (const CLI::App* verb : root.get_subcommands()) app = verb;
  std::string message = error.what(), help;
  if (!message.empty()) message.resize(message.find_last_not_of(" \n.") + 1);
  if (!message.empty() && message.size() > 1 && std::islower(static_cast<unsigned char>(message[1])) != 0)
    message[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(message[0])));

  // An argument may be missing because the option before it is none.
  const bool missing = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  if (missing || dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr || app == &root) {
    for (int i = 1; i < argc; ++i) {
      const std::string word = argv[i];
      if (app == &root && i == 1 && !word.empty() && word[0] != '-') {
        std::vector<std::string> verbs;
        for (const CLI::App* verb : root.get_subcommands([](const CLI::App*) { return true; }))
          verbs.push_back(verb->get_name());
        message = fmt::format("unknown verb {}, expected {}", base::quoted(word), base::list_of(verbs));
        help = base::did_you_mean(word, verbs);
        break;
      }
      const std::string name = option_of(word);
      if (name.empty()) continue;
      const auto known = option_names(*app);
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      message = fmt::format("unknown option {}", base::quoted(name));
      help = base::did_you_mean(name, known);
      break;
    }
  }
  if (app == &root && argc < 2) message = "a verb is required";
  // "Could not convert: --threads = many"
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr)
    if (const std::size_t at = message.find(": "), is = message.find(" = "); at < is && is != std::string::npos)
      message = fmt::format("{} {} cannot be used, expected a whole number", message.substr(at + 2, is - at - 2),
                            base::quoted(message.substr(is + 3)));
  if (help.empty())
    help = fmt::format("{} --help lists what can be given", app == &root ? "tessera" : "tessera " + app->get_name());
  return report(Error(ErrorClass::argument, message, {}, help));
}

// An empty word is a variable of a script that was not set: whatever the option does without a value is not meant.
void check_values(const CLI::App& verb) {
  for (const CLI::Option* option : verb.get_options()) {
    const std::vector<std::string>& values = option->results();
    if (option->get_positional() || option->get_type_size() == 0) continue;
    if (std::find(values.begin(), values.end(), "") != values.end())
      throw Error(ErrorClass::argument, fmt::format("{} '' cannot be used, expected a value", option->get_name()), {},
                  fmt::format("tessera {} --help lists what can be given", verb.get_name()));
  }
}

// What may follow --verify is a part of it, as in --verify=sampled; anything else is a file.
std::vector<std::string> joined_words(int argc, const char* const* argv) {
  std::vector<std::string> words;
  for (int i = 0; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (!words.empty() && words.back() == "--verify" &&
        (word == "all" || word == "sampled" || word.starts_with("sampled:")))
      words.back() += "=" + std::string(word);
    else
      words.emplace_back(word);
  }
  return words;
}

}  // namespace

int status_of(ErrorClass cls) {
  switch (cls) {
    case ErrorClass::compile:
      return program_faulty;
    case ErrorClass::argument:
    case ErrorClass::device:
    case ErrorClass::io:
      return usage_faulty;
    case ErrorClass::cancelled: {
      const int signal = base::InterruptGuard::last_signal();
      return signal > 0 ? 128 + signal : interrupted;
    }
    case ErrorClass::internal:
      break;
  }
  return internal_fault;
}

int report(const Error& error) {
  // Diagnostics carry their own file, line and "error:".
  const std::string text = fmt::format("{}{}\n", error.diagnostics().empty() ? "tessera: error: " : "", error.what());
  std::fputs(text.c_str(), stderr);  // which, unlike fmt::print, throws nothing where nobody can read it
  return status_of(error.error_class());
}

Error as_error(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    return error;
  } catch (const std::system_error& error) {
    // {fmt} throws this when it cannot print.
    const bool printing = std::ferror(stdout) != 0;
    std::clearerr(stdout);
    if (printing)
      return Error(ErrorClass::io, "cannot write standard output: " + base::reason_of(error.code().value()));
    return Error(ErrorClass::internal, fmt::format("unexpected failure: {}", error.what()));
  } catch (const std::bad_alloc&) {
    return Error(ErrorClass::device, "out of memory");
  } catch (const std::exception& error) {
    return Error(ErrorClass::internal, fmt::format("unexpected failure: {}", error.what()));
  }
}

void flush_standard_output() {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
  const std::string reason = errno == 0 ? "" : ": " + base::reason_of(errno);
  std::clearerr(stdout);
  throw Error(ErrorClass::io, "cannot write standard output" + reason);
}

void open_standard_files() {
  for (int number = STDIN_FILENO; number <= STDERR_FILENO; ++number) {
    if (::fcntl(number, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest free number is this one. Reading 0 and writing 1 are errors, as they were; what is said goes nowhere.
    if (::open("/dev/null", number == STDOUT_FILENO ? O_RDONLY : O_WRONLY) < 0) ::open("/", O_PATH);
  }
}

int run_command(int argc, const char* const* argv) {
  const std::vector<std::string> joined = joined_words(argc, argv);
  std::vector<const char*> words;
  for (const std::string& word : joined) words.push_back(word.c_str());
  CLI::App root("Tessera runs image and volume filters that are written in the Forma language.", "tessera");
  root.footer(footer);
  format_help(root);
  root.require_subcommand(1);
  root.set_version_flag("--version", "tessera 0.1.0");
  const Verb verbs[] = {add_run(root),   add_filter(root), add_fft(root),     add_emit(root), add_explain(root),
                        add_check(root), add_format(root), add_devices(root), add_tune(root)};
  group_options(root);
  // `tessera help run` is `tessera run --help`.
  if (words.size() > 1 && std::string_view(words[1]) == "help") {
    words.erase(words.begin() + 1);
    words.insert(words.begin() + (words.size() > 1 ? 2 : 1), "--help");
  }
  try {
    root.parse(static_cast<int>(words.size()), words.data());
  } catch (const CLI::Success& wanted) {  // --help, --version
    const bool stranger = root.get_subcommands().empty() && words.size() > 1 && words[1][0] != '-';
    if (stranger) return report_usage(root, CLI::ExtrasError({words[1]}), static_cast<int>(words.size()), words.data());
    return root.exit(wanted);
  } catch (const CLI::ParseError& error) {
    if (std::ranges::find(joined, "--mpi") != joined.end()) let_rank_0_speak();
    return report_usage(root, error, static_cast<int>(words.size()), words.data());
  }

  const base::InterruptGuard interrupt;
  const base::Deadline cancel(0, &interrupt.flag());
  try {
    for (const Verb& verb : verbs)
      if (verb.app->parsed()) {
        check_values(*verb.app);
        const int status = verb.action();
        flush_standard_output();
        return status;
      }
  } catch (...) {
    return report(as_error(std::current_exception()));
  }
  return usage_faulty;
}

}  // namespace tessera::cli
