// How many tokens each account was served, so that the least served account comes next: the virtual token counter of
// Sheng et al., "Fairness in serving large language models" (arXiv:2401.00588). An account does not accumulate credit
// while it is absent: on return, its counter is raised to just below the lowest of the present accounts, so that it
// comes before them once. Beside it, how fast each account's requests finish.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "scheduler/queue/service_rate.h"

namespace inferflux::scheduler {

class TokenShares {
 public:
  // A request of the account has arrived, or ended. Calls come in pairs.
  void Enter(const std::string& account);
  void Leave(const std::string& account);

  void Charge(const std::string& account, int64_t tokens);
  int64_t served(const std::string& account) const;

  void Finished(const std::string& account, std::chrono::steady_clock::time_point now);
  // Seconds until about `waiting` of the account's requests will have finished, an integer from 1 to 60.
  int32_t SecondsFor(const std::string& account, int32_t waiting, std::chrono::steady_clock::time_point now) const;

 private:
  struct Share {
    int64_t served = 0;
    int32_t present = 0;  // waiting or running requests
    ServiceRate rate;
  };

  std::unordered_map<std::string, Share> shares_;  // of the present accounts, and of a bounded number of others
};

}  // namespace inferflux::scheduler
