// The command line as a function: parses, acts, prints what went wrong, gives the exit status.
//
//   0    done
//   1    the Forma program has errors
//   2    arguments, files or devices are wrong
//   3    a fault of Tessera itself: also when --verify finds a difference
//   4    --verify: fast numbers differ and exact ones agree, as the program amplifies rounding
//   130  interrupted
#pragma once

#include <exception>

#include "tessera/error.hpp"

namespace tessera::cli {

enum Status { done = 0, program_faulty = 1, usage_faulty = 2, internal_fault = 3, amplified = 4, interrupted = 130 };

// Prints it as the command does; the exit status.
int report(const Error&);
int status_of(ErrorClass);
// What was thrown, as an error that can be told; what is no std::exception is thrown on.
Error as_error(const std::exception_ptr&);

// What was printed is part of what was done: a full disk behind `tessera emit > file` is an Error(io).
void flush_standard_output();

// For main: standard files that are closed are opened on nothing, so that no other file gets their numbers.
void open_standard_files();

int run_command(int argc, const char* const* argv);

}  // namespace tessera::cli
