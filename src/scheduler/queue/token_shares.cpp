#include "scheduler/queue/token_shares.h"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace inferflux::scheduler {
namespace {

constexpr size_t kMaxAccounts = 10000;

}  // namespace

void TokenShares::Enter(const std::string& account) {
  Share& share = shares_[account];
  if (share.present++ > 0) return;
  int64_t lowest = std::numeric_limits<int64_t>::max();
  for (const auto& [name, other] : shares_) {
    if (other.present > 0 && &other != &share) lowest = std::min(lowest, other.served);
  }
  if (lowest != std::numeric_limits<int64_t>::max()) share.served = std::max(share.served, lowest - 1);
}

void TokenShares::Leave(const std::string& account) {
  const auto share = shares_.find(account);
  if (share == shares_.end() || --share->second.present > 0) return;
  if (shares_.size() > kMaxAccounts) shares_.erase(share);
}

void TokenShares::Charge(const std::string& account, int64_t tokens) {
  if (const auto share = shares_.find(account); share != shares_.end()) share->second.served += tokens;
}

int64_t TokenShares::served(const std::string& account) const {
  const auto share = shares_.find(account);
  return share == shares_.end() ? 0 : share->second.served;
}

void TokenShares::Finished(const std::string& account, std::chrono::steady_clock::time_point now) {
  if (const auto share = shares_.find(account); share != shares_.end()) share->second.rate.Finished(now);
}

int32_t TokenShares::SecondsFor(const std::string& account, int32_t waiting,
                                std::chrono::steady_clock::time_point now) const {
  const auto share = shares_.find(account);
  return share == shares_.end() ? 1 : share->second.rate.SecondsFor(waiting, now);
}

}  // namespace inferflux::scheduler
