// Errors as users meet them: one lower-case sentence with the value that was given and what was expected,
// then notes and at most one concrete help. Every error that leaves the library is one of these classes.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace tessera {

enum class ErrorClass { compile, argument, device, io, cancelled, internal };

// A place in a source text. Lines and columns count from 1; 0 means unknown. `length` is in characters.
struct SourceSpan {
  std::string file;
  int line = 0;
  int column = 0;
  int length = 1;
  std::string text;  // the whole source line, for the caret
};

enum class Severity { error, warning };

// One finding of the front end.
struct Diagnostic {
  Severity severity = Severity::error;
  SourceSpan span;
  std::string message;             // one lower-case sentence
  std::vector<std::string> notes;  // printed as `note: ...`
  std::string help;                // printed as `help: ...`, may be empty

  // file:line:column: error: message, the source line, a caret, notes, help; ends with a newline.
  std::string render() const;
};

// Thrown for every failure. Thread-safe to copy. what() is the fully rendered text.
class Error : public std::runtime_error {
 public:
  Error(ErrorClass cls, std::string message, std::vector<std::string> notes = {}, std::string help = {});
  Error(std::vector<Diagnostic> diagnostics);  // class compile

  ErrorClass error_class() const { return class_; }
  const std::string& message() const { return message_; }
  const std::vector<std::string>& notes() const { return notes_; }  // of class compile those of the diagnostics count
  const std::string& help() const { return help_; }
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }

 private:
  ErrorClass class_;
  std::string message_;
  std::vector<std::string> notes_;
  std::string help_;
  std::vector<Diagnostic> diagnostics_;
};

}  // namespace tessera
