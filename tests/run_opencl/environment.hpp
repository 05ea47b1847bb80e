// A cache of its own for these tests, also for the drivers that keep one, removed at the end; children share it.
#pragma once

#include <string>

// Runs child/child.cpp and returns what it printed. `variables`: "NAME=value ...".
std::string run_child(const std::string& what, const std::string& variables);
