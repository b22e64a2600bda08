// How many tokens each account was served, so that the least served goes next: the virtual token counter of Sheng et
// al., "Fairness in serving large language models" (arXiv:2401.00588). An account that was away does not come back with
// the credit of its absence: its counter is lifted to the lowest of those that are there.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

namespace inferflux::scheduler {

class TokenShares {
 public:
  // A request of the account has arrived, or ended. Calls come in pairs.
  void Enter(const std::string& account);
  void Leave(const std::string& account);

  void Charge(const std::string& account, int64_t tokens);
  int64_t served(const std::string& account) const;

 private:
  struct Share {
    int64_t served = 0;
    int32_t present = 0;  // requests that wait or run
  };

  std::unordered_map<std::string, Share> shares_;  // of accounts that are there, and a bounded number of others
};

}  // namespace inferflux::scheduler
