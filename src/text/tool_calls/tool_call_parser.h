// Finds tool calls in generated text as it arrives, in the model's format.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/tool_calls/read/element_reader.h"
#include "text/tool_calls/read/json_call_reader.h"
#include "text/tool_calls/read/read_step.h"
#include "text/tool_calls/read/tagged_arguments.h"
#include "text/tool_calls/read/value_reader.h"
#include "text/tool_calls/tool_call_syntax.h"

namespace inferflux::text {

class ToolCallParser {
 public:
  using Tools = std::shared_ptr<const std::vector<OfferedTool>>;

  struct Output {
    std::string content;
    std::vector<ToolCallPiece> pieces;  // of calls that have begun
    std::vector<FoundToolCall> calls;   // that have ended: their pieces, joined
  };
  // What a request allows.
  struct Options {
    bool several = true;  // a bare call need not be the only one
    bool forced = false;  // all text belongs to calls
  };

  // `syntax` must outlive the parser. `tools` are those that the request offers: a call names one of them, and tagged
  // arguments have the types of their schemas.
  ToolCallParser(const ToolCallSyntax& syntax, Tools tools, Options options);

  // Returns what `text` decides. Text that may be the beginning of a call, and space that may precede one, is held
  // back. Text that turns out not to be a call becomes content, unchanged. Once the arguments have begun, in JSON or
  // between tags, it is a call, and they are passed on as they grow.
  Output Feed(std::string_view text);
  // The end of the text: held-back text becomes content, unless it is a call that lacks only its closing. If the text
  // was `cut`, it would have gone on: a call that has begun stays one, and no part of it is content.
  Output Finish(bool cut = false);

  // The number of calls found so far, without one that was cut.
  size_t found() const { return found_; }

 private:
  // What the parser expects next.
  enum class At : uint8_t {
    kAnswer,
    kText,
    kOpens,
    kCallOpens,
    kName,
    kJson,
    kBroken,
    kKey,
    kValue,
    kCallCloses,
    kBehindCall
  };
  using Step = ReadStep;

  Step Next(Output& out);
  void Run(Output& out);
  Step Answer();
  Step Text(Output& out);
  Step Expect(std::string_view marker, At next);
  Step Name();
  Step Json(Output& out);
  Step JsonEnd(Step step, Output& out);
  Step Broken(Output& out);
  Step Arguments();
  Step Key(Output& out);
  Step Unclosed(Output& out);
  Step Value(Output& out);
  Step CallCloses(Output& out);
  Step BehindCall();
  void Grow(std::string name, std::string arguments, Output& out);
  void GrowTagged(std::string arguments, Output& out);
  void Deliver(FoundToolCall::End end, Output& out);
  void CutOff(Output& out);
  void Release(size_t bytes, Output& out);
  void ForgetCall();
  bool IsOffered(std::string_view name) const;

  const ToolCallSyntax& syntax_;
  const Tools tools_;
  const Options options_;
  const std::string opens_, closes_;     // of all calls, including a list's brackets
  std::vector<std::string> bare_opens_;  // how an answer that is a bare call begins

  std::string pending_;  // undecided: space, then a call that has begun
  At at_state_;
  size_t at_ = 0;     // of pending_, what is decided so far
  size_t begun_ = 0;  // of pending_, where the call begins
  size_t found_ = 0;
  size_t begun_calls_ = 0;
  bool ended_ = false;
  bool cut_ = false;

  // Of the call that has begun.
  FoundToolCall call_;
  bool growing_ = false;  // pieces of it were passed on
  JsonCallReader json_;
  ValueReader values_;
  ElementReader elements_;
  boost::json::value parameters_;  // the called tool's schema
  boost::json::object arguments_;  // of one that does not grow
  TaggedArguments tagged_;
  size_t value_ = 0;  // of pending_, where a tagged value begins
};

}  // namespace inferflux::text
