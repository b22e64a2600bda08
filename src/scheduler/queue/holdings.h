// What each account holds of a running batch: sequences, and tokens of KV. Where both are short, the account that holds
// the most gives way to one that waits and holds less.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/queue/request.h"
#include "scheduler/queue/token_shares.h"

namespace inferflux::scheduler {

struct Holding {
  std::string account;
  int32_t sequences = 0;
  int64_t tokens = 0;  // of prompts and answers
};

enum class Shortage {
  kSequences,  // all sequences are in use
  kMemory,     // no KV blocks are free
};

// One for each account that runs.
std::vector<Holding> HoldingsOf(const std::vector<RequestPtr>& running);
int32_t SequencesOf(const std::vector<RequestPtr>& running, const std::string& account);

// The running request that must give way to `waiting`, of another account; null if none must. It is the one of the
// lowest rank, of the account that holds the most and was served more (virtual token counters, token_shares.h). The
// rule has slack, so that two accounts do not preempt each other in turns: a difference of two sequences, or four times
// the tokens. Where the holdings differ by less, an account gives way after it was served much more: a time slice.
Request* GivesWay(const std::vector<RequestPtr>& running, const Request& waiting, Shortage shortage,
                  const TokenShares& shares);

// The running request that loses its KV so that others can grow: of the lowest rank, of the account that holds the
// most tokens. `running` is not empty.
Request& LosesRoom(const std::vector<RequestPtr>& running);

}  // namespace inferflux::scheduler
