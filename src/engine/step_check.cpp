#include "engine/step_check.h"

#include <span>
#include <string>
#include <unordered_set>

namespace inferflux::engine {
namespace {

Status CheckIds(std::span<const TokenId> ids, const char* what, int32_t vocab_size) {
  for (const TokenId id : ids) {
    if (id < 0 || id >= vocab_size) {
      return Fail(ErrorCode::kInvalidArgument, "{} {}: the vocabulary ends at {}", what, id, vocab_size - 1);
    }
  }
  return {};
}

Status CheckOutput(const OutputSpec& output, const BatchItem& item, int32_t vocab_size) {
  if (output.token_index < 0 || static_cast<size_t>(output.token_index) >= item.tokens.size()) {
    return Fail(ErrorCode::kInvalidArgument, "an output after token {} of {}", output.token_index, item.tokens.size());
  }
  if (auto target = CheckIds(std::span(&output.target, 1), "target token", vocab_size); !target) return target;
  if (auto banned = CheckIds(output.banned, "banned token", vocab_size); !banned) return banned;
  if (output.mask && output.mask->size() > vocab_size) {
    return Fail(ErrorCode::kInvalidArgument, "a mask of {} tokens: the vocabulary has {}", output.mask->size(),
                vocab_size);
  }
  if (auto breakers = CheckIds(output.sampling.dry_breakers, "dry breaker", vocab_size); !breakers) return breakers;
  for (const auto& [id, bias] : output.sampling.logit_bias) {
    if (auto biased = CheckIds(std::span(&id, 1), "logit_bias of token", vocab_size); !biased) return biased;
  }
  return {};
}

Status CheckItem(const BatchItem& item, WritableLength writable_length, int32_t vocab_size, int32_t context) {
  auto length = writable_length(item.sequence, 0);
  if (!length) return Forward(length);
  if (item.tokens.empty()) return Fail(ErrorCode::kInvalidArgument, "no tokens");
  if (auto tokens = CheckIds(item.tokens, "token", vocab_size); !tokens) return tokens;
  if (item.first_position != *length) {
    return Fail(ErrorCode::kInvalidArgument, "its first position is {} and the sequence has {} tokens",
                item.first_position, *length);
  }
  if (item.tokens.size() > static_cast<size_t>(context - *length)) {
    return Fail(ErrorCode::kInvalidArgument, "{} tokens after {} pass the context of {}", item.tokens.size(), *length,
                context);
  }
  if (auto room = writable_length(item.sequence, static_cast<int32_t>(item.tokens.size())); !room) return Forward(room);
  for (const auto& output : item.outputs) {
    if (auto valid = CheckOutput(output, item, vocab_size); !valid) return valid;
  }
  return {};
}

}  // namespace

Status CheckStep(const UnifiedBatch& batch, WritableLength length, int32_t vocab_size, int32_t context) {
  if (batch.items.empty()) return Fail(ErrorCode::kInvalidArgument, "a step of no sequences");
  std::unordered_set<uint32_t> slots;
  for (size_t i = 0; i < batch.items.size(); ++i) {
    const BatchItem& item = batch.items[i];
    if (auto valid = CheckItem(item, length, vocab_size, context); !valid) {
      return Forward(valid, "item " + std::to_string(i) + " of the step");
    }
    if (!slots.insert(item.sequence.slot).second) {
      return Fail(ErrorCode::kInvalidArgument, "item {} of the step: its sequence is in the step already", i);
    }
  }
  return {};
}

}  // namespace inferflux::engine
