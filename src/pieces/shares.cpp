// See shares.hpp.
#include "pieces/shares.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "tessera/error.hpp"

namespace tessera::pieces {
namespace {

constexpr int account_tag = 32002;
constexpr std::size_t head = 3;  // computed, ended, how many are on the disk; those, then counts

std::vector<i64> packed(const Account& account) {
  std::vector<i64> numbers = {account.computed, account.ended ? 1 : 0, static_cast<i64>(account.on_disk.size())};
  numbers.insert(numbers.end(), account.on_disk.begin(), account.on_disk.end());
  numbers.insert(numbers.end(), account.counts.begin(), account.counts.end());
  return numbers;
}

Account unpacked(const std::vector<i64>& numbers) {
  const auto begin = numbers.begin() + head, counts = begin + numbers[2];
  return {numbers[0], numbers[1] != 0, {begin, counts}, {counts, numbers.end()}};
}

}  // namespace

std::vector<i64> share_of(const std::vector<i64>& left, int rank, int ranks) {
  const auto count = static_cast<i64>(left.size());
  return {left.begin() + count * rank / ranks, left.begin() + count * (rank + 1) / ranks};
}

Shares::Shares(ranks::Agreement& agreement, std::function<void(const std::vector<i64>&)> name)
    : agreement_(agreement), name_(std::move(name)), accounts_(static_cast<std::size_t>(agreement.ranks().size())) {}

void Shares::on_disk(const std::vector<i64>& pieces) {
  if (agreement_.ranks().rank() == 0) return name_(pieces);
  const std::lock_guard lock(mutex_);
  on_disk_.insert(on_disk_.end(), pieces.begin(), pieces.end());
}

void Shares::computed(i64 pieces) {
  computed_ = pieces;
  if (agreement_.ranks().rank() != 0) return tell({});
  accounts_[0].computed = pieces;
  listen();
  if (progress) progress();
}

void Shares::tell(Account account) {
  account.computed = computed_;
  {
    const std::lock_guard lock(mutex_);
    account.on_disk = std::exchange(on_disk_, {});
  }
  while (!sent_.empty() && sent_.front().done()) sent_.pop_front();
  const auto numbers = std::make_shared<const std::vector<i64>>(packed(account));
  sent_.push_back(agreement_.ranks().send(std::as_bytes(std::span(*numbers)), 0, account_tag));
  sent_.back().keep(numbers);
}

void Shares::listen() {
  while (const std::optional<ranks::Message> come = agreement_.ranks().take(account_tag)) {
    Account& account = accounts_[static_cast<std::size_t>(come->from)];
    account = unpacked(ranks::numbers_of(come->bytes));
    name_(account.on_disk);
  }
  agreement_.listen();
}

bool Shares::others_ended() const {
  return std::all_of(accounts_.begin() + 1, accounts_.end(), [](const Account& a) { return a.ended; });
}

std::vector<i64> Shares::end(std::vector<i64> counts) {
  ranks::Ranks& ranks = agreement_.ranks();
  if (ranks.rank() != 0) {
    tell({.ended = true, .counts = counts});
    for (ranks::Request& message : sent_) ranks.wait(message);
    return counts;
  }
  ranks.wait_until([&] {
    listen();
    if (progress) progress();
    return others_ended();
  });
  for (std::size_t r = 1; r < accounts_.size(); ++r)
    for (std::size_t k = 0; k < counts.size() && k < accounts_[r].counts.size(); ++k)
      counts[k] += accounts_[r].counts[k];
  return counts;
}

i64 Shares::computed_by_all() const {
  return std::accumulate(accounts_.begin(), accounts_.end(), i64{0},
                         [](i64 sum, const Account& a) { return sum + a.computed; });
}

}  // namespace tessera::pieces
