#include "engine/native/ranks/rank_step.h"

#include <algorithm>

#include "collective/message.h"

namespace inferflux::engine {

Status SendStep(collective::Collective& ranks, const RankStep& step) {
  collective::MessageWriter message;
  message.Put(static_cast<int64_t>(step.kind));
  if (step.kind == RankStep::Kind::kForward) {
    const compute::StepGeometry& geometry = step.geometry;
    message.Put(geometry.block_size);
    for (const auto* numbers : {&geometry.tokens, &geometry.positions, &geometry.query_starts, &geometry.table_starts,
                                &geometry.block_tables, &step.output_rows, &step.token_types, &step.logit_rows}) {
      message.Put(*numbers);
    }
    message.Put(step.logits);
  } else if (step.kind == RankStep::Kind::kCopyBlock) {
    message.Put(step.copy.from);
    message.Put(step.copy.to);
  }
  return SendMessage(ranks, message);
}

Result<RankStep> ReceiveStep(collective::Collective& ranks) {
  auto message = collective::ReceiveMessage(ranks, 0);
  if (!message) return Forward(message);
  RankStep step;
  step.kind = static_cast<RankStep::Kind>(message->Int());
  if (step.kind == RankStep::Kind::kForward) {
    compute::StepGeometry& geometry = step.geometry;
    geometry.block_size = message->Int();
    for (auto* numbers : {&geometry.tokens, &geometry.positions, &geometry.query_starts, &geometry.table_starts,
                          &geometry.block_tables, &step.output_rows, &step.token_types, &step.logit_rows}) {
      *numbers = message->Numbers();
    }
    step.logits = message->Number() != 0;
  } else if (step.kind == RankStep::Kind::kCopyBlock) {
    step.copy = {.from = message->Int(), .to = message->Int()};
  }
  if (auto done = message->Done(); !done) return Forward(done);
  return step;
}

}  // namespace inferflux::engine
