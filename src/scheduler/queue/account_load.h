// What an account has waiting, for the limits on accounts and for the advice to a rejected client.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

namespace inferflux::scheduler {

struct AccountLoad {
  int32_t queued = 0;
  int32_t retry_after_seconds = 1;  // by the rate at which this account's own requests finish
};

using AccountLoads = std::unordered_map<std::string, AccountLoad>;  // of the accounts that wait

}  // namespace inferflux::scheduler
