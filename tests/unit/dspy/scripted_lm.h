// A language model that answers from a script, and keeps what it was asked.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "dspy/lm/lm.h"

namespace inferflux::dspy::testing {

class ScriptedLm : public LM {
 public:
  using Answer = std::function<Result<LmResponse>(const LmRequest&)>;

  ScriptedLm() = default;
  explicit ScriptedLm(std::vector<std::string> texts, LmTraits traits = {}) : traits_(traits) {
    for (std::string& text : texts) Say(std::move(text));
  }

  void Say(std::string text, FinishReason finish = FinishReason::kStop) {
    Do([text = std::move(text), finish](const LmRequest& request) -> Result<LmResponse> {
      if (request.on_text) {
        for (size_t at = 0; at < text.size(); at += 3) request.on_text(std::string_view(text).substr(at, 3));
      }
      return LmResponse{.text = text, .usage = {.prompt = 10, .cached = 4, .completion = 3}, .finish = finish};
    });
  }
  void FailWith(ErrorCode code) {
    Do([code](const LmRequest&) -> Result<LmResponse> { return Fail(code, "scripted"); });
  }
  void Do(Answer answer) { answers_.push_back(std::move(answer)); }
  // After the script: the same answer to whatever is asked.
  void Always(Answer answer) { always_ = std::move(answer); }

  std::string_view name() const override { return "scripted"; }
  LmTraits traits() const override { return traits_; }
  Result<LmResponse> Generate(const LmRequest& request) override {
    Answer answer;
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
      if (!answers_.empty()) {
        answer = std::move(answers_.front());
        answers_.pop_front();
      } else {
        answer = always_;
      }
    }
    if (!answer) return Fail(ErrorCode::kBackendError, "the script is over");
    return answer(request);
  }

  const std::vector<LmRequest>& requests() const { return requests_; }

 private:
  LmTraits traits_;
  std::deque<Answer> answers_;
  Answer always_;
  std::mutex mutex_;
  std::vector<LmRequest> requests_;
};

}  // namespace inferflux::dspy::testing
