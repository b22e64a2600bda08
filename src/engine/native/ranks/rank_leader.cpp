#include "engine/native/ranks/rank_leader.h"

#include <utility>

namespace inferflux::engine {

RankLeader::~RankLeader() {
  if (leads()) (void)SendStep(*ranks_, {.kind = RankStep::Kind::kEnd});  // they may be dead
}

Status RankLeader::Announce(const RankStep& step) {
  announced_ = true;
  return SendStep(*ranks_, step);
}

void RankLeader::Lose(const Error& why) {
  ranks_->Abort(why);
  if (const auto on_lost = std::exchange(on_lost_, nullptr)) on_lost(why);
}

}  // namespace inferflux::engine
