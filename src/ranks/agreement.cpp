// See agreement.hpp.
#include "ranks/agreement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

namespace tessera::ranks {
namespace {

constexpr int failure_tag = 32001;  // of messages; MPI promises tags up to 32767
constexpr std::chrono::seconds until_heard{2}, until_ended{5};

// What ranks tell each other of an error: class and status as letters, then its text.
std::string packed(const Error& error, int status) {
  return fmt::format("{} {} {}", static_cast<int>(error.error_class()), status, error.what());
}

struct Told {
  ErrorClass cls = ErrorClass::internal;
  int status = 0;
  std::string text;
};

Told unpacked(const std::string& message) {
  const std::size_t first = message.find(' '), second = message.find(' ', first + 1);
  return {static_cast<ErrorClass>(std::stoi(message.substr(0, first))),
          std::stoi(message.substr(first + 1, second - first - 1)), message.substr(second + 1)};
}

}  // namespace

RankError::RankError(int rank, int status, ErrorClass cls, const std::string& text)
    : Error(cls, fmt::format("rank {}: {}", rank, text)), rank_(rank), status_(status) {}

// What this rank says: nothing, where all is well.
std::optional<Error> Agreement::agreed(const std::string& own, const Error* error) {
  const std::vector<std::string> all = ranks_.all_gather(own);
  const auto first = std::ranges::find_if(all, [](const std::string& text) { return !text.empty(); });
  if (first == all.end()) return std::nullopt;
  const bool alike = std::ranges::all_of(all, [&](const std::string& text) { return text == *first; });
  if (alike && error != nullptr) return *error;
  const Told told = unpacked(*first);
  return RankError(static_cast<int>(first - all.begin()), told.status, told.cls, told.text);
}

void Agreement::step() {
  end_ = agreed("", nullptr);
  if (end_) throw Error(*end_);
}

Error Agreement::failed(const Error& error) {
  if (!end_) end_ = agreed(packed(error, 0), &error);
  return *end_;
}

void Agreement::report(const Error& error, int status) const {
  const std::string text = packed(error, status);
  Request request = ranks_.send_until_received(std::as_bytes(std::span(text.data(), text.size())), 0, failure_tag);
  const auto began = std::chrono::steady_clock::now();
  constexpr std::chrono::milliseconds pause{5};
  bool heard = false;
  for (;;) {
    heard = heard || request.done();
    const auto waited = std::chrono::steady_clock::now() - began;
    if (waited > until_ended || (!heard && waited > until_heard)) return;
    std::this_thread::sleep_for(pause);
  }
}

void Agreement::listen() const {
  const std::optional<Incoming> come = ranks_.look(failure_tag);
  if (!come) return;
  std::string text(come->bytes, ' ');
  Request request =
      ranks_.receive(std::as_writable_bytes(std::span(text.data(), text.size())), come->from, failure_tag);
  ranks_.wait(request);
  const Told told = unpacked(text);
  throw RankError(come->from, told.status, told.cls, told.text);
}

}  // namespace tessera::ranks
