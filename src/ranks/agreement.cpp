// See agreement.hpp.
#include "ranks/agreement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

namespace tessera::ranks {
namespace {

constexpr int failure_tag = 32001;  // of messages; MPI promises tags up to 32767
constexpr std::chrono::seconds until_heard{2}, until_ended{5};

// The last byte of what a rank gives: is it that, or an error?
constexpr std::byte well{'+'}, ill{'-'};

template <class T>
Bytes bytes_of(const T& elements) {
  const auto bytes = std::as_bytes(std::span(elements.data(), elements.size()));
  return {bytes.begin(), bytes.end()};
}

std::string text_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// What ranks tell each other of an error: a number for its class, then its text.
Bytes packed(const Error& error) {
  return bytes_of(fmt::format("{} {}", static_cast<int>(error.error_class()), error.what()));
}

RankError unpacked(int rank, const Bytes& told) {
  const std::string message = text_of(told);
  const std::size_t space = message.find(' ');
  return {rank, static_cast<ErrorClass>(std::stoi(message.substr(0, space))), message.substr(space + 1)};
}

// Of all ranks, where one of them failed; `own`: this rank's.
std::optional<Error> first_error(const std::vector<Bytes>& given, const Error* own) {
  const auto first = std::ranges::find(given, ill, [](const Bytes& bytes) { return bytes.back(); });
  if (first == given.end()) return std::nullopt;
  const bool alike = std::ranges::all_of(given, [&](const Bytes& bytes) { return bytes == *first; });
  if (alike && own != nullptr) return *own;
  return unpacked(static_cast<int>(first - given.begin()), {first->begin(), first->end() - 1});
}

}  // namespace

RankError::RankError(int rank, ErrorClass cls, const std::string& text)
    : Error(cls, fmt::format("rank {}: {}", rank, text)) {}

std::vector<Bytes> Agreement::all_gather(Bytes own) {
  own.push_back(well);
  std::vector<Bytes> all = ranks_.all_gather(std::move(own));
  end_ = first_error(all, nullptr);
  if (end_) throw Error(*end_);
  for (Bytes& bytes : all) bytes.pop_back();
  return all;
}

std::vector<std::string> Agreement::all_gather(const std::string& own) {
  std::vector<std::string> all;
  for (const Bytes& bytes : all_gather(bytes_of(own))) all.push_back(text_of(bytes));
  return all;
}

std::vector<std::int64_t> Agreement::broadcast(const std::vector<std::int64_t>& numbers) {
  return numbers_of(all_gather(ranks_.rank() == 0 ? bytes_of(numbers) : Bytes()).front());
}

std::int64_t Agreement::least(std::int64_t value) {
  for (const Bytes& bytes : all_gather(bytes_of(std::vector{value})))
    value = std::min(value, numbers_of(bytes).front());
  return value;
}

void Agreement::part() {
  step();
  in_step_ = false;
}

void Agreement::meet() {
  in_step_ = true;
  step();
}

Error Agreement::failed(const Error& error) {
  if (!end_) {
    Bytes own = packed(error);
    own.push_back(ill);
    end_ = first_error(ranks_.all_gather(std::move(own)), &error);
  }
  return *end_;
}

void Agreement::report(const Error& error) const {
  const auto text = std::make_shared<const Bytes>(packed(error));
  Request request = ranks_.send_until_received(*text, 0, failure_tag);
  request.keep(text);
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
  if (const std::optional<Message> come = ranks_.take(failure_tag)) throw unpacked(come->from, come->bytes);
}

}  // namespace tessera::ranks
