#include "model/loading/turn_markers.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace inferflux::model {
namespace {

using text::TokenKind;

// Names that nobody means literally: whatever kind a file gives them, they are structure.
constexpr std::string_view kTurnMarkers[] = {"<|im_start|>",
                                             "<|im_end|>",
                                             "<|im_sep|>",
                                             "<|im_middle|>",
                                             "<|start_header_id|>",
                                             "<|end_header_id|>",
                                             "<|eot_id|>",
                                             "<|eom_id|>",
                                             "<|begin_of_text|>",
                                             "<|end_of_text|>",
                                             "<start_of_turn>",
                                             "<end_of_turn>",
                                             "<|turn>",
                                             "<turn|>",
                                             "<|system|>",
                                             "<|user|>",
                                             "<|assistant|>",
                                             "<|end|>",
                                             "<|endoftext|>",
                                             "<|start|>",
                                             "<|message|>",
                                             "<|channel|>",
                                             "<|constrain|>",
                                             "<|return|>",
                                             "<|call|>",
                                             "<|calls|>",
                                             "<|flush|>",
                                             "<|observation|>",
                                             "<|start_of_role|>",
                                             "<|end_of_role|>",
                                             "<|START_OF_TURN_TOKEN|>",
                                             "<|END_OF_TURN_TOKEN|>",
                                             "<|eot|>",
                                             "<|header_start|>",
                                             "<|header_end|>",
                                             "<｜begin▁of▁sentence｜>",
                                             "<｜end▁of▁sentence｜>",
                                             "<｜User｜>",
                                             "<｜Assistant｜>",
                                             "<end_of_utterance>"};

constexpr std::string_view kGenerationEnds[] = {"<|im_end|>",
                                                "<|eot_id|>",
                                                "<|eom_id|>",
                                                "<|end|>",
                                                "<|eot|>",
                                                "<end_of_turn>",
                                                "<turn|>",
                                                "<|endoftext|>",
                                                "<|end_of_text|>",
                                                "</s>",
                                                "<eos>",
                                                "<EOT>",
                                                "_<EOT>",
                                                "[EOT]",
                                                "[EOS]",
                                                "<|return|>",
                                                "<|call|>",
                                                "<|calls|>",
                                                "<|flush|>",
                                                "<|END_OF_TURN_TOKEN|>",
                                                "<end_of_utterance>",
                                                "<｜end▁of▁sentence｜>",
                                                "<|tool_response>",
                                                "[e~["};

template <size_t N>
bool IsOneOf(std::string_view text, const std::string_view (&names)[N]) {
  return std::find(std::begin(names), std::end(names), text) != std::end(names);
}

bool Has(const text::VocabSpec& vocab, std::string_view name) {
  return std::any_of(vocab.end_of_generation.begin(), vocab.end_of_generation.end(),
                     [&](TokenId id) { return vocab.tokens[id] == name; });
}

void Drop(text::VocabSpec& vocab, std::string_view name) {
  std::erase_if(vocab.end_of_generation, [&](TokenId id) { return vocab.tokens[id] == name; });
}

}  // namespace

void MarkControlTokens(text::VocabSpec& vocab) {
  vocab.kinds.resize(vocab.tokens.size(), TokenKind::kNormal);
  const auto mark = [&](size_t id) {
    TokenKind& kind = vocab.kinds[id];
    if (kind == TokenKind::kNormal || kind == TokenKind::kUserDefined) kind = TokenKind::kControl;
  };
  for (size_t id = 0; id < vocab.tokens.size(); ++id) {
    if (IsOneOf(vocab.tokens[id], kTurnMarkers)) mark(id);
  }
  for (const auto& id : {vocab.bos, vocab.eos, vocab.eot, vocab.eom}) {
    if (id) mark(*id);
  }
}

void FindEndOfGeneration(text::VocabSpec& vocab) {
  auto& ends = vocab.end_of_generation;
  for (size_t id = 0; id < vocab.tokens.size(); ++id) {
    if (vocab.kinds[id] == TokenKind::kControl && IsOneOf(vocab.tokens[id], kGenerationEnds)) {
      ends.push_back(static_cast<TokenId>(id));
    }
  }
  for (const auto& id : {vocab.eos, vocab.eot, vocab.eom}) {
    if (id && std::find(ends.begin(), ends.end(), *id) == ends.end()) ends.push_back(*id);
  }
  // In these families <|end|> closes one message of several, and a <|call|> or <|flush|> closes the turn.
  const bool calls = Has(vocab, "<|call|>") || Has(vocab, "<|calls|>");
  if (calls && (Has(vocab, "<|return|>") || Has(vocab, "<|flush|>"))) Drop(vocab, "<|end|>");
  // Gemma 4 keeps a </s> that ends nothing.
  if (Has(vocab, "<|tool_response>")) Drop(vocab, "</s>");
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
}

}  // namespace inferflux::model
