// Separates a model's reasoning from its answer in generated text as it arrives.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "text/reasoning/reasoning_form.h"

namespace inferflux::text {

class ReasoningParser {
 public:
  struct Output {
    std::string reasoning;
    std::string content;
  };
  // Where the text so far ends. Undecided: it may be a marker before the reasoning or the answer.
  enum class Part : uint8_t { kUndecided, kReasoning, kAnswer };

  // `form` must outlive the parser. `inside`: the prompt has opened the reasoning already.
  ReasoningParser(const ReasoningForm& form, bool inside);

  // Returns what `text` decides. Text that may begin a marker, and the space around the reasoning, is held back. An
  // answer without reasoning is passed on unchanged.
  Output Feed(std::string_view text);
  // The end of the text: what is held back belongs to the part that it is in.
  Output Finish();

  Part part() const;

 private:
  enum class At : uint8_t { kStart, kReasoning, kTurn, kAnswer };

  bool Next(Output& out);
  bool Start();
  bool Reasoning(Output& out);
  bool Turn(Output& out);

  const ReasoningForm* form_;
  At at_;
  bool begun_ = false;  // some reasoning was released
  bool ended_ = false;
  std::string pending_;  // undecided
};

}  // namespace inferflux::text
