// Collecting diagnostics.
#include "lang/syntax/report.hpp"

namespace tessera::lang {

bool Report::add(Severity severity, Span span, std::string message, Advice advice) {
  if (!known_.emplace(span.source, span.begin, message).second) return false;
  all_.push_back({severity, locate(span), std::move(message), std::move(advice.notes), std::move(advice.help)});
  return true;
}

void Report::error(Span span, std::string message, Advice advice) {
  if (add(Severity::error, span, std::move(message), std::move(advice)) && ++errors_ >= max_errors) throw Stop{};
}

void Report::warning(Span span, std::string message, Advice advice) {
  constexpr std::size_t enough = 100;
  if (all_.size() < enough) add(Severity::warning, span, std::move(message), std::move(advice));
}

void Report::fail(Span span, std::string message, Advice advice) {
  error(span, std::move(message), std::move(advice));
  throw Failed{};
}

}  // namespace tessera::lang
