// Turns sampled tokens into a client's text: complete UTF-8, cut before a stop string, with the tokens of each piece.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/token_id.h"
#include "engine/unified_batch.h"
#include "scheduler/generation.h"
#include "scheduler/output/stop_matcher.h"
#include "text/detokenizer.h"

namespace inferflux::scheduler {

class OutputText {
 public:
  OutputText(std::shared_ptr<const text::Tokenizer> tokenizer, const std::vector<std::string>& stops,
             text::DetokenizerOptions options);

  // Takes a sampled token that is not an end token.
  void Push(const engine::OutputResult& sampled);

  // Ends the generation: releases held-back text, unless a stop string was found.
  void Finish();

  // A token with its log probabilities, and its bytes.
  GeneratedToken Describe(const engine::OutputResult& scored) const;

  bool stopped() const { return stops_.matched(); }
  const std::optional<std::string>& stop_string() const { return stops_.match(); }

  // What has become certain since the last call: its text and tokens. A token is listed once all of its text is
  // certain.
  StreamEvent Take();
  bool has_text() const { return !ready_.text.empty(); }
  bool has_tokens() const { return !ready_.tokens.empty(); }

 private:
  struct Pending {
    GeneratedToken token;
    size_t begin = 0;  // bytes of the output that this token contributed
    size_t end = 0;
  };

  void Release(std::string text);
  TokenLogprob Describe(const engine::LogprobEntry& entry) const;

  std::shared_ptr<const text::Tokenizer> tokenizer_;
  text::Detokenizer detokenizer_;
  StopMatcher stops_;
  std::deque<Pending> pending_;
  size_t produced_ = 0;  // bytes written by the detokenizer
  size_t released_ = 0;  // certain bytes of them
  StreamEvent ready_;
};

}  // namespace inferflux::scheduler
