// The last error of a thread, as text and as JSON; versions and strings.
#include <cstdlib>
#include <cstring>
#include <new>
#include <nlohmann/json.hpp>

#include "c/handles.hpp"
#include "c/words.hpp"

namespace tessera::c {

namespace {

struct LastError {
  std::string text, json;
};

LastError& last_error() {
  thread_local LastError last;
  return last;
}

tsr_status status_of(ErrorClass c) {
  switch (c) {
    case ErrorClass::compile:
      return TSR_COMPILE_ERROR;
    case ErrorClass::argument:
      return TSR_ARGUMENT_ERROR;
    case ErrorClass::device:
      return TSR_DEVICE_ERROR;
    case ErrorClass::io:
      return TSR_IO_ERROR;
    case ErrorClass::cancelled:
      return TSR_CANCELLED;
    case ErrorClass::internal:
      return TSR_INTERNAL_ERROR;
  }
  return TSR_INTERNAL_ERROR;
}

const char* word_of(tsr_status status) {
  switch (status) {
    case TSR_COMPILE_ERROR:
      return "compile";
    case TSR_ARGUMENT_ERROR:
      return "argument";
    case TSR_DEVICE_ERROR:
      return "device";
    case TSR_IO_ERROR:
      return "io";
    case TSR_CANCELLED:
      return "cancelled";
    default:
      return "internal";
  }
}

nlohmann::json json_of(const Diagnostic& d) {
  return {{"severity", d.severity == Severity::error ? "error" : "warning"},
          {"file", d.span.file},
          {"line", d.span.line},
          {"column", d.span.column},
          {"length", d.span.length},
          {"text", d.span.text},
          {"message", d.message},
          {"notes", d.notes},
          {"help", d.help}};
}

void keep(tsr_status status, const std::string& text, const std::string& message, const Error* error) {
  nlohmann::json all = {{"class", word_of(status)}, {"message", message}};
  all["notes"] = nlohmann::json::array();
  all["help"] = "";
  all["diagnostics"] = nlohmann::json::array();
  if (error != nullptr) {
    all["notes"] = error->notes();
    all["help"] = error->help();
    for (const Diagnostic& d : error->diagnostics()) all["diagnostics"].push_back(json_of(d));
  }
  last_error() = {text, all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)};
}

}  // namespace

tsr_status remember() noexcept {
  tsr_status status = TSR_INTERNAL_ERROR;
  try {
    try {
      throw;
    } catch (const Error& error) {
      const Error e = in_options(error);
      status = status_of(e.error_class());
      keep(status, e.what(), e.message(), &e);
    } catch (const std::bad_alloc&) {
      keep(status, "there is no memory", "there is no memory", nullptr);
    } catch (const std::exception& e) {
      keep(status, fmt::format("a fault of Tessera: {}", e.what()), e.what(), nullptr);
    }
  } catch (...) {  // no memory for a message
    last_error().text.clear();
    last_error().json.clear();
  }
  return status;
}

char* copied(std::string_view text) {
  auto* const memory = static_cast<char*>(std::malloc(text.size() + 1));
  if (memory == nullptr) throw std::bad_alloc();
  std::memcpy(memory, text.data(), text.size());
  memory[text.size()] = '\0';
  return memory;
}

}  // namespace tessera::c

extern "C" {

const char* tsr_version(void) {
  return TESSERA_VERSION;
}

int tsr_abi(void) {
  return TSR_ABI;
}

const char* tsr_last_error(void) {
  return tessera::c::last_error().text.c_str();
}

const char* tsr_last_error_json(void) {
  return tessera::c::last_error().json.c_str();
}

void tsr_clear_error(void) {
  tessera::c::last_error().text.clear();
  tessera::c::last_error().json.clear();
}

void tsr_string_free(char* text) {
  std::free(text);
}
}
