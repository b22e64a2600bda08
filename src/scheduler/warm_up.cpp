#include "scheduler/warm_up.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace inferflux::scheduler {
namespace {

// A salt that no request has: no request may find what is computed here.
constexpr uint64_t kSalt = ~uint64_t{0};

Status Feed(engine::Engine& engine, engine::SequenceId sequence, int32_t first, int32_t count) {
  if (auto room = engine.Reserve(sequence, first + count); !room) return room;
  engine::BatchItem item{.sequence = sequence, .tokens = std::vector<TokenId>(static_cast<size_t>(count), 0)};
  item.first_position = first;
  using Kind = engine::OutputSpec::Kind;
  item.outputs.push_back({.token_index = count - 1,
                          .kind = engine.info().capabilities.generation ? Kind::kSample : Kind::kHidden,
                          .sampling = {.temperature = 0.0f}});
  auto result = engine.ExecuteUnifiedBatch({.items = {std::move(item)}});
  if (!result) return Forward(result);
  return {};
}

}  // namespace

Status WarmUp(engine::Engine& engine, int32_t tokens) {
  const auto& info = engine.info();
  const auto count = static_cast<int32_t>(std::min<int64_t>({tokens, info.context - 1, info.kv_tokens - 1}));
  auto match = engine.Open({}, kSalt);
  if (!match) return Forward(match);
  Status warm = count > 0 ? Feed(engine, match->sequence, 0, count) : Status();
  if (warm && info.causal) warm = Feed(engine, match->sequence, std::max(0, count), 1);
  if (auto emptied = engine.Truncate(match->sequence, 0); !emptied) return emptied;
  if (auto closed = engine.Close(match->sequence); !closed) return closed;
  return warm;
}

}  // namespace inferflux::scheduler
