// A cache of its own for these tests, also for the drivers that keep one, removed at the end; children share it.
#pragma once

#include <string>

// Runs this program with one test, disabled by its name, and returns what it printed. `variables`: "NAME=value ...".
std::string run_child(const std::string& test, const std::string& variables);
