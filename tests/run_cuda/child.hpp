// Tests in processes of their own: driver and compiler are opened once a process, and each test wants others.
#pragma once

#include <functional>
#include <map>
#include <string>

// Variables to set; those of Tessera and the fakes are unset before.
using Variables = std::map<std::string, std::string>;

// Runs `body` in a child. Its failures are failures here; what it throws is one. Returns what `body` returns, cut to
// some thousand bytes: the reason for a skip, mostly "".
std::string in_child(const Variables&, const std::function<std::string()>& body);

// The fake driver and the fake compiler, besides `more`.
Variables fakes(const Variables& more = {});
void in_fake(const Variables& more, const std::function<void()>& body);
inline void in_fake(const std::function<void()>& body) {
  in_fake({}, body);
}

// A function of the fake driver or compiler that is loaded in this child.
void* fake_symbol(const char* library, const char* name);
int count(const char* driver_function);
int compilations();
int misuses();
void fail(const char* driver_function, int calls, int status);

// The message of the Error(device) that `body` throws, with its notes; a failure when it throws none.
std::string device_error(const std::function<void()>& body);

// "add" adds n floats of two blocks into a third, "fault" stores to address 16, "nothing" does nothing.
extern const char* const sample;
